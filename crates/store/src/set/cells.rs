//! A sorted array of cells with gaps.
//!
//! A cell lies at its *home*, the place its first bits point to, or as near behind it as order
//! allows. So a lookup touches one or two neighbouring cache lines and ends at the first larger
//! cell, and growing is one pass over the array from front to end.

use crate::Placing;
use crate::prefetch::prefetch;

/// The cells of one partition, or of one of its generations.
#[derive(Debug)]
pub(super) struct Cells {
    placing: Placing,
    /// `n_cells` cells, `n_spare` more behind them, and [`SLACK_BYTES`] so that whole words can be
    /// read. A cell of zeros is empty; the last one always is.
    bytes: Vec<u8>,
    /// Cells that may be homes.
    n_cells: usize,
    n_spare: usize,
    /// Cells that may be taken.
    room: usize,
    n_taken: usize,
    /// Whether the cell of zeros, which looks like an empty one, is among them.
    has_zero: bool,
}

const SLACK_BYTES: usize = 8;
/// Pages of the system have at least this many bytes.
const PAGE_BYTES: usize = 4096;

/// The result of adding a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Added {
    New,
    Known,
    /// It is not there, and there is no room.
    Full,
}

impl Cells {
    /// An array of `n_cells` homes, of which `room` may be taken. Its memory is not touched until
    /// it is used.
    pub(super) fn new(placing: Placing, n_cells: usize, n_spare: usize, room: usize) -> Self {
        let n_bytes = match n_cells {
            0 => 0,
            _ => Self::bytes_for(placing, n_cells, n_spare),
        };
        Cells {
            placing,
            bytes: vec![0; n_bytes],
            n_cells,
            n_spare,
            room,
            n_taken: 0,
            has_zero: false,
        }
    }

    /// Writes to every page of an array that is about to be filled. A page that is read before it is
    /// written is that of zeros, which all have in common; to replace it by one of its own at the
    /// first write interrupts every processor that runs the process.
    pub(super) fn touch(&mut self) {
        // The compiler knows that the bytes are zeros already.
        let bytes = std::hint::black_box(&mut self.bytes[..]);
        for byte in bytes.iter_mut().step_by(PAGE_BYTES) {
            *byte = 0;
        }
    }

    /// Memory that an array takes, in bytes.
    pub(super) fn bytes_for(placing: Placing, n_cells: usize, n_spare: usize) -> usize {
        (n_cells + n_spare) * placing.cell_len() + SLACK_BYTES
    }

    pub(super) fn len(&self) -> usize {
        self.n_taken + usize::from(self.has_zero)
    }

    pub(super) fn n_cells(&self) -> usize {
        self.n_cells
    }

    pub(super) fn n_taken(&self) -> usize {
        self.n_taken
    }

    pub(super) fn room(&self) -> usize {
        self.room
    }

    pub(super) fn data_bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Prefetches what a lookup will read.
    #[inline]
    pub(super) fn prefetch(&self, first_word: u64) {
        let cell_len = self.placing.cell_len();
        let at = self.home(first_word) * cell_len;
        prefetch(&self.bytes, at);
        // The search continues behind the home, often in the next line.
        prefetch(&self.bytes, at + 4 * cell_len);
    }

    /// Adds a cell.
    #[inline]
    pub(super) fn add<const N: usize>(&mut self, cell: [u64; N]) -> Added {
        self.add_unless(cell, || false)
    }

    /// Adds a cell that is not here, unless it `is_elsewhere`.
    #[inline]
    pub(super) fn add_unless<const N: usize>(
        &mut self,
        cell: [u64; N],
        is_elsewhere: impl FnOnce() -> bool,
    ) -> Added {
        if cell == [0; N] {
            if self.has_zero || is_elsewhere() {
                return Added::Known;
            }
            self.has_zero = true;
            return Added::New;
        }
        let mut place = None;
        if self.n_cells > 0 {
            let (at, is_there) = self.seek(cell);
            if is_there {
                return Added::Known;
            }
            place = (self.n_taken < self.room).then_some(at);
        }
        if is_elsewhere() {
            return Added::Known;
        }
        match place {
            Some(at) if self.insert_at(at, cell) => Added::New,
            _ => Added::Full,
        }
    }

    pub(super) fn contains<const N: usize>(&self, cell: [u64; N]) -> bool {
        if cell == [0; N] {
            return self.has_zero;
        }
        self.n_cells > 0 && self.seek(cell).1
    }

