//! Conditions that cannot fault, with what they read.

use super::world::{Var, World};
use super::{Maker, Scope};

/// A simple condition.
struct Atom {
    text: String,
    /// What it reads, and whether of the own element only.
    reads: Vec<(Var, bool)>,
}

impl Maker {
    /// A condition. Of `written` it reads the own element's at most, so that a pass that writes its
    /// own element's part does not change what other passes see.
    pub(super) fn condition(&mut self, scope: &Scope, written: &[Var], depth: u32) -> String {
        if depth > 0 && self.dice.chance(35) {
            let a = self.condition(scope, written, depth - 1);
            let b = self.condition(scope, written, depth - 1);
            return match self.dice.between(0, 4) {
                0 | 1 => format!("({a} & {b})"),
                2 => format!("({a} | {b})"),
                3 => format!("({a} -> {b})"),
                _ => format!("!({a})"),
            };
        }
        let mut atoms = self.atoms(scope);
        atoms.retain(|atom| {
            let mut reads = atom.reads.iter();
            reads.all(|(var, is_own)| *is_own || !written.contains(var))
        });
        // Conditions on elements in scope reveal more than those on all.
        let n_near = atoms.iter().filter(|atom| is_near(atom, scope)).count();
        if n_near > 0 && self.dice.chance(75) {
            atoms.retain(|atom| is_near(atom, scope));
        }
        if atoms.is_empty() {
            return "true".to_owned();
        }
        let chosen = self.dice.between(0, atoms.len() - 1);
        let text = atoms.swap_remove(chosen).text;
        match self.dice.chance(30) {
            true => format!("!({text})"),
            false => text,
        }
    }

    fn atoms(&mut self, scope: &Scope) -> Vec<Atom> {
        let mut atoms = Vec::new();
        for process in scope.processes() {
            let is_own = scope.own.as_ref() == Some(&process);
            self.atoms_of(&process, is_own, scope, &mut atoms);
        }
        for colour in &scope.colours {
            if self.world.has(Var::Shade) {
                push(
                    &mut atoms,
                    format!("shade[{colour}]"),
                    [(Var::Shade, false)],
                );
            }
            if self.world.has(Var::Pick) {
                let text = format!("(!isundefined(pick) & pick = {colour})");
                push(&mut atoms, text, [(Var::Pick, false)]);
            }
        }
        self.global_atoms(&mut atoms);
        atoms
    }

    /// A condition on one process.
    fn atoms_of(&mut self, p: &str, is_own: bool, scope: &Scope, atoms: &mut Vec<Atom>) {
        for var in self.cells() {
            let place = World::cell(var, p);
            match var {
                Var::A | Var::B | Var::Hot => push(atoms, place, [(var, is_own)]),
                Var::C | Var::Level => {
                    let least = self.dice.between(1, World::top(var));
                    push(atoms, format!("{place} >= {least}"), [(var, is_own)]);
                    for q in scope.processes().iter().filter(|q| *q != p) {
                        let other = World::cell(var, q);
                        let is_own_too = scope.own.as_ref() == Some(q);
                        let reads = [(var, is_own), (var, is_own_too)];
                        push(atoms, format!("{place} > {other}"), reads);
                    }
                }
                Var::Link => {
                    push(atoms, format!("isundefined({place})"), [(var, is_own)]);
                    for q in scope.processes() {
                        let text = format!("(!isundefined({place}) & {place} = {q})");
                        push(atoms, text, [(var, is_own)]);
                    }
                    for seen in self.cells().into_iter().filter(|it| World::is_truth(*it)) {
                        let there = World::cell(seen, &place);
                        let text = format!("(!isundefined({place}) & {there})");
                        push(atoms, text, [(var, is_own), (seen, false)]);
                    }
                }
                _ => {
                    push(atoms, format!("isundefined({place})"), [(var, is_own)]);
                    for u in &scope.colours {
                        let text = format!("(!isundefined({place}) & {place} = {u})");
                        push(atoms, text, [(var, is_own)]);
                    }
                    if self.world.has(Var::Shade) {
                        let text = format!("(!isundefined({place}) & shade[{place}])");
                        push(atoms, text, [(var, is_own), (Var::Shade, false)]);
                    }
                }
            }
        }
        for q in scope.processes().iter().filter(|q| *q != p) {
            push(atoms, format!("{p} != {q}"), []);
        }
        if self.world.has(Var::Owner) {
            let text = format!("(!isundefined(owner) & owner = {p})");
            push(atoms, text, [(Var::Owner, false)]);
        }
        if self.world.has(Var::Net) {
            let slot = self.world.element("net", "i");
            let text = format!("multisetcount(i: net, {slot} = {p}) > 0");
            push(atoms, text, [(Var::Net, false)]);
        }
        if self.world.has(Var::At) {
            push(atoms, format!("at[{p}]"), [(Var::At, is_own)]);
        }
    }

    /// A condition on the whole state.
    fn global_atoms(&mut self, atoms: &mut Vec<Atom>) {
        let n = self.world.n;
        let cells = self.cells();
        if let Some(&var) = (!cells.is_empty()).then(|| self.dice.one(&cells)) {
            let e = self.name("e");
            let place = World::cell(var, &e);
            let condition = match var {
                Var::A | Var::B | Var::Hot => place,
                Var::C | Var::Level => format!("{place} >= {}", World::top(var)),
                _ => format!("!isundefined({place})"),
            };
            let word = *self.dice.one(&["forall", "exists"]);
            let text = format!("({word} {e}: Proc do {condition} end)");
            push(atoms, text, [(var, false)]);
        }
        if self.world.has(Var::Owner) {
            push(
                atoms,
                "isundefined(owner)".to_owned(),
                [(Var::Owner, false)],
            );
            if let Some(&var) = cells.iter().find(|var| World::is_truth(**var)) {
                let place = World::cell(var, "owner");
                let text = format!("(!isundefined(owner) & {place})");
                push(atoms, text, [(Var::Owner, false), (var, false)]);
            }
        }
        if self.world.has(Var::Pick) {
            push(atoms, "isundefined(pick)".to_owned(), [(Var::Pick, false)]);
        }
        if self.world.has(Var::Count) {
            let least = self.dice.between(1, n);
            push(atoms, format!("n >= {least}"), [(Var::Count, false)]);
        }
        if self.world.has(Var::Flag) {
            push(atoms, "f".to_owned(), [(Var::Flag, false)]);
        }
        if self.world.has(Var::Net) {
            let least = self.dice.between(1, self.world.capacity);
            let text = format!("multisetcount(i: net, true) >= {least}");
            push(atoms, text, [(Var::Net, false)]);
        }
        if self.world.has(Var::List) {
            let least = self.dice.between(1, n);
            push(atoms, format!("len >= {least}"), [(Var::List, false)]);
        }
        if self.world.has(Var::At) {
            push(atoms, "at[Memory]".to_owned(), [(Var::At, false)]);
        }
    }
}

fn push<const N: usize>(atoms: &mut Vec<Atom>, text: String, reads: [(Var, bool); N]) {
    let reads = reads.to_vec();
    atoms.push(Atom { text, reads });
}

/// Whether a condition mentions the own element, or the last one that came into scope.
fn is_near(atom: &Atom, scope: &Scope) -> bool {
    let near = scope.own.as_ref().or(scope.others.last());
    near.is_some_and(|near| {
        let mut words = atom.text.split(|letter: char| !letter.is_alphanumeric());
        words.any(|word| word == near)
    })
}
