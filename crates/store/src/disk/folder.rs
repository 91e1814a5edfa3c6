//! A folder as a search uses it: files with fresh names, and a manifest that lists the live ones.
//!
//! Nothing that a manifest lists is changed or deleted before the next manifest is in place, so at
//! any moment the folder holds all that the last manifest needs. Files that no manifest lists are
//! leftovers of a run that was cut short, and are deleted when the folder is next used.
//! Files are deleted in the background (see [`removal`](super::removal)).

mod name;
mod open_file;
mod options;

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::Kind;
use super::buffers::{Aligned, Pool};
use super::lent_memory::LentMemory;
use super::manifest::{self, Manifest, Payload};
use super::medium::{Disk, DiskFile, Medium};
use super::removal::{PendingRemoval, Remover};
use super::threads::IoThreads;
use super::usage::{Refusal, Statistics, Usage};
use crate::Error;

pub(crate) use open_file::OpenFile;
pub use options::FolderOptions;

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
    spare: Arc<LentMemory>,
    threads: IoThreads,
    remover: Remover,
    files: Mutex<Files>,
    /// Number of manifests so far; locked while one is written.
    commits: Mutex<u64>,
}

#[derive(Default)]
struct Files {
    next_number: u64,
    /// All files but those being deleted.
    known: HashMap<String, Known>,
    /// Created since the last manifest, so no manifest lists them.
    fresh: HashSet<String>,
    /// Never listed in a manifest.
    scratch: HashSet<String>,
    /// To be deleted after the next manifest.
    retired: Vec<String>,
}

impl Files {
    /// Whether no manifest can list a file; forgets it then, for it is about to be deleted.
    fn take_unlisted(&mut self, name: &str) -> bool {
        self.fresh.remove(name) || self.scratch.remove(name)
    }
}

struct Known {
    /// Length, claimed bytes included.
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
    /// Opens `disk`; returns the payload of its manifest as well, if it has one.
    pub fn open(
        disk: Arc<dyn Disk>,
        options: FolderOptions,
    ) -> Result<(Self, Option<Payload>), Error> {
        Self::open_with(disk, options, read_manifest)
    }

    /// Opens `disk` for a new search: deletes all files of earlier ones, the manifest unread, which
    /// may be of any version.
    pub fn open_anew(disk: Arc<dyn Disk>, options: FolderOptions) -> Result<Self, Error> {
        let (folder, _) = Self::open_with(disk, options, |_, _| Ok(None))?;
        folder.clear()?;
        Ok(folder)
    }

