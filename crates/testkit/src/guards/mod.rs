//! Random Murphi models whose guards test few fields, of one element or of several.
//!
//! Native code tests such fields once per state and skips rules that they rule out. An error there
//! would lose states silently, so these models provoke errors as well as they can:
//! a guard tests one array at two parameters, next to what may be undefined, through aliases, in
//! arrays over signed ranges, scalarsets and unions, by rules of several priorities.
//!
//! A model is a function of its seed. It is text, so that one that fails can be read.

mod bodies;
mod conditions;
mod data;

use std::fmt::Write;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use data::{Data, Domain, Leaf, Step, TypeNumber};

/// The model of a seed.
pub fn model(seed: u64) -> String {
    let mut dice = Dice(Pcg64::seed_from_u64(seed));
    let data = Data::random(&mut dice);
    let mut maker = Maker {
        scope: Scope::outermost(&data),
        data,
        dice,
        n_names: 0,
        text: String::new(),
    };
    maker.data.declare(&mut maker.text);
    maker.starts();
    for _ in 0..maker.dice.between(2, 5) {
        maker.group();
        maker.steps();
    }
    maker.bag_rules();
    maker.text
}

/// The source of all choices.
struct Dice(Pcg64);

impl Dice {
    fn between(&mut self, least: i64, most: i64) -> i64 {
        self.0.random_range(least..=most)
    }

    fn chance(&mut self, percent: u32) -> bool {
        self.0.random_range(0..100) < percent
    }

    /// One of some; there must be one.
    fn one<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.0.random_range(0..from.len())]
    }
}

/// The model under construction.
struct Maker {
    dice: Dice,
    data: Data,
    scope: Scope,
    n_names: usize,
    text: String,
}

/// What can be named at a point of the text.
#[derive(Clone)]
struct Scope {
    /// Parameters, loop variables and aliases of values.
    values: Vec<(String, TypeNumber)>,
    /// Parts of the state, also by way of aliases.
    leaves: Vec<Leaf>,
    /// How many of the leaves, the last ones, are there by way of an alias or a `choose`.
    n_near: usize,
    /// The element of a multiset that a `choose` is about: the slot and the multiset.
    chosen: Option<(String, String)>,
}

impl Scope {
    fn outermost(data: &Data) -> Self {
        Scope {
            values: Vec::new(),
            leaves: data.leaves.clone(),
            n_near: 0,
            chosen: None,
        }
    }

    fn add_near(&mut self, leaves: Vec<Leaf>) {
        self.n_near += leaves.len();
        self.leaves.extend(leaves);
    }
}

impl Maker {
    fn new_name(&mut self, prefix: &str) -> String {
        self.n_names += 1;
        format!("{prefix}{}", self.n_names)
    }

    /// One or two startstates; leaves that may be undefined often are there.
    fn starts(&mut self) {
        for _ in 0..self.dice.between(1, 2) {
            self.text.push_str("startstate\n");
            for leaf in self.data.leaves.clone() {
                if leaf.is_shaky && self.dice.chance(60) {
                    continue;
                }
                let statement = self.for_each_element(&leaf, &mut |maker, place| {
                    match maker.constant(leaf.ty) {
                        Some(value) => format!("{place} := {value};"),
                        // Of a scalarset the last element is as good as any.
                        None => {
                            let set = &maker.data.types[leaf.ty].name;
                            format!("for s: {set} do {place} := s; end;")
                        }
                    }
                });
                let _ = writeln!(self.text, "  {statement}");
            }
            self.text.push_str("end;\n");
        }
    }

    /// Some rules inside rulesets, a `choose` and aliases.
    fn group(&mut self) {
        let outer = self.scope.clone();
        let mut n_ends = 0;
        for _ in 0..self.dice.between(0, 3) {
            self.ruleset();
            n_ends += 1;
        }
        if self.dice.chance(30) {
            n_ends += usize::from(self.choose());
        }
        while self.dice.chance(35) && n_ends < 6 {
            n_ends += usize::from(self.alias());
        }
        for _ in 0..self.dice.between(1, 3) {
            self.rule();
        }
        self.text.push_str(&"end; ".repeat(n_ends));
        self.text.push('\n');
        self.scope = outer;
    }

    /// Rules that do little but advance, as those of a program counter do: without them
    /// few states would be reached.
    fn steps(&mut self) {
        let leaf = self.leaf();
        let outer = self.scope.clone();
        let mut n_ends = 0;
        for step in &leaf.steps {
            if let Step::Index(ty) = step {
                let name = self.new_name("p");
                let _ = writeln!(
                    self.text,
                    "ruleset {name}: {} do",
                    self.data.types[*ty].name
                );
                self.scope.values.push((name, *ty));
                n_ends += 1;
            }
        }
        for _ in 0..self.dice.between(1, 3) {
            let place = self.place(&leaf, false);
            let place = place.expect("there is a parameter for each index");
            let from = self.constant(leaf.ty);
            let to = self.constant(leaf.ty);
            if let (Some(from), Some(to)) = (from, to) {
                let name = self.new_name("r");
                let guard = match leaf.is_shaky {
                    true => format!("isundefined({place}) | {place} = {from}"),
                    false => format!("{place} = {from}"),
                };
                let _ = writeln!(
                    self.text,
                    "  rule \"{name}\" {guard} ==> {place} := {to}; end;"
                );
            }
        }
        self.text.push_str(&"end; ".repeat(n_ends));
        self.text.push('\n');
        self.scope = outer;
    }

