//! I/O statistics of a folder, and its limit.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::medium::Disk;
use crate::Error;

/// I/O statistics of a folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Bytes read, padding included.
    pub read_bytes: u64,
    /// Bytes written, padding included.
    pub written_bytes: u64,
    /// Length of all files together.
    pub disk_bytes: u64,
    /// The peak of `disk_bytes`.
    pub peak_disk_bytes: u64,
    /// Time that callers have waited for the disk, summed over threads.
    pub waited: Duration,
}

/// Why there was no room for a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The limit of the folder.
    Limit,
    /// What the device had free is kept for others.
    Reserve {
        /// Bytes that the device had free.
        free_bytes: u64,
        /// Bytes that are kept free.
        reserve_bytes: u64,
    },
}

#[derive(Debug, Default)]
pub(crate) struct Usage {
    refusal: Mutex<Option<Refusal>>,
    read_bytes: AtomicU64,
    written_bytes: AtomicU64,
    disk_bytes: AtomicU64,
    peak_disk_bytes: AtomicU64,
    waited_nanos: AtomicU64,
    /// Free bytes of the device, by its last answer less what was claimed with it; zero before it
    /// was asked.
    noted_free: AtomicU64,
    limit_bytes: u64,
}

impl Usage {
    /// Starts with `disk_bytes` used, of at most `limit_bytes`.
    pub(crate) fn new(disk_bytes: u64, limit_bytes: u64) -> Self {
        Self {
            disk_bytes: disk_bytes.into(),
            peak_disk_bytes: disk_bytes.into(),
            limit_bytes,
            ..Self::default()
        }
    }

    /// Claims room for `bytes` more, of which the device keeps `reserve_bytes` free.
    pub(crate) fn grow(
        &self,
        bytes: u64,
        disk: &dyn Disk,
        reserve_bytes: u64,
    ) -> Result<(), Error> {
        let full = Error::Full { needed: bytes };
        // A disk that cannot report what is free still reports when it is full.
        if bytes > 0
            && let Ok(free) = self.ask_free(disk)
        {
            if free < bytes.saturating_add(reserve_bytes) {
                self.note_refusal(Refusal::Reserve {
                    free_bytes: free,
                    reserve_bytes,
                });
                return Err(full);
            }
            self.noted_free.fetch_min(free - bytes, Relaxed);
        }
        let claim = |now: u64| {
            now.checked_add(bytes)
                .filter(|&then| bytes == 0 || then <= self.limit_bytes)
        };
        match self.disk_bytes.fetch_update(Relaxed, Relaxed, claim) {
            Ok(before) => {
                self.peak_disk_bytes.fetch_max(before + bytes, Relaxed);
                Ok(())
            }
            Err(_) => {
                self.note_refusal(Refusal::Limit);
                Err(full)
            }
        }
    }

    /// Records why there is no room.
    pub(crate) fn note_refusal(&self, refusal: Refusal) {
        let mut last = self.refusal.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some(refusal);
    }

    /// Why a write was last refused, unless the device did it.
    pub(crate) fn refusal(&self) -> Option<Refusal> {
        *self.refusal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Free bytes of the device; asks it.
    pub(crate) fn ask_free(&self, disk: &dyn Disk) -> io::Result<u64> {
        let free = disk.free_bytes()?;
        self.noted_free.store(free, Relaxed);
        Ok(free)
    }

    /// Free bytes of the device when it was last asked, less those claimed then.
    pub(crate) fn noted_free(&self) -> u64 {
        self.noted_free.load(Relaxed)
    }

    /// Bytes that the limit still allows.
    pub(crate) fn allowed_bytes(&self) -> u64 {
        self.limit_bytes
            .saturating_sub(self.disk_bytes.load(Relaxed))
    }

    pub(crate) fn shrink(&self, bytes: u64) {
        self.disk_bytes.fetch_sub(bytes, Relaxed);
    }

    pub(crate) fn count_read(&self, bytes: usize) {
        self.read_bytes.fetch_add(bytes as u64, Relaxed);
    }

    pub(crate) fn count_written(&self, bytes: usize) {
        self.written_bytes.fetch_add(bytes as u64, Relaxed);
    }

    /// Measures the time of something that waits for the disk.
    pub(crate) fn waiting<T>(&self, wait: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let value = wait();
        let nanos = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.waited_nanos.fetch_add(nanos, Relaxed);
        value
    }

    pub(crate) fn statistics(&self) -> Statistics {
        Statistics {
            read_bytes: self.read_bytes.load(Relaxed),
            written_bytes: self.written_bytes.load(Relaxed),
            disk_bytes: self.disk_bytes.load(Relaxed),
            peak_disk_bytes: self.peak_disk_bytes.load(Relaxed),
            waited: Duration::from_nanos(self.waited_nanos.load(Relaxed)),
        }
    }
}
