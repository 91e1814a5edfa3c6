//! Expressions of a frame: sorts, undefined values, and which locals they use and change.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::VerifyErrorKind;
use super::frames::FrameCheck;
use super::places::Found;
use crate::expr::{Arg, BinaryOp, By, Domain, Expr, Place, Quantifier, UnaryOp};
use crate::ids::{ExprId, FunctionId, LocalId, TypeId};
use crate::program::ParamMode;
use crate::types::{Simple, SimpleKind};

/// What an expression yields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Bool,
    Int,
    /// Nothing but undefined, which fits everywhere; also after an error, to report it once.
    Any,
}

impl Sort {
    /// The sort of the values of a simple type.
    pub(super) fn of(simple: &Simple) -> Sort {
        match simple.kind {
            SimpleKind::Boolean => Sort::Bool,
            _ => Sort::Int,
        }
    }

    pub(super) fn fits(self, other: Sort) -> bool {
        self == other || self == Sort::Any || other == Sort::Any
    }

    fn name(self) -> &'static str {
        match self {
            Sort::Bool => "a truth value",
            Sort::Int => "an integer",
            Sort::Any => "a value",
        }
    }
}

/// What is known about an expression in a frame.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    pub(super) sort: Sort,
    /// Whether it may be undefined.
    pub(super) maybe: bool,
    pub(super) locals: Locals,
}

/// The locals an evaluation touches.
#[derive(Clone, Debug, Default)]
pub(super) struct Locals {
    /// Read, those that the expression binds itself not included.
    pub(super) used: BTreeSet<LocalId>,
    /// Changed: as loop variables, as results of calls, or through references in arguments.
    pub(super) changed: BTreeSet<LocalId>,
}

impl Locals {
    pub(super) fn extend(&mut self, other: &Locals) {
        self.used.extend(&other.used);
        self.changed.extend(&other.changed);
    }
}

