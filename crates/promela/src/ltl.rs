//! Formulas of linear temporal logic that are safety, as never claims.
//!
//! A run violates a formula if it satisfies the negation. Where the formula is safety, its negation,
//! with `!` moved inward to the atoms, consists of `&&`, `||`, `X` and `U` alone: it is satisfied
//! after finitely many states or not at all. The claim collects what is left to satisfy:
//!
//! - a point is a set of formulas that must hold from the current state on;
//! - an edge is one way to satisfy them now: literals that must be true in the current state, and
//!   the formulas that must hold from the next one on;
//! - where nothing is left, the negation is satisfied and the claim is at its end.
//!
//! Ways are alternatives, so the claim is not deterministic; a way that asks for more than another
//! is left out. A run that ends is one that stays in its last state, as in SPIN.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::ast::FormulaOp;
use crate::automaton::{Automaton, Edge, Point, PointId};
use crate::program::{Action, BinaryOp, Claim, Expr, Formula, NamedFormula, UnaryOp};
use crate::text::TokenSpan;

/// Points of a claim at most.
const MAX_POINTS: usize = 256;

/// Ways to satisfy a set of formulas at most, those that contradict themselves among them.
const MAX_WAYS: usize = 512;

/// Choices on the way to one of them at most.
const MAX_CHOICES: usize = 256;

/// Formulas that must hold in one state at most.
const MAX_TODO: usize = 4096;

/// Why a formula has no claim that decides it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoClaim {
    /// It is not safety.
    NotSafety,
    /// The claim would be too large.
    TooLarge,
}

/// The claim that reaches its end on the runs that violate a formula, and on no others.
pub(crate) fn claim(formula: &NamedFormula) -> Result<Claim, NoClaim> {
    let mut tableau = Tableau::default();
    let root = tableau.wish(&formula.formula, true)?;
    let automaton = tableau.automaton(root, formula.span)?;
    Ok(Claim {
        name: formula.name.clone(),
        locals: Vec::new(),
        automaton,
        span: formula.span,
    })
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct WishId(u32);

/// An atom, or its negation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Literal {
    atom: usize,
    is_negated: bool,
}

/// What is satisfied by a finite number of states.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Wish {
    True,
    False,
    Literal(Literal),
    And(WishId, WishId),
    Or(WishId, WishId),
    Next(WishId),
    Until(WishId, WishId),
}

type Wishes = BTreeSet<WishId>;

/// A way to satisfy a set of wishes.
#[derive(Clone, Default, PartialEq, Eq)]
struct Way {
    now: BTreeSet<Literal>,
    next: Wishes,
}

#[derive(Default)]
struct Tableau<'f> {
    wishes: Vec<Wish>,
    ids: FxHashMap<Wish, WishId>,
    atoms: Vec<(&'f Expr, &'f str)>,
    atom_ids: FxHashMap<&'f str, usize>,
    /// By formula, and whether it is negated.
    known: FxHashMap<(*const Formula, bool), WishId>,
}

impl<'f> Tableau<'f> {
    fn add(&mut self, wish: Wish) -> WishId {
        let next = WishId(self.wishes.len() as u32);
        let id = *self.ids.entry(wish).or_insert(next);
        if id == next {
            self.wishes.push(wish);
        }
        id
    }

    fn and(&mut self, a: WishId, b: WishId) -> WishId {
        match (self.wishes[a.0 as usize], self.wishes[b.0 as usize]) {
            (Wish::True, _) => b,
            (_, Wish::True) => a,
            (Wish::False, _) | (_, Wish::False) => self.add(Wish::False),
            _ => self.add(Wish::And(a, b)),
        }
    }

    fn or(&mut self, a: WishId, b: WishId) -> WishId {
        match (self.wishes[a.0 as usize], self.wishes[b.0 as usize]) {
            (Wish::False, _) => b,
            (_, Wish::False) => a,
            (Wish::True, _) | (_, Wish::True) => self.add(Wish::True),
            _ => self.add(Wish::Or(a, b)),
        }
    }

