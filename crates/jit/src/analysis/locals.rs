//! Where the locals of a frame can live: in registers, unless their address is taken.

use hadal_ir::expr::{Arg, Expr, Place, Root};
use hadal_ir::program::{Frame, LocalKind, Param, ParamDomain, Program};
use hadal_ir::stmt::{PutItem, ReturnValue, Stmt, StmtKind};
use hadal_ir::walk::{Mention, Reach, for_each_mention, for_each_stmt};

/// What is known about the locals of a frame, each by its number.
#[derive(Clone, Debug)]
pub(crate) struct LocalFacts {
    /// Whether it must lie in memory: an aggregate, or something refers to it.
    pub(crate) in_memory: Vec<bool>,
    /// How many statements of the part bind it, for references.
    pub(crate) n_binds: Vec<u32>,
}

impl LocalFacts {
    /// Looks at blocks and single expressions that run in one frame.
    pub(crate) fn of(
        program: &Program,
        frame: &Frame,
        params: &[Param],
        blocks: &[&[Stmt]],
        condition: Option<hadal_ir::ids::ExprId>,
    ) -> Self {
        let n = frame.locals.len();
        let mut facts = LocalFacts {
            in_memory: vec![false; n],
            n_binds: vec![0; n],
        };
        for (number, local) in frame.locals.iter().enumerate() {
            if let LocalKind::Value(ty) = local.kind {
                facts.in_memory[number] = program.types.simple(ty).is_none();
            }
        }
        let mut exprs = Vec::new();
        let mut reach = Reach::new(program);
        let mut visit = |mention: Mention| {
            reach.visit(mention, &mut |inner| {
                if let Mention::Expr(id) = inner {
                    exprs.push(id);
                }
            });
        };
        for block in blocks {
            for_each_mention(block, &mut visit);
        }
        if let Some(condition) = condition {
            visit(Mention::Expr(condition));
        }
        for param in params {
            if let ParamDomain::Slots { multiset, .. } = &param.domain {
                multiset.for_each_mention(&mut visit);
                facts.place(multiset);
            }
        }
        for id in exprs {
            facts.expr(program.expr(id));
        }
        for block in blocks {
            for_each_stmt(block, &mut |stmt| facts.stmt(stmt));
        }
        facts
    }

    /// Something may refer to this place later.
    fn take_address(&mut self, place: &Place) {
        if let Root::Local(local) = place.root {
            self.in_memory[local.index()] = true;
        }
        self.place(place);
    }

    fn place(&mut self, place: &Place) {
        if let Root::Result { args, .. } = &place.root {
            self.args(args);
        }
    }

    fn args(&mut self, args: &[Arg]) {
        for arg in args {
            match arg {
                Arg::Value(_) => {}
                Arg::Copy(place) => self.place(place),
                Arg::Ref(place) => self.take_address(place),
            }
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match expr {
            Expr::Read(place) | Expr::IsUndefined(place) => self.place(place),
            Expr::Present { multiset, .. } => self.place(multiset),
            Expr::SameBits(a, b) => {
                self.place(a);
                self.place(b);
            }
            Expr::Call { args, .. } => self.args(args),
            _ => {}
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Bind { local, place } => {
                self.n_binds[local.index()] += 1;
                self.take_address(place);
            }
            StmtKind::Call { args, .. } => self.args(args),
            StmtKind::Assign { place, .. }
            | StmtKind::Clear(place)
            | StmtKind::Undefine(place)
            | StmtKind::Put(PutItem::Place(place, _))
            | StmtKind::Return(ReturnValue::Copy(place)) => self.place(place),
            StmtKind::Copy { to, from } => {
                self.place(to);
                self.place(from);
            }
            StmtKind::MultisetAdd { multiset, value } => {
                self.place(multiset);
                if let Arg::Copy(place) | Arg::Ref(place) = value {
                    self.place(place);
                }
            }
            StmtKind::MultisetRemove { multiset, .. } => self.place(multiset),
            _ => {}
        }
    }
}
