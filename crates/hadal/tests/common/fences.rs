//! Models in the documentation: fenced blocks, whose words say what a run must give.

use serde_json::Value;

use super::root;

/// A fenced block of a document.
pub struct Block<'a> {
    /// The document, and the line where it begins there.
    pub at: String,
    /// What follows the language.
    pub words: Vec<&'a str>,
    pub text: String,
}

/// The blocks fenced as a language.
fn blocks<'a>(language: &str, name: &str, document: &'a str) -> Vec<Block<'a>> {
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
        if words.next() == Some(language) {
            let words = words.collect();
            let at = format!("{name}:{line}");
            found.push(Block { at, words, text });
        }
    }
    found
}

impl Block<'_> {
    pub fn has(&self, word: &str) -> bool {
        self.words.contains(&word)
    }

    /// Compares fields of a run record with what is written.
    pub fn hold(&self, record: &Value, expected: &[(&str, &str)]) {
        for &(key, value) in expected {
            let found = match key {
                "kind" => &record["violations"][0]["kind"],
                _ => &record[key],
            };
            let found = match found {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            assert_eq!(found, value, "{}: {key}", self.at);
        }
    }
}

/// The field of the run record that a word is about, with its value.
pub fn expectation(word: &str) -> Option<(&str, &str)> {
    match word {
        "verified" | "violated" | "incomplete" | "rejected" => Some(("verdict", word)),
        _ => word
            .split_once('=')
            .filter(|(key, _)| ["states", "transitions", "kind"].contains(key)),
    }
}

/// Checks the blocks of a document. Fewer than `n_min` of them means that they are not found.
pub fn check_document(language: &str, name: &str, n_min: usize, check: impl Fn(&Block<'_>)) {
    let document = std::fs::read_to_string(root().join(name)).expect("it is there");
    let blocks = blocks(language, name, &document);
    let checked = blocks.iter().filter(|block| !block.has("fragment"));
    assert!(
        checked.clone().count() >= n_min,
        "{name}: only {} blocks are checked",
        checked.count()
    );
    checked.for_each(check);
}
