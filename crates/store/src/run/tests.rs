//! Runs against sets in memory, for random keys of many shapes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use super::batch::{Batch, Sorted};
use super::finder::Finder;
use super::merge::Merge;
use super::row::Row;
use super::*;
use crate::bits::{Kernel, Portable};
use crate::{BLOCK_BYTES, Error};

type Key = Vec<u64>;

/// How the keys of a set look.
#[derive(Clone, Copy, Debug)]
enum Shape {
    /// One after the other.
    Dense,
    /// Any bits at all.
    Sparse,
    /// A few bits, scattered over all words.
    FewBits(u32),
    /// All words but the last are the same.
    EqualPrefixes,
    /// Several clusters far from each other.
    Clusters,
    /// The greatest keys there are.
    NearlyAllOnes,
}

const SHAPES: [Shape; 8] = [
    Shape::Dense,
    Shape::Sparse,
    Shape::FewBits(9),
    Shape::FewBits(30),
    Shape::FewBits(70),
    Shape::EqualPrefixes,
    Shape::Clusters,
    Shape::NearlyAllOnes,
];

fn random_set(random: &mut Pcg64, shape: Shape, n_words: usize, n_keys: usize) -> BTreeSet<Key> {
    let common: Key = (0..n_words).map(|_| random.random()).collect();
    let mut places = Vec::new();
    if let Shape::FewBits(n_bits) = shape {
        for _ in 0..n_bits {
            places.push((random.random_range(0..n_words), random.random_range(0..64)));
        }
    }
    let start = random.random_range(0..1000);
    let make = |i: usize| -> Key {
        let mut key = common.clone();
        match shape {
            Shape::Dense => key[n_words - 1] = (start + i) as u64,
            Shape::Sparse => key.iter_mut().for_each(|word| *word = random.random()),
            Shape::FewBits(_) => {
                for &(word, bit) in &places {
                    key[word] &= !(1 << bit);
                    key[word] |= random.random_range(0..2) << bit;
                }
            }
            Shape::EqualPrefixes => key[n_words - 1] = random.random(),
            Shape::Clusters => {
                key[0] = random.random_range(0..5) << 50;
                key[n_words - 1] ^= random.random_range(0..3 * n_keys as u64);
            }
            Shape::NearlyAllOnes => {
                key.fill(u64::MAX);
                key[n_words - 1] -= i as u64;
            }
        }
        key
    };
    (0..n_keys).map(make).collect()
}

fn flat<'a>(keys: impl IntoIterator<Item = &'a Key>) -> Vec<u64> {
    keys.into_iter().flatten().copied().collect()
}

fn unflat(keys: &[u64], n_words: usize) -> Vec<Key> {
    keys.chunks(n_words).map(<[u64]>::to_vec).collect()
}

/// Writes a run, in pieces of random sizes.
fn written(random: &mut Pcg64, n_words: usize, keys: &[u64]) -> Run {
    let (blocks, written) = written_blocks(random, n_words, keys);
    assert_eq!(written.n_blocks as usize, blocks.blocks.len());
    assert_eq!(written.data_bytes, blocks.data_bytes());
    assert!(blocks.blocks.iter().all(|block| block.len() <= BLOCK_BYTES));
    Run::open(Arc::new(blocks), written.n_blocks, "test").expect("the run opens")
}

fn written_blocks(random: &mut Pcg64, n_words: usize, keys: &[u64]) -> (MemoryBlocks, Written) {
    let mut writer = RunWriter::new(MemoryBlocks::default(), n_words);
    let n_keys = keys.len() / n_words;
    let mut at = 0;
    while at < n_keys {
        let end = (at + random.random_range(0..6000)).min(n_keys);
        writer
            .push(&keys[at * n_words..end * n_words])
            .expect("memory takes all blocks");
        at = end;
    }
    writer.finish().expect("memory takes all blocks")
}

/// All keys of a run in `range`.
fn listed(run: &Run, range: KeyRange) -> Result<Vec<u64>, Error> {
    let mut cursor = run.keys(range);
    let (mut all, mut keys) = (Vec::new(), Vec::new());
    while cursor.next(&mut keys)? {
        assert!(!keys.is_empty(), "if there are more, some are given");
        all.extend_from_slice(&keys);
    }
    assert!(keys.is_empty());
    Ok(all)
}

