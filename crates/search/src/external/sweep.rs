//! The moment memory ends: all keys of the set become runs.
//!
//! The set is partitioned by mixed keys, so some partitions at a time are put in order and written
//! down, each time a run across the whole key space. They are made one with the next layer, so that
//! the search does not stand still for both.

use hadal_store::disk::BlockWriter;
use hadal_store::run::{RunWriter, Split, Splitters, sort_part};
use hadal_store::{Error, N_PARTITIONS, Set};

use super::candidates::PART_KEYS;
use super::parallel::in_parallel;
use super::tiers::{Means, RUN, Segment, Tiers};
use crate::shared::read;

/// Adds all keys of `set` to `tiers`. Sorting takes up to `sort_bytes` of memory.
pub(crate) fn sweep(
    set: &Set,
    sort_bytes: u64,
    means: &Means<'_>,
    tiers: &mut Tiers,
) -> Result<(), Error> {
    let shape = means.keyed.key_shape();
    let bytes_per_key = 8 * shape.n_words as u64 + 8;
    let group_keys = (sort_bytes / bytes_per_key / means.n_threads as u64).max(1);
    let n_groups = set.len().div_ceil(group_keys).clamp(1, N_PARTITIONS as u64) as usize;
    let groups = in_parallel(means.n_threads, n_groups, |group| {
        let mut keys = Vec::new();
        let from = group * N_PARTITIONS / n_groups;
        let to = (group + 1) * N_PARTITIONS / n_groups;
        for partition in from..to {
            read(set.partition(partition)).keys(&mut keys);
        }
        let n_parts = (keys.len() / shape.n_words).div_ceil(PART_KEYS).max(1);
        let splitters = Splitters::sample(shape.n_words, &[&keys], n_parts.min(1 << 15));
        let splits = [Split::new(&keys, 0, &splitters)];
        let sink = BlockWriter::create(means.folder, RUN)?;
        let mut writer = RunWriter::new(sink, shape.n_words, false);
        let (mut scratch, mut batch) = Default::default();
        for part in 0..splitters.n_parts() {
            sort_part(&splits, part, &mut scratch, &mut batch);
            writer.push(&batch.keys, &[])?;
        }
        Segment::finish(writer, shape.version, means.durable)
    })?;
    tiers.add_runs(groups);
    Ok(())
}
