//! Counterexamples: from the stored states that lead to a violation to a run of the model.
//!
//! Under a reduction the stored states are representatives, so the run is rebuilt: it begins with
//! the startstate as the model makes it, and each next state is the first successor whose
//! representative is the stored one.
//! What a [`Violation`](crate::Violation) says about instances has been put into the names of that
//! very run, so any other choice here would have to be made in `naming` as well.
//! Any generator of the same model can replay, which is how native code is held against the
//! interpreter before a run is shown.

use std::ops::ControlFlow;
use std::panic::resume_unwind;

use hadal_model::{
    Expander, Model, PAD_BYTES, States, Step, Stop, Stopped, Successors, for_each_filling,
};

use crate::{Options, Path};

/// A run of the model, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The steps; the first one is the startstate.
    pub steps: Vec<TraceStep>,
}

/// One step of a [`Trace`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceStep {
    /// The rule or startstate.
    pub step: Step,
    /// The packed state it leads to; `None` only for a startstate whose body met a fault.
    pub state: Option<Vec<u8>>,
}

/// Why there is no trace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The model does not do what the search saw.
    #[error("internal error: counterexample does not replay at step {step}")]
    DoesNotReplay {
        /// The position in the path that could not be reached.
        step: usize,
    },
    /// The stop flag was raised.
    #[error("interrupted while the counterexample was replayed")]
    Stopped,
    /// The operating system refused a thread.
    #[error("cannot start a thread: {0}")]
    Thread(#[from] std::io::Error),
}

impl From<Stopped> for TraceError {
    fn from(_: Stopped) -> Self {
        TraceError::Stopped
    }
}

/// Replays `path` with `model`, which may be another generator than the one searched with.
///
/// It runs on a thread of its own with the stack that `options` ask for. After a search that was
/// interrupted, `stop` must be another flag than the one that was raised.
pub fn trace(
    model: &dyn Model,
    path: &Path,
    options: &Options,
    stop: &Stop,
) -> Result<Trace, TraceError> {
    std::thread::scope(|scope| {
        let replaying = std::thread::Builder::new()
            .stack_size(options.stack_bytes)
            .spawn_scoped(scope, || replay(model, path, stop))?;
        replaying
            .join()
            .unwrap_or_else(|panic| resume_unwind(panic))
    })
}

/// Replays `path` on this thread.
pub(crate) fn replay(model: &dyn Model, path: &Path, stop: &Stop) -> Result<Trace, TraceError> {
    if let Some(start) = &path.faulty_start {
        let step = TraceStep {
            step: start.clone(),
            state: None,
        };
        return Ok(Trace { steps: vec![step] });
    }
    let mut replay = Replay {
        expander: model.reference_expander(stop),
        out: Successors::new(model.shape(), BUFFER_LEN),
        state_len: model.shape().state_len,
    };
    let mut steps: Vec<TraceStep> = Vec::new();
    for (number, wanted) in path.steps.iter().enumerate() {
        let current = steps.last().and_then(|step| step.state.as_deref());
        let does_not = TraceError::DoesNotReplay { step: number };
        let Some((index, state)) = replay.find(current, &wanted.state)? else {
            return Err(does_not);
        };
        let step = model.describe_step(current, index).ok_or(does_not)?;
        let state = Some(state);
        steps.push(TraceStep { step, state });
    }
    Ok(Trace { steps })
}

/// One step may have more successors than this; they come in several buffers.
const BUFFER_LEN: usize = 1024;

struct Replay<'a> {
    expander: Box<dyn Expander + 'a>,
    out: Successors,
    state_len: usize,
}

impl Replay<'_> {
    /// The first successor of `current` (the first startstate, if there is none) whose
    /// representative is `wanted`: its index and its state as the model makes it.
    fn find(
        &mut self,
        current: Option<&[u8]>,
        wanted: &[u8],
    ) -> Result<Option<(u32, Vec<u8>)>, TraceError> {
        let mut block = current.unwrap_or_default().to_vec();
        block.resize(block.len() + PAD_BYTES, 0);
        let state_len = self.state_len;
        let block = current.map(|_| States::new(&block, state_len, 1));
        let found = for_each_filling(
            &mut *self.expander,
            block,
            &mut self.out,
            |expander, out| {
                let raw = out.states_mut().to_vec();
                expander.canonicalise(out.states_mut());
                match (0..out.len()).find(|&at| out.state(at) == wanted) {
                    None => ControlFlow::Continue(()),
                    Some(at) => {
                        let state = raw[at * state_len..][..state_len].to_vec();
                        ControlFlow::Break((out.index(at), state))
                    }
                }
            },
        );
        Ok(found?.break_value())
    }
}
