//! Admission: what becomes of the candidates of a window, and of a rank.
//!
//! While all states are in memory and ranks are depths, a candidate is looked up at once and the new
//! ones are states. On disk, candidates are collected and resolved when their rank is complete. With
//! any other order of ranks, candidates wait in a queue by rank.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use hadal_store::candidate_log::keys_of_piece;
use hadal_store::candidates::Bitmap;
use hadal_store::key_space::KeySpace;
use hadal_store::{Keys, Log, Placing, Slice, damaged_log};

use super::{Closed, Context, Engine, Interrupt, Remarks};
use crate::external::{Promotion, SurvivorBatch};
use crate::progress::Work;
use crate::rank::Rank;
use crate::sink::SinkHandle;
use crate::storage::{Storage, growth_bytes, insert};
use crate::window::Task;
use crate::worker::Worker;
use crate::{Duplicates, Error};

/// Receives the new states of a rank, batch by batch, with the ordinal of the first.
pub(crate) type EachBatch<'e> = dyn FnMut(u64, &SurvivorBatch) + 'e;

impl Engine<'_, '_> {
    /// Takes the candidates of the ready tasks, whose sources have the rank `from`.
    pub(super) fn admit(&mut self, from: Option<Rank>) -> Result<Option<Interrupt>, Error> {
        let halt = match self.context.order.is_depth() {
            true => self.admit_next(next_depth(from))?,
            false => self.admit_open()?,
        };
        if halt.is_none() {
            self.send_edges()?;
        }
        Ok(halt)
    }

    /// Takes candidates of the next rank, `next`.
    fn admit_next(&mut self, next: Rank) -> Result<Option<Interrupt>, Error> {
        let since = Instant::now();
        let n_threads = self.pool.n_threads();
        let growth_bytes = match &self.storage {
            // A cache does not grow.
            Storage::External(_) => 0,
            Storage::Resident(resident) => {
                growth_bytes(&resident.set, &cells_of(self.window.ready()), n_threads)
            }
        };
        if !self.fits(growth_bytes) && !self.go_external()? {
            return Ok(Some(Interrupt::Memory));
        }
        match &mut self.storage {
            Storage::External(external) => {
                external.admit(self.window.ready(), self.pool)?;
                self.seconds.insert += since.elapsed().as_secs_f64();
                return Ok(None);
            }
            Storage::Resident(resident) => {
                let tasks = self.window.ready();
                insert(&resident.set, &cells_of(tasks), self.pool, |task, at| {
                    tasks[task].mark_new(at);
                });
                if growth_bytes > 0 {
                    resident.update_set_bytes();
                }
            }
        }
        self.seconds.insert += since.elapsed().as_secs_f64();

        let since = Instant::now();
        self.check_survivors();
        self.seconds.check += since.elapsed().as_secs_f64();
        if self.is_stopped() {
            return Ok(Some(Interrupt::Stop));
        }
        self.collect_remarks()?;

        let since = Instant::now();
        let halt = self.store_survivors(next)?;
        self.seconds.insert += since.elapsed().as_secs_f64();
        Ok(halt)
    }

