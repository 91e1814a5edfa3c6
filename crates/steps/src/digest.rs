//! Digests of states, by which equal ones are found. Different states with the same digest cost
//! time only.

/// Makes digests of states: each word is combined with a random one, its halves are multiplied, and
/// the products are added up. No multiplication waits for another one, so they are vectorised.
#[derive(Debug)]
pub(crate) struct Digest {
    keys: Vec<u64>,
    last_key: u64,
}

impl Digest {
    /// For states of up to `len` bytes.
    pub(crate) fn new(len: usize) -> Self {
        let mut keys: Vec<u64> = random_words().take(len / 8 + 1).collect();
        let last_key = keys.pop().expect("there is at least one");
        Digest { keys, last_key }
    }

    /// The digest of a state.
    #[inline]
    pub(crate) fn of(&self, state: &[u8]) -> u64 {
        // The last bytes, some of which may be in another word too: that is cheaper than a copy.
        let last = match state.last_chunk() {
            Some(last) => u64::from_le_bytes(*last),
            None => (state.iter()).fold(0, |word, byte| word << 8 | u64::from(*byte)),
        };
        let words = state.as_chunks::<8>().0.iter().zip(&self.keys);
        words.fold(product(last, self.last_key), |sum, (word, key)| {
            sum.wrapping_add(product(u64::from_le_bytes(*word), *key))
        })
    }
}

#[inline]
fn product(word: u64, key: u64) -> u64 {
    let changed = word ^ key;
    u64::from(changed as u32) * (changed >> 32)
}

/// The generator `splitmix64`.
fn random_words() -> impl Iterator<Item = u64> {
    let mut state = 0_u64;
    std::iter::repeat_with(move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = state;
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 31
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::Digest;

    #[test]
    fn every_byte_counts() {
        for len in 0..40 {
            let digest = Digest::new(len);
            let mut state = vec![0; len];
            let mut digests = HashSet::from([digest.of(&state)]);
            for at in 0..len {
                for value in 1..=255 {
                    state[at] = value;
                    digests.insert(digest.of(&state));
                }
                state[at] = 0;
            }
            assert_eq!(digests.len(), 1 + 255 * len);
        }
    }
}
