//! Work on many items at once: the last long test of a binary would else leave processors idle.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Works on all items, on every processor. The results are in the order of the items.
pub fn on_all<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let run = || {
        let mut results = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else {
                return results;
            };
            results.push((at, work(item)));
        }
    };
    let n_threads = std::thread::available_parallelism().map_or(2, usize::from);
    let mut results = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..n_threads).map(|_| scope.spawn(run)).collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        let joined = joined.map(|results| results.unwrap_or_else(|panic| resume_unwind(panic)));
        joined.flatten().collect::<Vec<(usize, R)>>()
    });
    results.sort_by_key(|&(at, _)| at);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::on_all;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        let items: Vec<u32> = (0..1000).collect();
        let squares: Vec<u32> = items.iter().map(|item| item * item).collect();
        assert_eq!(on_all(&items, |item| item * item), squares);
        assert!(on_all(&[], |item: &u32| *item).is_empty());
    }

    #[test]
    #[should_panic(expected = "item 7")]
    fn a_panic_reaches_the_caller() {
        let items: Vec<u32> = (0..20).collect();
        on_all(&items, |item| assert!(*item != 7, "item {item}"));
    }
}
