//! How long the external join takes for each pair, beside its limits: writing and reading as many bytes
//! in sequence, and copying them in memory.
//!
//! `cargo run --release -p hadal-store --example join_rate -- FOLDER STATES EDGES MEMORY_MIB THREADS`

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use hadal_store::codec::KeyShape;
use hadal_store::disk::{BlockWriter, Folder, FolderOptions, Kind, NativeDisk};
use hadal_store::join::{JoinLimits, join, value_runs};
use hadal_store::partition::{ByNumber, Pairs};
use hadal_store::run::Splitters;
use hadal_store::tiers::{Monitor, RunWork};
use hadal_store::{BLOCK_BYTES, BlockSink, BlockSource};

const SHAPE: KeyShape = KeyShape {
    version: 0,
    n_bits: 64,
    n_words: 1,
};

/// Bytes copied at once to measure memory.
const COPIED_BYTES: usize = 64 << 20;

/// Nobody watches.
struct Unwatched;

impl Monitor for Unwatched {
    fn is_stopped(&self) -> bool {
        false
    }

    fn begin(&self, _: RunWork, _: u64, _: u64) {}

    fn advance(&self, _: u64) {}

    fn end(&self) {}
}

/// The key of a state: neighbours have little in common.
fn key(state: u64) -> u64 {
    state.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, numbers @ ..] = &arguments[..] else {
        return Err("usage: join_rate FOLDER STATES EDGES MEMORY_MIB THREADS".into());
    };
    let numbers: Vec<u64> = numbers
        .iter()
        .map(|it| it.parse())
        .collect::<Result<_, _>>()?;
    let [n_states, n_edges, mebibytes, n_threads] = numbers[..] else {
        return Err("four numbers are needed".into());
    };
    let (bytes, n_threads) = (mebibytes << 20, n_threads.max(1) as usize);
    let disk = NativeDisk::open(std::path::Path::new(folder))?;
    let (folder, _) = Folder::open(Arc::new(disk), FolderOptions::for_memory(bytes))?;

    let since = Instant::now();
    let sample: Vec<u64> = (0..n_states).step_by(97).map(key).collect();
    let most = Pairs::most_buckets(SHAPE, n_threads, bytes / 2);
    let n_buckets = most.min((n_states / 8192).max(1) as usize);
    let splitters = Splitters::sample(1, &[&sample], n_buckets);
    let fill = |n: u64, of: &(dyn Fn(u64) -> u64 + Sync)| {
        let mut pairs = Pairs::new(
            splitters.clone(),
            SHAPE,
            n_threads,
            bytes / 2,
            Some(folder.clone()),
        );
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..n_threads)
                .map(|worker| {
                    let pairs = &pairs;
                    scope.spawn(move || {
                        let (mut keys, mut values) = (Vec::new(), Vec::new());
                        let chunks = (0..n).step_by(4096).skip(worker).step_by(n_threads);
                        for first in chunks {
                            keys.clear();
                            values.clear();
                            values.extend(first..(first + 4096).min(n));
                            keys.extend(values.iter().map(|&value| of(value)));
                            pairs.push(worker, &keys, &values)?;
                        }
                        Ok::<(), hadal_store::Error>(())
                    })
                })
                .collect();
            workers.into_iter().try_for_each(|worker| {
                let done = worker.join();
                done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
        })?;
        pairs.settle()?;
        Ok::<Pairs, hadal_store::Error>(pairs)
    };
    let states = fill(n_states, &key)?;
    let runs = value_runs(
        &states,
        n_threads,
        1 << 16,
        n_threads,
        Some(&folder),
        &Unwatched,
    )?;
    drop(states);
    let sorted = since.elapsed();
    let target = |edge: u64| key(edge.wrapping_mul(0xd6e8_feb8_6659_fd93) % n_states);
    let edges = fill(n_edges, &target)?;
    let partitioned = since.elapsed();
    let mut ordinals = ByNumber::new(
        n_edges,
        bytes / 16,
        n_threads,
        bytes / 4,
        Some(folder.clone()),
    );
    let looked: Vec<_> = runs.iter().map(|run| run.run().into()).collect();
    let limits = JoinLimits {
        n_threads,
        table_bytes: bytes / 8 / n_threads as u64,
    };
    join(&looked, &edges, limits, &Unwatched, &|worker, joined| {
        ordinals.put(worker, joined.numbers, joined.values)
    })?;
    ordinals.settle()?;
    let joined = since.elapsed();
    let (mut stretches, mut some, mut sum) = (ordinals.stretches(), Vec::new(), 0u64);
    while stretches.next(&mut some)? {
        sum = some.iter().fold(sum, |sum, it| sum.wrapping_add(*it));
    }
    let all = since.elapsed();
    let used = folder.statistics();
    println!(
        "{n_states} states, {n_edges} edges, {mebibytes} MiB, {n_threads} threads (sum {sum}):\n\
         runs {:.2} s, pairs {:.2} s, join {:.2} s, in order {:.2} s; {:.0} ns an edge\n\
         {:.1} bytes an edge written, {:.1} read, {:.1} on disk at most",
        sorted.as_secs_f64(),
        (partitioned - sorted).as_secs_f64(),
        (joined - partitioned).as_secs_f64(),
        (all - joined).as_secs_f64(),
        all.as_nanos() as f64 / n_edges as f64,
        used.written_bytes as f64 / n_edges as f64,
        used.read_bytes as f64 / n_edges as f64,
        used.peak_disk_bytes as f64 / n_edges as f64,
    );
    drop(stretches);
    drop(looked);
    drop((runs, edges, ordinals));

    // The limits: the same bytes in sequence, on disk and in memory.
    let since = Instant::now();
    let block = vec![7; BLOCK_BYTES];
    let n_blocks = (used.written_bytes / BLOCK_BYTES as u64).max(1) as u32;
    let mut writer = BlockWriter::create_scratch(&folder, Kind::Records)?;
    for _ in 0..n_blocks {
        writer.put(&block)?;
    }
    let file = writer.finish()?;
    let mut reader = file.read(std::iter::once(0..n_blocks).collect());
    while reader.next()?.is_some() {}
    let on_disk = since.elapsed();
    // Arrays that no cache holds.
    let source = vec![7u8; COPIED_BYTES];
    let mut copy = vec![0u8; COPIED_BYTES];
    let n_copies = 2 * n_blocks as usize * BLOCK_BYTES / COPIED_BYTES;
    let since = Instant::now();
    for _ in 0..n_copies {
        copy.copy_from_slice(std::hint::black_box(&source));
        std::hint::black_box(&mut copy);
    }
    println!(
        "limits: {:.2} s to write and read {n_blocks} blocks in sequence, {:.3} s to copy them twice",
        on_disk.as_secs_f64(),
        since.elapsed().as_secs_f64(),
    );
    file.abandon();
    Ok(())
}
