//! Promotion of candidates to states: the new ones of a piece, their states and the verdicts on them.

use std::sync::Arc;

use hadal_model::{Flow, PAD_BYTES, Remark, Shape, States};
use hadal_store::candidates::{Bitmap, batches, read_parents};
use hadal_store::codec::max_key_words;
use hadal_store::disk::Parents;
use hadal_store::key_space::KeySpace;
use hadal_store::{Slice, delta_bytes, read_deltas, write_records};

use crate::kernel::Verdicts;
use crate::worker::Worker;

/// A piece of candidates that is promoted to states.
pub(crate) struct SurvivorBatch {
    state_len: usize,
    piece: Option<Slice>,
    /// Number of its first candidate.
    first: u64,
    /// Scratch for the keys of a batch.
    keys: Vec<u64>,
    /// Keys and states of those that are new.
    words: Vec<u64>,
    states: Vec<u8>,
    /// Scratch for records.
    scratch: Vec<u8>,
    /// The records of those that are new, the version of their layout, and their parents.
    pub(crate) records: Arc<[u8]>,
    pub(crate) version: u32,
    pub(crate) parents: Parents,
    pub(crate) n_new: usize,
    pub(crate) verdicts: Verdicts,
    pub(crate) remarks: Vec<Remark>,
    pub(crate) flow: Flow,
    /// Whether the piece is what was written.
    pub(crate) is_intact: bool,
}

/// Pieces have a limit for what is made of them.
const USUAL_BYTES: u64 = 320 << 10;

impl SurvivorBatch {
    /// About the memory of one: its piece, and what is made of that.
    pub(crate) fn bytes_for(shape: &Shape) -> u64 {
        // Of wide states there is one in a piece: its keys four times, and its record.
        let n_words = max_key_words(shape.state_len);
        let least = shape.state_len + 5 * delta_bytes(n_words);
        USUAL_BYTES.max(least as u64)
    }

    pub(crate) fn new(shape: &Shape) -> Self {
        SurvivorBatch {
            state_len: shape.state_len,
            piece: None,
            first: 0,
            keys: Vec::new(),
            words: Vec::new(),
            states: Vec::new(),
            scratch: Vec::new(),
            records: Arc::default(),
            version: 0,
            parents: Parents::default(),
            n_new: 0,
            verdicts: Verdicts::new(shape),
            remarks: Vec::new(),
            flow: Flow::Done,
            is_intact: true,
        }
    }

    /// Memory held, in bytes. Records belong to the log of states as well, and verdicts are few.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let words = self.keys.capacity() + self.words.capacity();
        let bytes = self.states.capacity() + self.scratch.capacity();
        (8 * words + bytes + self.parents.memory_bytes()) as u64
    }

    /// The states that were promoted last.
    pub(crate) fn states(&self) -> States<'_> {
        States::new(&self.states, self.state_len, self.n_new)
    }

    /// Starts with the piece whose first candidate is `first`.
    pub(crate) fn assign(&mut self, piece: Slice, first: u64) {
        self.version = piece.version;
        self.piece = Some(piece);
        self.first = first;
    }

    /// Takes the candidates whose bit in `chosen` is set and, if they are new, evaluates the properties
    /// on them.
    pub(crate) fn promote(
        &mut self,
        chosen: &Bitmap,
        are_new: bool,
        keys: &KeySpace,
        shape: &Shape,
        worker: &mut Worker<'_>,
    ) {
        self.flow = Flow::Done;
        let Some(piece) = self.piece.take() else {
            return;
        };
        let n_words = keys.codec.shape(piece.version).n_words;
        self.parents.clear();
        self.words.clear();
        self.n_new = 0;
        let mut ordinal = self.first;
        let end = self.first + piece.n_records() as u64;
        for batch in batches(&piece.bytes) {
            let promoted = batch.and_then(|(n, bytes)| {
                self.keys.clear();
                if n as u64 > end - ordinal {
                    return None;
                }
                let n_bytes = read_deltas(bytes, 0..n, n_words, &mut self.keys)?;
                let mut parents = read_parents(&bytes[n_bytes..]);
                for key in self.keys.chunks_exact(n_words) {
                    let parent = parents.next()?;
                    if chosen.get(ordinal) {
                        self.words.extend_from_slice(key);
                        self.parents.push(parent);
                        self.n_new += 1;
                    }
                    ordinal += 1;
                }
                Some(())
            });
            if promoted.is_none() {
                self.is_intact = false;
                return;
            }
        }
        if ordinal != end {
            self.is_intact = false;
            return;
        }
        self.scratch.clear();
        write_records(n_words, self.words.chunks_exact(n_words), &mut self.scratch);
        self.records = self.scratch.as_slice().into();
        let n = self.n_new;
        self.states.clear();
        keys.codec
            .decode(piece.version, &self.words, &mut self.states);
        self.states.resize(self.states.len() + PAD_BYTES, 0);
        if !are_new {
            self.verdicts.clear();
            return;
        }
        let block = States::new(&self.states, shape.state_len, n);
        self.flow = self.verdicts.find(&mut *worker.expander, shape, block);
        self.remarks.append(&mut worker.expander.take_remarks());
    }
}
