//! A hash table of numbers: who is asked decides whether a number is the one that is sought.

/// Numbers by hash, with open addressing. A slot is 0, or half a hash above a number.
#[derive(Debug)]
pub(crate) struct Table {
    slots: Vec<u64>,
    n_used: usize,
}

/// Slots of a table that has not grown.
const N_SLOTS: usize = 1 << 10;

impl Table {
    pub(crate) fn new() -> Self {
        Table {
            slots: vec![0; N_SLOTS],
            n_used: 0,
        }
    }

    /// Removes everything. A table that is much larger than it need be shrinks.
    pub(crate) fn clear(&mut self) {
        if self.n_used == 0 && self.slots.len() == N_SLOTS {
            return;
        }
        if self.slots.len() > N_SLOTS && self.n_used < self.slots.len() / 16 {
            self.slots.truncate(self.slots.len() / 4);
            self.slots.shrink_to_fit();
        }
        self.slots.fill(0);
        self.n_used = 0;
    }

    /// The number with this hash for which `is_it` is true; where there is none, `new` takes its
    /// place, if it is given. It is less than 2^32 - 1.
    #[inline]
    pub(crate) fn find_or_insert(
        &mut self,
        hash: u64,
        new: Option<u32>,
        mut is_it: impl FnMut(u32) -> bool,
    ) -> Option<u32> {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                break;
            }
            if slot >> 32 == hash >> 32 && is_it(slot as u32 - 1) {
                return Some(slot as u32 - 1);
            }
            at = (at + 1) & mask;
        }
        let new = new?;
        self.slots[at] = hash >> 32 << 32 | u64::from(new + 1);
        self.n_used += 1;
        if self.n_used * 2 > self.slots.len() {
            self.grow();
        }
        None
    }

    /// What it holds while `n` more numbers are inserted at most, in bytes.
    pub(crate) fn bytes_with(&self, n: usize) -> usize {
        let n_slots = match (self.n_used + n) * 2 > self.slots.len() {
            // The old ones are there until the new ones are filled.
            true => 5 * self.slots.len(),
            false => self.slots.len(),
        };
        n_slots * size_of::<u64>()
    }

    /// Four times the slots. The low half of a hash is a function of the high one, which slots
    /// keep.
    #[cold]
    fn grow(&mut self) {
        let old = std::mem::take(&mut self.slots);
        self.slots = vec![0; 4 * old.len()];
        let mask = self.slots.len() - 1;
        for slot in old.into_iter().filter(|slot| *slot != 0) {
            let mut at = low_half(slot >> 32) as usize & mask;
            while self.slots[at] != 0 {
                at = (at + 1) & mask;
            }
            self.slots[at] = slot;
        }
    }
}

/// The low half of a hash, from its high half.
fn low_half(high: u64) -> u64 {
    high.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32
}

/// The hash of a state of a source, as [`Table`] wants it, from the digest of the state.
/// Collisions cost time only.
#[inline]
pub(crate) fn hash(digest: u64, source: u32) -> u64 {
    let source = u64::from(source).wrapping_mul(0xe703_7ed1_a0b4_28db);
    let product = u128::from(digest ^ source) * 0xa076_1d64_78bd_642f;
    let high = (product as u64 ^ (product >> 64) as u64) >> 32;
    high << 32 | low_half(high)
}

#[cfg(test)]
mod tests {
    use super::{Table, hash};

    #[test]
    fn a_table_finds_what_was_inserted_and_nothing_else() {
        let mut table = Table::new();
        for round in 0..3 {
            table.clear();
            let n = [5000, 40, 5000][round];
            let state = |number: u32| (number / 2).to_le_bytes();
            let mut stored: Vec<u32> = Vec::new();
            for number in 0..n {
                let (bytes, next) = (state(number), stored.len() as u32);
                let hash = hash(u64::from(number / 2), 7);
                let found = table
                    .find_or_insert(hash, Some(next), |it| state(stored[it as usize]) == bytes);
                match number % 2 {
                    0 => {
                        assert_eq!(found, None);
                        stored.push(number);
                    }
                    _ => assert_eq!(found, Some(next - 1)),
                }
            }
        }
    }

    #[test]
    fn sources_and_digests_count() {
        assert_ne!(hash(3, 0), hash(3, 1));
        assert_ne!(hash(3, 0), hash(4, 0));
    }
}
