//! The queue of pieces by rank, against a map from ranks to pieces: in memory and on disk, after
//! crashes, and on a full disk.

use std::collections::BTreeMap;
use std::sync::Arc;

use hadal_store::disk::{Disk, Folder, FolderOptions};
use hadal_store::{Error, PieceQueue, QueueDisk, SpillEntry};
use hadal_testkit::disk::CrashDisk;
use hadal_testkit::parallel::on_all;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// By rank, the version and the bytes of each piece.
type Map = BTreeMap<u64, Vec<(u32, Vec<u8>)>>;

const PAYLOAD_VERSION: u32 = 1;

fn open(disk: &CrashDisk) -> Result<(Folder, Vec<u8>), Error> {
    let options = FolderOptions {
        buffer_bytes: 1 << 18,
        reserve_bytes: 0,
        threads: false,
        ..FolderOptions::default()
    };
    let disk = Arc::new(disk.clone()) as Arc<dyn Disk>;
    let (folder, manifest) = Folder::open(disk, options)?;
    let manifest = match &manifest {
        Some(payload) => payload.of_version(PAYLOAD_VERSION)?.to_vec(),
        None => Vec::new(),
    };
    Ok((folder, manifest))
}

fn durable(folder: &Folder, memory_bytes: u64) -> QueueDisk {
    QueueDisk {
        folder: folder.clone(),
        memory_bytes,
        is_durable: true,
    }
}

/// Pieces of all ranks, where neighbours of one version are one piece.
fn joined(pieces: &[(u32, Vec<u8>)]) -> Vec<(u32, Vec<u8>)> {
    let groups = pieces.chunk_by(|a, b| a.0 == b.0);
    let join = |group: &[(u32, Vec<u8>)]| {
        let bytes = group.iter().flat_map(|(_, bytes)| bytes);
        (group[0].0, bytes.copied().collect())
    };
    groups.map(join).collect()
}

/// A queue, the map that it should equal, and what is pushed next.
struct Pair {
    queue: PieceQueue,
    map: Map,
    rng: Pcg64Mcg,
    /// Ranks below were popped.
    low: u64,
    version: u32,
    n_ranks: u64,
    piece_len: usize,
}

impl Pair {
    fn new(seed: u64, n_ranks: u64, piece_len: usize) -> Self {
        Pair {
            queue: PieceQueue::new(),
            map: Map::new(),
            rng: Pcg64Mcg::seed_from_u64(seed),
            low: 0,
            version: 0,
            n_ranks,
            piece_len,
        }
    }

    fn push(&mut self) -> Result<(), Error> {
        if self.rng.random_range(0..200) == 0 {
            self.version += 1;
        }
        let rank = self.low + self.rng.random_range(0..self.n_ranks);
        let len = self.rng.random_range(1..=self.piece_len);
        let bytes: Vec<u8> = (0..len).map(|_| self.rng.random()).collect();
        self.queue.push(rank, self.version, &bytes)?;
        let pieces = self.map.entry(rank).or_default();
        pieces.push((self.version, bytes));
        Ok(())
    }

    fn pop(&mut self) -> Result<bool, Error> {
        let mut popped = Vec::new();
        let rank = self.queue.pop_first(|version, bytes| {
            popped.push((version, bytes.to_vec()));
            Ok(())
        })?;
        let expected = self.map.pop_first();
        assert_eq!(rank, expected.as_ref().map(|(rank, _)| *rank));
        if let Some((rank, pieces)) = expected {
            assert_eq!(joined(&popped), joined(&pieces), "rank {rank}");
            self.low = rank;
        }
        Ok(rank.is_some())
    }

    /// Pushes more than it pops, and then less.
    fn step(&mut self, n: u64) -> Result<(), Error> {
        let n_pushes = if (n / 500).is_multiple_of(2) { 30 } else { 3 };
        for _ in 0..self.rng.random_range(0..n_pushes) {
            self.push()?;
        }
        self.pop().map(|_| ())
    }
}

