//! Threads that go through the phases of a search together.
//!
//! A phase is a job and a number of items; whoever is free takes the next item, and the phase is
//! over when all items are done.
//! The coordinator takes part; a phase of one item it does alone, without waking anyone.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The meeting point of a coordinator and its workers.
pub(crate) struct Crew<J> {
    n_workers: usize,
    phase: Mutex<Phase<J>>,
    begin: Condvar,
    end: Condvar,
    next_item: AtomicUsize,
    /// What a sleeper looks at before it lies down: the number of the phase, and how many workers
    /// have not ended it.
    number: AtomicU64,
    n_working: AtomicUsize,
}

/// How long a thread waits awake before it lies down.
///
/// Being woken takes some ten microseconds; what the coordinator does between two phases takes
/// longer, but seldom very long. So a thread that was woken soon after it lay down waits longer the
/// next time, and one that slept long, perhaps because others use the processor, does not.
struct Patience {
    pauses: usize,
}

/// Looks at the clock are dear; so many pauses take some ten microseconds, or some hundred.
const FEW_PAUSES: usize = 300;
const MANY_PAUSES: usize = 10 * FEW_PAUSES;
const SHORT_SLEEP: Duration = Duration::from_micros(150);

impl Patience {
    fn new() -> Self {
        Patience {
            pauses: MANY_PAUSES,
        }
    }

    /// Waits for a condition a little while, awake.
    fn wait(&self, is_met: impl Fn() -> bool) {
        for _ in 0..self.pauses {
            if is_met() {
                return;
            }
            std::hint::spin_loop();
        }
    }

    /// Notes when a thread lay down that is awake again.
    fn slept(&mut self, since: Instant) {
        self.pauses = match since.elapsed() < SHORT_SLEEP {
            true => MANY_PAUSES,
            false => FEW_PAUSES,
        };
    }
}

struct Phase<J> {
    /// Counts phases, so that a worker sees each once.
    number: u64,
    job: Option<J>,
    n_items: usize,
    dismissed: bool,
    panic: Option<Box<dyn Any + Send>>,
}

impl<J: Copy> Crew<J> {
    /// A crew of a coordinator and `n_workers` others.
    pub(crate) fn new(n_workers: usize) -> Self {
        Crew {
            n_workers,
            phase: Mutex::new(Phase {
                number: 0,
                job: None,
                n_items: 0,
                dismissed: false,
                panic: None,
            }),
            begin: Condvar::new(),
            end: Condvar::new(),
            next_item: AtomicUsize::new(0),
            number: AtomicU64::new(0),
            n_working: AtomicUsize::new(0),
        }
    }

    /// Helps until the crew is dismissed.
    pub(crate) fn help(&self, mut work: impl FnMut(J, usize)) {
        let mut seen = 0;
        let mut patience = Patience::new();
        loop {
            patience.wait(|| self.number.load(Ordering::Relaxed) != seen);
            let (job, n_items) = {
                let mut phase = self.lock();
                if phase.number == seen && !phase.dismissed {
                    let since = Instant::now();
                    phase = self
                        .begin
                        .wait_while(phase, |phase| phase.number == seen && !phase.dismissed)
                        .unwrap_or_else(PoisonError::into_inner);
                    patience.slept(since);
                }
                match phase.job {
                    Some(job) if !phase.dismissed => {
                        seen = phase.number;
                        (job, phase.n_items)
                    }
                    _ => return,
                }
            };
            // A worker that vanished would leave the coordinator waiting for ever.
            let result = catch_unwind(AssertUnwindSafe(|| {
                self.take_items(n_items, |item| work(job, item));
            }));
            let mut phase = self.lock();
            if let Err(panic) = result {
                phase.panic.get_or_insert(panic);
            }
            if self.n_working.fetch_sub(1, Ordering::Relaxed) == 1 {
                self.end.notify_one();
            }
        }
    }

    /// Does all items of a phase; `meanwhile` is done by the coordinator first, while the workers
    /// are at work already.
    pub(crate) fn run(
        &self,
        job: J,
        n_items: usize,
        alone: bool,
        meanwhile: impl FnOnce(),
        mut work: impl FnMut(J, usize),
    ) {
        if n_items <= 1 || alone || self.n_workers == 0 {
            meanwhile();
            (0..n_items).for_each(|item| work(job, item));
            return;
        }
        {
            let mut phase = self.lock();
            self.next_item.store(0, Ordering::Relaxed);
            phase.number += 1;
            phase.job = Some(job);
            phase.n_items = n_items;
            self.n_working.store(self.n_workers, Ordering::Relaxed);
            self.number.store(phase.number, Ordering::Relaxed);
            self.begin.notify_all();
        }
        meanwhile();
        self.take_items(n_items, |item| work(job, item));
        let is_over = || self.n_working.load(Ordering::Relaxed) == 0;
        // The others end about now, or else their item is a long one.
        Patience::new().wait(is_over);
        // The lock orders what the workers did before what comes now.
        let mut phase = self
            .end
            .wait_while(self.lock(), |_| !is_over())
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(panic) = phase.panic.take() {
            drop(phase);
            resume_unwind(panic);
        }
    }

    /// Sends the workers home when the guard is dropped, also by a panic.
    pub(crate) fn dismiss_at_end(&self) -> impl Drop + '_ {
        struct Guard<'a, J: Copy>(&'a Crew<J>);
        impl<J: Copy> Drop for Guard<'_, J> {
            fn drop(&mut self) {
                self.0.lock().dismissed = true;
                self.0.begin.notify_all();
            }
        }
        Guard(self)
    }

    fn take_items(&self, n_items: usize, mut work: impl FnMut(usize)) {
        loop {
            let item = self.next_item.fetch_add(1, Ordering::Relaxed);
            if item >= n_items {
                return;
            }
            work(item);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Phase<J>> {
        // Nothing is left half done under this lock, so a panic elsewhere does not matter.
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::Crew;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn every_item_is_done_once() {
        let crew = &Crew::new(3);
        let done: Vec<AtomicUsize> = (0..100).map(|_| AtomicUsize::new(0)).collect();
        let work = |job: usize, item: usize| {
            done[item].fetch_add(job, Ordering::Relaxed);
        };
        std::thread::scope(|scope| {
            let _dismiss = crew.dismiss_at_end();
            for _ in 0..3 {
                scope.spawn(move || crew.help(work));
            }
            for n_items in [0, 1, 2, 100] {
                for _ in 0..50 {
                    crew.run(n_items + 1, n_items, false, || (), work);
                }
            }
        });
        let expected = |item| 50 * (101 + 3 * usize::from(item < 2) + 2 * usize::from(item < 1));
        for (item, done) in done.iter().enumerate() {
            assert_eq!(done.load(Ordering::Relaxed), expected(item));
        }
    }

    #[test]
    #[should_panic(expected = "item 7")]
    fn a_panic_of_a_worker_reaches_the_coordinator() {
        let crew = &Crew::new(2);
        let coordinator = std::thread::current().id();
        std::thread::scope(|scope| {
            let _dismiss = crew.dismiss_at_end();
            let work = |(), item: usize| {
                if item == 7 {
                    panic!("item 7");
                }
                // The coordinator is slow, so that a worker comes to the item.
                if std::thread::current().id() == coordinator {
                    std::thread::sleep(std::time::Duration::from_millis(50));
                }
            };
            for _ in 0..2 {
                scope.spawn(move || crew.help(work));
            }
            crew.run((), 100, false, || (), work);
        });
    }
}
