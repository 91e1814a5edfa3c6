//! What findings come to when a search has ended: violations with their paths, which properties
//! hold, and whether something is left open. All searches conclude alike.

use hadal_model::{GoalKind, Model, PropertyKind, Shape};

use crate::findings::Findings;
use crate::{Error, Options, Path, Reason, Violation, ViolationKind, naming};

/// How a search ended, as far as verdicts depend on it.
pub(crate) struct Ending<'a> {
    /// No state was left to expand.
    pub(crate) is_exhausted: bool,
    /// States were told apart for certain.
    pub(crate) is_exact: bool,
    /// How often each goal was reached.
    pub(crate) goals: &'a [u64],
    /// Layers after the startstates.
    pub(crate) depth: u32,
}

/// What the findings of a search come to.
pub(crate) struct Conclusion<'a> {
    shape: &'a Shape,
    pub(crate) violations: Vec<Violation>,
    /// Whether each property holds, as far as that was decided.
    pub(crate) holds: Vec<Option<bool>>,
    max_errors: usize,
    is_exhausted: bool,
    is_exact: bool,
    /// Everything was visited, and nothing was found.
    is_clean: bool,
    faulted: bool,
    all_covered: bool,
}

impl<'a> Conclusion<'a> {
    /// Decides invariants and covers.
    pub(crate) fn new(
        shape: &'a Shape,
        options: &Options,
        findings: Findings<'_>,
        ending: &Ending<'_>,
    ) -> Self {
        let faulted = findings.faulted();
        let violations = findings.finish();
        let mut conclusion = Conclusion {
            shape,
            holds: vec![None; shape.properties.len()],
            max_errors: options.max_errors.max(1),
            is_exhausted: ending.is_exhausted,
            is_exact: ending.is_exact,
            is_clean: ending.is_exhausted && violations.is_empty(),
            faulted,
            all_covered: true,
            violations,
        };
        for (property, holds) in shape.properties.iter().zip(&mut conclusion.holds) {
            // A fault hides the states behind it, where an invariant may fail.
            let is_open = !ending.is_exhausted || faulted;
            if property.kind == PropertyKind::Invariant && !is_open {
                *holds = Some(true);
            }
        }
        conclusion.decide_covers(ending);
        let mut kinds = conclusion.violations.iter().map(|violation| violation.kind);
        if kinds.any(ViolationKind::is_order_dependence) {
            // A goal counts as reached if a state reaches it that is a renaming of a visited one,
            // which proves something of symmetric models only.
            conclusion.holds.fill(None);
        }
        conclusion
    }

    /// Decides cover properties as far as possible. A goal that was reached is reached whatever
    /// else happened; one that was not is a violation only if that is a proof: if nothing was left
    /// out, and no state can have been taken for another.
    fn decide_covers(&mut self, ending: &Ending<'_>) {
        let (shape, is_proof) = (self.shape, self.is_clean && self.is_exact);
        for (number, holds) in self.holds.iter_mut().enumerate() {
            if shape.properties[number].kind != PropertyKind::Cover {
                continue;
            }
            let mut instances = (shape.goals.iter().zip(ending.goals))
                .filter(|(goal, _)| goal.property as usize == number)
                .map(|(_, &count)| count);
            if instances.all(|count| count > 0) {
                *holds = Some(true);
            } else if is_proof {
                *holds = Some(false);
            }
        }
        for (number, goal) in shape.goals.iter().enumerate() {
            if goal.kind != GoalKind::Liveness && ending.goals[number] == 0 {
                self.all_covered = false;
                if is_proof && self.has_room() {
                    let violation = of_goal(shape, number, ending.depth, None);
                    self.violations.push(violation);
                }
            }
        }
    }

    /// Whether another violation is wanted.
    pub(crate) fn has_room(&self) -> bool {
        self.violations.len() < self.max_errors
    }

    /// Whether liveness is left to be decided.
    pub(crate) fn asks_for_liveness(&self) -> bool {
        let mut kinds = self.shape.goals.iter().map(|goal| goal.kind);
        self.is_clean && kinds.any(|kind| kind == GoalKind::Liveness) && self.has_room()
    }

    /// Finds the paths of violations that have none yet, and notes the properties that fail. Says
    /// whether there was a path to find.
    pub(crate) fn find_paths(
        &mut self,
        model: &dyn Model,
        mut path_to: impl FnMut(u64) -> Result<Path, Error>,
    ) -> Result<bool, Error> {
        let mut is_traced = false;
        for violation in &mut self.violations {
            if let (Some(ordinal), None) = (violation.ordinal, &violation.path) {
                let path = path_to(ordinal).map_err(|error| match error {
                    Error::Store(source) => Error::LostPath {
                        violation: Box::new(violation.clone()),
                        source,
                    },
                    error => error,
                })?;
                // Not every search knows depths before.
                violation.depth = path.steps.len().saturating_sub(1) as u32;
                violation.path = Some(path);
                naming::rename(model, violation, None);
                is_traced = true;
            }
            // One whose result depends on the order of passes is neither true nor false.
            if let Some(property) = violation.property
                && !violation.kind.is_order_dependence()
            {
                self.holds[property as usize] = Some(false);
            }
        }
        Ok(is_traced)
    }

    /// Whether nothing is left open, if the search had this reason to stop.
    pub(crate) fn is_complete(&self, reason: Option<Reason>) -> bool {
        let is_decided = self.all_covered || self.is_exact || !self.is_clean;
        // A fault cuts off what would have come after it, so something may be left unvisited.
        self.is_exhausted && reason.is_none() && !self.faulted && is_decided
    }
}

/// A goal that is not reached, as a violation.
pub(crate) fn of_goal(shape: &Shape, goal: usize, depth: u32, ordinal: Option<u64>) -> Violation {
    let goal = &shape.goals[goal];
    let property = &shape.properties[goal.property as usize];
    let (kind, message) = match goal.kind {
        GoalKind::CoverState => (ViolationKind::Cover, "true in no reachable state"),
        GoalKind::CoverStep => (ViolationKind::Cover, "true during no step"),
        GoalKind::Liveness => (
            ViolationKind::Liveness,
            "cannot come true from this state on",
        ),
    };
    Violation {
        kind,
        phase: None,
        name: property.name.clone(),
        message: message.to_owned(),
        at: property.at.clone(),
        depth,
        ordinal,
        property: Some(goal.property),
        parameters: goal.parameters.clone(),
        path: None,
    }
}
