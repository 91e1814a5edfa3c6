//! Large tiers made one, a slice of the key space at a time, while the search goes on.
//!
//! A slice is made by all threads, each a part of it that becomes a run of bounded length. Then
//! those old runs go that have no key behind it. So old and new are never there in full, and
//! between two slices the tiers are as good as at any other time: some keys are in an old run and
//! in the new tier, which nobody minds, for a key that is found twice is old, and equal keys become
//! one when they meet. That is why the search can go on between slices, look for candidates, be
//! written down or be stopped.
//! The new tier itself tells how far it has come: everything up to its last key is done.

use std::ops::Range;

use hadal_store::Error;
use hadal_store::disk::BlockWriter;
use hadal_store::run::{KeyRange, RunWriter, Splitters, Versioned, compact, fence_splitters};

use super::parallel::in_parallel;
use super::tiers::{Means, PART_KEYS, RUN, Segment, Tier, Tiers, Views};
use crate::progress::Work;

/// A run has at most about so many bytes; one for each thread takes a fraction of a second.
const SEGMENT_BYTES: u64 = 32 << 20;
/// And at most so many keys: some code into two bytes each, and take as long as others.
const SEGMENT_KEYS: u64 = 1 << 22;
/// Runs are no shorter than it takes to make so many of all.
const MAX_PARTS: u64 = 64;
/// Where the disk is nearly full they are, but never more than this.
const MOST_PARTS: u64 = 1024;
/// Room on the disk is left for so many runs.
const FREE_RUNS: u64 = 16;
/// If so few slices and keys are made one, nobody notices that the search waits for it.
const SHORT_SLICES: usize = 2;
const SHORT_KEYS: u64 = 1 << 20;

/// Where room is short, younger tiers are made one with the oldest if that has fewer than so many
/// times their keys.
const WORTH_SQUEEZING: u64 = 16;

/// What is being made one.
pub(super) struct Merging {
    /// The tier that is being made.
    pub(super) at: usize,
    /// How many tiers behind it are made one.
    pub(super) n_inputs: usize,
    plan: Option<Plan>,
    /// States that were expanded when it began.
    begun: Option<u64>,
}

/// Where the key space is cut.
struct Plan {
    cuts: Splitters,
    /// Layout of the keys at which it is cut.
    version: u32,
    /// Parts that are done.
    n_done: usize,
}

impl Plan {
    /// Cuts the key space of `segments`, of which everything before `from` is done.
    fn new(
        segments: &[&Segment],
        views: &Views<'_>,
        from: Option<&[u64]>,
        means: &Means<'_>,
    ) -> Self {
        let runs: Vec<Versioned<'_>> = segments.iter().map(|segment| views.of(segment)).collect();
        let data_bytes: u64 = segments.iter().map(|segment| segment.data_bytes).sum();
        let n_keys: u64 = segments.iter().map(|segment| segment.n_keys()).sum();
        let newest = means.keyed.key_shape();
        let free_bytes = means.folder.free_bytes().unwrap_or(u64::MAX);
        // Where there is little memory tiers are small too.
        let segment_bytes = means
            .memory_bytes
            .saturating_mul(32)
            .max(data_bytes / MAX_PARTS)
            .min(free_bytes / FREE_RUNS.max(4 * means.n_threads as u64))
            .max(data_bytes / MOST_PARTS)
            .clamp(1, SEGMENT_BYTES);
        let at_once = (n_keys / PART_KEYS).min(2 * means.n_threads as u64);
        let n_parts = (data_bytes.div_ceil(segment_bytes))
            .max(n_keys.div_ceil(SEGMENT_KEYS))
            .max(at_once)
            .max(1);
        let cuts = fence_splitters(newest.n_words, &runs, n_parts as usize);
        let is_done = |&part: &usize| cuts.range(part).to.is_some_and(|to| Some(to) <= from);
        Plan {
            n_done: (0..cuts.n_parts()).take_while(is_done).count(),
            version: newest.version,
            cuts,
        }
    }

    fn n_left(&self) -> usize {
        self.cuts.n_parts() - self.n_done
    }
}

impl Merging {
    pub(super) fn new(at: usize, n_inputs: usize) -> Self {
        Merging {
            at,
            n_inputs,
            plan: None,
            begun: None,
        }
    }

