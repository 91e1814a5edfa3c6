//! Keys of candidates dealt out to buckets, stretches of the key space, by each thread on its own.
//!
//! A thread's *hand* has a pile for each bucket. A pile is a chain of small pages, so all piles
//! together take little more than their keys. A key lies there with its candidate's ordinal: the
//! distance from the ordinal before it in the pile (LEB128), then what of the key differs from the
//! one before it ([`write_difference`]). Ordinals mostly ascend in a pile, for a thread takes the
//! tasks of a round in their order.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, RwLock};

use hadal_store::bits::{self, Bits, Kernel};
use hadal_store::codec::KeyShape;
use hadal_store::disk::{PIECE_BYTES, Spare};
use hadal_store::run::Splitters;
use hadal_store::{Error, difference_bytes, read_difference, write_difference};

use super::parallel::in_parallel;
use crate::shared::{read, write};

/// What all threads have in their hands.
#[derive(Default)]
pub(crate) struct Hands {
    /// Where buckets begin, and the layout of these keys; nothing is dealt out before there are.
    cuts: Option<(Splitters, KeyShape)>,
    hands: Vec<RwLock<Hand>>,
    /// Keys dealt out, and the bytes they took; those of earlier layers count less and less.
    n_dealt: AtomicU64,
    n_dealt_bytes: AtomicU64,
}

/// The longest number before a key.
const ORDINAL_BYTES: usize = 10;
/// Bytes of the smallest page and of the largest, both powers of two.
const MIN_PAGE: usize = 256;
const MAX_PAGE: usize = 4096;
/// So many times as large as others a bucket may become.
const MOST_LARGER: u64 = 8;
/// The keys of a layer before count as one in so many.
const FORGETTING: u64 = 4;
/// Pages are allocated together.
const SLAB_BYTES: usize = PIECE_BYTES;
/// The same for the parts of a bucket.
const PART_SLAB_BYTES: usize = 16 << 10;

impl Hands {
    /// Begins with empty hands. Their pages shall take about `bytes` together.
    pub(super) fn begin(
        &mut self,
        splitters: Splitters,
        shape: KeyShape,
        n_hands: usize,
        bytes: u64,
        spare: &Arc<Spare>,
    ) {
        let n_piles = n_hands * splitters.n_parts();
        let page_bytes = page_bytes(shape, bytes, n_piles);
        let slab_bytes = prev_power_of_two(bytes as usize / n_hands / 8);
        let slab_bytes = slab_bytes.clamp(page_bytes, SLAB_BYTES.max(page_bytes));
        self.hands.resize_with(n_hands, RwLock::default);
        for hand in &mut self.hands {
            let hand = hand.get_mut().expect(UNPOISONED);
            hand.spare = Arc::clone(spare);
            hand.begin(splitters.n_parts(), shape.n_words, page_bytes, slab_bytes);
        }
        for count in [&mut self.n_dealt, &mut self.n_dealt_bytes] {
            *count.get_mut() /= FORGETTING;
        }
        self.cuts = Some((splitters, shape));
    }

    /// Nothing is dealt out until the next [`begin`](Self::begin), for which memory is kept.
    pub(super) fn end(&mut self) {
        self.cuts = None;
        self.clear();
    }

    /// Gives up the memory of empty hands until the next [`begin`](Self::begin).
    pub(super) fn release(&mut self) {
        self.hands.clear();
    }

    /// Whether some bucket has far more keys than it would have if `n` buckets shared them, and would
    /// come to more than `most` if a layer of `n_expected` goes on like that. Otherwise it is better
    /// left alone, for the first keys of a layer are not like all of them.
    pub(super) fn is_lopsided(&self, n: usize, n_expected: u64, most: u64) -> bool {
        let n_buckets = self.splitters().map_or(0, Splitters::n_parts);
        let n_keys: Vec<u64> = (0..n_buckets).map(|bucket| self.n_keys(bucket)).collect();
        let largest = n_keys.iter().max().copied().unwrap_or(0);
        let n_all = n_keys.iter().sum::<u64>().max(1);
        let expected = u128::from(largest) * u128::from(n_expected.max(n_all)) / u128::from(n_all);
        largest > MOST_LARGER * n_all.div_ceil(n.max(1) as u64) && expected > u128::from(most)
    }

