//! The strategies of the papers, side by side, over one kernel and one way of counting.
//!
//! Each strategy owns what it remembers and in which order it goes on; making successors, judging
//! states, counting, queues, files and traces are shared. All of them work on one thread.
//!
//! A strategy visits every reachable state or says that it did not. Those that forget states may
//! visit them again: then [`Outcome::visited`] counts every expansion, [`Outcome::states_exact`] is
//! false, and [`Outcome::states`] is what a count afterwards found, where there was one (`distinct`
//! among the figures of the strategy).
//! None of them keeps edges, so none decides liveness.
//! What only one strategy counts is in [`Outcome::strategy_stats`]; `shortest_trace` is there for
//! all of them, and 0 where a trace need not be the shortest.

mod breadth;
mod cache;
mod delayed;
mod dfs;
mod distinct;
mod explorer;
mod guard;
mod layered;
mod local;
mod mono;
mod part;
mod queue;
mod ram;
mod records;
mod report;
mod signature;
mod snapshots;
mod spec;
mod tables;

use std::panic::resume_unwind;
use std::sync::mpsc::channel;
use std::thread::Builder;

use hadal_model::{Model, Stop};
use hadal_store::disk::Folder;

pub use guard::ProcessLimit;
pub use spec::{CacheSpec, Policy, Sampling, SnapshotSetup, SpecError, StateCacheSpec};

use crate::bfs::{Limits, watch};
use crate::progress::Gauge;
use crate::{Error, Observer, Options, Outcome, Stats, StoreKind, Value};
use breadth::Told;
use explorer::Run;
use guard::Guard;

/// How states are searched and what is remembered of them.
#[derive(Clone, Debug, PartialEq)]
pub enum Strategy {
    /// Table and queue in memory, as in standard Murphi.
    Ram,
    /// A cache of fixed size in place of the table (CMurphi).
    Cache {
        /// The search stops when more than this share of insertions were collisions.
        collision_stop: f64,
    },
    /// All signatures on disk, all of them read whenever the table is full (Stern and Dill).
    Mono {
        /// The table of candidates.
        table: MonoTable,
    },
    /// The same, but only a random part of the disk is read, mostly of what is recent (DMurphi).
    Local {
        /// The table of candidates.
        table: MonoTable,
        /// Blocks that the signatures are divided into.
        blocks: u32,
        /// Signatures that a block has at the least.
        min_block: u64,
        /// Every so many checks all signatures are read and the size of the part is adapted.
        calibrate_every: u32,
        /// Share of the blocks that is read to begin with.
        initial_share: f64,
    },
    /// States divided by a hash, one part at a time in memory (PART).
    Part {
        /// Parts to begin with; a part that outgrows the memory is split.
        partitions: u32,
    },
    /// Layers on disk, of which only the last ones are read (LDDD).
    Layered {
        /// How many of them.
        layers: Layers,
        /// Whether recent layers are also kept in memory.
        cache: bool,
    },
    /// Only some layers are remembered, as a whole (BFSWS).
    Snapshots {
        /// Which layers.
        setup: SnapshotSetup,
        /// Whether states are kept that were probably visited twice.
        backtracking: bool,
        /// The paper's form, which need not end: without it some snapshots are kept for ever.
        bounded: bool,
    },
    /// Depth-first, with caches of states.
    DfsCache {
        /// The caches, each of which takes what the one before gives up.
        caches: Vec<StateCacheSpec>,
        /// States that all caches hold together; `None` follows from the budget.
        states: Option<u64>,
        /// The search stops after this many expansions.
        most_visited: Option<u64>,
    },
}

/// Tables that `mono` and `local` know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MonoTable {
    /// Open addressing, as its authors had it.
    Open,
    /// Chains, which the authors of PART found to be much faster.
    #[default]
    Chained,
}

impl MonoTable {
    /// The name used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            MonoTable::Open => "open",
            MonoTable::Chained => "chained",
        }
    }

    /// The table of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        [MonoTable::Open, MonoTable::Chained]
            .into_iter()
            .find(|table| table.name() == name)
    }
}

/// How many layers on disk `layered` looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layers {
    /// The last so many that are no longer in memory; older ones are deleted.
    Fixed(u32),
    /// As many as back-jumps seen so far ask for.
    Auto,
}

/// The means of a strategy.
#[derive(Clone)]
pub struct StrategyOptions {
    /// What its table and its queue may take, in bytes: the papers' M(p). Buffers of the disk layer
    /// and what is only there for traces and counts come on top.
    pub budget_bytes: u64,
    /// What is kept of a state.
    pub store: StoreKind,
    /// For all that is random: signatures, slots that are overwritten, blocks that are read.
    pub seed: u64,
    /// Where queues, layers and logs go; in memory if there is none. What is left there from
    /// earlier is deleted.
    pub folder: Option<Folder>,
    /// What the process may hold, where that matters more than what the papers count.
    pub process: Option<ProcessLimit>,
    /// For `ram`: states in the queue for each one in the table, the papers' g.
    pub active_share: f64,
    /// Whether strategies that forget count afterwards how many different states they saw.
    pub count_distinct: bool,
}

impl Default for StrategyOptions {
    fn default() -> Self {
        StrategyOptions {
            budget_bytes: 1 << 30,
            store: StoreKind::default(),
            seed: 0,
            folder: None,
            process: None,
            active_share: 0.1,
            count_distinct: true,
        }
    }
}

impl std::fmt::Debug for StrategyOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StrategyOptions")
            .field("budget_bytes", &self.budget_bytes)
            .field("store", &self.store)
            .field("seed", &self.seed)
            .field("folder", &self.folder.is_some())
            .field("process", &self.process)
            .field("active_share", &self.active_share)
            .field("count_distinct", &self.count_distinct)
            .finish()
    }
}

