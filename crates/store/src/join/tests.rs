//! The join against a map in memory, at several budgets and on several threads.

use std::collections::BTreeMap;
use std::sync::Mutex;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::{JoinLimits, Looked, ValueRun, join, value_runs};
use crate::Error;
use crate::codec::KeyShape;
use crate::disk::Folder;
use crate::partition::{ByNumber, Pairs};
use crate::run::{Batch, KeyRange, Sorted, Splitters};
use crate::tiers::bench::{Bench, StopFlag};
use crate::valued::LeastMerge;

type Key = Vec<u64>;

fn shape(n_words: usize) -> KeyShape {
    KeyShape {
        // As if there had been others.
        version: 3,
        n_bits: 64 * n_words,
        n_words,
    }
}

/// Keys with values, some of them several times; a few are half of all.
fn random_entries(rng: &mut Pcg64Mcg, n_words: usize, n: usize) -> Vec<(Key, u64)> {
    let bits = rng.random_range(10..=64);
    let key = |rng: &mut Pcg64Mcg| -> Key {
        let mut key = vec![7; n_words];
        key[n_words - 1] = rng.random::<u64>() >> (64 - bits);
        key
    };
    let often: Vec<Key> = (0..3).map(|_| key(rng)).collect();
    let entry = |_| {
        let key = match rng.random_range(0..6) {
            0..3 => often[rng.random_range(0..3)].clone(),
            _ => key(rng),
        };
        (key, rng.random::<u64>() >> rng.random_range(0..64))
    };
    (0..n).map(entry).collect()
}

/// Pairs, pushed by several workers in turn.
fn pairs(
    entries: &[(Key, u64)],
    splitters: &Splitters,
    n_workers: usize,
    bytes: u64,
    folder: Option<&Folder>,
) -> Result<Pairs, Error> {
    let n_words = splitters.n_words();
    let mut pairs = Pairs::new(
        splitters.clone(),
        shape(n_words),
        n_workers,
        bytes,
        folder.cloned(),
    );
    for (number, some) in entries.chunks(97).enumerate() {
        let keys: Vec<u64> = some.iter().flat_map(|(key, _)| key.clone()).collect();
        let values: Vec<u64> = some.iter().map(|(_, value)| *value).collect();
        pairs.push(number % n_workers, &keys, &values)?;
    }
    pairs.settle()?;
    let n: u64 = (0..pairs.n_buckets())
        .map(|bucket| pairs.n_in(bucket))
        .sum();
    assert_eq!(n, entries.len() as u64);
    Ok(pairs)
}

/// Least values by key.
fn least(entries: &[(Key, u64)]) -> BTreeMap<Key, u64> {
    let mut least = BTreeMap::new();
    for (key, value) in entries {
        let known = least.entry(key.clone()).or_insert(*value);
        *known = (*known).min(*value);
    }
    least
}

