//! A folder as a search uses it: files with fresh names, and a manifest that lists those that count.
//!
//! Nothing that a manifest lists is changed or deleted before the next manifest is in its place, so
//! at any moment the folder holds all that the last manifest needs. What no manifest lists is left
//! over from a run that was cut short, and is swept away when the folder is next used.
//! Files are deleted in the background (see [`removal`](super::removal)).

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::buffers::{Aligned, Pool};
use super::frame::Kind;
use super::manifest::{self, Manifest};
use super::medium::{Disk, DiskFile, Medium};
use super::removal::{Doomed, Remover};
use super::spare::Spare;
use super::threads::IoThreads;
use super::usage::{Statistics, Usage};
use crate::Error;

/// How a folder is to be used.
#[derive(Clone, Copy, Debug)]
pub struct FolderOptions {
    /// Most bytes that all files may take together.
    pub limit_bytes: u64,
    /// Bytes of the device that are left to others, and to the manifest.
    pub reserve_bytes: u64,
    /// Memory for buffers: 16 MiB are enough for full speed, and two blocks for any speed at all.
    pub buffer_bytes: usize,
    /// Whether reading, writing and deleting have threads of their own.
    pub threads: bool,
}

impl FolderOptions {
    /// For a search whose data, buffers included, may take `memory_bytes`.
    pub fn for_memory(memory_bytes: u64) -> Self {
        let usual = Self::default();
        // Buffers must not be most of it. With less than a quarter of a small budget, streams find
        // no memory to read ahead.
        let share = usize::try_from(memory_bytes / 4).unwrap_or(usize::MAX);
        Self {
            buffer_bytes: share.min(usual.buffer_bytes),
            ..usual
        }
    }
}

impl Default for FolderOptions {
    fn default() -> Self {
        Self {
            limit_bytes: u64::MAX,
            reserve_bytes: 64 << 20,
            buffer_bytes: 16 << 20,
            threads: true,
        }
    }
}

/// A folder of block files and its manifest; clones are the same folder.
#[derive(Clone)]
pub struct Folder {
    inner: Arc<Inner>,
}

struct Inner {
    disk: Arc<dyn Disk>,
    search_id: u64,
    reserve_bytes: u64,
    usage: Arc<Usage>,
    pool: Arc<Pool>,
    spare: Arc<Spare>,
    threads: IoThreads,
    remover: Remover,
    files: Mutex<Files>,
    /// Held while a manifest is written. It is the number of those before.
    commits: Mutex<u64>,
}

#[derive(Default)]
struct Files {
    next_number: u64,
    /// All that are there, but for those that are about to go.
    known: HashMap<String, Known>,
    /// Made since the last manifest, so no manifest lists them.
    fresh: HashSet<String>,
    /// Made to be in no manifest ever.
    scratch: HashSet<String>,
    /// To be deleted when the next manifest is in its place.
    retired: Vec<String>,
}

impl Files {
    /// Whether no manifest can list a file, which is then about to go.
    fn take_unlisted(&mut self, name: &str) -> bool {
        self.fresh.remove(name) || self.scratch.remove(name)
    }
}

struct Known {
    /// Length, as far as it is claimed.
    len: Arc<AtomicU64>,
    /// The file as it was last opened, if it was.
    file: Option<Weak<dyn DiskFile>>,
}

impl Known {
    fn unopened(len: u64) -> Self {
        Self {
            len: Arc::new(len.into()),
            file: None,
        }
    }
}

