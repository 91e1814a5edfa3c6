//! What work on runs refers to.

use crate::codec::{Codec, KeyShape, Recoder};
use crate::disk::{Folder, STREAM_BYTES};

/// The folder of runs, the layouts of their keys, and the means for working on them.
#[derive(Clone, Copy)]
pub struct RunContext<'a> {
    /// Where runs are written.
    pub folder: &'a Folder,
    /// Layouts of keys.
    pub layouts: Layouts<'a>,
    /// Threads that share the work.
    pub n_threads: usize,
    /// Whether what is written must survive a crash.
    pub durable: bool,
    /// Memory for runs too small for a file of their own, in bytes.
    pub run_bytes: u64,
    /// Memory for partitioned keys, in bytes.
    pub bucket_bytes: u64,
    /// Who watches the work.
    pub monitor: &'a dyn Monitor,
}

/// Memory that a thread has for merging, in bytes, and the part of that for partitioned keys, as a
/// divisor, where that is more.
const MERGE_BYTES: u64 = 2 << 20;
const MERGE_SHARE: u64 = 16;
/// A tier that is merged takes this much: its reader, and the keys that are decoded at once.
const INPUT_BYTES: u64 = STREAM_BYTES + (24 << 10);
/// Wide keys that are held of each tier, and of each pair that is merged.
const INPUT_KEYS: u64 = 4;
/// A thread that writes a run takes this much, and some keys that wait to be encoded.
const WRITER_BYTES: u64 = 3 * STREAM_BYTES;
const WRITER_KEYS: u64 = 8 << 10;
/// Of wide keys fewer wait.
const MAX_WRITER_KEY: u64 = 64;
/// Divisor: the part of the memory for partitioned keys that all threads may take while they merge.
const MERGERS_SHARE: u64 = 8;
/// Threads that may merge in any case.
const FEW_MERGERS: u64 = 4;

impl RunContext<'_> {
    /// Most tiers that are merged at once: each thread has a reader of each.
    pub(super) fn max_fan_in(&self) -> usize {
        let bytes = MERGE_BYTES.max(self.bucket_bytes / MERGE_SHARE / self.n_threads as u64);
        let key_bytes = 8 * self.layouts.newest().n_words as u64;
        (bytes / (INPUT_BYTES + INPUT_KEYS * key_bytes)).max(2) as usize
    }

    /// Threads that merge `n_runs` runs at once: where there are many threads and little memory, not
    /// all of them have room for readers and a writer.
    pub(super) fn n_mergers(&self, n_runs: usize) -> usize {
        let key_bytes = 8 * self.layouts.newest().n_words as u64;
        let readers = n_runs as u64 * (INPUT_BYTES + INPUT_KEYS * key_bytes);
        let thread_bytes = readers + WRITER_BYTES + WRITER_KEYS * key_bytes.min(MAX_WRITER_KEY);
        let most = (self.bucket_bytes / MERGERS_SHARE / thread_bytes).max(FEW_MERGERS);
        self.n_threads.min(most as usize)
    }
}

/// Watches work on runs that takes long.
pub trait Monitor: Sync {
    /// Whether the work should stop. Then it has no effect.
    fn is_stopped(&self) -> bool;

    /// Work starts, of which `done` of `total` keys are done already.
    fn begin(&self, work: RunWork, done: u64, total: u64);

    /// `n_keys` more keys are done.
    fn advance(&self, n_keys: u64);

    /// The work ends.
    fn end(&self);
}

/// Work on runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunWork {
    /// Runs are merged.
    Merging,
    /// Keys in memory are sorted and written.
    Flushing,
}

/// The layouts of keys in runs: those of a codec, or the one layout of signatures.
#[derive(Clone, Copy)]
pub struct Layouts<'a> {
    codec: &'a Codec,
    signatures: Option<KeyShape>,
}

impl<'a> Layouts<'a> {
    /// Keys of `codec`, or signatures of this shape in their place.
    pub fn new(codec: &'a Codec, signatures: Option<KeyShape>) -> Self {
        Layouts { codec, signatures }
    }

    /// The newest layout.
    pub fn newest(&self) -> KeyShape {
        self.signatures.unwrap_or_else(|| self.codec.newest())
    }

    /// The layout `version` of the codec. Signatures have one version only.
    pub fn of_version(&self, version: u32) -> KeyShape {
        self.codec.shape(version)
    }

    /// Recodes keys of one version into another.
    pub fn recoder(&self, from: u32, to: u32) -> Recoder<'a> {
        self.codec.recoder(from, to)
    }
}

#[cfg(test)]
mod tests {
    use super::super::bench::Bench;
    use super::RunContext;

    /// With many threads and little memory few threads merge; two always do, and all where there is
    /// memory for their readers.
    #[test]
    fn few_threads_merge_where_memory_is_short() {
        let bench = Bench::new();
        let n_mergers = |n_threads, n_runs, bucket_bytes| {
            let context = RunContext {
                bucket_bytes,
                ..bench.context(n_threads, false)
            };
            context.n_mergers(n_runs)
        };
        assert_eq!(n_mergers(2, 20, 0), 2);
        assert_eq!(n_mergers(64, 4, 16 << 20), 4);
        assert!((5..64).contains(&n_mergers(64, 4, 64 << 20)));
        assert_eq!(n_mergers(64, 4, 4 << 30), 64);
    }
}
