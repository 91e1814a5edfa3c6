//! States that may be new: their keys and parents in a log, in the order of their generation, and
//! their keys dealt out to buckets, which are to be put in order.

use hadal_store::codec::KeyShape;
use hadal_store::disk::Folder;
use hadal_store::run::{Splitters, fence_splitters};
use hadal_store::{
    Error, HALF_PIECE_BYTES, Log, MAX_PIECE_BYTES, Parent, Slice, decode_parent, encode_parent,
    read_differences, record_overhead,
};

use super::buckets::{MOST_AT_ONCE, Spills};
use super::hands::{Hands, least_page_bytes};
use super::parallel::in_parallel;
use super::resolve::resolving_threads;
use super::tiers::{Means, Tiers, Views};
use super::{Shares, keep};
use crate::shared::{read, write};
use crate::snapshot::SavedExternal;
use crate::visited::Keyed;

/// The candidates of a layer.
pub(crate) struct Candidates {
    folder: Folder,
    shares: Shares,
    /// Whether what is written shall survive a crash.
    durable: bool,
    /// Their keys and parents, in the order of generation.
    pub(crate) log: Log,
    /// Parcels that are not in the log yet, and how many candidates they have.
    parcels: Vec<u8>,
    n_in_parcels: usize,
    n_parcels: usize,
    /// Layout of the keys in the log, which the codec makes.
    log_shape: KeyShape,
    /// Keys that found no more room in hands.
    pub(super) spills: Spills,
    /// How many buckets the layer should have, and whether it was looked how full they become.
    n_buckets: usize,
    was_looked_at: bool,
    /// What is known of the layers before.
    before: LayersBefore,
}

/// What the candidates of earlier layers tell about those of the next.
#[derive(Default)]
struct LayersBefore {
    /// How many the last layer had.
    len: u64,
    /// Some keys of several, and their layout.
    sample: Vec<u64>,
    shape: Option<KeyShape>,
}

/// One in so many of the keys that are remembered is of the last layer, once others are known. Layers
/// that follow each other may be less alike than one is to several before.
const LAST_OF: usize = 4;

impl LayersBefore {
    /// Takes some keys of another layer, and forgets others.
    fn add(&mut self, sample: Vec<u64>, shape: KeyShape) {
        let n_words = shape.n_words;
        let n_wanted = sample.len() / n_words;
        let n_earlier = match self.shape == Some(shape) {
            true => (self.sample.len() / n_words).min(n_wanted - n_wanted / LAST_OF),
            false => 0,
        };
        let mut keys = Vec::with_capacity(sample.len());
        keys.extend(some(&self.sample, n_words, n_earlier));
        keys.extend(some(&sample, n_words, n_wanted - n_earlier));
        (self.sample, self.shape) = (keys, Some(shape));
    }
}

/// So many of `keys`, evenly spread.
fn some(keys: &[u64], n_words: usize, n: usize) -> impl Iterator<Item = u64> {
    let n_keys = keys.len() / n_words;
    let at = move |i: usize| keys[i * n_keys / n * n_words..][..n_words].iter().copied();
    (0..n).flat_map(at)
}

