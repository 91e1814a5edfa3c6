//! The keys of a run in order.

use std::cmp::Ordering;

use super::batch::key;
use super::damage::Damage;
use super::decode::Progress;
use super::file::partition_point;
use super::range::KeyRange;
use super::{Older, Run, Versioned, batch_keys};
use crate::{BlockReader, Error};

/// The keys of a run in a range, ascending, in the newest layout.
/// It holds no more than its reader, which has the current block and those read ahead.
pub struct RunKeys<'a> {
    run: Versioned<'a>,
    range: KeyRange<'a>,
    reader: Box<dyn BlockReader + 'a>,
    /// How far the reader's last block is decoded; `None` if it is finished, or there is none yet.
    progress: Option<Progress>,
    is_done: bool,
    old_keys: Vec<u64>,
    /// Keys that are decoded at once.
    batch_keys: usize,
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
            batch_keys: batch_keys(run.run.n_words()),
        }
    }

    /// Decodes up to `n` keys at once, if that is less than usual.
    pub(super) fn limit_batch(&mut self, n: usize) {
        self.batch_keys = self.batch_keys.min(n);
    }

    /// Replaces the content of `keys` by the next keys; false, and no keys, at the end.
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
        let damage = |what: Damage| what.in_block(run.name(), number);
        let decoded = match self.run.older {
            None => &mut *keys,
            Some(_) => &mut self.old_keys,
        };
        self.progress = run.decode(number, payload, progress, self.batch_keys, decoded)?;
        if let Some(older) = self.run.older {
            let mut newest = vec![0; older.n_words];
            for key in self.old_keys.chunks_exact(run.n_words()) {
                if !older.to_newest.recode(key, &mut newest) {
                    return Err(damage(Damage(
                        "a key that the newest layout cannot express",
                    )));
                }
                keys.extend_from_slice(&newest);
            }
            self.old_keys.clear();
        }
        Ok(true)
    }
}

/// The newest layout cannot express a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Inexpressible;

/// Drops keys outside `range`; returns whether any came after it.
fn cut(keys: &mut Vec<u64>, n_words: usize, range: KeyRange) -> bool {
    let ends = keys.len() >= n_words && range.ends_before(&keys[keys.len() - n_words..]);
    // Mostly nothing is dropped.
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

    /// Compares a fence with a key of the newest layout.
    pub(crate) fn compare_fence(&self, fence: u32, key: &[u64]) -> Ordering {
        self.newest_fence(fence, &mut Vec::new()).cmp(key)
    }

    /// A fence, in the newest layout. One that it cannot express is damaged, which is found when its
    /// block is read; here it counts as zero. `newest` is scratch.
    pub(crate) fn newest_fence<'b>(&'b self, fence: u32, newest: &'b mut Vec<u64>) -> &'b [u64] {
        let fence = self.run.fence(fence);
        match self.older {
            None => fence,
            Some(older) => {
                if !older.recode(fence, newest) {
                    newest.fill(0);
                }
                newest
            }
        }
    }

    /// The last key in the newest layout, `None` if the run is empty. One that it cannot express is
    /// damage, which is found when its block is read. `newest` is scratch.
    pub(crate) fn newest_last<'b>(
        &'b self,
        newest: &'b mut Vec<u64>,
    ) -> Result<Option<&'b [u64]>, Inexpressible> {
        let Some(last) = self.run.last_key() else {
            return Ok(None);
        };
        match self.older {
            None => Ok(Some(last)),
            Some(older) => match older.recode(last, newest) {
                true => Ok(Some(newest)),
                false => Err(Inexpressible),
            },
        }
    }
}

impl Older<'_> {
    /// Makes `newest` the key in the newest layout; returns whether that can express it.
    fn recode(&self, key: &[u64], newest: &mut Vec<u64>) -> bool {
        newest.resize(self.n_words, 0);
        self.to_newest.recode(key, newest)
    }
}
