//! A rule for each edge, and one for the end of each process.

use hadal_ir::expr::{BinaryOp as Op, Place};
use hadal_ir::ids::ExprId;
use hadal_ir::program::{Guard, Param, ParamDomain, Rule};
use hadal_ir::stmt::{Block, StmtKind};

use super::Lowering;
use super::dsteps::{inner_edges, is_always_executable};
use super::exprs::Scope;
use super::layout::Slot;
use crate::automaton::{Automaton, Edge, PointId};
use crate::program::{Action, Expr as PExpr, Program, Receive};
use crate::text::TokenSpan;

/// Statements that a body stands for at most.
const MAX_FUSED: usize = 64;

/// The priority of rules that wait for a timeout: they fire where no other is enabled.
const TIMEOUT: i64 = 1;

impl Lowering<'_> {
    pub(super) fn rules(&mut self) {
        for proctype in 0..self.program.proctypes.len() {
            if self.layout.processes[proctype].n == 0 {
                continue;
            }
            let points = &self.program.proctypes[proctype].automaton.points;
            let may_keep = points_with_control(points);
            let is_passed = passed_points(self.program, proctype);
            for point_idx in 0..points.len() {
                let point = PointId(point_idx as u32);
                if !is_passed[point_idx] {
                    continue;
                }
                let Some(code) = self.layout.processes[proctype].points[point_idx] else {
                    continue;
                };
                let source = Source {
                    proctype,
                    point,
                    code,
                    may_keep: may_keep[point_idx],
                };
                for edge_idx in 0..points[point_idx].edges.len() {
                    self.step(source, edge_idx, false);
                    if self.waits_for_timeout(source, edge_idx) {
                        self.step(source, edge_idx, true);
                    }
                    self.handshake(source, edge_idx);
                }
            }
            self.removal(proctype, false);
            let provided = self.program.proctypes[proctype].provided.as_ref();
            if provided.is_some_and(mentions_timeout) {
                self.removal(proctype, true);
            }
        }
    }

    /// Whether an edge may be executable because of a timeout.
    fn waits_for_timeout(&self, source: Source, edge_idx: usize) -> bool {
        let proctype = &self.program.proctypes[source.proctype];
        let edges = &proctype.automaton.point(source.point).edges;
        proctype.provided.as_ref().is_some_and(mentions_timeout)
            || depends_on_timeout(&proctype.automaton, edges, edge_idx)
    }

    /// The rule of an edge.
    fn step(&mut self, source: Source, edge_idx: usize, timeout: bool) {
        let program = self.program;
        let proctype = &program.proctypes[source.proctype];
        let edge = &proctype.automaton.point(source.point).edges[edge_idx];
        self.builder.set_site(edge.span);
        let mut scope = self.scope_of(source.proctype, timeout);
        let executable = self.is_executable(&mut scope, source.point, edge_idx);
        if self.builder.known_truth(executable) == Some(false) {
            return;
        }
        self.builder.set_site(edge.span);
        let at = self.point(&scope);
        let mut parts = vec![self.builder.equals(at, source.code.into())];
        parts.push(self.has_control(&scope, source.may_keep && !timeout));
        parts.extend(self.is_provided(&mut scope));
        parts.push(executable);
        parts.extend(self.is_not_outranked(&mut scope));
        let condition = self.builder.and(parts);

        let fused = fused(program, source.proctype, edge);
        let last = fused.last().copied().unwrap_or(edge);
        let mut block = Block::new();
        // Before the effect, since the send half of a rendezvous sets it to a value of its own.
        self.set_control(&scope, last.keeps_control, source.may_keep, &mut block);
        self.builder.set_site(edge.span);
        match &edge.action {
            Action::DStep { entry, exit } => self.d_step(&mut scope, *entry, *exit, &mut block),
            action => self.effect(&mut scope, action, &mut block),
        }
        self.complete(&mut scope, edge, &fused, &mut block);
        let cost = cost_of([edge]) + cost_of(fused.iter().copied());
        let text = fused_text(edge, &fused);
        self.add_rule(scope, &text, edge.span, condition, block, cost, timeout);
        self.cover(source.proctype, edge, &fused);
    }

    /// The rules of an edge as the receive half of a rendezvous.
    fn handshake(&mut self, source: Source, edge_idx: usize) {
        let program = self.program;
        let proctype = &program.proctypes[source.proctype];
        let edges = &proctype.automaton.point(source.point).edges;
        let edge = &edges[edge_idx];
        let Some(handshake) = self
            .layout
            .registers
            .as_ref()
            .and_then(|it| it.handshake.as_ref())
        else {
            return;
        };
        let (channel, sender) = (handshake.channel, handshake.sender);
        let registers = handshake.fields.clone();
        let alternatives = receives_of(&proctype.automaton, edge);
        if alternatives.is_empty() {
            return;
        }
        self.builder.set_site(edge.span);
        let mut scope = self.scope_of(source.proctype, false);
        let number = self.builder.read(Place::var(channel));
        let fields = registers
            .iter()
            .map(|&it| self.builder.read(Place::var(it)));
        let fields: Vec<ExprId> = fields.collect();
        let (mut taken, mut earlier) = (Vec::new(), Vec::new());
        for before in &edges[..edge_idx] {
            if before.escape.is_none() || before.escape == edge.escape {
                continue;
            }
            for (receive, _) in receives_of(&proctype.automaton, before) {
                if let Some(takes) = self.takes(&mut scope, receive, None, number, &fields) {
                    earlier.push(self.builder.not(takes));
                }
            }
        }
        for (receive, inner) in alternatives {
            if let Some(takes) = self.takes(&mut scope, receive, None, number, &fields) {
                taken.push((takes, receive, inner));
            }
        }
        if taken.is_empty() {
            return;
        }
        self.builder.set_site(edge.span);
        let at = self.point(&scope);
        let mut parts = vec![self.builder.equals(at, source.code.into())];
        parts.push(self.in_handshake());
        let own = self.pid(&scope);
        let other = self.builder.read(Place::var(sender));
        parts.push(self.builder.binary(Op::Ne, own, other));
        parts.extend(self.is_provided(&mut scope));
        let any = taken.iter().map(|it| it.0).collect();
        parts.push(self.builder.or(any));
        parts.extend(earlier);
        let condition = self.builder.and(parts);

        let mut block = Block::new();
        let mut arms = Vec::new();
        for (takes, receive, inner) in taken {
            let mut code = Block::new();
            if let Some(inner) = inner {
                self.note(inner, &mut code);
            }
            self.check_handshake_arity(&mut scope, receive, &mut code);
            self.assign_fields(&mut scope, receive, &fields, &mut code);
            if let (Action::DStep { exit, .. }, Some(inner)) = (&edge.action, inner) {
                self.rest_of_d_step(&mut scope, inner.target, *exit, &mut code);
            }
            arms.push((takes, code));
        }
        match arms.len() {
            1 => block.extend(arms.remove(0).1),
            _ => block.push(self.builder.stmt(StmtKind::If {
                arms,
                otherwise: Vec::new(),
            })),
        }
        for var in [channel, sender].into_iter().chain(registers) {
            block.push(self.builder.stmt(StmtKind::Clear(Place::var(var))));
        }
        let fused = fused(program, source.proctype, edge);
        let last = fused.last().copied().unwrap_or(edge);
        self.set_control(&scope, last.keeps_control, true, &mut block);
        self.complete(&mut scope, edge, &fused, &mut block);
        // A rendezvous costs 1, and that is the send half's.
        let cost = cost_of(fused.iter().copied());
        let text = fused_text(edge, &fused);
        self.add_rule(scope, &text, edge.span, condition, block, cost, false);
        self.cover(source.proctype, edge, &fused);
    }

    /// What follows the effect of an edge within its rule: the statements that are executed with
    /// it, and that the process arrives behind the last of them.
    fn complete(&mut self, scope: &mut Scope, edge: &Edge, fused: &[&Edge], block: &mut Block) {
        if !fused.is_empty() {
            // They may read `_last`.
            self.set_last(scope, block);
        }
        for fused in fused {
            self.builder.set_site(fused.span);
            self.effect(scope, &fused.action, block);
        }
        self.builder.set_site(edge.span);
        let last = fused.last().copied().unwrap_or(edge);
        self.arrive(scope, last.target, block);
    }

    /// The rule that removes a terminated process.
    fn removal(&mut self, proctype: usize, timeout: bool) {
        let program = self.program;
        let automaton = &program.proctypes[proctype].automaton;
        let code = self.layout.processes[proctype].points[automaton.end.index()];
        let Some(code) = code else {
            return;
        };
        let span = automaton.point(automaton.end).span;
        self.builder.set_site(span);
        let mut scope = self.scope_of(proctype, timeout);
        let at = self.point(&scope);
        let mut parts = vec![self.builder.equals(at, code.into())];
        parts.push(self.has_control(&scope, false));
        let n = self.builder.read(Place::var(self.layout.n_processes));
        let pid = self.pid(&scope);
        let next = self.builder.plus(pid, 1);
        parts.push(self.builder.binary(Op::Eq, n, next));
        parts.extend(self.is_provided(&mut scope));
        parts.extend(self.is_not_outranked(&mut scope));
        let condition = self.builder.and(parts);
        let mut block = Block::new();
        self.set_control(&scope, false, false, &mut block);
        self.set_last(&scope, &mut block);
        self.remove(&mut scope, &mut block);
        self.add_rule(scope, "-end-", span, condition, block, 1, timeout);
    }

    /// Gives control to the process, or to nobody.
    fn set_control(&mut self, scope: &Scope, keeps: bool, may_have: bool, block: &mut Block) {
        let Some(registers) = &self.layout.registers else {
            return;
        };
        let control = Place::var(registers.control);
        let value = match keeps {
            true => {
                let pid = self.pid(scope);
                self.builder.plus(pid, 1)
            }
            false if may_have || self.observer.is_some() => self.builder.int(0),
            false => return,
        };
        block.push(self.builder.assign(control, value));
    }

    /// The process is at a point.
    fn arrive(&mut self, scope: &Scope, target: PointId, block: &mut Block) {
        let process = &self.layout.processes[scope.proctype];
        let code = process.points[target.index()];
        let code = code.expect("a process rests at the target of an edge");
        let slot = scope.slot.expr(&mut self.builder);
        let at = self.layout.processes[scope.proctype].at(slot);
        let code = self.builder.int(code.into());
        block.push(self.builder.assign(at, code));
        self.set_last(scope, block);
    }

    fn set_last(&mut self, scope: &Scope, block: &mut Block) {
        if let Some(last) = self.layout.last {
            let pid = self.pid(scope);
            block.push(self.builder.assign(Place::var(last), pid));
        }
    }

    #[expect(clippy::too_many_arguments, reason = "a rule has that many parts")]
    fn add_rule(
        &mut self,
        scope: Scope,
        text: &str,
        span: TokenSpan,
        condition: ExprId,
        body: Block,
        cost: u32,
        timeout: bool,
    ) {
        let site = self.builder.set_site(span);
        let n = self.layout.processes[scope.proctype].n;
        let params = match scope.slot {
            Slot::Number(_) => Vec::new(),
            Slot::Local(local) => vec![Param {
                local,
                domain: ParamDomain::Span {
                    from: 0,
                    to: i64::from(n) - 1,
                    by: 1,
                },
            }],
        };
        let name = &self.program.proctypes[scope.proctype].name;
        let line = self.builder.line(span);
        self.builder.ir.rules.push(Rule {
            name: format!("{name} {line}: {text}"),
            params,
            frame: scope.frame,
            priority: if timeout { TIMEOUT } else { 0 },
            cost,
            guard: Guard {
                prologue: Block::new(),
                condition: Some(condition),
            },
            body,
            site,
        });
    }
}

