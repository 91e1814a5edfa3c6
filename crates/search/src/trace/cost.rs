//! What a run costs, where the search did not keep account.

use std::ops::ControlFlow;

use hadal_model::{Expander, Model, PAD_BYTES, States, Stop, Successors, for_each_batch};

use super::{Trace, TraceError};
use crate::rank::MeasureColumns;

/// One step may have more successors than this; they come in several buffers.
const BUFFER_LEN: usize = 1024;

/// The costs of all steps of `trace` behind its startstate, as the search adds them up.
pub fn cost_of(model: &dyn Model, trace: &Trace, stop: &Stop) -> Result<u64, TraceError> {
    let mut expander = model.reference_expander(stop);
    let mut sum = 0u64;
    let stored = trace.steps.iter().filter_map(|step| step.stored.as_deref());
    for (number, (before, step)) in stored.zip(&trace.steps[1..]).enumerate() {
        let after = step.stored.as_deref();
        let cost = measured(&mut *expander, model, after)
            .or_else(|| of_step(&mut *expander, model, before, step.index))
            .ok_or(TraceError::DoesNotReplay { step: number + 1 })?;
        sum = sum.saturating_add(u64::from(cost));
    }
    Ok(sum)
}

/// What each step to `state` costs by the model's own measure, if it has one.
fn measured(expander: &mut dyn Expander, model: &dyn Model, state: Option<&[u8]>) -> Option<u32> {
    let column = MeasureColumns::new(model.shape()).cost?;
    let (padded, mut values) = (padded(state?), Vec::new());
    let block = States::new(&padded, model.shape().state_len, 1);
    expander.measure(block, &mut values).ok()?;
    values.get(column).copied()
}

/// The cost of the step of this index from `before`.
fn of_step(
    expander: &mut dyn Expander,
    model: &dyn Model,
    before: &[u8],
    index: u32,
) -> Option<u32> {
    let padded = padded(before);
    let block = States::new(&padded, model.shape().state_len, 1);
    let mut out = Successors::with_costs(model.shape(), BUFFER_LEN);
    let found = for_each_batch(expander, Some(block), &mut out, |_, out| {
        match (0..out.len()).find(|&at| out.index(at) == index) {
            Some(at) => ControlFlow::Break(out.cost(at)),
            None => ControlFlow::Continue(()),
        }
    });
    found.ok()?.break_value()
}

fn padded(state: &[u8]) -> Vec<u8> {
    let mut padded = state.to_vec();
    padded.resize(padded.len() + PAD_BYTES, 0);
    padded
}
