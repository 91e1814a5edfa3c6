//! Integer operations, with only those checks that ranges cannot rule out.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};
use hadal_ir::expr::BinaryOp;

use super::Lower;
use super::value::Int;
use crate::analysis::fault::binary_range;
use crate::call::Helper;

const ANY: (i128, i128) = (i64::MIN as i128, i64::MAX as i128);

impl Lower<'_, '_> {
    /// An operation on two integers that yields an integer.
    pub(super) fn arithmetic(&mut self, op: BinaryOp, a: Int, b: Int) -> Int {
        let range = binary_range(op, a.range(), b.range()).unwrap_or(ANY);
        let trusted = a.trusted && b.trusted;
        match op {
            BinaryOp::Add | BinaryOp::Sub if self.is_integer(range) && b.constant().is_some() => {
                let by = b.constant().expect("just asked");
                let by = if op == BinaryOp::Add {
                    by
                } else {
                    by.wrapping_neg()
                };
                Int {
                    base: a.base,
                    add: a.add.wrapping_add(by),
                    lo: range.0 as i64,
                    hi: range.1 as i64,
                    trusted,
                }
            }
            BinaryOp::Add | BinaryOp::Sub => self.sum(op, a, b, range, trusted),
            BinaryOp::Mul if inside_i64(range) => {
                let (a, b) = (self.int_value(a), self.int_value(b));
                let product = self.b.ins().imul(a, b);
                self.fit(product, range, trusted)
            }
            BinaryOp::Mul => {
                let (a, b) = (self.int_value(a), self.int_value(b));
                self.checked_by_helper(Helper::Multiply, a, b)
            }
            BinaryOp::Div | BinaryOp::Rem => self.quotient(op, a, b, range, trusted),
            BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => {
                let (a, b) = (self.int_value(a), self.int_value(b));
                let result = match op {
                    BinaryOp::BitAnd => self.b.ins().band(a, b),
                    BinaryOp::BitOr => self.b.ins().bor(a, b),
                    _ => self.b.ins().bxor(a, b),
                };
                self.fit(result, range, trusted)
            }
            BinaryOp::Shl | BinaryOp::Shr => self.shift(op, a, b),
            BinaryOp::Eq
            | BinaryOp::Ne
            | BinaryOp::Same
            | BinaryOp::Lt
            | BinaryOp::Le
            | BinaryOp::Gt
            | BinaryOp::Ge => unreachable!("comparisons yield truth values"),
        }
    }

    /// Whether all of a range are integers of the program.
    fn is_integer(&self, (lo, hi): (i128, i128)) -> bool {
        let arithmetic = self.unit.program.arithmetic;
        i128::from(arithmetic.min) <= lo && hi <= i128::from(arithmetic.max)
    }

    fn sum(&mut self, op: BinaryOp, a: Int, b: Int, range: (i128, i128), trusted: bool) -> Int {
        let (x, y) = (self.int_value(a), self.int_value(b));
        let (sum, wraps) = match op {
            BinaryOp::Add => {
                let sum = self.b.ins().iadd(x, y);
                let (p, q) = (self.b.ins().bxor(x, sum), self.b.ins().bxor(y, sum));
                (sum, (p, q))
            }
            _ => {
                let difference = self.b.ins().isub(x, y);
                let (p, q) = (self.b.ins().bxor(x, y), self.b.ins().bxor(x, difference));
                (difference, (p, q))
            }
        };
        if !inside_i64(range) && !self.unit.program.arithmetic.wraps {
            let signs = self.b.ins().band(wraps.0, wraps.1);
            let overflows = self.b.ins().icmp_imm_s(IntCC::SignedLessThan, signs, 0);
            self.fault_if(overflows);
        }
        self.fit(sum, range, trusted)
    }

    fn quotient(
        &mut self,
        op: BinaryOp,
        a: Int,
        b: Int,
        range: (i128, i128),
        trusted: bool,
    ) -> Int {
        let (x, y) = (self.int_value(a), self.int_value(b));
        let (lo, hi) = b.range();
        if !(b.trusted && (lo > 0 || hi < 0)) {
            let is_zero = self.b.ins().icmp_imm_s(IntCC::Equal, y, 0);
            self.fault_if(is_zero);
        }
        let may_be_minus_one = !(b.trusted && (lo > -1 || hi < -1));
        if !may_be_minus_one {
            let result = match op {
                BinaryOp::Div => self.b.ins().sdiv(x, y),
                _ => self.b.ins().srem(x, y),
            };
            return self.fit(result, range, trusted);
        }
        // The machine traps where the least 64-bit integer is divided by -1.
        let is_minus_one = self.b.ins().icmp_imm_s(IntCC::Equal, y, -1);
        let one = self.iconst(1);
        let divisor = self.b.ins().select(is_minus_one, one, y);
        let (result, special) = match op {
            BinaryOp::Div => {
                let special = self.b.ins().ineg(x);
                (self.b.ins().sdiv(x, divisor), special)
            }
            _ => {
                let special = self.iconst(0);
                (self.b.ins().srem(x, divisor), special)
            }
        };
        let result = self.b.ins().select(is_minus_one, special, result);
        self.fit(result, range, trusted)
    }

