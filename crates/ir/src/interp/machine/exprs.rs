//! Evaluation of expressions.

use hadal_model::FaultKind;

use super::super::arithmetic::{self, Failed};
use super::super::prepare::Parts;
use super::{Halt, Machine, UNDEFINED};
use crate::bits;
use crate::expr::{By, Domain, Expr, Quantifier};
use crate::ids::{ExprId, LocalId, MapId, SiteId};

impl<'p> Machine<'p> {
    /// Evaluates a truth value.
    pub(in crate::interp) fn holds(&mut self, expr: ExprId) -> Result<bool, Halt> {
        Ok(self.eval(expr)? != 0)
    }

    /// Evaluates an integer that is never undefined.
    pub(in crate::interp) fn integer(&mut self, expr: ExprId) -> Result<i64, Halt> {
        self.eval(expr)
    }

    /// Evaluates an expression. [`UNDEFINED`] comes only from those that may be undefined.
    pub(super) fn eval(&mut self, id: ExprId) -> Result<i64, Halt> {
        let code = self.code;
        match code.program.expr(id) {
            Expr::Int(value) => Ok(*value),
            Expr::Bool(value) => Ok(i64::from(*value)),
            Expr::Undefined => Ok(UNDEFINED),
            Expr::Read(place) => {
                let (at, ty) = self.resolve(place)?;
                Ok(self.load(at, ty))
            }
            Expr::Defined(operand) => match self.eval(*operand)? {
                UNDEFINED => self.undefined_fault(*operand, id),
                value => Ok(value),
            },
            Expr::Unary(op, operand) => {
                let value = self.eval(*operand)?;
                let result = arithmetic::unary(code.program.arithmetic, *op, value);
                result.or_else(|failed| self.arithmetic_fault(failed, id))
            }
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.eval(*a)?, self.eval(*b)?);
                if let Some(truth) = arithmetic::compare(*op, a, b) {
                    return Ok(i64::from(truth));
                }
                let result = arithmetic::binary(code.program.arithmetic, *op, a, b);
                result.or_else(|failed| self.arithmetic_fault(failed, id))
            }
            Expr::And(operands) => {
                for &operand in operands {
                    if !self.holds(operand)? {
                        return Ok(0);
                    }
                }
                Ok(1)
            }
            Expr::Or(operands) => {
                for &operand in operands {
                    if self.holds(operand)? {
                        return Ok(1);
                    }
                }
                Ok(0)
            }
            Expr::Cond(condition, then, otherwise) => {
                if self.holds(*condition)? {
                    self.eval(*then)
                } else {
                    self.eval(*otherwise)
                }
            }
            Expr::Quantified {
                quantifier,
                var,
                domain,
                body,
            } => self.quantified(*quantifier, *var, domain, *body, id),
            Expr::IsUndefined(place) => {
                let (at, ty) = self.resolve(place)?;
                Ok(i64::from(self.load(at, ty) == UNDEFINED))
            }
            Expr::SameBits(a, b) => {
                let (a, ty) = self.resolve(a)?;
                let (b, _) = self.resolve(b)?;
                let n_bits = code.program.types.bits(ty) as usize;
                Ok(i64::from(bits::equal(&self.memory, a, b, n_bits)))
            }
            Expr::Call { function, args } => {
                let site = code.program.expr_site(id);
                self.call(*function, args, site, 0)
            }
            Expr::Remap { value, map } => self.remap(*value, *map, id),
            Expr::InRange { value, lo, hi } => {
                let value = self.eval(*value)?;
                Ok(i64::from(*lo <= value && value <= *hi))
            }
            Expr::Present { multiset, slot } => {
                let (at, ty) = self.resolve(multiset)?;
                let value = self.eval(*slot)?;
                match self.element(at, ty, value) {
                    Some(_) => Ok(bits::get(&self.memory, at + value as usize, 1) as i64),
                    None => self.index_fault(multiset, ty, value, *slot),
                }
            }
        }
    }

    fn arithmetic_fault(&self, failed: Failed, id: ExprId) -> Result<i64, Halt> {
        let site = self.code.program.expr_site(id);
        self.fault(failed.kind, failed.message, site)
    }

    fn undefined_fault(&mut self, operand: ExprId, id: ExprId) -> Result<i64, Halt> {
        let code = self.code;
        let mut inner = operand;
        while let Expr::Remap { value, .. } = code.program.expr(inner) {
            inner = *value;
        }
        let message = match code.program.expr(inner) {
            Expr::Read(place) => format!("`{}` is undefined", self.place_name(place)),
            Expr::Call { function, .. } => {
                let name = &code.program.function(*function).name;
                format!("function `{name}` returned an undefined value")
            }
            _ => "an undefined value is used".to_owned(),
        };
        self.fault(FaultKind::Undefined, message, code.program.expr_site(id))
    }

    fn quantified(
        &mut self,
        quantifier: Quantifier,
        var: LocalId,
        domain: &'p Domain,
        body: ExprId,
        id: ExprId,
    ) -> Result<i64, Halt> {
        let site = self.code.program.expr_site(id);
        let values = self.domain(domain, site)?;
        if self.order.is_some() {
            return self.quantify_in_any_order(quantifier, var, values, body, site);
        }
        self.quantify(quantifier, var, values, body)
    }

    pub(super) fn quantify(
        &mut self,
        quantifier: Quantifier,
        var: LocalId,
        mut values: Values,
        body: ExprId,
    ) -> Result<i64, Halt> {
        let mut count = 0;
        while let Some(value) = values.next() {
            self.poll()?;
            self.set_local(var, value);
            let holds = self.holds(body)?;
            match quantifier {
                Quantifier::Forall if !holds => return Ok(0),
                Quantifier::Exists if holds => return Ok(1),
                _ => count += i64::from(holds),
            }
        }
        Ok(match quantifier {
            Quantifier::Forall => 1,
            Quantifier::Exists => 0,
            Quantifier::Count => count,
        })
    }

    fn remap(&mut self, value: ExprId, map: MapId, id: ExprId) -> Result<i64, Halt> {
        let code = self.code;
        let value = self.eval(value)?;
        if value == UNDEFINED {
            return Ok(UNDEFINED);
        }
        let map = code.program.map(map);
        let segment = map
            .segments
            .iter()
            .find(|segment| segment.lo <= value && value <= segment.hi);
        match segment {
            Some(segment) => Ok(value - segment.lo + segment.to),
            None => {
                let shown = code.program.types.value_name(map.from, value);
                let message = format!("{shown} is not a value of the type wanted here");
                self.fault(FaultKind::Range, message, code.program.expr_site(id))
            }
        }
    }

    pub(super) fn domain(&mut self, domain: &Domain, site: SiteId) -> Result<Values, Halt> {
        let (from, to, by) = match domain {
            Domain::Type(ty) => match self.code.parts[ty.index()] {
                Parts::Simple { lo, hi, .. } => (lo, hi, 1),
                _ => unreachable!("verified: domains are simple"),
            },
            Domain::Span { from, to, by } => {
                let (from, to) = (self.eval(*from)?, self.eval(*to)?);
                let by = match by {
                    By::Constant(by) => *by,
                    By::Toward => {
                        if from <= to {
                            1
                        } else {
                            -1
                        }
                    }
                    By::Step(step) => {
                        let step = self.eval(*step)?;
                        let away = (step > 0 && from > to) || (step < 0 && from < to);
                        if step == 0 || away {
                            let message = format!("a loop from {from} to {to} cannot go by {step}");
                            return self.fault(FaultKind::Step, message, site);
                        }
                        step
                    }
                };
                (from, to, by)
            }
        };
        Ok(Values {
            next: Some(from),
            to,
            by,
        })
    }
}

/// The values a loop runs over.
#[derive(Clone)]
pub(super) struct Values {
    next: Option<i64>,
    to: i64,
    by: i64,
}

impl Values {
    /// The values from `lo` to `hi`, one after the other.
    pub(super) fn between(lo: i64, hi: i64) -> Self {
        Values {
            next: Some(lo),
            to: hi,
            by: 1,
        }
    }

    pub(super) fn next(&mut self) -> Option<i64> {
        let value = self.next?;
        let inside = if self.by > 0 {
            value <= self.to
        } else {
            value >= self.to
        };
        if !inside {
            self.next = None;
            return None;
        }
        self.next = value.checked_add(self.by);
        Some(value)
    }
}
