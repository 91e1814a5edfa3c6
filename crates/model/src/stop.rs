//! The request to stop, shared by all threads of a run.

use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that is raised once, from a signal handler or a deadline, and polled in every loop.
#[derive(Debug, Default)]
pub struct Stop {
    raised: AtomicBool,
    for_memory: AtomicBool,
}

impl Stop {
    /// A flag that is not raised.
    pub const fn new() -> Self {
        Stop {
            raised: AtomicBool::new(false),
            for_memory: AtomicBool::new(false),
        }
    }

    /// Requests a stop.
    pub fn raise(&self) {
        self.raised.store(true, Ordering::Relaxed);
    }

    /// Requests a stop because an expander has not the memory to continue
    /// ([`Expander::limit_memory`](crate::Expander::limit_memory)).
    pub fn raise_for_memory(&self) {
        self.for_memory.store(true, Ordering::Relaxed);
        self.raise();
    }

    /// Whether an expander has requested it because it has not the memory to continue.
    pub fn is_for_memory(&self) -> bool {
        self.for_memory.load(Ordering::Relaxed)
    }

    /// Whether a stop was requested.
    pub fn is_raised(&self) -> bool {
        self.raised.load(Ordering::Relaxed)
    }

    /// The flag itself, for code that polls it by its address.
    pub fn flag(&self) -> &AtomicBool {
        &self.raised
    }
}
