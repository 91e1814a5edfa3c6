//! Who gets how much memory.
//!
//! The search is given a number of bytes for all its data. This file divides them: what expanders
//! hold (more is lent to them while all states are in memory) and buffers of the window first; while
//! all states are in memory, what is left belongs to the set, the logs and the parents, with a
//! reserve for sorting keys when memory ends; from then on every part has a share of its own
//! ([`Shares`]). What the partition buffers leave of their share is lent to the block
//! cache of runs (`Folder::lent_memory`), and taken back before they grow.
//!
//! Every part reports what it holds to its account in [`Held`]. No size in here changes a result.

use hadal_model::Shape;
use hadal_store::candidates::BATCH_HEAD;
use hadal_store::codec::{Codec, Headroom, max_key_words};
use hadal_store::disk::STREAM_BYTES;
use hadal_store::key_space::{KeySpace, KeyWidths};
use hadal_store::{MAX_PIECE_BYTES, Retention, delta_bytes};

use crate::Options;
use crate::external::SurvivorBatch;
use crate::window::Task;

/// The memory of a search and its division.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    /// What all data may hold together.
    pub(crate) total_bytes: u64,
    pub(crate) n_threads: usize,
    pub(crate) window: WindowSizes,
    /// Batches of candidates that become survivors at once: half are worked on, half are read.
    pub(crate) survivor_batches: usize,
    /// Memory of such a batch.
    batch_bytes: u64,
    /// What expanders may always borrow.
    pub(crate) lent_to_expanders: u64,
}

/// How much is expanded at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowSizes {
    /// What they follow from.
    pub(crate) limits: WindowLimits,
    /// Most states in a block.
    pub(crate) block_len: usize,
    /// Most blocks in a window.
    pub(crate) window_blocks: usize,
    /// Candidates that the buffer of a task holds.
    pub(crate) buffer_len: usize,
}

/// What bounds the sizes of a window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowLimits {
    /// Memory for all tasks.
    pub(crate) share_bytes: u64,
    n_threads: usize,
    window_blocks: usize,
    block_len: usize,
    buffer_len: Option<usize>,
}

/// The buffers of a task take about this much where memory is plentiful.
const TASK_BYTES: u64 = 320 << 10;
/// Divisor: the part of the budget that all tasks may take.
const WINDOW_SHARE: u64 = 5;
/// With less room in a buffer than for this many candidates a window has fewer tasks.
const FEW_CANDIDATES: usize = 16;
/// Divisor: the part of the budget that expanders may take together.
const EXPANDERS_SHARE: u64 = 16;
/// Divisor: the part of the budget that batches of survivors may take.
const BATCHES_SHARE: u64 = 8;
/// What batches of survivors may take in any case: with fewer than four, of the usual size, threads
/// wait for each other.
const BATCHES_BYTES: u64 = 1280 << 10;
/// Divisor: the part of the budget that the dictionaries of keys may take.
const DICTIONARY_SHARE: u64 = 8;
/// With less memory than this keys are as short as possible.
const ROOMY_BYTES: u64 = 256 << 20;
/// Divisor: the part of the budget up to which a set of keys may be larger than it has to be.
const AMPLE_SHARE: u64 = 64;
/// Divisor: the part of the budget that stays free while all states are in memory. Keys are sorted
/// there when memory ends.
const SORT_SHARE: u64 = 8;
/// Least number of batches: one is worked on, one is read.
const MIN_BATCHES: u64 = 2;
/// The least that a search takes beside what grows with threads and states.
const LEAST_BYTES: u64 = (2 << 20) + FEW_READERS_BYTES / 3;
/// What each thread takes at least: batches, sorting and reading of runs, its stack.
const THREAD_BYTES: u64 = 3 << 20;
/// Keys that a thread holds at least beside its task: in pages, sorted, looked up, in blocks of runs.
const THREAD_KEYS: u64 = 24;
/// What the readers of each thread take where memory is plentiful.
const THREAD_READERS_BYTES: u64 = 2 << 20;
/// Divisor: the part of what buckets and sorting leave that readers of files may take.
const READERS_SHARE: u64 = 4;
/// What readers of files may take in any case, beyond all shares where there is little memory: with
/// fewer blocks threads would wait for each other. It is well below what a process may exceed its
/// budget by.
const FEW_READERS_BYTES: u64 = 96 * STREAM_BYTES;
/// Percentages of the budget at which flushing the set begins, and by which it should be done. Keys
/// may take up to 87 % before memory ends.
const FLUSH_BEGIN_PERCENT: u64 = 60;
const FLUSH_END_PERCENT: u64 = 82;

