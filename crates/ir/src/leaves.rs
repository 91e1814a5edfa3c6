//! The leaves of a state by name, and their values by name: the reverse of
//! [`describe_state`](hadal_model::Model::describe_state).
//!
//! A leaf is a part of the state without parts. Those within multisets are left out: the slot of an
//! element is no property of the bag, so there is nothing to compare with it in another state.

use crate::expr::{Expr, Place, Projection, Root};
use crate::ids::{ScalarsetId, SiteId, TypeId, VarId};
use crate::program::Program;
use crate::types::{Simple, SimpleKind, Type, Types, UnionPart};

/// The leaves of a state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leaves {
    /// All that are in no multiset, with their names, in the order of their bits.
    pub named: Vec<(String, Leaf)>,
    /// The names of the multisets.
    pub multisets: Vec<String>,
}

/// A part of the state that has no parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// The variable that it is, or is a part of.
    pub var: VarId,
    /// How to get from there to the leaf, outermost first.
    pub path: Vec<LeafStep>,
    /// Its type, a simple one.
    pub ty: TypeId,
}

/// A step from an aggregate to a part that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeafStep {
    /// The n-th field of a record.
    Field(u32),
    /// The element of an array at this value of its index type.
    Index(i64),
}

/// Why a text is no value of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoValue {
    /// No value is called so.
    Unknown,
    /// Several are.
    Ambiguous,
}

/// Names of members or elements that are listed where a value is not one of a type.
const LISTED: usize = 12;

impl Program {
    /// The leaves of states at rest.
    pub fn leaves(&self) -> Leaves {
        let n_at_rest = self.vars.len().saturating_sub(self.n_registers);
        let mut leaves = Leaves::default();
        for (number, var) in self.vars[..n_at_rest].iter().enumerate() {
            let mut walk = Walk {
                types: &self.types,
                var: VarId::new(number),
                name: var.name.clone(),
                path: Vec::new(),
                leaves: &mut leaves,
            };
            walk.visit(var.ty);
        }
        leaves
    }

    /// The place of a leaf, with expressions for its indices.
    pub fn place_of(&mut self, leaf: &Leaf, site: SiteId) -> Place {
        let steps = leaf.path.iter().map(|step| match *step {
            LeafStep::Field(field) => Projection::Field(field),
            LeafStep::Index(value) => Projection::Index(self.add_expr(Expr::Int(value), site)),
        });
        Place {
            path: steps.collect(),
            root: Root::Var(leaf.var),
        }
    }
}

struct Walk<'a> {
    types: &'a Types,
    var: VarId,
    name: String,
    path: Vec<LeafStep>,
    leaves: &'a mut Leaves,
}

impl Walk<'_> {
    fn visit(&mut self, ty: TypeId) {
        let types = self.types;
        match types.get(ty) {
            Type::Simple(_) => {
                let leaf = Leaf {
                    var: self.var,
                    path: self.path.clone(),
                    ty,
                };
                self.leaves.named.push((self.name.clone(), leaf));
            }
            Type::Array { index, element } => {
                let Some(simple) = types.simple(*index) else {
                    return;
                };
                for value in simple.lo..=simple.hi {
                    let part = format!("[{}]", types.value_name(*index, value));
                    self.part(&part, LeafStep::Index(value), *element);
                }
            }
            Type::Record { fields } => {
                for (number, field) in (0..).zip(fields) {
                    let part = format!(".{}", field.name);
                    self.part(&part, LeafStep::Field(number), field.ty);
                }
            }
            Type::Multiset { .. } => self.leaves.multisets.push(self.name.clone()),
        }
    }

    fn part(&mut self, name: &str, step: LeafStep, ty: TypeId) {
        let kept = self.name.len();
        self.name.push_str(name);
        self.path.push(step);
        self.visit(ty);
        self.path.pop();
        self.name.truncate(kept);
    }
}

