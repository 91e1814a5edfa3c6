//! What a program asks about its runs, and how far that can be checked.
//!
//! A never claim describes what must not happen: a run that takes it to its closing brace violates
//! it. That part is decided by a search of the product, see [`lower_product`](crate::lower). What
//! its acceptance labels ask for, infinite runs that pass a label again and again, is not.

use std::sync::Arc;

use crate::automaton::{Automaton, Graph, PointId};
use crate::ltl::{self, NoClaim};
use crate::program::{Action, Claim, Expr, Program};
use crate::text::TokenSpan;

/// A never claim or a formula.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Its name; one without gets a number among its like, as in SPIN: `never_0`, `ltl_0`.
    pub name: Arc<str>,
    /// Whether it is a formula.
    pub is_formula: bool,
    /// Where it stands.
    pub span: TokenSpan,
    /// The claim to search with; otherwise why there is none.
    pub claim: Result<Claim, String>,
    /// Why not all that it asks for is decided by that search.
    pub left_open: Option<String>,
}

/// The never claims of a program, in the order of the text, and then its formulas: the first is the
/// one that SPIN checks unless told otherwise.
pub fn asked(program: &Program) -> Vec<Asked> {
    let mut all = Vec::new();
    let (mut n_claims, mut n_formulas) = (0, 0);
    let named = |name: &Option<Arc<str>>, what: &str, n_unnamed: &mut u32| match name {
        Some(name) => name.clone(),
        None => {
            *n_unnamed += 1;
            format!("{what}_{}", *n_unnamed - 1).into()
        }
    };
    for claim in &program.claims {
        let problem = problem(claim);
        all.push(Asked {
            name: named(&claim.name, "never", &mut n_claims),
            is_formula: false,
            span: claim.span,
            left_open: asks_for_liveness(&claim.automaton)
                .then(|| "what its acceptance labels ask for is not checked".to_owned()),
            claim: match problem {
                Some(problem) => Err(problem.to_owned()),
                None => Ok(claim.clone()),
            },
        });
    }
    for formula in &program.formulas {
        let claim = match ltl::claim(formula) {
            Ok(claim) => match problem(&claim) {
                Some(problem) => Err(problem.to_owned()),
                None => Ok(claim),
            },
            Err(NoClaim::NotSafety) => Err("it is not a safety property: it says that \
                 something happens at some time"
                .to_owned()),
            Err(NoClaim::TooLarge) => Err("its automaton would be too large".to_owned()),
        };
        all.push(Asked {
            name: named(&formula.name, "ltl", &mut n_formulas),
            is_formula: true,
            span: formula.span,
            claim,
            left_open: None,
        });
    }
    all
}

/// Whether a claim that comes to a point is violated: it is at its closing brace, or at a label that
/// begins with `end`.
pub(crate) fn is_end(automaton: &Automaton, point: PointId) -> bool {
    point == automaton.end || automaton.point(point).is_end
}

/// Whether an accepting point lies on a cycle: only then can a run pass it again and again.
fn asks_for_liveness(automaton: &Automaton) -> bool {
    let is_on_cycle = Graph::new(automaton, |_| true).is_on_cycle();
    let mut points = automaton.points.iter().zip(is_on_cycle);
    points.any(|(point, is_on_cycle)| point.is_accept && is_on_cycle)
}

/// What in a claim has no meaning in a product.
fn problem(claim: &Claim) -> Option<&'static str> {
    if is_end(&claim.automaton, claim.automaton.start) {
        return Some("it begins at its end");
    }
    if !claim.locals.is_empty() {
        return Some("it has variables of its own");
    }
    let edges = claim.automaton.points.iter().flat_map(|it| &it.edges);
    edges.into_iter().find_map(|edge| match &edge.action {
        Action::Cond(condition) | Action::Assert(condition, _) => problem_in(condition),
        Action::Else | Action::Goto => None,
        Action::DStep { .. } => Some("it has a `d_step`"),
        _ => Some("it does more than observe"),
    })
}

/// What in an expression has no meaning outside a process.
pub(crate) fn problem_in(value: &Expr) -> Option<&'static str> {
    let any = |values: &[&Expr]| values.iter().find_map(|value| problem_in(value));
    match value {
        Expr::Timeout => Some("it mentions `timeout`"),
        Expr::Np => Some("it mentions `np_`"),
        Expr::Enabled(_) => Some("it mentions `enabled`"),
        Expr::Pid => Some("it mentions `_pid`, and is no process"),
        Expr::Priority => Some("it mentions `_priority`, and is no process"),
        Expr::Const(_) | Expr::NrPr | Expr::Last => None,
        Expr::Read(place) => place.indices.iter().find_map(problem_in),
        Expr::Unary(_, a) | Expr::PcValue(a) | Expr::GetPriority(a) | Expr::Queue(_, a, _) => {
            problem_in(a)
        }
        Expr::Binary(_, a, b, _) => any(&[a, b]),
        Expr::Cond(a, b, c) => any(&[a, b, c]),
        Expr::Poll(receive) => {
            let values = receive.args.iter().filter_map(|arg| match arg {
                crate::program::Match::Equal(value) => Some(value),
                _ => None,
            });
            std::iter::once(&receive.chan)
                .chain(values)
                .find_map(problem_in)
        }
        Expr::RemoteLabel { pid, .. } => pid.as_deref().and_then(problem_in),
        Expr::RemoteVar { pid, indices, .. } => {
            let pid = pid.as_deref().into_iter();
            pid.chain(indices).find_map(problem_in)
        }
    }
}
