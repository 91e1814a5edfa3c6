//! Watching a search: starting its thread, stopping it, passing its progress to the observer.
//!
//! The calling thread watches. It forwards a raised stop flag or a passed deadline to the search,
//! and progress to the observer. The search runs on a thread of its own, whose stack the options
//! fix. Every search is started here.

use std::fmt;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

use hadal_model::Stop;

use crate::progress::Gauge;
use crate::{Error, Observer, Options, Progress, Reason};

/// A limit on the memory of the whole process, and how to measure it.
///
/// A strategy's budget is for its own data. Where the process as a whole must stay within a limit,
/// someone has to measure it; nothing in this crate knows how an operating system counts.
#[derive(Clone, Copy)]
pub struct ProcessLimit {
    /// The search stops with [`Reason::Memory`] beyond this.
    pub most_bytes: u64,
    /// What the process holds now.
    pub held_bytes: fn() -> u64,
}

impl fmt::Debug for ProcessLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.most_bytes)
    }
}

impl PartialEq for ProcessLimit {
    /// Compares the limits; functions have no equality.
    fn eq(&self, other: &Self) -> bool {
        self.most_bytes == other.most_bytes
    }
}

impl Eq for ProcessLimit {}

/// The search's side of the watch.
#[derive(Clone)]
pub(crate) struct Watched<'a> {
    pub(crate) limits: &'a Limits,
    pub(crate) gauge: &'a Gauge,
    /// Progress at the end of each rank.
    pub(crate) ended_ranks: SyncSender<Progress>,
}

/// Runs `search` on a thread of its own and watches it until it returns. The flag `stop` is only
/// read.
pub(crate) fn watched<T: Send>(
    options: &Options,
    stop: &Stop,
    observer: &mut dyn Observer,
    search: impl FnOnce(Watched<'_>) -> Result<T, Error> + Send,
) -> Result<T, Error> {
    let (gauge, limits) = (Gauge::new(), Limits::default());
    std::thread::scope(|scope| {
        let (ended_ranks, receiver) = sync_channel(RANKS_AHEAD);
        let watched = Watched {
            limits: &limits,
            gauge: &gauge,
            ended_ranks,
        };
        if let Some(limit) = options.process_limit {
            let limits = &limits;
            Builder::new()
                .name("memory".to_owned())
                .spawn_scoped(scope, move || limits.guard_memory(limit))
                .map_err(Error::Thread)?;
        }
        let searching = Builder::new()
            .name("search".to_owned())
            .stack_size(options.stack_bytes)
            .spawn_scoped(scope, move || search(watched))
            // The memory guard waits for the flag.
            .inspect_err(|_| limits.stop.raise())
            .map_err(Error::Thread)?;
        watch(options, stop, &limits, &gauge, &receiver, observer);
        searching
            .join()
            .unwrap_or_else(|panic| resume_unwind(panic))
    })
}

/// The search's own stop flag, and why it was raised.
#[derive(Debug, Default)]
pub(crate) struct Limits {
    pub(crate) stop: Stop,
    /// Raised [some time](grace) after the search was to end: replaying counterexamples, which is
    /// not stopped with the search, ends too.
    pub(crate) late: Stop,
    cause: AtomicU8,
}

const INTERRUPT: u8 = 0;
const TIME: u8 = 1;
const MEMORY: u8 = 2;

impl Limits {
    /// Why the flag was raised.
    pub(crate) fn reason(&self) -> Reason {
        match self.cause.load(Ordering::Relaxed) {
            _ if self.stop.is_for_memory() => Reason::Memory,
            TIME => Reason::Time,
            MEMORY => Reason::Memory,
            _ => Reason::Interrupted,
        }
    }

    /// Raises the flag, unless it is raised already.
    fn stop_for(&self, cause: u8) {
        if !self.stop.is_raised() {
            self.cause.store(cause, Ordering::Relaxed);
            self.stop.raise();
        }
    }

    /// Measures the process until the flag is raised.
    fn guard_memory(&self, limit: ProcessLimit) {
        while !self.stop.is_raised() {
            if (limit.held_bytes)() > limit.most_bytes {
                return self.stop_for(MEMORY);
            }
            std::thread::sleep(MEASURE_EVERY);
        }
    }
}

/// How long a raised flag may go unnoticed.
const WATCH_EVERY: Duration = Duration::from_millis(10);
const PROGRESS_EVERY: Duration = Duration::from_millis(200);
/// How often the process is measured. A fast search allocates some MiB in this time.
const MEASURE_EVERY: Duration = Duration::from_millis(4);

/// Ends of ranks that wait for the observer; there may be millions of ranks, and some are dropped.
const RANKS_AHEAD: usize = 1024;

/// Watches until the search hangs up.
fn watch(
    options: &Options,
    stop: &Stop,
    limits: &Limits,
    gauge: &Gauge,
    ended_ranks: &Receiver<Progress>,
    observer: &mut dyn Observer,
) {
    // The search must not be left running if an observer panics.
    struct RaiseAtEnd<'a>(&'a Limits);
    impl Drop for RaiseAtEnd<'_> {
        fn drop(&mut self) {
            self.0.stop.raise();
            self.0.late.raise();
        }
    }
    let _raise = RaiseAtEnd(limits);

    let started = Instant::now();
    let mut late: Option<Instant> = None;
    let deadline = options
        .time_limit
        .and_then(|limit| Instant::now().checked_add(limit));
    let mut shown = Instant::now();
    loop {
        match ended_ranks.recv_timeout(WATCH_EVERY) {
            Ok(progress) => {
                observer.progress(&progress);
                shown = Instant::now();
            }
            Err(RecvTimeoutError::Timeout) if shown.elapsed() >= PROGRESS_EVERY => {
                observer.progress(&gauge.read());
                shown = Instant::now();
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        let now = Instant::now();
        if stop.is_raised() {
            limits.stop_for(INTERRUPT);
        } else if deadline.is_some_and(|deadline| now >= deadline) {
            limits.stop_for(TIME);
        } else {
            continue;
        }
        if now >= *late.get_or_insert_with(|| now + grace(now - started)) {
            limits.late.raise();
        }
    }
}

/// How long counterexamples may still be replayed when a search is to end that has taken this long:
/// the longer it took to find them, the more they are worth.
fn grace(searched: Duration) -> Duration {
    (searched / 10).clamp(Duration::from_secs(1), Duration::from_secs(60))
}
