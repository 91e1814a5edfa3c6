//! The sorted runs of all visited states, few and large.
//!
//! Every rank adds a tier. Whenever the younger tiers have a quarter of the keys of an older one,
//! they are merged with it, so there are about log4(states) tiers and a key is written as many times.
//! Small tiers stay in memory, encoded as on disk, until together they are worth a file. Large ones
//! are merged a slice at a time ([`Compaction`]) while the search continues.

#[cfg(test)]
pub(crate) mod bench;
mod compaction;
mod context;
mod early_flush;
mod flush;
mod segment;
mod views;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::disk::{BlockWriter, Folder};
use crate::parallel::in_parallel;
use crate::run::{KeyRange, MemoryBlocks, RunWriter, Versioned, compact, fence_splitters};
use compaction::Compaction;

pub use context::{Layouts, Monitor, RunContext, RunWork};
pub use early_flush::EarlyFlush;
pub use flush::flush;
pub use segment::{RUN, Segment};
pub use views::Views;

/// A run, as a manifest lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEntry {
    /// Name of the file.
    pub name: String,
    /// Blocks in it.
    pub n_blocks: u32,
    /// Version of the layout of keys.
    pub version: u32,
}

/// An older tier is not merged while it has this many times the keys of all younger ones.
const RATIO: u64 = 4;
/// Least number of keys in each part of a run on disk that threads write at once.
pub const PART_KEYS: u64 = 1 << 15;

/// Runs with consecutive key ranges.
#[derive(Default)]
pub struct Tier {
    /// The runs, by key range.
    pub segments: Vec<Segment>,
}

impl Tier {
    /// Opens a tier that a manifest lists.
    pub fn open(folder: &Folder, entries: &[RunEntry]) -> Result<Self, Error> {
        let segments = entries.iter().map(|entry| Segment::open(folder, entry));
        Ok(Tier {
            segments: segments.collect::<Result<_, _>>()?,
        })
    }

    /// How a manifest lists it; it must be on disk.
    pub fn entries(&self) -> Vec<RunEntry> {
        self.segments.iter().map(Segment::entry).collect()
    }

    /// Deletes the files once no manifest lists them.
    pub fn retire(self, folder: &Folder) -> Result<(), Error> {
        (self.segments.into_iter()).try_for_each(|segment| segment.retire(folder))
    }

    /// Number of keys.
    pub fn n_keys(&self) -> u64 {
        self.segments.iter().map(Segment::n_keys).sum()
    }

    /// Whether it has no file. One without runs counts as on disk.
    pub fn is_in_memory(&self) -> bool {
        !self.segments.is_empty() && self.segments.iter().all(Segment::is_in_memory)
    }

    /// Memory held, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.segments.iter().map(Segment::memory_bytes).sum()
    }
}

/// How many of `tiers` have files.
fn n_on_disk(tiers: &[Tier]) -> usize {
    tiers.iter().filter(|tier| !tier.is_in_memory()).count()
}

/// All runs, the oldest tier first.
#[derive(Default)]
pub struct Tiers {
    pub(crate) tiers: Vec<Tier>,
    /// The merge under way.
    pub(crate) compaction: Option<Compaction>,
    /// This many of the oldest are skipped: candidates are not looked up in them, and none is merged
    /// with a younger one.
    pub(crate) n_skipped: usize,
    /// Keys that those are known to have.
    known_hits: Option<Segment>,
}

