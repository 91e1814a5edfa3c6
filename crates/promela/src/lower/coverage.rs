//! Which rules execute which statements, so that a search that counts firings of rules can tell
//! which statements no run executes.
//!
//! A statement may belong to several points (an escape, the first statement of a loop at the start
//! of a block) and to several rules (each half of a rendezvous, with `timeout` and without), and a
//! rule may execute several statements. The statements of a `d_step` are executed by its one rule:
//! which branches it took is not known.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::Lowering;
use super::dsteps::inner_edges;
use crate::automaton::{Automaton, Edge, PointId};
use crate::program::Action;
use crate::text::TokenSpan;

/// A statement of a process type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// As rules are called: `Type line 7: text`; `-end-` is the end of the process.
    pub name: String,
    /// Where it stands, as `file:line:column`.
    pub at: String,
    /// The rules that execute it, by number, ascending.
    pub rules: Vec<u32>,
}

/// The rules by what they execute.
#[derive(Default)]
pub(super) struct Coverage {
    /// By process type, place and text.
    rules: FxHashMap<(usize, TokenSpan, Arc<str>), Vec<u32>>,
    /// Rules that lead a process to its end, by process type.
    ending: FxHashMap<usize, Vec<u32>>,
}

impl Lowering<'_> {
    /// Notes that the last rule executes an edge and those that are fused with it.
    pub(super) fn cover(&mut self, proctype: usize, edge: &Edge, fused: &[&Edge]) {
        let rule = self.builder.ir.rules.len() as u32 - 1;
        let automaton = &self.program.proctypes[proctype].automaton;
        let mut last = edge;
        for edge in std::iter::once(&edge).chain(fused) {
            match edge.action {
                Action::DStep { entry, .. } => {
                    for inner in edges_inside(automaton, entry) {
                        self.coverage.add(proctype, inner, rule);
                    }
                }
                _ => self.coverage.add(proctype, edge, rule),
            }
            last = edge;
        }
        if last.target == automaton.end {
            let ending = self.coverage.ending.entry(proctype).or_default();
            ending.push(rule);
        }
    }

    /// All statements, process types in the order of the text. One that is never started is a
    /// single entry without rules.
    pub(super) fn statements(&mut self) -> Vec<Statement> {
        let mut all = Vec::new();
        for (number, proctype) in self.program.proctypes.iter().enumerate() {
            if self.layout.processes[number].n == 0 {
                let site = self.builder.set_site(proctype.span);
                all.push(Statement {
                    name: format!("{} is never started", proctype.name),
                    at: self.builder.ir.position(site),
                    rules: Vec::new(),
                });
                continue;
            }
            let automaton = &proctype.automaton;
            let mut listed = listed(automaton);
            listed.extend(automaton.unreachable.iter().cloned());
            listed.sort();
            listed.dedup();
            for (span, text) in listed {
                let key = (number, span, text.clone());
                let rules = self.coverage.rules.remove(&key);
                all.push(self.statement(number, span, &text, rules.unwrap_or_default()));
            }
            if automaton.start != automaton.end {
                let span = automaton.point(automaton.end).span;
                let rules = self.coverage.ending.remove(&number);
                all.push(self.statement(number, span, "-end-", rules.unwrap_or_default()));
            }
        }
        all
    }

    fn statement(
        &mut self,
        proctype: usize,
        span: TokenSpan,
        text: &str,
        rules: Vec<u32>,
    ) -> Statement {
        let site = self.builder.set_site(span);
        let name = &self.program.proctypes[proctype].name;
        Statement {
            name: format!("{name} {}: {text}", self.builder.line(span)),
            at: self.builder.ir.position(site),
            rules,
        }
    }
}

impl Coverage {
    fn add(&mut self, proctype: usize, edge: &Edge, rule: u32) {
        let key = (proctype, edge.span, edge.text.clone());
        let rules = self.rules.entry(key).or_default();
        if rules.last() != Some(&rule) {
            rules.push(rule);
        }
    }
}

/// The statements of an automaton. A jump is one where it is an option; elsewhere it is executed
/// with the statement before it, or the point is left by nothing else.
fn listed(automaton: &Automaton) -> Vec<(TokenSpan, Arc<str>)> {
    let mut listed = Vec::new();
    for point in &automaton.points {
        for edge in &point.edges {
            let is_listed = match edge.action {
                Action::DStep { .. } => false,
                Action::Goto => point.edges.len() > 1 && &*edge.text != "goto",
                _ => true,
            };
            if is_listed {
                listed.push((edge.span, edge.text.clone()));
            }
        }
    }
    listed
}

/// The edges inside a `d_step`.
fn edges_inside(automaton: &Automaton, entry: PointId) -> Vec<&Edge> {
    let mut known = FxHashSet::default();
    let (mut edges, mut left) = (Vec::new(), vec![entry]);
    while let Some(point) = left.pop() {
        if !known.insert(point) {
            continue;
        }
        for edge in inner_edges(&automaton.point(point).edges) {
            left.push(edge.target);
            edges.push(edge);
        }
    }
    edges
}
