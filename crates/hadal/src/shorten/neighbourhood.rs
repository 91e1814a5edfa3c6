//! Improves a run by searching around it, in memory.
//!
//! The states next to the run are expanded, those one step from it, two steps, and so on; then the
//! cheapest path through all that is known is found, and the search continues around that one. Every
//! round expands more states than the one before, unless it has found a cheaper path. So loops and
//! detours of long runs vanish early, wherever they are, while a search from the startstates would
//! have to reach them first. (Nakhost and Müller, Action Elimination and Plan Neighborhood Graph
//! Search, ICAPS 2010.)
//!
//! Where no state is left to expand, all reachable states are known and the path is a cheapest one.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};

use hadal_model::{Expander, Failure, Flow, MeasureKind, PAD_BYTES, Source, States};
use hadal_search::strategy::{
    End, Ended, Explored, Findings, Halt, Kernel, Run, Totals, Usage, Verdicts,
};
use hadal_search::{Error, Outcome, Reason, Stats, Strategy};

/// The strategy: the run that is improved, and how the search ended.
pub(crate) struct Neighbourhood {
    /// The states of the run, as the model makes them.
    path: Vec<Vec<u8>>,
    is_exhausted: AtomicBool,
}

impl Neighbourhood {
    pub(crate) fn new(path: Vec<Vec<u8>>) -> Self {
        Neighbourhood {
            path,
            is_exhausted: AtomicBool::new(false),
        }
    }

    /// Whether all reachable states were expanded.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.is_exhausted.load(Ordering::Relaxed)
    }
}

impl Strategy for Neighbourhood {
    fn name(&self) -> &'static str {
        "neighbourhood"
    }

    fn is_by_depth(&self) -> bool {
        false
    }

    fn needs_costs(&self) -> bool {
        true
    }

    fn search(&self, run: &Run<'_>) -> Result<Outcome, Error> {
        let mut area = Area::new(run);
        let reason = match area.search(&self.path) {
            Ok(()) => None,
            Err(Halt::Stop(reason)) => Some(reason),
            Err(Halt::Enough) => Some(Reason::Memory),
            Err(Halt::Failed(error)) => return Err(error),
        };
        self.is_exhausted.store(reason.is_none(), Ordering::Relaxed);
        // Also what was found since the last round ended.
        let best = area.cheapest();
        let mut findings = Findings::new(run.shape, run.options.deadlock, 1);
        let mut totals = Totals::new(run.shape);
        totals.visited = area.n_expanded;
        if let Some(best) = &best {
            let ordinal = u64::from(best.goal());
            match &area.goals[&best.goal()] {
                Finding::Failure(failure) => findings.add_failure(ordinal, 0, failure),
                Finding::Source(source) => findings.add_source(ordinal, 0, source),
            }
        }
        let ended = Ended {
            end: match (&best, reason) {
                (Some(_), _) => End::Violated(totals.clone()),
                (None, Some(reason)) => End::Stopped(reason),
                (None, None) => End::Exhausted,
            },
            totals,
            findings,
            states: area.nodes.len() as u64,
            states_exact: true,
            depth: 0,
            layers: Vec::new(),
            omission: None,
            remarks: std::mem::take(&mut area.kernel.remarks),
            stats: Stats::default(),
        };
        let data_bytes = area.bytes();
        let mut found = Found { best, data_bytes };
        run.conclude(ended, &mut found)
    }
}

/// What the end of a search asks about the path.
struct Found {
    best: Option<Path>,
    data_bytes: u64,
}

impl Explored for Found {
    fn indices_to(&mut self, _: u64) -> Result<Vec<u32>, Error> {
        let best = self.best.as_ref();
        Ok(best.map_or_else(Vec::new, |best| best.indices.clone()))
    }

    fn cost_of(&self, _: u64) -> Option<u64> {
        self.best.as_ref().map(|best| best.cost)
    }

    fn usage(&mut self) -> Usage {
        Usage {
            data_bytes: self.data_bytes,
            ..Usage::default()
        }
    }
}

/// A run through known states.
struct Path {
    nodes: Vec<u32>,
    /// Of each step, as a trace has them.
    indices: Vec<u32>,
    cost: u64,
}

impl Path {
    fn goal(&self) -> u32 {
        self.nodes.last().copied().unwrap_or(0)
    }
}

/// A known state. Its edges are in one piece.
#[derive(Clone, Copy, Default)]
struct Node {
    first_edge: u32,
    n_edges: u32,
    is_expanded: bool,
    /// The next node whose state has the same hash; itself, if there is none.
    next_alike: u32,
}

