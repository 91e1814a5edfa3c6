//! Types as the language knows them: with their names, their declarations and what is equal to
//! what. Each has its counterpart in the program.
//!
//! Whether two types are the same is answered once, when a type is made: every type belongs to a
//! *class*, and types of one class may be exchanged whole. The dialect decides how classes are
//! made: one for each declaration, one for each shape, or both. Types of one class always have
//! the same type in the program, because equal program types are made only once. So neither
//! comparison looks inside a type, however large or deep it is.

use std::sync::Arc;

use hadal_ir::{Field, ScalarsetId, Simple, SimpleKind, Type, TypeId, Types, UnionPart};
use hadal_syntax::Span;
use rustc_hash::FxHashMap;

use crate::TypeEquivalence;

/// A type, as an index into the [`TypeTable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Ty(u32);

impl Ty {
    /// The type of what was reported already, and is not reported again.
    pub(super) const ERROR: Ty = Ty(0);
    /// The type of numbers that arithmetic makes.
    pub(super) const INTEGER: Ty = Ty(1);
    /// The truth values.
    pub(super) const BOOLEAN: Ty = Ty(2);

    fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a type is.
#[derive(Debug, Clone)]
pub(super) enum Kind {
    Error,
    Integer,
    Boolean,
    Range { lo: i64, hi: i64 },
    Enum(Arc<[Arc<str>]>),
    Scalarset { id: ScalarsetId, size: i64 },
    Union(Arc<Union>),
    Array { index: Ty, element: Ty },
    Record(Arc<Record>),
    Multiset { capacity: u32, element: Ty },
}

/// The members of a union, each an enumeration or a scalarset.
#[derive(Debug)]
pub(super) struct Union {
    pub(super) members: Vec<Ty>,
    /// The values of each member, by its class.
    ranges: FxHashMap<u32, (i64, i64)>,
    n_values: i64,
}

/// The fields of a record.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) fields: Vec<(Arc<str>, Ty)>,
    /// Where each field is in the list.
    by_name: FxHashMap<Arc<str>, u32>,
}

impl Record {
    /// The number and type of a field.
    pub(super) fn field(&self, name: &str) -> Option<(u32, Ty)> {
        let idx = *self.by_name.get(name)?;
        Some((idx, self.fields[idx as usize].1))
    }
}

#[derive(Debug)]
struct TypeInfo {
    kind: Kind,
    /// The name it was declared with, and where.
    name: Option<(Arc<str>, Span)>,
    class: u32,
    ir: TypeId,
    /// How deep types are nested in it, itself included.
    depth: u32,
    /// Whether `clear` picks elements of a scalarset.
    clears_to_element: bool,
    has_multiset: bool,
    /// Values and aggregates in it, itself included.
    n_parts: u64,
}

/// All types of a model.
#[derive(Debug)]
pub(super) struct TypeTable {
    infos: Vec<TypeInfo>,
    equivalence: TypeEquivalence,
    n_classes: u32,
    classes: FxHashMap<Shape, u32>,
    ir_types: FxHashMap<Type, TypeId>,
}

/// The shape of a type in terms of the classes of its parts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Shape {
    Range(i64, i64),
    Enum(Arc<[Arc<str>]>),
    Union(Vec<u32>),
    Array(u32, u32),
    Record(Vec<(Arc<str>, u32)>),
    Multiset(u32, u32),
}

impl TypeTable {
    /// The types that are there before the first declaration.
    pub(super) fn new(equivalence: TypeEquivalence, ir: &mut Types) -> Self {
        let mut table = TypeTable {
            infos: Vec::new(),
            equivalence,
            n_classes: 0,
            classes: FxHashMap::default(),
            ir_types: FxHashMap::default(),
        };
        let boolean = table.ir_type(ir, Type::Simple(Simple::boolean()));
        let integer = table.ir_type(ir, Type::Simple(Simple::integer()));
        for (kind, ir) in [
            (Kind::Error, boolean),
            (Kind::Integer, integer),
            (Kind::Boolean, boolean),
        ] {
            let class = table.fresh_class();
            table.infos.push(TypeInfo {
                kind,
                name: None,
                class,
                ir,
                depth: 1,
                clears_to_element: false,
                has_multiset: false,
                n_parts: 1,
            });
        }
        table
    }

    /// The integers from `lo` to `hi`.
    pub(super) fn range(&mut self, ir: &mut Types, lo: i64, hi: i64) -> Ty {
        let id = self.ir_type(ir, Type::Simple(Simple::range(lo, hi)));
        // Ranges with the same bounds are interchangeable in every dialect.
        let class = self.shape_class(Shape::Range(lo, hi));
        self.add(Kind::Range { lo, hi }, class, id, false)
    }

