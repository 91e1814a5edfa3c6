//! A block of entries: keys, then values.
//!
//! ```text
//! offset  bytes  what (numbers are little-endian)
//! 0       1      1: version of this layout
//! 1       3      zero
//! 4       4      number of entries
//! 8       4      words of a key
//! 12      4      bytes of all keys
//! 16             the keys, each as its difference from the one before, the first from zero
//! then           the values, each as its distance from the one before, the first from zero
//! ```
//!
//! A distance d is the varint 2 d where the value is not less than the one before, else 2 d - 1, modulo
//! 2^64. A block stands alone.

use crate::bits::{self, Bits, Kernel};
use crate::delta::{delta_bytes, read_delta, write_delta};
use crate::run::Batch;
use crate::run::Damage;
use crate::varint::{read_varint, write_varint};
use crate::{BLOCK_BYTES, MAX_KEY_WORDS};

/// Version of the layout above.
const VERSION: u8 = 1;
const HEADER_BYTES: usize = 16;
/// The longest varint.
const VALUE_BYTES: usize = 10;
const _: () = assert!(HEADER_BYTES + delta_bytes(MAX_KEY_WORDS) + VALUE_BYTES <= BLOCK_BYTES);

/// The distance of a value from the one before, small where they are close.
fn distance(value: u64, before: u64) -> u64 {
    let distance = value.wrapping_sub(before);
    distance << 1 ^ ((distance as i64) >> 63) as u64
}

/// The reverse of [`distance`].
fn value_at(distance: u64, before: u64) -> u64 {
    let sign = (distance & 1).wrapping_neg();
    before.wrapping_add(distance >> 1 ^ sign)
}

/// A block under construction.
pub(super) struct BlockBuilder {
    n_words: usize,
    n_entries: u32,
    first_key: Vec<u64>,
    last_key: Vec<u64>,
    last_value: u64,
    /// Room for a header, and the keys.
    keys: Vec<u8>,
    values: Vec<u8>,
}

impl BlockBuilder {
    pub(super) fn new(n_words: usize) -> Self {
        let mut builder = BlockBuilder {
            n_words,
            n_entries: 0,
            first_key: Vec::new(),
            last_key: vec![0; n_words],
            last_value: 0,
            keys: Vec::with_capacity(BLOCK_BYTES),
            values: Vec::new(),
        };
        builder.clear();
        builder
    }

    fn clear(&mut self) {
        self.n_entries = 0;
        self.last_key.fill(0);
        self.last_value = 0;
        self.keys.clear();
        self.keys.resize(HEADER_BYTES, 0);
        self.values.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.n_entries == 0
    }

    /// The first key of the block.
    pub(super) fn first_key(&self) -> &[u64] {
        &self.first_key
    }

    /// Appends entries as far as they fit; returns how many did.
    pub(super) fn append(&mut self, keys: &[u64], values: &[u64]) -> usize {
        if self.is_empty() {
            self.first_key.clear();
            self.first_key.extend(keys.iter().take(self.n_words));
        }
        bits::run(Append {
            builder: self,
            keys,
            values,
        })
    }

    /// The block, which is then empty; `take` gets its bytes.
    pub(super) fn finish<T>(&mut self, take: impl FnOnce(&[u8]) -> T) -> T {
        let n_key_bytes = (self.keys.len() - HEADER_BYTES) as u32;
        self.keys[0] = VERSION;
        self.keys[4..8].copy_from_slice(&self.n_entries.to_le_bytes());
        self.keys[8..12].copy_from_slice(&(self.n_words as u32).to_le_bytes());
        self.keys[12..16].copy_from_slice(&n_key_bytes.to_le_bytes());
        self.keys.extend_from_slice(&self.values);
        let taken = take(&self.keys);
        self.clear();
        taken
    }
}

/// Appends entries to a block.
struct Append<'a> {
    builder: &'a mut BlockBuilder,
    keys: &'a [u64],
    values: &'a [u64],
}

impl Kernel for Append<'_> {
    /// How many fit.
    type Output = usize;

    #[inline(always)]
    fn run<B: Bits>(self, bits: B) -> usize {
        match self.builder.n_words {
            1 => self.append::<1, B>(bits),
            2 => self.append::<2, B>(bits),
            _ => self.append::<0, B>(bits),
        }
    }
}

