//! States that may be new: in the order of their generation, and in the order of their keys.

use hadal_store::codec::KeyShape;
use hadal_store::disk::{BlockWriter, Folder};
use hadal_store::run::{RunWriter, Split, Splitters, sort_part};
use hadal_store::{Error, Keep, Log, Parent};

use super::Shares;
use super::parallel::in_parallel;
use super::tiers::{RUN, Segment};
use crate::snapshot::SavedExternal;
use crate::visited::Keyed;

/// The candidates of a layer.
pub(crate) struct Candidates {
    folder: Folder,
    shares: Shares,
    /// Whether what is written shall survive a crash.
    durable: bool,
    /// Their records and parents, in the order of generation.
    pub(crate) log: Log,
    /// Parcels that are not in the log yet, and how many candidates they have.
    parcels: Vec<u8>,
    n_in_parcels: usize,
    /// Keys of those since the last chunk was written, in the order of generation.
    pub(super) keys: Vec<u64>,
    pub(super) shape: KeyShape,
    /// Version of the layout of records.
    record_version: u32,
    /// Ordinal among the candidates of the first of these.
    pub(super) first: u64,
    /// Chunks that were written, in the order of keys, with ordinals.
    pub(super) sub_runs: Vec<Segment>,
}

/// Keys that are sorted at once, so that they stay in the cache.
pub(super) const PART_KEYS: usize = 1 << 14;
/// Candidates of several tasks go to the log together, in pieces of about this many bytes.
const PIECE_BYTES: usize = 48 << 10;
/// Before each parcel: number of candidates, number of bytes.
const PARCEL_HEAD: usize = 8;
/// A chunk has at least so many keys, however little memory there is.
const MIN_CHUNK_KEYS: usize = 8;

impl Candidates {
    pub(crate) fn new(
        folder: Folder,
        shares: Shares,
        durable: bool,
        keyed: &Keyed,
    ) -> Result<Self, Error> {
        let log = empty_log(&folder, shares, durable)?;
        Ok(Candidates {
            folder,
            shares,
            durable,
            log,
            parcels: Vec::new(),
            n_in_parcels: 0,
            keys: Vec::new(),
            shape: keyed.key_shape(),
            record_version: keyed.codec.newest().version,
            first: 0,
            sub_runs: Vec::new(),
        })
    }

    /// Takes candidates up again.
    pub(crate) fn reopen(&mut self, saved: &SavedExternal) -> Result<(), Error> {
        let keep = keep(self.shares, self.durable);
        self.log = Log::reopen(self.folder.clone(), keep, &saved.candidates)?;
        self.first = self.log.len();
        for entry in &saved.sub_runs {
            self.sub_runs.push(Segment::open(&self.folder, entry)?);
        }
        Ok(())
    }

    /// Puts everything on disk, and lists it for a manifest.
    pub(crate) fn commit(&mut self, n_threads: usize) -> Result<SavedExternal, Error> {
        self.end_piece()?;
        if !self.keys.is_empty() {
            self.write_chunk(n_threads)?;
        }
        Ok(SavedExternal {
            tiers: Vec::new(),
            candidates: self.log.commit()?,
            n_candidates: self.log.len(),
            sub_runs: self.sub_runs.iter().map(Segment::entry).collect(),
        })
    }

    /// Number of candidates.
    pub(crate) fn len(&self) -> u64 {
        self.log.len() + self.n_in_parcels as u64
    }

