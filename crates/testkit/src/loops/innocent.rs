//! Patterns that do not depend on the order of passes.

use std::fmt::Write;

use super::world::{Var, World};
use super::{Maker, Scope};

impl Maker {
    /// Statements with loops whose passes may come in any order.
    pub(super) fn innocent_block(&mut self, scope: &Scope) -> String {
        if scope.others.len() > 1
            && self.dice.chance(20)
            && let Some(block) = self.two_own_winners(scope)
        {
            return block;
        }
        for _ in 0..20 {
            // Few models have a union at all.
            let kind = match self.world.has(Var::At) && self.dice.chance(20) {
                true => *self.dice.one(&[14, 32]),
                false => self.dice.between(0, 33),
            };
            let found = match kind {
                0..=4 => Some(self.own_loop(scope)),
                5 => self.counting(scope),
                6 => self.flag_rises(scope),
                7 => self.extreme(scope),
                8 => self.constant_returned(scope),
                9 => self.constants_from_pairs(scope),
                10 => self.broadcast(scope),
                11 => self.removal(scope),
                12 => self.parity(scope),
                13 => Some(self.judged(scope)),
                14 => self.union_loop(scope),
                15 => self.counter_of_own(scope),
                16 => self.colours(scope),
                17 => self.quantified(scope),
                18 => self.spread_from_copy(scope),
                19 => self.sum_of_signs(scope),
                20 => self.count_in_state(scope),
                21 => self.counted_by_function(scope),
                22 => self.scratch_record(scope),
                23 => self.scratch_array(scope),
                24 => self.result_by_reference(scope),
                25 => self.own_wiped(scope),
                26 => self.recursion(scope),
                27 => self.unique_winner(scope),
                28 => self.two_own_winners(scope),
                29 | 30 => self.filtered_extreme(scope),
                31 => self.three_operands(scope),
                32 => self.union_sum(scope),
                _ => self.writes_foreign_cells(scope),
            };
            if let Some(block) = found {
                return block;
            }
        }
        self.own_loop(scope)
    }

    /// Each pass reads and writes its own element's parts.
    fn own_loop(&mut self, scope: &Scope) -> String {
        let cells = self.cells();
        let mut written = vec![*self.dice.one(&cells)];
        if self.dice.chance(50) {
            written.push(*self.dice.one(&cells));
        }
        let p = self.name("p");
        let inner = scope.with_own(&p);
        let body: Vec<String> = (0..self.dice.between(1, 2))
            .map(|_| self.own_statement(&inner, &written, 2))
            .collect();
        format!("for {p}: Proc do {} end;", body.join(" "))
    }

    /// A statement that writes parts of the own element only.
    pub(super) fn own_statement(&mut self, scope: &Scope, written: &[Var], depth: u32) -> String {
        let Some(p) = scope.own.clone() else {
            return String::new();
        };
        let var = *self.dice.one(written);
        let place = World::cell(var, &p);
        if depth > 0 {
            match self.dice.between(0, 9) {
                0 | 1 => {
                    let condition = self.condition(scope, written, 1);
                    let then = self.own_statement(scope, written, depth - 1);
                    let otherwise = match self.dice.chance(40) {
                        true => {
                            format!("else {}", self.own_statement(scope, written, depth - 1))
                        }
                        false => String::new(),
                    };
                    return format!("if {condition} then {then} {otherwise} end;");
                }
                2 => {
                    let (alias, condition) = (self.name("m"), self.condition(scope, written, 0));
                    let change = self.change(var, &alias, scope, written);
                    return format!(
                        "alias {alias}: {place} do if {condition} then {change} end; end;"
                    );
                }
                3 if World::is_truth(var) => {
                    let procedure = self.setter();
                    let condition = self.condition(scope, written, 1);
                    return format!("{procedure}({place}, {condition});");
                }
                4 if World::is_truth(var) => {
                    // A local that every pass writes before it reads it.
                    let (t, condition) = (self.local("boolean"), self.condition(scope, written, 0));
                    return format!(
                        "{t} := {place}; {place} := {condition}; if {t} then {place} := true; end;"
                    );
                }
                5 if World::is_number(var) => {
                    let (t, ty) = (self.local(World::cell_type(var)), World::top(var));
                    return format!(
                        "{t} := {place}; {place} := 0; while {t} < {ty} do {t} := {t} + 1; \
                         {place} := {place} + 1; end;"
                    );
                }
                6 => {
                    let q = self.name("p");
                    // Passes of the inner loop write one constant.
                    let condition = self.condition(&scope.with_other(&q), written, 1);
                    if let Some(constant) = self.constant(var) {
                        return format!(
                            "for {q}: Proc do if {condition} then {place} := {constant}; end; end;"
                        );
                    }
                }
                _ => {}
            }
        }
        self.change(var, &place, scope, written)
    }

