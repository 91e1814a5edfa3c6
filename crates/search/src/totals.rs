//! What adds up over expansions and new states.

use hadal_model::Shape;
use serde::{Deserialize, Serialize};

use crate::Duplicates;
use crate::task::Task;

/// What adds up over expansions and new states.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Totals {
    pub(crate) visited: u64,
    pub(crate) transitions: u64,
    pub(crate) fired_by_rule: Vec<u64>,
    pub(crate) goals: Vec<u64>,
    pub(crate) duplicates: Duplicates,
}

impl Totals {
    pub(crate) fn new(shape: &Shape) -> Self {
        Totals {
            visited: 0,
            transitions: 0,
            fired_by_rule: vec![0; shape.rules.len()],
            goals: vec![0; shape.goals.len()],
            duplicates: Duplicates::default(),
        }
    }

    pub(crate) fn add_new_states(&mut self, task: &Task) {
        add_to(&mut self.goals, &task.verdicts.goals);
    }

    pub(crate) fn add_sources(&mut self, task: &Task) {
        self.visited += task.kernel.successors.sources().len() as u64;
        self.transitions += task.happened.fired;
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
