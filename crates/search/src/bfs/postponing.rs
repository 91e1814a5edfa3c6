//! The numbers of a search whose last layers are not certain yet.

use std::ops::Range;
use std::time::Instant;

use super::{Commits, Search};
use crate::Error;
use crate::findings::SavedFindings;
use crate::totals::Totals;

/// The beginning of a layer, to go back to.
pub(super) struct WayBack {
    depth: u32,
    frontier: Range<u64>,
    n_layers: usize,
    totals: Totals,
    before: Totals,
    findings: SavedFindings,
}

impl Search<'_> {
    /// Before a layer is expanded: where it is worth it, goes on without looking into old runs, and
    /// remembers the way back.
    pub(super) fn postpone(&mut self, depth: u32, frontier: &Range<u64>) -> Result<(), Error> {
        if self.way_back.is_none() && self.rounds.postpone()? {
            self.way_back = Some(WayBack {
                depth,
                frontier: frontier.clone(),
                n_layers: self.layers.len(),
                totals: self.totals.clone(),
                before: self.before.clone(),
                findings: self.findings.save(),
            });
        }
        Ok(())
    }

    /// Makes certain of everything that was found. If some of it was wrong, the search must
    /// [`go_back`](Self::go_back).
    pub(super) fn make_certain(&mut self) -> Result<bool, Error> {
        if self.way_back.is_none() {
            return Ok(true);
        }
        let since = Instant::now();
        let is_certain = self.rounds.make_certain()?;
        if is_certain {
            self.way_back = None;
        }
        if let Some(commits) = &mut self.commits {
            commits.note_made_certain(since.elapsed());
        }
        Ok(is_certain)
    }

    /// Makes certain, and then writes the search down if it is time, with `frontier` still to be
    /// expanded in this layer. False if the search must go back.
    pub(super) fn keep_certain(&mut self, depth: u32, frontier: Range<u64>) -> Result<bool, Error> {
        let is_certain = self.make_certain()?;
        if is_certain && self.commits.as_ref().is_some_and(Commits::is_due) {
            self.commit(depth, frontier)?;
        }
        Ok(is_certain)
    }

    /// Goes back to the last layer that is certain: its depth and its states.
    pub(super) fn go_back(&mut self) -> Result<(u32, Range<u64>), Error> {
        self.rounds.go_back()?;
        let back = self.forget_uncertain();
        Ok(back.expect("only from what is not certain one goes back"))
    }

    /// Tells only what is certain. The depth and the states of the last layer that is, if others are
    /// not.
    pub(super) fn forget_uncertain(&mut self) -> Option<(u32, Range<u64>)> {
        let way_back = self.way_back.take()?;
        self.layers.truncate(way_back.n_layers);
        self.totals = way_back.totals;
        self.before = way_back.before;
        self.findings
            .restore(&way_back.findings)
            .expect("this search has made them");
        Some((way_back.depth, way_back.frontier))
    }
}
