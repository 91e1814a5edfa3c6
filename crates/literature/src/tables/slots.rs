//! Slots of keys, of which each key has an order of its own to probe.

use hadal_store::hash_state;

use crate::signature::second_hash;

/// Slots of keys with a bit each that says whether they are in use.
#[derive(Debug)]
pub(super) struct Slots {
    key_len: usize,
    /// A prime, so that every step goes through all slots.
    pub(super) n_slots: usize,
    pub(super) max_slots: usize,
    pub(super) n_used: usize,
    keys: Vec<u8>,
    used: Vec<u64>,
}

const FIRST_SLOTS: usize = 1021;
const MIN_SLOTS: usize = 3;

impl Slots {
    /// Slots that take at most `budget_bytes`.
    pub(super) fn new(key_len: usize, budget_bytes: u64) -> Self {
        let max_slots = (budget_bytes / slot_bytes(key_len)).min(1 << 40) as usize;
        let max_slots = prime_up_to(max_slots.max(MIN_SLOTS));
        let mut slots = Slots {
            key_len,
            n_slots: 0,
            max_slots,
            n_used: 0,
            keys: Vec::new(),
            used: Vec::new(),
        };
        slots.resize(FIRST_SLOTS.min(max_slots));
        slots
    }

    fn resize(&mut self, n_slots: usize) {
        self.n_slots = n_slots;
        self.n_used = 0;
        self.keys = vec![0; n_slots * self.key_len];
        self.used = vec![0; n_slots.div_ceil(64)];
    }

    pub(super) fn can_grow(&self) -> bool {
        self.n_slots < self.max_slots
    }

    /// Empties the slots and makes about twice as many; returns what was in them.
    pub(super) fn grow(&mut self) -> Slots {
        // The last step at least doubles them too, so that old and new slots together never take
        // more than one and a half times the budget.
        let n_slots = match self.n_slots * 2 + 1 {
            twice if twice <= self.max_slots / 2 => prime_up_to(twice),
            _ => self.max_slots,
        };
        let mut larger = Slots {
            key_len: self.key_len,
            max_slots: self.max_slots,
            n_slots,
            n_used: 0,
            keys: Vec::new(),
            used: Vec::new(),
        };
        larger.resize(n_slots);
        std::mem::replace(self, larger)
    }

    pub(super) fn is_used(&self, slot: usize) -> bool {
        self.used[slot / 64] >> (slot % 64) & 1 == 1
    }

    pub(super) fn key(&self, slot: usize) -> &[u8] {
        &self.keys[slot * self.key_len..][..self.key_len]
    }

    pub(super) fn store(&mut self, slot: usize, key: &[u8]) {
        self.n_used += usize::from(!self.is_used(slot));
        self.used[slot / 64] |= 1 << (slot % 64);
        self.keys[slot * self.key_len..][..self.key_len].copy_from_slice(key);
    }

    /// The slots at which `key` may be, in order; all of them come once before one comes again.
    pub(super) fn probe(&self, key: &[u8]) -> Probe {
        let hash = hash_state(key);
        let n = self.n_slots as u64;
        Probe {
            at: (hash % n) as usize,
            step: 1 + (second_hash(hash) % (n - 1)) as usize,
            n_slots: self.n_slots,
        }
    }

    pub(super) fn clear(&mut self) {
        self.used.fill(0);
        self.n_used = 0;
    }

    pub(super) fn data_bytes(&self) -> u64 {
        (self.keys.len() + self.used.len() * 8) as u64
    }

    pub(super) fn for_each(&self, each: &mut dyn FnMut(&[u8])) {
        for slot in (0..self.n_slots).filter(|&slot| self.is_used(slot)) {
            each(self.key(slot));
        }
    }
}

/// Bytes of a slot, its bit rounded up.
pub(crate) fn slot_bytes(key_len: usize) -> u64 {
    key_len as u64 + 1
}

pub(super) struct Probe {
    at: usize,
    step: usize,
    n_slots: usize,
}

impl Iterator for Probe {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let slot = self.at;
        self.at = (self.at + self.step) % self.n_slots;
        Some(slot)
    }
}

/// The largest prime that is at most `n`, which is three or more.
pub(super) fn prime_up_to(n: usize) -> usize {
    let is_prime = |n: usize| {
        n == 2
            || n % 2 == 1
                && (3..)
                    .step_by(2)
                    .take_while(|d| d * d <= n)
                    .all(|d| !n.is_multiple_of(d))
    };
    (2..=n).rev().find(|&n| is_prime(n)).unwrap_or(2)
}
