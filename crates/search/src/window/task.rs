//! A task: one block of states on its way through a window.
//!
//! Its successors become candidates with keys; those that turn out to be new are its survivors,
//! collected with their records, parents and verdicts. A task owns its buffers. One thread at a time
//! works on it, and all threads read it while its candidates are looked up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hadal_model::{Flow, PAD_BYTES, Shape, Source, States, Successors};
use hadal_store::candidates::write_parents;
use hadal_store::codec::EncodedSources;
use hadal_store::disk::Parents;
use hadal_store::key_space::{KeySpace, KeyWidths};
use hadal_store::{Parent, Slice, write_deltas, write_records};

use super::block_source::Block;
use super::candidate_keys::CandidateKeys;
use super::ranking::{CandidateRanks, Ranking};
use crate::budget::WindowSizes;
use crate::findings::is_invalid_end;
use crate::kernel::{Kernel, Verdicts};
use crate::worker::Worker;

/// A block of states and its results so far.
pub(crate) struct Task {
    /// Candidates that its buffer has room for.
    capacity: usize,
    /// Most states of its blocks.
    max_block_len: usize,
    /// What is expanded.
    pub(crate) block: Block,
    /// Whether its buffer holds the next successors, not those already handed on.
    pub(super) is_expanded: bool,
    /// Whether successors of it were handed on and there are more to come.
    pub(super) is_partly_taken: bool,
    /// The records of the block in the log.
    slices: Vec<Slice>,
    /// The states of the block, and padding.
    sources: Vec<u8>,
    /// The codec's keys of these, and their layout.
    source_keys: Vec<u64>,
    source_version: u32,
    /// Whether the records are what was written.
    pub(crate) is_intact: bool,
    /// Its successors.
    pub(crate) kernel: Kernel,
    /// What happened at its states; final when [`Task::is_full`] is false.
    pub(crate) summary: SourceSummary,
    /// Keys of the candidates.
    pub(crate) keys: CandidateKeys,
    /// Their ranks, where these are no depths.
    pub(crate) ranks: CandidateRanks,
    is_new: Vec<AtomicBool>,
    /// Positions of the survivors among the candidates, ascending.
    survivors: Vec<u32>,
    /// States of the survivors, and padding.
    survivor_states: Vec<u8>,
    /// Keys of the survivors as set and runs hold them: of all where it is not known yet whether
    /// they are new, otherwise of those in partitions that are flushed already.
    survivor_keys: Vec<u64>,
    /// Records of the survivors, for the log.
    records: Arc<[u8]>,
    /// Delta-coded keys and parents of the survivors, where it is not known yet whether they are
    /// new; scratch for records otherwise.
    batch: Vec<u8>,
    /// Parents of the survivors.
    parents: Parents,
    /// Ordinal of the first survivor; its number among the candidates of the rank where it is not
    /// known yet whether it is new.
    pub(crate) first_survivor: u64,
    /// Verdicts on the survivors.
    pub(crate) verdicts: Verdicts,
}

impl Task {
    /// A task of a window of these `sizes`, with room for the costs of candidates on request.
    pub(super) fn new(shape: &Shape, sizes: &WindowSizes, with_costs: bool) -> Self {
        let capacity = sizes.buffer_len;
        Task {
            capacity,
            max_block_len: sizes.block_len,
            block: Block::Starts,
            is_expanded: false,
            is_partly_taken: false,
            slices: Vec::new(),
            sources: Vec::new(),
            source_keys: Vec::new(),
            source_version: 0,
            is_intact: true,
            kernel: match with_costs {
                true => Kernel::with_costs(shape, capacity),
                false => Kernel::new(shape, capacity),
            },
            summary: SourceSummary::default(),
            keys: CandidateKeys::default(),
            ranks: CandidateRanks::default(),
            is_new: Vec::new(),
            survivors: Vec::new(),
            survivor_states: Vec::new(),
            survivor_keys: Vec::new(),
            records: Arc::default(),
            batch: Vec::new(),
            parents: Parents::default(),
            first_survivor: 0,
            verdicts: Verdicts::new(shape),
        }
    }

