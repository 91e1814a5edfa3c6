//! A model with a goal in place of its properties.
//!
//! To every generator the goal is an invariant that it is false, the only one. What it is to people
//! stands in the shape: a [goal](PropertyKind::Goal), which is reached or not.

use hadal_model::{Expander, Model, PropertyKind, Shape, Step, Stop, Stopped};

/// Calls the invariant of the inner model what it is; all else is the inner model's.
pub(crate) struct GoalModel {
    inner: Box<dyn Model>,
    shape: Shape,
}

impl GoalModel {
    pub(crate) fn new(inner: Box<dyn Model>) -> Self {
        let mut shape = inner.shape().clone();
        for property in &mut shape.properties {
            property.kind = PropertyKind::Goal;
        }
        GoalModel { inner, shape }
    }
}

impl Model for GoalModel {
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
