//! The set of short states: exact, with the states themselves in the table.
//!
//! A partition is an array of keys (see [`Encoding`]) in ascending order, with gaps: a key lies at
//! its *home*, the place its first bits point to, or as near behind it as order allows.
//! So a state costs little more than its bytes, a lookup touches one or two neighbouring cache
//! lines and ends at the first larger key, and growing is one pass over the array from front to
//! end, which can be done at any time and in small steps.
//! Ordinals are not kept: who needs to find them takes a [`Table`](crate::Table).

use std::sync::RwLock;

use crate::Encoding;
use crate::prefetch::prefetch;
use crate::table::N_PARTITIONS;

/// The partitions, each behind its own lock.
#[derive(Debug)]
pub struct Set {
    encoding: Encoding,
    partitions: Vec<RwLock<SetPartition>>,
}

impl Set {
    /// An empty set.
    pub fn new(encoding: Encoding) -> Self {
        let partition = |number| RwLock::new(SetPartition::new(encoding, number));
        Set {
            encoding,
            partitions: (0..N_PARTITIONS).map(partition).collect(),
        }
    }

    /// How states become keys.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// The partition numbered `partition`.
    pub fn partition(&self, partition: usize) -> &RwLock<SetPartition> {
        &self.partitions[partition]
    }

    /// Memory held, in bytes.
    pub fn data_bytes(&self) -> u64 {
        let data_bytes = |partition| read(partition).data_bytes();
        self.partitions.iter().map(data_bytes).sum()
    }

    /// Memory that `n_candidates[p]` more states in each partition `p` take at most, in bytes,
    /// where up to `n_threads` partitions grow at once: an array and its replacement are held
    /// together.
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

fn read(partition: &RwLock<SetPartition>) -> std::sync::RwLockReadGuard<'_, SetPartition> {
    partition
        .read()
        .expect("no one panics while they hold a partition")
}

/// One partition of a [`Set`].
#[derive(Debug)]
pub struct SetPartition {
    encoding: Encoding,
    /// `n_cells` cells, `n_spare` more behind them, and [`SLACK_BYTES`] so that whole words can be
    /// read. A cell of zeros is empty; the last one always is.
    bytes: Vec<u8>,
    /// Cells that may be homes.
    n_cells: usize,
    n_spare: usize,
    /// States before the array grows.
    room: usize,
    n_states: usize,
    /// Whether the key of zeros, which looks like an empty cell, is in the set.
    has_zero: bool,
    /// Cells of the first array. Partitions fill up alike; differing from the beginning, they do
    /// not all grow in the same round.
    first_cells: usize,
}

const FIRST_CELLS: usize = 256;
const SLACK_BYTES: usize = 8;
/// Keys that are asked for before they are looked up.
const LOOKAHEAD: usize = 32;

impl SetPartition {
    fn new(encoding: Encoding, number: usize) -> Self {
        SetPartition {
            encoding,
            bytes: Vec::new(),
            n_cells: 0,
            n_spare: 0,
            room: 0,
            n_states: 0,
            has_zero: false,
            first_cells: FIRST_CELLS + FIRST_CELLS / 8 * number / N_PARTITIONS,
        }
    }

    /// Number of states.
    pub fn len(&self) -> usize {
        self.n_states + usize::from(self.has_zero)
    }

