//! Runs whose keys have an older layout.
//!
//! When fields of keys become wider, runs that are written already stay as they are. The order of
//! keys does not depend on the widths, so such a run can still be probed and merged, with keys
//! translated.

use super::Run;

/// Translates keys from one layout to another, preserving their order.
pub trait Recode: Sync {
    /// Writes the translation of `key` to `out`; false if the other layout cannot express it.
    fn recode(&self, key: &[u64], out: &mut [u64]) -> bool;
}

/// How to translate between the newest layout and that of a run.
#[derive(Clone, Copy)]
pub struct Older<'a> {
    /// From the newest layout to the run's; what it cannot express is not in the run.
    pub from_newest: &'a dyn Recode,
    /// From the run's layout to the newest, which can express all.
    pub to_newest: &'a dyn Recode,
    /// Words of a key of the newest layout.
    pub n_words: usize,
}

/// A run, and how its keys are translated if they are not of the newest layout.
#[derive(Clone, Copy)]
pub struct Versioned<'a> {
    /// The run.
    pub run: &'a Run,
    /// `None` if the run has the newest layout.
    pub older: Option<Older<'a>>,
}

impl<'a> From<&'a Run> for Versioned<'a> {
    fn from(run: &'a Run) -> Self {
        Versioned { run, older: None }
    }
}
