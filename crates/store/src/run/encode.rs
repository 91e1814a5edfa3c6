//! Filling blocks with ascending keys.
//!
//! Groups are chosen as the keys come: of the sizes 1, 2, 4 … 32 the one that takes the fewest
//! bytes for a key. The size of a group depends on the block's mask only by the length of its first
//! key and its own mask; so the size of the block is always known, and the block is closed before
//! the first group that would not fit.

use super::PACKED_WORDS;
use super::block::{HEADER_BYTES, MAX_KEYS, MAX_PACKED_BITS, MAX_SIZE_LOG, PADDING_BYTES, VERSION};
use super::reduced::{Reduced, Reduction, Wide};
use crate::BLOCK_BYTES;
use crate::bits::{self, Bits, Kernel};

/// Keys considered to choose a group.
const LOOK_AHEAD: usize = 1 << MAX_SIZE_LOG;

/// A block under construction.
pub(crate) struct BlockBuilder {
    n_words: usize,
    /// Keys of the block and those without a group yet.
    keys: Vec<u64>,
    /// The groups so far, with the masks of each in whole words.
    groups: Vec<PlannedGroup>,
    group_masks: Vec<u64>,
    /// Keys in groups.
    n_grouped: usize,
    mask: [u64; PACKED_WORDS],
    /// Bytes of all packed numbers, and how many groups have any.
    packed_bytes: usize,
    n_masks: usize,
    /// Bytes of a reduced key in the block before: an estimate for this one.
    last_reduced_bytes: usize,
    block: Vec<u8>,
}

#[derive(Clone, Copy)]
struct PlannedGroup {
    first: u32,
    size_log: u32,
    width: u32,
}

impl BlockBuilder {
    pub(crate) fn new(n_words: usize) -> Self {
        assert!(
            (1..=PACKED_WORDS).contains(&n_words),
            "other keys lie in wide blocks"
        );
        BlockBuilder {
            n_words,
            keys: Vec::new(),
            groups: Vec::new(),
            group_masks: Vec::new(),
            n_grouped: 0,
            mask: [0; PACKED_WORDS],
            packed_bytes: 0,
            n_masks: 0,
            last_reduced_bytes: 0,
            block: Vec::with_capacity(BLOCK_BYTES),
        }
    }

    /// Takes keys, ascending and behind all before.
    /// Call [`BlockBuilder::next_block`] until it has none before the next call.
    pub(crate) fn push(&mut self, keys: &[u64]) {
        self.keys.extend_from_slice(keys);
    }

    /// The next block, if there are keys enough to fill one, or keys at all and no more `to_come`.
    pub(crate) fn next_block(&mut self, to_come: bool) -> Option<&[u8]> {
        let full = bits::run(Plan {
            builder: self,
            to_come,
        });
        if self.n_grouped == 0 || (!full && to_come) {
            return None;
        }
        self.emit();
        Some(&self.block)
    }

    /// Appends the first key of the block that was given last.
    pub(crate) fn add_first_key(&self, fences: &mut Vec<u64>) {
        let word = |i| super::reduced::load_u64(&self.block, HEADER_BYTES + 8 * i);
        fences.extend((0..self.n_words).map(word));
    }

