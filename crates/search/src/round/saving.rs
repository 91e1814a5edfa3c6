//! Rounds as they are written to a folder, and taken up again.

use hadal_model::{PAD_BYTES, States};
use hadal_store::codec::{Codec, Mark};
use hadal_store::disk::ParentLog;
use hadal_store::{
    Error as StoreError, Keep, Keys, Log, N_PARTITIONS, Placing, SegmentEntry, Set, Slice,
};

use super::{Rounds, means};
use crate::external::{External, Tiers, damaged_log, sort_reserve, sweep};
use crate::shared::{lock, read, write};
use crate::snapshot::{Blob, SavedExternal, Snapshot};
use crate::visited::{Keyed, Visited};
use crate::{Error, OnDisk, StoreKind};

/// What a snapshot has of the states.
pub(crate) struct SavedStates {
    pub(crate) store: (StoreKind, u64),
    pub(crate) codec: Blob,
    pub(crate) log: Vec<SegmentEntry>,
    pub(crate) parents: Blob,
    pub(crate) parents_file: Option<String>,
    pub(crate) external: Option<SavedExternal>,
}

/// Records that are taken into the set at once.
const RECORDS_AT_ONCE: u64 = 1 << 16;

impl Rounds<'_> {
    /// Whether a search like this can be written down: states must have keys.
    pub(crate) fn can_be_saved(&self) -> bool {
        let is_resumable = self.on_disk.as_ref().is_some_and(|disk| disk.resumable);
        is_resumable && matches!(self.shared.visited, Visited::Keys(_))
    }

    /// From now on everything that a later run needs is written as it comes.
    pub(crate) fn begin_saving(&mut self) -> Result<(), Error> {
        let (Some(on_disk), Visited::Keys(keyed)) = (&self.on_disk, &self.shared.visited) else {
            return Ok(());
        };
        if on_disk.resumable {
            lock(&keyed.log).attach(on_disk.folder.clone(), Keep::AllAndWrite)?;
            self.parents.attach(&on_disk.folder)?;
        }
        Ok(())
    }

    /// Makes everything last that a snapshot lists.
    pub(crate) fn save(&mut self) -> Result<Option<SavedStates>, Error> {
        let (Some(on_disk), Visited::Keys(keyed)) = (&self.on_disk, &self.shared.visited) else {
            return Ok(None);
        };
        let external = match &mut self.external {
            None => None,
            Some(external) => {
                let n_threads = self.sizes.n_threads;
                let means = means(self.shared, keyed, on_disk, &external.shares, n_threads);
                let (tiers, merging) = external.tiers.commit(&means)?;
                let candidates = external.candidates.commit()?;
                Some(SavedExternal {
                    tiers,
                    merging,
                    ..candidates
                })
            }
        };
        let mut codec = Vec::new();
        keyed.codec.write_since(&mut Mark::default(), &mut codec);
        Ok(Some(SavedStates {
            store: keyed.store(),
            codec: Blob(codec),
            log: lock(&keyed.log).commit()?,
            parents: Blob(self.parents.commit(&on_disk.folder)?),
            parents_file: self.parents.file_name(),
            external,
        }))
    }

    /// Takes up what a snapshot lists.
    pub(crate) fn restore(&mut self, snapshot: &Snapshot) -> Result<(), Error> {
        let shared = self.shared;
        let (Some(on_disk), Visited::Keys(keyed)) = (self.on_disk.clone(), &shared.visited) else {
            return Err(damaged("this model's states have no keys"));
        };
        if keyed.store() != snapshot.store {
            return Err(Error::OtherStore {
                begun: snapshot.store,
                asked: keyed.store(),
            });
        }
        let folder = &on_disk.folder;
        folder.sweep(snapshot.files())?;
        restore_codec(&keyed.codec, &snapshot.codec)?;
        *write(&keyed.set) = Set::new(Placing::new(keyed.key_shape().n_bits));
        self.parents = ParentLog::reopen(folder, &snapshot.parents.0)?;
        let keep = match &snapshot.external {
            Some(_) => Keep::BytesAndWrite(self.shares(keyed, folder).frontier),
            None => Keep::AllAndWrite,
        };
        let mut log = Log::reopen(folder.clone(), keep, &snapshot.log)?;
        if log.is_empty() {
            log.begin_at(snapshot.n_states);
        }
        if log.len() != snapshot.n_states || self.parents.len() != snapshot.n_states {
            return Err(damaged("states are missing"));
        }
        *lock(&keyed.log) = log;
        match &snapshot.external {
            Some(saved) => {
                let tiers = Tiers::open(folder, &saved.tiers, saved.merging)?;
                self.begin_external(tiers)?;
                if let Some(external) = &mut self.external {
                    let n_threads = self.sizes.n_threads;
                    let means = means(shared, keyed, &on_disk, &external.shares, n_threads);
                    let External {
                        candidates, tiers, ..
                    } = external;
                    candidates.reopen(saved, tiers, &means)?;
                    if external.candidates.len() != saved.n_candidates {
                        return Err(damaged("candidates are missing"));
                    }
                }
            }
            None => self.fill_set(keyed, &on_disk, snapshot)?,
        }
        lock(&keyed.log).release_before(snapshot.frontier.start);
        Ok(())
    }

    /// Takes all states into the set again, and on to disk what does not fit.
    fn fill_set(
        &mut self,
        keyed: &Keyed,
        on_disk: &OnDisk,
        snapshot: &Snapshot,
    ) -> Result<(), Error> {
        let placing = read(&keyed.set).placing();
        let (mut keys, mut words) = (Keys::default(), Vec::new());
        let mut tiers: Option<Tiers> = None;
        let mut first = 0;
        while first < snapshot.n_states {
            let n = RECORDS_AT_ONCE.min(snapshot.n_states - first);
            let slices = lock(&keyed.log).read(first, n as usize)?;
            first += n;
            words.clear();
            for slice in &slices {
                (keyed.keys_of(slice, &mut words)).ok_or_else(|| damaged_log("states"))?;
            }
            keys.fill(placing, &words);
            let mut counts = [0; N_PARTITIONS];
            for (partition, count) in counts.iter_mut().enumerate() {
                *count = keys.positions(partition).len();
            }
            let growth_bytes = read(&keyed.set).growth_bytes(&counts, 1);
            if !self.fits(growth_bytes) {
                let shares = self.shares(keyed, &on_disk.folder);
                let means = means(self.shared, keyed, on_disk, &shares, self.sizes.n_threads);
                let sort_bytes = sort_reserve(self.sizes.memory_bytes);
                let tiers = tiers.get_or_insert_default();
                sweep(
                    &read(&keyed.set),
                    0..N_PARTITIONS,
                    sort_bytes,
                    &means,
                    tiers,
                )?;
                *write(&keyed.set) = Set::new(placing);
            }
            let set = read(&keyed.set);
            for partition in 0..N_PARTITIONS {
                let cells = std::iter::once(keys.cells(partition));
                write(set.partition(partition)).add_all(cells, |_, _| ());
            }
            drop(set);
            self.table_bytes = self.shared.visited.table_bytes();
            let expanded = first.min(snapshot.frontier.start);
            lock(&keyed.log).release_before(expanded);
        }
        if let Some(mut tiers) = tiers {
            let shares = self.shares(keyed, &on_disk.folder);
            let means = means(self.shared, keyed, on_disk, &shares, self.sizes.n_threads);
            let sort_bytes = sort_reserve(self.sizes.memory_bytes);
            sweep(
                &read(&keyed.set),
                0..N_PARTITIONS,
                sort_bytes,
                &means,
                &mut tiers,
            )?;
            self.begin_external(tiers)?;
            self.balance_runs()?;
        }
        Ok(())
    }
}

