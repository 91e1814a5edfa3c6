//! The window executor: expands blocks of states on all threads and hands their successors on in
//! order.
//!
//! A window of blocks is expanded in parallel. The blocks at its front whose successors are complete
//! are *ready*: up to and including the first block whose buffer ran full, which holds up those
//! behind it until it has been continued. So candidates are handed on in the order (ordinal of the
//! parent, index of the successor) whatever the number of threads, blocks or buffers. This is what
//! makes the order of states, and with it every result, independent of those.
//!
//! The window knows no storage: what becomes of the candidates is up to the caller.

mod block_source;
mod candidate_keys;
mod ranking;
mod task;

use hadal_model::{Flow, Shape};
use hadal_store::Log;
use hadal_store::key_space::{KeySpace, KeyWidths};

use crate::Error;
use crate::budget::WindowSizes;
use crate::pool::Pool;
use crate::worker::Worker;

pub(crate) use block_source::{Block, BlockSource};
pub(crate) use ranking::{Ranking, Unranked};
pub(crate) use task::{SourceSummary, Task};

/// Blocks that are being expanded.
pub(crate) struct Window<'a> {
    shape: &'a Shape,
    keys: &'a KeySpace,
    sizes: WindowSizes,
    with_costs: bool,
    with_multiplicities: bool,
    /// Tasks with a block, in the order of their blocks.
    active: Vec<Task>,
    /// Tasks with buffers and without a block.
    idle: Vec<Task>,
    /// Blocks are cut to this length, so that their successors mostly fit their buffers.
    block_len: usize,
}

/// Memory for more tasks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    pub(crate) bytes: u64,
    /// Whether a window without blocks gets a task in any case.
    pub(crate) is_one_free: bool,
}

impl Room {
    /// Takes room for a task of `bytes`; false if there is none.
    fn take(&mut self, bytes: u64, is_first: bool) -> bool {
        let fits = bytes <= self.bytes;
        self.bytes = self.bytes.saturating_sub(bytes);
        fits || (is_first && self.is_one_free)
    }
}

/// How filling a window ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Filled {
    /// There is a block in every task, or nothing left to expand.
    Enough,
    /// There was no memory for another task, and there is none without it.
    NoMemory,
}

impl<'a> Window<'a> {
    /// An empty window, whose successors have costs if `with_costs` asks for it.
    pub(crate) fn new(
        shape: &'a Shape,
        keys: &'a KeySpace,
        sizes: WindowSizes,
        with_costs: bool,
    ) -> Self {
        Window {
            shape,
            keys,
            sizes,
            with_costs,
            with_multiplicities: false,
            active: Vec::new(),
            idle: Vec::new(),
            block_len: sizes.block_len,
        }
    }

    /// This window, whose successors have multiplicities.
    pub(crate) fn with_multiplicities(self) -> Self {
        Window {
            with_multiplicities: true,
            ..self
        }
    }

    /// Memory of the multiplicities of all successors, which the sizes of tasks do not count, in bytes.
    pub(crate) fn multiplicity_bytes(&self) -> u64 {
        match self.with_multiplicities {
            true => (8 * self.sizes.window_blocks * self.sizes.buffer_len) as u64,
            false => 0,
        }
    }

    /// Frees the memory of all tasks.
    pub(crate) fn release(&mut self) {
        self.active = Vec::new();
        self.idle = Vec::new();
    }

    /// Whether no block is being expanded.
    pub(crate) fn is_empty(&self) -> bool {
        self.active.is_empty()
    }

    /// Memory held by all tasks, in bytes.
    pub(crate) fn data_bytes(&self) -> u64 {
        self.bytes_of(self.active.iter().chain(&self.idle), self.keys.widths())
    }

    /// Memory that all tasks hold once keys have these `widths` and the window [fits](Self::fit)
    /// them, in bytes.
    pub(crate) fn widened_bytes(&self, widths: KeyWidths) -> u64 {
        let sizes = self.sizes_for(widths);
        let idle = self.idle.iter().filter(|task| task.has_sizes(&sizes));
        self.bytes_of(self.active.iter().chain(idle), widths)
    }

