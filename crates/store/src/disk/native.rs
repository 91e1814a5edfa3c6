//! A disk that is a real folder.
//!
//! Reads and writes go around the page cache where the file system lets them (direct I/O): what a
//! search puts on disk is read once, in order, much later, so the cache would only take memory that
//! is not accounted for. Elsewhere they go through the cache and are dropped from it at once.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::buffers::Aligned;
use super::medium::{Disk, DiskFile, Entry, Medium, SECTOR_BYTES};
use crate::Error;

/// Held by the process that uses the folder.
const LOCK: &str = "LOCK";
/// Written once to learn what the file system can do.
const PROBE: &str = "PROBE.tmp";

/// A folder of the operating system, locked for as long as this lives.
#[derive(Debug)]
pub struct NativeDisk {
    path: PathBuf,
    direct: bool,
    /// The folder itself, for syncing it and asking about its file system.
    folder: File,
    _lock: File,
}

impl NativeDisk {
    /// Opens and locks the folder at `path`, which is created if missing; fails while another
    /// process has it.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, Error> {
        let path = path.into();
        let failed = |source| Error::from_io(&path.display().to_string(), 0, source);
        fs::create_dir_all(&path).map_err(failed)?;
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path.join(LOCK))
            .map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::Locked {
                    folder: path.display().to_string(),
                });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        let folder = File::open(&path).map_err(failed)?;
        let direct = takes_direct_io(&path).map_err(failed)?;
        Ok(Self {
            direct,
            folder,
            _lock: lock,
            path,
        })
    }

    /// Whether reads and writes go around the page cache.
    pub fn is_direct(&self) -> bool {
        self.direct
    }

    fn at(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    fn file(&self, name: &str, options: &mut OpenOptions) -> io::Result<Arc<dyn DiskFile>> {
        let file = with_direct(options, self.direct).open(self.at(name))?;
        Ok(Arc::new(NativeFile {
            file,
            direct: self.direct,
        }))
    }
}

impl Disk for NativeDisk {
    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        self.file(
            name,
            OpenOptions::new().read(true).write(true).create_new(true),
        )
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        self.file(name, OpenOptions::new().read(true).write(true))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.at(from), self.at(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.at(name))
    }

    fn list(&self) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            // Our names are text.
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            let about = entry.metadata()?;
            if about.is_file() && name != LOCK {
                entries.push(Entry {
                    name,
                    len: about.len(),
                });
            }
        }
        Ok(entries)
    }

    fn sync_folder(&self) -> io::Result<()> {
        self.folder.sync_all()
    }

    fn free_bytes(&self) -> io::Result<u64> {
        let about = rustix::fs::fstatvfs(&self.folder)?;
        Ok(about.f_bavail.saturating_mul(about.f_frsize))
    }

    fn medium(&self) -> Medium {
        medium_of(&self.folder)
    }
}

struct NativeFile {
    file: File,
    direct: bool,
}

impl DiskFile for NativeFile {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(bytes, offset)?;
        if !self.direct {
            forget(&self.file, offset, bytes.len());
        }
        Ok(())
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)?;
        if !self.direct {
            forget(&self.file, offset, bytes.len());
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }
}

/// Whether a file in the folder can be written and read around the page cache. Some file systems
/// refuse to open it so, others only to write it, so the answer is had by doing it.
fn takes_direct_io(path: &Path) -> io::Result<bool> {
    if !cfg!(target_os = "linux") {
        return Ok(false);
    }
    let probe = path.join(PROBE);
    let attempt = || -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(true);
        let file = with_direct(&mut options, true).open(&probe)?;
        let mut bytes = Aligned::new(SECTOR_BYTES);
        bytes.bytes_mut().fill(0x5a);
        file.write_all_at(bytes.bytes(), 0)?;
        bytes.bytes_mut().fill(0);
        file.read_exact_at(bytes.bytes_mut(), 0)
    };
    let outcome = attempt();
    // Some file systems make the file and then refuse to open it.
    match fs::remove_file(&probe) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    match outcome {
        Ok(()) => Ok(true),
        Err(error) => match error.kind() {
            io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported => Ok(false),
            // A full disk shows itself where something is to be stored.
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => Ok(false),
            _ => Err(error),
        },
    }
}

