//! Tables of keys in memory: open addressing, chains, and a cache whose chains are bounded.
//!
//! All of them have a largest size, given by the budget, and grow up to it as they fill, so that a
//! generous budget costs nothing where it is not needed.

mod aged;
mod cache;
mod chained;
mod open;
mod random;
mod slots;

pub(crate) use aged::AgedTable;
pub(crate) use cache::CacheTable;
pub(crate) use chained::ChainedTable;
pub(crate) use open::OpenTable;
pub(crate) use random::Random;
pub(crate) use slots::slot_bytes;

/// What became of a key that was to be inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inserted {
    /// It is there now, at this place.
    New(usize),
    /// It was there already, at this place.
    Known(usize),
    /// It is not there, and there is no room for it.
    Full,
}

/// A set of keys that may be full.
pub(crate) trait KeyTable {
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

/// No key, in a link or a head.
const NONE: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use super::slots::prime_up_to;
    use super::{AgedTable, CacheTable, ChainedTable, Inserted, KeyTable, OpenTable, Random};

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
