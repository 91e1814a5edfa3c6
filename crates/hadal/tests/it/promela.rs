//! Promela models by others give the counts that SPIN 6.5.2 gives, whatever the engine, the memory
//! and the number of threads.
//!
//! `HADAL_PROMELA_MODELS` names the folder, whose `expected.tsv` has a row for each model: file,
//! definition of a macro, states, edges, kinds of errors. `HADAL_PROMELA_MAX` is the number of
//! states of the largest model that is checked.

use std::path::{Path, PathBuf};
use std::process::Command;

use hadal::model::Stop;
use hadal::search::{Progress, Reason};
use hadal::{Check, ModelSource, Observer, Verdict};
use hadal_testkit::parallel::on_all;
use serde_json::Value;

use crate::common::{RESULTS, Run, check_text};

/// Larger models are left to longer checks.
const MAX_STATES: u64 = 50_000;

struct Row {
    name: String,
    /// The model, or a copy with the macro defined otherwise.
    path: PathBuf,
    states: u64,
    edges: u64,
    errors: String,
}

/// The rows of models that are not too large; none where no folder is given.
fn rows(copies: &Path) -> Vec<Row> {
    let Some(folder) = std::env::var_os("HADAL_PROMELA_MODELS") else {
        return Vec::new();
    };
    let folder = PathBuf::from(folder);
    let max = std::env::var("HADAL_PROMELA_MAX").ok();
    let max = max.map_or(MAX_STATES, |max| max.parse().expect("a number"));
    let table = std::fs::read_to_string(folder.join("expected.tsv")).expect("a table");
    let mut rows = Vec::new();
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let columns: Vec<&str> = line.split('\t').collect();
        let [file, define, states, edges, errors] = columns[..] else {
            panic!("unexpected row: {line}");
        };
        let mut path = folder.join(file);
        if let Some((name, value)) = define.split_once('=') {
            let text = std::fs::read_to_string(&path).expect("a model");
            let copy = copies.join(format!("{}-{}", value, Path::new(file).display()));
            std::fs::write(&copy, redefine(&text, name, value)).expect("a copy");
            path = copy;
        }
        let number = |text: &str| text.parse::<u64>().expect("a number");
        let row = Row {
            name: format!("{file} {define}"),
            path,
            states: number(states),
            edges: number(edges),
            errors: errors.to_owned(),
        };
        if row.states <= max {
            rows.push(row);
        }
    }
    rows
}

/// The text with a macro defined otherwise.
fn redefine(text: &str, name: &str, value: &str) -> String {
    let line = |line: &str| {
        let mut words = line.split_whitespace();
        match (words.next(), words.next()) {
            (Some("#define"), Some(word)) if word == name => format!("#define {name} {value}\n"),
            _ => format!("{line}\n"),
        }
    };
    text.lines().map(line).collect()
}

/// Runs the binary in the folder of the model, where it includes files from.
fn check(row: &Row, flags: &[&str]) -> Run {
    let output = Command::new(env!("CARGO_BIN_EXE_hadal"))
        .arg("check")
        .arg(&row.path)
        .args(["--json", "-", "--progress", "none"])
        .args(QUESTION)
        .args(flags)
        .current_dir(row.path.parent().expect("a folder"))
        .output();
    output.expect("the binary runs").into()
}

const QUESTION: [&str; 6] = [
    "--claim",
    "none",
    "--max-errors",
    "1000000",
    "--trace",
    "none",
];

/// What is wrong with a record.
fn difference(row: &Row, record: &Value) -> Option<String> {
    let violations = record["violations"].as_array().expect("violations");
    let kind = |violation: &Value| match violation["kind"].as_str() {
        Some("deadlock") => "invalid-end-state".to_owned(),
        kind => kind.unwrap_or_default().to_owned(),
    };
    let mut kinds: Vec<String> = violations.iter().map(kind).collect();
    kinds.sort();
    kinds.dedup();
    let kinds = match kinds.is_empty() {
        true => "-".to_owned(),
        false => kinds.join(","),
    };
    let expected = format!("{} {} {}", row.states, row.edges, row.errors);
    let found = format!("{} {} {kinds}", record["states"], record["transitions"]);
    (found != expected).then(|| format!("{}: {found}, expected {expected}", row.name))
}

/// State spaces of up to this many states are small.
const SMALL: u64 = 5_000;

fn check_all(flags: &[&str]) {
    check_rows(|_| true, flags);
}

