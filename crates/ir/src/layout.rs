//! Which bits of a state hold what: offsets of variables, fields and elements, and the leaves of a
//! state by name.

use crate::bits;
use crate::ids::{TypeId, VarId};
use crate::program::Program;
use crate::types::{Type, Types};

/// Offsets of the state variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// First bit of each variable.
    var_bits: Vec<usize>,
    /// The last bits of a state, which are registers.
    pub register_bits: usize,
    /// Length of a state in bits.
    pub state_bits: usize,
    /// Length of a state in bytes.
    pub state_len: usize,
}

impl Layout {
    /// Packs the variables in declaration order, without gaps but before the registers, which begin
    /// at a byte.
    pub fn new(program: &Program) -> Self {
        let mut var_bits = Vec::with_capacity(program.vars.len());
        let mut next = 0usize;
        let first_register = program.vars.len().saturating_sub(program.n_registers);
        let mut at_rest = None;
        for (number, var) in program.vars.iter().enumerate() {
            if number == first_register {
                next = next.next_multiple_of(8);
                at_rest = Some(next);
            }
            var_bits.push(next);
            next += program.types.bits(var.ty) as usize;
        }
        Layout {
            var_bits,
            register_bits: at_rest.map_or(0, |at_rest| next - at_rest),
            state_bits: next,
            state_len: next.div_ceil(8),
        }
    }

    /// First bit of a variable.
    pub fn var(&self, var: VarId) -> usize {
        self.var_bits[var.index()]
    }
}

impl Types {
    /// First bit of a field, counted from the record's first bit.
    pub fn field_offset(&self, record: TypeId, field: usize) -> usize {
        match self.get(record) {
            Type::Record { fields } => fields[..field]
                .iter()
                .map(|field| self.bits(field.ty) as usize)
                .sum(),
            _ => 0,
        }
    }

    /// First bit of the slot, counted from the multiset's first bit. The presence bits come first.
    pub fn slot_offset(&self, capacity: u32, element: TypeId, slot: usize) -> usize {
        capacity as usize + slot * self.bits(element) as usize
    }

    /// Calls `visit` with name, type and first bit of each simple leaf below a place, in order.
    /// Slots of multisets are visited like elements of an array, present or not.
    pub fn for_each_leaf(
        &self,
        ty: TypeId,
        name: &mut String,
        first_bit: usize,
        visit: &mut dyn FnMut(&str, TypeId, usize),
    ) {
        let kept = name.len();
        match self.get(ty) {
            Type::Simple(_) => visit(name, ty, first_bit),
            Type::Array { index, element } => {
                let Some(simple) = self.simple(*index) else {
                    return;
                };
                let stride = self.bits(*element) as usize;
                for (position, value) in (simple.lo..=simple.hi).enumerate() {
                    name.push('[');
                    name.push_str(&self.value_name(*index, value));
                    name.push(']');
                    self.for_each_leaf(*element, name, first_bit + position * stride, visit);
                    name.truncate(kept);
                }
            }
            Type::Record { fields } => {
                let mut at = first_bit;
                for field in fields {
                    name.push('.');
                    name.push_str(&field.name);
                    self.for_each_leaf(field.ty, name, at, visit);
                    name.truncate(kept);
                    at += self.bits(field.ty) as usize;
                }
            }
            Type::Multiset { capacity, element } => {
                for slot in 0..*capacity as usize {
                    name.push_str(&format!("{{{slot}}}"));
                    let at = first_bit + self.slot_offset(*capacity, *element, slot);
                    self.for_each_leaf(*element, name, at, visit);
                    name.truncate(kept);
                }
            }
        }
    }

    /// The value of a simple leaf, or `None` where it is undefined.
    pub fn leaf_value(&self, bytes: &[u8], ty: TypeId, first_bit: usize) -> Option<i64> {
        let simple = self.simple(ty)?;
        simple.decode(bits::get(bytes, first_bit, simple.bits()))
    }

    /// The name of a leaf's value, `undefined` included.
    pub fn leaf_name(&self, bytes: &[u8], ty: TypeId, first_bit: usize) -> String {
        match self.leaf_value(bytes, ty, first_bit) {
            Some(value) => self.value_name(ty, value),
            None => "undefined".to_owned(),
        }
    }

    /// Whether a leaf of the type cannot be undefined.
    pub fn has_total_leaf(&self, ty: TypeId) -> bool {
        match self.get(ty) {
            Type::Simple(simple) => simple.is_total,
            Type::Array { element, .. } | Type::Multiset { element, .. } => {
                self.has_total_leaf(*element)
            }
            Type::Record { fields } => fields.iter().any(|field| self.has_total_leaf(field.ty)),
        }
    }

