//! Encoding states as keys, on one thread.
//!
//! A step changes little of a state: where the key of a successor's source is known, only words that
//! the step changed are looked up. Other states are encoded position by position, some of them at
//! once, so that the dictionary of one position stays in the cache and lookups for several states
//! overlap; a word that is that of the state before is not looked up.

use std::sync::Arc;

use super::dictionary::Dictionary;
use super::layout::{Field, Layout};
use super::{Codec, Inner, KeyShape, Outgrown, WORD_BYTES, n_positions, position_mask};
use crate::bits::differing_bytes;

/// Bytes that must be readable behind the last state of a block.
const PAD_BYTES: usize = 8;
/// Bytes that are compared at once.
const PAIR_BYTES: usize = 2 * WORD_BYTES;
/// States that are encoded position by position: few enough for the nearest cache.
const PIECE_LEN: usize = 128;
/// States of up to this many positions are encoded position by position, whatever is known of their
/// sources: a step changes most of them.
const FEW_POSITIONS: usize = 4;
/// In a dictionary of up to this size a lookup is cheaper than a mispredicted comparison with the
/// last word.
const QUICK_ENTRIES: usize = 1 << 14;

/// States with their keys, and which of them other states are successors of.
#[derive(Clone, Copy, Debug)]
pub struct EncodedSources<'a> {
    /// The states, one after the other, and at least eight bytes behind them.
    pub states: &'a [u8],
    /// Their keys, in the newest layout.
    pub keys: &'a [u64],
    /// By successor, the number of its source.
    pub sources_of: &'a [u32],
}

/// Turns blocks of states into keys of the newest layout.
#[derive(Debug)]
pub struct Encoder {
    state_len: usize,
    version: u32,
    layout: Arc<Layout>,
    /// The bits of a state's last word that belong to it, as the word lies in memory.
    last_mask: u64,
    /// By position.
    last: Vec<Last>,
    /// Whether there is a last state.
    has_last: bool,
    /// Scratch: the positions where a successor differs from its source.
    changed: Vec<usize>,
}

impl Encoder {
    pub(super) fn new(codec: &Codec) -> Self {
        let inner = codec.read();
        let n_positions = n_positions(codec.state_len);
        let last_mask = match n_positions {
            0 => 0,
            n => position_mask(codec.state_len, n - 1).swap_bytes(),
        };
        let layout = Arc::clone(inner.layouts.newest());
        Encoder {
            state_len: codec.state_len,
            version: inner.layouts.newest_version(),
            last_mask,
            last: vec![Last::default(); n_positions],
            has_last: false,
            changed: Vec::new(),
            layout,
        }
    }

    /// Shape of the keys of the last block.
    pub fn shape(&self) -> KeyShape {
        self.layout.shape(self.version)
    }

    /// Replaces the content of `keys` by the keys of `n_states` states that lie one after the other
    /// in `states`, behind which at least eight bytes can be read.
    ///
    /// Where a state does not fit, the keys are invalid, but the codec knows all words of the block
    /// afterwards.
    pub fn encode(
        &mut self,
        codec: &Codec,
        states: &[u8],
        n_states: usize,
        keys: &mut Vec<u64>,
    ) -> Result<(), Outgrown> {
        assert!(states.len() >= n_states * self.state_len + PAD_BYTES);
        if codec.is_plain {
            self.copy(states, n_states, keys);
            Ok(())
        } else {
            self.collapse(codec, states, n_states, keys)
        }
    }

    /// As [`encode`](Self::encode), for states of which each is a successor of one of `sources`.
    pub fn encode_successors(
        &mut self,
        codec: &Codec,
        states: &[u8],
        sources: &EncodedSources<'_>,
        keys: &mut Vec<u64>,
    ) -> Result<(), Outgrown> {
        let n_states = sources.sources_of.len();
        assert!(states.len() >= n_states * self.state_len + PAD_BYTES);
        if codec.is_plain {
            self.copy(states, n_states, keys);
            return Ok(());
        }
        if self.last.len() <= FEW_POSITIONS {
            return self.collapse(codec, states, n_states, keys);
        }
        let mut inner = codec.read();
        self.take_newest(&inner);
        let layout = Arc::clone(&self.layout);
        let n_words = layout.n_words();
        keys.clear();
        keys.reserve(n_states * n_words);
        let mut is_outgrown = false;
        for (number, &source) in sources.sources_of.iter().enumerate() {
            let source = source as usize;
            keys.extend_from_slice(&sources.keys[source * n_words..][..n_words]);
            let key = &mut keys[number * n_words..];
            let state = &states[number * self.state_len..];
            let before = &sources.states[source * self.state_len..];
            self.find_changed(state, before);
            for &position in &self.changed {
                let field = &layout.fields()[position];
                let word = self.word(state, position);
                if field.replace(key, word, &inner.dictionaries[position]) {
                    continue;
                }
                drop(inner);
                codec.learn(position, word);
                inner = codec.read();
                // If it does not fit, its key is invalid, but later words may be new as well.
                is_outgrown |= !field.replace(key, word, &inner.dictionaries[position]);
            }
        }
        match is_outgrown {
            true => Err(Outgrown),
            false => Ok(()),
        }
    }

