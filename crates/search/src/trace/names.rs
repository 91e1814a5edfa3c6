//! Violations in the names of the run that shows them.
//!
//! Under a reduction a violation is found at a representative, whose names are not those of the
//! run: "process 2 fails" would be said about a state in which process 3 fails. So what a violation
//! says about instances is taken from the last state as the model makes it: properties are evaluated
//! and rules fired there once more, and a liveness goal is followed back through the renaming that
//! takes that state to its representative.
//! Without a reduction nothing changes, and the second evaluation must agree with the first.

use std::ops::ControlFlow;

use hadal_model::{
    Expander, Failure, Fault, Flow, Model, PAD_BYTES, States, Stop, Stopped, Successors,
    for_each_batch,
};

use super::Trace;
use crate::{Violation, ViolationKind};

/// Why a violation is not confirmed by the reference generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotConfirmed {
    /// It is not found at the end of its run.
    NotFound,
    /// The stop flag was raised.
    Stopped,
}

/// Rewrites parameters, message and place of a violation that `trace` leads to. `goal` is the goal
/// that cannot be reached, for liveness.
///
/// Parameters are dropped where the first instance that fails at the last state fails in another
/// way.
pub(crate) fn rename(
    model: &dyn Model,
    violation: &mut Violation,
    trace: &Trace,
    goal: Option<usize>,
    stop: &Stop,
) -> Result<(), NotConfirmed> {
    let Some(last) = trace.steps.last() else {
        return Ok(());
    };
    let (Some(state), Some(stored)) = (&last.state, &last.stored) else {
        return Ok(());
    };
    let is_renamed = state != stored;
    let is_evaluated = match violation.kind {
        ViolationKind::Invariant | ViolationKind::Fault(_) => {
            !violation.kind.is_order_dependence() || is_renamed
        }
        ViolationKind::Liveness => is_renamed,
        ViolationKind::Deadlock | ViolationKind::Cover => false,
    };
    if !is_evaluated {
        return Ok(());
    }
    let mut expander = model.reference_expander(stop);
    let named = match goal {
        Some(goal) => follow_back(model, &mut *expander, state.clone(), goal),
        None => evaluate(model, &mut *expander, state.clone(), violation),
    };
    match named {
        // It may have been stopped before it found anything.
        None if stop.is_raised() => return Err(NotConfirmed::Stopped),
        None if !is_renamed => return Err(NotConfirmed::NotFound),
        None => violation.parameters.clear(),
        Some(_) if !is_renamed => {}
        Some((parameters, fault)) => {
            violation.parameters = parameters;
            if let Some(fault) = fault {
                (violation.message, violation.at) = (fault.message, fault.at);
            }
        }
    }
    Ok(())
}

/// Parameters, and the fault that is met where there is one.
type Named = (Vec<(String, String)>, Option<Fault>);

/// The goal that the reduction turns into `goal` on the way from `state` to its representative.
fn follow_back(
    model: &dyn Model,
    expander: &mut dyn Expander,
    mut state: Vec<u8>,
    goal: usize,
) -> Option<Named> {
    let mut images = Vec::new();
    expander.canonicalise_with_goals(&mut state, &mut images);
    let here = match images.is_empty() {
        true => goal,
        false => images.iter().position(|&image| image as usize == goal)?,
    };
    Some((model.shape().goals[here].parameters.clone(), None))
}

/// What the property or rule of a violation says at `state`.
fn evaluate(
    model: &dyn Model,
    expander: &mut dyn Expander,
    mut state: Vec<u8>,
    violation: &Violation,
) -> Option<Named> {
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
    if for_each_batch(expander, Some(block), &mut out, go_on) == Err(Stopped) {
        return None;
    }
    Some(out.sources()[0].faults.clone())
}

const BUFFER_LEN: usize = 256;
