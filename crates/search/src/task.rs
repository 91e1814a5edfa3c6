//! A task: one block of states on its way through a round.
//!
//! Its successors get names in the store, and those that turn out to be new are put together, with
//! what there is to say about them. A task owns its buffers, is worked on by one thread at a time,
//! and is read by all while its candidates are looked up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hadal_model::{Expander, Flow, PAD_BYTES, Shape, Source, States, Successors};
use hadal_store::disk::Parents;
use hadal_store::{
    Keys, N_PARTITIONS, Parent, Slice, hash_state, partition_of, write_differences, write_records,
};

use crate::external::write_parents;
use crate::kernel::{Kernel, Verdicts};
use crate::shared::read;
use crate::visited::{Keyed, Visited};
use crate::worker::Worker;

/// A block of states and what has become of it so far.
pub(crate) struct Task {
    /// What is expanded.
    pub(crate) block: Block,
    /// Whether some of its successors are taken already, though there are more.
    pub(crate) is_partly_taken: bool,
    /// The records of the block, where it lies in a log.
    slices: Vec<Slice>,
    /// The states of the block and padding, where they had to be put together.
    sources: Vec<u8>,
    /// Scratch for keys on their way to states.
    words: Vec<u64>,
    /// Whether the records are what was written.
    pub(crate) is_whole: bool,
    /// Its successors.
    pub(crate) kernel: Kernel,
    /// What happened at its states, all of them together; final when [`Task::is_full`] is false.
    pub(crate) happened: Happened,
    /// The candidates' names in the store.
    pub(crate) names: Names,
    is_new: Vec<AtomicBool>,
    /// Positions of the candidates that are new, in order.
    survivors: Vec<u32>,
    /// Their states and padding.
    survivor_states: Vec<u8>,
    /// Their keys, as set and runs have them: of all where they are only candidates, and before of
    /// those whose partitions are swept.
    survivor_keys: Vec<u64>,
    /// Their records, for the log.
    records: Arc<[u8]>,
    /// Or, where it is not known yet whether they are new, their keys by their differences, and
    /// parents. Scratch for records before that.
    parcel: Vec<u8>,
    /// How they were found.
    parents: Parents,
    /// Ordinal of the first survivor; among the candidates of the layer, where it is no more yet.
    pub(crate) first_survivor: u64,
    /// What was found out about the survivors.
    pub(crate) verdicts: Verdicts,
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

impl Block {
    fn len(self) -> usize {
        match self {
            Block::Starts => 1,
            Block::States { len, .. } => len,
        }
    }
}

impl Task {
    /// A task that holds next to nothing until something is assigned to it.
    pub(crate) fn new(shape: &Shape) -> Self {
        Task {
            block: Block::Starts,
            is_partly_taken: false,
            slices: Vec::new(),
            sources: Vec::new(),
            words: Vec::new(),
            is_whole: true,
            kernel: Kernel::new(shape, 1),
            names: Names::default(),
            happened: Happened::default(),
            is_new: Vec::new(),
            survivors: Vec::new(),
            survivor_states: Vec::new(),
            survivor_keys: Vec::new(),
            records: Arc::default(),
            parcel: Vec::new(),
            parents: Parents::default(),
            first_survivor: 0,
            verdicts: Verdicts::new(shape),
        }
    }

    /// Memory held by a task with a buffer of this capacity and blocks of this length, in bytes.
    pub(crate) fn bytes_for(
        shape: &Shape,
        visited: &Visited,
        capacity: usize,
        block_len: usize,
    ) -> u64 {
        // Marks and survivors, the survivors' states or keys, parents and goals.
        let key_len = match visited {
            Visited::Numbers(_) => 0,
            Visited::Keys(keyed) => 8 * keyed.key_shape().n_words,
        };
        let survivor = 4 + shape.state_len.max(key_len) + 1 + 8 * shape.goal_words();
        let columns = Names::bytes_for_state(visited) + 1 + survivor;
        let sources = block_len * Self::bytes_for_source(shape, visited);
        (Successors::bytes_for(shape, capacity) + capacity * columns + sources) as u64
    }

    /// Memory for a state of a block: the state and its key, where it must be made of that.
    pub(crate) fn bytes_for_source(shape: &Shape, visited: &Visited) -> usize {
        match visited {
            Visited::Numbers(_) => 0,
            Visited::Keys(keyed) => shape.state_len + 8 * keyed.codec.newest().n_words,
        }
    }