    /// Finds the positions where two states differ.
    #[inline]
    fn find_changed(&mut self, state: &[u8], before: &[u8]) {
        self.changed.clear();
        let Some(last) = self.last.len().checked_sub(1) else {
            return;
        };
        // Two words at a time, but for the last word: what lies behind it is not part of a state.
        let whole = last / 2 * PAIR_BYTES;
        let (pairs, _) = state[..whole].as_chunks::<PAIR_BYTES>();
        let (pairs_before, _) = before[..whole].as_chunks::<PAIR_BYTES>();
        for (number, (pair, before)) in pairs.iter().zip(pairs_before).enumerate() {
            let differing = differing_bytes(pair, before);
            if differing == 0 {
                continue;
            }
            if differing & 0xff != 0 {
                self.changed.push(2 * number);
            }
            if differing >> 8 != 0 {
                self.changed.push(2 * number + 1);
            }
        }
        for position in last / 2 * 2..=last {
            if self.word(state, position) != self.word(before, position) {
                self.changed.push(position);
            }
        }
    }

    /// The word of a state at a position.
    #[inline]
    fn word(&self, state: &[u8], position: usize) -> u64 {
        let bytes = state[position * WORD_BYTES..].first_chunk();
        let word = u64::from_le_bytes(*bytes.expect("states are padded"));
        match position + 1 == self.last.len() {
            true => (word & self.last_mask).swap_bytes(),
            false => word.swap_bytes(),
        }
    }

    /// Encodes by the newest layout from now on.
    fn take_newest(&mut self, inner: &Inner) {
        if !Arc::ptr_eq(&self.layout, inner.layouts.newest()) {
            self.layout = Arc::clone(inner.layouts.newest());
            self.version = inner.layouts.newest_version();
            self.has_last = false;
        }
    }

    fn copy(&self, states: &[u8], n_states: usize, keys: &mut Vec<u64>) {
        let n_words = self.layout.n_words();
        keys.resize(n_states * n_words, 0);
        match n_words {
            1 => self.copy_words::<1>(states, keys),
            2 => self.copy_words::<2>(states, keys),
            3 => self.copy_words::<3>(states, keys),
            4 => self.copy_words::<4>(states, keys),
            n => {
                for (key, at) in keys.chunks_exact_mut(n).zip((0..).step_by(self.state_len)) {
                    self.copy_state(&states[at..], key);
                }
            }
        }
    }

    fn copy_words<const N: usize>(&self, states: &[u8], keys: &mut [u64]) {
        let (keys, _) = keys.as_chunks_mut::<N>();
        let last_mask = self.last_mask.swap_bytes();
        let mut at = 0;
        for key in keys {
            // The compiler knows all lengths.
            let (words, _) = states[at..at + N * WORD_BYTES].as_chunks::<WORD_BYTES>();
            *key = std::array::from_fn(|word| u64::from_be_bytes(words[word]));
            key[N - 1] &= last_mask;
            at += self.state_len;
        }
    }

    #[inline]
    fn copy_state(&self, state: &[u8], key: &mut [u64]) {
        let (words, _) = state.as_chunks::<WORD_BYTES>();
        for (word, &bytes) in key.iter_mut().zip(words) {
            *word = u64::from_be_bytes(bytes);
        }
        if let Some(last) = key.last_mut() {
            *last &= self.last_mask.swap_bytes();
        }
    }

