//! Loops in which one element wins, or in which iterations vie for an extreme or a truth value.

use std::fmt::Write;

use super::world::{Var, World};
use super::{Maker, Scope};

impl Maker {
    /// Only the iteration of a given element acts.
    pub(super) fn unique_winner(&mut self, scope: &Scope) -> Option<String> {
        let p = self.name("p");
        let var = *self.dice.one(&self.cells());
        if let Some(q) = scope.others.first().cloned() {
            let inner = scope.with_other(&p);
            let condition = match self.dice.chance(40) {
                true => format!(" & {}", self.condition(&inner, &[], 1)),
                false => String::new(),
            };
            let change = match self.world.has(Var::Owner) && self.dice.chance(60) {
                true => format!("owner := {p};"),
                false => self.change(var, &World::cell(var, &p), &inner, &[]),
            };
            return Some(match self.dice.chance(60) {
                true => format!("for {p}: Proc do if {p} = {q}{condition} then {change} end; end;"),
                false => {
                    // The element is compared by way of a local.
                    let x = self.local("Proc");
                    format!(
                        "for {p}: Proc do {x} := {q}; if {x} = {p}{condition} then {change} end; \
                         end;"
                    )
                }
            });
        }
        if !self.world.has(Var::Owner) {
            return None;
        }
        let change = self.change(var, &World::cell(var, &p), &scope.with_other(&p), &[]);
        Some(format!(
            "for {p}: Proc do if !isundefined(owner) & {p} = owner then {change} end; end;"
        ))
    }

    /// Two comparisons with the same text and different values.
    pub(super) fn two_winners(&mut self, scope: &Scope) -> Option<String> {
        let [.., a, b] = &scope.others[..] else {
            return None;
        };
        let (a, b, p) = (a.clone(), b.clone(), self.name("p"));
        self.keeps_last = true;
        let var = *self.dice.one(&self.cells());
        let has_owner = self.world.has(Var::Owner);
        Some(match self.dice.between(0, 2) {
            0 if has_owner => {
                let set = self.name("win");
                let _ = writeln!(
                    self.functions,
                    "procedure {set}(e: Proc; w: Proc); begin if e = w then owner := e; end; end;"
                );
                format!("for {p}: Proc do {set}({p}, {a}); {set}({p}, {b}); end;")
            }
            1 if has_owner => {
                let set = self.name("win");
                let _ = writeln!(
                    self.functions,
                    "procedure {set}(var o: Proc; e: Proc; w: Proc); begin \
                     if e = w then o := e; end; end;"
                );
                format!("for {p}: Proc do {set}(owner, {p}, {a}); {set}(owner, {p}, {b}); end;")
            }
            _ => {
                let (x, t) = (self.local("Proc"), self.local("Proc"));
                let (wins, then) = match has_owner {
                    true => (format!("owner := {p};"), String::new()),
                    false => (
                        format!("{t} := {p};"),
                        self.change(var, &World::cell(var, &t), scope, &[]),
                    ),
                };
                let then = match then.is_empty() {
                    true => then,
                    false => format!(" if !isundefined({t}) then {then} end;"),
                };
                format!(
                    "for {p}: Proc do {x} := {a}; if {p} = {x} then {wins} end; \
                     {x} := {b}; if {p} = {x} then {wins} end; end;{then}"
                )
            }
        })
    }

    /// Two winners, each of which changes its own parts.
    pub(super) fn two_own_winners(&mut self, scope: &Scope) -> Option<String> {
        let [.., a, b] = &scope.others[..] else {
            return None;
        };
        let (a, b, p, x) = (a.clone(), b.clone(), self.name("p"), self.local("Proc"));
        let var = *self.dice.one(&self.cells());
        let inner = scope.with_own(&p);
        let place = World::cell(var, &p);
        let (one, other) = (
            self.change(var, &place, &inner, &[var]),
            self.change(var, &place, &inner, &[var]),
        );
        Some(format!(
            "for {p}: Proc do {x} := {a}; if {p} = {x} then {one} end; \
             {x} := {b}; if {p} = {x} then {other} end; end;"
        ))
    }

