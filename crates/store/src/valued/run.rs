//! A run with values as it lies on disk: its fences, and which blocks a range of keys has.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::entries::Entries;
use super::writer::WrittenValues;
use crate::run::{Footer, KeyRange, Older, fence_stride, read_index};
use crate::{BlockSource, Error};

/// In the footer.
pub(super) const MAGIC: &[u8; 8] = b"HDLVAL1\0";

/// Ascending distinct keys on disk, each with a value; the first key of each block in memory.
pub struct ValuedRun {
    source: Arc<dyn BlockSource>,
    name: String,
    n_words: usize,
    n_keys: u64,
    n_data_blocks: u32,
    fences: Vec<u64>,
    last_key: Vec<u64>,
}

impl fmt::Debug for ValuedRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ValuedRun")
            .field("name", &self.name)
            .field("n_words", &self.n_words)
            .field("n_keys", &self.n_keys)
            .field("n_data_blocks", &self.n_data_blocks)
            .finish_non_exhaustive()
    }
}

impl ValuedRun {
    /// Opens the run of `n_blocks` blocks in `source`; errors call it `name`.
    pub fn open(source: Arc<dyn BlockSource>, n_blocks: u32, name: &str) -> Result<Self, Error> {
        let (footer, fences) = read_index(&*source, n_blocks, name, MAGIC)?;
        let Footer {
            n_words,
            n_data_blocks,
            n_keys,
            last_key,
        } = footer;
        Ok(ValuedRun {
            source,
            name: name.to_owned(),
            n_words,
            n_keys,
            n_data_blocks,
            fences,
            last_key,
        })
    }

    /// The run that was just written to `source`; errors call it `name`.
    pub fn new(source: Arc<dyn BlockSource>, written: WrittenValues, name: &str) -> Self {
        ValuedRun {
            source,
            name: name.to_owned(),
            n_words: written.n_words,
            n_keys: written.n_keys,
            n_data_blocks: written.n_data_blocks,
            fences: written.fences,
            last_key: written.last_key,
        }
    }

    /// Words of a key.
    pub fn n_words(&self) -> usize {
        self.n_words
    }

    /// Number of keys.
    pub fn n_keys(&self) -> u64 {
        self.n_keys
    }

    /// The greatest key, if any.
    pub fn last_key(&self) -> Option<&[u64]> {
        (self.n_keys > 0).then_some(&self.last_key)
    }

    /// The first keys of blocks, ascending: a sample of the keys.
    pub fn fences(&self) -> &[u64] {
        &self.fences
    }

    /// Memory held, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        (8 * (self.fences.capacity() + self.last_key.capacity()) + self.name.capacity()) as u64
    }

    /// The entries in `range`, ascending.
    pub fn entries<'a>(&'a self, range: KeyRange<'a>) -> Entries<'a> {
        Entries::new(self, range, None)
    }

    /// As [`entries`](Self::entries) of a run whose keys have an older layout, in the newest one, of
    /// which `range` is as well.
    pub fn entries_as<'a>(&'a self, range: KeyRange<'a>, older: Older<'a>) -> Entries<'a> {
        Entries::new(self, range, Some(older))
    }

    /// The blocks that may have keys in `range`, which is of the run's own layout.
    pub(super) fn blocks_in(&self, range: KeyRange<'_>) -> Range<u32> {
        if self.last_key().is_none_or(|last| range.starts_after(last)) {
            return 0..0;
        }
        let fences = || self.fences.chunks_exact(self.n_words);
        // The fence before the first one in the range has keys that are in it.
        let n_before = fences().partition_point_by(|fence| range.starts_after(fence));
        let n_within = fences().partition_point_by(|fence| !range.ends_before(fence));
        let stride = fence_stride(self.n_words);
        let first = (n_before.saturating_sub(1) as u32).saturating_mul(stride);
        let end = (n_within as u32)
            .saturating_mul(stride)
            .min(self.n_data_blocks);
        first..end.max(first)
    }

    /// The blocks that may have `key`: those behind the last fence that is not greater.
    pub(super) fn blocks_of(&self, key: &[u64]) -> Range<u32> {
        if self.last_key().is_none_or(|last| last < key) {
            return 0..0;
        }
        let fences = self.fences.chunks_exact(self.n_words);
        let n_before = fences.partition_point_by(|fence| fence <= key) as u32;
        let stride = fence_stride(self.n_words);
        let first = n_before.saturating_sub(1).saturating_mul(stride);
        let end = n_before.saturating_mul(stride).min(self.n_data_blocks);
        first..end.max(first)
    }

    /// Whether it may have keys in `range`, which is of the run's own layout.
    pub fn may_have(&self, range: KeyRange<'_>) -> bool {
        !self.blocks_in(range).is_empty()
    }

    pub(super) fn source(&self) -> &dyn BlockSource {
        &*self.source
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

/// Binary search over chunks.
trait PartitionPoint {
    /// The number of leading chunks for which `before` holds.
    fn partition_point_by(self, before: impl Fn(&[u64]) -> bool) -> usize;
}

impl PartitionPoint for std::slice::ChunksExact<'_, u64> {
    fn partition_point_by(self, before: impl Fn(&[u64]) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            match self.clone().nth(middle).is_some_and(&before) {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }
}