    /// Where a cell is, or would be.
    #[inline]
    fn seek<const N: usize>(&self, wanted: [u64; N]) -> (usize, bool) {
        let mut at = self.home(wanted[0]);
        if let Some(words) = self.words::<N>() {
            let mut word = u64::from_le_bytes(words[at]);
            while word < wanted[0] && word != 0 {
                at += 1;
                word = u64::from_le_bytes(words[at]);
            }
            return (at, word == wanted[0]);
        }
        // The first words of different cells are hardly ever the same.
        let mut first = self.first_word(at);
        while first < wanted[0] && (first != 0 || !self.is_gap::<N>(at)) {
            at += 1;
            first = self.first_word(at);
        }
        if first != wanted[0] {
            return (at, false);
        }
        let mut cell = self.cell::<N>(at);
        while cell < wanted && cell != [0; N] {
            at += 1;
            cell = self.cell(at);
        }
        (at, cell == wanted)
    }

    /// Inserts a cell at `at`; shifts all cells from there to the next gap. Returns whether there
    /// was one.
    #[inline]
    fn insert_at<const N: usize>(&mut self, at: usize, cell: [u64; N]) -> bool {
        let cell_len = self.placing.cell_len();
        let mut gap = at;
        if let Some(words) = self.words::<N>() {
            while words[gap] != [0; 8] {
                gap += 1;
            }
        } else {
            while self.first_word(gap) != 0 || !self.is_gap::<N>(gap) {
                gap += 1;
            }
        }
        if gap + 1 == self.n_cells + self.n_spare {
            return false;
        }
        self.bytes
            .copy_within(at * cell_len..gap * cell_len, (at + 1) * cell_len);
        self.set_cell(at, cell);
        self.n_taken += 1;
        true
    }

    /// Copies up to `n` of the cells of `other`, evenly chosen, to this empty array. Returns
    /// whether there was room behind the last home.
    pub(super) fn fill_from<const N: usize>(&mut self, other: &Cells, n: usize) -> bool {
        self.has_zero = other.has_zero;
        let mut next = 0;
        if n >= other.n_taken {
            other.for_each::<N>(|cell| self.put_behind(&mut next, cell));
        } else {
            // What is due of one cell chosen, in parts of `other.n_taken`.
            let mut due = 0;
            other.for_each::<N>(|cell| {
                due += n;
                if due >= other.n_taken {
                    due -= other.n_taken;
                    self.put_behind(&mut next, cell);
                }
            });
        }
        next < self.n_cells + self.n_spare
    }

    /// Stores a cell as near to its home as `next` allows, the first place behind all before it.
    #[inline]
    fn put_behind<const N: usize>(&mut self, next: &mut usize, cell: [u64; N]) {
        let to = self.home(cell[0]).max(*next);
        *next = to + 1;
        if *next < self.n_cells + self.n_spare {
            self.set_cell(to, cell);
            self.n_taken += 1;
        }
    }

    /// All cells in ascending order but that of zeros.
    #[inline]
    pub(super) fn for_each<const N: usize>(&self, mut each: impl FnMut([u64; N])) {
        if self.n_cells == 0 {
            return;
        }
        if let Some(words) = self.words::<N>() {
            for &word in &words[..self.n_cells + self.n_spare] {
                if word != [0; 8] {
                    each([u64::from_le_bytes(word); N]);
                }
            }
            return;
        }
        for at in 0..self.n_cells + self.n_spare {
            let cell = self.cell::<N>(at);
            if cell != [0; N] {
                each(cell);
            }
        }
    }

    pub(super) fn has_zero(&self) -> bool {
        self.has_zero
    }

    /// Removes all cells; keeps the memory.
    pub(super) fn clear(&mut self) {
        self.bytes.fill(0);
        self.n_taken = 0;
        self.has_zero = false;
    }

    /// The place where a cell wants to be: its first word, scaled to the number of homes.
    #[inline]
    fn home(&self, first_word: u64) -> usize {
        ((u128::from(first_word) * self.n_cells as u128) >> 64) as usize
    }

    /// All cells, where they are single words, as they are for many models: their length is known
    /// to the compiler.
    #[inline]
    fn words<const N: usize>(&self) -> Option<&[[u8; 8]]> {
        (N == 1 && self.placing.cell_len() == 8).then(|| self.bytes.as_chunks().0)
    }

    /// The first word of the cell at `at`.
    #[inline]
    fn first_word(&self, at: usize) -> u64 {
        self.placing.load_first(&self.bytes, at)
    }

    /// Whether the cell at `at`, whose first word is zero, is empty.
    #[inline]
    fn is_gap<const N: usize>(&self, at: usize) -> bool {
        N == 1 || self.cell::<N>(at) == [0; N]
    }

    #[inline]
    fn cell<const N: usize>(&self, at: usize) -> [u64; N] {
        let cell_len = self.placing.cell_len();
        self.placing.load(&self.bytes[at * cell_len..])
    }

    #[inline]
    fn set_cell<const N: usize>(&mut self, at: usize, cell: [u64; N]) {
        let cell_len = self.placing.cell_len();
        self.placing.store(&mut self.bytes[at * cell_len..], cell);
    }
}
