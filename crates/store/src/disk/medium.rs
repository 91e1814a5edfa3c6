//! What is asked of a disk: a flat folder of files, read and written at offsets.
//!
//! Offsets, lengths and the addresses of buffers are multiples of [`SECTOR_BYTES`], so that a disk
//! may hand them to the device as they are.
//! What a machine crash may do to a disk is written in `docs/reference/format.md`.

use std::io;
use std::sync::Arc;

/// The unit of all reading and writing.
pub const SECTOR_BYTES: usize = 4096;

/// A folder of files, known by their names.
pub trait Disk: Send + Sync {
    /// A new file, empty; it is an error if there is one of that name.
    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>>;

    /// A file that is there, for reading and writing.
    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>>;

    /// Gives a file another name, in place of whatever had that name, at once.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// All files.
    fn list(&self) -> io::Result<Vec<Entry>>;

    /// Returns when files created, renamed and removed before are so for good.
    fn sync_folder(&self) -> io::Result<()>;

    /// Bytes that may still be written.
    fn free_bytes(&self) -> io::Result<u64>;

    /// What the files lie on.
    fn medium(&self) -> Medium;
}

/// A file of a [`Disk`].
pub trait DiskFile: Send + Sync {
    /// Fills `bytes` from `offset` on; a file that ends before gives `UnexpectedEof`.
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()>;

    /// Writes all of `bytes` from `offset` on; what is skipped behind the end becomes zero.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Returns when all that was written is so for good.
    fn sync(&self) -> io::Result<()>;

    /// Cuts the file off, or fills it up with zeros.
    fn truncate(&self, len: u64) -> io::Result<()>;

    /// Length in bytes.
    fn len(&self) -> io::Result<u64>;

    /// Whether there is nothing in the file.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
}

/// A file in a listing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Name of the file.
    pub name: String,
    /// Its length in bytes.
    pub len: u64,
}

/// What a disk lies on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    /// A device, as far as is known.
    Device,
    /// Main memory: what is put there does not make room.
    Memory,
}
