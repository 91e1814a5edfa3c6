//! Sinks: every state and every edge is received once and in order, whatever the threads and the
//! memory, after crashes, and when a sink fails.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use hadal_model::Stop;
use hadal_search::{
    Deadlock, Edge, EdgesWanted, Error, NewEdges, NewStates, Options, Outcome, Ranked, Silent,
    Sink, StoreKind, Target, check,
};
use hadal_testkit::disk::CrashDisk;
use hadal_testkit::graph::{Graph, deep_graph};
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

use crate::external::scratch;
use crate::ranks::stepping_graphs;
use crate::resume::{always, resume_or_start_by};

/// Receives states and edges. It survives crashes: a checkpoint is the numbers of both.
#[derive(Debug, Default)]
struct Received {
    wanted: EdgesWanted,
    /// The nodes of all states, in the order of ordinals.
    nodes: Vec<u32>,
    edges: Vec<ReceivedEdge>,
    /// Whether the search that uses it now has called it.
    is_used: bool,
    /// It fails at this call, from 0.
    fails_at: Option<u32>,
    n_calls: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct ReceivedEdge {
    source: u64,
    index: u32,
    rule: u32,
    target: Reached,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Reached {
    Ordinal(u64),
    /// A key and the version of its layout.
    Key(Vec<u64>, u32),
}

impl Received {
    fn wanting(wanted: EdgesWanted) -> Self {
        Received {
            wanted,
            ..Received::default()
        }
    }

    /// Before it is used by another search, which may fail at a call.
    fn reuse(&mut self, fails_at: Option<u32>) {
        (self.is_used, self.fails_at, self.n_calls) = (false, fails_at, 0);
    }

    /// A search that does not resume starts over.
    fn call(&mut self) -> io::Result<()> {
        if !std::mem::replace(&mut self.is_used, true) {
            self.nodes.clear();
            self.edges.clear();
        }
        self.n_calls += 1;
        match self.fails_at == Some(self.n_calls - 1) {
            true => Err(io::Error::other("the sink is closed")),
            false => Ok(()),
        }
    }

    /// All edges are those of the graph, in order.
    fn assert_complete(&self, graph: &Graph, context: &str) {
        let nodes = breadth_first(graph);
        assert_eq!(self.nodes, nodes, "{context}");
        let ordinals: BTreeMap<u32, u64> = nodes.iter().copied().zip(0..).collect();
        let sources = (0..).zip(&nodes).flat_map(|(source, &node)| {
            let edges = (0..).zip(&graph.nodes[node as usize]);
            edges.map(move |(index, edge)| (source, index, edge))
        });
        // Equal keys of one layout mean equal targets, and other keys other ones.
        let (mut targets, mut keys) = (BTreeMap::new(), BTreeMap::new());
        let mut received = self.edges.iter();
        for (source, index, edge) in sources {
            let found = received.next().expect("no edge is missing");
            let step = (found.source, found.index, found.rule);
            assert_eq!(step, (source, index, edge.rule), "{context}");
            let expected = ordinals[&edge.target().expect("every edge leads somewhere")];
            match &found.target {
                Reached::Ordinal(target) => assert_eq!(*target, expected, "{context}"),
                Reached::Key(key, version) => {
                    let key = (*version, key.clone());
                    let target = (*version, expected);
                    assert_eq!(*targets.entry(key.clone()).or_insert(target), target);
                    assert_eq!(*keys.entry(target).or_insert_with(|| key.clone()), key);
                }
            }
        }
        assert_eq!(received.next(), None, "{context}");
    }

    fn n_with_keys(&self) -> usize {
        let has_key = |edge: &&ReceivedEdge| matches!(edge.target, Reached::Key(..));
        self.edges.iter().filter(has_key).count()
    }
}

impl Sink for Received {
    fn wants_edges(&self) -> EdgesWanted {
        self.wanted
    }

    fn states(&mut self, new: &NewStates<'_>) -> io::Result<()> {
        self.call()?;
        assert_eq!(new.first, self.nodes.len() as u64, "states come in order");
        let node = |state: &[u8]| u32::from(state[0]) | u32::from(state[1]) << 8;
        self.nodes.extend(new.states.iter().map(node));
        Ok(())
    }

    fn edges(&mut self, edges: &NewEdges<'_>) -> io::Result<()> {
        self.call()?;
        let received = |edge: Edge<'_>| {
            assert_eq!(edge.cost, 1, "a search by depth asks for no costs");
            ReceivedEdge {
                source: edge.source,
                index: edge.index,
                rule: edge.rule,
                target: match edge.target {
                    Target::Ordinal(ordinal) => Reached::Ordinal(ordinal),
                    Target::Key(key, version) => Reached::Key(key.to_vec(), version),
                },
            }
        };
        self.edges.extend(edges.iter().map(received));
        Ok(())
    }

    fn checkpoint(&mut self) -> io::Result<Vec<u8>> {
        self.call()?;
        let numbers = [self.nodes.len(), self.edges.len()];
        Ok(numbers.map(|n| (n as u64).to_le_bytes()).concat())
    }

    fn resume(&mut self, mark: &[u8]) -> io::Result<()> {
        self.is_used = true;
        let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        self.nodes.truncate(number(&mark[..8]) as usize);
        self.edges.truncate(number(&mark[8..]) as usize);
        Ok(())
    }
}

/// The nodes of a graph in breadth-first order.
pub(crate) fn breadth_first(graph: &Graph) -> Vec<u32> {
    let mut nodes: Vec<u32> = Vec::new();
    let push = |node: u32, nodes: &mut Vec<u32>| {
        if !nodes.contains(&node) {
            nodes.push(node);
        }
    };
    let starts = graph.starts.iter().filter_map(|edge| edge.target());
    starts.for_each(|node| push(node, &mut nodes));
    let mut at = 0;
    while at < nodes.len() {
        let edges = graph.nodes[nodes[at] as usize].iter();
        edges
            .filter_map(|edge| edge.target())
            .for_each(|node| push(node, &mut nodes));
        at += 1;
    }
    nodes
}

fn options(threads: usize, memory_bytes: u64) -> Options {
    Options {
        threads,
        memory_bytes,
        deadlock: Deadlock::Off,
        buffer_len: Some(6),
        block_len: 3,
        ..Options::default()
    }
}

fn run(graph: &Graph, options: &Options, on_disk: bool, sink: &mut Received) -> Outcome {
    let strategy = Ranked::by_depth().with_sink(sink);
    let folder = on_disk.then(scratch);
    let stop = Stop::new();
    let outcome = check(graph, &strategy, options, folder, &stop, &mut Silent);
    outcome.unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_edge_is_received_with_ordinals_in_memory_and_keys_on_disk() {
    let mut n_with_keys = 0;
    for (seed, graph) in stepping_graphs(7500..7600) {
        for (threads, memory_bytes, wanted, on_disk) in [
            (1, u64::MAX, EdgesWanted::WithOrdinals, false),
            (3, u64::MAX, EdgesWanted::WithOrdinals, false),
            (2, 1 << 20, EdgesWanted::WithKeys, false),
            (1, 0, EdgesWanted::WithOrdinals, true),
            (2, 3_000, EdgesWanted::WithKeys, true),
            (2, 60_000, EdgesWanted::WithOrdinals, true),
        ] {
            let mut sink = Received::wanting(wanted);
            let outcome = run(&graph, &options(threads, memory_bytes), on_disk, &mut sink);
            assert_eq!(outcome.transitions, sink.edges.len() as u64, "seed {seed}");
            sink.assert_complete(&graph, &format!("seed {seed}"));
            n_with_keys += sink.n_with_keys();
            if wanted == EdgesWanted::WithOrdinals && !on_disk {
                assert_eq!(sink.n_with_keys(), 0);
            }
        }
    }
    assert!(n_with_keys > 1000, "{n_with_keys}");
}

/// Hashes may collide, so a successor that counts as known need not be stored: it has no ordinal.
#[test]
fn a_search_that_stores_hashes_sends_keys() {
    let (_, graph) = stepping_graphs(7500..7501).next().expect("a graph");
    let options = Options {
        store: StoreKind::Hash40,
        ..options(2, u64::MAX)
    };
    let mut sink = Received::wanting(EdgesWanted::WithOrdinals);
    run(&graph, &options, false, &mut sink);
    sink.assert_complete(&graph, "hashes");
    assert_eq!(sink.n_with_keys(), sink.edges.len());
}

/// States that are provisional would have to be taken back.
#[test]
fn a_search_with_a_sink_defers_nothing() {
    let mut n_deferred = 0;
    for seed in 7600..7610 {
        let mut graph = deep_graph(&mut Pcg64Mcg::seed_from_u64(seed));
        graph = only_steps(graph);
        let options = Options {
            thin_layers: 2,
            ..options(1, 2_000)
        };
        let mut sink = Received::wanting(EdgesWanted::WithKeys);
        let outcome = run(&graph, &options, true, &mut sink);
        assert_eq!(outcome.disk.deferred_ranks, 0, "seed {seed}");
        sink.assert_complete(&graph, &format!("seed {seed}"));
        let (folder, stop) = (Some(scratch()), Stop::new());
        let strategy = Ranked::by_depth();
        let without = check(&graph, &strategy, &options, folder, &stop, &mut Silent);
        n_deferred += without.expect("nothing fails").disk.deferred_ranks;
    }
    assert!(n_deferred > 100, "{n_deferred}");
}

/// The same graph without properties, colours, and edges that do not lead anywhere.
pub(crate) fn only_steps(graph: Graph) -> Graph {
    let mut nodes = graph.nodes;
    for edges in &mut nodes {
        edges.retain(|edge| edge.target().is_some());
    }
    Graph {
        starts: graph.starts,
        nodes,
        ..Graph::new(4, &[], Vec::new())
    }
}

/// A sink that joins later, or is missing once, would not receive everything.
#[test]
fn a_search_is_resumed_with_a_sink_if_and_only_if_it_was_begun_with_one() {
    let (_, graph) = stepping_graphs(7404..7405).next().expect("a graph");
    let options = Options {
        deadlock: Deadlock::Off,
        ..always(1, 0)
    };
    for is_begun_with in [false, true] {
        let search = |disk: &Arc<CrashDisk>, has_sink: bool| {
            let mut sink = Received::wanting(EdgesWanted::WithKeys);
            let mut strategy = Ranked::by_depth();
            if has_sink {
                strategy = strategy.with_sink(&mut sink);
            }
            resume_or_start_by(&strategy, &graph, &options, disk)
        };
        let whole = Arc::new(CrashDisk::new());
        search(&whole, is_begun_with).expect("nothing fails");
        let mut n_refused = 0;
        for n in 0..whole.n_operations() {
            let disk = Arc::new(CrashDisk::new());
            disk.stop_at(n);
            if search(&disk, is_begun_with).is_ok() {
                continue;
            }
            match search(&Arc::new(disk.crash(n)), !is_begun_with) {
                Err(Error::OtherSink { has_sink }) => {
                    assert_eq!(has_sink, !is_begun_with);
                    n_refused += 1;
                }
                Err(error) => panic!("{error}"),
                // It crashed before the first checkpoint.
                Ok(_) => {}
            }
        }
        assert!(n_refused > 5, "{n_refused}");
    }
}

/// A sink that says nothing about resuming.
struct Forgetful;

impl Sink for Forgetful {}

#[test]
fn a_sink_that_cannot_resume_does_not() {
    let (_, graph) = stepping_graphs(7404..7405).next().expect("a graph");
    let options = Options {
        deadlock: Deadlock::Off,
        ..always(1, 0)
    };
    let search = |disk: &Arc<CrashDisk>| {
        let mut sink = Forgetful;
        let strategy = Ranked::by_depth().with_sink(&mut sink);
        resume_or_start_by(&strategy, &graph, &options, disk)
    };
    let whole = Arc::new(CrashDisk::new());
    search(&whole).expect("nothing fails");
    let disk = Arc::new(CrashDisk::new());
    let n = whole.n_operations() - 3;
    disk.stop_at(n);
    search(&disk).expect_err("the disk stops");
    let resumed = search(&Arc::new(disk.crash(n)));
    assert!(matches!(resumed, Err(Error::Sink(_))), "{resumed:?}");
}

#[test]
fn a_search_may_crash_at_any_operation_and_every_edge_is_received_once() {
    let mut n_crashes = 0;
    for (seed, graph) in stepping_graphs(7620..7635) {
        if breadth_first(&graph).len() < 8 {
            continue;
        }
        for memory_bytes in [0, 1 << 20] {
            let options = Options {
                deadlock: Deadlock::Off,
                ..always(2, memory_bytes)
            };
            let search = |disk: &Arc<CrashDisk>, sink: &mut Received| {
                sink.reuse(None);
                let strategy = Ranked::by_depth().with_sink(sink);
                resume_or_start_by(&strategy, &graph, &options, disk)
            };
            let whole = Arc::new(CrashDisk::new());
            let mut sink = Received::wanting(EdgesWanted::WithOrdinals);
            search(&whole, &mut sink).expect("nothing fails");
            sink.assert_complete(&graph, &format!("seed {seed}"));
            let n_operations = whole.n_operations();
            for n in (0..n_operations).step_by((n_operations / 20).max(1) as usize) {
                let disk = Arc::new(CrashDisk::new());
                disk.stop_at(n);
                let mut sink = Received::wanting(EdgesWanted::WithOrdinals);
                if search(&disk, &mut sink).is_err() {
                    n_crashes += 1;
                    let left = Arc::new(disk.crash(n));
                    search(&left, &mut sink).unwrap_or_else(|error| panic!("{n}: {error}"));
                }
                sink.assert_complete(&graph, &format!("seed {seed}, operation {n}"));
            }
        }
    }
    assert!(n_crashes > 100, "{n_crashes}");
}

#[test]
fn a_search_whose_sink_fails_at_any_call_can_be_resumed() {
    let mut n_failed = 0;
    for (seed, graph) in stepping_graphs(7660..7675) {
        if breadth_first(&graph).len() < 8 {
            continue;
        }
        for memory_bytes in [0, 1 << 20] {
            let options = Options {
                deadlock: Deadlock::Off,
                ..always(1, memory_bytes)
            };
            let search = |disk: &Arc<CrashDisk>, sink: &mut Received, fails_at| {
                sink.reuse(fails_at);
                let strategy = Ranked::by_depth().with_sink(sink);
                resume_or_start_by(&strategy, &graph, &options, disk)
            };
            let mut sink = Received::wanting(EdgesWanted::WithKeys);
            let disk = Arc::new(CrashDisk::new());
            search(&disk, &mut sink, None).expect("nothing fails");
            let n_calls = sink.n_calls;
            for n in (0..n_calls).step_by((n_calls / 25).max(1) as usize) {
                let disk = Arc::new(CrashDisk::new());
                let mut sink = Received::wanting(EdgesWanted::WithKeys);
                match search(&disk, &mut sink, Some(n)) {
                    Err(Error::Sink(error)) => assert_eq!(error.to_string(), "the sink is closed"),
                    Err(error) => panic!("seed {seed}, call {n}: {error}"),
                    Ok(_) => panic!("seed {seed}: call {n} failed, and nobody noticed"),
                }
                n_failed += 1;
                search(&disk, &mut sink, None)
                    .unwrap_or_else(|error| panic!("seed {seed}, call {n}: {error}"));
                sink.assert_complete(&graph, &format!("seed {seed}, call {n}"));
            }
        }
    }
    assert!(n_failed > 100, "{n_failed}");
}
