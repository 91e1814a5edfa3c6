//! Places: from a path to an address, or to a register.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{InstBuilder, Value};
use cranelift_frontend::Variable;
use hadal_ir::expr::{Place, Projection, Root};
use hadal_ir::ids::{LocalId, TypeId};
use hadal_ir::program::LocalKind;

use super::memory::Addr;
use super::value::{Int, Raw};
use super::{Bound, BoundBase, Home, Lower};
use crate::call::Helper;
use crate::unit::{Bag, Parts};

/// What a path leads to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Target {
    Memory(Addr),
    /// A local of simple type in a register.
    Register(Variable),
}

impl Lower<'_, '_> {
    /// Where a place is, and its type. Faults where an index has no element.
    pub(super) fn resolve(&mut self, place: &Place) -> (Target, TypeId) {
        let (mut addr, mut ty) = match &place.root {
            Root::Var(var) => {
                let addr = Addr {
                    base: Some(self.state),
                    readonly: self.state_is_source,
                    bit: self.unit.layout.var(*var) as u64,
                    dynamic: None,
                    step: 0,
                    extent: None,
                };
                (addr, self.unit.program.var(*var).ty)
            }
            Root::Local(local) => {
                let ty = self.frame.local(*local).kind.ty();
                match self.locals[local.index()] {
                    Home::Register(var) => return (Target::Register(var), ty),
                    Home::Frame(byte) => (self.frame_addr(byte), ty),
                    Home::Behind(var) => (self.behind(var), ty),
                    Home::Bound(bound) => (self.bound_addr(bound), ty),
                }
            }
            Root::Result {
                function,
                args,
                into,
                ..
            } => {
                let Home::Frame(byte) = self.locals[into.index()] else {
                    unreachable!("aggregates lie in memory");
                };
                let addr = self.frame_addr(byte);
                let to = self.bit_address(addr);
                self.call_function(*function, args, to);
                (addr, self.frame.local(*into).kind.ty())
            }
        };
        for step in &place.path {
            (addr, ty) = match (step, self.parts(ty)) {
                (Projection::Field(field), Parts::Record { fields }) => {
                    let (offset, ty) = fields[*field as usize];
                    let addr = Addr {
                        bit: addr.bit + offset,
                        ..addr
                    };
                    (addr, ty)
                }
                (Projection::Index(index), parts) => {
                    let index = self.int(*index);
                    self.element(addr, parts, index)
                }
                _ => unreachable!("verified: paths fit their types"),
            };
        }
        (Target::Memory(addr), ty)
    }

    /// The type of what a place holds.
    pub(super) fn place_type(&self, place: &Place) -> Option<TypeId> {
        let mut ty = match &place.root {
            Root::Var(var) => self.unit.program.var(*var).ty,
            Root::Local(local) => self.frame.local(*local).kind.ty(),
            Root::Result { function, .. } => self.unit.function(*function).result?,
        };
        for step in &place.path {
            ty = match (step, self.parts(ty)) {
                (Projection::Field(field), Parts::Record { fields }) => fields[*field as usize].1,
                (_, Parts::Array { element, .. } | Parts::Multiset { element, .. }) => *element,
                _ => return None,
            };
        }
        Some(ty)
    }

    /// The address of a place that lies in memory.
    pub(super) fn address(&mut self, place: &Place) -> (Addr, TypeId) {
        match self.resolve(place) {
            (Target::Memory(addr), ty) => (addr, ty),
            (Target::Register(_), _) => unreachable!("its address is taken, so it is in memory"),
        }
    }

    /// Where a place is that is about to be written, and its type. Faults where it is part of an
    /// element of a multiset that is not there.
    pub(super) fn resolve_written(&mut self, place: &Place) -> (Target, TypeId) {
        let (target, ty) = self.resolve(place);
        if let Target::Memory(addr) = target
            && self.may_be_in_element(place, addr, ty)
        {
            let at = self.bit_address(addr);
            let (ctx, state) = (self.ctx, self.state);
            let is_removed = self
                .helper(Helper::IsInFreeSlot, &[ctx, state, at])
                .expect("there is a result");
            self.fault_if(is_removed);
        }
        (target, ty)
    }

    /// The address of a place that lies in memory and is about to be written.
    pub(super) fn written_address(&mut self, place: &Place) -> (Addr, TypeId) {
        match self.resolve_written(place) {
            (Target::Memory(addr), ty) => (addr, ty),
            (Target::Register(_), _) => unreachable!("its address is taken, so it is in memory"),
        }
    }

    /// Whether a place of this type may be part of an element of a multiset of the state.
    fn may_be_in_element(&self, place: &Place, addr: Addr, ty: TypeId) -> bool {
        let unit = self.unit;
        if unit.bags.is_empty() || unit.bits(ty) == 0 {
            return false;
        }
        let is_state = addr.base == Some(self.state);
        let is_reference = match place.root {
            Root::Var(_) | Root::Result { .. } => false,
            Root::Local(local) => !matches!(self.frame.local(local).kind, LocalKind::Value(_)),
        };
        if !is_reference {
            return is_state && self.leads_through_slot(place);
        }
        // A reference may be bound to anything of its layout, unless it is known where it lies.
        let reach = match (addr.base, addr.dynamic, addr.extent) {
            (None, ..) | (Some(_), Some(_), None) => (0, u64::MAX),
            (Some(_), None, _) => (addr.bit, addr.bit + 1),
            (Some(_), Some(_), Some(extent)) => extent,
        };
        let meets = |bag: &Bag| {
            let first = bag.first_bit as u64;
            reach.0 < first + unit.bits(bag.ty) && first < reach.1
        };
        (is_state || addr.base.is_none()) && unit.bags.iter().any(meets) && unit.is_in_elements(ty)
    }

