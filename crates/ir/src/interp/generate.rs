//! Successors by interpretation: the [`Expander`] over a [`Machine`].
//!
//! All ways to fire rules (filling a buffer, describing one step) go through one loop,
//! [`Generator::fire_rules`], with a [`Sink`] that receives the results.

use hadal_model::{
    Cursor, Expander, Failure, Fault, Flow, Phase, States, Step, Stop, Stopped, Successors,
    Unmeasured,
};

use super::Limits;
use super::instances::{self, Odometer};
use super::machine::{Halt, Machine, RawFault};
use super::prepare::Prepared;
use crate::program::{Frame, Guard, Param, ParamDomain, Property, Rule};

pub(super) struct Generator<'p> {
    pub(super) code: &'p Prepared,
    pub(super) machine: Machine<'p>,
    pub(super) odometer: Odometer,
}

/// Receives what happens while rules fire.
trait Sink {
    /// Whether another successor may be delivered.
    fn has_room(&self) -> bool;
    /// A guard was true.
    fn enabled(&mut self);
    /// Number of guards that were true since the expansion of this state began.
    fn n_enabled(&self) -> u32;
    /// A body ran to its end; of a startstate, only what it covered counts.
    fn fired(&mut self, rule: u32, progress: bool, covered: &[u32]);
    /// A successor. `true` ends the expansion.
    fn successor(&mut self, rule: u32, state: &[u8]) -> bool;
    /// An instance could not be evaluated.
    fn fault(&mut self, fault: Fault);
}

/// How the firing of rules ended, if not by a fault or a stop.
enum Fired {
    All,
    NoRoom { rule: u32, instance: u64 },
    Ended,
}

/// The result of an instance that did not fault.
enum Firing {
    Done,
    NoRoom,
    Ended,
}

/// A halt with what it belongs to.
pub(super) enum Ended {
    Stopped,
    Fault(Fault),
}

/// What was being evaluated, for faults.
#[derive(Clone, Copy)]
pub(super) struct Subject<'p> {
    pub(super) phase: Phase,
    pub(super) name: &'p str,
    pub(super) frame: &'p Frame,
    pub(super) params: &'p [Param],
}

impl<'p> Generator<'p> {
    pub(super) fn new(code: &'p Prepared, limits: Limits, stop: &'p Stop) -> Self {
        Generator {
            code,
            machine: Machine::new(code, limits, stop),
            odometer: Odometer::default(),
        }
    }

    /// Fires the rules from position `first` of the rule order and its instance on.
    ///
    /// The source is loaded afresh after each firing.
    fn fire_rules(
        &mut self,
        source: &[u8],
        first: u32,
        first_instance: u64,
        sink: &mut dyn Sink,
    ) -> Result<Fired, Stopped> {
        let code = self.code;
        self.machine.load_state(source);
        let mut priority = None;
        for position in first..code.rule_order.len() as u32 {
            let number = code.rule_order[position as usize];
            let rule = &code.program.rules[number as usize];
            // Only the least priority that has an enabled rule fires.
            if priority != Some(rule.priority) && sink.n_enabled() > 0 && priority.is_some() {
                break;
            }
            priority = Some(rule.priority);
            let instance = if position == first { first_instance } else { 0 };
            self.odometer.set(&code.program, &rule.params, instance);
            while !self.odometer.done {
                if self.stopped_between_instances() {
                    return Err(Stopped);
                }
                match self.fire(source, number, sink) {
                    Ok(Firing::Done) => {}
                    Ok(Firing::NoRoom) => {
                        return Ok(Fired::NoRoom {
                            rule: position,
                            instance: self.odometer.instance,
                        });
                    }
                    Ok(Firing::Ended) => return Ok(Fired::Ended),
                    // Which instance comes first may depend on names, so one that faults must not
                    // keep others from firing.
                    Err(Ended::Fault(fault)) => {
                        sink.fault(fault);
                        self.machine.load_state(source);
                    }
                    Err(Ended::Stopped) => return Err(Stopped),
                }
                self.odometer.advance();
            }
        }
        Ok(Fired::All)
    }

