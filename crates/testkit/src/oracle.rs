//! A brute-force search over any [`Model`], written without regard to speed.
//!
//! It keeps whole states in ordinary maps, expands one state at a time through buffers of a single
//! successor, and shares no code with the real searches, so that the two can be compared: states a
//! layer, firings, the first violation, covers, and liveness by a plain fixpoint.

use std::collections::{BTreeMap, HashMap, HashSet};

use hadal_model::{
    Cursor, Expander, Fault, Flow, GoalKind, Model, PAD_BYTES, States, Stop, Successors,
};

/// When a state counts as a deadlock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deadlock {
    /// Never.
    Off,
    /// Where no guard is true, or every firing was abandoned.
    Stuck,
    /// Where no firing leads anywhere else.
    Stuttering,
    /// Where no guard is true and the model may not end.
    EndStates,
}

/// What to look for.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// When a state counts as a deadlock.
    pub deadlock: Deadlock,
    /// Give up beyond this many states.
    pub max_states: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            deadlock: Deadlock::Stuttering,
            max_states: 1_000_000,
        }
    }
}

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The states in the order of their discovery.
    pub states: Vec<Vec<u8>>,
    /// Number of states at each depth.
    pub layers: Vec<usize>,
    /// Bodies that ran to their end, in all layers that were expanded completely.
    pub transitions: u64,
    /// Firings by rule, likewise.
    pub fired_by_rule: Vec<u64>,
    /// The first violation.
    pub violation: Option<Violation>,
    /// By goal: hits of covers (states or steps); states for liveness goals.
    pub goal_hits: Vec<u64>,
    /// Liveness goals that cannot be reached from everywhere, with the ordinal of the first state
    /// from which they cannot; only after a search without violation.
    pub unreachable_goals: Vec<(u32, usize)>,
    /// Whether the search gave up.
    pub gave_up: bool,
}

impl Report {
    /// Number of layers after the startstates.
    pub fn depth(&self) -> usize {
        self.layers.len().saturating_sub(1)
    }
}

/// The least violation: of all in the first layer that has one, that of the earliest state in the
/// order of discovery; at one state, a property comes before a fault or deadlock of its expansion.
/// A fault in a startstate comes behind all states found before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Depth of the state.
    pub depth: usize,
    /// Ordinal of the state; `None` for a fault in a startstate.
    pub state: Option<usize>,
    /// What is wrong there.
    pub kind: ViolationKind,
}

/// What is wrong with a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ViolationKind {
    /// An invariant is false or cannot be evaluated.
    Property(u32, Option<Box<Fault>>),
    /// Expanding the state failed.
    Fault(Box<Fault>),
    /// It is a deadlock.
    Deadlock,
}

/// Searches all reachable states, layer by layer.
///
/// The search ends after the layer in which the first violation lies.
pub fn search(model: &dyn Model, options: &Options) -> Report {
    Search::new(model, options).run()
}

struct Search<'a> {
    model: &'a dyn Model,
    options: &'a Options,
    ordinals: HashMap<Vec<u8>, usize>,
    /// Successors of each expanded state, by ordinal.
    edges: Vec<Vec<usize>>,
    /// Goal bits of each state, by ordinal.
    goals: Vec<Vec<u64>>,
    report: Report,
}

/// The result of expanding one source.
#[derive(Default)]
struct Expansion {
    successors: Vec<Vec<u8>>,
    fired: u64,
    enabled: u64,
    progress: bool,
    may_end: bool,
    fault: Option<Box<Fault>>,
    fired_by_rule: Vec<u64>,
    goal_hits: Vec<u64>,
}

impl<'a> Search<'a> {
    fn new(model: &'a dyn Model, options: &'a Options) -> Self {
        let shape = model.shape();
        Search {
            model,
            options,
            ordinals: HashMap::new(),
            edges: Vec::new(),
            goals: Vec::new(),
            report: Report {
                goal_hits: vec![0; shape.goals.len()],
                fired_by_rule: vec![0; shape.rules.len()],
                ..Report::default()
            },
        }
    }

