//! Runs with values on a disk that crashes, fills up and flips bits: a history of runs that are written,
//! merged and listed in a manifest.

use std::collections::BTreeMap;
use std::sync::Arc;

use hadal_store::Error;
use hadal_store::disk::{BlockWriter, Folder, FolderOptions};
use hadal_store::run::{Batch, KeyRange, Sorted};
use hadal_store::tiers::RunEntry;
use hadal_store::valued::{LeastMerge, VALUED, ValuedFile, ValuedWriter};
use hadal_testkit::disk::CrashDisk;

const OPTIONS: FolderOptions = FolderOptions {
    limit_bytes: u64::MAX,
    reserve_bytes: 0,
    // A block at a time, for as many operations as can be.
    buffer_bytes: 0,
    threads: false,
};

const N_GENERATIONS: u64 = 6;

/// The entries that a generation adds, some of them with greater values than before, some with
/// lesser ones.
fn entries(generation: u64) -> BTreeMap<u64, u64> {
    let n = [9_000, 10, 20_000, 3_000, 12_000, 500][generation as usize];
    let entry = |i: u64| {
        let key = (i + generation * 1_000).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        (key, (i * 7 + generation * 13) % 5_000)
    };
    (0..n).map(entry).collect()
}

/// Least values of the first `n_generations`.
fn expected(n_generations: u64) -> BTreeMap<u64, u64> {
    let mut least = BTreeMap::new();
    for (key, value) in (0..n_generations).flat_map(entries) {
        let known = least.entry(key).or_insert(value);
        *known = value.min(*known);
    }
    least
}

struct History {
    folder: Folder,
    files: Vec<ValuedFile>,
    n_generations: u64,
}

impl History {
    fn open(disk: &CrashDisk, options: FolderOptions) -> Result<Self, Error> {
        let (folder, payload) = Folder::open(Arc::new(disk.clone()), options)?;
        let mut history = History {
            folder,
            files: Vec::new(),
            n_generations: 0,
        };
        let Some(payload) = payload else {
            history.folder.sweep([])?;
            return Ok(history);
        };
        // A number, then a line for each file.
        let text = str::from_utf8(payload.of_version(1)?).expect("the manifest is checked");
        let mut lines = text.lines();
        history.n_generations = lines
            .next()
            .and_then(|it| it.parse().ok())
            .expect("a number");
        let listed: Vec<RunEntry> = lines
            .map(|line| {
                let (name, n_blocks) = line.split_once(' ').expect("two words");
                RunEntry {
                    name: name.to_owned(),
                    n_blocks: n_blocks.parse().expect("a number"),
                    version: 0,
                }
            })
            .collect();
        history
            .folder
            .sweep(listed.iter().map(|entry| &*entry.name))?;
        for entry in &listed {
            history
                .files
                .push(ValuedFile::open(&history.folder, entry)?);
        }
        Ok(history)
    }

    /// All entries of all files.
    fn merged(&self) -> LeastMerge<'_> {
        let sources = self.files.iter();
        let sources = sources.map(|file| Box::new(file.run.entries(KeyRange::ALL)) as _);
        LeastMerge::new(1, sources.collect())
    }

    fn check(&self) -> Result<(), Error> {
        let (mut found, mut batch) = (BTreeMap::new(), Batch::default());
        let mut merged = self.merged();
        while merged.next_batch(&mut batch)? {
            found.extend(
                batch
                    .keys
                    .iter()
                    .copied()
                    .zip(batch.ordinals.iter().copied()),
            );
        }
        assert!(found == expected(self.n_generations));
        Ok(())
    }

    /// Adds a run; in every other generation, merges all.
    fn step(&mut self) -> Result<(), Error> {
        let mut writer = ValuedWriter::new(BlockWriter::create(&self.folder, VALUED)?, 1);
        for (key, value) in entries(self.n_generations) {
            writer.push(&[key], &[value])?;
        }
        self.files.push(ValuedFile::finish(writer, 0, true)?);
        let mut old = Vec::new();
        if self.n_generations % 2 == 1 {
            let mut writer = ValuedWriter::new(BlockWriter::create(&self.folder, VALUED)?, 1);
            writer.push_all(&mut self.merged())?;
            let merged = ValuedFile::finish(writer, 0, true)?;
            old = std::mem::replace(&mut self.files, vec![merged]);
        }
        let mut payload = format!("{}\n", self.n_generations + 1);
        for file in &self.files {
            let RunEntry { name, n_blocks, .. } = file.entry();
            payload += &format!("{name} {n_blocks}\n");
        }
        old.into_iter()
            .try_for_each(|file| file.retire(&self.folder))?;
        self.folder.commit(1, payload.as_bytes())?;
        self.n_generations += 1;
        Ok(())
    }

    fn run(&mut self) -> Result<(), Error> {
        while self.n_generations < N_GENERATIONS {
            self.step()?;
        }
        Ok(())
    }
}