impl Folder {
    /// Uses `disk`. With it comes what its manifest says, if it has one.
    pub fn open(
        disk: Arc<dyn Disk>,
        options: FolderOptions,
    ) -> Result<(Self, Option<Vec<u8>>), Error> {
        let mut files = Files::default();
        let mut disk_bytes = 0;
        for entry in disk
            .list()
            .map_err(|e| Error::from_io("the folder", 0, e))?
        {
            let number = number_of(&entry.name);
            if let Some(number) = number {
                files.next_number = files.next_number.max(number.saturating_add(1));
            }
            if number.is_some() || [manifest::NAME, manifest::NEW_NAME].contains(&&*entry.name) {
                disk_bytes += entry.len;
                files.known.insert(entry.name, Known::unopened(entry.len));
            }
        }
        let last = match files.known.get(manifest::NAME) {
            Some(known) => Some(read_manifest(&*disk, known.len.load(Relaxed))?),
            None => None,
        };
        let (search_id, sequence, payload) = match last {
            Some(Manifest {
                search_id,
                sequence,
                payload,
            }) => (search_id, sequence, Some(payload)),
            None => (random_id(), 0, None),
        };
        let usage = Arc::new(Usage::new(disk_bytes, options.limit_bytes));
        let (for_removal, usage_of_removal) = (Arc::clone(&disk), Arc::clone(&usage));
        let (threads, remover) = if options.threads {
            let failed = |e| Error::from_io("the folder", 0, e);
            (
                IoThreads::start().map_err(failed)?,
                Remover::start(for_removal, usage_of_removal).map_err(failed)?,
            )
        } else {
            (
                IoThreads::none(),
                Remover::none(for_removal, usage_of_removal),
            )
        };
        let inner = Inner {
            disk,
            search_id,
            reserve_bytes: options.reserve_bytes,
            usage,
            pool: Pool::new(options.buffer_bytes),
            spare: Arc::default(),
            threads,
            remover,
            files: Mutex::new(files),
            commits: Mutex::new(sequence),
        };
        let inner = Arc::new(inner);
        Ok((Self { inner }, payload))
    }

