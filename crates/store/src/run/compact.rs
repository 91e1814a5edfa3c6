//! Making one run of several.

use super::batch::{Batch, Sorted};
use super::{KeyRange, Merge, RunKeys, RunWriter, Versioned};
use crate::{BlockSink, Error};

/// Appends to `writer` all keys of `runs` in `range`, in the newest layout, equal ones once; least
/// ordinals are kept if the writer has them. `stop` is asked now and then, and true ends it early.
/// Whether it came to the end.
pub fn compact<S: BlockSink>(
    runs: &[Versioned],
    range: KeyRange,
    writer: &mut RunWriter<S>,
    mut stop: impl FnMut() -> bool,
) -> Result<bool, Error> {
    let inputs = runs
        .iter()
        .map(|run| Box::new(RunKeys::new(*run, range)) as Box<dyn Sorted>)
        .collect();
    let mut merge = Merge::new(writer.n_words(), inputs);
    let mut batch = Batch::default();
    while merge.next_batch(&mut batch)? {
        if stop() {
            return Ok(false);
        }
        if !writer.with_ordinals() {
            batch.ordinals.clear();
        }
        writer.push(&batch.keys, &batch.ordinals)?;
    }
    Ok(true)
}
