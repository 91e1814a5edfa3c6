//! Sorting candidates that lie in memory in generation order.
//!
//! Keys are not moved. One pass over them finds the part of the key space each belongs to (see
//! [`Splitters`]) and lists, part by part, the places of its keys: 4 bytes a key, and 2 more
//! meanwhile. Parts are then sorted independently, in the cache: the keys of a part differ in few
//! bits, which together with the place of the key mostly fit in one word, and words are sorted
//! fast. Several threads split, each its own slice of the keys.

use std::borrow::Cow;

use super::PACKED_WORDS;
use super::batch::{Batch, key};
use super::merge::is_equal;
use super::reduced::{Reduced, Reduction, Wide};
use super::splitters::Splitters;
use crate::bits::{self, Bits, Kernel};

/// Keys in generation order, and which of them are in which part.
pub struct Split<'a> {
    n_words: usize,
    keys: &'a [u64],
    ordinals: Ordinals<'a>,
    parts: Cow<'a, Parts>,
}

/// Which of some keys are in which part of the key space.
#[derive(Clone)]
pub struct Parts {
    /// Places of keys, part by part, ascending in each.
    places: Vec<u32>,
    /// Where each part begins in `places`, and the end.
    starts: Vec<u32>,
}

/// The ordinals of keys.
#[derive(Clone, Copy)]
enum Ordinals<'a> {
    /// The first; the others follow one by one.
    From(u64),
    /// One for each.
    Listed(&'a [u64]),
}

impl Parts {
    /// Splits `keys`.
    ///
    /// # Panics
    /// If there are 2^32 keys or more, or more than 2^16 parts.
    pub fn new(keys: &[u64], splitters: &Splitters) -> Self {
        let n_keys = keys.len() / splitters.n_words();
        assert!(n_keys <= u32::MAX as usize, "too many keys for one split");
        let mut parts = Vec::with_capacity(n_keys);
        splitters.classify(keys, &mut parts);
        let mut starts = vec![0; splitters.n_parts() + 1];
        for &part in &parts {
            starts[usize::from(part) + 1] += 1;
        }
        for part in 1..starts.len() {
            starts[part] += starts[part - 1];
        }
        let mut ends = starts.clone();
        let mut places = vec![0; n_keys];
        for (place, &part) in parts.iter().enumerate() {
            let end = &mut ends[usize::from(part)];
            places[*end as usize] = place as u32;
            *end += 1;
        }
        Parts { places, starts }
    }

    /// Number of parts.
    pub fn n_parts(&self) -> usize {
        self.starts.len() - 1
    }

    fn places_of(&self, part: usize) -> &[u32] {
        &self.places[self.starts[part] as usize..self.starts[part + 1] as usize]
    }
}

impl<'a> Split<'a> {
    /// Splits `keys`, the first of which has ordinal `first_ordinal`, the next one more.
    ///
    /// # Panics
    /// As [`Parts::new`].
    pub fn new(keys: &'a [u64], first_ordinal: u64, splitters: &Splitters) -> Self {
        Split {
            n_words: splitters.n_words(),
            keys,
            ordinals: Ordinals::From(first_ordinal),
            parts: Cow::Owned(Parts::new(keys, splitters)),
        }
    }

    /// `keys` of `n_words` words with these ordinals, which are split already.
    ///
    /// # Panics
    /// If there are not as many ordinals as keys.
    pub fn listed(n_words: usize, keys: &'a [u64], ordinals: &'a [u64], parts: &'a Parts) -> Self {
        assert_eq!(
            keys.len(),
            ordinals.len() * n_words,
            "ordinals come with keys"
        );
        Split {
            n_words,
            keys,
            ordinals: Ordinals::Listed(ordinals),
            parts: Cow::Borrowed(parts),
        }
    }

    /// Number of parts.
    pub fn n_parts(&self) -> usize {
        self.parts.n_parts()
    }