    /// Fires the current instance of a rule on the state in memory, which is `source` again
    /// afterwards.
    fn fire(&mut self, source: &[u8], number: u32, sink: &mut dyn Sink) -> Result<Firing, Ended> {
        let code = self.code;
        let rule = &code.program.rules[number as usize];
        let frame = &code.rule_frames[number as usize];
        let subject = Subject {
            phase: Phase::Guard,
            name: &rule.name,
            frame: &rule.frame,
            params: &rule.params,
        };
        self.machine.open_frame(frame, &rule.frame);
        if !self.bind(&rule.params, subject)? || !self.condition(&rule.guard, subject)? {
            return Ok(Firing::Done);
        }
        if !sink.has_room() {
            return Ok(Firing::NoRoom);
        }
        sink.enabled();
        let body = Subject {
            phase: Phase::Body,
            ..subject
        };
        // The body's locals start undefined, whatever the guard's prologue left there.
        self.machine.open_frame(frame, &rule.frame);
        self.bind(&rule.params, subject)?;
        self.machine.forget_effects();
        let ran = self.machine.run_body(&rule.body);
        if !matches!(ran, Err(Halt::Abandoned)) {
            self.report(body, sink);
        }
        match ran {
            Ok(()) => {
                self.machine.normalise_bags();
                let progress = self.machine.state() != source;
                sink.fired(number, progress, &self.machine.covered);
                if self.assumed()? && sink.successor(number, self.machine.state()) {
                    return Ok(Firing::Ended);
                }
            }
            Err(Halt::Abandoned) => {}
            Err(halt) => return Err(self.ended(halt, body)),
        }
        self.machine.load_state(source);
        Ok(Firing::Done)
    }

    /// A ruleset over a huge range must be interruptible even if its guard has no loop.
    pub(super) fn stopped_between_instances(&mut self) -> bool {
        self.odometer.instance % 4096 == 4095 && self.machine.stop_raised()
    }

    /// Puts the parameters of the current instance into the frame. False where a parameter stands
    /// for a slot that holds no element.
    pub(super) fn bind(
        &mut self,
        params: &'p [Param],
        subject: Subject<'p>,
    ) -> Result<bool, Ended> {
        for (position, param) in params.iter().enumerate() {
            let digit = self.odometer.digits[position];
            let value = param.domain.value(&self.code.program.types, digit);
            self.machine.set_local(param.local, value);
            if let ParamDomain::Slots { multiset, .. } = &param.domain {
                match self.machine.slot_present(multiset, value) {
                    Ok(true) => {}
                    Ok(false) => return Ok(false),
                    Err(halt) => return Err(self.ended(halt, subject)),
                }
            }
        }
        Ok(true)
    }

    pub(super) fn condition(
        &mut self,
        guard: &'p Guard,
        subject: Subject<'p>,
    ) -> Result<bool, Ended> {
        let result = match guard.prologue.is_empty() {
            true => Ok(()),
            false => self.machine.run_body(&guard.prologue),
        };
        let result = result.and_then(|()| match guard.condition {
            Some(condition) => self.machine.holds(condition),
            None => Ok(true),
        });
        result.map_err(|halt| self.ended(halt, subject))
    }

    /// Reports the assertions that failed and let the body continue.
    fn report(&mut self, body: Subject<'p>, sink: &mut dyn Sink) {
        for raw in std::mem::take(&mut self.machine.reported) {
            sink.fault(self.fault(raw, body));
        }
    }

    /// Whether the model may end in the state in memory, where no rule is enabled.
    fn may_end(&mut self) -> Result<bool, Ended> {
        let code = self.code;
        Ok(!code.ends.is_empty() && self.all_hold(&code.ends)?)
    }

    /// Whether the state in memory satisfies the model's assumptions.
    pub(super) fn assumed(&mut self) -> Result<bool, Ended> {
        if self.code.assumptions.is_empty() {
            return Ok(true);
        }
        // The odometer is in use for the rule that fired.
        let outer = std::mem::take(&mut self.odometer);
        let holds = self.all_hold(&self.code.assumptions);
        self.odometer = outer;
        holds
    }

