//! A run with values in a folder. A file that no manifest lists is deleted with its run.

use std::sync::Arc;

use super::run::ValuedRun;
use super::writer::ValuedWriter;
use crate::Error;
use crate::disk::{BlockFile, BlockWriter, Folder, Kind};
use crate::tiers::RunEntry;

/// Files of runs with values.
pub const VALUED: Kind = Kind::Valued;

/// A run in a file of a folder.
pub struct ValuedFile {
    /// The run.
    pub run: ValuedRun,
    file: BlockFile,
    version: u32,
}

impl ValuedFile {
    /// Finishes a run whose keys have the layout `version`. If it is `durable`, a manifest may list
    /// it.
    pub fn finish(
        writer: ValuedWriter<BlockWriter>,
        version: u32,
        durable: bool,
    ) -> Result<Self, Error> {
        let (mut sink, written) = writer.finish()?;
        if durable {
            sink.sync()?;
        }
        let file = sink.finish()?;
        Ok(ValuedFile {
            run: ValuedRun::new(Arc::new(file.clone()), written, file.name()),
            file,
            version,
        })
    }

    /// Opens a run that a manifest lists.
    pub fn open(folder: &Folder, entry: &RunEntry) -> Result<Self, Error> {
        let file = BlockFile::open(folder, &entry.name, VALUED, entry.n_blocks)?;
        Ok(ValuedFile {
            run: ValuedRun::open(Arc::new(file.clone()), entry.n_blocks, &entry.name)?,
            file,
            version: entry.version,
        })
    }

    /// How a manifest lists it.
    pub fn entry(&self) -> RunEntry {
        RunEntry {
            name: self.file.name().to_owned(),
            n_blocks: self.file.n_blocks(),
            version: self.version,
        }
    }

    /// Version of the layout of its keys.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Bytes on disk.
    pub fn disk_bytes(&self) -> u64 {
        self.file.disk_bytes()
    }

    /// Deletes the file once no manifest lists it.
    pub fn retire(self, folder: &Folder) -> Result<(), Error> {
        folder.retire(self.file.name())
    }
}

impl Drop for ValuedFile {
    fn drop(&mut self) {
        self.file.abandon();
    }
}
