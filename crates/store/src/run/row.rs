//! Runs whose key ranges follow each other, read as one.
//!
//! A large tier is many runs, each a range of the key space. To merge tiers it is enough to read
//! one run of each at a time.

use std::collections::VecDeque;

use super::{KeyRange, RunKeys, Versioned};
use crate::Error;

/// The keys of runs in a range, of which each ends before the next begins.
#[derive(Default)]
pub(crate) struct Row<'a> {
    range: KeyRange<'a>,
    to_come: VecDeque<Versioned<'a>>,
    current: Option<RunKeys<'a>>,
    /// Keys that are read at once.
    batch_keys: usize,
}

impl<'a> Row<'a> {
    /// Few rows, if runs that follow each other in a tier do so in `runs`.
    pub(crate) fn of_runs(runs: &[Versioned<'a>], range: KeyRange<'a>) -> Vec<Self> {
        let mut rows: Vec<Row<'a>> = Vec::new();
        for run in runs {
            if run.blocks_in(range).is_empty() {
                continue;
            }
            match rows.last_mut() {
                Some(row) if row.ends_before(run) => row.to_come.push_back(*run),
                _ => rows.push(Row {
                    range,
                    to_come: VecDeque::from([*run]),
                    current: None,
                    batch_keys: usize::MAX,
                }),
            }
        }
        rows
    }

    /// Reads up to `n` keys at once, if that is less than usual.
    pub(super) fn limit_batch(&mut self, n: usize) {
        self.batch_keys = n;
    }

    /// Whether the last run ends before `next` begins.
    fn ends_before(&self, next: &Versioned<'_>) -> bool {
        let (mut last, mut first) = (Vec::new(), Vec::new());
        let last = self
            .to_come
            .back()
            .and_then(|run| run.newest_last(&mut last).ok().flatten());
        last.is_some_and(|last| last < next.newest_fence(0, &mut first))
    }

    /// How many blocks to come are in the range.
    pub(crate) fn n_blocks(&self) -> u64 {
        let n_blocks = |run: &Versioned<'_>| run.blocks_in(self.range).len() as u64;
        self.to_come.iter().map(n_blocks).sum()
    }

    /// Replaces the content of `keys` by the next keys; false, and no keys, at the end.
    pub(crate) fn next(&mut self, keys: &mut Vec<u64>) -> Result<bool, Error> {
        loop {
            if let Some(current) = &mut self.current
                && current.next(keys)?
            {
                return Ok(true);
            }
            // A run is opened when it is needed: until then it takes no memory.
            let next = self.to_come.pop_front();
            let Some(run) = next else {
                self.current = None;
                keys.clear();
                return Ok(false);
            };
            let mut current = RunKeys::new(run, self.range);
            current.limit_batch(self.batch_keys);
            self.current = Some(current);
        }
    }
}
