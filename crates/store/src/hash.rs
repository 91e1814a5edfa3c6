//! The hash of a state: one fixed function, the same on every machine and in every version.

use rapidhash::v3::{RapidSecrets, rapidhash_v3_seeded};

/// Fixed, so that two runs lay out their tables alike.
const SECRETS: RapidSecrets = RapidSecrets::seed(0x6861_6461_6c20_3031);

/// The 64-bit hash by which a [`Table`](crate::Table) finds a state.
#[inline]
pub fn hash_state(state: &[u8]) -> u64 {
    rapidhash_v3_seeded(state, &SECRETS)
}

#[cfg(test)]
mod tests {
    use super::hash_state;

    #[test]
    fn the_hash_never_changes() {
        // A table written by one version must be readable by the next.
        assert_eq!(hash_state(b""), 15061655818029687391);
        assert_eq!(hash_state(b"hadal"), 2360060733816334329);
        assert_eq!(hash_state(&[7; 40]), 16077183997746887403);
    }
}
