//! Constants: folding of operators, expressions that must be constant, and overrides from the
//! command line.
//!
//! A fold that would fault is reported and left to run time.

use hadal_ir::Arithmetic;
use hadal_ir::walk::{Mention, Reach};
use hadal_syntax::{Diagnostic, Span, did_you_mean};

use super::Checker;
use super::operand::Operand;
use super::scope::Def;
use super::types::{Kind, Ty};
use crate::ast::{BinaryOp, ConstDecl, Expr, Name, UnaryOp};

/// Two's complement of 32 bits.
pub(super) const WRAPPING: Arithmetic = Arithmetic {
    min: i32::MIN as i64,
    max: i32::MAX as i64,
    wraps: true,
};

/// Why an operation on constants has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FoldFault {
    DivisionByZero,
    Overflow,
    /// Left to run time without a report.
    Later,
}

impl Checker<'_> {
    /// How constants are computed: as the model computes, but never narrower than 64 bits where
    /// overflow is a fault.
    fn folding(&self) -> Arithmetic {
        match self.dialect.arithmetic_wraps() {
            true => WRAPPING,
            false => Arithmetic::default(),
        }
    }

    /// A number of the text: integers must be wide enough for it.
    pub(super) fn number(&mut self, value: i64) -> Operand {
        self.numbers.0 = self.numbers.0.min(value);
        self.numbers.1 = self.numbers.1.max(value);
        computed_number(value)
    }

    /// Whether a result of constants is the same in whatever width the model computes. Where that
    /// depends on the text, an operation with numbers that may not fit is left to run time.
    fn is_exact(&self, numbers: &[i64]) -> bool {
        !self.dialect.sizes_integers_by_text()
            || self.in_constant
            || numbers.iter().all(|number| (0..=127).contains(number))
    }

    /// Whether a comparison of constants has the same result in whatever width the model computes:
    /// negative numbers are large ones where integers are unsigned.
    pub(super) fn compares_exactly(&self, a: i64, b: i64) -> bool {
        !self.dialect.sizes_integers_by_text() || self.in_constant || (a >= 0 && b >= 0)
    }

    /// A prefix operator on a number.
    pub(super) fn fold_unary(&self, op: UnaryOp, a: i64) -> Result<Operand, FoldFault> {
        let exact = match op {
            UnaryOp::Neg => -i128::from(a),
            UnaryOp::Plus => i128::from(a),
            UnaryOp::BitNot => i128::from(!a),
            UnaryOp::Not => return Err(FoldFault::Later),
        };
        let folded = fit(exact, self.folding())?;
        match self.is_exact(&[a, folded]) {
            true => Ok(computed_number(folded)),
            false => Err(FoldFault::Later),
        }
    }

    /// An operator between two numbers that yields a number.
    pub(super) fn fold_binary(&self, op: BinaryOp, a: i64, b: i64) -> Result<Operand, FoldFault> {
        let folded = self.fold(op, a, b)?;
        match self.is_exact(&[a, b, folded]) {
            true => Ok(computed_number(folded)),
            false => Err(FoldFault::Later),
        }
    }

    fn fold(&self, op: BinaryOp, a: i64, b: i64) -> Result<i64, FoldFault> {
        let (wide_a, wide_b) = (i128::from(a), i128::from(b));
        let exact = match op {
            BinaryOp::Add => wide_a + wide_b,
            BinaryOp::Sub => wide_a - wide_b,
            BinaryOp::Mul => wide_a * wide_b,
            BinaryOp::Div | BinaryOp::Mod if b == 0 => return Err(FoldFault::DivisionByZero),
            BinaryOp::Div => wide_a / wide_b,
            BinaryOp::Mod => wide_a % wide_b,
            BinaryOp::And => i128::from(a & b),
            BinaryOp::Or => i128::from(a | b),
            BinaryOp::Xor => i128::from(a ^ b),
            BinaryOp::Shl | BinaryOp::Shr => {
                let left = if op == BinaryOp::Shl { wide_b } else { -wide_b };
                let exact = match left {
                    0..=63 => wide_a << left,
                    -63..=-1 => wide_a >> -left,
                    _ => 0,
                };
                let folded = fit(exact, self.folding());
                return folded.map_err(|_| FoldFault::Later);
            }
            _ => return Err(FoldFault::Later),
        };
        fit(exact, self.folding())
    }

    /// Reports a fold that failed.
    pub(super) fn report_fold(&mut self, fault: FoldFault, span: Span) {
        let diagnostic = match fault {
            FoldFault::DivisionByZero => Diagnostic::error("division by zero", span),
            FoldFault::Overflow => Diagnostic::error("this does not fit in 64 bits", span),
            FoldFault::Later => return,
        };
        self.report_certain_fault(diagnostic);
    }

    /// An expression that must be known now.
    pub(super) fn constant(&mut self, expr: &Expr, what: &str) -> Option<(i64, Ty)> {
        let n_errors = self.diagnostics.n_errors();
        let operand = self.constant_operand(expr);
        match operand {
            Operand::Const { value, ty } => Some((value, ty)),
            Operand::Error => None,
            _ if self.diagnostics.n_errors() > n_errors => None,
            _ => {
                self.report(
                    Diagnostic::error(format!("{what} must be a constant"), expr.span)
                        .label("known only when the model runs"),
                );
                None
            }
        }
    }

    /// An expression that is computed now, exactly, if it can be.
    pub(super) fn constant_operand(&mut self, expr: &Expr) -> Operand {
        let outer = std::mem::replace(&mut self.in_constant, true);
        let operand = self.expr(expr);
        self.in_constant = outer;
        operand
    }

    /// Whether a product is 0 although a factor is known only when the model runs: rumur computes
    /// constants with calls that are multiplied by 0.
    pub(super) fn is_multiplied_away(&self, a: &Operand, b: &Operand) -> bool {
        let calls = |operand: &Operand| match operand {
            Operand::Value { expr, .. } => {
                let mut calls = false;
                Reach::new(&self.program).visit(Mention::Expr(*expr), &mut |mention| {
                    calls |= matches!(mention, Mention::Function(_));
                });
                calls
            }
            _ => false,
        };
        self.in_constant
            && self.dialect.multiplies_calls_away()
            && ((a.constant() == Some(0) && calls(b)) || (b.constant() == Some(0) && calls(a)))
    }

    /// A number that must be known now.
    pub(super) fn constant_number(&mut self, expr: &Expr, what: &str) -> Option<i64> {
        let (value, ty) = self.constant(expr, what)?;
        if !self.types.is_number(ty) {
            let found = self.types.described(ty);
            self.report(
                Diagnostic::error(format!("{what} must be a number"), expr.span)
                    .label(format!("this is {found}")),
            );
            return None;
        }
        Some(value)
    }

    /// A declaration of constants, at the top level or inside something.
    pub(super) fn const_decl(&mut self, decl: &ConstDecl, is_global: bool) {
        let found = self.constant(&decl.value, "the value of a constant");
        for name in &decl.names {
            let Some((mut value, ty)) = found else {
                if is_global {
                    self.constant_names.push(name.text.clone());
                    self.overrides.remove(&*name.text);
                }
                self.declare(name, Def::Error);
                continue;
            };
            if self.types.is_number(ty) {
                self.numbers.1 = self.numbers.1.max(value);
            }
            if is_global {
                if let Some(typed) = self.overrides.remove(&*name.text) {
                    value = self.overridden(name, ty, typed).unwrap_or(value);
                }
                self.constant_names.push(name.text.clone());
                let shown = self.types.value_name(ty, value);
                self.constants.push((name.to_string(), shown));
            }
            self.declare(name, Def::Const { value, ty });
        }
    }

    /// The value that a constant gets from the command line.
    fn overridden(&mut self, name: &Name, ty: Ty, typed: &str) -> Option<i64> {
        let typed = typed.trim();
        let value = match self.types.kind(ty) {
            Kind::Boolean if typed.eq_ignore_ascii_case("true") => Some(1),
            Kind::Boolean if typed.eq_ignore_ascii_case("false") => Some(0),
            Kind::Enum(members) => {
                let position = members.iter().position(|member| **member == *typed);
                position.map(|idx| idx as i64)
            }
            Kind::Integer | Kind::Range { .. } => {
                let limits = self.folding();
                let hex = typed.strip_prefix("0x").or(typed.strip_prefix("0X"));
                let number = match hex {
                    Some(digits) => i64::from_str_radix(digits, 16).ok(),
                    None => typed.parse::<i64>().ok(),
                };
                number.filter(|number| (limits.min..=limits.max).contains(number))
            }
            _ => None,
        };
        if let Some(value) = value {
            if self.types.is_number(ty) {
                self.number(value);
            }
            return Some(value);
        }
        let wanted = match self.types.kind(ty) {
            Kind::Boolean => "`true` or `false`".to_owned(),
            Kind::Enum(_) => format!("a member of `{}`", self.types.name(ty)),
            _ => "an integer".to_owned(),
        };
        let message = format!("constant `{name}` cannot be overridden by `{typed}`");
        self.report(Diagnostic::error(message, name.span).label(format!("needs {wanted}")));
        None
    }

    /// A message for each override that no constant took.
    pub(super) fn unused_overrides(&self) -> Vec<String> {
        let mut names: Vec<&str> = self.overrides.keys().copied().collect();
        names.sort_unstable();
        let message = |name: &str| {
            let known = || self.constant_names.iter().map(|known| &**known);
            let mut message = format!("the model has no constant `{name}`");
            if let Some(near) = did_you_mean(name, known()) {
                message.push_str(&format!("; did you mean `{near}`?"));
            }
            const LISTED_MAX: usize = 20;
            let mut listed: Vec<&str> = known().take(LISTED_MAX).collect();
            match known().count() {
                0 => message.push_str(" (it has none)"),
                n => {
                    if n > LISTED_MAX {
                        listed.push("...");
                    }
                    message.push_str(&format!(" (it has {})", listed.join(", ")));
                }
            }
            message
        };
        names.into_iter().map(message).collect()
    }
}

/// A number that is no part of the text.
fn computed_number(value: i64) -> Operand {
    Operand::Const {
        value,
        ty: Ty::INTEGER,
    }
}

/// An exact result in the range of the arithmetic.
fn fit(exact: i128, arithmetic: Arithmetic) -> Result<i64, FoldFault> {
    if arithmetic.wraps {
        return Ok(i64::from(exact as i32));
    }
    match i64::try_from(exact) {
        Ok(value) if (arithmetic.min..=arithmetic.max).contains(&value) => Ok(value),
        _ => Err(FoldFault::Overflow),
    }
}
