//! A model that is a list of nodes and edges, with everything a model can do to a search.

use hadal_model::{
    Cursor, Expander, Failure, Fault, FaultKind, Flow, Goal, GoalKind, Model, Phase, Property,
    PropertyKind, Remark, Rule, Shape, States, Step, Stop, Successors,
};

/// An explicit graph. Node `n` is stored as the number `n`, most significant byte last, filled up
/// with bytes that depend on `n`; the last byte is a colour that a reduction removes.
#[derive(Clone, Debug)]
pub(crate) struct Graph {
    pub(crate) starts: Vec<Edge>,
    pub(crate) nodes: Vec<Vec<Edge>>,
    /// For each property, the nodes where it fails, and whether by a fault.
    pub(crate) failing: Vec<Vec<(u32, bool)>>,
    /// Nodes and properties whose evaluation there depends on the order of passes.
    pub(crate) dependent: Vec<(u32, u32)>,
    /// For each goal of states, the nodes that reach it.
    pub(crate) reaching: Vec<Vec<u32>>,
    pub(crate) shape: Shape,
    /// Whether states are coloured, and so reduced.
    pub(crate) coloured: bool,
    /// Node whose expansion breaks the symmetry.
    pub(crate) breaking: Option<u32>,
    /// Whether the startstates are not as symmetric as the goals need them.
    pub(crate) has_asymmetric_starts: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edge {
    /// A firing of the rule that leads to a node.
    To(u32, u32),
    /// The same, and it reaches the goal of steps.
    Hit(u32, u32),
    /// A firing that an assumption discards.
    Discarded(u32),
    /// The rule meets a fault.
    Fault(u32),
    /// What the rule does depends on the order of passes.
    Dependence(u32),
}

pub(crate) const N_RULES: usize = 3;

impl Graph {
    /// A graph without properties. Goals are added by `reach`, properties by `fail`.
    pub(crate) fn new(state_len: usize, starts: &[u32], nodes: Vec<Vec<Edge>>) -> Self {
        let rule = |number| Rule {
            name: format!("rule {number}"),
            at: format!("graph:{number}:1"),
            reads: Default::default(),
            writes: Default::default(),
        };
        Graph {
            starts: starts.iter().map(|&node| Edge::To(node, 0)).collect(),
            nodes,
            failing: Vec::new(),
            dependent: Vec::new(),
            reaching: Vec::new(),
            shape: Shape {
                state_bits: state_len * 8,
                state_len,
                rules: (0..N_RULES).map(rule).collect(),
                ..Shape::default()
            },
            coloured: false,
            breaking: None,
            has_asymmetric_starts: false,
        }
    }

    /// Adds an invariant that fails at these nodes.
    pub(crate) fn fail(&mut self, nodes: &[(u32, bool)]) {
        self.property(PropertyKind::Invariant);
        self.failing.push(nodes.to_vec());
    }

    /// Adds a property with one goal, reached at these nodes (or by `Edge::Hit`).
    pub(crate) fn reach(&mut self, kind: GoalKind, nodes: &[u32]) {
        let property = self.property(match kind {
            GoalKind::Liveness => PropertyKind::Liveness,
            GoalKind::CoverState | GoalKind::CoverStep => PropertyKind::Cover,
        });
        self.failing.push(Vec::new());
        self.reaching.push(nodes.to_vec());
        self.shape.goals.push(Goal {
            property,
            kind,
            parameters: vec![("g".to_owned(), self.reaching.len().to_string())],
        });
    }

    fn property(&mut self, kind: PropertyKind) -> u32 {
        let number = self.shape.properties.len();
        self.shape.properties.push(Property {
            kind,
            name: format!("property {number}"),
            at: format!("graph:{number}:2"),
        });
        number as u32
    }

