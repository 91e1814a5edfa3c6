//! A cache with chains of bounded length.

use super::slots::Slots;
use super::{Inserted, Random};

/// A table that forgets: a key that finds no free slot within a number of steps takes the place of
/// another.
#[derive(Debug)]
pub(crate) struct CacheTable {
    slots: Slots,
    chain_len: usize,
    random: Random,
    /// Keys that were not there when they came.
    pub(crate) n_insertions: u64,
    /// Keys that took the place of others.
    pub(crate) n_collisions: u64,
}

impl CacheTable {
    pub(crate) fn new(key_len: usize, budget_bytes: u64, chain_len: usize, seed: u64) -> Self {
        CacheTable {
            slots: Slots::new(key_len, budget_bytes),
            chain_len: chain_len.max(1),
            random: Random::new(seed),
            n_insertions: 0,
            n_collisions: 0,
        }
    }

    /// The slot of `key` if it is there, else where it should go, if anywhere.
    fn place(&self, key: &[u8]) -> Inserted {
        let chain = self.chain_len.min(self.slots.n_slots);
        let mut free = None;
        for slot in self.slots.probe(key).take(chain) {
            if !self.slots.is_used(slot) {
                free = Some(slot);
                break;
            }
            if self.slots.key(slot) == key {
                return Inserted::Known(slot);
            }
        }
        free.map_or(Inserted::Full, Inserted::New)
    }

    /// Whether `key` is new. It is remembered from now on, until another takes its place.
    pub(crate) fn insert(&mut self, key: &[u8]) -> bool {
        let mut place = self.place(key);
        if let Inserted::Known(_) = place {
            return false;
        }
        self.n_insertions += 1;
        while self.slots.can_grow() && self.slots.n_used * 2 >= self.slots.n_slots {
            let old = self.slots.grow();
            old.for_each(&mut |key| {
                // In a table this empty there is nearly always a place; where there is none, the
                // key is forgotten, as it may be at any time.
                match self.place(key) {
                    Inserted::New(slot) => self.slots.store(slot, key),
                    Inserted::Known(_) | Inserted::Full => self.n_collisions += 1,
                }
            });
            place = self.place(key);
        }
        let slot = match place {
            Inserted::New(slot) | Inserted::Known(slot) => slot,
            Inserted::Full => {
                self.n_collisions += 1;
                let step = self.random.below(self.chain_len.min(self.slots.n_slots));
                self.slots.probe(key).nth(step).unwrap_or_default()
            }
        };
        self.slots.store(slot, key);
        true
    }

    /// Collisions by insertions.
    pub(crate) fn collision_rate(&self) -> f64 {
        self.n_collisions as f64 / self.n_insertions.max(1) as f64
    }

    pub(crate) fn max_slots(&self) -> usize {
        self.slots.max_slots
    }

    pub(crate) fn data_bytes(&self) -> u64 {
        self.slots.data_bytes()
    }
}
