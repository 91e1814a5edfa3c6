//! Counterexamples: runs of the model that lead to a violation.
//!
//! Of a state, a search knows the index of each step by which it was found. One walk over these
//! indices ([`walk`]) gives the stored states and the run in the model's own names; [`names`] puts
//! what a violation says about instances into the names of that run, and holds it against the state
//! at its end. Both go by the model's reference generator: what native code has found is confirmed
//! by the interpreter before anyone sees it, and a rebuilt path does not count as searched.
//!
//! Under a reduction the stored states are representatives. The run begins with the startstate as
//! the model makes it, and each next state is the first successor whose representative is the
//! stored one.

mod cost;
pub(crate) mod names;
mod walk;

use hadal_model::{Model, Step, Stop, Stopped};

use crate::Options;

pub use cost::cost_of;
pub(crate) use walk::follow;

/// A run of the model that shows a violation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// The steps; the first one is the startstate.
    pub steps: Vec<TraceStep>,
    /// The step that follows the last one, for a run that ends in a cycle.
    pub lasso: Option<usize>,
}

/// One step of a [`Trace`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceStep {
    /// The rule or startstate.
    pub step: Step,
    /// The packed state it leads to; `None` only for a startstate whose body met a fault.
    pub state: Option<Vec<u8>>,
    /// The state as it is stored: its representative under a reduction.
    pub stored: Option<Vec<u8>>,
    /// The stored state's index among the successors of the stored state before; the first one's
    /// among the startstates.
    pub index: u32,
}

impl Trace {
    /// The trace of a startstate whose body meets a fault.
    pub fn of_faulty_start(start: Step) -> Self {
        let step = TraceStep {
            step: start,
            state: None,
            stored: None,
            index: 0,
        };
        Trace {
            steps: vec![step],
            lasso: None,
        }
    }

    /// The startstate whose body meets a fault, if that is what it shows.
    pub fn faulty_start(&self) -> Option<&Step> {
        let first = self.steps.first().filter(|step| step.state.is_none());
        first.map(|first| &first.step)
    }

    /// Steps after the startstate.
    pub fn depth(&self) -> u32 {
        self.steps.len().saturating_sub(1) as u32
    }
}

/// Why there is no trace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The model does not do what the search saw.
    #[error("internal error: counterexample does not replay at step {step}")]
    DoesNotReplay {
        /// The position in the trace that could not be reached.
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

/// Replays `trace` with `model`, which may be another generator than the one it was found with.
///
/// It runs on a thread of its own with the stack that `options` ask for. After a search that was
/// interrupted, `stop` must be another flag than the one that was raised.
pub fn replay(
    model: &dyn Model,
    trace: &Trace,
    options: &Options,
    stop: &Stop,
) -> Result<Trace, TraceError> {
    std::thread::scope(|scope| {
        let replaying = std::thread::Builder::new()
            .stack_size(options.stack_bytes)
            .spawn_scoped(scope, || walk::replay(model, trace, stop))?;
        replaying
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

#[cfg(test)]
#[path = "../tests/parts/trace.rs"]
mod tests;