    fn all_hold(&mut self, properties: &[u32]) -> Result<bool, Ended> {
        let mut holds = true;
        for &property in properties {
            // Every instance is evaluated, since one that faults must not hide behind
            // one that is false: which comes first may depend on names.
            self.for_each_instance(property, &mut |_, instance_holds| {
                holds &= instance_holds?;
                Ok(())
            })?;
            if !holds {
                break;
            }
        }
        Ok(holds)
    }

    /// Evaluates the instances of a property on the state in memory until `visit`, given the
    /// number of the instance and whether it holds, returns a fault.
    fn for_each_instance(
        &mut self,
        number: u32,
        visit: &mut dyn FnMut(u64, Result<bool, Fault>) -> Result<(), Fault>,
    ) -> Result<(), Ended> {
        let code = self.code;
        let params = &code.program.properties[number as usize].params;
        self.odometer.set(&code.program, params, 0);
        while !self.odometer.done {
            if self.stopped_between_instances() {
                return Err(Ended::Stopped);
            }
            let holds = match self.instance_holds(number) {
                Ok(holds) => holds.map(Ok),
                Err(Ended::Fault(fault)) => Some(Err(fault)),
                Err(Ended::Stopped) => return Err(Ended::Stopped),
            };
            if let Some(holds) = holds {
                visit(self.odometer.instance, holds).map_err(Ended::Fault)?;
            }
            self.odometer.advance();
        }
        Ok(())
    }

    /// Whether the current instance of a property holds; `None` where a parameter stands for a
    /// slot that holds no element.
    fn instance_holds(&mut self, number: u32) -> Result<Option<bool>, Ended> {
        let code = self.code;
        let property = &code.program.properties[number as usize];
        let subject = Subject {
            phase: Phase::Property,
            name: &property.name,
            frame: &property.frame,
            params: &property.params,
        };
        let frame = &code.property_frames[number as usize];
        self.machine.open_frame(frame, &property.frame);
        if !self.bind(&property.params, subject)? {
            return Ok(None);
        }
        self.condition(&property.condition, subject).map(Some)
    }

    /// Adds the failures of an invariant in the state in memory: of the instances that are false
    /// the first one, and the first fault of each kind. All instances are evaluated, since which
    /// of them comes first may depend on names.
    fn check_invariant(
        &mut self,
        state: u32,
        (property, in_shape): (u32, u32),
        failures: &mut Vec<Failure>,
    ) -> Result<(), Ended> {
        let program = &self.code.program;
        let first = failures.len();
        self.for_each_instance(property, &mut |instance, holds| {
            let failure = match holds {
                Ok(true) => return Ok(()),
                Ok(false) => {
                    let Property { frame, params, .. } = &program.properties[property as usize];
                    Failure {
                        state,
                        property: in_shape,
                        parameters: instances::names(program, frame, params, instance),
                        fault: None,
                    }
                }
                Err(fault) => faulty(state, in_shape, fault),
            };
            let kind = |failure: &Failure| failure.fault.as_ref().map(|fault| fault.kind);
            if !failures[first..]
                .iter()
                .any(|it| kind(it) == kind(&failure))
            {
                failures.push(failure);
            }
            Ok(())
        })
    }

    /// The number that a measure assigns to the state in memory, or why there is none.
    fn measure_number(&mut self, number: usize) -> Result<Result<u32, String>, Stopped> {
        let code = self.code;
        let measure = &code.program.measures[number];
        (self.machine).open_frame(&code.measure_frames[number], &measure.frame);
        let ran = self.machine.run_body(&measure.body);
        let value = match ran.and_then(|()| self.machine.integer(measure.value)) {
            Ok(value) => value,
            Err(Halt::Fault(_)) if measure.is_zero_at_faults => 0,
            Err(Halt::Fault(fault)) => return Ok(Err(fault.message)),
            Err(Halt::Stopped) => return Err(Stopped),
            Err(Halt::Abandoned) => unreachable!("verified: only bodies assume"),
        };
        Ok(u32::try_from(value).map_err(|_| match value < 0 {
            true => format!("it is {value}, but must not be negative"),
            false => format!("it is {value}, but must not exceed {}", u32::MAX),
        }))
    }

