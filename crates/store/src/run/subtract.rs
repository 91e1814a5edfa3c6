//! What is new: sorted candidates less all older runs.

use std::collections::VecDeque;

use super::Versioned;
use super::batch::{Batch, Sorted};
use crate::Error;

/// Runs that are read at the same time.
const AHEAD: usize = 4;

/// Gives to `survivors` those keys of `candidates`, with their ordinals, that are in none of
/// `runs`, ascending; runs that have many of them should come first. `batch_keys` are looked for at
/// once: many, so that a run is read in few stretches; each takes its words, 9 bytes, and in
/// runs of older layouts up to [`AHEAD`] times as much again.
pub fn subtract(
    candidates: &mut dyn Sorted,
    runs: &[Versioned],
    batch_keys: usize,
    mut survivors: impl FnMut(&[u64], &[u64]) -> Result<(), Error>,
) -> Result<(), Error> {
    let n_words = candidates.n_words();
    let (mut all, mut batch) = (Batch::default(), Batch::default());
    let mut present = Vec::new();
    let mut more = true;
    while more {
        all.clear();
        while more && all.keys.len() < batch_keys.max(1) * n_words {
            more = candidates.next_batch(&mut batch)?;
            all.keys.extend_from_slice(&batch.keys);
            all.ordinals.extend_from_slice(&batch.ordinals);
        }
        present.clear();
        present.resize(all.keys.len() / n_words, false);
        // Some runs are asked before the first is waited for.
        let mut asked = VecDeque::with_capacity(AHEAD);
        let mut unasked = runs.iter();
        loop {
            let n_asked = AHEAD - asked.len();
            asked.extend(unasked.by_ref().take(n_asked).map(|run| run.ask(&all.keys)));
            let Some(run) = asked.pop_front() else { break };
            run.probe(&all.keys, &mut present)?;
        }
        all.drop_marked(n_words, &present);
        if !all.keys.is_empty() {
            survivors(&all.keys, &all.ordinals)?;
        }
    }
    Ok(())
}
