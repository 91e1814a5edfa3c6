//! The Murphi front-end: text to tokens, to a syntax tree, to a checked tree, to guarded
//! commands.
//!
//! [`parse`] never fails: it returns a tree of whatever could be parsed, and diagnostics.
//! [`compile`] checks the tree and lowers it to a program.
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

use hadal_syntax::{Renderer, Source};

pub mod ast;
mod check;
mod dialect;
mod lexer;
mod literal;
mod parser;
mod token;

pub use check::{Compiled, Options, compile, compile_until};
pub use dialect::{Dialect, StringEscapes, TypeEquivalence, UnknownDialect};
pub use parser::{Parsed, parse};

/// Drives the parser and the renderer with arbitrary bytes, in every dialect.
///
/// A fuzz target: whatever the bytes are, it must return, and soon.
pub fn fuzz_parse(bytes: &[u8]) {
    let Ok(source) = Source::from_bytes("fuzz.m", bytes.to_vec()) else {
        return;
    };
    for dialect in Dialect::ALL {
        let parsed = parse(&source, dialect);
        Renderer::plain().render_all(&source, &parsed.diagnostics);
    }
}

/// Drives the whole front-end with arbitrary bytes, in every dialect, and verifies the program.
///
/// A fuzz target: whatever the bytes are, it must return, and soon, and a program that it returns
/// must pass the verifier.
pub fn fuzz_compile(bytes: &[u8]) {
    let Ok(source) = Source::from_bytes("fuzz.m", bytes.to_vec()) else {
        return;
    };
    for dialect in Dialect::ALL {
        let options = Options {
            dialect,
            ..Options::default()
        };
        let compiled = compile(&source, &options);
        Renderer::plain().render_all(&source, &compiled.diagnostics);
        Renderer::plain().render_all(&source, &compiled.symmetry_breaks);
        if let Some(program) = compiled.program
            && let Err(errors) = hadal_ir::verify::verify(&program)
        {
            panic!("{dialect}: {errors:#?}\n{}", source.text());
        }
    }
}
