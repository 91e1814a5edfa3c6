//! Chains.

use hadal_store::hash_state;

use super::{Inserted, KeyTable, NONE};

/// Keys in the order of their insertion, and chains through them.
#[derive(Debug)]
pub(crate) struct ChainedTable {
    key_len: usize,
    max_keys: usize,
    keys: Vec<u8>,
    next: Vec<u32>,
    /// First key of each chain; there are a power of two of them.
    heads: Vec<u32>,
}

/// A link, and the share of a key in the heads.
const CHAIN_BYTES: u64 = 8;

impl ChainedTable {
    pub(crate) fn new(key_len: usize, budget_bytes: u64) -> Self {
        let max_keys = budget_bytes / (key_len as u64 + CHAIN_BYTES);
        ChainedTable {
            key_len,
            max_keys: max_keys.clamp(1, u64::from(NONE) - 1) as usize,
            keys: Vec::new(),
            next: Vec::new(),
            heads: vec![NONE; 64],
        }
    }

    fn key(&self, place: usize) -> &[u8] {
        &self.keys[place * self.key_len..][..self.key_len]
    }

    fn chain_of(&self, key: &[u8]) -> usize {
        hash_state(key) as usize & (self.heads.len() - 1)
    }
}

impl KeyTable for ChainedTable {
    fn insert(&mut self, key: &[u8]) -> Inserted {
        if let Some(place) = self.find(key) {
            return Inserted::Known(place);
        }
        let place = self.next.len();
        if place == self.max_keys {
            return Inserted::Full;
        }
        if place >= self.heads.len() {
            self.heads = vec![NONE; self.heads.len() * 2];
            for old in 0..place {
                let chain = self.chain_of(self.key(old));
                self.next[old] = std::mem::replace(&mut self.heads[chain], old as u32);
            }
        }
        let chain = self.chain_of(key);
        self.keys.extend_from_slice(key);
        self.next
            .push(std::mem::replace(&mut self.heads[chain], place as u32));
        Inserted::New(place)
    }

    fn find(&self, key: &[u8]) -> Option<usize> {
        let mut place = self.heads[self.chain_of(key)];
        while place != NONE {
            if self.key(place as usize) == key {
                return Some(place as usize);
            }
            place = self.next[place as usize];
        }
        None
    }

    fn len(&self) -> usize {
        self.next.len()
    }

    fn places(&self) -> usize {
        self.next.len()
    }

    fn clear(&mut self) {
        self.keys.clear();
        self.next.clear();
        self.heads.fill(NONE);
    }

    fn data_bytes(&self) -> u64 {
        (self.keys.len() + (self.next.len() + self.heads.len()) * 4) as u64
    }

    fn for_each(&self, each: &mut dyn FnMut(&[u8])) {
        (0..self.next.len()).for_each(|place| each(self.key(place)));
    }
}
