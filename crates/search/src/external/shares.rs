//! Who gets how much of the memory there is.

use hadal_store::Keep;

/// Bytes for each of those that share the budget once states are on disk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shares {
    /// The set of recent keys.
    pub(crate) set: u64,
    /// Keys of candidates that are dealt out to buckets.
    pub(crate) hands: u64,
    /// Putting buckets in order.
    pub(crate) sort: u64,
    /// Records of states to be expanded.
    pub(crate) frontier: u64,
    /// Records of candidates.
    pub(crate) candidates: u64,
    /// Runs that are not worth a file yet.
    pub(crate) runs: u64,
    /// Candidates that are looked for at once, on all threads together.
    pub(crate) batch: u64,
}

impl Shares {
    /// Shares out `bytes`. A small set finds most of what a large one does. Hands need the most where
    /// there is little; where there is much, what they leave is lent to runs, in which a key takes a
    /// quarter of the bytes that it takes in the set.
    pub(crate) fn of(bytes: u64) -> Self {
        let part = |share: u64| bytes / 32 * share;
        Shares {
            set: part(6),
            hands: part(16),
            sort: part(3),
            frontier: part(2),
            candidates: part(2),
            runs: part(1),
            batch: part(2),
        }
    }
}

/// What a log keeps in memory that has a share of `bytes`, if what is written shall survive a crash or
/// not.
pub(crate) fn keep(bytes: u64, durable: bool) -> Keep {
    match durable {
        true => Keep::BytesAndWrite(bytes),
        false => Keep::Bytes(bytes),
    }
}

/// While everything is in memory, so much of the budget is left free: by then keys must be put in
/// order.
pub(crate) fn sort_reserve(memory_bytes: u64) -> u64 {
    memory_bytes / 8
}
