//! Ascending keys, some at a time.

use crate::Error;

/// Ascending distinct keys and, where they have some, their ordinals.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// The words of all keys, one key after the other.
    pub keys: Vec<u64>,
    /// An ordinal for each key, or none at all.
    pub ordinals: Vec<u64>,
}

impl Batch {
    /// Removes the keys that are marked.
    pub(crate) fn drop_marked(&mut self, n_words: usize, marks: &[bool]) {
        let mut n_left = 0;
        for (i, _) in marks.iter().enumerate().filter(|(_, mark)| !**mark) {
            if n_left < i {
                self.keys
                    .copy_within(i * n_words..(i + 1) * n_words, n_left * n_words);
                if !self.ordinals.is_empty() {
                    self.ordinals[n_left] = self.ordinals[i];
                }
            }
            n_left += 1;
        }
        self.keys.truncate(n_left * n_words);
        self.ordinals.truncate(n_left);
    }

    /// Empties it; keeps the memory.
    pub fn clear(&mut self) {
        self.keys.clear();
        self.ordinals.clear();
    }
}

/// The `i`-th of `keys`.
#[inline(always)]
pub(crate) fn key(keys: &[u64], n_words: usize, i: usize) -> &[u64] {
    &keys[i * n_words..(i + 1) * n_words]
}

/// A source of ascending distinct keys, some at a time.
pub trait Sorted: Send {
    /// Words of a key.
    fn n_words(&self) -> usize;
    /// Replaces the content of `batch` by the next keys; false, and an empty batch, at the end.
    fn next_batch(&mut self, batch: &mut Batch) -> Result<bool, Error>;
}
