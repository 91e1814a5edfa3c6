//! Rules and properties whose result depends on the order of iterations: a search ends there,
//! reports nothing that comes after it, and claims that nothing holds.

use std::sync::Arc;

use hadal_model::{GoalKind, Stop};
use hadal_search::{Auto, Deadlock, Options, Outcome, Reason, Silent, Verdict, check};
use hadal_testkit::disk::CrashDisk;
use hadal_testkit::graph::{Edge, Graph, deep_graph};
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

use crate::deferral::random_options;
use crate::dependent_graphs::{Ends, add_dependences, dependent_graph};
use crate::external::run as run_on_disk;
use crate::oracle::{DEPENDENCE, expect};
use crate::resume::{always, resume_or_start};
use crate::summary::summarise;

fn run(graph: &Graph, threads: usize, max_errors: usize) -> Outcome {
    let options = Options {
        threads,
        max_errors,
        ..Options::default()
    };
    check(graph, &Auto, &options, None, &Stop::new(), &mut Silent)
        .expect("the search has an outcome")
}

/// Kinds and names of the violations.
fn violations(outcome: &Outcome) -> Vec<(&str, &str)> {
    (outcome.violations.iter())
        .map(|violation| (violation.kind.name(), violation.name.as_str()))
        .collect()
}

/// 0 leads to 1 and 2, and 1 to 3; the effect of a rule in 2 depends on the order of iterations.
/// There is a goal that 0 reaches, and an invariant that fails in 3.
fn fork() -> Graph {
    let nodes = vec![
        vec![Edge::to(1, 0), Edge::to(2, 0)],
        vec![Edge::to(3, 0)],
        vec![Edge::to(0, 0), Edge::dependence(1)],
        vec![Edge::to(0, 2)],
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
            assert_eq!(violations(&outcome), [(DEPENDENCE, "rule 1")]);
            assert_eq!(outcome.verdict, Verdict::Rejected);
            assert_eq!((outcome.complete, outcome.reason), (false, None));
            assert_eq!(outcome.holds, [None, None]);
            assert_eq!(outcome.layers, [1, 2]);
            let violation = &outcome.violations[0];
            assert_eq!((violation.depth, violation.ordinal), (1, Some(2)));
            let trace = violation.trace.as_ref().expect("a trace");
            assert_eq!(trace.steps.len(), 2);
            assert_eq!(trace.steps[1].state, Some(graph.encode(2, 0)));
        }
    }
}

#[test]
fn violations_before_it_are_reported_and_those_behind_it_are_not() {
    let mut graph = fork();
    graph.fail(&[(1, false)]);
    graph.fail(&[(2, true)]);
    for threads in [1, 2, 4] {
        let outcome = run(&graph, threads, 1);
        assert_eq!(violations(&outcome), [("invariant", "property 2")]);
        assert_eq!(outcome.holds, [Some(true), None, Some(false), None]);
        let outcome = run(&graph, threads, 10);
        let expected = [
            ("invariant", "property 2"),
            ("range", "property 3"),
            (DEPENDENCE, "rule 1"),
        ];
        assert_eq!(violations(&outcome), expected);
        assert_eq!(outcome.verdict, Verdict::Violated);
        assert!(!outcome.complete);
        assert_eq!(outcome.holds, [None, None, Some(false), Some(false)]);
    }
}

#[test]
fn a_property_that_depends_on_the_order_hides_those_after_it() {
    // Node 1 is found before 2, so its violations come first.
    let mut graph = fork();
    graph.fail(&[(1, false)]);
    graph.fail(&[(1, false)]);
    for (property, before) in [(1, 0), (2, 1), (3, 2)] {
        graph.dependent = vec![(1, property)];
        for threads in [1, 2, 4] {
            let outcome = run(&graph, threads, 10);
            // The failure of the property itself comes first, where there is one.
            assert_eq!(
                outcome.violations.len(),
                before + 1,
                "{:?}",
                violations(&outcome)
            );
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
    assert_eq!(violations(&outcome), [(DEPENDENCE, "property 0")]);
    assert_eq!(outcome.holds, [None; 4]);
}

#[test]
fn states_behind_a_property_that_depends_on_the_order_are_not_expanded() {
    // Node 2 has more successors than there is memory for.
    let n = 100_000;
    let mut nodes = vec![vec![Edge::to(1, 0), Edge::to(2, 0)], Vec::new()];
    nodes.push((3..n).map(|node| Edge::to(node, 0)).collect());
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
        let outcome =
            check(&graph, &Auto, &options, None, &Stop::new(), &mut Silent).expect("an outcome");
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
        check(&graph, &Auto, &options, None, &Stop::new(), &mut Silent)
            .expect("the search has an outcome")
    };
    assert_eq!(bounded(1).verdict, Verdict::Incomplete);
    assert_eq!(bounded(2).verdict, Verdict::Rejected);
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
            let outcome = check(&graph, &Auto, &options, None, &Stop::new(), &mut Silent);
            let outcome = outcome.expect("the search has an outcome");
            assert_eq!(
                summarise(&graph, &options, &outcome),
                expected,
                "{options:?}"
            );
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
            assert_eq!(
                summarise(&graph, &options, &outcome),
                expected,
                "{options:?}"
            );
        }
    }
    ends.assert_many(10);
}

/// A provisional state may turn out to be an old one, and then nothing is reported of it.
#[test]
fn deep_graphs_agree_with_the_oracle_while_old_runs_are_deferred() {
    let (mut ends, mut n_late) = (Ends::default(), 0);
    for seed in 7800..7840 {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let mut graph = deep_graph(&mut rng);
        add_dependences(&mut graph, &mut rng);
        let meaning = random_options(&mut rng);
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
            n_late += outcome.disk.deferred_ranks;
            assert_eq!(
                summarise(&graph, &options, &outcome),
                expected,
                "{options:?}"
            );
        }
    }
    ends.assert_many(3);
    assert!(n_late > 100, "only {n_late} layers were deferred");
}

#[test]
fn a_search_that_is_resumed_after_a_crash_ends_at_the_same_place() {
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
            let outcome = resume_or_start(&graph, &options, &whole).expect("nothing fails");
            assert_eq!(summarise(&graph, &options, &outcome), expected);
            let n_operations = whole.n_operations();
            let step = (n_operations / 40).max(1);
            for n in (0..n_operations).step_by(step as usize) {
                let disk = Arc::new(CrashDisk::new());
                disk.stop_at(n);
                if resume_or_start(&graph, &options, &disk).is_ok() {
                    continue;
                }
                n_crashes += 1;
                let options = with(2, memory_bytes / 2);
                let left = Arc::new(disk.crash(n));
                let outcome = resume_or_start(&graph, &options, &left).expect("it resumes");
                let summary = summarise(&graph, &options, &outcome);
                assert_eq!(summary, expected, "operation {n}");
                ends.add(&summary);
            }
        }
    }
    ends.assert_many(50);
    assert!(n_crashes > 500, "only {n_crashes} searches crashed");
}
