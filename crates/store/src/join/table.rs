//! Keys of a bucket with their values, found by hash.

/// Ascending distinct keys with values, in the order in which they were added, and an index.
pub(super) struct KeyTable {
    n_words: usize,
    keys: Vec<u64>,
    values: Vec<u64>,
    /// By hash, one more than the number of a key; 0 where there is none. Twice as many as keys, or
    /// more.
    slots: Vec<u32>,
    /// How far a hash is shifted to be a slot.
    shift: u32,
}

impl KeyTable {
    pub(super) fn new(n_words: usize) -> Self {
        KeyTable {
            n_words,
            keys: Vec::new(),
            values: Vec::new(),
            slots: Vec::new(),
            shift: 0,
        }
    }

    /// Most memory for each entry, in bytes.
    pub(super) fn bytes_per_entry(n_words: usize) -> u64 {
        // Vectors double as they grow, and up to four slots belong to a key.
        2 * (8 * n_words as u64 + 8) + 16
    }

    pub(super) fn n_words(&self) -> usize {
        self.n_words
    }

    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    pub(super) fn clear(&mut self) {
        self.keys.clear();
        self.values.clear();
    }

    pub(super) fn push(&mut self, key: &[u64], value: u64) {
        self.keys.extend_from_slice(key);
        self.values.push(value);
    }

    /// The key that was added last.
    pub(super) fn last_key(&self) -> &[u64] {
        &self.keys[self.keys.len() - self.n_words..]
    }

    /// Makes the index. To be called after the last key is added, and before any is looked up.
    pub(super) fn index(&mut self) {
        let n_slots = (2 * self.len().max(1)).next_power_of_two();
        self.slots.clear();
        self.slots.resize(n_slots, 0);
        self.shift = u64::BITS - n_slots.trailing_zeros();
        for number in 0..self.len() {
            let mut slot = self.slot(key(&self.keys, self.n_words, number));
            while self.slots[slot] != 0 {
                slot = (slot + 1) & (n_slots - 1);
            }
            self.slots[slot] = number as u32 + 1;
        }
    }

    /// The value of a key.
    #[inline]
    pub(super) fn find(&self, wanted: &[u64]) -> Option<u64> {
        let mut slot = self.slot(wanted);
        loop {
            let number = self.slots[slot].checked_sub(1)? as usize;
            if key(&self.keys, self.n_words, number) == wanted {
                return Some(self.values[number]);
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
    }

    #[inline]
    fn slot(&self, key: &[u64]) -> usize {
        let mut hash = 0u64;
        for &word in key {
            hash = (hash.rotate_left(29) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            hash ^= hash >> 32;
        }
        let hash = hash.wrapping_mul(0xd6e8_feb8_6659_fd93);
        (hash >> self.shift) as usize
    }
}

#[inline]
fn key(keys: &[u64], n_words: usize, number: usize) -> &[u64] {
    &keys[number * n_words..][..n_words]
}
