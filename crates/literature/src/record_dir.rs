//! Where strategies keep what is not in their tables: files of records, in a folder of the disk layer
//! or, without one, in memory, which is how small models are measured.
//!
//! Memory and time of these files are their own: a strategy's budget is for its table and its queue.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use hadal_search::strategy::Run;
use hadal_store::disk::Folder;
use hadal_store::{BLOCK_BYTES, Error};

use crate::parent_index::PARENT_BYTES;
use crate::records::Records;

/// Bytes of the longest state whose records fit a block: beside it stand at most a signature and a
/// parent.
pub(crate) const MAX_STATE_LEN: usize = BLOCK_BYTES - SIGNATURE_BYTES - PARENT_BYTES;

/// Bytes of the longest signature.
const SIGNATURE_BYTES: usize = 16;

/// Where records go.
#[derive(Clone, Default)]
pub(crate) struct RecordDir {
    usage: Rc<Usage>,
    pub(crate) folder: Option<Folder>,
}

/// What went through a directory, in bytes, and how long that took.
#[derive(Debug, Default)]
struct Usage {
    now: Cell<u64>,
    peak: Cell<u64>,
    written: Cell<u64>,
    read: Cell<u64>,
    io: Cell<Duration>,
}

impl RecordDir {
    /// A directory in memory.
    pub(crate) fn in_memory() -> Self {
        Self::default()
    }

    /// In the folder of the search, if it has one. States must fit it: a record is a state with what
    /// a strategy notes beside it, and lies in one block. In memory there is no limit.
    pub(crate) fn new(run: &Run<'_>) -> Result<Self, Error> {
        let (folder, state_len) = (run.folder().cloned(), run.shape.state_len);
        match folder.is_some() && state_len > MAX_STATE_LEN {
            true => Err(Error::TooWide {
                state_len,
                limit: MAX_STATE_LEN,
            }),
            false => Ok(RecordDir::within(folder)),
        }
    }

    pub(crate) fn within(folder: Option<Folder>) -> Self {
        RecordDir {
            usage: Rc::default(),
            folder,
        }
    }

    /// Another directory at the same place, whose use is counted apart.
    pub(crate) fn beside(&self) -> Self {
        RecordDir {
            usage: Rc::default(),
            folder: self.folder.clone(),
        }
    }

    /// Whether there is a folder.
    pub(crate) fn is_on_disk(&self) -> bool {
        self.folder.is_some()
    }

    /// Whether their use is counted together.
    pub(crate) fn is_same(&self, other: &RecordDir) -> bool {
        Rc::ptr_eq(&self.usage, &other.usage)
    }

    /// An empty file of records of `record_len` bytes.
    pub(crate) fn records(&self, record_len: usize) -> Result<Records, Error> {
        Ok(Records::new(self.clone(), record_len))
    }

    /// Time spent on reading and writing.
    pub(crate) fn io(&self) -> Duration {
        self.usage.io.get()
    }

    pub(crate) fn now_bytes(&self) -> u64 {
        self.usage.now.get()
    }

    pub(crate) fn peak_bytes(&self) -> u64 {
        self.usage.peak.get()
    }

    pub(crate) fn written_bytes(&self) -> u64 {
        self.usage.written.get()
    }

    pub(crate) fn read_bytes(&self) -> u64 {
        self.usage.read.get()
    }

    pub(crate) fn count_io(&self, since: Instant) {
        self.usage.io.set(self.usage.io.get() + since.elapsed());
    }

    pub(crate) fn count_read(&self, bytes: usize) {
        self.usage.read.set(self.usage.read.get() + bytes as u64);
    }

    pub(crate) fn count_written(&self, bytes: usize) {
        let usage = &*self.usage;
        usage.written.set(usage.written.get() + bytes as u64);
        usage.now.set(usage.now.get() + bytes as u64);
        usage.peak.set(usage.peak.get().max(usage.now.get()));
    }

    pub(crate) fn count_deleted(&self, bytes: u64) {
        self.usage.now.set(self.usage.now.get() - bytes);
    }
}
