//! Flushing partitions of the set to sorted runs.
//!
//! The set is partitioned by mixed keys, so the keys of some partitions are a sample of all keys,
//! and a run of them spans the whole key space.

use std::ops::Range;

use crate::disk::BlockWriter;
use crate::run::{PACKED_WORDS, RunWriter, Split, sort_part};
use crate::{Error, N_PARTITIONS, Set};

use super::{RUN, RunContext, RunWork, Segment, Tier, Tiers};
use crate::lock::read;
use crate::parallel::in_parallel;
use crate::partition::{most_at_once, part_splitters};

/// A run of this many keys is worth a file of its own.
const SEGMENT_KEYS: usize = 1 << 20;
/// Most files of a tier. There are several so that a merge can delete the first ones early.
const MAX_SEGMENTS: usize = 16;

/// Adds all keys of the `partitions` of `set` to `tiers`. Sorting takes up to `sort_bytes` of
/// memory.
pub fn flush(
    set: &Set,
    partitions: Range<usize>,
    sort_bytes: u64,
    context: &RunContext<'_>,
    tiers: &mut Tiers,
) -> Result<(), Error> {
    let len = |partition| read(set.partition(partition)).len() as u64;
    let n_keys: u64 = partitions.clone().map(len).sum();
    let n_partitions = partitions.len();
    let n_groups = n_keys.div_ceil(sorted_at_once(sort_bytes, context));
    let n_groups = n_groups.clamp(1, n_partitions.max(1) as u64) as usize;
    context.monitor.begin(RunWork::Flushing, 0, n_keys);
    for group in 0..n_groups {
        let from = partitions.start + group * n_partitions / n_groups;
        let to = partitions.start + (group + 1) * n_partitions / n_groups;
        tiers.add([flush_group(set, from..to, context)?]);
    }
    context.monitor.end();
    Ok(())
}

/// Number of keys sorted in `sort_bytes` of memory.
pub(super) fn sorted_at_once(sort_bytes: u64, context: &RunContext<'_>) -> u64 {
    let n_words = context.layouts.newest().n_words;
    let bytes_per_key = 8 * n_words as u64 + 8;
    // Parts of wide keys are not small beside everything else: each thread copies one twice.
    let scratch = match n_words > PACKED_WORDS {
        true => (2 * context.n_threads * most_at_once(n_words)) as u64 * bytes_per_key,
        false => 0,
    };
    (sort_bytes.saturating_sub(scratch) / bytes_per_key).max(1)
}

/// Writes a tier of all keys of some partitions.
pub(super) fn flush_group(
    set: &Set,
    partitions: Range<usize>,
    context: &RunContext<'_>,
) -> Result<Tier, Error> {
    debug_assert!(partitions.end <= N_PARTITIONS, "there are no more");
    let n_chunks = context.n_threads.min(partitions.len());
    let chunks = in_parallel(context.n_threads, n_chunks, |chunk| {
        let mut keys = Vec::new();
        let from = partitions.start + chunk * partitions.len() / n_chunks;
        let to = partitions.start + (chunk + 1) * partitions.len() / n_chunks;
        for partition in from..to {
            read(set.partition(partition)).keys(&mut keys);
        }
        Ok(keys)
    })?;
    let chunks: Vec<&[u64]> = chunks.iter().map(Vec::as_slice).collect();
    write_sorted(&chunks, context)
}

/// Sorts keys and writes them as a tier.
pub(super) fn write_sorted(chunks: &[&[u64]], context: &RunContext<'_>) -> Result<Tier, Error> {
    let shape = context.layouts.newest();
    let n_keys = chunks.iter().map(|keys| keys.len()).sum::<usize>() / shape.n_words;
    let splitters = part_splitters(shape.n_words, chunks);
    let splits = in_parallel(context.n_threads, chunks.len(), |chunk| {
        Ok(Split::new(chunks[chunk], 0, &splitters))
    })?;
    let n_parts = splitters.n_parts();
    let n_segments = (n_keys / SEGMENT_KEYS)
        .clamp(1, MAX_SEGMENTS)
        .max(context.n_threads)
        .min(n_parts);
    let segments = in_parallel(context.n_threads, n_segments, |segment| {
        let sink = BlockWriter::create(context.folder, RUN)?;
        let mut writer = RunWriter::new(sink, shape.n_words);
        let (mut scratch, mut batch) = Default::default();
        for part in segment * n_parts / n_segments..(segment + 1) * n_parts / n_segments {
            sort_part(&splits, part, &mut scratch, &mut batch);
            writer.push(&batch.keys)?;
            context
                .monitor
                .advance((batch.keys.len() / shape.n_words) as u64);
        }
        Segment::finish(writer, shape.version, context.durable)
    })?;
    Ok(Tier { segments })
}
