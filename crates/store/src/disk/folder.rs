//! A folder as a search uses it: files with fresh names, and a manifest that lists those that count.
//!
//! Nothing that a manifest lists is changed or deleted before the next manifest is in its place, so
//! at any moment the folder holds all that the last manifest needs. What no manifest lists is left
//! over from a run that was cut short, and is swept away when the folder is next used.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::buffers::{Aligned, Pool};
use super::frame::Kind;
use super::manifest::{self, Manifest};
use super::medium::{Disk, DiskFile, Medium};
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
    /// Whether reading and writing have threads of their own.
    pub threads: bool,
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
    usage: Usage,
    pool: Arc<Pool>,
    threads: IoThreads,
    files: Mutex<Files>,
    /// Held while a manifest is written. It is the number of those before.
    commits: Mutex<u64>,
}

#[derive(Default)]
struct Files {
    next_number: u64,
    /// Length of each, as far as it is claimed.
    lens: HashMap<String, Arc<AtomicU64>>,
    /// Made since the last manifest, so no manifest lists them.
    fresh: HashSet<String>,
    /// To be deleted when the next manifest is in its place.
    retired: Vec<String>,
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
                files.lens.insert(entry.name, Arc::new(entry.len.into()));
            }
        }
        let last = match files.lens.get(manifest::NAME) {
            Some(len) => Some(read_manifest(&*disk, len.load(Relaxed))?),
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
        let threads = if options.threads {
            IoThreads::start().map_err(|e| Error::from_io("the folder", 0, e))?
        } else {
            IoThreads::none()
        };
        let inner = Inner {
            disk,
            search_id,
            reserve_bytes: options.reserve_bytes,
            usage: Usage::new(disk_bytes, options.limit_bytes),
            pool: Pool::new(options.buffer_bytes),
            threads,
            files: Mutex::new(files),
            commits: Mutex::new(sequence),
        };
        let inner = Arc::new(inner);
        Ok((Self { inner }, payload))
    }

    /// Deletes all files of searches but those `listed`, which must be there.
    pub fn sweep<'a>(&self, listed: impl IntoIterator<Item = &'a str>) -> Result<(), Error> {
        let listed: HashSet<&str> = listed.into_iter().collect();
        let mut unlisted = Vec::new();
        {
            let files = self.files();
            if let Some(missing) = listed.iter().find(|&&name| !files.lens.contains_key(name)) {
                return Err(Error::damaged(
                    missing,
                    0,
                    "the manifest lists this file, but there is none",
                ));
            }
            for name in files.lens.keys() {
                if name != manifest::NAME && !listed.contains(name.as_str()) {
                    unlisted.push(name.clone());
                }
            }
        }
        unlisted.sort();
        unlisted.iter().try_for_each(|name| self.delete(name))
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
        if self.files().lens.contains_key(manifest::NEW_NAME) {
            self.delete(manifest::NEW_NAME)?;
        }
        let bytes = manifest::encode(inner.search_id, *commits + 1, payload);
        let len = bytes.bytes().len();
        // The reserve is there for this.
        inner.usage.grow(len as u64, &*inner.disk, 0)?;
        let entry = Arc::new(AtomicU64::new(len as u64));
        self.files()
            .lens
            .insert(manifest::NEW_NAME.to_owned(), entry);
        inner.usage.waiting(|| {
            let file = inner.disk.create(manifest::NEW_NAME).map_err(failed)?;
            file.write_at(bytes.bytes(), 0).map_err(failed)?;
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
            if let Some(entry) = files.lens.remove(manifest::NEW_NAME)
                && let Some(old) = files.lens.insert(manifest::NAME.to_owned(), entry)
            {
                inner.usage.shrink(old.load(Relaxed));
            }
            drop(files);
            inner.disk.sync_folder().map_err(failed)
        })?;
        inner.usage.count_written(len);
        *commits += 1;
        drop(commits);
        let is_gone: HashSet<&String> = retired.iter().collect();
        self.files().retired.retain(|name| !is_gone.contains(name));
        retired.iter().try_for_each(|name| self.delete(name))
    }

    /// Deletes a file as soon as no manifest needs it: at once if none can list it, else after the
    /// next one. Nobody may be reading or writing it then.
    pub fn retire(&self, name: &str) -> Result<(), Error> {
        let mut files = self.files();
        if files.fresh.remove(name) {
            drop(files);
            return self.delete(name);
        }
        if files.lens.contains_key(name) && !files.retired.iter().any(|old| old == name) {
            files.retired.push(name.to_owned());
        }
        Ok(())
    }

    /// Length of the files that are deleted after the next manifest.
    pub fn retired_bytes(&self) -> u64 {
        let files = self.files();
        let lens = files.retired.iter().filter_map(|name| files.lens.get(name));
        lens.map(|len| len.load(Relaxed)).sum()
    }

    /// Deletes the manifest and all files of searches: there is nothing to go on with any more.
    pub fn clear(&self) -> Result<(), Error> {
        // First the manifest, for good, so that there is none that lists what is gone.
        self.delete(manifest::NAME)?;
        self.inner
            .disk
            .sync_folder()
            .map_err(|e| Error::from_io(manifest::NAME, 0, e))?;
        {
            let mut files = self.files();
            files.fresh.clear();
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

    /// What the folder lies on.
    pub fn medium(&self) -> Medium {
        self.inner.disk.medium()
    }

    /// Bytes that can still be written, by the limit and by the device.
    pub fn free_bytes(&self) -> Result<u64, Error> {
        let free = self
            .inner
            .disk
            .free_bytes()
            .map_err(|e| Error::from_io("the folder", 0, e))?;
        let allowed = self.inner.usage.allowed_bytes();
        Ok(allowed.min(free.saturating_sub(self.inner.reserve_bytes)))
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

    /// A new file with a name that no other has.
    pub(crate) fn create(&self, kind: Kind) -> Result<OpenFile, Error> {
        let len = Arc::new(AtomicU64::new(0));
        let mut files = self.files();
        let name = format!("{}-{:08}.{SUFFIX}", kind.letters(), files.next_number);
        files.next_number += 1;
        files.lens.insert(name.clone(), Arc::clone(&len));
        files.fresh.insert(name.clone());
        drop(files);
        match self.inner.disk.create(&name) {
            Ok(file) => Ok(OpenFile {
                name,
                file,
                len,
                folder: self.clone(),
            }),
            Err(error) => {
                let mut files = self.files();
                files.lens.remove(&name);
                files.fresh.remove(&name);
                Err(Error::from_io(&name, 0, error))
            }
        }
    }

    /// A file that is there.
    pub(crate) fn open_file(&self, name: &str) -> Result<OpenFile, Error> {
        let Some(len) = self.files().lens.get(name).map(Arc::clone) else {
            return Err(Error::damaged(name, 0, "the file is missing"));
        };
        match self.inner.disk.open(name) {
            Ok(file) => Ok(OpenFile {
                name: name.to_owned(),
                file,
                len,
                folder: self.clone(),
            }),
            Err(error) => Err(Error::from_io(name, 0, error)),
        }
    }

    fn delete(&self, name: &str) -> Result<(), Error> {
        match self.inner.disk.remove(name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Error::from_io(name, 0, error));
            }
            _ => {}
        }
        if let Some(len) = self.files().lens.remove(name) {
            self.inner.usage.shrink(len.load(Relaxed));
        }
        Ok(())
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
        inner.usage.grow(more, &*inner.disk, inner.reserve_bytes)?;
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
