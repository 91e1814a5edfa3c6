//! Preprocessor and parser, from the outside: text in, canonical text and messages out.

mod corpus;
mod grammar;
mod messages;
mod preprocess;
mod robust;

use hadal_promela::{Options, Parsed, parse, print};
use hadal_syntax::{Renderer, Source};

/// Parses a text that includes no files.
fn parse_text(text: &str) -> Parsed {
    let source = Source::new("test.pml", text).unwrap();
    parse(source, &Options::default(), &mut |_| None)
}

/// The canonical form of a text, and the short form of its diagnostics.
fn outcome(parsed: &Parsed) -> String {
    let mut out = print::model(&parsed.model);
    for diagnostic in &parsed.diagnostics {
        let place = parsed.text.describe(diagnostic.span().start);
        let severity = match diagnostic.is_error() {
            true => "error",
            false => "warning",
        };
        out += &format!("{severity} {place}: {}\n", diagnostic.message);
    }
    out
}

/// The rendered messages about a text.
fn rendered(parsed: &Parsed) -> String {
    Renderer::plain().render_all(&parsed.text.sources, &parsed.diagnostics)
}
