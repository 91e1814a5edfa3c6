//! Patterns that depend on the order of passes, as a rule.

use std::fmt::Write;

use super::world::{Var, World};
use super::{Maker, Scope};

impl Maker {
    /// Statements with loops whose passes had better not be exchanged.
    pub(super) fn wild_block(&mut self, scope: &Scope) -> String {
        if scope.others.len() > 1
            && self.dice.chance(35)
            && let Some(block) = self.two_winners(scope)
        {
            return block;
        }
        if self.world.contest.is_some() {
            return self.choice(scope);
        }
        for _ in 0..30 {
            // Few models have a union at all.
            let kind = match self.world.has(Var::At) && self.dice.chance(25) {
                true => *self.dice.one(&[21, 35]),
                false => self.dice.between(0, 40),
            };
            let found = match kind {
                0..=2 => self.last_stays(scope),
                3 | 4 => self.first_match(scope),
                5 => Some(self.procedure_returns(scope)),
                6 => self.list_is_filled(scope),
                7 => self.bag_with_bound(scope),
                8 => self.spread_in_place(scope),
                9 => self.budget(scope),
                10 => self.counter_wavers(scope),
                11 => self.noted_by_reference(scope),
                12 | 13 => self.faults_and_returns(scope),
                14 | 36 => self.removal_counts(scope),
                15 => self.stale_slots(),
                16 => self.writing_quantifier(scope),
                17 => self.last_local(scope),
                18 => self.best_so_far(scope),
                19 => self.carried(scope),
                20 => self.picked_colour(scope),
                21 => self.union_last(scope),
                22 => self.judged_by_function(scope),
                23 | 24 => self.kept_field(scope),
                25 => self.kept_data(scope),
                26 => self.shared_array(scope),
                27 | 28 => self.first_by_reference(scope),
                29 => self.wiped_and_read(scope),
                30 => self.claimed_in_condition(scope),
                31 => self.recursion_in_loop(scope),
                32 => self.two_winners(scope),
                33 => self.extreme_element(scope),
                34 => self.mixed_operands(scope),
                35 => self.union_first(scope),
                _ => Some(self.soup_loop(scope)),
            };
            if let Some(block) = found {
                return block;
            }
        }
        self.soup_loop(scope)
    }

    /// Chooses elements for what the model is about.
    fn choice(&mut self, scope: &Scope) -> String {
        for _ in 0..30 {
            let found = match self.dice.between(0, 18) {
                0 | 1 => self.last_stays(scope),
                2 => self.first_match(scope),
                3 => self.noted_by_reference(scope),
                4 => self.best_so_far(scope),
                5 | 6 => self.list_is_filled(scope),
                7 | 8 => self.bag_with_bound(scope),
                9 | 10 => self.kept_field(scope),
                11 => self.shared_array(scope),
                12 | 13 => self.first_by_reference(scope),
                14 => self.claimed_in_condition(scope),
                15 => self.recursion_in_loop(scope),
                16 => self.extreme_element(scope),
                17 => self.two_winners(scope),
                _ => Some(self.soup_loop(scope)),
            };
            // What does not write the target chooses nothing.
            let is_choice = |block: &String| {
                let writes = ["owner :=", "owner,", "o :=", "list[len] :=", "multisetadd"];
                // Procedures that write the owner where there is one.
                let calls = ["(owner)", "win", "deep"];
                writes
                    .iter()
                    .chain(&calls)
                    .any(|write| block.contains(write))
            };
            if let Some(block) = found.filter(is_choice) {
                return block;
            }
        }
        self.soup_loop(scope)
    }

    /// What conditions of a choice had better not read, since it is the same for all elements.
    pub(super) fn target(&self) -> Vec<Var> {
        self.world.contest.into_iter().collect()
    }

    /// The last element that is so stays.
    fn last_stays(&mut self, scope: &Scope) -> Option<String> {
        let target = self.target();
        if !self.world.has(Var::Owner) {
            return None;
        }
        let p = self.name("p");
        let condition = self.condition(&scope.with_own(&p), &target, 1);
        let variant = self.dice.between(0, 3);
        self.keeps_last = variant < 3;
        Some(match variant {
            0 => format!("for {p}: Proc do owner := {p}; end;"),
            1 => format!("for {p}: Proc do if {condition} then owner := {p}; end; end;"),
            2 => format!(
                "alias o: owner do for {p}: Proc do if {condition} then o := {p}; end; end; end;"
            ),
            _ => format!(
                "for {p}: Proc do if isundefined(owner) & {condition} then owner := {p}; end; end;"
            ),
        })
    }

