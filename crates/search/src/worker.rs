//! What each thread of a search owns.

use hadal_model::{Expander, States};
use hadal_store::codec::{Codec, EncodedSources, Encoder, Outgrown};

/// One thread's generator of successors, and its encoder from states to keys.
pub(crate) struct Worker<'m> {
    /// Number of the thread; the coordinator's is 0.
    pub(crate) number: usize,
    pub(crate) expander: Box<dyn Expander + 'm>,
    encoder: Encoder,
}

impl<'m> Worker<'m> {
    pub(crate) fn new(number: usize, expander: Box<dyn Expander + 'm>, codec: &Codec) -> Self {
        Worker {
            number,
            expander,
            encoder: codec.encoder(),
        }
    }

    /// Replaces `words` by the keys of `states`, successors of `sources` where keys of these are
    /// known.
    pub(crate) fn encode(
        &mut self,
        codec: &Codec,
        states: States<'_>,
        sources: Option<EncodedSources<'_>>,
        words: &mut Vec<u64>,
    ) -> Result<(), Outgrown> {
        match sources {
            Some(sources) => {
                (self.encoder).encode_successors(codec, states.bytes(), &sources, words)
            }
            None => (self.encoder).encode(codec, states.bytes(), states.len(), words),
        }
    }
}
