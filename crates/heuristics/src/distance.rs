//! How far a state is from one where a condition is true, as a number.
//!
//! A condition that is not taken apart further counts 0 where it is true and 1 where not, and an
//! equation or inequality of quantities by how much its sides differ. A conjunction takes the maximum
//! or the sum of its parts, a disjunction the minimum; `forall` is a conjunction, `exists` a
//! disjunction. Negations are pushed inward.

use hadal_ir::expr::{BinaryOp as Op, Expr, Place, Quantifier, Root, UnaryOp};
use hadal_ir::ids::ExprId;
use hadal_ir::stmt::Block;
use hadal_ir::walk::{Mention, Reach};

use crate::builder::{Builder, Combine};
use crate::control::ControlGraphs;
use crate::counts::Instances;

/// What counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Measuring<'c> {
    /// How conjunctions are put together.
    pub(crate) conjunction: Combine,
    /// Distances between values that rules move variables through.
    pub(crate) control: &'c ControlGraphs,
    /// Whether nothing else counts.
    pub(crate) only_control: bool,
}

/// How far a state is from one where something is true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Distance {
    /// It is there, or that cannot be said.
    Zero,
    /// It never gets there.
    Never,
    /// A number, or how to compute it.
    Number(ExprId),
}

impl Builder<'_> {
    /// The distance to where `id` is true, or false where that is not `wanted`. Adds what is to be
    /// computed before to `block`.
    pub(crate) fn distance(
        &mut self,
        block: &mut Block,
        measuring: Measuring<'_>,
        id: ExprId,
        wanted: bool,
    ) -> Distance {
        match self.program.expr(id).clone() {
            Expr::Bool(value) => match value == wanted {
                true => Distance::Zero,
                false => Distance::Never,
            },
            Expr::Unary(UnaryOp::Not, inner) => self.distance(block, measuring, inner, !wanted),
            Expr::And(parts) => self.parts(block, measuring, &parts, wanted, wanted),
            Expr::Or(parts) => self.parts(block, measuring, &parts, wanted, !wanted),
            Expr::Cond(condition, yes, no) => {
                let arms = [(true, yes), (false, no)].map(|(value, arm)| {
                    let way = self.distance(block, measuring, condition, value);
                    let rest = self.distance(block, measuring, arm, wanted);
                    self.combined(block, measuring.conjunction, &[way, rest])
                });
                self.combined(block, Combine::Minimum, &arms)
            }
            Expr::Quantified {
                quantifier: quantifier @ (Quantifier::Forall | Quantifier::Exists),
                var,
                domain,
                body,
            } => {
                let instances = Instances { var, domain, body };
                match (quantifier == Quantifier::Forall) == wanted {
                    true => self.all(block, measuring, &instances, wanted),
                    false => self.some(block, measuring, &instances, wanted),
                }
            }
            Expr::Binary(op, left, right) => {
                self.comparison(block, measuring, id, (op, left, right), wanted)
            }
            _ => self.atom(block, measuring, id, wanted),
        }
    }

    fn parts(
        &mut self,
        block: &mut Block,
        measuring: Measuring<'_>,
        parts: &[ExprId],
        wanted: bool,
        is_conjunction: bool,
    ) -> Distance {
        let parts = parts.iter();
        let distances: Vec<Distance> = parts
            .map(|&part| self.distance(block, measuring, part, wanted))
            .collect();
        let combine = match is_conjunction {
            true => measuring.conjunction,
            false => Combine::Minimum,
        };
        self.combined(block, combine, &distances)
    }

    /// Several distances as one.
    pub(crate) fn combined(
        &mut self,
        block: &mut Block,
        combine: Combine,
        distances: &[Distance],
    ) -> Distance {
        let is_minimum = combine == Combine::Minimum;
        let (stops, leaves) = match is_minimum {
            true => (Distance::Zero, Distance::Never),
            false => (Distance::Never, Distance::Zero),
        };
        if distances.contains(&stops) {
            return stops;
        }
        let numbers = distances.iter().filter_map(|distance| match distance {
            Distance::Number(number) => Some(*number),
            _ => None,
        });
        let numbers: Vec<ExprId> = numbers.collect();
        match numbers[..] {
            [] => leaves,
            [number] => Distance::Number(number),
            [first, ref rest @ ..] => {
                let total = self.new_number();
                self.assign(block, total, first);
                for &number in rest {
                    let number = self.hold(block, number);
                    self.accumulate(block, combine, total, number);
                }
                Distance::Number(self.read(total))
            }
        }
    }

    fn comparison(
        &mut self,
        block: &mut Block,
        measuring: Measuring<'_>,
        id: ExprId,
        (op, left, right): (Op, ExprId, ExprId),
        wanted: bool,
    ) -> Distance {
        let op = match (op, wanted) {
            (op, true) => op,
            (Op::Eq | Op::Same, false) => Op::Ne,
            (Op::Ne, false) => Op::Eq,
            (Op::Lt, false) => Op::Ge,
            (Op::Le, false) => Op::Gt,
            (Op::Gt, false) => Op::Le,
            (Op::Ge, false) => Op::Lt,
            _ => return self.atom(block, measuring, id, wanted),
        };
        if self.mentions_register(id) {
            return Distance::Zero;
        }
        if self.is_fixed(id) {
            return self.fixed(block, id, wanted);
        }
        if let Some(distance) = self.counted(block, measuring, (op, left, right)) {
            return distance;
        }
        if matches!(op, Op::Eq | Op::Same)
            && let Some(moves) = self.moves(measuring.control, left, right)
        {
            self.n_terms += 2;
            return self.protected(block, id, moves);
        }
        if measuring.only_control {
            return Distance::Zero;
        }
        if !self.is_quantity(left) && !self.is_quantity(right) {
            return self.atom(block, measuring, id, wanted);
        }
        // By how much the left side exceeds the right one, if it does, and the other way round.
        let (zero, one) = (self.int(0), self.int(1));
        let excess = |this: &mut Self, a: ExprId, b: ExprId, more: bool| {
            let is_more = this.binary(if more { Op::Ge } else { Op::Gt }, a, b);
            let mut by = this.binary(Op::Sub, a, b);
            if more {
                by = this.binary(Op::Add, by, one);
            }
            (is_more, by)
        };
        let value = match op {
            Op::Eq => {
                let (is_more, by) = excess(self, left, right, false);
                let (_, less) = excess(self, right, left, false);
                self.cond(is_more, by, less)
            }
            Op::Lt | Op::Le => {
                let (is_more, by) = excess(self, left, right, op == Op::Lt);
                self.cond(is_more, by, zero)
            }
            Op::Gt | Op::Ge => {
                let (is_more, by) = excess(self, right, left, op == Op::Gt);
                self.cond(is_more, by, zero)
            }
            _ => return self.atom(block, measuring, id, wanted),
        };
        self.counts_quantities = true;
        self.n_terms += 2;
        let value = self.limited(value);
        self.protected(block, id, value)
    }

    /// 0 where the condition is as wanted, else 1.
    fn atom(
        &mut self,
        block: &mut Block,
        measuring: Measuring<'_>,
        id: ExprId,
        wanted: bool,
    ) -> Distance {
        if self.is_fixed(id) {
            return self.fixed(block, id, wanted);
        }
        if measuring.only_control || self.mentions_register(id) {
            return Distance::Zero;
        }
        self.n_terms += 1;
        let (zero, one) = (self.int(0), self.int(1));
        let value = match wanted {
            true => self.cond(id, zero, one),
            false => self.cond(id, one, zero),
        };
        self.protected(block, id, value)
    }

    /// `value` where `id` can be evaluated, else 1; held, since it may be read several times.
    fn protected(&mut self, block: &mut Block, id: ExprId, value: ExprId) -> Distance {
        let checks = self.protections(id);
        let value = match checks.is_empty() {
            true => value,
            false => {
                let is_safe = self.and(checks);
                let one = self.int(1);
                self.cond(is_safe, value, one)
            }
        };
        Distance::Number(self.hold(block, value))
    }

    /// Steps that take a variable to the value it is compared with, where that is known.
    fn moves(&mut self, control: &ControlGraphs, left: ExprId, right: ExprId) -> Option<ExprId> {
        let (variable, value) = match (self.constant(left), self.constant(right)) {
            (None, Some(value)) => (left, value),
            (Some(value), None) => (right, value),
            _ => return None,
        };
        let place = self.place_read(variable)?;
        control.distance(self, &place, variable, value)
    }

    /// The place that an expression reads, if it does nothing else.
    pub(crate) fn place_read(&self, id: ExprId) -> Option<Place> {
        match self.program.expr(id) {
            Expr::Defined(inner) => self.place_read(*inner),
            Expr::Read(place) => Some(place.clone()),
            _ => None,
        }
    }

    /// 0 where the condition, which no step changes, is as wanted, else as far as can be.
    fn fixed(&mut self, block: &mut Block, id: ExprId, wanted: bool) -> Distance {
        let (zero, far) = (self.int(0), self.int(self.far));
        let value = match wanted {
            true => self.cond(id, zero, far),
            false => self.cond(id, far, zero),
        };
        Distance::Number(self.hold(block, value))
    }

    /// Whether an expression depends on nothing but variables of loops and quantifiers.
    fn is_fixed(&self, id: ExprId) -> bool {
        let mut is_fixed = true;
        Reach::new(self.program).visit(Mention::Expr(id), &mut |mention| {
            is_fixed &= match mention {
                Mention::Var(_) | Mention::Function(_) => false,
                Mention::Local(local) => self.bound.contains(&local),
                _ => true,
            };
        });
        is_fixed
    }

    /// Whether an expression reads a register, which is 0 in all states that have a number.
    pub(crate) fn mentions_register(&self, id: ExprId) -> bool {
        let first = self.program.vars.len() - self.program.n_registers;
        let mut found = false;
        Reach::new(self.program).visit(Mention::Expr(id), &mut |mention| {
            found |= matches!(mention, Mention::Var(var) if var.index() >= first);
        });
        found
    }
}

/// Whether a place is a variable of the state, or part of one.
pub(crate) fn is_of_state(place: &Place) -> bool {
    matches!(place.root, Root::Var(_))
}
