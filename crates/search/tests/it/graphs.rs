//! The whole graph, passed on after the search: every edge with the ordinals of both ends, whatever the
//! threads and the memory, the store, crashes and full disks.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use hadal_model::Stop;
use hadal_search::{
    Deadlock, EdgesWanted, Error, GraphEdge, GraphFacts, GraphPart, Options, Ranked, Reason,
    SearchFolder, Silent, Sink, StoreKind, check,
};
use hadal_testkit::disk::CrashDisk;
use hadal_testkit::graph::{Edge, Filling, Graph};

use crate::external::{folder, scratch};
use crate::ranks::stepping_graphs;
use crate::resume::{always, resume_or_start_by};
use crate::sinks::breadth_first;

/// Receives a graph.
#[derive(Debug, Default)]
struct Received {
    with_states: bool,
    facts: Option<GraphFacts>,
    next: u64,
    nodes: Vec<u32>,
    edges: Vec<GraphEdge>,
    is_whole: bool,
}

impl Sink for Received {
    fn wants_edges(&self) -> EdgesWanted {
        EdgesWanted::Graph
    }

    fn wants_graph_states(&self) -> bool {
        self.with_states
    }

    fn begin_graph(&mut self, facts: &GraphFacts) -> io::Result<()> {
        *self = Received {
            with_states: self.with_states,
            facts: Some(*facts),
            ..Received::default()
        };
        Ok(())
    }

    fn graph(&mut self, part: &GraphPart<'_>) -> io::Result<()> {
        let Range { start, end } = part.sources;
        assert_eq!(start, self.next, "states come in order");
        assert!(end > start);
        assert!(
            part.edges
                .iter()
                .all(|edge| part.sources.contains(&edge.source))
        );
        self.next = end;
        self.edges.extend_from_slice(part.edges);
        assert_eq!(part.states.is_some(), self.with_states);
        if let Some(states) = part.states {
            assert_eq!(states.len() as u64, end - start);
            let node = |state: &[u8]| u32::from(state[0]) | u32::from(state[1]) << 8;
            self.nodes.extend(states.iter().map(node));
        }
        Ok(())
    }

    fn end_graph(&mut self) -> io::Result<()> {
        self.is_whole = true;
        Ok(())
    }

    fn resume(&mut self, mark: &[u8]) -> io::Result<()> {
        assert!(mark.is_empty());
        Ok(())
    }
}

impl Received {
    fn new(with_states: bool) -> Self {
        Received {
            with_states,
            ..Received::default()
        }
    }

    fn assert_complete(&self, graph: &Graph, context: &str) {
        assert!(self.is_whole, "{context}");
        let nodes = breadth_first(graph);
        let ordinals: BTreeMap<u32, u64> = nodes.iter().copied().zip(0..).collect();
        let expected: Vec<GraphEdge> = (0..)
            .zip(&nodes)
            .flat_map(|(source, &node)| {
                let edges = graph.nodes[node as usize].iter();
                let ordinals = &ordinals;
                edges.map(move |edge| GraphEdge {
                    source,
                    target: ordinals[&edge.target().expect("every edge leads somewhere")],
                    multiplicity: 1,
                    rule: edge.rule,
                })
            })
            .collect();
        assert!(self.edges == expected, "{context}");
        if self.with_states {
            assert_eq!(self.nodes, nodes, "{context}");
        }
        let mut starts: Vec<u32> = graph
            .starts
            .iter()
            .filter_map(|edge| edge.target())
            .collect();
        starts.sort_unstable();
        starts.dedup();
        let facts = GraphFacts {
            n_states: nodes.len() as u64,
            n_starts: starts.len() as u64,
            n_edges: expected.len() as u64,
        };
        assert_eq!(self.facts, Some(facts), "{context}");
        assert_eq!(self.next, facts.n_states, "{context}");
    }
}

fn options(threads: usize, memory_bytes: u64, store: StoreKind) -> Options {
    Options {
        threads,
        memory_bytes,
        store,
        deadlock: Deadlock::Off,
        ..Options::default()
    }
}