    /// Number of keys in part `part`, equal ones counted each.
    pub fn part_len(&self, part: usize) -> usize {
        self.parts.places_of(part).len()
    }

    #[inline(always)]
    fn ordinal(&self, place: u32) -> u64 {
        match self.ordinals {
            Ordinals::From(first) => first + u64::from(place),
            Ordinals::Listed(ordinals) => ordinals[place as usize],
        }
    }
}

/// Memory for sorting a part, reused for the next. It grows to `8 W + 16` bytes for each key of `W`
/// words of the largest part.
#[derive(Default)]
pub struct SortScratch {
    keys: Vec<u64>,
    ordinals: Vec<u64>,
    packed: Vec<u64>,
}

/// Replaces the content of `out` by the keys of part `part` in all `splits`, ascending and
/// distinct, each with its least ordinal. All splits must be by the same splitters.
///
/// # Panics
/// If there is no such part, or if it has 2^32 keys or more.
pub fn sort_part(splits: &[Split], part: usize, scratch: &mut SortScratch, out: &mut Batch) {
    out.clear();
    let Some(n_words) = splits.first().map(|split| split.n_words) else {
        return;
    };
    match n_words {
        1 => sort_words::<1>(splits, part, n_words, scratch, out),
        2 => sort_words::<2>(splits, part, n_words, scratch, out),
        3 => sort_words::<3>(splits, part, n_words, scratch, out),
        4 => sort_words::<4>(splits, part, n_words, scratch, out),
        _ => sort_words::<0>(splits, part, n_words, scratch, out),
    }
}

/// As [`sort_part`], for keys of `W` words, or `n_words` if `W` is 0.
fn sort_words<const W: usize>(
    splits: &[Split],
    part: usize,
    n_words: usize,
    scratch: &mut SortScratch,
    out: &mut Batch,
) {
    let n_words = if W == 0 { n_words } else { W };
    scratch.keys.clear();
    scratch.ordinals.clear();
    for split in splits {
        for &place in split.parts.places_of(part) {
            let key = key(split.keys, n_words, place as usize);
            scratch.keys.extend_from_slice(key);
            scratch.ordinals.push(split.ordinal(place));
        }
    }
    let SortScratch {
        keys,
        ordinals,
        packed,
    } = scratch;
    sort_into::<W>(n_words, keys, ordinals, packed, out);
}

/// Replaces the content of `out` by `keys`, ascending and distinct, each with the least of its
/// `ordinals`.
///
/// # Panics
/// If there are not as many ordinals as keys, or 2^32 or more.
pub fn sort_keys(
    n_words: usize,
    keys: &[u64],
    ordinals: &[u64],
    scratch: &mut SortScratch,
    out: &mut Batch,
) {
    assert_eq!(
        keys.len(),
        ordinals.len() * n_words,
        "ordinals come with keys"
    );
    out.clear();
    let packed = &mut scratch.packed;
    match n_words {
        1 => sort_into::<1>(n_words, keys, ordinals, packed, out),
        2 => sort_into::<2>(n_words, keys, ordinals, packed, out),
        3 => sort_into::<3>(n_words, keys, ordinals, packed, out),
        4 => sort_into::<4>(n_words, keys, ordinals, packed, out),
        _ => sort_into::<0>(n_words, keys, ordinals, packed, out),
    }
}

