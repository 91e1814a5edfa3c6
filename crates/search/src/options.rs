//! What a search is asked to do, and with which resources.

use std::time::Duration;

use crate::{ProcessLimit, StoreKind};

/// The options of a search.
///
/// `deadlock`, `bound` and `max_errors` change what is reported; so may `store` and `seed`, with
/// the probabilities that [`Omission`](crate::Omission) gives.
/// The others are resources: a run that is not stopped by them reports the same whatever they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// What counts as a deadlock.
    pub deadlock: Deadlock,
    /// States at this depth are not expanded, nor tested for deadlock.
    pub bound: Option<u32>,
    /// The search ends at this many violations (at least one).
    pub max_errors: usize,
    /// What is remembered of a visited state. Where every state needs a number (liveness), states
    /// themselves are.
    pub store: StoreKind,
    /// Chooses the hash function of signatures.
    pub seed: u64,
    /// Threads that expand states (at least one).
    pub threads: usize,
    /// Stack of each of these threads, in bytes.
    pub stack_bytes: usize,
    /// What table, states, parents and buffers may hold together, in bytes.
    pub memory_bytes: u64,
    /// What the whole process may hold, where that must be measured.
    pub process_limit: Option<ProcessLimit>,
    /// The search stops cleanly after this long.
    pub time_limit: Option<Duration>,
    /// How often a search with a folder is checkpointed: `None` for every few seconds, zero for
    /// after every window.
    pub checkpoint_every: Option<Duration>,
    /// Where runs on disk have this many keys for each candidate of a layer, the lookup in them may
    /// be deferred for some layers even where they are known to have some of the candidates.
    pub thin_layers: u64,
    /// Most states expanded at once.
    pub block_len: usize,
    /// Blocks that are expanded before their successors are looked up.
    pub window_blocks: usize,
    /// Most successors taken from an expander at once; `None` follows from `memory_bytes`.
    pub buffer_len: Option<usize>,
}

impl Default for Options {
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Options {
            deadlock: Deadlock::default(),
            bound: None,
            max_errors: 1,
            store: StoreKind::default(),
            seed: 0,
            threads,
            stack_bytes: 16 << 20,
            memory_bytes: u64::MAX,
            process_limit: None,
            time_limit: None,
            checkpoint_every: None,
            // Expanding a layer twice takes about as long as scanning this many keys for each of its
            // candidates.
            thin_layers: 1000,
            // Of a block's successors a partition should get more than a few, and of a window's
            // blocks every thread.
            block_len: 1024,
            window_blocks: Options::window_blocks_for(threads),
            buffer_len: None,
        }
    }
}

impl Options {
    /// Blocks of a window that suit a number of threads.
    pub fn window_blocks_for(threads: usize) -> usize {
        threads.saturating_mul(4).max(16)
    }
}

/// What counts as a deadlock. A state whose expansion ended in a fault never does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Deadlock {
    /// No firing leads to a state other than the source itself.
    #[default]
    Stuttering,
    /// No rule fires at all.
    Stuck,
    /// No rule is enabled and the model may not end there ([`Source::may_end`]).
    ///
    /// [`Source::may_end`]: hadal_model::Source::may_end
    EndStates,
    /// Nothing does.
    Off,
}

impl Deadlock {
    /// The name used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Deadlock::Stuttering => "stuttering",
            Deadlock::Stuck => "stuck",
            Deadlock::EndStates => "end-states",
            Deadlock::Off => "off",
        }
    }
}
