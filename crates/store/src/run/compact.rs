//! Merging runs into one.

use super::union::Union;
use super::{KeyRange, RunWriter, Versioned};
use crate::{BlockSink, Error};

/// Appends to `writer` all keys of `runs` in `range`, in the newest layout, equal ones once.
/// Runs of a tier should come one after the other. `stop` is polled now and then, and true ends it
/// early. Returns whether it finished.
///
/// # Panics
/// If keys of the writer and of the newest layout do not have the same number of words.
pub fn compact<S: BlockSink>(
    runs: &[Versioned],
    range: KeyRange,
    writer: &mut RunWriter<S>,
    mut stop: impl FnMut() -> bool,
) -> Result<bool, Error> {
    let mut union = Union::new(writer.n_words(), runs, range);
    while let Some(keys) = union.next()? {
        if stop() {
            return Ok(false);
        }
        writer.push(keys)?;
    }
    Ok(true)
}
