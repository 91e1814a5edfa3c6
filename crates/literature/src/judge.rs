//! Evaluates properties on new states. It has an expander of its own, so that states can be judged
//! while successors of others are looked up.

use std::time::Instant;

use hadal_model::{Expander, Flow, PAD_BYTES, States};
use hadal_search::Error;
use hadal_search::strategy::{Findings, Halt, Run, Totals, Verdicts};

use crate::explorer::Explorer;

/// Evaluates properties on new states.
pub(crate) struct Judge<'a> {
    run: &'a Run<'a>,
    expander: Box<dyn Expander + 'a>,
    verdicts: Verdicts,
    pub(crate) findings: Findings<'a>,
    /// How many states reach each goal; those that come again count again.
    pub(crate) totals: Totals,
    /// States that were not judged yet, and the ordinal of the first.
    fresh: Vec<u8>,
    n_fresh: usize,
    n_judged: u64,
    pub(crate) seconds: f64,
}

/// States judged at once.
const FRESH_LEN: usize = 1024;

impl<'a> Judge<'a> {
    pub(crate) fn new(run: &'a Run<'a>) -> Self {
        let options = run.options;
        Judge {
            expander: run.model.expander(run.stop()),
            verdicts: Verdicts::new(run.shape),
            findings: Findings::new(run.shape, options.deadlock, options.max_errors),
            totals: Totals::new(run.shape),
            fresh: Vec::new(),
            n_fresh: 0,
            n_judged: 0,
            seconds: 0.0,
            run,
        }
    }

    /// Takes the state with the next ordinal, found at `depth`; it is judged before one of another
    /// depth comes, if [`settle`](Self::settle) is called in between.
    pub(crate) fn add(&mut self, state: &[u8], depth: u32) -> Result<(), Halt> {
        self.fresh.extend_from_slice(state);
        self.n_fresh += 1;
        match self.n_fresh {
            FRESH_LEN => self.settle(depth),
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

    /// Judges all states that were added.
    pub(crate) fn settle(&mut self, depth: u32) -> Result<(), Halt> {
        if self.n_fresh == 0 {
            return Ok(());
        }
        let since = Instant::now();
        self.fresh.resize(self.fresh.len() + PAD_BYTES, 0);
        let shape = self.run.shape;
        let block = States::new(&self.fresh, shape.state_len, self.n_fresh);
        let flow = self.verdicts.find(&mut *self.expander, shape, block);
        if flow == Flow::Stopped {
            return Err(Halt::Stop(self.run.stop_reason()));
        }
        self.totals.add_goals(&self.verdicts.goals);
        for failure in &self.verdicts.failures {
            let ordinal = self.n_judged + u64::from(failure.state);
            self.findings.add_failure(ordinal, depth, failure);
        }
        self.n_judged += self.n_fresh as u64;
        self.fresh.clear();
        self.n_fresh = 0;
        self.seconds += since.elapsed().as_secs_f64();
        Ok(())
    }
}
