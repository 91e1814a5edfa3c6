//! A program that is asked for a state, in place of its own properties.
//!
//! The search for a goal is a search for a state that violates "it is never reached". What else a
//! program asserts must not end that search, and must not change which states there are: a firing
//! that fails an assertion leads nowhere, so it becomes one that is abandoned, and an assertion that
//! the firing goes on behind is left out. Faults of evaluation stay what they are, for nobody knows
//! what would have come after them.

use hadal_model::FaultKind;

use crate::expr::Expr;
use crate::ids::{ExprId, SiteId};
use crate::program::{ParamDomain, Program, PropertyKind};
use crate::stmt::{Block, Stmt, StmtKind};
use crate::walk::{Mention, Reach, for_each_mention};

impl Program {
    /// Leaves of what the program asserts nothing but the property `goal`: other invariants, covers
    /// and liveness properties are dropped, and so are assertions and error statements in the bodies
    /// of rules, where a firing that fails one is abandoned instead.
    ///
    /// Assumptions, ends and measures stay. So does what a startstate asserts, or a function that a
    /// guard, a parameter, a measure or the goal may call: there is no firing to abandon.
    pub fn seek(&mut self, goal: usize) {
        let mut index = 0;
        self.properties.retain(|property| {
            index += 1;
            let is_kept = matches!(property.kind, PropertyKind::Assume | PropertyKind::End);
            is_kept || index - 1 == goal
        });
        let is_pure = self.functions_of_conditions();
        let never = self.add_expr(Expr::Bool(false), SiteId::new(0));
        for (function, is_pure) in self.functions.iter_mut().zip(is_pure) {
            relax(&mut function.body, (!is_pure).then_some(never));
        }
        for rule in &mut self.rules {
            relax(&mut rule.body, Some(never));
        }
        for start in &mut self.starts {
            relax(&mut start.body, None);
        }
        self.cover_points.clear();
    }

    /// By function, whether a guard, parameter, property, measure or startstate may call it.
    fn functions_of_conditions(&self) -> Vec<bool> {
        let mut is_called = vec![false; self.functions.len()];
        let mut reach = Reach::new(self);
        let mut visit = |mention: Mention| {
            reach.visit(mention, &mut |inner| {
                if let Mention::Function(function) = inner {
                    is_called[function.index()] = true;
                }
            });
        };
        let rules = self.rules.iter().map(|it| (&it.params, Some(&it.guard)));
        let properties = self.properties.iter();
        let properties = properties.map(|it| (&it.params, Some(&it.condition)));
        let starts = self.starts.iter().map(|it| (&it.params, None));
        for (params, guard) in rules.chain(properties).chain(starts) {
            for param in params {
                if let ParamDomain::Slots { multiset, .. } = &param.domain {
                    multiset.for_each_mention(&mut visit);
                }
            }
            if let Some(guard) = guard {
                for_each_mention(&guard.prologue, &mut visit);
                guard
                    .condition
                    .into_iter()
                    .for_each(|condition| visit(Mention::Expr(condition)));
            }
        }
        for start in &self.starts {
            for_each_mention(&start.body, &mut visit);
        }
        for measure in &self.measures {
            for_each_mention(&measure.body, &mut visit);
            visit(Mention::Expr(measure.value));
        }
        // A function calls itself and those before it.
        for caller in (0..self.functions.len()).rev() {
            if !is_called[caller] {
                continue;
            }
            let mut reach = Reach::new(self);
            for_each_mention(&self.functions[caller].body, &mut |mention| {
                reach.visit(mention, &mut |inner| {
                    if let Mention::Function(callee) = inner {
                        is_called[callee.index()] = true;
                    }
                });
            });
        }
        is_called
    }
}

/// Drops covers and assertions that a firing goes on behind. With a condition that is never true,
/// other assertions and errors abandon the firing.
fn relax(block: &mut Block, never: Option<ExprId>) {
    block.retain(|stmt| {
        !matches!(
            stmt.kind,
            StmtKind::Cover { .. } | StmtKind::Assert { goes_on: true, .. }
        )
    });
    for stmt in block {
        relax_stmt(stmt, never);
    }
}

fn relax_stmt(stmt: &mut Stmt, never: Option<ExprId>) {
    match (&mut stmt.kind, never) {
        (StmtKind::If { arms, otherwise }, _) => {
            arms.iter_mut().for_each(|(_, block)| relax(block, never));
            relax(otherwise, never);
        }
        (StmtKind::For { body, .. } | StmtKind::While { body, .. }, _) => relax(body, never),
        (StmtKind::Assert { condition, .. }, Some(_)) => stmt.kind = StmtKind::Assume(*condition),
        (
            StmtKind::Error {
                kind: FaultKind::Error,
                ..
            },
            Some(never),
        ) => stmt.kind = StmtKind::Assume(never),
        _ => {}
    }
}
