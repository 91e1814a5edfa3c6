//! Which guards, bodies and properties have to be run for a checked loop to be reached.

use rustc_hash::FxHashSet;

use super::super::prepare::Prepared;
use super::parts::Parts;
use super::{Item, OrderChecks};
use crate::ids::{FunctionId, LocalId};
use crate::program::{Program, PropertyKind};
use crate::walk::{Mention, Reach};

/// What is run in each state.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// The rules by priority, up to the last priority with something to check.
    pub(super) classes: Vec<Class>,
    /// Whether the assumptions are evaluated on every state that a rule leads to.
    pub(super) checks_assumptions: bool,
    /// The properties to check, with their numbers in the shape.
    pub(super) properties: Vec<(u32, u32)>,
}

/// The rules of one priority.
#[derive(Debug)]
pub(super) struct Class {
    pub(super) rules: Vec<Task>,
    /// Whether it matters for a class behind it that a rule of this one is enabled.
    pub(super) decides: bool,
}

/// What of a rule can reach a checked loop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task {
    pub(super) rule: u32,
    pub(super) in_guard: bool,
    /// In the body, or in the assumptions after it.
    pub(super) in_body: bool,
}

impl Task {
    pub(super) fn is_idle(self) -> bool {
        !self.in_guard && !self.in_body
    }
}

impl Plan {
    pub(super) fn new(code: &Prepared, checks: &OrderChecks) -> Self {
        let program = &code.program;
        let reaching = Reaching::new(program, checks);
        let in_property = |number: u32| reaching.guard(Item::Property(number));
        let checks_assumptions = code.assumptions.iter().any(|&number| in_property(number));

        let mut classes: Vec<Class> = Vec::new();
        let mut priority = None;
        for &rule in &code.rule_order {
            let own = program.rules[rule as usize].priority;
            if priority.replace(own) != Some(own) {
                classes.push(Class {
                    rules: Vec::new(),
                    decides: true,
                });
            }
            let task = Task {
                rule,
                in_guard: reaching.guard(Item::Rule(rule)),
                in_body: checks_assumptions || reaching.body(Item::Rule(rule)),
            };
            if let Some(class) = classes.last_mut() {
                class.rules.push(task);
            }
        }
        while let Some(class) = classes.last_mut() {
            if class.rules.iter().any(|task| !task.is_idle()) {
                class.decides = false;
                break;
            }
            classes.pop();
        }

        let checked = program.properties.iter().enumerate();
        let checked = checked.filter(|(_, property)| {
            !matches!(property.kind, PropertyKind::Assume | PropertyKind::End)
        });
        let properties = checked
            .enumerate()
            .map(|(in_shape, (number, _))| (number as u32, in_shape as u32))
            .filter(|&(number, _)| in_property(number))
            .collect();
        Plan {
            classes,
            checks_assumptions,
            properties,
        }
    }
}

/// From where checked loops can be reached.
struct Reaching<'a> {
    program: &'a Program,
    /// The variables of checked loops.
    variables: FxHashSet<(Item, LocalId)>,
    /// By function.
    functions: Vec<bool>,
}

impl<'a> Reaching<'a> {
    fn new(program: &'a Program, checks: &OrderChecks) -> Self {
        let variables = checks.loops.iter();
        let variables = variables
            .map(|checked| (checked.item, checked.var))
            .collect();
        let mut reaching = Reaching {
            program,
            variables,
            functions: Vec::new(),
        };
        for number in 0..program.functions.len() {
            // Callees come first; a call of itself adds nothing.
            let reaches = reaching.body(Item::Function(FunctionId::new(number)));
            reaching.functions.push(reaches);
        }
        reaching
    }

    /// Whether the parameters or the guard of an item reach a checked loop.
    fn guard(&self, item: Item) -> bool {
        let parts = Parts::of(self.program, item);
        self.any(item, |visit| parts.for_each_guard_mention(visit))
    }

    /// Whether the body of an item reaches a checked loop.
    fn body(&self, item: Item) -> bool {
        let parts = Parts::of(self.program, item);
        self.any(item, |visit| parts.for_each_body_mention(visit))
    }

    fn any(&self, item: Item, for_each_mention: impl Fn(&mut dyn FnMut(Mention))) -> bool {
        let mut reach = Reach::new(self.program);
        let mut found = false;
        for_each_mention(&mut |mention| {
            reach.visit(mention, &mut |inner| {
                found |= match inner {
                    Mention::Local(local) => self.variables.contains(&(item, local)),
                    Mention::Function(callee) => {
                        self.functions.get(callee.index()).copied() == Some(true)
                    }
                    _ => false,
                };
            });
        });
        found
    }
}
