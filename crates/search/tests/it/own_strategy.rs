//! A strategy written against the public interface alone: the plainest breadth-first search.

use std::collections::HashMap;

use hadal_model::{Expander, Flow, GoalKind, Model, PAD_BYTES, States, Stop};
use hadal_search::strategy::{
    End, Ended, Explored, Findings, Halt, Kernel, Run, Totals, Usage, Verdicts,
};
use hadal_search::{Error, Options, Outcome, Reason, Silent, Stats, Strategy, check};
use hadal_testkit::graph::random_graph;
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

use crate::oracle::expect;
use crate::summary::summarise;

/// All states in a hash map, one expanded after the other.
struct Plain;

impl Strategy for Plain {
    fn name(&self) -> &'static str {
        "plain"
    }

    fn search(&self, run: &Run<'_>) -> Result<Outcome, Error> {
        let mut search = PlainSearch {
            run,
            expander: run.model.expander(run.stop()),
            kernel: Kernel::new(run.shape, 100),
            verdicts: Verdicts::new(run.shape),
            findings: Findings::new(run.shape, run.options.deadlock, run.options.max_errors),
            totals: Totals::new(run.shape),
            states: Vec::new(),
            ordinals: HashMap::new(),
            parents: Vec::new(),
            layers: Vec::new(),
        };
        let end = match search.search_layers() {
            Ok(end) => end,
            Err(Halt::Stop(reason)) => End::Stopped(reason),
            Err(Halt::Enough) => unreachable!("layers are ended first"),
            Err(Halt::Failed(error)) => return Err(error),
        };
        let ended = Ended {
            end,
            totals: search.totals,
            findings: search.findings,
            states: search.states.len() as u64,
            states_exact: true,
            depth: search.layers.len() as u32 - 1,
            layers: search.layers,
            omission: None,
            remarks: Vec::new(),
            stats: Stats::default(),
        };
        run.conclude(ended, &mut Parents(search.parents))
    }
}

/// Ordinal of the parent, and index among its successors.
struct Parents(Vec<(Option<usize>, u32)>);

impl Explored for Parents {
    fn indices_to(&mut self, ordinal: u64) -> Result<Vec<u32>, Error> {
        let mut indices = Vec::new();
        let mut next = Some(ordinal as usize);
        while let Some(ordinal) = next {
            indices.push(self.0[ordinal].1);
            next = self.0[ordinal].0;
        }
        indices.reverse();
        Ok(indices)
    }

    fn usage(&mut self) -> Usage {
        Usage::default()
    }
}

struct PlainSearch<'a> {
    run: &'a Run<'a>,
    expander: Box<dyn Expander + 'a>,
    kernel: Kernel,
    verdicts: Verdicts,
    findings: Findings<'a>,
    totals: Totals,
    /// With padding.
    states: Vec<Vec<u8>>,
    ordinals: HashMap<Vec<u8>, usize>,
    parents: Vec<(Option<usize>, u32)>,
    layers: Vec<u64>,
}

impl PlainSearch<'_> {
    fn search_layers(&mut self) -> Result<End, Halt> {
        self.expand(None, 0)?;
        let starts = &self.kernel.successors.sources()[0];
        match starts.faults.first() {
            Some(fault) => (self.findings).add_start_fault(self.states.len() as u64, fault),
            None if self.states.is_empty() => return Err(Error::NoStartstate.into()),
            None => {}
        }
        let mut first = 0;
        for depth in 0.. {
            let (before, end) = (self.totals.clone(), self.states.len());
            self.layers.push((end - first) as u64);
            self.run.begin_rank(depth, (end - first) as u64);
            self.findings.begin_rank();
            let is_cut = self.run.options.bound == Some(depth) && first < end;
            // What fails already can only be preceded by what happens before it.
            let limit = self.findings.limit().map_or(end, |limit| limit as usize);
            for ordinal in first..if is_cut { first } else { limit.max(first) } {
                self.expand(Some(ordinal), depth)?;
                let source = &self.kernel.successors.sources()[0];
                self.findings.add_source(ordinal as u64, depth, source);
                if self.findings.is_full() {
                    break;
                }
            }
            self.findings.end_rank();
            if self.findings.is_full() {
                self.states.truncate(end);
                return Ok(End::Violated(before));
            }
            if is_cut {
                return Err(Halt::Stop(Reason::Bound));
            }
            self.run.end_rank();
            if self.states.len() == end {
                break;
            }
            first = end;
        }
        Ok(End::Exhausted)
    }

    /// Expands a state (finds the startstates, if there is none).
    fn expand(&mut self, source: Option<usize>, depth: u32) -> Result<(), Halt> {
        let state_len = self.run.shape.state_len;
        let state = source.map(|ordinal| self.states[ordinal].clone());
        let block = state.as_ref().map(|state| States::new(state, state_len, 1));
        self.kernel.begin(1);
        while self.kernel.is_full() {
            self.run.check_stop()?;
            self.kernel.expand(&mut *self.expander, block);
            self.kernel.canonicalise(&mut *self.expander, block);
            for at in 0..self.kernel.successors.len() {
                let successors = &self.kernel.successors;
                let (state, index) = (successors.state(at).to_vec(), successors.index(at));
                let ordinal = self.states.len();
                if *self.ordinals.entry(state.clone()).or_insert(ordinal) == ordinal {
                    self.parents.push((source, index));
                    self.judge(state, source.map_or(0, |_| depth + 1))?;
                } else if source.is_some() {
                    self.totals.duplicates.memory += 1;
                }
            }
        }
        match source {
            Some(_) => self.totals.add_expansions(&self.kernel.successors),
            None => self.totals.add_goals(self.kernel.successors.goal_hits()),
        }
        Ok(())
    }

    /// Evaluates properties on a new state.
    fn judge(&mut self, mut state: Vec<u8>, depth: u32) -> Result<(), Halt> {
        let ordinal = self.states.len() as u64;
        state.resize(state.len() + PAD_BYTES, 0);
        let shape = self.run.shape;
        let block = States::new(&state, shape.state_len, 1);
        if self.verdicts.find(&mut *self.expander, shape, block) == Flow::Stopped {
            return Err(Halt::Stop(self.run.stop_reason()));
        }
        self.totals.add_goals(&self.verdicts.goals);
        for failure in &self.verdicts.failures {
            self.findings.add_failure(ordinal, depth, failure);
        }
        self.states.push(state);
        Ok(())
    }
}

#[test]
fn a_plain_search_agrees_with_the_oracle() {
    let mut n_violated = 0;
    for seed in 0..200 {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let graph = random_graph(&mut rng);
        let mut goals = graph.shape().goals.iter();
        if goals.any(|goal| goal.kind == GoalKind::Liveness) {
            continue;
        }
        for (bound, max_errors) in [(None, 1), (None, 100), (Some(3), 2)] {
            let options = Options {
                bound,
                max_errors,
                ..Options::default()
            };
            let expected = expect(&graph, &options);
            if expected.states == 0 && expected.violations.is_empty() {
                continue;
            }
            let outcome = check(&graph, &Plain, &options, None, &Stop::new(), &mut Silent);
            let outcome = outcome.expect("the search has an outcome");
            n_violated += usize::from(!outcome.violations.is_empty());
            assert_eq!(
                summarise(&graph, &options, &outcome),
                expected,
                "seed {seed}"
            );
        }
    }
    assert!(n_violated > 100, "only {n_violated}");
}
