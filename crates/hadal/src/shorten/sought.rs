//! A model in which one violation counts and no other.
//!
//! Whatever else a model does wrong leads nowhere, as in a search that continues behind violations.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hadal_model::{
    Allowance, Cursor, Expander, Failure, Fault, FaultKind, Flow, GoalKind, MeasureKind, Model,
    Remark, Shape, Source, States, Step, Stop, Stopped, Successors, Unmeasured,
};
use hadal_search::Deadlock;

use crate::LoadedModel;
use crate::record::ViolationRecord;

/// The violation that counts, as far as another state may have the same one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Aim {
    kind: String,
    name: String,
    /// Line and column of an assertion: a rule may have several.
    place: Option<String>,
}

impl Aim {
    pub(crate) fn of(violation: &ViolationRecord) -> Self {
        let is_assertion = violation.kind == FaultKind::Assertion.name();
        Aim {
            kind: violation.kind.clone(),
            name: violation.name.clone(),
            place: is_assertion.then(|| place(&violation.at).to_owned()),
        }
    }

    pub(crate) fn is_deadlock(&self) -> bool {
        self.kind == "deadlock"
    }

    /// Whether a violation of this kind and name is the one that counts.
    pub(crate) fn is(&self, kind: &str, name: &str, at: &str) -> bool {
        let is_claim = kind == FaultKind::Claim.name();
        let is_there = self.place.as_ref().is_none_or(|it| it == place(at));
        // A claim is violated by whichever of its rules.
        kind == self.kind && (is_claim || name == self.name) && is_there
    }

    fn counts_failure(&self, failure: &Failure, shape: &Shape) -> bool {
        let property = &shape.properties[failure.property as usize];
        let (kind, at) = match &failure.fault {
            Some(fault) => (fault.kind.name(), &fault.at),
            None => ("invariant", &property.at),
        };
        self.is(kind, &property.name, at)
    }

    fn counts_fault(&self, fault: &Fault) -> bool {
        self.is(fault.kind.name(), &fault.name, &fault.at)
    }
}

/// Line and column of a position; the file may have another name by now.
fn place(at: &str) -> &str {
    let mut colons = at.rmatch_indices(':').skip(1);
    colons.next().map_or(at, |(colon, _)| &at[colon + 1..])
}

/// A loaded model in which only the violations of an [`Aim`] are left.
pub(crate) struct SoughtModel {
    pub(crate) loaded: LoadedModel,
    is_cut: Arc<AtomicBool>,
}

impl SoughtModel {
    /// Of the model, or its product with a claim, that has a rule or property of this name.
    pub(crate) fn new(loaded: LoadedModel, aim: &Aim, name: &str) -> Self {
        let is_cut = Arc::new(AtomicBool::new(false));
        let cut = is_cut.clone();
        let loaded = loaded.map_model_of(name, |inner| Box::new(Sought::new(inner, aim, cut)));
        SoughtModel { loaded, is_cut }
    }

    /// Whether a step was left out that the model might have with other limits, on loops, recursion
    /// or processes.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut.load(Ordering::Relaxed)
    }

    /// Whether a step may cost something else than 1.
    pub(crate) fn has_costs(&self) -> bool {
        let shape = self.loaded.model.shape();
        let mut measures = shape.measures.iter();
        self.loaded.has_compound_steps
            || shape.rules.iter().any(|rule| rule.cost != 1)
            || measures.any(|it| it.kind == MeasureKind::Cost)
    }

    /// Whether states have an estimate.
    pub(crate) fn has_estimate(&self) -> bool {
        let mut measures = self.loaded.model.shape().measures.iter();
        measures.any(|it| matches!(it.kind, MeasureKind::Estimate { .. }))
    }
}

/// A model in which only the violations of an [`Aim`] are left.
struct Sought {
    inner: Box<dyn Model>,
    shape: Shape,
    aim: Aim,
    is_cut: Arc<AtomicBool>,
}

impl Sought {
    fn new(inner: Box<dyn Model>, aim: &Aim, is_cut: Arc<AtomicBool>) -> Self {
        let mut shape = inner.shape().clone();
        // Nobody asks what is reached from every state, which would take the whole graph.
        for goal in &mut shape.goals {
            if goal.kind == GoalKind::Liveness {
                goal.kind = GoalKind::CoverState;
            }
        }
        Sought {
            inner,
            shape,
            aim: aim.clone(),
            is_cut,
        }
    }

