//! Candidates of the next rank: states that may be new, in a log in the order of generation, and
//! their keys partitioned into buckets that are sorted later.

use std::ops::Range;

use hadal_store::key_space::recode;
use hadal_store::partition::{
    KeySample, PartitionBuffers, SortLimits, Spills, least_page_bytes, most_at_once,
};
use hadal_store::run::{Splitters, fence_splitters, lookup_readers};
use hadal_store::tiers::{Tiers, Views};
use hadal_store::{Error, Slice, in_parallel};

use super::context::DiskContext;
use super::resolve::{Reading, wanted_threads};
use crate::budget::{Shares, retention};
use hadal_store::candidate_log::{CandidateLog, LOG_PIECE_BYTES, keys_of_piece};

/// The candidates of a rank.
pub(crate) struct Candidates {
    /// Keys and parents, in the order of generation.
    pub(crate) log: CandidateLog,
    /// Number of the first candidate that counts; those before it were admitted in memory.
    pub(super) first: u64,
    /// Keys by bucket, in memory.
    pub(crate) buffers: PartitionBuffers,
    /// Keys by bucket that had no room in the buffers.
    pub(super) spills: Spills,
    /// How many buckets the rank should have, and whether their skew was checked.
    n_buckets: usize,
    is_skew_checked: bool,
    /// Number of candidates of the last rank, and keys sampled of several.
    len_before: u64,
    sample: KeySample,
}

/// Keys in a bucket, where that does not make too many buckets.
const BUCKET_KEYS: u64 = 3 << 10;
const MAX_BUCKETS: u64 = 1 << 12;
/// Least number of bytes that a chain of pages should come to: with less, pages are all but empty.
const CHAIN_BYTES: u64 = 512;
/// Divisor: skew is checked when the buffers hold this part of their share.
const SKEW_CHECKED_AT: u64 = 16;
/// Least number of keys that are sorted at once, however little memory there is.
const MIN_SORTED_KEYS: u64 = 8;
/// Least memory for the parts of a bucket that is too large.
const MIN_PART_BYTES: u64 = 32 << 10;
/// Keys sampled of a rank: at least this many, and this many for each bucket.
const SAMPLE_KEYS: u64 = 1 << 13;
const BUCKET_SAMPLE: u64 = 8;
/// Memory that a sample may take in any case.
const SAMPLE_BYTES: u64 = 1 << 20;
/// With fewer sampled keys, bucket borders are taken from the runs.
const MIN_SAMPLE_KEYS: usize = 64;

impl Candidates {
    pub(crate) fn new(disk: &DiskContext<'_>) -> Result<Self, Error> {
        Ok(Candidates {
            log: empty_log(disk)?,
            first: 0,
            buffers: PartitionBuffers::default(),
            spills: Spills::default(),
            n_buckets: 1,
            is_skew_checked: false,
            len_before: 0,
            sample: KeySample::default(),
        })
    }

    /// Takes a log of candidates from the candidate `next` on, and partitions their keys.
    pub(crate) fn load(
        &mut self,
        log: CandidateLog,
        mut next: u64,
        tiers: &Tiers,
        disk: &DiskContext<'_>,
    ) -> Result<(), Error> {
        self.log = log;
        self.first = next;
        self.log.end_piece()?;
        self.len_before = self.len();
        // A piece for each buffer, so that ordinals ascend there; its keys take several times its
        // bytes.
        let n_at_once = disk.shares.sort / (8 * LOG_PIECE_BYTES as u64);
        let n_at_once = n_at_once.clamp(1, disk.n_threads as u64) as usize;
        loop {
            let mut pieces: Vec<(u64, Slice)> = Vec::with_capacity(n_at_once);
            while pieces.len() < n_at_once
                && let Some(piece) = self.log.read_piece(next)?
            {
                let first = next;
                next += piece.n_records() as u64;
                pieces.push((first, piece));
            }
            if pieces.is_empty() {
                return Ok(());
            }
            let n_keys = pieces.iter().map(|(_, piece)| piece.n_records()).sum();
            self.make_room(n_keys, tiers, disk)?;
            let buffers = &self.buffers;
            in_parallel(disk.n_threads, pieces.len(), |number| {
                let (first, piece) = &pieces[number];
                let mut keys = Vec::new();
                keys_of_piece(piece, disk.keys, &mut keys)?;
                buffers.partition(number, &keys, *first);
                Ok(())
            })?;
            for (first, _) in pieces {
                self.log.evict_piece(first);
            }
        }
    }

