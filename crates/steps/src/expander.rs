//! The expander: takes sources in batches, walks where one micro step is not enough, and delivers.

use std::ops::Range;
use std::sync::Arc;

use hadal_model::{
    Allowance, Cursor, Expander, Failure, FirstSteps, Flow, PAD_BYTES, Remark, Shape, Source,
    States, Stop, Stopped, Successors, Unmeasured, Weight,
};

use crate::direct::{Direct, Rest, add_to};
use crate::walk::{NOTHING, Target, Unfinished, Walk};

/// The micro steps of a path, each as the state where it begins, if there is one, and its index there.
pub(crate) type Path = Vec<(Option<Vec<u8>>, u32)>;

/// One thread's steps.
///
/// A batch of sources is kept until all of its results are delivered. What happened at them is
/// added to the buffer at once, when their walk is complete; the cursor of a full buffer says up to
/// which source that is the case. So an expander that continues for another one takes the sources
/// once more and counts nothing twice.
pub(crate) struct StepsExpander<'a> {
    inner: Box<dyn Expander + 'a>,
    micro: &'a Shape,
    /// Length of a state at rest.
    rest_len: usize,
    /// The batch after one micro step, unless the inner expander has written it in place.
    direct: Direct<'a>,
    /// The first micro steps of those of its sources that need more.
    left: FirstSteps,
    /// Further micro steps of those of its sources that need them; or those of the startstates.
    walk: Walk<'a>,
    /// Whose results are complete.
    results: Results,
    /// Micro successors on the walk.
    out: Successors,
    /// Sources that are taken together.
    batch_len: usize,
    /// Whether the inner expander can write successors without registers.
    is_in_place: bool,
    /// States at rest with their registers, and padding.
    extended: Vec<u8>,
    stop: &'a Stop,
    remarks: Vec<Remark>,
}

/// Whose results an expander holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Results {
    None,
    OfStarts,
    /// Those of a batch, whose first source has this position in its block.
    OfBatch {
        first: usize,
    },
}

/// Memory for micro successors, on a walk and before it.
const BUFFER_BYTES: usize = 256 << 10;
/// Micro steps that a walk should take: few enough for the nearest caches.
const WALK_STEPS: usize = 2048;
/// Memory for a walk at least; in wide states, for some of them.
const WALK_BYTES: usize = 512 << 10;
const WALK_STATES: usize = 64;

/// Micro successors that a buffer holds.
fn capacity(micro: &Shape) -> usize {
    (BUFFER_BYTES / (micro.state_len + 12)).clamp(64, 1024)
}

/// What an expander holds beside its walk: two buffers of micro successors, the sources of a batch,
/// and counts by rule.
fn buffer_bytes(micro: &Shape) -> usize {
    let successor = micro.state_len + 12;
    let source = micro.state_len + size_of::<Source>() + 12;
    let counts = 4 * size_of::<u64>() * (micro.rules.len() + micro.goals.len());
    // Sources with registers and first micro steps of those that are walked, by native code.
    let in_place = micro.state_len + successor;
    capacity(micro) * (2 * successor + source + in_place) + counts
}

/// What an expander needs at least.
pub(crate) fn least_bytes(micro: &Shape) -> u64 {
    let walk = WALK_BYTES.max(WALK_STATES * micro.state_len);
    (buffer_bytes(micro) + walk) as u64
}

impl<'a> StepsExpander<'a> {
    pub(crate) fn new(
        inner: Box<dyn Expander + 'a>,
        micro: &'a Shape,
        shape: &'a Shape,
        limit: usize,
        stop: &'a Stop,
    ) -> Self {
        let capacity = capacity(micro);
        StepsExpander {
            inner,
            micro,
            rest_len: shape.state_len,
            direct: Direct::new(micro, shape.state_len, capacity),
            left: FirstSteps::new(micro.state_len),
            walk: Walk::new(micro, shape.state_len, limit),
            results: Results::None,
            out: Successors::new(micro, capacity),
            batch_len: 64,
            is_in_place: true,
            extended: Vec::new(),
            stop,
            remarks: Vec::new(),
        }
    }

    /// Stops since a step needs more memory than there is.
    #[cold]
    fn run_out(&mut self) -> Flow {
        self.remarks.push(Remark::LargeStep {
            at: self.walk.first_place(),
            n_states: self.walk.nodes.len() as u64,
            bytes: self.walk.needed_bytes() as u64,
        });
        self.stop.raise_for_memory();
        Flow::Stopped
    }

