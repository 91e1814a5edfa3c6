//! Tables of keys in memory: open addressing, chains, and a cache whose chains are bounded.
//!
//! All of them have a largest size, given by the budget, and grow up to it as they fill, so that a
//! generous budget costs nothing where it is not needed.

use hadal_store::hash_state;

use super::signature::second_hash;

/// What became of a key that was to be inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inserted {
    /// It is there now, at this place.
    New(usize),
    /// It was there already, at this place.
    Known(usize),
    /// It is not there, and there is no room for it.
    Full,
}

/// A set of keys that may be full.
pub(super) trait KeyTable {
    /// Adds `key` if it is not there.
    fn insert(&mut self, key: &[u8]) -> Inserted;
    /// The place of `key`.
    fn find(&self, key: &[u8]) -> Option<usize>;
    /// Number of keys.
    fn len(&self) -> usize;
    /// All places are below this.
    fn places(&self) -> usize;
    /// Forgets every key.
    fn clear(&mut self);
    /// Memory that the table takes.
    fn data_bytes(&self) -> u64;
    /// Calls `each` with every key.
    fn for_each(&self, each: &mut dyn FnMut(&[u8]));
}

/// Slots of keys with a bit each that says whether they are in use.
#[derive(Debug)]
struct Slots {
    key_len: usize,
    /// A prime, so that every step goes through all slots.
    n_slots: usize,
    max_slots: usize,
    n_used: usize,
    keys: Vec<u8>,
    used: Vec<u64>,
}

const FIRST_SLOTS: usize = 1021;
const MIN_SLOTS: usize = 3;