    /// Collects the survivors of the ready tasks and evaluates the properties on them.
    fn check_survivors(&mut self) {
        let Context { keys, shape, .. } = self.context;
        let first_unflushed = match &self.storage {
            Storage::Resident(resident) => resident.first_unflushed(),
            Storage::External(_) => 0,
        };
        let check = |task: &mut Task, worker: &mut Worker<'_>| {
            task.collect_survivors(keys);
            task.collect_flushed_keys(keys, first_unflushed);
            task.check_survivors(worker, shape);
        };
        self.pool.each(self.window.ready().iter_mut(), check);
    }

    /// Gives the survivors of the ready tasks their ordinals and appends them to the log.
    fn store_survivors(&mut self, rank: Rank) -> Result<Option<Interrupt>, Error> {
        let (mut next, mut log_bytes) = (self.states.len(), 0);
        for task in self.window.ready() {
            task.first_survivor = next;
            next += task.n_survivors() as u64;
            log_bytes += Log::bytes_for(task.records().len());
        }
        let n_survivors = next - self.states.len();
        let parent_bytes = self.states.parents.growth_bytes(n_survivors);
        // With a disk, the reserve for sorting has room for this.
        if !self.fits(log_bytes + parent_bytes) && self.context.folder.is_none() {
            return Ok(Some(Interrupt::Memory));
        }
        let version = self.context.keys.codec.newest().version;
        for task in self.window.ready() {
            let records = Arc::clone(task.records());
            (self.states.records).append(records, task.n_survivors(), version)?;
            self.states.parents.append(task.parents())?;
        }
        self.send_survivors(rank)?;
        let disk = self.disk_context();
        if let (Storage::Resident(resident), Some(disk)) = (&mut self.storage, disk) {
            resident.gather(self.window.ready(), &disk)?;
        }
        Ok(None)
    }

    /// Queues candidates by rank.
    fn admit_open(&mut self) -> Result<Option<Interrupt>, Error> {
        if !self.fits(0) && !self.go_external()? {
            return Ok(Some(Interrupt::Memory));
        }
        let keys = self.context.keys;
        for task in self.window.ready() {
            self.open.append(task, keys)?;
        }
        Ok(None)
    }

    /// Finds the states of the rank that follows `rank`; `each` is called with those that were not
    /// reported with a task. Returns that rank; if there is no new state, nothing is left.
    pub(crate) fn advance(
        &mut self,
        rank: Option<Rank>,
        duplicates: &mut Duplicates,
        each: &mut EachBatch<'_>,
    ) -> Result<Result<Rank, Interrupt>, Error> {
        if self.context.order.is_depth() {
            let next = next_depth(rank);
            let halt = self.resolve(next, None, duplicates, each)?;
            return Ok(halt.map_or(Ok(next), Err));
        }
        let n_before = self.states.len();
        self.reopened.clear();
        let mut next = rank.unwrap_or_default();
        while self.states.len() == n_before
            && let Some(rank) =
                self.open
                    .pop_first(self.context.keys, self.popped_bytes(), self.context.stop)?
        {
            next = rank;
            // Then candidates may be missing.
            if self.is_stopped() {
                return Ok(Err(Interrupt::Stop));
            }
            let halt = self.admit_rank(rank, duplicates, each)?;
            self.note_closed(rank);
            if let Some(halt) = halt {
                return Ok(Err(halt));
            }
        }
        Ok(Ok(next))
    }

    /// Resolves the candidates of `rank`, where storage is external. A path that costs `to_reopen` may
    /// be cheaper than another to the same state, if that is given.
    fn resolve(
        &mut self,
        rank: Rank,
        to_reopen: Option<u64>,
        duplicates: &mut Duplicates,
        each: &mut EachBatch<'_>,
    ) -> Result<Option<Interrupt>, Error> {
        let Storage::External(external) = &mut self.storage else {
            return Ok(None);
        };
        let (remarks, sink) = (&mut self.remarks, &mut self.sink);
        let closed = self.closed.as_ref().zip(to_reopen);
        let (halt, reopened) = external.resolve(
            &mut self.states,
            closed.and_then(|(closed, cost)| closed.reopening(cost)),
            self.pool,
            &mut self.seconds,
            duplicates,
            &mut |first, batch| deliver(rank, first, batch, remarks, sink, each),
        )?;
        self.note_reopened(reopened);
        Ok(halt)
    }

    fn note_reopened(&mut self, states: Range<u64>) {
        if !states.is_empty() {
            self.reopened.push(states);
        }
    }

    /// The states of the rank found last that were opened again.
    pub(crate) fn reopened(&self) -> &[Range<u64>] {
        &self.reopened
    }

    /// Admits the candidates of `rank`, which was popped.
    fn admit_rank(
        &mut self,
        rank: Rank,
        duplicates: &mut Duplicates,
        each: &mut EachBatch<'_>,
    ) -> Result<Option<Interrupt>, Error> {
        let mut end = 0;
        let to_reopen = self.cost_to_reopen(rank)?;
        if let Storage::Resident(_) = &self.storage {
            let n_candidates = self.open.popped.len();
            let gauge = self.context.gauge;
            gauge.begin_work(Work::Resolving, 0, 2 * n_candidates);
            let mut found = Found::new(n_candidates, to_reopen);
            while !self.is_stopped() && self.insert_pieces(&mut end, &mut found)? {}
            if self.is_stopped() {
                return Ok(Some(Interrupt::Stop));
            }
            let n_before = self.states.len();
            let halt = self.promote(rank, end, &found, each)?;
            if halt.is_some() {
                return Ok(halt);
            }
            gauge.end_work();
            self.note_closed(rank);
            duplicates.memory += end - (self.states.len() - n_before);
            if end == n_candidates {
                self.open.take_popped().discard()?;
                return Ok(None);
            }
            // The rest did not fit. Whatever of it is equal to a state just admitted is found in
            // the runs.
            if !self.go_external()? {
                return Ok(Some(Interrupt::Memory));
            }
        }
        if let Storage::External(external) = &mut self.storage {
            let (disk, log) = (external.disk, self.open.take_popped());
            (external.candidates).load(log, end, &external.tiers, &disk)?;
        }
        // An index in memory is made again on disk.
        let to_reopen = self.cost_to_reopen(rank)?;
        self.resolve(rank, to_reopen, duplicates, each)
    }

    /// Inserts the next pieces of the popped rank, from the candidate `end` on, into the set. False
    /// at the end, or if memory does not allow it.
    fn insert_pieces(&mut self, end: &mut u64, found: &mut Found) -> Result<bool, Error> {
        let keys = self.context.keys;
        let (mut pieces, mut next) = (Vec::new(), *end);
        while pieces.len() < self.batches.len()
            && let Some(piece) = self.open.popped.read_piece(next)?
        {
            let first = next;
            next += piece.n_records() as u64;
            // It is read again when its new candidates are promoted.
            self.open.popped.evict_piece(first);
            pieces.push(Piece::new(first, piece));
        }
        self.pool
            .each(pieces.iter_mut(), |piece, _| piece.place(keys));
        if pieces.iter().any(|piece| !piece.is_intact) {
            return Err(damaged_log("candidates").into());
        }
        let cells: Vec<&Keys> = pieces.iter().map(|piece| &piece.cells).collect();
        let n_threads = self.pool.n_threads();
        let growth_bytes = match &self.storage {
            Storage::Resident(resident) => growth_bytes(&resident.set, &cells, n_threads),
            Storage::External(_) => return Ok(false),
        };
        if pieces.is_empty() || !self.fits(growth_bytes) {
            return Ok(false);
        }
        if let Storage::Resident(resident) = &mut self.storage {
            insert(&resident.set, &cells, self.pool, |piece, at| {
                found.is_new.set(pieces[piece].first + u64::from(at));
            });
            resident.update_set_bytes();
        }
        if let (Some(closed), Some(cost)) = (&mut self.closed, found.to_reopen) {
            for piece in &pieces {
                found.find_cheaper(piece, cost, keys.shape().n_words, closed)?;
            }
        }
        *end = next;
        Ok(true)
    }

    /// Promotes the candidates of the popped rank before `end` that are new or cheaper.
    fn promote(
        &mut self,
        rank: Rank,
        end: u64,
        found: &Found,
        each: &mut EachBatch<'_>,
    ) -> Result<Option<Interrupt>, Error> {
        let Context {
            shape,
            stop,
            gauge,
            keys,
            ..
        } = self.context;
        let promotion = Promotion {
            log: &mut self.open.popped,
            batches: &mut self.batches,
            candidates: 0..end,
            shape,
            keys,
            stop,
            gauge,
        };
        let (remarks, sink) = (&mut self.remarks, &mut self.sink);
        let (halt, reopened) = promotion.run_twice(
            &found.is_new,
            found.is_cheaper.as_ref(),
            &mut self.states,
            self.pool,
            &mut |first, batch| deliver(rank, first, batch, remarks, sink, each),
        )?;
        self.note_reopened(reopened);
        Ok(halt)
    }
}

