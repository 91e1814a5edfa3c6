//! Statements that start processes without bound.

use crate::automaton::{Edge, Graph};
use crate::program::{Action, Expr, Proctype, Run};
use crate::text::TokenSpan;

/// The `run` statements that can be repeated for ever without a condition on the way: in a loop, or
/// since the process that is started starts another one of its kind.
pub(super) fn unbounded(proctypes: &[Proctype]) -> Vec<TokenSpan> {
    let types: Vec<Type> = proctypes.iter().map(Type::new).collect();
    let started: Vec<Vec<bool>> = (0..types.len()).map(|from| started(&types, from)).collect();
    let mut spans = Vec::new();
    for (idx, proctype) in proctypes.iter().enumerate() {
        let Type {
            components,
            from_start,
            ..
        } = &types[idx];
        for (at, edge, run) in runs(proctype) {
            let repeats = components[at] == components[edge.target.index()];
            let recurs = from_start[at] && started[run.proctype][idx];
            if repeats || recurs {
                spans.push(edge.span);
            }
        }
    }
    spans.sort();
    spans.dedup();
    spans
}

/// What a process does without a condition on the way.
struct Type {
    /// By point: equal where a process can go from each to the other.
    components: Vec<u32>,
    /// By point, whether it gets there.
    from_start: Vec<bool>,
    /// The process types that it starts.
    starts: Vec<usize>,
}

impl Type {
    fn new(proctype: &Proctype) -> Self {
        let graph = Graph::new(&proctype.automaton, is_free);
        let from_start = graph.reached_from(proctype.automaton.start);
        let reached = runs(proctype).filter(|(at, ..)| from_start[*at]);
        Type {
            components: graph.components(),
            starts: reached.map(|(.., run)| run.proctype).collect(),
            from_start,
        }
    }
}

/// The statements without a condition that start a process, with their points.
fn runs(proctype: &Proctype) -> impl Iterator<Item = (usize, &Edge, &Run)> {
    let points = proctype.automaton.points.iter().enumerate();
    let edges = points.flat_map(|(at, point)| point.edges.iter().map(move |edge| (at, edge)));
    edges.filter_map(|(at, edge)| match &edge.action {
        Action::Run(run, _) if is_free(edge) => Some((at, edge, run)),
        _ => None,
    })
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
        | Action::AssignPriority(_)
        | Action::Run(..) => true,
        Action::Else | Action::Send(_) | Action::Receive(_) | Action::DStep { .. } => false,
    };
    is_executable && edge.escape.is_none()
}

/// By process type, whether a process of the type `from` starts one, or others that do; `from` is
/// among them.
fn started(types: &[Type], from: usize) -> Vec<bool> {
    let mut is_started = vec![false; types.len()];
    is_started[from] = true;
    let mut left = vec![from];
    while let Some(idx) = left.pop() {
        for &next in &types[idx].starts {
            if !std::mem::replace(&mut is_started[next], true) {
                left.push(next);
            }
        }
    }
    is_started
}
