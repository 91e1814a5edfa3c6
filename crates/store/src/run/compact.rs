//! Making one run of several.

use super::merge::Merge;
use super::row::Row;
use super::{KeyRange, RunWriter, Versioned};
use crate::{BlockSink, Error};

/// Appends to `writer` all keys of `runs` in `range`, in the newest layout, equal ones once.
/// Runs of a tier should come one after the other. `stop` is asked now and then, and true ends it
/// early. Whether it came to the end.
///
/// # Panics
/// If keys of the writer and of the newest layout do not have the same number of words.
pub fn compact<S: BlockSink>(
    runs: &[Versioned],
    range: KeyRange,
    writer: &mut RunWriter<S>,
    mut stop: impl FnMut() -> bool,
) -> Result<bool, Error> {
    let n_words = writer.n_words();
    assert!(
        runs.iter().all(|run| run.n_words() == n_words),
        "keys that are merged have one length"
    );
    let mut merge = Merge::new(n_words, Row::of_runs(runs, range));
    while let Some(keys) = merge.next()? {
        if stop() {
            return Ok(false);
        }
        writer.push(keys)?;
    }
    Ok(true)
}