    /// Cuts the key space anew, into up to `n` buckets by the keys at hand and those `before`, which
    /// count as much, and deals the ones at hand out again, each hand by a thread.
    ///
    /// Keys at hand are the first of a layer, and those to come need not be like them.
    pub(super) fn deal_again(
        &mut self,
        n: usize,
        before: &[u64],
        bytes: u64,
        spare: &Arc<Spare>,
    ) -> Result<(), Error> {
        let Some((splitters, shape)) = &self.cuts else {
            return Ok(());
        };
        let (n_buckets, shape, n_hands) = (splitters.n_parts(), *shape, self.hands.len());
        let all: Vec<Taken> = in_parallel(n_hands, n_hands, |number| {
            let (hand, mut taken) = (read(&self.hands[number]), Taken::default());
            for bucket in 0..n_buckets {
                let pile = hand.take(bucket, shape, &mut taken, |_| ());
                pile.expect("keys are what was dealt out");
            }
            Ok(taken.by_ordinal(shape.n_words))
        })?;
        let n_keys: usize = all.iter().map(|taken| taken.ordinals.len()).sum();
        let stride = match before.len() / shape.n_words {
            0 => 1,
            n_before => n_keys.div_ceil(n_before),
        };
        let keys = all
            .iter()
            .flat_map(|taken| taken.keys.chunks_exact(shape.n_words));
        let at_hand: Vec<u64> = keys.step_by(stride.max(1)).flatten().copied().collect();
        let splitters = Splitters::sample(shape.n_words, &[&at_hand, before], n);
        self.begin(splitters, shape, n_hands, bytes, spare);
        let Some((splitters, _)) = &self.cuts else {
            return Ok(());
        };
        in_parallel(n_hands, n_hands, |number| {
            let Taken { keys, ordinals } = &all[number];
            let mut hand = write(&self.hands[number]);
            hand.deal(keys, ordinals.iter().copied(), splitters, shape);
            Ok(())
        })?;
        Ok(())
    }

    /// Goes on with keys of another layout, which has the order of the one before: `recode` makes
    /// these of those. Hands must be empty.
    pub(super) fn set_shape(&mut self, shape: KeyShape, recode: impl Fn(&[u64], &mut [u64])) {
        let Some((splitters, before)) = &mut self.cuts else {
            return;
        };
        *splitters = splitters.recoded(shape.n_words, recode);
        *before = shape;
        for hand in &mut self.hands {
            hand.get_mut().expect(UNPOISONED).set_shape(shape);
        }
    }

    /// Empties all hands.
    pub(super) fn clear(&mut self) {
        for hand in &mut self.hands {
            hand.get_mut().expect(UNPOISONED).clear();
        }
    }

    /// Where buckets begin, once that is known.
    pub(super) fn splitters(&self) -> Option<&Splitters> {
        self.cuts.as_ref().map(|(splitters, _)| splitters)
    }

    /// Layout of the keys.
    pub(super) fn shape(&self) -> Option<KeyShape> {
        self.cuts.as_ref().map(|(_, shape)| *shape)
    }

    /// Deals keys out to piles of hand `number`. The first belongs to the candidate `first`, the
    /// next to the one after it.
    pub(crate) fn deal(&self, number: usize, keys: &[u64], first: u64) {
        if let Some((splitters, shape)) = &self.cuts {
            let n_bytes = write(&self.hands[number]).deal(keys, first.., splitters, *shape);
            self.n_dealt
                .fetch_add((keys.len() / shape.n_words) as u64, Relaxed);
            self.n_dealt_bytes.fetch_add(n_bytes, Relaxed);
        }
    }

    /// Bytes that a key takes, more or less; of this layout, as long as none was dealt out.
    pub(super) fn bytes_per_key(&self, shape: KeyShape) -> u64 {
        let n_bytes = self.n_dealt_bytes.load(Relaxed);
        match n_bytes.checked_div(self.n_dealt.load(Relaxed)) {
            None => (shape.n_words + shape.n_bytes()) as u64 + 2,
            Some(n_bytes) => n_bytes + 1,
        }
    }

    /// Bytes of the pages that hold keys, and those that `n` more keys take.
    pub(super) fn bytes_with(&self, n: usize) -> u64 {
        let bytes_per_key = self.shape().map_or(0, |shape| self.bytes_per_key(shape));
        self.page_bytes() + n as u64 * bytes_per_key
    }

