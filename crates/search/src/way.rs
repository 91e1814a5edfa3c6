//! The way to a state, found again from the indices of its steps: states that were expanded may be
//! forgotten, but how each was found is in a log.

use hadal_model::{Cursor, Expander, Flow, Model, PAD_BYTES, Shape, States, Stop, Successors};

use crate::{Error, Path, PathStep};

/// The stored states from a startstate to the one numbered `ordinal`, given the index of each step.
pub(crate) fn way_to(
    ordinal: u64,
    indices: impl IntoIterator<Item = u32>,
    model: &dyn Model,
) -> Result<Path, Error> {
    let never = Stop::new();
    let mut replay = Replay::new(model, &never);
    let mut steps: Vec<PathStep> = Vec::new();
    for index in indices {
        let current = steps.last().map(|step| &step.state[..]);
        let state = replay
            .stored_successor(current, index)
            .ok_or(Error::Unrepeatable { ordinal })?;
        steps.push(PathStep { index, state });
    }
    Ok(Path {
        steps,
        faulty_start: None,
    })
}

/// Finds states again by their indices.
struct Replay<'a> {
    shape: &'a Shape,
    expander: Box<dyn Expander + 'a>,
    out: Successors,
}

impl<'a> Replay<'a> {
    /// `never` is a flag that nobody raises: what was found before a search was stopped is told all
    /// the same.
    fn new(model: &'a dyn Model, never: &'a Stop) -> Self {
        Replay {
            shape: model.shape(),
            expander: model.expander(never),
            out: Successors::new(model.shape(), BUFFER_LEN),
        }
    }

    /// The canonical form of the successor of `current` (of the startstate, if there is none) that
    /// has this index.
    fn stored_successor(&mut self, current: Option<&[u8]>, index: u32) -> Option<Vec<u8>> {
        let Replay {
            shape,
            expander,
            out,
        } = self;
        let mut block = current.unwrap_or_default().to_vec();
        block.resize(block.len() + PAD_BYTES, 0);
        out.reset(1);
        let mut from = Cursor::default();
        loop {
            let flow = match current {
                None => expander.starts(from, out),
                Some(_) => expander.expand(States::new(&block, shape.state_len, 1), from, out),
            };
            if let Some(at) = (0..out.len()).find(|&at| out.index(at) == index) {
                expander.canonicalise(out.states_mut());
                return Some(out.state(at).to_vec());
            }
            let Flow::Full(cursor) = flow else {
                return None;
            };
            out.drain();
            from = cursor;
        }
    }
}

/// One step may have more successors than this; they come in several buffers.
const BUFFER_LEN: usize = 256;
