//! Multisets: indices of their elements, and the expressions and statements that only they have.

use hadal_ir::{
    Arg, Domain, Expr, ExprId, LocalId, LocalKind, Place, Quantifier, Root, Stmt, StmtKind,
};
use hadal_syntax::{Diagnostic, Span};

use super::Checker;
use super::operand::{Lvalue, Operand, Purpose, Undefined};
use super::scope::{Def, Slot};
use super::types::{Kind, Ty};
use crate::ast::{self, Designator, Name};

impl Checker<'_> {
    /// An index of an element, to be used on this multiset. One of another multiset is rejected
    /// where that can be seen: the number of a slot has no meaning there.
    pub(super) fn slot(
        &mut self,
        operand: Operand,
        multiset: &Lvalue,
        span: Span,
    ) -> Option<ExprId> {
        match operand {
            Operand::Error => None,
            Operand::Slot(slot)
                if self.types.same(slot.multiset, multiset.ty)
                    && !matches!((slot.var, &multiset.place.root),
                        (Some(own), Root::Var(var)) if own != *var) =>
            {
                Some(self.read_slot(slot.local, span))
            }
            _ => {
                self.report(
                    Diagnostic::error("this is not an index of this multiset", span).help(
                        "an index is bound by `choose`, `multisetcount` or `multisetremovepred`",
                    ),
                );
                None
            }
        }
    }

    fn read_slot(&mut self, local: LocalId, span: Span) -> ExprId {
        let read = self.emit(Expr::Read(Place::local(local)), span);
        self.emit(Expr::Defined(read), span)
    }

    /// A designator that must be a multiset.
    pub(super) fn multiset(&mut self, designator: &Designator) -> Option<Lvalue> {
        let operand = self.designator(designator);
        self.as_multiset(operand, designator.span)
    }

    fn as_multiset(&mut self, operand: Operand, span: Span) -> Option<Lvalue> {
        match operand {
            Operand::Error => None,
            Operand::Place(lvalue)
                if matches!(self.types.kind(lvalue.ty), Kind::Multiset { .. }) =>
            {
                Some(lvalue)
            }
            other => {
                let found = self.types.described(other.ty());
                self.report(
                    Diagnostic::error("a multiset is needed here", span)
                        .label(format!("this is {found}")),
                );
                None
            }
        }
    }

    /// The type of the slots of a multiset, numbered from 0.
    pub(super) fn slot_type(&mut self, multiset: Ty) -> (Ty, u32) {
        let capacity = match self.types.kind(multiset) {
            Kind::Multiset { capacity, .. } => *capacity,
            _ => 1,
        };
        let types = &mut self.program.types;
        let ty = self.types.range(types, 0, i64::from(capacity) - 1);
        (ty, capacity)
    }

    /// Declares the index of an element in the innermost scope.
    pub(super) fn declare_slot(&mut self, name: &Name, multiset: &Lvalue) -> (LocalId, Ty) {
        let (slot_ty, _) = self.slot_type(multiset.ty);
        let kind = LocalKind::Value(self.types.ir(slot_ty));
        let local = self.unit.add_local(name, kind);
        let slot = Slot {
            local,
            multiset: multiset.ty,
            var: match multiset.place.root {
                Root::Var(var) => Some(var),
                _ => None,
            },
        };
        self.declare(name, Def::Slot(slot));
        (local, slot_ty)
    }

    /// `multisetcount(i: m, condition)`
    pub(super) fn multiset_count(
        &mut self,
        name: &Name,
        multiset: &Designator,
        condition: &ast::Expr,
        span: Span,
    ) -> Operand {
        let Some(lvalue) = self.multiset(multiset) else {
            self.skip_with(name, condition);
            return Operand::Error;
        };
        self.scopes.push();
        let (var, slot_ty) = self.declare_slot(name, &lvalue);
        let holds = self.condition(condition, "the condition of `multisetcount`");
        self.scopes.pop();
        let Some(holds) = holds else {
            return Operand::Error;
        };
        let slot = self.read_slot(var, name.span);
        let present = Expr::Present {
            multiset: lvalue.place,
            slot,
        };
        let present = self.emit(present, multiset.span);
        let body = self.emit(Expr::And(vec![present, holds]), condition.span);
        let count = Expr::Quantified {
            quantifier: Quantifier::Count,
            var,
            domain: Domain::Type(self.types.ir(slot_ty)),
            body,
        };
        Operand::Value {
            expr: self.emit(count, span),
            ty: Ty::INTEGER,
            lax: false,
        }
    }

    /// Checks a condition although its multiset is none.
    fn skip_with(&mut self, name: &Name, condition: &ast::Expr) {
        self.scopes.push();
        self.declare(name, Def::Error);
        self.expr(condition);
        self.scopes.pop();
    }

    /// `multisetadd(element, m)`
    pub(super) fn multiset_add(
        &mut self,
        element: &ast::Expr,
        multiset: &Designator,
    ) -> Option<StmtKind> {
        let operand = self.expr(element);
        let target = self.target(multiset, "cannot add to")?;
        let target = self.as_multiset(Operand::Place(target), multiset.span)?;
        let Kind::Multiset { element: ty, .. } = *self.types.kind(target.ty) else {
            return None;
        };
        let purpose = Purpose {
            wants: "the elements are",
            context: Some((multiset.span, "of this multiset".to_owned())),
            note: None,
        };
        let value = self.value_arg(operand, element.span, ty, &purpose)?;
        Some(StmtKind::MultisetAdd {
            multiset: target.place,
            value,
        })
    }

    /// An argument for something that takes a copy.
    pub(super) fn value_arg(
        &mut self,
        operand: Operand,
        span: Span,
        ty: Ty,
        purpose: &Purpose<'_>,
    ) -> Option<Arg> {
        if ty == Ty::ERROR {
            return None;
        }
        if self.types.is_simple(ty) {
            let undefined = match &operand {
                Operand::Place(_) | Operand::Undefined => Undefined::PassedOn,
                _ => Undefined::Fault,
            };
            let value = self.convert(operand, span, ty, undefined, purpose)?;
            return Some(Arg::Value(value));
        }
        let lvalue = self.aggregate(operand, span, ty, purpose)?;
        Some(Arg::Copy(lvalue.place))
    }

    /// `multisetremove(i, m)`
    pub(super) fn multiset_remove(
        &mut self,
        index: &ast::Expr,
        multiset: &Designator,
    ) -> Option<StmtKind> {
        let operand = self.expr(index);
        let target = self.target(multiset, "cannot remove from")?;
        let target = self.as_multiset(Operand::Place(target), multiset.span)?;
        let slot = self.slot(operand, &target, index.span)?;
        Some(StmtKind::MultisetRemove {
            multiset: target.place,
            slot,
        })
    }

    /// `multisetremovepred(i: m, condition)`: over all slots, in use or not.
    pub(super) fn multiset_remove_pred(
        &mut self,
        name: &Name,
        multiset: &Designator,
        condition: &ast::Expr,
        span: Span,
    ) -> Option<StmtKind> {
        let target = self.target(multiset, "cannot remove from");
        let target = target.and_then(|t| self.as_multiset(Operand::Place(t), multiset.span));
        let Some(target) = target else {
            self.skip_with(name, condition);
            return None;
        };
        self.scopes.push();
        let (var, slot_ty) = self.declare_slot(name, &target);
        let holds = self.condition(condition, "the condition of `multisetremovepred`");
        self.scopes.pop();
        let holds = holds?;
        let slot = self.read_slot(var, name.span);
        let present = Expr::Present {
            multiset: target.place.clone(),
            slot,
        };
        let present = self.emit(present, multiset.span);
        let chosen = self.emit(Expr::And(vec![present, holds]), condition.span);
        let slot = self.read_slot(var, name.span);
        let site = self.site(span);
        let remove = StmtKind::MultisetRemove {
            multiset: target.place,
            slot,
        };
        let remove = Stmt { kind: remove, site };
        let arms = vec![(chosen, vec![remove])];
        let otherwise = Vec::new();
        let body = vec![Stmt {
            kind: StmtKind::If { arms, otherwise },
            site,
        }];
        Some(StmtKind::For {
            var,
            domain: Domain::Type(self.types.ir(slot_ty)),
            body,
        })
    }
}
