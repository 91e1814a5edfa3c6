//! Ordinals by state: an index of all states found, in memory.
//!
//! The set of visited states answers whether a state is known, not which number it has. Liveness, and
//! whoever receives edges with the ordinals of both ends, needs the numbers.

use hadal_model::{PAD_BYTES, States};
use hadal_store::lock::{read, write};
use hadal_store::{Arena, N_PARTITIONS, Table, hash_state, partition_of};

/// All states in the order of their ordinals, and a table that finds them.
pub(crate) struct OrdinalIndex {
    states: Arena,
    table: Table,
}

/// States of a block that lie in one piece.
const BLOCK_LEN: usize = 64;

impl OrdinalIndex {
    pub(crate) fn new(state_len: usize) -> Self {
        OrdinalIndex {
            states: Arena::new(state_len, BLOCK_LEN, PAD_BYTES),
            table: Table::new(),
        }
    }

    /// Adds the next states, none of which is there yet.
    pub(crate) fn append(&mut self, new: States<'_>) {
        let first = self.states.len();
        let n_bytes = new.len() * new.state_len();
        self.states.append(&new.bytes()[..n_bytes], new.len());
        let states = &self.states;
        for (ordinal, state) in (first..).zip(new.iter()) {
            let hash = hash_state(state);
            let mut partition = write(self.table.partition(partition_of(hash)));
            partition.reserve(1, |ordinal| hash_state(states.get(ordinal)));
            partition.find_or_add(hash, ordinal, |_| false);
            partition.settle(|ordinal| ordinal);
        }
    }

    /// The ordinal of a state, if it was added.
    pub(crate) fn find(&self, state: &[u8]) -> Option<u64> {
        let hash = hash_state(state);
        read(self.table.partition(partition_of(hash)))
            .find(hash, |ordinal| self.states.get(ordinal) == state)
    }

    /// Memory that `n` more states take at most, in bytes.
    pub(crate) fn growth_bytes(&self, n: usize) -> u64 {
        // States are spread evenly over partitions.
        let counts = [n.div_ceil(N_PARTITIONS); N_PARTITIONS];
        let table = self.table.growth_bytes(&counts, 1);
        self.states.growth_bytes(n as u64) + table
    }

    /// Memory held, in bytes.
    pub(crate) fn data_bytes(&self) -> u64 {
        self.states.data_bytes() + self.table.data_bytes()
    }
}
