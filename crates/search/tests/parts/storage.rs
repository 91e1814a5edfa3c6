//! Storage alone: which keys are new, and which ordinal a state has.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU32, Ordering};

use hadal_model::{PAD_BYTES, States, Stop};
use hadal_testkit::graph::Graph;
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::*;
use crate::StoreKind;
use crate::fixture::{keys_for, pool_for};

/// `n` keys of `n_bits` bits, few of them different.
fn random_keys(rng: &mut Pcg64Mcg, n: usize, n_bits: usize) -> Vec<Vec<u64>> {
    let n_words = Placing::new(n_bits).key_words();
    let key = |number: u64| {
        let mut rng = Pcg64Mcg::seed_from_u64(number);
        let mut key: Vec<u64> = (0..n_words).map(|_| rng.random()).collect();
        for (word, at) in key.iter_mut().zip((0..).step_by(64)) {
            let n_used = n_bits.saturating_sub(at).min(64) as u32;
            *word &= !u64::MAX.checked_shr(n_used).unwrap_or(0);
        }
        key
    };
    let most = rng.random_range(1..2 * n as u64 + 2);
    (0..n).map(|_| key(rng.random_range(0..most))).collect()
}

#[test]
fn the_first_occurrence_of_a_key_is_new_whatever_batches_and_threads() {
    let (graph, stop) = (Graph::new(2, &[0], vec![vec![]]), Stop::new());
    let space = keys_for(&graph, StoreKind::Exact);
    let mut n_repeated = 0;
    for n_threads in 1..=4 {
        let pool = pool_for(&graph, &stop, &space, n_threads);
        for seed in 0..40 {
            let mut rng = Pcg64Mcg::seed_from_u64(seed);
            let n_bits = [1, 12, 40, 64, 72, 128, 1000, 1100][rng.random_range(0..8)];
            let placing = Placing::new(n_bits);
            let set = Set::new(placing);
            let mut known = HashSet::new();
            for call in 0..rng.random_range(1..5) {
                let batches: Vec<Vec<Vec<u64>>> = (0..rng.random_range(1..9))
                    .map(|_| {
                        let n = [0, 1, 30, 2000][rng.random_range(0..4)];
                        random_keys(&mut rng, n, n_bits)
                    })
                    .collect();
                let cells: Vec<Keys> = (batches.iter())
                    .map(|batch| {
                        let mut cells = Keys::default();
                        cells.fill(placing, &batch.concat());
                        cells
                    })
                    .collect();
                let cells: Vec<&Keys> = cells.iter().collect();
                let marks: Vec<Vec<AtomicU32>> = (batches.iter())
                    .map(|batch| batch.iter().map(|_| AtomicU32::new(0)).collect())
                    .collect();
                let growth = growth_bytes(&set, &cells, n_threads);
                let before = set.data_bytes();
                pool.run(|| {
                    insert(&set, &cells, &pool, |batch, at| {
                        marks[batch][at as usize].fetch_add(1, Ordering::Relaxed);
                    });
                });
                for (number, (batch, marks)) in batches.iter().zip(&marks).enumerate() {
                    for (at, (key, mark)) in batch.iter().zip(marks).enumerate() {
                        let n_marks = mark.load(Ordering::Relaxed);
                        let is_new = known.insert(key.clone());
                        n_repeated += usize::from(!is_new);
                        assert_eq!(
                            n_marks,
                            u32::from(is_new),
                            "seed {seed}, {n_threads} threads, call {call}, {number}:{at}"
                        );
                    }
                }
                assert_eq!(set.len(), known.len() as u64);
                assert!(set.data_bytes() <= before + growth, "seed {seed}");
            }
        }
    }
    assert!(n_repeated > 10_000, "{n_repeated}");
}

#[test]
fn ordinals_are_those_of_the_order_in_which_states_were_added() {
    for seed in 0..60 {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let state_len = rng.random_range(1..40);
        let mut index = OrdinalIndex::new(state_len);
        let mut expected: HashMap<Vec<u8>, u64> = HashMap::new();
        let random_state = |rng: &mut Pcg64Mcg| {
            let mut state = vec![0; state_len];
            // Some states differ in their last byte alone.
            let from = if rng.random_range(0..3) == 0 {
                state_len - 1
            } else {
                0
            };
            rng.fill_bytes(&mut state[from..]);
            state
        };
        for _ in 0..rng.random_range(1..20) {
            let mut new = Vec::new();
            for _ in 0..rng.random_range(0..200) {
                let state = random_state(&mut rng);
                let ordinal = expected.len() as u64;
                expected.entry(state.clone()).or_insert_with(|| {
                    new.extend(state);
                    ordinal
                });
            }
            let n = new.len() / state_len;
            new.resize(new.len() + PAD_BYTES, 0xee);
            index.append(States::new(&new, state_len, n));
            for _ in 0..50 {
                let state = random_state(&mut rng);
                assert_eq!(
                    index.find(&state),
                    expected.get(&state).copied(),
                    "seed {seed}"
                );
            }
        }
        for (state, &ordinal) in &expected {
            assert_eq!(index.find(state), Some(ordinal), "seed {seed}");
        }
    }
}
