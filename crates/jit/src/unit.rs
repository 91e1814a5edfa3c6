//! What the lowering of every part of a program shares: offsets, orders, numbers of functions.

use std::sync::Mutex;
use std::sync::atomic::AtomicU64;

use hadal_ir::defined::Definedness;
use hadal_ir::effects::Effects;
use hadal_ir::ids::{FunctionId, TypeId, VarId};
use hadal_ir::interp::{Interpreter, Limits};
use hadal_ir::layout::Layout;
use hadal_ir::program::{ParamDomain, Program, PropertyKind};
use hadal_ir::types::{SimpleKind, Type};

use crate::analysis::mark::Mark;

/// A program with what its lowering needs.
#[derive(Debug)]
pub(crate) struct Unit<'p> {
    pub(crate) program: &'p Program,
    pub(crate) layout: Layout,
    /// By type.
    pub(crate) parts: Vec<Parts>,
    pub(crate) effects: Effects,
    pub(crate) limits: Limits,
    /// The multisets of a state, those inside others left out.
    pub(crate) bags: Vec<Bag>,
    /// Types of the parts of their elements.
    element_types: Vec<TypeId>,
    /// The assumptions among the properties.
    pub(crate) assumptions: Vec<u32>,
    /// By property, the number of the goal of its first instance.
    pub(crate) first_goals: Vec<u32>,
    /// Bytes of locals of each function; known only when it has been lowered, so code loads them.
    pub(crate) frame_bytes: &'p [AtomicU64],
    /// Constant bit patterns that native code copies from.
    images: &'p Mutex<Vec<Box<[u8]>>>,
    /// What may be undefined.
    pub(crate) definedness: &'p Definedness,
    /// By function, whether it calls itself.
    pub(crate) recursive: Vec<bool>,
    /// By function, whether a call may reach a `cover` statement.
    pub(crate) covers: Vec<bool>,
    /// By rule, the field by which its successors are known.
    pub(crate) marks: Vec<Option<Mark>>,
    /// The registers of a state, if it has any.
    pub(crate) registers: Option<Registers>,
}

/// Where the registers of a state are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Registers {
    /// Length of a state without them, in bytes.
    pub(crate) rest_len: usize,
    /// Bits that are registers, the last ones of a state.
    pub(crate) n_bits: usize,
}

impl Registers {
    /// The registers as fields of at most this number of bits.
    const PART: usize = 56;

    /// First bit and width of each part of the registers that has a word of its own in a
    /// [record](Self::record_words).
    pub(crate) fn parts(self) -> impl Iterator<Item = (usize, u32)> {
        let parts = (0..self.n_bits).step_by(Self::PART);
        parts.map(move |at| {
            let width = Self::PART.min(self.n_bits - at);
            (self.rest_len * 8 + at, width as u32)
        })
    }

    /// Words that native code writes beside a successor: its mark and the registers.
    pub(crate) fn record_words(self) -> usize {
        1 + self.n_bits.div_ceil(Self::PART)
    }
}

/// A multiset of a state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bag {
    pub(crate) first_bit: usize,
    pub(crate) ty: TypeId,
    pub(crate) capacity: u32,
    /// Of an element, in bits.
    pub(crate) width: u32,
    /// Whether elements hold multisets.
    pub(crate) is_nested: bool,
}

/// How to get to the parts of a type.
#[derive(Clone, Debug)]
pub(crate) enum Parts {
    Simple(Simple),
    Array {
        lo: i64,
        len: u64,
        stride: u64,
        element: TypeId,
    },
    Record {
        fields: Vec<(u64, TypeId)>,
    },
    Multiset {
        capacity: u32,
        stride: u64,
        element: TypeId,
    },
}

/// A simple type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Simple {
    pub(crate) lo: i64,
    pub(crate) hi: i64,
    pub(crate) bits: u32,
    pub(crate) is_bool: bool,
    pub(crate) is_total: bool,
}