    /// A change of a cell, which has the name `place` here.
    pub(super) fn change(
        &mut self,
        var: Var,
        place: &str,
        scope: &Scope,
        written: &[Var],
    ) -> String {
        match var {
            Var::A | Var::B | Var::Hot => match self.dice.between(0, 3) {
                0 => format!("{place} := !{place};"),
                1 => format!("{place} := {};", self.dice.chance(50)),
                _ => format!("{place} := {};", self.condition(scope, written, 1)),
            },
            Var::C | Var::Level => {
                let top = World::top(var);
                match self.dice.between(0, 3) {
                    0 => format!("{place} := {};", self.dice.between(0, top)),
                    1 => format!("{place} := ({place} + 1) % {};", top + 1),
                    2 => format!("if {place} > 0 then {place} := {place} - 1; end;"),
                    _ => format!("if {place} < {top} then {place} := {place} + 1; end;"),
                }
            }
            Var::Link => match (scope.processes(), self.dice.chance(60)) {
                (processes, true) if !processes.is_empty() => {
                    format!("{place} := {};", self.dice.one(&processes))
                }
                _ => format!("undefine {place};"),
            },
            _ => match (scope.colours.is_empty(), self.world.has(Var::Pick)) {
                (false, _) if self.dice.chance(70) => {
                    format!("{place} := {};", self.dice.one(&scope.colours))
                }
                (_, true) if self.dice.chance(50) => format!("{place} := pick;"),
                _ => format!("undefine {place};"),
            },
        }
    }

    fn constant(&mut self, var: Var) -> Option<String> {
        match var {
            _ if World::is_truth(var) => Some(self.dice.chance(50).to_string()),
            _ if World::is_number(var) => Some(self.dice.between(0, World::top(var)).to_string()),
            _ => None,
        }
    }

    /// A procedure that writes through a `var` parameter.
    pub(super) fn setter(&mut self) -> String {
        let name = self.name("set");
        let body = *self.dice.one(&[
            "x := y;",
            "if y then x := !x; end;",
            "x := x | y;",
            "x := x & y;",
        ]);
        let _ = writeln!(
            self.functions,
            "procedure {name}(var x: boolean; y: boolean); begin {body} end;"
        );
        name
    }

    /// A change of the state outside of loops, which is as good for one element as for another.
    pub(super) fn global_change(&mut self, scope: &Scope) -> String {
        let mut changes = Vec::new();
        if self.world.has(Var::Flag) {
            changes.push("f := !f;".to_owned());
        }
        if self.world.has(Var::Owner) {
            changes.push("undefine owner;".to_owned());
            if let Some(q) = scope.others.first() {
                changes.push(format!("owner := {q};"));
                changes.push(format!("owner := {q};"));
            }
        }
        if self.world.has(Var::Count) {
            changes.push(format!("if n < {} then n := n + 1; end;", self.world.n));
        }
        if let Some(q) = scope.others.first() {
            for var in self.cells() {
                let place = World::cell(var, q);
                changes.push(self.change(var, &place, scope, &[]));
            }
        }
        match changes.is_empty() {
            true => self.own_loop(scope),
            false => self.dice.one(&changes).clone(),
        }
    }

