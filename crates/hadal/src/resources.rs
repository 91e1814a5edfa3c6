//! What a check may use: memory, disk, threads, time. Nothing here changes a result.

use std::time::Duration;

use hadal_model::Shape;
use hadal_search::{Options, ProcessLimit, Strategy};

use crate::prepared_check::Warning;
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

/// What the allocator may still reserve for its arenas, whatever is left of the address space.
const ARENA_BYTES: u64 = 64 << 20;

/// Address space beside the data of a search on `threads` threads. The search itself has one as
/// well.
fn space_beside_data(threads: usize, stack_bytes: usize) -> u64 {
    let stacks = (threads as u64 + 1).saturating_mul(stack_bytes as u64);
    stacks.saturating_add(OTHER_SPACE_BYTES + SPACE_MARGIN_BYTES)
}

/// What a limit on address space leaves for the data of a search on `threads` threads.
fn space_for_data(threads: usize, stack_bytes: usize) -> u64 {
    let Some(left) = system_limits::address_space_left() else {
        return u64::MAX;
    };
    // What is allocated and not used yet counts too.
    left.saturating_sub(space_beside_data(threads, stack_bytes)) / 4 * 3
}

/// A limit on address space that suffices for a search on one thread with `data_bytes` of data.
fn sufficient_space(stack_bytes: usize, data_bytes: u64) -> u64 {
    let beside = space_beside_data(1, stack_bytes).saturating_add(ARENA_BYTES);
    memory::mapped_bytes()
        .saturating_add(beside)
        .saturating_add(data_bytes / 3 * 4)
}

/// What a search gets.
pub(crate) struct Share {
    pub(crate) threads: usize,
    /// For its data.
    pub(crate) data_bytes: u64,
    /// Why it has fewer threads than asked for.
    pub(crate) fewer: Option<Warning>,
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

    /// Threads and memory that a strategy gets for a model of this `shape`: as many threads as have
    /// room in the `budget` of the process and in its address space. An error if one has none.
    pub(crate) fn share(
        &self,
        strategy: &dyn Strategy,
        shape: &Shape,
        budget: u64,
        stack_bytes: usize,
    ) -> Result<Share, Error> {
        let left = Self::left_of(budget);
        let least = |threads| match self.data_memory {
            None => strategy.least_bytes(shape, threads),
            Some(_) => 0,
        };
        let least_space = |threads| least(threads).max(MIN_DATA_BYTES);
        let asked = self.threads_for(strategy);
        let fitting = (1..=asked).rev().find(|&threads| {
            least(threads) <= left && least_space(threads) <= space_for_data(threads, stack_bytes)
        });
        let held = memory::resident_bytes();
        // A whole number of mebibytes, so that what is shown suffices.
        let needed = |threads| {
            let needed = held.saturating_add(least(threads)) + HELD_MARGIN_BYTES;
            needed.next_multiple_of(1 << 20)
        };
        let limit = system_limits::address_space_bytes().unwrap_or(u64::MAX);
        let Some(threads) = fitting else {
            return Err(match least(1) <= left {
                true => Error::AddressSpace {
                    limit,
                    least: sufficient_space(stack_bytes, least_space(1)),
                },
                false => Error::BudgetTooSmallForStates {
                    budget,
                    state_bytes: shape.state_len as u64,
                    least: needed(1),
                    asked: (asked, needed(asked)),
                },
            });
        };
        let fewer = match least(asked) <= left {
            _ if threads == asked => None,
            true => Some(Warning::FewerThreadsForSpace {
                threads,
                asked,
                stack: stack_bytes as u64,
                limit,
            }),
            false => Some(Warning::FewerThreads {
                threads,
                asked,
                needed: needed(asked),
                budget,
            }),
        };
        Ok(Share {
            threads,
            // The default budget follows the address space.
            data_bytes: left.min(space_for_data(threads, stack_bytes)),
            fewer,
        })
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