    /// Deletes all files of searches but those `listed`, which must be there. They are gone when
    /// this returns.
    pub fn sweep<'a>(&self, listed: impl IntoIterator<Item = &'a str>) -> Result<(), Error> {
        let listed: HashSet<&str> = listed.into_iter().collect();
        let mut unlisted = Vec::new();
        {
            let files = self.files();
            if let Some(missing) = listed.iter().find(|&&name| !files.known.contains_key(name)) {
                return Err(Error::damaged(
                    missing,
                    0,
                    "the manifest lists this file, but there is none",
                ));
            }
            for name in files.known.keys() {
                if name != manifest::NAME && !listed.contains(name.as_str()) {
                    unlisted.push(name.clone());
                }
            }
        }
        unlisted.sort();
        self.delete(unlisted)?;
        self.settle()
    }

    /// Makes `payload` the manifest, durably; then deletes what was retired before.
    ///
    /// All that the payload lists must have been synced. If this fails, the folder is as the last
    /// manifest needs it or as this one does, and nothing that either lists is gone.
    pub fn commit(&self, payload: &[u8]) -> Result<(), Error> {
        let inner = &*self.inner;
        let mut commits = inner.commits.lock().unwrap_or_else(PoisonError::into_inner);
        let failed =
            |e| Error::from_io(manifest::NAME, manifest::file_len(payload.len()) as u64, e);
        let retired = self.files().retired.clone();
        if self.files().known.contains_key(manifest::NEW_NAME) {
            self.delete([manifest::NEW_NAME.to_owned()])?;
            self.settle()?;
        }
        let bytes = manifest::encode(inner.search_id, *commits + 1, payload);
        let len = bytes.bytes().len();
        // The reserve is there for this.
        self.with_room(|| inner.usage.grow(len as u64, &*inner.disk, 0))?;
        let known = Known::unopened(len as u64);
        self.files()
            .known
            .insert(manifest::NEW_NAME.to_owned(), known);
        inner.usage.waiting(|| {
            let create = || inner.disk.create(manifest::NEW_NAME).map_err(failed);
            let file = self.with_room(create)?;
            self.with_room(|| file.write_at(bytes.bytes(), 0).map_err(failed))?;
            file.sync().map_err(failed)?;
            // The names of all that is listed must be safe before the manifest that lists them.
            inner.disk.sync_folder().map_err(failed)?;
            // From here on this manifest may count, so what it may list is no longer fresh.
            self.files().fresh.clear();
            inner
                .disk
                .rename(manifest::NEW_NAME, manifest::NAME)
                .map_err(failed)?;
            let mut files = self.files();
            if let Some(new) = files.known.remove(manifest::NEW_NAME)
                && let Some(old) = files.known.insert(manifest::NAME.to_owned(), new)
            {
                inner.usage.shrink(old.len.load(Relaxed));
            }
            drop(files);
            inner.disk.sync_folder().map_err(failed)
        })?;
        inner.usage.count_written(len);
        *commits += 1;
        drop(commits);
        let is_gone: HashSet<&String> = retired.iter().collect();
        self.files().retired.retain(|name| !is_gone.contains(name));
        self.delete(retired)
    }

    /// Deletes a file as soon as no manifest needs it: now if none can list it, else after the next
    /// one. Nobody may be reading or writing it then.
    ///
    /// The file goes in the background. An error may be that of another file that was to go before.
    pub fn retire(&self, name: &str) -> Result<(), Error> {
        let mut files = self.files();
        if files.take_unlisted(name) {
            drop(files);
            return self.delete([name.to_owned()]);
        }
        if files.known.contains_key(name) && !files.retired.iter().any(|old| old == name) {
            files.retired.push(name.to_owned());
        }
        drop(files);
        self.take_failures()
    }

    /// Deletes a file that nobody has any use for, unless a manifest may list it. An error is told
    /// by the next call that deletes something.
    pub(crate) fn abandon(&self, name: &str) {
        let is_unlisted = self.files().take_unlisted(name);
        if is_unlisted {
            self.doom([name.to_owned()]);
        }
    }

    /// Returns when all that could be deleted so far is gone.
    pub fn settle(&self) -> Result<(), Error> {
        self.inner.usage.waiting(|| self.inner.remover.wait());
        self.take_failures()
    }

    /// Length of the files that are deleted after the next manifest.
    pub fn retired_bytes(&self) -> u64 {
        let files = self.files();
        let retired = files.retired.iter();
        let known = retired.filter_map(|name| files.known.get(name));
        known.map(|known| known.len.load(Relaxed)).sum()
    }

    /// Deletes the manifest and all files of searches: there is nothing to go on with any more.
    pub fn clear(&self) -> Result<(), Error> {
        // First the manifest, for good, so that there is none that lists what is gone.
        self.delete([manifest::NAME.to_owned()])?;
        self.settle()?;
        self.inner
            .disk
            .sync_folder()
            .map_err(|e| Error::from_io(manifest::NAME, 0, e))?;
        {
            let mut files = self.files();
            files.fresh.clear();
            files.scratch.clear();
            files.retired.clear();
        }
        self.sweep([])
    }

    /// What went through the folder so far.
    pub fn statistics(&self) -> Statistics {
        self.inner.usage.statistics()
    }

    /// Memory that buffers take, at most and now: a fixed sum, and a block for each writer or
    /// reader that found all of it in use.
    pub fn data_bytes(&self) -> u64 {
        self.inner.pool.data_bytes()
    }

    /// Memory that blocks may borrow which were read once; none until somebody says how much.
    pub fn spare(&self) -> &Arc<Spare> {
        &self.inner.spare
    }

    /// What the folder lies on.
    pub fn medium(&self) -> Medium {
        self.inner.disk.medium()
    }

    /// Bytes that can still be written, by the limit and by the device, when all that could be
    /// deleted is gone.
    pub fn free_bytes(&self) -> Result<u64, Error> {
        let inner = &*self.inner;
        inner.usage.waiting(|| inner.remover.wait());
        let free = inner.usage.ask_free(&*inner.disk);
        let free = free.map_err(|e| Error::from_io("the folder", 0, e))?;
        let allowed = inner.usage.allowed_bytes();
        Ok(allowed.min(free.saturating_sub(inner.reserve_bytes)))
    }

    /// Whether so many bytes can still be written, as far as is known.
    ///
    /// The device is asked for every piece that is written. Nothing that happens here makes less of
    /// what was free then, so it is asked again only where that was too little.
    pub fn has_free(&self, bytes: u64) -> bool {
        let inner = &*self.inner;
        let least = inner
            .usage
            .noted_free()
            .saturating_sub(inner.reserve_bytes)
            .min(inner.usage.allowed_bytes());
        least >= bytes || self.free_bytes().map_or(true, |free| free >= bytes)
    }

    pub(crate) fn search_id(&self) -> u64 {
        self.inner.search_id
    }

    pub(crate) fn pool(&self) -> &Arc<Pool> {
        &self.inner.pool
    }

    pub(crate) fn threads(&self) -> &IoThreads {
        &self.inner.threads
    }

    pub(crate) fn usage(&self) -> &Usage {
        &self.inner.usage
    }

    /// Files deleted so far.
    pub(crate) fn n_gone(&self) -> u64 {
        self.inner.remover.n_gone()
    }

    /// Waits for what is to go. Says whether anything has gone since [`n_gone`](Self::n_gone) was
    /// what is given here.
    pub(crate) fn has_made_room(&self, n_gone: u64) -> bool {
        self.inner.usage.waiting(|| self.inner.remover.wait());
        self.n_gone() > n_gone
    }

    /// Does something that needs room. If there is none, does it again when all is gone that is to.
    pub(crate) fn with_room<T>(&self, attempt: impl Fn() -> Result<T, Error>) -> Result<T, Error> {
        let n_gone = self.n_gone();
        match attempt() {
            Err(Error::Full { .. }) if self.has_made_room(n_gone) => attempt(),
            outcome => outcome,
        }
    }

    /// A new file with a name that no other has. If it `may_be_listed` in a manifest, it stays until
    /// one is written that does not list it, else it can go at any time.
    pub(crate) fn create(&self, kind: Kind, may_be_listed: bool) -> Result<OpenFile, Error> {
        let name = {
            let mut files = self.files();
            files.next_number += 1;
            format!("{}-{:08}.{SUFFIX}", kind.letters(), files.next_number - 1)
        };
        let create = || {
            let created = self.inner.disk.create(&name);
            created.map_err(|e| Error::from_io(&name, 0, e))
        };
        let file = self.with_room(create)?;
        let len = Arc::new(AtomicU64::new(0));
        let known = Known {
            len: Arc::clone(&len),
            file: Some(Arc::downgrade(&file)),
        };
        let mut files = self.files();
        files.known.insert(name.clone(), known);
        match may_be_listed {
            true => files.fresh.insert(name.clone()),
            false => files.scratch.insert(name.clone()),
        };
        drop(files);
        Ok(OpenFile {
            name,
            file,
            len,
            folder: self.clone(),
        })
    }

    /// A file that is there.
    pub(crate) fn open_file(&self, name: &str) -> Result<OpenFile, Error> {
        let missing = || Error::damaged(name, 0, "the file is missing");
        if !self.files().known.contains_key(name) {
            return Err(missing());
        }
        let opened = self.inner.disk.open(name);
        let file = opened.map_err(|e| Error::from_io(name, 0, e))?;
        let mut files = self.files();
        let known = files.known.get_mut(name).ok_or_else(missing)?;
        known.file = Some(Arc::downgrade(&file));
        Ok(OpenFile {
            name: name.to_owned(),
            file,
            len: Arc::clone(&known.len),
            folder: self.clone(),
        })
    }

    /// Has files deleted, in this order.
    fn delete(&self, names: impl IntoIterator<Item = String>) -> Result<(), Error> {
        self.doom(names);
        self.take_failures()
    }

    fn doom(&self, names: impl IntoIterator<Item = String>) {
        let mut files = self.files();
        let doom = |name: String| {
            let known = files.known.remove(&name);
            let Known { len, file } = known.unwrap_or_else(|| Known::unopened(0));
            let file = file.and_then(|file| file.upgrade());
            Doomed { name, len, file }
        };
        let doomed = names.into_iter().map(doom).collect();
        drop(files);
        self.inner.remover.remove(doomed);
    }

    /// The first error of those that deleting has met since it was last asked. The files are still
    /// there, so they are known again.
    fn take_failures(&self) -> Result<(), Error> {
        let mut first = Ok(());
        for (Doomed { name, len, .. }, error) in self.inner.remover.take_failures() {
            if first.is_ok() {
                first = Err(Error::from_io(&name, 0, error));
            }
            self.files().known.insert(name, Known { len, file: None });
        }
        first
    }

    fn files(&self) -> MutexGuard<'_, Files> {
        self.inner
            .files
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// An open file of a folder, which knows how long it is and who pays for it.
#[derive(Clone)]
pub(crate) struct OpenFile {
    pub(crate) name: String,
    pub(crate) file: Arc<dyn DiskFile>,
    pub(crate) folder: Folder,
    len: Arc<AtomicU64>,
}