    /// An enumeration.
    pub(super) fn enumeration(&mut self, ir: &mut Types, members: Vec<Arc<str>>) -> Ty {
        let members: Arc<[Arc<str>]> = members.into();
        let names = members.iter().map(|name| name.to_string()).collect();
        let simple = Simple {
            lo: 0,
            hi: members.len() as i64 - 1,
            kind: SimpleKind::Enum(names),
            is_total: false,
        };
        let id = self.ir_type(ir, Type::Simple(simple));
        let class = self.class(|_| Shape::Enum(members.clone()));
        self.add(Kind::Enum(members), class, id, false)
    }

    /// A scalarset; never equal to another one, in no dialect.
    pub(super) fn scalarset(&mut self, ir: &mut Types, name: &str, size: u32) -> Ty {
        let id = ir.add_scalarset(name, size);
        let simple = Simple {
            lo: 0,
            hi: i64::from(size) - 1,
            kind: SimpleKind::Scalarset(id),
            is_total: false,
        };
        let size = i64::from(size);
        let ty = self.ir_type(ir, Type::Simple(simple));
        let class = self.fresh_class();
        // A single element has nothing to be distinguished from.
        self.add(Kind::Scalarset { id, size }, class, ty, size > 1)
    }

    /// A union of enumerations and scalarsets.
    pub(super) fn union(&mut self, ir: &mut Types, members: Vec<Ty>) -> Ty {
        let mut ranges = FxHashMap::default();
        let mut n_values = 0;
        for &member in &members {
            let n = self.n_values(member).unwrap_or(0);
            ranges.insert(self.class_of(member), (n_values, n_values + n - 1));
            n_values += n;
        }
        let clears_to_element = members.iter().any(|&ty| self.clears_to_element(ty));
        let parts = members
            .iter()
            .filter_map(|&ty| match self.kind(ty) {
                Kind::Enum(members) => Some(UnionPart::Enum(
                    members.iter().map(|name| name.to_string()).collect(),
                )),
                Kind::Scalarset { id, .. } => Some(UnionPart::Scalarset(*id)),
                _ => None,
            })
            .collect();
        let simple = Simple {
            lo: 0,
            hi: n_values - 1,
            kind: SimpleKind::Union(parts),
            is_total: false,
        };
        let id = self.ir_type(ir, Type::Simple(simple));
        let class = self
            .class(|table| Shape::Union(members.iter().map(|&ty| table.class_of(ty)).collect()));
        let union = Union {
            members,
            ranges,
            n_values,
        };
        self.add(Kind::Union(Arc::new(union)), class, id, clears_to_element)
    }

    /// An array; the index is simple.
    pub(super) fn array(&mut self, ir: &mut Types, index: Ty, element: Ty) -> Ty {
        let id = self.ir_type(
            ir,
            Type::Array {
                index: self.ir(index),
                element: self.ir(element),
            },
        );
        let class =
            self.class(|table| Shape::Array(table.class_of(index), table.class_of(element)));
        // The index itself is no value of the array.
        let clears_to_element = self.clears_to_element(element);
        let kind = Kind::Array { index, element };
        self.add(kind, class, id, clears_to_element)
    }

    /// A record whose fields have different names.
    pub(super) fn record(&mut self, ir: &mut Types, fields: Vec<(Arc<str>, Ty)>) -> Ty {
        let id = self.ir_type(
            ir,
            Type::Record {
                fields: fields
                    .iter()
                    .map(|(name, ty)| Field {
                        name: name.to_string(),
                        ty: self.ir(*ty),
                    })
                    .collect(),
            },
        );
        let class = self.class(|table| {
            let shape = fields.iter();
            Shape::Record(
                shape
                    .map(|(name, ty)| (name.clone(), table.class_of(*ty)))
                    .collect(),
            )
        });
        let clears_to_element = fields.iter().any(|(_, ty)| self.clears_to_element(*ty));
        let by_name = fields
            .iter()
            .enumerate()
            .map(|(idx, (name, _))| (name.clone(), idx as u32))
            .collect();
        let kind = Kind::Record(Arc::new(Record { fields, by_name }));
        self.add(kind, class, id, clears_to_element)
    }

    /// A multiset.
    pub(super) fn multiset(&mut self, ir: &mut Types, capacity: u32, element: Ty) -> Ty {
        let id = self.ir_type(
            ir,
            Type::Multiset {
                capacity,
                element: self.ir(element),
            },
        );
        let class = self.class(|table| Shape::Multiset(capacity, table.class_of(element)));
        let kind = Kind::Multiset { capacity, element };
        // It is cleared by being emptied.
        self.add(kind, class, id, false)
    }

