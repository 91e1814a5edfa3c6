//! `d_step`: one body that runs from the first point inside to the point after it.
//!
//! Straight code stays straight. Only points that several edges lead to are *heads*, and those below
//! many selections: where there are others than the first point, the body is a loop over a local that
//! holds the next head. A `d_step` inside another one is a block.

use hadal_ir::expr::Place;
use hadal_ir::ids::LocalId;
use hadal_ir::stmt::{Block, PutItem, StmtKind};
use hadal_model::FaultKind;
use rustc_hash::{FxHashMap, FxHashSet};

use super::Lowering;
use super::exprs::Scope;
use crate::automaton::{Edge, PointId};
use crate::naming::statement_note;
use crate::program::Action;

/// Selections that code is nested in at most; a point below becomes a head.
const MAX_NESTED: u32 = 16;

/// The points of a `d_step` that code jumps to.
struct Heads {
    points: Vec<PointId>,
    is_head: FxHashSet<PointId>,
    exit: PointId,
    /// The next head; none where the first point is the only one.
    next: Option<LocalId>,
}

impl Lowering<'_> {
    /// Runs a `d_step` from `entry`, whose edges are executable, to `exit`.
    pub(super) fn d_step(
        &mut self,
        scope: &mut Scope,
        entry: PointId,
        exit: PointId,
        block: &mut Block,
    ) {
        let outer = std::mem::replace(&mut scope.in_d_step, true);
        self.d_step_code(scope, entry, exit, block);
        scope.in_d_step = outer;
    }

    fn d_step_code(&mut self, scope: &mut Scope, entry: PointId, exit: PointId, block: &mut Block) {
        let heads = self.heads(scope, entry, exit);
        let Some(next) = heads.next else {
            let code = self.code_from(scope, entry, &heads);
            block.extend(code);
            return;
        };
        let first = self.builder.int(entry.0.into());
        block.push(self.builder.assign(Place::local(next), first));
        let mut arms = Vec::new();
        for &head in &heads.points {
            let at = self.builder.local(next);
            let is_here = self.builder.equals(at, head.0.into());
            arms.push((is_here, self.code_from(scope, head, &heads)));
        }
        let step = self.builder.stmt(StmtKind::If {
            arms,
            otherwise: Vec::new(),
        });
        let automaton = &self.program.proctypes[scope.proctype].automaton;
        self.builder.set_site(automaton.point(entry).span);
        let at = self.builder.local(next);
        let has_left = self.builder.equals(at, exit.0.into());
        let condition = self.builder.not(has_left);
        block.push(self.builder.stmt(StmtKind::While {
            condition,
            body: vec![step],
        }));
    }

    fn heads(&mut self, scope: &mut Scope, entry: PointId, exit: PointId) -> Heads {
        let automaton = &self.program.proctypes[scope.proctype].automaton;
        // By point inside: there may be many `d_step`s in a long process.
        let mut n_edges: FxHashMap<PointId, u32> = FxHashMap::default();
        let (mut order, mut left) = (Vec::new(), vec![entry]);
        n_edges.insert(entry, 1);
        while let Some(point) = left.pop() {
            order.push(point);
            for edge in inner_edges(&automaton.point(point).edges) {
                let n = n_edges.entry(edge.target).or_default();
                *n += 1;
                if edge.target != exit && *n == 1 {
                    left.push(edge.target);
                }
            }
        }
        // A point comes behind the only one that leads to it, unless it is a head.
        let mut depths: FxHashMap<PointId, u32> = FxHashMap::default();
        let mut points = Vec::new();
        for point in order {
            let depth = depths.get(&point).copied().unwrap_or(0);
            let is_head = point == entry || n_edges[&point] > 1 || depth > MAX_NESTED;
            let depth = if is_head { 0 } else { depth };
            if is_head {
                points.push(point);
            }
            let edges = inner_edges(&automaton.point(point).edges);
            for edge in edges {
                depths.insert(edge.target, depth + u32::from(edges.len() > 1));
            }
        }
        let is_looped = points.len() > 1 || n_edges[&entry] > 1;
        Heads {
            is_head: points.iter().copied().collect(),
            points,
            exit,
            next: is_looped.then(|| self.value_local(scope, "next")),
        }
    }

    /// The code from a point on, up to a head or the exit.
    fn code_from(&mut self, scope: &mut Scope, head: PointId, heads: &Heads) -> Block {
        let mut block = Block::new();
        let mut at = head;
        loop {
            let program = self.program;
            let edges = &program.proctypes[scope.proctype].automaton.point(at).edges;
            let edges = inner_edges(edges);
            if let [only] = edges {
                let condition = self.is_executable_alone(scope, edges, 0);
                if self.builder.known_truth(condition) != Some(true) {
                    let is_blocked = self.builder.not(condition);
                    let arms = vec![(is_blocked, self.blocked(scope, at))];
                    block.push(self.builder.stmt(StmtKind::If {
                        arms,
                        otherwise: Vec::new(),
                    }));
                }
                self.builder.set_site(only.span);
                self.note(only, &mut block);
                self.effect(scope, &only.action, &mut block);
                if !self.leads_to_head(only.target, heads, &mut block) {
                    at = only.target;
                    continue;
                }
                return block;
            }
            let mut arms = Vec::new();
            for (idx, edge) in edges.iter().enumerate() {
                let condition = self.is_executable_alone(scope, edges, idx);
                self.builder.set_site(edge.span);
                let mut code = Block::new();
                self.note(edge, &mut code);
                self.effect(scope, &edge.action, &mut code);
                self.code_to(scope, edge.target, heads, &mut code);
                arms.push((condition, code));
            }
            let otherwise = self.blocked(scope, at);
            block.push(self.builder.stmt(StmtKind::If { arms, otherwise }));
            return block;
        }
    }

    /// The error where no edge of a point is executable.
    fn blocked(&mut self, scope: &Scope, at: PointId) -> Block {
        let automaton = &self.program.proctypes[scope.proctype].automaton;
        self.builder.set_site(automaton.point(at).span);
        vec![self.builder.stmt(StmtKind::Error {
            kind: FaultKind::BlockedDStep,
            message: "this statement blocks inside the `d_step`".to_owned(),
        })]
    }

    /// Notes that a statement is executed, for those who read a run: native code has nothing of it.
    pub(super) fn note(&mut self, edge: &Edge, block: &mut Block) {
        if edge.action != Action::Goto {
            let note = statement_note(self.builder.line(edge.span), &edge.text);
            block.push(self.builder.stmt(StmtKind::Put(PutItem::Text(note))));
        }
    }

    /// Continues at a point: with its code, or by a jump to a head.
    fn code_to(&mut self, scope: &mut Scope, target: PointId, heads: &Heads, block: &mut Block) {
        if !self.leads_to_head(target, heads, block) {
            let rest = self.code_from(scope, target, heads);
            block.extend(rest);
        }
    }

    /// Jumps to a point if that is a head or the exit.
    fn leads_to_head(&mut self, target: PointId, heads: &Heads, block: &mut Block) -> bool {
        if target != heads.exit && !heads.is_head.contains(&target) {
            return false;
        }
        if let Some(next) = heads.next {
            let point = self.builder.int(target.0.into());
            block.push(self.builder.assign(Place::local(next), point));
        }
        true
    }

    /// Runs a `d_step` whose first statement is the receive half of a rendezvous: what was taken is
    /// assigned already, and `entry` is the point after it.
    pub(super) fn rest_of_d_step(
        &mut self,
        scope: &mut Scope,
        entry: PointId,
        exit: PointId,
        block: &mut Block,
    ) {
        if entry != exit {
            self.d_step(scope, entry, exit, block);
        }
    }
}

/// The edges of a point inside a `d_step`: escapes, which come first, do not apply there.
pub(super) fn inner_edges(edges: &[Edge]) -> &[Edge] {
    let n_escapes = edges
        .iter()
        .take_while(|edge| edge.escape.is_some())
        .count();
    &edges[n_escapes..]
}

/// Whether a statement can always be executed.
pub(super) fn is_always_executable(action: &Action) -> bool {
    matches!(
        action,
        Action::Goto
            | Action::Assign(..)
            | Action::Assert(..)
            | Action::Print(..)
            | Action::Declare
    )
}
