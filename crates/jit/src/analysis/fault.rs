//! Which expressions cannot fault, and which values they can have according to their types.

use hadal_ir::expr::{BinaryOp, By, Domain, Expr, Place, Projection, Quantifier, Root, UnaryOp};
use hadal_ir::ids::{ExprId, LocalId, TypeId};
use hadal_ir::program::Frame;

use crate::unit::{Parts, Unit};

/// Analyses the expressions of one frame.
pub(crate) struct Faults<'a> {
    unit: &'a Unit<'a>,
    /// The number of the item.
    item: usize,
    frame: &'a Frame,
    /// Locals that hold a value for sure.
    defined: Vec<LocalId>,
    /// Expressions that may still be visited; shared ones are visited each time.
    budget: u32,
}

impl<'a> Faults<'a> {
    /// `defined` are locals that hold a value for sure: parameters.
    pub(crate) fn new(
        unit: &'a Unit<'a>,
        item: usize,
        frame: &'a Frame,
        defined: Vec<LocalId>,
    ) -> Self {
        Faults {
            unit,
            item,
            frame,
            defined,
            budget: 20_000,
        }
    }

    /// Whether evaluating the expression may fault.
    pub(crate) fn may_fault(&mut self, id: ExprId) -> bool {
        if self.budget == 0 {
            return true;
        }
        self.budget -= 1;
        match self.unit.program.expr(id) {
            Expr::Int(_) | Expr::Bool(_) | Expr::Undefined => false,
            Expr::Read(place) | Expr::IsUndefined(place) => self.place_may_fault(place),
            Expr::Defined(value) => self.may_fault(*value) || self.may_be_undefined(*value),
            Expr::Unary(op, value) => {
                self.may_fault(*value)
                    || match op {
                        UnaryOp::Not => false,
                        UnaryOp::Neg if self.unit.program.arithmetic.is_unsigned() => false,
                        UnaryOp::Neg | UnaryOp::BitNot => self.leaves_range(id),
                    }
            }
            Expr::Binary(op, a, b) => {
                self.may_fault(*a) || self.may_fault(*b) || self.operation_may_fault(*op, id, *b)
            }
            Expr::And(parts) | Expr::Or(parts) => parts.iter().any(|&part| self.may_fault(part)),
            Expr::Cond(a, b, c) => [a, b, c].into_iter().any(|&part| self.may_fault(part)),
            Expr::Quantified {
                var, domain, body, ..
            } => {
                let domain_may_fault = match domain {
                    Domain::Type(_) => false,
                    Domain::Span { from, to, by } => {
                        self.may_fault(*from) || self.may_fault(*to) || matches!(by, By::Step(_))
                    }
                };
                self.defined.push(*var);
                let may_fault = domain_may_fault || self.may_fault(*body);
                self.defined.pop();
                may_fault
            }
            Expr::SameBits(a, b) => self.place_may_fault(a) || self.place_may_fault(b),
            Expr::Call { .. } => true,
            Expr::Remap { value, map } => {
                self.may_fault(*value)
                    || match self.range(*value) {
                        Some((lo, hi)) => {
                            let mut segments = self.unit.program.map(*map).segments.clone();
                            segments.sort_by_key(|segment| segment.lo);
                            let mut next = lo;
                            for segment in segments {
                                if i128::from(segment.lo) <= next && next <= i128::from(segment.hi)
                                {
                                    next = i128::from(segment.hi) + 1;
                                }
                            }
                            next <= hi
                        }
                        None => true,
                    }
            }
            Expr::InRange { value, .. } => self.may_fault(*value),
            Expr::Present { multiset, slot } => {
                self.place_may_fault(multiset)
                    || self.may_fault(*slot)
                    || match self.place_type(multiset).map(|ty| self.unit.parts(ty)) {
                        Some(Parts::Multiset { capacity, .. }) => {
                            let end = i128::from(*capacity);
                            !self
                                .range(*slot)
                                .is_some_and(|(lo, hi)| lo >= 0 && hi < end)
                        }
                        _ => true,
                    }
            }
        }
    }

