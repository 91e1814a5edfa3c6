//! A partition of keys that are not wide: a table that grows, or in a cache two of fixed size.

use super::Growth;
use super::table::{Added, Size, Table};
use crate::Placing;
use crate::key::with_cell_words;
use crate::table::N_PARTITIONS;

/// The keys of one partition.
#[derive(Debug)]
pub(super) struct Generations<T> {
    placing: Placing,
    growth: Growth,
    /// Number of the partition.
    number: usize,
    /// All keys, or in a cache those that came last.
    young: T,
    /// In a cache, those that came before.
    old: Option<T>,
    cache_bytes: Option<usize>,
}

/// Slots of the first table.
const FIRST_SLOTS: usize = 256;
/// Keys that are prefetched before they are looked up.
const LOOKAHEAD: usize = 32;
/// Tables of fewer bytes grow in larger steps: what that takes is little in all.
const SMALL_BYTES: usize = 64 << 10;
const SMALL_STEPS: usize = 6;

impl<T: Table> Generations<T> {
    pub(super) fn new(placing: Placing, growth: Growth, number: usize) -> Self {
        Generations {
            placing,
            growth,
            number,
            young: T::new(placing, Size::NONE),
            old: None,
            cache_bytes: None,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.young.len() + self.old.as_ref().map_or(0, T::len)
    }

    /// As [`SetPartition::add_all`](super::SetPartition::add_all).
    pub(super) fn add_all<'a>(
        &mut self,
        batches: impl Iterator<Item = &'a [u64]>,
        is_new: impl FnMut(usize, usize),
    ) {
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
            self.prefetch(cells);
        }
        while let Some((batch, first, cells)) = next {
            next = pieces.next();
            if let Some((_, _, cells)) = next {
                self.prefetch(cells);
            }
            for (position, &cell) in cells.iter().enumerate() {
                if self.add(cell) {
                    is_new(batch, first + position);
                }
            }
        }
    }

    fn prefetch<const N: usize>(&self, cells: &[[u64; N]]) {
        for table in std::iter::once(&self.young).chain(&self.old) {
            for cell in cells {
                table.prefetch(cell[0]);
            }
        }
    }

    /// Adds a cell; returns whether it is new.
    #[inline]
    pub(super) fn add<const N: usize>(&mut self, cell: [u64; N]) -> bool {
        let added = match &self.old {
            None => self.young.add_unless(cell, || false),
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
                self.grow::<N>(self.grown(self.young.len() + 1));
            } else if !self.turn() {
                return true;
            }
            match self.young.add_unless(cell, || false) {
                Added::New => return true,
                Added::Known => return false,
                Added::Full => {}
            }
        }
    }

    /// As [`SetPartition::add_distinct`](super::SetPartition::add_distinct).
    pub(super) fn add_distinct(&mut self, cells: &[u64], expected: usize) {
        with_cell_words!(
            self.placing.cell_words(),
            self.add_distinct_words(cells, expected)
        );
    }

    fn add_distinct_words<const N: usize>(&mut self, cells: &[u64], expected: usize) {
        let (cells, _) = cells.as_chunks::<N>();
        let len = self.young.len() + cells.len();
        if len > self.young.size().room && self.old.is_none() {
            self.grow::<N>(match expected < len {
                true => self.grown(len),
                false => expected * 1000 / self.growth.fill / T::SLOTS + 1,
            });
        }
        for &cell in cells {
            if !self.young.add_distinct(cell) {
                self.add_with_room(cell);
            }
        }
    }

    /// Appends all keys to `keys`, those that came last behind the others.
    pub(super) fn keys(&self, keys: &mut Vec<u64>) {
        with_cell_words!(self.placing.cell_words(), self.key_words(keys));
    }

    fn key_words<const N: usize>(&self, keys: &mut Vec<u64>) {
        let n_words = self.placing.key_words();
        keys.reserve_exact(self.len() * n_words);
        let mut push = |cell: [u64; N]| {
            let begin = keys.len();
            keys.resize(begin + n_words, 0);
            self.placing.invert(self.number, cell, &mut keys[begin..]);
        };
        for table in self.old.iter().chain([&self.young]) {
            table.for_each(&mut push);
        }
    }

    /// Grows to `n_homes`, or more if keys at the end need it.
    fn grow<const N: usize>(&mut self, mut n_homes: usize) {
        loop {
            let mut grown = T::new(self.placing, self.size(n_homes));
            if grown.fill_from::<N>(&self.young) {
                self.young = grown;
                return;
            }
            n_homes += self.step(n_homes).max(1);
        }
    }

    /// Makes the young table the old one. False where there is none.
    fn turn(&mut self) -> bool {
        let Some(old) = &mut self.old else {
            return false;
        };
        if self.young.len() == 0 {
            return false;
        }
        std::mem::swap(&mut self.young, old);
        self.young.clear();
        true
    }

    pub(super) fn cache_bytes(&self) -> Option<usize> {
        self.cache_bytes
    }

    /// Drops the older keys of a cache and frees their memory.
    pub(super) fn drop_old(&mut self) {
        self.old = None;
    }

    /// Makes this a cache that takes at most `bytes`. As many keys as fit its older half stay, evenly
    /// chosen.
    pub(super) fn begin_cache(&mut self, bytes: usize) {
        with_cell_words!(self.placing.cell_words(), self.begin_cache_words(bytes));
    }

    fn begin_cache_words<const N: usize>(&mut self, bytes: usize) {
        self.cache_bytes = Some(bytes);
        let size = T::fitting(self.placing, bytes / 2, self.growth.fill);
        let mut old = T::new(self.placing, size);
        old.sample::<N>(&self.young, size.room.min(self.young.len()));
        self.young = T::new(self.placing, size);
        self.old = Some(old);
    }

    /// Memory held, in bytes.
    pub(super) fn data_bytes(&self) -> u64 {
        self.young.data_bytes() + self.old.as_ref().map_or(0, T::data_bytes)
    }

    /// Memory that `n` more keys take at most, in bytes, the replaced table freed.
    pub(super) fn growth_bytes(&self, n: usize) -> u64 {
        let len = self.young.len() + n;
        if n == 0 || len <= self.young.size().room || self.old.is_some() {
            return 0;
        }
        let bytes = T::bytes_for(self.placing, self.size(self.grown(len))) as u64;
        bytes - self.young.data_bytes()
    }

    /// Number of homes for `len` keys, more than there are.
    fn grown(&self, len: usize) -> usize {
        let n_homes = self.young.size().n_homes;
        let first = FIRST_SLOTS / T::SLOTS;
        // Partitions fill up alike; differing from the beginning, they do not all grow in the same
        // round.
        let first = first + first * self.number / self.growth.steps / N_PARTITIONS;
        let mut n_homes = (n_homes + self.step(n_homes)).max(first);
        while self.size(n_homes).room < len {
            n_homes += self.step(n_homes);
        }
        n_homes
    }

    /// By how much `n_homes` grow at once.
    fn step(&self, n_homes: usize) -> usize {
        let is_small = T::bytes_for(self.placing, self.size(n_homes)) < SMALL_BYTES;
        n_homes
            / match is_small {
                true => self.growth.steps.min(SMALL_STEPS),
                false => self.growth.steps,
            }
    }

    /// A table of `n_homes`, and a few places behind them.
    fn size(&self, n_homes: usize) -> Size {
        Size {
            n_homes,
            n_spare: 64 / T::SLOTS + n_homes / 1024,
            n_slots: T::SLOTS,
            room: n_homes * T::SLOTS * self.growth.fill / 1000,
        }
    }
}
