//! States of a search as keys.

use std::collections::HashMap;
use std::ops::Range;

/// States wider than this become keys by numbering the values of each of their words.
const WIDEST: usize = 32;

/// Keys in generation order.
pub(crate) struct Data {
    /// Words of a key.
    pub(crate) n_words: usize,
    /// Bits of a key that are used, from the first on.
    pub(crate) n_bits: usize,
    words: Vec<u64>,
    /// Keys of each layer.
    pub(crate) layers: Vec<Range<usize>>,
}

impl Data {
    /// Reads states and makes keys of them.
    pub(crate) fn load(path: &str) -> Data {
        let bytes = std::fs::read(path).expect("the file can be read");
        let sizes = std::fs::read_to_string(format!("{path}.sizes")).expect("so can the sizes");
        let mut sizes = sizes
            .split_whitespace()
            .map(|n| n.parse().expect("a number"));
        let state_len: usize = sizes.next().expect("the length of a state");
        let mut layers = Vec::new();
        let mut end = 0;
        for n_states in sizes {
            layers.push(end..end + n_states);
            end += n_states;
        }
        assert_eq!(bytes.len(), end * state_len, "sizes are those of the file");
        let n_words = state_len.div_ceil(8);
        let mut words = Vec::with_capacity(n_words * end);
        for state in bytes.chunks(state_len) {
            words.extend(state.chunks(8).map(|part| {
                let mut word = [0; 8];
                word[..part.len()].copy_from_slice(part);
                u64::from_be_bytes(word)
            }));
        }
        drop(bytes);
        let (n_words, n_bits, words) = if state_len <= WIDEST {
            (n_words, 8 * state_len, words)
        } else {
            collapsed(n_words, words)
        };
        Data {
            n_words,
            n_bits,
            words,
            layers,
        }
    }

    /// Number of keys.
    pub(crate) fn n_keys(&self) -> usize {
        self.words.len() / self.n_words
    }

    /// Some keys, in generation order.
    pub(crate) fn keys(&self, range: Range<usize>) -> &[u64] {
        &self.words[range.start * self.n_words..range.end * self.n_words]
    }
}

/// Numbers the values at each position and packs the numbers.
fn collapsed(n_words: usize, mut words: Vec<u64>) -> (usize, usize, Vec<u64>) {
    let mut numbers: Vec<HashMap<u64, u64>> = vec![HashMap::new(); n_words];
    for state in words.chunks_mut(n_words) {
        for (word, numbers) in state.iter_mut().zip(&mut numbers) {
            let next = numbers.len() as u64;
            *word = *numbers.entry(*word).or_insert(next);
        }
    }
    let widths: Vec<u32> = (numbers.iter())
        .map(|numbers| 64 - (numbers.len() as u64 - 1).leading_zeros())
        .collect();
    let n_bits = widths.iter().sum::<u32>() as usize;
    let n_key_words = n_bits.div_ceil(64);
    let mut keys = Vec::with_capacity(words.len() / n_words * n_key_words);
    for state in words.chunks(n_words) {
        let from = keys.len();
        keys.resize(from + n_key_words, 0);
        let mut at = 0;
        for (number, width) in state.iter().zip(&widths) {
            for bit in (0..*width).rev() {
                keys[from + at / 64] |= (number >> bit & 1) << (63 - at % 64);
                at += 1;
            }
        }
    }
    (n_key_words, n_bits, keys)
}

/// The keys in ascending order, equal ones once.
pub(crate) fn sorted(keys: &[u64], n_words: usize) -> Vec<u64> {
    let mut keys: Vec<&[u64]> = keys.chunks(n_words).collect();
    keys.sort_unstable();
    keys.dedup();
    keys.concat()
}

/// The keys in random order.
pub(crate) fn shuffled(keys: &[u64], n_words: usize, seed: u64) -> Vec<u64> {
    let mut random = seed;
    let mut keys: Vec<&[u64]> = keys.chunks(n_words).collect();
    for i in (1..keys.len()).rev() {
        random = random.wrapping_mul(0xD134_2543_DE82_EF95).wrapping_add(1);
        keys.swap(i, ((random >> 32) as usize) % (i + 1));
    }
    keys.concat()
}
