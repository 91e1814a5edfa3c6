//! A naive explorer: states are plain structures in a queue, and nothing is clever.
//!
//! It executes automata as the language's definition has it, and counts what SPIN counts: states at
//! which no process has exclusive control, and the paths between them.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

use hadal_promela::MAX_INSTANCES;
use hadal_promela::automaton::{Edge, PointId};
use hadal_promela::program::{
    Action, BinaryOp, Expr, Initial, Match, Place, Program, QueueOp, Receive, Run, Send, VarId,
    Variable, apply_binary, apply_unary,
};

/// What an exploration found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) states: u64,
    pub(crate) edges: u64,
    pub(crate) errors: BTreeSet<Error>,
    pub(crate) complete: bool,
}

/// Kinds of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Error {
    Assertion,
    InvalidEndState,
    Index,
    DivisionByZero,
    BadPriority,
    BadChannel,
    DStepBlocks,
    DStepRendezvous,
    TooManyProcesses,
    TooManyChannels,
    EndlessAtomic,
    NoProcess,
    /// A never claim reached its end.
    Claim,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Proc {
    ty: usize,
    point: PointId,
    locals: Vec<i32>,
    priority: u8,
    /// Number of channels that were created with it.
    n_channels: usize,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Channel {
    ty: usize,
    messages: Vec<Vec<i32>>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct State {
    globals: Vec<i32>,
    pub(crate) procs: Vec<Proc>,
    channels: Vec<Channel>,
    last: usize,
}

/// A step: the state after it, and the process that keeps control.
type Step = (State, Option<usize>);

/// An element of a variable: its position among the elements of all variables before it.
type Slots = Vec<usize>;

pub(crate) struct Explorer<'p> {
    program: &'p Program,
    globals: Slots,
    locals: Vec<Slots>,
    pub(crate) errors: BTreeSet<Error>,
    /// An element of a hidden variable, which does not distinguish states.
    hidden: Vec<bool>,
    /// What `_nr_pr` is more than the number of processes.
    pub(crate) n_more: i32,
}

fn slots(variables: &[Variable]) -> Slots {
    let mut slots = vec![0];
    for variable in variables {
        slots.push(slots[slots.len() - 1] + variable.n_elements());
    }
    slots
}

/// The process that evaluates, and whether `timeout` holds.
#[derive(Clone, Copy)]
pub(crate) struct Context<'s> {
    pub(crate) state: &'s State,
    pub(crate) pid: usize,
    pub(crate) timeout: bool,
}

type Value<T> = Result<T, Error>;

impl<'p> Explorer<'p> {
    pub(crate) fn new(program: &'p Program) -> Self {
        let hidden = program
            .globals
            .iter()
            .flat_map(|it| vec![it.hidden; it.n_elements()])
            .collect();
        Explorer {
            program,
            globals: slots(&program.globals),
            locals: program
                .proctypes
                .iter()
                .map(|it| slots(&it.locals))
                .collect(),
            errors: BTreeSet::new(),
            hidden,
            n_more: 0,
        }
    }

    /// Empty counts and the initial state; the result, where that state is an error.
    pub(crate) fn start(&mut self) -> Result<(Counts, State), Counts> {
        let mut counts = Counts {
            states: 0,
            edges: 0,
            errors: BTreeSet::new(),
            complete: true,
        };
        match self.initial() {
            Ok(state) => Ok((counts, state)),
            Err(error) => {
                counts.errors.insert(error);
                Err(counts)
            }
        }
    }

    /// Explores at most `max_states` states.
    pub(crate) fn explore(mut self, max_states: u64) -> Counts {
        let (mut counts, initial) = match self.start() {
            Ok(start) => start,
            Err(counts) => return counts,
        };
        let mut seen: HashSet<Box<[u8]>> = HashSet::new();
        seen.insert(self.key(&initial));
        let mut queue = VecDeque::from([initial]);
        while let Some(state) = queue.pop_front() {
            for (next, n_paths) in self.successors(&state) {
                counts.edges += n_paths;
                if seen.len() as u64 >= max_states {
                    counts.complete = false;
                } else if seen.insert(self.key(&next)) {
                    queue.push_back(next);
                }
            }
            if !counts.complete {
                break;
            }
        }
        counts.states = seen.len() as u64;
        counts.errors = self.errors;
        counts
    }

