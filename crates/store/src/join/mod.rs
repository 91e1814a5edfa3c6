//! The external join: many keys looked up in sorted runs at once.
//!
//! [`Pairs`] of a key and a value, say an edge's target and the edge's number, meet
//! [runs with values](crate::valued), say the ordinal of every state: each pair is delivered with the
//! value that its key has in the runs. Both sides may be larger than memory. Pairs are partitioned by
//! key as candidates are; for each bucket the entries of the runs in its range are put into a table,
//! and the pairs are looked up there, in any order. So pairs are never sorted, and a key that millions
//! of pairs have is no special case. A bucket with more entries than the table has room for is read
//! several times.
//!
//! [`value_runs`] makes runs of pairs. [`ByNumber`](crate::partition::ByNumber) brings what was
//! delivered into the order of numbers. Nothing here knows what keys, numbers and values are.
//!
//! All keys of pairs have one layout, the newest one, so whoever has older ones recodes them before;
//! runs may have older layouts with the same order.

mod table;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::RwLock;

use table::KeyTable;

use crate::disk::Folder;
use crate::lock::write;
use crate::partition::Pairs;
use crate::run::{Batch, KeyRange, Older, SortScratch, Sorted, sort_keys};
use crate::tiers::Monitor;
use crate::valued::{LeastMerge, Output, ValuedRun};
use crate::{Error, in_parallel};

pub use crate::valued::ValueRun;

/// A run that keys are looked up in, and how its keys are recoded if they are not of the newest
/// layout.
#[derive(Clone, Copy)]
pub struct Looked<'a> {
    /// The run.
    pub run: &'a ValuedRun,
    /// `None` if the run has the newest layout.
    pub older: Option<Older<'a>>,
}

impl<'a> From<&'a ValuedRun> for Looked<'a> {
    fn from(run: &'a ValuedRun) -> Self {
        Looked { run, older: None }
    }
}

impl<'a> Looked<'a> {
    fn entries(self, range: KeyRange<'a>) -> Option<Box<dyn Sorted + 'a>> {
        match self.older {
            None if !self.run.may_have(range) => None,
            None => Some(Box::new(self.run.entries(range))),
            Some(older) => Some(Box::new(self.run.entries_as(range, older))),
        }
    }
}

/// Memory and threads of a join.
#[derive(Clone, Copy, Debug)]
pub struct JoinLimits {
    /// Threads that share the work.
    pub n_threads: usize,
    /// What the table of each may take, in bytes.
    pub table_bytes: u64,
}

/// Pairs whose keys were looked up.
#[derive(Clone, Copy, Debug)]
pub struct Joined<'a> {
    /// The values of pairs whose keys are in the runs.
    pub numbers: &'a [u64],
    /// The least value that the runs have for each of these.
    pub values: &'a [u64],
    /// The values of pairs whose keys are in no run.
    pub missing: &'a [u64],
}

/// Rows of buckets for each thread, so that no thread waits long for another.
const ROWS_PER_THREAD: usize = 8;

