//! How a trace is printed.

use crate::Named;

/// How much of a trace is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TraceDetail {
    /// What each step changed.
    #[default]
    Diff,
    /// The whole state after each step.
    Full,
    /// A message sequence chart, for models of processes.
    Chart,
    /// Nothing.
    None,
}

impl Named for TraceDetail {
    const ALL: &'static [Self] = &[
        TraceDetail::Diff,
        TraceDetail::Full,
        TraceDetail::Chart,
        TraceDetail::None,
    ];

    fn name(self) -> &'static str {
        match self {
            TraceDetail::Diff => "diff",
            TraceDetail::Full => "full",
            TraceDetail::Chart => "chart",
            TraceDetail::None => "none",
        }
    }
}
