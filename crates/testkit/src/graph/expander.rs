//! What a graph does when a search asks.

use hadal_model::{
    Cursor, Expander, Failure, FaultKind, Flow, GoalKind, Phase, PropertyKind, Remark, States,
    Stop, Successors, Unmeasured,
};

use super::{Edge, Effect, Graph, Interrupt, Reduction, Trap};

pub(super) struct GraphExpander<'a> {
    graph: &'a Graph,
    stop: &'a Stop,
    remarks: Vec<Remark>,
}

impl<'a> GraphExpander<'a> {
    pub(super) fn new(graph: &'a Graph, stop: &'a Stop) -> Self {
        GraphExpander {
            graph,
            stop,
            remarks: Vec::new(),
        }
    }

    /// Fires edges from the position `from` on; returns where to continue if the buffer is full.
    /// The source of startstates has no `state`.
    fn fire(
        &self,
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
        for (at, &Edge { rule, effect }) in edges.iter().enumerate().skip(from as usize) {
            match effect {
                Effect::To { node, cost, hits } => {
                    if out.is_full() {
                        return Some(Cursor {
                            state: source,
                            rule: at as u32,
                            ..Cursor::default()
                        });
                    }
                    let goals = graph.shape.goals.iter().enumerate();
                    for (goal, entry) in goals.filter(|_| hits) {
                        if entry.kind == GoalKind::CoverStep {
                            out.count_goal(goal as u32);
                        }
                    }
                    let next = graph.encode(node, graph.colour(state.unwrap_or(&[1]), at));
                    count(out, rule, state.is_some_and(|state| state != next));
                    out.push(source, rule, &next);
                    if cost != 1 {
                        out.set_cost(cost);
                    }
                }
                Effect::Discarded => count(out, rule, true),
                Effect::Fault(kind) => {
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

    /// Adds the invariants, or the other properties, that depend on the order of iterations.
    fn add_dependent(&self, block: States<'_>, invariants: bool, failures: &mut Vec<Failure>) {
        for (position, state) in block.iter().enumerate() {
            let node = self.graph.decode(state);
            for &(_, property) in self.graph.dependent.iter().filter(|it| it.0 == node) {
                let kind = self.graph.shape.properties[property as usize].kind;
                if (kind == PropertyKind::Invariant) == invariants {
                    let kind = Some(FaultKind::OrderDependence);
                    failures.push(self.failure(position, property, node, kind));
                }
            }
        }
    }

    fn failure(
        &self,
        position: usize,
        property: u32,
        node: u32,
        fault: Option<FaultKind>,
    ) -> Failure {
        let name = format!("property {property}");
        let fault = fault.map(|kind| self.graph.fault(kind, name, Phase::Property));
        Failure {
            state: position as u32,
            property,
            parameters: vec![("node".to_owned(), node.to_string())],
            fault: fault.map(Box::new),
        }
    }
}

impl Expander for GraphExpander<'_> {
    fn starts(&mut self, from: Cursor, out: &mut Successors) -> Flow {
        if self.graph.has_asymmetric_starts {
            let message = "they depend on the colour".to_owned();
            self.remarks.push(Remark::AsymmetricStarts { message });
        }
        match self.fire(&self.graph.starts, 0, None, from.rule, out) {
            Some(cursor) => Flow::Full(cursor),
            None => Flow::Done,
        }
    }

    fn expand(&mut self, block: States<'_>, from: Cursor, out: &mut Successors) -> Flow {
        for source in from.state..block.len() as u32 {
            let state = block.get(source as usize);
            let node = self.graph.decode(state);
            assert!(self.graph.is_intact(state), "node {node} is damaged");
            match self.graph.traps.get(&node) {
                Some(Trap::Endless) => {
                    while !self.stop.is_raised() {
                        std::thread::yield_now();
                    }
                }
                Some(Trap::Panic) => panic!("node {node} is a trap"),
                Some(Trap::BreaksSymmetry) => self.remarks.push(Remark::BrokenSymmetry {
                    rule: "rule 1".to_owned(),
                    message: "it depends on the colour".to_owned(),
                }),
                None => {}
            }
            if self.stop.is_raised() {
                return Flow::Stopped;
            }
            let first = if source == from.state { from.rule } else { 0 };
            let edges = &self.graph.nodes[node as usize];
            if let Some(cursor) = self.fire(edges, source, Some(state), first, out) {
                return Flow::Full(cursor);
            }
        }
        Flow::Done
    }

    fn canonicalise(&mut self, states: &mut [u8]) {
        self.canonicalise_with_goals(states, &mut Vec::new());
    }

    fn canonicalise_with_goals(&mut self, states: &mut [u8], images: &mut Vec<u32>) {
        images.clear();
        let graph = self.graph;
        if graph.shape.state_len == 0 {
            return;
        }
        for state in states.chunks_exact_mut(graph.shape.state_len) {
            match &graph.reduction {
                Reduction::None => {}
                Reduction::Colours => {
                    *state.last_mut().expect("a coloured state has a byte") = 0;
                }
                Reduction::Classes(classes) => {
                    let class = &classes[graph.decode(state) as usize];
                    state.copy_from_slice(&graph.encode(class.node, 0));
                    images.extend_from_slice(&class.goals);
                }
            }
            // Nothing else is asked of a model before its successors are looked up.
            if graph.interrupt == Some(Interrupt::Found(graph.decode(state))) {
                self.stop.raise();
            }
        }
    }

    fn check(&mut self, block: States<'_>, failures: &mut Vec<Failure>) -> Flow {
        if let Some(Interrupt::Checked(n)) = self.graph.interrupt
            && block.len() > n
        {
            self.stop.raise();
        }
        for (position, state) in block.iter().enumerate() {
            let node = self.graph.decode(state);
            for (property, failing) in (0..).zip(&self.graph.failing) {
                for &(_, by_fault) in failing.iter().filter(|it| it.0 == node) {
                    let fault = by_fault.then_some(FaultKind::Range);
                    failures.push(self.failure(position, property, node, fault));
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
        let n_words = self.graph.shape.goal_words();
        for (position, state) in block.iter().enumerate() {
            let node = self.graph.decode(state);
            for (goal, reaching) in self.graph.reaching.iter().enumerate() {
                if reaching.contains(&node) {
                    reached[position * n_words + goal / 64] |= 1 << (goal % 64);
                }
            }
        }
        Flow::Done
    }

    fn measure(&mut self, block: States<'_>, values: &mut Vec<u32>) -> Result<Flow, Unmeasured> {
        for (position, state) in (0..).zip(block.iter()) {
            let node = self.graph.decode(state) as usize;
            for (measure, &value) in (0..).zip(&self.graph.measures[node]) {
                values.push(value.ok_or_else(|| Unmeasured {
                    state: position,
                    measure,
                    message: format!("node {node} has none"),
                })?);
            }
        }
        Ok(Flow::Done)
    }

    fn take_remarks(&mut self) -> Vec<Remark> {
        std::mem::take(&mut self.remarks)
    }
}
