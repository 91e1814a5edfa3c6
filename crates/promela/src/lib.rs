//! The Promela front-end: text to tokens, to a syntax tree, to a checked program, to automata.
//!
//! [`parse`] never fails: it returns a tree of whatever could be parsed, and diagnostics.
//! [`compile`] checks the tree and returns a [`program::Program`], whose processes are
//! [`automaton`]s: what is left to do is to execute them.
//!
//! ```
//! use hadal_promela::{Options, compile};
//! use hadal_syntax::Source;
//!
//! let source = Source::new("toy.pml", "byte x; init { x = 1 }").unwrap();
//! let compiled = compile(source, &Options::default(), &mut |_| None);
//! let program = compiled.program.unwrap();
//! assert_eq!(program.proctypes[0].automaton.points.len(), 2);
//! ```

pub mod ast;
pub mod automaton;
mod check;
mod claims;
mod literal;
pub mod lower;
mod ltl;
mod naming;
mod parser;
mod preprocess;
pub mod print;
pub mod program;
pub mod text;
pub mod token;

pub use check::{Compiled, MAX_INSTANCES, check, compile};
pub use claims::{Asked, asked};
pub use naming::{FixedNames, Naming, NoLeaves, Notes};
pub use parser::{Parsed, parse};
pub use preprocess::{Options, Preprocessed, Reader, preprocess};
pub use text::{Text, TokenSpan};

/// Drives the whole front-end with arbitrary bytes, and verifies the program.
///
/// A fuzz target: whatever the bytes are, it must return, and soon, and a program that it returns
/// must pass the verifier.
pub fn fuzz_compile(bytes: &[u8]) {
    let Ok(source) = hadal_syntax::Source::from_bytes("fuzz.pml", bytes.to_vec()) else {
        return;
    };
    let compiled = compile(source, &Options::default(), &mut |_| None);
    hadal_syntax::Renderer::plain().render_all(&compiled.text.sources, &compiled.diagnostics);
    let Some(program) = &compiled.program else {
        return;
    };
    let (text, options) = (&compiled.text, lower::LowerOptions::default());
    let asked = asked(program);
    let claims = asked.iter().filter_map(|it| it.claim.as_ref().ok());
    let products = claims.map(|it| lower::lower_product(program, it, "claim", text, &options));
    for lowered in std::iter::once(lower::lower(program, text, &options)).chain(products) {
        if let Ok(lowered) = lowered
            && let Err(errors) = hadal_ir::verify::verify(&lowered.ir)
        {
            panic!("{errors:#?}\n{}", String::from_utf8_lossy(bytes));
        }
    }
}
