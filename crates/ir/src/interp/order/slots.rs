//! Which locals find slots of multisets.
//!
//! Slots have no meaning of their own: equal bags are equal, whatever the slots of their elements.
//! But while a loop runs over the slots of a multiset, it matters which element lies in which.

use rustc_hash::FxHashSet;

use super::Item;
use super::parts::Parts;
use crate::expr::{Arg, Expr, Place, Projection, Root};
use crate::ids::{ExprId, LocalId, TypeId};
use crate::program::Program;
use crate::stmt::{PutItem, ReturnValue, Stmt, StmtKind};
use crate::types::Type;
use crate::walk::{Mention, Reach, for_each_stmt};

/// The locals of an item's frame that are mentioned where a slot is named.
pub(super) fn slot_locals(program: &Program, item: Item) -> FxHashSet<LocalId> {
    let mut locals = FxHashSet::default();
    let mut types = (0..program.types.len()).map(|index| program.types.get(TypeId::new(index)));
    if !types.any(|ty| matches!(ty, Type::Multiset { .. })) {
        return locals;
    }
    let parts = Parts::of(program, item);
    let mut walk = Walk {
        program,
        parts,
        slots: Vec::new(),
    };
    let mut exprs = Vec::new();
    let mut reach = Reach::new(program);
    let mut visit = |mention| {
        reach.visit(mention, &mut |inner| {
            if let Mention::Expr(id) = inner {
                exprs.push(id);
            }
        });
    };
    parts.for_each_guard_mention(&mut visit);
    parts.for_each_body_mention(&mut visit);
    for id in exprs {
        walk.expr(program.expr(id));
    }
    let prologue = parts.guard.map_or(&[][..], |guard| &guard.prologue);
    for block in [prologue, parts.body] {
        for_each_stmt(block, &mut |stmt| walk.stmt(stmt));
    }
    let mut reach = Reach::new(program);
    for slot in walk.slots {
        reach.visit(Mention::Expr(slot), &mut |inner| {
            if let Mention::Local(local) = inner {
                locals.insert(local);
            }
        });
    }
    locals
}

/// Collects the expressions that name slots.
struct Walk<'a> {
    program: &'a Program,
    parts: Parts<'a>,
    slots: Vec<ExprId>,
}

impl Walk<'_> {
    fn expr(&mut self, expr: &Expr) {
        match expr {
            Expr::Read(place) | Expr::IsUndefined(place) => self.place(place),
            Expr::SameBits(a, b) => {
                self.place(a);
                self.place(b);
            }
            Expr::Call { args, .. } => self.args(args),
            Expr::Present { multiset, slot } => {
                self.place(multiset);
                self.slots.push(*slot);
            }
            _ => {}
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Assign { place, .. }
            | StmtKind::Clear(place)
            | StmtKind::Undefine(place)
            | StmtKind::Bind { place, .. }
            | StmtKind::Return(ReturnValue::Copy(place))
            | StmtKind::Put(PutItem::Place(place, _)) => self.place(place),
            StmtKind::Copy { to, from } => {
                self.place(to);
                self.place(from);
            }
            StmtKind::Call { args, .. } => self.args(args),
            StmtKind::MultisetAdd { multiset, value } => {
                self.place(multiset);
                self.args(std::slice::from_ref(value));
            }
            StmtKind::MultisetRemove { multiset, slot } => {
                self.place(multiset);
                self.slots.push(*slot);
            }
            StmtKind::If { .. }
            | StmtKind::For { .. }
            | StmtKind::While { .. }
            | StmtKind::Return(_)
            | StmtKind::Assert { .. }
            | StmtKind::Error { .. }
            | StmtKind::Assume(_)
            | StmtKind::Cover { .. }
            | StmtKind::Put(_) => {}
        }
    }

    fn args(&mut self, args: &[Arg]) {
        for arg in args {
            if let Arg::Copy(place) | Arg::Ref(place) = arg {
                self.place(place);
            }
        }
    }

    fn place(&mut self, place: &Place) {
        let mut ty = match &place.root {
            Root::Var(var) => self.program.var(*var).ty,
            Root::Local(local) => self.parts.frame.local(*local).kind.ty(),
            Root::Result { args, into, .. } => {
                self.args(args);
                self.parts.frame.local(*into).kind.ty()
            }
        };
        for projection in &place.path {
            ty = match (self.program.types.get(ty), projection) {
                (Type::Record { fields }, Projection::Field(field)) => fields[*field as usize].ty,
                (Type::Array { element, .. }, Projection::Index(_)) => *element,
                (Type::Multiset { element, .. }, Projection::Index(slot)) => {
                    self.slots.push(*slot);
                    *element
                }
                _ => unreachable!("verified: paths fit their types"),
            };
        }
    }
}
