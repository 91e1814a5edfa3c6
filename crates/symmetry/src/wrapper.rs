//! The wrapper of a model: everything is the inner model's, and states have representatives.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use hadal_ir::Program;
use hadal_ir::interp::{Interpreter, Limits, OrderChecker, OrderChecks};
use hadal_model::{
    Allowance, Cursor, Expander, Failure, Fault, FaultKind, Flow, Model, PropertyKind, Remark,
    Shape, States, Step, Stop, Stopped, Successors, Unmeasured,
};

use crate::goals::GoalAction;
use crate::order::{Order, Rejection};
use crate::sample::Sampler;
use crate::{Canonicaliser, Scratch};

/// A state with more candidate arrangements than this is remarked on.
const MANY_CANDIDATES: u64 = 10_000;

/// A model whose states have representatives under the symmetry of its scalarsets.
///
/// `P` points to the inner model: `&M`, `Box<dyn Model>`, `Arc<M>`.
#[derive(Debug)]
pub struct Symmetric<P> {
    inner: P,
    canonicaliser: Canonicaliser,
    goals: GoalAction,
    /// The loops that are checked wherever they are reached, if there are any.
    unproved: Option<UnprovedLoops>,
    /// Whether the states nearest to the startstates have been checked, by the expander
    /// that wrote the startstates first.
    is_checked: AtomicBool,
}

/// Loops that are not proved independent of the order of elements.
#[derive(Debug)]
struct UnprovedLoops {
    interpreter: Interpreter,
    checks: OrderChecks,
    /// By loop, how often it was checked.
    checked_states: Vec<Arc<AtomicU64>>,
}

impl<P> Symmetric<P> {
    /// Wraps `inner`, whose states and goals are those of `program`.
    ///
    /// `order` establishes that it treats elements alike and must be [`Order::of`] the same
    /// program: what is not proved is checked while states are expanded; a dependence is a fault of
    /// the kind [`FaultKind::OrderDependence`]. A rejected model is not wrapped.
    pub fn new(
        inner: P,
        program: &Program,
        limits: Limits,
        order: &Order,
    ) -> Result<Self, Vec<Rejection>> {
        if !order.rejections.is_empty() {
            return Err(order.rejections.clone());
        }
        let mut symmetric = Symmetric::trusting(inner, program);
        if !order.checks.loops.is_empty() {
            let interpreter = Interpreter::new(program.clone(), limits);
            let checks = order.checks.clone();
            let checked_states = checks.loops.iter().map(|_| Arc::default()).collect();
            symmetric.unproved = Some(UnprovedLoops {
                interpreter,
                checks,
                checked_states,
            });
        }
        Ok(symmetric)
    }

    /// Wraps `inner`, whose states and goals are those of `program`, and trusts that it treats
    /// elements alike. Only a sample is checked.
    pub fn trusting(inner: P, program: &Program) -> Self {
        let canonicaliser = Canonicaliser::new(program);
        Symmetric {
            inner,
            goals: GoalAction::new(program, canonicaliser.action()),
            canonicaliser,
            unproved: None,
            is_checked: AtomicBool::new(false),
        }
    }

    /// By loop of [`Order::checks`], the number of states in which a search checked it so far;
    /// replays do not count.
    pub fn checked_states(&self) -> &[Arc<AtomicU64>] {
        match &self.unproved {
            Some(unproved) => &unproved.checked_states,
            None => &[],
        }
    }

    /// The canonicaliser of its states.
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
        let checked_states = self.checked_states();
        self.over(self.inner.expander(stop), stop, checked_states)
    }

    fn reference_expander<'a>(&'a self, stop: &'a Stop) -> Box<dyn Expander + 'a> {
        self.over(self.inner.reference_expander(stop), stop, &[])
    }

    fn describe_state(&self, state: &[u8]) -> Vec<(String, String)> {
        self.inner.describe_state(state)
    }

    fn describe_step(&self, parent: Option<&[u8]>, index: u32) -> Option<Step> {
        self.inner.describe_step(parent, index)
    }

    fn reference_step(
        &self,
        parent: Option<&[u8]>,
        index: u32,
        stop: &Stop,
    ) -> Result<Option<(Step, Vec<u8>)>, Stopped> {
        self.inner.reference_step(parent, index, stop)
    }

    fn describe_steps(
        &self,
        parent: &[u8],
        stop: &Stop,
        each: &mut dyn FnMut(Step),
    ) -> Result<(), Stopped> {
        self.inner.describe_steps(parent, stop, each)
    }
}

