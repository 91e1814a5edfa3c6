//! Bytes that are written once and then read anywhere: in memory while they are few, in a file
//! without a name beyond.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use crate::resources::Resources;

/// Bytes that can be read from any place, by any thread.
pub(crate) trait ReadAt: Send + Sync {
    /// Fills `bytes` from `offset` on.
    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()>;

    /// Their number.
    fn len(&self) -> io::Result<u64>;
}

impl ReadAt for File {
    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        FileExt::read_exact_at(self, bytes, offset)
    }

    fn len(&self) -> io::Result<u64> {
        self.metadata().map(|about| about.len())
    }
}

impl ReadAt for Vec<u8> {
    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        let from = usize::try_from(offset).ok().and_then(|at| self.get(at..));
        match from.and_then(|from| from.get(..bytes.len())) {
            Some(found) => {
                bytes.copy_from_slice(found);
                Ok(())
            }
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    fn len(&self) -> io::Result<u64> {
        Ok(Vec::len(self) as u64)
    }
}

/// A writer to memory, and to a file that vanishes with it once `limit` bytes are exceeded.
pub(crate) struct Spool {
    limit: usize,
    folder: PathBuf,
    memory: Vec<u8>,
    file: Option<File>,
}

/// What is collected before it is written to the file.
const WRITE_BYTES: usize = 256 << 10;

impl Spool {
    pub(crate) fn new(resources: &Resources<'_>) -> Self {
        Spool {
            limit: resources.spool_bytes(),
            folder: resources.scratch.clone(),
            memory: Vec::new(),
            file: None,
        }
    }

    /// Writes what is in memory to the file.
    fn spill(&mut self) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile_in(&self.folder)?),
        };
        file.write_all(&self.memory)?;
        self.memory.clear();
        self.memory.shrink_to(WRITE_BYTES);
        Ok(())
    }

    /// What was written.
    pub(crate) fn finish(mut self) -> io::Result<Box<dyn ReadAt>> {
        if self.file.is_some() {
            self.spill()?;
        }
        Ok(match self.file {
            Some(file) => Box::new(file),
            None => Box::new(self.memory),
        })
    }
}

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.memory.extend_from_slice(bytes);
        let limit = match self.file {
            Some(_) => WRITE_BYTES,
            None => self.limit,
        };
        if self.memory.len() > limit {
            self.spill()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
