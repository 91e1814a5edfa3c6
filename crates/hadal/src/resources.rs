//! What a check may use: memory, disk, threads, time. Nothing here changes a result.

use std::time::Duration;

use hadal_model::Shape;
use hadal_search::{Options, ProcessLimit, Strategy};

use crate::question::SearchOptions;
use crate::{Error, memory, system_limits};

/// What a check may use. Unless it is stopped by them, its result is the same for any resources, so
/// a resumed run may have others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// Bytes that the whole process may hold; `None` for half of what is available.
    pub memory: Option<u64>,
    /// Bytes that the data of the search may hold; `None` for what `memory` leaves for it.
    pub data_memory: Option<u64>,
    /// Bytes that the run may take on disk; `None` for what is free, less a reserve.
    pub disk_limit: Option<u64>,
    /// Threads that expand states; `None` for all cores.
    pub threads: Option<usize>,
    /// The search stops cleanly after this long.
    pub time_limit: Option<Duration>,
    /// How often a resumable run is checkpointed; `None` for every few seconds.
    pub commit_every: Option<Duration>,
    /// What the strategy counts against its budget.
    pub accounting: Accounting,
}

/// What a strategy counts against its memory budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Accounting {
    /// All of its data.
    #[default]
    AllData,
    /// Part of its data, which gets one part in `one_in` of the budget. That is an estimate, so the
    /// process is measured while it runs.
    Part {
        /// The divisor.
        one_in: u64,
    },
}

/// The least that a search is given, beside the loaded model. Less than what the system's own
/// figure may exceed a budget by.
pub(crate) const MIN_DATA_BYTES: u64 = 8 << 20;

/// Most threads of a search, whatever is asked for.
const MOST_THREADS: usize = 1 << 12;

/// What the process holds before a search differs by less than this from run to run.
const HELD_MARGIN_BYTES: u64 = 1 << 20;

/// For counting and reporting after the search.
const RESERVE_BYTES: u64 = 64 << 20;

/// Address space that a search maps beside its data and the stacks of its workers: arenas of the
/// allocator, threads for the disk.
const OTHER_SPACE_BYTES: u64 = 64 << 20;

/// Address space that stays free, so that no allocation fails before the search has stopped.
const SPACE_MARGIN_BYTES: u64 = 32 << 20;

/// What a limit on address space leaves for the data of a search, beside its threads and their
/// stacks. An error if that is less than `least_bytes`.
fn space_for_data(threads: usize, stack_bytes: usize, least_bytes: u64) -> Result<u64, Error> {
    let Some(left) = system_limits::address_space_left() else {
        return Ok(u64::MAX);
    };
    // The search itself has a thread as well.
    let stacks = (threads as u64 + 1).saturating_mul(stack_bytes as u64);
    let others = stacks + OTHER_SPACE_BYTES + SPACE_MARGIN_BYTES;
    // What is allocated and not used yet counts too.
    let for_data = left.saturating_sub(others) / 4 * 3;
    if for_data >= least_bytes {
        return Ok(for_data);
    }
    Err(Error::AddressSpace {
        limit: system_limits::address_space_bytes().unwrap_or(0),
        least: memory::mapped_bytes() + others + least_bytes.div_ceil(3) * 4,
        threads,
    })
}

/// Stops a search before its address space is used up.
fn address_space_limit() -> Option<ProcessLimit> {
    let limit = system_limits::address_space_bytes()?;
    Some(ProcessLimit {
        most_bytes: limit.saturating_sub(SPACE_MARGIN_BYTES),
        held_bytes: memory::mapped_bytes,
    })
}

impl Resources {
    /// The least budget of a process, in bytes.
    pub const LEAST_BUDGET: u64 = 32 << 20;