/// What was found out about the candidates of a rank in memory.
struct Found {
    is_new: Bitmap,
    /// What paths of the rank cost, if that may be less than other paths to the same states.
    to_reopen: Option<u64>,
    /// The candidates that are cheaper paths to states that are known, once there is one.
    is_cheaper: Option<Bitmap>,
}

impl Found {
    fn new(n_candidates: u64, to_reopen: Option<u64>) -> Self {
        Found {
            is_new: Bitmap::new(n_candidates),
            to_reopen,
            is_cheaper: None,
        }
    }

    /// Marks the candidates in `piece` that are cheaper paths to known states; of equal ones the first.
    fn find_cheaper(
        &mut self,
        piece: &Piece,
        cost: u64,
        n_words: usize,
        closed: &mut Closed,
    ) -> Result<(), Error> {
        let Some(reopening) = closed.reopening(cost) else {
            return Ok(());
        };
        let numbered = (piece.first..).zip(piece.keys.chunks_exact(n_words));
        let mut known: Vec<(&[u64], u64)> = numbered
            .filter(|&(number, _)| !self.is_new.get(number))
            .map(|(number, key)| (key, number))
            .collect();
        known.sort_unstable();
        known.dedup_by_key(|it| it.0);
        let keys: Vec<u64> = known.iter().flat_map(|it| it.0).copied().collect();
        let mut cheaper = Vec::new();
        reopening.each_cheaper(&keys, &mut Vec::new(), |position| {
            cheaper.push(known[position]);
        })?;
        for (key, number) in cheaper {
            let n = self.is_new.len();
            self.is_cheaper
                .get_or_insert_with(|| Bitmap::new(n))
                .set(number);
            closed.lower(key, cost)?;
        }
        Ok(())
    }
}

