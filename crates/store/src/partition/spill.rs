//! Spills: files of partitioned keys that had no room in memory.
//!
//! When the partition buffers are full they become a file in which the keys of a bucket are
//! contiguous; where memory is so small that there are many spills, some are merged. Spills do not
//! survive a crash, because all candidates are in a log as well.
//!
//! A spill has one piece or several of each bucket: number of bytes (8 bytes), number of keys (4),
//! version of the layout (4), and the keys as they were in a buffer.

use std::ops::Range;
use std::sync::Arc;

use crate::disk::{BlockFile, BlockWriter, Folder, Kind};
use crate::run::Splitters;
use crate::{BLOCK_BYTES, BlockReader, BlockSink, Error};

use super::{PartitionBuffer, PartitionBuffers};
use crate::parallel::in_parallel;
use crate::tiers::RunContext;

/// Files of spills.
const SPILL: Kind = Kind::Spill;

/// This many spills of one level are merged: each takes a block of memory when it is read.
pub(super) const MAX_SPILLS: usize = 16;

/// A smaller file takes longer to create than to write.
const STRETCH_BYTES: u64 = 512 << 10;

/// Keys of a rank that are no longer in buffers.
#[derive(Default)]
pub struct Spills {
    /// Ranges of buckets, each spilled by one thread.
    pub(super) stretches: Vec<Stretch>,
    /// The last spill of each, while it is being written; the next one waits for it.
    last: Vec<SpillWriter>,
    /// Keys in each bucket.
    pub(crate) n_keys: Vec<u64>,
}

/// Consecutive buckets.
pub(super) struct Stretch {
    pub(crate) buckets: Range<usize>,
    pub(crate) spills: Vec<Spill>,
}

/// What the buffers held of a stretch, in a file, the pieces of a bucket together.
pub(super) struct Spill {
    pub(crate) file: BlockFile,
    /// Where each bucket begins in the payload of all blocks, and the end.
    starts: Arc<[u64]>,
    /// How often its keys were merged with others.
    level: u32,
}

impl Spills {
    /// Whether nothing was spilled.
    pub fn is_empty(&self) -> bool {
        self.stretches.is_empty()
    }

    /// Most readers that whoever reads a bucket has at a time: one of each spill of a stretch, and
    /// another one where the bucket is [cut](super::cut) and sampled before that.
    pub fn n_readers(&self) -> usize {
        let n_last = usize::from(!self.last.is_empty());
        let settled = self.stretches.first();
        settled.map_or(0, |stretch| 2 * (stretch.spills.len() + n_last))
    }

    /// Memory held, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        let spills = self.stretches.iter().flat_map(|stretch| &stretch.spills);
        let n_words: usize = spills.map(|spill| spill.starts.len()).sum();
        8 * (n_words + self.n_keys.capacity()) as u64
    }

    /// Takes what is in the buffers.
    pub fn take(
        &mut self,
        buffers: &mut PartitionBuffers,
        context: &RunContext<'_>,
    ) -> Result<(), Error> {
        let Some(n_buckets) = buffers.splitters().map(Splitters::n_parts) else {
            return Ok(());
        };
        if self.stretches.is_empty() {
            let n_worth = (context.bucket_bytes / STRETCH_BYTES).max(1) as usize;
            let n = context.n_threads.min(n_buckets).min(n_worth);
            let stretch = |i: usize| Stretch {
                buckets: i * n_buckets / n..(i + 1) * n_buckets / n,
                spills: Vec::new(),
            };
            self.stretches = (0..n).map(stretch).collect();
            self.n_keys = vec![0; n_buckets];
        }
        self.settle(context)?;
        let stretches = &self.stretches;
        self.last = in_parallel(context.n_threads, stretches.len(), |i| {
            SpillWriter::write(buffers, stretches[i].buckets.clone(), context.folder)
        })?;
        for (bucket, n_keys) in self.n_keys.iter_mut().enumerate() {
            *n_keys += buffers.n_keys(bucket);
        }
        buffers.clear();
        Ok(())
    }

    /// Frees the memory of the last spill as far as it is written.
    pub fn reap(&mut self) -> Result<(), Error> {
        (self.last.iter_mut()).try_for_each(|writer| writer.sink.reap())
    }

    /// Waits for the last spill, and merges some if there are many.
    pub fn settle(&mut self, context: &RunContext<'_>) -> Result<(), Error> {
        for (stretch, writer) in self.stretches.iter_mut().zip(self.last.drain(..)) {
            stretch.spills.push(writer.finish(0)?);
        }
        let mergeable = |stretch: &Stretch| stretch.mergeable(MAX_SPILLS);
        while let Some(from) = self.stretches.first().and_then(mergeable) {
            let stretches = &self.stretches;
            let merged = in_parallel(context.n_threads, stretches.len(), |i| {
                Spill::merge(&stretches[i].spills[from..], context.folder)
            })?;
            for (stretch, merged) in self.stretches.iter_mut().zip(merged) {
                for spill in stretch.spills.drain(from..) {
                    context.folder.retire(spill.file.name())?;
                }
                stretch.spills.push(merged);
            }
        }
        Ok(())
    }

    /// Gives up the files.
    pub fn retire(&mut self, folder: &Folder) -> Result<(), Error> {
        self.n_keys.clear();
        self.last.clear();
        let stretches = self.stretches.drain(..);
        let mut spills = stretches.flat_map(|stretch| stretch.spills);
        spills.try_for_each(|spill| folder.retire(spill.file.name()))
    }
}

