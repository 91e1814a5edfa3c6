//! Tries the passes of one loop in all orders.
//!
//! Whatever the order, a loop must end in the same way: run to its end, return, decide its
//! quantifier, fail or be abandoned, and leave the same memory behind.
//! Orders are not enumerated one by one. For each set of passes already done there is one memory,
//! however they were ordered, or there is a dependence; so with n passes at most n · 2^(n-1) are
//! run rather than n · n!.
//! Where no pass that continues changes anything, as in most quantifiers and searches, each one
//! ends as it does from the start, and n passes are enough.
//!
//! Loops inside a pass are checked in turn, from every memory that the pass is run on.

mod difference;

use hadal_model::{FaultKind, PAD_BYTES};

use super::super::order::{LoopTable, MAX_PASSES};
use super::exprs::Values;
use super::{Activation, Ended, Halt, Machine};
use crate::expr::Quantifier;
use crate::ids::{ExprId, LocalId, SiteId};
use crate::stmt::Block;
use crate::types::{SimpleKind, UnionPart};

/// Passes that the check of all loops of one instance may run to try sets of them.
const MAX_PASSES_OF_INSTANCE: u64 = 1 << 18;

/// What the machine keeps while it checks loops.
pub(in crate::interp) struct OrderState {
    table: LoopTable,
    /// By checked loop.
    evaluations: Vec<u64>,
    /// Inside a loop that was checked from here on already.
    is_suspended: bool,
    /// Passes run since the instance began, to try sets of them.
    n_passes: u64,
    /// Loops over slots of multisets that are running.
    n_slot_loops: u32,
    /// Buffers for reuse.
    spare: Vec<Vec<u8>>,
}

impl OrderState {
    pub(in crate::interp) fn new(table: LoopTable) -> Self {
        OrderState {
            evaluations: vec![0; table.n_loops()],
            table,
            is_suspended: false,
            n_passes: 0,
            n_slot_loops: 0,
            spare: Vec::new(),
        }
    }

    pub(in crate::interp) fn take_evaluations(&mut self) -> Vec<u64> {
        let n_loops = self.evaluations.len();
        std::mem::replace(&mut self.evaluations, vec![0; n_loops])
    }

    /// An instance of a rule or property is about to be run.
    pub(in crate::interp) fn begin_instance(&mut self) {
        self.n_passes = 0;
    }
}

/// A loop or quantifier that is about to run.
#[derive(Clone, Copy)]
struct Loop<'p> {
    var: LocalId,
    body: Body<'p>,
    site: SiteId,
    is_over_slots: bool,
}

#[derive(Clone, Copy)]
enum Body<'p> {
    Statements(&'p Block),
    Condition(Quantifier, ExprId),
}

/// The position of the machine when it reached a loop.
#[derive(Clone, Copy)]
struct Entry<'p> {
    current: Activation<'p>,
    n_covered: usize,
    returned: i64,
    /// The checked loop.
    number: u32,
}

/// The result of a sequence of passes.
#[derive(Clone, Debug, Default)]
struct Outcome {
    end: End,
    /// State and frames, up to what is in use, and padding; empty where it does not count.
    memory: Vec<u8>,
    /// Cover points hit since the loop began, sorted.
    covered: Vec<u32>,
    /// For how many passes the condition was true.
    count: i64,
    /// The values of the passes.
    path: Vec<i64>,
}

/// How the last pass ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum End {
    /// The next pass may run.
    #[default]
    Continues,
    /// With the value that the function returns, if it is simple.
    Returns(Option<i64>),
    /// The quantifier is decided.
    Decides,
    /// With the message; which fault it was does not matter.
    Fails(String),
    Abandons,
}

impl<'p> Machine<'p> {
    /// Runs a `for` statement, after trying its orders if it is a checked one.
    pub(super) fn for_each_in_any_order(
        &mut self,
        var: LocalId,
        values: Values,
        body: &'p Block,
        site: SiteId,
    ) -> Result<Ended, Halt> {
        let body_run = Body::Statements(body);
        self.in_any_order(var, body_run, site, values, |machine, values| {
            machine.for_each(var, values, body)
        })
    }

