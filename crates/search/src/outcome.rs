//! What a search found out.

use serde::{Deserialize, Serialize};

use hadal_model::{FaultKind, Phase, PropertyKind, Remark, Shape};

use crate::{Omission, Trace};

/// The result of a search, with everything the run record reports of it.
///
/// At a violation that ended the search, the counts cover whole layers only: `states` and `layers`
/// go up to the depth of the last violation, and `visited`, `transitions`, `fired_by_rule` and
/// `duplicates` cover the expansions of the layers before it.
/// A search stopped by memory, time or interrupt counts what it had done by then.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Whether the properties hold.
    pub verdict: Verdict,
    /// Whether the search is complete: no state was left to expand and nothing was left to
    /// decide. Never so after a fault that cuts off what would have come after it, as all do but
    /// assertions that the search goes on behind; nor where signatures leave open whether a goal
    /// that was not reached can be.
    pub complete: bool,
    /// What stopped the search before its end; `None` also where violations did, and where it came
    /// to its end with goals that signatures leave open.
    pub reason: Option<Reason>,
    /// Distinct states, after reduction. Where `states_exact` is false this is what the strategy
    /// counted afterwards, if it has a figure `distinct`; else states that it forgot in between
    /// count as often as they were found.
    pub states: u64,
    /// Whether the search itself knew all states that it had found: false where a strategy forgot
    /// some, whether or not they were counted afterwards.
    pub states_exact: bool,
    /// Expansions of states.
    pub visited: u64,
    /// Rule firings of the states visited: self-loops, duplicates and firings discarded by an
    /// assumption included.
    pub transitions: u64,
    /// Number of layers after the startstates.
    pub depth: u32,
    /// Distinct states at each depth, repeats included where `states_exact` is false; empty where
    /// states were not visited in the order of their depth.
    pub layers: Vec<u64>,
    /// Violations, least first by (depth, ordinal of the state, properties by number before the
    /// fault or deadlock of its expansion); then goals that were never reached; then liveness, for
    /// each property its least state and goal only, since a reduction does not keep the instances
    /// of a property apart. A startstate that meets a fault comes after those found before it.
    /// A fault of the kind [`FaultKind::OrderDependence`] ends any search, so it comes last; those
    /// before it are violations all the same.
    pub violations: Vec<Violation>,
    /// Rule firings by rule, in the order of `Shape::rules`.
    pub fired_by_rule: Vec<u64>,
    /// Whether each of `Shape::properties` holds; `None` where the search could not decide.
    pub holds: Vec<Option<bool>>,
    /// How often each of `Shape::goals` was reached: distinct states for goals of states, firings
    /// for goals of steps. Under a reduction a state counts for a cover if any state it stands for
    /// does.
    pub goals: Vec<u64>,
    /// Successors that were known already, by where that was noticed.
    pub duplicates: Duplicates,
    /// How probable it is that something was missed, where states were remembered by signatures;
    /// then `states` counts signatures.
    pub omission: Option<Omission>,
    /// Table, states, parents and buffers at their largest, in bytes.
    pub data_bytes: u64,
    /// What went to a disk and came back.
    pub disk: DiskUse,
    /// Where the time went.
    pub seconds: Seconds,
    /// What else a person should know.
    pub remarks: Vec<Remark>,
    /// What only this strategy counts, for the record and for comparisons.
    pub strategy_stats: Stats,
    /// Where the order of the search depends on costs or estimates.
    pub directed: Option<DirectedFigures>,
}

/// Figures of a search whose order depends on the costs of steps or on estimates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectedFigures {
    /// States expanded, those that were opened again as often as they were.
    pub expanded: u64,
    /// Successors that they have.
    pub generated: u64,
    /// States that were opened again, because a cheaper path to them was found.
    pub reopened: u64,
    /// Steps along which the estimate falls by more than they cost.
    pub inconsistent: u64,
    /// Cost of the first violation's run, up to the state that is violated or at which the last step
    /// fails; `None` where there is none.
    pub cost: Option<u64>,
    /// Whether it is proved that no run to a violation costs less; where the order depends on an
    /// estimate, no run to a state where an invariant is false. A store of hashes may miss one.
    pub is_least: bool,
    /// The name of the estimate, where the order depends on it.
    pub heuristic: Option<String>,
}