    /// Whether there is no state.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds the keys of several batches in order, given as words. `is_new` is told the number of
    /// the batch and the position in it of every key that was not in the set before.
    pub fn add_all<'a>(
        &mut self,
        batches: impl Iterator<Item = &'a [u64]>,
        is_new: impl FnMut(usize, usize),
    ) {
        match self.encoding.n_words() {
            1 => self.add_words::<1>(batches, is_new),
            2 => self.add_words::<2>(batches, is_new),
            3 => self.add_words::<3>(batches, is_new),
            _ => self.add_words::<4>(batches, is_new),
        }
    }

    fn add_words<'a, const N: usize>(
        &mut self,
        batches: impl Iterator<Item = &'a [u64]>,
        mut is_new: impl FnMut(usize, usize),
    ) {
        let mut pieces = batches.enumerate().flat_map(|(batch, words)| {
            let (keys, _) = words.as_chunks::<N>();
            let pieces = keys.chunks(LOOKAHEAD).enumerate();
            pieces.map(move |(piece, keys)| (batch, piece * LOOKAHEAD, keys))
        });
        let mut next = pieces.next();
        if let Some((_, _, keys)) = next {
            self.ask_for(keys);
        }
        while let Some((batch, first, keys)) = next {
            next = pieces.next();
            if let Some((_, _, keys)) = next {
                self.ask_for(keys);
            }
            for (position, &key) in keys.iter().enumerate() {
                if self.add(key) {
                    is_new(batch, first + position);
                }
            }
        }
    }

    fn ask_for<const N: usize>(&self, keys: &[[u64; N]]) {
        let cell_len = self.encoding.cell_len();
        for key in keys {
            let at = self.home(key[0]) * cell_len;
            prefetch(&self.bytes, at);
            // The search goes on behind the home, often into the next line.
            prefetch(&self.bytes, at + 4 * cell_len);
        }
    }

    /// Adds a key; says whether it is new.
    #[inline]
    fn add<const N: usize>(&mut self, key: [u64; N]) -> bool {
        if key == [0; N] {
            return !std::mem::replace(&mut self.has_zero, true);
        }
        loop {
            if self.n_cells > 0 {
                let mut at = self.home(key[0]);
                let mut cell = self.cell::<N>(at);
                while cell < key {
                    if cell == [0; N] {
                        break;
                    }
                    at += 1;
                    cell = self.cell(at);
                }
                if cell == key {
                    return false;
                }
                if self.n_states < self.room && self.insert_at(at, cell, key) {
                    return true;
                }
            }
            self.grow::<N>();
        }
    }

    /// Puts a key where `cell` is, which moves behind it with all up to the next gap. Returns
    /// whether there was one.
    #[inline]
    fn insert_at<const N: usize>(&mut self, at: usize, cell: [u64; N], key: [u64; N]) -> bool {
        let cell_len = self.encoding.cell_len();
        let mut gap = at;
        let mut there = cell;
        while there != [0; N] {
            gap += 1;
            there = self.cell(gap);
        }
        if gap + 1 == self.n_cells + self.n_spare {
            return false;
        }
        self.bytes
            .copy_within(at * cell_len..gap * cell_len, (at + 1) * cell_len);
        self.set_cell(at, key);
        self.n_states += 1;
        true
    }

    #[cold]
    fn grow<const N: usize>(&mut self) {
        let mut n_cells = self.grown(self.n_states + 1);
        loop {
            if let Some(grown) = self.spread::<N>(n_cells) {
                *self = grown;
                return;
            }
            n_cells += self.step(n_cells);
        }
    }

    /// The same keys in `n_cells` cells, if there is room behind the last one.
    fn spread<const N: usize>(&self, n_cells: usize) -> Option<SetPartition> {
        let n_spare = n_spare(n_cells);
        let mut grown = SetPartition {
            encoding: self.encoding,
            bytes: vec![0; self.bytes_of(n_cells)],
            n_cells,
            n_spare,
            room: self.room_in(n_cells),
            n_states: self.n_states,
            has_zero: self.has_zero,
            first_cells: self.first_cells,
        };
        let mut next = 0;
        for at in 0..self.n_cells + self.n_spare {
            let key = self.cell::<N>(at);
            if key != [0; N] {
                let to = grown.home(key[0]).max(next);
                next = to + 1;
                if next == n_cells + n_spare {
                    return None;
                }
                grown.set_cell(to, key);
            }
        }
        Some(grown)
    }

    /// Memory held, in bytes.
    pub fn data_bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Memory that `n` more states take at most, in bytes, the replaced array freed.
    pub fn growth_bytes(&self, n: usize) -> u64 {
        if n == 0 || self.n_states + n <= self.room {
            return 0;
        }
        (self.bytes_of(self.grown(self.n_states + n)) - self.bytes.len()) as u64
    }

    /// Number of cells that have room for `n_states`, more than there are.
    fn grown(&self, n_states: usize) -> usize {
        let mut n_cells = (self.n_cells + self.step(self.n_cells)).max(self.first_cells);
        while self.room_in(n_cells) < n_states {
            n_cells += self.step(n_cells);
        }
        n_cells
    }

    /// By how much `n_cells` grow at once. A step of an eighth moves a key nine times in its life,
    /// in sequence.
    fn step(&self, n_cells: usize) -> usize {
        match self.encoding.n_words() {
            1 => n_cells / 8,
            _ => n_cells / 12,
        }
    }

    /// States that an array of `n_cells` cells holds before it grows.
    ///
    /// A new key moves all cells up to the next gap: 13 where four of five are taken, 23 at 85 in
    /// a hundred, 50 at 90. The longer the keys, the more a gap costs in memory.
    fn room_in(&self, n_cells: usize) -> usize {
        match self.encoding.n_words() {
            1 => n_cells / 20 * 17,
            _ => n_cells / 10 * 9,
        }
    }

    fn bytes_of(&self, n_cells: usize) -> usize {
        (n_cells + n_spare(n_cells)) * self.encoding.cell_len() + SLACK_BYTES
    }

    /// The cell where a key wants to be: its first word, scaled to the number of cells.
    #[inline]
    fn home(&self, first_word: u64) -> usize {
        ((u128::from(first_word) * self.n_cells as u128) >> 64) as usize
    }

    #[inline]
    fn cell<const N: usize>(&self, at: usize) -> [u64; N] {
        if N == 1 {
            // The compiler knows the length.
            let (words, _) = self.bytes.as_chunks::<8>();
            return [u64::from_le_bytes(words[at]); N];
        }
        let cell_len = self.encoding.cell_len();
        self.encoding
            .load_cell(&self.bytes[at * cell_len..(at + 1) * cell_len])
    }

    #[inline]
    fn set_cell<const N: usize>(&mut self, at: usize, key: [u64; N]) {
        let cell_len = self.encoding.cell_len();
        self.encoding
            .store_cell(&mut self.bytes[at * cell_len..][..cell_len], key);
    }
}

