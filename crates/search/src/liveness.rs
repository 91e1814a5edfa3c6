//! Liveness: whether a goal can be reached from every state.
//!
//! After all states are found, every state is expanded once more and its successors are looked
//! up; what comes out is the reversed graph, on which the states that can reach a goal are found
//! from the goal backwards.
//! All of it is held in memory; where that does not suffice, nothing is decided.

use hadal_model::{Expander, Flow, GoalKind, Shape, States};
use hadal_store::{hash_state, partition_of};

use crate::Error;
use crate::round::{Rounds, Supply};
use crate::shared::{Job, Shared, read, write};
use crate::task::{Block, Task};

/// For each liveness goal of the shape, in order: its number and the least state from which it
/// cannot be reached, if there is one.
pub(crate) type Decided = Vec<(usize, Option<u64>)>;

/// Decides every liveness goal over all states found; `None` where memory does not suffice or the
/// search was stopped.
pub(crate) fn decide(rounds: &mut Rounds<'_>, transitions: u64) -> Result<Option<Decided>, Error> {
    let n_states = rounds.n_states();
    let Some(mut graph) = Graph::new(rounds.shared.shape, n_states, rounds.spare_bytes()) else {
        return Ok(None);
    };
    let shared = rounds.shared;
    let mut unrepeatable = None;
    let halt = rounds.run(
        Job::Edges,
        Supply::States(0..n_states),
        &mut |slot, task| {
            let n_states = task.successors.sources().len();
            shared.gauge.note_expanded(n_states, transitions);
            let edges = std::mem::take(&mut *write(&shared.edges[slot]));
            unrepeatable = edges.unrepeatable;
            unrepeatable.is_none() && graph.add(edges)
        },
    )?;
    if let Some(ordinal) = unrepeatable {
        return Err(Error::Unrepeatable { ordinal });
    }
    rounds.other_bytes = graph.data_bytes();
    let reversing = graph.reversing_bytes();
    if halt.is_some() || !rounds.fits(reversing) {
        return Ok(None);
    }
    let reversed = graph.reverse();
    let mut decided = Vec::new();
    for (goal, reached) in reversed.goals {
        let from = reversed
            .edges
            .least_cut_off(reached, &|| shared.stop.is_raised());
        match from {
            Some(least) => decided.push((goal, least)),
            None => return Ok(None),
        }
    }
    rounds.other_bytes = 0;
    Ok(Some(decided))
}

/// Where the states of one block lead, and which goals they reach.
#[derive(Debug, Default)]
pub(crate) struct Edges {
    /// Number of targets of each state.
    degrees: Vec<u32>,
    /// Targets of the states in order, sorted, without repetitions and self-loops.
    targets: Vec<u32>,
    /// Goal bits, `goal_words` a state.
    reached: Vec<u64>,
    /// A state that now has a successor which was never found.
    unrepeatable: Option<u64>,
}

impl Edges {
    /// Expands the block of `task` to its end and looks up every successor.
    pub(crate) fn collect(
        &mut self,
        task: &mut Task,
        expander: &mut dyn Expander,
        shared: &Shared<'_>,
    ) {
        let Block::States { first, len } = task.block else {
            return;
        };
        *self = Edges::default();
        let arena = read(&shared.arena);
        let mut begin = 0;
        while task.is_full() && !shared.stop.is_raised() {
            task.expand(expander, &arena);
            if task.flow == Flow::Stopped {
                return;
            }
            expander.canonicalise(task.successors.states_mut());
            task.remarks.append(&mut expander.take_remarks());
            for position in 0..task.successors.len() {
                let source = task.successors.source_of(position) as usize;
                while self.degrees.len() < source {
                    begin = self.end_source(begin, first);
                }
                let state = task.successors.state(position);
                let hash = hash_state(state);
                let found = read(shared.table.partition(partition_of(hash)))
                    .find(hash, |ordinal| arena.get(ordinal) == state);
                match found {
                    Some(ordinal) => self.targets.push(ordinal as u32),
                    None => {
                        self.unrepeatable.get_or_insert(first + source as u64);
                    }
                }
            }
        }
        while self.degrees.len() < len {
            begin = self.end_source(begin, first);
        }
        self.targets.shrink_to_fit();

        self.reached = vec![0; len * shared.shape.goal_words()];
        let block = States::new(arena.block(first, len), shared.shape.state_len, len);
        let mut failures = Vec::new();
        if expander.reach_goals(block, &mut self.reached, &mut failures) == Flow::Stopped {
            task.flow = Flow::Stopped;
        }
    }

    /// Tidies the targets from `begin` on, which are those of the next state.
    fn end_source(&mut self, begin: usize, first: u64) -> usize {
        let this = (first + self.degrees.len() as u64) as u32;
        self.targets[begin..].sort_unstable();
        let mut end = begin;
        for at in begin..self.targets.len() {
            let target = self.targets[at];
            if target != this && (end == begin || self.targets[end - 1] != target) {
                self.targets[end] = target;
                end += 1;
            }
        }
        self.targets.truncate(end);
        self.degrees.push((end - begin) as u32);
        end
    }
}

