//! Bodies of rules: a few fields change, so that many states are reached.

use super::Maker;
use super::data::{Domain, Leaf, Step};

impl Maker {
    pub(super) fn body(&mut self) -> String {
        let n = self.dice.between(1, 3);
        let mut statements: Vec<String> = (0..n).map(|_| self.change()).collect();
        if let Some((slot, bag)) = &self.scope.chosen
            && self.dice.chance(50)
        {
            // Behind it the element is gone, and whatever names it.
            statements.push(format!("multisetremove({slot}, {bag});"));
        }
        statements.join("\n    ")
    }

    /// A change of one leaf, or of all elements where none is in scope.
    fn change(&mut self) -> String {
        let leaf = self.leaf();
        match self.place(&leaf, false) {
            Some(place) if self.dice.chance(90) => self.change_of(&leaf, &place),
            _ => self.for_each_element(&leaf, &mut |maker, place| maker.change_of(&leaf, place)),
        }
    }

    fn change_of(&mut self, leaf: &Leaf, place: &str) -> String {
        let percent = if leaf.is_shaky { 25 } else { 1 };
        if self.dice.chance(percent) {
            return format!("undefine {place};");
        }
        let steps = match self.data.types[leaf.ty].domain {
            Domain::Range(lo, hi) => Some((lo, hi)),
            _ => None,
        };
        match (steps, self.dice.between(0, 3)) {
            (Some((lo, hi)), 0) if !leaf.is_shaky => {
                return format!(
                    "if {place} < {hi} then {place} := {place} + 1; else {place} := {lo}; end;"
                );
            }
            (_, 1) => {
                if let Some(from) = self.place(leaf, false) {
                    return format!("{place} := {from};");
                }
            }
            _ => {}
        }
        let value = match self.dice.chance(75) {
            true => self.constant(leaf.ty),
            false => None,
        };
        match value.or_else(|| self.value(leaf.ty, false)) {
            Some(value) => format!("{place} := {value};"),
            None => {
                let set = &self.data.types[leaf.ty].name;
                format!("for s: {set} do {place} := s; end;")
            }
        }
    }

    /// A statement for each element of the arrays that a leaf is in.
    pub(super) fn for_each_element(
        &mut self,
        leaf: &Leaf,
        statement: &mut dyn FnMut(&mut Self, &str) -> String,
    ) -> String {
        let mut place = leaf.name.clone();
        let (mut before, mut behind) = (String::new(), String::new());
        for step in &leaf.steps {
            match step {
                Step::Field(field) => place = format!("{place}.{field}"),
                Step::Index(ty) => {
                    let name = self.new_name("e");
                    let set = &self.data.types[*ty].name;
                    before = format!("{before}for {name}: {set} do ");
                    behind.push_str(" end;");
                    place = format!("{place}[{name}]");
                }
            }
        }
        let statement = statement(self, &place);
        format!("{before}{statement}{behind}")
    }
}
