//! Merges slice by slice, on a disk in memory.

use std::collections::BTreeSet;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::super::bench::{Bench, RUN_BYTES, keys_of};
use super::super::{Segment, Tier, Tiers};
use super::{Inexpressible, is_before, meets};
use crate::codec::{Codec, Headroom, Recoder};
use crate::run::{KeyRange, MemoryBlocks, Older, Recode, RunWriter, Versioned};

fn random_keys(rng: &mut Pcg64Mcg, n: usize) -> BTreeSet<u64> {
    (0..n).map(|_| rng.random()).collect()
}

#[test]
fn old_and_new_are_never_there_in_full_and_nothing_is_ever_missing() {
    for (n_threads, durable) in [(1, false), (2, false), (1, true), (2, true)] {
        let bench = Bench::new();
        let context = bench.context(n_threads, durable);
        let mut rng = Pcg64Mcg::seed_from_u64(7);
        let mut tiers = Tiers::default();
        let mut all = BTreeSet::new();
        let mut n_slices = 0;
        for n in [600_000, 90_000, 90_000, 450_000] {
            let mut keys = random_keys(&mut rng, n);
            // Some keys are there already.
            keys.extend(all.iter().step_by(97));
            tiers.push(bench.tier(&keys), &context).expect("a tier");
            all.extend(keys);
            if durable {
                bench
                    .folder
                    .commit(0, b"these are listed")
                    .expect("a commit");
            }
            let before = bench.folder.statistics().disk_bytes;
            while tiers.compaction.is_some() {
                assert!(tiers.merge_slice(&context).expect("a slice"));
                n_slices += 1;
                let statistics = bench.folder.statistics();
                // A file of so few blocks is longer than its keys by a half. There is a slice, and what
                // runs of the old tiers reach over its end, some of which are cut in four; and
                // what waits for the next manifest.
                let slice = n_threads as u64 * RUN_BYTES * 3 / 2;
                let reaching = (before / 4 + RUN_BYTES) * 3 / 2;
                let waiting = if durable { 3 * slice } else { 0 };
                assert!(
                    statistics.disk_bytes <= before + slice + reaching + waiting,
                    "{n_threads} {durable}: {} of {before}",
                    statistics.disk_bytes
                );
                if bench.folder.retired_bytes() > 2 * slice {
                    bench
                        .folder
                        .commit(0, b"these are listed")
                        .expect("a commit");
                }
                if n_slices % 13 == 0 {
                    assert_eq!(keys_of(&tiers), all, "{n_threads} {durable}");
                }
                // Whoever resumes knows no more than the manifest holds.
                if durable && n_slices % 4 == 0 {
                    let (entries, compaction) = tiers.commit(&context).expect("a commit");
                    bench
                        .folder
                        .commit(0, b"these are listed")
                        .expect("a commit");
                    assert_eq!(compaction.is_some(), tiers.compaction.is_some());
                    tiers = Tiers::open(&bench.folder, &entries, compaction).expect("tiers");
                }
            }
            assert_eq!(keys_of(&tiers), all, "{n_threads} {durable}");
        }
        assert!(n_slices > 20, "{n_slices}");
        // Equal keys are one, and runs have bounded length.
        let n_keys: u64 = tiers.segments().map(Segment::n_keys).sum();
        assert_eq!(n_keys, all.len() as u64);
        let longest = tiers.segments().map(|segment| segment.data_bytes).max();
        assert!(
            longest.is_some_and(|bytes| bytes <= 2 * RUN_BYTES),
            "{longest:?}"
        );
    }
}

#[test]
fn a_merge_that_is_stopped_leaves_everything_as_it_was() {
    let bench = Bench::new();
    let context = bench.context(2, false);
    let mut rng = Pcg64Mcg::seed_from_u64(8);
    let mut tiers = Tiers::default();
    let mut all = BTreeSet::new();
    for _ in 0..2 {
        let keys = random_keys(&mut rng, 300_000);
        tiers.push(bench.tier(&keys), &context).expect("a tier");
        all.extend(keys);
    }
    assert!(tiers.merge_slice(&context).expect("a slice"));
    let before = bench.folder.statistics().disk_bytes;
    bench.monitor.raise();
    assert!(!tiers.merge_slice(&context).expect("nothing fails"));
    tiers.keep_up(1, 1, &context).expect("nothing fails");
    tiers.keep_up(2, 1, &context).expect("nothing fails");
    assert!(tiers.compaction.is_some());
    assert_eq!(bench.folder.statistics().disk_bytes, before);
    assert_eq!(keys_of(&tiers), all);
}

