//! Expressions: C integers, and truth values where these are wanted.

use hadal_ir::expr::{BinaryOp as Op, Expr, Place, UnaryOp};
use hadal_ir::ids::{ExprId, LocalId};
use hadal_ir::program::Frame;

use super::Lowering;
use super::layout::Slot;
use crate::program::{BinaryOp, Expr as PExpr, Place as PPlace, QueueOp, Scalar, VarId, Variable};
use crate::text::TokenSpan;

/// Processes that are looked through one by one; among more, halves are.
const MAX_IN_CHAIN: usize = 16;

/// The process that an expression is evaluated for, and the locals of the rule or function.
pub(super) struct Scope {
    pub(super) proctype: usize,
    pub(super) slot: Slot,
    pub(super) frame: Frame,
    /// The value of `timeout`.
    pub(super) timeout: bool,
    /// Whether this is inside a `d_step`.
    pub(super) in_d_step: bool,
}

impl Scope {
    /// The same locals for another process, as long as `work` takes.
    pub(super) fn with<T>(
        &mut self,
        proctype: usize,
        slot: Slot,
        work: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let before = (self.proctype, self.slot);
        (self.proctype, self.slot) = (proctype, slot);
        let result = work(self);
        (self.proctype, self.slot) = before;
        result
    }
}

impl<'p> Lowering<'p> {
    /// A value as a C integer.
    pub(super) fn int(&mut self, scope: &mut Scope, value: &PExpr) -> ExprId {
        match value {
            PExpr::Const(value) => self.builder.int((*value).into()),
            PExpr::Read(place) => self.read(scope, place),
            PExpr::Pid => self.pid(scope),
            PExpr::NrPr => self.builder.read(Place::var(self.layout.n_processes)),
            PExpr::Last => match self.layout.last {
                Some(last) => self.builder.read(Place::var(last)),
                None => self.builder.int(0),
            },
            PExpr::Priority => self.priority(scope),
            PExpr::Unary(crate::program::UnaryOp::Neg, a) => {
                let a = self.int(scope, a);
                self.builder.expr(Expr::Unary(UnaryOp::Neg, a))
            }
            PExpr::Unary(crate::program::UnaryOp::Complement, a) => {
                let a = self.int(scope, a);
                self.builder.expr(Expr::Unary(UnaryOp::BitNot, a))
            }
            PExpr::Binary(op, a, b, span) => match arithmetic(*op) {
                Some(ir_op) => self.arithmetic(scope, *op, ir_op, (a, b), *span),
                None => self.truth_as_int(scope, value),
            },
            PExpr::Cond(condition, yes, no) => {
                let condition = self.truth(scope, condition);
                let (yes, no) = (self.int(scope, yes), self.int(scope, no));
                self.builder.cond(condition, yes, no)
            }
            PExpr::Queue(QueueOp::Len, channel, span) => self.queue_len(scope, channel, *span),
            PExpr::GetPriority(pid) => {
                let pid = self.int(scope, pid);
                self.of_process(scope, None, Some(pid), |it, scope| it.priority(scope))
            }
            PExpr::PcValue(pid) => {
                let pid = self.int(scope, pid);
                self.of_process(scope, None, Some(pid), |it, scope| it.point(scope))
            }
            PExpr::RemoteVar {
                proctype,
                pid,
                var,
                indices,
                span,
            } => {
                let pid = pid.as_ref().map(|pid| self.int(scope, pid));
                let reader = (scope.proctype, scope.slot);
                self.of_process(scope, Some(*proctype), pid, |it, scope| {
                    let owner = (scope.proctype, scope.slot);
                    it.builder.set_site(*span);
                    // Indices belong to the process that reads.
                    let indices: Vec<ExprId> = scope.with(reader.0, reader.1, |scope| {
                        let indices = indices.iter();
                        indices.map(|index| it.int(scope, index)).collect()
                    });
                    scope.with(owner.0, owner.1, |scope| {
                        it.name_indices(scope, VarId::Local(*var), &indices);
                        it.read_at(scope, VarId::Local(*var), indices)
                    })
                })
            }
            _ => self.truth_as_int(scope, value),
        }
    }

    fn truth_as_int(&mut self, scope: &mut Scope, value: &PExpr) -> ExprId {
        let truth = self.truth(scope, value);
        let (yes, no) = (self.builder.int(1), self.builder.int(0));
        self.builder.cond(truth, yes, no)
    }