    /// Gives a new type its name. Where names decide, it is then equal to nothing else.
    pub(super) fn set_name(&mut self, ty: Ty, name: Arc<str>, span: Span) {
        let by_name = self.equivalence == TypeEquivalence::NameThenStructure;
        let is_range = matches!(self.kind(ty), Kind::Range { .. });
        if by_name && !is_range {
            let class = self.fresh_class();
            self.infos[ty.index()].class = class;
        }
        self.infos[ty.index()].name = Some((name, span));
    }

    /// All types, in the order in which they were added.
    pub(super) fn all(&self) -> impl Iterator<Item = Ty> {
        (0..self.infos.len()).map(|at| Ty(at as u32))
    }

    /// What the type is.
    pub(super) fn kind(&self, ty: Ty) -> &Kind {
        &self.infos[ty.index()].kind
    }

    /// Its counterpart in the program.
    pub(super) fn ir(&self, ty: Ty) -> TypeId {
        self.infos[ty.index()].ir
    }

    /// How deep types are nested in it, itself included.
    pub(super) fn depth(&self, ty: Ty) -> u32 {
        self.infos[ty.index()].depth
    }

    /// Whether `clear` gives a part of it an element of a scalarset for a value.
    pub(super) fn clears_to_element(&self, ty: Ty) -> bool {
        self.infos[ty.index()].clears_to_element
    }

    /// Whether it is a simple type with elements of a scalarset among its values.
    pub(super) fn holds_elements(&self, ty: Ty) -> bool {
        match self.kind(ty) {
            Kind::Scalarset { .. } => true,
            Kind::Union(union) => {
                let mut members = union.members.iter();
                members.any(|&member| matches!(self.kind(member), Kind::Scalarset { .. }))
            }
            _ => false,
        }
    }

    /// Whether a multiset is part of it.
    pub(super) fn has_multiset(&self, ty: Ty) -> bool {
        self.infos[ty.index()].has_multiset
    }

    /// Values and aggregates in it, itself included.
    pub(super) fn n_parts(&self, ty: Ty) -> u64 {
        self.infos[ty.index()].n_parts
    }

    /// Where it was declared, if it has a name.
    pub(super) fn declaration(&self, ty: Ty) -> Option<Span> {
        self.infos[ty.index()].name.as_ref().map(|(_, span)| *span)
    }

    /// The values of a union that belong to a member.
    pub(super) fn member(&self, union: &Union, member: Ty) -> Option<(i64, i64)> {
        union.ranges.get(&self.class_of(member)).copied()
    }

    /// Whether values of the two may be exchanged whole.
    pub(super) fn same(&self, a: Ty, b: Ty) -> bool {
        self.class_of(a) == self.class_of(b)
    }

    /// Whether the values are integers.
    pub(super) fn is_number(&self, ty: Ty) -> bool {
        matches!(self.kind(ty), Kind::Integer | Kind::Range { .. })
    }

    /// Whether a value has no parts.
    pub(super) fn is_simple(&self, ty: Ty) -> bool {
        !matches!(
            self.kind(ty),
            Kind::Array { .. } | Kind::Record(_) | Kind::Multiset { .. }
        )
    }

    /// The least and the greatest value of a simple type; greatest below least where there is
    /// none.
    pub(super) fn bounds(&self, ty: Ty) -> Option<(i64, i64)> {
        match self.kind(ty) {
            Kind::Boolean => Some((0, 1)),
            Kind::Range { lo, hi } => Some((*lo, *hi)),
            Kind::Integer => Some((-i64::MAX, i64::MAX)),
            _ => self.n_values(ty).map(|n| (0, n - 1)),
        }
    }

    /// The number of values of a type that is numbered from 0.
    pub(super) fn n_values(&self, ty: Ty) -> Option<i64> {
        match self.kind(ty) {
            Kind::Boolean => Some(2),
            Kind::Enum(members) => Some(members.len() as i64),
            Kind::Scalarset { size, .. } => Some(*size),
            Kind::Union(union) => Some(union.n_values),
            _ => None,
        }
    }

    /// The type in the words of the model.
    pub(super) fn name(&self, ty: Ty) -> String {
        let mut out = String::new();
        self.push_name(ty, &mut out);
        out
    }

    /// The type with its article, to follow "this is".
    pub(super) fn described(&self, ty: Ty) -> String {
        if let Kind::Integer = self.kind(ty) {
            return "a number".to_owned();
        }
        let name = self.name(ty);
        let is_named = self.infos[ty.index()].name.is_some();
        match name.starts_with(['a', 'e', 'i', 'o']) && !is_named {
            true => format!("an `{name}`"),
            false => format!("a `{name}`"),
        }
    }

