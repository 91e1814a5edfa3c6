//! What can go wrong between a search and its disk.

use std::io;

/// Why something could not be stored or read back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused an operation on a file.
    #[error("{file}: {source}")]
    Io {
        /// Name of the file in its folder.
        file: String,
        /// What the system said.
        source: io::Error,
    },
    /// What was read is not what was written.
    #[error("{file} is damaged at byte {offset}: {what}")]
    Damaged {
        /// Name of the file in its folder.
        file: String,
        /// Where in the file.
        offset: u64,
        /// What is wrong there.
        what: String,
    },
    /// There is no room left, on the device or within the limit.
    #[error("no room for {needed} more bytes on the disk")]
    Full {
        /// Bytes that were to be written.
        needed: u64,
    },
}
