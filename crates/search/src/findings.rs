//! Which violations are reported, and in which order.
//!
//! Findings are accepted in the order (rank, ordinal of the state, properties by number, then faults
//! and deadlock of the state's expansion).
//! Failures of properties are known when a state is found, faults and deadlocks when it is expanded
//! with its rank; so failures wait until the expansion has reached their state.
//! Of several findings of one kind about the same rule or property only the first counts. Each
//! assertion is a property in this sense, and so is a claim, whatever rules it moves by.
//!
//! An order dependence is the last finding, however many are asked for: a reduction by symmetry is
//! sound up to the state that has it, by induction on the order above, and for no state after it.

mod saved;

use std::collections::{HashSet, VecDeque};

use hadal_model::{Failure, Fault, FaultKind, Shape, Source, Step};
use serde::{Deserialize, Serialize};

use crate::window::SourceSummary;
use crate::{Deadlock, Trace, Violation, ViolationKind};

pub(crate) use saved::SavedFindings;

/// The violations of a search so far.
pub struct Findings<'a> {
    shape: &'a Shape,
    deadlock: Deadlock,
    max_errors: usize,
    /// Violations to report, in order.
    accepted: Vec<Violation>,
    /// Failures in the rank being expanded, in order.
    waiting: VecDeque<Waiting>,
    /// Failures in the rank being found, in order.
    coming: VecDeque<Waiting>,
    /// What `accepted`, `waiting` and `coming` are about.
    known: HashSet<(ViolationKind, Subject)>,
    faulted: bool,
}

struct Waiting {
    ordinal: u64,
    violation: Violation,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Subject {
    State,
    Rule(String),
    Start(String),
    Property(u32),
    Assertion { rule: String, at: String },
    Claim,
}

impl Subject {
    /// What a fault of a rule is about.
    fn of_rule(fault: &Fault) -> Self {
        match fault.kind {
            FaultKind::Assertion => Subject::Assertion {
                rule: fault.name.clone(),
                at: fault.at.clone(),
            },
            // A search has one claim at most.
            FaultKind::Claim => Subject::Claim,
            _ => Subject::Rule(fault.name.clone()),
        }
    }
}

impl std::fmt::Debug for Findings<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(&self.accepted).finish()
    }
}

impl<'a> Findings<'a> {
    /// None yet.
    pub fn new(shape: &'a Shape, deadlock: Deadlock, max_errors: usize) -> Self {
        Findings {
            shape,
            deadlock,
            max_errors: max_errors.max(1),
            accepted: Vec::new(),
            waiting: VecDeque::new(),
            coming: VecDeque::new(),
            known: HashSet::new(),
            faulted: false,
        }
    }

    /// Notes a property that does not hold in the new state `ordinal` at `depth`.
    pub fn add_failure(&mut self, ordinal: u64, depth: u32, failure: &Failure) {
        let property = &self.shape.properties[failure.property as usize];
        let kind = match &failure.fault {
            Some(fault) => {
                self.faulted |= !fault.goes_on;
                ViolationKind::Fault(fault.kind)
            }
            None => ViolationKind::Invariant,
        };
        if !self
            .known
            .insert((kind, Subject::Property(failure.property)))
        {
            return;
        }
        let (message, at) = match &failure.fault {
            Some(fault) => (fault.message.clone(), fault.at.clone()),
            None => (String::new(), property.at.clone()),
        };
        self.coming.push_back(Waiting {
            ordinal,
            violation: Violation {
                kind,
                phase: failure.fault.as_ref().map(|fault| fault.phase),
                name: property.name.clone(),
                message,
                at,
                depth,
                cost: None,
                ordinal: Some(ordinal),
                property: Some(failure.property),
                parameters: failure.parameters.clone(),
                trace: None,
            },
        });
    }

    /// Notes a fault in the body of a startstate, after `n_states` startstates were found.
    pub fn add_start_fault(&mut self, n_states: u64, fault: &Fault) {
        self.faulted = true;
        let kind = ViolationKind::Fault(fault.kind);
        self.known
            .insert((kind, Subject::Start(fault.name.clone())));
        let start = Step {
            rule: fault.name.clone(),
            parameters: fault.parameters.clone(),
            ..Step::default()
        };
        self.coming.push_back(Waiting {
            ordinal: n_states,
            violation: Violation {
                trace: Some(Trace::of_faulty_start(start)),
                ordinal: None,
                ..of_fault(fault, 0, 0)
            },
        });
    }

    /// Goes on to the layer that was found last.
    pub fn begin_rank(&mut self) {
        debug_assert!(self.waiting.is_empty());
        std::mem::swap(&mut self.waiting, &mut self.coming);
    }

