//! Guards: places, values and conditions on them.

use super::Maker;
use super::data::{Domain, Leaf, Step, TypeNumber};

impl Maker {
    /// A part of the state; those that an alias names are taken more often.
    pub(super) fn leaf(&mut self) -> Leaf {
        let leaves = &self.scope.leaves;
        let n_near = self.scope.n_near;
        if n_near > 0 && self.dice.chance(50) {
            return self.dice.one(&leaves[leaves.len() - n_near..]).clone();
        }
        // Often the same one, since two tests of one array are the interesting case.
        match self.dice.chance(40) {
            true => leaves[0].clone(),
            false => self.dice.one(leaves).clone(),
        }
    }

    /// The leaf as it can be named here. `None` where no element of a scalarset is in scope.
    pub(super) fn place(&mut self, leaf: &Leaf, is_risky: bool) -> Option<String> {
        self.place_up_to(leaf, leaf.steps.len(), is_risky)
    }

    /// What the first steps to a leaf lead to.
    pub(super) fn place_up_to(
        &mut self,
        leaf: &Leaf,
        n_steps: usize,
        is_risky: bool,
    ) -> Option<String> {
        let mut place = leaf.name.clone();
        for step in &leaf.steps[..n_steps] {
            match step {
                Step::Field(field) => place = format!("{place}.{field}"),
                Step::Index(ty) => place = format!("{place}[{}]", self.value(*ty, is_risky)?),
            }
        }
        Some(place)
    }

    /// A value of a type: a parameter, a constant, something computed; a part of the state only
    /// where that may be risky, since it may be undefined.
    pub(super) fn value(&mut self, ty: TypeNumber, is_risky: bool) -> Option<String> {
        let known = self.scope.values.iter().filter(|(_, of)| *of == ty);
        let known: Vec<String> = known.map(|(name, _)| name.clone()).collect();
        if is_risky && self.dice.chance(12) {
            let mut leaves = self.scope.leaves.iter();
            let held = leaves.rfind(|leaf| leaf.ty == ty && leaf.steps.is_empty());
            if let Some(leaf) = held {
                return Some(leaf.name.clone());
            }
        }
        if known.is_empty() || self.dice.chance(8) {
            if let Some(constant) = self.constant(ty) {
                return Some(constant);
            }
            return known.first().cloned();
        }
        let name = self.dice.one(&known).clone();
        match self.data.types[ty].domain {
            Domain::Range(lo, hi) if self.dice.chance(12) => {
                let by = self.dice.between(1, hi - lo);
                let n = hi - lo + 1;
                Some(format!("(({name} - ({lo}) + {by}) % {n} + ({lo}))"))
            }
            Domain::Range(..) if is_risky && self.dice.chance(4) => Some(format!("({name} + 1)")),
            _ => Some(name),
        }
    }

    /// A constant of a type. Elements of scalarsets have no names.
    pub(super) fn constant(&mut self, ty: TypeNumber) -> Option<String> {
        Some(match &self.data.types[ty].domain {
            Domain::Boolean => self.dice.chance(50).to_string(),
            Domain::Enum(members) => self.dice.one(members).clone(),
            Domain::Range(lo, hi) => match self.dice.between(*lo, (*hi).min(lo + 7)) {
                value if value < 0 => format!("({value})"),
                value => value.to_string(),
            },
            Domain::Scalarset(_) => return None,
            Domain::Union(members, _) => return self.constant(*members),
        })
    }

    /// A condition, with others inside it up to a depth.
    pub(super) fn condition(&mut self, depth: u32) -> String {
        if depth > 0 && self.dice.chance(30) {
            return self.compound(depth - 1);
        }
        for _ in 0..4 {
            if let Some(test) = self.test() {
                return test;
            }
        }
        self.dice.chance(90).to_string()
    }