    /// Which tiers are made one.
    pub(super) fn inputs(&self) -> Range<usize> {
        self.at + 1..self.at + 1 + self.n_inputs
    }

    /// Whether less of it is done than of the states that were there to be expanded meanwhile.
    fn is_behind(&mut self, n_expanded: u64, n_meanwhile: u64) -> bool {
        let begun = *self.begun.get_or_insert(n_expanded);
        let passed = u128::from(n_expanded - begun.min(n_expanded));
        match &self.plan {
            None => passed > 0,
            Some(plan) => {
                let n_parts = plan.cuts.n_parts() as u128;
                (plan.n_done as u128) * u128::from(n_meanwhile) < passed * n_parts
            }
        }
    }
}

impl Tiers {
    /// From now on all tiers from `from` on are being made one.
    pub(super) fn begin_merging(&mut self, from: usize) {
        let n_inputs = self.tiers.len() - from;
        self.tiers.insert(from, Tier::default());
        self.merging = Some(Merging::new(from, n_inputs));
    }

    /// Goes on with making one of many, so that it comes to its end when `n_meanwhile` states are
    /// expanded; `n_expanded` are now.
    pub(crate) fn keep_up(
        &mut self,
        n_expanded: u64,
        n_meanwhile: u64,
        means: &Means<'_>,
    ) -> Result<(), Error> {
        while let Some(merging) = &mut self.merging
            && merging.is_behind(n_expanded, n_meanwhile)
        {
            if !self.merge_slice(means)? {
                break;
            }
            self.balance(means)?;
        }
        means.gauge.end_work();
        Ok(())
    }

    /// The disk will soon be full: makes one tier of all, which takes the least room, if it is
    /// worth it, a slice each time.
    pub(crate) fn squeeze(&mut self, means: &Means<'_>) -> Result<(), Error> {
        if self.left_alone().next().is_some() {
            return Ok(());
        }
        if self.merging.is_none() {
            let younger: u64 = self.tiers.iter().skip(1).map(Tier::n_keys).sum();
            let oldest = self.tiers.first().map_or(0, Tier::n_keys);
            if younger == 0 || younger < oldest / WORTH_SQUEEZING {
                return Ok(());
            }
            self.begin_merging(0);
        }
        self.merge_slice(means)?;
        means.gauge.end_work();
        Ok(())
    }

    /// Goes on to the end at once where that is not far.
    pub(super) fn finish_if_short(&mut self, means: &Means<'_>) -> Result<(), Error> {
        let n_keys = |merging: &Merging| -> u64 {
            let inputs = self.tiers[merging.inputs()].iter();
            inputs.map(Tier::n_keys).sum()
        };
        let is_small = self.merging.as_ref().map_or(0, n_keys) <= SHORT_KEYS;
        if is_small && self.n_parts_left(means) <= SHORT_SLICES * means.n_threads {
            while self.merging.is_some() && self.merge_slice(means)? {}
        }
        means.gauge.end_work();
        Ok(())
    }

    /// Into how many parts the rest is cut.
    fn n_parts_left(&mut self, means: &Means<'_>) -> usize {
        let Some(merging) = &mut self.merging else {
            return 0;
        };
        let version = means.keyed.key_shape().version;
        let plan = match merging.plan.take().filter(|plan| plan.version == version) {
            Some(plan) => plan,
            None => {
                let old = &self.tiers[merging.inputs()];
                let done = self.tiers[merging.at].segments.last();
                let segments: Vec<&Segment> = old.iter().flat_map(|tier| &tier.segments).collect();
                let views = Views::new(segments.iter().copied().chain(done), means.keyed);
                let from = first_left(done, &views);
                Plan::new(&segments, &views, from.as_deref(), means)
            }
        };
        merging.plan.insert(plan).n_left()
    }

