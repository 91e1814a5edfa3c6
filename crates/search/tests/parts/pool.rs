//! The pool alone: which thread works on which item, and what becomes of a panic.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::ThreadId;
use std::time::Duration;

use hadal_model::Stop;
use hadal_testkit::graph::Graph;

use super::*;
use crate::StoreKind;
use crate::fixture::{keys_for, pool_for};

/// Calls `test` with a pool of each number of threads from 1 to 4, and fails if it does not end.
fn with_pools(test: impl Fn(&Pool<'_>) + Send + 'static) {
    let (running, is_running) = channel::<()>();
    let testing = std::thread::spawn(move || {
        let _running = running;
        let (graph, stop) = (Graph::new(2, &[0], vec![vec![]]), Stop::new());
        let keys = keys_for(&graph, StoreKind::Exact);
        for n_threads in 1..=4 {
            test(&pool_for(&graph, &stop, &keys, n_threads));
        }
    });
    let ended = is_running.recv_timeout(Duration::from_secs(120));
    let is_hung = ended == Err(RecvTimeoutError::Timeout);
    assert!(!is_hung, "some phase does not end");
    if let Err(panic) = testing.join() {
        std::panic::resume_unwind(panic);
    }
}

#[test]
fn every_item_is_worked_on_once_and_each_thread_sees_ascending_items() {
    with_pools(|pool| {
        let n_threads = pool.n_threads();
        for n_items in [0, 1, 2, 3, 10, 1000] {
            let seen: Vec<Mutex<Vec<usize>>> = (0..n_threads).map(|_| Mutex::default()).collect();
            let is_noted = pool.run(|| {
                pool.each_while(
                    0..n_items,
                    |item, worker| lock(&seen[worker.number]).push(item),
                    || true,
                )
            });
            assert!(is_noted, "what is done meanwhile has a result");
            // The phase is over: nothing is added any more.
            let seen: Vec<Vec<usize>> = seen.iter().map(|items| lock(items).clone()).collect();
            for items in &seen {
                assert!(items.is_sorted(), "{items:?}");
            }
            let mut all = seen.concat();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..n_items), "{seen:?}");
        }
    });
}

#[test]
fn items_can_be_changed_in_place() {
    with_pools(|pool| {
        let mut items = vec![0; 100];
        pool.run(|| {
            for _ in 0..50 {
                pool.each(items.iter_mut(), |item, _| *item += 1);
            }
            pool.each_alone(items.iter_mut(), |item, _| *item += 1);
        });
        assert_eq!(items, [51; 100]);
    });
}

#[test]
fn every_thread_has_its_own_worker() {
    with_pools(|pool| {
        let n_threads = pool.n_threads();
        // Phases in quick succession, as in a search, and after a pause in which threads sleep.
        for pause in [Duration::ZERO, Duration::from_millis(30)] {
            pool.run(|| {
                for _ in 0..10 {
                    std::thread::sleep(pause);
                    // No item ends before every thread has one.
                    let barrier = Barrier::new(n_threads);
                    let seen: Mutex<BTreeSet<(usize, String)>> = Mutex::default();
                    pool.each(0..n_threads, |_, worker| {
                        barrier.wait();
                        let thread = format!("{:?}", std::thread::current().id());
                        lock(&seen).insert((worker.number, thread));
                    });
                    let seen = lock(&seen);
                    let numbers = seen.iter().map(|(number, _)| *number);
                    assert!(numbers.eq(0..n_threads), "{seen:?}");
                    let threads: BTreeSet<&String> = seen.iter().map(|(_, id)| id).collect();
                    assert_eq!(threads.len(), n_threads, "{seen:?}");
                }
            });
        }
    });
}

#[test]
fn one_item_stays_on_the_coordinator() {
    with_pools(|pool| {
        let here = || std::thread::current().id();
        for _ in 0..20 {
            pool.run(|| {
                let coordinator: ThreadId = here();
                pool.each_while(
                    std::iter::once(()),
                    |(), _| assert_eq!(here(), coordinator),
                    // Time enough for another thread to take it.
                    || std::thread::sleep(Duration::from_millis(2)),
                );
                pool.each_alone(0..10, |_, _| assert_eq!(here(), coordinator));
            });
        }
    });
}

