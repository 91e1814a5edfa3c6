//! A limit on what the whole process holds.
//!
//! The papers count table and queue. What else a strategy holds (logs, stacks, what a map takes
//! beside its entries) is no part of its budget; where a limit must hold all the same, somebody has
//! to look at the process. That is asked of whoever started the search: nothing here knows how an
//! operating system counts.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hadal_model::Stop;

/// A limit on what the process holds, and how to ask for that.
#[derive(Clone, Copy)]
pub struct ProcessLimit {
    /// The search stops for want of memory when more is held.
    pub most_bytes: u64,
    /// What is held now.
    pub held_bytes: fn() -> u64,
}

impl fmt::Debug for ProcessLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.most_bytes)
    }
}

/// How often it is looked. A fast search takes some MiB in this time.
const EVERY: Duration = Duration::from_millis(4);

/// Stops a search beyond its limit.
#[derive(Debug)]
pub(super) struct Guard {
    limit: Option<ProcessLimit>,
    is_beyond: AtomicBool,
}

impl Guard {
    pub(super) fn new(limit: Option<ProcessLimit>) -> Self {
        Guard {
            limit,
            is_beyond: AtomicBool::new(false),
        }
    }

    pub(super) fn has_limit(&self) -> bool {
        self.limit.is_some()
    }

    /// Whether the search was stopped by this.
    pub(super) fn is_beyond(&self) -> bool {
        self.is_beyond.load(Ordering::Relaxed)
    }

    /// Looks until the flag is raised, by this or by somebody else.
    pub(super) fn watch(&self, stop: &Stop) {
        let Some(limit) = self.limit else { return };
        while !stop.is_raised() {
            if (limit.held_bytes)() > limit.most_bytes {
                self.is_beyond.store(true, Ordering::Relaxed);
                stop.raise();
                return;
            }
            std::thread::sleep(EVERY);
        }
    }
}
