//! Properties of single elements under symmetry: what holds, and what is said about which element,
//! is the same as without reduction, on random programs.

use std::collections::BTreeSet;

use hadal_ir::interp::{Interpreter, Limits};
use hadal_model::{Expander, Failure, Flow, GoalKind, Model, PAD_BYTES, States, Stop};
use hadal_search::{Deadlock, Options, Outcome, Silent, Violation, ViolationKind, replay};
use hadal_symmetry::Symmetric;
use hadal_testkit::oracle::{self, Report};
use hadal_testkit::random::{Config, program_from_seed};

/// Larger programs are skipped: the oracle is slow on purpose.
const MAX_STATES: usize = 1500;

fn options(threads: usize) -> Options {
    Options {
        deadlock: Deadlock::Off,
        threads,
        max_errors: usize::MAX,
        ..Options::default()
    }
}

/// A program without and with reduction, and what the oracle says; `None` where it is too large
/// or has no states.
fn compare(seed: u64, config: &Config) -> Option<(Interpreter, Report, Outcome, Vec<Vec<u8>>)> {
    let program = program_from_seed(seed, config);
    let plain = Interpreter::new(program.clone(), Limits::default());
    let report = oracle::search(
        &plain,
        &oracle::Options {
            deadlock: oracle::Deadlock::Off,
            max_states: MAX_STATES,
        },
    );
    if report.gave_up || report.states.is_empty() {
        return None;
    }
    let options = options(1 + (seed % 2) as usize);
    let symmetric = Symmetric::trusting(&plain, &program);
    let outcome = hadal_search::check(
        &symmetric,
        &hadal_search::Auto,
        &options,
        None,
        &Stop::new(),
        &mut Silent,
    )
    .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    // The last state of each violation's run, as it is shown.
    let last_states = outcome.violations.iter().map(|violation| {
        let Some(trace) = &violation.trace else {
            return Vec::new();
        };
        let trace = replay(&symmetric, trace, &options, &Stop::new());
        let trace = trace.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let last = trace.steps.last().and_then(|step| step.state.clone());
        last.unwrap_or_default()
    });
    let last_states = last_states.collect();
    Some((plain, report, outcome, last_states))
}

