//! Keys with numbers in parts, each worker's in a buffer of its own that goes to files of its own when
//! it is full. So workers never wait for each other, and what a part has is read from all of them.

use std::ops::Range;
use std::sync::RwLock;

use super::bucket_reader::{Bucketed, Decoding};
use super::spill::{MAX_SPILLS, Spill, SpillWriter, Stretch, Stripes};
use super::{KeyList, PartitionBuffer, least_page_bytes};
use crate::codec::{Codec, KeyShape, PLAIN_BYTES};
use crate::disk::Folder;
use crate::lock::{read, write};
use crate::tiers::Layouts;
use crate::{BLOCK_BYTES, Error};

/// Receives keys and as many numbers.
pub type EachPairs<'e> = dyn FnMut(&[u64], &[u64]) -> Result<(), Error> + 'e;

/// Keys in parts.
pub(super) struct Parts {
    shape: KeyShape,
    n_parts: usize,
    /// What the buffer of a worker may take before it goes to a file, in bytes.
    limit_bytes: u64,
    /// This many spills of a worker, of one level, are merged.
    max_spills: usize,
    /// Without a folder everything stays in memory.
    folder: Option<Folder>,
    workers: Vec<RwLock<WorkerParts>>,
    /// Keys have one layout only, so this is never asked.
    codec: Codec,
}

/// What one worker has put into parts.
struct WorkerParts {
    buffer: PartitionBuffer,
    spilled: Stretch,
    /// Spilled keys of each part.
    n_spilled: Vec<u64>,
    /// Scratch for the part of each key.
    parts: Vec<u16>,
}

/// More spills than [`MAX_SPILLS`] are merged later where a block of each of them, to be read, takes
/// little beside the buffers: a merge reads and writes everything once more.
const BLOCKS_SHARE: u64 = 4;
/// Files are not opened without end.
const MOST_SPILLS: u64 = 64;
/// Least pages of a part, so that few bytes of them are empty.
const MIN_PAGES: u64 = 2;
/// Most parts: they are numbered with 16 bits, and each has a page.
const MAX_PARTS: u64 = 1 << 15;

impl Parts {
    /// `n_parts` empty parts for keys of this shape, whose buffers take about `bytes` on all workers
    /// together.
    pub(super) fn new(
        n_parts: usize,
        shape: KeyShape,
        n_workers: usize,
        bytes: u64,
        folder: Option<Folder>,
    ) -> Self {
        let limit_bytes = bytes / n_workers as u64;
        let worker = || {
            let mut buffer = PartitionBuffer::default();
            buffer.begin_parts(n_parts, shape, limit_bytes);
            RwLock::new(WorkerParts {
                buffer,
                spilled: Stretch {
                    buckets: 0..n_parts,
                    spills: Vec::new(),
                },
                n_spilled: vec![0; n_parts],
                parts: Vec::new(),
            })
        };
        Parts {
            shape,
            n_parts,
            limit_bytes,
            max_spills: (limit_bytes / BLOCKS_SHARE / BLOCK_BYTES as u64)
                .clamp(MAX_SPILLS as u64, MOST_SPILLS) as usize,
            folder,
            workers: std::iter::repeat_with(worker).take(n_workers).collect(),
            codec: Codec::new(PLAIN_BYTES, 0),
        }
    }

    /// Most parts whose buffers can keep to `bytes` on `n_workers` workers.
    pub(super) fn most(shape: KeyShape, n_workers: usize, bytes: u64) -> usize {
        let part_bytes = MIN_PAGES * least_page_bytes(shape) as u64;
        (bytes / n_workers as u64 / part_bytes).clamp(1, MAX_PARTS) as usize
    }

    pub(super) fn shape(&self) -> KeyShape {
        self.shape
    }

    pub(super) fn len(&self) -> usize {
        self.n_parts
    }

    /// Adds keys with numbers, the part of each as `classify` lists it. Of one worker one call at a
    /// time.
    pub(super) fn put(
        &self,
        worker: usize,
        keys: &[u64],
        numbers: impl Iterator<Item = u64>,
        classify: impl FnOnce(&mut Vec<u16>),
    ) -> Result<(), Error> {
        let mut worker = write(&self.workers[worker]);
        let WorkerParts { buffer, parts, .. } = &mut *worker;
        parts.clear();
        classify(parts);
        buffer.put(keys, parts, numbers, self.shape);
        match &self.folder {
            Some(folder) if buffer.page_bytes() as u64 > self.limit_bytes => {
                worker.spill(self.shape.version, self.max_spills, folder)
            }
            _ => Ok(()),
        }
    }

