//! How fast native code and the interpreter expand the states of Murphi models.
//!
//! ```text
//! cargo run --release -p hadal-jit --example rate -- model.m [NAME=VALUE]... [-- next.m ...]
//! ```
//!
//! For each model, the first states are collected breadth-first without symmetry; then blocks of
//! them are expanded by both, turn by turn, and of each block the fastest of several rounds
//! counts, so that a busy machine does little harm.

use std::collections::HashSet;
use std::hint::black_box;
use std::time::Instant;

use hadal_ir::interp::{Interpreter, Limits};
use hadal_jit::Native;
use hadal_model::{Cursor, Expander, Flow, Model, PAD_BYTES, States, Stop, Successors};
use hadal_murphi::Options;
use hadal_syntax::Source;

const MAX_STATES: usize = 60_000;
const BLOCK_LEN: usize = 512;
const ROUNDS: usize = 9;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    println!(
        "{:<14} {:>7} {:>6} {:>8} {:>7} {:>8} {:>8} {:>8} {:>6} {:>8} {:>8}",
        "model",
        "states",
        "bytes",
        "rules",
        "load ms",
        "comp ms",
        "int ns",
        "nat ns",
        "ratio",
        "succ/s M",
        "check ns"
    );
    for group in arguments.split(|argument| argument == "--") {
        let Some((path, constants)) = group.split_first() else {
            continue;
        };
        if let Err(message) = measure(path, constants) {
            println!("{path}: {message}");
        }
    }
}

fn measure(path: &str, constants: &[String]) -> Result<(), String> {
    let begun = Instant::now();
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    let source = Source::from_bytes(path, bytes).map_err(|error| error.to_string())?;
    let options = Options {
        constants: constants
            .iter()
            .filter_map(|constant| constant.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        ..Options::default()
    };
    let compiled = hadal_murphi::compile(&source, &options);
    let program = compiled.program.ok_or("the model does not compile")?;
    let load = begun.elapsed();
    let interpreter = Interpreter::new(program.clone(), Limits::default());
    let begun = Instant::now();
    let native = Native::new(program, Limits::default()).map_err(|error| error.to_string())?;
    let compile = begun.elapsed();

    let (stop_a, stop_b) = (Stop::new(), Stop::new());
    let mut by_interpreter = interpreter.expander(&stop_a);
    let mut by_native = native.expander(&stop_b);
    let states = reachable(&mut *by_native, &native);
    let len = native.shape().state_len;
    let n_states = states.len() / len.max(1);
    let mut padded = states;
    padded.resize(padded.len() + PAD_BYTES, 0);

    let mut out = Successors::new(native.shape(), 1 << 16);
    let (mut interpreted, mut fast, mut check) = (0.0, 0.0, 0.0);
    let (mut n_successors, mut n_interpreted) = (0, 0);
    let mut failures = Vec::new();
    let n_blocks = n_states.div_ceil(BLOCK_LEN);
    for block in 0..n_blocks {
        let first = block * BLOCK_LEN;
        let n = BLOCK_LEN.min(n_states - first);
        let block_states = States::new(&padded[first * len..], len, n);
        // The interpreter is slow; a share of the blocks is enough.
        let both = block % 8 == 0;
        let (mut best_a, mut best_b, mut best_c) = (f64::MAX, f64::MAX, f64::MAX);
        for _ in 0..ROUNDS {
            if both && best_a == f64::MAX {
                let (seconds, _) = expand(&mut *by_interpreter, block_states, &mut out);
                best_a = best_a.min(seconds);
            }
            let (seconds, n) = expand(&mut *by_native, block_states, &mut out);
            best_b = best_b.min(seconds);
            black_box(n);
            let begun = Instant::now();
            by_native.check(block_states, &mut failures);
            best_c = best_c.min(begun.elapsed().as_secs_f64());
            failures.clear();
        }
        let (_, n_out) = expand(&mut *by_native, block_states, &mut out);
        n_successors += n_out;
        fast += best_b;
        check += best_c;
        if both {
            interpreted += best_a;
            n_interpreted += n;
        }
    }
    let name = std::path::Path::new(path)
        .file_stem()
        .map_or(path.to_owned(), |name| name.to_string_lossy().into_owned());
    let per_state = fast / n_states as f64 * 1e9;
    let interpreted = interpreted / n_interpreted as f64 * 1e9;
    println!(
        "{name:<14} {n_states:>7} {len:>6} {:>8} {:>7.1} {:>8.1} {interpreted:>8.0} {per_state:>8.1} {:>6.1} {:>8.1} {:>8.1}",
        native.program().rules.len(),
        load.as_secs_f64() * 1e3,
        compile.as_secs_f64() * 1e3,
        interpreted / per_state,
        n_successors as f64 / fast / 1e6,
        check / n_states as f64 * 1e9,
    );
    Ok(())
}

fn expand(expander: &mut dyn Expander, block: States<'_>, out: &mut Successors) -> (f64, usize) {
    out.reset(block.len());
    let mut cursor = Cursor::default();
    let mut n = 0;
    let begun = Instant::now();
    loop {
        let flow = expander.expand(block, cursor, out);
        n += out.len();
        match flow {
            Flow::Full(next) => {
                out.drain();
                cursor = next;
            }
            _ => return (begun.elapsed().as_secs_f64(), n),
        }
    }
}

/// The first states, one after the other.
fn reachable(expander: &mut dyn Expander, model: &dyn Model) -> Vec<u8> {
    let len = model.shape().state_len;
    let mut out = Successors::new(model.shape(), 1 << 16);
    let mut seen: HashSet<Vec<u8>> = HashSet::new();
    let mut states: Vec<u8> = Vec::new();
    out.reset(1);
    expander.starts(Cursor::default(), &mut out);
    let mut next = 0;
    loop {
        for position in 0..out.len() {
            let state = out.state(position);
            if seen.len() < MAX_STATES && seen.insert(state.to_vec()) {
                states.extend_from_slice(state);
            }
        }
        if next * len >= states.len() {
            return states;
        }
        let mut block = states[next * len..][..len].to_vec();
        block.resize(len + PAD_BYTES, 0);
        next += 1;
        out.reset(1);
        expander.expand(States::new(&block, len, 1), Cursor::default(), &mut out);
    }
}
