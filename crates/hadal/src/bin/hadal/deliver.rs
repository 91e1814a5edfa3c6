//! Delivering results: the summary to standard output, the run record to its file.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde::Serialize;

use crate::flags::RunArgs;

/// Writes a result. Whoever closes the pipe has seen enough.
pub(crate) fn deliver(to: &mut dyn Write, text: &str, what: &str) -> anyhow::Result<()> {
    let written = to.write_all(text.as_bytes()).and_then(|()| to.flush());
    delivered(written, what)
}

fn delivered(written: io::Result<()>, what: &str) -> anyhow::Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.with_context(|| format!("cannot write {what}")),
    }
}

/// Writes a run record part by part: that of a long run of wide states would not fit into memory.
fn write_record(to: &mut dyn Write, record: &impl Serialize) -> anyhow::Result<()> {
    let mut to = BufWriter::with_capacity(64 << 10, to);
    let written = serde_json::to_writer_pretty(&mut to, record).map_err(io::Error::from);
    let written = written
        .and_then(|()| to.write_all(b"\n"))
        .and_then(|()| to.flush());
    delivered(written, "the run record")
}

/// Writes a run record, if one is wanted, to its file or else to standard output.
pub(crate) fn deliver_record(
    args: &RunArgs,
    file: Option<RecordFile>,
    record: &impl Serialize,
) -> anyhow::Result<()> {
    if args.json.is_none() {
        return Ok(());
    }
    match file {
        Some(file) => file.deliver(record),
        None => write_record(&mut io::stdout(), record),
    }
}

/// Refuses to overwrite a file that is not what a command writes there, a model say: what a command
/// writes begins with `first`, and is a `what`.
pub(crate) fn refuse_others(path: &Path, first: u8, what: &str) -> anyhow::Result<()> {
    let is_file = path.metadata().is_ok_and(|about| about.is_file());
    let Some(mut file) = is_file.then(|| File::open(path).ok()).flatten() else {
        return Ok(());
    };
    let mut head = [0; 256];
    let n_read = file.read(&mut head).unwrap_or(0);
    let begins_with = head[..n_read].trim_ascii_start().first();
    if begins_with.is_some_and(|&byte| byte != first) {
        bail!("`{}` is no {what}, and is not overwritten", path.display());
    }
    Ok(())
}

/// The file of the run record. It is opened before the search, so that a bad path costs nothing,
/// and unchanged until there is a record.
pub(crate) struct RecordFile {
    path: PathBuf,
    file: File,
    /// Whether this created it, and it has no complete record yet.
    is_useless: bool,
}

impl RecordFile {
    /// The file that was asked for, unless that is standard output.
    pub(crate) fn of(args: &RunArgs) -> anyhow::Result<Option<Self>> {
        match &args.json {
            Some(path) if path.as_os_str() != "-" => RecordFile::open(path).map(Some),
            _ => Ok(None),
        }
    }

    fn open(path: &Path) -> anyhow::Result<Self> {
        refuse_others(path, b'{', "run record")?;
        let is_useless = !path.exists();
        let mut options = File::options();
        let opened = options.write(true).create(true).truncate(false).open(path);
        Ok(RecordFile {
            path: path.to_owned(),
            file: opened.with_context(|| format!("cannot write `{}`", path.display()))?,
            is_useless,
        })
    }

    fn deliver(mut self, record: &impl Serialize) -> anyhow::Result<()> {
        // Pipes and devices cannot be truncated.
        if self.file.metadata().is_ok_and(|about| about.is_file()) {
            (self.file.set_len(0)).context("cannot write the run record")?;
        }
        write_record(&mut self.file, record)?;
        self.is_useless = false;
        Ok(())
    }
}

impl Drop for RecordFile {
    fn drop(&mut self) {
        if self.is_useless {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}
