//! The text form: S-expressions that print and parse without loss.
//!
//! Expressions are lines of one table, by number, exactly as the program holds them, so that ids
//! and sites survive; comments beside statements and guards show the same in infix form.
//! The grammar is in `docs/reference/ir.md`.

mod infix;
mod items;
mod parse;
mod print;
mod sexpr;

pub use parse::{TextError, parse};
pub use print::print;

#[cfg(test)]
mod tests;
