//! Deferral: old runs are skipped for some ranks, and looked up in later.
//!
//! In a deep graph with thin ranks, looking each rank's candidates up in all runs takes far longer
//! than expanding it. So old runs are skipped while they are expected to hit nothing
//! ([`DeferralPolicy`]): only the runs written since are searched, until that has cost as much as
//! searching the old ones. Then all keys since are looked up in the skipped runs at once ([`Hits`]).
//!
//! Mostly there is no hit, because the cache holds recent states and older ones never recur. The
//! ranks are *committed*: the result is that of looking up every rank. If there are hits, the search
//! is *rolled back* to the checkpoint taken when deferral began, and repeats the ranks with the hits
//! known. By induction on depth, a state is found at its true depth or it is in a skipped run, so
//! whatever was wrongly taken for new is in a skipped run and among the hits. The cache starts empty
//! again, so the second pass may meet old states that it knew in the first; they are found when that
//! pass is committed.
//!
//! Nothing is reported or checkpointed on disk before it is committed.

mod hits;
mod policy;

use hadal_store::Log;
use hadal_store::disk::LogPosition;
use hadal_store::tiers::Tiers;

use super::External;
use super::context::DiskContext;
use crate::Error;
use crate::budget::retention;
use crate::storage::{StateLog, fresh_set};
use crate::tally::{Tally, TallyMark};
use hits::Hits;
use policy::DeferralPolicy;

/// Whether runs are skipped, and the way back.
#[derive(Default)]
pub(crate) struct Deferral {
    pub(super) policy: DeferralPolicy,
    pending: Option<Pending>,
}

/// What is kept while runs are skipped.
struct Pending {
    tally: TallyMark,
    parents: LogPosition,
    /// The log with the states that were about to be expanded, once others go to a new one.
    log: Option<Log>,
    n_ranks: u32,
    most_ranks: u32,
    /// Candidates of the rank before, and of the last one.
    n_before: u64,
    n_candidates: u64,
    /// Keys of all runs that were searched since.
    n_searched: u64,
    /// Found by the late look-up.
    hits: Hits,
}

/// A rank with this many times the candidates of the rank before the first ends deferral: what is
/// wrongly taken for new may multiply.
const GROWTH: u64 = 2;
/// Unless candidates are this few.
const FEW_CANDIDATES: u64 = 16;

impl Deferral {
    pub(crate) fn is_pending(&self) -> bool {
        self.pending.is_some()
    }

    /// Ranks committed later than they were found, and number of roll backs.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.policy.n_late, self.policy.n_rolled_back)
    }

    /// Memory held, in bytes.
    pub(super) fn memory_bytes(&self) -> u64 {
        let bytes = |pending: &Pending| {
            pending.parents.data_bytes() + pending.log.as_ref().map_or(0, Log::data_bytes)
        };
        self.pending.as_ref().map_or(0, bytes)
    }

    /// What was counted when deferral began; nothing can be rolled back any more.
    pub(crate) fn take_mark(&mut self) -> Option<TallyMark> {
        self.pending.take().map(|pending| pending.tally)
    }

    /// Takes note of a rank of `n_candidates`, of which `n_hits` were in the runs searched.
    pub(super) fn note_rank(&mut self, n_candidates: u64, n_hits: u64, tiers: &Tiers) {
        match &mut self.pending {
            Some(pending) => {
                pending.n_ranks += 1;
                pending.n_candidates = n_candidates;
                pending.n_searched += tiers.n_young_keys();
            }
            None => self.policy.note_rank(n_hits),
        }
    }

    /// Whether the log must keep the states being expanded, to roll back to.
    pub(super) fn needs_log(&self) -> bool {
        (self.pending.as_ref()).is_some_and(|pending| pending.log.is_none())
    }

    /// Once the states to roll back to are expanded, sets their log aside and starts a new one.
    pub(super) fn set_log_aside(
        &mut self,
        states: &mut StateLog,
        disk: &DiskContext<'_>,
    ) -> Result<(), Error> {
        let Some(pending) = self
            .pending
            .as_mut()
            .filter(|pending| pending.log.is_none())
        else {
            return Ok(());
        };
        let log = &mut states.records;
        let left = disk.shares.frontier.saturating_sub(log.data_bytes());
        let mut next = Log::new();
        next.attach(disk.folder.clone(), disk.state_retention(left))?;
        next.begin_at(log.len());
        pending.log = Some(std::mem::replace(log, next));
        Ok(())
    }

    fn is_due(&self, tiers: &Tiers, disk: &DiskContext<'_>) -> bool {
        self.pending.as_ref().is_some_and(|pending| {
            pending.n_candidates > GROWTH * pending.n_before.max(FEW_CANDIDATES)
                || pending.n_ranks >= pending.most_ranks
                || pending.n_searched >= tiers.n_skipped_keys()
                || disk.is_nearly_full()
        })
    }
}

