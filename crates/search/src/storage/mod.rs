//! Where visited states are kept: all in memory, or on disk with a cache in memory.
//!
//! Either way a state is recorded twice: its key where duplicates are looked up, and its record in
//! the log of states, from which it is expanded. Paths are replayed from the parents, so an expanded
//! state can leave the log.

mod ordinals;
mod resident;

use hadal_model::Shape;
use hadal_store::disk::{Folder, ParentLog};
use hadal_store::key_space::KeySpace;
use hadal_store::lock::write;
use hadal_store::{Error as StoreError, Keys, Log, N_PARTITIONS, Placing, Retention, Set};

use crate::external::External;
use crate::pool::Pool;
use crate::worker::Worker;

pub(crate) use ordinals::OrdinalIndex;
pub(crate) use resident::Resident;

/// Storage of visited states. [`Engine::go_external`](crate::engine::Engine) takes the step from the
/// first mode to the second.
pub(crate) enum Storage<'a> {
    /// All keys are in memory.
    Resident(Resident),
    /// All keys are in runs on disk, recent ones also in a cache.
    External(Box<External<'a>>),
}

impl Storage<'_> {
    /// Empty storage in memory, with an index of ordinals on request. Its set may be loose up to
    /// `ample_bytes`.
    pub(crate) fn resident(
        shape: &Shape,
        keys: &KeySpace,
        with_ordinals: bool,
        ample_bytes: u64,
    ) -> Self {
        let ordinals = with_ordinals.then(|| OrdinalIndex::new(shape.state_len));
        Storage::Resident(Resident::new(keys, ordinals, ample_bytes))
    }
}

/// The states found, in the order of their ordinals.
#[derive(Default)]
pub(crate) struct StateLog {
    /// Records of those that may still be read.
    pub(crate) records: Log,
    /// Parents of all.
    pub(crate) parents: ParentLog,
}

impl StateLog {
    /// Number of states found.
    pub(crate) fn len(&self) -> u64 {
        self.records.len()
    }

    /// From now on writes everything that a later run needs.
    pub(crate) fn write_all(&mut self, folder: &Folder) -> Result<(), StoreError> {
        self.records
            .attach(folder.clone(), Retention::AllAndWrite)?;
        self.parents.attach(folder)
    }
}

/// An empty set for keys of the newest layout.
pub(crate) fn fresh_set(keys: &KeySpace) -> Set {
    Set::new(Placing::new(keys.shape().n_bits))
}

/// Items for each thread when candidates are inserted, so that no thread waits long for another.
const ITEMS_PER_THREAD: usize = 8;

/// Inserts batches of keys into `set`, each partition by one thread and in order. `mark_new` is called
/// with the batch and the position in it of every key that was not there.
pub(crate) fn insert(
    set: &Set,
    batches: &[&Keys],
    pool: &Pool<'_>,
    mark_new: impl Fn(usize, u32) + Sync,
) {
    let counts = counts(batches);
    let partitions: Vec<usize> = (0..N_PARTITIONS).filter(|&p| counts[p] > 0).collect();
    let insert = |partitions: &[usize], _: &mut Worker<'_>| {
        for &partition in partitions {
            let cells = batches.iter().map(|keys| keys.cells(partition));
            write(set.partition(partition)).add_all(cells, |batch, at| {
                mark_new(batch, batches[batch].positions(partition)[at]);
            });
        }
    };
    // An item is several partitions, because each looks at all batches.
    let per_item = (partitions.len() / (ITEMS_PER_THREAD * pool.n_threads())).max(1);
    let items = partitions.chunks(per_item);
    // Waking threads takes longer than one batch.
    match batches.len() {
        1 => pool.each_alone(items, insert),
        _ => pool.each(items, insert),
    }
}

/// Memory that batches of keys may add to `set`, in bytes.
pub(crate) fn growth_bytes(set: &Set, batches: &[&Keys], n_threads: usize) -> u64 {
    set.growth_bytes(&counts(batches), n_threads)
}

/// Number of keys in each partition.
fn counts(batches: &[&Keys]) -> [usize; N_PARTITIONS] {
    let mut counts = [0; N_PARTITIONS];
    batches.iter().for_each(|keys| keys.add_counts(&mut counts));
    counts
}

#[cfg(test)]
#[path = "../../tests/parts/storage.rs"]
mod tests;