    fn shift(&mut self, op: BinaryOp, a: Int, b: Int) -> Int {
        let count = b.constant().map(|count| match op {
            BinaryOp::Shl => i128::from(count),
            _ => -i128::from(count),
        });
        let (lo, hi) = a.range();
        match count {
            Some(count @ 0..=63) if inside_i64((lo << count, hi << count)) => {
                let value = self.int_value(a);
                let shifted = self.b.ins().ishl_imm_u(value, count as i64);
                self.fit(shifted, (lo << count, hi << count), a.trusted)
            }
            Some(count @ -63..=-1) => {
                let value = self.int_value(a);
                let shifted = self.b.ins().sshr_imm_u(value, -count as i64);
                self.fit(shifted, (lo >> -count, hi >> -count), a.trusted)
            }
            _ => {
                let (value, mut count) = (self.int_value(a), self.int_value(b));
                if op == BinaryOp::Shr {
                    count = self.b.ins().ineg(count);
                }
                self.checked_by_helper(Helper::Shift, value, count)
            }
        }
    }

    fn checked_by_helper(&mut self, helper: Helper, a: Value, b: Value) -> Int {
        let arithmetic = self.unit.program.arithmetic;
        let min = self.iconst(arithmetic.min);
        let max = self.iconst(arithmetic.max);
        let wraps = self.iconst(i64::from(arithmetic.wraps));
        let value = self
            .helper(helper, &[a, b, min, max, wraps])
            .expect("there is a result");
        if !arithmetic.wraps {
            let fails = self.b.ins().icmp_imm_s(IntCC::Equal, value, i64::MIN);
            self.fault_if(fails);
        }
        Int {
            base: value,
            add: 0,
            lo: arithmetic.min,
            hi: arithmetic.max,
            trusted: true,
        }
    }

    /// Negation, or complement where `complement`.
    pub(super) fn negated(&mut self, a: Int, complement: bool) -> Int {
        let (lo, hi) = a.range();
        let value = self.int_value(a);
        let arithmetic = self.unit.program.arithmetic;
        if arithmetic.is_unsigned() && !complement {
            let negated = self.b.ins().ineg(value);
            return Int {
                base: self.b.ins().band_imm_s(negated, arithmetic.max),
                add: 0,
                lo: 0,
                hi: arithmetic.max,
                trusted: true,
            };
        }
        if complement {
            let result = self.b.ins().bnot(value);
            self.fit(result, (-hi - 1, -lo - 1), a.trusted)
        } else {
            let result = self.b.ins().ineg(value);
            self.fit(result, (-hi, -lo), a.trusted)
        }
    }

    /// Brings an exact result (exact, but for wrapping around at 64 bits where the program's
    /// integers wrap as well) into the range of integers, or faults.
    fn fit(&mut self, value: Value, range: (i128, i128), trusted: bool) -> Int {
        let arithmetic = self.unit.program.arithmetic;
        let (min, max) = (i128::from(arithmetic.min), i128::from(arithmetic.max));
        let int = |base, (lo, hi): (i128, i128), trusted| Int {
            base,
            add: 0,
            lo: lo.clamp(min.min(max), max) as i64,
            hi: hi.clamp(min, max) as i64,
            trusted,
        };
        if self.is_integer(range) {
            return int(value, range, trusted);
        }
        if arithmetic.wraps {
            let unused = i64::from((arithmetic.max as u64).leading_zeros()) - 1;
            let up = self.b.ins().ishl_imm_u(value, unused);
            let wrapped = self.b.ins().sshr_imm_u(up, unused);
            return int(wrapped, (min, max), true);
        }
        let above = self
            .b
            .ins()
            .iadd_imm_s(value, arithmetic.min.wrapping_neg());
        let size = arithmetic.max.wrapping_sub(arithmetic.min);
        let outside = self
            .b
            .ins()
            .icmp_imm_s(IntCC::UnsignedGreaterThan, above, size);
        self.fault_if(outside);
        int(value, range, trusted)
    }
}

fn inside_i64((lo, hi): (i128, i128)) -> bool {
    ANY.0 <= lo && hi <= ANY.1
}
