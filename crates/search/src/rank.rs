//! Ranks: what is expanded together, and in which order.
//!
//! Ranks are expanded in ascending order. Breadth-first search ranks states by depth; a search by
//! cost ranks them by the least cost of a path, which makes it Dijkstra's algorithm.
//! A rank is *open* until all lower ranks are expanded; only then is it decided which of its
//! candidates are new ([`OpenRanks`]). A state belongs to the least rank that reaches it.

mod open_ranks;

use hadal_model::Successors;
use serde::{Deserialize, Serialize};

pub(crate) use open_ranks::OpenRanks;

/// The position of a state in the order of expansion.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Rank(pub u64);

/// Assigns ranks to successors.
pub trait RankOrder: Send + Sync {
    /// Its name. A search is resumed in the order in which it began.
    fn name(&self) -> &'static str;

    /// Appends to `ranks` the rank of each successor in the buffer, whose sources have the rank
    /// `from`; `None` is the imaginary source of the startstates. No rank may be less than `from`.
    /// The search panics if a rank is missing or less: states would be lost.
    fn rank_successors(&self, from: Option<Rank>, successors: &Successors, ranks: &mut Vec<Rank>);

    /// Whether the rank of a state is its depth, so that all successors of a rank belong to the
    /// next one. The engine then decides at once whether a successor is new.
    fn is_depth(&self) -> bool {
        false
    }

    /// Whether ranks depend on the costs of steps.
    fn needs_costs(&self) -> bool {
        false
    }

    /// The cost of the path by which a state of this rank is reached, where ranks tell.
    fn cost_of(&self, rank: Rank) -> Option<u64> {
        let _ = rank;
        None
    }
}

/// Ranks states by depth: breadth-first search.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByDepth;

impl RankOrder for ByDepth {
    fn name(&self) -> &'static str {
        "depth"
    }

    fn rank_successors(&self, from: Option<Rank>, successors: &Successors, ranks: &mut Vec<Rank>) {
        let rank = Rank(from.map_or(0, |from| from.0 + 1));
        ranks.extend(std::iter::repeat_n(rank, successors.len()));
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
        "cost"
    }

    fn rank_successors(&self, from: Option<Rank>, successors: &Successors, ranks: &mut Vec<Rank>) {
        match from {
            None => ranks.extend(std::iter::repeat_n(Rank(0), successors.len())),
            Some(from) => {
                let rank = |position| Rank(from.0 + u64::from(successors.cost(position)));
                ranks.extend((0..successors.len()).map(rank));
            }
        }
    }

    fn needs_costs(&self) -> bool {
        true
    }

    fn cost_of(&self, rank: Rank) -> Option<u64> {
        Some(rank.0)
    }
}
