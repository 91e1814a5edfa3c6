//! Keys of earlier ranks, by which the borders of the next rank's buckets are predicted.

use crate::codec::KeyShape;

/// Sampled keys of several ranks, and their layout.
#[derive(Debug, Default)]
pub struct KeySample {
    keys: Vec<u64>,
    shape: Option<KeyShape>,
}

/// One in this many sampled keys is of the last rank, once others are known. Consecutive ranks may
/// be less alike than one is to several before it.
const LAST_OF: usize = 4;

impl KeySample {
    /// Takes sampled keys of another rank, and forgets some of earlier ones.
    pub fn add(&mut self, sample: Vec<u64>, shape: KeyShape) {
        let n_words = shape.n_words;
        let n_wanted = sample.len() / n_words;
        let n_earlier = match self.shape == Some(shape) {
            true => (self.keys.len() / n_words).min(n_wanted - n_wanted / LAST_OF),
            false => 0,
        };
        let mut keys = Vec::with_capacity(sample.len());
        keys.extend(evenly_spread(&self.keys, n_words, n_earlier));
        keys.extend(evenly_spread(&sample, n_words, n_wanted - n_earlier));
        (self.keys, self.shape) = (keys, Some(shape));
    }

    /// The keys, if that is their layout.
    pub fn keys(&self, shape: Option<KeyShape>) -> &[u64] {
        match self.shape == shape {
            true => &self.keys,
            false => &[],
        }
    }

    /// Memory held, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        8 * self.keys.capacity() as u64
    }
}

/// `n` of `keys`, evenly spread.
fn evenly_spread(keys: &[u64], n_words: usize, n: usize) -> impl Iterator<Item = u64> {
    let n_keys = keys.len() / n_words;
    let at = move |i: usize| keys[i * n_keys / n * n_words..][..n_words].iter().copied();
    (0..n).flat_map(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_several_ranks_are_sampled_and_of_no_other_layout() {
        let shape = |version| KeyShape {
            version,
            n_bits: 128,
            n_words: 2,
        };
        let rank = |number: u64, n: u64| (0..n).flat_map(|at| [number, at]).collect::<Vec<_>>();
        let counts = |before: &KeySample| {
            let of = |number: u64| before.keys.chunks(2).filter(move |key| key[0] == number);
            [1, 2, 3].map(|number| of(number).count())
        };
        let mut before = KeySample::default();
        before.add(rank(1, 400), shape(0));
        assert_eq!(counts(&before), [400, 0, 0]);
        before.add(rank(2, 800), shape(0));
        assert_eq!(counts(&before), [400, 400, 0]);
        before.add(rank(3, 80), shape(0));
        assert_eq!(counts(&before), [30, 30, 20]);
        before.add(rank(3, 7), shape(1));
        assert_eq!(counts(&before), [0, 0, 7]);
        before.add(Vec::new(), shape(1));
        assert_eq!(counts(&before), [0, 0, 0]);
    }
}
