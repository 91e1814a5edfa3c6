//! Rules and properties whose result depends on the order of passes: whatever else is asked for,
//! a search ends there, tells nothing that comes after it, and claims that nothing holds.

use std::sync::Arc;
use std::time::Duration;

use hadal_model::{GoalKind, Model, Stop};
use hadal_search::{
    Deadlock, Error, Options, Outcome, Reason, Silent, Strategy, StrategyOptions, Verdict, check,
    check_with, locality, trace,
};
use hadal_testkit::disk::CrashDisk;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::external::run as run_on_disk;
use crate::graph::{Edge, Graph, N_RULES};
use crate::oracle::{DEPENDENCE, Expected, expect};
use crate::postponed::{deep_graph, meaning};
use crate::random::{random_graph, tell};
use crate::resume::{always, go_on};
use crate::strategies::{is_by_layers, strategies};

fn run(graph: &Graph, threads: usize, max_errors: usize) -> Outcome {
    let options = Options {
        threads,
        max_errors,
        ..Options::default()
    };
    check(graph, &options, &Stop::new(), &mut Silent).expect("the search has an outcome")
}

/// Kinds and names of the violations.
fn told(outcome: &Outcome) -> Vec<(&str, &str)> {
    (outcome.violations.iter())
        .map(|violation| (violation.kind.name(), violation.name.as_str()))
        .collect()
}

/// 0 leads to 1 and 2, and 1 to 3; what the rule does in 2 depends on the order of passes. There is
/// a goal that 0 reaches, and an invariant that fails in 3.
fn fork() -> Graph {
    let nodes = vec![
        vec![Edge::To(1, 0), Edge::To(2, 0)],
        vec![Edge::To(3, 0)],
        vec![Edge::To(0, 0), Edge::Dependence(1)],
        vec![Edge::To(0, 2)],
    ];
    let mut graph = Graph::new(2, &[0], nodes);
    graph.reach(GoalKind::CoverState, &[0]);
    graph.fail(&[(3, false)]);
    graph
}

#[test]
fn a_model_that_depends_on_the_order_is_rejected_and_nothing_holds() {
    let graph = fork();
    for threads in [1, 2, 4] {
        for max_errors in [1, 10] {
            let outcome = run(&graph, threads, max_errors);
            assert_eq!(told(&outcome), [(DEPENDENCE, "rule 1")]);
            assert_eq!(outcome.verdict, Verdict::Rejected);
            assert_eq!((outcome.complete, outcome.reason), (false, None));
            assert_eq!(outcome.holds, [None, None]);
            assert_eq!(outcome.layers, [1, 2]);
            let violation = &outcome.violations[0];
            assert_eq!((violation.depth, violation.ordinal), (1, Some(2)));
            let path = violation.path.as_ref().expect("a path");
            let trace = trace(&graph, path, &Options::default(), &Stop::new()).expect("a trace");
            assert_eq!(trace.steps.len(), 2);
            assert_eq!(trace.steps[1].state, Some(graph.encode(2, 0)));
        }
    }
}

#[test]
fn violations_that_come_before_it_are_told_and_those_behind_are_not() {
    let mut graph = fork();
    graph.fail(&[(1, false)]);
    graph.fail(&[(2, true)]);
    for threads in [1, 2, 4] {
        let outcome = run(&graph, threads, 1);
        assert_eq!(told(&outcome), [("invariant", "property 2")]);
        assert_eq!(outcome.holds, [Some(true), None, Some(false), None]);
        let outcome = run(&graph, threads, 10);
        let expected = [
            ("invariant", "property 2"),
            ("range", "property 3"),
            (DEPENDENCE, "rule 1"),
        ];
        assert_eq!(told(&outcome), expected);
        assert_eq!(outcome.verdict, Verdict::Violated);
        assert!(!outcome.complete);
        assert_eq!(outcome.holds, [None, None, Some(false), Some(false)]);
    }
}