impl OpenFile {
    /// Length, with what is still being written.
    pub(crate) fn len(&self) -> u64 {
        self.len.load(Relaxed)
    }

    /// Claims room up to `end`; a file has one writer, so nobody else does.
    pub(crate) fn grow_to(&self, end: u64) -> Result<(), Error> {
        let more = end.saturating_sub(self.len());
        let inner = &*self.folder.inner;
        let grow = || inner.usage.grow(more, &*inner.disk, inner.reserve_bytes);
        self.folder.with_room(grow)?;
        self.len.fetch_add(more, Relaxed);
        Ok(())
    }

    /// Cuts off what is behind `end`.
    pub(crate) fn cut_to(&self, end: u64) -> Result<(), Error> {
        let less = self.len().saturating_sub(end);
        if less > 0 {
            self.file
                .truncate(end)
                .map_err(|e| Error::from_io(&self.name, 0, e))?;
            self.len.fetch_sub(less, Relaxed);
            self.folder.inner.usage.shrink(less);
        }
        Ok(())
    }
}

const SUFFIX: &str = "hadal";

/// The number in a name that [`Folder::create`] gave; no other file is ever touched.
fn number_of(name: &str) -> Option<u64> {
    let (kind, rest) = name.split_once('-')?;
    let digits = rest.strip_suffix(SUFFIX)?.strip_suffix('.')?;
    let is_kind = kind.len() == 4
        && kind
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    // So long that no search gets there, and so short that there is always a next number.
    let is_number =
        (8..=16).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_kind && is_number {
        digits.parse().ok()
    } else {
        None
    }
}