#[derive(Clone, Copy)]
struct Edge {
    to: u32,
    index: u32,
    cost: u32,
}

/// What is wrong with a state.
enum Finding {
    Failure(Failure),
    Source(Source),
}

/// States expanded at once.
const BLOCK_LEN: usize = 256;
const BUFFER_LEN: usize = 1024;
/// Of the first round.
const LEAST_QUOTA: u64 = 1000;
/// What a node takes beside its state and its edges, about: itself, and twice its entry in the map of
/// hashes.
const NODE_BYTES: u64 = 80;

/// All that is known around a run.
struct Area<'r> {
    run: &'r Run<'r>,
    expander: Box<dyn Expander + 'r>,
    kernel: Kernel,
    verdicts: Verdicts,
    /// Which of how many measures is the cost of a step, where a measure is.
    cost_column: Option<(usize, usize)>,
    values: Vec<u32>,
    /// One after the other, and padding.
    states: Vec<u8>,
    nodes: Vec<Node>,
    hasher: RandomState,
    by_hash: HashMap<u64, u32>,
    edges: Vec<Edge>,
    /// Startstates with their indices.
    starts: Vec<(u32, u32)>,
    goals: HashMap<u32, Finding>,
    n_expanded: u64,
}

impl<'r> Area<'r> {
    fn new(run: &'r Run<'r>) -> Self {
        let measures = &run.shape.measures;
        let cost = measures.iter().position(|it| it.kind == MeasureKind::Cost);
        Area {
            run,
            expander: run.expander(),
            kernel: Kernel::with_costs(run.shape, BUFFER_LEN),
            verdicts: Verdicts::new(run.shape),
            cost_column: cost.map(|column| (column, measures.len())),
            values: Vec::new(),
            states: vec![0; PAD_BYTES],
            nodes: Vec::new(),
            hasher: RandomState::new(),
            by_hash: HashMap::new(),
            edges: Vec::new(),
            starts: Vec::new(),
            goals: HashMap::new(),
            n_expanded: 0,
        }
    }

    /// Expands states around cheaper and cheaper paths, until none is left.
    fn search(&mut self, path: &[Vec<u8>]) -> Result<(), Halt> {
        self.expand_block(&[])?;
        let mut seeds = Vec::new();
        for state in path {
            let mut state = state.clone();
            self.expander.canonicalise(&mut state);
            seeds.push(self.node(&state)?);
        }
        let mut quota = LEAST_QUOTA.max(2 * seeds.len() as u64);
        let mut least = (u64::MAX, usize::MAX);
        for round in 0.. {
            self.run.begin_rank(round, quota);
            let is_exhausted = self.expand_around(&seeds, quota)?;
            let best = self.cheapest();
            match best {
                Some(best) if (best.cost, best.nodes.len()) < least => {
                    least = (best.cost, best.nodes.len());
                    seeds = best.nodes;
                    // Finding the path again takes time in proportion to all that is known.
                    quota = quota.max(self.n_expanded / 4);
                }
                _ => quota = quota.max(self.n_expanded / 4).saturating_mul(2),
            }
            self.run.end_rank();
            if is_exhausted {
                break;
            }
        }
        Ok(())
    }

    /// Expands up to `quota` states, those next to `seeds` first. Whether none is left.
    fn expand_around(&mut self, seeds: &[u32], quota: u64) -> Result<bool, Halt> {
        let end = self.n_expanded.saturating_add(quota);
        let mut is_queued = vec![false; self.nodes.len()];
        let mut queue: VecDeque<u32> = VecDeque::new();
        let starts: Vec<u32> = self.starts.iter().map(|(start, _)| *start).collect();
        for more in [seeds, &starts] {
            for &node in more {
                if !std::mem::replace(&mut is_queued[node as usize], true) {
                    queue.push_back(node);
                }
            }
            while !queue.is_empty() {
                if self.n_expanded >= end {
                    return Ok(false);
                }
                let block: Vec<u32> = queue.drain(..queue.len().min(BLOCK_LEN)).collect();
                let is_new = |node: &&u32| !self.nodes[**node as usize].is_expanded;
                let new: Vec<u32> = block.iter().filter(is_new).copied().collect();
                if !new.is_empty() {
                    self.expand_block(&new)?;
                    is_queued.resize(self.nodes.len(), false);
                }
                for node in block {
                    let Node {
                        first_edge,
                        n_edges,
                        ..
                    } = self.nodes[node as usize];
                    let edges = &self.edges[first_edge as usize..][..n_edges as usize];
                    for edge in edges {
                        if !std::mem::replace(&mut is_queued[edge.to as usize], true) {
                            queue.push_back(edge.to);
                        }
                    }
                }
            }
        }
        Ok(true)
    }