    fn open_with(
        disk: Arc<dyn Disk>,
        options: FolderOptions,
        read_manifest: impl FnOnce(&dyn Disk, u64) -> Result<Option<Manifest>, Error>,
    ) -> Result<(Self, Option<Payload>), Error> {
        let mut files = Files::default();
        let mut disk_bytes = 0;
        for entry in disk
            .list()
            .map_err(|e| Error::from_io("the folder", 0, e))?
        {
            let number = name::number_of(&entry.name);
            if let Some(number) = number {
                files.next_number = files.next_number.max(number.saturating_add(1));
            }
            if number.is_some() || [manifest::NAME, manifest::NEW_NAME].contains(&&*entry.name) {
                disk_bytes += entry.len;
                files.known.insert(entry.name, Known::unopened(entry.len));
            }
        }
        let last = match files.known.get(manifest::NAME) {
            Some(known) => read_manifest(&*disk, known.len.load(Relaxed))?,
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

    /// Deletes all files of searches except those `listed`, which must exist. Returns when they are
    /// gone.
    pub fn sweep<'a>(&self, listed: impl IntoIterator<Item = &'a str>) -> Result<(), Error> {
        let listed: HashSet<&str> = listed.into_iter().collect();
        let mut unlisted = Vec::new();
        {
            let files = self.files();
            if let Some(missing) = listed.iter().find(|&&name| !files.known.contains_key(name)) {
                return Err(Error::damaged(
                    missing,
                    0,
                    "the manifest lists this file, but it does not exist",
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
        self.wait_for_deletions()
    }

    /// Makes `payload`, of its own version `version`, the manifest, durably; then deletes what was
    /// retired before.
    ///
    /// All that the payload lists must have been synced. If this fails, the folder is as the last
    /// manifest or as this one needs it, and no file that either lists is gone.
    pub fn commit(&self, version: u32, payload: &[u8]) -> Result<(), Error> {
        let inner = &*self.inner;
        let mut commits = inner.commits.lock().unwrap_or_else(PoisonError::into_inner);
        let failed =
            |e| Error::from_io(manifest::NAME, manifest::file_len(payload.len()) as u64, e);
        let retired = self.files().retired.clone();
        if self.files().known.contains_key(manifest::NEW_NAME) {
            self.delete([manifest::NEW_NAME.to_owned()])?;
            self.wait_for_deletions()?;
        }
        let bytes = manifest::encode(inner.search_id, *commits + 1, version, payload);
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
            // The names of all listed files must be durable before the manifest that lists them.
            inner.disk.sync_folder().map_err(failed)?;
            // From here on this manifest may be in effect, so the files that it may list are no
            // longer fresh.
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
    /// one. It must not be read or written by then.
    ///
    /// The file is deleted in the background. An error may be about an earlier file.
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

    /// Deletes a file, unless a manifest may list it. The next call that deletes something reports
    /// an error.
    pub(crate) fn abandon(&self, name: &str) {
        let is_unlisted = self.files().take_unlisted(name);
        if is_unlisted {
            self.remove([name.to_owned()]);
        }
    }

    /// Returns when all deletions that were possible so far are done.
    pub fn wait_for_deletions(&self) -> Result<(), Error> {
        self.inner.usage.waiting(|| self.inner.remover.wait());
        self.take_failures()
    }

    /// Length of all files to be deleted after the next manifest.
    pub fn retired_bytes(&self) -> u64 {
        let files = self.files();
        let retired = files.retired.iter();
        let known = retired.filter_map(|name| files.known.get(name));
        known.map(|known| known.len.load(Relaxed)).sum()
    }

    /// Deletes the manifest and all files of searches: there is nothing left to resume.
    pub fn clear(&self) -> Result<(), Error> {
        // First the manifest, durably, so that none lists a deleted file.
        self.delete([manifest::NAME.to_owned()])?;
        self.wait_for_deletions()?;
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

    /// I/O of the folder so far.
    pub fn statistics(&self) -> Statistics {
        self.inner.usage.statistics()
    }

    /// Memory that buffers take, at most and now: a fixed amount, and a block for each writer or
    /// reader that found none free.
    pub fn data_bytes(&self) -> u64 {
        self.inner.pool.data_bytes()
    }

    /// Memory lent to the block caches; none until a limit is set.
    pub fn lent_memory(&self) -> &Arc<LentMemory> {
        &self.inner.spare
    }

    /// The medium of the folder.
    pub fn medium(&self) -> Medium {
        self.inner.disk.medium()
    }

    /// Bytes that can still be written, by the limit and by the device, after all deletions that
    /// are possible.
    pub fn free_bytes(&self) -> Result<u64, Error> {
        let inner = &*self.inner;
        inner.usage.waiting(|| inner.remover.wait());
        let free = inner.usage.ask_free(&*inner.disk);
        let free = free.map_err(|e| Error::from_io("the folder", 0, e))?;
        let allowed = inner.usage.allowed_bytes();
        Ok(allowed.min(free.saturating_sub(inner.reserve_bytes)))
    }

    /// Why a write was last refused; `None` where none was, or the device refused it.
    pub fn refusal(&self) -> Option<Refusal> {
        self.inner.usage.refusal()
    }

    /// Whether `bytes` more bytes can be written, as far as is known.
    ///
    /// The device is asked on every write, and deletions only free more; so it is asked again only
    /// where its last answer was too little.
    pub fn has_free(&self, bytes: u64) -> bool {
        let inner = &*self.inner;
        let least = inner
            .usage
            .noted_free()
            .saturating_sub(inner.reserve_bytes)
            .min(inner.usage.allowed_bytes());
        if least >= bytes || self.free_bytes().map_or(true, |free| free >= bytes) {
            return true;
        }
        inner.usage.note_refusal(match inner.usage.allowed_bytes() {
            allowed if allowed < bytes => Refusal::Limit,
            _ => Refusal::Reserve {
                free_bytes: inner.usage.noted_free(),
                reserve_bytes: inner.reserve_bytes,
            },
        });
        false
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

    /// Waits for pending deletions. Returns whether any was done since [`n_gone`](Self::n_gone)
    /// returned `n_gone`.
    pub(crate) fn has_made_room(&self, n_gone: u64) -> bool {
        self.inner.usage.waiting(|| self.inner.remover.wait());
        self.n_gone() > n_gone
    }

    /// Attempts something that needs room; if there is none, tries again after pending deletions.
    pub(crate) fn with_room<T>(&self, attempt: impl Fn() -> Result<T, Error>) -> Result<T, Error> {
        let n_gone = self.n_gone();
        match attempt() {
            Err(Error::Full { .. }) if self.has_made_room(n_gone) => attempt(),
            outcome => outcome,
        }
    }

    /// A new file with a name that no other has. If it `may_be_listed` in a manifest, it stays
    /// until one is written that does not list it, else it can be deleted at any time.
    pub(crate) fn create(&self, kind: Kind, may_be_listed: bool) -> Result<OpenFile, Error> {
        let name = {
            let mut files = self.files();
            files.next_number += 1;
            name::of(kind, files.next_number - 1)
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

    /// Opens an existing file.
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

    /// Deletes files in the background, in this order.
    fn delete(&self, names: impl IntoIterator<Item = String>) -> Result<(), Error> {
        self.remove(names);
        self.take_failures()
    }

    fn remove(&self, names: impl IntoIterator<Item = String>) {
        let mut files = self.files();
        let pending = |name: String| {
            let known = files.known.remove(&name);
            let Known { len, file } = known.unwrap_or_else(|| Known::unopened(0));
            let file = file.and_then(|file| file.upgrade());
            PendingRemoval { name, len, file }
        };
        let pending = names.into_iter().map(pending).collect();
        drop(files);
        self.inner.remover.remove(pending);
    }

    /// The first error of deletions since the last call. The files still exist, so they are known
    /// again.
    fn take_failures(&self) -> Result<(), Error> {
        let mut first = Ok(());
        for (PendingRemoval { name, len, .. }, error) in self.inner.remover.take_failures() {
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

fn read_manifest(disk: &dyn Disk, len: u64) -> Result<Option<Manifest>, Error> {
    let failed = |e| Error::from_io(manifest::NAME, 0, e);
    let Ok(whole) = usize::try_from(len) else {
        return Err(Error::damaged(manifest::NAME, 0, "it is too long"));
    };
    if !whole.is_multiple_of(super::SECTOR_BYTES) {
        return Err(Error::damaged(
            manifest::NAME,
            len,
            "its length is not a multiple of a sector",
        ));
    }
    let mut bytes = Aligned::new(whole);
    let file = disk.open(manifest::NAME).map_err(failed)?;
    file.read_at(bytes.bytes_mut(), 0).map_err(failed)?;
    manifest::decode(bytes.bytes()).map(Some)
}

/// A random number.
pub(crate) fn random_id() -> u64 {
    // Every `RandomState` has other keys, seeded by the system's random numbers.
    RandomState::new().hash_one(std::time::SystemTime::now())
}
