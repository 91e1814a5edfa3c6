//! Hashes of states, the same on every machine and in every version: one fixed function, and a
//! family of which a seed chooses one.

use rapidhash::v3::{RapidSecrets, rapidhash_v3_seeded};

/// Fixed, so that two runs lay out their tables alike.
const SECRETS: RapidSecrets = RapidSecrets::seed(0x6861_6461_6c20_3031);

/// The 64-bit hash by which a [`Table`](crate::Table) finds a state.
#[inline]
pub fn hash_state(state: &[u8]) -> u64 {
    rapidhash_v3_seeded(state, &SECRETS)
}

/// A hash function that a seed chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeededHash(RapidSecrets);

impl SeededHash {
    /// The function of this seed.
    pub fn new(seed: u64) -> Self {
        SeededHash(RapidSecrets::seed(seed))
    }

    /// The 64-bit hash of a state.
    #[inline]
    pub fn hash(&self, state: &[u8]) -> u64 {
        rapidhash_v3_seeded(state, &self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::{SeededHash, hash_state};

    #[test]
    fn the_hash_never_changes() {
        // A table written by one version must be readable by the next.
        assert_eq!(hash_state(b""), 15061655818029687391);
        assert_eq!(hash_state(b"hadal"), 2360060733816334329);
        assert_eq!(hash_state(&[7; 40]), 16077183997746887403);
        // Nor may what a seed chooses: runs on disk hold such hashes.
        let of_seed = |seed| SeededHash::new(seed).hash(b"hadal");
        assert_eq!(of_seed(0x6861_6461_6c20_3031), hash_state(b"hadal"));
        assert_eq!(of_seed(0), 7820256398988811987);
        assert_eq!(of_seed(1), 547913253661024572);
    }
}