    /// This task, whose successors have multiplicities.
    pub(super) fn with_multiplicities(self) -> Self {
        Task {
            kernel: self.kernel.with_multiplicities(),
            ..self
        }
    }

    /// Most memory that a task with room for `capacity` candidates and blocks of `block_len` states
    /// holds with keys of these `widths`, in bytes.
    pub(crate) fn bytes_for(
        shape: &Shape,
        widths: KeyWidths,
        capacity: usize,
        block_len: usize,
    ) -> u64 {
        let key_len = 8 * widths.codec_words;
        let ranks = CandidateRanks::bytes_for_candidate(shape.measures.len());
        let candidate = CandidateKeys::bytes_for_state(widths) + 1 + ranks;
        // States and records while all states are in memory, later keys and a batch.
        let survivor = 4 + shape.state_len.max(key_len) + key_len + 1 + 8 * shape.goal_words();
        let sources = block_len * (shape.state_len + key_len);
        let successors = Successors::bytes_for_costs(shape, capacity);
        (successors + capacity * (candidate + survivor) + sources) as u64
    }

    /// Most memory that it holds with keys of these `widths`, in bytes.
    pub(super) fn bytes(&self, shape: &Shape, widths: KeyWidths) -> u64 {
        Self::bytes_for(shape, widths, self.capacity, self.max_block_len)
    }

    /// Whether it has the sizes of tasks of a window of these `sizes`.
    pub(super) fn has_sizes(&self, sizes: &WindowSizes) -> bool {
        self.capacity == sizes.buffer_len && self.max_block_len == sizes.block_len
    }

    /// Starts with a new block, whose records are `slices`.
    pub(super) fn assign(&mut self, block: Block, slices: Vec<Slice>) {
        self.block = block;
        self.is_expanded = false;
        self.is_partly_taken = false;
        self.slices = slices;
        self.sources.clear();
        self.kernel.begin(block.len());
        self.ranks.begin();
    }

    /// Whether the buffer is full and the block has more successors.
    pub(crate) fn is_full(&self) -> bool {
        self.kernel.is_full()
    }

    /// Number of candidates.
    pub(crate) fn n_candidates(&self) -> usize {
        self.kernel.successors.len()
    }

