//! Blocks: the unit in which data goes to a disk and back.
//!
//! A block is a piece of a file that is written, checked and read as a whole; blocks of a file are
//! numbered from zero. Their content is up to the caller; implementations of these traits return it
//! as it was written, or an [`Error`].

use std::ops::Range;

use crate::Error;

/// Most bytes that a block holds.
pub const BLOCK_BYTES: usize = (64 << 10) - 32;

/// Takes the blocks of one file, in order.
pub trait BlockSink: Send {
    /// Appends a block of up to [`BLOCK_BYTES`] bytes.
    fn put(&mut self, payload: &[u8]) -> Result<(), Error>;
}

/// Reads the blocks of one file.
pub trait BlockSource: Send + Sync {
    /// Reads the blocks in `wanted`, which are ascending and do not overlap, ahead of their use.
    fn read(&self, wanted: Vec<Range<u32>>) -> Box<dyn BlockReader + '_>;
}

/// A stream of blocks.
pub trait BlockReader: Send {
    /// The next block that is wanted, with its number.
    fn next(&mut self) -> Result<Option<(u32, &[u8])>, Error>;

    /// The block that [`next`](Self::next) returned last.
    fn last(&self) -> Option<(u32, &[u8])>;
}

/// Appends `number` to blocks that are wanted, which are before it.
pub(crate) fn want(wanted: &mut Vec<Range<u32>>, number: u32) {
    match wanted.last_mut() {
        Some(last) if last.end == number => last.end += 1,
        _ => wanted.push(number..number + 1),
    }
}
