//! The index of an `.hlts` file: where its blocks of edges and of values are.

use super::format::HEADER_LEN;
use crate::varint;

/// A block as the index describes it. Blocks follow one another from the header on, so lengths
/// give their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IndexEntry {
    pub(super) is_values: bool,
    /// Of frame and payload.
    pub(super) len: u64,
    pub(super) first: u64,
    pub(super) count: u32,
}

/// Encodes entries one by one: length and kind, distance of `first` from that of the previous block
/// of the kind, count.
pub(super) fn encode(entries: &[IndexEntry]) -> Vec<Vec<u8>> {
    let mut previous = [0; 2];
    let encoded = entries.iter().map(|entry| {
        let mut bytes = Vec::with_capacity(8);
        let previous = &mut previous[usize::from(entry.is_values)];
        varint::write(&mut bytes, entry.len << 1 | u64::from(entry.is_values));
        varint::write(&mut bytes, entry.first - *previous);
        varint::write(&mut bytes, u64::from(entry.count));
        *previous = entry.first;
        bytes
    });
    encoded.collect()
}

/// Where a block is, and what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockAt {
    pub(super) at: u64,
    pub(super) len: u32,
    pub(super) count: u32,
    pub(super) first: u64,
}

/// Decodes the index, part by part.
#[derive(Debug)]
pub(super) struct IndexDecoder {
    /// Where the next block begins.
    pub(super) at: u64,
    pub(super) edges: Vec<BlockAt>,
    pub(super) values: Vec<BlockAt>,
    pub(super) n_edges: u64,
    pub(super) n_values: u64,
}

impl Default for IndexDecoder {
    fn default() -> Self {
        IndexDecoder {
            at: HEADER_LEN as u64,
            edges: Vec::new(),
            values: Vec::new(),
            n_edges: 0,
            n_values: 0,
        }
    }
}

impl IndexDecoder {
    /// Takes the next entry from the front of `bytes`.
    pub(super) fn take(&mut self, bytes: &mut &[u8]) -> Option<()> {
        let len = varint::read(bytes)?;
        let (blocks, n) = match len & 1 {
            1 => (&mut self.values, &mut self.n_values),
            _ => (&mut self.edges, &mut self.n_edges),
        };
        let previous = blocks.last().map_or(0, |block| block.first);
        let block = BlockAt {
            at: self.at,
            len: u32::try_from(len >> 1).ok()?,
            first: previous.checked_add(varint::read(bytes)?)?,
            count: u32::try_from(varint::read(bytes)?).ok()?,
        };
        // Values are dense, so their number follows. No block is empty.
        if block.count == 0 || len & 1 == 1 && block.first != *n {
            return None;
        }
        *n = n.checked_add(u64::from(block.count))?;
        self.at = self.at.checked_add(len >> 1)?;
        blocks.push(block);
        Some(())
    }
}