/// The edges of all states, block by block, and who reaches the liveness goals.
struct Graph {
    n_states: usize,
    goal_words: usize,
    blocks: Vec<Edges>,
    n_edges: usize,
    goals: Vec<(usize, Bits)>,
    n_seen: usize,
    bytes: u64,
    spare_bytes: u64,
}

impl Graph {
    /// `None` if not even the bits of the goals fit, or states have numbers too large for edges.
    fn new(shape: &Shape, n_states: u64, spare_bytes: u64) -> Option<Self> {
        let goals = (0..shape.goals.len()).filter(|&g| shape.goals[g].kind == GoalKind::Liveness);
        let bytes = goals.clone().count() as u64 * (n_states / 8 + 8);
        // Only a machine with far more memory than this engine is made for gets past 32 bits.
        if u32::try_from(n_states).is_err() || bytes > spare_bytes {
            return None;
        }
        let n_states = n_states as usize;
        Some(Graph {
            n_states,
            goal_words: shape.goal_words(),
            blocks: Vec::new(),
            n_edges: 0,
            goals: goals.map(|goal| (goal, Bits::new(n_states))).collect(),
            n_seen: 0,
            bytes,
            spare_bytes,
        })
    }

    /// Adds the next block; says whether there is room to go on.
    fn add(&mut self, mut edges: Edges) -> bool {
        for (goal, bits) in &mut self.goals {
            for state in 0..edges.degrees.len() {
                let word = edges.reached[state * self.goal_words + *goal / 64];
                if (word >> (*goal % 64)) & 1 == 1 {
                    bits.set(self.n_seen + state);
                }
            }
        }
        edges.reached = Vec::new();
        self.n_seen += edges.degrees.len();
        self.n_edges += edges.targets.len();
        self.bytes +=
            (4 * (edges.degrees.capacity() + edges.targets.capacity()) + size_of::<Edges>()) as u64;
        self.blocks.push(edges);
        self.bytes + self.reversing_bytes() <= self.spare_bytes
    }

    fn data_bytes(&self) -> u64 {
        self.bytes
    }

    /// Memory to hold the reversed edges and to walk them, in bytes.
    fn reversing_bytes(&self) -> u64 {
        (4 * self.n_edges + 8 * (self.n_states + 1) + 8 * self.n_states) as u64
    }

    fn reverse(self) -> Reversed {
        let mut ends = vec![0usize; self.n_states + 1];
        for target in self.blocks.iter().flat_map(|block| &block.targets) {
            ends[*target as usize + 1] += 1;
        }
        for state in 0..self.n_states {
            ends[state + 1] += ends[state];
        }
        // While sources are filled in, `ends[s]` is where the next source of `s` goes; it ends up
        // at the end of the sources of `s`, which is where those of the state after begin.
        let mut sources = vec![0; self.n_edges];
        let mut source = 0u32;
        for block in self.blocks {
            let mut targets = block.targets.iter();
            for degree in block.degrees {
                for &target in targets.by_ref().take(degree as usize) {
                    let end = &mut ends[target as usize];
                    sources[*end] = source;
                    *end += 1;
                }
                source += 1;
            }
        }
        Reversed {
            edges: ReversedEdges {
                ends,
                sources,
                n_states: self.n_states,
            },
            goals: self.goals,
        }
    }
}

struct Reversed {
    edges: ReversedEdges,
    goals: Vec<(usize, Bits)>,
}

struct ReversedEdges {
    ends: Vec<usize>,
    sources: Vec<u32>,
    n_states: usize,
}

impl ReversedEdges {
    /// The least state that has no way to those in `reached`; the outer `None` if stopped.
    fn least_cut_off(
        &self,
        mut reached: Bits,
        is_stopped: &dyn Fn() -> bool,
    ) -> Option<Option<u64>> {
        let mut waiting: Vec<u32> = (0..self.n_states)
            .filter(|&state| reached.get(state))
            .map(|state| state as u32)
            .collect();
        let mut n_steps = 0u32;
        while let Some(state) = waiting.pop() {
            n_steps = n_steps.wrapping_add(1);
            if n_steps.is_multiple_of(1 << 16) && is_stopped() {
                return None;
            }
            let state = state as usize;
            let begin = if state == 0 { 0 } else { self.ends[state - 1] };
            for &source in &self.sources[begin..self.ends[state]] {
                if !reached.get(source as usize) {
                    reached.set(source as usize);
                    waiting.push(source);
                }
            }
        }
        let least = (0..self.n_states).find(|&state| !reached.get(state));
        Some(least.map(|state| state as u64))
    }
}

/// A set of states.
struct Bits(Vec<u64>);

impl Bits {
    fn new(n: usize) -> Self {
        Bits(vec![0; n.div_ceil(64)])
    }

    fn get(&self, at: usize) -> bool {
        (self.0[at / 64] >> (at % 64)) & 1 == 1
    }

    fn set(&mut self, at: usize) {
        self.0[at / 64] |= 1 << (at % 64);
    }
}
