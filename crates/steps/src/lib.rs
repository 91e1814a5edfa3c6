//! Steps that consist of several firings: from a state at rest to the next ones.
//!
//! A model may use the last bits of its states as *registers*
//! ([`Shape::register_bits`](hadal_model::Shape::register_bits)): who has exclusive control, which
//! half of a handshake is done. A state is *at rest* where all registers are 0, and *transient*
//! otherwise. [`Steps`] wraps such a model of *micro steps* and is the model that a search sees:
//!
//! - Its states are those at rest, without the registers.
//! - A successor of a state is a state at rest that micro steps lead to through transient states.
//!   A transient state where no rule is enabled comes to rest where it is: its registers are
//!   cleared. So a process loses exclusive control when it cannot continue.
//! - Each successor is delivered once, with the number of paths that lead to it as its
//!   [multiplicity](hadal_model::Successors::multiplicity) and the cost of the cheapest one as its
//!   cost. Rule and order are those of the path that is found first, breadth-first by micro steps.
//! - A [source](hadal_model::Source) has fired as often as there are paths to states at rest, and
//!   it meets the faults of all micro steps. Firings by rule are those of micro steps, each
//!   transient state of a source expanded once.
//! - An expander whose memory is [limited](hadal_model::Expander::limit_memory) stops at a step that
//!   passes through more transient states than fit, and any expander at one that passes through
//!   more than [`MAX_TRANSIENT_STATES`]. Such a step may end, so this is no fault.
//! - A cycle of transient states is a fault of the kind
//!   [`AtomicCycle`](hadal_model::FaultKind::AtomicCycle). Of paths around it, those are followed
//!   that enter no state which fewer micro steps lead to.
//!
//! The parts:
//! - `direct`: the first micro steps of many sources at once, and the sources whose steps these are;
//!   where the inner expander does not
//!   [write these in place](hadal_model::Expander::expand_at_rest).
//! - `walk`: the transient states of the other sources, level by level.
//! - `digest`: numbers by which equal states are found.
//! - `table`: finds out whether a source reached a state before.
//! - `recount`: paths and costs where levels do not tell them, and cycles.
//! - `expander`: the [`Expander`](hadal_model::Expander) on top.

mod digest;
mod direct;
mod expander;
mod recount;
mod table;
mod walk;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Deref;

use hadal_model::{Expander, Model, Shape, Step, Stop, Stopped};

use expander::{StepsExpander, least_bytes};

/// Transient states that one step may pass through, unless [`Steps::with_limit`] sets another
/// limit. The search stops at a step that passes through more, as it does where memory ends.
pub const MAX_TRANSIENT_STATES: usize = 1 << 24;

/// Bytes that these states may take, for one source.
pub const MAX_TRANSIENT_BYTES: usize = 1 << 31;

/// A model of micro steps as the model of its states at rest.
///
/// `P` points to the inner model: `&M`, `Box<dyn Model>`, `Arc<M>`. A reduction wraps this model,
/// not the inner one.
#[derive(Debug)]
pub struct Steps<P> {
    inner: P,
    shape: Shape,
    limit: usize,
    /// Leaves of the registers, which are described last.
    n_register_leaves: usize,
}

impl<P> Steps<P>
where
    P: Deref + Sync,
    P::Target: Model,
{
    /// Wraps `inner`.
    pub fn new(inner: P) -> Self {
        let fitting = MAX_TRANSIENT_BYTES / inner.shape().state_len.max(1);
        Steps::with_limit(inner, MAX_TRANSIENT_STATES.min(fitting))
    }

    /// Wraps `inner`; a step may pass through `limit` transient states.
    pub fn with_limit(inner: P, limit: usize) -> Self {
        let micro = inner.shape();
        let state_len = (micro.state_bits - micro.register_bits) / 8;
        let mut shape = micro.clone();
        shape
            .components
            .retain(|part| part.first_bit < 8 * state_len);
        let end = shape.components.last();
        shape.state_bits = end.map_or(8 * state_len, |part| part.first_bit + part.n_bits);
        shape.register_bits = 0;
        shape.state_len = state_len;
        shape.expander_bytes = micro.expander_bytes + least_bytes(micro);
        // A step that one rule begins may go on with any other.
        for rule in &mut shape.rules {
            rule.reads.insert(0, shape.state_bits);
            rule.writes.insert(0, shape.state_bits);
        }
        let is_register = |leaf: &(String, String)| {
            let root = leaf.0.split(['[', '.', '{']).next();
            let mut registers = micro.components[shape.components.len()..].iter();
            registers.any(|register| Some(register.name.as_str()) == root)
        };
        let leaves = inner.describe_state(&vec![0; micro.state_len]);
        let n_register_leaves = leaves.iter().rev().take_while(|it| is_register(it)).count();
        Steps {
            inner,
            shape,
            limit,
            n_register_leaves,
        }
    }

    /// The model of micro steps.
    pub fn inner(&self) -> &P {
        &self.inner
    }

    /// An expander of steps around one of the inner model.
    fn around<'a>(&'a self, inner: Box<dyn Expander + 'a>, stop: &'a Stop) -> StepsExpander<'a> {
        let micro = self.inner.shape();
        StepsExpander::new(inner, micro, &self.shape, self.limit, stop)
    }

    /// The state of the inner model that a state at rest stands for.
    fn extended(&self, state: &[u8]) -> Vec<u8> {
        let mut extended = state.to_vec();
        extended.resize(self.inner.shape().state_len, 0);
        extended
    }
}

