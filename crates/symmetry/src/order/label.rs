//! Which integers stand for elements of which scalarset.
//!
//! To the program a value is an integer. A renaming permutes the integers that stand for elements
//! and fixes the others. A *label* records which is which: ranges of integers that are all elements
//! of a scalarset, in order, and ranges that are fixed.
//! A program treats elements alike only if labels agree wherever a value is stored, compared,
//! passed or used as an index, and if nothing computes with elements.

use hadal_ir::{ScalarsetId, SimpleKind, Type, TypeId, Types, UnionPart, ValueMap};

/// What the integers of a value denote: disjoint ranges. Integers outside them do not occur.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Label {
    pieces: Vec<Piece>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    lo: i64,
    hi: i64,
    of: Of,
}

/// What a range of integers denotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    /// Themselves: no renaming changes them.
    Fixed,
    /// The elements of a scalarset, all of them.
    Elements(ScalarsetId),
    /// Positions in a multiset whose order depends on the names of elements.
    Slots,
}

impl Label {
    /// Integers that no renaming changes.
    pub(super) fn plain() -> Self {
        Label::range(i64::MIN, i64::MAX, Of::Fixed)
    }

    /// One integer that is written in the program.
    pub(super) fn literal(value: i64) -> Self {
        Label::range(value, value, Of::Fixed)
    }

    /// No value at all.
    pub(super) fn none() -> Self {
        Label { pieces: Vec::new() }
    }

    /// Positions in a multiset that holds elements.
    pub(super) fn slots() -> Self {
        Label::range(i64::MIN, i64::MAX, Of::Slots)
    }

    fn range(lo: i64, hi: i64, of: Of) -> Self {
        Label {
            pieces: vec![Piece { lo, hi, of }],
        }
    }

    /// The values of a simple type.
    pub(super) fn of_type(types: &Types, ty: TypeId) -> Self {
        let Some(simple) = types.simple(ty) else {
            return Label::none();
        };
        let element = |id: ScalarsetId| match types.scalarsets[id.index()].size {
            // A scalarset of one element is like an enumeration of one member.
            0 | 1 => Of::Fixed,
            _ => Of::Elements(id),
        };
        match &simple.kind {
            SimpleKind::Boolean | SimpleKind::Range | SimpleKind::Enum(_) => {
                Label::range(simple.lo, simple.hi, Of::Fixed)
            }
            SimpleKind::Scalarset(id) => Label::range(simple.lo, simple.hi, element(*id)),
            SimpleKind::Union(parts) => {
                let mut lo = simple.lo;
                let piece = |part: &UnionPart| {
                    let of = match part {
                        UnionPart::Enum(_) => Of::Fixed,
                        UnionPart::Scalarset(id) => element(*id),
                    };
                    let hi = lo + types.union_part_len(part) - 1;
                    let piece = Piece { lo, hi, of };
                    lo = hi + 1;
                    piece
                };
                Label {
                    pieces: parts.iter().map(piece).collect(),
                }
            }
        }
    }

    /// Whether no renaming changes any of the values.
    pub(super) fn is_plain(&self) -> bool {
        self.pieces.iter().all(|piece| piece.of == Of::Fixed)
    }

    /// Whether some values are positions in a multiset.
    pub(super) fn has_slots(&self) -> bool {
        self.pieces.iter().any(|piece| piece.of == Of::Slots)
    }

    /// Whether all values are elements.
    pub(super) fn is_elements(&self) -> bool {
        let is_element = |piece: &Piece| matches!(piece.of, Of::Elements(_));
        self.pieces.iter().all(is_element)
    }

    /// Whether an integer means the same on both sides, wherever both can have it.
    pub(super) fn agrees(&self, other: &Label) -> bool {
        self.pieces.iter().all(|a| {
            other.pieces.iter().all(|b| {
                let is_apart = a.hi < b.lo || b.hi < a.lo;
                is_apart || a.of == b.of && (a.of == Of::Fixed || (a.lo, a.hi) == (b.lo, b.hi))
            })
        })
    }