    /// Takes some sources of `block` as a batch, the first of them at `first` and none at `end`.
    fn take_batch(&mut self, block: States<'_>, first: usize, end: usize) -> Result<(), Flow> {
        self.results = Results::None;
        loop {
            let end = end.min(first + self.batch_len);
            match self.walk_from(block, first, end) {
                Ok(()) => break,
                Err(Unfinished::Stopped) => return Err(Flow::Stopped),
                Err(Unfinished::NoMemory) => return Err(self.run_out()),
                Err(Unfinished::TooMany) => self.batch_len = (end - first).div_ceil(2),
            }
        }
        // Some room is left over, since a batch that does not fit is begun twice.
        let (n, n_steps) = (self.direct.n_sources(), self.direct.successors().len());
        self.size_batches(n, n_steps, self.walk.edges.len());
        self.results = Results::OfBatch { first };
        Ok(())
    }

    /// Chooses the number of sources of the next batch, where `n` had `n_steps` first micro steps
    /// and `n_walked` on a walk.
    fn size_batches(&mut self, n: usize, n_steps: usize, n_walked: usize) {
        let room = self.direct.successors().capacity() * 3 / 4;
        let fitting = n * room / n_steps.max(n);
        let walkable = n * WALK_STEPS / n_walked.max(n);
        self.batch_len = fitting.min(walkable).clamp(1, 2 * self.batch_len);
    }

    /// Expands sources of `block` in place, and walks where that is not enough. Returns where the
    /// first one is that is to be taken otherwise, or the end of the range.
    fn expand_in_place(
        &mut self,
        block: States<'_>,
        range: Range<usize>,
        out: &mut Successors,
    ) -> Result<usize, Stopped> {
        let (first, before) = (range.start, out.len());
        self.results = Results::None;
        self.left.clear();
        let left = &mut self.left;
        let Some(end) = self.inner.expand_at_rest(block, range, out, left) else {
            self.is_in_place = false;
            return Ok(first);
        };
        let end = end?;
        if end == first {
            return Ok(first);
        }
        let n_steps = out.len() - before + self.left.rules().len();
        let mut n_walked = 0;
        if !self.left.sources().is_empty() {
            let walked = self.walk.run_on(
                &mut *self.inner,
                &mut self.out,
                &self.left,
                |source| block.get(first + source),
                &out.sources()[first..],
            );
            let fits = match walked {
                Ok(()) => self.walk.results.len() <= out.capacity() - out.len(),
                Err(Unfinished::TooMany) => false,
                Err(Unfinished::Stopped) => return Err(Stopped),
                Err(Unfinished::NoMemory) => {
                    self.run_out();
                    return Err(Stopped);
                }
            };
            if !fits {
                self.take_back(out, first..end, before);
                self.batch_len = (end - first).div_ceil(2);
                return Ok(first);
            }
            n_walked = self.walk.edges.len();
            self.count_walk(out, first);
            self.insert_results(out, first, before);
        }
        self.size_batches(end - first, n_steps, n_walked);
        Ok(end)
    }

    /// Takes back what an expansion in place counted and wrote from position `before` on.
    fn take_back(&self, out: &mut Successors, sources: Range<usize>, before: usize) {
        let len = out.len();
        let columns = out.columns();
        let written = &columns.rules[before..len];
        for rule in written.iter().chain(self.left.rules()) {
            columns.fired_by_rule[*rule as usize] -= 1;
        }
        columns.sources[sources].fill(Source::default());
        out.set_len(before);
    }

    /// Inserts the results of the walk among the successors of the other sources of the batch,
    /// which begins at `first` and whose successors begin at position `before`. There is room.
    fn insert_results(&self, out: &mut Successors, first: usize, before: usize) {
        let sources = self.left.sources();
        let position = |number: usize| sources.get(number).map(|it| (first as u32) + it);
        // Those before the next source of the walk, from a position on.
        let n_before = |out: &Successors, from: usize, end: Option<u32>| {
            let others = &out.sources_of()[from..];
            end.map_or(others.len(), |end| others.partition_point(|it| *it < end))
        };
        let mut to = before + n_before(out, before, position(0));
        let n_results = self.walk.results.len();
        out.open_gap(to, n_results);
        let mut from = to + n_results;
        for (number, source) in sources.iter().enumerate() {
            let source = first as u32 + source;
            for &result in self.walk.results_of(number) {
                let node = self.walk.results[result as usize];
                let state = self.walk.result_state(result as usize);
                let weight = Weight {
                    cost: node.cost,
                    multiplicity: node.n_paths,
                };
                out.put(to, source, node.rule, state, weight);
                to += 1;
            }
            let n = n_before(out, from, position(number + 1));
            out.move_down(from..from + n, to);
            (from, to) = (from + n, to + n);
        }
    }

