//! Models whose states and steps have the names of their language.
//!
//! Names belong to single firings, each in the state where it begins: a process that the same step
//! creates has a pid there, and the message of a rendezvous its values. So [`NamedModel`] is below
//! what makes steps of several firings, and [`WholeModel`] above.

use std::sync::Arc;

use hadal_model::{Expander, Model, Property, Shape, Step, Stop, Stopped};

use crate::language::Naming;

/// Renames what people see of states and firings; all else is the inner model's.
pub(crate) struct NamedModel {
    pub(crate) inner: Box<dyn Model>,
    pub(crate) naming: Arc<dyn Naming>,
}

impl NamedModel {
    fn named(&self, parent: Option<&[u8]>, step: Step) -> Step {
        let leaves = parent.map_or(Vec::new(), |parent| self.inner.describe_state(parent));
        self.naming.step(step, &leaves)
    }
}

impl Model for NamedModel {
    fn shape(&self) -> &Shape {
        self.inner.shape()
    }

    fn expander<'a>(&'a self, stop: &'a Stop) -> Box<dyn Expander + 'a> {
        self.inner.expander(stop)
    }

    fn reference_expander<'a>(&'a self, stop: &'a Stop) -> Box<dyn Expander + 'a> {
        self.inner.reference_expander(stop)
    }

    fn describe_state(&self, state: &[u8]) -> Vec<(String, String)> {
        self.naming.state(self.inner.describe_state(state))
    }

    fn describe_step(&self, parent: Option<&[u8]>, index: u32) -> Option<Step> {
        let step = self.inner.describe_step(parent, index)?;
        Some(self.named(parent, step))
    }

    fn reference_step(
        &self,
        parent: Option<&[u8]>,
        index: u32,
        stop: &Stop,
    ) -> Result<Option<(Step, Vec<u8>)>, Stopped> {
        let found = self.inner.reference_step(parent, index, stop)?;
        Ok(found.map(|(step, state)| (self.named(parent, step), state)))
    }

    fn describe_steps(
        &self,
        parent: &[u8],
        stop: &Stop,
        each: &mut dyn FnMut(Step),
    ) -> Result<(), Stopped> {
        let leaves = self.inner.describe_state(parent);
        let mut named = |step| each(self.naming.step(step, &leaves));
        self.inner.describe_steps(parent, stop, &mut named)
    }
}

/// A model with the claims of its language, whose steps are shown as that wants it.
pub(crate) struct WholeModel {
    inner: Box<dyn Model>,
    shape: Shape,
    naming: Arc<dyn Naming>,
}

impl WholeModel {
    pub(crate) fn new(
        inner: Box<dyn Model>,
        naming: Arc<dyn Naming>,
        claims: Vec<Property>,
    ) -> Self {
        let mut shape = inner.shape().clone();
        // Behind the others, which are known by their numbers.
        shape.properties.extend(claims);
        WholeModel {
            inner,
            shape,
            naming,
        }
    }
}

impl Model for WholeModel {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn expander<'a>(&'a self, stop: &'a Stop) -> Box<dyn Expander + 'a> {
        self.inner.expander(stop)
    }

    fn reference_expander<'a>(&'a self, stop: &'a Stop) -> Box<dyn Expander + 'a> {
        self.inner.reference_expander(stop)
    }

    fn describe_state(&self, state: &[u8]) -> Vec<(String, String)> {
        self.inner.describe_state(state)
    }

    fn describe_step(&self, parent: Option<&[u8]>, index: u32) -> Option<Step> {
        let step = self.inner.describe_step(parent, index)?;
        Some(self.naming.whole_step(step))
    }

    fn reference_step(
        &self,
        parent: Option<&[u8]>,
        index: u32,
        stop: &Stop,
    ) -> Result<Option<(Step, Vec<u8>)>, Stopped> {
        let found = self.inner.reference_step(parent, index, stop)?;
        Ok(found.map(|(step, state)| (self.naming.whole_step(step), state)))
    }

    fn describe_steps(
        &self,
        parent: &[u8],
        stop: &Stop,
        each: &mut dyn FnMut(Step),
    ) -> Result<(), Stopped> {
        let mut named = |step| each(self.naming.whole_step(step));
        self.inner.describe_steps(parent, stop, &mut named)
    }
}