/// Appends keys of `W` words, or `n_words` if `W` is 0, in order.
fn sort_into<const W: usize>(
    n_words: usize,
    keys: &[u64],
    ordinals: &[u64],
    packed: &mut Vec<u64>,
    out: &mut Batch,
) {
    let n_words = if W == 0 { n_words } else { W };
    let n_keys = ordinals.len();
    if n_keys == 0 {
        return;
    }
    assert!(n_keys <= u32::MAX as usize, "too many keys in one part");
    let order = Order::<W> {
        keys,
        ordinals,
        n_words,
    };
    if n_words > PACKED_WORDS {
        packed.clear();
        packed.extend(0..n_keys as u64);
        let sort_key = |place: &u64| (key(keys, n_words, *place as usize), *place);
        packed.sort_unstable_by(|a, b| sort_key(a).cmp(&sort_key(b)));
        return order.take(packed.iter().map(|&place| place as usize), out);
    }
    let first = &keys[..n_words];
    let mut mask = [0; PACKED_WORDS];
    for key in keys.chunks_exact(n_words) {
        for i in 0..n_words {
            mask[i] |= key[i] ^ first[i];
        }
    }
    let reduction =
        Reduction::new(first, &mask[..n_words]).expect("the number of words was checked");
    let place_bits = usize::BITS - (n_keys - 1).leading_zeros();
    // Low bits that do not fit a word beside the place are left out.
    let n_dropped = (reduction.n_bits + place_bits).saturating_sub(u64::BITS);
    bits::run(Pack::<W> {
        reduction: &reduction,
        keys,
        place_bits,
        n_dropped,
        packed,
    });
    packed.sort_unstable();
    let place = |packed: &u64| (packed & !u64::MAX.unbounded_shl(place_bits)) as usize;
    if n_dropped > 0 {
        // Keys that agree in the packed bits are still to be sorted: few at a time.
        let same = |a: &u64, b: &u64| (a ^ b).unbounded_shr(place_bits) == 0;
        for equal in packed.chunk_by_mut(same).filter(|equal| equal.len() > 1) {
            equal.sort_unstable_by_key(|packed| (key(keys, n_words, place(packed)), place(packed)));
        }
    }
    order.take(packed.iter().map(place), out);
}

/// Keys that are taken in the order of places.
struct Order<'a, const W: usize> {
    keys: &'a [u64],
    ordinals: &'a [u64],
    n_words: usize,
}

impl<const W: usize> Order<'_, W> {
    fn take(&self, places: impl Iterator<Item = usize>, out: &mut Batch) {
        let n_words = if W == 0 { self.n_words } else { W };
        out.keys.reserve(self.keys.len());
        out.ordinals.reserve(self.ordinals.len());
        for place in places {
            let key = key(self.keys, n_words, place);
            let last = out.keys.len().saturating_sub(n_words);
            let ordinal = self.ordinals[place];
            match out.ordinals.last_mut() {
                Some(least) if is_equal::<W>(&out.keys[last..], key) => {
                    *least = ordinal.min(*least);
                }
                _ => {
                    out.keys.extend_from_slice(key);
                    out.ordinals.push(ordinal);
                }
            }
        }
    }
}

/// Packs each key into one number: its differing bits, or the first of them, before its place.
struct Pack<'a, const W: usize> {
    reduction: &'a Reduction,
    keys: &'a [u64],
    place_bits: u32,
    n_dropped: u32,
    packed: &'a mut Vec<u64>,
}

impl<const W: usize> Kernel for Pack<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run<B: Bits>(self, bits: B) {
        match self.reduction.n_bits {
            0..=64 => self.pack::<B, u64>(bits),
            65..=128 => self.pack::<B, u128>(bits),
            _ => self.pack::<B, Wide>(bits),
        }
    }
}

impl<const W: usize> Pack<'_, W> {
    #[inline(always)]
    fn pack<B: Bits, R: Reduced>(self, bits: B) {
        let n_words = if W == 0 { self.reduction.n_words } else { W };
        let keys = self.keys.chunks_exact(n_words);
        self.packed.clear();
        self.packed.resize(self.keys.len() / n_words, 0);
        // A plain loop: closures of iterators are not compiled for this processor.
        for (place, (key, packed)) in keys.zip(self.packed.iter_mut()).enumerate() {
            let (reduced, _) = self.reduction.reduce::<B, R, W>(bits, key);
            *packed = reduced.part(self.n_dropped).unbounded_shl(self.place_bits) | place as u64;
        }
    }
}