fn with_block<T>(model: &Interpreter, state: &[u8], look: impl FnOnce(States<'_>) -> T) -> T {
    let mut bytes = state.to_vec();
    bytes.resize(state.len() + PAD_BYTES, 0);
    look(States::new(&bytes, model.shape().state_len, 1))
}

/// Whether some state that can be reached from `state` reaches a goal.
fn can_reach(model: &Interpreter, state: &[u8], goal: usize) -> bool {
    let stop = Stop::new();
    let mut expander = model.expander(&stop);
    let mut known = BTreeSet::from([state.to_vec()]);
    let mut waiting = vec![state.to_vec()];
    while let Some(state) = waiting.pop() {
        let reached = with_block(model, &state, |block| {
            let mut reached = vec![0; model.shape().goal_words()];
            expander.reach_goals(block, &mut reached, &mut Vec::new());
            reached
        });
        if reached[goal / 64] >> (goal % 64) & 1 == 1 {
            return true;
        }
        for next in successors(model, &mut *expander, &state) {
            if known.insert(next.clone()) {
                waiting.push(next);
            }
        }
    }
    false
}

fn successors(model: &Interpreter, expander: &mut dyn Expander, state: &[u8]) -> Vec<Vec<u8>> {
    let mut out = hadal_model::Successors::new(model.shape(), 1 << 12);
    out.reset(1);
    let flow = with_block(model, state, |block| {
        expander.expand(block, hadal_model::Cursor::default(), &mut out)
    });
    assert_eq!(flow, Flow::Done, "few successors");
    out.states().iter().map(<[u8]>::to_vec).collect()
}

fn depth_of(report: &Report, ordinal: usize) -> usize {
    let mut end = 0;
    let is_before = |&&n: &&usize| {
        end += n;
        end <= ordinal
    };
    report.layers.iter().take_while(is_before).count()
}

#[test]
fn goals_of_elements_hold_as_without_reduction() {
    let config = Config {
        symmetric: true,
        violations: 0.0,
        faults: 0.0,
        element_goals: 0.9,
        ..Config::default()
    };
    let (mut n_live, mut n_dead, mut n_covered, mut n_uncovered) = (0, 0, 0, 0);
    let mut n_programs = 0;
    for seed in 0..1500 {
        let Some((plain, report, outcome, last_states)) = compare(seed, &config) else {
            continue;
        };
        if report.violation.is_some() {
            continue;
        }
        n_programs += 1;
        let shape = plain.shape();
        for (number, property) in shape.properties.iter().enumerate() {
            let goals =
                || (0..shape.goals.len()).filter(|&g| shape.goals[g].property == number as u32);
            if goals().next().is_none() {
                continue;
            }
            let least_cut_off = |goal: usize| {
                let mut cut_off = report.unreachable_goals.iter();
                cut_off.find(|(it, _)| *it as usize == goal).map(|it| it.1)
            };
            let holds = goals().all(|goal| match shape.goals[goal].kind {
                GoalKind::Liveness => least_cut_off(goal).is_none(),
                GoalKind::CoverState | GoalKind::CoverStep => {
                    let is_reached = report.goal_hits[goal] > 0;
                    assert_eq!(
                        outcome.goals[goal] > 0,
                        is_reached,
                        "goal {goal} of seed {seed}"
                    );
                    is_reached
                }
            });
            assert_eq!(
                outcome.holds[number],
                Some(holds),
                "{:?} property {number} of seed {seed}",
                property.kind
            );
            let is_liveness = goals().all(|goal| shape.goals[goal].kind == GoalKind::Liveness);
            *match (is_liveness, holds) {
                (true, true) => &mut n_live,
                (true, false) => &mut n_dead,
                (false, true) => &mut n_covered,
                (false, false) => &mut n_uncovered,
            } += 1;
            if is_liveness && !holds {
                check_liveness(seed, &plain, &outcome, &last_states, number, || {
                    let depths = goals().filter_map(least_cut_off);
                    depths.map(|least| depth_of(&report, least)).min()
                });
            }
        }
    }
    assert!(n_programs > 300, "only {n_programs} programs were compared");
    assert!(
        n_live.min(n_dead).min(n_covered).min(n_uncovered) > 30,
        "{n_live} live, {n_dead} not; {n_covered} covered, {n_uncovered} not"
    );
}

/// A violated liveness property is reported once, at the least depth, and the instance reported is one
/// that cannot be reached from the state shown.
fn check_liveness(
    seed: u64,
    plain: &Interpreter,
    outcome: &Outcome,
    last_states: &[Vec<u8>],
    property: usize,
    expected_depth: impl FnOnce() -> Option<usize>,
) {
    let is_it = |violation: &&(&Violation, &Vec<u8>)| violation.0.property == Some(property as u32);
    let found: Vec<_> = outcome.violations.iter().zip(last_states).collect();
    let found: Vec<_> = found.iter().filter(is_it).collect();
    assert_eq!(found.len(), 1, "seed {seed}");
    let (violation, state) = found[0];
    assert_eq!(violation.kind, ViolationKind::Liveness, "seed {seed}");
    assert_eq!(
        Some(violation.depth as usize),
        expected_depth(),
        "seed {seed}"
    );
    let goals = &plain.shape().goals;
    let goal = goals.iter().position(|goal| {
        goal.property == property as u32 && goal.parameters == violation.parameters
    });
    let goal = goal.unwrap_or_else(|| panic!("seed {seed}: no such instance"));
    assert!(!can_reach(plain, state, goal), "seed {seed}, goal {goal}");
}

#[test]
fn what_fails_is_reported_in_the_names_of_the_run_shown() {
    let config = Config {
        symmetric: true,
        violations: 0.8,
        faults: 0.05,
        max_properties: 5,
        ..Config::default()
    };
    let (mut n_invariants, mut n_faults) = (0, 0);
    for seed in 0..1500 {
        let Some((plain, _, outcome, last_states)) = compare(seed, &config) else {
            continue;
        };
        let stop = Stop::new();
        let mut expander = plain.expander(&stop);
        for (violation, state) in outcome.violations.iter().zip(&last_states) {
            if violation.parameters.is_empty() || violation.trace.is_none() {
                continue;
            }
            if let (ViolationKind::Fault(kind), None) = (violation.kind, violation.property) {
                if violation.ordinal.is_none() {
                    continue;
                }
                let mut out = hadal_model::Successors::new(plain.shape(), 1 << 12);
                out.reset(1);
                with_block(&plain, state, |block| {
                    expander.expand(block, hadal_model::Cursor::default(), &mut out)
                });
                let mut faults = out.sources()[0].faults.iter();
                let fault = faults.find(|it| (it.kind, &it.name) == (kind, &violation.name));
                let fault = fault.unwrap_or_else(|| panic!("seed {seed}: no such fault"));
                assert_eq!(fault.parameters, violation.parameters, "seed {seed}");
                assert_eq!(fault.message, violation.message, "seed {seed}");
                n_faults += 1;
                continue;
            }
            let mut failures: Vec<Failure> = Vec::new();
            with_block(&plain, state, |block| {
                expander.check(block, &mut failures);
                let mut reached = vec![0; plain.shape().goal_words()];
                expander.reach_goals(block, &mut reached, &mut failures);
            });
            if violation.kind == ViolationKind::Liveness {
                continue;
            }
            let is_it = |failure: &&Failure| Some(failure.property) == violation.property;
            let failure = failures.iter().find(is_it);
            let failure = failure.unwrap_or_else(|| panic!("seed {seed}: it holds"));
            assert_eq!(failure.parameters, violation.parameters, "seed {seed}");
            n_invariants += 1;
        }
    }
    assert!(
        n_invariants > 200,
        "only {n_invariants} failures were compared"
    );
    assert!(n_faults > 30, "only {n_faults} faults were compared");
}
