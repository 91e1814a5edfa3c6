//! What external storage refers to.

use hadal_model::{Shape, Stop};
use hadal_store::disk::Folder;
use hadal_store::key_space::KeySpace;
use hadal_store::tiers::{Monitor, RunContext, RunWork};
use hadal_store::{QueueDisk, Retention};

use crate::budget::{Shares, retention};
use crate::progress::{Gauge, Work};

/// What all parts of external storage refer to.
#[derive(Clone, Copy)]
pub(crate) struct DiskContext<'a> {
    pub(crate) shape: &'a Shape,
    pub(crate) folder: &'a Folder,
    pub(crate) keys: &'a KeySpace,
    pub(crate) n_threads: usize,
    /// Whether what is written must survive a crash.
    pub(crate) durable: bool,
    /// Whether states stay in the log after their expansion, because the graph needs them.
    pub(crate) keeps_log: bool,
    /// Memory of each part.
    pub(crate) shares: Shares,
    pub(crate) monitor: &'a RunMonitor<'a>,
}

impl<'a> DiskContext<'a> {
    /// What work on runs refers to.
    pub(crate) fn runs(&self) -> RunContext<'a> {
        RunContext {
            folder: self.folder,
            layouts: self.keys.layouts(),
            n_threads: self.n_threads,
            durable: self.durable,
            run_bytes: self.shares.runs,
            bucket_bytes: self.shares.buckets,
            monitor: self.monitor,
        }
    }

    /// What the log of states keeps in memory, of `bytes`.
    pub(crate) fn state_retention(&self, bytes: u64) -> Retention {
        // What is kept after its expansion leaves memory then.
        retention(bytes, self.durable || self.keeps_log)
    }

    /// Where the candidates of open ranks go.
    pub(crate) fn open_ranks(&self) -> QueueDisk {
        QueueDisk {
            folder: self.folder.clone(),
            memory_bytes: self.shares.open_ranks(),
            is_durable: self.durable,
        }
    }

    pub(crate) fn stop(&self) -> &'a Stop {
        self.monitor.stop
    }

    pub(crate) fn gauge(&self) -> &'a Gauge {
        self.monitor.gauge
    }

    /// Whether the disk, or what may be used of it, will soon be full.
    pub(crate) fn is_nearly_full(&self) -> bool {
        is_nearly_full(self.folder)
    }
}

/// Watches work on runs: it ends with the search, and is reported as progress.
pub(crate) struct RunMonitor<'a> {
    pub(crate) stop: &'a Stop,
    pub(crate) gauge: &'a Gauge,
}

impl Monitor for RunMonitor<'_> {
    fn is_stopped(&self) -> bool {
        self.stop.is_raised()
    }

    fn begin(&self, work: RunWork, done: u64, total: u64) {
        let work = match work {
            RunWork::Merging => Work::Merging,
            RunWork::Flushing => Work::Flushing,
        };
        self.gauge.begin_work(work, done, total);
    }

    fn advance(&self, n_keys: u64) {
        self.gauge.note_worked(n_keys);
    }

    fn end(&self) {
        self.gauge.end_work();
    }
}

/// Divisor: of the bytes in use this part should be free as well.
const FREE_SHARE: u64 = 8;

/// Whether the disk of `folder`, or what may be used of it, will soon be full.
pub(crate) fn is_nearly_full(folder: &Folder) -> bool {
    let used = folder.statistics().disk_bytes;
    !folder.has_free(used / FREE_SHARE)
}
