//! Resolving the candidates of a rank: of equal ones the first counts, and those in older runs are
//! dropped.

use hadal_store::candidates::Bitmap;
use hadal_store::disk::{BlockWriter, STREAM_BYTES};
use hadal_store::partition::Buckets;
use hadal_store::run::{Batch, KeyRange, MemoryBlocks, RunWriter, Sorted, Versioned, subtract};
use hadal_store::tiers::{RUN, Segment, Tier, Tiers, Views};
use hadal_store::{BlockSink, Error, in_parallel};

use super::candidates::Candidates;
use super::context::DiskContext;
use crate::engine::Reopening;
use crate::progress::Work;

/// The result for the candidates of a rank.
pub(crate) struct Resolved {
    /// Which are new.
    pub(crate) is_new: Bitmap,
    /// The keys of these.
    pub(crate) tier: Tier,
    /// Candidates equal to an earlier one.
    pub(crate) n_equal: u64,
    /// Candidates that are in older runs.
    pub(crate) n_old: u64,
    /// Those of them that are cheaper paths to their states, and how many there are.
    is_cheaper: Bitmap,
    pub(crate) n_cheaper: u64,
    /// Sampled keys of candidates.
    pub(crate) sample: Vec<u64>,
}

impl Resolved {
    /// The candidates that are cheaper paths to states that are known, if there are some.
    pub(crate) fn cheaper(&self) -> Option<&Bitmap> {
        (self.n_cheaper > 0).then_some(&self.is_cheaper)
    }
}

/// Candidates that are worth waking a thread for.
const PART_KEYS: u64 = 1 << 12;

/// Number of parts that work on `n_keys` sorted keys is divided into.
pub(super) fn n_parts_of(n_keys: u64, disk: &DiskContext<'_>) -> usize {
    (n_keys / PART_KEYS).clamp(1, 4 * disk.n_threads as u64) as usize
}

/// Number of keys looked up at once with a share of `bytes`.
pub(super) fn keys_at_once(bytes: u64, n_words: usize) -> usize {
    (bytes / (8 * n_words as u64 + 16)) as usize
}

/// Memory for look-ups that is worth dividing among more threads than there are processors.
const MANY_BATCH_BYTES: u64 = 512 << 10;

/// Number of threads that should resolve: half of them mostly wait for the disk, but where memory is
/// short they would take it from each other.
pub(super) fn wanted_threads(disk: &DiskContext<'_>) -> usize {
    match disk.shares.lookup >= MANY_BATCH_BYTES {
        true => 2 * disk.n_threads,
        false => disk.n_threads,
    }
}

/// How many threads resolve, and what their readers take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    pub(super) n_threads: usize,
    /// Memory of all readers beyond their own, which others lend.
    pub(super) lent_bytes: u64,
}

impl Reading {
    /// Each thread has up to `n_readers` readers, for which others can spare `spare_bytes`.
    pub(super) fn new(n_readers: usize, spare_bytes: u64, disk: &DiskContext<'_>) -> Self {
        let thread_bytes = n_readers.max(1) as u64 * STREAM_BYTES;
        let own_bytes = disk.shares.own_readers();
        let most_bytes = own_bytes + disk.shares.most_lent(spare_bytes);
        let most = (most_bytes / thread_bytes).max(1) as usize;
        let n_threads = wanted_threads(disk).min(most);
        let bytes = n_threads as u64 * thread_bytes;
        Reading {
            n_threads,
            lent_bytes: bytes.saturating_sub(own_bytes),
        }
    }
}

/// Finds the candidates that are in no run, but for runs that are skipped, and those that are cheaper
/// paths to states that are.
pub(crate) fn resolve(
    candidates: &Candidates,
    tiers: &Tiers,
    reopening: Option<Reopening<'_>>,
    disk: &DiskContext<'_>,
) -> Result<Resolved, Error> {
    let n_parts = n_parts_of(candidates.len(), disk);
    let is_new = Bitmap::new(candidates.numbers().end);
    let n_cheaper_bits = reopening.map_or(0, |_| candidates.numbers().end);
    let is_cheaper = Bitmap::new(n_cheaper_bits);
    // The other half of the work is promoting what is new to states.
    disk.gauge()
        .begin_work(Work::Resolving, 0, 2 * candidates.len());
    let views = Views::new(tiers.searched(), disk.keys.layouts());
    // Most duplicates are in young runs.
    let mut older: Vec<Versioned<'_>> = (tiers.searched())
        .map(|segment| views.of(segment))
        .collect();
    older.reverse();
    let n_words = disk.keys.shape().n_words;
    let reading = candidates.reading(tiers, disk);
    let n_threads = reading.n_threads;
    let n_at_once = n_threads.min(n_parts) as u64;
    let resolving = Resolving {
        is_new: &is_new,
        reopening: reopening.map(|reopening| (reopening, &is_cheaper)),
        older: &older,
        batch_keys: keys_at_once(disk.shares.lookup / n_at_once, n_words),
        is_small: candidates.len() * 8 * n_words as u64 <= disk.shares.runs,
        sample_stride: candidates.sample_stride(disk),
        disk,
    };
    let buffers = &candidates.buffers;
    let parts = match Buckets::new(buffers, &candidates.spills, candidates.numbers().end) {
        None => Vec::new(),
        Some(buckets) => {
            let limits = candidates.sort_limits(reading, disk);
            let (rows, runs) = (buckets.rows(n_parts), disk.runs());
            in_parallel(n_threads, rows.len(), |row| {
                let row = rows[row].clone();
                let mut sorted = buckets.sorted(row.clone(), limits, &runs);
                resolving.part(&mut sorted, buckets.n_in(&row), buckets.range(&row))
            })?
        }
    };
    let (mut segments, mut sample, mut n_distinct) = (Vec::new(), Vec::new(), 0);
    let mut n_cheaper = 0;
    for part in parts {
        n_cheaper += part.n_cheaper;
        segments.push(part.segment);
        sample.extend(part.sample);
        n_distinct += part.n_distinct;
    }
    let n_new: u64 = segments.iter().map(Segment::n_keys).sum();
    Ok(Resolved {
        is_new,
        tier: Tier { segments },
        n_equal: candidates.len() - n_distinct,
        n_old: n_distinct - n_new,
        is_cheaper,
        n_cheaper,
        sample,
    })
}

