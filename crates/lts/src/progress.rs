//! How far work on graphs is, for whoever shows it.
//!
//! Work consists of stages that follow each other, each of which passes over a number of edges or
//! states that is known when it begins. Those who work add to a counter, a block at a time; another
//! thread may read it at any moment.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crate::parallel::lock;

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// Nothing yet.
    Starting,
    /// Edges of a text are read.
    Reading,
    /// Edges that were read are written in order.
    Sorting,
    /// A compressed file is unpacked, by bytes.
    Unpacking,
    /// A graph is written.
    Writing,
    /// Edges are counted by label, source and target.
    Counting,
    /// States are visited by their distance from the initial one.
    Measuring,
    /// Strongly connected components are looked for; states are passed over several times.
    Components,
    /// Cycles of invisible steps are collapsed.
    Collapsing,
    /// Edges are sorted by target, for block numbers do not fit into memory.
    Reversing,
    /// A round of refinement, by number from 1, of a partition with so many blocks.
    Refining {
        /// The number of the round.
        round: u64,
        /// Blocks when it began.
        n_blocks: u64,
    },
    /// The result is compared with what it was computed from.
    Verifying,
    /// States of the result get their numbers.
    Numbering,
    /// A formula or a run is looked for that tells two graphs apart.
    Distinguishing,
}

/// A reading of a [`Gauge`].
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// What is being done.
    pub stage: Stage,
    /// What of it is done: edges, unless the stage says otherwise.
    pub done: u64,
    /// All of it; 0 where that is not known.
    pub total: u64,
    /// Seconds since the stage began.
    pub seconds: f64,
}

/// Counts what is done of a stage.
#[derive(Debug)]
pub struct Gauge {
    /// The stage, its total and its beginning.
    stage: Mutex<(Stage, u64, Instant)>,
    done: AtomicU64,
}

impl Gauge {
    /// A gauge of work that has not begun.
    pub fn new() -> Self {
        Gauge {
            stage: Mutex::new((Stage::Starting, 0, Instant::now())),
            done: AtomicU64::new(0),
        }
    }

    /// How far the work is.
    pub fn read(&self) -> Reading {
        let stage = lock(&self.stage);
        let (stage, total, since) = *stage;
        // Work that is done twice, by two threads, counts once.
        let done = self.done.load(Ordering::Relaxed).min(match total {
            0 => u64::MAX,
            total => total,
        });
        Reading {
            stage,
            done,
            total,
            seconds: since.elapsed().as_secs_f64(),
        }
    }

    pub(crate) fn begin(&self, next: Stage, total: u64) {
        let mut stage = lock(&self.stage);
        *stage = (next, total, Instant::now());
        self.done.store(0, Ordering::Relaxed);
    }

    pub(crate) fn add(&self, n: u64) {
        self.done.fetch_add(n, Ordering::Relaxed);
    }
}

impl Default for Gauge {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_never_passes_the_total() {
        let gauge = Gauge::new();
        assert_eq!(gauge.read().stage, Stage::Starting);
        gauge.begin(Stage::Counting, 10);
        gauge.add(4);
        assert_eq!((gauge.read().done, gauge.read().total), (4, 10));
        gauge.add(40);
        assert_eq!(gauge.read().done, 10);
        gauge.begin(Stage::Unpacking, 0);
        gauge.add(40);
        assert_eq!((gauge.read().done, gauge.read().total), (40, 0));
    }
}