impl Budget {
    /// Divides the memory that `options` grant.
    pub(crate) fn new(options: &Options, shape: &Shape, keys: &KeySpace) -> Self {
        let n_threads = options.threads.max(1);
        let expanders = expanders_bytes(options.memory_bytes, shape, n_threads);
        let lent_to_expanders = lent_to_expanders(options.memory_bytes, shape, n_threads);
        let options = &Options {
            memory_bytes: options.memory_bytes - expanders,
            ..options.clone()
        };
        let batch_bytes = SurvivorBatch::bytes_for(shape);
        let batches_bytes = (options.memory_bytes / BATCHES_SHARE).max(BATCHES_BYTES);
        let most_batches = batches_bytes / batch_bytes;
        Budget {
            total_bytes: options.memory_bytes,
            n_threads,
            window: WindowLimits::new(options).sizes(shape, keys.widths()),
            survivor_batches: most_batches.clamp(MIN_BATCHES, 4 * n_threads as u64) as usize,
            batch_bytes,
            lent_to_expanders,
        }
    }

    /// The least memory with which a search on `n_threads` keeps to it.
    pub(crate) fn least_bytes(shape: &Shape, n_threads: usize) -> u64 {
        let n_threads = n_threads as u64;
        let task = Task::bytes_for(shape, KeyWidths::widest(shape.state_len), 1, 1);
        let key_bytes = 8 * max_key_words(shape.state_len) as u64;
        let batches = MIN_BATCHES * SurvivorBatch::bytes_for(shape);
        let fixed = Codec::least_bytes(shape.state_len) + batches + LEAST_BYTES;
        let expanders = (n_threads + 1) * shape.expander_bytes;
        fixed + n_threads * (task + THREAD_KEYS * key_bytes + THREAD_BYTES) + expanders
    }

    /// What the dictionaries of keys may take of `memory_bytes`.
    pub(crate) fn dictionary_bytes(memory_bytes: u64) -> u64 {
        memory_bytes / DICTIONARY_SHARE
    }

    /// How much room keys of a new layout get while all of them are in memory, in a set of
    /// `set_bytes`.
    pub(crate) fn key_headroom(&self, set_bytes: u64) -> Headroom {
        if self.total_bytes < ROOMY_BYTES {
            Headroom::Tight
        } else if set_bytes <= self.ample_bytes() {
            Headroom::Ample
        } else {
            Headroom::Roomy
        }
    }

    /// Up to this size a set of keys may take more memory than it has to, for speed.
    pub(crate) fn ample_bytes(&self) -> u64 {
        match self.total_bytes < ROOMY_BYTES {
            true => 0,
            false => self.total_bytes / AMPLE_SHARE,
        }
    }

    /// What is reserved for sorting keys while all states are in memory.
    pub(crate) fn sort_reserve(&self) -> u64 {
        self.total_bytes / SORT_SHARE
    }

    /// What all data may hold while all states are in memory. With a disk the reserve for sorting
    /// stays free, but for `gathered_bytes` of it that early flushing uses already.
    pub(crate) fn resident_limit(&self, has_disk: bool, gathered_bytes: u64) -> u64 {
        match has_disk {
            true => self.total_bytes - self.sort_reserve() + gathered_bytes,
            false => self.total_bytes,
        }
    }