    fn run(mut self) -> Report {
        let stop = Stop::new();
        let mut expander = self.model.expander(&stop);
        let starts = self.expand(&mut *expander, None);
        add(&mut self.report.goal_hits, &starts.goal_hits);
        for state in &starts.successors {
            self.discover(state);
        }
        let mut start_fault = starts.fault;
        if start_fault.is_some() && self.report.states.is_empty() {
            self.report.layers.push(0);
        }
        let mut first = 0;
        while first < self.report.states.len() {
            let end = self.report.states.len();
            self.report.layers.push(end - first);
            for ordinal in first..end {
                self.check(&mut *expander, ordinal);
            }
            if end > self.options.max_states {
                self.report.gave_up = true;
                return self.report;
            }
            let (mut transitions, mut fired_by_rule) =
                (0, vec![0; self.report.fired_by_rule.len()]);
            for ordinal in first..end {
                let state = self.report.states[ordinal].clone();
                let expansion = self.expand(&mut *expander, Some(&state));
                transitions += expansion.fired;
                add(&mut fired_by_rule, &expansion.fired_by_rule);
                add(&mut self.report.goal_hits, &expansion.goal_hits);
                if let Some(kind) = self.trouble(&expansion) {
                    self.violate(ordinal, kind);
                }
                let targets = expansion
                    .successors
                    .iter()
                    .map(|state| self.discover(state))
                    .collect();
                self.edges.push(targets);
            }
            if let Some(fault) = start_fault.take()
                && self.report.violation.is_none()
            {
                self.violate_start(fault);
            }
            if self.report.violation.is_some() {
                // What was discovered from an incomplete layer is not part of the result.
                self.report.states.truncate(end);
                return self.report;
            }
            self.report.transitions += transitions;
            add(&mut self.report.fired_by_rule, &fired_by_rule);
            first = end;
        }
        match start_fault {
            Some(fault) => self.violate_start(fault),
            None => self.liveness(),
        }
        self.report
    }

    fn violate_start(&mut self, fault: Box<Fault>) {
        self.report.violation = Some(Violation {
            depth: 0,
            state: None,
            kind: ViolationKind::Fault(fault),
        });
    }

    /// The ordinal of a state, which may be new.
    fn discover(&mut self, state: &[u8]) -> usize {
        if let Some(&ordinal) = self.ordinals.get(state) {
            return ordinal;
        }
        let ordinal = self.report.states.len();
        self.ordinals.insert(state.to_vec(), ordinal);
        self.report.states.push(state.to_vec());
        ordinal
    }

    /// Records a violation of the current layer. A state's properties are checked before its
    /// expansion, so the earliest state and, there, the first violation win.
    fn violate(&mut self, ordinal: usize, kind: ViolationKind) {
        let depth = self.report.layers.len() - 1;
        let known = self.report.violation.as_ref();
        if known.is_none_or(|known| known.state > Some(ordinal)) {
            self.report.violation = Some(Violation {
                depth,
                state: Some(ordinal),
                kind,
            });
        }
    }

    fn trouble(&self, expansion: &Expansion) -> Option<ViolationKind> {
        if let Some(fault) = &expansion.fault {
            return Some(ViolationKind::Fault(fault.clone()));
        }
        let dead = match self.options.deadlock {
            Deadlock::Off => false,
            Deadlock::Stuck => expansion.fired == 0,
            Deadlock::Stuttering => !expansion.progress,
            Deadlock::EndStates => expansion.enabled == 0 && !expansion.may_end,
        };
        dead.then_some(ViolationKind::Deadlock)
    }

    /// Evaluates properties and goals of one state.
    fn check(&mut self, expander: &mut dyn Expander, ordinal: usize) {
        let shape = self.model.shape();
        let state = self.report.states[ordinal].clone();
        let bytes = padded(&state);
        let block = States::new(&bytes, shape.state_len, 1);
        let mut failures = Vec::new();
        assert_eq!(expander.check(block, &mut failures), Flow::Done);
        let mut reached = vec![0u64; shape.goal_words()];
        if !shape.goals.is_empty() {
            let flow = expander.reach_goals(block, &mut reached, &mut failures);
            assert_eq!(flow, Flow::Done);
        }
        for (number, goal) in shape.goals.iter().enumerate() {
            let hit = reached[number / 64] >> (number % 64) & 1;
            if goal.kind != GoalKind::CoverStep {
                self.report.goal_hits[number] += hit;
            }
        }
        self.goals.push(reached);
        if let Some(failure) = failures.into_iter().next() {
            let kind = ViolationKind::Property(failure.property, failure.fault);
            self.violate(ordinal, kind);
        }
    }

