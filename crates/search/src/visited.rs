//! Which states have been found, and where those lie that are still to be expanded.
//!
//! Two ways: by *keys*, where nothing but "new or not" is asked, the set holds all that is known
//! of an expanded state, and what does not fit into memory can go to a disk; by *numbers*, where
//! the graph of a liveness property needs the number of every successor, or where no key of
//! bearable length can be made.

use std::sync::{Mutex, RwLock};

use hadal_model::{GoalKind, PAD_BYTES, Shape};
use hadal_store::codec::{Codec, KeyShape, Unfit};
use hadal_store::{Arena, Log, N_PARTITIONS, Placing, Set, Slice, Table, read_records};

use crate::hashing::Hashing;
use crate::shared::{lock, read, write};
use crate::{Options, StoreKind};

/// The dictionaries of keys may take this share of the budget.
const DICTIONARY_SHARE: u64 = 8;

/// The states found.
pub(crate) enum Visited {
    /// States by number.
    Numbers(Numbers),
    /// States by key.
    Keys(Keyed),
}

/// All states lie in an arena, and a table finds their numbers.
pub(crate) struct Numbers {
    pub(crate) table: Table,
    pub(crate) arena: RwLock<Arena>,
}

/// Keys of all states lie in a set, and those of states to be expanded in a log besides.
///
/// With a hash store the set and runs have signatures in their place; the log still has keys, from
/// which states can be had back.
pub(crate) struct Keyed {
    pub(crate) codec: Codec,
    pub(crate) hashing: Option<Box<Hashing>>,
    pub(crate) set: RwLock<Set>,
    pub(crate) log: Mutex<Log>,
}

impl Visited {
    /// Nothing found yet; by keys if `by_keys` says so and nobody needs numbers.
    pub(crate) fn new(shape: &Shape, options: &Options, by_keys: bool) -> Self {
        let has_liveness = shape.goals.iter().any(|g| g.kind == GoalKind::Liveness);
        if has_liveness || !by_keys {
            return Visited::Numbers(Numbers {
                table: Table::new(),
                arena: RwLock::new(Arena::new(shape.state_len, options.block_len, PAD_BYTES)),
            });
        }
        let codec = Codec::new(shape.state_len, options.memory_bytes / DICTIONARY_SHARE);
        let hashing = Hashing::new(options.store, options.seed).map(Box::new);
        let key_shape = key_shape(&codec, hashing.as_deref());
        Visited::Keys(Keyed {
            set: RwLock::new(Set::new(Placing::new(key_shape.n_bits))),
            log: Mutex::new(Log::new()),
            codec,
            hashing,
        })
    }

    /// Number of states found.
    pub(crate) fn n_states(&self) -> u64 {
        match self {
            Visited::Numbers(numbers) => read(&numbers.arena).len(),
            Visited::Keys(keyed) => lock(&keyed.log).len(),
        }
    }

    /// Memory held by table or set, in bytes.
    pub(crate) fn table_bytes(&self) -> u64 {
        match self {
            Visited::Numbers(numbers) => numbers.table.data_bytes(),
            Visited::Keys(keyed) => read(&keyed.set).data_bytes(),
        }
    }

    /// Memory held beside that, in bytes.
    pub(crate) fn other_bytes(&self) -> u64 {
        match self {
            Visited::Numbers(numbers) => read(&numbers.arena).data_bytes(),
            Visited::Keys(keyed) => lock(&keyed.log).data_bytes() + keyed.codec.data_bytes(),
        }
    }

    /// Memory that looking up `n_candidates[p]` states in each partition `p` needs, in bytes,
    /// should they all be new.
    pub(crate) fn growth_bytes(
        &self,
        n_candidates: &[usize; N_PARTITIONS],
        n_threads: usize,
    ) -> u64 {
        match self {
            Visited::Numbers(numbers) => numbers.table.growth_bytes(n_candidates, n_threads),
            Visited::Keys(keyed) => read(&keyed.set).growth_bytes(n_candidates, n_threads),
        }
    }
}

impl Keyed {
    /// What the keys in set and runs look like now.
    pub(crate) fn key_shape(&self) -> KeyShape {
        key_shape(&self.codec, self.hashing.as_deref())
    }

    /// Store and seed.
    pub(crate) fn store(&self) -> (StoreKind, u64) {
        let of_hashing = |hashing: &Hashing| (hashing.kind, hashing.seed);
        self.hashing
            .as_deref()
            .map_or_else(Default::default, of_hashing)
    }

    /// Gives keys more room, where some did not fit; those in the set are made anew. Signatures
    /// stay as they are. Returns the most memory that the set took meanwhile, in bytes.
    pub(crate) fn widen(&self, keep_order: bool) -> Result<u64, Unfit> {
        let before = self.codec.newest();
        let after = self.codec.widen(keep_order)?;
        if after != before && self.hashing.is_none() {
            let recoder = self.codec.recoder(before.version, after.version);
            return Ok(write(&self.set).recode(after.n_bits, |key, made| {
                assert!(recoder.recode(key, made), "newer layouts have room for all");
            }));
        }
        Ok(read(&self.set).data_bytes())
    }

    /// Appends to `states` the states of some records; `words` is scratch. `None` if these are not
    /// what was written.
    pub(crate) fn decode(
        &self,
        slice: &Slice,
        words: &mut Vec<u64>,
        states: &mut Vec<u8>,
    ) -> Option<()> {
        words.clear();
        self.read_records(slice, words)?;
        self.codec.decode(slice.version, words, states);
        Some(())
    }

    /// Appends the keys of some records, as the codec made them; `None` if these are not what was
    /// written.
    pub(crate) fn read_records(&self, slice: &Slice, words: &mut Vec<u64>) -> Option<()> {
        if slice.version > self.codec.newest().version {
            return None;
        }
        let n_words = self.codec.shape(slice.version).n_words;
        read_records(&slice.bytes, slice.records.clone(), n_words, words)
    }
}

fn key_shape(codec: &Codec, hashing: Option<&Hashing>) -> KeyShape {
    hashing.map_or_else(|| codec.newest(), Hashing::shape)
}
