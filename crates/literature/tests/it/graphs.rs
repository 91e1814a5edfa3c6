//! The graph that `snapshots` passes on: every visit with all of its edges, each to a visit of its
//! target; in memory and on disk, whatever is remembered.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use hadal_literature::{Configurable, SnapshotSetup, Snapshots};
use hadal_model::Stop;
use hadal_search::{
    Deadlock, EdgesWanted, GraphEdge, GraphFacts, GraphPart, Options, Outcome, Reason,
    SearchFolder, Silent, Sink, StoreKind, check,
};
use hadal_store::disk::{Folder, FolderOptions, NativeDisk};
use hadal_testkit::graph::{Edge, Effect, Filling, Graph, deep_graph, random_graph};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Receives a graph.
#[derive(Debug, Default)]
struct Received {
    facts: Option<GraphFacts>,
    nodes: Vec<u32>,
    edges: Vec<GraphEdge>,
    n_parts: usize,
    is_whole: bool,
}

impl Sink for Received {
    fn wants_edges(&self) -> EdgesWanted {
        EdgesWanted::Graph
    }

    fn wants_graph_states(&self) -> bool {
        true
    }

    fn begin_graph(&mut self, facts: &GraphFacts) -> io::Result<()> {
        assert_eq!(self.facts.replace(*facts), None);
        Ok(())
    }

    fn graph(&mut self, part: &GraphPart<'_>) -> io::Result<()> {
        assert_eq!(part.sources.start, self.nodes.len() as u64, "in order");
        let states = part.states.expect("they are wanted");
        assert_eq!(states.len() as u64, part.sources.end - part.sources.start);
        let node = |state: &[u8]| u32::from(state[0]) | u32::from(state[1]) << 8;
        self.nodes.extend(states.iter().map(node));
        let is_here = |edge: &GraphEdge| part.sources.contains(&edge.source);
        assert!(part.edges.iter().all(is_here));
        self.edges.extend_from_slice(part.edges);
        self.n_parts += 1;
        Ok(())
    }

    fn end_graph(&mut self) -> io::Result<()> {
        self.is_whole = true;
        Ok(())
    }
}

impl Received {
    /// Each number is a visit of a node, and its edges are those of the node.
    fn assert_complete(&self, graph: &Graph, outcome: &Outcome, context: &str) {
        assert!(self.is_whole, "{context}");
        let facts = self.facts.expect("it has begun");
        assert_eq!(facts.n_states, self.nodes.len() as u64, "{context}");
        assert_eq!(facts.n_edges, self.edges.len() as u64, "{context}");
        assert_eq!(outcome.visited, facts.n_states, "{context}");
        let mut starts: Vec<u32> = Vec::new();
        for node in graph.starts.iter().filter_map(|edge| edge.target()) {
            if !starts.contains(&node) {
                starts.push(node);
            }
        }
        assert_eq!(self.nodes[..facts.n_starts as usize], starts, "{context}");
        let mut found = self.edges.iter();
        for (source, &node) in (0..).zip(&self.nodes) {
            for edge in &graph.nodes[node as usize] {
                let found = found.next().expect("an edge for each of the node's");
                assert_eq!((found.source, found.rule), (source, edge.rule), "{context}");
                assert_eq!(found.multiplicity, 1);
                let target = self.nodes.get(found.target as usize).copied();
                assert_eq!(target, edge.target(), "{context}");
            }
        }
        assert_eq!(found.next(), None, "{context}");
        let visited: BTreeSet<u32> = self.nodes.iter().copied().collect();
        assert_eq!(outcome.states, visited.len() as u64, "{context}");
        for node in &visited {
            let targets = graph.nodes[*node as usize].iter();
            assert!(
                targets
                    .filter_map(|edge| edge.target())
                    .all(|it| visited.contains(&it))
            );
        }
    }
}

/// Only steps, and nothing to be checked.
fn steps_of(graph: Graph) -> Option<Graph> {
    let plain = Graph::new(graph.shape.state_len, &[], Vec::new());
    let is_step = |edge: &Edge| matches!(edge.effect, Effect::To { .. });
    let (mut starts, mut nodes) = (graph.starts, graph.nodes);
    starts.retain(is_step);
    nodes.iter_mut().for_each(|edges| edges.retain(is_step));
    (!starts.is_empty()).then_some(Graph {
        starts,
        nodes,
        ..plain
    })
}

