//! States that may be new, in the order of their generation: their records and parents in a log, and
//! their keys, which are to be put in order.

use hadal_store::codec::KeyShape;
use hadal_store::disk::Folder;
use hadal_store::run::{Split, Splitters};
use hadal_store::{Error, Keep, Log, Parent, decode_parent, encode_parent, record_len};

use super::Shares;
use super::buckets::Buckets;
use super::parallel::in_parallel;
use super::tiers::Means;
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
    /// Keys of the last ones, in the order of generation.
    pub(super) keys: Vec<u64>,
    pub(super) shape: KeyShape,
    /// Version of the layout of records.
    record_version: u32,
    /// Ordinal among the candidates of the first of these.
    pub(super) first: u64,
    /// Keys of those before, once there are more than one chunk.
    pub(super) buckets: Option<Buckets>,
    /// What is known of the layer before.
    last: LayerBefore,
}

/// What the candidates of a layer tell about those of the next.
#[derive(Default)]
struct LayerBefore {
    len: u64,
    /// Some keys, and their layout.
    sample: Vec<u64>,
    shape: Option<KeyShape>,
}

/// Keys that are sorted at once, so that they stay in the cache.
pub(super) const PART_KEYS: usize = 1 << 12;
/// Candidates of several tasks go to the log together, in pieces of about this many bytes.
const PIECE_BYTES: usize = 48 << 10;
/// Before each parcel: number of candidates, number of bytes.
const PARCEL_HEAD: usize = 8;
/// A chunk has at least so many keys, however little memory there is.
const MIN_CHUNK_KEYS: usize = 8;
/// A chunk has about so many keys for each bucket, or more: else there would be little in a piece
/// but its head.
const PIECE_KEYS: usize = 8;
/// Keys that are remembered of a layer, and how few are too few.
pub(super) const SAMPLE_KEYS: u64 = 1 << 13;
const MIN_SAMPLE_KEYS: usize = 64;

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
            buckets: None,
            last: LayerBefore::default(),
        })
    }

    /// Takes candidates up again. Their keys are made anew of their records.
    pub(crate) fn reopen(&mut self, saved: &SavedExternal, means: &Means<'_>) -> Result<(), Error> {
        let keep = keep(self.shares, self.durable);
        self.log = Log::reopen(self.folder.clone(), keep, &saved.candidates)?;
        self.last.len = self.log.len();
        let mut words = Vec::new();
        let mut next = 0;
        while next < self.log.len() {
            let piece = self.log.read_piece(next)?;
            let record_len = record_len(means.keyed.codec.shape(piece.version));
            let mut n_left = piece.len;
            for parcel in parcels(piece.bytes()) {
                let records = parcel.and_then(|(n, bytes)| {
                    n_left = n_left.checked_sub(n)?;
                    Some((n, bytes.get(..n * record_len)?))
                });
                let (n, records) = records.ok_or_else(not_whole)?;
                words.clear();
                means
                    .keyed
                    .keys_of_records(piece.version, records, n, &mut words);
                self.append_keys(&words, n, means)?;
            }
            if n_left > 0 {
                return Err(not_whole());
            }
            self.log.put_back(next);
            next += piece.len as u64;
        }
        Ok(())
    }

    /// Puts everything on disk that a later run needs, and lists it for a manifest.
    pub(crate) fn commit(&mut self) -> Result<SavedExternal, Error> {
        self.end_piece()?;
        Ok(SavedExternal {
            tiers: Vec::new(),
            merging: None,
            candidates: self.log.commit()?,
            n_candidates: self.log.len(),
        })
    }

    /// Number of candidates.
    pub(crate) fn len(&self) -> u64 {
        self.log.len() + self.n_in_parcels as u64
    }

    /// Memory held, in bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let buckets = self.buckets.as_ref().map_or(0, Buckets::memory_bytes);
        let parcels = self.parcels.capacity() as u64;
        let words = self.keys.capacity() + self.last.sample.capacity();
        self.log.data_bytes() + parcels + 8 * words as u64 + buckets
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
        self.append_keys(keys, len, means)?;
        if self.parcels.len() + PARCEL_HEAD + parcel.len() > PIECE_BYTES {
            self.end_piece()?;
        }
        self.parcels.extend((len as u32).to_le_bytes());
        self.parcels.extend((parcel.len() as u32).to_le_bytes());
        self.parcels.extend_from_slice(parcel);
        self.n_in_parcels += len;
        Ok(())
    }

    /// Appends keys of `len` candidates.
    fn append_keys(&mut self, keys: &[u64], len: usize, means: &Means<'_>) -> Result<(), Error> {
        let chunk_keys = self.chunk_keys();
        if self.n_in_chunk() + len > chunk_keys && !self.keys.is_empty() {
            self.end_chunk(means)?;
        }
        if self.keys.is_empty() {
            let n_words = chunk_keys.max(len) * self.shape.n_words;
            self.keys.reserve_exact(n_words);
        }
        self.keys.extend_from_slice(keys);
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

    /// Says that the layer has no more candidates: now all keys are in the chunk, or all in
    /// buckets.
    pub(crate) fn end_layer(&mut self, means: &Means<'_>) -> Result<(), Error> {
        self.end_piece()?;
        if self.buckets.is_some() {
            self.end_chunk(means)?;
            // Buckets are put in order where the chunk was.
            self.keys = Vec::new();
        }
        Ok(())
    }

    /// Goes on with keys and records of other shapes; what is there stays as it is.
    pub(crate) fn set_shapes(&mut self, means: &Means<'_>) -> Result<(), Error> {
        self.end_piece()?;
        self.record_version = means.keyed.codec.newest().version;
        let shape = means.keyed.key_shape();
        if shape != self.shape {
            self.end_chunk(means)?;
            if let Some(buckets) = &mut self.buckets {
                buckets.set_shape(means.keyed);
            }
        }
        self.shape = shape;
        Ok(())
    }

    /// Forgets the candidates, for the next layer; `sample` are keys of some of them, of the newest
    /// layout.
    pub(crate) fn clear(&mut self, sample: Vec<u64>, keyed: &Keyed) -> Result<(), Error> {
        self.last = LayerBefore {
            len: self.len(),
            sample,
            shape: Some(keyed.key_shape()),
        };
        let log = empty_log(&self.folder, self.shares, self.durable)?;
        std::mem::replace(&mut self.log, log).discard()?;
        self.keys.clear();
        self.parcels.clear();
        self.n_in_parcels = 0;
        self.first = 0;
        if let Some(mut buckets) = self.buckets.take() {
            buckets.retire_spills(&self.folder)?;
        }
        Ok(())
    }

    fn n_in_chunk(&self) -> usize {
        self.keys.len() / self.shape.n_words
    }

    /// Keys in a chunk: each takes its words and its place.
    fn chunk_keys(&self) -> usize {
        let bytes_per_key = 8 * self.shape.n_words + 8;
        (self.shares.chunk as usize / bytes_per_key).max(MIN_CHUNK_KEYS)
    }

    /// Keys of a bucket that a thread can put in order: each is there as it came, in order, and in a
    /// batch, with its ordinal and its place; and threads share the room of a chunk.
    pub(super) fn bucket_keys(&self, n_threads: usize) -> u64 {
        let bytes_per_key = 24 * self.shape.n_words as u64 + 32;
        (self.shares.chunk / n_threads as u64 / bytes_per_key).max(MIN_CHUNK_KEYS as u64)
    }

    /// Deals the keys at hand out to buckets. These stay in memory while there is room; then they
    /// become a file.
    fn end_chunk(&mut self, means: &Means<'_>) -> Result<(), Error> {
        if self.keys.is_empty() {
            return Ok(());
        }
        let mut buckets = match self.buckets.take() {
            Some(buckets) => buckets,
            None => Buckets::new(self.bucket_splitters(means.n_threads), self.shape),
        };
        let n_threads = means.n_threads;
        let splitters = buckets.splitters();
        let splits = split(
            &self.keys,
            self.shape.n_words,
            self.first,
            splitters,
            n_threads,
        )?;
        buckets.add(&splits, n_threads)?;
        drop(splits);
        self.first += self.n_in_chunk() as u64;
        self.keys.clear();
        if buckets.packed_bytes() > self.shares.buckets {
            buckets.spill(&self.folder)?;
        }
        self.buckets = Some(buckets);
        Ok(())
    }

    /// Where the buckets of a layer begin, whose first chunk is full.
    fn bucket_splitters(&self, n_threads: usize) -> Splitters {
        let n_words = self.shape.n_words;
        let n_expected = (self.last.len + self.last.len / 4).max(2 * self.chunk_keys() as u64);
        // Half of what there is room for, for some are larger than others.
        let wanted = n_expected.div_ceil((self.bucket_keys(n_threads) / 2).max(1));
        let most = (self.chunk_keys() / PIECE_KEYS).clamp(8, 1 << 12) as u64;
        let n_buckets = wanted.clamp(1, most) as usize;
        let sample = match self.last.shape == Some(self.shape) {
            true => &self.last.sample[..],
            false => &[],
        };
        // The first chunk is not like the others, but better than nothing.
        let n_sampled = sample.len() / n_words;
        if n_sampled < MIN_SAMPLE_KEYS {
            return Splitters::sample(n_words, &[&self.keys], n_buckets);
        }
        Splitters::sample(n_words, &[sample], n_buckets.min(n_sampled / 2))
    }
}

/// Cuts keys into parts that are sorted in the cache.
pub(super) fn part_splitters(keys: &[u64], n_words: usize) -> Splitters {
    let n_parts = (keys.len() / n_words).div_ceil(PART_KEYS);
    Splitters::sample(n_words, &[keys], n_parts.clamp(1, 1 << 15))
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

fn not_whole() -> Error {
    Error::Damaged {
        file: "the log of candidates".to_owned(),
        offset: 0,
        what: "a piece is not what was written".to_owned(),
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

/// Writes parents behind the records of candidates.
pub(crate) fn write_parents(parents: impl Iterator<Item = Parent>, piece: &mut Vec<u8>) {
    let mut last = 0;
    for parent in parents {
        encode_parent(piece, last, parent);
        last = parent.ordinal;
    }
}

/// Reads `n` parents; `None` where there are none.
pub(crate) fn read_parents(mut bytes: &[u8], n: usize) -> Option<Vec<Parent>> {
    let mut last = 0;
    let parents = (0..n).map(|_| {
        let parent = decode_parent(&mut bytes, last)?;
        last = parent.ordinal;
        Some(parent)
    });
    parents.collect()
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