    /// Where early flushing begins and where it should be done, in bytes held.
    pub(crate) fn flush_range(&self) -> (u64, u64) {
        let percent = |percent: u64| self.total_bytes / 100 * percent;
        (percent(FLUSH_BEGIN_PERCENT), percent(FLUSH_END_PERCENT))
    }

    /// Divides what window, codec and disk buffers, `fixed` bytes, leave once states are on disk.
    pub(crate) fn shares(&self, fixed: u64) -> Shares {
        let left = self.total_bytes.saturating_sub(fixed);
        let batches = self.survivor_batches as u64 * self.batch_bytes;
        let readers = self.n_threads as u64 * THREAD_READERS_BYTES;
        // With little memory batches are small too, and readers take from the buckets.
        let beside = (batches + readers).min(left / 4);
        Shares {
            readers: beside.saturating_sub(batches),
            ..Shares::of(left - beside)
        }
    }
}

/// What is kept for the expanders of all threads and one that replays a run, where they hold
/// anything worth counting.
fn expanders_bytes(memory_bytes: u64, shape: &Shape, n_threads: usize) -> u64 {
    if shape.expander_bytes == 0 {
        return 0;
    }
    let least = (n_threads as u64 + 1) * shape.expander_bytes;
    // With less memory than a search needs at least, the rest gets half of it all the same.
    (memory_bytes / EXPANDERS_SHARE)
        .max(least)
        .min(memory_bytes / 2)
}

/// What of that expanders may borrow, beside what each has of its own.
pub(crate) fn lent_to_expanders(memory_bytes: u64, shape: &Shape, n_threads: usize) -> u64 {
    let n_threads = n_threads.max(1);
    let all = expanders_bytes(memory_bytes, shape, n_threads);
    all.saturating_sub(n_threads as u64 * shape.expander_bytes)
}

impl WindowLimits {
    fn new(options: &Options) -> Self {
        WindowLimits {
            share_bytes: options.memory_bytes / WINDOW_SHARE,
            n_threads: options.threads,
            window_blocks: options.window_blocks.max(1),
            block_len: options.block_len.max(1),
            buffer_len: options.buffer_len.map(|len| len.max(1)),
        }
    }

    /// Sizes of a window for keys of these `widths`.
    pub(crate) fn sizes(self, shape: &Shape, widths: KeyWidths) -> WindowSizes {
        // Every thread should have a task, however wide states are.
        let n_threads = self.n_threads.clamp(1, self.window_blocks) as u64;
        let wide_task = Task::bytes_for(shape, widths, FEW_CANDIDATES, 1);
        let window_blocks = self.share_bytes / wide_task;
        let window_blocks = window_blocks.clamp(n_threads, self.window_blocks as u64);
        let task_bytes = TASK_BYTES.min(self.share_bytes / window_blocks);
        // The states of a block take a quarter of the task at most.
        let source_bytes = shape.state_len + 8 * widths.codec_words;
        let most_sources = task_bytes / 4 / source_bytes.max(1) as u64;
        let block_len = self.block_len.min(most_sources.clamp(1, 1 << 16) as usize);
        let buffer_len = self.buffer_len.unwrap_or_else(|| {
            let bytes_for = |n| Task::bytes_for(shape, widths, n, block_len);
            let left = task_bytes.saturating_sub(bytes_for(0));
            (left / (bytes_for(1) - bytes_for(0))).max(1) as usize
        });
        WindowSizes {
            limits: self,
            block_len,
            window_blocks: window_blocks as usize,
            buffer_len: buffer_len.min(most_in_piece(shape)),
        }
    }
}

/// Candidates whose keys and parents always fit one piece of a log, whatever the layout of keys.
fn most_in_piece(shape: &Shape) -> usize {
    let n_words = max_key_words(shape.state_len);
    let bytes = MAX_PIECE_BYTES - BATCH_HEAD - FIRST_PARENT_BYTES;
    (bytes / (delta_bytes(n_words) + PARENT_BYTES)).max(1)
}

/// The first parent of a batch may be anywhere, the others of a block are near the one before.
const FIRST_PARENT_BYTES: usize = 16;
const PARENT_BYTES: usize = 8;

