//! States that are opened again: which of a rank's candidates are cheaper paths to states that are
//! expanded already.
//!
//! An estimate belongs to the state, so of two paths to it the cheaper one has the lower rank. A rank
//! that is higher than all before has no cheaper path to anything; only behind a higher one it may.
//! Then the costs of all states are indexed by key, as far as that was not done before, and candidates
//! are looked up there. A search that never returns to lower ranks builds no index.

use std::ops::Range;

use hadal_store::damaged_log;
use hadal_store::valued::LeastValues;

use super::Engine;
use crate::Error;
use crate::rank::Rank;
use crate::storage::Storage;

/// The costs by which states were reached.
#[derive(Default)]
pub(crate) struct Closed {
    /// Where the states of each rank end, and the rank, in the order in which they were found.
    ranked: Vec<(u64, Rank)>,
    highest: Option<Rank>,
    index: Option<Index>,
}

/// The least costs of states by key.
struct Index {
    costs: LeastValues,
    /// States before this ordinal are in it.
    end: u64,
    /// Of the layout of its keys.
    version: u32,
}

/// A rank that may have cheaper paths to states.
#[derive(Clone, Copy)]
pub(crate) struct Reopening<'a> {
    costs: &'a LeastValues,
    /// What its paths cost.
    cost: u64,
}

/// Divisor: the part of the memory for the index.
const INDEX_SHARE: u64 = 32;
/// Divisor: the part of that for entries that are in no run.
const RECENT_SHARE: u64 = 2;
/// Records that are indexed at once.
const RECORDS_AT_ONCE: u64 = 1 << 14;

impl Closed {
    /// What the index of a search with `memory_bytes` takes, in bytes.
    pub(crate) fn share(memory_bytes: u64) -> u64 {
        memory_bytes / INDEX_SHARE
    }

    /// Notes that the states before `end` that were not found before have this rank.
    pub(super) fn note_rank(&mut self, rank: Rank, end: u64) {
        self.highest = self.highest.max(Some(rank));
        if self.end() < end {
            self.ranked.push((end, rank));
        }
    }

    /// The states before this ordinal have a rank.
    fn end(&self) -> u64 {
        self.ranked.last().map_or(0, |&(end, _)| end)
    }

    /// Starts with states that were found by an earlier run.
    pub(crate) fn restore(&mut self, ranked: Vec<(u64, Rank)>) {
        self.highest = ranked.iter().map(|&(_, rank)| rank).max();
        (self.ranked, self.index) = (ranked, None);
    }

    /// Gives up the index; it is made again when it is needed.
    pub(super) fn forget(&mut self) {
        self.index = None;
    }

    /// Memory held, in bytes.
    pub(super) fn memory_bytes(&self) -> u64 {
        let index = (self.index.as_ref()).map_or(0, |index| index.costs.memory_bytes());
        (self.ranked.capacity() * size_of::<(u64, Rank)>()) as u64 + index
    }

    /// The ranges of states in `range` that have one rank, with it.
    fn ranks_in(&self, range: Range<u64>) -> impl Iterator<Item = (Range<u64>, Rank)> + '_ {
        let first = self.ranked.partition_point(|&(end, _)| end <= range.start);
        let mut start = range.start;
        self.ranked[first..].iter().map_while(move |&(end, rank)| {
            let states = start..end.min(range.end);
            start = states.end;
            (!states.is_empty()).then_some((states, rank))
        })
    }

    /// What is looked up for the candidates of `rank`, if some may be cheaper; the index is
    /// [complete](Engine::index_closed).
    pub(crate) fn reopening(&self, cost: u64) -> Option<Reopening<'_>> {
        let index = self.index.as_ref()?;
        let costs = &index.costs;
        Some(Reopening { costs, cost })
    }

    /// Lowers the cost of a state that is opened again.
    pub(super) fn lower(&mut self, key: &[u64], cost: u64) -> Result<(), Error> {
        match &mut self.index {
            Some(index) => Ok(index.costs.put(key, cost)?),
            None => Ok(()),
        }
    }
}

impl Reopening<'_> {
    /// Calls `each` with the position of every one of `keys`, which ascend, whose state was reached by
    /// a costlier path. `costs` is scratch.
    pub(crate) fn each_cheaper(
        &self,
        keys: &[u64],
        costs: &mut Vec<u64>,
        mut each: impl FnMut(usize),
    ) -> Result<(), hadal_store::Error> {
        self.costs.find(keys, costs)?;
        for (position, &cost) in costs.iter().enumerate() {
            if cost != u64::MAX && cost > self.cost {
                each(position);
            }
        }
        Ok(())
    }
}

impl Engine<'_, '_> {
    /// All states that were found since the last call have this rank.
    pub(super) fn note_closed(&mut self, rank: Rank) {
        if let Some(closed) = &mut self.closed {
            closed.note_rank(rank, self.states.len());
        }
    }

    /// The cost of paths to states of `rank`, if some of its candidates may be cheaper paths to states
    /// that are known. Then all states are indexed.
    pub(super) fn cost_to_reopen(&mut self, rank: Rank) -> Result<Option<u64>, Error> {
        let Some(cost) = self.context.order.cost_of(rank) else {
            return Ok(None);
        };
        let is_behind = |closed: &Closed| closed.highest.is_some_and(|highest| highest > rank);
        if !self.closed.as_ref().is_some_and(is_behind) {
            return Ok(None);
        }
        self.index_closed()?;
        Ok(Some(cost))
    }

    /// Indexes the costs of all states that are not indexed yet.
    fn index_closed(&mut self) -> Result<(), Error> {
        let keys = self.context.keys;
        let shape = keys.shape();
        let n_states = self.states.len();
        let is_external = matches!(self.storage, Storage::External(_));
        let folder = (self.context.folder).filter(|_| is_external);
        let folder = folder.map(|search_folder| search_folder.folder.clone());
        let Some(closed) = &mut self.closed else {
            return Ok(());
        };
        let recent_bytes = Closed::share(self.context.budget.total_bytes) / RECENT_SHARE;
        let index = closed.index.take();
        let mut index = match index.filter(|index| index.version == shape.version) {
            Some(index) => index,
            None => Index {
                costs: LeastValues::new(shape.n_words, recent_bytes, folder),
                end: 0,
                version: shape.version,
            },
        };
        let mut words = Vec::new();
        for (states, rank) in closed.ranks_in(index.end..n_states) {
            let cost = self.context.order.cost_of(rank).unwrap_or(0);
            let mut first = states.start;
            while first < states.end {
                let n = RECORDS_AT_ONCE.min(states.end - first);
                words.clear();
                for slice in &self.states.records.read(first, n as usize)? {
                    let read = keys.keys_of(slice, &mut words);
                    read.ok_or_else(|| damaged_log("states"))?;
                }
                for key in words.chunks_exact(shape.n_words) {
                    index.costs.put(key, cost)?;
                }
                first += n;
                if is_external {
                    self.states.records.evict_before(first);
                }
            }
        }
        index.end = n_states.min(closed.end());
        closed.index = Some(index);
        Ok(())
    }
}