    /// The state as bytes.
    pub(crate) fn key(&self, state: &State) -> Box<[u8]> {
        let mut key = Vec::with_capacity(64);
        let mut push = |value: i32| match u8::try_from(value) {
            Ok(byte) if byte < 255 => key.push(byte),
            _ => {
                key.push(255);
                key.extend(value.to_le_bytes());
            }
        };
        for (value, hidden) in state.globals.iter().zip(&self.hidden) {
            if !hidden {
                push(*value);
            }
        }
        push(state.procs.len() as i32);
        for proc in &state.procs {
            push(proc.ty as i32);
            push(proc.point.0 as i32);
            push(proc.priority.into());
            proc.locals.iter().for_each(|&it| push(it));
        }
        push(state.channels.len() as i32);
        for channel in &state.channels {
            push(channel.ty as i32);
            push(channel.messages.len() as i32);
            channel.messages.iter().flatten().for_each(|&it| push(it));
        }
        if self.program.uses_last {
            push(state.last as i32);
        }
        key.into()
    }

    pub(crate) fn initial(&mut self) -> Value<State> {
        let mut state = State {
            globals: vec![0; *self.globals.last().unwrap()],
            procs: Vec::new(),
            channels: Vec::new(),
            last: 0,
        };
        for (idx, variable) in self.program.globals.iter().enumerate() {
            for element in 0..variable.n_elements() {
                let value = self.initial_value(&mut state, variable, element, 0)?;
                state.globals[self.globals[idx] + element] = value;
            }
        }
        for &ty in &self.program.initial {
            let priority = self.program.proctypes[ty].priority;
            self.create(&mut state, ty, &[], priority)?;
        }
        Ok(state)
    }

    fn initial_value(
        &self,
        state: &mut State,
        variable: &Variable,
        element: usize,
        pid: usize,
    ) -> Value<i32> {
        let expr = match &variable.initial {
            Initial::Zero | Initial::Param => return Ok(0),
            Initial::Channel(ty) => {
                if state.channels.len() >= MAX_INSTANCES {
                    return Err(Error::TooManyChannels);
                }
                state.channels.push(Channel {
                    ty: *ty,
                    messages: Vec::new(),
                });
                return Ok(state.channels.len() as i32);
            }
            Initial::Expr(expr) => expr,
            Initial::List(list) => match list.get(element) {
                Some(expr) => expr,
                None => return Ok(0),
            },
        };
        let context = Context {
            state,
            pid,
            timeout: false,
        };
        Ok(variable.ty.truncate(self.eval(context, expr)?))
    }

    fn create(&self, state: &mut State, ty: usize, args: &[i32], priority: u8) -> Value<()> {
        let proctype = &self.program.proctypes[ty];
        let slots = &self.locals[ty];
        let pid = state.procs.len();
        if pid >= MAX_INSTANCES {
            return Err(Error::TooManyProcesses);
        }
        let n_before = state.channels.len();
        let mut locals = vec![0; slots[slots.len() - 1]];
        for (idx, arg) in args.iter().enumerate() {
            locals[slots[idx]] = proctype.locals[idx].ty.truncate(*arg);
        }
        state.procs.push(Proc {
            ty,
            point: proctype.automaton.start,
            locals,
            priority,
            n_channels: 0,
        });
        for (idx, variable) in proctype.locals.iter().enumerate() {
            if matches!(variable.initial, Initial::Param) {
                continue;
            }
            for element in 0..variable.n_elements() {
                let value = self.initial_value(state, variable, element, pid)?;
                state.procs[pid].locals[slots[idx] + element] = value;
            }
        }
        state.procs[pid].n_channels = state.channels.len() - n_before;
        Ok(())
    }

