//! Files go while the search goes on.
//!
//! A file system frees the blocks of a file when its name is gone and nobody has it open any more,
//! and whoever does the last of the two waits for that. So a thread does both. What is to go takes
//! room until it is gone and counts until then; whoever finds no room waits for the thread before
//! they say so. An error is kept for the next one who has something to do with deleting.
//! Without a thread files are deleted where they are handed in, so that tests that stop at each
//! operation on the disk find them in one order.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use super::medium::{Disk, DiskFile};
use super::usage::Usage;

/// A file that is to go.
pub(crate) struct Doomed {
    pub(crate) name: String,
    /// Its length, as far as it is claimed.
    pub(crate) len: Arc<AtomicU64>,
    /// Held if someone else may have it open, so that they are not the last.
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
    /// There is something to do for the thread, or nothing ever more.
    called: Condvar,
    /// Nothing is left to do.
    idle: Condvar,
    /// Files deleted so far.
    n_gone: AtomicU64,
}

#[derive(Default)]
struct State {
    queue: Vec<Doomed>,
    /// Whether the thread is at work on what it took from the queue.
    is_busy: bool,
    /// Whether there is a thread that takes what is queued.
    has_thread: bool,
    is_ending: bool,
    failures: Vec<(Doomed, io::Error)>,
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
                // A thread that panics leaves the rest to those who wait for it.
                let _ended = Ended(&shared);
                while let Some(doomed) = shared.next() {
                    shared.remove_all(doomed);
                }
            })?;
        remover.thread = Some(thread);
        Ok(remover)
    }

    /// Without: whoever hands a file in deletes it.
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

    /// Takes files to delete, in this order.
    pub(crate) fn remove(&self, mut doomed: Vec<Doomed>) {
        let mut state = self.shared.state();
        if state.has_thread {
            state.queue.append(&mut doomed);
            self.shared.called.notify_one();
        } else {
            drop(state);
            self.shared.remove_all(doomed);
        }
    }

    /// Returns when all that was handed in is gone, or has failed to go.
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

    /// What could not be deleted since this was last asked, in order.
    pub(crate) fn take_failures(&self) -> Vec<(Doomed, io::Error)> {
        std::mem::take(&mut self.shared.state().failures)
    }
}

impl Drop for Remover {
    fn drop(&mut self) {
        self.shared.state().is_ending = true;
        self.shared.called.notify_one();
        if let Some(thread) = self.thread.take() {
            // What a thread that panicked has left is done below.
            let _ = thread.join();
        }
        self.wait();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the thread does next; `None` when all is done and nothing more will come.
    fn next(&self) -> Option<Vec<Doomed>> {
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

    fn remove_all(&self, doomed: Vec<Doomed>) {
        for mut doomed in doomed {
            match self.disk.remove(&doomed.name) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    self.state().failures.push((doomed, error));
                }
                _ => {
                    doomed.file = None;
                    self.usage.shrink(doomed.len.load(Relaxed));
                    self.n_gone.fetch_add(1, Relaxed);
                }
            }
        }
    }
}

/// Tells those who wait that there is no thread any more.
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
