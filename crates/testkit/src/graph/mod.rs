//! A model that is a list of nodes and edges, with everything a model can do to a search:
//! costs, faults, discarded steps, deadlocks, properties and goals, reductions, wide states, and
//! nodes whose expansion does not return.
//!
//! ```
//! use hadal_testkit::graph::{Edge, Graph};
//! use hadal_testkit::oracle::{self, Options};
//!
//! let mut graph = Graph::new(2, &[0], vec![vec![Edge::to(1, 0)], vec![Edge::to(0, 1)]]);
//! graph.fail(&[(1, false)]);
//! let report = oracle::search(&graph, &Options::default());
//! assert_eq!(report.violation.unwrap().depth, 1);
//! ```

mod expander;
mod random;

use std::collections::BTreeMap;

use hadal_model::{
    Expander, Fault, FaultKind, Goal, GoalKind, Measure, MeasureKind, Model, Phase, Property,
    PropertyKind, Rule, Shape, Step, Stop,
};

use self::expander::GraphExpander;
pub use self::random::{deep_graph, random_graph};

/// Number of rules of every graph.
pub const N_RULES: usize = 3;

/// An explicit graph. A state is the number of its node; see [`Graph::encode`].
#[derive(Clone, Debug)]
pub struct Graph {
    /// The startstates, as steps from nowhere.
    pub starts: Vec<Edge>,
    /// By node, its steps in order.
    pub nodes: Vec<Vec<Edge>>,
    /// By property, the nodes where it fails, and whether by a fault; empty for goals.
    pub failing: Vec<Vec<(u32, bool)>>,
    /// Nodes, and properties whose evaluation there depends on the order of iterations.
    pub dependent: Vec<(u32, u32)>,
    /// By goal, the nodes that reach it; empty for goals of steps.
    pub reaching: Vec<Vec<u32>>,
    /// By node, its measures, in the order of the shape; `None` for one that it does not have. Empty
    /// where there are no measures.
    pub measures: Vec<Vec<Option<u32>>>,
    /// What a search sees of it.
    pub shape: Shape,
    /// What fills the bytes of a state behind its number.
    pub filling: Filling,
    /// Which states are represented by which.
    pub reduction: Reduction,
    /// Nodes whose expansion is a trap.
    pub traps: BTreeMap<u32, Trap>,
    /// Whether the startstates are less symmetric than the goals need.
    pub has_asymmetric_starts: bool,
    /// When the model itself raises the stop flag.
    pub interrupt: Option<Interrupt>,
}

/// One firing of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The rule.
    pub rule: u32,
    /// What the firing does.
    pub effect: Effect,
}

/// What a firing does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It leads to a node.
    To {
        /// The node.
        node: u32,
        /// The cost of the step.
        cost: u32,
        /// Whether it reaches every goal of steps.
        hits: bool,
    },
    /// An assumption discards the successor.
    Discarded,
    /// It faults, and the edges behind it do not fire.
    Fault(FaultKind),
}

impl Edge {
    /// A step to a node, of cost 1.
    pub const fn to(node: u32, rule: u32) -> Self {
        let (cost, hits) = (1, false);
        Edge {
            rule,
            effect: Effect::To { node, cost, hits },
        }
    }

    /// The same with a cost.
    pub const fn costly(node: u32, rule: u32, cost: u32) -> Self {
        let hits = false;
        Edge {
            rule,
            effect: Effect::To { node, cost, hits },
        }
    }

    /// A step to a node that reaches every goal of steps.
    pub const fn hit(node: u32, rule: u32) -> Self {
        let (cost, hits) = (1, true);
        Edge {
            rule,
            effect: Effect::To { node, cost, hits },
        }
    }

    /// A firing that an assumption discards.
    pub const fn discarded(rule: u32) -> Self {
        Edge {
            rule,
            effect: Effect::Discarded,
        }
    }

    /// A firing that faults.
    pub const fn fault(rule: u32) -> Self {
        Edge {
            rule,
            effect: Effect::Fault(FaultKind::Range),
        }
    }

    /// A firing whose result depends on the order of iterations.
    pub const fn dependence(rule: u32) -> Self {
        Edge {
            rule,
            effect: Effect::Fault(FaultKind::OrderDependence),
        }
    }

    /// The node it leads to.
    pub fn target(self) -> Option<u32> {
        match self.effect {
            Effect::To { node, .. } => Some(node),
            Effect::Discarded | Effect::Fault(_) => None,
        }
    }
}

/// What fills the bytes of a state behind its number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Filling {
    /// Multiples of the number: few different values per byte, so that states compress well.
    #[default]
    Multiples,
    /// Pseudo-random bytes of the number: states that do not compress.
    Random,
}

