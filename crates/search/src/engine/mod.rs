//! The engine: expands states window by window and stores their successors.
//!
//! One step of it: the [window](crate::window) makes candidates on all threads; the
//! [storage](crate::storage) decides which are new, or, on disk, keeps them until the rank is
//! expanded; sinks receive states and edges; expanded states are forgotten; and merging and flushing
//! continue in the background of the search.
//! What is expanded next, and when the search ends, is up to its caller, the
//! [search by ranks](crate::ranked).

mod admission;
mod checkpointing;
mod deferring;
mod graph;
mod memory;
mod reopening;
mod sending;

pub(crate) use graph::{Joining, Shares};
pub(crate) use reopening::{Closed, Reopening};

use std::ops::{ControlFlow, Range};
use std::time::Instant;

use hadal_model::{Allowance, Remark, Shape, Stop};
use hadal_store::damaged_log;
use hadal_store::key_space::KeySpace;

use crate::budget::Budget;
use crate::external::{DiskContext, RunMonitor, SurvivorBatch};
use crate::graph::GraphLog;
use crate::pool::Pool;
use crate::progress::Gauge;
use crate::rank::{MeasureColumns, OpenRanks, Rank, RankOrder};
use crate::sink::{EdgesWanted, Sink, SinkHandle};
use crate::storage::{StateLog, Storage};
use crate::window::{BlockSource, Filled, Ranking, Room, Task, Unranked, Window};
use crate::worker::Worker;
use crate::{DiskUse, Error, SearchFolder, Seconds};

/// What all parts of a search refer to.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) shape: &'a Shape,
    pub(crate) stop: &'a Stop,
    pub(crate) allowance: &'a Allowance,
    pub(crate) gauge: &'a Gauge,
    pub(crate) monitor: &'a RunMonitor<'a>,
    pub(crate) keys: &'a KeySpace,
    pub(crate) budget: &'a Budget,
    /// Where states may go when memory ends.
    pub(crate) folder: Option<&'a SearchFolder>,
    pub(crate) order: &'a dyn RankOrder,
}

impl Context<'_> {
    /// The error for a state without a rank.
    fn error_of(&self, unranked: &Unranked) -> Error {
        match unranked {
            Unranked::TooCostly => Error::TooCostly,
            Unranked::Unmeasured(number, message) => Error::Unmeasured {
                measure: (self.shape.measures.get(*number as usize))
                    .map_or_else(String::new, |measure| measure.name.clone()),
                message: message.clone(),
            },
        }
    }
}

/// A search between two windows.
pub(crate) struct Engine<'a, 'm> {
    pub(crate) context: Context<'a>,
    pool: &'a Pool<'m>,
    window: Window<'a>,
    pub(crate) storage: Storage<'a>,
    pub(crate) states: StateLog,
    /// Candidates of ranks that are not next.
    open: OpenRanks,
    /// The costs of states, where they may be opened again.
    pub(crate) closed: Option<Closed>,
    /// Those of the rank that was admitted last that were opened again.
    reopened: Vec<Range<u64>>,
    columns: MeasureColumns,
    /// Buffers for promoting candidates, while storage is resident.
    batches: Vec<SurvivorBatch>,
    pub(crate) sink: SinkHandle<'a>,
    /// Whether states stay in the log after their expansion, because liveness or the costs of all of
    /// them are asked for.
    pub(crate) keeps_states: bool,
    /// The edges so far, where the sink wants the graph.
    pub(crate) graph: Option<GraphLog>,
    /// Memory of the graph that liveness needs, or of what the edges are joined in, in bytes.
    pub(crate) graph_bytes: u64,
    pub(crate) peak_bytes: u64,
    /// Bytes for which there was no space on the disk.
    pub(crate) refused_bytes: u64,
    pub(crate) seconds: Seconds,
    pub(crate) remarks: Remarks,
}

/// How an expansion ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expansion {
    /// Everything is expanded.
    Finished,
    /// The receiver of results asked for no more.
    Enough,
    /// A pause was asked for.
    Paused,
    Interrupted(Interrupt),
}

/// Why the engine cannot continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interrupt {
    /// The stop flag was raised.
    Stop,
    /// The memory budget does not allow another window.
    Memory,
}