    /// A formula or its negation, without negations of more than atoms.
    fn wish(&mut self, formula: &'f Formula, is_negated: bool) -> Result<WishId, NoClaim> {
        let key = (std::ptr::from_ref(formula), is_negated);
        if let Some(&known) = self.known.get(&key) {
            return Ok(known);
        }
        let id = match formula {
            Formula::Atom(Expr::Const(value), _) => match (*value != 0) != is_negated {
                true => self.add(Wish::True),
                false => self.add(Wish::False),
            },
            Formula::Atom(expr, text) => {
                let next = self.atoms.len();
                let atom = *self.atom_ids.entry(text).or_insert(next);
                if atom == next {
                    self.atoms.push((expr, text));
                }
                self.add(Wish::Literal(Literal { atom, is_negated }))
            }
            Formula::Not(inner) => self.wish(inner, !is_negated)?,
            Formula::Next(inner) => {
                let inner = self.wish(inner, is_negated)?;
                self.add(Wish::Next(inner))
            }
            // Not always `f`: at some time not `f`.
            Formula::Always(inner) if is_negated => {
                let (always, inner) = (self.add(Wish::True), self.wish(inner, true)?);
                self.add(Wish::Until(always, inner))
            }
            Formula::Eventually(inner) if !is_negated => {
                let (always, inner) = (self.add(Wish::True), self.wish(inner, false)?);
                self.add(Wish::Until(always, inner))
            }
            Formula::Always(_) | Formula::Eventually(_) => return Err(NoClaim::NotSafety),
            Formula::Binary(op, a, b) => self.binary(*op, a, b, is_negated)?,
        };
        self.known.insert(key, id);
        Ok(id)
    }

    fn binary(
        &mut self,
        op: FormulaOp,
        a: &'f Formula,
        b: &'f Formula,
        is_negated: bool,
    ) -> Result<WishId, NoClaim> {
        Ok(match (op, is_negated) {
            (FormulaOp::And, false) | (FormulaOp::Or, true) => {
                let (a, b) = (self.wish(a, is_negated)?, self.wish(b, is_negated)?);
                self.and(a, b)
            }
            (FormulaOp::Or, false) | (FormulaOp::And, true) => {
                let (a, b) = (self.wish(a, is_negated)?, self.wish(b, is_negated)?);
                self.or(a, b)
            }
            (FormulaOp::Implies, false) => {
                let (a, b) = (self.wish(a, true)?, self.wish(b, false)?);
                self.or(a, b)
            }
            (FormulaOp::Implies, true) => {
                let (a, b) = (self.wish(a, false)?, self.wish(b, true)?);
                self.and(a, b)
            }
            (FormulaOp::Iff, _) => {
                let (yes, no) = (self.wish(a, false)?, self.wish(a, true)?);
                let (same, other) = (self.wish(b, is_negated)?, self.wish(b, !is_negated)?);
                let (both, neither) = (self.and(yes, same), self.and(no, other));
                self.or(both, neither)
            }
            (FormulaOp::Until, false) => {
                let (a, b) = (self.wish(a, false)?, self.wish(b, false)?);
                self.add(Wish::Until(a, b))
            }
            // `b` holds up to the state where `a` does, too, or for ever. Not so: `a` does not hold
            // until `b` does not.
            (FormulaOp::Release, true) => {
                let (a, b) = (self.wish(a, true)?, self.wish(b, true)?);
                self.add(Wish::Until(a, b))
            }
            (FormulaOp::WeakUntil, true) => {
                let (a, b) = (self.wish(a, true)?, self.wish(b, true)?);
                let neither = self.and(a, b);
                self.add(Wish::Until(b, neither))
            }
            (FormulaOp::Until, true) | (FormulaOp::Release | FormulaOp::WeakUntil, false) => {
                return Err(NoClaim::NotSafety);
            }
        })
    }