impl<P> Model for Steps<P>
where
    P: Deref + Sync,
    P::Target: Model,
{
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn expander<'a>(&'a self, stop: &'a Stop) -> Box<dyn Expander + 'a> {
        Box::new(self.around(self.inner.expander(stop), stop))
    }

    fn reference_expander<'a>(&'a self, stop: &'a Stop) -> Box<dyn Expander + 'a> {
        Box::new(self.around(self.inner.reference_expander(stop), stop))
    }

    fn describe_state(&self, state: &[u8]) -> Vec<(String, String)> {
        let mut leaves = self.inner.describe_state(&self.extended(state));
        leaves.truncate(leaves.len() - self.n_register_leaves);
        leaves
    }

    fn describe_step(&self, parent: Option<&[u8]>, index: u32) -> Option<Step> {
        let found = self.reference_step(parent, index, &Stop::new());
        found.ok().flatten().map(|(step, _)| step)
    }

    /// The micro steps of the cheapest path, the first one found of several.
    fn reference_step(
        &self,
        parent: Option<&[u8]>,
        index: u32,
        stop: &Stop,
    ) -> Result<Option<(Step, Vec<u8>)>, Stopped> {
        let mut expander = self.around(self.inner.reference_expander(stop), stop);
        let Some((path, state)) = expander.cheapest_path(parent, index)? else {
            return Ok(None);
        };
        let mut steps = Vec::new();
        for (before, index) in path {
            // A path may be long, and each of its steps too short to poll the flag.
            if stop.is_raised() {
                return Err(Stopped);
            }
            match self.inner.reference_step(before.as_deref(), index, stop)? {
                Some((step, _)) => steps.push(step),
                None => return Ok(None),
            }
        }
        Ok(joined(steps).map(|step| (step, state)))
    }

    fn describe_steps(
        &self,
        parent: &[u8],
        stop: &Stop,
        each: &mut dyn FnMut(Step),
    ) -> Result<(), Stopped> {
        let mut expander = self.around(self.inner.reference_expander(stop), stop);
        // Paths share states: the parent, mostly, and nothing else.
        let mut described: HashMap<Option<Vec<u8>>, Vec<Step>> = HashMap::new();
        for path in expander.cheapest_paths(parent)? {
            let mut steps = Vec::with_capacity(path.len());
            for (before, index) in path {
                let known = match described.entry(before) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(place) => {
                        let mut all = Vec::new();
                        if let Some(state) = place.key() {
                            let mut push = |step| all.push(step);
                            self.inner.describe_steps(state, stop, &mut push)?;
                        }
                        place.insert(all)
                    }
                };
                match known.get(index as usize) {
                    Some(step) => steps.push(step.clone()),
                    None => return Ok(()),
                }
            }
            match joined(steps) {
                Some(step) => each(step),
                None => return Ok(()),
            }
        }
        Ok(())
    }
}

/// The step that consists of these; none if there are none.
fn joined(mut steps: Vec<Step>) -> Option<Step> {
    if steps.len() == 1 {
        return steps.pop();
    }
    let first = steps.first()?;
    Some(Step {
        rule: first.rule.clone(),
        parameters: first.parameters.clone(),
        output: steps.iter().flat_map(|step| step.output.clone()).collect(),
        inner: steps,
    })
}
