//! Properties that expose how elements were treated.

use std::fmt::Write;

use super::world::{Var, World};
use super::{Maker, Scope};

impl Maker {
    /// Mostly invariants about what was chosen, sometimes goals and assumptions.
    pub(super) fn properties(&mut self) -> String {
        let mut text = String::new();
        if self.world.contest.is_some() {
            let condition = self.fairness();
            let _ = writeln!(text, "invariant \"fair\" {condition};");
            if self.dice.chance(85) {
                return text;
            }
        }
        // Wild models meet more trouble anyway.
        let n_invariants: &[usize] = if self.innocent {
            &[0, 1, 1, 2]
        } else {
            &[0, 1]
        };
        for _ in 0..*self.dice.one(n_invariants) {
            let condition = self.invariant();
            let name = self.name("i");
            let _ = writeln!(text, "invariant \"{name}\" {condition};");
        }
        if self.dice.chance(12) {
            let condition = match self.innocent {
                true => self.any_function(),
                false => self.wild_function(),
            };
            let weak = self.condition(&Scope::default(), &[], 1);
            let _ = match (self.dice.between(0, 4), self.initial_condition()) {
                (4, Some(initial)) => writeln!(
                    text,
                    "assume \"limit\" {condition}() | ({weak}) | ({initial});"
                ),
                (0 | 1, _) => writeln!(text, "cover \"goal\" {condition}() | ({weak});"),
                _ => writeln!(text, "liveness \"goal\" {condition}() | ({weak});"),
            };
        }
        if self.dice.chance(8) && !self.has_chosen_start {
            let p = self.name("p");
            let condition = self.condition(&Scope::of(std::slice::from_ref(&p)), &[], 0);
            let word = *self.dice.one(&["cover", "liveness"]);
            let _ = writeln!(
                text,
                "ruleset {p}: Proc do {word} \"each\" {condition}; end;"
            );
        }
        text
    }

    /// Something that is true in the startstate, so that an assumption leaves something to search.
    fn initial_condition(&mut self) -> Option<String> {
        let p = self.name("p");
        let mut cells = self.cells().into_iter();
        let var = cells.find(|var| World::is_truth(*var) || World::is_number(*var))?;
        let place = World::cell(var, &p);
        let condition = match World::is_truth(var) {
            true => format!("!{place}"),
            false => format!("{place} = 0"),
        };
        (!self.has_chosen_start).then(|| format!("forall {p}: Proc do {condition} end"))
    }

    fn invariant(&mut self) -> String {
        for _ in 0..8 {
            let found = match self.dice.between(0, 9) {
                0..=2 => self.about_owner(),
                3 => self.about_list(),
                4 => self.about_net(),
                5 => self.about_pick(),
                6 => self.about_count(),
                7 if !self.innocent => {
                    let wild = self.wild_function();
                    let weak = self.condition(&Scope::default(), &[], 2);
                    Some(format!("{wild}() | ({weak})"))
                }
                8 => Some(self.about_all()),
                _ => None,
            };
            if let Some(condition) = found {
                return condition;
            }
        }
        self.about_all()
    }

    /// The right elements were chosen, by one of their parts.
    ///
    /// Representatives have their elements sorted, so that the first one has least and the last
    /// one most of what is declared first. Often that is what is asked for: it holds of every
    /// representative, and not of other states.
    fn fairness(&mut self) -> String {
        let mut cells = self.cells();
        cells.retain(|var| World::is_truth(*var) || World::is_number(*var));
        let Some(&first) = cells.first() else {
            return self.about_all();
        };
        let (var, wants_most) = match self.dice.chance(65) {
            true => (first, self.keeps_last),
            false => (*self.dice.one(&cells), self.dice.chance(50)),
        };
        let p = self.name("p");
        match self.world.contest {
            Some(Var::Owner) => {
                let condition = at_most(var, &p, "owner", wants_most);
                format!("isundefined(owner) | forall {p}: Proc do {condition} end")
            }
            Some(Var::List) => {
                let (i, j, top) = (self.name("i"), self.name("j"), self.world.n - 1);
                let (before, behind) = (format!("list[{i}]"), format!("list[{j}]"));
                let condition = at_most(var, &before, &behind, !wants_most);
                format!(
                    "forall {i}: 0..{top}; {j}: 0..{top} do {i} < {j} & {j} < len -> {condition} end"
                )
            }
            _ => {
                let i = self.name("i");
                let slot = self.world.element("net", &i);
                let condition = at_most(var, &p, &slot, wants_most);
                format!(
                    "forall {p}: Proc do multisetcount({i}: net, {slot} = {p}) > 0 | \
                     multisetcount({i}: net, !({condition})) = 0 end"
                )
            }
        }
    }

