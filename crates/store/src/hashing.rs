//! What is remembered of a state: the state itself, or a signature of fewer bits.
//!
//! A signature is a hash from a family of which the seed chooses one, so that a run with another
//! seed omits other states, if it omits any.

use serde::{Deserialize, Serialize};

use crate::SeededHash;
use crate::codec::KeyShape;

/// What is kept of a state where visited ones are remembered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum StoreKind {
    /// The packed state.
    #[default]
    Exact,
    /// A signature of 40 bits.
    Hash40,
    /// A signature of 64 bits.
    Hash64,
    /// A signature of 96 bits.
    Hash96,
    /// A signature of 128 bits.
    Hash128,
}

impl StoreKind {
    /// Bits of a signature; `None` for the state itself.
    pub fn bits(self) -> Option<u32> {
        match self {
            StoreKind::Exact => None,
            StoreKind::Hash40 => Some(40),
            StoreKind::Hash64 => Some(64),
            StoreKind::Hash96 => Some(96),
            StoreKind::Hash128 => Some(128),
        }
    }

    /// The name used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            StoreKind::Exact => "exact",
            StoreKind::Hash40 => "hash40",
            StoreKind::Hash64 => "hash64",
            StoreKind::Hash96 => "hash96",
            StoreKind::Hash128 => "hash128",
        }
    }

    /// The store of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        const ALL: [StoreKind; 5] = [
            StoreKind::Exact,
            StoreKind::Hash40,
            StoreKind::Hash64,
            StoreKind::Hash96,
            StoreKind::Hash128,
        ];
        ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// How states become signatures.
#[derive(Clone, Debug)]
pub struct Hashing {
    kind: StoreKind,
    seed: u64,
    bits: u32,
    first: SeededHash,
    second: SeededHash,
}

const WORD_BITS: u32 = 64;
/// Makes the second word of a signature independent of the first.
const SECOND: u64 = 0x9e37_79b9_7f4a_7c15;

impl Hashing {
    /// `None` where states themselves are kept.
    pub fn new(kind: StoreKind, seed: u64) -> Option<Self> {
        Some(Hashing {
            kind,
            seed,
            bits: kind.bits()?,
            first: SeededHash::new(seed),
            second: SeededHash::new(seed.wrapping_add(SECOND)),
        })
    }

    /// Bits of a signature.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// What is kept of a state, and the seed.
    pub fn store(&self) -> (StoreKind, u64) {
        (self.kind, self.seed)
    }

    /// What signatures look like as keys. There is only one version of them.
    pub fn shape(&self) -> KeyShape {
        KeyShape {
            version: 0,
            n_bits: self.bits as usize,
            n_words: self.bits.div_ceil(WORD_BITS) as usize,
        }
    }

    /// The signature of `state`: its bits come first, and zeros behind them.
    #[inline]
    pub fn words(&self, state: &[u8]) -> [u64; 2] {
        let first = self.first.hash(state);
        match self.bits.checked_sub(WORD_BITS) {
            None => [leading(first, self.bits), 0],
            Some(0) => [first, 0],
            Some(rest) => [first, leading(self.second.hash(state), rest)],
        }
    }

    /// Appends the words of the signatures of `states`.
    pub fn append<'s>(&self, states: impl Iterator<Item = &'s [u8]>, words: &mut Vec<u64>) {
        let n_words = self.shape().n_words;
        words.reserve(n_words * states.size_hint().0);
        for state in states {
            words.extend_from_slice(&self.words(state)[..n_words]);
        }
    }
}

/// The first `bits` bits of a word, from 1 to 64 of them.
fn leading(word: u64, bits: u32) -> u64 {
    word & (u64::MAX << (WORD_BITS - bits))
}

#[cfg(test)]
mod tests {
    use super::{Hashing, StoreKind};

    #[test]
    fn shorter_signatures_begin_longer_ones() {
        let words = |kind| {
            let hashing = Hashing::new(kind, 7).expect("a hash store");
            hashing.words(b"some state")
        };
        let [first, second] = words(StoreKind::Hash128);
        assert_eq!(words(StoreKind::Hash40), [first >> 24 << 24, 0]);
        assert_eq!(words(StoreKind::Hash64), [first, 0]);
        assert_eq!(words(StoreKind::Hash96), [first, second >> 32 << 32]);
        assert_ne!(first, second);
        assert!(Hashing::new(StoreKind::Exact, 7).is_none());
    }

    #[test]
    fn names_are_those_of_stores() {
        for name in ["exact", "hash40", "hash64", "hash96", "hash128"] {
            let kind = StoreKind::from_name(name).expect("a store");
            assert_eq!(kind.name(), name);
        }
        // Nobody may ask for so few bits that states are sure to be lost.
        for name in ["hash8", "hash16", "hash32", "hash", ""] {
            assert_eq!(StoreKind::from_name(name), None);
        }
    }
}