/// Cells behind the last home, for keys that find theirs taken.
fn n_spare(n_cells: usize) -> usize {
    64 + n_cells / 1024
}

/// The keys of a block of states, by partition and then in order.
#[derive(Debug)]
pub struct Keys {
    /// Partition and key of each state in order.
    partitions: Vec<u8>,
    keys: Vec<u64>,
    /// Words of the keys, by partition.
    words: Vec<u64>,
    /// Position in the block of each key in `words`.
    positions: Vec<u32>,
    /// Where each partition begins in `positions`; one more for the end.
    begins: [u32; N_PARTITIONS + 1],
    n_words: usize,
}

impl Default for Keys {
    fn default() -> Self {
        Keys {
            partitions: Vec::new(),
            keys: Vec::new(),
            words: Vec::new(),
            positions: Vec::new(),
            begins: [0; N_PARTITIONS + 1],
            n_words: 0,
        }
    }
}

impl Keys {
    /// Bytes held for each state.
    pub fn bytes_for_state(encoding: Encoding) -> usize {
        1 + 4 + 16 * encoding.n_words()
    }

    /// Takes `n_states` states that lie one after the other in `states`, behind which at least
    /// sixteen bytes can be read.
    pub fn fill(&mut self, encoding: Encoding, states: &[u8], n_states: usize) {
        match encoding.n_words() {
            1 => self.fill_words::<1>(encoding, states, n_states),
            2 => self.fill_words::<2>(encoding, states, n_states),
            3 => self.fill_words::<3>(encoding, states, n_states),
            _ => self.fill_words::<4>(encoding, states, n_states),
        }
    }

    fn fill_words<const N: usize>(&mut self, encoding: Encoding, states: &[u8], n_states: usize) {
        self.n_words = N;
        self.begins = [0; N_PARTITIONS + 1];
        self.partitions.clear();
        self.partitions.resize(n_states, 0);
        self.keys.resize(n_states * N, 0);
        let (keys, _) = self.keys.as_chunks_mut::<N>();
        let mut at = 0;
        for (key, partition) in keys.iter_mut().zip(&mut self.partitions) {
            let (number, found) = encoding.encode::<N>(&states[at..]);
            at += encoding.state_len();
            *key = found;
            *partition = number as u8;
            self.begins[number + 1] += 1;
        }
        for partition in 0..N_PARTITIONS {
            self.begins[partition + 1] += self.begins[partition];
        }
        let mut next = self.begins;
        self.words.resize(n_states * N, 0);
        self.positions.resize(n_states, 0);
        let (words, _) = self.words.as_chunks_mut::<N>();
        for (position, (&key, &partition)) in keys.iter().zip(&self.partitions).enumerate() {
            let at = &mut next[usize::from(partition)];
            words[*at as usize] = key;
            self.positions[*at as usize] = position as u32;
            *at += 1;
        }
    }

