//! Keys of one part of the key space in the order of their generation, packed.
//!
//! Candidates that wait for the end of their layer are kept so: the keys of a part differ in few
//! bits, and only these are written. Nothing is sorted yet, so packing costs next to nothing, and
//! pieces of a part are put together by writing one behind the other.
//!
//! A piece is, in little-endian numbers: number of keys (4 bytes), words of a key (4), a tag of the
//! caller's (4), bytes of the ordinals (4), the first ordinal (8), the first key, the mask of bits
//! in which some key differs from it, the ordinals but the first, each as its distance from the one
//! before (LEB128), and the chosen bits of every key, in whole bytes.

use super::MAX_WORDS;
use super::batch::key;
use super::bits::{self, Bits, Kernel};
use super::reduced::{Reduced, Reduction, Wide, load_u64};
use super::sort::Split;
use crate::varint::{read_varint, write_varint};

/// Zeros that must follow the last of some pieces, so that keys can be read by words.
pub const PACKED_PADDING: usize = 16;

const HEAD_BYTES: usize = 24;

/// Memory for packing, to be used again for the next piece.
#[derive(Default)]
pub struct PackScratch {
    keys: Vec<u64>,
    ordinals: Vec<u8>,
}

impl Split<'_> {
    /// Appends the keys of part `part` to `out` as a piece, unless there are none.
    ///
    /// # Panics
    /// If there is no such part.
    pub fn pack(&self, part: usize, tag: u32, scratch: &mut PackScratch, out: &mut Vec<u8>) {
        let places = self.places_of(part);
        let Some(&first_place) = places.first() else {
            return;
        };
        let n_words = self.n_words();
        scratch.keys.clear();
        scratch.ordinals.clear();
        let mut last = self.ordinal(first_place);
        for &place in places {
            let key = key(self.keys(), n_words, place as usize);
            scratch.keys.extend_from_slice(key);
            if place != first_place {
                let ordinal = self.ordinal(place);
                write_varint(&mut scratch.ordinals, ordinal - last);
                last = ordinal;
            }
        }
        let first = &scratch.keys[..n_words];
        let mut mask = [0; MAX_WORDS];
        for key in scratch.keys.chunks_exact(n_words) {
            for i in 0..n_words {
                mask[i] |= key[i] ^ first[i];
            }
        }
        let head = [
            places.len() as u32,
            n_words as u32,
            tag,
            scratch.ordinals.len() as u32,
        ];
        out.extend(head.iter().flat_map(|number| number.to_le_bytes()));
        let words = [self.ordinal(first_place)];
        let words = words.iter().chain(first).chain(&mask[..n_words]);
        out.extend(words.flat_map(|word| word.to_le_bytes()));
        out.extend_from_slice(&scratch.ordinals);
        let reduction =
            Reduction::new(first, &mask[..n_words]).expect("keys of splits have 1 to 16 words");
        bits::run(Pack {
            reduction: &reduction,
            keys: &scratch.keys,
            out,
        });
    }
}

/// What a piece says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackedHead {
    /// Number of keys.
    pub n_keys: usize,
    /// Words of a key.
    pub n_words: usize,
    /// What the caller of [`Split::pack`] gave.
    pub tag: u32,
    /// Bytes of the piece.
    pub n_bytes: usize,
}

/// Appends the keys of the piece with which `bytes` begin, and their ordinals; `None` if no piece
/// is there. Behind it must be [`PACKED_PADDING`] bytes, of whatever.
pub fn unpack(bytes: &[u8], keys: &mut Vec<u64>, ordinals: &mut Vec<u64>) -> Option<PackedHead> {
    let number = |at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk::<4>()?));
    let (n_keys, n_words) = (number(0)? as usize, number(4)? as usize);
    let (tag, ordinal_bytes) = (number(8)?, number(12)? as usize);
    let keys_at = HEAD_BYTES + 16 * n_words + ordinal_bytes;
    if n_words == 0 || n_words > MAX_WORDS || n_keys == 0 || bytes.len() < keys_at {
        return None;
    }
    let mut words = [0; 1 + 2 * MAX_WORDS];
    for (i, word) in words[..1 + 2 * n_words].iter_mut().enumerate() {
        *word = load_u64(bytes, HEAD_BYTES - 8 + 8 * i);
    }
    let (first, mask) = words[1..].split_at(n_words);
    let reduction = Reduction::new(first, &mask[..n_words]).ok()?;
    let n_bytes = keys_at + n_keys * reduction.n_bytes();
    if bytes.len() < n_bytes + PACKED_PADDING {
        return None;
    }
    let mut deltas = &bytes[keys_at - ordinal_bytes..keys_at];
    let mut ordinal = words[0];
    ordinals.push(ordinal);
    for _ in 1..n_keys {
        ordinal = ordinal.checked_add(read_varint(&mut deltas)?)?;
        ordinals.push(ordinal);
    }
    bits::run(Unpack {
        reduction: &reduction,
        bytes: &bytes[keys_at..],
        n_keys,
        out: keys,
    });
    Some(PackedHead {
        n_keys,
        n_words,
        tag,
        n_bytes,
    })
}