    /// Evaluates a quantifier, after trying its orders if it is a checked one.
    pub(super) fn quantify_in_any_order(
        &mut self,
        quantifier: Quantifier,
        var: LocalId,
        values: Values,
        body: ExprId,
        site: SiteId,
    ) -> Result<i64, Halt> {
        let body_run = Body::Condition(quantifier, body);
        self.in_any_order(var, body_run, site, values, |machine, values| {
            machine.quantify(quantifier, var, values, body)
        })
    }

    fn in_any_order<T>(
        &mut self,
        var: LocalId,
        body: Body<'p>,
        site: SiteId,
        values: Values,
        run: impl FnOnce(&mut Self, Values) -> Result<T, Halt>,
    ) -> Result<T, Halt> {
        let frame = self.current.frame;
        let Some(order) = &mut self.order else {
            return run(self, values);
        };
        let variable = order.table.variable(frame, var);
        let checked = variable.checked.filter(|_| !order.is_suspended);
        order.n_slot_loops += u32::from(variable.is_slot);
        let result = match checked {
            None => run(self, values),
            Some(number) => {
                order.evaluations[number as usize] += 1;
                let passes = Loop {
                    var,
                    body,
                    site,
                    is_over_slots: variable.is_slot,
                };
                self.check_then_run(number, passes, values, run)
            }
        };
        if let Some(order) = &mut self.order {
            order.n_slot_loops -= u32::from(variable.is_slot);
        }
        result
    }

    fn check_then_run<T>(
        &mut self,
        number: u32,
        passes: Loop<'p>,
        values: Values,
        run: impl FnOnce(&mut Self, Values) -> Result<T, Halt>,
    ) -> Result<T, Halt> {
        let mut first_two = values.clone();
        if first_two.next().is_none() || first_two.next().is_none() {
            return run(self, values);
        }
        self.check_orders(number, passes, values.clone())?;
        // Loops inside have been checked on every memory that the passes meet in this order too.
        self.suspend(true);
        let result = run(self, values);
        self.suspend(false);
        result
    }

    fn suspend(&mut self, is_suspended: bool) {
        if let Some(order) = &mut self.order {
            order.is_suspended = is_suspended;
        }
    }

    /// Tries the passes of a loop in all orders. A dependence is a fault; otherwise everything is as
    /// before.
    fn check_orders(&mut self, number: u32, passes: Loop<'p>, values: Values) -> Result<(), Halt> {
        let entry = Entry {
            current: self.current,
            n_covered: self.covered.len(),
            returned: self.returned,
            number,
        };
        let start = Outcome {
            memory: self.snapshot(),
            ..Outcome::default()
        };
        let mut check = Check {
            entry,
            passes,
            ending: None,
        };
        let mut groups = self.groups(passes.var, values).into_iter().peekable();
        let mut reached = start.clone();
        while let Some(mut group) = groups.next() {
            self.check_from(&mut check, &reached, group.clone())?;
            if check.ending.is_some() || groups.peek().is_none() {
                break;
            }
            // All orders of this group lead to the same memory, so one of them will do.
            while let Some(value) = group.next() {
                let next = self.pass(&check, &reached, value)?;
                self.recycle(std::mem::replace(&mut reached, next));
            }
        }
        self.restore(&entry, &start.memory);
        for outcome in check.ending.into_iter().chain([start, reached]) {
            self.recycle(outcome);
        }
        Ok(())
    }

    /// The values of a loop in groups whose order is fixed. A union runs over its members in
    /// order: only within a scalarset do values change places.
    fn groups(&self, var: LocalId, values: Values) -> Vec<Values> {
        let types = &self.code.program.types;
        let ty = self.current.frame.slot(var).kind.ty();
        let Some(SimpleKind::Union(parts)) = types.simple(ty).map(|simple| &simple.kind) else {
            return vec![values];
        };
        let mut groups = Vec::new();
        let mut lo = 0;
        for part in parts {
            let hi = lo + types.union_part_len(part) - 1;
            match part {
                UnionPart::Scalarset(_) => groups.push(Values::between(lo, hi)),
                UnionPart::Enum(_) => groups.extend((lo..=hi).map(|it| Values::between(it, it))),
            }
            lo = hi + 1;
        }
        groups
    }

