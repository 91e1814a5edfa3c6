//! Which part of the key space a key belongs to; computed for every candidate.
//!
//! Keys differ in few of their bits, so each key has a *digest*: the first bits, at most 64, in
//! which sampled keys differ. Digests have the order of keys, as far as they go. A tree of eight
//! pivots a node finds the place of a digest among those of the splitters, all pivots of a node
//! compared at once; without branches, so that many keys are in flight at once.
//! A key that differs from all sampled ones in other bits, or has the digest of a splitter, is
//! compared with whole splitters.

use super::batch::key;
use super::file::partition_point;
use crate::bits::{self, Bits, Kernel};

/// Pivots of a node.
const NODE: usize = 8;
/// Keys that are classified together.
const BATCH: usize = 16;

/// Digests of splitters, and how digests are made.
#[derive(Clone, Debug)]
pub(super) struct Classifier {
    /// Some key.
    first: Vec<u64>,
    /// The bits of each word that belong to a digest.
    chosen: Vec<u64>,
    /// The bits down to the last of these that do not.
    passed_over: Vec<u64>,
    /// The nodes of the tree, level by level. The last level is the digests of all splitters,
    /// ascending, and behind them the greatest number until the node is full; each level before it
    /// has the last pivot of each node of the next one. The first has one node.
    levels: Vec<Vec<[i64; NODE]>>,
}

impl Classifier {
    /// For the ascending `splitters`; `sample` are keys like those to be classified.
    pub(super) fn new(n_words: usize, splitters: &[u64], sample: &[u64]) -> Self {
        let n_splitters = splitters.len() / n_words;
        let all = || {
            splitters
                .chunks_exact(n_words)
                .chain(sample.chunks_exact(n_words))
        };
        let first = all()
            .next()
            .map_or_else(|| vec![0; n_words], <[u64]>::to_vec);
        let mut chosen = vec![0; n_words];
        for key in all() {
            for i in 0..n_words {
                chosen[i] |= key[i] ^ first[i];
            }
        }
        let mut passed_over = vec![0; n_words];
        let mut n_bits = 0;
        for (chosen, passed_over) in chosen.iter_mut().zip(&mut passed_over) {
            while n_bits + chosen.count_ones() > u64::BITS {
                *chosen &= *chosen - 1;
            }
            n_bits += chosen.count_ones();
            let is_last = n_bits == u64::BITS;
            let ignored = if is_last { chosen.trailing_zeros() } else { 0 };
            *passed_over = !*chosen & u64::MAX.unbounded_shl(ignored);
        }
        let mut classifier = Classifier {
            first,
            chosen,
            passed_over,
            levels: Vec::new(),
        };
        let mut digests = Vec::with_capacity(n_splitters);
        bits::run(Digest {
            classifier: &classifier,
            keys: splitters,
            digests: &mut digests,
        });
        classifier.levels = levels(digests);
        classifier
    }

    /// Appends the part of each of `keys` to `parts`: the number of `splitters` not after it.
    pub(super) fn classify(
        &self,
        n_words: usize,
        splitters: &[u64],
        keys: &[u64],
        parts: &mut Vec<u16>,
    ) {
        let classify = Classify {
            classifier: self,
            n_words,
            splitters,
            keys,
            parts,
        };
        bits::run(classify);
    }

    /// The digest of a key, and whether it is conclusive.
    #[inline(always)]
    fn digest<B: Bits, const W: usize>(&self, bits: B, key: &[u64]) -> (i64, bool) {
        let n_words = if W == 0 { self.first.len() } else { W };
        let (first, chosen) = (&self.first[..n_words], &self.chosen[..n_words]);
        let passed_over = &self.passed_over[..n_words];
        let key = &key[..n_words];
        let (mut digest, mut differs) = (0u64, 0);
        for i in 0..n_words {
            let n_bits = chosen[i].count_ones();
            digest = digest.unbounded_shl(n_bits) | bits.extract(key[i], chosen[i]);
            differs |= (key[i] ^ first[i]) & passed_over[i];
        }
        // Vector instructions compare signed numbers.
        ((digest ^ 1 << 63).cast_signed(), differs == 0)
    }