impl Tiers {
    /// Memory held, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        let known = self.known_hits.as_ref().map_or(0, Segment::memory_bytes);
        known + self.tiers.iter().map(Tier::memory_bytes).sum::<u64>()
    }

    /// Evicts cached blocks of runs as far as they hold more memory than is lent.
    pub fn evict(&self, folder: &Folder) {
        for segment in self.segments() {
            match folder.lent_memory().excess() {
                0 => return,
                bytes => segment.evict(bytes),
            }
        }
    }

    /// All runs.
    pub fn segments(&self) -> impl Iterator<Item = &Segment> {
        self.tiers.iter().flat_map(|tier| &tier.segments)
    }

    /// All runs but the skipped ones.
    pub fn young(&self) -> impl Iterator<Item = &Segment> {
        let tiers = &self.tiers[self.n_skipped..];
        tiers.iter().flat_map(|tier| &tier.segments)
    }

    /// Young runs, and the known hits of the others: where candidates are looked up.
    pub fn searched(&self) -> impl Iterator<Item = &Segment> {
        self.young().chain(&self.known_hits)
    }

    /// The skipped runs.
    pub fn skipped(&self) -> impl Iterator<Item = &Segment> {
        let tiers = &self.tiers[..self.n_skipped];
        tiers.iter().flat_map(|tier| &tier.segments)
    }

    /// Number of tiers with files where candidates are looked up.
    pub fn n_young_tiers(&self) -> usize {
        n_on_disk(&self.tiers[self.n_skipped..])
    }

    /// Number of skipped tiers with files.
    pub fn n_skipped_tiers(&self) -> usize {
        n_on_disk(&self.tiers[..self.n_skipped])
    }

    /// Number of keys in all runs.
    pub fn n_keys(&self) -> u64 {
        self.tiers.iter().map(Tier::n_keys).sum()
    }

    /// Number of keys in skipped runs.
    pub fn n_skipped_keys(&self) -> u64 {
        self.skipped().map(Segment::n_keys).sum()
    }

    /// Number of keys in young runs.
    pub fn n_young_keys(&self) -> u64 {
        self.young().map(Segment::n_keys).sum()
    }

    /// Starts to skip all present runs. A merge among them continues.
    pub fn begin_skipping(&mut self, context: &RunContext<'_>) -> Result<(), Error> {
        self.write_out(context)?;
        self.n_skipped = self.tiers.len();
        // Others are read in every rank now.
        self.skipped().for_each(|run| run.evict(u64::MAX));
        Ok(())
    }

    /// Skips no run any more.
    pub fn end_skipping(&mut self) {
        self.n_skipped = 0;
        self.known_hits = None;
    }

    /// Notes ascending keys that the runs to be skipped next are known to have.
    pub fn set_known_hits(&mut self, keys: &[u64], context: &RunContext<'_>) -> Result<(), Error> {
        if keys.is_empty() {
            return Ok(());
        }
        let newest = context.layouts.newest();
        let mut writer = RunWriter::new(MemoryBlocks::default(), newest.n_words);
        writer.push(keys)?;
        self.known_hits = Some(Segment::finish_in_memory(writer, newest.version)?);
        Ok(())
    }

    /// Gives up all runs but the skipped ones, and skips none.
    pub fn roll_back(&mut self, folder: &Folder) -> Result<(), Error> {
        // A merge of skipped runs continues.
        self.compaction
            .take_if(|compaction| compaction.at >= self.n_skipped);
        self.known_hits = None;
        let mut young = self.tiers.drain(std::mem::take(&mut self.n_skipped)..);
        young.try_for_each(|tier| tier.retire(folder))
    }

    /// Opens tiers that a manifest lists, some of which were being merged.
    pub fn open(
        folder: &Folder,
        entries: &[Vec<RunEntry>],
        compaction: Option<(usize, usize)>,
    ) -> Result<Self, Error> {
        let tiers = entries.iter().map(|entries| Tier::open(folder, entries));
        let is_there = |&(at, n_inputs): &(usize, usize)| at + n_inputs < entries.len();
        Ok(Tiers {
            tiers: tiers.collect::<Result<_, _>>()?,
            compaction: compaction
                .filter(is_there)
                .map(|(at, n_inputs)| Compaction::new(at, n_inputs)),
            n_skipped: 0,
            known_hits: None,
        })
    }

    /// Puts everything on disk, and lists it for a manifest: the runs by tier, and the tiers being
    /// merged.
    #[expect(clippy::type_complexity, reason = "two things that a manifest lists")]
    pub fn commit(
        &mut self,
        context: &RunContext<'_>,
    ) -> Result<(Vec<Vec<RunEntry>>, Option<(usize, usize)>), Error> {
        assert_eq!(
            self.n_skipped, 0,
            "what is not committed is not checkpointed"
        );
        self.write_out(context)?;
        if let Some(compaction) = &mut self.compaction {
            // Those in front of the tiers being merged.
            let kept = take_in_memory(&mut self.tiers, 0..compaction.at);
            if !kept.is_empty() {
                compaction.at -= kept.len();
                let one = write_merged(&all_segments(&kept), context)?;
                self.tiers.insert(compaction.at, one);
                compaction.at += 1;
            }
            let inputs = compaction.inputs();
            let kept = take_in_memory(&mut self.tiers, inputs.clone());
            if !kept.is_empty() {
                let one = write_merged(&all_segments(&kept), context)?;
                self.tiers.insert(inputs.end - kept.len(), one);
                compaction.n_inputs -= kept.len() - 1;
            }
        }
        let compaction = self.compaction.as_ref().map(|m| (m.at, m.n_inputs));
        Ok((self.tiers.iter().map(Tier::entries).collect(), compaction))
    }

    /// Merges the tiers in memory that are not being merged already into one on disk.
    fn write_out(&mut self, context: &RunContext<'_>) -> Result<(), Error> {
        let merged = self.compaction.as_ref().map_or(0, |m| m.inputs().end);
        let from = merged.max(self.n_skipped);
        let n_tiers = self.tiers.len();
        let kept = take_in_memory(&mut self.tiers, from..n_tiers);
        if !kept.is_empty() {
            self.tiers
                .push(write_merged(&all_segments(&kept), context)?);
        }
        Ok(())
    }

    /// Adds the youngest tier, and starts to merge where there are too many.
    pub fn push(&mut self, tier: Tier, context: &RunContext<'_>) -> Result<(), Error> {
        if tier.n_keys() == 0 {
            return tier.retire(context.folder);
        }
        self.tiers.push(tier);
        self.balance(context)?;
        let in_memory = self.tiers.iter().filter(|tier| tier.is_in_memory());
        if in_memory.map(Tier::memory_bytes).sum::<u64>() > context.run_bytes {
            self.write_out(context)?;
        }
        Ok(())
    }

    /// Deletes all files once no manifest lists them.
    pub fn retire(self, folder: &Folder) -> Result<(), Error> {
        (self.tiers.into_iter()).try_for_each(|tier| tier.retire(folder))
    }

    /// Adds tiers as they are.
    pub fn add(&mut self, tiers: impl IntoIterator<Item = Tier>) {
        let tiers = tiers.into_iter().filter(|tier| tier.n_keys() > 0);
        self.tiers.extend(tiers);
    }

    /// Where some tier is no longer much larger than all younger ones, starts to merge them: small
    /// ones at once, large ones with [`Tiers::keep_up`].
    pub fn balance(&mut self, context: &RunContext<'_>) -> Result<(), Error> {
        while self.compaction.is_none()
            && !context.monitor.is_stopped()
            && let Some(from) = self.unbalanced()
        {
            // Where there are too many for the memory, the youngest are merged first.
            let from = from.max(self.tiers.len().saturating_sub(context.max_fan_in()));
            let are_in_memory = self.tiers[from..].iter().all(Tier::is_in_memory);
            let segments = all_segments(&self.tiers[from..]);
            let data_bytes: u64 = segments.iter().map(|segment| segment.data_bytes).sum();
            if are_in_memory && data_bytes < context.run_bytes / 2 {
                let merged = merge_in_memory(&segments, context)?;
                self.tiers.truncate(from);
                self.tiers.push(merged);
            } else {
                self.begin_compaction(from);
                self.finish_if_short(context)?;
            }
        }
        Ok(())
    }

    /// The oldest tier that is no longer much larger than all younger ones.
    fn unbalanced(&self) -> Option<usize> {
        let mut younger = 0;
        let mut found = None;
        let tiers = self.tiers.iter().enumerate().skip(self.n_skipped);
        for (at, tier) in tiers.rev() {
            if younger > 0 && tier.n_keys() < RATIO * younger {
                found = Some(at);
            }
            younger += tier.n_keys();
        }
        found
    }
}

