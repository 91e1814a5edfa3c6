//! External storage: visited states are in sorted runs on disk, and the set in memory is a cache of
//! recent ones.
//!
//! A rank is then processed in three steps. Successors that the cache does not know are *candidates*:
//! new, or older than the cache remembers. They are logged in the order of generation
//! ([`CandidateLog`]), and their keys are partitioned into buckets ([`Candidates`]). When the rank is expanded, the buckets are sorted one after the other; of equal
//! candidates the first counts, and those in older runs are dropped ([`resolve()`]). Those left are
//! the *survivors*: they become a run ([`Tiers`]), and a pass over the log promotes them to states
//! with the ordinals that they would have had in memory ([`SurvivorBatch`]).
//!
//! Old runs may be skipped for some ranks ([`Deferral`]).
//!
//! The sizes of cache, buffers, buckets and slices depend on memory and change no result.

mod candidates;
mod context;
mod deferral;
mod resolve;
mod survivor_batch;

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use hadal_model::{Flow, Shape, Stop};
use hadal_store::candidate_log::CandidateLog;
use hadal_store::candidates::Bitmap;
use hadal_store::codec::Recoder;
use hadal_store::key_space::{KeySpace, recode};
use hadal_store::tiers::Tiers;
use hadal_store::{Keys, Set, damaged_log};

use crate::budget::{Held, retention};
use crate::engine::{Interrupt, Reopening};
use crate::pool::Pool;
use crate::progress::Gauge;
use crate::storage::{StateLog, insert};
use crate::window::Task;
use crate::{Duplicates, Error, Seconds};
use candidates::Candidates;
use deferral::Deferral;
use resolve::resolve;

pub(crate) use context::{DiskContext, RunMonitor, is_nearly_full};
pub(crate) use survivor_batch::SurvivorBatch;

/// Storage of a search whose states are on disk.
pub(crate) struct External<'a> {
    pub(crate) disk: DiskContext<'a>,
    /// Keys of recent states and candidates.
    cache: Set,
    cache_bytes: u64,
    pub(crate) tiers: Tiers,
    pub(crate) candidates: Candidates,
    pub(crate) deferral: Deferral,
    /// Pieces of candidates that are promoted at once.
    batches: Vec<SurvivorBatch>,
}

impl<'a> External<'a> {
    /// Makes `set` the cache, and moves logs to disk. `tiers` has all keys of the set.
    pub(crate) fn new(
        set: Set,
        tiers: Tiers,
        states: &mut StateLog,
        batches: Vec<SurvivorBatch>,
        disk: DiskContext<'a>,
    ) -> Result<Self, Error> {
        set.begin_cache(disk.shares.cache);
        states.parents.attach(disk.folder)?;
        let retention = disk.state_retention(disk.shares.frontier);
        match states.records.is_attached() {
            true => states.records.set_retention(retention),
            false => states.records.attach(disk.folder.clone(), retention)?,
        }
        Ok(External {
            cache_bytes: set.data_bytes(),
            cache: set,
            tiers,
            candidates: Candidates::new(&disk)?,
            deferral: Deferral::default(),
            batches,
            disk,
        })
    }

    /// Adds what is held to its accounts.
    pub(crate) fn add_held(&self, held: &mut Held) {
        held.set += self.cache_bytes;
        held.runs += self.tiers.memory_bytes();
        held.candidates += self.candidates.memory_bytes();
        held.logs += self.deferral.memory_bytes();
        held.batches += batches_bytes(&self.batches);
    }

    /// Takes the candidates of `tasks` that the cache does not know.
    pub(crate) fn admit(&mut self, tasks: &mut [Task], pool: &Pool<'_>) -> Result<(), Error> {
        let disk = self.disk;
        let cells: Vec<&Keys> = tasks.iter().map(|task| &task.keys.cells).collect();
        insert(&self.cache, &cells, pool, |task, at| {
            tasks[task].mark_new(at)
        });
        pool.each(tasks.iter_mut(), |task, _| {
            task.collect_candidates(disk.keys)
        });
        let mut next = self.candidates.numbers().end;
        for task in &mut *tasks {
            task.first_survivor = next;
            next += task.n_survivors() as u64;
        }
        let n_candidates = (next - self.candidates.numbers().end) as usize;
        self.candidates
            .make_room(n_candidates, &self.tiers, &disk)?;
        let Candidates { log, buffers, .. } = &mut self.candidates;
        let tasks = &*tasks;
        let logged = pool.each_while(
            tasks.iter(),
            |task, worker| {
                buffers.partition(worker.number, task.survivor_keys(), task.first_survivor);
            },
            || {
                tasks
                    .iter()
                    .try_for_each(|task| log.append(task.batch(), task.n_survivors()))
            },
        );
        Ok(logged?)
    }

