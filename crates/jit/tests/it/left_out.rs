//! Programs of which some parts are too large for native code: the rest of it, with the
//! interpreter, gives what the interpreter gives.

use hadal_ir::interp::{Interpreter, Limits};
use hadal_ir::{Expr, Frame, Measure, Program, SiteId};
use hadal_jit::{Budget, Error, Native};
use hadal_model::{Flow, MeasureKind, Model, PAD_BYTES, States, Stop};
use hadal_murphi::Options;
use hadal_syntax::Source;
use hadal_testkit::agreement::{self, Bounds};
use hadal_testkit::random::{Config, program_from_seed};

fn program(text: &str) -> Program {
    let source = Source::new("test.m", text).expect("a short text");
    let compiled = hadal_murphi::compile(&source, &Options::default());
    compiled.program.expect("the model is right")
}

fn native(program: &Program, limits: Limits, budget: Budget<'_>) -> Native {
    let interpreter = Interpreter::new(program.clone(), limits);
    Native::within(interpreter, budget, &Stop::new()).expect("there is native code")
}

/// Only parts of up to `most_nodes` nodes get native code.
fn up_to(most_nodes: u64) -> Budget<'static> {
    Budget {
        most_nodes,
        ..Budget::UNLIMITED
    }
}

#[test]
fn random_programs_agree_whatever_is_left_out() {
    let limits = Limits {
        loop_rounds: 20,
        call_depth: 12,
        ..Limits::default()
    };
    let plain = Config::default();
    let faulty = Config {
        faults: 0.3,
        measures: true,
        ..Config::default()
    };
    let (mut n_whole, mut n_left_out) = (0, 0);
    for number in 0..300 {
        let config = [&plain, &faulty][number as usize % 2];
        let program = program_from_seed(77 << 32 | number, config);
        let most_nodes = [0, 4, 10, 20, 40, 80][number as usize % 6];
        let native = native(&program, limits, up_to(most_nodes));
        let bounds = Bounds {
            max_states: 500,
            until: None,
            block_len: [1, 7, 64][number as usize % 3],
            capacity: [1, 2, 5, 64, 4096][number as usize % 5],
        };
        let interpreter = Interpreter::new(program, limits);
        if let Err(message) = agreement::compare(&interpreter, &native, None, &bounds) {
            panic!("program {number}, {most_nodes} nodes: {message}");
        }
        match native.left_out().len() {
            0 => n_whole += 1,
            n => n_left_out += n,
        }
    }
    assert!(n_left_out > 300, "{n_left_out}");
    assert!(n_whole < 100, "{n_whole}");
}

const MODEL: &str = "var x: 0..9; y: 0..9;
     function f(n: 0..9): 0..9; begin return (n + n + n + n + n + n + n + n) % 10; end;
     startstate \"start\" x := 0; y := 0; end;
     rule \"small\" x < 9 ==> x := x + 1; end;
     rule \"large\" x = 9 ==> y := (x + y + x + y + x + y + x + y + x + y + x + y) % 10; x := 0; end;
     rule \"calls\" y = 5 ==> y := f(x); end;
     invariant \"all\" x + y < 19;";

#[test]
fn what_is_left_out_is_named() {
    let native = native(&program(MODEL), Limits::default(), up_to(12));
    assert_eq!(native.left_out(), ["function \"f\"", "rule \"large\""]);
    let all = self::native(&program(MODEL), Limits::default(), Budget::UNLIMITED);
    assert!(all.left_out().is_empty());
}

#[test]
fn a_measure_that_is_too_large_is_named_and_interpreted() {
    let mut program = program(MODEL);
    let value = program.properties[0].condition.condition;
    let Some(&Expr::Binary(_, sum, _)) = value.map(|value| program.expr(value)) else {
        panic!("the invariant is a comparison");
    };
    program.measures.push(Measure {
        kind: MeasureKind::Cost,
        name: "x + y".to_owned(),
        frame: Frame::default(),
        body: Vec::new(),
        value: sum,
        is_zero_at_faults: false,
        site: SiteId::new(0),
    });
    let limits = Limits::default();
    let left_out = native(&program, limits, up_to(4));
    let names = left_out.left_out();
    assert!(names.contains(&"measure \"x + y\"".to_owned()), "{names:?}");
    let whole = native(&program, limits, up_to(12));
    for model in [&left_out, &whole] {
        let stop = Stop::new();
        let mut values = Vec::new();
        let state = vec![0x66; model.shape().state_len + PAD_BYTES];
        let block = States::new(&state, model.shape().state_len, 1);
        let measured = model.expander(&stop).measure(block, &mut values);
        assert_eq!((measured, &values[..]), (Ok(Flow::Done), &[10][..]));
    }
    assert_eq!((left_out.n_interpreted(), whole.n_interpreted()), (1, 0));
}

#[test]
fn states_that_reach_nothing_large_run_natively() {
    let native = native(&program(MODEL), Limits::default(), up_to(12));
    let interpreter = Interpreter::new(program(MODEL), Limits::default());
    let bounds = Bounds {
        max_states: 1000,
        until: None,
        block_len: 8,
        capacity: 100,
    };
    let compared = agreement::compare(&interpreter, &native, None, &bounds);
    let compared = compared.unwrap_or_else(|message| panic!("{message}"));
    assert_eq!(compared.n_faults, 0);
    let (n_states, n_interpreted) = (compared.n_states as u64, native.n_interpreted());
    // The guard of the large rule is native.
    assert!(0 < n_interpreted && n_interpreted < n_states / 2);
}

#[test]
fn parts_too_large_for_the_memory_that_is_left_are_left_out() {
    let assignments = "x := (x + 1) % 10; ".repeat(200);
    let text = format!(
        "var x: 0..9; startstate x := 0; end;
         rule \"large\" {assignments} end; rule \"small\" x := 0; end;"
    );
    let little = Budget {
        room: &|| 1 << 20,
        ..Budget::UNLIMITED
    };
    let native = native(&program(&text), Limits::default(), little);
    assert_eq!(native.left_out(), ["rule \"large\""]);
    let all = self::native(&program(&text), Limits::default(), Budget::UNLIMITED);
    assert!(all.left_out().is_empty());
}

#[test]
fn a_raised_flag_ends_the_compilation() {
    let stop = Stop::new();
    stop.raise();
    let interpreter = Interpreter::new(program(MODEL), Limits::default());
    let stopped = Native::within(interpreter, Budget::UNLIMITED, &stop);
    assert!(matches!(stopped, Err(Error::Stopped)));
}
