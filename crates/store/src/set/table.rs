//! What the two kinds of tables of cells have in common.
//!
//! Either has *homes*, places that the first bits of a cell point to, in the order of cells; a cell
//! lies at its home or as near behind it as there is room.

use crate::Placing;

/// A table of cells.
pub(super) trait Table {
    /// Cells for which there is room at a home.
    const SLOTS: usize;

    /// An empty table. Its memory is not touched until it is used.
    fn new(placing: Placing, size: Size) -> Self;

    /// Memory that a table of this size takes, in bytes.
    fn bytes_for(placing: Placing, size: Size) -> usize;

    /// The size with as many slots as fit `bytes`, of which `fill` in a thousand may be taken.
    fn fitting(placing: Placing, bytes: usize, fill: usize) -> Size;

    fn size(&self) -> Size;

    /// Number of cells.
    fn len(&self) -> usize;

    /// Memory held, in bytes.
    fn data_bytes(&self) -> u64;

    /// Prefetches what a lookup of a cell with this first word reads first.
    fn prefetch(&self, first_word: u64);

    /// Adds a cell that is not here, unless it `is_elsewhere`.
    fn add_unless<const N: usize>(
        &mut self,
        cell: [u64; N],
        is_elsewhere: impl FnOnce() -> bool,
    ) -> Added;

    fn contains<const N: usize>(&self, cell: [u64; N]) -> bool;

    /// Adds a cell that is not here. Returns whether there was room.
    fn add_distinct<const N: usize>(&mut self, cell: [u64; N]) -> bool;

    /// Copies all cells of `other` to this empty table. Returns whether there was room behind the
    /// last home.
    fn fill_from<const N: usize>(&mut self, other: &Self) -> bool;

    /// Copies up to `n` of the cells of `other`, evenly chosen, to this empty table; fewer, where
    /// there is no room behind the last home.
    fn sample<const N: usize>(&mut self, other: &Self, n: usize);

    /// Calls `each` with all cells.
    fn for_each<const N: usize>(&self, each: impl FnMut([u64; N]));

    /// Removes all cells; keeps the memory.
    fn clear(&mut self);
}

/// The size of a table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    pub(super) n_homes: usize,
    /// Homes of no cell, behind all others: for cells that find theirs taken.
    pub(super) n_spare: usize,
    /// Cells for which there is room at a home: fewer than usual where there is little memory.
    pub(super) n_slots: usize,
    /// Slots that may be taken.
    pub(super) room: usize,
}

impl Size {
    /// That of no table at all.
    pub(super) const NONE: Size = Size {
        n_homes: 0,
        n_spare: 0,
        n_slots: 0,
        room: 0,
    };
}

/// The result of adding a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Added {
    New,
    Known,
    /// It is not there, and there is no room.
    Full,
}

/// Of `n_all` cells that come one after the other, decides for each whether it is among `n` evenly
/// chosen ones.
pub(super) struct Sampling {
    n: usize,
    n_all: usize,
    /// What is due of one cell chosen, in parts of `n_all`.
    due: usize,
}

impl Sampling {
    pub(super) fn new(n: usize, n_all: usize) -> Self {
        Sampling { n, n_all, due: 0 }
    }

    pub(super) fn takes_next(&mut self) -> bool {
        self.due += self.n;
        let is_due = self.due >= self.n_all;
        if is_due {
            self.due -= self.n_all;
        }
        is_due
    }
}
