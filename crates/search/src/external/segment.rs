//! One sorted run: a stretch of a tier's key space, in a file or in memory. Blocks of a file may be
//! in memory besides.
//!
//! A file that no manifest lists goes with its run, for nobody else knows it: where a disk runs
//! full or a search is stopped, runs are given up that nobody comes to retire.

use std::sync::Arc;

use hadal_store::Error;
use hadal_store::disk::{BlockFile, BlockWriter, Folder, KeptBlocks, Kind};
use hadal_store::run::{MemoryBlocks, Run, RunWriter};

use crate::snapshot::RunEntry;

/// Files of runs.
pub(crate) const RUN: Kind = Kind(*b"runs");

/// A run: a stretch of the key space of a tier, or all of it.
pub(crate) struct Segment {
    pub(super) run: Run,
    /// Version of the layout of its keys.
    pub(super) version: u32,
    /// `None` where it is in memory.
    file: Option<Arc<KeptBlocks>>,
    pub(super) data_bytes: u64,
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
        let file = Arc::new(KeptBlocks::new(sink.finish()?));
        let name = file.file().name().to_owned();
        Ok(Segment {
            version,
            data_bytes: written.data_bytes,
            run: Run::new(Arc::clone(&file) as _, written, &name),
            file: Some(file),
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
        let file = Arc::new(KeptBlocks::new(file));
        Ok(Segment {
            run: Run::open(Arc::clone(&file) as _, entry.n_blocks, &entry.name)?,
            version: entry.version,
            data_bytes,
            file: Some(file),
        })
    }

    /// How a manifest lists it; it must be on disk.
    pub(super) fn entry(&self) -> RunEntry {
        let file = self.file.as_ref().expect("only files are listed").file();
        RunEntry {
            name: file.name().to_owned(),
            n_blocks: file.n_blocks(),
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
        let blocks = (self.file.as_ref()).map_or(self.data_bytes, |file| file.memory_bytes());
        self.run.memory_bytes() + blocks
    }

    /// Gives up blocks of a file that are in memory, of `bytes` or somewhat more, or all.
    pub(super) fn let_go(&self, bytes: u64) {
        if let Some(file) = &self.file {
            file.let_go(bytes);
        }
    }

    /// Gives up the file, once nothing refers to it any more.
    pub(super) fn retire(mut self, folder: &Folder) -> Result<(), Error> {
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
