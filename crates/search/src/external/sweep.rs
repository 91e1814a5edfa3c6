//! Keys of the set become runs.
//!
//! The set is partitioned by mixed keys, so the keys of some partitions are a sample of all keys,
//! and a run of them lies across the whole key space.

use std::ops::Range;

use hadal_store::disk::BlockWriter;
use hadal_store::run::{RunWriter, Split, sort_part};
use hadal_store::{Error, N_PARTITIONS, Set};

use super::buckets::part_splitters;
use super::parallel::in_parallel;
use super::tiers::{Means, RUN, Segment, Tier, Tiers};
use crate::progress::Work;
use crate::shared::read;

/// A run of so many keys is worth a file of its own.
const SEGMENT_KEYS: usize = 1 << 20;
/// Tiers are cut into so many files at most, so that when tiers are made one, those go early that
/// are done with.
const MAX_SEGMENTS: usize = 16;

/// Adds all keys of the `partitions` of `set` to `tiers`. Sorting takes up to `sort_bytes` of
/// memory.
pub(crate) fn sweep(
    set: &Set,
    partitions: Range<usize>,
    sort_bytes: u64,
    means: &Means<'_>,
    tiers: &mut Tiers,
) -> Result<(), Error> {
    let len = |partition| read(set.partition(partition)).len() as u64;
    let n_keys: u64 = partitions.clone().map(len).sum();
    let n_partitions = partitions.len();
    let n_groups = n_keys.div_ceil(sorted_at_once(sort_bytes, means));
    let n_groups = n_groups.clamp(1, n_partitions.max(1) as u64) as usize;
    means.gauge.begin_work(Work::Sweeping, 0, n_keys);
    for group in 0..n_groups {
        let from = partitions.start + group * n_partitions / n_groups;
        let to = partitions.start + (group + 1) * n_partitions / n_groups;
        tiers.add([sweep_group(set, from..to, means)?]);
    }
    means.gauge.end_work();
    Ok(())
}

/// How many keys are put in order in `sort_bytes` of memory.
pub(super) fn sorted_at_once(sort_bytes: u64, means: &Means<'_>) -> u64 {
    let bytes_per_key = 8 * means.keyed.key_shape().n_words as u64 + 8;
    (sort_bytes / bytes_per_key).max(1)
}

/// A tier of all keys of some partitions.
pub(super) fn sweep_group(
    set: &Set,
    partitions: Range<usize>,
    means: &Means<'_>,
) -> Result<Tier, Error> {
    debug_assert!(partitions.end <= N_PARTITIONS, "there are no more");
    let n_chunks = means.n_threads.min(partitions.len());
    let chunks = in_parallel(means.n_threads, n_chunks, |chunk| {
        let mut keys = Vec::new();
        let from = partitions.start + chunk * partitions.len() / n_chunks;
        let to = partitions.start + (chunk + 1) * partitions.len() / n_chunks;
        for partition in from..to {
            read(set.partition(partition)).keys(&mut keys);
        }
        Ok(keys)
    })?;
    let chunks: Vec<&[u64]> = chunks.iter().map(Vec::as_slice).collect();
    write_sorted(&chunks, means)
}

/// A tier of keys in any order.
pub(super) fn write_sorted(chunks: &[&[u64]], means: &Means<'_>) -> Result<Tier, Error> {
    let shape = means.keyed.key_shape();
    let n_keys = chunks.iter().map(|keys| keys.len()).sum::<usize>() / shape.n_words;
    let splitters = part_splitters(shape.n_words, chunks);
    let splits = in_parallel(means.n_threads, chunks.len(), |chunk| {
        Ok(Split::new(chunks[chunk], 0, &splitters))
    })?;
    let n_parts = splitters.n_parts();
    let n_segments = (n_keys / SEGMENT_KEYS)
        .clamp(1, MAX_SEGMENTS)
        .max(means.n_threads)
        .min(n_parts);
    let segments = in_parallel(means.n_threads, n_segments, |segment| {
        let sink = BlockWriter::create(means.folder, RUN)?;
        let mut writer = RunWriter::new(sink, shape.n_words);
        let (mut scratch, mut batch) = Default::default();
        for part in segment * n_parts / n_segments..(segment + 1) * n_parts / n_segments {
            sort_part(&splits, part, &mut scratch, &mut batch);
            writer.push(&batch.keys)?;
            means
                .gauge
                .note_worked((batch.keys.len() / shape.n_words) as u64);
        }
        Segment::finish(writer, shape.version, means.durable)
    })?;
    Ok(Tier { segments })
}
