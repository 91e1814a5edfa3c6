//! Keys of candidates partitioned into buckets, by each thread into a buffer of its own.
//!
//! A *partition buffer* has a chain of small pages for each bucket, so all chains together take
//! little more than their keys. A key is stored with its candidate's number: the distance from the
//! number before it in the chain (LEB128), then what of the key differs from the one before it
//! ([`write_delta`]). Numbers mostly ascend in a chain, because a thread takes the tasks of a
//! window in order.

mod bucket_reader;
mod buckets;
mod by_number;
mod by_range;
mod cut;
mod pairs;
mod parts;
mod sample;
mod spill;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, RwLock};

use crate::bits::{self, Bits, Kernel};
use crate::codec::KeyShape;
use crate::disk::{LentMemory, PIECE_BYTES};
use crate::run::{Batch, SortScratch, Splitters, sort_keys};
use crate::{Error, delta_bytes, read_delta, write_delta};

use crate::lock::{read, write};
use crate::parallel::in_parallel;

pub(crate) use buckets::part_splitters;
pub use buckets::{Buckets, SortLimits, SortedRow, most_at_once};
pub use by_number::{ByNumber, Stretches};
pub use by_range::{ByRange, EachTwo};
pub use pairs::{PairReader, Pairs};
pub use parts::EachPairs;
pub use sample::KeySample;
pub use spill::Spills;

/// The partition buffers of all threads.
#[derive(Default)]
pub struct PartitionBuffers {
    /// Where buckets begin, and the layout of keys; nothing is partitioned before they are set.
    cuts: Option<(Splitters, KeyShape)>,
    buffers: Vec<RwLock<PartitionBuffer>>,
    /// Keys partitioned and the bytes they took; those of earlier ranks count less and less.
    n_partitioned: AtomicU64,
    n_partitioned_bytes: AtomicU64,
}

/// The longest number before a key.
const ORDINAL_BYTES: usize = 10;
/// Bytes of the smallest page and of the largest, both powers of two.
const MIN_PAGE: usize = 256;
const MAX_PAGE: usize = 4096;
/// Repartition when a bucket exceeds this many times the mean: one skewed bucket would serialise
/// sorting.
const MAX_SKEW: u64 = 8;
/// Divisor for the weight of earlier ranks.
const FORGETTING: u64 = 4;
/// Pages are allocated in slabs.
const SLAB_BYTES: usize = PIECE_BYTES;
/// The same for the parts of a bucket.
const PART_SLAB_BYTES: usize = 16 << 10;

impl PartitionBuffers {
    /// Starts with empty buffers, whose pages should take about `bytes` together.
    pub fn begin(
        &mut self,
        splitters: Splitters,
        shape: KeyShape,
        n_buffers: usize,
        bytes: u64,
        spare: &Arc<LentMemory>,
    ) {
        let n_chains = n_buffers * splitters.n_parts();
        let page_bytes = page_bytes(shape, bytes, n_chains);
        let slab_bytes = prev_power_of_two(bytes as usize / n_buffers / 8);
        let slab_bytes = slab_bytes.clamp(page_bytes, SLAB_BYTES.max(page_bytes));
        self.buffers.resize_with(n_buffers, RwLock::default);
        for buffer in &mut self.buffers {
            let buffer = buffer.get_mut().expect(UNPOISONED);
            buffer.spare = Arc::clone(spare);
            buffer.begin(splitters.n_parts(), shape.n_words, page_bytes, slab_bytes);
        }
        for count in [&mut self.n_partitioned, &mut self.n_partitioned_bytes] {
            *count.get_mut() /= FORGETTING;
        }
        self.cuts = Some((splitters, shape));
    }

    /// Ends the rank; memory is kept for the next [`begin`](Self::begin).
    pub fn end(&mut self) {
        self.cuts = None;
        self.clear();
    }

    /// Frees the memory of empty buffers.
    pub fn release(&mut self) {
        self.buffers.clear();
    }