    /// The states of the block.
    pub(crate) fn sources(&self) -> States<'_> {
        let state_len = self.kernel.successors.states().state_len();
        States::new(&self.sources, state_len, self.block.len())
    }

    /// Fills the buffer with raw successors.
    pub(crate) fn expand(&mut self, worker: &mut Worker<'_>, keys: &KeySpace) {
        self.with_block(keys, |kernel, block| {
            kernel.expand(&mut *worker.expander, block);
        });
        self.summary = SourceSummary::of(self.kernel.successors.sources());
    }

    /// Calls `work` with the states to expand; `None` is the source of startstates.
    fn with_block(&mut self, keys: &KeySpace, work: impl FnOnce(&mut Kernel, Option<States<'_>>)) {
        let state_len = self.kernel.successors.states().state_len();
        match self.block {
            Block::Starts => work(&mut self.kernel, None),
            Block::States { len, .. } => {
                if self.sources.is_empty() && self.decode_sources(keys).is_none() {
                    self.is_intact = false;
                    self.kernel.flow = Flow::Stopped;
                    return;
                }
                let block = States::new(&self.sources, state_len, len);
                work(&mut self.kernel, Some(block));
            }
        }
    }

    fn decode_sources(&mut self, keys: &KeySpace) -> Option<()> {
        self.source_keys.clear();
        self.source_version = keys.codec.newest().version;
        for slice in self.slices.drain(..) {
            keys.decode(&slice, &mut self.source_keys, &mut self.sources)?;
        }
        self.sources.resize(self.sources.len() + PAD_BYTES, 0);
        Some(())
    }

    /// Fills the buffer with candidates: successors in canonical form, their keys and, where these are
    /// no depths, their ranks.
    pub(super) fn make_candidates(
        &mut self,
        worker: &mut Worker<'_>,
        keys: &KeySpace,
        ranking: Option<&Ranking<'_>>,
    ) {
        self.with_block(keys, |kernel, block| {
            kernel.expand(&mut *worker.expander, block);
            if kernel.flow != Flow::Stopped {
                kernel.canonicalise(&mut *worker.expander, block);
            }
        });
        if let Some(ranking) = ranking
            && self.kernel.flow != Flow::Stopped
        {
            (self.ranks).fill(&mut self.kernel, &mut *worker.expander, ranking);
        }
        if self.kernel.flow == Flow::Stopped {
            return;
        }
        if !self.is_full() {
            self.summary = SourceSummary::of(self.kernel.successors.sources());
        }
        self.encode_candidates(worker, keys);
        self.is_new.clear();
        self.is_new
            .resize_with(self.n_candidates(), AtomicBool::default);
    }

    /// Makes the keys of the candidates; again when the layout of keys has changed.
    pub(crate) fn encode_candidates(&mut self, worker: &mut Worker<'_>, keys: &KeySpace) {
        let successors = &self.kernel.successors;
        let sources = match self.block {
            Block::Starts => None,
            Block::States { .. } => {
                keys.update_codec_keys(self.source_version, &mut self.source_keys, 0);
                self.source_version = keys.codec.newest().version;
                Some(EncodedSources {
                    states: &self.sources,
                    keys: &self.source_keys,
                    sources_of: successors.sources_of(),
                })
            }
        };
        self.keys.fill(worker, keys, successors.states(), sources);
    }

    /// Notes that the candidate at `position` is new, or may be.
    pub(crate) fn mark_new(&self, position: u32) {
        self.is_new[position as usize].store(true, Ordering::Relaxed);
    }

    /// Collects the candidates that may be new for a later look-up: their keys as runs hold them,
    /// and in `batch` the codec's keys with their parents.
    pub(crate) fn collect_candidates(&mut self, keys: &KeySpace) {
        self.find_survivors();
        self.verdicts.clear();
        let mut stored = std::mem::take(&mut self.survivor_keys);
        stored.clear();
        for key in self.of_survivors(self.keys.stored(keys), keys.shape().n_words) {
            stored.extend_from_slice(key);
        }
        self.survivor_keys = stored;
        let mut batch = std::mem::take(&mut self.batch);
        batch.clear();
        let n_words = keys.codec.newest().n_words;
        write_deltas(
            n_words,
            self.of_survivors(&self.keys.words, n_words),
            &mut batch,
        );
        write_parents(self.survivor_parents(), &mut batch);
        self.batch = batch;
    }

    /// Collects the keys of those survivors that belong to partitions before `first_unflushed`.
    pub(crate) fn collect_flushed_keys(&mut self, keys: &KeySpace, first_unflushed: usize) {
        let n_words = keys.shape().n_words;
        let stored = self.keys.stored(keys);
        self.survivor_keys.clear();
        for partition in 0..first_unflushed {
            for &position in self.keys.cells.positions(partition) {
                let position = position as usize;
                if self.is_new[position].load(Ordering::Relaxed) {
                    let key = &stored[position * n_words..][..n_words];
                    self.survivor_keys.extend_from_slice(key);
                }
            }
        }
    }

    /// Collects states, records and parents of the survivors.
    pub(crate) fn collect_survivors(&mut self, keys: &KeySpace) {
        self.find_survivors();
        self.survivor_states.clear();
        for &position in &self.survivors {
            let state = self.kernel.successors.state(position as usize);
            self.survivor_states.extend_from_slice(state);
        }
        self.survivor_states
            .resize(self.survivor_states.len() + PAD_BYTES, 0);
        let mut records = std::mem::take(&mut self.batch);
        records.clear();
        let n_words = keys.codec.newest().n_words;
        let words = self.of_survivors(&self.keys.words, n_words);
        write_records(n_words, words, &mut records);
        self.records = records.as_slice().into();
        self.batch = records;
        let mut parents = std::mem::take(&mut self.parents);
        parents.clear();
        self.survivor_parents()
            .for_each(|parent| parents.push(parent));
        self.parents = parents;
    }

    /// Finds the positions of the survivors. Which ones these are is random, so it is done without
    /// branches.
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
    pub(crate) fn check_survivors(&mut self, worker: &mut Worker<'_>, shape: &Shape) {
        let n = self.survivors.len();
        let block = States::new(&self.survivor_states, shape.state_len, n);
        let expander = &mut *worker.expander;
        if self.verdicts.find(expander, shape, block) == Flow::Stopped {
            self.kernel.flow = Flow::Stopped;
        }
        self.kernel.remarks.append(&mut expander.take_remarks());
    }

    /// Number of survivors.
    pub(crate) fn n_survivors(&self) -> usize {
        self.survivors.len()
    }

    /// The states of the survivors.
    pub(crate) fn survivor_states(&self) -> States<'_> {
        let state_len = self.kernel.successors.states().state_len();
        States::new(&self.survivor_states, state_len, self.survivors.len())
    }

    /// Keys and parents of the candidates that may be new.
    pub(crate) fn batch(&self) -> &[u8] {
        &self.batch
    }

    /// The records of the survivors.
    pub(crate) fn records(&self) -> &Arc<[u8]> {
        &self.records
    }

    /// The parents of the survivors.
    pub(crate) fn parents(&self) -> &Parents {
        &self.parents
    }

    /// The keys of the survivors, as set and runs hold them.
    pub(crate) fn survivor_keys(&self) -> &[u64] {
        &self.survivor_keys
    }

    /// The codec's keys of all candidates.
    pub(crate) fn codec_keys(&self) -> &[u64] {
        &self.keys.words
    }

    /// The keys of all candidates, as set and runs hold them.
    pub(crate) fn candidate_keys(&self, keys: &KeySpace) -> &[u64] {
        self.keys.stored(keys)
    }

    /// The parent of the candidate at `position`.
    pub(crate) fn parent_of(&self, position: usize) -> Parent {
        let source = u64::from(self.kernel.successors.source_of(position));
        Parent {
            ordinal: match self.block {
                Block::Starts => Parent::START,
                Block::States { first, .. } => first + source,
            },
            index: self.kernel.successors.index(position),
        }
    }

    fn survivor_parents(&self) -> impl Iterator<Item = Parent> + '_ {
        (self.survivors.iter()).map(|&position| self.parent_of(position as usize))
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
}

/// What happened at the states of a block: enough to know in most cases that none of them is
/// reported.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SourceSummary {
    /// Bodies that ran to their end.
    pub(crate) fired: u64,
    /// Successors.
    pub(crate) generated: u64,
    /// Whether some expansion met a fault.
    pub(crate) has_fault: bool,
    /// Whether no body ran to its end at some state.
    pub(crate) has_stuck: bool,
    /// Whether no firing led away from some state.
    pub(crate) has_stutter: bool,
    /// Whether nothing is enabled at some state where the model may not end.
    pub(crate) has_invalid_end: bool,
}

impl SourceSummary {
    pub(crate) fn of(sources: &[Source]) -> Self {
        let mut summary = SourceSummary::default();
        for source in sources {
            summary.fired = summary.fired.saturating_add(source.fired);
            summary.generated += u64::from(source.written);
            summary.has_fault |= !source.faults.is_empty();
            summary.has_stuck |= source.fired == 0;
            summary.has_stutter |= !source.progress;
            summary.has_invalid_end |= is_invalid_end(source);
        }
        summary
    }
}
