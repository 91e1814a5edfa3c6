//! A test bench: runs of keys of one word, in a folder of their own.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{Layouts, Monitor, RUN, RunContext, RunWork, Segment, Tier, Tiers};
use crate::codec::Codec;
use crate::disk::{BlockWriter, Folder, FolderOptions, NativeDisk};
use crate::run::{KeyRange, RunWriter};
use crate::{Placing, Set};

const STATE_LEN: usize = 8;

/// What work on runs refers to, and a set.
pub(crate) struct Bench {
    pub(crate) folder: Folder,
    pub(crate) codec: Codec,
    pub(crate) set: Set,
    pub(crate) monitor: StopFlag,
    _directory: tempfile::TempDir,
}

/// Stops work on request.
#[derive(Default)]
pub(crate) struct StopFlag(AtomicBool);

impl StopFlag {
    pub(crate) fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Monitor for StopFlag {
    fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn begin(&self, _: RunWork, _: u64, _: u64) {}

    fn advance(&self, _: u64) {}

    fn end(&self) {}
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::with_limit(u64::MAX)
    }

    /// A folder that takes at most `limit_bytes`.
    pub(crate) fn with_limit(limit_bytes: u64) -> Self {
        let options = FolderOptions {
            buffer_bytes: 1 << 20,
            reserve_bytes: 0,
            threads: false,
            limit_bytes,
        };
        let directory = tempfile::tempdir().expect("a directory");
        let disk = NativeDisk::open(directory.path()).expect("a disk");
        let (folder, _) = Folder::open(Arc::new(disk), options).expect("a folder");
        let codec = Codec::new(STATE_LEN, 1 << 20);
        Bench {
            folder,
            set: Set::new(Placing::new(codec.newest().n_bits)),
            codec,
            monitor: StopFlag::default(),
            _directory: directory,
        }
    }

    /// With runs of some 35 thousand keys.
    pub(crate) fn context(&self, n_threads: usize, durable: bool) -> RunContext<'_> {
        RunContext {
            folder: &self.folder,
            layouts: Layouts::new(&self.codec, None),
            n_threads,
            durable,
            run_bytes: RUN_BYTES / 32,
            bucket_bytes: 100_000,
            monitor: &self.monitor,
        }
    }

    /// A tier on disk, in four runs.
    pub(crate) fn tier(&self, keys: &BTreeSet<u64>) -> Tier {
        let keys: Vec<u64> = keys.iter().copied().collect();
        let runs = keys.chunks(keys.len().div_ceil(4).max(1)).map(|keys| {
            let sink = BlockWriter::create(&self.folder, RUN).expect("a file");
            let mut writer = RunWriter::new(sink, 1);
            writer.push(keys).expect("a run");
            Segment::finish(writer, self.codec.newest().version, true).expect("a run")
        });
        Tier {
            segments: runs.collect(),
        }
    }
}

/// Length of a run.
pub(crate) const RUN_BYTES: u64 = 256 << 10;

/// All keys that some tiers have, each once.
pub(crate) fn keys_of(tiers: &Tiers) -> BTreeSet<u64> {
    let mut all = BTreeSet::new();
    for segment in tiers.segments() {
        let mut keys = segment.run.keys(KeyRange::ALL);
        let mut some = Vec::new();
        while keys.next(&mut some).expect("a run") {
            all.extend(&some);
        }
    }
    all
}