    /// The values of either side, if the two agree.
    pub(super) fn merged(&self, other: &Label) -> Option<Label> {
        self.agrees(other).then(|| {
            let mut pieces = self.pieces.clone();
            pieces.extend(other.pieces.iter().filter(|it| !self.pieces.contains(it)));
            Label { pieces }
        })
    }

    /// The values in another numbering; `None` where a part of a scalarset would be torn out.
    pub(super) fn remapped(&self, map: &ValueMap) -> Option<Label> {
        let mut pieces = Vec::new();
        for piece in &self.pieces {
            for segment in &map.segments {
                let (lo, hi) = (piece.lo.max(segment.lo), piece.hi.min(segment.hi));
                if lo > hi {
                    continue;
                }
                if piece.of != Of::Fixed && (lo, hi) != (piece.lo, piece.hi) {
                    return None;
                }
                pieces.push(Piece {
                    lo: lo - segment.lo + segment.to,
                    hi: hi - segment.lo + segment.to,
                    of: piece.of,
                });
            }
        }
        Some(Label { pieces })
    }

    /// Whether a range contains some but not all elements of a scalarset.
    pub(super) fn is_split_by(&self, lo: i64, hi: i64) -> bool {
        self.pieces.iter().any(|piece| {
            let is_inside = lo <= piece.lo && piece.hi <= hi;
            let is_outside = piece.hi < lo || hi < piece.lo;
            piece.of != Of::Fixed && !is_inside && !is_outside
        })
    }

    /// Whether the integer is an element, and so no program may name it.
    pub(super) fn is_element(&self, value: i64) -> bool {
        let holds = |piece: &Piece| piece.lo <= value && value <= piece.hi;
        (self.pieces.iter()).any(|piece| piece.of != Of::Fixed && holds(piece))
    }
}

/// Whether a renaming can change what is in a place of a type.
pub(super) fn has_elements(types: &Types, ty: TypeId) -> bool {
    match types.get(ty) {
        Type::Simple(_) => !Label::of_type(types, ty).is_plain(),
        Type::Array { index, element } => {
            has_elements(types, *index) || has_elements(types, *element)
        }
        Type::Record { fields } => fields.iter().any(|field| has_elements(types, field.ty)),
        Type::Multiset { element, .. } => has_elements(types, *element),
    }
}

/// Whether a renaming changes two types of one layout in the same way.
pub(super) fn same_meaning(types: &Types, a: TypeId, b: TypeId) -> bool {
    if a == b {
        return true;
    }
    match (types.get(a), types.get(b)) {
        (Type::Simple(_), Type::Simple(_)) => {
            Label::of_type(types, a).agrees(&Label::of_type(types, b))
        }
        (
            Type::Array { index, element },
            Type::Array {
                index: other_index,
                element: other_element,
            },
        ) => {
            // Arrays of one layout correspond by position, not by index value.
            let (lo, other_lo) = (first(types, *index), first(types, *other_index));
            let (a, b) = (
                Label::of_type(types, *index),
                Label::of_type(types, *other_index),
            );
            a.shifted(lo).agrees(&b.shifted(other_lo))
                && same_meaning(types, *element, *other_element)
        }
        (Type::Record { fields }, Type::Record { fields: other }) => {
            let mut pairs = fields.iter().zip(other);
            fields.len() == other.len() && pairs.all(|(a, b)| same_meaning(types, a.ty, b.ty))
        }
        (Type::Multiset { element, .. }, Type::Multiset { element: other, .. }) => {
            same_meaning(types, *element, *other)
        }
        _ => false,
    }
}

/// Whether the elements of two types of one layout also have the same index values, as they must
/// where a reference stands for a place.
pub(super) fn same_indices(types: &Types, a: TypeId, b: TypeId) -> bool {
    if a == b {
        return true;
    }
    match (types.get(a), types.get(b)) {
        (
            Type::Array { index, element },
            Type::Array {
                index: other_index,
                element: other_element,
            },
        ) => {
            first(types, *index) == first(types, *other_index)
                && same_indices(types, *element, *other_element)
        }
        (Type::Record { fields }, Type::Record { fields: other }) => {
            let mut pairs = fields.iter().zip(other);
            pairs.all(|(a, b)| same_indices(types, a.ty, b.ty))
        }
        (Type::Multiset { element, .. }, Type::Multiset { element: other, .. }) => {
            same_indices(types, *element, *other)
        }
        _ => true,
    }
}

