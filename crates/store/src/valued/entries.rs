//! The entries of a run in order.

use super::block::BlockCursor;
use super::run::ValuedRun;
use crate::run::{Batch, Damage, KeyRange, Older, Sorted, key};
use crate::{BlockReader, Error};

/// Entries that are decoded at once, and words of wide keys.
const BATCH_ENTRIES: usize = 1024;
const BATCH_WORDS: usize = 16 << 10;

/// The entries of a run in a range, ascending, in the newest layout. It holds no more than its reader
/// and what it is asked for.
pub struct Entries<'a> {
    run: &'a ValuedRun,
    range: KeyRange<'a>,
    older: Option<Older<'a>>,
    reader: Box<dyn BlockReader + 'a>,
    /// How far the reader's last block is decoded; `None` if it is finished, or there is none yet.
    cursor: Option<BlockCursor>,
    is_done: bool,
    batch_entries: usize,
    /// Scratch for keys of the older layout.
    old: Batch,
    /// The last key returned, to find out that recoded keys ascend.
    last: Vec<u64>,
}

impl<'a> Entries<'a> {
    pub(super) fn new(run: &'a ValuedRun, range: KeyRange<'a>, older: Option<Older<'a>>) -> Self {
        // A bound that the older layout cannot express excludes no block.
        let recoded = |bound: Option<&[u64]>| {
            let (bound, older) = (bound?, older.as_ref()?);
            let mut old = vec![0; run.n_words()];
            older.from_newest.recode(bound, &mut old).then_some(old)
        };
        let blocks = match older {
            None => run.blocks_in(range),
            Some(_) => {
                let (from, to) = (recoded(range.from), recoded(range.to));
                run.blocks_in(KeyRange {
                    from: from.as_deref(),
                    to: to.as_deref(),
                })
            }
        };
        let wanted = Some(blocks).filter(|blocks| !blocks.is_empty());
        Entries {
            run,
            range,
            older,
            is_done: wanted.is_none(),
            reader: run.source().read(wanted.into_iter().collect()),
            cursor: None,
            batch_entries: BATCH_ENTRIES.min(BATCH_WORDS / run.n_words()).max(1),
            old: Batch::default(),
            last: Vec::new(),
        }
    }

    /// Appends the next entries, which may lie outside the range; false at the end.
    fn decode_some(&mut self, batch: &mut Batch) -> Result<bool, Error> {
        let read = match self.cursor {
            Some(_) => self.reader.last(),
            None => self.reader.next()?,
        };
        let Some((number, payload)) = read else {
            return Ok(false);
        };
        let damage = |what: Damage| what.in_block(self.run.name(), number);
        let cursor = match &mut self.cursor {
            Some(cursor) => cursor,
            none => none.insert(BlockCursor::new(payload, self.run.n_words()).map_err(damage)?),
        };
        match self.older {
            None => cursor
                .read(payload, self.batch_entries, batch)
                .map_err(damage)?,
            Some(older) => {
                self.old.clear();
                cursor
                    .read(payload, self.batch_entries, &mut self.old)
                    .map_err(damage)?;
                for key in self.old.keys.chunks_exact(self.run.n_words()) {
                    let end = batch.keys.len();
                    batch.keys.resize(end + older.n_words, 0);
                    if !older.to_newest.recode(key, &mut batch.keys[end..]) {
                        return Err(damage(Damage(
                            "a key that the newest layout cannot express",
                        )));
                    }
                }
                batch.ordinals.extend_from_slice(&self.old.ordinals);
            }
        }
        if cursor.is_done() {
            self.cursor = None;
        }
        let n_words = self.n_words();
        let last = self.last.chunks_exact(n_words);
        if !last
            .chain(batch.keys.chunks_exact(n_words))
            .is_sorted_by(|a, b| a < b)
        {
            return Err(damage(Damage("keys that do not ascend")));
        }
        if let Some(last) = batch.keys.rchunks_exact(n_words).next() {
            self.last.clear();
            self.last.extend_from_slice(last);
        }
        Ok(true)
    }

    /// Drops entries outside the range; returns whether any came after it.
    fn cut(&self, batch: &mut Batch) -> bool {
        let n_words = self.n_words();
        let n = batch.ordinals.len();
        let key_at = |i: usize| key(&batch.keys, n_words, i);
        let is_last_beyond = n > 0 && self.range.ends_before(key_at(n - 1));
        let end = match is_last_beyond {
            true => first_of(n, |i| self.range.ends_before(key_at(i))),
            false => n,
        };
        let start = match n > 0 && self.range.starts_after(key_at(0)) {
            true => first_of(end, |i| !self.range.starts_after(key_at(i))),
            false => 0,
        };
        batch.keys.truncate(end * n_words);
        batch.ordinals.truncate(end);
        batch.keys.drain(..start * n_words);
        batch.ordinals.drain(..start);
        is_last_beyond
    }
}

/// The first of `0..n` for which `is_behind` holds, as it does for all that follow; else `n`.
fn first_of(n: usize, is_behind: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, n);
    while low < high {
        let middle = low + (high - low) / 2;
        match is_behind(middle) {
            true => high = middle,
            false => low = middle + 1,
        }
    }
    low
}

impl Sorted for Entries<'_> {
    fn n_words(&self) -> usize {
        self.older.map_or(self.run.n_words(), |older| older.n_words)
    }

    fn next_batch(&mut self, batch: &mut Batch) -> Result<bool, Error> {
        batch.clear();
        while batch.ordinals.is_empty() {
            if self.is_done || !self.decode_some(batch)? {
                self.is_done = true;
                batch.clear();
                return Ok(false);
            }
            self.is_done = self.cut(batch);
        }
        Ok(true)
    }
}
