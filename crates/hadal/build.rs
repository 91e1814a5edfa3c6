//! Tells the program which commit it is built from: figures of the laboratory mean little without.
//!
//! Whoever builds may say it in HADAL_COMMIT; otherwise git is asked. Where there is no git, or the
//! source is not in its repository, the commit stays unknown.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=HADAL_COMMIT");
    if std::env::var_os("HADAL_COMMIT").is_some() {
        return;
    }
    // The source may lie, unpacked, in the repository of something else.
    let is_ours = git(&["ls-files", "--error-unmatch", "build.rs"]).is_some();
    let commit = git(&["rev-parse", "--short", "HEAD"]).filter(|_| is_ours);
    let Some(commit) = commit else { return };
    println!("cargo::rustc-env=HADAL_COMMIT={commit}");
    // A line is added there whenever another commit is checked out or made.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"])
        && Path::new(&log).exists()
    {
        println!("cargo::rerun-if-changed={log}");
    }
}

/// What git says, if it can.
fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
