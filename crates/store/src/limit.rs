//! How wide a state may be that goes to disk.
//!
//! In memory there is no limit. On disk a key must fit a block: with its parent in a piece of a log,
//! and alone in a block of a run. The limit is checked before a search begins, for the widest keys
//! that states of a length can ever have, so that it is never met in the middle.

use crate::codec::max_key_words;
use crate::delta::delta_bytes;
use crate::{Error, MAX_PIECE_BYTES};

/// Words of the longest key that fits a block, whatever is in it.
pub const MAX_KEY_WORDS: usize = 7168;

/// Bytes of the longest state that can go to disk: 44,752.
pub const MAX_STATE_LEN: usize = {
    let mut state_len = 0;
    while max_key_words(state_len + 8) <= MAX_KEY_WORDS {
        state_len += 8;
    }
    state_len
};

/// What else a piece has that holds one candidate: lengths, and its parent.
const AROUND_KEY: usize = 24;
const _: () = assert!(delta_bytes(MAX_KEY_WORDS) + AROUND_KEY <= MAX_PIECE_BYTES);
const _: () = assert!(MAX_STATE_LEN >= 16 << 10);

/// Checks that states of `state_len` bytes can go to disk, whatever is in them.
pub fn check_state_len(state_len: usize) -> Result<(), Error> {
    match state_len <= MAX_STATE_LEN {
        true => Ok(()),
        false => Err(Error::TooWide {
            state_len,
            limit: MAX_STATE_LEN,
        }),
    }
}
