//! Fields by which the successors of a state are known to differ.
//!
//! A rule of a process has a guard `pc[i] = idle`, and its body sets `pc[i] := busy`. If rules
//! write these fields in no other way, two firings at one state that set different fields, or one
//! field to different values, lead to different states; and a firing that sets its field to another
//! value leads away from its source.

use hadal_ir::expr::{Arg, BinaryOp, Expr, Place, Projection, Root};
use hadal_ir::ids::{ExprId, LocalId};
use hadal_ir::program::{ParamDomain, Rule};
use hadal_ir::stmt::{Stmt, StmtKind};
use hadal_ir::walk::{Mention, Reach, for_each_stmt};
use hadal_model::BitRanges;

use super::fixed::Fixed;
use super::guard::{Part, conjuncts};
use crate::unit::{Parts, Unit, domain_len};

/// What every firing of a rule does to a field that has a known value before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// It keeps its value, and no other field that is a mark of some rule changes.
    Still,
    /// It gets another value, and no other field that is a mark of some rule changes.
    Moved(Move),
}

/// A field and its new value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Move {
    /// First bit of the field, for the first value of the first parameter.
    pub(crate) first_bit: u64,
    /// Bits from there to the field of the next value.
    pub(crate) step: u64,
    /// The new value.
    pub(crate) to: u16,
}

/// Values of the first parameter at most.
const MAX_VALUES: u64 = 256;

/// By rule, its mark, if it has one.
pub(crate) fn marks(unit: &Unit<'_>) -> Vec<Option<Mark>> {
    let rules = &unit.program.rules;
    let candidates: Vec<Option<Candidate<'_>>> =
        rules.iter().map(|rule| candidate(unit, rule)).collect();
    let mut marked = Marked {
        unit,
        places: Vec::new(),
        fields: BitRanges::new(),
    };
    for candidate in candidates.iter().flatten() {
        if !marked
            .places
            .iter()
            .any(|it| may_overlap(it, candidate.place))
        {
            marked.places.push(candidate.place);
        }
        for number in 0..candidate.fields.n {
            let first = (candidate.fields.first_bit + number * candidate.fields.step) as usize;
            let end = first + candidate.fields.n_bits as usize;
            marked.fields.insert(first, end);
        }
    }
    let marks = candidates.into_iter().zip(rules);
    marks
        .map(|(candidate, rule)| {
            let candidate = candidate?;
            if marked.may_be_written(rule, candidate.stmt) {
                return None;
            }
            Some(match candidate.is_moved {
                false => Mark::Still,
                true => Mark::Moved(Move {
                    first_bit: candidate.fields.first_bit,
                    step: candidate.fields.step,
                    to: candidate.to,
                }),
            })
        })
        .collect()
}

/// The fields that are marks of some rule.
struct Marked<'a, 'p> {
    unit: &'a Unit<'p>,
    /// A place of each kind.
    places: Vec<&'p Place>,
    /// Their bits.
    fields: BitRanges,
}

impl Marked<'_, '_> {
    /// Whether a rule may write some of these fields other than by the statement of its body at
    /// `own`.
    fn may_be_written(&self, rule: &Rule, own: usize) -> bool {
        let own = &raw const rule.body[own];
        let mut is_written = false;
        let mut reach = Reach::new(self.unit.program);
        for block in [&rule.guard.prologue, &rule.body] {
            for_each_stmt(block, &mut |stmt| {
                is_written |= !std::ptr::eq(stmt, own) && self.is_written_by(&stmt.kind);
                stmt.for_each_mention(&mut |mention| {
                    reach.visit(mention, &mut |mention| {
                        is_written |= self.is_written_through(mention);
                    });
                });
            });
        }
        is_written
    }

    /// By the statement itself, or by one through a reference that it binds.
    fn is_written_by(&self, kind: &StmtKind) -> bool {
        match kind {
            StmtKind::Assign { place, .. }
            | StmtKind::Copy { to: place, .. }
            | StmtKind::Clear(place)
            | StmtKind::Undefine(place)
            | StmtKind::Bind { place, .. }
            | StmtKind::MultisetAdd {
                multiset: place, ..
            }
            | StmtKind::MultisetRemove {
                multiset: place, ..
            } => self.holds(place),
            StmtKind::Call { args, .. } => args.iter().any(|arg| self.is_passed(arg)),
            _ => false,
        }
    }

