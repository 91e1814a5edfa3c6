//! Ranks: what is expanded together, and in which order.
//!
//! Breadth-first search ranks states by depth; a search by cost ranks them by the least cost of a path,
//! which makes it Dijkstra's algorithm; a [directed](directed) one by estimates as well.
//! The lowest rank is expanded next. A rank is *open* until then; only when it is taken is it decided
//! which of its candidates are new ([`OpenRanks`]).
//!
//! Where no step leads to a lower rank, a state belongs to the least rank that reaches it. Other
//! orders may find a cheaper path to a state that is expanded already, and [open it
//! again](RankOrder::may_reopen).

mod directed;
mod open_ranks;

use hadal_model::{MeasureKind, Shape, Successors};
use serde::{Deserialize, Serialize};

pub use directed::{ByEstimate, ByTotal, Weight};
pub(crate) use open_ranks::OpenRanks;

/// The position of a state in the order of expansion.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Rank(pub u64);

/// Assigns ranks to successors.
pub trait RankOrder: Send + Sync {
    /// Its name.
    fn name(&self) -> &'static str;

    /// Its name and whatever else ranks depend on. A search is resumed in the order in which it began.
    fn identity(&self) -> String {
        self.name().to_owned()
    }

    /// Appends to `ranks` the rank of each of `steps`. The search panics if one is missing: states
    /// would be lost.
    fn rank_successors(&self, steps: &Steps<'_>, ranks: &mut Vec<Rank>) -> Result<(), TooCostly>;

    /// Whether the rank of a state is its depth, so that all successors of a rank belong to the
    /// next one. The engine then decides at once whether a successor is new.
    fn is_depth(&self) -> bool {
        false
    }

    /// Whether ranks depend on the costs of steps.
    fn needs_costs(&self) -> bool {
        false
    }

    /// Whether ranks depend on the model's estimates, so that it must have them.
    fn needs_estimates(&self) -> bool {
        false
    }

    /// Whether a step may lead to a lower rank and so to a state that is expanded already, by a
    /// cheaper path. That state is then opened again. Of a state that two ranks reach, the lower rank
    /// must have the lesser [cost](Self::cost_of).
    fn may_reopen(&self) -> bool {
        false
    }

    /// The cost of the path by which a state of this rank is reached, where ranks tell.
    fn cost_of(&self, rank: Rank) -> Option<u64> {
        let _ = rank;
        None
    }

    /// The estimate that states of this rank have, where ranks tell.
    fn estimate_of(&self, rank: Rank) -> Option<u32> {
        let _ = rank;
        None
    }

    /// Whether a violation that is found first is one of least cost; `is_admissible` says whether no
    /// estimate is too high.
    fn is_first_least(&self, is_admissible: bool) -> bool {
        let _ = is_admissible;
        false
    }
}

/// A path costs more than a rank can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooCostly;

/// The successors of states of one rank, and what is known of them.
pub struct Steps<'a> {
    /// The rank of the sources; `None` is the imaginary source of the startstates.
    pub from: Option<Rank>,
    /// The successors.
    pub successors: &'a Successors,
    /// The measures of the successors, where the order needs some.
    pub(crate) values: &'a [u32],
    pub(crate) columns: MeasureColumns,
}

impl Steps<'_> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.successors.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.successors.is_empty()
    }

    /// The cost of the step at `position`; 0 for the startstates.
    pub fn cost(&self, position: usize) -> u32 {
        match (self.from, self.columns.cost) {
            (None, _) => 0,
            (Some(_), None) => self.successors.cost(position),
            (Some(_), Some(column)) => self.value(position, column),
        }
    }

    /// The estimate of the state that the step at `position` leads to; 0 where the model has none.
    pub fn estimate(&self, position: usize) -> u32 {
        let column = self.columns.estimate;
        column.map_or(0, |column| self.value(position, column))
    }

    fn value(&self, position: usize, column: usize) -> u32 {
        self.values[position * self.columns.n + column]
    }
}

/// Where the measures of a model are among its values.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MeasureColumns {
    /// Measures of a state.
    pub(crate) n: usize,
    pub(crate) estimate: Option<usize>,
    pub(crate) cost: Option<usize>,
}

impl MeasureColumns {
    pub(crate) fn new(shape: &Shape) -> Self {
        let find = |is: fn(&MeasureKind) -> bool| {
            let mut measures = shape.measures.iter();
            measures.position(|measure| is(&measure.kind))
        };
        MeasureColumns {
            n: shape.measures.len(),
            estimate: find(|kind| matches!(kind, MeasureKind::Estimate { .. })),
            cost: find(|kind| matches!(kind, MeasureKind::Cost)),
        }
    }

    /// Whether the ranks of `order` depend on some of them.
    pub(crate) fn are_needed(self, order: &dyn RankOrder) -> bool {
        let estimate = self.estimate.is_some() && order.needs_estimates();
        estimate || (self.cost.is_some() && order.needs_costs())
    }
}

/// Ranks states by depth: breadth-first search.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByDepth;

impl RankOrder for ByDepth {
    fn name(&self) -> &'static str {
        "depth"
    }

    fn rank_successors(&self, steps: &Steps<'_>, ranks: &mut Vec<Rank>) -> Result<(), TooCostly> {
        let rank = Rank(steps.from.map_or(0, |from| from.0 + 1));
        ranks.extend(std::iter::repeat_n(rank, steps.len()));
        Ok(())
    }

    fn is_depth(&self) -> bool {
        true
    }
}

/// Ranks states by the least cost of a path: Dijkstra's algorithm. A cost may be zero.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByCost;

impl RankOrder for ByCost {
    fn name(&self) -> &'static str {
        "dijkstra"
    }

    fn identity(&self) -> String {
        "cost".to_owned()
    }

    fn rank_successors(&self, steps: &Steps<'_>, ranks: &mut Vec<Rank>) -> Result<(), TooCostly> {
        let from = steps.from.map_or(0, |from| from.0);
        for position in 0..steps.len() {
            let cost = from.checked_add(u64::from(steps.cost(position)));
            ranks.push(Rank(cost.ok_or(TooCostly)?));
        }
        Ok(())
    }

    fn needs_costs(&self) -> bool {
        true
    }

    fn cost_of(&self, rank: Rank) -> Option<u64> {
        Some(rank.0)
    }

    fn is_first_least(&self, _: bool) -> bool {
        true
    }
}
