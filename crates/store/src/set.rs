//! The set of keys: exact, with the keys themselves in the table.
//!
//! A partition is a table of cells (see [`Placing`]) with few free slots, so a key costs little more
//! than its bytes. It grows in small steps, each a pass over the table.
//! From [`Set::begin_cache`] on a set is a cache of recent keys of fixed size: a partition has a
//! young table and an old one, and when the young one is full, the old one is emptied and they are
//! swapped. It holds no ordinals; a [`Table`](crate::Table) finds those.

mod buckets;
mod generations;
mod keys;
mod sorted;
mod table;
#[cfg(test)]
mod tests;
mod wide;

use std::sync::RwLock;

use crate::Placing;
use crate::lock::{read, write};
use crate::table::N_PARTITIONS;
use buckets::Buckets;
use generations::Generations;
use sorted::Sorted;
use wide::WidePartition;

pub use keys::Keys;

/// The partitions, each behind its own lock.
#[derive(Debug)]
pub struct Set {
    placing: Placing,
    partitions: Vec<RwLock<SetPartition>>,
}

/// How full tables get, and by how much they grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Growth {
    /// Slots in a thousand that may be taken.
    pub fill: usize,
    /// A table grows by one in `steps` buckets, so a key is moved about `steps` times in its life,
    /// sequentially. Small tables grow by more.
    pub steps: usize,
}

impl Growth {
    /// Values that suit the length of cells: the longer they are, the more a free slot costs in
    /// memory, and the less a pass over them adds to the time for a key. Buckets can be fuller than
    /// sorted cells.
    pub fn of(placing: Placing) -> Self {
        let (fill, steps) = match placing.cell_len() {
            0..=8 => (850, 8),
            9..LONG_CELL => (900, 12),
            LONG_CELL..=23 => (950, 12),
            24.. => (950, 16),
        };
        Growth { fill, steps }
    }
}

/// Cells of this many bytes lie in buckets, shorter ones sorted: the shorter they are, the less it
/// takes to move some for a new one, and the more a lookup gains by reading one line only.
const LONG_CELL: usize = 16;

/// Parts in which keys are recoded. New tables have room for the keys of one part more, so each key is
/// moved half as many times.
const RECODING_STAGES: usize = 16;

impl Set {
    /// An empty set.
    pub fn new(placing: Placing) -> Self {
        Self::with_growth(placing, Growth::of(placing))
    }

    /// An empty set with another growth.
    pub fn with_growth(placing: Placing, growth: Growth) -> Self {
        let partition = |number| RwLock::new(SetPartition::new(placing, growth, number));
        Set {
            placing,
            partitions: (0..N_PARTITIONS).map(partition).collect(),
        }
    }

    /// How keys are placed.
    pub fn placing(&self) -> Placing {
        self.placing
    }

    /// The partition numbered `partition`.
    pub fn partition(&self, partition: usize) -> &RwLock<SetPartition> {
        &self.partitions[partition]
    }

