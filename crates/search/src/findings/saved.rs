//! Findings in a checkpoint.

use hadal_model::{FaultKind, Phase, Step};
use serde::{Deserialize, Serialize};

use super::{Findings, Subject, Waiting};
use crate::{Trace, Violation, ViolationKind};

/// The findings of a search that will be resumed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct SavedFindings {
    accepted: Vec<SavedViolation>,
    waiting: Vec<(u64, SavedViolation)>,
    coming: Vec<(u64, SavedViolation)>,
    known: Vec<(Kind, Subject)>,
    faulted: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct SavedViolation {
    kind: Kind,
    phase: Option<SavedPhase>,
    name: String,
    message: String,
    at: String,
    depth: u32,
    ordinal: Option<u64>,
    property: Option<u32>,
    parameters: Vec<(String, String)>,
    /// Rule and parameters of the startstate whose body met a fault.
    faulty_start: Option<(String, Vec<(String, String)>)>,
}

/// A kind of violation; faults by their position in [`FaultKind::ALL`].
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Kind {
    Invariant,
    Deadlock,
    Cover,
    Liveness,
    Fault(usize),
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum SavedPhase {
    Start,
    Guard,
    Body,
    Property,
}

impl Findings<'_> {
    /// The findings, for a checkpoint.
    pub(crate) fn save(&self) -> SavedFindings {
        let waiting = |waiting: &Waiting| (waiting.ordinal, save(&waiting.violation));
        let mut known: Vec<_> = self
            .known
            .iter()
            .map(|(kind, subject)| (kind_of(*kind), subject.clone()))
            .collect();
        // A set has no order of its own; what is written should not depend on chance.
        known.sort_by_key(|known| format!("{known:?}"));
        SavedFindings {
            accepted: self.accepted.iter().map(save).collect(),
            waiting: self.waiting.iter().map(waiting).collect(),
            coming: self.coming.iter().map(waiting).collect(),
            known,
            faulted: self.faulted,
        }
    }

    /// Restores the findings of a checkpoint; `None` where they make no sense.
    pub(crate) fn restore(&mut self, saved: &SavedFindings) -> Option<()> {
        let waiting = |(ordinal, violation): &(u64, SavedViolation)| {
            Some(Waiting {
                ordinal: *ordinal,
                violation: restore(violation)?,
            })
        };
        self.accepted = saved.accepted.iter().map(restore).collect::<Option<_>>()?;
        self.waiting = saved.waiting.iter().map(waiting).collect::<Option<_>>()?;
        self.coming = saved.coming.iter().map(waiting).collect::<Option<_>>()?;
        self.known = saved
            .known
            .iter()
            .map(|(kind, subject)| Some((kind_from(*kind)?, subject.clone())))
            .collect::<Option<_>>()?;
        self.faulted = saved.faulted;
        Some(())
    }
}

fn save(violation: &Violation) -> SavedViolation {
    let start = violation.trace.as_ref().and_then(Trace::faulty_start);
    SavedViolation {
        kind: kind_of(violation.kind),
        phase: violation.phase.map(|phase| match phase {
            Phase::Start => SavedPhase::Start,
            Phase::Guard => SavedPhase::Guard,
            Phase::Body => SavedPhase::Body,
            Phase::Property => SavedPhase::Property,
        }),
        name: violation.name.clone(),
        message: violation.message.clone(),
        at: violation.at.clone(),
        depth: violation.depth,
        ordinal: violation.ordinal,
        property: violation.property,
        parameters: violation.parameters.clone(),
        faulty_start: start.map(|start| (start.rule.clone(), start.parameters.clone())),
    }
}

fn restore(saved: &SavedViolation) -> Option<Violation> {
    Some(Violation {
        kind: kind_from(saved.kind)?,
        phase: saved.phase.map(|phase| match phase {
            SavedPhase::Start => Phase::Start,
            SavedPhase::Guard => Phase::Guard,
            SavedPhase::Body => Phase::Body,
            SavedPhase::Property => Phase::Property,
        }),
        name: saved.name.clone(),
        message: saved.message.clone(),
        at: saved.at.clone(),
        depth: saved.depth,
        cost: None,
        ordinal: saved.ordinal,
        property: saved.property,
        parameters: saved.parameters.clone(),
        trace: saved.faulty_start.clone().map(|(rule, parameters)| {
            Trace::of_faulty_start(Step {
                rule,
                parameters,
                ..Step::default()
            })
        }),
    })
}

fn kind_of(kind: ViolationKind) -> Kind {
    match kind {
        ViolationKind::Invariant => Kind::Invariant,
        ViolationKind::Deadlock => Kind::Deadlock,
        ViolationKind::Cover => Kind::Cover,
        ViolationKind::Liveness => Kind::Liveness,
        ViolationKind::Fault(fault) => {
            let position = FaultKind::ALL.iter().position(|&kind| kind == fault);
            Kind::Fault(position.expect("it is one of all"))
        }
    }
}

fn kind_from(kind: Kind) -> Option<ViolationKind> {
    Some(match kind {
        Kind::Invariant => ViolationKind::Invariant,
        Kind::Deadlock => ViolationKind::Deadlock,
        Kind::Cover => ViolationKind::Cover,
        Kind::Liveness => ViolationKind::Liveness,
        Kind::Fault(position) => ViolationKind::Fault(*FaultKind::ALL.get(position)?),
    })
}
