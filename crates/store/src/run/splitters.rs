//! Partitioning the key space into parts of about the same size.

use super::Versioned;
use super::batch::key;
use super::classify::Classifier;
use super::range::KeyRange;

/// Sampled keys for each part; with 32 the largest part seldom exceeds others by half.
const SAMPLES_PER_PART: usize = 32;
/// Most fences that are sampled for each part.
const FENCES_PER_PART: usize = 1024;

/// Ascending distinct keys at which one part ends and the next begins.
#[derive(Clone, Debug)]
pub struct Splitters {
    n_words: usize,
    words: Vec<u64>,
    classifier: Classifier,
}

impl Splitters {
    /// Cuts at quantiles of keys, given in any order and equal ones several times: there may
    /// be fewer parts than asked for.
    fn quantiles(n_words: usize, keys: &[u64], n_parts: usize) -> Self {
        let mut sorted: Vec<&[u64]> = keys.chunks_exact(n_words).collect();
        sorted.sort_unstable();
        let mut words: Vec<u64> = Vec::new();
        for part in 1..n_parts {
            let Some(cut) = sorted.get(part * sorted.len() / n_parts) else {
                break;
            };
            // A cut at the least key would make an empty part.
            let last = words.len().saturating_sub(n_words);
            if *cut > sorted[0] && (words.is_empty() || **cut > words[last..]) {
                words.extend_from_slice(cut);
            }
        }
        Splitters::new(n_words, words, keys)
    }

    /// Cuts at `words`; `sample` are keys like those that will be cut.
    fn new(n_words: usize, words: Vec<u64>, sample: &[u64]) -> Self {
        Splitters {
            classifier: Classifier::new(n_words, &words, sample),
            n_words,
            words,
        }
    }

    /// Cuts the keys of `chunks`, which are in any order, into up to `n_parts` parts, by a sample
    /// that depends on nothing but the keys.
    ///
    /// # Panics
    /// If `n_words` is zero.
    pub fn sample(n_words: usize, chunks: &[&[u64]], n_parts: usize) -> Self {
        assert!(n_words > 0, "keys have words");
        let n_keys: usize = chunks.iter().map(|chunk| chunk.len() / n_words).sum();
        let stride = (n_keys / (n_parts * SAMPLES_PER_PART).max(1)).max(1);
        let mut sampled = Vec::new();
        for chunk in chunks {
            let n_keys = chunk.len() / n_words;
            for (i, from) in (0..n_keys).step_by(stride).enumerate() {
                // A random place in the stride: keys may have a period of their own.
                let within = (i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
                let at = from + within as usize % stride.min(n_keys - from);
                sampled.extend_from_slice(key(chunk, n_words, at));
            }
        }
        Splitters::quantiles(n_words, &sampled, n_parts)
    }

    /// Words of a key.
    pub fn n_words(&self) -> usize {
        self.n_words
    }

    /// Number of parts: one more than splitters.
    pub fn n_parts(&self) -> usize {
        self.words.len() / self.n_words + 1
    }

    /// The keys of part `part`.
    ///
    /// # Panics
    /// If there is no such part.
    pub fn range(&self, part: usize) -> KeyRange<'_> {
        assert!(part < self.n_parts(), "there is no part {part}");
        let splitter = |i: usize| key(&self.words, self.n_words, i);
        KeyRange {
            from: (part > 0).then(|| splitter(part - 1)),
            to: (part + 1 < self.n_parts()).then(|| splitter(part)),
        }
    }

    /// The same parts of the same keys in another layout, which has their order: `recode` writes
    /// each splitter as a key of `n_words` words.
    ///
    /// # Panics
    /// If `n_words` is zero.
    pub fn recoded(&self, n_words: usize, recode: impl Fn(&[u64], &mut [u64])) -> Self {
        assert!(n_words > 0, "keys have words");
        let mut words = vec![0; self.words.len() / self.n_words * n_words];
        let keys = self.words.chunks_exact(self.n_words);
        for (key, made) in keys.zip(words.chunks_exact_mut(n_words)) {
            recode(key, made);
        }
        Splitters::new(n_words, words, &[])
    }

    /// Replaces the content of `parts` by the part of each of `keys`.
    ///
    /// # Panics
    /// If there are more than 2^16 parts.
    pub fn classify(&self, keys: &[u64], parts: &mut Vec<u16>) {
        assert!(self.n_parts() <= 1 << 16, "too many parts");
        parts.clear();
        (self.classifier).classify(self.n_words, &self.words, keys, parts);
    }
}

/// Cuts the key space into up to `n_parts` parts in which `runs` have about as many blocks each.
/// Keys have `n_words` words in the newest layout.
pub fn fence_splitters(n_words: usize, runs: &[Versioned], n_parts: usize) -> Splitters {
    let n_fences: usize = runs.iter().map(|run| run.run.n_fences() as usize).sum();
    let stride = (n_fences / (n_parts * FENCES_PER_PART).max(1)).max(1);
    let mut fences = Vec::new();
    let mut newest = Vec::new();
    for run in runs {
        for fence in (0..run.run.n_fences()).step_by(stride) {
            fences.extend_from_slice(run.newest_fence(fence, &mut newest));
        }
    }
    Splitters::quantiles(n_words, &fences, n_parts)
}
