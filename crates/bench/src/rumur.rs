//! rumur on the same model, where it is installed.
//!
//! Constants are set by rewriting their declarations, for that tool has no flag for it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::workload::Workload;

/// A checker that rumur generated and the C compiler built.
pub(crate) struct Checker {
    binary: PathBuf,
    /// Deleted with the checker.
    _folder: tempfile::TempDir,
}

impl Checker {
    /// `None` where rumur or a C compiler is missing, or does not take the model.
    pub(crate) fn build(workload: &Workload) -> Option<Self> {
        let folder = tempfile::tempdir().ok()?;
        let (model, code) = (folder.path().join("m.m"), folder.path().join("m.c"));
        std::fs::write(&model, text(workload)?).ok()?;
        let symmetry = if workload.symmetry {
            "heuristic"
        } else {
            "off"
        };
        let mut rumur = Command::new("rumur");
        rumur
            .args(["--threads", "1", "--deadlock-detection", "off"])
            .args(["--symmetry-reduction", symmetry, "--output"])
            .args([&code, &model]);
        quietly(&mut rumur)?;
        let binary = folder.path().join("m");
        let mut compiler = Command::new("cc");
        compiler
            .args(["-O3", "-march=native", "-std=c11", "-o"])
            .args([&binary, &code])
            .args(["-lpthread"]);
        quietly(&mut compiler)?;
        Some(Checker {
            binary,
            _folder: folder,
        })
    }

    /// Seconds of one run; `None` where it finds an error.
    pub(crate) fn run(&self) -> Option<f64> {
        let begun = Instant::now();
        quietly(&mut Command::new(&self.binary))?;
        Some(begun.elapsed().as_secs_f64())
    }
}

fn quietly(command: &mut Command) -> Option<()> {
    let status = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.ok()?.success().then_some(())
}

/// The model with its constants set.
fn text(workload: &Workload) -> Option<String> {
    let mut text = read(&workload.path)?;
    for (name, value) in &workload.constants {
        let at = text.match_indices(name.as_str()).find(|(at, _)| {
            let before = text[..*at].chars().next_back();
            let after = text[at + name.len()..].trim_start();
            !before.is_some_and(|c| c.is_alphanumeric() || c == '_') && after.starts_with(':')
        })?;
        let begin = at.0 + name.len();
        let end = begin + text[begin..].find(';')?;
        text.replace_range(begin..end, &format!(": {value}"));
    }
    Some(text)
}

fn read(path: &Path) -> Option<String> {
    Some(String::from_utf8_lossy(&std::fs::read(path).ok()?).into_owned())
}