    /// As [`bytes_with`](Self::bytes_with), if the new keys have nothing in common and each that can
    /// needs a page.
    pub(super) fn most_bytes_with(&self, n: usize) -> u64 {
        let pages = |hand: &RwLock<Hand>| {
            let hand = read(hand);
            n.min(hand.piles.len()) * hand.page_bytes
        };
        let pages: usize = self.hands.iter().map(pages).sum();
        let bytes_per_key = self.shape().map_or(0, entry_bytes);
        self.page_bytes() + (n * bytes_per_key + pages) as u64
    }

    fn page_bytes(&self) -> u64 {
        let bytes = |hand: &RwLock<Hand>| read(hand).page_bytes() as u64;
        self.hands.iter().map(bytes).sum()
    }

    /// Whether their memory is what others may borrow, by pieces.
    pub(super) fn take_pieces(&self) -> bool {
        let first = self.hands.first().map(read);
        first.is_some_and(|hand| hand.page_bytes << hand.slab_log == PIECE_BYTES)
    }

    /// Memory held, in bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let bytes = |hand: &RwLock<Hand>| read(hand).memory_bytes();
        self.hands.iter().map(bytes).sum()
    }

    /// Number of keys in a bucket.
    pub(super) fn n_keys(&self, bucket: usize) -> u64 {
        let n_keys = |hand: &RwLock<Hand>| u64::from(read(hand).n_keys(bucket));
        self.hands.iter().map(n_keys).sum()
    }

    /// Gives the hands that have keys of a bucket.
    pub(super) fn each_pile(
        &self,
        bucket: usize,
        mut each: impl FnMut(&Hand) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut hands = self.hands.iter().map(read);
        hands.try_for_each(|hand| match hand.n_keys(bucket) {
            0 => Ok(()),
            _ => each(&hand),
        })
    }
}

const UNPOISONED: &str = "a panic with a hand ends the search";

/// What one thread has dealt out.
#[derive(Default)]
pub(super) struct Hand {
    page_bytes: usize,
    /// Pages of a slab, as a power of two.
    slab_log: u32,
    slabs: Vec<Box<[u8]>>,
    /// Where slabs come from that are as long as its pieces.
    spare: Arc<Spare>,
    /// For each page in use, the next of its pile, and how many bytes of it are used once there is
    /// one.
    links: Vec<Link>,
    piles: Vec<Pile>,
    /// The last key of each pile.
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
struct Pile {
    first_page: u32,
    last_page: u32,
    /// How much of the last page is used.
    end: u32,
    n_keys: u32,
    /// Ordinal of the last key.
    ordinal: u64,
}

impl Hand {
    /// Begins anew with `n_piles` piles that shall take about `bytes` together, and whose keys need
    /// not come in the order of their ordinals.
    pub(super) fn begin_parts(&mut self, n_piles: usize, shape: KeyShape, bytes: u64) {
        let page_bytes = page_bytes(shape, bytes, n_piles);
        self.begin(
            n_piles,
            shape.n_words,
            page_bytes,
            PART_SLAB_BYTES.max(page_bytes),
        );
    }

    pub(super) fn n_piles(&self) -> usize {
        self.piles.len()
    }

