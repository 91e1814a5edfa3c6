//! Expressions.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I64};
use cranelift_codegen::ir::{Block, InstBuilder, Value};
use hadal_ir::expr::{BinaryOp, By, Domain, Expr, Place, Projection, Quantifier, Root, UnaryOp};
use hadal_ir::ids::{ExprId, LocalId, MapId, TypeId};

use super::place::Target;
use super::value::{Int, Raw, Val};
use super::{Known, Lower, arg};
use crate::analysis::fault::Faults;
use crate::unit::{Parts, Simple};

/// The values a loop runs over, once they are known.
pub(super) struct Span {
    from: Int,
    to: Int,
    by: Step,
    /// Number of values, where it is fixed.
    pub(super) trips: Option<u64>,
}

enum Step {
    Constant(i64),
    /// One towards the end.
    Toward,
    Computed(Value),
}

/// A loop in the making.
pub(super) struct Loop {
    body: Block,
    pub(super) exit: Block,
    counter: cranelift_frontend::Variable,
    to: Value,
    by: Step,
    trips: Option<u64>,
    unpolled: u64,
}

/// A quantifier over elements in any order.
struct Exists<'p> {
    var: LocalId,
    domain: &'p Domain,
    body: ExprId,
    /// Whether some element must satisfy the body, or none.
    is_wanted: bool,
}

