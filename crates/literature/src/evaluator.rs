//! Evaluates properties on new states. It has an expander of its own, so that it can do so while
//! successors of other states are looked up.

use std::time::Instant;

use hadal_model::{Expander, Flow, PAD_BYTES, States};
use hadal_search::Error;
use hadal_search::strategy::{Findings, Halt, Run, Totals, Verdicts};

use crate::explorer::Explorer;

/// Evaluates properties on new states.
pub(crate) struct Evaluator<'a> {
    run: &'a Run<'a>,
    expander: Box<dyn Expander + 'a>,
    verdicts: Verdicts,
    pub(crate) findings: Findings<'a>,
    /// How many states reach each goal; those that come again count again.
    pub(crate) totals: Totals,
    /// States that wait, and their number.
    pending: Vec<u8>,
    n_pending: usize,
    /// States evaluated, which is the ordinal of the first that waits.
    n_evaluated: u64,
    pub(crate) seconds: f64,
}

/// States evaluated at once.
const PENDING_LEN: usize = 1024;

impl<'a> Evaluator<'a> {
    pub(crate) fn new(run: &'a Run<'a>) -> Self {
        let options = run.options;
        Evaluator {
            expander: run.expander(),
            verdicts: Verdicts::new(run.shape),
            findings: Findings::new(run.shape, options.deadlock, options.max_errors),
            totals: Totals::new(run.shape),
            pending: Vec::new(),
            n_pending: 0,
            n_evaluated: 0,
            seconds: 0.0,
            run,
        }
    }

    /// Takes the state with the next ordinal, found at `depth`. Before one of another depth comes,
    /// [`evaluate_pending`](Self::evaluate_pending) must be called.
    pub(crate) fn add(&mut self, state: &[u8], depth: u32) -> Result<(), Halt> {
        self.pending.extend_from_slice(state);
        self.n_pending += 1;
        match self.n_pending {
            PENDING_LEN => self.evaluate_pending(depth),
            _ => Ok(()),
        }
    }

    /// Takes note of how the startstates were made, after all of them were. `n_states` of them were
    /// found to be new.
    pub(crate) fn add_starts(
        &mut self,
        explorer: &Explorer<'_>,
        n_states: u64,
    ) -> Result<(), Halt> {
        let source = &explorer.successors().sources()[0];
        match source.faults.first() {
            Some(fault) => self.findings.add_start_fault(n_states, fault),
            None if source.written == 0 => return Err(Halt::Failed(Error::NoStartstate)),
            None => {}
        }
        Ok(())
    }

    /// Accepts what was found, where there is no order to wait for.
    pub(crate) fn accept(&mut self) -> Result<(), Halt> {
        self.findings.end_rank();
        self.findings.begin_rank();
        self.findings.end_rank();
        match self.findings.is_full() {
            true => Err(Halt::Enough),
            false => Ok(()),
        }
    }

    /// Evaluates all states that wait.
    pub(crate) fn evaluate_pending(&mut self, depth: u32) -> Result<(), Halt> {
        if self.n_pending == 0 {
            return Ok(());
        }
        let since = Instant::now();
        self.pending.resize(self.pending.len() + PAD_BYTES, 0);
        let shape = self.run.shape;
        let block = States::new(&self.pending, shape.state_len, self.n_pending);
        let flow = self.verdicts.find(&mut *self.expander, shape, block);
        if flow == Flow::Stopped {
            return Err(Halt::Stop(self.run.stop_reason()));
        }
        self.totals.add_goals(&self.verdicts.goals);
        for failure in &self.verdicts.failures {
            let ordinal = self.n_evaluated + u64::from(failure.state);
            self.findings.add_failure(ordinal, depth, failure);
        }
        self.n_evaluated += self.n_pending as u64;
        self.pending.clear();
        self.n_pending = 0;
        self.seconds += since.elapsed().as_secs_f64();
        Ok(())
    }
}
