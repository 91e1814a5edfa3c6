//! The Murphi front-end: text to tokens, to a syntax tree, to a checked tree, to guarded
//! commands.
//!
//! [`parse`] never fails: it returns a tree of whatever could be understood, and diagnostics.
//!
//! ```
//! use hadal_murphi::{Dialect, parse};
//! use hadal_syntax::Source;
//!
//! let source = Source::new("toy.m", "var x: 0..3; startstate x := 0; end;").unwrap();
//! let parsed = parse(&source, Dialect::Hadal);
//! assert!(parsed.diagnostics.is_empty());
//! assert_eq!(parsed.model.items.len(), 2);
//! ```

pub mod ast;
mod dialect;
mod parser;

pub use dialect::{Dialect, StringEscapes, TypeEquivalence, UnknownDialect};
pub use parser::{Parsed, parse};
