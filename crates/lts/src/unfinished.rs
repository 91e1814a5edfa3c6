//! Files that are being written: beside the place where they are to appear, under a name of their own
//! until they are complete.

use std::fs::File;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use tempfile::NamedTempFile;

/// A file that is deleted when this is dropped, unless it was [completed](Self::complete).
#[derive(Debug)]
pub struct UnfinishedFile {
    /// `None` once it is complete.
    file: Option<NamedTempFile>,
}

/// Those of this process, for whoever ends it without unwinding.
static ALL: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

impl UnfinishedFile {
    /// An empty file in `folder`.
    pub fn new(folder: &Path) -> io::Result<Self> {
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        let file = tempfile::Builder::new()
            .prefix(".hadal-")
            .permissions(std::fs::Permissions::from_mode(0o666))
            .tempfile_in(folder)?;
        all.push(file.path().to_owned());
        Ok(UnfinishedFile { file: Some(file) })
    }

    /// An empty file in the folder of `path`.
    pub fn beside(path: &Path) -> io::Result<Self> {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        // For a message that names no file which nobody asked for.
        std::fs::metadata(folder)?;
        Self::new(folder)
    }

    /// The file, opened for reading and writing.
    pub fn as_file(&self) -> &File {
        self.open().as_file()
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.open().path()
    }

    /// Opens it once more.
    pub fn reopen(&self) -> io::Result<File> {
        self.open().reopen()
    }

    /// Moves it to `path`, in place of what is there.
    pub fn complete(mut self, path: &Path) -> io::Result<()> {
        let Some(file) = self.file.take() else {
            return Ok(());
        };
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|known| known != file.path());
        file.persist(path).map(drop).map_err(|error| error.error)
    }

    /// Deletes all of this process, for a program that exits at once without waiting for its work: from
    /// now on whoever makes, completes or drops one waits for ever.
    pub fn delete_all() {
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        for path in all.drain(..) {
            let _ = std::fs::remove_file(path);
        }
        std::mem::forget(all);
    }

    fn open(&self) -> &NamedTempFile {
        self.file.as_ref().expect("it is not complete yet")
    }
}

impl Drop for UnfinishedFile {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
            all.retain(|known| known != file.path());
        }
    }
}