#[test]
fn ranks_come_back_in_order_and_their_pieces_as_they_were_pushed() {
    let (mut most_files, mut n_spilled) = (0, 0);
    for (seed, n_ranks, piece_len, memory_bytes) in [
        (1, 300, 60, 0),
        (2, 300, 60, 200_000),
        (3, 5, 2_000, 0),
        (4, 40, 90_000, 300_000),
        (5, 5_000, 20, 50_000),
        (6, 50, 3_000, u64::MAX),
    ] {
        let (folder, _) = open(&CrashDisk::new()).expect("a folder");
        let mut pair = Pair::new(seed, n_ranks, piece_len);
        let n_steps = 60_000 / piece_len as u64 + 1_100;
        for n in 0..n_steps {
            pair.step(n).expect("the disk has room");
            if n == 100 {
                let before = pair.queue.memory_bytes();
                let disk = QueueDisk {
                    is_durable: false,
                    ..durable(&folder, memory_bytes)
                };
                pair.queue.attach(disk).expect("the disk has room");
                assert!(pair.queue.memory_bytes() <= before);
            }
            if n > 100 && memory_bytes < u64::MAX {
                // The block of a file, a rank's piece beyond the limit, and what is held of a file.
                let least = 16_384 + 5 * 70_000 + 2 * piece_len as u64;
                let most = memory_bytes.max(least) + 10_000;
                assert!(pair.queue.memory_bytes() < most, "seed {seed}, step {n}");
            }
            most_files = most_files.max(pair.queue.n_files());
            assert!(pair.queue.n_files() <= 16);
            n_spilled += u64::from(pair.queue.n_files() > 0);
        }
        while pair.pop().expect("it can be read") {}
        assert_eq!(pair.queue.memory_bytes(), 0, "seed {seed}");
        assert_eq!(pair.queue.n_files(), 0, "seed {seed}");
        drop(pair);
        folder.wait_for_deletions().expect("files can be deleted");
        assert_eq!(folder.statistics().disk_bytes, 0, "seed {seed}");
    }
    assert!(most_files > 3, "{most_files} files");
    assert!(n_spilled > 1_000, "{n_spilled}");
}

fn to_manifest(entries: &[SpillEntry]) -> Vec<u8> {
    let lines = entries.iter().map(|entry| {
        let SpillEntry {
            name,
            n_blocks,
            left,
        } = entry;
        format!("{name} {n_blocks} {} {}\n", left.start, left.end)
    });
    lines.collect::<String>().into_bytes()
}

fn from_manifest(manifest: &[u8]) -> Vec<SpillEntry> {
    let text = std::str::from_utf8(manifest).expect("text");
    let entry = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| words[at].parse::<u64>().expect("a number");
        SpillEntry {
            name: words[0].to_owned(),
            n_blocks: number(1) as u32,
            left: number(2)..number(3),
        }
    };
    text.lines().map(entry).collect()
}

/// Pushes, pops and commits now and then. Returns what the queue should hold as of each manifest.
fn history(disk: &CrashDisk) -> (Vec<Map>, Result<(), Error>) {
    let mut committed = Vec::new();
    let mut run = || -> Result<(), Error> {
        let (folder, _) = open(disk)?;
        let mut pair = Pair::new(9, 30, 3_000);
        pair.queue.attach(durable(&folder, 0))?;
        for n in 0..50 {
            pair.step(n)?;
            if n % 7 == 6 {
                let entries = pair.queue.commit()?;
                // Before, because a crash may come after the manifest is in place.
                committed.push(pair.map.clone());
                folder.commit(PAYLOAD_VERSION, &to_manifest(&entries))?;
            }
        }
        Ok(())
    };
    let outcome = run();
    (committed, outcome)
}

/// The queue that the manifest of a disk lists.
fn reopened(disk: &CrashDisk) -> Result<Map, Error> {
    let (folder, manifest) = open(disk)?;
    let entries = from_manifest(&manifest);
    folder.sweep(entries.iter().map(|entry| entry.name.as_str()))?;
    let mut queue = PieceQueue::reopen(durable(&folder, 0), &entries)?;
    assert_eq!(queue.n_files(), entries.len());
    let mut map = Map::new();
    while let Some(rank) = queue.first() {
        let mut pieces = Vec::new();
        let popped = queue.pop_first(|version, bytes| {
            pieces.push((version, bytes.to_vec()));
            Ok(())
        })?;
        assert_eq!(popped, Some(rank));
        map.insert(rank, joined(&pieces));
    }
    Ok(map)
}