fn first(types: &Types, ty: TypeId) -> i64 {
    types.simple(ty).map_or(0, |simple| simple.lo)
}

impl Label {
    fn shifted(mut self, by: i64) -> Self {
        for piece in &mut self.pieces {
            piece.lo = piece.lo.wrapping_sub(by);
            piece.hi = piece.hi.wrapping_sub(by);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hadal_ir::{Segment, Simple};

    fn scalarset(types: &mut Types, name: &str, size: u32) -> (ScalarsetId, TypeId) {
        let id = types.add_scalarset(name, size);
        let kind = SimpleKind::Scalarset(id);
        let hi = i64::from(size) - 1;
        (
            id,
            types.add(Type::Simple(Simple {
                lo: 0,
                hi,
                kind,
                is_total: false,
            })),
        )
    }

    #[test]
    fn elements_agree_with_their_own_scalarset_only() {
        let mut types = Types::new();
        let (_, p) = scalarset(&mut types, "P", 3);
        let (_, q) = scalarset(&mut types, "Q", 3);
        let range = types.add(Type::Simple(Simple::range(0, 2)));
        let label = |ty| Label::of_type(&types, ty);
        assert!(label(p).agrees(&label(p)));
        assert!(!label(p).agrees(&label(q)));
        assert!(!label(p).agrees(&label(range)));
        assert!(!label(p).agrees(&Label::literal(1)));
        assert!(label(range).agrees(&Label::literal(1)));
        assert!(!Label::slots().agrees(&label(range)));
        assert!(Label::none().agrees(&label(p)));
    }

    #[test]
    fn a_scalarset_keeps_its_meaning_inside_a_union() {
        let mut types = Types::new();
        let (id, p) = scalarset(&mut types, "P", 3);
        let parts = vec![
            UnionPart::Enum(vec!["home".to_owned()]),
            UnionPart::Scalarset(id),
        ];
        let kind = SimpleKind::Union(parts);
        let union = types.add(Type::Simple(Simple {
            lo: 0,
            hi: 3,
            kind,
            is_total: false,
        }));
        let to_union = |lo, hi, to| ValueMap {
            segments: vec![Segment { lo, hi, to }],
            from: p,
        };
        let whole = Label::of_type(&types, p).remapped(&to_union(0, 2, 1));
        assert!(whole.is_some_and(|label| label.agrees(&Label::of_type(&types, union))));
        let shifted = Label::of_type(&types, p).remapped(&to_union(0, 2, 0));
        assert!(!shifted.is_some_and(|label| label.agrees(&Label::of_type(&types, union))));
        assert_eq!(Label::of_type(&types, p).remapped(&to_union(0, 1, 1)), None);
        assert!(Label::literal(0).agrees(&Label::of_type(&types, union)));
        assert!(!Label::literal(2).agrees(&Label::of_type(&types, union)));
        assert!(!Label::of_type(&types, union).is_split_by(1, 3));
        assert!(Label::of_type(&types, union).is_split_by(2, 3));
    }

    #[test]
    fn arrays_of_one_layout_may_mean_different_things() {
        let mut types = Types::new();
        let (_, p) = scalarset(&mut types, "P", 3);
        let range = types.add(Type::Simple(Simple::range(5, 7)));
        let other = types.add(Type::Simple(Simple::range(0, 2)));
        let element = types.add(Type::Simple(Simple::boolean()));
        let mut array = |index| types.add(Type::Array { index, element });
        let (by_p, by_range, by_other) = (array(p), array(range), array(other));
        assert!(!same_meaning(&types, by_p, by_other));
        assert!(same_meaning(&types, by_range, by_other));
    }
}
