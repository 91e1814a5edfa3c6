//! A graph as a model that others have a hold of as well: what went wrong while it was read is asked
//! after the search, of the graph itself.

use std::sync::Arc;

use hadal_lts::GraphModel;
use hadal_model::{Expander, Model, Shape, Step, Stop};

/// A graph that is shared.
pub(crate) struct SharedGraph(pub(crate) Arc<GraphModel>);

impl Model for SharedGraph {
    fn shape(&self) -> &Shape {
        self.0.shape()
    }

    fn expander<'a>(&'a self, stop: &'a Stop) -> Box<dyn Expander + 'a> {
        self.0.expander(stop)
    }

    fn describe_state(&self, state: &[u8]) -> Vec<(String, String)> {
        self.0.describe_state(state)
    }

    fn describe_step(&self, parent: Option<&[u8]>, index: u32) -> Option<Step> {
        self.0.describe_step(parent, index)
    }
}
