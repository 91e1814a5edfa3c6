//! What each thread of a search has to itself.

use hadal_model::{Expander, States};
use hadal_store::codec::{Codec, Encoder, Outgrown};

use crate::visited::Visited;

/// One thread's generator of successors, and its way from states to keys.
pub(crate) struct Worker<'a> {
    /// Which of all workers it is.
    pub(crate) number: usize,
    pub(crate) expander: Box<dyn Expander + 'a>,
    encoder: Option<Encoder>,
}

impl<'a> Worker<'a> {
    pub(crate) fn new(number: usize, expander: Box<dyn Expander + 'a>, visited: &Visited) -> Self {
        Worker {
            number,
            expander,
            encoder: match visited {
                Visited::Numbers(_) => None,
                Visited::Keys(keyed) => Some(keyed.codec.encoder()),
            },
        }
    }

    /// Replaces what is in `words` by the keys of `states`.
    pub(crate) fn encode(
        &mut self,
        codec: &Codec,
        states: States<'_>,
        words: &mut Vec<u64>,
    ) -> Result<(), Outgrown> {
        let encoder = self.encoder.get_or_insert_with(|| codec.encoder());
        encoder.encode(codec, states.bytes(), states.len(), words)
    }
}