    /// Nothing more will be added: what a worker has is in its buffer or in its files alone.
    pub(super) fn settle(&mut self) -> Result<(), Error> {
        for worker in &self.workers {
            let mut worker = write(worker);
            if let Some(folder) = &self.folder
                && !worker.spilled.spills.is_empty()
            {
                worker.spill(self.shape.version, self.max_spills, folder)?;
                worker.buffer = PartitionBuffer::default();
            }
            worker.parts = Vec::new();
        }
        Ok(())
    }

    /// Memory held, in bytes.
    pub(super) fn memory_bytes(&self) -> u64 {
        let bytes = |worker: &RwLock<WorkerParts>| {
            let worker = read(worker);
            let spills = worker.spilled.spills.len() * (self.n_parts + 1);
            let words = worker.n_spilled.capacity() + spills;
            worker.buffer.memory_bytes() + 8 * words as u64 + 2 * worker.parts.capacity() as u64
        };
        self.workers.iter().map(bytes).sum()
    }

    /// Files of all workers.
    pub(super) fn n_files(&self) -> usize {
        let n_files = |worker: &RwLock<WorkerParts>| read(worker).spilled.spills.len();
        self.workers.iter().map(n_files).sum()
    }

    /// Reads a part; `stripes` are about to read it. Calls `each` with some of its keys at a time.
    pub(super) fn read(
        &self,
        part: usize,
        stripes: &mut [Stripes],
        list: &mut KeyList,
        each: &mut EachPairs<'_>,
    ) -> Result<(), Error> {
        let decoding = Decoding {
            layouts: Layouts::new(&self.codec, Some(self.shape)),
            n_candidates: None,
        };
        list.clear();
        decoding.read(self, part, stripes, list, &mut |list| {
            let done = each(&list.keys, &list.ordinals);
            list.clear();
            done
        })
    }
}

impl WorkerParts {
    /// Writes what is in memory to a file, and merges `max_spills` of one level.
    fn spill(&mut self, version: u32, max_spills: usize, folder: &Folder) -> Result<(), Error> {
        for (part, n_spilled) in self.n_spilled.iter_mut().enumerate() {
            *n_spilled += u64::from(self.buffer.n_keys(part));
        }
        let writer = SpillWriter::write_parts(&self.buffer, version, folder)?;
        self.buffer.clear();
        let spills = &mut self.spilled.spills;
        spills.push(writer.finish(0)?);
        while let Some(from) = self.spilled.mergeable(max_spills) {
            let spills = &mut self.spilled.spills;
            let merged = Spill::merge(&spills[from..], folder)?;
            spills.truncate(from);
            spills.push(merged);
        }
        Ok(())
    }
}

impl Bucketed for Parts {
    fn each_chain(
        &self,
        part: usize,
        each: &mut dyn FnMut(&PartitionBuffer) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.workers.iter().try_for_each(|worker| {
            let buffer = &read(worker).buffer;
            match buffer.n_chains() > 0 && buffer.n_keys(part) > 0 {
                true => each(buffer),
                false => Ok(()),
            }
        })
    }

    fn stripes(&self, row: Range<usize>) -> Vec<Stripes> {
        let mut stripes = Vec::new();
        for worker in &self.workers {
            let worker = read(worker);
            let spills = worker.spilled.spills.iter();
            stripes.extend(spills.map(|spill| Stripes::new(spill, row.clone())));
        }
        stripes
    }

    fn n_keys(&self, part: usize) -> u64 {
        let n_keys = |worker: &RwLock<WorkerParts>| {
            let worker = read(worker);
            let in_buffer = match worker.buffer.n_chains() {
                0 => 0,
                _ => u64::from(worker.buffer.n_keys(part)),
            };
            in_buffer + worker.n_spilled[part]
        };
        self.workers.iter().map(n_keys).sum()
    }
}
