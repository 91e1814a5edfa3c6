//! The runs of all visited states that the set may have forgotten, few and large.
//!
//! Every layer adds a tier; whenever the younger tiers come to a quarter of an older one, they are
//! made one with it. So there are about as many tiers as the number of states has digits in base
//! four, and a key is written as many times.
//! Small tiers stay in memory, in the form they would have on disk, until together they are worth
//! a file.

use std::sync::Arc;

use hadal_store::Error;
use hadal_store::codec::Recoder;
use hadal_store::disk::{BlockFile, BlockWriter, Folder, Kind};
use hadal_store::run::{
    KeyRange, MemoryBlocks, Older, Recode, Run, RunWriter, Versioned, compact, fence_splitters,
};

use super::parallel::in_parallel;
use crate::snapshot::RunEntry;
use crate::visited::Keyed;

/// Files of runs.
pub(crate) const RUN: Kind = Kind(*b"runs");

/// An older tier is left alone while it has so many times the keys of all younger ones.
const RATIO: u64 = 4;
/// Parts of a run on disk that are made at once have at least so many keys.
const PART_KEYS: u64 = 1 << 15;

/// A run: a stretch of the key space of a tier, or all of it.
pub(crate) struct Segment {
    run: Run,
    /// Version of the layout of its keys.
    version: u32,
    /// Name and number of blocks; `None` where it is in memory.
    file: Option<(String, u32)>,
    data_bytes: u64,
}

impl Segment {
    /// Ends a run on disk.
    pub(super) fn finish(
        writer: RunWriter<BlockWriter>,
        version: u32,
        durable: bool,
    ) -> Result<Self, Error> {
        let (mut sink, written) = writer.finish()?;
        if durable {
            sink.sync()?;
        }
        let file = sink.finish()?;
        let name = file.name().to_owned();
        Ok(Segment {
            version,
            file: Some((name.clone(), written.n_blocks)),
            data_bytes: written.data_bytes,
            run: Run::new(Arc::new(file), written, &name),
        })
    }

    /// Ends a run in memory.
    pub(super) fn keep(writer: RunWriter<MemoryBlocks>, version: u32) -> Result<Self, Error> {
        let (blocks, written) = writer.finish()?;
        Ok(Segment {
            version,
            file: None,
            data_bytes: written.data_bytes,
            run: Run::new(Arc::new(blocks), written, "a run in memory"),
        })
    }

    /// Opens a run again.
    pub(super) fn open(folder: &Folder, entry: &RunEntry) -> Result<Self, Error> {
        let file = BlockFile::open(folder, &entry.name, RUN, entry.n_blocks)?;
        let data_bytes = file.disk_bytes();
        Ok(Segment {
            run: Run::open(Arc::new(file), entry.n_blocks, &entry.name)?,
            version: entry.version,
            file: Some((entry.name.clone(), entry.n_blocks)),
            data_bytes,
        })
    }

    /// How a manifest lists it; it must be on disk.
    pub(super) fn entry(&self) -> RunEntry {
        let (name, n_blocks) = self.file.clone().expect("only files are listed");
        RunEntry {
            name,
            n_blocks,
            version: self.version,
        }
    }

    pub(super) fn n_keys(&self) -> u64 {
        self.run.n_keys()
    }

    pub(super) fn is_in_memory(&self) -> bool {
        self.file.is_none()
    }

    /// Memory held, in bytes.
    pub(super) fn memory_bytes(&self) -> u64 {
        let blocks = if self.is_in_memory() {
            self.data_bytes
        } else {
            0
        };
        self.run.memory_bytes() + blocks
    }

    /// Gives up the file, once nothing refers to it any more.
    pub(super) fn retire(self, folder: &Folder) -> Result<(), Error> {
        match self.file {
            Some((name, _)) => folder.retire(&name),
            None => Ok(()),
        }
    }
}

/// Runs whose key ranges follow each other.
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

    fn n_keys(&self) -> u64 {
        self.segments.iter().map(Segment::n_keys).sum()
    }

    pub(super) fn is_in_memory(&self) -> bool {
        self.segments.iter().all(Segment::is_in_memory)
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        self.segments.iter().map(Segment::memory_bytes).sum()
    }
}

/// All runs, the oldest tier first.
#[derive(Default)]
pub(crate) struct Tiers {
    tiers: Vec<Tier>,
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
}