    /// Whether a value is not 0.
    pub(super) fn truth(&mut self, scope: &mut Scope, value: &PExpr) -> ExprId {
        match value {
            PExpr::Const(value) => self.builder.truth(*value != 0),
            PExpr::Timeout => self.builder.truth(scope.timeout),
            PExpr::Unary(crate::program::UnaryOp::Not, a) => {
                let a = self.truth(scope, a);
                self.builder.not(a)
            }
            PExpr::Binary(BinaryOp::And, a, b, _) => {
                let parts = vec![self.truth(scope, a), self.truth(scope, b)];
                self.builder.and(parts)
            }
            PExpr::Binary(BinaryOp::Or, a, b, _) => {
                let parts = vec![self.truth(scope, a), self.truth(scope, b)];
                self.builder.or(parts)
            }
            PExpr::Binary(op, a, b, _) if comparison(*op).is_some() => {
                let op = comparison(*op).expect("it is one");
                let (a, b) = (self.int(scope, a), self.int(scope, b));
                self.builder.binary(op, a, b)
            }
            PExpr::Cond(condition, yes, no) => {
                let condition = self.truth(scope, condition);
                let (yes, no) = (self.truth(scope, yes), self.truth(scope, no));
                self.builder.cond(condition, yes, no)
            }
            PExpr::Queue(op, channel, span) if *op != QueueOp::Len => {
                self.queue_test(scope, *op, channel, *span)
            }
            PExpr::Poll(receive) => self.poll(scope, receive),
            PExpr::RemoteLabel {
                proctype,
                pid,
                label,
            } => self.is_at_label(scope, *proctype, pid.as_deref(), label),
            PExpr::Enabled(_) | PExpr::Np => {
                self.unsupported(
                    "`enabled` and `np_` have a meaning in never claims only",
                    self.program.proctypes[scope.proctype].span,
                );
                self.builder.truth(false)
            }
            _ => {
                let value = self.int(scope, value);
                let zero = self.builder.int(0);
                self.builder.binary(Op::Ne, value, zero)
            }
        }
    }

    fn arithmetic(
        &mut self,
        scope: &mut Scope,
        op: BinaryOp,
        ir_op: Op,
        (a, b): (&PExpr, &PExpr),
        span: TokenSpan,
    ) -> ExprId {
        let (a, mut b) = (self.int(scope, a), self.int(scope, b));
        if matches!(op, BinaryOp::Shl | BinaryOp::Shr) {
            let mask = self.builder.int(31);
            b = self.builder.binary(Op::BitAnd, b, mask);
        }
        self.builder.set_site(span);
        self.builder.binary(ir_op, a, b)
    }

    /// The pid of the process.
    pub(super) fn pid(&mut self, scope: &Scope) -> ExprId {
        let slot = scope.slot.expr(&mut self.builder);
        self.layout.processes[scope.proctype].pid(slot, &mut self.builder)
    }

    /// The number of the point that the process is at; 0 if it does not exist.
    pub(super) fn point(&mut self, scope: &Scope) -> ExprId {
        let slot = scope.slot.expr(&mut self.builder);
        let at = self.layout.processes[scope.proctype].at(slot);
        self.builder.read(at)
    }

    pub(super) fn priority(&mut self, scope: &Scope) -> ExprId {
        let process = &self.layout.processes[scope.proctype];
        match process.priority {
            None => self.builder.int(1),
            Some(field) => {
                let slot = scope.slot.expr(&mut self.builder);
                let place = self.layout.processes[scope.proctype].field(slot, field);
                self.builder.read(place)
            }
        }
    }

    /// A value of the process with a pid, or of the first instance of a type; 0 if there is none.
    fn of_process(
        &mut self,
        scope: &mut Scope,
        proctype: Option<usize>,
        pid: Option<ExprId>,
        mut value: impl FnMut(&mut Self, &mut Scope) -> ExprId,
    ) -> ExprId {
        let mut found = Vec::new();
        for number in 0..self.program.proctypes.len() {
            if proctype.is_some_and(|proctype| proctype != number) {
                continue;
            }
            let n = self.layout.processes[number].n;
            let n = if pid.is_none() { n.min(1) } else { n };
            for slot in 0..n {
                found.push(scope.with(number, Slot::Number(slot), |scope| {
                    let point = self.point(scope);
                    let absent = self.builder.equals(point, 0);
                    let mut is_it = vec![self.builder.not(absent)];
                    if let Some(pid) = pid {
                        let own = self.pid(scope);
                        is_it.push(self.builder.binary(Op::Eq, own, pid));
                    }
                    let is_it = self.builder.and(is_it);
                    (is_it, value(self, scope))
                }));
            }
        }
        let none = self.builder.int(0);
        self.choice(&found, none)
    }

