//! Pairs of a key and a value, partitioned by key: equal keys may come with many values, and all pairs
//! of a range of the key space are read together.

use std::ops::Range;

use super::KeyList;
use super::bucket_reader::Bucketed;
use super::parts::{EachPairs, Parts};
use super::spill::Stripes;
use crate::Error;
use crate::codec::KeyShape;
use crate::disk::Folder;
use crate::run::{KeyRange, Splitters};

/// Pairs by ranges of the key space, the *buckets*: in memory, and in scratch files beyond a budget.
/// All keys have one layout.
pub struct Pairs {
    parts: Parts,
    splitters: Splitters,
}

impl Pairs {
    /// No pairs yet; keys of this shape are partitioned by `splitters`, and buffers take about `bytes`
    /// for all workers together. Without a folder all pairs stay in memory.
    ///
    /// # Panics
    /// If keys have another number of words than splitters.
    pub fn new(
        splitters: Splitters,
        shape: KeyShape,
        n_workers: usize,
        bytes: u64,
        folder: Option<Folder>,
    ) -> Self {
        assert_eq!(splitters.n_words(), shape.n_words, "keys of one layout");
        Pairs {
            parts: Parts::new(splitters.n_parts(), shape, n_workers, bytes, folder),
            splitters,
        }
    }

    /// Most buckets with which buffers can keep to `bytes` on `n_workers` workers.
    pub fn most_buckets(shape: KeyShape, n_workers: usize, bytes: u64) -> usize {
        Parts::most(shape, n_workers, bytes)
    }

    /// Adds pairs. Each worker is one thread.
    ///
    /// # Panics
    /// If there are not as many values as keys.
    pub fn push(&self, worker: usize, keys: &[u64], values: &[u64]) -> Result<(), Error> {
        let n_words = self.parts.shape().n_words;
        assert_eq!(keys.len(), values.len() * n_words, "a value for each key");
        let classify = |parts: &mut Vec<u16>| self.splitters.classify(keys, parts);
        (self.parts).put(worker, keys, values.iter().copied(), classify)
    }

    /// Nothing more will be added. To be called before pairs are read.
    pub fn settle(&mut self) -> Result<(), Error> {
        self.parts.settle()
    }

    /// Words of a key.
    pub fn n_words(&self) -> usize {
        self.parts.shape().n_words
    }

    /// Number of buckets.
    pub fn n_buckets(&self) -> usize {
        self.parts.len()
    }

    /// Number of pairs in a bucket.
    pub fn n_in(&self, bucket: usize) -> u64 {
        self.parts.n_keys(bucket)
    }

    /// The part of the key space that a row of buckets covers.
    pub fn range(&self, row: &Range<usize>) -> KeyRange<'_> {
        KeyRange {
            from: self.splitters.range(row.start).from,
            to: self.splitters.range(row.end - 1).to,
        }
    }

    /// Memory held, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.parts.memory_bytes()
    }

    /// Most files that a reader has open.
    pub fn n_files(&self) -> usize {
        self.parts.n_files()
    }

    /// About `n` rows of buckets with about as many pairs each.
    pub fn rows(&self, n: usize) -> Vec<Range<usize>> {
        let counts: Vec<u64> = (0..self.n_buckets())
            .map(|bucket| self.n_in(bucket))
            .collect();
        let n_pairs: u128 = counts.iter().map(|&n| u128::from(n)).sum();
        let mut rows: Vec<Range<usize>> = Vec::with_capacity(n);
        let (mut first, mut before) = (0, 0u128);
        for (bucket, n_here) in counts.iter().enumerate() {
            before += u128::from(*n_here);
            let is_last = bucket + 1 == counts.len();
            if is_last || before * n as u128 >= n_pairs * (rows.len() as u128 + 1) {
                rows.push(first..bucket + 1);
                first = bucket + 1;
            }
        }
        rows
    }

    /// Reads a row of buckets, one after the other.
    pub fn reader(&self, row: Range<usize>) -> PairReader<'_> {
        PairReader {
            pairs: self,
            stripes: self.parts.stripes(row.clone()),
            row,
            list: KeyList::default(),
        }
    }
}

/// Reads the buckets of a row.
pub struct PairReader<'a> {
    pairs: &'a Pairs,
    row: Range<usize>,
    stripes: Vec<Stripes>,
    list: KeyList,
}

impl PairReader<'_> {
    /// Calls `each` with the pairs of the next bucket, in no order, some at a time; returns its number,
    /// `None` at the end.
    pub fn next_bucket(&mut self, each: &mut EachPairs<'_>) -> Result<Option<usize>, Error> {
        let Some(bucket) = self.row.next() else {
            return Ok(None);
        };
        let parts = &self.pairs.parts;
        parts.read(bucket, &mut self.stripes, &mut self.list, each)?;
        Ok(Some(bucket))
    }
}
