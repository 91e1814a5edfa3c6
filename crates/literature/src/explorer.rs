//! Makes successors, for every strategy, and counts what happens on the way.

use std::time::Instant;

use hadal_model::{Expander, Flow, Remark, Shape, States, Successors};
use hadal_search::strategy::{Halt, Kernel, Run, Totals};
use hadal_search::{Duplicates, Error};

use crate::evaluator::Evaluator;

/// Successors taken at once, where states are narrow.
const BUFFER_LEN: usize = 4096;
/// Bytes that states taken at once may have. The papers do not count them.
const AT_ONCE_BYTES: usize = 1 << 20;

/// Successors that are taken at once.
pub(crate) fn buffer_len(run: &Run<'_>) -> usize {
    (run.options.buffer_len).unwrap_or_else(|| most_states(run).min(BUFFER_LEN))
}

/// States that are expanded at once.
pub(crate) fn block_len(run: &Run<'_>) -> usize {
    run.options.block_len.clamp(1, most_states(run))
}

/// States taken at once; wide ones would take more than all else.
fn most_states(run: &Run<'_>) -> usize {
    (AT_ONCE_BYTES / run.shape.state_len.max(1)).clamp(1, 1 << 16)
}

/// The least memory of a strategy: successors that are taken at once, the block that they are made
/// of, and both again where states are canonicalised and evaluated. Tables follow the budget, and the
/// process is measured.
pub(crate) fn least_bytes(shape: &Shape) -> u64 {
    4 * AT_ONCE_BYTES.max(shape.state_len) as u64 + shape.expander_bytes
}

/// Makes successors.
pub(crate) struct Explorer<'a> {
    run: &'a Run<'a>,
    expander: Box<dyn Expander + 'a>,
    kernel: Kernel,
    most_candidates: Option<u64>,
    large_step: Option<Remark>,
    /// What was counted, but for duplicates and goals of states.
    pub(crate) totals: Totals,
    pub(crate) seconds: f64,
}

impl<'a> Explorer<'a> {
    pub(crate) fn new(run: &'a Run<'a>) -> Self {
        Explorer {
            expander: run.expander(),
            kernel: Kernel::new(run.shape, buffer_len(run)),
            most_candidates: None,
            large_step: None,
            totals: Totals::new(run.shape),
            seconds: 0.0,
            run,
        }
    }

    /// The same, with the multiplicities of steps.
    pub(crate) fn with_multiplicities(run: &'a Run<'a>) -> Self {
        Explorer {
            kernel: Kernel::new(run.shape, buffer_len(run)).with_multiplicities(),
            ..Explorer::new(run)
        }
    }

    /// Begins with a block of `n_sources` states.
    pub(crate) fn begin(&mut self, n_sources: usize) {
        self.kernel.begin(n_sources);
    }

    /// Makes the next successors of `block` (the startstates, if there is none), as
    /// representatives; false where there are no more. Then what is known about the sources is
    /// final, and has been counted.
    pub(crate) fn fill(&mut self, block: Option<States<'_>>) -> Result<bool, Halt> {
        if !self.kernel.is_full() {
            return Ok(false);
        }
        let since = Instant::now();
        self.kernel.expand(&mut *self.expander, block);
        if self.kernel.flow == Flow::Stopped {
            self.take_remarks()?;
            return Err(Halt::Stop(self.run.stop_reason()));
        }
        self.run.check_stop()?;
        self.kernel.canonicalise(&mut *self.expander, block);
        self.take_remarks()?;
        if !self.kernel.is_full() {
            self.count(block.is_some());
        }
        self.seconds += since.elapsed().as_secs_f64();
        Ok(true)
    }

    /// Whether all successors were made.
    pub(crate) fn is_done(&self) -> bool {
        self.kernel.flow == Flow::Done
    }

    /// What the last call of [`fill`](Self::fill) made.
    pub(crate) fn successors(&self) -> &Successors {
        &self.kernel.successors
    }

    /// What a person should know.
    pub(crate) fn remarks(&self) -> Vec<Remark> {
        let expensive = |candidates| Remark::ExpensiveCanonicalForm { candidates };
        let expensive = self.most_candidates.map(expensive);
        expensive
            .into_iter()
            .chain(self.large_step.clone())
            .collect()
    }

    fn count(&mut self, are_states: bool) {
        let successors = &self.kernel.successors;
        if !are_states {
            return self.totals.add_goals(successors.goal_hits());
        }
        self.totals.add_expansions(successors);
        let n_sources = successors.sources().len();
        self.run.note_expanded(n_sources, self.totals.transitions);
    }

    /// Keeps what a person should know; a broken symmetry ends the search.
    fn take_remarks(&mut self) -> Result<(), Error> {
        for remark in self.kernel.remarks.drain(..) {
            match remark {
                Remark::BrokenSymmetry { rule, message } => {
                    return Err(Error::BrokenSymmetry { rule, message });
                }
                Remark::AsymmetricStarts { message } => {
                    return Err(Error::AsymmetricStarts { message });
                }
                Remark::LargeStep { .. } => self.large_step = Some(remark),
                Remark::ExpensiveCanonicalForm { candidates } => {
                    self.most_candidates = self.most_candidates.max(Some(candidates));
                }
            }
        }
        Ok(())
    }
}

/// All counts so far.
pub(crate) fn totals(
    explorer: &Explorer<'_>,
    evaluator: &Evaluator<'_>,
    duplicates: Duplicates,
) -> Totals {
    let mut totals = explorer.totals.clone();
    totals.add_goals(&evaluator.totals.goals);
    totals.duplicates = duplicates;
    totals
}