    /// Number of keys.
    pub fn len(&self) -> u64 {
        let len = |partition: &RwLock<SetPartition>| read(partition).len() as u64;
        self.partitions.iter().map(len).sum()
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Memory held, in bytes.
    pub fn data_bytes(&self) -> u64 {
        let data_bytes = |partition: &RwLock<SetPartition>| read(partition).data_bytes();
        self.partitions.iter().map(data_bytes).sum()
    }

    /// Memory that `n_candidates[p]` more keys in each partition `p` take at most, in bytes,
    /// where up to `n_threads` partitions grow at once: a table and its replacement are held
    /// together.
    pub fn growth_bytes(&self, n_candidates: &[usize; N_PARTITIONS], n_threads: usize) -> u64 {
        let (mut sum, mut largest) = (0, 0);
        for (partition, &n) in self.partitions.iter().zip(n_candidates) {
            let partition = read(partition);
            let growth_bytes = partition.growth_bytes(n);
            sum += growth_bytes;
            if growth_bytes > 0 {
                largest = largest.max(partition.data_bytes());
            }
        }
        sum + largest * n_threads.min(N_PARTITIONS) as u64
    }

    /// From now on the set is a cache that takes at most `bytes`. As many of its keys as fit the
    /// old tables stay, evenly chosen.
    ///
    /// Each partition is made smaller on its own; `bytes` has room for the tables of one that are
    /// held beside their replacements.
    pub fn begin_cache(&self, bytes: u64) {
        let partition_bytes = bytes / (N_PARTITIONS as u64 + 1);
        for partition in &self.partitions {
            write(partition).begin_cache(partition_bytes as usize);
        }
    }

    /// About the most memory that [`recode`](Self::recode) takes for keys of `n_bits` bits, in bytes.
    pub fn recode_bytes(&self, n_bits: usize) -> u64 {
        // Each old partition has keys for all new ones, so the first tables of these are there long
        // before the old ones are freed.
        let placing = Placing::new(n_bits);
        let lens = self
            .partitions
            .iter()
            .map(|partition| read(partition).len());
        let lens: Vec<usize> = lens.collect();
        let new_bytes = |step: usize| -> u64 {
            let bytes_of = |(number, len): (usize, &usize)| {
                let fresh = SetPartition::new(placing, Growth::of(placing), number);
                fresh.growth_bytes(recoded(*len, step))
            };
            lens.iter().enumerate().map(bytes_of).sum()
        };
        let old_bytes = self.data_bytes();
        let held_bytes = |step: usize| {
            let n_left = RECODING_STAGES - step.saturating_sub(1);
            old_bytes * n_left as u64 / RECODING_STAGES as u64 + new_bytes(step)
        };
        let largest = lens.iter().max().copied().unwrap_or(0);
        let in_work = (largest * self.bytes_in_work(placing)) as u64;
        (1..=RECODING_STAGES).map(held_bytes).max().unwrap_or(0) + in_work
    }

    /// Memory that a key takes while it is replaced by one of another `placing`, beside the tables.
    fn bytes_in_work(&self, placing: Placing) -> usize {
        8 * (self.placing.key_words() + placing.key_words()) + Keys::bytes_for_key(placing)
    }

    /// Replaces all keys by others, of which the first `n_bits` bits are used. `recode` writes the
    /// new key for its first argument to its second. Returns the peak of memory held, in bytes.
    ///
    /// One partition of the old keys after the other is freed as the new ones grow. A cache keeps
    /// its size and, to save memory, only its young keys.
    pub fn recode(&mut self, n_bits: usize, mut recode: impl FnMut(&[u64], &mut [u64])) -> u64 {
        let new = Set::new(Placing::new(n_bits));
        let placing = new.placing;
        let cache_bytes: Option<usize> = read(&self.partitions[0]).cache_bytes();
        if let Some(bytes) = cache_bytes {
            for (old, new) in self.partitions.iter().zip(&new.partitions) {
                write(old).drop_old();
                write(new).begin_cache(bytes);
            }
        }
        let (mut keys, mut made) = (Vec::new(), Vec::new());
        let mut by_partition = Keys::default();
        let n_words = self.placing.key_words();
        let mut old_bytes = self.data_bytes();
        let mut most_bytes = old_bytes + new.data_bytes();
        let mean_len = (self.len() / N_PARTITIONS as u64) as usize;
        for (number, partition) in self.partitions.iter().enumerate() {
            let n_done = number + 1;
            let stage = number * RECODING_STAGES / N_PARTITIONS + 1;
            let mean = recoded(mean_len, stage);
            let partition_bytes = read(partition).data_bytes();
            keys.clear();
            write(partition).take_keys(&mut keys);
            made.clear();
            made.resize(keys.len() / n_words * placing.key_words(), 0);
            let made_keys = made.chunks_exact_mut(placing.key_words());
            for (key, made) in keys.chunks_exact(n_words).zip(made_keys) {
                recode(key, made);
            }
            by_partition.fill(placing, &made);
            for number in 0..N_PARTITIONS {
                let (cells, mut new) = (by_partition.cells(number), write(&new.partitions[number]));
                let len = new.len() + by_partition.positions(number).len();
                // Keys of an old partition may all come to lie in one, so not all have the mean.
                let in_proportion = len * stage * N_PARTITIONS / RECODING_STAGES / n_done;
                new.add_distinct(cells, mean.min(in_proportion));
            }
            // Adding up what all partitions hold takes as long as recoding a small one.
            if number % 16 == 15 {
                let in_work = keys.len() / n_words * self.bytes_in_work(placing);
                let held_bytes = old_bytes + new.data_bytes() + in_work as u64;
                most_bytes = most_bytes.max(held_bytes);
            }
            old_bytes -= partition_bytes;
        }
        *self = new;
        most_bytes
    }
}

/// Keys that a new partition has after a stage of recoding, where the old ones have `len` each: keys
/// are spread at random, so few partitions have more.
fn recoded(len: usize, stage: usize) -> usize {
    let mean = len * stage / RECODING_STAGES;
    mean + 2 * mean.isqrt()
}

/// One partition of a [`Set`].
#[derive(Debug)]
pub struct SetPartition {
    placing: Placing,
    growth: Growth,
    number: usize,
    form: Form,
}

/// How the keys of a partition are kept, by the length of their cells.
#[derive(Debug)]
enum Form {
    Sorted(Generations<Sorted>),
    Buckets(Generations<Buckets>),
    Wide(Box<WidePartition>),
}

/// Calls a method of whatever the keys of a partition are kept in.
macro_rules! with_form {
    ($form:expr, $keys:ident => $call:expr) => {
        match $form {
            Form::Sorted($keys) => $call,
            Form::Buckets($keys) => $call,
            Form::Wide($keys) => $call,
        }
    };
}

impl SetPartition {
    fn new(placing: Placing, growth: Growth, number: usize) -> Self {
        let form = if placing.is_wide() {
            Form::Wide(Box::new(WidePartition::new(placing)))
        } else if placing.cell_len() >= LONG_CELL {
            Form::Buckets(Generations::new(placing, growth, number))
        } else {
            Form::Sorted(Generations::new(placing, growth, number))
        };
        SetPartition {
            placing,
            growth,
            number,
            form,
        }
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        with_form!(&self.form, keys => keys.len())
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds the cells of several batches in order, given as words (see [`Keys`]). `is_new` is
    /// called with the number of the batch and the position in it of each cell that was not in the
    /// set.
    pub fn add_all<'a>(
        &mut self,
        batches: impl Iterator<Item = &'a [u64]>,
        is_new: impl FnMut(usize, usize),
    ) {
        with_form!(&mut self.form, keys => keys.add_all(batches, is_new));
    }

