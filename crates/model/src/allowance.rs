//! Memory that expanders may borrow.

use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that the expanders of a search may hold together, beside what each has of its own. The
/// search sets how many, as its data grow; an expander that needs much for a while borrows.
#[derive(Debug, Default)]
pub struct Allowance {
    lendable: AtomicU64,
    borrowed: AtomicU64,
}

impl Allowance {
    /// An allowance of `bytes`.
    pub const fn new(bytes: u64) -> Self {
        Allowance {
            lendable: AtomicU64::new(bytes),
            borrowed: AtomicU64::new(0),
        }
    }

    /// Lends up to `bytes` in all from now on. What is borrowed beyond stays so until it is given
    /// back.
    pub fn set(&self, bytes: u64) {
        self.lendable.store(bytes, Ordering::Relaxed);
    }

    /// Borrows `bytes`; whether they were there.
    pub fn borrow_bytes(&self, bytes: u64) -> bool {
        let lendable = self.lendable.load(Ordering::Relaxed);
        let sum = |borrowed: u64| borrowed.checked_add(bytes).filter(|sum| *sum <= lendable);
        let update = self
            .borrowed
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, sum);
        update.is_ok()
    }

    /// Gives back what was borrowed.
    pub fn give_back(&self, bytes: u64) {
        self.borrowed.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Whether more is borrowed than would be lent now: those who can do with less give it back.
    pub fn is_overdrawn(&self) -> bool {
        self.borrowed() > self.lendable.load(Ordering::Relaxed)
    }

    /// What is borrowed now.
    pub fn borrowed(&self) -> u64 {
        self.borrowed.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::Allowance;

    #[test]
    fn no_more_is_lent_than_there_is() {
        let allowance = Allowance::new(10);
        assert!(allowance.borrow_bytes(7) && !allowance.borrow_bytes(4));
        assert!(allowance.borrow_bytes(3) && !allowance.borrow_bytes(1));
        allowance.set(5);
        allowance.give_back(3);
        assert!(!allowance.borrow_bytes(1) && allowance.is_overdrawn());
        allowance.give_back(7);
        assert!(!allowance.is_overdrawn());
        assert!(allowance.borrow_bytes(5) && !allowance.borrow_bytes(u64::MAX));
        assert_eq!(allowance.borrowed(), 5);
    }
}
