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

mod common;

use hadal_murphi::{Compiled, Dialect, Options, compile};
use hadal_syntax::{Diagnostic, Renderer, Source};

/// A fenced block of a document.
struct Block<'a> {
    /// The document, and the line where it begins there.
    at: String,
    /// What follows `murphi`.
    words: Vec<&'a str>,
    text: String,
}

/// The blocks fenced as `murphi`.
fn blocks<'a>(name: &str, document: &'a str) -> Vec<Block<'a>> {
    let mut found = Vec::new();
    let mut lines = document.lines().zip(1..);
    while let Some((opening, line)) = lines.next() {
        let Some(info) = opening.strip_prefix("```") else {
            continue;
        };
        let mut text = String::new();
        loop {
            let (content, _) = lines
                .next()
                .unwrap_or_else(|| panic!("{name}:{line}: this block is never closed"));
            if content == "```" {
                break;
            }
            text.push_str(content);
            text.push('\n');
        }
        let mut words = info.split_whitespace();
        if words.next() == Some("murphi") {
            let words = words.collect();
            let at = format!("{name}:{line}");
            found.push(Block { at, words, text });
        }
    }
    found
}

impl Block<'_> {
    fn has(&self, word: &str) -> bool {
        self.words.contains(&word)
    }

    /// The dialect, and the fields expected in the run record. Unknown words are mistakes.
    fn read_words(&self) -> (Dialect, Vec<(&str, &str)>) {
        let mut dialect = Dialect::Hadal;
        let mut expected = Vec::new();
        for &word in &self.words {
            match word {
                "error" | "fragment" => {}
                "verified" | "violated" | "incomplete" | "rejected" => {
                    expected.push(("verdict", word))
                }
                _ => match (word.parse(), word.split_once('=')) {
                    (Ok(named), _) => dialect = named,
                    (_, Some((key @ ("states" | "transitions" | "kind"), value))) => {
                        expected.push((key, value));
                    }
                    _ => panic!("{}: unknown word `{word}`", self.at),
                },
            }
        }
        (dialect, expected)
    }

    /// Everything that would keep `hadal check` from searching.
    fn errors(&self, dialect: Dialect) -> String {
        let source = Source::new(self.at.as_str(), self.text.as_str()).expect("a block is small");
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

    /// Checks the block as its words say.
    fn check(&self) {
        let at = &self.at;
        let (dialect, expected) = self.read_words();
        let errors = self.errors(dialect);
        if self.has("error") {
            assert!(!errors.is_empty(), "{at}: there is no error");
            assert!(expected.is_empty(), "{at}: an error is no run");
            return;
        }
        assert!(errors.is_empty(), "{at}:\n{errors}");
        if expected.is_empty() {
            return;
        }
        let flags = ["--dialect", dialect.name(), "--threads", "2", "--json", "-"];
        let record = common::check_text(&self.text, &flags).record();
        for (key, value) in expected {
            let found = match key {
                "kind" => &record["violations"][0]["kind"],
                _ => &record[key],
            };
            let found = match found {
                serde_json::Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            assert_eq!(found, value, "{at}: {key}");
        }
    }
}

/// Checks the blocks of a document. Fewer than `n_min` of them means that they are not found.
fn check_document(name: &str, n_min: usize) {
    let document = std::fs::read_to_string(common::root().join(name)).expect("it is there");
    let blocks = blocks(name, &document);
    let checked = blocks.iter().filter(|block| !block.has("fragment"));
    assert!(
        checked.clone().count() >= n_min,
        "{name}: only {} blocks are checked",
        checked.count()
    );
    for block in checked {
        block.check();
    }
}

#[test]
fn the_models_of_the_reference_do_what_is_written() {
    check_document("docs/reference/murphi.md", 20);
}

#[test]
fn the_models_of_the_guide_do_what_is_written() {
    check_document("docs/guide/first-model.md", 1);
    check_document("docs/guide/symmetry.md", 2);
}
