//! What is known about the guard of a rule where the value of its first parameter is fixed: results
//! of expressions, and which evaluations cannot fault.
//!
//! `fork[(i + 1) % N]` is one certain element for each `i`, though its index is an operation, which
//! in general might leave the array.

use hadal_ir::expr::{BinaryOp, Expr, Place, Projection, Root, UnaryOp};
use hadal_ir::ids::{ExprId, LocalId};

use super::fault::Faults;
use crate::unit::{Parts, Unit};

/// The first parameter of a rule and its value, where there is one and it is fixed.
#[derive(Clone, Copy)]
pub(crate) struct Fixed<'a, 'p> {
    pub(crate) unit: &'a Unit<'p>,
    pub(crate) param: Option<(LocalId, i64)>,
}

/// Nested expressions that are looked at; deeper ones are unknown.
const MAX_DEPTH: u32 = 24;

impl Fixed<'_, '_> {
    /// The value of an expression, where it depends on nothing but the parameter.
    pub(crate) fn value(&self, id: ExprId) -> Option<i64> {
        self.value_within(id, MAX_DEPTH)
    }

    /// The truth of an expression, where it depends on nothing but the parameter.
    pub(crate) fn truth(&self, id: ExprId) -> Option<bool> {
        self.value(id).map(|value| value != 0)
    }

    fn value_within(&self, id: ExprId, depth: u32) -> Option<i64> {
        let depth = depth.checked_sub(1)?;
        match self.unit.program.expr(id) {
            Expr::Int(value) => Some(*value),
            Expr::Bool(truth) => Some(i64::from(*truth)),
            Expr::Read(place) => match (self.param, &place.root) {
                (Some((param, value)), Root::Local(local)) => {
                    (*local == param && place.path.is_empty()).then_some(value)
                }
                _ => None,
            },
            Expr::Defined(value) => self.value_within(*value, depth),
            Expr::Unary(UnaryOp::Not, value) => {
                Some(i64::from(self.value_within(*value, depth)? == 0))
            }
            Expr::Unary(UnaryOp::Neg | UnaryOp::BitNot, _) => None,
            Expr::Binary(op, a, b) => {
                let a = self.value_within(*a, depth)?;
                let b = self.value_within(*b, depth)?;
                self.binary(*op, a, b)
            }
            // A part that decides may be preceded by others that do not matter unless they fault.
            Expr::And(parts) => self.first_that_is(false, parts, depth),
            Expr::Or(parts) => self.first_that_is(true, parts, depth),
            Expr::Cond(condition, yes, no) => match self.value_within(*condition, depth)? {
                0 => self.value_within(*no, depth),
                _ => self.value_within(*yes, depth),
            },
            Expr::InRange { value, lo, hi } => {
                let value = self.value_within(*value, depth)?;
                Some(i64::from((*lo..=*hi).contains(&value)))
            }
            _ => None,
        }
    }

    /// The result of a sequence that ends where a part is `decides`.
    fn first_that_is(&self, decides: bool, parts: &[ExprId], depth: u32) -> Option<i64> {
        for &part in parts {
            if (self.value_within(part, depth)? != 0) == decides {
                return Some(i64::from(decides));
            }
        }
        Some(i64::from(!decides))
    }

    /// The result of an operation that neither faults nor wraps around.
    fn binary(&self, op: BinaryOp, a: i64, b: i64) -> Option<i64> {
        let truth = |truth: bool| Some(i64::from(truth));
        let exact = match op {
            BinaryOp::Eq | BinaryOp::Same => return truth(a == b),
            BinaryOp::Ne => return truth(a != b),
            BinaryOp::Lt => return truth(a < b),
            BinaryOp::Le => return truth(a <= b),
            BinaryOp::Gt => return truth(a > b),
            BinaryOp::Ge => return truth(a >= b),
            BinaryOp::Add => a.checked_add(b)?,
            BinaryOp::Sub => a.checked_sub(b)?,
            BinaryOp::Mul => a.checked_mul(b)?,
            BinaryOp::Div => a.checked_div(b)?,
            BinaryOp::Rem => a.checked_rem(b)?,
            _ => return None,
        };
        let arithmetic = self.unit.program.arithmetic;
        (arithmetic.min..=arithmetic.max)
            .contains(&exact)
            .then_some(exact)
    }

    /// Whether evaluating the expression may fault. What is evaluated only if something else is
    /// known to be true or false does not matter if it is not.
    pub(crate) fn may_fault(&self, id: ExprId, faults: &mut Faults<'_>) -> bool {
        self.may_fault_within(id, faults, MAX_DEPTH)
    }

    fn may_fault_within(&self, id: ExprId, faults: &mut Faults<'_>, depth: u32) -> bool {
        let Some(depth) = depth.checked_sub(1) else {
            return true;
        };
        if self.value(id).is_some() {
            return false;
        }
        match self.unit.program.expr(id) {
            Expr::And(parts) => self.sequence_may_fault(false, parts, faults, depth),
            Expr::Or(parts) => self.sequence_may_fault(true, parts, faults, depth),
            Expr::Read(place) => self.place_may_fault(place, faults),
            Expr::Defined(value) => match self.unit.program.expr(*value) {
                Expr::Read(place) if !faults.may_be_undefined(*value) => {
                    self.place_may_fault(place, faults)
                }
                _ => faults.may_fault(id),
            },
            Expr::Unary(UnaryOp::Not, value) | Expr::InRange { value, .. } => {
                self.may_fault_within(*value, faults, depth)
            }
            Expr::Binary(op, a, b) if is_comparison(*op) => {
                self.may_fault_within(*a, faults, depth) || self.may_fault_within(*b, faults, depth)
            }
            _ => faults.may_fault(id),
        }
    }

    /// Whether a sequence that ends where a part is `decides` may fault.
    fn sequence_may_fault(
        &self,
        decides: bool,
        parts: &[ExprId],
        faults: &mut Faults<'_>,
        depth: u32,
    ) -> bool {
        for &part in parts {
            if self.truth(part) == Some(decides) {
                return false;
            }
            if self.may_fault_within(part, faults, depth) {
                return true;
            }
        }
        false
    }

    /// Whether finding the place may fault.
    pub(crate) fn place_may_fault(&self, place: &Place, faults: &mut Faults<'_>) -> bool {
        self.is_certain(place, faults).is_none() && faults.place_may_fault(place)
    }

    /// `Some` where all indices of a place are known and inside.
    fn is_certain(&self, place: &Place, faults: &Faults<'_>) -> Option<()> {
        let mut ty = faults.root_type(place)?;
        if let Root::Result { .. } = place.root {
            return None;
        }
        for step in &place.path {
            ty = match (step, self.unit.parts(ty)) {
                (Projection::Field(field), Parts::Record { fields }) => fields[*field as usize].1,
                (
                    Projection::Index(index),
                    Parts::Array {
                        lo, len, element, ..
                    },
                ) => {
                    let position = self.value(*index)?.checked_sub(*lo)?;
                    if !(0..*len as i64).contains(&position) {
                        return None;
                    }
                    *element
                }
                _ => return None,
            };
        }
        Some(())
    }
}

fn is_comparison(op: BinaryOp) -> bool {
    matches!(
        op,
        BinaryOp::Eq
            | BinaryOp::Ne
            | BinaryOp::Same
            | BinaryOp::Lt
            | BinaryOp::Le
            | BinaryOp::Gt
            | BinaryOp::Ge
    )
}