    /// Groups keys until the block is full (true) or keys run out. Keys have `W` words, or at most
    /// `W` where that is [`PACKED_WORDS`].
    #[inline(always)]
    fn plan<const W: usize>(&mut self, to_come: bool) -> bool {
        let n_words = if W == PACKED_WORDS { self.n_words } else { W };
        loop {
            let keys = &self.keys[self.n_grouped * n_words..];
            let n_waiting = (keys.len() / n_words).min(LOOK_AHEAD);
            if n_waiting == 0 || (to_come && n_waiting < LOOK_AHEAD) {
                return false;
            }
            let first: [u64; W] = copied(keys, n_words);
            let block_first: [u64; W] = copied(&self.keys, n_words);
            let mut reduced_bits = 0;
            for i in 0..n_words {
                reduced_bits += (self.mask[i] | (first[i] ^ block_first[i])).count_ones();
            }
            let reduced_bytes = (reduced_bits.div_ceil(8) as usize).max(self.last_reduced_bytes);
            // The cost of a size for a key, and its distance from the largest: of equal costs the
            // larger size wins, for fewer groups are searched.
            let cost = |size_log: usize, width: u32| {
                let n_masks = if size_log == 0 { 1 } else { 2 };
                let n_bytes = n_masks * reduced_bytes + 3 + packed_len(size_log, width);
                let to_largest = MAX_SIZE_LOG as usize - size_log;
                n_bytes << to_largest << 8 | to_largest
            };
            // Bits that differ from the group's first key, among the first 1, 2, 4, … keys.
            let mut differ = [[0; W]; MAX_SIZE_LOG as usize + 1];
            let mut widths = [0; MAX_SIZE_LOG as usize + 1];
            let mut least = cost(0, 0);
            for size_log in 1..=MAX_SIZE_LOG as usize {
                if 1 << size_log > n_waiting {
                    break;
                }
                let mut acc = differ[size_log - 1];
                let (from, to) = (1 << (size_log - 1), 1 << size_log);
                for key in keys[from * n_words..to * n_words].chunks_exact(n_words) {
                    for i in 0..n_words {
                        acc[i] |= key[i] ^ first[i];
                    }
                }
                let width = acc[..n_words].iter().map(|word| word.count_ones()).sum();
                if width > MAX_PACKED_BITS {
                    break;
                }
                (differ[size_log], widths[size_log]) = (acc, width);
                least = least.min(cost(size_log, width));
            }
            let size_log = MAX_SIZE_LOG as usize - (least & 0xFF);

            let (differ, width) = (differ[size_log], widths[size_log]);
            let mut mask: [u64; W] = copied(&self.mask, n_words);
            for i in 0..n_words {
                mask[i] |= differ[i] | (first[i] ^ block_first[i]);
            }
            let n_grouped = self.n_grouped + (1 << size_log);
            let packed_bytes = self.packed_bytes + packed_len(size_log, width);
            let n_masks = self.n_masks + usize::from(size_log > 0);
            let n_groups = self.groups.len() + 1;
            let reduced_bits: u32 = mask[..n_words].iter().map(|word| word.count_ones()).sum();
            let reduced_bytes = reduced_bits.div_ceil(8) as usize;
            let data_bytes = packed_bytes + n_masks * reduced_bytes;
            let len = HEADER_BYTES
                + 16 * n_words
                + n_groups * (reduced_bytes + 3)
                + data_bytes
                + PADDING_BYTES;
            if len > BLOCK_BYTES || n_grouped > MAX_KEYS {
                return true;
            }
            self.groups.push(PlannedGroup {
                first: self.n_grouped as u32,
                size_log: size_log as u32,
                width,
            });
            self.group_masks.extend_from_slice(&differ[..n_words]);
            self.mask[..n_words].copy_from_slice(&mask[..n_words]);
            self.packed_bytes = packed_bytes;
            self.n_masks = n_masks;
            self.n_grouped = n_grouped;
        }
    }

    /// Writes the block of all groups and drops their keys.
    fn emit(&mut self) {
        let n_words = self.n_words;
        let reduction = Reduction::new(&self.keys[..n_words], &self.mask[..n_words])
            .expect("the number of words was checked");
        let reduced_bytes = reduction.n_bytes();
        let data_len = self.packed_bytes + self.n_masks * reduced_bytes;

        let block = &mut self.block;
        block.clear();
        block.extend([VERSION, n_words as u8, 0, 0]);
        for number in [self.n_grouped, self.groups.len(), data_len] {
            block.extend((number as u32).to_le_bytes());
        }
        for word in self.keys[..n_words].iter().chain(&self.mask[..n_words]) {
            block.extend(word.to_le_bytes());
        }
        let groups_at = block.len();
        let groups_len = self.groups.len() * (reduced_bytes + 3) + data_len;
        block.resize(groups_at + groups_len + PADDING_BYTES, 0);
        bits::run(WriteGroups {
            reduction: &reduction,
            keys: &self.keys,
            groups: &self.groups,
            group_masks: &self.group_masks,
            out: &mut block[groups_at..],
        });

        self.keys.drain(..self.n_grouped * n_words);
        self.groups.clear();
        self.group_masks.clear();
        self.n_grouped = 0;
        self.mask = [0; PACKED_WORDS];
        (self.packed_bytes, self.n_masks) = (0, 0);
        self.last_reduced_bytes = reduced_bytes;
    }
}

/// Planning, as a loop that is compiled for several processors: it counts bits all the time.
struct Plan<'a> {
    builder: &'a mut BlockBuilder,
    to_come: bool,
}

impl Kernel for Plan<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<B: Bits>(self, _: B) -> bool {
        match self.builder.n_words {
            1 => self.builder.plan::<1>(self.to_come),
            2 => self.builder.plan::<2>(self.to_come),
            3 => self.builder.plan::<3>(self.to_come),
            4 => self.builder.plan::<4>(self.to_come),
            _ => self.builder.plan::<PACKED_WORDS>(self.to_come),
        }
    }
}

/// The first key of `keys`.
#[inline(always)]
fn copied<const W: usize>(keys: &[u64], n_words: usize) -> [u64; W] {
    let mut key = [0; W];
    key[..n_words].copy_from_slice(&keys[..n_words]);
    key
}

/// Bytes of a group's packed numbers.
fn packed_len(size_log: usize, width: u32) -> usize {
    (((1 << size_log) - 1) * width as usize).div_ceil(8)
}

