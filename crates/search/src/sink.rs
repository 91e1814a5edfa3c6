//! Sinks: whoever wants every state or every edge receives them here, in the one order.
//!
//! States arrive in the order of their ordinals, edges in the order (ordinal of the source, index),
//! both batch by batch and the same for any number of threads and any budget. A sink is called on
//! one thread.

use std::ops::Range;

use hadal_model::States;
use hadal_store::codec::KeyShape;
use hadal_store::key_space::KeySpace;

use crate::Error;
use crate::checkpoint::Blob;
use crate::external::SurvivorBatch;
use crate::rank::Rank;
use crate::window::{Block, Task};

/// Receives states and edges of a search.
pub trait Sink: Send {
    /// Which edges are wanted.
    fn wants_edges(&self) -> EdgesWanted {
        EdgesWanted::None
    }

    /// Whether edges have the costs of their steps; without them each cost is 1.
    fn wants_costs(&self) -> bool {
        false
    }

    /// Takes the next states.
    fn states(&mut self, states: &NewStates<'_>) -> std::io::Result<()> {
        let _ = states;
        Ok(())
    }

    /// Takes the next edges. States that they lead to may follow later.
    fn edges(&mut self, edges: &NewEdges<'_>) -> std::io::Result<()> {
        let _ = edges;
        Ok(())
    }

    /// The search has visited every state, and its [graph](EdgesWanted::Graph) follows.
    fn begin_graph(&mut self, facts: &GraphFacts) -> std::io::Result<()> {
        let _ = facts;
        Ok(())
    }

    /// Takes the next part of the graph.
    fn graph(&mut self, part: &GraphPart<'_>) -> std::io::Result<()> {
        let _ = part;
        Ok(())
    }

    /// Nothing of the graph is left to come.
    fn end_graph(&mut self) -> std::io::Result<()> {
        Ok(())
    }

    /// Whether parts of the graph have the states that they begin at.
    fn wants_graph_states(&self) -> bool {
        false
    }

    /// Makes everything durable that was received so far, and returns what [`resume`](Self::resume)
    /// needs to continue from here.
    fn checkpoint(&mut self) -> std::io::Result<Vec<u8>> {
        Ok(Vec::new())
    }

    /// Continues from a checkpoint, with the `mark` that [`checkpoint`](Self::checkpoint) returned:
    /// what was received after it will be received again.
    ///
    /// A sink that does not implement this cannot be used to resume a search.
    fn resume(&mut self, mark: &[u8]) -> std::io::Result<()> {
        let _ = mark;
        Err(std::io::ErrorKind::Unsupported.into())
    }
}

/// Which edges a sink wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EdgesWanted {
    /// None.
    #[default]
    None,
    /// All, with the keys of their targets.
    WithKeys,
    /// All, with the ordinals of their targets while all states are in memory, which takes an index
    /// of all states; later with keys. With keys from the first edge on where hashes are stored,
    /// in a search that is not by depth, and in one that is resumed.
    WithOrdinals,
    /// None while the search goes on, and the whole graph after it, by [`Sink::graph`]: all edges with
    /// the ordinals of their targets, in memory or on disk. Only of a search that has visited every
    /// state. It decides no liveness.
    Graph,
}

/// A graph in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphFacts {
    /// Number of states; their ordinals are less.
    pub n_states: u64,
    /// Startstates: those with the least ordinals.
    pub n_starts: u64,
    /// Number of edges, equal ones counted each.
    pub n_edges: u64,
}

/// Consecutive states and all edges that leave them.
#[derive(Clone, Debug)]
pub struct GraphPart<'a> {
    /// Ordinals of the states.
    pub sources: Range<u64>,
    /// The states, where the sink [wants them](Sink::wants_graph_states).
    pub states: Option<States<'a>>,
    /// Their edges, in the order (source, index).
    pub edges: &'a [GraphEdge],
}

/// An edge of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphEdge {
    /// Ordinal of the source.
    pub source: u64,
    /// Ordinal of the target.
    pub target: u64,
    /// Number of paths that it stands for.
    pub multiplicity: u64,
    /// The rule that made the step.
    pub rule: u32,
}

/// Consecutive states.
#[derive(Clone, Copy, Debug)]
pub struct NewStates<'a> {
    /// Ordinal of the first one.
    pub first: u64,
    /// Their rank: the depth, in a search by depth.
    pub rank: Rank,
    /// The states; under a reduction, representatives.
    pub states: States<'a>,
}

/// Edges of consecutive sources.
pub struct NewEdges<'a> {
    task: &'a Task,
    first_source: u64,
    targets: Targets<'a>,
}

