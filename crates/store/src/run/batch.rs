//! Ascending keys, some at a time.

use super::file::partition_point;
use super::range::KeyRange;
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
    /// Takes out the keys that are marked.
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

    /// Empties it; memory is kept.
    pub fn clear(&mut self) {
        self.keys.clear();
        self.ordinals.clear();
    }

    /// Drops what is not in `range`; whether something came after it.
    pub(crate) fn cut(&mut self, n_words: usize, range: KeyRange) -> bool {
        let n_keys = self.keys.len() / n_words;
        let ends = n_keys > 0 && range.ends_before(&self.keys[(n_keys - 1) * n_words..]);
        // Of most batches nothing is dropped.
        if ends {
            let end = partition_point(0, n_keys, |i| {
                !range.ends_before(key(&self.keys, n_words, i))
            });
            self.keys.truncate(end * n_words);
            self.ordinals.truncate(end);
        }
        if !self.keys.is_empty() && range.starts_after(&self.keys[..n_words]) {
            let n_keys = self.keys.len() / n_words;
            let start = partition_point(0, n_keys, |i| {
                range.starts_after(key(&self.keys, n_words, i))
            });
            self.keys.drain(..start * n_words);
            self.ordinals.drain(..start.min(self.ordinals.len()));
        }
        ends
    }
}

/// The `i`-th of `keys`.
#[inline(always)]
pub(crate) fn key(keys: &[u64], n_words: usize, i: usize) -> &[u64] {
    &keys[i * n_words..(i + 1) * n_words]
}

/// Something that gives ascending distinct keys, some at a time.
pub trait Sorted: Send {
    /// Words of a key.
    fn n_words(&self) -> usize;
    /// Whether keys come with ordinals.
    fn has_ordinals(&self) -> bool;
    /// Replaces what is in `batch` by the next keys; false, and an empty batch, at the end.
    fn next_batch(&mut self, batch: &mut Batch) -> Result<bool, Error>;
}