impl Simple {
    pub(crate) fn of(simple: &hadal_ir::types::Simple) -> Self {
        Simple {
            lo: simple.lo,
            hi: simple.hi,
            bits: simple.bits(),
            is_bool: simple.kind == SimpleKind::Boolean,
            is_total: simple.is_total,
        }
    }

    /// Number of values.
    pub(crate) fn len(self) -> u64 {
        (self.hi.wrapping_sub(self.lo) as u64).wrapping_add(1)
    }

    /// What is added to a value as it is kept in registers to get the value itself. In registers
    /// undefined is 0 and v is v - lo + 1, as in memory; a value of a total type is kept as it is.
    pub(crate) fn offset(self) -> i64 {
        match self.is_total {
            true => 0,
            false => self.lo.wrapping_sub(1),
        }
    }

    /// Whether the sign of a value is lost in memory, where it has only as many bits as it needs.
    pub(crate) fn is_signed(self) -> bool {
        self.is_total && self.lo < 0 && self.bits < 64
    }

    /// Whether every pattern of its bits stands for undefined or one of its values.
    pub(crate) fn is_tight(self) -> bool {
        if self.is_total {
            return self.len() == 1u64.checked_shl(self.bits).unwrap_or(0);
        }
        self.bits > 0 && self.len() == u64::MAX >> (64 - self.bits)
    }
}

/// A part of the program that becomes one native function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    Function(usize),
    Rule(usize),
    Start(usize),
    Property(usize),
    Measure(usize),
}

impl<'p> Unit<'p> {
    pub(crate) fn new(
        interpreter: &'p Interpreter,
        frame_bytes: &'p [AtomicU64],
        images: &'p Mutex<Vec<Box<[u8]>>>,
    ) -> Self {
        let program = interpreter.program();
        let layout = Layout::new(program);
        let parts = (0..program.types.len()).map(|index| Parts::new(program, TypeId::new(index)));
        let parts = parts.collect();
        let mut bags = Vec::new();
        for (index, var) in program.vars.iter().enumerate() {
            find_bags(program, var.ty, layout.var(VarId::new(index)), &mut bags);
        }
        let mut assumptions = Vec::new();
        let mut first_goals = Vec::new();
        let mut next_goal = 0;
        for (index, property) in program.properties.iter().enumerate() {
            first_goals.push(next_goal);
            match property.kind {
                PropertyKind::Assume => assumptions.push(index as u32),
                PropertyKind::Invariant | PropertyKind::End => {}
                PropertyKind::Cover | PropertyKind::Liveness => {
                    let n = property.params.iter().fold(1u64, |product, param| {
                        product.saturating_mul(domain_len(program, &param.domain))
                    });
                    next_goal += u32::try_from(n).expect("the front-end bounds goals");
                }
            }
        }
        first_goals.push(next_goal);
        let (recursive, covers) = crate::analysis::calls::functions(program);
        let registers = (layout.register_bits > 0).then(|| Registers {
            rest_len: (layout.state_bits - layout.register_bits) / 8,
            n_bits: layout.register_bits,
        });
        let mut unit = Unit {
            program,
            layout,
            parts,
            effects: Effects::of(program),
            limits: interpreter.limits(),
            element_types: element_types(program, &bags),
            bags,
            assumptions,
            first_goals,
            frame_bytes,
            images,
            definedness: interpreter.definedness(),
            recursive,
            covers,
            marks: Vec::new(),
            registers,
        };
        unit.marks = crate::analysis::mark::marks(&unit);
        unit
    }

    /// Keeps a constant pattern as long as the code, and returns its address.
    pub(crate) fn keep_image(&self, bytes: Vec<u8>) -> usize {
        let bytes = bytes.into_boxed_slice();
        let address = bytes.as_ptr().expose_provenance();
        let mut images = self
            .images
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        images.push(bytes);
        address
    }

