//! `active`: how many agents have an enabled step. A deadlock has none.

use hadal_ir::expr::BinaryOp as Op;
use hadal_ir::stmt::Block;

use crate::agents::Agents;
use crate::builder::{Builder, Combine};
use crate::distance::Distance;

impl Builder<'_> {
    /// The number of agents that have an enabled step. Only rules of the least priority at which
    /// some rule is enabled count, as only these fire.
    pub(crate) fn active(&mut self, block: &mut Block, all: &[Agents]) -> Distance {
        let total = self.new_number();
        self.assign_int(block, total, 0);
        let rules = all.iter().flat_map(|agents| &agents.rules);
        let mut priorities: Vec<i64> = rules
            .map(|&rule| self.program.rules[rule].priority)
            .collect();
        priorities.sort_unstable();
        priorities.dedup();
        for (number, priority) in priorities.into_iter().enumerate() {
            let mut of_priority = Block::new();
            for agents in all {
                let rules = agents.rules.iter().copied();
                let rules: Vec<usize> = rules
                    .filter(|&rule| self.program.rules[rule].priority == priority)
                    .collect();
                if rules.is_empty() {
                    continue;
                }
                self.for_agents(&mut of_priority, agents, &mut |this, agent, inner| {
                    let is_active = this.new_truth();
                    let no = this.truth(false);
                    this.assign(inner, is_active, no);
                    for (nth, &rule) in rules.iter().enumerate() {
                        let mut one = Block::new();
                        this.for_rule(&mut one, rule, agent, &mut |this, copier, inner| {
                            let yes = this.truth(true);
                            let mut then = Block::new();
                            this.assign(&mut then, is_active, yes);
                            match this.program.rules[rule].guard.condition {
                                Some(condition) => {
                                    let condition = this.copied(copier, condition);
                                    this.if_then(inner, condition, then);
                                }
                                None => inner.extend(then),
                            }
                        });
                        let is_known = this.read(is_active);
                        let is_open = this.not(is_known);
                        match nth {
                            0 => inner.extend(one),
                            _ => this.if_then(inner, is_open, one),
                        }
                    }
                    let (is_active, one) = (this.read(is_active), this.int(1));
                    let mut then = Block::new();
                    this.accumulate(&mut then, Combine::Sum, total, one);
                    this.if_then(inner, is_active, then);
                });
            }
            match number {
                0 => block.extend(of_priority),
                _ => {
                    let (so_far, zero) = (self.read(total), self.int(0));
                    let is_none = self.binary(Op::Eq, so_far, zero);
                    self.if_then(block, is_none, of_priority);
                }
            }
        }
        Distance::Number(self.read(total))
    }
}
