//! What quantifiers, loops and rulesets run over.

use hadal_ir::{By, Domain as IrDomain, LocalId, LocalKind, ParamDomain, Place};
use hadal_syntax::{Diagnostic, Span};

use super::Checker;
use super::operand::{Access, Operand, Origin, ReadOnly};
use super::scope::{Def, Object};
use super::types::Ty;
use crate::ast::{Domain, Expr, Quantifier, TypeExpr};

/// What to run over, and the type of the variable that does.
pub(super) struct Bound<D> {
    pub(super) domain: D,
    pub(super) ty: Ty,
}

impl Checker<'_> {
    /// The domain of a loop or a quantified expression.
    pub(super) fn domain(&mut self, quantifier: &Quantifier) -> Option<Bound<IrDomain>> {
        match &quantifier.domain {
            Domain::Type(ty) => {
                let ty = self.domain_type(ty)?;
                let domain = IrDomain::Type(self.types.ir(ty));
                Some(Bound { domain, ty })
            }
            Domain::Range { from, to, by } => self.span(from, to, by.as_deref(), quantifier.span),
        }
    }

    fn domain_type(&mut self, expr: &TypeExpr) -> Option<Ty> {
        let ty = self.type_expr(expr);
        if ty == Ty::ERROR {
            return None;
        }
        if !self.types.is_simple(ty) {
            let found = self.types.described(ty);
            self.report(
                Diagnostic::error(
                    "only the values of a simple type can be run over",
                    expr.span,
                )
                .label(format!("this is {found}")),
            );
            return None;
        }
        Some(ty)
    }

    fn bound(&mut self, expr: &Expr) -> Option<Operand> {
        let operand = self.constant_operand(expr);
        let ty = operand.ty();
        if ty == Ty::ERROR {
            self.strict(operand, expr.span);
            return None;
        }
        if !self.types.is_number(ty) {
            let found = self.types.described(ty);
            self.report(
                Diagnostic::error("the bounds of a range must be numbers", expr.span)
                    .label(format!("this is {found}"))
                    .help("to run over all values of a type, write `i: type`"),
            );
            return None;
        }
        Some(operand)
    }

    fn span(
        &mut self,
        from: &Expr,
        to: &Expr,
        by: Option<&Expr>,
        span: Span,
    ) -> Option<Bound<IrDomain>> {
        let first = self.bound(from);
        let last = self.bound(to);
        let step = match by {
            Some(by) => Some((self.bound(by)?, by.span)),
            None => None,
        };
        let (first, last) = (first?, last?);
        self.count_bounds(&first, &last);
        let ends = first.constant().zip(last.constant());
        let constant_step = step.as_ref().and_then(|(step, _)| step.constant());
        self.check_step(ends, constant_step, step.is_some(), span)?;
        let ty = match ends {
            // The variable can be as narrow as the range, unless no type is that wide.
            Some((a, b)) if i128::from(a).abs_diff(i128::from(b)) < (1 << 62) => {
                let types = &mut self.program.types;
                self.types.range(types, a.min(b), a.max(b))
            }
            _ => Ty::INTEGER,
        };
        let from = self.strict(first, from.span)?;
        let to = self.strict(last, to.span)?;
        let by = match step {
            None if self.dialect.loops_count_down() => By::Toward,
            None => By::Constant(1),
            Some((step, span)) => match constant_step {
                // Where loops count down, a step in the wrong direction is a fault.
                Some(step) if !self.dialect.loops_count_down() => By::Constant(step),
                _ => By::Step(self.strict(step, span)?),
            },
        };
        let domain = IrDomain::Span { from, to, by };
        Some(Bound { domain, ty })
    }

    /// Integers must be wide enough for the bounds of a loop; where those are computed, as wide
    /// as can be.
    fn count_bounds(&mut self, first: &Operand, last: &Operand) {
        for bound in [first, last] {
            match bound.constant() {
                Some(bound) => {
                    self.number(bound);
                }
                None => self.has_computed_bounds = true,
            }
        }
    }

    /// Rejects steps that lead nowhere.
    fn check_step(
        &mut self,
        ends: Option<(i64, i64)>,
        step: Option<i64>,
        has_step: bool,
        span: Span,
    ) -> Option<()> {
        if step == Some(0) {
            self.report(Diagnostic::error("a step of 0 leads nowhere", span));
            return None;
        }
        if !self.dialect.loops_count_down() || self.dead > 0 {
            return Some(());
        }
        let is_inverted = match (ends, step) {
            (Some((from, to)), None) => !has_step && to < from,
            (Some((from, to)), Some(step)) => (to < from) != (step < 0) && from != to,
            _ => false,
        };
        if is_inverted {
            self.report(
                Diagnostic::error("the step leads away from the end of the range", span)
                    .note("in the dialect rumur a range is never empty"),
            );
            return None;
        }
        Some(())
    }

    /// Declares the variable of a loop or quantified expression in the innermost scope.
    pub(super) fn declare_loop_variable(
        &mut self,
        quantifier: &Quantifier,
        bound: Option<Bound<IrDomain>>,
    ) -> Option<(LocalId, IrDomain)> {
        let Some(Bound { domain, ty }) = bound else {
            self.declare(&quantifier.name, Def::Error);
            return None;
        };
        let local = self.declare_bound(quantifier, ty, ReadOnly::LoopVariable);
        Some((local, domain))
    }

    fn declare_bound(&mut self, quantifier: &Quantifier, ty: Ty, why: ReadOnly) -> LocalId {
        let name = &quantifier.name;
        self.charge_local(ty, name.span);
        let kind = LocalKind::Value(self.types.ir(ty));
        let local = self.unit.add_local(name, kind);
        let object = Object {
            place: Place::local(local),
            ty,
            access: Access::ReadOnly(why, name.span),
            origin: Origin::Local,
            expansion: None,
        };
        self.declare(name, Def::Object(object));
        local
    }

    /// Declares a parameter of a ruleset, whose values are known now.
    pub(super) fn declare_parameter(
        &mut self,
        quantifier: &Quantifier,
    ) -> Option<(LocalId, ParamDomain, u64)> {
        let bound = match &quantifier.domain {
            Domain::Type(ty) => self.domain_type(ty).map(|ty| Bound {
                domain: ParamDomain::Type(self.types.ir(ty)),
                ty,
            }),
            Domain::Range { from, to, by } => {
                self.constant_span(from, to, by.as_deref(), quantifier.span)
            }
        };
        let Some(Bound { domain, ty }) = bound else {
            self.declare(&quantifier.name, Def::Error);
            return None;
        };
        let n_values = domain.n_values(&self.program.types);
        let local = self.declare_bound(quantifier, ty, ReadOnly::RulesetParameter);
        Some((local, domain, n_values))
    }

    fn constant_span(
        &mut self,
        from: &Expr,
        to: &Expr,
        by: Option<&Expr>,
        span: Span,
    ) -> Option<Bound<ParamDomain>> {
        let what = "the bound of a ruleset";
        let first = self.constant_number(from, what);
        let last = self.constant_number(to, what);
        let step = match by {
            Some(by) => Some(self.constant_number(by, "the step of a ruleset")?),
            None => None,
        };
        let (from, to) = (first?, last?);
        self.check_step(Some((from, to)), step, step.is_some(), span)?;
        let by = step.unwrap_or(1);
        let ty = match i128::from(from).abs_diff(i128::from(to)) < (1 << 62) {
            true => {
                let types = &mut self.program.types;
                self.types.range(types, from.min(to), from.max(to))
            }
            false => Ty::INTEGER,
        };
        let domain = ParamDomain::Span { from, to, by };
        Some(Bound { domain, ty })
    }
}