    fn begin(&mut self, n_piles: usize, n_words: usize, page_bytes: usize, slab_bytes: usize) {
        if self
            .slabs
            .first()
            .is_some_and(|slab| slab.len() != slab_bytes)
        {
            self.keep_slabs(0);
        }
        self.page_bytes = page_bytes;
        self.slab_log = (slab_bytes / page_bytes).ilog2();
        // The first key of a pile needs a page.
        let empty = Pile {
            first_page: 0,
            last_page: 0,
            end: page_bytes as u32,
            n_keys: 0,
            ordinal: 0,
        };
        self.links.clear();
        self.piles.clear();
        self.piles.resize(n_piles, empty);
        self.last_keys.clear();
        self.last_keys.resize(n_piles * n_words, 0);
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

    /// Goes on with keys of another layout. Must be empty.
    fn set_shape(&mut self, shape: KeyShape) {
        let page_bytes = self.page_bytes.max(least_page_bytes(shape));
        let slab_bytes = (self.page_bytes << self.slab_log).max(page_bytes);
        self.begin(self.piles.len(), shape.n_words, page_bytes, slab_bytes);
    }

    /// Keeps as much memory as was in use.
    fn clear(&mut self) {
        if let Some(slab) = self.slabs.first() {
            let slab_bytes = slab.len();
            self.keep_slabs((self.links.len() >> self.slab_log) + 1);
            let n_words = self.last_keys.len() / self.piles.len().max(1);
            self.begin(self.piles.len(), n_words, self.page_bytes, slab_bytes);
        }
    }

    /// Bytes of the pages in use.
    fn page_bytes(&self) -> usize {
        self.links.len() * self.page_bytes
    }

    fn memory_bytes(&self) -> u64 {
        let slabs: usize = self.slabs.iter().map(|slab| slab.len()).sum();
        let index = size_of::<Link>() * self.links.capacity()
            + size_of::<Pile>() * self.piles.capacity()
            + 8 * self.last_keys.capacity()
            + 2 * self.parts.capacity();
        (slabs + index) as u64
    }

    /// Puts each key on the pile of its part; returns the bytes that took.
    pub(super) fn deal(
        &mut self,
        keys: &[u64],
        ordinals: impl Iterator<Item = u64>,
        splitters: &Splitters,
        shape: KeyShape,
    ) -> u64 {
        let mut parts = std::mem::take(&mut self.parts);
        splitters.classify(keys, &mut parts);
        let n_bytes = bits::run(PutAll {
            hand: self,
            keys,
            parts: &parts,
            ordinals,
            shape,
        });
        self.parts = parts;
        n_bytes
    }

    /// Begins a page for a pile whose last one is full, or which has none.
    fn turn_page(&mut self, part: usize) {
        let pile = &mut self.piles[part];
        let page = self.links.len() as u32;
        if pile.n_keys == 0 {
            pile.first_page = page;
        } else {
            let n_bytes = pile.end;
            self.links[pile.last_page as usize] = Link {
                next: page,
                n_bytes,
            };
        }
        (pile.last_page, pile.end) = (page, 0);
        self.links.push(Link {
            next: page,
            n_bytes: 0,
        });
        if self.links.len() > self.slabs.len() << self.slab_log {
            self.add_slab();
        }
    }

    /// Number of keys on a pile.
    pub(super) fn n_keys(&self, bucket: usize) -> u32 {
        self.piles[bucket].n_keys
    }

    /// Appends the keys on a pile to `taken`, a page at a time, and gives it to `each` after each
    /// page; `None` if these are no keys.
    pub(super) fn take(
        &self,
        bucket: usize,
        shape: KeyShape,
        taken: &mut Taken,
        mut each: impl FnMut(&mut Taken),
    ) -> Option<()> {
        let mut last = LastKey::none(shape);
        for page in self.pages(bucket) {
            taken.append(page, &mut last)?;
            each(taken);
        }
        Some(())
    }

    /// What is on a pile, page by page.
    pub(super) fn pages(&self, bucket: usize) -> impl Iterator<Item = &[u8]> {
        let pile = self.piles[bucket];
        let mut next = (pile.n_keys > 0).then_some(pile.first_page);
        std::iter::from_fn(move || {
            let page = next?;
            let is_last = page == pile.last_page;
            let link = self.links[page as usize];
            next = (!is_last).then_some(link.next);
            let n_bytes = if is_last { pile.end } else { link.n_bytes } as usize;
            let (slab, from) = place(page, self.slab_log, self.page_bytes);
            Some(&self.slabs[slab][from..from + n_bytes])
        })
    }
}

/// Keys on their way to piles.
struct PutAll<'a, O> {
    hand: &'a mut Hand,
    keys: &'a [u64],
    /// The pile of each.
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
        let hand = self.hand;
        let last_end = hand.page_bytes - entry_bytes(self.shape);
        let keys = self.keys.chunks_exact(n_words);
        let mut n_bytes = 0;
        for ((key, &part), ordinal) in keys.zip(self.parts).zip(self.ordinals) {
            let part = usize::from(part);
            if hand.piles[part].end as usize > last_end {
                hand.turn_page(part);
            }
            let pile = &mut hand.piles[part];
            let (slab, from) = place(pile.last_page, hand.slab_log, hand.page_bytes);
            let page = &mut hand.slabs[slab][from..from + hand.page_bytes];
            let mut at = pile.end as usize;
            let mut distance = ordinal.wrapping_sub(pile.ordinal);
            while distance >= 0x80 {
                page[at] = distance as u8 | 0x80;
                distance >>= 7;
                at += 1;
            }
            page[at] = distance as u8;
            at += 1;
            let last_key = &mut hand.last_keys[part * n_words..][..n_words];
            at += write_difference(bits, key, last_key, &mut page[at..]);
            n_bytes += at as u64 - u64::from(pile.end);
            pile.end = at as u32;
            pile.ordinal = ordinal;
            pile.n_keys += 1;
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
    ORDINAL_BYTES + difference_bytes(shape.n_words)
}

/// Bytes of a page where `n_piles` piles take about `bytes` together: so that what is left free in
/// last pages is little beside what is in others.
fn page_bytes(shape: KeyShape, bytes: u64, n_piles: usize) -> usize {
    let page_bytes = prev_power_of_two(bytes as usize / n_piles / 4);
    page_bytes.min(MAX_PAGE).max(least_page_bytes(shape))
}

/// Bytes of the smallest page for keys of this layout: it should hold several.
pub(super) fn least_page_bytes(shape: KeyShape) -> usize {
    MIN_PAGE.max((4 * entry_bytes(shape)).next_power_of_two())
}

fn prev_power_of_two(n: usize) -> usize {
    n.checked_ilog2().map_or(1, |log| 1 << log)
}

/// Keys as they come back from piles.
#[derive(Default)]
pub(super) struct Taken {
    pub(super) keys: Vec<u64>,
    pub(super) ordinals: Vec<u64>,
}

impl Taken {
    pub(super) fn clear(&mut self) {
        self.keys.clear();
        self.ordinals.clear();
    }

