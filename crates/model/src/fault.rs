//! Faults: what stops the evaluation of a guard, a body or a property, and assertions that fail
//! without stopping it.

use std::fmt;

/// Why an evaluation stopped, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The class of the fault.
    pub kind: FaultKind,
    /// A sentence for people, with the values concerned.
    pub message: String,
    /// Where in the model's text, as `file:line:column`.
    pub at: String,
    /// What was being evaluated.
    pub phase: Phase,
    /// Name of the rule, startstate or property that was being evaluated.
    pub name: String,
    /// Its parameters, by name.
    pub parameters: Vec<(String, String)>,
    /// Whether the evaluation went on all the same, so that nothing behind it is cut off.
    pub goes_on: bool,
}

/// The classes of faults. The names are those of the run record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FaultKind {
    /// An assertion in a body was false.
    Assertion,
    /// An `error` statement was reached that names no other class.
    Error,
    /// An undefined value was used.
    Undefined,
    /// A value does not fit where it is stored.
    Range,
    /// An array index lies outside its array.
    Index,
    /// Division or remainder by zero.
    Division,
    /// Arithmetic left the range of integers.
    Overflow,
    /// A `while` loop ran longer than allowed.
    LoopLimit,
    /// Calls nested deeper than allowed.
    CallLimit,
    /// A function ended without returning a value.
    NoReturn,
    /// An element was added to a full multiset.
    MultisetFull,
    /// The step of a loop is zero or leads away from its end.
    Step,
    /// The result of a loop over interchangeable elements depends on the order of its passes, so
    /// a reduction by symmetry is not sound for this model. Only a reduction reports it.
    OrderDependence,
    /// A claim about runs was violated.
    Claim,
    /// A channel was used that does not exist, or exists no more.
    BadChannel,
    /// A statement inside a sequence that is one step cannot be executed.
    BlockedDStep,
    /// There is no room for another process.
    ProcessLimit,
    /// A step never ends: the states that it passes through form a cycle.
    AtomicCycle,
    /// There is no room for another channel.
    ChannelLimit,
}

impl FaultKind {
    /// All of them.
    pub const ALL: [FaultKind; 19] = [
        FaultKind::Assertion,
        FaultKind::Error,
        FaultKind::Undefined,
        FaultKind::Range,
        FaultKind::Index,
        FaultKind::Division,
        FaultKind::Overflow,
        FaultKind::LoopLimit,
        FaultKind::CallLimit,
        FaultKind::NoReturn,
        FaultKind::MultisetFull,
        FaultKind::Step,
        FaultKind::OrderDependence,
        FaultKind::Claim,
        FaultKind::BadChannel,
        FaultKind::BlockedDStep,
        FaultKind::ProcessLimit,
        FaultKind::AtomicCycle,
        FaultKind::ChannelLimit,
    ];

    /// The name used in the run record.
    pub fn name(self) -> &'static str {
        match self {
            FaultKind::Assertion => "assertion",
            FaultKind::Error => "error",
            FaultKind::Undefined => "undefined",
            FaultKind::Range => "range",
            FaultKind::Index => "index",
            FaultKind::Division => "division",
            FaultKind::Overflow => "overflow",
            FaultKind::LoopLimit => "loop-limit",
            FaultKind::CallLimit => "call-limit",
            FaultKind::NoReturn => "no-return",
            FaultKind::MultisetFull => "multiset-full",
            FaultKind::Step => "step",
            FaultKind::OrderDependence => "order-dependence",
            FaultKind::Claim => "claim",
            FaultKind::BadChannel => "bad-channel",
            FaultKind::BlockedDStep => "blocked-d_step",
            FaultKind::ProcessLimit => "process-limit",
            FaultKind::AtomicCycle => "atomic-cycle",
            FaultKind::ChannelLimit => "channel-limit",
        }
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What was being evaluated when a fault occurred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The body of a startstate.
    Start,
    /// The guard of a rule.
    Guard,
    /// The body of a rule.
    Body,
    /// A property, an assumption among them.
    Property,
}
