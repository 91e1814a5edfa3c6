//! Statements.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{InstBuilder, Value};
use hadal_ir::expr::{Arg, Place};
use hadal_ir::ids::{ExprId, TypeId};
use hadal_ir::stmt::{PutItem, ReturnValue, Stmt, StmtKind};

use super::memory::Addr;
use super::place::Target;
use super::value::Val;
use super::{Exit, Lower, arg};
use crate::call::{Helper, Status, field};
use crate::unit::{Parts, Simple};

impl Lower<'_, '_> {
    /// Lowers statements; returns whether control can reach their end.
    pub(super) fn block(&mut self, block: &[Stmt]) -> bool {
        block.iter().all(|stmt| self.stmt(stmt))
    }

    pub(super) fn stmt(&mut self, stmt: &Stmt) -> bool {
        match &stmt.kind {
            StmtKind::Assign { place, value } => self.assign(place, *value),
            StmtKind::Copy { to, from } => {
                let (from, ty) = self.address(from);
                let (to, _) = self.written_address(to);
                self.copy_bits(from, to, self.unit.bits(ty));
            }
            StmtKind::Clear(place) => {
                let (target, ty) = self.resolve_written(place);
                match target {
                    Target::Memory(addr) => {
                        let image = self.unit.cleared(ty);
                        self.write_image(addr, &image);
                    }
                    Target::Register(var) => {
                        let simple = self.unit.simple(ty);
                        let has_least = simple.lo <= simple.hi && !simple.is_total;
                        let cleared = self.iconst(i64::from(has_least));
                        self.b.def_var(var, cleared);
                    }
                }
            }
            StmtKind::Undefine(place) => {
                let (target, ty) = self.resolve_written(place);
                match target {
                    Target::Memory(addr) => self.zero_bits(addr, self.unit.bits(ty)),
                    Target::Register(var) => {
                        let zero = self.iconst(0);
                        self.b.def_var(var, zero);
                    }
                }
            }
            StmtKind::If { arms, otherwise } => return self.if_stmt(arms, otherwise),
            StmtKind::For { var, domain, body } => {
                let span = self.span(domain);
                if span.trips == Some(0) {
                    return true;
                }
                let (looping, known) = self.begin_loop(span, *var);
                self.defined.push((*var, known));
                let goes_on = self.block(body);
                self.defined.pop();
                if !goes_on {
                    let unreachable = self.b.create_block();
                    self.start(unreachable);
                }
                let exit = self.end_loop(looping);
                self.start(exit);
            }
            StmtKind::While { condition, body } => self.while_stmt(*condition, body),
            StmtKind::Bind { local, place } => {
                let (addr, _) = self.address(place);
                self.bind(*local, addr);
            }
            StmtKind::Call { function, args } => {
                let to = match self.unit.function(*function).result {
                    Some(ty) if !matches!(self.parts(ty), Parts::Simple(_)) => {
                        // An unused aggregate needs room all the same.
                        let room = std::ptr::from_ref(stmt).cast();
                        let byte = self.copy_room(room, self.unit.bits(ty));
                        let addr = self.frame_addr(byte);
                        self.bit_address(addr)
                    }
                    _ => self.iconst(0),
                };
                self.call_function(*function, args, to);
            }
            StmtKind::Return(value) => {
                self.return_stmt(value);
                return false;
            }
            StmtKind::Assert { condition, .. } => {
                let holds = self.b.create_block();
                let fault = self.fault;
                self.branch(*condition, holds, fault);
                self.start(holds);
            }
            StmtKind::Error { .. } => {
                let fault = self.fault;
                self.jump(fault);
                return false;
            }
            StmtKind::Assume(condition) => {
                let (holds, fails) = (self.b.create_block(), self.b.create_block());
                self.branch(*condition, holds, fails);
                self.start(fails);
                let status = self.iconst(Status::FALSE);
                self.b.ins().jump(self.propagate, &[arg(status)]);
                self.start(holds);
            }
            StmtKind::Cover { point, condition } => {
                let holds = self.truth(*condition);
                let pending = self.load_ctx(field::COVER_PENDING);
                let flags = self.flags();
                let offset = *point as i32 * 8;
                let before = self.b.ins().load(I64, flags, pending, offset);
                let hit = self.b.ins().uextend(I64, holds);
                let after = self.b.ins().iadd(before, hit);
                self.b.ins().store(flags, after, pending, offset);
            }
            // Output is dropped, but evaluating it may fault.
            StmtKind::Put(PutItem::Text(_)) => {}
            StmtKind::Put(PutItem::Value(value, _) | PutItem::Number(value, _)) => {
                self.eval(*value);
            }
            StmtKind::Put(PutItem::Place(place, _)) => {
                self.resolve(place);
            }
            StmtKind::MultisetAdd { multiset, value } => self.multiset_add(multiset, value),
            StmtKind::MultisetRemove { multiset, slot } => {
                let slot = self.int(*slot);
                let (addr, ty) = self.written_address(multiset);
                let parts = self.parts(ty);
                let Parts::Multiset { capacity, .. } = parts else {
                    unreachable!("verified: it is a multiset");
                };
                let (element, element_ty) = self.element(addr, parts, slot);
                let presence = self.indexed(addr, 0, u64::from(*capacity), 1, slot);
                let is_present = self.load_field(presence, 1);
                let is_free = self.b.ins().icmp_imm_s(IntCC::Equal, is_present, 0);
                self.fault_if(is_free);
                let zero = self.iconst(0);
                self.store_field(presence, 1, zero);
                self.zero_bits(element, self.unit.bits(element_ty));
            }
        }
        true
    }

