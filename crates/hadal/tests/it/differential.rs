//! The search against the brute-force oracle, on random programs: the same states, layers,
//! firings and least violation, on any number of threads; and with symmetry, one state an orbit.

use hadal_ir::Program;
use hadal_ir::goals::count_instances;
use hadal_ir::interp::{Interpreter, Limits};
use hadal_model::{FaultKind, GoalKind, Model, Stop};
use hadal_search::{Deadlock, Error, Options, Outcome, Silent, Verdict, ViolationKind, replay};
use hadal_steps::Steps;
use hadal_symmetry::Symmetric;
use hadal_symmetry::order::Order;
use hadal_testkit::oracle::{self, Report};
use hadal_testkit::random::{Config, program_from_seed};
use hadal_testkit::renaming::{rename, renamings};

/// Larger programs are skipped: the oracle is slow on purpose.
const MAX_STATES: usize = 4000;

fn interpreter(program: &Program) -> Interpreter {
    Interpreter::new(program.clone(), Limits::default())
}

fn check(model: &dyn Model, options: &Options) -> Option<Outcome> {
    match hadal_search::check(
        model,
        &hadal_search::Auto,
        options,
        None,
        &Stop::new(),
        &mut Silent,
    ) {
        Ok(outcome) => Some(outcome),
        Err(Error::NoStartstate) => None,
        Err(error) => panic!("{error}"),
    }
}

#[track_caller]
fn assert_same(seed: u64, report: &Report, outcome: &Outcome) {
    let layers: Vec<u64> = report.layers.iter().map(|&n| n as u64).collect();
    assert_eq!(outcome.layers, layers, "layers of seed {seed}");
    assert_eq!(
        outcome.transitions, report.transitions,
        "transitions of seed {seed}"
    );
    assert_eq!(
        outcome.fired_by_rule, report.fired_by_rule,
        "rules of seed {seed}"
    );
    let safety = outcome
        .violations
        .iter()
        .find(|v| !matches!(v.kind, ViolationKind::Cover | ViolationKind::Liveness));
    match (&report.violation, safety) {
        (None, None) => {}
        (Some(expected), Some(found)) => {
            assert_eq!(found.depth as usize, expected.depth, "depth of seed {seed}");
            let ordinal = found.ordinal.map(|ordinal| ordinal as usize);
            assert_eq!(ordinal, expected.state, "state of seed {seed}");
            match &expected.kind {
                oracle::ViolationKind::Deadlock => {
                    assert_eq!(found.kind, ViolationKind::Deadlock, "seed {seed}");
                }
                oracle::ViolationKind::Fault(fault) => {
                    assert_eq!(found.kind, ViolationKind::Fault(fault.kind), "seed {seed}");
                    assert_eq!(found.message, fault.message, "seed {seed}");
                }
                oracle::ViolationKind::Property(property, _) => {
                    assert_eq!(found.property, Some(*property), "seed {seed}");
                }
            }
        }
        (expected, found) => panic!("seed {seed}: {expected:?} and {found:?}"),
    }
}

#[test]
fn searches_agree_with_the_oracle_on_random_programs() {
    let modes = [
        (Deadlock::Stuttering, oracle::Deadlock::Stuttering),
        (Deadlock::Stuck, oracle::Deadlock::Stuck),
        (Deadlock::Off, oracle::Deadlock::Off),
    ];
    let (mut n_compared, mut n_violated, mut n_states) = (0, 0, 0);
    for seed in 0..400u64 {
        let model = interpreter(&program_from_seed(seed, &Config::default()));
        let (deadlock, oracle_deadlock) = modes[(seed % 3) as usize];
        let oracle_options = oracle::Options {
            deadlock: oracle_deadlock,
            max_states: MAX_STATES,
        };
        let report = oracle::search(&model, &oracle_options);
        if report.gave_up {
            continue;
        }
        for (threads, window_blocks, buffer_len) in
            [(1, 64, None), (2, 2, Some(3)), (8, 5, Some(1))]
        {
            let options = Options {
                deadlock,
                threads,
                window_blocks,
                buffer_len,
                block_len: 7,
                ..Options::default()
            };
            let Some(outcome) = check(&model, &options) else {
                assert!(
                    report.states.is_empty() && report.violation.is_none(),
                    "seed {seed}"
                );
                continue;
            };
            assert_same(seed, &report, &outcome);
            for violation in &outcome.violations {
                let Some(trace) = &violation.trace else {
                    continue;
                };
                let trace = replay(&model, trace, &options, &Stop::new());
                let trace = trace.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
                assert_eq!(
                    trace.steps.len(),
                    violation.depth as usize + 1,
                    "seed {seed}"
                );
            }
            n_violated += usize::from(outcome.verdict == Verdict::Violated);
        }
        n_compared += 1;
        n_states += report.states.len();
    }
    assert!(n_compared > 250, "only {n_compared} programs were compared");
    assert!(
        n_violated > 100,
        "only {n_violated} violations were compared"
    );
    assert!(n_states > 10_000, "only {n_states} states were compared");
}

