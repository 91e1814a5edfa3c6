//! Conjuncts that test one field of the state: their result for each value it can have.
//!
//! `pc[i] = idle` in a ruleset over `i` is such a test. If no element of `pc` has a value at which
//! the conjunct may be true, no instance of the rule is enabled, whatever the rest of its guard;
//! and those of one value of `i` are not enabled where that one element has no such value.

use hadal_ir::expr::{BinaryOp, Expr, Place, Projection, Root, UnaryOp};
use hadal_ir::ids::{ExprId, LocalId};
use hadal_ir::program::{Param, ParamDomain, Rule};
use hadal_ir::stmt::StmtKind;

use super::fault::Faults;
use super::fixed::Fixed;
use super::guard::{Part, conjuncts, part_may_fault};
use crate::unit::{Item, Parts, Simple, Unit, domain_len};

/// A necessary condition of instances of a rule: one of these fields has one of these values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Test {
    /// First bits of the fields that the instances read, in ascending order.
    pub(crate) first_bits: Vec<usize>,
    pub(crate) n_bits: u32,
    /// By what is stored in a field, whether it does not rule an instance out.
    pub(crate) leaves: Vec<bool>,
}

/// The tests of a rule.
#[derive(Clone, Debug)]
pub(crate) enum Tests {
    /// Of all its instances.
    All(Vec<Test>),
    /// Of those of each value of its first parameter, where they read different fields.
    ByValue(Vec<Vec<Test>>),
}

/// The widest field that is tested; there is a table with an entry for each of its values.
const MAX_BITS: u32 = 10;
/// Fields of one test at most.
const MAX_FIELDS: usize = 64;

/// The tests of a rule, by value of its first parameter if that has at most `max_values`. A state in
/// which one of them fails has no enabled one among these instances, and no guard of theirs faults
/// there: neither the test nor parts of the guard to its left can, and those to its right are not
/// evaluated.
pub(crate) fn tests(unit: &Unit<'_>, index: usize, max_values: usize) -> Tests {
    let rule = &unit.program.rules[index];
    let item = unit.number(Item::Rule(index)) as usize;
    let params: Vec<LocalId> = rule.params.iter().map(|param| param.local).collect();
    let slots_may_fault = rule.params.iter().enumerate().any(|(number, param)| {
        let ParamDomain::Slots { multiset, .. } = &param.domain else {
            return false;
        };
        let bound = params[..number].to_vec();
        Faults::new(unit, item, &rule.frame, bound).place_may_fault(multiset)
    });
    let prologue = &rule.guard.prologue;
    let may_fault = |stmt| part_may_fault(unit, item, &rule.frame, &params, Part::Stmt(stmt));
    let sets_param = |kind: &StmtKind| match kind {
        StmtKind::Assign { place, .. } => {
            matches!(place.root, Root::Local(local) if params.contains(&local))
        }
        _ => false,
    };
    if slots_may_fault
        || prologue
            .iter()
            .any(|stmt| may_fault(stmt) || sets_param(&stmt.kind))
    {
        return Tests::All(Vec::new());
    }
    let tests_of = |fixed: Option<i64>| {
        let param = params.first().copied().zip(fixed);
        let finder = Finder {
            unit,
            rule,
            fixed: Fixed { unit, param },
        };
        let new_faults = || Faults::new(unit, item, &rule.frame, params.clone());
        finder.tests(new_faults)
    };
    let is_slot = |param: &Param| matches!(param.domain, ParamDomain::Slots { .. });
    let first = rule.params.first().filter(|param| !is_slot(param));
    let values = first.and_then(values_of_domain(unit));
    if let Some(values) = values
        && (2..=max_values).contains(&values.len())
    {
        let by_value: Vec<Vec<Test>> = values.into_iter().map(|it| tests_of(Some(it))).collect();
        let fields = |tests: &[Test]| -> Vec<Vec<usize>> {
            tests.iter().map(|test| test.first_bits.clone()).collect()
        };
        if by_value
            .windows(2)
            .any(|pair| fields(&pair[0]) != fields(&pair[1]))
        {
            return Tests::ByValue(by_value);
        }
    }
    Tests::All(tests_of(None))
}

/// Finds the values of a parameter, in their order, if there are few.
fn values_of_domain(unit: &Unit<'_>) -> impl Fn(&Param) -> Option<Vec<i64>> {
    |param| {
        let len = domain_len(unit.program, &param.domain);
        if len > MAX_FIELDS as u64 {
            return None;
        }
        let (first, by) = match &param.domain {
            ParamDomain::Type(ty) => (unit.simple(*ty).lo, 1),
            ParamDomain::Span { from, by, .. } => (*from, *by),
            ParamDomain::Slots { .. } => (0, 1),
        };
        let value = |n: i64| first.wrapping_add(n.wrapping_mul(by));
        Some((0..len as i64).map(value).collect())
    }
}

