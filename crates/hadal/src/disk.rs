//! The folder of a check: where states go when memory ends.
//!
//! There are three kinds. A *scratch* folder is made for one run and deleted at its end, however it
//! ends. A folder that was *given* is kept, and a run in it can be resumed; nothing of value in it is
//! ever overwritten unasked. A folder that was *found* holds the run that is to be resumed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, anyhow, bail};
use hadal_search::Unfinished;
use hadal_store::Error as StoreError;
use hadal_store::disk::{Folder, FolderOptions, Medium, NativeDisk};

use crate::units::counted;

/// A folder that a search may use.
pub(crate) struct Place {
    pub(crate) folder: Folder,
    /// Where it is, if it is kept for a later run.
    pub(crate) kept: Option<PathBuf>,
    /// Deletes it at the end, if it is not.
    _scratch: Option<Scratch>,
}

/// Why there is no scratch folder.
#[derive(Clone, Debug)]
pub(crate) enum NoScratch {
    /// The place for it lies in memory itself, where it would save none.
    InMemory(PathBuf),
    /// It cannot be made.
    Refused(PathBuf, String),
}

impl std::fmt::Display for NoScratch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NoScratch::InMemory(path) => write!(f, "`{}` lies in memory itself", path.display()),
            NoScratch::Refused(path, why) => {
                write!(f, "`{}` cannot be used: {why}", path.display())
            }
        }
    }
}

/// How a folder is to be used by a search whose data may take `memory_bytes`.
pub(crate) fn folder_options(memory_bytes: u64, disk_limit: Option<u64>) -> FolderOptions {
    let usual = FolderOptions::for_memory(memory_bytes);
    FolderOptions {
        limit_bytes: disk_limit.unwrap_or(usual.limit_bytes),
        ..usual
    }
}

/// A fresh folder under TMPDIR, else /var/tmp, which is often on a disk where /tmp is not.
pub(crate) fn scratch(options: FolderOptions) -> Result<Place, NoScratch> {
    let parent = match std::env::var_os("TMPDIR") {
        Some(path) if !path.is_empty() => PathBuf::from(path),
        _ => PathBuf::from("/var/tmp"),
    };
    let refused = |why: String| NoScratch::Refused(parent.clone(), why);
    let scratch = Scratch::new(&parent).map_err(|error| refused(error.to_string()))?;
    let disk = NativeDisk::open(&scratch.path).map_err(|error| refused(error.to_string()))?;
    let opened = Folder::open(Arc::new(disk), options);
    let (folder, _) = opened.map_err(|error| refused(error.to_string()))?;
    if folder.medium() == Medium::Memory {
        return Err(NoScratch::InMemory(parent));
    }
    Ok(Place {
        folder,
        kept: None,
        _scratch: Some(scratch),
    })
}

/// The folder at `path`, for a new run. It is refused if it holds anything, or lies in memory,
/// unless that is `forced`; one with an unfinished run is refused in any case.
pub(crate) fn given(path: &Path, forced: bool, options: FolderOptions) -> anyhow::Result<Place> {
    let shown = path.display();
    let is_new = !path.exists();
    // Before the folder is taken, for that leaves a trace in it.
    if !is_new && !forced && !path.join(MANIFEST).exists() && has_others(path)? {
        bail!("`{shown}` is not empty; use another folder, or --force to use it all the same");
    }
    let opened = Folder::open(open(path)?, options);
    let (folder, manifest) = opened.with_context(|| about(path))?;
    if let Some(manifest) = &manifest {
        let looked_into = hadal_search::look_into(manifest).map_err(from_search);
        let about = looked_into.with_context(|| about(path))?;
        if !about.is_finished {
            bail!(
                "`{shown}` holds an unfinished run ({} so far); use hadal resume to go on with it, \
                 or another folder",
                counted(about.states, "state")
            );
        }
        if !forced {
            bail!("`{shown}` holds a finished run; --force deletes it, or use another folder");
        }
    }
    if folder.medium() == Medium::Memory && !forced {
        drop(folder);
        if is_new {
            // It was made to find this out.
            let _ = fs::remove_dir_all(path);
        }
        bail!(
            "`{shown}` lies in memory itself, so it would save none; use a folder on a disk, or \
             --force to use it all the same"
        );
    }
    match manifest {
        Some(_) => folder.clear()?,
        // A run that died before it had a manifest may have left something.
        None => folder.sweep([])?,
    }
    Ok(Place {
        folder,
        kept: Some(path.to_owned()),
        _scratch: None,
    })
}