/// Named figures, in the order in which they are to be shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    entries: Vec<(&'static str, Value)>,
}

/// A figure of a strategy.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// How many; also 0 and 1 for no and yes.
    Count(u64),
    /// A share or a quotient.
    Ratio(f64),
    /// Wall clock.
    Seconds(f64),
    /// A name.
    Text(String),
    /// How something developed.
    Series(Vec<f64>),
}

impl Stats {
    /// Appends a figure. A name occurs once.
    pub fn push(&mut self, name: &'static str, value: Value) {
        debug_assert!(self.get(name).is_none(), "{name} is there already");
        self.entries.push((name, value));
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The figures in order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.entries.iter().map(|(name, value)| (*name, value))
    }

    /// The figure of this name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        let found = self.entries.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value)
    }

    /// The count of this name.
    pub fn count(&self, name: &str) -> Option<u64> {
        match self.get(name) {
            Some(Value::Count(count)) => Some(*count),
            _ => None,
        }
    }
}

/// Whether a model has the properties it should have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every reachable state was visited and every property holds; with signatures, but for what
    /// [`Outcome::omission`] gives.
    Verified,
    /// At least one violation was found.
    Violated,
    /// All that was found is that the model is not as symmetric as it declares
    /// ([`FaultKind::OrderDependence`]), so nothing can be concluded from the states visited; or that
    /// a goal cannot be evaluated in some state, so that the question makes no sense.
    Rejected,
    /// No violation was found, and not everything was searched.
    Incomplete,
}

impl Verdict {
    /// What follows from the violations found, and whether anything was left out.
    pub(crate) fn new(violations: &[Violation], shape: &Shape, complete: bool) -> Self {
        let mut rejections = violations.iter().map(|it| it.is_rejection(shape));
        match (violations.is_empty(), complete) {
            (false, _) if rejections.all(|it| it) => Verdict::Rejected,
            (false, _) => Verdict::Violated,
            (true, true) => Verdict::Verified,
            (true, false) => Verdict::Incomplete,
        }
    }

    /// The name used in the run record.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Verified => "verified",
            Verdict::Violated => "violated",
            Verdict::Rejected => "rejected",
            Verdict::Incomplete => "incomplete",
        }
    }
}

/// What stopped a search before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The memory budget.
    Memory,
    /// The disk, or the limit on its use.
    Disk,
    /// The bound on the depth cut states off.
    Bound,
    /// The time limit.
    Time,
    /// Someone raised the stop flag.
    Interrupted,
    /// All states were visited, but liveness was not decided: the search was stopped or the disk full
    /// by then, memory did not suffice and there is no disk, or the strategy keeps no edges.
    Liveness,
    /// A cache overwrote nearly all it was given, so the search makes hardly any progress.
    Collisions,
    /// The search only revisited states that it had forgotten, with no end in sight.
    Revisits,
    /// All states were visited, but the model has properties that a search of it does not decide.
    Unchecked,
}

impl Reason {
    /// The name used in the run record.
    pub fn name(self) -> &'static str {
        match self {
            Reason::Memory => "memory",
            Reason::Disk => "disk",
            Reason::Bound => "bound",
            Reason::Time => "time",
            Reason::Interrupted => "interrupted",
            Reason::Liveness => "liveness",
            Reason::Collisions => "collisions",
            Reason::Revisits => "revisits",
            Reason::Unchecked => "unchecked",
        }
    }
}

/// One way in which a model does not have the properties it should have, or the symmetry it
/// declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Its class.
    pub kind: ViolationKind,
    /// What was being evaluated, for a fault.
    pub phase: Option<Phase>,
    /// Name of the property, or of the rule or startstate that met a fault; `deadlock`.
    pub name: String,
    /// A sentence for people; empty where kind and name say everything.
    pub message: String,
    /// Where in the model's text, as `file:line:column`; empty for a deadlock.
    pub at: String,
    /// Depth of the state.
    pub depth: u32,
    /// Cost of the run that leads to it, where the search is in the order of costs.
    pub cost: Option<u64>,
    /// Ordinal of the state; `None` where there is none (a fault in a startstate, an unreached
    /// goal).
    pub ordinal: Option<u64>,
    /// Index into `Shape::properties` where a property is violated, or could not be evaluated.
    pub property: Option<u32>,
    /// Parameters of the rule or property instance, by name. Under a reduction these are the names
    /// of the trace, not those of the stored state; none where the state at the end of the trace
    /// fails in another way.
    pub parameters: Vec<(String, String)>,
    /// The run that leads to the state; `None` for an unreached goal, and where the search was to
    /// end before the run was replayed ([`is_untraced`](Self::is_untraced)).
    pub trace: Option<Trace>,
}

