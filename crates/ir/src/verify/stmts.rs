//! Statements of a frame, with the references that are bound at each point.

use std::collections::BTreeSet;

use hadal_model::FaultKind;

use super::VerifyErrorKind;
use super::exprs::{Locals, Sort};
use super::frames::FrameCheck;
use super::places::Found;
use crate::expr::{Arg, Domain, Place};
use crate::ids::{ExprId, LocalId, TypeId};
use crate::program::LocalKind;
use crate::stmt::{PutItem, ReturnValue, Stmt, StmtKind};
use crate::types::Type;

impl FrameCheck<'_> {
    pub(super) fn block(&mut self, block: &[Stmt]) {
        for stmt in block {
            self.stmt(stmt);
        }
    }

    pub(super) fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Assign { place, value } => {
                let mut locals = Locals::default();
                if let Some(found) = self.place(place) {
                    self.value_for(*value, found.ty, &mut locals);
                    self.write(&found);
                }
                self.touch(&locals);
            }
            StmtKind::Copy { to, from } => {
                if let (Some(to), Some(from)) = (self.place(to), self.place(from)) {
                    self.keeps_result(from.into, &to.locals);
                    self.copied(&from, to.ty);
                    self.write(&to);
                }
            }
            StmtKind::Clear(place) => {
                if let Some(found) = self.place(place) {
                    self.write(&found);
                }
            }
            StmtKind::Undefine(place) => {
                if let Some(found) = self.place(place) {
                    self.write(&found);
                    if self.program.types.has_total_leaf(found.ty) {
                        let message = format!("{} is never undefined", found.ty);
                        self.error(VerifyErrorKind::Undefined, message);
                    }
                }
            }
            StmtKind::If { arms, otherwise } => self.if_stmt(arms, otherwise),
            StmtKind::For { var, domain, body } => self.for_stmt(*var, domain, body),
            StmtKind::While { condition, body } => {
                self.defined(*condition, Sort::Bool);
                let before = self.bound.clone();
                self.block(body);
                self.bound = before;
            }
            StmtKind::Bind { local, place } => self.bind(*local, place),
            StmtKind::Call { function, args } => {
                let mut locals = Locals::default();
                self.call(*function, args, &mut locals);
                self.touch(&locals);
            }
            StmtKind::Return(value) => {
                self.return_stmt(value);
                self.bound = None;
            }
            StmtKind::Assert { condition, .. } | StmtKind::Assume(condition) => {
                self.defined(*condition, Sort::Bool);
            }
            StmtKind::Error { kind, .. } => {
                self.bound = None;
                // Other parts of the program report these.
                if matches!(kind, FaultKind::OrderDependence | FaultKind::AtomicCycle) {
                    let message = format!("no statement reports {kind}");
                    self.error(VerifyErrorKind::Type, message);
                }
            }
            StmtKind::Cover { condition, .. } => self.defined(*condition, Sort::Bool),
            StmtKind::Put(PutItem::Text(_)) => {}
            StmtKind::Put(PutItem::Value(value, ty)) => {
                let sort = self.simple_sort(*ty);
                self.defined(*value, sort);
            }
            StmtKind::Put(PutItem::Number(value, _)) => self.defined(*value, Sort::Int),
            StmtKind::Put(PutItem::Place(place, _)) => {
                if let Some(found) = self.place(place) {
                    self.touch(&found.locals);
                }
            }
            StmtKind::MultisetAdd { multiset, value } => {
                if let Some(found) = self.multiset(multiset) {
                    self.multiset_add(&found, value);
                    self.write(&found);
                }
            }
            StmtKind::MultisetRemove { multiset, slot } => {
                if let Some(found) = self.multiset(multiset) {
                    self.write(&found);
                }
                self.defined(*slot, Sort::Int);
            }
        }
    }

    /// A whole expression that must be defined and of a sort.
    pub(super) fn defined(&mut self, id: ExprId, sort: Sort) {
        let mut locals = Locals::default();
        self.operand(id, sort, &mut locals);
        self.touch(&locals);
    }

    /// Checks the locals a statement touches: references must be bound, and loop variables stay.
    fn touch(&mut self, locals: &Locals) {
        if let Some(bound) = &self.bound {
            let unbound: Vec<LocalId> = (locals.used.iter().copied())
                .filter(|id| {
                    let kind = self.frame.locals.get(id.index()).map(|local| local.kind);
                    matches!(kind, Some(LocalKind::Ref(_) | LocalKind::ConstRef(_)))
                        && !bound.contains(id)
                })
                .collect();
            for id in unbound {
                let message = format!("{id} may be used before it refers to anything");
                self.error(VerifyErrorKind::Unbound, message);
            }
        }
        let frozen: Vec<LocalId> = (locals.changed.iter().copied())
            .filter(|id| self.active.contains(id))
            .collect();
        for id in frozen {
            let message = format!("{id} is changed inside its own loop or rule");
            self.error(VerifyErrorKind::Write, message);
        }
    }

    fn write(&mut self, found: &Found) {
        let mut locals = found.locals.clone();
        locals.changed.extend(self.writable(found));
        self.touch(&locals);
    }

    /// An aggregate that is copied to somewhere of type `to`.
    fn copied(&mut self, from: &Found, to: TypeId) {
        self.touch(&from.locals);
        if self.program.types.simple(from.ty).is_some() {
            self.error(
                VerifyErrorKind::Place,
                "a simple value is copied as an aggregate",
            );
        } else if !self.same_layout(from.ty, to) {
            let message = format!("{} is copied to {to}, which has another layout", from.ty);
            self.error(VerifyErrorKind::Place, message);
        }
    }

    fn if_stmt(&mut self, arms: &[(ExprId, Vec<Stmt>)], otherwise: &[Stmt]) {
        let mut after: Option<BTreeSet<LocalId>> = None;
        let mut join = |end: Option<BTreeSet<LocalId>>| {
            if let Some(end) = end {
                after = Some(match after.take() {
                    Some(other) => &other & &end,
                    None => end,
                });
            }
        };
        // Conditions cannot bind anything, so every block starts from the same point.
        let before = self.bound.clone();
        for (condition, block) in arms {
            self.bound.clone_from(&before);
            self.defined(*condition, Sort::Bool);
            self.block(block);
            join(self.bound.take());
        }
        self.bound = before;
        self.block(otherwise);
        join(self.bound.take());
        self.bound = after;
    }

    fn for_stmt(&mut self, var: LocalId, domain: &Domain, body: &[Stmt]) {
        let mut locals = Locals::default();
        self.domain(var, domain, &mut locals);
        locals.changed.insert(var);
        self.touch(&locals);
        let before = self.bound.clone();
        self.active.push(var);
        self.block(body);
        self.active.pop();
        // The domain may be empty.
        self.bound = before;
    }

    fn bind(&mut self, local: LocalId, place: &Place) {
        let (Some(kind), Some(found)) = (self.local(local), self.place(place)) else {
            return;
        };
        self.touch(&found.locals);
        match kind {
            LocalKind::Value(_) => {
                let message = format!("{local} is bound but is no reference");
                self.error(VerifyErrorKind::Unbound, message);
            }
            LocalKind::Ref(_) => {
                // The reference may outlive this point, so the loop need not be around it.
                if let Some(own) = self.writable(&found)
                    && (self.binders.contains(&own) || self.active.contains(&own))
                {
                    let message = format!("{local} could change the loop variable {own}");
                    self.error(VerifyErrorKind::Write, message);
                }
            }
            LocalKind::ConstRef(_) => {}
        }
        if self.params.contains(&local) {
            let message = format!("the parameter {local} is bound again");
            self.error(VerifyErrorKind::Unbound, message);
        }
        if !self.same_layout(kind.ty(), found.ty) {
            let message = format!("{local} is bound to {}, of another layout", found.ty);
            self.error(VerifyErrorKind::Place, message);
        }
        if let Some(bound) = &mut self.bound {
            bound.insert(local);
        }
    }

    fn return_stmt(&mut self, value: &ReturnValue) {
        let function = self.function.map(|number| &self.program.functions[number]);
        let result = function.and_then(|function| function.result);
        match (value, result) {
            (ReturnValue::Nothing, None) => {}
            (ReturnValue::Value(value), Some(ty)) => {
                let mut locals = Locals::default();
                self.value_for(*value, ty, &mut locals);
                self.touch(&locals);
            }
            (ReturnValue::Copy(place), Some(ty)) => {
                if let Some(found) = self.place(place) {
                    self.copied(&found, ty);
                }
            }
            _ => {
                let message = "what is returned does not match the result";
                self.error(VerifyErrorKind::Return, message);
            }
        }
    }

    fn multiset_add(&mut self, multiset: &Found, value: &Arg) {
        let Type::Multiset { element, .. } = self.program.types.get(multiset.ty) else {
            return;
        };
        match value {
            Arg::Value(value) => {
                let mut locals = Locals::default();
                self.value_for(*value, *element, &mut locals);
                self.touch(&locals);
            }
            Arg::Copy(place) => {
                if let Some(found) = self.place(place) {
                    self.keeps_result(found.into, &multiset.locals);
                    self.copied(&found, *element);
                }
            }
            Arg::Ref(_) => {
                let message = "an element is added by value, not by reference";
                self.error(VerifyErrorKind::Call, message);
            }
        }
    }
}
