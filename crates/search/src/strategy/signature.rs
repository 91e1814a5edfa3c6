//! What a strategy remembers of a state: the state itself, or a signature of fewer bits.
//!
//! A signature is drawn from a family of hash functions by the seed, so that a run with another
//! seed omits other states, if it omits any. All other numbers that a strategy derives from a
//! state (its slot, its partition) come from its key.

use hadal_model::Shape;
use hadal_store::hash_state;

use super::StoreKind;
use crate::{Stats, Value};

/// How states become keys.
#[derive(Clone, Debug)]
pub(super) struct Signatures {
    kind: StoreKind,
    seed: u64,
    key_len: usize,
    /// A seed and a state behind it.
    scratch: Vec<u8>,
    key: Vec<u8>,
}

const SEED_BYTES: usize = 8;
/// Makes the second word of a signature independent of the first.
const SECOND: u64 = 0x9e37_79b9_7f4a_7c15;

impl Signatures {
    pub(super) fn new(shape: &Shape, kind: StoreKind, seed: u64) -> Self {
        let key_len = match kind.bits() {
            None => shape.state_len,
            Some(bits) => bits as usize / 8,
        };
        Signatures {
            kind,
            seed,
            key_len,
            scratch: vec![0; SEED_BYTES + shape.state_len],
            key: vec![0; key_len],
        }
    }

    /// Bytes of a key.
    pub(super) fn key_len(&self) -> usize {
        self.key_len
    }

    /// Whether a key is the state itself.
    pub(super) fn is_exact(&self) -> bool {
        self.kind == StoreKind::Exact
    }

    /// The key of `state`.
    pub(super) fn key<'a>(&'a mut self, state: &'a [u8]) -> &'a [u8] {
        if self.is_exact() {
            return state;
        }
        self.scratch[SEED_BYTES..].copy_from_slice(state);
        let mut words = [0; 16];
        self.scratch[..SEED_BYTES].copy_from_slice(&self.seed.to_le_bytes());
        words[..8].copy_from_slice(&hash_state(&self.scratch).to_le_bytes());
        if self.key_len > 8 {
            let second = self.seed.wrapping_add(SECOND);
            self.scratch[..SEED_BYTES].copy_from_slice(&second.to_le_bytes());
            words[8..].copy_from_slice(&hash_state(&self.scratch).to_le_bytes());
        }
        self.key.copy_from_slice(&words[..self.key_len]);
        &self.key
    }

    /// Bounds on the probability that some state, or a given one at `depth`, was taken for another
    /// among `n_states` and never visited.
    pub(super) fn tell(&self, n_states: u64, depth: u32, stats: &mut Stats) {
        if let Some(bits) = self.kind.bits() {
            let (n, space) = (n_states as f64, (f64::from(bits)).exp2());
            let any = (n * (n - 1.0) / 2.0 / space).min(1.0);
            let given = (n * f64::from(depth) / space).min(1.0);
            stats.push("omission_any", Value::Ratio(any));
            stats.push("omission_given_error", Value::Ratio(given));
        }
    }
}

/// A second hash of a key, for what must not depend on its slot.
pub(super) fn second_hash(hash: u64) -> u64 {
    let mut word = hash ^ SECOND;
    word = (word ^ (word >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    word = (word ^ (word >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    word ^ (word >> 32)
}
