//! Which keys found since old runs are skipped those runs have: the late look-up.

use hadal_store::run::{
    Batch, Sorted, Union, Versioned, fence_splitters, intersect, lookup_readers,
};
use hadal_store::tiers::{Tiers, Views};
use hadal_store::{Error, in_parallel};

use super::super::context::DiskContext;
use super::super::resolve::{Reading, keys_at_once, n_parts_of};
use crate::progress::Work;

/// Keys that are in skipped runs.
#[derive(Debug, Default)]
pub(crate) struct Hits {
    pub(crate) n_keys: u64,
    /// All of them, ascending, or none if they are too many.
    pub(crate) keys: Vec<u64>,
}

impl Hits {
    /// Whether all of them are listed.
    pub(super) fn are_listed(&self) -> bool {
        !self.keys.is_empty()
    }

    /// Looks up the keys of all young runs in those that are skipped; not all of them, if the search
    /// is stopped.
    pub(super) fn find(tiers: &Tiers, disk: &DiskContext<'_>) -> Result<Self, Error> {
        let n_words = disk.keys.shape().n_words;
        let views = Views::new(tiers.segments(), disk.keys.layouts());
        let view = |segment| views.of(segment);
        let young: Vec<Versioned<'_>> = tiers.young().map(view).collect();
        let skipped: Vec<Versioned<'_>> = tiers.skipped().map(view).collect();
        let n_keys = tiers.n_young_keys();
        disk.gauge().begin_work(Work::Resolving, 0, n_keys);

        // All young tiers are merged, and looked up in the skipped ones. There are no candidates
        // now, so the buckets need nothing.
        let n_readers = tiers.n_young_tiers() + lookup_readers(tiers.n_skipped_tiers());
        let Reading {
            n_threads,
            lent_bytes,
        } = Reading::new(n_readers, disk.shares.buckets, disk);
        let left = disk.shares.buckets.saturating_sub(lent_bytes);
        disk.folder.lent_memory().lower_limit(left);
        tiers.evict(disk.folder);
        let splitters = fence_splitters(n_words, &young, n_parts_of(n_keys, disk));
        let n_at_once = n_threads.min(splitters.n_parts()) as u64;
        // Hits take memory too.
        let batch_bytes = disk.shares.lookup / 2;
        let batch_keys = keys_at_once(batch_bytes / n_at_once, n_words);
        let most_words = (batch_bytes / 8) as usize / splitters.n_parts();
        let n_about = n_keys / splitters.n_parts() as u64;
        let parts = in_parallel(n_threads, splitters.n_parts(), |part| {
            let range = splitters.range(part);
            let mut keys = Counted {
                keys: Union::new(n_words, &young, range),
                disk,
            };
            let mut found = Hits::default();
            intersect(&mut keys, n_about, range, &skipped, batch_keys, |key| {
                found.n_keys += 1;
                if found.keys.len() + n_words <= most_words {
                    found.keys.extend_from_slice(key);
                }
            })?;
            Ok(found)
        })?;
        disk.gauge().end_work();
        let mut all = Hits::default();
        for part in parts {
            all.n_keys += part.n_keys;
            all.keys.extend(part.keys);
        }
        if (all.keys.len() / n_words) as u64 != all.n_keys {
            all.keys = Vec::new();
        }
        Ok(all)
    }
}

/// Keys whose number is reported as progress.
struct Counted<'a> {
    keys: Union<'a>,
    disk: &'a DiskContext<'a>,
}

impl Sorted for Counted<'_> {
    fn n_words(&self) -> usize {
        self.keys.n_words()
    }

    fn next_batch(&mut self, batch: &mut Batch) -> Result<bool, Error> {
        batch.clear();
        if self.disk.stop().is_raised() {
            return Ok(false);
        }
        let more = self.keys.next_batch(batch)?;
        let n_keys = batch.keys.len() / self.keys.n_words();
        self.disk.gauge().note_worked(n_keys as u64);
        Ok(more)
    }
}