    /// All successors of a state, or the startstates, fetched one at a time.
    fn expand(&self, expander: &mut dyn Expander, state: Option<&[u8]>) -> Expansion {
        let shape = self.model.shape();
        let bytes = padded(state.unwrap_or(&[]));
        let mut out = Successors::new(shape, 1);
        out.reset(1);
        let mut expansion = Expansion::default();
        let mut from = Cursor::default();
        loop {
            let flow = match state {
                Some(_) => expander.expand(States::new(&bytes, shape.state_len, 1), from, &mut out),
                None => expander.starts(from, &mut out),
            };
            for position in 0..out.len() {
                assert_eq!(
                    out.index(position) as usize,
                    expansion.successors.len(),
                    "successors are numbered in order"
                );
                let mut successor = out.state(position).to_vec();
                expander.canonicalise(&mut successor);
                expansion.successors.push(successor);
            }
            out.drain();
            match flow {
                Flow::Done => break,
                Flow::Full(cursor) => from = cursor,
                Flow::Stopped => panic!("the flag is never raised"),
            }
        }
        let source = &out.sources()[0];
        expansion.fired = source.fired;
        expansion.enabled = u64::from(source.enabled);
        expansion.progress = source.progress;
        expansion.may_end = source.may_end;
        expansion.fault = source.faults.first().cloned().map(Box::new);
        expansion.fired_by_rule = out.fired_by_rule().to_vec();
        expansion.goal_hits = out.goal_hits().to_vec();
        // A step may have more paths than firings.
        assert!(expansion.fired == 0 || expansion.enabled > 0 || state.is_none());
        expansion
    }

    /// From every state, each liveness goal must be reachable: grows the set of states from which
    /// it is, until nothing changes.
    fn liveness(&mut self) {
        let shape = self.model.shape();
        for (number, goal) in shape.goals.iter().enumerate() {
            if goal.kind != GoalKind::Liveness {
                continue;
            }
            let mut can: Vec<bool> = (self.goals.iter())
                .map(|reached| reached[number / 64] >> (number % 64) & 1 == 1)
                .collect();
            loop {
                let mut changed = false;
                for (ordinal, targets) in self.edges.iter().enumerate() {
                    if !can[ordinal] && targets.iter().any(|&target| can[target]) {
                        can[ordinal] = true;
                        changed = true;
                    }
                }
                if !changed {
                    break;
                }
            }
            if let Some(ordinal) = can.iter().position(|can| !can) {
                self.report.unreachable_goals.push((number as u32, ordinal));
            }
        }
    }
}

fn add(sum: &mut [u64], more: &[u64]) {
    for (sum, more) in sum.iter_mut().zip(more) {
        *sum += more;
    }
}

fn padded(state: &[u8]) -> Vec<u8> {
    let mut bytes = state.to_vec();
    bytes.extend([0xa5; PAD_BYTES]);
    bytes
}

/// Number of orbits among `states`, which must be closed under the permutations: `apply` gives the
/// image of a state under each of `permutations`, which must be a whole group.
///
/// # Panics
/// Where the image of a state is not among the states, that is, where the model is not symmetric.
pub fn count_orbits<P>(
    states: &[Vec<u8>],
    permutations: &[P],
    apply: impl Fn(&P, &[u8]) -> Vec<u8>,
) -> usize {
    let all: HashSet<&[u8]> = states.iter().map(Vec::as_slice).collect();
    let mut orbit_of: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
    let mut n_orbits = 0;
    for state in states {
        if orbit_of.contains_key(state) {
            continue;
        }
        for permutation in permutations {
            let image = apply(permutation, state);
            assert!(
                all.contains(image.as_slice()),
                "the image of a reachable state is not reachable"
            );
            orbit_of.insert(image, n_orbits);
        }
        n_orbits += 1;
    }
    n_orbits
}

/// All permutations of `0..n`, the identity first.
pub fn permutations(n: usize) -> Vec<Vec<usize>> {
    let mut found = vec![Vec::new()];
    for _ in 0..n {
        found = (found.iter())
            .flat_map(|start: &Vec<usize>| {
                (0..n)
                    .filter(|next| !start.contains(next))
                    .map(|next| [start.as_slice(), &[next]].concat())
            })
            .collect();
    }
    found
}

#[cfg(test)]
mod tests;
