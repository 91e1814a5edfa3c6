//! Keys of candidates that wait for the end of their layer, by buckets: stretches of the key space
//! that are small enough to be put in order in memory, one at a time.
//!
//! A chunk of keys in the order of generation is dealt out to the buckets and packed. Packed chunks
//! stay in memory while there is room; then they become one file, a *spill*, in which the keys of a
//! bucket lie together; where memory is so small that there are many spills, some are joined. So a
//! key is dealt out once, sorted once, in the cache, and never merged.
//!
//! Where the buckets end was learnt from the layer before. If a bucket becomes too large all the
//! same, it is unpacked several times, each time for a part of its keys.
//! Spills do not survive a crash: all candidates are in a log besides.

use std::ops::Range;

use hadal_store::codec::KeyShape;
use hadal_store::disk::{BlockFile, BlockWriter, Folder, Kind};
use hadal_store::run::{
    Batch, KeyRange, PACKED_PADDING, PackScratch, SortScratch, Sorted, Split, Splitters, sort_part,
    unpack,
};
use hadal_store::{BLOCK_BYTES, BlockReader, BlockSink, BlockSource, Error};

use super::candidates::part_splitters;
use super::parallel::in_parallel;
use crate::visited::Keyed;

/// Files of spills.
const SPILL: Kind = Kind(*b"bkts");

/// So many spills that were joined equally often are made one, for each takes a block of memory
/// when it is read.
const MOST_SPILLS: usize = 8;

/// The keys of a layer's candidates, but for those of the last chunk.
pub(super) struct Buckets {
    splitters: Splitters,
    /// Layout of the splitters.
    shape: KeyShape,
    /// Keys in each bucket.
    n_keys: Vec<u64>,
    /// Packed chunks in memory.
    chunks: Vec<Packed>,
    spills: Vec<Spill>,
}

/// A packed chunk: the pieces of all buckets one behind the other.
struct Packed {
    bytes: Vec<u8>,
    /// Where the piece of each bucket begins, and the end.
    starts: Vec<usize>,
}

/// The pieces of some chunks in a file, those of a bucket together.
struct Spill {
    file: BlockFile,
    /// Where each bucket begins in the payload of all blocks, and the end.
    starts: Vec<u64>,
    /// How often its keys were joined with others.
    n_joined: u32,
}

impl Buckets {
    /// No keys yet; buckets are the parts of `splitters`, which are of layout `shape`.
    pub(super) fn new(splitters: Splitters, shape: KeyShape) -> Self {
        Buckets {
            n_keys: vec![0; splitters.n_parts()],
            splitters,
            shape,
            chunks: Vec::new(),
            spills: Vec::new(),
        }
    }

    pub(super) fn splitters(&self) -> &Splitters {
        &self.splitters
    }

    /// Memory held, in bytes.
    pub(super) fn memory_bytes(&self) -> u64 {
        let index = 8 * (self.n_keys.len() * (1 + self.spills.len())) as u64;
        self.packed_bytes() + index
    }

    /// Memory held by packed keys.
    pub(super) fn packed_bytes(&self) -> u64 {
        let bytes = |chunk: &Packed| chunk.bytes.capacity() + 8 * chunk.starts.len();
        self.chunks.iter().map(|chunk| bytes(chunk) as u64).sum()
    }

