//! All successors of a block, through a buffer that may be filled several times.
//!
//! Code that needs every successor and keeps no order of its own (a replay, a sampled check, a
//! test) need not know about cursors.

use std::ops::ControlFlow;

use crate::{Cursor, Expander, Flow, PAD_BYTES, Shape, States, Successors};

/// [`Stop`](crate::Stop) was raised before the expansion was complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

/// Expands `block` (the startstates if there is none) completely and passes each batch in `out`
/// to `take`, which may stop early with a result.
///
/// `take` is called at least once: the last batch may be empty. Afterwards `out` holds that last
/// batch and, unless `take` stopped early, the complete facts about the sources.
pub fn for_each_batch<B>(
    expander: &mut dyn Expander,
    block: Option<States<'_>>,
    out: &mut Successors,
    mut take: impl FnMut(&mut dyn Expander, &mut Successors) -> ControlFlow<B>,
) -> Result<ControlFlow<B>, Stopped> {
    out.reset(block.map_or(1, |block| block.len()));
    let mut from = Cursor::default();
    loop {
        let flow = match block {
            Some(block) => expander.expand(block, from, out),
            None => expander.starts(from, out),
        };
        if flow == Flow::Stopped {
            return Err(Stopped);
        }
        if let ControlFlow::Break(result) = take(expander, out) {
            return Ok(ControlFlow::Break(result));
        }
        match flow {
            Flow::Full(next) => from = next,
            Flow::Done | Flow::Stopped => return Ok(ControlFlow::Continue(())),
        }
        out.drain();
    }
}

/// Successor `index` of `parent`, or the startstate of that index.
pub(crate) fn successor(
    expander: &mut dyn Expander,
    shape: &Shape,
    parent: Option<&[u8]>,
    index: u32,
) -> Result<Option<Vec<u8>>, Stopped> {
    let mut padded = parent.unwrap_or_default().to_vec();
    padded.resize(padded.len() + PAD_BYTES, 0);
    let block = parent.map(|_| States::new(&padded, shape.state_len, 1));
    let mut out = Successors::new(shape, 256);
    let found = for_each_batch(expander, block, &mut out, |_, out| {
        match (0..out.len()).find(|&at| out.index(at) == index) {
            Some(at) => ControlFlow::Break(out.state(at).to_vec()),
            None => ControlFlow::Continue(()),
        }
    });
    Ok(found?.break_value())
}
