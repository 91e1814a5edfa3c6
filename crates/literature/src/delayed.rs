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
//! code, which detects the end of a layer by an empty queue, blurs them there.

use std::ops::Range;
use std::time::Instant;

use hadal_search::strategy::{Halt, Run};
use hadal_search::{Error, Outcome, Stats};
use hadal_store::Parent;

use crate::breadth_first::{self, Forgets, Intake, Memory, Plan};
use crate::configurable::{Flag, ParameterError};
use crate::figures::Visits;
use crate::parent_index::{PARENT_BYTES, decode_parent, encode_parent};
use crate::queue::{self, Queue};
use crate::record_dir::RecordDir;
use crate::records::Records;
use crate::signature::Signatures;
use crate::tables::{ChainedTable, Inserted, KeyTable, OpenTable};

/// Tables of candidates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TableKind {
    /// Open addressing, as the authors of `mono` had it.
    Open,
    /// Chains, which the authors of PART found to be much faster.
    #[default]
    Chained,
}

impl TableKind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            TableKind::Open => "open",
            TableKind::Chained => "chained",
        }
    }

    pub(crate) fn parse(text: &str, strategy: &str) -> Result<Self, ParameterError> {
        let mut all = [TableKind::Open, TableKind::Chained].into_iter();
        let found = all.find(|table| table.name() == text);
        let invalid = || format!("after `{strategy}:` comes `open` or `chained`");
        found.ok_or_else(|| ParameterError::Invalid(invalid()))
    }
}

/// The flag for the table.
pub(crate) const TABLE_FLAG: Flag = Flag {
    name: "table",
    value_name: Some("NAME"),
    values: &["open", "chained"],
    help: "the table of candidates: open addressing, as its authors had it, or chains, which are \
           faster when the table is nearly full [default: mono chained, local open]",
};

/// Which signatures on disk are read.
pub(crate) trait ReadPolicy {
    /// The ranges of the file to read at this check, in two rounds, and what is left out.
    fn plan(&mut self, n_signatures: u64) -> ReadPlan;

    /// What came of it.
    fn learn(&mut self, detected: Detected);

    /// Whether old states may have been taken for new ones.
    fn forgot(&self) -> bool;

    fn report(&mut self, visits: &Visits, stats: &mut Stats);
}

/// What is read at a check.
#[derive(Debug, Default)]
pub(crate) struct ReadPlan {
    pub(crate) first: Vec<Range<u64>>,
    pub(crate) then: Vec<Range<u64>>,
}

/// What a check found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Detected {
    /// Old states found by what was read first.
    pub(crate) n_old_first: u64,
    /// Old states found only by what was read then.
    pub(crate) n_old_then: u64,
}

/// Searches with this table and this way of reading.
pub(crate) fn search(
    run: &Run<'_>,
    table: TableKind,
    reading: impl ReadPolicy,
    forgets: Forgets,
    count_distinct: bool,
) -> Result<Outcome, Error> {
    let key_len = Signatures::new(run).key_len();
    // Two queues on disk, with two ends each.
    let segment_bytes = queue::segment_bytes(run) / 2;
    let table_bytes = run.options.memory_bytes - 4 * segment_bytes;
    let dir = RecordDir::new(run)?;
    let plan = Plan {
        queue_dir: dir.clone(),
        uncounted: dir.beside(),
        dir: dir.clone(),
        segment_bytes,
        forgets,
        count_distinct,
    };
    let record_len = run.shape.state_len + PARENT_BYTES;
    let unchecked = Queue::new(&dir, record_len, segment_bytes);
    let disk = dir.records(key_len)?;
    let rest = (unchecked, disk, dir, reading);
    match table {
        TableKind::Open => {
            let table = OpenTable::new(key_len, table_bytes);
            breadth_first::search(run, plan, Delayed::new(table, rest))
        }
        TableKind::Chained => {
            let table = ChainedTable::new(key_len, table_bytes);
            breadth_first::search(run, plan, Delayed::new(table, rest))
        }
    }
}

struct Delayed<T, R> {
    table: T,
    unchecked: Queue,
    disk: Records,
    dir: RecordDir,
    reading: R,
    /// A bit for each place of the table: whether the state there is old.
    old: Vec<u64>,
    record: Vec<u8>,
    n_old: u64,
    seconds: f64,
}

impl<T: KeyTable, R: ReadPolicy> Delayed<T, R> {
    fn new(table: T, (unchecked, disk, dir, reading): (Queue, Records, RecordDir, R)) -> Self {
        Delayed {
            table,
            unchecked,
            disk,
            dir,
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
        let pauses = |this: &Self, intake: &Intake<'_>| {
            this.dir.io().as_secs_f64() + intake.evaluator.seconds
        };
        let before = pauses(self, intake);
        self.old.clear();
        self.old.resize(self.table.places().div_ceil(64), 0);
        let read_plan = self.reading.plan(self.disk.len());
        let n_old_first = self.mark_old(read_plan.first, intake)?;
        let n_old_then = self.mark_old(read_plan.then, intake)?;
        self.n_old += n_old_first + n_old_then;
        self.admit_new(intake)?;
        self.table.clear();
        self.seconds += since.elapsed().as_secs_f64() - (pauses(self, intake) - before);
        self.reading.learn(Detected {
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
                intake.check_stop()?;
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
            intake.check_stop()?;
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

impl<T: KeyTable, R: ReadPolicy> Memory for Delayed<T, R> {
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

    fn report(&mut self, visits: &Visits, stats: &mut Stats) {
        self.reading.report(visits, stats);
    }
}
