//! The buckets of a layer's candidates: stretches of the key space that are small enough to be put
//! in order in memory, one at a time.
//!
//! Keys are dealt out to buckets as they come ([`Hands`]). When hands are full they become a file,
//! a *spill*, in which the keys of a bucket lie together; where memory is so small that there are
//! many spills, some are joined. So a key is dealt out, sorted once, in the cache, and never merged.
//!
//! Where buckets end was learnt from the layers before or, if that does not suit it, from as many of
//! the first keys of this one besides. If a bucket becomes too large all the same, its keys are dealt
//! out to parts of it when it is read.
//! Spills do not survive a crash: all candidates are in a log besides.
//!
//! What a spill has of a bucket is one piece or several: number of bytes (8 bytes), number of keys
//! (4), version of the layout (4), and the keys as they were in a hand.

use std::ops::Range;

use hadal_store::disk::{BlockFile, BlockWriter, Folder, Kind};
use hadal_store::run::{
    Batch, KeyRange, Parts, SortScratch, Sorted, Split, Splitters, sort_keys, sort_part,
};
use hadal_store::{BLOCK_BYTES, BlockReader, BlockSink, BlockSource, Error};

use super::hands::{Hand, Hands, LastKey, Taken, least_page_bytes};
use super::parallel::in_parallel;
use super::tiers::Means;
use crate::visited::Keyed;

/// Files of spills.
const SPILL: Kind = Kind(*b"bkts");

/// So many spills that were joined equally often are made one, for each takes a block of memory
/// when it is read.
const MOST_SPILLS: usize = 16;

/// A file for less than this takes longer to make than to write.
const STRETCH_BYTES: u64 = 512 << 10;

/// Keys of a layer that are no longer in hands.
#[derive(Default)]
pub(super) struct Spills {
    /// Buckets by stretches, which threads spill at the same time.
    stretches: Vec<Stretch>,
    /// The last spill of each, while it is on its way to the disk: it is waited for when the next
    /// one comes.
    last: Vec<SpillWriter>,
    /// Keys in each bucket.
    n_keys: Vec<u64>,
}

/// Some buckets that follow each other.
struct Stretch {
    buckets: Range<usize>,
    spills: Vec<Spill>,
}

/// What some hands had of a stretch, in a file, the pieces of a bucket together.
struct Spill {
    file: BlockFile,
    /// Where each bucket begins in the payload of all blocks, and the end.
    starts: Vec<u64>,
    /// How often its keys were joined with others.
    n_joined: u32,
}

impl Spills {
    pub(super) fn is_empty(&self) -> bool {
        self.stretches.is_empty()
    }

    /// Memory held, in bytes.
    pub(super) fn memory_bytes(&self) -> u64 {
        let spills = self.stretches.iter().flat_map(|stretch| &stretch.spills);
        let n_words: usize = spills.map(|spill| spill.starts.capacity()).sum();
        8 * (n_words + self.n_keys.capacity()) as u64
    }

    /// Takes what is in hands, which have `bytes` when they are full.
    pub(super) fn take(
        &mut self,
        hands: &mut Hands,
        bytes: u64,
        means: &Means<'_>,
    ) -> Result<(), Error> {
        let Some(n_buckets) = hands.splitters().map(Splitters::n_parts) else {
            return Ok(());
        };
        if self.stretches.is_empty() {
            let n_worth = (bytes / STRETCH_BYTES).max(1) as usize;
            let n = means.n_threads.min(n_buckets).min(n_worth);
            let stretch = |i: usize| Stretch {
                buckets: i * n_buckets / n..(i + 1) * n_buckets / n,
                spills: Vec::new(),
            };
            self.stretches = (0..n).map(stretch).collect();
            self.n_keys = vec![0; n_buckets];
        }
        self.settle(means)?;
        let stretches = &self.stretches;
        self.last = in_parallel(means.n_threads, stretches.len(), |i| {
            SpillWriter::write(hands, stretches[i].buckets.clone(), means.folder)
        })?;
        for (bucket, n_keys) in self.n_keys.iter_mut().enumerate() {
            *n_keys += hands.n_keys(bucket);
        }
        hands.clear();
        Ok(())
    }

