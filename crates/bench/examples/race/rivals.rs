//! The encodings.

use std::sync::Arc;

use hadal_store::hash_state;
use hadal_store::run::{KeyRange, MemoryBlocks, Run, RunWriter};

const BLOCK_BYTES: usize = 64 << 10;

/// A way to keep ascending keys.
pub(crate) trait Coding {
    /// What it is called.
    fn name(&self) -> &'static str;
    /// What of the keys is kept: the keys, but for hashes.
    fn prepare(&self, keys: &[u64]) -> Vec<u64> {
        keys.to_vec()
    }
    /// The same for candidates, with the place each had.
    fn prepare_candidates(&self, candidates: &[u64]) -> (Vec<u64>, Vec<usize>);
    /// Keeps these keys, prepared, instead of all before; how many bytes they take.
    fn encode(&mut self, keys: &[u64]) -> usize;
    /// All keys again.
    fn decode(&self) -> Vec<u64>;
    /// Which of the ascending candidates are kept.
    fn probe(&self, candidates: &[u64]) -> Vec<bool>;
}

/// Our runs.
pub(crate) struct Runs {
    n_words: usize,
    run: Option<Run>,
}

impl Runs {
    pub(crate) fn new(n_words: usize) -> Self {
        Runs { n_words, run: None }
    }
}

impl Coding for Runs {
    fn name(&self) -> &'static str {
        "runs"
    }

    fn prepare_candidates(&self, candidates: &[u64]) -> (Vec<u64>, Vec<usize>) {
        (
            candidates.to_vec(),
            (0..candidates.len() / self.n_words).collect(),
        )
    }

    fn encode(&mut self, keys: &[u64]) -> usize {
        let mut writer = RunWriter::new(MemoryBlocks::default(), self.n_words);
        writer.push(keys).expect("memory takes all");
        let (blocks, written) = writer.finish().expect("memory takes all");
        let run = Run::open(Arc::new(blocks), written.n_blocks, "race");
        self.run = Some(run.expect("the run is whole"));
        written.data_bytes as usize
    }

    fn decode(&self) -> Vec<u64> {
        let run = self.run.as_ref().expect("encoded before");
        let mut cursor = run.keys(KeyRange::ALL);
        let mut all = Vec::with_capacity(run.n_keys() as usize * self.n_words);
        let mut some = Vec::new();
        while cursor.next(&mut some).expect("the run is whole") {
            all.extend_from_slice(&some);
        }
        all
    }

    fn probe(&self, candidates: &[u64]) -> Vec<bool> {
        let run = self.run.as_ref().expect("encoded before");
        let mut present = vec![false; candidates.len() / self.n_words];
        run.probe(candidates, &mut present)
            .expect("the run is whole");
        present
    }
}

/// Marks which of the ascending `candidates` are among the ascending `keys`, from `at` on.
fn merge<const W: usize>(keys: &[u64], candidates: &[u64], at: &mut usize, present: &mut [bool]) {
    let (keys, candidates) = (keys.as_chunks::<W>().0, candidates.as_chunks::<W>().0);
    let mut k = 0;
    while k < keys.len() && *at < candidates.len() {
        let (key, candidate) = (&keys[k], &candidates[*at]);
        present[*at] |= key == candidate;
        let key_goes = key <= candidate;
        *at += usize::from(candidate <= key);
        k += usize::from(key_goes);
    }
}

/// Decodes block by block and merges.
fn probe_blocks(
    n_words: usize,
    blocks: &[Vec<u8>],
    candidates: &[u64],
    decode: impl Fn(&[u8], &mut Vec<u64>),
) -> Vec<bool> {
    let mut present = vec![false; candidates.len() / n_words];
    let (mut keys, mut at) = (Vec::new(), 0);
    for block in blocks {
        keys.clear();
        decode(block, &mut keys);
        match n_words {
            1 => merge::<1>(&keys, candidates, &mut at, &mut present),
            2 => merge::<2>(&keys, candidates, &mut at, &mut present),
            3 => merge::<3>(&keys, candidates, &mut at, &mut present),
            4 => merge::<4>(&keys, candidates, &mut at, &mut present),
            _ => unreachable!("keys of the race have up to 4 words"),
        }
    }
    present
}

const KEY_BYTES: usize = 32;

fn to_bytes(key: &[u64]) -> [u8; KEY_BYTES] {
    let mut bytes = [0; KEY_BYTES];
    for (bytes, word) in bytes.chunks_mut(8).zip(key) {
        bytes.copy_from_slice(&word.to_be_bytes());
    }
    bytes
}