    /// Whether some bucket has far more than the mean of `n` buckets, and would exceed `most` keys in
    /// a rank of `n_expected`. Otherwise the borders stay, because the first keys of a rank are not
    /// like all of them.
    pub fn is_skewed(&self, n: usize, n_expected: u64, most: u64) -> bool {
        let n_buckets = self.splitters().map_or(0, Splitters::n_parts);
        let n_keys: Vec<u64> = (0..n_buckets).map(|bucket| self.n_keys(bucket)).collect();
        let largest = n_keys.iter().max().copied().unwrap_or(0);
        let n_all = n_keys.iter().sum::<u64>().max(1);
        let expected = u128::from(largest) * u128::from(n_expected.max(n_all)) / u128::from(n_all);
        largest > MAX_SKEW * n_all.div_ceil(n.max(1) as u64) && expected > u128::from(most)
    }

    /// Moves the borders of buckets: up to `n` by the keys present and those `before`, with equal
    /// weight, because the keys present are the first of a rank and the rest may differ. Then
    /// partitions the keys present again, each buffer by a thread.
    pub fn repartition(
        &mut self,
        n: usize,
        before: &[u64],
        bytes: u64,
        spare: &Arc<LentMemory>,
    ) -> Result<(), Error> {
        let Some((splitters, shape)) = &self.cuts else {
            return Ok(());
        };
        let (n_buckets, shape, n_buffers) = (splitters.n_parts(), *shape, self.buffers.len());
        let all: Vec<KeyList> = in_parallel(n_buffers, n_buffers, |number| {
            let (buffer, mut list) = (read(&self.buffers[number]), KeyList::default());
            for bucket in 0..n_buckets {
                let chain = buffer.take(bucket, shape, &mut list, |_| ());
                chain.expect("keys are what was partitioned");
            }
            Ok(list.by_ordinal(shape.n_words))
        })?;
        let n_keys: usize = all.iter().map(|list| list.ordinals.len()).sum();
        let stride = match before.len() / shape.n_words {
            0 => 1,
            n_before => n_keys.div_ceil(n_before),
        };
        let keys = all
            .iter()
            .flat_map(|list| list.keys.chunks_exact(shape.n_words));
        let present: Vec<u64> = keys.step_by(stride.max(1)).flatten().copied().collect();
        let splitters = Splitters::sample(shape.n_words, &[&present, before], n);
        self.begin(splitters, shape, n_buffers, bytes, spare);
        let Some((splitters, _)) = &self.cuts else {
            return Ok(());
        };
        in_parallel(n_buffers, n_buffers, |number| {
            let KeyList { keys, ordinals, .. } = &all[number];
            let mut buffer = write(&self.buffers[number]);
            buffer.partition(keys, ordinals.iter().copied(), splitters, shape);
            Ok(())
        })?;
        Ok(())
    }

    /// Continues with keys of another layout in the same order, into which `recode` converts. The
    /// buffers must be empty.
    pub fn set_shape(&mut self, shape: KeyShape, recode: impl Fn(&[u64], &mut [u64])) {
        let Some((splitters, before)) = &mut self.cuts else {
            return;
        };
        *splitters = splitters.recoded(shape.n_words, recode);
        *before = shape;
        for buffer in &mut self.buffers {
            buffer.get_mut().expect(UNPOISONED).set_shape(shape);
        }
    }

    /// Empties all buffers.
    pub fn clear(&mut self) {
        for buffer in &mut self.buffers {
            buffer.get_mut().expect(UNPOISONED).clear();
        }
    }

    /// Where buckets begin, once that is known.
    pub fn splitters(&self) -> Option<&Splitters> {
        self.cuts.as_ref().map(|(splitters, _)| splitters)
    }

    /// Layout of the keys.
    pub fn shape(&self) -> Option<KeyShape> {
        self.cuts.as_ref().map(|(_, shape)| *shape)
    }

    /// Partitions keys into the chains of buffer `number`. They belong to consecutive candidates
    /// from `first` on.
    pub fn partition(&self, number: usize, keys: &[u64], first: u64) {
        if let Some((splitters, shape)) = &self.cuts {
            let n_bytes = write(&self.buffers[number]).partition(keys, first.., splitters, *shape);
            self.n_partitioned
                .fetch_add((keys.len() / shape.n_words) as u64, Relaxed);
            self.n_partitioned_bytes.fetch_add(n_bytes, Relaxed);
        }
    }

