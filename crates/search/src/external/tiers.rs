//! The runs of all visited states that the set may have forgotten, few and large.
//!
//! Every layer adds a tier; whenever the younger tiers come to a quarter of an older one, they are
//! made one with it. So there are about as many tiers as the number of states has digits in base
//! four, and a key is written as many times.
//! Small tiers stay in memory, in the form they would have on disk, until together they are worth
//! a file. Large ones are made one a slice at a time ([`Merging`]), while the search goes on.

use std::sync::RwLock;

use hadal_model::Stop;
use hadal_store::Error;
use hadal_store::disk::{BlockWriter, Folder};
use hadal_store::run::{KeyRange, MemoryBlocks, RunWriter, Versioned, compact, fence_splitters};

use super::hands::Hands;
use super::merging::Merging;
use super::parallel::in_parallel;
pub(crate) use super::segment::RUN;
pub(super) use super::segment::Segment;
pub(super) use super::views::Views;
use crate::progress::Gauge;
use crate::snapshot::RunEntry;
use crate::visited::Keyed;

/// An older tier is left alone while it has so many times the keys of all younger ones.
const RATIO: u64 = 4;
/// Parts of a run on disk that are made at once have at least so many keys.
pub(super) const PART_KEYS: u64 = 1 << 15;

/// Runs whose key ranges follow each other.
#[derive(Default)]
pub(crate) struct Tier {
    pub(super) segments: Vec<Segment>,
}

impl Tier {
    /// Opens a tier again.
    pub(super) fn open(folder: &Folder, entries: &[RunEntry]) -> Result<Self, Error> {
        let segments = entries.iter().map(|entry| Segment::open(folder, entry));
        Ok(Tier {
            segments: segments.collect::<Result<_, _>>()?,
        })
    }

    /// How a manifest lists it; it must be on disk.
    pub(super) fn entries(&self) -> Vec<RunEntry> {
        self.segments.iter().map(Segment::entry).collect()
    }

    /// Gives up the files, once nothing refers to them any more.
    pub(super) fn retire(self, folder: &Folder) -> Result<(), Error> {
        (self.segments.into_iter()).try_for_each(|segment| segment.retire(folder))
    }

    pub(super) fn n_keys(&self) -> u64 {
        self.segments.iter().map(Segment::n_keys).sum()
    }

    /// Whether it takes no file. One that is only begun has nothing to say.
    pub(super) fn is_in_memory(&self) -> bool {
        !self.segments.is_empty() && self.segments.iter().all(Segment::is_in_memory)
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        self.segments.iter().map(Segment::memory_bytes).sum()
    }
}

/// All runs, the oldest tier first.
#[derive(Default)]
pub(crate) struct Tiers {
    pub(super) tiers: Vec<Tier>,
    /// Which of them are being made one.
    pub(super) merging: Option<Merging>,
    /// So many of the oldest are left alone: nobody looks into them, and none is made one with a
    /// younger one.
    pub(super) n_postponed: usize,
    /// Keys that those have.
    known: Option<Segment>,
}

/// What working on runs needs.
#[derive(Clone, Copy)]
pub(crate) struct Means<'a> {
    pub(crate) folder: &'a Folder,
    pub(crate) keyed: &'a Keyed,
    pub(crate) n_threads: usize,
    /// Whether what is written shall survive a crash.
    pub(crate) durable: bool,
    /// Bytes that runs in memory may take together.
    pub(crate) memory_bytes: u64,
    /// Bytes for candidates that are looked for at once.
    pub(crate) batch_bytes: u64,
    /// Keys of candidates that were dealt out.
    pub(crate) hands: &'a RwLock<Hands>,
    /// Ends what takes long.
    pub(crate) stop: &'a Stop,
    /// Where it is told how far that is.
    pub(crate) gauge: &'a Gauge,
}

