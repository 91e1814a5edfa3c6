//! Storage in memory: a set of all keys.
//!
//! When memory fills up and there is a disk, the set is flushed early, so that the step to external
//! storage is short.

use hadal_store::codec::Recoder;
use hadal_store::disk::Folder;
use hadal_store::key_space::{KeySpace, recode};
use hadal_store::tiers::{EarlyFlush, Tiers, flush};
use hadal_store::{Error as StoreError, N_PARTITIONS, Placing, Set};

use super::{OrdinalIndex, fresh_set};
use crate::Error;
use crate::budget::{Budget, Held};
use crate::external::DiskContext;
use crate::window::Task;

/// Storage of a search whose states are all in memory.
pub(crate) struct Resident {
    pub(crate) set: Set,
    /// Adding up what the set holds takes long, and it changes seldom.
    set_bytes: u64,
    flushing: Flushing,
    /// The ordinals of all states, where somebody needs those of duplicates.
    pub(crate) ordinals: Option<OrdinalIndex>,
}

/// How far early flushing is.
enum Flushing {
    NotStarted,
    Started(Box<EarlyFlush>),
    /// It failed, or is of no use.
    GivenUp,
}

impl Resident {
    pub(crate) fn new(keys: &KeySpace, ordinals: Option<OrdinalIndex>, ample_bytes: u64) -> Self {
        let set = Set::loose(Placing::new(keys.shape().n_bits), ample_bytes);
        Resident {
            set_bytes: set.data_bytes(),
            set,
            flushing: Flushing::NotStarted,
            ordinals,
        }
    }

    /// Adds what is held to its accounts.
    pub(crate) fn add_held(&self, held: &mut Held) {
        held.set += self.set_bytes;
        if let Flushing::Started(flushing) = &self.flushing {
            held.runs += flushing.memory_bytes();
            held.gathered += flushing.gathered_bytes();
        }
        held.graph += self.ordinals.as_ref().map_or(0, OrdinalIndex::data_bytes);
    }

    /// Frees the set; nothing can be looked up any more.
    pub(crate) fn free_set(&mut self, keys: &KeySpace) {
        self.set = fresh_set(keys);
        self.update_set_bytes();
    }

    /// Adds up again what the set holds.
    pub(crate) fn update_set_bytes(&mut self) {
        self.set_bytes = self.set.data_bytes();
    }

    /// About the most memory that recoding the set for keys of `n_bits` bits takes, in bytes.
    pub(crate) fn widening_bytes(&self, n_bits: usize) -> u64 {
        self.set.recode_bytes(n_bits)
    }

    /// Memory of the set, in bytes.
    pub(crate) fn set_bytes(&self) -> u64 {
        self.set_bytes
    }

    /// Recodes the set on up to `n_threads` threads, within `most_bytes` where they suffice. Returns
    /// the most memory that it took meanwhile, in bytes.
    pub(crate) fn widen(
        &mut self,
        recoder: Option<Recoder<'_>>,
        keys: &KeySpace,
        folder: Option<&Folder>,
        most_bytes: u64,
        n_threads: usize,
    ) -> Result<u64, Error> {
        let Some(recoder) = recoder else {
            return Ok(self.set_bytes);
        };
        let recode = |key: &[u64], recoded: &mut [u64]| recode(&recoder, key, recoded);
        let most_bytes = (self.set).recode(keys.shape().n_bits, most_bytes, n_threads, recode);
        self.update_set_bytes();
        // Keys are in other partitions now.
        self.discard_flushed(Flushing::NotStarted, folder)?;
        Ok(most_bytes)
    }

    /// Partitions before this one are flushed: keys that are added to them are gathered.
    pub(crate) fn first_unflushed(&self) -> usize {
        match &self.flushing {
            Flushing::Started(flushing) => flushing.first_unflushed(),
            Flushing::NotStarted | Flushing::GivenUp => 0,
        }
    }

    /// Flushes some partitions, as `held_bytes` in use ask for.
    pub(crate) fn flush_early(
        &mut self,
        held_bytes: u64,
        budget: &Budget,
        disk: &DiskContext<'_>,
    ) -> Result<(), Error> {
        if matches!(self.flushing, Flushing::NotStarted) {
            let flushing = EarlyFlush::new(&self.set, budget.sort_reserve(), &disk.runs());
            self.flushing = Flushing::Started(Box::new(flushing));
        }
        let flushed = match &mut self.flushing {
            Flushing::Started(flushing) => {
                flushing.keep_up(&self.set, held_bytes, budget.flush_range(), &disk.runs())
            }
            Flushing::NotStarted | Flushing::GivenUp => Ok(()),
        };
        self.unless_full(flushed, disk.folder)
    }

    /// Gathers the keys that `tasks` added to flushed partitions.
    pub(crate) fn gather(&mut self, tasks: &[Task], disk: &DiskContext<'_>) -> Result<(), Error> {
        let Flushing::Started(flushing) = &mut self.flushing else {
            return Ok(());
        };
        let (mut tasks, runs) = (tasks.iter(), disk.runs());
        let gathered = tasks.try_for_each(|task| flushing.gather(task.survivor_keys(), &runs));
        self.unless_full(gathered, disk.folder)
    }

    /// A full disk does not end a search that may yet finish in memory.
    fn unless_full(&mut self, done: Result<(), StoreError>, folder: &Folder) -> Result<(), Error> {
        match done {
            Err(StoreError::Full { .. }) => self.discard_flushed(Flushing::GivenUp, Some(folder)),
            done => Ok(done?),
        }
    }

    /// Deletes what was flushed early, which is of no use to a search that ends in memory.
    pub(crate) fn give_up_flushing(&mut self, folder: Option<&Folder>) -> Result<(), Error> {
        self.discard_flushed(Flushing::GivenUp, folder)
    }

    fn discard_flushed(&mut self, next: Flushing, folder: Option<&Folder>) -> Result<(), Error> {
        match (std::mem::replace(&mut self.flushing, next), folder) {
            (Flushing::Started(flushing), Some(folder)) => Ok(flushing.discard(folder)?),
            _ => Ok(()),
        }
    }

    /// Memory has ended: flushes the rest, and returns runs of all keys and the set.
    pub(crate) fn flush_all(
        &mut self,
        budget: &Budget,
        disk: &DiskContext<'_>,
    ) -> Result<(Tiers, Set), Error> {
        let sort_bytes = budget.sort_reserve();
        let tiers = match std::mem::replace(&mut self.flushing, Flushing::GivenUp) {
            Flushing::Started(flushing) => flushing.finish(&self.set, sort_bytes, &disk.runs())?,
            Flushing::NotStarted | Flushing::GivenUp => {
                let mut tiers = Tiers::default();
                flush(
                    &self.set,
                    0..N_PARTITIONS,
                    sort_bytes,
                    &disk.runs(),
                    &mut tiers,
                )?;
                tiers
            }
        };
        let set = std::mem::replace(&mut self.set, fresh_set(disk.keys));
        Ok((tiers, set))
    }

    /// Flushes all keys to `tiers`, empties the set and returns what it was.
    pub(crate) fn flush_to(
        &mut self,
        tiers: &mut Tiers,
        budget: &Budget,
        disk: &DiskContext<'_>,
    ) -> Result<Set, Error> {
        flush(
            &self.set,
            0..N_PARTITIONS,
            budget.sort_reserve(),
            &disk.runs(),
            tiers,
        )?;
        Ok(std::mem::replace(&mut self.set, fresh_set(disk.keys)))
    }
}
