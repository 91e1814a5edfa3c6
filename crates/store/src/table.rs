//! The table that finds a state's ordinal: exact, and inserted to in rounds.
//!
//! A fixed number of partitions, chosen by the first bits of the hash, lets several threads insert
//! at once, each the owner of the partition it works on.
//! A partition is an open-addressing array of six-byte cells: eight further bits of the hash, so
//! that few unequal states are compared, and the ordinal of a state that lies elsewhere. The
//! caller, who has their bytes, compares states; a hash alone never decides.
//!
//! In a round a partition takes *candidates*, whose ordinals are not yet known: which of them
//! survive in all partitions decides how they are numbered. [`Partition::settle`] then turns the
//! candidates into ordinals.

use std::sync::RwLock;

use crate::lock::read;

/// Number of partitions. It is independent of the number of threads, like everything that lays
/// out data.
pub const N_PARTITIONS: usize = 256;

const PARTITION_BITS: u32 = N_PARTITIONS.ilog2();

/// The partition a hash belongs to.
#[inline]
pub fn partition_of(hash: u64) -> usize {
    (hash >> (64 - PARTITION_BITS)) as usize
}

/// The partitions, each behind its own lock.
#[derive(Debug)]
pub struct Table {
    partitions: Vec<RwLock<Partition>>,
}

impl Table {
    /// An empty table.
    pub fn new() -> Self {
        Table {
            partitions: (0..N_PARTITIONS).map(|_| RwLock::default()).collect(),
        }
    }

    /// The partition numbered `partition`.
    pub fn partition(&self, partition: usize) -> &RwLock<Partition> {
        &self.partitions[partition]
    }

    /// Memory held, in bytes.
    pub fn data_bytes(&self) -> u64 {
        self.partitions
            .iter()
            .map(|partition| read(partition).data_bytes())
            .sum()
    }

    /// Memory needed to make room for `n_candidates[p]` more states in each partition `p`, in
    /// bytes, where up to `n_threads` partitions grow at once: an array and its replacement are
    /// held together.
    pub fn growth_bytes(&self, n_candidates: &[usize; N_PARTITIONS], n_threads: usize) -> u64 {
        let (mut sum, mut largest) = (0, 0);
        for (partition, &n) in self.partitions.iter().zip(n_candidates) {
            let partition = read(partition);
            let growth_bytes = partition.growth_bytes(n);
            sum += growth_bytes;
            if growth_bytes > 0 {
                largest = largest.max(partition.data_bytes());
            }
        }
        sum + largest * n_threads.min(N_PARTITIONS) as u64
    }
}

impl Default for Table {
    fn default() -> Self {
        Self::new()
    }
}

/// What a cell stands for while a round is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell {
    /// The state with this ordinal.
    Stored(u64),
    /// A candidate of this round, as the caller names it.
    Candidate(u64),
}

/// One partition: a set of ordinals found by the hash of their states.
#[derive(Debug, Default)]
pub struct Partition {
    /// Cells of [`CELL_BYTES`] bytes, then [`SLACK_BYTES`] so that a cell can be read as one word.
    bytes: Vec<u8>,
    n_cells: usize,
    n_states: usize,
    candidates: Vec<Candidate>,
}

#[derive(Clone, Copy, Debug)]
struct Candidate {
    cell: usize,
    name: u64,
}

const CELL_BYTES: usize = 6;
const SLACK_BYTES: usize = 2;
const NUMBER_BITS: u32 = 40;
/// Set in a cell's number where it is a position in `candidates`, not an ordinal.
const CANDIDATE: u64 = 1 << (NUMBER_BITS - 1);
const NUMBER_MASK: u64 = (1 << NUMBER_BITS) - 1;

impl Partition {
    /// Number of states, candidates included.
    pub fn len(&self) -> usize {
        self.n_states
    }

    /// Whether there is no state.
    pub fn is_empty(&self) -> bool {
        self.n_states == 0
    }

    /// Makes room for `n` more states, between rounds. `hash_of` gives the hash of the state with
    /// a given ordinal.
    pub fn reserve(&mut self, n: usize, mut hash_of: impl FnMut(u64) -> u64) {
        assert!(
            self.candidates.is_empty(),
            "a table grows between rounds only"
        );
        self.candidates.reserve_exact(n);
        let Some(n_cells) = self.grown(n) else {
            return;
        };
        let new = Partition {
            bytes: vec![0; n_cells * CELL_BYTES + SLACK_BYTES],
            n_cells,
            n_states: self.n_states,
            candidates: std::mem::take(&mut self.candidates),
        };
        let old = std::mem::replace(self, new);
        for at in 0..old.n_cells {
            let cell = old.cell(at);
            if cell != 0 {
                let mut to = self.home(hash_of(cell & NUMBER_MASK));
                while self.cell(to) != 0 {
                    to = self.after(to);
                }
                self.set_cell(to, cell);
            }
        }
    }

