//! Traces alone: a path of indices becomes a run of the model, with and without a reduction.

use hadal_model::{Model, Step, Stop};
use hadal_testkit::graph::{Class, Edge, Effect, Graph, Reduction};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::*;

/// A successor of a node, as the graph lists it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Successor {
    node: u32,
    cost: u32,
}

fn successor(edge: &Edge) -> Successor {
    match edge.effect {
        Effect::To { node, cost, .. } => Successor { node, cost },
        Effect::Discarded | Effect::Fault(_) => panic!("these graphs have none"),
    }
}

/// The successors of a node, or the startstates, by index.
fn successors(graph: &Graph, node: Option<u32>) -> Vec<Successor> {
    let edges = node.map_or(&graph.starts, |node| &graph.nodes[node as usize]);
    edges.iter().map(successor).collect()
}

/// The node that represents `node`.
fn representative(graph: &Graph, node: u32) -> u32 {
    match &graph.reduction {
        Reduction::None => node,
        Reduction::Classes(classes) => classes[node as usize].node,
        Reduction::Colours => panic!("these graphs have none"),
    }
}

/// Follows `indices` through the lists of the graph: at each step, the node that is shown, the one
/// that is stored, and the index of the step that is shown.
fn expected(graph: &Graph, indices: &[u32]) -> Vec<(u32, u32, u32)> {
    let (mut shown, mut stored) = (None, None);
    let mut run = Vec::new();
    for &index in indices {
        let to = successors(graph, stored)[index as usize].node;
        let to = representative(graph, to);
        let is_same = |it: &Successor| representative(graph, it.node) == to;
        let nexts = successors(graph, shown);
        // Where the model is in the stored state, the recorded step leads on. Elsewhere it is some
        // other step: the first one of those that cost least.
        let next = match shown == stored {
            true => index,
            false => (0..)
                .zip(&nexts)
                .filter(|(_, next)| is_same(next))
                .min_by_key(|(index, next)| (next.cost, *index))
                .map(|(index, _)| index)
                .expect("a symmetric state has such a step"),
        };
        let node = nexts[next as usize].node;
        run.push((node, to, next));
        (shown, stored) = (Some(node), Some(to));
    }
    run
}

fn assert_follows(graph: &Graph, indices: &[u32], trace: &Trace) {
    let run = expected(graph, indices);
    assert_eq!(trace.steps.len(), run.len());
    let mut before: Option<Vec<u8>> = None;
    for ((step, &(shown, stored, index)), recorded) in trace.steps.iter().zip(&run).zip(indices) {
        let state = graph.encode(shown, 0);
        let expected = TraceStep {
            step: (graph.describe_step(before.as_deref(), index)).expect("there is such a step"),
            state: Some(state.clone()),
            stored: Some(graph.encode(stored, 0)),
            index: *recorded,
        };
        assert_eq!(step, &expected, "{indices:?}");
        before = Some(state);
    }
    assert_eq!(trace.lasso, None);
}

/// A random path, as indices of stored states.
fn random_path(graph: &Graph, rng: &mut Pcg64Mcg) -> Vec<u32> {
    let (mut path, mut stored) = (Vec::new(), None);
    for _ in 0..rng.random_range(1..12) {
        let nexts = successors(graph, stored);
        if nexts.is_empty() {
            break;
        }
        let index = rng.random_range(0..nexts.len());
        path.push(index as u32);
        stored = Some(representative(graph, nexts[index].node));
    }
    path
}

/// A random graph of `n` nodes and their mirror images, `n` numbers above them. The steps of an
/// image are images of the steps of a node, in another order. Many steps are parallel.
fn mirrored(n: u32, rng: &mut Pcg64Mcg) -> Graph {
    let mut nodes = vec![Vec::new(); 2 * n as usize];
    for node in 0..n {
        let edges: Vec<Edge> = (0..rng.random_range(1..8))
            .map(|_| {
                let (to, rule) = (rng.random_range(0..2 * n), rng.random_range(0..3));
                Edge::costly(to, rule, rng.random_range(0..4))
            })
            .collect();
        let image = |edge: &Edge| {
            let Successor { node, cost } = successor(edge);
            Edge::costly((node + n) % (2 * n), edge.rule, cost)
        };
        let mut images: Vec<Edge> = edges.iter().map(image).collect();
        images.shuffle(rng);
        nodes[node as usize] = edges;
        nodes[(node + n) as usize] = images;
    }
    let starts = [rng.random_range(0..2 * n), rng.random_range(0..2 * n)];
    Graph::new(3, &starts, nodes)
}

/// Makes each node represent its mirror image.
fn reduce(graph: &mut Graph) {
    let n = graph.nodes.len() as u32 / 2;
    let class = |node| Class {
        node: node % n,
        goals: Vec::new(),
    };
    graph.reduction = Reduction::Classes((0..2 * n).map(class).collect());
}

#[test]
fn paths_become_runs_that_replay_with_and_without_a_reduction() {
    let (mut n_other_states, mut n_other_steps) = (0, 0);
    for seed in 0..300 {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let mut graph = mirrored(rng.random_range(1..9), &mut rng);
        if seed % 3 > 0 {
            reduce(&mut graph);
        }
        let path = random_path(&graph, &mut rng);
        let trace = follow(&graph, &path, &Stop::new()).expect("the path is one of the graph");
        assert_follows(&graph, &path, &trace);
        let again = replay(&graph, &trace, &Options::default(), &Stop::new());
        assert_eq!(again.expect("it replays"), trace, "seed {seed}");
        let run = expected(&graph, &path);
        n_other_states += run
            .iter()
            .filter(|(shown, stored, _)| shown != stored)
            .count();
        let steps = run.iter().zip(&path);
        n_other_steps += steps.filter(|((.., step), index)| step != *index).count();
    }
    assert!(n_other_states > 300 && n_other_steps > 300);
}

