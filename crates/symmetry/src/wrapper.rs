//! A model seen through its symmetry: everything is the inner model's, and states have
//! representatives.

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};

use hadal_ir::Program;
use hadal_model::{
    Cursor, Expander, Failure, Flow, Model, Remark, Shape, States, Step, Stop, Successors,
};

use crate::goals::GoalAction;
use crate::sample::Sampler;
use crate::{Canonicaliser, Scratch};

/// A state with more candidate arrangements than this is worth a remark.
const MANY_CANDIDATES: u64 = 10_000;

/// A model whose states have representatives under the symmetry of its scalarsets.
///
/// `P` points to the inner model: `&M`, `Box<dyn Model>`, `Arc<M>`.
#[derive(Debug)]
pub struct Symmetric<P> {
    inner: P,
    canonicaliser: Canonicaliser,
    goals: GoalAction,
    /// Whether the states nearest to the startstates have been checked, by whichever expander
    /// wrote the startstates first.
    is_checked: AtomicBool,
}

impl<P> Symmetric<P> {
    /// Wraps `inner`, whose states and goals are those of `program`.
    pub fn new(inner: P, program: &Program) -> Self {
        let canonicaliser = Canonicaliser::new(program);
        Symmetric {
            inner,
            goals: GoalAction::new(program, canonicaliser.action()),
            canonicaliser,
            is_checked: AtomicBool::new(false),
        }
    }

    /// What finds the representatives.
    pub fn canonicaliser(&self) -> &Canonicaliser {
        &self.canonicaliser
    }

    /// The model inside.
    pub fn inner(&self) -> &P {
        &self.inner
    }
}

impl<P> Model for Symmetric<P>
where
    P: Deref + Sync,
    P::Target: Model,
{
    fn shape(&self) -> &Shape {
        self.inner.shape()
    }

    fn expander<'a>(&'a self, stop: &'a Stop) -> Box<dyn Expander + 'a> {
        self.over(self.inner.expander(stop), stop)
    }

    fn reference_expander<'a>(&'a self, stop: &'a Stop) -> Box<dyn Expander + 'a> {
        self.over(self.inner.reference_expander(stop), stop)
    }

    fn describe_state(&self, state: &[u8]) -> Vec<(String, String)> {
        self.inner.describe_state(state)
    }

    fn describe_step(&self, parent: Option<&[u8]>, index: u32) -> Option<Step> {
        self.inner.describe_step(parent, index)
    }
}

impl<P> Symmetric<P>
where
    P: Deref + Sync,
    P::Target: Model,
{
    /// Brings what an expander makes into canonical form.
    fn over<'a>(&'a self, inner: Box<dyn Expander + 'a>, stop: &'a Stop) -> Box<dyn Expander + 'a> {
        Box::new(SymmetricExpander {
            inner,
            stop,
            canonicaliser: &self.canonicaliser,
            goals: &self.goals,
            scratch: self.canonicaliser.scratch(),
            sampler: Sampler::new(self.inner.shape(), &self.canonicaliser),
            is_checked: &self.is_checked,
        })
    }
}

struct SymmetricExpander<'a> {
    inner: Box<dyn Expander + 'a>,
    stop: &'a Stop,
    canonicaliser: &'a Canonicaliser,
    goals: &'a GoalAction,
    scratch: Scratch,
    sampler: Sampler<'a>,
    is_checked: &'a AtomicBool,
}

impl Expander for SymmetricExpander<'_> {
    fn starts(&mut self, from: Cursor, out: &mut Successors) -> Flow {
        if from == Cursor::default() && !self.is_checked.swap(true, Ordering::Relaxed) {
            self.sampler.check_first(&mut *self.inner);
            if self.goals.needs_symmetric_starts() {
                self.sampler
                    .check_starts(&mut *self.inner, self.goals.scalarsets());
            }
        }
        self.inner.starts(from, out)
    }

    fn expand(&mut self, block: States<'_>, from: Cursor, out: &mut Successors) -> Flow {
        // At the beginning of a block only, so that no state is checked twice.
        if from == Cursor::default() {
            self.sampler.check_block(&mut *self.inner, block);
        }
        self.inner.expand(block, from, out)
    }

    fn canonicalise(&mut self, states: &mut [u8]) {
        let state_len = self.canonicaliser.state_len();
        if state_len == 0 {
            return;
        }
        for state in states.chunks_exact_mut(state_len) {
            self.canonicaliser
                .canonicalise_until(self.stop, state, &mut self.scratch);
        }
    }

    fn canonicalise_successors(&mut self, block: States<'_>, out: &mut Successors) {
        let columns = out.columns();
        self.canonicaliser.canonicalise_successors(
            self.stop,
            block,
            &columns.sources_of[..columns.len],
            columns.states,
            &mut self.scratch,
        );
    }

    fn canonicalise_with_goals(&mut self, states: &mut [u8], images: &mut Vec<u32>) {
        images.clear();
        let state_len = self.canonicaliser.state_len();
        // Where there is nothing to rename, any names will do, those that are there among them.
        if state_len == 0 || self.canonicaliser.is_trivial() || !self.goals.moves() {
            return self.canonicalise(states);
        }
        let mut moves = false;
        for state in states.chunks_exact_mut(state_len) {
            let renaming = self.canonicaliser.canonicalise_with_renaming_of(
                self.goals.scalarsets(),
                self.stop,
                state,
                &mut self.scratch,
            );
            moves |= self
                .goals
                .append_images(self.canonicaliser.action(), &renaming, images);
        }
        if !moves {
            images.clear();
        }
    }

    fn check(&mut self, block: States<'_>, failures: &mut Vec<Failure>) -> Flow {
        self.inner.check(block, failures)
    }

    fn reach_goals(
        &mut self,
        block: States<'_>,
        reached: &mut [u64],
        failures: &mut Vec<Failure>,
    ) -> Flow {
        let flow = self.inner.reach_goals(block, reached, failures);
        self.goals.spread_covers(reached, block.len());
        flow
    }

    fn take_remarks(&mut self) -> Vec<Remark> {
        let mut remarks = self.inner.take_remarks();
        remarks.extend(self.sampler.take_finding());
        let candidates = self.scratch.take_worst();
        if candidates > MANY_CANDIDATES {
            remarks.push(Remark::ExpensiveCanonicalForm { candidates });
        }
        remarks
    }
}
