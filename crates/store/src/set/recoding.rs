//! Replacing all keys of a set by others, when the layout of keys changes.

use std::sync::Mutex;

use super::{Growth, Keys, Set, SetPartition};
use crate::Placing;
use crate::lock::{read, write};
use crate::parallel::in_parallel;
use crate::table::N_PARTITIONS;

impl Set {
    /// About the most memory that [`recode`](Self::recode) takes for keys of `n_bits` bits where it
    /// is given as little as it can do with, in bytes.
    pub fn recode_bytes(&self, n_bits: usize) -> u64 {
        self.bytes_for(&Recoding::FRUGAL, Placing::new(n_bits))
    }

    pub(super) fn bytes_for(&self, recoding: &Recoding, placing: Placing) -> u64 {
        // Each old partition has keys for all new ones, so the first arrays of these are there long
        // before the old ones are freed.
        let lens = self
            .partitions
            .iter()
            .map(|partition| read(partition).len());
        let lens: Vec<usize> = lens.collect();
        let growth = Growth {
            loose_bytes: self.loose_bytes,
            ..Growth::of(placing)
        };
        let new_bytes = |stage: usize| -> u64 {
            let bytes_of = |(number, len): (usize, &usize)| {
                let fresh = SetPartition::new(placing, growth, number);
                fresh.growth_bytes(recoding.recoded(*len, stage))
            };
            lens.iter().enumerate().map(bytes_of).sum()
        };
        let old_bytes = self.data_bytes();
        let held_bytes = |stage: usize| {
            let n_left = recoding.n_stages - stage.saturating_sub(1);
            old_bytes * n_left as u64 / recoding.n_stages as u64 + new_bytes(stage)
        };
        let largest = lens.iter().max().copied().unwrap_or(0);
        let in_work = largest * recoding.n_at_once * self.bytes_in_work(placing);
        (1..=recoding.n_stages).map(held_bytes).max().unwrap_or(0) + in_work as u64
    }

    /// Memory that a key takes while it is replaced by one of another `placing`, beside the arrays.
    fn bytes_in_work(&self, placing: Placing) -> usize {
        8 * (self.placing.key_words() + placing.key_words()) + Keys::bytes_for_key(placing)
    }

    /// Replaces all keys by others, of which the first `n_bits` bits are used. `recode` writes the
    /// new key for its first argument to its second. Returns the peak of memory held, in bytes.
    ///
    /// Where `most_bytes` have no room for both, the old keys are freed as the new ones grow, on one
    /// thread. A cache keeps its size and, to save memory, only its young keys.
    pub fn recode(
        &mut self,
        n_bits: usize,
        most_bytes: u64,
        n_threads: usize,
        recode: impl Fn(&[u64], &mut [u64]) + Sync,
    ) -> u64 {
        let loose_bytes = (self.loose_bytes * N_PARTITIONS) as u64;
        let new = Set::loose(Placing::new(n_bits), loose_bytes);
        let placing = new.placing;
        let cache_bytes: Option<usize> = read(&self.partitions[0]).cache_bytes();
        if let Some(bytes) = cache_bytes {
            for (old, new) in self.partitions.iter().zip(&new.partitions) {
                write(old).drop_old();
                write(new).begin_cache(bytes);
            }
        }
        let is_quick = self.bytes_for(&Recoding::QUICK, placing) <= most_bytes;
        let (recoding, n_threads) = match is_quick {
            true if self.len() >= MANY_KEYS => (Recoding::QUICK, n_threads),
            true => (Recoding::QUICK, 1),
            false => (Recoding::FRUGAL, 1),
        };
        let n_words = self.placing.key_words();
        let mut old_bytes = self.data_bytes();
        let mut peak_bytes = old_bytes + new.data_bytes();
        let mean_len = (self.len() / N_PARTITIONS as u64) as usize;
        let mut scratch: Vec<Mutex<RecodingScratch>> = Vec::new();
        scratch.resize_with(recoding.n_at_once, Mutex::default);
        for (round, partitions) in self.partitions.chunks(recoding.n_at_once).enumerate() {
            in_parallel(n_threads, partitions.len(), |number| {
                let mut scratch = scratch[number].lock().expect(UNPOISONED);
                scratch.recode(&mut write(&partitions[number]), placing, &recode);
                Ok(())
            })
            .expect("recoding cannot fail");
            let scratch: Vec<_> = scratch
                .iter_mut()
                .map(|scratch| scratch.get_mut().expect(UNPOISONED))
                .collect();
            let n_done = round * recoding.n_at_once + partitions.len();
            let stage = (n_done - 1) * recoding.n_stages / N_PARTITIONS + 1;
            let mean = recoding.recoded(mean_len, stage);
            in_parallel(n_threads, N_ITEMS, |item| {
                let per_item = N_PARTITIONS / N_ITEMS;
                for number in item * per_item..(item + 1) * per_item {
                    let mut new = write(&new.partitions[number]);
                    let batches = || scratch.iter().map(|it| it.recoded.cells(number));
                    let n_added: usize = batches().map(|cells| cells.len()).sum();
                    let len = new.len() + n_added / placing.cell_words();
                    // Keys of an old partition may all come to lie in one, so not all have the mean.
                    let in_proportion = len * stage * N_PARTITIONS / recoding.n_stages / n_done;
                    new.add_distinct(batches(), len, mean.min(in_proportion));
                }
                Ok(())
            })
            .expect("recoding cannot fail");
            // Adding up what all partitions hold takes as long as recoding a small one.
            if n_done % 16 == 0 {
                let n_in_work: usize = scratch.iter().map(|it| it.keys.len() / n_words).sum();
                let in_work = n_in_work * self.bytes_in_work(placing);
                let held_bytes = old_bytes + new.data_bytes() + in_work as u64;
                peak_bytes = peak_bytes.max(held_bytes);
            }
            old_bytes -= scratch.iter().map(|it| it.freed_bytes).sum::<u64>();
        }
        *self = new;
        peak_bytes
    }
}

