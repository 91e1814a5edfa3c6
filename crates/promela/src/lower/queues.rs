//! Access to channels by their number.
//!
//! What an expression names is known in most programs: a global variable that is never assigned, or
//! a channel of the process itself. Otherwise there is an [`Alternative`] for each kind of channel
//! that it may name, with the condition that it does. If none of them holds, it names no channel.

use hadal_ir::expr::{BinaryOp as Op, Expr, Place, Quantifier};
use hadal_ir::ids::{ExprId, FunctionId, LocalId, MapId};
use hadal_ir::program::{Frame, Function, Segment, ValueMap};
use hadal_ir::stmt::{ReturnValue, StmtKind};

use super::Lowering;
use super::channels::{QUEUE_LEN, QUEUE_MESSAGES, STACK_KIND, STACK_QUEUE};
use super::exprs::Scope;
use super::origins::Origins;
use crate::program::{Expr as PExpr, Match, QueueOp, Receive, Scalar, VarId};
use crate::text::TokenSpan;

/// The channel that an expression names.
pub(super) struct Channel {
    /// Its number.
    pub(super) number: ExprId,
    pub(super) alternatives: Vec<Alternative>,
    /// The declarations that may have created it.
    pub(super) origins: Origins,
    /// The array that it is an element of, where that is all that can be wrong about it.
    pub(super) array: Option<ChannelArray>,
}

/// An element of an array of channels that are never assigned.
pub(super) struct ChannelArray {
    pub(super) dims: Vec<u32>,
    pub(super) indices: Vec<ExprId>,
}

/// A kind of channel that it may be.
#[derive(Clone)]
pub(super) struct Alternative {
    pub(super) condition: ExprId,
    /// None for a rendezvous channel.
    pub(super) queue: Option<Place>,
    pub(super) capacity: u32,
    /// The types of the fields of a message.
    pub(super) fields: Vec<Scalar>,
}

impl Alternative {
    pub(super) fn queue(&self) -> Place {
        self.queue.clone().expect("it is a buffered channel")
    }

    pub(super) fn len_place(&self) -> Place {
        self.queue().field(QUEUE_LEN)
    }

    /// The message at a position.
    pub(super) fn message(&self, position: ExprId) -> Place {
        self.queue().field(QUEUE_MESSAGES).at(position)
    }
}

