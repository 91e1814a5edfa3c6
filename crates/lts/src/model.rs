//! A graph as a [`Model`]: every search and strategy runs on files of others.
//!
//! A state is its number, most significant byte first, in as many bytes as the numbers need. A rule
//! is a label, and the successors of a state are its edges in order.

use std::path::Path;
use std::sync::{Mutex, OnceLock};

use hadal_model::{
    Component, Cursor, Expander, Failure, Flow, Model, Rule, Shape, States, Step, Stop, Successors,
};

use crate::hlts::{BlockCache, Hlts, Walker};
use crate::parallel::lock;
use crate::{Edge, Error, Resources};

/// A graph as a model. Its edges stay in the file; blocks that were read are shared by all
/// expanders, up to a number of bytes.
///
/// Reading may fail in the middle of a search. The expander then requests a stop, and
/// [`failure`](Self::failure) has the reason: a search that ends early should ask for it.
pub struct GraphModel {
    graph: Hlts,
    cache: BlockCache,
    shape: Shape,
    failure: OnceLock<Error>,
    /// For descriptions of steps, which have no expander.
    scratch: Mutex<Vec<Edge>>,
}

impl GraphModel {
    /// The model of `graph`, whose decoded blocks may take `cache_bytes`.
    pub fn new(graph: Hlts, cache_bytes: u64) -> Self {
        let counts = graph.counts();
        let state_len = len_of(counts.n_states);
        let rules = graph.labels().iter().map(|label| Rule {
            name: String::from_utf8_lossy(label).into_owned(),
            ..Rule::default()
        });
        let shape = Shape {
            state_bits: 8 * state_len,
            state_len,
            components: vec![Component {
                name: "state".to_owned(),
                first_bit: 0,
                n_bits: 8 * state_len,
            }],
            rules: rules.collect(),
            ..Shape::default()
        };
        GraphModel {
            graph,
            cache: BlockCache::new(cache_bytes),
            shape,
            failure: OnceLock::new(),
            scratch: Mutex::default(),
        }
    }

    /// Opens a file as a model.
    pub fn open(path: &Path, resources: &Resources<'_>) -> Result<Self, Error> {
        let graph = crate::open(path, resources)?;
        Ok(Self::new(graph, resources.cache_bytes()))
    }

    /// The graph.
    pub fn graph(&self) -> &Hlts {
        &self.graph
    }

    /// Why the file could not be read, if it could not.
    pub fn failure(&self) -> Option<&Error> {
        self.failure.get()
    }

    /// The number that a state is.
    pub fn decode(&self, state: &[u8]) -> u64 {
        let bytes = state.iter().take(self.shape.state_len);
        bytes.fold(0, |number, &byte| number << 8 | u64::from(byte))
    }

    /// The state of a number.
    pub fn encode(&self, number: u64) -> Vec<u8> {
        number.to_be_bytes()[8 - self.shape.state_len..].to_vec()
    }

    /// Remembers why reading failed, and stops the search.
    fn fail(&self, error: Error, stop: &Stop) -> Flow {
        let _ = self.failure.set(error);
        stop.raise();
        Flow::Stopped
    }
}

/// Bytes that the numbers below `n` need.
fn len_of(n: u64) -> usize {
    let bits = 64 - n.saturating_sub(1).leading_zeros();
    bits.div_ceil(8).max(1) as usize
}

impl Model for GraphModel {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn expander<'a>(&'a self, stop: &'a Stop) -> Box<dyn Expander + 'a> {
        Box::new(GraphExpander {
            model: self,
            stop,
            walker: Walker::new(&self.graph, &self.cache),
            edges: Vec::new(),
            source: None,
        })
    }

    fn describe_state(&self, state: &[u8]) -> Vec<(String, String)> {
        vec![("state".to_owned(), self.decode(state).to_string())]
    }

    fn describe_step(&self, parent: Option<&[u8]>, index: u32) -> Option<Step> {
        let rule = match parent {
            None if index == 0 => "start".to_owned(),
            None => return None,
            Some(parent) => {
                let mut edges = lock(&self.scratch);
                let mut walker = Walker::new(&self.graph, &self.cache);
                let read = walker.successors(self.decode(parent), &mut edges);
                if let Err(error) = read {
                    let _ = self.failure.set(error);
                    return None;
                }
                let edge = edges.get(index as usize)?;
                self.graph.labels().text(edge.label).into_owned()
            }
        };
        Some(Step {
            rule,
            ..Step::default()
        })
    }
}

struct GraphExpander<'a> {
    model: &'a GraphModel,
    stop: &'a Stop,
    walker: Walker<'a>,
    /// The edges of `source`, which an expansion that was interrupted continues.
    edges: Vec<Edge>,
    source: Option<u64>,
}

impl Expander for GraphExpander<'_> {
    fn starts(&mut self, from: Cursor, out: &mut Successors) -> Flow {
        if from.inner == 0 {
            if out.is_full() {
                return Flow::Full(from);
            }
            let initial = self.model.graph.counts().initial;
            out.push(0, 0, &self.model.encode(initial));
        }
        Flow::Done
    }

    fn expand(&mut self, block: States<'_>, from: Cursor, out: &mut Successors) -> Flow {
        let state_len = self.model.shape.state_len;
        let mut inner = from.inner as usize;
        for source in from.state..block.len() as u32 {
            if self.stop.is_raised() {
                return Flow::Stopped;
            }
            let number = self.model.decode(block.get(source as usize));
            if self.source != Some(number) {
                if let Err(error) = self.walker.successors(number, &mut self.edges) {
                    return self.model.fail(error, self.stop);
                }
                self.source = Some(number);
            }
            for (at, edge) in self.edges.iter().enumerate().skip(inner) {
                if out.is_full() {
                    return Flow::Full(Cursor {
                        state: source,
                        inner: at as u64,
                        ..Cursor::default()
                    });
                }
                let progress = edge.target != number;
                out.count_enabled(source);
                out.count_firing(source, edge.label, progress);
                out.push(
                    source,
                    edge.label,
                    &edge.target.to_be_bytes()[8 - state_len..],
                );
                if edge.multiplicity > 1 {
                    out.count_paths(source, edge.multiplicity - 1, progress);
                    out.set_multiplicity(edge.multiplicity);
                }
            }
            inner = 0;
        }
        Flow::Done
    }

    fn check(&mut self, _block: States<'_>, _failures: &mut Vec<Failure>) -> Flow {
        Flow::Done
    }
}
