//! Early flushing of a set that grows, on a disk in memory.

use std::collections::BTreeSet;

use crate::{Error, Keys, N_PARTITIONS};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::super::bench::{Bench, keys_of};
use super::{EarlyFlush, Tiers};
use crate::lock::write;

/// Keys that come in a round.
const ROUND_KEYS: usize = 2_000;
/// What each takes; the budget is for a hundred times as many as come in a round.
const KEY_BYTES: u64 = 20;
const MEMORY_BYTES: u64 = 100 * ROUND_KEYS as u64 * KEY_BYTES;
/// Where flushing begins and should end.
const RANGE: (u64, u64) = (MEMORY_BYTES / 100 * 60, MEMORY_BYTES / 100 * 82);

/// Adds the keys of a round to the set; returns those that belong to partitions before
/// `first_unflushed`.
fn add(bench: &Bench, keys: &[u64], first_unflushed: usize) -> Vec<u64> {
    let set = &bench.set;
    let mut by_partition = Keys::default();
    by_partition.fill(set.placing(), keys);
    let mut gathered = Vec::new();
    for partition in 0..N_PARTITIONS {
        let cells = std::iter::once(by_partition.cells(partition));
        write(set.partition(partition)).add_all(cells, |_, at| {
            let position = by_partition.positions(partition)[at];
            if partition < first_unflushed {
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
        let context = bench.context(n_threads, false);
        let mut rng = Pcg64Mcg::seed_from_u64(11);
        let mut all = BTreeSet::new();
        let mut flushing: Option<EarlyFlush> = None;
        // Until seven eighths of the budget are full.
        for round in 0..87_u64 {
            let keys: Vec<u64> = (0..ROUND_KEYS).map(|_| rng.random()).collect();
            all.extend(&keys);
            let first_unflushed = flushing.as_ref().map_or(0, |p| p.first_unflushed());
            let gathered = add(&bench, &keys, first_unflushed);
            let set = &bench.set;
            let held_bytes = (round + 1) * ROUND_KEYS as u64 * KEY_BYTES;
            let is_due = held_bytes > RANGE.0;
            assert_eq!(is_due, round >= 60, "{round}");
            if !is_due {
                continue;
            }
            let begun =
                flushing.get_or_insert_with(|| EarlyFlush::new(set, MEMORY_BYTES / 8, &context));
            let before = n_keys(&begun.tiers);
            begun.gather(&gathered, &context).expect("a run");
            begun
                .keep_up(set, held_bytes, RANGE, &context)
                .expect("a run");
            // Nobody waits for more than a small share of the set between two rounds.
            let made = n_keys(&begun.tiers) - before;
            assert!(made <= set.len() / 8, "{round}: {made} of {}", set.len());
            assert!(begun.gathered_bytes() <= MEMORY_BYTES / 32);
        }
        let begun = flushing.expect("it has begun");
        assert_eq!(begun.first_unflushed(), N_PARTITIONS);
        let before = n_keys(&begun.tiers);
        let set = &bench.set;
        assert!(before >= set.len() / 8 * 7);
        let tiers = begun
            .finish(set, MEMORY_BYTES / 8, &context)
            .expect("a run");
        assert_eq!(n_keys(&tiers), all.len() as u64);
        assert_eq!(keys_of(&tiers), all);
    }
}

#[test]
fn what_is_not_flushed_by_the_end_is_flushed_then() {
    let bench = Bench::new();
    let context = bench.context(2, false);
    let mut rng = Pcg64Mcg::seed_from_u64(12);
    let keys: Vec<u64> = (0..20_000).map(|_| rng.random()).collect();
    add(&bench, &keys, 0);
    let set = &bench.set;
    let mut begun = EarlyFlush::new(set, MEMORY_BYTES / 8, &context);
    // Memory is full at once.
    begun
        .keep_up(set, MEMORY_BYTES, RANGE, &context)
        .expect("a run");
    assert!((1..N_PARTITIONS).contains(&begun.first_unflushed()));
    let more: Vec<u64> = (0..1_000).map(|_| rng.random()).collect();
    let gathered = add(&bench, &more, begun.first_unflushed());
    assert!(!gathered.is_empty() && gathered.len() < 1_000);
    begun.gather(&gathered, &context).expect("room");
    let tiers = begun.finish(set, 100_000, &context).expect("a run");
    let all: BTreeSet<u64> = keys.iter().chain(&more).copied().collect();
    assert_eq!(keys_of(&tiers), all);
}

#[test]
fn what_is_discarded_leaves_nothing() {
    let bench = Bench::new();
    let context = bench.context(1, false);
    let keys: Vec<u64> = (0..10_000).map(|key| key * 7919).collect();
    add(&bench, &keys, 0);
    let set = &bench.set;
    let mut begun = EarlyFlush::new(set, MEMORY_BYTES / 8, &context);
    begun
        .keep_up(set, MEMORY_BYTES, RANGE, &context)
        .expect("a run");
    assert!(bench.folder.statistics().disk_bytes > 0);
    begun.discard(&bench.folder).expect("files go");
    assert_eq!(bench.folder.statistics().disk_bytes, 0);
}

/// Some runs of a group are complete when another finds no space; no manifest lists them by then.
#[test]
fn a_full_disk_is_left_empty() {
    for n_threads in [1, 2] {
        let mut rng = Pcg64Mcg::seed_from_u64(13);
        let keys: Vec<u64> = (0..120_000).map(|_| rng.random()).collect();
        // The first time it is measured how much a group takes; then the second one gets half.
        let mut limit_bytes = u64::MAX;
        for is_full in [false, true] {
            let bench = Bench::with_limit(limit_bytes);
            let context = bench.context(n_threads, false);
            add(&bench, &keys, 0);
            let set = &bench.set;
            let mut begun = EarlyFlush::new(set, MEMORY_BYTES / 8, &context);
            let keep_up =
                |begun: &mut EarlyFlush| begun.keep_up(set, MEMORY_BYTES, RANGE, &context);
            keep_up(&mut begun).expect("a run");
            let used = bench.folder.statistics().disk_bytes;
            limit_bytes = used + used / 2;
            if is_full {
                assert!(matches!(keep_up(&mut begun), Err(Error::Full { .. })));
                bench.folder.wait_for_deletions().expect("files go");
                assert_eq!(bench.folder.statistics().disk_bytes, used);
            }
            begun.discard(&bench.folder).expect("files go");
            bench.folder.wait_for_deletions().expect("files go");
            assert_eq!(bench.folder.statistics().disk_bytes, 0);
        }
    }
}