/// Writes first keys, offsets, sizes and data of all groups. Everything is written in order and by
/// whole words, whose excess is zero: the next write covers it, or it falls into the padding.
struct WriteGroups<'a> {
    reduction: &'a Reduction,
    keys: &'a [u64],
    groups: &'a [PlannedGroup],
    group_masks: &'a [u64],
    out: &'a mut [u8],
}

impl Kernel for WriteGroups<'_> {
    type Output = ();

    #[inline(always)]
    fn run<B: Bits>(self, bits: B) {
        match self.reduction.n_words {
            1 => self.write::<B, 1>(bits),
            2 => self.write::<B, 2>(bits),
            3 => self.write::<B, 3>(bits),
            4 => self.write::<B, 4>(bits),
            _ => self.write::<B, 0>(bits),
        }
    }
}

impl WriteGroups<'_> {
    #[inline(always)]
    fn write<B: Bits, const W: usize>(self, bits: B) {
        match self.reduction.n_bits {
            0..=64 => self.write_as::<B, u64, W>(bits),
            65..=128 => self.write_as::<B, u128, W>(bits),
            _ => self.write_as::<B, Wide, W>(bits),
        }
    }

    #[inline(always)]
    fn write_as<B: Bits, R: Reduced, const W: usize>(self, bits: B) {
        let n_words = if W == 0 { self.reduction.n_words } else { W };
        let reduced_bytes = self.reduction.n_bytes();
        let out = self.out;
        let mut at = 0;
        for group in self.groups {
            let key = &self.keys[group.first as usize * n_words..];
            let (reduced, _) = self.reduction.reduce::<B, R, W>(bits, key);
            at = put(&reduced, reduced_bytes, out, at);
        }
        let mut offset = 0;
        for group in self.groups {
            out[at..at + 2].copy_from_slice(&(offset as u16).to_le_bytes());
            at += 2;
            if group.size_log > 0 {
                offset += reduced_bytes + packed_len(group.size_log as usize, group.width);
            }
        }
        for group in self.groups {
            out[at] = group.size_log as u8;
            at += 1;
        }
        for (group, mask) in self
            .groups
            .iter()
            .zip(self.group_masks.chunks_exact(n_words))
        {
            if group.size_log == 0 {
                continue;
            }
            let (reduced, _) = self.reduction.reduce::<B, R, W>(bits, mask);
            at = put(&reduced, reduced_bytes, out, at);
            let mut shift = [0; PACKED_WORDS];
            let mut n_bits = 0;
            for i in (0..n_words).rev() {
                shift[i] = n_bits;
                n_bits += mask[i].count_ones();
            }
            let (from, n_keys) = (group.first as usize, 1 << group.size_log);
            let keys = &self.keys[(from + 1) * n_words..(from + n_keys) * n_words];
            let mut packer = Packer::new(out, at);
            for key in keys.chunks_exact(n_words) {
                let mut number = 0;
                for i in 0..n_words {
                    number |= bits.extract(key[i], mask[i]) << (shift[i] & 63);
                }
                packer.put(number, group.width);
            }
            at = packer.end();
        }
    }
}

/// Writes the low `len` bytes of a reduced key, at `at` in `out`; returns the end.
#[inline(always)]
fn put<R: Reduced>(reduced: &R, len: usize, out: &mut [u8], at: usize) -> usize {
    for from in (0..len).step_by(8) {
        let word = reduced.part(8 * from as u32).to_le_bytes();
        out[at + from..at + from + 8].copy_from_slice(&word);
    }
    at + len
}

/// Writes numbers of few bits, at most [`MAX_PACKED_BITS`], without gaps.
struct Packer<'a> {
    out: &'a mut [u8],
    /// The byte in which the next number begins, its bits so far, and their number.
    at: usize,
    begun: u64,
    n_bits: u32,
}

impl<'a> Packer<'a> {
    #[inline(always)]
    fn new(out: &'a mut [u8], at: usize) -> Self {
        Packer {
            out,
            at,
            begun: 0,
            n_bits: 0,
        }
    }

    /// At most 7 bits are pending, so the word that is written has the whole number.
    #[inline(always)]
    fn put(&mut self, number: u64, width: u32) {
        let word = self.begun | number << self.n_bits;
        self.out[self.at..self.at + 8].copy_from_slice(&word.to_le_bytes());
        let n_bits = self.n_bits + width;
        self.at += (n_bits / 8) as usize;
        self.n_bits = n_bits % 8;
        // The shift may be by 64, which would be none: so in two steps.
        self.begun = word >> (n_bits / 16 * 8) >> ((n_bits / 8).div_ceil(2) * 8);
    }

    /// The first byte behind all numbers.
    #[inline(always)]
    fn end(self) -> usize {
        self.at + usize::from(self.n_bits > 0)
    }
}
