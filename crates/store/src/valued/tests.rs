//! Runs with values against maps in memory, for random keys of many widths.

use std::collections::BTreeMap;
use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::{LeastMerge, LeastValues, ValuedRun, ValuedWriter};
use crate::run::{Batch, KeyRange, MemoryBlocks, Older, Recode, Sorted};
use crate::{BLOCK_BYTES, Error, MAX_KEY_WORDS};

type Key = Vec<u64>;
type Map = BTreeMap<Key, u64>;

/// Random entries: keys that share much or nothing, values that are close or anywhere.
fn random_map(rng: &mut Pcg64Mcg, n_words: usize, n: usize) -> Map {
    let common: Key = (0..n_words).map(|_| rng.random()).collect();
    let n_random = rng.random_range(1..=n_words.min(3));
    let bits = rng.random_range(1..=64);
    let are_values_close = rng.random_bool(0.5);
    let entry = |number: usize| {
        let mut key = common.clone();
        for word in &mut key[n_words - n_random..] {
            *word = rng.random::<u64>() >> (64 - bits);
        }
        let value = match are_values_close {
            true => number as u64,
            false => rng.random::<u64>() >> rng.random_range(0..64),
        };
        (key, value)
    };
    let mut map: Map = (0..n).map(entry).collect();
    if n > 2 {
        map.insert(vec![0; n_words], u64::MAX);
        map.insert(vec![u64::MAX; n_words], 0);
    }
    map
}

fn write(map: &Map, n_words: usize) -> (MemoryBlocks, ValuedRun) {
    let mut writer = ValuedWriter::new(MemoryBlocks::default(), n_words);
    let entries: Vec<_> = map.iter().collect();
    for some in entries.chunks(700) {
        let keys: Vec<u64> = some
            .iter()
            .flat_map(|(key, _)| key.iter().copied())
            .collect();
        let values: Vec<u64> = some.iter().map(|(_, value)| **value).collect();
        writer.push(&keys, &values).expect("memory has room");
    }
    let (blocks, written) = writer.finish().expect("memory has room");
    assert_eq!(written.n_keys, map.len() as u64);
    assert_eq!(written.data_bytes, blocks.data_bytes());
    let run = ValuedRun::new(Arc::new(blocks.clone()), written, "a run");
    (blocks, run)
}

fn all(sorted: &mut dyn Sorted) -> Result<Vec<(Key, u64)>, Error> {
    let (mut found, mut batch) = (Vec::new(), Batch::default());
    let n_words = sorted.n_words();
    while sorted.next_batch(&mut batch)? {
        assert!(!batch.ordinals.is_empty());
        let keys = batch.keys.chunks_exact(n_words).map(<[u64]>::to_vec);
        found.extend(keys.zip(batch.ordinals.iter().copied()));
    }
    assert!(batch.ordinals.is_empty());
    Ok(found)
}

const SIZES: [(usize, usize); 9] = [
    (1, 0),
    (1, 1),
    (1, 40_000),
    (2, 3),
    (2, 30_000),
    (5, 9_000),
    (17, 2_000),
    (600, 90),
    (MAX_KEY_WORDS, 4),
];

#[test]
fn entries_come_back_in_any_range() {
    let mut rng = Pcg64Mcg::seed_from_u64(1);
    for (n_words, n) in SIZES {
        let map = random_map(&mut rng, n_words, n);
        let (blocks, written) = write(&map, n_words);
        assert!(blocks.blocks.iter().all(|block| block.len() <= BLOCK_BYTES));
        let n_blocks = blocks.blocks.len() as u32;
        let opened = ValuedRun::open(Arc::new(blocks), n_blocks, "a run").expect("it is whole");
        let keys: Vec<&Key> = map.keys().collect();
        for run in [&written, &opened] {
            assert_eq!((run.n_words(), run.n_keys()), (n_words, map.len() as u64));
            let found = all(&mut run.entries(KeyRange::ALL)).expect("it is whole");
            assert!(found.iter().map(|(key, value)| (key, value)).eq(&map));
            for _ in 0..20 {
                let bound = |rng: &mut Pcg64Mcg| match rng.random_range(0..4) {
                    0 => None,
                    1 => Some((0..n_words).map(|_| rng.random()).collect::<Key>()),
                    _ if keys.is_empty() => None,
                    _ => Some(keys[rng.random_range(0..keys.len())].clone()),
                };
                let (from, to) = (bound(&mut rng), bound(&mut rng));
                let range = KeyRange {
                    from: from.as_deref(),
                    to: to.as_deref(),
                };
                let is_in = |key: &Key| !range.starts_after(key) && !range.ends_before(key);
                let expected = map.iter().filter(|(key, _)| is_in(key));
                let found = all(&mut run.entries(range)).expect("it is whole");
                assert!(found.iter().map(|(key, value)| (key, value)).eq(expected));
                assert!(run.may_have(range) || found.is_empty());
            }
        }
    }
}

