//! The checker and the lowering, from the outside: text in, messages, programs and behaviour out.

mod behaviour;
mod dialects;
mod lowering;
mod messages;
mod models;
mod removed_elements;
mod robust;
mod rumur_numbers;
mod undefined_elements;

use hadal_murphi::{Compiled, Dialect, Options, compile};
use hadal_syntax::{Renderer, Source};

/// Compiles a text in a dialect.
fn compile_in(text: &str, dialect: Dialect) -> (Source, Compiled) {
    let source = Source::new("test.m", text).unwrap();
    let options = Options {
        dialect,
        ..Options::default()
    };
    let compiled = compile(&source, &options);
    if let Some(program) = &compiled.program
        && let Err(errors) = hadal_ir::verify::verify(program)
    {
        panic!("{dialect}: {errors:#?}\n{text}");
    }
    (source, compiled)
}

/// The rendered messages about a text.
fn rendered(text: &str, dialect: Dialect) -> String {
    let (source, compiled) = compile_in(text, dialect);
    let all = compiled.diagnostics.iter().chain(&compiled.symmetry_breaks);
    let mut text = Renderer::plain().render_all(&source, all);
    for message in &compiled.unused_overrides {
        text += &format!("{message}\n");
    }
    text
}
