//! All states of a search, densely packed in the order of their ordinals.
//!
//! The states lie in chunks of equal size, so growth never copies, and a range of ordinals within
//! one chunk is one slice that can be passed to an expander unchanged. States that are not read
//! again can be dropped; their chunks are reused.

/// An append-only sequence of states of one length.
#[derive(Debug)]
pub struct Arena {
    state_len: usize,
    /// States in a chunk are 2 to this power, so that finding a state is a shift and a mask.
    chunk_shift: u32,
    /// Readable bytes behind the last state of a chunk.
    pad_bytes: usize,
    /// Empty where dropped.
    chunks: Vec<Box<[u8]>>,
    n_forgotten: usize,
    /// Chunks of dropped states, for reuse.
    spare: Vec<Box<[u8]>>,
    n_states: u64,
}

/// Chunks come near this size unless blocks or states are larger.
const CHUNK_BYTES: usize = 1 << 18;

impl Arena {
    /// An empty arena for states of `state_len` bytes (zero is fine) that are read in blocks of up
    /// to `block_len` states with `pad_bytes` readable bytes behind them.
    pub fn new(state_len: usize, block_len: usize, pad_bytes: usize) -> Self {
        let n_states = (CHUNK_BYTES / state_len.max(1)).max(block_len).max(1);
        Arena {
            state_len,
            chunk_shift: n_states.next_power_of_two().ilog2(),
            pad_bytes,
            chunks: Vec::new(),
            n_forgotten: 0,
            spare: Vec::new(),
            n_states: 0,
        }
    }

    /// Number of states.
    pub fn len(&self) -> u64 {
        self.n_states
    }

    /// Whether there is no state.
    pub fn is_empty(&self) -> bool {
        self.n_states == 0
    }

    /// The state numbered `ordinal`.
    #[inline]
    pub fn get(&self, ordinal: u64) -> &[u8] {
        debug_assert!(ordinal < self.n_states);
        let (chunk, at) = self.place(ordinal);
        &self.chunks[chunk][at..at + self.state_len]
    }

    /// How many of the `n` states from `first` on lie in one piece.
    pub fn contiguous(&self, first: u64, n: usize) -> usize {
        let left = self.chunk_len() - (first as usize & (self.chunk_len() - 1));
        n.min(left)
    }

    /// The bytes of `n` states from `first` on, which lie in one piece, and at least the promised
    /// padding behind them.
    pub fn block(&self, first: u64, n: usize) -> &[u8] {
        assert!(n == self.contiguous(first, n) && first + n as u64 <= self.n_states);
        let (chunk, at) = self.place(first);
        &self.chunks[chunk][at..at + n * self.state_len + self.pad_bytes]
    }

    /// Appends `n` states, densely packed in `states`.
    pub fn append(&mut self, mut states: &[u8], mut n: usize) {
        assert_eq!(states.len(), n * self.state_len);
        while n > 0 {
            let (chunk, at) = self.place(self.n_states);
            if chunk == self.chunks.len() {
                let spare = self.spare.pop();
                let new = || vec![0; self.chunk_bytes()].into_boxed_slice();
                self.chunks.push(spare.unwrap_or_else(new));
            }
            let now = self.contiguous(self.n_states, n);
            let (head, tail) = states.split_at(now * self.state_len);
            self.chunks[chunk][at..at + head.len()].copy_from_slice(head);
            states = tail;
            n -= now;
            self.n_states += now as u64;
        }
    }

    /// Drops the states before `ordinal`, as far as they fill chunks; they cannot be read again.
    pub fn retire_before(&mut self, ordinal: u64) {
        let end = (ordinal.min(self.n_states) >> self.chunk_shift) as usize;
        while self.n_forgotten < end {
            let chunk = std::mem::take(&mut self.chunks[self.n_forgotten]);
            self.spare.push(chunk);
            self.n_forgotten += 1;
        }
    }

    /// Memory held, in bytes.
    pub fn data_bytes(&self) -> u64 {
        let n_chunks = self.chunks.len() - self.n_forgotten + self.spare.len();
        (n_chunks * self.chunk_bytes()) as u64
    }

    /// Memory that appending `n` more states would add, in bytes.
    pub fn growth_bytes(&self, n: u64) -> u64 {
        let needed = (self.n_states + n).div_ceil(self.chunk_len() as u64);
        let there = (self.chunks.len() + self.spare.len()) as u64;
        needed.saturating_sub(there) * self.chunk_bytes() as u64
    }

    fn chunk_len(&self) -> usize {
        1 << self.chunk_shift
    }

    fn chunk_bytes(&self) -> usize {
        self.chunk_len() * self.state_len + self.pad_bytes
    }

    #[inline]
    fn place(&self, ordinal: u64) -> (usize, usize) {
        let within = ordinal as usize & (self.chunk_len() - 1);
        (
            (ordinal >> self.chunk_shift) as usize,
            within * self.state_len,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::Arena;

    #[test]
    fn states_come_back_across_chunks() {
        for state_len in [1usize, 3, 8, 1000, CHUNK_PLUS] {
            let mut arena = Arena::new(state_len, 4, 16);
            let n = if state_len > 8 { 40 } else { 300_000u64 };
            let state = |ordinal: u64| {
                let mut state = vec![ordinal as u8; state_len];
                state[0] = (ordinal >> 8) as u8;
                state
            };
            let mut added = 0;
            while added < n {
                let batch = (added % 7 + 1).min(n - added);
                let bytes: Vec<u8> = (added..added + batch).flat_map(state).collect();
                let expected = arena.data_bytes() + arena.growth_bytes(batch);
                arena.append(&bytes, batch as usize);
                assert_eq!(arena.data_bytes(), expected);
                added += batch;
            }
            assert_eq!(arena.len(), n);
            for ordinal in 0..n {
                assert_eq!(arena.get(ordinal), state(ordinal));
            }
            let mut at = 0;
            while at < n {
                let len = arena.contiguous(at, 4.min((n - at) as usize));
                let block = arena.block(at, len);
                assert_eq!(block.len(), len * state_len + 16);
                for (i, ordinal) in (at..at + len as u64).enumerate() {
                    assert_eq!(&block[i * state_len..][..state_len], state(ordinal));
                }
                at += len as u64;
            }
        }
    }

    const CHUNK_PLUS: usize = super::CHUNK_BYTES + 1;

    #[test]
    fn chunks_of_forgotten_states_are_used_again() {
        let mut arena = Arena::new(8, 4, 16);
        let (mut most, mut ordinal) = (0, 0u64);
        while ordinal < 1_000_000 {
            let bytes: Vec<u8> = (ordinal..ordinal + 1000)
                .flat_map(u64::to_le_bytes)
                .collect();
            let expected = arena.data_bytes() + arena.growth_bytes(1000);
            arena.append(&bytes, 1000);
            assert_eq!(arena.data_bytes(), expected);
            ordinal += 1000;
            let kept = ordinal.saturating_sub(50_000);
            arena.retire_before(kept);
            assert_eq!(arena.get(kept), kept.to_le_bytes());
            most = most.max(arena.data_bytes());
        }
        assert!(most < 1 << 20);
    }

    #[test]
    fn states_without_bytes_are_counted() {
        let mut arena = Arena::new(0, 256, 16);
        arena.append(&[], 1);
        assert_eq!((arena.len(), arena.get(0)), (1, &[][..]));
        assert_eq!(arena.block(0, 1).len(), 16);
    }
}
