//! The parent of each state, by which it is found again after the search.

use hadal_search::Error;
use hadal_search::strategy::{Explored, Usage};
use hadal_store::Parent;

use crate::record_dir::RecordDir;
use crate::records::Records;

/// A search after its last state.
pub(crate) struct ExploredStates {
    pub(crate) parents: ParentIndex,
    pub(crate) usage: Usage,
}

impl Explored for ExploredStates {
    fn indices_to(&mut self, ordinal: u64) -> Result<Vec<u32>, Error> {
        self.parents.indices_to(ordinal)
    }

    fn usage(&mut self) -> Usage {
        self.usage
    }
}

/// How each state was found, in the order of their ordinals.
pub(crate) struct ParentIndex {
    records: Records,
}

/// Stands for the parent of startstates.
pub(crate) const NO_PARENT: u64 = u64::MAX;
/// Bytes of a parent.
pub(crate) const PARENT_BYTES: usize = 12;

impl ParentIndex {
    pub(crate) fn new(dir: &RecordDir) -> Result<Self, Error> {
        Ok(ParentIndex {
            records: dir.records(PARENT_BYTES)?,
        })
    }

    pub(crate) fn push(&mut self, parent: Parent) -> Result<(), hadal_store::Error> {
        self.records.push(&encode_parent(parent))
    }

    /// The indices by which the state `ordinal` is reached, from a startstate on.
    pub(crate) fn indices_to(&mut self, mut ordinal: u64) -> Result<Vec<u32>, Error> {
        let mut indices = Vec::new();
        while ordinal != NO_PARENT {
            let parent = decode_parent(&self.records.get(ordinal)?);
            indices.push(parent.index);
            ordinal = parent.ordinal;
        }
        indices.reverse();
        Ok(indices)
    }
}

pub(crate) fn encode_parent(parent: Parent) -> [u8; PARENT_BYTES] {
    let mut record = [0; PARENT_BYTES];
    record[..8].copy_from_slice(&parent.ordinal.to_le_bytes());
    record[8..].copy_from_slice(&parent.index.to_le_bytes());
    record
}

/// The parent at the beginning of `record`.
pub(crate) fn decode_parent(record: &[u8]) -> Parent {
    let (mut ordinal, mut index) = ([0; 8], [0; 4]);
    ordinal.copy_from_slice(&record[..8]);
    index.copy_from_slice(&record[8..PARENT_BYTES]);
    Parent {
        ordinal: u64::from_le_bytes(ordinal),
        index: u32::from_le_bytes(index),
    }
}
