//! The keys of a task's candidates, as they are looked up and as they are logged.

use hadal_model::States;
use hadal_store::codec::EncodedSources;
use hadal_store::key_space::{KeySpace, KeyWidths};
use hadal_store::{Keys, Placing};

use crate::worker::Worker;

/// The keys of candidates in the order of generation, and as cells of the set by partition.
#[derive(Debug, Default)]
pub(crate) struct CandidateKeys {
    /// Keys of the codec.
    pub(super) words: Vec<u64>,
    /// Signatures, with a hash store.
    signatures: Vec<u64>,
    /// Keys or signatures by partition.
    pub(crate) cells: Keys,
    /// Whether some key does not fit the newest layout.
    pub(crate) is_outgrown: bool,
}

impl CandidateKeys {
    /// Memory held for each candidate, in bytes.
    pub(super) fn bytes_for_state(widths: KeyWidths) -> usize {
        let placing = Placing::new(widths.stored_bits);
        8 * (widths.codec_words + widths.signature_words) + Keys::bytes_for_key(placing)
    }

    /// Takes the keys of `states`, successors of `sources` where keys of these are known. This is
    /// where a successor becomes a key.
    pub(super) fn fill(
        &mut self,
        worker: &mut Worker<'_>,
        keys: &KeySpace,
        states: States<'_>,
        sources: Option<EncodedSources<'_>>,
    ) {
        let encoded = worker.encode(&keys.codec, states, sources, &mut self.words);
        self.is_outgrown = encoded.is_err();
        if self.is_outgrown {
            return;
        }
        if let Some(hashing) = &keys.hashing {
            self.signatures.clear();
            hashing.append(states.iter(), &mut self.signatures);
        }
        let placing = Placing::new(keys.shape().n_bits);
        let words = match &keys.hashing {
            Some(_) => &self.signatures,
            None => &self.words,
        };
        self.cells.fill(placing, words);
    }

    /// The keys in the order of generation, as set and runs hold them.
    pub(super) fn stored(&self, keys: &KeySpace) -> &[u64] {
        match &keys.hashing {
            Some(_) => &self.signatures,
            None => &self.words,
        }
    }
}
