//! Types: simple values with names, arrays, records and multisets, each of a fixed width in bits.
//!
//! A simple type holds the integers `lo..=hi` and, unless it is total, `undefined`.
//! A type that has `undefined` takes ceil(log2(n + 1)) bits for n values: raw 0 is undefined and
//! value v is stored as v - lo + 1.
//! A total type has no pattern for `undefined`. Its values are stored as they are, in two's
//! complement where some are negative, in the fewest bits that hold all of them.
//! So a zeroed state is undefined, and 0 where it cannot be undefined.

use crate::ids::{ScalarsetId, TypeId};

/// The widest state in bits; beyond it a model is refused rather than thrashing.
pub const MAX_STATE_BITS: u64 = 1 << 23;

/// A type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// A single value.
    Simple(Simple),
    /// An element for each value of `index`, least value first.
    Array {
        /// A simple type.
        index: TypeId,
        /// The type of the elements.
        element: TypeId,
    },
    /// Named fields, first field in the most significant bits.
    Record {
        /// In declaration order.
        fields: Vec<Field>,
    },
    /// A bag of at most `capacity` elements: a presence bit per slot, then the slots.
    ///
    /// Between steps the present elements stand first, in the order of their bits, and free slots
    /// are zero, so that equal bags are equal bits.
    Multiset {
        /// Number of slots.
        capacity: u32,
        /// The type of the elements.
        element: TypeId,
    },
}

/// A simple type: the integers from `lo` to `hi`, and how people call them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Simple {
    /// Least value.
    pub lo: i64,
    /// Greatest value; `lo - 1` where the type has no value.
    pub hi: i64,
    /// What the values stand for.
    pub kind: SimpleKind,
    /// Whether it is never undefined. Such a type has the value 0, which everything of it starts
    /// with, and is no scalarset or union.
    pub is_total: bool,
}

/// What the values of a simple type stand for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SimpleKind {
    /// 0 is false, 1 is true.
    Boolean,
    /// Themselves.
    Range,
    /// Members numbered from 0.
    Enum(Vec<String>),
    /// Elements of a scalarset numbered from 0.
    Scalarset(ScalarsetId),
    /// The values of the parts one after the other, numbered from 0.
    Union(Vec<UnionPart>),
}

/// A part of a union.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum UnionPart {
    /// The members of an enumeration.
    Enum(Vec<String>),
    /// The elements of a scalarset.
    Scalarset(ScalarsetId),
}

/// A field of a record.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: TypeId,
}

/// A scalarset: `size` elements that a legal model cannot distinguish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scalarset {
    /// Its name, or one made up for an anonymous one.
    pub name: String,
    /// Number of elements.
    pub size: u32,
}

impl Simple {
    /// The integers from `lo` to `hi`.
    pub fn range(lo: i64, hi: i64) -> Self {
        Simple {
            lo,
            hi,
            kind: SimpleKind::Range,
            is_total: false,
        }
    }

    /// The truth values.
    pub fn boolean() -> Self {
        Simple {
            lo: 0,
            hi: 1,
            kind: SimpleKind::Boolean,
            is_total: false,
        }
    }

    /// Any integer that arithmetic can produce; for locals only.
    pub fn integer() -> Self {
        Simple::range(-i64::MAX, i64::MAX)
    }

    /// The same values without undefined.
    pub fn total(self) -> Self {
        Simple {
            is_total: true,
            ..self
        }
    }

    /// Number of values.
    pub fn len(&self) -> u64 {
        (self.hi.wrapping_sub(self.lo) as u64).wrapping_add(1)
    }

    /// Whether the type has no value besides undefined.
    pub fn is_empty(&self) -> bool {
        self.hi < self.lo
    }

    /// Whether values are stored alike, whatever their names.
    pub fn same_layout(&self, other: &Simple) -> bool {
        (self.lo, self.hi, self.is_total) == (other.lo, other.hi, other.is_total)
    }

    /// Whether `value` is one of the type's.
    pub fn contains(&self, value: i64) -> bool {
        self.lo <= value && value <= self.hi
    }