/// What resolving a part of the candidates needs.
struct Resolving<'a> {
    is_new: &'a Bitmap,
    /// What is looked up to find cheaper paths, and where they are marked.
    reopening: Option<(Reopening<'a>, &'a Bitmap)>,
    older: &'a [Versioned<'a>],
    /// Candidates looked up at once.
    batch_keys: usize,
    /// Whether the run of the rank stays in memory.
    is_small: bool,
    /// One in this many candidates is sampled.
    sample_stride: u64,
    disk: &'a DiskContext<'a>,
}

/// The result for a part of the candidates.
struct Part {
    segment: Segment,
    n_distinct: u64,
    n_cheaper: u64,
    sample: Vec<u64>,
}

impl Resolving<'_> {
    /// Writes a run of what is new among about `n_about` ascending candidates in `range`.
    fn part(
        &self,
        candidates: &mut dyn Sorted,
        n_about: u64,
        range: KeyRange<'_>,
    ) -> Result<Part, Error> {
        let (n_words, version) = (candidates.n_words(), self.disk.keys.shape().version);
        let mut distinct = Observed {
            disk: self.disk,
            keys: candidates,
            n_keys: 0,
            stride: self.sample_stride,
            sample: Vec::new(),
            reopening: self.reopening,
            n_cheaper: 0,
            costs: Vec::new(),
        };
        let segment = if self.is_small {
            let writer = RunWriter::new(MemoryBlocks::default(), n_words);
            Segment::finish_in_memory(
                self.write_new(&mut distinct, n_about, range, writer)?,
                version,
            )?
        } else {
            let sink = BlockWriter::create(self.disk.folder, RUN)?;
            let writer = RunWriter::new(sink, n_words);
            let writer = self.write_new(&mut distinct, n_about, range, writer)?;
            Segment::finish(writer, version, self.disk.durable)?
        };
        Ok(Part {
            segment,
            n_distinct: distinct.n_keys,
            n_cheaper: distinct.n_cheaper,
            sample: distinct.sample,
        })
    }

    /// Writes those of `candidates` that no older run has, and sets their bits.
    fn write_new<S: BlockSink>(
        &self,
        candidates: &mut dyn Sorted,
        n_about: u64,
        range: KeyRange<'_>,
        mut writer: RunWriter<S>,
    ) -> Result<RunWriter<S>, Error> {
        let Resolving { older, is_new, .. } = self;
        let write = |keys: &[u64], ordinals: &[u64]| {
            ordinals.iter().for_each(|&ordinal| is_new.set(ordinal));
            writer.push(keys)
        };
        subtract(candidates, n_about, range, older, self.batch_keys, write)?;
        Ok(writer)
    }
}

/// Keys that are counted, sampled and looked up among costs as they are read. They end early if the search is to stop,
/// which then ignores the result.
struct Observed<'a> {
    disk: &'a DiskContext<'a>,
    keys: &'a mut dyn Sorted,
    n_keys: u64,
    stride: u64,
    sample: Vec<u64>,
    reopening: Option<(Reopening<'a>, &'a Bitmap)>,
    n_cheaper: u64,
    /// Scratch.
    costs: Vec<u64>,
}

impl Sorted for Observed<'_> {
    fn n_words(&self) -> usize {
        self.keys.n_words()
    }

    fn next_batch(&mut self, batch: &mut Batch) -> Result<bool, Error> {
        batch.clear();
        if self.disk.stop().is_raised() {
            return Ok(false);
        }
        let more = self.keys.next_batch(batch)?;
        let n_words = self.keys.n_words();
        let n_keys = (batch.keys.len() / n_words) as u64;
        let mut at = self.n_keys.next_multiple_of(self.stride) - self.n_keys;
        while at < n_keys {
            let from = at as usize * n_words;
            self.sample
                .extend_from_slice(&batch.keys[from..from + n_words]);
            at += self.stride;
        }
        self.n_keys += n_keys;
        if let Some((reopening, is_cheaper)) = self.reopening {
            let n_cheaper = &mut self.n_cheaper;
            reopening.each_cheaper(&batch.keys, &mut self.costs, |position| {
                is_cheaper.set(batch.ordinals[position]);
                *n_cheaper += 1;
            })?;
        }
        self.disk.gauge().note_worked(n_keys);
        Ok(more)
    }
}
