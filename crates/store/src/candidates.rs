//! Candidates of a rank as bytes, and a bit for each of them.
//!
//! A *batch* is what comes together: in front the number of candidates and of bytes, then their
//! delta-coded keys, then their parents. Batches lie one after the other in a piece of a log.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Parent, decode_parent, encode_parent};

/// In front of each batch: number of candidates, number of bytes.
pub const BATCH_HEAD: usize = 8;

/// The batches of a piece, each with its number of candidates; `None` where the piece ends within one.
pub fn batches(mut piece: &[u8]) -> impl Iterator<Item = Option<(usize, &[u8])>> {
    std::iter::from_fn(move || {
        if piece.is_empty() {
            return None;
        }
        let split = |piece: &mut &'_ [u8]| -> Option<(usize, usize)> {
            let (len, rest) = piece.split_first_chunk::<4>()?;
            let (n_bytes, rest) = rest.split_first_chunk::<4>()?;
            let found = (u32::from_le_bytes(*len), u32::from_le_bytes(*n_bytes));
            let n_bytes = found.1 as usize;
            (rest.len() >= n_bytes).then_some((found.0 as usize, n_bytes))
        };
        let Some((len, n_bytes)) = split(&mut piece) else {
            piece = &[];
            return Some(None);
        };
        let (batch, rest) = piece[BATCH_HEAD..].split_at(n_bytes);
        piece = rest;
        Some(Some((len, batch)))
    })
}

/// Appends a batch of `len` candidates to a piece.
pub fn write_batch(batch: &[u8], len: usize, piece: &mut Vec<u8>) {
    piece.extend((len as u32).to_le_bytes());
    piece.extend((batch.len() as u32).to_le_bytes());
    piece.extend_from_slice(batch);
}

/// Writes parents behind the keys of a batch.
pub fn write_parents(parents: impl Iterator<Item = Parent>, batch: &mut Vec<u8>) {
    let mut last = 0;
    for parent in parents {
        encode_parent(batch, last, parent);
        last = parent.ordinal;
    }
}

/// Reads parents one after the other, while there are some.
pub fn read_parents(mut bytes: &[u8]) -> impl Iterator<Item = Parent> {
    let mut last = 0;
    std::iter::from_fn(move || {
        let parent = decode_parent(&mut bytes, last)?;
        last = parent.ordinal;
        Some(parent)
    })
}

/// A bit for each candidate, set by many threads.
#[derive(Debug, Default)]
pub struct Bitmap {
    words: Vec<AtomicU64>,
}

impl Bitmap {
    /// `n` bits, none of them set.
    pub fn new(n: u64) -> Self {
        let mut words = Vec::new();
        words.resize_with(n.div_ceil(64) as usize, AtomicU64::default);
        Bitmap { words }
    }

    /// Number of bits, rounded up to whole words.
    pub fn len(&self) -> u64 {
        64 * self.words.len() as u64
    }

    /// Whether there is no bit.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Sets a bit.
    pub fn set(&self, bit: u64) {
        self.words[(bit / 64) as usize].fetch_or(1 << (bit % 64), Ordering::Relaxed);
    }

    /// Whether a bit is set.
    pub fn get(&self, bit: u64) -> bool {
        self.words[(bit / 64) as usize].load(Ordering::Relaxed) >> (bit % 64) & 1 == 1
    }
}
