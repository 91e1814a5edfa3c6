//! Keys of one block, reduced to the bits in which they differ.
//!
//! A key is words, most significant first. Under the mask of a block it is a number of fewer bits,
//! and reduced keys have the order of the keys. Mostly one machine word holds it, or two; the third
//! form holds any.

use super::{PACKED_WORDS, damage::Damage};
use crate::bits::Bits;

/// A reduced key, or a mask of its bits.
pub(crate) trait Reduced: Copy + Default {
    /// Reads `len` bytes, low end first, from `at` on; 16 bytes behind them may be read too.
    fn load(bytes: &[u8], at: usize, len: usize) -> Self;
    /// Sets bits from `shift` on, which are zero so far, to `value`.
    fn put(&mut self, value: u64, shift: u32);
    /// 64 bits from `shift` on.
    fn part(&self, shift: u32) -> u64;
    /// Whether `self` comes before `other`, or is it.
    fn not_after(&self, other: &Self) -> bool;
    /// Whether the two differ in a bit outside `mask`.
    fn differs_outside(&self, other: &Self, mask: &Self) -> bool;
    /// The bits under `mask`, at most 64.
    fn extract<B: Bits>(&self, bits: B, mask: &Self) -> u64;
    /// Number of ones.
    fn count_ones(&self) -> u32;
}

/// Reads the eight bytes from `at` on.
#[inline(always)]
pub(crate) fn load_u64(bytes: &[u8], at: usize) -> u64 {
    let bytes: [u8; 8] = bytes[at..at + 8].try_into().expect("the slice has 8 bytes");
    u64::from_le_bytes(bytes)
}

impl Reduced for u64 {
    #[inline(always)]
    fn load(bytes: &[u8], at: usize, len: usize) -> Self {
        if len == 0 {
            return 0;
        }
        load_u64(bytes, at) & (u64::MAX >> ((64 - 8 * len) & 63))
    }

    #[inline(always)]
    fn put(&mut self, value: u64, shift: u32) {
        // A word without bits under the mask may have the shift 64; its value is zero.
        *self |= value << (shift & 63);
    }

    #[inline(always)]
    fn part(&self, shift: u32) -> u64 {
        *self >> (shift & 63)
    }

    #[inline(always)]
    fn not_after(&self, other: &Self) -> bool {
        self <= other
    }

    #[inline(always)]
    fn differs_outside(&self, other: &Self, mask: &Self) -> bool {
        (self ^ other) & !mask != 0
    }

    #[inline(always)]
    fn extract<B: Bits>(&self, bits: B, mask: &Self) -> u64 {
        bits.extract(*self, *mask)
    }

    #[inline(always)]
    fn count_ones(&self) -> u32 {
        u64::count_ones(*self)
    }
}

impl Reduced for u128 {
    #[inline(always)]
    fn load(bytes: &[u8], at: usize, len: usize) -> Self {
        if len == 0 {
            return 0;
        }
        let bytes: [u8; 16] = bytes[at..at + 16]
            .try_into()
            .expect("the slice has 16 bytes");
        u128::from_le_bytes(bytes) & (u128::MAX >> ((128 - 8 * len) & 127))
    }

    #[inline(always)]
    fn put(&mut self, value: u64, shift: u32) {
        *self |= u128::from(value) << (shift & 127);
    }

    #[inline(always)]
    fn part(&self, shift: u32) -> u64 {
        (*self >> (shift & 127)) as u64
    }

    #[inline(always)]
    fn not_after(&self, other: &Self) -> bool {
        self <= other
    }

    #[inline(always)]
    fn differs_outside(&self, other: &Self, mask: &Self) -> bool {
        (self ^ other) & !mask != 0
    }

    #[inline(always)]
    fn extract<B: Bits>(&self, bits: B, mask: &Self) -> u64 {
        let low = bits.extract(*self as u64, *mask as u64);
        let high = bits.extract((*self >> 64) as u64, (*mask >> 64) as u64);
        low | high << ((*mask as u64).count_ones() & 63)
    }

    #[inline(always)]
    fn count_ones(&self) -> u32 {
        u128::count_ones(*self)
    }
}

/// Any reduced key: words, least significant first.
#[derive(Clone, Copy, Default)]
pub(crate) struct Wide([u64; PACKED_WORDS]);

impl Reduced for Wide {
    fn load(bytes: &[u8], at: usize, len: usize) -> Self {
        let mut wide = Wide::default();
        for (word, bytes) in wide.0.iter_mut().zip(bytes[at..at + len].chunks(8)) {
            let mut padded = [0; 8];
            padded[..bytes.len()].copy_from_slice(bytes);
            *word = u64::from_le_bytes(padded);
        }
        wide
    }

