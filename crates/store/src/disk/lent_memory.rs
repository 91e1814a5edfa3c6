//! Memory in pieces that its owner needs now and then and lends to others meanwhile.
//!
//! Pieces are of one length and are reused by either side: where one grows as the other shrinks,
//! the process must not hold both.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes of a piece.
pub const PIECE_BYTES: usize = 64 << 10;

/// Pieces of memory. How many its owner takes is not limited here.
#[derive(Debug, Default)]
pub struct LentMemory {
    limit: AtomicU64,
    borrowed: AtomicU64,
    /// Free pieces.
    free: Mutex<Vec<Box<[u8]>>>,
}

impl LentMemory {
    /// Lets others borrow up to `bytes`. Those who hold more keep it until they are asked to return
    /// it.
    pub fn set_limit(&self, bytes: u64) {
        self.limit.store(bytes, Relaxed);
    }

    /// As [`set_limit`](Self::set_limit), unless the limit is lower.
    pub fn lower_limit(&self, bytes: u64) {
        self.limit.fetch_min(bytes, Relaxed);
    }

    /// Bytes lent beyond the limit.
    pub fn excess(&self) -> u64 {
        let borrowed = self.borrowed.load(Relaxed);
        borrowed.saturating_sub(self.limit.load(Relaxed))
    }

    /// Memory of free pieces.
    pub fn free_bytes(&self) -> u64 {
        (self.free().len() * PIECE_BYTES) as u64
    }

    /// A piece for the owner, with arbitrary content.
    pub fn take(&self) -> Box<[u8]> {
        let free = self.free().pop();
        free.unwrap_or_else(|| vec![0; PIECE_BYTES].into())
    }

    /// Takes a piece back. Memory of another length is freed.
    pub fn give_back(&self, piece: Box<[u8]>) {
        if piece.len() == PIECE_BYTES {
            self.free().push(piece);
        }
    }

    /// Frees all free pieces.
    pub fn clear(&self) {
        *self.free() = Vec::new();
    }

    /// Lends a piece, within the limit.
    pub(super) fn borrow(&self) -> Option<Box<[u8]>> {
        let limit = self.limit.load(Relaxed);
        let more = |borrowed: u64| Some(borrowed + PIECE_BYTES as u64).filter(|all| *all <= limit);
        let is_lent = self.borrowed.fetch_update(Relaxed, Relaxed, more).is_ok();
        is_lent.then(|| self.take())
    }

    pub(super) fn give_back_borrowed(&self, piece: Box<[u8]>) {
        self.borrowed.fetch_sub(PIECE_BYTES as u64, Relaxed);
        self.give_back(piece);
    }

    fn free(&self) -> MutexGuard<'_, Vec<Box<[u8]>>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::{LentMemory, PIECE_BYTES};

    #[test]
    fn pieces_are_used_again_by_whoever_comes() {
        let spare = LentMemory::default();
        assert!(spare.borrow().is_none());
        spare.set_limit(2 * PIECE_BYTES as u64);
        let borrowed = [spare.borrow(), spare.borrow()].map(|piece| piece.expect("a piece"));
        assert!(spare.borrow().is_none());
        spare.lower_limit(PIECE_BYTES as u64);
        assert_eq!(spare.excess(), PIECE_BYTES as u64);
        let places = borrowed.each_ref().map(|piece| piece.as_ptr().addr());
        borrowed
            .into_iter()
            .for_each(|piece| spare.give_back_borrowed(piece));
        assert_eq!(
            (spare.excess(), spare.free_bytes()),
            (0, 2 * PIECE_BYTES as u64)
        );
        let taken = [spare.take(), spare.take()];
        assert!(
            taken
                .iter()
                .all(|piece| places.contains(&piece.as_ptr().addr()))
        );
        taken.into_iter().for_each(|piece| spare.give_back(piece));
        spare.give_back(vec![0; 10].into());
        spare.clear();
        assert_eq!(spare.free_bytes(), 0);
    }
}