    fn check_from(
        &mut self,
        check: &mut Check<'p>,
        start: &Outcome,
        mut values: Values,
    ) -> Result<(), Halt> {
        let all_values = values.clone();
        let mut n_passes = 0;
        // What single passes lead to, by pass; kept while there are few.
        let mut singles: Vec<Option<Outcome>> = Vec::new();
        let mut has_effects = false;
        let mut covering: Option<Outcome> = None;
        while let Some(value) = values.next() {
            let outcome = self.pass(check, start, value)?;
            n_passes += 1;
            let outcome = self.unless_ending(check, outcome)?;
            if let Some(outcome) = &outcome {
                has_effects = has_effects || !self.same_memory(check, start, outcome, false);
                if covering.is_none() && !outcome.covered.is_empty() {
                    covering = Some(outcome.clone());
                }
            }
            if n_passes <= MAX_PASSES {
                singles.push(outcome);
            } else if let Some(outcome) = outcome {
                self.recycle(outcome);
            }
        }
        if has_effects && n_passes > MAX_PASSES {
            let message = format!(
                "the loop has {n_passes} passes and changes something; the orders of at most \
                 {MAX_PASSES} such passes are compared"
            );
            return self.fault(FaultKind::OrderDependence, message, check.passes.site);
        }
        if has_effects {
            return self.check_sets(check, singles, all_values);
        }
        // The effect of a pass does not depend on the passes before it. Only the
        // cover points of passes before the one that ends the loop can make a difference.
        if let (Some(covering), Some(ending)) = (&covering, &check.ending)
            && matches!(ending.end, End::Returns(_) | End::Decides)
        {
            let mut after = ending.clone();
            after.path.splice(0..0, covering.path.iter().copied());
            after.covered.extend_from_slice(&covering.covered);
            after.covered.sort_unstable();
            return self.dependence(check, &after, ending, true);
        }
        for outcome in singles.into_iter().flatten() {
            self.recycle(outcome);
        }
        Ok(())
    }

    /// The general case: one memory for each set of passes, smaller sets first.
    fn check_sets(
        &mut self,
        check: &mut Check<'p>,
        singles: Vec<Option<Outcome>>,
        mut values: Values,
    ) -> Result<(), Halt> {
        let n_passes = singles.len();
        let all = (1usize << n_passes) - 1;
        let values: Vec<i64> = std::iter::from_fn(|| values.next()).collect();
        let mut sets: Vec<Option<Outcome>> = Vec::new();
        sets.resize_with(all + 1, || None);
        for (pass, outcome) in singles.into_iter().enumerate() {
            sets[1 << pass] = outcome;
        }
        for n_done in 1..n_passes as u32 {
            for done in (1..all).filter(|set| set.count_ones() == n_done) {
                // A set that no order gets through has no successors.
                let Some(before) = sets[done].take() else {
                    continue;
                };
                for (pass, &value) in values.iter().enumerate() {
                    let with = done | 1 << pass;
                    if with == done {
                        continue;
                    }
                    self.count_pass(check)?;
                    let outcome = self.pass(check, &before, value)?;
                    let Some(outcome) = self.unless_ending(check, outcome)? else {
                        continue;
                    };
                    match &sets[with] {
                        None => sets[with] = Some(outcome),
                        Some(first) => {
                            if !self.same(check, first, &outcome, with == all) {
                                return self.dependence(check, first, &outcome, with == all);
                            }
                            self.recycle(outcome);
                        }
                    }
                }
                self.recycle(before);
            }
        }
        if let Some(end) = sets[all].take() {
            if let Some(ending) = &check.ending {
                return self.dependence(check, ending, &end, true);
            }
            self.recycle(end);
        }
        Ok(())
    }

    /// Loops inside loops, and in functions that call themselves, multiply their orders; at some
    /// point a model is better rejected than waited for.
    fn count_pass(&mut self, check: &Check<'p>) -> Result<(), Halt> {
        let Some(order) = &mut self.order else {
            return Ok(());
        };
        order.n_passes += 1;
        if order.n_passes <= MAX_PASSES_OF_INSTANCE {
            return Ok(());
        }
        let message = format!(
            "the orders of this loop and of those inside it take more than \
             {MAX_PASSES_OF_INSTANCE} iterations to compare"
        );
        self.fault(FaultKind::OrderDependence, message, check.passes.site)
    }