impl Tiers {
    /// Memory held, in bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let known = self.known.as_ref().map_or(0, Segment::memory_bytes);
        known + self.tiers.iter().map(Tier::memory_bytes).sum::<u64>()
    }

    /// Gives memory back that was lent to blocks of runs, as far as they use more than they may.
    pub(super) fn let_go(&self, folder: &Folder) {
        for segment in self.segments() {
            match folder.spare().excess() {
                0 => return,
                bytes => segment.let_go(bytes),
            }
        }
    }

    /// All runs.
    pub(super) fn segments(&self) -> impl Iterator<Item = &Segment> {
        self.tiers.iter().flat_map(|tier| &tier.segments)
    }

    /// All runs but those that are left alone.
    pub(super) fn young(&self) -> impl Iterator<Item = &Segment> {
        let tiers = &self.tiers[self.n_postponed..];
        tiers.iter().flat_map(|tier| &tier.segments)
    }

    /// These, and what is known of the others.
    pub(super) fn looked_into(&self) -> impl Iterator<Item = &Segment> {
        self.young().chain(&self.known)
    }

    /// The runs that are left alone.
    pub(super) fn left_alone(&self) -> impl Iterator<Item = &Segment> {
        let tiers = &self.tiers[..self.n_postponed];
        tiers.iter().flat_map(|tier| &tier.segments)
    }

    /// Number of keys in all runs.
    pub(crate) fn n_keys(&self) -> u64 {
        self.tiers.iter().map(Tier::n_keys).sum()
    }

    /// Number of keys in the runs that are left alone.
    pub(super) fn n_postponed_keys(&self) -> u64 {
        self.left_alone().map(Segment::n_keys).sum()
    }

    /// Number of keys in the others.
    pub(crate) fn n_young_keys(&self) -> u64 {
        self.young().map(Segment::n_keys).sum()
    }

    /// From now on the runs that are there are left alone, but for some that are being made one,
    /// which goes on.
    pub(crate) fn postpone(&mut self, means: &Means<'_>) -> Result<(), Error> {
        self.write_down(means)?;
        self.n_postponed = self.tiers.len();
        // Others are read in every layer now.
        self.left_alone().for_each(|run| run.let_go(u64::MAX));
        Ok(())
    }

    /// No runs are left alone any more.
    pub(crate) fn take_up(&mut self) {
        self.n_postponed = 0;
        self.known = None;
    }

    /// Whenever runs are left alone, they are known to have these ascending keys.
    pub(crate) fn know(&mut self, keys: &[u64], means: &Means<'_>) -> Result<(), Error> {
        if keys.is_empty() {
            return Ok(());
        }
        let newest = means.keyed.key_shape();
        let mut writer = RunWriter::new(MemoryBlocks::default(), newest.n_words);
        writer.push(keys)?;
        self.known = Some(Segment::keep(writer, newest.version)?);
        Ok(())
    }

    /// Gives up all runs but those that were left alone, which are not any more.
    pub(crate) fn go_back(&mut self, folder: &Folder) -> Result<(), Error> {
        // What is made of those that were left alone goes on.
        self.merging
            .take_if(|merging| merging.at >= self.n_postponed);
        self.known = None;
        let mut young = self.tiers.drain(std::mem::take(&mut self.n_postponed)..);
        young.try_for_each(|tier| tier.retire(folder))
    }

    /// Opens tiers again, some of which were being made one.
    pub(crate) fn open(
        folder: &Folder,
        entries: &[Vec<RunEntry>],
        merging: Option<(usize, usize)>,
    ) -> Result<Self, Error> {
        let tiers = entries.iter().map(|entries| Tier::open(folder, entries));
        let is_there = |&(at, n_inputs): &(usize, usize)| at + n_inputs < entries.len();
        Ok(Tiers {
            tiers: tiers.collect::<Result<_, _>>()?,
            merging: merging
                .filter(is_there)
                .map(|(at, n_inputs)| Merging::new(at, n_inputs)),
            n_postponed: 0,
            known: None,
        })
    }

    /// Puts everything on disk, and lists it for a manifest: the runs by tier, and which of these
    /// are being made one.
    #[expect(clippy::type_complexity, reason = "two things that a manifest lists")]
    pub(crate) fn commit(
        &mut self,
        means: &Means<'_>,
    ) -> Result<(Vec<Vec<RunEntry>>, Option<(usize, usize)>), Error> {
        assert_eq!(self.n_postponed, 0, "only what is certain is written down");
        self.write_down(means)?;
        if let Some(merging) = &mut self.merging {
            // Those before what is made one.
            let kept = take_in_memory(&mut self.tiers, 0..merging.at);
            if !kept.is_empty() {
                merging.at -= kept.len();
                let one = write_merged(&all_segments(&kept), means)?;
                self.tiers.insert(merging.at, one);
                merging.at += 1;
            }
            let inputs = merging.inputs();
            let kept = take_in_memory(&mut self.tiers, inputs.clone());
            if !kept.is_empty() {
                let one = write_merged(&all_segments(&kept), means)?;
                self.tiers.insert(inputs.end - kept.len(), one);
                merging.n_inputs -= kept.len() - 1;
            }
        }
        let merging = self.merging.as_ref().map(|m| (m.at, m.n_inputs));
        Ok((self.tiers.iter().map(Tier::entries).collect(), merging))
    }

    /// Makes one tier on disk of those in memory that are not being merged.
    fn write_down(&mut self, means: &Means<'_>) -> Result<(), Error> {
        let merged = self.merging.as_ref().map_or(0, |m| m.inputs().end);
        let from = merged.max(self.n_postponed);
        let n_tiers = self.tiers.len();
        let kept = take_in_memory(&mut self.tiers, from..n_tiers);
        if !kept.is_empty() {
            self.tiers.push(write_merged(&all_segments(&kept), means)?);
        }
        Ok(())
    }

    /// Adds the youngest tier, and begins to make few of many.
    pub(crate) fn push(&mut self, tier: Tier, means: &Means<'_>) -> Result<(), Error> {
        if tier.n_keys() == 0 {
            return tier.retire(means.folder);
        }
        self.tiers.push(tier);
        self.balance(means)?;
        let in_memory = self.tiers.iter().filter(|tier| tier.is_in_memory());
        if in_memory.map(Tier::memory_bytes).sum::<u64>() > means.memory_bytes {
            self.write_down(means)?;
        }
        Ok(())
    }

    /// Gives up all files.
    pub(super) fn retire(self, folder: &Folder) -> Result<(), Error> {
        (self.tiers.into_iter()).try_for_each(|tier| tier.retire(folder))
    }

    /// Adds tiers as they are.
    pub(super) fn add(&mut self, tiers: impl IntoIterator<Item = Tier>) {
        let tiers = tiers.into_iter().filter(|tier| tier.n_keys() > 0);
        self.tiers.extend(tiers);
    }

    /// Where some tier is no longer much larger than all younger ones, begins to make one of them:
    /// small ones at once, large ones with [`Tiers::keep_up`].
    pub(crate) fn balance(&mut self, means: &Means<'_>) -> Result<(), Error> {
        if self.merging.is_some() {
            return Ok(());
        }
        let Some(from) = self.unbalanced() else {
            return Ok(());
        };
        let are_in_memory = self.tiers[from..].iter().all(Tier::is_in_memory);
        let segments = all_segments(&self.tiers[from..]);
        let data_bytes: u64 = segments.iter().map(|segment| segment.data_bytes).sum();
        if are_in_memory && data_bytes < means.memory_bytes / 2 {
            let merged = merge_in_memory(&segments, means)?;
            self.tiers.truncate(from);
            self.tiers.push(merged);
            return Ok(());
        }
        self.begin_merging(from);
        self.finish_if_short(means)
    }

    /// The oldest tier that is no longer much larger than all younger ones.
    fn unbalanced(&self) -> Option<usize> {
        let mut younger = 0;
        let mut found = None;
        let tiers = self.tiers.iter().enumerate().skip(self.n_postponed);
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

/// Takes those out of a range of tiers that are in memory.
fn take_in_memory(tiers: &mut Vec<Tier>, range: std::ops::Range<usize>) -> Vec<Tier> {
    tiers
        .extract_if(range, |tier| tier.is_in_memory())
        .collect()
}

/// One tier in memory of all keys of some runs.
fn merge_in_memory(segments: &[&Segment], means: &Means<'_>) -> Result<Tier, Error> {
    let newest = means.keyed.key_shape();
    let views = Views::new(segments.iter().copied(), means.keyed);
    let runs: Vec<Versioned<'_>> = segments.iter().map(|segment| views.of(segment)).collect();
    let mut writer = RunWriter::new(MemoryBlocks::default(), newest.n_words);
    compact(&runs, KeyRange::ALL, &mut writer, || false)?;
    let segments = vec![Segment::keep(writer, newest.version)?];
    Ok(Tier { segments })
}

/// One tier on disk of all keys of some runs.
fn write_merged(segments: &[&Segment], means: &Means<'_>) -> Result<Tier, Error> {
    let newest = means.keyed.key_shape();
    let views = Views::new(segments.iter().copied(), means.keyed);
    let runs: Vec<Versioned<'_>> = segments.iter().map(|segment| views.of(segment)).collect();
    let n_keys: u64 = segments.iter().map(|segment| segment.n_keys()).sum();
    let n_parts = (n_keys / PART_KEYS).clamp(1, 2 * means.n_threads as u64) as usize;
    let splitters = fence_splitters(newest.n_words, &runs, n_parts);
    let segments = in_parallel(means.n_threads, splitters.n_parts(), |part| {
        let sink = BlockWriter::create(means.folder, RUN)?;
        let mut writer = RunWriter::new(sink, newest.n_words);
        compact(&runs, splitters.range(part), &mut writer, || false)?;
        Segment::finish(writer, newest.version, means.durable)
    })?;
    Ok(Tier { segments })
}
