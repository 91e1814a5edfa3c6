//! What is wrong with a block that does not decode.

use crate::{BLOCK_BYTES, Error};

/// A block that no writer of ours wrote. Checksums stand before this; it remains for their rare
/// failure and for files of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Damage(pub(crate) &'static str);

impl Damage {
    /// As an error about block `block` of `file`. The offset given is where the block lies if all
    /// blocks before it are full.
    pub(crate) fn in_block(self, file: &str, block: u32) -> Error {
        Error::Damaged {
            file: file.to_owned(),
            offset: u64::from(block) * BLOCK_BYTES as u64,
            what: format!("block {block} of a sorted run: {}", self.0),
        }
    }
}
