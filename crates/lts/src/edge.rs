//! Edges, and what is known about a graph as a whole.

/// A labelled edge. Edges of a graph are in the order of their sources; those of one source have
/// an order of their own, their position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The state it leaves.
    pub source: u64,
    /// Number of its label in the graph's [`Labels`](crate::Labels).
    pub label: u32,
    /// The state it leads to.
    pub target: u64,
    /// Number of paths of inner steps that it stands for, at least 1.
    pub multiplicity: u64,
}

impl Edge {
    /// An edge that stands for one path.
    pub const fn new(source: u64, label: u32, target: u64) -> Self {
        Edge {
            source,
            label,
            target,
            multiplicity: 1,
        }
    }
}

/// What a graph consists of, in numbers. States are 0 to `n_states` - 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The initial state.
    pub initial: u64,
    /// Number of states.
    pub n_states: u64,
    /// Number of edges.
    pub n_edges: u64,
}
