//! What rounds go over, cut into blocks.

use std::ops::Range;

use hadal_store::{Error, Slice};

use crate::shared::{lock, read};
use crate::sizes::Sizes;
use crate::task::Block;
use crate::visited::Visited;

/// What rounds go over.
#[derive(Clone, Debug)]
pub(crate) enum Supply {
    /// The startstates.
    Starts,
    /// Stored states.
    States(Range<u64>),
}

/// Blocks are not made smaller than this to give every thread some.
const MIN_SHARED_BLOCK: u64 = 64;

impl Supply {
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Supply::States(range) if range.is_empty())
    }

    /// The next block, of at most `block_len` states, and its records where it lies in a log.
    pub(crate) fn next(
        &mut self,
        visited: &Visited,
        block_len: usize,
        sizes: &Sizes,
    ) -> Result<Option<(Block, Vec<Slice>)>, Error> {
        if self.is_empty() {
            return Ok(None);
        }
        Ok(match self {
            Supply::Starts => {
                *self = Supply::States(0..0);
                Some((Block::Starts, Vec::new()))
            }
            Supply::States(range) => {
                let left = range.end - range.start;
                // Small layers are shared out too, but not in crumbs.
                let share = (left / (4 * sizes.n_threads as u64)).max(MIN_SHARED_BLOCK);
                let mut len = left.min(share).min(block_len as u64) as usize;
                let first = range.start;
                let slices = match visited {
                    Visited::Numbers(numbers) => {
                        len = read(&numbers.arena).contiguous(first, len);
                        Vec::new()
                    }
                    Visited::Keys(keyed) => lock(&keyed.log).read(first, len)?,
                };
                range.start += len as u64;
                Some((Block::States { first, len }, slices))
            }
        })
    }
}
