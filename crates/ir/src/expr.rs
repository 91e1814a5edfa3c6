//! Expressions and places. Neither can change the state: only statements do, through the
//! functions that expressions may call.
//!
//! Every expression yields an integer, or a truth value (0 or 1). Some may also yield *undefined*:
//! [`Expr::Undefined`], [`Expr::Read`], [`Expr::Call`], and [`Expr::Remap`] and [`Expr::Cond`] of
//! such. Those may stand only where undefined can be passed on (the value of an assignment, an
//! argument, a returned value), as operands of [`BinaryOp::Same`], or under [`Expr::Defined`],
//! which faults on undefined.

use crate::ids::{ExprId, FunctionId, LocalId, MapId, SiteId, TypeId, VarId};

/// An expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expr {
    /// An integer.
    Int(i64),
    /// A truth value.
    Bool(bool),
    /// No value.
    Undefined,
    /// The content of a place of simple type; may be undefined.
    Read(Place),
    /// The value of the operand; a fault where that is undefined.
    Defined(ExprId),
    /// An operation on one value.
    Unary(UnaryOp, ExprId),
    /// An operation on two values, left one evaluated first.
    Binary(BinaryOp, ExprId, ExprId),
    /// True if all are; stops at the first false one.
    And(Vec<ExprId>),
    /// True if one is; stops at the first true one.
    Or(Vec<ExprId>),
    /// The second if the first is true, else the third; the other one is not evaluated. May be
    /// undefined if one of them may.
    Cond(ExprId, ExprId, ExprId),
    /// A quantifier over the values of a domain, in order, stopping as soon as it is decided.
    Quantified {
        /// Which one.
        quantifier: Quantifier,
        /// Holds the value.
        var: LocalId,
        /// The values.
        domain: Domain,
        /// A truth value.
        body: ExprId,
    },
    /// Whether the place of simple type holds no value.
    IsUndefined(Place),
    /// Whether two places of the same layout hold the same bits, undefined being equal to itself.
    /// Both are found before they are compared.
    SameBits(Place, Place),
    /// The value a function returns; it must return a simple type. May be undefined.
    Call {
        /// The function.
        function: FunctionId,
        /// One per parameter.
        args: Vec<Arg>,
    },
    /// The value in another numbering; a range fault where the map has no image. Undefined stays.
    Remap {
        /// The value.
        value: ExprId,
        /// The mapping.
        map: MapId,
    },
    /// Whether the value lies in `lo..=hi`.
    InRange {
        /// The value.
        value: ExprId,
        /// Least value.
        lo: i64,
        /// Greatest value.
        hi: i64,
    },
    /// Whether the slot of the multiset holds an element.
    Present {
        /// The multiset.
        multiset: Place,
        /// The slot, counted from 0.
        slot: ExprId,
    },
}

/// An operation on one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOp {
    /// Integer to integer. Wraps around where integers are
    /// [unsigned](crate::Arithmetic::is_unsigned).
    Neg,
    /// Truth value to truth value.
    Not,
    /// Integer to integer.
    BitNot,
}

/// An operation on two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOp {
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// Product.
    Mul,
    /// Quotient, rounded towards zero.
    Div,
    /// Remainder with the sign of the dividend.
    Rem,
    /// Equal, of two integers or two truth values.
    Eq,
    /// Not equal, of two integers or two truth values.
    Ne,
    /// Equal, of two integers or two truth values that may both be undefined: undefined is equal
    /// to itself and to nothing else.
    Same,
    /// Less.
    Lt,
    /// Less or equal.
    Le,
    /// Greater.
    Gt,
    /// Greater or equal.
    Ge,
    /// Bitwise and of two integers.
    BitAnd,
    /// Bitwise or of two integers.
    BitOr,
    /// Bitwise exclusive or of two integers.
    BitXor,
    /// Shift to the left; a negative count shifts right, a count of 64 or more gives 0.
    Shl,
    /// Arithmetic shift to the right; a negative count shifts left, a count of 64 or more gives 0.
    Shr,
}

impl BinaryOp {
    /// How it is written between its operands.
    pub fn symbol(self) -> &'static str {
        match self {
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::Rem => "%",
            BinaryOp::Eq => "=",
            BinaryOp::Ne => "!=",
            BinaryOp::Same => "same as",
            BinaryOp::Lt => "<",
            BinaryOp::Le => "<=",
            BinaryOp::Gt => ">",
            BinaryOp::Ge => ">=",
            BinaryOp::BitAnd => "&",
            BinaryOp::BitOr => "|",
            BinaryOp::BitXor => "^",
            BinaryOp::Shl => "<<",
            BinaryOp::Shr => ">>",
        }
    }
}

/// A quantifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantifier {
    /// Whether the body is true for all values.
    Forall,
    /// Whether the body is true for some value.
    Exists,
    /// For how many values the body is true.
    Count,
}

/// The values a quantifier or loop runs over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Domain {
    /// All values of a simple type, least first.
    Type(TypeId),
    /// From one value to another, both included.
    Span {
        /// First value.
        from: ExprId,
        /// Bound of the last value.
        to: ExprId,
        /// How to step.
        by: By,
    },
}

/// How a span steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// By a constant other than 0; an empty range has no value.
    Constant(i64),
    /// By one towards the end, upwards or downwards.
    Toward,
    /// By a computed step; a step fault where it is 0 or leads away from the end.
    Step(ExprId),
}

/// Something that can be read or written: a variable, a local, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Where it begins.
    pub root: Root,
    /// How to get from there to the part, outermost first.
    pub path: Vec<Projection>,
}

/// Where a place begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Root {
    /// A state variable.
    Var(VarId),
    /// A local; if it is a reference, what it refers to.
    Local(LocalId),
    /// The aggregate a function returns, kept in the local `into`. Read only.
    Result {
        /// The function.
        function: FunctionId,
        /// One per parameter.
        args: Vec<Arg>,
        /// A value local of the function's result type. Nothing else may write it while the place
        /// is in use.
        into: LocalId,
        /// Where the call stands in the text.
        site: SiteId,
    },
}

/// A step from an aggregate to a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Projection {
    /// The n-th field of a record.
    Field(u32),
    /// The element of an array at this index value, or the slot of a multiset counted from 0.
    /// An index fault where there is none.
    Index(ExprId),
}

/// An argument of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arg {
    /// A simple value for a value parameter; may be undefined.
    Value(ExprId),
    /// An aggregate for a value parameter, copied.
    Copy(Place),
    /// A place for a reference parameter.
    Ref(Place),
}

impl Place {
    /// A whole state variable.
    pub fn var(var: VarId) -> Self {
        Place {
            root: Root::Var(var),
            path: Vec::new(),
        }
    }

    /// A whole local.
    pub fn local(local: LocalId) -> Self {
        Place {
            root: Root::Local(local),
            path: Vec::new(),
        }
    }

    /// The n-th field of this place.
    pub fn field(mut self, field: u32) -> Self {
        self.path.push(Projection::Field(field));
        self
    }

    /// The element of this place at an index.
    pub fn at(mut self, index: ExprId) -> Self {
        self.path.push(Projection::Index(index));
        self
    }
}