    /// One in this many keys is sampled for the next rank.
    pub(super) fn sample_stride(&self, disk: &DiskContext<'_>) -> u64 {
        let wanted = SAMPLE_KEYS.max(BUCKET_SAMPLE * self.n_buckets as u64);
        // Wide keys would take more memory than all else.
        let most_bytes = disk.shares.lookup.max(SAMPLE_BYTES);
        let key_bytes = 8 * disk.keys.shape().n_words as u64;
        let most = (most_bytes / key_bytes).max(MIN_SAMPLE_KEYS as u64);
        (self.len() / wanted.min(most)).max(1)
    }

    /// Number of candidates.
    pub(crate) fn len(&self) -> u64 {
        self.log.len() - self.first
    }

    /// Numbers of the candidates.
    pub(super) fn numbers(&self) -> Range<u64> {
        self.first..self.log.len()
    }

    /// Number of candidates of the last rank.
    pub(crate) fn len_before(&self) -> u64 {
        self.len_before
    }

    /// Memory held, in bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let sample = self.sample.memory_bytes();
        let keys = self.buffers.memory_bytes() + self.spills.memory_bytes();
        self.log.memory_bytes() + keys + sample
    }

    /// Makes room in the buffers for `n` keys, which the caller partitions next. `tiers` has keys of
    /// all ranks.
    pub(crate) fn make_room(
        &mut self,
        n: usize,
        tiers: &Tiers,
        disk: &DiskContext<'_>,
    ) -> Result<(), Error> {
        self.spills.reap()?;
        if self.buffers.splitters().is_none() {
            self.n_buckets = self.wanted_buckets(disk);
            let splitters = self.bucket_splitters(tiers, disk);
            let (shape, spare) = (disk.keys.shape(), disk.folder.lent_memory());
            let share = disk.shares.buckets;
            (self.buffers).begin(splitters, shape, disk.n_threads, share, spare);
        }
        self.reclaim_lent(n, tiers, disk);
        let has_keys = self.buffers.bytes_with(0) > 0;
        let is_filling = self.buffers.bytes_with(n) > disk.shares.buckets / SKEW_CHECKED_AT;
        if !self.is_skew_checked && has_keys && is_filling {
            self.is_skew_checked = true;
            if self.spills.is_empty() && self.is_skewed(disk) {
                self.repartition(n, tiers, disk)?;
            }
        }
        let is_over = self.buffers.bytes_with(n) > disk.shares.buckets;
        if self.buffers.bytes_with(0) > 0 && is_over {
            self.spills.take(&mut self.buffers, &disk.runs())?;
        }
        Ok(())
    }

    /// Whether some bucket has far more than its share of keys and would become too large to sort.
    fn is_skewed(&self, disk: &DiskContext<'_>) -> bool {
        let n_expected = self.expected_len(disk);
        let will_spill = !self.fits_buffers(n_expected, disk);
        let most_bytes = sorting_bytes(will_spill, disk);
        let most = most_bytes / self.buffers.bytes_per_key(disk.keys.shape());
        self.buffers.is_skewed(self.n_buckets, n_expected, most)
    }

    /// Moves the borders of buckets: the first keys of this rank show what earlier ranks did not.
    fn repartition(
        &mut self,
        n: usize,
        tiers: &Tiers,
        disk: &DiskContext<'_>,
    ) -> Result<(), Error> {
        let before = self.sample.keys(self.buffers.shape());
        // While keys are partitioned again they exist several times.
        reclaim_all(tiers, disk);
        let spare = disk.folder.lent_memory();
        (self.buffers).repartition(self.n_buckets, before, disk.shares.buckets, spare)?;
        self.reclaim_lent(n, tiers, disk);
        Ok(())
    }

    /// What the buffers leave of their share is lent to the block cache of runs. Takes back what `n`
    /// more keys need.
    fn reclaim_lent(&self, n: usize, tiers: &Tiers, disk: &DiskContext<'_>) {
        let spare = disk.folder.lent_memory();
        let held = self
            .buffers
            .most_bytes_with(n)
            .max(self.buffers.memory_bytes());
        spare.lower_limit(disk.shares.buckets.saturating_sub(held));
        tiers.evict(disk.folder);
        if !self.buffers.take_pieces() {
            spare.clear();
        }
    }

    /// Ends the rank: from now on all its keys are in the buffers, or all in spills.
    pub(crate) fn end_rank(&mut self, tiers: &Tiers, disk: &DiskContext<'_>) -> Result<(), Error> {
        self.log.end_piece()?;
        if self.spills.is_empty() {
            // What the buffers leave is known now, until those of the next rank need more.
            let taken = self.buffers.memory_bytes() + self.reading(tiers, disk).lent_bytes;
            let left = disk.shares.buckets.saturating_sub(taken);
            disk.folder.lent_memory().set_limit(left);
            tiers.evict(disk.folder);
        } else {
            self.spills.take(&mut self.buffers, &disk.runs())?;
            // Buckets are sorted in the memory of the buffers, and in what they had lent.
            self.buffers.release();
            reclaim_all(tiers, disk);
            self.spills.settle(&disk.runs())?;
        }
        Ok(())
    }

    /// Continues with keys of the newest layout; those already there stay as they are.
    pub(crate) fn set_shape(&mut self, disk: &DiskContext<'_>) -> Result<(), Error> {
        self.log.set_shape(disk.keys.codec.newest())?;
        let shape = disk.keys.shape();
        let before = self.buffers.shape().filter(|before| *before != shape);
        let Some(before) = before else {
            return Ok(());
        };
        if self.buffers.bytes_with(0) > 0 {
            self.spills.take(&mut self.buffers, &disk.runs())?;
        }
        let recoder = disk.keys.codec.recoder(before.version, shape.version);
        self.buffers
            .set_shape(shape, |key, recoded| recode(&recoder, key, recoded));
        Ok(())
    }

    /// Forgets the candidates, for the next rank; `sample` are keys of some of them, of the newest
    /// layout.
    pub(crate) fn clear(&mut self, sample: Vec<u64>, disk: &DiskContext<'_>) -> Result<(), Error> {
        self.len_before = self.len();
        self.sample.add(sample, disk.keys.shape());
        self.discard(disk)
    }

    /// Forgets the candidates as if there had been none.
    pub(crate) fn discard(&mut self, disk: &DiskContext<'_>) -> Result<(), Error> {
        let log = empty_log(disk)?;
        std::mem::replace(&mut self.log, log).discard()?;
        self.first = 0;
        self.is_skew_checked = false;
        self.buffers.end();
        self.spills.retire(disk.folder)
    }

    /// How the candidates are read and looked up in `tiers`, with all keys in the buffers or all in
    /// spills.
    pub(super) fn reading(&self, tiers: &Tiers, disk: &DiskContext<'_>) -> Reading {
        let Shares { sort, buckets, .. } = disk.shares;
        let spare_bytes = match self.spills.is_empty() {
            true => buckets.saturating_sub(self.buffers.memory_bytes()),
            // The buffers are empty.
            false => sort + buckets,
        };
        // Each thread writes a run, too.
        let n_readers = self.spills.n_readers() + lookup_readers(tiers.n_young_tiers()) + 1;
        Reading::new(n_readers, spare_bytes, disk)
    }

    /// What a thread can sort of a bucket while files are read like this, with all keys in the
    /// buffers or all in spills.
    pub(super) fn sort_limits(&self, reading: Reading, disk: &DiskContext<'_>) -> SortLimits {
        let bytes = match self.spills.is_empty() {
            true => disk.shares.sort,
            false => left_for_sorting(reading.lent_bytes, disk),
        };
        let bytes = bytes / reading.n_threads as u64;
        SortLimits {
            // Keys in buffers are counted there, and those in spills are decoded as they are read.
            most_keys: keys_within(bytes, 0, disk.keys.shape().n_words),
            // The rest suffices for the keys of a part, which has half as many.
            part_bytes: (bytes / 3).max(MIN_PART_BYTES),
        }
    }

    /// Keys of a bucket that a thread should sort at most: as if each were there as it was
    /// partitioned too. Threads share the memory for sorting, and that of the buffers if these are
    /// empty.
    fn sorted_keys(&self, are_buffers_empty: bool, disk: &DiskContext<'_>) -> u64 {
        let n_threads = wanted_threads(disk) as u64;
        let bytes = sorting_bytes(are_buffers_empty, disk) / n_threads;
        let shape = disk.keys.shape();
        keys_within(bytes, self.buffers.bytes_per_key(shape), shape.n_words)
    }

    /// How many candidates the rank may have.
    fn expected_len(&self, disk: &DiskContext<'_>) -> u64 {
        match self.len_before {
            0 => 2 * disk.shares.buckets / self.buffers.bytes_per_key(disk.keys.shape()),
            len => len + len / 4,
        }
    }

    /// Whether the keys of `n` candidates fit the buffers.
    fn fits_buffers(&self, n: u64, disk: &DiskContext<'_>) -> bool {
        n * self.buffers.bytes_per_key(disk.keys.shape()) <= disk.shares.buckets
    }

    /// How many buckets the rank should have.
    fn wanted_buckets(&self, disk: &DiskContext<'_>) -> usize {
        let n_expected = self.expected_len(disk);
        let will_spill = !self.fits_buffers(n_expected, disk);
        // Half of what there is room for, because some are larger than others.
        let most_keys = self.sorted_keys(will_spill, disk) / 2;
        let wanted = n_expected.div_ceil(most_keys.clamp(1, BUCKET_KEYS));
        let chain_bytes = CHAIN_BYTES.max(2 * least_page_bytes(disk.keys.shape()) as u64);
        let most = disk.shares.buckets / (disk.n_threads as u64 * chain_bytes);
        wanted.min(most).clamp(1, MAX_BUCKETS) as usize
    }

    /// Where the buckets of a rank begin, predicted before there are keys.
    fn bucket_splitters(&self, tiers: &Tiers, disk: &DiskContext<'_>) -> Splitters {
        let shape = disk.keys.shape();
        let (n_words, n_buckets) = (shape.n_words, self.n_buckets);
        let sample = self.sample.keys(Some(shape));
        let n_sampled = sample.len() / n_words;
        if n_sampled >= MIN_SAMPLE_KEYS {
            let n_buckets = n_buckets.min(n_sampled / 2);
            return Splitters::sample(n_words, &[sample], n_buckets);
        }
        // Keys of all ranks are not quite like those of this one, but better than nothing.
        let views = Views::new(tiers.segments(), disk.keys.layouts());
        let runs: Vec<_> = tiers.segments().map(|segment| views.of(segment)).collect();
        fence_splitters(n_words, &runs, n_buckets)
    }
}

