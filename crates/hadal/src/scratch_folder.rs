//! Folders that are deleted when their run ends, however it ends.

use std::fs;
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
static ALL: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

impl ScratchFolder {
    /// A fresh folder in `parent`.
    pub fn new(parent: &Path) -> io::Result<Self> {
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        let made = tempfile::Builder::new()
            .prefix("hadal-")
            .tempdir_in(parent)?;
        let path = made.keep();
        all.push(path.clone());
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
        all.drain(..).for_each(|path| delete(&path));
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(position) = all.iter().position(|path| *path == self.path) {
            delete(&all.swap_remove(position));
        }
    }
}

/// Deletes a folder and what is in it.
pub(crate) fn delete(path: &Path) {
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
