//! Candidates of one rank in the order of generation: their keys and parents.
//!
//! This is all that a rank owns while it is open. Candidates arrive in *batches*, one per task;
//! several batches form a piece of the log.

use crate::candidates::{BATCH_HEAD, batches, write_batch};
use crate::codec::KeyShape;
use crate::disk::Folder;
use crate::key_space::KeySpace;
use crate::{
    Error, HALF_PIECE_BYTES, Log, MAX_PIECE_BYTES, Retention, SegmentEntry, Slice, damaged_log,
    read_deltas, record_overhead,
};

/// Candidates in the order of generation.
pub struct CandidateLog {
    log: Log,
    /// Batches that are not in the log yet.
    pending: Vec<u8>,
    n_pending: usize,
    n_batches: usize,
    /// Layout of the codec's keys.
    shape: KeyShape,
    /// Bytes of a state.
    state_len: usize,
}

/// Most bytes of the keys and states of a piece: all of them may be new.
pub const PIECE_STATES_BYTES: usize = 256 << 10;
/// Batches go to the log together, in pieces of up to this many bytes.
pub const LOG_PIECE_BYTES: usize = HALF_PIECE_BYTES;

/// An empty log in memory.
impl Default for CandidateLog {
    fn default() -> Self {
        let (version, n_bits, n_words) = (0, 0, 1);
        let shape = KeyShape {
            version,
            n_bits,
            n_words,
        };
        Self::of(Log::new(), shape, 0)
    }
}

impl CandidateLog {
    /// An empty log in memory, or in a folder of which it keeps some in memory.
    pub fn new(folder: Option<(&Folder, Retention)>, keys: &KeySpace) -> Result<Self, Error> {
        let mut log = Log::new();
        if let Some((folder, retention)) = folder {
            log.attach(folder.clone(), retention)?;
        }
        Ok(Self::of(log, keys.codec.newest(), keys.codec.state_len()))
    }

    /// The log that a manifest lists.
    pub fn reopen(
        folder: &Folder,
        retention: Retention,
        entries: &[SegmentEntry],
        keys: &KeySpace,
    ) -> Result<Self, Error> {
        let log = Log::reopen(folder.clone(), retention, entries)?;
        Ok(Self::of(log, keys.codec.newest(), keys.codec.state_len()))
    }

    fn of(log: Log, shape: KeyShape, state_len: usize) -> Self {
        CandidateLog {
            log,
            pending: Vec::new(),
            n_pending: 0,
            n_batches: 0,
            shape,
            state_len,
        }
    }

    /// Changes what it keeps in memory.
    pub fn set_retention(&mut self, retention: Retention) {
        self.log.set_retention(retention);
    }

    /// Number of candidates.
    pub fn len(&self) -> u64 {
        self.log.len() + self.n_pending as u64
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Memory held, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.log.data_bytes() + self.pending.capacity() as u64
    }

    /// Appends a batch of `len` candidates.
    pub fn append(&mut self, batch: &[u8], len: usize) -> Result<(), Error> {
        if len == 0 {
            return Ok(());
        }
        let n_bytes = self.pending.len() + BATCH_HEAD + batch.len();
        // The survivors of a piece become a piece of states, whose records must fit a block too.
        let (n_in_all, n_batches) = (self.n_pending + len, self.n_batches + 1);
        let record_bytes = n_bytes + record_overhead(self.shape, n_in_all, n_batches);
        // A wide state may differ from the one before it in a few bytes.
        let state_bytes = n_in_all * (self.state_len + 8 * self.shape.n_words);
        if n_bytes > LOG_PIECE_BYTES
            || record_bytes > MAX_PIECE_BYTES
            || state_bytes > PIECE_STATES_BYTES
        {
            self.end_piece()?;
        }
        write_batch(batch, len, &mut self.pending);
        self.n_pending += len;
        self.n_batches += 1;
        Ok(())
    }

    /// Appends the batches of a piece whose keys have this layout.
    pub fn append_piece(&mut self, piece: &[u8], shape: KeyShape) -> Result<(), Error> {
        if shape != self.shape {
            self.set_shape(shape)?;
        }
        batches(piece).try_for_each(|batch| {
            let (len, batch) = batch.ok_or_else(|| damaged_log("candidates"))?;
            self.append(batch, len)
        })
    }

    /// Moves pending batches to the log, so that all candidates are there.
    pub fn end_piece(&mut self) -> Result<(), Error> {
        let piece = self.pending.as_slice().into();
        self.log.append(piece, self.n_pending, self.shape.version)?;
        self.pending.clear();
        self.n_pending = 0;
        self.n_batches = 0;
        Ok(())
    }

    /// Continues with keys of another layout.
    pub fn set_shape(&mut self, shape: KeyShape) -> Result<(), Error> {
        self.end_piece()?;
        self.shape = shape;
        Ok(())
    }

    /// The next piece from the candidate `next` on; `None` at the end. Candidates that are still
    /// pending are not seen.
    pub fn read_piece(&mut self, next: u64) -> Result<Option<Slice>, Error> {
        match next < self.log.len() {
            true => self.log.read_piece(next).map(Some),
            false => Ok(None),
        }
    }

    /// Frees the memory of the piece that starts with `first`; it can be read again.
    pub fn evict_piece(&mut self, first: u64) {
        self.log.evict_piece(first);
    }

    /// Gives up the candidates before `next`.
    pub fn retire_before(&mut self, next: u64) -> Result<(), Error> {
        self.log.retire_before(next)
    }

    /// Moves all candidates to a log in `folder` that keeps about `memory_bytes` in memory. Their
    /// numbers do not change.
    pub fn move_to(&mut self, folder: &Folder, memory_bytes: u64) -> Result<(), Error> {
        self.end_piece()?;
        self.pending = Vec::new();
        let mut moved = Log::new();
        moved.attach(folder.clone(), Retention::Bytes(memory_bytes))?;
        let mut next = self.log.first();
        moved.begin_at(next);
        while let Some(piece) = self.read_piece(next)? {
            next += piece.n_records() as u64;
            moved.append(piece.bytes, piece.records.len(), piece.version)?;
            self.retire_before(next)?;
        }
        std::mem::replace(&mut self.log, moved).discard()
    }

    /// Puts everything on disk that a later run needs, and lists it for a manifest.
    pub fn commit(&mut self) -> Result<Vec<SegmentEntry>, Error> {
        self.end_piece()?;
        self.log.commit()
    }

    /// Gives up everything, files included.
    pub fn discard(self) -> Result<(), Error> {
        self.log.discard()
    }
}

/// Appends to `keys` the keys of all candidates of a piece, as set and runs hold them.
pub fn keys_of_piece(piece: &Slice, space: &KeySpace, keys: &mut Vec<u64>) -> Result<(), Error> {
    let n_words = space.codec.shape(piece.version).n_words;
    let mut words = Vec::new();
    let mut n_keys = 0;
    for batch in batches(&piece.bytes) {
        let n_bytes = batch.and_then(|(n, bytes)| read_deltas(bytes, 0..n, n_words, &mut words));
        n_bytes.ok_or_else(|| damaged_log("candidates"))?;
        n_keys += words.len() / n_words;
        space.keys_of_words(piece.version, &words, keys);
        words.clear();
    }
    match n_keys == piece.n_records() {
        true => Ok(()),
        false => Err(damaged_log("candidates")),
    }
}
