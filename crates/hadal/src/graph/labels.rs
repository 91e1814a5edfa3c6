//! Labels of edges: rules, with their parameters on request.

use std::ops::Range;

use hadal_lts::{Error, Interner, Labels};
use hadal_model::{Model, States, Step, Stop};
use hadal_search::GraphEdge;

use super::{GraphOptions, LabelDetail};

/// What is invisible where nothing else is named.
const INVISIBLE: &str = "i";
/// From the state that is added to each startstate.
const START: &str = "start";

/// Names edges.
pub(super) struct Labeller<'m> {
    model: &'m dyn Model,
    options: GraphOptions,
    /// By rule, positions of the parameters that stand for interchangeable elements; empty where
    /// nothing is reduced.
    symmetric: &'m [Vec<usize>],
    interner: Interner,
    /// The labels of rules, where they do not depend on parameters.
    of_rules: Vec<Option<u32>>,
    n_threads: usize,
    stack_bytes: usize,
    has_dropped: bool,
}

/// Edges that are worth a thread.
const EDGES_PER_THREAD: usize = 64;

impl<'m> Labeller<'m> {
    pub(super) fn new(
        model: &'m dyn Model,
        symmetric: &'m [Vec<usize>],
        options: &GraphOptions,
        stack_bytes: usize,
        label_bytes: u64,
    ) -> Self {
        Labeller {
            model,
            options: options.clone(),
            symmetric,
            interner: Interner::new(label_bytes),
            of_rules: vec![None; model.shape().rules.len()],
            n_threads: std::thread::available_parallelism().map_or(1, usize::from),
            stack_bytes,
            has_dropped: false,
        }
    }

    pub(super) fn set_threads(&mut self, n_threads: usize) {
        self.n_threads = n_threads.max(1);
    }

    /// Whether labels need the states where edges begin.
    pub(super) fn needs_states(&self) -> bool {
        self.options.labels == LabelDetail::Full
    }

    /// Whether parameters were left out because a reduction makes them ambiguous.
    pub(super) fn has_dropped(&self) -> bool {
        self.has_dropped
    }

    pub(super) fn into_labels(self) -> Labels {
        self.interner.into_labels()
    }

    /// The label of an edge from the state that is added.
    pub(super) fn start(&mut self) -> Result<u32, Error> {
        let label = match self.options.labels {
            LabelDetail::None => self.invisible().to_owned(),
            _ => self.named(START, START.to_owned()),
        };
        self.interner.intern(label.as_bytes())
    }

    /// Appends the label of each of `edges`, which leave the states `sources`, to `out`.
    pub(super) fn name(
        &mut self,
        sources: &Range<u64>,
        states: Option<States<'_>>,
        edges: &[GraphEdge],
        out: &mut Vec<u32>,
    ) -> Result<(), Error> {
        match (self.options.labels, states) {
            (LabelDetail::Full, Some(states)) => {
                for text in self.full_texts(sources.start, states, edges)? {
                    out.push(self.interner.intern(text.as_bytes())?);
                }
            }
            _ => {
                for edge in edges {
                    out.push(self.of_rule(edge.rule)?);
                }
            }
        }
        Ok(())
    }

    fn of_rule(&mut self, rule: u32) -> Result<u32, Error> {
        let known = self.of_rules.get(rule as usize).copied().flatten();
        if let Some(label) = known {
            return Ok(label);
        }
        let text = match self.options.labels {
            LabelDetail::None => self.invisible().to_owned(),
            _ => {
                let name = &self.model.shape().rules[rule as usize].name;
                self.named(name, name.clone())
            }
        };
        let label = self.interner.intern(text.as_bytes())?;
        self.of_rules[rule as usize] = Some(label);
        Ok(label)
    }

    fn invisible(&self) -> &str {
        self.options.tau.first().map_or(INVISIBLE, |it| it)
    }

