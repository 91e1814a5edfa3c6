//! Creating and removing processes, and the initial state.

use hadal_ir::expr::{BinaryOp as Op, Place, Quantifier};
use hadal_ir::ids::{ExprId, LocalId};
use hadal_ir::program::{Frame, Guard, LocalKind, Property, PropertyKind, Start};
use hadal_ir::stmt::{Block, StmtKind};
use hadal_model::FaultKind;

use super::Lowering;
use super::channels::STACK_KIND;
use super::exprs::Scope;
use super::layout::Slot;
use crate::MAX_INSTANCES;
use crate::program::{Expr as PExpr, Initial, Place as PPlace, Run, Scalar, VarId, Variable};
use crate::text::TokenSpan;

const BAD_PRIORITY: &str = "a priority must be 1 to 255";

impl Lowering<'_> {
    /// The initial state: global variables, then the first processes in the order of their pids.
    pub(super) fn start(&mut self) {
        let program = self.program;
        let site = self.builder.set_site(TokenSpan::new(0, 1));
        let mut scope = Scope {
            proctype: program.initial.first().copied().unwrap_or(0),
            slot: Slot::Number(0),
            frame: Frame::default(),
            timeout: false,
            in_d_step: false,
        };
        let mut block = Block::new();
        for (number, variable) in program.globals.iter().enumerate() {
            if self.layout.globals[number].is_some() {
                self.initialise(&mut scope, VarId::Global(number), variable, &mut block);
            }
        }
        let mut counts = vec![0; program.proctypes.len()];
        let mut next_channel = i64::from(self.layout.n_global) + 1;
        for (pid, &proctype) in program.initial.iter().enumerate() {
            let slot = Slot::Number(counts[proctype]);
            counts[proctype] += 1;
            let pid = self.builder.int(pid as i64);
            let first_channel = self.builder.int(next_channel);
            next_channel += i64::from(self.layout.processes[proctype].n_channels);
            let priority = program.proctypes[proctype].priority.into();
            let priority = self.builder.int(priority);
            let new = NewProcess {
                proctype,
                slot,
                pid,
                first_channel,
                priority,
                args: Vec::new(),
            };
            self.create(&mut scope, new, &mut block);
        }
        let n = self.builder.int(program.initial.len() as i64);
        let n_processes = Place::var(self.layout.n_processes);
        block.push(self.builder.assign(n_processes, n));
        self.start_claim(&mut block);
        self.builder.ir.starts.push(Start {
            name: "initial state".to_owned(),
            params: Vec::new(),
            frame: scope.frame,
            body: block,
            site,
        });
    }

    /// `run`: the new process gets the next pid, and the number of processes grows by one.
    pub(super) fn run(
        &mut self,
        scope: &mut Scope,
        run: &Run,
        target: Option<&PPlace>,
        block: &mut Block,
    ) {
        let program = self.program;
        let mut args = Vec::new();
        for (param, arg) in run.args.iter().enumerate() {
            let ty = program.proctypes[run.proctype].locals[param].ty;
            let value = self.int(scope, arg);
            let value = self.truncated(ty, value);
            args.push(self.kept(scope, "argument", value, block));
        }
        let priority = match &run.priority {
            Some(priority) => self.int(scope, priority),
            // What a process type declares is for its `active` instances alone.
            None => self.builder.int(1),
        };
        let priority = self.kept(scope, "priority", priority, block);
        let is_bad = self.is_no_priority(priority);
        self.fault_where(is_bad, FaultKind::Range, BAD_PRIORITY, block);
        let n_processes = Place::var(self.layout.n_processes);
        let pid = self.builder.read(n_processes.clone());
        let pid = self.kept(scope, "pid", pid, block);
        let process = &self.layout.processes[run.proctype];
        let (n, n_channels) = (process.n, process.n_channels);
        let mut create = Block::new();
        // Those that exist are the first ones.
        let var = self.builder.counter(&mut scope.frame, "instance", n);
        let slot = Slot::Local(var);
        let exists = scope.with(run.proctype, slot, |scope| {
            let at = self.point(scope);
            let absent = self.builder.equals(at, 0);
            self.builder.not(absent)
        });
        let count = self.builder.quantified(Quantifier::Count, var, n, exists);
        let count = self.kept(scope, "count", count, &mut create);
        let first_channel = match n_channels {
            0 => self.builder.int(0),
            _ => self.next_channel(scope, &mut create),
        };
        let most = self.builder.int(n.into());
        let is_full = self.builder.binary(Op::Ge, count, most);
        let fault = vec![self.builder.stmt(StmtKind::Error {
            kind: FaultKind::ProcessLimit,
            message: format!(
                "more than {n} processes of type `{}`",
                program.proctypes[run.proctype].name
            ),
        })];
        create.push(self.builder.stmt(StmtKind::If {
            arms: vec![(is_full, fault)],
            otherwise: Vec::new(),
        }));
        if n_channels > 0 {
            self.check_channels(first_channel, n_channels, &mut create);
        }
        let ty = self.builder.range(0, i64::from(n.max(1)) - 1);
        let new_slot = scope.frame.add("new", LocalKind::Value(ty));
        create.push(self.builder.assign(Place::local(new_slot), count));
        let new = NewProcess {
            proctype: run.proctype,
            slot: Slot::Local(new_slot),
            pid,
            first_channel,
            priority,
            args,
        };
        self.create(scope, new, &mut create);
        let more = self.builder.plus(pid, 1);
        create.push(self.builder.assign(n_processes, more));
        if let Some(target) = target
            && let Some(place) = self.place(scope, target)
        {
            let value = self.truncated(self.scalar_of(scope, target.var), pid);
            create.push(self.builder.assign(place, value));
        }
        let most = self.builder.int(MAX_INSTANCES as i64);
        let is_full = self.builder.binary(Op::Ge, pid, most);
        let what = format!("more than {MAX_INSTANCES} processes");
        self.fault_where(is_full, FaultKind::ProcessLimit, &what, block);
        block.extend(create);
    }

    /// A value in a local of its own, unless it is a literal.
    pub(super) fn kept(
        &mut self,
        scope: &mut Scope,
        name: &str,
        value: ExprId,
        block: &mut Block,
    ) -> ExprId {
        if self.builder.known_int(value).is_some() {
            return value;
        }
        let local = self.value_local(scope, name);
        block.push(self.builder.assign(Place::local(local), value));
        self.builder.local(local)
    }

    /// The number that the next channel gets.
    fn next_channel(&mut self, scope: &mut Scope, block: &mut Block) -> ExprId {
        let stack = self.layout.stack.as_ref().expect("there are channels");
        let (var, n) = (stack.var, stack.n);
        let counter = self.builder.counter(&mut scope.frame, "channel", n);
        let element = self.builder.local(counter);
        let kind = Place::var(var).at(element).field(STACK_KIND);
        let kind = self.builder.read(kind);
        let absent = self.builder.equals(kind, 0);
        let exists = self.builder.not(absent);
        let count = (self.builder).quantified(Quantifier::Count, counter, n, exists);
        let first = i64::from(self.layout.n_global) + 1;
        let number = self.builder.plus(count, first);
        self.kept(scope, "number", number, block)
    }

    /// Faults if there is no room for `n` channels from `first` on.
    fn check_channels(&mut self, first: ExprId, n: u32, block: &mut Block) {
        let stack = self.layout.stack.as_ref().expect("there are channels");
        if !stack.may_be_full {
            return;
        }
        let last_first = self.builder.int(MAX_INSTANCES as i64 + 1 - i64::from(n));
        let is_full = self.builder.binary(Op::Gt, first, last_first);
        let fault = vec![self.builder.stmt(StmtKind::Error {
            kind: FaultKind::ChannelLimit,
            message: format!("more than {MAX_INSTANCES} channels"),
        })];
        block.push(self.builder.stmt(StmtKind::If {
            arms: vec![(is_full, fault)],
            otherwise: Vec::new(),
        }));
    }

    /// Sets everything of a new process, whose place is all 0.
    fn create(&mut self, scope: &mut Scope, new: NewProcess, block: &mut Block) {
        let program = self.program;
        let proctype = &program.proctypes[new.proctype];
        let slot = new.slot.expr(&mut self.builder);
        let process = &self.layout.processes[new.proctype];
        let start = process.points[proctype.automaton.start.index()];
        let start = start.expect("a process rests at its start");
        let at = process.at(slot);
        let pid = process.pid_field().map(|field| process.field(slot, field));
        let priority = process.priority.map(|field| process.field(slot, field));
        let channels = process
            .first_channel
            .map(|field| process.field(slot, field));
        let start = self.builder.int(start.into());
        block.push(self.builder.assign(at, start));
        let values = [
            (pid, new.pid),
            (priority, new.priority),
            (channels, new.first_channel),
        ];
        for (place, value) in values {
            if let Some(place) = place {
                block.push(self.builder.assign(place, value));
            }
        }
        for (origin_idx, origin) in self.layout.flow.origins.clone().into_iter().enumerate() {
            if origin.proctype != Some(new.proctype) {
                continue;
            }
            let first = scope.with(new.proctype, new.slot, |scope| {
                self.first_number(scope, origin_idx)
            });
            let stack = self.layout.stack.as_ref().expect("there are channels");
            let kind = stack.kinds.iter().position(|it| *it == origin.channel);
            let kind = self.builder.int(kind.map_or(0, |kind| kind as i64 + 1));
            for channel in 0..origin.n {
                let number = self.builder.plus(first, channel.into());
                let element = self.stack_element(number).expect("there is a stack");
                block.push(self.builder.assign(element.field(STACK_KIND), kind));
            }
        }
        scope.with(new.proctype, new.slot, |scope| {
            for (number, variable) in proctype.locals.iter().enumerate() {
                let var = VarId::Local(number);
                if let (Initial::Param, Some(&arg)) = (&variable.initial, new.args.get(number)) {
                    let field = self.layout.processes[new.proctype].locals[number];
                    if let Some(field) = field {
                        let slot = new.slot.expr(&mut self.builder);
                        let place = self.layout.processes[new.proctype].field(slot, field);
                        block.push(self.builder.assign(place, arg));
                    }
                    continue;
                }
                self.initialise(scope, var, variable, block);
            }
        });
    }

    /// Sets a variable that was just created, and is 0.
    fn initialise(
        &mut self,
        scope: &mut Scope,
        var: VarId,
        variable: &Variable,
        block: &mut Block,
    ) {
        let values: Vec<Option<&PExpr>> = match &variable.initial {
            Initial::Zero | Initial::Param => return,
            Initial::Expr(value) => vec![Some(value); variable.n_elements()],
            Initial::List(values) => values.iter().map(Some).collect(),
            Initial::Channel(_) => vec![None; variable.n_elements()],
        };
        let is_own = |origin: &super::origins::Origin| match var {
            VarId::Global(var) => (origin.proctype, origin.var) == (None, var),
            VarId::Local(var) => (origin.proctype, origin.var) == (Some(scope.proctype), var),
            VarId::Scratch => false,
        };
        let origin = self.layout.flow.origins.iter().position(is_own);
        for (element, value) in values.into_iter().enumerate() {
            let value = match value {
                Some(value) => {
                    let value = self.int(scope, value);
                    self.truncated(variable.ty, value)
                }
                None => {
                    let origin = origin.expect("the variable creates channels");
                    let first = self.first_number(scope, origin);
                    self.builder.plus(first, element as i64)
                }
            };
            let mut indices = Vec::new();
            let mut left = element as u32;
            for &dim in variable.dims.iter().rev() {
                indices.push(PExpr::Const((left % dim) as i32));
                left /= dim;
            }
            indices.reverse();
            let place = PPlace {
                var,
                indices,
                span: variable.span,
            };
            let Some(place) = self.place(scope, &place) else {
                return;
            };
            block.push(self.builder.assign(place, value));
        }
    }

    /// Removes a process, with its channels.
    pub(super) fn remove(&mut self, scope: &mut Scope, block: &mut Block) {
        let process = &self.layout.processes[scope.proctype];
        let n_channels = process.n_channels;
        let slot = scope.slot.expr(&mut self.builder);
        if let Some(field) = self.layout.processes[scope.proctype].first_channel {
            let first = self.layout.processes[scope.proctype].field(slot, field);
            let first = self.builder.read(first);
            for channel in 0..n_channels {
                let number = self.builder.plus(first, channel.into());
                let element = self.stack_element(number).expect("there is a stack");
                block.push(self.builder.stmt(StmtKind::Clear(element)));
            }
        }
        let var = self.layout.processes[scope.proctype].var;
        let place = Place::var(var.expect("there are instances")).at(slot);
        block.push(self.builder.stmt(StmtKind::Clear(place)));
        let n_processes = Place::var(self.layout.n_processes);
        let n = self.builder.read(n_processes.clone());
        let less = self.builder.plus(n, -1);
        block.push(self.builder.assign(n_processes, less));
    }

    pub(super) fn set_priority(
        &mut self,
        scope: &mut Scope,
        pid: &PExpr,
        value: &PExpr,
        block: &mut Block,
    ) {
        let pid = self.int(scope, pid);
        let pid = self.kept(scope, "pid", pid, block);
        let value = self.int(scope, value);
        let value = self.kept(scope, "priority", value, block);
        let is_bad = self.is_no_priority(value);
        for proctype in 0..self.program.proctypes.len() {
            for number in 0..self.layout.processes[proctype].n {
                let slot = Slot::Number(number);
                let (is_it, place) = scope.with(proctype, slot, |scope| {
                    let at = self.point(scope);
                    let absent = self.builder.equals(at, 0);
                    let exists = self.builder.not(absent);
                    let own = self.pid(scope);
                    let is_own = self.builder.binary(Op::Eq, own, pid);
                    let slot = slot.expr(&mut self.builder);
                    let process = &self.layout.processes[proctype];
                    let place = process.priority.map(|field| process.field(slot, field));
                    (self.builder.and(vec![exists, is_own]), place)
                });
                if let Some(place) = place {
                    let mut set = Block::new();
                    self.fault_where(is_bad, FaultKind::Range, BAD_PRIORITY, &mut set);
                    set.push(self.builder.assign(place, value));
                    block.push(self.builder.stmt(StmtKind::If {
                        arms: vec![(is_it, set)],
                        otherwise: Vec::new(),
                    }));
                }
            }
        }
    }

    pub(super) fn assign_priority(&mut self, scope: &mut Scope, value: &PExpr, block: &mut Block) {
        let value = self.int(scope, value);
        let value = self.truncated(Scalar::Byte, value);
        let slot = scope.slot.expr(&mut self.builder);
        let process = &self.layout.processes[scope.proctype];
        if let Some(place) = process.priority.map(|field| process.field(slot, field)) {
            block.push(self.builder.assign(place, value));
        }
    }

    fn is_no_priority(&mut self, value: ExprId) -> ExprId {
        let is_priority = self.builder.in_range(value, 1, 255);
        self.builder.not(is_priority)
    }

    /// Meets a fault where a condition is true.
    fn fault_where(
        &mut self,
        condition: ExprId,
        kind: FaultKind,
        message: &str,
        block: &mut Block,
    ) {
        if self.builder.known_truth(condition) != Some(false) {
            let arms = vec![(condition, self.fault(kind, message))];
            let otherwise = Vec::new();
            block.push(self.builder.stmt(StmtKind::If { arms, otherwise }));
        }
    }

    /// Where the program may end: every process is at a valid end.
    pub(super) fn ends(&mut self) {
        let site = self.builder.set_site(TokenSpan::new(0, 1));
        let mut frame = Frame::default();
        let mut parts = Vec::new();
        for (number, proctype) in self.program.proctypes.iter().enumerate() {
            let n = self.layout.processes[number].n;
            if n == 0 {
                continue;
            }
            let var: LocalId = self.builder.counter(&mut frame, "instance", n);
            let slot = match n {
                1 => self.builder.int(0),
                _ => self.builder.local(var),
            };
            let at = self.layout.processes[number].at(slot);
            let at = self.builder.read(at);
            let mut valid = vec![self.builder.equals(at, 0)];
            for (point_idx, point) in proctype.automaton.points.iter().enumerate() {
                let is_end = point.is_end || point_idx == proctype.automaton.end.index();
                let code = self.layout.processes[number].points[point_idx];
                if let (true, Some(code)) = (is_end, code) {
                    valid.push(self.builder.equals(at, code.into()));
                }
            }
            let valid = self.builder.or(valid);
            parts.push(match n {
                1 => valid,
                _ => self.builder.quantified(Quantifier::Forall, var, n, valid),
            });
        }
        let condition = self.builder.and(parts);
        self.builder.ir.properties.push(Property {
            kind: PropertyKind::End,
            name: "valid end state".to_owned(),
            params: Vec::new(),
            frame,
            condition: Guard {
                prologue: Vec::new(),
                condition: Some(condition),
            },
            site,
        });
    }
}

/// A process that is created.
struct NewProcess {
    proctype: usize,
    slot: Slot,
    pid: ExprId,
    first_channel: ExprId,
    priority: ExprId,
    args: Vec<ExprId>,
}
