//! Searches larger than their memory as scripts and people meet them: folders, what is refused,
//! what can be resumed, and what is reported about it.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{RESULTS, Run, check_text, hadal, root};
use serde_json::Value;
use tempfile::TempDir;

/// 181,440 states, far more than the smallest budgets hold.
const PUZZLE: [&str; 5] = [
    "models/sliding_unsolvable.m",
    "--const",
    "ROWS=3",
    "--const",
    "COLS=3",
];

/// So little that most of the puzzle is on disk.
const LITTLE: &str = "600K";

fn puzzle(flags: &[&str]) -> Run {
    hadal(&[&["check"], &PUZZLE[..], &["--progress", "none"], flags].concat())
}

#[track_caller]
fn assert_same_results(one: &Value, other: &Value) {
    for name in RESULTS {
        assert_eq!(one[name], other[name], "{name}");
    }
}

#[track_caller]
fn assert_refused(run: &Run, because: &str) {
    assert_eq!(run.code, 2, "{}{}", run.stdout, run.stderr);
    assert!(run.stderr.contains(because), "{}", run.stderr);
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("there is room for a folder")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("the path is text")
}

/// Runs with `TMPDIR` set.
fn with_scratch_in(parent: &Path, flags: &[&str]) -> Run {
    let output = Command::new(env!("CARGO_BIN_EXE_hadal"))
        .arg("check")
        .args(PUZZLE)
        .args(flags)
        .env("TMPDIR", parent)
        .current_dir(root())
        .output();
    output.expect("the binary runs").into()
}

fn n_entries(path: &Path) -> usize {
    fs::read_dir(path).map_or(0, Iterator::count)
}

/// A run that has a folder and stops before its end.
fn begin_and_stop(path: &Path) {
    let run = puzzle(&[
        "--disk",
        text(path),
        "--data-memory",
        LITTLE,
        "--time-limit",
        "20ms",
    ]);
    assert_eq!(run.code, 3, "{}{}", run.stdout, run.stderr);
}

