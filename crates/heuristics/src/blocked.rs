//! `blocked`: how far all agents are from being blocked.
//!
//! An agent is blocked at a control point where none of its rules is enabled. How far it is from
//! there is the distance to the point, and behind it the distances to where each rule that starts
//! there is disabled. Agents without control points are blocked where none of their rules is enabled.

use hadal_ir::expr::{BinaryOp as Op, Expr};
use hadal_ir::ids::{ExprId, LocalId};
use hadal_ir::stmt::{Block, StmtKind};

use crate::agents::{Agents, Point, conjuncts, control_point};
use crate::builder::{Builder, Combine};
use crate::control::ControlGraphs;
use crate::distance::{Distance, Measuring};

impl Builder<'_> {
    /// The sum of what each agent is from being blocked.
    pub(crate) fn blocked(
        &mut self,
        block: &mut Block,
        control: &ControlGraphs,
        all: &[Agents],
    ) -> Distance {
        let measuring = Measuring {
            conjunction: Combine::Sum,
            control,
            only_control: false,
        };
        let total = self.new_number();
        self.assign_int(block, total, 0);
        for agents in all {
            let rules: Vec<(usize, Option<Point>)> = agents
                .rules
                .iter()
                .map(|&rule| (rule, control_point(self.program, &self.program.rules[rule])))
                .collect();
            let place = rules.iter().find_map(|(_, point)| point.as_ref());
            let place = place.map(|point| (point.place.root.clone(), point.place.path.len()));
            let have_points = rules.iter().all(|(_, point)| {
                let point = point.as_ref();
                point.is_some_and(|it| place == Some((it.place.root.clone(), it.place.path.len())))
            });
            self.for_agents(block, agents, &mut |this, agent, inner| {
                let distance = match have_points {
                    true => this.blocked_at_points(inner, measuring, &rules, agent),
                    false => {
                        let all: Vec<usize> = rules.iter().map(|(rule, _)| *rule).collect();
                        this.all_disabled(inner, measuring, &all, agent, None)
                    }
                };
                if let Distance::Number(number) = distance {
                    this.accumulate(inner, Combine::Sum, total, number);
                }
            });
        }
        Distance::Number(self.read(total))
    }

    /// The least distance to a control point at which all rules are disabled.
    fn blocked_at_points(
        &mut self,
        block: &mut Block,
        measuring: Measuring<'_>,
        rules: &[(usize, Option<Point>)],
        agent: Option<LocalId>,
    ) -> Distance {
        let mut values: Vec<i64> = rules
            .iter()
            .filter_map(|(_, point)| point.as_ref().map(|point| point.value))
            .collect();
        values.sort_unstable();
        values.dedup();
        // Most points are farther than the nearest one, and need not be looked at more closely. The
        // nearest one is often where the agent is, so that comes in a first pass.
        let (least, pass) = (self.new_number(), self.new_number());
        self.assign_int(block, least, self.far);
        let mut body = Block::new();
        for value in values {
            let here: Vec<&(usize, Option<Point>)> = rules
                .iter()
                .filter(|(_, point)| point.as_ref().is_some_and(|it| it.value == value))
                .collect();
            let way = match self.way_to(&mut body, measuring, here[0], agent) {
                Distance::Zero => self.int(0),
                Distance::Never => continue,
                Distance::Number(number) => number,
            };
            let here: Vec<usize> = here.iter().map(|(rule, _)| *rule).collect();
            let mut then = Block::new();
            let disabled = self.all_disabled(&mut then, measuring, &here, agent, Some(value));
            let all = [Distance::Number(way), disabled];
            let distance = self.combined(&mut then, Combine::Sum, &all);
            self.take_least(&mut then, least, distance);
            let (zero, pass, best) = (self.int(0), self.read(pass), self.read(least));
            let is_first = self.binary(Op::Eq, pass, zero);
            let is_here = self.binary(Op::Eq, way, zero);
            let is_elsewhere = self.not(is_here);
            let is_nearer = self.binary(Op::Lt, way, best);
            let is_in_second = self.and(vec![is_elsewhere, is_nearer]);
            let is_wanted = self.cond(is_first, is_here, is_in_second);
            self.if_then(&mut body, is_wanted, then);
        }
        let (var, domain) = (pass, self.span(0, 1, 1));
        block.push(self.stmt(StmtKind::For { var, domain, body }));
        Distance::Number(self.read(least))
    }

    /// The distance to the control point of a rule.
    fn way_to(
        &mut self,
        block: &mut Block,
        measuring: Measuring<'_>,
        (rule, point): &(usize, Option<Point>),
        agent: Option<LocalId>,
    ) -> Distance {
        let Some(point) = point else {
            return Distance::Zero;
        };
        let rule = self.program.rules[*rule].clone();
        let mut copier = crate::copy::Copier::new(&rule.frame);
        if let Some(agent) = agent {
            copier.set(rule.params[0].local, agent);
        }
        let condition = self.copied(&mut copier, point.condition);
        self.distance(block, measuring, condition, true)
    }

    /// The distance to where no instance of some rules is enabled; that their control point has the
    /// value `at` is left out.
    fn all_disabled(
        &mut self,
        block: &mut Block,
        measuring: Measuring<'_>,
        rules: &[usize],
        agent: Option<LocalId>,
        at: Option<i64>,
    ) -> Distance {
        let total = self.new_number();
        self.assign_int(block, total, 0);
        let far = self.far;
        for &rule in rules {
            self.for_rule(block, rule, agent, &mut |this, copier, inner| {
                let original = &this.program.rules[rule];
                let point = at.and_then(|_| control_point(this.program, original));
                let guard = conjuncts(this.program, original.guard.condition);
                let rest = guard
                    .into_iter()
                    .filter(|id| point.as_ref().is_none_or(|point| point.condition != *id));
                let rest: Vec<ExprId> = rest.filter(|&id| !this.mentions_register(id)).collect();
                let distances: Vec<Distance> = rest
                    .into_iter()
                    .map(|part| {
                        let part = this.copied(copier, part);
                        this.distance(inner, measuring, part, false)
                    })
                    .collect();
                let number = match this.combined(inner, Combine::Minimum, &distances) {
                    Distance::Zero => return,
                    Distance::Never => this.expr(Expr::Int(far)),
                    Distance::Number(number) => number,
                };
                this.accumulate(inner, Combine::Sum, total, number);
            });
        }
        Distance::Number(self.read(total))
    }
}