/// Candidates of several tasks go to the log together, in pieces of up to this many bytes.
const LOG_PIECE_BYTES: usize = HALF_PIECE_BYTES;
/// Before each parcel: number of candidates, number of bytes.
pub(crate) const PARCEL_HEAD: usize = 8;
/// A bucket has about so many keys, where that is not too many buckets.
const BUCKET_KEYS: u64 = 3 << 10;
const MOST_BUCKETS: u64 = 1 << 12;
/// A pile is expected to come to so many bytes, or more: else pages would be all but empty.
const PILE_BYTES: u64 = 512;
/// When hands are full to one in so many parts, it is looked whether buckets have equal shares.
const LOOKED_AT: u64 = 16;
/// However little memory there is, so many keys are put in order at once.
const MIN_SORTED_KEYS: u64 = 8;
/// Keys that are remembered of a layer, at least, and more if it has more buckets: so many for each.
const SAMPLE_KEYS: u64 = 1 << 13;
const BUCKET_SAMPLE: u64 = 8;
/// How few keys are too few.
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
            n_parcels: 0,
            log_shape: keyed.codec.newest(),
            spills: Spills::default(),
            n_buckets: 1,
            was_looked_at: false,
            before: LayersBefore::default(),
        })
    }

    /// Takes candidates up again. Their keys as set and runs have them are made anew.
    pub(crate) fn reopen(
        &mut self,
        saved: &SavedExternal,
        tiers: &Tiers,
        means: &Means<'_>,
    ) -> Result<(), Error> {
        let keep = keep(self.shares.candidates, self.durable);
        self.log = Log::reopen(self.folder.clone(), keep, &saved.candidates)?;
        self.before.len = self.log.len();
        // A piece for each hand, whose ordinals then ascend; its keys take several times its bytes.
        let n_at_once = self.shares.sort / (8 * LOG_PIECE_BYTES as u64);
        let n_at_once = n_at_once.clamp(1, means.n_threads as u64) as usize;
        let mut next = 0;
        while next < self.log.len() {
            let mut pieces = Vec::with_capacity(n_at_once);
            while next < self.log.len() && pieces.len() < n_at_once {
                let piece = self.log.read_piece(next)?;
                next += piece.n_records() as u64;
                pieces.push((next - piece.n_records() as u64, piece));
            }
            let n_keys = pieces.iter().map(|(_, piece)| piece.n_records()).sum();
            self.make_room(n_keys, tiers, means)?;
            in_parallel(means.n_threads, pieces.len(), |hand| {
                let (first, piece) = &pieces[hand];
                deal_piece(hand, *first, piece, means)
            })?;
            for (first, _) in pieces {
                self.log.put_back(first);
            }
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

    /// Of so many keys one shall be remembered.
    pub(super) fn sample_stride(&self) -> u64 {
        let wanted = SAMPLE_KEYS.max(BUCKET_SAMPLE * self.n_buckets as u64);
        (self.len() / wanted).max(1)
    }

    /// Number of candidates.
    pub(crate) fn len(&self) -> u64 {
        self.log.len() + self.n_in_parcels as u64
    }

    /// Number of candidates of the last layer.
    pub(crate) fn len_before(&self) -> u64 {
        self.before.len
    }

    /// Memory held, in bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let parcels = self.parcels.capacity() as u64;
        let sample = 8 * self.before.sample.capacity() as u64;
        self.log.data_bytes() + parcels + sample + self.spills.memory_bytes()
    }

    /// Appends `len` candidates with their parents. Their keys are dealt out by whoever has them, for which [`make_room`](Self::make_room) comes first.
    pub(crate) fn append(&mut self, parcel: &[u8], len: usize) -> Result<(), Error> {
        if len == 0 {
            return Ok(());
        }
        let n_bytes = self.parcels.len() + PARCEL_HEAD + parcel.len();
        // What is new of a piece becomes one of states, whose records must fit a block too.
        let (n_in_all, n_parcels) = (self.n_in_parcels + len, self.n_parcels + 1);
        let record_bytes = n_bytes + record_overhead(self.log_shape, n_in_all, n_parcels);
        if n_bytes > LOG_PIECE_BYTES || record_bytes > MAX_PIECE_BYTES {
            self.end_piece()?;
        }
        self.parcels.extend((len as u32).to_le_bytes());
        self.parcels.extend((parcel.len() as u32).to_le_bytes());
        self.parcels.extend_from_slice(parcel);
        self.n_in_parcels += len;
        self.n_parcels += 1;
        Ok(())
    }

    /// Sees to it that `n` keys can be dealt out. `tiers` has keys of all layers.
    pub(crate) fn make_room(
        &mut self,
        n: usize,
        tiers: &Tiers,
        means: &Means<'_>,
    ) -> Result<(), Error> {
        self.spills.reap()?;
        let mut hands = write(means.hands);
        if hands.splitters().is_none() {
            self.n_buckets = self.wanted_buckets(&hands, means);
            let splitters = self.bucket_splitters(tiers, means);
            let shape = means.keyed.key_shape();
            let (n_hands, spare) = (means.n_threads, means.folder.spare());
            hands.begin(splitters, shape, n_hands, self.shares.hands, spare);
        }
        self.take_back(&hands, n, tiers, means);
        let is_begun = hands.bytes_with(0) > 0;
        if !self.was_looked_at && is_begun && hands.bytes_with(n) > self.shares.hands / LOOKED_AT {
            // The keys at hand tell of this layer what those of others do not.
            self.was_looked_at = true;
            let n_expected = self.expected_len(&hands, means);
            let most_bytes = self.sorting_bytes(!self.fits_hands(n_expected, &hands, means));
            let most = most_bytes / hands.bytes_per_key(means.keyed.key_shape());
            let is_lopsided = hands.is_lopsided(self.n_buckets, n_expected, most);
            if self.spills.is_empty() && is_lopsided {
                let is_alike = self.before.shape == hands.shape();
                let before = if is_alike {
                    &self.before.sample[..]
                } else {
                    &[]
                };
                // While keys are dealt out again they are there several times over.
                take_all_back(tiers, means);
                let spare = means.folder.spare();
                hands.deal_again(self.n_buckets, before, self.shares.hands, spare)?;
                self.take_back(&hands, n, tiers, means);
            }
        }
        if hands.bytes_with(0) > 0 && hands.bytes_with(n) > self.shares.hands {
            self.spills.take(&mut hands, self.shares.hands, means)?;
        }
        Ok(())
    }

    /// What hands leave of their share is lent to runs. They are to have `n` more keys, so some of it
    /// is wanted back.
    fn take_back(&self, hands: &Hands, n: usize, tiers: &Tiers, means: &Means<'_>) {
        let spare = means.folder.spare();
        let held = hands.most_bytes_with(n).max(hands.memory_bytes());
        spare.lower_limit(self.shares.hands.saturating_sub(held));
        tiers.let_go(means.folder);
        if !hands.take_pieces() {
            spare.clear();
        }
    }

    /// Hands the parcels over to the log, so that all candidates are there.
    pub(crate) fn end_piece(&mut self) -> Result<(), Error> {
        let piece = self.parcels.as_slice().into();
        self.log
            .append(piece, self.n_in_parcels, self.log_shape.version)?;
        self.parcels.clear();
        self.n_in_parcels = 0;
        self.n_parcels = 0;
        Ok(())
    }

    /// Says that the layer has no more candidates: now all keys are in hands, or all in spills.
    pub(crate) fn end_layer(&mut self, tiers: &Tiers, means: &Means<'_>) -> Result<(), Error> {
        self.end_piece()?;
        let mut hands = write(means.hands);
        if self.spills.is_empty() {
            // Now it is known what hands leave, until those of the next layer take more.
            let left = self.shares.hands.saturating_sub(hands.memory_bytes());
            means.folder.spare().set_limit(left);
        } else {
            self.spills.take(&mut hands, self.shares.hands, means)?;
            // Buckets are put in order where hands were, and what they had lent.
            hands.release();
            take_all_back(tiers, means);
            self.spills.settle(means)?;
        }
        Ok(())
    }

    /// Goes on with keys and records of other shapes; what is there stays as it is.
    pub(crate) fn set_shapes(&mut self, means: &Means<'_>) -> Result<(), Error> {
        self.end_piece()?;
        self.log_shape = means.keyed.codec.newest();
        let mut hands = write(means.hands);
        let shape = means.keyed.key_shape();
        let Some(before) = hands.shape().filter(|before| *before != shape) else {
            return Ok(());
        };
        if hands.bytes_with(0) > 0 {
            self.spills.take(&mut hands, self.shares.hands, means)?;
        }
        let recoder = means.keyed.codec.recoder(before.version, shape.version);
        hands.set_shape(shape, |key, made| {
            assert!(recoder.recode(key, made), "newer layouts have room for all");
        });
        Ok(())
    }

    /// Forgets the candidates, for the next layer; `sample` are keys of some of them, of the newest
    /// layout.
    pub(crate) fn clear(&mut self, sample: Vec<u64>, means: &Means<'_>) -> Result<(), Error> {
        self.before.len = self.len();
        self.before.add(sample, means.keyed.key_shape());
        self.discard(means)
    }

    /// Forgets the candidates as if there had been none.
    pub(crate) fn discard(&mut self, means: &Means<'_>) -> Result<(), Error> {
        let log = empty_log(&self.folder, self.shares, self.durable)?;
        std::mem::replace(&mut self.log, log).discard()?;
        self.parcels.clear();
        self.n_in_parcels = 0;
        self.n_parcels = 0;
        self.was_looked_at = false;
        write(means.hands).end();
        self.spills.retire(&self.folder)
    }

    /// Keys of a bucket that a thread can put in order: each is there as it was dealt out, by words
    /// with its ordinal, and in a list by parts; what is sorted at once is there twice more. Threads
    /// share the memory for it, and that of hands if they are empty.
    pub(super) fn sorted_keys(
        &self,
        hands: &Hands,
        hands_are_empty: bool,
        means: &Means<'_>,
    ) -> u64 {
        let bytes = self.sorting_bytes(hands_are_empty) / resolving_threads(means) as u64;
        let shape = means.keyed.key_shape();
        let key_bytes = hands.bytes_per_key(shape) + 8 * shape.n_words as u64 + 14;
        let at_once_bytes = 16 * shape.n_words as u64 + 32;
        let at_once = bytes / (key_bytes + at_once_bytes);
        let by_parts = bytes.saturating_sub(MOST_AT_ONCE as u64 * at_once_bytes) / key_bytes;
        at_once.max(by_parts).max(MIN_SORTED_KEYS)
    }

    /// Memory for putting buckets in order.
    fn sorting_bytes(&self, hands_are_empty: bool) -> u64 {
        match hands_are_empty {
            true => self.shares.sort + self.shares.hands,
            false => self.shares.sort,
        }
    }

    /// How many candidates the layer may have.
    fn expected_len(&self, hands: &Hands, means: &Means<'_>) -> u64 {
        match self.before.len {
            0 => 2 * self.shares.hands / hands.bytes_per_key(means.keyed.key_shape()),
            len => len + len / 4,
        }
    }

    /// Whether the keys of so many candidates need not be spilled.
    fn fits_hands(&self, n: u64, hands: &Hands, means: &Means<'_>) -> bool {
        n * hands.bytes_per_key(means.keyed.key_shape()) <= self.shares.hands
    }

    /// How many buckets the layer should have.
    fn wanted_buckets(&self, hands: &Hands, means: &Means<'_>) -> usize {
        let shape = means.keyed.key_shape();
        let n_expected = self.expected_len(hands, means);
        let will_spill = !self.fits_hands(n_expected, hands, means);
        // Half of what there is room for, for some are larger than others.
        let most_keys = self.sorted_keys(hands, will_spill, means) / 2;
        let wanted = n_expected.div_ceil(most_keys.clamp(1, BUCKET_KEYS));
        let pile_bytes = PILE_BYTES.max(2 * least_page_bytes(shape) as u64);
        let most = self.shares.hands / (means.n_threads as u64 * pile_bytes);
        wanted.min(most).clamp(1, MOST_BUCKETS) as usize
    }

    /// Where the buckets of a layer begin, as far as that can be told before there are any keys.
    fn bucket_splitters(&self, tiers: &Tiers, means: &Means<'_>) -> Splitters {
        let shape = means.keyed.key_shape();
        let (n_words, n_buckets) = (shape.n_words, self.n_buckets);
        let n_sampled = self.before.sample.len() / n_words;
        if self.before.shape == Some(shape) && n_sampled >= MIN_SAMPLE_KEYS {
            let n_buckets = n_buckets.min(n_sampled / 2);
            return Splitters::sample(n_words, &[&self.before.sample], n_buckets);
        }
        // Keys of all layers are not quite like those of this one, but better than nothing.
        let views = Views::new(tiers.segments(), means.keyed);
        let runs: Vec<_> = tiers.segments().map(|segment| views.of(segment)).collect();
        fence_splitters(n_words, &runs, n_buckets)
    }
}