    fn counting(&mut self, scope: &Scope) -> Option<String> {
        let k = self.local(&format!("0..{}", self.world.n));
        let p = self.name("p");
        let condition = self.condition(&scope.with_own(&p), &[], 1);
        let least = self.dice.between(1, self.world.n);
        let then = self.global_change(scope);
        Some(format!(
            "{k} := 0; for {p}: Proc do if {condition} then {k} := {k} + 1; end; end;\n  \
             if {k} >= {least} then {then} end;"
        ))
    }

    fn flag_rises(&mut self, scope: &Scope) -> Option<String> {
        let p = self.name("p");
        let (flag, written) = match self.world.has(Var::Flag) && self.dice.chance(50) {
            true => ("f".to_owned(), vec![Var::Flag]),
            false => (self.local("boolean"), Vec::new()),
        };
        let condition = self.condition(&scope.with_own(&p), &written, 1);
        let then = self.global_change(scope);
        Some(match self.dice.between(0, 2) {
            0 => format!(
                "{flag} := false; for {p}: Proc do if {condition} then {flag} := true; end; end; \
                 if {flag} then {then} end;"
            ),
            1 => format!(
                "{flag} := true; for {p}: Proc do {flag} := {flag} & {condition}; end; \
                 if {flag} then {then} end;"
            ),
            _ => format!(
                "{flag} := false; for {p}: Proc do {flag} := {flag} | {condition}; end; \
                 if !{flag} then {then} end;"
            ),
        })
    }

    fn extreme(&mut self, scope: &Scope) -> Option<String> {
        let mut cells = self.cells().into_iter();
        let var = cells.find(|var| World::is_number(*var))?;
        let (m, p, top) = (self.local("Small"), self.name("p"), World::top(var));
        let place = World::cell(var, &p);
        let then = self.global_change(scope);
        Some(match self.dice.chance(50) {
            true => format!(
                "{m} := 0; for {p}: Proc do if {place} > {m} then {m} := {place}; end; end; \
                 if {m} = {top} then {then} end;"
            ),
            false => format!(
                "{m} := {top}; for {p}: Proc do if {place} < {m} then {m} := {place}; end; end; \
                 if {m} > 0 then {then} end;"
            ),
        })
    }

    /// A function that returns the same from within the loop, whatever the pass.
    fn constant_returned(&mut self, scope: &Scope) -> Option<String> {
        let name = self.any_function();
        let then = self.global_change(scope);
        Some(format!("if {name}() then {then} end;"))
    }

    /// The name of a function without parameters that returns whether some element is so.
    pub(super) fn any_function(&mut self) -> String {
        let (name, p) = (self.name("any"), self.name("p"));
        let condition = self.condition(&Scope::default().with_own(&p), &[], 1);
        let found = self.dice.chance(50);
        let _ = writeln!(
            self.functions,
            "function {name}(): boolean; begin for {p}: Proc do if {condition} then \
             return {found}; end; end; return {}; end;",
            !found
        );
        name
    }

    /// Two nested loops set a constant where neither of them reads.
    fn constants_from_pairs(&mut self, scope: &Scope) -> Option<String> {
        let var = *self.dice.one(&self.cells());
        let constant = self.constant(var)?;
        let (p, q) = (self.name("p"), self.name("p"));
        let inner = scope.with_other(&p).with_other(&q);
        let condition = self.condition(&inner, &[var], 2);
        let (place, mirror) = (World::cell(var, &p), World::cell(var, &q));
        let more = match self.dice.chance(40) {
            true => format!("{mirror} := {constant};"),
            false => String::new(),
        };
        let head = match self.dice.chance(50) {
            true => format!("for {p}: Proc; {q}: Proc do"),
            false => format!("for {p}: Proc do for {q}: Proc do"),
        };
        let end = if head.matches("do").count() == 2 {
            " end;"
        } else {
            ""
        };
        Some(format!(
            "{head} if {condition} then {place} := {constant}; {more} end; end;{end}"
        ))
    }

