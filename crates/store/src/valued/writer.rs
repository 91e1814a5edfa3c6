//! Writing a run with values.
//!
//! Data blocks come first, then fences and footer, as in a run of keys alone.

use super::block::BlockBuilder;
use super::run::MAGIC;
use crate::run::{Batch, Footer, Sorted, fence_stride, write_index};
use crate::{BlockSink, Error, MAX_KEY_WORDS};

/// Writes a run of ascending distinct keys with values.
pub struct ValuedWriter<S> {
    sink: S,
    n_words: usize,
    block: BlockBuilder,
    n_data_blocks: u32,
    fences: Vec<u64>,
    last_key: Vec<u64>,
    n_keys: u64,
    data_bytes: u64,
}

/// A run as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenValues {
    /// Number of blocks of all kinds, by which a run is opened.
    pub n_blocks: u32,
    /// Keys.
    pub n_keys: u64,
    /// Bytes of all blocks.
    pub data_bytes: u64,
    pub(super) n_words: usize,
    pub(super) n_data_blocks: u32,
    pub(super) fences: Vec<u64>,
    pub(super) last_key: Vec<u64>,
}

impl<S: BlockSink> ValuedWriter<S> {
    /// Starts a run of keys of `n_words` words.
    ///
    /// # Panics
    /// If `n_words` is not from 1 to [`MAX_KEY_WORDS`].
    pub fn new(sink: S, n_words: usize) -> Self {
        assert!(
            (1..=MAX_KEY_WORDS).contains(&n_words),
            "the width of keys is checked before a run is written"
        );
        ValuedWriter {
            sink,
            n_words,
            block: BlockBuilder::new(n_words),
            n_data_blocks: 0,
            fences: Vec::new(),
            last_key: Vec::new(),
            n_keys: 0,
            data_bytes: 0,
        }
    }

    /// Words of a key.
    pub fn n_words(&self) -> usize {
        self.n_words
    }

    /// Appends keys, ascending and behind all before, each with its value.
    ///
    /// # Panics
    /// If there are not as many values as keys.
    pub fn push(&mut self, keys: &[u64], values: &[u64]) -> Result<(), Error> {
        let n_words = self.n_words;
        assert_eq!(keys.len(), values.len() * n_words, "a value for each key");
        debug_assert!(
            self.last_key
                .chunks(n_words)
                .chain(keys.chunks(n_words))
                .is_sorted_by(|a, b| a < b),
            "keys ascend"
        );
        if values.is_empty() {
            return Ok(());
        }
        let mut at = 0;
        while at < values.len() {
            at += self.block.append(&keys[at * n_words..], &values[at..]);
            if at < values.len() {
                self.end_block()?;
            }
        }
        self.last_key.clear();
        self.last_key
            .extend_from_slice(&keys[keys.len() - n_words..]);
        self.n_keys += values.len() as u64;
        Ok(())
    }

    /// Appends all entries of `sorted`.
    pub fn push_all(&mut self, sorted: &mut dyn Sorted) -> Result<(), Error> {
        let mut batch = Batch::default();
        while sorted.next_batch(&mut batch)? {
            self.push(&batch.keys, &batch.ordinals)?;
        }
        Ok(())
    }

    /// Writes the remaining entries, fences and footer; returns the sink.
    pub fn finish(mut self) -> Result<(S, WrittenValues), Error> {
        if !self.block.is_empty() {
            self.end_block()?;
        }
        let footer = Footer {
            n_words: self.n_words,
            n_data_blocks: self.n_data_blocks,
            n_keys: self.n_keys,
            last_key: self.last_key,
        };
        let (n_blocks, index_bytes) = write_index(&mut self.sink, &footer, &self.fences, MAGIC)?;
        let written = WrittenValues {
            n_blocks,
            n_keys: self.n_keys,
            data_bytes: self.data_bytes + index_bytes,
            n_words: self.n_words,
            n_data_blocks: self.n_data_blocks,
            fences: self.fences,
            last_key: footer.last_key,
        };
        Ok((self.sink, written))
    }

    fn end_block(&mut self) -> Result<(), Error> {
        let stride = fence_stride(self.n_words);
        if self.n_data_blocks.is_multiple_of(stride) {
            self.fences.extend_from_slice(self.block.first_key());
        }
        self.n_data_blocks += 1;
        let (sink, data_bytes) = (&mut self.sink, &mut self.data_bytes);
        self.block.finish(|bytes| {
            *data_bytes += bytes.len() as u64;
            sink.put(bytes)
        })
    }
}
