//! The expander: takes sources in batches, walks, and delivers.

use hadal_model::{Cursor, Expander, Failure, Flow, PAD_BYTES, Remark, Shape, States, Successors};

use crate::walk::{NOTHING, Target, Unfinished, Walk};

/// One thread's steps.
///
/// A walk over several sources is kept until all of its results are delivered. What happened at
/// them is added to the buffer at once, when the walk is complete; the cursor of a full buffer says
/// up to which source that is the case. So an expander that continues for another one walks once
/// more and counts nothing twice.
pub(crate) struct StepsExpander<'a> {
    inner: Box<dyn Expander + 'a>,
    micro: &'a Shape,
    /// Length of a state at rest.
    rest_len: usize,
    walk: Walk<'a>,
    /// Whether `walk` is complete, and position in its block of its first source.
    walked: Option<usize>,
    /// Micro successors.
    out: Successors,
    /// Sources that are taken together.
    batch_len: usize,
    /// States at rest with their registers, and padding.
    extended: Vec<u8>,
}

/// Memory for micro successors.
const BUFFER_BYTES: usize = 256 << 10;
/// Micro steps that a batch of sources should take: few enough for the nearest caches.
const BATCH_STEPS: usize = 2048;

impl<'a> StepsExpander<'a> {
    pub(crate) fn new(
        inner: Box<dyn Expander + 'a>,
        micro: &'a Shape,
        shape: &'a Shape,
        limit: usize,
    ) -> Self {
        let capacity = (BUFFER_BYTES / (micro.state_len + 12)).clamp(64, 1024);
        StepsExpander {
            inner,
            micro,
            rest_len: shape.state_len,
            walk: Walk::new(micro, shape.state_len, limit),
            walked: None,
            out: Successors::new(micro, capacity),
            batch_len: 64,
            extended: Vec::new(),
        }
    }

    /// Walks from some sources of `block`, the first of them at `first` and none at `end`.
    fn walk_from(&mut self, block: States<'_>, first: usize, end: usize) -> Result<(), Flow> {
        self.walked = None;
        loop {
            let end = end.min(first + self.batch_len);
            let walked = (self.walk).run(&mut *self.inner, &mut self.out, block, first..end);
            match walked {
                Ok(()) => break,
                Err(Unfinished::Stopped) => return Err(Flow::Stopped),
                Err(Unfinished::TooMany) => self.batch_len = (end - first).div_ceil(2),
            }
        }
        let n_steps = self.walk.edges.len().max(self.walk.n_sources());
        let fitting = self.walk.n_sources() * BATCH_STEPS / n_steps;
        self.batch_len = fitting.clamp(1, 2 * self.batch_len);
        self.walked = Some(first);
        Ok(())
    }

    /// Whether the walk at hand has results of the source of `block` at `position`, and of all
    /// after it in the same states.
    fn has_walked(&self, block: States<'_>, position: usize) -> bool {
        let Some(first) = self.walked.filter(|first| *first <= position) else {
            return false;
        };
        let end = first + self.walk.n_sources();
        !self.walk.is_of_starts
            && position < end
            && end <= block.len()
            && (position..end).all(|at| self.walk.node_at_rest(at - first) == block.get(at))
    }

    /// Adds what happened at the sources of the walk to `out`, the first of them being `first`.
    fn count(&mut self, out: &mut Successors, first: usize) {
        let columns = out.columns();
        for (own, sum) in self.walk.fired_by_rule.iter().zip(columns.fired_by_rule) {
            *sum += own;
        }
        for (own, sum) in self.walk.goal_hits.iter().zip(columns.goal_hits) {
            *sum += own;
        }
        if !self.walk.is_of_starts {
            for (facts, source) in self.walk.facts.iter().zip(&mut columns.sources[first..]) {
                source.enabled = facts.enabled;
                source.may_end = facts.may_end;
                source.fired = facts.n_paths;
                source.progress = facts.progress;
            }
        }
        for (number, facts) in self.walk.facts.iter_mut().enumerate() {
            for fault in facts.faults.drain(..) {
                out.add_fault((first + number) as u32, fault);
            }
        }
    }

    /// Delivers the results of a source from number `from` on. Returns the number of the one that
    /// had no room, if there is one.
    fn deliver(&self, out: &mut Successors, number: usize, source: u32, from: u64) -> Option<u64> {
        let results = self.walk.results_of(number);
        for (index, &result) in results.iter().enumerate().skip(from as usize) {
            if out.is_full() {
                return Some(index as u64);
            }
            let node = self.walk.results[result as usize];
            out.push(source, node.rule, self.walk.result_state(result as usize));
            out.set_cost(node.cost);
            out.set_multiplicity(node.n_paths);
        }
        None
    }