    /// Takes a chunk that was split by the [`splitters`](Self::splitters).
    pub(super) fn add(&mut self, splits: &[Split<'_>], n_threads: usize) -> Result<(), Error> {
        let n_buckets = self.n_keys.len();
        let n_stretches = n_threads.min(n_buckets);
        let version = self.shape.version;
        let stretches = in_parallel(n_threads, n_stretches, |stretch| {
            let (mut bytes, mut starts) = (Vec::new(), Vec::new());
            let mut scratch = PackScratch::default();
            for bucket in stretch_of(stretch, n_stretches, n_buckets) {
                starts.push(bytes.len());
                for split in splits {
                    split.pack(bucket, version, &mut scratch, &mut bytes);
                }
            }
            Ok((bytes, starts))
        })?;
        let n_bytes = stretches.iter().map(|(bytes, _)| bytes.len()).sum();
        let mut packed = Packed {
            bytes: Vec::with_capacity(n_bytes),
            starts: Vec::with_capacity(n_buckets + 1),
        };
        for (bytes, starts) in stretches {
            let from = packed.bytes.len();
            packed
                .starts
                .extend(starts.iter().map(|start| from + start));
            packed.bytes.extend_from_slice(&bytes);
        }
        packed.starts.push(n_bytes);
        self.chunks.push(packed);
        for (bucket, n_keys) in self.n_keys.iter_mut().enumerate() {
            let len: usize = splits.iter().map(|split| split.part_len(bucket)).sum();
            *n_keys += len as u64;
        }
        Ok(())
    }

    /// Puts the packed chunks on disk.
    pub(super) fn spill(&mut self, folder: &Folder) -> Result<(), Error> {
        if self.chunks.is_empty() {
            return Ok(());
        }
        let mut writer = SpillWriter::create(folder)?;
        for bucket in 0..self.n_keys.len() {
            writer.begin_bucket();
            for chunk in &self.chunks {
                writer.put(&chunk.bytes[chunk.starts[bucket]..chunk.starts[bucket + 1]])?;
            }
        }
        self.spills.push(writer.finish(0)?);
        self.chunks.clear();
        while let Some(from) = self.spills.len().checked_sub(MOST_SPILLS)
            && self.spills[from].n_joined == self.spills[self.spills.len() - 1].n_joined
        {
            self.join_spills(from, folder)?;
        }
        Ok(())
    }

    /// Makes one spill of those from `from` on.
    fn join_spills(&mut self, from: usize, folder: &Folder) -> Result<(), Error> {
        let n_buckets = self.n_keys.len();
        let mut writer = SpillWriter::create(folder)?;
        let mut bytes = Vec::new();
        {
            let mut stripes: Vec<Stripes<'_>> = (self.spills[from..].iter())
                .map(|spill| Stripes::new(spill, 0..n_buckets))
                .collect();
            for bucket in 0..n_buckets {
                writer.begin_bucket();
                for stripes in &mut stripes {
                    bytes.clear();
                    stripes.read(bucket, &mut bytes)?;
                    writer.put(&bytes)?;
                }
            }
        }
        let joined = writer.finish(self.spills[from].n_joined + 1)?;
        for spill in self.spills.drain(from..) {
            folder.retire(spill.file.name())?;
        }
        self.spills.push(joined);
        Ok(())
    }

    /// Goes on with keys of another layout, which has the order of the one before.
    pub(super) fn set_shape(&mut self, keyed: &Keyed) {
        let shape = keyed.key_shape();
        if shape != self.shape {
            let recoder = keyed.codec.recoder(self.shape.version, shape.version);
            self.splitters = self.splitters.recoded(shape.n_words, |key, made| {
                assert!(recoder.recode(key, made), "newer layouts have room for all");
            });
            self.shape = shape;
        }
    }

    /// Gives up the files.
    pub(super) fn retire_spills(&mut self, folder: &Folder) -> Result<(), Error> {
        let mut spills = self.spills.drain(..);
        spills.try_for_each(|spill| folder.retire(spill.file.name()))
    }

    /// Up to `n` rows of buckets with about as many keys each.
    pub(super) fn rows(&self, n: usize) -> Vec<Range<usize>> {
        let n_keys: u64 = self.n_keys.iter().sum();
        let mut rows = Vec::with_capacity(n);
        let (mut first, mut before) = (0, 0);
        for (bucket, n_here) in self.n_keys.iter().enumerate() {
            before += n_here;
            let is_last = bucket + 1 == self.n_keys.len();
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
    pub(super) fn range(&self, row: &Range<usize>) -> KeyRange<'_> {
        KeyRange {
            from: self.splitters.range(row.start).from,
            to: self.splitters.range(row.end - 1).to,
        }
    }

    /// The keys of a row of buckets in order, of which `most` are put in order at once.
    pub(super) fn sorted<'a>(
        &'a self,
        row: Range<usize>,
        most: u64,
        keyed: &'a Keyed,
    ) -> SortedRow<'a> {
        SortedRow {
            reader: RowReader {
                buckets: self,
                keyed,
                stripes: (self.spills.iter())
                    .map(|spill| Stripes::new(spill, row.clone()))
                    .collect(),
                bytes: Vec::new(),
            },
            row,
            most,
            cut: None,
            keys: Vec::new(),
            ordinals: Vec::new(),
            scratch: SortScratch::default(),
            part: Batch::default(),
        }
    }
}