    /// The ordinal at which the failures known in this layer end the search: only states before
    /// it can have anything to add.
    pub fn limit(&self) -> Option<u64> {
        let missing = self.max_errors.saturating_sub(self.accepted.len());
        let mut waiting = (1..).zip(&self.waiting);
        let last = waiting
            .find(|(number, waiting)| *number >= missing || ends_any_search(&waiting.violation));
        last.map(|(_, last)| last.ordinal)
    }

    /// Whether [`add_source`](Self::add_source) may have something to add about some state of a
    /// block at which this summary.
    pub(crate) fn may_add(&self, summary: &SourceSummary) -> bool {
        let has_deadlock = match self.deadlock {
            Deadlock::Stuttering => summary.has_stutter,
            Deadlock::Stuck => summary.has_stuck,
            Deadlock::EndStates => summary.has_invalid_end,
            Deadlock::Off => false,
        };
        summary.has_fault || has_deadlock
    }

    /// Takes what is known about the state `ordinal` at `depth` after its expansion. States come
    /// in order.
    pub fn add_source(&mut self, ordinal: u64, depth: u32, source: &Source) {
        let is_deadlock = source.faults.is_empty() && self.is_deadlock(source);
        if source.faults.is_empty() && !is_deadlock {
            return;
        }
        self.accept_waiting(ordinal);
        for fault in &source.faults {
            self.faulted |= !fault.goes_on;
            let subject = Subject::of_rule(fault);
            let kind = ViolationKind::Fault(fault.kind);
            if !self.is_full() && self.known.insert((kind, subject)) {
                self.accepted.push(of_fault(fault, ordinal, depth));
            }
        }
        let kind = ViolationKind::Deadlock;
        if is_deadlock && !self.is_full() && self.known.insert((kind, Subject::State)) {
            self.accepted.push(Violation {
                kind,
                phase: None,
                name: kind.name().to_owned(),
                message: match self.deadlock {
                    Deadlock::Stuck => "no rule is enabled",
                    Deadlock::EndStates => "invalid end state: nothing can happen any more",
                    Deadlock::Stuttering | Deadlock::Off => "no rule leads to another state",
                }
                .to_owned(),
                at: String::new(),
                depth,
                cost: None,
                ordinal: Some(ordinal),
                property: None,
                parameters: Vec::new(),
                trace: None,
            });
        }
    }

    /// Takes the rest of the layer.
    pub fn end_rank(&mut self) {
        self.accept_waiting(u64::MAX);
    }

    /// Whether the search has found as many violations as it was asked for, or what no search goes
    /// beyond.
    pub fn is_full(&self) -> bool {
        self.accepted.len() >= self.max_errors || self.accepted.last().is_some_and(ends_any_search)
    }

    /// Whether some fault cut off a part of the state space.
    pub fn faulted(&self) -> bool {
        self.faulted
    }

    /// The violations, those of states not yet expanded included; to be asked at the end.
    pub(crate) fn finish(mut self) -> Vec<Violation> {
        self.end_rank();
        self.begin_rank();
        self.end_rank();
        self.accepted
    }

    fn is_deadlock(&self, source: &Source) -> bool {
        match self.deadlock {
            Deadlock::Stuttering => !source.progress,
            Deadlock::Stuck => source.fired == 0,
            Deadlock::EndStates => is_invalid_end(source),
            Deadlock::Off => false,
        }
    }

    fn accept_waiting(&mut self, up_to: u64) {
        while !self.is_full() && self.waiting.front().is_some_and(|w| w.ordinal <= up_to) {
            self.accepted
                .extend(self.waiting.pop_front().map(|waiting| waiting.violation));
        }
        if self.is_full() {
            self.waiting.clear();
            self.coming.clear();
        }
    }
}

/// Whether no rule is enabled at a state where the model may not end.
pub(crate) fn is_invalid_end(source: &Source) -> bool {
    source.enabled == 0 && !source.may_end
}

fn ends_any_search(violation: &Violation) -> bool {
    violation.kind.is_order_dependence()
}

fn of_fault(fault: &Fault, ordinal: u64, depth: u32) -> Violation {
    Violation {
        kind: ViolationKind::Fault(fault.kind),
        phase: Some(fault.phase),
        name: fault.name.clone(),
        message: fault.message.clone(),
        at: fault.at.clone(),
        depth,
        cost: None,
        ordinal: Some(ordinal),
        property: None,
        parameters: fault.parameters.clone(),
        trace: None,
    }
}