    /// The extreme of the elements that are so, by statements or by a choice between values.
    pub(super) fn filtered_extreme(&mut self, scope: &Scope) -> Option<String> {
        let mut cells = self.cells().into_iter();
        let var = cells.find(|var| World::is_number(*var))?;
        let (m, p, top) = (self.local("Small"), self.name("p"), World::top(var));
        let place = World::cell(var, &p);
        let condition = self.condition(&scope.with_own(&p), &[], 1);
        let then = self.global_change(scope);
        let (begin, compare, is_met) = match self.dice.chance(50) {
            true => (0, *self.dice.one(&[">", ">="]), format!("{m} = {top}")),
            false => (top, *self.dice.one(&["<", "<="]), format!("{m} = 0")),
        };
        let better = format!("{place} {compare} {m}");
        let pass = match self.dice.between(0, 4) {
            0 => format!("if {condition} & {better} then {m} := {place}; end;"),
            1 => format!("if {condition} then if {better} then {m} := {place}; end; end;"),
            2 => format!("if {better} & {condition} then {m} := {place}; end;"),
            3 => format!("{m} := ({better} ? {place} : {m});"),
            _ => format!("if {condition} then {m} := ({better} ? {place} : {m}); end;"),
        };
        Some(format!(
            "{m} := {begin}; for {p}: Proc do {pass} end; if {is_met} then {then} end;"
        ))
    }

    /// An extreme and an element that has it.
    pub(super) fn extreme_element(&mut self, scope: &Scope) -> Option<String> {
        let mut cells = self.cells().into_iter();
        let var = cells.find(|var| World::is_number(*var))?;
        let target = self.target();
        let (m, best, p) = (self.local("Small"), self.local("Proc"), self.name("p"));
        let place = World::cell(var, &p);
        let condition = self.condition(&scope.with_own(&p), &target, 1);
        let (begin, compare, keeps_last) = *self.dice.one(&[
            (0, ">=", true),
            (0, ">", false),
            (2, "<=", true),
            (2, "<", false),
        ]);
        let use_it = self.use_of_chosen(&best, scope, keeps_last);
        Some(format!(
            "{m} := {begin}; for {p}: Proc do if {condition} & {place} {compare} {m} then \
             {m} := {place}; {best} := {p}; end; end; {use_it}"
        ))
    }

    /// A truth value accumulated with several operands in any places.
    pub(super) fn three_operands(&mut self, scope: &Scope) -> Option<String> {
        let p = self.name("p");
        let (flag, written) = match self.world.has(Var::Flag) && self.dice.chance(50) {
            true => ("f".to_owned(), vec![Var::Flag]),
            false => (self.local("boolean"), Vec::new()),
        };
        let inner = scope.with_own(&p);
        let (a, b) = (
            self.condition(&inner, &written, 1),
            self.condition(&inner, &written, 0),
        );
        let operator = *self.dice.one(&["|", "&"]);
        let sum = match self.dice.between(0, 2) {
            0 => format!("{flag} {operator} ({a}) {operator} ({b})"),
            1 => format!("({a}) {operator} {flag} {operator} ({b})"),
            _ => format!("({a}) {operator} ({b}) {operator} {flag}"),
        };
        let then = self.global_change(scope);
        Some(format!(
            "{flag} := {}; for {p}: Proc do {flag} := {sum}; end; if {flag} then {then} end;",
            operator == "&"
        ))
    }

    /// What looks like an accumulated truth value, and has the last word on it.
    pub(super) fn mixed_operands(&mut self, scope: &Scope) -> Option<String> {
        let (t, p) = (self.local("boolean"), self.name("p"));
        let inner = scope.with_own(&p);
        let (a, b) = (
            self.condition(&inner, &[], 1),
            self.condition(&inner, &[], 0),
        );
        let sum = match self.dice.between(0, 3) {
            0 => format!("{t} -> ({a})"),
            1 => format!("({a}) | ({t} & ({b}))"),
            2 => format!("(({a}) | {t}) & ({b})"),
            _ => format!("(({a}) ? ({b}) : {t})"),
        };
        let then = self.innocent_block(scope);
        Some(format!(
            "{t} := {}; for {p}: Proc do {t} := {sum}; end; if {t} then {then} end;",
            self.dice.chance(50)
        ))
    }
}
