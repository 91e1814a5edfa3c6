//! Delayed duplicate detection: candidates in a table, everything visited in a file on disk.
//!
//! A successor that is not in the table is put there, and into a queue of unchecked states. When
//! the table is full, or a layer at its end, signatures on disk are read; those that are in the
//! table are old. What then remains of the unchecked queue is new: it is admitted, its signatures
//! are appended to the file, and the table is emptied. Which part of the file is read is what
//! [`mono`](super::mono) and [`local`](super::local) differ in.
//!
//! A check in the middle of a layer admits states of the next one while the layer is still being
//! expanded. Since both queues keep their order, layers stay apart all the same; the published
//! code, which tells layers by an empty queue, blurs them there.

use std::ops::Range;
use std::time::Instant;

use hadal_store::Parent;

use super::breadth::{self, Forgets, Intake, Memory, Plan, Told};
use super::explorer::{Halt, PARENT_BYTES, Run, decode_parent, encode_parent};
use super::queue::Queue;
use super::records::{Records, Shelf};
use super::signature::Signatures;
use super::tables::{ChainedTable, Inserted, KeyTable, OpenTable};
use super::{MonoTable, queue_segment};
use crate::{Error, Outcome, Stats};

/// Which signatures on disk are read.
pub(super) trait Reading {
    /// The ranges of the file to read at this check, in two rounds, and what is left out.
    fn choose(&mut self, n_signatures: u64) -> Choice;

    /// What came of it.
    fn learn(&mut self, learnt: Learnt);

    /// Whether old states may have been taken for new ones.
    fn forgot(&self) -> bool;

    fn tell(&mut self, told: &Told, stats: &mut Stats);
}

/// What is read at a check.
#[derive(Debug, Default)]
pub(super) struct Choice {
    pub(super) first: Vec<Range<u64>>,
    pub(super) then: Vec<Range<u64>>,
}

/// What a check found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Learnt {
    /// Old states found by what was read first.
    pub(super) n_old_first: u64,
    /// Old states found only by what was read then.
    pub(super) n_old_then: u64,
}

/// Searches with this table and this way of reading.
pub(super) fn search(
    run: &Run<'_>,
    table: MonoTable,
    reading: impl Reading,
    forgets: Forgets,
) -> Result<Outcome, Error> {
    let own = run.own;
    let key_len = Signatures::new(run.shape, own.store, own.seed).key_len();
    // Two queues on disk, with two ends each.
    let segment_bytes = queue_segment(own.budget_bytes) / 2;
    let table_bytes = own.budget_bytes - 4 * segment_bytes;
    let shelf = Shelf::new(own);
    let plan = Plan {
        queue_shelf: shelf.clone(),
        aside: shelf.beside(),
        shelf: shelf.clone(),
        segment_bytes,
        forgets,
    };
    let record_len = run.shape.state_len + PARENT_BYTES;
    let unchecked = Queue::new(&shelf, record_len, segment_bytes);
    let disk = shelf.records(key_len)?;
    let rest = (unchecked, disk, shelf, reading);
    match table {
        MonoTable::Open => {
            let table = OpenTable::new(key_len, table_bytes);
            breadth::search(run, plan, Delayed::new(table, rest))
        }
        MonoTable::Chained => {
            let table = ChainedTable::new(key_len, table_bytes);
            breadth::search(run, plan, Delayed::new(table, rest))
        }
    }
}

struct Delayed<T, R> {
    table: T,
    unchecked: Queue,
    disk: Records,
    shelf: Shelf,
    reading: R,
    /// A bit for each place of the table: whether the state there is old.
    old: Vec<u64>,
    record: Vec<u8>,
    n_old: u64,
    seconds: f64,
}

impl<T: KeyTable, R: Reading> Delayed<T, R> {
    fn new(table: T, (unchecked, disk, shelf, reading): (Queue, Records, Shelf, R)) -> Self {
        Delayed {
            table,
            unchecked,
            disk,
            shelf,
            reading,
            old: Vec::new(),
            record: Vec::new(),
            n_old: 0,
            seconds: 0.0,
        }
    }