    /// How people call a value of a simple type.
    pub(super) fn value_name(&self, ty: Ty, value: i64) -> String {
        match self.kind(ty) {
            Kind::Boolean => (value != 0).to_string(),
            Kind::Enum(members) => match usize::try_from(value).ok().and_then(|v| members.get(v)) {
                Some(name) => name.to_string(),
                None => value.to_string(),
            },
            _ => value.to_string(),
        }
    }

    fn push_name(&self, ty: Ty, out: &mut String) {
        // Messages have one line; a type with more words than that is only hinted at.
        const SHOWN_LEN: usize = 60;
        const SHOWN_PARTS: usize = 5;
        if let Some((name, _)) = &self.infos[ty.index()].name {
            out.push_str(name);
            return;
        }
        if out.len() > SHOWN_LEN {
            out.push_str("...");
            return;
        }
        let list = |out: &mut String, parts: &mut dyn Iterator<Item = String>| {
            for (idx, part) in parts.enumerate() {
                if idx > 0 {
                    out.push_str(", ");
                }
                if idx == SHOWN_PARTS || out.len() > SHOWN_LEN {
                    out.push_str("...");
                    break;
                }
                out.push_str(&part);
            }
        };
        match self.kind(ty) {
            Kind::Error => out.push('?'),
            Kind::Integer => out.push_str("integer"),
            Kind::Boolean => out.push_str("boolean"),
            Kind::Range { lo, hi } => out.push_str(&format!("{lo}..{hi}")),
            Kind::Enum(members) => {
                out.push_str("enum {");
                list(out, &mut members.iter().map(|name| name.to_string()));
                out.push('}');
            }
            Kind::Scalarset { size, .. } => out.push_str(&format!("scalarset({size})")),
            Kind::Union(union) => {
                out.push_str("union {");
                list(out, &mut union.members.iter().map(|&ty| self.name(ty)));
                out.push('}');
            }
            Kind::Array { index, element } => {
                out.push_str("array [");
                self.push_name(*index, out);
                out.push_str("] of ");
                self.push_name(*element, out);
            }
            Kind::Record(record) => {
                out.push_str("record {");
                list(
                    out,
                    &mut record.fields.iter().map(|(name, _)| name.to_string()),
                );
                out.push('}');
            }
            Kind::Multiset { capacity, element } => {
                out.push_str(&format!("multiset [{capacity}] of "));
                self.push_name(*element, out);
            }
        }
    }

    fn add(&mut self, kind: Kind, class: u32, ir: TypeId, clears_to_element: bool) -> Ty {
        let (mut depth, mut n_parts) = (1, 1u64);
        let mut has_multiset = matches!(kind, Kind::Multiset { .. });
        let mut part = |ty: Ty, n: u64| {
            let info = &self.infos[ty.index()];
            depth = depth.max(info.depth + 1);
            n_parts = n_parts.saturating_add(n.saturating_mul(info.n_parts));
            has_multiset |= info.has_multiset;
        };
        match &kind {
            Kind::Array { index, element } => {
                let n = self.bounds(*index).map_or(0, |(lo, hi)| hi.abs_diff(lo));
                part(*element, n.saturating_add(1));
            }
            Kind::Record(record) => record.fields.iter().for_each(|(_, ty)| part(*ty, 1)),
            Kind::Multiset { capacity, element } => part(*element, u64::from(*capacity)),
            _ => {}
        }
        self.infos.push(TypeInfo {
            kind,
            name: None,
            class,
            ir,
            depth,
            clears_to_element,
            has_multiset,
            n_parts,
        });
        Ty((self.infos.len() - 1) as u32)
    }

    /// What the type is the same as; see [`same`](Self::same).
    pub(super) fn class_of(&self, ty: Ty) -> u32 {
        self.infos[ty.index()].class
    }

    /// The class of a type without a name.
    fn class(&mut self, shape: impl FnOnce(&Self) -> Shape) -> u32 {
        match self.equivalence {
            TypeEquivalence::Name => self.fresh_class(),
            TypeEquivalence::Structure | TypeEquivalence::NameThenStructure => {
                let shape = shape(self);
                self.shape_class(shape)
            }
        }
    }

    fn shape_class(&mut self, shape: Shape) -> u32 {
        if let Some(&class) = self.classes.get(&shape) {
            return class;
        }
        let class = self.fresh_class();
        self.classes.insert(shape, class);
        class
    }

    fn fresh_class(&mut self) -> u32 {
        self.n_classes += 1;
        self.n_classes - 1
    }

    fn ir_type(&mut self, ir: &mut Types, ty: Type) -> TypeId {
        if let Some(&id) = self.ir_types.get(&ty) {
            return id;
        }
        let id = ir.add(ty.clone());
        self.ir_types.insert(ty, id);
        id
    }
}
