//! How states become keys, and keys states.
//!
//! A key is a fixed number of words, most significant first, and two states have the same key if
//! and only if they are the same. Short states are their own keys: their bytes, padded with zeros.
//!
//! A wide state is cut into *positions* of eight bytes, and the words that occur at a position are
//! few: each gets a number, its *id*, and the ids side by side are the key. Ids are assigned as
//! words first occur, so they depend on the order of threads; they never change.
//! How many bits each position takes is a *layout*. When a state does not fit it, encoding returns
//! [`Outgrown`], and the coordinator calls [`Codec::widen`] for a new version of the layout, which
//! has some headroom. Keys of all versions can be decoded, and a [`Recoder`] turns keys of one
//! version into those of another.
//!
//! A position with too many words to number is held literally, by the bits that were ever seen to
//! differ. Where keys must keep their order, because sorted ones lie on a disk, it keeps its ids
//! and words without one are held literally behind an id that no word has.
//!
//! Memory is bounded: dictionaries hold at most twice the bytes given to [`Codec::new`], for they
//! grow by doubling, and 72 KiB for each position beyond that, for a dictionary of up to
//! [`SMALL_ENTRIES`] words may always grow. With more than 64 positions these share the budget too,
//! but for 16 words each.

mod dictionary;
mod encoder;
mod layout;
mod log;
mod recoder;
#[cfg(test)]
mod tests;
mod versions;

use std::sync::{Arc, RwLock, RwLockReadGuard};

use dictionary::Dictionary;
use layout::{Field, Layout};
use versions::Versions;

pub use encoder::{EncodedSources, Encoder};
pub use layout::Headroom;
pub use log::{Damaged, Mark};
pub use recoder::Recoder;

/// States of up to this many bytes are their own keys.
pub const PLAIN_BYTES: usize = 16;
/// A dictionary of up to this many words may grow, whatever the others take, unless there are many.
pub const SMALL_ENTRIES: usize = 1024;
/// If states have more positions than this, the small dictionaries share the budget as well.
const FEW_POSITIONS: usize = 64;
/// Memory for an entry of a small dictionary, at most, and its least number of entries.
const SMALL_ENTRY_BYTES: u64 = 72;
const LEAST_ENTRIES: u64 = 16;
/// Words that a position may have before it is held literally.
pub const MAX_ENTRIES: usize = 1 << 17;

const WORD_BYTES: usize = 8;

/// A state does not fit the present layout: all of its words are known now, and
/// [`Codec::widen`] makes room for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a state does not fit the present layout of keys")]
pub struct Outgrown;

/// Most bits of a key for each position: a literal word behind an id that no word has.
const MAX_POSITION_BITS: usize = 64 + MAX_ENTRIES.ilog2() as usize + 1;

/// Layouts that are there as a whole at a time: older ones are packed, but whoever reads runs of
/// several versions uses all of these at once.
const FEW_LAYOUTS: usize = 8;

/// Most words that keys of states of `state_len` bytes ever have.
pub const fn max_key_words(state_len: usize) -> usize {
    match state_len <= PLAIN_BYTES {
        true => 2,
        false => (n_positions(state_len) * MAX_POSITION_BITS).div_ceil(64),
    }
}

/// Shape of the keys of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyShape {
    /// Number of the layout.
    pub version: u32,
    /// Bits that are used, from the most significant of the first word on.
    pub n_bits: usize,
    /// Words of a key, at least one.
    pub n_words: usize,
}

impl KeyShape {
    /// Bytes that the bits of a key need.
    pub fn n_bytes(self) -> usize {
        self.n_bits.div_ceil(8)
    }
}

/// States of one length as keys; shared by threads, each of which has its [`Encoder`].
#[derive(Debug)]
pub struct Codec {
    state_len: usize,
    max_bytes: u64,
    /// Entries of a dictionary for which there is always room.
    small_entries: usize,
    /// Whether states are their own keys, which nothing outgrows.
    is_plain: bool,
    inner: RwLock<Inner>,
}

