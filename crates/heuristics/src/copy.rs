//! Copies of expressions and statements, with locals of another frame.
//!
//! An estimate consists of parts of rules and properties, each with a frame of its own. A copy has
//! all of their locals in one frame.

use hadal_ir::expr::{Arg, By, Domain, Expr, Place, Projection, Root};
use hadal_ir::ids::{ExprId, LocalId};
use hadal_ir::program::{Frame, Program};
use hadal_ir::stmt::{Block, Stmt, StmtKind};
use rustc_hash::FxHashMap;

/// Copies what uses the locals of `from` for a frame `to`.
pub(crate) struct Copier<'f> {
    from: &'f Frame,
    locals: FxHashMap<LocalId, LocalId>,
    exprs: FxHashMap<ExprId, ExprId>,
}

impl<'f> Copier<'f> {
    pub(crate) fn new(from: &'f Frame) -> Self {
        Copier {
            from,
            locals: FxHashMap::default(),
            exprs: FxHashMap::default(),
        }
    }

    /// Lets `new` stand for `local`.
    pub(crate) fn set(&mut self, local: LocalId, new: LocalId) {
        self.locals.insert(local, new);
    }

    /// The local of `to` that stands for `local`.
    pub(crate) fn local(&mut self, to: &mut Frame, local: LocalId) -> LocalId {
        let from = self.from;
        *self.locals.entry(local).or_insert_with(|| {
            let original = from.local(local);
            to.add(original.name.clone(), original.kind)
        })
    }

    pub(crate) fn expr(&mut self, program: &mut Program, to: &mut Frame, id: ExprId) -> ExprId {
        if let Some(&known) = self.exprs.get(&id) {
            return known;
        }
        let original = program.expr(id).clone();
        let copy = self.expr_node(program, to, original.clone());
        let new = match copy == original {
            true => id,
            false => {
                let site = program.expr_site(id);
                program.add_expr(copy, site)
            }
        };
        self.exprs.insert(id, new);
        new
    }

    fn exprs(&mut self, program: &mut Program, to: &mut Frame, ids: Vec<ExprId>) -> Vec<ExprId> {
        let ids = ids.into_iter();
        ids.map(|id| self.expr(program, to, id)).collect()
    }

    fn expr_node(&mut self, program: &mut Program, to: &mut Frame, expr: Expr) -> Expr {
        match expr {
            Expr::Int(_) | Expr::Bool(_) | Expr::Undefined => expr,
            Expr::Read(place) => Expr::Read(self.place(program, to, place)),
            Expr::Defined(value) => Expr::Defined(self.expr(program, to, value)),
            Expr::Unary(op, value) => Expr::Unary(op, self.expr(program, to, value)),
            Expr::Binary(op, left, right) => {
                let left = self.expr(program, to, left);
                Expr::Binary(op, left, self.expr(program, to, right))
            }
            Expr::And(parts) => Expr::And(self.exprs(program, to, parts)),
            Expr::Or(parts) => Expr::Or(self.exprs(program, to, parts)),
            Expr::Cond(condition, yes, no) => {
                let condition = self.expr(program, to, condition);
                let yes = self.expr(program, to, yes);
                Expr::Cond(condition, yes, self.expr(program, to, no))
            }
            Expr::Quantified {
                quantifier,
                var,
                domain,
                body,
            } => Expr::Quantified {
                quantifier,
                var: self.local(to, var),
                domain: self.domain(program, to, domain),
                body: self.expr(program, to, body),
            },
            Expr::IsUndefined(place) => Expr::IsUndefined(self.place(program, to, place)),
            Expr::SameBits(a, b) => {
                let a = self.place(program, to, a);
                Expr::SameBits(a, self.place(program, to, b))
            }
            Expr::Call { function, args } => Expr::Call {
                function,
                args: self.args(program, to, args),
            },
            Expr::Remap { value, map } => Expr::Remap {
                value: self.expr(program, to, value),
                map,
            },
            Expr::InRange { value, lo, hi } => Expr::InRange {
                value: self.expr(program, to, value),
                lo,
                hi,
            },
            Expr::Present { multiset, slot } => {
                let multiset = self.place(program, to, multiset);
                Expr::Present {
                    multiset,
                    slot: self.expr(program, to, slot),
                }
            }
        }
    }