impl Append<'_> {
    /// `W` is the number of words, or 0 if only known at run time.
    #[inline(always)]
    fn append<const W: usize, B: Bits>(self, bits: B) -> usize {
        let builder = self.builder;
        let n_words = if W == 0 { builder.n_words } else { W };
        let longest = delta_bytes(n_words) + VALUE_BYTES;
        let mut n_appended = 0;
        for (key, &value) in self.keys.chunks_exact(n_words).zip(self.values) {
            let end = builder.keys.len();
            if end + builder.values.len() + longest > BLOCK_BYTES {
                break;
            }
            builder.keys.resize(end + delta_bytes(n_words), 0);
            let last = &mut builder.last_key[..n_words];
            let n_bytes = write_delta(bits, key, last, &mut builder.keys[end..]);
            builder.keys.truncate(end + n_bytes);
            let distance = distance(value, builder.last_value);
            write_varint(&mut builder.values, distance);
            builder.last_value = value;
            n_appended += 1;
        }
        builder.n_entries += n_appended as u32;
        n_appended
    }
}

/// How far a block is read.
pub(super) struct BlockCursor {
    n_left: u32,
    /// Where the next key begins, where keys end, and where the next value begins.
    key_at: usize,
    keys_end: usize,
    value_at: usize,
    last_key: Vec<u64>,
    last_value: u64,
}

impl BlockCursor {
    /// Before the first entry of a block of keys of `n_words` words.
    pub(super) fn new(block: &[u8], n_words: usize) -> Result<Self, Damage> {
        let header = block.get(..HEADER_BYTES).ok_or(Damage("too short"))?;
        if header[..4] != [VERSION, 0, 0, 0] {
            return Err(Damage("unknown version"));
        }
        let number = |at: usize| {
            let bytes = [header[at], header[at + 1], header[at + 2], header[at + 3]];
            u32::from_le_bytes(bytes)
        };
        if number(8) as usize != n_words {
            return Err(Damage("number of words"));
        }
        let keys_end = HEADER_BYTES + number(12) as usize;
        if number(4) == 0 || keys_end > block.len() {
            return Err(Damage("number of entries"));
        }
        Ok(BlockCursor {
            n_left: number(4),
            key_at: HEADER_BYTES,
            keys_end,
            value_at: keys_end,
            last_key: vec![0; n_words],
            last_value: 0,
        })
    }

    /// Whether all entries are read.
    pub(super) fn is_done(&self) -> bool {
        self.n_left == 0
    }

    /// Appends up to `n` entries of the block to `batch`.
    pub(super) fn read(&mut self, block: &[u8], n: usize, batch: &mut Batch) -> Result<(), Damage> {
        let n = (self.n_left as usize).min(n);
        let before = batch.ordinals.len();
        bits::run(Read {
            cursor: self,
            block,
            n,
            batch,
        })
        .ok_or(Damage("number of entries"))?;
        debug_assert_eq!(batch.ordinals.len(), before + n);
        self.n_left -= n as u32;
        let is_whole = self.key_at == self.keys_end && self.value_at == block.len();
        match self.is_done() && !is_whole {
            true => Err(Damage("length of entries")),
            false => Ok(()),
        }
    }
}

/// Reads entries of a block.
struct Read<'a> {
    cursor: &'a mut BlockCursor,
    block: &'a [u8],
    n: usize,
    batch: &'a mut Batch,
}

impl Kernel for Read<'_> {
    type Output = Option<()>;

    #[inline(always)]
    fn run<B: Bits>(self, bits: B) -> Option<()> {
        match self.cursor.last_key.len() {
            1 => self.read::<1, B>(bits),
            2 => self.read::<2, B>(bits),
            _ => self.read::<0, B>(bits),
        }
    }
}

impl Read<'_> {
    /// `W` is the number of words, or 0 if only known at run time.
    #[inline(always)]
    fn read<const W: usize, B: Bits>(self, bits: B) -> Option<()> {
        let Read {
            cursor,
            block,
            n,
            batch,
        } = self;
        let n_words = if W == 0 { cursor.last_key.len() } else { W };
        let keys = block.get(..cursor.keys_end)?;
        let mut values = block.get(cursor.value_at..)?;
        for _ in 0..n {
            let key = &mut cursor.last_key[..n_words];
            cursor.key_at += read_delta(bits, keys.get(cursor.key_at..)?, key)?;
            cursor.last_value = value_at(read_varint(&mut values)?, cursor.last_value);
            batch.keys.extend_from_slice(key);
            batch.ordinals.push(cursor.last_value);
        }
        cursor.value_at = block.len() - values.len();
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::{distance, value_at};

    #[test]
    fn distances_lead_back_to_values_and_are_small_between_neighbours() {
        let values = [0, 1, 2, 5, 1 << 40, u64::MAX, u64::MAX - 1, 1 << 63];
        for before in values {
            for value in values {
                assert_eq!(value_at(distance(value, before), before), value);
            }
        }
        assert_eq!([distance(7, 7), distance(6, 7), distance(8, 7)], [0, 1, 2]);
        assert_eq!(distance(0, u64::MAX), 2);
    }
}
