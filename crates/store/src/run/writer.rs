//! Writing a run.
//!
//! Data blocks come first, then the fences (first keys of the data blocks, as plain words, in as
//! many blocks as they need), then a block with the footer, so that a run can be opened from its
//! blocks alone.

use super::encode::BlockBuilder;
use super::file::{Footer, MAGIC, write_index};
use super::wide::{WideBuilder, fence_stride, is_wide};
use crate::{BlockSink, Error, MAX_KEY_WORDS};

/// Keys that are given to the encoder at once, and words of wide ones.
const PIECE_KEYS: usize = 4096;
const WIDE_PIECE_WORDS: usize = 1 << 16;

/// Writes a run of ascending distinct keys.
pub struct RunWriter<S> {
    sink: S,
    n_words: usize,
    builder: Builder,
    n_data_blocks: u32,
    fences: Vec<u64>,
    last_key: Vec<u64>,
    n_keys: u64,
    data_bytes: u64,
}

/// The block under construction.
enum Builder {
    Packed(Box<BlockBuilder>),
    Wide(Box<WideBuilder>),
}

impl Builder {
    fn push(&mut self, keys: &[u64]) {
        match self {
            Builder::Packed(builder) => builder.push(keys),
            Builder::Wide(builder) => builder.push(keys),
        }
    }

    fn next_block(&mut self, to_come: bool) -> Option<&[u8]> {
        match self {
            Builder::Packed(builder) => builder.next_block(to_come),
            Builder::Wide(builder) => builder.next_block(to_come),
        }
    }

    /// Appends the first key of the block that was given last.
    fn add_first_key(&self, fences: &mut Vec<u64>) {
        match self {
            Builder::Packed(builder) => builder.add_first_key(fences),
            Builder::Wide(builder) => fences.extend_from_slice(builder.first_key()),
        }
    }
}

/// A run as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Number of blocks of all kinds, by which a run is opened.
    pub n_blocks: u32,
    /// Keys.
    pub n_keys: u64,
    /// Bytes of all blocks.
    pub data_bytes: u64,
    pub(crate) n_words: usize,
    pub(crate) n_data_blocks: u32,
    pub(crate) fences: Vec<u64>,
    pub(crate) last_key: Vec<u64>,
}

impl<S: BlockSink> RunWriter<S> {
    /// Starts a run of keys of `n_words` words.
    ///
    /// # Panics
    /// If `n_words` is not from 1 to [`MAX_KEY_WORDS`].
    pub fn new(sink: S, n_words: usize) -> Self {
        assert!(
            (1..=MAX_KEY_WORDS).contains(&n_words),
            "the width of states is checked before a search begins"
        );
        let builder = match is_wide(n_words) {
            false => Builder::Packed(Box::new(BlockBuilder::new(n_words))),
            true => Builder::Wide(Box::new(WideBuilder::new(n_words))),
        };
        RunWriter {
            sink,
            n_words,
            builder,
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

    /// Appends keys, ascending and behind all before.
    ///
    /// # Panics
    /// If the last key is not whole.
    pub fn push(&mut self, keys: &[u64]) -> Result<(), Error> {
        assert_eq!(keys.len() % self.n_words, 0, "keys are whole");
        let n_keys = keys.len() / self.n_words;
        debug_assert!(
            self.last_key
                .chunks(self.n_words)
                .chain(keys.chunks(self.n_words))
                .is_sorted_by(|a, b| a < b),
            "keys ascend"
        );
        if n_keys == 0 {
            return Ok(());
        }
        self.last_key.clear();
        self.last_key
            .extend_from_slice(&keys[keys.len() - self.n_words..]);
        self.n_keys += n_keys as u64;
        let piece_keys = match is_wide(self.n_words) {
            false => PIECE_KEYS,
            true => WIDE_PIECE_WORDS.div_ceil(self.n_words),
        };
        for keys in keys.chunks(piece_keys * self.n_words) {
            self.builder.push(keys);
            self.put_blocks(true)?;
        }
        Ok(())
    }

    /// Writes the remaining keys, fences and footer; returns the sink.
    pub fn finish(mut self) -> Result<(S, Written), Error> {
        self.put_blocks(false)?;
        let n_data_blocks = self.n_data_blocks;
        let footer = Footer {
            n_words: self.n_words,
            n_data_blocks,
            n_keys: self.n_keys,
            last_key: self.last_key,
        };
        let (n_blocks, index_bytes) = write_index(&mut self.sink, &footer, &self.fences, MAGIC)?;
        let written = Written {
            n_blocks,
            n_keys: self.n_keys,
            data_bytes: self.data_bytes + index_bytes,
            n_words: self.n_words,
            n_data_blocks,
            fences: self.fences,
            last_key: footer.last_key,
        };
        Ok((self.sink, written))
    }

    fn put_blocks(&mut self, to_come: bool) -> Result<(), Error> {
        let stride = fence_stride(self.n_words);
        loop {
            let Some(block) = self.builder.next_block(to_come) else {
                return Ok(());
            };
            self.data_bytes += block.len() as u64;
            self.sink.put(block)?;
            if self.n_data_blocks.is_multiple_of(stride) {
                self.builder.add_first_key(&mut self.fences);
            }
            self.n_data_blocks += 1;
        }
    }
}