    /// By a call.
    fn is_written_through(&self, mention: Mention) -> bool {
        let unit = self.unit;
        match mention {
            Mention::Function(function) => {
                let effects = &unit.effects.functions[function.index()];
                effects.state.writes.intersects(&self.fields)
            }
            Mention::Expr(id) => match unit.program.expr(id) {
                Expr::Call { args, .. } => args.iter().any(|arg| self.is_passed(arg)),
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether a reference is passed to a place that holds such a field.
    fn is_passed(&self, arg: &Arg) -> bool {
        matches!(arg, Arg::Ref(place) if self.holds(place))
    }

    /// Whether a place may hold such a field, or be a part of one.
    fn holds(&self, place: &Place) -> bool {
        self.places.iter().any(|other| may_overlap(other, place))
    }
}

/// Whether two places may have bits in common, where neither is behind a reference.
fn may_overlap(a: &Place, b: &Place) -> bool {
    let (Root::Var(var), Root::Var(other)) = (&a.root, &b.root) else {
        return false;
    };
    let mut steps = a.path.iter().zip(&b.path);
    var == other
        && steps.all(|steps| match steps {
            (Projection::Field(a), Projection::Field(b)) => a == b,
            _ => true,
        })
}

/// A statement of a body that sets a field whose value the guard tests.
struct Candidate<'p> {
    /// Its position in the body.
    stmt: usize,
    place: &'p Place,
    fields: Fields,
    to: u16,
    is_moved: bool,
}

fn candidate<'p>(unit: &Unit<'p>, rule: &'p Rule) -> Option<Candidate<'p>> {
    let first_param = rule.params.first().map(|param| param.local);
    let mut is_plain = true;
    for block in [&rule.guard.prologue, &rule.body] {
        for_each_stmt(block, &mut |stmt| {
            let sets_param = first_param.is_some_and(|param| sets(stmt, param));
            is_plain &= !sets_param && !matches!(stmt.kind, StmtKind::Return(_));
        });
    }
    // A call in an expression might set it through a reference.
    let passes = |arg: &Arg| matches!(arg, Arg::Ref(place) if is_local(place, first_param));
    let may_set = |expr: &Expr| match expr {
        Expr::Call { args, .. } => args.iter().any(passes),
        _ => false,
    };
    if !is_plain || unit.program.exprs.iter().any(|(expr, _)| may_set(expr)) {
        return None;
    }
    let constant = Fixed { unit, param: None };
    let mut parts = Vec::new();
    conjuncts(unit, rule.guard.condition?, &mut parts);
    let tested: Vec<(Fields, i64)> = parts
        .into_iter()
        .filter_map(|part| match part {
            Part::Condition(id) => {
                let (place, value) = equation(unit, &constant, id)?;
                Some((fields(unit, rule, place)?, value))
            }
            Part::Stmt(_) => None,
        })
        .collect();
    rule.body
        .iter()
        .enumerate()
        .rev()
        .find_map(|(number, stmt)| {
            let StmtKind::Assign { place, value } = &stmt.kind else {
                return None;
            };
            let to = u16::try_from(constant.value(*value)?).ok()?;
            let own = fields(unit, rule, place)?;
            let (_, from) = tested.iter().find(|(tested, _)| *tested == own)?;
            Some(Candidate {
                stmt: number,
                place,
                fields: own,
                to,
                is_moved: *from != i64::from(to),
            })
        })
}

/// Whether a statement may set a local, or lets a reference do so.
fn sets(stmt: &Stmt, local: LocalId) -> bool {
    let is_it = |place: &Place| is_local(place, Some(local));
    match &stmt.kind {
        StmtKind::Assign { place, .. }
        | StmtKind::Clear(place)
        | StmtKind::Undefine(place)
        | StmtKind::Bind { place, .. }
        | StmtKind::Copy { to: place, .. } => is_it(place),
        StmtKind::For { var, .. } => *var == local,
        StmtKind::Call { args, .. } => args
            .iter()
            .any(|arg| matches!(arg, Arg::Ref(place) if is_it(place))),
        _ => false,
    }
}

fn is_local(place: &Place, local: Option<LocalId>) -> bool {
    matches!(place.root, Root::Local(root) if Some(root) == local)
}

/// The place and the constant of `place = constant`.
fn equation<'p>(unit: &Unit<'p>, constant: &Fixed<'_, 'p>, id: ExprId) -> Option<(&'p Place, i64)> {
    let Expr::Binary(BinaryOp::Eq, a, b) = unit.program.expr(id) else {
        return None;
    };
    let (read, value) = match constant.value(*b) {
        Some(value) => (*a, value),
        None => (*b, constant.value(*a)?),
    };
    let mut read = unit.program.expr(read);
    while let Expr::Defined(value) = read {
        read = unit.program.expr(*value);
    }
    match read {
        Expr::Read(place) => Some((place, value)),
        _ => None,
    }
}

/// The fields that a place is, one for each value of the first parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fields {
    first_bit: u64,
    step: u64,
    n: u64,
    n_bits: u32,
}