impl<P> Symmetric<P>
where
    P: Deref + Sync,
    P::Target: Model,
{
    /// Wraps an expander. Checks of loops are added to `checked_states`, or not counted if it is
    /// empty.
    fn over<'a>(
        &'a self,
        inner: Box<dyn Expander + 'a>,
        stop: &'a Stop,
        checked_states: &'a [Arc<AtomicU64>],
    ) -> Box<dyn Expander + 'a> {
        Box::new(SymmetricExpander {
            inner,
            stop,
            canonicaliser: &self.canonicaliser,
            goals: &self.goals,
            scratch: self.canonicaliser.scratch(),
            sampler: Sampler::new(self.inner.shape(), &self.canonicaliser),
            loop_checker: self.unproved.as_ref().map(|unproved| LoopChecker {
                checker: unproved.interpreter.order_checker(&unproved.checks, stop),
                shape: self.inner.shape(),
                checked_states,
            }),
            is_checked: &self.is_checked,
        })
    }
}

/// Checks loops for one expander.
pub(crate) struct LoopChecker<'a> {
    checker: OrderChecker<'a>,
    shape: &'a Shape,
    checked_states: &'a [Arc<AtomicU64>],
}

impl LoopChecker<'_> {
    /// A dependence on the order of elements in the expansion of a state.
    fn check_rules(&mut self, state: &[u8]) -> Result<Option<Fault>, Stopped> {
        let found = self.checker.check_rules(state);
        self.count();
        found
    }

    /// Dependences on the order of elements in the evaluation of invariants, or of goals.
    fn check_properties(
        &mut self,
        state: &[u8],
        invariants: bool,
    ) -> Result<Vec<(u32, Fault)>, Stopped> {
        let shape = self.shape;
        let found = self.checker.check_properties(state, |property| {
            let kind = shape.properties[property as usize].kind;
            (kind == PropertyKind::Invariant) == invariants
        });
        self.count();
        found
    }

    /// Whether anything depends on the order of elements at a state, or may since the check was
    /// stopped.
    pub(crate) fn is_dependent(&mut self, state: &[u8]) -> bool {
        let rules = self.checker.check_rules(state);
        let properties = self.checker.check_properties(state, |_| true);
        // The sample does not count.
        self.checker.take_evaluations();
        !matches!(rules, Ok(None)) || !properties.is_ok_and(|found| found.is_empty())
    }

    fn count(&mut self) {
        let new = self.checker.take_evaluations();
        for (sum, new) in self.checked_states.iter().zip(new) {
            // Counts states, however often one reaches the loop.
            sum.fetch_add(u64::from(new > 0), Ordering::Relaxed);
        }
    }

    /// Replaces failures of a block by the dependences found at the same states and properties.
    fn add_failures(
        &mut self,
        block: States<'_>,
        invariants: bool,
        failures: &mut Vec<Failure>,
    ) -> Result<(), Stopped> {
        for (position, state) in block.iter().enumerate() {
            for (property, fault) in self.check_properties(state, invariants)? {
                let state = position as u32;
                failures.retain(|it| (it.state, it.property) != (state, property));
                let at = failures.partition_point(|it| (it.state, it.property) < (state, property));
                failures.insert(
                    at,
                    Failure {
                        state,
                        property,
                        parameters: fault.parameters.clone(),
                        fault: Some(Box::new(fault)),
                    },
                );
            }
        }
        Ok(())
    }
}

struct SymmetricExpander<'a> {
    inner: Box<dyn Expander + 'a>,
    stop: &'a Stop,
    canonicaliser: &'a Canonicaliser,
    goals: &'a GoalAction,
    scratch: Scratch,
    sampler: Sampler<'a>,
    loop_checker: Option<LoopChecker<'a>>,
    is_checked: &'a AtomicBool,
}

impl SymmetricExpander<'_> {
    /// Expands a block whose loops are checked as well.
    fn expand_checked(
        &mut self,
        block: States<'_>,
        from: Cursor,
        out: &mut Successors,
    ) -> Result<Flow, Stopped> {
        let Some(loop_checker) = &mut self.loop_checker else {
            return Ok(self.inner.expand(block, from, out));
        };
        let mut found = Vec::new();
        if from == Cursor::default() {
            for (position, state) in block.iter().enumerate() {
                if let Some(fault) = loop_checker.check_rules(state)? {
                    found.push((position as u32, fault));
                }
            }
        }
        let flow = self.inner.expand(block, from, out);
        // A fault that depends on the order of elements must not be reported as one of the model,
        // even if another expander began the block.
        for position in from.state..block.len() as u32 {
            let faults = &out.sources()[position as usize].faults;
            let is_other = |fault: &Fault| fault.kind != FaultKind::OrderDependence;
            if faults.iter().any(is_other)
                && let Some(fault) = loop_checker.check_rules(block.get(position as usize))?
            {
                found.push((position, fault));
            }
        }
        for (position, fault) in found {
            out.replace_faults(position, fault);
        }
        Ok(flow)
    }
}

