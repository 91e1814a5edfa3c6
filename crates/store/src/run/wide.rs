//! A block of wide keys: those that do not fit the arrays of the packed layout.
//!
//! ```text
//! offset  bytes  what (numbers are little-endian)
//! 0       1      3: version of this layout
//! 1       3      zero
//! 4       4      number of keys
//! 8       4      words of a key
//! 12      4      zero
//! 16             the keys, each as its difference from the one before, the first from zero
//! ```
//!
//! A key may be nearly as long as a block, so a block may have only one. Fences would then take as
//! much memory as keys do on disk; hence only every [`fence_stride`]th block has one.

use std::cmp::Ordering;

use super::PACKED_WORDS;
use super::batch::key;
use super::damage::Damage;
use super::reduced::load_u64;
use crate::bits::{self, Bits, Kernel};
use crate::delta::{delta_bytes, read_deltas, write_delta};
use crate::{BLOCK_BYTES, MAX_KEY_WORDS};

/// Version of the layout above.
pub(crate) const VERSION: u8 = 3;
const HEADER_BYTES: usize = 16;
const _: () = assert!(HEADER_BYTES + delta_bytes(MAX_KEY_WORDS) <= BLOCK_BYTES);

/// Whether keys of `n_words` words lie in blocks of this layout.
pub(crate) const fn is_wide(n_words: usize) -> bool {
    n_words > PACKED_WORDS
}

/// One in this many data blocks has a fence: fences, which stay in memory, take at most a 512th of
/// the data.
pub(crate) const fn fence_stride(n_words: usize) -> u32 {
    match is_wide(n_words) {
        false => 1,
        true => n_words.div_ceil(BLOCK_BYTES / (512 * 8)) as u32,
    }
}

/// A block of wide keys under construction.
pub(crate) struct WideBuilder {
    n_words: usize,
    /// Keys that are not in the block yet.
    keys: Vec<u64>,
    /// First of these words that counts.
    at: usize,
    last: Vec<u64>,
    first: Vec<u64>,
    n_keys: u32,
    /// The block so far, and room for a key that does not fit.
    block: Vec<u8>,
    len: usize,
    /// Whether the block was given away.
    is_given: bool,
}

impl WideBuilder {
    pub(crate) fn new(n_words: usize) -> Self {
        WideBuilder {
            n_words,
            keys: Vec::new(),
            at: 0,
            last: vec![0; n_words],
            first: vec![0; n_words],
            n_keys: 0,
            block: vec![0; BLOCK_BYTES + delta_bytes(n_words)],
            len: HEADER_BYTES,
            is_given: false,
        }
    }

    /// Takes keys, ascending and behind all before.
    pub(crate) fn push(&mut self, keys: &[u64]) {
        self.keys.drain(..self.at);
        self.at = 0;
        self.keys.extend_from_slice(keys);
    }

    /// The next block, if there are keys enough to fill one, or keys at all and no more `to_come`.
    pub(crate) fn next_block(&mut self, to_come: bool) -> Option<&[u8]> {
        if std::mem::take(&mut self.is_given) {
            self.last.fill(0);
            (self.n_keys, self.len) = (0, HEADER_BYTES);
        }
        let is_full = loop {
            if self.at == self.keys.len() {
                break false;
            }
            let key = &self.keys[self.at..self.at + self.n_words];
            let n_bytes = bits::run(Append {
                key,
                last: &mut self.last,
                out: &mut self.block[self.len..],
            });
            if self.len + n_bytes > BLOCK_BYTES {
                // The key comes first in the next block, as its difference from zero.
                break true;
            }
            if self.n_keys == 0 {
                self.first.copy_from_slice(key);
            }
            self.len += n_bytes;
            self.at += self.n_words;
            self.n_keys += 1;
        };
        if self.n_keys == 0 || (!is_full && to_come) {
            return None;
        }
        self.block[..4].copy_from_slice(&[VERSION, 0, 0, 0]);
        self.block[4..8].copy_from_slice(&self.n_keys.to_le_bytes());
        self.block[8..12].copy_from_slice(&(self.n_words as u32).to_le_bytes());
        self.block[12..16].fill(0);
        self.is_given = true;
        Some(&self.block[..self.len])
    }

    /// First key of the block that was given last.
    pub(crate) fn first_key(&self) -> &[u64] {
        &self.first
    }
}

struct Append<'a> {
    key: &'a [u64],
    last: &'a mut [u64],
    out: &'a mut [u8],
}

impl Kernel for Append<'_> {
    type Output = usize;

    #[inline(always)]
    fn run<B: Bits>(self, bits: B) -> usize {
        write_delta(bits, self.key, self.last, self.out)
    }
}

/// Appends all keys of a block to `out`.
pub(crate) fn decode(block: &[u8], n_words: usize, out: &mut Vec<u64>) -> Result<(), Damage> {
    let header = block.get(..HEADER_BYTES).ok_or(Damage("too short"))?;
    if header[..4] != [VERSION, 0, 0, 0] || header[12..] != [0; 4] {
        return Err(Damage("unknown version"));
    }
    let number = |at| (load_u64(header, at) & u64::from(u32::MAX)) as usize;
    let n_keys = number(4);
    if number(8) != n_words {
        return Err(Damage("number of words"));
    }
    let (from, deltas) = (out.len(), &block[HEADER_BYTES..]);
    if n_keys == 0 || read_deltas(deltas, 0..n_keys, n_words, out) != Some(deltas.len()) {
        out.truncate(from);
        return Err(Damage("number of keys"));
    }
    Ok(())
}

/// Marks in `present` those of the ascending `candidates` that are among the ascending `keys`.
/// Returns how many are not behind the last key.
pub(crate) fn mark(
    n_words: usize,
    keys: &[u64],
    candidates: &[u64],
    present: &mut [bool],
) -> usize {
    let n_keys = keys.len() / n_words;
    let (mut at, mut at_key) = (0, 0);
    while at < present.len() && at_key < n_keys {
        match key(candidates, n_words, at).cmp(key(keys, n_words, at_key)) {
            Ordering::Less => at += 1,
            Ordering::Greater => at_key += 1,
            Ordering::Equal => {
                present[at] = true;
                at += 1;
            }
        }
    }
    at
}
