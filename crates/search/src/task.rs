//! The expansion kernel: a block of states, its successors in canonical form, their hashes, and
//! the properties of those that turn out to be new.
//!
//! A task is one block on its way through a round. It owns its buffers, is worked on by one thread
//! at a time, and is read by all while its candidates are looked up.

use std::sync::atomic::{AtomicBool, Ordering};

use hadal_model::{Cursor, Expander, Failure, Flow, PAD_BYTES, Remark, Shape, States, Successors};
use hadal_store::{Arena, Keys, N_PARTITIONS, Parent, hash_state, partition_of};

use crate::visited::{Visited, encoding};

/// A block of states and what has become of it so far.
pub(crate) struct Task {
    /// What is expanded.
    pub(crate) block: Block,
    /// Where the expansion goes on.
    cursor: Cursor,
    /// How the last call of the expander ended.
    pub(crate) flow: Flow,
    /// Successors and facts about the sources.
    pub(crate) successors: Successors,
    /// The candidates for a set of states.
    pub(crate) keys: Keys,
    /// Their hashes, for a table of numbers.
    hashes: Vec<u64>,
    /// Positions of the candidates, by partition and then in order.
    by_partition: Vec<u32>,
    /// Where each partition begins in `by_partition`; one more for the end.
    begins: [u32; N_PARTITIONS + 1],
    is_new: Vec<AtomicBool>,
    /// Positions of the candidates that are new, in order.
    survivors: Vec<u32>,
    /// Their states and padding.
    survivor_states: Vec<u8>,
    /// For each candidate, how many new ones come before it.
    ranks: Vec<u32>,
    /// Ordinal of the first survivor.
    pub(crate) first_survivor: u64,
    /// Properties that do not hold in survivors, by survivor and property.
    pub(crate) failures: Vec<Failure>,
    /// How many survivors reach each goal.
    pub(crate) goals: Vec<u64>,
    reached: Vec<u64>,
    /// What the expander noticed.
    pub(crate) remarks: Vec<Remark>,
}

/// What a task expands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Block {
    /// The imaginary source of all startstates.
    Starts,
    /// The `len` states from `first` on.
    States {
        /// Ordinal of the first one.
        first: u64,
        /// How many there are.
        len: usize,
    },
}

impl Task {
    /// A task that holds next to nothing until something is assigned to it.
    pub(crate) fn new(shape: &Shape) -> Self {
        Task {
            block: Block::Starts,
            cursor: Cursor::default(),
            flow: Flow::Done,
            successors: Successors::new(shape, 1),
            keys: Keys::default(),
            hashes: Vec::new(),
            by_partition: Vec::new(),
            begins: [0; N_PARTITIONS + 1],
            is_new: Vec::new(),
            survivors: Vec::new(),
            survivor_states: Vec::new(),
            ranks: Vec::new(),
            first_survivor: 0,
            failures: Vec::new(),
            goals: vec![0; shape.goals.len()],
            reached: Vec::new(),
            remarks: Vec::new(),
        }
    }

    /// Memory held by a task with a buffer of this capacity, in bytes.
    pub(crate) fn bytes_for(shape: &Shape, capacity: usize) -> u64 {
        // Hashes and positions, or keys.
        let names = encoding(shape).map_or(8 + 4, Keys::bytes_for_state);
        // Marks, survivors and ranks, the survivors' states, their goals.
        let columns = names + 1 + 4 + 4 + shape.state_len + 8 * shape.goal_words();
        (Successors::bytes_for(shape, capacity) + capacity * columns) as u64
    }

    /// Begins with a new block.
    pub(crate) fn assign(&mut self, shape: &Shape, block: Block, capacity: usize) {
        if self.successors.capacity() != capacity {
            self.successors = Successors::new(shape, capacity);
        }
        self.block = block;
        self.cursor = Cursor::default();
        self.flow = Flow::Full(self.cursor);
        self.successors.reset(match block {
            Block::Starts => 1,
            Block::States { len, .. } => len,
        });
    }

    /// Whether the block has more to give.
    pub(crate) fn is_full(&self) -> bool {
        matches!(self.flow, Flow::Full(_))
    }

    /// Number of candidates.
    pub(crate) fn n_candidates(&self) -> usize {
        self.successors.len()
    }

    /// Fills the buffer with raw successors.
    pub(crate) fn expand(&mut self, expander: &mut dyn Expander, arena: &Arena) {
        if let Flow::Full(cursor) = self.flow {
            self.cursor = cursor;
            self.successors.drain();
        }
        self.flow = match self.block {
            Block::Starts => expander.starts(self.cursor, &mut self.successors),
            Block::States { first, len } => {
                let block = self.states_of(arena, first, len);
                expander.expand(block, self.cursor, &mut self.successors)
            }
        };
    }

