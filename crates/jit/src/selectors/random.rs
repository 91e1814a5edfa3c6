//! Thousands of random models: a trial that selectors rule out at a state is neither enabled there
//! nor faults, whatever the trials before it do.
//!
//! Each trial is called on its own, so that priorities and faults of others hide nothing, and no
//! code is made, so that there is time for many models. `HADAL_RANDOM_PROGRAMS` sets how many,
//! `HADAL_RANDOM_SEED` where to begin.

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;

use hadal_ir::Program;
use hadal_ir::interp::{Interpreter, Limits};
use hadal_ir::program::ParamDomain;
use hadal_model::{Cursor, Expander, Flow, Model, PAD_BYTES, States, Stop, Successors};
use hadal_syntax::{Renderer, Source};
use hadal_testkit::guards;

use super::{Selectors, Trial};
use crate::unit::Unit;

const MAX_STATES: usize = 100;

/// What selectors did, over some models.
#[derive(Debug, Default)]
pub(super) struct Seen {
    n_models: usize,
    pub(super) n_states: usize,
    /// Trials called, one by one, at all states.
    n_asked: usize,
    /// Number of these that were enabled.
    pub(super) n_enabled: usize,
    /// Number that faulted.
    n_faults: usize,
    /// Number that were ruled out.
    n_ruled_out: usize,
    /// Models of which selectors ruled out something at some state.
    n_useful: usize,
}

/// What a model does at states.
struct Runner<'a> {
    expander: Box<dyn Expander + 'a>,
    out: Successors,
}

impl<'a> Runner<'a> {
    fn new(interpreter: &'a Interpreter, stop: &'a Stop) -> Self {
        Runner {
            expander: interpreter.expander(stop),
            out: Successors::new(interpreter.shape(), 1 << 10),
        }
    }

    /// Successors of a padded state, or startstates, as many as fit the buffer.
    fn run(&mut self, state: Option<&[u8]>) -> &Successors {
        self.out.reset(1);
        let from = Cursor::default();
        let flow = match state {
            Some(state) => {
                let block = States::new(state, state.len() - PAD_BYTES, 1);
                self.expander.expand(block, from, &mut self.out)
            }
            None => self.expander.starts(from, &mut self.out),
        };
        assert_ne!(flow, Flow::Stopped);
        &self.out
    }
}

/// Some states that can be reached, padded with what must not matter.
fn states(interpreter: &Interpreter) -> Vec<Vec<u8>> {
    let stop = Stop::new();
    let mut runner = Runner::new(interpreter, &stop);
    let mut states: Vec<Vec<u8>> = Vec::new();
    let mut seen = HashSet::new();
    let mut next = 0;
    loop {
        let from = match next {
            0 => None,
            _ => Some(&states[next - 1][..]),
        };
        let found: Vec<Vec<u8>> = runner
            .run(from)
            .states()
            .iter()
            .map(<[u8]>::to_vec)
            .collect();
        for mut state in found {
            state.resize(state.len() + PAD_BYTES, 0xa5);
            if states.len() < MAX_STATES && seen.insert(state.clone()) {
                states.push(state);
            }
        }
        next += 1;
        if next > states.len() {
            return states;
        }
    }
}

/// The program with one of its rules, with the values of one trial for its first parameter.
fn alone(program: &Program, rule: usize, trial: Trial, n_instances: u64) -> Program {
    let mut program = program.clone();
    let mut rule = program.rules.swap_remove(rule);
    if let Some(param) = rule.params.first_mut() {
        let (first, by) = match &param.domain {
            ParamDomain::Type(ty) => (program.types.simple(*ty).map_or(0, |it| it.lo), 1),
            ParamDomain::Span { from, by, .. } => (*from, *by),
            // Such a rule has one trial.
            ParamDomain::Slots { .. } => (0, 0),
        };
        if by != 0 {
            let value = |position: u64| first + position as i64 * by;
            param.domain = ParamDomain::Span {
                from: value(trial.first / n_instances),
                to: value(trial.end - 1),
                by,
            };
        }
    }
    program.rules = vec![rule];
    program
}