/// A point of a process type.
#[derive(Clone, Copy)]
struct Source {
    proctype: usize,
    point: PointId,
    /// Its number in a state.
    code: u32,
    /// Whether a process may have control here.
    may_keep: bool,
}

/// The receives that an edge may begin with, each with its edge inside, where that is a `d_step`.
pub(super) fn receives_of<'a>(
    automaton: &'a Automaton,
    edge: &'a Edge,
) -> Vec<(&'a Receive, Option<&'a Edge>)> {
    match &edge.action {
        Action::Receive(receive) => vec![(receive, None)],
        Action::DStep { entry, .. } => {
            let inner = inner_edges(&automaton.point(*entry).edges).iter();
            let receives = inner.filter_map(|inner| match &inner.action {
                Action::Receive(receive) => Some((receive, Some(inner))),
                _ => None,
            });
            receives.collect()
        }
        _ => Vec::new(),
    }
}

fn mentions_timeout(value: &PExpr) -> bool {
    value.any(&|it| *it == PExpr::Timeout)
}

/// Whether `timeout` is mentioned in an expression that decides whether an edge is executable:
/// its own, those of escapes before it, and for `else` those of all edges before it.
fn depends_on_timeout(automaton: &Automaton, edges: &[Edge], edge_idx: usize) -> bool {
    let edge = &edges[edge_idx];
    let alone = |edge: &Edge| match &edge.action {
        Action::Cond(_) | Action::Send(_) | Action::Receive(_) => {
            edge.action.any_expr(&|it| *it == PExpr::Timeout)
        }
        Action::DStep { entry, .. } => {
            let inner = inner_edges(&automaton.point(*entry).edges);
            (0..inner.len()).any(|idx| depends_on_timeout(automaton, inner, idx))
        }
        // Always executable, or only as others are not, or while there is room for a process.
        Action::Else
        | Action::Goto
        | Action::Assign(..)
        | Action::Run(..)
        | Action::Assert(..)
        | Action::Print(..)
        | Action::SetPriority(..)
        | Action::AssignPriority(_)
        | Action::Declare => false,
    };
    let is_asked = |before: &Edge| {
        let escapes = before.escape.is_some() && before.escape != edge.escape;
        escapes || edge.action == Action::Else
    };
    let mut before = edges[..edge_idx].iter().filter(|it| is_asked(it));
    alone(edge) || before.any(alone)
}

