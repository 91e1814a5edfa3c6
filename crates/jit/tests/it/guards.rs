//! Random models with guards that test few fields: native code, which skips rules that such fields
//! rule out, and interpreter agree on every state.
//!
//! `HADAL_RANDOM_PROGRAMS` sets how many models are tried, `HADAL_RANDOM_SEED` where to begin.
//! The unit tests of selectors check that something is ruled out in them.

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

fn run(n_models: u64, max_states: usize) {
    let n_models = from_env("HADAL_RANDOM_PROGRAMS", n_models);
    let first = from_env("HADAL_RANDOM_SEED", 0);
    let mut total = Compared::default();
    for seed in first..first + n_models {
        let text = guards::model(seed);
        let source = Source::new("random.m", text.clone()).expect("a short text");
        let compiled = hadal_murphi::compile(&source, &hadal_murphi::Options::default());
        let program = compiled.program.unwrap_or_else(|| {
            let messages = Renderer::plain().render_all(&source, &compiled.diagnostics);
            panic!("seed {seed}: not a legal model: {messages}\n{text}")
        });
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
