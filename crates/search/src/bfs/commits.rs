//! When and how a search is written down, so that a later run can go on with it.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hadal_store::Error as StoreError;

use super::Search;
use crate::snapshot::{Content, Snapshot, to_manifest};
use crate::{Error, OnDisk, Options};

/// The folder of a search, and when its manifest is due.
pub(super) struct Commits {
    on_disk: OnDisk,
    last: Instant,
    every: Duration,
    /// The least that may be.
    floor: Duration,
    /// How long it took to make certain of what is to be written.
    made_certain_in: Duration,
    can_be_saved: bool,
    /// More than so many bytes of files that only the last manifest needs are not kept for it.
    most_retired: u64,
    /// States that the last manifest knows.
    pub(super) saved_states: u64,
    /// Whether anything was done since the last time.
    has_worked: AtomicBool,
}

/// So much of the work may be lost.
const EVERY: Duration = Duration::from_secs(5);
/// So many bytes may lie on the disk for the last manifest alone.
const MOST_RETIRED: u64 = 256 << 20;
/// And so many times as many must be free.
const FREE_FOR_RETIRED: u64 = 4;
/// Writing down may take one in so many seconds.
const SHARE: u32 = 25;
/// And to make certain of what is written one in so many.
const CERTAIN_SHARE: u32 = 4;

impl Commits {
    pub(super) fn new(on_disk: OnDisk) -> Self {
        Commits {
            on_disk,
            last: Instant::now(),
            every: EVERY,
            floor: EVERY,
            made_certain_in: Duration::ZERO,
            can_be_saved: false,
            most_retired: MOST_RETIRED,
            saved_states: 0,
            has_worked: AtomicBool::new(false),
        }
    }

    /// Whether it has long been time.
    pub(super) fn is_overdue(&self) -> bool {
        self.is_due() && (self.last.elapsed() >= 2 * self.every || self.keeps_too_much())
    }

    /// Whether it is time.
    pub(super) fn is_due(&self) -> bool {
        let has_worked = self.has_worked.load(Ordering::Relaxed);
        let is_time = || self.last.elapsed() >= self.every || self.keeps_too_much();
        self.can_be_saved && has_worked && is_time()
    }

    /// Whether files that the search itself no longer needs take too much room. Where large runs
    /// are made one, old ones could not go else before all of the new ones are there.
    fn keeps_too_much(&self) -> bool {
        let folder = &self.on_disk.folder;
        let retired = folder.retired_bytes();
        let is_free = || folder.has_free(retired.saturating_mul(FREE_FOR_RETIRED));
        retired > self.most_retired || (retired > 0 && !is_free())
    }

    /// Whether there is something to write down, due or not.
    pub(super) fn is_worth_it(&self) -> bool {
        self.can_be_saved && self.has_worked.load(Ordering::Relaxed)
    }

    /// Notes how long it took to make certain of what is written down.
    pub(super) fn note_made_certain(&mut self, took: Duration) {
        self.made_certain_in = took;
    }

    /// Notes that there is something to write down.
    pub(super) fn note_work(&self) {
        self.has_worked.store(true, Ordering::Relaxed);
    }

    /// Begins, with what can be saved and how often.
    fn begin(&mut self, can_be_saved: bool, options: &Options) {
        self.can_be_saved = can_be_saved;
        self.floor = options.commit_every.unwrap_or(EVERY);
        self.every = self.floor;
        self.most_retired = MOST_RETIRED.min(options.memory_bytes);
    }

    fn write(&self, content: &Content) -> Result<(), StoreError> {
        let manifest = to_manifest(&self.on_disk.label, content);
        self.on_disk.folder.commit(&manifest)
    }
}

impl Search<'_> {
    /// Before the first state: the folder has its manifest and label.
    pub(super) fn begin_commits(&mut self) -> Result<(), Error> {
        // A run that died before it had written anything down may have left something.
        if let Some(commits) = self.commits.as_ref().filter(|c| c.on_disk.resumable) {
            commits.on_disk.folder.sweep([])?;
        }
        self.rounds.begin_saving()?;
        if let Some(commits) = &mut self.commits {
            if commits.on_disk.resumable {
                commits.write(&Content::Begun)?;
            }
            commits.begin(self.rounds.can_be_saved(), self.options);
        }
        Ok(())
    }

    /// Writes the search down as it is, with `frontier` still to be expanded in this layer.
    pub(super) fn commit(&mut self, depth: u32, frontier: Range<u64>) -> Result<(), Error> {
        let since = Instant::now();
        let Some(states) = self.rounds.save()? else {
            return Ok(());
        };
        let Some(commits) = &mut self.commits else {
            return Ok(());
        };
        let snapshot = Snapshot {
            depth,
            frontier,
            n_states: self.rounds.n_states(),
            layers: self.layers.clone(),
            totals: self.totals.clone(),
            before: self.before.clone(),
            findings: self.findings.save(),
            store: states.store,
            codec: states.codec,
            log: states.log,
            parents: states.parents,
            parents_file: states.parents_file,
            external: states.external,
        };
        let n_states = snapshot.n_states;
        commits.write(&Content::Underway(Box::new(snapshot)))?;
        commits.saved_states = n_states;
        // Those who want it always shall have it, whatever it costs.
        if !commits.floor.is_zero() {
            let longest = (since.elapsed() * SHARE).max(commits.made_certain_in * CERTAIN_SHARE);
            commits.every = commits.floor.max(longest);
        }
        commits.made_certain_in = Duration::ZERO;
        commits.last = Instant::now();
        commits.has_worked.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// Takes up what was written down.
    pub(super) fn restore(&mut self, snapshot: &Snapshot) -> Result<(), Error> {
        // First what a report needs, for there may be no room for the rest.
        self.layers.clone_from(&snapshot.layers);
        self.totals = snapshot.totals.clone();
        self.before = snapshot.before.clone();
        let damaged = || {
            Error::Store(StoreError::Damaged {
                file: "the manifest".to_owned(),
                offset: 0,
                what: "its violations make no sense".to_owned(),
            })
        };
        self.findings
            .restore(&snapshot.findings)
            .ok_or_else(damaged)?;
        self.rounds.restore(snapshot)?;
        if let Some(commits) = &mut self.commits {
            commits.begin(self.rounds.can_be_saved(), self.options);
            commits.saved_states = snapshot.n_states;
        }
        Ok(())
    }
}