#[test]
fn the_coordinator_takes_items_after_what_it_does_meanwhile() {
    with_pools(|pool| {
        let here = || std::thread::current().id();
        for n_items in [1, 2, 10, 1000] {
            pool.run(|| {
                let coordinator: ThreadId = here();
                let is_done = AtomicBool::new(false);
                pool.each_while(
                    0..n_items,
                    |_, _| {
                        let is_free = is_done.load(Ordering::Relaxed);
                        assert!(is_free || here() != coordinator);
                    },
                    || {
                        assert_eq!(here(), coordinator);
                        is_done.store(true, Ordering::Relaxed);
                    },
                );
            });
        }
    });
}

#[test]
fn others_work_while_the_coordinator_is_busy() {
    with_pools(|pool| {
        if pool.n_threads() == 1 {
            return;
        }
        let n_done = AtomicUsize::new(0);
        pool.run(|| {
            let work = |_, _: &mut Worker<'_>| {
                n_done.fetch_add(1, Ordering::SeqCst);
            };
            pool.each_while(0..10, work, || {
                while n_done.load(Ordering::SeqCst) < 10 {
                    std::thread::yield_now();
                }
            });
        });
        assert_eq!(n_done.into_inner(), 10);
    });
}

/// The message of a panic in `phase`.
fn panic_of(phase: impl FnOnce()) -> Option<String> {
    let panic = catch_unwind(AssertUnwindSafe(phase)).err()?;
    let message = panic.downcast_ref::<String>().cloned();
    Some(message.unwrap_or_else(|| "another panic".to_owned()))
}

#[test]
fn a_panic_reaches_the_caller_and_nothing_hangs() {
    with_pools(|pool| {
        for n_items in [1, 2, 100] {
            for bad in [0, n_items / 2, n_items - 1] {
                let of_item = panic_of(|| {
                    pool.run(|| {
                        pool.each(0..n_items, |item, _| {
                            assert!(item != bad, "{}", format!("item {item}"));
                        });
                    });
                });
                assert_eq!(of_item, Some(format!("item {bad}")), "of {n_items}");
            }
            if pool.n_threads() > 1 && n_items > 1 {
                // On another thread than the coordinator's, which waits for it.
                let is_taken = AtomicBool::new(false);
                let of_helper = panic_of(|| {
                    pool.run(|| {
                        let work = |_, _: &mut Worker<'_>| {
                            let is_first = !is_taken.swap(true, Ordering::SeqCst);
                            assert!(!is_first, "{}", "helper".to_owned());
                        };
                        pool.each_while(0..n_items, work, || {
                            while !is_taken.load(Ordering::SeqCst) {
                                std::thread::yield_now();
                            }
                        });
                    });
                });
                assert_eq!(of_helper, Some("helper".to_owned()), "of {n_items}");
            }
            let n_done = AtomicUsize::new(0);
            let of_meanwhile = panic_of(|| {
                pool.run(|| {
                    let work = |_, _: &mut Worker<'_>| {
                        n_done.fetch_add(1, Ordering::SeqCst);
                    };
                    pool.each_while(0..n_items, work, || panic!("{}", "meanwhile".to_owned()));
                });
            });
            assert_eq!(of_meanwhile, Some("meanwhile".to_owned()));
            // What was started has ended, and the threads still work.
            let n_before = n_done.load(Ordering::SeqCst);
            let n_after = AtomicUsize::new(0);
            pool.run(|| {
                pool.each(0..n_items, |_, _| {
                    n_after.fetch_add(1, Ordering::SeqCst);
                });
            });
            assert_eq!(n_after.into_inner(), n_items);
            assert_eq!(n_done.into_inner(), n_before);
        }
    });
}
