//! Progress of a running search, for whoever watches it.

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
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
    /// Bytes on the disk.
    pub disk_bytes: u64,
    /// What is being done.
    pub work: Work,
    /// Percentage of that which is done, where it is not expanding.
    pub work_percent: u32,
}

/// What a search is doing at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Work {
    /// States of the rank are expanded.
    #[default]
    Expanding,
    /// Candidates are resolved.
    Resolving,
    /// Runs are merged.
    Merging,
    /// Keys in memory are sorted and written to runs.
    Flushing,
    /// The targets of all edges get their ordinals.
    Joining,
    /// The graph is passed on.
    Writing,
    /// Edges are sorted by target, for liveness.
    Sorting,
    /// Edges are followed back from the goals of liveness.
    Following,
}

impl Work {
    const ALL: [Work; 8] = [
        Work::Expanding,
        Work::Resolving,
        Work::Merging,
        Work::Flushing,
        Work::Joining,
        Work::Writing,
        Work::Sorting,
        Work::Following,
    ];
}

/// Watches a search.
///
/// Called on the thread that called [`check`](crate::check), about five times a second and at the
/// end of each layer (then `frontier_done` equals `frontier`). The search does not wait for it.
pub trait Observer {
    /// Receives the progress of the search.
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
    /// Number of the work in [`Work::ALL`], how much of it is done, and of how much.
    work: AtomicU8,
    worked: AtomicU64,
    to_be_worked: AtomicU64,
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
            work: AtomicU8::new(0),
            worked: AtomicU64::new(0),
            to_be_worked: AtomicU64::new(0),
        }
    }

    pub(crate) fn begin_rank(&self, layer: u32, frontier: u64) {
        self.layer.store(layer, Ordering::Relaxed);
        self.frontier.store(frontier, Ordering::Relaxed);
        self.frontier_done.store(0, Ordering::Relaxed);
    }

    pub(crate) fn note_expanded(&self, n_states: usize, transitions: u64) {
        self.frontier_done
            .fetch_add(n_states as u64, Ordering::Relaxed);
        self.transitions.store(transitions, Ordering::Relaxed);
    }

    pub(crate) fn note_window(&self, states: u64, data_bytes: u64, disk_bytes: u64) {
        self.states.store(states, Ordering::Relaxed);
        self.data_bytes.store(data_bytes, Ordering::Relaxed);
        self.disk_bytes.store(disk_bytes, Ordering::Relaxed);
    }

    /// States of the layer that is being expanded.
    pub(crate) fn frontier(&self) -> u64 {
        self.frontier.load(Ordering::Relaxed)
    }

    /// Notes that something other than expanding is done: `worked` of `to_be_worked` things of it.
    pub(crate) fn begin_work(&self, work: Work, worked: u64, to_be_worked: u64) {
        self.worked.store(worked, Ordering::Relaxed);
        self.to_be_worked.store(to_be_worked, Ordering::Relaxed);
        self.work.store(work as u8, Ordering::Relaxed);
    }

    /// Notes that `n` more of these things are done.
    pub(crate) fn note_worked(&self, n: u64) {
        self.worked.fetch_add(n, Ordering::Relaxed);
    }

    /// Notes that `n` candidates are promoted or dropped: the second half of resolving.
    pub(crate) fn note_resolved(&self, n: u64) {
        let half = self.to_be_worked.load(Ordering::Relaxed) / 2;
        self.worked.store(half + n, Ordering::Relaxed);
    }

    /// Notes that states are expanded again.
    pub(crate) fn end_work(&self) {
        self.begin_work(Work::Expanding, 0, 0);
    }

    pub(crate) fn seconds(&self) -> f64 {
        self.since.elapsed().as_secs_f64()
    }

    pub(crate) fn read(&self) -> Progress {
        let work = usize::from(self.work.load(Ordering::Relaxed));
        let worked = self.worked.load(Ordering::Relaxed);
        let to_be_worked = self.to_be_worked.load(Ordering::Relaxed);
        let percent = worked.saturating_mul(100).checked_div(to_be_worked);
        Progress {
            work: Work::ALL.get(work).copied().unwrap_or_default(),
            work_percent: percent.unwrap_or(0).min(100) as u32,
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
