//! Writes a graph as `.aut`.

use std::io::Write;

use super::line::is_rate;
use crate::resources::Resources;
use crate::{Error, Hlts};

/// Writes `graph` as `.aut`, a line an edge in the order of sources. A label stands in quotes unless
/// it is a word of letters, digits and `_`. Multiplicities and values have no place in the format.
pub fn write_aut(
    graph: &Hlts,
    out: &mut dyn Write,
    resources: &Resources<'_>,
) -> Result<(), Error> {
    let mut labels = Vec::with_capacity(graph.labels().len());
    for text in graph.labels().iter() {
        labels.push(written(text)?);
    }
    let counts = graph.counts();
    writeln!(
        out,
        "des ({}, {}, {})",
        counts.initial, counts.n_edges, counts.n_states
    )?;
    graph.scan(0..counts.n_states, resources, |source, edges| {
        for (&label, &target) in edges.labels.iter().zip(edges.targets) {
            write!(out, "({source}, ")?;
            out.write_all(&labels[label as usize])?;
            writeln!(out, ", {target})")?;
        }
        Ok(())
    })
}

/// A label as it stands in a line.
fn written(text: &[u8]) -> Result<Vec<u8>, Error> {
    if text.contains(&b'\n') {
        return Err(Error::LineBreak {
            label: String::from_utf8_lossy(text).into_owned(),
        });
    }
    if is_rate(text) {
        return Err(Error::Rate {
            label: String::from_utf8_lossy(text).into_owned(),
        });
    }
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    Ok(match !text.is_empty() && text.iter().all(is_word) {
        true => text.to_vec(),
        false => [b"\"", text, b"\""].concat(),
    })
}