impl FrameCheck<'_> {
    /// What is known about an expression. Errors inside it are reported the first time.
    pub(super) fn expr(&mut self, id: ExprId) -> Rc<Facts> {
        if let Some(known) = self.facts.get(&id) {
            return known.clone();
        }
        let program = self.program;
        let mut locals = Locals::default();
        let (sort, maybe) = match program.expr(id) {
            Expr::Int(_) => (Sort::Int, false),
            Expr::Bool(_) => (Sort::Bool, false),
            Expr::Undefined => (Sort::Any, true),
            Expr::Read(place) => match self.place(place) {
                Some(found) => {
                    locals.extend(&found.locals);
                    (self.simple_sort(found.ty), !self.is_total(found.ty))
                }
                None => (Sort::Any, true),
            },
            Expr::Defined(value) => {
                let facts = self.expr(*value);
                locals.extend(&facts.locals);
                (facts.sort, false)
            }
            Expr::Unary(op, value) => {
                let sort = match op {
                    UnaryOp::Neg | UnaryOp::BitNot => Sort::Int,
                    UnaryOp::Not => Sort::Bool,
                };
                self.operand(*value, sort, &mut locals);
                (sort, false)
            }
            Expr::Binary(op, left, right) => (self.binary(*op, *left, *right, &mut locals), false),
            Expr::And(parts) | Expr::Or(parts) => {
                for part in parts {
                    self.operand(*part, Sort::Bool, &mut locals);
                }
                (Sort::Bool, false)
            }
            Expr::Cond(condition, yes, no) => {
                self.operand(*condition, Sort::Bool, &mut locals);
                let yes = self.passed_on(*yes, Sort::Any, &mut locals);
                let no = self.passed_on(*no, Sort::Any, &mut locals);
                self.same_sorts(yes.sort, no.sort);
                let sort = match yes.sort {
                    Sort::Any => no.sort,
                    sort => sort,
                };
                (sort, yes.maybe || no.maybe)
            }
            Expr::Quantified {
                quantifier,
                var,
                domain,
                body,
            } => {
                self.domain(*var, domain, &mut locals);
                let mut inner = Locals::default();
                self.operand(*body, Sort::Bool, &mut inner);
                if inner.changed.contains(var) {
                    let message = format!("the quantified {var} is changed inside");
                    self.error(VerifyErrorKind::Write, message);
                }
                inner.used.remove(var);
                locals.extend(&inner);
                locals.changed.insert(*var);
                let sort = match quantifier {
                    Quantifier::Forall | Quantifier::Exists => Sort::Bool,
                    Quantifier::Count => Sort::Int,
                };
                (sort, false)
            }
            Expr::IsUndefined(place) => {
                if let Some(found) = self.place(place) {
                    locals.extend(&found.locals);
                    self.simple_sort(found.ty);
                }
                (Sort::Bool, false)
            }
            Expr::SameBits(a, b) => {
                if let (Some(a), Some(b)) = (self.place(a), self.place(b)) {
                    locals.extend(&a.locals);
                    locals.extend(&b.locals);
                    self.keeps_result(a.into, &b.locals);
                    if !self.same_layout(a.ty, b.ty) {
                        let message = format!("{} and {} differ in layout", a.ty, b.ty);
                        self.error(VerifyErrorKind::Place, message);
                    }
                }
                (Sort::Bool, false)
            }
            Expr::Call { function, args } => {
                self.call(*function, args, &mut locals);
                match program.function(*function).result {
                    Some(ty) => (self.simple_sort(ty), !self.is_total(ty)),
                    None => {
                        let message = format!("{function} returns no value");
                        self.error(VerifyErrorKind::Call, message);
                        (Sort::Any, true)
                    }
                }
            }
            Expr::Remap { value, .. } => {
                let facts = self.expr(*value);
                locals.extend(&facts.locals);
                self.same_sorts(facts.sort, Sort::Int);
                (Sort::Int, facts.maybe)
            }
            Expr::InRange { value, .. } => {
                self.operand(*value, Sort::Int, &mut locals);
                (Sort::Bool, false)
            }
            Expr::Present { multiset, slot } => {
                if let Some(found) = self.multiset(multiset) {
                    locals.extend(&found.locals);
                    let mut slot_locals = Locals::default();
                    self.operand(*slot, Sort::Int, &mut slot_locals);
                    self.keeps_result(found.into, &slot_locals);
                    locals.extend(&slot_locals);
                }
                (Sort::Bool, false)
            }
        };
        let facts = Rc::new(Facts {
            sort,
            maybe,
            locals,
        });
        self.facts.insert(id, facts.clone());
        facts
    }

    /// An operand that must be defined and of a sort; returns the sort it has.
    pub(super) fn operand(&mut self, id: ExprId, sort: Sort, locals: &mut Locals) -> Sort {
        let facts = self.expr(id);
        locals.extend(&facts.locals);
        if facts.maybe {
            let message = format!("{id} may be undefined where a value is needed");
            self.error(VerifyErrorKind::Undefined, message);
        }
        if !facts.sort.fits(sort) {
            let message = format!("{id} is {}, not {}", facts.sort.name(), sort.name());
            self.error(VerifyErrorKind::Sort, message);
        }
        facts.sort
    }

    /// A value that may be undefined but must be of a sort; returns what is known about it.
    pub(super) fn passed_on(&mut self, id: ExprId, sort: Sort, locals: &mut Locals) -> Rc<Facts> {
        let facts = self.expr(id);
        locals.extend(&facts.locals);
        if !facts.sort.fits(sort) {
            let message = format!("{id} is {}, not {}", facts.sort.name(), sort.name());
            self.error(VerifyErrorKind::Sort, message);
        }
        facts
    }

    /// A value for a place, parameter or result of a simple type; it may be undefined unless the
    /// type is total.
    pub(super) fn value_for(&mut self, id: ExprId, ty: TypeId, locals: &mut Locals) {
        let sort = self.simple_sort(ty);
        match self.is_total(ty) {
            true => {
                self.operand(id, sort, locals);
            }
            false => {
                self.passed_on(id, sort, locals);
            }
        }
    }

    fn is_total(&self, ty: TypeId) -> bool {
        let simple = self.program.types.simple(ty);
        simple.is_some_and(|simple| simple.is_total)
    }

    fn same_sorts(&mut self, a: Sort, b: Sort) {
        if !a.fits(b) {
            let message = format!("{} meets {}", a.name(), b.name());
            self.error(VerifyErrorKind::Sort, message);
        }
    }

    fn binary(&mut self, op: BinaryOp, left: ExprId, right: ExprId, locals: &mut Locals) -> Sort {
        let (operands, result) = match op {
            BinaryOp::Add
            | BinaryOp::Sub
            | BinaryOp::Mul
            | BinaryOp::Div
            | BinaryOp::Rem
            | BinaryOp::BitAnd
            | BinaryOp::BitOr
            | BinaryOp::BitXor
            | BinaryOp::Shl
            | BinaryOp::Shr => (Sort::Int, Sort::Int),
            BinaryOp::Same => {
                let left = self.passed_on(left, Sort::Any, locals);
                let right = self.passed_on(right, Sort::Any, locals);
                self.same_sorts(left.sort, right.sort);
                return Sort::Bool;
            }
            BinaryOp::Eq | BinaryOp::Ne => (Sort::Any, Sort::Bool),
            BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => (Sort::Int, Sort::Bool),
        };
        let left = self.operand(left, operands, locals);
        let right = self.operand(right, operands, locals);
        if operands == Sort::Any {
            self.same_sorts(left, right);
        }
        result
    }

    /// The domain of a loop or quantifier, with the variable that runs over it.
    pub(super) fn domain(&mut self, var: LocalId, domain: &Domain, locals: &mut Locals) {
        match domain {
            Domain::Type(ty) => self.type_domain(var, *ty),
            Domain::Span { from, to, by } => {
                self.operand(*from, Sort::Int, locals);
                self.operand(*to, Sort::Int, locals);
                match by {
                    By::Constant(0) => self.error(VerifyErrorKind::Type, "a span has a step of 0"),
                    By::Constant(_) | By::Toward => {}
                    By::Step(step) => {
                        self.operand(*step, Sort::Int, locals);
                    }
                }
                let literal = |id: ExprId| match self.program.expr(id) {
                    Expr::Int(value) => Some(*value),
                    _ => None,
                };
                // Only literal bounds allow a variable narrower than all integers.
                let arithmetic = self.program.arithmetic;
                let (lo, hi) = match (literal(*from), literal(*to)) {
                    (Some(from), Some(to)) => (from.min(to), from.max(to)),
                    _ => (arithmetic.min, arithmetic.max),
                };
                self.integer_domain(var, lo, hi);
            }
        }
    }

    /// The arguments of a call, against the parameters.
    pub(super) fn call(&mut self, id: FunctionId, args: &[Arg], locals: &mut Locals) {
        let function = self.program.function(id);
        if self.function.is_some_and(|current| id.index() > current) {
            let message = format!("a function may call itself and earlier ones, not {id}");
            self.error(VerifyErrorKind::Reference, message);
        }
        let n_params = function.params.len();
        if args.len() != n_params || n_params > function.frame.locals.len() {
            let message = format!("{id} takes {n_params} arguments, not {}", args.len());
            self.error(VerifyErrorKind::Call, message);
            return;
        }
        let mut results: Vec<LocalId> = Vec::new();
        let params = function.params.iter().zip(&function.frame.locals);
        for (number, (arg, (mode, local))) in args.iter().zip(params).enumerate() {
            let mut arg_locals = Locals::default();
            let ty = local.kind.ty();
            let is_simple = self.program.types.simple(ty).is_some();
            let mut into = None;
            match (arg, mode) {
                (Arg::Value(value), ParamMode::Value) if is_simple => {
                    self.value_for(*value, ty, &mut arg_locals);
                }
                (Arg::Copy(place), ParamMode::Value) if !is_simple => {
                    let found = self.argument(place, ty, &mut arg_locals);
                    into = found.and_then(|found| found.into);
                }
                (Arg::Ref(place), ParamMode::ConstRef) => {
                    let found = self.argument(place, ty, &mut arg_locals);
                    into = found.and_then(|found| found.into);
                }
                (Arg::Ref(place), ParamMode::Ref) => {
                    if let Some(found) = self.argument(place, ty, &mut arg_locals)
                        && let Some(changed) = self.writable(&found)
                    {
                        arg_locals.changed.insert(changed);
                    }
                }
                _ => {
                    let message = format!("argument {number} of {id} is not passed as declared");
                    self.error(VerifyErrorKind::Call, message);
                }
            }
            for result in &results {
                self.keeps_result(Some(*result), &arg_locals);
            }
            results.extend(into);
            locals.extend(&arg_locals);
        }
    }

    /// An argument that is a place, for a parameter of type `ty`.
    fn argument(&mut self, place: &Place, ty: TypeId, locals: &mut Locals) -> Option<Found> {
        let found = self.place(place)?;
        locals.extend(&found.locals);
        if !self.same_layout(found.ty, ty) {
            let message = format!("{} is passed for {ty}, which has another layout", found.ty);
            self.error(VerifyErrorKind::Place, message);
        }
        Some(found)
    }
}