/// All runs of some tiers.
fn all_segments(tiers: &[Tier]) -> Vec<&Segment> {
    tiers.iter().flat_map(|tier| &tier.segments).collect()
}

/// Removes those in memory from a range of tiers.
fn take_in_memory(tiers: &mut Vec<Tier>, range: std::ops::Range<usize>) -> Vec<Tier> {
    tiers
        .extract_if(range, |tier| tier.is_in_memory())
        .collect()
}

/// Merges runs into a tier in memory.
fn merge_in_memory(segments: &[&Segment], context: &RunContext<'_>) -> Result<Tier, Error> {
    let newest = context.layouts.newest();
    let views = Views::new(segments.iter().copied(), context.layouts);
    let runs: Vec<Versioned<'_>> = segments.iter().map(|segment| views.of(segment)).collect();
    let mut writer = RunWriter::new(MemoryBlocks::default(), newest.n_words);
    compact(&runs, KeyRange::ALL, &mut writer, || false)?;
    let segments = vec![Segment::finish_in_memory(writer, newest.version)?];
    Ok(Tier { segments })
}

/// Merges runs into a tier on disk.
fn write_merged(segments: &[&Segment], context: &RunContext<'_>) -> Result<Tier, Error> {
    let newest = context.layouts.newest();
    let views = Views::new(segments.iter().copied(), context.layouts);
    let runs: Vec<Versioned<'_>> = segments.iter().map(|segment| views.of(segment)).collect();
    let n_keys: u64 = segments.iter().map(|segment| segment.n_keys()).sum();
    let n_parts = (n_keys / PART_KEYS).clamp(1, 2 * context.n_threads as u64) as usize;
    let splitters = fence_splitters(newest.n_words, &runs, n_parts);
    let n_threads = context.n_mergers(segments.len());
    let segments = in_parallel(n_threads, splitters.n_parts(), |part| {
        let sink = BlockWriter::create(context.folder, RUN)?;
        let mut writer = RunWriter::new(sink, newest.n_words);
        compact(&runs, splitters.range(part), &mut writer, || false)?;
        Segment::finish(writer, newest.version, context.durable)
    })?;
    Ok(Tier { segments })
}
