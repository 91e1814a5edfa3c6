//! States that may be new: in the order of their generation, and in the order of their keys.

use hadal_store::codec::KeyShape;
use hadal_store::disk::Folder;
use hadal_store::run::{MemoryBlocks, RunWriter, Split, Splitters, sort_part};
use hadal_store::{Error, Keep, Log, Parent};

use super::Shares;
use super::parallel::in_parallel;
use super::tiers::{Means, Segment, Tier, write_merged};
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
    /// Chunks before, in the order of keys, with ordinals; some of them made one.
    pub(super) sub_runs: Vec<Tier>,
}

/// Keys that are sorted at once, so that they stay in the cache.
pub(super) const PART_KEYS: usize = 1 << 12;
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
        for entries in &saved.sub_runs {
            self.sub_runs.push(Tier::open(&self.folder, entries)?);
        }
        Ok(())
    }

    /// Puts everything on disk, and lists it for a manifest.
    pub(crate) fn commit(&mut self, means: &Means<'_>) -> Result<SavedExternal, Error> {
        self.end_piece()?;
        if !self.keys.is_empty() {
            self.sort_chunk(means)?;
        }
        self.write_sub_runs(means)?;
        Ok(SavedExternal {
            tiers: Vec::new(),
            merging: None,
            candidates: self.log.commit()?,
            n_candidates: self.log.len(),
            sub_runs: self.sub_runs.iter().map(Tier::entries).collect(),
        })
    }

    /// Number of candidates.
    pub(crate) fn len(&self) -> u64 {
        self.log.len() + self.n_in_parcels as u64
    }

    /// Memory held, in bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let runs: u64 = self.sub_runs.iter().map(Tier::memory_bytes).sum();
        let parcels = self.parcels.capacity() as u64;
        self.log.data_bytes() + parcels + 8 * self.keys.capacity() as u64 + runs
    }

    /// Appends candidates: their keys, and their records with parents.
    pub(crate) fn append(
        &mut self,
        keys: &[u64],
        parcel: &[u8],
        len: usize,
        means: &Means<'_>,
    ) -> Result<(), Error> {
        if len == 0 {
            return Ok(());
        }
        if self.keys.len() / self.shape.n_words + len > self.chunk_keys() && !self.keys.is_empty() {
            self.sort_chunk(means)?;
        }
        if self.keys.is_empty() {
            self.keys
                .reserve_exact(self.chunk_keys().max(len) * self.shape.n_words);
        }
        self.keys.extend_from_slice(keys);
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
    pub(crate) fn set_shapes(&mut self, means: &Means<'_>) -> Result<(), Error> {
        self.end_piece()?;
        self.record_version = means.keyed.codec.newest().version;
        let shape = means.keyed.key_shape();
        if shape != self.shape && !self.keys.is_empty() {
            self.sort_chunk(means)?;
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

    /// Keys in a chunk: each takes its words and its place.
    fn chunk_keys(&self) -> usize {
        let bytes_per_key = 8 * self.shape.n_words + 8;
        (self.shares.chunk as usize / bytes_per_key).max(MIN_CHUNK_KEYS)
    }

    /// Puts the keys at hand in order, as a run with ordinals. Runs stay in memory while there is
    /// room; then they become one file.
    fn sort_chunk(&mut self, means: &Means<'_>) -> Result<(), Error> {
        let n_words = self.shape.n_words;
        let n_threads = means.n_threads;
        let splitters = self.splitters();
        let splits = split(&self.keys, n_words, self.first, &splitters, n_threads)?;
        let n_parts = splitters.n_parts();
        let n_stretches = n_threads.min(n_parts);
        let sorted = in_parallel(n_threads, n_stretches, |stretch| {
            let mut writer = RunWriter::new(MemoryBlocks::default(), n_words, true);
            let (mut scratch, mut batch) = Default::default();
            for part in stretch * n_parts / n_stretches..(stretch + 1) * n_parts / n_stretches {
                sort_part(&splits, part, &mut scratch, &mut batch);
                writer.push(&batch.keys, &batch.ordinals)?;
            }
            Segment::keep(writer, self.shape.version)
        })?;
        drop(splits);
        self.first = self.len();
        self.keys.clear();
        self.sub_runs.push(Tier { segments: sorted });
        let in_memory = self.sub_runs.iter().filter(|run| run.is_in_memory());
        if in_memory.map(Tier::memory_bytes).sum::<u64>() > self.shares.sub_runs {
            self.write_sub_runs(means)?;
        }
        Ok(())
    }

    /// Makes one run on disk of those that are in memory.
    fn write_sub_runs(&mut self, means: &Means<'_>) -> Result<(), Error> {
        let is_in_memory = |run: &mut Tier| run.is_in_memory();
        let kept: Vec<Tier> = self.sub_runs.extract_if(.., is_in_memory).collect();
        let segments: Vec<&Segment> = kept.iter().flat_map(|tier| &tier.segments).collect();
        if !segments.is_empty() {
            self.sub_runs.push(write_merged(&segments, true, means)?);
        }
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
