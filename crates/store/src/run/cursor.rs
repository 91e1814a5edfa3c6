//! The keys of a run in order.

use std::cmp::Ordering;

use super::batch::key;
use super::block::View;
use super::damage::Damage;
use super::decode::{Progress, decode};
use super::file::partition_point;
use super::range::KeyRange;
use super::{MAX_WORDS, Run, Versioned};
use crate::{BlockReader, Error};

/// Keys decoded at once: enough to make calls cheap, few enough to stay in the cache.
const BATCH_KEYS: usize = 1024;

/// The keys of a run in a range, ascending, in the newest layout.
/// It holds no more than its reader, which has the block and what is read ahead.
pub struct RunKeys<'a> {
    run: Versioned<'a>,
    range: KeyRange<'a>,
    reader: Box<dyn BlockReader + 'a>,
    /// How far the reader's last block is decoded; `None` if it is done with, or there is none yet.
    progress: Option<Progress>,
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
            progress: None,
            old_keys: Vec::new(),
        }
    }

    /// Replaces what is in `keys` by the next keys; false, and no keys, at the end.
    pub fn next(&mut self, keys: &mut Vec<u64>) -> Result<bool, Error> {
        keys.clear();
        while keys.is_empty() {
            if self.is_done || !self.decode_some(keys)? {
                self.is_done = true;
                return Ok(false);
            }
            self.is_done = cut(keys, self.run.n_words(), self.range);
        }
        Ok(true)
    }

    /// Appends the next keys; false at the end. They may lie outside the range.
    fn decode_some(&mut self, keys: &mut Vec<u64>) -> Result<bool, Error> {
        let run: &Run = self.run.run;
        let (read, progress) = match self.progress {
            Some(progress) => (self.reader.last(), progress),
            None => (self.reader.next()?, Progress::default()),
        };
        let Some((number, payload)) = read else {
            return Ok(false);
        };
        let view: View = run.view(number, payload)?;
        let damage = |what: Damage| what.in_block(run.name(), number);
        let decoded = match self.run.older {
            None => &mut *keys,
            Some(_) => &mut self.old_keys,
        };
        let progress = decode(&view, progress, BATCH_KEYS, decoded).map_err(damage)?;
        self.progress = Some(progress).filter(|progress| progress.n_groups < view.n_groups);
        if let Some(older) = self.run.older {
            let mut newest = [0; MAX_WORDS];
            let newest = &mut newest[..older.n_words];
            for key in self.old_keys.chunks_exact(run.n_words()) {
                if !older.to_newest.recode(key, newest) {
                    return Err(damage(Damage(
                        "a key that the newest layout cannot express",
                    )));
                }
                keys.extend_from_slice(newest);
            }
            self.old_keys.clear();
        }
        Ok(true)
    }
}

/// Drops what is not in `range`; whether something came after it.
fn cut(keys: &mut Vec<u64>, n_words: usize, range: KeyRange) -> bool {
    let ends = keys.len() >= n_words && range.ends_before(&keys[keys.len() - n_words..]);
    // Of most keys nothing is dropped.
    if ends {
        let end = partition_point(0, keys.len() / n_words, |i| {
            !range.ends_before(key(keys, n_words, i))
        });
        keys.truncate(end * n_words);
    }
    if keys.len() >= n_words && range.starts_after(&keys[..n_words]) {
        let start = partition_point(0, keys.len() / n_words, |i| {
            range.starts_after(key(keys, n_words, i))
        });
        keys.drain(..start * n_words);
    }
    ends
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
        let zero = &[0; MAX_WORDS][..self.n_words()];
        self.newest(fence, newest).unwrap_or(zero)
    }

    /// The last key in the newest layout, if there is one that it can express.
    pub(crate) fn newest_last<'b>(&'b self, newest: &'b mut [u64; MAX_WORDS]) -> Option<&'b [u64]> {
        self.newest(self.run.last_key()?, newest)
    }

    /// A key of the run in the newest layout, if that can express it.
    fn newest<'b>(&self, key: &'b [u64], newest: &'b mut [u64; MAX_WORDS]) -> Option<&'b [u64]> {
        let Some(older) = self.older else {
            return Some(key);
        };
        let newest = &mut newest[..older.n_words];
        older.to_newest.recode(key, newest).then_some(newest)
    }
}