    fn walk_from(&mut self, block: States<'_>, first: usize, end: usize) -> Result<(), Unfinished> {
        let inner = &mut *self.inner;
        self.direct.take(inner, block, first..end, &mut self.left)?;
        let direct = &self.direct;
        match direct.has_room() {
            true => (self.walk).run_on(
                inner,
                &mut self.out,
                &self.left,
                |source| direct.source(source),
                direct.successors().sources(),
            ),
            false => (self.walk).run(inner, &mut self.out, block, first..first + 1),
        }
    }

    /// Where the batch at hand begins, if it has the results of the source of `block` at
    /// `position` and of all after it in the same states.
    fn batch_of(&self, block: States<'_>, position: usize) -> Option<usize> {
        let Results::OfBatch { first } = self.results else {
            return None;
        };
        let source = position.checked_sub(first)?;
        let is_it = source < self.direct.n_sources() && self.direct.is_of(block, position, source);
        is_it.then_some(first)
    }

    /// Adds what happened on the walk to `out`, where the batch begins at `first`.
    fn count_walk(&mut self, out: &mut Successors, first: usize) {
        let is_of_starts = self.walk.is_of_starts;
        let columns = out.columns();
        add_to(columns.fired_by_rule, &self.walk.fired_by_rule);
        add_to(columns.goal_hits, &self.walk.goal_hits);
        for (number, facts) in self.walk.facts.iter_mut().enumerate() {
            let position = match is_of_starts {
                true => first,
                false => first + self.left.sources()[number] as usize,
            };
            if !is_of_starts {
                let source = &mut out.columns().sources[position];
                source.enabled = facts.enabled;
                source.may_end = facts.may_end;
                source.fired = facts.n_paths;
                source.progress = facts.progress;
            }
            for fault in facts.faults.drain(..) {
                out.add_fault(position as u32, fault);
            }
        }
    }

    /// Delivers the results of a source of the walk from number `from` on. Returns the number of
    /// the one that had no room, if there is one.
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

    /// Delivers the results of the batch that begins at `first`, from `from` to the source `end`.
    /// Returns what had no room.
    fn deliver_batch(
        &mut self,
        out: &mut Successors,
        first: usize,
        mut from: Rest,
        end: usize,
    ) -> Option<Rest> {
        while from.source < end {
            let source = match self.direct.number_in_walk(from.source) {
                None => match self.direct.deliver(out, first, from, end) {
                    Ok(next) => next,
                    Err(rest) => return Some(rest),
                },
                Some(number) => {
                    let position = (first + from.source) as u32;
                    if let Some(result) = self.deliver(out, number, position, from.result) {
                        return Some(Rest { result, ..from });
                    }
                    from.source + 1
                }
            };
            from = Rest { source, result: 0 };
        }
        None
    }

    /// The micro steps of the cheapest path to a successor, each as the state where it begins and
    /// its index there, and the successor.
    pub(crate) fn cheapest_path(
        &mut self,
        parent: Option<&[u8]>,
        index: u32,
    ) -> Result<Option<(Path, Vec<u8>)>, Stopped> {
        self.walk_alone(parent)?;
        let Some(&result) = self.walk.results_of(0).get(index as usize) else {
            return Ok(None);
        };
        let path = self.path_to(result, parent.is_none());
        let state = self.walk.result_state(result as usize).to_vec();
        Ok(path.map(|path| (path, state)))
    }

    /// Those to all successors of `parent`, without the successors.
    pub(crate) fn cheapest_paths(&mut self, parent: &[u8]) -> Result<Vec<Path>, Stopped> {
        self.walk_alone(Some(parent))?;
        let results = self.walk.results_of(0).iter();
        Ok(results
            .map_while(|&result| self.path_to(result, false))
            .collect())
    }

    /// Walks from one source, or from nowhere to the startstates.
    fn walk_alone(&mut self, parent: Option<&[u8]>) -> Result<(), Stopped> {
        self.results = Results::None;
        let walked = match parent {
            Some(parent) => {
                let mut block = parent.to_vec();
                block.resize(block.len() + PAD_BYTES, 0);
                let block = States::new(&block, self.rest_len, 1);
                self.walk.run(&mut *self.inner, &mut self.out, block, 0..1)
            }
            None => self.walk.run_starts(&mut *self.inner, &mut self.out),
        };
        match walked {
            Ok(()) => Ok(()),
            Err(Unfinished::Stopped) => Err(Stopped),
            Err(Unfinished::NoMemory | Unfinished::TooMany) => {
                self.run_out();
                Err(Stopped)
            }
        }
    }