impl Violation {
    /// Whether a run leads to it that was not replayed, because the search was to end. Its text
    /// is then as the search found it, not confirmed by the reference, and under a reduction in the
    /// names of the stored state.
    pub fn is_untraced(&self) -> bool {
        self.ordinal.is_some() && self.trace.is_none()
    }

    /// Whether it violates none of the properties, but shows that the question makes no sense: the
    /// model is not as symmetric as it declares, or a goal cannot be evaluated.
    pub fn is_rejection(&self, shape: &Shape) -> bool {
        self.kind.is_order_dependence() || self.is_of_goal(shape) && !self.is_goal(shape)
    }

    /// Whether it is a state that was looked for.
    pub fn is_goal(&self, shape: &Shape) -> bool {
        self.is_of_goal(shape) && self.kind == ViolationKind::Invariant
    }

    /// Whether it is about a goal: that it is reached, or cannot be evaluated.
    fn is_of_goal(&self, shape: &Shape) -> bool {
        let property = self.property.map(|it| shape.properties.get(it as usize));
        property
            .flatten()
            .is_some_and(|property| property.kind == PropertyKind::Goal)
    }
}

/// The classes of violations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ViolationKind {
    /// An invariant is false in a state.
    Invariant,
    /// A state has no way on.
    Deadlock,
    /// A guard, a body or a property could not be evaluated.
    Fault(FaultKind),
    /// No state or step reaches a goal.
    Cover,
    /// A state from which a goal cannot be reached.
    Liveness,
}

impl ViolationKind {
    /// Whether the model is not as symmetric as it declares. That violates none of its properties,
    /// but no state behind it says anything about the model.
    pub fn is_order_dependence(self) -> bool {
        self == ViolationKind::Fault(FaultKind::OrderDependence)
    }

    /// The name used in the run record.
    pub fn name(self) -> &'static str {
        match self {
            ViolationKind::Invariant => PropertyKind::Invariant.name(),
            ViolationKind::Deadlock => "deadlock",
            ViolationKind::Fault(kind) => kind.name(),
            ViolationKind::Cover => PropertyKind::Cover.name(),
            ViolationKind::Liveness => PropertyKind::Liveness.name(),
        }
    }
}

/// Successors that were known already, by where that was noticed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Duplicates {
    /// In the table in memory.
    pub memory: u64,
    /// Among the candidates of the same layer, when these were sorted.
    pub layer: u64,
    /// In the runs on disk.
    pub disk: u64,
}

/// What went to a disk and came back, and how runs were used there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskUse {
    /// The most that lay there at once.
    pub peak_bytes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// What lay there at the end.
    pub used_bytes: u64,
    /// What was to be written when there was no room for it; zero where there always was.
    pub refused_bytes: u64,
    /// States in the last checkpoint.
    pub saved_states: u64,
    /// Layers whose lookup in old runs was deferred.
    pub deferred_ranks: u64,
    /// How often a deferred lookup found duplicates, and the search was rolled back.
    pub roll_backs: u64,
}

/// Where the time went, in seconds of wall clock.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Seconds {
    /// All of the search, liveness included.
    pub search: f64,
    /// Making successors and their canonical forms.
    pub expand: f64,
    /// Looking them up, and storing the new ones.
    pub insert: f64,
    /// Evaluating properties on new states.
    pub check: f64,
    /// Sorting candidates and merging them with the runs on disk.
    pub merge: f64,
    /// Waiting for the disk, summed over threads.
    pub io_wait: f64,
    /// Deciding liveness after the last state was found.
    pub liveness: f64,
    /// Rebuilding the traces of violations.
    pub trace: f64,
}