    /// Converts a value to what a register keeps of one of a simple type. Faults where it does not
    /// fit.
    pub(super) fn stored(&mut self, value: Val, simple: Simple) -> Value {
        match value {
            Val::Undefined => self.iconst(0),
            Val::Bool(truth) => {
                let truth = self.b.ins().uextend(I64, truth);
                self.add_imm(truth, simple.offset().wrapping_neg())
            }
            Val::Int(int) => {
                let raw = match int.constant() {
                    Some(value) => self.iconst(value.wrapping_sub(simple.offset())),
                    None => self.add_imm(int.base, int.add.wrapping_sub(simple.offset())),
                };
                if int.lo < simple.lo || int.hi > simple.hi {
                    let above = self.add_imm(raw, simple.offset().wrapping_sub(simple.lo));
                    self.outside(above, simple);
                }
                raw
            }
            Val::Raw(raw) if raw.simple.is_total || simple.is_total => {
                if !raw.defined {
                    // Verified: a total type takes nothing that may be undefined.
                    let is_undefined = self.b.ins().icmp_imm_s(IntCC::Equal, raw.raw, 0);
                    self.fault_if(is_undefined);
                }
                let int = self.raw_int(raw);
                self.stored(Val::Int(int), simple)
            }
            Val::Raw(raw) => {
                let fits = simple.lo <= raw.simple.lo && raw.simple.hi <= simple.hi;
                if raw.simple.lo == simple.lo {
                    if !fits {
                        let len = simple.len() as i64;
                        let outside =
                            self.b
                                .ins()
                                .icmp_imm_s(IntCC::UnsignedGreaterThan, raw.raw, len);
                        self.fault_if(outside);
                    }
                    return raw.raw;
                }
                let by = raw.simple.lo.wrapping_sub(simple.lo);
                let moved = self.add_imm(raw.raw, by);
                let is_undefined = self.b.ins().icmp_imm_s(IntCC::Equal, raw.raw, 0);
                if !fits {
                    let above = self.b.ins().iadd_imm_s(moved, -1);
                    let len = simple.len() as i64;
                    let outside =
                        self.b
                            .ins()
                            .icmp_imm_s(IntCC::UnsignedGreaterThanOrEqual, above, len);
                    let fails = self.b.ins().band_not(outside, is_undefined);
                    self.fault_if(fails);
                }
                let zero = self.iconst(0);
                self.b.ins().select(is_undefined, zero, moved)
            }
        }
    }

    /// Faults where a value counted from the least one is not one of the type's.
    fn outside(&mut self, above: Value, simple: Simple) {
        let len = simple.len() as i64;
        let outside = self
            .b
            .ins()
            .icmp_imm_s(IntCC::UnsignedGreaterThanOrEqual, above, len);
        self.fault_if(outside);
    }

    fn assign(&mut self, place: &Place, value: ExprId) {
        let value = self.eval(value);
        let (target, ty) = self.resolve_written(place);
        let simple = self.unit.simple(ty);
        let raw = self.stored(value, simple);
        match target {
            Target::Memory(addr) => self.store_simple(addr, simple, raw),
            Target::Register(var) => self.b.def_var(var, raw),
        }
    }

    fn if_stmt(&mut self, arms: &[(ExprId, Vec<Stmt>)], otherwise: &[Stmt]) -> bool {
        let done = self.b.create_block();
        let mut reaches = false;
        for (condition, block) in arms {
            let (yes, no) = (self.b.create_block(), self.b.create_block());
            self.branch(*condition, yes, no);
            self.start(yes);
            if self.block(block) {
                reaches = true;
                self.jump(done);
            }
            self.start(no);
        }
        if self.block(otherwise) {
            reaches = true;
            self.jump(done);
        }
        if reaches {
            self.start(done);
        }
        reaches
    }

