//! The folder of a check: where states go when memory is full.
//!
//! There are three kinds. A *scratch* folder is made for one run and deleted when it ends, however
//! it ends. A *given* folder is kept, and a run in it can be resumed; nothing in it that someone
//! may want is overwritten unasked. A *saved* folder holds the run to be resumed
//! ([`SavedRun`](crate::SavedRun)).

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hadal_search::RunStatus;
use hadal_store::Error as StoreError;
use hadal_store::disk::{Folder, FolderOptions, Medium, NativeDisk, Payload};

use crate::error::FolderReason;
use crate::scratch_folder::Spare;
use crate::{Error, ScratchFolder};

/// Where states go when memory is full.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Disk {
    /// Nowhere: the search stops.
    None,
    /// In a fresh folder under TMPDIR, else /var/tmp, which is deleted when the check ends.
    #[default]
    Scratch,
    /// In a folder that is kept, so that the run can be resumed.
    Folder {
        /// The folder; it is created if it does not exist.
        path: PathBuf,
        /// Whether to use it even if it lies in memory, or holds a finished run or other files.
        force: bool,
    },
}

/// A folder that a search may use.
pub(crate) struct RunFolder {
    pub(crate) folder: Folder,
    /// Its path, if it is kept for a later run.
    pub(crate) kept: Option<PathBuf>,
    /// Deletes it when dropped, if this process created it and no run can be resumed from it.
    _created: Option<CreatedFolder>,
    /// Deletes it when dropped, if it is not kept.
    _scratch: Option<ScratchFolder>,
}

impl RunFolder {
    /// Ends the use of a folder after a search that failed.
    pub(crate) fn close(self) {
        // Files that are still to be deleted are open.
        let _ = self.folder.wait_for_deletions();
    }
}

/// A folder that this process created for a run. It is deleted when this is dropped, unless a run
/// can be resumed from it, or one is finished in it.
struct CreatedFolder {
    path: PathBuf,
    /// Taken when it is dropped.
    spare: Option<Spare>,
}

impl Drop for CreatedFolder {
    fn drop(&mut self) {
        let spare = self.spare.take().filter(|_| !has_run(&self.path));
        if let Some(spare) = spare {
            spare.delete(&self.path);
        }
    }
}

/// Why there is no scratch folder.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum NoScratch {
    /// The place for it lies in memory itself, where it would save none.
    InMemory(PathBuf),
    /// It cannot be made.
    Refused(PathBuf, String),
    /// No folder can take these states.
    TooWide(String),
}

impl fmt::Display for NoScratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoScratch::InMemory(path) => write!(f, "`{}` lies in memory itself", path.display()),
            NoScratch::Refused(path, why) => {
                write!(f, "`{}` cannot be used: {why}", path.display())
            }
            NoScratch::TooWide(why) => write!(f, "{why}"),
        }
    }
}

/// The options of a folder for a search whose data may take `memory_bytes`.
pub(crate) fn folder_options(memory_bytes: u64, disk_limit: Option<u64>) -> FolderOptions {
    let usual = FolderOptions::for_memory(memory_bytes);
    FolderOptions {
        limit_bytes: disk_limit.unwrap_or(usual.limit_bytes),
        ..usual
    }
}

/// A fresh folder for states of `state_len` bytes, at the default place.
pub(crate) fn scratch(state_len: usize, options: FolderOptions) -> Result<RunFolder, NoScratch> {
    let fits = hadal_store::check_state_len(state_len);
    fits.map_err(|error| NoScratch::TooWide(error.to_string()))?;
    let parent = ScratchFolder::default_parent();
    let refused = |why: String| NoScratch::Refused(parent.clone(), why);
    let scratch = ScratchFolder::new(&parent).map_err(|error| refused(error.to_string()))?;
    let disk = NativeDisk::open(scratch.path()).map_err(|error| refused(error.to_string()))?;
    let opened = Folder::open(Arc::new(disk), options);
    let (folder, _) = opened.map_err(|error| refused(error.to_string()))?;
    if folder.medium() == Medium::Memory {
        return Err(NoScratch::InMemory(parent));
    }
    Ok(RunFolder {
        folder,
        kept: None,
        _created: None,
        _scratch: Some(scratch),
    })
}

/// The folder at `path`, for a new run. It is refused if it holds a run or other files, or lies in
/// memory. With `force` only an unfinished run of this version is: a finished run, and one of
/// another version, are deleted, and other files are left as they are.
pub(crate) fn given(path: &Path, force: bool, options: FolderOptions) -> Result<RunFolder, Error> {
    let mut created = None;
    if !path.exists() {
        let spare = Spare::new().map_err(|error| Error::Folder {
            path: path.to_owned(),
            reason: FolderReason::Refused(error),
        })?;
        created = Some(CreatedFolder {
            path: path.to_owned(),
            spare: Some(spare),
        });
    }
    let taken = take(path, force, options);
    if let Err(Error::Store {
        error: StoreError::Locked { .. },
        ..
    }) = &taken
    {
        // Another process was faster.
        created.as_mut().and_then(|created| created.spare.take());
    }
    let mut folder = taken?;
    folder._created = created;
    Ok(folder)
}

