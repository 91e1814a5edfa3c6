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
use super::guard::{Part, conjuncts, part_may_fault};
use crate::unit::{Item, Parts, Simple, Unit, domain_len};

/// A necessary condition of a rule: one of these fields has one of these values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Test {
    /// First bits of the fields that instances of the rule read, in ascending order, by position
    /// of the first parameter in its domain. One list where that makes no difference.
    pub(crate) first_bits: Vec<Vec<usize>>,
    /// All of them.
    pub(crate) all_fields: Vec<usize>,
    pub(crate) n_bits: u32,
    /// By what is stored in a field, whether it does not rule an instance out.
    pub(crate) leaves: Vec<bool>,
}

/// The widest field that is tested; there is a table with an entry for each of its values.
const MAX_BITS: u32 = 10;
/// Fields of one test at most.
const MAX_FIELDS: usize = 64;

impl Test {
    /// The fields that instances read whose first parameter is at a position in its domain.
    pub(crate) fn fields_at(&self, position: usize) -> &[usize] {
        let last = self.first_bits.len() - 1;
        &self.first_bits[position.min(last)]
    }
}

/// The tests of a rule. A state in which one of them fails has no enabled instance of the rule,
/// and no guard of an instance faults there: neither the test nor parts of the guard to its left
/// can, and those to its right are not evaluated.
pub(crate) fn tests(unit: &Unit<'_>, index: usize) -> Vec<Test> {
    let rule = &unit.program.rules[index];
    let item = unit.number(Item::Rule(index)) as usize;
    let params: Vec<LocalId> = rule.params.iter().map(|param| param.local).collect();
    let new_faults = || Faults::new(unit, item, &rule.frame, params.clone());
    let slots_may_fault = rule.params.iter().enumerate().any(|(number, param)| {
        let ParamDomain::Slots { multiset, .. } = &param.domain else {
            return false;
        };
        let bound = params[..number].to_vec();
        Faults::new(unit, item, &rule.frame, bound).place_may_fault(multiset)
    });
    let may_fault = |part| part_may_fault(unit, item, &rule.frame, &params, part);
    let prologue = &rule.guard.prologue;
    if slots_may_fault || prologue.iter().any(|stmt| may_fault(Part::Stmt(stmt))) {
        return Vec::new();
    }
    let mut parts = Vec::new();
    if let Some(condition) = rule.guard.condition {
        conjuncts(unit, condition, &mut parts);
    }
    let finder = Finder {
        unit,
        rule,
        fixed: None,
    };
    let mut tests = Vec::new();
    for part in parts {
        // A field that may be undefined often is, where it is part of a message that is not there.
        if may_fault(part) {
            break;
        }
        if let Part::Condition(id) = part
            && let Some(judged) = finder.judge(id, &mut new_faults())
            && let Some(test) = finder.test(judged)
        {
            tests.push(test);
        }
    }
    tests
}

/// The result of an expression for the values of one place, by stored value. A pattern that is no
/// value may give both.
struct Judged<'p> {
    place: &'p Place,
    simple: Simple,
    may_be_true: Vec<bool>,
    may_be_false: Vec<bool>,
}

#[derive(Clone, Copy)]
struct Finder<'a, 'p> {
    unit: &'a Unit<'p>,
    rule: &'p Rule,
    /// The value of the first parameter, where only its instances are meant.
    fixed: Option<i64>,
}

impl<'p> Finder<'_, 'p> {
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
                let (op, field, with) = match (constant(program.expr(*a)), program.expr(*b)) {
                    (Some(with), _) => (mirrored(*op), *b, with),
                    (None, b) => (*op, *a, constant(b)?),
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
            Expr::Or(operands) => {
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
            Expr::Read(place) if !faults.place_may_fault(place) => {
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
        let mut first_bits = match self.rule.params.first() {
            None => vec![self.fields(judged.place)?],
            Some(param) => {
                let values = self.values(param)?.into_iter();
                let fields = values.map(|value| {
                    let fixed = Some(value);
                    Finder { fixed, ..*self }.fields(judged.place)
                });
                fields.collect::<Option<Vec<_>>>()?
            }
        };
        if first_bits.windows(2).all(|pair| pair[0] == pair[1]) {
            first_bits.truncate(1);
        }
        if first_bits.is_empty() {
            return None;
        }
        let mut all_fields = first_bits.concat();
        all_fields.sort_unstable();
        all_fields.dedup();
        if all_fields.len() > MAX_FIELDS {
            return None;
        }
        Some(Test {
            first_bits,
            all_fields,
            n_bits: judged.simple.bits,
            leaves: judged.may_be_true,
        })
    }

    /// Where the place may be, in ascending order.
    fn fields(&self, place: &Place) -> Option<Vec<usize>> {
        let mut fields = self.first_bits(place)?.0;
        fields.sort_unstable();
        fields.dedup();
        Some(fields)
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
        let mut index = self.unit.program.expr(index);
        while let Expr::Defined(inner) = index {
            index = self.unit.program.expr(*inner);
        }
        let positions: Vec<u64> = match index {
            Expr::Int(value) => vec![position(*value)],
            Expr::Read(Place {
                root: Root::Local(local),
                path,
            }) if path.is_empty() => {
                let params = &self.rule.params;
                match (
                    params.iter().position(|param| param.local == *local),
                    self.fixed,
                ) {
                    (Some(0), Some(value)) => vec![position(value)],
                    (Some(number), _) => {
                        let values = self.values(&params[number])?.into_iter();
                        values.map(position).collect()
                    }
                    (None, _) => (0..len).collect(),
                }
            }
            _ => (0..len).collect(),
        };
        positions.iter().all(|&at| at < len).then_some(positions)
    }

    fn values(&self, param: &Param) -> Option<Vec<i64>> {
        let len = domain_len(self.unit.program, &param.domain);
        if len > MAX_FIELDS as u64 {
            return None;
        }
        let (first, by) = match &param.domain {
            ParamDomain::Type(ty) => (self.unit.simple(*ty).lo, 1),
            ParamDomain::Span { from, by, .. } => (*from, *by),
            ParamDomain::Slots { .. } => (0, 1),
        };
        Some(
            (0..len as i64)
                .map(|n| first.wrapping_add(n.wrapping_mul(by)))
                .collect(),
        )
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

fn constant(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::Int(value) => Some(*value),
        Expr::Bool(truth) => Some(i64::from(*truth)),
        _ => None,
    }
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
