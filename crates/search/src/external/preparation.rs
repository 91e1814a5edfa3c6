//! What is done before memory ends, so that the search does not stand still when it does.
//!
//! To put all keys of the set in order and write them down takes longer than anyone should have to
//! wait. So from some share of the budget on a few partitions are *swept* after each round, as fast
//! as memory fills up: their keys become runs, though the set still has them. Keys that come into
//! a swept partition later are gathered, and become runs when there are enough of them. When
//! memory ends nearly all keys are in runs, and only the rest has to be swept.
//!
//! Most searches that come so far go on to the end of memory. One that does not has written its
//! keys in vain, and throws the runs away. They are in no manifest before memory has ended, so a
//! crash leaves only files that nobody knows.
//!
//! If the layout of keys changes, all keys move to other partitions. Layouts change seldom and
//! early, so then it is begun anew.

use hadal_store::disk::Folder;
use hadal_store::{Error, N_PARTITIONS, Set};

use super::sort_reserve;
use super::sweep::{sorted_at_once, sweep, sweep_group, write_sorted};
use super::tiers::{Means, Tiers};
use crate::progress::Work;

/// Hundredths of the budget at which it begins, and at which all partitions should be swept. Keys
/// that have room in memory take up to 87.
const BEGIN_PERCENT: u64 = 60;
const END_PERCENT: u64 = 82;
/// Partitions are swept in so many groups, or more where there are many keys: each makes a run, and
/// all of them are merged one day.
const N_GROUPS: u64 = 16;
/// In fewer where keys are so few.
const MIN_GROUP_KEYS: u64 = 1 << 12;
const MIN_GROUPS: u64 = 4;
/// So many keys are put in order in a fraction of a second.
const MAX_GROUP_KEYS: u64 = 1 << 23;
/// Gathered keys are worth a run if they are so many.
const MIN_CHUNK_KEYS: u64 = 16;

/// Runs of what the set has, so far.
pub(crate) struct Preparation {
    tiers: Tiers,
    n_groups: usize,
    /// How many groups of partitions are swept.
    n_swept: usize,
    /// Keys that came into swept partitions and are in no run yet.
    gathered: Vec<u64>,
    /// How many words of them make a run.
    chunk_words: usize,
}

impl Preparation {
    /// Whether it is time to begin, with `held_bytes` of `memory_bytes`.
    pub(crate) fn is_due(held_bytes: u64, memory_bytes: u64) -> bool {
        held_bytes > memory_bytes / 100 * BEGIN_PERCENT
    }

    /// Nothing is swept yet. The data may take `memory_bytes` together.
    pub(crate) fn new(set: &Set, memory_bytes: u64, means: &Means<'_>) -> Self {
        // Half of what is left free for sorting is for groups, and a quarter for what is gathered.
        let sort_bytes = sort_reserve(memory_bytes) / 2;
        let most_keys = sorted_at_once(sort_bytes, means);
        // By the end there will be half as many again.
        let n_keys = set.len() + set.len() / 2;
        let n_groups = (n_keys / MIN_GROUP_KEYS)
            .clamp(MIN_GROUPS, N_GROUPS)
            .max(n_keys / most_keys.min(MAX_GROUP_KEYS))
            .min(N_PARTITIONS as u64);
        let chunk_keys = (most_keys / 2).clamp(MIN_CHUNK_KEYS, MAX_GROUP_KEYS);
        Preparation {
            tiers: Tiers::default(),
            n_groups: n_groups as usize,
            n_swept: 0,
            gathered: Vec::new(),
            chunk_words: chunk_keys as usize * means.keyed.key_shape().n_words,
        }
    }

    /// Partitions from this one on are not swept yet.
    pub(crate) fn first_unswept(&self) -> usize {
        self.n_swept * N_PARTITIONS / self.n_groups
    }

    /// Sweeps a group of partitions, if memory is so full that it is time to.
    pub(crate) fn keep_up(
        &mut self,
        set: &Set,
        held_bytes: u64,
        memory_bytes: u64,
        means: &Means<'_>,
    ) -> Result<(), Error> {
        let percent = |percent: u64| memory_bytes / 100 * percent;
        let (begin, end) = (percent(BEGIN_PERCENT), percent(END_PERCENT));
        let passed = u128::from(held_bytes.saturating_sub(begin));
        let wanted = passed * self.n_groups as u128 / u128::from((end - begin).max(1));
        if self.n_swept == self.n_groups || self.n_swept as u128 >= wanted {
            return Ok(());
        }
        let from = self.first_unswept();
        let to = (self.n_swept + 1) * N_PARTITIONS / self.n_groups;
        let n_keys = set.len();
        let n_done = n_keys * self.n_swept as u64 / self.n_groups as u64;
        means.gauge.begin_work(Work::Sweeping, n_done, n_keys);
        self.tiers.add([sweep_group(set, from..to, means)?]);
        means.gauge.end_work();
        self.n_swept += 1;
        Ok(())
    }

    /// Takes keys that came into swept partitions.
    pub(crate) fn gather(&mut self, keys: &[u64], means: &Means<'_>) -> Result<(), Error> {
        if self.gathered.len() + keys.len() > self.chunk_words {
            self.write_gathered(means)?;
        }
        if self.gathered.is_empty() && !keys.is_empty() {
            self.gathered
                .reserve_exact(self.chunk_words.max(keys.len()));
        }
        self.gathered.extend_from_slice(keys);
        Ok(())
    }

    fn write_gathered(&mut self, means: &Means<'_>) -> Result<(), Error> {
        if !self.gathered.is_empty() {
            let n_words = means.keyed.key_shape().n_words;
            let stretch = (self.gathered.len() / n_words).div_ceil(means.n_threads) * n_words;
            let chunks: Vec<&[u64]> = self.gathered.chunks(stretch).collect();
            self.tiers.add([write_sorted(&chunks, means)?]);
            self.gathered.clear();
        }
        Ok(())
    }

    /// Memory ends: sweeps the rest. The runs have all keys of `set`.
    pub(crate) fn finish(
        mut self,
        set: &Set,
        sort_bytes: u64,
        means: &Means<'_>,
    ) -> Result<Tiers, Error> {
        self.write_gathered(means)?;
        let rest = self.first_unswept()..N_PARTITIONS;
        self.gathered = Vec::new();
        if !rest.is_empty() {
            sweep(set, rest, sort_bytes, means, &mut self.tiers)?;
        }
        Ok(self.tiers)
    }

    /// Deletes the runs.
    pub(crate) fn discard(self, folder: &Folder) -> Result<(), Error> {
        self.tiers.retire(folder)
    }

    /// Memory that is taken of what is left free for sorting, in bytes.
    pub(crate) fn gathered_bytes(&self) -> u64 {
        8 * self.gathered.capacity() as u64
    }

    /// Memory held beside that, in bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.tiers.memory_bytes()
    }
}

#[cfg(test)]
mod tests;