/// Looks up every pair in `runs`. `each` is called with the number of a worker and some of the pairs,
/// each pair once and in no order; of one worker one call at a time. `pairs` are
/// [settled](Pairs::settle).
///
/// Where `monitor` asks for a stop, it ends without an error, before all pairs are looked up.
pub fn join(
    runs: &[Looked<'_>],
    pairs: &Pairs,
    limits: JoinLimits,
    monitor: &dyn Monitor,
    each: &(dyn Fn(usize, &Joined<'_>) -> Result<(), Error> + Sync),
) -> Result<(), Error> {
    let n_threads = limits.n_threads.max(1);
    let rows = pairs.rows(ROWS_PER_THREAD * n_threads);
    // A worker is whoever has its number.
    let workers = RwLock::new((0..n_threads).collect::<Vec<usize>>());
    in_parallel(n_threads, rows.len(), |row| {
        let worker = write(&workers).pop();
        let worker = worker.expect("there are as many workers as threads");
        let joined =
            RowJoin::new(runs, pairs, rows[row].clone(), limits).run(worker, monitor, each);
        write(&workers).push(worker);
        joined
    })?;
    Ok(())
}

/// The join of a row of buckets.
struct RowJoin<'a> {
    pairs: &'a Pairs,
    row: Range<usize>,
    left: Left<'a>,
    table: KeyTable,
    most_entries: usize,
    numbers: Vec<u64>,
    values: Vec<u64>,
    missing: Vec<u64>,
}

/// Entries of the runs, ascending.
struct Left<'a> {
    merge: LeastMerge<'a>,
    batch: Batch,
    at: usize,
}

impl Left<'_> {
    /// Fills `table` with the next entries before `end`, up to `most`. False if there are no more
    /// before `end`.
    fn fill(
        &mut self,
        table: &mut KeyTable,
        end: Option<&[u64]>,
        most: usize,
    ) -> Result<bool, Error> {
        let n_words = self.merge.n_words();
        table.clear();
        loop {
            if self.at == self.batch.ordinals.len() {
                self.at = 0;
                if !self.merge.next_batch(&mut self.batch)? {
                    table.index();
                    return Ok(false);
                }
            }
            let key = &self.batch.keys[self.at * n_words..][..n_words];
            if end.is_some_and(|end| key >= end) {
                table.index();
                return Ok(false);
            }
            if table.len() == most {
                table.index();
                return Ok(true);
            }
            table.push(key, self.batch.ordinals[self.at]);
            self.at += 1;
        }
    }
}

