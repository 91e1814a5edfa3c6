//! Loops whose effects are behind calls: result parameters, conditions with side effects, and
//! recursion.

use std::fmt::Write;

use super::world::{Var, World};
use super::{Maker, Scope};

impl Maker {
    /// A procedure that assigns its second parameter to its first one, a `var` parameter, perhaps
    /// by way of another procedure.
    fn assigner(&mut self, ty: &str) -> String {
        let mut name = self.name("assign");
        let _ = writeln!(
            self.functions,
            "procedure {name}(var x: {ty}; y: {ty}); begin x := y; end;"
        );
        if self.dice.chance(40) {
            let outer = self.name("assign");
            let _ = writeln!(
                self.functions,
                "procedure {outer}(var x: {ty}; y: {ty}); begin {name}(x, y); end;"
            );
            name = outer;
        }
        name
    }

    /// The first match is returned by a result parameter that is passed on to another procedure.
    pub(super) fn first_by_reference(&mut self, scope: &Scope) -> Option<String> {
        let target = self.target();
        let (assign, name, p) = (self.assigner("Proc"), self.name("find"), self.name("p"));
        let condition = self.condition(&Scope::default().with_own(&p), &target, 1);
        let is_function = self.dice.chance(50);
        let (result, found, missed) = match is_function {
            true => (": boolean", "return true;", "return false;"),
            false => ("", "return;", ""),
        };
        let in_every_pass = self.dice.chance(30);
        let pass = match in_every_pass {
            true => format!("{assign}(out, {p}); if {condition} then {found} end;"),
            false => format!("if {condition} then {assign}(out, {p}); {found} end;"),
        };
        let word = if is_function { "function" } else { "procedure" };
        let _ = writeln!(
            self.functions,
            "{word} {name}(var out: Proc){result}; begin for {p}: Proc do {pass} end; \
             undefine out; {missed} end;"
        );
        self.keeps_last = false;
        if self.world.has(Var::Owner) && self.dice.chance(30) {
            return Some(match is_function {
                true => format!("if {name}(owner) then end;"),
                false => format!("{name}(owner);"),
            });
        }
        let t = self.local("Proc");
        let use_it = self.use_of_chosen(&t, scope, false);
        Some(match is_function {
            true => format!("if {name}({t}) then {use_it} end;"),
            false => format!("{name}({t}); {use_it}"),
        })
    }

    /// A result parameter that is the same for all orders, or that is never read.
    pub(super) fn result_by_reference(&mut self, scope: &Scope) -> Option<String> {
        let (name, p, n) = (self.name("tell"), self.name("p"), self.world.n);
        let condition = self.condition(&Scope::default().with_own(&p), &[], 1);
        match self.dice.between(0, 2) {
            0 => {
                let (assign, t) = (self.assigner("boolean"), self.local("boolean"));
                let _ = writeln!(
                    self.functions,
                    "function {name}(var out: boolean): boolean; begin for {p}: Proc do \
                     if {condition} then {assign}(out, true); return true; end; end; \
                     {assign}(out, false); return false; end;"
                );
                let then = self.global_change(scope);
                Some(match self.dice.chance(50) {
                    true => format!("if {name}({t}) & {t} then {then} end;"),
                    false => format!("if {name}({t}) then end; if !{t} then {then} end;"),
                })
            }
            1 => {
                let (t, least) = (self.local(&format!("0..{n}")), self.dice.between(1, n));
                let add = self.name("add");
                let _ = writeln!(
                    self.functions,
                    "procedure {add}(var x: 0..{n}); begin x := x + 1; end;\n\
                     procedure {name}(var out: 0..{n}); begin out := 0; for {p}: Proc do \
                     if {condition} then {add}(out); end; end; end;"
                );
                let then = self.global_change(scope);
                Some(format!("{name}({t}); if {t} >= {least} then {then} end;"))
            }
            _ => {
                // The caller's local is scratch memory of each iteration.
                let (assign, t) = (self.assigner("Proc"), self.local("Proc"));
                let var = *self.dice.one(&self.cells());
                let inner = Scope::default().with_own(&p);
                let condition = self.condition(&inner, &[var], 1);
                let change = self.change(var, &World::cell(var, "out"), &inner, &[var]);
                let _ = writeln!(
                    self.functions,
                    "procedure {name}(var out: Proc); begin for {p}: Proc do {assign}(out, {p}); \
                     if {condition} then {change} end; end; end;"
                );
                Some(format!("{name}({t});"))
            }
        }
    }

    /// A function that undefines its parameter and returns a constant.
    fn wiper(&mut self, returns: bool) -> String {
        let name = self.name("wipe");
        let _ = writeln!(
            self.functions,
            "function {name}(var x: Small): boolean; begin undefine x; return {returns}; end;"
        );
        name
    }

    /// A condition tests a local and undefines it; the element has the outcome.
    pub(super) fn own_wiped(&mut self, scope: &Scope) -> Option<String> {
        let var = self.cells().into_iter().find(|var| World::is_truth(*var))?;
        let (x, p) = (self.local("Small"), self.name("p"));
        let condition = self.condition(&scope.with_own(&p), &[var], 1);
        let place = World::cell(var, &p);
        Some(match self.dice.chance(50) {
            true => {
                let wipe = self.wiper(true);
                format!(
                    "for {p}: Proc do {x} := 1; if {condition} & !isundefined({x}) & {wipe}({x}) \
                     then {place} := isundefined({x}); else {place} := {x} = 0; end; end;"
                )
            }
            false => {
                let wipe = self.wiper(false);
                format!(
                    "for {p}: Proc do {x} := 1; if !({condition}) | isundefined({x}) | \
                     {wipe}({x}) then {place} := false; else {place} := isundefined({x}); end; end;"
                )
            }
        })
    }