#[test]
fn a_property_that_depends_on_the_order_hides_those_after_it() {
    // Node 1 is found before 2, so what it says comes first.
    let mut graph = fork();
    graph.fail(&[(1, false)]);
    graph.fail(&[(1, false)]);
    for (property, before) in [(1, 0), (2, 1), (3, 2)] {
        graph.dependent = vec![(1, property)];
        for threads in [1, 2, 4] {
            let outcome = run(&graph, threads, 10);
            // The failure of the property itself comes first, where there is one.
            assert_eq!(outcome.violations.len(), before + 1, "{:?}", told(&outcome));
            let last = &outcome.violations[before];
            assert_eq!(
                (last.kind.name(), last.property),
                (DEPENDENCE, Some(property))
            );
            let is_only = before == 0;
            assert_eq!(outcome.verdict == Verdict::Rejected, is_only);
            assert!(outcome.holds.iter().all(|holds| *holds != Some(true)));
        }
    }
    // That of a goal, which is neither covered nor found to be false.
    graph.dependent = vec![(1, 0)];
    let outcome = run(&graph, 2, 10);
    assert_eq!(told(&outcome), [(DEPENDENCE, "property 0")]);
    assert_eq!(outcome.holds, [None; 4]);
}

#[test]
fn states_behind_a_property_that_depends_on_the_order_are_not_expanded() {
    // Node 2 has more successors than there is memory for.
    let n = 100_000;
    let mut nodes = vec![vec![Edge::To(1, 0), Edge::To(2, 0)], Vec::new()];
    nodes.push((3..n).map(|node| Edge::To(node, 0)).collect());
    nodes.resize(n as usize, Vec::new());
    let mut graph = Graph::new(4, &[0], nodes);
    graph.fail(&[]);
    let options = Options {
        max_errors: 10,
        memory_bytes: 1 << 20,
        deadlock: Deadlock::Off,
        ..Options::default()
    };
    for (dependent, verdict, reason) in [
        (None, Verdict::Incomplete, Some(Reason::Memory)),
        (Some((1, 0)), Verdict::Rejected, None),
    ] {
        graph.dependent = dependent.into_iter().collect();
        let outcome = check(&graph, &options, &Stop::new(), &mut Silent).expect("an outcome");
        assert_eq!((outcome.verdict, outcome.reason), (verdict, reason));
    }
}

#[test]
fn a_bound_hides_what_depends_on_the_order_only_behind_it() {
    let graph = fork();
    let bounded = |bound| {
        let options = Options {
            bound: Some(bound),
            ..Options::default()
        };
        check(&graph, &options, &Stop::new(), &mut Silent).expect("the search has an outcome")
    };
    assert_eq!(bounded(1).verdict, Verdict::Incomplete);
    assert_eq!(bounded(2).verdict, Verdict::Rejected);
}

#[test]
fn how_far_transitions_lead_is_not_measured() {
    let graph = fork();
    let error = locality(&graph, &Options::default(), &Stop::new(), &mut Silent);
    assert!(
        matches!(&error, Err(Error::OrderDependence(fault)) if fault.name == "rule 1"),
        "{error:?}"
    );
}

/// Makes some rules and properties of a graph depend on the order.
fn add_dependences(graph: &mut Graph, rng: &mut Pcg64Mcg) {
    let n_nodes = graph.nodes.len();
    for _ in 0..rng.random_range(1..4) {
        let node = rng.random_range(0..n_nodes);
        let rule = rng.random_range(0..N_RULES as u32);
        let n_properties = graph.shape.properties.len();
        if n_properties > 0 && rng.random_range(0..2) == 0 {
            let property = rng.random_range(0..n_properties) as u32;
            graph.dependent.push((node as u32, property));
        } else {
            let edges = &mut graph.nodes[node];
            edges.insert(rng.random_range(0..=edges.len()), Edge::Dependence(rule));
        }
    }
    graph.dependent.sort();
    graph.dependent.dedup();
    if rng.random_range(0..20) == 0 {
        let at = rng.random_range(0..=graph.starts.len());
        graph.starts.insert(at, Edge::Dependence(0));
    }
}