#[cfg(target_os = "linux")]
fn with_direct(options: &mut OpenOptions, direct: bool) -> &mut OpenOptions {
    if direct {
        options.custom_flags(rustix::fs::OFlags::DIRECT.bits() as i32);
    }
    options
}

#[cfg(not(target_os = "linux"))]
fn with_direct(options: &mut OpenOptions, _direct: bool) -> &mut OpenOptions {
    options
}

/// Asks for pages to leave the cache. Pages that are not written back yet stay, which is no error.
#[cfg(target_os = "linux")]
fn forget(file: &File, offset: u64, len: usize) {
    let len = std::num::NonZeroU64::new(len as u64);
    let _ = rustix::fs::fadvise(file, offset, len, rustix::fs::Advice::DontNeed);
}

#[cfg(not(target_os = "linux"))]
fn forget(_file: &File, _offset: u64, _len: usize) {}

#[cfg(target_os = "linux")]
fn medium_of(folder: &File) -> Medium {
    const TMPFS: u32 = 0x0102_1994;
    const RAMFS: u32 = 0x8584_58f6;
    match rustix::fs::fstatfs(folder) {
        // The number has 32 bits, whatever the width of the field, and may look negative in it.
        Ok(about) if [TMPFS, RAMFS].contains(&(about.f_type as u32)) => Medium::Memory,
        _ => Medium::Device,
    }
}

#[cfg(not(target_os = "linux"))]
fn medium_of(_folder: &File) -> Medium {
    Medium::Device
}

#[cfg(test)]
mod tests {
    use super::NativeDisk;
    use crate::Error;
    use crate::disk::buffers::Aligned;
    use crate::disk::{Disk, SECTOR_BYTES};

    #[test]
    fn a_folder_is_one_process_s() {
        let path = tempfile::tempdir().unwrap();
        let first = NativeDisk::open(path.path()).unwrap();
        assert!(matches!(
            NativeDisk::open(path.path()),
            Err(Error::Locked { .. })
        ));
        drop(first);
        NativeDisk::open(path.path()).unwrap();
    }

    #[test]
    fn files_are_made_written_renamed_listed_cut_and_removed() {
        let path = tempfile::tempdir().unwrap();
        let mut disk = NativeDisk::open(path.path()).unwrap();
        for direct in [disk.direct, false] {
            disk.direct = direct;
            let file = disk.create("a").unwrap();
            assert!(disk.create("a").is_err());
            let mut bytes = Aligned::new(2 * SECTOR_BYTES);
            bytes.bytes_mut().fill(7);
            file.write_at(bytes.bytes(), SECTOR_BYTES as u64).unwrap();
            file.sync().unwrap();
            disk.rename("a", "b").unwrap();
            disk.sync_folder().unwrap();
            let file = disk.open("b").unwrap();
            file.read_at(bytes.bytes_mut(), 0).unwrap();
            assert!(bytes.bytes()[..SECTOR_BYTES].iter().all(|&byte| byte == 0));
            assert!(bytes.bytes()[SECTOR_BYTES..].iter().all(|&byte| byte == 7));
            assert!(
                file.read_at(bytes.bytes_mut(), 2 * SECTOR_BYTES as u64)
                    .is_err()
            );
            file.truncate(SECTOR_BYTES as u64).unwrap();
            let listed = disk.list().unwrap();
            assert_eq!(listed.len(), 1);
            assert_eq!((listed[0].name.as_str(), listed[0].len), ("b", 4096));
            disk.remove("b").unwrap();
            assert!(disk.list().unwrap().is_empty());
            assert!(disk.free_bytes().unwrap() > 0);
        }
    }
}
