//! A graph as a [`Model`]: every search and strategy runs on files of others.
//!
//! A state is its number, most significant byte first, in as many bytes as the numbers need. A rule
//! is a label, and the successors of a state are its edges in order. An expander holds a place in the
//! file and one block, so a state with a billion edges needs no more memory than any other.

use std::path::Path;
use std::sync::OnceLock;

use hadal_model::{
    Component, Cursor, Expander, Failure, Flow, Measure, MeasureKind, Model, Property,
    PropertyKind, Rule, Shape, States, Step, Stop, Successors, Unmeasured,
};

use crate::goal::{Goal, LabelsThere};
use crate::hlts::{BlockCache, Hlts, Place, Walker};
use crate::{Error, Resources};

/// A graph as a model. Its edges stay in the file; blocks that were read are shared by all
/// expanders, up to a number of bytes.
///
/// Reading may fail in the middle of a search. The expander then requests a stop, and
/// [`failure`](Self::failure) has the reason: a search that ends early should ask for it.
pub struct GraphModel {
    graph: Hlts,
    cache: BlockCache,
    shape: Shape,
    goal: Option<Goal>,
    /// Whether the estimate, if there is one, is 1 where the goal does not hold; else it is 0.
    estimates_goal: bool,
    failure: OnceLock<Error>,
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
            goal: None,
            estimates_goal: false,
            failure: OnceLock::new(),
        }
    }

    /// Opens a file as a model.
    pub fn open(path: &Path, resources: &Resources<'_>) -> Result<Self, Error> {
        let graph = crate::open(path, resources)?;
        Ok(Self::new(graph, resources.cache_bytes()))
    }

    /// The same with a goal, its only property: a state fails where the goal holds.
    pub fn looking_for(
        mut self,
        goal: Goal,
        name: impl Into<String>,
        at: impl Into<String>,
    ) -> Self {
        self.shape.properties = vec![Property {
            kind: PropertyKind::Goal,
            name: name.into(),
            at: at.into(),
        }];
        self.goal = Some(goal);
        self
    }

    /// The same with an estimate for directed searches, which is never too high. Of a graph nothing
    /// is known but whether the goal holds, `by_goal`, or not even that.
    pub fn estimating(mut self, name: impl Into<String>, by_goal: bool) -> Self {
        self.shape.measures = vec![Measure {
            kind: MeasureKind::Estimate {
                is_admissible: true,
            },
            name: name.into(),
        }];
        self.estimates_goal = by_goal;
        self
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

    /// The label of an edge by its position among those of its source.
    fn label_at(&self, source: u64, index: u32) -> Result<Option<u32>, Error> {
        let mut walker = Walker::new(&self.graph, &self.cache);
        let mut place = walker.first(source)?;
        for _ in 0..index {
            if walker.next(source, &mut place)?.is_none() {
                return Ok(None);
            }
        }
        Ok(walker.next(source, &mut place)?.map(|edge| edge.label))
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
            next: None,
            labels: LabelsThere::default(),
        })
    }

    fn describe_state(&self, state: &[u8]) -> Vec<(String, String)> {
        vec![("state".to_owned(), self.decode(state).to_string())]
    }

    fn describe_step(&self, parent: Option<&[u8]>, index: u32) -> Option<Step> {
        let rule = match parent {
            None if index == 0 => "initial state".to_owned(),
            None => return None,
            Some(parent) => match self.label_at(self.decode(parent), index) {
                Ok(label) => self.graph.labels().text(label?).into_owned(),
                Err(error) => {
                    let _ = self.failure.set(error);
                    return None;
                }
            },
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
    /// Where an expansion that was interrupted continues: the source, the number of its edges that
    /// were taken, and the place of the next one.
    next: Option<(u64, u64, Place)>,
    labels: LabelsThere,
}

impl GraphExpander<'_> {
    /// Whether the goal, if there is one, holds in a state; else how the expansion ends.
    fn is_goal(&mut self, state: &[u8]) -> Result<bool, Flow> {
        if self.stop.is_raised() {
            return Err(Flow::Stopped);
        }
        let Some(goal) = &self.model.goal else {
            return Ok(false);
        };
        let state = self.model.decode(state);
        let holds = goal.holds(state, &mut self.walker, &mut self.labels);
        holds.map_err(|error| self.model.fail(error, self.stop))
    }

    /// The place of an edge of `source`, by its number.
    fn place(&mut self, source: u64, number: u64) -> Result<Place, Error> {
        if let Some((at_source, at_number, place)) = self.next.take()
            && (at_source, at_number) == (source, number)
        {
            return Ok(place);
        }
        let mut place = self.walker.first(source)?;
        for _ in 0..number {
            self.walker.next(source, &mut place)?;
        }
        Ok(place)
    }

    /// Writes the edges of the state at a position of its block, from `inner` on.
    fn expand_one(
        &mut self,
        (position, source): (u32, u64),
        mut inner: u64,
        out: &mut Successors,
    ) -> Result<Flow, Error> {
        let state_len = self.model.shape.state_len;
        let mut place = self.place(source, inner)?;
        loop {
            let before = place;
            let Some(edge) = self.walker.next(source, &mut place)? else {
                return Ok(Flow::Done);
            };
            if out.is_full() {
                self.next = Some((source, inner, before));
                return Ok(Flow::Full(Cursor {
                    state: position,
                    inner,
                    ..Cursor::default()
                }));
            }
            let progress = edge.target != source;
            out.count_enabled(position);
            out.count_firing(position, edge.label, progress);
            out.push(
                position,
                edge.label,
                &edge.target.to_be_bytes()[8 - state_len..],
            );
            if edge.multiplicity > 1 {
                out.count_paths(position, edge.multiplicity - 1, progress);
                out.set_multiplicity(edge.multiplicity);
            }
            inner += 1;
            // A state may have a billion edges.
            if inner.is_multiple_of(1 << 16) && self.stop.is_raised() {
                return Ok(Flow::Stopped);
            }
        }
    }
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
        let mut inner = from.inner;
        for position in from.state..block.len() as u32 {
            if self.stop.is_raised() {
                return Flow::Stopped;
            }
            let source = self.model.decode(block.get(position as usize));
            match self.expand_one((position, source), inner, out) {
                Ok(Flow::Done) => inner = 0,
                Ok(flow) => return flow,
                Err(error) => return self.model.fail(error, self.stop),
            }
        }
        Flow::Done
    }

    fn check(&mut self, block: States<'_>, failures: &mut Vec<Failure>) -> Flow {
        if self.model.goal.is_none() {
            return Flow::Done;
        }
        for position in 0..block.len() as u32 {
            match self.is_goal(block.get(position as usize)) {
                Ok(false) => {}
                Ok(true) => failures.push(Failure {
                    state: position,
                    property: 0,
                    parameters: Vec::new(),
                    fault: None,
                }),
                Err(flow) => return flow,
            }
        }
        Flow::Done
    }

    fn measure(&mut self, block: States<'_>, values: &mut Vec<u32>) -> Result<Flow, Unmeasured> {
        if !self.model.estimates_goal {
            values.resize(values.len() + block.len(), 0);
            return Ok(Flow::Done);
        }
        for state in block.iter() {
            match self.is_goal(state) {
                Ok(is_goal) => values.push(u32::from(!is_goal)),
                Err(flow) => return Ok(flow),
            }
        }
        Ok(Flow::Done)
    }
}
