//! Ties that brute force would pay for with a factorial.

use std::time::{Duration, Instant};

use crate::support::{Declarations, build_state};
use hadal_ir::Program;
use hadal_model::{PAD_BYTES, States, Stop};
use hadal_symmetry::Canonicaliser;

/// Best of a few, so that a busy machine does not fail the test.
fn time_of(program: &Program, state: &[u8]) -> (Duration, u64) {
    let canonicaliser = Canonicaliser::new(program);
    let mut scratch = canonicaliser.scratch();
    let times = (0..5).map(|_| {
        let mut state = state.to_vec();
        let start = Instant::now();
        canonicaliser.canonicalise(&mut state, &mut scratch);
        start.elapsed()
    });
    let best = times.min().unwrap();
    (best, scratch.candidates())
}

/// Processes with a local record, a pointer, a matrix, a bag of messages.
fn protocol(sizes: &[u32]) -> Program {
    let mut declarations = Declarations::new();
    let boolean = declarations.boolean();
    let mut types = Vec::new();
    for (number, &size) in sizes.iter().enumerate() {
        types.push(declarations.scalarset(&format!("S{number}"), size).1);
    }
    for (number, &ty) in types.iter().enumerate() {
        let row = declarations.array(ty, boolean);
        let local = declarations.record(&[boolean, ty, row]);
        let locals = declarations.array(ty, local);
        declarations.var(&format!("local{number}"), locals);
        declarations.var(&format!("owner{number}"), ty);
        let message = declarations.record(&[ty, types[0], boolean]);
        let bag = declarations.multiset(6, message);
        declarations.var(&format!("net{number}"), bag);
    }
    declarations.program
}

#[test]
fn wholly_tied_scalarsets_take_under_a_millisecond() {
    for sizes in [&[12][..], &[20], &[12, 12], &[8, 8, 8]] {
        let program = protocol(sizes);
        for value in [0, 1] {
            // No element is named: leaves are undefined or, for booleans, false; bags are empty.
            let state = build_state(&program, &mut |n| if n == 3 { value } else { 0 });
            let (time, candidates) = time_of(&program, &state);
            assert_eq!(candidates, 1);
            assert!(time < Duration::from_millis(1), "{sizes:?} took {time:?}");
        }
    }
}

#[test]
fn a_ring_through_all_elements_takes_few_candidates() {
    let mut declarations = Declarations::new();
    let (_, element) = declarations.scalarset("P", 12);
    let next = declarations.array(element, element);
    declarations.var("next", next);
    let program = declarations.program;
    let mut at = 0;
    let state = build_state(&program, &mut |_| {
        at += 1;
        1 + at % 12
    });
    let (time, candidates) = time_of(&program, &state);
    assert!(candidates <= 12, "{candidates}");
    assert!(time < Duration::from_millis(1), "took {time:?}");
}

#[test]
fn a_search_ends_soon_after_a_request_to_stop() {
    // Pairs of elements that name each other, in a table so that they cannot be sorted: the order
    // of the pairs takes a search.
    const N: u64 = 12;
    let mut declarations = Declarations::new();
    let (_, element) = declarations.scalarset("P", N as u32);
    let boolean = declarations.boolean();
    let row = declarations.array(element, boolean);
    let table = declarations.array(element, row);
    declarations.var("table", table);
    let program = declarations.program;
    let canonicaliser = Canonicaliser::new(&program);
    let mut at = 0;
    let state = build_state(&program, &mut |_| {
        let (a, b) = (at / N, at % N);
        at += 1;
        1 + u64::from(a != b && a % (N / 2) == b % (N / 2))
    });
    let run = |stop: &Stop| {
        let mut states = state.clone();
        states.resize(state.len() + PAD_BYTES, 0);
        // Any source that differs will do.
        let source = vec![0; state.len() + PAD_BYTES];
        let block = States::new(&source, state.len(), 1);
        let mut scratch = canonicaliser.scratch();
        canonicaliser.canonicalise_successors(stop, block, &[0], &mut states, &mut scratch);
        states.truncate(state.len());
        (states, scratch.candidates())
    };
    let stop = Stop::new();
    let (representative, candidates) = run(&stop);
    assert_eq!(
        representative,
        crate::support::canonical(&canonicaliser, &state)
    );
    assert_ne!(representative, state);
    assert!(candidates > 1, "{candidates}");
    stop.raise();
    assert_eq!(run(&stop), (state.clone(), 0));
}

#[test]
fn a_scalarset_of_a_billion_values_costs_only_those_that_occur() {
    let mut declarations = Declarations::new();
    let (_, value) = declarations.scalarset("Value", 1_000_000_000);
    let (_, process) = declarations.scalarset("P", 3);
    let local = declarations.record(&[value, value]);
    let locals = declarations.array(process, local);
    declarations.var("local", locals);
    let program = declarations.program;
    let canonicaliser = Canonicaliser::new(&program);
    let class = |values: [u64; 6]| {
        let mut values = values.into_iter();
        let state = build_state(&program, &mut |_| values.next().unwrap());
        crate::support::canonical(&canonicaliser, &state)
    };
    let expected = class([5, 7, 7, 900_000_000, 0, 5]);
    assert_eq!(expected, class([1, 2, 2, 3, 0, 1]));
    assert_eq!(expected, class([0, 8, 8, 9, 9, 1]));
    assert_ne!(expected, class([0, 8, 8, 9, 1, 1]));
    assert!(canonicaliser.describe().order == u128::MAX);
}