    /// Whether all leaves of a type cannot be undefined and there is no multiset.
    pub fn is_total(&self, ty: TypeId) -> bool {
        match self.get(ty) {
            Type::Simple(simple) => simple.is_total,
            Type::Array { element, .. } => self.is_total(*element),
            Type::Record { fields } => fields.iter().all(|field| self.is_total(field.ty)),
            Type::Multiset { .. } => false,
        }
    }

    /// Whether a type contains a multiset.
    pub fn has_multiset(&self, ty: TypeId) -> bool {
        match self.get(ty) {
            Type::Simple(_) => false,
            Type::Array { element, .. } => self.has_multiset(*element),
            Type::Record { fields } => fields.iter().any(|field| self.has_multiset(field.ty)),
            Type::Multiset { .. } => true,
        }
    }

    /// Whether a bit of a place at `first_bit` lies in a free slot of a multiset.
    pub fn is_in_free_slot(
        &self,
        bytes: &[u8],
        mut ty: TypeId,
        mut first_bit: usize,
        bit: usize,
    ) -> bool {
        loop {
            let offset = bit - first_bit;
            match self.get(ty) {
                Type::Simple(_) => return false,
                Type::Array { element, .. } => {
                    let stride = self.bits(*element) as usize;
                    let Some(position) = offset.checked_div(stride) else {
                        return false;
                    };
                    first_bit += position * stride;
                    ty = *element;
                }
                Type::Record { fields } => {
                    let mut at = first_bit;
                    let Some(field) = fields.iter().find(|field| {
                        let width = self.bits(field.ty) as usize;
                        let is_inside = bit < at + width;
                        at += if is_inside { 0 } else { width };
                        is_inside
                    }) else {
                        return false;
                    };
                    first_bit = at;
                    ty = field.ty;
                }
                Type::Multiset { capacity, element } => {
                    let width = self.bits(*element) as usize;
                    let inside = offset.checked_sub(*capacity as usize);
                    let Some(slot) = inside.and_then(|inside| inside.checked_div(width)) else {
                        return false;
                    };
                    if bits::get(bytes, first_bit + slot, 1) == 0 {
                        return true;
                    }
                    first_bit += self.slot_offset(*capacity, *element, slot);
                    ty = *element;
                }
            }
        }
    }

    /// Normalises every multiset below a place: present elements first, sorted by their bits, free
    /// slots zero. Inner multisets come first, since their bits count.
    pub fn normalise_multisets(&self, bytes: &mut [u8], ty: TypeId, first_bit: usize) {
        if !self.has_multiset(ty) {
            return;
        }
        match self.get(ty) {
            Type::Simple(_) => {}
            Type::Array { index, element } => {
                let n = self.simple(*index).map_or(0, |simple| simple.len()) as usize;
                let stride = self.bits(*element) as usize;
                for position in 0..n {
                    self.normalise_multisets(bytes, *element, first_bit + position * stride);
                }
            }
            Type::Record { fields } => {
                let mut at = first_bit;
                for field in fields {
                    self.normalise_multisets(bytes, field.ty, at);
                    at += self.bits(field.ty) as usize;
                }
            }
            Type::Multiset { capacity, element } => {
                self.normalise_multiset(bytes, *capacity, *element, first_bit);
            }
        }
    }

    fn normalise_multiset(&self, bytes: &mut [u8], capacity: u32, element: TypeId, first: usize) {
        let width = self.bits(element) as usize;
        let slot_bit = |slot: usize| first + self.slot_offset(capacity, element, slot);
        let mut n_present = 0;
        for slot in 0..capacity as usize {
            if bits::get(bytes, first + slot, 1) == 0 {
                continue;
            }
            self.normalise_multisets(bytes, element, slot_bit(slot));
            bits::copy_within(bytes, slot_bit(slot), slot_bit(n_present), width);
            // Insertion into the sorted front; bags are small.
            let mut at = n_present;
            while at > 0 && bits::compare(bytes, slot_bit(at - 1), slot_bit(at), width).is_gt() {
                swap(bytes, slot_bit(at - 1), slot_bit(at), width);
                at -= 1;
            }
            n_present += 1;
        }
        for slot in 0..capacity as usize {
            bits::set(bytes, first + slot, 1, u64::from(slot < n_present));
        }
        bits::zero(
            bytes,
            slot_bit(n_present),
            (capacity as usize - n_present) * width,
        );
    }
}

/// Exchanges two bit ranges of the same width that do not overlap.
fn swap(bytes: &mut [u8], a: usize, b: usize, n_bits: usize) {
    let mut done = 0;
    while done < n_bits {
        let n = 56.min(n_bits - done);
        let (x, y) = (
            bits::get(bytes, a + done, n as u32),
            bits::get(bytes, b + done, n as u32),
        );
        bits::set(bytes, a + done, n as u32, y);
        bits::set(bytes, b + done, n as u32, x);
        done += n;
    }
}
