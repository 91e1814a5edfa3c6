//! Limits on loading a model: memory, time, and a request to stop.
//!
//! A text can be of any size, and so can what becomes of it. While a model is loaded, a thread
//! measures the process and raises a flag that the stages poll: lexer, parser, checker, code
//! generator. What none of them polls for, such as a read from a terminal, only the end of the
//! process can end; a program can register a callback ([`LoadLimits::on_overrun`]).

use std::fmt;
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use hadal_model::Stop;
use hadal_report::units::bytes;

use crate::{Error, memory, system_limits};

/// Limits on loading a model. By default there are none.
///
/// ```
/// # fn main() -> Result<(), hadal::Error> {
/// let text = "var x: 0..3; startstate x := 0; end; rule x < 3 ==> x := x + 1; end;";
/// let source = hadal::ModelSource::text("toy.m", text, "murphi")?;
/// let limits = hadal::LoadLimits {
///     memory: Some(1 << 30),
///     ..hadal::LoadLimits::default()
/// };
/// let model = source.load_within(&limits)?;
/// assert!(model.interpreted.is_empty());
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Default)]
pub struct LoadLimits<'a> {
    /// Bytes that the process may hold.
    pub memory: Option<u64>,
    /// When loading is to have ended. It has up to a second more than that.
    pub deadline: Option<Instant>,
    /// Ends loading a second after it is raised. A model that is loaded by then can still be
    /// checked, which is when its check is stopped.
    pub stop: Option<&'a Stop>,
    /// Called, perhaps more than once, from another thread, where loading was stopped and does not
    /// end. A program may exit there.
    pub on_overrun: Option<&'a (dyn Fn(LoadStopped) + Sync)>,
}

/// Why a model was not loaded to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoadStopped {
    /// It takes more memory than it may.
    Memory {
        /// Bytes that the process may hold.
        budget: u64,
    },
    /// It takes more address space than the system allows.
    AddressSpace {
        /// Bytes that the system allows.
        limit: u64,
    },
    /// It takes too long.
    Time,
    /// The stop flag was raised.
    Interrupted,
}

impl fmt::Display for LoadStopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadStopped::Memory { budget } => write!(
                f,
                "a memory budget of {} is too small to load this model",
                bytes(*budget)
            ),
            LoadStopped::AddressSpace { limit } => write!(
                f,
                "the address space of {} that the system allows (ulimit -v) is too small to load \
                 this model",
                bytes(*limit)
            ),
            LoadStopped::Time => {
                write!(
                    f,
                    "stopped at the time limit, before the model was loaded; nothing is proved"
                )
            }
            LoadStopped::Interrupted => {
                write!(
                    f,
                    "interrupted before the model was loaded; nothing is proved"
                )
            }
        }
    }
}

/// How often the process is measured. A front-end allocates some hundred KiB in this time.
const MEASURE_EVERY: Duration = Duration::from_millis(2);

/// How long loading may continue after the deadline or the request to stop: most models are loaded by
/// then, and their checks end with a record. With what a stage may take to notice, a second.
const GRACE: Duration = Duration::from_millis(800);

/// How long a stage may take to notice that it is stopped, and the memory that it may take
/// meanwhile.
const OVERRUN: Duration = Duration::from_millis(200);
const OVERRUN_BYTES: u64 = 8 << 20;

/// Address space that is left for others: for stacks, buffers and the message.
const SPACE_MARGIN_BYTES: u64 = 32 << 20;

/// A model being loaded.
#[derive(Debug, Default)]
pub(crate) struct Loading {
    /// Polled by all stages.
    pub(crate) stop: Stop,
    cause: OnceLock<LoadStopped>,
    memory: Option<u64>,
}

impl Loading {
    /// Whether to continue.
    pub(crate) fn check(&self) -> Result<(), Error> {
        match (self.stop.is_raised(), self.cause.get()) {
            (true, Some(cause)) => Err(Error::LoadStopped(*cause)),
            _ => Ok(()),
        }
    }

    /// Stops where there is no address space for `bytes` at once, beside what is left for others: what
    /// is measured every now and then would notice too late.
    pub(crate) fn require_space(&self, bytes: u64) -> Result<(), Error> {
        let left = system_limits::address_space_left();
        let is_short = left.is_some_and(|left| left < bytes + SPACE_MARGIN_BYTES);
        if let (true, Some(limit)) = (is_short, system_limits::address_space_bytes()) {
            self.stop_for(LoadStopped::AddressSpace { limit });
        }
        self.check()
    }

    /// Bytes that the process may hold, if there is a limit.
    pub(crate) fn memory(&self) -> Option<u64> {
        self.memory
    }

    /// Bytes that may still be taken, if something is to be left for a search.
    pub(crate) fn room(&self) -> u64 {
        let by_budget = self.memory.map_or(u64::MAX, |most| {
            let held = memory::resident_bytes();
            most.saturating_sub(held.saturating_add(crate::resources::MIN_DATA_BYTES))
        });
        let space = system_limits::address_space_left();
        by_budget.min(space.map_or(u64::MAX, |left| left.saturating_sub(SPACE_MARGIN_BYTES)))
    }

    fn stop_for(&self, cause: LoadStopped) {
        let _ = self.cause.set(cause);
        self.stop.raise();
    }
}

