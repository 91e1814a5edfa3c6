//! The buffer successors are written to: flat, of fixed capacity, with a column per fact.

use crate::{Fault, FaultKind, PAD_BYTES, Rule, Shape, States};

/// Successors of a block of states, in order, with what happened at each source state.
///
/// The buffer is made once per thread and never grows; the per-source facts add up over the calls
/// that one block takes.
#[derive(Debug)]
pub struct Successors {
    state_len: usize,
    capacity: usize,
    /// Number of successors held; entries of the columns behind it are meaningless.
    len: usize,
    /// `capacity` states and padding.
    states: Vec<u8>,
    sources_of: Vec<u32>,
    indices: Vec<u32>,
    rules: Vec<u32>,
    /// Empty unless the column was requested. Entries from `len` on are 1, so that an expander
    /// that knows nothing of costs leaves correct ones.
    costs: Vec<u32>,
    /// As `costs`.
    multiplicities: Vec<u64>,
    sources: Vec<Source>,
    fired_by_rule: Vec<u64>,
    goal_hits: Vec<u64>,
}

/// The columns of a [`Successors`] buffer over their whole capacity, costs and multiplicities
/// excepted: these are 1 for successors written in place.
#[derive(Debug)]
pub struct Columns<'a> {
    /// The states one after the other, and [`PAD_BYTES`] bytes that may be read and overwritten.
    pub states: &'a mut [u8],
    /// Position in the block of each successor's source.
    pub sources_of: &'a mut [u32],
    /// Index of each successor in its source's expansion.
    pub indices: &'a mut [u32],
    /// Rule that made each successor.
    pub rules: &'a mut [u32],
    /// What happened at each source.
    pub sources: &'a mut [Source],
    /// Bodies run to their end, by rule.
    pub fired_by_rule: &'a mut [u64],
    /// Steps that reached a goal, by goal.
    pub goal_hits: &'a mut [u64],
    /// Number of successors held.
    pub len: usize,
}

/// What happened at one source state, before any reduction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// Bodies that ran to their end, those that an assumption then discarded included; where a step
    /// consists of several, the paths to states at rest. Saturates.
    pub fired: u64,
    /// Rule instances whose guard was true, those that an assumption aborted included.
    pub enabled: u32,
    /// Successors written so far; the index of the next one.
    pub written: u32,
    /// Whether some firing led to a state other than the source itself.
    pub progress: bool,
    /// Whether the model may end here. Set only where no rule is enabled.
    pub may_end: bool,
    /// Faults of guards, bodies and assumptions in the order of instances, the first one of each
    /// rule and kind, and of assertions the first one of each place. An assertion may fail and let its firing complete.
    pub faults: Vec<Fault>,
}

/// Cost of a step and number of paths that it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weight {
    /// Cost of the cheapest path.
    pub cost: u32,
    /// Number of paths.
    pub multiplicity: u64,
}

/// Where an interrupted expansion continues.
///
/// The fields after `state` belong to the expander that made the cursor; a fresh expansion starts
/// from `Cursor::default()`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    /// Position of the source state in its block.
    pub state: u32,
    /// Position in the expander's order of rules.
    pub rule: u32,
    /// Number of the rule's instance.
    pub instance: u64,
    /// Position within the instance, for steps with several outcomes.
    pub inner: u64,
}

/// How a call across the seam ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// The request is complete.
    Done,
    /// The buffer is full; continue from here.
    Full(Cursor),
    /// [`Stop`](crate::Stop) was raised; the results so far must not be used.
    Stopped,
}

impl Source {
    /// Forgets what happened. Field by field, so that no list is dropped and made again.
    #[inline]
    fn reset(&mut self) {
        let Source {
            fired,
            enabled,
            written,
            progress,
            may_end,
            faults,
        } = self;
        (*fired, *enabled, *written) = (0, 0, 0);
        (*progress, *may_end) = (false, false);
        if !faults.is_empty() {
            faults.clear();
        }
    }
}