    /// The states that a state leads to, each with the number of paths.
    pub(crate) fn successors(&mut self, state: &State) -> Vec<(State, u64)> {
        let mut steps = self.steps(state, false);
        if steps.is_empty() {
            steps = self.steps(state, true);
        }
        if steps.is_empty() {
            self.check_end(state);
        }
        let mut out: Vec<(State, u64)> = Vec::new();
        let mut inner: HashMap<(State, usize), u64> = HashMap::new();
        let mut order: Vec<(State, usize)> = Vec::new();
        let deliver = |step: Step,
                       n_paths: u64,
                       out: &mut Vec<(State, u64)>,
                       inner: &mut HashMap<(State, usize), u64>,
                       order: &mut Vec<(State, usize)>| match step {
            (state, None) => out.push((state, n_paths)),
            (state, Some(pid)) => {
                let key = (state, pid);
                match inner.get_mut(&key) {
                    Some(n) => *n += n_paths,
                    None => {
                        order.push(key.clone());
                        inner.insert(key, n_paths);
                    }
                }
            }
        };
        for step in steps {
            deliver(step, 1, &mut out, &mut inner, &mut order);
        }
        for round in 0.. {
            if order.is_empty() {
                break;
            }
            if round > 20_000 {
                self.errors.insert(Error::EndlessAtomic);
                break;
            }
            let (now, now_order) = (std::mem::take(&mut inner), std::mem::take(&mut order));
            for (state, pid) in now_order {
                let n_paths = now[&(state.clone(), pid)];
                let steps = self.exclusive_steps(&state, pid);
                if steps.is_empty() {
                    // Control is lost, and everyone may move.
                    out.push((state, n_paths));
                    continue;
                }
                for step in steps {
                    deliver(step, n_paths, &mut out, &mut inner, &mut order);
                }
            }
        }
        out
    }

    fn exclusive_steps(&mut self, state: &State, pid: usize) -> Vec<Step> {
        let own = state.procs[pid].priority;
        for (other, proc) in state.procs.iter().enumerate() {
            let is_higher = self.program.uses_priorities && proc.priority > own;
            // A process of a higher priority interrupts.
            if is_higher && !self.proc_steps(state, other, false).is_empty() {
                return Vec::new();
            }
        }
        self.proc_steps(state, pid, false)
    }

    fn check_end(&mut self, state: &State) {
        let is_valid = |proc: &Proc| {
            let automaton = &self.program.proctypes[proc.ty].automaton;
            proc.point == automaton.end || automaton.point(proc.point).is_end
        };
        if !state.procs.iter().all(is_valid) {
            self.errors.insert(Error::InvalidEndState);
        }
    }

    /// The steps of all processes. Errors of those that may not run because of their priority do
    /// not count.
    fn steps(&mut self, state: &State, timeout: bool) -> Vec<Step> {
        let mut all: Vec<(u8, Vec<Step>, BTreeSet<Error>)> = Vec::new();
        for pid in (0..state.procs.len()).rev() {
            let before = std::mem::take(&mut self.errors);
            let steps = self.proc_steps(state, pid, timeout);
            let errors = std::mem::replace(&mut self.errors, before);
            if !steps.is_empty() || !errors.is_empty() {
                all.push((state.procs[pid].priority, steps, errors));
            }
        }
        let highest = all.iter().map(|it| it.0).max().unwrap_or(0);
        let mut out = Vec::new();
        for (priority, steps, errors) in all {
            if !self.program.uses_priorities || priority == highest {
                out.extend(steps);
                self.errors.extend(errors);
            }
        }
        out
    }

    fn proc_steps(&mut self, state: &State, pid: usize, timeout: bool) -> Vec<Step> {
        let proc = &state.procs[pid];
        let proctype = &self.program.proctypes[proc.ty];
        let context = Context {
            state,
            pid,
            timeout,
        };
        if let Some(provided) = &proctype.provided {
            match self.eval(context, provided) {
                Ok(0) => return Vec::new(),
                Ok(_) => {}
                Err(error) => {
                    self.errors.insert(error);
                    return Vec::new();
                }
            }
        }
        if proc.point == proctype.automaton.end {
            if pid + 1 != state.procs.len() {
                return Vec::new();
            }
            let mut next = state.clone();
            next.procs.pop();
            let n_left = next.channels.len() - proc.n_channels;
            next.channels.truncate(n_left);
            next.last = pid;
            return vec![(next, None)];
        }
        let edges = &proctype.automaton.point(proc.point).edges;
        let mut out = Vec::new();
        let mut any = false;
        let mut escape = None;
        for edge in edges {
            if escape.is_some() && edge.escape != escape {
                break;
            }
            if edge.action == Action::Else && any {
                continue;
            }
            match self.edge_steps(context, edge) {
                Ok(Some(steps)) => {
                    any = true;
                    if edge.escape.is_some() {
                        escape = edge.escape;
                    }
                    out.extend(steps);
                }
                Ok(None) => {}
                Err(error) => {
                    self.errors.insert(error);
                    any = true;
                }
            }
        }
        out
    }

