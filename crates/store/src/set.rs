//! The set of keys: exact, with the keys themselves in the table.
//!
//! A partition is a sorted array of cells (see [`Placing`]) with gaps, so a key costs little more
//! than its bytes. It grows in small steps, each a pass over the array.
//! From [`Set::begin_cache`] on a set is a cache of recent keys of fixed size: a partition has a
//! young array and an old one, and when the young one is full, the old one is emptied and they are
//! swapped. It holds no ordinals; a [`Table`](crate::Table) finds those.

mod cells;
mod keys;
mod recoding;
#[cfg(test)]
mod tests;
mod wide;

use std::sync::RwLock;

use crate::Placing;
use crate::key::with_cell_words;
use crate::lock::{read, write};
use crate::table::N_PARTITIONS;
use cells::{Added, Cells};
use wide::WidePartition;

pub use keys::Keys;

/// The partitions, each behind its own lock.
#[derive(Debug)]
pub struct Set {
    placing: Placing,
    /// Of each partition, see [`Growth`].
    loose_bytes: usize,
    partitions: Vec<RwLock<SetPartition>>,
}

/// How full arrays get, and by how much they grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Growth {
    /// Cells in a thousand that may be taken.
    ///
    /// A new key moves all cells up to the next gap: 13 where four of five are taken, 23 at 85 in
    /// a hundred, 50 at 90.
    pub fill: usize,
    /// An array grows by one in `steps` cells, so a key is moved about `steps` times in its life,
    /// sequentially. Small arrays grow by more.
    pub steps: usize,
    /// Arrays of fewer bytes are looser: there is memory for them, and most lookups end at the first
    /// cell.
    pub loose_bytes: usize,
}

/// How full loose arrays get, in a thousand, and by how much they grow.
const LOOSE_FILL: usize = 700;
const LOOSE_STEPS: usize = 3;

impl Growth {
    /// Values that suit the length of cells: the longer they are, the more a gap costs in memory,
    /// and the less a pass over them adds to the time for a key.
    pub fn of(placing: Placing) -> Self {
        let (fill, steps) = match placing.cell_len() {
            0..=8 => (850, 8),
            9..=15 => (900, 12),
            16..=23 => (935, 20),
            24.. => (950, 24),
        };
        Growth {
            fill,
            steps,
            loose_bytes: 0,
        }
    }
}

impl Set {
    /// An empty set.
    pub fn new(placing: Placing) -> Self {
        Self::loose(placing, 0)
    }

    /// An empty set that is loose as long as it takes less than about `bytes`.
    pub fn loose(placing: Placing, bytes: u64) -> Self {
        let growth = Growth {
            loose_bytes: (bytes / N_PARTITIONS as u64) as usize,
            ..Growth::of(placing)
        };
        Self::with_growth(placing, growth)
    }

    /// An empty set with another growth.
    pub fn with_growth(placing: Placing, growth: Growth) -> Self {
        let partition = |number| RwLock::new(SetPartition::new(placing, growth, number));
        Set {
            placing,
            loose_bytes: growth.loose_bytes,
            partitions: (0..N_PARTITIONS).map(partition).collect(),
        }
    }

    /// How keys are placed.
    pub fn placing(&self) -> Placing {
        self.placing
    }

    /// The partition numbered `partition`.
    pub fn partition(&self, partition: usize) -> &RwLock<SetPartition> {
        &self.partitions[partition]
    }

    /// Number of keys.
    pub fn len(&self) -> u64 {
        let len = |partition: &RwLock<SetPartition>| read(partition).len() as u64;
        self.partitions.iter().map(len).sum()
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Memory held, in bytes.
    pub fn data_bytes(&self) -> u64 {
        let data_bytes = |partition: &RwLock<SetPartition>| read(partition).data_bytes();
        self.partitions.iter().map(data_bytes).sum()
    }

    /// Memory that `n_candidates[p]` more keys in each partition `p` take at most, in bytes,
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

    /// From now on the set is a cache that takes at most `bytes`. As many of its keys as fit the
    /// old arrays stay, evenly chosen.
    ///
    /// Each partition is made smaller on its own; `bytes` has room for the arrays of one that are
    /// held beside their replacements.
    pub fn begin_cache(&self, bytes: u64) {
        let partition_bytes = bytes / (N_PARTITIONS as u64 + 1);
        for partition in &self.partitions {
            write(partition).begin_cache(partition_bytes as usize);
        }
    }
}

/// One partition of a [`Set`].
#[derive(Debug)]
pub struct SetPartition {
    placing: Placing,
    growth: Growth,
    number: usize,
    /// All keys, or those that came last.
    young: Cells,
    /// In a cache, those that came before.
    old: Option<Cells>,
    cache_bytes: Option<usize>,
    /// Wide keys, which lie nowhere else.
    wide: Option<Box<WidePartition>>,
}

const FIRST_CELLS: usize = 256;
/// Keys that are prefetched before they are looked up.
const LOOKAHEAD: usize = 32;
/// Arrays of fewer bytes grow in larger steps: what that takes is little in all.
const SMALL_BYTES: usize = 64 << 10;
const SMALL_STEPS: usize = 6;

impl SetPartition {
    fn new(placing: Placing, growth: Growth, number: usize) -> Self {
        SetPartition {
            placing,
            growth,
            number,
            young: Cells::new(placing, 0, 0, 0),
            old: None,
            cache_bytes: None,
            wide: (placing.is_wide()).then(|| Box::new(WidePartition::new(placing))),
        }
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        if let Some(wide) = &self.wide {
            return wide.len();
        }
        self.young.len() + self.old.as_ref().map_or(0, Cells::len)
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds the cells of several batches in order, given as words (see [`Keys`]). `is_new` is
    /// called with the number of the batch and the position in it of each cell that was not in the
    /// set.
    pub fn add_all<'a>(
        &mut self,
        batches: impl Iterator<Item = &'a [u64]>,
        is_new: impl FnMut(usize, usize),
    ) {
        if let Some(wide) = &mut self.wide {
            return wide.add_all(batches, is_new);
        }
        with_cell_words!(self.placing.cell_words(), self.add_words(batches, is_new));
    }

