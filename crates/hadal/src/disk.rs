//! The folder of a check: where states go when memory ends.
//!
//! There are three kinds. A *scratch* folder is made for one run and deleted at its end, however it
//! ends. A folder that was *given* is kept, and a run in it can be resumed; nothing of value in it is
//! ever overwritten unasked. A folder that was *found* holds the run that is to be resumed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{anyhow, bail};
use hadal_search::Unfinished;
use hadal_store::Error as StoreError;
use hadal_store::disk::{Folder, FolderOptions, Medium, NativeDisk, Payload};

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
    /// No folder can take these states.
    TooWide(String),
}

impl NoScratch {
    /// What to do about it.
    pub(crate) fn remedy(&self) -> &'static str {
        match self {
            NoScratch::InMemory(_) | NoScratch::Refused(..) => {
                "name a folder on a disk with --disk"
            }
            NoScratch::TooWide(_) => "give it more memory with --memory",
        }
    }
}

impl std::fmt::Display for NoScratch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NoScratch::InMemory(path) => write!(f, "`{}` lies in memory itself", path.display()),
            NoScratch::Refused(path, why) => {
                write!(f, "`{}` cannot be used: {why}", path.display())
            }
            NoScratch::TooWide(why) => write!(f, "{why}"),
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

/// A fresh folder for states of `state_len` bytes under TMPDIR, else /var/tmp, which is often on a
/// disk where /tmp is not.
pub(crate) fn scratch(state_len: usize, options: FolderOptions) -> Result<Place, NoScratch> {
    let fits = hadal_store::check_state_len(state_len);
    fits.map_err(|error| NoScratch::TooWide(error.to_string()))?;
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
    let disk = open(path)?;
    let (folder, run) = match inspect(Arc::clone(&disk), options) {
        // Whether a run of another version is finished cannot be known.
        Err(error) if forced && is_other_version(&error) => {
            (Folder::open_anew(disk, options)?, None)
        }
        inspected => inspected.map_err(|error| refused(path, error))?,
    };
    if let Some((_, about)) = &run {
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
    match run {
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
    pub(crate) manifest: Payload,
    pub(crate) about: Unfinished,
}

impl Found {
    /// The folder, now that it is known how it is to be used, and its manifest.
    pub(crate) fn take(self, options: FolderOptions) -> anyhow::Result<(Place, Payload)> {
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
    let inspected = inspect(disk.clone(), FolderOptions::default());
    let (folder, run) = inspected.map_err(|error| refused(path, error))?;
    let (manifest, about) = run.ok_or_else(nothing)?;
    Ok(Found {
        path: path.to_owned(),
        disk,
        folder,
        manifest,
        about,
    })
}

/// Opens a folder and reads its manifest, if it has one.
fn inspect(
    disk: Arc<NativeDisk>,
    options: FolderOptions,
) -> anyhow::Result<(Folder, Option<(Payload, Unfinished)>)> {
    let (folder, manifest) = Folder::open(disk, options)?;
    let about = manifest.as_ref().map(hadal_search::look_into).transpose();
    Ok((folder, manifest.zip(about.map_err(from_search)?)))
}

fn is_other_version(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<StoreError>();
    matches!(error, Some(StoreError::OtherVersion { .. }))
}

/// Why the folder at `path` cannot be used.
fn refused(path: &Path, error: anyhow::Error) -> anyhow::Error {
    let in_folder = about(path);
    match is_other_version(&error) {
        true => {
            anyhow!("{in_folder}: {error}: resume it with that version, or start anew with --force")
        }
        false => error.context(in_folder),
    }
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
