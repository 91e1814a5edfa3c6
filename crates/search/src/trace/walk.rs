//! The walk over a path: stored states by their indices, and beside them the run as the model makes
//! it.

use std::convert::Infallible;
use std::ops::ControlFlow;

use hadal_model::{Expander, Model, PAD_BYTES, States, Step, Stop, Successors, for_each_batch};

use super::{Trace, TraceError, TraceStep};

/// The run whose steps have these indices.
pub(crate) fn follow(model: &dyn Model, indices: &[u32], stop: &Stop) -> Result<Trace, TraceError> {
    let mut walker = Walker::new(model, stop);
    for &index in indices {
        walker.step_by_index(index)?;
    }
    Ok(walker.trace)
}

/// The same run, found again by its stored states.
pub(crate) fn replay(model: &dyn Model, trace: &Trace, stop: &Stop) -> Result<Trace, TraceError> {
    let mut walker = Walker::new(model, stop);
    for step in &trace.steps {
        match &step.stored {
            Some(stored) => walker.step_to(stored.clone(), step.index)?,
            None => walker.trace.steps.push(step.clone()),
        }
    }
    Ok(Trace {
        lasso: trace.lasso,
        ..walker.trace
    })
}

/// A run under way.
struct Walker<'a> {
    model: &'a dyn Model,
    stop: &'a Stop,
    expander: Box<dyn Expander + 'a>,
    out: Successors,
    trace: Trace,
}

/// A successor.
struct Successor {
    index: u32,
    cost: u32,
}

/// One step may have more successors than this; they come in several buffers.
const BUFFER_LEN: usize = 1024;

impl<'a> Walker<'a> {
    fn new(model: &'a dyn Model, stop: &'a Stop) -> Self {
        Walker {
            model,
            stop,
            expander: model.reference_expander(stop),
            out: Successors::with_costs(model.shape(), BUFFER_LEN),
            trace: Trace::default(),
        }
    }

    /// Continues to the stored state that has this index among the successors of the last one.
    fn step_by_index(&mut self, index: u32) -> Result<(), TraceError> {
        let last = self.trace.steps.last();
        let is_unreduced = last.is_none_or(|step| step.state == step.stored);
        let before = last.and_then(|step| step.stored.clone());
        let found = self
            .model
            .reference_step(before.as_deref(), index, self.stop)?;
        let (step, state) = found.ok_or_else(|| self.does_not_replay())?;
        let stored = self.representative(&state);
        match is_unreduced {
            true => {
                self.push(step, state, stored, index);
                Ok(())
            }
            false => self.step_by_state(stored, index),
        }
    }

    /// Continues to a successor of the last state whose representative is `stored`: the one with
    /// this index, or, where a reduction makes that another step, the one of least cost.
    fn step_to(&mut self, stored: Vec<u8>, index: u32) -> Result<(), TraceError> {
        let last = self.trace.steps.last();
        if last.is_none_or(|step| step.state == step.stored) {
            let before = last.and_then(|step| step.state.clone());
            let found = self
                .model
                .reference_step(before.as_deref(), index, self.stop)?;
            if let Some((step, state)) = found
                && self.representative(&state) == stored
            {
                self.push(step, state, stored, index);
                return Ok(());
            }
        }
        self.step_by_state(stored, index)
    }

    /// Continues to the successor of least cost whose representative is `stored`. As the stored
    /// state it has this index.
    fn step_by_state(&mut self, stored: Vec<u8>, index: u32) -> Result<(), TraceError> {
        let last = self.trace.steps.last();
        let before = last.and_then(|step| step.state.clone());
        let found = self.cheapest(before.as_deref(), &stored)?;
        let found = found.ok_or_else(|| self.does_not_replay())?;
        let step = (self.model).reference_step(before.as_deref(), found.index, self.stop)?;
        let (step, state) = step.ok_or_else(|| self.does_not_replay())?;
        self.push(step, state, stored, index);
        Ok(())
    }

    fn push(&mut self, step: Step, state: Vec<u8>, stored: Vec<u8>, index: u32) {
        self.trace.steps.push(TraceStep {
            step,
            state: Some(state),
            stored: Some(stored),
            index,
        });
    }

    fn representative(&mut self, state: &[u8]) -> Vec<u8> {
        let mut representative = state.to_vec();
        self.expander.canonicalise(&mut representative);
        representative
    }

    fn does_not_replay(&self) -> TraceError {
        TraceError::DoesNotReplay {
            step: self.trace.steps.len(),
        }
    }

    /// The successor of `state` (startstate, if there is none) of least cost whose representative is
    /// `stored`; the first of them.
    fn cheapest(
        &mut self,
        state: Option<&[u8]>,
        stored: &[u8],
    ) -> Result<Option<Successor>, TraceError> {
        let mut block = state.unwrap_or_default().to_vec();
        block.resize(block.len() + PAD_BYTES, 0);
        let state_len = self.model.shape().state_len;
        let block = state.map(|_| States::new(&block, state_len, 1));
        let mut best: Option<Successor> = None;
        let ended = for_each_batch(
            &mut *self.expander,
            block,
            &mut self.out,
            |expander, out| {
                expander.canonicalise(out.states_mut());
                for at in (0..out.len()).filter(|&at| out.state(at) == stored) {
                    let (index, cost) = (out.index(at), out.cost(at));
                    if best.as_ref().is_none_or(|best| cost < best.cost) {
                        best = Some(Successor { index, cost });
                    }
                }
                ControlFlow::<Infallible>::Continue(())
            },
        );
        let ControlFlow::Continue(()) = ended?;
        Ok(best)
    }
}