/// All keys of several runs in `range`.
fn merged(runs: &[Versioned], n_words: usize, range: KeyRange) -> Result<Vec<u64>, Error> {
    let mut merge = Merge::new(n_words, Row::of_runs(runs, range));
    let mut all = Vec::new();
    while let Some(keys) = merge.next()? {
        assert!(!keys.is_empty(), "if there are more, some are given");
        all.extend_from_slice(keys);
    }
    assert!(merge.next()?.is_none(), "the end is the end");
    Ok(all)
}

/// Candidates in order, some at a time.
struct Ordered {
    n_words: usize,
    all: Batch,
}

impl Sorted for Ordered {
    fn n_words(&self) -> usize {
        self.n_words
    }

    fn next_batch(&mut self, batch: &mut Batch) -> Result<bool, Error> {
        let n_given = self.all.ordinals.len().min(300);
        batch.clear();
        batch
            .keys
            .extend(self.all.keys.drain(..n_given * self.n_words));
        batch.ordinals.extend(self.all.ordinals.drain(..n_given));
        Ok(n_given > 0)
    }
}

/// Members of the set, neighbours of members, and any keys.
fn random_candidates(random: &mut Pcg64, set: &BTreeSet<Key>, n_words: usize) -> BTreeSet<Key> {
    let mut candidates = BTreeSet::new();
    let share = [1, 2, 10, 300][random.random_range(0..4)];
    for key in set {
        if random.random_range(0..share) == 0 {
            let mut key = key.clone();
            if random.random_range(0..2) == 0 {
                key[random.random_range(0..n_words)] ^= 1 << random.random_range(0..64);
            }
            candidates.insert(key);
        }
    }
    for _ in 0..20 {
        candidates.insert((0..n_words).map(|_| random.random()).collect());
    }
    candidates.insert(vec![0; n_words]);
    candidates.insert(vec![u64::MAX; n_words]);
    candidates
}

fn random_bound(random: &mut Pcg64, set: &BTreeSet<Key>, n_words: usize) -> Option<Key> {
    match random.random_range(0..4) {
        0 => None,
        1 => Some((0..n_words).map(|_| random.random()).collect()),
        _ => {
            let at = random.random_range(0..set.len().max(1));
            set.iter().nth(at).cloned()
        }
    }
}

fn in_range(key: &Key, from: &Option<Key>, to: &Option<Key>) -> bool {
    from.as_ref().is_none_or(|from| key >= from) && to.as_ref().is_none_or(|to| key < to)
}

/// Calls `check` for many sets of keys, with their number of words.
fn for_many_sets(seed: u64, check: impl Fn(&mut Pcg64, &BTreeSet<Key>, usize)) {
    let mut random = Pcg64::seed_from_u64(seed);
    for n_words in [1, 2, 3, 4, 5, 7, 11, 16, 17, 100, 600] {
        for shape in SHAPES {
            for n_keys in [1usize, 2, 3, 33, 1000, 30_000] {
                // Wide keys are slow to make, and fill blocks soon.
                let n_keys = if n_words > 16 {
                    n_keys.min(120_000 / n_words)
                } else {
                    n_keys
                };
                let n_keys = random.random_range(n_keys.div_ceil(2)..=n_keys);
                let set = random_set(&mut random, shape, n_words, n_keys);
                check(&mut random, &set, n_words);
            }
        }
    }
}

#[test]
fn a_run_gives_back_its_keys() {
    for_many_sets(1, |random, set, n_words| {
        let run = written(random, n_words, &flat(set));
        assert_eq!(run.n_keys(), set.len() as u64);
        assert_eq!(run.last_key(), set.last().map(Vec::as_slice));
        let all = listed(&run, KeyRange::ALL).expect("the run is whole");
        assert_eq!(all, flat(set));
    });
}

