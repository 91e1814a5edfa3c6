//! The table of a round: from signatures to numbers of new blocks, used by all threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::signature::{Item, is_subset};
use crate::Error;
use crate::parallel::lock;
use crate::word::Word;

const SHARD_BITS: u32 = 6;
const N_SHARDS: usize = 1 << SHARD_BITS;

/// Signatures by hash, in shards with a lock each. The number of a block is its position in its
/// shard and the number of the shard, so nothing is shared between shards.
pub(super) struct Table<W> {
    shards: Vec<Mutex<Shard<W>>>,
    /// Whether signatures are kept, and compared where hashes are equal.
    is_exact: bool,
    /// Bits of hashes that are used.
    mask: u128,
    held_bytes: AtomicU64,
    limit_bytes: u64,
}

/// What a block is found by; `items` only where signatures are kept.
struct Entry<'a, W> {
    key: u128,
    parent: W,
    items: Option<&'a [Item<W>]>,
}

struct Shard<W> {
    /// Positions in `keys`, one more; 0 is free. A power of 2.
    slots: Vec<W>,
    keys: Vec<u128>,
    /// By key, the block that its states were in: new blocks are parts of old ones, even where
    /// hashes collide.
    parents: Vec<W>,
    /// By key, where its signature ends in `items`.
    ends: Vec<u64>,
    items: Vec<Item<W>>,
}

impl<W: Word> Table<W> {
    pub(super) fn new(is_exact: bool, hash_bits: u32, limit_bytes: u64) -> Self {
        let shard = || Shard {
            slots: vec![W::new(0); 8],
            keys: Vec::new(),
            parents: Vec::new(),
            ends: Vec::new(),
            items: Vec::new(),
        };
        Table {
            shards: (0..N_SHARDS).map(|_| Mutex::new(shard())).collect(),
            is_exact,
            mask: u128::MAX.checked_shr(128 - hash_bits).unwrap_or(0),
            held_bytes: AtomicU64::new(0),
            limit_bytes,
        }
    }

    /// Number of blocks.
    pub(super) fn len(&self) -> u64 {
        let lens = self
            .shards
            .iter()
            .map(|shard| lock(shard).keys.len() as u64);
        lens.sum()
    }

    /// By shard, its number of blocks.
    pub(super) fn shard_lens(&self) -> Vec<usize> {
        self.shards
            .iter()
            .map(|shard| lock(shard).keys.len())
            .collect()
    }

    /// Shard and position of a block.
    pub(super) fn split(block: W) -> (usize, usize) {
        let shard = block.get() & (N_SHARDS as u64 - 1);
        (shard as usize, (block.get() >> SHARD_BITS) as usize)
    }

    /// The block of states of `parent` with this signature, a new one if there is none.
    pub(super) fn block_of(&self, parent: W, hash: u128, items: &[Item<W>]) -> Result<W, Error> {
        let key = hash & self.mask;
        let number = (key as u64 ^ (key >> 64) as u64) as usize % N_SHARDS;
        let mut shard = lock(&self.shards[number]);
        let entry = Entry {
            key,
            parent,
            items: self.is_exact.then_some(items),
        };
        let (position, is_new) = match shard.find(&entry) {
            Ok(position) => (position, false),
            Err(slot) => (shard.insert(slot, &entry), true),
        };
        if is_new {
            let bytes = shard.grow();
            let set = match self.is_exact {
                true => size_of_val(items) + 8,
                false => 0,
            };
            let held = bytes + set as u64;
            let held = self.held_bytes.fetch_add(held, Ordering::Relaxed) + held;
            if held > self.limit_bytes {
                return Err(Error::Memory {
                    what: "the table of signatures",
                    needed: held,
                    limit: self.limit_bytes,
                });
            }
        }
        let block = (position as u64) << SHARD_BITS | number as u64;
        match block < W::MAX.get() {
            true => Ok(W::new(block)),
            // Shards are so uneven that the hash must be at fault.
            false => Err(Error::Memory {
                what: "the numbers of blocks",
                needed: u64::MAX,
                limit: self.limit_bytes,
            }),
        }
    }

    /// Whether the signature of `block` contains all of `part` but `left_out`.
    pub(super) fn contains(&self, block: W, part: &[Item<W>], left_out: Item<W>) -> bool {
        let (number, position) = Self::split(block);
        let shard = lock(&self.shards[number]);
        is_subset(part, left_out, shard.set(position))
    }
}

impl<W: Word> Shard<W> {
    fn set(&self, position: usize) -> &[Item<W>] {
        let begin = match position {
            0 => 0,
            _ => self.ends[position - 1],
        };
        &self.items[begin as usize..self.ends[position] as usize]
    }

    /// The position of a signature, or the free slot where it belongs.
    fn find(&self, entry: &Entry<'_, W>) -> Result<usize, usize> {
        let mask = self.slots.len() - 1;
        let mut slot = (entry.key >> 32) as usize & mask;
        loop {
            let Some(position) = self.slots[slot].at().checked_sub(1) else {
                return Err(slot);
            };
            let is_same = self.keys[position] == entry.key
                && self.parents[position] == entry.parent
                && entry.items.is_none_or(|items| self.set(position) == items);
            if is_same {
                return Ok(position);
            }
            slot = (slot + 1) & mask;
        }
    }

    fn insert(&mut self, slot: usize, entry: &Entry<'_, W>) -> usize {
        reserve(&mut self.keys, 1);
        self.keys.push(entry.key);
        reserve(&mut self.parents, 1);
        self.parents.push(entry.parent);
        if let Some(items) = entry.items {
            reserve(&mut self.items, items.len());
            self.items.extend_from_slice(items);
            self.ends.push(self.items.len() as u64);
        }
        self.slots[slot] = W::new(self.keys.len() as u64);
        self.keys.len() - 1
    }

    /// Keeps slots free, and returns the bytes that the last key and its slots took.
    fn grow(&mut self) -> u64 {
        let n_slots = self.slots.len();
        let entry_bytes = (size_of::<u128>() + size_of::<W>()) as u64;
        if self.keys.len() * 8 <= n_slots * 7 {
            return entry_bytes;
        }
        self.slots = vec![W::new(0); 2 * n_slots];
        let mask = 2 * n_slots - 1;
        for (position, key) in self.keys.iter().enumerate() {
            let mut slot = (key >> 32) as usize & mask;
            while self.slots[slot].get() != 0 {
                slot = (slot + 1) & mask;
            }
            self.slots[slot] = W::new(position as u64 + 1);
        }
        (n_slots * size_of::<W>()) as u64 + entry_bytes
    }
}

/// Makes room for `n` more, an eighth more than there is: doubling would take twice the memory that
/// is counted.
fn reserve<T>(list: &mut Vec<T>, n: usize) {
    if list.capacity() - list.len() < n {
        list.reserve_exact(n.max(list.len() / 8).max(16));
    }
}
