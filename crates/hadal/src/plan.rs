//! What is asked and what may be used for it, turned into what will be done: budgets fixed, defaults
//! filled in.

use std::time::Duration;

use hadal_ir::interp::Limits;
use hadal_murphi::Dialect;
use hadal_search::{Deadlock, Options, StoreKind, Strategy};

use crate::flags::{DeadlockName, DialectName, RunArgs, StoreName, SymmetryName};
use crate::question::Question;
use crate::{memory, units};

/// What a check will do.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) dialect: Dialect,
    pub(crate) limits: Limits,
    pub(crate) symmetry: bool,
    /// What the whole process may hold.
    pub(crate) budget_bytes: u64,
    /// What the data of the search may hold, where that is not what the budget leaves.
    pub(crate) data_bytes: Option<u64>,
    pub(crate) deadlock: Deadlock,
    pub(crate) bound: Option<u32>,
    pub(crate) max_errors: usize,
    pub(crate) store: StoreKind,
    pub(crate) seed: u64,
    pub(crate) threads: usize,
    pub(crate) time_limit: Option<Duration>,
    /// How often a resumable run is checkpointed.
    pub(crate) commit_every: Option<Duration>,
}

/// No budget may be smaller than this.
const MIN_BUDGET_BYTES: u64 = 32 << 20;

/// What a search is given at the least, beside the loaded model. Less than what the system's own
/// figure may go beyond a budget.
pub(crate) const MIN_DATA_BYTES: u64 = 8 << 20;

/// Stack of a worker for each level of recursion that is allowed. Generous: a level takes one
/// frame for each level of nesting of the expressions around the call.
const STACK_BYTES_PER_CALL: usize = 64 << 10;

/// What a thread's stack holds besides calls of the model.
const STACK_RESERVE_BYTES: usize = 4 << 20;

impl Plan {
    pub(crate) fn new(question: &Question, strategy: &dyn Strategy, args: &RunArgs) -> Self {
        let dialect = dialect(question.dialect);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Plan {
            dialect,
            limits: limits(dialect, question.loop_limit, question.call_limit),
            symmetry: question.symmetry == SymmetryName::Full,
            budget_bytes: args.memory.unwrap_or_else(memory::default_budget),
            data_bytes: args.data_memory,
            deadlock: match question.deadlock {
                DeadlockName::Stuttering => Deadlock::Stuttering,
                DeadlockName::Stuck => Deadlock::Stuck,
                DeadlockName::Off => Deadlock::Off,
            },
            bound: question.bound,
            max_errors: question.max_errors as usize,
            store: match question.store {
                StoreName::Exact => StoreKind::Exact,
                StoreName::Hash40 => StoreKind::Hash40,
                StoreName::Hash64 => StoreKind::Hash64,
                StoreName::Hash96 => StoreKind::Hash96,
                StoreName::Hash128 => StoreKind::Hash128,
            },
            seed: question.seed,
            threads: match strategy.is_parallel() {
                true => args.threads.map_or(cores, |threads| threads as usize),
                false => 1,
            },
            time_limit: args.time_limit,
            commit_every: args.commit_every,
        }
    }

    /// Refuses a budget in which nothing could be done, once it is known what loading took.
    pub(crate) fn check_budget(&self) -> anyhow::Result<()> {
        let floor = memory::peak_bytes().max(MIN_BUDGET_BYTES);
        if self.budget_bytes < floor {
            let [asked, floor] = match [self.budget_bytes, floor].map(units::bytes) {
                // They differ by less than is shown.
                [asked, least] if asked == least => {
                    [self.budget_bytes, floor].map(|bytes| format!("{bytes} bytes"))
                }
                shown => shown,
            };
            anyhow::bail!(
                "a memory budget of {asked} is too small for this model; it needs at least {floor}"
            );
        }
        Ok(())
    }

    /// What is wrong with a budget that is larger than what there is.
    pub(crate) fn budget_remark(&self) -> Option<String> {
        let available = memory::available_bytes().filter(|&there| self.budget_bytes > there)?;
        Some(format!(
            "the memory budget of {} is more than the {} that are free: the system may end the run \
             before states go to the disk",
            units::bytes(self.budget_bytes),
            units::bytes(available),
        ))
    }

    /// The options of the search, once it is known what loading the model took.
    pub(crate) fn search_options(&self) -> Options {
        let left = self.budget_bytes.saturating_sub(memory::resident_bytes());
        let memory_bytes = self.data_bytes.unwrap_or(left.max(MIN_DATA_BYTES));
        Options {
            deadlock: self.deadlock,
            bound: self.bound,
            max_errors: self.max_errors,
            store: self.store,
            seed: self.seed,
            threads: self.threads,
            stack_bytes: self.limits.stack_bytes + STACK_RESERVE_BYTES,
            memory_bytes,
            time_limit: self.time_limit,
            commit_every: self.commit_every,
            ..Options::default()
        }
    }
}

/// The dialect behind its name.
pub(crate) fn dialect(name: DialectName) -> Dialect {
    match name {
        DialectName::Hadal => Dialect::Hadal,
        DialectName::Cmurphi => Dialect::Cmurphi,
        DialectName::Rumur => Dialect::Rumur,
    }
}

/// The limits of evaluation, with a stack that suffices for them.
pub(crate) fn limits(dialect: Dialect, loop_limit: Option<u64>, call_limit: u32) -> Limits {
    Limits {
        loop_rounds: loop_limit.or(dialect.while_limit()).unwrap_or(u64::MAX),
        call_depth: call_limit,
        stack_bytes: (call_limit as usize * STACK_BYTES_PER_CALL).clamp(16 << 20, 4 << 30),
    }
}