/// Three parallel steps and one elsewhere.
fn parallel() -> Graph {
    let edges = vec![
        Edge::costly(1, 0, 5),
        Edge::costly(1, 1, 2),
        Edge::costly(1, 2, 2),
        Edge::costly(2, 0, 0),
    ];
    Graph::new(2, &[0], vec![edges, vec![], vec![]])
}

fn rules(trace: &Trace) -> Vec<&str> {
    (trace.steps.iter().map(|step| &*step.step.rule)).collect()
}

#[test]
fn of_parallel_steps_the_recorded_one_is_shown_or_else_the_cheapest() {
    let graph = parallel();
    for (index, rule) in [(0, "rule 0"), (1, "rule 1"), (2, "rule 2")] {
        let mut trace =
            follow(&graph, &[0, index], &Stop::new()).expect("the path is one of the graph");
        assert_eq!(rules(&trace), ["start", rule]);
        // Another generator may number its steps in another way: the state counts.
        trace.steps[1].index = 3;
        let again = replay(&graph, &trace, &Options::default(), &Stop::new());
        let again = again.expect("the state is a successor");
        assert_eq!(
            rules(&again),
            ["start", "rule 1"],
            "the first of least cost"
        );
        assert_eq!(again.steps[1].state, trace.steps[1].state);
    }
}

#[test]
fn under_a_reduction_the_cheapest_step_is_shown() {
    // Node 2 is the image of 0, node 3 that of 1; the steps of an image come in another order.
    let nodes = vec![
        vec![Edge::costly(1, 0, 5), Edge::costly(1, 1, 2)],
        vec![],
        vec![Edge::costly(3, 0, 5), Edge::costly(3, 1, 2)],
        vec![],
    ];
    let mut graph = Graph::new(2, &[2], nodes);
    reduce(&mut graph);
    for index in [0, 1] {
        let trace =
            follow(&graph, &[0, index], &Stop::new()).expect("the path is one of the graph");
        assert_eq!(rules(&trace), ["start", "rule 1"]);
        let states = trace.steps.iter().map(|step| step.state.clone());
        assert!(states.eq([2, 3].map(|node| Some(graph.encode(node, 0)))));
        let stored = trace.steps.iter().map(|step| step.stored.clone());
        assert!(stored.eq([0, 1].map(|node| Some(graph.encode(node, 0)))));
    }
}

#[test]
fn a_state_may_have_more_successors_than_a_buffer() {
    let edge = |at: u32| Edge::costly(1 + at % 2, at % 3, 5000 - at);
    let nodes = vec![(0..3001).map(edge).collect(), vec![], vec![]];
    let graph = Graph::new(2, &[0], nodes);
    let mut trace = follow(&graph, &[0, 2500], &Stop::new()).expect("the path is one of the graph");
    assert_follows(&graph, &[0, 2500], &trace);
    // The cheapest step to this node comes last.
    trace.steps[1].index = 1;
    let again = replay(&graph, &trace, &Options::default(), &Stop::new());
    let again = again.expect("the state is a successor");
    let last = graph.describe_step(Some(&graph.encode(0, 0)), 3000);
    assert_eq!(Some(&again.steps[1].step), last.as_ref());
}

/// The position at which a path or a run is refused.
fn refused_at(result: Result<Trace, TraceError>) -> Option<usize> {
    match result {
        Err(TraceError::DoesNotReplay { step }) => Some(step),
        _ => None,
    }
}

#[test]
fn what_does_not_replay_is_an_error_that_names_the_step() {
    let graph = parallel();
    assert_eq!(
        follow(&graph, &[], &Stop::new()).expect("there is no step"),
        Trace::default()
    );
    assert_eq!(refused_at(follow(&graph, &[1], &Stop::new())), Some(0));
    assert_eq!(refused_at(follow(&graph, &[0, 4], &Stop::new())), Some(1));
    assert_eq!(
        refused_at(follow(&graph, &[0, 3, 0], &Stop::new())),
        Some(2)
    );

    let trace = follow(&graph, &[0, 3], &Stop::new()).expect("the path is one of the graph");
    let options = Options::default();
    for (at, node) in [(0, 1), (1, 0)] {
        let mut wrong = trace.clone();
        wrong.steps[at].stored = Some(graph.encode(node, 0));
        let replayed = replay(&graph, &wrong, &options, &Stop::new());
        assert_eq!(refused_at(replayed), Some(at));
    }
    // A model that does something else than the one with which the path was found.
    let mut other = parallel();
    other.nodes[0].truncate(3);
    let replayed = replay(&other, &trace, &options, &Stop::new());
    assert_eq!(refused_at(replayed), Some(1));

    let raised = Stop::new();
    raised.raise();
    let replayed = replay(&graph, &trace, &options, &raised);
    assert!(matches!(replayed, Err(TraceError::Stopped)), "{replayed:?}");
}

#[test]
fn a_replay_keeps_the_loop_and_a_startstate_that_faults() {
    let graph = Graph::new(2, &[0], vec![vec![Edge::to(0, 0)]]);
    let mut trace = follow(&graph, &[0, 0], &Stop::new()).expect("the path is one of the graph");
    trace.lasso = Some(1);
    let faulty = Trace::of_faulty_start(Step {
        rule: "start".to_owned(),
        ..Step::default()
    });
    for trace in [trace, faulty] {
        let again = replay(&graph, &trace, &Options::default(), &Stop::new());
        assert_eq!(again.expect("it replays"), trace);
    }
}
