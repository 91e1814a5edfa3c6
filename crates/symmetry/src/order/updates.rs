//! Updates of one place that commute: sums, flags, and the largest or smallest of several values.

use hadal_ir::{BinaryOp, Expr, ExprId, Place, Program, SiteId, Stmt, StmtKind};

use super::label::Label;
use super::mentions::{same_expr, same_place};
use super::spot::{Spot, Update};
use super::walk::Walk;

impl<'p> Walk<'p> {
    /// Updates that commute, such as `x := x + e`. Whether the statement is one.
    pub(super) fn accumulate(&mut self, place: &'p Place, value: ExprId, site: SiteId) -> bool {
        if self.mentions.has_call(value) || self.open.is_empty() {
            return false;
        }
        let program = self.program;
        let is_own = |id: ExprId| reads(program, id, place);
        match program.expr(value) {
            Expr::Binary(BinaryOp::Add | BinaryOp::Sub, ..) => {
                let mut terms = Vec::new();
                self.added_to(value, place, &mut terms) && self.accumulate_sum(place, &terms, site)
            }
            Expr::Cond(condition, yes, no) => {
                let Some((compared, update)) = compared_with(program, *condition, place) else {
                    return false;
                };
                let is_compared = |id: ExprId| same_expr(program, id, compared);
                let update = match update {
                    _ if is_compared(*yes) && is_own(*no) => update,
                    Update::Max if is_own(*yes) && is_compared(*no) => Update::Min,
                    Update::Min if is_own(*yes) && is_compared(*no) => Update::Max,
                    _ => return false,
                };
                self.take_extreme(place, compared, update, site);
                true
            }
            Expr::Or(_) => self.accumulate_truth(place, value, Update::Or, site),
            Expr::And(_) => self.accumulate_truth(place, value, Update::And, site),
            _ => false,
        }
    }

    /// Collects what a sum adds to the content of a place or subtracts from it. Whether it is such a
    /// sum.
    fn added_to(&mut self, id: ExprId, place: &Place, terms: &mut Vec<(Update, ExprId)>) -> bool {
        let program = self.program;
        // Expressions may share operands, so there may be far more ways to one than expressions.
        if !self.charge() {
            return false;
        }
        if reads(program, id, place) {
            return true;
        }
        match program.expr(id) {
            Expr::Binary(BinaryOp::Add, a, b) => {
                for (inner, other) in [(*a, *b), (*b, *a)] {
                    if self.added_to(inner, place, terms) {
                        terms.push((Update::Increase, other));
                        return true;
                    }
                }
                false
            }
            Expr::Binary(BinaryOp::Sub, a, b) if self.added_to(*a, place, terms) => {
                terms.push((Update::Decrease, *b));
                true
            }
            _ => false,
        }
    }

    fn accumulate_sum(
        &mut self,
        place: &'p Place,
        terms: &[(Update, ExprId)],
        site: SiteId,
    ) -> bool {
        let mut directions = Vec::new();
        for (update, term) in terms {
            directions.push(self.direction(*update, *term));
        }
        // In one direction, so that no sum on the way leaves the range where the last one does not.
        let [Some(update), others @ ..] = &directions[..] else {
            return false;
        };
        if others.iter().any(|other| *other != Some(*update)) {
            return false;
        }
        for (_, term) in terms {
            let value = self.value(*term);
            self.must_be_plain(&value, site);
        }
        let spots = self.resolve(place, site);
        self.must_be_numbers(&spots, site);
        self.fault(site);
        self.write(&spots, *update, site);
        true
    }

    fn accumulate_truth(
        &mut self,
        place: &'p Place,
        value: ExprId,
        update: Update,
        site: SiteId,
    ) -> bool {
        let program = self.program;
        let mut operands = Vec::new();
        flatten(program, value, update, &mut operands);
        let (others, is_own_last) = match &operands[..] {
            [own, others @ ..] if reads(program, *own, place) => (others, false),
            [others @ .., own] if reads(program, *own, place) => (others, true),
            _ => return false,
        };
        // Where the place decides first, the others are not evaluated, so whether one faults
        // depends on earlier passes. Where it comes last, so does whether it is read undefined.
        let depends_on_order = match is_own_last {
            true => !self.is_defined(place),
            false => others.iter().any(|other| self.can_fail(*other)),
        };
        if depends_on_order {
            return false;
        }
        for other in others {
            self.value(*other);
        }
        let spots = self.resolve(place, site);
        if !self.is_defined(place) {
            self.fault(site);
        }
        self.write(&spots, update, site);
        true
    }

