//! Work on sorted keys, which needs no expander, shared out to threads.

use std::panic::resume_unwind;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::Error;

/// Does `work` for each of `n_items` items on up to `n_threads` threads, this one included, and
/// returns the results in order; the first error if there is one.
pub fn in_parallel<T: Send>(
    n_threads: usize,
    n_items: usize,
    work: impl Fn(usize) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, Error> {
    if n_threads <= 1 || n_items <= 1 {
        return (0..n_items).map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<(usize, Result<T, Error>)>> = Mutex::new(Vec::new());
    let take_items = || {
        loop {
            let item = next.fetch_add(1, Ordering::Relaxed);
            if item >= n_items {
                return;
            }
            let result = work(item);
            let failed = result.is_err();
            results
                .lock()
                .expect("nobody panics while they hold the results")
                .push((item, result));
            if failed {
                next.store(n_items, Ordering::Relaxed);
            }
        }
    };
    std::thread::scope(|scope| {
        let helpers: Vec<_> = (1..n_threads.min(n_items))
            // Where no more threads can be started, fewer do the work.
            .map_while(|_| {
                std::thread::Builder::new()
                    .spawn_scoped(scope, take_items)
                    .ok()
            })
            .collect();
        take_items();
        for helper in helpers {
            helper.join().unwrap_or_else(|panic| resume_unwind(panic));
        }
    });
    let mut results = results
        .into_inner()
        .expect("nobody panics while they hold the results");
    results.sort_by_key(|(item, _)| *item);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::in_parallel;
    use crate::Error;

    #[test]
    fn results_come_in_order_and_the_first_error_counts() {
        for n_threads in [1, 2, 5] {
            let squares = in_parallel(n_threads, 100, |item| Ok(item * item)).unwrap();
            assert!(
                squares
                    .iter()
                    .enumerate()
                    .all(|(item, &s)| s == item * item)
            );
            let failing = in_parallel(n_threads, 100, |item| match item {
                7 => Err(Error::Full { needed: 7 }),
                _ => Ok(item),
            });
            assert!(matches!(failing, Err(Error::Full { needed: 7 })));
        }
    }
}