impl<'a, 'm> Engine<'a, 'm> {
    pub(crate) fn new(
        context: Context<'a>,
        pool: &'a Pool<'m>,
        sink: Option<&'a mut dyn Sink>,
        keeps_states: bool,
    ) -> Self {
        let sink = SinkHandle(sink);
        let with_costs = context.order.needs_costs() || sink.wants_costs();
        let may_reopen = context.order.may_reopen();
        let Context { shape, keys, .. } = context;
        let mut window = Window::new(shape, keys, context.budget.window, with_costs);
        let is_graph = sink.wants_edges() == EdgesWanted::Graph;
        if is_graph {
            window = window.with_multiplicities();
        }
        let n_batches = context.budget.survivor_batches;
        let ample_bytes = context.budget.ample_bytes();
        // Of states whose hashes collide only one is stored, and has an ordinal.
        let with_ordinals = sink.wants_edges() == EdgesWanted::WithOrdinals
            && context.order.is_depth()
            && keys.hashing.is_none();
        Engine {
            window,
            pool,
            storage: Storage::resident(shape, keys, with_ordinals, ample_bytes),
            states: StateLog::default(),
            open: OpenRanks::default(),
            closed: may_reopen.then(Closed::default),
            reopened: Vec::new(),
            columns: MeasureColumns::new(shape),
            batches: (0..n_batches).map(|_| SurvivorBatch::new(shape)).collect(),
            sink,
            // What is indexed is read again.
            keeps_states: keeps_states || may_reopen,
            graph: is_graph.then(GraphLog::default),
            graph_bytes: 0,
            peak_bytes: 0,
            refused_bytes: 0,
            seconds: Seconds::default(),
            remarks: Remarks::default(),
            context,
        }
    }

    /// Expands everything in `source`, of this rank, and admits the successors. `each` is called with
    /// every task in order, and decides whether to continue; a task whose buffer was full is passed
    /// again.
    ///
    /// When `pause` returns true, no further block is started, and the call returns when the last
    /// one is done; it can be continued with what is left in `source`.
    pub(crate) fn expand(
        &mut self,
        source: &mut BlockSource,
        rank: Option<Rank>,
        pause: &dyn Fn() -> bool,
        each: &mut dyn FnMut(&Task) -> bool,
    ) -> Result<Expansion, Error> {
        loop {
            let ranking = Ranking {
                order: self.context.order,
                columns: self.columns,
                from: rank,
            };
            let ranking = (!ranking.order.is_depth()).then_some(ranking);
            let step = self.next_window(source, pause(), |window, pool| {
                window.expand(pool, ranking.as_ref());
            })?;
            if let ControlFlow::Break(end) = step {
                return Ok(end);
            }
            let mut interrupt = self.widen_keys()?;
            if interrupt.is_none() {
                interrupt = self.admit(rank)?;
            }
            if let Some(interrupt) = interrupt {
                return Ok(Expansion::Interrupted(interrupt));
            }
            let mut unranked = None;
            let go_on = self.window.ready().iter().all(|task| {
                unranked = task.ranks.unranked.as_ref();
                unranked.is_none() && each(task)
            });
            if let Some(unranked) = unranked {
                return Err(self.context.error_of(unranked));
            }
            self.window.retire_ready();
            self.forget_expanded(source)?;
            self.work_in_background(source)?;
            self.report_progress();
            if !go_on {
                return Ok(Expansion::Enough);
            }
        }
    }