    /// A message for each of some elements, where there is room for all.
    fn broadcast(&mut self, scope: &Scope) -> Option<String> {
        if !self.world.has(Var::Net) || self.world.capacity < self.world.n {
            return None;
        }
        let p = self.name("p");
        let condition = self.condition(&scope.with_own(&p), &[Var::Net], 1);
        let add = self.add_to_net(&p);
        Some(format!(
            "if multisetcount(i: net, true) = 0 then for {p}: Proc do if {condition} then {add} \
             end; end; end;"
        ))
    }

    fn removal(&mut self, scope: &Scope) -> Option<String> {
        if !self.world.has(Var::Net) {
            return None;
        }
        let i = self.name("i");
        let inner = scope.with_own(&self.world.element("net", &i));
        let condition = self.condition(&inner, &[Var::Net], 1);
        Some(format!("multisetremovepred({i}: net, {condition});"))
    }

    fn parity(&mut self, scope: &Scope) -> Option<String> {
        let p = self.name("p");
        let (flag, written, begin) = match self.world.has(Var::Flag) {
            true => ("f".to_owned(), vec![Var::Flag], String::new()),
            false => {
                let t = self.local("boolean");
                let begin = format!("{t} := false; ");
                (t, Vec::new(), begin)
            }
        };
        let condition = self.condition(&scope.with_own(&p), &written, 1);
        let then = self.global_change(scope);
        Some(format!(
            "{begin}for {p}: Proc do if {condition} then {flag} := !{flag}; end; end; \
             if {flag} then {then} end;"
        ))
    }

    /// Passes that only ask, all of them in the same way: a fault in one is a fault in all orders.
    fn judged(&mut self, scope: &Scope) -> String {
        let p = self.name("p");
        let inner = scope.with_own(&p);
        let condition = self.condition(&inner, &[], 1);
        let weak = self.condition(&inner, &[], 1);
        let kind = self.dice.between(0, 5);
        let statement = match kind {
            0 => format!("assert ({condition}) | ({weak}) \"judged\";"),
            1 | 2 => format!("assume ({condition}) | ({weak});"),
            3 => format!("put {condition};"),
            _ => format!("cover ({condition}) | ({weak}) | true;"),
        };
        let then = self.global_change(scope);
        format!("for {p}: Proc do {statement} end; {then}")
    }

    /// Each pass counts others into its own cell.
    fn counter_of_own(&mut self, scope: &Scope) -> Option<String> {
        let mut cells = self.cells().into_iter();
        let var = cells.find(|var| World::is_number(*var))?;
        let (p, q) = (self.name("p"), self.name("p"));
        let inner = scope.with_other(&p).with_other(&q);
        let condition = self.condition(&inner, &[var], 1);
        let (place, top) = (World::cell(var, &p), World::top(var));
        Some(format!(
            "for {p}: Proc do {place} := 0; for {q}: Proc do if {place} < {top} & {condition} then \
             {place} := {place} + 1; end; end; end;"
        ))
    }

    /// Loops over colours, alone and inside one over processes.
    fn colours(&mut self, scope: &Scope) -> Option<String> {
        if !self.world.has(Var::Shade) {
            return None;
        }
        let u = self.name("u");
        if self.world.has(Var::Colour) && self.dice.chance(60) {
            let p = self.name("p");
            let inner = scope.with_other(&p).with_colour(&u);
            let condition = self.condition(&inner, &[Var::Shade], 1);
            let constant = self.dice.chance(50);
            return Some(format!(
                "for {p}: Proc do for {u}: Colour do if {condition} then shade[{u}] := {constant}; \
                 end; end; end;"
            ));
        }
        let condition = self.condition(&scope.with_colour(&u), &[Var::Shade], 1);
        Some(format!(
            "for {u}: Colour do shade[{u}] := {condition}; end;"
        ))
    }