    /// The same keys, of `n_words` words each, in the order of generation.
    fn by_ordinal(&self, n_words: usize) -> Self {
        let mut places: Vec<(u64, u32)> = self.ordinals.iter().copied().zip(0..).collect();
        places.sort_unstable();
        let key = |&(_, place): &(u64, u32)| &self.keys[place as usize * n_words..][..n_words];
        Taken {
            keys: places.iter().flat_map(key).copied().collect(),
            ordinals: places.iter().map(|(ordinal, _)| *ordinal).collect(),
        }
    }

    /// Appends the keys in `bytes`, which follow the `last` one of a pile; `None` if these are no
    /// keys.
    pub(super) fn append(&mut self, bytes: &[u8], last: &mut LastKey) -> Option<()> {
        bits::run(Append {
            taken: self,
            bytes,
            last,
        })
    }
}

/// How far a pile was read.
pub(super) struct LastKey {
    ordinal: u64,
    key: Vec<u64>,
}

impl LastKey {
    /// Before the first key.
    pub(super) fn none(shape: KeyShape) -> Self {
        LastKey {
            ordinal: 0,
            key: vec![0; shape.n_words],
        }
    }
}

/// Keys on their way back from a pile.
struct Append<'a> {
    taken: &'a mut Taken,
    bytes: &'a [u8],
    last: &'a mut LastKey,
}

impl Kernel for Append<'_> {
    /// `None` if these are no keys.
    type Output = Option<()>;