/// Which states are represented by which.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Reduction {
    /// Each represents itself.
    #[default]
    None,
    /// The last byte is a colour, which depends on that of the source as names of symmetric
    /// elements do, and is removed.
    Colours,
    /// By node, its representative.
    Classes(Vec<Class>),
}

/// The representative of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class {
    /// The node that represents it.
    pub node: u32,
    /// By goal of the node, the goal of the representative that takes its place.
    pub goals: Vec<u32>,
}

/// What happens when a node is expanded, besides its steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trap {
    /// The expansion ends only when the stop flag is raised.
    Endless,
    /// The expansion panics.
    Panic,
    /// The expansion remarks that the model is not as symmetric as it declares.
    BreaksSymmetry,
}

/// When the model raises the stop flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupt {
    /// When this node is among successors that are canonicalised.
    Found(u32),
    /// When the properties of more states than this are checked at once.
    Checked(usize),
}

impl Graph {
    /// A graph with states of `state_len` bytes and without properties: these are added by
    /// [`fail`](Self::fail) and [`reach`](Self::reach).
    pub fn new(state_len: usize, starts: &[u32], nodes: Vec<Vec<Edge>>) -> Self {
        let rule = |number| Rule {
            name: format!("rule {number}"),
            at: format!("graph:{number}:1"),
            ..Rule::default()
        };
        Graph {
            starts: starts.iter().map(|&node| Edge::to(node, 0)).collect(),
            nodes,
            failing: Vec::new(),
            dependent: Vec::new(),
            reaching: Vec::new(),
            measures: Vec::new(),
            shape: Shape {
                state_bits: state_len * 8,
                state_len,
                rules: (0..N_RULES).map(rule).collect(),
                ..Shape::default()
            },
            filling: Filling::default(),
            reduction: Reduction::default(),
            traps: BTreeMap::new(),
            has_asymmetric_starts: false,
            interrupt: None,
        }
    }

    /// A cube of many dimensions: a step flips a bit from 0 to 1, so layers are binomial
    /// coefficients. The last node fires, but the successor is discarded: it is no deadlock.
    pub fn cube(n_bits: u32) -> Self {
        let n_nodes = 1u32 << n_bits;
        let flips = |node: u32| {
            let zeros = (0..n_bits).filter(move |bit| node >> bit & 1 == 0);
            let edges = zeros.map(move |bit| Edge::to(node | 1 << bit, 0));
            match node + 1 == n_nodes {
                true => vec![Edge::discarded(0)],
                false => edges.collect(),
            }
        };
        Graph::new(4, &[0], (0..n_nodes).map(flips).collect())
    }

    /// The same graph with states that are coloured, and so reduced; one byte longer.
    pub fn coloured(mut self) -> Self {
        self.reduction = Reduction::Colours;
        self.shape.state_len += 1;
        self.shape.state_bits += 8;
        self
    }

    /// Adds a measure with a value for each node.
    pub fn measure(&mut self, kind: MeasureKind, values: impl IntoIterator<Item = Option<u32>>) {
        let name = match kind {
            MeasureKind::Estimate { .. } => "estimate",
            MeasureKind::Cost => "cost",
        };
        self.shape.measures.push(Measure {
            kind,
            name: name.to_owned(),
        });
        self.measures.resize(self.nodes.len(), Vec::new());
        for (measures, value) in self.measures.iter_mut().zip(values) {
            measures.push(value);
        }
    }

    /// Adds an invariant that fails at these nodes, by a fault or plainly.
    pub fn fail(&mut self, nodes: &[(u32, bool)]) {
        self.add_property(PropertyKind::Invariant);
        self.failing.push(nodes.to_vec());
    }

    /// Adds a property with one goal, reached at these nodes (or by [`Edge::hit`]).
    pub fn reach(&mut self, kind: GoalKind, nodes: &[u32]) {
        self.reach_each(kind, &[nodes]);
    }

    /// Adds a property with a goal for each of `instances`, reached at its nodes.
    pub fn reach_each(&mut self, kind: GoalKind, instances: &[&[u32]]) {
        let property = self.add_property(match kind {
            GoalKind::Liveness => PropertyKind::Liveness,
            GoalKind::CoverState | GoalKind::CoverStep => PropertyKind::Cover,
        });
        self.failing.push(Vec::new());
        for nodes in instances {
            self.reaching.push(nodes.to_vec());
            self.shape.goals.push(Goal {
                property,
                kind,
                parameters: vec![("g".to_owned(), self.reaching.len().to_string())],
            });
        }
    }

