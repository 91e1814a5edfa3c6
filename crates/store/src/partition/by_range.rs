//! Pairs of numbers, partitioned into equal ranges of the first one: each may come any number of times
//! and in any order, and all pairs of a range are read together.
//!
//! In contrast to [`ByNumber`](super::ByNumber) a number may have no pair, or billions. In contrast to
//! [`Pairs`](super::Pairs) ranges are equal and need no sample, and the second number is stored as the
//! first one is, as a delta, for neither comes in an order.

use std::ops::Range;

use super::KeyList;
use super::bucket_reader::Bucketed;
use super::parts::Parts;
use crate::Error;
use crate::codec::KeyShape;
use crate::disk::Folder;

/// Receives pairs of numbers.
pub type EachTwo<'e> = dyn FnMut(&[[u64; 2]]) -> Result<(), Error> + 'e;

/// Pairs of numbers by ranges of the first one: in memory, and in scratch files beyond a budget.
pub struct ByRange {
    parts: Parts,
    len: u64,
    range_len: u64,
}

/// A pair is a key of two words, whose number is not used.
const SHAPE: KeyShape = KeyShape {
    version: 0,
    n_bits: 128,
    n_words: 2,
};

impl ByRange {
    /// No pairs yet. First numbers are less than `len`; buffers take about `bytes` for all workers
    /// together, and there are up to `n_ranges` ranges, fewer where `bytes` are too few for as many.
    /// Without a folder everything stays in memory.
    pub fn new(
        len: u64,
        n_ranges: u64,
        n_workers: usize,
        bytes: u64,
        folder: Option<Folder>,
    ) -> Self {
        let most = Parts::most(SHAPE, n_workers, bytes) as u64;
        let range_len = len.div_ceil(n_ranges.clamp(1, most)).max(1);
        Self::with_ranges_of(range_len, len, n_workers, bytes, folder)
    }

    /// As [`new`](Self::new), with ranges of `range_len` numbers, even where buffers then take more.
    pub fn with_ranges_of(
        range_len: u64,
        len: u64,
        n_workers: usize,
        bytes: u64,
        folder: Option<Folder>,
    ) -> Self {
        let n_ranges = len.div_ceil(range_len).max(1) as usize;
        ByRange {
            parts: Parts::new(n_ranges, SHAPE, n_workers, bytes, folder),
            len,
            range_len,
        }
    }

    /// Adds pairs, `[first, second, first, second, …]`. Each worker is one thread.
    ///
    /// # Panics
    /// If a first number is not less than the length.
    pub fn put(&self, worker: usize, pairs: &[[u64; 2]]) -> Result<(), Error> {
        let classify = |parts: &mut Vec<u16>| {
            parts.extend(pairs.iter().map(|&[first, _]| {
                assert!(first < self.len, "numbers are less than the length");
                (first / self.range_len) as u16
            }));
        };
        (self.parts).put(worker, pairs.as_flattened(), std::iter::repeat(0), classify)
    }

    /// Nothing more will be added. To be called before pairs are read.
    pub fn settle(&mut self) -> Result<(), Error> {
        self.parts.settle()
    }

    /// Number of ranges.
    pub fn n_ranges(&self) -> usize {
        self.parts.len()
    }

    /// First numbers of a range.
    pub fn range(&self, number: usize) -> Range<u64> {
        let first = number as u64 * self.range_len;
        first.min(self.len)..self.len.min(first.saturating_add(self.range_len))
    }

    /// Number of pairs in a range.
    pub fn n_in(&self, number: usize) -> u64 {
        self.parts.n_keys(number)
    }

    /// Number of pairs in all ranges.
    pub fn n_pairs(&self) -> u64 {
        (0..self.n_ranges()).map(|range| self.n_in(range)).sum()
    }

    /// Memory held, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.parts.memory_bytes()
    }

    /// Most files that a reader has open.
    pub fn n_files(&self) -> usize {
        self.parts.n_files()
    }

    /// Calls `each` with the pairs of a range, in no order, some at a time.
    pub fn read(&self, number: usize, each: &mut EachTwo<'_>) -> Result<(), Error> {
        let mut stripes = self.parts.stripes(number..number + 1);
        let mut list = KeyList::default();
        let range = self.range(number);
        self.parts
            .read(number, &mut stripes, &mut list, &mut |words, _| {
                let (pairs, _) = words.as_chunks();
                let is_here = |&[first, _]: &[u64; 2]| range.contains(&first);
                match pairs.iter().all(is_here) {
                    true => each(pairs),
                    false => Err(Error::Damaged {
                        file: "pairs by range".to_owned(),
                        offset: 0,
                        what: "a number is not of its range".to_owned(),
                    }),
                }
            })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::ByRange;
    use crate::tiers::bench::Bench;

    /// Counts how often each pair is there.
    fn counts(by_range: &ByRange) -> BTreeMap<[u64; 2], u32> {
        let mut counts = BTreeMap::new();
        for number in 0..by_range.n_ranges() {
            let mut n = 0;
            let mut each = |pairs: &[[u64; 2]]| {
                n += pairs.len() as u64;
                for pair in pairs {
                    assert!(by_range.range(number).contains(&pair[0]));
                    *counts.entry(*pair).or_default() += 1;
                }
                Ok(())
            };
            by_range.read(number, &mut each).expect("it is whole");
            assert_eq!(n, by_range.n_in(number));
        }
        counts
    }

    #[test]
    fn every_pair_is_in_its_range_in_memory_and_on_disk() {
        let mut rng = Pcg64Mcg::seed_from_u64(5);
        let bench = Bench::new();
        for (len, n_ranges, n_pairs) in [(1, 1, 50), (1000, 7, 3000), (u64::MAX, 100, 20_000)] {
            for (bytes, on_disk) in [(0, true), (60_000, true), (1 << 20, false)] {
                let folder = on_disk.then(|| bench.folder.clone());
                let mut by_range = ByRange::new(len, n_ranges, 3, bytes, folder);
                let mut expected = BTreeMap::new();
                for chunk in 0..30 {
                    // One number has most pairs.
                    let pair = |_| match rng.random_range(0..3) {
                        0 => [rng.random_range(0..len), rng.random()],
                        _ => [len / 2, rng.random_range(0..9)],
                    };
                    let pairs: Vec<[u64; 2]> = (0..n_pairs / 30).map(pair).collect();
                    for pair in &pairs {
                        *expected.entry(*pair).or_default() += 1;
                    }
                    by_range.put(chunk % 3, &pairs).expect("there is room");
                }
                by_range.settle().expect("there is room");
                assert_eq!(counts(&by_range), expected, "{len} {n_ranges} {bytes}");
                // What has no memory goes to disk, if there is one.
                assert!(bytes > 0 || by_range.n_files() > 0);
                assert!(on_disk || by_range.n_files() == 0);
            }
        }
    }
}
