//! The types and variables of a model.

use std::fmt::Write;

use super::Dice;

/// A type, by its number.
pub(super) type TypeNumber = usize;

/// A simple type with a name.
pub(super) struct Named {
    pub(super) name: String,
    pub(super) domain: Domain,
}

/// The values of a simple type.
pub(super) enum Domain {
    Boolean,
    /// Names of the members.
    Enum(Vec<String>),
    Range(i64, i64),
    Scalarset(i64),
    /// Numbers of an enumeration and of a scalarset.
    Union(TypeNumber, TypeNumber),
}

/// A simple part of the state: a variable, a field, an element.
#[derive(Clone)]
pub(super) struct Leaf {
    pub(super) name: String,
    pub(super) steps: Vec<Step>,
    pub(super) ty: TypeNumber,
    /// Whether it may be undefined; then most conditions ask for that first.
    pub(super) is_shaky: bool,
}

/// A step from a variable to a part of it.
#[derive(Clone)]
pub(super) enum Step {
    Index(TypeNumber),
    Field(&'static str),
}

/// What a model is about.
pub(super) struct Data {
    pub(super) types: Vec<Named>,
    /// Types of few values, for arrays and rulesets.
    pub(super) indices: Vec<TypeNumber>,
    pub(super) leaves: Vec<Leaf>,
    /// Whether there are multisets, and the index type of the array they are in.
    pub(super) bags: Option<Option<TypeNumber>>,
    /// Types of the two fields of a message.
    message: [TypeNumber; 2],
    /// The declarations of the variables.
    vars: String,
}

const ENUM: TypeNumber = 1;
const SET: TypeNumber = 4;

impl Data {
    pub(super) fn random(dice: &mut Dice) -> Self {
        let types = types(dice);
        let mut indices = vec![2, 2, SET, SET, ENUM];
        if dice.chance(20) {
            indices.push(0);
        }
        if types.len() > 5 && dice.chance(50) {
            indices.push(5);
        }
        let n_types = types.len() as i64;
        let message = [ENUM, dice.between(0, 3) as usize];
        let mut data = Data {
            types,
            indices,
            leaves: Vec::new(),
            bags: None,
            message,
            vars: String::new(),
        };
        let n_vars = dice.between(2, 4);
        for number in 0..n_vars {
            let element = dice.between(0, n_types - 1) as usize;
            data.add_var(dice, format!("v{number}"), element);
        }
        // An index that the state holds.
        let index = *dice.one(&data.indices);
        data.add_leaves(dice, "at", vec![], index);
        let _ = writeln!(data.vars, "  at: {};", data.types[index].name);
        if dice.chance(25) {
            let index = dice.chance(50).then(|| *dice.one(&data.indices));
            data.bags = Some(index);
            let array = index.map_or(String::new(), |ty| data.array_of(ty));
            let _ = writeln!(data.vars, "  net: {array}multiset [2] of message;");
        }
        data
    }

    fn array_of(&self, ty: TypeNumber) -> String {
        format!("array [{}] of ", self.types[ty].name)
    }

    fn add_var(&mut self, dice: &mut Dice, name: String, element: TypeNumber) {
        let mut steps = Vec::new();
        let mut declared = String::new();
        let n_indices = [0, 1, 1, 1, 1, 2][dice.between(0, 5) as usize];
        for _ in 0..n_indices {
            let index = *dice.one(&self.indices);
            steps.push(Step::Index(index));
            declared.push_str(&self.array_of(index));
        }
        let element_name = self.types[element].name.clone();
        if dice.chance(25) {
            let other = dice.between(0, 3) as usize;
            let other_name = &self.types[other].name;
            let _ = write!(declared, "record f: {element_name}; g: {other_name}; end");
            for (field, ty) in [("f", element), ("g", other)] {
                let mut steps = steps.clone();
                steps.push(Step::Field(field));
                self.add_leaves(dice, &name, steps, ty);
            }
        } else {
            declared.push_str(&element_name);
            self.add_leaves(dice, &name, steps, element);
        }
        let _ = writeln!(self.vars, "  {name}: {declared};");
    }

    fn add_leaves(&mut self, dice: &mut Dice, name: &str, steps: Vec<Step>, ty: TypeNumber) {
        self.leaves.push(Leaf {
            name: name.to_owned(),
            steps,
            ty,
            is_shaky: dice.chance(25),
        });
    }

    /// The fields of a message.
    pub(super) fn message_leaves(&self, message: &str) -> Vec<Leaf> {
        let leaf = |(field, ty): (&'static str, TypeNumber)| Leaf {
            name: message.to_owned(),
            steps: vec![Step::Field(field)],
            ty,
            is_shaky: true,
        };
        ["f", "g"].into_iter().zip(self.message).map(leaf).collect()
    }

    /// Writes types and variables down.
    pub(super) fn declare(&self, text: &mut String) {
        text.push_str("type\n");
        for named in &self.types {
            let name = &named.name;
            let _ = match &named.domain {
                Domain::Boolean => Ok(()),
                Domain::Enum(members) => {
                    writeln!(text, "  {name}: enum {{ {} }};", members.join(", "))
                }
                Domain::Range(lo, hi) => writeln!(text, "  {name}: {lo}..{hi};"),
                Domain::Scalarset(n) => writeln!(text, "  {name}: scalarset({n});"),
                Domain::Union(a, b) => {
                    let (a, b) = (&self.types[*a].name, &self.types[*b].name);
                    writeln!(text, "  {name}: union {{ {a}, {b} }};")
                }
            };
        }
        let [f, g] = self.message.map(|ty| &self.types[ty].name);
        let _ = writeln!(text, "  message: record f: {f}; g: {g}; end;");
        let _ = write!(text, "var\n{}", self.vars);
    }
}

/// A boolean, an enumeration, two ranges, a scalarset, and often a union.
fn types(dice: &mut Dice) -> Vec<Named> {
    let members = (0..dice.between(2, 5)).map(|number| format!("m{number}"));
    let members = Domain::Enum(members.collect());
    let first = dice.between(-1, 2);
    let narrow = Domain::Range(first, first + dice.between(1, 2));
    let first = dice.between(-4, 1);
    let n_more = match dice.chance(10) {
        true => dice.between(20, 1500),
        false => dice.between(1, 6),
    };
    let wide = Domain::Range(first, first + n_more);
    let set = Domain::Scalarset(dice.between(2, 3));
    let mut types = vec![
        ("boolean", Domain::Boolean),
        ("state", members),
        ("place", narrow),
        ("number", wide),
        ("proc", set),
    ];
    if dice.chance(40) {
        types.push(("node", Domain::Union(ENUM, SET)));
    }
    let named = |(name, domain): (&str, Domain)| Named {
        name: name.to_owned(),
        domain,
    };
    types.into_iter().map(named).collect()
}