    fn first_match(&mut self, scope: &Scope) -> Option<String> {
        self.keeps_last = false;
        let target = self.target();
        let (name, p) = (self.name("first"), self.name("p"));
        let condition = self.condition(&Scope::default().with_own(&p), &target, 1);
        let _ = writeln!(
            self.functions,
            "function {name}(): Proc; begin for {p}: Proc do if {condition} then return {p}; end; \
             end; return undefined; end;"
        );
        if self.world.has(Var::Owner) {
            return Some(format!("owner := {name}();"));
        }
        let t = self.local("Proc");
        let cells = self.cells();
        let var = *self.dice.one(&cells);
        let place = World::cell(var, &t);
        let change = self.change(var, &place, scope, &[]);
        Some(format!(
            "{t} := {name}(); if !isundefined({t}) then {change} end;"
        ))
    }

    /// A procedure changes elements until it returns.
    fn procedure_returns(&mut self, scope: &Scope) -> String {
        let (name, p) = (self.name("until"), self.name("p"));
        let inner = Scope::default().with_own(&p);
        let cells = self.cells();
        let (body, locals) = self.with_locals(|maker| {
            let change = maker.own_statement(&inner, &cells, 1);
            let condition = maker.condition(&inner, &[], 1);
            let covered = match maker.dice.chance(15) {
                true => "cover true;",
                false => "",
            };
            match maker.dice.chance(50) {
                true => format!("{change} if {condition} then return; end; {covered}"),
                false => format!("if {condition} then {change} return; end; {covered}"),
            }
        });
        let _ = writeln!(
            self.functions,
            "procedure {name}(); {locals} for {p}: Proc do {body} end; end;"
        );
        let guard = self.condition(scope, &[], 0);
        format!("if {guard} then {name}(); end;")
    }

    /// Elements are numbered in the order of the loop.
    fn list_is_filled(&mut self, scope: &Scope) -> Option<String> {
        let target = self.target();
        if !self.world.has(Var::List) {
            return None;
        }
        let p = self.name("p");
        let condition = self.condition(&scope.with_own(&p), &target, 1);
        Some(format!(
            "undefine list; len := 0; for {p}: Proc do if {condition} then list[len] := {p}; \
             len := len + 1; end; end;"
        ))
    }

    fn bag_with_bound(&mut self, scope: &Scope) -> Option<String> {
        self.keeps_last = false;
        let target = self.target();
        if !self.world.has(Var::Net) {
            return None;
        }
        let p = self.name("p");
        let condition = self.condition(&scope.with_own(&p), &target, 1);
        let add = self.add_to_net(&p);
        let room = self.dice.between(1, self.world.capacity);
        Some(format!(
            "for {p}: Proc do if multisetcount(i: net, true) < {room} & {condition} then {add} \
             end; end;"
        ))
    }

    /// Passes see what earlier ones wrote to other elements.
    fn spread_in_place(&mut self, scope: &Scope) -> Option<String> {
        let var = self.cells().into_iter().find(|var| World::is_truth(*var))?;
        let (p, q) = (self.name("p"), self.name("p"));
        let inner = scope.with_own(&p).with_other(&q);
        let condition = self.condition(&inner, &[], 1);
        let (here, there) = (World::cell(var, &p), World::cell(var, &q));
        let word = *self.dice.one(&["forall", "exists"]);
        Some(format!(
            "for {p}: Proc do {here} := {word} {q}: Proc do {q} != {p} & ({there} = ({condition})) \
             end; end;"
        ))
    }

    fn budget(&mut self, scope: &Scope) -> Option<String> {
        let cells = self.cells();
        let var = *self.dice.one(&cells);
        let p = self.name("p");
        let inner = scope.with_own(&p);
        let condition = self.condition(&inner, &[], 1);
        let change = self.change(var, &World::cell(var, &p), &inner, &[]);
        let n = self.dice.between(1, self.world.n - 1);
        let k = self.local(&format!("0..{}", self.world.n));
        let repeat = self.dice.chance(25);
        let pass = format!(
            "for {p}: Proc do if {k} > 0 & {condition} then {k} := {k} - 1; {change} end; end;"
        );
        Some(match repeat {
            false => format!("{k} := {n}; {pass}"),
            true => {
                let rounds = self.local("Small");
                format!(
                    "{k} := {n}; {rounds} := 0; while {k} > 0 & {rounds} < 2 do \
                     {rounds} := {rounds} + 1; {pass} end;"
                )
            }
        })
    }

