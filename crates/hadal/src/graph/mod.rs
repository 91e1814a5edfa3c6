//! The state graph of a model as a file: a labelled transition system in `.aut`, `.hlts` or `.dot`.
//!
//! A [`GraphOutput`] is the file and how it is written; its [`GraphWriter`] receives the graph from a
//! search ([`Check::graph`](crate::Check::graph)). The file appears under its name when
//! [`GraphOutput::save`] is called after the search, and only if every state was visited, so a
//! partial graph never looks complete.
//!
//! States have their ordinals as numbers, and edges come in the order of their sources and of the steps
//! that the model makes there, so the file is the same, byte for byte, for any number of threads, any
//! budget, and whether or not the search was interrupted. Steps that have the same label and lead to
//! the same state are one edge, whose multiplicity is the sum of theirs.
//! A model with several startstates gets a state more: state 0, from which an edge leads to each of
//! them, and all others count from 1.

mod labels;
mod output;
mod writer;

use serde::{Deserialize, Serialize};

use crate::names::{self, Named};

pub(crate) use output::LABEL_BYTES;
pub use output::{GraphOutput, WrittenGraph};
pub use writer::GraphWriter;

/// How a graph is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphOptions {
    /// What edges are called.
    #[serde(with = "names")]
    pub labels: LabelDetail,
    /// What is invisible: labels, or rules whatever their parameters. Their edges have the first of
    /// these names.
    pub tau: Vec<String>,
    /// Whether an `.hlts` file has the packed states as values.
    pub values: bool,
}

impl Default for GraphOptions {
    fn default() -> Self {
        GraphOptions {
            labels: LabelDetail::default(),
            tau: vec!["i".to_owned(), "tau".to_owned()],
            values: false,
        }
    }
}

/// What edges are called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LabelDetail {
    /// The rule.
    #[default]
    Rule,
    /// The rule with its parameters. Steps are evaluated once more by the reference generator.
    Full,
    /// Nothing: all edges are invisible.
    None,
}

impl Named for LabelDetail {
    const ALL: &'static [Self] = &[LabelDetail::Rule, LabelDetail::Full, LabelDetail::None];

    fn name(self) -> &'static str {
        match self {
            LabelDetail::Rule => "rule",
            LabelDetail::Full => "full",
            LabelDetail::None => "none",
        }
    }
}

/// A graph that a resumable run was started for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AskedOutput {
    /// The file.
    pub(crate) output: String,
    pub(crate) options: GraphOptions,
}
