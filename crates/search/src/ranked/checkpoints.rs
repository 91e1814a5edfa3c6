//! Checkpoints of a search by ranks: written, and restored.

use std::time::Instant;

use super::Search;
use crate::Error;
use crate::checkpoint::{Checkpoint, Content, damaged_manifest};
use crate::rank::Rank;

impl Search<'_, '_> {
    /// Writes a checkpoint.
    pub(super) fn checkpoint(&mut self) -> Result<(), Error> {
        let since = Instant::now();
        let Some(schedule) = &mut self.schedule else {
            return Ok(());
        };
        // Candidates that external storage collects are of the next depth.
        let next = Rank(self.tally.rank.0.saturating_add(1));
        let sink = self.engine.sink.checkpoint()?;
        let Some(stored) = self.engine.save(next)? else {
            return Ok(());
        };
        let n_states = stored.n_states;
        let checkpoint = Checkpoint {
            order: self.engine.context.order.identity(),
            rank: self.tally.rank,
            frontier: self.tally.frontier.clone(),
            reopened: self.tally.reopened.clone(),
            layers: self.tally.layers.clone(),
            ranks: self.tally.ranks.clone(),
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
        let order = self.engine.context.order.identity();
        if checkpoint.order != order {
            return Err(Error::OtherOrder {
                begun: checkpoint.order,
                asked: order,
            });
        }
        // First what a report needs, because there may be no room for the rest.
        self.tally.rank = checkpoint.rank;
        self.tally.frontier = checkpoint.frontier;
        self.tally.reopened = checkpoint.reopened;
        self.tally.layers = checkpoint.layers;
        self.tally.ranks = checkpoint.ranks;
        self.tally.totals = checkpoint.totals;
        self.tally.before = checkpoint.before;
        let damaged = || damaged_manifest("its violations make no sense");
        (self.tally.findings)
            .restore(&checkpoint.findings)
            .ok_or_else(damaged)?;
        if let Some(closed) = &mut self.engine.closed {
            closed.restore(self.tally.ranked_states());
        }
        let first_left = self.tally.frontier.start;
        self.engine.restore(&checkpoint.stored, first_left)?;
        self.engine.sink.resume(checkpoint.sink.as_ref())?;
        if let Some(schedule) = &mut self.schedule {
            schedule.saved_states = checkpoint.stored.n_states;
        }
        Ok(())
    }
}
