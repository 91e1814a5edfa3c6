//! Small graphs as pictures: text for Graphviz.

use std::io::Write;

use crate::resources::Resources;
use crate::{Error, Hlts};

/// Most states, and most edges, of a picture.
pub const MOST_IN_DOT: u64 = 10_000;

/// Writes `graph` in the language of Graphviz.
pub fn write_dot(
    graph: &Hlts,
    out: &mut dyn Write,
    resources: &Resources<'_>,
) -> Result<(), Error> {
    let counts = graph.counts();
    if counts.n_states.max(counts.n_edges) > MOST_IN_DOT {
        return Err(Error::TooLargeForDot {
            n_states: counts.n_states,
            n_edges: counts.n_edges,
            most: MOST_IN_DOT,
        });
    }
    writeln!(out, "digraph lts {{")?;
    writeln!(out, "  node [shape=circle];")?;
    writeln!(out, "  start [shape=point];")?;
    writeln!(out, "  start -> {};", counts.initial)?;
    graph.for_each_edge(resources, |edge| {
        let label = graph.labels().text(edge.label);
        let label: String = label.chars().flat_map(escaped).collect();
        writeln!(
            out,
            "  {} -> {} [label=\"{label}\"];",
            edge.source, edge.target
        )?;
        Ok(())
    })?;
    writeln!(out, "}}")?;
    Ok(())
}

/// A character inside quotes.
fn escaped(c: char) -> Vec<char> {
    match c {
        '"' | '\\' => vec!['\\', c],
        '\n' => vec!['\\', 'n'],
        c => vec![c],
    }
}
