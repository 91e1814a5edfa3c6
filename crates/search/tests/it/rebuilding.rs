//! The trace of a violation is rebuilt by the reference generator, so that no state counts twice as
//! searched.

use std::sync::atomic::{AtomicU64, Ordering};

use hadal_model::{Cursor, Expander, Failure, Flow, Model, Shape, States, Step, Stop, Successors};
use hadal_search::{Auto, Options, Silent, check};
use hadal_testkit::graph::{Edge, Graph};

/// A graph that counts the states its searching expanders expand.
struct Counted {
    graph: Graph,
    n_expanded: AtomicU64,
}

struct CountedExpander<'a> {
    expander: Box<dyn Expander + 'a>,
    n_expanded: &'a AtomicU64,
}

impl Model for Counted {
    fn shape(&self) -> &Shape {
        self.graph.shape()
    }

    fn expander<'a>(&'a self, stop: &'a Stop) -> Box<dyn Expander + 'a> {
        Box::new(CountedExpander {
            expander: self.graph.expander(stop),
            n_expanded: &self.n_expanded,
        })
    }

    fn reference_expander<'a>(&'a self, stop: &'a Stop) -> Box<dyn Expander + 'a> {
        self.graph.expander(stop)
    }

    fn describe_state(&self, state: &[u8]) -> Vec<(String, String)> {
        self.graph.describe_state(state)
    }

    fn describe_step(&self, parent: Option<&[u8]>, index: u32) -> Option<Step> {
        self.graph.describe_step(parent, index)
    }
}

impl Expander for CountedExpander<'_> {
    fn starts(&mut self, from: Cursor, out: &mut Successors) -> Flow {
        self.expander.starts(from, out)
    }

    fn expand(&mut self, block: States<'_>, from: Cursor, out: &mut Successors) -> Flow {
        self.n_expanded
            .fetch_add(block.len() as u64, Ordering::Relaxed);
        self.expander.expand(block, from, out)
    }

    fn check(&mut self, block: States<'_>, failures: &mut Vec<Failure>) -> Flow {
        self.expander.check(block, failures)
    }
}

#[test]
fn states_on_a_path_are_not_searched_again() {
    let nodes = (0..10).map(|node| vec![Edge::to((node + 1) % 10, 0)]);
    let mut graph = Graph::new(2, &[0], nodes.collect());
    graph.fail(&[(9, false)]);
    let counted = Counted {
        graph,
        n_expanded: AtomicU64::new(0),
    };
    let options = Options::default();
    let outcome = check(&counted, &Auto, &options, None, &Stop::new(), &mut Silent);
    let outcome = outcome.expect("the search has an outcome");
    let trace = outcome.violations[0].trace.as_ref().expect("a trace");
    assert_eq!(trace.depth(), 9);
    assert_eq!(outcome.visited, 9);
    assert_eq!(counted.n_expanded.into_inner(), 9);
}
