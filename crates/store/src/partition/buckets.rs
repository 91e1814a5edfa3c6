//! Buckets: ranges of the key space whose candidates are small enough to be sorted in memory, one
//! bucket at a time.
//!
//! Keys are partitioned into buckets as they are generated ([`PartitionBuffers`]), and spilled to
//! files when the buffers are full ([`Spills`]). So a key is partitioned, sorted once, in the cache,
//! and never merged.
//!
//! The borders of buckets are learnt from earlier ranks or, where those do not fit, from the first
//! keys of this one as well. A bucket that becomes too large all the same is [cut](super::cut) when it
//! is read.

use std::ops::Range;

use crate::Error;
use crate::run::{
    Batch, KeyRange, Parts, SortScratch, Sorted, Split, Splitters, sort_keys, sort_part,
};

use super::bucket_reader::{Bucketed, Decoding};
use super::cut::Cut;
use super::spill::{Spills, Stretch, Stripes};
use super::{KeyList, PartitionBuffer, PartitionBuffers};
use crate::tiers::RunContext;

/// All keys of a rank.
pub struct Buckets<'a> {
    buffers: &'a PartitionBuffers,
    splitters: &'a Splitters,
    stretches: &'a [Stretch],
    /// Keys in each bucket.
    n_keys: Vec<u64>,
    /// Keys in all.
    n_candidates: u64,
}

impl<'a> Buckets<'a> {
    /// The keys of `n_candidates` in buffers and spills; `None` if nothing was partitioned.
    pub fn new(
        buffers: &'a PartitionBuffers,
        spills: &'a Spills,
        n_candidates: u64,
    ) -> Option<Self> {
        let splitters = buffers.splitters()?;
        let spilled = |bucket: usize| spills.n_keys.get(bucket).copied().unwrap_or(0);
        let n_keys =
            (0..splitters.n_parts()).map(|bucket| buffers.n_keys(bucket) + spilled(bucket));
        Some(Buckets {
            buffers,
            splitters,
            stretches: &spills.stretches,
            n_keys: n_keys.collect(),
            n_candidates,
        })
    }

    /// About `n` rows of buckets with about as many keys each; none across stretches.
    pub fn rows(&self, n: usize) -> Vec<Range<usize>> {
        let n_keys: u64 = self.n_keys.iter().sum();
        let mut rows = Vec::with_capacity(n);
        let (mut first, mut before) = (0, 0);
        for (bucket, n_here) in self.n_keys.iter().enumerate() {
            before += n_here;
            let ends = |stretch: &Stretch| stretch.buckets.end == bucket + 1;
            let is_last = bucket + 1 == self.n_keys.len() || self.stretches.iter().any(ends);
            if is_last || before * n as u64 >= n_keys * (rows.len() as u64 + 1) {
                rows.push(first..bucket + 1);
                first = bucket + 1;
            }
        }
        rows
    }

    /// Number of keys in a row of buckets.
    pub fn n_in(&self, row: &Range<usize>) -> u64 {
        self.n_keys[row.clone()].iter().sum()
    }

    /// The part of the key space that a row of buckets covers.
    pub fn range(&self, row: &Range<usize>) -> KeyRange<'a> {
        KeyRange {
            from: self.splitters.range(row.start).from,
            to: self.splitters.range(row.end - 1).to,
        }
    }

    /// The keys of a row of buckets in ascending order, of which some are sorted at once.
    pub fn sorted(
        &'a self,
        row: Range<usize>,
        limits: SortLimits,
        context: &'a RunContext<'a>,
    ) -> SortedRow<'a> {
        SortedRow {
            stripes: self.stripes(row.clone()),
            buckets: self,
            row,
            decoding: Decoding {
                layouts: context.layouts,
                n_candidates: Some(self.n_candidates),
            },
            context,
            limits,
            cuts: Vec::new(),
            list: KeyList::default(),
            fine: None,
            scratch: SortScratch::default(),
        }
    }
}

impl Bucketed for Buckets<'_> {
    fn each_chain(
        &self,
        bucket: usize,
        each: &mut dyn FnMut(&PartitionBuffer) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.buffers.each_chain(bucket, each)
    }

    fn stripes(&self, row: Range<usize>) -> Vec<Stripes> {
        let has_row = |stretch: &&Stretch| stretch.buckets.contains(&row.start);
        let Some(stretch) = self.stretches.iter().find(has_row) else {
            return Vec::new();
        };
        let first = stretch.buckets.start;
        let places = row.start - first..row.end - first;
        let spills = stretch.spills.iter();
        spills
            .map(|spill| Stripes::new(spill, places.clone()))
            .collect()
    }

    fn n_keys(&self, bucket: usize) -> u64 {
        self.n_keys[bucket]
    }
}

/// How much of a bucket is sorted at once.
#[derive(Clone, Copy, Debug)]
pub struct SortLimits {
    /// Most keys that are listed and sorted at once.
    pub most_keys: u64,
    /// Memory for the parts of a bucket that has more, in bytes.
    pub part_bytes: u64,
}