const UNPOISONED: &str = "a panic while keys are recoded ends the search";

/// Items that adding recoded keys is divided into.
const N_ITEMS: usize = 32;
/// Keys that are worth several threads.
const MANY_KEYS: u64 = 1 << 15;

/// How the keys of a set are replaced.
pub(super) struct Recoding {
    /// Parts in which they are. A new array that has to grow has room for those of the current part,
    /// so a key is moved about half as many times, whatever the usual steps.
    n_stages: usize,
    /// Partitions of old keys that are replaced at once; a divisor of their number.
    n_at_once: usize,
    /// Percentage of keys for which new arrays have room beyond those there are.
    spare_percent: usize,
}

impl Recoding {
    /// With as little memory as possible.
    pub(super) const FRUGAL: Recoding = Recoding {
        n_stages: 16,
        n_at_once: 1,
        spare_percent: 0,
    };
    /// New arrays are made once, beside the old ones.
    pub(super) const QUICK: Recoding = Recoding {
        n_stages: 1,
        n_at_once: 16,
        spare_percent: 12,
    };

    /// Keys that a new partition has after a stage, where the old ones have `len` each: keys are
    /// spread at random, so few partitions have more.
    fn recoded(&self, len: usize, stage: usize) -> usize {
        let mean = len * stage / self.n_stages;
        mean + 2 * mean.isqrt() + mean * self.spare_percent / 100
    }
}

/// A partition of old keys, and the new ones in their place.
#[derive(Default)]
struct RecodingScratch {
    keys: Vec<u64>,
    made: Vec<u64>,
    recoded: Keys,
    /// What the old partition had held.
    freed_bytes: u64,
}

impl RecodingScratch {
    /// Takes the keys of a partition, and frees it.
    fn recode(
        &mut self,
        partition: &mut SetPartition,
        placing: Placing,
        recode: impl Fn(&[u64], &mut [u64]),
    ) {
        let (n_words, n_made) = (partition.placing.key_words(), placing.key_words());
        self.freed_bytes = partition.data_bytes();
        self.keys.clear();
        partition.take_keys(&mut self.keys);
        self.made.clear();
        self.made.resize(self.keys.len() / n_words * n_made, 0);
        let made_keys = self.made.chunks_exact_mut(n_made);
        for (key, made) in self.keys.chunks_exact(n_words).zip(made_keys) {
            recode(key, made);
        }
        self.recoded.fill(placing, &self.made);
    }
}
