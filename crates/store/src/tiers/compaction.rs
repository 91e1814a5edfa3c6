//! Compaction: large tiers are merged a slice of the key space at a time while the search continues.
//!
//! All threads write a slice, each a part of it that becomes a run of bounded length. Then the old
//! runs that end before the end of the slice are deleted, so old and new never exist in full. Between
//! two slices the tiers are valid: some keys are in an old run and in the new tier, which changes no
//! look-up, and a merge drops one of two equal keys. So between slices the search can look up
//! candidates, checkpoint or stop.
//! The new tier itself records how far compaction is: everything up to its last key is done.

use std::ops::Range;

use crate::Error;
use crate::disk::BlockWriter;
use crate::run::{
    Inexpressible, KeyRange, RunWriter, Splitters, Versioned, compact, fence_splitters,
};

use super::{PART_KEYS, RUN, RunContext, RunWork, Segment, Tier, Tiers, Views};
use crate::parallel::in_parallel;

/// About the most bytes of a run; one for each thread takes a fraction of a second.
const SEGMENT_BYTES: u64 = 32 << 20;
/// Most keys of a run: some are coded into two bytes each, and take as long as others.
const SEGMENT_KEYS: u64 = 1 << 22;
/// Most parts that tiers are merged in.
const MAX_PARTS: u64 = 64;
/// The same where the disk is nearly full.
const MAX_PARTS_WHEN_FULL: u64 = 1024;
/// Space for this many runs stays free on the disk.
const FREE_RUNS: u64 = 16;
/// Merging this many slices and keys takes no noticeable time, so the search waits for it.
const SHORT_SLICES: usize = 2;
const SHORT_KEYS: u64 = 1 << 20;

/// When the disk is nearly full, younger tiers are merged with the oldest if that has fewer than
/// this many times their keys.
const WORTH_SQUEEZING: u64 = 16;

/// A merge of tiers under way.
pub(crate) struct Compaction {
    /// The tier being written.
    pub(crate) at: usize,
    /// How many tiers behind it are merged.
    pub(crate) n_inputs: usize,
    plan: Option<Plan>,
    /// States expanded when it started.
    begun: Option<u64>,
}

/// How the key space is divided.
struct Plan {
    cuts: Splitters,
    /// Layout of the splitters.
    version: u32,
    /// Parts that are done.
    n_done: usize,
}

