//! Which states have been found: by number where someone asks for numbers, else as a set.
//!
//! Short states are held in a [`Set`], which is faster and smaller. Longer ones, and those of
//! models with liveness properties, whose graph needs the numbers of successors, are found by a
//! [`Table`] of numbers.

use hadal_model::{GoalKind, Shape};
use hadal_store::{Encoding, N_PARTITIONS, Set, Table};

/// The states found.
pub(crate) enum Visited {
    /// Numbers of states that lie in the arena.
    Numbers(Table),
    /// The states themselves.
    States(Set),
}

impl Visited {
    pub(crate) fn new(shape: &Shape) -> Self {
        match encoding(shape) {
            Some(encoding) => Visited::States(Set::new(encoding)),
            None => Visited::Numbers(Table::new()),
        }
    }

    /// Memory held, in bytes.
    pub(crate) fn data_bytes(&self) -> u64 {
        match self {
            Visited::Numbers(table) => table.data_bytes(),
            Visited::States(set) => set.data_bytes(),
        }
    }

    /// Memory that `n_candidates[p]` more states in each partition `p` need, in bytes.
    pub(crate) fn growth_bytes(
        &self,
        n_candidates: &[usize; N_PARTITIONS],
        n_threads: usize,
    ) -> u64 {
        match self {
            Visited::Numbers(table) => table.growth_bytes(n_candidates, n_threads),
            Visited::States(set) => set.growth_bytes(n_candidates, n_threads),
        }
    }
}

/// How states become keys, where they are held in a [`Set`].
pub(crate) fn encoding(shape: &Shape) -> Option<Encoding> {
    let has_liveness = shape.goals.iter().any(|g| g.kind == GoalKind::Liveness);
    Encoding::new(shape.state_len).filter(|_| !has_liveness)
}