    /// Memory of `tasks`, each with the sizes that it was made with, in bytes.
    fn bytes_of<'t>(&self, tasks: impl Iterator<Item = &'t Task>, widths: KeyWidths) -> u64 {
        tasks.map(|task| task.bytes(self.shape, widths)).sum()
    }

    /// Memory that all tasks of a full window hold with keys as they are now, in bytes.
    pub(crate) fn full_bytes(&self) -> u64 {
        self.sizes.window_blocks as u64 * self.task_bytes()
    }

    fn task_bytes(&self) -> u64 {
        let (sizes, widths) = (&self.sizes, self.keys.widths());
        Task::bytes_for(self.shape, widths, sizes.buffer_len, sizes.block_len)
    }

    /// Keys have become wider: has fewer tasks or smaller ones, if those there are take more than
    /// their share now. Tasks with a block keep their sizes until they retire.
    pub(crate) fn fit(&mut self) {
        self.sizes = self.sizes_for(self.keys.widths());
        self.block_len = self.block_len.min(self.sizes.block_len);
        self.idle.retain(|task| task.has_sizes(&self.sizes));
    }

    /// Sizes for keys of these `widths`: those of now, if they keep to the share.
    fn sizes_for(&self, widths: KeyWidths) -> WindowSizes {
        let WindowSizes {
            limits,
            block_len,
            window_blocks,
            buffer_len,
        } = self.sizes;
        let task_bytes = Task::bytes_for(self.shape, widths, buffer_len, block_len);
        match window_blocks as u64 * task_bytes > limits.share_bytes {
            true => limits.sizes(self.shape, widths),
            false => self.sizes,
        }
    }

    /// Assigns blocks of `source`, whose records are in `log`, to tasks as far as there is `room` for
    /// more of them.
    pub(crate) fn fill(
        &mut self,
        source: &mut BlockSource,
        log: &mut Log,
        n_threads: usize,
        mut room: Room,
    ) -> Result<Filled, Error> {
        let task_bytes = self.task_bytes();
        while self.active.len() < self.sizes.window_blocks && !source.is_empty() {
            if self.idle.is_empty() && !room.take(task_bytes, self.active.is_empty()) {
                return Ok(match self.active.is_empty() {
                    true => Filled::NoMemory,
                    false => Filled::Enough,
                });
            }
            let Some((block, slices)) = source.next(log, self.block_len, n_threads)? else {
                break;
            };
            let mut task = match self.idle.pop() {
                Some(task) => task,
                None => {
                    let task = Task::new(self.shape, &self.sizes, self.with_costs);
                    match self.with_multiplicities {
                        true => task.with_multiplicities(),
                        false => task,
                    }
                }
            };
            task.assign(block, slices);
            self.active.push(task);
        }
        Ok(Filled::Enough)
    }

    /// Makes the next candidates of all tasks that were assigned or continued, with ranks where these
    /// are no depths.
    pub(crate) fn expand(&mut self, pool: &Pool<'_>, ranking: Option<&Ranking<'_>>) {
        let keys = self.keys;
        self.map_unexpanded(pool, |task, worker| {
            task.make_candidates(worker, keys, ranking);
        });
    }

    /// Does `work` with every task that was assigned or continued; returns the results in order.
    pub(crate) fn map_unexpanded<'m, T: Send>(
        &mut self,
        pool: &Pool<'m>,
        work: impl Fn(&mut Task, &mut Worker<'m>) -> T + Sync,
    ) -> Vec<T> {
        let tasks = self.active.iter_mut().filter(|task| !task.is_expanded);
        let mut tasks: Vec<(&mut Task, Option<T>)> = tasks.map(|task| (task, None)).collect();
        pool.each(tasks.iter_mut(), |(task, result), worker| {
            *result = Some(work(task, worker));
            task.is_expanded = true;
        });
        tasks.into_iter().filter_map(|(_, result)| result).collect()
    }

    /// Makes the keys of all candidates again, after the layout of keys has changed.
    pub(crate) fn encode_again(&mut self, pool: &Pool<'_>) {
        let keys = self.keys;
        pool.each(self.active.iter_mut(), |task, worker| {
            task.encode_candidates(worker, keys);
        });
    }

    /// All tasks with a block, in order.
    pub(crate) fn active(&mut self) -> &mut [Task] {
        &mut self.active
    }

    /// Whether some key does not fit the newest layout.
    pub(crate) fn has_outgrown(&self) -> bool {
        self.active.iter().any(|task| task.keys.is_outgrown)
    }

    /// Whether some expander was stopped.
    pub(crate) fn is_stopped(&self) -> bool {
        (self.active.iter()).any(|task| task.kernel.flow == Flow::Stopped)
    }

    /// Whether the records of all blocks are what was written.
    pub(crate) fn is_intact(&self) -> bool {
        self.active.iter().all(|task| task.is_intact)
    }

    /// The tasks whose candidates are to be handed on now, in order.
    pub(crate) fn ready(&mut self) -> &mut [Task] {
        let first_full = self.active.iter().position(|task| task.is_full());
        let n_ready = first_full.map_or(self.active.len(), |at| at + 1);
        &mut self.active[..n_ready]
    }

    /// Ends the ready tasks, but for one whose buffer was full, which is continued. Adapts the
    /// length of blocks to the number of their successors.
    pub(crate) fn retire_ready(&mut self) {
        let n_ready = self.ready().len();
        let mut fitting = self.sizes.block_len;
        let mut full = None;
        for mut task in self.active.drain(..n_ready) {
            fitting = fitting.min(self.sizes.fitting_len(&task));
            if task.is_full() {
                task.is_expanded = false;
                task.is_partly_taken = true;
                full = Some(task);
            } else if task.has_sizes(&self.sizes) {
                self.idle.push(task);
            }
        }
        self.block_len = match full {
            Some(_) => self.block_len / 2,
            None => fitting.min(self.block_len * 2),
        };
        self.block_len = self.block_len.max(1);
        if let Some(task) = full {
            self.active.insert(0, task);
        }
    }

    /// Gives up all blocks.
    pub(crate) fn clear(&mut self) {
        self.idle.append(&mut self.active);
        self.idle.retain(|task| task.has_sizes(&self.sizes));
    }

    /// The first state of which no successor was handed on, if all states before it are done: from
    /// there a search that is stopped now can resume.
    pub(crate) fn first_left(&self, source: &BlockSource) -> Option<u64> {
        match (self.active.first(), source) {
            (Some(task), _) if task.is_partly_taken => None,
            (Some(task), _) => task.block.first(),
            (None, BlockSource::States(left)) => Some(left.start),
            (None, BlockSource::Starts) => None,
        }
    }

    /// The first state that is still needed for expansion.
    pub(crate) fn first_needed(&self, source: &BlockSource) -> Option<u64> {
        match (self.active.first(), source) {
            (Some(task), _) => task.block.first(),
            (None, BlockSource::States(left)) => Some(left.start),
            (None, BlockSource::Starts) => None,
        }
    }
}

impl Block {
    /// Ordinal of the first state.
    pub(crate) fn first(self) -> Option<u64> {
        match self {
            Block::Starts => None,
            Block::States { first, .. } => Some(first),
        }
    }
}

impl WindowSizes {
    /// How many states like those of `task` have successors that fit a buffer, with some to spare:
    /// a task that is continued holds up all behind it.
    fn fitting_len(&self, task: &Task) -> usize {
        let n_sources = task.kernel.successors.sources().len();
        let usual = self.buffer_len - self.buffer_len / 8;
        usual * n_sources / task.n_candidates().max(1)
    }
}

#[cfg(test)]
#[path = "../../tests/parts/window.rs"]
mod tests;