fn fields(unit: &Unit<'_>, rule: &Rule, place: &Place) -> Option<Fields> {
    let Some(param) = rule.params.first() else {
        let (first_bit, n_bits) = field(&Fixed { unit, param: None }, place)?;
        return Some(Fields {
            first_bit,
            step: 0,
            n: 1,
            n_bits,
        });
    };
    let n = domain_len(unit.program, &param.domain);
    let (first, by) = match &param.domain {
        ParamDomain::Type(ty) => (unit.simple(*ty).lo, 1),
        ParamDomain::Span { from, by, .. } => (*from, *by),
        ParamDomain::Slots { .. } => return None,
    };
    if !(1..=MAX_VALUES).contains(&n) {
        return None;
    }
    let at = |number: u64| {
        let value = first.wrapping_add((number as i64).wrapping_mul(by));
        let param = Some((param.local, value));
        field(&Fixed { unit, param }, place)
    };
    let (first_bit, n_bits) = at(0)?;
    let step = match n {
        1 => 0,
        _ => at(1)?.0.checked_sub(first_bit)?,
    };
    let is_linear = (0..n).all(|number| at(number) == Some((first_bit + number * step, n_bits)));
    is_linear.then_some(Fields {
        first_bit,
        step,
        n,
        n_bits,
    })
}

/// The first bit and the width of a place of simple type, outside of multisets.
fn field(fixed: &Fixed<'_, '_>, place: &Place) -> Option<(u64, u32)> {
    let unit = fixed.unit;
    let Root::Var(var) = place.root else {
        return None;
    };
    let mut at = unit.layout.var(var) as u64;
    let mut ty = unit.program.var(var).ty;
    for step in &place.path {
        (at, ty) = match (step, unit.parts(ty)) {
            (Projection::Field(field), Parts::Record { fields }) => {
                let (offset, ty) = fields[*field as usize];
                (at + offset, ty)
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
                let position = fixed.value(*index)?.checked_sub(*lo)?;
                let position = u64::try_from(position).ok().filter(|it| it < len)?;
                (at + position * stride, *element)
            }
            _ => return None,
        };
    }
    match unit.parts(ty) {
        Parts::Simple(simple) => Some((at, simple.bits)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use hadal_ir::interp::{Interpreter, Limits};

    use super::{Mark, Move};
    use crate::selectors::random::compile;
    use crate::unit::Unit;

    /// The marks of the rules of a program with two processes, each of which is at a point.
    fn marks(rules: &str) -> Vec<Option<Mark>> {
        let text = format!(
            "type p: 0..1; var pc: array [p] of record x: 0..2; at: 0..6; end; y: 0..3;
             startstate clear pc; y := 0; end; {rules}"
        );
        let interpreter = Interpreter::new(compile(&text), Limits::default());
        let images = Mutex::new(Vec::new());
        Unit::new(&interpreter, &[], &images).marks
    }

    fn moved(to: u16) -> Option<Mark> {
        Some(Mark::Moved(Move {
            first_bit: 2,
            step: 5,
            to,
        }))
    }

    #[test]
    fn a_rule_that_sets_the_point_it_tests_has_a_mark() {
        let found = marks(
            "ruleset i: p do
               rule pc[i].at = 0 ==> y := 1; pc[i].x := 2; pc[i].at := 1; end;
               rule y = 1 & pc[i].at = 1 ==> pc[i].at := 1; end;
               rule pc[i].at = 1 ==> pc[i].at := 2; y := 0; end; end;",
        );
        assert_eq!(found, [moved(1), Some(Mark::Still), moved(2)]);
    }

    #[test]
    fn a_rule_that_may_write_other_points_has_none() {
        let found = marks(
            "ruleset i: p do
               rule pc[i].at = 0 ==> pc[i].at := 1; end;
               rule pc[i].at = 1 ==> pc[1 - i].at := 2; pc[i].at := 2; end;
               rule pc[i].at = 2 ==> clear pc[1 - i]; pc[i].at := 3; end;
               rule pc[i].at = 3 ==> alias other: pc[1 - i] do
                   other.at := 2; pc[i].at := 4; end; end;
               rule pc[i].at = 4 ==> if y = 0 then return; end; pc[i].at := 5; end;
               rule pc[i].at = 5 ==> if y = 0 then pc[i].at := 6; end; end; end;",
        );
        assert_eq!(found[0], moved(1));
        assert!(found[1..].iter().all(Option::is_none), "{found:?}");
    }
}
