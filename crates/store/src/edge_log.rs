//! Edges in the order of their sources: for each the source, a rule, a multiplicity, and the key of the
//! target, whose number is not known yet.
//!
//! Edges arrive in *batches*, which any thread can make ([`write_edges`]); several batches form a piece
//! of the log. In a batch what is known of edges stands before the keys, so that either can be read
//! without the other.
//!
//! A batch is the number of bytes before the keys (4 bytes), for each edge its *head*, then for each the
//! delta of its key from the one before, the first from zero. A head is the distance of its source from
//! that of the edge before (of the first, from 0), times 2, plus 1 if the multiplicity is not 1; then
//! the rule; then, if it is not 1, the multiplicity; each a varint.

use crate::candidates::{BATCH_HEAD, batches, write_batch};
use crate::disk::Folder;
use crate::varint::{read_varint, write_varint};
use crate::{
    Error, Log, MAX_PIECE_BYTES, Retention, SegmentEntry, Slice, damaged_log, delta_bytes,
    read_deltas, write_deltas,
};

/// What is known of an edge before its target has a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeHead {
    /// Ordinal of the source.
    pub source: u64,
    /// The rule that made the step.
    pub rule: u32,
    /// Number of paths that it stands for.
    pub multiplicity: u64,
}

/// Some edges as bytes.
#[derive(Debug)]
pub struct EdgeBatch {
    bytes: Vec<u8>,
    len: usize,
}

/// In front of a batch, and most bytes of a head.
const HEADS_BYTES: usize = 4;
const HEAD_BYTES: usize = 10 + 5 + 10;

/// Appends the batches of edges with these `heads`, in the order of sources, to `out`; `keys` are those
/// of their targets, of `n_words` words.
///
/// # Panics
/// If there are not as many keys as heads.
pub fn write_edges(
    mut heads: impl ExactSizeIterator<Item = EdgeHead>,
    keys: &[u64],
    n_words: usize,
    out: &mut Vec<EdgeBatch>,
) {
    assert_eq!(keys.len(), heads.len() * n_words, "a key for each edge");
    // Whatever the edges are, a batch fits a piece.
    let room = MAX_PIECE_BYTES - BATCH_HEAD - HEADS_BYTES;
    let most = room / (HEAD_BYTES + delta_bytes(n_words));
    for keys in keys.chunks(most * n_words) {
        let len = keys.len() / n_words;
        let mut bytes = vec![0; HEADS_BYTES];
        let mut before = 0;
        for head in heads.by_ref().take(len) {
            let is_several = u64::from(head.multiplicity != 1);
            // The source of the first edge may take all of its bits.
            let distance = (head.source - before) << 1 | is_several;
            write_varint(&mut bytes, distance);
            write_varint(&mut bytes, head.rule.into());
            if is_several == 1 {
                write_varint(&mut bytes, head.multiplicity);
            }
            before = head.source;
        }
        let n_bytes = (bytes.len() - HEADS_BYTES) as u32;
        bytes[..HEADS_BYTES].copy_from_slice(&n_bytes.to_le_bytes());
        write_deltas(n_words, keys.chunks_exact(n_words), &mut bytes);
        out.push(EdgeBatch { bytes, len });
    }
}

/// Edges in the order of their sources.
#[derive(Default)]
pub struct EdgeLog {
    log: Log,
    /// Batches that are not in the log yet, of keys of this layout.
    pending: Vec<u8>,
    n_pending: usize,
    version: u32,
}

impl EdgeLog {
    /// Continues in a folder, with some of it in memory.
    pub fn attach(&mut self, folder: &Folder, retention: Retention) -> Result<(), Error> {
        self.log.attach(folder.clone(), retention)
    }

    /// The log that a manifest lists.
    pub fn reopen(
        folder: &Folder,
        retention: Retention,
        entries: &[SegmentEntry],
    ) -> Result<Self, Error> {
        Ok(EdgeLog {
            log: Log::reopen(folder.clone(), retention, entries)?,
            ..EdgeLog::default()
        })
    }

    /// Number of edges.
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

    /// Appends a batch whose keys have the layout `version`.
    pub fn append(&mut self, batch: &EdgeBatch, version: u32) -> Result<(), Error> {
        let n_bytes = self.pending.len() + BATCH_HEAD + batch.bytes.len();
        if n_bytes > MAX_PIECE_BYTES || version != self.version {
            self.end_piece()?;
            self.version = version;
        }
        write_batch(&batch.bytes, batch.len, &mut self.pending);
        self.n_pending += batch.len;
        Ok(())
    }

    /// Moves pending batches to the log, so that all edges are there.
    pub fn end_piece(&mut self) -> Result<(), Error> {
        let piece = self.pending.as_slice().into();
        self.log.append(piece, self.n_pending, self.version)?;
        self.pending.clear();
        self.n_pending = 0;
        Ok(())
    }

