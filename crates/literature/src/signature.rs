//! What a strategy's tables hold of a state: its bytes, or those of its signature.
//!
//! All other numbers that a strategy derives from a state (its slot, its partition) come from its
//! key.

use hadal_search::strategy::{Hashing, Run};
use hadal_search::{Omission, Stats, Value};

/// How states become keys.
#[derive(Clone, Debug)]
pub(crate) struct Signatures {
    /// `None` where a key is the state itself.
    hashing: Option<Hashing>,
    key_len: usize,
    key: [u8; 16],
}

impl Signatures {
    /// As the options of a search ask for.
    pub(crate) fn new(run: &Run<'_>) -> Self {
        let hashing = Hashing::new(run.options.store, run.options.seed);
        let key_len = match &hashing {
            None => run.shape.state_len,
            Some(hashing) => hashing.bits() as usize / 8,
        };
        Signatures {
            hashing,
            key_len,
            key: [0; 16],
        }
    }

    /// Bytes of a key.
    pub(crate) fn key_len(&self) -> usize {
        self.key_len
    }

    /// Whether a key is the state itself.
    pub(crate) fn is_exact(&self) -> bool {
        self.hashing.is_none()
    }

    /// The key of `state`.
    pub(crate) fn key<'a>(&'a mut self, state: &'a [u8]) -> &'a [u8] {
        let Some(hashing) = &self.hashing else {
            return state;
        };
        let [first, second] = hashing.words(state);
        self.key[..8].copy_from_slice(&first.to_be_bytes());
        self.key[8..].copy_from_slice(&second.to_be_bytes());
        &self.key[..self.key_len]
    }

    /// Bounds on the probability that some state, or a given one at `depth`, was taken for another
    /// among `n_states` and never visited.
    pub(crate) fn push_omission(
        &self,
        n_states: u64,
        depth: u32,
        stats: &mut Stats,
    ) -> Option<Omission> {
        let bits = self.hashing.as_ref()?.bits();
        let omission = Omission::of_states(bits, n_states, u64::from(depth) + 1);
        stats.push("omission_any", Value::Ratio(omission.any));
        let given_error = Value::Ratio(omission.given_error);
        stats.push("omission_given_error", given_error);
        Some(omission)
    }
}

/// Makes a second hash independent of the first.
const SECOND: u64 = 0x9e37_79b9_7f4a_7c15;

/// A second hash of a key, for what must not depend on its slot.
pub(crate) fn second_hash(hash: u64) -> u64 {
    let mut word = hash ^ SECOND;
    word = (word ^ (word >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    word = (word ^ (word >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    word ^ (word >> 32)
}
