//! Looking up ascending keys in a run: only the blocks that may have one are read, ahead of their use.

use std::ops::Range;

use super::block::BlockCursor;
use super::run::ValuedRun;
use crate::Error;
use crate::blocks::want;
use crate::run::{Batch, Damage, key};

/// Entries that are decoded at once, and words of wide keys.
const BATCH_ENTRIES: usize = 256;
const BATCH_WORDS: usize = 16 << 10;

impl ValuedRun {
    /// Lowers `values` to the values that the run has for `keys`, which ascend: one of each for each
    /// key. That of a key that the run does not have stays as it is.
    pub fn lower(&self, keys: &[u64], values: &mut [u64]) -> Result<(), Error> {
        let n_words = self.n_words();
        let mut wanted = Vec::new();
        for key in keys.chunks_exact(n_words) {
            for number in self.blocks_of(key) {
                let is_new = |last: &Range<u32>| last.end <= number;
                if wanted.last().is_none_or(is_new) {
                    want(&mut wanted, number);
                }
            }
        }
        if wanted.is_empty() {
            return Ok(());
        }
        let n_at_once = BATCH_ENTRIES.min(BATCH_WORDS / n_words).max(1);
        let mut reader = self.source().read(wanted);
        let mut batch = Batch::default();
        let mut at = 0;
        while at < values.len()
            && let Some((number, payload)) = reader.next()?
        {
            let damage = |what: Damage| what.in_block(self.name(), number);
            let mut cursor = BlockCursor::new(payload, n_words).map_err(damage)?;
            while at < values.len() && !cursor.is_done() {
                batch.clear();
                cursor
                    .read(payload, n_at_once, &mut batch)
                    .map_err(damage)?;
                let entries = batch.keys.chunks_exact(n_words).zip(&batch.ordinals);
                for (found, &value) in entries {
                    while at < values.len() && key(keys, n_words, at) < found {
                        at += 1;
                    }
                    if at < values.len() && key(keys, n_words, at) == found {
                        values[at] = values[at].min(value);
                    }
                }
            }
        }
        Ok(())
    }
}