fn take(path: &Path, force: bool, options: FolderOptions) -> Result<RunFolder, Error> {
    let refuse = |reason: FolderReason| Error::Folder {
        path: path.to_owned(),
        reason,
    };
    let store = |error| store_error(path, error);
    // Before the folder is locked, which leaves a file in it.
    if path.exists() && !force && !has_run(path) {
        let has_others = has_others(path).map_err(|error| refuse(FolderReason::Refused(error)))?;
        if has_others {
            return Err(refuse(FolderReason::NotEmpty));
        }
    }
    let disk = open(path)?;
    let (folder, run) = match inspect(Arc::clone(&disk), options) {
        // Whether a run of another version is finished is unknown.
        Err(StoreError::OtherVersion { .. }) if force => {
            (Folder::open_anew(disk, options).map_err(store)?, None)
        }
        Err(error @ StoreError::OtherVersion { .. }) => {
            return Err(refuse(FolderReason::OtherVersion(error)));
        }
        inspected => inspected.map_err(store)?,
    };
    if let Some((_, about)) = &run {
        if !about.is_finished {
            let states = about.states;
            return Err(refuse(FolderReason::Unfinished { states }));
        }
        if !force {
            return Err(refuse(FolderReason::FinishedRun));
        }
    }
    if folder.medium() == Medium::Memory && !force {
        return Err(refuse(FolderReason::InMemory));
    }
    let emptied = match run {
        Some(_) => folder.clear(),
        // A run that ended before its first manifest may have left files.
        None => folder.sweep([]),
    };
    emptied.map_err(store)?;
    Ok(RunFolder {
        folder,
        kept: Some(path.to_owned()),
        _created: None,
        _scratch: None,
    })
}

/// A folder with a run in it, locked by this process.
pub(crate) struct SavedFolder {
    pub(crate) path: PathBuf,
    disk: Arc<NativeDisk>,
    pub(crate) folder: Folder,
    pub(crate) manifest: Payload,
    pub(crate) about: RunStatus,
}

impl SavedFolder {
    /// The run in the folder at `path`.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let nothing = || Error::NoRun {
            path: path.to_owned(),
            is_folder: path.is_dir(),
        };
        // Nothing is made in a folder that is none of ours.
        if !has_run(path) {
            return Err(nothing());
        }
        let disk = open(path)?;
        let inspected = inspect(disk.clone(), FolderOptions::default());
        let (folder, run) = inspected.map_err(|error| match error {
            StoreError::OtherVersion { .. } => Error::Folder {
                path: path.to_owned(),
                reason: FolderReason::OtherVersion(error),
            },
            error => store_error(path, error),
        })?;
        let (manifest, about) = run.ok_or_else(nothing)?;
        Ok(SavedFolder {
            path: path.to_owned(),
            disk,
            folder,
            manifest,
            about,
        })
    }

    /// The folder with the options of a search, and its manifest.
    pub(crate) fn resume(self, options: FolderOptions) -> Result<(RunFolder, Payload), Error> {
        drop(self.folder);
        // The disk stays locked, so it has not changed.
        let opened = Folder::open(self.disk, options);
        let (folder, _) = opened.map_err(|error| store_error(&self.path, error))?;
        let folder = RunFolder {
            folder,
            kept: Some(self.path),
            _created: None,
            _scratch: None,
        };
        Ok((folder, self.manifest))
    }
}

/// Whether the folder at `path` holds what a run needs to be resumed.
pub(crate) fn has_run(path: &Path) -> bool {
    path.join(MANIFEST).is_file()
}

/// Opens a folder and reads its manifest, if it has one.
fn inspect(
    disk: Arc<NativeDisk>,
    options: FolderOptions,
) -> Result<(Folder, Option<(Payload, RunStatus)>), StoreError> {
    let (folder, manifest) = Folder::open(disk, options)?;
    let about = manifest.as_ref().map(hadal_search::read_status).transpose();
    let about = about.map_err(|error| match error {
        hadal_search::Error::Store(error) => error,
        error => StoreError::Damaged {
            file: MANIFEST.to_owned(),
            offset: 0,
            what: error.to_string(),
        },
    })?;
    Ok((folder, manifest.zip(about)))
}

pub(crate) fn store_error(path: &Path, error: StoreError) -> Error {
    Error::Store {
        path: path.to_owned(),
        error,
    }
}

/// Locks the folder for this process.
fn open(path: &Path) -> Result<Arc<NativeDisk>, Error> {
    match NativeDisk::open(path) {
        Ok(disk) => Ok(Arc::new(disk)),
        // That is about the path, and nothing was lost.
        Err(StoreError::Io { source, .. }) => Err(Error::Folder {
            path: path.to_owned(),
            reason: FolderReason::Refused(source),
        }),
        Err(error) => Err(store_error(path, error)),
    }
}

pub(crate) const MANIFEST: &str = "MANIFEST";

/// Whether a folder holds anything that no run has made.
fn has_others(path: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(path)? {
        let name = entry?.file_name();
        let name = name.to_string_lossy();
        let is_ours = ["LOCK", "PROBE.tmp", MANIFEST, "MANIFEST.tmp"].contains(&&*name)
            || name.ends_with(".hadal");
        if !is_ours {
            return Ok(true);
        }
    }
    Ok(false)
}
