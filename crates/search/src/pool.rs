//! The threads of a search.
//!
//! A phase is a closure and the items it is called with. Threads take items in order, one at a
//! time, so that each thread sees ascending items; the phase ends when all items are done. The
//! coordinator takes part. A phase of one item stays on the coordinator: waking another thread takes
//! longer than most items.
//!
//! Phases follow each other within some ten microseconds, and waking a thread takes longer than that.
//! So a thread that has finished its part of a phase lingers: it polls for the next phase a little
//! while before it sleeps.

use std::cell::Cell;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder, Yield};

use crate::Error;
use crate::worker::Worker;

/// Threads, each with its own [`Worker`].
pub(crate) struct Pool<'m> {
    threads: ThreadPool,
    workers: Vec<Mutex<Worker<'m>>>,
}

impl<'m> Pool<'m> {
    /// A pool of `n_threads` threads whose workers `worker` makes.
    pub(crate) fn new(
        n_threads: usize,
        stack_bytes: usize,
        worker: impl Fn(usize) -> Worker<'m>,
    ) -> Result<Self, Error> {
        let n_threads = n_threads.max(1);
        let threads = ThreadPoolBuilder::new()
            .num_threads(n_threads)
            .stack_size(stack_bytes)
            .thread_name(|number| format!("worker {number}"))
            .build()
            .map_err(|error| Error::Thread(std::io::Error::other(error)))?;
        Ok(Pool {
            threads,
            workers: (0..n_threads).map(|n| Mutex::new(worker(n))).collect(),
        })
    }

    /// Runs `coordinate` on a thread of the pool. All phases must be started from there.
    pub(crate) fn run<R: Send>(&self, coordinate: impl FnOnce() -> R + Send) -> R {
        self.threads.install(|| {
            ROLE.set(Role::Coordinator);
            let result = coordinate();
            ROLE.set(Role::Helper);
            result
        })
    }

    /// Number of threads.
    pub(crate) fn n_threads(&self) -> usize {
        self.workers.len()
    }

    /// Calls `work` with every item and with the worker of the thread that took it.
    pub(crate) fn each<T: Send>(
        &self,
        items: impl ExactSizeIterator<Item = T> + Send,
        work: impl Fn(T, &mut Worker<'m>) + Sync,
    ) {
        self.each_while(items, work, || ());
    }

    /// As [`each`](Self::each); the coordinator does `meanwhile` first, then takes items too.
    pub(crate) fn each_while<T: Send, R>(
        &self,
        items: impl ExactSizeIterator<Item = T> + Send,
        work: impl Fn(T, &mut Worker<'m>) + Sync,
        meanwhile: impl FnOnce() -> R,
    ) -> R {
        let n_helpers = self.n_threads().min(items.len()).saturating_sub(1);
        if n_helpers == 0 {
            let result = meanwhile();
            self.each_alone(items, work);
            return result;
        }
        let items = Mutex::new(items);
        let take_items = || {
            let worker = &mut *self.worker();
            loop {
                // The lock must be free before the item is worked on.
                let item = lock(&items).next();
                match item {
                    Some(item) => work(item, worker),
                    None => return,
                }
            }
        };
        self.threads.in_place_scope(|scope| {
            for _ in 0..n_helpers {
                scope.spawn(|_| {
                    take_items();
                    if ROLE.get() == Role::Helper {
                        rayon::spawn(linger);
                    }
                });
            }
            let result = meanwhile();
            take_items();
            result
        })
    }

    /// As [`each`](Self::each), on the coordinator alone.
    pub(crate) fn each_alone<T>(
        &self,
        items: impl Iterator<Item = T>,
        work: impl Fn(T, &mut Worker<'m>),
    ) {
        let worker = &mut *self.worker();
        items.for_each(|item| work(item, worker));
    }

    fn worker(&self) -> MutexGuard<'_, Worker<'m>> {
        let number = self.threads.current_thread_index();
        lock(&self.workers[number.expect("phases are started and run on threads of the pool")])
    }
}

/// What a thread of the pool is doing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Coordinator,
    Helper,
    /// A helper that polls for the next phase, or works on it.
    Lingering,
}

thread_local! {
    static ROLE: Cell<Role> = const { Cell::new(Role::Helper) };
}

/// Polls without work before a helper sleeps: some hundred microseconds.
const MOST_POLLS: u32 = 2000;

/// Polls for the next phase.
fn linger() {
    // The coordinator may have taken this job from a helper.
    if ROLE.get() != Role::Helper {
        return;
    }
    ROLE.set(Role::Lingering);
    let mut n_polls = 0;
    while n_polls < MOST_POLLS {
        match rayon::yield_now() {
            Some(Yield::Executed) => n_polls = 0,
            _ => n_polls += 1,
        }
        std::hint::spin_loop();
    }
    ROLE.set(Role::Helper);
}

/// A panic of a phase reaches the coordinator and ends the search; what a lock protects is not used
/// after that.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "../tests/parts/pool.rs"]
mod tests;
