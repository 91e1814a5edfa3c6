//! Making one run of several.

use super::merge::Merge;
use super::{KeyRange, RunKeys, RunWriter, Versioned};
use crate::{BlockSink, Error};

/// Appends to `writer` all keys of `runs` in `range`, in the newest layout, equal ones once.
/// `stop` is asked now and then, and true ends it early. Whether it came to the end.
pub fn compact<S: BlockSink>(
    runs: &[Versioned],
    range: KeyRange,
    writer: &mut RunWriter<S>,
    mut stop: impl FnMut() -> bool,
) -> Result<bool, Error> {
    let inputs = runs.iter().map(|run| RunKeys::new(*run, range)).collect();
    let mut merge = Merge::new(writer.n_words(), inputs);
    let mut keys = Vec::new();
    while merge.next(&mut keys)? {
        if stop() {
            return Ok(false);
        }
        writer.push(&keys)?;
    }
    Ok(true)
}
