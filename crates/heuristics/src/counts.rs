//! How far a state is from one where a condition is true of enough values: `exists` and `forall`, and
//! comparisons of a count with a constant.
//!
//! Quantifiers over interchangeable elements come as such comparisons: they evaluate every element.

use hadal_ir::expr::{BinaryOp as Op, By, Domain, Expr, Quantifier};
use hadal_ir::ids::{ExprId, LocalId};
use hadal_ir::stmt::{Block, StmtKind};

use crate::builder::{Builder, Combine};
use crate::distance::{Distance, Measuring};

/// The values of a variable, and a condition that is true of some.
#[derive(Clone, Debug)]
pub(crate) struct Instances {
    pub(crate) var: LocalId,
    pub(crate) domain: Domain,
    pub(crate) body: ExprId,
}

/// The greatest number of least distances that are kept.
const MOST_KEPT: i64 = 4;

impl Builder<'_> {
    /// The distance to where `op` holds between the number of instances whose condition is true and a
    /// constant; `None` where that takes more than a few of them.
    pub(crate) fn counted(
        &mut self,
        block: &mut Block,
        measuring: Measuring<'_>,
        (op, left, right): (Op, ExprId, ExprId),
    ) -> Option<Distance> {
        let (op, count, bound) = match (self.constant(left), self.constant(right)) {
            (None, Some(bound)) => (op, left, bound),
            (Some(bound), None) => (mirrored(op), right, bound),
            _ => return None,
        };
        let Expr::Quantified {
            quantifier: Quantifier::Count,
            var,
            domain,
            body,
        } = self.program.expr(count).clone()
        else {
            return None;
        };
        let instances = Instances { var, domain, body };
        let at_least = |n: i64| (true, n);
        let n_all = self.n_values(&instances.domain);
        let at_most = |n: i64| Some((false, n_all? - n));
        match op {
            Op::Ne if bound == 0 => self.enough(block, measuring, &instances, at_least(1)),
            Op::Ge => self.enough(block, measuring, &instances, at_least(bound)),
            Op::Gt => self.enough(block, measuring, &instances, at_least(bound + 1)),
            Op::Le => self.enough(block, measuring, &instances, at_most(bound)?),
            Op::Lt => self.enough(block, measuring, &instances, at_most(bound - 1)?),
            Op::Eq if bound == 0 => Some(self.all(block, measuring, &instances, false)),
            Op::Eq => {
                let more = self.enough(block, measuring, &instances, at_least(bound))?;
                let fewer = self.enough(block, measuring, &instances, at_most(bound)?)?;
                Some(self.combined(block, measuring.conjunction, &[more, fewer]))
            }
            _ => None,
        }
    }

    /// The distance to where the condition is `wanted` of at least `n` instances.
    fn enough(
        &mut self,
        block: &mut Block,
        measuring: Measuring<'_>,
        instances: &Instances,
        (wanted, n): (bool, i64),
    ) -> Option<Distance> {
        let n_all = self.n_values(&instances.domain);
        match n {
            ..=0 => Some(Distance::Zero),
            1 => Some(self.some(block, measuring, instances, wanted)),
            _ if n_all.is_some_and(|all| n > all) => Some(Distance::Never),
            _ if n_all == Some(n) => Some(self.all(block, measuring, instances, wanted)),
            2..=MOST_KEPT => Some(self.several(block, measuring, instances, wanted, n as usize)),
            _ => None,
        }
    }

    /// The distance to where the condition is `wanted` of some instance.
    pub(crate) fn some(
        &mut self,
        block: &mut Block,
        measuring: Measuring<'_>,
        instances: &Instances,
        wanted: bool,
    ) -> Distance {
        self.each(block, measuring, instances, wanted, Combine::Minimum)
    }

    /// The distance to where the condition is `wanted` of all instances.
    pub(crate) fn all(
        &mut self,
        block: &mut Block,
        measuring: Measuring<'_>,
        instances: &Instances,
        wanted: bool,
    ) -> Distance {
        self.each(block, measuring, instances, wanted, measuring.conjunction)
    }

    /// The distances of all instances, put together.
    fn each(
        &mut self,
        block: &mut Block,
        measuring: Measuring<'_>,
        instances: &Instances,
        wanted: bool,
        combine: Combine,
    ) -> Distance {
        // A sum over several instances has several values.
        self.n_terms += usize::from(combine == Combine::Sum);
        let total = self.new_number();
        let neutral = self.neutral(combine);
        self.assign_int(block, total, neutral);
        self.for_values(
            block,
            measuring,
            instances,
            wanted,
            &mut |this, inner, number| {
                this.accumulate(inner, combine, total, number);
            },
        );
        Distance::Number(self.read(total))
    }

    /// The distance to where the condition is `wanted` of `n` instances: the least ones.
    fn several(
        &mut self,
        block: &mut Block,
        measuring: Measuring<'_>,
        instances: &Instances,
        wanted: bool,
        n: usize,
    ) -> Distance {
        let least: Vec<LocalId> = (0..n).map(|_| self.new_number()).collect();
        for &local in &least {
            let far = self.far;
            self.assign_int(block, local, far);
        }
        let (carried, kept) = (self.new_number(), self.new_number());
        self.for_values(
            block,
            measuring,
            instances,
            wanted,
            &mut |this, inner, number| {
                this.assign(inner, carried, number);
                for &local in &least {
                    let (new, old) = (this.read(carried), this.read(local));
                    let is_less = this.binary(Op::Lt, new, old);
                    let mut then = Block::new();
                    this.assign(&mut then, kept, old);
                    this.assign(&mut then, local, new);
                    let kept = this.read(kept);
                    this.assign(&mut then, carried, kept);
                    this.if_then(inner, is_less, then);
                }
            },
        );
        let numbers = least
            .iter()
            .map(|&local| Distance::Number(self.read(local)));
        let numbers: Vec<Distance> = numbers.collect();
        self.combined(block, measuring.conjunction, &numbers)
    }

    /// Adds a loop over the instances, and in it what `take` adds for the distance of each.
    fn for_values(
        &mut self,
        block: &mut Block,
        measuring: Measuring<'_>,
        instances: &Instances,
        wanted: bool,
        take: &mut dyn FnMut(&mut Self, &mut Block, ExprId),
    ) {
        let Instances { var, domain, body } = instances.clone();
        self.bound.insert(var);
        let mut inner = Block::new();
        let number = match self.distance(&mut inner, measuring, body, wanted) {
            Distance::Zero => self.int(0),
            Distance::Never => self.int(self.far),
            Distance::Number(number) => number,
        };
        take(self, &mut inner, number);
        let body = inner;
        block.push(self.stmt(StmtKind::For { var, domain, body }));
    }

    /// The number of values of a domain, where it is fixed.
    fn n_values(&self, domain: &Domain) -> Option<i64> {
        match domain {
            Domain::Type(ty) => i64::try_from(self.program.types.simple(*ty)?.len()).ok(),
            Domain::Span { from, to, by } => {
                let (from, to) = (self.constant(*from)?, self.constant(*to)?);
                match by {
                    By::Constant(1) => Some((to.checked_sub(from)?.checked_add(1)?).max(0)),
                    _ => None,
                }
            }
        }
    }
}

/// The comparison with its sides exchanged.
fn mirrored(op: Op) -> Op {
    match op {
        Op::Lt => Op::Gt,
        Op::Le => Op::Ge,
        Op::Gt => Op::Lt,
        Op::Ge => Op::Le,
        op => op,
    }
}