    fn quantified(&mut self, scope: &Scope) -> Option<String> {
        let (p, q) = (self.name("p"), self.name("p"));
        let inner = scope.with_other(&p).with_other(&q);
        let condition = self.condition(&inner, &[], 2);
        let first = *self.dice.one(&["forall", "exists"]);
        let second = *self.dice.one(&["forall", "exists"]);
        let then = self.global_change(scope);
        Some(format!(
            "if {first} {p}: Proc do {second} {q}: Proc do {condition} end end then {then} end;"
        ))
    }

    /// All passes read a copy that was made in front of the loop.
    fn spread_from_copy(&mut self, scope: &Scope) -> Option<String> {
        if !self.world.has(Var::A) {
            return None;
        }
        let old = self.local("Flags");
        let (p, q) = (self.name("p"), self.name("p"));
        let inner = scope.with_other(&p).with_other(&q);
        let condition = self.condition(&inner, &[Var::A], 1);
        Some(format!(
            "{old} := a; for {p}: Proc do for {q}: Proc do if {old}[{q}] & {condition} then \
             a[{p}] := true; end; end; end;"
        ))
    }

    /// Sums up and down, with room for all sums on the way.
    fn sum_of_signs(&mut self, scope: &Scope) -> Option<String> {
        let n = self.world.n;
        let s = self.local(&format!("-{n}..{n}"));
        let p = self.name("p");
        let condition = self.condition(&scope.with_own(&p), &[], 1);
        let then = self.global_change(scope);
        Some(format!(
            "{s} := 0; for {p}: Proc do if {condition} then {s} := {s} + 1; else {s} := {s} - 1; \
             end; end; if {s} > 0 then {then} end;"
        ))
    }

    fn count_in_state(&mut self, scope: &Scope) -> Option<String> {
        if !self.world.has(Var::Count) {
            return None;
        }
        let p = self.name("p");
        let condition = self.condition(&scope.with_own(&p), &[Var::Count], 1);
        Some(format!(
            "n := 0; for {p}: Proc do if {condition} then n := n + 1; end; end;"
        ))
    }

    /// Each pass calls a function that counts in locals of its own.
    fn counted_by_function(&mut self, scope: &Scope) -> Option<String> {
        let var = self.cells().into_iter().find(|var| World::is_truth(*var))?;
        let (name, n) = (self.name("count"), self.world.n);
        let (me, q, p) = (self.name("q"), self.name("p"), self.name("p"));
        let inner = Scope::of(std::slice::from_ref(&me)).with_other(&q);
        let condition = self.condition(&inner, &[var], 1);
        let _ = writeln!(
            self.functions,
            "function {name}({me}: Proc): 0..{n}; var k: 0..{n}; begin k := 0; for {q}: Proc do \
             if {condition} then k := k + 1; end; end; return k; end;"
        );
        let place = World::cell(var, &p);
        let least = self.dice.between(1, n);
        let outside = self.condition(&scope.with_own(&p), &[var], 0);
        Some(format!(
            "for {p}: Proc do if {outside} then {place} := {name}({p}) >= {least}; end; end;"
        ))
    }

    /// Passes set one constant in cells of others, or add to them modulo their range.
    fn writes_foreign_cells(&mut self, scope: &Scope) -> Option<String> {
        if !self.world.has(Var::Link) {
            return None;
        }
        let var = *self.dice.one(&self.cells());
        let p = self.name("p");
        let there = World::cell(var, &format!("link[{p}]"));
        let statement = match var {
            _ if World::is_truth(var) && self.dice.chance(50) => format!("{there} := !{there};"),
            _ if World::is_number(var) && self.dice.chance(50) => {
                format!("{there} := ({there} + 1) % {};", World::top(var) + 1)
            }
            _ => format!("{there} := {};", self.constant(var)?),
        };
        // What any element has may be written by another pass.
        let condition = self.condition(&scope.with_other(&p), &[var], 0);
        Some(format!(
            "for {p}: Proc do if !isundefined(link[{p}]) & {condition} then {statement} end; end;"
        ))
    }
}
