//! Native code for models: the whole intermediate representation, compiled in process.
//!
//! [`Native`] is a [`Model`](hadal_model::Model) like the interpreter and must agree with it on
//! every state: the same successors in the same order, the same counts, the same faults.
//! It owns an interpreter of the same program, and asks it for everything that people read:
//! names of states and steps, and what exactly went wrong where native code found that something
//! did.
//!
//! - [`analysis`]: analyses before lowering.
//! - [`lower`]: from the tree to Cranelift's code, one function per rule.
//! - [`compile`]: all functions, in parallel, to executable memory.
//! - [`size`]: which parts of a program are too large for native code.
//! - [`selectors`]: which rules are called at a state, and for which values of their first parameters.
//! - [`driver`]: the [`Expander`](hadal_model::Expander).
//! - [`call`]: all unsafe code.

mod analysis;
#[expect(unsafe_code, reason = "native code is called here, and nowhere else")]
mod call;
mod compile;
mod driver;
mod lower;
mod selectors;
mod size;
mod unit;

pub use compile::{Error, Native};
pub use size::Budget;