    /// Begins with a new block. Where it lies in a log, `slices` are its records.
    pub(crate) fn assign(
        &mut self,
        shape: &Shape,
        block: Block,
        slices: Vec<Slice>,
        capacity: usize,
    ) {
        if self.kernel.successors.capacity() != capacity {
            self.kernel = Kernel::new(shape, capacity);
        }
        self.block = block;
        self.is_partly_taken = false;
        self.slices = slices;
        self.sources.clear();
        self.kernel.begin(block.len());
    }

    /// Whether the block has more to give.
    pub(crate) fn is_full(&self) -> bool {
        self.kernel.is_full()
    }

    /// Number of candidates.
    pub(crate) fn n_candidates(&self) -> usize {
        self.kernel.successors.len()
    }

    /// Fills the buffer with raw successors.
    pub(crate) fn expand(&mut self, worker: &mut Worker<'_>, visited: &Visited) {
        self.with_block(visited, |kernel, block| {
            kernel.expand(&mut *worker.expander, block);
        });
        self.happened = Happened::at(self.kernel.successors.sources());
    }

    /// Calls `work` with the states to be expanded; `None` stands for the source of startstates.
    fn with_block(
        &mut self,
        visited: &Visited,
        work: impl FnOnce(&mut Kernel, Option<States<'_>>),
    ) {
        let state_len = self.kernel.successors.states().state_len();
        match (self.block, visited) {
            (Block::Starts, _) => work(&mut self.kernel, None),
            (Block::States { first, len }, Visited::Numbers(numbers)) => {
                let arena = read(&numbers.arena);
                let block = States::new(arena.block(first, len), state_len, len);
                work(&mut self.kernel, Some(block));
            }
            (Block::States { len, .. }, Visited::Keys(keyed)) => {
                if self.sources.is_empty() && self.gather_sources(keyed).is_none() {
                    self.is_whole = false;
                    self.kernel.flow = Flow::Stopped;
                    return;
                }
                let block = States::new(&self.sources, state_len, len);
                work(&mut self.kernel, Some(block));
            }
        }
    }

    fn gather_sources(&mut self, keyed: &Keyed) -> Option<()> {
        for slice in self.slices.drain(..) {
            keyed.decode(&slice, &mut self.words, &mut self.sources)?;
        }
        self.sources.resize(self.sources.len() + PAD_BYTES, 0);
        Some(())
    }

    /// Fills the buffer with candidates: canonical successors and their names, by partition.
    pub(crate) fn make_candidates(&mut self, worker: &mut Worker<'_>, visited: &Visited) {
        self.with_block(visited, |kernel, block| {
            kernel.expand(&mut *worker.expander, block);
            if kernel.flow != Flow::Stopped {
                kernel.canonicalise(&mut *worker.expander, block);
            }
        });
        if self.kernel.flow == Flow::Stopped {
            return;
        }
        if !self.is_full() {
            self.happened = Happened::at(self.kernel.successors.sources());
        }
        self.name_candidates(worker, visited);
        self.is_new.clear();
        self.is_new
            .resize_with(self.n_candidates(), AtomicBool::default);
    }

    /// Makes the names of the candidates; once more, if layouts of keys have changed.
    pub(crate) fn name_candidates(&mut self, worker: &mut Worker<'_>, visited: &Visited) {
        let states = self.kernel.successors.states();
        self.names.fill(worker, visited, states);
    }

    /// Notes that the candidate at `position` is new.
    pub(crate) fn mark_new(&self, position: u32) {
        self.is_new[position as usize].store(true, Ordering::Relaxed);
    }

    /// Puts together what a later look at the candidates needs that may be new: their keys as the
    /// set has them; and those that the codec made, by their differences, with their parents behind.
    pub(crate) fn collect_candidates(&mut self, keyed: &Keyed) {
        self.find_survivors();
        self.verdicts.clear();
        let mut keys = std::mem::take(&mut self.survivor_keys);
        keys.clear();
        let n_words = keyed.key_shape().n_words;
        for key in self.of_survivors(self.names.keys_of(keyed), n_words) {
            keys.extend_from_slice(key);
        }
        self.survivor_keys = keys;
        let mut parcel = std::mem::take(&mut self.parcel);
        parcel.clear();
        let n_words = keyed.codec.newest().n_words;
        let keys = self.of_survivors(&self.names.words, n_words);
        write_differences(n_words, keys, &mut parcel);
        write_parents(self.survivor_parents(), &mut parcel);
        self.parcel = parcel;
    }

    /// Puts together the keys of those new candidates that belong to partitions before
    /// `first_unswept`.
    pub(crate) fn gather_keys(&mut self, keyed: &Keyed, first_unswept: usize) {
        let n_words = keyed.key_shape().n_words;
        let words = self.names.keys_of(keyed);
        self.survivor_keys.clear();
        for partition in 0..first_unswept {
            for &position in self.names.keys.positions(partition) {
                let position = position as usize;
                if self.is_new[position].load(Ordering::Relaxed) {
                    let key = &words[position * n_words..][..n_words];
                    self.survivor_keys.extend_from_slice(key);
                }
            }
        }
    }

    /// Collects the new candidates.
    pub(crate) fn collect_survivors(&mut self, visited: &Visited) {
        self.find_survivors();
        self.survivor_states.clear();
        for &position in &self.survivors {
            let state = self.kernel.successors.state(position as usize);
            self.survivor_states.extend_from_slice(state);
        }
        self.survivor_states
            .resize(self.survivor_states.len() + PAD_BYTES, 0);
        match visited {
            Visited::Numbers(_) => self.names.rank(&self.survivors),
            Visited::Keys(keyed) => {
                let mut records = std::mem::take(&mut self.parcel);
                records.clear();
                let n_words = keyed.codec.newest().n_words;
                let keys = self.of_survivors(&self.names.words, n_words);
                write_records(n_words, keys, &mut records);
                self.records = records.as_slice().into();
                self.parcel = records;
            }
        }
        let mut parents = std::mem::take(&mut self.parents);
        parents.clear();
        self.survivor_parents()
            .for_each(|parent| parents.push(parent));
        self.parents = parents;
    }

    /// The positions of the new candidates. Which ones these are cannot be guessed, so nothing is
    /// decided by it.
    fn find_survivors(&mut self) {
        self.survivors.resize(self.is_new.len(), 0);
        let mut n = 0;
        for (position, is_new) in self.is_new.iter_mut().enumerate() {
            self.survivors[n] = position as u32;
            n += usize::from(*is_new.get_mut());
        }
        self.survivors.truncate(n);
    }

    /// Evaluates the properties on the survivors.
    pub(crate) fn check_survivors(&mut self, expander: &mut dyn Expander, shape: &Shape) {
        let n = self.survivors.len();
        let block = States::new(&self.survivor_states, shape.state_len, n);
        if self.verdicts.find(expander, shape, block) == Flow::Stopped {
            self.kernel.flow = Flow::Stopped;
        }
        self.kernel.remarks.append(&mut expander.take_remarks());
    }

    /// Number of survivors.
    pub(crate) fn n_survivors(&self) -> usize {
        self.survivors.len()
    }

    /// The states of the survivors, densely packed.
    pub(crate) fn survivor_states(&self) -> &[u8] {
        &self.survivor_states[..self.survivor_states.len() - PAD_BYTES]
    }

    /// Candidates that may be new, and their parents behind them.
    pub(crate) fn parcel(&self) -> &[u8] {
        &self.parcel
    }

    /// The records of the survivors.
    pub(crate) fn records(&self) -> &Arc<[u8]> {
        &self.records
    }

    /// How the survivors were found.
    pub(crate) fn parents(&self) -> &Parents {
        &self.parents
    }

    /// How each survivor was found.
    fn survivor_parents(&self) -> impl Iterator<Item = Parent> + '_ {
        self.survivors.iter().map(|&position| {
            let position = position as usize;
            let source = u64::from(self.kernel.successors.source_of(position));
            Parent {
                // Startstates have no parent; zero keeps the order of the log.
                ordinal: match self.block {
                    Block::Starts => 0,
                    Block::States { first, .. } => first + source,
                },
                index: self.kernel.successors.index(position),
            }
        })
    }

