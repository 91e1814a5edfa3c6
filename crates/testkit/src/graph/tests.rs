use std::ops::ControlFlow;

use hadal_model::{
    GoalKind, Model, PAD_BYTES, Remark, States, Stop, Stopped, Successors, for_each_batch,
};
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

use super::*;
use crate::oracle::{self, Deadlock, Options, Report, ViolationKind};

fn search(graph: &Graph) -> Report {
    oracle::search(graph, &Options::default())
}

/// The target, rule and cost of each successor of a node, and its faults.
fn successors(graph: &Graph, node: u32, capacity: usize) -> (Vec<(u32, u32, u32)>, Vec<FaultKind>) {
    let stop = Stop::new();
    let mut expander = graph.expander(&stop);
    let mut state = graph.encode(node, 0);
    state.extend([0; PAD_BYTES]);
    let block = States::new(&state, graph.shape.state_len, 1);
    let mut out = Successors::with_costs(&graph.shape, capacity);
    let mut all = Vec::new();
    let done = for_each_batch(&mut *expander, Some(block), &mut out, |_, out| {
        for position in 0..out.len() {
            let node = graph.decode(out.state(position));
            all.push((node, out.rule(position), out.cost(position)));
        }
        ControlFlow::<()>::Continue(())
    });
    assert!(done.is_ok());
    let faults = out.sources()[0].faults.iter().map(|fault| fault.kind);
    (all, faults.collect())
}

#[test]
fn a_cube_has_binomial_layers() {
    let report = search(&Graph::cube(6));
    assert_eq!(report.layers, [1, 6, 15, 20, 15, 6, 1]);
    assert_eq!(report.transitions, 6 * 32 + 1);
    assert_eq!(report.violation, None);
}

#[test]
fn edges_fire_in_order_up_to_the_first_fault() {
    let edges = vec![
        Edge::costly(1, 2, 7),
        Edge::discarded(0),
        Edge::hit(0, 1),
        Edge::dependence(1),
        Edge::to(1, 0),
    ];
    let graph = Graph::new(2, &[0], vec![edges, vec![Edge::fault(2)]]);
    for capacity in [1, 2, 10] {
        let (steps, faults) = successors(&graph, 0, capacity);
        assert_eq!(steps, [(1, 2, 7), (0, 1, 1)]);
        assert_eq!(faults, [FaultKind::OrderDependence]);
    }
    assert_eq!(successors(&graph, 1, 1), (vec![], vec![FaultKind::Range]));
    let parent = graph.encode(0, 0);
    let step = graph.describe_step(Some(&parent), 1).unwrap();
    assert_eq!((&step.rule[..], &step.parameters[0].1[..]), ("rule 1", "0"));
    assert_eq!(graph.describe_step(Some(&parent), 2), None);
}

#[test]
fn deadlocks_failures_and_goals_are_found() {
    let mut graph = Graph::new(1, &[0], vec![vec![Edge::to(1, 0)], vec![Edge::to(1, 0)]]);
    let kind = |graph: &Graph| search(graph).violation.map(|found| found.kind);
    assert_eq!(kind(&graph), Some(ViolationKind::Deadlock));
    graph.nodes[1].push(Edge::discarded(0));
    assert_eq!(kind(&graph), None);
    graph.reach(GoalKind::CoverState, &[1]);
    graph.reach_each(GoalKind::Liveness, &[&[0], &[1]]);
    graph.reach(GoalKind::CoverStep, &[]);
    let report = search(&graph);
    assert_eq!(report.goal_hits[0], 1);
    assert_eq!(report.goal_hits[3], 0);
    // The first instance cannot be reached from node 1, which is found second.
    assert_eq!(report.unreachable_goals, [(1, 1)]);
    graph.fail(&[(1, false)]);
    assert_eq!(kind(&graph), Some(ViolationKind::Property(3, None)));
}

#[test]
fn wide_states_are_told_apart_and_do_not_compress() {
    let mut graph = Graph::new(4096, &[0], vec![vec![Edge::to(1, 0)], vec![Edge::to(0, 0)]]);
    graph.filling = Filling::Random;
    assert_eq!(search(&graph).layers, [1, 1]);
    let (a, b) = (graph.encode(0, 0), graph.encode(1, 0));
    assert_eq!((graph.decode(&a), graph.decode(&b)), (0, 1));
    let n_equal = a.iter().zip(&b).filter(|(a, b)| a == b).count();
    assert!(n_equal < 100, "{n_equal}");
    let n_values = std::collections::BTreeSet::from_iter(&a).len();
    assert!(n_values > 250, "{n_values}");
}