/// Checks the rows of the table that are `chosen`.
fn check_rows(chosen: impl Fn(&Row) -> bool, flags: &[&str]) {
    let copies = tempfile::tempdir().expect("a folder");
    let mut rows = rows(copies.path());
    rows.retain(chosen);
    let differences = on_all(&rows, |row| {
        let run = check(row, flags);
        difference(row, &run.record())
    });
    let differences: Vec<String> = differences.into_iter().flatten().collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn counts_are_those_of_spin() {
    check_all(&[]);
    check_all(&["--threads", "4"]);
}

#[test]
fn counts_of_the_interpreter_are_those_of_spin() {
    check_all(&["--engine", "interpreter", "--threads", "1"]);
}

#[test]
fn counts_with_little_memory_are_those_of_spin() {
    check_rows(|row| row.states <= SMALL, &["--data-memory", "128K"]);
    // With less, they would spend a minute on buckets of a few keys.
    check_rows(|row| row.states > SMALL, &["--data-memory", "512K"]);
}

/// A rendezvous is an arrow from the sender to the receiver, on whichever side that is.
#[test]
fn a_chart_has_a_column_for_each_process_and_arrows_for_messages() {
    let text = "chan wire = [0] of { byte }; chan log = [2] of { byte };
active proctype left() { byte m; wire!1; wire?m; assert(m == 3) }
active proctype right() { byte n; wire?n; log!n; log?n; wire!n + 1 }";
    let run = check_text(text, &["--language", "promela", "--trace", "chart"]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    let lines: Vec<&str> = run.stdout.lines().map(str::trim).collect();
    let rows = [
        "left(0)        right(1)",
        "1  wire!1 [1] ──> wire?n",
        "2  │              log!n ─>",
        "3  │              ─> log?n",
        "4  wire?m <────── wire!n + 1 [2]",
    ];
    for row in rows {
        assert!(lines.contains(&row), "{row}: {}", run.stdout);
    }
    let murphi = check_text(
        "var b: boolean; startstate b := true; end;",
        &["--trace", "chart"],
    );
    assert_eq!(murphi.code, 2);
    assert!(
        murphi.stderr.contains("draws processes"),
        "{}",
        murphi.stderr
    );
}

#[test]
fn a_d_step_that_never_ends_is_a_fault() {
    let text = "byte x;
active proctype P() {
  x = 1;
  d_step { do :: x == 1 -> skip od }
}";
    for engine in ["native", "interpreter"] {
        let flags = ["--language", "promela", "--engine", engine];
        let run = check_text(text, &flags);
        assert_eq!(run.code, 1, "{}", run.stderr);
        let message = "a loop ran more than 1048576 times";
        assert!(run.stdout.contains(message), "{}", run.stdout);
        assert!(run.stdout.contains(":4:"), "{}", run.stdout);
    }
}

#[test]
fn counts_beyond_the_largest_number_are_not_exact() {
    let choices = "if :: skip :: skip fi; ".repeat(70);
    let text = format!("active proctype P() {{ atomic {{ {choices} }} }}");
    let run = check_text(text, &["--language", "promela"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let expected = "transitions  at least 18,446,744,073,709,551,615";
    assert!(run.stdout.contains(expected), "{}", run.stdout);
    assert!(!run.stdout.contains("transitions/s"), "{}", run.stdout);
}

/// Starts processes for as long as there are fewer than 12; a state has room for 8 at first.
const MANY: &str = "byte x; proctype P(byte n) { end: n == 99 }
active proctype M() { do :: _nr_pr < 12 -> run P(_nr_pr) :: else -> break od; assert(x == 1) }
active proctype N() { assert(x == 2) }";

#[test]
fn a_search_that_is_started_over_leaves_nothing_behind() {
    for max_errors in ["1", "2", "9"] {
        let flags = [
            "--language",
            "promela",
            "--json",
            "-",
            "--max-errors",
            max_errors,
        ];
        let again = check_text(MANY, &flags);
        let is_narrow = max_errors != "1";
        let is_told = again
            .stderr
            .contains("more than 8 processes of type `P`: starting over");
        assert_eq!(is_told, is_narrow, "{}", again.stderr);
        let mut wide = flags.to_vec();
        wide.extend(["--instances", "16"]);
        let wide = check_text(MANY, &wide);
        assert!(!wide.stderr.contains("starting over"), "{}", wide.stderr);
        let (again, wide) = (again.record(), wide.record());
        for field in RESULTS {
            assert_eq!(again[field], wide[field], "{field}");
        }
        let violations = again["violations"].as_array().expect("an array");
        assert_eq!(violations.len(), if is_narrow { 2 } else { 1 });
    }
}

/// Raises a flag at some depth.
struct StopAt<'s> {
    stop: &'s Stop,
    layer: u32,
}

impl Observer for StopAt<'_> {
    fn progress(&mut self, progress: &Progress) {
        if progress.layer >= self.layer {
            self.stop.raise();
        }
    }
}

#[test]
fn a_search_that_is_stopped_reports_no_limit_that_is_a_guess() {
    let text = "int x; proctype P() { end: false }
active proctype M() { do :: run P() od }
active proctype N() { do :: x++ od }";
    let source = ModelSource::text("m.pml", text, "promela").expect("a source");
    let model = source.load().expect("a model");
    for layer in [1, 40] {
        let stop = Stop::new();
        let mut observer = StopAt { stop: &stop, layer };
        let check = Check::new(&model).max_errors(9).stop(&stop);
        let checked = check.observer(&mut observer).run().expect("a result");
        assert_eq!(checked.outcome.reason, Some(Reason::Interrupted));
        assert_eq!(checked.outcome.verdict, Verdict::Incomplete);
        assert!(checked.outcome.violations.is_empty());
        assert!(model.wider(&checked.outcome).is_none());
    }
    let checked = Check::new(&model).run().expect("a result");
    assert!(model.wider(&checked.outcome).is_some());
}
