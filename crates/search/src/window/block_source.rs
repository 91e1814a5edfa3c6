//! The states that a window expands, cut into blocks.

use std::ops::Range;

use hadal_store::{Error, Log, Slice};

/// What is left to expand.
#[derive(Clone, Debug)]
pub(crate) enum BlockSource {
    /// The startstates.
    Starts,
    /// Stored states, by ordinal.
    States(Range<u64>),
}

/// What a task expands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Block {
    /// The imaginary source of all startstates.
    Starts,
    /// The `len` states from `first` on.
    States {
        /// Ordinal of the first one.
        first: u64,
        /// How many there are.
        len: usize,
    },
}

/// Blocks are not cut smaller than this to occupy every thread.
const MIN_SHARED_BLOCK: u64 = 64;

impl BlockSource {
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, BlockSource::States(range) if range.is_empty())
    }

    /// The next block, of at most `block_len` states, with its records in `log`.
    pub(crate) fn next(
        &mut self,
        log: &mut Log,
        block_len: usize,
        n_threads: usize,
    ) -> Result<Option<(Block, Vec<Slice>)>, Error> {
        Ok(match self {
            BlockSource::Starts => {
                *self = BlockSource::States(0..0);
                Some((Block::Starts, Vec::new()))
            }
            BlockSource::States(range) if range.is_empty() => None,
            BlockSource::States(range) => {
                let n_left = range.end - range.start;
                let share = (n_left / (4 * n_threads as u64)).max(MIN_SHARED_BLOCK);
                let len = n_left.min(share).min(block_len as u64) as usize;
                let first = range.start;
                let slices = log.read(first, len)?;
                range.start += len as u64;
                Some((Block::States { first, len }, slices))
            }
        })
    }
}

impl Block {
    pub(super) fn len(self) -> usize {
        match self {
            Block::Starts => 1,
            Block::States { len, .. } => len,
        }
    }
}
