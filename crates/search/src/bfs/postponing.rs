//! The numbers of a search whose last layers are not certain yet.

use std::ops::Range;

use super::Search;
use crate::Error;
use crate::findings::SavedFindings;
use crate::totals::Totals;

/// The beginning of a layer, to go back to.
pub(super) struct Waymark {
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
        if self.waymark.is_none() && self.rounds.postpone()? {
            self.waymark = Some(Waymark {
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
        if self.waymark.is_none() {
            return Ok(true);
        }
        let is_certain = self.rounds.make_certain()?;
        if is_certain {
            self.waymark = None;
        }
        Ok(is_certain)
    }

    /// Goes back to the last layer that is certain: its depth and its states.
    pub(super) fn go_back(&mut self) -> Result<Option<(u32, Range<u64>)>, Error> {
        let Some((depth, frontier)) = self.forget_uncertain() else {
            return Ok(None);
        };
        self.rounds.go_back()?;
        Ok(Some((depth, frontier)))
    }

    /// Tells only what is certain.
    pub(super) fn forget_uncertain(&mut self) -> Option<(u32, Range<u64>)> {
        let waymark = self.waymark.take()?;
        self.layers.truncate(waymark.n_layers);
        self.totals = waymark.totals;
        self.before = waymark.before;
        // It was made by this search.
        let _ = self.findings.restore(&waymark.findings);
        Some((waymark.depth, waymark.frontier))
    }
}