#[test]
fn a_run_gives_back_a_range() {
    for_many_sets(2, |random, set, n_words| {
        let run = written(random, n_words, &flat(set));
        let from = random_bound(random, set, n_words);
        let to = random_bound(random, set, n_words);
        let range = KeyRange {
            from: from.as_deref(),
            to: to.as_deref(),
        };
        let some = listed(&run, range).expect("the run is whole");
        let expected = set.iter().filter(|key| in_range(key, &from, &to));
        assert_eq!(some, flat(expected));
    });
}

#[test]
fn a_probe_finds_what_is_there_and_nothing_else() {
    for_many_sets(3, |random, set, n_words| {
        let run = written(random, n_words, &flat(set));
        for _ in 0..3 {
            let candidates = random_candidates(random, set, n_words);
            let mut present = vec![false; candidates.len()];
            run.probe(&flat(&candidates), &mut present)
                .expect("the run is whole");
            let expected: Vec<bool> = candidates.iter().map(|key| set.contains(key)).collect();
            assert_eq!(present, expected);
        }
    });
}

#[test]
fn plain_code_probes_and_decodes_alike() {
    for_many_sets(4, |random, set, n_words| {
        if n_words > PACKED_WORDS {
            return;
        }
        let (blocks, _) = written_blocks(random, n_words, &flat(set));
        let view = block::View::new(&blocks.blocks[0]).expect("the block is whole");
        let (mut keys, mut plain_keys) = (Vec::new(), Vec::new());
        let start = decode::Progress::default();
        decode::decode(&view, start, usize::MAX, &mut keys).expect("whole");
        let kernel = decode::Decode::new(&view, start, usize::MAX, &mut plain_keys);
        kernel.run(Portable).expect("whole");
        assert!(keys == plain_keys);
        let mut present = vec![false; keys.len() / n_words];
        probe::Probe::new(&view, &keys, &mut present)
            .run(Portable)
            .expect("whole");
        assert!(present.iter().all(|present| *present));
    });
}

#[test]
fn a_probe_keeps_marks_that_are_set() {
    let run = written(&mut Pcg64::seed_from_u64(1), 1, &[5, 6]);
    let mut present = [true, false, false, true];
    run.probe(&[4, 5, 7, 9], &mut present).expect("whole");
    assert_eq!(present, [true, true, false, true]);
}

#[test]
fn an_empty_run_is_a_run() {
    let run = written(&mut Pcg64::seed_from_u64(1), 3, &[]);
    assert_eq!(run.n_keys(), 0);
    assert_eq!(run.last_key(), None);
    let mut present = [false];
    run.probe(&[1, 2, 3], &mut present).expect("whole");
    assert_eq!(present, [false]);
    let all = listed(&run, KeyRange::ALL).expect("whole");
    assert!(all.is_empty());
}

#[test]
fn damaged_blocks_give_errors_or_keys_but_never_a_panic() {
    let mut random = Pcg64::seed_from_u64(5);
    let mut n_errors = 0;
    for round in 0..3000 {
        let n_words = [1, 2, 3, 6, 17][round % 5];
        let shape = SHAPES[round / 5 % SHAPES.len()];
        let set = random_set(&mut random, shape, n_words, 300);
        let keys = flat(&set);
        let (mut blocks, written) = written_blocks(&mut random, n_words, &keys);
        for _ in 0..random.random_range(1..4) {
            let n_blocks = blocks.blocks.len();
            let block = &mut blocks.blocks[random.random_range(0..n_blocks)];
            let len = block.len();
            match random.random_range(0..4) {
                0 => block.truncate(random.random_range(0..=len)),
                1 => block.extend([0xFF; 9]),
                2 if len > 0 => block[random.random_range(0..len.min(60))] = random.random(),
                _ if len > 0 => {
                    block[random.random_range(0..len)] ^= 1 << random.random_range(0..8)
                }
                _ => {}
            }
        }
        let Ok(run) = Run::open(Arc::new(blocks), written.n_blocks, "test") else {
            n_errors += 1;
            continue;
        };
        let mut present = vec![false; keys.len() / n_words];
        let probed = run.n_words() == n_words && run.probe(&keys, &mut present).is_err();
        let listed = listed(&run, KeyRange::ALL).is_err();
        n_errors += usize::from(probed | listed);
    }
    assert!(n_errors > 1000, "only {n_errors} damages were noticed");
}

