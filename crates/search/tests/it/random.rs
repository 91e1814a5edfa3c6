//! Random graphs under every option: outcome and traces must be those of the oracle.

use hadal_model::{GoalKind, Model, Stop};
use hadal_search::{Deadlock, Options, Outcome, Silent, check, trace};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::graph::{Edge, Graph, N_RULES};
use crate::oracle::{Expected, Found, expect};

/// What an outcome tells, in the oracle's terms; traces are replayed on the way.
pub(crate) fn tell(graph: &Graph, options: &Options, outcome: &Outcome) -> Expected {
    let found = |violation: &hadal_search::Violation| Found {
        kind: violation.kind.name(),
        name: violation.name.clone(),
        depth: violation.depth,
        ordinal: violation.ordinal,
        path: violation.path.as_ref().map(|path| {
            let nodes: Vec<u32> = path
                .steps
                .iter()
                .map(|step| graph.decode(&step.state))
                .collect();
            let trace = trace(graph, path, options, &Stop::new()).expect("the path replays");
            check_trace(graph, &nodes, &trace);
            nodes
        }),
    };
    assert_eq!(outcome.depth as usize, outcome.layers.len() - 1);
    Expected {
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
fn check_trace(graph: &Graph, nodes: &[u32], trace: &hadal_search::Trace) {
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
        let steps = (0..).map_while(|index| graph.describe_step(before, index));
        let first = steps
            .into_iter()
            .find(|step| step.parameters[0].1 == node.to_string());
        assert_eq!(first.as_ref(), Some(&step.step));
        before = Some(state);
    }
}

pub(crate) fn random_graph(rng: &mut Pcg64Mcg) -> Graph {
    let n = match rng.random_range(0..10) {
        0 => rng.random_range(1..4),
        1..9 => rng.random_range(4..60),
        _ => rng.random_range(200..900),
    };
    let (faults, discards, hits) = (
        [0, 0, 2, 10][rng.random_range(0..4)],
        [0, 5][rng.random_range(0..2)],
        [0, 5, 50][rng.random_range(0..3)],
    );
    let most_edges = rng.random_range(1..6);
    // Long thin graphs as well as bushy ones.
    let reach = if rng.random_range(0..3) == 0 { 5 } else { n };
    let self_loops = rng.random_range(0..30);
    let mut nodes = Vec::new();
    for node in 0..n {
        let edges = (0..rng.random_range(0..=most_edges)).map(|_| {
            let rule = rng.random_range(0..N_RULES as u32);
            let to = match rng.random_range(0..100) < self_loops {
                true => node,
                false => (node + rng.random_range(0..reach)) % n,
            };
            match rng.random_range(0..100) {
                x if x < faults => Edge::Fault(rule),
                x if x < faults + discards => Edge::Discarded(rule),
                x if x < faults + discards + hits => Edge::Hit(to, rule),
                _ => Edge::To(to, rule),
            }
        });
        nodes.push(edges.collect());
    }
    let starts: Vec<u32> = (0..rng.random_range(1..5))
        .map(|_| rng.random_range(0..n))
        .collect();
    let coloured = rng.random_range(0..3) == 0;
    let state_len = [2, 3, 9, 17][rng.random_range(0..4)] + usize::from(coloured);
    let mut graph = Graph::new(state_len, &starts, nodes);
    graph.coloured = coloured;
    if rng.random_range(0..10) == 0 {
        let at = rng.random_range(0..=graph.starts.len());
        graph.starts.insert(at, Edge::Fault(0));
    }
    for _ in 0..rng.random_range(0..3) {
        let n_failing = [0, 0, 1, 3][rng.random_range(0..4)];
        let failing: Vec<(u32, bool)> = (0..n_failing)
            .map(|_| (rng.random_range(0..n), rng.random_range(0..5) == 0))
            .collect();
        graph.fail(&failing);
    }
    for _ in 0..rng.random_range(0..4) {
        let kind = match rng.random_range(0..4) {
            0 => GoalKind::CoverStep,
            1 => GoalKind::CoverState,
            _ => GoalKind::Liveness,
        };
        let reaching: Vec<u32> = match kind {
            GoalKind::CoverStep => Vec::new(),
            _ => (0..rng.random_range(0..4))
                .map(|_| rng.random_range(0..n))
                .collect(),
        };
        graph.reach(kind, &reaching);
    }
    graph
}

#[test]
fn random_graphs_agree_with_the_oracle() {
    let mut verdicts = std::collections::BTreeMap::<String, u32>::new();
    for seed in 0..600 {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let graph = random_graph(&mut rng);
        let meaning = Options {
            deadlock: [Deadlock::Stuttering, Deadlock::Stuck, Deadlock::Off]
                [rng.random_range(0..3)],
            bound: [None, None, Some(0), Some(3)][rng.random_range(0..4)],
            max_errors: [1, 1, 2, 100][rng.random_range(0..4)],
            ..Options::default()
        };
        let expected = expect(&graph, &meaning);
        // No state to start from, and no fault to report.
        if expected.states == 0 && expected.violations.is_empty() {
            continue;
        }
        for (threads, block_len, window_blocks, buffer_len) in [
            (1, 256, 64, None),
            (1, 1, 1, Some(1)),
            (2, 7, 5, Some(3)),
            (2, 256, 64, None),
            (8, 2, 9, Some(1)),
            (8, 64, 3, Some(40)),
        ] {
            let options = Options {
                threads,
                block_len,
                window_blocks,
                buffer_len,
                ..meaning.clone()
            };
            let outcome = check(&graph, &options, &Stop::new(), &mut Silent)
                .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            let told = tell(&graph, &options, &outcome);
            assert_eq!(told, expected, "seed {seed}, {options:?}");
            let reason = told.reason.unwrap_or("-");
            let kinds: Vec<&str> = told.violations.iter().map(|found| found.kind).collect();
            *verdicts
                .entry(format!("{} {reason} {kinds:.1?}", told.verdict))
                .or_default() += 1;
        }
    }
    // The random graphs must not all end the same way.
    for part in [
        "verified",
        "bound",
        "deadlock",
        "range",
        "invariant",
        "cover",
        "liveness",
    ] {
        assert!(
            verdicts.keys().any(|key| key.contains(part)),
            "no {part} in {verdicts:?}"
        );
    }
}
