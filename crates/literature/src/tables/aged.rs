//! Keys with ages, of which the oldest can be dropped.

use hadal_store::hash_state;

use super::NONE;

/// Keys with a number each that never decreases from one to the next; the oldest can be given up.
///
/// Keys lie in a ring in the order of their insertion. A chain has its newest key first, so the
/// oldest key of all is the last one of its chain.
#[derive(Debug)]
pub(crate) struct AgedTable {
    key_len: usize,
    max_keys: usize,
    /// As many places and as many chains.
    n_places: usize,
    keys: Vec<u8>,
    next: Vec<u32>,
    ages: Vec<u32>,
    heads: Vec<u32>,
    first: usize,
    len: usize,
}

/// A link, a head and an age.
const AGED_BYTES: u64 = 12;
const FIRST_PLACES: usize = 64;

impl AgedTable {
    pub(crate) fn new(key_len: usize, budget_bytes: u64) -> Self {
        let max_keys = budget_bytes / (key_len as u64 + AGED_BYTES);
        let mut table = AgedTable {
            key_len,
            max_keys: max_keys.clamp(1, 1 << 31) as usize,
            n_places: 0,
            keys: Vec::new(),
            next: Vec::new(),
            ages: Vec::new(),
            heads: Vec::new(),
            first: 0,
            len: 0,
        };
        table.resize(FIRST_PLACES.min(table.max_keys));
        table
    }

    fn resize(&mut self, n_places: usize) {
        self.n_places = n_places;
        self.keys = vec![0; n_places * self.key_len];
        self.next = vec![NONE; n_places];
        self.ages = vec![0; n_places];
        self.heads = vec![NONE; n_places];
        self.first = 0;
        self.len = 0;
    }

    /// The age of the oldest key.
    pub(crate) fn oldest(&self) -> Option<u32> {
        (self.len > 0).then(|| self.ages[self.first])
    }

    /// The age of `key`.
    pub(crate) fn find(&self, key: &[u8]) -> Option<u32> {
        let mut place = self.heads[self.chain_of(key)];
        while place != NONE {
            if self.key(place as usize) == key {
                return Some(self.ages[place as usize]);
            }
            place = self.next[place as usize];
        }
        None
    }

    /// Adds a key that is not there; false where there is no room for it.
    pub(crate) fn push(&mut self, key: &[u8], age: u32) -> bool {
        if self.len == self.max_keys {
            return false;
        }
        if self.len == self.n_places {
            self.grow();
        }
        let place = (self.first + self.len) % self.n_places;
        let chain = self.chain_of(key);
        self.keys[place * self.key_len..][..self.key_len].copy_from_slice(key);
        self.ages[place] = age;
        self.next[place] = std::mem::replace(&mut self.heads[chain], place as u32);
        self.len += 1;
        true
    }

    /// Gives up all keys of the oldest age.
    pub(crate) fn drop_oldest(&mut self) {
        let age = self.oldest();
        while self.len > 0 && self.oldest() == age {
            let place = self.first as u32;
            let chain = self.chain_of(self.key(self.first));
            let mut at = self.heads[chain];
            if at == place {
                self.heads[chain] = NONE;
            } else {
                while self.next[at as usize] != place {
                    at = self.next[at as usize];
                }
                self.next[at as usize] = NONE;
            }
            self.first = (self.first + 1) % self.n_places;
            self.len -= 1;
        }
    }

    pub(crate) fn data_bytes(&self) -> u64 {
        self.n_places as u64 * (self.key_len as u64 + AGED_BYTES)
    }

    fn grow(&mut self) {
        let larger = AgedTable {
            keys: Vec::new(),
            next: Vec::new(),
            ages: Vec::new(),
            heads: Vec::new(),
            ..*self
        };
        let old = std::mem::replace(self, larger);
        self.resize(self.max_keys.min(old.n_places * 2));
        for nth in 0..old.len {
            let place = (old.first + nth) % old.n_places;
            self.push(old.key(place), old.ages[place]);
        }
    }

    fn key(&self, place: usize) -> &[u8] {
        &self.keys[place * self.key_len..][..self.key_len]
    }

    fn chain_of(&self, key: &[u8]) -> usize {
        hash_state(key) as usize % self.n_places
    }
}