    fn compound(&mut self, depth: u32) -> String {
        let a = self.condition(depth);
        match self.dice.between(0, 7) {
            0 => format!("!({a})"),
            1 => format!("!({a} & {})", self.condition(depth)),
            2 => format!("!({a} | {})", self.condition(depth)),
            3 => format!("({a} | {})", self.condition(depth)),
            4 => format!("({a} -> {})", self.condition(depth)),
            5 => format!("({a} & {})", self.condition(depth)),
            6 => format!("({a} ? {} : {a})", self.condition(depth)),
            _ => {
                let word = *self.dice.one(&["forall", "exists"]);
                let ty = *self.dice.one(&self.data.indices);
                let name = self.new_name("q");
                let set = self.data.types[ty].name.clone();
                self.scope.values.push((name.clone(), ty));
                let body = self.condition(depth);
                self.scope.values.pop();
                format!("({word} {name}: {set} do {body} end)")
            }
        }
    }

    /// A test of a leaf, of two, or of parameters.
    fn test(&mut self) -> Option<String> {
        match self.dice.between(0, 19) {
            0 => return Some(self.dice.chance(85).to_string()),
            1 => {
                let (name, ty) = self.scope.values.last()?.clone();
                let other = self.value(ty, false)?;
                return Some(format!("{name} != {other}"));
            }
            _ => {}
        }
        let leaf = self.leaf();
        let place = self.place(&leaf, true)?;
        let test = self.test_of(&leaf, &place)?;
        if !leaf.is_shaky {
            return Some(test);
        }
        Some(match self.dice.between(0, 9) {
            0 | 1 => format!("isundefined({place})"),
            2 => format!("!isundefined({place})"),
            3 => test,
            4 => format!("(isundefined({place}) | {test})"),
            5 => format!("(!isundefined({place}) -> {test})"),
            _ => format!("!isundefined({place}) & {test}"),
        })
    }

    fn test_of(&mut self, leaf: &Leaf, place: &str) -> Option<String> {
        let first = self.comparison(leaf.ty, place)?;
        Some(match self.dice.between(0, 11) {
            0 => {
                let second = self.comparison(leaf.ty, place)?;
                format!("({first} | {second})")
            }
            1 => {
                // The same leaf, perhaps of another element.
                let other = self.place(leaf, true)?;
                let second = self.comparison(leaf.ty, &other)?;
                match leaf.is_shaky {
                    true => format!("({first} | isundefined({other}) | {second})"),
                    false => format!("({first} | {second})"),
                }
            }
            2 if !leaf.is_shaky => {
                let other = self.place(leaf, true)?;
                let op = *self.dice.one(&["=", "!="]);
                format!("{place} {op} {other}")
            }
            3 => format!("!({first})"),
            4 => {
                let second = self.comparison(leaf.ty, place)?;
                format!("!({first} | {second})")
            }
            _ => first,
        })
    }

    /// A leaf against a constant, or an element where there are no constants.
    fn comparison(&mut self, ty: TypeNumber, place: &str) -> Option<String> {
        if let Domain::Boolean = self.data.types[ty].domain
            && self.dice.chance(70)
        {
            return Some(match self.dice.chance(50) {
                true => place.to_owned(),
                false => format!("!{place}"),
            });
        }
        if let Domain::Union(members, set) = self.data.types[ty].domain {
            let member = *self.dice.one(&[members, set]);
            match self.dice.between(0, 2) {
                0 => {
                    let name = &self.data.types[member].name;
                    return Some(format!("ismember({place}, {name})"));
                }
                1 => {
                    let value = self.value(member, false)?;
                    return Some(format!("{place} = {value}"));
                }
                _ => {}
            }
        }
        let value = match self.constant(ty) {
            Some(constant) => constant,
            None => self.value(ty, false)?,
        };
        let ops: &[&str] = match self.data.types[ty].domain {
            Domain::Range(..) => &["=", "=", "=", "!=", "<", "<=", ">", ">="],
            _ => &["=", "=", "=", "!="],
        };
        let op = *self.dice.one(ops);
        Some(match self.dice.chance(30) {
            true => format!("{value} {op} {place}"),
            false => format!("{place} {op} {value}"),
        })
    }
}
