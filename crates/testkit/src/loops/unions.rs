//! Loops over a union of one fixed node and the processes.

use super::world::Var;
use super::{Maker, Scope};

impl Maker {
    /// Each iteration works on its own node, or adds.
    pub(super) fn union_loop(&mut self, scope: &Scope) -> Option<String> {
        if !self.world.has(Var::At) {
            return None;
        }
        let y = self.name("y");
        let outside = self.condition(scope, &[Var::At], 1);
        Some(match self.dice.between(0, 2) {
            0 => format!("for {y}: Node do at[{y}] := {}; end;", self.dice.chance(50)),
            1 => format!("for {y}: Node do if {outside} then at[{y}] := !at[{y}]; end; end;"),
            _ => {
                let k = self.local(&format!("0..{}", self.world.n + 1));
                let then = self.global_change(scope);
                format!(
                    "{k} := 0; for {y}: Node do if at[{y}] then {k} := {k} + 1; end; end; \
                     if {k} > 1 then {then} end;"
                )
            }
        })
    }

    /// The fixed node is distinguished from the processes, which are treated alike.
    pub(super) fn union_sum(&mut self, scope: &Scope) -> Option<String> {
        if !self.world.has(Var::At) {
            return None;
        }
        let y = self.name("y");
        let outside = self.condition(scope, &[Var::At], 1);
        let then = self.global_change(scope);
        Some(match self.dice.between(0, 3) {
            0 => {
                // The fixed node is the first member of the union, so its iteration always comes
                // first.
                let k = self.local(&format!("0..{}", self.world.n));
                format!(
                    "for {y}: Node do if {y} = Memory then {k} := 0; elsif at[{y}] then \
                     {k} := {k} + 1; end; end; if {k} > 1 then {then} end;"
                )
            }
            1 => {
                let t = self.local("boolean");
                format!(
                    "{t} := false; for {y}: Node do {t} := {t} | at[{y}] | {outside}; end; \
                     if {t} then {then} end;"
                )
            }
            2 => format!(
                "for {y}: Node do if {y} = Memory then at[{y}] := {outside}; \
                 else at[{y}] := !at[{y}]; end; end;"
            ),
            _ => {
                let q = scope.others.first()?;
                format!("for {y}: Node do if {y} = {q} then at[{y}] := !at[{y}]; end; end;")
            }
        })
    }

    /// The last node that is so stays, or iterations see what earlier ones wrote.
    pub(super) fn union_last(&mut self, scope: &Scope) -> Option<String> {
        if !self.world.has(Var::At) {
            return None;
        }
        let (y, t) = (self.name("y"), self.local("Node"));
        let condition = self.condition(scope, &[], 1);
        Some(match self.dice.chance(50) {
            true => format!(
                "for {y}: Node do if at[{y}] | {condition} then {t} := {y}; end; end; \
                 if !isundefined({t}) then at[{t}] := !at[{t}]; end;"
            ),
            false => {
                format!("for {y}: Node do at[{y}] := exists z: Node do z != {y} & at[z] end; end;")
            }
        })
    }

    /// The first process that is so is noted as a node.
    pub(super) fn union_first(&mut self, scope: &Scope) -> Option<String> {
        if !self.world.has(Var::At) {
            return None;
        }
        let (y, t) = (
            self.name("y"),
            self.local("record now: Node; first: Node; end"),
        );
        let test = match self.dice.chance(50) {
            true => format!("ismember({y}, Proc)"),
            false => format!("{y} != Memory"),
        };
        let condition = self.condition(scope, &[], 1);
        let change = match self.world.has(Var::Owner) {
            true => format!("owner := {t}.first;"),
            false => format!("at[{t}.first] := !at[{t}.first];"),
        };
        Some(format!(
            "for {y}: Node do {t}.now := {y}; if isundefined({t}.first) & {test} & \
             (at[{t}.now] | {condition}) then {t}.first := {y}; end; end; \
             if !isundefined({t}.first) then {change} end;"
        ))
    }
}
