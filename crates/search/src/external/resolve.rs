//! Which candidates of a layer are new: equal ones count once, and those in older runs not at all.

use hadal_store::disk::BlockWriter;
use hadal_store::run::{Batch, KeyRange, MemoryBlocks, RunWriter, Sorted, Versioned, subtract};
use hadal_store::{BlockSink, Error};

use super::bitmap::Bitmap;
use super::buckets::Buckets;
use super::candidates::Candidates;
use super::parallel::in_parallel;
use super::tiers::{Means, RUN, Segment, Tier, Tiers, Views};
use crate::progress::Work;
use crate::shared::read;

/// What became of the candidates of a layer.
pub(crate) struct Resolved {
    /// Which are new.
    pub(crate) is_new: Bitmap,
    /// The keys of these.
    pub(crate) tier: Tier,
    /// Candidates that were equal to an earlier one.
    pub(crate) n_equal: u64,
    /// Candidates that are in older runs.
    pub(crate) n_old: u64,
    /// The keys of some candidates.
    pub(crate) sample: Vec<u64>,
}

/// Candidates that keep a thread busy long enough to be worth its waking.
const PART_KEYS: u64 = 1 << 12;

/// Into how many parts the work on `n_keys` sorted keys should be cut.
pub(super) fn n_parts_of(n_keys: u64, means: &Means<'_>) -> usize {
    (n_keys / PART_KEYS).clamp(1, 4 * means.n_threads as u64) as usize
}

/// How many keys are looked for at once with a share of `bytes`.
pub(super) fn keys_at_once(bytes: u64, n_words: usize) -> usize {
    (bytes / (8 * n_words as u64 + 16)) as usize
}

/// Memory for looking candidates up that is worth sharing out to more threads than there are
/// processors.
const MANY_BATCH_BYTES: u64 = 512 << 10;

/// Threads that resolve: half of them mostly wait for the disk, but where memory is short they would
/// take it from each other.
pub(super) fn resolving_threads(means: &Means<'_>) -> usize {
    match means.batch_bytes >= MANY_BATCH_BYTES {
        true => 2 * means.n_threads,
        false => means.n_threads,
    }
}

/// Finds out which candidates are new, as far as runs tell that are not left alone.
pub(crate) fn resolve(
    candidates: &Candidates,
    tiers: &Tiers,
    means: &Means<'_>,
) -> Result<Resolved, Error> {
    let n_parts = n_parts_of(candidates.len(), means);
    let is_new = Bitmap::new(candidates.len());
    // Half of the work is to tell what is new, and half to look at that.
    (means.gauge).begin_work(Work::Resolving, 0, 2 * candidates.len());
    let views = Views::new(tiers.looked_into(), means.keyed);
    // Most of what is old is not very old.
    let mut older: Vec<Versioned<'_>> = (tiers.looked_into())
        .map(|segment| views.of(segment))
        .collect();
    older.reverse();
    let n_words = means.keyed.key_shape().n_words;
    let n_threads = resolving_threads(means);
    let n_at_once = n_threads.min(n_parts) as u64;
    let resolving = Resolving {
        is_new: &is_new,
        older: &older,
        batch_keys: keys_at_once(means.batch_bytes / n_at_once, n_words),
        is_small: candidates.len() * 8 * n_words as u64 <= means.memory_bytes,
        sample_stride: candidates.sample_stride(),
        means,
    };
    let hands = read(means.hands);
    let parts = match Buckets::new(&hands, &candidates.spills, candidates.len()) {
        None => Vec::new(),
        Some(buckets) => {
            let most = candidates.sorted_keys(&hands, !candidates.spills.is_empty(), means);
            let rows = buckets.rows(n_parts);
            in_parallel(n_threads, rows.len(), |row| {
                let row = rows[row].clone();
                let mut sorted = buckets.sorted(row.clone(), most, means.keyed);
                resolving.part(&mut sorted, buckets.n_in(&row), buckets.range(&row))
            })?
        }
    };
    let (mut segments, mut sample, mut n_distinct) = (Vec::new(), Vec::new(), 0);
    for part in parts {
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
        sample,
    })
}

/// What resolving a part of the candidates needs.
struct Resolving<'a> {
    is_new: &'a Bitmap,
    older: &'a [Versioned<'a>],
    /// Candidates that are looked for at once.
    batch_keys: usize,
    /// Whether the layer stays in memory.
    is_small: bool,
    /// Of so many candidates one is remembered.
    sample_stride: u64,
    means: &'a Means<'a>,
}

/// What became of a part of the candidates.
struct Part {
    segment: Segment,
    n_distinct: u64,
    sample: Vec<u64>,
}

impl Resolving<'_> {
    /// Makes a run of what is new among about `n_about` ascending candidates in `range`.
    fn part(
        &self,
        candidates: &mut dyn Sorted,
        n_about: u64,
        range: KeyRange<'_>,
    ) -> Result<Part, Error> {
        let (n_words, version) = (candidates.n_words(), self.means.keyed.key_shape().version);
        let mut distinct = Observed {
            means: self.means,
            keys: candidates,
            n_keys: 0,
            stride: self.sample_stride,
            sample: Vec::new(),
        };
        let segment = if self.is_small {
            let writer = RunWriter::new(MemoryBlocks::default(), n_words);
            Segment::keep(
                self.write_new(&mut distinct, n_about, range, writer)?,
                version,
            )?
        } else {
            let sink = BlockWriter::create(self.means.folder, RUN)?;
            let writer = RunWriter::new(sink, n_words);
            let writer = self.write_new(&mut distinct, n_about, range, writer)?;
            Segment::finish(writer, version, self.means.durable)?
        };
        Ok(Part {
            segment,
            n_distinct: distinct.n_keys,
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

/// Keys that are counted as they go by, and some of them remembered. They end early if the search is
/// to stop, which then takes no notice of them.
struct Observed<'a> {
    means: &'a Means<'a>,
    keys: &'a mut dyn Sorted,
    n_keys: u64,
    stride: u64,
    sample: Vec<u64>,
}

impl Sorted for Observed<'_> {
    fn n_words(&self) -> usize {
        self.keys.n_words()
    }

    fn next_batch(&mut self, batch: &mut Batch) -> Result<bool, Error> {
        batch.clear();
        if self.means.stop.is_raised() {
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
        self.means.gauge.note_worked(n_keys);
        Ok(more)
    }
}