    /// Gives up memory of the last spill as far as that is written.
    pub(super) fn reap(&mut self) -> Result<(), Error> {
        (self.last.iter_mut()).try_for_each(|writer| writer.sink.reap())
    }

    /// Waits for the last spill, and joins some if there are many.
    pub(super) fn settle(&mut self, means: &Means<'_>) -> Result<(), Error> {
        for (stretch, writer) in self.stretches.iter_mut().zip(self.last.drain(..)) {
            stretch.spills.push(writer.finish(0)?);
        }
        while let Some(from) = self.stretches.first().and_then(Stretch::joinable) {
            let stretches = &self.stretches;
            let joined = in_parallel(means.n_threads, stretches.len(), |i| {
                Spill::join(&stretches[i].spills[from..], means.folder)
            })?;
            for (stretch, joined) in self.stretches.iter_mut().zip(joined) {
                for spill in stretch.spills.drain(from..) {
                    means.folder.retire(spill.file.name())?;
                }
                stretch.spills.push(joined);
            }
        }
        Ok(())
    }

    /// Gives up the files.
    pub(super) fn retire(&mut self, folder: &Folder) -> Result<(), Error> {
        self.n_keys.clear();
        self.last.clear();
        let stretches = self.stretches.drain(..);
        let mut spills = stretches.flat_map(|stretch| stretch.spills);
        spills.try_for_each(|spill| folder.retire(spill.file.name()))
    }
}

impl Stretch {
    /// From where on spills are to be joined, if they are. All stretches have equally many.
    fn joinable(&self) -> Option<usize> {
        let last = self.spills.last()?;
        let from = self.spills.len().checked_sub(MOST_SPILLS)?;
        (self.spills[from].n_joined == last.n_joined).then_some(from)
    }
}

/// Nobody else knows the file.
impl Drop for Spill {
    fn drop(&mut self) {
        self.file.abandon();
    }
}

impl Spill {
    /// All keys of some spills of a stretch.
    fn join(spills: &[Spill], folder: &Folder) -> Result<Self, Error> {
        let mut writer = SpillWriter::create(folder)?;
        let n_buckets = spills[0].starts.len() - 1;
        let mut stripes: Vec<Stripes<'_>> = spills
            .iter()
            .map(|spill| Stripes::new(spill, 0..n_buckets))
            .collect();
        for _ in 0..n_buckets {
            writer.begin_bucket();
            for stripes in &mut stripes {
                stripes.read_next(|bytes| writer.put(bytes))?;
            }
        }
        writer.end()?;
        writer.finish(spills[0].n_joined + 1)
    }
}

/// All keys of a layer.
pub(super) struct Buckets<'a> {
    hands: &'a Hands,
    splitters: &'a Splitters,
    stretches: &'a [Stretch],
    /// Keys in each bucket.
    n_keys: Vec<u64>,
    /// Keys in all.
    n_candidates: u64,
}

impl<'a> Buckets<'a> {
    /// What is in hands and spills, if anything was dealt out: the keys of `n_candidates`.
    pub(super) fn new(hands: &'a Hands, spills: &'a Spills, n_candidates: u64) -> Option<Self> {
        let splitters = hands.splitters()?;
        let spilled = |bucket: usize| spills.n_keys.get(bucket).copied().unwrap_or(0);
        let n_keys = (0..splitters.n_parts()).map(|bucket| hands.n_keys(bucket) + spilled(bucket));
        Some(Buckets {
            hands,
            splitters,
            stretches: &spills.stretches,
            n_keys: n_keys.collect(),
            n_candidates,
        })
    }

