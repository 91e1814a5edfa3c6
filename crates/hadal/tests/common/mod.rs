//! Runs the binary in tests, and holds every run record it writes to the published schema.

// Each test binary uses its own part of this module.
#![allow(dead_code, unreachable_pub)]

pub mod fences;
pub mod schema;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// Fields of a record that must not depend on budgets, folders or interruptions.
pub const RESULTS: [&str; 13] = [
    "model",
    "verdict",
    "complete",
    "reason",
    "states",
    "visited",
    "transitions",
    "depth",
    "layers",
    "violations",
    "rules",
    "properties",
    "constants",
];

/// The strategies of the papers.
pub const PAPERS: [&str; 8] = [
    "ram",
    "cache",
    "mono",
    "local",
    "part",
    "layered",
    "snapshots",
    "dfs-cache",
];

/// The result of a run.
pub struct Run {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Run {
    /// The check against the schema is here, so that no test can forget it.
    #[track_caller]
    fn from(output: Output) -> Self {
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        schema::hold_text(&stdout);
        Run {
            code: output.status.code().unwrap_or(-1),
            stdout,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Run {
    /// The run record on standard output.
    #[track_caller]
    pub fn record(&self) -> Value {
        match serde_json::from_str(&self.stdout) {
            Ok(record) => {
                schema::hold(&record);
                record
            }
            Err(error) => panic!(
                "no record ({error}), exit {}\n{}\n{}",
                self.code, self.stdout, self.stderr
            ),
        }
    }
}

/// Runs a command from the root of the workspace.
#[track_caller]
pub fn hadal(args: &[&str]) -> Run {
    let output = Command::new(env!("CARGO_BIN_EXE_hadal"))
        .args(args)
        .current_dir(root())
        .stdin(Stdio::null())
        .output()
        .expect("the binary runs");
    schema::hold_file(args);
    output.into()
}

/// Checks a text given on standard input.
#[track_caller]
pub fn check_text(text: impl AsRef<[u8]>, flags: &[&str]) -> Run {
    let mut child = Command::new(env!("CARGO_BIN_EXE_hadal"))
        .args(["check", "-"])
        .args(flags)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut stdin = child.stdin.take().expect("standard input is piped");
    let text = text.as_ref().to_vec();
    let writer = std::thread::spawn(move || {
        // A program that refuses its input early closes the pipe.
        let _ = stdin.write_all(&text);
    });
    let output = child.wait_with_output().expect("the binary ends");
    writer.join().expect("the writer ends");
    schema::hold_file(flags);
    output.into()
}

/// The root of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .expect("the crate lies two folders below the root")
        .to_owned()
}