    /// Opens a ruleset, often over a type that another one runs over already.
    fn ruleset(&mut self) {
        let name = self.new_name("p");
        let ty = match self.scope.values.last() {
            Some((_, ty)) if self.dice.chance(50) => *ty,
            _ => *self.dice.one(&self.data.indices),
        };
        let named = &self.data.types[ty];
        let domain = match named.domain {
            Domain::Range(lo, hi) if self.dice.chance(40) => {
                let (a, b) = (self.dice.between(lo, hi), self.dice.between(lo, hi));
                match self.dice.chance(30) {
                    true if a > b => format!(" := {a} to {b} by -1"),
                    true => format!(" := {a} to {b} by {}", self.dice.between(1, 2)),
                    false => format!(" := {} to {}", a.min(b), a.max(b)),
                }
            }
            _ => format!(": {}", named.name),
        };
        let _ = writeln!(self.text, "ruleset {name}{domain} do");
        self.scope.values.push((name, ty));
    }

    /// Opens a `choose`, if a multiset can be named here.
    fn choose(&mut self) -> bool {
        let Some(bag) = self.bag() else { return false };
        let name = self.new_name("k");
        let _ = writeln!(self.text, "choose {name}: {bag} do");
        let element = format!("{bag}[{name}]");
        self.scope.add_near(self.data.message_leaves(&element));
        self.scope.chosen = Some((name, bag));
        true
    }

    /// A multiset, as it is named here.
    fn bag(&mut self) -> Option<String> {
        let index = self.data.bags?;
        Some(match index {
            Some(ty) => format!("net[{}]", self.value(ty, false)?),
            None => "net".to_owned(),
        })
    }

    /// Opens an alias of an element, a field or a value, if there is one that can be named here.
    fn alias(&mut self) -> bool {
        let name = self.new_name("a");
        if self.dice.chance(30) {
            let ty = *self.dice.one(&self.data.indices);
            let Some(value) = self.value(ty, true) else {
                return false;
            };
            // What is computed from a constant is one, and rejected where it is out of range.
            if value.trim_matches(['(', ')']).parse::<i64>().is_ok() {
                return false;
            }
            let _ = writeln!(self.text, "alias {name}: {value} do");
            self.scope.values.push((name, ty));
            return true;
        }
        let leaf = self.leaf();
        let n_steps = self.dice.between(0, leaf.steps.len() as i64) as usize;
        let Some(place) = self.place_up_to(&leaf, n_steps, false) else {
            return false;
        };
        let _ = writeln!(self.text, "alias {name}: {place} do");
        let rest = leaf.steps[n_steps..].to_vec();
        self.scope.add_near(vec![Leaf {
            name,
            steps: rest,
            ..leaf
        }]);
        true
    }

    fn rule(&mut self) {
        let name = self.new_name("r");
        let priority = match self.dice.chance(20) {
            true => format!("{} ", self.dice.between(0, 3)),
            false => String::new(),
        };
        let n_parts = *self.dice.one(&[1, 1, 2, 2, 2, 3, 4]);
        let parts: Vec<String> = (0..n_parts).map(|_| self.condition(2)).collect();
        let guard = match parts.len() {
            3.. if self.dice.chance(30) => {
                format!("{} & ({})", parts[0], parts[1..].join(" & "))
            }
            _ => parts.join(" & "),
        };
        let body = self.body();
        let _ = writeln!(
            self.text,
            "  rule {priority}\"{name}\" {guard} ==>\n    {body}\n  end;"
        );
    }

    /// A rule that puts messages into the multisets, where there are any.
    fn bag_rules(&mut self) {
        if self.data.bags.is_none() {
            return;
        }
        self.ruleset();
        if let Some(bag) = self.bag() {
            let guard = self.condition(1);
            let fields = self.data.message_leaves("e");
            let mut body = String::new();
            for field in fields {
                if let (Some(value), true) = (self.constant(field.ty), self.dice.chance(85)) {
                    let place = self.place(&field, false).expect("a field of a local");
                    let _ = write!(body, "{place} := {value}; ");
                }
            }
            let _ = writeln!(
                self.text,
                "  rule \"send\" {guard} & multisetcount(k: {bag}, true) < 2 ==>\n    \
                 var e: message; begin {body}multisetadd(e, {bag});\n  end;"
            );
        }
        self.text.push_str("end;\n");
        self.scope.values.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::model;

    #[test]
    fn a_model_is_a_function_of_its_seed() {
        assert_eq!(model(7), model(7));
        assert_ne!(model(7), model(8));
    }

    /// What the models are for is in them.
    #[test]
    fn every_construct_comes_up() {
        let texts: String = (0..200).map(model).collect();
        for word in [
            "scalarset",
            "union",
            "boolean",
            "record",
            "multiset [",
            "choose",
            "alias",
            "ruleset",
            " by -1",
            " by 2",
            "forall",
            "exists",
            "->",
            "isundefined",
            "undefine ",
            "ismember",
            "rule 1",
            "true",
            "false",
            "!",
            "!=",
            "<",
        ] {
            assert!(texts.contains(word), "no {word}");
        }
    }
}