#[test]
fn candidates_are_sorted_with_least_ordinals() {
    for_many_sets(6, |random, set, n_words| {
        let keys: Vec<&Key> = set.iter().collect();
        let generated: Vec<&Key> = (0..set.len() * 3 / 2)
            .map(|_| keys[random.random_range(0..keys.len())])
            .collect();
        let mut expected = BTreeMap::new();
        for (ordinal, key) in generated.iter().enumerate() {
            expected.entry((*key).clone()).or_insert(7 + ordinal as u64);
        }
        let generated = flat(generated);
        let n_parts = [1, 2, 7, 40][random.random_range(0..4)];
        let splitters = Splitters::sample(n_words, &[&generated], n_parts);
        assert!((1..=n_parts).contains(&splitters.n_parts()));
        // As two threads would do it.
        let n_first = random.random_range(0..=generated.len() / n_words);
        let (one, two) = generated.split_at(n_first * n_words);
        let splits = [
            Split::new(one, 7, &splitters),
            Split::new(two, 7 + n_first as u64, &splitters),
        ];
        let mut scratch = SortScratch::default();
        let (mut all, mut batch) = (Batch::default(), Batch::default());
        for part in 0..splitters.n_parts() {
            sort_part(&splits, part, &mut scratch, &mut batch);
            let range = splitters.range(part);
            let is_here = |key: &[u64]| !range.starts_after(key) && !range.ends_before(key);
            assert!(batch.keys.chunks(n_words).all(is_here));
            all.keys.append(&mut batch.keys);
            all.ordinals.append(&mut batch.ordinals);
        }
        assert_eq!(all.keys, flat(expected.keys()));
        assert_eq!(all.ordinals, expected.values().copied().collect::<Vec<_>>());

        // As they would come from two threads, the later ones first.
        let n_keys = (generated.len() / n_words) as u64;
        let ordinals: Vec<u64> = (n_first as u64..n_keys).chain(0..n_first as u64).collect();
        let ordinals: Vec<u64> = ordinals.iter().map(|ordinal| 7 + ordinal).collect();
        let turned = [two, one].concat();
        sort_keys(n_words, &turned, &ordinals, &mut scratch, &mut batch);
        assert_eq!(batch.keys, all.keys);
        assert_eq!(batch.ordinals, all.ordinals);
    });
}

/// Also keys that no sample has ever seen.
#[test]
fn a_key_belongs_to_the_part_whose_range_has_it() {
    for_many_sets(11, |random, set, n_words| {
        let keys = flat(set);
        // Also as many splitters as fill all nodes of a tree.
        let n_parts = [1, 2, 9, 65, 100, 513, 3000][random.random_range(0..7)];
        let splitters = Splitters::sample(
            n_words,
            &[&keys[..keys.len() / n_words / 2 * n_words]],
            n_parts,
        );
        let mut others = keys.clone();
        for word in &mut others {
            *word ^= 1 << random.random_range(0..64);
        }
        others.extend(std::iter::repeat_n(u64::MAX, n_words));
        others.extend(std::iter::repeat_n(0, n_words));
        let mut parts = Vec::new();
        for keys in [&keys, &others] {
            splitters.classify(keys, &mut parts);
            assert_eq!(parts.len(), keys.len() / n_words);
            for (key, &part) in keys.chunks(n_words).zip(&parts) {
                let range = splitters.range(usize::from(part));
                assert!(!range.starts_after(key) && !range.ends_before(key));
            }
        }
    });
}