/// A random graph with dependences and what is asked of it; without liveness, which needs all
/// states in memory.
fn dependent_graph(seed: u64) -> Option<(Graph, Options)> {
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let mut graph = random_graph(&mut rng);
    add_dependences(&mut graph, &mut rng);
    let options = Options {
        deadlock: [Deadlock::Stuttering, Deadlock::Off][rng.random_range(0..2)],
        bound: [None, None, Some(3)][rng.random_range(0..3)],
        max_errors: [1, 10][rng.random_range(0..2)],
        ..Options::default()
    };
    let expected = expect(&graph, &options);
    let is_empty = expected.states == 0 && expected.violations.is_empty();
    let mut goals = graph.shape().goals.iter();
    let has_liveness = goals.any(|goal| goal.kind == GoalKind::Liveness);
    (!is_empty && !has_liveness).then_some((graph, options))
}

/// How many searches were rejected, and how many found violations before they ended there.
#[derive(Default)]
struct Ends {
    rejected: u32,
    violated: u32,
}

impl Ends {
    fn add(&mut self, told: &Expected) {
        let is_dependent = told.violations.last().is_some_and(|v| v.kind == DEPENDENCE);
        self.rejected += u32::from(told.verdict == "rejected");
        self.violated += u32::from(told.verdict == "violated" && is_dependent);
    }

    #[track_caller]
    fn assert_many(&self, least: u32) {
        let Ends { rejected, violated } = self;
        assert!(
            *rejected >= least && *violated >= least,
            "{rejected} rejected, {violated} violated before"
        );
    }
}

#[test]
fn random_graphs_agree_with_the_oracle_in_memory() {
    let mut ends = Ends::default();
    for (graph, meaning) in (7000..7500).filter_map(dependent_graph) {
        let expected = expect(&graph, &meaning);
        ends.add(&expected);
        for (threads, block_len, window_blocks, buffer_len) in [
            (1, 256, 64, None),
            (1, 1, 1, Some(1)),
            (2, 7, 5, Some(3)),
            (4, 2, 9, Some(1)),
            (4, 64, 3, Some(40)),
        ] {
            let options = Options {
                threads,
                block_len,
                window_blocks,
                buffer_len,
                ..meaning.clone()
            };
            let outcome = check(&graph, &options, &Stop::new(), &mut Silent);
            let outcome = outcome.expect("the search has an outcome");
            assert_eq!(tell(&graph, &options, &outcome), expected, "{options:?}");
        }
    }
    ends.assert_many(20);
}

#[test]
fn random_graphs_agree_with_the_oracle_on_disk() {
    let mut ends = Ends::default();
    for (graph, meaning) in (7500..7800).filter_map(dependent_graph) {
        let expected = expect(&graph, &meaning);
        ends.add(&expected);
        for (threads, memory_bytes, buffer_len) in
            [(1, 0, Some(3)), (2, 2_000, Some(40)), (4, 20_000, None)]
        {
            let options = Options {
                threads,
                memory_bytes,
                buffer_len,
                ..meaning.clone()
            };
            let outcome = run_on_disk(&graph, &options);
            assert_eq!(tell(&graph, &options, &outcome), expected, "{options:?}");
        }
    }
    ends.assert_many(10);
}

/// What looks like a new state may turn out to be an old one later, and then is not told.
#[test]
fn deep_graphs_agree_with_the_oracle_while_old_runs_are_deferred() {
    let (mut ends, mut n_late) = (Ends::default(), 0);
    for seed in 7800..7840 {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let mut graph = deep_graph(&mut rng);
        add_dependences(&mut graph, &mut rng);
        let meaning = meaning(&mut rng);
        let expected = expect(&graph, &meaning);
        if expected.states == 0 && expected.violations.is_empty() {
            continue;
        }
        ends.add(&expected);
        for (threads, memory_bytes) in [(1, 0), (2, 3_000)] {
            let options = Options {
                threads,
                memory_bytes,
                ..meaning.clone()
            };
            let outcome = run_on_disk(&graph, &options);
            n_late += outcome.disk.late_layers;
            assert_eq!(tell(&graph, &options, &outcome), expected, "{options:?}");
        }
    }
    ends.assert_many(3);
    assert!(n_late > 100, "only {n_late} layers were deferred");
}