/// Nothing is lent to runs any more, and the memory of it is given up.
fn take_all_back(tiers: &Tiers, means: &Means<'_>) {
    let spare = means.folder.spare();
    spare.set_limit(0);
    tiers.let_go(means.folder);
    spare.clear();
}

fn empty_log(folder: &Folder, shares: Shares, durable: bool) -> Result<Log, Error> {
    let mut log = Log::new();
    log.attach(folder.clone(), keep(shares.candidates, durable))?;
    Ok(log)
}

/// Makes the keys of a piece's candidates anew, the first of which is `first`, and deals them out.
fn deal_piece(hand: usize, first: u64, piece: &Slice, means: &Means<'_>) -> Result<(), Error> {
    let n_words = means.keyed.codec.shape(piece.version).n_words;
    let (mut words, mut keys) = (Vec::new(), Vec::new());
    let mut n_keys = 0;
    for parcel in parcels(&piece.bytes) {
        let n_bytes =
            parcel.and_then(|(n, bytes)| read_differences(bytes, 0..n, n_words, &mut words));
        n_bytes.ok_or_else(|| damaged_log("candidates"))?;
        n_keys += words.len() / n_words;
        (means.keyed).keys_of_words(piece.version, &words, &mut keys);
        words.clear();
    }
    if n_keys != piece.n_records() {
        return Err(damaged_log("candidates"));
    }
    read(means.hands).deal(hand, &keys, first);
    Ok(())
}

