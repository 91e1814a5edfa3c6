//! What expressions, places and statements mention, one level at a time.
//!
//! Analyses that only need to know who refers to whom use this instead of matching on the tree,
//! so that a new construct is added in one place.

use crate::expr::{Arg, By, Domain, Expr, Place, Projection, Root};
use crate::ids::{ExprId, FunctionId, LocalId, MapId, TypeId, VarId};
use crate::program::Program;
use crate::stmt::{Block, PutItem, ReturnValue, Stmt, StmtKind};

/// Something that is referred to by its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mention {
    /// An operand.
    Expr(ExprId),
    /// A type.
    Type(TypeId),
    /// A state variable.
    Var(VarId),
    /// A local of the enclosing frame.
    Local(LocalId),
    /// A function that is called.
    Function(FunctionId),
    /// A mapping.
    Map(MapId),
    /// A cover point.
    Cover(u32),
}

impl Expr {
    /// Calls `visit` with everything this expression mentions itself; operands are mentioned, not
    /// entered.
    pub fn for_each_mention(&self, visit: &mut dyn FnMut(Mention)) {
        match self {
            Expr::Int(_) | Expr::Bool(_) | Expr::Undefined => {}
            Expr::Read(place) | Expr::IsUndefined(place) => place.for_each_mention(visit),
            Expr::Defined(value) | Expr::Unary(_, value) => visit(Mention::Expr(*value)),
            Expr::Binary(_, left, right) => {
                visit(Mention::Expr(*left));
                visit(Mention::Expr(*right));
            }
            Expr::And(parts) | Expr::Or(parts) => {
                for part in parts {
                    visit(Mention::Expr(*part));
                }
            }
            Expr::Cond(condition, yes, no) => {
                visit(Mention::Expr(*condition));
                visit(Mention::Expr(*yes));
                visit(Mention::Expr(*no));
            }
            Expr::Quantified {
                var, domain, body, ..
            } => {
                visit(Mention::Local(*var));
                domain.for_each_mention(visit);
                visit(Mention::Expr(*body));
            }
            Expr::SameBits(a, b) => {
                a.for_each_mention(visit);
                b.for_each_mention(visit);
            }
            Expr::Call { function, args } => {
                visit(Mention::Function(*function));
                args.iter().for_each(|arg| arg.for_each_mention(visit));
            }
            Expr::Remap { value, map } => {
                visit(Mention::Expr(*value));
                visit(Mention::Map(*map));
            }
            Expr::InRange { value, .. } => visit(Mention::Expr(*value)),
            Expr::Present { multiset, slot } => {
                multiset.for_each_mention(visit);
                visit(Mention::Expr(*slot));
            }
        }
    }
}

impl Place {
    /// Calls `visit` with everything this place mentions itself.
    pub fn for_each_mention(&self, visit: &mut dyn FnMut(Mention)) {
        match &self.root {
            Root::Var(id) => visit(Mention::Var(*id)),
            Root::Local(id) => visit(Mention::Local(*id)),
            Root::Result {
                function,
                args,
                into,
                site: _,
            } => {
                visit(Mention::Function(*function));
                visit(Mention::Local(*into));
                args.iter().for_each(|arg| arg.for_each_mention(visit));
            }
        }
        for step in &self.path {
            if let Projection::Index(index) = step {
                visit(Mention::Expr(*index));
            }
        }
    }
}

impl Arg {
    /// Calls `visit` with everything this argument mentions itself.
    pub fn for_each_mention(&self, visit: &mut dyn FnMut(Mention)) {
        match self {
            Arg::Value(value) => visit(Mention::Expr(*value)),
            Arg::Copy(place) | Arg::Ref(place) => place.for_each_mention(visit),
        }
    }
}

impl Domain {
    /// Calls `visit` with everything this domain mentions itself.
    pub fn for_each_mention(&self, visit: &mut dyn FnMut(Mention)) {
        match self {
            Domain::Type(ty) => visit(Mention::Type(*ty)),
            Domain::Span { from, to, by } => {
                visit(Mention::Expr(*from));
                visit(Mention::Expr(*to));
                if let By::Step(step) = by {
                    visit(Mention::Expr(*step));
                }
            }
        }
    }
}