    /// Bits that hold a value or, unless the type is total, undefined.
    pub fn bits(&self) -> u32 {
        if self.is_total {
            let magnitude = |value: i64| 64 - (value ^ value >> 63).leading_zeros();
            let sign = u32::from(self.lo < 0);
            return sign + magnitude(self.lo).max(magnitude(self.hi));
        }
        // n values and undefined need the bits of the largest raw value, which is n itself.
        64 - self.len().leading_zeros()
    }

    /// What `clear` stores: 0 in a total type, else the least value, if there is one.
    pub fn cleared(&self) -> Option<i64> {
        match self.is_total {
            true => Some(0),
            false => (!self.is_empty()).then_some(self.lo),
        }
    }

    /// How a value of the type is stored, or undefined.
    #[inline]
    pub fn encode(&self, value: Option<i64>) -> u64 {
        match value {
            None => 0,
            Some(value) if self.is_total => value as u64 & mask(self.bits()),
            Some(value) => value.wrapping_sub(self.lo).wrapping_add(1) as u64,
        }
    }

    /// The value that is stored as `raw`; `None` is undefined.
    #[inline]
    pub fn decode(&self, raw: u64) -> Option<i64> {
        if self.is_total {
            let unused = 64 - self.bits();
            return Some(match self.lo < 0 {
                true => (raw << unused) as i64 >> unused,
                false => raw as i64,
            });
        }
        (raw != 0).then(|| (raw as i64).wrapping_add(self.lo).wrapping_sub(1))
    }
}

/// The `n_bits` low bits.
fn mask(n_bits: u32) -> u64 {
    u64::MAX.checked_shr(64 - n_bits).unwrap_or(0)
}

/// The types of a program. Equal types need not share an id: names make them different to the
/// front-end, and the program only compares layouts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Types {
    types: Vec<Type>,
    /// Width of each type in bits, saturating: too wide types are refused by the front-end.
    bits: Vec<u64>,
    /// The scalarsets, by id.
    pub scalarsets: Vec<Scalarset>,
}

impl Types {
    /// No types.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a type whose parts are there already.
    pub fn add(&mut self, ty: Type) -> TypeId {
        let bits = match &ty {
            Type::Simple(simple) => u64::from(simple.bits()),
            Type::Array { index, element } => {
                let n = self.simple(*index).map_or(0, Simple::len);
                n.saturating_mul(self.bits(*element))
            }
            Type::Record { fields } => fields
                .iter()
                .fold(0u64, |sum, field| sum.saturating_add(self.bits(field.ty))),
            Type::Multiset { capacity, element } => {
                u64::from(*capacity).saturating_mul(self.bits(*element).saturating_add(1))
            }
        };
        self.types.push(ty);
        self.bits.push(bits);
        TypeId::new(self.types.len() - 1)
    }

    /// Adds a scalarset and returns its id; the type of its elements is added by the caller.
    pub fn add_scalarset(&mut self, name: impl Into<String>, size: u32) -> ScalarsetId {
        self.scalarsets.push(Scalarset {
            name: name.into(),
            size,
        });
        ScalarsetId::new(self.scalarsets.len() - 1)
    }

    /// The type behind an id.
    pub fn get(&self, id: TypeId) -> &Type {
        &self.types[id.index()]
    }

    /// Number of types.
    pub fn len(&self) -> usize {
        self.types.len()
    }

    /// Whether there is no type.
    pub fn is_empty(&self) -> bool {
        self.types.is_empty()
    }

    /// The simple type behind an id, if it is one.
    pub fn simple(&self, id: TypeId) -> Option<&Simple> {
        match self.get(id) {
            Type::Simple(simple) => Some(simple),
            _ => None,
        }
    }

    /// Width in bits.
    pub fn bits(&self, id: TypeId) -> u64 {
        self.bits[id.index()]
    }

