//! Violations in the names of the run that shows them.
//!
//! Under a reduction a violation is found at a representative, whose names are not those of the
//! run that [`trace`](crate::trace()) rebuilds: "process 2 fails" would be said about a state in
//! which it is process 3 that fails.
//! So the run is followed once here, and what the violation says about instances is taken from the
//! last state as the model makes it: properties are evaluated and rules fired there once more, and
//! a liveness goal is followed back through the renaming that takes that state to its
//! representative.
//! Without a reduction nothing changes.

use std::ops::ControlFlow;

use hadal_model::{
    Expander, Failure, Fault, Flow, Model, PAD_BYTES, States, Stop, Stopped, Successors,
    for_each_filling,
};

use crate::trace::replay;
use crate::{Violation, ViolationKind};

/// Rewrites parameters, message and place of a violation whose path is known. `goal` is the goal that
/// cannot be reached, for liveness.
///
/// Parameters are dropped where they cannot be told: where the first instance that fails at the
/// last state fails in another way, or where the path does not replay, which is noticed for good
/// when the run is to be shown.
pub(crate) fn rename(model: &dyn Model, violation: &mut Violation, goal: Option<usize>) {
    let is_fault = matches!(violation.kind, ViolationKind::Fault(_));
    // Faults tell values in their messages even where there are no parameters.
    if violation.parameters.is_empty() && !is_fault {
        return;
    }
    let Some(path) = &violation.path else { return };
    let Some(stored) = path.steps.last() else {
        return;
    };
    // A search that was stopped still has to tell what it found; states on a path have been
    // expanded before, so this ends.
    let never = Stop::new();
    let last = replay(model, path, &never).ok();
    let last = last.and_then(|trace| trace.steps.into_iter().next_back()?.state);
    if last.as_ref() == Some(&stored.state) {
        return;
    }
    let told = last.and_then(|state| {
        let mut expander = model.expander(&never);
        match goal {
            Some(goal) => follow_back(model, &mut *expander, state, goal),
            None => tell(model, &mut *expander, state, violation),
        }
    });
    match told {
        Some((parameters, fault)) => {
            violation.parameters = parameters;
            if let Some(fault) = fault {
                (violation.message, violation.at) = (fault.message, fault.at);
            }
        }
        None => violation.parameters.clear(),
    }
}

/// Parameters, and the fault that is met where there is one.
type Told = (Vec<(String, String)>, Option<Fault>);

/// The goal that the reduction turns into `goal` on the way from `state` to its representative.
fn follow_back(
    model: &dyn Model,
    expander: &mut dyn Expander,
    mut state: Vec<u8>,
    goal: usize,
) -> Option<Told> {
    let mut images = Vec::new();
    expander.canonicalise_with_goals(&mut state, &mut images);
    let here = match images.is_empty() {
        true => goal,
        false => images.iter().position(|&image| image as usize == goal)?,
    };
    Some((model.shape().goals[here].parameters.clone(), None))
}

/// What the property or rule of a violation says at `state`.
fn tell(
    model: &dyn Model,
    expander: &mut dyn Expander,
    mut state: Vec<u8>,
    violation: &Violation,
) -> Option<Told> {
    let shape = model.shape();
    state.resize(shape.state_len + PAD_BYTES, 0);
    let block = States::new(&state, shape.state_len, 1);
    let Some(property) = violation.property else {
        let is_same = |fault: &Fault| {
            ViolationKind::Fault(fault.kind) == violation.kind
                && (Some(fault.phase), &fault.name) == (violation.phase, &violation.name)
        };
        let fault = expand(model, expander, block)?.into_iter().find(is_same)?;
        return Some((fault.parameters.clone(), Some(fault)));
    };
    let mut failures = Vec::new();
    let mut flow = expander.check(block, &mut failures);
    if flow == Flow::Done && !shape.goals.is_empty() {
        let mut reached = vec![0; shape.goal_words()];
        flow = expander.reach_goals(block, &mut reached, &mut failures);
    }
    let is_same = |failure: &Failure| {
        let kind = match &failure.fault {
            Some(fault) => ViolationKind::Fault(fault.kind),
            None => ViolationKind::Invariant,
        };
        failure.property == property && kind == violation.kind
    };
    let failure = failures.into_iter().find(is_same)?;
    let fault = failure.fault.map(|fault| *fault);
    (flow == Flow::Done).then_some((failure.parameters, fault))
}

/// The faults of a state's expansion.
fn expand(model: &dyn Model, expander: &mut dyn Expander, block: States<'_>) -> Option<Vec<Fault>> {
    let mut out = Successors::new(model.shape(), BUFFER_LEN);
    let go_on = |_: &mut dyn Expander, _: &mut Successors| ControlFlow::<()>::Continue(());
    if for_each_filling(expander, Some(block), &mut out, go_on) == Err(Stopped) {
        return None;
    }
    Some(out.sources()[0].faults.clone())
}

const BUFFER_LEN: usize = 256;
