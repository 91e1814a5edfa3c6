//! Time of a micro step: by native code alone, and with the wrapper around it.
//!
//! `cargo run --release -p hadal-steps --example speed [MAX_STATES [FILE]]`, a program in the text
//! form of the IR; by default four processes with atomic sequences.

use std::collections::HashSet;
use std::time::Instant;

use hadal_ir::interp::Limits;
use hadal_ir::text::parse;
use hadal_ir::verify::verify;
use hadal_jit::Native;
use hadal_model::{Cursor, Flow, Model, PAD_BYTES, States, Stop, Successors};
use hadal_steps::Steps;

const BLOCK_LEN: usize = 1024;
const N_RUNS: usize = 7;

/// The reachable states nearest to the startstates, one after the other, and padding.
fn reachable(model: &dyn Model, max_states: usize) -> Vec<u8> {
    let len = model.shape().state_len;
    let mut known: HashSet<Vec<u8>> = HashSet::new();
    let mut states: Vec<u8> = Vec::new();
    let mut next = None;
    let stop = Stop::new();
    let mut out = Successors::new(model.shape(), 1 << 12);
    let mut expander = model.expander(&stop);
    loop {
        let block = next.map(|at: usize| {
            let mut bytes = states[at * len..][..len].to_vec();
            bytes.resize(len + PAD_BYTES, 0);
            bytes
        });
        out.reset(1);
        let flow = match &block {
            None => expander.starts(Cursor::default(), &mut out),
            Some(block) => {
                let block = States::new(block, len, 1);
                expander.expand(block, Cursor::default(), &mut out)
            }
        };
        assert_eq!(flow, Flow::Done, "a state has too many successors");
        for state in out.states().iter() {
            if known.len() < max_states && known.insert(state.to_vec()) {
                states.extend_from_slice(state);
            }
        }
        next = Some(next.map_or(0, |at| at + 1));
        if next == Some(known.len()) {
            states.resize(states.len() + PAD_BYTES, 0);
            return states;
        }
    }
}

/// Least time of an expansion of all states, in seconds, with the number of micro steps and
/// successors.
#[inline(never)]
fn measure(model: &dyn Model, states: &[u8]) -> (f64, u64, u64) {
    let len = model.shape().state_len;
    let n_states = (states.len() - PAD_BYTES) / len;
    let stop = Stop::new();
    let mut expander = model.expander(&stop);
    let mut out = Successors::new(model.shape(), 1 << 14);
    let mut best = (f64::INFINITY, 0, 0);
    for _ in 0..N_RUNS {
        let (mut n_steps, mut n_successors) = (0, 0);
        let started = Instant::now();
        for first in (0..n_states).step_by(BLOCK_LEN) {
            let n = BLOCK_LEN.min(n_states - first);
            let block = States::new(&states[first * len..], len, n);
            out.reset(n);
            let mut from = Cursor::default();
            loop {
                let flow = expander.expand(block, from, &mut out);
                n_successors += out.len() as u64;
                match flow {
                    Flow::Full(cursor) => from = cursor,
                    _ => break,
                }
                out.drain();
            }
            n_steps += out.fired_by_rule().iter().sum::<u64>();
        }
        let seconds = started.elapsed().as_secs_f64();
        if seconds < best.0 {
            best = (seconds, n_steps, n_successors);
        }
    }
    best
}

fn main() {
    let max_states = std::env::args().nth(1);
    let max_states = max_states.map_or(usize::MAX, |n| n.parse().expect("a number of states"));
    let text = match std::env::args().nth(2) {
        Some(path) => std::fs::read_to_string(path).expect("the file can be read"),
        None => include_str!("../tests/atomic.ir").to_owned(),
    };
    let program = parse(&text).expect("the text is well formed");
    verify(&program).expect("the program is sound");
    let native = Native::new(program, Limits::default()).expect("it compiles");
    let steps = Steps::new(&native);
    for (name, model) in [("micro steps", &native as &dyn Model), ("steps", &steps)] {
        let states = reachable(model, max_states);
        let n_states = (states.len() - PAD_BYTES) / model.shape().state_len;
        let (seconds, n_steps, n_successors) = measure(model, &states);
        println!(
            "{name:<12} {n_states:>9} states {n_successors:>9} successors {n_steps:>9} micro steps \
             {:>6.1} ns per micro step {:>6.1} ns per state",
            seconds * 1e9 / n_steps as f64,
            seconds * 1e9 / n_states as f64
        );
    }
}