    /// Threads that a strategy gets.
    pub fn threads_for(&self, strategy: &dyn Strategy) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        match strategy.is_parallel() {
            true => self.threads.unwrap_or_else(cores).clamp(1, MOST_THREADS),
            false => 1,
        }
    }

    /// Threads, no more than `threads`, that a strategy gets for a model of this `shape` where `left`
    /// bytes are left for its data: as many as have room. An error if one has none.
    pub(crate) fn threads_within(
        &self,
        strategy: &dyn Strategy,
        shape: &Shape,
        left: u64,
        threads: usize,
    ) -> Result<usize, Error> {
        let asked = self.threads_for(strategy);
        if self.data_memory.is_some() {
            return Ok(threads);
        }
        let fitting = (1..=threads)
            .rev()
            .find(|&threads| strategy.least_bytes(shape, threads) <= left);
        fitting.ok_or_else(|| Error::BudgetTooSmallForStates {
            budget: self.budget(),
            state_bytes: shape.state_len as u64,
            least: Self::needed_bytes(strategy, shape, 1),
            asked: (asked, Self::needed_bytes(strategy, shape, asked)),
        })
    }

    /// Threads, no more than `threads`, that a limit on address space leaves room for beside their
    /// stacks of `stack_bytes`, and what it leaves for data. An error if one has none.
    pub(crate) fn threads_within_space(
        &self,
        strategy: &dyn Strategy,
        shape: &Shape,
        threads: usize,
        stack_bytes: usize,
    ) -> Result<(usize, u64), Error> {
        let space = space_for_data(threads, stack_bytes, MIN_DATA_BYTES)?;
        if self.data_memory.is_some() {
            return Ok((threads, space));
        }
        for threads in (1..=threads).rev() {
            let least = strategy.least_bytes(shape, threads).max(MIN_DATA_BYTES);
            match space_for_data(threads, stack_bytes, least) {
                Ok(space) => return Ok((threads, space)),
                Err(error) if threads == 1 => return Err(error),
                Err(_) => {}
            }
        }
        Ok((threads, space))
    }

    /// The least budget for a strategy on `threads` threads, beside what the process holds already.
    pub(crate) fn needed_bytes(strategy: &dyn Strategy, shape: &Shape, threads: usize) -> u64 {
        let needed = memory::resident_bytes() + strategy.least_bytes(shape, threads);
        // A whole number of mebibytes, so that what is shown suffices.
        (needed + HELD_MARGIN_BYTES).next_multiple_of(1 << 20)
    }

    /// The budget of the process in bytes: the one that is set, or the default.
    pub fn budget(&self) -> u64 {
        self.memory.unwrap_or_else(memory::default_budget)
    }

    /// Rejects a budget below the least one, or below the `used` bytes that the process needs
    /// already.
    #[doc(hidden)]
    pub fn check_budget(budget: u64, used: u64) -> Result<(), Error> {
        let least = used.max(Self::LEAST_BUDGET);
        match budget < least {
            true => Err(Error::BudgetTooSmall { budget, least }),
            false => Ok(()),
        }
    }

    /// What loading the model has left of the `budget` for the data of a search.
    pub(crate) fn left_of(budget: u64) -> u64 {
        let left = budget.saturating_sub(memory::resident_bytes());
        left.max(MIN_DATA_BYTES)
    }

    /// The options of a search on `threads` threads, for which `left` bytes are left.
    pub(crate) fn options(
        &self,
        left: u64,
        search: &SearchOptions,
        threads: usize,
        stack_bytes: usize,
    ) -> Options {
        let (memory_bytes, process_limit) = match self.accounting {
            Accounting::AllData => (left, address_space_limit()),
            Accounting::Part { one_in } => {
                let most = memory::resident_bytes().saturating_add(left);
                let limit = ProcessLimit {
                    most_bytes: most - (left / 16).min(RESERVE_BYTES),
                    held_bytes: memory::resident_bytes,
                };
                (left / one_in.max(1), Some(limit))
            }
        };
        Options {
            deadlock: search.deadlock,
            bound: search.bound,
            max_errors: search.max_errors.max(1) as usize,
            store: search.store,
            seed: search.seed,
            threads,
            stack_bytes,
            memory_bytes: self.data_memory.unwrap_or(memory_bytes),
            process_limit,
            time_limit: self.time_limit,
            checkpoint_every: self.commit_every,
            window_blocks: Options::window_blocks_for(threads),
            ..Options::default()
        }
    }
}