    /// About the bytes that a key takes; estimated from the layout while none was partitioned.
    pub fn bytes_per_key(&self, shape: KeyShape) -> u64 {
        let n_bytes = self.n_partitioned_bytes.load(Relaxed);
        match n_bytes.checked_div(self.n_partitioned.load(Relaxed)) {
            None => (shape.n_words + shape.n_bytes()) as u64 + 2,
            Some(n_bytes) => n_bytes + 1,
        }
    }

    /// Bytes of the pages that hold keys, with `n` more keys.
    pub fn bytes_with(&self, n: usize) -> u64 {
        let bytes_per_key = self.shape().map_or(0, |shape| self.bytes_per_key(shape));
        self.page_bytes() + n as u64 * bytes_per_key
    }

    /// As [`bytes_with`](Self::bytes_with) in the worst case: the new keys have nothing in common and
    /// start as many pages as possible.
    pub fn most_bytes_with(&self, n: usize) -> u64 {
        let pages = |buffer: &RwLock<PartitionBuffer>| {
            let buffer = read(buffer);
            n.min(buffer.chains.len()) * buffer.page_bytes
        };
        let pages: usize = self.buffers.iter().map(pages).sum();
        let bytes_per_key = self.shape().map_or(0, entry_bytes);
        self.page_bytes() + (n * bytes_per_key + pages) as u64
    }

    fn page_bytes(&self) -> u64 {
        let bytes = |buffer: &RwLock<PartitionBuffer>| read(buffer).page_bytes() as u64;
        self.buffers.iter().map(bytes).sum()
    }

    /// Whether their slabs are pieces of the memory that can be lent.
    pub fn take_pieces(&self) -> bool {
        let first = self.buffers.first().map(read);
        first.is_some_and(|buffer| buffer.page_bytes << buffer.slab_log == PIECE_BYTES)
    }

    /// Memory held, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        let bytes = |buffer: &RwLock<PartitionBuffer>| read(buffer).memory_bytes();
        self.buffers.iter().map(bytes).sum()
    }

    /// Number of keys in a bucket.
    pub fn n_keys(&self, bucket: usize) -> u64 {
        let n_keys = |buffer: &RwLock<PartitionBuffer>| u64::from(read(buffer).n_keys(bucket));
        self.buffers.iter().map(n_keys).sum()
    }

    /// Calls `each` with the buffers that have keys of a bucket.
    pub fn each_chain(
        &self,
        bucket: usize,
        mut each: impl FnMut(&PartitionBuffer) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut buffers = self.buffers.iter().map(read);
        buffers.try_for_each(|buffer| match buffer.n_keys(bucket) {
            0 => Ok(()),
            _ => each(&buffer),
        })
    }
}

const UNPOISONED: &str = "a panic while a buffer is locked ends the search";

/// The keys that one thread has partitioned.
#[derive(Default)]
pub struct PartitionBuffer {
    page_bytes: usize,
    /// Pages of a slab, as a power of two.
    slab_log: u32,
    slabs: Vec<Box<[u8]>>,
    /// Where slabs of the size of its pieces come from.
    spare: Arc<LentMemory>,
    /// For each page in use, the next of its chain, and how many bytes of it are used if there is a
    /// next one.
    links: Vec<Link>,
    chains: Vec<Chain>,
    /// The last key of each chain.
    last_keys: Vec<u64>,
    /// Scratch for the bucket of each key.
    parts: Vec<u16>,
}

#[derive(Clone, Copy)]
struct Link {
    next: u32,
    n_bytes: u32,
}

/// Keys of one bucket.
#[derive(Clone, Copy)]
struct Chain {
    first_page: u32,
    last_page: u32,
    /// How much of the last page is used.
    end: u32,
    n_keys: u32,
    /// Ordinal of the last key.
    ordinal: u64,
}

