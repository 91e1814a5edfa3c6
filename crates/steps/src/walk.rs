//! The transient states of some sources, level by level.
//!
//! All sources advance together: level 0 are the sources themselves, and level n are the transient
//! states that n micro steps lead to and no fewer. A level is one block for the inner expander, so
//! that its calls cost little. Nothing is allocated in the steady state: all vectors keep their
//! capacity from one set of sources to the next.

use std::ops::Range;
use std::sync::Arc;

use hadal_model::{
    Allowance, Cursor, Expander, Fault, FaultKind, FirstSteps, Flow, PAD_BYTES, Phase, Shape,
    Source, States, Stopped, Successors,
};

use crate::digest::Digest;
use crate::direct::add_to;
use crate::recount::{Recount, sort};
use crate::table::{Table, hash};

/// What follows from some sources.
pub(crate) struct Walk<'a> {
    micro: &'a Shape,
    /// Costs of the rules.
    costs: Vec<u32>,
    /// Length of a state at rest.
    rest_len: usize,
    limit: usize,
    /// The memory that it may hold, what it has borrowed included.
    most_bytes: usize,
    /// What it has borrowed of `allowance`.
    borrowed: usize,
    allowance: Option<Arc<Allowance>>,
    /// What it needed last and did not get; 0 where it had enough.
    needed: usize,
    /// Whether a source has more transient states than the limit allows.
    is_cut: bool,
    /// The states of `nodes`, as the inner model has them, and padding.
    node_states: Vec<u8>,
    /// The sources first, then transient states as they are found.
    pub(crate) nodes: Vec<Node>,
    /// The states of `results`, at rest.
    result_states: Vec<u8>,
    /// States at rest as they are found.
    pub(crate) results: Vec<Node>,
    /// Every micro step, those of a node in order.
    pub(crate) edges: Vec<Edge>,
    pub(crate) facts: Vec<Facts>,
    /// Firings by rule, and steps that reached a goal.
    pub(crate) fired_by_rule: Vec<u64>,
    pub(crate) goal_hits: Vec<u64>,
    table: Table,
    digest: Digest,
    recount: Recount,
    /// Whether nodes and results are those of startstates.
    pub(crate) is_of_starts: bool,
    /// Positions of results by source, and where each source begins.
    order: Vec<u32>,
    firsts: Vec<u32>,
}

/// A state on the way, or at its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    /// The source it belongs to.
    pub(crate) source: u32,
    /// The rule (or startstate) that the first path to it begins with.
    pub(crate) rule: u32,
    /// Of the cheapest path.
    pub(crate) cost: u32,
    /// Number of paths, saturating.
    pub(crate) n_paths: u64,
}

/// A micro step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    pub(crate) from: u32,
    pub(crate) to: Target,
    /// The rule, or [`NOTHING`] where control was lost.
    pub(crate) rule: u32,
}

/// Where a micro step leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// To a transient state of the next level.
    Node(u32),
    /// To one of this level or an earlier one.
    Known(u32),
    /// To a state at rest.
    Result(u32),
    /// To a state beyond the limit, so that the walk does not end.
    Nowhere,
}

/// States of several sources that are held at once, in bytes. A single source may have more.
const BATCH_BYTES: usize = 16 << 20;

/// Memory is borrowed in multiples of this.
const LOAN_BYTES: usize = 64 << 10;
/// What is borrowed beyond this is given back after each walk; the rest when there is less to lend.
const KEPT_BYTES: usize = 4 << 20;

/// Stands for no rule.
pub(crate) const NOTHING: u32 = u32::MAX;

/// What happened at a source.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    pub(crate) enabled: u32,
    pub(crate) may_end: bool,
    pub(crate) progress: bool,
    pub(crate) n_paths: u64,
    pub(crate) faults: Vec<Fault>,
    /// Transient states.
    n_transient: usize,
    /// Whether a micro step led back to its own level or an earlier one.
    is_tangled: bool,
    has_cycle: bool,
}

/// Why a walk did not end.
pub(crate) enum Unfinished {
    Stopped,
    /// There are too many states to hold for all of these sources at once.
    TooMany,
    /// There is no memory for the states of a single source, or there are more than the limit
    /// allows.
    NoMemory,
}

impl From<Stopped> for Unfinished {
    fn from(_: Stopped) -> Self {
        Unfinished::Stopped
    }
}

