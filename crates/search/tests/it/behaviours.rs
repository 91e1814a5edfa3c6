//! One behaviour per test.

use std::time::Duration;

use hadal_model::{GoalKind, Stop};
use hadal_search::{
    Auto, Deadlock, Error, Options, Outcome, Progress, Reason, Silent, TraceError, Verdict, check,
    replay,
};
use hadal_testkit::graph::{Edge, Graph, Trap};

/// A cube with an invariant, which holds, and a liveness property: the last node can be reached.
fn cube(n_bits: u32) -> Graph {
    let mut cube = Graph::cube(n_bits);
    cube.fail(&[]);
    cube.reach(GoalKind::Liveness, &[(1 << n_bits) - 1]);
    cube
}

/// The layers of a cube.
fn binomials(n: u64) -> Vec<u64> {
    let choose = |layer: &mut u64, k| {
        let this = *layer;
        *layer = *layer * (n - k) / (k + 1);
        Some(this)
    };
    (0..=n).scan(1, choose).collect()
}

fn run(model: &dyn hadal_model::Model, options: &Options) -> Outcome {
    check(model, &Auto, options, None, &Stop::new(), &mut Silent)
        .expect("the search has an outcome")
}

fn with_threads(threads: usize) -> Options {
    Options {
        threads,
        ..Options::default()
    }
}

#[test]
fn a_cube_has_binomial_layers_on_any_number_of_threads() {
    let cube = cube(16);
    for threads in [1, 2, 8] {
        let outcome = run(&cube, &with_threads(threads));
        assert_eq!(outcome.verdict, Verdict::Verified);
        assert_eq!(outcome.layers, binomials(16));
        assert_eq!(outcome.states, 1 << 16);
        assert_eq!(outcome.transitions, 16 * (1 << 15) + 1);
        assert_eq!(outcome.duplicates.memory, 16 * (1 << 15) - (1 << 16) + 1);
        assert_eq!(outcome.holds, [Some(true), Some(true)]);
        assert_eq!(outcome.goals, [1]);
    }
}

#[test]
fn a_model_without_startstates_gets_no_verdict() {
    let graph = Graph::new(1, &[], vec![Vec::new()]);
    let error = check(
        &graph,
        &Auto,
        &Options::default(),
        None,
        &Stop::new(),
        &mut Silent,
    );
    assert!(matches!(error, Err(Error::NoStartstate)));
    let mut graph = graph;
    graph.starts = vec![Edge::discarded(0)];
    let error = check(
        &graph,
        &Auto,
        &Options::default(),
        None,
        &Stop::new(),
        &mut Silent,
    );
    assert!(matches!(error, Err(Error::NoStartstate)));
}

#[test]
fn a_model_without_variables_has_one_state() {
    let graph = Graph::new(0, &[0, 0], vec![vec![Edge::to(0, 0), Edge::to(0, 1)]]);
    let mut options = with_threads(2);
    let outcome = run(&graph, &options);
    assert_eq!(outcome.verdict, Verdict::Violated);
    assert_eq!(outcome.violations[0].kind.name(), "deadlock");
    let trace = outcome.violations[0].trace.as_ref().expect("a trace");
    assert_eq!(trace.steps[0].state, Some(Vec::new()));
    options.deadlock = Deadlock::Stuck;
    let outcome = run(&graph, &options);
    assert_eq!(outcome.verdict, Verdict::Verified);
    assert_eq!(
        (outcome.states, outcome.transitions, outcome.depth),
        (1, 2, 0)
    );
}

#[test]
fn a_state_may_have_more_successors_than_any_buffer() {
    let n = 200_000;
    let mut nodes = vec![Vec::new(); n as usize];
    nodes[0] = (1..n).map(|node| Edge::to(node, 0)).collect();
    let mut graph = Graph::new(4, &[0], nodes);
    graph.fail(&[(n - 1, false)]);
    for threads in [1, 2] {
        let options = Options {
            deadlock: Deadlock::Off,
            buffer_len: Some(1000),
            ..with_threads(threads)
        };
        let outcome = run(&graph, &options);
        assert_eq!(outcome.layers, [1, u64::from(n) - 1]);
        let violation = &outcome.violations[0];
        assert_eq!((violation.kind.name(), violation.depth), ("invariant", 1));
        let trace = violation.trace.as_ref().expect("a trace");
        assert_eq!(trace.steps[1].index, n - 2);
        assert_eq!(trace.steps[1].step.parameters[0].1, (n - 1).to_string());
    }
}