    /// Finds the state with this hash for which `is_same` holds, or else adds the candidate
    /// `name`. Returns what was found; `None` where the candidate is new.
    ///
    /// There must be room, see [`reserve`](Self::reserve).
    #[inline]
    pub fn find_or_add(
        &mut self,
        hash: u64,
        name: u64,
        mut is_same: impl FnMut(Cell) -> bool,
    ) -> Option<Cell> {
        assert!(self.n_states < self.n_cells, "room must be reserved first");
        let tag = tag_of(hash);
        let mut at = self.home(hash);
        loop {
            let cell = self.cell(at);
            if cell == 0 {
                let number = CANDIDATE | self.candidates.len() as u64;
                self.set_cell(at, (tag << NUMBER_BITS) | number);
                self.candidates.push(Candidate { cell: at, name });
                self.n_states += 1;
                return None;
            }
            if cell >> NUMBER_BITS == tag {
                let found = self.meaning(cell & NUMBER_MASK);
                if is_same(found) {
                    return Some(found);
                }
            }
            at = self.after(at);
        }
    }

    /// Reads ahead: the ordinal in the first cell where this hash may be, if it looks like a hit.
    ///
    /// Asking for several hashes before looking them up lets the processor wait for all their
    /// cells at once. There must be room, as for [`find_or_add`](Self::find_or_add).
    #[inline]
    pub fn peek(&self, hash: u64) -> Option<u64> {
        let cell = self.cell(self.home(hash));
        let is_stored = cell & CANDIDATE == 0;
        (cell >> NUMBER_BITS == tag_of(hash) && is_stored).then_some(cell & NUMBER_MASK)
    }

    /// Finds the ordinal of the state with this hash for which `is_same` holds, between rounds.
    #[inline]
    pub fn find(&self, hash: u64, mut is_same: impl FnMut(u64) -> bool) -> Option<u64> {
        if self.n_cells == 0 {
            return None;
        }
        let tag = tag_of(hash);
        let mut at = self.home(hash);
        loop {
            let cell = self.cell(at);
            if cell == 0 {
                return None;
            }
            if cell >> NUMBER_BITS == tag && is_same(cell & NUMBER_MASK) {
                return Some(cell & NUMBER_MASK);
            }
            at = self.after(at);
        }
    }

    /// Ends a round: each candidate added since the last call becomes the ordinal that
    /// `ordinal_of` gives for its name.
    pub fn settle(&mut self, mut ordinal_of: impl FnMut(u64) -> u64) {
        for i in 0..self.candidates.len() {
            let Candidate { cell, name } = self.candidates[i];
            let ordinal = ordinal_of(name);
            assert!(ordinal < CANDIDATE, "ordinals fit their cells");
            self.set_cell(cell, (self.cell(cell) & !NUMBER_MASK) | ordinal);
        }
        self.candidates.clear();
    }

    /// Memory held, in bytes.
    pub fn data_bytes(&self) -> u64 {
        (self.bytes.len() + self.candidates.capacity() * size_of::<Candidate>()) as u64
    }

    /// Memory that making room for `n` more states adds, in bytes, the replaced array freed.
    pub fn growth_bytes(&self, n: usize) -> u64 {
        let cells = self.grown(n).map_or(0, |n_cells| {
            n_cells * CELL_BYTES + SLACK_BYTES - self.bytes.len()
        });
        let candidates = n.saturating_sub(self.candidates.capacity()) * size_of::<Candidate>();
        (cells + candidates) as u64
    }

    /// Number of cells for `n` more states, if it is more than there are.
    ///
    /// At most four cells of five are full; growing by half keeps at least half of them full.
    fn grown(&self, n: usize) -> Option<usize> {
        let needed = (self.n_states + n) * 5 / 4 + 1;
        (needed > self.n_cells).then(|| needed.max(self.n_cells + self.n_cells / 2))
    }

    /// The cell where the search for a hash begins: the bits after the partition's, scaled to the
    /// number of cells, so that any number of cells will do.
    #[inline]
    fn home(&self, hash: u64) -> usize {
        let bits = u128::from(hash << PARTITION_BITS);
        ((bits * self.n_cells as u128) >> 64) as usize
    }