impl Types {
    /// The value of a simple type that is [called](Self::value_name) `name`; `None` is undefined.
    pub fn value_named(&self, ty: TypeId, name: &str) -> Result<Option<i64>, NoValue> {
        let Some(simple) = self.simple(ty) else {
            return Err(NoValue::Unknown);
        };
        let mut found: Vec<Option<i64>> = Vec::new();
        // A member of an enumeration may be called so as well.
        if name == "undefined" && !simple.is_total {
            found.push(None);
        }
        let mut add = |value: i64| {
            if simple.contains(value) {
                found.push(Some(value));
            }
        };
        match &simple.kind {
            SimpleKind::Range => {
                let number: Option<i64> = name.parse().ok();
                // Only as it is printed: no plus sign, no leading zeros.
                number.filter(|it| it.to_string() == name).map(add);
            }
            SimpleKind::Boolean => {
                name.parse::<bool>().ok().map(i64::from).map(add);
            }
            SimpleKind::Enum(members) => members_named(members, name).for_each(add),
            SimpleKind::Scalarset(id) => {
                self.element_named(*id, name).map(add);
            }
            SimpleKind::Union(parts) => {
                let mut first = 0;
                for part in parts {
                    match part {
                        UnionPart::Enum(members) => {
                            members_named(members, name).for_each(|it| add(first + it));
                        }
                        UnionPart::Scalarset(id) => {
                            let element = self.element_named(*id, name);
                            element.into_iter().for_each(|it| add(first + it));
                        }
                    }
                    first += self.union_part_len(part);
                }
            }
        }
        match found[..] {
            [] => Err(NoValue::Unknown),
            [value] => Ok(value),
            _ => Err(NoValue::Ambiguous),
        }
    }

    /// The number of the element of a scalarset that is called `name`.
    fn element_named(&self, id: ScalarsetId, name: &str) -> Option<i64> {
        let set = &self.scalarsets[id.index()];
        let number = name.strip_prefix(set.name.as_str())?.strip_prefix('_')?;
        let element: i64 = number.parse().ok()?;
        let is_one = (1..=i64::from(set.size)).contains(&element) && element.to_string() == number;
        is_one.then_some(element - 1)
    }

    /// The values of a simple type, for messages: `0..9`, or `idle, busy or undefined`.
    pub fn describe_values(&self, ty: TypeId) -> String {
        let Some(simple) = self.simple(ty) else {
            return "no value".to_owned();
        };
        let mut names = self.names_of_values(simple);
        if !simple.is_total {
            names.push("undefined".to_owned());
        }
        match names.pop() {
            None => "no value".to_owned(),
            Some(last) if names.is_empty() => last,
            Some(last) => format!("{} or {last}", names.join(", ")),
        }
    }

    /// Names of single values, or of many that follow each other.
    fn names_of_values(&self, simple: &Simple) -> Vec<String> {
        let of_set = |id: &ScalarsetId| {
            let set = &self.scalarsets[id.index()];
            match set.size {
                0 => Vec::new(),
                1 => vec![format!("{}_1", set.name)],
                size => vec![format!("{0}_1..{0}_{size}", set.name)],
            }
        };
        match &simple.kind {
            _ if simple.is_empty() => Vec::new(),
            SimpleKind::Range if simple.lo == simple.hi => vec![simple.lo.to_string()],
            SimpleKind::Range => vec![format!("{}..{}", simple.lo, simple.hi)],
            SimpleKind::Boolean => vec!["false".to_owned(), "true".to_owned()],
            SimpleKind::Enum(members) => listed(members),
            SimpleKind::Scalarset(id) => of_set(id),
            SimpleKind::Union(parts) => {
                let names = parts.iter().flat_map(|part| match part {
                    UnionPart::Enum(members) => listed(members),
                    UnionPart::Scalarset(id) => of_set(id),
                });
                names.collect()
            }
        }
    }
}

/// The numbers of the members that are called `name`; nothing in a program rules out several.
fn members_named<'a>(members: &'a [String], name: &'a str) -> impl Iterator<Item = i64> + 'a {
    let members = (0..).zip(members);
    members.filter_map(move |(number, member)| (member == name).then_some(number))
}

fn listed(members: &[String]) -> Vec<String> {
    let mut names: Vec<String> = members.iter().take(LISTED).cloned().collect();
    if members.len() > LISTED {
        names.push(format!("{} others", members.len() - LISTED));
    }
    names
}