    /// Memory held, in bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let runs: u64 = self.sub_runs.iter().map(Segment::memory_bytes).sum();
        let parcels = self.parcels.capacity() as u64;
        self.log.data_bytes() + parcels + 8 * self.keys.capacity() as u64 + runs
    }

    /// Appends candidates: their keys, and their records with parents.
    pub(crate) fn append<'a>(
        &mut self,
        keys: impl Iterator<Item = &'a [u64]>,
        parcel: &[u8],
        len: usize,
        n_threads: usize,
    ) -> Result<(), Error> {
        if len == 0 {
            return Ok(());
        }
        if self.keys.len() / self.shape.n_words + len > self.chunk_keys() && !self.keys.is_empty() {
            self.write_chunk(n_threads)?;
        }
        if self.keys.is_empty() {
            self.keys
                .reserve_exact(self.chunk_keys().max(len) * self.shape.n_words);
        }
        for key in keys {
            self.keys.extend_from_slice(key);
        }
        if self.parcels.len() + PARCEL_HEAD + parcel.len() > PIECE_BYTES {
            self.end_piece()?;
        }
        self.parcels.extend((len as u32).to_le_bytes());
        self.parcels.extend((parcel.len() as u32).to_le_bytes());
        self.parcels.extend_from_slice(parcel);
        self.n_in_parcels += len;
        Ok(())
    }

    /// Hands the parcels over to the log, so that all candidates are there.
    pub(crate) fn end_piece(&mut self) -> Result<(), Error> {
        let piece = self.parcels.as_slice().into();
        self.log
            .append(piece, self.n_in_parcels, self.record_version)?;
        self.parcels.clear();
        self.n_in_parcels = 0;
        Ok(())
    }

    /// Goes on with keys and records of other shapes; what is there stays as it is.
    pub(crate) fn set_shapes(&mut self, keyed: &Keyed, n_threads: usize) -> Result<(), Error> {
        self.end_piece()?;
        self.record_version = keyed.codec.newest().version;
        let shape = keyed.key_shape();
        if shape != self.shape && !self.keys.is_empty() {
            self.write_chunk(n_threads)?;
        }
        self.shape = shape;
        Ok(())
    }

    /// Forgets the candidates, for the next layer.
    pub(crate) fn clear(&mut self) -> Result<(), Error> {
        let log = empty_log(&self.folder, self.shares, self.durable)?;
        std::mem::replace(&mut self.log, log).discard()?;
        self.keys.clear();
        self.parcels.clear();
        self.n_in_parcels = 0;
        self.first = 0;
        for sub_run in self.sub_runs.drain(..) {
            sub_run.retire(&self.folder)?;
        }
        Ok(())
    }

    /// Keys in a chunk: each takes its words, its place, and its share of what sorting takes.
    fn chunk_keys(&self) -> usize {
        let bytes_per_key = 8 * self.shape.n_words + 8;
        (self.shares.chunk as usize / bytes_per_key).max(MIN_CHUNK_KEYS)
    }

    /// Puts the keys at hand in order and writes them down as a run with ordinals.
    fn write_chunk(&mut self, n_threads: usize) -> Result<(), Error> {
        let n_words = self.shape.n_words;
        let splitters = self.splitters();
        let splits = split(&self.keys, n_words, self.first, &splitters, n_threads)?;
        let mut writer = RunWriter::new(BlockWriter::create(&self.folder, RUN)?, n_words, true);
        // A few parts at a time are put in order by all threads and written by this one.
        let n_parts = splitters.n_parts();
        for first in (0..n_parts).step_by(n_threads) {
            let n = n_threads.min(n_parts - first);
            let sorted = in_parallel(n_threads, n, |item| {
                let (mut scratch, mut batch) = Default::default();
                sort_part(&splits, first + item, &mut scratch, &mut batch);
                Ok(batch)
            })?;
            for batch in sorted {
                writer.push(&batch.keys, &batch.ordinals)?;
            }
        }
        drop(splits);
        let sub_run = Segment::finish(writer, self.shape.version, self.durable)?;
        self.sub_runs.push(sub_run);
        self.first = self.len();
        self.keys.clear();
        Ok(())
    }

    /// Cuts the keys at hand into parts that are sorted in the cache.
    pub(super) fn splitters(&self) -> Splitters {
        let n_words = self.shape.n_words;
        let n_parts = (self.keys.len() / n_words).div_ceil(PART_KEYS);
        Splitters::sample(n_words, &[&self.keys], n_parts.clamp(1, 1 << 15))
    }
}