impl Plan {
    /// Divides the key space of `segments`, of which everything before `from` is done.
    fn new(
        segments: &[&Segment],
        views: &Views<'_>,
        from: Option<&[u64]>,
        context: &RunContext<'_>,
    ) -> Self {
        let runs: Vec<Versioned<'_>> = segments.iter().map(|segment| views.of(segment)).collect();
        let data_bytes: u64 = segments.iter().map(|segment| segment.data_bytes).sum();
        let n_keys: u64 = segments.iter().map(|segment| segment.n_keys()).sum();
        let newest = context.layouts.newest();
        let free_bytes = context.folder.free_bytes().unwrap_or(u64::MAX);
        // Where there is little memory tiers are small too.
        let segment_bytes = context
            .run_bytes
            .saturating_mul(32)
            .max(data_bytes / MAX_PARTS)
            .min(free_bytes / FREE_RUNS.max(4 * context.n_threads as u64))
            .max(data_bytes / MAX_PARTS_WHEN_FULL)
            .clamp(1, SEGMENT_BYTES);
        let at_once = (n_keys / PART_KEYS).min(2 * context.n_threads as u64);
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

impl Compaction {
    pub(crate) fn new(at: usize, n_inputs: usize) -> Self {
        Compaction {
            at,
            n_inputs,
            plan: None,
            begun: None,
        }
    }

    /// The tiers being merged.
    pub(crate) fn inputs(&self) -> Range<usize> {
        self.at + 1..self.at + 1 + self.n_inputs
    }

    /// Whether a smaller part of it is done than of the states to be expanded meanwhile.
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
    /// Starts to merge all tiers from `from` on.
    pub(crate) fn begin_compaction(&mut self, from: usize) {
        let n_inputs = self.tiers.len() - from;
        self.tiers.insert(from, Tier::default());
        self.compaction = Some(Compaction::new(from, n_inputs));
    }

    /// Continues merging, so that it ends when `n_meanwhile` states are expanded; `n_expanded` are
    /// now.
    pub fn keep_up(
        &mut self,
        n_expanded: u64,
        n_meanwhile: u64,
        context: &RunContext<'_>,
    ) -> Result<(), Error> {
        while let Some(compaction) = &mut self.compaction
            && compaction.is_behind(n_expanded, n_meanwhile)
        {
            if !self.merge_slice(context)? {
                break;
            }
            self.balance(context)?;
        }
        context.monitor.end();
        Ok(())
    }

    /// The disk will soon be full: merges all tiers where that frees enough space, a slice each
    /// time.
    pub fn squeeze(&mut self, context: &RunContext<'_>) -> Result<(), Error> {
        if self.skipped().next().is_some() {
            return Ok(());
        }
        if self.compaction.is_none() {
            let younger: u64 = self.tiers.iter().skip(1).map(Tier::n_keys).sum();
            let oldest = self.tiers.first().map_or(0, Tier::n_keys);
            if younger == 0 || younger < oldest / WORTH_SQUEEZING {
                return Ok(());
            }
            // Where there are too many for the memory, the youngest are merged first.
            self.begin_compaction(self.tiers.len().saturating_sub(context.max_fan_in()));
        }
        self.merge_slice(context)?;
        context.monitor.end();
        Ok(())
    }

    /// Merges the rest at once where it is short.
    pub(crate) fn finish_if_short(&mut self, context: &RunContext<'_>) -> Result<(), Error> {
        let n_keys = |compaction: &Compaction| -> u64 {
            let inputs = self.tiers[compaction.inputs()].iter();
            inputs.map(Tier::n_keys).sum()
        };
        let is_small = self.compaction.as_ref().map_or(0, n_keys) <= SHORT_KEYS;
        if is_small && self.n_parts_left(context) <= SHORT_SLICES * context.n_threads {
            while self.compaction.is_some() && self.merge_slice(context)? {}
        }
        context.monitor.end();
        Ok(())
    }

    /// Number of parts left.
    fn n_parts_left(&mut self, context: &RunContext<'_>) -> usize {
        let Some(compaction) = &mut self.compaction else {
            return 0;
        };
        let version = context.layouts.newest().version;
        let plan = match compaction
            .plan
            .take()
            .filter(|plan| plan.version == version)
        {
            Some(plan) => plan,
            None => {
                let old = &self.tiers[compaction.inputs()];
                let done = self.tiers[compaction.at].segments.last();
                let segments: Vec<&Segment> = old.iter().flat_map(|tier| &tier.segments).collect();
                let views = Views::new(segments.iter().copied().chain(done), context.layouts);
                let from = first_left(done, &views);
                Plan::new(&segments, &views, from.as_deref(), context)
            }
        };
        compaction.plan.insert(plan).n_left()
    }

    /// Merges the next slice. False if the search is to stop: then the slice has no effect.
    fn merge_slice(&mut self, context: &RunContext<'_>) -> Result<bool, Error> {
        self.n_parts_left(context);
        let Some((compaction, plan)) = self.compaction.as_mut().and_then(|compaction| {
            Some((
                compaction.at..compaction.inputs().end,
                compaction.plan.as_mut()?,
            ))
        }) else {
            return Ok(true);
        };
        let (at, inputs) = (compaction.start, compaction.start + 1..compaction.end);
        let newest = context.layouts.newest();
        let n_parts = plan.cuts.n_parts();
        let parts = plan.n_done..n_parts.min(plan.n_done + context.n_threads);
        let is_last = parts.end == n_parts;

        let done = self.tiers[at].segments.last();
        let old = self.tiers[inputs.clone()].iter();
        let segments: Vec<&Segment> = old.flat_map(|tier| &tier.segments).collect();
        let views = Views::new(segments.iter().copied().chain(done), context.layouts);
        let from = first_left(done, &views);
        let n_keys: u64 = segments.iter().map(|segment| segment.n_keys()).sum();
        let n_done = self.tiers[at].n_keys();
        context
            .monitor
            .begin(RunWork::Merging, n_done, n_done + n_keys);
        let n_threads = context.n_mergers(inputs.len());
        let made = in_parallel(n_threads, parts.len(), |part| {
            let range = later(plan.cuts.range(parts.start + part), from.as_deref());
            let runs = segments.iter().map(|segment| views.of(segment));
            let runs: Vec<_> = runs.filter(|run| meets(run, range)).collect();
            let sink = BlockWriter::create(context.folder, RUN)?;
            let mut writer = RunWriter::new(sink, newest.n_words);
            let is_whole = compact(&runs, range, &mut writer, || {
                context.monitor.advance(BATCH_KEYS);
                context.monitor.is_stopped()
            })?;
            let segment = Segment::finish(writer, newest.version, context.durable && is_whole)?;
            Ok((segment, is_whole))
        })?;
        let is_whole = made.iter().all(|(_, is_whole)| *is_whole);
        let end = plan.cuts.range(parts.end - 1).to;
        let is_old: Vec<bool> = segments
            .iter()
            .map(|segment| is_before(&views.of(segment), end))
            .collect();

        let (kept, useless): (Vec<Segment>, Vec<Segment>) = made
            .into_iter()
            .map(|(segment, _)| segment)
            .partition(|segment| is_whole && segment.n_keys() > 0);
        useless
            .into_iter()
            .try_for_each(|made| made.retire(context.folder))?;
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
                .try_for_each(|old| old.retire(context.folder))?;
        }
        if is_last {
            if at < self.n_skipped {
                self.n_skipped -= inputs.len();
            }
            self.tiers.drain(inputs);
            self.compaction = None;
        }
        Ok(true)
    }
}

/// About the number of keys merged between two looks at the stop flag.
const BATCH_KEYS: u64 = 1024;

/// Whether all keys of a run are less than `end`. Not known of one with a last key that the newest
/// layout cannot express: it stays until its last block is read.
fn is_before(run: &Versioned<'_>, end: Option<&[u64]>) -> bool {
    match run.newest_last(&mut Vec::new()) {
        Ok(last) => last.is_none_or(|last| end.is_none_or(|end| last < end)),
        Err(Inexpressible) => false,
    }
}

/// Whether a run may have keys in `range`. Its bounds are not kept: those of many runs with wide keys
/// would take more memory than merging them.
fn meets(run: &Versioned<'_>, range: KeyRange<'_>) -> bool {
    let (first, last) = (&mut Vec::new(), &mut Vec::new());
    let may_reach = match run.newest_last(last) {
        Ok(last) => last.is_some_and(|last| !range.starts_after(last)),
        Err(Inexpressible) => true,
    };
    may_reach && !range.ends_before(run.newest_fence(0, first))
}

/// The first key behind the last run written.
fn first_left(done: Option<&Segment>, views: &Views<'_>) -> Option<Vec<u64>> {
    let mut last = Vec::new();
    let run = views.of(done?);
    Some(successor(run.newest_last(&mut last).ok()??.to_vec()))
}

/// The least key greater than `key`.
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

/// The part of `range` from `from` on.
fn later<'a>(range: KeyRange<'a>, from: Option<&'a [u64]>) -> KeyRange<'a> {
    KeyRange {
        from: range.from.max(from),
        to: range.to,
    }
}

#[cfg(test)]
mod tests;