    /// Finds the new states among the candidates and appends them to `states`, and behind them those
    /// that are opened again. `each` is called with every batch of them, in order, and the ordinal of
    /// its first state. Also returns the states that were opened again.
    pub(crate) fn resolve(
        &mut self,
        states: &mut StateLog,
        reopening: Option<Reopening<'_>>,
        pool: &Pool<'_>,
        seconds: &mut Seconds,
        duplicates: &mut Duplicates,
        each: &mut dyn FnMut(u64, &mut SurvivorBatch) -> Result<(), Error>,
    ) -> Result<(Option<Interrupt>, Range<u64>), Error> {
        let nothing = |halt| (halt, states.len()..states.len());
        if self.candidates.len() == 0 {
            return Ok(nothing(None));
        }
        let since = Instant::now();
        let disk = self.disk;
        self.candidates.end_rank(&self.tiers, &disk)?;
        let resolved = resolve(&self.candidates, &self.tiers, reopening, &disk)?;
        if disk.stop().is_raised() {
            return Ok(nothing(Some(Interrupt::Stop)));
        }
        duplicates.layer += resolved.n_equal;
        duplicates.disk += resolved.n_old - resolved.n_cheaper;
        let (n_candidates, numbers) = (self.candidates.len(), self.candidates.numbers());
        (self.deferral).note_rank(n_candidates, resolved.n_old, &self.tiers);
        self.deferral.set_log_aside(states, &disk)?;
        seconds.merge += since.elapsed().as_secs_f64();

        let since = Instant::now();
        let promoted = Promotion {
            log: &mut self.candidates.log,
            batches: &mut self.batches,
            candidates: numbers,
            shape: disk.shape,
            keys: disk.keys,
            stop: disk.stop(),
            gauge: disk.gauge(),
        }
        .run_twice(&resolved.is_new, resolved.cheaper(), states, pool, each)?;
        if promoted.0.is_some() {
            return Ok(promoted);
        }
        seconds.check += since.elapsed().as_secs_f64();

        let since = Instant::now();
        // Candidates are deleted first, so that the disk has space for larger runs.
        self.candidates.clear(resolved.sample, &disk)?;
        self.tiers.push(resolved.tier, &disk.runs())?;
        disk.gauge().end_work();
        seconds.merge += since.elapsed().as_secs_f64();
        Ok(promoted)
    }

    /// Continues merging runs as far as states have been expanded since it started.
    pub(crate) fn merge_runs(&mut self, n_expanded: u64) -> Result<(), Error> {
        let n_meanwhile = self.disk.gauge().frontier();
        self.tiers
            .keep_up(n_expanded, n_meanwhile, &self.disk.runs())?;
        if self.disk.is_nearly_full() {
            self.tiers.squeeze(&self.disk.runs())?;
        }
        Ok(())
    }

    /// Starts to merge runs where there are too many.
    pub(crate) fn balance_runs(&mut self) -> Result<(), Error> {
        Ok(self.tiers.balance(&self.disk.runs())?)
    }

    /// Recodes the cache and continues with keys of the newest layout. Returns the most memory that
    /// the cache took meanwhile, in bytes.
    pub(crate) fn widen(&mut self, recoder: Option<Recoder<'_>>) -> Result<u64, Error> {
        let mut most_bytes = self.cache_bytes;
        if let Some(recoder) = recoder {
            let n_bits = self.disk.keys.shape().n_bits;
            let recode = |key: &[u64], recoded: &mut [u64]| recode(&recoder, key, recoded);
            most_bytes = self.cache.recode(n_bits, 0, 1, recode);
        }
        self.cache_bytes = self.cache.data_bytes();
        self.candidates.set_shape(&self.disk)?;
        Ok(most_bytes)
    }

    /// Continues with the shares of `disk`: window and codec take more than before, and leave less.
    pub(crate) fn set_shares(&mut self, disk: DiskContext<'a>, states: &mut StateLog) {
        let before = std::mem::replace(&mut self.disk, disk).shares;
        let shares = disk.shares;
        if shares.cache < before.cache {
            self.cache.begin_cache(shares.cache);
            self.cache_bytes = self.cache.data_bytes();
        }
        // What is set aside for a roll back takes part of the share.
        let frontier = (shares.frontier).saturating_sub(self.deferral.memory_bytes());
        (states.records).set_retention(disk.state_retention(frontier));
        (self.candidates.log).set_retention(retention(shares.candidates, disk.durable));
    }

    /// Gives up the states before `first`, which are expanded, unless a roll back or the graph needs
    /// them.
    pub(crate) fn retire_before(&self, first: u64, states: &mut StateLog) -> Result<(), Error> {
        match self.deferral.needs_log() || self.disk.keeps_log {
            true => states.records.evict_before(first),
            false => states.records.retire_before(first)?,
        }
        Ok(())
    }
}

