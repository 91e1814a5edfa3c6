//! What statements do.

use hadal_ir::expr::{BinaryOp as Op, Place};
use hadal_ir::ids::ExprId;
use hadal_ir::program::LocalKind;
use hadal_ir::stmt::{Block, Notation, PutItem, StmtKind};
use hadal_model::FaultKind;

use super::exprs::Scope;
use super::queues::{Alternative, ChannelArray};
use super::{HANDSHAKE, Lowering};
use crate::naming::{CHANNEL, message_note};
use crate::program::{Action, Conversion, Match, Printed, Receive, Scalar, Send};

/// Messages that are moved one by one in code; more are moved in a loop.
const MAX_UNROLLED: u32 = 8;

impl Lowering<'_> {
    /// Does what a statement does that is executable, but for a `d_step`.
    pub(super) fn effect(&mut self, scope: &mut Scope, action: &Action, block: &mut Block) {
        match action {
            Action::Cond(_) | Action::Else | Action::Goto | Action::Declare => {}
            Action::DStep { .. } => unreachable!("it has a rule of its own"),
            Action::Assign(place, value) => {
                let value = self.int(scope, value);
                let value = self.truncated(self.scalar_of(scope, place.var), value);
                if let Some(place) = self.place(scope, place) {
                    block.push(self.builder.assign(place, value));
                }
            }
            Action::Send(send) => self.send(scope, send, block),
            Action::Receive(receive) => self.receive(scope, receive, block),
            Action::Run(run, target) => self.run(scope, run, target.as_ref(), block),
            // A product leaves them to the program without a claim.
            Action::Assert(..) if self.observer.is_some() => {}
            Action::Assert(condition, text) => {
                // It is the assertion that fails, not the operand that was evaluated last.
                let site = self.builder.site();
                let condition = self.truth(scope, condition);
                self.builder.return_to(site);
                block.push(self.builder.stmt(StmtKind::Assert {
                    condition,
                    message: format!("assertion violated: {text}"),
                    goes_on: true,
                }));
            }
            Action::Print(parts) => self.print(scope, parts, block),
            Action::SetPriority(pid, value) => self.set_priority(scope, pid, value, block),
            Action::AssignPriority(value) => self.assign_priority(scope, value, block),
        }
    }

    pub(super) fn fault(&mut self, kind: FaultKind, message: &str) -> Block {
        let message = message.to_owned();
        vec![self.builder.stmt(StmtKind::Error { kind, message })]
    }

    /// What happens where a channel is none of its alternatives.
    fn bad_channel(&mut self, scope: &mut Scope, array: Option<&ChannelArray>) -> Block {
        if let Some(array) = array {
            // There is no variable with the numbers of channels that never change. An array that is
            // shaped as declared has the same fault as any other.
            let bit = self.builder.range(0, 1);
            let dims = array.dims.iter().rev();
            let ty = dims.fold(bit, |element, &n| self.builder.array(n, element));
            let local = scope.frame.add("channels", LocalKind::Value(ty));
            let indices = array.indices.iter();
            let place = indices.fold(Place::local(local), |place, &index| place.at(index));
            let zero = self.builder.int(0);
            return vec![self.builder.assign(place, zero)];
        }
        self.no_such_channel()
    }

    pub(super) fn no_such_channel(&mut self) -> Block {
        self.fault(
            FaultKind::BadChannel,
            "there is no such channel: it was never created, or its process is gone",
        )
    }

    /// Runs the code of the alternative that a channel is.
    fn choose(
        &mut self,
        scope: &mut Scope,
        (alternatives, array): (&[Alternative], Option<&ChannelArray>),
        block: &mut Block,
        mut code: impl FnMut(&mut Self, &mut Scope, &Alternative) -> Block,
    ) {
        if let [only] = alternatives
            && self.builder.known_truth(only.condition) == Some(true)
        {
            block.extend(code(self, scope, only));
            return;
        }
        let arms = alternatives.iter();
        let arms = arms.map(|it| (it.condition, code(self, scope, it)));
        let arms = arms.collect();
        let otherwise = self.bad_channel(scope, array);
        block.push(self.builder.stmt(StmtKind::If { arms, otherwise }));
    }

    /// Reports a message with another number of fields than its channel's, which is known at run
    /// time only where the channel is. SPIN's verifier reports it and goes on: fields that are
    /// missing are 0, or dropped.
    fn check_arity(&mut self, n: usize, alternative: &Alternative, block: &mut Block) {
        let n_fields = alternative.fields.len();
        if n == n_fields || self.observer.is_some() {
            return;
        }
        let plural = |n| if n == 1 { "" } else { "s" };
        let message = format!(
            "{n} argument{} for a message of {n_fields} field{}",
            plural(n),
            plural(n_fields)
        );
        let condition = self.builder.truth(false);
        block.push(self.builder.stmt(StmtKind::Assert {
            condition,
            message,
            goes_on: true,
        }));
    }

    /// The same for a receive from a rendezvous channel.
    pub(super) fn check_handshake_arity(
        &mut self,
        scope: &mut Scope,
        receive: &Receive,
        block: &mut Block,
    ) {
        let channel = self.channel(scope, &receive.chan, receive.span);
        for alternative in channel.alternatives {
            let mut code = Vec::new();
            if alternative.queue.is_none() && !receive.keeps {
                self.check_arity(receive.args.len(), &alternative, &mut code);
            }
            if !code.is_empty() {
                let arms = vec![(alternative.condition, code)];
                let otherwise = Vec::new();
                block.push(self.builder.stmt(StmtKind::If { arms, otherwise }));
            }
        }
    }

    fn send(&mut self, scope: &mut Scope, send: &Send, block: &mut Block) {
        let channel = self.channel(scope, &send.chan, send.span);
        let number = channel.number;
        let alternatives = (&channel.alternatives[..], channel.array.as_ref());
        self.choose(scope, alternatives, block, |it, scope, alternative| {
            let values = it.message_fields(scope, send, &alternative.fields);
            let mut code = Vec::new();
            it.check_arity(send.args.len(), alternative, &mut code);
            match alternative.queue.is_some() {
                false if scope.in_d_step => code.extend(it.fault(
                    FaultKind::BlockedDStep,
                    "a `d_step` cannot send to a rendezvous channel: no one else moves in it",
                )),
                false => {
                    it.offer(scope, number, values, &mut code);
                    it.note_message(&alternative.fields, &mut code);
                }
                true if send.sorted && alternative.capacity > 1 => {
                    it.insert(scope, alternative, send, &values, &mut code);
                }
                true => {
                    let len = it.builder.read(alternative.len_place());
                    it.store_message(alternative, len, &values, &mut code);
                    let more = it.builder.plus(len, 1);
                    code.push(it.builder.assign(alternative.len_place(), more));
                }
            }
            if alternative.queue.is_some() && it.options.lossy {
                let len = it.builder.read(alternative.len_place());
                let capacity = it.builder.int(alternative.capacity.into());
                let has_room = it.builder.binary(Op::Lt, len, capacity);
                let arms = vec![(has_room, std::mem::take(&mut code))];
                let otherwise = Vec::new();
                code.push(it.builder.stmt(StmtKind::If { arms, otherwise }));
            }
            code
        });
    }

    /// The send half of a rendezvous.
    fn offer(&mut self, scope: &Scope, number: ExprId, values: Vec<ExprId>, block: &mut Block) {
        let sender = self.pid(scope);
        let registers = self.layout.registers.as_ref();
        let registers = registers.expect("there are rendezvous channels");
        let handshake = registers.handshake.as_ref();
        let handshake = handshake.expect("there are rendezvous channels");
        block.push(self.builder.assign(Place::var(handshake.channel), number));
        block.push(self.builder.assign(Place::var(handshake.sender), sender));
        for (&var, value) in handshake.fields.iter().zip(values) {
            block.push(self.builder.assign(Place::var(var), value));
        }
        let under_way = self.builder.int(HANDSHAKE);
        let control = Place::var(registers.control);
        block.push(self.builder.assign(control, under_way));
    }

    /// Notes the message of a rendezvous, which no state at rest has.
    fn note_message(&mut self, fields: &[Scalar], block: &mut Block) {
        let registers = self.layout.registers.as_ref();
        let handshake = registers.and_then(|it| it.handshake.as_ref());
        let handshake = handshake.expect("there are rendezvous channels");
        let registers = handshake.fields.clone();
        let (begin, end) = message_note();
        let mut items = vec![PutItem::Text(format!("{begin}["))];
        for (number, (&field, register)) in fields.iter().zip(registers).enumerate() {
            if number > 0 {
                items.push(PutItem::Text(",".to_owned()));
            }
            let value = self.builder.read(Place::var(register));
            let value = match field {
                Scalar::Mtype(_) => PutItem::Value(value, self.builder.scalar(field)),
                Scalar::Unsigned(_) => PutItem::Number(value, Notation::Unsigned),
                _ => PutItem::Value(value, self.builder.scalar(Scalar::Int)),
            };
            match field {
                Scalar::Chan => {
                    let mark = || PutItem::Text(CHANNEL.to_string());
                    items.extend([mark(), value, mark()]);
                }
                _ => items.push(value),
            }
        }
        items.push(PutItem::Text(format!("]{end}")));
        let notes = items.into_iter().map(StmtKind::Put);
        block.extend(notes.map(|note| self.builder.stmt(note)));
    }

    fn store_message(
        &mut self,
        alternative: &Alternative,
        position: ExprId,
        values: &[ExprId],
        block: &mut Block,
    ) {
        for (field, &value) in values.iter().enumerate() {
            // What is free is 0 already.
            if self.builder.known_int(value) != Some(0) {
                let place = alternative.message(position).field(field as u32);
                block.push(self.builder.assign(place, value));
            }
        }
    }

    /// Inserts a message before the first that is greater. Fields are compared as they are given,
    /// not as they are stored.
    fn insert(
        &mut self,
        scope: &mut Scope,
        alternative: &Alternative,
        send: &Send,
        values: &[ExprId],
        block: &mut Block,
    ) {
        let n = alternative.capacity;
        let mut given = Vec::new();
        for field in 0..alternative.fields.len() {
            let value = match send.args.get(field) {
                Some(arg) => self.int(scope, arg),
                None => self.builder.int(0),
            };
            given.push(self.kept(scope, "given", value, block));
        }
        let values: Vec<ExprId> = values
            .iter()
            .map(|&value| self.kept(scope, "field", value, block))
            .collect();
        let len = self.builder.read(alternative.len_place());
        let len = self.kept(scope, "len", len, block);
        let at = self.value_local(scope, "at");
        block.push(self.builder.assign(Place::local(at), len));
        let var = self.builder.counter(&mut scope.frame, "position", n);
        let position = self.builder.local(var);
        let here = self.builder.local(at);
        let mut is_greater = self.builder.truth(false);
        for (field, &value) in given.iter().enumerate().rev() {
            let there = alternative.message(position).field(field as u32);
            let there = self.builder.read(there);
            let greater = self.builder.binary(Op::Gt, there, value);
            let equal = self.builder.binary(Op::Eq, there, value);
            let tail = self.builder.and(vec![equal, is_greater]);
            is_greater = self.builder.or(vec![greater, tail]);
        }
        // Positions from `len` on hold nothing, and are not below `at`.
        let is_before = self.builder.binary(Op::Lt, position, here);
        let condition = self.builder.and(vec![is_before, is_greater]);
        let note = self.builder.assign(Place::local(at), position);
        let body = vec![self.builder.stmt(StmtKind::If {
            arms: vec![(condition, vec![note])],
            otherwise: Vec::new(),
        })];
        let domain = self.builder.upto(n);
        block.push(self.builder.stmt(StmtKind::For { var, domain, body }));
        // What is behind moves up by one, the last message first.
        let to = self.value_local(scope, "to");
        block.push(self.builder.assign(Place::local(to), len));
        let above = self.builder.local(to);
        let below = self.builder.plus(above, -1);
        let is_behind = self.builder.binary(Op::Gt, above, here);
        let body = vec![
            self.builder.stmt(StmtKind::Copy {
                to: alternative.message(above),
                from: alternative.message(below),
            }),
            self.builder.assign(Place::local(to), below),
        ];
        block.push(self.builder.stmt(StmtKind::While {
            condition: is_behind,
            body,
        }));
        for (field, &value) in values.iter().enumerate() {
            let place = alternative.message(here).field(field as u32);
            block.push(self.builder.assign(place, value));
        }
        let more = self.builder.plus(len, 1);
        block.push(self.builder.assign(alternative.len_place(), more));
    }

    fn receive(&mut self, scope: &mut Scope, receive: &Receive, block: &mut Block) {
        let channel = self.channel(scope, &receive.chan, receive.span);
        let buffered: Vec<Alternative> = channel
            .alternatives
            .iter()
            .filter(|it| it.queue.is_some())
            .cloned()
            .collect();
        let alternatives = (&buffered[..], channel.array.as_ref());
        self.choose(scope, alternatives, block, |it, scope, alternative| {
            let mut code = Vec::new();
            if !receive.keeps {
                it.check_arity(receive.args.len(), alternative, &mut code);
            }
            let position = match receive.random && alternative.capacity > 1 {
                false => it.builder.int(0),
                true => {
                    let found = it.find_match(scope, alternative, receive, &mut code);
                    it.builder.local(found)
                }
            };
            let values = it.taken_fields(scope, receive, alternative, position, &mut code);
            if !receive.keeps {
                it.remove_message(scope, alternative, position, &mut code);
            }
            it.assign_fields(scope, receive, &values, &mut code);
            code
        });
    }

    /// The fields that a receive assigns, in locals: assigning them may change what they are read
    /// from.
    fn taken_fields(
        &mut self,
        scope: &mut Scope,
        receive: &Receive,
        alternative: &Alternative,
        position: ExprId,
        block: &mut Block,
    ) -> Vec<ExprId> {
        let mut values = Vec::new();
        let n_fields = alternative.fields.len();
        for (field, arg) in receive.args.iter().enumerate().take(n_fields) {
            if !matches!(arg, Match::Assign(_)) {
                values.push(self.builder.int(0));
                continue;
            }
            let (lo, hi) = alternative.fields[field].range();
            let ty = match hi > i32::MAX.into() {
                true => self.builder.scalar(Scalar::Int),
                false => self.builder.range(lo, hi),
            };
            let kind = LocalKind::Value(ty);
            let local = scope.frame.add("field", kind);
            let from = alternative.message(position).field(field as u32);
            let value = self.builder.read(from);
            block.push(self.builder.assign(Place::local(local), value));
            values.push(self.builder.local(local));
        }
        values
    }

    pub(super) fn assign_fields(
        &mut self,
        scope: &mut Scope,
        receive: &Receive,
        values: &[ExprId],
        block: &mut Block,
    ) {
        for (arg, &value) in receive.args.iter().zip(values) {
            if let Match::Assign(place) = arg {
                let value = self.truncated(self.scalar_of(scope, place.var), value);
                if let Some(place) = self.place(scope, place) {
                    block.push(self.builder.assign(place, value));
                }
            }
        }
    }

    /// Removes the message at a position; those behind it move up, and what is free is 0.
    fn remove_message(
        &mut self,
        scope: &mut Scope,
        alternative: &Alternative,
        position: ExprId,
        block: &mut Block,
    ) {
        let n = alternative.capacity;
        let is_first = self.builder.known_int(position) == Some(0);
        if is_first && n <= MAX_UNROLLED {
            for message in 0..n - 1 {
                let to = self.builder.int(message.into());
                let from = self.builder.int(i64::from(message) + 1);
                block.push(self.builder.stmt(StmtKind::Copy {
                    to: alternative.message(to),
                    from: alternative.message(from),
                }));
            }
        } else if n > 1 {
            let var = self.builder.counter(&mut scope.frame, "message", n - 1);
            let to = self.builder.local(var);
            let from = self.builder.plus(to, 1);
            let copy = self.builder.stmt(StmtKind::Copy {
                to: alternative.message(to),
                from: alternative.message(from),
            });
            let is_behind = self.builder.binary(Op::Ge, to, position);
            let moved = self.builder.stmt(StmtKind::If {
                arms: vec![(is_behind, vec![copy])],
                otherwise: Vec::new(),
            });
            let domain = self.builder.upto(n - 1);
            let body = vec![moved];
            block.push(self.builder.stmt(StmtKind::For { var, domain, body }));
        }
        let last = self.builder.int(i64::from(n) - 1);
        let last = alternative.message(last);
        block.push(self.builder.stmt(StmtKind::Clear(last)));
        let len = self.builder.read(alternative.len_place());
        let less = self.builder.plus(len, -1);
        block.push(self.builder.assign(alternative.len_place(), less));
    }

    fn print(&mut self, scope: &mut Scope, parts: &[Printed], block: &mut Block) {
        for part in parts {
            let item = match part {
                Printed::Text(text) => PutItem::Text(text.clone()),
                Printed::Value(value, conversion) => {
                    let value = self.int(scope, value);
                    match conversion {
                        Conversion::Decimal => {
                            PutItem::Value(value, self.builder.scalar(Scalar::Int))
                        }
                        Conversion::Symbol(set) => {
                            PutItem::Value(value, self.builder.scalar(Scalar::Mtype(*set)))
                        }
                        Conversion::Unsigned => PutItem::Number(value, Notation::Unsigned),
                        Conversion::Octal => PutItem::Number(value, Notation::Octal),
                        Conversion::Hexadecimal => PutItem::Number(value, Notation::Hexadecimal),
                        Conversion::Character => PutItem::Number(value, Notation::Character),
                    }
                }
            };
            block.push(self.builder.stmt(StmtKind::Put(item)));
        }
    }
}
