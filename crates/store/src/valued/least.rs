//! A growing index of the least value of each key: recent entries in memory, older ones in runs.
//!
//! Runs are merged so that each has at least twice the keys of the next one. So an entry is written
//! about as often as the index doubles, and a look-up asks few runs.

use std::collections::BTreeMap;

use super::{LeastMerge, ValueRun};
use crate::Error;
use crate::disk::Folder;
use crate::run::{Batch, KeyRange, Sorted};

/// The least value of each key.
pub struct LeastValues {
    n_words: usize,
    /// What recent entries may take, in bytes.
    recent_bytes: u64,
    recent: BTreeMap<Box<[u64]>, u64>,
    /// The oldest one first, each with more keys than all behind it.
    runs: Vec<ValueRun>,
    /// Where runs lie; in memory without a folder.
    folder: Option<Folder>,
}

/// Memory of a recent entry besides its key, in bytes: its place in a tree whose nodes may be half
/// empty, and what the allocator adds.
const ENTRY_BYTES: u64 = 64;
/// Recent entries, least: fewer are not worth a run.
const LEAST_RECENT: u64 = 1 << 10;
/// Entries that are written at once.
const WRITTEN_AT_ONCE: usize = 1 << 10;

impl LeastValues {
    /// An empty index of keys of `n_words` words, whose recent entries take about `recent_bytes`.
    pub fn new(n_words: usize, recent_bytes: u64, folder: Option<Folder>) -> Self {
        LeastValues {
            n_words,
            recent_bytes,
            recent: BTreeMap::new(),
            runs: Vec::new(),
            folder,
        }
    }

    /// Words of a key.
    pub fn n_words(&self) -> usize {
        self.n_words
    }

    /// Lowers the value of a key to `value`, which it gets if it has none.
    pub fn put(&mut self, key: &[u64], value: u64) -> Result<(), Error> {
        match self.recent.get_mut(key) {
            Some(least) => *least = value.min(*least),
            None => {
                self.recent.insert(key.into(), value);
            }
        }
        let most = (self.recent_bytes / self.entry_bytes()).max(LEAST_RECENT);
        match self.recent.len() as u64 >= most {
            true => self.flush(),
            false => Ok(()),
        }
    }

    /// Fills `values` with the least value of each of `keys`, which ascend; `u64::MAX` where there is
    /// none.
    pub fn find(&self, keys: &[u64], values: &mut Vec<u64>) -> Result<(), Error> {
        values.clear();
        let recent = |key| self.recent.get(key).copied().unwrap_or(u64::MAX);
        values.extend(keys.chunks_exact(self.n_words).map(recent));
        let mut runs = self.runs.iter();
        runs.try_for_each(|run| run.run().lower(keys, values))
    }

    /// Memory held, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        let runs = self.runs.iter().map(ValueRun::memory_bytes);
        self.recent.len() as u64 * self.entry_bytes() + runs.sum::<u64>()
    }

    fn entry_bytes(&self) -> u64 {
        8 * self.n_words as u64 + ENTRY_BYTES
    }

    /// Makes a run of the recent entries, and merges it with older ones of about its length.
    fn flush(&mut self) -> Result<(), Error> {
        let recent = std::mem::take(&mut self.recent);
        let folder = self.folder.as_ref();
        let run = ValueRun::write(self.n_words, folder, |writer| {
            let mut batch = Batch::default();
            for (key, value) in recent {
                batch.keys.extend_from_slice(&key);
                batch.ordinals.push(value);
                if batch.ordinals.len() == WRITTEN_AT_ONCE {
                    writer.push(&batch)?;
                    batch.clear();
                }
            }
            writer.push(&batch)
        })?;
        self.runs.push(run);
        while let [.., older, newer] = &self.runs[..]
            && older.run().n_keys() < 2 * newer.run().n_keys()
        {
            let sources = [older, newer].map(|it| {
                let entries = it.run().entries(KeyRange::ALL);
                Box::new(entries) as Box<dyn Sorted + '_>
            });
            let mut merge = LeastMerge::new(self.n_words, sources.into());
            let merged =
                ValueRun::write(self.n_words, folder, |writer| writer.push_all(&mut merge))?;
            drop(merge);
            self.runs.truncate(self.runs.len() - 2);
            self.runs.push(merged);
        }
        Ok(())
    }
}
