//! Memory by pieces that its owner needs now and then, and that others may borrow meanwhile.
//!
//! Pieces are of one length and are used again, whoever had them: where one side grows as the other
//! shrinks, the system must not count both.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes of a piece.
pub const PIECE_BYTES: usize = 64 << 10;

/// Pieces of memory. How many its owner takes is not limited here.
#[derive(Debug, Default)]
pub struct Spare {
    limit: AtomicU64,
    borrowed: AtomicU64,
    /// Pieces that nobody has.
    free: Mutex<Vec<Box<[u8]>>>,
}

impl Spare {
    /// From now on others may borrow `bytes`. Those who have more already keep it until they are
    /// asked for it.
    pub fn set_limit(&self, bytes: u64) {
        self.limit.store(bytes, Relaxed);
    }

    /// As [`set_limit`](Self::set_limit), unless the limit is lower.
    pub fn lower_limit(&self, bytes: u64) {
        self.limit.fetch_min(bytes, Relaxed);
    }

    /// By how much others have more than they may.
    pub fn excess(&self) -> u64 {
        let borrowed = self.borrowed.load(Relaxed);
        borrowed.saturating_sub(self.limit.load(Relaxed))
    }

    /// Memory of pieces that nobody has.
    pub fn free_bytes(&self) -> u64 {
        (self.free().len() * PIECE_BYTES) as u64
    }

    /// A piece for the owner, with anything in it.
    pub fn take(&self) -> Box<[u8]> {
        let free = self.free().pop();
        free.unwrap_or_else(|| vec![0; PIECE_BYTES].into())
    }

    /// Takes a piece back. Memory of another length is given up.
    pub fn give_back(&self, piece: Box<[u8]>) {
        if piece.len() == PIECE_BYTES {
            self.free().push(piece);
        }
    }

    /// Gives up all pieces that nobody has.
    pub fn clear(&self) {
        *self.free() = Vec::new();
    }

    /// A piece for somebody else, while there are some.
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
    use super::{PIECE_BYTES, Spare};

    #[test]
    fn pieces_are_used_again_by_whoever_comes() {
        let spare = Spare::default();
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
