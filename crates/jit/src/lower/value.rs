//! Values during lowering: what is in a register and what is known about it.

use cranelift_codegen::ir::Value;

use crate::unit::Simple;

/// The value of an expression.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Val {
    /// A truth value, 0 or 1 in eight bits.
    Bool(Value),
    /// An integer.
    Int(Int),
    /// Something that may be undefined, as it is kept in registers.
    Raw(Raw),
    /// Undefined for sure.
    Undefined,
}

/// An integer: the 64 bits of `base` plus `add`, wrapping around.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Int {
    pub(crate) base: Value,
    pub(crate) add: i64,
    /// Least and greatest value according to types.
    pub(crate) lo: i64,
    pub(crate) hi: i64,
    /// Whether the range holds even if the state is malformed.
    pub(crate) trusted: bool,
}

/// A value as it is kept in registers; see [`Simple::offset`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Raw {
    pub(crate) raw: Value,
    pub(crate) simple: Simple,
    /// Whether there is a value for sure.
    pub(crate) defined: bool,
}

impl Int {
    /// The range in a form that does not overflow.
    pub(crate) fn range(self) -> (i128, i128) {
        (i128::from(self.lo), i128::from(self.hi))
    }

    /// The value, if there is only one.
    pub(crate) fn constant(self) -> Option<i64> {
        (self.trusted && self.lo == self.hi).then_some(self.lo)
    }
}