/// Runs the history; returns the number of generations that were committed, and how it ended.
fn run_on(disk: &CrashDisk, options: FolderOptions) -> (u64, Result<(), Error>) {
    match History::open(disk, options) {
        Ok(mut history) => {
            let outcome = history.run();
            (history.n_generations, outcome)
        }
        Err(error) => (0, Err(error)),
    }
}

#[test]
fn a_crash_at_any_operation_leaves_the_runs_that_the_last_manifest_lists() {
    let whole = CrashDisk::new();
    run_on(&whole, OPTIONS).1.expect("the disk works");
    let n_operations = whole.n_operations();
    assert!(n_operations > 50, "{n_operations}");
    for n in 1..=n_operations {
        let disk = CrashDisk::new();
        disk.stop_at(n);
        let (n_committed, outcome) = run_on(&disk, OPTIONS);
        assert!(outcome.is_err());
        for seed in 0..3 {
            let story = format!("operation {n}, seed {seed}");
            let left = disk.crash(n * 8 + seed);
            let history = History::open(&left, OPTIONS);
            let mut history = history.unwrap_or_else(|error| panic!("{story}: {error}"));
            assert!(history.n_generations >= n_committed, "{story}");
            history
                .check()
                .unwrap_or_else(|error| panic!("{story}: {error}"));
            if seed == 0 {
                history.run().expect("the disk works again");
                history.check().expect("the disk works again");
            }
        }
    }
}

#[test]
fn a_full_disk_is_an_error_and_harms_nothing() {
    let (mut capacity, mut n_full) = (0, 0);
    loop {
        let disk = CrashDisk::new();
        disk.set_capacity(capacity, capacity % 8192 == 0);
        let (n_committed, outcome) = run_on(&disk, OPTIONS);
        assert!(disk.used_bytes() <= capacity);
        let is_enough = outcome.is_ok();
        match outcome {
            Ok(()) => {}
            Err(Error::Full { .. }) => n_full += 1,
            Err(error) => panic!("{error}"),
        }
        disk.set_capacity(u64::MAX, true);
        let mut history = History::open(&disk, OPTIONS).expect("the disk has room");
        assert_eq!(history.n_generations, n_committed);
        history.check().expect("the disk has room");
        history.run().expect("the disk has room");
        history.check().expect("the disk has room");
        if is_enough {
            break;
        }
        capacity += 12 << 10;
    }
    assert!(n_full > 20, "{n_full}");
}

#[test]
fn a_flipped_bit_is_found_wherever_it_is() {
    let disk = CrashDisk::new();
    run_on(&disk, OPTIONS).1.expect("the disk works");
    let listed = History::open(&disk, OPTIONS).expect("the disk works");
    let files: Vec<(String, u64)> = (listed.files.iter())
        .map(|file| (file.entry().name, file.disk_bytes()))
        .collect();
    drop(listed);
    let mut n_flipped = 0;
    for (name, len) in files {
        for byte in (0..len as usize).step_by(397) {
            let bit = (byte % 8) as u32;
            disk.flip(&name, byte, bit);
            match History::open(&disk, OPTIONS).and_then(|history| history.check()) {
                Err(Error::Damaged { file, .. }) => assert_eq!(file, name),
                Ok(()) => panic!("byte {byte} of {name} was changed without an error"),
                Err(error) => panic!("{error}"),
            }
            disk.flip(&name, byte, bit);
            n_flipped += 1;
        }
    }
    assert!(n_flipped > 100, "{n_flipped}");
    History::open(&disk, OPTIONS)
        .and_then(|history| history.check())
        .expect("all bits are as they were");
}