fn entries_of(runs: &[ValueRun], n_words: usize) -> Vec<(Key, u64)> {
    let sources = runs
        .iter()
        .map(|run| Box::new(run.run().entries(KeyRange::ALL)) as Box<dyn Sorted + '_>);
    let mut merge = LeastMerge::new(n_words, sources.collect());
    let (mut all, mut batch) = (Vec::new(), Batch::default());
    while merge.next_batch(&mut batch).expect("runs are whole") {
        let keys = batch.keys.chunks(n_words).map(<[u64]>::to_vec);
        all.extend(keys.zip(batch.ordinals.iter().copied()));
    }
    all
}

/// Of pairs: beyond what 32 bits number. Values of runs are of all sizes up to 64 bits.
const FIRST_NUMBER: u64 = 5 << 32;

/// Budgets for buffers, tables and sorting, from next to nothing to plenty.
const BUDGETS: [(u64, u64, usize); 4] = [
    (1 << 10, 1 << 8, 5),
    (40 << 10, 8 << 10, 200),
    (1 << 20, 1 << 20, 3_000),
    (1 << 30, 1 << 30, 1 << 20),
];

#[test]
fn a_join_delivers_every_pair_with_the_least_value_of_its_key() {
    let mut rng = Pcg64Mcg::seed_from_u64(1);
    let (mut n_spilled, mut n_missing) = (0, 0);
    for (n_words, n_left, n_right) in [
        (1, 0, 500),
        (1, 3_000, 7_000),
        (2, 2_000, 3_000),
        (20, 300, 400),
    ] {
        let left = random_entries(&mut rng, n_words, n_left);
        let mut right = random_entries(&mut rng, n_words, n_right / 2);
        for number in right.len()..n_right {
            let key = match left.get(number * 31 % n_left.max(1)) {
                Some((key, _)) => key.clone(),
                None => vec![3; n_words],
            };
            right.push((key, 0));
        }
        for (number, (_, value)) in (FIRST_NUMBER..).zip(&mut right) {
            *value = number;
        }
        let least = least(&left);
        let sample: Vec<u64> = left.iter().flat_map(|(key, _)| key.clone()).collect();
        for (bytes, table_bytes, most_pairs) in BUDGETS {
            for n_threads in [1, 2, 4] {
                let bench = Bench::new();
                let n_buckets = [1, 3, 50][rng.random_range(0..3)];
                let splitters = Splitters::sample(n_words, &[&sample], n_buckets);
                let folder = Some(&bench.folder).filter(|_| bytes < 1 << 30);
                let states = pairs(&left, &splitters, n_threads, bytes, folder);
                let states = states.expect("there is room");
                let runs = value_runs(
                    &states,
                    3 * n_threads,
                    most_pairs,
                    n_threads,
                    folder,
                    &StopFlag::default(),
                );
                let runs = runs.expect("there is room");
                assert!(entries_of(&runs, n_words).into_iter().eq(least.clone()));
                let edges = pairs(&right, &splitters, n_threads, bytes, folder);
                let edges = edges.expect("there is room");
                n_spilled += edges.n_files();
                let by_number = ByNumber::new(
                    n_right as u64,
                    table_bytes,
                    n_threads,
                    bytes,
                    folder.cloned(),
                );
                let looked: Vec<Looked<'_>> = runs.iter().map(|run| run.run().into()).collect();
                let missing = Mutex::new(Vec::new());
                let limits = JoinLimits {
                    n_threads,
                    table_bytes,
                };
                let joined = join(
                    &looked,
                    &edges,
                    limits,
                    &StopFlag::default(),
                    &|worker, joined| {
                        let from_zero = |numbers: &[u64]| -> Vec<u64> {
                            numbers.iter().map(|number| number - FIRST_NUMBER).collect()
                        };
                        by_number.put(worker, &from_zero(joined.numbers), joined.values)?;
                        let none = vec![u64::MAX; joined.missing.len()];
                        by_number.put(worker, &from_zero(joined.missing), &none)?;
                        let mut missing = missing.lock().expect("nobody panics");
                        missing.extend(from_zero(joined.missing));
                        Ok(())
                    },
                );
                joined.expect("there is room");
                let mut by_number = by_number;
                by_number.settle().expect("there is room");
                let (mut found, mut some) = (Vec::new(), Vec::new());
                let mut stretches = by_number.stretches();
                while stretches
                    .next(&mut some)
                    .expect("each number is there once")
                {
                    assert!(some.len() as u64 <= by_number.stretch_len());
                    found.extend_from_slice(&some);
                }
                let value = |key: &Key| least.get(key).copied();
                let expected: Vec<Option<u64>> = right.iter().map(|(key, _)| value(key)).collect();
                let filled: Vec<u64> = expected.iter().map(|it| it.unwrap_or(u64::MAX)).collect();
                assert_eq!(found, filled, "{n_words} {bytes} {n_threads}");
                let mut missing = missing.into_inner().expect("nobody panics");
                missing.sort_unstable();
                let absent = (0..).zip(&expected).filter(|(_, value)| value.is_none());
                assert!(absent.map(|(number, _)| number).eq(missing.iter().copied()));
                n_missing += missing.len();
            }
        }
    }
    assert!(
        n_spilled > 100 && n_missing > 100,
        "{n_spilled} {n_missing}"
    );
}

#[test]
fn a_number_that_is_missing_or_there_twice_is_found_out() {
    for numbers in [vec![0, 1, 3], vec![0, 1, 1, 2, 3], vec![0, 0, 2, 3], vec![]] {
        let mut by_number = ByNumber::new(4, 16, 1, 1 << 10, None);
        let values: Vec<u64> = numbers.iter().map(|number| number * 10).collect();
        by_number
            .put(0, &numbers, &values)
            .expect("memory has room");
        by_number.settle().expect("memory has room");
        let (mut stretches, mut some) = (by_number.stretches(), Vec::new());
        let mut outcome = Ok(true);
        while let Ok(true) = outcome {
            outcome = stretches.next(&mut some);
        }
        assert!(matches!(outcome, Err(Error::Damaged { .. })), "{numbers:?}");
    }
}

#[test]
fn a_stop_ends_a_join_and_a_full_disk_is_an_error() {
    let mut rng = Pcg64Mcg::seed_from_u64(2);
    let entries = random_entries(&mut rng, 1, 20_000);
    let sample: Vec<u64> = entries.iter().flat_map(|(key, _)| key.clone()).collect();
    let splitters = Splitters::sample(1, &[&sample], 20);
    let bench = Bench::new();
    let states = pairs(&entries, &splitters, 2, 50_000, Some(&bench.folder)).expect("room");
    let runs = value_runs(&states, 4, 100, 2, Some(&bench.folder), &bench.monitor).expect("room");
    let looked: Vec<Looked<'_>> = runs.iter().map(|run| run.run().into()).collect();
    bench.monitor.raise();
    let limits = JoinLimits {
        n_threads: 2,
        table_bytes: 1 << 20,
    };
    let stopped = join(&looked, &states, limits, &bench.monitor, &|_, _| {
        panic!("it stops")
    });
    stopped.expect("a stop is no error");
    drop(looked);
    drop((runs, states));
    bench
        .folder
        .wait_for_deletions()
        .expect("files can be deleted");
    assert_eq!(bench.folder.statistics().disk_bytes, 0, "nothing stays");

    let small = Bench::with_limit(100 << 10);
    let full = pairs(&entries, &splitters, 2, 20_000, Some(&small.folder));
    assert!(matches!(full.err(), Some(Error::Full { .. })));
}