    /// The words of the keys that belong to `partition`, in order.
    pub fn words(&self, partition: usize) -> &[u64] {
        let (from, to) = (self.begins[partition], self.begins[partition + 1]);
        &self.words[from as usize * self.n_words..to as usize * self.n_words]
    }

    /// The positions in the block of the keys that belong to `partition`, in order.
    pub fn positions(&self, partition: usize) -> &[u32] {
        let (from, to) = (self.begins[partition], self.begins[partition + 1]);
        &self.positions[from as usize..to as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::{Keys, Set, SetPartition};
    use crate::{Encoding, N_PARTITIONS};
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;
    use std::collections::HashSet;

    /// Rounds of random states, few and many different ones, against a plain set.
    #[test]
    fn a_set_agrees_with_a_plain_one() {
        let mut rng = Pcg64Mcg::seed_from_u64(5);
        for state_len in [0, 1, 2, 7, 8, 9, 10, 13, 16, 17, 18, 24, 25, 26, 32, 33] {
            let encoding = Encoding::new(state_len).expect("short enough");
            let set = Set::new(encoding);
            let mut plain = HashSet::new();
            for round in 0..40 {
                let blocks: Vec<Vec<Vec<u8>>> = (0..3)
                    .map(|_| {
                        (0..rng.random_range(0..3000))
                            .map(|_| {
                                let n_varying = rng.random_range(0..=state_len.min(4));
                                let mut state = vec![0; state_len];
                                for _ in 0..n_varying {
                                    let at = rng.random_range(0..state_len);
                                    state[at] = rng.random_range(0..=round as u8);
                                }
                                state
                            })
                            .collect()
                    })
                    .collect();
                let keys: Vec<Keys> = blocks.iter().map(|block| fill(encoding, block)).collect();
                let mut is_new: Vec<Vec<bool>> = blocks
                    .iter()
                    .map(|block| vec![false; block.len()])
                    .collect();
                for partition in 0..N_PARTITIONS {
                    let mut cells = set.partition(partition).write().unwrap();
                    let n = keys
                        .iter()
                        .map(|keys| keys.positions(partition).len())
                        .sum();
                    let most = cells.data_bytes() + cells.growth_bytes(n);
                    let batches = keys.iter().map(|keys| keys.words(partition));
                    cells.add_all(batches, |batch, at| {
                        let position = keys[batch].positions(partition)[at] as usize;
                        assert!(!is_new[batch][position]);
                        is_new[batch][position] = true;
                    });
                    assert!(cells.data_bytes() <= most);
                }
                for (block, is_new) in blocks.into_iter().zip(is_new) {
                    for (state, is_new) in block.into_iter().zip(is_new) {
                        assert_eq!(plain.insert(state), is_new);
                    }
                }
            }
            let n_states: usize = (0..N_PARTITIONS)
                .map(|partition| set.partition(partition).read().unwrap().len())
                .sum();
            assert_eq!(n_states, plain.len());
        }
    }

    fn fill(encoding: Encoding, block: &[Vec<u8>]) -> Keys {
        let mut bytes = block.concat();
        bytes.resize(bytes.len() + 16, 0xee);
        let mut keys = Keys::default();
        keys.fill(encoding, &bytes, block.len());
        keys
    }

    /// Keys that all want the last home, or the first, or are next to each other.
    #[test]
    fn crowded_homes_lose_nothing() {
        for base in [0, u64::MAX - 20_000, 1 << 63] {
            let encoding = Encoding::new(9).expect("short enough");
            let mut partition = SetPartition::new(encoding, 0);
            let mut rng = Pcg64Mcg::seed_from_u64(7);
            let mut plain = HashSet::new();
            for _ in 0..6000 {
                let key = base + rng.random_range(0..2000);
                assert_eq!(partition.add([key]), plain.insert(key), "{key}");
            }
            assert_eq!(partition.len(), plain.len());
        }
    }

    #[test]
    fn gaps_are_few() {
        let encoding = Encoding::new(13).expect("short enough");
        let mut partition = SetPartition::new(encoding, 0);
        for number in 0..100_000u64 {
            partition.add([number.wrapping_mul(0x9e37_79b9_7f4a_7c15), 0]);
        }
        assert!(partition.data_bytes() < 100_000 * 12 * 5 / 4);
    }
}
