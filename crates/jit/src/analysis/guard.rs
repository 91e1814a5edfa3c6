//! At which ruleset level each part of a guard is evaluated.
//!
//! Level 0 is before any parameter is bound, level n after the n-th one. A conjunct that fails at
//! a level skips everything below it.
//!
//! A part may come ahead of one to its left only if that one cannot fault, for skipping it would
//! hide its fault. And a part that may fault itself stays behind the conjuncts to its left: it
//! would be correct to evaluate it early, since native code then leaves the state to the
//! interpreter, which decides; but in `valid[j] & data = i` that would happen all the time. For the
//! same reason it stays behind parameters that stand for elements of a multiset, of which there may
//! be none.

use hadal_ir::expr::{Arg, By, Domain, Expr, Place, Projection, Root};
use hadal_ir::ids::{ExprId, LocalId};
use hadal_ir::program::{Frame, Guard, LocalKind, Param, ParamDomain};
use hadal_ir::stmt::{Stmt, StmtKind};

use super::fault::Faults;
use crate::unit::{Parts, Unit};

/// A guard, split up.
#[derive(Debug)]
pub(crate) struct Plan<'p> {
    /// In the order of evaluation within a level, which is that of the text.
    pub(crate) parts: Vec<Placed<'p>>,
    /// Whether parts are evaluated at their own levels; else all at the innermost one, with
    /// locals undefined at first each time.
    pub(crate) is_split: bool,
}

/// A part of a guard and its level.
#[derive(Debug)]
pub(crate) struct Placed<'p> {
    pub(crate) level: usize,
    pub(crate) part: Part<'p>,
}

/// A part of a guard.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part<'p> {
    Stmt(&'p Stmt),
    Condition(ExprId),
}

/// Splits a guard up. With `split` false everything is placed at the innermost level.
pub(crate) fn plan<'p>(
    unit: &Unit<'p>,
    item: usize,
    frame: &'p Frame,
    params: &'p [Param],
    guard: &'p Guard,
    split: bool,
) -> Plan<'p> {
    let mut parts: Vec<Part<'p>> = guard.prologue.iter().map(Part::Stmt).collect();
    let prologue_len = parts.len();
    if let Some(condition) = guard.condition {
        conjuncts(unit, condition, &mut parts);
    }
    let levels = if split {
        levels(unit, item, frame, params, &parts, prologue_len)
    } else {
        None
    };
    let is_split = levels.is_some();
    let levels = levels.unwrap_or_else(|| vec![params.len(); parts.len()]);
    let parts = parts.into_iter().zip(levels);
    Plan {
        parts: parts.map(|(part, level)| Placed { level, part }).collect(),
        is_split,
    }
}

/// The parts of a condition that must all be true, in order.
pub(super) fn conjuncts<'p>(unit: &Unit<'p>, id: ExprId, parts: &mut Vec<Part<'p>>) {
    match unit.program.expr(id) {
        Expr::And(operands) => operands.iter().for_each(|&id| conjuncts(unit, id, parts)),
        Expr::Bool(true) => {}
        _ => parts.push(Part::Condition(id)),
    }
}

