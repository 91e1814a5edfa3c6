//! The project's own Murphi models, and those of `HADAL_MODELS` where that is set: native code and
//! interpreter agree on all states, or on the first ones where there are many.
//!
//! `HADAL_MODEL_STATES` sets how many states of each model are compared.

use std::path::Path;

use hadal_ir::interp::Limits;
use hadal_murphi::Options;
use hadal_syntax::Source;
use hadal_testkit::corpus::{self, Language};

/// Compares on the models below a folder; returns how many there were.
fn run(folder: &Path, n_states: usize) -> usize {
    let mut failures = Vec::new();
    let mut n_models = 0;
    for path in corpus::model_files_in(folder, Language::Murphi).expect("the folder can be read") {
        let name = path.display().to_string();
        let bytes = std::fs::read(&path).expect("the model can be read");
        let Ok(source) = Source::from_bytes(&name, bytes) else {
            continue;
        };
        // Models that are wrong on purpose, or of another dialect, are tested elsewhere.
        let Some(program) = hadal_murphi::compile(&source, &Options::default()).program else {
            continue;
        };
        n_models += 1;
        for (block_len, capacity, n_states) in [(64, 4096, n_states), (5, 3, n_states / 10)] {
            // Some models loop on purpose, in many of their states.
            let limits = Limits {
                loop_rounds: 1000,
                ..Limits::default()
            };
            match crate::common::compare(&program, limits, n_states, block_len, capacity) {
                Ok(compared) => println!("{name}: {compared:?}"),
                Err(message) => failures.push(format!("{name}: {message}")),
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    n_models
}

fn n_states() -> usize {
    std::env::var("HADAL_MODEL_STATES")
        .ok()
        .and_then(|value| value.parse().ok())
        .unwrap_or(3000)
}

#[test]
fn native_code_agrees_with_the_interpreter_on_our_models() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    assert!(run(&folder, n_states()) > 20);
}

#[test]
fn native_code_agrees_with_the_interpreter_on_further_models() {
    if let Some(folder) = corpus::models_folder() {
        assert!(run(&folder, n_states()) > 0);
    }
}
