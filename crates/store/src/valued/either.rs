//! A run with values in a scratch file or in memory.

use std::sync::Arc;

use super::{VALUED, ValuedFile, ValuedRun, ValuedWriter};
use crate::disk::{BlockWriter, Folder};
use crate::run::{Batch, MemoryBlocks, Sorted};
use crate::{BlockSink, Error};

/// A run in a scratch file or in memory.
pub enum ValueRun {
    /// In a file.
    File(ValuedFile),
    /// In memory, of this many bytes.
    Memory(ValuedRun, u64),
}

impl ValueRun {
    /// The run.
    pub fn run(&self) -> &ValuedRun {
        match self {
            ValueRun::File(file) => &file.run,
            ValueRun::Memory(run, _) => run,
        }
    }

    /// Memory held, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        let blocks = match self {
            ValueRun::File(_) => 0,
            ValueRun::Memory(_, bytes) => *bytes,
        };
        self.run().memory_bytes() + blocks
    }

    pub(crate) fn write(
        n_words: usize,
        folder: Option<&Folder>,
        write: impl FnOnce(&mut dyn Output) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        match folder {
            Some(folder) => {
                let sink = BlockWriter::create_scratch(folder, VALUED)?;
                let mut writer = ValuedWriter::new(sink, n_words);
                write(&mut writer)?;
                Ok(ValueRun::File(ValuedFile::finish(writer, 0, false)?))
            }
            None => {
                let mut writer = ValuedWriter::new(MemoryBlocks::default(), n_words);
                write(&mut writer)?;
                let (blocks, written) = writer.finish()?;
                let bytes = written.data_bytes;
                let run = ValuedRun::new(Arc::new(blocks), written, "a run in memory");
                Ok(ValueRun::Memory(run, bytes))
            }
        }
    }
}

/// Where entries are written.
pub(crate) trait Output {
    fn push(&mut self, batch: &Batch) -> Result<(), Error>;
    fn push_all(&mut self, sorted: &mut dyn Sorted) -> Result<(), Error>;
}

impl<S: BlockSink> Output for ValuedWriter<S> {
    fn push(&mut self, batch: &Batch) -> Result<(), Error> {
        ValuedWriter::push(self, &batch.keys, &batch.ordinals)
    }

    fn push_all(&mut self, sorted: &mut dyn Sorted) -> Result<(), Error> {
        ValuedWriter::push_all(self, sorted)
    }
}