    /// A counter goes up and down, and stops or faults at its bounds.
    fn counter_wavers(&mut self, scope: &Scope) -> Option<String> {
        let n = self.world.n;
        let (k, begin) = match self.world.has(Var::Count) {
            true => ("n".to_owned(), String::new()),
            false => {
                let k = self.local("Small");
                let begin = format!("{k} := {}; ", self.dice.between(0, 2));
                (k, begin)
            }
        };
        let top = if k == "n" { n } else { 2 };
        let p = self.name("p");
        let condition = self.condition(&scope.with_own(&p), &[], 1);
        let (up, down) = match self.dice.chance(75) {
            true => (
                format!("if {k} < {top} then {k} := {k} + 1; end;"),
                format!("if {k} > 0 then {k} := {k} - 1; end;"),
            ),
            false => (format!("{k} := {k} + 1;"), format!("{k} := {k} - 1;")),
        };
        let then = self.innocent_block(scope);
        Some(format!(
            "{begin}for {p}: Proc do if {condition} then {up} else {down} end; end; \
             if {k} = {top} then {then} end;"
        ))
    }

    /// A `var` parameter takes the element, or whether one was found.
    fn noted_by_reference(&mut self, scope: &Scope) -> Option<String> {
        let target = self.target();
        let p = self.name("p");
        let condition = self.condition(&scope.with_own(&p), &target, 1);
        if self.world.has(Var::Owner) && self.dice.chance(60) {
            let name = self.name("note");
            let _ = writeln!(
                self.functions,
                "procedure {name}(var o: Proc; e: Proc; y: boolean); begin \
                 if y then o := e; end; end;"
            );
            self.keeps_last = true;
            return Some(format!(
                "for {p}: Proc do {name}(owner, {p}, {condition}); end;"
            ));
        }
        let var = self.cells().into_iter().find(|var| World::is_truth(*var))?;
        let (name, taken) = (self.name("claim"), self.local("boolean"));
        let _ = writeln!(
            self.functions,
            "procedure {name}(var taken: boolean; var mine: boolean; y: boolean); begin \
             if y & !taken then mine := !mine; taken := true; end; end;"
        );
        let place = World::cell(var, &p);
        Some(format!(
            "{taken} := false; for {p}: Proc do {name}({taken}, {place}, {condition}); end;"
        ))
    }

    /// One pass cannot be finished, another one ends the loop.
    fn faults_and_returns(&mut self, scope: &Scope) -> Option<String> {
        let (name, p) = (self.name("scan"), self.name("p"));
        let inner = Scope::default().with_own(&p);
        let ending = self.condition(&inner, &[], 1);
        let end = *self.dice.one(&["return;", "return;", "assume false;"]);
        let fault = self.fault(&inner)?;
        let body = match self.dice.chance(50) {
            true => format!("if {ending} then {end} end; {fault}"),
            false => format!("{fault} if {ending} then {end} end;"),
        };
        let _ = writeln!(
            self.functions,
            "procedure {name}(); begin for {p}: Proc do {body} end; end;"
        );
        // Mostly where some element ends the loop, or hardly a state would be without a fault.
        let e = self.name("e");
        let ending = replace_word(&ending, &p, &e);
        let then = self.innocent_block(scope);
        Some(format!(
            "if exists {e}: Proc do {ending} end then {name}(); {then} end;"
        ))
    }