    /// Expands states that are not expanded yet; finds the startstates, if there is none.
    fn expand_block(&mut self, block: &[u32]) -> Result<(), Halt> {
        let state_len = self.run.shape.state_len;
        let mut bytes = Vec::with_capacity(block.len() * state_len + PAD_BYTES);
        for &node in block {
            bytes.extend_from_slice(self.state(node));
        }
        bytes.resize(bytes.len() + PAD_BYTES, 0);
        let states = (!block.is_empty()).then(|| States::new(&bytes, state_len, block.len()));
        self.kernel.begin(block.len().max(1));
        while self.kernel.is_full() {
            self.run.check_stop()?;
            self.kernel.expand(&mut *self.expander, states);
            if self.kernel.flow == Flow::Stopped {
                return Err(Halt::Stop(self.run.stop_reason()));
            }
            self.kernel.canonicalise(&mut *self.expander, states);
            self.take_successors(block)?;
        }
        for (position, &node) in block.iter().enumerate() {
            let source = &self.kernel.successors.sources()[position];
            let mut findings = Findings::new(self.run.shape, self.run.options.deadlock, 1);
            findings.add_source(u64::from(node), 0, source);
            if findings.is_full() {
                let finding = Finding::Source(source.clone());
                self.goals.entry(node).or_insert(finding);
            }
            self.nodes[node as usize].is_expanded = true;
        }
        self.n_expanded += block.len() as u64;
        let n_transitions = self.edges.len() as u64;
        self.run.note_expanded(block.len(), n_transitions);
        self.run
            .note_states(self.nodes.len() as u64, self.bytes(), 0);
        // One half is for the paths, which are found from time to time.
        match self.bytes() > self.run.options.memory_bytes / 2 {
            true => Err(Halt::Stop(Reason::Memory)),
            false => Ok(()),
        }
    }

    /// Takes what is in the buffer: edges, and the states they lead to.
    fn take_successors(&mut self, block: &[u32]) -> Result<(), Halt> {
        let n_successors = self.kernel.successors.len();
        if self.edges.len() + n_successors > u32::MAX as usize {
            return Err(Halt::Stop(Reason::Memory));
        }
        self.values.clear();
        if self.cost_column.is_some() && n_successors > 0 {
            let states = self.kernel.successors.states();
            let measured = self.expander.measure(states, &mut self.values);
            if !matches!(measured, Ok(Flow::Done)) {
                return Err(Halt::Stop(self.run.stop_reason()));
            }
        }
        for at in 0..n_successors {
            let state = self.kernel.successors.state(at).to_vec();
            let to = self.node(&state)?;
            let successors = &self.kernel.successors;
            let index = successors.index(at);
            if block.is_empty() {
                self.starts.push((to, index));
                continue;
            }
            let cost = match self.cost_column {
                Some((column, n)) => self.values[at * n + column],
                None => successors.cost(at),
            };
            let from = &mut self.nodes[block[successors.source_of(at) as usize] as usize];
            if from.n_edges == 0 {
                from.first_edge = self.edges.len() as u32;
            }
            from.n_edges += 1;
            self.edges.push(Edge { to, index, cost });
        }
        Ok(())
    }

    fn state(&self, node: u32) -> &[u8] {
        let len = self.run.shape.state_len;
        &self.states[node as usize * len..][..len]
    }

    /// The node of a state, which is judged if it is new.
    fn node(&mut self, state: &[u8]) -> Result<u32, Halt> {
        let hash = self.hasher.hash_one(state);
        let new = self.nodes.len() as u32;
        if let Some(&first) = self.by_hash.get(&hash) {
            let mut node = first;
            loop {
                if self.state(node) == state {
                    return Ok(node);
                }
                let next = self.nodes[node as usize].next_alike;
                if next == node {
                    break;
                }
                node = next;
            }
            self.nodes[node as usize].next_alike = new;
        } else {
            self.by_hash.insert(hash, new);
        }
        self.states.truncate(self.states.len() - PAD_BYTES);
        self.states.extend_from_slice(state);
        self.states.resize(self.states.len() + PAD_BYTES, 0);
        self.nodes.push(Node {
            next_alike: new,
            ..Node::default()
        });
        let (run, len) = (self.run, self.run.shape.state_len);
        let alone = &self.states[new as usize * len..];
        let alone = States::new(alone, len, 1);
        if self.verdicts.find(&mut *self.expander, run.shape, alone) == Flow::Stopped {
            return Err(Halt::Stop(run.stop_reason()));
        }
        if let Some(failure) = self.verdicts.failures.pop() {
            self.goals.insert(new, Finding::Failure(failure));
        }
        Ok(new)
    }