    /// A label that is `text`, of the rule `name`.
    fn named(&self, name: &str, text: String) -> String {
        let is_invisible = (self.options.tau.iter()).any(|tau| *tau == name || *tau == text);
        match is_invisible {
            true => self.invisible().to_owned(),
            false => text.replace(char::is_control, " "),
        }
    }

    /// The labels of edges with their parameters, made on several threads.
    fn full_texts(
        &mut self,
        first: u64,
        states: States<'_>,
        edges: &[GraphEdge],
    ) -> Result<Vec<String>, Error> {
        // Whole sources for each thread, about as many edges each.
        let n_parts = self.n_threads.min(edges.len() / EDGES_PER_THREAD).max(1);
        let mut parts = Vec::with_capacity(n_parts);
        let mut rest = edges;
        for part in 0..n_parts {
            let n = rest.len() / (n_parts - part);
            let last = rest.get(n.saturating_sub(1)).map(|edge| edge.source);
            let n = rest.partition_point(|edge| Some(edge.source) <= last);
            let (here, behind) = rest.split_at(n);
            parts.push(here);
            rest = behind;
        }
        let this = &*self;
        let name = |edges: &[GraphEdge]| {
            let by_source = edges.chunk_by(|a, b| a.source == b.source);
            let mut named = Part::default();
            for edges in by_source {
                named.add(this, states.get((edges[0].source - first) as usize), edges);
            }
            named
        };
        let named: std::io::Result<Vec<Part>> = std::thread::scope(|scope| {
            let threads: std::io::Result<Vec<_>> = parts
                .iter()
                .map(|&edges| {
                    std::thread::Builder::new()
                        .stack_size(this.stack_bytes)
                        .spawn_scoped(scope, move || name(edges))
                })
                .collect();
            let join = |thread: std::thread::ScopedJoinHandle<'_, Part>| {
                let joined = thread.join();
                joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            Ok(threads?.into_iter().map(join).collect())
        });
        let mut texts = Vec::with_capacity(edges.len());
        for part in named? {
            self.has_dropped |= part.has_dropped;
            texts.extend(part.texts);
        }
        Ok(texts)
    }
}

/// Labels that one thread has made.
#[derive(Default)]
struct Part {
    texts: Vec<String>,
    has_dropped: bool,
}

impl Part {
    /// Names all edges of a state.
    fn add(&mut self, labeller: &Labeller<'_>, state: &[u8], edges: &[GraphEdge]) {
        let mut left = edges.iter();
        let mut name = |step: Step| {
            let Some(edge) = left.next() else {
                return;
            };
            let symmetric = labeller.symmetric.get(edge.rule as usize);
            let (text, has_dropped) = text_of(&step, symmetric.map_or(&[], |it| it));
            self.has_dropped |= has_dropped;
            self.texts.push(labeller.named(&step.rule, text));
        };
        // Nobody raises it, for a part of a graph does not take long.
        let described = labeller
            .model
            .describe_steps(state, &Stop::new(), &mut name);
        debug_assert!(described.is_ok());
        // Should the reference generator know fewer steps: the name of its rule is still right.
        for edge in left {
            let name = &labeller.model.shape().rules[edge.rule as usize].name;
            self.texts.push(labeller.named(name, name.clone()));
        }
    }
}

/// A step with its parameters, but for those at the positions `dropped`; and whether there were any.
fn text_of(step: &Step, dropped: &[usize]) -> (String, bool) {
    let is_dropped = |position: &usize| dropped.contains(position);
    let kept: Vec<String> = (0..)
        .zip(&step.parameters)
        .filter(|(position, _)| !is_dropped(position))
        .map(|(_, (name, value))| format!("{name}={value}"))
        .collect();
    let has_dropped = kept.len() < step.parameters.len();
    let text = match kept.is_empty() {
        true => step.rule.clone(),
        false => format!("{}({})", step.rule, kept.join(", ")),
    };
    (text, has_dropped)
}
