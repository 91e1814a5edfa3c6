//! Checks, state by state, whether loops depend on the order of their passes.
//!
//! A reduction by symmetry stores one state for all that differ only in the names of
//! interchangeable elements. That is sound only if the names make no difference, but a loop over
//! such elements takes them in the order of their names.
//! An [`OrderChecker`] checks the loops that an analysis cannot prove independent of that order: it
//! runs the code that reaches them in the states of a search and tries the passes of each loop
//! it reaches in all orders.
//!
//! - `machine::order`: the check of one loop.
//! - `plan`: what must run to reach the loops.
//! - `table`: what the machine looks up at a loop.

mod parts;
mod plan;
mod slots;
mod table;

use hadal_model::{Fault, FaultKind, Phase, Stop, Stopped};

use super::Interpreter;
use super::generate::{Ended, Generator, Subject};
use super::machine::{Halt, OrderState};
use crate::ids::{FunctionId, LocalId, SiteId};
use crate::program::{Frame, Program};
use parts::Parts;
use plan::{Plan, Task};
pub(super) use table::{LoopMemory, LoopTable};

/// The loops whose independence of order is checked while they run.
///
/// Bags are compared by content, so a slot that a parameter stands for must not be used again once
/// it was freed and may have been filled. The caller must rule that out.
#[derive(Clone, Debug, Default)]
pub struct OrderChecks {
    /// At most one for each item and variable; further ones count for nothing but their private
    /// locals.
    pub loops: Vec<CheckedLoop>,
}

/// A loop, or quantifier, whose independence of order is checked.
#[derive(Clone, Debug)]
pub struct CheckedLoop {
    /// The item whose frame holds the loop.
    pub item: Item,
    /// The loop's variable. All loops and quantifiers of the item over this variable are checked.
    pub var: LocalId,
    /// Where it stands.
    pub site: SiteId,
    /// Locals of the frame whose content is read neither by a later pass nor after the loop, like
    /// the variables of loops inside it: they may differ between orders.
    pub private: Vec<LocalId>,
}

/// Something with a frame of locals. Numbers are positions in the [`Program`](crate::Program).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Item {
    /// A function.
    Function(FunctionId),
    /// A rule, its guard included.
    Rule(u32),
    /// A startstate.
    Start(u32),
    /// A property, assumptions included.
    Property(u32),
    /// A measure. Its loops are not checked while they run: nothing but a proof will do for them.
    Measure(u32),
}

impl Item {
    /// Its locals.
    pub fn frame(self, program: &Program) -> &Frame {
        Parts::of(program, self).frame
    }
}

/// Passes of a loop with effects beyond which its orders are not tried.
pub const MAX_PASSES: usize = 10;

impl Interpreter {
    /// A checker of loops for one thread.
    ///
    /// # Panics
    /// Where a loop names an item or a local that the program does not have.
    pub fn order_checker<'a>(
        &'a self,
        checks: &'a OrderChecks,
        stop: &'a Stop,
    ) -> OrderChecker<'a> {
        let mut generator = Generator::new(&self.prepared, self.limits, stop);
        let table = LoopTable::new(&self.prepared, checks);
        generator.machine.order = Some(Box::new(OrderState::new(table)));
        OrderChecker {
            generator,
            plan: Plan::new(&self.prepared, checks),
        }
    }
}

/// One thread's check of the loops of a program.
///
/// It runs rules and properties as an [`Expander`](hadal_model::Expander) does, but only those that
/// can reach a checked loop. What is wrong with the model apart from orders is not its business: an
/// instance that fails in all orders is skipped.
pub struct OrderChecker<'a> {
    generator: Generator<'a>,
    plan: Plan,
}

