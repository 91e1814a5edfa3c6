//! Which part of the key space a key belongs to: a question that every candidate asks.
//!
//! Keys differ in few of their bits, so of each key a *digest* is made: the bits in which sampled
//! keys differ, at most 64, the first ones. Digests have the order of keys, as far as they go. A
//! table finds the splitters whose digests have the same first bits, and a search of as many steps
//! for every key finds its place among them; without branches, so that many keys are under way at
//! once. A key that differs from all sampled ones in other bits, or has the digest of a splitter,
//! is compared with whole splitters.

use super::MAX_WORDS;
use super::batch::key;
use super::bits::{self, Bits, Kernel};
use super::file::partition_point;

/// Entries of the table for each splitter.
const SLOTS: usize = 8;
/// Keys whose places are looked for together.
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
    /// The digests of all splitters, and behind them the greatest number as often as it may be
    /// looked at.
    digests: Vec<u64>,
    /// What of a digest does not belong to the number of its slot.
    shift: u32,
    /// How many splitters lie before each slot.
    starts: Vec<u32>,
    /// Splitters in the fullest slot.
    most: usize,
}

impl Classifier {
    /// For the ascending `splitters`; `sample` are keys like those that will come.
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
        let n_slots = (SLOTS * n_splitters).next_power_of_two().max(2);
        let mut classifier = Classifier {
            first,
            chosen,
            passed_over,
            digests: Vec::new(),
            shift: n_bits.saturating_sub(n_slots.trailing_zeros()),
            starts: vec![0; n_slots + 1],
            most: 0,
        };
        let mut digests = Vec::with_capacity(n_splitters);
        bits::run(Digest {
            classifier: &classifier,
            keys: splitters,
            digests: &mut digests,
        });
        for digest in &digests {
            classifier.starts[(digest >> classifier.shift) as usize + 1] += 1;
        }
        classifier.most = classifier
            .starts
            .iter()
            .max()
            .map_or(0, |&most| most as usize);
        for slot in 1..=n_slots {
            classifier.starts[slot] += classifier.starts[slot - 1];
        }
        digests.resize(n_splitters + classifier.most, u64::MAX);
        classifier.digests = digests;
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

    /// The digest of a key, and whether it tells anything.
    #[inline(always)]
    fn digest<B: Bits, const W: usize>(&self, bits: B, key: &[u64]) -> (u64, bool) {
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
        (digest, differs == 0)
    }

    /// For each digest the number of splitters whose digests are not greater. All take a step
    /// before any takes the next, so that none waits for what another loads.
    #[inline(always)]
    fn ranks(&self, digests: &[u64; BATCH]) -> [u32; BATCH] {
        let mut ranks = digests.map(|digest| self.starts[(digest >> self.shift) as usize]);
        let mut len = self.most;
        while len > 0 {
            let half = len.div_ceil(2);
            for (rank, digest) in ranks.iter_mut().zip(digests) {
                let is_before = self.digests[*rank as usize + half - 1] <= *digest;
                *rank += u32::from(is_before) * half as u32;
            }
            len -= half;
        }
        ranks
    }
}

/// Makes the digests of keys.
struct Digest<'a> {
    classifier: &'a Classifier,
    keys: &'a [u64],
    digests: &'a mut Vec<u64>,
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
                let (rank, digest) = (ranks[i] as usize, digests[i]);
                let is_sure =
                    rank <= n_splitters && (rank == 0 || classifier.digests[rank - 1] != digest);
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
    debug_assert!(n_words <= MAX_WORDS, "keys have 1 to 16 words");
    partition_point(0, splitters.len() / n_words, |i| {
        key(splitters, n_words, i) <= candidate
    })
}
