//! Buckets: ranges of the key space whose candidates are small enough to be sorted in memory, one
//! bucket at a time.
//!
//! Keys are partitioned into buckets as they are generated ([`PartitionBuffers`]), and spilled to
//! files when the buffers are full ([`Spills`]). So a key is partitioned, sorted once, in the cache,
//! and never merged.
//!
//! The borders of buckets are learnt from earlier ranks or, where those do not fit, from the first
//! keys of this one as well. A bucket that becomes too large all the same is partitioned again when
//! it is read.

use std::ops::Range;

use crate::Error;
use crate::run::{
    Batch, KeyRange, Parts, SortScratch, Sorted, Split, Splitters, sort_keys, sort_part,
};

use super::spill::{Spills, Stretch, Stripes};
use super::{KeyList, LastKey, PartitionBuffer, PartitionBuffers, least_page_bytes};
use crate::tiers::Layouts;

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

    /// The keys of a row of buckets in ascending order, of which `most` are sorted at once.
    pub fn sorted(&'a self, row: Range<usize>, most: u64, layouts: Layouts<'a>) -> SortedRow<'a> {
        let has_row = |stretch: &&Stretch| stretch.buckets.contains(&row.start);
        let stripes = self.stretches.iter().find(has_row).map(|stretch| {
            let first = stretch.buckets.start;
            let places = row.start - first..row.end - first;
            let spills = stretch.spills.iter();
            spills
                .map(|spill| Stripes::new(spill, places.clone()))
                .collect()
        });
        SortedRow {
            reader: RowReader {
                buckets: self,
                layouts,
                stripes: stripes.unwrap_or_default(),
                bucket: row.start,
                bytes: Vec::new(),
            },
            row,
            most,
            parts_left: 0..0,
            parts: PartitionBuffer::default(),
            list: KeyList::default(),
            fine: None,
            scratch: SortScratch::default(),
        }
    }
}

/// Keys sampled for each part of a bucket, and most parts.
const SAMPLES: usize = 256;
const MAX_PARTS: u64 = 1 << 12;
/// Keys that are sorted at once, so that they stay in the cache; up to twice as many are not worth
/// splitting.
const PART_KEYS: usize = 1 << 12;
/// Most keys that are sorted at once.
pub const MOST_AT_ONCE: usize = 2 * PART_KEYS;

/// Splits the keys of `chunks` into parts that are sorted in the cache.
pub(crate) fn part_splitters(n_words: usize, chunks: &[&[u64]]) -> Splitters {
    let n_keys = chunks.iter().map(|keys| keys.len()).sum::<usize>() / n_words;
    let n_parts = n_keys.div_ceil(PART_KEYS);
    Splitters::sample(n_words, chunks, n_parts.clamp(1, 1 << 15))
}

/// The keys of a row of buckets in ascending order: one bucket at a time is read and sorted.
pub struct SortedRow<'a> {
    reader: RowReader<'a>,
    /// Buckets to come.
    row: Range<usize>,
    most: u64,
    /// A bucket that was too large, in parts, and which of them are left.
    parts: PartitionBuffer,
    parts_left: Range<usize>,
    list: KeyList,
    /// Where many keys are listed, the parts that are sorted one after the other, and the next.
    fine: Option<(Parts, usize)>,
    scratch: SortScratch,
}

impl SortedRow<'_> {
    /// Lists the next keys, in the order of generation; false at the end.
    fn take_some(&mut self) -> Result<bool, Error> {
        if let Some(part) = self.parts_left.next() {
            self.list.clear();
            let shape = self.reader.layouts.newest();
            let chain = self.parts.take(part, shape, &mut self.list, |_| ());
            chain.expect("keys are what was partitioned");
            return Ok(true);
        }
        let Some(bucket) = self.row.next() else {
            return Ok(false);
        };
        self.reader.read(bucket)?;
        let n_keys = self.reader.buckets.n_keys[bucket];
        if n_keys > self.most {
            self.reader.cut(n_keys, self.most, &mut self.parts)?;
            self.parts_left = 0..self.parts.n_chains();
            return self.take_some();
        }
        self.list.clear();
        self.reader.take(&mut self.list, |_| ())?;
        Ok(true)
    }
}

impl Sorted for SortedRow<'_> {
    fn n_words(&self) -> usize {
        self.reader.layouts.newest().n_words
    }

    fn next_batch(&mut self, batch: &mut Batch) -> Result<bool, Error> {
        batch.clear();
        let n_words = self.n_words();
        while batch.keys.is_empty() {
            if let Some((parts, next)) = &mut self.fine {
                let KeyList { keys, ordinals } = &self.list;
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
            let KeyList { keys, ordinals } = &self.list;
            if ordinals.len() <= MOST_AT_ONCE {
                sort_keys(n_words, keys, ordinals, &mut self.scratch, batch);
            } else {
                let fine = part_splitters(n_words, &[keys]);
                self.fine = Some((Parts::new(keys, &fine), 0));
            }
        }
        Ok(true)
    }
}

/// Reads the keys of a row of buckets, a bucket at a time.
struct RowReader<'a> {
    buckets: &'a Buckets<'a>,
    layouts: Layouts<'a>,
    stripes: Vec<Stripes<'a>>,
    bucket: usize,
    /// What each spill has of the bucket.
    bytes: Vec<Vec<u8>>,
}

