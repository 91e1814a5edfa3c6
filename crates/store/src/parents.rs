//! The parent log: two numbers per state, by which a run to that state is found again.
//!
//! In breadth-first order the parents of consecutive states never decrease, so each entry is the
//! distance to the parent before and the index: in one byte where both are small, as nearly
//! always, else in as few bytes as they need.
//! Every 128th entry starts afresh from a recorded place, so any entry is found by decoding at most
//! 128.

use crate::disk::{MOST_PARENT_BYTES, decode_parent, encode_parent};

/// How a state was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parent {
    /// Ordinal of the parent.
    pub ordinal: u64,
    /// Index of the state in the parent's expansion.
    pub index: u32,
}

/// The parents of all states, in the order of the states' ordinals.
#[derive(Debug, Default)]
pub struct Parents {
    chunks: Vec<Vec<u8>>,
    groups: Vec<Group>,
    n_entries: u64,
    last: u64,
}

/// Where a group of entries begins, and what its first distance is counted from.
#[derive(Clone, Copy, Debug)]
struct Group {
    chunk: u32,
    at: u32,
    base: u64,
}

const GROUP_LEN: u64 = 128;
const CHUNK_BYTES: usize = 1 << 16;
const GROUP_BYTES: usize = GROUP_LEN as usize * MOST_PARENT_BYTES;

impl Parents {
    /// An empty log.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of entries.
    pub fn len(&self) -> u64 {
        self.n_entries
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.n_entries == 0
    }

    /// Appends the parent of the next state; its ordinal is at least that of the entry before.
    pub fn push(&mut self, parent: Parent) {
        assert!(
            parent.ordinal >= self.last,
            "parents must come in the order of their ordinals"
        );
        if self.n_entries.is_multiple_of(GROUP_LEN) {
            self.begin_group();
        }
        let chunk = self
            .chunks
            .last_mut()
            .expect("a group begins with a chunk to write to");
        encode_parent(chunk, self.last, parent);
        self.last = parent.ordinal;
        self.n_entries += 1;
    }

    /// The parent of the state numbered `ordinal`; `None` past the end.
    pub fn get(&self, ordinal: u64) -> Option<Parent> {
        if ordinal >= self.n_entries {
            return None;
        }
        let group = self.groups[(ordinal / GROUP_LEN) as usize];
        let mut bytes = &self.chunks[group.chunk as usize][group.at as usize..];
        let mut parent = Parent {
            ordinal: group.base,
            index: 0,
        };
        for _ in 0..=ordinal % GROUP_LEN {
            parent = decode_parent(&mut bytes, parent.ordinal)
                .expect("an entry comes back as it was written");
        }
        Some(parent)
    }

    /// Memory held, in bytes.
    pub fn data_bytes(&self) -> u64 {
        (self.chunks.len() * CHUNK_BYTES + self.groups.capacity() * size_of::<Group>()) as u64
    }

    /// Memory that `n` more entries add at most, in bytes.
    pub fn growth_bytes(&self, n: u64) -> u64 {
        let groups = n / GROUP_LEN + 1;
        let room = self
            .chunks
            .last()
            .map_or(0, |chunk| (CHUNK_BYTES - chunk.len()) / GROUP_BYTES);
        let in_chunk = (CHUNK_BYTES / GROUP_BYTES) as u64;
        let chunks = (groups + 1).saturating_sub(room as u64).div_ceil(in_chunk);
        let free = (self.groups.capacity() - self.groups.len()) as u64;
        let records = if groups > free {
            self.groups.capacity() as u64 + groups.max(4)
        } else {
            0
        };
        chunks * CHUNK_BYTES as u64 + records * size_of::<Group>() as u64
    }

    fn begin_group(&mut self) {
        let fits = self
            .chunks
            .last()
            .is_some_and(|chunk| chunk.len() + GROUP_BYTES <= CHUNK_BYTES);
        if !fits {
            self.chunks.push(Vec::with_capacity(CHUNK_BYTES));
        }
        let chunk = self.chunks.len() - 1;
        self.groups.push(Group {
            chunk: chunk as u32,
            at: self.chunks[chunk].len() as u32,
            base: self.last,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::{Parent, Parents};
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    #[test]
    fn entries_come_back() {
        let mut rng = Pcg64Mcg::seed_from_u64(11);
        for n in [0u64, 1, 63, 64, 65, 1000, 200_000] {
            let (mut parents, mut plain) = (Parents::new(), Vec::new());
            let mut ordinal = 0u64;
            for _ in 0..n {
                // Mostly close together, sometimes as far as numbers go.
                ordinal += match rng.random_range(0..100) {
                    0 => rng.random_range(0..1 << 40),
                    1..50 => 0,
                    _ => rng.random_range(0..3),
                };
                let index = match rng.random_range(0..50) {
                    0 => u32::MAX,
                    _ => rng.random_range(0..200),
                };
                let parent = Parent { ordinal, index };
                let most = parents.data_bytes() + parents.growth_bytes(1);
                parents.push(parent);
                assert!(parents.data_bytes() <= most);
                plain.push(parent);
            }
            assert_eq!(parents.len(), n);
            for (at, &parent) in plain.iter().enumerate() {
                assert_eq!(parents.get(at as u64), Some(parent));
            }
            assert_eq!(parents.get(n), None);
        }
    }

    #[test]
    fn a_long_log_takes_little_more_than_a_byte_an_entry() {
        let mut parents = Parents::new();
        for ordinal in 0..1_000_000 {
            parents.push(Parent {
                ordinal: ordinal / 3,
                index: (ordinal % 40) as u32,
            });
        }
        assert!(parents.data_bytes() < 1_350_000);
    }

    #[test]
    #[should_panic(expected = "in the order of their ordinals")]
    fn parents_never_decrease() {
        let mut parents = Parents::new();
        parents.push(Parent {
            ordinal: 2,
            index: 0,
        });
        parents.push(Parent {
            ordinal: 1,
            index: 0,
        });
    }
}
