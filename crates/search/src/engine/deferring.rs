//! Deferral as the search sees it: nothing to do unless storage is external.

use std::time::Instant;

use super::Engine;
use crate::Error;
use crate::storage::Storage;
use crate::tally::{Tally, TallyMark};

impl Engine<'_, '_> {
    /// Before a rank is expanded: starts to skip old runs where that pays.
    pub(crate) fn defer(&mut self, tally: &Tally<'_>, thin: u64) -> Result<(), Error> {
        match &mut self.storage {
            Storage::External(external) => external.defer(tally, &self.states, thin),
            Storage::Resident(_) => Ok(()),
        }
    }

    /// Whether ranks were found that are not committed.
    pub(crate) fn is_provisional(&self) -> bool {
        match &self.storage {
            Storage::External(external) => external.deferral.is_pending(),
            Storage::Resident(_) => false,
        }
    }

    /// Whether ranks should be committed now.
    pub(crate) fn is_commit_due(&self) -> bool {
        match &self.storage {
            Storage::External(external) => external.is_commit_due(),
            Storage::Resident(_) => false,
        }
    }

    /// Commits all ranks found so far. False if the search must be rolled back.
    pub(crate) fn commit(&mut self) -> Result<bool, Error> {
        let since = Instant::now();
        let is_committed = match &mut self.storage {
            Storage::External(external) => external.commit_deferred(&mut self.states)?,
            Storage::Resident(_) => true,
        };
        self.seconds.merge += since.elapsed().as_secs_f64();
        Ok(is_committed)
    }

    /// Gives up everything that is not committed, blocks being expanded included.
    pub(crate) fn roll_back(&mut self, tally: &mut Tally<'_>) -> Result<(), Error> {
        let since = Instant::now();
        self.window.clear();
        if let Storage::External(external) = &mut self.storage {
            external.roll_back(tally, &mut self.states)?;
        }
        self.seconds.merge += since.elapsed().as_secs_f64();
        Ok(())
    }

    /// What was counted when the first provisional rank began, if there is one.
    pub(crate) fn take_mark(&mut self) -> Option<TallyMark> {
        match &mut self.storage {
            Storage::External(external) => external.deferral.take_mark(),
            Storage::Resident(_) => None,
        }
    }
}
