//! Loops with any statements in any order, most of which do not commute.

use super::world::{Var, World};
use super::{Maker, Scope};

impl Maker {
    /// A loop over anything with anything inside.
    pub(super) fn soup_loop(&mut self, scope: &Scope) -> String {
        let p = self.name("p");
        let body = self.soup(&scope.with_own(&p), 2);
        format!("for {p}: Proc do {body} end;")
    }

    fn soup(&mut self, scope: &Scope, depth: u32) -> String {
        let n = *self.dice.one(&[1, 1, 2, 2, 3]);
        let statements: Vec<String> = (0..n).map(|_| self.soup_statement(scope, depth)).collect();
        statements.join(" ")
    }

    fn soup_statement(&mut self, scope: &Scope, depth: u32) -> String {
        let processes = scope.processes();
        let p = self.dice.one(&processes).clone();
        let cells = self.cells();
        let var = *self.dice.one(&cells);
        let place = World::cell(var, &p);
        match self.dice.between(0, 19) {
            0..=3 if depth > 0 => {
                let condition = self.condition(scope, &[], 1);
                let then = self.soup(scope, depth - 1);
                match self.dice.chance(30) {
                    true => {
                        let otherwise = self.soup(scope, depth - 1);
                        format!("if {condition} then {then} else {otherwise} end;")
                    }
                    false => format!("if {condition} then {then} end;"),
                }
            }
            4 if depth > 0 => {
                let q = self.name("p");
                let body = self.soup(&scope.with_own(&q), depth - 1);
                format!("for {q}: Proc do {body} end;")
            }
            5 if depth > 0 && self.world.n_colours > 0 => {
                let u = self.name("u");
                let body = self.soup(&scope.with_colour(&u), depth - 1);
                format!("for {u}: Colour do {body} end;")
            }
            6 if depth > 0 => {
                let m = self.name("m");
                let change = self.change(var, &m, scope, &[]);
                let body = self.soup(scope, depth - 1);
                format!("alias {m}: {place} do {body} {change} end;")
            }
            7 | 8 if self.world.has(Var::Owner) => match self.dice.chance(80) {
                true => format!("owner := {p};"),
                false => "undefine owner;".to_owned(),
            },
            9 if self.world.has(Var::Count) => match self.dice.chance(60) {
                true => format!("if n < {} then n := n + 1; end;", self.world.n),
                false => "if n > 0 then n := n - 1; end;".to_owned(),
            },
            10 if self.world.has(Var::Flag) => {
                format!("f := {};", self.condition(scope, &[], 1))
            }
            11 if self.world.has(Var::Pick) && !scope.colours.is_empty() => {
                format!("pick := {};", self.dice.one(&scope.colours))
            }
            12 if self.world.has(Var::List) => format!(
                "if len < {} then list[len] := {p}; len := len + 1; end;",
                self.world.n
            ),
            13 if self.world.has(Var::Net) => {
                let add = self.add_to_net(&p);
                format!(
                    "if multisetcount(i: net, true) < {} then {add} end;",
                    self.world.capacity
                )
            }
            14 if World::is_truth(var) => {
                let setter = self.setter();
                format!("{setter}({place}, {});", self.condition(scope, &[], 1))
            }
            15 if self.dice.chance(40) => {
                let condition = self.condition(scope, &[], 1);
                format!("if {condition} then return; end;")
            }
            16 if self.dice.chance(30) => format!("assume {};", self.condition(scope, &[], 1)),
            17 if self.dice.chance(15) => {
                let inner = scope.with_own(&p);
                self.fault(&inner).unwrap_or_default()
            }
            18 if self.world.has(Var::At) => format!("at[{p}] := !at[Memory];"),
            _ => self.change(var, &place, scope, &[]),
        }
    }
}