impl<'a> Walk<'a> {
    pub(crate) fn new(micro: &'a Shape, rest_len: usize, limit: usize) -> Self {
        Walk {
            micro,
            costs: micro.rules.iter().map(|rule| rule.cost).collect(),
            rest_len,
            limit,
            most_bytes: usize::MAX,
            borrowed: 0,
            allowance: None,
            needed: 0,
            is_cut: false,
            node_states: Vec::new(),
            nodes: Vec::new(),
            result_states: Vec::new(),
            results: Vec::new(),
            edges: Vec::new(),
            facts: Vec::new(),
            fired_by_rule: vec![0; micro.rules.len()],
            goal_hits: vec![0; micro.goals.len()],
            table: Table::new(),
            digest: Digest::new(micro.state_len),
            recount: Recount::default(),
            is_of_starts: false,
            order: Vec::new(),
            firsts: Vec::new(),
        }
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        let is_large = self.node_states.len() + self.result_states.len() > 4 * BATCH_BYTES;
        let is_asked_back = |allowance: &Arc<Allowance>| allowance.is_overdrawn();
        let is_asked_back = self.borrowed > 0 && self.allowance.as_ref().is_some_and(is_asked_back);
        if is_large || self.borrowed > KEPT_BYTES || is_asked_back {
            // What a single source needed once is not kept.
            let (own, allowance) = (self.most_bytes - self.borrowed, self.allowance.take());
            let new = Walk {
                most_bytes: own,
                allowance,
                ..Walk::new(self.micro, self.rest_len, self.limit)
            };
            let borrowed = std::mem::replace(self, new).borrowed;
            if let Some(allowance) = &self.allowance {
                allowance.give_back(borrowed as u64);
            }
        }
        self.nodes.clear();
        self.results.clear();
        self.edges.clear();
        self.facts.clear();
        self.fired_by_rule.fill(0);
        self.goal_hits.fill(0);
        self.table.clear();
        self.order.clear();
        self.firsts.clear();
        (self.is_of_starts, self.is_cut, self.needed) = (false, false, 0);
    }

    /// Number of sources.
    pub(crate) fn n_sources(&self) -> usize {
        self.facts.len()
    }

    /// The state of a node, without registers.
    pub(crate) fn node_at_rest(&self, node: usize) -> &[u8] {
        &self.node_states[node * self.micro.state_len..][..self.rest_len]
    }

    /// The state of a node.
    pub(crate) fn node_state(&self, node: usize) -> &[u8] {
        &self.node_states[node * self.micro.state_len..][..self.micro.state_len]
    }

    /// The state of a result.
    pub(crate) fn result_state(&self, result: usize) -> &[u8] {
        &self.result_states[result * self.rest_len..][..self.rest_len]
    }

    /// Numbers of the results of a source, in the order in which they were found.
    pub(crate) fn results_of(&self, source: usize) -> &[u32] {
        &self.order[self.firsts[source] as usize..self.firsts[source + 1] as usize]
    }

    /// Whether transient states of a source form a cycle.
    pub(crate) fn has_cycle(&self, source: usize) -> bool {
        self.facts[source].has_cycle
    }

    /// What a micro step costs. A startstate costs 1, as for any model.
    pub(crate) fn cost_of(&self, edge: &Edge) -> u32 {
        match edge.rule {
            NOTHING => 0,
            _ if self.is_of_starts && edge.from == 0 => 1,
            rule => self.costs[rule as usize],
        }
    }

    /// Follows the micro steps of sources `range` of `block`.
    pub(crate) fn run(
        &mut self,
        inner: &mut dyn Expander,
        out: &mut Successors,
        block: States<'_>,
        range: Range<usize>,
    ) -> Result<(), Unfinished> {
        self.clear();
        for (source, position) in range.enumerate() {
            self.add_source(source as u32, block.get(position));
        }
        self.levels(inner, out, 0)
    }

