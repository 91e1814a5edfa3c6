//! The words that occur at one position of states, and their ids.
//!
//! Ids are consecutive, in the order of the words' first occurrence. A word is found by an
//! open-addressing index of ids, at most half full, so an entry of a large dictionary takes 16 to
//! 32 bytes.

use super::{MAX_ENTRIES, SMALL_ENTRIES};

/// The words of one position.
#[derive(Debug, Default)]
pub(super) struct Dictionary {
    /// By id.
    words: Vec<u64>,
    /// Ids plus one; zero is empty. A power of two.
    index: Vec<u32>,
    /// The first word, from which others differ.
    base: Option<u64>,
    /// Bits in which some word differs from the first.
    varying: u64,
    /// Whether a word got no id; then no other gets one.
    is_closed: bool,
}

impl Dictionary {
    /// Number of ids given.
    pub(super) fn len(&self) -> usize {
        self.words.len()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// The first word, or zero.
    pub(super) fn base(&self) -> u64 {
        self.base.unwrap_or(0)
    }

    /// Bits in which some word differs from the first.
    pub(super) fn varying(&self) -> u64 {
        self.varying
    }

    /// The words with ids, by id.
    pub(super) fn words(&self) -> &[u64] {
        &self.words
    }

    #[inline]
    pub(super) fn word(&self, id: u64) -> u64 {
        self.words[id as usize]
    }

    /// The id of a word that has one.
    #[inline]
    pub(super) fn find(&self, word: u64) -> Option<u64> {
        let mask = self.index.len().wrapping_sub(1);
        let mut at = hash(word) as usize & mask;
        loop {
            // Beyond the end only where there is no index yet.
            let id = self.index.get(at)?.checked_sub(1)?;
            if self.words[id as usize] == word {
                return Some(u64::from(id));
            }
            at = (at + 1) & mask;
        }
    }

    /// Learns a word: it gets an id if it has none and there is room, as there always is for
    /// `small_entries`.
    pub(super) fn learn(&mut self, word: u64, has_room: bool, small_entries: usize) {
        self.varying |= word ^ *self.base.get_or_insert(word);
        // Another thread may have been first.
        if self.is_closed || self.find(word).is_some() {
            return;
        }
        let n = self.words.len();
        if n >= MAX_ENTRIES || (n >= small_entries && !has_room) {
            self.is_closed = true;
            return;
        }
        self.add(word);
    }

    /// Gives a word the next id.
    pub(super) fn add(&mut self, word: u64) {
        self.varying |= word ^ *self.base.get_or_insert(word);
        self.words.push(word);
        let n = self.words.len();
        // A small index is nearly empty, so that a word is found at the first probe.
        let wanted = if n <= 4 * SMALL_ENTRIES { 8 * n } else { 2 * n };
        if wanted > self.index.len() {
            self.index = vec![0; wanted.next_power_of_two()];
            for id in 0..self.words.len() {
                self.place(id);
            }
        } else {
            self.place(self.words.len() - 1);
        }
    }

    /// Closes the dictionary, with the base and the varying bits of another.
    pub(super) fn close(&mut self, base: u64, varying: u64) {
        self.varying |= varying | (base ^ *self.base.get_or_insert(base));
        self.is_closed = true;
    }

    /// Drops all ids.
    pub(super) fn forget_words(&mut self) {
        self.words = Vec::new();
        self.index = Vec::new();
    }

    /// Memory held, in bytes, itself included.
    pub(super) fn data_bytes(&self) -> u64 {
        (size_of::<Self>() + self.words.capacity() * 8 + self.index.len() * 4) as u64
    }

    fn place(&mut self, id: usize) {
        let mask = self.index.len() - 1;
        let mut at = hash(self.words[id]) as usize & mask;
        while self.index[at] != 0 {
            at = (at + 1) & mask;
        }
        self.index[at] = id as u32 + 1;
    }
}

#[inline]
fn hash(word: u64) -> u64 {
    let product = (word ^ (word >> 29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    product ^ (product >> 32)
}
