//! The Promela models in the guide do what is written beside them.
//!
//! Every block fenced as `promela` is checked. The words after it say with which result:
//!
//! - `verified`, `violated`, `incomplete`, `rejected`: the verdict;
//! - `states=N`, `transitions=N`, `kind=K`: what the run record has, `kind` being that of the first
//!   violation;
//! - `fragment`: a piece of a model, which is not checked.

use crate::common::fences::{Block, check_document, expectation};

/// Checks a block as its words say. Unknown words are mistakes, and so is no word at all.
fn check(block: &Block<'_>) {
    let expected: Vec<_> = (block.words.iter())
        .map(|word| expectation(word).unwrap_or_else(|| panic!("{}: `{word}`?", block.at)))
        .collect();
    assert!(!expected.is_empty(), "{}: no result is named", block.at);
    let flags = ["--language", "promela", "--threads", "2", "--json", "-"];
    block.hold(
        &crate::common::check_text(&block.text, &flags).record(),
        &expected,
    );
}

#[test]
fn the_models_of_the_guide_do_what_is_written() {
    check_document("promela", "docs/guide/promela.md", 2, check);
}
