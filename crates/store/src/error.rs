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
    /// A file is whole, but of a format that this version does not know.
    #[error("{file} has format version {version}, which this version of hadal cannot read")]
    Version {
        /// Name of the file in its folder.
        file: String,
        /// The version it names.
        version: u32,
    },
    /// There is no room left, on the device or within the limit.
    #[error("no room for {needed} more bytes on the disk")]
    Full {
        /// Bytes that were to be written.
        needed: u64,
    },
    /// Another search has the folder.
    #[error("{folder} is in use by another run; wait for it to end or choose another folder")]
    Locked {
        /// Path of the folder.
        folder: String,
    },
}

impl Error {
    /// What an operation on `file` failed with; `needed` are the bytes it was to write, if any.
    pub(crate) fn from_io(file: &str, needed: u64, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => Self::Full { needed },
            _ => Self::Io {
                file: file.to_owned(),
                source,
            },
        }
    }

    /// `file` does not hold at `offset` what it should.
    pub(crate) fn damaged(file: &str, offset: u64, what: impl Into<String>) -> Self {
        Self::Damaged {
            file: file.to_owned(),
            offset,
            what: what.into(),
        }
    }
}