/// Passes on the graph of a search with or without a folder; returns the bytes written to disk.
fn run(
    graph: &Graph,
    options: &Options,
    search_folder: Option<SearchFolder>,
    with_states: bool,
    context: &str,
) -> u64 {
    let mut sink = Received::new(with_states);
    let strategy = Ranked::by_depth().with_sink(&mut sink);
    let stop = Stop::new();
    let outcome = check(graph, &strategy, options, search_folder, &stop, &mut Silent);
    let outcome = outcome.unwrap_or_else(|error| panic!("{context}: {error}"));
    drop(strategy);
    assert_eq!(outcome.reason, None, "{context}");
    sink.assert_complete(graph, context);
    outcome.disk.written_bytes
}

#[test]
fn random_graphs_are_passed_on_whole_whatever_the_memory() {
    for (seed, graph) in stepping_graphs(8000..8060) {
        for (threads, memory_bytes, on_disk) in [
            (1, u64::MAX, false),
            (3, 100 << 20, false),
            (1, 0, true),
            (2, 3_000, true),
            (4, 60_000, true),
            (2, 100 << 20, true),
        ] {
            for store in [StoreKind::Exact, StoreKind::Hash128] {
                let options = Options {
                    buffer_len: Some(6),
                    block_len: 3,
                    ..options(threads, memory_bytes, store)
                };
                let context = format!("seed {seed}, {threads} threads, {memory_bytes} bytes");
                run(
                    &graph,
                    &options,
                    on_disk.then(scratch),
                    seed % 2 == 0,
                    &context,
                );
            }
        }
    }
}

/// A graph of some size, with states of this length that have nothing in common.
fn large_graph(state_len: usize, n_nodes: u32) -> Graph {
    let steps = |node: u32| {
        let targets = [node + 1, node / 3, 7 * node + 5, 0, n_nodes / 2 + node % 5];
        let n_steps = 1 + node as usize * 7 % 6;
        let edge = |(rule, target): (u32, &u32)| Edge::to(target % n_nodes, rule % 3);
        (0..).zip(&targets).take(n_steps).map(edge).collect()
    };
    let nodes = (0..n_nodes).map(steps).collect();
    let mut graph = Graph::new(state_len, &[3, 1], nodes);
    graph.filling = Filling::Random;
    graph
}

/// Pairs, runs and ordinals all go to disk; keys of wide states change their layout on the way.
#[test]
fn larger_graphs_are_joined_on_disk() {
    for (state_len, n_nodes) in [(8, 40_000), (16, 20_000), (40, 12_000), (700, 1_500)] {
        let graph = large_graph(state_len, n_nodes);
        let mut written = Vec::new();
        for (threads, memory_bytes) in [(2, 1 << 30), (1, 600 << 10), (3, 2 << 20), (4, 5 << 20)] {
            for store in [StoreKind::Exact, StoreKind::Hash96] {
                let context = format!("{state_len} bytes, {threads} threads, {memory_bytes}");
                let options = options(threads, memory_bytes, store);
                let bytes = run(&graph, &options, Some(scratch()), state_len == 40, &context);
                written.push(bytes);
            }
        }
        let n_edges: usize = graph.nodes.iter().map(Vec::len).sum();
        // The runs of states are small files that are always written.
        assert!(written[0] < 3 * written[2], "{written:?}");
        assert!(written[2] > 8 * n_edges as u64, "{written:?} {n_edges}");
    }
}

#[test]
fn without_a_disk_a_graph_that_does_not_fit_is_none() {
    let graph = large_graph(8, 30_000);
    let mut outcomes = Vec::new();
    for memory_bytes in [1 << 20, 2 << 20, 3 << 20, 5 << 20, 8 << 20, 64 << 20] {
        let mut sink = Received::new(false);
        let strategy = Ranked::by_depth().with_sink(&mut sink);
        let options = options(2, memory_bytes, StoreKind::Exact);
        let outcome = check(&graph, &strategy, &options, None, &Stop::new(), &mut Silent);
        let reason = outcome.expect("nothing fails").reason;
        drop(strategy);
        match reason {
            None => sink.assert_complete(&graph, "in memory"),
            Some(reason) => {
                assert_eq!(reason, Reason::Memory);
                assert!(!sink.is_whole);
            }
        }
        outcomes.push(reason);
    }
    assert!(
        outcomes[0].is_some() && outcomes[5].is_none(),
        "{outcomes:?}"
    );
}