impl PartitionBuffer {
    /// Starts over with `n_chains` chains that should take about `bytes` together, and whose keys need
    /// not come in the order of their numbers.
    pub fn begin_parts(&mut self, n_chains: usize, shape: KeyShape, bytes: u64) {
        let page_bytes = page_bytes(shape, bytes, n_chains);
        self.begin(
            n_chains,
            shape.n_words,
            page_bytes,
            PART_SLAB_BYTES.max(page_bytes),
        );
    }

    pub(crate) fn n_chains(&self) -> usize {
        self.chains.len()
    }

    fn begin(&mut self, n_chains: usize, n_words: usize, page_bytes: usize, slab_bytes: usize) {
        if self
            .slabs
            .first()
            .is_some_and(|slab| slab.len() != slab_bytes)
        {
            self.keep_slabs(0);
        }
        self.page_bytes = page_bytes;
        self.slab_log = (slab_bytes / page_bytes).ilog2();
        // The first key of a chain needs a page.
        let empty = Chain {
            first_page: 0,
            last_page: 0,
            end: page_bytes as u32,
            n_keys: 0,
            ordinal: 0,
        };
        self.links.clear();
        self.chains.clear();
        self.chains.resize(n_chains, empty);
        self.last_keys.clear();
        self.last_keys.resize(n_chains * n_words, 0);
        if self.slabs.is_empty() {
            self.add_slab();
        }
    }

    fn add_slab(&mut self) {
        let slab_bytes = self.page_bytes << self.slab_log;
        self.slabs.push(match slab_bytes {
            PIECE_BYTES => self.spare.take(),
            _ => vec![0; slab_bytes].into(),
        });
    }

    fn keep_slabs(&mut self, n: usize) {
        let useless = self.slabs.drain(n.min(self.slabs.len())..);
        useless.for_each(|slab| self.spare.give_back(slab));
    }

    /// Continues with keys of another layout. Must be empty.
    fn set_shape(&mut self, shape: KeyShape) {
        let page_bytes = self.page_bytes.max(least_page_bytes(shape));
        let slab_bytes = (self.page_bytes << self.slab_log).max(page_bytes);
        self.begin(self.chains.len(), shape.n_words, page_bytes, slab_bytes);
    }

    /// Keeps as much memory as was in use.
    fn clear(&mut self) {
        if let Some(slab) = self.slabs.first() {
            let slab_bytes = slab.len();
            self.keep_slabs((self.links.len() >> self.slab_log) + 1);
            let n_words = self.last_keys.len() / self.chains.len().max(1);
            self.begin(self.chains.len(), n_words, self.page_bytes, slab_bytes);
        }
    }

    /// Bytes of the pages in use.
    fn page_bytes(&self) -> usize {
        self.links.len() * self.page_bytes
    }

    fn memory_bytes(&self) -> u64 {
        let slabs: usize = self.slabs.iter().map(|slab| slab.len()).sum();
        let index = size_of::<Link>() * self.links.capacity()
            + size_of::<Chain>() * self.chains.capacity()
            + 8 * self.last_keys.capacity()
            + 2 * self.parts.capacity();
        (slabs + index) as u64
    }

    /// Appends each key to the chain of its part; returns the bytes that took.
    pub fn partition(
        &mut self,
        keys: &[u64],
        ordinals: impl Iterator<Item = u64>,
        splitters: &Splitters,
        shape: KeyShape,
    ) -> u64 {
        let mut parts = std::mem::take(&mut self.parts);
        splitters.classify(keys, &mut parts);
        let n_bytes = self.put(keys, &parts, ordinals, shape);
        self.parts = parts;
        n_bytes
    }

    /// Appends each key to the chain that `parts` names for it; returns the bytes that took.
    fn put(
        &mut self,
        keys: &[u64],
        parts: &[u16],
        ordinals: impl Iterator<Item = u64>,
        shape: KeyShape,
    ) -> u64 {
        bits::run(PutAll {
            buffer: self,
            keys,
            parts,
            ordinals,
            shape,
        })
    }

