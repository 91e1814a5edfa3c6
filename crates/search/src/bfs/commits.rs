//! When and how a search is written down, so that a later run can go on with it.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hadal_store::Error as StoreError;

use super::Search;
use crate::snapshot::{Content, Snapshot, to_manifest};
use crate::{Error, OnDisk};

/// The folder of a search, and when its manifest is due.
pub(super) struct Commits {
    on_disk: OnDisk,
    last: Instant,
    every: Duration,
    can_be_saved: bool,
    /// Whether anything was done since the last time.
    has_worked: AtomicBool,
}

/// So much of the work may be lost.
const EVERY: Duration = Duration::from_secs(5);
/// Writing down may take one in so many seconds.
const SHARE: u32 = 25;

impl Commits {
    pub(super) fn new(on_disk: OnDisk) -> Self {
        Commits {
            on_disk,
            last: Instant::now(),
            every: EVERY,
            can_be_saved: false,
            has_worked: AtomicBool::new(false),
        }
    }

    /// Whether it is time.
    pub(super) fn is_due(&self) -> bool {
        let has_worked = self.has_worked.load(Ordering::Relaxed);
        self.can_be_saved && has_worked && self.last.elapsed() >= self.every
    }

    /// Whether there is something to write down, due or not.
    pub(super) fn is_worth_it(&self) -> bool {
        self.can_be_saved && self.has_worked.load(Ordering::Relaxed)
    }

    /// Notes that there is something to write down.
    pub(super) fn note_work(&self) {
        self.has_worked.store(true, Ordering::Relaxed);
    }

    fn write(&self, content: &Content) -> Result<(), StoreError> {
        let manifest = to_manifest(&self.on_disk.label, content);
        self.on_disk.folder.commit(&manifest)
    }
}

impl Search<'_> {
    /// Before the first state: the folder has its manifest and label.
    pub(super) fn begin_commits(&mut self) -> Result<(), Error> {
        self.rounds.begin_saving()?;
        if let Some(commits) = &mut self.commits {
            if commits.on_disk.resumable {
                commits.write(&Content::Begun)?;
            }
            commits.can_be_saved = self.rounds.can_be_saved();
            commits.every = self.options.commit_every.unwrap_or(EVERY);
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
        commits.write(&Content::Underway(Box::new(snapshot)))?;
        let floor = self.options.commit_every.unwrap_or(EVERY);
        // Those who want it always shall have it, whatever it costs.
        if !floor.is_zero() {
            commits.every = floor.max(since.elapsed() * SHARE);
        }
        commits.last = Instant::now();
        commits.has_worked.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// Takes up what was written down.
    pub(super) fn restore(&mut self, snapshot: &Snapshot) -> Result<(), Error> {
        self.rounds.restore(snapshot)?;
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
        if let Some(commits) = &mut self.commits {
            commits.can_be_saved = self.rounds.can_be_saved();
            commits.every = self.options.commit_every.unwrap_or(EVERY);
        }
        Ok(())
    }
}