/// The result of an expression for the values of one place, by stored value. A pattern that is no
/// value may give both.
struct Judged<'p> {
    place: &'p Place,
    simple: Simple,
    may_be_true: Vec<bool>,
    may_be_false: Vec<bool>,
}

struct Finder<'a, 'p> {
    unit: &'a Unit<'p>,
    rule: &'p Rule,
    /// The value of the first parameter, where only its instances are meant.
    fixed: Fixed<'a, 'p>,
}

impl<'a, 'p> Finder<'a, 'p> {
    fn tests(&self, new_faults: impl Fn() -> Faults<'a>) -> Vec<Test> {
        let mut parts = Vec::new();
        if let Some(condition) = self.rule.guard.condition {
            conjuncts(self.unit, condition, &mut parts);
        }
        let mut tests = Vec::new();
        for part in parts {
            let Part::Condition(id) = part else { continue };
            // A field that may be undefined often is, where it is part of a message that is not
            // there.
            if self.fixed.may_fault(id, &mut new_faults()) {
                break;
            }
            self.collect(id, &mut new_faults(), &mut tests);
        }
        tests
    }

    /// Adds the tests of a condition that does not fault.
    fn collect(&self, id: ExprId, faults: &mut Faults<'_>, tests: &mut Vec<Test>) {
        match self.unit.program.expr(id) {
            Expr::And(parts) => {
                for &part in parts {
                    self.collect(part, faults, tests);
                }
                return;
            }
            Expr::Or(_) => {
                if let Some([only]) = self.alternatives(id).as_deref() {
                    return self.collect(*only, faults, tests);
                }
            }
            _ => {}
        }
        let judged = self.judge(id, faults);
        tests.extend(judged.and_then(|judged| self.test(judged)));
    }

    /// The parts of a disjunction that are not known to be false, unless one is known to be true.
    fn alternatives(&self, id: ExprId) -> Option<Vec<ExprId>> {
        let Expr::Or(parts) = self.unit.program.expr(id) else {
            return None;
        };
        let mut left = Vec::new();
        for &part in parts {
            match self.fixed.truth(part) {
                Some(true) => return None,
                Some(false) => {}
                None => left.push(part),
            }
        }
        Some(left)
    }

