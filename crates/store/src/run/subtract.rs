//! What is new: sorted candidates less all older runs.

use super::Versioned;
use super::batch::{Batch, Sorted};
use crate::Error;

/// Gives to `survivors` those keys of `candidates`, with their ordinals, that are in none of
/// `runs`, ascending; runs that have many of them should come first. `batch_keys` are looked for at
/// once: many, so that a run is read in few stretches; each takes its words, 9 bytes, and in an
/// older layout once more as much.
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
        for run in runs {
            present.clear();
            present.resize(all.keys.len() / n_words, false);
            run.probe(&all.keys, &mut present)?;
            // What was found need not be looked for in the other runs.
            all.drop_marked(n_words, &present);
        }
        let n_left = all.keys.len() / n_words;
        if n_left > 0 {
            survivors(&all.keys, &all.ordinals)?;
        }
    }
    Ok(())
}