#[derive(Debug)]
struct Inner {
    dictionaries: Vec<Dictionary>,
    /// Memory that they hold: wide states have thousands, and every new word asks for it.
    dictionary_bytes: u64,
    layouts: Versions,
    /// Whether the newest layout has ample headroom.
    is_ample: bool,
}

impl Inner {
    /// A layout that has room for all words known.
    fn widened(&self, state_len: usize, headroom: Headroom) -> Layout {
        let (newest, dictionaries) = (self.layouts.newest(), &self.dictionaries);
        // What was ample is given back.
        match self.is_ample && matches!(headroom, Headroom::Roomy | Headroom::Tight) {
            true => newest.narrowed(dictionaries, headroom),
            false => Layout::clone(newest),
        }
        .widened(dictionaries, state_len, headroom)
    }

    /// Adds up again what dictionaries hold, after many of them changed.
    fn update_dictionary_bytes(&mut self) {
        self.dictionary_bytes = self.dictionaries.iter().map(Dictionary::data_bytes).sum();
    }
}

impl Codec {
    /// The codec for states of `state_len` bytes: they are their own keys if they are short, else
    /// they are collapsed by dictionaries of up to about `max_bytes`.
    pub fn new(state_len: usize, max_bytes: u64) -> Self {
        if state_len <= PLAIN_BYTES {
            Self::plain(state_len)
        } else {
            Self::collapsed(state_len, max_bytes)
        }
    }

    /// The least that a codec for states of `state_len` bytes comes to hold, in bytes: the first
    /// words of every position and some layouts.
    pub const fn least_bytes(state_len: usize) -> u64 {
        if state_len <= PLAIN_BYTES {
            return 0;
        }
        let words = size_of::<Dictionary>() as u64 + LEAST_ENTRIES * SMALL_ENTRY_BYTES;
        n_positions(state_len) as u64 * (words + (FEW_LAYOUTS * size_of::<Field>()) as u64)
    }

    /// A codec by which states are their own keys.
    pub fn plain(state_len: usize) -> Self {
        Self::with_layout(state_len, 0, true, Layout::plain(state_len))
    }

    /// The codec with a dictionary for each position.
    pub fn collapsed(state_len: usize, max_bytes: u64) -> Self {
        Self::with_layout(state_len, max_bytes, false, Layout::constant(state_len))
    }

    fn with_layout(state_len: usize, max_bytes: u64, is_plain: bool, layout: Layout) -> Self {
        let n_dictionaries = if is_plain { 0 } else { n_positions(state_len) };
        let inner = Inner {
            dictionaries: (0..n_dictionaries).map(|_| Dictionary::default()).collect(),
            dictionary_bytes: n_dictionaries as u64 * size_of::<Dictionary>() as u64,
            layouts: Versions::new(layout, FEW_POSITIONS),
            is_ample: false,
        };
        let small_entries = match n_dictionaries {
            0..=FEW_POSITIONS => SMALL_ENTRIES,
            n => (max_bytes / (n as u64 * SMALL_ENTRY_BYTES))
                .clamp(LEAST_ENTRIES, SMALL_ENTRIES as u64) as usize,
        };
        Codec {
            state_len,
            max_bytes,
            small_entries,
            is_plain,
            inner: RwLock::new(inner),
        }
    }

    /// Bytes of a state.
    pub fn state_len(&self) -> usize {
        self.state_len
    }

    /// The newest version.
    pub fn newest(&self) -> KeyShape {
        let inner = self.read();
        inner.layouts.shape(inner.layouts.newest_version())
    }

    /// Shape of keys of `version`.
    pub fn shape(&self, version: u32) -> KeyShape {
        self.read().layouts.shape(version)
    }

    /// One thread's encoder.
    pub fn encoder(&self) -> Encoder {
        Encoder::new(self)
    }

