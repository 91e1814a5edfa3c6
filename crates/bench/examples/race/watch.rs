//! Time that this thread has had a processor.

use rustix::time::{ClockId, Timespec, clock_gettime};

pub(crate) struct Watch(Timespec);

impl Watch {
    pub(crate) fn start() -> Self {
        Watch(clock_gettime(ClockId::ThreadCPUTime))
    }

    pub(crate) fn nanoseconds(self) -> f64 {
        let now = clock_gettime(ClockId::ThreadCPUTime);
        (now.tv_sec - self.0.tv_sec) as f64 * 1e9 + (now.tv_nsec - self.0.tv_nsec) as f64
    }
}
