//! When an expression can be evaluated without a fault.
//!
//! A condition stops at its first false part, which often protects the next one: `defined(x) & x = 3`.
//! A distance takes all parts into account, so each must protect itself.

use hadal_ir::expr::{Arg, BinaryOp as Op, Expr, Place, Projection, Root};
use hadal_ir::ids::ExprId;
use hadal_ir::types::Type;

use crate::builder::Builder;

impl Builder<'_> {
    /// Conditions that together, in their order, protect an evaluation of `id` from reading what is
    /// undefined or not there. What a function does is not looked into, and parts that are evaluated
    /// only after others are protected by these.
    pub(crate) fn protections(&mut self, id: ExprId) -> Vec<ExprId> {
        let mut checks = Vec::new();
        self.protect(id, &mut checks);
        checks
    }

    fn protect(&mut self, id: ExprId, checks: &mut Vec<ExprId>) {
        match self.program.expr(id).clone() {
            Expr::Int(_) | Expr::Bool(_) | Expr::Undefined => {}
            Expr::Read(place) | Expr::IsUndefined(place) => self.protect_place(&place, checks),
            Expr::Defined(value) => {
                self.protect(value, checks);
                if let Expr::Read(place) = self.program.expr(value).clone() {
                    self.protect_value(place, checks);
                }
            }
            Expr::Unary(_, value) | Expr::Remap { value, .. } | Expr::InRange { value, .. } => {
                self.protect(value, checks);
            }
            Expr::Binary(op, left, right) => {
                self.protect(left, checks);
                self.protect(right, checks);
                if matches!(op, Op::Div | Op::Rem) && self.constant(right).is_none() {
                    let zero = self.int(0);
                    let divides = self.binary(Op::Ne, right, zero);
                    checks.push(divides);
                }
            }
            // The first part is always evaluated; it protects the others.
            Expr::And(parts) | Expr::Or(parts) => {
                if let Some(&first) = parts.first() {
                    self.protect(first, checks);
                }
            }
            Expr::Cond(condition, ..) => self.protect(condition, checks),
            // What its body reads depends on its variable.
            Expr::Quantified { .. } => {}
            Expr::SameBits(a, b) => {
                self.protect_place(&a, checks);
                self.protect_place(&b, checks);
            }
            Expr::Call { args, .. } => {
                for arg in args {
                    match arg {
                        Arg::Value(value) => self.protect(value, checks),
                        Arg::Copy(place) | Arg::Ref(place) => self.protect_place(&place, checks),
                    }
                }
            }
            Expr::Present { multiset, slot } => {
                self.protect_place(&multiset, checks);
                self.protect(slot, checks);
            }
        }
    }

    /// That the place exists.
    fn protect_place(&mut self, place: &Place, checks: &mut Vec<ExprId>) {
        for (length, step) in place.path.iter().enumerate() {
            let &Projection::Index(index) = step else {
                continue;
            };
            self.protect(index, checks);
            let whole = Place {
                root: place.root.clone(),
                path: place.path[..length].to_vec(),
            };
            let Some(ty) = self.type_of(&whole) else {
                return;
            };
            match self.program.types.get(ty) {
                Type::Array { index: ty, .. } => {
                    let Some(simple) = self.program.types.simple(*ty).cloned() else {
                        return;
                    };
                    let is_inside = |value: i64| simple.contains(value);
                    // An index of the type itself, once it is defined, is in its range.
                    let is_known = match self.constant(index) {
                        Some(value) => is_inside(value),
                        None => self
                            .simple_of(index)
                            .is_some_and(|it| is_inside(it.lo) && is_inside(it.hi)),
                    };
                    if !is_known {
                        let is_inside = self.expr(Expr::InRange {
                            value: index,
                            lo: simple.lo,
                            hi: simple.hi,
                        });
                        checks.push(is_inside);
                    }
                }
                Type::Multiset { .. } => {
                    let is_there = self.expr(Expr::Present {
                        multiset: whole,
                        slot: index,
                    });
                    checks.push(is_there);
                }
                _ => {}
            }
        }
    }

    /// That the place, which exists, holds a value.
    fn protect_value(&mut self, place: Place, checks: &mut Vec<ExprId>) {
        let is_bound = matches!(place.root, Root::Local(local) if self.bound.contains(&local));
        let ty = self.type_of(&place);
        let simple = ty.and_then(|ty| self.program.types.simple(ty));
        if is_bound || simple.is_none_or(|simple| simple.is_total) {
            return;
        }
        let is_undefined = self.expr(Expr::IsUndefined(place));
        let is_defined = self.not(is_undefined);
        checks.push(is_defined);
    }
}
