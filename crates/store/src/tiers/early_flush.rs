//! Early flushing: the set is written to runs before memory ends, so that the search does not stall
//! when it does.
//!
//! Sorting and writing all keys of the set takes long. So from a certain part of the budget on, a few
//! partitions are *flushed* after each window, as fast as memory fills up: their keys are written to
//! runs, and stay in the set. Keys that are added to a flushed partition later are gathered and
//! written when there are enough of them. When memory ends nearly all keys are in runs, and only the
//! rest is left to flush.
//!
//! Most searches that get that far run out of memory. One that does not discards the runs. No
//! manifest lists them before memory has ended, so a crash leaves only unlisted files.
//!
//! If the layout of keys changes, all keys move to other partitions, and flushing starts over.
//! Layouts change seldom and early.

use crate::disk::Folder;
use crate::{Error, N_PARTITIONS, Set};

use super::flush::{flush, flush_group, sorted_at_once, write_sorted};
use super::{RunContext, RunWork, Tiers};

/// Partitions are flushed in this many groups, or more where there are many keys: each becomes a
/// run, and all of them are merged later.
const N_GROUPS: u64 = 16;
/// Fewer groups where each would have fewer keys than this.
const MIN_GROUP_KEYS: u64 = 1 << 12;
const MIN_GROUPS: u64 = 4;
/// This many keys are sorted in a fraction of a second.
const MAX_GROUP_KEYS: u64 = 1 << 23;
/// Least number of gathered keys worth a run.
const MIN_CHUNK_KEYS: u64 = 16;

/// Runs of the keys in the set, so far.
pub struct EarlyFlush {
    tiers: Tiers,
    n_groups: usize,
    /// How many groups of partitions are flushed.
    n_flushed: usize,
    /// Keys added to flushed partitions that are in no run yet.
    gathered: Vec<u64>,
    /// Number of words of them that become a run.
    chunk_words: usize,
}

impl EarlyFlush {
    /// Nothing is flushed yet. `sort_reserve` bytes of memory are reserved for sorting.
    pub fn new(set: &Set, sort_reserve: u64, context: &RunContext<'_>) -> Self {
        // Half of the reserve for sorting is for groups, and a quarter for gathered keys.
        let sort_bytes = sort_reserve / 2;
        let most_keys = sorted_at_once(sort_bytes, context);
        // By the end there will be half as many again.
        let n_keys = set.len() + set.len() / 2;
        let n_groups = (n_keys / MIN_GROUP_KEYS)
            .clamp(MIN_GROUPS, N_GROUPS)
            .max(n_keys / most_keys.min(MAX_GROUP_KEYS))
            .min(N_PARTITIONS as u64);
        let chunk_keys = (most_keys / 2).clamp(MIN_CHUNK_KEYS, MAX_GROUP_KEYS);
        EarlyFlush {
            tiers: Tiers::default(),
            n_groups: n_groups as usize,
            n_flushed: 0,
            gathered: Vec::new(),
            chunk_words: chunk_keys as usize * context.layouts.newest().n_words,
        }
    }

    /// Partitions from this one on are not flushed yet.
    pub fn first_unflushed(&self) -> usize {
        self.n_flushed * N_PARTITIONS / self.n_groups
    }

    /// Flushes a group of partitions if memory is full enough: flushing begins and should end with so
    /// many bytes in use as `range` has.
    pub fn keep_up(
        &mut self,
        set: &Set,
        held_bytes: u64,
        range: (u64, u64),
        context: &RunContext<'_>,
    ) -> Result<(), Error> {
        let (begin, end) = range;
        let passed = u128::from(held_bytes.saturating_sub(begin));
        let wanted = passed * self.n_groups as u128 / u128::from((end - begin).max(1));
        if self.n_flushed == self.n_groups || self.n_flushed as u128 >= wanted {
            return Ok(());
        }
        let from = self.first_unflushed();
        let to = (self.n_flushed + 1) * N_PARTITIONS / self.n_groups;
        let n_keys = set.len();
        let n_done = n_keys * self.n_flushed as u64 / self.n_groups as u64;
        context.monitor.begin(RunWork::Flushing, n_done, n_keys);
        self.tiers.add([flush_group(set, from..to, context)?]);
        context.monitor.end();
        self.n_flushed += 1;
        Ok(())
    }

    /// Takes keys that were added to flushed partitions.
    pub fn gather(&mut self, keys: &[u64], context: &RunContext<'_>) -> Result<(), Error> {
        if self.gathered.len() + keys.len() > self.chunk_words {
            self.write_gathered(context)?;
        }
        if self.gathered.is_empty() && !keys.is_empty() {
            self.gathered
                .reserve_exact(self.chunk_words.max(keys.len()));
        }
        self.gathered.extend_from_slice(keys);
        Ok(())
    }

    fn write_gathered(&mut self, context: &RunContext<'_>) -> Result<(), Error> {
        if !self.gathered.is_empty() {
            let n_words = context.layouts.newest().n_words;
            let stretch = (self.gathered.len() / n_words).div_ceil(context.n_threads) * n_words;
            let chunks: Vec<&[u64]> = self.gathered.chunks(stretch).collect();
            self.tiers.add([write_sorted(&chunks, context)?]);
            self.gathered.clear();
        }
        Ok(())
    }

    /// Memory ends: flushes the rest. The runs have all keys of `set`.
    pub fn finish(
        mut self,
        set: &Set,
        sort_bytes: u64,
        context: &RunContext<'_>,
    ) -> Result<Tiers, Error> {
        self.write_gathered(context)?;
        let rest = self.first_unflushed()..N_PARTITIONS;
        self.gathered = Vec::new();
        if !rest.is_empty() {
            flush(set, rest, sort_bytes, context, &mut self.tiers)?;
        }
        Ok(self.tiers)
    }

    /// Deletes the runs.
    pub fn discard(self, folder: &Folder) -> Result<(), Error> {
        self.tiers.retire(folder)
    }

    /// Memory in use out of the reserve for sorting, in bytes.
    pub fn gathered_bytes(&self) -> u64 {
        8 * self.gathered.capacity() as u64
    }

    /// Memory held beside that, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.tiers.memory_bytes()
    }
}

#[cfg(test)]
mod tests;