    /// Runs one pass on the memory that others have left.
    fn pass(&mut self, check: &Check<'p>, before: &Outcome, value: i64) -> Result<Outcome, Halt> {
        self.restore(&check.entry, &before.memory);
        self.poll()?;
        self.set_local(check.passes.var, value);
        let mut count = before.count;
        let end = match check.passes.body {
            Body::Statements(body) => match self.run(body) {
                Ok(Ended::Normally) => End::Continues,
                Ok(Ended::ByReturn) => End::Returns(self.returned_value()),
                Err(halt) => End::of_halt(halt)?,
            },
            Body::Condition(quantifier, body) => match self.holds(body) {
                Ok(holds) => {
                    count += i64::from(holds);
                    match quantifier {
                        Quantifier::Forall if !holds => End::Decides,
                        Quantifier::Exists if holds => End::Decides,
                        _ => End::Continues,
                    }
                }
                Err(halt) => End::of_halt(halt)?,
            },
        };
        // A fault inside a call leaves the callee's frame behind.
        self.current = check.entry.current;
        let mut outcome = Outcome {
            path: before.path.clone(),
            count,
            ..Outcome::default()
        };
        outcome.path.push(value);
        if !matches!(end, End::Fails(_) | End::Abandons) {
            outcome.memory = self.snapshot();
            outcome.covered.extend_from_slice(&before.covered);
            let hits = &self.covered[check.entry.n_covered..];
            outcome.covered.extend_from_slice(hits);
            outcome.covered.sort_unstable();
        }
        outcome.end = end;
        Ok(outcome)
    }

    /// Returns an outcome from which the loop continues. One that ends the loop must equal all
    /// others that do.
    fn unless_ending(
        &mut self,
        check: &mut Check<'p>,
        outcome: Outcome,
    ) -> Result<Option<Outcome>, Halt> {
        if outcome.end == End::Continues {
            return Ok(Some(outcome));
        }
        match &check.ending {
            None => check.ending = Some(outcome),
            Some(first) => {
                if !self.same(check, first, &outcome, true) {
                    self.dependence(check, first, &outcome, true)?;
                }
                self.recycle(outcome);
            }
        }
        Ok(None)
    }

    /// The value that the running function returns, if it is simple.
    fn returned_value(&self) -> Option<i64> {
        let program = &self.code.program;
        let result = program.function(self.current.function?).result?;
        program.types.simple(result).map(|_| self.returned)
    }

    /// A copy of all memory in use.
    fn snapshot(&mut self) -> Vec<u8> {
        let spare = self.order.as_mut().and_then(|order| order.spare.pop());
        let mut copy = spare.unwrap_or_default();
        copy.clear();
        copy.extend_from_slice(&self.memory[..self.current.top + PAD_BYTES]);
        copy
    }

    /// Restores the beginning of a loop, with the memory that some of its passes left. Output of
    /// `put` is not kept while loops are checked, and rounds continue to be counted: the stop flag
    /// must be polled however short the passes are.
    fn restore(&mut self, entry: &Entry<'p>, memory: &[u8]) {
        self.current = entry.current;
        self.covered.truncate(entry.n_covered);
        self.returned = entry.returned;
        let in_use = entry.current.top;
        self.memory[..in_use].copy_from_slice(&memory[..in_use]);
    }

    fn recycle(&mut self, outcome: Outcome) {
        if let Some(order) = &mut self.order {
            order.spare.push(outcome.memory);
        }
    }
}

/// The check of one loop.
struct Check<'p> {
    entry: Entry<'p>,
    passes: Loop<'p>,
    /// The first outcome that ended the loop before its last pass was over.
    ending: Option<Outcome>,
}

impl End {
    /// How a pass ended that did not complete. A dependence found inside it is not an outcome but
    /// a result.
    fn of_halt(halt: Halt) -> Result<Self, Halt> {
        match halt {
            Halt::Fault(fault) if fault.kind != FaultKind::OrderDependence => {
                Ok(End::Fails(fault.message))
            }
            Halt::Abandoned => Ok(End::Abandons),
            halt => Err(halt),
        }
    }
}