/// Keys of which a bucket is cut, for each part.
const SAMPLES: usize = 256;

fn stretch_of(stretch: usize, n_stretches: usize, n_buckets: usize) -> Range<usize> {
    stretch * n_buckets / n_stretches..(stretch + 1) * n_buckets / n_stretches
}

/// The keys of a row of buckets, ascending: a bucket at a time is read and put in order.
pub(super) struct SortedRow<'a> {
    reader: RowReader<'a>,
    /// Buckets to come.
    row: Range<usize>,
    most: u64,
    /// What is left of a bucket that is put in order in parts, and which part is next.
    cut: Option<(Splitters, usize)>,
    keys: Vec<u64>,
    ordinals: Vec<u64>,
    scratch: SortScratch,
    part: Batch,
}

impl SortedRow<'_> {
    /// Takes the next keys, in the order of generation; false at the end.
    fn take_some(&mut self) -> Result<bool, Error> {
        let Some((cut, next)) = &mut self.cut else {
            let Some(bucket) = self.row.next() else {
                return Ok(false);
            };
            self.reader.read(bucket)?;
            let n_keys = self.reader.buckets.n_keys[bucket];
            if n_keys > self.most {
                let n_parts = n_keys.div_ceil(self.most) as usize;
                self.cut = Some((self.reader.cut(n_keys, n_parts)?, 0));
                return self.take_some();
            }
            (self.reader).select(KeyRange::ALL, &mut self.keys, &mut self.ordinals)?;
            return Ok(true);
        };
        (self.reader).select(cut.range(*next), &mut self.keys, &mut self.ordinals)?;
        *next += 1;
        if *next == cut.n_parts() {
            self.cut = None;
        }
        Ok(true)
    }
}

impl Sorted for SortedRow<'_> {
    fn n_words(&self) -> usize {
        self.reader.keyed.key_shape().n_words
    }

    fn has_ordinals(&self) -> bool {
        true
    }

    fn next_batch(&mut self, batch: &mut Batch) -> Result<bool, Error> {
        batch.clear();
        while batch.keys.is_empty() {
            if !self.take_some()? {
                return Ok(false);
            }
            let fine = part_splitters(&self.keys, self.n_words());
            let splits = [Split::listed(&self.keys, &self.ordinals, &fine)];
            for part in 0..fine.n_parts() {
                sort_part(&splits, part, &mut self.scratch, &mut self.part);
                batch.keys.extend_from_slice(&self.part.keys);
                batch.ordinals.extend_from_slice(&self.part.ordinals);
            }
        }
        Ok(true)
    }
}

/// Reads the packed keys of a row of buckets, a bucket at a time.
struct RowReader<'a> {
    buckets: &'a Buckets,
    keyed: &'a Keyed,
    stripes: Vec<Stripes<'a>>,
    /// All pieces of the bucket.
    bytes: Vec<u8>,
}

