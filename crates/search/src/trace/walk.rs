//! The walk over a path: stored states by their indices, and beside them the run as the model makes
//! it.

use std::convert::Infallible;
use std::ops::ControlFlow;

use hadal_model::{Expander, Model, PAD_BYTES, States, Stop, Successors, for_each_batch};

use super::{Trace, TraceError, TraceStep};

/// The run whose steps have these indices.
pub(crate) fn follow(model: &dyn Model, indices: &[u32]) -> Result<Trace, TraceError> {
    // What was found before a search was stopped is shown all the same; states on a path have been
    // expanded before, so this ends.
    let never = Stop::new();
    let mut walker = Walker::new(model, &never);
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
    expander: Box<dyn Expander + 'a>,
    out: Successors,
    trace: Trace,
}

/// A successor, as the model makes it and as it would be stored.
struct Successor {
    index: u32,
    cost: u32,
    state: Vec<u8>,
    representative: Vec<u8>,
}

/// One step may have more successors than this; they come in several buffers.
const BUFFER_LEN: usize = 1024;

impl<'a> Walker<'a> {
    fn new(model: &'a dyn Model, stop: &'a Stop) -> Self {
        Walker {
            model,
            expander: model.reference_expander(stop),
            out: Successors::with_costs(model.shape(), BUFFER_LEN),
            trace: Trace::default(),
        }
    }

    /// Continues to the stored state that has this index among the successors of the last one.
    fn step_by_index(&mut self, index: u32) -> Result<(), TraceError> {
        let last = self.trace.steps.last();
        let before = last.and_then(|step| step.stored.clone());
        let found = self.find(before.as_deref(), |at, _| at == index)?;
        let found = found.ok_or_else(|| self.does_not_replay())?;
        self.step_to(found.representative, index)
    }

    /// Continues to a successor of the last state whose representative is `stored`: the one with
    /// this index, or, where a reduction makes that another step, the one of least cost.
    fn step_to(&mut self, stored: Vec<u8>, index: u32) -> Result<(), TraceError> {
        let last = self.trace.steps.last();
        let is_unreduced = last.is_none_or(|step| step.state == step.stored);
        let before = last.and_then(|step| step.state.clone());
        let mut found = None;
        if is_unreduced {
            let is_it = |at, state: &[u8]| at == index && state == stored;
            found = self.find(before.as_deref(), is_it)?;
        }
        if found.is_none() {
            found = self.find(before.as_deref(), |_, state| state == stored)?;
        }
        let found = found.ok_or_else(|| self.does_not_replay())?;
        let step = self.model.describe_step(before.as_deref(), found.index);
        let step = step.ok_or_else(|| self.does_not_replay())?;
        self.trace.steps.push(TraceStep {
            step,
            state: Some(found.state),
            stored: Some(stored),
            index,
        });
        Ok(())
    }

    fn does_not_replay(&self) -> TraceError {
        TraceError::DoesNotReplay {
            step: self.trace.steps.len(),
        }
    }

    /// The successor of `state` (startstate, if there is none) of least cost whose index and
    /// representative are wanted; the first of them.
    fn find(
        &mut self,
        state: Option<&[u8]>,
        is_wanted: impl Fn(u32, &[u8]) -> bool,
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
                let raw = out.states_mut().to_vec();
                expander.canonicalise(out.states_mut());
                let wanted = (0..out.len()).filter(|&at| is_wanted(out.index(at), out.state(at)));
                for at in wanted {
                    let cost = out.cost(at);
                    if best.as_ref().is_none_or(|best| cost < best.cost) {
                        best = Some(Successor {
                            index: out.index(at),
                            cost,
                            state: raw[at * state_len..][..state_len].to_vec(),
                            representative: out.state(at).to_vec(),
                        });
                    }
                }
                ControlFlow::<Infallible>::Continue(())
            },
        );
        let ControlFlow::Continue(()) = ended?;
        Ok(best)
    }
}