#[test]
fn little_memory_changes_the_means_and_not_the_results() {
    let parent = folder();
    let enough = puzzle(&["--json", "-"]).record();
    let run = with_scratch_in(parent.path(), &["--data-memory", LITTLE, "--json", "-"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let little = run.record();
    assert_same_results(&enough, &little);
    for (record, is_on_disk) in [(&enough, false), (&little, true)] {
        for name in ["peak_bytes", "read_bytes", "written_bytes"] {
            let bytes = record["disk"][name].as_u64();
            assert_eq!(bytes.is_some_and(|bytes| bytes > 0), is_on_disk, "{name}");
        }
        let per_state = record["disk"]["bytes_per_state"].as_f64();
        assert_eq!(per_state.is_some_and(|bytes| bytes > 1.0), is_on_disk);
        let merge = record["seconds"]["merge"].as_f64();
        assert_eq!(merge.is_some_and(|seconds| seconds > 0.0), is_on_disk);
        assert!(record["seconds"]["io_wait"].as_f64() >= Some(0.0));
        // Every firing leads to a state that is new or a duplicate, but for the startstate.
        let found = |name: &str| record["duplicates"][name].as_u64().expect("a count");
        let duplicates = found("memory") + found("layer") + found("disk");
        let states = record["states"].as_u64().expect("a count");
        assert_eq!(
            Some(duplicates + states - 1),
            record["transitions"].as_u64()
        );
        assert_eq!(found("disk") > 0, is_on_disk);
    }
    assert_eq!(n_entries(parent.path()), 0, "the folder was deleted");
}

#[test]
fn a_scratch_folder_is_deleted_however_the_run_ends() {
    for (flags, code) in [
        (&["--time-limit", "100ms"][..], 3),
        (&["--disk-limit", "500K"], 3),
        (&["--bound", "15"], 3),
        (&["--json", "/no/such/folder/r.json"], 2),
    ] {
        let parent = folder();
        let flags = [flags, &["--data-memory", LITTLE]].concat();
        let run = with_scratch_in(parent.path(), &flags);
        assert_eq!(run.code, code, "{flags:?}: {}{}", run.stdout, run.stderr);
        assert_eq!(n_entries(parent.path()), 0, "{flags:?}");
    }
}

#[test]
fn a_violation_is_the_same_from_disk_and_leaves_nothing_behind() {
    let text = "var x: 0..200000; y: 0..1; startstate x := 0; y := 0 end;
        rule x < 200000 ==> x := x + 1 end; rule y := 1 - y end;
        invariant \"small\" x < 30000;";
    let parent = folder();
    let enough = check_text(text, &["--json", "-"]);
    let path = parent.path().join("run");
    let flags = [
        "--data-memory",
        LITTLE,
        "--disk",
        path.to_str().expect("text"),
    ];
    let little = check_text(text, &[&flags[..], &["--json", "-"]].concat());
    assert_eq!((enough.code, little.code), (1, 1), "{}", little.stderr);
    assert_same_results(&enough.record(), &little.record());
    // The run is finished, so there is nothing to resume.
    let run = hadal(&["resume", flags[3]]);
    assert_refused(&run, "is finished");
}

#[test]
fn a_folder_in_memory_is_not_used_unless_forced() {
    let memory = Path::new("/dev/shm");
    if !memory.is_dir() {
        return;
    }
    let parent = tempfile::tempdir_in(memory).expect("there is room");
    let run = with_scratch_in(parent.path(), &["--data-memory", LITTLE]);
    assert_eq!(run.code, 3, "{}{}", run.stdout, run.stderr);
    assert!(
        run.stdout.contains("memory budget of 600.0 KiB"),
        "{}",
        run.stdout
    );
    assert!(
        run.stdout.contains("lies in memory itself"),
        "{}",
        run.stdout
    );
    assert!(run.stdout.contains("--disk"), "{}", run.stdout);
    assert_eq!(n_entries(parent.path()), 0);

    let path = parent.path().join("run");
    let flags = ["--data-memory", LITTLE, "--disk", text(&path)];
    assert_refused(&puzzle(&flags), "lies in memory itself");
    assert!(!path.exists(), "what was made to find out is gone");
    let run = puzzle(&[&flags[..], &["--force"]].concat());
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
}

#[test]
fn a_search_in_memory_alone_says_how_to_continue() {
    let run = puzzle(&["--strategy", "ram", "--data-memory", LITTLE]);
    assert_eq!(run.code, 3, "{}", run.stdout);
    assert!(
        run.stdout.contains("leave out --strategy ram"),
        "{}",
        run.stdout
    );
    let run = puzzle(&["--strategy", "ram", "--disk", "x"]);
    assert_refused(&run, "--strategy ram");
    assert!(!root().join("x").exists());
}

#[test]
fn a_folder_with_an_unfinished_run_is_refused_and_can_be_resumed() {
    let parent = folder();
    let path = parent.path().join("deep/er");
    begin_and_stop(&path);
    for flags in [&[][..], &["--force"]] {
        let run = puzzle(&[&["--disk", text(&path)], flags].concat());
        assert_refused(&run, "use hadal resume");
    }
    let enough = puzzle(&["--json", "-"]).record();
    let run = hadal(&["resume", text(&path), "--threads", "1", "--json", "-"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_same_results(&enough, &run.record());
    assert_eq!(run.record()["threads"], 1);

    // Now it is finished.
    assert_refused(&hadal(&["resume", text(&path)]), "is finished");
    assert_refused(&puzzle(&["--disk", text(&path)]), "--force");
    let run = puzzle(&["--disk", text(&path), "--force"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
}

#[test]
fn a_stopped_run_says_how_to_resume_it() {
    let parent = folder();
    let path = parent.path().join("a run");
    let flags = ["--disk", text(&path), "--data-memory", LITTLE];
    let run = puzzle(&[&flags[..], &["--disk-limit", "500K"]].concat());
    assert_eq!(run.code, 3, "{}{}", run.stdout, run.stderr);
    assert!(
        run.stdout.contains("disk limit of 500.0 KiB"),
        "{}",
        run.stdout
    );
    let hint = format!("with a larger --disk-limit: hadal resume '{}'", text(&path));
    assert!(run.stdout.contains(&hint), "{}", run.stdout);
    // It says what is used and what it would have needed.
    let short = run
        .stdout
        .lines()
        .find(|line| line.contains("the limit of 500.0 KiB is reached: "));
    let short = short.expect("a line about the disk");
    for part in ["are used", "bytes a state", "at least", "the whole run"] {
        assert!(short.contains(part), "{short}");
    }
    // With the same limit it comes no further, and without it to the end.
    let resume = [
        "resume",
        text(&path),
        "--data-memory",
        LITTLE,
        "--json",
        "-",
    ];
    let run = hadal(&[&resume[..], &["--disk-limit", "500K"]].concat());
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert_eq!(run.record()["reason"], "disk");
    let run = hadal(&resume);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_same_results(&puzzle(&["--json", "-"]).record(), &run.record());
}

#[test]
fn a_bound_is_part_of_the_question() {
    let parent = folder();
    let path = parent.path().join("run");
    let run = puzzle(&["--disk", text(&path), "--bound", "9"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(!run.stdout.contains("hadal resume"), "{}", run.stdout);
}

#[test]
fn the_folder_keeps_the_question_and_the_text() {
    let parent = folder();
    let model = parent.path().join("counter.m");
    let path = parent.path().join("run");
    let text_of_model = "const N: 10; type Proc: scalarset(2);
        var x: array [Proc] of 0..N;
        startstate for p: Proc do x[p] := 0 end end;
        ruleset p: Proc do rule x[p] < N ==> x[p] := x[p] + 1 end end;
        invariant \"never at the end\" exists p: Proc do x[p] < N end;
        invariant \"never beyond seven\" forall p: Proc do x[p] < 8 end;";
    fs::write(&model, text_of_model).expect("a file can be written");
    let flags = [
        "--const",
        "N=300",
        "--symmetry",
        "off",
        "--deadlock",
        "stuck",
        "--max-errors",
        "2",
        "--engine",
        "interpreter",
        "--json",
        "-",
    ];
    let check = [&["check", text(&model)], &flags[..]].concat();
    let whole = hadal(&check);
    assert_eq!(whole.code, 1, "{}", whole.stderr);
    let stopped = ["--disk", text(&path), "--time-limit", "0s"];
    let run = hadal(&[&check[..], &stopped].concat());
    assert_ne!(run.code, 0, "{}", run.stderr);
    fs::remove_file(&model).expect("the model was there");
    let run = hadal(&["resume", text(&path), "--json", "-"]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    let (whole, resumed) = (whole.record(), run.record());
    assert_same_results(&whole, &resumed);
    for name in [
        "language", "dialect", "engine", "symmetry", "strategy", "store",
    ] {
        assert_eq!(whole[name], resumed[name], "{name}");
    }

    // Standard input cannot be read twice, and need not be.
    let path = parent.path().join("from standard input");
    let flags = [
        "--const",
        "N=1000",
        "--max-errors",
        "2",
        "--time-limit",
        "0s",
        "--disk",
        text(&path),
    ];
    assert_ne!(check_text(text_of_model, &flags).code, 0);
    let run = hadal(&["resume", text(&path), "--json", "-"]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert_eq!(run.record()["model"], "<stdin>");
    assert_eq!(run.record()["constants"]["N"], "1000");
}

#[test]
fn what_is_no_run_is_not_resumed_and_not_touched() {
    let parent = folder();
    assert_refused(&hadal(&["resume", "no/such/folder"]), "there is no folder");
    assert_refused(
        &hadal(&["resume", text(parent.path())]),
        "there is no run in",
    );
    assert_refused(&hadal(&["resume", "README.md"]), "there is no folder");
    assert_eq!(n_entries(parent.path()), 0);
}

#[test]
fn a_folder_that_is_used_otherwise_needs_force_and_keeps_what_is_not_ours() {
    let parent = folder();
    let notes = parent.path().join("notes.txt");
    fs::write(&notes, "mine").expect("a file can be written");
    let disk = ["--disk", text(parent.path())];
    assert_refused(&puzzle(&disk), "is not empty");
    assert_eq!(n_entries(parent.path()), 1, "nothing was left there");
    let run = puzzle(&[&disk[..], &["--force"]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(fs::read_to_string(&notes).ok().as_deref(), Some("mine"));
    assert_refused(&puzzle(&["--disk", text(&notes)]), "cannot use");
    assert_refused(&puzzle(&["--disk", "/proc/no/such"]), "cannot use");
    assert_refused(&puzzle(&["--force"]), "--disk");
}

#[test]
fn a_bad_model_makes_no_folder() {
    let parent = folder();
    let path = parent.path().join("run");
    let run = hadal(&["check", "models/ordered_nodes.m", "--disk", text(&path)]);
    assert_eq!(run.code, 2);
    let run = puzzle(&["--disk", text(&path), "--memory", "1M"]);
    assert_refused(&run, "32.0 MiB");
    let run = puzzle(&["--disk", text(&path), "--no-search"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(!path.exists());
}

/// A run that continues until it is stopped.
fn begin_endless(path: Option<&Path>, scratch_in: &Path) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hadal"));
    command
        .args(["check", "models/sliding_unsolvable.m", "--const", "ROWS=3"])
        .args([
            "--const",
            "COLS=4",
            "--data-memory",
            "1M",
            "--progress",
            "plain",
        ])
        .env("TMPDIR", scratch_in)
        .current_dir(root())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if let Some(path) = path {
        command.arg("--disk").arg(path);
    }
    command.spawn().expect("the binary runs")
}

/// Waits until the first line of progress that says something of the disk.
fn await_disk(child: &mut Child) -> String {
    let mut seen = String::new();
    let from = child.stderr.as_mut().expect("standard error is piped");
    let mut byte = [0];
    while from.read_exact(&mut byte).is_ok() {
        seen.push(char::from(byte[0]));
        if byte == *b"\n" && seen.contains("on disk") {
            break;
        }
    }
    seen
}

fn signal(child: &Child, name: &str) {
    let pid = child.id().to_string();
    let sent = Command::new("kill").args([name, &pid]).status();
    assert!(sent.is_ok_and(|status| status.success()));
}

#[test]
fn a_folder_is_one_process_s_and_progress_shows_the_disk() {
    let parent = folder();
    let path = parent.path().join("run");
    let mut child = begin_endless(Some(&path), parent.path());
    let seen = await_disk(&mut child);
    let (second, resumed) = (
        puzzle(&["--disk", text(&path)]),
        hadal(&["resume", text(&path)]),
    );
    signal(&child, "-TERM");
    let run: Run = child.wait_with_output().expect("it ends").into();
    assert!(
        seen.contains(" on disk, ") && seen.contains(" free"),
        "{seen}"
    );
    for refused in [second, resumed] {
        assert_refused(&refused, "in use by another run");
    }
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(
        run.stdout.contains("resume: hadal resume "),
        "{}",
        run.stdout
    );
    let resumed = hadal(&["resume", text(&path), "--time-limit", "200ms", "-q"]);
    assert_eq!(resumed.code, 3, "{}", resumed.stderr);
}

#[test]
fn two_interrupts_end_it_at_once_and_leave_no_scratch_folder() {
    let parent = folder();
    let mut child = begin_endless(None, parent.path());
    await_disk(&mut child);
    assert_eq!(n_entries(parent.path()), 1);
    signal(&child, "-INT");
    signal(&child, "-INT");
    let begun = Instant::now();
    let run: Run = child.wait_with_output().expect("it ends").into();
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(!run.stderr.contains("error"), "{}", run.stderr);
    assert!(begun.elapsed() < Duration::from_secs(20));
    assert_eq!(n_entries(parent.path()), 0);
}

#[test]
fn a_lost_terminal_stops_it_as_an_interrupt_does() {
    let parent = folder();
    let mut child = begin_endless(None, parent.path());
    await_disk(&mut child);
    signal(&child, "-HUP");
    let run: Run = child.wait_with_output().expect("it ends").into();
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert_eq!(n_entries(parent.path()), 0);
}

#[test]
fn a_run_without_room_says_what_is_saved() {
    let parent = folder();
    let path = parent.path().join("run");
    let flags = ["--disk-limit", "500K", "--data-memory", LITTLE];
    let never = ["--disk", text(&path), "--commit-every", "1h"];
    let run = puzzle(&[&never[..], &flags].concat());
    assert_eq!(run.code, 3, "{}{}", run.stdout, run.stderr);
    assert!(
        run.stdout.contains("(from the beginning)"),
        "{}",
        run.stdout
    );
}

#[test]
fn a_search_for_more_violations_that_was_stopped_says_so() {
    let parent = folder();
    let model = parent.path().join("counters.m");
    fs::write(
        &model,
        format!("{COUNTERS} invariant \"early\" a + b + c < 9;"),
    )
    .expect("written");
    let path = parent.path().join("run");
    let run = hadal(&[
        "check",
        text(&model),
        "--max-errors",
        "9",
        "--disk",
        text(&path),
        "--data-memory",
        "2M",
        "--time-limit",
        "1s",
    ]);
    assert_eq!(run.code, 1, "{}{}", run.stdout, run.stderr);
    for part in ["the search was stopped (time)", "resume: hadal resume"] {
        assert!(run.stdout.contains(part), "{part}: {}", run.stdout);
    }
    assert!(!run.stdout.contains("ended at"), "{}", run.stdout);
}

#[test]
fn where_states_have_nowhere_to_go_it_is_said_at_once() {
    let parent = folder();
    let run = with_scratch_in(&parent.path().join("none"), &[]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(
        run.stderr.contains("warning: states have nowhere"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_killed_run_can_be_verified_and_resumed() {
    let parent = folder();
    let path = parent.path().join("run");
    let mut child = begin_endless(Some(&path), parent.path());
    await_disk(&mut child);
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
    let run = hadal(&["resume", text(&path), "--verify"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("intact"), "{}", run.stdout);
    let run = hadal(&[
        "resume",
        text(&path),
        "--time-limit",
        "200ms",
        "--json",
        "-",
    ]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert_eq!(run.record()["reason"], "time");
}

#[test]
fn a_damaged_folder_is_named_and_never_believed() {
    let parent = folder();
    let path = parent.path().join("run");
    begin_and_stop(&path);
    let manifest = path.join("MANIFEST");
    let mut bytes = fs::read(&manifest).expect("there is a manifest");
    bytes[100] ^= 1;
    let mut file = fs::File::create(&manifest).expect("it can be written");
    file.write_all(&bytes).expect("it can be written");
    drop(file);
    for args in [
        &["resume", text(&path)][..],
        &["resume", text(&path), "--verify"],
        &["check", "models/peterson.m", "--disk", text(&path)],
    ] {
        let run = hadal(args);
        assert_eq!(run.code, 4, "{args:?}: {}{}", run.stdout, run.stderr);
        assert!(run.stderr.contains("MANIFEST is damaged"), "{}", run.stderr);
        let named = format!("in `{}`", path.display());
        assert!(run.stderr.contains(&named), "{}", run.stderr);
    }
}

#[test]
fn a_folder_of_another_version_is_refused_and_can_be_started_anew() {
    let this = format!("this is hadal {}, format ", env!("CARGO_PKG_VERSION"));
    for (fixture, written_by) in [
        ("manifest-format-6", "written by another hadal, format 6;"),
        (
            "manifest-format-99",
            "written by hadal 7.8.9, format 99, payload 12;",
        ),
    ] {
        let parent = folder();
        let path = parent.path().join("run");
        fs::create_dir(&path).expect("a folder");
        let fixture = root().join("crates/store/tests/fixtures").join(fixture);
        fs::copy(fixture, path.join("MANIFEST")).expect("a copy");
        let check = ["check", "models/peterson.m", "--disk", text(&path)];
        for args in [
            &["resume", text(&path)][..],
            &["resume", text(&path), "--verify"],
            &check,
        ] {
            let run = hadal(args);
            assert_refused(&run, written_by);
            assert_refused(&run, &this);
            assert_refused(
                &run,
                "resume it with that version, or start anew with --force",
            );
        }
        let run = hadal(&[&check[..], &["--force"]].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
    }
}

/// Counters that take a while, and whose last state is bad.
const COUNTERS: &str = r#"
const N: 160;
var a: 0..N; b: 0..N; c: 0..N;
startstate begin a := 0; b := 0; c := 0; end;
rule "a" a < N ==> begin a := a + 1; end;
rule "b" b < N ==> begin b := b + 1; end;
rule "c" c < N ==> begin c := c + 1; end;
invariant "not the last" !(a = N & b = N & c = N);
"#;

#[test]
fn a_violation_is_reported_though_the_path_to_it_is_damaged() {
    let parent = folder();
    let model = parent.path().join("counters.m");
    fs::write(&model, COUNTERS).expect("it can be written");
    let flip = |parents: &Path, at: usize| {
        let mut bytes = fs::read(parents).unwrap_or_default();
        *bytes.get_mut(at)? ^= 1;
        fs::write(parents, bytes).ok()
    };
    // A run that was stopped when its manifest knew two blocks of parents: what was written after
    // the last commit is written again and not read, and the last block is read at the beginning.
    let stopped = |milliseconds: u32| {
        let path = parent.path().join(format!("after-{milliseconds}"));
        let limit = format!("{milliseconds}ms");
        let flags = ["--data-memory", "2M", "--time-limit", &limit, "-q"];
        let run = hadal(&[&["check", text(&model), "--disk", text(&path)][..], &flags].concat());
        assert_eq!(run.code, 3, "{}{}", run.stdout, run.stderr);
        assert_eq!(run.stderr, "", "nothing but the verdict was asked for");
        let parents = path.join("prnt-00000000.hadal");
        flip(&parents, 70_000)?;
        let is_known = hadal(&["resume", text(&path), "--verify"]).code == 4;
        flip(&parents, 70_000)?;
        is_known.then_some((path, parents))
    };
    let (path, parents) = (1..)
        .find_map(|i| stopped(100 * i))
        .expect("it takes a while");
    flip(&parents, 5000).expect("the first block is there");
    let record = parent.path().join("run.json");
    let resume = ["resume", text(&path), "--json", text(&record)];
    let run = hadal(&[&resume[..], &["--progress", "none"]].concat());
    assert_eq!(run.code, 4, "{}{}", run.stdout, run.stderr);
    for part in [
        "invariant \"not the last\" is false, after 480 steps",
        "prnt-00000000.hadal is damaged",
    ] {
        assert!(run.stderr.contains(part), "{}", run.stderr);
    }
    assert!(!record.exists(), "there is no record");
    fs::write(&record, "{}").expect("it can be written");
    assert_eq!(hadal(&resume).code, 4);
    assert_eq!(fs::read_to_string(&record).ok().as_deref(), Some("{}"));
}

#[test]
fn without_room_for_a_manifest_no_one_is_told_to_resume() {
    let parent = folder();
    let path = parent.path().join("run");
    let run = puzzle(&["--disk", text(&path), "--disk-limit", "0"]);
    assert_eq!(run.code, 3, "{}{}", run.stdout, run.stderr);
    assert!(!run.stdout.contains("hadal resume"), "{}", run.stdout);
}

/// The longer way: `cargo test --release -p hadal --test it -- --ignored kills`.
#[test]
#[ignore = "takes minutes"]
fn two_hundred_kills_change_nothing() {
    let flags = ["--json", "-", "--progress", "none", "--data-memory", "4M"];
    let large = [
        "models/sliding_unsolvable.m",
        "--const",
        "ROWS=2",
        "--const",
        "COLS=5",
    ];
    let since = Instant::now();
    let whole = hadal(&[&["check"], &large[..], &flags].concat());
    // Kills come at any moment of a run.
    let window = since.elapsed().as_millis() as u64;
    let expected: Value = serde_json::from_str(&whole.stdout).expect("a record");
    let mut chance = 12_345_u64;
    let (mut n_kills, mut n_ended) = (0, 0);
    while n_kills < 200 {
        let scratch = folder();
        let run = scratch.path().join("run");
        let mut is_begun = false;
        loop {
            let mut command = Command::new(env!("CARGO_BIN_EXE_hadal"));
            command.current_dir(root()).stderr(Stdio::null());
            match is_begun {
                false => command
                    .arg("check")
                    .args(large)
                    .args(["--disk", text(&run)]),
                true => command.args(["resume", text(&run)]),
            };
            command.args(["--commit-every", "300ms"]);
            let child = command.args(flags).stdout(Stdio::piped()).spawn();
            let mut child = child.expect("hadal can be run");
            chance = chance
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            std::thread::sleep(Duration::from_millis((chance >> 33) % window));
            if child.try_wait().expect("a child can be asked").is_none() {
                child.kill().expect("a child can be killed");
                let output = child.wait_with_output().expect("a child ends");
                n_kills += 1;
                // Killed when it had said everything, it is done.
                if let Ok(record) = serde_json::from_slice(&output.stdout) {
                    assert_same_results(&record, &expected);
                    n_ended += 1;
                    break;
                }
                // Killed before it had a manifest, it has not begun.
                is_begun = run.join("MANIFEST").exists();
                if !is_begun && run.exists() {
                    fs::remove_dir_all(&run).expect("a folder can be removed");
                }
                continue;
            }
            let output = child.wait_with_output().expect("it has ended");
            let record: Value = serde_json::from_slice(&output.stdout).expect("a record");
            assert_same_results(&record, &expected);
            n_ended += 1;
            break;
        }
    }
    assert!(n_ended > 5, "{n_kills} kills, {n_ended} ends");
}