fn push_words(bytes: &[u8; KEY_BYTES], n_words: usize, out: &mut Vec<u64>) {
    let words = bytes.as_chunks::<8>().0.iter();
    out.extend(words.take(n_words).map(|word| u64::from_be_bytes(*word)));
}

/// For each key a bitmap of the bytes that differ from the key before, and these bytes.
pub(crate) struct ByteMasks {
    n_words: usize,
    n_bytes: usize,
    blocks: Vec<Vec<u8>>,
}

impl ByteMasks {
    pub(crate) fn new(n_words: usize, n_bits: usize) -> Self {
        ByteMasks {
            n_words,
            n_bytes: n_bits.div_ceil(8),
            blocks: Vec::new(),
        }
    }

    fn decode_block(&self, block: &[u8], out: &mut Vec<u64>) {
        let mask_bytes = self.n_bytes.div_ceil(8);
        let mut key = [0; KEY_BYTES];
        let mut at = 0;
        while at + 4 < block.len() {
            // Four bytes of padding stand at the end of a block, so that a mask is one load.
            let word: [u8; 4] = block[at..at + 4].try_into().expect("4 bytes");
            let mut mask = u32::from_le_bytes(word) & (u32::MAX >> (32 - 8 * mask_bytes));
            at += mask_bytes;
            while mask != 0 {
                key[mask.trailing_zeros() as usize % KEY_BYTES] ^= block[at];
                at += 1;
                mask &= mask - 1;
            }
            push_words(&key, self.n_words, out);
        }
    }
}

impl Coding for ByteMasks {
    fn name(&self) -> &'static str {
        "byte masks"
    }

    fn prepare_candidates(&self, candidates: &[u64]) -> (Vec<u64>, Vec<usize>) {
        (
            candidates.to_vec(),
            (0..candidates.len() / self.n_words).collect(),
        )
    }

    fn encode(&mut self, keys: &[u64]) -> usize {
        self.blocks.clear();
        let mut block = Vec::with_capacity(BLOCK_BYTES);
        let mut last = [0; KEY_BYTES];
        for key in keys.chunks(self.n_words) {
            if block.len() + KEY_BYTES + 8 > BLOCK_BYTES {
                block.extend([0; 4]);
                self.blocks.push(std::mem::take(&mut block));
                block.reserve(BLOCK_BYTES);
                last = [0; KEY_BYTES];
            }
            let bytes = to_bytes(key);
            let mask_at = block.len();
            block.extend(std::iter::repeat_n(0, self.n_bytes.div_ceil(8)));
            for i in 0..self.n_bytes {
                if bytes[i] != last[i] {
                    block[mask_at + i / 8] |= 1 << (i % 8);
                    block.push(bytes[i] ^ last[i]);
                }
            }
            last = bytes;
        }
        block.extend([0; 4]);
        self.blocks.push(block);
        self.blocks.iter().map(Vec::len).sum()
    }

    fn decode(&self) -> Vec<u64> {
        let mut all = Vec::new();
        self.blocks
            .iter()
            .for_each(|block| self.decode_block(block, &mut all));
        all
    }

    fn probe(&self, candidates: &[u64]) -> Vec<bool> {
        let decode = |block: &[u8], out: &mut Vec<u64>| self.decode_block(block, out);
        probe_blocks(self.n_words, &self.blocks, candidates, decode)
    }
}

/// For each key how many bytes it shares with the key before, and the others.
pub(crate) struct FrontCoding {
    n_words: usize,
    n_bytes: usize,
    blocks: Vec<Vec<u8>>,
}

impl FrontCoding {
    pub(crate) fn new(n_words: usize, n_bits: usize) -> Self {
        FrontCoding {
            n_words,
            n_bytes: n_bits.div_ceil(8),
            blocks: Vec::new(),
        }
    }

    fn decode_block(&self, block: &[u8], out: &mut Vec<u64>) {
        let mut key = [0; KEY_BYTES];
        let mut at = 0;
        while at < block.len() {
            let n_shared = usize::from(block[at]);
            let n_own = self.n_bytes - n_shared;
            key[n_shared..self.n_bytes].copy_from_slice(&block[at + 1..at + 1 + n_own]);
            at += 1 + n_own;
            push_words(&key, self.n_words, out);
        }
    }
}