#[test]
fn a_merge_takes_as_long_as_it_may() {
    let bench = Bench::new();
    let context = bench.context(1, false);
    let mut rng = Pcg64Mcg::seed_from_u64(9);
    let mut tiers = Tiers::default();
    for _ in 0..2 {
        let keys = random_keys(&mut rng, 450_000);
        tiers.push(bench.tier(&keys), &context).expect("a tier");
    }
    let old = |tiers: &Tiers| -> u64 { tiers.tiers[1..].iter().map(Tier::n_keys).sum() };
    assert_eq!(old(&tiers), 900_000);
    // It begins with the states that come from now on.
    tiers.keep_up(5_000, 1_000, &context).expect("a slice");
    assert_eq!(old(&tiers), 900_000);
    let mut last = 900_000;
    for n_expanded in (5_100..6_000).step_by(100) {
        tiers.keep_up(n_expanded, 1_000, &context).expect("a slice");
        assert!(tiers.compaction.is_some(), "{n_expanded}");
        let left = old(&tiers);
        assert!(
            left <= last && last - left < 300_000,
            "{n_expanded}: {left} of {last}"
        );
        last = left;
    }
    tiers.keep_up(6_000, 1_000, &context).expect("a slice");
    assert!(tiers.compaction.is_none() && tiers.tiers.len() == 1);
}

#[test]
fn where_room_is_short_one_tier_is_made_of_all() {
    let bench = Bench::new();
    let context = bench.context(2, false);
    let mut rng = Pcg64Mcg::seed_from_u64(10);
    let mut tiers = Tiers::default();
    let mut all = BTreeSet::new();
    for n in [500_000, 20_000, 4_000] {
        let keys = random_keys(&mut rng, n);
        tiers.push(bench.tier(&keys), &context).expect("a tier");
        all.extend(keys);
        let n_tiers = tiers.tiers.len();
        assert!(tiers.compaction.is_none());
        tiers.squeeze(&context).expect("a slice");
        if n == 20_000 {
            // That is so little that nothing would be gained.
            assert_eq!((n_tiers, tiers.tiers.len()), (2, 2));
        }
    }
    let keys = random_keys(&mut rng, 30_000);
    all.extend(&keys);
    tiers.push(bench.tier(&keys), &context).expect("a tier");
    let before = bench.folder.statistics().disk_bytes;
    for _ in 0..100 {
        tiers.squeeze(&context).expect("a slice");
    }
    assert!(tiers.compaction.is_none() && tiers.tiers.len() == 1);
    assert!(bench.folder.statistics().disk_bytes < before + before / 2);
    assert_eq!(keys_of(&tiers), all);
}

#[test]
fn where_room_is_short_no_more_tiers_are_merged_at_once_than_memory_allows() {
    let bench = Bench::new();
    let context = bench.context(1, false);
    let mut rng = Pcg64Mcg::seed_from_u64(12);
    let mut tiers = Tiers::default();
    let mut all = BTreeSet::new();
    let n_tiers = 3 * context.max_fan_in();
    for _ in 0..n_tiers {
        let keys = random_keys(&mut rng, 200);
        tiers.add([bench.tier(&keys)]);
        all.extend(keys);
    }
    let mut n_merges = 0;
    while tiers.tiers.len() > 1 {
        let before = tiers.tiers.len();
        tiers.squeeze(&context).expect("a slice");
        assert!(tiers.compaction.is_none(), "it is one slice");
        let n_merged = before - tiers.tiers.len() + 1;
        assert!(n_merged <= context.max_fan_in(), "{n_merged} of {before}");
        n_merges += 1;
    }
    assert!(n_merges >= 3, "{n_merges}");
    assert_eq!(keys_of(&tiers), all);
}

/// A last key that the newest layout cannot express is not taken for the end of an empty run.
#[test]
fn a_run_whose_last_key_is_damaged_is_kept_until_its_block_is_read() {
    let codec = Codec::collapsed(20, 1 << 20);
    let mut padded = |value: u8| {
        let state: Vec<u8> = [[value; 20].to_vec(), vec![0; 8]].concat();
        let (mut encoder, mut key) = (codec.encoder(), Vec::new());
        while encoder.encode(&codec, &state, 1, &mut key).is_err() {
            codec.widen(Headroom::Ordered);
        }
        key
    };
    padded(1);
    let old = codec.newest();
    let keys: Vec<Vec<u64>> = (2..200).map(&mut padded).collect();
    let newest = codec.newest();
    assert_ne!(old.version, newest.version);
    let last = keys.last().expect("there are keys");
    let mut writer = RunWriter::new(MemoryBlocks::default(), newest.n_words);
    writer.push(last).expect("it is in memory");
    let segment = Segment::finish_in_memory(writer, newest.version).expect("it is in memory");
    // The older layout takes the part of the newest.
    struct Between<'a>(Recoder<'a>);
    impl Recode for Between<'_> {
        fn recode(&self, key: &[u64], out: &mut [u64]) -> bool {
            self.0.recode(key, out)
        }
    }
    let to_old = Between(codec.recoder(newest.version, old.version));
    let from_old = Between(codec.recoder(old.version, newest.version));
    let run = Versioned {
        run: &segment.run,
        older: Some(Older {
            from_newest: &from_old,
            to_newest: &to_old,
            n_words: old.n_words,
        }),
    };
    assert_eq!(run.newest_last(&mut Vec::new()), Err(Inexpressible));
    let end = vec![u64::MAX; old.n_words];
    assert!(!is_before(&run, Some(&end)) && !is_before(&run, None));
    assert!(meets(&run, KeyRange::ALL));
}
