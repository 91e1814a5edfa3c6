//! What a workload must give, where that is known.
//!
//! A run with a wrong count measures something else, so it is an error and not a row.

use std::path::Path;

use anyhow::Context;
use hadal_testkit::corpus::{self, Row};

use crate::workload::Workload;

/// States and transitions.
pub type Counts = (Option<u64>, Option<u64>);

/// The rows of a folder's `expected.tsv`; none where it has no such file.
pub fn rows(folder: &Path) -> anyhow::Result<Vec<Row>> {
    let path = folder.join("expected.tsv");
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read `{}`", path.display()))?;
    corpus::expected_rows(&text).with_context(|| format!("`{}`", path.display()))
}

/// What the rows say about a workload. They are about runs with symmetry.
pub fn by_rows(rows: &[Row], workload: &Workload) -> Counts {
    let is_meant = |row: &&Row| row.model == workload.model && row.overrides == workload.constants;
    match rows.iter().find(is_meant) {
        Some(row) if workload.symmetry => (row.states, row.transitions),
        _ => (None, None),
    }
}

/// What one of our own models says about itself.
pub fn by_directives(workload: &Workload) -> anyhow::Result<Counts> {
    let text = std::fs::read_to_string(&workload.path)
        .with_context(|| format!("cannot read `{}`", workload.path.display()))?;
    let directives = corpus::directives(&text).with_context(|| workload.name())?;
    // Flags change what the counts are about.
    if !workload.symmetry || !directives.flags.is_empty() {
        return Ok((None, None));
    }
    if workload.constants.is_empty() {
        return Ok((directives.states, directives.transitions));
    }
    let mut scales = directives.scales.iter();
    let scale = scales.find(|scale| scale.constants == workload.constants);
    Ok(scale.map_or((None, None), |scale| (scale.states, scale.transitions)))
}