    /// A condition undefines a local that is read behind it, so that an iteration faults; another
    /// iteration ends the loop.
    pub(super) fn wiped_and_read(&mut self, scope: &Scope) -> Option<String> {
        let (name, p, e) = (self.name("scan"), self.name("p"), self.name("e"));
        let inner = Scope::default().with_own(&p);
        let (spoils, ends) = (
            self.condition(&inner, &[], 1),
            self.condition(&inner, &[], 1),
        );
        let spoil = match self.dice.chance(50) {
            true => {
                let wipe = self.wiper(true);
                format!(
                    "if {spoils} & !isundefined(x) & {wipe}(x) then \
                     if x = 1 then return true; end; end;"
                )
            }
            false => {
                let wipe = self.wiper(false);
                format!(
                    "if {spoils} then if isundefined(x) | {wipe}(x) then else \
                     if x = 1 then return true; end; end; end;"
                )
            }
        };
        let (first, second) = match self.dice.chance(50) {
            true => (String::new(), spoil),
            false => (spoil, String::new()),
        };
        let _ = writeln!(
            self.functions,
            "function {name}(): boolean; var x: Small; begin for {p}: Proc do x := 1; {first} \
             if {ends} then return true; end; {second} end; return false; end;"
        );
        // Mostly where some element ends the loop, or hardly a state would be without a fault.
        let ends = super::wild::replace_word(&ends, &p, &e);
        let then = self.innocent_block(scope);
        Some(format!(
            "if exists {e}: Proc do {ends} end then if {name}() then {then} end; end;"
        ))
    }

    /// The condition itself takes what only one iteration can have.
    pub(super) fn claimed_in_condition(&mut self, scope: &Scope) -> Option<String> {
        let target = self.target();
        let (name, p) = (self.name("claim"), self.name("p"));
        let inner = scope.with_own(&p);
        let condition = self.condition(&inner, &target, 1);
        let var = *self.dice.one(&self.cells());
        let change = match self.target().is_empty() {
            true => self.change(var, &World::cell(var, &p), &inner, &[]),
            false => String::new(),
        };
        let _ = writeln!(
            self.functions,
            "function {name}(var o: Proc; e: Proc): boolean; begin if isundefined(o) then \
             o := e; return true; end; return false; end;"
        );
        self.keeps_last = false;
        let claimed = match self.world.has(Var::Owner) {
            true => "owner".to_owned(),
            false => self.local("Proc"),
        };
        Some(format!(
            "for {p}: Proc do if {condition} & {name}({claimed}, {p}) then {change} end; end;"
        ))
    }

    /// A procedure or function with a loop that calls itself, behind the loop or to the same end.
    pub(super) fn recursion(&mut self, scope: &Scope) -> Option<String> {
        let (name, p) = (self.name("again"), self.name("p"));
        let inner = Scope::default().with_own(&p);
        if self.dice.chance(40) {
            let condition = self.condition(&inner, &[], 1);
            let _ = writeln!(
                self.functions,
                "function {name}(k: Small): boolean; begin for {p}: Proc do if {condition} then \
                 if k = 0 then return true; end; return {name}(k - 1); end; end; \
                 return false; end;"
            );
            let then = self.global_change(scope);
            return Some(format!("if {name}(2) then {then} end;"));
        }
        let written = [*self.dice.one(&self.cells())];
        let (body, locals) = self.with_locals(|maker| {
            let t = maker.local("Proc");
            let statement = maker.own_statement(&inner, &written, 1);
            format!("{t} := {p}; {statement}")
        });
        let _ = writeln!(
            self.functions,
            "procedure {name}(k: Small); {locals} for {p}: Proc do {body} end; \
             if k > 0 then {name}(k - 1); end; end;"
        );
        Some(format!("{name}(2);"))
    }

    /// A procedure calls itself from within its loop.
    pub(super) fn recursion_in_loop(&mut self, scope: &Scope) -> Option<String> {
        let target = self.target();
        if !target.is_empty() && !self.world.has(Var::Owner) {
            return None;
        }
        let (name, p, q) = (self.name("deep"), self.name("p"), self.name("q"));
        let inner = Scope::of(std::slice::from_ref(&q)).with_own(&p);
        let condition = self.condition(&inner, &target, 1);
        let var = *self.dice.one(&self.cells());
        let change = match self.world.has(Var::Owner) {
            true => format!("owner := {p};"),
            false => self.change(var, &World::cell(var, &p), &inner, &[]),
        };
        let returns = *self.dice.one(&["", "return;"]);
        self.keeps_last = returns.is_empty();
        let _ = writeln!(
            self.functions,
            "procedure {name}(k: Tiny; {q}: Proc); begin for {p}: Proc do \
             if {p} != {q} & {condition} then if k > 0 then {name}(k - 1, {p}); end; {change} \
             {returns} end; end; end;"
        );
        let first = match scope.others.first() {
            Some(q) => q.clone(),
            None => {
                // All of them, so that the call itself prefers no element.
                let e = self.name("e");
                return Some(format!("for {e}: Proc do {name}(1, {e}); end;"));
            }
        };
        Some(format!("{name}(1, {first});"))
    }
}
