//! Whether an edge is executable, as an expression.

use hadal_ir::expr::{BinaryOp as Op, Place, Quantifier};
use hadal_ir::ids::{ExprId, FunctionId, SiteId};
use hadal_ir::program::{Frame, Function, LocalKind, ParamMode};
use hadal_ir::stmt::{ReturnValue, StmtKind};
use hadal_ir::types::{Simple, Type};

use super::dsteps::inner_edges;
use super::exprs::Scope;
use super::layout::Slot;
use super::origins::Origins;
use super::queues::Channel;
use super::steps::receives_of;
use super::{HANDSHAKE, Lowering};
use crate::automaton::{Edge, PointId};
use crate::program::{Action, Receive, Scalar, Send};

/// Edges of an escape whose conditions are written out at each edge that they come before.
const MAX_INLINE: usize = 4;

impl Lowering<'_> {
    /// Whether an edge may be taken by a process that is at its point and has control.
    pub(super) fn is_executable(
        &mut self,
        scope: &mut Scope,
        point: PointId,
        edge_idx: usize,
    ) -> ExprId {
        let program = self.program;
        let edges = &program.proctypes[scope.proctype]
            .automaton
            .point(point)
            .edges;
        let mut parts = self.not_escaped(scope, edges, edge_idx);
        parts.push(self.is_executable_alone(scope, edges, edge_idx));
        self.builder.and(parts)
    }

    /// That no escape before an edge is executable.
    pub(super) fn not_escaped(
        &mut self,
        scope: &mut Scope,
        edges: &[Edge],
        edge_idx: usize,
    ) -> Vec<ExprId> {
        let mut parts = Vec::new();
        let mut first = 0;
        for escape in edges[..edge_idx].chunk_by(|a, b| a.escape == b.escape) {
            let idxs = first..first + escape.len();
            first = idxs.end;
            if escape[0].escape.is_none() || escape[0].escape == edges[edge_idx].escape {
                continue;
            }
            let is_large = escape.len() > MAX_INLINE;
            // What `else` means depends on the edges before it.
            if is_large && escape.iter().all(|edge| edge.action != Action::Else) {
                let escapes = self.escapes(scope, escape);
                parts.push(self.builder.not(escapes));
                continue;
            }
            for idx in idxs {
                let other = self.is_executable_alone(scope, edges, idx);
                parts.push(self.builder.not(other));
            }
        }
        parts
    }

    /// Whether some edge of an escape is executable, as a call of a function: an escape of many edges
    /// is asked for at each edge of each point inside its `unless`.
    fn escapes(&mut self, scope: &Scope, escape: &[Edge]) -> ExprId {
        let texts = escape.iter().map(|edge| (edge.span, edge.text.clone()));
        let key = (scope.proctype, scope.timeout, texts.collect());
        let n = self.layout.processes[scope.proctype].n;
        let function = match self.escaping.get(&key) {
            Some(known) => *known,
            None => {
                let site = self.builder.site();
                let mut inner = Scope {
                    in_d_step: scope.in_d_step,
                    ..self.scope_of(scope.proctype, scope.timeout)
                };
                let any = 0..escape.len();
                let any = any.map(|idx| self.is_executable_alone(&mut inner, escape, idx));
                let any = any.collect();
                let any = self.builder.or(any);
                let name = format!("escapes{}", self.builder.ir.functions.len());
                let n_params = usize::from(n > 1);
                let function = self.truth_function(name, n_params, inner.frame, any, site);
                self.escaping.insert(key, function);
                function
            }
        };
        // One function for all, whether the instance is counted by a local or known.
        let args = match n > 1 {
            true => vec![scope.slot.expr(&mut self.builder)],
            false => Vec::new(),
        };
        self.builder.call(function, args)
    }

    /// Whether the statement of an edge is executable.
    pub(super) fn is_executable_alone(
        &mut self,
        scope: &mut Scope,
        edges: &[Edge],
        edge_idx: usize,
    ) -> ExprId {
        let edge = &edges[edge_idx];
        self.builder.set_site(edge.span);
        match &edge.action {
            Action::Cond(condition) => self.truth(scope, condition),
            Action::Else => {
                let mut parts = Vec::new();
                for before_idx in 0..edge_idx {
                    if edges[before_idx].action != Action::Else {
                        let before = self.is_executable_alone(scope, edges, before_idx);
                        parts.push(self.builder.not(before));
                    }
                }
                self.builder.and(parts)
            }
            Action::Send(send) => self.can_send(scope, send),
            Action::Receive(receive) => {
                let channel = self.channel(scope, &receive.chan, receive.span);
                let ready = self.has_match(scope, &channel, receive);
                let bad = self.is_bad_to_receive(&channel);
                self.builder.or(vec![ready, bad])
            }
            Action::DStep { entry, .. } => {
                let program = self.program;
                let automaton = &program.proctypes[scope.proctype].automaton;
                let inner = inner_edges(&automaton.point(*entry).edges);
                let mut parts = Vec::new();
                let outer = std::mem::replace(&mut scope.in_d_step, true);
                for idx in 0..inner.len() {
                    parts.push(self.is_executable_alone(scope, inner, idx));
                }
                scope.in_d_step = outer;
                self.builder.or(parts)
            }
            Action::Goto
            | Action::Assign(..)
            | Action::Run(..)
            | Action::Assert(..)
            | Action::Print(..)
            | Action::SetPriority(..)
            | Action::AssignPriority(_)
            | Action::Declare => self.builder.truth(true),
        }
    }

    fn can_send(&mut self, scope: &mut Scope, send: &Send) -> ExprId {
        let channel = self.channel(scope, &send.chan, send.span);
        let mut parts = Vec::new();
        for alternative in &channel.alternatives {
            let can = match alternative.queue.is_some() {
                true if self.options.lossy => self.builder.truth(true),
                true => {
                    let len = self.builder.read(alternative.len_place());
                    let capacity = self.builder.int(alternative.capacity.into());
                    self.builder.binary(Op::Lt, len, capacity)
                }
                // An error, see there.
                false if scope.in_d_step => self.builder.truth(true),
                false => self.has_receiver(scope, &channel, send, &alternative.fields),
            };
            parts.push(self.builder.and(vec![alternative.condition, can]));
        }
        parts.push(self.is_bad(&channel));
        self.builder.or(parts)
    }

    /// Whether some process receives a message from a rendezvous channel.
    fn has_receiver(
        &mut self,
        scope: &mut Scope,
        channel: &Channel,
        send: &Send,
        fields: &[Scalar],
    ) -> ExprId {
        let mut args = vec![channel.number, self.pid(scope)];
        args.extend(self.message_fields(scope, send, fields));
        let Some(n_fields) = self.n_handshake_fields() else {
            return self.builder.truth(false);
        };
        while args.len() < 2 + n_fields {
            args.push(self.builder.int(0));
        }
        match self.receivable(&channel.origins) {
            Some(function) => self.builder.call(function, args),
            None => self.builder.truth(false),
        }
    }

    fn n_handshake_fields(&self) -> Option<usize> {
        let registers = self.layout.registers.as_ref()?;
        Some(registers.handshake.as_ref()?.fields.len())
    }

    /// The fields of a message as they are stored; missing ones are 0.
    pub(super) fn message_fields(
        &mut self,
        scope: &mut Scope,
        send: &Send,
        fields: &[Scalar],
    ) -> Vec<ExprId> {
        let mut values = Vec::new();
        for (number, &field) in fields.iter().enumerate() {
            values.push(match send.args.get(number) {
                Some(arg) => {
                    let value = self.int(scope, arg);
                    self.truncated(field, value)
                }
                None => self.builder.int(0),
            });
        }
        values
    }

    /// The function that looks for a process that receives from a channel of these origins. Its
    /// parameters are the channel, the pid of the sender and the fields of the message.
    fn receivable(&mut self, origins: &Origins) -> Option<FunctionId> {
        let known = self.receivable.iter().find(|(known, _)| known == origins);
        if let Some((_, function)) = known {
            return Some(*function);
        }
        let site = self.builder.site();
        let n_fields = self.n_handshake_fields()?;
        let mut frame = Frame::default();
        let number = self.builder.value_local(&mut frame, "channel");
        let sender = self.builder.value_local(&mut frame, "sender");
        let fields: Vec<_> = (0..n_fields)
            .map(|field| {
                self.builder
                    .value_local(&mut frame, &format!("field{field}"))
            })
            .collect();
        let mut scope = Scope {
            proctype: 0,
            slot: Slot::Number(0),
            frame,
            timeout: false,
            in_d_step: false,
        };
        let found = self.some_process(&mut scope, |it, scope| {
            let number = it.builder.local(number);
            let fields: Vec<ExprId> = fields
                .iter()
                .map(|field| it.builder.local(*field))
                .collect();
            let sender = it.builder.local(sender);
            let receivers = it.receivers(scope, origins, number, &fields);
            if receivers.is_empty() {
                return None;
            }
            let own = it.pid(scope);
            let is_other = it.builder.binary(Op::Ne, own, sender);
            let any = it.builder.or(receivers);
            Some(it.builder.and(vec![any, is_other]))
        });
        let name = format!("receivable{}", self.builder.ir.functions.len());
        let function = self.truth_function(name, 2 + n_fields, scope.frame, found, site);
        self.receivable.push((origins.clone(), function));
        Some(function)
    }

    /// For each edge of the process that receives from such a channel, whether it takes a message.
    fn receivers(
        &mut self,
        scope: &mut Scope,
        origins: &Origins,
        number: ExprId,
        fields: &[ExprId],
    ) -> Vec<ExprId> {
        let program = self.program;
        let proctype = &program.proctypes[scope.proctype];
        let mut found = Vec::new();
        for (point_idx, point) in proctype.automaton.points.iter().enumerate() {
            let code = self.layout.processes[scope.proctype].points[point_idx];
            let Some(code) = code else {
                continue;
            };
            let mut here = Vec::new();
            for edge in &point.edges {
                // An escape that takes the message goes first, but someone takes it either way.
                for (receive, _) in receives_of(&proctype.automaton, edge) {
                    here.extend(self.takes(scope, receive, Some(origins), number, fields));
                }
            }
            if here.is_empty() {
                continue;
            }
            let at = self.point(scope);
            let mut parts = vec![self.builder.equals(at, code.into())];
            parts.push(self.builder.or(here));
            parts.extend(self.is_provided(scope));
            found.push(self.builder.and(parts));
        }
        found
    }

    /// Whether a receive takes a message from the rendezvous channel `number`; none if it never
    /// does.
    pub(super) fn takes(
        &mut self,
        scope: &mut Scope,
        receive: &Receive,
        origins: Option<&Origins>,
        number: ExprId,
        fields: &[ExprId],
    ) -> Option<ExprId> {
        let own = self.layout.flow.of(Some(scope.proctype), &receive.chan);
        let meets = |origins: &Origins| own.iter().any(|origin| origins.contains(origin));
        if origins.is_some_and(|origins| !meets(origins)) {
            return None;
        }
        let channel = self.channel(scope, &receive.chan, receive.span);
        let rendezvous = channel.alternatives.iter().filter(|it| it.queue.is_none());
        let n_fields = rendezvous.map(|it| it.fields.len()).max()?;
        let is_same = self.builder.binary(Op::Eq, channel.number, number);
        let n_fields = n_fields.min(fields.len());
        let matches = self.fields_match(scope, receive, &fields[..n_fields]);
        Some(self.builder.and(vec![is_same, matches]))
    }

    /// The condition that the process type asks for.
    pub(super) fn is_provided(&mut self, scope: &mut Scope) -> Option<ExprId> {
        let program = self.program;
        let provided = program.proctypes[scope.proctype].provided.as_ref()?;
        Some(self.truth(scope, provided))
    }

    /// Whether the process may move: nobody has control, or it has.
    pub(super) fn has_control(&mut self, scope: &Scope, may_keep: bool) -> ExprId {
        let Some(registers) = &self.layout.registers else {
            return self.builder.truth(true);
        };
        let control = self.builder.read(Place::var(registers.control));
        let anyone = match self.observer {
            Some(_) => super::claim::SYSTEM,
            None => 0,
        };
        let nobody = self.builder.equals(control, anyone);
        if !may_keep {
            return nobody;
        }
        let own = self.pid(scope);
        let own = self.builder.plus(own, 1);
        let is_own = self.builder.binary(Op::Eq, control, own);
        self.builder.or(vec![nobody, is_own])
    }

    /// That no process of a higher priority can move, where priorities matter. One that can move
    /// interrupts an `atomic`, too.
    pub(super) fn is_not_outranked(&mut self, scope: &mut Scope) -> Option<ExprId> {
        self.program.uses_priorities.then(|| {
            let own = self.priority(scope);
            let function = self.outranked(scope.timeout);
            let is_outranked = self.builder.call(function, vec![own]);
            self.builder.not(is_outranked)
        })
    }

    /// The function that looks for a process that can move and whose priority is higher than its
    /// parameter. All rules ask that, so that it is lowered once, with `timeout` and without.
    fn outranked(&mut self, timeout: bool) -> FunctionId {
        if let Some(known) = self.outranked[usize::from(timeout)] {
            return known;
        }
        let site = self.builder.site();
        let mut frame = Frame::default();
        let own = self.builder.value_local(&mut frame, "priority");
        let mut scope = Scope {
            proctype: 0,
            slot: Slot::Number(0),
            frame,
            timeout,
            in_d_step: false,
        };
        let found = self.some_process(&mut scope, |it, scope| {
            let (other, own) = (it.priority(scope), it.builder.local(own));
            let is_higher = it.builder.binary(Op::Gt, other, own);
            let can_move = it.can_move(scope);
            Some(it.builder.and(vec![is_higher, can_move]))
        });
        let name = format!("outranked{}", self.builder.ir.functions.len());
        let function = self.truth_function(name, 1, scope.frame, found, site);
        self.outranked[usize::from(timeout)] = Some(function);
        function
    }

    /// Whether `condition` is true of some process; `None` where it is of none of a type.
    fn some_process(
        &mut self,
        scope: &mut Scope,
        mut condition: impl FnMut(&mut Self, &mut Scope) -> Option<ExprId>,
    ) -> ExprId {
        let mut found = Vec::new();
        for proctype in 0..self.program.proctypes.len() {
            let n = self.layout.processes[proctype].n;
            if n == 0 {
                continue;
            }
            let slot = match n {
                1 => Slot::Number(0),
                _ => Slot::Local(self.builder.counter(&mut scope.frame, "instance", n)),
            };
            let any = scope.with(proctype, slot, |scope| condition(self, scope));
            found.extend(any.map(|any| match slot {
                Slot::Number(_) => any,
                Slot::Local(var) => self.builder.quantified(Quantifier::Exists, var, n, any),
            }));
        }
        self.builder.or(found)
    }

    /// Adds a function of `n_params` values that returns whether `result` is true.
    fn truth_function(
        &mut self,
        name: String,
        n_params: usize,
        frame: Frame,
        result: ExprId,
        site: SiteId,
    ) -> FunctionId {
        let result = StmtKind::Return(ReturnValue::Value(result));
        let body = vec![self.builder.stmt(result)];
        let truth = Type::Simple(Simple::boolean().total());
        let truth = self.builder.add_type(truth);
        self.builder.ir.functions.push(Function {
            name,
            params: vec![ParamMode::Value; n_params],
            result: Some(truth),
            frame,
            body,
            site,
        });
        FunctionId::new(self.builder.ir.functions.len() - 1)
    }

    /// Whether a process has an executable edge, or can be removed.
    fn can_move(&mut self, scope: &mut Scope) -> ExprId {
        let program = self.program;
        let automaton = &program.proctypes[scope.proctype].automaton;
        let mut moves = Vec::new();
        for (point_idx, point) in automaton.points.iter().enumerate() {
            let code = self.layout.processes[scope.proctype].points[point_idx];
            let Some(code) = code else {
                continue;
            };
            let can = match point_idx == automaton.end.index() {
                true => {
                    let n = self.builder.read(Place::var(self.layout.n_processes));
                    let pid = self.pid(scope);
                    let next = self.builder.plus(pid, 1);
                    self.builder.binary(Op::Eq, n, next)
                }
                false => {
                    let edges = 0..point.edges.len();
                    let edges = edges
                        .map(|idx| self.is_executable_alone(scope, &point.edges, idx))
                        .collect();
                    self.builder.or(edges)
                }
            };
            let at = self.point(scope);
            let is_here = self.builder.equals(at, code.into());
            moves.push(self.builder.and(vec![is_here, can]));
        }
        let mut parts = vec![self.builder.or(moves)];
        parts.extend(self.is_provided(scope));
        self.builder.and(parts)
    }

    /// Whether a rendezvous is under way.
    pub(super) fn in_handshake(&mut self) -> ExprId {
        let control = match &self.layout.registers {
            Some(registers) => registers.control,
            None => return self.builder.truth(false),
        };
        let control = self.builder.read(Place::var(control));
        self.builder.equals(control, HANDSHAKE)
    }

    /// A frame whose first local is the instance, where there are several.
    pub(super) fn scope_of(&mut self, proctype: usize, timeout: bool) -> Scope {
        let n = self.layout.processes[proctype].n;
        let mut frame = Frame::default();
        let slot = match n {
            1 => Slot::Number(0),
            _ => {
                let ty = self.builder.range(0, i64::from(n) - 1);
                Slot::Local(frame.add("instance", LocalKind::Value(ty)))
            }
        };
        Scope {
            proctype,
            slot,
            frame,
            timeout,
            in_d_step: false,
        }
    }
}
