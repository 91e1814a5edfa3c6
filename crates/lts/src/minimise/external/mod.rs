//! Refinement where the numbers of blocks do not fit into memory.
//!
//! Nothing is looked up at random: what belongs together is brought together by sorting. A block is
//! known by its least state, so that blocks need no table. A round takes the edges in the order of
//! their targets, gives each the block of its target, sorts them by source into signatures, sorts
//! states by block and hash of the signature, and by that finds their new blocks ([`round`]). Numbers
//! of blocks are read and written from end to end ([`Numbers`]).
//!
//! For branching bisimulation a state's class also depends on what its inert steps lead to. It is
//! passed along them, over a graph whose cycles of invisible steps are collapsed ([`collapse`]) and
//! whose states are numbered such that one sweep over a file suffices ([`inert`]).
//!
//! Hashes that collide delay a split, as in memory. That the last partition is stable is tested
//! exactly ([`quotient`]).

mod collapse;
mod discovery;
mod inert;
mod quotient;
mod round;

use crate::numbers::NumbersWriter;
use crate::progress::Stage;
use crate::resources::Resources;
use crate::sort::{EdgeSorter, Within};
use crate::{Edge, Error, Hlts};

use super::Tuning;
use super::partition::{Blocks, Refined};
pub(super) use collapse::collapse;
pub(super) use discovery::in_order;
use inert::Inert;
use round::Round;

/// Scratch bytes for each edge and each state: runs of two sorts, and the files between them.
const EDGE_BYTES: u64 = 72;
const STATE_BYTES: u64 = 72;

/// The same for branching bisimulation, which has further graphs and a cell for each state.
const BRANCHING_EDGE_BYTES: u64 = 112;
const BRANCHING_STATE_BYTES: u64 = 128;

/// States between two looks at the stop flag.
const POLL_EVERY: u64 = 1 << 16;

/// The least of the memory that sorting needs.
const LEAST_BYTES: u64 = 1 << 20;

/// Whether there are the scratch bytes that refinement takes at most.
pub(super) fn has_room(graph: &Hlts, has_tau: bool, resources: &Resources<'_>) -> bool {
    match has_tau {
        true => resources.has_scratch(graph.counts(), BRANCHING_EDGE_BYTES, BRANCHING_STATE_BYTES),
        false => resources.has_scratch(graph.counts(), EDGE_BYTES, STATE_BYTES),
    }
}

/// The coarsest stable partition of `graph`. Edges with the label `tau`, if there is one, are
/// invisible; they have no cycle.
pub(super) fn refine<W>(
    graph: &Hlts,
    tau: Option<u32>,
    resources: &Resources<'_>,
    tuning: Tuning,
) -> Result<Refined<W>, Error> {
    resources.require("sorting signatures", LEAST_BYTES)?;
    let n_states = graph.counts().n_states;
    let reversed = reversed(graph, None, resources)?;
    let inert = match tau {
        Some(tau) => Some(Inert::new(graph, tau, resources)?),
        None => None,
    };
    let mut first = NumbersWriter::new(resources)?;
    for state in 0..n_states {
        poll(state, resources)?;
        first.push(0)?;
    }
    let mut blocks = first.finish()?;
    let (mut n_blocks, mut n_rounds) = (1, 0);
    loop {
        n_rounds += 1;
        let stage = Stage::Refining {
            round: n_rounds,
            n_blocks,
        };
        resources.begin(stage, graph.counts().n_edges);
        let round = Round {
            graph,
            reversed: &reversed,
            inert: inert.as_ref(),
            blocks: &blocks,
            resources,
        };
        let (finer, n_found) = round.refine(n_rounds, tuning)?;
        if n_found == n_blocks
            && let Some(quotient) = quotient::verified(&round, n_blocks)?
        {
            return Ok(Refined {
                blocks: Blocks::Disk(blocks),
                quotient,
                n_rounds,
            });
        }
        (blocks, n_blocks) = (finer, n_found);
    }
}

/// The graph with all edges the other way round, or with those of one label alone.
fn reversed(graph: &Hlts, label: Option<u32>, resources: &Resources<'_>) -> Result<Hlts, Error> {
    resources.begin(Stage::Reversing, graph.counts().n_edges);
    let mut sorter = EdgeSorter::new(Within::LabelAndTarget, resources);
    graph.for_each_edge(resources, |edge| {
        match label.is_none_or(|label| label == edge.label) {
            true => sorter.push(Edge::new(edge.target, edge.label, edge.source)),
            false => Ok(()),
        }
    })?;
    let counts = graph.counts();
    Hlts::build(counts.initial, resources, |writer| {
        sorter.finish(|edge| writer.push(edge))?;
        Ok((counts.n_states, graph.labels().clone()))
    })
}

fn poll(state: u64, resources: &Resources<'_>) -> Result<(), Error> {
    match state.is_multiple_of(POLL_EVERY) {
        true => resources.poll(),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests;