/// Keys that are sorted in `bytes` of memory: each takes `coded_bytes`, and is there as words with its
/// ordinal and in a list by parts; what is sorted at once is there twice more.
fn keys_within(bytes: u64, coded_bytes: u64, n_words: usize) -> u64 {
    let key_bytes = coded_bytes + 8 * n_words as u64 + 14;
    let at_once_bytes = 16 * n_words as u64 + 32;
    let at_once = bytes / (key_bytes + at_once_bytes);
    let by_parts = bytes.saturating_sub(most_at_once(n_words) as u64 * at_once_bytes) / key_bytes;
    at_once.max(by_parts).max(MIN_SORTED_KEYS)
}

/// Memory for sorting buckets, whatever readers take.
fn sorting_bytes(are_buffers_empty: bool, disk: &DiskContext<'_>) -> u64 {
    let Shares { sort, buckets, .. } = disk.shares;
    match are_buffers_empty {
        true => left_for_sorting(disk.shares.most_lent(sort + buckets), disk),
        false => sort,
    }
}

/// Memory for sorting buckets where readers borrow `lent_bytes`: half of what there is at least, for
/// buckets that hold a few keys would all be cut.
fn left_for_sorting(lent_bytes: u64, disk: &DiskContext<'_>) -> u64 {
    let all = disk.shares.sort + disk.shares.buckets;
    all - lent_bytes.min(all / 2)
}

/// Takes back all memory that is lent to the block cache of runs, and frees it.
fn reclaim_all(tiers: &Tiers, disk: &DiskContext<'_>) {
    let spare = disk.folder.lent_memory();
    spare.set_limit(0);
    tiers.evict(disk.folder);
    spare.clear();
}

fn empty_log(disk: &DiskContext<'_>) -> Result<CandidateLog, Error> {
    let retention = retention(disk.shares.candidates, disk.durable);
    CandidateLog::new(Some((disk.folder, retention)), disk.keys)
}
