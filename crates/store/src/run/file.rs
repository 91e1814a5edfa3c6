//! A run on disk: its fences, and how its blocks are found.
//!
//! The footer, the last block, in little-endian numbers: `"HDLRUN2\0"`; words of a key (8 bytes);
//! number of data blocks (8); number of keys (8); the last key, unless there are none. Before it are
//! the fences.

use std::fmt;
use std::iter;
use std::ops::Range;
use std::sync::Arc;

use super::block::View;
use super::cursor::RunKeys;
use super::damage::Damage;
use super::decode::{self, Progress};
use super::finder::Finder;
use super::range::KeyRange;
use super::reduced::load_u64;
use super::wide::{self, fence_stride};
use super::{Versioned, Written};
use crate::{BLOCK_BYTES, BlockSink, BlockSource, Error, MAX_KEY_WORDS};

/// Words of fences in a block.
const FENCE_WORDS: usize = BLOCK_BYTES / 8;

pub(crate) const MAGIC: &[u8; 8] = b"HDLRUN2\0";
const FOOTER_BYTES: usize = 32;

/// A sorted run: ascending distinct keys on disk, the first of each block in memory.
pub struct Run {
    source: Arc<dyn BlockSource>,
    name: String,
    n_words: usize,
    n_keys: u64,
    n_data_blocks: u32,
    fences: Vec<u64>,
    last_key: Vec<u64>,
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run")
            .field("name", &self.name)
            .field("n_words", &self.n_words)
            .field("n_keys", &self.n_keys)
            .field("n_data_blocks", &self.n_data_blocks)
            .finish_non_exhaustive()
    }
}

impl Run {
    /// Opens the run of `n_blocks` blocks in `source`; errors call it `name`.
    pub fn open(source: Arc<dyn BlockSource>, n_blocks: u32, name: &str) -> Result<Self, Error> {
        let (footer, fences) = read_index(&*source, n_blocks, name, MAGIC)?;
        Ok(Run {
            source,
            name: name.to_owned(),
            n_words: footer.n_words,
            n_keys: footer.n_keys,
            n_data_blocks: footer.n_data_blocks,
            fences,
            last_key: footer.last_key,
        })
    }

    /// The run that was just written to `source`; errors call it `name`.
    pub fn new(source: Arc<dyn BlockSource>, written: Written, name: &str) -> Self {
        Run {
            source,
            name: name.to_owned(),
            n_words: written.n_words,
            n_keys: written.n_keys,
            n_data_blocks: written.n_data_blocks,
            fences: written.fences,
            last_key: written.last_key,
        }
    }

    /// Words of a key.
    pub fn n_words(&self) -> usize {
        self.n_words
    }

    /// Number of keys.
    pub fn n_keys(&self) -> u64 {
        self.n_keys
    }

    /// Number of blocks with keys.
    pub fn n_data_blocks(&self) -> u32 {
        self.n_data_blocks
    }

    /// Number of fences: one for each block, or for every few blocks where keys are wide.
    pub fn n_fences(&self) -> u32 {
        (self.fences.len() / self.n_words) as u32
    }

    /// The blocks of these fences.
    pub(crate) fn blocks_of(&self, fences: Range<usize>) -> Range<u32> {
        let stride = fence_stride(self.n_words);
        let end = (fences.end as u32).saturating_mul(stride);
        fences.start as u32 * stride..end.min(self.n_data_blocks)
    }