    #[inline(always)]
    fn run<B: Bits>(self, bits: B) -> Option<()> {
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
    fn append<const W: usize, B: Bits>(self, bits: B) -> Option<()> {
        let Append { taken, bytes, last } = self;
        let n_words = if W == 0 { last.key.len() } else { W };
        let key = &mut last.key[..n_words];
        let mut ordinal = last.ordinal;
        let mut at = 0;
        while at < bytes.len() {
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
            at += read_difference(bits, bytes.get(at..)?, key)?;
            taken.keys.extend_from_slice(key);
            taken.ordinals.push(ordinal);
        }
        last.ordinal = ordinal;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use hadal_store::codec::KeyShape;
    use hadal_store::run::Splitters;

    use super::{Hands, LastKey, Taken, entry_bytes};

    fn take_bucket(hands: &Hands, bucket: usize, shape: KeyShape, taken: &mut Taken) {
        let piles = hands.each_pile(bucket, |hand| {
            hand.take(bucket, shape, taken, |_| ()).expect("keys");
            Ok(())
        });
        piles.expect("nothing fails");
    }

    /// Keys of some lengths, dealt out by two hands in turn, lie in their buckets with their
    /// ordinals, before and after the hands were emptied.
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
            let mut hands = Hands::default();
            hands.begin(splitters.clone(), shape, 2, 10_000, &Arc::default());
            for first in [0, 1 << 40] {
                for (task, keys) in keys.chunks(70 * n_words).enumerate() {
                    hands.deal(task % 2, keys, first + 70 * task as u64);
                }
                assert!(hands.memory_bytes() > 2000 * n_bits as u64 / 8);
                let bytes_per_key = hands.bytes_per_key(shape);
                assert!(
                    bytes_per_key <= entry_bytes(shape) as u64,
                    "{bytes_per_key}"
                );
                let mut found = vec![None; 2000];
                for bucket in 0..splitters.n_parts() {
                    let mut taken = Taken::default();
                    take_bucket(&hands, bucket, shape, &mut taken);
                    assert_eq!(taken.ordinals.len() as u64, hands.n_keys(bucket));
                    let range = splitters.range(bucket);
                    for (key, ordinal) in taken.keys.chunks(n_words).zip(&taken.ordinals) {
                        assert!(!range.starts_after(key) && !range.ends_before(key));
                        found[(ordinal - first) as usize] = Some(key.to_vec());
                    }
                }
                let found: Vec<u64> = found.into_iter().flatten().flatten().collect();
                assert_eq!(found, keys);
                hands.clear();
                assert_eq!(hands.bytes_with(0), 0);
            }
        }
    }

    /// Splitters of other keys put all in one bucket; when they are dealt out again, none is lost.
    #[test]
    fn keys_that_lie_behind_all_splitters_are_dealt_out_again() {
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
        let mut hands = Hands::default();
        let splitters = Splitters::sample(2, &[&before], 30);
        assert_eq!(splitters.n_parts(), 30);
        hands.begin(splitters, shape, 2, 100_000, &Arc::default());
        assert!(!hands.is_lopsided(30, 0, 0));
        for (task, keys) in keys.chunks(2 * 70).enumerate() {
            hands.deal(task % 2, keys, 70 * task as u64);
        }
        assert_eq!(hands.n_keys(29), 2000);
        assert!(hands.is_lopsided(30, 0, 1999));
        assert!(!hands.is_lopsided(30, 0, 2000));
        assert!(hands.is_lopsided(30, 20_000, 19_999));
        hands
            .deal_again(30, &[], 100_000, &Arc::default())
            .expect("no disk is needed");
        assert!(!hands.is_lopsided(30, 0, 0));
        let mut found = vec![None; 2000];
        for bucket in 0..hands.splitters().expect("begun").n_parts() {
            let mut taken = Taken::default();
            take_bucket(&hands, bucket, shape, &mut taken);
            for (key, ordinal) in taken.keys.chunks(2).zip(&taken.ordinals) {
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
        let mut hands = Hands::default();
        hands.begin(
            Splitters::sample(1, &[], 1),
            shape,
            1,
            10_000,
            &Arc::default(),
        );
        for log in 0..50 {
            hands.clear();
            let keys: Vec<u64> = (0..500).map(|key| key << log | key).collect();
            for (task, key) in keys.iter().enumerate() {
                hands.deal(0, &[*key], (task as u64) << log);
            }
            let mut taken = Taken::default();
            take_bucket(&hands, 0, shape, &mut taken);
            assert_eq!(taken.keys, keys);
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
        let mut taken = Taken::default();
        let mut append = |bytes: &[u8]| {
            let mut last = LastKey::none(shape);
            taken.append(bytes, &mut last).map(|()| last.ordinal)
        };
        for n_bytes in [1, 2, 3, 5, 6, 7] {
            assert_eq!(append(&bytes[..n_bytes]), None);
        }
        assert_eq!(append(&[0xff; 40]), None);
        assert_eq!(append(&bytes), Some(5 + 128));
        let n_keys = taken.ordinals.len();
        assert_eq!(taken.ordinals[n_keys - 2..], [5, 133]);
        assert_eq!(taken.keys[n_keys - 2..], [0x0102 << 48, 0x0106 << 48]);
    }
}