    fn add_property(&mut self, kind: PropertyKind) -> u32 {
        let number = self.shape.properties.len();
        self.shape.properties.push(Property {
            kind,
            name: format!("property {number}"),
            at: format!("graph:{number}:2"),
        });
        number as u32
    }

    /// The state of a node: its number, least byte first, then the [filling](Filling), then its
    /// colour where states are coloured.
    pub fn encode(&self, node: u32, colour: u8) -> Vec<u8> {
        let mut state = vec![0; self.shape.state_len];
        match self.filling {
            Filling::Multiples => {
                for (at, byte) in (0u8..=255).cycle().zip(&mut state) {
                    *byte = (node as u8).wrapping_mul(at);
                }
            }
            Filling::Random => {
                for (at, word) in (0..).zip(state.chunks_mut(8)) {
                    let random = mixed(u64::from(node) << 32 | at).to_le_bytes();
                    word.copy_from_slice(&random[..word.len()]);
                }
            }
        }
        for (byte, number) in state.iter_mut().zip(node.to_le_bytes()) {
            *byte = number;
        }
        if self.reduction == Reduction::Colours {
            *state.last_mut().expect("a coloured state has a byte") = colour;
        }
        state
    }

    /// The node of a state.
    pub fn decode(&self, state: &[u8]) -> u32 {
        let end = state.len() - usize::from(self.reduction == Reduction::Colours);
        let bytes = state[..end].iter().take(4).enumerate();
        bytes.fold(0, |node, (at, &byte)| node | u32::from(byte) << (8 * at))
    }

    /// Whether every byte of a state is as [`encode`](Self::encode) made it.
    fn is_intact(&self, state: &[u8]) -> bool {
        let colour = state.last().copied().unwrap_or(0);
        self.encode(self.decode(state), colour) == state
    }

    /// By node, the least cost of a path from a startstate: a fixpoint, for comparison with
    /// searches by cost. Ignores reductions.
    pub fn least_costs(&self) -> Vec<Option<u64>> {
        let mut costs: Vec<Option<u64>> = vec![None; self.nodes.len()];
        for node in firing(&self.starts).filter_map(|edge| edge.target()) {
            costs[node as usize] = Some(0);
        }
        loop {
            let before = costs.clone();
            for (source, edges) in self.nodes.iter().enumerate() {
                let Some(to_source) = costs[source] else {
                    continue;
                };
                for edge in firing(edges) {
                    if let Effect::To { node, cost, .. } = edge.effect {
                        let least = &mut costs[node as usize];
                        let new = to_source + u64::from(cost);
                        *least = Some(least.map_or(new, |old| old.min(new)));
                    }
                }
            }
            if costs == before {
                return costs;
            }
        }
    }

    /// The colour of a successor.
    fn colour(&self, source: &[u8], index: usize) -> u8 {
        source
            .last()
            .map_or(0, |last| last ^ (index as u8).wrapping_add(1))
    }

    fn fault(&self, kind: FaultKind, name: String, phase: Phase) -> Fault {
        Fault {
            kind,
            message: "out of range".to_owned(),
            at: "graph:9:9".to_owned(),
            phase,
            name,
            parameters: vec![("p".to_owned(), "1".to_owned())],
            goes_on: false,
        }
    }
}

/// The edges up to the first fault.
fn firing(edges: &[Edge]) -> impl Iterator<Item = &Edge> {
    let is_fault = |edge: &&Edge| matches!(edge.effect, Effect::Fault(_));
    edges.iter().take_while(move |edge| !is_fault(edge))
}

/// A word that depends on all of `seed` (the finaliser of splitmix64).
fn mixed(seed: u64) -> u64 {
    let mut mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

impl Model for Graph {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn expander<'a>(&'a self, stop: &'a Stop) -> Box<dyn Expander + 'a> {
        Box::new(GraphExpander::new(self, stop))
    }

    fn describe_state(&self, state: &[u8]) -> Vec<(String, String)> {
        vec![("node".to_owned(), self.decode(state).to_string())]
    }

    fn describe_step(&self, parent: Option<&[u8]>, index: u32) -> Option<Step> {
        let edges = match parent {
            None => &self.starts,
            Some(parent) => &self.nodes[self.decode(parent) as usize],
        };
        let steps = firing(edges).filter(|edge| edge.target().is_some());
        let edge = steps.into_iter().nth(index as usize)?;
        Some(Step {
            rule: match parent {
                None => "start".to_owned(),
                Some(_) => format!("rule {}", edge.rule),
            },
            parameters: vec![("to".to_owned(), edge.target()?.to_string())],
            ..Step::default()
        })
    }
}

#[cfg(test)]
mod tests;
