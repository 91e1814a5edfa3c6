//! Loops that work with records and arrays of their body's own.
//!
//! Whether such a local is private to an iteration is decided field by field and cell by cell: what
//! every iteration assigns before it reads it is, what some iterations assign is not.

use super::world::{Var, World};
use super::{Maker, Scope};

impl Maker {
    /// Each iteration assigns all fields that it reads. What is read behind the loop is
    /// accumulated, or the same whatever the iteration that assigns it.
    pub(super) fn scratch_record(&mut self, scope: &Scope) -> Option<String> {
        let ty = "record now: Proc; hit: boolean; any: boolean; kept: Proc; end";
        let (t, p) = (self.local(ty), self.name("p"));
        let var = *self.dice.one(&self.cells());
        let inner = scope.with_own(&p);
        let condition = self.condition(&inner, &[var], 1);
        let change = self.change(var, &World::cell(var, &format!("{t}.now")), &inner, &[var]);
        let then = self.global_change(scope);
        Some(match self.dice.between(0, 3) {
            0 => format!(
                "for {p}: Proc do {t}.now := {p}; {t}.hit := {condition}; \
                 if {t}.hit then {change} end; end;"
            ),
            1 => format!(
                "{t}.any := false; for {p}: Proc do {t}.hit := {condition}; \
                 {t}.any := {t}.any | {t}.hit; end; if {t}.any then {then} end;"
            ),
            2 => format!(
                "{t}.any := false; for {p}: Proc do {t}.now := {p}; if {condition} then \
                 {t}.any := true; end; end; if {t}.any then {then} end;"
            ),
            // A field that some iterations assign, and that is never read.
            _ => format!(
                "for {p}: Proc do {t}.now := {p}; if {condition} then {t}.kept := {t}.now; end; \
                 {change} end;"
            ),
        })
    }

    /// Each iteration assigns one field of a record, and some iterations another one, which stays.
    pub(super) fn kept_field(&mut self, scope: &Scope) -> Option<String> {
        let target = self.target();
        let (t, p) = (
            self.local("record now: Proc; kept: Proc; end"),
            self.name("p"),
        );
        let condition = self.condition(&scope.with_own(&p), &target, 1);
        let (test, keeps_last) = match self.dice.between(0, 2) {
            0 => (format!("isundefined({t}.kept) & {condition}"), false),
            1 => (condition, true),
            _ => (
                format!("(isundefined({t}.kept) | {t}.kept != {t}.now) & {condition}"),
                true,
            ),
        };
        let kept = self.dice.one(&[p.clone(), format!("{t}.now")]).clone();
        let use_it = self.use_of_chosen(&format!("{t}.kept"), scope, keeps_last);
        Some(format!(
            "for {p}: Proc do {t}.now := {p}; if {test} then {t}.kept := {kept}; end; end; {use_it}"
        ))
    }

    /// Data of the last element that is so stays in a field of a record.
    pub(super) fn kept_data(&mut self, scope: &Scope) -> Option<String> {
        let mut cells = self.cells();
        cells.retain(|var| World::is_truth(*var) || World::is_number(*var));
        let var = *(!cells.is_empty()).then(|| self.dice.one(&cells))?;
        let data = World::cell_type(var);
        let t = self.local(&format!("record now: Proc; data: {data}; end"));
        let p = self.name("p");
        let condition = self.condition(&scope.with_own(&p), &[], 1);
        let place = World::cell(var, &format!("{t}.now"));
        let wanted = match World::is_truth(var) {
            true => format!("{t}.data"),
            false => format!("{t}.data > 0"),
        };
        let then = self.innocent_block(scope);
        Some(format!(
            "for {p}: Proc do {t}.now := {p}; if {condition} then {t}.data := {place}; end; end; \
             if !isundefined({t}.data) & {wanted} then {then} end;"
        ))
    }

    /// An array that is filled in front of its reader, for all iterations or in each of them.
    pub(super) fn scratch_array(&mut self, scope: &Scope) -> Option<String> {
        let (t, p, q) = (self.local("Flags"), self.name("p"), self.name("p"));
        if self.dice.chance(50) {
            let var = *self.dice.one(&self.cells());
            let condition = self.condition(&scope.with_own(&q), &[], 1);
            let inner = scope.with_own(&p);
            let change = self.change(var, &World::cell(var, &p), &inner, &[var]);
            return Some(format!(
                "for {q}: Proc do {t}[{q}] := {condition}; end; \
                 for {p}: Proc do if {t}[{p}] then {change} end; end;"
            ));
        }
        let var = self.cells().into_iter().find(|var| World::is_truth(*var))?;
        let condition = self.condition(&scope.with_other(&p).with_other(&q), &[var], 1);
        let (place, word) = (World::cell(var, &p), *self.dice.one(&["forall", "exists"]));
        let e = self.name("e");
        Some(format!(
            "for {p}: Proc do for {q}: Proc do {t}[{q}] := {condition}; end; \
             {place} := {word} {e}: Proc do {t}[{e}] end; end;"
        ))
    }

    /// Passes read what earlier ones wrote to an array, or number elements with it.
    pub(super) fn shared_array(&mut self, scope: &Scope) -> Option<String> {
        let (target, p) = (self.target(), self.name("p"));
        let condition = self.condition(&scope.with_own(&p), &target, 1);
        if self.dice.chance(60) {
            let (t, k) = (
                self.local(&format!("array [0..{}] of Proc", self.world.n - 1)),
                self.local(&format!("0..{}", self.world.n)),
            );
            let use_it = self.use_of_chosen(&format!("{t}[0]"), scope, false);
            return Some(format!(
                "{k} := 0; for {p}: Proc do if {condition} then {t}[{k}] := {p}; \
                 {k} := {k} + 1; end; end; {use_it}"
            ));
        }
        let (t, e) = (self.local("Flags"), self.name("e"));
        let var = *self.dice.one(&self.cells());
        let inner = scope.with_own(&p);
        let change = match self.world.has(Var::Owner) {
            true => format!("owner := {p};"),
            false => self.change(var, &World::cell(var, &p), &inner, &[]),
        };
        self.keeps_last = true;
        let word = *self.dice.one(&["", "!"]);
        Some(format!(
            "for {p}: Proc do {t}[{p}] := {condition}; if {word}exists {e}: Proc do {e} != {p} & \
             !isundefined({t}[{e}]) & {t}[{e}] end then {change} end; end;"
        ))
    }

    /// Makes something of an element that a loop has chosen and that may be undefined.
    pub(super) fn use_of_chosen(
        &mut self,
        chosen: &str,
        scope: &Scope,
        keeps_last: bool,
    ) -> String {
        self.keeps_last = keeps_last;
        if self.world.has(Var::Owner) {
            return format!("owner := {chosen};");
        }
        let var = *self.dice.one(&self.cells());
        let change = self.change(var, &World::cell(var, chosen), scope, &[]);
        format!("if !isundefined({chosen}) then {change} end;")
    }
}
