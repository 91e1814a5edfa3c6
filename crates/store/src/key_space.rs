//! From states to keys.
//!
//! A state is known by its *key*, a few words from which the codec makes the state again. Layouts
//! of keys are versioned: when a value does not fit, the newest layout gets more room and old keys
//! are recoded as they are read.
//!
//! With a hash store the set and the runs hold signatures in place of keys; the log of states still
//! holds keys, so what is expanded and replayed are states.

use crate::codec::{Codec, Headroom, KeyShape, Recoder, max_key_words};
use crate::hashing::{Hashing, StoreKind};
use crate::tiers::Layouts;
use crate::{Slice, read_records};

/// How the states of a search become keys, and keys states.
pub struct KeySpace {
    /// How states become keys.
    pub codec: Codec,
    /// How states become signatures, with a hash store.
    pub hashing: Option<Box<Hashing>>,
}

/// How wide keys are, for the budget.
#[derive(Clone, Copy, Debug)]
pub struct KeyWidths {
    /// Words of the codec's keys.
    pub codec_words: usize,
    /// Words of signatures, if there are some.
    pub signature_words: usize,
    /// Bits of what set and runs hold.
    pub stored_bits: usize,
}

impl KeyWidths {
    /// The widest keys that states of `state_len` bytes may come to have.
    pub fn widest(state_len: usize) -> Self {
        let codec_words = max_key_words(state_len);
        KeyWidths {
            codec_words,
            signature_words: 0,
            stored_bits: 64 * codec_words,
        }
    }
}

impl KeySpace {
    /// How wide keys are now.
    pub fn widths(&self) -> KeyWidths {
        self.widths_of(self.codec.newest())
    }

    /// How wide keys are after [`widen`](Self::widen).
    pub fn widened_widths(&self, headroom: Headroom) -> KeyWidths {
        self.widths_of(self.codec.widened_shape(headroom))
    }

    /// How wide keys are where `codec` is the layout of those of the codec.
    fn widths_of(&self, codec: KeyShape) -> KeyWidths {
        let signature = self.hashing.as_ref().map(|hashing| hashing.shape());
        KeyWidths {
            codec_words: codec.n_words,
            signature_words: signature.map_or(0, |signature| signature.n_words),
            stored_bits: signature.unwrap_or(codec).n_bits,
        }
    }

    /// Keys for states of `state_len` bytes, whose dictionaries take up to `dictionary_bytes`.
    pub fn new(state_len: usize, dictionary_bytes: u64, store: StoreKind, seed: u64) -> Self {
        KeySpace {
            codec: Codec::new(state_len, dictionary_bytes),
            hashing: Hashing::new(store, seed).map(Box::new),
        }
    }

    /// Layout of the keys in set and runs: the newest one.
    pub fn shape(&self) -> KeyShape {
        match &self.hashing {
            Some(hashing) => hashing.shape(),
            None => self.codec.newest(),
        }
    }

    /// Layouts of the keys in set and runs.
    pub fn layouts(&self) -> Layouts<'_> {
        Layouts::new(
            &self.codec,
            self.hashing.as_ref().map(|hashing| hashing.shape()),
        )
    }

    /// What is stored of a state, and the seed.
    pub fn store(&self) -> (StoreKind, u64) {
        (self.hashing.as_deref()).map_or_else(Default::default, Hashing::store)
    }

    /// Gives keys more room after one did not fit, or takes back room that was ample. Returns how keys
    /// of set and runs are recoded, if their layout changed: signatures keep theirs.
    pub fn widen(&self, headroom: Headroom) -> Option<Recoder<'_>> {
        let before = self.codec.newest();
        let after = self.codec.widen(headroom);
        let is_other = after != before && self.hashing.is_none();
        is_other.then(|| self.codec.recoder(before.version, after.version))
    }

    /// Appends to `states` the states of some records, and to `keys` their keys of the codec in the
    /// newest layout. `None` if the records are not what was written.
    pub fn decode(&self, slice: &Slice, keys: &mut Vec<u64>, states: &mut Vec<u8>) -> Option<()> {
        let begin = keys.len();
        self.read_records(slice, keys)?;
        self.codec.decode(slice.version, &keys[begin..], states);
        self.update_codec_keys(slice.version, keys, begin);
        Some(())
    }

    /// Replaces keys of the codec in the layout `version`, those from `begin` on, by keys in the
    /// newest one.
    pub fn update_codec_keys(&self, version: u32, keys: &mut Vec<u64>, begin: usize) {
        if version != self.codec.newest().version {
            let old = keys.split_off(begin);
            self.append_codec_keys(version, &old, keys);
        }
    }

    /// Appends to `keys` the keys of some records, in the newest layout of set and runs. `None` if
    /// the records are not what was written.
    pub fn keys_of(&self, slice: &Slice, keys: &mut Vec<u64>) -> Option<()> {
        let mut words = Vec::new();
        self.read_records(slice, &mut words)?;
        self.keys_of_words(slice.version, &words, keys);
        Some(())
    }

    /// As [`keys_of`](Self::keys_of), for keys of the codec in the layout `version`.
    pub fn keys_of_words(&self, version: u32, words: &[u64], keys: &mut Vec<u64>) {
        if let Some(hashing) = &self.hashing {
            let mut states = Vec::new();
            self.codec.decode(version, words, &mut states);
            let len = self.codec.state_len();
            let n = words.len() / self.codec.shape(version).n_words;
            hashing.append((0..n).map(|at| &states[at * len..][..len]), keys);
            return;
        }
        self.append_codec_keys(version, words, keys);
    }

    /// Appends keys of the codec in the layout `version` to `keys`, which are in the newest one.
    fn append_codec_keys(&self, version: u32, words: &[u64], keys: &mut Vec<u64>) {
        let (shape, newest) = (self.codec.shape(version), self.codec.newest());
        if shape == newest {
            keys.extend_from_slice(words);
            return;
        }
        let recoder = self.codec.recoder(version, newest.version);
        for key in words.chunks_exact(shape.n_words) {
            let end = keys.len();
            keys.resize(end + newest.n_words, 0);
            recode(&recoder, key, &mut keys[end..]);
        }
    }

    /// Appends the codec's keys of some records.
    fn read_records(&self, slice: &Slice, words: &mut Vec<u64>) -> Option<()> {
        if slice.version > self.codec.newest().version {
            return None;
        }
        let n_words = self.codec.shape(slice.version).n_words;
        read_records(&slice.bytes, slice.records.clone(), n_words, words)
    }
}

/// Recodes a key from an older layout into a newer one.
pub fn recode(recoder: &Recoder<'_>, key: &[u64], recoded: &mut [u64]) {
    assert!(
        recoder.recode(key, recoded),
        "a newer layout has room for every key of an older one"
    );
}
