//! The product with a never claim.
//!
//! The point of the claim is one more variable of a state. A step is a move of the claim, which
//! judges the state that the step begins in, and then one of the system. That the claim has moved
//! holds between the two only, so that it is a value of the register `control`:
//!
//! | `control` | who moves |
//! |---|---|
//! | 0, at rest | the claim |
//! | [`CLAIM`] | the claim, inside an `atomic` |
//! | [`SYSTEM`] | any process, as in a state at rest of a program without a claim |
//! | other values | as without a claim |
//!
//! Where the claim cannot move, the state has no successor and the run is not followed further.
//! Where the system cannot move, the transient state comes to rest: the step is the claim's alone,
//! and the run stays in the last state of the system for ever. A claim does not see states inside
//! an `atomic`.
//!
//! Assertions and valid ends are left out: they belong to the program without a claim, since a
//! product does not reach all that the program does.

use hadal_ir::expr::Place;
use hadal_ir::ids::VarId;
use hadal_ir::program::{Frame, Guard, Rule};
use hadal_ir::stmt::{Block, StmtKind};
use hadal_ir::types::{Simple, SimpleKind, Type};
use hadal_model::FaultKind;

use super::Lowering;
use super::build::Builder;
use super::exprs::Scope;
use super::layout::{PointNames, Slot, add_var};
use super::steps::points_with_control;
use crate::automaton::PointId;
use crate::claims::is_end;
use crate::program::{Action, Claim};

/// The value of `control` where the claim has moved, and the system is next.
pub(super) const SYSTEM: i64 = super::HANDSHAKE + 1;

/// The value of `control` where the claim is inside an `atomic` of its own.
pub(super) const CLAIM: i64 = SYSTEM + 1;

/// The claim of a product.
#[derive(Clone, Copy)]
pub(super) struct Observer<'p> {
    pub(super) claim: &'p Claim,
    /// How it is called in sentences.
    pub(super) title: &'p str,
}

/// Adds the variable that holds the point of a claim, by its position.
pub(super) fn add_claim(claim: &Claim, builder: &mut Builder<'_>) -> VarId {
    let mut names: Vec<String> = Vec::new();
    let mut point_names = PointNames::default();
    for (point_idx, point) in claim.automaton.points.iter().enumerate() {
        names.push(match point_idx == claim.automaton.end.index() {
            true => "end".to_owned(),
            false => point_names.next(builder.line(point.span)),
        });
    }
    let at = Simple {
        lo: 0,
        hi: names.len() as i64 - 1,
        kind: SimpleKind::Enum(names),
        is_total: true,
    };
    let at = builder.add_type(Type::Simple(at));
    add_var(builder, "_claim", at)
}

impl<'p> Lowering<'p> {
    /// The claim is where it begins.
    pub(super) fn start_claim(&mut self, block: &mut Block) {
        if let (Some(observer), Some(var)) = (self.observer, self.layout.claim) {
            let start = self.builder.int(observer.claim.automaton.start.0.into());
            block.push(self.builder.assign(Place::var(var), start));
        }
    }

    /// A rule for each edge of the claim.
    pub(super) fn claim_rules(&mut self) {
        let (Some(observer), Some(var)) = (self.observer, self.layout.claim) else {
            return;
        };
        let points = &observer.claim.automaton.points;
        let may_keep = points_with_control(points);
        for (point_idx, point) in points.iter().enumerate() {
            for edge_idx in 0..point.edges.len() {
                let source = PointId(point_idx as u32);
                self.claim_rule(observer, var, source, edge_idx, may_keep[point_idx]);
            }
        }
    }

    fn claim_rule(
        &mut self,
        observer: Observer<'p>,
        var: VarId,
        source: PointId,
        edge_idx: usize,
        may_keep: bool,
    ) {
        let automaton = &observer.claim.automaton;
        let edges = &automaton.point(source).edges;
        let edge = &edges[edge_idx];
        let site = self.builder.set_site(edge.span);
        // A claim is no process, and mentions nothing that only a process has.
        let mut scope = Scope {
            proctype: 0,
            slot: Slot::Number(0),
            frame: Frame::default(),
            timeout: false,
            in_d_step: false,
        };
        let registers = self.layout.registers.as_ref();
        let control = Place::var(registers.expect("a product has registers").control);
        let now = self.builder.read(control.clone());
        let mut turns = vec![self.builder.equals(now, 0)];
        if may_keep {
            turns.push(self.builder.equals(now, CLAIM));
        }
        let at = self.builder.read(Place::var(var));
        let mut parts = vec![self.builder.or(turns)];
        parts.push(self.builder.equals(at, source.0.into()));
        parts.extend(self.not_escaped(&mut scope, edges, edge_idx));
        parts.push(self.is_executable_alone(&mut scope, edges, edge_idx));
        let condition = self.builder.and(parts);
        self.builder.set_site(edge.span);

        let mut body = Block::new();
        if let Action::Assert(condition, text) = &edge.action {
            let condition = self.truth(&mut scope, condition);
            body.push(self.builder.stmt(StmtKind::Assert {
                condition,
                message: format!("assertion violated: {text}"),
                goes_on: true,
            }));
        }
        if is_end(automaton, edge.target) {
            body.push(self.builder.stmt(StmtKind::Error {
                kind: FaultKind::Claim,
                message: format!("{} is violated", observer.title),
            }));
        } else {
            let target = self.builder.int(edge.target.0.into());
            body.push(self.builder.assign(Place::var(var), target));
            let next = self
                .builder
                .int(if edge.keeps_control { CLAIM } else { SYSTEM });
            body.push(self.builder.assign(control, next));
        }
        let line = self.builder.line(edge.span);
        self.builder.ir.rules.push(Rule {
            name: format!("{} {line}: {}", observer.title, edge.text),
            params: Vec::new(),
            frame: scope.frame,
            priority: 0,
            cost: 0,
            guard: Guard {
                prologue: Block::new(),
                condition: Some(condition),
            },
            body,
            site,
        });
    }
}