    /// About `n` rows of buckets with about as many keys each; none across stretches.
    pub(super) fn rows(&self, n: usize) -> Vec<Range<usize>> {
        let n_keys: u64 = self.n_keys.iter().sum();
        let mut rows = Vec::with_capacity(n);
        let (mut first, mut before) = (0, 0);
        for (bucket, n_here) in self.n_keys.iter().enumerate() {
            before += n_here;
            let ends = |stretch: &Stretch| stretch.buckets.end == bucket + 1;
            let is_last = bucket + 1 == self.n_keys.len() || self.stretches.iter().any(ends);
            if is_last || before * n as u64 >= n_keys * (rows.len() as u64 + 1) {
                rows.push(first..bucket + 1);
                first = bucket + 1;
            }
        }
        rows
    }

    /// Number of keys in a row of buckets.
    pub(super) fn n_in(&self, row: &Range<usize>) -> u64 {
        self.n_keys[row.clone()].iter().sum()
    }

    /// The part of the key space that a row of buckets covers.
    pub(super) fn range(&self, row: &Range<usize>) -> KeyRange<'a> {
        KeyRange {
            from: self.splitters.range(row.start).from,
            to: self.splitters.range(row.end - 1).to,
        }
    }

    /// The keys of a row of buckets in order, of which `most` are put in order at once.
    pub(super) fn sorted(
        &'a self,
        row: Range<usize>,
        most: u64,
        keyed: &'a Keyed,
    ) -> SortedRow<'a> {
        let has_row = |stretch: &&Stretch| stretch.buckets.contains(&row.start);
        let stripes = self.stretches.iter().find(has_row).map(|stretch| {
            let first = stretch.buckets.start;
            let places = row.start - first..row.end - first;
            let spills = stretch.spills.iter();
            spills
                .map(|spill| Stripes::new(spill, places.clone()))
                .collect()
        });
        SortedRow {
            reader: RowReader {
                buckets: self,
                keyed,
                stripes: stripes.unwrap_or_default(),
                bucket: row.start,
                bytes: Vec::new(),
            },
            row,
            most,
            parts_left: 0..0,
            parts: Hand::default(),
            taken: Taken::default(),
            fine: None,
            scratch: SortScratch::default(),
        }
    }
}

/// Keys of which a bucket is cut, for each part, and most parts.
const SAMPLES: usize = 256;
const MOST_PARTS: u64 = 1 << 12;
/// Keys that are sorted at once, so that they stay in the cache; up to twice as many are not worth
/// cutting.
const PART_KEYS: usize = 1 << 12;
pub(super) const MOST_AT_ONCE: usize = 2 * PART_KEYS;

/// Cuts the keys of `chunks` into parts that are sorted in the cache.
pub(super) fn part_splitters(n_words: usize, chunks: &[&[u64]]) -> Splitters {
    let n_keys = chunks.iter().map(|keys| keys.len()).sum::<usize>() / n_words;
    let n_parts = n_keys.div_ceil(PART_KEYS);
    Splitters::sample(n_words, chunks, n_parts.clamp(1, 1 << 15))
}

/// The keys of a row of buckets, ascending: a bucket at a time is read and put in order.
pub(super) struct SortedRow<'a> {
    reader: RowReader<'a>,
    /// Buckets to come.
    row: Range<usize>,
    most: u64,
    /// A bucket that was too large, in parts, and which of them are to come.
    parts: Hand,
    parts_left: Range<usize>,
    taken: Taken,
    /// Where many keys are taken, what of them is sorted one after the other, and which is next.
    fine: Option<(Parts, usize)>,
    scratch: SortScratch,
}

