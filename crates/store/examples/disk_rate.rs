//! How fast blocks go to a folder and come back, through checksums, buffers and threads.
//!
//! `cargo run --release -p hadal-store --example disk_rate -- FOLDER [MiB [rounds [buffer MiB]]]`
//!
//! Every line is one pass: bytes of payload, wall-clock rate, processor time of the whole process
//! per GB, and how long the calling thread waited for the disk. Processor time is that of
//! `/proc/self/stat`, in steps of 10 ms, so take many MiB.

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use hadal_store::disk::{BlockWriter, Disk, Folder, FolderOptions, Kind, NativeDisk};
use hadal_store::{BLOCK_BYTES, BlockSink, BlockSource};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let path = args.next().ok_or("give a folder")?;
    let mut number = |default: usize| args.next().map_or(Ok(default), |arg| arg.parse());
    let (mib, rounds, buffer_mib) = (number(1024)?, number(3)?, number(16)?);
    let n_blocks = u32::try_from(mib * 16)?;
    let disk = NativeDisk::open(&path)?;
    println!("{:?}, direct I/O: {}", disk.medium(), disk.is_direct());
    let options = FolderOptions {
        buffer_bytes: buffer_mib << 20,
        ..FolderOptions::default()
    };
    let (folder, _) = Folder::open(Arc::new(disk), options)?;
    // Some content, more than a cache holds, made before the clock starts.
    let blocks: Vec<Vec<u8>> = (0..256u64)
        .map(|seed| {
            let byte = |at: u64| ((at + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8;
            (0..BLOCK_BYTES as u64).map(byte).collect()
        })
        .collect();
    for _ in 0..rounds {
        let mut file = None;
        measure(&folder, "write and sync", || {
            let mut writer = BlockWriter::create(&folder, Kind::Log)?;
            for number in 0..n_blocks {
                writer.put(&blocks[number as usize % blocks.len()])?;
            }
            writer.sync()?;
            file = Some(writer.finish()?);
            Ok(n_blocks)
        })?;
        let file = file.ok_or("the file was written")?;
        let every = |step: u32, len: u32| {
            let ranges = (0..n_blocks / step).map(move |at| at * step..at * step + len);
            ranges.collect::<Vec<_>>()
        };
        for (what, wanted) in [
            ("read all", every(n_blocks.max(1), n_blocks)),
            ("read every 2nd block", every(2, 1)),
            ("read every 8th block", every(8, 1)),
            ("read 4 of 16 blocks", every(16, 4)),
        ] {
            measure(&folder, what, || {
                let mut reader = file.read(wanted);
                let mut n_read = 0;
                while let Some((number, bytes)) = reader.next()? {
                    // The checksum has seen every byte; this one is looked at again.
                    let at = number as usize % BLOCK_BYTES;
                    assert_eq!(bytes[at], blocks[number as usize % blocks.len()][at]);
                    n_read += 1;
                }
                Ok(n_read)
            })?;
        }
        folder.retire(file.name())?;
    }
    println!("buffers: {:.1} MB", folder.data_bytes() as f64 / 1e6);
    Ok(())
}

fn measure(
    folder: &Folder,
    what: &str,
    pass: impl FnOnce() -> Result<u32, Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let (start, cpu, waited) = (
        Instant::now(),
        processor_seconds()?,
        folder.statistics().waited,
    );
    let n_blocks = pass()?;
    let seconds = start.elapsed().as_secs_f64();
    let gigabytes = f64::from(n_blocks) * BLOCK_BYTES as f64 / 1e9;
    println!(
        "{what:22} {gigabytes:6.2} GB {:6.2} GB/s, {:.2} s of processor per GB, waited {:.2} of {seconds:.2} s",
        gigabytes / seconds,
        (processor_seconds()? - cpu) / gigabytes,
        (folder.statistics().waited - waited).as_secs_f64(),
    );
    Ok(())
}

/// Processor time of this process, all threads, user and system.
fn processor_seconds() -> Result<f64, Box<dyn Error>> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let after_name = stat.rsplit(')').next().ok_or("no name")?;
    let ticks = |at: usize| -> Result<f64, Box<dyn Error>> {
        let field = after_name.split_whitespace().nth(at).ok_or("too short")?;
        Ok(field.parse()?)
    };
    Ok((ticks(11)? + ticks(12)?) / 100.0)
}