    /// Whether finding the place may fault.
    pub(crate) fn place_may_fault(&mut self, place: &Place) -> bool {
        if let Root::Result { .. } = place.root {
            return true;
        }
        let Some(mut ty) = self.root_type(place) else {
            return true;
        };
        for step in &place.path {
            match (step, self.unit.parts(ty)) {
                (Projection::Field(field), Parts::Record { fields }) => {
                    ty = fields[*field as usize].1;
                }
                (
                    Projection::Index(index),
                    Parts::Array {
                        lo, len, element, ..
                    },
                ) => {
                    let (first, end) = (i128::from(*lo), i128::from(*lo) + i128::from(*len));
                    let inside = self
                        .range(*index)
                        .is_some_and(|(lo, hi)| first <= lo && hi < end);
                    if !inside || self.may_fault(*index) {
                        return true;
                    }
                    ty = *element;
                }
                (
                    Projection::Index(index),
                    Parts::Multiset {
                        capacity, element, ..
                    },
                ) => {
                    let end = i128::from(*capacity);
                    let inside = self
                        .range(*index)
                        .is_some_and(|(lo, hi)| lo >= 0 && hi < end);
                    if !inside || self.may_fault(*index) {
                        return true;
                    }
                    ty = *element;
                }
                _ => return true,
            }
        }
        false
    }

    pub(super) fn may_be_undefined(&self, id: ExprId) -> bool {
        match self.unit.program.expr(id) {
            Expr::Read(place) => {
                let is_known = matches!(place.root, Root::Local(local)
                    if place.path.is_empty() && self.defined.contains(&local));
                let unit = self.unit;
                !is_known
                    && unit
                        .definedness
                        .may_be_undefined(unit.program, self.item, place)
            }
            Expr::Remap { value, .. } => self.may_be_undefined(*value),
            Expr::Cond(_, yes, no) => self.may_be_undefined(*yes) || self.may_be_undefined(*no),
            Expr::Call { function, .. } => {
                let result = self.unit.function(*function).result;
                !result.is_some_and(|ty| self.unit.simple(ty).is_total)
            }
            Expr::Undefined => true,
            _ => false,
        }
    }

    fn operation_may_fault(&self, op: BinaryOp, id: ExprId, right: ExprId) -> bool {
        match op {
            BinaryOp::Eq
            | BinaryOp::Ne
            | BinaryOp::Same
            | BinaryOp::Lt
            | BinaryOp::Le
            | BinaryOp::Gt
            | BinaryOp::Ge => false,
            BinaryOp::Div | BinaryOp::Rem => {
                let divides_by_zero = match self.range(right) {
                    Some((lo, hi)) => lo <= 0 && 0 <= hi,
                    None => true,
                };
                divides_by_zero || self.leaves_range(id)
            }
            _ => self.leaves_range(id),
        }
    }

    /// Whether the exact result may lie outside the range of integers.
    fn leaves_range(&self, id: ExprId) -> bool {
        let arithmetic = self.unit.program.arithmetic;
        if arithmetic.wraps {
            return false;
        }
        match self.exact_range(id, 12) {
            Some((lo, hi)) => lo < i128::from(arithmetic.min) || hi > i128::from(arithmetic.max),
            None => true,
        }
    }

    /// Least and greatest value, where types bound them. A result outside the range of integers has
    /// faulted or wrapped around, so it is not among them.
    pub(crate) fn range(&self, id: ExprId) -> Option<(i128, i128)> {
        self.range_within(id, 12)
    }

    fn range_within(&self, id: ExprId, depth: u32) -> Option<(i128, i128)> {
        let (lo, hi) = self.exact_range(id, depth)?;
        let is_result = matches!(
            self.unit.program.expr(id),
            Expr::Unary(..) | Expr::Binary(..)
        );
        if !is_result {
            return Some((lo, hi));
        }
        let arithmetic = self.unit.program.arithmetic;
        let (min, max) = (i128::from(arithmetic.min), i128::from(arithmetic.max));
        if arithmetic.wraps && (lo < min || hi > max) {
            return Some((min, max));
        }
        Some((lo.clamp(min, max), hi.clamp(min, max)))
    }

