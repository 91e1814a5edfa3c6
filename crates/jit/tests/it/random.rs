//! Thousands of random programs: native code and interpreter agree on every state.
//!
//! `HADAL_RANDOM_PROGRAMS` sets how many programs are tried, `HADAL_RANDOM_SEED` where to begin.

use hadal_ir::interp::Limits;
use hadal_testkit::agreement::Compared;
use hadal_testkit::random::{Config, program_from_seed};

fn from_env(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|value| value.parse().ok())
        .unwrap_or(default)
}

fn run(config: &Config, salt: u64, n_programs: u64) {
    let n_programs = from_env("HADAL_RANDOM_PROGRAMS", n_programs);
    let first = from_env("HADAL_RANDOM_SEED", 0);
    let limits = Limits {
        loop_rounds: 20,
        call_depth: 12,
        ..Limits::default()
    };
    let mut failures = Vec::new();
    let mut total = Compared::default();
    for number in first..first + n_programs {
        let seed = salt << 32 | number;
        let program = program_from_seed(seed, config);
        let capacity = [1, 2, 3, 5, 64, 4096][number as usize % 6];
        let block_len = [1, 7, 64][number as usize % 3];
        match crate::common::compare(&program, limits, 1500, block_len, capacity) {
            Ok(compared) => {
                total.n_states += compared.n_states;
                total.n_successors += compared.n_successors;
                total.n_faults += compared.n_faults;
                total.n_failures += compared.n_failures;
                total.n_measured += compared.n_measured;
                total.n_unmeasured += compared.n_unmeasured;
            }
            Err(message) => {
                failures.push(format!("seed {seed} (number {number}): {message}"));
                if failures.len() >= 5 {
                    break;
                }
            }
        }
    }
    println!("{n_programs} programs: {total:?}");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn native_code_agrees_with_the_interpreter_on_random_programs() {
    run(&Config::default(), 1, 400);
}

#[test]
fn native_code_agrees_with_the_interpreter_where_much_faults() {
    let config = Config {
        faults: 0.3,
        ..Config::default()
    };
    run(&config, 2, 200);
}

#[test]
fn native_code_agrees_with_the_interpreter_on_wide_states() {
    let config = Config {
        max_state_bits: 300,
        max_vars: 12,
        ..Config::default()
    };
    run(&config, 3, 200);
}

#[test]
fn native_code_agrees_with_the_interpreter_where_types_are_total() {
    let config = Config {
        totals: 0.6,
        max_state_bits: 24,
        ..Config::default()
    };
    run(&config, 4, 120);
}

#[test]
fn native_code_agrees_with_the_interpreter_where_much_faults_and_types_are_total() {
    let config = Config {
        totals: 0.6,
        max_state_bits: 300,
        faults: 0.3,
        ..Config::default()
    };
    run(&config, 5, 100);
}

#[test]
fn native_code_agrees_with_the_interpreter_where_steps_have_registers() {
    let config = Config {
        totals: 0.3,
        faults: 0.1,
        steps: true,
        ..Config::default()
    };
    run(&config, 6, 150);
}

#[test]
fn native_code_agrees_with_the_interpreter_on_measures() {
    let config = Config {
        measures: true,
        ..Config::default()
    };
    run(&config, 7, 300);
}

#[test]
fn native_code_agrees_with_the_interpreter_on_measures_where_much_faults() {
    let config = Config {
        measures: true,
        totals: 0.3,
        faults: 0.3,
        max_state_bits: 100,
        ..Config::default()
    };
    run(&config, 8, 80);
}
