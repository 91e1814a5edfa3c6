//! The parts of an item of any kind.

use super::Item;
use crate::ids::ExprId;
use crate::program::{Frame, Guard, Param, ParamDomain, Program};
use crate::stmt::Stmt;
use crate::walk::{Mention, for_each_mention};

/// The parts of a function, rule, startstate, property or measure.
#[derive(Clone, Copy)]
pub(super) struct Parts<'a> {
    pub(super) frame: &'a Frame,
    pub(super) params: &'a [Param],
    /// The guard of a rule, the condition of a property.
    pub(super) guard: Option<&'a Guard>,
    pub(super) body: &'a [Stmt],
    /// The value of a measure, evaluated behind the body.
    pub(super) value: Option<ExprId>,
}

impl<'a> Parts<'a> {
    pub(super) fn of(program: &'a Program, item: Item) -> Self {
        match item {
            Item::Function(function) => {
                let function = program.function(function);
                Parts {
                    frame: &function.frame,
                    params: &[],
                    guard: None,
                    body: &function.body,
                    value: None,
                }
            }
            Item::Rule(number) => {
                let rule = &program.rules[number as usize];
                Parts {
                    frame: &rule.frame,
                    params: &rule.params,
                    guard: Some(&rule.guard),
                    body: &rule.body,
                    value: None,
                }
            }
            Item::Start(number) => {
                let start = &program.starts[number as usize];
                Parts {
                    frame: &start.frame,
                    params: &start.params,
                    guard: None,
                    body: &start.body,
                    value: None,
                }
            }
            Item::Property(number) => {
                let property = &program.properties[number as usize];
                Parts {
                    frame: &property.frame,
                    params: &property.params,
                    guard: Some(&property.condition),
                    body: &[],
                    value: None,
                }
            }
            Item::Measure(number) => {
                let measure = &program.measures[number as usize];
                Parts {
                    frame: &measure.frame,
                    params: &[],
                    guard: None,
                    body: &measure.body,
                    value: Some(measure.value),
                }
            }
        }
    }

    /// Calls `visit` with what parameters and guard mention; expressions are not entered.
    pub(super) fn for_each_guard_mention(&self, visit: &mut dyn FnMut(Mention)) {
        for param in self.params {
            if let ParamDomain::Slots { multiset, .. } = &param.domain {
                multiset.for_each_mention(visit);
            }
        }
        if let Some(guard) = self.guard {
            for_each_mention(&guard.prologue, visit);
            if let Some(condition) = guard.condition {
                visit(Mention::Expr(condition));
            }
        }
    }

    /// Calls `visit` with what the body mentions; expressions are not entered.
    pub(super) fn for_each_body_mention(&self, visit: &mut dyn FnMut(Mention)) {
        for_each_mention(self.body, visit);
        self.value.map(Mention::Expr).into_iter().for_each(visit);
    }
}