impl SortedRow<'_> {
    /// Takes the next keys, in the order of generation; false at the end.
    fn take_some(&mut self) -> Result<bool, Error> {
        if let Some(part) = self.parts_left.next() {
            self.taken.clear();
            let shape = self.reader.keyed.key_shape();
            let pile = self.parts.take(part, shape, &mut self.taken, |_| ());
            pile.expect("keys are what was dealt out");
            return Ok(true);
        }
        let Some(bucket) = self.row.next() else {
            return Ok(false);
        };
        self.reader.read(bucket)?;
        let n_keys = self.reader.buckets.n_keys[bucket];
        if n_keys > self.most {
            self.reader.cut(n_keys, self.most, &mut self.parts)?;
            self.parts_left = 0..self.parts.n_piles();
            return self.take_some();
        }
        self.taken.clear();
        self.reader.take(&mut self.taken, |_| ())?;
        Ok(true)
    }
}

impl Sorted for SortedRow<'_> {
    fn n_words(&self) -> usize {
        self.reader.keyed.key_shape().n_words
    }

    fn next_batch(&mut self, batch: &mut Batch) -> Result<bool, Error> {
        batch.clear();
        let n_words = self.n_words();
        while batch.keys.is_empty() {
            if let Some((parts, next)) = &mut self.fine {
                let Taken { keys, ordinals } = &self.taken;
                let splits = [Split::listed(n_words, keys, ordinals, parts)];
                sort_part(&splits, *next, &mut self.scratch, batch);
                *next += 1;
                if *next == parts.n_parts() {
                    self.fine = None;
                }
                continue;
            }
            if !self.take_some()? {
                return Ok(false);
            }
            let Taken { keys, ordinals } = &self.taken;
            if ordinals.len() <= MOST_AT_ONCE {
                sort_keys(n_words, keys, ordinals, &mut self.scratch, batch);
            } else {
                let fine = part_splitters(n_words, &[keys]);
                self.fine = Some((Parts::new(keys, &fine), 0));
            }
        }
        Ok(true)
    }
}

/// Reads the keys of a row of buckets, a bucket at a time.
struct RowReader<'a> {
    buckets: &'a Buckets<'a>,
    keyed: &'a Keyed,
    stripes: Vec<Stripes<'a>>,
    bucket: usize,
    /// What each spill has of the bucket.
    bytes: Vec<Vec<u8>>,
}