/// Bytes for each part of a search whose states are on disk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shares {
    /// The cache of recent keys.
    pub(crate) cache: u64,
    /// Keys of candidates, partitioned into buckets.
    pub(crate) buckets: u64,
    /// Sorting buckets.
    pub(crate) sort: u64,
    /// Records of states to be expanded.
    pub(crate) frontier: u64,
    /// Records of candidates: half for open ranks, where ranks are not depths.
    pub(crate) candidates: u64,
    /// Runs too small for a file of their own.
    pub(crate) runs: u64,
    /// Keys looked up at once, on all threads together.
    pub(crate) lookup: u64,
    /// Readers of files, on all threads together, beside what the buckets lend them.
    pub(crate) readers: u64,
}

impl Shares {
    /// Divides `bytes`. A small cache finds most of what a large one does. Buckets need the most
    /// where memory is short; where it is not, what they leave is lent to the block cache, in which
    /// a key takes a quarter of the bytes that it takes in the cache of keys.
    pub(crate) fn of(bytes: u64) -> Self {
        let part = |share: u64| bytes / 32 * share;
        Shares {
            cache: part(6),
            buckets: part(16),
            sort: part(3),
            frontier: part(2),
            candidates: part(2),
            runs: part(1),
            lookup: part(2),
            readers: 0,
        }
    }

    /// What open ranks get of the share of candidates; the rank being admitted gets the rest.
    pub(crate) fn open_ranks(&self) -> u64 {
        self.candidates / 2
    }

    /// Memory of readers of files that nobody lends them.
    pub(crate) fn own_readers(&self) -> u64 {
        self.readers.max(FEW_READERS_BYTES)
    }

    /// Most that readers of files borrow of `spare_bytes` that others do not need meanwhile.
    pub(crate) fn most_lent(&self, spare_bytes: u64) -> u64 {
        let most = self.readers + spare_bytes / READERS_SHARE;
        most.saturating_sub(self.own_readers())
    }
}

/// What a log with a share of `bytes` keeps in memory.
pub(crate) fn retention(bytes: u64, is_durable: bool) -> Retention {
    match is_durable {
        true => Retention::BytesAndWrite(bytes),
        false => Retention::Bytes(bytes),
    }
}

/// Memory held now, by account, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Held {
    /// The set of all keys, or the cache of recent ones.
    pub(crate) set: u64,
    /// Records of states.
    pub(crate) logs: u64,
    pub(crate) parents: u64,
    /// Dictionaries of keys.
    pub(crate) codec: u64,
    /// What expanders have borrowed beyond what is kept for them.
    pub(crate) expanders: u64,
    /// Tasks of the window.
    pub(crate) window: u64,
    /// Batches of survivors.
    pub(crate) batches: u64,
    /// Candidates of the next rank: records, partition buffers, spills.
    pub(crate) candidates: u64,
    /// Candidates of open ranks, and of one while it is admitted.
    pub(crate) open_ranks: u64,
    /// Runs in memory, fences of runs on disk, and blocks of these in the cache.
    pub(crate) runs: u64,
    /// Keys that early flushing has gathered, out of the reserve for sorting.
    pub(crate) gathered: u64,
    /// Buffers of the disk layer, and memory it could lend but does not.
    pub(crate) disk_buffers: u64,
    /// Ordinals of states by state, and the graph that liveness needs.
    pub(crate) graph: u64,
    /// The costs of states that may be opened again.
    pub(crate) closed: u64,
}

impl Held {
    pub(crate) fn total(&self) -> u64 {
        let Held {
            set,
            logs,
            parents,
            codec,
            expanders,
            window,
            batches,
            candidates,
            open_ranks,
            runs,
            gathered,
            disk_buffers,
            graph,
            closed,
        } = *self;
        let states = set + logs + parents + codec + runs + gathered;
        let buffers = expanders + window + batches + disk_buffers;
        states + buffers + candidates + open_ranks + graph + closed
    }
}

#[cfg(test)]
#[path = "../tests/parts/budget.rs"]
mod tests;