    pub(super) fn ended(&self, halt: Halt, subject: Subject<'p>) -> Ended {
        match halt {
            Halt::Fault(fault) => Ended::Fault(self.fault(*fault, subject)),
            Halt::Stopped => Ended::Stopped,
            Halt::Abandoned => unreachable!("verified: only bodies assume"),
        }
    }

    fn fault(&self, raw: RawFault, subject: Subject<'p>) -> Fault {
        let digits = subject.params.iter().zip(&self.odometer.digits);
        let parameters = digits.map(|(param, &digit)| {
            let value = param.domain.value(&self.code.program.types, digit);
            let name = subject.frame.local(param.local).name.clone();
            let value = instances::value_name(&self.code.program, subject.frame, param, value);
            (name, value)
        });
        Fault {
            kind: raw.kind,
            message: raw.message,
            at: self.code.program.position(raw.site),
            phase: subject.phase,
            name: subject.name.to_owned(),
            parameters: parameters.collect(),
            goes_on: raw.goes_on,
        }
    }

    /// Runs the startstates from a position and instance on.
    fn run_starts(
        &mut self,
        first: u32,
        first_instance: u64,
        sink: &mut dyn Sink,
    ) -> Result<Fired, Ended> {
        let code = self.code;
        for number in first..code.program.starts.len() as u32 {
            let start = &code.program.starts[number as usize];
            let frame = &code.start_frames[number as usize];
            let subject = Subject {
                phase: Phase::Start,
                name: &start.name,
                frame: &start.frame,
                params: &start.params,
            };
            let instance = if number == first { first_instance } else { 0 };
            self.odometer.set(&code.program, &start.params, instance);
            while !self.odometer.done {
                if !sink.has_room() {
                    return Ok(Fired::NoRoom {
                        rule: number,
                        instance: self.odometer.instance,
                    });
                }
                self.machine.clear_state();
                self.machine.open_frame(frame, &start.frame);
                if self.stopped_between_instances() {
                    return Err(Ended::Stopped);
                }
                if self.bind(&start.params, subject)? {
                    self.machine.forget_effects();
                    let ran = self.machine.run_body(&start.body);
                    if !matches!(ran, Err(Halt::Abandoned)) {
                        self.report(subject, sink);
                    }
                    match ran {
                        Ok(()) => {
                            self.machine.normalise_bags();
                            sink.fired(number, true, &self.machine.covered);
                            let state = self.assumed()?.then(|| self.machine.state());
                            if state.is_some_and(|state| sink.successor(number, state)) {
                                return Ok(Fired::Ended);
                            }
                        }
                        Err(Halt::Abandoned) => {}
                        Err(halt) => return Err(self.ended(halt, subject)),
                    }
                }
                self.odometer.advance();
            }
        }
        Ok(Fired::All)
    }

    /// Expands up to the successor of that index; returns it and the step that made it.
    pub(super) fn find_step(
        mut self,
        parent: Option<&[u8]>,
        index: u32,
    ) -> Result<Option<(Step, Vec<u8>)>, Stopped> {
        self.machine.enter();
        let mut sink = Finder {
            left: index,
            n_enabled: 0,
            found: 0,
        };
        self.machine.output = Some(String::new());
        let fired = match parent {
            Some(parent) => self.fire_rules(parent, 0, 0, &mut sink)?,
            None => match self.run_starts(0, 0, &mut sink) {
                Ok(fired) => fired,
                Err(Ended::Stopped) => return Err(Stopped),
                Err(Ended::Fault(_)) => Fired::All,
            },
        };
        if !matches!(fired, Fired::Ended) {
            return Ok(None);
        }
        let step = self.step(sink.found as usize, parent.is_none());
        Ok(Some((step, self.machine.state().to_vec())))
    }