/// Keys that differ in more bits than are looked at first, and the greatest of all.
#[test]
fn keys_alike_in_their_first_bits_are_distinguished() {
    let mut random = Pcg64::seed_from_u64(12);
    let mut keys = vec![u64::MAX; 3];
    for _ in 0..3000 {
        let first = [0, random.random(), u64::MAX][random.random_range(0..3)];
        keys.extend([first, random.random_range(0..3), random.random()]);
    }
    let splitters = Splitters::sample(3, &[&keys], 700);
    let mut parts = Vec::new();
    splitters.classify(&keys, &mut parts);
    for (key, &part) in keys.chunks(3).zip(&parts) {
        let range = splitters.range(usize::from(part));
        assert!(!range.starts_after(key) && !range.ends_before(key));
    }
}

#[test]
fn parts_of_a_sample_have_about_the_same_size() {
    let mut random = Pcg64::seed_from_u64(8);
    for shape in [Shape::Sparse, Shape::FewBits(30), Shape::Clusters] {
        let set = random_set(&mut random, shape, 2, 100_000);
        let keys = flat(&set);
        let splitters = Splitters::sample(2, &[&keys], 16);
        let split = Split::new(&keys, 0, &splitters);
        assert_eq!(split.n_parts(), 16);
        let largest = (0..16).map(|part| split.part_len(part)).max();
        let bound = set.len() / 16 * 2;
        assert!(
            largest <= Some(bound),
            "{shape:?}: {largest:?} of {}",
            set.len()
        );
    }
}

#[test]
fn a_merge_is_the_union() {
    for_many_sets(9, |random, set, n_words| {
        let n_inputs = random.random_range(0..7);
        let mut expected: BTreeSet<Key> = BTreeSet::new();
        let mut runs = Vec::new();
        for _ in 0..n_inputs {
            let share = random.random_range(1..4);
            let some: Vec<&Key> = (set.iter())
                .filter(|_| random.random_range(0..share) == 0)
                .collect();
            expected.extend(some.iter().map(|key| (*key).clone()));
            // Runs of a tier follow each other.
            let n_runs = random.random_range(1..5);
            for keys in some.chunks(some.len().div_ceil(n_runs).max(1)) {
                runs.push(written(random, n_words, &flat(keys.iter().copied())));
            }
        }
        let runs: Vec<Versioned> = runs.iter().map(Versioned::from).collect();
        assert!(Row::of_runs(&runs, KeyRange::ALL).len() <= n_inputs);
        let all = merged(&runs, n_words, KeyRange::ALL).expect("runs are whole");
        assert_eq!(all, flat(&expected));

        let from = random_bound(random, set, n_words);
        let to = random_bound(random, set, n_words);
        let range = KeyRange {
            from: from.as_deref(),
            to: to.as_deref(),
        };
        let some = merged(&runs, n_words, range).expect("runs are whole");
        let expected = expected.iter().filter(|key| in_range(key, &from, &to));
        assert_eq!(some, flat(expected));
    });
}