    /// The states to be expanded.
    fn states_of<'a>(&self, arena: &'a Arena, first: u64, len: usize) -> States<'a> {
        let state_len = self.successors.states().state_len();
        States::new(arena.block(first, len), state_len, len)
    }

    /// Fills the buffer with candidates: canonical successors, their hashes, and their order by
    /// partition.
    pub(crate) fn make_candidates(
        &mut self,
        expander: &mut dyn Expander,
        arena: &Arena,
        visited: &Visited,
    ) {
        self.expand(expander, arena);
        if self.flow == Flow::Stopped {
            return;
        }
        match self.block {
            Block::Starts => expander.canonicalise(self.successors.states_mut()),
            Block::States { first, len } => {
                let block = self.states_of(arena, first, len);
                expander.canonicalise_successors(block, &mut self.successors);
            }
        }
        self.remarks.append(&mut expander.take_remarks());

        let n = self.n_candidates();
        match visited {
            Visited::States(set) => {
                let states = self.successors.states();
                self.keys.fill(set.encoding(), states.bytes(), n);
            }
            Visited::Numbers(_) => {
                self.hashes.clear();
                self.hashes
                    .extend(self.successors.states().iter().map(hash_state));
                self.sort_by_partition();
            }
        }
        self.is_new.clear();
        self.is_new.resize_with(n, AtomicBool::default);
    }

    /// Counting sort, which keeps the order within a partition.
    fn sort_by_partition(&mut self) {
        self.begins = [0; N_PARTITIONS + 1];
        for &hash in &self.hashes {
            self.begins[partition_of(hash) + 1] += 1;
        }
        for partition in 0..N_PARTITIONS {
            self.begins[partition + 1] += self.begins[partition];
        }
        let mut next = self.begins;
        self.by_partition.clear();
        self.by_partition.resize(self.hashes.len(), 0);
        for (position, &hash) in self.hashes.iter().enumerate() {
            let at = &mut next[partition_of(hash)];
            self.by_partition[*at as usize] = position as u32;
            *at += 1;
        }
    }

    /// Number of candidates that belong to each partition, added to `counts`.
    pub(crate) fn count_by_partition(&self, visited: &Visited, counts: &mut [usize; N_PARTITIONS]) {
        for (partition, count) in counts.iter_mut().enumerate() {
            *count += match visited {
                Visited::States(_) => self.keys.positions(partition).len(),
                Visited::Numbers(_) => self.in_partition(partition).len(),
            };
        }
    }

    /// Positions of the candidates that belong to `partition`, in order.
    pub(crate) fn in_partition(&self, partition: usize) -> &[u32] {
        let (from, to) = (self.begins[partition], self.begins[partition + 1]);
        &self.by_partition[from as usize..to as usize]
    }

    /// The candidate at `position` and its hash.
    pub(crate) fn candidate(&self, position: u32) -> (&[u8], u64) {
        let position = position as usize;
        (self.successors.state(position), self.hashes[position])
    }

    /// Notes that the candidate at `position` is new.
    pub(crate) fn mark_new(&self, position: u32) {
        self.is_new[position as usize].store(true, Ordering::Relaxed);
    }

    /// Collects the new candidates and evaluates the properties on them.
    pub(crate) fn check_survivors(
        &mut self,
        expander: &mut dyn Expander,
        shape: &Shape,
        visited: &Visited,
    ) {
        self.survivors.clear();
        self.survivor_states.clear();
        for (position, is_new) in self.is_new.iter_mut().enumerate() {
            if *is_new.get_mut() {
                self.survivors.push(position as u32);
                self.survivor_states
                    .extend_from_slice(self.successors.state(position));
            }
        }
        if matches!(visited, Visited::Numbers(_)) {
            self.rank_candidates();
        }
        self.survivor_states
            .resize(self.survivor_states.len() + PAD_BYTES, 0);
        self.failures.clear();
        self.goals.fill(0);
        if self.survivors.is_empty() {
            return;
        }

        let n = self.survivors.len();
        let block = States::new(&self.survivor_states, shape.state_len, n);
        if expander.check(block, &mut self.failures) == Flow::Stopped {
            self.flow = Flow::Stopped;
            return;
        }
        if !shape.goals.is_empty() {
            let n_words = shape.goal_words();
            self.reached.clear();
            self.reached.resize(n * n_words, 0);
            let flow = expander.reach_goals(block, &mut self.reached, &mut self.failures);
            if flow == Flow::Stopped {
                self.flow = Flow::Stopped;
                return;
            }
            for state in self.reached.chunks(n_words) {
                for (goal, count) in self.goals.iter_mut().enumerate() {
                    *count += (state[goal / 64] >> (goal % 64)) & 1;
                }
            }
            self.failures
                .sort_by_key(|failure| (failure.state, failure.property));
        }
        self.remarks.append(&mut expander.take_remarks());
    }

    fn rank_candidates(&mut self) {
        self.ranks.clear();
        let mut rank = 0;
        for is_new in &mut self.is_new {
            self.ranks.push(rank);
            rank += u32::from(*is_new.get_mut());
        }
    }

    /// The states of the survivors, densely packed, and their number.
    pub(crate) fn survivors(&self) -> (&[u8], usize) {
        let end = self.survivor_states.len() - PAD_BYTES;
        (&self.survivor_states[..end], self.survivors.len())
    }

    /// How each survivor was found.
    pub(crate) fn survivor_parents(&self) -> impl Iterator<Item = Parent> + '_ {
        self.survivors.iter().map(|&position| {
            let position = position as usize;
            let source = u64::from(self.successors.source_of(position));
            Parent {
                // Startstates have no parent; zero keeps the order of the log.
                ordinal: match self.block {
                    Block::Starts => 0,
                    Block::States { first, .. } => first + source,
                },
                index: self.successors.index(position),
            }
        })
    }

    /// The ordinal of the new candidate at `position`.
    pub(crate) fn ordinal_of(&self, position: u32) -> u64 {
        self.first_survivor + u64::from(self.ranks[position as usize])
    }
}
