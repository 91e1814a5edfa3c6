//! What every program must satisfy before anything runs it.
//!
//! Generators rely on all of it and check nothing again: ids that exist, expressions of the right
//! sort, places whose path fits their type, references that are bound and not written through when
//! constant, guards, properties and measures that do not write the state.
//! Errors are data; an error is a defect of the front-end, never of the model.
//!
//! It has three stages, and a stage runs only if the ones before found no error, since it relies
//! on them:
//! - `structure`: every id names something that exists and comes earlier where it must, types and
//!   maps make sense, and nothing is too wide or too deep for walks that recurse.
//! - `frames`: each rule, startstate, property, measure and function on its own, by sort and by
//!   place.
//! - `purity`: what guards, properties, measures and domains may reach through calls.
//!
//! Rules that the tree itself does not imply:
//! - The sort of an index is that of the array's index type: a truth value for arrays over
//!   booleans, an integer for all others and for slots.
//! - Guard and body have nothing in common but the parameters: a reference that both use is bound
//!   in both.
//! - Parameters that are references are never bound again.
//! - `Copy`, as a statement, argument or returned value, is for aggregates; simple values go
//!   through expressions.
//! - A local that holds the result of a call must keep it for as long as the place is in use, so
//!   nothing that is evaluated meanwhile may use the same local for another result.

mod exprs;
mod frames;
mod places;
mod purity;
mod stmts;
mod structure;
#[cfg(test)]
mod tests;

use crate::program::Program;

pub use purity::GuardTest;

/// The deepest expression, counted in operands inside one another.
pub const MAX_EXPR_DEPTH: u32 = 1000;
/// The most statements inside one another.
pub const MAX_STMT_DEPTH: u32 = 200;
/// The most types inside one another.
pub const MAX_TYPE_DEPTH: u32 = 200;
/// The most parts, leaf or aggregate, a variable or local may have.
pub const MAX_TYPE_PARTS: u64 = 1 << 24;

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
    /// A reference that may be used before it is bound, or bound where it must not be.
    Unbound,
    /// A guard, property, measure or domain that may write the state, or does more than it should.
    Impure,
    /// A measure that is not the only one of its kind, or whose name nobody can read.
    Measure,
    /// An `assume` or `cover` statement, or an assertion that goes on, that a guard, property,
    /// measure or domain may reach.
    Assume,
}

/// Checks a whole program and returns every defect that the first failing stage finds.
pub fn verify(program: &Program) -> Result<(), Vec<VerifyError>> {
    for stage in [structure::check, frames::check, purity::check] {
        let mut errors = Vec::new();
        stage(program, &mut errors);
        if !errors.is_empty() {
            return Err(errors);
        }
    }
    Ok(())
}
