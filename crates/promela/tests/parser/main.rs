//! Preprocessor and parser, from the outside: text in, canonical text and messages out.

mod corpus;

use hadal_promela::{Options, Parsed, parse};
use hadal_syntax::{Renderer, Source};

/// Parses a text that includes no files.
fn parse_text(text: &str) -> Parsed {
    let source = Source::new("test.pml", text).unwrap();
    parse(source, &Options::default(), &mut |_| None)
}

/// The rendered messages about a text.
fn rendered(parsed: &Parsed) -> String {
    Renderer::plain().render_all(&parsed.text.sources, &parsed.diagnostics)
}