    /// Calls `each` with the steps that make the successors of `parent`.
    pub(super) fn describe_steps(
        mut self,
        parent: &[u8],
        each: &mut dyn FnMut(Step),
    ) -> Result<(), Stopped> {
        self.machine.enter();
        let mut sink = Finder {
            left: 0,
            n_enabled: 0,
            found: 0,
        };
        let (mut position, mut instance) = (0, 0);
        loop {
            self.machine.output = Some(String::new());
            match self.fire_rules(parent, position, instance, &mut sink)? {
                Fired::Ended => {}
                Fired::All | Fired::NoRoom { .. } => return Ok(()),
            }
            each(self.step(sink.found as usize, false));
            // Behind the instance that has just fired.
            let mut order = self.code.rule_order.iter();
            let found = order.position(|&rule| rule == sink.found);
            position = found.map_or(u32::MAX, |at| at as u32);
            instance = self.odometer.instance + 1;
        }
    }

    /// The step of the current instance of a rule, or of a startstate, which has just fired.
    fn step(&mut self, number: usize, is_start: bool) -> Step {
        let program = &self.code.program;
        let (name, frame, params) = match is_start {
            false => {
                let rule = &program.rules[number];
                (&rule.name, &rule.frame, &rule.params)
            }
            true => {
                let start = &program.starts[number];
                (&start.name, &start.frame, &start.params)
            }
        };
        let output = self.machine.output.take().unwrap_or_default();
        Step {
            rule: name.clone(),
            parameters: instances::names(program, frame, params, self.odometer.instance),
            output: output.trim_end().lines().map(str::to_owned).collect(),
            inner: Vec::new(),
        }
    }
}

/// Fills a buffer with the successors of one source.
struct Buffer<'a> {
    out: &'a mut Successors,
    source: u32,
    first_cover_point: u32,
    /// The rules, unless these are startstates, which have no cost and count no firings.
    rules: Option<&'a [Rule]>,
}

impl Sink for Buffer<'_> {
    fn has_room(&self) -> bool {
        !self.out.is_full()
    }

    fn enabled(&mut self) {
        self.out.count_enabled(self.source);
    }

    fn n_enabled(&self) -> u32 {
        self.out.sources()[self.source as usize].enabled
    }

    fn fired(&mut self, rule: u32, progress: bool, covered: &[u32]) {
        if self.rules.is_some() {
            self.out.count_firing(self.source, rule, progress);
        }
        for point in covered {
            self.out.count_goal(self.first_cover_point + point);
        }
    }

    fn successor(&mut self, rule: u32, state: &[u8]) -> bool {
        self.out.push(self.source, rule, state);
        if let Some(rules) = self.rules {
            self.out.set_cost(rules[rule as usize].cost);
        }
        false
    }

    fn fault(&mut self, fault: Fault) {
        self.out.add_fault(self.source, fault);
    }
}

/// Looks for the successor of a certain index.
struct Finder {
    left: u32,
    n_enabled: u32,
    found: u32,
}

impl Sink for Finder {
    fn has_room(&self) -> bool {
        true
    }

    fn enabled(&mut self) {
        self.n_enabled += 1;
    }

    fn n_enabled(&self) -> u32 {
        self.n_enabled
    }

    fn fired(&mut self, _rule: u32, _progress: bool, _covered: &[u32]) {}

    fn successor(&mut self, rule: u32, _state: &[u8]) -> bool {
        self.found = rule;
        if self.left == 0 {
            return true;
        }
        self.left -= 1;
        false
    }

    fn fault(&mut self, _fault: Fault) {}
}