    /// The survivors' keys, as set and runs have them.
    pub(crate) fn survivor_keys(&self) -> &[u64] {
        &self.survivor_keys
    }

    /// Of `words`, which has `n_words` for each candidate, those of the survivors.
    fn of_survivors<'a>(
        &'a self,
        words: &'a [u64],
        n_words: usize,
    ) -> impl Iterator<Item = &'a [u64]> + 'a {
        self.survivors
            .iter()
            .map(move |&position| &words[position as usize * n_words..][..n_words])
    }

    /// The ordinal of the new candidate at `position`.
    pub(crate) fn ordinal_of(&self, position: u32) -> u64 {
        self.first_survivor + u64::from(self.names.ranks[position as usize])
    }

    /// The candidate at `position` and its hash.
    pub(crate) fn candidate(&self, position: u32) -> (&[u8], u64) {
        let position = position as usize;
        (
            self.kernel.successors.state(position),
            self.names.hashes[position],
        )
    }
}

/// What happened at the states of a block, as far as it is mostly enough to know.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Happened {
    /// Bodies that ran to their end.
    pub(crate) fired: u64,
    /// Whether some expansion ended in a fault.
    pub(crate) has_fault: bool,
    /// Whether no body ran to its end at some state.
    pub(crate) has_stuck: bool,
    /// Whether no firing led away from some state.
    pub(crate) has_stutter: bool,
}

