//! One sorted run: a range of a tier's keys, in a file or in memory. Blocks of a file may be cached.
//!
//! A file that no manifest lists is deleted with its run: when the disk is full or the search is
//! stopped, runs are dropped that nobody retires.

use std::sync::Arc;

use crate::Error;
use crate::disk::{BlockCache, BlockFile, BlockWriter, Folder, Kind};
use crate::run::{MemoryBlocks, Run, RunWriter};

use super::RunEntry;

/// Files of runs.
pub const RUN: Kind = Kind::Run;

/// A run: a range of a tier's keys, or all of them.
pub struct Segment {
    pub(crate) run: Run,
    /// Version of the layout of its keys.
    pub(crate) version: u32,
    /// `None` where it is in memory.
    file: Option<Arc<BlockCache>>,
    pub(crate) data_bytes: u64,
}

impl Segment {
    /// Finishes a run on disk.
    pub fn finish(
        writer: RunWriter<BlockWriter>,
        version: u32,
        durable: bool,
    ) -> Result<Self, Error> {
        let (mut sink, written) = writer.finish()?;
        if durable {
            sink.sync()?;
        }
        let file = Arc::new(BlockCache::new(sink.finish()?));
        let name = file.file().name().to_owned();
        Ok(Segment {
            version,
            data_bytes: written.data_bytes,
            run: Run::new(Arc::clone(&file) as _, written, &name),
            file: Some(file),
        })
    }

    /// Finishes a run in memory.
    pub fn finish_in_memory(writer: RunWriter<MemoryBlocks>, version: u32) -> Result<Self, Error> {
        let (blocks, written) = writer.finish()?;
        Ok(Segment {
            version,
            file: None,
            data_bytes: written.data_bytes,
            run: Run::new(Arc::new(blocks), written, "a run in memory"),
        })
    }

    /// Opens a run that a manifest lists.
    pub fn open(folder: &Folder, entry: &RunEntry) -> Result<Self, Error> {
        let file = BlockFile::open(folder, &entry.name, RUN, entry.n_blocks)?;
        let data_bytes = file.disk_bytes();
        let file = Arc::new(BlockCache::new(file));
        Ok(Segment {
            run: Run::open(Arc::clone(&file) as _, entry.n_blocks, &entry.name)?,
            version: entry.version,
            data_bytes,
            file: Some(file),
        })
    }

    /// How a manifest lists it; it must be on disk.
    pub fn entry(&self) -> RunEntry {
        let file = self.file.as_ref().expect("only files are listed").file();
        RunEntry {
            name: file.name().to_owned(),
            n_blocks: file.n_blocks(),
            version: self.version,
        }
    }

    /// Number of keys.
    pub fn n_keys(&self) -> u64 {
        self.run.n_keys()
    }

    /// Whether it has no file.
    pub fn is_in_memory(&self) -> bool {
        self.file.is_none()
    }

    /// Memory held, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        let blocks = (self.file.as_ref()).map_or(self.data_bytes, |file| file.memory_bytes());
        self.run.memory_bytes() + blocks
    }

    /// Evicts cached blocks of `bytes` or somewhat more, or all.
    pub fn evict(&self, bytes: u64) {
        if let Some(file) = &self.file {
            file.evict(bytes);
        }
    }

    /// Deletes the file once no manifest lists it.
    pub fn retire(mut self, folder: &Folder) -> Result<(), Error> {
        match self.file.take() {
            Some(file) => folder.retire(file.file().name()),
            None => Ok(()),
        }
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        if let Some(file) = &self.file {
            file.file().abandon();
        }
    }
}