impl Slots {
    /// Slots that take at most `budget_bytes`.
    fn new(key_len: usize, budget_bytes: u64) -> Self {
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

    fn can_grow(&self) -> bool {
        self.n_slots < self.max_slots
    }

    /// Empties the slots and makes about twice as many; returns what was in them.
    fn grow(&mut self) -> Slots {
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

    fn is_used(&self, slot: usize) -> bool {
        self.used[slot / 64] >> (slot % 64) & 1 == 1
    }

    fn key(&self, slot: usize) -> &[u8] {
        &self.keys[slot * self.key_len..][..self.key_len]
    }

    fn store(&mut self, slot: usize, key: &[u8]) {
        self.n_used += usize::from(!self.is_used(slot));
        self.used[slot / 64] |= 1 << (slot % 64);
        self.keys[slot * self.key_len..][..self.key_len].copy_from_slice(key);
    }

    /// The slots at which `key` may be, in order; all of them come once before one comes again.
    fn probe(&self, key: &[u8]) -> Probe {
        let hash = hash_state(key);
        let n = self.n_slots as u64;
        Probe {
            at: (hash % n) as usize,
            step: 1 + (second_hash(hash) % (n - 1)) as usize,
            n_slots: self.n_slots,
        }
    }

    fn clear(&mut self) {
        self.used.fill(0);
        self.n_used = 0;
    }

    fn data_bytes(&self) -> u64 {
        (self.keys.len() + self.used.len() * 8) as u64
    }

    fn for_each(&self, each: &mut dyn FnMut(&[u8])) {
        for slot in (0..self.n_slots).filter(|&slot| self.is_used(slot)) {
            each(self.key(slot));
        }
    }
}

/// Bytes of a slot, its bit rounded up.
pub(super) fn slot_bytes(key_len: usize) -> u64 {
    key_len as u64 + 1
}

struct Probe {
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
fn prime_up_to(n: usize) -> usize {
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

/// Open addressing with double hashing, up to the last slot.
#[derive(Debug)]
pub(super) struct OpenTable {
    slots: Slots,
}

impl OpenTable {
    pub(super) fn new(key_len: usize, budget_bytes: u64) -> Self {
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

/// Keys in the order of their insertion, and chains through them.
#[derive(Debug)]
pub(super) struct ChainedTable {
    key_len: usize,
    max_keys: usize,
    keys: Vec<u8>,
    next: Vec<u32>,
    /// First key of each chain; there are a power of two of them.
    heads: Vec<u32>,
}

const NONE: u32 = u32::MAX;
/// A link, and the share of a key in the heads.
pub(super) const CHAIN_BYTES: u64 = 8;

impl ChainedTable {
    pub(super) fn new(key_len: usize, budget_bytes: u64) -> Self {
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

/// A table that forgets: a key that finds no free slot within a number of steps takes the place of
/// another.
#[derive(Debug)]
pub(super) struct CacheTable {
    slots: Slots,
    chain_len: usize,
    random: Random,
    /// Keys that were not there when they came.
    pub(super) n_insertions: u64,
    /// Keys that took the place of others.
    pub(super) n_collisions: u64,
}

impl CacheTable {
    pub(super) fn new(key_len: usize, budget_bytes: u64, chain_len: usize, seed: u64) -> Self {
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
    pub(super) fn insert(&mut self, key: &[u8]) -> bool {
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
    pub(super) fn collision_rate(&self) -> f64 {
        self.n_collisions as f64 / self.n_insertions.max(1) as f64
    }

    pub(super) fn max_slots(&self) -> usize {
        self.slots.max_slots
    }

    pub(super) fn data_bytes(&self) -> u64 {
        self.slots.data_bytes()
    }
}

/// Keys with a number each that never decreases from one to the next; the oldest can be given up.
///
/// Keys lie in a ring in the order of their insertion. A chain has its newest key first, so the
/// oldest key of all is the last one of its chain.
#[derive(Debug)]
pub(super) struct AgedTable {
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
    pub(super) fn new(key_len: usize, budget_bytes: u64) -> Self {
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
    pub(super) fn oldest(&self) -> Option<u32> {
        (self.len > 0).then(|| self.ages[self.first])
    }

    /// The age of `key`.
    pub(super) fn find(&self, key: &[u8]) -> Option<u32> {
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
    pub(super) fn push(&mut self, key: &[u8], age: u32) -> bool {
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
    pub(super) fn drop_oldest(&mut self) {
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

    pub(super) fn data_bytes(&self) -> u64 {
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

/// Random numbers that are the same on every machine.
#[derive(Clone, Debug)]
pub(super) struct Random {
    state: u64,
}

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Random { state: seed }
    }

    pub(super) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        second_hash(self.state)
    }

    /// A number below `n`, which is not zero.
    pub(super) fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }

    /// A number from zero to one.
    pub(super) fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use super::{
        AgedTable, CacheTable, ChainedTable, Inserted, KeyTable, OpenTable, Random, prime_up_to,
    };

    #[test]
    fn tables_agree_with_a_plain_set_until_they_are_full() {
        for key_len in [1, 5, 16] {
            let budget = 3000 * (key_len as u64 + 8);
            let open = Box::new(OpenTable::new(key_len, budget)) as Box<dyn KeyTable>;
            let chained = Box::new(ChainedTable::new(key_len, budget));
            for mut table in [open, chained as Box<dyn KeyTable>] {
                let (mut plain, mut random) = (HashSet::new(), Random::new(5));
                let mut is_full = false;
                for _ in 0..20_000 {
                    let mut key = vec![7; key_len];
                    let bytes = (random.next() % 20_000).to_le_bytes();
                    let n = key_len.min(2);
                    key[..n].copy_from_slice(&bytes[..n]);
                    assert_eq!(table.find(&key).is_some(), plain.contains(&key));
                    match table.insert(&key) {
                        Inserted::New(_) => assert!(plain.insert(key)),
                        Inserted::Known(place) => {
                            assert!(plain.contains(&key) && place < table.places());
                        }
                        Inserted::Full => is_full = true,
                    }
                    assert_eq!(table.len(), plain.len());
                }
                assert_eq!(is_full, key_len > 1);
                let mut n = 0;
                table.for_each(&mut |key| n += u32::from(plain.contains(key)));
                assert_eq!(n as usize, plain.len());
                assert!(table.data_bytes() <= budget * 3 / 2);
                table.clear();
                assert_eq!((table.len(), table.find(&vec![7; key_len])), (0, None));
            }
        }
    }

    /// What a cache says it knows it was given; what it was given last it knows.
    #[test]
    fn a_cache_forgets_and_never_invents() {
        let mut cache = CacheTable::new(8, 9 * 500, 20, 1);
        let (mut given, mut random) = (HashSet::new(), Random::new(2));
        for _ in 0..5000 {
            let key = (random.next() % 2000).to_le_bytes();
            let is_new = cache.insert(&key);
            assert!(given.insert(key) <= is_new);
            assert!(!cache.insert(&key));
        }
        assert!(cache.n_collisions > 0 && cache.collision_rate() < 1.0);
        assert!(cache.data_bytes() <= 9 * 500 + 64);
    }

    #[test]
    fn an_aged_table_gives_up_the_oldest() {
        let mut table = AgedTable::new(2, 500 * 14);
        let (mut plain, mut random) = (HashMap::new(), Random::new(9));
        let mut n_dropped = 0;
        for step in 0..20_000u32 {
            let key = (random.next() as u16 % 3000).to_le_bytes();
            assert_eq!(table.find(&key), plain.get(&key).copied());
            if plain.contains_key(&key) {
                continue;
            }
            while !table.push(&key, step / 100) {
                assert_eq!(plain.len(), 500);
                let oldest = table.oldest();
                assert_eq!(oldest, plain.values().min().copied());
                plain.retain(|_, age| Some(*age) != oldest);
                table.drop_oldest();
                n_dropped += 1;
            }
            plain.insert(key, step / 100);
        }
        assert!(n_dropped > 20 && table.data_bytes() <= 500 * 14);
    }

    #[test]
    fn primes() {
        let primes: Vec<usize> = [2, 3, 4, 10, 1024].map(prime_up_to).to_vec();
        assert_eq!(primes, [2, 3, 3, 7, 1021]);
    }
}