/// Splits keys on several threads, each a stretch of them.
pub(super) fn split<'a>(
    keys: &'a [u64],
    n_words: usize,
    first: u64,
    splitters: &Splitters,
    n_threads: usize,
) -> Result<Vec<Split<'a>>, Error> {
    let n_keys = keys.len() / n_words;
    let stretch = n_keys.div_ceil(n_threads).max(PART_KEYS);
    in_parallel(n_threads, n_keys.div_ceil(stretch), |item| {
        let from = item * stretch;
        let to = n_keys.min(from + stretch);
        let keys = &keys[from * n_words..to * n_words];
        Ok(Split::new(keys, first + from as u64, splitters))
    })
}

fn empty_log(folder: &Folder, shares: Shares, durable: bool) -> Result<Log, Error> {
    let mut log = Log::new();
    log.attach(folder.clone(), keep(shares, durable))?;
    Ok(log)
}

fn keep(shares: Shares, durable: bool) -> Keep {
    match durable {
        true => Keep::BytesAndWrite(shares.candidates),
        false => Keep::Bytes(shares.candidates),
    }
}

/// The parcels of a piece, each with its number of candidates; `None` where they end in the middle
/// of one.
pub(crate) fn parcels(mut piece: &[u8]) -> impl Iterator<Item = Option<(usize, &[u8])>> {
    std::iter::from_fn(move || {
        if piece.is_empty() {
            return None;
        }
        let split = |piece: &mut &'_ [u8]| -> Option<(usize, usize)> {
            let (len, rest) = piece.split_first_chunk::<4>()?;
            let (n_bytes, rest) = rest.split_first_chunk::<4>()?;
            let found = (u32::from_le_bytes(*len), u32::from_le_bytes(*n_bytes));
            let n_bytes = found.1 as usize;
            (rest.len() >= n_bytes).then_some((found.0 as usize, n_bytes))
        };
        let Some((len, n_bytes)) = split(&mut piece) else {
            piece = &[];
            return Some(None);
        };
        let (parcel, rest) = piece[PARCEL_HEAD..].split_at(n_bytes);
        piece = rest;
        Some(Some((len, parcel)))
    })
}

/// Writes parents behind the records of candidates: each as the distance from the one before, and
/// the index.
pub(crate) fn write_parents(parents: impl Iterator<Item = Parent>, piece: &mut Vec<u8>) {
    let mut last = 0;
    for parent in parents {
        write_varint(parent.ordinal - last, piece);
        write_varint(u64::from(parent.index), piece);
        last = parent.ordinal;
    }
}

/// Reads `n` parents; `None` where there are none.
pub(crate) fn read_parents(mut bytes: &[u8], n: usize) -> Option<Vec<Parent>> {
    let mut ordinal = 0_u64;
    let parents = (0..n).map(|_| {
        ordinal = ordinal.checked_add(read_varint(&mut bytes)?)?;
        let index = u32::try_from(read_varint(&mut bytes)?).ok()?;
        Some(Parent { ordinal, index })
    });
    parents.collect()
}

fn write_varint(mut value: u64, bytes: &mut Vec<u8>) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn read_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{read_parents, write_parents};
    use hadal_store::Parent;

    #[test]
    fn parents_come_back_as_they_were() {
        let parents: Vec<Parent> = [(0, 0), (0, 300), (5, 1), (1 << 40, u32::MAX), (1 << 40, 7)]
            .into_iter()
            .map(|(ordinal, index)| Parent { ordinal, index })
            .collect();
        let mut piece = Vec::new();
        write_parents(parents.iter().copied(), &mut piece);
        assert_eq!(read_parents(&piece, parents.len()), Some(parents));
        assert_eq!(read_parents(&piece[..3], 5), None);
    }
}