    /// Makes a layout that has room for all words known, and some more. Returns the newest layout,
    /// which is the one before if that has room.
    ///
    /// Unless order is kept, a position with too many words is held in fewer bits.
    pub fn widen(&self, headroom: Headroom) -> KeyShape {
        let mut inner = self.inner.write().expect(UNPOISONED);
        let layout = inner.widened(self.state_len, headroom);
        if layout != **inner.layouts.newest() {
            inner.layouts.push(layout);
        }
        inner.is_ample = headroom == Headroom::Ample;
        inner.layouts.shape(inner.layouts.newest_version())
    }

    /// The shape of keys after [`widen`](Self::widen).
    pub fn widened_shape(&self, headroom: Headroom) -> KeyShape {
        let inner = self.read();
        let layout = inner.widened(self.state_len, headroom);
        layout.shape(inner.layouts.newest_version() + 1)
    }

    /// Whether the newest layout was made with [`Headroom::Ample`].
    pub fn is_ample(&self) -> bool {
        self.read().is_ample
    }

    /// Forgets all layouts but the newest, and dictionaries that it does not need. There must be
    /// no keys of older versions any more.
    pub fn forget_older(&self) {
        let inner = &mut *self.inner.write().expect(UNPOISONED);
        let newest = Arc::clone(inner.layouts.newest());
        inner.layouts.forget_older();
        for (dictionary, field) in inner.dictionaries.iter_mut().zip(newest.fields()) {
            if !field.has_ids() {
                dictionary.forget_words();
            }
        }
        inner.update_dictionary_bytes();
    }

    /// Appends to `states` the states of keys of `version` that lie one after the other.
    pub fn decode(&self, version: u32, keys: &[u64], states: &mut Vec<u8>) {
        let inner = self.read();
        let layout = inner.layouts.get(version);
        if self.is_plain {
            for key in keys.chunks_exact(layout.n_words()) {
                let begin = states.len();
                states.extend(key.iter().flat_map(|word| word.to_be_bytes()));
                states.truncate(begin + self.state_len);
            }
            return;
        }
        let begin = states.len();
        let n_states = keys.len() / layout.n_words();
        if n_states == 0 {
            return;
        }
        let end = begin + n_states * self.state_len;
        states.resize(end + WORD_BYTES, 0);
        // The last word of a state reaches into the next state, whose first word is written later.
        let positions = layout.fields().iter().zip(&inner.dictionaries).enumerate();
        for (position, (field, dictionary)) in positions.rev() {
            let bytes = &mut states[begin + position * WORD_BYTES..];
            let keys = keys.chunks_exact(layout.n_words());
            field.decode_column(keys, dictionary, bytes, self.state_len);
        }
        states.truncate(end);
    }

    /// Memory held, in bytes.
    pub fn data_bytes(&self) -> u64 {
        let inner = self.read();
        inner.dictionary_bytes + inner.layouts.data_bytes()
    }

    /// Number of words that have ids.
    pub fn n_entries(&self) -> usize {
        let inner = self.read();
        inner.dictionaries.iter().map(Dictionary::len).sum()
    }

    /// Learns a new word; the newest layout may still lack room for it.
    fn learn(&self, position: usize, word: u64) {
        let mut inner = self.inner.write().expect(UNPOISONED);
        let inner = &mut *inner;
        let has_room = inner.dictionary_bytes < self.max_bytes;
        let dictionary = &mut inner.dictionaries[position];
        let before = dictionary.data_bytes();
        dictionary.learn(word, has_room, self.small_entries);
        inner.dictionary_bytes += dictionary.data_bytes() - before;
    }

    fn read(&self) -> RwLockReadGuard<'_, Inner> {
        self.inner.read().expect(UNPOISONED)
    }
}

const UNPOISONED: &str = "no one panics while they hold the dictionaries";

const fn n_positions(state_len: usize) -> usize {
    state_len.div_ceil(WORD_BYTES)
}

/// The bits of the word at `position` that belong to a state.
fn position_mask(state_len: usize, position: usize) -> u64 {
    match state_len - position * WORD_BYTES {
        len @ 0..WORD_BYTES => !(u64::MAX >> (8 * len)),
        _ => u64::MAX,
    }
}