    /// Starts a page for a chain whose last one is full, or which has none.
    fn turn_page(&mut self, part: usize) {
        let chain = &mut self.chains[part];
        let page = self.links.len() as u32;
        if chain.n_keys == 0 {
            chain.first_page = page;
        } else {
            let n_bytes = chain.end;
            self.links[chain.last_page as usize] = Link {
                next: page,
                n_bytes,
            };
        }
        (chain.last_page, chain.end) = (page, 0);
        self.links.push(Link {
            next: page,
            n_bytes: 0,
        });
        if self.links.len() > self.slabs.len() << self.slab_log {
            self.add_slab();
        }
    }

    /// Number of keys in a chain.
    pub fn n_keys(&self, bucket: usize) -> u32 {
        self.chains[bucket].n_keys
    }

    /// Appends the keys of a chain to `list`, a page at a time, and calls `each` after each page;
    /// `None` if the bytes are not keys.
    pub fn take(
        &self,
        bucket: usize,
        shape: KeyShape,
        list: &mut KeyList,
        mut each: impl FnMut(&mut KeyList),
    ) -> Option<()> {
        let mut last = LastKey::none(shape);
        for page in self.pages(bucket) {
            list.append(page, &mut last)?;
            each(list);
        }
        Some(())
    }

    /// The pages of a chain.
    pub fn pages(&self, bucket: usize) -> impl Iterator<Item = &[u8]> {
        let chain = self.chains[bucket];
        let mut next = (chain.n_keys > 0).then_some(chain.first_page);
        std::iter::from_fn(move || {
            let page = next?;
            let is_last = page == chain.last_page;
            let link = self.links[page as usize];
            next = (!is_last).then_some(link.next);
            let n_bytes = if is_last { chain.end } else { link.n_bytes } as usize;
            let (slab, from) = place(page, self.slab_log, self.page_bytes);
            Some(&self.slabs[slab][from..from + n_bytes])
        })
    }
}

/// Appends keys to chains.
struct PutAll<'a, O> {
    buffer: &'a mut PartitionBuffer,
    keys: &'a [u64],
    /// The chain of each.
    parts: &'a [u16],
    ordinals: O,
    shape: KeyShape,
}

impl<O: Iterator<Item = u64>> Kernel for PutAll<'_, O> {
    /// The bytes that the keys took.
    type Output = u64;

    #[inline(always)]
    fn run<B: Bits>(self, bits: B) -> u64 {
        match self.shape.n_words {
            1 => self.put::<1, B>(bits),
            2 => self.put::<2, B>(bits),
            3 => self.put::<3, B>(bits),
            4 => self.put::<4, B>(bits),
            _ => self.put::<0, B>(bits),
        }
    }
}

impl<O: Iterator<Item = u64>> PutAll<'_, O> {
    /// `W` is the number of words, or 0 if that is not known here.
    #[inline(always)]
    fn put<const W: usize, B: Bits>(self, bits: B) -> u64 {
        let n_words = if W == 0 { self.shape.n_words } else { W };
        let buffer = self.buffer;
        let last_end = buffer.page_bytes - entry_bytes(self.shape);
        let keys = self.keys.chunks_exact(n_words);
        let mut n_bytes = 0;
        for ((key, &part), ordinal) in keys.zip(self.parts).zip(self.ordinals) {
            let part = usize::from(part);
            if buffer.chains[part].end as usize > last_end {
                buffer.turn_page(part);
            }
            let chain = &mut buffer.chains[part];
            let (slab, from) = place(chain.last_page, buffer.slab_log, buffer.page_bytes);
            let page = &mut buffer.slabs[slab][from..from + buffer.page_bytes];
            let mut at = chain.end as usize;
            let mut distance = ordinal.wrapping_sub(chain.ordinal);
            while distance >= 0x80 {
                page[at] = distance as u8 | 0x80;
                distance >>= 7;
                at += 1;
            }
            page[at] = distance as u8;
            at += 1;
            let last_key = &mut buffer.last_keys[part * n_words..][..n_words];
            at += write_delta(bits, key, last_key, &mut page[at..]);
            n_bytes += at as u64 - u64::from(chain.end);
            chain.end = at as u32;
            chain.ordinal = ordinal;
            chain.n_keys += 1;
        }
        n_bytes
    }
}

