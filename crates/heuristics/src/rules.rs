//! Loops over the instances of rules and properties.

use hadal_ir::expr::{Domain, Expr, Place};
use hadal_ir::ids::{ExprId, LocalId};
use hadal_ir::program::{Param, ParamDomain};
use hadal_ir::stmt::{Block, StmtKind};

use crate::agents::Agents;
use crate::builder::Builder;
use crate::copy::Copier;

impl Builder<'_> {
    /// For each instance of some parameters adds what `body` adds.
    pub(crate) fn for_instances(
        &mut self,
        block: &mut Block,
        copier: &mut Copier<'_>,
        params: &[Param],
        body: &mut dyn FnMut(&mut Self, &mut Copier<'_>, &mut Block),
    ) {
        let Some((param, rest)) = params.split_first() else {
            return body(self, copier, block);
        };
        let var = copier.local(&mut self.frame, param.local);
        self.for_param(
            block,
            copier,
            var,
            &param.domain,
            &mut |this, copier, inner| {
                this.for_instances(inner, copier, rest, body);
            },
        );
    }

    /// For each agent of a kind adds what `body` adds, which gets its local.
    pub(crate) fn for_agents(
        &mut self,
        block: &mut Block,
        agents: &Agents,
        body: &mut dyn FnMut(&mut Self, Option<LocalId>, &mut Block),
    ) {
        let Some(domain) = &agents.domain else {
            return body(self, None, block);
        };
        let rule = &self.program.rules[agents.rules[0]];
        let (frame, param) = (rule.frame.clone(), rule.params[0].local);
        let mut copier = Copier::new(&frame);
        let agent = copier.local(&mut self.frame, param);
        self.for_param(block, &mut copier, agent, domain, &mut |this, _, inner| {
            body(this, Some(agent), inner);
        });
    }

    /// For each instance of a rule in which `agent`, if there are several, is the first parameter,
    /// adds the rule's bindings and what `body` adds.
    pub(crate) fn for_rule(
        &mut self,
        block: &mut Block,
        rule: usize,
        agent: Option<LocalId>,
        body: &mut dyn FnMut(&mut Self, &mut Copier<'_>, &mut Block),
    ) {
        let rule = self.program.rules[rule].clone();
        let mut copier = Copier::new(&rule.frame);
        let mut params = &rule.params[..];
        if let Some(agent) = agent {
            copier.set(params[0].local, agent);
            params = &params[1..];
        }
        self.for_instances(block, &mut copier, params, &mut |this, copier, inner| {
            let prologue = copier.block(this.program, &mut this.frame, &rule.guard.prologue);
            inner.extend(prologue);
            body(this, copier, inner);
        });
    }

    /// A copy of an expression of another frame.
    pub(crate) fn copied(&mut self, copier: &mut Copier<'_>, id: ExprId) -> ExprId {
        copier.expr(self.program, &mut self.frame, id)
    }

    /// For each value of a parameter adds what `body` adds; `var` holds it.
    fn for_param(
        &mut self,
        block: &mut Block,
        copier: &mut Copier<'_>,
        var: LocalId,
        domain: &ParamDomain,
        body: &mut dyn FnMut(&mut Self, &mut Copier<'_>, &mut Block),
    ) {
        self.bound.insert(var);
        let mut inner = Block::new();
        let domain = match domain {
            ParamDomain::Type(ty) => {
                body(self, copier, &mut inner);
                Domain::Type(*ty)
            }
            ParamDomain::Span { from, to, by } => {
                body(self, copier, &mut inner);
                self.span(*from, *to, *by)
            }
            ParamDomain::Slots { multiset, capacity } => {
                let multiset = copier.place(self.program, &mut self.frame, multiset.clone());
                let is_there = self.is_present(multiset, var);
                let mut then = Block::new();
                body(self, copier, &mut then);
                self.if_then(&mut inner, is_there, then);
                self.span(0, i64::from(*capacity) - 1, 1)
            }
        };
        if !inner.is_empty() {
            let body = inner;
            block.push(self.stmt(StmtKind::For { var, domain, body }));
        }
    }

    fn is_present(&mut self, multiset: Place, slot: LocalId) -> ExprId {
        let slot = self.expr(Expr::Read(Place::local(slot)));
        let slot = self.expr(Expr::Defined(slot));
        self.expr(Expr::Present { multiset, slot })
    }
}
