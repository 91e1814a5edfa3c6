//! Open addressing.

use super::slots::Slots;
use super::{Inserted, KeyTable};

/// Open addressing with double hashing, up to the last slot.
#[derive(Debug)]
pub(crate) struct OpenTable {
    slots: Slots,
}

impl OpenTable {
    pub(crate) fn new(key_len: usize, budget_bytes: u64) -> Self {
        OpenTable {
            slots: Slots::new(key_len, budget_bytes),
        }
    }

    fn place(&self, key: &[u8]) -> Inserted {
        for slot in self.slots.probe(key).take(self.slots.n_slots) {
            if !self.slots.is_used(slot) {
                return Inserted::New(slot);
            }
            if self.slots.key(slot) == key {
                return Inserted::Known(slot);
            }
        }
        Inserted::Full
    }
}

impl KeyTable for OpenTable {
    fn insert(&mut self, key: &[u8]) -> Inserted {
        let mut place = self.place(key);
        if let Inserted::Known(_) = place {
            return place;
        }
        // Below its largest size a table is kept half empty.
        if self.slots.can_grow() && self.slots.n_used * 2 >= self.slots.n_slots {
            let old = self.slots.grow();
            old.for_each(&mut |key| {
                if let Inserted::New(slot) = self.place(key) {
                    self.slots.store(slot, key);
                }
            });
            place = self.place(key);
        }
        if let Inserted::New(slot) = place {
            self.slots.store(slot, key);
        }
        place
    }

    fn find(&self, key: &[u8]) -> Option<usize> {
        match self.place(key) {
            Inserted::Known(slot) => Some(slot),
            Inserted::New(_) | Inserted::Full => None,
        }
    }

    fn len(&self) -> usize {
        self.slots.n_used
    }

    fn places(&self) -> usize {
        self.slots.n_slots
    }

    fn clear(&mut self) {
        self.slots.clear();
    }

    fn data_bytes(&self) -> u64 {
        self.slots.data_bytes()
    }

    fn for_each(&self, each: &mut dyn FnMut(&[u8])) {
        self.slots.for_each(each);
    }
}