    /// The same, of the exact result of an operation.
    fn exact_range(&self, id: ExprId, depth: u32) -> Option<(i128, i128)> {
        let depth = depth.checked_sub(1)?;
        match self.unit.program.expr(id) {
            Expr::Int(value) => Some((i128::from(*value), i128::from(*value))),
            Expr::Read(place) => {
                let ty = self.place_type(place)?;
                match self.unit.parts(ty) {
                    Parts::Simple(simple) => Some((i128::from(simple.lo), i128::from(simple.hi))),
                    _ => None,
                }
            }
            Expr::Call { function, .. } => {
                let simple = self.unit.simple(self.unit.function(*function).result?);
                Some((i128::from(simple.lo), i128::from(simple.hi)))
            }
            Expr::Defined(value) => self.range_within(*value, depth),
            Expr::Unary(UnaryOp::Neg, _) if self.unit.program.arithmetic.is_unsigned() => {
                Some((0, i128::from(self.unit.program.arithmetic.max)))
            }
            Expr::Unary(UnaryOp::Neg, value) => {
                let (lo, hi) = self.range_within(*value, depth)?;
                Some((-hi, -lo))
            }
            Expr::Unary(UnaryOp::BitNot, value) => {
                let (lo, hi) = self.range_within(*value, depth)?;
                Some((-hi - 1, -lo - 1))
            }
            Expr::Binary(op, a, b) => {
                let a = self.range_within(*a, depth)?;
                let b = self.range_within(*b, depth)?;
                binary_range(*op, a, b)
            }
            Expr::Cond(_, a, b) => {
                let a = self.range_within(*a, depth)?;
                let b = self.range_within(*b, depth)?;
                Some((a.0.min(b.0), a.1.max(b.1)))
            }
            Expr::Quantified {
                quantifier: Quantifier::Count,
                ..
            } => Some((0, i128::from(i64::MAX))),
            _ => None,
        }
    }

    pub(super) fn root_type(&self, place: &Place) -> Option<TypeId> {
        Some(match &place.root {
            Root::Var(var) => self.unit.program.var(*var).ty,
            Root::Local(local) => self.frame.local(*local).kind.ty(),
            Root::Result { function, .. } => self.unit.function(*function).result?,
        })
    }

    /// The type of what a place holds.
    pub(crate) fn place_type(&self, place: &Place) -> Option<TypeId> {
        let mut ty = self.root_type(place)?;
        for step in &place.path {
            ty = match (step, self.unit.parts(ty)) {
                (Projection::Field(field), Parts::Record { fields }) => fields[*field as usize].1,
                (Projection::Index(_), Parts::Array { element, .. })
                | (Projection::Index(_), Parts::Multiset { element, .. }) => *element,
                _ => return None,
            };
        }
        Some(ty)
    }
}

/// The range of the exact results of an operation, where it is simple enough.
pub(crate) fn binary_range(
    op: BinaryOp,
    (a_lo, a_hi): (i128, i128),
    (b_lo, b_hi): (i128, i128),
) -> Option<(i128, i128)> {
    match op {
        BinaryOp::Add => Some((a_lo + b_lo, a_hi + b_hi)),
        BinaryOp::Sub => Some((a_lo - b_hi, a_hi - b_lo)),
        BinaryOp::Mul => {
            let products = [a_lo * b_lo, a_lo * b_hi, a_hi * b_lo, a_hi * b_hi];
            Some((
                products.into_iter().min().unwrap_or(0),
                products.into_iter().max().unwrap_or(0),
            ))
        }
        BinaryOp::Div => {
            let most = a_lo.abs().max(a_hi.abs());
            Some(if a_lo >= 0 && b_lo >= 0 {
                (0, a_hi)
            } else {
                (-most, most)
            })
        }
        BinaryOp::Rem => {
            let most = (b_lo.abs().max(b_hi.abs()) - 1).max(0);
            let most = most.min(a_lo.abs().max(a_hi.abs()));
            Some((
                if a_lo >= 0 { 0 } else { -most },
                if a_hi <= 0 { 0 } else { most },
            ))
        }
        BinaryOp::BitAnd if a_lo >= 0 && b_lo >= 0 => Some((0, a_hi.min(b_hi))),
        BinaryOp::BitOr | BinaryOp::BitXor if a_lo >= 0 && b_lo >= 0 => {
            let bits = 128 - a_hi.max(b_hi).leading_zeros();
            Some((0, (1i128 << bits) - 1))
        }
        BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => {
            Some((i128::from(i64::MIN), i128::from(i64::MAX)))
        }
        _ => None,
    }
}