    fn judge(&self, id: ExprId, faults: &mut Faults<'_>) -> Option<Judged<'p>> {
        let program = self.unit.program;
        match program.expr(id) {
            Expr::Read(_) | Expr::Defined(_) => {
                let (place, simple) = self.field(id, faults)?;
                let judged = judge_values(place, simple, |value| value != 0);
                simple.is_bool.then_some(judged)
            }
            Expr::Unary(UnaryOp::Not, value) => {
                let judged = self.judge(*value, faults)?;
                Some(Judged {
                    may_be_true: judged.may_be_false,
                    may_be_false: judged.may_be_true,
                    ..judged
                })
            }
            Expr::Binary(op, a, b) => {
                let (op, field, with) = match self.fixed.value(*a) {
                    Some(with) => (mirrored(*op), *b, with),
                    None => (*op, *a, self.fixed.value(*b)?),
                };
                let (place, simple) = self.field(field, faults)?;
                let holds: fn(i64, i64) -> bool = match op {
                    BinaryOp::Eq | BinaryOp::Same => |a, b| a == b,
                    BinaryOp::Ne => |a, b| a != b,
                    BinaryOp::Lt => |a, b| a < b,
                    BinaryOp::Le => |a, b| a <= b,
                    BinaryOp::Gt => |a, b| a > b,
                    BinaryOp::Ge => |a, b| a >= b,
                    _ => return None,
                };
                Some(judge_values(place, simple, |value| holds(value, with)))
            }
            Expr::Or(_) => {
                let operands = self.alternatives(id)?;
                let (first, rest) = operands.split_first()?;
                let mut all = self.judge(*first, faults)?;
                for &operand in rest {
                    let judged = self.judge(operand, faults)?;
                    if judged.place != all.place {
                        return None;
                    }
                    for (all, one) in all.may_be_true.iter_mut().zip(judged.may_be_true) {
                        *all |= one;
                    }
                    for (all, one) in all.may_be_false.iter_mut().zip(judged.may_be_false) {
                        *all &= one;
                    }
                }
                Some(all)
            }
            _ => None,
        }
    }

    /// The place of few values that an expression reads, if it does nothing else.
    fn field(&self, id: ExprId, faults: &mut Faults<'_>) -> Option<(&'p Place, Simple)> {
        match self.unit.program.expr(id) {
            Expr::Defined(value) => self.field(*value, faults),
            Expr::Read(place) if !self.fixed.place_may_fault(place, faults) => {
                match self.unit.parts(faults.place_type(place)?) {
                    Parts::Simple(simple) if (1..=MAX_BITS).contains(&simple.bits) => {
                        Some((place, *simple))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The test that a judgement makes of all instances. `None` where it never rules any out, or
    /// does not look at the state.
    fn test(&self, judged: Judged<'_>) -> Option<Test> {
        if judged.may_be_true.iter().all(|leaves| *leaves) {
            return None;
        }
        let mut first_bits = self.first_bits(judged.place)?.0;
        first_bits.sort_unstable();
        first_bits.dedup();
        Some(Test {
            first_bits,
            n_bits: judged.simple.bits,
            leaves: judged.may_be_true,
        })
    }

    /// Where the place may be, over all instances that are meant, and its type.
    fn first_bits(&self, place: &Place) -> Option<(Vec<usize>, hadal_ir::ids::TypeId)> {
        let (mut at, mut ty) = match &place.root {
            Root::Var(var) => {
                let ty = self.unit.program.var(*var).ty;
                (vec![self.unit.layout.var(*var)], ty)
            }
            Root::Local(local) => {
                // Elements count from the first index of the reference's own type, which may
                // differ from that of its target.
                let (at, _) = self.first_bits(self.bound_to(*local)?)?;
                (at, self.rule.frame.local(*local).kind.ty())
            }
            Root::Result { .. } => return None,
        };
        for step in &place.path {
            let (offsets, part) = match (step, self.unit.parts(ty)) {
                (Projection::Field(field), Parts::Record { fields }) => {
                    let (offset, ty) = fields[*field as usize];
                    (vec![offset as usize], ty)
                }
                (
                    Projection::Index(index),
                    Parts::Array {
                        lo,
                        len,
                        stride,
                        element,
                    },
                ) => {
                    let offset = |position: u64| (position * stride) as usize;
                    let offsets = self.positions(*index, *lo, *len)?;
                    (offsets.into_iter().map(offset).collect(), *element)
                }
                _ => return None,
            };
            if at.len() * offsets.len() > MAX_FIELDS {
                return None;
            }
            let sums = at
                .iter()
                .flat_map(|at| offsets.iter().map(move |by| at + by));
            at = sums.collect();
            ty = part;
        }
        Some((at, ty))
    }

    /// What the prologue binds a reference to. `None` unless it does so exactly once.
    fn bound_to(&self, local: LocalId) -> Option<&'p Place> {
        let mut binds = self
            .rule
            .guard
            .prologue
            .iter()
            .filter_map(|stmt| match &stmt.kind {
                StmtKind::Bind {
                    local: bound,
                    place,
                } if *bound == local => Some(place),
                _ => None,
            });
        let place = binds.next()?;
        binds.next().is_none().then_some(place)
    }

    /// The positions in an array that an index, which is never outside, leads to.
    fn positions(&self, index: ExprId, lo: i64, len: u64) -> Option<Vec<u64>> {
        if len > MAX_FIELDS as u64 {
            return None;
        }
        let position = |value: i64| value.wrapping_sub(lo) as u64;
        let positions: Vec<u64> = match self.fixed.value(index) {
            Some(value) => vec![position(value)],
            None => {
                let values = self.param_values(index);
                values.map_or_else(
                    || (0..len).collect(),
                    |values| values.into_iter().map(position).collect(),
                )
            }
        };
        positions.iter().all(|&at| at < len).then_some(positions)
    }

    /// The values of an index that is a parameter with few of them.
    fn param_values(&self, mut index: ExprId) -> Option<Vec<i64>> {
        while let Expr::Defined(inner) = self.unit.program.expr(index) {
            index = *inner;
        }
        let Expr::Read(place) = self.unit.program.expr(index) else {
            return None;
        };
        let Root::Local(local) = place.root else {
            return None;
        };
        let params = &self.rule.params;
        let param = params.iter().find(|param| param.local == local)?;
        if !place.path.is_empty() {
            return None;
        }
        values_of_domain(self.unit)(param)
    }
}

/// The result of a condition for each value of a place.
fn judge_values(place: &Place, simple: Simple, holds: impl Fn(i64) -> bool) -> Judged<'_> {
    let mut judged = Judged {
        place,
        simple,
        may_be_true: vec![true; 1 << simple.bits],
        may_be_false: vec![true; 1 << simple.bits],
    };
    for value in simple.lo..=simple.hi {
        let raw = value.wrapping_sub(simple.offset()) as usize & ((1 << simple.bits) - 1);
        match holds(value) {
            true => judged.may_be_false[raw] = false,
            false => judged.may_be_true[raw] = false,
        }
    }
    judged
}

/// The comparison with its operands exchanged.
fn mirrored(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::Lt => BinaryOp::Gt,
        BinaryOp::Le => BinaryOp::Ge,
        BinaryOp::Gt => BinaryOp::Lt,
        BinaryOp::Ge => BinaryOp::Le,
        op => op,
    }
}
