//! Two generators of one model, compared on every state.
//!
//! The states are visited breadth-first. At each of them both must give the same successors in the
//! same order, by the same rules, with the same counts and the same faults, and agree on
//! invariants, goals and measures. Native code is compared with the interpreter in this way.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::time::Instant;

use hadal_model::{
    Expander, Failure, Flow, Model, PAD_BYTES, Source, States, Stop, Stopped, Successors,
    Unmeasured, for_each_batch,
};

/// The bounds of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Most states to compare.
    pub max_states: usize,
    /// When to end.
    pub until: Option<Instant>,
    /// States per block.
    pub block_len: usize,
    /// Successors that fit the buffer of the generator under test; tiny ones test that it
    /// continues where it stopped.
    pub capacity: usize,
}

/// The result of a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// States at which the two were compared.
    pub n_states: usize,
    /// Successors of these.
    pub n_successors: usize,
    /// States at which some instance faults.
    pub n_faults: usize,
    /// Invariants that did not hold, or could not be evaluated.
    pub n_failures: usize,
    /// Values of measures.
    pub n_measured: usize,
    /// States without a value of some measure.
    pub n_unmeasured: usize,
    /// Whether a startstate faulted.
    pub start_faults: bool,
    /// Whether these were all states.
    pub is_complete: bool,
}

/// All results of one expansion of a block.
#[derive(Debug, Default, PartialEq)]
struct Expansion {
    states: Vec<u8>,
    /// Source, index and rule of each successor.
    facts: Vec<(u32, u32, u32)>,
    sources: Vec<Source>,
    fired_by_rule: Vec<u64>,
    goal_hits: Vec<u64>,
}

/// The properties, goals and measures of the states of a block.
#[derive(Debug, PartialEq)]
struct Judged {
    failures: Vec<Failure>,
    goals: Vec<u64>,
    flows: [Flow; 2],
    /// Of all states that have them.
    measures: Vec<u32>,
    unmeasured: Vec<Unmeasured>,
}

/// Compares `tested` with `reference`.
///
/// With a `reducer`, one state of each class is visited, its canonical form; the raw successors
/// are compared all the same.
pub fn compare(
    reference: &dyn Model,
    tested: &dyn Model,
    mut reducer: Option<&mut dyn Expander>,
    bounds: &Bounds,
) -> Result<Compared, String> {
    let (stop_a, stop_b) = (Stop::new(), Stop::new());
    let mut by_reference = Side {
        expander: reference.expander(&stop_a),
        out: Successors::new(reference.shape(), 1 << 12),
        goal_words: reference.shape().goal_words(),
        n_measures: reference.shape().measures.len(),
    };
    let mut by_tested = Side {
        expander: tested.expander(&stop_b),
        out: Successors::new(tested.shape(), bounds.capacity),
        goal_words: tested.shape().goal_words(),
        n_measures: tested.shape().measures.len(),
    };
    let len = reference.shape().state_len;
    if len != tested.shape().state_len {
        return Err("the states differ in length".to_owned());
    }
    let mut compared = Compared::default();
    let mut visited = Visited {
        len,
        max_states: bounds.max_states,
        seen: HashSet::new(),
        frontier: Vec::new(),
        n_frontier: 0,
        is_cut: false,
    };

    let mut expansion = by_reference.expand(None)?;
    differ("startstates", len, &expansion, &by_tested.expand(None)?)?;
    compared.start_faults = !expansion.sources[0].faults.is_empty();
    visited.add(&mut expansion, &mut reducer);
    while visited.n_frontier > 0 {
        let mut layer = std::mem::take(&mut visited.frontier);
        let n_layer = std::mem::take(&mut visited.n_frontier);
        // Whatever lies behind the states must not matter.
        layer.resize(n_layer * len + PAD_BYTES, 0xa5);
        let mut next = 0;
        while next < n_layer {
            if bounds.until.is_some_and(|until| Instant::now() >= until) {
                return Ok(compared);
            }
            let n = bounds.block_len.min(n_layer - next);
            let block = States::new(&layer[next * len..], len, n);
            next += n;
            let mut expansion = by_reference.expand(Some(block))?;
            differ(
                "successors",
                len,
                &expansion,
                &by_tested.expand(Some(block))?,
            )?;
            let judged = by_reference.judge(block);
            let found = by_tested.judge(block);
            if judged != found {
                return Err(format!("properties differ: {judged:?} but {found:?}"));
            }
            compared.n_states += n;
            compared.n_successors += expansion.facts.len();
            let faulty = expansion
                .sources
                .iter()
                .filter(|source| !source.faults.is_empty());
            compared.n_faults += faulty.count();
            compared.n_failures += judged.failures.len();
            compared.n_measured += judged.measures.len();
            compared.n_unmeasured += judged.unmeasured.len();
            visited.add(&mut expansion, &mut reducer);
        }
    }
    compared.is_complete = !visited.is_cut;
    Ok(compared)
}

