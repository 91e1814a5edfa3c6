//! How a state was found, in two numbers, by which a run to that state is found again.

/// How a state was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parent {
    /// Ordinal of the parent, or [`START`](Self::START).
    pub ordinal: u64,
    /// Index of the state in the parent's expansion.
    pub index: u32,
}

impl Parent {
    /// Stands for the parent of a startstate. Its distance to the first state is 1, modulo 2^64.
    pub const START: u64 = u64::MAX;
}