/// Steps of several firings, and ends that models name: in memory and on disk, on any number of
/// threads.
#[test]
fn searches_agree_with_the_oracle_on_steps() {
    let config = Config {
        totals: 0.2,
        steps: true,
        ..Config::default()
    };
    let modes = [
        (Deadlock::EndStates, oracle::Deadlock::EndStates),
        (Deadlock::Stuck, oracle::Deadlock::Stuck),
        (Deadlock::Off, oracle::Deadlock::Off),
    ];
    let (mut n_compared, mut n_violated, mut n_cycles) = (0, 0, 0);
    for seed in 0..250u64 {
        let program = program_from_seed(seed, &config);
        let mut rules = program.rules.iter();
        if rules.any(|rule| count_instances(&program.types, &rule.params) > 50) {
            continue;
        }
        let model = Steps::new(Box::new(interpreter(&program)));
        let (deadlock, oracle_deadlock) = modes[(seed % 3) as usize];
        let oracle_options = oracle::Options {
            deadlock: oracle_deadlock,
            max_states: 500,
        };
        let report = oracle::search(&model, &oracle_options);
        if report.gave_up {
            continue;
        }
        for (threads, window_blocks, buffer_len) in
            [(1, 64, None), (2, 2, Some(3)), (4, 5, Some(1))]
        {
            let options = Options {
                deadlock,
                threads,
                window_blocks,
                buffer_len,
                block_len: 7,
                ..Options::default()
            };
            let Some(outcome) = check(&model, &options) else {
                assert!(report.states.is_empty() && report.violation.is_none());
                continue;
            };
            assert_same(seed, &report, &outcome);
            for violation in &outcome.violations {
                let fault = ViolationKind::Fault(FaultKind::AtomicCycle);
                n_cycles += usize::from(violation.kind == fault);
                if let Some(trace) = &violation.trace {
                    let trace = replay(&model, trace, &options, &Stop::new());
                    let trace = trace.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
                    assert_eq!(trace.steps.len(), violation.depth as usize + 1);
                }
            }
            n_violated += usize::from(outcome.verdict == Verdict::Violated);
        }
        n_compared += 1;
    }
    assert!(n_compared > 50, "only {n_compared} programs were compared");
    assert!(n_violated > 30, "only {n_violated} violations");
    assert!(n_cycles > 0, "no cycle was reported");
}

#[test]
fn steps_are_the_same_in_memory_and_on_disk() {
    let text = include_str!("../../../steps/tests/atomic.ir");
    let program = hadal_ir::text::parse(text).expect("the text is well formed");
    let native = hadal_jit::Native::new(program, Limits::default()).expect("it compiles");
    let model = Steps::new(&native);
    let mut expected = None;
    for (threads, memory) in [
        (1, None),
        (2, None),
        (1, Some(512 << 10)),
        (4, Some(1 << 20)),
    ] {
        let mut check = hadal::Check::of(&model)
            .deadlock(Deadlock::Stuck)
            .threads(threads);
        if let Some(bytes) = memory {
            check = check.data_memory(bytes);
        }
        let outcome = check
            .run()
            .unwrap_or_else(|error| panic!("{error}"))
            .outcome;
        assert_eq!(outcome.verdict, Verdict::Verified);
        let found = (outcome.layers, outcome.transitions, outcome.fired_by_rule);
        assert_eq!(expected.get_or_insert_with(|| found.clone()), &found);
    }
}

