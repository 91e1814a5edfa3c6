//! Delta coding: each key as its difference from the one before.
//!
//! Keys that follow each other as they are generated, or in a range of the key space, have most of
//! their bytes in common. A key is coded as a byte for each of its words, a mask of the bytes that
//! differ from those of the key before, the lowest bit for the lowest byte; then the exclusive or
//! of the bytes that differ, word after word, the lowest byte of a word first. The first key
//! differs from zero.

use std::ops::Range;

use crate::bits::{self, Bits, Kernel};

/// Most bytes of a delta of `n_words` words; there must be room for as many.
pub const fn delta_bytes(n_words: usize) -> usize {
    9 * n_words
}

/// Keys for which room is made at once, and the bytes that these may take if they are wide.
const ROOM_KEYS: usize = 64;
const ROOM_BYTES: usize = 16 << 10;

const LOW_BITS: u64 = 0x0101_0101_0101_0101;
const HIGH_BITS: u64 = LOW_BITS << 7;

/// Writes a key to the front of `out`; returns the bytes it takes. `before` is the key before it,
/// and becomes this one.
#[inline(always)]
pub fn write_delta<B: Bits>(bits: B, key: &[u64], before: &mut [u64], out: &mut [u8]) -> usize {
    let n_words = key.len();
    let out = &mut out[..delta_bytes(n_words)];
    let mut at = n_words;
    for (word, (key, before)) in key.iter().zip(before).enumerate() {
        let differing = *key ^ std::mem::replace(before, *key);
        // Carries reach the highest bit of a byte where any of the others is set, and end there.
        let carried = (differing & !HIGH_BITS) + !HIGH_BITS;
        let high_bits = (differing | carried) & HIGH_BITS;
        let mask = bits.extract(high_bits, HIGH_BITS) as u8;
        out[word] = mask;
        let packed = bits.extract(differing, whole_bytes(high_bits >> 7));
        out[at..at + 8].copy_from_slice(&packed.to_le_bytes());
        at += mask.count_ones() as usize;
    }
    at
}

/// Turns `before` into the key at the front of `bytes`; returns the bytes it took, or `None` if
/// they end too soon.
#[inline(always)]
pub fn read_delta<B: Bits>(bits: B, bytes: &[u8], before: &mut [u64]) -> Option<usize> {
    let n_words = before.len();
    let (masks, rest) = bytes.split_at_checked(n_words)?;
    let mut at = 0;
    for (word, &mask) in before.iter_mut().zip(masks) {
        let packed = match rest.get(at..at + 8) {
            Some(bytes) => u64::from_le_bytes(bytes.try_into().ok()?),
            None => last_bytes(rest.get(at..)?),
        };
        *word ^= bits.deposit(packed, whole_bytes(bits.deposit(mask.into(), LOW_BITS)));
        at += mask.count_ones() as usize;
    }
    (at <= rest.len()).then_some(n_words + at)
}

/// All bits of the bytes whose lowest bit is set.
#[inline(always)]
fn whole_bytes(low_bits: u64) -> u64 {
    low_bits * 0xff
}

/// Fewer than eight bytes, padded with zeros.
#[cold]
fn last_bytes(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

/// Appends keys of `n_words` words.
pub fn write_deltas<'a>(n_words: usize, keys: impl Iterator<Item = &'a [u64]>, out: &mut Vec<u8>) {
    bits::run(WriteAll { n_words, keys, out });
}

/// Appends the words of keys `wanted` of those at the front of `bytes`; returns the bytes that
/// these and all before them took, or `None` if there are fewer keys.
pub fn read_deltas(
    bytes: &[u8],
    wanted: Range<usize>,
    n_words: usize,
    words: &mut Vec<u64>,
) -> Option<usize> {
    bits::run(ReadAll {
        bytes,
        wanted,
        n_words,
        words,
    })
}

struct WriteAll<'o, K> {
    n_words: usize,
    keys: K,
    out: &'o mut Vec<u8>,
}

impl<'a, K: Iterator<Item = &'a [u64]>> Kernel for WriteAll<'_, K> {
    type Output = ();

    #[inline(always)]
    fn run<B: Bits>(self, bits: B) {
        match self.n_words {
            1 => self.write::<1, B>(bits),
            2 => self.write::<2, B>(bits),
            3 => self.write::<3, B>(bits),
            4 => self.write::<4, B>(bits),
            _ => self.write::<0, B>(bits),
        }
    }
}

impl<'a, K: Iterator<Item = &'a [u64]>> WriteAll<'_, K> {
    /// `W` is the number of words, or 0 if only known at run time.
    #[inline(always)]
    fn write<const W: usize, B: Bits>(self, bits: B) {
        let n_words = if W == 0 { self.n_words } else { W };
        let most = delta_bytes(n_words);
        let mut before = vec![0; n_words];
        let mut end = self.out.len();
        for key in self.keys {
            if self.out.len() < end + most {
                let room = (ROOM_KEYS * most).min(ROOM_BYTES.max(most));
                self.out.resize(end + room, 0);
            }
            end += write_delta(bits, &key[..n_words], &mut before, &mut self.out[end..]);
        }
        self.out.truncate(end);
    }
}

struct ReadAll<'a> {
    bytes: &'a [u8],
    wanted: Range<usize>,
    n_words: usize,
    words: &'a mut Vec<u64>,
}

