//! The graph of a search that may visit a state again: each visit is a state of its own, with a
//! number and all of its edges.
//!
//! A memory that forgets takes a state for new that was visited before, and so the graph has that
//! state twice. Both have the same edges up to the copies that these lead to, so the graph is
//! strongly bisimilar to that of the model, which a minimiser gives back.
//!
//! The number of a visit is its position in the order of admission. When an edge is made its target
//! has been admitted, or its number is held beside its key; so edges are logged as they are made and
//! passed on when the search has ended, and nothing has to be joined.

use hadal_model::{PAD_BYTES, States};
use hadal_search::strategy::{Halt, Run};
use hadal_search::{Error, GraphEdge, GraphFacts, GraphPart, Sink};

use crate::record_dir::RecordDir;
use crate::records::{Cursor, Records};

/// The graph so far, and who is to receive it.
pub(crate) struct GraphLog<'s> {
    sink: &'s mut dyn Sink,
    edges: Records,
    /// Where the sink wants them.
    states: Option<Records>,
}

/// Bytes of an edge: source, target, multiplicity and rule.
const EDGE_BYTES: usize = 3 * 8 + 4;
/// A part of the graph has about this many edges, or this many states, or states of this many bytes.
const PART_EDGES: usize = 1 << 14;
const PART_STATES: u64 = 1 << 13;
const PART_BYTES: u64 = 1 << 20;

impl<'s> GraphLog<'s> {
    /// An empty graph of states of `state_len` bytes for `sink`.
    pub(crate) fn new(
        sink: &'s mut dyn Sink,
        dir: &RecordDir,
        state_len: usize,
    ) -> Result<Self, Error> {
        let states = match sink.wants_graph_states() {
            true => Some(dir.records(state_len)?),
            false => None,
        };
        Ok(GraphLog {
            sink,
            edges: dir.records(EDGE_BYTES)?,
            states,
        })
    }

    /// Appends an edge. Edges come in the order of their sources.
    pub(crate) fn push_edge(&mut self, edge: GraphEdge) -> Result<(), Error> {
        let mut record = [0; EDGE_BYTES];
        record[..8].copy_from_slice(&edge.source.to_le_bytes());
        record[8..16].copy_from_slice(&edge.target.to_le_bytes());
        record[16..24].copy_from_slice(&edge.multiplicity.to_le_bytes());
        record[24..].copy_from_slice(&edge.rule.to_le_bytes());
        Ok(self.edges.push(&record)?)
    }

    /// Appends states, in the order of their numbers.
    pub(crate) fn push_states(&mut self, states: States<'_>) -> Result<(), Error> {
        if let Some(log) = &mut self.states {
            for at in 0..states.len() {
                log.push(states.get(at))?;
            }
        }
        Ok(())
    }

    /// Passes the graph on. All of its `n_states` states have been expanded, and the first `n_starts`
    /// are startstates.
    pub(crate) fn pass_on(
        mut self,
        run: &Run<'_>,
        n_states: u64,
        n_starts: u64,
    ) -> Result<(), Halt> {
        self.edges.finish().map_err(Error::from)?;
        if let Some(states) = &mut self.states {
            states.finish().map_err(Error::from)?;
        }
        let n_edges = self.edges.len();
        run.begin_writing(n_edges);
        let facts = GraphFacts {
            n_states,
            n_starts,
            n_edges,
        };
        self.sink.begin_graph(&facts).map_err(Error::Sink)?;
        let state_len = run.shape.state_len;
        let most_states = match self.states {
            Some(_) => (PART_BYTES / state_len.max(1) as u64).clamp(1, PART_STATES),
            None => PART_STATES,
        };
        let (mut next_edge, mut next_state) = (Cursor::new(), Cursor::new());
        let (mut edges, mut bytes) = (Vec::new(), Vec::new());
        let mut first = 0;
        while first < n_states {
            run.check_stop()?;
            let end = n_states.min(first + most_states);
            edges.clear();
            let mut to = end;
            while let Some(edge) = peek(&mut next_edge, &mut self.edges)?
                && edge.source < end
            {
                // All edges of a state are in one part.
                let is_full = edges.len() >= PART_EDGES;
                if is_full
                    && edges
                        .last()
                        .is_some_and(|last: &GraphEdge| last.source != edge.source)
                {
                    to = edge.source;
                    break;
                }
                edges.push(edge);
                next_edge.advance();
            }
            if let Some(log) = &mut self.states {
                bytes.clear();
                for _ in first..to {
                    let state = next_state.peek(log).map_err(Error::from)?;
                    bytes.extend_from_slice(state.expect("every state was logged"));
                    next_state.advance();
                }
                bytes.resize(bytes.len() + PAD_BYTES, 0);
            }
            let with_states = self.states.is_some();
            let part = GraphPart {
                sources: first..to,
                states: with_states.then(|| States::new(&bytes, state_len, (to - first) as usize)),
                edges: &edges,
            };
            self.sink.graph(&part).map_err(Error::Sink)?;
            run.note_written(edges.len() as u64);
            first = to;
        }
        self.sink.end_graph().map_err(Error::Sink)?;
        Ok(())
    }
}

/// The edge to come; `None` at the end.
fn peek(cursor: &mut Cursor, edges: &mut Records) -> Result<Option<GraphEdge>, Error> {
    let Some(record) = cursor.peek(edges)? else {
        return Ok(None);
    };
    let word = |at: usize| {
        let bytes: [u8; 8] = record[at..at + 8].try_into().expect("eight bytes");
        u64::from_le_bytes(bytes)
    };
    let rule: [u8; 4] = record[24..].try_into().expect("four bytes");
    Ok(Some(GraphEdge {
        source: word(0),
        target: word(8),
        multiplicity: word(16),
        rule: u32::from_le_bytes(rule),
    }))
}