    /// Expands everything in `source` without storing successors: `work` is done with each task, on
    /// all threads. `each` is called with the tasks and the results in order, and decides whether to
    /// continue.
    pub(crate) fn revisit<T: Send>(
        &mut self,
        source: &mut BlockSource,
        work: impl Fn(&mut Task, &mut Worker<'m>) -> T + Sync,
        each: &mut dyn FnMut(&Task, T) -> bool,
    ) -> Result<Expansion, Error> {
        loop {
            let mut results = Vec::new();
            let step = self.next_window(source, false, |window, pool| {
                results = window.map_unexpanded(pool, &work);
            })?;
            if let ControlFlow::Break(end) = step {
                return Ok(end);
            }
            let mut tasks = self.window.ready().iter().zip(results);
            let go_on = tasks.all(|(task, result)| each(task, result));
            self.window.retire_ready();
            // What was read again from the disk is not needed any more.
            if let Some(first) = self.window.first_needed(source) {
                self.states.records.evict_before(first);
            }
            self.report_progress();
            if !go_on {
                return Ok(Expansion::Enough);
            }
        }
    }

    /// Fills the window and lets `work` run on it. Breaks at the end of `source`, or if the engine
    /// cannot continue.
    fn next_window(
        &mut self,
        source: &mut BlockSource,
        is_pause: bool,
        work: impl FnOnce(&mut Window<'a>, &Pool<'m>),
    ) -> Result<ControlFlow<Expansion>, Error> {
        let interrupted = |by| Ok(ControlFlow::Break(Expansion::Interrupted(by)));
        if !is_pause && self.fill(source)? == Filled::NoMemory {
            return interrupted(Interrupt::Memory);
        }
        if self.window.is_empty() {
            return Ok(ControlFlow::Break(match is_pause {
                true => Expansion::Paused,
                false => Expansion::Finished,
            }));
        }
        let since = Instant::now();
        work(&mut self.window, self.pool);
        self.seconds.expand += since.elapsed().as_secs_f64();
        if !self.window.is_intact() {
            return Err(damaged_log("states").into());
        }
        if self.is_stopped() {
            self.note_large_step();
            return interrupted(Interrupt::Stop);
        }
        self.collect_remarks()?;
        Ok(ControlFlow::Continue(()))
    }

    /// Assigns blocks to tasks as far as memory allows.
    fn fill(&mut self, source: &mut BlockSource) -> Result<Filled, Error> {
        if self.context.shape.expander_bytes > 0 {
            self.lend_to_expanders();
        }
        let room = Room {
            bytes: self.headroom(),
            // With a disk one task continues without memory, and the rest follows from that.
            is_one_free: self.context.folder.is_some(),
        };
        let n_threads = self.pool.n_threads();
        let log = &mut self.states.records;
        self.window.fill(source, log, n_threads, room)
    }

    /// Gives up the states that are expanded: the set has their keys, and paths are replayed.
    fn forget_expanded(&mut self, source: &BlockSource) -> Result<(), Error> {
        let Some(first) = self.window.first_needed(source) else {
            return Ok(());
        };
        match &self.storage {
            Storage::External(external) => external.retire_before(first, &mut self.states),
            Storage::Resident(_) if self.keeps_states => Ok(()),
            Storage::Resident(_) if self.graph.is_some() => {
                self.states.records.evict_before(first);
                Ok(())
            }
            Storage::Resident(_) => {
                // A later run needs records that are in no run on disk yet.
                match self.context.folder {
                    Some(folder) if folder.resumable => self.states.records.drop_before(first),
                    _ => self.states.records.retire_before(first)?,
                }
                Ok(())
            }
        }
    }

    /// Merges runs, or flushes the set before memory ends, as far as that is due.
    fn work_in_background(&mut self, source: &BlockSource) -> Result<(), Error> {
        let since = Instant::now();
        match &mut self.storage {
            Storage::External(external) => {
                if let BlockSource::States(left) = source {
                    external.merge_runs(left.start)?;
                }
            }
            // Keys that are admitted from the log of a rank are not gathered for flushed partitions.
            Storage::Resident(_) if self.context.order.is_depth() => return self.flush_early(),
            Storage::Resident(_) => return Ok(()),
        }
        self.seconds.merge += since.elapsed().as_secs_f64();
        Ok(())
    }

    pub(crate) fn report_progress(&mut self) {
        let folder = self
            .context
            .folder
            .map(|search_folder| &search_folder.folder);
        let disk_bytes = folder.map_or(0, |folder| folder.statistics().disk_bytes);
        let data_bytes = self.held().total();
        self.peak_bytes = self.peak_bytes.max(data_bytes);
        let gauge = self.context.gauge;
        gauge.note_window(self.states.len(), data_bytes, disk_bytes);
    }

    /// The first state from which a search that is stopped now can resume.
    pub(crate) fn first_left(&self, source: &BlockSource) -> Option<u64> {
        self.window.first_left(source)
    }

    /// The context of work on disk, if there is one.
    pub(crate) fn disk_context(&self) -> Option<DiskContext<'a>> {
        let Context {
            shape,
            monitor,
            keys,
            budget,
            folder,
            ..
        } = self.context;
        let SearchFolder {
            folder, resumable, ..
        } = folder?;
        let graph = (self.graph.as_ref()).map_or(0, |_| GraphLog::share(budget));
        let closed = (self.closed.as_ref()).map_or(0, |_| Closed::share(budget.total_bytes));
        let window = self.window.full_bytes() + self.window.multiplicity_bytes();
        let fixed = window + keys.codec.data_bytes() + folder.data_bytes() + graph + closed;
        Some(DiskContext {
            shape,
            folder,
            keys,
            n_threads: budget.n_threads,
            durable: *resumable,
            keeps_log: self.keeps_log(),
            shares: budget.shares(fixed),
            monitor,
        })
    }

