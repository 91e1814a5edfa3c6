//! How far a running search is, for whoever watches it.

/// A moment of a running search.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// Depth of the states being expanded.
    pub layer: u32,
    /// How many states that layer has.
    pub frontier: u64,
    /// How many of them are expanded.
    pub frontier_done: u64,
    /// Distinct states found so far.
    pub states: u64,
    /// Rule firings so far.
    pub transitions: u64,
    /// Wall clock since the search began.
    pub seconds: f64,
    /// Memory held by table, states, parents and buffers.
    pub data_bytes: u64,
}

/// Someone who watches a search.
///
/// Called on the thread that called [`check`](crate::check), about five times a second and at the
/// end of each layer (then `frontier_done` equals `frontier`). The search does not wait for it.
pub trait Observer {
    /// Takes note of how far the search is.
    fn progress(&mut self, progress: &Progress);
}

impl<F: FnMut(&Progress)> Observer for F {
    fn progress(&mut self, progress: &Progress) {
        self(progress);
    }
}

/// An [`Observer`] that looks away.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn progress(&mut self, _: &Progress) {}
}
