//! Liveness: whether a goal can be reached from every state.
//!
//! After all states are found, every state is expanded once more; the edges are followed from the goals
//! backwards, for all goals at once, and the states that are not met cannot reach them.
//! While an index of all states and all edges fit in memory they are there ([`resident`]); otherwise
//! edges are joined and sorted on disk, and a bit for each state and goal is in memory ([`disk`]). Either
//! way the least state that cannot reach a goal is found, so results do not differ.
//!
//! Under a reduction a step leads to the representative of a successor, in which elements may have
//! other names; so what is goal `g` before the step is another goal after it.
//! Each edge therefore has a *map* of the goals (see [`canonicalise_with_goals`](hadal_model::Expander::canonicalise_with_goals)), and
//! the search goes over pairs of a state and a goal: `g` can be reached from a state if it is
//! reached there, or if there is an edge to a state from which the image of `g` can be reached.
//! There are only as many different maps as renamings; edges hold their numbers, and where goals
//! keep their names throughout, nothing.
//! An edge from a state to itself matters as well if it renames goals.

mod disk;
mod follow;
mod graph;
mod labels;
mod maps;
mod reached;
mod resident;
mod sort;
mod stretches;

use crate::Error;
use crate::engine::Engine;
use crate::strategy::Decided;
use resident::Attempt;

/// Decides every liveness goal over all states found; `None` where the search was stopped, or memory
/// does not suffice and there is no disk.
pub(crate) fn decide(
    engine: &mut Engine<'_, '_>,
    transitions: u64,
) -> Result<Option<Decided>, Error> {
    match resident::decide(engine, transitions)? {
        Attempt::Decided(decided) => Ok(Some(decided)),
        Attempt::Stopped => Ok(None),
        Attempt::NoRoom => disk::decide(engine, transitions),
    }
}
