//! A partition of wide keys: cells in the order of their arrival, and an index of them.
//!
//! Where a cell has hundreds of words, the gaps of a sorted array would take more memory than the
//! index does, and moving cells for a new one more time.

use crate::Placing;

/// The wide keys of one partition.
#[derive(Debug)]
pub(super) struct WidePartition {
    placing: Placing,
    /// All keys, or in a cache those that came last.
    young: Cells,
    /// In a cache, those that came before.
    old: Option<Cells>,
    cache_bytes: Option<usize>,
}

impl WidePartition {
    pub(super) fn new(placing: Placing) -> Self {
        WidePartition {
            placing,
            young: Cells::new(placing.cell_words()),
            old: None,
            cache_bytes: None,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.young.len() + self.old.as_ref().map_or(0, Cells::len)
    }

    pub(super) fn cache_bytes(&self) -> Option<usize> {
        self.cache_bytes
    }

    /// Drops the older keys of a cache and frees their memory.
    pub(super) fn drop_old(&mut self) {
        self.old = None;
    }

    /// As [`SetPartition::add_all`](super::SetPartition::add_all). Not inlined there, where it would
    /// slow down the others.
    #[cold]
    pub(super) fn add_all<'a>(
        &mut self,
        batches: impl Iterator<Item = &'a [u64]>,
        mut is_new: impl FnMut(usize, usize),
    ) {
        for (batch, words) in batches.enumerate() {
            let cells = words.chunks_exact(self.placing.cell_words());
            for (position, cell) in cells.enumerate() {
                if self.add(cell) {
                    is_new(batch, position);
                }
            }
        }
    }

    /// As [`SetPartition::add_distinct`](super::SetPartition::add_distinct).
    pub(super) fn add_distinct(&mut self, cells: &[u64], expected: usize) {
        let len = self.young.len() + cells.len() / self.placing.cell_words();
        if len > self.young.room && self.old.is_none() {
            self.young.grow(grown(len).max(expected));
        }
        self.add_all(std::iter::once(cells), |_, _| ());
    }

    /// Adds a cell; returns whether it is new.
    fn add(&mut self, cell: &[u64]) -> bool {
        let is_known =
            self.young.contains(cell) || (self.old.as_ref()).is_some_and(|old| old.contains(cell));
        if is_known {
            return false;
        }
        if self.young.is_full() {
            match &mut self.old {
                None => self.young.grow(grown(self.young.len() + 1)),
                Some(old) => {
                    std::mem::swap(&mut self.young, old);
                    self.young.clear();
                }
            }
        }
        // A cache may have no room at all.
        if !self.young.is_full() {
            self.young.push(cell);
        }
        true
    }

    /// Appends all keys to `keys`, those that came last behind the others.
    pub(super) fn keys(&self, keys: &mut Vec<u64>) {
        keys.reserve_exact(self.len() * self.placing.key_words());
        for cells in self.old.iter().chain([&self.young]) {
            for cell in cells.iter() {
                let begin = keys.len();
                keys.extend_from_slice(cell);
                self.placing.invert_wide(&mut keys[begin..]);
            }
        }
    }

    /// Makes this a cache that takes at most `bytes`. As many keys as fit its older half stay, evenly
    /// chosen.
    pub(super) fn begin_cache(&mut self, bytes: usize) {
        self.cache_bytes = Some(bytes);
        let cell_words = self.placing.cell_words();
        let most = bytes / 2 / Cells::bytes_for(cell_words, 1);
        // The index is a power of two, so a few cells less may fit.
        let fits = |&n: &usize| Cells::bytes_for(cell_words, n) <= bytes / 2;
        let room = (0..=most).rev().find(fits).unwrap_or(0);
        let (mut old, mut young) = (Cells::new(cell_words), Cells::new(cell_words));
        old.grow(room);
        let (n_all, n_kept) = (self.young.len(), self.young.len().min(room));
        for kept in 0..n_kept {
            old.push(self.young.cell(kept * n_all / n_kept));
        }
        self.young = Cells::new(cell_words);
        young.grow(room);
        (self.young, self.old) = (young, Some(old));
    }