#[test]
fn symmetry_changes_no_verdict() {
    let config = Config {
        symmetric: true,
        faults: 0.05,
        ..Config::default()
    };
    let modes = [
        (Deadlock::Stuttering, oracle::Deadlock::Stuttering),
        (Deadlock::Stuck, oracle::Deadlock::Stuck),
        (Deadlock::Off, oracle::Deadlock::Off),
    ];
    let (mut n_compared, mut n_violated) = (0, 0);
    for seed in 1000..1600u64 {
        let program = program_from_seed(seed, &config);
        if program.types.scalarsets.iter().all(|set| set.size < 2) {
            continue;
        }
        let plain = interpreter(&program);
        let (deadlock, oracle_deadlock) = modes[(seed % 3) as usize];
        let oracle_options = oracle::Options {
            deadlock: oracle_deadlock,
            max_states: MAX_STATES,
        };
        let report = oracle::search(&plain, &oracle_options);
        if report.gave_up {
            continue;
        }
        let options = Options {
            deadlock,
            threads: 2,
            ..Options::default()
        };
        let order = Order::of(&plain);
        let symmetric = match Symmetric::new(&plain, &program, Limits::default(), &order) {
            Ok(symmetric) => symmetric,
            // These programs use slots by their numbers, which the analysis does not accept.
            Err(_) => continue,
        };
        let found = match hadal_search::check(
            &symmetric,
            &hadal_search::Auto,
            &options,
            None,
            &Stop::new(),
            &mut Silent,
        ) {
            Ok(outcome) => outcome,
            // Nothing is left to search, or the startstates are not symmetric enough for goals.
            Err(Error::NoStartstate | Error::AsymmetricStarts { .. }) => continue,
            Err(error) => panic!("seed {seed}: {error}"),
        };
        let safety = found
            .violations
            .iter()
            .find(|v| !matches!(v.kind, ViolationKind::Cover | ViolationKind::Liveness));
        let expected = report.violation.as_ref().map(|violation| violation.depth);
        let depth = safety.map(|violation| violation.depth as usize);
        assert_eq!(
            depth, expected,
            "seed {seed}: {safety:?} {:?}",
            report.violation
        );
        n_compared += 1;
        n_violated += usize::from(expected.is_some());
    }
    assert!(n_compared > 150, "only {n_compared} programs were compared");
    assert!(
        n_violated > 50,
        "only {n_violated} violations were compared"
    );
}

#[test]
fn symmetry_leaves_one_state_an_orbit() {
    let config = Config {
        symmetric: true,
        violations: 0.0,
        faults: 0.0,
        ..Config::default()
    };
    let (mut n_compared, mut n_reduced) = (0, 0);
    for seed in 0..500u64 {
        let program = program_from_seed(seed, &config);
        if program.types.scalarsets.iter().all(|set| set.size < 2) {
            continue;
        }
        let plain = interpreter(&program);
        let oracle_options = oracle::Options {
            deadlock: oracle::Deadlock::Off,
            max_states: MAX_STATES,
        };
        let report = oracle::search(&plain, &oracle_options);
        if report.gave_up || report.violation.is_some() || report.states.is_empty() {
            continue;
        }
        let group = renamings(&program);
        let n_orbits = oracle::count_orbits(&report.states, &group, |renaming, state| {
            rename(&program, renaming, state)
        });
        let symmetric = Symmetric::trusting(&plain, &program);
        let options = Options {
            deadlock: Deadlock::Off,
            threads: 2,
            max_errors: usize::MAX,
            ..Options::default()
        };
        let Some(outcome) = check(&symmetric, &options) else {
            panic!("seed {seed}: no startstate under symmetry");
        };
        assert_eq!(outcome.states, n_orbits as u64, "orbits of seed {seed}");
        assert_eq!(
            outcome.depth as usize,
            report.depth(),
            "depth of seed {seed}"
        );
        // Covers and liveness are properties of the model, not of the reduction.
        for (number, goal) in plain.shape().goals.iter().enumerate() {
            let is_live = match goal.kind {
                GoalKind::Liveness => {
                    let cut_off = &report.unreachable_goals;
                    !cut_off.iter().any(|(found, _)| *found as usize == number)
                }
                _ => report.goal_hits[number] > 0,
            };
            if !is_live {
                let holds = outcome.holds[goal.property as usize];
                assert_eq!(holds, Some(false), "goal {number} of seed {seed}");
            }
        }
        n_compared += 1;
        n_reduced += usize::from(n_orbits < report.states.len());
    }
    assert!(n_compared > 100, "only {n_compared} programs were compared");
    assert!(n_reduced > 40, "only {n_reduced} programs were reduced");
}