impl OrderChecker<'_> {
    /// Checks the loops that rules reach in a state, through guards, bodies and functions, and
    /// through assumptions on the states they lead to. Returns the first dependence on order.
    pub fn check_rules(&mut self, state: &[u8]) -> Result<Option<Fault>, Stopped> {
        if self.plan.classes.is_empty() {
            return Ok(None);
        }
        self.generator.machine.enter();
        self.generator.machine.load_state(state);
        match self.check_classes(state) {
            Ok(()) => Ok(None),
            Err(Ended::Stopped) => Err(Stopped),
            Err(Ended::Fault(fault)) => Ok(Some(fault)),
        }
    }

    /// Checks the loops that invariants, covers and liveness properties reach in a state. Returns
    /// the first dependence of each property, with the property's number in the shape.
    ///
    /// Only properties that are `wanted`, by that number, are checked.
    pub fn check_properties(
        &mut self,
        state: &[u8],
        wanted: impl Fn(u32) -> bool,
    ) -> Result<Vec<(u32, Fault)>, Stopped> {
        let mut found = Vec::new();
        if self.plan.properties.is_empty() {
            return Ok(found);
        }
        self.generator.machine.enter();
        self.generator.machine.load_state(state);
        let properties = self.plan.properties.iter();
        for &(property, in_shape) in properties.filter(|(_, in_shape)| wanted(*in_shape)) {
            match check_property(&mut self.generator, property) {
                Ok(()) => {}
                Err(Ended::Stopped) => return Err(Stopped),
                Err(Ended::Fault(fault)) => found.push((in_shape, fault)),
            }
        }
        Ok(found)
    }

    /// Forgets and returns how often each checked loop was evaluated in all orders, by position in
    /// [`OrderChecks::loops`]. A loop inside a checked one is evaluated for each set of passes of
    /// the outer one.
    pub fn take_evaluations(&mut self) -> Vec<u64> {
        let order = self.generator.machine.order.as_mut();
        order.map_or_else(Vec::new, |order| order.take_evaluations())
    }

    /// Runs through the rules as [`Generator::fire_rules`] does: only the least priority that has
    /// an enabled rule fires.
    fn check_classes(&mut self, state: &[u8]) -> Result<(), Ended> {
        let checks_assumptions = self.plan.checks_assumptions;
        for class in &self.plan.classes {
            let mut is_enabled = false;
            for &task in &class.rules {
                if task.is_idle() && (is_enabled || !class.decides) {
                    continue;
                }
                is_enabled |= check_rule(&mut self.generator, task, state, checks_assumptions)?;
            }
            if is_enabled {
                break;
            }
        }
        Ok(())
    }
}

/// Checks all instances of a rule. Whether one is enabled; where there is nothing to check, the
/// first one that is ends the search.
fn check_rule(
    generator: &mut Generator<'_>,
    task: Task,
    state: &[u8],
    checks_assumptions: bool,
) -> Result<bool, Ended> {
    let code = generator.code;
    let rule = &code.program.rules[task.rule as usize];
    let frame = &code.rule_frames[task.rule as usize];
    let subject = Subject {
        phase: Phase::Guard,
        name: &rule.name,
        frame: &rule.frame,
        params: &rule.params,
    };
    let body = Subject {
        phase: Phase::Body,
        ..subject
    };
    let mut is_enabled = false;
    generator.odometer.set(&code.program, &rule.params, 0);
    while !generator.odometer.done {
        if generator.stopped_between_instances() {
            return Err(Ended::Stopped);
        }
        generator.machine.open_frame(frame, &rule.frame);
        begin_instance(generator);
        let holds = match generator.bind(&rule.params, subject) {
            Ok(true) => generator.condition(&rule.guard, subject),
            other => other,
        };
        if unless_faulty(holds)? == Some(true) {
            is_enabled = true;
            if task.is_idle() {
                break;
            }
            if task.in_body {
                generator.machine.open_frame(frame, &rule.frame);
                unless_faulty(generator.bind(&rule.params, subject))?;
                generator.machine.forget_effects();
                let reached = match generator.machine.run_body(&rule.body) {
                    Ok(()) => Ok(true),
                    Err(Halt::Abandoned) => Ok(false),
                    Err(halt) => Err(generator.ended(halt, body)),
                };
                if unless_faulty(reached)? == Some(true) && checks_assumptions {
                    generator.machine.normalise_bags();
                    unless_faulty(generator.assumed())?;
                }
                generator.machine.load_state(state);
            }
        }
        generator.odometer.advance();
    }
    Ok(is_enabled)
}

/// Checks all instances of a property.
fn check_property(generator: &mut Generator<'_>, number: u32) -> Result<(), Ended> {
    let code = generator.code;
    let property = &code.program.properties[number as usize];
    let frame = &code.property_frames[number as usize];
    let subject = Subject {
        phase: Phase::Property,
        name: &property.name,
        frame: &property.frame,
        params: &property.params,
    };
    generator.odometer.set(&code.program, &property.params, 0);
    while !generator.odometer.done {
        if generator.stopped_between_instances() {
            return Err(Ended::Stopped);
        }
        generator.machine.open_frame(frame, &property.frame);
        begin_instance(generator);
        let holds = match generator.bind(&property.params, subject) {
            Ok(true) => generator.condition(&property.condition, subject),
            other => other,
        };
        unless_faulty(holds)?;
        generator.odometer.advance();
    }
    Ok(())
}

/// Starts the count of iterations that one instance may take.
fn begin_instance(generator: &mut Generator<'_>) {
    if let Some(order) = &mut generator.machine.order {
        order.begin_instance();
    }
}

/// The result, or `None` for faults of the model that are no dependence on order.
fn unless_faulty<T>(result: Result<T, Ended>) -> Result<Option<T>, Ended> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Ended::Fault(fault)) if fault.kind != FaultKind::OrderDependence => Ok(None),
        Err(ended) => Err(ended),
    }
}