#[test]
fn a_merge_has_each_key_once_with_its_least_value() {
    let mut rng = Pcg64Mcg::seed_from_u64(2);
    for (n_words, n) in SIZES {
        for n_runs in [0, 1, 2, 5, 17] {
            let mut least = Map::new();
            let mut runs = Vec::new();
            let whole = random_map(&mut rng, n_words, n);
            for _ in 0..n_runs {
                let share = [0.0, 0.1, 0.6, 1.0][rng.random_range(0..4)];
                let mut map = Map::new();
                for (key, value) in &whole {
                    if !rng.random_bool(share) {
                        continue;
                    }
                    let value = value.wrapping_add(rng.random_range(0..3)).max(1);
                    map.insert(key.clone(), value);
                    let known = least.entry(key.clone()).or_insert(value);
                    *known = value.min(*known);
                }
                runs.push(write(&map, n_words).1);
            }
            let sources = runs
                .iter()
                .map(|run| Box::new(run.entries(KeyRange::ALL)) as _);
            let mut merge = LeastMerge::new(n_words, sources.collect());
            let found = all(&mut merge).expect("runs are whole");
            assert!(found.iter().map(|(key, value)| (key, value)).eq(&least));
        }
    }
}

/// From keys of one word to keys of two with the same order, and back.
struct Wider;
struct Narrower;

impl Recode for Wider {
    fn recode(&self, key: &[u64], out: &mut [u64]) -> bool {
        out.copy_from_slice(&[key[0] >> 7, key[0] << 9]);
        true
    }
}

impl Recode for Narrower {
    fn recode(&self, key: &[u64], out: &mut [u64]) -> bool {
        out[0] = key[0] << 7 | key[1] >> 9;
        key[1] & 0x1ff == 0 && key[0] >> 57 == 0
    }
}

#[test]
fn runs_of_an_older_layout_are_read_and_merged_in_the_newest() {
    let mut rng = Pcg64Mcg::seed_from_u64(3);
    let older = Older {
        from_newest: &Narrower,
        to_newest: &Wider,
        n_words: 2,
    };
    let recoded = |key: &Key| {
        let mut out = vec![0; 2];
        assert!(Wider.recode(key, &mut out));
        out
    };
    let old = random_map(&mut rng, 1, 20_000);
    let mut expected: Map = old
        .iter()
        .map(|(key, value)| (recoded(key), *value))
        .collect();
    let shared = expected.keys().step_by(3);
    let new: Map = shared.map(|key| (key.clone(), rng.random())).collect();
    for (key, value) in &new {
        let known = expected.entry(key.clone()).or_insert(*value);
        *known = (*known).min(*value);
    }
    let (old, new) = (write(&old, 1).1, write(&new, 2).1);
    let keys: Vec<&Key> = expected.keys().collect();
    for _ in 0..20 {
        let bound = |rng: &mut Pcg64Mcg| match rng.random_range(0..3) {
            0 => None,
            1 => Some(vec![rng.random::<u64>() >> 7, rng.random()]),
            _ => Some(keys[rng.random_range(0..keys.len())].clone()),
        };
        let (from, to) = (bound(&mut rng), bound(&mut rng));
        let range = KeyRange {
            from: from.as_deref(),
            to: to.as_deref(),
        };
        let sources: Vec<Box<dyn Sorted + '_>> = vec![
            Box::new(old.entries_as(range, older)),
            Box::new(new.entries(range)),
        ];
        let found = all(&mut LeastMerge::new(2, sources)).expect("runs are whole");
        let is_in = |key: &Key| !range.starts_after(key) && !range.ends_before(key);
        let wanted = expected.iter().filter(|(key, _)| is_in(key));
        assert!(found.iter().map(|(key, value)| (key, value)).eq(wanted));
    }
}

