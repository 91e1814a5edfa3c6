//! The interface to a disk: a flat folder of files, read and written at offsets.
//!
//! Offsets, lengths and the addresses of buffers are multiples of [`SECTOR_BYTES`], so that a disk
//! may pass them to the device unchanged. `docs/reference/format.md` specifies what a machine crash may do to
//! a disk.

use std::io;
use std::sync::Arc;

/// The unit of all reading and writing.
pub const SECTOR_BYTES: usize = 4096;

/// A folder of files, known by their names.
pub trait Disk: Send + Sync {
    /// A new file, empty; it is an error if there is one of that name.
    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>>;

    /// Opens an existing file, for reading and writing.
    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>>;

    /// Renames a file atomically; replaces a file of that name.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// All files.
    fn list(&self) -> io::Result<Vec<Entry>>;

    /// Returns when all creations, renames and removals so far are durable.
    fn sync_folder(&self) -> io::Result<()>;

    /// Bytes that may still be written.
    fn free_bytes(&self) -> io::Result<u64>;

    /// The medium of the files.
    fn medium(&self) -> Medium;
}

/// A file of a [`Disk`].
pub trait DiskFile: Send + Sync {
    /// Fills `bytes` from `offset` on; a file that ends before gives `UnexpectedEof`.
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()>;

    /// Writes all of `bytes` from `offset` on; what is skipped behind the end becomes zero.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Returns when all writes so far are durable.
    fn sync(&self) -> io::Result<()>;

    /// Truncates the file, or extends it with zeros.
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

/// The medium of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    /// A device, as far as is known.
    Device,
    /// Main memory: files there save none.
    Memory,
}