    /// The direction of a sum whose terms all have one sign.
    ///
    /// Such a sum leaves its range in every order or in none, because its final value is the extreme
    /// one. That fails where arithmetic wraps around.
    fn direction(&mut self, update: Update, term: ExprId) -> Option<Update> {
        if self.program.arithmetic.wraps {
            return None;
        }
        let (lo, hi) = self.dry(|walk| walk.value(term)).range?;
        match (update, lo >= 0, hi <= 0) {
            (_, true, _) => Some(update),
            (Update::Increase, _, true) => Some(Update::Decrease),
            (Update::Decrease, _, true) => Some(Update::Increase),
            _ => None,
        }
    }

    /// Whether evaluating an expression may fail.
    fn can_fail(&mut self, id: ExprId) -> bool {
        self.dry(|walk| {
            walk.open.push(walk.observer());
            walk.env.assigned.push(Default::default());
            walk.value(id);
            walk.open.iter().any(|passes| passes.may_fault.is_some())
        })
    }

    /// Evaluates without recording anything for the enclosing loops.
    pub(super) fn dry<T>(&mut self, evaluate: impl FnOnce(&mut Self) -> T) -> T {
        let open = std::mem::take(&mut self.open);
        let env = self.env.clone();
        self.env.assigned.clear();
        let result = evaluate(self);
        self.open = open;
        self.env = env;
        result
    }

    /// `if e > x then x := e end`: the largest (or smallest) of all, in any order. Conditions in
    /// front of the comparison select the passes that take part.
    pub(super) fn extreme(&mut self, condition: ExprId, block: &'p [Stmt]) -> bool {
        let program = self.program;
        let [
            Stmt {
                kind: StmtKind::Assign { place, value },
                site,
            },
        ] = block
        else {
            return false;
        };
        let (filters, comparison) = match program.expr(condition) {
            Expr::And(parts) => match parts.split_last() {
                Some((last, filters)) => (filters, *last),
                None => return false,
            },
            _ => (&[][..], condition),
        };
        let Some((compared, update)) = compared_with(program, comparison, place) else {
            return false;
        };
        let is_value = same_expr(program, compared, *value) || strips(program, compared, *value);
        if !is_value || self.mentions.has_call(condition) || self.open.is_empty() {
            return false;
        }
        let facts = self.env.facts.clone();
        for filter in filters {
            self.value(*filter);
            self.learn(*filter, true);
        }
        self.take_extreme(place, compared, update, *site);
        self.keep_facts(&facts);
        true
    }

    fn take_extreme(&mut self, place: &'p Place, value: ExprId, update: Update, site: SiteId) {
        let value = self.value(value);
        self.must_be_plain(&value, site);
        let spots = self.resolve(place, site);
        self.must_be_numbers(&spots, site);
        self.fault(site);
        self.write(&spots, update, site);
    }

    /// Places that are computed with must not hold elements.
    fn must_be_numbers(&mut self, spots: &[Spot], site: SiteId) {
        let types = self.types();
        let is_plain = |spot: &Spot| Label::of_type(types, spot.ty).is_plain();
        if !spots.iter().all(is_plain) {
            self.breaks(site, "this computes with elements of a scalarset");
        }
    }
}

/// The operands of nested `Or`s or `And`s, in order.
fn flatten(program: &Program, id: ExprId, update: Update, operands: &mut Vec<ExprId>) {
    match (program.expr(id), update) {
        (Expr::Or(parts), Update::Or) | (Expr::And(parts), Update::And) => {
            for part in parts {
                flatten(program, *part, update, operands);
            }
        }
        _ => operands.push(id),
    }
}

/// What a comparison compares a place with, and what the place becomes where it takes that value
/// if the comparison holds.
fn compared_with(program: &Program, comparison: ExprId, place: &Place) -> Option<(ExprId, Update)> {
    let Expr::Binary(op, a, b) = program.expr(comparison) else {
        return None;
    };
    let is_own = |id: ExprId| reads(program, id, place);
    match op {
        BinaryOp::Gt | BinaryOp::Ge if is_own(*b) => Some((*a, Update::Max)),
        BinaryOp::Lt | BinaryOp::Le if is_own(*b) => Some((*a, Update::Min)),
        BinaryOp::Gt | BinaryOp::Ge if is_own(*a) => Some((*b, Update::Min)),
        BinaryOp::Lt | BinaryOp::Le if is_own(*a) => Some((*b, Update::Max)),
        _ => None,
    }
}

/// Whether an expression is the content of a place.
fn reads(program: &Program, id: ExprId, place: &Place) -> bool {
    match program.expr(id) {
        Expr::Defined(inner) => reads(program, *inner, place),
        Expr::Read(read) => same_place(program, read, place),
        _ => false,
    }
}

/// Whether `a` is `b`, with or without a check that it is defined.
fn strips(program: &Program, a: ExprId, b: ExprId) -> bool {
    matches!(program.expr(a), Expr::Defined(inner) if same_expr(program, *inner, b))
}
