//! The models in the language reference and in the guide do what is written beside them.
//!
//! Every block fenced as `murphi` in these pages is compiled. The words after it say how, and with
//! which result:
//!
//! - `hadal`, `cmurphi`, `rumur`: the dialect; `hadal` where none is named;
//! - `error`: the model is rejected, by the front-end or because it breaks a symmetry it declares;
//! - `fragment`: a piece of a model, which is not compiled;
//! - `verified`, `violated`, `incomplete`, `rejected`: the model is checked, with this verdict;
//! - `states=N`, `transitions=N`, `kind=K`: what the run record has, `kind` being that of the first
//!   violation.

use crate::common::fences::{Block, check_document, expectation};
use hadal_murphi::{Compiled, Dialect, Options, compile};
use hadal_syntax::{Diagnostic, Renderer, Source};

/// The dialect, and the fields expected in the run record. Unknown words are mistakes.
fn read_words<'a>(block: &Block<'a>) -> (Dialect, Vec<(&'a str, &'a str)>) {
    let mut dialect = Dialect::Hadal;
    let mut expected = Vec::new();
    for &word in &block.words {
        match (word, word.parse(), expectation(word)) {
            ("error" | "fragment", ..) => {}
            (_, Ok(named), _) => dialect = named,
            (_, _, Some(field)) => expected.push(field),
            _ => panic!("{}: unknown word `{word}`", block.at),
        }
    }
    (dialect, expected)
}

/// Everything that would keep `hadal check` from searching.
fn errors(block: &Block<'_>, dialect: Dialect) -> String {
    let source = Source::new(block.at.as_str(), block.text.as_str()).expect("a block is small");
    let options = Options {
        dialect,
        ..Options::default()
    };
    let Compiled {
        diagnostics,
        symmetry_breaks,
        ..
    } = compile(&source, &options);
    let all = diagnostics.into_iter().chain(symmetry_breaks);
    let errors: Vec<Diagnostic> = all.filter(Diagnostic::is_error).collect();
    Renderer::plain().render_all(&source, &errors)
}

/// Checks a block as its words say.
fn check(block: &Block<'_>) {
    let at = &block.at;
    let (dialect, expected) = read_words(block);
    let errors = errors(block, dialect);
    if block.has("error") {
        assert!(!errors.is_empty(), "{at}: there is no error");
        assert!(expected.is_empty(), "{at}: an error is no run");
        return;
    }
    assert!(errors.is_empty(), "{at}:\n{errors}");
    if expected.is_empty() {
        return;
    }
    let flags = ["--dialect", dialect.name(), "--threads", "2", "--json", "-"];
    block.hold(
        &crate::common::check_text(&block.text, &flags).record(),
        &expected,
    );
}

#[test]
fn the_models_of_the_reference_do_what_is_written() {
    check_document("murphi", "docs/reference/murphi.md", 20, check);
}

#[test]
fn the_models_of_the_guide_do_what_is_written() {
    check_document("murphi", "docs/guide/first-model.md", 1, check);
    check_document("murphi", "docs/guide/symmetry.md", 2, check);
}
