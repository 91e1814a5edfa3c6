//! Models with guards that test few fields: native code, which skips rules, and values of their
//! first parameters, that such fields rule out, and interpreter agree on every state.
//!
//! `HADAL_RANDOM_PROGRAMS` sets how many models are tried, `HADAL_RANDOM_SEED` where to begin.
//! The unit tests of selectors check that something is ruled out in them.

use hadal_ir::Program;
use hadal_ir::interp::Limits;
use hadal_syntax::{Renderer, Source};
use hadal_testkit::agreement::Compared;
use hadal_testkit::guards;

fn from_env(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|value| value.parse().ok())
        .unwrap_or(default)
}

fn compile(text: &str) -> Program {
    let source = Source::new("model.m", text.to_owned()).expect("a short text");
    let compiled = hadal_murphi::compile(&source, &hadal_murphi::Options::default());
    compiled.program.unwrap_or_else(|| {
        let messages = Renderer::plain().render_all(&source, &compiled.diagnostics);
        panic!("not a legal model: {messages}\n{text}")
    })
}

/// Compares buffers of all sizes up to one that holds what a state has, and of more.
fn check_all_sizes(text: &str) {
    let program = compile(text);
    for capacity in (1..=12).chain([4096]) {
        for block_len in [1, 7] {
            let limits = Limits::default();
            let compared = crate::common::compare(&program, limits, 2000, block_len, capacity);
            let compared = compared.unwrap_or_else(|message| {
                panic!("buffer of {capacity}, block of {block_len}: {message}\n{text}")
            });
            assert!(compared.n_states >= 100, "{compared:?}");
        }
    }
}

/// Five processes in a row, each at one of four points, with a fork between each two.
#[test]
fn a_full_buffer_interrupts_processes_at_any_point() {
    check_all_sizes(
        "type p: 0..4; var pc: array [p] of 0..3; fork: array [p] of boolean;
         startstate for i: p do pc[i] := 0; fork[i] := true; end; end;
         ruleset i: p do
           rule pc[i] = 0 & fork[i] ==> fork[i] := false; pc[i] := 1; end;
           rule pc[i] = 0 & !fork[i] ==> pc[i] := 3; end;
           rule pc[i] = 1 & fork[(i + 1) % 5] ==> fork[(i + 1) % 5] := false; pc[i] := 2; end;
           rule pc[i] = 2 ==> fork[i] := true; fork[(i + 1) % 5] := true; pc[i] := 0; end;
           rule pc[i] = 3 ==> pc[i] := 0; end;
         end;",
    );
}

/// A call covers several values of `i`, each with several of `j`.
#[test]
fn a_full_buffer_interrupts_inner_parameters() {
    check_all_sizes(
        "type p: 1..4; var pc: array [p] of 0..2; last: 0..4;
         startstate for i: p do pc[i] := 0; end; last := 0; end;
         ruleset i: p; j := 4 to 1 by -1 do
           rule pc[i] = 0 & i != j ==> pc[i] := 1; last := j; end;
           rule pc[i] = 1 & pc[j] = 0 ==> pc[i] := 2; pc[j] := 1; end;
           rule pc[i] = 2 & last != j ==> pc[i] := 0; last := j; end;
         end;",
    );
}

fn run(n_models: u64, max_states: usize) {
    let n_models = from_env("HADAL_RANDOM_PROGRAMS", n_models);
    let first = from_env("HADAL_RANDOM_SEED", 0);
    let mut total = Compared::default();
    for seed in first..first + n_models {
        let text = guards::model(seed);
        let program = compile(&text);
        let capacity = [1, 2, 3, 64, 4096][seed as usize % 5];
        let block_len = [1, 7, 64][seed as usize % 3];
        match crate::common::compare(&program, Limits::default(), max_states, block_len, capacity) {
            Ok(compared) => {
                total.n_states += compared.n_states;
                total.n_successors += compared.n_successors;
                total.n_faults += compared.n_faults;
            }
            Err(message) => panic!("seed {seed}: {message}\n{text}"),
        }
    }
    println!("{n_models} models: {total:?}");
    assert!(total.n_states as u64 > n_models * 20, "{total:?}");
    assert!(total.n_faults > 0, "{total:?}");
}

#[test]
fn native_code_agrees_with_the_interpreter_where_guards_test_fields() {
    run(150, 300);
}

#[test]
#[ignore = "takes minutes; docs/internals/testing.md has the command"]
fn native_code_agrees_with_the_interpreter_on_many_models_whose_guards_test_fields() {
    run(5000, 1000);
}