impl Expander for SymmetricExpander<'_> {
    fn starts(&mut self, from: Cursor, out: &mut Successors) -> Flow {
        if from == Cursor::default() && !self.is_checked.swap(true, Ordering::Relaxed) {
            self.sampler
                .check_first(&mut *self.inner, self.loop_checker.as_mut());
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
            self.sampler
                .check_block(&mut *self.inner, self.loop_checker.as_mut(), block);
        }
        match self.expand_checked(block, from, out) {
            Ok(flow) => flow,
            Err(Stopped) => Flow::Stopped,
        }
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
        // Where there is nothing to rename, goals keep their numbers.
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
        let n_before = failures.len();
        let mut flow = self.inner.check(block, failures);
        if let Some(loop_checker) = &mut self.loop_checker {
            let mut new = failures.split_off(n_before);
            if loop_checker.add_failures(block, true, &mut new) == Err(Stopped) {
                flow = Flow::Stopped;
            }
            failures.append(&mut new);
        }
        flow
    }

    fn reach_goals(
        &mut self,
        block: States<'_>,
        reached: &mut [u64],
        failures: &mut Vec<Failure>,
    ) -> Flow {
        let n_before = failures.len();
        let mut flow = self.inner.reach_goals(block, reached, failures);
        if let Some(loop_checker) = &mut self.loop_checker {
            let mut new = failures.split_off(n_before);
            if loop_checker.add_failures(block, false, &mut new) == Err(Stopped) {
                flow = Flow::Stopped;
            }
            failures.append(&mut new);
        }
        self.goals.spread_covers(reached, block.len());
        flow
    }

    /// The states are representatives. That a measure is the same at all states of an orbit is shown
    /// beforehand ([`Order::of_expression`]).
    fn measure(&mut self, block: States<'_>, values: &mut Vec<u32>) -> Result<Flow, Unmeasured> {
        self.inner.measure(block, values)
    }

    fn limit_memory(&mut self, more: Arc<Allowance>) {
        self.inner.limit_memory(more);
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

#[cfg(test)]
mod tests {
    use hadal_ir::interp::Limits;
    use hadal_model::PAD_BYTES;
    use hadal_murphi::{Options, compile};
    use hadal_syntax::Source;

    use super::*;

    /// Whether an odd number of processes ask does not depend on the order, but that is not proved.
    const MODEL: &str = "type Proc: scalarset(3);
var asked: array [Proc] of boolean; odd: boolean;
startstate odd := false; for p: Proc do asked[p] := true; end; end;
rule \"count\" odd := false; for p: Proc do if asked[p] then odd := !odd; end; end; end;";

    fn expand(mut expander: Box<dyn Expander + '_>, shape: &Shape) {
        let mut out = Successors::new(shape, 16);
        out.reset(1);
        expander.starts(Cursor::default(), &mut out);
        let mut state = out.state(0).to_vec();
        let state_len = state.len();
        state.resize(state_len + PAD_BYTES, 0);
        out.reset(1);
        expander.expand(
            States::new(&state, state_len, 1),
            Cursor::default(),
            &mut out,
        );
        assert_eq!(out.len(), 1);
    }

    #[test]
    fn checks_of_a_replay_are_not_counted() {
        let source = Source::new("test.m", MODEL).expect("it is short");
        let program = compile(&source, &Options::default()).program;
        let program = program.expect("the model is legal");
        let model = Interpreter::new(program.clone(), Limits::default());
        let order = Order::of(&model);
        let symmetric = Symmetric::new(&model, &program, Limits::default(), &order);
        let symmetric = symmetric.expect("nothing is rejected");
        let checked_states = || -> Vec<u64> {
            let counts = symmetric.checked_states().iter();
            counts.map(|n| n.load(Ordering::Relaxed)).collect()
        };
        let stop = Stop::new();
        expand(symmetric.expander(&stop), model.shape());
        assert_eq!(checked_states(), [1]);
        expand(symmetric.reference_expander(&stop), model.shape());
        assert_eq!(checked_states(), [1]);
    }
}
