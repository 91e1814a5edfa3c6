//! Merging runs with values: each key once, with the least of its values.

use std::cmp::Ordering;

use crate::Error;
use crate::run::{Batch, Sorted, key};

/// Entries that are merged at once, and words of wide keys.
const BATCH_ENTRIES: usize = 1024;
const BATCH_WORDS: usize = 16 << 10;

/// The entries of several sources. A key that several have comes once, with its least value.
pub struct LeastMerge<'a> {
    n_words: usize,
    inputs: Vec<Input<'a>>,
    /// The inputs that are not at their end, as a heap by their next keys.
    heap: Vec<usize>,
    has_begun: bool,
}

/// A source, and some of its entries.
struct Input<'a> {
    source: Box<dyn Sorted + 'a>,
    batch: Batch,
    /// The next entry of the batch.
    at: usize,
}

impl Input<'_> {
    fn key(&self, n_words: usize) -> &[u64] {
        key(&self.batch.keys, n_words, self.at)
    }

    /// Takes the next entries where those at hand are consumed; false at the end.
    fn fill(&mut self) -> Result<bool, Error> {
        if self.at < self.batch.ordinals.len() {
            return Ok(true);
        }
        self.at = 0;
        self.source.next_batch(&mut self.batch)
    }
}

impl<'a> LeastMerge<'a> {
    /// Merges `sources`, whose keys all have `n_words` words.
    pub fn new(n_words: usize, sources: Vec<Box<dyn Sorted + 'a>>) -> Self {
        let input = |source| Input {
            source,
            batch: Batch::default(),
            at: 0,
        };
        LeastMerge {
            n_words,
            inputs: sources.into_iter().map(input).collect(),
            heap: Vec::new(),
            has_begun: false,
        }
    }

    fn begin(&mut self) -> Result<(), Error> {
        self.has_begun = true;
        for (number, input) in self.inputs.iter_mut().enumerate() {
            if input.fill()? {
                self.heap.push(number);
            }
        }
        for at in (0..self.heap.len() / 2).rev() {
            self.sift_down(at);
        }
        Ok(())
    }

    fn is_before(&self, a: usize, b: usize) -> bool {
        let (a, b) = (self.heap[a], self.heap[b]);
        let (key_a, key_b) = (
            self.inputs[a].key(self.n_words),
            self.inputs[b].key(self.n_words),
        );
        key_a.cmp(key_b) == Ordering::Less
    }

    /// Restores the heap below `at`, whose input has another key now.
    fn sift_down(&mut self, mut at: usize) {
        loop {
            let mut least = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if child < self.heap.len() && self.is_before(child, least) {
                    least = child;
                }
            }
            if least == at {
                return;
            }
            self.heap.swap(at, least);
            at = least;
        }
    }

    /// Appends the next key, or only a lesser value of the last one.
    fn take_next(&mut self, first: usize, batch: &mut Batch) -> Result<(), Error> {
        let n_words = self.n_words;
        let input = &mut self.inputs[first];
        let (key, value) = (input.key(n_words), input.batch.ordinals[input.at]);
        match batch.ordinals.last_mut() {
            Some(least) if batch.keys.ends_with(key) => *least = value.min(*least),
            _ => {
                batch.keys.extend_from_slice(key);
                batch.ordinals.push(value);
            }
        }
        input.at += 1;
        if !input.fill()? {
            self.heap.swap_remove(0);
        }
        if !self.heap.is_empty() {
            self.sift_down(0);
        }
        Ok(())
    }
}

impl Sorted for LeastMerge<'_> {
    fn n_words(&self) -> usize {
        self.n_words
    }

    fn next_batch(&mut self, batch: &mut Batch) -> Result<bool, Error> {
        batch.clear();
        if !self.has_begun {
            self.begin()?;
        }
        let most = BATCH_ENTRIES.min(BATCH_WORDS / self.n_words).max(1);
        while let Some(&first) = self.heap.first() {
            // The last key may be that of another source as well.
            let is_next =
                |batch: &Batch| !batch.keys.ends_with(self.inputs[first].key(self.n_words));
            if batch.ordinals.len() >= most && is_next(batch) {
                break;
            }
            self.take_next(first, batch)?;
        }
        Ok(!batch.ordinals.is_empty())
    }
}
