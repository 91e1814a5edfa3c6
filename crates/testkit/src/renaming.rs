//! Renames the elements of scalarsets in a state, leaf by leaf, for counting orbits by brute force.

use hadal_ir::bits;
use hadal_ir::layout::Layout;
use hadal_ir::{Program, Simple, SimpleKind, Type, TypeId, UnionPart, VarId};
use hadal_model::PAD_BYTES;

use crate::oracle::permutations;

/// For each scalarset, what each of its elements becomes.
pub type Renaming = Vec<Vec<usize>>;

/// All renamings of the scalarsets of a program, the identity first.
pub fn renamings(program: &Program) -> Vec<Renaming> {
    let mut all: Vec<Renaming> = vec![Vec::new()];
    for set in &program.types.scalarsets {
        let images = permutations(set.size as usize);
        all = (all.iter())
            .flat_map(|start| {
                images.iter().map(move |image| {
                    let mut longer = start.clone();
                    longer.push(image.clone());
                    longer
                })
            })
            .collect();
    }
    all
}

/// The image of a state under a renaming: values are renamed, and elements of arrays move to the
/// renamed index. Multisets come out in their normal form.
pub fn rename(program: &Program, renaming: &Renaming, state: &[u8]) -> Vec<u8> {
    let layout = Layout::new(program);
    let mut from = state.to_vec();
    from.resize(state.len() + PAD_BYTES, 0);
    let mut to = vec![0; from.len()];
    let mut copy = Copy {
        program,
        renaming,
        from: &from,
        to: &mut to,
    };
    for number in 0..program.vars.len() {
        let var = VarId::new(number);
        let first = layout.var(var);
        copy.place(program.var(var).ty, first, first);
    }
    for number in 0..program.vars.len() {
        let var = VarId::new(number);
        let ty = program.var(var).ty;
        program
            .types
            .normalise_multisets(&mut to, ty, layout.var(var));
    }
    to.truncate(state.len());
    to
}

struct Copy<'a> {
    program: &'a Program,
    renaming: &'a Renaming,
    from: &'a [u8],
    to: &'a mut [u8],
}

impl Copy<'_> {
    fn place(&mut self, ty: TypeId, from: usize, to: usize) {
        let types = &self.program.types;
        let width = |ty: TypeId| types.bits(ty) as usize;
        match types.get(ty) {
            Type::Simple(simple) => {
                if let Some(value) = types.leaf_value(self.from, ty, from) {
                    let raw = simple.encode(Some(self.image(simple, value)));
                    bits::set(self.to, to, simple.bits(), raw);
                }
            }
            Type::Array { index, element } => {
                let Some(simple) = types.simple(*index) else {
                    return;
                };
                for value in simple.lo..=simple.hi {
                    let position = (value - simple.lo) as usize;
                    let image = (self.image(simple, value) - simple.lo) as usize;
                    let step = width(*element);
                    self.place(*element, from + position * step, to + image * step);
                }
            }
            Type::Record { fields } => {
                let mut offset = 0;
                for field in fields {
                    self.place(field.ty, from + offset, to + offset);
                    offset += width(field.ty);
                }
            }
            Type::Multiset { capacity, element } => {
                for slot in 0..*capacity as usize {
                    let present = bits::get(self.from, from + slot, 1);
                    bits::set(self.to, to + slot, 1, present);
                    let offset = types.slot_offset(*capacity, *element, slot);
                    self.place(*element, from + offset, to + offset);
                }
            }
        }
    }

    /// What a value of a simple type becomes.
    fn image(&self, simple: &Simple, value: i64) -> i64 {
        match &simple.kind {
            SimpleKind::Scalarset(set) => self.renaming[set.index()][value as usize] as i64,
            SimpleKind::Union(parts) => {
                let mut first = 0;
                for part in parts {
                    let n = self.program.types.union_part_len(part);
                    if value < first + n {
                        return match part {
                            UnionPart::Enum(_) => value,
                            UnionPart::Scalarset(set) => {
                                let element = (value - first) as usize;
                                first + self.renaming[set.index()][element] as i64
                            }
                        };
                    }
                    first += n;
                }
                value
            }
            SimpleKind::Boolean | SimpleKind::Range | SimpleKind::Enum(_) => value,
        }
    }
}
