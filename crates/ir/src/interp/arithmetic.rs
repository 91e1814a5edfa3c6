//! Integer operations at the edge of their range.

use hadal_model::FaultKind;

use crate::expr::{BinaryOp, UnaryOp};
use crate::program::Arithmetic;

/// Why an operation has no result.
pub(super) struct Failed {
    pub(super) kind: FaultKind,
    pub(super) message: String,
}

/// Compares two integers or truth values, if the operation is a comparison. That is most of what
/// guards do, and it cannot fault.
#[inline]
pub(super) fn compare(op: BinaryOp, a: i64, b: i64) -> Option<bool> {
    Some(match op {
        BinaryOp::Eq | BinaryOp::Same => a == b,
        BinaryOp::Ne => a != b,
        BinaryOp::Lt => a < b,
        BinaryOp::Le => a <= b,
        BinaryOp::Gt => a > b,
        BinaryOp::Ge => a >= b,
        _ => return None,
    })
}

/// Applies an operation to two integers or truth values; only `Same` may get an undefined one.
pub(super) fn binary(arithmetic: Arithmetic, op: BinaryOp, a: i64, b: i64) -> Result<i64, Failed> {
    let exact = match op {
        BinaryOp::Eq
        | BinaryOp::Same
        | BinaryOp::Ne
        | BinaryOp::Lt
        | BinaryOp::Le
        | BinaryOp::Gt
        | BinaryOp::Ge => return Ok(i64::from(compare(op, a, b) == Some(true))),
        BinaryOp::BitAnd => i128::from(a & b),
        BinaryOp::BitOr => i128::from(a | b),
        BinaryOp::BitXor => i128::from(a ^ b),
        BinaryOp::Add => i128::from(a) + i128::from(b),
        BinaryOp::Sub => i128::from(a) - i128::from(b),
        BinaryOp::Mul => i128::from(a) * i128::from(b),
        BinaryOp::Div | BinaryOp::Rem if b == 0 => {
            return Err(Failed {
                kind: FaultKind::Division,
                message: format!("{a} {} 0: division by zero", op.symbol()),
            });
        }
        BinaryOp::Div => i128::from(a) / i128::from(b),
        BinaryOp::Rem => i128::from(a) % i128::from(b),
        BinaryOp::Shl => shift(a, i128::from(b)),
        BinaryOp::Shr => shift(a, -i128::from(b)),
    };
    fit(arithmetic, exact).ok_or_else(|| Failed {
        kind: FaultKind::Overflow,
        message: format!("{a} {} {b} leaves the range of integers", op.symbol()),
    })
}

/// Applies an operation to one integer or truth value.
pub(super) fn unary(arithmetic: Arithmetic, op: UnaryOp, a: i64) -> Result<i64, Failed> {
    let exact = match op {
        UnaryOp::Not => return Ok(i64::from(a == 0)),
        UnaryOp::Neg if arithmetic.is_unsigned() => return Ok(a.wrapping_neg() & arithmetic.max),
        UnaryOp::Neg => -i128::from(a),
        UnaryOp::BitNot => i128::from(!a),
    };
    fit(arithmetic, exact).ok_or_else(|| Failed {
        kind: FaultKind::Overflow,
        message: format!("the negation of {a} leaves the range of integers"),
    })
}

/// Shifts to the left by a count, to the right by a negative one; 64 places leave nothing.
fn shift(a: i64, count: i128) -> i128 {
    match count {
        0..=63 => i128::from(a) << count,
        -63..=-1 => i128::from(a >> -count),
        _ => 0,
    }
}

/// Wraps an exact result into the range of integers, or faults.
fn fit(arithmetic: Arithmetic, exact: i128) -> Option<i64> {
    let (min, max) = (i128::from(arithmetic.min), i128::from(arithmetic.max));
    if (min..=max).contains(&exact) {
        return Some(exact as i64);
    }
    let size = max - min + 1;
    arithmetic
        .wraps
        .then(|| ((exact - min).rem_euclid(size) + min) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRAPPING: Arithmetic = Arithmetic {
        min: i32::MIN as i64,
        max: i32::MAX as i64,
        wraps: true,
    };

    #[track_caller]
    fn check(
        arithmetic: Arithmetic,
        op: BinaryOp,
        a: i64,
        b: i64,
        expected: Result<i64, FaultKind>,
    ) {
        let result = binary(arithmetic, op, a, b).map_err(|failed| failed.kind);
        assert_eq!(result, expected, "{a} {} {b}", op.symbol());
    }

    #[test]
    fn division_rounds_towards_zero_and_remainder_follows_the_dividend() {
        let default = Arithmetic::default();
        check(default, BinaryOp::Div, -7, 2, Ok(-3));
        check(default, BinaryOp::Rem, -7, 2, Ok(-1));
        check(default, BinaryOp::Rem, 7, -2, Ok(1));
        check(default, BinaryOp::Div, 7, 0, Err(FaultKind::Division));
        check(default, BinaryOp::Rem, 0, 0, Err(FaultKind::Division));
    }

    #[test]
    fn the_edge_of_the_range_faults_or_wraps() {
        let default = Arithmetic::default();
        check(
            default,
            BinaryOp::Add,
            i64::MAX,
            1,
            Err(FaultKind::Overflow),
        );
        check(
            default,
            BinaryOp::Sub,
            -i64::MAX,
            1,
            Err(FaultKind::Overflow),
        );
        check(
            default,
            BinaryOp::Mul,
            1 << 40,
            1 << 40,
            Err(FaultKind::Overflow),
        );
        check(
            WRAPPING,
            BinaryOp::Add,
            i32::MAX.into(),
            1,
            Ok(i32::MIN.into()),
        );
        check(WRAPPING, BinaryOp::Mul, 65_536, 65_536, Ok(0));
        check(
            WRAPPING,
            BinaryOp::Div,
            i32::MIN.into(),
            -1,
            Ok(i32::MIN.into()),
        );
    }

    #[test]
    fn shifts_turn_round_and_run_out() {
        let default = Arithmetic::default();
        check(default, BinaryOp::Shl, 3, 2, Ok(12));
        check(default, BinaryOp::Shl, 12, -2, Ok(3));
        check(default, BinaryOp::Shr, -8, 1, Ok(-4));
        check(default, BinaryOp::Shr, 1, -3, Ok(8));
        check(default, BinaryOp::Shl, 1, 64, Ok(0));
        check(default, BinaryOp::Shr, 1, i64::MAX, Ok(0));
        check(default, BinaryOp::Shl, 1, 63, Err(FaultKind::Overflow));
    }
}