fn search(
    graph: &Graph,
    options: &Options,
    disk: &Arc<CrashDisk>,
    sink: &mut Received,
) -> Result<Option<Reason>, Error> {
    let strategy = Ranked::by_depth().with_sink(sink);
    Ok(resume_or_start_by(&strategy, graph, options, disk)?.reason)
}

#[test]
fn a_search_may_crash_at_any_operation_and_its_graph_is_whole() {
    let (mut n_crashes, mut n_in_join) = (0, 0);
    let large = (0, large_graph(24, 700));
    for (seed, graph) in stepping_graphs(8100..8112).chain([large]) {
        if breadth_first(&graph).len() < 8 {
            continue;
        }
        for memory_bytes in [0, 1 << 20] {
            let options = Options {
                deadlock: Deadlock::Off,
                buffer_len: None,
                block_len: 40,
                ..always(2, memory_bytes)
            };
            let whole = Arc::new(CrashDisk::new());
            let mut sink = Received::new(true);
            search(&graph, &options, &whole, &mut sink).expect("nothing fails");
            sink.assert_complete(&graph, &format!("seed {seed}"));
            let n_operations = whole.n_operations();
            // The last ones are those of the join.
            let spread = (0..n_operations).step_by((n_operations / 12).max(1) as usize);
            let last = n_operations.saturating_sub(14)..n_operations;
            for n in spread.chain(last) {
                let disk = Arc::new(CrashDisk::new());
                disk.stop_at(n);
                let mut sink = Received::new(n % 2 == 0);
                if search(&graph, &options, &disk, &mut sink).is_err() {
                    n_crashes += 1;
                    n_in_join += usize::from(n + 14 >= n_operations);
                    let left = Arc::new(disk.crash(n));
                    search(&graph, &options, &left, &mut sink)
                        .unwrap_or_else(|error| panic!("{n}: {error}"));
                }
                sink.assert_complete(&graph, &format!("seed {seed}, operation {n}"));
            }
        }
    }
    assert!(n_crashes > 100 && n_in_join > 50, "{n_crashes} {n_in_join}");
}

#[test]
fn a_search_on_a_full_disk_gives_its_graph_when_there_is_room() {
    let graph = large_graph(24, 2_000);
    let options = Options {
        deadlock: Deadlock::Off,
        buffer_len: None,
        block_len: 200,
        ..always(2, 100_000)
    };
    let whole = Arc::new(CrashDisk::new());
    search(&graph, &options, &whole, &mut Received::new(false)).expect("nothing fails");
    let (mut capacity, mut n_full) = (0, 0);
    loop {
        let disk = Arc::new(CrashDisk::new());
        disk.set_capacity(capacity, true);
        let mut sink = Received::new(false);
        match search(&graph, &options, &disk, &mut sink) {
            Ok(None) => {
                sink.assert_complete(&graph, "there is room");
                break;
            }
            // Without room for a first manifest there is no search.
            Ok(Some(Reason::Disk)) | Err(Error::Store(hadal_store::Error::Full { .. })) => {
                assert!(!sink.is_whole);
                n_full += 1;
            }
            other => panic!("{capacity}: {other:?}"),
        }
        disk.set_capacity(u64::MAX, true);
        search(&graph, &options, &disk, &mut sink).expect("there is room now");
        sink.assert_complete(&graph, &format!("capacity {capacity}"));
        capacity += 64 << 10;
    }
    assert!(n_full > 8, "{n_full}");
}

/// A manifest that lists a log of edges belongs to a search that wants its graph.
#[test]
fn a_search_without_a_graph_is_not_resumed_with_one() {
    let graph = large_graph(8, 2_000);
    let disk = Arc::new(CrashDisk::new());
    let options = Options {
        deadlock: Deadlock::Off,
        bound: Some(3),
        ..always(1, 1 << 20)
    };
    let mut sink = Received::new(false);
    let found = search(&graph, &options, &disk, &mut sink).expect("nothing fails");
    assert_eq!(found, Some(Reason::Bound));
    assert!(!sink.is_whole, "a graph that a bound cuts off is none");
    let without = resume_or_start_by(&Ranked::by_depth(), &graph, &options, &disk);
    assert!(matches!(without, Err(Error::OtherSink { has_sink: false })));
    drop(folder(&disk, 1 << 18, true));
}