    fn collapse(
        &mut self,
        codec: &Codec,
        states: &[u8],
        n_states: usize,
        keys: &mut Vec<u64>,
    ) -> Result<(), Outgrown> {
        let mut inner = codec.read();
        self.take_newest(&inner);
        let n_words = self.layout.n_words();
        // Parts are combined with what is there.
        keys.clear();
        keys.resize(n_states * n_words, 0);
        let mut is_outgrown = false;
        let pieces = keys.chunks_mut(PIECE_LEN * n_words);
        for (piece, keys) in pieces.enumerate() {
            let states = &states[piece * PIECE_LEN * self.state_len..];
            for (position, field) in self.layout.fields().iter().enumerate() {
                let is_end = position + 1 == self.last.len();
                let mut column = Column {
                    field,
                    bytes: &states[position * WORD_BYTES..],
                    state_len: self.state_len,
                    mask: if is_end { self.last_mask } else { u64::MAX },
                    n_words,
                    last: self.last[position],
                };
                if !self.has_last {
                    column.last.word = !column.word(0);
                }
                let mut next = 0;
                while let Some(state) = column.encode(&inner.dictionaries[position], next, keys) {
                    let word = column.word(state).swap_bytes();
                    drop(inner);
                    codec.learn(position, word);
                    inner = codec.read();
                    next = state;
                    if field.parts(word, &inner.dictionaries[position]).is_none() {
                        // Its key is invalid, but later words may be new as well.
                        is_outgrown = true;
                        next += 1;
                    }
                }
                self.last[position] = column.last;
            }
            self.has_last = true;
        }
        if is_outgrown {
            self.has_last = false;
            return Err(Outgrown);
        }
        Ok(())
    }
}

/// The words at one position of consecutive states.
struct Column<'a> {
    field: &'a Field,
    /// The states from this position on.
    bytes: &'a [u8],
    state_len: usize,
    /// The bits of a word that belong to the state, as it lies in memory.
    mask: u64,
    /// Words of a key.
    n_words: usize,
    last: Last,
}

/// The last word at a position, as it lies in memory, and its parts.
#[derive(Clone, Copy, Debug, Default)]
struct Last {
    word: u64,
    id: u64,
    literal: u64,
}

impl Column<'_> {
    #[inline]
    fn word(&self, state: usize) -> u64 {
        let bytes = &self.bytes[state * self.state_len..];
        let word = bytes.first_chunk().expect("states are padded");
        u64::from_le_bytes(*word) & self.mask
    }

    /// Makes the word of a state the last one; returns whether it fits.
    #[inline]
    fn take(&mut self, dictionary: &Dictionary, state: usize) -> bool {
        let word = self.word(state);
        if word != self.last.word {
            let Some((id, literal)) = self.field.parts(word.swap_bytes(), dictionary) else {
                return false;
            };
            self.last = Last { word, id, literal };
        }
        true
    }

    /// Writes this position of the states from `next` on to their keys. Returns the number of the
    /// first state whose word does not fit.
    #[inline]
    fn encode(&mut self, dictionary: &Dictionary, next: usize, keys: &mut [u64]) -> Option<usize> {
        let n_states = keys.len() / self.n_words;
        let field = self.field;
        // Most positions lie within a word of the key, and many do not vary at all.
        if field.literal.n_bits > 0 {
            for state in next..n_states {
                if !self.take(dictionary, state) {
                    return Some(state);
                }
                let key = &mut keys[state * self.n_words..][..self.n_words];
                field.id.add(key, self.last.id);
                field.literal.add(key, self.last.literal);
            }
        } else if field.id.n_bits == 0 {
            return (next..n_states).find(|&state| !self.take(dictionary, state));
        } else if let Some((word, shift)) = field.id.within_word() {
            let keys = keys[word..].iter_mut().step_by(self.n_words).enumerate();
            if dictionary.len() <= QUICK_ENTRIES {
                for (state, key) in keys.skip(next) {
                    match dictionary.find(self.word(state).swap_bytes()) {
                        Some(id) if field.id.fits(id) => *key ^= id << shift,
                        _ => return Some(state),
                    }
                }
                return None;
            }
            for (state, key) in keys.skip(next) {
                if !self.take(dictionary, state) {
                    return Some(state);
                }
                *key ^= self.last.id << shift;
            }
        } else {
            for state in next..n_states {
                if !self.take(dictionary, state) {
                    return Some(state);
                }
                let key = &mut keys[state * self.n_words..][..self.n_words];
                field.id.add(key, self.last.id);
            }
        }
        None
    }
}
