//! Numbers in the order of a breadth-first search for the states of a result that do not fit into
//! memory.
//!
//! The result is that of [`in_order`](crate::minimise::discovery::in_order), byte for byte.

use crate::breadth_first::{Discovered, UNREACHED, discover};
use crate::minimise::discovery::Renamed;
use crate::progress::Stage;
use crate::resources::Resources;
use crate::sort::{EdgeSorter, Within};
use crate::{Edge, Error, Hlts};

/// The part of `graph` that can be reached, in the order of a breadth-first search. The edges of each
/// state are in the order of their labels.
pub(in crate::minimise) fn in_order(
    graph: &Hlts,
    resources: &Resources<'_>,
) -> Result<Hlts, Error> {
    resources.begin(Stage::Numbering, graph.counts().n_states);
    let Discovered {
        numbers, n_found, ..
    } = discover(graph, resources)?;
    resources.begin(Stage::Sorting, graph.counts().n_edges);
    let mut by_target = EdgeSorter::new(Within::All, resources);
    let mut of_source = numbers.reader();
    let mut position = 0;
    graph.for_each_edge(resources, |edge| {
        let source = of_source.at(edge.source)?;
        position += 1;
        match source {
            UNREACHED => Ok(()),
            _ => by_target.push(Edge {
                source: edge.target,
                label: edge.label,
                target: source,
                multiplicity: position,
            }),
        }
    })?;
    // In the order of their sources, and within one in that of the file.
    let mut by_source = EdgeSorter::new(Within::All, resources);
    let mut of_target = numbers.reader();
    by_target.finish(|edge| {
        by_source.push(Edge {
            source: edge.target,
            label: edge.label,
            target: edge.multiplicity,
            multiplicity: of_target.at(edge.source)?,
        })
    })?;
    let mut labels = Renamed::new(graph.labels());
    Hlts::build(0, resources, |writer| {
        by_source.finish(|edge| {
            let label = labels.of(edge.label);
            writer.push(Edge::new(edge.source, label, edge.multiplicity))
        })?;
        Ok((n_found, labels.new))
    })
}
