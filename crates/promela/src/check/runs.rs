//! Statements that start processes without bound.

use crate::automaton::{Automaton, Edge, PointId};
use crate::program::{Action, Expr, Proctype};
use crate::text::TokenSpan;

/// Number of `run` statements that are looked at: each takes a pass over the model.
const MAX_RUNS: usize = 100;

/// The `run` statements that can be repeated for ever without a condition on the way: in a loop, or
/// since the process that is started starts another one of its kind.
pub(super) fn unbounded(proctypes: &[Proctype]) -> Vec<TokenSpan> {
    let mut spans = Vec::new();
    let mut n_runs = 0;
    for (idx, proctype) in proctypes.iter().enumerate() {
        let automaton = &proctype.automaton;
        let from_start = reach(automaton, automaton.start);
        for point in (0..automaton.points.len() as u32).map(PointId) {
            for edge in automaton.point(point).edges.iter().filter(|it| is_free(it)) {
                let Action::Run(run, _) = &edge.action else {
                    continue;
                };
                n_runs += 1;
                if n_runs > MAX_RUNS {
                    return spans;
                }
                let repeats = reach(automaton, edge.target)[point.index()];
                let recurs = from_start[point.index()] && starts(proctypes, run.proctype, idx);
                if repeats || recurs {
                    spans.push(edge.span);
                }
            }
        }
    }
    spans.sort();
    spans.dedup();
    spans
}

/// Whether a statement can be executed in every state.
fn is_free(edge: &Edge) -> bool {
    let is_executable = match &edge.action {
        Action::Cond(condition) => matches!(condition, Expr::Const(value) if *value != 0),
        Action::Goto
        | Action::Assign(..)
        | Action::Assert(..)
        | Action::Print(..)
        | Action::Declare
        | Action::SetPriority(..)
        | Action::Run(..) => true,
        Action::Else | Action::Send(_) | Action::Receive(_) | Action::DStep { .. } => false,
    };
    is_executable && edge.escape.is_none()
}

/// By point, whether a process gets there without a condition.
fn reach(automaton: &Automaton, from: PointId) -> Vec<bool> {
    let mut is_reached = vec![false; automaton.points.len()];
    is_reached[from.index()] = true;
    let mut todo = vec![from];
    while let Some(point) = todo.pop() {
        for edge in automaton.point(point).edges.iter().filter(|it| is_free(it)) {
            if !std::mem::replace(&mut is_reached[edge.target.index()], true) {
                todo.push(edge.target);
            }
        }
    }
    is_reached
}

/// Whether a process of the type `from` starts one of the type `to`, or others that do.
fn starts(proctypes: &[Proctype], from: usize, to: usize) -> bool {
    let mut is_started = vec![false; proctypes.len()];
    is_started[from] = true;
    let mut todo = vec![from];
    while let Some(idx) = todo.pop() {
        let automaton = &proctypes[idx].automaton;
        let is_reached = reach(automaton, automaton.start);
        let points = automaton.points.iter().zip(is_reached);
        for edge in points.filter(|it| it.1).flat_map(|it| &it.0.edges) {
            if let (Action::Run(run, _), true) = (&edge.action, is_free(edge))
                && !std::mem::replace(&mut is_started[run.proctype], true)
            {
                todo.push(run.proctype);
            }
        }
    }
    is_started[to]
}