#[track_caller]
fn assert_committed(disk: &CrashDisk, committed: &[Map], context: &str) {
    let found = reopened(disk).unwrap_or_else(|error| panic!("{context}: {error}"));
    let expected = committed.iter().rev().take(2);
    let join = |map: &Map| -> Map {
        let ranks = map.iter();
        ranks
            .map(|(rank, pieces)| (*rank, joined(pieces)))
            .collect()
    };
    let is_expected = expected.map(join).any(|map| map == found);
    assert!(
        is_expected || found.is_empty() && committed.len() < 2,
        "{context}"
    );
}

#[test]
fn a_crash_at_any_operation_leaves_the_queue_of_the_last_manifest() {
    let whole = CrashDisk::new();
    let (committed, outcome) = history(&whole);
    outcome.expect("nothing fails");
    assert_eq!(committed.len(), 7);
    assert!(committed.iter().all(|map| !map.is_empty()));
    let n_operations = whole.n_operations();
    assert!(n_operations > 300, "{n_operations}");
    let operations: Vec<u64> = (0..n_operations).collect();
    on_all(&operations, |&n| {
        let disk = CrashDisk::new();
        disk.stop_at(n);
        let (committed, outcome) = history(&disk);
        assert!(outcome.is_err(), "operation {n}");
        for seed in 0..2 {
            assert_committed(&disk.crash(seed), &committed, &format!("operation {n}"));
        }
    });
}

#[test]
fn a_full_disk_says_so_and_loses_nothing() {
    let mut n_full = 0;
    for capacity in (0..40).map(|n| n * 50_000) {
        let disk = CrashDisk::new();
        disk.set_capacity(capacity, capacity % 100_000 == 0);
        let (committed, outcome) = history(&disk);
        match outcome {
            Ok(()) => {}
            Err(Error::Full { .. }) => n_full += 1,
            Err(error) => panic!("{capacity} bytes: {error}"),
        }
        disk.set_capacity(u64::MAX, true);
        assert_committed(&disk, &committed, &format!("{capacity} bytes"));
    }
    assert!(n_full > 5 && n_full < 40, "{n_full}");
}

/// What is in memory stays there when it cannot be written.
#[test]
fn a_push_that_finds_the_disk_full_is_not_lost() {
    let disk = CrashDisk::new();
    let (folder, _) = open(&disk).expect("a folder");
    let mut pair = Pair::new(11, 100, 500);
    pair.queue.attach(durable(&folder, 0)).expect("room");
    disk.set_capacity(0, true);
    let mut n_full = 0;
    for _ in 0..300 {
        let before = pair.map.clone();
        if let Err(Error::Full { .. }) = pair.push() {
            // The piece was taken before it was found that all of them should be written.
            n_full += 1;
            assert_eq!(pair.map, before);
            break;
        }
    }
    assert_eq!(n_full, 1);
    disk.set_capacity(u64::MAX, true);
    let mut n_pieces = 0;
    while let Some(_rank) = pair
        .queue
        .pop_first(|_, bytes| {
            n_pieces += bytes.len();
            Ok(())
        })
        .expect("it can be read")
    {}
    let pushed: usize = pair
        .map
        .values()
        .flatten()
        .map(|(_, bytes)| bytes.len())
        .sum();
    assert!(
        n_pieces >= pushed && n_pieces <= pushed + 500,
        "{n_pieces} {pushed}"
    );
}

#[test]
fn an_entry_that_contradicts_its_file_is_damage() {
    let (folder, _) = open(&CrashDisk::new()).expect("a folder");
    let mut pair = Pair::new(12, 50, 1_000);
    pair.queue.attach(durable(&folder, u64::MAX)).expect("room");
    for _ in 0..300 {
        pair.push().expect("room");
    }
    let entries = pair.queue.commit().expect("room");
    let entry = entries[0].clone();
    assert_eq!(entries.len(), 1);
    drop(pair);
    for left in [
        0..entry.left.end + 100_000_000,
        0..entry.left.end - 1,
        1..entry.left.end,
        entry.left.end..entry.left.end + 1,
    ] {
        let entry = SpillEntry {
            left,
            ..entry.clone()
        };
        let read = || -> Result<(), Error> {
            let mut queue = PieceQueue::reopen(durable(&folder, 0), std::slice::from_ref(&entry))?;
            while queue.pop_first(|_, _| Ok(()))?.is_some() {}
            Ok(())
        };
        let error = read().expect_err("it is damaged");
        assert!(matches!(error, Error::Damaged { .. }), "{error}");
    }
}