    /// Follows the micro steps of the sources in `left`, from the second one on, where `state_of`
    /// has the state of a source and `facts` what happened there. Firings and goals of the first
    /// ones are not counted here.
    pub(crate) fn run_on<'s>(
        &mut self,
        inner: &mut dyn Expander,
        out: &mut Successors,
        left: &FirstSteps,
        state_of: impl Fn(usize) -> &'s [u8],
        facts: &[Source],
    ) -> Result<(), Unfinished> {
        self.clear();
        for (number, &source) in left.sources().iter().enumerate() {
            self.add_source(number as u32, state_of(source as usize));
        }
        let end = self.nodes.len();
        self.check_room(left.rules().len())?;
        for (number, &source) in left.sources().iter().enumerate() {
            for (rule, state) in left.steps_of(number) {
                self.follow(number as u32, rule, state, end);
            }
            self.note_source(number, &facts[source as usize]);
        }
        self.check_size()?;
        self.levels(inner, out, end)
    }

    /// Follows the micro steps of the startstates.
    pub(crate) fn run_starts(
        &mut self,
        inner: &mut dyn Expander,
        out: &mut Successors,
    ) -> Result<(), Unfinished> {
        self.clear();
        self.is_of_starts = true;
        self.add_source(0, &[]);
        out.reset(1);
        let mut from = Cursor::default();
        loop {
            let flow = inner.starts(from, out);
            if flow == Flow::Stopped {
                return Err(Unfinished::Stopped);
            }
            self.take(out, 0, 1)?;
            match flow {
                Flow::Full(cursor) => from = cursor,
                Flow::Done | Flow::Stopped => break,
            }
            out.drain();
        }
        self.facts[0]
            .faults
            .extend_from_slice(&out.sources()[0].faults);
        add_to(&mut self.goal_hits, out.goal_hits());
        self.levels(inner, out, 1)
    }

    fn add_source(&mut self, source: u32, state: &[u8]) {
        self.facts.push(Facts::default());
        let at = self.nodes.len() * self.micro.state_len;
        self.reserve();
        let to = &mut self.node_states[at..][..self.micro.state_len];
        to[..state.len()].copy_from_slice(state);
        to[state.len()..].fill(0);
        self.nodes.push(Node {
            source,
            rule: NOTHING,
            cost: 0,
            n_paths: 1,
        });
    }

    /// Makes room for one more node, and padding.
    #[inline]
    fn reserve(&mut self) {
        let needed = (self.nodes.len() + 1) * self.micro.state_len + PAD_BYTES;
        if self.node_states.len() < needed {
            self.node_states.resize(needed.next_power_of_two(), 0);
        }
    }

    /// Expands one level after the other, from the node `first` on.
    fn levels(
        &mut self,
        inner: &mut dyn Expander,
        out: &mut Successors,
        mut first: usize,
    ) -> Result<(), Unfinished> {
        let len = self.micro.state_len;
        while first < self.nodes.len() {
            let end = self.nodes.len();
            out.reset(end - first);
            let mut from = Cursor::default();
            loop {
                let block = States::new(&self.node_states[first * len..], len, end - first);
                let flow = inner.expand(block, from, out);
                if flow == Flow::Stopped {
                    return Err(Unfinished::Stopped);
                }
                self.take(out, first, end)?;
                match flow {
                    Flow::Full(cursor) => from = cursor,
                    Flow::Done | Flow::Stopped => break,
                }
                out.drain();
            }
            self.note_sources(out, first, end);
            add_to(&mut self.fired_by_rule, out.fired_by_rule());
            add_to(&mut self.goal_hits, out.goal_hits());
            first = end;
        }
        self.finish()
    }

    /// Takes the micro successors in `out` of the nodes from `first` to `end`.
    fn take(&mut self, out: &mut Successors, first: usize, end: usize) -> Result<(), Unfinished> {
        self.check_room(out.len())?;
        let columns = out.columns();
        let states = columns.states.chunks_exact(self.micro.state_len);
        let successors = states.zip(columns.sources_of).zip(columns.rules);
        for ((state, from), rule) in successors.take(columns.len) {
            self.follow(first as u32 + *from, *rule, state, end);
        }
        self.check_size()
    }

    /// Follows a micro step from the node `from` to `state`; nodes from `next_level` on are of the
    /// next level.
    #[inline]
    fn follow(&mut self, from: u32, rule: u32, state: &[u8], next_level: usize) {
        let mut node = self.nodes[from as usize];
        if node.rule == NOTHING {
            node.rule = rule;
        }
        let mut edge = Edge {
            from,
            to: Target::Nowhere,
            rule,
        };
        node.cost = node.cost.saturating_add(self.cost_of(&edge));
        edge.to = match state[self.rest_len..].iter().all(|byte| *byte == 0) {
            true => self.add_result(node, &state[..self.rest_len]),
            false => self.add_node(node, state, next_level),
        };
        self.edges.push(edge);
    }

    /// Limits the memory that it may hold to `own` bytes and what it borrows.
    pub(crate) fn limit_memory(&mut self, own: usize, allowance: Arc<Allowance>) {
        (self.most_bytes, self.allowance) = (own, Some(allowance));
    }

    /// What it needed last and did not get, in bytes; 0 where the limit ended the walk.
    pub(crate) fn needed_bytes(&self) -> usize {
        self.needed
    }

    /// Fails where there is no memory for `n` more micro steps.
    fn check_room(&mut self, n: usize) -> Result<(), Unfinished> {
        self.check_bytes(self.bytes_with(n))
    }

    fn check_bytes(&mut self, bytes: usize) -> Result<(), Unfinished> {
        if bytes <= self.most_bytes || self.n_sources() == 0 {
            return Ok(());
        }
        let more = (bytes - self.most_bytes).next_multiple_of(LOAN_BYTES);
        // Several sources can do with less.
        let is_wanted = self.n_sources() == 1 || self.borrowed + more <= KEPT_BYTES;
        let lends = |allowance: &Arc<Allowance>| allowance.borrow_bytes(more as u64);
        if !(is_wanted && self.allowance.as_ref().is_some_and(lends)) {
            self.needed = bytes;
            return Err(match self.n_sources() {
                1 => Unfinished::NoMemory,
                _ => Unfinished::TooMany,
            });
        }
        self.borrowed += more;
        self.most_bytes += more;
        Ok(())
    }

    /// What it holds after `n` more micro steps at most, in bytes. Each leads to a node or a result,
    /// and what is at rest for want of a way on is a result too.
    fn bytes_with(&self, n: usize) -> usize {
        let (n_nodes, n_results) = (self.nodes.len() + n, self.results.len() + n);
        let states = grown(
            &self.node_states,
            n_nodes * self.micro.state_len + PAD_BYTES,
        ) + grown(&self.result_states, n_results * self.rest_len);
        let nodes = grown(&self.nodes, n_nodes) + grown(&self.results, n_results);
        let edges = grown(&self.edges, self.edges.len() + n);
        let order = (n_results + self.n_sources()) * size_of::<u32>();
        let facts = grown(&self.facts, self.facts.len());
        states + nodes + edges + order + facts + self.table.bytes_with(n)
    }

    /// Where the first rule of the walk stands.
    pub(crate) fn first_place(&self) -> String {
        let mut rules = self.nodes.iter().map(|node| node.rule);
        let first = rules.find(|rule| *rule != NOTHING && !self.is_of_starts);
        let rule = first.and_then(|rule| self.micro.rules.get(rule as usize));
        rule.map_or(String::new(), |rule| rule.at.clone())
    }

    /// Fails where several sources have more states than are to be held at once, or a single one
    /// more than the limit allows.
    fn check_size(&self) -> Result<(), Unfinished> {
        if self.is_cut && self.n_sources() == 1 {
            return Err(Unfinished::NoMemory);
        }
        let (n_nodes, n_results) = (self.nodes.len(), self.results.len());
        let n_bytes = n_nodes * self.micro.state_len + n_results * self.rest_len;
        match self.n_sources() > 1 && (n_nodes > self.limit || self.is_cut || n_bytes > BATCH_BYTES)
        {
            true => Err(Unfinished::TooMany),
            false => Ok(()),
        }
    }

    /// Adds paths to a state at rest.
    #[inline]
    fn add_result(&mut self, node: Node, state: &[u8]) -> Target {
        let (results, states) = (&mut self.results, &mut self.result_states);
        let (new, len) = (results.len() as u32, state.len());
        let hash = hash(self.digest.of(state), node.source);
        // The lowest bit tells results from nodes.
        let found = self.table.find_or_insert(hash, Some(2 * new), |it| {
            let result = (it / 2) as usize;
            it % 2 == 0
                && results[result].source == node.source
                && states[result * len..][..len] == *state
        });
        match found {
            Some(it) => {
                let known = &mut results[(it / 2) as usize];
                known.n_paths = known.n_paths.saturating_add(node.n_paths);
                known.cost = known.cost.min(node.cost);
                Target::Result(it / 2)
            }
            None => {
                let at = new as usize * len;
                if states.len() < at + len {
                    states.resize((at + len).next_power_of_two(), 0);
                }
                states[at..][..len].copy_from_slice(state);
                results.push(node);
                Target::Result(new)
            }
        }
    }

    /// Adds paths to a transient state; those from `next_level` on are of the next level.
    #[inline]
    fn add_node(&mut self, node: Node, state: &[u8], next_level: usize) -> Target {
        let facts = &mut self.facts[node.source as usize];
        let (nodes, states) = (&mut self.nodes, &self.node_states);
        let (new, len) = (nodes.len() as u32, state.len());
        let hash = hash(self.digest.of(state), node.source);
        let is_full = facts.n_transient >= self.limit;
        let entry = (!is_full).then_some(2 * new + 1);
        let found = self.table.find_or_insert(hash, entry, |it| {
            let other = (it / 2) as usize;
            it % 2 == 1
                && nodes[other].source == node.source
                && states[other * len..][..len] == *state
        });
        match found.map(|it| it / 2) {
            Some(known) if (known as usize) < next_level => {
                facts.is_tangled = true;
                Target::Known(known)
            }
            Some(known) => {
                let other = &mut nodes[known as usize];
                other.n_paths = other.n_paths.saturating_add(node.n_paths);
                other.cost = other.cost.min(node.cost);
                Target::Node(known)
            }
            None if is_full => {
                self.is_cut = true;
                Target::Nowhere
            }
            None => {
                facts.n_transient += 1;
                self.reserve();
                self.node_states[new as usize * len..][..len].copy_from_slice(state);
                self.nodes.push(node);
                Target::Node(new)
            }
        }
    }

    /// Notes what happened at the nodes from `first` to `end`, which are expanded.
    fn note_sources(&mut self, out: &Successors, first: usize, end: usize) {
        for (number, facts) in (first..end).zip(out.sources()) {
            self.note_source(number, facts);
        }
    }

    fn note_source(&mut self, number: usize, facts: &Source) {
        let Node { source, rule, .. } = self.nodes[number];
        let own = &mut self.facts[source as usize];
        if !facts.faults.is_empty() {
            own.faults.extend_from_slice(&facts.faults);
        }
        if rule == NOTHING {
            own.enabled = facts.enabled;
            own.may_end = facts.may_end;
        } else if facts.enabled == 0 {
            self.come_to_rest(number);
        }
    }

    /// A transient state where nothing is enabled comes to rest where it is.
    fn come_to_rest(&mut self, number: usize) {
        let states = std::mem::take(&mut self.node_states);
        let state = &states[number * self.micro.state_len..][..self.rest_len];
        let to = self.add_result(self.nodes[number], state);
        self.node_states = states;
        self.edges.push(Edge {
            from: number as u32,
            to,
            rule: NOTHING,
        });
    }

    /// Counts what levels do not tell, finds cycles and sorts results by source.
    fn finish(&mut self) -> Result<(), Unfinished> {
        if self.facts.iter().any(|facts| facts.is_tangled) {
            let recount = Recount::bytes_for(self.nodes.len(), self.edges.len());
            self.check_bytes(self.bytes_with(0) + recount)?;
            self.untangle();
        }
        let sources = self.results.iter().map(|result| result.source);
        let n_sources = self.facts.len();
        sort(sources, n_sources, &mut self.order, &mut self.firsts);
        for number in 0..self.results.len() {
            let Node {
                source, n_paths, ..
            } = self.results[number];
            let facts = &self.facts[source as usize];
            let progress =
                facts.progress || self.result_state(number) != self.node_at_rest(source as usize);
            let facts = &mut self.facts[source as usize];
            facts.n_paths = facts.n_paths.saturating_add(n_paths);
            facts.progress = progress;
        }
        Ok(())
    }

    #[cold]
    fn untangle(&mut self) {
        let mut recount = std::mem::take(&mut self.recount);
        recount.collect(self);
        for source in 0..self.n_sources() {
            if self.facts[source].is_tangled
                && let Some(cycle) = recount.run(self, source)
            {
                let fault = self.endless(&cycle);
                self.facts[source].faults.push(fault);
                self.facts[source].has_cycle = true;
            }
        }
        self.recount = recount;
    }

    /// The fault of a step that never ends, with the rules of a cycle.
    fn endless(&self, cycle: &[u32]) -> Fault {
        // A rule that fires several times on the way around is named once.
        let mut names: Vec<&str> = Vec::new();
        for rule in cycle {
            let name = self.micro.rules[*rule as usize].name.as_str();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let message = format!("the step never ends: {}, ...", names.join(", "));
        let rule = cycle.first();
        let rule = rule.and_then(|rule| self.micro.rules.get(*rule as usize));
        Fault {
            kind: FaultKind::AtomicCycle,
            message,
            at: rule.map_or(String::new(), |rule| rule.at.clone()),
            phase: Phase::Body,
            name: rule.map_or(String::new(), |rule| rule.name.clone()),
            parameters: Vec::new(),
            goes_on: false,
        }
    }
}

/// Memory of a vector that has grown to `len` elements, in bytes.
fn grown<T>(vec: &Vec<T>, len: usize) -> usize {
    let capacity = match len <= vec.capacity() {
        true => vec.capacity(),
        false => len.next_power_of_two(),
    };
    capacity * size_of::<T>()
}