    #[inline]
    fn after(&self, at: usize) -> usize {
        if at + 1 == self.n_cells { 0 } else { at + 1 }
    }

    #[inline]
    fn cell(&self, at: usize) -> u64 {
        let word: [u8; 8] = self.bytes[at * CELL_BYTES..at * CELL_BYTES + 8]
            .try_into()
            .expect("a cell and its slack make a word");
        u64::from_le_bytes(word) << 16 >> 16
    }

    #[inline]
    fn set_cell(&mut self, at: usize, cell: u64) {
        self.bytes[at * CELL_BYTES..][..CELL_BYTES]
            .copy_from_slice(&cell.to_le_bytes()[..CELL_BYTES]);
    }

    #[inline]
    fn meaning(&self, number: u64) -> Cell {
        if number & CANDIDATE == 0 {
            Cell::Stored(number)
        } else {
            Cell::Candidate(self.candidates[(number ^ CANDIDATE) as usize].name)
        }
    }
}

/// Eight bits of the hash that choose neither partition nor, in tables of any size that fits in
/// memory, the cell; never zero, which marks an empty cell.
#[inline]
fn tag_of(hash: u64) -> u64 {
    (hash & 0xff).max(1)
}

#[cfg(test)]
mod tests {
    use super::{Cell, Partition};
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;
    use std::collections::HashMap;

    /// Random rounds against a plain map, under several hashes, bad ones among them.
    #[test]
    fn a_partition_agrees_with_a_map() {
        let hashes: [fn(u64) -> u64; 5] = [
            |key| crate::hash_state(&key.to_le_bytes()),
            |_| 0,
            |_| u64::MAX,
            |key| ((key % 3) << 40) | (key % 2),
            |key| key << 50,
        ];
        for (seed, hash) in hashes.into_iter().enumerate() {
            let mut rng = Pcg64Mcg::seed_from_u64(seed as u64);
            let mut partition = Partition::default();
            let (mut keys, mut ordinals) = (Vec::new(), HashMap::new());
            assert_eq!(partition.find(hash(1), |_| true), None);
            for _ in 0..40 {
                let round: Vec<u64> = (0..rng.random_range(0..60))
                    .map(|_| rng.random_range(0..900))
                    .collect();
                let expected = partition.growth_bytes(round.len());
                let before = partition.data_bytes();
                partition.reserve(round.len(), |ordinal| hash(keys[ordinal as usize]));
                assert_eq!(partition.data_bytes(), before + expected);
                let mut new: HashMap<u64, u64> = HashMap::new();
                for (name, &key) in round.iter().enumerate() {
                    let found = partition.find_or_add(hash(key), name as u64, |cell| match cell {
                        Cell::Stored(ordinal) => keys[ordinal as usize] == key,
                        Cell::Candidate(name) => round[name as usize] == key,
                    });
                    let expected = match (ordinals.get(&key), new.get(&key)) {
                        (Some(&ordinal), _) => Some(Cell::Stored(ordinal)),
                        (None, Some(&name)) => Some(Cell::Candidate(name)),
                        (None, None) => {
                            new.insert(key, name as u64);
                            None
                        }
                    };
                    assert_eq!(found, expected);
                }
                let mut numbered: Vec<(u64, u64)> =
                    new.iter().map(|(&key, &name)| (name, key)).collect();
                numbered.sort_unstable();
                let mut ordinal_of = HashMap::new();
                for (name, key) in numbered {
                    ordinal_of.insert(name, keys.len() as u64);
                    ordinals.insert(key, keys.len() as u64);
                    keys.push(key);
                }
                partition.settle(|name| ordinal_of[&name]);
                assert_eq!(partition.len(), keys.len());
                for key in 0..900 {
                    if !partition.is_empty() {
                        let likely = partition.peek(hash(key));
                        assert!(likely.is_none_or(|ordinal| ordinal < keys.len() as u64));
                    }
                    let found = partition.find(hash(key), |ordinal| keys[ordinal as usize] == key);
                    assert_eq!(found, ordinals.get(&key).copied());
                }
            }
        }
    }

    #[test]
    fn ordinals_beyond_32_bits_fit() {
        let mut partition = Partition::default();
        partition.reserve(1, |_| 0);
        partition.find_or_add(5, 0, |_| false);
        partition.settle(|_| (1 << 39) - 1);
        assert_eq!(partition.find(5, |_| true), Some((1 << 39) - 1));
    }
}
