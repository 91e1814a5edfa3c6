//! The parser, from the outside: text in, canonical text and messages out.

mod corpus;
mod grammar;
mod precedence;
mod print;
mod recovery;
mod robust;
mod words;

use hadal_murphi::{Dialect, Parsed, parse};
use hadal_syntax::{Renderer, Source};

/// Parses a text in a dialect.
fn parse_in(text: &str, dialect: Dialect) -> (Source, Parsed) {
    let source = Source::new("test.m", text).unwrap();
    let parsed = parse(&source, dialect);
    (source, parsed)
}

/// The canonical form of a text, and the short form of its diagnostics.
fn outcome(text: &str, dialect: Dialect) -> String {
    let (source, parsed) = parse_in(text, dialect);
    let mut out = print::model(&parsed.model);
    for diagnostic in &parsed.diagnostics {
        let position = source.position(diagnostic.span().start);
        let severity = if diagnostic.is_error() {
            "error"
        } else {
            "warning"
        };
        out += &format!("{severity} {position}: {}\n", diagnostic.message);
    }
    out
}

/// The rendered messages about a text.
fn messages(text: &str, dialect: Dialect) -> String {
    let (source, parsed) = parse_in(text, dialect);
    Renderer::plain().render_all(&source, &parsed.diagnostics)
}
