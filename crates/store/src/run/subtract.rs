//! Which sorted candidates are in older runs, and which are not.

use super::batch::{Batch, Sorted, key};
use super::finder::Finder;
use super::{KeyRange, Versioned};
use crate::Error;

/// Runs whose next blocks are requested ahead.
const AHEAD: usize = 4;
/// Most runs that are scanned: each keeps at least a block in memory until it ends.
const MOST_SCANNED: usize = 12;

/// Most readers that a look-up in runs of `n_tiers` tiers has at a time: of those that are scanned,
/// one in each tier, and of those that are looked up or come next in their tier.
pub fn lookup_readers(n_tiers: usize) -> usize {
    n_tiers.min(MOST_SCANNED) + n_tiers.min(AHEAD)
}

/// Passes to `survivors` those keys of `candidates`, with their ordinals, that are in none of
/// `runs`, ascending; runs with many of them should come first. All candidates are in `range`, and
/// there are about `n_candidates`. `batch_keys` are probed at once: each takes its words, 9 bytes,
/// and in runs of older layouts up to [`AHEAD`] times as much again.
pub fn subtract(
    candidates: &mut dyn Sorted,
    n_candidates: u64,
    range: KeyRange<'_>,
    runs: &[Versioned],
    batch_keys: usize,
    mut survivors: impl FnMut(&[u64], &[u64]) -> Result<(), Error>,
) -> Result<(), Error> {
    let n_words = candidates.n_words();
    let report = |all: &mut Batch, present: &[bool]| {
        all.drop_marked(n_words, present);
        match all.keys.is_empty() {
            true => Ok(()),
            false => survivors(&all.keys, &all.ordinals),
        }
    };
    look_up(candidates, n_candidates, range, runs, batch_keys, report)
}

/// Passes to `common` those keys of `candidates` that are in some of `runs`, ascending; otherwise
/// as [`subtract`].
pub fn intersect(
    candidates: &mut dyn Sorted,
    n_candidates: u64,
    range: KeyRange<'_>,
    runs: &[Versioned],
    batch_keys: usize,
    mut common: impl FnMut(&[u64]),
) -> Result<(), Error> {
    let n_words = candidates.n_words();
    let report = |all: &mut Batch, present: &[bool]| {
        let marked = present.iter().enumerate().filter(|(_, mark)| **mark);
        marked.for_each(|(i, _)| common(key(&all.keys, n_words, i)));
        Ok(())
    };
    look_up(candidates, n_candidates, range, runs, batch_keys, report)
}

/// Passes candidates to `report`, some at a time, with marks for those that are in some of `runs`.
fn look_up(
    candidates: &mut dyn Sorted,
    n_candidates: u64,
    range: KeyRange<'_>,
    runs: &[Versioned],
    batch_keys: usize,
    mut report: impl FnMut(&mut Batch, &[bool]) -> Result<(), Error>,
) -> Result<(), Error> {
    let n_words = candidates.n_words();
    let (mut all, mut batch) = (Batch::default(), Batch::default());
    let mut present = Vec::new();
    let mut n_scanned = 0;
    let mut finders: Vec<Finder<'_>> = Vec::with_capacity(runs.len());
    for run in runs {
        let may_scan = n_scanned < MOST_SCANNED;
        let finder = Finder::new(*run, range, if may_scan { n_candidates } else { 0 });
        n_scanned += usize::from(finder.will_scan());
        finders.push(finder);
    }
    let mut more = true;
    while more {
        all.clear();
        while more && all.keys.len() < batch_keys.max(1) * n_words {
            more = candidates.next_batch(&mut batch)?;
            if all.keys.is_empty() {
                std::mem::swap(&mut all, &mut batch);
                continue;
            }
            all.keys.extend_from_slice(&batch.keys);
            all.ordinals.extend_from_slice(&batch.ordinals);
        }
        present.clear();
        present.resize(all.keys.len() / n_words, false);
        let (mut n_requested, mut n_probed, mut n_waiting) = (0, 0, 0);
        while n_probed < finders.len() {
            while n_waiting < AHEAD && n_requested < finders.len() {
                n_waiting += usize::from(finders[n_requested].request(&all.keys));
                n_requested += 1;
            }
            n_waiting -= usize::from(finders[n_probed].probe(&all.keys, &mut present)?);
            n_probed += 1;
        }
        report(&mut all, &present)?;
    }
    Ok(())
}