/// A folder with a run in it, which nobody else has.
pub(crate) struct Found {
    path: PathBuf,
    disk: Arc<NativeDisk>,
    pub(crate) folder: Folder,
    pub(crate) manifest: Vec<u8>,
    pub(crate) about: Unfinished,
}

impl Found {
    /// The folder, now that it is known how it is to be used, and its manifest.
    pub(crate) fn take(self, options: FolderOptions) -> anyhow::Result<(Place, Vec<u8>)> {
        drop(self.folder);
        // The disk stays locked all the while, so it is still as it was.
        let (folder, _) = Folder::open(self.disk, options)?;
        let place = Place {
            folder,
            kept: Some(self.path),
            _scratch: None,
        };
        Ok((place, self.manifest))
    }
}

/// Whether the folder at `path` has what a run needs to go on.
pub(crate) fn has_run(path: &Path) -> bool {
    path.join(MANIFEST).is_file()
}

/// The run in the folder at `path`.
pub(crate) fn find(path: &Path) -> anyhow::Result<Found> {
    let nothing = || match path.is_dir() {
        true => anyhow!("there is no run in `{}`", path.display()),
        false => anyhow!("there is no folder `{}`", path.display()),
    };
    // Nothing is made in a folder that is none of ours.
    if !has_run(path) {
        return Err(nothing());
    }
    let disk = open(path)?;
    let opened = Folder::open(disk.clone(), FolderOptions::default());
    let (folder, manifest) = opened.with_context(|| about(path))?;
    let manifest = manifest.ok_or_else(nothing)?;
    let looked_into = hadal_search::look_into(&manifest).map_err(from_search);
    let about = looked_into.with_context(|| about(path))?;
    Ok(Found {
        path: path.to_owned(),
        disk,
        folder,
        manifest,
        about,
    })
}

/// What an error of a folder begins with.
pub(crate) fn about(path: &Path) -> String {
    format!("in `{}`", path.display())
}

/// What a search says of a folder, as an error that has its own exit code.
pub(crate) fn from_search(error: hadal_search::Error) -> anyhow::Error {
    match error {
        hadal_search::Error::Store(error) => error.into(),
        error => error.into(),
    }
}

/// Takes the folder for this process.
fn open(path: &Path) -> anyhow::Result<Arc<NativeDisk>> {
    match NativeDisk::open(path) {
        Ok(disk) => Ok(Arc::new(disk)),
        // That is about the path that was typed, and nothing was lost.
        Err(StoreError::Io { source, .. }) => {
            Err(anyhow!("cannot use `{}`: {source}", path.display()))
        }
        Err(error) => Err(error.into()),
    }
}

const MANIFEST: &str = "MANIFEST";

/// Whether there is anything in a folder that no run of ours has made.
fn has_others(path: &Path) -> anyhow::Result<bool> {
    let cannot = |error| anyhow!("cannot use `{}`: {error}", path.display());
    for entry in fs::read_dir(path).map_err(cannot)? {
        let name = entry.map_err(cannot)?.file_name();
        let name = name.to_string_lossy();
        let is_ours = ["LOCK", "PROBE.tmp", MANIFEST, "MANIFEST.tmp"].contains(&&*name)
            || name.ends_with(".hadal");
        if !is_ours {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A folder that is deleted when this goes.
struct Scratch {
    path: PathBuf,
}

/// The scratch folder of this process, for those who end it in a hurry.
static SCRATCH: Mutex<Option<PathBuf>> = Mutex::new(None);

impl Scratch {
    fn new(parent: &Path) -> io::Result<Self> {
        let mut current = SCRATCH.lock().unwrap_or_else(PoisonError::into_inner);
        let made = tempfile::Builder::new()
            .prefix("hadal-")
            .tempdir_in(parent)?;
        let path = made.keep();
        *current = Some(path.clone());
        Ok(Scratch { path })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        delete_scratch();
    }
}

/// Deletes the scratch folder, if there is one.
pub(crate) fn delete_scratch() {
    let mut current = SCRATCH.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(path) = current.take() {
        // A search that is still at work may put one more file into it.
        for _ in 0..100 {
            match fs::remove_dir_all(&path) {
                Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
                _ => break,
            }
        }
    }
}
