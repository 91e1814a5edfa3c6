//! Why a block does not decode.

use crate::{BLOCK_BYTES, Error};

/// A block that our writer did not write. Checksums are verified before; this remains for their
/// rare failure and for foreign files.
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