impl Successors {
    /// A buffer for `capacity` successors (at least one) of a model of this shape.
    pub fn new(shape: &Shape, capacity: usize) -> Self {
        let capacity = capacity.max(1);
        Successors {
            state_len: shape.state_len,
            capacity,
            len: 0,
            states: vec![0; capacity * shape.state_len + PAD_BYTES],
            sources_of: vec![0; capacity],
            indices: vec![0; capacity],
            rules: vec![0; capacity],
            costs: Vec::new(),
            multiplicities: Vec::new(),
            sources: Vec::new(),
            fired_by_rule: vec![0; shape.rules.len()],
            goal_hits: vec![0; shape.goals.len()],
        }
    }

    /// A buffer as [`new`](Self::new) makes it, with the column of [costs](Self::set_cost).
    pub fn with_costs(shape: &Shape, capacity: usize) -> Self {
        let mut buffer = Successors::new(shape, capacity);
        buffer.costs = vec![1; buffer.capacity];
        buffer
    }

    /// This buffer with the column of [multiplicities](Self::set_multiplicity).
    pub fn with_multiplicities(mut self) -> Self {
        self.multiplicities = vec![1; self.capacity];
        self
    }

    /// Empties everything, for a block of `n_sources` states.
    pub fn reset(&mut self, n_sources: usize) {
        self.drain();
        // In one pass: lists of faults are nearly always empty, and dropping each of them shows.
        self.sources.truncate(n_sources);
        self.sources.iter_mut().for_each(Source::reset);
        self.sources.resize(n_sources, Source::default());
        self.fired_by_rule.fill(0);
        self.goal_hits.fill(0);
    }

    /// Empties the columns of successors and keeps the facts about the sources, so that the same
    /// block can continue.
    #[inline]
    pub fn drain(&mut self) {
        self.set_len(0);
    }

