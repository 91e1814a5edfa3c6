//! The checker, from the outside: text in, messages or automata out.

mod automata;
mod messages;
mod values;

use hadal_promela::{Compiled, Options, compile};
use hadal_syntax::Source;

/// Compiles a text that includes no files.
fn compile_text(text: &str) -> Compiled {
    let source = Source::new("test.pml", text).unwrap();
    compile(source, &Options::default(), &mut |_| None)
}