/// The text of an edge and of those that follow within its rule.
fn fused_text(edge: &Edge, fused: &[&Edge]) -> String {
    let texts: Vec<&str> = std::iter::once(edge)
        .chain(fused.iter().copied())
        .map(|edge| &*edge.text)
        .collect();
    texts.join("; ")
}

/// By point, whether some rule leads there. No process is ever at a point between statements that
/// are always executed together.
fn passed_points(program: &Program, proctype: usize) -> Vec<bool> {
    let automaton = &program.proctypes[proctype].automaton;
    let mut is_passed = vec![false; automaton.points.len()];
    is_passed[automaton.start.index()] = true;
    let mut todo = vec![automaton.start];
    while let Some(point) = todo.pop() {
        for edge in &automaton.point(point).edges {
            let target =
                (fused(program, proctype, edge).last()).map_or(edge.target, |it| it.target);
            if !std::mem::replace(&mut is_passed[target.index()], true) {
                todo.push(target);
            }
        }
    }
    is_passed
}

/// By point, whether an edge that keeps control leads there.
pub(super) fn points_with_control(points: &[crate::automaton::Point]) -> Vec<bool> {
    let mut may_keep = vec![false; points.len()];
    for edge in points.iter().flat_map(|it| &it.edges) {
        may_keep[edge.target.index()] |= edge.keeps_control;
    }
    may_keep
}