impl Coding for FrontCoding {
    fn name(&self) -> &'static str {
        "front coding"
    }

    fn prepare_candidates(&self, candidates: &[u64]) -> (Vec<u64>, Vec<usize>) {
        (
            candidates.to_vec(),
            (0..candidates.len() / self.n_words).collect(),
        )
    }

    fn encode(&mut self, keys: &[u64]) -> usize {
        self.blocks.clear();
        let mut block = Vec::with_capacity(BLOCK_BYTES);
        let mut last = [0; KEY_BYTES];
        for key in keys.chunks(self.n_words) {
            let bytes = to_bytes(key);
            let shared = bytes.iter().zip(&last).take_while(|(a, b)| a == b).count();
            let mut n_shared = shared.min(self.n_bytes);
            if block.is_empty() || block.len() + KEY_BYTES + 1 > BLOCK_BYTES {
                if !block.is_empty() {
                    self.blocks.push(std::mem::take(&mut block));
                }
                block.reserve(BLOCK_BYTES);
                n_shared = 0;
            }
            block.push(n_shared as u8);
            block.extend_from_slice(&bytes[n_shared..self.n_bytes]);
            last = bytes;
        }
        self.blocks.push(block);
        self.blocks.iter().map(Vec::len).sum()
    }

    fn decode(&self) -> Vec<u64> {
        let mut all = Vec::new();
        self.blocks
            .iter()
            .for_each(|block| self.decode_block(block, &mut all));
        all
    }

    fn probe(&self, candidates: &[u64]) -> Vec<bool> {
        let decode = |block: &[u8], out: &mut Vec<u64>| self.decode_block(block, out);
        probe_blocks(self.n_words, &self.blocks, candidates, decode)
    }
}

/// Hashes of 64 bits, packed by the 128: not exact, but a bound for what a scan must cost.
pub(crate) struct Hashes {
    n_words: usize,
    blocks: Vec<Vec<u8>>,
}

const HASHES_PER_BLOCK: usize = 128;

impl Hashes {
    pub(crate) fn new(n_words: usize) -> Self {
        Hashes {
            n_words,
            blocks: Vec::new(),
        }
    }

    fn hash(key: &[u64]) -> u64 {
        hash_state(&to_bytes(key))
    }

    fn decode_block(block: &[u8], out: &mut Vec<u64>) {
        let load = |at: usize| u64::from_le_bytes(block[at..at + 8].try_into().expect("8 bytes"));
        let (base, width, n) = (load(0), usize::from(block[8]), usize::from(block[9]));
        let mask = u64::MAX >> (64 - width);
        out.extend((0..n).map(|i| {
            let bit = i * width;
            base.wrapping_add(load(10 + bit / 8) >> (bit % 8) & mask)
        }));
    }
}

impl Coding for Hashes {
    fn name(&self) -> &'static str {
        "hashes"
    }

    fn prepare(&self, keys: &[u64]) -> Vec<u64> {
        let mut hashes: Vec<u64> = keys.chunks(self.n_words).map(Hashes::hash).collect();
        hashes.sort_unstable();
        hashes
    }

    fn prepare_candidates(&self, candidates: &[u64]) -> (Vec<u64>, Vec<usize>) {
        let keys = candidates.chunks(self.n_words).enumerate();
        let mut hashes: Vec<_> = keys.map(|(i, key)| (Hashes::hash(key), i)).collect();
        hashes.sort_unstable();
        hashes.into_iter().unzip()
    }

    fn encode(&mut self, hashes: &[u64]) -> usize {
        self.blocks.clear();
        for hashes in hashes.chunks(HASHES_PER_BLOCK) {
            let (base, last) = (hashes[0], hashes[hashes.len() - 1]);
            let width = match 64 - (last - base).leading_zeros() {
                0 => 1,
                width @ ..=57 => width,
                // Whole words, for one load brings 57 bits for certain.
                _ => 64,
            };
            let mut block = Vec::with_capacity(20 + HASHES_PER_BLOCK * 8);
            block.extend(base.to_le_bytes());
            block.extend([width as u8, hashes.len() as u8]);
            let (mut word, mut n_bits) = (0u128, 0);
            for hash in hashes {
                word |= u128::from(hash - base) << n_bits;
                n_bits += width;
                if n_bits >= 64 {
                    block.extend((word as u64).to_le_bytes());
                    word >>= 64;
                    n_bits -= 64;
                }
            }
            block.extend((word as u64).to_le_bytes());
            block.extend([0; 8]);
            self.blocks.push(block);
        }
        self.blocks.iter().map(|block| block.len() - 8).sum()
    }

    fn decode(&self) -> Vec<u64> {
        let mut all = Vec::new();
        self.blocks
            .iter()
            .for_each(|block| Hashes::decode_block(block, &mut all));
        all
    }

    fn probe(&self, candidates: &[u64]) -> Vec<bool> {
        probe_blocks(1, &self.blocks, candidates, Hashes::decode_block)
    }
}