impl Stmt {
    /// Calls `visit` with everything this statement mentions itself; see
    /// [`for_each_block`](Self::for_each_block) for the statements inside it.
    pub fn for_each_mention(&self, visit: &mut dyn FnMut(Mention)) {
        match &self.kind {
            StmtKind::Assign { place, value } => {
                visit(Mention::Expr(*value));
                place.for_each_mention(visit);
            }
            StmtKind::Copy { to, from } => {
                from.for_each_mention(visit);
                to.for_each_mention(visit);
            }
            StmtKind::Clear(place) | StmtKind::Undefine(place) => place.for_each_mention(visit),
            StmtKind::If { arms, .. } => {
                for (condition, _) in arms {
                    visit(Mention::Expr(*condition));
                }
            }
            StmtKind::For { var, domain, .. } => {
                visit(Mention::Local(*var));
                domain.for_each_mention(visit);
            }
            StmtKind::While { condition, .. }
            | StmtKind::Assert { condition, .. }
            | StmtKind::Assume(condition) => visit(Mention::Expr(*condition)),
            StmtKind::Bind { local, place } => {
                visit(Mention::Local(*local));
                place.for_each_mention(visit);
            }
            StmtKind::Call { function, args } => {
                visit(Mention::Function(*function));
                args.iter().for_each(|arg| arg.for_each_mention(visit));
            }
            StmtKind::Return(ReturnValue::Nothing) | StmtKind::Error { .. } => {}
            StmtKind::Return(ReturnValue::Value(value)) => visit(Mention::Expr(*value)),
            StmtKind::Return(ReturnValue::Copy(place)) => place.for_each_mention(visit),
            StmtKind::Cover { point, condition } => {
                visit(Mention::Cover(*point));
                visit(Mention::Expr(*condition));
            }
            StmtKind::Put(PutItem::Text(_)) => {}
            StmtKind::Put(PutItem::Value(value, ty)) => {
                visit(Mention::Expr(*value));
                visit(Mention::Type(*ty));
            }
            StmtKind::Put(PutItem::Number(value, _)) => visit(Mention::Expr(*value)),
            StmtKind::Put(PutItem::Place(place, _)) => place.for_each_mention(visit),
            StmtKind::MultisetAdd { multiset, value } => {
                value.for_each_mention(visit);
                multiset.for_each_mention(visit);
            }
            StmtKind::MultisetRemove { multiset, slot } => {
                multiset.for_each_mention(visit);
                visit(Mention::Expr(*slot));
            }
        }
    }

    /// Calls `visit` with the blocks directly inside this statement.
    pub fn for_each_block<'a>(&'a self, visit: &mut dyn FnMut(&'a Block)) {
        match &self.kind {
            StmtKind::If { arms, otherwise } => {
                arms.iter().for_each(|(_, block)| visit(block));
                visit(otherwise);
            }
            StmtKind::For { body, .. } | StmtKind::While { body, .. } => visit(body),
            _ => {}
        }
    }
}

/// Calls `visit` with every statement of a block, inner ones after the one that holds them.
pub fn for_each_stmt<'a>(block: &'a [Stmt], visit: &mut dyn FnMut(&'a Stmt)) {
    for stmt in block {
        visit(stmt);
        stmt.for_each_block(&mut |inner| for_each_stmt(inner, visit));
    }
}

/// Calls `visit` with everything a block mentions, statements inside it included and expressions
/// not entered.
pub fn for_each_mention(block: &[Stmt], visit: &mut dyn FnMut(Mention)) {
    for_each_stmt(block, &mut |stmt| stmt.for_each_mention(visit));
}

/// Runs through expressions from wherever they are mentioned, each one once.
pub struct Reach<'a> {
    program: &'a Program,
    seen: Vec<bool>,
}

impl<'a> Reach<'a> {
    /// Nothing reached yet.
    pub fn new(program: &'a Program) -> Self {
        Reach {
            program,
            seen: vec![false; program.exprs.len()],
        }
    }

    /// Calls `visit` with `mention` and all that it leads to through expressions, leaving out
    /// expressions that were visited before. Ids that do not exist lead nowhere.
    pub fn visit(&mut self, mention: Mention, visit: &mut dyn FnMut(Mention)) {
        let mut pending = vec![mention];
        while let Some(mention) = pending.pop() {
            if let Mention::Expr(id) = mention {
                match self.seen.get_mut(id.index()) {
                    Some(seen) if !*seen => *seen = true,
                    _ => continue,
                }
                let (expr, _) = &self.program.exprs[id.index()];
                expr.for_each_mention(&mut |inner| pending.push(inner));
            }
            visit(mention);
        }
    }
}
