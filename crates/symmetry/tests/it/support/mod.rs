//! Programs with nothing but variables, states of them, and the group by brute force.

use std::collections::BTreeSet;

use hadal_ir::layout::Layout;
use hadal_ir::{
    Field, Program, ScalarsetId, Simple, SimpleKind, Type, TypeId, UnionPart, Var, bits,
};
use hadal_model::PAD_BYTES;
use hadal_symmetry::{Canonicaliser, Permutation};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// A program under construction.
pub(crate) struct Declarations {
    pub(crate) program: Program,
}

impl Declarations {
    pub(crate) fn new() -> Self {
        Declarations {
            program: Program::new("test"),
        }
    }

    pub(crate) fn scalarset(&mut self, name: &str, size: u32) -> (ScalarsetId, TypeId) {
        let id = self.program.types.add_scalarset(name, size);
        let ty = self.simple(i64::from(size) - 1, SimpleKind::Scalarset(id));
        (id, ty)
    }

    pub(crate) fn simple(&mut self, hi: i64, kind: SimpleKind) -> TypeId {
        self.program.types.add(Type::Simple(Simple {
            lo: 0,
            hi,
            kind,
            is_total: false,
        }))
    }

    pub(crate) fn boolean(&mut self) -> TypeId {
        self.program.types.add(Type::Simple(Simple::boolean()))
    }

    pub(crate) fn range(&mut self, lo: i64, hi: i64) -> TypeId {
        self.program.types.add(Type::Simple(Simple::range(lo, hi)))
    }

    pub(crate) fn members(&mut self, n: usize) -> TypeId {
        self.simple(n as i64 - 1, SimpleKind::Enum(names(n)))
    }

    pub(crate) fn union(&mut self, parts: Vec<UnionPart>) -> TypeId {
        let n: i64 = parts
            .iter()
            .map(|part| self.program.types.union_part_len(part))
            .sum();
        self.simple(n - 1, SimpleKind::Union(parts))
    }

    pub(crate) fn array(&mut self, index: TypeId, element: TypeId) -> TypeId {
        self.program.types.add(Type::Array { index, element })
    }

    pub(crate) fn record(&mut self, fields: &[TypeId]) -> TypeId {
        let fields = fields.iter().enumerate().map(|(position, &ty)| Field {
            name: format!("f{position}"),
            ty,
        });
        let fields = fields.collect();
        self.program.types.add(Type::Record { fields })
    }

    pub(crate) fn multiset(&mut self, capacity: u32, element: TypeId) -> TypeId {
        self.program.types.add(Type::Multiset { capacity, element })
    }

    pub(crate) fn var(&mut self, name: &str, ty: TypeId) {
        self.program.vars.push(Var {
            name: name.to_owned(),
            ty,
        });
    }
}

pub(crate) fn names(n: usize) -> Vec<String> {
    (0..n).map(|member| format!("m{member}")).collect()
}

/// A random program whose group has at most `max_order` renamings.
pub(crate) fn random_program(seed: u64, max_order: u64, max_bits: u64) -> Program {
    random_program_of(seed, 4, max_order, max_bits)
}

/// The same with scalarsets of up to `max_size` elements.
pub(crate) fn random_program_of(
    seed: u64,
    max_size: u32,
    max_order: u64,
    max_bits: u64,
) -> Program {
    let mut rng = Pcg64::seed_from_u64(seed);
    loop {
        let mut declarations = Declarations::new();
        let mut order = 1u64;
        let mut simple = Vec::new();
        let mut ids = Vec::new();
        for number in 0..rng.random_range(1..=3) {
            let size = rng.random_range(1..=max_size);
            order *= (1..=u64::from(size)).product::<u64>();
            let (id, ty) = declarations.scalarset(&format!("S{number}"), size);
            ids.push(id);
            simple.extend([ty; 3]);
        }
        if order > max_order {
            continue;
        }
        simple.push(declarations.boolean());
        simple.push(declarations.range(2, 4));
        let n = rng.random_range(1..=3);
        simple.push(declarations.members(n));
        for _ in 0..2 {
            let mut parts = vec![UnionPart::Scalarset(ids[rng.random_range(0..ids.len())])];
            let other = ids[rng.random_range(0..ids.len())];
            if !parts.contains(&UnionPart::Scalarset(other)) && rng.random_bool(0.5) {
                parts.push(UnionPart::Scalarset(other));
            }
            let at = rng.random_range(0..=parts.len());
            parts.insert(at, UnionPart::Enum(names(rng.random_range(1..=2))));
            simple.push(declarations.union(parts));
        }
        for number in 0..rng.random_range(1..=3) {
            let depth = rng.random_range(0..=3);
            let ty = random_type(&mut declarations, &simple, depth, &mut rng);
            declarations.var(&format!("v{number}"), ty);
        }
        let bits = Layout::new(&declarations.program).state_bits as u64;
        if bits > 0 && bits <= max_bits {
            return declarations.program;
        }
    }
}