fn read_manifest(disk: &dyn Disk, len: u64) -> Result<Manifest, Error> {
    let failed = |e| Error::from_io(manifest::NAME, 0, e);
    let Ok(whole) = usize::try_from(len) else {
        return Err(Error::damaged(manifest::NAME, 0, "it is too long"));
    };
    if !whole.is_multiple_of(super::SECTOR_BYTES) {
        return Err(Error::damaged(manifest::NAME, len, "it has an odd length"));
    }
    let mut bytes = Aligned::new(whole);
    let file = disk.open(manifest::NAME).map_err(failed)?;
    file.read_at(bytes.bytes_mut(), 0).map_err(failed)?;
    manifest::decode(bytes.bytes())
}

/// A number that no other call has given, as far as chance goes.
pub(crate) fn random_id() -> u64 {
    // Every `RandomState` has other keys, and the first are the system's random numbers.
    RandomState::new().hash_one(std::time::SystemTime::now())
}

#[cfg(test)]
mod tests {
    use super::number_of;

    #[test]
    fn only_names_of_ours_have_numbers() {
        assert_eq!(number_of("prnt-00000012.hadal"), Some(12));
        assert_eq!(number_of("run0-123456789.hadal"), Some(123_456_789));
        for name in [
            "prnt-0000012.hadal",
            "prnt-00000012hadal",
            "prnt-00000012.hadal.bak",
            "notes-00000012.hadal",
            "Prnt-00000012.hadal",
            "prnt-+0000012.hadal",
            "prnt-18446744073709551615.hadal",
            "prnt.hadal",
            "MANIFEST",
        ] {
            assert_eq!(number_of(name), None, "{name}");
        }
    }
}
