//! Models whose result depends on the order of iterations: every strategy ends there.

use std::time::Duration;

use hadal_literature::{Configurable, locality};
use hadal_model::Stop;
use hadal_search::{Error, Options, Silent, check};
use hadal_testkit::graph::{Edge, Graph};

use crate::dependent_graphs::{Ends, dependent_graph};
use crate::oracle::{DEPENDENCE, expect};
use crate::strategies::{set_if_known, strategies};
use crate::summary::{Summary, summarise};

/// The effect of rule 1 in node 2 depends on the order of iterations.
fn fork() -> Graph {
    let nodes = vec![
        vec![Edge::to(1, 0), Edge::to(2, 0)],
        vec![Edge::to(3, 0)],
        vec![Edge::to(0, 0), Edge::dependence(1)],
        vec![Edge::to(0, 2)],
    ];
    Graph::new(2, &[0], nodes)
}

#[test]
fn locality_is_not_measured() {
    let graph = fork();
    let error = locality(&graph, &Options::default(), &Stop::new(), &mut Silent);
    assert!(
        matches!(&error, Err(Error::OrderDependence(fault)) if fault.name == "rule 1"),
        "{error:?}"
    );
}

#[test]
fn every_strategy_ends_at_an_order_dependence() {
    let mut ends = Ends::default();
    for (graph, meaning) in (8100..8250).filter_map(dependent_graph) {
        for mut strategy in strategies() {
            let mut options = Options {
                time_limit: Some(Duration::from_secs(20)),
                ..meaning.clone()
            };
            if !strategy.is_by_depth() {
                options.bound = None;
            }
            let expected = expect(&graph, &options);
            let most_visited = (10 * graph.nodes.len()).to_string();
            set_if_known(&mut *strategy, "most-visited", &most_visited);
            set_if_known(&mut *strategy, "active-share", "1");
            for budget_bytes in [1 << 26, expected.states * 6] {
                let options = Options {
                    memory_bytes: budget_bytes,
                    ..options.clone()
                };
                let summary = run_strategy(&graph, &*strategy, &options);
                ends.add(&summary);
                let context = || format!("{strategy:?} {options:?}");
                let is_ordered = ["ram", "mono"].contains(&strategy.name());
                let is_stopped = summary.reason.is_some() && summary.reason != expected.reason;
                if is_ordered && !is_stopped {
                    assert_eq!(summary, expected, "{}", context());
                }
                // However states are ordered within a layer, the least depth is the same; and a
                // search through all states meets one of the dependences.
                let last = |summary: &Summary| {
                    let last = summary.violations.last().filter(|v| v.kind == DEPENDENCE);
                    last.map(|last| {
                        if strategy.is_by_depth() {
                            last.depth
                        } else {
                            0
                        }
                    })
                };
                if !is_stopped && options.max_errors > 1 {
                    assert_eq!(last(&summary), last(&expected), "{}", context());
                }
            }
        }
    }
    ends.assert_many(200);
}

/// Runs a strategy and checks what holds for all of them.
fn run_strategy(graph: &Graph, strategy: &dyn Configurable, options: &Options) -> Summary {
    let run = || {
        let stop = Stop::new();
        check(graph, strategy, options, None, &stop, &mut Silent).expect("it runs")
    };
    let mut outcome = run();
    assert_eq!(outcome.violations, run().violations);
    if !strategy.is_by_depth() {
        outcome.layers = vec![0; outcome.depth as usize + 1];
    }
    let summary = summarise(graph, options, &outcome);
    let mut kinds = summary.violations.iter().map(|found| found.kind);
    let first = kinds.position(|kind| kind == DEPENDENCE);
    if let Some(first) = first {
        assert_eq!(
            first + 1,
            summary.violations.len(),
            "{strategy:?}: {summary:?}"
        );
        assert!(!summary.complete);
        assert!(summary.holds.iter().all(|holds| *holds != Some(true)));
    }
    assert_eq!(summary.verdict == "rejected", first == Some(0));
    summary
}
