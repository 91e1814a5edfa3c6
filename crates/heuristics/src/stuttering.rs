//! Rules that are enabled and change nothing.
//!
//! A process that spins until a lock is free is often a rule whose whole body is an `if`. Where a
//! deadlock is a state that no rule leads out of, such a rule counts as enabled only where its body
//! does something.

use hadal_ir::expr::Expr;
use hadal_ir::ids::ExprId;
use hadal_ir::program::Program;
use hadal_ir::stmt::{Stmt, StmtKind};
use hadal_ir::verify::GuardTest;

/// The guards of rules as they are in the program, by rule.
pub(crate) struct Guards(Vec<(usize, Option<ExprId>)>);

/// Adds to the guards of rules that their bodies do something, as far as conditions at their
/// beginning tell. [`Guards::restore`] takes it back.
pub(crate) fn narrow(program: &mut Program) -> Guards {
    let guards = GuardTest::new(program);
    let conditions: Vec<(usize, Vec<ExprId>)> = (program.rules.iter().enumerate())
        .filter_map(|(number, rule)| {
            let mut conditions = Vec::new();
            let is_known = does_something(&rule.body, &mut conditions);
            // What a body may call, a guard may not.
            let are_readable = conditions.iter().all(|&id| guards.passes(&rule.frame, id));
            (is_known && are_readable && !conditions.is_empty()).then_some((number, conditions))
        })
        .collect();
    let mut original = Vec::new();
    for (number, conditions) in conditions {
        let (guard, site) = {
            let rule = &program.rules[number];
            (rule.guard.condition, rule.site)
        };
        let does = match conditions[..] {
            [one] => one,
            _ => program.add_expr(Expr::Or(conditions), site),
        };
        let narrowed = match guard {
            Some(guard) => program.add_expr(Expr::And(vec![guard, does]), site),
            None => does,
        };
        program.rules[number].guard.condition = Some(narrowed);
        original.push((number, guard));
    }
    Guards(original)
}

impl Guards {
    /// Gives the rules their own guards back.
    pub(crate) fn restore(self, program: &mut Program) {
        for (number, guard) in self.0 {
            program.rules[number].guard.condition = guard;
        }
    }
}

/// Adds the conditions of which one is true where `block` does something; false if it may do
/// something in any case.
fn does_something(block: &[Stmt], conditions: &mut Vec<ExprId>) -> bool {
    let [stmt] = block else {
        return false;
    };
    match &stmt.kind {
        StmtKind::If { arms, otherwise } if otherwise.is_empty() => {
            conditions.extend(arms.iter().map(|(condition, _)| *condition));
            true
        }
        _ => false,
    }
}