impl RowReader<'_> {
    /// Reads the next bucket, which is `bucket`.
    fn read(&mut self, bucket: usize) -> Result<(), Error> {
        self.bucket = bucket;
        self.bytes.resize_with(self.stripes.len(), Vec::new);
        for (stripes, all) in self.stripes.iter_mut().zip(&mut self.bytes) {
            all.clear();
            stripes.read_next(|bytes| {
                all.extend_from_slice(bytes);
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Appends the keys of the bucket to `list`, some at a time, and calls `each` after each
    /// time.
    fn take(&self, list: &mut KeyList, mut each: impl FnMut(&mut KeyList)) -> Result<(), Error> {
        self.take_from_buffers(list, &mut each)?;
        let mut spilled = self.bytes.iter().enumerate();
        spilled.try_for_each(|(spill, bytes)| self.take_spilled(spill, bytes, list, &mut each))
    }

    /// As [`take`](Self::take), for what is in buffers.
    fn take_from_buffers(
        &self,
        list: &mut KeyList,
        mut each: impl FnMut(&mut KeyList),
    ) -> Result<(), Error> {
        let shape = self.layouts.newest();
        self.buckets.buffers.each_chain(self.bucket, |buffer| {
            let chain = buffer.take(self.bucket, shape, list, &mut each);
            chain.expect("keys are what was partitioned");
            Ok(())
        })
    }

    /// As [`take`](Self::take), for the `bytes` of one spill.
    fn take_spilled(
        &self,
        spill: usize,
        mut bytes: &[u8],
        list: &mut KeyList,
        mut each: impl FnMut(&mut KeyList),
    ) -> Result<(), Error> {
        while !bytes.is_empty() {
            let piece = self.take_piece(&mut bytes, list);
            piece.ok_or_else(|| Error::Damaged {
                file: self.stripes[spill].spill.file.name().to_owned(),
                offset: 0,
                what: "a bucket is not what was written".to_owned(),
            })?;
            each(list);
        }
        Ok(())
    }

    /// Appends the keys of the piece with which `bytes` begin, in the newest layout; `None` if no
    /// piece is there.
    fn take_piece(&self, bytes: &mut &[u8], list: &mut KeyList) -> Option<()> {
        let (n_bytes, rest) = bytes.split_first_chunk()?;
        let (n_keys, rest) = rest.split_first_chunk()?;
        let (version, rest) = rest.split_first_chunk()?;
        let n_bytes = usize::try_from(u64::from_le_bytes(*n_bytes)).ok()?;
        let (n_keys, version) = (u32::from_le_bytes(*n_keys), u32::from_le_bytes(*version));
        let (piece, rest) = rest.split_at_checked(n_bytes)?;
        let newest = self.layouts.newest();
        let n_before = list.ordinals.len();
        if version > newest.version {
            return None;
        }
        if version == newest.version {
            list.append(piece, &mut LastKey::none(newest))?;
        } else {
            let shape = self.layouts.of_version(version);
            let mut older = KeyList::default();
            older.append(piece, &mut LastKey::none(shape))?;
            list.ordinals.append(&mut older.ordinals);
            let recoder = self.layouts.recoder(version, newest.version);
            for key in older.keys.chunks_exact(shape.n_words) {
                let end = list.keys.len();
                list.keys.resize(end + newest.n_words, 0);
                if !recoder.recode(key, &mut list.keys[end..]) {
                    return None;
                }
            }
        }
        *bytes = rest;
        let ordinals = &list.ordinals[n_before..];
        let is_candidate = |&ordinal: &u64| ordinal < self.buckets.n_candidates;
        (ordinals.len() == n_keys as usize && ordinals.iter().all(is_candidate)).then_some(())
    }

    /// Partitions the `n_keys` keys of the bucket into `parts` of about `most` keys, or more where
    /// that would not be worth a page.
    fn cut(&mut self, n_keys: u64, most: u64, parts: &mut PartitionBuffer) -> Result<(), Error> {
        let shape = self.layouts.newest();
        let n_bytes = n_keys * self.buckets.buffers.bytes_per_key(shape);
        let n_worth = n_bytes / (2 * least_page_bytes(shape) as u64);
        let n_parts = n_keys.div_ceil(most).min(n_worth).clamp(1, MAX_PARTS) as usize;
        let stride = (n_keys as usize / n_parts / SAMPLES).max(1);
        let mut sampled = Vec::new();
        let mut scratch = KeyList::default();
        self.take(&mut scratch, |some| {
            let keys = some.keys.chunks_exact(shape.n_words);
            sampled.extend(keys.step_by(stride).flatten());
            some.clear();
        })?;
        let splitters = Splitters::sample(shape.n_words, &[&sampled], n_parts);
        parts.begin_parts(splitters.n_parts(), shape, n_bytes);
        let mut partition = |some: &mut KeyList| {
            let ordinals = some.ordinals.iter().copied();
            parts.partition(&some.keys, ordinals, &splitters, shape);
            some.clear();
        };
        self.take_from_buffers(&mut scratch, &mut partition)?;
        // What is partitioned need not be held twice.
        for (spill, bytes) in std::mem::take(&mut self.bytes).into_iter().enumerate() {
            self.take_spilled(spill, &bytes, &mut scratch, &mut partition)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