impl External<'_> {
    /// Before a rank is expanded: starts to skip old runs where that pays, with a checkpoint to
    /// roll back to.
    pub(crate) fn defer(
        &mut self,
        tally: &Tally<'_>,
        states: &StateLog,
        thin: u64,
    ) -> Result<(), Error> {
        let is_between_ranks = self.candidates.len() == 0 && !self.deferral.is_pending();
        if !is_between_ranks || self.disk.is_nearly_full() {
            return Ok(());
        }
        let (n_keys, n_before) = (self.tiers.n_keys(), self.candidates.len_before());
        let most_ranks = self.deferral.policy.most_ranks(n_keys, n_before, thin);
        let Some(most_ranks) = most_ranks else {
            return Ok(());
        };
        // Runs are merged while nobody searches them.
        self.tiers.balance(&self.disk.runs())?;
        self.tiers.begin_skipping(&self.disk.runs())?;
        self.deferral.pending = Some(Pending {
            tally: tally.mark(),
            parents: states.parents.position(),
            log: None,
            n_ranks: 0,
            most_ranks,
            n_before,
            n_candidates: n_before,
            n_searched: 0,
            hits: Hits::default(),
        });
        Ok(())
    }

    /// Whether runs were skipped for long enough.
    pub(crate) fn is_commit_due(&self) -> bool {
        self.deferral.is_due(&self.tiers, &self.disk)
    }

    /// Looks up everything found since the checkpoint in the skipped runs. True if there is no hit:
    /// then it is committed, and no run is skipped. Otherwise, or if the search is stopped, it must be
    /// rolled back.
    pub(crate) fn commit_deferred(&mut self, states: &mut StateLog) -> Result<bool, Error> {
        let Some(pending) = &mut self.deferral.pending else {
            return Ok(true);
        };
        let hits = Hits::find(&self.tiers, &self.disk)?;
        // What was not looked up is not committed.
        if self.disk.stop().is_raised() {
            return Ok(false);
        }
        if hits.n_keys > 0 {
            pending.hits = hits;
            return Ok(false);
        }
        self.deferral.policy.note_committed(pending.n_ranks);
        self.tiers.end_skipping();
        if let Some(pending) = self.deferral.pending.take()
            && let Some(expanded) = pending.log
        {
            if self.disk.keeps_log {
                let later = std::mem::replace(&mut states.records, expanded);
                states.records.extend(later)?;
            } else {
                expanded.discard()?;
                let retention = retention(self.disk.shares.frontier, self.disk.durable);
                states.records.set_retention(retention);
            }
        }
        Ok(true)
    }

    /// Gives up everything since the checkpoint: states, parents, candidates, and what `tally` has
    /// counted. The caller gives up the blocks being expanded.
    pub(crate) fn roll_back(
        &mut self,
        tally: &mut Tally<'_>,
        states: &mut StateLog,
    ) -> Result<(), Error> {
        let Some(pending) = self.deferral.pending.take() else {
            return Ok(());
        };
        let disk = self.disk;
        // First what a report shows: the rest may fail, because the disk is full.
        tally.reset_to(pending.tally);
        let provisional = (pending.log).map(|log| std::mem::replace(&mut states.records, log));
        if let Some(provisional) = provisional {
            provisional.discard()?;
        }
        self.candidates.discard(&disk)?;
        let n_keys = self.tiers.n_young_keys();
        self.tiers.roll_back(disk.folder)?;
        let hits = &pending.hits;
        // Without hits the search was stopped before the late look-up.
        if hits.n_keys > 0 {
            (self.deferral.policy).note_rolled_back(pending.n_ranks, n_keys, hits);
            self.tiers.set_known_hits(&hits.keys, &disk.runs())?;
        }
        states.parents.roll_back(pending.parents)?;
        // The cache holds states that are not found now.
        self.cache = fresh_set(disk.keys);
        self.cache.begin_cache(disk.shares.cache);
        self.cache_bytes = self.cache.data_bytes();
        Ok(())
    }
}

#[cfg(test)]
#[path = "../../../tests/parts/deferral.rs"]
mod tests;
