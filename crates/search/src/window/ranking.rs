//! The ranks of a task's candidates, where they are no depths.

use hadal_model::Expander;

use crate::kernel::Kernel;
use crate::rank::{MeasureColumns, Rank, RankOrder, Steps};

/// By what candidates are ranked.
#[derive(Clone, Copy)]
pub(crate) struct Ranking<'a> {
    pub(crate) order: &'a dyn RankOrder,
    pub(crate) columns: MeasureColumns,
    /// The rank of the states that are expanded; `None` for the source of startstates.
    pub(crate) from: Option<Rank>,
}

/// The ranks of candidates.
#[derive(Default)]
pub(crate) struct CandidateRanks {
    pub(crate) ranks: Vec<Rank>,
    /// Steps of the block so far along which the estimate falls by more than they cost.
    pub(crate) n_inconsistent: u64,
    /// Why some candidate has no rank.
    pub(crate) unranked: Option<Unranked>,
    /// The measures of candidates.
    values: Vec<u32>,
}

/// Why a state has no rank.
#[derive(Clone, Debug)]
pub(crate) enum Unranked {
    /// It has no measure of this number, for this reason.
    Unmeasured(u32, String),
    /// It is reached by a path that costs too much.
    TooCostly,
}

impl CandidateRanks {
    /// Memory for each candidate of a model with `n_measures`, in bytes. Without measures ranks are
    /// rare, and not counted.
    pub(crate) fn bytes_for_candidate(n_measures: usize) -> usize {
        match n_measures {
            0 => 0,
            _ => size_of::<Rank>() + size_of::<u32>() * n_measures,
        }
    }

    /// Begins with a new block.
    pub(crate) fn begin(&mut self) {
        self.n_inconsistent = 0;
        self.unranked = None;
    }

    /// Ranks the successors of `kernel`, which are in canonical form.
    pub(crate) fn fill(
        &mut self,
        kernel: &mut Kernel,
        expander: &mut dyn Expander,
        ranking: &Ranking<'_>,
    ) {
        let Ranking {
            order,
            columns,
            from,
        } = *ranking;
        self.ranks.clear();
        if columns.are_needed(order)
            && let Err(failure) = kernel.measure(expander, &mut self.values)
        {
            self.unranked = Some(Unranked::Unmeasured(failure.measure, failure.message));
            return;
        }
        if kernel.flow == hadal_model::Flow::Stopped {
            return;
        }
        let steps = Steps {
            from,
            successors: &kernel.successors,
            values: &self.values,
            columns: match columns.are_needed(order) {
                true => columns,
                false => MeasureColumns::default(),
            },
        };
        if order.rank_successors(&steps, &mut self.ranks).is_err() {
            self.unranked = Some(Unranked::TooCostly);
            return;
        }
        assert_eq!(
            self.ranks.len(),
            steps.len(),
            "the order \"{}\" must rank every successor",
            order.name()
        );
        if let Some(before) = from.and_then(|from| order.estimate_of(from)) {
            let falls = |at: &usize| {
                let after = u64::from(steps.estimate(*at)) + u64::from(steps.cost(*at));
                u64::from(before) > after
            };
            self.n_inconsistent += (0..steps.len()).filter(falls).count() as u64;
        }
    }
}