enum Targets<'a> {
    Ordinals(&'a [u64]),
    Keys(&'a [u64], KeyShape),
}

/// One edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge<'a> {
    /// Ordinal of the source.
    pub source: u64,
    /// Position among the successors of the source.
    pub index: u32,
    /// The rule that made the step.
    pub rule: u32,
    /// Cost of the step, where the sink [wants costs](Sink::wants_costs).
    pub cost: u32,
    /// Where it leads.
    pub target: Target<'a>,
}

/// The target of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target<'a> {
    /// By ordinal.
    Ordinal(u64),
    /// By key, in this version of the layout of keys.
    Key(&'a [u64], u32),
}

impl<'a> NewEdges<'a> {
    /// Number of edges.
    pub fn len(&self) -> usize {
        self.task.n_candidates()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The edges in order.
    pub fn iter(&self) -> impl Iterator<Item = Edge<'a>> + '_ {
        let successors = &self.task.kernel.successors;
        (0..self.len()).map(move |position| Edge {
            source: self.first_source + u64::from(successors.source_of(position)),
            index: successors.index(position),
            rule: successors.rule(position),
            cost: successors.cost(position),
            target: match self.targets {
                Targets::Ordinals(ordinals) => Target::Ordinal(ordinals[position]),
                Targets::Keys(keys, shape) => {
                    let key = &keys[position * shape.n_words..][..shape.n_words];
                    Target::Key(key, shape.version)
                }
            },
        })
    }
}

/// The sink of a search, if it has one.
pub(crate) struct SinkHandle<'a>(pub(crate) Option<&'a mut dyn Sink>);

impl SinkHandle<'_> {
    pub(crate) fn is_present(&self) -> bool {
        self.0.is_some()
    }

    pub(crate) fn wants_edges(&self) -> EdgesWanted {
        (self.0.as_ref()).map_or(EdgesWanted::None, |sink| sink.wants_edges())
    }

    /// Passes on the survivors of a task.
    pub(crate) fn send_survivors(&mut self, rank: Rank, task: &Task) -> Result<(), Error> {
        self.send(rank, task.first_survivor, task.survivor_states())
    }

    /// Passes on a batch of promoted states, the first of which is `first`.
    pub(crate) fn send_batch(
        &mut self,
        rank: Rank,
        first: u64,
        batch: &SurvivorBatch,
    ) -> Result<(), Error> {
        self.send(rank, first, batch.states())
    }

    fn send(&mut self, rank: Rank, first: u64, states: States<'_>) -> Result<(), Error> {
        match &mut self.0 {
            Some(sink) if !states.is_empty() => {
                let new = NewStates {
                    first,
                    rank,
                    states,
                };
                sink.states(&new).map_err(Error::Sink)
            }
            _ => Ok(()),
        }
    }

    /// Passes on the edges of a task, whose targets have these `ordinals` or are known by keys.
    pub(crate) fn send_edges(
        &mut self,
        task: &Task,
        ordinals: Option<&[u64]>,
        keys: &KeySpace,
    ) -> Result<(), Error> {
        let (Some(sink), Block::States { first, .. }) = (&mut self.0, task.block) else {
            return Ok(());
        };
        let targets = match ordinals {
            Some(ordinals) => Targets::Ordinals(ordinals),
            None => Targets::Keys(task.candidate_keys(keys), keys.shape()),
        };
        let edges = NewEdges {
            task,
            first_source: first,
            targets,
        };
        sink.edges(&edges).map_err(Error::Sink)
    }

    pub(crate) fn wants_costs(&self) -> bool {
        self.0.as_ref().is_some_and(|sink| sink.wants_costs())
    }

    /// The sink's mark, if there is a sink.
    pub(crate) fn checkpoint(&mut self) -> Result<Option<Blob>, Error> {
        let mark = self.0.as_mut().map(|sink| sink.checkpoint());
        Ok(mark.transpose().map_err(Error::Sink)?.map(Blob))
    }

    /// Resumes from a checkpoint. One that was taken without a sink has not received everything, and
    /// one that was taken with a sink would lose its mark.
    pub(crate) fn resume(&mut self, mark: Option<&Blob>) -> Result<(), Error> {
        match (&mut self.0, mark) {
            (Some(sink), Some(mark)) => sink.resume(&mark.0).map_err(Error::Sink),
            (None, None) => Ok(()),
            (sink, _) => Err(Error::OtherSink {
                has_sink: sink.is_some(),
            }),
        }
    }
}