impl Kernel for ReadAll<'_> {
    type Output = Option<usize>;

    #[inline(always)]
    fn run<B: Bits>(self, bits: B) -> Option<usize> {
        match self.n_words {
            1 => self.read::<1, B>(bits),
            2 => self.read::<2, B>(bits),
            3 => self.read::<3, B>(bits),
            4 => self.read::<4, B>(bits),
            _ => self.read::<0, B>(bits),
        }
    }
}

impl ReadAll<'_> {
    /// `W` is the number of words, or 0 if only known at run time.
    #[inline(always)]
    fn read<const W: usize, B: Bits>(self, bits: B) -> Option<usize> {
        let n_words = if W == 0 { self.n_words } else { W };
        // Each key takes a byte for a word or more, so damaged numbers reserve no more than that.
        if self.wanted.end.checked_mul(n_words)? > self.bytes.len() {
            return None;
        }
        self.words.reserve(self.wanted.len() * n_words);
        let mut before = vec![0; n_words];
        let mut at = 0;
        for _ in 0..self.wanted.start {
            at += read_delta(bits, self.bytes.get(at..)?, &mut before)?;
        }
        for _ in self.wanted {
            at += read_delta(bits, self.bytes.get(at..)?, &mut before)?;
            self.words.extend_from_slice(&before);
        }
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::{delta_bytes, read_delta, read_deltas, write_delta, write_deltas};
    use crate::bits::Portable;

    /// Keys that differ from the one before in some bytes, some of them in none or in all.
    fn keys(rng: &mut Pcg64Mcg, n_words: usize, n: usize) -> Vec<u64> {
        let mut before = vec![0; n_words];
        let mut keys = Vec::new();
        for _ in 0..n {
            for word in &mut before {
                *word ^= match rng.random_range(0..4) {
                    0 => 0,
                    1 => rng.random(),
                    2 => 1 << rng.random_range(0..64),
                    _ => 0x80 << (8 * rng.random_range(0..8)),
                };
            }
            keys.extend_from_slice(&before);
        }
        keys
    }

    #[test]
    fn keys_come_back_as_they_were() {
        let mut rng = Pcg64Mcg::seed_from_u64(5);
        for n_words in [1, 2, 3, 4, 16, 17, 100, 600] {
            for n in [0, 1, 2, 1000] {
                let keys = keys(&mut rng, n_words, n);
                let mut bytes = vec![7];
                write_deltas(n_words, keys.chunks(n_words), &mut bytes);
                let mut words = vec![9];
                let n_bytes = read_deltas(&bytes[1..], 0..n, n_words, &mut words);
                assert_eq!(n_bytes, Some(bytes.len() - 1));
                assert_eq!(words[1..], keys);
                // What follows makes no difference.
                bytes.extend([0xff; 20]);
                words.clear();
                let n_bytes = read_deltas(&bytes[1..], 0..n, n_words, &mut words);
                assert_eq!(n_bytes, Some(bytes.len() - 21));
                assert_eq!(words, keys);
            }
        }
    }

    #[test]
    fn keys_in_the_middle_are_read_without_those_around_them() {
        let mut rng = Pcg64Mcg::seed_from_u64(8);
        let keys = keys(&mut rng, 2, 100);
        let mut bytes = Vec::new();
        write_deltas(2, keys.chunks(2), &mut bytes);
        for wanted in [0..100, 0..0, 0..1, 17..40, 99..100, 100..100] {
            let mut words = Vec::new();
            read_deltas(&bytes, wanted.clone(), 2, &mut words).expect("they are there");
            assert_eq!(words, keys[2 * wanted.start..2 * wanted.end]);
        }
    }

    #[test]
    fn equal_keys_take_a_byte_for_a_word_and_others_what_differs() {
        let keys = [5, 1 << 63, 5, 1 << 63, 5 | 1 << 40, 0];
        let mut bytes = Vec::new();
        write_deltas(2, keys.chunks(2), &mut bytes);
        let expected = [1, 0x80, 5, 0x80, 0, 0, 0x20, 0x80, 1, 0x80];
        assert_eq!(bytes, expected);
    }

    #[test]
    fn plain_code_writes_and_reads_the_same() {
        let mut rng = Pcg64Mcg::seed_from_u64(6);
        let keys = keys(&mut rng, 2, 1000);
        let mut expected = Vec::new();
        write_deltas(2, keys.chunks(2), &mut expected);
        let (mut before, mut found) = (vec![0; 2], Vec::new());
        for key in keys.chunks(2) {
            let mut out = vec![0; delta_bytes(2)];
            let n_bytes = write_delta(Portable, key, &mut before, &mut out);
            found.extend_from_slice(&out[..n_bytes]);
        }
        assert_eq!(found, expected);
        let (mut before, mut at) = (vec![0; 2], 0);
        for key in keys.chunks(2) {
            at += read_delta(Portable, &found[at..], &mut before).expect("a key");
            assert_eq!(before, key);
        }
    }

    #[test]
    fn what_ends_too_soon_is_no_key() {
        let mut rng = Pcg64Mcg::seed_from_u64(7);
        let keys = keys(&mut rng, 3, 20);
        let mut bytes = Vec::new();
        write_deltas(3, keys.chunks(3), &mut bytes);
        for len in 0..bytes.len() {
            assert_eq!(read_deltas(&bytes[..len], 0..20, 3, &mut Vec::new()), None);
        }
        for wanted in [0..usize::MAX, 20..21, usize::MAX..usize::MAX] {
            assert_eq!(read_deltas(&bytes, wanted, 3, &mut Vec::new()), None);
        }
    }
}
