//! When a checkpoint is taken.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hadal_store::Error as StoreError;

use super::{Content, PAYLOAD_VERSION, to_manifest};
use crate::{Options, SearchFolder};

/// The folder of a search, and when its next checkpoint is due.
pub(crate) struct Schedule {
    search_folder: SearchFolder,
    last: Instant,
    every: Duration,
    /// The least time between checkpoints.
    floor: Duration,
    /// How long it took to commit deferred ranks before the checkpoint.
    committed_in: Duration,
    /// Most bytes of files that only the last manifest needs.
    most_retired: u64,
    /// States at the last checkpoint.
    pub(crate) saved_states: u64,
    /// Whether anything changed since the last checkpoint.
    has_worked: AtomicBool,
}

/// A crash loses at most about this much work.
const EVERY: Duration = Duration::from_secs(5);
/// Most bytes on disk for the last manifest alone.
const MOST_RETIRED: u64 = 256 << 20;
/// This many times as many bytes must be free.
const FREE_FOR_RETIRED: u64 = 4;
/// Divisor: the part of the time that checkpoints may take.
const SHARE: u32 = 25;
/// Divisor: the part of the time that committing deferred ranks may take.
const COMMIT_SHARE: u32 = 4;

impl Schedule {
    pub(crate) fn new(search_folder: SearchFolder, options: &Options) -> Self {
        let floor = options.checkpoint_every.unwrap_or(EVERY);
        Schedule {
            search_folder,
            last: Instant::now(),
            every: floor,
            floor,
            committed_in: Duration::ZERO,
            most_retired: MOST_RETIRED.min(options.memory_bytes),
            saved_states: 0,
            has_worked: AtomicBool::new(false),
        }
    }

    /// Whether a checkpoint is long overdue.
    pub(crate) fn is_overdue(&self) -> bool {
        self.is_due() && (self.last.elapsed() >= 2 * self.every || self.retains_too_much())
    }

    /// Whether a checkpoint is due.
    pub(crate) fn is_due(&self) -> bool {
        let is_time = || self.last.elapsed() >= self.every || self.retains_too_much();
        self.is_worthwhile() && is_time()
    }

    /// Whether a checkpoint would save anything, and can be taken.
    pub(crate) fn is_worthwhile(&self) -> bool {
        self.search_folder.resumable && self.has_worked.load(Ordering::Relaxed)
    }

    /// Whether files that only the last manifest needs take too much space. When large runs are
    /// merged, old ones could not be deleted before all new ones are written.
    fn retains_too_much(&self) -> bool {
        let folder = &self.search_folder.folder;
        let retired = folder.retired_bytes();
        let is_free = || folder.has_free(retired.saturating_mul(FREE_FOR_RETIRED));
        retired > self.most_retired || (retired > 0 && !is_free())
    }

    /// Notes how long it took to commit deferred ranks.
    pub(crate) fn note_committed(&mut self, took: Duration) {
        self.committed_in = took;
    }

    /// Notes that there is something to save.
    pub(crate) fn note_work(&self) {
        self.has_worked.store(true, Ordering::Relaxed);
    }

    /// Before the first state: deletes leftovers, and writes a manifest with the label.
    pub(crate) fn begin(&self) -> Result<(), StoreError> {
        match self.search_folder.resumable {
            true => {
                self.search_folder.folder.sweep([])?;
                self.write(&Content::Begun)
            }
            false => Ok(()),
        }
    }

    /// Writes a checkpoint of `n_states` states, work on which began at `since`.
    pub(crate) fn write_checkpoint(
        &mut self,
        content: &Content,
        n_states: u64,
        since: Instant,
    ) -> Result<(), StoreError> {
        self.write(content)?;
        self.saved_states = n_states;
        // A floor of zero asks for a checkpoint after every window, whatever it costs.
        if !self.floor.is_zero() {
            let longest = (since.elapsed() * SHARE).max(self.committed_in * COMMIT_SHARE);
            self.every = self.floor.max(longest);
        }
        self.committed_in = Duration::ZERO;
        self.last = Instant::now();
        self.has_worked.store(false, Ordering::Relaxed);
        Ok(())
    }

    fn write(&self, content: &Content) -> Result<(), StoreError> {
        let manifest = to_manifest(&self.search_folder.label, content);
        self.search_folder.folder.commit(PAYLOAD_VERSION, &manifest)
    }
}

#[cfg(test)]
#[path = "../../tests/parts/schedule.rs"]
mod tests;
