//! Open files of a folder, and the room they claim.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::Folder;
use crate::Error;
use crate::disk::DiskFile;

/// An open file of a folder, with its length and the folder that accounts for it.
#[derive(Clone)]
pub(crate) struct OpenFile {
    pub(crate) name: String,
    pub(crate) file: Arc<dyn DiskFile>,
    pub(crate) folder: Folder,
    pub(super) len: Arc<AtomicU64>,
}

impl OpenFile {
    /// Length, writes in flight included.
    pub(crate) fn len(&self) -> u64 {
        self.len.load(Relaxed)
    }

    /// Claims room up to `end`; a file has one writer, so there is no race.
    pub(crate) fn grow_to(&self, end: u64) -> Result<(), Error> {
        let more = end.saturating_sub(self.len());
        let inner = &*self.folder.inner;
        let grow = || inner.usage.grow(more, &*inner.disk, inner.reserve_bytes);
        self.folder.with_room(grow)?;
        self.len.fetch_add(more, Relaxed);
        Ok(())
    }

    /// Truncates the file to `end`.
    pub(crate) fn cut_to(&self, end: u64) -> Result<(), Error> {
        let less = self.len().saturating_sub(end);
        if less > 0 {
            self.file
                .truncate(end)
                .map_err(|e| Error::from_io(&self.name, 0, e))?;
            self.len.fetch_sub(less, Relaxed);
            self.folder.inner.usage.shrink(less);
        }
        Ok(())
    }
}
