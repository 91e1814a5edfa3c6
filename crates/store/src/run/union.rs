//! All keys of several runs.

use super::batch::{Batch, Sorted};
use super::merge::Merge;
use super::row::Row;
use super::{KeyRange, Versioned};
use crate::Error;

/// The keys of several runs in a range, in the newest layout, ascending and equal ones once.
pub struct Union<'a> {
    n_words: usize,
    merge: Merge<'a>,
}

impl<'a> Union<'a> {
    /// Runs of a tier should come one after the other. Keys of the newest layout have `n_words`
    /// words.
    ///
    /// # Panics
    /// If those of a run have another number of words.
    pub fn new(n_words: usize, runs: &[Versioned<'a>], range: KeyRange<'a>) -> Self {
        assert!(
            runs.iter().all(|run| run.n_words() == n_words),
            "keys that are merged have one length"
        );
        Union {
            n_words,
            merge: Merge::new(n_words, Row::of_runs(runs, range)),
        }
    }

    /// The next keys, up to some thousand; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<&[u64]>, Error> {
        self.merge.next()
    }
}

impl Sorted for Union<'_> {
    fn n_words(&self) -> usize {
        self.n_words
    }

    fn next_batch(&mut self, batch: &mut Batch) -> Result<bool, Error> {
        batch.clear();
        let keys = self.merge.next()?;
        batch.keys.extend_from_slice(keys.unwrap_or_default());
        Ok(keys.is_some())
    }
}