/// The level of each part, or `None` where the parts depend on each other in other ways than by
/// locals that the prologue sets once.
fn levels(
    unit: &Unit<'_>,
    item: usize,
    frame: &Frame,
    params: &[Param],
    parts: &[Part<'_>],
    prologue_len: usize,
) -> Option<Vec<usize>> {
    let touches: Vec<Touched> = parts
        .iter()
        .map(|part| Touched::of(unit, frame, *part))
        .collect::<Option<_>>()?;
    // What sets each local: a parameter, or a statement of the prologue.
    let param_level = |local: LocalId| params.iter().position(|param| param.local == local);
    let mut setter: Vec<Option<usize>> = vec![None; frame.locals.len()];
    for (number, part) in parts[..prologue_len].iter().enumerate() {
        let Part::Stmt(stmt) = part else { return None };
        let local = match &stmt.kind {
            StmtKind::Bind { local, .. } => *local,
            StmtKind::Assign { place, .. } => match place.root {
                Root::Local(local) if place.path.is_empty() => local,
                _ => return None,
            },
            _ => return None,
        };
        if setter[local.index()].replace(number).is_some() || param_level(local).is_some() {
            return None;
        }
    }
    for touched in &touches {
        let spoils = |local: &LocalId| {
            setter[local.index()].is_some()
                || param_level(*local).is_some()
                || touches.iter().any(|other| other.used.contains(local))
        };
        if touched.changed.iter().any(spoils) {
            return None;
        }
    }

    let defined: Vec<LocalId> = params.iter().map(|param| param.local).collect();
    let (mut floor, mut slots) = (0, 0);
    for (number, param) in params.iter().enumerate() {
        if let ParamDomain::Slots { multiset, .. } = &param.domain {
            slots = number + 1;
            let mut faults = Faults::new(unit, item, frame, defined[..number].to_vec());
            if faults.place_may_fault(multiset) {
                floor = number + 1;
            }
        }
    }
    let mut levels: Vec<usize> = Vec::with_capacity(parts.len());
    // The innermost level among parts so far that may fault, and among conjuncts.
    let (mut faulty, mut conjunct) = (floor, 0);
    for (number, (part, touched)) in parts.iter().zip(&touches).enumerate() {
        let mut level = faulty;
        for local in &touched.used {
            if let Some(param) = param_level(*local) {
                level = level.max(param + 1);
            }
            if let Some(setter) = setter[local.index()] {
                if setter >= number {
                    return None;
                }
                level = level.max(levels[setter]);
            }
        }
        let may_fault = part_may_fault(unit, item, frame, &defined, *part);
        if may_fault {
            level = level.max(conjunct).max(slots);
            faulty = level;
        }
        if matches!(part, Part::Condition(_)) {
            conjunct = conjunct.max(level);
        }
        levels.push(level);
    }
    Some(levels)
}

/// Whether evaluating a part may fault, `defined` being the parameters.
pub(super) fn part_may_fault(
    unit: &Unit<'_>,
    item: usize,
    frame: &Frame,
    defined: &[LocalId],
    part: Part<'_>,
) -> bool {
    let mut faults = Faults::new(unit, item, frame, defined.to_vec());
    match part {
        Part::Condition(id) => faults.may_fault(id),
        Part::Stmt(stmt) => match &stmt.kind {
            StmtKind::Bind { place, .. } => faults.place_may_fault(place),
            StmtKind::Assign { place, value } => {
                let Root::Local(local) = place.root else {
                    return true;
                };
                let LocalKind::Value(ty) = frame.local(local).kind else {
                    return true;
                };
                let fits = match (unit.parts(ty), faults.range(*value)) {
                    (Parts::Simple(simple), Some((lo, hi))) => {
                        i128::from(simple.lo) <= lo && hi <= i128::from(simple.hi)
                    }
                    (Parts::Simple(simple), None) => simple.is_bool,
                    _ => false,
                };
                !fits || faults.may_fault(*value)
            }
            _ => true,
        },
    }
}

/// The locals an evaluation touches.
#[derive(Debug, Default)]
struct Touched {
    /// Read, but for those that the expression itself binds.
    used: Vec<LocalId>,
    /// Changed: run over by quantifiers, results of calls, passed by reference.
    changed: Vec<LocalId>,
}

impl Touched {
    /// `None` where there is too much to look at.
    fn of(unit: &Unit<'_>, frame: &Frame, part: Part<'_>) -> Option<Self> {
        let mut walk = Walk {
            unit,
            frame,
            touched: Touched::default(),
            bound: Vec::new(),
            budget: 20_000,
        };
        match part {
            Part::Condition(id) => walk.expr(id)?,
            Part::Stmt(stmt) => match &stmt.kind {
                StmtKind::Bind { place, .. } => walk.place(place)?,
                StmtKind::Assign { value, .. } => walk.expr(*value)?,
                _ => return None,
            },
        }
        Some(walk.touched)
    }
}

struct Walk<'a, 'p> {
    unit: &'a Unit<'p>,
    frame: &'a Frame,
    touched: Touched,
    bound: Vec<LocalId>,
    budget: u32,
}

impl Walk<'_, '_> {
    fn used(&mut self, local: LocalId) {
        if !self.bound.contains(&local) && !self.touched.used.contains(&local) {
            self.touched.used.push(local);
        }
    }

    fn expr(&mut self, id: ExprId) -> Option<()> {
        self.budget = self.budget.checked_sub(1)?;
        let unit = self.unit;
        match unit.program.expr(id) {
            Expr::Int(_) | Expr::Bool(_) | Expr::Undefined => {}
            Expr::Read(place) | Expr::IsUndefined(place) => self.place(place)?,
            Expr::Defined(value) | Expr::Unary(_, value) => self.expr(*value)?,
            Expr::Binary(_, a, b) => {
                self.expr(*a)?;
                self.expr(*b)?;
            }
            Expr::And(parts) | Expr::Or(parts) => {
                for &part in parts {
                    self.expr(part)?;
                }
            }
            Expr::Cond(a, b, c) => {
                for &part in [a, b, c] {
                    self.expr(part)?;
                }
            }
            Expr::Quantified {
                var, domain, body, ..
            } => {
                if let Domain::Span { from, to, by } = domain {
                    self.expr(*from)?;
                    self.expr(*to)?;
                    if let By::Step(step) = by {
                        self.expr(*step)?;
                    }
                }
                self.touched.changed.push(*var);
                self.bound.push(*var);
                self.expr(*body)?;
                self.bound.pop();
            }
            Expr::SameBits(a, b) => {
                self.place(a)?;
                self.place(b)?;
            }
            Expr::Call { args, .. } => self.args(args)?,
            Expr::Remap { value, .. } | Expr::InRange { value, .. } => self.expr(*value)?,
            Expr::Present { multiset, slot } => {
                self.place(multiset)?;
                self.expr(*slot)?;
            }
        }
        Some(())
    }

    fn place(&mut self, place: &Place) -> Option<()> {
        match &place.root {
            Root::Var(_) => {}
            Root::Local(local) => self.used(*local),
            Root::Result { args, into, .. } => {
                self.args(args)?;
                self.touched.changed.push(*into);
            }
        }
        for step in &place.path {
            if let Projection::Index(index) = step {
                self.expr(*index)?;
            }
        }
        Some(())
    }

    fn args(&mut self, args: &[Arg]) -> Option<()> {
        for arg in args {
            match arg {
                Arg::Value(value) => self.expr(*value)?,
                Arg::Copy(place) => self.place(place)?,
                Arg::Ref(place) => {
                    if let Root::Local(local) = place.root
                        && matches!(self.frame.local(local).kind, LocalKind::Value(_))
                    {
                        // The function may write to it: treated as if it did.
                        self.touched.changed.push(local);
                    }
                    self.place(place)?;
                }
            }
        }
        Some(())
    }
}