    /// A statement that faults for some elements.
    pub(super) fn fault(&mut self, scope: &Scope) -> Option<String> {
        let p = scope.own.clone()?;
        let condition = self.condition(scope, &[], 1);
        let truth = self.cells().into_iter().find(|var| World::is_truth(*var));
        let mut faults = vec![
            format!("assert {condition} \"wild\";"),
            format!("if {condition} then error \"wild\"; end;"),
        ];
        if let (Some(truth), true) = (truth, self.world.has(Var::Link)) {
            let there = World::cell(truth, &format!("link[{p}]"));
            faults.push(format!("{there} := true;"));
            faults.push(format!("put {there};"));
        }
        if self.world.has(Var::C) {
            faults.push(format!("c[{p}] := c[{p}] + 1;"));
            faults.push(format!("put 2 / c[{p}];"));
        }
        if self.world.has(Var::Owner) {
            faults.push(format!("if owner = {p} then undefine owner; end;"));
        }
        Some(self.dice.one(&faults).clone())
    }

    /// What is removed depends on what is still there, or on how much was removed.
    fn removal_counts(&mut self, _scope: &Scope) -> Option<String> {
        if !self.world.has(Var::Net) {
            return None;
        }
        let (name, i) = (self.name("drop"), self.name("i"));
        if self.world.has(Var::Count) && self.dice.chance(50) {
            let _ = writeln!(
                self.functions,
                "function {name}(): boolean; begin if n > 0 then n := n - 1; return true; end; \
                 return false; end;"
            );
        } else {
            let least = self.dice.between(1, self.world.capacity);
            let _ = writeln!(
                self.functions,
                "function {name}(): boolean; begin return multisetcount(i: net, true) > {least}; \
                 end;"
            );
        }
        let slot = self.world.element("net", &i);
        let condition = self.condition(&Scope::default().with_own(&slot), &[], 0);
        Some(match self.dice.chance(60) {
            true => format!("multisetremovepred({i}: net, {name}());"),
            false => format!("multisetremovepred({i}: net, {condition} & {name}());"),
        })
    }

    /// Rules that use an index whose element is gone; the block itself is another one.
    fn stale_slots(&mut self) -> Option<String> {
        if !self.world.has(Var::Net) {
            return None;
        }
        let (gate, name) = (self.world.gate(), self.name("r"));
        let (i, j, e) = (self.name("i"), self.name("i"), self.name("e"));
        let (first, second) = (self.world.element("net", &i), self.world.element("net", &j));
        let condition = self.condition(&Scope::default().with_own(&first), &[], 0);
        let (add, locals) = self.with_locals(|maker| {
            maker.locals.push(format!("{e}: Proc;"));
            maker.add_to_net(&e)
        });
        let use_again = match self.dice.between(0, 2) {
            0 => format!("multisetremove({i}, net);"),
            1 if self.world.has(Var::Owner) => format!("owner := {first};"),
            _ => format!("assert !isundefined({first}) \"still there\";"),
        };
        let _ = writeln!(
            self.rules,
            "choose {i}: net do choose {j}: net do rule \"{name}\" {gate}({first} != {second} & \
             {condition}) ==>{locals}\n  {e} := {second}; multisetremove({i}, net); \
             multisetremove({j}, net); {add} {use_again}\nend; end; end;"
        );
        Some(self.innocent_block(&Scope::default()))
    }

    /// The operand of a quantifier writes, or makes the firing be abandoned.
    fn writing_quantifier(&mut self, scope: &Scope) -> Option<String> {
        let (name, me) = (self.name("op"), self.name("q"));
        let inner = Scope::of(std::slice::from_ref(&me));
        let condition = self.condition(&inner, &[], 1);
        let (body, locals) = self.with_locals(|maker| match maker.dice.between(0, 2) {
            0 if maker.world.has(Var::Count) => {
                format!("if n = 0 then return {condition}; end; n := n - 1; return true;")
            }
            1 if maker.world.has(Var::Owner) => {
                format!("if {condition} then owner := {me}; end; return {condition};")
            }
            _ => {
                let fault = maker.fault(&Scope::default().with_own(&me));
                let ending = maker.condition(&inner, &[], 0);
                let fault = fault.unwrap_or_default();
                format!("assume {ending}; {fault} return {condition};")
            }
        });
        let _ = writeln!(
            self.functions,
            "function {name}({me}: Proc): boolean; {locals} {body} end;"
        );
        let word = *self.dice.one(&["forall", "exists"]);
        let p = self.name("p");
        let then = self.innocent_block(scope);
        Some(format!(
            "if {word} {p}: Proc do {name}({p}) end then {then} end;"
        ))
    }