    /// Removes from `sources` what does not count.
    fn sift(&self, sources: &mut [Source]) {
        for source in sources.iter_mut().filter(|it| !it.faults.is_empty()) {
            source.faults.retain(|fault| {
                let is_limit = matches!(
                    fault.kind,
                    FaultKind::ProcessLimit | FaultKind::LoopLimit | FaultKind::CallLimit
                );
                let counts = self.aim.counts_fault(fault);
                if is_limit && !counts {
                    self.is_cut.store(true, Ordering::Relaxed);
                }
                // Behind an order dependence no reduction is sound, so no search goes on.
                counts || fault.kind == FaultKind::OrderDependence
            });
            // A state where some step failed is no deadlock.
            if source.faults.is_empty() {
                source.progress = true;
                source.fired = source.fired.max(1);
                source.enabled = source.enabled.max(1);
            }
        }
    }
}

impl Model for Sought {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn expander<'a>(&'a self, stop: &'a Stop) -> Box<dyn Expander + 'a> {
        Box::new(SoughtExpander {
            inner: self.inner.expander(stop),
            model: self,
        })
    }

    fn reference_expander<'a>(&'a self, stop: &'a Stop) -> Box<dyn Expander + 'a> {
        Box::new(SoughtExpander {
            inner: self.inner.reference_expander(stop),
            model: self,
        })
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

struct SoughtExpander<'a> {
    inner: Box<dyn Expander + 'a>,
    model: &'a Sought,
}

impl Expander for SoughtExpander<'_> {
    fn starts(&mut self, from: Cursor, out: &mut Successors) -> Flow {
        let flow = self.inner.starts(from, out);
        self.model.sift(out.columns().sources);
        flow
    }

    fn expand(&mut self, block: States<'_>, from: Cursor, out: &mut Successors) -> Flow {
        let flow = self.inner.expand(block, from, out);
        self.model.sift(out.columns().sources);
        flow
    }

    fn canonicalise(&mut self, states: &mut [u8]) {
        self.inner.canonicalise(states);
    }

    fn canonicalise_successors(&mut self, block: States<'_>, out: &mut Successors) {
        self.inner.canonicalise_successors(block, out);
    }

    fn canonicalise_with_goals(&mut self, states: &mut [u8], images: &mut Vec<u32>) {
        self.inner.canonicalise_with_goals(states, images);
    }

    fn check(&mut self, block: States<'_>, failures: &mut Vec<Failure>) -> Flow {
        let n_before = failures.len();
        let flow = self.inner.check(block, failures);
        let mut at = 0;
        failures.retain(|failure| {
            at += 1;
            at <= n_before || self.model.aim.counts_failure(failure, &self.model.shape)
        });
        flow
    }

    /// Goals are not asked for.
    fn reach_goals(&mut self, _: States<'_>, _: &mut [u64], _: &mut Vec<Failure>) -> Flow {
        Flow::Done
    }

    fn measure(&mut self, block: States<'_>, values: &mut Vec<u32>) -> Result<Flow, Unmeasured> {
        self.inner.measure(block, values)
    }

    fn limit_memory(&mut self, more: Arc<Allowance>) {
        self.inner.limit_memory(more);
    }

    fn take_remarks(&mut self) -> Vec<Remark> {
        self.inner.take_remarks()
    }
}

/// What counts as a deadlock, where one was reported with this message.
pub(crate) fn deadlock_mode(message: &str) -> Deadlock {
    let says = |text: &str| message.contains(text);
    if says("invalid end state") {
        Deadlock::EndStates
    } else if says("no rule is enabled") || says("no edge leaves") {
        Deadlock::Stuck
    } else {
        Deadlock::Stuttering
    }
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn a_place_is_line_and_column() {
        assert_eq!(place("a/b.m:12:5"), "12:5");
        assert_eq!(place("C:/b.m:12:5"), "12:5");
        assert_eq!(place(""), "");
        assert_eq!(place("b.m"), "b.m");
    }
}
