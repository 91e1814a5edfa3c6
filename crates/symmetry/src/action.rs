//! What a renaming does to a state, straight from the program's types.
//!
//! This is the definition that everything faster must agree with: values of a scalarset are
//! renamed wherever they occur, unions through their parts; elements of arrays indexed by a
//! scalarset change places; undefined stays; and bags are normalised again.

use hadal_ir::layout::Layout;
use hadal_ir::{Program, Simple, SimpleKind, Type, TypeId, Types, UnionPart, VarId, bits};
use hadal_model::PAD_BYTES;

use crate::Permutation;

/// The group's action on the states of one program.
#[derive(Clone, Debug)]
pub(crate) struct Action {
    pub(crate) types: Types,
    /// Type and first bit of each variable.
    pub(crate) vars: Vec<(TypeId, usize)>,
    pub(crate) state_len: usize,
    /// By type, whether a renaming can change its bits.
    moved: Vec<bool>,
}

impl Action {
    /// The action on the states of `program`.
    pub(crate) fn new(program: &Program) -> Self {
        let layout = Layout::new(program);
        let vars = program.vars.iter().enumerate();
        let vars = vars.map(|(number, var)| (var.ty, layout.var(VarId::new(number))));
        let vars = vars.collect();
        let mut moved: Vec<bool> = Vec::with_capacity(program.types.len());
        for index in 0..program.types.len() {
            // A type's parts are added before it, so they are decided by now.
            let is_moved = match program.types.get(TypeId::new(index)) {
                Type::Simple(simple) => has_elements(&program.types, simple),
                Type::Array { index, element } => moved[index.index()] || moved[element.index()],
                Type::Record { fields } => fields.iter().any(|field| moved[field.ty.index()]),
                Type::Multiset { element, .. } => moved[element.index()],
            };
            // Nothing moves where there are no bits; a simple type may still be an index.
            let ty = TypeId::new(index);
            let may_matter = program.types.bits(ty) > 0 || program.types.simple(ty).is_some();
            moved.push(is_moved && may_matter);
        }
        Action {
            types: program.types.clone(),
            vars,
            state_len: layout.state_len,
            moved,
        }
    }

    /// Whether a renaming can change the bits of a type.
    pub(crate) fn moves(&self, ty: TypeId) -> bool {
        self.moved[ty.index()]
    }

    /// The image of a state.
    pub(crate) fn apply(&self, state: &[u8], permutation: &Permutation) -> Vec<u8> {
        let mut from = state[..self.state_len].to_vec();
        from.resize(self.state_len + PAD_BYTES, 0);
        let mut to = from.clone();
        for &(ty, first_bit) in &self.vars {
            self.move_place(ty, &from, first_bit, &mut to, first_bit, permutation);
            self.types.normalise_multisets(&mut to, ty, first_bit);
        }
        to.truncate(self.state_len);
        to
    }

    fn move_place(
        &self,
        ty: TypeId,
        source: &[u8],
        from: usize,
        target: &mut [u8],
        to: usize,
        permutation: &Permutation,
    ) {
        let width = self.types.bits(ty) as usize;
        if width == 0 {
            return;
        }
        if !self.moves(ty) {
            copy(source, from, target, to, width);
            return;
        }
        match self.types.get(ty) {
            Type::Simple(simple) => {
                let raw = bits::get(source, from, simple.bits());
                let raw = match raw {
                    0 => 0,
                    _ => 1 + self.renamed(simple, raw as i64 - 1, permutation) as u64,
                };
                bits::set(target, to, simple.bits(), raw);
            }
            Type::Array { index, element } => {
                let Some(simple) = self.types.simple(*index) else {
                    return;
                };
                let stride = self.types.bits(*element) as usize;
                for position in 0..simple.len() as usize {
                    let place = self.renamed(simple, position as i64, permutation) as usize;
                    let (from, to) = (from + position * stride, to + place * stride);
                    self.move_place(*element, source, from, target, to, permutation);
                }
            }
            Type::Record { fields } => {
                let mut offset = 0;
                for field in fields {
                    let (from, to) = (from + offset, to + offset);
                    self.move_place(field.ty, source, from, target, to, permutation);
                    offset += self.types.bits(field.ty) as usize;
                }
            }
            Type::Multiset { capacity, element } => {
                copy(source, from, target, to, *capacity as usize);
                for slot in 0..*capacity as usize {
                    let offset = self.types.slot_offset(*capacity, *element, slot);
                    let (from, to) = (from + offset, to + offset);
                    self.move_place(*element, source, from, target, to, permutation);
                }
            }
        }
    }

    /// The image of the `number`-th value of a simple type, counted from 0.
    pub(crate) fn renamed(&self, simple: &Simple, number: i64, permutation: &Permutation) -> i64 {
        match &simple.kind {
            SimpleKind::Scalarset(id) => i64::from(permutation.image(*id, number as u32)),
            SimpleKind::Union(parts) => {
                let mut first = 0;
                for part in parts {
                    let n = self.types.union_part_len(part);
                    if number < first + n {
                        return match part {
                            UnionPart::Enum(_) => number,
                            UnionPart::Scalarset(id) => {
                                first + i64::from(permutation.image(*id, (number - first) as u32))
                            }
                        };
                    }
                    first += n;
                }
                number
            }
            SimpleKind::Boolean | SimpleKind::Range | SimpleKind::Enum(_) => number,
        }
    }
}

/// Whether the values of a simple type can be renamed. A scalarset of one element is like an
/// enumeration of one member.
fn has_elements(types: &Types, simple: &Simple) -> bool {
    let moves = |id: &hadal_ir::ScalarsetId| types.scalarsets[id.index()].size > 1;
    match &simple.kind {
        SimpleKind::Scalarset(id) => moves(id),
        SimpleKind::Union(parts) => parts.iter().any(|part| match part {
            UnionPart::Enum(_) => false,
            UnionPart::Scalarset(id) => moves(id),
        }),
        SimpleKind::Boolean | SimpleKind::Range | SimpleKind::Enum(_) => false,
    }
}

/// Copies bits from one padded byte string to another.
pub(crate) fn copy(source: &[u8], from: usize, target: &mut [u8], to: usize, n_bits: usize) {
    let mut done = 0;
    while done < n_bits {
        let n = 56.min(n_bits - done) as u32;
        bits::set(target, to + done, n, bits::get(source, from + done, n));
        done += n as usize;
    }
}