#[test]
fn a_search_keeps_within_its_budget() {
    let cube = cube(18);
    for (threads, memory_bytes) in [(1, 1 << 20), (2, 1 << 21), (8, 3 << 19), (2, 0)] {
        let options = Options {
            memory_bytes,
            ..with_threads(threads)
        };
        let outcome = run(&cube, &options);
        assert_eq!(outcome.verdict, Verdict::Incomplete);
        assert!(!outcome.complete);
        assert_eq!(outcome.reason, Some(Reason::Memory));
        assert_eq!(outcome.holds, [None, None]);
        // Without any budget there is a block of the parent log, and a layout of keys.
        assert!(outcome.data_bytes <= memory_bytes.max((1 << 16) + 100));
        assert_eq!(outcome.states > 1000, memory_bytes > 0);
        assert!(outcome.visited <= outcome.states);
        assert_eq!(outcome.states, outcome.layers.iter().sum::<u64>());
    }
}

#[test]
fn liveness_without_memory_for_it_is_not_decided() {
    let cube = cube(14);
    let enough = run(&cube, &with_threads(2));
    assert_eq!(enough.verdict, Verdict::Verified);
    let buffers = Options {
        window_blocks: 4,
        buffer_len: Some(4096),
        ..with_threads(2)
    };
    let needed = run(&cube, &buffers).data_bytes;
    let outcome = run(
        &cube,
        &Options {
            memory_bytes: needed - 100_000,
            ..buffers
        },
    );
    assert_eq!(outcome.verdict, Verdict::Incomplete);
    assert_eq!(outcome.reason, Some(Reason::Liveness));
    assert_eq!(outcome.states, 1 << 14);
    assert_eq!(outcome.holds, [Some(true), None]);
}

#[test]
fn an_endless_loop_in_the_model_is_interrupted() {
    let mut cube = cube(12);
    cube.traps.insert(0b11, Trap::Endless);
    for threads in [1, 2] {
        let options = Options {
            time_limit: Some(Duration::from_millis(60)),
            ..with_threads(threads)
        };
        let outcome = run(&cube, &options);
        assert_eq!(outcome.verdict, Verdict::Incomplete);
        assert_eq!(outcome.reason, Some(Reason::Time));
        // The layer of the trap was found and not expanded.
        assert_eq!(outcome.layers[..3], binomials(12)[..3]);

        let stop = Stop::new();
        let outcome = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(60));
                stop.raise();
            });
            check(
                &cube,
                &Auto,
                &with_threads(threads),
                None,
                &stop,
                &mut Silent,
            )
        });
        let outcome = outcome.expect("the search has an outcome");
        assert_eq!(outcome.reason, Some(Reason::Interrupted));
    }
}

#[test]
fn a_violation_found_before_a_stop_is_reported() {
    // The invariant fails in layer 3 while a state of layer 2 never ends.
    let mut cube = cube(12);
    cube.traps.insert(0b1100_0000_0000, Trap::Endless);
    cube.failing[0].push((0b111, false));
    let options = Options {
        block_len: 1,
        window_blocks: 2,
        time_limit: Some(Duration::from_millis(100)),
        ..with_threads(1)
    };
    let outcome = run(&cube, &options);
    assert_eq!(outcome.verdict, Verdict::Violated);
    assert!(!outcome.complete);
    assert_eq!(outcome.reason, Some(Reason::Time));
    let violation = &outcome.violations[0];
    assert_eq!((violation.kind.name(), violation.depth), ("invariant", 3));
    assert_eq!(outcome.holds, [Some(false), None]);
}

