//! A short history of files, manifests and a parent log, cut off at every operation.

use std::sync::Arc;

use hadal_store::disk::{BlockFile, BlockWriter, Folder, FolderOptions, Kind, ParentLog};
use hadal_store::{BLOCK_BYTES, BlockSink, BlockSource, Error, Parent};

use super::CrashDisk;

const KIND: Kind = Kind::Log;
const N_GENERATIONS: usize = 4;
/// Entries of the parent log at each commit; a block holds some 60,000.
const N_PARENTS: [u64; N_GENERATIONS] = [10, 70_000, 70_100, 140_000];

const OPTIONS: FolderOptions = FolderOptions {
    limit_bytes: u64::MAX,
    reserve_bytes: 0,
    // A block at a time, for as many operations as can be.
    buffer_bytes: 0,
    threads: false,
};

/// The disk operations of a search.
struct History {
    folder: Folder,
    log: ParentLog,
    /// Name and number of blocks of each file that counts.
    files: Vec<(String, u32)>,
    n_commits: usize,
}

impl History {
    fn open(disk: &CrashDisk, options: FolderOptions) -> Result<Self, Error> {
        let (folder, payload) = Folder::open(Arc::new(disk.clone()), options)?;
        let Some(payload) = payload else {
            folder.sweep([])?;
            return Ok(Self {
                folder,
                log: ParentLog::new(),
                files: Vec::new(),
                n_commits: 0,
            });
        };
        let payload = payload.of_version(1)?;
        // A line for each file, an empty line, the mark of the log.
        let end = payload.windows(2).position(|pair| pair == b"\n\n").unwrap();
        let text = str::from_utf8(&payload[..end]).unwrap();
        let mut lines = text.lines();
        let n_commits = lines.next().unwrap().parse().unwrap();
        let files: Vec<(String, u32)> = lines
            .map(|line| line.split_once(' ').unwrap())
            .map(|(name, n_blocks)| (name.to_owned(), n_blocks.parse().unwrap()))
            .collect();
        let log = ParentLog::reopen(&folder, &payload[end + 2..])?;
        let log_name = log.file_name().unwrap();
        let names = files.iter().map(|(name, _)| name.as_str());
        folder.sweep(names.chain([log_name.as_str()]))?;
        Ok(Self {
            folder,
            log,
            files,
            n_commits,
        })
    }

    /// Everything that the last manifest lists exists and is correct.
    fn check(&self) -> Result<(), Error> {
        for (name, n_blocks) in &self.files {
            let file = BlockFile::open(&self.folder, name, KIND, *n_blocks)?;
            let mut reader = file.read(std::iter::once(0..*n_blocks).collect());
            let mut n_read = 0;
            while let Some((number, bytes)) = reader.next()? {
                assert_eq!(number, n_read);
                assert!(bytes == block(name, number), "{name} {number}");
                n_read += 1;
            }
            assert_eq!(n_read, *n_blocks);
        }
        let n_parents = self.n_commits.checked_sub(1).map_or(0, |at| N_PARENTS[at]);
        assert_eq!(self.log.len(), n_parents);
        let samples = (0..n_parents)
            .step_by(9_999)
            .chain(n_parents.checked_sub(1));
        for ordinal in samples {
            assert_eq!(self.log.get(ordinal)?, Some(parent(ordinal)));
        }
        Ok(())
    }

    /// The next generation: new files in place of old ones, one deleted, a longer log.
    fn step(&mut self) -> Result<(), Error> {
        let generation = self.n_commits;
        for n_blocks in [1, generation as u32 * 2 + 2] {
            let name = self.write(n_blocks)?;
            self.files.push((name, n_blocks));
        }
        let thrown_away = self.write(2)?;
        if generation == 1 {
            // Attached early, so that the log is read while it is written.
            self.log.attach(&self.folder)?;
        }
        for ordinal in self.log.len()..N_PARENTS[generation] {
            self.log.push(parent(ordinal))?;
        }
        self.log.get(self.log.len() / 2)?;
        self.folder.retire(&thrown_away)?;
        if self.files.len() > 4 {
            for (name, _) in self.files.drain(..2) {
                self.folder.retire(&name)?;
            }
        }
        let mut payload = format!("{}\n", generation + 1);
        for (name, n_blocks) in &self.files {
            payload += &format!("{name} {n_blocks}\n");
        }
        let mut payload = (payload + "\n").into_bytes();
        payload.extend(self.log.commit(&self.folder)?);
        self.folder.commit(1, &payload)?;
        self.n_commits += 1;
        Ok(())
    }

    fn write(&self, n_blocks: u32) -> Result<String, Error> {
        let mut writer = BlockWriter::create(&self.folder, KIND)?;
        let name = writer.name().to_owned();
        for number in 0..n_blocks {
            writer.put(&block(&name, number))?;
        }
        writer.sync()?;
        Ok(name)
    }

    fn run(&mut self) -> Result<(), Error> {
        while self.n_commits < N_GENERATIONS {
            self.step()?;
        }
        Ok(())
    }
}

