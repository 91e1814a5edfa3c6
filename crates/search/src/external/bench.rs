//! What tests of this module work with: runs of keys of one word, on a disk in memory.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, RwLock};

use hadal_model::Stop;
use hadal_store::codec::Codec;
use hadal_store::disk::{BlockWriter, Folder, FolderOptions};
use hadal_store::run::{KeyRange, RunWriter};
use hadal_store::{Log, Placing, Set};
use hadal_testkit::disk::CrashDisk;

use super::hands::Hands;
use super::tiers::{Means, RUN, Segment, Tier, Tiers};
use crate::progress::Gauge;
use crate::visited::Keyed;

const STATE_LEN: usize = 8;

/// What working on runs needs, and a set.
pub(super) struct Bench {
    pub(super) folder: Folder,
    pub(super) keyed: Keyed,
    pub(super) stop: Stop,
    hands: RwLock<Hands>,
    gauge: Gauge,
}

impl Bench {
    pub(super) fn new() -> Self {
        let options = FolderOptions {
            buffer_bytes: 1 << 20,
            reserve_bytes: 0,
            threads: false,
            ..FolderOptions::default()
        };
        let disk = Arc::new(CrashDisk::new());
        let (folder, _) = Folder::open(disk, options).expect("a folder can be used");
        let codec = Codec::new(STATE_LEN, 1 << 20);
        let placing = Placing::new(codec.newest().n_bits);
        Bench {
            folder,
            keyed: Keyed {
                codec,
                hashing: None,
                set: RwLock::new(Set::new(placing)),
                log: Mutex::new(Log::new()),
            },
            stop: Stop::new(),
            hands: RwLock::default(),
            gauge: Gauge::new(),
        }
    }

    /// With runs of some 35 thousand keys.
    pub(super) fn means(&self, n_threads: usize, durable: bool) -> Means<'_> {
        Means {
            folder: &self.folder,
            keyed: &self.keyed,
            n_threads,
            durable,
            memory_bytes: RUN_BYTES / 32,
            batch_bytes: 1 << 16,
            hands: &self.hands,
            stop: &self.stop,
            gauge: &self.gauge,
        }
    }

    /// A tier on disk, in four runs.
    pub(super) fn tier(&self, keys: &BTreeSet<u64>) -> Tier {
        let keys: Vec<u64> = keys.iter().copied().collect();
        let runs = keys.chunks(keys.len().div_ceil(4).max(1)).map(|keys| {
            let sink = BlockWriter::create(&self.folder, RUN).expect("a file");
            let mut writer = RunWriter::new(sink, 1);
            writer.push(keys).expect("a run");
            Segment::finish(writer, self.keyed.key_shape().version, true).expect("a run")
        });
        Tier {
            segments: runs.collect(),
        }
    }
}

/// Length of a run.
pub(super) const RUN_BYTES: u64 = 256 << 10;

/// All keys that some tiers have, each once.
pub(super) fn keys_of(tiers: &Tiers) -> BTreeSet<u64> {
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