#[test]
fn reductions_keep_representatives() {
    // 1 and 2 are alike, and so are their goals.
    let nodes = vec![
        vec![Edge::to(1, 0), Edge::to(2, 0)],
        vec![Edge::to(0, 0)],
        vec![Edge::to(0, 0)],
    ];
    let mut graph = Graph::new(2, &[0], nodes);
    assert_eq!(search(&graph).layers, [1, 2]);
    graph.reach_each(GoalKind::Liveness, &[&[1], &[2]]);
    let class = |node, goals: [u32; 2]| Class {
        node,
        goals: goals.to_vec(),
    };
    let classes = vec![class(0, [0, 1]), class(1, [0, 1]), class(1, [1, 0])];
    graph.reduction = Reduction::Classes(classes);
    assert_eq!(search(&graph).layers, [1, 1]);
    let stop = Stop::new();
    let mut states = [graph.encode(2, 0), graph.encode(1, 0)].concat();
    let mut images = Vec::new();
    graph
        .expander(&stop)
        .canonicalise_with_goals(&mut states, &mut images);
    assert_eq!(states, [graph.encode(1, 0), graph.encode(1, 0)].concat());
    assert_eq!(images, [1, 0, 0, 1]);
    let coloured = Graph::cube(4).coloured();
    assert_eq!(search(&coloured).layers, [1, 4, 6, 4, 1]);
    assert_ne!(coloured.encode(3, 1), coloured.encode(3, 2));
}

#[test]
fn traps_and_interrupts() {
    let mut graph = Graph::cube(3);
    graph.traps.insert(1, Trap::BreaksSymmetry);
    graph.traps.insert(2, Trap::Endless);
    graph.traps.insert(3, Trap::Panic);
    let expand = |node: u32, stop: &Stop| {
        let mut expander = graph.expander(stop);
        let mut state = graph.encode(node, 0);
        state.extend([0; PAD_BYTES]);
        let block = States::new(&state, 4, 1);
        let mut out = Successors::new(&graph.shape, 8);
        let done = for_each_batch(&mut *expander, Some(block), &mut out, |_, _| {
            ControlFlow::<()>::Continue(())
        });
        (done.map(|_| ()), expander.take_remarks())
    };
    let (done, remarks) = expand(1, &Stop::new());
    assert_eq!(done, Ok(()));
    assert!(matches!(remarks[..], [Remark::BrokenSymmetry { .. }]));
    let stop = Stop::new();
    std::thread::scope(|scope| {
        let endless = scope.spawn(|| expand(2, &stop).0);
        stop.raise();
        assert_eq!(endless.join().unwrap(), Err(Stopped));
    });
    let panicked = std::panic::catch_unwind(|| expand(3, &Stop::new()));
    assert!(panicked.is_err());

    let mut graph = Graph::cube(3);
    for interrupt in [Interrupt::Found(5), Interrupt::Checked(1)] {
        graph.interrupt = Some(interrupt);
        for (nodes, is_raised) in [([4, 6], false), ([4, 5], true)] {
            let stop = Stop::new();
            let mut expander = graph.expander(&stop);
            let mut states = nodes.map(|node| graph.encode(node, 0)).concat();
            expander.canonicalise(&mut states);
            states.extend([0; PAD_BYTES]);
            let n_checked = 1 + usize::from(is_raised);
            expander.check(States::new(&states, 4, n_checked), &mut Vec::new());
            assert_eq!(stop.is_raised(), is_raised, "{interrupt:?}");
        }
    }
}

#[test]
fn least_costs_prefer_cheap_detours() {
    let nodes = vec![
        vec![Edge::costly(2, 0, 10), Edge::to(1, 0)],
        vec![Edge::costly(2, 0, 3), Edge::fault(0), Edge::to(3, 0)],
        vec![Edge::to(0, 0)],
        vec![],
    ];
    let graph = Graph::new(1, &[0], nodes);
    assert_eq!(graph.least_costs(), [Some(0), Some(1), Some(4), None]);
}

#[test]
fn random_graphs_differ_and_are_repeatable() {
    let options = Options {
        deadlock: Deadlock::Off,
        ..Options::default()
    };
    let make = |seed| {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let mut graph = random_graph(&mut rng);
        graph.set_random_costs(5, &mut rng);
        [graph, deep_graph(&mut rng)]
    };
    let (mut n_violated, mut n_deep) = (0, 0);
    for seed in 0..100 {
        let [bushy, deep] = make(seed);
        assert_eq!(format!("{bushy:?} {deep:?}"), {
            let [bushy, deep] = make(seed);
            format!("{bushy:?} {deep:?}")
        });
        let report = oracle::search(&bushy, &options);
        n_violated += u32::from(report.violation.is_some());
        let reached = bushy.least_costs().iter().flatten().count();
        assert!(report.violation.is_some() || report.states.len() == reached);
        n_deep += u32::from(oracle::search(&deep, &options).depth() > 20);
    }
    assert!((10..90).contains(&n_violated), "{n_violated}");
    assert!(n_deep > 30, "{n_deep}");
}
