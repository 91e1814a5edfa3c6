//! Receives a graph and writes it.

use std::fs::File;
use std::io::{self, BufWriter};
use std::sync::{Arc, Mutex, PoisonError};

use hadal_lts::{Edge, Error, HltsWriter, UnfinishedFile};
use hadal_search::{EdgesWanted, GraphEdge, GraphFacts, GraphPart, Sink};

use super::labels::Labeller;
use super::output::{LABEL_BYTES, Made, Target};
use super::{AskedOutput, GraphOptions};

/// Receives the graph of a search and writes it to a temporary file beside its output.
pub struct GraphWriter<'m> {
    labeller: Option<Labeller<'m>>,
    new_labeller: Box<dyn Fn(u64) -> Labeller<'m> + Send + 'm>,
    options: GraphOptions,
    pub(crate) asked: AskedOutput,
    target: Target,
    state_len: usize,
    n_threads: Option<usize>,
    label_bytes: u64,
    under_way: Option<UnderWay>,
    made: Arc<Mutex<Option<Made>>>,
    /// Scratch for the labels of a part, and for the edges of a state.
    labels: Vec<u32>,
    of_source: Vec<(u32, u64, usize, u64)>,
}

/// A graph that is being written.
struct UnderWay {
    file: UnfinishedFile,
    writer: HltsWriter<BufWriter<File>>,
    n_states: u64,
    /// By how much numbers exceed ordinals: 1 where a state was added.
    shift: u64,
}

impl<'m> GraphWriter<'m> {
    /// What labels may take by default, in bytes.
    pub const LEAST_LABEL_BYTES: u64 = LABEL_BYTES;

    pub(super) fn new(
        new_labeller: Box<dyn Fn(u64) -> Labeller<'m> + Send + 'm>,
        state_len: usize,
        asked: AskedOutput,
        target: Target,
        made: Arc<Mutex<Option<Made>>>,
    ) -> Self {
        GraphWriter {
            labeller: None,
            new_labeller,
            options: asked.options.clone(),
            asked,
            target,
            state_len,
            n_threads: None,
            label_bytes: LABEL_BYTES,
            under_way: None,
            made,
            labels: Vec::new(),
            of_source: Vec::new(),
        }
    }

    /// Threads that evaluate parameters of edges; by default all cores.
    pub fn threads(mut self, n: usize) -> Self {
        self.n_threads = Some(n);
        self
    }

    /// What labels may take in memory, in bytes; by default
    /// [`LEAST_LABEL_BYTES`](Self::LEAST_LABEL_BYTES). They are made when the search has
    /// ended.
    pub fn label_bytes(mut self, bytes: u64) -> Self {
        self.label_bytes = bytes;
        self
    }

    /// Bytes of the value of a state; 0 where states have none.
    fn value_len(&self) -> usize {
        match self.options.values {
            true => self.state_len,
            false => 0,
        }
    }

    fn begin(&mut self, facts: &GraphFacts) -> Result<(), Error> {
        let shift = u64::from(facts.n_starts != 1);
        let n_states = facts.n_states + shift;
        self.target.refuse_too_large(n_states, facts.n_edges)?;
        let mut labeller = (self.new_labeller)(self.label_bytes);
        if let Some(n) = self.n_threads {
            labeller.set_threads(n);
        }
        let file = self.target.temporary()?;
        let out = BufWriter::with_capacity(256 << 10, file.reopen()?);
        let value_len = u32::try_from(self.value_len()).unwrap_or(u32::MAX);
        let mut writer = HltsWriter::new(out, 0, value_len)?;
        if shift == 1 {
            if value_len > 0 {
                writer.push_value(&vec![0; self.state_len])?;
            }
            let label = labeller.start()?;
            for start in 0..facts.n_starts {
                writer.push(Edge::new(0, label, start + 1))?;
            }
        }
        self.labeller = Some(labeller);
        self.under_way = Some(UnderWay {
            file,
            writer,
            n_states,
            shift,
        });
        Ok(())
    }

