//! Short states as keys: an invertible encoding that can be sorted, compared and placed by itself.
//!
//! The first eight bytes of a state are mixed with the others by a bijection, so that they are
//! spread evenly; the other bytes stay as they are. Two states have the same key if and only if
//! they are the same, so comparing keys is exact.
//! The first byte of the mix chooses the partition and is not stored there. What remains are
//! `cell_len` bytes, held as words of which the first has the most significant bits of the mix:
//! the order of keys as lists of words is the order of their places in a partition.

use crate::table::N_PARTITIONS;

/// How states of one length become keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoding {
    state_len: usize,
    cell_len: usize,
    /// The bytes of the first word that belong to a state.
    first_mask: u64,
    /// The bytes of the last word that belong to a key.
    last_mask: u64,
}

/// Words of the longest key.
pub(crate) const MAX_WORDS: usize = 4;
const WORD_BYTES: usize = 8;
/// The byte of a state that shares a word with the mix; shorter states are filled up with zeros.
const MIN_STATE_LEN: usize = WORD_BYTES + 1;

impl Encoding {
    /// The encoding of states of `state_len` bytes; `None` where they are too long for it.
    pub fn new(state_len: usize) -> Option<Self> {
        let cell_len = state_len.max(MIN_STATE_LEN) - 1;
        // The first word is always full.
        let last_len = (cell_len - 1) % WORD_BYTES + 1;
        (cell_len <= MAX_WORDS * WORD_BYTES).then_some(Encoding {
            state_len,
            cell_len,
            first_mask: mask(state_len.min(WORD_BYTES)),
            last_mask: mask(last_len),
        })
    }

    /// Bytes of a state.
    pub(crate) fn state_len(&self) -> usize {
        self.state_len
    }

    /// Bytes of a key in a partition.
    pub(crate) fn cell_len(&self) -> usize {
        self.cell_len
    }

    /// Words of a key.
    pub fn n_words(&self) -> usize {
        self.cell_len.div_ceil(WORD_BYTES)
    }

    /// Partition and key of the state at the beginning of `bytes`, behind which at least sixteen
    /// bytes can be read.
    #[inline]
    pub(crate) fn encode<const N: usize>(&self, bytes: &[u8]) -> (usize, [u64; N]) {
        let mut key = [0; N];
        let last = match self.state_len {
            MIN_STATE_LEN.. => u64::from(bytes[self.state_len - 1]),
            _ => 0,
        };
        let mut others = last;
        for (number, word) in key.iter_mut().enumerate().skip(1) {
            *word = load(bytes, number * WORD_BYTES);
            if number + 1 == N {
                *word &= self.last_mask;
            }
            others = (others ^ *word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            others ^= others >> 32;
        }
        others = others.wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = mix((load(bytes, 0) & self.first_mask) ^ others);
        key[0] = (mixed << 8) | last;
        ((mixed >> (64 - N_PARTITIONS.ilog2())) as usize, key)
    }

    /// The key stored at the beginning of `cell`, behind which a word can be read.
    #[inline]
    pub(crate) fn load_cell<const N: usize>(&self, cell: &[u8]) -> [u64; N] {
        let mut key = [0; N];
        key[0] = load(cell, self.cell_len - WORD_BYTES);
        for (number, word) in key.iter_mut().enumerate().skip(1) {
            *word = load(cell, (number - 1) * WORD_BYTES);
            if number + 1 == N {
                *word &= self.last_mask;
            }
        }
        key
    }

    /// Writes a key to `cell`.
    #[inline]
    pub(crate) fn store_cell<const N: usize>(&self, cell: &mut [u8], key: [u64; N]) {
        // The last of these words reaches into the first word's place, which is written last.
        for word in 1..N {
            cell[(word - 1) * WORD_BYTES..word * WORD_BYTES]
                .copy_from_slice(&key[word].to_le_bytes());
        }
        cell[self.cell_len - WORD_BYTES..self.cell_len].copy_from_slice(&key[0].to_le_bytes());
    }
}

#[inline]
fn load(bytes: &[u8], at: usize) -> u64 {
    let word: [u8; WORD_BYTES] = bytes[at..at + WORD_BYTES]
        .try_into()
        .expect("a word has eight bytes");
    u64::from_le_bytes(word)
}

/// The first `len` bytes of a word, one to eight, or none.
fn mask(len: usize) -> u64 {
    match len {
        0 => 0,
        _ => u64::MAX >> (64 - 8 * len),
    }
}

/// A bijection of words under which every bit of the input changes about half of the output.
#[inline]
fn mix(mut word: u64) -> u64 {
    word = (word ^ (word >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    word = (word ^ (word >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    word ^ (word >> 32)
}

#[cfg(test)]
mod tests {
    use super::{Encoding, mask, mix};
    use crate::table::N_PARTITIONS;
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    fn unmix(mut word: u64) -> u64 {
        // The inverse of the odd factor, by Newton's iteration.
        let factor = 0xd6e8_feb8_6659_fd93u64;
        let mut inverse = factor;
        for _ in 0..6 {
            inverse = inverse.wrapping_mul(2u64.wrapping_sub(factor.wrapping_mul(inverse)));
        }
        word = (word ^ (word >> 32)).wrapping_mul(inverse);
        word = (word ^ (word >> 32)).wrapping_mul(inverse);
        word ^ (word >> 32)
    }

    /// The state is found again from partition and cell, whatever its length: nothing is lost.
    #[test]
    fn encoding_can_be_inverted() {
        fn invert<const N: usize>(encoding: Encoding, partition: usize, key: [u64; N]) -> Vec<u8> {
            let last = key[0] & 0xff;
            let mut others = last;
            for &word in &key[1..] {
                others = (others ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                others ^= others >> 32;
            }
            others = others.wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let first = unmix(((partition as u64) << 56) | (key[0] >> 8)) ^ others;
            let words: Vec<u64> = std::iter::once(first).chain(key[1..].to_vec()).collect();
            let mut state: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            state.resize(encoding.cell_len + 1, 0);
            if encoding.state_len > 8 {
                state[encoding.state_len - 1] = last as u8;
            }
            state.truncate(encoding.state_len);
            state
        }
        fn check<const N: usize>(encoding: Encoding, state: &[u8]) {
            let mut bytes = state.to_vec();
            // What lies behind a state must not matter.
            bytes.resize(state.len() + 32, 0xa5);
            let (partition, key) = encoding.encode::<N>(&bytes);
            let mut cell = vec![0x5a; encoding.cell_len + 8];
            encoding.store_cell(&mut cell, key);
            assert_eq!(encoding.load_cell::<N>(&cell), key);
            assert_eq!(invert(encoding, partition, key), state);
        }
        assert_eq!(N_PARTITIONS, 256);
        let mut rng = Pcg64Mcg::seed_from_u64(3);
        for state_len in 0..=33 {
            let encoding = Encoding::new(state_len).expect("short enough");
            for _ in 0..200 {
                let state: Vec<u8> = (0..state_len)
                    .map(|_| [0, 1, 0xff, rng.random()][rng.random_range(0..4)])
                    .collect();
                match encoding.n_words() {
                    1 => check::<1>(encoding, &state),
                    2 => check::<2>(encoding, &state),
                    3 => check::<3>(encoding, &state),
                    _ => check::<4>(encoding, &state),
                }
            }
        }
        assert_eq!(Encoding::new(34), None);
        assert_eq!(unmix(mix(0x0123_4567_89ab_cdef)), 0x0123_4567_89ab_cdef);
        assert_eq!((mask(1), mask(8)), (0xff, u64::MAX));
    }
}