    /// Whether two types have the same bits with the same meaning, whatever their names.
    pub fn same_layout(&self, a: TypeId, b: TypeId) -> bool {
        if a == b {
            return true;
        }
        match (self.get(a), self.get(b)) {
            (Type::Simple(a), Type::Simple(b)) => a.same_layout(b),
            (
                Type::Array {
                    index: index_a,
                    element: element_a,
                },
                Type::Array {
                    index: index_b,
                    element: element_b,
                },
            ) => {
                let (Some(a), Some(b)) = (self.simple(*index_a), self.simple(*index_b)) else {
                    return false;
                };
                a.len() == b.len() && self.same_layout(*element_a, *element_b)
            }
            (Type::Record { fields: a }, Type::Record { fields: b }) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.same_layout(a.ty, b.ty))
            }
            (
                Type::Multiset {
                    capacity: capacity_a,
                    element: element_a,
                },
                Type::Multiset {
                    capacity: capacity_b,
                    element: element_b,
                },
            ) => capacity_a == capacity_b && self.same_layout(*element_a, *element_b),
            _ => false,
        }
    }

    /// How people call a value of a simple type.
    pub fn value_name(&self, ty: TypeId, value: i64) -> String {
        match self.get(ty) {
            Type::Simple(simple) => self.simple_value_name(simple, value),
            _ => value.to_string(),
        }
    }

    fn simple_value_name(&self, simple: &Simple, value: i64) -> String {
        let element = |id: ScalarsetId, number: i64| {
            format!("{}_{}", self.scalarsets[id.index()].name, number + 1)
        };
        match &simple.kind {
            _ if !simple.contains(value) => value.to_string(),
            SimpleKind::Boolean => (value != 0).to_string(),
            SimpleKind::Range => value.to_string(),
            SimpleKind::Enum(members) => members[value as usize].clone(),
            SimpleKind::Scalarset(id) => element(*id, value),
            SimpleKind::Union(parts) => {
                let mut rest = value;
                for part in parts {
                    let n = self.union_part_len(part);
                    if rest < n {
                        return match part {
                            UnionPart::Enum(members) => members[rest as usize].clone(),
                            UnionPart::Scalarset(id) => element(*id, rest),
                        };
                    }
                    rest -= n;
                }
                value.to_string()
            }
        }
    }

    /// Number of values of a part of a union.
    pub fn union_part_len(&self, part: &UnionPart) -> i64 {
        match part {
            UnionPart::Enum(members) => members.len() as i64,
            UnionPart::Scalarset(id) => i64::from(self.scalarsets[id.index()].size),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Simple;

    #[test]
    fn total_types_store_values_in_the_fewest_bits_and_zero_as_zero() {
        let ranges = [
            (0, 0, 0),
            (0, 1, 1),
            (0, 255, 8),
            (0, 256, 9),
            (-1, 0, 1),
            (-1, 1, 2),
            (-128, 127, 8),
            (-129, 127, 9),
            (-5, 200, 9),
            (i64::from(i32::MIN), i64::from(i32::MAX), 32),
            (-i64::MAX, i64::MAX, 64),
            (0, i64::MAX, 63),
        ];
        for (lo, hi, bits) in ranges {
            let simple = Simple::range(lo, hi).total();
            assert_eq!(simple.bits(), bits, "{lo}..{hi}");
            assert_eq!((simple.encode(Some(0)), simple.decode(0)), (0, Some(0)));
            for value in [lo, lo + 1, -1, 1, hi - 1, hi] {
                if simple.contains(value) {
                    let raw = simple.encode(Some(value));
                    assert!(bits == 64 || raw >> bits == 0);
                    assert_eq!(simple.decode(raw), Some(value));
                }
            }
        }
    }

    #[test]
    fn other_types_store_undefined_as_zero() {
        let simple = Simple::range(-1, 1);
        assert_eq!((simple.bits(), simple.encode(None)), (2, 0));
        assert_eq!((simple.encode(Some(-1)), simple.encode(Some(1))), (1, 3));
        assert_eq!((simple.decode(0), simple.decode(2)), (None, Some(0)));
    }
}