    /// For each digest the number of splitters whose digests are not greater, or any number that is
    /// greater than all if it is the greatest digest. All descend a level before any descends the
    /// next, so that none waits for another's loads.
    #[inline(always)]
    fn ranks(&self, digests: &[i64; BATCH]) -> [usize; BATCH] {
        let mut ranks = [0; BATCH];
        for level in &self.levels {
            let last = level.len() - 1;
            for (rank, digest) in ranks.iter_mut().zip(digests) {
                let at = (*rank).min(last);
                let n_before: u64 = (level[at].iter())
                    .map(|pivot| u64::from(pivot <= digest))
                    .sum();
                *rank = NODE * at + n_before as usize;
            }
        }
        ranks
    }

    /// The digest of the last of the first `n` splitters.
    #[inline(always)]
    fn last_of(&self, n: usize) -> Option<i64> {
        let digests = self
            .levels
            .last()
            .map_or(&[][..], |level| level.as_flattened());
        digests.get(n.wrapping_sub(1)).copied()
    }
}

/// A tree over ascending digests.
fn levels(mut pivots: Vec<i64>) -> Vec<Vec<[i64; NODE]>> {
    let mut levels = Vec::new();
    while !pivots.is_empty() {
        let nodes: Vec<[i64; NODE]> = (pivots.chunks(NODE))
            .map(|pivots| {
                let mut node = [i64::MAX; NODE];
                node[..pivots.len()].copy_from_slice(pivots);
                node
            })
            .collect();
        pivots = match nodes.len() {
            1 => Vec::new(),
            _ => nodes.iter().map(|node| node[NODE - 1]).collect(),
        };
        levels.insert(0, nodes);
    }
    levels
}

/// Computes the digests of keys.
struct Digest<'a> {
    classifier: &'a Classifier,
    keys: &'a [u64],
    digests: &'a mut Vec<i64>,
}

impl Kernel for Digest<'_> {
    type Output = ();

    #[inline(always)]
    fn run<B: Bits>(self, bits: B) {
        for key in self.keys.chunks_exact(self.classifier.first.len()) {
            self.digests
                .push(self.classifier.digest::<B, 0>(bits, key).0);
        }
    }
}

/// Finds the parts of keys.
struct Classify<'a> {
    classifier: &'a Classifier,
    n_words: usize,
    splitters: &'a [u64],
    keys: &'a [u64],
    parts: &'a mut Vec<u16>,
}

impl Kernel for Classify<'_> {
    type Output = ();

    #[inline(always)]
    fn run<B: Bits>(self, bits: B) {
        match self.n_words {
            1 => self.classify::<B, 1>(bits),
            2 => self.classify::<B, 2>(bits),
            3 => self.classify::<B, 3>(bits),
            4 => self.classify::<B, 4>(bits),
            _ => self.classify::<B, 0>(bits),
        }
    }
}

impl Classify<'_> {
    #[inline(always)]
    fn classify<B: Bits, const W: usize>(self, bits: B) {
        let n_words = if W == 0 { self.n_words } else { W };
        let classifier = self.classifier;
        let n_splitters = self.splitters.len() / n_words;
        let from = self.parts.len();
        self.parts.resize(from + self.keys.len() / n_words, 0);
        let batches = self.keys.chunks(BATCH * n_words);
        for (keys, parts) in batches.zip(self.parts[from..].chunks_mut(BATCH)) {
            let mut digests = [0; BATCH];
            let mut agree = [false; BATCH];
            for (i, key) in keys.chunks_exact(n_words).enumerate() {
                (digests[i], agree[i]) = classifier.digest::<B, W>(bits, key);
            }
            let ranks = classifier.ranks(&digests);
            for (i, part) in parts.iter_mut().enumerate() {
                let rank = ranks[i];
                let is_sure = rank <= n_splitters && classifier.last_of(rank) != Some(digests[i]);
                let key = &keys[i * n_words..(i + 1) * n_words];
                *part = match agree[i] && is_sure {
                    true => rank as u16,
                    false => by_comparison(n_words, self.splitters, key) as u16,
                };
            }
        }
    }
}

/// The number of splitters that are not after `candidate`.
#[cold]
fn by_comparison(n_words: usize, splitters: &[u64], candidate: &[u64]) -> usize {
    partition_point(0, splitters.len() / n_words, |i| {
        key(splitters, n_words, i) <= candidate
    })
}
