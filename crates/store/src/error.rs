//! What can go wrong between a search and its disk.

use std::fmt;
use std::io;

use rustix::io::Errno;

use crate::disk::FORMAT_VERSION;

/// Why something could not be stored or read back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused an operation on a file.
    #[error("{file}: {source}")]
    Io {
        /// Name of the file in its folder.
        file: String,
        /// The system's error.
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
    /// A file is whole, but of a version that this program cannot read.
    #[error("{file} was written by {found}; this is {supported}")]
    OtherVersion {
        /// Name of the file in its folder.
        file: String,
        /// The versions it names.
        found: Box<Versions>,
        /// The versions this program reads.
        supported: Box<Versions>,
    },
    /// States are too wide to go to disk.
    #[error("states have {state_len} bytes; at most {limit} can go to disk")]
    TooWide {
        /// Bytes of a state.
        state_len: usize,
        /// The most there may be.
        limit: usize,
    },
    /// There is no room left, on the device or within the limit.
    #[error("no room for {needed} more bytes on the disk")]
    Full {
        /// Bytes that were to be written.
        needed: u64,
    },
    /// The system allows too few open files.
    #[error("{file}: {source}; a search keeps a file open for each sorted run")]
    TooManyFiles {
        /// Name of the file in its folder.
        file: String,
        /// The system's error.
        source: io::Error,
    },
    /// Another search has the folder.
    #[error("{folder} is in use by another run; wait for it to end or choose another folder")]
    Locked {
        /// Path of the folder.
        folder: String,
    },
}

/// What a file names as its versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Versions {
    /// Version of `docs/reference/format.md`.
    pub format: u32,
    /// Version of the manifest's payload, if known.
    pub payload: Option<u32>,
    /// Version of the program that wrote it, if known.
    pub program: Option<String>,
}

impl Versions {
    /// Those of this program, as far as this crate knows.
    pub(crate) fn own() -> Self {
        Versions {
            format: FORMAT_VERSION,
            payload: None,
            program: Some(env!("CARGO_PKG_VERSION").to_owned()),
        }
    }
}

impl fmt::Display for Versions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.program {
            Some(program) => write!(f, "hadal {program}, format {}", self.format)?,
            None => write!(f, "another hadal, format {}", self.format)?,
        }
        match self.payload {
            Some(payload) => write!(f, ", payload {payload}"),
            None => Ok(()),
        }
    }
}

impl Error {
    /// `file` is of a version that this program cannot read.
    pub(crate) fn other_version(file: &str, found: Versions, supported: Versions) -> Self {
        Self::OtherVersion {
            file: file.to_owned(),
            found: Box::new(found),
            supported: Box::new(supported),
        }
    }

    /// What an operation on `file` failed with; `needed` are the bytes it was to write, if any.
    pub(crate) fn from_io(file: &str, needed: u64, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => Self::Full { needed },
            _ if is_lack_of_files(&source) => Self::TooManyFiles {
                file: file.to_owned(),
                source,
            },
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

/// Whether the process, or the system, has too many files open.
fn is_lack_of_files(error: &io::Error) -> bool {
    let code = error.raw_os_error();
    [Errno::MFILE, Errno::NFILE]
        .iter()
        .any(|lack| Some(lack.raw_os_error()) == code)
}