/// What a checksum should have caught is an error or other entries, never a panic or an endless loop.
#[test]
fn damaged_blocks_do_no_more_harm_than_they_must() {
    let mut rng = Pcg64Mcg::seed_from_u64(4);
    let mut n_errors = 0;
    for (n_words, n) in [(1, 500), (2, 9_000), (17, 700), (600, 30)] {
        let map = random_map(&mut rng, n_words, n);
        let (blocks, _) = write(&map, n_words);
        let n_blocks = blocks.blocks.len() as u32;
        for _ in 0..300 {
            let mut damaged = blocks.clone();
            for _ in 0..rng.random_range(1..4) {
                let block = rng.random_range(0..damaged.blocks.len());
                let bytes = &mut damaged.blocks[block];
                match rng.random_range(0..8) {
                    0 => bytes.truncate(rng.random_range(0..=bytes.len())),
                    1 => bytes.push(rng.random()),
                    _ if bytes.is_empty() => {}
                    _ => {
                        let near = bytes.len().min(if rng.random() { 40 } else { usize::MAX });
                        let at = rng.random_range(0..near);
                        bytes[at] ^= 1 << rng.random_range(0..8);
                    }
                }
            }
            let read = ValuedRun::open(Arc::new(damaged), n_blocks, "a run")
                .and_then(|run| all(&mut run.entries(KeyRange::ALL)));
            match read {
                Ok(found) => assert!(found.is_sorted_by(|a, b| a.0 < b.0)),
                Err(Error::Damaged { file, .. }) => {
                    assert_eq!(file, "a run");
                    n_errors += 1;
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
    assert!(n_errors > 300, "{n_errors}");
}

#[test]
fn ascending_keys_are_found_in_a_run_and_others_are_left_as_they_are() {
    let mut rng = Pcg64Mcg::seed_from_u64(411);
    for (n_words, n) in SIZES {
        let map = random_map(&mut rng, n_words, n);
        let (_, run) = write(&map, n_words);
        for share in [1.0, 0.3, 0.002] {
            let mut asked: Map = random_map(&mut rng, n_words, 20);
            let known = map.iter().filter(|_| rng.random_bool(share));
            asked.extend(known.map(|(key, value)| (key.clone(), *value)));
            let keys: Vec<u64> = asked.keys().flatten().copied().collect();
            let before: Vec<u64> = asked.keys().map(|_| rng.random()).collect();
            let mut values = before.clone();
            run.lower(&keys, &mut values).expect("memory can be read");
            for (at, key) in asked.keys().enumerate() {
                let expected = map.get(key).map_or(before[at], |&it| it.min(before[at]));
                assert_eq!(values[at], expected, "{n_words} words");
            }
        }
    }
}

#[test]
fn an_index_knows_the_least_value_of_each_key() {
    let mut rng = Pcg64Mcg::seed_from_u64(412);
    for (n_words, n, recent_bytes) in [
        (1, 30_000, 0),
        (1, 900, 0),
        (2, 20_000, 1 << 18),
        (40, 5_000, 0),
    ] {
        let (mut index, mut map) = (LeastValues::new(n_words, recent_bytes, None), Map::new());
        for number in 0..n {
            let key: Key = (0..n_words).map(|_| rng.random_range(0..120)).collect();
            let value = rng.random_range(0..1000);
            index.put(&key, value).expect("memory has room");
            let least = map.entry(key).or_insert(value);
            *least = value.min(*least);
            if number % 2_500 == 2_499 {
                let mut asked: Map = map
                    .iter()
                    .filter(|_| rng.random_bool(0.1))
                    .map(|(key, value)| (key.clone(), *value))
                    .collect();
                for _ in 0..10 {
                    let key: Key = (0..n_words).map(|_| rng.random_range(0..140)).collect();
                    let value = map.get(&key).copied().unwrap_or(u64::MAX);
                    asked.insert(key, value);
                }
                let keys: Vec<u64> = asked.keys().flatten().copied().collect();
                let mut values = Vec::new();
                index.find(&keys, &mut values).expect("memory can be read");
                assert!(values.iter().eq(asked.values()), "{n_words} words");
            }
        }
        assert!(index.memory_bytes() > 0);
    }
}