    /// The micro steps of the cheapest path to a successor, each as the state where it begins and
    /// its index there.
    pub(crate) fn cheapest_path(
        &mut self,
        parent: Option<&[u8]>,
        index: u32,
    ) -> Option<Vec<(Option<Vec<u8>>, u32)>> {
        match parent {
            Some(parent) => {
                let mut block = parent.to_vec();
                block.resize(block.len() + PAD_BYTES, 0);
                let block = States::new(&block, self.rest_len, 1);
                self.walk_from(block, 0, 1).ok()?;
            }
            None => self.walk.run_starts(&mut *self.inner, &mut self.out).ok()?,
        }
        let walk = &self.walk;
        let result = *walk.results_of(0).get(index as usize)?;
        let mut target = Target::Result(result);
        let mut cost = walk.results[result as usize].cost;
        let mut path = Vec::new();
        loop {
            // Along a cycle costs were counted without the steps that close it.
            let is_counted = |to: Target| match (to, target) {
                (Target::Known(known), Target::Node(node)) => known == node && !walk.has_cycle(0),
                (to, target) => to == target,
            };
            let mut edges = walk.edges.iter().enumerate();
            let (number, edge) = edges.find(|(_, edge)| {
                let from = walk.nodes[edge.from as usize];
                is_counted(edge.to) && from.cost.saturating_add(walk.cost_of(edge)) == cost
            })?;
            if edge.rule != NOTHING {
                let is_start = parent.is_none() && edge.from == 0;
                let state = walk.node_state(edge.from as usize);
                let before = walk.edges[..number].iter();
                let index = before.filter(|other| other.from == edge.from).count();
                path.push(((!is_start).then(|| state.to_vec()), index as u32));
            }
            if edge.from == 0 {
                path.reverse();
                return Some(path);
            }
            target = Target::Node(edge.from);
            cost = walk.nodes[edge.from as usize].cost;
        }
    }

    /// The states of a block with registers, which are 0.
    fn extend(&mut self, block: States<'_>) {
        let len = self.micro.state_len;
        self.extended.clear();
        self.extended.resize(block.len() * len + PAD_BYTES, 0);
        for (state, to) in block.iter().zip(self.extended.chunks_exact_mut(len)) {
            to[..state.len()].copy_from_slice(state);
        }
    }
}

impl Expander for StepsExpander<'_> {
    fn starts(&mut self, from: Cursor, out: &mut Successors) -> Flow {
        let is_counted = from.rule > 0;
        if !(is_counted && self.walked.is_some() && self.walk.is_of_starts) {
            self.walked = None;
            match self.walk.run_starts(&mut *self.inner, &mut self.out) {
                Ok(()) => self.walked = Some(0),
                Err(_) => return Flow::Stopped,
            }
        }
        if !is_counted {
            self.count(out, 0);
        }
        match self.deliver(out, 0, 0, from.inner) {
            None => Flow::Done,
            Some(inner) => Flow::Full(Cursor {
                rule: 1,
                inner,
                ..Cursor::default()
            }),
        }
    }

    fn expand(&mut self, block: States<'_>, from: Cursor, out: &mut Successors) -> Flow {
        let (mut position, mut inner) = (from.state as usize, from.inner);
        // Sources up to here are counted.
        let mut counted = from.rule as usize;
        while position < block.len() {
            let is_counted = position < counted;
            if !(is_counted && self.has_walked(block, position)) {
                let end = if is_counted { counted } else { block.len() };
                if let Err(flow) = self.walk_from(block, position, end) {
                    return flow;
                }
            }
            let first = self.walked.expect("just walked");
            if !is_counted {
                self.count(out, first);
                counted = first + self.walk.n_sources();
            }
            // Another expansion of the same states may have taken more of them together.
            let end = counted.min(first + self.walk.n_sources());
            while position < end {
                if let Some(inner) = self.deliver(out, position - first, position as u32, inner) {
                    return Flow::Full(Cursor {
                        state: position as u32,
                        rule: counted as u32,
                        instance: 0,
                        inner,
                    });
                }
                inner = 0;
                position += 1;
            }
        }
        Flow::Done
    }

    fn check(&mut self, block: States<'_>, failures: &mut Vec<Failure>) -> Flow {
        self.extend(block);
        let block = States::new(&self.extended, self.micro.state_len, block.len());
        self.inner.check(block, failures)
    }

    fn reach_goals(
        &mut self,
        block: States<'_>,
        reached: &mut [u64],
        failures: &mut Vec<Failure>,
    ) -> Flow {
        self.extend(block);
        let block = States::new(&self.extended, self.micro.state_len, block.len());
        self.inner.reach_goals(block, reached, failures)
    }

    fn take_remarks(&mut self) -> Vec<Remark> {
        self.inner.take_remarks()
    }
}