    fn add_words<'a, const N: usize>(
        &mut self,
        batches: impl Iterator<Item = &'a [u64]>,
        mut is_new: impl FnMut(usize, usize),
    ) {
        let mut pieces = batches.enumerate().flat_map(|(batch, words)| {
            let (cells, _) = words.as_chunks::<N>();
            let pieces = cells.chunks(LOOKAHEAD).enumerate();
            pieces.map(move |(piece, cells)| (batch, piece * LOOKAHEAD, cells))
        });
        let mut next = pieces.next();
        if let Some((_, _, cells)) = next {
            self.prefetch_cells(cells);
        }
        while let Some((batch, first, cells)) = next {
            next = pieces.next();
            if let Some((_, _, cells)) = next {
                self.prefetch_cells(cells);
            }
            for (position, &cell) in cells.iter().enumerate() {
                if self.add(cell) {
                    is_new(batch, first + position);
                }
            }
        }
    }

    /// Adds cells that are not in the set, given as words of several batches; then it has up to `len`
    /// keys. An array that has to grow for them has room for `expected` keys afterwards.
    fn add_distinct<'a>(
        &mut self,
        batches: impl Iterator<Item = &'a [u64]>,
        len: usize,
        expected: usize,
    ) {
        if let Some(wide) = &mut self.wide {
            return batches.for_each(|cells| wide.add_distinct(cells, expected));
        }
        with_cell_words!(
            self.placing.cell_words(),
            self.add_distinct_words(batches, len, expected)
        );
    }

    fn add_distinct_words<'a, const N: usize>(
        &mut self,
        batches: impl Iterator<Item = &'a [u64]>,
        len: usize,
        expected: usize,
    ) {
        if len > self.young.room() && self.old.is_none() {
            self.grow::<N>(match expected < len {
                true => self.grown(len),
                false => expected * 1000 / self.fill(expected) + 1,
            });
        }
        for cells in batches {
            for &cell in cells.as_chunks::<N>().0 {
                self.add(cell);
            }
        }
    }

    fn prefetch_cells<const N: usize>(&self, cells: &[[u64; N]]) {
        for cell in cells {
            self.young.prefetch(cell[0]);
        }
        if let Some(old) = &self.old {
            for cell in cells {
                old.prefetch(cell[0]);
            }
        }
    }

    /// Adds a cell; returns whether it is new.
    #[inline]
    fn add<const N: usize>(&mut self, cell: [u64; N]) -> bool {
        let added = match &self.old {
            None => self.young.add(cell),
            // Recent keys are looked up most.
            Some(old) => self.young.add_unless(cell, || old.contains(cell)),
        };
        match added {
            Added::New => true,
            Added::Known => false,
            Added::Full => self.add_with_room(cell),
        }
    }

    /// Adds a cell for which there was no room.
    #[cold]
    fn add_with_room<const N: usize>(&mut self, cell: [u64; N]) -> bool {
        loop {
            if self.old.is_none() {
                self.grow::<N>(self.grown(self.young.n_taken() + 1));
            } else if !self.turn() {
                return true;
            }
            match self.young.add(cell) {
                Added::New => return true,
                Added::Known => return false,
                Added::Full => {}
            }
        }
    }

    /// Appends all keys to `keys`, those that came last behind the others.
    pub fn keys(&self, keys: &mut Vec<u64>) {
        if let Some(wide) = &self.wide {
            return wide.keys(keys);
        }
        with_cell_words!(self.placing.cell_words(), self.key_words(keys));
    }

    /// Appends all keys to `keys` and frees the memory.
    fn take_keys(&mut self, keys: &mut Vec<u64>) {
        self.keys(keys);
        *self = Self::new(self.placing, self.growth, self.number);
    }

    fn key_words<const N: usize>(&self, keys: &mut Vec<u64>) {
        let n_words = self.placing.key_words();
        keys.reserve_exact(self.len() * n_words);
        let mut push = |cell: [u64; N]| {
            let begin = keys.len();
            keys.resize(begin + n_words, 0);
            self.placing.invert(self.number, cell, &mut keys[begin..]);
        };
        for cells in self.old.iter().chain([&self.young]) {
            if cells.has_zero() {
                push([0; N]);
            }
            cells.for_each(&mut push);
        }
    }

    /// Grows to `n_cells`, or more if keys at the end need it.
    fn grow<const N: usize>(&mut self, mut n_cells: usize) {
        loop {
            let mut grown = Cells::new(
                self.placing,
                n_cells,
                n_spare(n_cells),
                self.room_in(n_cells),
            );
            grown.touch();
            if grown.fill_from::<N>(&self.young, self.young.n_taken()) {
                self.young = grown;
                return;
            }
            n_cells += self.step(n_cells).max(1);
        }
    }

    /// Makes the young array the old one. False where there is none.
    fn turn(&mut self) -> bool {
        let Some(old) = &mut self.old else {
            return false;
        };
        if self.young.n_taken() == 0 {
            return false;
        }
        std::mem::swap(&mut self.young, old);
        self.young.clear();
        true
    }

    fn cache_bytes(&self) -> Option<usize> {
        (self.wide.as_deref()).map_or(self.cache_bytes, WidePartition::cache_bytes)
    }

    /// Drops the older keys of a cache and frees their memory.
    fn drop_old(&mut self) {
        self.old = None;
        if let Some(wide) = &mut self.wide {
            wide.drop_old();
        }
    }

    fn begin_cache(&mut self, bytes: usize) {
        if let Some(wide) = &mut self.wide {
            return wide.begin_cache(bytes);
        }
        with_cell_words!(self.placing.cell_words(), self.begin_cache_words(bytes));
    }

    fn begin_cache_words<const N: usize>(&mut self, bytes: usize) {
        self.cache_bytes = Some(bytes);
        let placing = self.placing;
        // Two arrays of homes and a few cells behind them; the last cell is always empty.
        let total =
            (bytes / 2).saturating_sub(Cells::bytes_for(placing, 0, 0)) / placing.cell_len();
        let n_spare = (total / 4).min(64) + 1;
        let n_cells = total.saturating_sub(n_spare);
        let room = (n_cells * self.growth.fill / 1000).max(n_cells.min(1));
        let mut old = Cells::new(placing, n_cells, n_spare, room);
        if n_cells > 0 {
            // A cache may lose what does not fit behind the last home.
            old.fill_from::<N>(&self.young, room.min(self.young.n_taken()));
        }
        self.young = Cells::new(placing, n_cells, n_spare, room);
        self.old = Some(old);
    }

    /// Memory held, in bytes.
    pub fn data_bytes(&self) -> u64 {
        if let Some(wide) = &self.wide {
            return wide.data_bytes();
        }
        self.young.data_bytes() + self.old.as_ref().map_or(0, Cells::data_bytes)
    }

    /// Memory that `n` more keys take at most, in bytes, the replaced array freed.
    pub fn growth_bytes(&self, n: usize) -> u64 {
        if let Some(wide) = &self.wide {
            return wide.growth_bytes(n);
        }
        let n_taken = self.young.n_taken() + n;
        if n == 0 || n_taken <= self.young.room() || self.old.is_some() {
            return 0;
        }
        let n_cells = self.grown(n_taken);
        let bytes = Cells::bytes_for(self.placing, n_cells, n_spare(n_cells)) as u64;
        bytes - self.young.data_bytes()
    }

    /// Number of cells that have room for `n_taken`, more than there are.
    fn grown(&self, n_taken: usize) -> usize {
        let n_cells = self.young.n_cells();
        // Partitions fill up alike; differing from the beginning, they do not all grow in the same
        // round.
        let first_cells =
            FIRST_CELLS + FIRST_CELLS / self.growth.steps * self.number / N_PARTITIONS;
        let mut n_cells = (n_cells + self.step(n_cells)).max(first_cells);
        while self.room_in(n_cells) < n_taken {
            n_cells += self.step(n_cells);
        }
        n_cells
    }

    /// By how much `n_cells` grow at once.
    fn step(&self, n_cells: usize) -> usize {
        let n_bytes = n_cells * self.placing.cell_len();
        let steps = match self.growth.steps {
            _ if n_bytes < self.growth.loose_bytes => LOOSE_STEPS,
            steps if n_bytes < SMALL_BYTES => steps.min(SMALL_STEPS),
            steps => steps,
        };
        n_cells / steps
    }

    /// Keys that an array of `n_cells` cells holds before it grows.
    fn room_in(&self, n_cells: usize) -> usize {
        n_cells * self.fill(n_cells) / 1000
    }

    /// How full an array of `n_cells` gets, in a thousand.
    fn fill(&self, n_cells: usize) -> usize {
        match n_cells * self.placing.cell_len() < self.growth.loose_bytes {
            true => self.growth.fill.min(LOOSE_FILL),
            false => self.growth.fill,
        }
    }
}

/// Cells behind the last home, for keys that find theirs taken.
fn n_spare(n_cells: usize) -> usize {
    64 + n_cells / 1024
}
