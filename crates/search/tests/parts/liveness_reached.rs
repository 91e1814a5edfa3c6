//! Bits of goals, and sets of numbers.

use std::collections::BTreeSet;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::{NumberSet, Reached};

#[test]
fn parts_agree_with_single_goals() {
    for n_goals in [1, 3, 63, 64, 65, 130] {
        let n_states = 9;
        let reached = Reached::new(n_states, n_goals);
        let is_in = |state: usize, goal: usize| (state * 7 + goal * 5).is_multiple_of(3);
        for state in 0..n_states {
            for goal in (0..n_goals).filter(|&goal| is_in(state, goal)) {
                assert!(reached.add(state, goal / 64, 1 << (goal % 64)));
                assert!(!reached.add(state, goal / 64, 1 << (goal % 64)));
            }
        }
        let mut row = Vec::new();
        for state in 0..n_states {
            let has_any = reached.row(state, &mut row);
            assert_eq!(has_any, (0..n_goals).any(|goal| is_in(state, goal)));
            assert_eq!(row.len(), n_goals.div_ceil(64));
            for goal in 0..64 * row.len() {
                let expected = goal < n_goals && is_in(state, goal);
                assert_eq!((row[goal / 64] >> (goal % 64)) & 1 == 1, expected);
                if goal < n_goals {
                    assert_eq!(reached.get(state, goal), expected);
                }
            }
            let is_full = (0..n_goals).all(|goal| is_in(state, goal));
            assert_eq!(reached.is_full(state), is_full);
        }
        let last = n_states - 1;
        (0..n_goals).for_each(|goal| {
            reached.add(last, goal / 64, 1 << (goal % 64));
        });
        assert!(reached.is_full(last) && (n_goals == 1 || !reached.is_full(0)));
    }
}

#[test]
fn a_set_of_numbers_agrees_with_a_tree() {
    let mut rng = Pcg64Mcg::seed_from_u64(3);
    for len in [1, 2, 63, 64, 65, 4096, 4097, 300_000] {
        let mut set = NumberSet::new(len);
        let mut tree = BTreeSet::new();
        assert!(set.is_empty());
        for _ in 0..3000 {
            let number = rng.random_range(0..len);
            match rng.random_range(0..3) {
                0 => {
                    set.insert(number);
                    tree.insert(number);
                }
                1 => {
                    let near = set.at_or_after(number).unwrap_or(number);
                    set.remove(near);
                    tree.remove(&near);
                }
                _ => {
                    let after = tree.range(number..).next().copied();
                    assert_eq!(set.at_or_after(number), after);
                    let before = tree.range(..=number).next_back().copied();
                    assert_eq!(set.at_or_before(number), before);
                    assert_eq!(set.at_or_after(len), None);
                }
            }
            assert_eq!(set.is_empty(), tree.is_empty());
        }
    }
}