#[test]
fn what_is_subtracted_and_compacted_in_parts_is_what_sets_say() {
    for_many_sets(10, |random, set, n_words| {
        let mut pieces: Vec<BTreeSet<Key>> = vec![BTreeSet::new(); 4];
        for key in set {
            pieces[random.random_range(0..4)].insert(key.clone());
        }
        // The first piece is new; the others are runs.
        let runs: Vec<Run> = (pieces[1..].iter())
            .map(|piece| written(random, n_words, &flat(piece)))
            .collect();
        let runs: Vec<Versioned> = runs.iter().map(Versioned::from).collect();
        let ordinals: Vec<u64> = (0..set.len() as u64).rev().collect();
        let n_parts = random.random_range(1..5);
        let splitters = fence_splitters(n_words, &runs, n_parts);
        let (mut left, mut left_ordinals) = (Vec::new(), Vec::new());
        let (mut compacted, mut common) = (Vec::new(), Vec::new());
        for part in 0..splitters.n_parts() {
            let range = splitters.range(part);
            let is_here = |key: &[u64]| !range.starts_after(key) && !range.ends_before(key);
            let candidates = set.iter().zip(&ordinals).filter(|(key, _)| is_here(key));
            let (keys, here): (Vec<&Key>, Vec<u64>) = candidates.unzip();
            let mut candidates = Ordered {
                n_words,
                all: Batch {
                    keys: flat(keys),
                    ordinals: here,
                },
            };
            // Few candidates are looked up, many make the runs be scanned.
            let n_candidates = random.random_range(0..2) * set.len() as u64;
            subtract(
                &mut candidates,
                n_candidates,
                range,
                &runs,
                500,
                |keys, ordinals| {
                    left.extend_from_slice(keys);
                    left_ordinals.extend_from_slice(ordinals);
                    Ok(())
                },
            )
            .expect("runs are whole");
            candidates.all.keys = flat(set.iter().filter(|key| is_here(key)));
            candidates.all.ordinals = vec![0; candidates.all.keys.len() / n_words];
            let note = |key: &[u64]| common.extend_from_slice(key);
            intersect(&mut candidates, n_candidates, range, &runs, 500, note)
                .expect("runs are whole");
            let mut writer = RunWriter::new(MemoryBlocks::default(), n_words);
            assert!(compact(&runs, range, &mut writer, || false).expect("runs are whole"));
            let (blocks, written) = writer.finish().expect("memory takes all blocks");
            let run = Run::open(Arc::new(blocks), written.n_blocks, "compacted").expect("whole");
            compacted.extend(listed(&run, KeyRange::ALL).expect("whole"));
        }
        assert_eq!(left, flat(&pieces[0]));
        let expected = (set.iter().zip(&ordinals)).filter(|(key, _)| pieces[0].contains(*key));
        assert_eq!(
            left_ordinals,
            expected.map(|(_, ordinal)| *ordinal).collect::<Vec<_>>()
        );
        let old: BTreeSet<Key> = pieces[1..].iter().flatten().cloned().collect();
        assert_eq!(common, flat(&old));
        assert_eq!(
            unflat(&compacted, n_words),
            old.into_iter().collect::<Vec<_>>()
        );
    });
}

/// Candidates come in batches that end anywhere between two fences, looked up or scanned.
#[test]
fn wide_runs_are_probed_batch_after_batch() {
    let mut random = Pcg64::seed_from_u64(13);
    for n_words in [17, 100, 600, 2000, crate::MAX_KEY_WORDS] {
        for shape in [Shape::Sparse, Shape::EqualPrefixes, Shape::Clusters] {
            let n_keys = (1_000_000 / n_words).min(3000);
            let set = random_set(&mut random, shape, n_words, n_keys);
            let run = written(&mut random, n_words, &flat(&set));
            assert!(run.memory_bytes() < run.n_data_blocks() as u64 * 3000 + 20 * n_words as u64);
            let candidates = random_candidates(&mut random, &set, n_words);
            let expected: Vec<bool> = candidates.iter().map(|key| set.contains(key)).collect();
            let candidates = flat(&candidates);
            for n_candidates in [0, u64::MAX] {
                for batch_keys in [1, 3, 20] {
                    let mut finder =
                        Finder::new(Versioned::from(&run), KeyRange::ALL, n_candidates);
                    let mut present = Vec::new();
                    for batch in candidates.chunks(n_words * batch_keys) {
                        let mut marks = vec![false; batch.len() / n_words];
                        finder.request(batch);
                        finder.probe(batch, &mut marks).expect("a whole run");
                        present.extend(marks);
                    }
                    assert_eq!(present, expected);
                }
            }
        }
    }
}

/// Keys of `from` words, and those of `to` words that are the same, with zeros behind.
struct Padded;

impl Recode for Padded {
    fn recode(&self, key: &[u64], out: &mut [u64]) -> bool {
        let n = key.len().min(out.len());
        out.fill(0);
        out[..n].copy_from_slice(&key[..n]);
        key[n..].iter().all(|word| *word == 0)
    }
}