impl LoadLimits<'_> {
    /// Does `work`, such as reading a text, within the limits. Nothing in it polls, so it ends
    /// early only where [`on_overrun`](Self::on_overrun) ends the process.
    pub fn watch<T>(&self, work: impl FnOnce() -> T) -> Result<T, Error> {
        self.watched(|_| work())
    }

    /// Does `work` within the limits.
    pub(crate) fn watched<T>(&self, work: impl FnOnce(&Loading) -> T) -> Result<T, Error> {
        let loading = Loading {
            memory: self.memory,
            ..Loading::default()
        };
        let has_limits = self.memory.is_some() || self.deadline.is_some() || self.stop.is_some();
        if !has_limits && system_limits::address_space_bytes().is_none() {
            return Ok(work(&loading));
        }
        memory::start_measuring()?;
        std::thread::scope(|scope| {
            // The end of `work` hangs up, which wakes the thread.
            let (_done, is_done) = channel::<()>();
            let loading = &loading;
            std::thread::Builder::new()
                .name("load".to_owned())
                .stack_size(256 << 10)
                .spawn_scoped(scope, move || self.measure(loading, &is_done))
                .map_err(Error::Thread)?;
            Ok(work(loading))
        })
    }

    /// Measures until loading ends, and stops it where a limit is exceeded.
    fn measure(&self, loading: &Loading, is_done: &Receiver<()>) {
        let mut late: Option<Instant> = None;
        let mut stopped: Option<Instant> = None;
        while is_done.recv_timeout(MEASURE_EVERY) == Err(RecvTimeoutError::Timeout) {
            let now = Instant::now();
            let exceeded = self.exceeded_memory();
            let overdue = self.overdue(now);
            if overdue.is_some() {
                late.get_or_insert(now);
            }
            let is_late = late.is_some_and(|since| now - since >= GRACE);
            let cause = exceeded
                .map(|(cause, _)| cause)
                .or(overdue.filter(|_| is_late));
            if let Some(cause) = cause {
                loading.stop_for(cause);
                stopped.get_or_insert(now);
            }
            let Some(cause) = loading.cause.get() else {
                continue;
            };
            let excess = exceeded.map_or(0, |(_, excess)| excess);
            let is_overrun =
                excess > OVERRUN_BYTES || stopped.is_some_and(|since| now - since >= OVERRUN);
            if let (true, Some(on_overrun)) = (is_overrun, self.on_overrun) {
                on_overrun(*cause);
            }
        }
    }

    /// Why loading should have ended by now.
    fn overdue(&self, now: Instant) -> Option<LoadStopped> {
        if self.deadline.is_some_and(|deadline| now >= deadline) {
            return Some(LoadStopped::Time);
        }
        let is_stopped = self.stop.is_some_and(Stop::is_raised);
        is_stopped.then_some(LoadStopped::Interrupted)
    }

    /// The limit on memory that is exceeded, and by how much.
    fn exceeded_memory(&self) -> Option<(LoadStopped, u64)> {
        let held = memory::resident_bytes();
        if let Some(budget) = self.memory.filter(|&budget| held > budget) {
            return Some((LoadStopped::Memory { budget }, held - budget));
        }
        let left = system_limits::address_space_left()?;
        let limit = system_limits::address_space_bytes()?;
        let missing = SPACE_MARGIN_BYTES.checked_sub(left)?;
        Some((LoadStopped::AddressSpace { limit }, missing))
    }
}

impl fmt::Debug for LoadLimits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadLimits")
            .field("memory", &self.memory)
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn work_that_polls_ends_with_the_cause() {
        let limits = LoadLimits {
            memory: Some(1),
            ..LoadLimits::default()
        };
        let stopped = limits.watched(|loading| {
            while loading.check().is_ok() {
                std::thread::yield_now();
            }
            loading.check()
        });
        let error = stopped.expect("a thread starts").expect_err("it stopped");
        assert!(matches!(
            error,
            Error::LoadStopped(LoadStopped::Memory { budget: 1 })
        ));
    }

    #[test]
    fn work_that_does_not_poll_is_reported() {
        let is_reported = AtomicBool::new(false);
        let report = |cause: LoadStopped| {
            assert_eq!(cause, LoadStopped::Time);
            is_reported.store(true, Ordering::Relaxed);
        };
        let limits = LoadLimits {
            deadline: Some(Instant::now()),
            on_overrun: Some(&report),
            ..LoadLimits::default()
        };
        let waited = limits.watch(|| {
            let start = Instant::now();
            while !is_reported.load(Ordering::Relaxed) {
                std::thread::sleep(MEASURE_EVERY);
                assert!(
                    start.elapsed() < Duration::from_secs(60),
                    "the overrun is not reported"
                );
            }
            start.elapsed()
        });
        let waited = waited.expect("a thread starts");
        assert!(waited >= GRACE);
        // A second, where nobody else uses the machine.
        assert!(waited < Duration::from_millis(1900), "{waited:?}");
    }

    #[test]
    fn work_within_the_limits_is_left_alone() {
        let limits = LoadLimits {
            memory: Some(u64::MAX),
            deadline: Some(Instant::now() + Duration::from_secs(60)),
            ..LoadLimits::default()
        };
        let checked = limits.watched(|loading| loading.check().is_ok());
        assert!(checked.expect("a thread starts"));
    }
}