    pub(crate) fn encode(&self, node: u32, colour: u8) -> Vec<u8> {
        let mut state: Vec<u8> = (0..self.shape.state_len)
            .map(|at| match at {
                0..4 => (node >> (8 * at)) as u8,
                _ => (node as u8).wrapping_mul(at as u8),
            })
            .collect();
        if self.coloured {
            *state.last_mut().expect("a coloured state has a byte") = colour;
        }
        state
    }

    pub(crate) fn decode(&self, state: &[u8]) -> u32 {
        let end = state.len() - usize::from(self.coloured);
        let bytes = state[..end].iter().take(4).enumerate();
        bytes.fold(0, |node, (at, &byte)| node | u32::from(byte) << (8 * at))
    }

    /// The colour of a successor: it depends on the colour of the source, as names of symmetric
    /// elements do.
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
        }
    }
}

impl Model for Graph {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn expander<'a>(&'a self, stop: &'a Stop) -> Box<dyn Expander + 'a> {
        Box::new(GraphExpander {
            graph: self,
            stop,
            remarks: Vec::new(),
        })
    }

    fn describe_state(&self, state: &[u8]) -> Vec<(String, String)> {
        vec![("node".to_owned(), self.decode(state).to_string())]
    }

    fn describe_step(&self, parent: Option<&[u8]>, index: u32) -> Option<Step> {
        let edges = match parent {
            None => &self.starts,
            Some(parent) => &self.nodes[self.decode(parent) as usize],
        };
        let mut written = edges.iter().filter_map(|edge| match edge {
            Edge::To(node, rule) | Edge::Hit(node, rule) => Some((node, rule)),
            Edge::Discarded(_) | Edge::Fault(_) | Edge::Dependence(_) => None,
        });
        let (node, rule) = written.nth(index as usize)?;
        Some(Step {
            rule: match parent {
                None => "start".to_owned(),
                Some(_) => format!("rule {rule}"),
            },
            parameters: vec![("to".to_owned(), node.to_string())],
            output: Vec::new(),
        })
    }
}

struct GraphExpander<'a> {
    graph: &'a Graph,
    stop: &'a Stop,
    remarks: Vec<Remark>,
}

impl GraphExpander<'_> {
    fn walk(
        &mut self,
        edges: &[Edge],
        source: u32,
        state: Option<&[u8]>,
        from: u32,
        out: &mut Successors,
    ) -> Option<Cursor> {
        let graph = self.graph;
        let count = |out: &mut Successors, rule: u32, progress: bool| {
            if state.is_some() {
                out.count_enabled(source);
                out.count_firing(source, rule, progress);
            }
        };
        for (at, &edge) in edges.iter().enumerate().skip(from as usize) {
            match edge {
                Edge::To(node, rule) | Edge::Hit(node, rule) => {
                    if out.is_full() {
                        return Some(Cursor {
                            state: source,
                            rule: at as u32,
                            ..Cursor::default()
                        });
                    }
                    if let Edge::Hit(..) = edge {
                        for (goal, entry) in graph.shape.goals.iter().enumerate() {
                            if entry.kind == GoalKind::CoverStep {
                                out.count_goal(goal as u32);
                            }
                        }
                    }
                    let next = graph.encode(node, graph.colour(state.unwrap_or(&[1]), at));
                    count(out, rule, state.is_some_and(|state| state != next));
                    out.push(source, rule, &next);
                }
                Edge::Discarded(rule) => count(out, rule, true),
                Edge::Fault(rule) | Edge::Dependence(rule) => {
                    let kind = match edge {
                        Edge::Dependence(_) => FaultKind::OrderDependence,
                        _ => FaultKind::Range,
                    };
                    let (name, phase) = match state {
                        None => (format!("start {rule}"), Phase::Start),
                        Some(_) => (format!("rule {rule}"), Phase::Body),
                    };
                    out.add_fault(source, graph.fault(kind, name, phase));
                    break;
                }
            }
        }
        None
    }

    /// Adds the invariants, or the other properties, that depend on the order of passes.
    fn add_dependent(&self, block: States<'_>, invariants: bool, failures: &mut Vec<Failure>) {
        for (number, state) in block.iter().enumerate() {
            let node = self.graph.decode(state);
            for &(_, property) in self.graph.dependent.iter().filter(|it| it.0 == node) {
                let kind = self.graph.shape.properties[property as usize].kind;
                if (kind == PropertyKind::Invariant) != invariants {
                    continue;
                }
                let (kind, name) = (FaultKind::OrderDependence, format!("property {property}"));
                failures.push(Failure {
                    state: number as u32,
                    property,
                    parameters: vec![("node".to_owned(), node.to_string())],
                    fault: Some(Box::new(self.graph.fault(kind, name, Phase::Property))),
                });
            }
        }
    }
}