    /// The cheapest path to a result of the only source of the walk.
    fn path_to(&self, result: u32, is_of_starts: bool) -> Option<Path> {
        let walk = &self.walk;
        // The first micro step by which each node, and the result, has its cost.
        let mut incoming = vec![None; walk.nodes.len()];
        let mut last = None;
        let mut n_edges = vec![0u32; walk.nodes.len()];
        for edge in &walk.edges {
            let index = n_edges[edge.from as usize];
            n_edges[edge.from as usize] += 1;
            let (slot, cost) = match edge.to {
                Target::Node(node) => {
                    (&mut incoming[node as usize], walk.nodes[node as usize].cost)
                }
                // Along a cycle costs were counted without the steps that close it.
                Target::Known(node) if !walk.has_cycle(0) => {
                    (&mut incoming[node as usize], walk.nodes[node as usize].cost)
                }
                Target::Result(to) if to == result => {
                    (&mut last, walk.results[result as usize].cost)
                }
                _ => continue,
            };
            let from = walk.nodes[edge.from as usize];
            if slot.is_none() && from.cost.saturating_add(walk.cost_of(edge)) == cost {
                *slot = Some((edge, index));
            }
        }
        let mut path = Vec::new();
        loop {
            let (edge, index) = last?;
            if edge.rule != NOTHING {
                let is_start = is_of_starts && edge.from == 0;
                let state = walk.node_state(edge.from as usize);
                path.push(((!is_start).then(|| state.to_vec()), index));
            }
            if edge.from == 0 {
                path.reverse();
                return Some(path);
            }
            last = incoming[edge.from as usize];
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
        if !(is_counted && self.results == Results::OfStarts) {
            self.results = Results::None;
            match self.walk.run_starts(&mut *self.inner, &mut self.out) {
                Ok(()) => self.results = Results::OfStarts,
                Err(Unfinished::NoMemory) => return self.run_out(),
                Err(_) => return Flow::Stopped,
            }
        }
        if !is_counted {
            self.count_walk(out, 0);
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
        let (mut position, mut result) = (from.state as usize, from.inner);
        // Sources up to here are counted.
        let mut counted = from.rule as usize;
        while position < block.len() {
            let is_counted = position < counted;
            let mut limit = block.len();
            if !is_counted && self.is_in_place {
                if out.is_full() {
                    return Flow::Full(Cursor {
                        state: position as u32,
                        rule: counted as u32,
                        ..Cursor::default()
                    });
                }
                let n = self.batch_len * (out.capacity() - out.len()) / self.out.capacity();
                let end = limit.min(position + n.clamp(1, self.batch_len));
                match self.expand_in_place(block, position..end, out) {
                    Ok(next) => position = next,
                    Err(Stopped) => return Flow::Stopped,
                }
                if position == end {
                    continue;
                }
                if self.is_in_place {
                    // One is taken otherwise.
                    limit = position + 1;
                }
            }
            let first = match self.batch_of(block, position) {
                Some(first) if is_counted => first,
                _ => {
                    let end = if is_counted { counted } else { limit };
                    if let Err(flow) = self.take_batch(block, position, end) {
                        return flow;
                    }
                    position
                }
            };
            if !is_counted {
                self.direct.count(out, first);
                self.count_walk(out, first);
                counted = first + self.direct.n_sources();
            }
            // Another expansion of the same states may have taken more of them together.
            let end = counted.min(first + self.direct.n_sources());
            let source = position - first;
            let rest = self.deliver_batch(out, first, Rest { source, result }, end - first);
            if let Some(rest) = rest {
                return Flow::Full(Cursor {
                    state: (first + rest.source) as u32,
                    rule: counted as u32,
                    instance: 0,
                    inner: rest.result,
                });
            }
            (position, result) = (end, 0);
        }
        Flow::Done
    }

    fn check(&mut self, block: States<'_>, failures: &mut Vec<Failure>) -> Flow {
        if self.micro.properties.is_empty() {
            return Flow::Done;
        }
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

    fn measure(&mut self, block: States<'_>, values: &mut Vec<u32>) -> Result<Flow, Unmeasured> {
        self.extend(block);
        let block = States::new(&self.extended, self.micro.state_len, block.len());
        self.inner.measure(block, values)
    }

    fn limit_memory(&mut self, more: Arc<Allowance>) {
        let own = least_bytes(self.micro) as usize - buffer_bytes(self.micro);
        self.walk.limit_memory(own, more.clone());
        self.inner.limit_memory(more);
    }

    fn take_remarks(&mut self) -> Vec<Remark> {
        let mut remarks = self.inner.take_remarks();
        remarks.append(&mut self.remarks);
        remarks
    }
}