/// Content of a block; the last of three is short.
fn block(name: &str, number: u32) -> Vec<u8> {
    let len = if number % 3 == 2 { 5000 } else { BLOCK_BYTES };
    let mut bytes = name.as_bytes().repeat(len.div_ceil(name.len()));
    bytes.truncate(len);
    bytes[0] = number as u8;
    bytes
}

fn parent(ordinal: u64) -> Parent {
    Parent {
        ordinal: ordinal / 3,
        index: (ordinal % 70) as u32,
    }
}

/// Runs the history; returns the number of commits that succeeded, and how it ended.
fn run_on(disk: &CrashDisk, options: FolderOptions) -> (usize, Result<(), Error>) {
    match History::open(disk, options) {
        Ok(mut history) => {
            let outcome = history.run();
            (history.n_commits, outcome)
        }
        Err(error) => (0, Err(error)),
    }
}

fn n_operations() -> u64 {
    let disk = CrashDisk::new();
    run_on(&disk, OPTIONS).1.unwrap();
    disk.n_operations()
}

#[test]
fn a_crash_at_any_operation_leaves_what_the_last_manifest_lists() {
    let n_operations = n_operations();
    assert!(n_operations > 100);
    for n in 1..=n_operations {
        let disk = CrashDisk::new();
        disk.stop_at(n);
        let (n_commits, outcome) = run_on(&disk, OPTIONS);
        assert!(outcome.is_err());
        for seed in 0..4 {
            let story = format!("operation {n}, seed {seed}");
            let left = disk.crash(n * 8 + seed);
            // The recovery may be cut off as well, sooner or later.
            left.stop_at(1 + (n * 7 + seed * 5) % 40);
            let _ = run_on(&left, OPTIONS);
            let left = left.crash(n * 8 + seed + 4);
            let mut history =
                History::open(&left, OPTIONS).unwrap_or_else(|e| panic!("{story}: {e}"));
            assert!(history.n_commits >= n_commits, "{story}");
            history.check().unwrap_or_else(|e| panic!("{story}: {e}"));
            if seed == 0 {
                history.run().unwrap();
                history.check().unwrap();
            }
        }
    }
}

#[test]
fn a_crash_under_threads_leaves_what_the_last_manifest_lists() {
    let n_operations = n_operations();
    let options = FolderOptions {
        threads: true,
        buffer_bytes: 1 << 20,
        ..OPTIONS
    };
    for n in (1..=n_operations).step_by(3) {
        let disk = CrashDisk::new();
        disk.stop_at(n);
        let (n_commits, _) = run_on(&disk, options);
        let history = History::open(&disk.crash(n), options).unwrap();
        assert!(history.n_commits >= n_commits);
        history.check().unwrap();
    }
}

#[test]
fn a_full_disk_says_so_and_harms_nothing() {
    let whole = CrashDisk::new();
    run_on(&whole, OPTIONS).1.unwrap();
    let (mut capacity, mut n_full) = (0, 0);
    loop {
        let mut is_enough = false;
        for is_told in [false, true] {
            let disk = CrashDisk::new();
            disk.set_capacity(capacity, is_told);
            let (n_commits, outcome) = run_on(&disk, OPTIONS);
            assert!(disk.used_bytes() <= capacity);
            match outcome {
                Ok(()) => is_enough = true,
                Err(Error::Full { .. }) => n_full += 1,
                Err(error) => panic!("{error}"),
            }
            disk.set_capacity(u64::MAX, true);
            let mut history = History::open(&disk, OPTIONS).unwrap();
            assert_eq!(history.n_commits, n_commits);
            history.check().unwrap();
            history.run().unwrap();
            history.check().unwrap();
        }
        // A limit is kept like a small disk.
        let options = FolderOptions {
            limit_bytes: capacity,
            ..OPTIONS
        };
        let disk = CrashDisk::new();
        assert_eq!(run_on(&disk, options).1.is_ok(), is_enough);
        assert!(disk.used_bytes() <= capacity);
        if is_enough {
            break;
        }
        capacity += 12 << 10;
    }
    assert!(n_full > 100);
}

#[test]
fn a_flipped_bit_is_found_wherever_it_is() {
    let disk = CrashDisk::new();
    run_on(&disk, OPTIONS).1.unwrap();
    let names: Vec<(String, usize)> = {
        let state = disk.state();
        let len = |file: &usize| state.files[file].bytes.len;
        state
            .names
            .iter()
            .map(|(name, file)| (name.clone(), len(file)))
            .collect()
    };
    assert!(names.len() > 4);
    for (name, len) in names {
        for byte in (0..len).step_by(1999) {
            let bit = (byte % 8) as u32;
            disk.flip(&name, byte, bit);
            let outcome = History::open(&disk, OPTIONS).and_then(|history| history.check());
            match outcome {
                Err(Error::Damaged { file, offset, .. }) => {
                    assert_eq!(file, name);
                    assert!(offset <= byte as u64);
                }
                Ok(()) => panic!("byte {byte} of {name} was changed without an error"),
                Err(error) => panic!("{error}"),
            }
            disk.flip(&name, byte, bit);
        }
    }
    History::open(&disk, OPTIONS).unwrap().check().unwrap();
}