    /// Adds cells that are not in the set, given as words. A table that has to grow for them has room
    /// for `expected` keys afterwards.
    fn add_distinct(&mut self, cells: &[u64], expected: usize) {
        with_form!(&mut self.form, keys => keys.add_distinct(cells, expected));
    }

    /// Appends all keys to `keys`, those that came last behind the others.
    pub fn keys(&self, keys: &mut Vec<u64>) {
        with_form!(&self.form, table => table.keys(keys));
    }

    /// Appends all keys to `keys` and frees the memory.
    fn take_keys(&mut self, keys: &mut Vec<u64>) {
        self.keys(keys);
        *self = Self::new(self.placing, self.growth, self.number);
    }

    fn cache_bytes(&self) -> Option<usize> {
        with_form!(&self.form, keys => keys.cache_bytes())
    }

    /// Drops the older keys of a cache and frees their memory.
    fn drop_old(&mut self) {
        with_form!(&mut self.form, keys => keys.drop_old());
    }

    fn begin_cache(&mut self, bytes: usize) {
        with_form!(&mut self.form, keys => keys.begin_cache(bytes));
    }

    /// Memory held, in bytes.
    pub fn data_bytes(&self) -> u64 {
        with_form!(&self.form, keys => keys.data_bytes())
    }

    /// Memory that `n` more keys take at most, in bytes, the replaced table freed.
    pub fn growth_bytes(&self, n: usize) -> u64 {
        with_form!(&self.form, keys => keys.growth_bytes(n))
    }
}