impl Expander for GraphExpander<'_> {
    fn starts(&mut self, from: Cursor, out: &mut Successors) -> Flow {
        let graph = self.graph;
        if graph.has_asymmetric_starts {
            let message = "they look at the colour".to_owned();
            self.remarks.push(Remark::AsymmetricStarts { message });
        }
        match self.walk(&graph.starts, 0, None, from.rule, out) {
            Some(cursor) => Flow::Full(cursor),
            None => Flow::Done,
        }
    }

    fn expand(&mut self, block: States<'_>, from: Cursor, out: &mut Successors) -> Flow {
        let graph = self.graph;
        for source in from.state..block.len() as u32 {
            if self.stop.is_raised() {
                return Flow::Stopped;
            }
            let state = block.get(source as usize);
            let node = graph.decode(state);
            if graph.breaking == Some(node) {
                self.remarks.push(Remark::BrokenSymmetry {
                    rule: "rule 1".to_owned(),
                    message: "it looks at the colour".to_owned(),
                });
            }
            let first = if source == from.state { from.rule } else { 0 };
            let edges = &graph.nodes[node as usize];
            if let Some(cursor) = self.walk(edges, source, Some(state), first, out) {
                return Flow::Full(cursor);
            }
        }
        Flow::Done
    }

    fn canonicalise(&mut self, states: &mut [u8]) {
        if self.graph.coloured {
            for state in states.chunks_mut(self.graph.shape.state_len) {
                *state.last_mut().expect("a coloured state has a byte") = 0;
            }
        }
    }

    fn check(&mut self, block: States<'_>, failures: &mut Vec<Failure>) -> Flow {
        for (number, state) in block.iter().enumerate() {
            let node = self.graph.decode(state);
            for (property, failing) in self.graph.failing.iter().enumerate() {
                for &(_, faulty) in failing.iter().filter(|(failing, _)| *failing == node) {
                    let name = format!("property {property}");
                    failures.push(Failure {
                        state: number as u32,
                        property: property as u32,
                        parameters: vec![("node".to_owned(), node.to_string())],
                        fault: faulty.then(|| {
                            let (kind, phase) = (FaultKind::Range, Phase::Property);
                            Box::new(self.graph.fault(kind, name, phase))
                        }),
                    });
                }
            }
        }
        self.add_dependent(block, true, failures);
        failures.sort_by_key(|failure| (failure.state, failure.property));
        Flow::Done
    }

    fn reach_goals(
        &mut self,
        block: States<'_>,
        reached: &mut [u64],
        failures: &mut Vec<Failure>,
    ) -> Flow {
        self.add_dependent(block, false, failures);
        for (number, state) in block.iter().enumerate() {
            let node = self.graph.decode(state);
            for (goal, reaching) in self.graph.reaching.iter().enumerate() {
                if reaching.contains(&node) {
                    reached[number * self.graph.shape.goal_words() + goal / 64] |= 1 << (goal % 64);
                }
            }
        }
        Flow::Done
    }

    fn take_remarks(&mut self) -> Vec<Remark> {
        std::mem::take(&mut self.remarks)
    }
}