impl Lowering<'_> {
    /// The number of a channel that a variable always holds, if it does.
    pub(super) fn constant_channel(
        &mut self,
        scope: &Scope,
        var: VarId,
        indices: &[ExprId],
    ) -> Option<ExprId> {
        let (proctype, number) = match var {
            VarId::Global(var) => (None, var),
            VarId::Local(var) => (Some(scope.proctype), var),
            VarId::Scratch => return None,
        };
        let origin = self.layout.flow.constant(proctype, number)?;
        let (is_element, element) = self.element(scope, var, indices);
        let first = self.first_number(scope, origin);
        let number = self.sum(first, element);
        // Another number would be another channel.
        let none = self.builder.int(0);
        Some(self.builder.cond(is_element, number, none))
    }

    fn sum(&mut self, a: ExprId, b: ExprId) -> ExprId {
        match (self.builder.known_int(a), self.builder.known_int(b)) {
            (Some(a), _) => self.builder.plus(b, a),
            (_, Some(b)) => self.builder.plus(a, b),
            _ => self.builder.binary(Op::Add, a, b),
        }
    }

    /// The number of the first channel of an origin; of a local one, that of the process.
    pub(super) fn first_number(&mut self, scope: &Scope, origin: usize) -> ExprId {
        if let Some(member) = self.layout.members[origin] {
            return self.builder.int(member.first_number.into());
        }
        let slot = scope.slot.expr(&mut self.builder);
        let process = &self.layout.processes[scope.proctype];
        let field = process.first_channel.expect("it has channels");
        let first = process.field(slot, field);
        let first = self.builder.read(first);
        let offset = self.channel_offset(origin);
        self.builder.plus(first, offset.into())
    }

    /// How many channels a process creates before those of an origin.
    fn channel_offset(&self, origin: usize) -> u32 {
        let origins = &self.layout.flow.origins;
        let proctype = origins[origin].proctype;
        let before = origins[..origin]
            .iter()
            .filter(|it| it.proctype == proctype);
        before.map(|it| it.n).sum()
    }

    /// Whether there is an element of a variable at `indices`, and its position.
    fn element(&mut self, scope: &Scope, var: VarId, indices: &[ExprId]) -> (ExprId, ExprId) {
        let variable = self.variable(scope, var);
        let dims = variable.map_or_else(Vec::new, |it| it.dims.clone());
        let (mut are_inside, mut position) = (Vec::new(), self.builder.int(0));
        for (&index, &dim) in indices.iter().zip(&dims) {
            are_inside.push(self.builder.in_range(index, 0, i64::from(dim) - 1));
            if self.builder.known_int(position) != Some(0) {
                let dim = self.builder.int(dim.into());
                position = self.builder.binary(Op::Mul, position, dim);
            }
            position = self.sum(position, index);
        }
        (self.builder.and(are_inside), position)
    }

    /// The channel that an expression names.
    pub(super) fn channel(&mut self, scope: &mut Scope, value: &PExpr, span: TokenSpan) -> Channel {
        let origins = self.layout.flow.of(Some(scope.proctype), value);
        self.builder.set_site(span);
        if let PExpr::Read(place) = value {
            let (proctype, var) = match place.var {
                VarId::Global(var) => (None, var),
                VarId::Local(var) => (Some(scope.proctype), var),
                VarId::Scratch => (None, usize::MAX),
            };
            let constant = match var {
                usize::MAX => None,
                var => self.layout.flow.constant(proctype, var),
            };
            if let Some(origin) = constant {
                let indices = self.indices(scope, place);
                self.builder.set_site(span);
                let (is_element, element) = self.element(scope, place.var, &indices);
                let first = self.first_number(scope, origin);
                let number = self.sum(first, element);
                let alternative = self.own_alternative(origin, number, element, is_element);
                let variable = self.variable(scope, place.var);
                let dims = variable.map_or_else(Vec::new, |it| it.dims.clone());
                return Channel {
                    number,
                    alternatives: vec![alternative],
                    origins,
                    array: (!dims.is_empty()).then_some(ChannelArray { dims, indices }),
                };
            }
        }
        let number = self.int(scope, value);
        self.builder.set_site(span);
        let mut alternatives = self.global_alternatives(number, &origins);
        alternatives.extend(self.stack_alternatives(number, &origins));
        Channel {
            number,
            alternatives,
            origins,
            array: None,
        }
    }

    /// The alternative for a channel of a known origin.
    fn own_alternative(
        &mut self,
        origin: usize,
        number: ExprId,
        element: ExprId,
        condition: ExprId,
    ) -> Alternative {
        let ty = &self.program.channels[self.layout.flow.origins[origin].channel];
        let queue = match self.layout.members[origin] {
            Some(member) => {
                let var = self.layout.classes[member.class].var;
                let element = self.builder.plus(element, member.first_element.into());
                var.map(|var| Place::var(var).at(element))
            }
            None => self.stack_element(number).map(|it| it.field(STACK_QUEUE)),
        };
        Alternative {
            condition,
            queue: queue.filter(|_| ty.capacity > 0),
            capacity: ty.capacity,
            fields: ty.fields.clone(),
        }
    }

    /// The element of the stack that a number names.
    pub(super) fn stack_element(&mut self, number: ExprId) -> Option<Place> {
        let first = i64::from(self.layout.n_global) + 1;
        let var = self.layout.stack.as_ref()?.var;
        let element = self.builder.plus(number, -first);
        Some(Place::var(var).at(element))
    }

    fn global_alternatives(&mut self, number: ExprId, origins: &Origins) -> Vec<Alternative> {
        let mut alternatives = Vec::new();
        for class in 0..self.layout.classes.len() {
            let mut segments: Vec<Segment> = Vec::new();
            for origin in origins.iter() {
                let Some(member) = self.layout.members[origin].filter(|it| it.class == class)
                else {
                    continue;
                };
                let lo = i64::from(member.first_number);
                let segment = Segment {
                    lo,
                    hi: lo + i64::from(self.layout.flow.origins[origin].n) - 1,
                    to: member.first_element.into(),
                };
                match segments.last_mut() {
                    Some(last) if last.hi + 1 == lo && last.to + lo - last.lo == segment.to => {
                        last.hi = segment.hi;
                    }
                    _ => segments.push(segment),
                }
            }
            if segments.is_empty() {
                continue;
            }
            let ranges = segments.iter();
            let ranges = ranges.map(|it| self.builder.in_range(number, it.lo, it.hi));
            let ranges = ranges.collect();
            let condition = self.builder.or(ranges);
            let var = self.layout.classes[class].var;
            let queue = var.map(|var| {
                let element = match segments[..] {
                    [only] => self.builder.plus(number, only.to - only.lo),
                    _ => self.remap(number, segments),
                };
                Place::var(var).at(element)
            });
            let ty = &self.layout.classes[class].ty;
            alternatives.push(Alternative {
                condition,
                queue,
                capacity: ty.capacity,
                fields: ty.fields.clone(),
            });
        }
        alternatives
    }

    fn remap(&mut self, value: ExprId, segments: Vec<Segment>) -> ExprId {
        let from = self.builder.scalar(Scalar::Chan);
        self.builder.ir.maps.push(ValueMap { segments, from });
        let map = MapId::new(self.builder.ir.maps.len() - 1);
        self.builder.expr(Expr::Remap { value, map })
    }

    fn stack_alternatives(&mut self, number: ExprId, origins: &Origins) -> Vec<Alternative> {
        let Some(stack) = &self.layout.stack else {
            return Vec::new();
        };
        let (n, kinds) = (i64::from(stack.n), stack.kinds.clone());
        let first = i64::from(self.layout.n_global) + 1;
        let mut alternatives = Vec::new();
        for (tag, kind) in kinds.into_iter().enumerate() {
            let is_kind = |origin: usize| {
                let origin = self.layout.flow.origins[origin];
                origin.proctype.is_some() && origin.channel == kind
            };
            if !origins.iter().any(is_kind) {
                continue;
            }
            let is_inside = self.builder.in_range(number, first, first + n - 1);
            let element = self.stack_element(number).expect("there is a stack");
            let tag_there = self.builder.read(element.clone().field(STACK_KIND));
            let has_tag = self.builder.equals(tag_there, tag as i64 + 1);
            let condition = self.builder.and(vec![is_inside, has_tag]);
            let ty = &self.program.channels[kind];
            alternatives.push(Alternative {
                condition,
                queue: (ty.capacity > 0).then(|| element.field(STACK_QUEUE)),
                capacity: ty.capacity,
                fields: ty.fields.clone(),
            });
        }
        alternatives
    }

    /// Whether a number names no channel.
    pub(super) fn is_bad(&mut self, channel: &Channel) -> ExprId {
        let conditions = channel.alternatives.iter().map(|it| it.condition).collect();
        let is_good = self.builder.or(conditions);
        self.builder.not(is_good)
    }

    pub(super) fn queue_len(
        &mut self,
        scope: &mut Scope,
        value: &PExpr,
        span: TokenSpan,
    ) -> ExprId {
        let channel = self.channel(scope, value, span);
        let zero = self.builder.int(0);
        let mut len = self.without_channel(&channel, Some(zero));
        for alternative in channel.alternatives.iter().rev() {
            let own = match alternative.queue.is_some() {
                true => self.builder.read(alternative.len_place()),
                false => zero,
            };
            len = self.builder.cond(alternative.condition, own, len);
        }
        len
    }

    /// Whether a number is that of a channel whose process is gone: there is none in its place on
    /// the stack.
    fn is_gone(&mut self, number: ExprId) -> ExprId {
        let Some(stack) = &self.layout.stack else {
            return self.builder.truth(false);
        };
        let first = i64::from(self.layout.n_global) + 1;
        let last = first + i64::from(stack.n) - 1;
        let is_inside = self.builder.in_range(number, first, last);
        let element = self.stack_element(number).expect("there is a stack");
        let tag = self.builder.read(element.field(STACK_KIND));
        let is_free = self.builder.equals(tag, 0);
        self.builder.and(vec![is_inside, is_free])
    }

    /// Whether a receive waits for a message of a channel that is gone, as SPIN does where it has
    /// no need to tell rendezvous channels from others.
    fn waits_for_gone(&self) -> bool {
        let mut channels = self.program.channels.iter();
        let is_rendezvous = channels.clone().any(|it| it.capacity == 0);
        !(is_rendezvous && channels.any(|it| it.capacity > 0))
    }

    /// Whether a receive cannot have a meaning: there is no channel that it names.
    pub(super) fn is_bad_to_receive(&mut self, channel: &Channel) -> ExprId {
        let mut parts = vec![self.is_bad(channel)];
        if self.waits_for_gone() && self.builder.known_truth(parts[0]).is_none() {
            let is_gone = self.is_gone(channel.number);
            parts.push(self.builder.not(is_gone));
        }
        self.builder.and(parts)
    }

    /// The value of an expression about a channel where it names none: `gone` for a channel whose
    /// process is gone, if it is given, and a fault otherwise.
    fn without_channel(&mut self, channel: &Channel, gone: Option<ExprId>) -> ExprId {
        let bad = self.is_bad(channel);
        if self.builder.known_truth(bad) == Some(false) {
            return self.builder.int(0);
        }
        let function = self.no_channel();
        let fault = self.builder.call(function, Vec::new());
        match gone {
            Some(value) => {
                let is_gone = self.is_gone(channel.number);
                self.builder.cond(is_gone, value, fault)
            }
            None => fault,
        }
    }

    /// As [`without_channel`](Self::without_channel), for a truth value: that none is named, and
    /// what holds then.
    fn holds_without_channel(&mut self, channel: &Channel, gone: Option<bool>) -> ExprId {
        let gone = gone.map(|gone| self.builder.int(gone.into()));
        let bad = self.is_bad(channel);
        let value = self.without_channel(channel, gone);
        let zero = self.builder.int(0);
        let holds = self.builder.binary(Op::Ne, value, zero);
        self.builder.and(vec![bad, holds])
    }

    /// A function that faults, since expressions cannot; one for each place in the text, which the
    /// fault names.
    fn no_channel(&mut self) -> FunctionId {
        let site = self.builder.site();
        if let Some(function) = self.no_channel.get(&site) {
            return *function;
        }
        let mut body = self.no_such_channel();
        let zero = self.builder.int(0);
        let value = ReturnValue::Value(zero);
        body.push(self.builder.stmt(StmtKind::Return(value)));
        let result = self.builder.range(0, 1);
        self.builder.ir.functions.push(Function {
            name: format!("no_channel{}", self.builder.ir.functions.len()),
            params: Vec::new(),
            result: Some(result),
            frame: Frame::default(),
            body,
            site,
        });
        let function = FunctionId::new(self.builder.ir.functions.len() - 1);
        self.no_channel.insert(site, function);
        function
    }

    pub(super) fn queue_test(
        &mut self,
        scope: &mut Scope,
        op: QueueOp,
        value: &PExpr,
        span: TokenSpan,
    ) -> ExprId {
        let channel = self.channel(scope, value, span);
        let mut holds = Vec::new();
        for alternative in &channel.alternatives {
            let (len, capacity) = match alternative.queue.is_some() {
                true => (
                    self.builder.read(alternative.len_place()),
                    alternative.capacity,
                ),
                false => (self.builder.int(0), 0),
            };
            let limit = match op {
                QueueOp::Empty | QueueOp::Nempty | QueueOp::Len => 0,
                QueueOp::Full | QueueOp::Nfull => capacity,
            };
            let is_at = self.builder.equals(len, limit.into());
            let holds_there = match op {
                QueueOp::Nempty | QueueOp::Nfull => self.builder.not(is_at),
                _ => is_at,
            };
            holds.push(self.builder.and(vec![alternative.condition, holds_there]));
        }
        let gone = match op {
            QueueOp::Empty => Some(true),
            QueueOp::Nempty | QueueOp::Len => Some(false),
            // What does not exist has no capacity.
            QueueOp::Full | QueueOp::Nfull => None,
        };
        holds.push(self.holds_without_channel(&channel, gone));
        self.builder.or(holds)
    }

    pub(super) fn poll(&mut self, scope: &mut Scope, receive: &Receive) -> ExprId {
        let channel = self.channel(scope, &receive.chan, receive.span);
        let ready = self.has_match(scope, &channel, receive);
        self.builder.set_site(receive.span);
        let is_empty = self.waits_for_gone() && !receive.random;
        let otherwise = self.holds_without_channel(&channel, is_empty.then_some(false));
        self.builder.or(vec![ready, otherwise])
    }

    /// Whether a buffered channel has a message that a receive takes.
    pub(super) fn has_match(
        &mut self,
        scope: &mut Scope,
        channel: &Channel,
        receive: &Receive,
    ) -> ExprId {
        let mut ready = Vec::new();
        for alternative in &channel.alternatives {
            if alternative.queue.is_none() {
                continue;
            }
            let len = self.builder.read(alternative.len_place());
            let own = match receive.random && alternative.capacity > 1 {
                false => {
                    let zero = self.builder.int(0);
                    let is_there = self.builder.binary(Op::Ne, len, zero);
                    let matches = self.matches(scope, alternative, receive, zero);
                    self.builder.and(vec![is_there, matches])
                }
                true => {
                    let n = alternative.capacity;
                    let var = self.builder.counter(&mut scope.frame, "position", n);
                    let position = self.builder.local(var);
                    let is_there = self.builder.binary(Op::Lt, position, len);
                    let matches = self.matches(scope, alternative, receive, position);
                    let body = self.builder.and(vec![is_there, matches]);
                    self.builder.quantified(Quantifier::Exists, var, n, body)
                }
            };
            ready.push(self.builder.and(vec![alternative.condition, own]));
        }
        self.builder.or(ready)
    }

    /// Whether the message at a position is one that a receive takes.
    pub(super) fn matches(
        &mut self,
        scope: &mut Scope,
        alternative: &Alternative,
        receive: &Receive,
        position: ExprId,
    ) -> ExprId {
        let fields: Vec<ExprId> = (0..alternative.fields.len())
            .map(|field| {
                let place = alternative.message(position).field(field as u32);
                self.builder.read(place)
            })
            .collect();
        self.fields_match(scope, receive, &fields)
    }

    /// Whether a message with these fields is one that a receive takes.
    pub(super) fn fields_match(
        &mut self,
        scope: &mut Scope,
        receive: &Receive,
        fields: &[ExprId],
    ) -> ExprId {
        let mut parts = Vec::new();
        for (arg, &field) in receive.args.iter().zip(fields) {
            if let Match::Equal(value) = arg {
                let value = self.int(scope, value);
                parts.push(self.builder.binary(Op::Eq, field, value));
            }
        }
        self.builder.and(parts)
    }

    /// The position of the first message that a receive takes, in a local: code for a body.
    pub(super) fn find_match(
        &mut self,
        scope: &mut Scope,
        alternative: &Alternative,
        receive: &Receive,
        block: &mut hadal_ir::stmt::Block,
    ) -> LocalId {
        let n = alternative.capacity;
        let found = self.value_local(scope, "found");
        let none = self.builder.int(-1);
        block.push(self.builder.assign(Place::local(found), none));
        let var = self.builder.counter(&mut scope.frame, "position", n);
        let position = self.builder.local(var);
        let len = self.builder.read(alternative.len_place());
        let is_there = self.builder.binary(Op::Lt, position, len);
        let found_so_far = self.builder.local(found);
        let is_first = self.builder.equals(found_so_far, -1);
        let matches = self.matches(scope, alternative, receive, position);
        let condition = self.builder.and(vec![is_first, is_there, matches]);
        let note = self.builder.assign(Place::local(found), position);
        let body = vec![self.builder.stmt(StmtKind::If {
            arms: vec![(condition, vec![note])],
            otherwise: Vec::new(),
        })];
        let domain = self.builder.upto(n);
        block.push(self.builder.stmt(StmtKind::For { var, domain, body }));
        found
    }
}