/// Passes on a batch of new states, of this rank and from the ordinal `first` on.
fn deliver(
    rank: Rank,
    first: u64,
    batch: &mut SurvivorBatch,
    remarks: &mut Remarks,
    sink: &mut SinkHandle<'_>,
    each: &mut EachBatch<'_>,
) -> Result<(), Error> {
    (batch.remarks.drain(..)).try_for_each(|remark| remarks.add(remark))?;
    each(first, batch);
    sink.send_batch(rank, first, batch)
}

/// The depth after `rank`.
fn next_depth(rank: Option<Rank>) -> Rank {
    Rank(rank.map_or(0, |rank| rank.0 + 1))
}

/// The cells of the candidates of each task.
fn cells_of(tasks: &[Task]) -> Vec<&Keys> {
    tasks.iter().map(|task| &task.keys.cells).collect()
}

/// A piece of candidates on its way into the set.
struct Piece {
    /// Number of its first candidate.
    first: u64,
    slice: Slice,
    keys: Vec<u64>,
    cells: Keys,
    /// Whether it is what was written.
    is_intact: bool,
}

impl Piece {
    fn new(first: u64, slice: Slice) -> Self {
        Piece {
            first,
            slice,
            keys: Vec::new(),
            cells: Keys::default(),
            is_intact: true,
        }
    }

    /// Makes the keys of its candidates, and their places in the set.
    fn place(&mut self, space: &KeySpace) {
        self.is_intact = keys_of_piece(&self.slice, space, &mut self.keys).is_ok();
        if self.is_intact {
            let placing = Placing::new(space.shape().n_bits);
            self.cells.fill(placing, &self.keys);
        }
    }
}