impl<'p> Lower<'_, 'p> {
    /// Evaluates an expression.
    pub(super) fn eval(&mut self, id: ExprId) -> Val {
        match self.unit.program.expr(id) {
            Expr::Int(value) => Val::Int(self.const_int(*value)),
            Expr::Bool(value) => Val::Bool(self.b.ins().iconst(I8, i64::from(*value))),
            Expr::Undefined => Val::Undefined,
            Expr::Read(place) => match self.known_local(id) {
                Some(known) if !self.may_yield_undefined(id) => known,
                _ => Val::Raw(self.read_known(place)),
            },
            Expr::Defined(value) => {
                if let Some(known) = self.known_local(*value) {
                    return known;
                }
                let value = self.eval(*value);
                self.defined_value(value)
            }
            Expr::Unary(UnaryOp::Neg, value) => {
                let value = self.int(*value);
                Val::Int(self.negated(value, false))
            }
            Expr::Unary(UnaryOp::BitNot, value) => {
                let value = self.int(*value);
                Val::Int(self.negated(value, true))
            }
            Expr::Unary(UnaryOp::Not, value) => {
                let value = self.truth(*value);
                Val::Bool(self.b.ins().bxor_imm_s(value, 1))
            }
            Expr::Binary(..) if self.as_exists(id).is_some() => {
                Val::Bool(self.truth_by_branches(id))
            }
            Expr::Binary(BinaryOp::Same, a, b) => Val::Bool(self.same(*a, *b)),
            Expr::Binary(op, a, b) => self.binary(*op, *a, *b),
            Expr::And(_) | Expr::Or(_) if self.is_straight(id) => Val::Bool(self.straight(id)),
            Expr::And(_) | Expr::Or(_) => Val::Bool(self.truth_by_branches(id)),
            Expr::Quantified {
                quantifier: Quantifier::Count,
                var,
                domain,
                body,
            } => Val::Int(self.count(*var, domain, *body)),
            Expr::Quantified { .. } => Val::Bool(self.truth_by_branches(id)),
            Expr::Cond(condition, yes, no) => self.cond(*condition, *yes, *no),
            Expr::IsUndefined(place) => {
                let raw = self.read(place);
                Val::Bool(match raw.simple.is_total {
                    true => self.b.ins().iconst(I8, 0),
                    false => self.b.ins().icmp_imm_s(IntCC::Equal, raw.raw, 0),
                })
            }
            Expr::SameBits(a, b) => Val::Bool(self.same_bits(a, b)),
            Expr::Call { function, args } => {
                let nowhere = self.iconst(0);
                let raw = self.call_function(*function, args, nowhere);
                let result = self.unit.function(*function).result;
                let result = result.expect("verified: it returns a value");
                let simple = self.unit.simple(result);
                Val::Raw(Raw {
                    raw,
                    simple,
                    defined: simple.is_total,
                })
            }
            Expr::Remap { value, map } => self.remap(*value, *map),
            Expr::InRange { value, lo, hi } => {
                let value = self.int(*value);
                let above = self.add_imm(value.base, value.add.wrapping_sub(*lo));
                let size = hi.wrapping_sub(*lo);
                if lo > hi {
                    return Val::Bool(self.b.ins().iconst(I8, 0));
                }
                let inside = IntCC::UnsignedLessThanOrEqual;
                Val::Bool(self.b.ins().icmp_imm_s(inside, above, size))
            }
            Expr::Present { multiset, slot } => {
                let (addr, ty) = self.address(multiset);
                let slot = self.int(*slot);
                let Parts::Multiset { capacity, .. } = self.parts(ty) else {
                    unreachable!("verified: it is a multiset");
                };
                let addr = self.indexed(addr, 0, u64::from(*capacity), 1, slot);
                let bit = self.load_field(addr, 1);
                Val::Bool(self.b.ins().ireduce(I8, bit))
            }
        }
    }

    /// A local that has a value for sure.
    fn known_local(&mut self, id: ExprId) -> Option<Val> {
        let Expr::Read(place) = self.unit.program.expr(id) else {
            return None;
        };
        let Root::Local(local) = place.root else {
            return None;
        };
        if !place.path.is_empty() {
            return None;
        }
        let (_, known) = *self.defined.iter().rev().find(|(id, _)| *id == local)?;
        let simple = self.local_simple(local);
        if known.trusted && known.lo == known.hi && !simple.is_bool {
            return Some(Val::Int(self.const_int(known.lo)));
        }
        let raw = self.read(place);
        if simple.is_bool {
            return Some(Val::Bool(self.raw_truth(raw)));
        }
        Some(Val::Int(Int {
            base: raw.raw,
            add: simple.offset(),
            lo: known.lo,
            hi: known.hi,
            trusted: known.trusted,
        }))
    }

    /// The content of a place, knowing whether it is defined.
    fn read_known(&mut self, place: &Place) -> Raw {
        let mut raw = self.read(place);
        if let Root::Local(local) = place.root
            && place.path.is_empty()
        {
            raw.defined |= self.defined.iter().any(|(id, _)| *id == local);
        }
        raw
    }

    /// Faults where the value is undefined.
    fn defined_value(&mut self, value: Val) -> Val {
        match value {
            Val::Raw(raw) => {
                if !raw.defined {
                    let is_undefined = self.b.ins().icmp_imm_s(IntCC::Equal, raw.raw, 0);
                    self.fault_if(is_undefined);
                }
                if raw.simple.is_bool {
                    Val::Bool(self.raw_truth(raw))
                } else {
                    Val::Int(self.raw_int(raw))
                }
            }
            Val::Undefined => {
                self.fault_now();
                Val::Int(self.const_int(0))
            }
            value => value,
        }
    }

    /// A truth value that is known to be there.
    fn raw_truth(&mut self, raw: Raw) -> Value {
        let is_false = raw.simple.offset().wrapping_neg();
        self.b
            .ins()
            .icmp_imm_s(IntCC::UnsignedGreaterThan, raw.raw, is_false)
    }

    /// Evaluates an integer.
    pub(super) fn int(&mut self, id: ExprId) -> Int {
        let value = self.eval(id);
        self.as_int(value)
    }

    fn as_int(&mut self, value: Val) -> Int {
        match self.defined_value(value) {
            Val::Int(int) => int,
            Val::Bool(truth) => Int {
                base: self.b.ins().uextend(I64, truth),
                add: 0,
                lo: 0,
                hi: 1,
                trusted: true,
            },
            Val::Raw(_) | Val::Undefined => unreachable!("it was just made sure of"),
        }
    }

    /// Evaluates a truth value.
    pub(super) fn truth(&mut self, id: ExprId) -> Value {
        let value = self.eval(id);
        self.as_truth(value)
    }

    fn as_truth(&mut self, value: Val) -> Value {
        match self.defined_value(value) {
            Val::Bool(truth) => truth,
            Val::Int(int) => {
                let value = self.int_value(int);
                self.b.ins().icmp_imm_s(IntCC::NotEqual, value, 0)
            }
            Val::Raw(_) | Val::Undefined => unreachable!("it was just made sure of"),
        }
    }

    fn binary(&mut self, op: BinaryOp, a: ExprId, b: ExprId) -> Val {
        let a = self.eval(a);
        let a = self.defined_value(a);
        let b = self.eval(b);
        let b = self.defined_value(b);
        let condition = match op {
            BinaryOp::Eq => IntCC::Equal,
            BinaryOp::Ne => IntCC::NotEqual,
            BinaryOp::Lt => IntCC::SignedLessThan,
            BinaryOp::Le => IntCC::SignedLessThanOrEqual,
            BinaryOp::Gt => IntCC::SignedGreaterThan,
            BinaryOp::Ge => IntCC::SignedGreaterThanOrEqual,
            _ => {
                let (a, b) = (self.as_int(a), self.as_int(b));
                return Val::Int(self.arithmetic(op, a, b));
            }
        };
        if let (Val::Bool(a), Val::Bool(b)) = (a, b) {
            return Val::Bool(self.b.ins().icmp(condition, a, b));
        }
        let (a, b) = (self.as_int(a), self.as_int(b));
        Val::Bool(self.compare(condition, a, b))
    }

    /// Whether two values are equal, or both undefined.
    fn same(&mut self, a: ExprId, b: ExprId) -> Value {
        let (a, b) = (self.eval(a), self.eval(b));
        if let (Val::Raw(a), Val::Raw(b)) = (a, b)
            && a.simple.is_total == b.simple.is_total
            && a.simple.offset() == b.simple.offset()
        {
            return self.b.ins().icmp(IntCC::Equal, a.raw, b.raw);
        }
        let ((a, a_is_defined), (b, b_is_defined)) = (self.optional(a), self.optional(b));
        let equal = self.compare(IntCC::Equal, a, b);
        match (a_is_defined, b_is_defined) {
            (None, None) => equal,
            (Some(is_defined), None) | (None, Some(is_defined)) => {
                self.b.ins().band(equal, is_defined)
            }
            (Some(a), Some(b)) => {
                let both = self.b.ins().band(a, b);
                let some = self.b.ins().bor(a, b);
                let none = self.b.ins().bxor_imm_s(some, 1);
                let equal = self.b.ins().band(equal, both);
                self.b.ins().bor(equal, none)
            }
        }
    }

    /// A value, of no meaning where it is undefined, and whether it is defined; `None` for sure.
    fn optional(&mut self, value: Val) -> (Int, Option<Value>) {
        match value {
            Val::Raw(raw) => {
                let is_defined =
                    (!raw.defined).then(|| self.b.ins().icmp_imm_s(IntCC::NotEqual, raw.raw, 0));
                (self.raw_int(raw), is_defined)
            }
            Val::Undefined => {
                let never = self.b.ins().iconst(I8, 0);
                (self.const_int(0), Some(never))
            }
            value => (self.as_int(value), None),
        }
    }

    fn compare(&mut self, condition: IntCC, a: Int, b: Int) -> Value {
        let is_equality = matches!(condition, IntCC::Equal | IntCC::NotEqual);
        // Adding the same to both sides changes nothing; for an order, if nothing wraps around,
        // which it does not for stored values of narrow types.
        match (a.constant(), b.constant()) {
            (None, Some(value)) if is_equality => {
                let value = value.wrapping_sub(a.add);
                return self.b.ins().icmp_imm_s(condition, a.base, value);
            }
            (Some(_), None) if is_equality => return self.compare(condition, b, a),
            (None, None) if is_equality && a.add == b.add => {
                return self.b.ins().icmp(condition, a.base, b.base);
            }
            _ => {}
        }
        let (a, b) = (self.int_value(a), self.int_value(b));
        self.b.ins().icmp(condition, a, b)
    }

    /// A truth value from branches that meet again.
    fn truth_by_branches(&mut self, id: ExprId) -> Value {
        let (yes, no, done) = (
            self.b.create_block(),
            self.b.create_block(),
            self.b.create_block(),
        );
        let result = self.b.append_block_param(done, I8);
        self.branch(id, yes, no);
        for (block, value) in [(yes, 1), (no, 0)] {
            self.start(block);
            let value = self.b.ins().iconst(I8, value);
            self.b.ins().jump(done, &[arg(value)]);
        }
        self.start(done);
        result
    }

    /// Goes to `yes` or `no` by a truth value. Neither block may be sealed yet; both are left to
    /// the caller.
    pub(super) fn branch(&mut self, id: ExprId, yes: Block, no: Block) {
        match self.unit.program.expr(id) {
            Expr::And(parts) => {
                self.branch_all(parts, yes, no, true);
            }
            Expr::Or(parts) => {
                self.branch_all(parts, yes, no, false);
            }
            Expr::Unary(UnaryOp::Not, value) => self.branch(*value, no, yes),
            Expr::Quantified {
                quantifier: quantifier @ (Quantifier::Forall | Quantifier::Exists),
                var,
                domain,
                body,
            } => match quantifier {
                Quantifier::Forall => self.branch_until(*var, domain, *body, false, no, yes),
                _ => self.branch_until(*var, domain, *body, true, yes, no),
            },
            Expr::Binary(..) if let Some(exists) = self.as_exists(id) => {
                let (found, none) = match exists.is_wanted {
                    true => (yes, no),
                    false => (no, yes),
                };
                self.branch_until(exists.var, exists.domain, exists.body, true, found, none);
            }
            _ => {
                let value = self.truth(id);
                self.b.ins().brif(value, yes, &[], no, &[]);
            }
        }
    }

    /// Goes to `decided` with the first value for which the body is `wanted`, and to `on_end`
    /// where there is none.
    fn branch_until(
        &mut self,
        var: LocalId,
        domain: &Domain,
        body: ExprId,
        wanted: bool,
        decided: Block,
        on_end: Block,
    ) {
        let span = self.span(domain);
        let (looping, known) = self.begin_loop(span, var);
        self.defined.push((var, known));
        let next = self.b.create_block();
        match wanted {
            true => self.branch(body, decided, next),
            false => self.branch(body, next, decided),
        }
        self.defined.pop();
        self.start(next);
        let exit = self.end_loop(looping);
        self.start(exit);
        self.jump(on_end);
    }

    /// Reads a count that is compared with 0 as the quantifier it comes from, if it may end early.
    ///
    /// Quantifiers over scalarsets are counts because a fault at one element must show whatever
    /// the names of the elements. Where no element can fault, evaluating all of them is not
    /// observable.
    fn as_exists(&self, id: ExprId) -> Option<Exists<'p>> {
        let program = self.unit.program;
        let Expr::Binary(op @ (BinaryOp::Eq | BinaryOp::Ne), count, zero) = program.expr(id) else {
            return None;
        };
        let Expr::Quantified {
            quantifier: Quantifier::Count,
            var,
            domain,
            body,
        } = program.expr(*count)
        else {
            return None;
        };
        let is_zero = matches!(program.expr(*zero), Expr::Int(0));
        // What is known of reachable states does not hold while a startstate is being made.
        if !is_zero || !self.unit.is_on_reachable_states(self.number) {
            return None;
        }
        let mut defined: Vec<LocalId> = self.defined.iter().map(|(local, _)| *local).collect();
        defined.push(*var);
        let mut faults = Faults::new(self.unit, self.number as usize, self.frame, defined);
        (!faults.may_fault(*body)).then_some(Exists {
            var: *var,
            domain,
            body: *body,
            is_wanted: *op == BinaryOp::Ne,
        })
    }

    /// Conjunction (`all`) or disjunction. Neighbours that take no branches are joined.
    fn branch_all(&mut self, parts: &[ExprId], yes: Block, no: Block, all: bool) {
        let mut rest = parts;
        while let Some((&first, after)) = rest.split_first() {
            rest = after;
            if !self.is_straight(first) {
                let next = self.b.create_block();
                if all {
                    self.branch(first, next, no);
                } else {
                    self.branch(first, yes, next);
                }
                self.start(next);
                continue;
            }
            let mut value = self.straight(first);
            while let Some((&second, after)) = rest.split_first() {
                if !self.is_straight(second) {
                    break;
                }
                rest = after;
                let second = self.straight(second);
                value = if all {
                    self.b.ins().band(value, second)
                } else {
                    self.b.ins().bor(value, second)
                };
            }
            let next = self.b.create_block();
            if all {
                self.b.ins().brif(value, next, &[], no, &[]);
            } else {
                self.b.ins().brif(value, yes, &[], next, &[]);
            }
            self.start(next);
        }
        self.jump(if all { yes } else { no });
    }

    /// Whether an expression is lowered to a few instructions without any branch.
    fn is_straight(&self, id: ExprId) -> bool {
        self.straight_cost(id, 6).is_some()
    }

    /// What remains of a budget after an expression without branches.
    fn straight_cost(&self, id: ExprId, budget: u32) -> Option<u32> {
        let budget = budget.checked_sub(1)?;
        match self.unit.program.expr(id) {
            Expr::Int(_) | Expr::Bool(_) => Some(budget),
            // A constant place that cannot be undefined is just loaded.
            Expr::Read(place) if !self.may_yield_undefined(id) => {
                let is_field = |step: &Projection| matches!(step, Projection::Field(_));
                let is_constant = matches!(place.root, Root::Var(_) | Root::Local(_))
                    && place.path.iter().all(is_field);
                is_constant.then_some(budget)
            }
            Expr::Defined(value) => {
                let Expr::Read(place) = self.unit.program.expr(*value) else {
                    return None;
                };
                let known = matches!(place.root, Root::Local(local) if place.path.is_empty()
                    && self.defined.iter().any(|(id, _)| *id == local));
                known.then_some(budget)
            }
            Expr::Binary(
                BinaryOp::Eq
                | BinaryOp::Ne
                | BinaryOp::Lt
                | BinaryOp::Le
                | BinaryOp::Gt
                | BinaryOp::Ge,
                a,
                b,
            ) => self.straight_cost(*b, self.straight_cost(*a, budget)?),
            Expr::Unary(UnaryOp::Not, value) => self.straight_cost(*value, budget),
            Expr::And(parts) | Expr::Or(parts) => parts
                .iter()
                .try_fold(budget, |budget, &part| self.straight_cost(part, budget)),
            Expr::InRange { value, .. } => self.straight_cost(*value, budget),
            Expr::IsUndefined(place) if place.path.is_empty() => match place.root {
                Root::Var(_) | Root::Local(_) => Some(budget),
                Root::Result { .. } => None,
            },
            _ => None,
        }
    }

    fn straight(&mut self, id: ExprId) -> Value {
        match self.unit.program.expr(id) {
            Expr::And(parts) | Expr::Or(parts) => {
                let all = matches!(self.unit.program.expr(id), Expr::And(_));
                let mut value = self.b.ins().iconst(I8, i64::from(all));
                for &part in parts {
                    let part = self.straight(part);
                    value = if all {
                        self.b.ins().band(value, part)
                    } else {
                        self.b.ins().bor(value, part)
                    };
                }
                value
            }
            _ => self.truth(id),
        }
    }

    fn cond(&mut self, condition: ExprId, yes: ExprId, no: ExprId) -> Val {
        if self.may_yield_undefined(yes) || self.may_yield_undefined(no) {
            return self.optional_cond(condition, yes, no);
        }
        let (yes_block, no_block, done) = (
            self.b.create_block(),
            self.b.create_block(),
            self.b.create_block(),
        );
        self.branch(condition, yes_block, no_block);
        self.start(yes_block);
        let first = self.eval(yes);
        let first = self.defined_value(first);
        let (first_value, is_bool, first_range, first_trusted) = self.flat(first);
        self.b.ins().jump(done, &[arg(first_value)]);
        self.start(no_block);
        let second = self.eval(no);
        let second = self.defined_value(second);
        let (second_value, _, second_range, second_trusted) = self.flat(second);
        self.b.ins().jump(done, &[arg(second_value)]);
        let value = self.b.append_block_param(done, I64);
        self.start(done);
        if is_bool {
            return Val::Bool(self.b.ins().ireduce(I8, value));
        }
        Val::Int(Int {
            base: value,
            add: 0,
            lo: first_range.0.min(second_range.0),
            hi: first_range.1.max(second_range.1),
            trusted: first_trusted && second_trusted,
        })
    }

    /// Whether an expression may yield undefined, by its form and the types of what it reads.
    fn may_yield_undefined(&self, id: ExprId) -> bool {
        let is_total = |ty: Option<TypeId>| {
            ty.is_some_and(|ty| matches!(self.parts(ty), Parts::Simple(it) if it.is_total))
        };
        match self.unit.program.expr(id) {
            Expr::Undefined => true,
            Expr::Read(place) => !is_total(self.place_type(place)),
            Expr::Call { function, .. } => !is_total(self.unit.function(*function).result),
            Expr::Remap { value, .. } => self.may_yield_undefined(*value),
            Expr::Cond(_, yes, no) => {
                self.may_yield_undefined(*yes) || self.may_yield_undefined(*no)
            }
            _ => false,
        }
    }

    /// A choice between values of which one may be undefined.
    fn optional_cond(&mut self, condition: ExprId, yes: ExprId, no: ExprId) -> Val {
        let (yes_block, no_block, done) = (
            self.b.create_block(),
            self.b.create_block(),
            self.b.create_block(),
        );
        self.branch(condition, yes_block, no_block);
        let mut chosen: Option<Simple> = None;
        for (block, id) in [(yes_block, yes), (no_block, no)] {
            self.start(block);
            let value = self.eval(id);
            let is_bool = match value {
                Val::Bool(_) => true,
                Val::Raw(raw) => raw.simple.is_bool,
                Val::Int(_) | Val::Undefined => false,
            };
            let (int, is_defined) = self.optional(value);
            if !matches!(value, Val::Undefined) {
                let (lo, hi) = chosen.map_or((int.lo, int.hi), |it| (it.lo, it.hi));
                chosen = Some(Simple {
                    lo: int.lo.min(lo),
                    hi: int.hi.max(hi),
                    bits: 64,
                    is_bool,
                    is_total: false,
                });
            }
            let value = self.int_value(int);
            let is_defined = is_defined.unwrap_or_else(|| self.b.ins().iconst(I8, 1));
            self.b.ins().jump(done, &[arg(value), arg(is_defined)]);
        }
        let value = self.b.append_block_param(done, I64);
        let is_defined = self.b.append_block_param(done, I8);
        self.start(done);
        let Some(simple) = chosen else {
            return Val::Undefined;
        };
        let raw = self.add_imm(value, 1i64.wrapping_sub(simple.lo));
        let zero = self.iconst(0);
        Val::Raw(Raw {
            raw: self.b.ins().select(is_defined, raw, zero),
            simple,
            defined: false,
        })
    }

    /// A value in 64 bits, whether it is a truth value, its range, and whether that is sure.
    fn flat(&mut self, value: Val) -> (Value, bool, (i64, i64), bool) {
        let is_bool = matches!(value, Val::Bool(_));
        let int = self.as_int(value);
        let value = self.int_value(int);
        (value, is_bool, (int.lo, int.hi), int.trusted)
    }

    fn same_bits(&mut self, a: &Place, b: &Place) -> Value {
        let (a, ty) = self.resolve(a);
        let (b, _) = self.resolve(b);
        if let (Target::Memory(a), Target::Memory(b)) = (a, b) {
            return self.equal_bits(a, b, self.unit.bits(ty));
        }
        let simple = self.unit.simple(ty);
        let a = self.content(a, simple);
        let b = self.content(b, simple);
        self.b.ins().icmp(IntCC::Equal, a, b)
    }

    fn content(&mut self, target: Target, simple: Simple) -> Value {
        match target {
            Target::Memory(addr) => self.load_simple(addr, simple),
            Target::Register(var) => self.b.use_var(var),
        }
    }

    fn remap(&mut self, value: ExprId, map: MapId) -> Val {
        let segments = &self.unit.program.map(map).segments;
        let image_lo = segments.iter().map(|segment| segment.to).min();
        let image_hi = segments
            .iter()
            .map(|segment| segment.to.wrapping_add(segment.hi - segment.lo))
            .max();
        let (image_lo, image_hi) = (image_lo.unwrap_or(0), image_hi.unwrap_or(0));
        let value = match self.eval(value) {
            Val::Undefined => return Val::Undefined,
            value => value,
        };
        let (int, undefined) = match value {
            Val::Raw(raw) => {
                let undefined =
                    (!raw.defined).then(|| self.b.ins().icmp_imm_s(IntCC::Equal, raw.raw, 0));
                (self.raw_int(raw), undefined)
            }
            other => (self.as_int(other), None),
        };
        // Undefined is left out of the test whether some segment fits.
        let mut missed = match undefined {
            Some(undefined) => self.b.ins().bxor_imm_s(undefined, 1),
            None => self.b.ins().iconst(I8, 1),
        };
        let value = self.int_value(int);
        let mut image = self.iconst(image_lo.wrapping_sub(1));
        for segment in segments {
            let above = self.b.ins().iadd_imm_s(value, segment.lo.wrapping_neg());
            let size = segment.hi.wrapping_sub(segment.lo);
            let inside = self
                .b
                .ins()
                .icmp_imm_s(IntCC::UnsignedLessThanOrEqual, above, size);
            let moved = self.b.ins().iadd_imm_s(above, segment.to);
            image = self.b.ins().select(inside, moved, image);
            missed = self.b.ins().band_not(missed, inside);
        }
        let covered = {
            let mut sorted = segments.clone();
            sorted.sort_by_key(|segment| segment.lo);
            let mut next = i128::from(int.lo);
            for segment in sorted {
                if i128::from(segment.lo) <= next && next <= i128::from(segment.hi) {
                    next = i128::from(segment.hi) + 1;
                }
            }
            int.trusted && next > i128::from(int.hi)
        };
        if !covered {
            self.fault_if(missed);
        }
        let simple = Simple {
            lo: image_lo,
            hi: image_hi,
            bits: 64,
            is_bool: false,
            is_total: false,
        };
        let raw = self.add_imm(image, image_lo.wrapping_sub(1).wrapping_neg());
        match undefined {
            Some(undefined) => {
                let zero = self.iconst(0);
                let raw = self.b.ins().select(undefined, zero, raw);
                Val::Raw(Raw {
                    raw,
                    simple,
                    defined: false,
                })
            }
            None => Val::Int(Int {
                base: image,
                add: 0,
                lo: image_lo,
                hi: image_hi,
                trusted: covered || int.trusted,
            }),
        }
    }

    // Loops

    /// Evaluates a domain.
    pub(super) fn span(&mut self, domain: &Domain) -> Span {
        let (from, to, by) = match domain {
            Domain::Type(ty) => {
                let simple = self.unit.simple(*ty);
                let from = self.const_int(simple.lo);
                (from, self.const_int(simple.hi), Step::Constant(1))
            }
            Domain::Span { from, to, by } => {
                let (from, to) = (self.int(*from), self.int(*to));
                let by = match by {
                    By::Constant(by) => Step::Constant(*by),
                    By::Toward => match (from.constant(), to.constant()) {
                        (Some(from), Some(to)) => Step::Constant(if from <= to { 1 } else { -1 }),
                        _ => Step::Toward,
                    },
                    By::Step(step) => {
                        let step = self.int(*step);
                        let step = self.int_value(step);
                        self.check_step(from, to, step);
                        Step::Computed(step)
                    }
                };
                (from, to, by)
            }
        };
        let trips = match (from.constant(), to.constant(), &by) {
            (Some(from), Some(to), Step::Constant(by)) => {
                let reach = (i128::from(to) - i128::from(from)) * i128::from(by.signum());
                let trips = reach.div_euclid(i128::from(by.unsigned_abs())) + 1;
                Some(u64::try_from(trips.max(0)).unwrap_or(u64::MAX))
            }
            _ => None,
        };
        Span {
            from,
            to,
            by,
            trips,
        }
    }

    /// A step of 0 or one that leads away from the end is a fault.
    fn check_step(&mut self, from: Int, to: Int, step: Value) {
        let (from, to) = (self.int_value(from), self.int_value(to));
        let is_zero = self.b.ins().icmp_imm_s(IntCC::Equal, step, 0);
        let up = self.b.ins().icmp_imm_s(IntCC::SignedGreaterThan, step, 0);
        let down = self.b.ins().icmp_imm_s(IntCC::SignedLessThan, step, 0);
        let beyond = self.b.ins().icmp(IntCC::SignedGreaterThan, from, to);
        let before = self.b.ins().icmp(IntCC::SignedLessThan, from, to);
        let away_up = self.b.ins().band(up, beyond);
        let away_down = self.b.ins().band(down, before);
        let away = self.b.ins().bor(away_up, away_down);
        let fails = self.b.ins().bor(is_zero, away);
        self.fault_if(fails);
    }

    /// Starts a loop and sets its variable; code for a round follows.
    pub(super) fn begin_loop(&mut self, span: Span, var: LocalId) -> (Loop, Known) {
        let Span {
            from,
            to,
            by,
            trips,
        } = span;
        let known = Int {
            base: from.base,
            add: 0,
            lo: from.lo.min(to.lo),
            hi: from.hi.max(to.hi),
            trusted: from.trusted && to.trusted,
        };
        let known = match (&by, trips) {
            (Step::Constant(by), Some(trips)) if trips > 0 => {
                let last = from
                    .lo
                    .wrapping_add((trips as i64).wrapping_sub(1).wrapping_mul(*by));
                Int {
                    lo: from.lo.min(last),
                    hi: from.lo.max(last),
                    ..known
                }
            }
            _ => known,
        };
        let (body, exit) = (self.b.create_block(), self.b.create_block());
        let (from, to) = (self.int_value(from), self.int_value(to));
        let counter = self.b.declare_var(I64);
        self.b.def_var(counter, from);
        match trips {
            Some(1..) => self.jump(body),
            _ => {
                let inside = match &by {
                    Step::Constant(by) if *by > 0 => {
                        self.b.ins().icmp(IntCC::SignedLessThanOrEqual, from, to)
                    }
                    Step::Constant(_) => {
                        self.b.ins().icmp(IntCC::SignedGreaterThanOrEqual, from, to)
                    }
                    // One towards the end always finds the end, and steps have been checked.
                    Step::Toward | Step::Computed(_) => self.b.ins().iconst(I8, 1),
                };
                self.b.ins().brif(inside, body, &[], exit, &[]);
            }
        }
        self.b.switch_to_block(body);
        let value = self.b.use_var(counter);
        let known = self.set_local_int(
            var,
            Int {
                base: value,
                ..known
            },
        );
        let looping = Loop {
            body,
            exit,
            counter,
            to,
            by,
            trips,
            unpolled: self.unpolled,
        };
        (looping, known)
    }

    /// Ends a round and the loop; returns the block behind it, which may get further
    /// predecessors.
    pub(super) fn end_loop(&mut self, looping: Loop) -> Block {
        self.end_round(looping.unpolled, looping.trips);
        let value = self.b.use_var(looping.counter);
        let to = looping.to;
        let goes_on = match &looping.by {
            Step::Constant(1 | -1) | Step::Toward => self.b.ins().icmp(IntCC::NotEqual, value, to),
            Step::Constant(by) => {
                let left = if *by > 0 {
                    self.b.ins().isub(to, value)
                } else {
                    self.b.ins().isub(value, to)
                };
                let reach = by.unsigned_abs() as i64;
                let enough = IntCC::UnsignedGreaterThanOrEqual;
                self.b.ins().icmp_imm_s(enough, left, reach)
            }
            Step::Computed(by) => {
                let up = self.b.ins().icmp_imm_s(IntCC::SignedGreaterThan, *by, 0);
                let left_up = self.b.ins().isub(to, value);
                let left_down = self.b.ins().isub(value, to);
                let left = self.b.ins().select(up, left_up, left_down);
                let negated = self.b.ins().ineg(*by);
                let reach = self.b.ins().select(up, *by, negated);
                let enough = IntCC::UnsignedGreaterThanOrEqual;
                self.b.ins().icmp(enough, left, reach)
            }
        };
        let next = match &looping.by {
            Step::Constant(by) => self.b.ins().iadd_imm_s(value, *by),
            Step::Computed(by) => self.b.ins().iadd(value, *by),
            Step::Toward => {
                let up = self.b.ins().icmp(IntCC::SignedLessThan, value, to);
                let (one, minus_one) = (self.iconst(1), self.iconst(-1));
                let by = self.b.ins().select(up, one, minus_one);
                self.b.ins().iadd(value, by)
            }
        };
        self.b.def_var(looping.counter, next);
        self.b
            .ins()
            .brif(goes_on, looping.body, &[], looping.exit, &[]);
        self.b.seal_block(looping.body);
        looping.exit
    }

    fn count(&mut self, var: LocalId, domain: &Domain, body: ExprId) -> Int {
        let total = self.b.declare_var(I64);
        let zero = self.iconst(0);
        self.b.def_var(total, zero);
        let span = self.span(domain);
        let trips = span.trips;
        let (looping, known) = self.begin_loop(span, var);
        self.defined.push((var, known));
        let truth = self.truth(body);
        self.defined.pop();
        let one = self.b.ins().uextend(I64, truth);
        let before = self.b.use_var(total);
        let sum = self.b.ins().iadd(before, one);
        self.b.def_var(total, sum);
        let exit = self.end_loop(looping);
        self.start(exit);
        Int {
            base: self.b.use_var(total),
            add: 0,
            lo: 0,
            hi: trips.map_or(i64::MAX, |trips| trips.min(i64::MAX as u64) as i64),
            trusted: true,
        }
    }
}
