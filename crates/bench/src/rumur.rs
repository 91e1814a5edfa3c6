//! rumur on the same model, where it is installed.
//!
//! Constants are set by rewriting their declarations, for that tool has no flag for it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::workload::Workload;

/// A checker that rumur generated and the C compiler built.
#[derive(Debug)]
pub struct Checker {
    binary: PathBuf,
    /// Deleted with the checker.
    _folder: tempfile::TempDir,
}

impl Checker {
    /// `None` where rumur or a C compiler is missing, or does not take the model.
    pub fn build(workload: &Workload) -> Option<Self> {
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

    /// One run, ended when it takes longer than `limit`; `None` where it finds an error.
    pub fn run(&self, limit: Duration) -> Option<Taken> {
        run(&mut Command::new(&self.binary), limit)
    }
}

/// How long a run took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Taken {
    /// Seconds to its end.
    Seconds(f64),
    /// More than these; it was not waited for.
    Beyond(f64),
}

impl Taken {
    /// The lesser of two; one that finished counts more than one that did not.
    pub fn least(self, other: Taken) -> Taken {
        match (self, other) {
            (Taken::Seconds(a), Taken::Seconds(b)) => Taken::Seconds(a.min(b)),
            (Taken::Beyond(_), ended @ Taken::Seconds(_)) => ended,
            _ => self,
        }
    }
}

fn run(command: &mut Command, limit: Duration) -> Option<Taken> {
    let begun = Instant::now();
    let mut child = silent(command).spawn().ok()?;
    loop {
        let status = child.try_wait().ok()?;
        let elapsed = begun.elapsed();
        if let Some(status) = status {
            let seconds = elapsed.as_secs_f64();
            return status.success().then_some(Taken::Seconds(seconds));
        }
        if elapsed >= limit {
            child.kill().ok()?;
            child.wait().ok()?;
            return Some(Taken::Beyond(limit.as_secs_f64()));
        }
        // Short against what is measured, long against what looking costs.
        std::thread::sleep((elapsed / 200).clamp(Duration::from_micros(200), POLL));
    }
}

const POLL: Duration = Duration::from_millis(20);

fn silent(command: &mut Command) -> &mut Command {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
}

fn quietly(command: &mut Command) -> Option<()> {
    silent(command).status().ok()?.success().then_some(())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_peer_is_ended() {
        let begun = Instant::now();
        let taken = run(Command::new("sleep").arg("60"), Duration::from_millis(50));
        assert_eq!(taken, Some(Taken::Beyond(0.05)));
        assert!(begun.elapsed() < Duration::from_secs(30));
        assert_eq!(run(&mut Command::new("false"), POLL), None);
    }
}