pub(crate) fn compile(text: &str) -> Program {
    let source = Source::new("random.m", text.to_owned()).expect("a short text");
    let compiled = hadal_murphi::compile(&source, &hadal_murphi::Options::default());
    compiled.program.unwrap_or_else(|| {
        let messages = Renderer::plain().render_all(&source, &compiled.diagnostics);
        panic!("not a legal model: {messages}\n{text}")
    })
}

/// Calls every rule at every state, and reports one that was ruled out wrongly.
pub(super) fn check(program: Program, seen: &mut Seen) -> Result<(), String> {
    let mut order: Vec<usize> = (0..program.rules.len()).collect();
    order.sort_by_key(|&rule| program.rules[rule].priority);
    let interpreter = Interpreter::new(program, Limits::default());
    let frame_bytes: Vec<AtomicU64> = Vec::new();
    let images = Mutex::new(Vec::new());
    let unit = Unit::new(&interpreter, &frame_bytes, &images);
    let selectors = Selectors::of(&unit, &order);
    let states = states(&interpreter);
    let mut worth = selectors.all().to_vec();
    let n_before = seen.n_ruled_out;
    for (number, trial) in selectors.trials().iter().enumerate() {
        if trial.n_left == 0 {
            continue;
        }
        let rule = order[trial.rule as usize];
        let n_instances = selectors.rules[trial.rule as usize].n_instances.max(1);
        let program = alone(interpreter.program(), rule, *trial, n_instances);
        let by_itself = Interpreter::new(program, Limits::default());
        let stop = Stop::new();
        let mut runner = Runner::new(&by_itself, &stop);
        for state in &states {
            let source_facts = &runner.run(Some(state)).sources()[0];
            selectors.select(state, &mut worth);
            let is_left = worth[number / 64] >> (number % 64) & 1 == 1;
            if !is_left && (source_facts.enabled > 0 || !source_facts.faults.is_empty()) {
                let name = &interpreter.program().rules[rule].name;
                return Err(format!(
                    "{name}, {trial:?}, is ruled out at {state:02x?}: {source_facts:?}"
                ));
            }
            seen.n_asked += 1;
            seen.n_enabled += usize::from(source_facts.enabled > 0);
            seen.n_faults += usize::from(!source_facts.faults.is_empty());
            seen.n_ruled_out += usize::from(!is_left);
        }
    }
    seen.n_models += 1;
    seen.n_states += states.len();
    seen.n_useful += usize::from(seen.n_ruled_out > n_before);
    Ok(())
}

fn from_env(name: &str, default: u64) -> u64 {
    let value = std::env::var(name).ok();
    value
        .and_then(|value| value.parse().ok())
        .unwrap_or(default)
}

#[test]
fn what_is_ruled_out_is_neither_enabled_nor_faults() {
    let n_models = from_env("HADAL_RANDOM_PROGRAMS", 2000);
    let first = from_env("HADAL_RANDOM_SEED", 0);
    let mut seen = Seen::default();
    for seed in first..first + n_models {
        let text = guards::model(seed);
        if let Err(message) = check(compile(&text), &mut seen) {
            panic!(
                "seed {seed}, after {} models: {message}\n{text}",
                seen.n_models
            );
        }
    }
    println!("{seen:?}");
    // Else nothing would have been tested.
    assert!(seen.n_useful * 3 > seen.n_models, "{seen:?}");
    assert!(seen.n_ruled_out * 10 > seen.n_asked, "{seen:?}");
    assert!(seen.n_enabled * 10 > seen.n_asked, "{seen:?}");
    assert!(seen.n_faults * 400 > seen.n_asked, "{seen:?}");
    assert!(seen.n_states > seen.n_models * 20, "{seen:?}");
}
