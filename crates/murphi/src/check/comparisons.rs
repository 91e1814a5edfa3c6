//! Comparisons: which values have an order, which can be equal, and which never are.

use hadal_ir::{BinaryOp as IrOp, Expr as Ir, UnaryOp as IrUnary};
use hadal_syntax::{Diagnostic, Span};

use super::Checker;
use super::exprs::computed;
use super::operand::{Access, Conversion, Operand, Purpose, ReadOnly, Undefined};
use super::types::{Kind, Ty};
use crate::ast::{BinaryOp, Expr};

impl Checker<'_> {
    /// One of `= != < <= > >=`.
    pub(super) fn comparison(
        &mut self,
        op: BinaryOp,
        op_span: Span,
        lhs: &Expr,
        rhs: &Expr,
    ) -> Operand {
        let left = self.expr(lhs);
        let right = self.expr(rhs);
        let equality = match op {
            BinaryOp::Eq => Some(true),
            BinaryOp::Ne => Some(false),
            _ => None,
        };
        match equality {
            Some(is_equal) => {
                let sides = [(left, lhs.span), (right, rhs.span)];
                self.equality(is_equal, op_span, sides)
            }
            None => self.ordering(op, op_span, (left, lhs.span), (right, rhs.span)),
        }
    }

    fn ordering(
        &mut self,
        op: BinaryOp,
        op_span: Span,
        (left, left_span): (Operand, Span),
        (right, right_span): (Operand, Span),
    ) -> Operand {
        let (a, b) = (left.ty(), right.ty());
        let is_ordered = self.types.is_number(a) || a == Ty::ERROR || a == Ty::BOOLEAN;
        if !is_ordered && self.types.is_simple(a) && self.types.same(a, b) {
            let (name, found) = (self.types.name(a), self.types.described(a));
            self.report(
                Diagnostic::error(format!("the values of `{name}` have no order"), op_span)
                    .context(left_span, format!("this is {found}"))
                    .note("only `=` and `!=` compare them"),
            );
            return Operand::Error;
        }
        let left = self.as_number(left, left_span, op.symbol());
        let right = self.as_number(right, right_span, op.symbol());
        let (Some(left), Some(right)) = (left, right) else {
            return Operand::Error;
        };
        if let (Some(a), Some(b)) = (left.constant(), right.constant())
            && self.compares_exactly(a, b)
        {
            return Operand::truth(match op {
                BinaryOp::Lt => a < b,
                BinaryOp::Le => a <= b,
                BinaryOp::Gt => a > b,
                _ => a >= b,
            });
        }
        let left = self.strict(left, left_span);
        let right = self.strict(right, right_span);
        let (Some(left), Some(right)) = (left, right) else {
            return Operand::Error;
        };
        let op = match op {
            BinaryOp::Lt => IrOp::Lt,
            BinaryOp::Le => IrOp::Le,
            BinaryOp::Gt => IrOp::Gt,
            _ => IrOp::Ge,
        };
        let expr = self.emit(Ir::Binary(op, left, right), op_span);
        computed(expr, Ty::BOOLEAN)
    }

    /// `=` or `!=` between two operands of any type.
    pub(super) fn equality(
        &mut self,
        is_equal: bool,
        op_span: Span,
        [(left, left_span), (right, right_span)]: [(Operand, Span); 2],
    ) -> Operand {
        for (operand, span) in [(&left, left_span), (&right, right_span)] {
            match operand {
                Operand::Undefined => {
                    self.report(
                        Diagnostic::error("nothing can be compared with `undefined`", span)
                            .help("write `isundefined(...)`"),
                    );
                    return Operand::Error;
                }
                Operand::Slot(_) => {
                    self.strict(operand.clone(), span);
                    return Operand::Error;
                }
                _ => {}
            }
        }
        let (a, b) = (left.ty(), right.ty());
        if a == Ty::ERROR || b == Ty::ERROR {
            return Operand::Error;
        }
        if let (Operand::Place(x), Operand::Place(y)) = (&left, &right)
            && !self.types.is_simple(a)
            && self.types.same(a, b)
        {
            if self.types.has_multiset(a) {
                let message = "multisets cannot be compared";
                self.report(Diagnostic::error(message, op_span));
                return Operand::Error;
            }
            let same = self.emit(Ir::SameBits(x.place.clone(), y.place.clone()), op_span);
            let expr = match is_equal {
                true => same,
                false => self.emit(Ir::Unary(IrUnary::Not, same), op_span),
            };
            return computed(expr, Ty::BOOLEAN);
        }
        let common = match self.conversion(a, b) {
            Conversion::Same => None,
            // A member is compared as a value of the union, where it always fits.
            Conversion::Map => match (self.types.kind(a), self.types.kind(b)) {
                (Kind::Union(_), Kind::Union(_)) => {
                    self.report_incomparable(a, b, op_span, left_span, right_span);
                    return Operand::Error;
                }
                (Kind::Union(_), _) => Some(a),
                _ => Some(b),
            },
            Conversion::None => {
                self.report_incomparable(a, b, op_span, left_span, right_span);
                return Operand::Error;
            }
        };
        if common.is_none() {
            if let (Some(a), Some(b)) = (left.constant(), right.constant())
                && self.compares_exactly(a, b)
            {
                return Operand::truth((a == b) == is_equal);
            }
            self.warn_never_equal(is_equal, op_span, &left, &right);
            self.warn_never_equal(is_equal, op_span, &right, &left);
        }
        let mut side = |operand: Operand, span: Span| {
            let undefined = self.compared_undefined(&operand);
            match common {
                Some(union) => {
                    let purpose = Purpose::new("needed is a");
                    self.convert(operand, span, union, undefined, &purpose)
                }
                None => self.value(operand, span, undefined),
            }
        };
        let left = side(left, left_span);
        let right = side(right, right_span);
        let (Some(left), Some(right)) = (left, right) else {
            return Operand::Error;
        };
        let is_lax =
            self.program.may_yield_undefined(left) || self.program.may_yield_undefined(right);
        let op = match (is_lax, is_equal) {
            (true, _) => IrOp::Same,
            (false, true) => IrOp::Eq,
            (false, false) => IrOp::Ne,
        };
        let mut expr = self.emit(Ir::Binary(op, left, right), op_span);
        if is_lax && !is_equal {
            expr = self.emit(Ir::Unary(IrUnary::Not, expr), op_span);
        }
        computed(expr, Ty::BOOLEAN)
    }

    /// What becomes of an undefined operand of `=`, `!=` or `switch`. Parameters of rulesets and
    /// variables of loops always have a value.
    fn compared_undefined(&self, operand: &Operand) -> Undefined {
        let has_value = matches!(operand, Operand::Place(lvalue) if matches!(
            lvalue.access,
            Access::ReadOnly(ReadOnly::LoopVariable | ReadOnly::RulesetParameter, _)
        ));
        match has_value {
            true => Undefined::Fault,
            false => self.undefined_element(operand.ty()),
        }
    }

    /// What becomes of an undefined value of a type where values are compared or chosen.
    pub(super) fn undefined_element(&self, ty: Ty) -> Undefined {
        match self.dialect.compares_undefined_elements() && self.types.holds_elements(ty) {
            true => Undefined::PassedOn,
            false => Undefined::Fault,
        }
    }

    fn report_incomparable(&mut self, a: Ty, b: Ty, at: Span, left: Span, right: Span) {
        let (left_name, right_name) = (self.types.described(a), self.types.described(b));
        let mut diagnostic = Diagnostic::error("these cannot be compared", at)
            .context(left, format!("this is {left_name}"))
            .context(right, format!("this is {right_name}"));
        if let (Kind::Scalarset { .. }, Kind::Scalarset { .. }) =
            (self.types.kind(a), self.types.kind(b))
        {
            diagnostic = diagnostic.note("values of two scalarsets never mix");
        }
        self.report(diagnostic);
    }

    /// Warns of a comparison with a number that the other side cannot be.
    fn warn_never_equal(&mut self, is_equal: bool, span: Span, side: &Operand, other: &Operand) {
        let (Operand::Place(lvalue), Some(value)) = (side, other.constant()) else {
            return;
        };
        let Kind::Range { lo, hi } = *self.types.kind(lvalue.ty) else {
            return;
        };
        if (lo..=hi).contains(&value) || self.dead > 0 {
            return;
        }
        let truth = if is_equal { "false" } else { "true" };
        self.report(
            Diagnostic::warning(format!("this comparison is always {truth}"), span)
                .note(format!("{value} is not in {lo}..{hi}")),
        );
    }
}
