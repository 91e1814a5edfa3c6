//! A block of states, the unit of work of an expander.

/// Bytes that are readable behind the last state of a block.
///
/// They let an expander read whole words at any byte of a state. Their value is arbitrary.
pub const PAD_BYTES: usize = 16;

/// States of equal length, one after the other, followed by [`PAD_BYTES`] readable bytes.
#[derive(Clone, Copy, Debug)]
pub struct States<'a> {
    bytes: &'a [u8],
    state_len: usize,
    n_states: usize,
}

impl<'a> States<'a> {
    /// Views `bytes` as `n_states` states of `state_len` bytes and padding.
    ///
    /// # Panics
    /// Where `bytes` is shorter than the states and their padding.
    pub fn new(bytes: &'a [u8], state_len: usize, n_states: usize) -> Self {
        assert!(
            bytes.len() >= n_states * state_len + PAD_BYTES,
            "a block must hold its states and {PAD_BYTES} bytes of padding"
        );
        States {
            bytes,
            state_len,
            n_states,
        }
    }

    /// Number of states.
    pub fn len(&self) -> usize {
        self.n_states
    }

    /// Whether there is no state.
    pub fn is_empty(&self) -> bool {
        self.n_states == 0
    }

    /// The state at `position`.
    pub fn get(&self, position: usize) -> &'a [u8] {
        assert!(position < self.n_states);
        &self.bytes[position * self.state_len..][..self.state_len]
    }

    /// The states in order.
    pub fn iter(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let this = *self;
        (0..this.n_states).map(move |position| this.get(position))
    }

    /// All bytes, padding included.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Length of one state in bytes.
    pub fn state_len(&self) -> usize {
        self.state_len
    }
}
