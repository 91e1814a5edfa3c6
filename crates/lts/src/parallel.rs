//! Items on several threads, until one fails.

use std::sync::{Mutex, PoisonError};

use crate::Error;

/// Passes each item to `work`, on up to `threads` threads that take the next item when they are
/// done with one. The first error ends it. `scratch` makes what a thread reuses from item to item.
pub(crate) fn for_each<T: Send, S>(
    threads: usize,
    items: Vec<T>,
    scratch: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, T) -> Result<(), Error> + Sync,
) -> Result<(), Error> {
    let threads = threads.min(items.len());
    if threads <= 1 {
        let mut own = scratch();
        return items.into_iter().try_for_each(|item| work(&mut own, item));
    }
    let queue = Mutex::new(items.into_iter());
    let failure = Mutex::new(None);
    let run = || {
        let mut own = scratch();
        loop {
            let next = lock(&queue).next();
            let Some(item) = next else { break };
            if let Err(error) = work(&mut own, item) {
                lock(&failure).get_or_insert(error);
                // Nobody begins another item.
                lock(&queue).by_ref().for_each(drop);
                break;
            }
        }
    };
    std::thread::scope(|scope| {
        (1..threads).for_each(|_| {
            scope.spawn(run);
        });
        run();
    });
    match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

/// Locks; what a thread that panicked has left is not used, for its panic goes on.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
