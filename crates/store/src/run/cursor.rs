//! The keys of a run in order.

use std::cmp::Ordering;

use super::batch::{Batch, Sorted};
use super::block::View;
use super::damage::Damage;
use super::decode::{Progress, decode};
use super::file::{Asked, partition_point};
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
        let n_blocks = run.run.n_data_blocks() as usize;
        // The last block that begins at or before `from` may have it.
        let first = range.from.map_or(0, |from| {
            partition_point(0, n_blocks, |block| {
                run.compare_fence(block as u32, from) != Ordering::Greater
            })
            .saturating_sub(1)
        });
        let end = range.to.map_or(n_blocks, |to| {
            partition_point(first, n_blocks, |block| {
                run.compare_fence(block as u32, to) == Ordering::Less
            })
        });
        let wanted = Some(first as u32..end as u32).filter(|wanted| !wanted.is_empty());
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
    fn compare_fence(&self, block: u32, key: &[u64]) -> Ordering {
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

    /// Begins to read the blocks into which `candidates`, of the newest layout, fall.
    pub fn ask(&self, candidates: &[u64]) -> AskedVersioned<'a> {
        let Some(older) = self.older else {
            return AskedVersioned {
                asked: self.run.ask(candidates),
                recoded: None,
            };
        };
        let (mut keys, mut places) = (Vec::new(), Vec::new());
        let mut recoded = [0; MAX_WORDS];
        let recoded = &mut recoded[..self.run.n_words()];
        for (place, key) in candidates.chunks_exact(older.n_words).enumerate() {
            if older.from_newest.recode(key, recoded) {
                keys.extend_from_slice(recoded);
                places.push(place);
            }
        }
        AskedVersioned {
            asked: self.run.ask(&keys),
            recoded: Some((keys, places)),
        }
    }
}

/// A run of any layout whose blocks for some candidates are on their way.
pub struct AskedVersioned<'a> {
    asked: Asked<'a>,
    /// The candidates in the layout of the run, and the places of those that it can express.
    recoded: Option<(Vec<u64>, Vec<usize>)>,
}

impl AskedVersioned<'_> {
    /// Marks in `present` which of the candidates that were asked for are in the run. What is
    /// marked already stays so.
    ///
    /// # Panics
    /// If there are not as many marks as candidates.
    pub fn probe(self, candidates: &[u64], present: &mut [bool]) -> Result<(), Error> {
        let Some((keys, places)) = self.recoded else {
            return self.asked.probe(candidates, present);
        };
        let mut marks = vec![false; places.len()];
        self.asked.probe(&keys, &mut marks)?;
        for (place, mark) in places.into_iter().zip(marks) {
            present[place] |= mark;
        }
        Ok(())
    }
}