    /// All parts, in the order of their numbers.
    pub(crate) fn items(&self) -> Vec<Item> {
        let program = self.program;
        let functions = (0..program.functions.len()).map(Item::Function);
        let rules = (0..program.rules.len()).map(Item::Rule);
        let starts = (0..program.starts.len()).map(Item::Start);
        let properties = (0..program.properties.len()).map(Item::Property);
        let measures = (0..program.measures.len()).map(Item::Measure);
        functions
            .chain(rules)
            .chain(starts)
            .chain(properties)
            .chain(measures)
            .collect()
    }

    /// The number of a part.
    pub(crate) fn number(&self, item: Item) -> u32 {
        let program = self.program;
        let n_functions = program.functions.len();
        let first_start = n_functions + program.rules.len();
        let first_property = first_start + program.starts.len();
        let number = match item {
            Item::Function(index) => index,
            Item::Rule(index) => n_functions + index,
            Item::Start(index) => first_start + index,
            Item::Property(index) => first_property + index,
            Item::Measure(index) => first_property + program.properties.len() + index,
        };
        number as u32
    }

    /// A part in the words of the model.
    pub(crate) fn describe(&self, item: Item) -> String {
        let program = self.program;
        let (what, name) = match item {
            Item::Function(index) => ("function", &program.functions[index].name),
            Item::Rule(index) => ("rule", &program.rules[index].name),
            Item::Start(index) => ("startstate", &program.starts[index].name),
            Item::Property(index) => ("property", &program.properties[index].name),
            Item::Measure(index) => ("measure", &program.measures[index].name),
        };
        format!("{what} \"{name}\"")
    }

    /// Whether the part of this number runs on reachable states, or on successors of them in the
    /// making, alone. Functions may be called by startstates.
    pub(crate) fn is_on_reachable_states(&self, number: u32) -> bool {
        let program = self.program;
        let first_rule = program.functions.len();
        let first_start = first_rule + program.rules.len();
        let first_property = first_start + program.starts.len();
        let number = number as usize;
        (first_rule..first_start).contains(&number) || number >= first_property
    }

    pub(crate) fn parts(&self, ty: TypeId) -> &Parts {
        &self.parts[ty.index()]
    }

    /// Whether something of this layout is a part of an element of a multiset.
    pub(crate) fn is_in_elements(&self, ty: TypeId) -> bool {
        let mut types = self.element_types.iter();
        types.any(|&element| self.program.types.same_layout(element, ty))
    }

    pub(crate) fn bits(&self, ty: TypeId) -> u64 {
        self.program.types.bits(ty)
    }

    /// A type that is known to be simple.
    pub(crate) fn simple(&self, ty: TypeId) -> Simple {
        match self.parts(ty) {
            Parts::Simple(simple) => *simple,
            _ => unreachable!("verified: the type is simple"),
        }
    }

    /// Words of goal bits per state.
    pub(crate) fn goal_words(&self) -> usize {
        let n_goals = self.first_cover_point() + self.program.cover_points.len();
        n_goals.div_ceil(64)
    }

    /// The goal of the first cover point.
    pub(crate) fn first_cover_point(&self) -> usize {
        *self.first_goals.last().expect("there is one more") as usize
    }

    /// The function behind an id.
    pub(crate) fn function(&self, id: FunctionId) -> &'p hadal_ir::program::Function {
        self.program.function(id)
    }

    /// The bit pattern of a type that has been cleared, first bit first.
    pub(crate) fn cleared(&self, ty: TypeId) -> Vec<bool> {
        let mut image = vec![false; self.bits(ty) as usize];
        self.clear(ty, 0, &mut image);
        image
    }

    fn clear(&self, ty: TypeId, at: usize, image: &mut [bool]) {
        match self.parts(ty) {
            Parts::Simple(simple) => {
                if simple.lo <= simple.hi && !simple.is_total {
                    // The least value is stored as 1, and 0 of a total type as 0.
                    image[at + simple.bits as usize - 1] = true;
                }
            }
            Parts::Array {
                len,
                stride,
                element,
                ..
            } => {
                for position in 0..*len as usize {
                    self.clear(*element, at + position * *stride as usize, image);
                }
            }
            Parts::Record { fields } => {
                for &(offset, field) in fields {
                    self.clear(field, at + offset as usize, image);
                }
            }
            Parts::Multiset { .. } => {}
        }
    }
}