    fn leads_through_slot(&self, place: &Place) -> bool {
        let Root::Var(var) = place.root else {
            return false;
        };
        let mut ty = self.unit.program.var(var).ty;
        for step in &place.path {
            ty = match (step, self.parts(ty)) {
                (Projection::Field(field), Parts::Record { fields }) => fields[*field as usize].1,
                (_, Parts::Array { element, .. }) => *element,
                _ => return true,
            };
        }
        false
    }

    fn behind(&mut self, var: Variable) -> Addr {
        Addr {
            base: None,
            readonly: false,
            bit: 0,
            dynamic: Some(self.b.use_var(var)),
            step: 1,
            extent: None,
        }
    }

    fn bound_addr(&mut self, bound: Option<Bound>) -> Addr {
        let Some(bound) = bound else {
            // Never bound: nothing that is run gets here.
            return Addr {
                base: Some(self.frame_ptr),
                readonly: false,
                bit: 0,
                dynamic: None,
                step: 0,
                extent: None,
            };
        };
        Addr {
            base: match bound.base {
                BoundBase::State => Some(self.state),
                BoundBase::Frame => Some(self.frame_ptr),
                BoundBase::Nothing => None,
            },
            readonly: bound.readonly,
            bit: bound.bit,
            dynamic: bound.dynamic.map(|var| self.b.use_var(var)),
            step: bound.step,
            extent: bound.extent,
        }
    }

    /// Makes a reference refer to an address.
    pub(super) fn bind(&mut self, local: LocalId, addr: Addr) {
        match self.locals[local.index()] {
            Home::Behind(var) => {
                let at = self.bit_address(addr);
                self.b.def_var(var, at);
            }
            Home::Bound(_) => {
                let dynamic = addr.dynamic.map(|value| {
                    let var = self.b.declare_var(I64);
                    self.b.def_var(var, value);
                    var
                });
                let base = match addr.base {
                    Some(base) if base == self.state => BoundBase::State,
                    Some(_) => BoundBase::Frame,
                    None => BoundBase::Nothing,
                };
                self.locals[local.index()] = Home::Bound(Some(Bound {
                    base,
                    readonly: addr.readonly,
                    bit: addr.bit,
                    dynamic,
                    step: addr.step,
                    extent: addr.extent,
                }));
            }
            Home::Register(_) | Home::Frame(_) => unreachable!("verified: it is a reference"),
        }
    }

    /// The element of an array or the slot of a multiset. Faults where there is none.
    pub(super) fn element(&mut self, addr: Addr, parts: &Parts, index: Int) -> (Addr, TypeId) {
        let (lo, len, head, stride, ty) = match parts {
            Parts::Array {
                lo,
                len,
                stride,
                element,
            } => (*lo, *len, 0, *stride, *element),
            Parts::Multiset {
                capacity,
                stride,
                element,
            } => {
                let capacity = u64::from(*capacity);
                (0, capacity, capacity, *stride, *element)
            }
            _ => unreachable!("verified: elements are of arrays and multisets"),
        };
        let addr = Addr {
            bit: addr.bit + head,
            ..addr
        };
        (self.indexed(addr, lo, len, stride, index), ty)
    }

    /// Adds a checked index times `stride` to an address.
    pub(super) fn indexed(
        &mut self,
        addr: Addr,
        lo: i64,
        len: u64,
        stride: u64,
        index: Int,
    ) -> Addr {
        let (first, end) = (i128::from(lo), i128::from(lo) + i128::from(len));
        let (least, most) = index.range();
        if let Some(value) = index.constant() {
            if !(first..end).contains(&i128::from(value)) {
                self.fault_now();
                return addr;
            }
            let position = value.wrapping_sub(lo) as u64;
            return Addr {
                bit: addr.bit + position * stride,
                ..addr
            };
        }
        let position = self.add_imm(index.base, index.add.wrapping_sub(lo));
        if !(index.trusted && first <= least && most < end) {
            let outside =
                self.b
                    .ins()
                    .icmp_imm_s(IntCC::UnsignedGreaterThanOrEqual, position, len as i64);
            self.fault_if(outside);
        }
        if stride == 0 {
            return addr;
        }
        let offset = self.scaled(position, stride);
        let extent = match (addr.dynamic, addr.extent) {
            (None, _) => Some((addr.bit, addr.bit + len * stride)),
            (Some(_), extent) => extent,
        };
        let dynamic = match addr.dynamic {
            Some(dynamic) => self.b.ins().iadd(dynamic, offset),
            None => offset,
        };
        Addr {
            dynamic: Some(dynamic),
            step: gcd(addr.step, stride),
            extent,
            ..addr
        }
    }

    fn scaled(&mut self, value: Value, by: u64) -> Value {
        match by {
            1 => value,
            by if by.is_power_of_two() => self
                .b
                .ins()
                .ishl_imm_u(value, i64::from(by.trailing_zeros())),
            by => self.b.ins().imul_imm_s(value, by as i64),
        }
    }

    /// The content of a place of simple type.
    pub(super) fn read(&mut self, place: &Place) -> Raw {
        let (target, ty) = self.resolve(place);
        let simple = self.unit.simple(ty);
        match target {
            Target::Memory(addr) => Raw {
                raw: self.load_simple(addr, simple),
                simple,
                defined: simple.is_total,
            },
            Target::Register(var) => Raw {
                raw: self.b.use_var(var),
                simple,
                defined: simple.is_total,
            },
        }
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