impl Strategy {
    /// All of them, with their papers' parameters.
    pub fn all() -> [Strategy; 8] {
        [
            Strategy::Ram,
            Strategy::Cache {
                collision_stop: 0.9,
            },
            Strategy::Mono {
                table: MonoTable::default(),
            },
            Strategy::Local {
                table: MonoTable::Open,
                blocks: 100,
                min_block: 10_000,
                calibrate_every: 10,
                initial_share: 0.5,
            },
            Strategy::Part { partitions: 1 },
            Strategy::Layered {
                layers: Layers::Fixed(50),
                cache: true,
            },
            Strategy::Snapshots {
                setup: SnapshotSetup::FrontierSafetyNet,
                backtracking: true,
                bounded: false,
            },
            Strategy::DfsCache {
                caches: StateCacheSpec::usual(),
                states: None,
                most_visited: None,
            },
        ]
    }

    /// The strategy of this name, with its paper's parameters.
    pub fn from_name(name: &str) -> Option<Self> {
        let mut all = Self::all().into_iter();
        all.find(|strategy| strategy.name() == name)
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Strategy::Ram => "ram",
            Strategy::Cache { .. } => "cache",
            Strategy::Mono { .. } => "mono",
            Strategy::Local { .. } => "local",
            Strategy::Part { .. } => "part",
            Strategy::Layered { .. } => "layered",
            Strategy::Snapshots { .. } => "snapshots",
            Strategy::DfsCache { .. } => "dfs-cache",
        }
    }

    /// What a person should know before choosing it, if there is something.
    pub fn remark(&self) -> Option<&'static str> {
        match self {
            Strategy::Cache { .. } | Strategy::Local { .. } => {
                Some("may visit states again, and may have to stop before it has visited all")
            }
            Strategy::Layered { layers, .. } => match layers {
                Layers::Fixed(_) => {
                    Some("may visit states again, and may have to stop before it has visited all")
                }
                Layers::Auto => Some("may visit states again"),
            },
            Strategy::Snapshots { bounded: true, .. } => Some(
                "with a bounded number of snapshots the search need not end, whatever their \
                 distances; it is stopped when it only repeats itself",
            ),
            Strategy::Snapshots { .. } => Some("may visit states again"),
            Strategy::DfsCache { .. } => Some(
                "may visit states again, has to stop when it finds next to nothing else, and does \
                 not find the shortest trace",
            ),
            Strategy::Part { .. } => Some("does not find the shortest trace"),
            Strategy::Ram | Strategy::Mono { .. } => None,
        }
    }
}

/// Searches `model` by a strategy. Of `options`, threads and memory do not matter here.
///
/// `stop` interrupts it; the flag itself is only read.
pub fn check_with(
    model: &dyn Model,
    strategy: &Strategy,
    own: &StrategyOptions,
    options: &Options,
    stop: &Stop,
    observer: &mut dyn Observer,
) -> Result<Outcome, Error> {
    let (gauge, limits) = (Gauge::new(), Limits::default());
    let guard = Guard::new(own.process);
    std::thread::scope(|scope| {
        let (layers, ended_layers) = channel();
        if guard.has_limit() {
            Builder::new()
                .name("guard".to_owned())
                .spawn_scoped(scope, || guard.watch(&limits.stop))?;
        }
        let searching = Builder::new()
            .name("search".to_owned())
            .stack_size(options.stack_bytes)
            .spawn_scoped(scope, || {
                let run = Run {
                    model,
                    shape: model.shape(),
                    options,
                    own,
                    limits: &limits,
                    guard: &guard,
                    gauge: &gauge,
                    ended_layers: layers,
                };
                search(&run, strategy)
            })
            // The guard waits for this.
            .inspect_err(|_| limits.stop.raise())?;
        watch(options, stop, &limits, &gauge, &ended_layers, observer);
        searching
            .join()
            .unwrap_or_else(|panic| resume_unwind(panic))
    })
}

fn search(run: &Run<'_>, strategy: &Strategy) -> Result<Outcome, Error> {
    match strategy {
        Strategy::Ram => ram::search(run),
        Strategy::Cache { collision_stop } => cache::search(run, *collision_stop),
        Strategy::Mono { table } => mono::search(run, *table),
        Strategy::Local {
            table,
            blocks,
            min_block,
            calibrate_every,
            initial_share,
        } => {
            let cloud = local::Cloud {
                blocks: *blocks,
                min_block: *min_block,
                calibrate_every: *calibrate_every,
                initial_share: *initial_share,
            };
            local::search(run, *table, cloud)
        }
        Strategy::Part { partitions } => part::search(run, *partitions),
        Strategy::Layered { layers, cache } => layered::search(run, *layers, *cache),
        Strategy::Snapshots {
            setup,
            backtracking,
            bounded,
        } => snapshots::search(run, setup, *backtracking, *bounded),
        Strategy::DfsCache {
            caches,
            states,
            most_visited,
        } => dfs::search(run, caches, *states, *most_visited),
    }
}

/// Memory for each end of a queue on disk.
fn queue_segment(budget_bytes: u64) -> u64 {
    (budget_bytes / 32).min(4 << 20)
}

/// How many of the admitted states were there before, where that was counted.
fn tell_revisits(told: &Told, stats: &mut Stats) {
    stats.push("admitted", Value::Count(told.admitted));
    if let Some(distinct) = told.distinct {
        stats.push("distinct", Value::Count(distinct));
        stats.push("revisits", Value::Count(told.admitted - distinct));
    }
}