/// Memory of some batches, in bytes.
pub(crate) fn batches_bytes(batches: &[SurvivorBatch]) -> u64 {
    batches.iter().map(SurvivorBatch::memory_bytes).sum()
}

/// Promotes candidates of a log to states, some pieces at a time: while one half of the batches is
/// worked on, the other half is read.
pub(crate) struct Promotion<'p> {
    pub(crate) log: &'p mut CandidateLog,
    pub(crate) batches: &'p mut [SurvivorBatch],
    /// The candidates to come.
    pub(crate) candidates: Range<u64>,
    pub(crate) shape: &'p Shape,
    pub(crate) keys: &'p KeySpace,
    pub(crate) stop: &'p Stop,
    pub(crate) gauge: &'p Gauge,
}

/// A pass over candidates.
#[derive(Clone, Copy)]
struct Pass {
    /// Whether properties were evaluated on its states before.
    is_again: bool,
    /// Whether another pass follows.
    is_read_again: bool,
}

/// Receives batches of promoted states, with the ordinal of the first.
type Promoted<'p> = dyn FnMut(u64, &mut SurvivorBatch) -> Result<(), Error> + 'p;

impl Promotion<'_> {
    /// Promotes the candidates whose bit in `is_new` is set, and then those whose bit in `cheaper` is:
    /// their states are opened again. Returns what halted it, and the ordinals of the latter.
    pub(crate) fn run_twice(
        mut self,
        is_new: &Bitmap,
        cheaper: Option<&Bitmap>,
        states: &mut StateLog,
        pool: &Pool<'_>,
        each: &mut Promoted<'_>,
    ) -> Result<(Option<Interrupt>, Range<u64>), Error> {
        let candidates = self.candidates.clone();
        let is_read_again = cheaper.is_some();
        let mut halt = self.run(
            is_new,
            Pass {
                is_again: false,
                is_read_again,
            },
            states,
            pool,
            each,
        )?;
        let first = states.len();
        if let Some(cheaper) = cheaper
            && halt.is_none()
        {
            self.candidates = candidates;
            let pass = Pass {
                is_again: true,
                is_read_again: false,
            };
            halt = self.run(cheaper, pass, states, pool, each)?;
        }
        Ok((halt, first..states.len()))
    }

    /// Promotes the candidates whose bit in `chosen` is set.
    fn run(
        &mut self,
        chosen: &Bitmap,
        pass: Pass,
        states: &mut StateLog,
        pool: &Pool<'_>,
        each: &mut Promoted<'_>,
    ) -> Result<Option<Interrupt>, Error> {
        let batches = std::mem::take(&mut self.batches);
        let halt = self.run_with(batches, chosen, pass, states, pool, each);
        self.batches = batches;
        halt
    }

    fn run_with(
        &mut self,
        batches: &mut [SurvivorBatch],
        chosen: &Bitmap,
        pass: Pass,
        states: &mut StateLog,
        pool: &Pool<'_>,
        each: &mut Promoted<'_>,
    ) -> Result<Option<Interrupt>, Error> {
        let Promotion {
            shape,
            keys,
            stop,
            gauge,
            ..
        } = *self;
        let half = batches.len().div_ceil(2);
        let (mut current, mut ahead) = batches.split_at_mut(half);
        let mut n_current = self.read(current, pass)?;
        while n_current > 0 {
            let working = &mut current[..n_current];
            let n_ahead = pool.each_while(
                working.iter_mut(),
                |batch, worker| batch.promote(chosen, !pass.is_again, keys, shape, worker),
                || self.read(ahead, pass),
            );
            gauge.note_resolved(self.candidates.start);
            for batch in working {
                if batch.flow == Flow::Stopped || stop.is_raised() {
                    return Ok(Some(Interrupt::Stop));
                }
                if !batch.is_intact {
                    return Err(damaged_log("candidates").into());
                }
                let first = states.len();
                let records = Arc::clone(&batch.records);
                (states.records).append(records, batch.n_new, batch.version)?;
                states.parents.append(&batch.parents)?;
                // Only now: what is reported must have a path, and the disk may have been full.
                each(first, batch)?;
            }
            n_current = n_ahead?;
            std::mem::swap(&mut current, &mut ahead);
        }
        Ok(None)
    }

    /// Reads the next pieces into `batches`; returns how many there were.
    fn read(&mut self, batches: &mut [SurvivorBatch], pass: Pass) -> Result<usize, Error> {
        let mut n_read = 0;
        for batch in batches {
            if self.candidates.is_empty() {
                break;
            }
            let first = self.candidates.start;
            let Some(piece) = self.log.read_piece(first)? else {
                break;
            };
            self.candidates.start += piece.n_records() as u64;
            match pass.is_read_again {
                true => self.log.evict_piece(first),
                false => self.log.retire_before(self.candidates.start)?,
            }
            batch.assign(piece, first);
            n_read += 1;
        }
        Ok(n_read)
    }
}
