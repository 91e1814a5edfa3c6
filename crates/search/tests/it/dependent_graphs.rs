//! Random graphs with rules and properties whose result depends on the order of iterations.

use hadal_model::{GoalKind, Model};
use hadal_search::{Deadlock, Options};
use hadal_testkit::graph::{Edge, Graph, N_RULES, random_graph};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::oracle::{DEPENDENCE, expect};
use crate::summary::Summary;

/// Makes some rules and properties of a graph depend on the order.
pub(crate) fn add_dependences(graph: &mut Graph, rng: &mut Pcg64Mcg) {
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
            edges.insert(rng.random_range(0..=edges.len()), Edge::dependence(rule));
        }
    }
    graph.dependent.sort();
    graph.dependent.dedup();
    if rng.random_range(0..20) == 0 {
        let at = rng.random_range(0..=graph.starts.len());
        graph.starts.insert(at, Edge::dependence(0));
    }
}

/// A random graph with dependences, and options; without liveness, which needs all states in
/// memory.
pub(crate) fn dependent_graph(seed: u64) -> Option<(Graph, Options)> {
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

/// Numbers of searches that were rejected, and of those that found violations before that.
#[derive(Default)]
pub(crate) struct Ends {
    rejected: u32,
    violated: u32,
}

impl Ends {
    pub(crate) fn add(&mut self, summary: &Summary) {
        let is_dependent = summary
            .violations
            .last()
            .is_some_and(|v| v.kind == DEPENDENCE);
        self.rejected += u32::from(summary.verdict == "rejected");
        self.violated += u32::from(summary.verdict == "violated" && is_dependent);
    }

    #[track_caller]
    pub(crate) fn assert_many(&self, least: u32) {
        let Ends { rejected, violated } = self;
        assert!(
            *rejected >= least && *violated >= least,
            "{rejected} rejected, {violated} violated before"
        );
    }
}