#[test]
fn packed_runs_are_probed_and_merged_with_wide_ones() {
    let mut random = Pcg64::seed_from_u64(14);
    for (old_words, n_words) in [(3, 20), (16, 17), (17, 300), (100, 600)] {
        let pad = |set: BTreeSet<Key>| -> BTreeSet<Key> {
            let padded = |mut key: Key| {
                key.resize(n_words, 0);
                key
            };
            set.into_iter().map(padded).collect()
        };
        let old = random_set(&mut random, Shape::Sparse, old_words, 500);
        let old_run = written(&mut random, old_words, &flat(&old));
        let old = pad(old);
        let new = random_set(&mut random, Shape::Sparse, n_words, 500);
        let new_run = written(&mut random, n_words, &flat(&new));
        let older = Older {
            from_newest: &Padded,
            to_newest: &Padded,
            n_words,
        };
        let versioned = Versioned {
            run: &old_run,
            older: Some(older),
        };
        let runs = [versioned, Versioned::from(&new_run)];
        let splitters = fence_splitters(n_words, &runs, 3);
        let mut all = Vec::new();
        for part in 0..splitters.n_parts() {
            all.extend(merged(&runs, n_words, splitters.range(part)).expect("whole"));
        }
        let both: BTreeSet<Key> = old.union(&new).cloned().collect();
        assert_eq!(all, flat(&both));
        let mut candidates = Ordered {
            n_words,
            all: Batch {
                keys: flat(&both),
                ordinals: vec![0; both.len()],
            },
        };
        let mut common = Vec::new();
        let note = |key: &[u64]| common.extend_from_slice(key);
        intersect(&mut candidates, 0, KeyRange::ALL, &[versioned], 7, note).expect("whole");
        assert_eq!(common, flat(&old));
    }
}

/// Two fields of `old` bits in one word become two words.
struct Wider {
    old: u32,
}

impl Recode for Wider {
    fn recode(&self, key: &[u64], out: &mut [u64]) -> bool {
        out[0] = key[0] >> self.old;
        out[1] = key[0] & !(u64::MAX << self.old);
        true
    }
}

/// And back, if they fit.
struct Narrower {
    old: u32,
}

impl Recode for Narrower {
    fn recode(&self, key: &[u64], out: &mut [u64]) -> bool {
        out[0] = key[0] << self.old | key[1];
        key.iter().all(|field| *field < 1 << self.old)
    }
}

#[test]
fn runs_of_an_older_layout_are_probed_and_merged() {
    let mut random = Pcg64::seed_from_u64(11);
    let old_bits = 12;
    let (from_newest, to_newest) = (Narrower { old: old_bits }, Wider { old: old_bits });
    for _ in 0..20 {
        let mut field = |bits: u32| random.random_range(0..1u64 << bits);
        let old: BTreeSet<Key> = (0..30_000).map(|_| vec![field(12), field(12)]).collect();
        let new: BTreeSet<Key> = (0..30_000).map(|_| vec![field(13), field(14)]).collect();
        let narrow: Vec<u64> = old.iter().map(|key| key[0] << old_bits | key[1]).collect();
        let old_run = written(&mut random, 1, &narrow);
        let new_run = written(&mut random, 2, &flat(&new));
        let older = Older {
            from_newest: &from_newest,
            to_newest: &to_newest,
            n_words: 2,
        };
        let versioned = Versioned {
            run: &old_run,
            older: Some(older),
        };
        let candidates: BTreeSet<Key> = (new.iter().chain(&old))
            .filter(|_| random.random_range(0..5) == 0)
            .cloned()
            .collect();
        let expected: Vec<bool> = candidates.iter().map(|key| old.contains(key)).collect();
        let candidates = flat(&candidates);
        // Looked up, and scanned, batch after batch, some of which end in the middle of a block.
        for n_candidates in [0, u64::MAX] {
            let mut finder = Finder::new(versioned, KeyRange::ALL, n_candidates);
            let mut present = Vec::new();
            for batch in candidates.chunks(2 * 500) {
                let mut marks = vec![false; batch.len() / 2];
                finder.request(batch);
                finder.probe(batch, &mut marks).expect("a whole run");
                present.extend(marks);
            }
            assert_eq!(present, expected);
        }

        let runs = [versioned, Versioned::from(&new_run)];
        let splitters = fence_splitters(2, &runs, 3);
        let mut all = Vec::new();
        for part in 0..splitters.n_parts() {
            all.extend(merged(&runs, 2, splitters.range(part)).expect("whole"));
        }
        assert_eq!(all, flat(old.union(&new)));
    }
}