/// One of the two generators.
struct Side<'a> {
    expander: Box<dyn Expander + 'a>,
    out: Successors,
    goal_words: usize,
    n_measures: usize,
}

impl Side<'_> {
    /// Expands a block, or the startstates.
    fn expand(&mut self, block: Option<States<'_>>) -> Result<Expansion, String> {
        let mut expansion = Expansion::default();
        let all = for_each_batch(&mut *self.expander, block, &mut self.out, |_, out| {
            expansion.states.extend_from_slice(out.states_mut());
            let facts = (0..out.len()).map(|at| (out.source_of(at), out.index(at), out.rule(at)));
            expansion.facts.extend(facts);
            ControlFlow::<()>::Continue(())
        });
        if all == Err(Stopped) {
            return Err("a generator stopped though nobody asked it to".to_owned());
        }
        expansion.sources = self.out.sources().to_vec();
        expansion.fired_by_rule = self.out.fired_by_rule().to_vec();
        expansion.goal_hits = self.out.goal_hits().to_vec();
        Ok(expansion)
    }

    /// Evaluates properties, goals and measures.
    fn judge(&mut self, block: States<'_>) -> Judged {
        let mut failures = Vec::new();
        let checked = self.expander.check(block, &mut failures);
        let mut goals = vec![0; block.len() * self.goal_words];
        let reached = match self.goal_words {
            0 => Flow::Done,
            _ => self.expander.reach_goals(block, &mut goals, &mut failures),
        };
        let (measures, unmeasured) = match self.n_measures {
            0 => Default::default(),
            _ => self.measure(block),
        };
        Judged {
            failures,
            goals,
            flows: [checked, reached],
            measures,
            unmeasured,
        }
    }

    /// The measures of the states that have them, and why the others have none.
    fn measure(&mut self, block: States<'_>) -> (Vec<u32>, Vec<Unmeasured>) {
        let (mut measures, mut unmeasured) = (Vec::new(), Vec::new());
        let (mut first, len) = (0, block.state_len());
        let part = |first: usize, n| States::new(&block.bytes()[first * len..], len, n);
        while first < block.len() {
            let mut values = Vec::new();
            let rest = part(first, block.len() - first);
            let Err(failure) = self.expander.measure(rest, &mut values) else {
                measures.append(&mut values);
                break;
            };
            let n = failure.state as usize;
            values.clear();
            let again = self.expander.measure(part(first, n), &mut values);
            assert_eq!(again, Ok(Flow::Done), "these states have values");
            assert_eq!(values.len(), n * self.n_measures);
            measures.append(&mut values);
            unmeasured.push(Unmeasured {
                state: (first + n) as u32,
                ..failure
            });
            first += n + 1;
        }
        (measures, unmeasured)
    }
}

/// The states seen, and those not yet expanded.
struct Visited {
    len: usize,
    max_states: usize,
    seen: HashSet<Box<[u8]>>,
    frontier: Vec<u8>,
    n_frontier: usize,
    /// Whether a state was dropped because of the limit.
    is_cut: bool,
}

impl Visited {
    fn add(&mut self, expansion: &mut Expansion, reducer: &mut Option<&mut dyn Expander>) {
        if let Some(reducer) = reducer {
            reducer.canonicalise(&mut expansion.states);
        }
        for number in 0..expansion.facts.len() {
            let state = &expansion.states[number * self.len..][..self.len];
            if self.seen.contains(state) {
                continue;
            }
            if self.seen.len() >= self.max_states {
                self.is_cut = true;
                continue;
            }
            self.seen.insert(state.into());
            self.frontier.extend_from_slice(state);
            self.n_frontier += 1;
        }
    }
}

fn differ(what: &str, len: usize, expected: &Expansion, found: &Expansion) -> Result<(), String> {
    if expected == found {
        return Ok(());
    }
    let of = |expansion: &Expansion, at: usize| {
        expansion
            .facts
            .get(at)
            .map(|facts| (*facts, expansion.states[at * len..][..len].to_vec()))
    };
    let n_most = expected.facts.len().max(found.facts.len());
    let n = (0..n_most)
        .find(|&at| of(expected, at) != of(found, at))
        .unwrap_or(n_most);
    Err(format!(
        "{what} differ: {} against {}, first at {n}: {:?} but {:?}; sources {:?} but {:?}; fired {:?} but {:?}; goals {:?} but {:?}",
        expected.facts.len(),
        found.facts.len(),
        of(expected, n),
        of(found, n),
        expected.sources,
        found.sources,
        expected.fired_by_rule,
        found.fired_by_rule,
        expected.goal_hits,
        found.goal_hits,
    ))
}