    /// All ways to satisfy what is left in `todo`, beside `way`; none for a contradiction.
    fn ways(
        &self,
        mut todo: Vec<WishId>,
        mut way: Way,
        depth: usize,
        out: &mut Vec<Option<Way>>,
    ) -> Result<(), NoClaim> {
        if out.len() >= MAX_WAYS || depth >= MAX_CHOICES || todo.len() >= MAX_TODO {
            return Err(NoClaim::TooLarge);
        }
        while let Some(id) = todo.pop() {
            match self.wishes[id.0 as usize] {
                Wish::True => {}
                Wish::False => {
                    out.push(None);
                    return Ok(());
                }
                Wish::Literal(literal) => {
                    let opposite = Literal {
                        is_negated: !literal.is_negated,
                        ..literal
                    };
                    if way.now.contains(&opposite) {
                        out.push(None);
                        return Ok(());
                    }
                    way.now.insert(literal);
                }
                Wish::And(a, b) => todo.extend([b, a]),
                Wish::Next(inner) => match self.wishes[inner.0 as usize] {
                    // There is always a next state.
                    Wish::True => {}
                    _ => {
                        way.next.insert(inner);
                    }
                },
                Wish::Or(a, b) => {
                    let mut first = todo.clone();
                    first.push(a);
                    self.ways(first, way.clone(), depth + 1, out)?;
                    todo.push(b);
                }
                Wish::Until(a, b) => {
                    let mut first = todo.clone();
                    first.push(b);
                    self.ways(first, way.clone(), depth + 1, out)?;
                    todo.push(a);
                    way.next.insert(id);
                }
            }
        }
        out.push(Some(way));
        Ok(())
    }

    /// The ways that ask for no more than needed, those that are done at once first.
    fn least_ways(&self, wishes: &Wishes) -> Result<Vec<Way>, NoClaim> {
        let mut all = Vec::new();
        let todo = wishes.iter().rev().copied().collect();
        self.ways(todo, Way::default(), 0, &mut all)?;
        let mut least: Vec<Way> = Vec::new();
        for way in all.into_iter().flatten() {
            let asks_less = |a: &Way, b: &Way| a.now.is_subset(&b.now) && a.next.is_subset(&b.next);
            if least.iter().any(|other| asks_less(other, &way)) {
                continue;
            }
            least.retain(|other| !asks_less(&way, other));
            least.push(way);
        }
        least.sort_by_key(|way| !way.next.is_empty());
        Ok(least)
    }

    fn automaton(&self, root: WishId, span: TokenSpan) -> Result<Automaton, NoClaim> {
        let mut sets = vec![Wishes::from([root])];
        let mut numbers = FxHashMap::default();
        numbers.insert(sets[0].clone(), PointId(1));
        // The end comes first, and the point of a set after those before it.
        let end = PointId(0);
        let empty = Point {
            span,
            ..Point::default()
        };
        let mut points = vec![empty.clone()];
        let mut at = 0;
        while at < sets.len() {
            let mut point = empty.clone();
            for way in self.least_ways(&sets[at])? {
                let target = match way.next.is_empty() {
                    true => end,
                    false => {
                        let next = PointId(sets.len() as u32 + 1);
                        let target = *numbers.entry(way.next.clone()).or_insert(next);
                        if target == next {
                            sets.push(way.next);
                        }
                        target
                    }
                };
                if sets.len() > MAX_POINTS {
                    return Err(NoClaim::TooLarge);
                }
                let (condition, text) = self.condition(&way.now, span);
                point.edges.push(Edge {
                    action: Action::Cond(condition),
                    target,
                    keeps_control: false,
                    is_free: false,
                    escape: None,
                    text,
                    span,
                });
            }
            points.push(point);
            at += 1;
        }
        Ok(Automaton {
            points,
            start: PointId(1),
            end,
            labels: Vec::new(),
            unreachable: Vec::new(),
        })
    }

    /// A conjunction of literals, and its text.
    fn condition(&self, literals: &BTreeSet<Literal>, span: TokenSpan) -> (Expr, Arc<str>) {
        let mut texts = Vec::new();
        let parts = literals.iter().map(|literal| {
            let (expr, text) = self.atoms[literal.atom];
            match literal.is_negated {
                true => {
                    texts.push(format!("!({text})"));
                    Expr::Unary(UnaryOp::Not, Box::new(expr.clone()))
                }
                false => {
                    texts.push(format!("({text})"));
                    expr.clone()
                }
            }
        });
        let both = |a, b| Expr::Binary(BinaryOp::And, Box::new(a), Box::new(b), span);
        match parts.reduce(both) {
            Some(condition) => (condition, texts.join(" && ").into()),
            None => (Expr::Const(1), "true".into()),
        }
    }
}
