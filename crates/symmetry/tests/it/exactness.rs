//! Representatives against brute force over the whole group, on random layouts.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::{all_states, group, random_program, random_program_of, random_state};
use hadal_symmetry::{Canonicaliser, Permutation};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;

#[test]
fn a_whole_orbit_has_one_representative_and_it_lies_in_the_orbit() {
    for seed in 0..600 {
        let program = random_program(seed, 600, 300);
        let canonicaliser = Canonicaliser::new(&program);
        let mut scratch = canonicaliser.scratch();
        let renamings = group(&program);
        let mut rng = Pcg64::seed_from_u64(seed + 1_000_000);
        for _ in 0..8 {
            let state = random_state(&program, &mut rng);
            let orbit: BTreeSet<Vec<u8>> = renamings
                .iter()
                .map(|renaming| canonicaliser.apply(&state, renaming))
                .collect();
            let mut expected = state.clone();
            canonicaliser.canonicalise(&mut expected, &mut scratch);
            assert!(
                orbit.contains(&expected),
                "seed {seed}: outside of the orbit\n{program:#?}"
            );
            for member in &orbit {
                let mut found = member.clone();
                canonicaliser.canonicalise(&mut found, &mut scratch);
                assert_eq!(found, expected, "seed {seed}: two representatives");
            }
        }
    }
}

#[test]
fn the_renaming_returned_leads_to_the_representative() {
    let (mut n_moved, mut n_tried) = (0, 0);
    let small = (0..800).map(|seed| random_program(seed, 600, 300));
    let large = (0..300).map(|seed| random_program_of(seed, 9, u64::MAX, 1500));
    for (number, program) in small.chain(large).enumerate() {
        let canonicaliser = Canonicaliser::new(&program);
        let mut scratch = canonicaliser.scratch();
        let mut rng = Pcg64::seed_from_u64(number as u64);
        for _ in 0..10 {
            let state = random_state(&program, &mut rng);
            let mut expected = state.clone();
            canonicaliser.canonicalise(&mut expected, &mut scratch);
            let mut found = state.clone();
            let renaming = canonicaliser.canonicalise_with_renaming(&mut found, &mut scratch);
            assert_eq!(found, expected, "program {number}");
            let image = canonicaliser.apply(&state, &renaming);
            assert_eq!(image, expected, "program {number}: {renaming:?}");
            // Not a permutation of more than there is.
            for (list, scalarset) in renaming.images().iter().zip(&program.types.scalarsets) {
                assert!(list.len() <= scalarset.size as usize);
            }
            n_moved += usize::from(!renaming.is_identity());
            n_tried += usize::from(scratch.candidates() > 1);
        }
    }
    assert!(n_moved > 3000, "only {n_moved} states were renamed");
    assert!(n_tried > 40, "only {n_tried} states needed a search");
}

#[test]
fn renamings_act_as_a_group() {
    for seed in 0..200 {
        let program = random_program(seed, 150, 300);
        let canonicaliser = Canonicaliser::new(&program);
        let mut rng = Pcg64::seed_from_u64(seed);
        let state = random_state(&program, &mut rng);
        for renaming in group(&program) {
            let image = canonicaliser.apply(&state, &renaming);
            assert_eq!(canonicaliser.apply(&image, &renaming.inverse()), state);
            if renaming.is_identity() {
                assert_eq!(image, state);
            }
        }
    }
}

#[test]
fn there_are_as_many_representatives_as_orbits() {
    let mut n_layouts = 0;
    for seed in 0..2000 {
        let program = random_program(seed, 200, 24);
        let Some(states) = all_states(&program, 3000) else {
            continue;
        };
        let canonicaliser = Canonicaliser::new(&program);
        let mut scratch = canonicaliser.scratch();
        let renamings = group(&program);
        let mut n_fixed = 0;
        // By representative, the least state of the orbit: a one-to-one correspondence.
        let mut least_of = BTreeMap::new();
        let mut orbits = BTreeSet::new();
        for state in &states {
            let mut least = state.clone();
            for renaming in &renamings {
                let image = canonicaliser.apply(state, renaming);
                n_fixed += usize::from(image == *state);
                least = least.min(image);
            }
            let mut representative = state.clone();
            canonicaliser.canonicalise(&mut representative, &mut scratch);
            let known = least_of.entry(representative).or_insert(least.clone());
            assert_eq!(*known, least, "seed {seed}: two orbits share a state");
            orbits.insert(least);
        }
        assert_eq!(least_of.len(), orbits.len(), "seed {seed}");
        // Burnside: the number of orbits is the mean number of fixed states.
        assert_eq!(n_fixed % renamings.len(), 0, "seed {seed}");
        assert_eq!(orbits.len(), n_fixed / renamings.len(), "seed {seed}");
        n_layouts += 1;
    }
    assert!(
        n_layouts > 300,
        "only {n_layouts} layouts were small enough"
    );
}

#[test]
fn renamings_of_large_scalarsets_do_not_change_the_representative() {
    for seed in (0..300).chain([10_032, 10_638, 10_990, 11_541]) {
        let program = random_program_of(seed, 9, u64::MAX, 1500);
        let canonicaliser = Canonicaliser::new(&program);
        let mut scratch = canonicaliser.scratch();
        let mut rng = Pcg64::seed_from_u64(seed);
        for _ in 0..6 {
            let state = random_state(&program, &mut rng);
            let mut expected = state.clone();
            canonicaliser.canonicalise(&mut expected, &mut scratch);
            for _ in 0..20 {
                let images = program.types.scalarsets.iter().map(|scalarset| {
                    let mut images: Vec<u32> = (0..scalarset.size).collect();
                    images.shuffle(&mut rng);
                    images
                });
                let renaming = Permutation::new(images.collect()).unwrap();
                let mut found = canonicaliser.apply(&state, &renaming);
                canonicaliser.canonicalise(&mut found, &mut scratch);
                assert_eq!(found, expected, "seed {seed}");
            }
        }
        // Random structures are easy once everything that distinguishes elements is used.
        assert!(scratch.take_worst() < 200, "seed {seed}");
    }
}