    /// The steps of an edge; `None` if it is not executable.
    fn edge_steps(&mut self, context: Context<'_>, edge: &Edge) -> Value<Option<Vec<Step>>> {
        let Context { state, pid, .. } = context;
        if let Action::Send(send) = &edge.action
            && let (_, 0) = self.channel(context, &send.chan)?
        {
            let steps = self.handshakes(context, edge, send)?;
            return Ok((!steps.is_empty()).then_some(steps));
        }
        let mut next = state.clone();
        let is_executable = match &edge.action {
            Action::DStep { entry, exit } => {
                self.d_step(context, &mut next, *entry, *exit, None)?
            }
            action => self.execute(context, &mut next, action)?,
        };
        if !is_executable {
            return Ok(None);
        }
        next.procs[pid].point = edge.target;
        next.last = pid;
        let keeper = edge.keeps_control.then_some(pid);
        Ok(Some(vec![(next, keeper)]))
    }

    /// Whether an expression names a channel whose process is gone.
    fn is_gone(&self, context: Context<'_>, chan: &Expr) -> Value<bool> {
        let id = self.eval(context, chan)?;
        Ok(usize::try_from(id).is_ok_and(|id| id > context.state.channels.len()))
    }

    /// Whether such a channel is taken for one without messages when something is received.
    fn waits_for_gone(&self) -> bool {
        let mut channels = self.program.channels.iter();
        !(channels.clone().any(|it| it.capacity == 0) && channels.any(|it| it.capacity > 0))
    }

    /// The index and capacity of a channel.
    fn channel(&self, context: Context<'_>, chan: &Expr) -> Value<(usize, u32)> {
        let id = self.eval(context, chan)?;
        let idx = usize::try_from(id).ok().and_then(|id| id.checked_sub(1));
        let channel = idx.and_then(|idx| context.state.channels.get(idx));
        match (idx, channel) {
            (Some(idx), Some(channel)) => Ok((idx, self.program.channels[channel.ty].capacity)),
            _ => Err(Error::BadChannel),
        }
    }

    /// The steps of a rendezvous: all receivers that match.
    fn handshakes(&mut self, context: Context<'_>, edge: &Edge, send: &Send) -> Value<Vec<Step>> {
        let Context { state, pid, .. } = context;
        let (channel, _) = self.channel(context, &send.chan)?;
        let message = self.message(context, send, state.channels[channel].ty)?;
        let mut middle = state.clone();
        middle.procs[pid].point = edge.target;
        middle.last = pid;
        let mut out = Vec::new();
        for other in (0..state.procs.len()).rev().filter(|&it| it != pid) {
            let proc = &middle.procs[other];
            let proctype = &self.program.proctypes[proc.ty];
            // The sender has moved, so that there is no timeout any more.
            let context = Context {
                state: &middle,
                pid: other,
                timeout: false,
            };
            if let Some(provided) = &proctype.provided
                && self.eval(context, provided)? == 0
            {
                continue;
            }
            let mut escape = None;
            for edge in &proctype.automaton.point(proc.point).edges {
                if escape.is_some() && edge.escape != escape {
                    break;
                }
                let mut next = middle.clone();
                let offer = Some((channel, &message[..]));
                let accepts = match &edge.action {
                    Action::Receive(receive) => {
                        self.accept(context, &mut next, receive, channel, &message)?
                    }
                    Action::DStep { entry, exit } => {
                        self.d_step(context, &mut next, *entry, *exit, offer)?
                    }
                    _ => false,
                };
                if !accepts {
                    continue;
                }
                if edge.escape.is_some() {
                    escape = edge.escape;
                }
                next.procs[other].point = edge.target;
                next.last = other;
                out.push((next, edge.keeps_control.then_some(other)));
            }
        }
        Ok(out)
    }

    /// The receive half of a rendezvous.
    fn accept(
        &self,
        context: Context<'_>,
        next: &mut State,
        receive: &Receive,
        channel: usize,
        message: &[i32],
    ) -> Value<bool> {
        let (own, _) = self.channel(context, &receive.chan)?;
        if own != channel || !self.matches(context, receive, message)? {
            return Ok(false);
        }
        self.assign_message(context, next, receive, message)?;
        Ok(true)
    }