/// What is said if a piece of the log of candidates or states is not what was written.
pub(crate) fn damaged_log(of: &str) -> Error {
    Error::Damaged {
        file: format!("the log of {of}"),
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

/// Writes parents behind the keys of candidates.
pub(crate) fn write_parents(parents: impl Iterator<Item = Parent>, piece: &mut Vec<u8>) {
    let mut last = 0;
    for parent in parents {
        encode_parent(piece, last, parent);
        last = parent.ordinal;
    }
}

/// Reads parents one after the other, while there are some.
pub(crate) fn read_parents(mut bytes: &[u8]) -> impl Iterator<Item = Parent> {
    let mut last = 0;
    std::iter::from_fn(move || {
        let parent = decode_parent(&mut bytes, last)?;
        last = parent.ordinal;
        Some(parent)
    })
}

#[cfg(test)]
mod tests {
    use super::{LayersBefore, read_parents, write_parents};
    use hadal_store::Parent;
    use hadal_store::codec::KeyShape;

    #[test]
    fn keys_of_several_layers_are_remembered_and_of_no_other_layout() {
        let shape = |version| KeyShape {
            version,
            n_bits: 128,
            n_words: 2,
        };
        let layer = |number: u64, n: u64| (0..n).flat_map(|at| [number, at]).collect::<Vec<_>>();
        let counts = |before: &LayersBefore| {
            let of = |number: u64| before.sample.chunks(2).filter(move |key| key[0] == number);
            [1, 2, 3].map(|number| of(number).count())
        };
        let mut before = LayersBefore::default();
        before.add(layer(1, 400), shape(0));
        assert_eq!(counts(&before), [400, 0, 0]);
        before.add(layer(2, 800), shape(0));
        assert_eq!(counts(&before), [400, 400, 0]);
        before.add(layer(3, 80), shape(0));
        assert_eq!(counts(&before), [30, 30, 20]);
        before.add(layer(3, 7), shape(1));
        assert_eq!(counts(&before), [0, 0, 7]);
        before.add(Vec::new(), shape(1));
        assert_eq!(counts(&before), [0, 0, 0]);
    }

    #[test]
    fn parents_come_back_as_they_were() {
        let parents: Vec<Parent> = [(0, 0), (0, 300), (5, 1), (1 << 40, u32::MAX), (1 << 40, 7)]
            .into_iter()
            .map(|(ordinal, index)| Parent { ordinal, index })
            .collect();
        let mut piece = Vec::new();
        write_parents(parents.iter().copied(), &mut piece);
        let found: Vec<Parent> = read_parents(&piece).collect();
        assert_eq!(found, parents);
        assert_eq!(read_parents(&piece[..3]).count(), 1);
    }
}