impl Stretch {
    /// From where on spills are merged, if they are: `most` of one level. All stretches have the same
    /// number.
    pub(super) fn mergeable(&self, most: usize) -> Option<usize> {
        let last = self.spills.last()?;
        let from = self.spills.len().checked_sub(most)?;
        (self.spills[from].level == last.level).then_some(from)
    }
}

/// No manifest lists the file.
impl Drop for Spill {
    fn drop(&mut self) {
        self.file.abandon();
    }
}

impl Spill {
    /// All keys of some spills of a stretch.
    pub(super) fn merge(spills: &[Spill], folder: &Folder) -> Result<Self, Error> {
        let mut writer = SpillWriter::create(folder)?;
        let n_buckets = spills[0].starts.len() - 1;
        let mut stripes: Vec<Stripes> = spills
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
        writer.finish(spills[0].level + 1)
    }
}

/// Writes a spill.
pub(super) struct SpillWriter {
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

    /// Writes everything that one buffer holds.
    pub(super) fn write_parts(
        parts: &PartitionBuffer,
        version: u32,
        folder: &Folder,
    ) -> Result<Self, Error> {
        let mut writer = SpillWriter::create(folder)?;
        for part in 0..parts.n_chains() {
            writer.begin_bucket();
            if parts.n_keys(part) > 0 {
                writer.put_chain(parts, part, version)?;
            }
        }
        writer.end()?;
        Ok(writer)
    }

    /// Writes what the buffers hold of some buckets.
    fn write(
        buffers: &PartitionBuffers,
        buckets: Range<usize>,
        folder: &Folder,
    ) -> Result<Self, Error> {
        let version = buffers.shape().map_or(0, |shape| shape.version);
        let mut writer = SpillWriter::create(folder)?;
        for bucket in buckets {
            writer.begin_bucket();
            buffers.each_chain(bucket, |buffer| writer.put_chain(buffer, bucket, version))?;
        }
        writer.end()?;
        Ok(writer)
    }

    fn begin_bucket(&mut self) {
        self.starts.push(self.n_bytes);
    }

    /// Writes what one buffer holds of a bucket.
    fn put_chain(
        &mut self,
        buffer: &PartitionBuffer,
        bucket: usize,
        version: u32,
    ) -> Result<(), Error> {
        let n_bytes: usize = buffer.pages(bucket).map(<[u8]>::len).sum();
        self.put(&(n_bytes as u64).to_le_bytes())?;
        for number in [buffer.n_keys(bucket), version] {
            self.put(&number.to_le_bytes())?;
        }
        buffer.pages(bucket).try_for_each(|page| self.put(page))
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

    /// Writes what is left of the last bucket.
    fn end(&mut self) -> Result<(), Error> {
        if !self.block.is_empty() {
            self.sink.put(&self.block)?;
            self.block = Vec::new();
        }
        self.starts.push(self.n_bytes);
        self.sink.submit_rest()
    }

    /// Waits until everything is written.
    pub(super) fn finish(self, level: u32) -> Result<Spill, Error> {
        Ok(Spill {
            file: self.sink.finish()?,
            starts: self.starts.into(),
            level,
        })
    }
}

/// What a spill has of a row of buckets, read from its start to its end.
pub(super) struct Stripes {
    file: BlockFile,
    starts: Arc<[u64]>,
    /// Buckets to come, by their positions in the stretch.
    row: Range<usize>,
    reader: Box<dyn BlockReader>,
    /// How far the last block is read.
    at: usize,
}

impl Stripes {
    pub(super) fn new(spill: &Spill, row: Range<usize>) -> Self {
        let (from, to) = (spill.starts[row.start], spill.starts[row.end]);
        let first = (from / BLOCK_BYTES as u64) as u32;
        let end = to.div_ceil(BLOCK_BYTES as u64) as u32;
        let wanted = Some(first..end).filter(|wanted| from < to && !wanted.is_empty());
        Stripes {
            file: spill.file.clone(),
            starts: Arc::clone(&spill.starts),
            row,
            reader: spill.file.stream(wanted.into_iter().collect()),
            // The bytes before the row are skipped once the first block is there.
            at: (from % BLOCK_BYTES as u64) as usize,
        }
    }

    /// Name of the file of the spill.
    pub(super) fn file_name(&self) -> &str {
        self.file.name()
    }

    /// Passes the bytes of the next bucket to `each`, some at a time.
    pub(super) fn read_next(
        &mut self,
        mut each: impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Some(bucket) = self.row.next() else {
            return Ok(());
        };
        let starts = &self.starts;
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
                        file: self.file_name().to_owned(),
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