    fn message(&self, context: Context<'_>, send: &Send, ty: usize) -> Value<Vec<i32>> {
        let fields = &self.program.channels[ty].fields;
        let mut message = vec![0; fields.len()];
        for ((slot, ty), arg) in message.iter_mut().zip(fields).zip(&send.args) {
            *slot = ty.truncate(self.eval(context, arg)?);
        }
        Ok(message)
    }

    fn matches(&self, context: Context<'_>, receive: &Receive, message: &[i32]) -> Value<bool> {
        for (arg, field) in receive.args.iter().zip(message) {
            if let Match::Equal(expr) = arg
                && self.eval(context, expr)? != *field
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn assign_message(
        &self,
        context: Context<'_>,
        next: &mut State,
        receive: &Receive,
        message: &[i32],
    ) -> Value<()> {
        for (arg, field) in receive.args.iter().zip(message) {
            if let Match::Assign(place) = arg {
                self.store(context, next, place, *field)?;
            }
        }
        Ok(())
    }

    /// Runs a `d_step`. `offer` is the message of a rendezvous that its first statement must
    /// receive.
    fn d_step(
        &mut self,
        context: Context<'_>,
        next: &mut State,
        entry: PointId,
        exit: PointId,
        offer: Option<(usize, &[i32])>,
    ) -> Value<bool> {
        let proc = &context.state.procs[context.pid];
        let automaton = &self.program.proctypes[proc.ty].automaton;
        let mut at = entry;
        for n in 0..1_000_000u32 {
            if at == exit {
                return Ok(true);
            }
            let mut taken = None;
            // Escapes do not apply inside.
            let edges = automaton.point(at).edges.iter();
            for edge in edges.filter(|it| it.escape.is_none()) {
                let before = next.clone();
                let context = Context {
                    state: &before,
                    ..context
                };
                let is_executable = match (&edge.action, offer) {
                    (Action::Receive(receive), Some((channel, message))) if n == 0 => {
                        self.accept(context, next, receive, channel, message)?
                    }
                    (_, Some(_)) if n == 0 => false,
                    (action, _) => self.execute(context, next, action)?,
                };
                if is_executable {
                    taken = Some(edge.target);
                    break;
                }
            }
            match taken {
                Some(target) => at = target,
                None if n == 0 => return Ok(false),
                None => return Err(Error::DStepBlocks),
            }
        }
        Err(Error::EndlessAtomic)
    }

    /// Executes a statement if it is executable.
    fn execute(&mut self, context: Context<'_>, next: &mut State, action: &Action) -> Value<bool> {
        let Context { state, .. } = context;
        match action {
            Action::Cond(expr) => return Ok(self.eval(context, expr)? != 0),
            Action::Else | Action::Goto | Action::Declare | Action::Print(..) => {}
            Action::Assign(place, expr) => {
                let value = self.eval(context, expr)?;
                self.store(context, next, place, value)?;
            }
            Action::Send(send) => return self.send(context, next, send),
            Action::Receive(receive) => return self.receive(context, next, receive),
            Action::Run(run, target) => {
                if state.procs.len() >= MAX_INSTANCES {
                    return Err(Error::TooManyProcesses);
                }
                let new = state.procs.len() as i32;
                self.run(context, next, run)?;
                match target {
                    Some(place) => self.store(context, next, place, new)?,
                    None => return Ok(new != 0),
                }
            }
            Action::Assert(expr, _) => {
                if self.eval(context, expr)? == 0 {
                    self.errors.insert(Error::Assertion);
                }
            }
            Action::SetPriority(target, value) => {
                let target = self.eval(context, target)?;
                let value = self.eval(context, value)?;
                if let Some(proc) = next.procs.get_mut(target as usize) {
                    proc.priority = priority(value)?;
                }
            }
            Action::AssignPriority(value) => {
                next.procs[context.pid].priority = self.eval(context, value)? as u8;
            }
            Action::DStep { entry, exit } => {
                return self.d_step(context, next, *entry, *exit, None);
            }
        }
        Ok(true)
    }

    fn run(&mut self, context: Context<'_>, next: &mut State, run: &Run) -> Value<()> {
        let mut args = Vec::new();
        for arg in &run.args {
            args.push(self.eval(context, arg)?);
        }
        let priority = match &run.priority {
            Some(value) => priority(self.eval(context, value)?)?,
            None => 1,
        };
        self.create(next, run.proctype, &args, priority)
    }

    fn send(&self, context: Context<'_>, next: &mut State, send: &Send) -> Value<bool> {
        let (idx, capacity) = self.channel(context, &send.chan)?;
        let channel = &context.state.channels[idx];
        if capacity == 0 {
            // Outside a `d_step`, a rendezvous is not executed here.
            return Err(Error::DStepRendezvous);
        }
        if channel.messages.len() >= capacity as usize {
            return Ok(false);
        }
        let message = self.message(context, send, channel.ty)?;
        let mut raw = message.clone();
        for (slot, arg) in raw.iter_mut().zip(&send.args) {
            *slot = self.eval(context, arg)?;
        }
        let messages = &mut next.channels[idx].messages;
        let at = match send.sorted {
            true => messages.iter().position(|it| *it > raw),
            false => None,
        };
        messages.insert(at.unwrap_or(messages.len()), message);
        Ok(true)
    }

    /// The position of the message that a receive takes.
    fn find_message(
        &self,
        context: Context<'_>,
        receive: &Receive,
    ) -> Value<Option<(usize, usize)>> {
        if self.waits_for_gone() && self.is_gone(context, &receive.chan)? {
            return Ok(None);
        }
        let (idx, _) = self.channel(context, &receive.chan)?;
        let messages = &context.state.channels[idx].messages;
        let n_candidates = if receive.random { messages.len() } else { 1 };
        for (at, message) in messages.iter().take(n_candidates).enumerate() {
            if self.matches(context, receive, message)? {
                return Ok(Some((idx, at)));
            }
        }
        Ok(None)
    }

    fn receive(&self, context: Context<'_>, next: &mut State, receive: &Receive) -> Value<bool> {
        let Some((idx, at)) = self.find_message(context, receive)? else {
            return Ok(false);
        };
        let message = context.state.channels[idx].messages[at].clone();
        self.assign_message(context, next, receive, &message)?;
        if !receive.keeps {
            next.channels[idx].messages.remove(at);
        }
        Ok(true)
    }

    fn element(&self, context: Context<'_>, dims: &[u32], indices: &[Expr]) -> Value<usize> {
        let mut element = 0;
        for (dim, index) in dims.iter().zip(indices) {
            let index = self.eval(context, index)?;
            if index < 0 || index >= *dim as i32 {
                return Err(Error::Index);
            }
            element = element * *dim as usize + index as usize;
        }
        Ok(element)
    }

    /// Stores a value in the next state, which indices are evaluated in as well.
    fn store(
        &self,
        context: Context<'_>,
        next: &mut State,
        place: &Place,
        value: i32,
    ) -> Value<()> {
        let pid = context.pid;
        let context = Context {
            state: next,
            ..context
        };
        match place.var {
            VarId::Scratch => {}
            VarId::Global(idx) => {
                let variable = &self.program.globals[idx];
                let element = self.element(context, &variable.dims, &place.indices)?;
                next.globals[self.globals[idx] + element] = variable.ty.truncate(value);
            }
            VarId::Local(idx) => {
                let ty = next.procs[pid].ty;
                let variable = &self.program.proctypes[ty].locals[idx];
                let element = self.element(context, &variable.dims, &place.indices)?;
                let slot = self.locals[ty][idx] + element;
                next.procs[pid].locals[slot] = variable.ty.truncate(value);
            }
        }
        Ok(())
    }

    pub(crate) fn eval(&self, context: Context<'_>, expr: &Expr) -> Value<i32> {
        let Context { state, pid, .. } = context;
        Ok(match expr {
            Expr::Const(value) => *value,
            Expr::Read(place) => match place.var {
                VarId::Scratch => 0,
                VarId::Global(idx) => {
                    let variable = &self.program.globals[idx];
                    let element = self.element(context, &variable.dims, &place.indices)?;
                    state.globals[self.globals[idx] + element]
                }
                VarId::Local(idx) => {
                    let ty = state.procs[pid].ty;
                    let variable = &self.program.proctypes[ty].locals[idx];
                    let element = self.element(context, &variable.dims, &place.indices)?;
                    state.procs[pid].locals[self.locals[ty][idx] + element]
                }
            },
            Expr::Pid => pid as i32,
            Expr::NrPr => state.procs.len() as i32 + self.n_more,
            Expr::Last => state.last as i32,
            Expr::Priority => state.procs[pid].priority.into(),
            Expr::Unary(op, operand) => apply_unary(*op, self.eval(context, operand)?),
            Expr::Binary(op, left, right, _) => {
                let left = self.eval(context, left)?;
                match op {
                    BinaryOp::And if left == 0 => 0,
                    BinaryOp::Or if left != 0 => 1,
                    _ => {
                        let right = self.eval(context, right)?;
                        apply_binary(*op, left, right).ok_or(Error::DivisionByZero)?
                    }
                }
            }
            Expr::Cond(condition, yes, no) => match self.eval(context, condition)? {
                0 => self.eval(context, no)?,
                _ => self.eval(context, yes)?,
            },
            Expr::Queue(op @ (QueueOp::Len | QueueOp::Empty | QueueOp::Nempty), chan, _)
                if self.is_gone(context, chan)? =>
            {
                i32::from(*op == QueueOp::Empty)
            }
            Expr::Queue(op, chan, _) => {
                let (idx, capacity) = self.channel(context, chan)?;
                let len = state.channels[idx].messages.len();
                match op {
                    QueueOp::Len => len as i32,
                    QueueOp::Empty => i32::from(len == 0),
                    QueueOp::Nempty => i32::from(len > 0),
                    QueueOp::Full => i32::from(len == capacity as usize),
                    QueueOp::Nfull => i32::from(len < capacity as usize),
                }
            }
            Expr::Poll(receive) if receive.random && self.is_gone(context, &receive.chan)? => {
                return Err(Error::BadChannel);
            }
            Expr::Poll(receive) => i32::from(self.find_message(context, receive)?.is_some()),
            Expr::Timeout => i32::from(context.timeout),
            Expr::Np => {
                let at_progress = |proc: &Proc| {
                    let automaton = &self.program.proctypes[proc.ty].automaton;
                    automaton.point(proc.point).is_progress
                };
                i32::from(!state.procs.iter().any(at_progress))
            }
            Expr::Enabled(_) | Expr::PcValue(_) => {
                let (Expr::Enabled(pid) | Expr::PcValue(pid)) = expr else {
                    return Ok(0);
                };
                let pid = self.eval(context, pid)?;
                match state.procs.get(pid as usize) {
                    Some(proc) => proc.point.0 as i32,
                    None => 0,
                }
            }
            Expr::GetPriority(pid) => {
                let pid = self.eval(context, pid)?;
                let proc = state.procs.get(pid as usize);
                proc.map_or(0, |proc| proc.priority.into())
            }
            Expr::RemoteLabel {
                proctype,
                pid,
                label,
            } => {
                let proc = self.remote(context, *proctype, pid.as_deref())?;
                let point = self.program.proctypes[*proctype].automaton.label(label);
                let is_there = proc.is_some_and(|it| it.ty == *proctype && Some(it.point) == point);
                i32::from(is_there)
            }
            Expr::RemoteVar {
                proctype,
                pid,
                var,
                indices,
                ..
            } => {
                let proc = self.remote(context, *proctype, pid.as_deref())?;
                let variable = &self.program.proctypes[*proctype].locals[*var];
                let element = self.element(context, &variable.dims, indices)?;
                let slot = self.locals[*proctype][*var] + element;
                match proc.filter(|it| it.ty == *proctype) {
                    Some(proc) => proc.locals[slot],
                    None => return Err(Error::NoProcess),
                }
            }
        })
    }

    fn remote<'s>(
        &self,
        context: Context<'s>,
        proctype: usize,
        pid: Option<&Expr>,
    ) -> Value<Option<&'s Proc>> {
        Ok(match pid {
            Some(pid) => {
                let pid = self.eval(context, pid)?;
                context.state.procs.get(pid as usize)
            }
            None => context.state.procs.iter().find(|it| it.ty == proctype),
        })
    }
}

fn priority(value: i32) -> Value<u8> {
    match value {
        1..=255 => Ok(value as u8),
        _ => Err(Error::BadPriority),
    }
}