    fn last_local(&mut self, scope: &Scope) -> Option<String> {
        let (t, p) = (self.local("Proc"), self.name("p"));
        let condition = self.condition(&scope.with_own(&p), &[], 1);
        let cells = self.cells();
        let var = *self.dice.one(&cells);
        let change = self.change(var, &World::cell(var, &t), scope, &[]);
        Some(format!(
            "for {p}: Proc do if {condition} then {t} := {p}; end; end; \
             if !isundefined({t}) then {change} end;"
        ))
    }

    /// The greatest or least one is chosen; ties go to the first or the last.
    fn best_so_far(&mut self, scope: &Scope) -> Option<String> {
        let mut cells = self.cells().into_iter();
        let var = cells.find(|var| World::is_number(*var))?;
        let (p, best) = (self.name("p"), self.name("best"));
        self.locals.push(format!("{best}: Proc;"));
        let compare = *self.dice.one(&["<", "<=", ">", ">="]);
        let (here, there) = (World::cell(var, &p), World::cell(var, &best));
        let change = match self.world.has(Var::Owner) {
            true => format!("owner := {best};"),
            false => {
                let cells = self.cells();
                let var = *self.dice.one(&cells);
                self.change(var, &World::cell(var, &best), scope, &[])
            }
        };
        Some(format!(
            "for {p}: Proc do if isundefined({best}) then {best} := {p}; \
             elsif {here} {compare} {there} then {best} := {p}; end; end; {change}"
        ))
    }

    /// Values move on from element to element.
    fn carried(&mut self, _scope: &Scope) -> Option<String> {
        let cells = self.cells();
        let var = *self.dice.one(&cells);
        let ty = World::cell_type(var);
        let (carry, t, p) = (self.local(ty), self.local(ty), self.name("p"));
        let place = World::cell(var, &p);
        let begin = match var {
            _ if World::is_truth(var) => format!("{carry} := {};", self.dice.chance(50)),
            _ if World::is_number(var) => format!("{carry} := 0;"),
            _ => String::new(),
        };
        Some(format!(
            "{begin} for {p}: Proc do {t} := {place}; {place} := {carry}; {carry} := {t}; end;"
        ))
    }

    fn picked_colour(&mut self, scope: &Scope) -> Option<String> {
        if !self.world.has(Var::Pick) {
            return None;
        }
        if self.world.has(Var::Colour) && self.dice.chance(50) {
            let p = self.name("p");
            let condition = self.condition(&scope.with_own(&p), &[], 1);
            return Some(format!(
                "for {p}: Proc do if !isundefined(colour[{p}]) & {condition} then \
                 pick := colour[{p}]; end; end;"
            ));
        }
        let u = self.name("u");
        let condition = self.condition(&scope.with_colour(&u), &[], 1);
        Some(format!(
            "for {u}: Colour do if {condition} then pick := {u}; end; end;"
        ))
    }

    /// A pure function with a loop decides what happens.
    fn judged_by_function(&mut self, scope: &Scope) -> Option<String> {
        let name = self.wild_function();
        let then = self.innocent_block(scope);
        Some(format!("if {name}() then {then} end;"))
    }

    /// The name of a pure function without parameters whose truth depends on the order.
    pub(super) fn wild_function(&mut self) -> String {
        let (name, p) = (self.name("wild"), self.name("p"));
        let inner = Scope::default().with_own(&p);
        let condition = self.condition(&inner, &[], 1);
        let result = self.condition(&inner, &[], 1);
        let _ = match self.dice.chance(50) {
            true => writeln!(
                self.functions,
                "function {name}(): boolean; begin for {p}: Proc do if {condition} then \
                 return {result}; end; end; return {}; end;",
                self.dice.chance(50)
            ),
            false => writeln!(
                self.functions,
                "function {name}(): boolean; var r: boolean; begin r := false; for {p}: Proc do \
                 if {condition} then r := {result}; end; end; return r; end;"
            ),
        };
        name
    }
}

/// The text with one name in place of another.
pub(super) fn replace_word(text: &str, name: &str, by: &str) -> String {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut found = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(name) {
        let (before, behind) = (&rest[..at], &rest[at + name.len()..]);
        found.push_str(before);
        let is_word = !before.ends_with(is_part) && !behind.starts_with(is_part);
        found.push_str(if is_word { by } else { name });
        rest = behind;
    }
    found + rest
}
