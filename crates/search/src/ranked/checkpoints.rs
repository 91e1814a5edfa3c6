//! Checkpoints of a search by ranks, and ranks that are provisional until they are committed.

use std::time::Instant;

use hadal_store::Error as StoreError;

use super::Search;
use crate::Error;
use crate::checkpoint::{Blob, Checkpoint, Content, Schedule};
use crate::rank::Rank;
use crate::window::BlockSource;

impl Search<'_, '_> {
    /// Before a rank is expanded: starts to skip old runs, where that pays. Sinks receive nothing
    /// provisional, so a search with one never does.
    pub(super) fn defer(&mut self) -> Result<(), Error> {
        let is_by_depth = self.engine.context.order.is_depth();
        match is_by_depth && !self.engine.sink.is_present() {
            true => {
                let thin = self.run.options.thin_layers;
                self.engine.defer(&self.tally, thin)
            }
            false => Ok(()),
        }
    }

    /// Whether ranks were found that are not committed.
    pub(super) fn is_provisional(&self) -> bool {
        self.engine.is_provisional()
    }

    /// Whether ranks should be committed now.
    pub(super) fn is_commit_due(&self) -> bool {
        self.engine.is_commit_due()
    }

    /// Commits all ranks. False if that failed: then the search is rolled back.
    pub(super) fn commit(&mut self) -> Result<bool, Error> {
        if !self.is_provisional() {
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

    /// Commits all ranks, and takes a checkpoint if it is due. False if the search is rolled back.
    pub(super) fn commit_and_checkpoint(&mut self) -> Result<bool, Error> {
        let is_committed = self.commit()?;
        if is_committed && self.schedule.as_ref().is_some_and(Schedule::is_due) {
            self.checkpoint()?;
        }
        Ok(is_committed)
    }

    /// The stop flag was raised: takes a checkpoint, so that nothing is lost. What was cut short is
    /// not in it. The rank ends with the ordinal `end`.
    pub(super) fn save_at_stop(&mut self, source: &BlockSource, end: u64) -> Result<(), Error> {
        if self.is_provisional() {
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

    /// Reports only what is committed. Whether anything else was found.
    pub(super) fn forget_uncommitted(&mut self) -> bool {
        let mark = self.engine.take_mark();
        let has_mark = mark.is_some();
        if let Some(mark) = mark {
            self.tally.reset_to(mark);
        }
        has_mark
    }

    /// Writes a checkpoint.
    fn checkpoint(&mut self) -> Result<(), Error> {
        let since = Instant::now();
        let Some(schedule) = &mut self.schedule else {
            return Ok(());
        };
        let next = Rank(self.tally.rank.0 + 1);
        let sink = Blob(self.engine.sink.checkpoint()?);
        let Some(stored) = self.engine.save(next)? else {
            return Ok(());
        };
        let n_states = stored.n_states;
        let checkpoint = Checkpoint {
            order: self.engine.context.order.name().to_owned(),
            rank: self.tally.rank,
            frontier: self.tally.frontier.clone(),
            layers: self.tally.layers.clone(),
            totals: self.tally.totals.clone(),
            before: self.tally.before.clone(),
            findings: self.tally.findings.save(),
            stored,
            sink,
        };
        let content = Content::Underway(Box::new(checkpoint));
        Ok(schedule.write_checkpoint(&content, n_states, since)?)
    }

    /// Restores a checkpoint.
    pub(super) fn restore(&mut self, checkpoint: Checkpoint) -> Result<(), Error> {
        let order = self.engine.context.order.name();
        if checkpoint.order != order {
            return Err(Error::OtherOrder {
                begun: checkpoint.order,
                asked: order,
            });
        }
        // First what a report needs, because there may be no room for the rest.
        self.tally.rank = checkpoint.rank;
        self.tally.frontier = checkpoint.frontier;
        self.tally.layers = checkpoint.layers;
        self.tally.totals = checkpoint.totals;
        self.tally.before = checkpoint.before;
        let damaged = || {
            Error::Store(StoreError::Damaged {
                file: "the manifest".to_owned(),
                offset: 0,
                what: "its violations make no sense".to_owned(),
            })
        };
        (self.tally.findings)
            .restore(&checkpoint.findings)
            .ok_or_else(damaged)?;
        let first_left = self.tally.frontier.start;
        self.engine.restore(&checkpoint.stored, first_left)?;
        self.engine.sink.resume(&checkpoint.sink.0)?;
        if let Some(schedule) = &mut self.schedule {
            schedule.saved_states = checkpoint.stored.n_states;
        }
        Ok(())
    }
}