/// The slab of a page, and where it begins there.
#[inline(always)]
fn place(page: u32, slab_log: u32, page_bytes: usize) -> (usize, usize) {
    let slab = page >> slab_log;
    let in_slab = page & !(u32::MAX << slab_log);
    (slab as usize, in_slab as usize * page_bytes)
}

/// The room that must be left in a page for another key.
fn entry_bytes(shape: KeyShape) -> usize {
    ORDINAL_BYTES + delta_bytes(shape.n_words)
}

/// Bytes of a page where `n_chains` chains take about `bytes` together: small enough that the free
/// rest of last pages matters little.
fn page_bytes(shape: KeyShape, bytes: u64, n_chains: usize) -> usize {
    let page_bytes = prev_power_of_two(bytes as usize / n_chains / 4);
    page_bytes.min(MAX_PAGE).max(least_page_bytes(shape))
}

/// Bytes of the smallest page for keys of this layout: it should hold several.
pub fn least_page_bytes(shape: KeyShape) -> usize {
    MIN_PAGE.max((4 * entry_bytes(shape)).next_power_of_two())
}

fn prev_power_of_two(n: usize) -> usize {
    n.checked_ilog2().map_or(1, |log| 1 << log)
}

/// Keys read from chains.
#[derive(Default)]
pub struct KeyList {
    pub(crate) keys: Vec<u64>,
    pub(crate) ordinals: Vec<u64>,
    /// Scratch for bytes that are not decoded yet.
    undecoded: Vec<u8>,
}

impl KeyList {
    /// Empties the list.
    pub fn clear(&mut self) {
        self.keys.clear();
        self.ordinals.clear();
    }

    /// Keeps the first of equal keys, and sorts them.
    fn drop_duplicates(&mut self, n_words: usize, scratch: &mut SortScratch) {
        let mut batch = Batch::default();
        sort_keys(n_words, &self.keys, &self.ordinals, scratch, &mut batch);
        (self.keys, self.ordinals) = (batch.keys, batch.ordinals);
    }

    /// The same keys, of `n_words` words each, in the order of generation.
    fn by_ordinal(&self, n_words: usize) -> Self {
        let mut places: Vec<(u64, u32)> = self.ordinals.iter().copied().zip(0..).collect();
        places.sort_unstable();
        let key = |&(_, place): &(u64, u32)| &self.keys[place as usize * n_words..][..n_words];
        KeyList {
            keys: places.iter().flat_map(key).copied().collect(),
            ordinals: places.iter().map(|(ordinal, _)| *ordinal).collect(),
            undecoded: Vec::new(),
        }
    }

    /// Appends the keys in `bytes`, which follow the `last` one of a chain; `None` if the bytes are
    /// not keys.
    pub fn append(&mut self, bytes: &[u8], last: &mut LastKey) -> Option<()> {
        self.append_whole(bytes, true, last).map(|_| ())
    }

    /// As [`append`](Self::append) where more bytes may follow: without a key at the end that may be
    /// incomplete. Returns how many bytes were read.
    fn append_whole(&mut self, bytes: &[u8], is_end: bool, last: &mut LastKey) -> Option<usize> {
        let longest = ORDINAL_BYTES + delta_bytes(last.key.len());
        bits::run(Append {
            list: self,
            bytes,
            // From here on a key may be incomplete.
            stop: match is_end {
                true => bytes.len(),
                false => (bytes.len() + 1).saturating_sub(longest),
            },
            last,
        })
    }
}

/// How far a chain is read.
pub struct LastKey {
    ordinal: u64,
    key: Vec<u64>,
}

impl LastKey {
    /// Before the first key.
    pub fn none(shape: KeyShape) -> Self {
        LastKey {
            ordinal: 0,
            key: vec![0; shape.n_words],
        }
    }
}

/// Reads keys of a chain.
struct Append<'a> {
    list: &'a mut KeyList,
    bytes: &'a [u8],
    /// No key is read that begins here or later.
    stop: usize,
    last: &'a mut LastKey,
}

