//! Writing a run.
//!
//! Data blocks come first, then the fences (first keys of the data blocks, as plain words, in as
//! many blocks as they need), then a block with the footer, so that a run can be opened from its
//! blocks alone.

use super::encode::BlockBuilder;
use super::file::{FENCE_WORDS, Footer};
use crate::{BlockSink, Error};

/// Keys that are handed to the encoder at once.
const PIECE_KEYS: usize = 4096;

/// Makes a run of ascending distinct keys.
pub struct RunWriter<S> {
    sink: S,
    n_words: usize,
    builder: BlockBuilder,
    fences: Vec<u64>,
    last_key: Vec<u64>,
    n_keys: u64,
    data_bytes: u64,
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Blocks of all kinds: with them a run is opened again.
    pub n_blocks: u32,
    /// Keys.
    pub n_keys: u64,
    /// Bytes of all blocks.
    pub data_bytes: u64,
    pub(crate) n_words: usize,
    pub(crate) fences: Vec<u64>,
    pub(crate) last_key: Vec<u64>,
}

impl<S: BlockSink> RunWriter<S> {
    /// Begins a run of keys of `n_words` words.
    ///
    /// # Panics
    /// If `n_words` is not from 1 to [`MAX_WORDS`](super::MAX_WORDS).
    pub fn new(sink: S, n_words: usize) -> Self {
        RunWriter {
            sink,
            n_words,
            builder: BlockBuilder::new(n_words),
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
        for keys in keys.chunks(PIECE_KEYS * self.n_words) {
            self.builder.push(keys);
            self.put_blocks(true)?;
        }
        Ok(())
    }

    /// Writes what is left, fences and footer; gives the sink back.
    pub fn finish(mut self) -> Result<(S, Written), Error> {
        self.put_blocks(false)?;
        let n_data_blocks = self.fences.len() / self.n_words;
        let mut n_blocks = n_data_blocks as u64 + 1;
        let mut payload = Vec::new();
        for words in self.fences.chunks(FENCE_WORDS) {
            payload.clear();
            payload.extend(words.iter().flat_map(|word| word.to_le_bytes()));
            self.sink.put(&payload)?;
            self.data_bytes += payload.len() as u64;
            n_blocks += 1;
        }
        let n_blocks = u32::try_from(n_blocks).expect("2^32 blocks are 256 TiB");
        let footer = Footer {
            n_words: self.n_words,
            n_data_blocks: n_data_blocks as u32,
            n_keys: self.n_keys,
            last_key: self.last_key,
        };
        let payload = footer.to_bytes();
        self.sink.put(&payload)?;
        let written = Written {
            n_blocks,
            n_keys: self.n_keys,
            data_bytes: self.data_bytes + payload.len() as u64,
            n_words: self.n_words,
            fences: self.fences,
            last_key: footer.last_key,
        };
        Ok((self.sink, written))
    }

    fn put_blocks(&mut self, to_come: bool) -> Result<(), Error> {
        while let Some(block) = self.builder.next_block(to_come) {
            self.data_bytes += block.len() as u64;
            self.sink.put(block)?;
            let first = self.builder.first_key();
            self.fences.extend_from_slice(&first[..self.n_words]);
        }
        Ok(())
    }
}