    fn while_stmt(&mut self, condition: ExprId, body: &[Stmt]) {
        let rounds = self.b.declare_var(I64);
        let zero = self.iconst(0);
        self.b.def_var(rounds, zero);
        let (header, inside, done) = (
            self.b.create_block(),
            self.b.create_block(),
            self.b.create_block(),
        );
        self.jump(header);
        self.b.switch_to_block(header);
        self.branch(condition, inside, done);
        self.start(inside);
        let n = self.b.use_var(rounds);
        let limit = i64::try_from(self.unit.limits.loop_rounds).unwrap_or(i64::MAX);
        let too_many = self
            .b
            .ins()
            .icmp_imm_s(IntCC::UnsignedGreaterThanOrEqual, n, limit);
        self.fault_if(too_many);
        let n = self.b.ins().iadd_imm_s(n, 1);
        self.b.def_var(rounds, n);
        let before = self.unpolled;
        if self.block(body) {
            self.end_round(before, None);
            self.jump(header);
        }
        self.b.seal_block(header);
        self.start(done);
    }

    fn return_stmt(&mut self, value: &ReturnValue) {
        match (self.exit, value) {
            (Exit::Body(end), _) => self.jump(end),
            (Exit::Function { .. }, ReturnValue::Nothing) => self.return_raw(None),
            (Exit::Function { result, .. }, ReturnValue::Value(value)) => {
                let value = self.eval(*value);
                let simple = self
                    .unit
                    .simple(result.expect("verified: it returns a value"));
                let raw = self.stored(value, simple);
                self.return_raw(Some(raw));
            }
            (Exit::Function { to, .. }, ReturnValue::Copy(place)) => {
                let (from, ty) = self.address(place);
                let to = absolute(to);
                self.copy_bits(from, to, self.unit.bits(ty));
                self.return_raw(None);
            }
        }
    }

    /// Leaves a function with a simple result, or none.
    pub(super) fn return_raw(&mut self, raw: Option<Value>) {
        let raw = raw.unwrap_or_else(|| self.iconst(0));
        let status = self.iconst(Status::DONE);
        self.b.ins().return_(&[raw, status]);
    }

    fn multiset_add(&mut self, multiset: &Place, value: &Arg) {
        enum Element {
            Value(Val),
            At(Addr, TypeId),
        }
        let element = match value {
            Arg::Value(value) => Element::Value(self.eval(*value)),
            Arg::Copy(place) | Arg::Ref(place) => {
                let (addr, ty) = self.address(place);
                Element::At(addr, ty)
            }
        };
        let (addr, ty) = self.written_address(multiset);
        let Parts::Multiset {
            capacity,
            stride,
            element: element_ty,
        } = *self.parts(ty)
        else {
            unreachable!("verified: it is a multiset");
        };
        let slots = u64::from(capacity);
        let slot = self.first_free(addr, slots);
        let at = |lower: &mut Self, head: u64, stride: u64| {
            let addr = Addr {
                bit: addr.bit + head,
                ..addr
            };
            let index = super::value::Int {
                base: slot,
                add: 0,
                lo: 0,
                hi: slots as i64 - 1,
                trusted: slots > 1,
            };
            lower.indexed(addr, 0, slots, stride, index)
        };
        if slots == 0 {
            self.fault_now();
            return;
        }
        match element {
            Element::Value(value) => {
                let simple = self.unit.simple(element_ty);
                let raw = self.stored(value, simple);
                let to = at(self, slots, stride);
                self.store_simple(to, simple, raw);
            }
            Element::At(from, ty) => {
                let to = at(self, slots, stride);
                self.copy_bits(from, to, self.unit.bits(ty));
            }
        }
        let presence = at(self, 0, 1);
        let one = self.iconst(1);
        self.store_field(presence, 1, one);
    }

    /// The first free slot of a multiset. Faults where there is none.
    fn first_free(&mut self, addr: Addr, slots: u64) -> Value {
        if slots > 56 {
            let at = self.bit_address(addr);
            let n = self.iconst(slots as i64);
            let free = self
                .helper(Helper::FirstFree, &[at, n])
                .expect("there is a result");
            let none = self.b.ins().icmp_imm_s(IntCC::SignedLessThan, free, 0);
            self.fault_if(none);
            return free;
        }
        let present = self.load_field(addr, slots);
        let up = self.b.ins().ishl_imm_u(present, (64 - slots) as i64);
        let absent = self.b.ins().bnot(up);
        let free = self.b.ins().clz(absent);
        let none = self
            .b
            .ins()
            .icmp_imm_s(IntCC::UnsignedGreaterThanOrEqual, free, slots as i64);
        self.fault_if(none);
        free
    }
}

/// A place given by its bit address.
pub(super) fn absolute(at: Value) -> Addr {
    Addr {
        base: None,
        readonly: false,
        bit: 0,
        dynamic: Some(at),
        step: 1,
        extent: None,
    }
}