impl RowReader<'_> {
    /// Reads the next bucket, which is `bucket`.
    fn read(&mut self, bucket: usize) -> Result<(), Error> {
        self.bytes.clear();
        for stripes in &mut self.stripes {
            stripes.read(bucket, &mut self.bytes)?;
        }
        for chunk in &self.buckets.chunks {
            let piece = &chunk.bytes[chunk.starts[bucket]..chunk.starts[bucket + 1]];
            self.bytes.extend_from_slice(piece);
        }
        Ok(())
    }

    /// Replaces `keys` and `ordinals` by those of the bucket that are in `range`, in the order of
    /// generation.
    fn select(
        &mut self,
        range: KeyRange<'_>,
        keys: &mut Vec<u64>,
        ordinals: &mut Vec<u64>,
    ) -> Result<(), Error> {
        let n_words = self.keyed.key_shape().n_words;
        let is_all = range.from.is_none() && range.to.is_none();
        keys.clear();
        ordinals.clear();
        self.each_piece(|piece_keys, piece_ordinals| {
            if is_all {
                keys.extend_from_slice(piece_keys);
                ordinals.extend_from_slice(piece_ordinals);
                return;
            }
            for (key, &ordinal) in piece_keys.chunks_exact(n_words).zip(piece_ordinals) {
                if !range.starts_after(key) && !range.ends_before(key) {
                    keys.extend_from_slice(key);
                    ordinals.push(ordinal);
                }
            }
        })
    }

    /// Cuts the bucket, which has `n_keys` keys, into up to `n_parts` parts.
    fn cut(&mut self, n_keys: u64, n_parts: usize) -> Result<Splitters, Error> {
        let n_words = self.keyed.key_shape().n_words;
        let stride = (n_keys as usize / n_parts / SAMPLES).max(1);
        let mut sampled = Vec::new();
        self.each_piece(|keys, _| {
            sampled.extend(keys.chunks_exact(n_words).step_by(stride).flatten());
        })?;
        Ok(Splitters::sample(n_words, &[&sampled], n_parts))
    }

    /// Gives the pieces of the bucket, in the newest layout.
    fn each_piece(&mut self, mut each: impl FnMut(&[u64], &[u64])) -> Result<(), Error> {
        let end = self.bytes.len();
        self.bytes.resize(end + PACKED_PADDING, 0);
        let newest = self.keyed.key_shape();
        let (mut keys, mut ordinals, mut recoded) = (Vec::new(), Vec::new(), Vec::new());
        let mut at = 0;
        while at < end {
            keys.clear();
            ordinals.clear();
            let head = unpack(&self.bytes[at..], &mut keys, &mut ordinals);
            let head = head.ok_or_else(|| self.damaged())?;
            at += head.n_bytes;
            if head.tag == newest.version {
                each(&keys, &ordinals);
                continue;
            }
            let recoder = self.keyed.codec.recoder(head.tag, newest.version);
            recoded.resize(ordinals.len() * newest.n_words, 0);
            let made = recoded.chunks_exact_mut(newest.n_words);
            for (key, made) in keys.chunks_exact(head.n_words).zip(made) {
                assert!(recoder.recode(key, made), "newer layouts have room for all");
            }
            each(&recoded, &ordinals);
        }
        self.bytes.truncate(end);
        Ok(())
    }

    fn damaged(&self) -> Error {
        let file = self.buckets.spills.first().map(|spill| spill.file.name());
        Error::Damaged {
            file: file.unwrap_or("candidates in memory").to_owned(),
            offset: 0,
            what: "packed keys do not come to an end".to_owned(),
        }
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
            sink: BlockWriter::create(folder, SPILL)?,
            block: Vec::with_capacity(BLOCK_BYTES),
            starts: Vec::new(),
            n_bytes: 0,
        })
    }

    fn begin_bucket(&mut self) {
        self.starts.push(self.n_bytes);
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

    fn finish(mut self, n_joined: u32) -> Result<Spill, Error> {
        if !self.block.is_empty() {
            self.sink.put(&self.block)?;
        }
        self.starts.push(self.n_bytes);
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
    reader: Box<dyn BlockReader + 'a>,
    block: Vec<u8>,
    /// How far the block is read.
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
            reader: spill.file.read(wanted.into_iter().collect()),
            block: Vec::new(),
            // The bytes before the row are passed over once the first block is there.
            at: (from % BLOCK_BYTES as u64) as usize,
        }
    }

    /// Appends the bytes of the next bucket, which is `bucket`.
    fn read(&mut self, bucket: usize, bytes: &mut Vec<u8>) -> Result<(), Error> {
        let starts = &self.spill.starts;
        let mut n = (starts[bucket + 1] - starts[bucket]) as usize;
        while n > 0 {
            if self.block.is_empty() || self.at == self.block.len() {
                let skipped = if self.block.is_empty() { self.at } else { 0 };
                let Some((_, payload)) = self.reader.next()? else {
                    return Err(Error::Damaged {
                        file: self.spill.file.name().to_owned(),
                        offset: 0,
                        what: "a bucket ends too soon".to_owned(),
                    });
                };
                self.block.clear();
                self.block.extend_from_slice(payload);
                self.at = skipped.min(payload.len());
                continue;
            }
            let n_here = n.min(self.block.len() - self.at);
            bytes.extend_from_slice(&self.block[self.at..self.at + n_here]);
            self.at += n_here;
            n -= n_here;
        }
        Ok(())
    }
}