impl RowReader<'_> {
    /// Goes on to the next bucket, which is `bucket`.
    fn read(&mut self, bucket: usize) -> Result<(), Error> {
        self.bucket = bucket;
        self.bytes.resize_with(self.stripes.len(), Vec::new);
        for (stripes, all) in self.stripes.iter_mut().zip(&mut self.bytes) {
            all.clear();
            stripes.read_next(|bytes| {
                all.extend_from_slice(bytes);
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Appends the keys of the bucket to `taken`, some at a time, and gives it to `each` after each
    /// time.
    fn take(&self, taken: &mut Taken, mut each: impl FnMut(&mut Taken)) -> Result<(), Error> {
        self.take_from_hands(taken, &mut each)?;
        let mut spilled = self.bytes.iter().enumerate();
        spilled.try_for_each(|(spill, bytes)| self.take_spilled(spill, bytes, taken, &mut each))
    }

    /// As [`take`](Self::take), what is in hands.
    fn take_from_hands(
        &self,
        taken: &mut Taken,
        mut each: impl FnMut(&mut Taken),
    ) -> Result<(), Error> {
        let shape = self.keyed.key_shape();
        self.buckets.hands.each_pile(self.bucket, |hand| {
            let pile = hand.take(self.bucket, shape, taken, &mut each);
            pile.expect("keys are what was dealt out");
            Ok(())
        })
    }

    /// As [`take`](Self::take), the `bytes` that one spill has.
    fn take_spilled(
        &self,
        spill: usize,
        mut bytes: &[u8],
        taken: &mut Taken,
        mut each: impl FnMut(&mut Taken),
    ) -> Result<(), Error> {
        while !bytes.is_empty() {
            let piece = self.take_piece(&mut bytes, taken);
            piece.ok_or_else(|| Error::Damaged {
                file: self.stripes[spill].spill.file.name().to_owned(),
                offset: 0,
                what: "a bucket is not what was written".to_owned(),
            })?;
            each(taken);
        }
        Ok(())
    }

    /// Appends the keys of the piece with which `bytes` begin, in the newest layout; `None` if no
    /// piece is there.
    fn take_piece(&self, bytes: &mut &[u8], taken: &mut Taken) -> Option<()> {
        let (n_bytes, rest) = bytes.split_first_chunk()?;
        let (n_keys, rest) = rest.split_first_chunk()?;
        let (version, rest) = rest.split_first_chunk()?;
        let n_bytes = usize::try_from(u64::from_le_bytes(*n_bytes)).ok()?;
        let (n_keys, version) = (u32::from_le_bytes(*n_keys), u32::from_le_bytes(*version));
        let (piece, rest) = rest.split_at_checked(n_bytes)?;
        let newest = self.keyed.key_shape();
        let n_before = taken.ordinals.len();
        if version > newest.version {
            return None;
        }
        if version == newest.version {
            taken.append(piece, &mut LastKey::none(newest))?;
        } else {
            let shape = self.keyed.codec.shape(version);
            let mut older = Taken::default();
            older.append(piece, &mut LastKey::none(shape))?;
            taken.ordinals.append(&mut older.ordinals);
            (self.keyed).keys_of_words(version, &older.keys, &mut taken.keys);
        }
        *bytes = rest;
        let ordinals = &taken.ordinals[n_before..];
        let is_candidate = |&ordinal: &u64| ordinal < self.buckets.n_candidates;
        (ordinals.len() == n_keys as usize && ordinals.iter().all(is_candidate)).then_some(())
    }

    /// Deals the keys of the bucket, of which there are `n_keys`, out to `parts` of it with about
    /// `most` keys, or more where that would be too little to be worth a page.
    fn cut(&mut self, n_keys: u64, most: u64, parts: &mut Hand) -> Result<(), Error> {
        let shape = self.keyed.key_shape();
        let n_bytes = n_keys * self.buckets.hands.bytes_per_key(shape);
        let n_worth = n_bytes / (2 * least_page_bytes(shape) as u64);
        let n_parts = n_keys.div_ceil(most).min(n_worth).clamp(1, MOST_PARTS) as usize;
        let stride = (n_keys as usize / n_parts / SAMPLES).max(1);
        let mut sampled = Vec::new();
        let mut scratch = Taken::default();
        self.take(&mut scratch, |some| {
            let keys = some.keys.chunks_exact(shape.n_words);
            sampled.extend(keys.step_by(stride).flatten());
            some.clear();
        })?;
        let splitters = Splitters::sample(shape.n_words, &[&sampled], n_parts);
        parts.begin_parts(splitters.n_parts(), shape, n_bytes);
        let mut deal = |some: &mut Taken| {
            let ordinals = some.ordinals.iter().copied();
            parts.deal(&some.keys, ordinals, &splitters, shape);
            some.clear();
        };
        self.take_from_hands(&mut scratch, &mut deal)?;
        // What is dealt out need not be there twice.
        for (spill, bytes) in std::mem::take(&mut self.bytes).into_iter().enumerate() {
            self.take_spilled(spill, &bytes, &mut scratch, &mut deal)?;
        }
        Ok(())
    }
}

/// Writes a spill.
struct SpillWriter {
    sink: BlockWriter,
    block: Vec<u8>,
    starts: Vec<u64>,
    n_bytes: u64,
}

impl SpillWriter {
    fn create(folder: &Folder) -> Result<Self, Error> {
        Ok(SpillWriter {
            sink: BlockWriter::create_scratch(folder, SPILL)?,
            block: Vec::with_capacity(BLOCK_BYTES),
            starts: Vec::new(),
            n_bytes: 0,
        })
    }

    /// Writes what is in hands of some buckets.
    fn write(hands: &Hands, buckets: Range<usize>, folder: &Folder) -> Result<Self, Error> {
        let version = hands.shape().map_or(0, |shape| shape.version);
        let mut writer = SpillWriter::create(folder)?;
        for bucket in buckets {
            writer.begin_bucket();
            hands.each_pile(bucket, |hand| writer.put_pile(hand, bucket, version))?;
        }
        writer.end()?;
        Ok(writer)
    }

    fn begin_bucket(&mut self) {
        self.starts.push(self.n_bytes);
    }

    /// Writes what a hand has of a bucket.
    fn put_pile(&mut self, hand: &Hand, bucket: usize, version: u32) -> Result<(), Error> {
        let n_bytes: usize = hand.pages(bucket).map(<[u8]>::len).sum();
        self.put(&(n_bytes as u64).to_le_bytes())?;
        for number in [hand.n_keys(bucket), version] {
            self.put(&number.to_le_bytes())?;
        }
        hand.pages(bucket).try_for_each(|page| self.put(page))
    }

    fn put(&mut self, mut bytes: &[u8]) -> Result<(), Error> {
        self.n_bytes += bytes.len() as u64;
        while !bytes.is_empty() {
            let n = bytes.len().min(BLOCK_BYTES - self.block.len());
            self.block.extend_from_slice(&bytes[..n]);
            bytes = &bytes[n..];
            if self.block.len() == BLOCK_BYTES {
                self.sink.put(&self.block)?;
                self.block.clear();
            }
        }
        Ok(())
    }

    /// Hands over what is left of the last bucket.
    fn end(&mut self) -> Result<(), Error> {
        if !self.block.is_empty() {
            self.sink.put(&self.block)?;
            self.block = Vec::new();
        }
        self.starts.push(self.n_bytes);
        self.sink.hand_over()
    }

    /// Waits until everything is written.
    fn finish(self, n_joined: u32) -> Result<Spill, Error> {
        Ok(Spill {
            file: self.sink.finish()?,
            starts: self.starts,
            n_joined,
        })
    }
}

/// What a spill has of a row of buckets, read from its beginning to its end.
struct Stripes<'a> {
    spill: &'a Spill,
    /// Buckets to come, by their places in the stretch.
    row: Range<usize>,
    reader: Box<dyn BlockReader + 'a>,
    /// How far the last block is read.
    at: usize,
}

impl<'a> Stripes<'a> {
    fn new(spill: &'a Spill, row: Range<usize>) -> Self {
        let (from, to) = (spill.starts[row.start], spill.starts[row.end]);
        let first = (from / BLOCK_BYTES as u64) as u32;
        let end = to.div_ceil(BLOCK_BYTES as u64) as u32;
        let wanted = Some(first..end).filter(|wanted| from < to && !wanted.is_empty());
        Stripes {
            spill,
            row,
            reader: spill.file.read(wanted.into_iter().collect()),
            // The bytes before the row are passed over once the first block is there.
            at: (from % BLOCK_BYTES as u64) as usize,
        }
    }

    /// Gives the bytes of the next bucket, some at a time.
    fn read_next(&mut self, mut each: impl FnMut(&[u8]) -> Result<(), Error>) -> Result<(), Error> {
        let Some(bucket) = self.row.next() else {
            return Ok(());
        };
        let starts = &self.spill.starts;
        let mut n = (starts[bucket + 1] - starts[bucket]) as usize;
        while n > 0 {
            let left = match self.reader.last() {
                Some((_, block)) => block.get(self.at..).unwrap_or_default(),
                None => &[],
            };
            if left.is_empty() {
                if self.reader.last().is_some() {
                    self.at = 0;
                }
                if self.reader.next()?.is_none() {
                    return Err(Error::Damaged {
                        file: self.spill.file.name().to_owned(),
                        offset: 0,
                        what: "a bucket ends too soon".to_owned(),
                    });
                }
                continue;
            }
            let here = &left[..n.min(left.len())];
            each(here)?;
            self.at += here.len();
            n -= here.len();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