/// What some edges cost: 1 each, but for free ones.
fn cost_of<'e>(edges: impl IntoIterator<Item = &'e Edge>) -> u32 {
    let edges = edges.into_iter();
    edges.map(|edge| u32::from(!edge.is_free)).sum()
}

/// The edges that always follow an edge at once, and are done with it.
fn fused<'p>(program: &'p Program, number: usize, edge: &'p Edge) -> Vec<&'p Edge> {
    let proctype = &program.proctypes[number];
    let mut fused: Vec<&'p Edge> = Vec::new();
    let mut last = edge;
    let is_send = matches!(edge.action, Action::Send(_));
    if is_send || proctype.provided.is_some() || program.uses_priorities {
        return fused;
    }
    while last.keeps_control && fused.len() < MAX_FUSED {
        let point = proctype.automaton.point(last.target);
        let [only] = &point.edges[..] else {
            break;
        };
        let is_plain = only.escape.is_none() && is_always_executable(&only.action);
        if !is_plain
            || sees_single_steps(&only.action, number)
            || fused.iter().any(|it| it.target == only.target)
        {
            break;
        }
        fused.push(only);
        last = only;
    }
    fused
}

/// Whether a statement of this process type reads what the end of the statement before changes.
/// Statements of one rule all see the point where the first of them begins, and its `timeout`.
fn sees_single_steps(action: &Action, own_type: usize) -> bool {
    action.any_expr(&|it| match it {
        PExpr::Timeout | PExpr::PcValue(_) => true,
        PExpr::RemoteLabel { proctype, .. } => *proctype == own_type,
        _ => false,
    })
}
