//! A bucket that has more keys than can be sorted at once, partitioned again.
//!
//! Borders of buckets are predicted; where a rank lies elsewhere in the key space, most of it may be
//! in one bucket. Its keys are then sampled and partitioned into parts, in memory as far as there is
//! some, else in spills of their own. A part that is still too large is cut again.

use std::ops::Range;

use super::bucket_reader::{Bucketed, Decoding};
use super::buckets::SortLimits;
use super::spill::{MAX_SPILLS, Spill, SpillWriter, Stretch, Stripes};
use super::{KeyList, PartitionBuffer, least_page_bytes};
use crate::Error;
use crate::run::Splitters;
use crate::tiers::RunContext;

/// A bucket in parts.
pub(super) struct Cut {
    parts: PartitionBuffer,
    /// What had no room in memory.
    spilled: Stretch,
    /// Keys in each part.
    n_keys: Vec<u64>,
}

/// Most keys sampled for each part, and least.
const SAMPLES: u64 = 256;
const MIN_SAMPLES: u64 = 8;
/// Divisor: the part of the memory that a sample may take.
const SAMPLE_SHARE: u64 = 4;
/// Most parts.
const MAX_PARTS: u64 = 1 << 12;

impl Cut {
    /// Partitions the keys of a bucket; `stripes` are about to read it. `None`, with nothing read, if
    /// its keys are all but equal, so that there is nowhere to cut.
    pub(super) fn new(
        bucketed: &dyn Bucketed,
        bucket: usize,
        stripes: &mut [Stripes],
        decoding: &Decoding<'_>,
        limits: &SortLimits,
        context: &RunContext<'_>,
    ) -> Result<Option<Self>, Error> {
        let shape = decoding.layouts.newest();
        let n_keys = bucketed.n_keys(bucket);
        // Every part has a page that is not full.
        let n_worth = limits.part_bytes / (2 * least_page_bytes(shape) as u64);
        let n_parts = (2 * n_keys).div_ceil(limits.most_keys.max(1));
        let n_parts = n_parts.min(n_worth).clamp(2, MAX_PARTS);
        let sample_bytes = limits.part_bytes / SAMPLE_SHARE;
        let n_samples = sample_bytes / (8 * shape.n_words as u64 * n_parts);
        let stride = n_keys / n_parts / n_samples.clamp(MIN_SAMPLES, SAMPLES);
        let sample = sample(bucketed, bucket, stride.max(1), decoding, context)?;
        let splitters = Splitters::sample(shape.n_words, &[&sample], n_parts as usize);
        drop(sample);
        if splitters.n_parts() == 1 {
            return Ok(None);
        }
        let mut cut = Cut {
            parts: PartitionBuffer::default(),
            spilled: Stretch {
                buckets: 0..splitters.n_parts(),
                spills: Vec::new(),
            },
            n_keys: vec![0; splitters.n_parts()],
        };
        (cut.parts).begin_parts(splitters.n_parts(), shape, limits.part_bytes);
        let mut list = KeyList::default();
        decoding.read(bucketed, bucket, stripes, &mut list, &mut |some| {
            let ordinals = some.ordinals.iter().copied();
            // What is left of a search that stops is not looked at.
            if !context.monitor.is_stopped() {
                (cut.parts).partition(&some.keys, ordinals, &splitters, shape);
            }
            some.clear();
            match cut.parts.memory_bytes() > limits.part_bytes {
                true => cut.spill(shape.version, context),
                false => Ok(()),
            }
        })?;
        // A part is read from its chain, or from spills alone.
        if !cut.spilled.spills.is_empty() {
            cut.spill(shape.version, context)?;
            cut.parts = PartitionBuffer::default();
        }
        for (part, n_keys) in cut.n_keys.iter_mut().enumerate() {
            if cut.spilled.spills.is_empty() {
                *n_keys = cut.parts.n_keys(part).into();
            }
        }
        Ok(Some(cut))
    }

    /// Writes what is in memory to a file.
    fn spill(&mut self, version: u32, context: &RunContext<'_>) -> Result<(), Error> {
        for (part, n_keys) in self.n_keys.iter_mut().enumerate() {
            *n_keys += u64::from(self.parts.n_keys(part));
        }
        let writer = SpillWriter::write_parts(&self.parts, version, context.folder)?;
        self.parts.clear();
        let spills = &mut self.spilled.spills;
        spills.push(writer.finish(0)?);
        while let Some(from) = self.spilled.mergeable(MAX_SPILLS) {
            let spills = &mut self.spilled.spills;
            let merged = Spill::merge(&spills[from..], context.folder)?;
            spills.truncate(from);
            spills.push(merged);
        }
        Ok(())
    }

    pub(super) fn n_parts(&self) -> usize {
        self.n_keys.len()
    }
}

impl Bucketed for Cut {
    fn each_chain(
        &self,
        part: usize,
        each: &mut dyn FnMut(&PartitionBuffer) -> Result<(), Error>,
    ) -> Result<(), Error> {
        match self.parts.n_chains() > 0 && self.parts.n_keys(part) > 0 {
            true => each(&self.parts),
            false => Ok(()),
        }
    }

    fn stripes(&self, row: Range<usize>) -> Vec<Stripes> {
        let spills = self.spilled.spills.iter();
        spills
            .map(|spill| Stripes::new(spill, row.clone()))
            .collect()
    }

    fn n_keys(&self, part: usize) -> u64 {
        self.n_keys[part]
    }
}

/// One in `stride` keys of a bucket.
fn sample(
    bucketed: &dyn Bucketed,
    bucket: usize,
    stride: u64,
    decoding: &Decoding<'_>,
    context: &RunContext<'_>,
) -> Result<Vec<u64>, Error> {
    let n_words = decoding.layouts.newest().n_words;
    let mut stripes = bucketed.stripes(bucket..bucket + 1);
    let (mut sampled, mut skip) = (Vec::new(), 0);
    let mut list = KeyList::default();
    decoding.read(bucketed, bucket, &mut stripes, &mut list, &mut |some| {
        let n_keys = some.ordinals.len() as u64;
        while skip < n_keys && !context.monitor.is_stopped() {
            sampled.extend_from_slice(&some.keys[skip as usize * n_words..][..n_words]);
            skip += stride;
        }
        skip = skip.saturating_sub(n_keys);
        some.clear();
        Ok(())
    })?;
    Ok(sampled)
}