fn scratch(path: &std::path::Path) -> SearchFolder {
    let disk = NativeDisk::open(path).expect("a folder");
    let (folder, _) = Folder::open(Arc::new(disk), FolderOptions::default()).expect("it is empty");
    SearchFolder {
        folder,
        resumable: false,
        label: Vec::new(),
    }
}

fn setups() -> Vec<Snapshots> {
    let of = |setup, backtracking, bounded| Snapshots {
        setup: SnapshotSetup::parse(setup).expect("it is right"),
        backtracking,
        bounded,
        ..Snapshots::default()
    };
    vec![
        Snapshots::default(),
        of("pebble", true, false),
        of("(c9,lru,1)", true, false),
        of("(c9,lru,1)", false, false),
        of("(c3,mfu,1)(o3+2,rnd,2)(c1,mru,1)", true, false),
        of("(c2,llnr,2)", true, true),
    ]
}

#[test]
fn every_visit_has_all_edges_of_its_state() {
    let (mut n_redundant, mut n_exact, mut n_endless) = (0, 0, 0);
    let mut random = Pcg64Mcg::seed_from_u64(181);
    for seed in 0..240 {
        let graph = match seed % 3 {
            0 => deep_graph(&mut random),
            _ => random_graph(&mut random),
        };
        let Some(mut graph) = steps_of(graph) else {
            continue;
        };
        graph.filling = Filling::Random;
        for (number, snapshots) in setups().into_iter().enumerate() {
            let folder = tempfile::tempdir().expect("there is a folder for scratch files");
            let on_disk = random.random_range(0..4) == 0;
            let options = Options {
                deadlock: Deadlock::Off,
                store: [StoreKind::Exact, StoreKind::Hash128][random.random_range(0..2)],
                buffer_len: Some(random.random_range(1..8)),
                block_len: random.random_range(1..6),
                ..Options::default()
            };
            let mut sink = Received::default();
            let strategy = snapshots.with_sink(&mut sink).expect("it makes graphs");
            let search_folder = on_disk.then(|| scratch(folder.path()));
            let outcome = check(
                &graph,
                &*strategy,
                &options,
                search_folder,
                &Stop::new(),
                &mut Silent,
            );
            let outcome = outcome.expect("nothing fails");
            drop(strategy);
            let context = format!("seed {seed}, set-up {number}, on disk: {on_disk}");
            if outcome.reason.is_some() {
                assert_eq!(outcome.reason, Some(Reason::Revisits), "{context}");
                assert!(snapshots.bounded, "{context}");
                assert_eq!(sink.facts, None, "a graph that never ends is none");
                n_endless += 1;
                continue;
            }
            sink.assert_complete(&graph, &outcome, &context);
            match outcome.visited > outcome.states {
                true => n_redundant += 1,
                false => n_exact += 1,
            }
        }
    }
    assert!(
        n_redundant > 100 && n_exact > 100 && n_endless > 5,
        "{n_redundant} {n_exact} {n_endless}"
    );
}

/// Parts end between states, and a state may have more edges than a part.
#[test]
fn a_large_graph_comes_in_parts() {
    let n_nodes = 9_000;
    let steps = |node: u32| match node {
        7 => (0..40_000).map(|n| Edge::to(n % n_nodes, n % 3)).collect(),
        _ => vec![
            Edge::to((node + 1) % n_nodes, 0),
            Edge::to(node / 2, 1),
            Edge::to((7 * node + 5) % n_nodes, 2),
        ],
    };
    let graph = Graph::new(300, &[2], (0..n_nodes).map(steps).collect());
    for on_disk in [false, true] {
        let folder = tempfile::tempdir().expect("there is a folder for scratch files");
        let options = Options {
            deadlock: Deadlock::Off,
            ..Options::default()
        };
        let mut sink = Received::default();
        let snapshots = Snapshots {
            setup: SnapshotSetup::parse("(c9,lru,1)").expect("it is right"),
            backtracking: false,
            ..Snapshots::default()
        };
        let strategy = snapshots.with_sink(&mut sink).expect("it makes graphs");
        let search_folder = on_disk.then(|| scratch(folder.path()));
        let (stop, observer) = (Stop::new(), &mut Silent);
        let outcome = check(&graph, &*strategy, &options, search_folder, &stop, observer);
        let outcome = outcome.expect("nothing fails");
        drop(strategy);
        assert_eq!(outcome.reason, None);
        assert!(outcome.visited > outcome.states, "{}", outcome.visited);
        assert!(sink.n_parts > 4, "{}", sink.n_parts);
        sink.assert_complete(&graph, &outcome, "large");
    }
}
