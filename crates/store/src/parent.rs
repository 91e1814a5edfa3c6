//! How a state was found, in two numbers, by which a run to that state is found again.

/// How a state was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parent {
    /// Ordinal of the parent.
    pub ordinal: u64,
    /// Index of the state in the parent's expansion.
    pub index: u32,
}
