//! Counts over all expansions and new states.

use hadal_model::{Shape, Successors};
use serde::{Deserialize, Serialize};

use crate::Duplicates;
use crate::window::Task;

/// Counts over all expansions and new states.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Totals {
    /// Expansions of states.
    pub visited: u64,
    /// Rule firings.
    pub transitions: u64,
    /// Successors, each once for every expansion that made it.
    pub generated: u64,
    /// States that were opened again, by a cheaper path.
    pub reopened: u64,
    /// Successors whose estimate is less than that of their source by more than the step costs.
    pub inconsistent: u64,
    /// Rule firings by rule.
    pub fired_by_rule: Vec<u64>,
    /// How often each goal was reached.
    pub goals: Vec<u64>,
    /// Successors that were known already.
    pub duplicates: Duplicates,
}

impl Totals {
    /// All zero.
    pub fn new(shape: &Shape) -> Self {
        Totals {
            visited: 0,
            transitions: 0,
            generated: 0,
            reopened: 0,
            inconsistent: 0,
            fired_by_rule: vec![0; shape.rules.len()],
            goals: vec![0; shape.goals.len()],
            duplicates: Duplicates::default(),
        }
    }

    /// Adds all that happened in the expansion of a block of states.
    pub fn add_expansions(&mut self, successors: &Successors) {
        let sources = successors.sources();
        self.visited += sources.len() as u64;
        let fired = sources.iter().map(|source| source.fired);
        self.transitions = fired.fold(self.transitions, u64::saturating_add);
        self.generated += sources.iter().map(|it| u64::from(it.written)).sum::<u64>();
        add_to(&mut self.fired_by_rule, successors.fired_by_rule());
        self.add_goals(successors.goal_hits());
    }

    /// Adds how often each goal was reached.
    pub fn add_goals(&mut self, counts: &[u64]) {
        add_to(&mut self.goals, counts);
    }

    pub(crate) fn add_sources(&mut self, task: &Task) {
        self.visited += task.kernel.successors.sources().len() as u64;
        self.generated += task.summary.generated;
        self.inconsistent += task.ranks.n_inconsistent;
        self.transitions = self.transitions.saturating_add(task.summary.fired);
        add_to(
            &mut self.fired_by_rule,
            task.kernel.successors.fired_by_rule(),
        );
    }

    pub(crate) fn add_goal_hits(&mut self, task: &Task) {
        add_to(&mut self.goals, task.kernel.successors.goal_hits());
    }
}

/// Adds each of `counts` to its sum.
pub(crate) fn add_to(sums: &mut [u64], counts: &[u64]) {
    for (sum, count) in sums.iter_mut().zip(counts) {
        *sum += count;
    }
}
