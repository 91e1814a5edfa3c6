//! The keys of a run in order.

use std::cmp::Ordering;

use super::batch::{Batch, Sorted};
use super::block::View;
use super::damage::Damage;
use super::decode::{Progress, decode};
use super::range::KeyRange;
use super::{MAX_WORDS, Run, Versioned};
use crate::{BlockReader, Error};

/// Keys decoded at once: enough to make calls cheap, few enough to stay in the cache.
const BATCH_KEYS: usize = 1024;

/// The keys of a run in a range, ascending, in the newest layout.
/// It holds one block, a batch of keys, and what its reader reads ahead.
pub struct RunKeys<'a> {
    run: Versioned<'a>,
    range: KeyRange<'a>,
    reader: Box<dyn BlockReader + 'a>,
    block: Vec<u8>,
    number: u32,
    progress: Progress,
    is_done: bool,
    old_keys: Vec<u64>,
}

impl<'a> RunKeys<'a> {
    /// The keys of `run` in `range`, whose bounds are of the newest layout.
    pub fn new(run: Versioned<'a>, range: KeyRange<'a>) -> Self {
        let blocks = run.blocks_in(range);
        let wanted = Some(blocks).filter(|blocks| !blocks.is_empty());
        RunKeys {
            run,
            range,
            is_done: wanted.is_none(),
            reader: run.run.source().read(wanted.into_iter().collect()),
            block: Vec::new(),
            number: 0,
            progress: Progress::default(),
            old_keys: Vec::new(),
        }
    }

    /// Decodes the next keys; false at the end. They may lie before the range.
    fn decode_some(&mut self, batch: &mut Batch) -> Result<bool, Error> {
        let run: &Run = self.run.run;
        if self.block.is_empty() {
            let Some((number, payload)) = self.reader.next()? else {
                return Ok(false);
            };
            self.block.extend_from_slice(payload);
            self.number = number;
            self.progress = Progress::default();
        }
        let view: View = run.view(self.number, &self.block)?;
        let damage = |what: Damage| what.in_block(run.name(), self.number);
        let before = self.progress;
        let keys = match self.run.older {
            None => &mut batch.keys,
            Some(_) => &mut self.old_keys,
        };
        self.progress = decode(&view, before, BATCH_KEYS, keys).map_err(damage)?;
        if view.has_ordinals {
            view.ordinals(before.n_keys, self.progress.n_keys, &mut batch.ordinals);
        }
        if let Some(older) = self.run.older {
            let mut newest = [0; MAX_WORDS];
            let newest = &mut newest[..older.n_words];
            for key in self.old_keys.chunks_exact(run.n_words()) {
                if !older.to_newest.recode(key, newest) {
                    return Err(damage(Damage(
                        "a key that the newest layout cannot express",
                    )));
                }
                batch.keys.extend_from_slice(newest);
            }
            self.old_keys.clear();
        }
        if self.progress.n_groups == view.n_groups {
            self.block.clear();
        }
        Ok(true)
    }
}

impl Sorted for RunKeys<'_> {
    fn n_words(&self) -> usize {
        self.run.n_words()
    }

    fn has_ordinals(&self) -> bool {
        self.run.run.has_ordinals()
    }

    fn next_batch(&mut self, batch: &mut Batch) -> Result<bool, Error> {
        let n_words = self.n_words();
        loop {
            batch.clear();
            if self.is_done {
                return Ok(false);
            }
            if !self.decode_some(batch)? {
                self.is_done = true;
                return Ok(false);
            }
            self.is_done = batch.cut(n_words, self.range);
            if !batch.keys.is_empty() {
                return Ok(true);
            }
        }
    }
}

impl<'a> Versioned<'a> {
    /// Words of a key of the newest layout.
    pub fn n_words(&self) -> usize {
        self.older.map_or(self.run.n_words(), |older| older.n_words)
    }

    /// Compares the first key of a block with a key of the newest layout.
    pub(crate) fn compare_fence(&self, block: u32, key: &[u64]) -> Ordering {
        let mut newest = [0; MAX_WORDS];
        self.newest_fence(block, &mut newest).cmp(key)
    }

    /// The first key of a block, in the newest layout. One that it cannot express is damaged, which
    /// is found when its block is read; here it counts as zero.
    pub(crate) fn newest_fence<'b>(
        &'b self,
        block: u32,
        newest: &'b mut [u64; MAX_WORDS],
    ) -> &'b [u64] {
        let fence = self.run.fence(block);
        let Some(older) = self.older else {
            return fence;
        };
        let newest = &mut newest[..older.n_words];
        if !older.to_newest.recode(fence, newest) {
            newest.fill(0);
        }
        newest
    }
}