    /// The value whose condition holds, or else `otherwise`. At most one condition holds. Conditions
    /// of many values are not nested one in the other, which would be too deep.
    fn choice(&mut self, values: &[(ExprId, ExprId)], otherwise: ExprId) -> ExprId {
        if values.len() <= MAX_IN_CHAIN {
            let values = values.iter().rev();
            return values.fold(otherwise, |otherwise, &(condition, value)| {
                self.builder.cond(condition, value, otherwise)
            });
        }
        let (first, second) = values.split_at(values.len() / 2);
        let in_first = first.iter().map(|it| it.0).collect();
        let in_first = self.builder.or(in_first);
        let yes = self.choice(first, otherwise);
        let no = self.choice(second, otherwise);
        self.builder.cond(in_first, yes, no)
    }

    fn is_at_label(
        &mut self,
        scope: &mut Scope,
        proctype: usize,
        pid: Option<&PExpr>,
        label: &str,
    ) -> ExprId {
        let point = self.program.proctypes[proctype].automaton.label(label);
        let process = &self.layout.processes[proctype];
        let Some(code) = point.and_then(|point| process.points[point.index()]) else {
            return self.builder.truth(false);
        };
        let pid = pid.map(|pid| self.int(scope, pid));
        let at = self.of_process(scope, Some(proctype), pid, |it, scope| it.point(scope));
        self.builder.equals(at, code.into())
    }

    fn read(&mut self, scope: &mut Scope, place: &PPlace) -> ExprId {
        let indices = self.indices(scope, place);
        self.builder.set_site(place.span);
        self.read_at(scope, place.var, indices)
    }

    fn read_at(&mut self, scope: &mut Scope, var: VarId, indices: Vec<ExprId>) -> ExprId {
        if let Some(number) = self.constant_channel(scope, var, &indices) {
            return number;
        }
        match self.place_at(scope, var, &indices) {
            Some(place) => self.builder.read(place),
            None => self.builder.int(0),
        }
    }

    pub(super) fn indices(&mut self, scope: &mut Scope, place: &PPlace) -> Vec<ExprId> {
        let indices = place.indices.iter();
        let indices: Vec<ExprId> = indices.map(|index| self.int(scope, index)).collect();
        self.name_indices(scope, place.var, &indices);
        indices
    }

    /// The program's own names are those of the layout; a message about an index names the array
    /// as it is declared.
    fn name_indices(&mut self, scope: &Scope, var: VarId, indices: &[ExprId]) {
        let Some(variable) = self.variable(scope, var) else {
            return;
        };
        let names = (0..indices.len()).map(|dim| variable.array_name(dim).to_owned());
        let names = indices.iter().copied().zip(names);
        self.builder.ir.index_names.extend(names);
    }