fn random_type(
    declarations: &mut Declarations,
    simple: &[TypeId],
    depth: u32,
    rng: &mut Pcg64,
) -> TypeId {
    let pick = |rng: &mut Pcg64| simple[rng.random_range(0..simple.len())];
    if depth == 0 {
        return pick(rng);
    }
    match rng.random_range(0..6) {
        0..=2 => {
            let index = pick(rng);
            let element = random_type(declarations, simple, depth - 1, rng);
            declarations.array(index, element)
        }
        3 => {
            let fields: Vec<TypeId> = (0..rng.random_range(1..=3))
                .map(|_| random_type(declarations, simple, depth - 1, rng))
                .collect();
            declarations.record(&fields)
        }
        _ => {
            let element = random_type(declarations, simple, depth - 1, rng);
            let capacity = rng.random_range(1..=4);
            declarations.multiset(capacity, element)
        }
    }
}

/// A random state, with few different values in many of them so that elements look alike.
pub(crate) fn random_state(program: &Program, rng: &mut Pcg64) -> Vec<u8> {
    let variety = rng.random_range(0..6u64);
    build_state(program, &mut |n| match variety {
        0 => 0,
        1 => u64::from(n > 1 && rng.random_bool(0.1)),
        2 => u64::from(n > 1 && rng.random_bool(0.5)),
        3 => rng.random_range(0..n.min(3)),
        4 if rng.random_bool(0.5) => n - 1,
        _ => rng.random_range(0..n),
    })
}

/// The state whose leaves and presence bits are chosen in order: `choose(n)` is below `n`.
pub(crate) fn build_state(program: &Program, choose: &mut dyn FnMut(u64) -> u64) -> Vec<u8> {
    let layout = Layout::new(program);
    let mut bytes = vec![0; layout.state_len + PAD_BYTES];
    let mut at = 0;
    for var in &program.vars {
        fill(program, var.ty, at, &mut bytes, choose);
        program.types.normalise_multisets(&mut bytes, var.ty, at);
        at += program.types.bits(var.ty) as usize;
    }
    bytes.truncate(layout.state_len);
    bytes
}

fn fill(
    program: &Program,
    ty: TypeId,
    at: usize,
    bytes: &mut [u8],
    choose: &mut dyn FnMut(u64) -> u64,
) {
    let types = &program.types;
    match types.get(ty) {
        Type::Simple(simple) => bits::set(bytes, at, simple.bits(), choose(simple.len() + 1)),
        Type::Array { index, element } => {
            let n = types.simple(*index).unwrap().len() as usize;
            let stride = types.bits(*element) as usize;
            for position in 0..n {
                fill(program, *element, at + position * stride, bytes, choose);
            }
        }
        Type::Record { fields } => {
            let mut at = at;
            for field in fields {
                fill(program, field.ty, at, bytes, choose);
                at += types.bits(field.ty) as usize;
            }
        }
        Type::Multiset { capacity, element } => {
            for slot in 0..*capacity as usize {
                let present = choose(2);
                bits::set(bytes, at + slot, 1, present);
                if present == 1 {
                    let at = at + types.slot_offset(*capacity, *element, slot);
                    fill(program, *element, at, bytes, choose);
                }
            }
        }
    }
}

/// All renamings.
pub(crate) fn group(program: &Program) -> Vec<Permutation> {
    let mut all: Vec<Vec<Vec<u32>>> = vec![Vec::new()];
    for scalarset in &program.types.scalarsets {
        let mut lists = vec![Vec::new()];
        for element in 0..scalarset.size {
            lists = lists
                .into_iter()
                .flat_map(|list: Vec<u32>| {
                    (0..=list.len()).map(move |at| {
                        let mut longer = list.clone();
                        longer.insert(at, element);
                        longer
                    })
                })
                .collect();
        }
        all = all
            .into_iter()
            .flat_map(|images| {
                lists.iter().map(move |list| {
                    let mut longer = images.clone();
                    longer.push(list.clone());
                    longer
                })
            })
            .collect();
    }
    let permutations = all.into_iter().map(Permutation::new);
    permutations
        .collect::<Option<_>>()
        .expect("each list is a permutation")
}

/// All states that a program's layout has, or `None` where they are more than `limit`.
pub(crate) fn all_states(program: &Program, limit: usize) -> Option<BTreeSet<Vec<u8>>> {
    let mut states = BTreeSet::new();
    // The choices of the last state and their bounds; the next state is the next number in this
    // mixed radix.
    let mut digits: Vec<(u64, u64)> = Vec::new();
    let mut n_built = 0;
    loop {
        let mut position = 0;
        let state = build_state(program, &mut |n| {
            if position == digits.len() {
                digits.push((0, n));
            }
            position += 1;
            digits[position - 1].0
        });
        states.insert(state);
        n_built += 1;
        if n_built > limit {
            return None;
        }
        loop {
            match digits.pop() {
                None => return Some(states),
                Some((digit, n)) if digit + 1 < n => {
                    digits.push((digit + 1, n));
                    break;
                }
                Some(_) => {}
            }
        }
    }
}

/// The representative of a state.
pub(crate) fn canonical(canonicaliser: &Canonicaliser, state: &[u8]) -> Vec<u8> {
    let mut state = state.to_vec();
    canonicaliser.canonicalise(&mut state, &mut canonicaliser.scratch());
    state
}
