//! Minimisation modulo strong or branching bisimulation, by signature refinement.
//!
//! A partition of the states is refined in rounds. The *signature* of a state is the set of (label,
//! block of the target) over its edges; states of a block stay together as long as their signatures
//! are equal. Refinement ends when a round splits no block. Block numbers are in memory, two words a
//! state; edges are streamed from the file in each round, on all threads. Where they do not fit,
//! they are on disk, and rounds sort ([`external`]).
//!
//! Strong bisimulation: a round tells signatures apart by hashes of 128 bits. Two different ones
//! that collide delay a split and never cause one, so the partition is always coarser than
//! bisimilarity or equal to it. At the end all signatures are compared exactly, element by element
//! ([`quotient`]): a partition that passes is a bisimulation, hence bisimilarity. One that does not
//! is refined further with another hash.
//!
//! Branching bisimulation: cycles of invisible steps are collapsed first and states sorted by
//! their height above the last invisible step ([`collapse`]), so that a round meets the targets of
//! invisible steps before their sources. Signatures are inductive ([`rounds`]), which closes over
//! inert steps in memory proportional to the result; they are kept and compared exactly in each
//! round.

mod collapse;
mod discovery;
mod external;
mod partition;
mod quotient;
mod rounds;
mod settled;
mod signature;
mod table;

use crate::resources::Resources;
use crate::word::{MOST_NARROW, Word};
use crate::{Error, Hlts};
use collapse::System;

/// When two states count as the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Equivalence {
    /// Strong bisimulation: each step is matched by one with the same label.
    Strong,
    /// Branching bisimulation, without regard to divergence: invisible steps that change nothing
    /// that can be done later are not seen.
    Branching,
}

/// A minimised graph.
#[derive(Debug)]
pub struct Minimised {
    /// The graph. States are numbered in the order of a breadth-first search.
    pub graph: Hlts,
    /// Rounds of refinement that it took.
    pub n_rounds: u64,
}

/// What changes how the result is computed, and not the result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tuning {
    /// States that a thread takes at once; 0 for a number that suits the graph.
    pub(crate) chunk_states: u64,
    /// Bits of the hashes that are used.
    pub(crate) hash_bits: u32,
    /// Whether words have eight bytes although four suffice.
    pub(crate) is_wide: bool,
    /// Whether numbers of blocks are on disk although they fit into memory.
    pub(crate) is_external: bool,
}

impl Default for Tuning {
    fn default() -> Self {
        Tuning {
            chunk_states: 0,
            hash_bits: 128,
            is_wide: false,
            is_external: false,
        }
    }
}

/// The smallest graph equivalent to `graph`. Labels with one of the texts `tau` are invisible, which
/// matters to branching bisimulation only; of the result's invisible steps all have the label that
/// comes first in `graph`.
///
/// What cannot be reached from the initial state is dropped, and so are multiplicities and values.
/// The result is the same, byte for byte, whatever the resources.
pub fn minimise(
    graph: &Hlts,
    equivalence: Equivalence,
    tau: &[String],
    resources: &Resources<'_>,
) -> Result<Minimised, Error> {
    minimise_tuned(graph, equivalence, tau, resources, Tuning::default())
}

pub(crate) fn minimise_tuned(
    graph: &Hlts,
    equivalence: Equivalence,
    tau: &[String],
    resources: &Resources<'_>,
    tuning: Tuning,
) -> Result<Minimised, Error> {
    match is_wide(graph, tuning) {
        true => minimise_in::<u64>(graph, equivalence, tau, resources, tuning),
        false => minimise_in::<u32>(graph, equivalence, tau, resources, tuning),
    }
}

fn is_wide(graph: &Hlts, tuning: Tuning) -> bool {
    tuning.is_wide || graph.counts().n_states > MOST_NARROW
}

fn minimise_in<W: Word>(
    graph: &Hlts,
    equivalence: Equivalence,
    tau: &[String],
    resources: &Resources<'_>,
    tuning: Tuning,
) -> Result<Minimised, Error> {
    let system = System::<W>::new(graph, equivalence, tau, resources, tuning)?;
    let refined = partition::refine(&system, resources, tuning)?;
    let (quotient, n_rounds) = (refined.quotient, refined.n_rounds);
    // Only the quotient is needed from here on.
    drop(system);
    let words = quotient.counts().n_states.saturating_mul(2);
    let needed = words.saturating_mul(size_of::<W>() as u64);
    let graph = match resources.require("numbering the result", needed) {
        Ok(()) if !tuning.is_external => discovery::in_order::<W>(&quotient, resources)?,
        Err(error) if !external::has_room(&quotient, false, resources) => return Err(error),
        _ => external::in_order(&quotient, resources)?,
    };
    Ok(Minimised { graph, n_rounds })
}

/// Whether two states of `graph` are equivalent.
pub(crate) fn are_equivalent(
    graph: &Hlts,
    (a, b): (u64, u64),
    equivalence: Equivalence,
    tau: &[String],
    resources: &Resources<'_>,
) -> Result<bool, Error> {
    fn decide<W: Word>(
        graph: &Hlts,
        (a, b): (u64, u64),
        equivalence: Equivalence,
        tau: &[String],
        resources: &Resources<'_>,
    ) -> Result<bool, Error> {
        let tuning = Tuning::default();
        let system = System::<W>::new(graph, equivalence, tau, resources, tuning)?;
        let blocks = partition::refine(&system, resources, tuning)?.blocks;
        let block = |state| blocks.of(system.number_of(state)?);
        Ok(block(a)? == block(b)?)
    }
    match is_wide(graph, Tuning::default()) {
        true => decide::<u64>(graph, (a, b), equivalence, tau, resources),
        false => decide::<u32>(graph, (a, b), equivalence, tau, resources),
    }
}

#[cfg(test)]
mod tests;
