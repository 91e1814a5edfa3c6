//! The parts of an outcome that do not depend on how it was reached.

use hadal_model::{Model, Stop};
use hadal_search::{Options, Outcome, Trace, Violation, replay};
use hadal_testkit::graph::Graph;

/// What a search reports, as the [oracle](crate::oracle) predicts it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Summary {
    pub(crate) verdict: &'static str,
    pub(crate) complete: bool,
    pub(crate) reason: Option<&'static str>,
    pub(crate) states: u64,
    pub(crate) visited: u64,
    pub(crate) transitions: u64,
    pub(crate) layers: Vec<u64>,
    pub(crate) fired_by_rule: Vec<u64>,
    pub(crate) goals: Vec<u64>,
    pub(crate) holds: Vec<Option<bool>>,
    pub(crate) violations: Vec<Found>,
    pub(crate) duplicates: u64,
}

/// A violation: kind, name, depth, ordinal, and the nodes of its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) kind: &'static str,
    pub(crate) name: String,
    pub(crate) depth: u32,
    pub(crate) ordinal: Option<u64>,
    pub(crate) path: Option<Vec<u32>>,
}

/// Summarises an outcome, and replays its traces.
pub(crate) fn summarise(graph: &Graph, options: &Options, outcome: &Outcome) -> Summary {
    let found = |violation: &Violation| Found {
        kind: violation.kind.name(),
        name: violation.name.clone(),
        depth: violation.depth,
        ordinal: violation.ordinal,
        path: violation.trace.as_ref().map(|trace| {
            let stored = trace.steps.iter().filter_map(|step| step.stored.as_ref());
            let nodes: Vec<u32> = stored.map(|state| graph.decode(state)).collect();
            let again = replay(graph, trace, options, &Stop::new()).expect("the trace replays");
            assert_eq!(again, *trace);
            check_trace(graph, &nodes, trace);
            nodes
        }),
    };
    assert_eq!(outcome.depth as usize, outcome.layers.len() - 1);
    Summary {
        verdict: outcome.verdict.name(),
        complete: outcome.complete,
        reason: outcome.reason.map(|reason| reason.name()),
        states: outcome.states,
        visited: outcome.visited,
        transitions: outcome.transitions,
        layers: outcome.layers.clone(),
        fired_by_rule: outcome.fired_by_rule.clone(),
        goals: outcome.goals.clone(),
        holds: outcome.holds.clone(),
        violations: outcome.violations.iter().map(found).collect(),
        duplicates: outcome.duplicates.memory + outcome.duplicates.layer + outcome.duplicates.disk,
    }
}

/// A trace visits the nodes of its path, by successors that exist, in their colours.
fn check_trace(graph: &Graph, nodes: &[u32], trace: &Trace) {
    if nodes.is_empty() {
        assert_eq!(trace.steps.len(), 1);
        assert!(trace.steps[0].step.rule.starts_with("start "));
        assert_eq!(trace.steps[0].state, None);
        return;
    }
    assert_eq!(trace.steps.len(), nodes.len());
    let mut before: Option<&[u8]> = None;
    for (step, &node) in trace.steps.iter().zip(nodes) {
        let state = step.state.as_deref().expect("a state on a path");
        assert_eq!(graph.decode(state), node);
        // The step is the first one that leads there.
        let mut steps = (0..).map_while(|index| graph.describe_step(before, index));
        let first = steps.find(|step| step.parameters[0].1 == node.to_string());
        assert_eq!(first.as_ref(), Some(&step.step));
        before = Some(state);
    }
}
