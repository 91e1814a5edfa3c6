//! What a search has counted and found so far.
//!
//! All of it can be marked and reset, for a roll back, and saved, for a checkpoint.

use std::ops::Range;

use hadal_model::Shape;

use crate::Options;
use crate::findings::{Findings, SavedFindings};
use crate::rank::Rank;
use crate::totals::Totals;

/// Counts and findings of a search.
pub(crate) struct Tally<'a> {
    /// Rank of the states being expanded.
    pub(crate) rank: Rank,
    /// Ordinals of the states of this rank that are still to be expanded.
    pub(crate) frontier: Range<u64>,
    /// Those of the rank that were opened again: what fails there was found before.
    pub(crate) reopened: Vec<Range<u64>>,
    /// Number of states of each rank so far, without those that are still being found. A rank that
    /// was opened again counts again.
    pub(crate) layers: Vec<u64>,
    /// These ranks, where they are not depths.
    pub(crate) ranks: Option<Vec<Rank>>,
    pub(crate) totals: Totals,
    /// The totals at the start of the rank.
    pub(crate) before: Totals,
    pub(crate) findings: Findings<'a>,
}

/// A tally to reset to.
pub(crate) struct TallyMark {
    rank: Rank,
    frontier: Range<u64>,
    n_layers: usize,
    totals: Totals,
    before: Totals,
    findings: SavedFindings,
}

impl<'a> Tally<'a> {
    pub(crate) fn new(shape: &'a Shape, options: &Options) -> Self {
        Tally {
            rank: Rank(0),
            frontier: 0..0,
            reopened: Vec::new(),
            layers: Vec::new(),
            ranks: None,
            totals: Totals::new(shape),
            before: Totals::new(shape),
            findings: Findings::new(shape, options.deadlock, options.max_errors),
        }
    }

    /// This tally, which keeps the ranks on request.
    pub(crate) fn with_ranks(self, are_kept: bool) -> Self {
        Tally {
            ranks: are_kept.then(Vec::new),
            ..self
        }
    }

    /// Where the states of each rank end, and the rank, where ranks are kept.
    pub(crate) fn ranked_states(&self) -> Vec<(u64, Rank)> {
        let mut end = 0;
        let ranks = self.ranks.iter().flatten();
        let ranked = self.layers.iter().zip(ranks).map(|(n_states, rank)| {
            end += n_states;
            (end, *rank)
        });
        ranked.collect()
    }

    /// Number of the rank being expanded, which is its depth in breadth-first search.
    pub(crate) fn depth(&self) -> u32 {
        self.layers.len().saturating_sub(1) as u32
    }

    /// Starts a rank with the states `frontier`, of which those in `reopened` are opened again.
    pub(crate) fn begin_rank(&mut self, rank: Rank, frontier: Range<u64>, reopened: &[Range<u64>]) {
        self.reopened = reopened.to_vec();
        self.totals.reopened += n_states(reopened);
        self.before = self.totals.clone();
        self.layers.push(frontier.end - frontier.start);
        if let Some(ranks) = &mut self.ranks {
            ranks.push(rank);
        }
        self.findings.begin_rank();
        (self.rank, self.frontier) = (rank, frontier);
    }

    /// Whether this state of the rank was opened again.
    pub(crate) fn is_reopened(reopened: &[Range<u64>], ordinal: u64) -> bool {
        reopened.iter().any(|states| states.contains(&ordinal))
    }

    pub(crate) fn mark(&self) -> TallyMark {
        TallyMark {
            rank: self.rank,
            frontier: self.frontier.clone(),
            n_layers: self.layers.len(),
            totals: self.totals.clone(),
            before: self.before.clone(),
            findings: self.findings.save(),
        }
    }

    /// Forgets everything since `mark` was taken.
    pub(crate) fn reset_to(&mut self, mark: TallyMark) {
        self.rank = mark.rank;
        self.frontier = mark.frontier;
        self.layers.truncate(mark.n_layers);
        if let Some(ranks) = &mut self.ranks {
            ranks.truncate(mark.n_layers);
        }
        self.totals = mark.totals;
        self.before = mark.before;
        self.findings
            .restore(&mark.findings)
            .expect("findings that this search has saved are valid");
    }
}

/// Number of states in these ranges.
pub(crate) fn n_states(ranges: &[Range<u64>]) -> u64 {
    ranges.iter().map(|states| states.end - states.start).sum()
}

#[cfg(test)]
#[path = "../tests/parts/tally.rs"]
mod tests;
