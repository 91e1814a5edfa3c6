//! What a strategy of a paper is given of the process's memory.
//!
//! The papers count table and queue, and in the laboratory so do we. On the command line the budget
//! is for the whole process, so a strategy gets a share of what loading the model has left: the rest
//! is for a table that is copied while it grows, for buffers, for the logs that traces and counts
//! come from, and for what maps take beside their entries. The shares are estimates; that the budget
//! holds is seen to by looking at the process (`ProcessLimit`).

use hadal_search::{Options, ProcessLimit, Strategy, StrategyOptions};
use hadal_store::disk::Folder;

use crate::memory;
use crate::plan::{MIN_DATA_BYTES, Plan};

/// What `strategy` may use for a search with these options.
pub(crate) fn means(
    strategy: &Strategy,
    plan: &Plan,
    options: &Options,
    folder: Option<Folder>,
) -> StrategyOptions {
    let held = memory::resident_bytes();
    let left = plan.budget_bytes.saturating_sub(held).max(MIN_DATA_BYTES);
    let budget_bytes = match plan.data_bytes {
        Some(bytes) => bytes,
        None => options.memory_bytes / divisor(strategy),
    };
    StrategyOptions {
        budget_bytes,
        store: options.store,
        seed: options.seed,
        folder,
        process: Some(ProcessLimit {
            // Counting and telling take a little after the search has ended.
            most_bytes: held + left - (left / 16).min(RESERVE_BYTES),
            held_bytes: memory::resident_bytes,
        }),
        ..StrategyOptions::default()
    }
}

const RESERVE_BYTES: u64 = 64 << 20;

/// A strategy's own table and queue get one part of so many.
fn divisor(strategy: &Strategy) -> u64 {
    match strategy {
        // It has no table to fill, and stops when all is used.
        Strategy::Snapshots { .. } => 1,
        // An entry of its caches takes several times what the paper counts.
        Strategy::DfsCache { .. } => 8,
        Strategy::Ram
        | Strategy::Cache { .. }
        | Strategy::Mono { .. }
        | Strategy::Local { .. }
        | Strategy::Part { .. }
        | Strategy::Layered { .. } => 2,
    }
}