    /// Tells old from new among the candidates.
    fn check(&mut self, intake: &mut Intake<'_>) -> Result<(), Halt> {
        let since = Instant::now();
        let pauses =
            |this: &Self, intake: &Intake<'_>| this.shelf.io().as_secs_f64() + intake.judge.seconds;
        let before = pauses(self, intake);
        self.old.clear();
        self.old.resize(self.table.places().div_ceil(64), 0);
        let choice = self.reading.choose(self.disk.len());
        let n_old_first = self.mark_old(choice.first, intake)?;
        let n_old_then = self.mark_old(choice.then, intake)?;
        self.n_old += n_old_first + n_old_then;
        self.admit_new(intake)?;
        self.table.clear();
        self.seconds += since.elapsed().as_secs_f64() - (pauses(self, intake) - before);
        self.reading.learn(Learnt {
            n_old_first,
            n_old_then,
        });
        Ok(())
    }

    /// Marks the candidates that are in these ranges of the file. Reading all of them may take
    /// hours, and a single look-up in a full open table as long as going through the table.
    fn mark_old(&mut self, ranges: Vec<Range<u64>>, intake: &Intake<'_>) -> Result<u64, Halt> {
        let (table, old) = (&self.table, &mut self.old);
        let mut n_old = 0;
        for range in ranges {
            self.disk.for_each(range, &mut |key| {
                intake.go_on()?;
                if let Some(place) = table.find(key) {
                    let (word, bit) = (&mut old[place / 64], 1 << (place % 64));
                    n_old += u64::from(*word & bit == 0);
                    *word |= bit;
                }
                Ok::<(), Halt>(())
            })?;
        }
        Ok(n_old)
    }

    fn admit_new(&mut self, intake: &mut Intake<'_>) -> Result<(), Halt> {
        loop {
            intake.go_on()?;
            self.record.clear();
            if !self.unchecked.pop_onto(&mut self.record)? {
                return Ok(());
            }
            let (state, parent) = self.record.split_at(self.record.len() - PARENT_BYTES);
            let key = intake.signatures.key(state);
            let place = self.table.find(key);
            let place = place.expect("what is unchecked is in the table");
            if self.old[place / 64] >> (place % 64) & 1 == 0 {
                self.disk.push(key)?;
                intake.admit(state, decode_parent(parent))?;
            }
        }
    }
}

impl<T: KeyTable, R: Reading> Memory for Delayed<T, R> {
    fn offer(&mut self, state: &[u8], parent: Parent, intake: &mut Intake<'_>) -> Result<(), Halt> {
        let mut inserted = self.table.insert(intake.signatures.key(state));
        if inserted == Inserted::Full {
            self.check(intake)?;
            inserted = self.table.insert(intake.signatures.key(state));
        }
        if let Inserted::New(_) = inserted {
            self.record.clear();
            self.record.extend_from_slice(state);
            self.record.extend_from_slice(&encode_parent(parent));
            self.unchecked.push(&self.record)?;
        }
        Ok(())
    }

    fn end_layer(&mut self, _: u32, intake: &mut Intake<'_>) -> Result<(), Halt> {
        self.check(intake)
    }

    fn data_bytes(&self) -> u64 {
        let old = self.old.len() as u64 * 8;
        self.table.data_bytes() + self.unchecked.data_bytes() + old
    }

    fn forgot(&self) -> bool {
        self.reading.forgot()
    }

    fn detecting(&self) -> Option<f64> {
        Some(self.seconds)
    }

    fn duplicates(&self) -> (u64, u64) {
        (0, self.n_old)
    }

    fn tell(&mut self, told: &Told, stats: &mut Stats) {
        self.reading.tell(told, stats);
    }
}