    /// Makes the next slice. False if the search is to stop: then it is as if the slice had not
    /// been begun.
    fn merge_slice(&mut self, means: &Means<'_>) -> Result<bool, Error> {
        self.n_parts_left(means);
        let Some((merging, plan)) = self
            .merging
            .as_mut()
            .and_then(|merging| Some((merging.at..merging.inputs().end, merging.plan.as_mut()?)))
        else {
            return Ok(true);
        };
        let (at, inputs) = (merging.start, merging.start + 1..merging.end);
        let newest = means.keyed.key_shape();
        let n_parts = plan.cuts.n_parts();
        let parts = plan.n_done..n_parts.min(plan.n_done + means.n_threads);
        let is_last = parts.end == n_parts;

        let done = self.tiers[at].segments.last();
        let old = self.tiers[inputs.clone()].iter();
        let segments: Vec<&Segment> = old.flat_map(|tier| &tier.segments).collect();
        let views = Views::new(segments.iter().copied().chain(done), means.keyed);
        let bounds: Vec<_> = segments.iter().map(|old| views.bounds(old)).collect();
        let from = first_left(done, &views);
        let n_keys: u64 = segments.iter().map(|segment| segment.n_keys()).sum();
        let n_done = self.tiers[at].n_keys();
        (means.gauge).begin_work(Work::Merging, n_done, n_done + n_keys);
        let made = in_parallel(means.n_threads, parts.len(), |part| {
            let range = later(plan.cuts.range(parts.start + part), from.as_deref());
            let is_in = |bounds: &Option<(Vec<u64>, Vec<u64>)>| {
                let is_in = |(first, last): &(Vec<u64>, Vec<u64>)| {
                    !range.ends_before(first) && !range.starts_after(last)
                };
                bounds.as_ref().is_some_and(is_in)
            };
            let overlapping = segments.iter().zip(&bounds).filter(|(_, b)| is_in(b));
            let runs: Vec<_> = overlapping.map(|(segment, _)| views.of(segment)).collect();
            let sink = BlockWriter::create(means.folder, RUN)?;
            let mut writer = RunWriter::new(sink, newest.n_words);
            let is_whole = compact(&runs, range, &mut writer, || {
                means.gauge.note_worked(BATCH_KEYS);
                means.stop.is_raised()
            })?;
            let segment = Segment::finish(writer, newest.version, means.durable && is_whole)?;
            Ok((segment, is_whole))
        })?;
        let is_whole = made.iter().all(|(_, is_whole)| *is_whole);
        let end = plan.cuts.range(parts.end - 1).to;
        let is_past = |last: &[u64]| end.is_none_or(|end| last < end);
        let is_old: Vec<bool> = bounds
            .iter()
            .map(|bounds| bounds.as_ref().is_none_or(|(_, last)| is_past(last)))
            .collect();

        let (kept, useless): (Vec<Segment>, Vec<Segment>) = made
            .into_iter()
            .map(|(segment, _)| segment)
            .partition(|segment| is_whole && segment.n_keys() > 0);
        useless
            .into_iter()
            .try_for_each(|made| made.retire(means.folder))?;
        if !is_whole {
            return Ok(false);
        }
        plan.n_done = parts.end;
        self.tiers[at].segments.extend(kept);
        let mut is_old = is_old.into_iter();
        for tier in &mut self.tiers[inputs.clone()] {
            let old: Vec<Segment> = tier
                .segments
                .extract_if(.., |_| is_old.next().unwrap_or(false))
                .collect();
            old.into_iter()
                .try_for_each(|old| old.retire(means.folder))?;
        }
        if is_last {
            if at < self.n_postponed {
                self.n_postponed -= inputs.len();
            }
            self.tiers.drain(inputs);
            self.merging = None;
        }
        Ok(true)
    }
}

/// Keys that are made one at a time, about.
const BATCH_KEYS: u64 = 1024;

/// Where it goes on behind the last run that was made.
fn first_left(done: Option<&Segment>, views: &Views<'_>) -> Option<Vec<u64>> {
    let (_, last) = views.bounds(done?)?;
    Some(successor(last))
}

/// The least key behind `key`.
fn successor(mut key: Vec<u64>) -> Vec<u64> {
    for word in key.iter_mut().rev() {
        let is_over;
        (*word, is_over) = word.overflowing_add(1);
        if !is_over {
            break;
        }
    }
    key
}

/// What of `range` does not lie before `from`.
fn later<'a>(range: KeyRange<'a>, from: Option<&'a [u64]>) -> KeyRange<'a> {
    KeyRange {
        from: range.from.max(from),
        to: range.to,
    }
}

#[cfg(test)]
mod tests;