    fn write(&mut self, part: &GraphPart<'_>) -> Result<(), Error> {
        let (Some(labeller), Some(under_way)) = (&mut self.labeller, &mut self.under_way) else {
            return Err(Error::Order);
        };
        let UnderWay { writer, shift, .. } = under_way;
        self.labels.clear();
        labeller.name(&part.sources, part.states, part.edges, &mut self.labels)?;
        let mut sources = part.sources.clone();
        let mut write_values_until = |writer: &mut HltsWriter<_>, end: u64| {
            let states = part
                .states
                .filter(|_| self.options.values && self.state_len > 0);
            let Some(states) = states else {
                return Ok(());
            };
            while sources.start < end {
                let at = (sources.start - part.sources.start) as usize;
                writer.push_value(states.get(at))?;
                sources.start += 1;
            }
            Ok::<(), Error>(())
        };
        let mut labels = &self.labels[..];
        for edges in part.edges.chunk_by(|a, b| a.source == b.source) {
            let (here, rest) = labels.split_at(edges.len());
            labels = rest;
            let source = edges[0].source;
            write_values_until(writer, source + 1)?;
            merge(edges, here, &mut self.of_source);
            for &(label, target, _, multiplicity) in &self.of_source {
                writer.push(Edge {
                    source: source + *shift,
                    label,
                    target: target + *shift,
                    multiplicity,
                })?;
            }
        }
        write_values_until(writer, part.sources.end)
    }

    fn end(&mut self) -> Result<(), Error> {
        let (Some(labeller), Some(under_way)) = (self.labeller.take(), self.under_way.take())
        else {
            return Err(Error::Order);
        };
        let has_dropped = labeller.has_dropped();
        let labels = labeller.into_labels();
        let out = under_way.writer.finish(under_way.n_states, &labels)?;
        out.into_inner().map_err(io::IntoInnerError::into_error)?;
        let made = Made {
            file: under_way.file,
            has_dropped_parameters: has_dropped,
            has_added_start: under_way.shift == 1,
        };
        *self.made.lock().unwrap_or_else(PoisonError::into_inner) = Some(made);
        Ok(())
    }
}

/// So many edges are compared with each other.
const FEW_EDGES: usize = 16;

/// Replaces the content of `merged` by the edges of a state, each label and target once, in the order
/// in which they first come: label, target, position, multiplicity.
fn merge(edges: &[GraphEdge], labels: &[u32], merged: &mut Vec<(u32, u64, usize, u64)>) {
    merged.clear();
    let all = edges.iter().zip(labels).enumerate();
    merged.extend(
        all.map(|(position, (edge, &label))| (label, edge.target, position, edge.multiplicity)),
    );
    // Mostly there is nothing to merge.
    let is_new = |at: usize| {
        let (label, target, ..) = merged[at];
        let is_same = |other: &(u32, u64, usize, u64)| (other.0, other.1) == (label, target);
        !merged[..at].iter().any(is_same)
    };
    if merged.len() <= FEW_EDGES && (1..merged.len()).all(is_new) {
        return;
    }
    merged.sort_unstable();
    merged.dedup_by(|later, first| {
        let is_same = (later.0, later.1) == (first.0, first.1);
        if is_same {
            first.3 = first.3.saturating_add(later.3);
        }
        is_same
    });
    merged.sort_unstable_by_key(|&(_, _, position, _)| position);
}

impl Sink for GraphWriter<'_> {
    fn wants_edges(&self) -> EdgesWanted {
        EdgesWanted::Graph
    }

    fn wants_graph_states(&self) -> bool {
        let labeller = self.labeller.as_ref();
        self.options.values || labeller.is_some_and(Labeller::needs_states)
    }

    fn begin_graph(&mut self, facts: &GraphFacts) -> io::Result<()> {
        self.begin(facts).map_err(into_io)
    }

    fn graph(&mut self, part: &GraphPart<'_>) -> io::Result<()> {
        self.write(part).map_err(into_io)
    }

    fn end_graph(&mut self) -> io::Result<()> {
        self.end().map_err(into_io)
    }

    fn resume(&mut self, _: &[u8]) -> io::Result<()> {
        // The graph is written anew, after the search.
        Ok(())
    }
}

/// An error of the system as it is, so that whoever reports it knows its code.
fn into_io(error: Error) -> io::Error {
    match error {
        Error::Io(error) => error,
        error => io::Error::other(error),
    }
}

#[cfg(test)]
mod tests {
    use hadal_search::GraphEdge;

    use super::merge;

    #[test]
    fn equal_edges_are_one_in_the_order_of_the_first() {
        let edge = |target, multiplicity| GraphEdge {
            source: 4,
            target,
            multiplicity,
            rule: 0,
        };
        let edges = [
            edge(9, 1),
            edge(2, 3),
            edge(9, 1),
            edge(2, u64::MAX),
            edge(2, 1),
        ];
        let mut merged = Vec::new();
        merge(&edges, &[7, 1, 7, 1, 0], &mut merged);
        let expected = [(7, 9, 0, 2), (1, 2, 1, u64::MAX), (0, 2, 4, 1)];
        assert_eq!(merged, expected);
    }
}