    fn put(&mut self, value: u64, shift: u32) {
        let (word, shift) = (shift as usize / 64, shift % 64);
        if let Some(low) = self.0.get_mut(word) {
            *low |= value << shift;
        }
        if let Some(high) = self.0.get_mut(word + 1) {
            *high |= (value >> 1) >> (63 - shift);
        }
    }

    fn part(&self, shift: u32) -> u64 {
        let (word, shift) = (shift as usize / 64, shift % 64);
        let low = self.0.get(word).map_or(0, |low| low >> shift);
        let high = self
            .0
            .get(word + 1)
            .map_or(0, |high| (high << 1) << (63 - shift));
        low | high
    }

    fn not_after(&self, other: &Self) -> bool {
        self.0.iter().rev().le(other.0.iter().rev())
    }

    fn differs_outside(&self, other: &Self, mask: &Self) -> bool {
        (self.0.iter().zip(&other.0).zip(&mask.0)).any(|((a, b), mask)| (a ^ b) & !mask != 0)
    }

    #[inline(always)]
    fn extract<B: Bits>(&self, bits: B, mask: &Self) -> u64 {
        let (mut result, mut n_bits) = (0, 0);
        for (word, mask) in self.0.iter().zip(&mask.0) {
            result |= bits.extract(*word, *mask) << (n_bits & 63);
            n_bits += mask.count_ones();
        }
        result
    }

    fn count_ones(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }
}

/// How a block's keys are reduced: its first key, its mask, and where each word's bits go.
#[derive(Clone, Copy)]
pub(crate) struct Reduction {
    /// Words of a key.
    pub(crate) n_words: usize,
    /// The first key.
    pub(crate) first: [u64; PACKED_WORDS],
    /// Bits in which keys of the block differ.
    pub(crate) mask: [u64; PACKED_WORDS],
    /// Where the bits of each word begin in the reduced key.
    pub(crate) shift: [u32; PACKED_WORDS],
    /// Bits of a reduced key.
    pub(crate) n_bits: u32,
}

impl Reduction {
    pub(crate) fn new(first: &[u64], mask: &[u64]) -> Result<Self, Damage> {
        let n_words = first.len();
        if n_words == 0 || n_words > PACKED_WORDS || mask.len() != n_words {
            return Err(Damage("number of words"));
        }
        let mut reduction = Reduction {
            n_words,
            first: [0; PACKED_WORDS],
            mask: [0; PACKED_WORDS],
            shift: [0; PACKED_WORDS],
            n_bits: 0,
        };
        reduction.first[..n_words].copy_from_slice(first);
        reduction.mask[..n_words].copy_from_slice(mask);
        for i in (0..n_words).rev() {
            reduction.shift[i] = reduction.n_bits;
            reduction.n_bits += mask[i].count_ones();
        }
        Ok(reduction)
    }

    /// Bytes of a reduced key in a block.
    pub(crate) fn n_bytes(&self) -> usize {
        self.n_bits.div_ceil(8) as usize
    }

    /// The reduced form of `key`, and whether it has the bits that all keys of the block share.
    /// `W` is the number of words, or 0 if only known at run time.
    #[inline(always)]
    pub(crate) fn reduce<B: Bits, R: Reduced, const W: usize>(
        &self,
        bits: B,
        key: &[u64],
    ) -> (R, bool) {
        let n_words = if W == 0 { self.n_words } else { W };
        let key = &key[..n_words];
        let (mut reduced, mut differs) = (R::default(), 0);
        for (i, &word) in key.iter().enumerate() {
            differs |= (word ^ self.first[i]) & !self.mask[i];
            reduced.put(bits.extract(word, self.mask[i]), self.shift[i]);
        }
        (reduced, differs == 0)
    }

    /// Spreads a reduced key or mask over whole words; bits outside the block's mask are zero.
    #[inline(always)]
    pub(crate) fn expand<B: Bits, R: Reduced, const W: usize>(
        &self,
        bits: B,
        reduced: &R,
    ) -> [u64; PACKED_WORDS] {
        let n_words = if W == 0 { self.n_words } else { W };
        let mut words = [0; PACKED_WORDS];
        for (i, word) in words[..n_words].iter_mut().enumerate() {
            *word = bits.deposit(reduced.part(self.shift[i]), self.mask[i]);
        }
        words
    }
}