    /// Memory held, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        (8 * (self.fences.capacity() + self.last_key.capacity()) + self.name.capacity()) as u64
    }

    /// The greatest key, if any.
    pub fn last_key(&self) -> Option<&[u64]> {
        (self.n_keys > 0).then_some(&self.last_key)
    }

    /// The first key of the blocks of a fence.
    ///
    /// # Panics
    /// If there is no such fence.
    pub fn fence(&self, fence: u32) -> &[u64] {
        let at = fence as usize * self.n_words;
        &self.fences[at..at + self.n_words]
    }

    /// The keys in `range`, ascending.
    pub fn keys<'a>(&'a self, range: KeyRange<'a>) -> RunKeys<'a> {
        RunKeys::new(Versioned::from(self), range)
    }

    /// Marks in `present` which of the ascending distinct keys `candidates` are in the run.
    /// Existing marks stay. Reads only blocks that may have a candidate.
    ///
    /// # Panics
    /// If there are not as many marks as candidates.
    pub fn probe(&self, candidates: &[u64], present: &mut [bool]) -> Result<(), Error> {
        assert_eq!(
            candidates.len(),
            present.len() * self.n_words,
            "one mark for each candidate"
        );
        let mut finder = Finder::new(Versioned::from(self), KeyRange::ALL, 0);
        if finder.request(candidates) {
            finder.probe(candidates, present)?;
        }
        Ok(())
    }

    /// The blocks into which candidates fall, those of a fence together, with their candidates.
    pub(crate) fn pieces(&self, candidates: &[u64]) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let n_fences = self.n_fences() as usize;
        let n_words = self.n_words;
        let n_candidates = candidates.len() / n_words;
        let candidate = |i: usize| &candidates[i * n_words..(i + 1) * n_words];
        if n_fences == 0 {
            return pieces;
        }
        // Those before the first key and behind the last are in no block.
        let mut at = partition_point(0, n_candidates, |i| candidate(i) < self.fence(0));
        let end = partition_point(at, n_candidates, |i| {
            candidate(i) <= self.last_key.as_slice()
        });
        let mut fence = 0;
        while at < end {
            fence = partition_point(fence + 1, n_fences, |next| {
                self.fence(next as u32) <= candidate(at)
            }) - 1;
            let piece_end = if fence + 1 == n_fences {
                end
            } else {
                let next = self.fence(fence as u32 + 1);
                partition_point(at + 1, end, |i| candidate(i) < next)
            };
            pieces.push(Piece {
                blocks: self.blocks_of(fence..fence + 1),
                candidates: at..piece_end,
            });
            at = piece_end;
        }
        pieces
    }

    /// The data block in `payload`, if it belongs here.
    pub(crate) fn view<'p>(&self, block: u32, payload: &'p [u8]) -> Result<View<'p>, Error> {
        let view = View::new(payload).map_err(|what| what.in_block(&self.name, block))?;
        if view.reduction.n_words != self.n_words {
            return Err(Damage("number of words").in_block(&self.name, block));
        }
        Ok(view)
    }

    /// Appends keys of the data block in `payload` to `out`, from `progress` on, until `n_wanted` keys
    /// or more have been appended or the block ends, which is `None`. A wide block is decoded as a
    /// whole.
    pub(crate) fn decode(
        &self,
        block: u32,
        payload: &[u8],
        progress: Progress,
        n_wanted: usize,
        out: &mut Vec<u64>,
    ) -> Result<Option<Progress>, Error> {
        let damage = |what: Damage| what.in_block(&self.name, block);
        if wide::is_wide(self.n_words) {
            wide::decode(payload, self.n_words, out).map_err(damage)?;
            return Ok(None);
        }
        let view = self.view(block, payload)?;
        let progress = decode::decode(&view, progress, n_wanted, out).map_err(damage)?;
        Ok(Some(progress).filter(|progress| progress.n_groups < view.n_groups))
    }

    pub(crate) fn source(&self) -> &dyn BlockSource {
        &*self.source
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

/// Candidates that fall into the blocks of one fence.
pub(crate) struct Piece {
    pub(crate) blocks: Range<u32>,
    pub(crate) candidates: Range<usize>,
}

/// The first of `from..to` for which `before` does not hold, or `to`: found by galloping.
pub(crate) fn partition_point(
    from: usize,
    to: usize,
    mut before: impl FnMut(usize) -> bool,
) -> usize {
    let (mut low, mut step) = (from, 1);
    while low + step <= to && before(low + step - 1) {
        low += step;
        step *= 2;
    }
    let mut high = (low + step - 1).min(to);
    while low < high {
        let middle = low + (high - low) / 2;
        if before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// Writes fences and footer behind the data blocks of a run of the kind that `magic` names; returns
/// the number of all blocks, and the bytes of these.
pub(crate) fn write_index(
    sink: &mut dyn BlockSink,
    footer: &Footer,
    fences: &[u64],
    magic: &[u8; 8],
) -> Result<(u32, u64), Error> {
    let mut n_blocks = u64::from(footer.n_data_blocks) + 1;
    let (mut payload, mut n_bytes) = (Vec::new(), 0);
    for words in fences.chunks(FENCE_WORDS) {
        payload.clear();
        payload.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        sink.put(&payload)?;
        n_bytes += payload.len() as u64;
        n_blocks += 1;
    }
    let payload = footer.to_bytes(magic);
    sink.put(&payload)?;
    let n_blocks = u32::try_from(n_blocks).expect("2^32 blocks are 256 TiB");
    Ok((n_blocks, n_bytes + payload.len() as u64))
}

/// Reads footer and fences of a run of `n_blocks` blocks; errors call it `name`.
pub(crate) fn read_index(
    source: &dyn BlockSource,
    n_blocks: u32,
    name: &str,
    magic: &[u8; 8],
) -> Result<(Footer, Vec<u64>), Error> {
    let last = n_blocks.saturating_sub(1);
    let damage = |what| Damage(what).in_block(name, last);
    let footer = {
        let mut reader = source.read(iter::once(last..n_blocks).collect());
        let (_, payload) = reader.next()?.ok_or_else(|| damage("no footer"))?;
        Footer::from_bytes(payload, magic).map_err(|what| what.in_block(name, last))?
    };
    let n_fences = footer.n_data_blocks.div_ceil(fence_stride(footer.n_words));
    let n_fence_words = n_fences as usize * footer.n_words;
    let n_fence_blocks = n_fence_words.div_ceil(FENCE_WORDS) as u64;
    if u64::from(footer.n_data_blocks) + n_fence_blocks != u64::from(last) {
        return Err(damage("number of blocks"));
    }
    let mut fences = Vec::with_capacity(n_fence_words);
    let mut reader = source.read(iter::once(footer.n_data_blocks..last).collect());
    while let Some((_, payload)) = reader.next()? {
        let (words, []) = payload.as_chunks::<8>() else {
            return Err(damage("length of fences"));
        };
        fences.extend(words.iter().map(|word| u64::from_le_bytes(*word)));
    }
    drop(reader);
    if fences.len() != n_fence_words {
        return Err(damage("number of fences"));
    }
    if !fences.chunks(footer.n_words).is_sorted() {
        return Err(damage("order of fences"));
    }
    Ok((footer, fences))
}

/// The content of the last block.
pub(crate) struct Footer {
    pub(crate) n_words: usize,
    pub(crate) n_data_blocks: u32,
    pub(crate) n_keys: u64,
    pub(crate) last_key: Vec<u64>,
}

impl Footer {
    pub(crate) fn to_bytes(&self, magic: &[u8; 8]) -> Vec<u8> {
        let mut bytes = magic.to_vec();
        bytes.extend((self.n_words as u64).to_le_bytes());
        bytes.extend(u64::from(self.n_data_blocks).to_le_bytes());
        bytes.extend(self.n_keys.to_le_bytes());
        bytes.extend(self.last_key.iter().flat_map(|word| word.to_le_bytes()));
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8], magic: &[u8; 8]) -> Result<Self, Damage> {
        if bytes.len() < FOOTER_BYTES || &bytes[..8] != magic {
            return Err(Damage("not a footer"));
        }
        let n_words = usize::try_from(load_u64(bytes, 8))
            .ok()
            .filter(|n_words| (1..=MAX_KEY_WORDS).contains(n_words))
            .ok_or(Damage("number of words"))?;
        let n_data_blocks =
            u32::try_from(load_u64(bytes, 16)).map_err(|_| Damage("number of blocks"))?;
        let n_keys = load_u64(bytes, 24);
        let n_key_words = if n_keys == 0 { 0 } else { n_words };
        if bytes.len() != FOOTER_BYTES + 8 * n_key_words || (n_keys == 0) != (n_data_blocks == 0) {
            return Err(Damage("length"));
        }
        let word = |i| load_u64(bytes, FOOTER_BYTES + 8 * i);
        Ok(Footer {
            n_words,
            n_data_blocks,
            n_keys,
            last_key: (0..n_key_words).map(word).collect(),
        })
    }
}
