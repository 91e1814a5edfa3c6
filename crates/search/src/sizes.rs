//! Sizes of blocks, window and buffers. They never change results.

use hadal_model::Shape;
use hadal_store::codec::MAX_KEY_WORDS;
use hadal_store::{MAX_PIECE_BYTES, difference_bytes};

use crate::Options;
use crate::external::PARCEL_HEAD;
use crate::task::Task;
use crate::visited::Visited;

/// How much is done at once, and what that takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub(crate) n_threads: usize,
    /// What all data may hold together.
    pub(crate) memory_bytes: u64,
    /// Most states in a block.
    pub(crate) block_len: usize,
    /// Blocks in a round.
    pub(crate) window_blocks: usize,
    /// Pieces of candidates that are looked at again at once: some are worked on, others read.
    pub(crate) window_pieces: usize,
    /// Candidates that a task's buffer takes.
    pub(crate) buffer_len: usize,
    /// What a task holds.
    pub(crate) buffer_bytes: u64,
    /// So many times as many keys in runs as candidates make a layer very thin.
    pub(crate) thin_layers: u64,
}

/// A task's buffers take about this much where memory is plentiful.
const TASK_BYTES: u64 = 256 << 10;
/// Share of the budget that all buffers may take.
const BUFFER_SHARE: u64 = 5;
/// Candidates that a buffer takes at the least.
const MIN_BUFFER_LEN: u64 = 16;

impl Sizes {
    pub(crate) fn new(options: &Options, shape: &Shape, visited: &Visited) -> Self {
        let window_blocks = options.window_blocks.max(1);
        let task_bytes = TASK_BYTES.min(options.memory_bytes / BUFFER_SHARE / window_blocks as u64);
        // A block's own states take a quarter of the buffers at most.
        let per_source = Task::bytes_for_source(shape, visited).max(1) as u64;
        let block_len = (options.block_len as u64)
            .min(task_bytes / 4 / per_source)
            .clamp(1, 1 << 16) as usize;
        let bytes_for = |capacity| Task::bytes_for(shape, visited, capacity, block_len);
        let buffer_len = options.buffer_len.unwrap_or_else(|| {
            let per_candidate = bytes_for(1) - bytes_for(0);
            let left = task_bytes.saturating_sub(bytes_for(0));
            (left / per_candidate).max(MIN_BUFFER_LEN) as usize
        });
        let buffer_len = match visited {
            Visited::Numbers(_) => buffer_len,
            Visited::Keys(_) => buffer_len.min(most_in_piece(shape)),
        };
        Sizes {
            n_threads: options.threads.max(1),
            memory_bytes: options.memory_bytes,
            block_len,
            window_blocks,
            window_pieces: 4 * options.threads.max(1),
            buffer_len,
            buffer_bytes: bytes_for(buffer_len),
            thin_layers: options.thin_layers,
        }
    }
}

/// Candidates whose keys and parents always fit one piece of a log, whatever layouts of keys come
/// to.
fn most_in_piece(shape: &Shape) -> usize {
    let n_positions = shape.state_len.div_ceil(WORD_BYTES);
    let n_words = (n_positions * POSITION_BITS / 64 + 1).min(MAX_KEY_WORDS);
    (MAX_PIECE_BYTES - PARCEL_HEAD) / (difference_bytes(n_words) + PARENT_BYTES)
}

const WORD_BYTES: usize = 8;
/// A position takes its word and what says so, at most.
const POSITION_BITS: usize = 82;
/// A parent within a block is near the one before it.
const PARENT_BYTES: usize = 8;
