//! Limits of the operating system on this process: open files, size of a file, address space.
//!
//! A shell sets them with `ulimit`. A process that meets one of them gets an error where it does
//! not expect any, so they are raised or taken into account before.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::memory;

/// Raises the soft limit of open files to the hard one, if the system lets it. A search on disk
/// keeps a file open for each sorted run.
pub fn raise_open_files() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum {
        let raised = Rlimit {
            current: maximum,
            maximum,
        };
        // It stays as it is where this is refused.
        let _ = setrlimit(Resource::Nofile, raised);
    }
}

/// The number of files that may be open at once (`ulimit -n`); `None` for no limit.
pub fn open_files() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}

/// The most bytes that a file may have (`ulimit -f`); `None` for no limit.
pub fn file_bytes() -> Option<u64> {
    getrlimit(Resource::Fsize).current
}

/// The most address space that the process may have (`ulimit -v`), in bytes; `None` for no limit.
pub fn address_space_bytes() -> Option<u64> {
    getrlimit(Resource::As).current
}

/// What the limit on address space leaves, in bytes; `None` for no limit.
pub fn address_space_left() -> Option<u64> {
    let limit = address_space_bytes()?;
    Some(limit.saturating_sub(memory::mapped_bytes()))
}