    /// The next piece from the edge `next` on; `None` at the end. Edges that are still pending are not
    /// seen.
    pub fn read_piece(&mut self, next: u64) -> Result<Option<Slice>, Error> {
        match next < self.log.len() {
            true => {
                let piece = self.log.read_piece(next)?;
                self.log.evict_piece(next);
                Ok(Some(piece))
            }
            false => Ok(None),
        }
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

/// Appends the heads of all edges of a piece.
pub fn read_heads(piece: &Slice, heads: &mut Vec<EdgeHead>) -> Result<(), Error> {
    let n_before = heads.len();
    for batch in batches(&piece.bytes) {
        let read = batch.and_then(|(n, bytes)| {
            let (mut bytes, _) = split(bytes)?;
            let mut source = 0u64;
            for _ in 0..n {
                let distance = read_varint(&mut bytes)?;
                source = source.checked_add(distance >> 1)?;
                let rule = u32::try_from(read_varint(&mut bytes)?).ok()?;
                let multiplicity = match distance & 1 {
                    0 => 1,
                    _ => read_varint(&mut bytes)?,
                };
                heads.push(EdgeHead {
                    source,
                    rule,
                    multiplicity,
                });
            }
            bytes.is_empty().then_some(())
        });
        read.ok_or_else(|| damaged_log("edges"))?;
    }
    match heads.len() - n_before == piece.n_records() {
        true => Ok(()),
        false => Err(damaged_log("edges")),
    }
}

/// Appends the keys of the targets of all edges of a piece, of `n_words` words each.
pub fn read_targets(piece: &Slice, n_words: usize, keys: &mut Vec<u64>) -> Result<(), Error> {
    let n_before = keys.len();
    for batch in batches(&piece.bytes) {
        let read = batch.and_then(|(n, bytes)| {
            let (_, deltas) = split(bytes)?;
            let n_read = read_deltas(deltas, 0..n, n_words, keys)?;
            (n_read == deltas.len()).then_some(())
        });
        read.ok_or_else(|| damaged_log("edges"))?;
    }
    match keys.len() - n_before == piece.n_records() * n_words {
        true => Ok(()),
        false => Err(damaged_log("edges")),
    }
}

/// The heads and the keys of a batch.
fn split(batch: &[u8]) -> Option<(&[u8], &[u8])> {
    let (n_bytes, rest) = batch.split_first_chunk()?;
    rest.split_at_checked(u32::from_le_bytes(*n_bytes) as usize)
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;
    use crate::MAX_KEY_WORDS;

    /// Edges in the order of sources, some with great numbers, and keys of their targets.
    fn edges(
        rng: &mut Pcg64Mcg,
        first: u64,
        n: usize,
        n_words: usize,
    ) -> (Vec<EdgeHead>, Vec<u64>) {
        let mut source = first;
        let mut head = |_| {
            source += [0, 0, 1, 300][rng.random_range(0..4)];
            EdgeHead {
                source,
                rule: [0, 5, u32::MAX][rng.random_range(0..3)],
                multiplicity: [1, 1, 2, 1 << 40, u64::MAX][rng.random_range(0..5)],
            }
        };
        let heads: Vec<EdgeHead> = (0..n).map(&mut head).collect();
        let keys = (0..n * n_words).map(|_| rng.random()).collect();
        (heads, keys)
    }

    #[test]
    fn edges_come_back_with_their_keys_in_the_layouts_they_had() {
        let mut rng = Pcg64Mcg::seed_from_u64(1);
        let mut log = EdgeLog::default();
        let (mut all, mut all_keys) = (Vec::new(), Vec::new());
        let mut first = 1 << 40;
        let widths = [1, 2, 2, 5, MAX_KEY_WORDS];
        for (version, &n_words) in (0..).zip(&widths) {
            for n in [0, 1, 10, 9_000 / n_words] {
                let (heads, keys) = edges(&mut rng, first, n, n_words);
                first = heads.last().map_or(first, |head| head.source);
                let mut batches = Vec::new();
                write_edges(heads.iter().copied(), &keys, n_words, &mut batches);
                for batch in &batches {
                    log.append(batch, version).expect("memory has room");
                }
                all.extend(heads);
                all_keys.extend(keys);
            }
        }
        assert_eq!(log.len(), all.len() as u64);
        log.end_piece().expect("memory has room");
        let (mut heads, mut keys) = (Vec::new(), Vec::new());
        while let Some(piece) = log.read_piece(heads.len() as u64).expect("it is whole") {
            assert!(piece.bytes.len() <= MAX_PIECE_BYTES);
            read_heads(&piece, &mut heads).expect("it is whole");
            let n_words = widths[piece.version as usize];
            read_targets(&piece, n_words, &mut keys).expect("it is whole");
            // With another number of words these are no keys.
            let other = read_targets(&piece, n_words + 1, &mut Vec::new());
            assert!(other.is_err());
        }
        assert!(heads == all && keys == all_keys);
    }

    #[test]
    fn what_is_not_what_was_written_is_damage_and_nothing_worse() {
        let mut rng = Pcg64Mcg::seed_from_u64(2);
        let mut log = EdgeLog::default();
        let (heads, keys) = edges(&mut rng, 0, 300, 2);
        let mut batches = Vec::new();
        write_edges(heads.iter().copied(), &keys, 2, &mut batches);
        log.append(&batches[0], 0).expect("memory has room");
        log.end_piece().expect("memory has room");
        let piece = log.read_piece(0).expect("it is whole").expect("a piece");
        let mut n_errors = 0;
        for n in 0..2_000 {
            let mut bytes = piece.bytes.to_vec();
            let at = rng.random_range(0..bytes.len().min(if n % 2 == 0 { 40 } else { 1 << 20 }));
            match n % 3 {
                0 => bytes.truncate(at),
                _ => bytes[at] ^= 1 << rng.random_range(0..8),
            }
            let piece = Slice {
                bytes: bytes.into(),
                ..piece.clone()
            };
            let heads = read_heads(&piece, &mut Vec::new());
            let targets = read_targets(&piece, 2, &mut Vec::new());
            n_errors += usize::from(heads.is_err() || targets.is_err());
        }
        assert!(n_errors > 1_000, "{n_errors}");
    }
}
