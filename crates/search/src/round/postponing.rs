//! Rounds that leave old runs alone, make certain later, and go back where that was wrong.

use std::time::Instant;

use hadal_store::{Log, Set};

use super::{Rounds, is_nearly_full, means};
use crate::external::{External, Postponed, keep, old_keys};
use crate::shared::{lock, read, write};
use crate::visited::{Keyed, Visited};
use crate::{Error, OnDisk};

impl Rounds<'_> {
    /// Begins to leave old runs alone, if that is worth it; to be asked before a layer is expanded.
    /// Whether it is so.
    pub(crate) fn postpone(&mut self) -> Result<bool, Error> {
        let (Some(external), Some(on_disk), Visited::Keys(keyed)) =
            (&mut self.external, &self.on_disk, &self.shared.visited)
        else {
            return Ok(false);
        };
        let (tiers, candidates) = (&mut external.tiers, &external.candidates);
        let is_between_layers = candidates.len() == 0 && external.postponed.is_none();
        if !is_between_layers || is_nearly_full(&on_disk.folder) {
            return Ok(false);
        }
        let (n_keys, n_candidates) = (tiers.n_keys(), candidates.len_before());
        let trusted = (external.trust).most_layers(n_keys, n_candidates, self.sizes.thin_layers);
        let Some(most_layers) = trusted else {
            return Ok(false);
        };
        let n_threads = self.sizes.n_threads;
        let means = means(self.shared, keyed, on_disk, &external.shares, n_threads);
        // Few runs are made of many while nobody looks into them.
        tiers.balance(&means)?;
        tiers.postpone(&means)?;
        let parents = self.parents.waymark();
        external.postponed = Some(Postponed::new(parents, most_layers, n_candidates));
        Ok(true)
    }

    /// Whether runs were left alone for long enough.
    pub(crate) fn is_certainty_due(&self) -> bool {
        let (Some(external), Some(on_disk)) = (&self.external, &self.on_disk) else {
            return false;
        };
        let is_due = |postponed: &Postponed| postponed.is_due(&external.tiers);
        (external.postponed.as_ref())
            .is_some_and(|postponed| is_due(postponed) || is_nearly_full(&on_disk.folder))
    }

    /// Looks into the runs that were left alone. If they have nothing of what was found since, that
    /// is certain now, and they are as all others. Else the search must [`go_back`](Self::go_back).
    pub(crate) fn make_certain(&mut self) -> Result<bool, Error> {
        let (Some(external), Some(on_disk), Visited::Keys(keyed)) =
            (&mut self.external, &self.on_disk, &self.shared.visited)
        else {
            return Ok(true);
        };
        let since = Instant::now();
        let n_threads = self.sizes.n_threads;
        let means = means(self.shared, keyed, on_disk, &external.shares, n_threads);
        let old = old_keys(&external.tiers, &means)?;
        let is_certain = old.n_keys == 0;
        if !is_certain && let Some(postponed) = &mut external.postponed {
            postponed.old = old;
        }
        if is_certain && let Some(postponed) = external.postponed.take() {
            external.trust.note_certain(postponed.n_layers);
            external.tiers.take_up();
            if let Some(expanded) = postponed.log {
                expanded.discard()?;
                lock(&keyed.log).set_keep(keep(external.shares.frontier, on_disk.resumable));
            }
        }
        self.seconds.merge += since.elapsed().as_secs_f64();
        Ok(is_certain)
    }

    /// Gives up everything since runs were left alone: states, parents, candidates, and blocks that
    /// are being expanded.
    pub(crate) fn go_back(&mut self) -> Result<(), Error> {
        let shared = self.shared;
        let (Some(external), Some(on_disk), Visited::Keys(keyed)) =
            (&mut self.external, &self.on_disk, &shared.visited)
        else {
            return Ok(());
        };
        let Some(postponed) = external.postponed.take() else {
            return Ok(());
        };
        let since = Instant::now();
        {
            let round = &mut *write(&shared.round);
            round.active.clear();
            round.expanding.clear();
            self.free = (0..self.sizes.window_blocks).rev().collect();
        }
        let n_threads = self.sizes.n_threads;
        let means = means(shared, keyed, on_disk, &external.shares, n_threads);
        external.candidates.discard(&means)?;
        let n_keys = external.tiers.n_young_keys();
        external.tiers.go_back(&on_disk.folder)?;
        let Postponed { n_layers, old, .. } = &postponed;
        // Else it was not looked for.
        if old.n_keys > 0 {
            external.trust.note_mistaken(*n_layers, n_keys, old);
            external.tiers.know(&old.keys, &means)?;
        }
        if let Some(log) = postponed.log {
            std::mem::replace(&mut *lock(&keyed.log), log).discard()?;
        }
        self.parents.go_back(postponed.parents)?;
        // The set knows states that nobody has found now.
        let placing = read(&keyed.set).placing();
        *write(&keyed.set) = Set::new(placing);
        read(&keyed.set).begin_cache(external.shares.set);
        self.table_bytes = shared.visited.table_bytes();
        self.seconds.merge += since.elapsed().as_secs_f64();
        Ok(())
    }
}

/// Whether the log must keep the states that are being expanded, to go back to.
pub(super) fn needs_log(external: &External) -> bool {
    (external.postponed.as_ref()).is_some_and(|postponed| postponed.log.is_none())
}

/// When the states to go back to are expanded, lays their log aside; others go to a new one.
pub(super) fn hold_log(
    external: &mut External,
    keyed: &Keyed,
    on_disk: &OnDisk,
) -> Result<(), Error> {
    if !needs_log(external) {
        return Ok(());
    }
    let mut log = lock(&keyed.log);
    let left = external.shares.frontier.saturating_sub(log.data_bytes());
    let mut next = Log::new();
    next.attach(on_disk.folder.clone(), keep(left, on_disk.resumable))?;
    next.begin_at(log.len());
    if let Some(postponed) = &mut external.postponed {
        postponed.log = Some(std::mem::replace(&mut *log, next));
    }
    Ok(())
}