    /// The cheapest known run to a state where something is wrong, if there is one: Dijkstra's
    /// algorithm.
    fn cheapest(&self) -> Option<Path> {
        // Of runs that cost the same, one with the fewest steps.
        let mut least = vec![(u64::MAX, u32::MAX); self.nodes.len()];
        // By node, the one before it and the index of the step from there.
        let mut before = vec![(u32::MAX, 0); self.nodes.len()];
        let mut open = BinaryHeap::new();
        for &(start, index) in &self.starts {
            if least[start as usize] != (0, 0) {
                least[start as usize] = (0, 0);
                before[start as usize].1 = index;
                open.push(Reverse(((0, 0), start)));
            }
        }
        while let Some(Reverse((reached, node))) = open.pop() {
            if reached > least[node as usize] {
                continue;
            }
            let (cost, n_steps) = reached;
            if self.goals.contains_key(&node) {
                let (mut nodes, mut indices) = (Vec::new(), Vec::new());
                let mut next = node;
                while next != u32::MAX {
                    let (previous, index) = before[next as usize];
                    nodes.push(next);
                    indices.push(index);
                    next = previous;
                }
                nodes.reverse();
                indices.reverse();
                return Some(Path {
                    nodes,
                    indices,
                    cost,
                });
            }
            let Node {
                first_edge,
                n_edges,
                ..
            } = self.nodes[node as usize];
            for edge in &self.edges[first_edge as usize..][..n_edges as usize] {
                let sum = (cost.saturating_add(u64::from(edge.cost)), n_steps + 1);
                if sum < least[edge.to as usize] {
                    least[edge.to as usize] = sum;
                    before[edge.to as usize] = (node, edge.index);
                    open.push(Reverse((sum, edge.to)));
                }
            }
        }
        None
    }

    /// What is held, about.
    fn bytes(&self) -> u64 {
        let edges = self.edges.capacity() * size_of::<Edge>();
        let nodes = self.nodes.len() as u64 * NODE_BYTES;
        (self.states.capacity() + edges) as u64 + nodes
    }
}

#[cfg(test)]
mod tests {
    use hadal_model::{Model, Stop};
    use hadal_search::{Dijkstra, Options, Silent, Violation, ViolationKind, check};
    use hadal_testkit::graph::random_graph;
    use rand::SeedableRng;
    use rand_pcg::Pcg64Mcg;

    use super::*;

    #[test]
    fn a_closed_neighbourhood_has_a_cheapest_run() {
        let mut n_compared = 0;
        for seed in 0..300 {
            let graph = random_graph(&mut Pcg64Mcg::seed_from_u64(seed));
            let search = |strategy: &dyn Strategy| {
                let options = Options {
                    threads: 1,
                    ..Options::default()
                };
                check(&graph, strategy, &options, None, &Stop::new(), &mut Silent)
            };
            let Ok(cheapest) = search(&Dijkstra) else {
                continue;
            };
            // Goals that nothing reaches are no business of this search.
            let is_of_state = |it: &&Violation| {
                !matches!(it.kind, ViolationKind::Cover | ViolationKind::Liveness)
            };
            let first = cheapest.violations.first().filter(is_of_state);
            let Some((least, trace)) = first.and_then(|it| Some((it.cost?, it.trace.as_ref()?)))
            else {
                continue;
            };
            let states = trace.steps.iter().filter_map(|step| step.state.clone());
            let start: Vec<Vec<u8>> = states.take(1).collect();
            if start.is_empty() {
                continue;
            }
            let around = Neighbourhood::new(start);
            let found = search(&around).expect("the search has an outcome");
            assert!(around.is_exhausted(), "seed {seed}");
            let violation = found.violations.first().expect("there is one");
            assert_eq!(violation.cost, Some(least), "seed {seed}");
            let trace = violation.trace.as_ref().expect("it has a run");
            assert_eq!(
                trace.steps[0].state.as_ref().map(Vec::len),
                Some(graph.shape().state_len)
            );
            n_compared += 1;
        }
        assert!(n_compared > 100, "only {n_compared}");
    }
}
