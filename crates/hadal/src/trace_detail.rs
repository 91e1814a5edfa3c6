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
    /// Nothing.
    None,
}

impl Named for TraceDetail {
    const ALL: &'static [Self] = &[TraceDetail::Diff, TraceDetail::Full, TraceDetail::None];

    fn name(self) -> &'static str {
        match self {
            TraceDetail::Diff => "diff",
            TraceDetail::Full => "full",
            TraceDetail::None => "none",
        }
    }
}