impl Kernel for Append<'_> {
    /// Bytes read; `None` if they are not keys.
    type Output = Option<usize>;

    #[inline(always)]
    fn run<B: Bits>(self, bits: B) -> Option<usize> {
        match self.last.key.len() {
            1 => self.append::<1, B>(bits),
            2 => self.append::<2, B>(bits),
            3 => self.append::<3, B>(bits),
            4 => self.append::<4, B>(bits),
            _ => self.append::<0, B>(bits),
        }
    }
}

impl Append<'_> {
    /// `W` is the number of words, or 0 if that is not known here.
    #[inline(always)]
    fn append<const W: usize, B: Bits>(self, bits: B) -> Option<usize> {
        let Append {
            list,
            bytes,
            stop,
            last,
        } = self;
        let n_words = if W == 0 { last.key.len() } else { W };
        let key = &mut last.key[..n_words];
        let mut ordinal = last.ordinal;
        let mut at = 0;
        while at < stop {
            let (mut distance, mut shift) = (0, 0);
            loop {
                let byte = *bytes.get(at)?;
                at += 1;
                distance |= u64::from(byte & 0x7f).checked_shl(shift)?;
                shift += 7;
                if byte < 0x80 {
                    break;
                }
            }
            ordinal = ordinal.wrapping_add(distance);
            at += read_delta(bits, bytes.get(at..)?, key)?;
            list.keys.extend_from_slice(key);
            list.ordinals.push(ordinal);
        }
        last.ordinal = ordinal;
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::codec::KeyShape;
    use crate::run::Splitters;

    use super::{KeyList, LastKey, PartitionBuffers, entry_bytes};

    fn take_bucket(buffers: &PartitionBuffers, bucket: usize, shape: KeyShape, list: &mut KeyList) {
        let chains = buffers.each_chain(bucket, |buffer| {
            buffer.take(bucket, shape, list, |_| ()).expect("keys");
            Ok(())
        });
        chains.expect("nothing fails");
    }

    /// Keys of some lengths, partitioned by two buffers in turn, lie in their buckets with their
    /// ordinals, before and after the buffers were emptied.
    #[test]
    fn keys_come_back_from_their_buckets() {
        for n_bits in [1, 7, 40, 64, 72, 104, 128, 500, 1024] {
            let shape = KeyShape {
                version: 3,
                n_bits,
                n_words: n_bits.div_ceil(64),
            };
            let n_words = shape.n_words;
            let keys: Vec<u64> = (0..2000 * n_words)
                .map(|at| {
                    let word = (at as u64)
                        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                        .rotate_left(17);
                    let n_here = (n_bits - at % n_words * 64) as u32;
                    word & !u64::MAX.unbounded_shr(n_here)
                })
                .collect();
            let splitters = Splitters::sample(n_words, &[&keys], 20);
            let mut buffers = PartitionBuffers::default();
            buffers.begin(splitters.clone(), shape, 2, 10_000, &Arc::default());
            for first in [0, 1 << 40] {
                for (task, keys) in keys.chunks(70 * n_words).enumerate() {
                    buffers.partition(task % 2, keys, first + 70 * task as u64);
                }
                assert!(buffers.memory_bytes() > 2000 * n_bits as u64 / 8);
                let bytes_per_key = buffers.bytes_per_key(shape);
                assert!(
                    bytes_per_key <= entry_bytes(shape) as u64,
                    "{bytes_per_key}"
                );
                let mut found = vec![None; 2000];
                for bucket in 0..splitters.n_parts() {
                    let mut list = KeyList::default();
                    take_bucket(&buffers, bucket, shape, &mut list);
                    assert_eq!(list.ordinals.len() as u64, buffers.n_keys(bucket));
                    let range = splitters.range(bucket);
                    for (key, ordinal) in list.keys.chunks(n_words).zip(&list.ordinals) {
                        assert!(!range.starts_after(key) && !range.ends_before(key));
                        found[(ordinal - first) as usize] = Some(key.to_vec());
                    }
                }
                let found: Vec<u64> = found.into_iter().flatten().flatten().collect();
                assert_eq!(found, keys);
                buffers.clear();
                assert_eq!(buffers.bytes_with(0), 0);
            }
        }
    }

    /// Splitters of other keys put all in one bucket; when they are partitioned again, none is lost.
    #[test]
    fn keys_that_lie_behind_all_splitters_are_partitioned_again() {
        let shape = KeyShape {
            version: 0,
            n_bits: 72,
            n_words: 2,
        };
        let before: Vec<u64> = (0..2000).map(|word| word << 8).collect();
        let keys: Vec<u64> = (0..4000)
            .map(|at: u64| match at % 2 {
                0 => (1 << 40) + at.wrapping_mul(0x9e37_79b9_7f4a_7c15) % (1 << 20),
                _ => at << 56,
            })
            .collect();
        let mut buffers = PartitionBuffers::default();
        let splitters = Splitters::sample(2, &[&before], 30);
        assert_eq!(splitters.n_parts(), 30);
        buffers.begin(splitters, shape, 2, 100_000, &Arc::default());
        assert!(!buffers.is_skewed(30, 0, 0));
        for (task, keys) in keys.chunks(2 * 70).enumerate() {
            buffers.partition(task % 2, keys, 70 * task as u64);
        }
        assert_eq!(buffers.n_keys(29), 2000);
        assert!(buffers.is_skewed(30, 0, 1999));
        assert!(!buffers.is_skewed(30, 0, 2000));
        assert!(buffers.is_skewed(30, 20_000, 19_999));
        buffers
            .repartition(30, &[], 100_000, &Arc::default())
            .expect("no disk is needed");
        assert!(!buffers.is_skewed(30, 0, 0));
        let mut found = vec![None; 2000];
        for bucket in 0..buffers.splitters().expect("begun").n_parts() {
            let mut list = KeyList::default();
            take_bucket(&buffers, bucket, shape, &mut list);
            for (key, ordinal) in list.keys.chunks(2).zip(&list.ordinals) {
                found[*ordinal as usize] = Some(key.to_vec());
            }
        }
        let found: Vec<u64> = found.into_iter().flatten().flatten().collect();
        assert_eq!(found, keys);
    }

    /// Ordinals far from each other take more bytes, and must not push keys out of their pages.
    #[test]
    fn ordinals_far_from_each_other_leave_room_for_keys() {
        let shape = KeyShape {
            version: 0,
            n_bits: 64,
            n_words: 1,
        };
        let mut buffers = PartitionBuffers::default();
        buffers.begin(
            Splitters::sample(1, &[], 1),
            shape,
            1,
            10_000,
            &Arc::default(),
        );
        for log in 0..50 {
            buffers.clear();
            let keys: Vec<u64> = (0..500).map(|key| key << log | key).collect();
            for (task, key) in keys.iter().enumerate() {
                buffers.partition(0, &[*key], (task as u64) << log);
            }
            let mut list = KeyList::default();
            take_bucket(&buffers, 0, shape, &mut list);
            assert_eq!(list.keys, keys);
        }
    }

    #[test]
    fn what_is_no_key_is_refused() {
        let shape = KeyShape {
            version: 0,
            n_bits: 16,
            n_words: 1,
        };
        // Two keys, 134 candidates apart, the other of which has another lowest byte.
        let bytes = [5, 0xc0, 2, 1, 0x80, 1, 0x40, 4];
        let mut list = KeyList::default();
        let mut append = |bytes: &[u8]| {
            let mut last = LastKey::none(shape);
            list.append(bytes, &mut last).map(|()| last.ordinal)
        };
        for n_bytes in [1, 2, 3, 5, 6, 7] {
            assert_eq!(append(&bytes[..n_bytes]), None);
        }
        assert_eq!(append(&[0xff; 40]), None);
        assert_eq!(append(&bytes), Some(5 + 128));
        let n_keys = list.ordinals.len();
        assert_eq!(list.ordinals[n_keys - 2..], [5, 133]);
        assert_eq!(list.keys[n_keys - 2..], [0x0102 << 48, 0x0106 << 48]);
    }
}
