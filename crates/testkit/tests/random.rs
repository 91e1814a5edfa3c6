//! Random programs, run by the interpreter, keep what the generator and the analyses promise.

use std::collections::HashSet;

use hadal_ir::Program;
use hadal_ir::interp::{Interpreter, Limits};
use hadal_model::{Cursor, Flow, Model, PAD_BYTES, States, Stop, Successors};
use hadal_testkit::oracle::{Deadlock, Options, Report, count_orbits, search};
use hadal_testkit::random::{Config, program_from_seed};
use hadal_testkit::renaming::{rename, renamings};
use hadal_testkit::writes::assert_within_writes;

fn reachable(model: &Interpreter) -> Report {
    let options = Options {
        deadlock: Deadlock::Off,
        max_states: 5000,
    };
    search(model, &options)
}

fn interpreter(program: &Program) -> Interpreter {
    Interpreter::new(program.clone(), Limits::default())
}

#[test]
fn steps_change_only_what_their_rules_declare() {
    let mut n_steps = 0;
    for seed in 0..600 {
        let config = Config {
            symmetric: seed % 3 == 0,
            ..Config::default()
        };
        let model = interpreter(&program_from_seed(seed, &config));
        let shape = model.shape();
        let stop = Stop::new();
        let mut expander = model.expander(&stop);
        for state in reachable(&model).states.iter().take(300) {
            let mut bytes = state.clone();
            bytes.extend([0; PAD_BYTES]);
            let mut out = Successors::new(shape, 64);
            out.reset(1);
            let mut from = Cursor::default();
            loop {
                let block = States::new(&bytes, shape.state_len, 1);
                let flow = expander.expand(block, from, &mut out);
                for position in 0..out.len() {
                    let rule = out.rule(position);
                    assert_within_writes(shape, state, out.state(position), rule);
                    n_steps += 1;
                }
                out.drain();
                match flow {
                    Flow::Full(cursor) => from = cursor,
                    _ => break,
                }
            }
        }
    }
    assert!(n_steps > 10_000, "only {n_steps} steps were looked at");
}

#[test]
fn symmetric_programs_cannot_tell_elements_apart() {
    let (mut n_states, mut n_orbits) = (0, 0);
    for seed in 0..600 {
        let config = Config {
            symmetric: true,
            faults: if seed % 5 == 0 { 0.1 } else { 0.0 },
            ..Config::default()
        };
        let program = program_from_seed(seed, &config);
        let report = reachable(&interpreter(&program));
        if report.violation.is_some() || report.gave_up {
            continue;
        }
        let all: HashSet<&[u8]> = report.states.iter().map(Vec::as_slice).collect();
        let renamings = renamings(&program);
        for state in &report.states {
            for renaming in &renamings {
                let image = rename(&program, renaming, state);
                assert!(all.contains(image.as_slice()), "seed {seed}");
            }
        }
        n_states += report.states.len();
        n_orbits += count_orbits(&report.states, &renamings, |renaming, state| {
            rename(&program, renaming, state)
        });
    }
    assert!(n_orbits < n_states, "no two states are alike");
}
