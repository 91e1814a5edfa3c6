//! Random graphs: of all kinds, and deep ones.

use hadal_model::GoalKind;
use rand::seq::SliceRandom;
use rand::{Rng, RngExt};

use super::{Edge, Effect, Graph, N_RULES};

/// A random graph with properties, goals, faults and discarded steps, coloured or not.
pub fn random_graph(rng: &mut impl Rng) -> Graph {
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
                x if x < faults => Edge::fault(rule),
                x if x < faults + discards => Edge::discarded(rule),
                x if x < faults + discards + hits => Edge::hit(to, rule),
                _ => Edge::to(to, rule),
            }
        });
        nodes.push(edges.collect());
    }
    let starts: Vec<u32> = (0..rng.random_range(1..5))
        .map(|_| rng.random_range(0..n))
        .collect();
    let coloured = rng.random_range(0..3) == 0;
    let mut graph = Graph::new([2, 3, 9, 17][rng.random_range(0..4)], &starts, nodes);
    if coloured {
        graph = graph.coloured();
    }
    if rng.random_range(0..10) == 0 {
        let at = rng.random_range(0..=graph.starts.len());
        graph.starts.insert(at, Edge::fault(0));
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

/// A random graph of many thin layers, whose steps rarely lead back. The numbers of nodes are not
/// in the order of layers.
pub fn deep_graph(rng: &mut impl Rng) -> Graph {
    let (n_layers, width) = (rng.random_range(30..150), rng.random_range(1..8));
    let n = n_layers * width;
    let first_far = rng.random_range(0..n);
    let far_percent = [0, 0, 1, 3][rng.random_range(0..4)];
    let back_percent = [0, 10, 30][rng.random_range(0..3)];
    let faults = [0, 0, 0, 1][rng.random_range(0..4)];
    let mut names: Vec<u32> = (0..n).collect();
    names.shuffle(rng);
    let mut nodes = vec![Vec::new(); n as usize];
    for node in 0..n {
        let layer = node / width;
        let mut edges = Vec::new();
        for _ in 0..rng.random_range(1..4) {
            let to_layer = match rng.random_range(0..100) {
                x if x < far_percent && node >= first_far => rng.random_range(0..=layer),
                x if x < far_percent + back_percent => layer.saturating_sub(1),
                _ => layer + 1,
            };
            let to = names[((to_layer * width + rng.random_range(0..width)) % n) as usize];
            let rule = rng.random_range(0..N_RULES as u32);
            edges.push(match rng.random_range(0..100) {
                x if x < faults => Edge::fault(rule),
                x if x < 10 => Edge::hit(to, rule),
                _ => Edge::to(to, rule),
            });
        }
        nodes[names[node as usize] as usize] = edges;
    }
    let mut graph = Graph::new([3, 9, 17][rng.random_range(0..3)], &[names[0]], nodes);
    if rng.random_range(0..4) == 0 {
        graph = graph.coloured();
    }
    for _ in 0..rng.random_range(0..3) {
        let n_failing = rng.random_range(0..3);
        let failing = |_| (rng.random_range(0..n), rng.random_range(0..5) == 0);
        graph.fail(&(0..n_failing).map(failing).collect::<Vec<_>>());
    }
    graph.reach(GoalKind::CoverStep, &[]);
    graph.reach(
        GoalKind::CoverState,
        &[names[rng.random_range(0..n as usize)]],
    );
    graph
}

impl Graph {
    /// Gives every step a random cost from 0 to `most`.
    pub fn set_random_costs(&mut self, most: u32, rng: &mut impl Rng) {
        for edge in self.nodes.iter_mut().flatten() {
            if let Effect::To { cost, .. } = &mut edge.effect {
                *cost = rng.random_range(0..=most);
            }
        }
    }
}
