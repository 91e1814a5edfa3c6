//! Provisional ranks, and when they are committed.
//!
//! External storage may defer looking up candidates in old runs. The ranks found since are
//! *provisional*: nothing of them is reported or written to a checkpoint before they are committed,
//! and if that fails the search is rolled back to the rank where deferral began.

use std::time::Instant;

use super::Search;
use crate::checkpoint::Schedule;
use crate::external::is_nearly_full;
use crate::window::BlockSource;
use crate::{Error, SearchFolder};

impl Search<'_, '_> {
    /// Before a rank is expanded: takes a checkpoint of provisional ranks if it is due, and lets
    /// storage defer where that pays. False if the search is rolled back.
    pub(super) fn begin_rank(&mut self) -> Result<bool, Error> {
        if self.engine.is_provisional()
            && self.is_checkpoint_due()
            && !self.commit_and_checkpoint()?
        {
            return Ok(false);
        }
        // Sinks receive nothing provisional.
        if self.engine.context.order.is_depth() && !self.engine.sink.is_present() {
            let thin = self.run.options.thin_layers;
            self.engine.defer(&self.tally, thin)?;
        }
        Ok(true)
    }

    /// After a rank: commits all ranks if it was the last one, or storage has deferred for long
    /// enough. False if the search is rolled back.
    pub(super) fn end_rank(&mut self, is_last: bool) -> Result<bool, Error> {
        match is_last || self.engine.is_commit_due() {
            true => self.commit(),
            false => Ok(true),
        }
    }

    /// Takes a checkpoint within a rank, of which `source` is left. False if the search is rolled
    /// back.
    pub(super) fn checkpoint_within(&mut self, source: &BlockSource) -> Result<bool, Error> {
        if let BlockSource::States(left) = source {
            self.tally.frontier = left.clone();
        }
        self.commit_and_checkpoint()
    }

    /// The stop flag was raised: takes a checkpoint, so that nothing is lost. What was cut short is
    /// not in it. The rank ends with the ordinal `end`.
    pub(super) fn checkpoint_at_stop(
        &mut self,
        source: &BlockSource,
        end: u64,
    ) -> Result<(), Error> {
        if self.engine.is_provisional() {
            // Committing would take too long.
            self.engine.roll_back(&mut self.tally)?;
        } else {
            match self.engine.first_left(source) {
                Some(first) => self.tally.frontier = first..end,
                None => return Ok(()),
            }
        }
        match self.schedule.as_ref().is_some_and(Schedule::is_worthwhile) {
            true => self.checkpoint(),
            false => Ok(()),
        }
    }

    /// Forgets what is provisional, before a report. Whether there was anything.
    pub(super) fn forget_provisional(&mut self) -> bool {
        let mark = self.engine.take_mark();
        let has_mark = mark.is_some();
        if let Some(mark) = mark {
            self.tally.reset_to(mark);
        }
        has_mark
    }

    /// Commits all ranks, and takes a checkpoint if it is due.
    fn commit_and_checkpoint(&mut self) -> Result<bool, Error> {
        let is_committed = self.commit()?;
        if is_committed && self.is_checkpoint_due() {
            self.checkpoint()?;
        }
        Ok(is_committed)
    }

    fn is_checkpoint_due(&self) -> bool {
        self.schedule.as_ref().is_some_and(Schedule::is_due)
    }

    /// Commits all ranks. False if that failed: then the search is rolled back.
    fn commit(&mut self) -> Result<bool, Error> {
        if !self.engine.is_provisional() {
            return Ok(true);
        }
        let since = Instant::now();
        let is_committed = self.engine.commit()?;
        if let Some(schedule) = &mut self.schedule {
            schedule.note_committed(since.elapsed());
        }
        if !is_committed {
            self.engine.roll_back(&mut self.tally)?;
        }
        Ok(is_committed)
    }
}

/// Whether to pause the expansion of a rank for a checkpoint. Provisional ranks are committed first,
/// so within one of them only if it takes long, or to make space on the disk.
pub(super) fn is_pause_due(
    is_provisional: bool,
    schedule: Option<&Schedule>,
    folder: Option<&SearchFolder>,
) -> bool {
    match is_provisional {
        false => schedule.is_some_and(Schedule::is_due),
        true => {
            schedule.is_some_and(Schedule::is_overdue)
                || folder.is_some_and(|search_folder| is_nearly_full(&search_folder.folder))
        }
    }
}
