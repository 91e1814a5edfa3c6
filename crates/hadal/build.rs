//! Passes the commit to the program: figures of the laboratory mean little without it.
//!
//! It is HADAL_COMMIT, if set, else what git reports. Without git, or outside the repository, it
//! stays unknown.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=HADAL_COMMIT");
    if std::env::var_os("HADAL_COMMIT").is_some() {
        return;
    }
    // The source may be unpacked in the repository of something else.
    let is_ours = git(&["ls-files", "--error-unmatch", "build.rs"]).is_some();
    let commit = git(&["rev-parse", "--short", "HEAD"]).filter(|_| is_ours);
    let Some(commit) = commit else { return };
    println!("cargo::rustc-env=HADAL_COMMIT={commit}");
    // It grows whenever a commit is made or checked out.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"])
        && Path::new(&log).exists()
    {
        println!("cargo::rerun-if-changed={log}");
    }
}

/// The output of git, if it succeeds.
fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