    /// The owner compared with the others.
    fn about_owner(&mut self) -> Option<String> {
        if !self.world.has(Var::Owner) {
            return None;
        }
        let mut cells = self.cells().into_iter();
        let number = cells.find(|var| World::is_number(*var));
        let condition = match number {
            Some(var) if self.dice.chance(60) => {
                let p = self.name("p");
                let (here, there) = (World::cell(var, "owner"), World::cell(var, &p));
                let compare = *self.dice.one(&["<=", ">="]);
                format!("forall {p}: Proc do {here} {compare} {there} end")
            }
            _ => {
                let scope = Scope::of(&["owner".to_owned()]);
                self.condition(&scope, &[], 1)
            }
        };
        let weak = self.weakening();
        Some(format!("isundefined(owner) | ({condition}){weak}"))
    }

    /// Something that makes an invariant hold more often.
    fn weakening(&mut self) -> String {
        match self.dice.chance(85) {
            true => {
                let condition = self.condition(&Scope::default(), &[], 2);
                format!(" | ({condition})")
            }
            false => String::new(),
        }
    }

    /// A list that was filled by a loop is sorted by something.
    fn about_list(&mut self) -> Option<String> {
        if !self.world.has(Var::List) {
            return None;
        }
        let mut cells = self.cells();
        cells.retain(|var| World::is_truth(*var) || World::is_number(*var));
        let (i, j, top) = (self.name("i"), self.name("j"), self.world.n - 1);
        let (before, behind) = (format!("list[{i}]"), format!("list[{j}]"));
        let var = *cells.first()?;
        let condition = at_most(var, &before, &behind, self.dice.chance(50));
        let weak = self.weakening();
        Some(format!(
            "(forall {i}: 0..{top}; {j}: 0..{top} do {i} < {j} & {j} < len -> {condition} end){weak}"
        ))
    }

    fn about_net(&mut self) -> Option<String> {
        if !self.world.has(Var::Net) {
            return None;
        }
        let i = self.name("i");
        let slot = self.world.element("net", &i);
        let condition = self.condition(&Scope::of(&[slot]), &[], 1);
        let most = self.dice.between(1, self.world.capacity);
        let weak = self.weakening();
        Some(format!(
            "multisetcount({i}: net, {condition}) <= {most}{weak}"
        ))
    }

    fn about_pick(&mut self) -> Option<String> {
        if !self.world.has(Var::Pick) {
            return None;
        }
        let scope = Scope {
            colours: vec!["pick".to_owned()],
            ..Scope::default()
        };
        let condition = self.condition(&scope, &[], 1);
        let weak = self.weakening();
        Some(format!("isundefined(pick) | ({condition}){weak}"))
    }

    fn about_count(&mut self) -> Option<String> {
        if !self.world.has(Var::Count) {
            return None;
        }
        let most = self.dice.between(1, self.world.n);
        let weak = self.weakening();
        Some(format!("n <= {most}{weak}"))
    }

    fn about_all(&mut self) -> String {
        let (p, q) = (self.name("p"), self.name("p"));
        let scope = Scope::of(&[p.clone(), q.clone()]);
        let (a, b) = (
            self.condition(&scope, &[], 1),
            self.condition(&scope, &[], 1),
        );
        let word = *self.dice.one(&["forall", "exists"]);
        let weak = self.weakening();
        format!("({word} {p}: Proc; {q}: Proc do ({a}) | ({b}) end){weak}")
    }
}

/// That one process has no more there than another one, or no less.
fn at_most(var: Var, one: &str, other: &str, is_most: bool) -> String {
    let (one, other) = (World::cell(var, one), World::cell(var, other));
    match (World::is_truth(var), is_most) {
        (true, true) => format!("({one} -> {other})"),
        (true, false) => format!("({other} -> {one})"),
        (false, true) => format!("{one} <= {other}"),
        (false, false) => format!("{one} >= {other}"),
    }
}
