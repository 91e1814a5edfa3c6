//! Folders that are deleted when their run ends, however it ends.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A fresh folder that is deleted when this is dropped.
#[derive(Debug)]
pub struct ScratchFolder {
    path: PathBuf,
}

/// The scratch folders of this process, for whoever ends it without unwinding.
static ALL: Mutex<Vec<(PathBuf, Spare)>> = Mutex::new(Vec::new());

/// An open file that is closed so that a folder can be listed and deleted: by then the process may
/// be at its limit of open files.
#[derive(Debug)]
pub(crate) struct Spare(File);

impl Spare {
    pub(crate) fn new() -> io::Result<Self> {
        File::open("/dev/null").map(Spare)
    }

    /// Deletes a folder and what is in it.
    pub(crate) fn delete(self, path: &Path) {
        drop(self.0);
        delete(path);
    }
}

impl ScratchFolder {
    /// A fresh folder in `parent`.
    pub fn new(parent: &Path) -> io::Result<Self> {
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        let spare = Spare::new()?;
        let made = tempfile::Builder::new()
            .prefix("hadal-")
            .tempdir_in(parent)?;
        let path = made.keep();
        all.push((path.clone(), spare));
        Ok(ScratchFolder { path })
    }

    /// Where scratch folders lie unless another place is named: under TMPDIR, else /var/tmp, which
    /// is often on a disk where /tmp is not.
    pub fn default_parent() -> PathBuf {
        match std::env::var_os("TMPDIR") {
            Some(path) if !path.is_empty() => PathBuf::from(path),
            _ => PathBuf::from("/var/tmp"),
        }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Deletes all scratch folders of this process, for a program that is about to exit without
    /// waiting for its runs.
    pub fn delete_all() {
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        all.drain(..).for_each(|(path, spare)| spare.delete(&path));
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(position) = all.iter().position(|(path, _)| *path == self.path) {
            let (path, spare) = all.swap_remove(position);
            spare.delete(&path);
        }
    }
}

/// Deletes a folder and what is in it.
fn delete(path: &Path) {
    // A search that is still running may create one more file, or have too many open.
    for _ in 0..100 {
        match fs::remove_dir_all(path) {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                std::thread::sleep(Duration::from_millis(1));
            }
            _ => break,
        }
    }
}
