//! What work on graphs may use: memory, threads, a folder for scratch files.

use std::path::PathBuf;

use hadal_model::Stop;

use crate::Counts;
use crate::progress::{Gauge, Stage};

/// What work on graphs may use. Nothing here changes a result, unless the work ends for want of it.
#[derive(Clone, Debug)]
pub struct Resources<'a> {
    /// Bytes that the data may take.
    pub memory_bytes: u64,
    /// Threads that work.
    pub threads: usize,
    /// Where scratch files lie while they are needed.
    pub scratch: PathBuf,
    /// What is free there for work that can do with less memory.
    pub scratch_bytes: u64,
    /// Polled by everything that takes long.
    pub stop: &'a Stop,
    /// Where work is counted, if someone looks.
    pub gauge: Option<&'a Gauge>,
}

impl<'a> Resources<'a> {
    /// One thread, 256 MiB and the system's folder for scratch files.
    pub fn new(stop: &'a Stop) -> Self {
        Resources {
            memory_bytes: 256 << 20,
            threads: 1,
            scratch: std::env::temp_dir(),
            scratch_bytes: u64::MAX,
            stop,
            gauge: None,
        }
    }

    /// Begins a stage that passes over `total` edges or states.
    pub(crate) fn begin(&self, stage: Stage, total: u64) {
        if let Some(gauge) = self.gauge {
            gauge.begin(stage, total);
        }
    }

    /// Counts what is done of the stage.
    pub(crate) fn note(&self, n: u64) {
        if let Some(gauge) = self.gauge {
            gauge.add(n);
        }
    }

    /// What is held in memory before it goes to a scratch file.
    pub(crate) fn spool_bytes(&self) -> usize {
        usize::try_from(self.memory_bytes / 8).unwrap_or(usize::MAX)
    }

    /// What a cache of decoded blocks may hold.
    pub(crate) fn cache_bytes(&self) -> u64 {
        self.memory_bytes / 4
    }

    /// The same with other memory.
    pub(crate) fn with_memory(&self, memory_bytes: u64) -> Self {
        Resources {
            memory_bytes,
            ..self.clone()
        }
    }

    /// Whether `edge_bytes` of scratch space are free for each edge of a graph and `state_bytes` for
    /// each state.
    pub(crate) fn has_scratch(&self, of: Counts, edge_bytes: u64, state_bytes: u64) -> bool {
        let edges = of.n_edges.saturating_mul(edge_bytes);
        let states = of.n_states.saturating_mul(state_bytes);
        edges.saturating_add(states) <= self.scratch_bytes
    }

    /// An error if `needed` bytes are more than allowed.
    pub(crate) fn require(&self, what: &'static str, needed: u64) -> Result<(), crate::Error> {
        match needed > self.memory_bytes {
            true => Err(crate::Error::Memory {
                what,
                needed,
                limit: self.memory_bytes,
            }),
            false => Ok(()),
        }
    }

    /// An error if a stop was requested.
    pub(crate) fn poll(&self) -> Result<(), crate::Error> {
        match self.stop.is_raised() {
            true => Err(crate::Error::Stopped),
            false => Ok(()),
        }
    }
}
