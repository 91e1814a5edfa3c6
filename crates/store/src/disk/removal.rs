//! Deleting files in the background.
//!
//! A file system frees the blocks of a file when its name is removed and its last handle closed,
//! and the later of the two waits for that. So a thread does both. A file counts as used until it
//! is gone; a write that finds no room waits for the thread before it fails. An error is kept for
//! the next call that deletes something.
//! Without a thread files are deleted by the caller, so that tests that stop at each operation on
//! the disk see them in one order.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use super::medium::{Disk, DiskFile};
use super::usage::Usage;

/// A file to be deleted.
pub(crate) struct PendingRemoval {
    pub(crate) name: String,
    /// Its length, claimed bytes included.
    pub(crate) len: Arc<AtomicU64>,
    /// Held if others may have it open, so that they do not close it last.
    pub(crate) file: Option<Arc<dyn DiskFile>>,
}

/// Deletes files.
pub(crate) struct Remover {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    disk: Arc<dyn Disk>,
    usage: Arc<Usage>,
    state: Mutex<State>,
    /// The queue has a file, or is closed.
    called: Condvar,
    /// The queue is empty and the thread idle.
    idle: Condvar,
    /// Files deleted so far.
    n_gone: AtomicU64,
}

#[derive(Default)]
struct State {
    queue: Vec<PendingRemoval>,
    /// Whether the thread is deleting a file.
    is_busy: bool,
    /// Whether there is a thread.
    has_thread: bool,
    is_ending: bool,
    failures: Vec<(PendingRemoval, io::Error)>,
}

impl Remover {
    /// With a thread.
    pub(crate) fn start(disk: Arc<dyn Disk>, usage: Arc<Usage>) -> io::Result<Self> {
        let mut remover = Self::none(disk, usage);
        remover.shared.state().has_thread = true;
        let shared = Arc::clone(&remover.shared);
        let thread = thread::Builder::new()
            .name("disk-delete".to_owned())
            .stack_size(256 << 10)
            .spawn(move || {
                // If the thread panics, those who wait for it do the rest.
                let _ended = Ended(&shared);
                while let Some(pending) = shared.next() {
                    shared.remove_all(pending);
                }
            })?;
        remover.thread = Some(thread);
        Ok(remover)
    }

    /// Without a thread: the caller deletes files.
    pub(crate) fn none(disk: Arc<dyn Disk>, usage: Arc<Usage>) -> Self {
        let shared = Shared {
            disk,
            usage,
            state: Mutex::default(),
            called: Condvar::new(),
            idle: Condvar::new(),
            n_gone: AtomicU64::new(0),
        };
        Self {
            shared: Arc::new(shared),
            thread: None,
        }
    }

    /// Queues files for deletion, in this order.
    pub(crate) fn remove(&self, mut pending: Vec<PendingRemoval>) {
        let mut state = self.shared.state();
        if state.has_thread {
            state.queue.append(&mut pending);
            self.shared.called.notify_one();
        } else {
            drop(state);
            self.shared.remove_all(pending);
        }
    }

    /// Returns when all queued files are gone, or have failed to go.
    pub(crate) fn wait(&self) {
        let mut state = self.shared.state();
        while state.has_thread && (state.is_busy || !state.queue.is_empty()) {
            let woken = self.shared.idle.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
        let left = std::mem::take(&mut state.queue);
        drop(state);
        self.shared.remove_all(left);
    }

    /// Files deleted so far.
    pub(crate) fn n_gone(&self) -> u64 {
        self.shared.n_gone.load(Relaxed)
    }

    /// Files that could not be deleted since the last call, in order.
    pub(crate) fn take_failures(&self) -> Vec<(PendingRemoval, io::Error)> {
        std::mem::take(&mut self.shared.state().failures)
    }
}

impl Drop for Remover {
    fn drop(&mut self) {
        self.shared.state().is_ending = true;
        self.shared.called.notify_one();
        if let Some(thread) = self.thread.take() {
            // The rest of a thread that panicked is done below.
            let _ = thread.join();
        }
        self.wait();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next file for the thread; `None` when the queue is empty and closed.
    fn next(&self) -> Option<Vec<PendingRemoval>> {
        let mut state = self.state();
        state.is_busy = false;
        if state.queue.is_empty() {
            self.idle.notify_all();
        }
        while state.queue.is_empty() {
            if state.is_ending {
                return None;
            }
            let woken = self.called.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
        state.is_busy = true;
        Some(std::mem::take(&mut state.queue))
    }

    fn remove_all(&self, pending: Vec<PendingRemoval>) {
        for mut pending in pending {
            match self.disk.remove(&pending.name) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    self.state().failures.push((pending, error));
                }
                _ => {
                    pending.file = None;
                    self.usage.shrink(pending.len.load(Relaxed));
                    self.n_gone.fetch_add(1, Relaxed);
                }
            }
        }
    }
}

/// Notifies those who wait that the thread is gone.
struct Ended<'a>(&'a Shared);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.has_thread = false;
        state.is_busy = false;
        self.0.idle.notify_all();
    }
}

#[cfg(test)]
mod tests;
