//! The measure on its way: adds expressions to the program, locals to the frame of the measure and
//! statements to blocks.

use hadal_ir::expr::{BinaryOp as Op, By, Domain, Expr, Place, Projection, Root, UnaryOp};
use hadal_ir::ids::{ExprId, LocalId, SiteId, TypeId};
use hadal_ir::program::{Frame, LocalKind, Program};
use hadal_ir::stmt::{Block, Stmt, StmtKind};
use hadal_ir::types::{Simple, SimpleKind, Type};
use rustc_hash::FxHashSet;

/// What is farther than anything else; numbers end there. Small enough that some of them, and the
/// cost of a path, add up to no more than a rank can tell.
const FAR: i64 = 1 << 20;

/// A measure on its way.
pub(crate) struct Builder<'p> {
    pub(crate) program: &'p mut Program,
    pub(crate) frame: Frame,
    pub(crate) site: SiteId,
    /// The type of locals that hold numbers.
    number: TypeId,
    /// The type of locals that hold truth values.
    truth: TypeId,
    /// What numbers end at: [`FAR`], or less where integers of the model are small.
    pub(crate) far: i64,
    /// Variables of loops and quantifiers, which hold a value.
    pub(crate) bound: FxHashSet<LocalId>,
    /// Whether some number is the difference of quantities, which one step may change by any.
    pub(crate) counts_quantities: bool,
    /// Roughly how many values numbers may have: 1 for a condition that is true or not.
    pub(crate) n_terms: usize,
}

/// How numbers are put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Combine {
    Maximum,
    Minimum,
    Sum,
}

impl<'p> Builder<'p> {
    pub(crate) fn new(program: &'p mut Program) -> Self {
        let far = FAR.min(program.arithmetic.max / 4);
        let number = Simple::range(0, far).total();
        let number = program.types.add(Type::Simple(number));
        let truth = program.types.add(Type::Simple(Simple::boolean().total()));
        Builder {
            program,
            frame: Frame::default(),
            site: SiteId::new(0),
            number,
            truth,
            far,
            bound: FxHashSet::default(),
            counts_quantities: false,
            n_terms: 0,
        }
    }

    // Expressions

    pub(crate) fn expr(&mut self, expr: Expr) -> ExprId {
        self.program.add_expr(expr, self.site)
    }

    pub(crate) fn int(&mut self, value: i64) -> ExprId {
        self.expr(Expr::Int(value))
    }

    pub(crate) fn truth(&mut self, value: bool) -> ExprId {
        self.expr(Expr::Bool(value))
    }

    pub(crate) fn binary(&mut self, op: Op, left: ExprId, right: ExprId) -> ExprId {
        self.expr(Expr::Binary(op, left, right))
    }

    pub(crate) fn not(&mut self, value: ExprId) -> ExprId {
        self.expr(Expr::Unary(UnaryOp::Not, value))
    }

    /// That all of `parts` are true, in this order.
    pub(crate) fn and(&mut self, mut parts: Vec<ExprId>) -> ExprId {
        match parts.len() {
            0 => self.truth(true),
            1 => parts.remove(0),
            _ => self.expr(Expr::And(parts)),
        }
    }

    pub(crate) fn cond(&mut self, condition: ExprId, yes: ExprId, no: ExprId) -> ExprId {
        self.expr(Expr::Cond(condition, yes, no))
    }

    /// The value of a local of a total type.
    pub(crate) fn read(&mut self, local: LocalId) -> ExprId {
        self.expr(Expr::Read(Place::local(local)))
    }

    /// `value`, but no more than numbers may be.
    pub(crate) fn limited(&mut self, value: ExprId) -> ExprId {
        let far = self.int(self.far);
        let fits = self.binary(Op::Lt, value, far);
        self.cond(fits, value, far)
    }

    // Locals

    pub(crate) fn new_number(&mut self) -> LocalId {
        self.frame.add("number", LocalKind::Value(self.number))
    }

    pub(crate) fn new_truth(&mut self) -> LocalId {
        self.frame.add("truth", LocalKind::Value(self.truth))
    }

    // Statements

    pub(crate) fn stmt(&self, kind: StmtKind) -> Stmt {
        Stmt {
            kind,
            site: self.site,
        }
    }