impl<'a> RowJoin<'a> {
    fn new(runs: &[Looked<'a>], pairs: &'a Pairs, row: Range<usize>, limits: JoinLimits) -> Self {
        let n_words = pairs.n_words();
        let range = pairs.range(&row);
        let sources = runs.iter().filter_map(|run| run.entries(range));
        let most = limits.table_bytes / KeyTable::bytes_per_entry(n_words);
        RowJoin {
            pairs,
            row,
            left: Left {
                merge: LeastMerge::new(n_words, sources.collect()),
                batch: Batch::default(),
                at: 0,
            },
            table: KeyTable::new(n_words),
            most_entries: most.clamp(1, 1 << 30) as usize,
            numbers: Vec::new(),
            values: Vec::new(),
            missing: Vec::new(),
        }
    }

    fn run(
        mut self,
        worker: usize,
        monitor: &dyn Monitor,
        each: &dyn Fn(usize, &Joined<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let pairs = self.pairs;
        let mut reader = pairs.reader(self.row.clone());
        for bucket in self.row.clone() {
            if monitor.is_stopped() {
                return Ok(());
            }
            let end = pairs.range(&(bucket..bucket + 1)).to;
            let mut has_more = self.left.fill(&mut self.table, end, self.most_entries)?;
            // Keys before this are decided already.
            let mut from: Option<Vec<u64>> = None;
            let to = |this: &Self| has_more_to(has_more, &this.table);
            let mut until = to(&self);
            reader.next_bucket(&mut |keys, numbers| {
                let range = (from.as_deref(), until.as_deref());
                self.look_up(keys, numbers, range, worker, each)
            })?;
            while has_more {
                from = until;
                has_more = self.left.fill(&mut self.table, end, self.most_entries)?;
                until = has_more_to(has_more, &self.table);
                let mut again = pairs.reader(bucket..bucket + 1);
                again.next_bucket(&mut |keys, numbers| {
                    let range = (from.as_deref(), until.as_deref());
                    self.look_up(keys, numbers, range, worker, each)
                })?;
                if monitor.is_stopped() {
                    return Ok(());
                }
            }
            monitor.advance(pairs.n_in(bucket));
        }
        Ok(())
    }

    /// Looks up pairs whose keys lie behind the first bound and not behind the second.
    fn look_up(
        &mut self,
        keys: &[u64],
        numbers: &[u64],
        (after, last): (Option<&[u64]>, Option<&[u64]>),
        worker: usize,
        each: &dyn Fn(usize, &Joined<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.numbers.clear();
        self.values.clear();
        self.missing.clear();
        let is_whole = after.is_none() && last.is_none();
        for (key, &number) in keys.chunks_exact(self.table.n_words()).zip(numbers) {
            if !is_whole
                && (after.is_some_and(|after| key <= after) || last.is_some_and(|last| key > last))
            {
                continue;
            }
            match self.table.find(key) {
                Some(value) => {
                    self.numbers.push(number);
                    self.values.push(value);
                }
                None => self.missing.push(number),
            }
        }
        let joined = Joined {
            numbers: &self.numbers,
            values: &self.values,
            missing: &self.missing,
        };
        each(worker, &joined)
    }
}

/// The last key of a table, where more entries follow.
fn has_more_to(has_more: bool, table: &KeyTable) -> Option<Vec<u64>> {
    has_more.then(|| table.last_key().to_vec())
}

/// Makes runs of pairs, one for each of about `n_runs` ranges of keys that follow each other: each key
/// once, with the least of its values. They are scratch files, or in memory without a folder. A thread
/// sorts up to `most_pairs` pairs at once; a bucket with more is merged from several runs.
///
/// Where `monitor` asks for a stop, runs are incomplete.
pub fn value_runs(
    pairs: &Pairs,
    n_runs: usize,
    most_pairs: usize,
    n_threads: usize,
    folder: Option<&Folder>,
    monitor: &dyn Monitor,
) -> Result<Vec<ValueRun>, Error> {
    let rows = pairs.rows(n_runs.max(1));
    in_parallel(n_threads, rows.len(), |row| {
        let row = rows[row].clone();
        ValueRun::write(pairs.n_words(), folder, |out| {
            write_row(pairs, row.clone(), most_pairs, folder, monitor, out)
        })
    })
}

/// Writes the pairs of a row of buckets in order.
fn write_row(
    pairs: &Pairs,
    row: Range<usize>,
    most_pairs: usize,
    folder: Option<&Folder>,
    monitor: &dyn Monitor,
    out: &mut dyn Output,
) -> Result<(), Error> {
    let n_words = pairs.n_words();
    let mut reader = pairs.reader(row);
    let (mut list, mut batch) = (Batch::default(), Batch::default());
    let mut scratch = SortScratch::default();
    loop {
        let mut runs = Vec::new();
        list.clear();
        let next = reader.next_bucket(&mut |keys, values| {
            let mut at = 0;
            while at < values.len() {
                let n = (values.len() - at).min(most_pairs.max(1) - list.ordinals.len());
                list.keys
                    .extend_from_slice(&keys[at * n_words..(at + n) * n_words]);
                list.ordinals.extend_from_slice(&values[at..at + n]);
                at += n;
                if list.ordinals.len() >= most_pairs.max(1) {
                    sort_keys(
                        n_words,
                        &list.keys,
                        &list.ordinals,
                        &mut scratch,
                        &mut batch,
                    );
                    list.clear();
                    // What is equal may suffice.
                    match batch.ordinals.len() > most_pairs / 2 {
                        true => {
                            runs.push(ValueRun::write(n_words, folder, |out| out.push(&batch))?)
                        }
                        false => std::mem::swap(&mut list, &mut batch),
                    }
                }
            }
            Ok(())
        })?;
        let Some(bucket) = next else {
            return Ok(());
        };
        sort_keys(
            n_words,
            &list.keys,
            &list.ordinals,
            &mut scratch,
            &mut batch,
        );
        if runs.is_empty() {
            out.push(&batch)?;
        } else {
            runs.push(ValueRun::write(n_words, folder, |out| out.push(&batch))?);
            let sources = runs
                .iter()
                .map(|run| Box::new(run.run().entries(KeyRange::ALL)) as Box<dyn Sorted + '_>);
            out.push_all(&mut LeastMerge::new(n_words, sources.collect()))?;
        }
        monitor.advance(pairs.n_in(bucket));
        if monitor.is_stopped() {
            return Ok(());
        }
    }
}