impl Expander for Generator<'_> {
    fn starts(&mut self, from: Cursor, out: &mut Successors) -> Flow {
        self.machine.enter();
        let mut sink = Buffer {
            out,
            source: 0,
            first_cover_point: self.code.goals.first_cover_point,
            rules: None,
        };
        match self.run_starts(from.rule, from.instance, &mut sink) {
            Ok(Fired::NoRoom { rule, instance }) => Flow::Full(Cursor {
                rule,
                instance,
                ..Cursor::default()
            }),
            Ok(_) => Flow::Done,
            Err(Ended::Stopped) => Flow::Stopped,
            Err(Ended::Fault(fault)) => {
                out.add_fault(0, fault);
                Flow::Done
            }
        }
    }

    fn expand(&mut self, block: States<'_>, from: Cursor, out: &mut Successors) -> Flow {
        self.machine.enter();
        let (mut first, mut first_instance) = (from.rule, from.instance);
        for source in from.state..block.len() as u32 {
            let mut sink = Buffer {
                out,
                source,
                first_cover_point: self.code.goals.first_cover_point,
                rules: Some(&self.code.program.rules),
            };
            let state = block.get(source as usize);
            match self.fire_rules(state, first, first_instance, &mut sink) {
                Ok(Fired::NoRoom { rule, instance }) => {
                    return Flow::Full(Cursor {
                        state: source,
                        rule,
                        instance,
                        inner: 0,
                    });
                }
                Ok(_) => {}
                Err(Stopped) => return Flow::Stopped,
            }
            if out.sources()[source as usize].enabled == 0 {
                match self.may_end() {
                    Ok(true) => out.set_may_end(source),
                    Ok(false) => {}
                    Err(Ended::Fault(fault)) => out.add_fault(source, fault),
                    Err(Ended::Stopped) => return Flow::Stopped,
                }
            }
            (first, first_instance) = (0, 0);
        }
        Flow::Done
    }

    fn check(&mut self, block: States<'_>, failures: &mut Vec<Failure>) -> Flow {
        self.machine.enter();
        let code = self.code;
        for (state, bytes) in block.iter().enumerate() {
            self.machine.load_state(bytes);
            for &invariant in &code.invariants {
                if let Err(Ended::Stopped) = self.check_invariant(state as u32, invariant, failures)
                {
                    return Flow::Stopped;
                }
            }
        }
        Flow::Done
    }

    fn reach_goals(
        &mut self,
        block: States<'_>,
        reached: &mut [u64],
        failures: &mut Vec<Failure>,
    ) -> Flow {
        self.machine.enter();
        let code = self.code;
        let n_words = (code.goals.n_goals as usize).div_ceil(64);
        for (state, bytes) in block.iter().enumerate() {
            self.machine.load_state(bytes);
            let row = &mut reached[state * n_words..][..n_words];
            for goal in &code.goals.properties {
                let checked = self.for_each_instance(goal.property, &mut |instance, holds| {
                    let bit = goal.first_goal as usize + instance as usize;
                    row[bit / 64] |= u64::from(holds?) << (bit % 64);
                    Ok(())
                });
                match checked {
                    Ok(()) => {}
                    Err(Ended::Stopped) => return Flow::Stopped,
                    Err(Ended::Fault(fault)) => {
                        failures.push(faulty(state as u32, goal.in_shape, fault));
                    }
                }
            }
        }
        Flow::Done
    }

    fn measure(&mut self, block: States<'_>, values: &mut Vec<u32>) -> Result<Flow, Unmeasured> {
        self.machine.enter();
        for (state, bytes) in block.iter().enumerate() {
            self.machine.load_state(bytes);
            for measure in 0..self.code.program.measures.len() {
                match self.measure_number(measure) {
                    Ok(Ok(value)) => values.push(value),
                    Ok(Err(message)) => {
                        return Err(Unmeasured {
                            state: state as u32,
                            measure: measure as u32,
                            message,
                        });
                    }
                    Err(Stopped) => return Ok(Flow::Stopped),
                }
            }
            if self.machine.stop_raised() {
                return Ok(Flow::Stopped);
            }
        }
        Ok(Flow::Done)
    }
}

fn faulty(state: u32, property: u32, fault: Fault) -> Failure {
    Failure {
        state,
        property,
        parameters: fault.parameters.clone(),
        fault: Some(Box::new(fault)),
    }
}
