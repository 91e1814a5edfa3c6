//! The folder of the laboratory's runs.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

/// A folder that is deleted when this is dropped.
pub(crate) struct Scratch {
    pub(crate) path: PathBuf,
}

impl Scratch {
    pub(crate) fn new(parent: Option<&Path>) -> anyhow::Result<Self> {
        let usual = match std::env::var_os("TMPDIR") {
            Some(path) if !path.is_empty() => PathBuf::from(path),
            _ => PathBuf::from("/var/tmp"),
        };
        let parent = parent.map_or(usual, Path::to_owned);
        let path = parent.join(format!("hadal-lab-{}", std::process::id()));
        fs::create_dir_all(&path)
            .with_context(|| format!("cannot make the folder `{}`", path.display()))?;
        Ok(Scratch { path })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}