/// Writes the chosen bits of each key.
struct Pack<'a> {
    reduction: &'a Reduction,
    keys: &'a [u64],
    out: &'a mut Vec<u8>,
}

impl Kernel for Pack<'_> {
    type Output = ();

    #[inline(always)]
    fn run<B: Bits>(self, bits: B) {
        match (self.reduction.n_words, self.reduction.n_bits) {
            (1, _) => self.pack::<B, u64, 1>(bits),
            (2, 0..=64) => self.pack::<B, u64, 2>(bits),
            (2, _) => self.pack::<B, u128, 2>(bits),
            (_, 0..=128) => self.pack::<B, u128, 0>(bits),
            _ => self.pack::<B, Wide, 0>(bits),
        }
    }
}

impl Pack<'_> {
    #[inline(always)]
    fn pack<B: Bits, R: Reduced, const W: usize>(self, bits: B) {
        let n_words = if W == 0 { self.reduction.n_words } else { W };
        let n_bytes = self.reduction.n_bytes();
        let from = self.out.len();
        let n_keys = self.keys.len() / n_words;
        // A key is written by words; the next one is written over what is too much.
        self.out.resize(from + n_keys * n_bytes + 8, 0);
        let mut at = from;
        for key in self.keys.chunks_exact(n_words) {
            let (reduced, _) = self.reduction.reduce::<B, R, W>(bits, key);
            for word in 0..n_bytes.div_ceil(8) {
                let place = &mut self.out[at + 8 * word..][..8];
                place.copy_from_slice(&reduced.part(64 * word as u32).to_le_bytes());
            }
            at += n_bytes;
        }
        self.out.truncate(at);
    }
}

/// Reads keys back.
struct Unpack<'a> {
    reduction: &'a Reduction,
    bytes: &'a [u8],
    n_keys: usize,
    out: &'a mut Vec<u64>,
}

impl Kernel for Unpack<'_> {
    type Output = ();

    #[inline(always)]
    fn run<B: Bits>(self, bits: B) {
        match (self.reduction.n_words, self.reduction.n_bits) {
            (1, _) => self.unpack::<B, u64, 1>(bits),
            (2, 0..=64) => self.unpack::<B, u64, 2>(bits),
            (2, _) => self.unpack::<B, u128, 2>(bits),
            (_, 0..=128) => self.unpack::<B, u128, 0>(bits),
            _ => self.unpack::<B, Wide, 0>(bits),
        }
    }
}

impl Unpack<'_> {
    #[inline(always)]
    fn unpack<B: Bits, R: Reduced, const W: usize>(self, bits: B) {
        let n_words = if W == 0 { self.reduction.n_words } else { W };
        let n_bytes = self.reduction.n_bytes();
        let from = self.out.len();
        self.out.resize(from + self.n_keys * n_words, 0);
        let mut fixed = [0; MAX_WORDS];
        for (i, fixed) in fixed[..n_words].iter_mut().enumerate() {
            *fixed = self.reduction.first[i] & !self.reduction.mask[i];
        }
        for (i, out) in self.out[from..].chunks_exact_mut(n_words).enumerate() {
            let reduced = R::load(self.bytes, i * n_bytes, n_bytes);
            let words = self.reduction.expand::<B, R, W>(bits, &reduced);
            for i in 0..n_words {
                out[i] = words[i] | fixed[i];
            }
        }
    }
}