    /// The declaration of a variable; none for `_`.
    pub(super) fn variable(&self, scope: &Scope, var: VarId) -> Option<&'p Variable> {
        let program = self.program;
        match var {
            VarId::Global(var) => program.globals.get(var),
            VarId::Local(var) => program.proctypes[scope.proctype].locals.get(var),
            VarId::Scratch => None,
        }
    }

    /// A variable, or an element; none for `_`.
    pub(super) fn place(&mut self, scope: &mut Scope, place: &PPlace) -> Option<Place> {
        let indices = self.indices(scope, place);
        self.builder.set_site(place.span);
        self.place_at(scope, place.var, &indices)
    }

    fn place_at(&mut self, scope: &Scope, var: VarId, indices: &[ExprId]) -> Option<Place> {
        let root = match var {
            VarId::Global(var) => Place::var(self.layout.globals[var]?),
            VarId::Local(var) => {
                let slot = scope.slot.expr(&mut self.builder);
                let process = &self.layout.processes[scope.proctype];
                process.field(slot, process.locals[var]?)
            }
            VarId::Scratch => return None,
        };
        Some(indices.iter().fold(root, |place, &index| place.at(index)))
    }

    /// The type of a variable.
    pub(super) fn scalar_of(&self, scope: &Scope, var: VarId) -> Scalar {
        match var {
            VarId::Global(var) => self.program.globals[var].ty,
            VarId::Local(var) => self.program.proctypes[scope.proctype].locals[var].ty,
            VarId::Scratch => Scalar::Int,
        }
    }

    /// What a store of a value to a variable of this type makes of it.
    pub(super) fn truncated(&mut self, scalar: Scalar, value: ExprId) -> ExprId {
        if let Some(known) = self.builder.known_int(value) {
            return self.builder.int(scalar.truncate(known as i32).into());
        }
        let (lo, hi) = scalar.range();
        let (least, most) = self.bounds(value);
        if lo <= least && most <= hi || hi >= i32::MAX.into() {
            return value;
        }
        let mask = self.builder.int(hi - lo);
        let low = self.builder.binary(Op::BitAnd, value, mask);
        if lo == 0 {
            return low;
        }
        // With a sign: what has the highest bit lies below 0.
        let sign = self.builder.int(-lo);
        let flipped = self.builder.binary(Op::BitXor, low, sign);
        self.builder.binary(Op::Sub, flipped, sign)
    }

    /// The range in which a value lies for certain.
    fn bounds(&self, value: ExprId) -> (i64, i64) {
        let any = (i32::MIN.into(), i32::MAX.into());
        let ir = &self.builder.ir;
        match ir.expr(value) {
            Expr::Int(value) => (*value, *value),
            Expr::Read(place) => self.type_of(place).unwrap_or(any),
            Expr::Cond(_, yes, no) => {
                let (yes, no) = (self.bounds(*yes), self.bounds(*no));
                (yes.0.min(no.0), yes.1.max(no.1))
            }
            Expr::Binary(Op::BitAnd, _, mask) => match self.builder.known_int(*mask) {
                Some(mask) if mask >= 0 => (0, mask),
                _ => any,
            },
            Expr::Binary(Op::Add, a, b) => {
                let (a, b) = (self.bounds(*a), self.bounds(*b));
                let (lo, hi) = (a.0 + b.0, a.1 + b.1);
                match any.0 <= lo && hi <= any.1 {
                    true => (lo, hi),
                    false => any,
                }
            }
            _ => any,
        }
    }

    /// The values of a variable of the state.
    fn type_of(&self, place: &Place) -> Option<(i64, i64)> {
        use hadal_ir::expr::{Projection, Root};
        use hadal_ir::types::Type;
        let ir = &self.builder.ir;
        let Root::Var(var) = place.root else {
            return None;
        };
        let mut ty = ir.var(var).ty;
        for projection in &place.path {
            ty = match (projection, ir.types.get(ty)) {
                (Projection::Field(field), Type::Record { fields }) => fields[*field as usize].ty,
                (Projection::Index(_), Type::Array { element, .. }) => *element,
                _ => return None,
            };
        }
        ir.types.simple(ty).map(|simple| (simple.lo, simple.hi))
    }

    /// A local of the rule for any value.
    pub(super) fn value_local(&mut self, scope: &mut Scope, name: &str) -> LocalId {
        self.builder.value_local(&mut scope.frame, name)
    }

    pub(super) fn unsupported(&mut self, message: &str, span: TokenSpan) {
        let diagnostic = self.text.error(message, span);
        self.diagnostics.push(diagnostic);
    }
}

/// The operator on integers; none for one that yields a truth value.
fn arithmetic(op: BinaryOp) -> Option<Op> {
    Some(match op {
        BinaryOp::BitOr => Op::BitOr,
        BinaryOp::BitXor => Op::BitXor,
        BinaryOp::BitAnd => Op::BitAnd,
        BinaryOp::Shl => Op::Shl,
        BinaryOp::Shr => Op::Shr,
        BinaryOp::Add => Op::Add,
        BinaryOp::Sub => Op::Sub,
        BinaryOp::Mul => Op::Mul,
        BinaryOp::Div => Op::Div,
        BinaryOp::Rem => Op::Rem,
        _ => return None,
    })
}

fn comparison(op: BinaryOp) -> Option<Op> {
    Some(match op {
        BinaryOp::Eq => Op::Eq,
        BinaryOp::Ne => Op::Ne,
        BinaryOp::Lt => Op::Lt,
        BinaryOp::Le => Op::Le,
        BinaryOp::Gt => Op::Gt,
        BinaryOp::Ge => Op::Ge,
        _ => return None,
    })
}