impl Keyed {
    /// Appends the keys of some records, as set and runs have them now; `None` if these are not what
    /// was written.
    fn keys_of(&self, slice: &Slice, keys: &mut Vec<u64>) -> Option<()> {
        let mut words = Vec::new();
        self.read_records(slice, &mut words)?;
        self.keys_of_words(slice.version, &words, keys);
        Some(())
    }

    /// As [`keys_of`](Self::keys_of), for keys that the codec made, of a version.
    pub(crate) fn keys_of_words(&self, version: u32, words: &[u64], keys: &mut Vec<u64>) {
        let (shape, newest) = (self.codec.shape(version), self.codec.newest());
        if let Some(hashing) = &self.hashing {
            let mut states = Vec::new();
            self.codec.decode(version, words, &mut states);
            states.resize(states.len() + PAD_BYTES, 0);
            let n = words.len() / shape.n_words;
            let states = States::new(&states, self.codec.state_len(), n);
            hashing.append(states, keys);
            return;
        }
        if shape == newest {
            keys.extend_from_slice(words);
            return;
        }
        let recoder = self.codec.recoder(version, newest.version);
        for key in words.chunks_exact(shape.n_words) {
            let end = keys.len();
            keys.resize(end + newest.n_words, 0);
            assert!(
                recoder.recode(key, &mut keys[end..]),
                "newer layouts have room for all"
            );
        }
    }
}

fn restore_codec(codec: &Codec, blob: &Blob) -> Result<(), Error> {
    codec
        .read_log(&blob.0)
        .map_err(|error| damaged(&error.to_string()))
}

fn damaged(what: &str) -> Error {
    Error::Store(StoreError::Damaged {
        file: "the manifest".to_owned(),
        offset: 0,
        what: what.to_owned(),
    })
}