    /// Memory held, in bytes.
    pub(super) fn data_bytes(&self) -> u64 {
        self.young.data_bytes() + self.old.as_ref().map_or(0, Cells::data_bytes)
    }

    /// Memory that `n` more keys take at most, in bytes, what is replaced freed.
    pub(super) fn growth_bytes(&self, n: usize) -> u64 {
        let n_all = self.young.len() + n;
        if n_all <= self.young.room || self.old.is_some() {
            return 0;
        }
        let bytes = Cells::bytes_for(self.young.cell_words, grown(n_all)) as u64;
        bytes - self.young.data_bytes()
    }
}

/// Cells that there is room for when `n` did not fit.
fn grown(n: usize) -> usize {
    n + n / 8
}

/// Cells in the order of their arrival.
#[derive(Debug)]
struct Cells {
    cell_words: usize,
    /// The cells, one after the other.
    words: Vec<u64>,
    /// Numbers of cells plus one, by the first words of cells; zero is empty. A power of two, at most
    /// half full.
    index: Vec<u32>,
    /// Cells that there is room for.
    room: usize,
}

impl Cells {
    fn new(cell_words: usize) -> Self {
        Cells {
            cell_words,
            words: Vec::new(),
            index: Vec::new(),
            room: 0,
        }
    }

    fn bytes_for(cell_words: usize, room: usize) -> usize {
        8 * room * cell_words + 4 * index_len(room)
    }

    fn data_bytes(&self) -> u64 {
        Self::bytes_for(self.cell_words, self.room) as u64
    }

    fn len(&self) -> usize {
        self.words.len() / self.cell_words
    }

    fn is_full(&self) -> bool {
        self.len() >= self.room
    }

    fn iter(&self) -> impl Iterator<Item = &[u64]> {
        self.words.chunks_exact(self.cell_words)
    }

    fn cell(&self, number: usize) -> &[u64] {
        &self.words[number * self.cell_words..][..self.cell_words]
    }

    fn contains(&self, cell: &[u64]) -> bool {
        let mask = self.index.len().wrapping_sub(1);
        let mut at = self.home(cell);
        // Beyond the end only where there is no index.
        while let Some(number) = self.index.get(at).and_then(|number| number.checked_sub(1)) {
            if self.cell(number as usize) == cell {
                return true;
            }
            at = (at + 1) & mask;
        }
        false
    }

    /// Appends a cell that is not here and for which there is room.
    fn push(&mut self, cell: &[u64]) {
        let number = self.len();
        self.words.extend_from_slice(cell);
        self.place(number);
    }

    /// Makes room for `room` cells.
    fn grow(&mut self, room: usize) {
        self.words
            .reserve_exact(room * self.cell_words - self.words.len());
        self.room = room;
        if self.index.len() < index_len(room) {
            self.index = vec![0; index_len(room)];
            for number in 0..self.len() {
                self.place(number);
            }
        }
    }

    /// Removes all cells; keeps the memory.
    fn clear(&mut self) {
        self.words.clear();
        self.index.fill(0);
    }

    fn place(&mut self, number: usize) {
        let mask = self.index.len() - 1;
        let mut at = self.home(self.cell(number));
        while self.index[at] != 0 {
            at = (at + 1) & mask;
        }
        self.index[at] = number as u32 + 1;
    }

    /// Where the search for a cell begins. The first byte of its first word is the partition's.
    fn home(&self, cell: &[u64]) -> usize {
        cell[0] as usize & self.index.len().wrapping_sub(1)
    }
}

/// Entries of the index for `room` cells.
fn index_len(room: usize) -> usize {
    match room {
        0 => 0,
        _ => (2 * room).next_power_of_two(),
    }
}
