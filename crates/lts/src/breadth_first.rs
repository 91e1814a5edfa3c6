//! States in the order of a breadth-first search, where they do not fit into memory.
//!
//! A layer at a time: its states sorted by number, so that the file is read in order; the targets of
//! their edges sorted, each with the first edge that leads to it; those that have no number yet sorted
//! by that edge, and numbered.

use crate::hlts::Walker;
use crate::numbers::{Numbers, NumbersWriter};
use crate::resources::Resources;
use crate::sort::{EdgeSorter, Within};
use crate::{BlockCache, Edge, Error, Hlts};

/// In place of a number of a state that cannot be reached.
pub(crate) const UNREACHED: u64 = u64::MAX;

/// States between two looks at the stop flag.
const POLL_EVERY: u64 = 1 << 16;

/// The states that can be reached from the initial one.
pub(crate) struct Discovered {
    /// By state, its position in the order of discovery; or [`UNREACHED`].
    pub(crate) numbers: Numbers,
    pub(crate) n_found: u64,
    /// Greatest distance from the initial state.
    pub(crate) depth: u64,
}

/// Visits states in the order of their distance, and within a distance in that of the edges that lead
/// to them first.
pub(crate) fn discover(graph: &Hlts, resources: &Resources<'_>) -> Result<Discovered, Error> {
    let counts = graph.counts();
    let mut numbers = NumbersWriter::new(resources)?;
    for state in 0..counts.n_states {
        if state.is_multiple_of(POLL_EVERY) {
            resources.poll()?;
        }
        numbers.push(UNREACHED)?;
    }
    let numbers = numbers.finish()?;
    let cache = BlockCache::new(resources.memory_bytes / 16);
    let mut walker = Walker::new(graph, &cache);
    // States of a layer, each with its number.
    let mut layer = EdgeSorter::one_of(3, Within::All, resources);
    layer.push(Edge::new(counts.initial, 0, 0))?;
    let (mut n_found, mut depth) = (1, 0);
    loop {
        resources.poll()?;
        let mut targets = EdgeSorter::one_of(3, Within::All, resources);
        let mut editor = numbers.editor();
        layer.finish(|edge| {
            let (state, number) = (edge.source, edge.target);
            resources.note(1);
            editor.set(state, number)?;
            let mut place = walker.first(state)?;
            let mut position = 1;
            while let Some(edge) = walker.next(state, &mut place)? {
                targets.push(Edge {
                    source: edge.target,
                    label: 0,
                    target: number,
                    multiplicity: position,
                })?;
                position += 1;
            }
            Ok(())
        })?;
        editor.finish()?;
        let mut found = EdgeSorter::one_of(3, Within::All, resources);
        let mut known = numbers.reader();
        let mut last = None;
        let before = n_found;
        targets.finish(|edge| {
            let state = edge.source;
            // The first of them has the least number and of its edges the first.
            if last.replace(state) == Some(state) || known.at(state)? != UNREACHED {
                return Ok(());
            }
            n_found += 1;
            found.push(Edge {
                source: edge.target,
                label: 0,
                target: edge.multiplicity,
                multiplicity: state,
            })
        })?;
        if n_found == before {
            return Ok(Discovered {
                numbers,
                n_found,
                depth,
            });
        }
        layer = EdgeSorter::one_of(3, Within::All, resources);
        let mut number = before;
        found.finish(|edge| {
            layer.push(Edge::new(edge.multiplicity, 0, number))?;
            number += 1;
            Ok(())
        })?;
        depth += 1;
    }
}