    pub(crate) fn assign(&mut self, block: &mut Block, local: LocalId, value: ExprId) {
        let place = Place::local(local);
        block.push(self.stmt(StmtKind::Assign { place, value }));
    }

    pub(crate) fn assign_int(&mut self, block: &mut Block, local: LocalId, value: i64) {
        let value = self.int(value);
        self.assign(block, local, value);
    }

    pub(crate) fn if_then(&mut self, block: &mut Block, condition: ExprId, then: Block) {
        if !then.is_empty() {
            block.push(self.stmt(StmtKind::If {
                arms: vec![(condition, then)],
                otherwise: Block::new(),
            }));
        }
    }

    /// What `combine` begins with.
    pub(crate) fn neutral(&self, combine: Combine) -> i64 {
        match combine {
            Combine::Maximum | Combine::Sum => 0,
            Combine::Minimum => self.far,
        }
    }

    /// Takes `value`, a number, into `local`.
    pub(crate) fn accumulate(
        &mut self,
        block: &mut Block,
        combine: Combine,
        local: LocalId,
        value: ExprId,
    ) {
        let before = self.read(local);
        match combine {
            Combine::Maximum | Combine::Minimum => {
                let op = match combine {
                    Combine::Maximum => Op::Gt,
                    _ => Op::Lt,
                };
                let is_better = self.binary(op, value, before);
                let mut then = Block::new();
                self.assign(&mut then, local, value);
                self.if_then(block, is_better, then);
            }
            Combine::Sum => {
                // Both are at most `far`, whose double is an integer of the model.
                let sum = self.binary(Op::Add, before, value);
                let sum = self.limited(sum);
                self.assign(block, local, sum);
            }
        }
    }

    /// A value that is read several times, evaluated once.
    pub(crate) fn hold(&mut self, block: &mut Block, value: ExprId) -> ExprId {
        let local = self.new_number();
        self.assign(block, local, value);
        self.read(local)
    }

    pub(crate) fn span(&mut self, from: i64, to: i64, by: i64) -> Domain {
        Domain::Span {
            from: self.int(from),
            to: self.int(to),
            by: By::Constant(by),
        }
    }

    // Types

    /// The type of a place.
    pub(crate) fn type_of(&self, place: &Place) -> Option<TypeId> {
        let mut ty = match &place.root {
            Root::Var(var) => self.program.var(*var).ty,
            Root::Local(local) => self.frame.local(*local).kind.ty(),
            Root::Result { into, .. } => self.frame.local(*into).kind.ty(),
        };
        for step in &place.path {
            ty = match (self.program.types.get(ty), step) {
                (Type::Record { fields }, Projection::Field(n)) => fields.get(*n as usize)?.ty,
                (
                    Type::Array { element, .. } | Type::Multiset { element, .. },
                    Projection::Index(_),
                ) => *element,
                _ => return None,
            };
        }
        Some(ty)
    }

    /// The simple type of what an expression reads, if it reads a place.
    pub(crate) fn simple_of(&self, id: ExprId) -> Option<&Simple> {
        match self.program.expr(id) {
            Expr::Defined(inner) => self.simple_of(*inner),
            Expr::Read(place) => self.program.types.simple(self.type_of(place)?),
            _ => None,
        }
    }

    /// Whether an expression is an integer of which it matters how large it is.
    pub(crate) fn is_quantity(&self, id: ExprId) -> bool {
        let is_range = |simple: &Simple| simple.kind == SimpleKind::Range;
        match self.program.expr(id) {
            Expr::Binary(op, ..) => matches!(op, Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Rem),
            Expr::Unary(op, _) => *op == UnaryOp::Neg,
            Expr::Quantified { quantifier, .. } => *quantifier == hadal_ir::Quantifier::Count,
            Expr::Call { function, .. } => {
                let result = self.program.function(*function).result;
                let simple = result.and_then(|ty| self.program.types.simple(ty));
                simple.is_some_and(is_range)
            }
            Expr::Defined(inner) => self.is_quantity(*inner),
            _ => self.simple_of(id).is_some_and(is_range),
        }
    }

    /// The integer that an expression is in any case.
    pub(crate) fn constant(&self, id: ExprId) -> Option<i64> {
        match self.program.expr(id) {
            Expr::Int(value) => Some(*value),
            Expr::Bool(value) => Some(i64::from(*value)),
            Expr::Defined(inner) => self.constant(*inner),
            _ => None,
        }
    }
}
