//! How far a running search is, for whoever watches it.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Instant;

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
    /// Bytes that lie on the disk.
    pub disk_bytes: u64,
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

/// What the coordinator writes and the watching thread reads. The numbers need not fit together
/// to the last state.
#[derive(Debug)]
pub(crate) struct Gauge {
    since: Instant,
    layer: AtomicU32,
    frontier: AtomicU64,
    frontier_done: AtomicU64,
    states: AtomicU64,
    transitions: AtomicU64,
    data_bytes: AtomicU64,
    disk_bytes: AtomicU64,
}

impl Gauge {
    pub(crate) fn new() -> Self {
        Gauge {
            since: Instant::now(),
            layer: AtomicU32::new(0),
            frontier: AtomicU64::new(0),
            frontier_done: AtomicU64::new(0),
            states: AtomicU64::new(0),
            transitions: AtomicU64::new(0),
            data_bytes: AtomicU64::new(0),
            disk_bytes: AtomicU64::new(0),
        }
    }

    pub(crate) fn begin_layer(&self, layer: u32, frontier: u64) {
        self.layer.store(layer, Ordering::Relaxed);
        self.frontier.store(frontier, Ordering::Relaxed);
        self.frontier_done.store(0, Ordering::Relaxed);
    }

    pub(crate) fn note_expanded(&self, n_states: usize, transitions: u64) {
        self.frontier_done
            .fetch_add(n_states as u64, Ordering::Relaxed);
        self.transitions.store(transitions, Ordering::Relaxed);
    }

    pub(crate) fn note_round(&self, states: u64, data_bytes: u64, disk_bytes: u64) {
        self.states.store(states, Ordering::Relaxed);
        self.data_bytes.store(data_bytes, Ordering::Relaxed);
        self.disk_bytes.store(disk_bytes, Ordering::Relaxed);
    }

    pub(crate) fn seconds(&self) -> f64 {
        self.since.elapsed().as_secs_f64()
    }

    pub(crate) fn read(&self) -> Progress {
        Progress {
            layer: self.layer.load(Ordering::Relaxed),
            frontier: self.frontier.load(Ordering::Relaxed),
            frontier_done: self.frontier_done.load(Ordering::Relaxed),
            states: self.states.load(Ordering::Relaxed),
            transitions: self.transitions.load(Ordering::Relaxed),
            seconds: self.seconds(),
            data_bytes: self.data_bytes.load(Ordering::Relaxed),
            disk_bytes: self.disk_bytes.load(Ordering::Relaxed),
        }
    }
}
