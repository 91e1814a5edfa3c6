//! Which candidates of a layer are new: equal ones count once, and those in older runs not at all.

use hadal_model::Stop;
use hadal_store::disk::BlockWriter;
use hadal_store::run::{
    Batch, MemoryBlocks, Merge, RunKeys, RunWriter, Sorted, SortedParts, Splitters, Versioned,
    fence_splitters, subtract,
};
use hadal_store::{BlockSink, Error};

use super::bitmap::Bitmap;
use super::candidates::{Candidates, split};
use super::parallel::in_parallel;
use super::tiers::{Means, RUN, Segment, Tier, Tiers, Views};
use crate::progress::{Gauge, Work};

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
}

/// Candidates that keep a thread busy long enough to be worth its waking.
const PART_KEYS: u64 = 1 << 12;

/// Finds out which candidates are new.
pub(crate) fn resolve(
    candidates: &Candidates,
    tiers: &Tiers,
    means: &Means<'_>,
) -> Result<Resolved, Error> {
    let shape = means.keyed.key_shape();
    let n_words = shape.n_words;
    let is_new = Bitmap::new(candidates.len());
    // Half of the work is to tell what is new, and half to look at that.
    (means.gauge).begin_work(Work::Resolving, 0, 2 * candidates.len());
    let Candidates {
        keys,
        first,
        sub_runs,
        ..
    } = candidates;
    let sub_runs: Vec<&Segment> = sub_runs.iter().flat_map(|run| &run.segments).collect();
    let views = Views::new(
        tiers.segments().chain(sub_runs.iter().copied()),
        means.keyed,
    );
    // Most of what is old is not very old.
    let mut older: Vec<Versioned<'_>> = tiers.segments().map(|segment| views.of(segment)).collect();
    older.reverse();
    let sub_runs: Vec<Versioned<'_>> = sub_runs.into_iter().map(|run| views.of(run)).collect();

    let fine = candidates.splitters();
    let splits = split(keys, n_words, *first, &fine, means.n_threads)?;
    let n_parts = (candidates.len() / PART_KEYS).clamp(1, 4 * means.n_threads as u64) as usize;
    let parts = if sub_runs.is_empty() {
        Splitters::sample(n_words, &[keys], n_parts)
    } else {
        fence_splitters(n_words, &sub_runs, n_parts)
    };
    let n_at_once = means.n_threads.min(parts.n_parts()) as u64;
    let batch_keys = means.batch_bytes / n_at_once / (8 * n_words as u64 + 16);

    let is_small = candidates.len() * 8 * n_words as u64 <= means.memory_bytes;
    let n_new = |segment: &Segment| segment.n_keys();
    let results = in_parallel(means.n_threads, parts.n_parts(), |part| {
        let range = parts.range(part);
        let mut inputs: Vec<Box<dyn Sorted + '_>> = Vec::new();
        if !keys.is_empty() {
            inputs.push(Box::new(SortedParts::new(&splits, &fine, range)));
        }
        for &sub_run in &sub_runs {
            inputs.push(Box::new(RunKeys::new(sub_run, range)));
        }
        let mut distinct = Counted {
            gauge: means.gauge,
            stop: means.stop,
            n_keys: 0,
            keys: match inputs.len() {
                1 => inputs.remove(0),
                _ => Box::new(Merge::new(n_words, inputs)),
            },
        };
        let segment = if is_small {
            let writer = RunWriter::new(MemoryBlocks::default(), n_words, false);
            let writer = write_new(&mut distinct, &older, batch_keys, &is_new, writer)?;
            Segment::keep(writer, shape.version)?
        } else {
            let sink = BlockWriter::create(means.folder, RUN)?;
            let writer = RunWriter::new(sink, n_words, false);
            let writer = write_new(&mut distinct, &older, batch_keys, &is_new, writer)?;
            Segment::finish(writer, shape.version, means.durable)?
        };
        Ok((segment, distinct.n_keys))
    })?;
    let n_distinct: u64 = results.iter().map(|(_, n)| n).sum();
    let segments: Vec<Segment> = results.into_iter().map(|(segment, _)| segment).collect();
    let n_new: u64 = segments.iter().map(n_new).sum();
    Ok(Resolved {
        is_new,
        tier: Tier { segments },
        n_equal: candidates.len() - n_distinct,
        n_old: n_distinct - n_new,
    })
}

/// Writes those of `candidates` that no older run has, and sets their bits.
fn write_new<S: BlockSink>(
    candidates: &mut dyn Sorted,
    older: &[Versioned<'_>],
    batch_keys: u64,
    is_new: &Bitmap,
    mut writer: RunWriter<S>,
) -> Result<RunWriter<S>, Error> {
    subtract(candidates, older, batch_keys as usize, |keys, ordinals| {
        ordinals.iter().for_each(|&ordinal| is_new.set(ordinal));
        writer.push(keys, &[])
    })?;
    Ok(writer)
}

/// Keys that are counted as they go by. They end early if the search is to stop, which then takes
/// no notice of them.
struct Counted<'a> {
    gauge: &'a Gauge,
    stop: &'a Stop,
    keys: Box<dyn Sorted + 'a>,
    n_keys: u64,
}

impl Sorted for Counted<'_> {
    fn n_words(&self) -> usize {
        self.keys.n_words()
    }

    fn has_ordinals(&self) -> bool {
        self.keys.has_ordinals()
    }

    fn next_batch(&mut self, batch: &mut Batch) -> Result<bool, Error> {
        batch.clear();
        if self.stop.is_raised() {
            return Ok(false);
        }
        let more = self.keys.next_batch(batch)?;
        let n_keys = (batch.keys.len() / self.keys.n_words()) as u64;
        self.n_keys += n_keys;
        self.gauge.note_worked(n_keys);
        Ok(more)
    }
}
