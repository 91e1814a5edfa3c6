use std::collections::BTreeSet;

use super::*;
use hadal_ir::{effects::Effects, text, verify::verify};

/// The seeds of a test; a failure names one.
fn seeds() -> impl Iterator<Item = (u64, Config)> {
    (0..3000).map(|seed| {
        let config = Config {
            symmetric: seed % 3 == 0,
            faults: if seed % 5 == 0 { 0.5 } else { 0.02 },
            totals: if seed % 4 == 0 { 0.5 } else { 0.0 },
            steps: seed % 7 == 0,
            measures: seed % 2 == 0,
            ..Config::default()
        };
        (seed, config)
    })
}

#[test]
fn programs_pass_the_verifier() {
    for (seed, config) in seeds() {
        let program = program_from_seed(seed, &config);
        if let Err(errors) = verify(&program) {
            panic!("seed {seed}: {}\n{}", errors[0], text::print(&program));
        }
    }
}

#[test]
fn a_seed_gives_one_program() {
    for seed in 0..50 {
        let config = Config::default();
        assert_eq!(
            program_from_seed(seed, &config),
            program_from_seed(seed, &config)
        );
    }
}

#[test]
fn text_gives_the_same_program_back() {
    for (seed, config) in seeds() {
        let program = program_from_seed(seed, &config);
        let printed = text::print(&program);
        match text::parse(&printed) {
            Ok(read) => assert!(read == program, "seed {seed}"),
            Err(error) => panic!("seed {seed}: {error}\n{printed}"),
        }
    }
}

/// What survives the parser must survive the verifier, however little sense it makes.
#[test]
fn damaged_text_never_panics() {
    let mut n_read = 0;
    for (seed, config) in seeds().take(300) {
        let printed = text::print(&program_from_seed(seed, &config));
        let mut rng = Pcg64::seed_from_u64(seed);
        for _ in 0..12 {
            let mut lines: Vec<Vec<char>> =
                printed.lines().map(|line| line.chars().collect()).collect();
            for _ in 0..rng.random_range(1..4) {
                damage(&mut rng, &mut lines);
            }
            let lines: Vec<String> = lines.into_iter().map(String::from_iter).collect();
            if let Ok(program) = text::parse(&lines.join("\n")) {
                n_read += 1;
                if verify(&program).is_ok() {
                    Effects::of(&program);
                }
                assert!(text::parse(&text::print(&program)).as_ref() == Ok(&program));
            }
        }
    }
    assert!(n_read > 500, "only {n_read} damaged programs could be read");
}

fn damage(rng: &mut Pcg64, lines: &mut Vec<Vec<char>>) {
    let at = rng.random_range(0..lines.len());
    match rng.random_range(0..8) {
        0 => {
            lines.remove(at);
        }
        1 => {
            let other = lines[rng.random_range(0..lines.len())].clone();
            lines.insert(at, other);
        }
        2 => {
            let other = rng.random_range(0..lines.len());
            lines.swap(at, other);
        }
        3 if !lines[at].is_empty() => {
            let column = rng.random_range(0..lines[at].len());
            let signs = ['(', ')', '"', '\\', ';', ' ', '-', 'e', '9', '\u{e9}'];
            lines[at][column] = signs[rng.random_range(0..signs.len())];
        }
        _ => {
            // A digit for another: ids, bounds and sites that make no sense.
            let digits: Vec<usize> = (0..lines[at].len())
                .filter(|&column| lines[at][column].is_ascii_digit())
                .collect();
            if !digits.is_empty() {
                let column = digits[rng.random_range(0..digits.len())];
                let digit = rng.random_range(0..10u32);
                lines[at][column] = char::from_digit(digit, 10).unwrap_or('0');
            }
        }
    }
    if lines.is_empty() {
        lines.push(Vec::new());
    }
}

#[test]
fn every_construct_comes_up() {
    let mut words: BTreeSet<String> = BTreeSet::new();
    for (seed, config) in seeds() {
        let printed = text::print(&program_from_seed(seed, &config));
        for line in printed.lines() {
            let line = line.split(" ; ").next().unwrap_or_default();
            for list in line.split('(').skip(1) {
                let word = list.split([' ', ')']).next().unwrap_or_default();
                words.insert(word.to_owned());
            }
        }
        for word in [
            "toward",
            "ref",
            "const",
            "wraps",
            "invariant",
            "assume",
            "liveness",
            "end",
            "goes-on",
            "process-limit",
            "admissible",
            "inadmissible",
            "zero-at-faults",
        ] {
            if printed.contains(&format!(" {word}")) {
                words.insert(word.to_owned());
            }
        }
    }
    let expected = "add admissible and arithmetic array assert assign assume at bind bit-and bit-not bit-or \
        bit-xor boolean by call clear cond condition const copy cost count cover defined div else \
        end enum eq error exists false for forall function ge goes-on gt if in-range inadmissible int invariant is-undefined le \
        liveness locals lt map measure mul multiset multiset-add multiset-remove ne neg not or place \
        present priority process-limit property put range read record ref registers rem remap result return rule same-bits \
        scalarset shl shr slots span start step sub text total toward true type undefine undefined union \
        value var while wraps zero-at-faults";
    let missing: Vec<&str> = (expected.split_whitespace())
        .filter(|word| !words.contains(*word))
        .collect();
    assert!(missing.is_empty(), "never made: {missing:?}");
}

#[test]
fn effects_of_properties_never_write() {
    for (seed, config) in seeds().take(1000) {
        let program = program_from_seed(seed, &config);
        let effects = Effects::of(&program);
        for property in &effects.properties {
            assert!(property.writes.is_empty(), "seed {seed}");
        }
    }
}