impl Parts {
    fn new(program: &Program, ty: TypeId) -> Self {
        let types = &program.types;
        match types.get(ty) {
            Type::Simple(simple) => Parts::Simple(Simple::of(simple)),
            Type::Array { index, element } => {
                let (lo, len) = types
                    .simple(*index)
                    .map_or((0, 0), |simple| (simple.lo, simple.len()));
                Parts::Array {
                    lo,
                    len,
                    stride: types.bits(*element),
                    element: *element,
                }
            }
            Type::Record { fields } => {
                let mut offset = 0;
                let fields = fields.iter().map(|field| {
                    let at = offset;
                    offset += types.bits(field.ty);
                    (at, field.ty)
                });
                Parts::Record {
                    fields: fields.collect(),
                }
            }
            Type::Multiset { capacity, element } => Parts::Multiset {
                capacity: *capacity,
                stride: types.bits(*element),
                element: *element,
            },
        }
    }
}

/// Number of values of a parameter's domain, present or not.
pub(crate) fn domain_len(program: &Program, domain: &ParamDomain) -> u64 {
    match domain {
        ParamDomain::Type(ty) => program.types.simple(*ty).map_or(0, |simple| simple.len()),
        ParamDomain::Span { from, to, by } => {
            let reach = (i128::from(*to) - i128::from(*from)) * i128::from(by.signum());
            if reach < 0 {
                0
            } else {
                (reach / i128::from(by.unsigned_abs())) as u64 + 1
            }
        }
        ParamDomain::Slots { capacity, .. } => u64::from(*capacity),
    }
}

/// The types of elements of multisets and of their parts, each once.
fn element_types(program: &Program, bags: &[Bag]) -> Vec<TypeId> {
    let mut found = Vec::new();
    let mut pending: Vec<TypeId> = Vec::new();
    let element_of = |ty: TypeId| match program.types.get(ty) {
        Type::Multiset { element, .. } => Some(*element),
        _ => None,
    };
    pending.extend(bags.iter().filter_map(|bag| element_of(bag.ty)));
    while let Some(ty) = pending.pop() {
        if found.contains(&ty) {
            continue;
        }
        found.push(ty);
        match program.types.get(ty) {
            Type::Simple(_) => {}
            Type::Array { element, .. } | Type::Multiset { element, .. } => pending.push(*element),
            Type::Record { fields } => pending.extend(fields.iter().map(|field| field.ty)),
        }
    }
    found
}

/// Collects the outermost multisets below a place.
fn find_bags(program: &Program, ty: TypeId, first_bit: usize, bags: &mut Vec<Bag>) {
    let types = &program.types;
    if !types.has_multiset(ty) {
        return;
    }
    match types.get(ty) {
        Type::Simple(_) => {}
        Type::Array { index, element } => {
            let n = types.simple(*index).map_or(0, |simple| simple.len()) as usize;
            let stride = types.bits(*element) as usize;
            for position in 0..n {
                find_bags(program, *element, first_bit + position * stride, bags);
            }
        }
        Type::Record { fields } => {
            let mut at = first_bit;
            for field in fields {
                find_bags(program, field.ty, at, bags);
                at += types.bits(field.ty) as usize;
            }
        }
        Type::Multiset { capacity, element } => bags.push(Bag {
            first_bit,
            ty,
            capacity: *capacity,
            width: types.bits(*element) as u32,
            is_nested: types.has_multiset(*element),
        }),
    }
}