    /// Number of successors held.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no successor is held.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether no further successor fits.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.len() == self.capacity
    }

    /// Successors that fit.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Appends a successor of the source at `source` made by `rule`. The buffer must not be full.
    #[inline]
    pub fn push(&mut self, source: u32, rule: u32, state: &[u8]) {
        assert!(
            !self.is_full(),
            "an expander must check is_full before it pushes"
        );
        let at = self.len * self.state_len;
        self.states[at..at + self.state_len].copy_from_slice(state);
        let entry = &mut self.sources[source as usize];
        self.sources_of[self.len] = source;
        self.indices[self.len] = entry.written;
        self.rules[self.len] = rule;
        entry.written += 1;
        self.len += 1;
    }

    /// Makes room for `n` successors at position `at`, by moving those that follow. The buffer must
    /// have room for them. They are to be written by [`put`](Self::put) or
    /// [`move_down`](Self::move_down).
    pub fn open_gap(&mut self, at: usize, n: usize) {
        let (len, state_len) = (self.len, self.state_len);
        assert!(at <= len && n <= self.capacity - len, "there is room");
        self.states
            .copy_within(at * state_len..len * state_len, (at + n) * state_len);
        self.sources_of.copy_within(at..len, at + n);
        self.indices.copy_within(at..len, at + n);
        self.rules.copy_within(at..len, at + n);
        if !self.costs.is_empty() {
            self.costs.copy_within(at..len, at + n);
        }
        if !self.multiplicities.is_empty() {
            self.multiplicities.copy_within(at..len, at + n);
        }
        self.len += n;
    }

    /// Copies the successors at `from` to positions from `to` on, which are before them.
    pub fn move_down(&mut self, from: std::ops::Range<usize>, to: usize) {
        assert!(to <= from.start && from.end <= self.len);
        let len = self.state_len;
        self.states
            .copy_within(from.start * len..from.end * len, to * len);
        self.sources_of.copy_within(from.clone(), to);
        self.indices.copy_within(from.clone(), to);
        self.rules.copy_within(from.clone(), to);
        if !self.costs.is_empty() {
            self.costs.copy_within(from.clone(), to);
        }
        if !self.multiplicities.is_empty() {
            self.multiplicities.copy_within(from, to);
        }
    }

    /// Writes a successor to position `at`, which must be held already, as the next one of its
    /// source.
    pub fn put(&mut self, at: usize, source: u32, rule: u32, state: &[u8], weight: Weight) {
        assert!(at < self.len);
        self.states[at * self.state_len..][..self.state_len].copy_from_slice(state);
        let entry = &mut self.sources[source as usize];
        self.sources_of[at] = source;
        self.indices[at] = entry.written;
        self.rules[at] = rule;
        entry.written += 1;
        if let Some(cost) = self.costs.get_mut(at) {
            *cost = weight.cost;
        }
        if let Some(multiplicity) = self.multiplicities.get_mut(at) {
            *multiplicity = weight.multiplicity;
        }
    }

    /// Sets the cost of the step to the successor that was pushed last; 1 unless set. It
    /// may be 0.
    /// Has no effect where the buffer has no column of costs.
    ///
    /// # Panics
    /// Where no successor is held.
    #[inline]
    pub fn set_cost(&mut self, cost: u32) {
        assert!(self.len > 0, "a cost belongs to a successor");
        if let Some(entry) = self.costs.get_mut(self.len - 1) {
            *entry = cost;
        }
    }

    /// Sets the number of paths to the successor that was pushed last; 1 unless set.
    /// Has no effect where the buffer has no column of multiplicities.
    ///
    /// # Panics
    /// Where no successor is held.
    #[inline]
    pub fn set_multiplicity(&mut self, multiplicity: u64) {
        assert!(self.len > 0, "a multiplicity belongs to a successor");
        if let Some(entry) = self.multiplicities.get_mut(self.len - 1) {
            *entry = multiplicity;
        }
    }

    /// Sets the costs of the successors from position `first` on to those of their rules.
    /// Has no effect where the buffer has no column of costs.
    pub fn set_costs_by_rule(&mut self, first: usize, rules: &[Rule]) {
        for position in first..self.len.min(self.costs.len()) {
            self.costs[position] = rules[self.rules[position] as usize].cost;
        }
    }

    /// The columns over their whole capacity, for an expander that writes successors in place.
    /// It must call [`set_len`](Self::set_len) afterwards.
    #[inline]
    pub fn columns(&mut self) -> Columns<'_> {
        Columns {
            states: &mut self.states,
            sources_of: &mut self.sources_of,
            indices: &mut self.indices,
            rules: &mut self.rules,
            sources: &mut self.sources,
            fired_by_rule: &mut self.fired_by_rule,
            goal_hits: &mut self.goal_hits,
            len: self.len,
        }
    }

    /// Declares the first `len` entries of the columns to be successors.
    ///
    /// # Panics
    /// Where that is more than the capacity.
    #[inline]
    pub fn set_len(&mut self, len: usize) {
        assert!(len <= self.capacity, "the length exceeds the capacity");
        if len < self.len && !self.costs.is_empty() {
            self.costs[len..self.len].fill(1);
        }
        if len < self.len && !self.multiplicities.is_empty() {
            self.multiplicities[len..self.len].fill(1);
        }
        self.len = len;
    }

    /// Counts a body of `rule` that ran to its end at `source`; `progress` where it led away from
    /// the source. Called whether or not the successor is then pushed.
    pub fn count_firing(&mut self, source: u32, rule: u32, progress: bool) {
        self.count_paths(source, 1, progress);
        self.fired_by_rule[rule as usize] += 1;
    }

    /// Counts `n` paths from `source` to states at rest; `progress` where one led away from the
    /// source.
    pub fn count_paths(&mut self, source: u32, n: u64, progress: bool) {
        let entry = &mut self.sources[source as usize];
        entry.fired = entry.fired.saturating_add(n);
        entry.progress |= progress;
    }

    /// Notes that the model may end at `source`.
    pub fn set_may_end(&mut self, source: u32) {
        self.sources[source as usize].may_end = true;
    }

    /// Counts a true guard at `source`.
    pub fn count_enabled(&mut self, source: u32) {
        self.sources[source as usize].enabled += 1;
    }

    /// Counts a step that reached the goal numbered `goal` in [`Shape::goals`].
    pub fn count_goal(&mut self, goal: u32) {
        self.goal_hits[goal as usize] += 1;
    }

    /// Records a fault at `source`, unless there is one of the same rule and kind.
    pub fn add_fault(&mut self, source: u32, fault: Fault) {
        let faults = &mut self.sources[source as usize].faults;
        let is_same = |it: &Fault| {
            // An assertion is a property of its own, wherever it stands.
            let is_there = fault.kind != FaultKind::Assertion || it.at == fault.at;
            (it.kind, &it.name) == (fault.kind, &fault.name) && is_there
        };
        if !faults.iter().any(is_same) {
            faults.push(fault);
        }
    }

    /// Records a fault at `source` in place of all recorded before.
    pub fn replace_faults(&mut self, source: u32, fault: Fault) {
        self.sources[source as usize].faults = vec![fault];
    }

    /// The states held, in order.
    pub fn states(&self) -> States<'_> {
        States::new(&self.states, self.state_len, self.len())
    }

    /// The bytes of the states held, for canonical forms to be written in place.
    pub fn states_mut(&mut self) -> &mut [u8] {
        let end = self.len() * self.state_len;
        &mut self.states[..end]
    }

    /// The state at `position`.
    pub fn state(&self, position: usize) -> &[u8] {
        self.states().get(position)
    }

    /// Position in the block of the source of the successor at `position`.
    pub fn source_of(&self, position: usize) -> u32 {
        self.sources_of[..self.len][position]
    }

    /// Position in the block of the source of each successor held.
    pub fn sources_of(&self) -> &[u32] {
        &self.sources_of[..self.len]
    }

    /// Index of the successor at `position` in its source's expansion.
    pub fn index(&self, position: usize) -> u32 {
        self.indices[..self.len][position]
    }

    /// Rule that made the successor at `position`.
    pub fn rule(&self, position: usize) -> u32 {
        self.rules[..self.len][position]
    }

    /// Cost of the step to the successor at `position`; 1 where the buffer has no column of costs.
    pub fn cost(&self, position: usize) -> u32 {
        match self.costs() {
            Some(costs) => costs[position],
            None => 1,
        }
    }

    /// The costs of the successors held, where the buffer has a column of them.
    pub fn costs(&self) -> Option<&[u32]> {
        (!self.costs.is_empty()).then(|| &self.costs[..self.len])
    }

    /// Number of paths to the successor at `position`; 1 where the buffer has no column of
    /// multiplicities.
    pub fn multiplicity(&self, position: usize) -> u64 {
        match self.multiplicities() {
            Some(multiplicities) => multiplicities[position],
            None => 1,
        }
    }

    /// The multiplicities of the successors held, where the buffer has a column of them.
    pub fn multiplicities(&self) -> Option<&[u64]> {
        (!self.multiplicities.is_empty()).then(|| &self.multiplicities[..self.len])
    }

    /// What happened at each source.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// Bodies run to their end since the last [`reset`](Self::reset), by rule.
    pub fn fired_by_rule(&self) -> &[u64] {
        &self.fired_by_rule
    }

    /// Steps that reached a goal since the last [`reset`](Self::reset), by goal.
    pub fn goal_hits(&self) -> &[u64] {
        &self.goal_hits
    }

    /// Memory of a buffer made by [`new`](Self::new), for the budget.
    pub fn bytes_for(shape: &Shape, capacity: usize) -> usize {
        capacity * (shape.state_len + 12) + PAD_BYTES
    }

    /// Memory of a buffer made by [`with_costs`](Self::with_costs), for the budget.
    pub fn bytes_for_costs(shape: &Shape, capacity: usize) -> usize {
        Self::bytes_for(shape, capacity) + capacity * size_of::<u32>()
    }
}
