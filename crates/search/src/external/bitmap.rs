//! A bit for each candidate of a layer, set by many threads.

use std::sync::atomic::{AtomicU64, Ordering};

/// Bits by number.
#[derive(Debug, Default)]
pub(crate) struct Bitmap {
    words: Vec<AtomicU64>,
}

impl Bitmap {
    /// `n` bits, none of them set.
    pub(crate) fn new(n: u64) -> Self {
        let mut words = Vec::new();
        words.resize_with(n.div_ceil(64) as usize, AtomicU64::default);
        Bitmap { words }
    }

    /// Sets a bit.
    pub(crate) fn set(&self, bit: u64) {
        self.words[(bit / 64) as usize].fetch_or(1 << (bit % 64), Ordering::Relaxed);
    }

    /// Whether a bit is set.
    pub(crate) fn get(&self, bit: u64) -> bool {
        self.words[(bit / 64) as usize].load(Ordering::Relaxed) >> (bit % 64) & 1 == 1
    }
}