impl Happened {
    fn at(sources: &[Source]) -> Self {
        let mut happened = Happened::default();
        for source in sources {
            happened.fired += u64::from(source.fired);
            happened.has_fault |= !source.faults.is_empty();
            happened.has_stuck |= source.fired == 0;
            happened.has_stutter |= !source.progress;
        }
        happened
    }
}

/// Names of candidates: words of keys, or hashes; and how they are shared out to partitions.
#[derive(Debug)]
pub(crate) struct Names {
    /// Keys of the candidates that the codec made, in order.
    words: Vec<u64>,
    /// Signatures of the candidates, in order, where the set has these.
    signatures: Vec<u64>,
    /// Keys or signatures by partition, as the set wants them.
    pub(crate) keys: Keys,
    /// Whether some key did not fit the layout.
    pub(crate) is_outgrown: bool,
    /// Hashes of the candidates, in order.
    hashes: Vec<u64>,
    /// Positions of the candidates, by partition and then in order.
    by_partition: Vec<u32>,
    /// Where each partition begins in `by_partition`; one more for the end.
    begins: [u32; N_PARTITIONS + 1],
    /// For each candidate, how many new ones come before it.
    ranks: Vec<u32>,
}

impl Default for Names {
    fn default() -> Self {
        Names {
            words: Vec::new(),
            signatures: Vec::new(),
            keys: Keys::default(),
            is_outgrown: false,
            hashes: Vec::new(),
            by_partition: Vec::new(),
            begins: [0; N_PARTITIONS + 1],
            ranks: Vec::new(),
        }
    }
}

impl Names {
    fn bytes_for_state(visited: &Visited) -> usize {
        match visited {
            // Hash, position, rank.
            Visited::Numbers(_) => 8 + 4 + 4,
            Visited::Keys(keyed) => {
                let placing = read(&keyed.set).placing();
                let signature_words = keyed.hashing.as_ref().map_or(0, |_| placing.key_words());
                8 * (keyed.codec.newest().n_words + signature_words) + Keys::bytes_for_key(placing)
            }
        }
    }

    fn fill(&mut self, worker: &mut Worker<'_>, visited: &Visited, states: States<'_>) {
        match visited {
            Visited::Keys(keyed) => {
                let encoded = worker.encode(&keyed.codec, states, &mut self.words);
                self.is_outgrown = encoded.is_err();
                if self.is_outgrown {
                    return;
                }
                if let Some(hashing) = &keyed.hashing {
                    self.signatures.clear();
                    hashing.append(states, &mut self.signatures);
                }
                let placing = read(&keyed.set).placing();
                let words = match &keyed.hashing {
                    Some(_) => &self.signatures,
                    None => &self.words,
                };
                self.keys.fill(placing, words);
            }
            Visited::Numbers(_) => {
                self.hashes.clear();
                self.hashes.extend(states.iter().map(hash_state));
                self.sort_by_partition();
            }
        }
    }

    /// Keys of the candidates as set and runs have them, in order.
    fn keys_of(&self, keyed: &Keyed) -> &[u64] {
        match &keyed.hashing {
            Some(_) => &self.signatures,
            None => &self.words,
        }
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

    /// Where states have numbers, positions of the candidates that belong to `partition`, in order.
    pub(crate) fn in_partition(&self, partition: usize) -> &[u32] {
        let (from, to) = (self.begins[partition], self.begins[partition + 1]);
        &self.by_partition[from as usize..to as usize]
    }

    /// Adds to `counts` how many candidates belong to each partition.
    pub(crate) fn add_counts(&self, visited: &Visited, counts: &mut [usize; N_PARTITIONS]) {
        match visited {
            Visited::Keys(_) => self.keys.add_counts(counts),
            Visited::Numbers(_) => {
                for (count, bounds) in counts.iter_mut().zip(self.begins.windows(2)) {
                    *count += (bounds[1] - bounds[0]) as usize;
                }
            }
        }
    }

    fn rank(&mut self, survivors: &[u32]) {
        self.ranks.clear();
        for (rank, &survivor) in survivors.iter().enumerate() {
            self.ranks.resize(survivor as usize, rank as u32);
            self.ranks.push(rank as u32);
        }
        self.ranks.resize(self.hashes.len(), survivors.len() as u32);
    }
}