#[test]
fn a_search_that_dies_and_goes_on_ends_at_the_same_place() {
    let (mut ends, mut n_crashes) = (Ends::default(), 0);
    for (graph, meaning) in (8000..8060).filter_map(dependent_graph) {
        for memory_bytes in [3_000, 1 << 20] {
            let with = |threads, memory_bytes| Options {
                deadlock: meaning.deadlock,
                bound: meaning.bound,
                max_errors: meaning.max_errors,
                ..always(threads, memory_bytes)
            };
            let options = with(1, memory_bytes);
            let expected = expect(&graph, &options);
            let whole = Arc::new(CrashDisk::new());
            let outcome = go_on(&graph, &options, &whole).expect("nothing fails");
            assert_eq!(tell(&graph, &options, &outcome), expected);
            let n_operations = whole.n_operations();
            let step = (n_operations / 40).max(1);
            for n in (0..n_operations).step_by(step as usize) {
                let disk = Arc::new(CrashDisk::new());
                disk.stop_at(n);
                if go_on(&graph, &options, &disk).is_ok() {
                    continue;
                }
                n_crashes += 1;
                let options = with(2, memory_bytes / 2);
                let left = Arc::new(disk.crash(n));
                let outcome = go_on(&graph, &options, &left).expect("it goes on");
                let told = tell(&graph, &options, &outcome);
                assert_eq!(told, expected, "operation {n}");
                ends.add(&told);
            }
        }
    }
    ends.assert_many(50);
    assert!(n_crashes > 500, "only {n_crashes} searches died");
}

#[test]
fn strategies_end_there_too() {
    let mut ends = Ends::default();
    for (graph, meaning) in (8100..8250).filter_map(dependent_graph) {
        for mut strategy in strategies() {
            let mut options = Options {
                time_limit: Some(Duration::from_secs(20)),
                ..meaning.clone()
            };
            if !is_by_layers(&strategy) {
                options.bound = None;
            }
            let expected = expect(&graph, &options);
            if let Strategy::DfsCache { most_visited, .. } = &mut strategy {
                *most_visited = Some(10 * graph.nodes.len() as u64);
            }
            for budget_bytes in [1 << 26, expected.states * 6] {
                let own = StrategyOptions {
                    budget_bytes,
                    active_share: 1.0,
                    ..StrategyOptions::default()
                };
                let told = run_strategy(&graph, &strategy, &own, &options);
                ends.add(&told);
                let context = || format!("{strategy:?} {own:?} {options:?}");
                let is_ordered = matches!(strategy, Strategy::Ram | Strategy::Mono { .. });
                let is_stopped = told.reason.is_some() && told.reason != expected.reason;
                if is_ordered && !is_stopped {
                    assert_eq!(told, expected, "{}", context());
                }
                // However states are ordered within a layer, the least depth is the same; and a
                // search through all states meets one of the dependences.
                let last = |told: &Expected| {
                    let last = told.violations.last().filter(|v| v.kind == DEPENDENCE);
                    last.map(|last| {
                        if is_by_layers(&strategy) {
                            last.depth
                        } else {
                            0
                        }
                    })
                };
                if !is_stopped && options.max_errors > 1 {
                    assert_eq!(last(&told), last(&expected), "{}", context());
                }
            }
        }
    }
    ends.assert_many(200);
}

/// What a strategy tells, with everything that must be so however it goes about it.
fn run_strategy(
    graph: &Graph,
    strategy: &Strategy,
    own: &StrategyOptions,
    options: &Options,
) -> Expected {
    let run = || {
        let stop = Stop::new();
        check_with(graph, strategy, own, options, &stop, &mut Silent).expect("it runs")
    };
    let mut outcome = run();
    assert_eq!(outcome.violations, run().violations);
    if !is_by_layers(strategy) {
        outcome.layers = vec![0; outcome.depth as usize + 1];
    }
    let told = tell(graph, options, &outcome);
    let mut kinds = told.violations.iter().map(|found| found.kind);
    let first = kinds.position(|kind| kind == DEPENDENCE);
    if let Some(first) = first {
        assert_eq!(first + 1, told.violations.len(), "{strategy:?}: {told:?}");
        assert!(!told.complete);
        assert!(told.holds.iter().all(|holds| *holds != Some(true)));
    }
    assert_eq!(told.verdict == "rejected", first == Some(0));
    told
}