impl Tiers {
    /// Memory held, in bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.tiers.iter().map(Tier::memory_bytes).sum()
    }

    /// All runs.
    pub(super) fn segments(&self) -> impl Iterator<Item = &Segment> {
        self.tiers.iter().flat_map(|tier| &tier.segments)
    }

    /// Opens tiers again.
    pub(crate) fn open(folder: &Folder, entries: &[Vec<RunEntry>]) -> Result<Self, Error> {
        let tiers = entries.iter().map(|entries| Tier::open(folder, entries));
        Ok(Tiers {
            tiers: tiers.collect::<Result<_, _>>()?,
        })
    }

    /// Puts everything on disk, and lists it for a manifest.
    pub(crate) fn commit(&mut self, means: &Means<'_>) -> Result<Vec<Vec<RunEntry>>, Error> {
        if let Some(first) = self.tiers.iter().position(Tier::is_in_memory) {
            self.merge_from(
                first,
                &Means {
                    memory_bytes: 0,
                    ..*means
                },
            )?;
        }
        Ok(self.tiers.iter().map(Tier::entries).collect())
    }

    /// Adds the youngest tier, and makes few of many.
    pub(crate) fn push(&mut self, tier: Tier, means: &Means<'_>) -> Result<(), Error> {
        if tier.n_keys() == 0 {
            return Ok(());
        }
        self.tiers.push(tier);
        if let Some(from) = self.unbalanced() {
            self.merge_from(from, means)?;
        }
        let in_memory = self.tiers.iter().filter(|tier| tier.is_in_memory());
        if in_memory.map(Tier::memory_bytes).sum::<u64>() > means.memory_bytes {
            let first = self.tiers.iter().position(Tier::is_in_memory);
            self.merge_from(first.unwrap_or(0), means)?;
        }
        Ok(())
    }

    /// Adds runs, each across the whole key space, as they are; with the next tier few are made of
    /// many.
    pub(super) fn add_runs(&mut self, runs: Vec<Segment>) {
        let tiers = runs.into_iter().map(|run| Tier {
            segments: vec![run],
        });
        self.tiers.extend(tiers.filter(|tier| tier.n_keys() > 0));
    }

    /// The oldest tier that is no longer much larger than all younger ones.
    fn unbalanced(&self) -> Option<usize> {
        let mut younger = 0;
        let mut found = None;
        for (at, tier) in self.tiers.iter().enumerate().rev() {
            if younger > 0 && tier.n_keys() < RATIO * younger {
                found = Some(at);
            }
            younger += tier.n_keys();
        }
        found
    }

    /// Makes one tier of all from `from` on.
    pub(super) fn merge_from(&mut self, from: usize, means: &Means<'_>) -> Result<(), Error> {
        let old: Vec<Tier> = self.tiers.drain(from..).collect();
        let segments: Vec<&Segment> = old.iter().flat_map(|tier| &tier.segments).collect();
        let merged = merge(&segments, means)?;
        self.tiers.push(merged);
        (old.into_iter()).try_for_each(|tier| tier.retire(means.folder))
    }
}

/// One tier of all keys of some runs.
fn merge(segments: &[&Segment], means: &Means<'_>) -> Result<Tier, Error> {
    let data_bytes: u64 = segments.iter().map(|segment| segment.data_bytes).sum();
    let are_in_memory = segments.iter().all(|segment| segment.is_in_memory());
    if !are_in_memory || data_bytes >= means.memory_bytes / 2 {
        return write_merged(segments, false, means);
    }
    let newest = means.keyed.key_shape();
    let views = Views::new(segments.iter().copied(), means.keyed);
    let runs: Vec<Versioned<'_>> = segments.iter().map(|segment| views.of(segment)).collect();
    let mut writer = RunWriter::new(MemoryBlocks::default(), newest.n_words, false);
    compact(&runs, KeyRange::ALL, &mut writer, || false)?;
    let segments = vec![Segment::keep(writer, newest.version)?];
    Ok(Tier { segments })
}

/// One tier on disk of all keys of some runs, with their ordinals or without.
pub(super) fn write_merged(
    segments: &[&Segment],
    with_ordinals: bool,
    means: &Means<'_>,
) -> Result<Tier, Error> {
    let newest = means.keyed.key_shape();
    let views = Views::new(segments.iter().copied(), means.keyed);
    let runs: Vec<Versioned<'_>> = segments.iter().map(|segment| views.of(segment)).collect();
    let n_keys: u64 = segments.iter().map(|segment| segment.n_keys()).sum();
    let n_parts = (n_keys / PART_KEYS).clamp(1, 2 * means.n_threads as u64) as usize;
    let splitters = fence_splitters(newest.n_words, &runs, n_parts);
    let segments = in_parallel(means.n_threads, splitters.n_parts(), |part| {
        let sink = BlockWriter::create(means.folder, RUN)?;
        let mut writer = RunWriter::new(sink, newest.n_words, with_ordinals);
        compact(&runs, splitters.range(part), &mut writer, || false)?;
        Segment::finish(writer, newest.version, means.durable)
    })?;
    Ok(Tier { segments })
}

/// Runs of any version, seen in the newest layout.
pub(super) struct Views<'a> {
    newest: u32,
    n_words: usize,
    /// For each older version: from the newest to it, and back.
    older: Vec<(u32, Between<'a>, Between<'a>)>,
}

/// Turns keys of one version into those of another.
struct Between<'a>(Recoder<'a>);

impl Recode for Between<'_> {
    fn recode(&self, key: &[u64], out: &mut [u64]) -> bool {
        self.0.recode(key, out)
    }
}

impl<'a> Views<'a> {
    pub(super) fn new<'s>(segments: impl Iterator<Item = &'s Segment>, keyed: &'a Keyed) -> Self {
        let newest = keyed.key_shape();
        let mut versions: Vec<u32> = segments.map(|segment| segment.version).collect();
        versions.sort_unstable();
        versions.dedup();
        versions.retain(|&version| version != newest.version);
        // Signatures have one version, so only the codec's keys get here.
        let between = |from, to| Between(keyed.codec.recoder(from, to));
        Views {
            newest: newest.version,
            n_words: newest.n_words,
            older: versions
                .into_iter()
                .map(|version| {
                    let to = between(newest.version, version);
                    (version, to, between(version, newest.version))
                })
                .collect(),
        }
    }

    pub(super) fn of<'s>(&'s self, segment: &'s Segment) -> Versioned<'s> {
        let older = self
            .older
            .iter()
            .find(|(version, ..)| *version == segment.version && segment.version != self.newest);
        Versioned {
            run: &segment.run,
            older: older.map(|(_, from_newest, to_newest)| Older {
                from_newest,
                to_newest,
                n_words: self.n_words,
            }),
        }
    }
}