#[test]
#[should_panic(expected = "is a trap")]
fn a_panic_of_an_expander_is_propagated() {
    let mut cube = cube(16);
    cube.traps.insert(0xf0f, Trap::Panic);
    let _ = check(
        &cube,
        &Auto,
        &with_threads(4),
        None,
        &Stop::new(),
        &mut Silent,
    );
}

#[test]
#[should_panic(expected = "no more")]
fn a_panic_of_the_observer_ends_the_search() {
    let cube = cube(16);
    let mut observer = |_: &Progress| panic!("no more");
    let _ = check(
        &cube,
        &Auto,
        &with_threads(2),
        None,
        &Stop::new(),
        &mut observer,
    );
}

#[test]
fn a_broken_symmetry_gets_no_verdict() {
    let chain = (0..20).map(|node| vec![Edge::to((node + 1) % 20, 0)]);
    let mut graph = Graph::new(2, &[0], chain.collect()).coloured();
    graph.traps.insert(7, Trap::BreaksSymmetry);
    let error = check(
        &graph,
        &Auto,
        &with_threads(2),
        None,
        &Stop::new(),
        &mut Silent,
    );
    assert!(matches!(error, Err(Error::BrokenSymmetry { rule, .. }) if rule == "rule 1"));
    graph.traps.clear();
    graph.has_asymmetric_starts = true;
    let error = check(
        &graph,
        &Auto,
        &with_threads(2),
        None,
        &Stop::new(),
        &mut Silent,
    );
    assert!(
        matches!(error, Err(Error::AsymmetricStarts { message }) if message.contains("colour"))
    );
}

#[test]
fn the_end_of_each_layer_is_reported() {
    let cube = cube(14);
    let mut reports: Vec<Progress> = Vec::new();
    let mut observer = |progress: &Progress| reports.push(*progress);
    let outcome = check(
        &cube,
        &Auto,
        &with_threads(2),
        None,
        &Stop::new(),
        &mut observer,
    );
    let outcome = outcome.expect("the search has an outcome");
    let ends: Vec<u64> = reports
        .iter()
        .filter(|progress| progress.frontier == progress.frontier_done)
        .map(|progress| progress.frontier)
        .collect();
    for (depth, layer) in outcome.layers.iter().enumerate() {
        assert!(ends.contains(layer), "layer {depth} of {ends:?}");
    }
    assert!(reports.iter().all(|progress| progress.data_bytes > 0));
}

#[test]
fn a_path_of_another_model_does_not_replay() {
    let mut graph = Graph::new(2, &[0], vec![vec![Edge::to(1, 0)], vec![Edge::fault(2)]]);
    let options = with_threads(1);
    let outcome = run(&graph, &options);
    let violation = &outcome.violations[0];
    assert_eq!((violation.kind.name(), violation.depth), ("range", 1));
    assert_eq!(violation.parameters, [("p".to_owned(), "1".to_owned())]);
    let trace = violation.trace.as_ref().expect("a trace");
    let again = replay(&graph, trace, &options, &Stop::new());
    assert!(again.is_ok_and(|again| again == *trace));
    graph.nodes[0] = vec![Edge::to(0, 0)];
    let error = replay(&graph, trace, &options, &Stop::new());
    assert!(matches!(error, Err(TraceError::DoesNotReplay { step: 1 })));
}

#[test]
fn one_property_may_have_many_goals() {
    let mut graph = Graph::new(2, &[0], vec![vec![Edge::to(1, 0)], vec![Edge::to(0, 0)]]);
    for goal in 0..130 {
        graph.reach(GoalKind::CoverState, &[goal % 3]);
    }
    let options = Options {
        max_errors: 1000,
        ..with_threads(1)
    };
    let outcome = run(&graph, &options);
    // Node 2 does not exist, so every third goal is never reached.
    let unreached: Vec<usize> = (0..130).filter(|goal| goal % 3 == 2).collect();
    assert_eq!(outcome.violations.len(), unreached.len());
    for (violation, goal) in outcome.violations.iter().zip(&unreached) {
        assert_eq!(violation.name, format!("property {goal}"));
        assert_eq!((violation.depth, &violation.trace), (1, &None));
    }
    assert!(outcome.complete);
}