/// Keys that are sorted at once, so that they stay in the cache; up to twice as many are not worth
/// splitting.
const PART_KEYS: usize = 1 << 12;
/// The same for wide keys, in bytes.
const PART_BYTES: usize = 128 << 10;

/// Keys in a part that is sorted at once.
fn part_keys(n_words: usize) -> usize {
    PART_KEYS.min(PART_BYTES / (8 * n_words)).max(1)
}

/// Most keys of `n_words` words that are sorted at once.
pub fn most_at_once(n_words: usize) -> usize {
    2 * part_keys(n_words)
}

/// Splits the keys of `chunks` into parts that are sorted in the cache.
pub(crate) fn part_splitters(n_words: usize, chunks: &[&[u64]]) -> Splitters {
    let n_keys = chunks.iter().map(|keys| keys.len()).sum::<usize>() / n_words;
    let n_parts = n_keys.div_ceil(part_keys(n_words));
    Splitters::sample(n_words, chunks, n_parts.clamp(1, 1 << 15))
}

/// The keys of a row of buckets in ascending order: one bucket at a time is read and sorted.
pub struct SortedRow<'a> {
    buckets: &'a Buckets<'a>,
    /// Buckets to come, and what spills have of them.
    row: Range<usize>,
    stripes: Vec<Stripes>,
    decoding: Decoding<'a>,
    context: &'a RunContext<'a>,
    limits: SortLimits,
    /// A bucket that was too large, in parts; and the part of that which was too large.
    cuts: Vec<CutUnderway>,
    list: KeyList,
    /// Where many keys are listed, the parts that are sorted one after the other, and the next.
    fine: Option<(Parts, usize)>,
    scratch: SortScratch,
}

/// A cut whose parts are read.
struct CutUnderway {
    cut: Cut,
    left: Range<usize>,
    stripes: Vec<Stripes>,
}

/// A bucket is not cut more often than this: what is left has nearly equal keys.
const MAX_CUTS: usize = 8;

impl SortedRow<'_> {
    /// Lists the next keys, in the order of generation; false at the end.
    fn take_some(&mut self) -> Result<bool, Error> {
        self.list.clear();
        while self.list.ordinals.is_empty() {
            if self.context.monitor.is_stopped() {
                return Ok(false);
            }
            let n_cuts = self.cuts.len();
            let (bucketed, bucket, stripes): (&dyn Bucketed, _, _) = match self.cuts.last_mut() {
                None => match self.row.next() {
                    Some(bucket) => (self.buckets, bucket, &mut self.stripes),
                    None => return Ok(false),
                },
                Some(underway) => match underway.left.next() {
                    Some(part) => (&underway.cut, part, &mut underway.stripes),
                    None => {
                        self.cuts.pop();
                        continue;
                    }
                },
            };
            let is_large = bucketed.n_keys(bucket) > self.limits.most_keys;
            if is_large && n_cuts < MAX_CUTS {
                let (decoding, limits) = (&self.decoding, &self.limits);
                let cut = Cut::new(bucketed, bucket, stripes, decoding, limits, self.context)?;
                if let Some(cut) = cut {
                    self.cuts.push(CutUnderway {
                        left: 0..cut.n_parts(),
                        stripes: cut.stripes(0..cut.n_parts()),
                        cut,
                    });
                    continue;
                }
                // Without a sample there is no cut, and the bucket may be larger than memory.
                if self.context.monitor.is_stopped() {
                    return Ok(false);
                }
            }
            let mut most = self.limits.most_keys as usize;
            let (n_words, scratch) = (self.decoding.layouts.newest().n_words, &mut self.scratch);
            let list = &mut self.list;
            (self.decoding).read(bucketed, bucket, stripes, list, &mut |list| {
                // Only where many keys are equal: of these the first is enough.
                if list.ordinals.len() > most {
                    list.drop_duplicates(n_words, scratch);
                    most = most.max(2 * list.ordinals.len());
                }
                Ok(())
            })?;
        }
        Ok(true)
    }
}

impl Sorted for SortedRow<'_> {
    fn n_words(&self) -> usize {
        self.decoding.layouts.newest().n_words
    }

    fn next_batch(&mut self, batch: &mut Batch) -> Result<bool, Error> {
        batch.clear();
        let n_words = self.n_words();
        while batch.keys.is_empty() {
            if let Some((parts, next)) = &mut self.fine {
                let KeyList { keys, ordinals, .. } = &self.list;
                let splits = [Split::listed(n_words, keys, ordinals, parts)];
                sort_part(&splits, *next, &mut self.scratch, batch);
                *next += 1;
                if *next == parts.n_parts() {
                    self.fine = None;
                }
                continue;
            }
            if !self.take_some()? {
                return Ok(false);
            }
            let KeyList { keys, ordinals, .. } = &self.list;
            if ordinals.len() <= most_at_once(n_words) {
                sort_keys(n_words, keys, ordinals, &mut self.scratch, batch);
            } else {
                let fine = part_splitters(n_words, &[keys]);
                self.fine = Some((Parts::new(keys, &fine), 0));
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests;