    /// Whether states stay in the log after their expansion.
    fn keeps_log(&self) -> bool {
        self.keeps_states || self.graph.is_some()
    }

    /// Ends the search: deletes what was flushed for nothing.
    pub(crate) fn end(&mut self) {
        let folder = self
            .context
            .folder
            .map(|search_folder| &search_folder.folder);
        if let Storage::Resident(resident) = &mut self.storage {
            // Files that stay are deleted with the folder, or when it is opened next.
            let _ = resident.give_up_flushing(folder);
        }
        if let Some(folder) = folder {
            let _ = folder.wait_for_deletions();
        }
    }

    /// Disk traffic so far.
    pub(crate) fn disk_use(&self) -> DiskUse {
        let Some(search_folder) = self.context.folder else {
            return DiskUse::default();
        };
        let statistics = search_folder.folder.statistics();
        let (deferred_ranks, roll_backs) = match &self.storage {
            Storage::External(external) => external.deferral.counts(),
            Storage::Resident(_) => (0, 0),
        };
        DiskUse {
            peak_bytes: statistics.peak_disk_bytes,
            read_bytes: statistics.read_bytes,
            written_bytes: statistics.written_bytes,
            used_bytes: statistics.disk_bytes,
            refused_bytes: self.refused_bytes,
            deferred_ranks,
            saved_states: 0,
            roll_backs,
        }
    }

    /// Seconds that threads have waited for the disk.
    pub(crate) fn io_wait(&self) -> f64 {
        let waited =
            |search_folder: &SearchFolder| search_folder.folder.statistics().waited.as_secs_f64();
        self.context.folder.map_or(0.0, waited)
    }

    fn is_stopped(&self) -> bool {
        self.context.stop.is_raised() || self.window.is_stopped()
    }

    /// Keeps the step for which an expander had no memory, if there is one.
    fn note_large_step(&mut self) {
        let tasks = self.window.active().iter_mut();
        let mut remarks = tasks.flat_map(|task| std::mem::take(&mut task.kernel.remarks));
        let step = remarks.find(|remark| matches!(remark, Remark::LargeStep { .. }));
        self.remarks.large_step = step;
    }

    fn collect_remarks(&mut self) -> Result<(), Error> {
        let tasks = self.window.active().iter_mut();
        let mut remarks = tasks.flat_map(|task| std::mem::take(&mut task.kernel.remarks));
        remarks.try_for_each(|remark| self.remarks.add(remark))
    }
}

/// What a person should know.
#[derive(Default)]
pub(crate) struct Remarks {
    /// Candidates of the most expensive canonical form.
    most_candidates: Option<u64>,
    large_step: Option<Remark>,
}

impl Remarks {
    /// Keeps a remark; a broken symmetry ends the search.
    fn add(&mut self, remark: Remark) -> Result<(), Error> {
        match remark {
            Remark::BrokenSymmetry { rule, message } => {
                Err(Error::BrokenSymmetry { rule, message })
            }
            Remark::AsymmetricStarts { message } => Err(Error::AsymmetricStarts { message }),
            Remark::LargeStep { .. } => {
                self.large_step = Some(remark);
                Ok(())
            }
            Remark::ExpensiveCanonicalForm { candidates } => {
                self.most_candidates = self.most_candidates.max(Some(candidates));
                Ok(())
            }
        }
    }

    /// All of them.
    pub(crate) fn to_vec(&self) -> Vec<Remark> {
        let expensive = |candidates| Remark::ExpensiveCanonicalForm { candidates };
        let expensive = self.most_candidates.map(expensive);
        expensive
            .into_iter()
            .chain(self.large_step.clone())
            .collect()
    }
}
