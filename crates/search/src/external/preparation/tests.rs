//! Preparations of a set that grows, on a disk in memory.

use std::collections::BTreeSet;
use std::sync::Arc;

use hadal_store::disk::{Folder, FolderOptions};
use hadal_store::{Error, Keys, N_PARTITIONS};
use hadal_testkit::disk::CrashDisk;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::super::bench::{Bench, keys_of};
use super::{Preparation, Tiers};
use crate::shared::{read, write};

/// Keys that come in a round.
const ROUND_KEYS: usize = 2_000;
/// What each takes; the budget is for a hundred times as many as come in a round.
const KEY_BYTES: u64 = 20;
const MEMORY_BYTES: u64 = 100 * ROUND_KEYS as u64 * KEY_BYTES;

/// Adds the keys of a round to the set; returns those that belong to partitions before
/// `first_unswept`.
fn add(bench: &Bench, keys: &[u64], first_unswept: usize) -> Vec<u64> {
    let set = read(&bench.keyed.set);
    let mut by_partition = Keys::default();
    by_partition.fill(set.placing(), keys);
    let mut gathered = Vec::new();
    for partition in 0..N_PARTITIONS {
        let cells = std::iter::once(by_partition.cells(partition));
        write(set.partition(partition)).add_all(cells, |_, at| {
            let position = by_partition.positions(partition)[at];
            if partition < first_unswept {
                gathered.push(keys[position as usize]);
            }
        });
    }
    gathered
}

fn n_keys(tiers: &Tiers) -> u64 {
    tiers.segments().map(|run| run.n_keys()).sum()
}

#[test]
fn little_is_left_when_memory_ends_and_nothing_is_missing() {
    for n_threads in [1, 2] {
        let bench = Bench::new();
        let means = bench.means(n_threads, false);
        let mut rng = Pcg64Mcg::seed_from_u64(11);
        let mut all = BTreeSet::new();
        let mut preparation: Option<Preparation> = None;
        // Until seven eighths of the budget are full.
        for round in 0..87_u64 {
            let keys: Vec<u64> = (0..ROUND_KEYS).map(|_| rng.random()).collect();
            all.extend(&keys);
            let first_unswept = preparation.as_ref().map_or(0, |p| p.first_unswept());
            let gathered = add(&bench, &keys, first_unswept);
            let set = read(&bench.keyed.set);
            let held_bytes = (round + 1) * ROUND_KEYS as u64 * KEY_BYTES;
            let is_due = Preparation::is_due(held_bytes, MEMORY_BYTES);
            assert_eq!(is_due, round >= 60, "{round}");
            if !is_due {
                continue;
            }
            let begun =
                preparation.get_or_insert_with(|| Preparation::new(&set, MEMORY_BYTES, &means));
            let before = n_keys(&begun.tiers);
            begun.gather(&gathered, &means).expect("a run");
            begun
                .keep_up(&set, held_bytes, MEMORY_BYTES, &means)
                .expect("a run");
            // Nobody waits for more than a small share of the set between two rounds.
            let made = n_keys(&begun.tiers) - before;
            assert!(made <= set.len() / 8, "{round}: {made} of {}", set.len());
            assert!(begun.gathered_bytes() <= MEMORY_BYTES / 32);
        }
        let begun = preparation.expect("it has begun");
        assert_eq!(begun.first_unswept(), N_PARTITIONS);
        let before = n_keys(&begun.tiers);
        let set = read(&bench.keyed.set);
        assert!(before >= set.len() / 8 * 7);
        let tiers = begun.finish(&set, MEMORY_BYTES / 8, &means).expect("a run");
        assert_eq!(n_keys(&tiers), all.len() as u64);
        assert_eq!(keys_of(&tiers), all);
    }
}

#[test]
fn what_is_not_swept_by_the_end_is_swept_then() {
    let bench = Bench::new();
    let means = bench.means(2, false);
    let mut rng = Pcg64Mcg::seed_from_u64(12);
    let keys: Vec<u64> = (0..20_000).map(|_| rng.random()).collect();
    add(&bench, &keys, 0);
    let set = read(&bench.keyed.set);
    let mut begun = Preparation::new(&set, MEMORY_BYTES, &means);
    // Memory is full at once.
    begun
        .keep_up(&set, MEMORY_BYTES, MEMORY_BYTES, &means)
        .expect("a run");
    assert!((1..N_PARTITIONS).contains(&begun.first_unswept()));
    let more: Vec<u64> = (0..1_000).map(|_| rng.random()).collect();
    let gathered = add(&bench, &more, begun.first_unswept());
    assert!(!gathered.is_empty() && gathered.len() < 1_000);
    begun.gather(&gathered, &means).expect("room");
    let tiers = begun.finish(&set, 100_000, &means).expect("a run");
    let all: BTreeSet<u64> = keys.iter().chain(&more).copied().collect();
    assert_eq!(keys_of(&tiers), all);
}

#[test]
fn what_was_in_vain_leaves_nothing() {
    let bench = Bench::new();
    let means = bench.means(1, false);
    let keys: Vec<u64> = (0..10_000).map(|key| key * 7919).collect();
    add(&bench, &keys, 0);
    let set = read(&bench.keyed.set);
    let mut begun = Preparation::new(&set, MEMORY_BYTES, &means);
    begun
        .keep_up(&set, MEMORY_BYTES, MEMORY_BYTES, &means)
        .expect("a run");
    assert!(bench.folder.statistics().disk_bytes > 0);
    begun.discard(&bench.folder).expect("files go");
    assert_eq!(bench.folder.statistics().disk_bytes, 0);
}

/// Some runs of a group are whole when another finds no room; nobody knows them by then.
#[test]
fn a_disk_that_is_full_is_left_empty() {
    for (n_threads, is_told) in [(1, true), (2, true), (2, false)] {
        let disk = CrashDisk::new();
        let options = FolderOptions {
            buffer_bytes: 0,
            reserve_bytes: 0,
            ..FolderOptions::default()
        };
        let mut bench = Bench::new();
        (bench.folder, _) = Folder::open(Arc::new(disk.clone()), options).expect("a folder");
        let means = bench.means(n_threads, false);
        let mut rng = Pcg64Mcg::seed_from_u64(13);
        let keys: Vec<u64> = (0..120_000).map(|_| rng.random()).collect();
        add(&bench, &keys, 0);
        let set = read(&bench.keyed.set);
        let mut begun = Preparation::new(&set, MEMORY_BYTES, &means);
        let keep_up =
            |begun: &mut Preparation| begun.keep_up(&set, MEMORY_BYTES, MEMORY_BYTES, &means);
        keep_up(&mut begun).expect("a run");
        // The next group gets half as much as it needs.
        let used = disk.used_bytes();
        disk.set_capacity(used + used / 2, is_told);
        assert!(matches!(keep_up(&mut begun), Err(Error::Full { .. })));
        bench.folder.settle().expect("files go");
        assert_eq!(disk.used_bytes(), used);
        assert_eq!(bench.folder.statistics().disk_bytes, used);
        begun.discard(&bench.folder).expect("files go");
        bench.folder.settle().expect("files go");
        assert_eq!(disk.used_bytes(), 0);
        assert_eq!(bench.folder.statistics().disk_bytes, 0);
    }
}