    pub(crate) fn domain(
        &mut self,
        program: &mut Program,
        to: &mut Frame,
        domain: Domain,
    ) -> Domain {
        match domain {
            Domain::Type(_) => domain,
            Domain::Span { from, to: end, by } => Domain::Span {
                from: self.expr(program, to, from),
                to: self.expr(program, to, end),
                by: match by {
                    By::Step(step) => By::Step(self.expr(program, to, step)),
                    By::Constant(_) | By::Toward => by,
                },
            },
        }
    }

    pub(crate) fn place(&mut self, program: &mut Program, to: &mut Frame, place: Place) -> Place {
        let root = match place.root {
            Root::Var(_) => place.root,
            Root::Local(local) => Root::Local(self.local(to, local)),
            Root::Result {
                function,
                args,
                into,
                site,
            } => Root::Result {
                function,
                args: self.args(program, to, args),
                into: self.local(to, into),
                site,
            },
        };
        let path = place.path.into_iter().map(|step| match step {
            Projection::Field(_) => step,
            Projection::Index(index) => Projection::Index(self.expr(program, to, index)),
        });
        Place {
            root,
            path: path.collect(),
        }
    }

    fn args(&mut self, program: &mut Program, to: &mut Frame, args: Vec<Arg>) -> Vec<Arg> {
        let args = args.into_iter().map(|arg| self.arg(program, to, arg));
        args.collect()
    }

    fn arg(&mut self, program: &mut Program, to: &mut Frame, arg: Arg) -> Arg {
        match arg {
            Arg::Value(value) => Arg::Value(self.expr(program, to, value)),
            Arg::Copy(place) => Arg::Copy(self.place(program, to, place)),
            Arg::Ref(place) => Arg::Ref(self.place(program, to, place)),
        }
    }

    pub(crate) fn block(&mut self, program: &mut Program, to: &mut Frame, block: &[Stmt]) -> Block {
        let stmts = block.iter().map(|stmt| Stmt {
            kind: self.stmt(program, to, stmt.kind.clone()),
            site: stmt.site,
        });
        stmts.collect()
    }

    fn stmt(&mut self, program: &mut Program, to: &mut Frame, kind: StmtKind) -> StmtKind {
        match kind {
            StmtKind::Assign { place, value } => StmtKind::Assign {
                place: self.place(program, to, place),
                value: self.expr(program, to, value),
            },
            StmtKind::Copy { to: target, from } => StmtKind::Copy {
                to: self.place(program, to, target),
                from: self.place(program, to, from),
            },
            StmtKind::Clear(place) => StmtKind::Clear(self.place(program, to, place)),
            StmtKind::Undefine(place) => StmtKind::Undefine(self.place(program, to, place)),
            StmtKind::If { arms, otherwise } => {
                let arms = arms.into_iter().map(|(condition, block)| {
                    let condition = self.expr(program, to, condition);
                    (condition, self.block(program, to, &block))
                });
                StmtKind::If {
                    arms: arms.collect(),
                    otherwise: self.block(program, to, &otherwise),
                }
            }
            StmtKind::For { var, domain, body } => StmtKind::For {
                var: self.local(to, var),
                domain: self.domain(program, to, domain),
                body: self.block(program, to, &body),
            },
            StmtKind::While { condition, body } => StmtKind::While {
                condition: self.expr(program, to, condition),
                body: self.block(program, to, &body),
            },
            StmtKind::Bind { local, place } => StmtKind::Bind {
                local: self.local(to, local),
                place: self.place(program, to, place),
            },
            StmtKind::Call { function, args } => StmtKind::Call {
                function,
                args: self.args(program, to, args),
            },
            // These stand in no guard and no measure.
            StmtKind::Return(_)
            | StmtKind::Assert { .. }
            | StmtKind::Error { .. }
            | StmtKind::Assume(_)
            | StmtKind::Cover { .. }
            | StmtKind::Put(_)
            | StmtKind::MultisetAdd { .. }
            | StmtKind::MultisetRemove { .. } => kind,
        }
    }
}
