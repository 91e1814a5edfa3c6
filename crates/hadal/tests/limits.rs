//! Loading within the budgets, and limits of the operating system: a message, the right exit code,
//! and no folder left behind.

mod common;

use std::fmt::Write as _;
use std::fs::Permissions;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{Run, check_text, hadal, root, schema};
use tempfile::TempDir;

/// Some ten thousand states.
const CUBE: &str = "const N: 25; var x, y, z: 0..N;
     startstate x := 0; y := 0; z := 0; end;
     rule x < N ==> x := x + 1; end;
     rule y < N ==> y := y + 1; end;
     rule z < N ==> z := z + 1; end;";

fn cube(folder: &Path) -> String {
    let path = folder.join("cube.m");
    std::fs::write(&path, CUBE).expect("there is room");
    path.display().to_string()
}

/// A model with a rule of this many assignments.
fn with_large_rule(n: usize) -> String {
    let mut text = String::from(
        "var x: 0..255; y: array [0..9] of 0..255;
         startstate x := 0; for i: 0..9 do y[i] := 0; end; end;
         rule \"small\" x < 40 ==> x := x + 1; end;
         rule \"large\" x = 40 ==> x := 41;\n",
    );
    for i in 0..n {
        let (to, from, add) = (i % 10, i * 7 % 10, i % 97);
        let _ = writeln!(text, "  y[{to}] := (y[{from}] + x + {add}) % 256;");
    }
    text + "end;\n"
}

/// Runs a shell command with limits on this process's child, in a TMPDIR of its own; `$HADAL` is the
/// program. Nothing may be left in TMPDIR.
#[track_caller]
fn under(limits: &str, args: &[&str]) -> Run {
    let scratch = tempfile::tempdir().expect("there is room for a folder");
    let run = shell(&format!("{limits}; exec \"$HADAL\" \"$@\""), args, &scratch);
    let left: Vec<_> = std::fs::read_dir(scratch.path())
        .expect("the folder is there")
        .map(|entry| entry.expect("it can be read").file_name())
        .collect();
    assert!(left.is_empty(), "{limits}: {left:?} is left behind");
    for text in [&run.stdout, &run.stderr] {
        assert!(!text.contains("panicked"), "{limits}: {text}");
    }
    run
}

fn shell(script: &str, args: &[&str], scratch: &TempDir) -> Run {
    let output = Command::new("bash")
        .args(["-c", script, "sh"])
        .args(args)
        .env("HADAL", env!("CARGO_BIN_EXE_hadal"))
        .env("TMPDIR", scratch.path())
        .current_dir(root())
        .stdin(Stdio::null())
        .output()
        .expect("a shell runs");
    schema::hold_file(args);
    output.into()
}

/// A search that goes to disk.
const ON_DISK: [&str; 6] = [
    "--data-memory",
    "30K",
    "--deadlock",
    "off",
    "--progress",
    "none",
];

/// Whether scratch folders of tests are on a disk; elsewhere no search goes there.
fn scratch_is_on_disk() -> bool {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let model = cube(folder.path());
    let record = hadal(&[&["check", &model, "--json", "-"][..], &ON_DISK].concat()).record();
    record["disk"]["written_bytes"].as_u64() > Some(0)
}

#[test]
fn endless_input_is_refused_within_a_second() {
    for command in ["check", "replay"] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_hadal"))
            .args([command, "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        let mut stdin = child.stdin.take().expect("standard input is piped");
        let started = Instant::now();
        let writer = std::thread::spawn(move || {
            let text = "y\n".repeat(1 << 15);
            while stdin.write_all(text.as_bytes()).is_ok() {}
        });
        let run: Run = child.wait_with_output().expect("it ends").into();
        writer.join().expect("the writer ends");
        assert_eq!(run.code, 2);
        let expected = "error: `<stdin>` has more than 64.0 MiB of text; allow more with \
                        --text-limit\n";
        assert_eq!(run.stderr, expected);
        // It takes a tenth of a second where nobody else uses the machine.
        assert!(started.elapsed() < Duration::from_secs(10));
    }
}

#[test]
fn a_text_may_have_as_many_bytes_as_its_limit() {
    let len = CUBE.len().to_string();
    let flags = ["--no-search", "--text-limit"];
    assert_eq!(check_text(CUBE, &[&flags[..], &[&len]].concat()).code, 0);
    let short = (CUBE.len() - 1).to_string();
    let run = check_text(CUBE, &[&flags[..], &[&short]].concat());
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("allow more with --text-limit"));

    let folder = tempfile::tempdir().expect("there is room for a folder");
    let model = cube(folder.path());
    let run = hadal(&["check", &model, "--no-search", "--text-limit", &len]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let run = hadal(&["check", &model, "--no-search", "--text-limit", &short]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("cube.m` has more than"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_text_may_have_a_quarter_of_the_memory_budget() {
    let comment = format!("-- {}\n", "x".repeat(97)).repeat(90_000);
    let run = check_text(comment + CUBE, &["--memory", "32M"]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains(
            "has more than 8.0 MiB of text, a quarter of the memory budget of 32.0 MiB; give it \
             more with --memory"
        ),
        "{}",
        run.stderr
    );
}

/// The most memory that a process held while it ran, as often as it could be asked.
fn peak_bytes(child: &mut Child) -> u64 {
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().expect("it can be asked").is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
        peak = kibibytes.map_or(peak, |kibibytes: u64| kibibytes << 10);
        std::thread::sleep(Duration::from_millis(1));
    }
    peak
}

/// Checks a model in a file; returns the run and the most memory that it held.
fn check_with_peak(model: &Path, flags: &[&str]) -> (Run, u64) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_hadal"))
        .arg("check")
        .arg(model)
        .args(flags)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let peak = peak_bytes(&mut child);
    (child.wait_with_output().expect("it ended").into(), peak)
}

#[test]
fn a_model_too_large_for_the_budget_is_refused_before_it_is_exceeded() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let model = folder.path().join("large.m");
    // 1.7 MB of text; loading it takes 200 MiB, and native code for it 900.
    std::fs::write(&model, with_large_rule(50_000)).expect("there is room");
    for engine in ["native", "interpreter"] {
        let started = Instant::now();
        let (run, peak) = check_with_peak(&model, &["--memory", "32M", "--engine", engine]);
        assert_eq!(run.code, 2, "{}", run.stderr);
        let expected = "error: a memory budget of 32.0 MiB is too small to load this model; give \
                        it more with --memory\n";
        assert_eq!(run.stderr, expected);
        assert!(peak < (32 + 16) << 20, "{peak}");
        assert!(started.elapsed() < Duration::from_secs(10));
    }
}

#[test]
fn a_counterexample_of_wide_states_is_named_step_by_step() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let model = folder.path().join("wide.m");
    let text = "var a: array [0..20000] of 0..1; n: 0..60;
         startstate for i: 0..20000 do a[i] := 0; end; n := 0; end;
         rule \"flip\" n < 52 ==> for i: 0..20000 do a[i] := 1 - a[i]; end; n := n + 1; end;
         invariant \"short\" n < 52;";
    std::fs::write(&model, text).expect("there is room");
    let record_file = folder.path().join("record.json");
    let json = record_file.display().to_string();
    // All states and changes at once took 500 MiB.
    let flags = ["--memory", "32M", "--trace", "none", "--json", &json];
    let (run, peak) = check_with_peak(&model, &flags);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(peak < (32 + 16) << 20, "{peak}");
    let record = std::fs::read(&record_file).expect("there is a record");
    let record: serde_json::Value = serde_json::from_slice(&record).expect("it is JSON");
    let violation = &record["violations"][0];
    let trace = violation["trace"].as_array().expect("a trace");
    assert_eq!(trace.len(), 53);
    for step in trace {
        let changes = step["changes"].as_object().expect("changes");
        assert_eq!(changes.len(), 20_002);
    }
    let last = violation["state"].as_object().expect("a state");
    assert_eq!(last.len(), 20_002);
}

#[test]
fn a_rule_too_large_for_native_code_is_interpreted_and_named() {
    let text = with_large_rule(12_000);
    let run = check_text(&text, &["--deadlock", "off"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let warning = "warning: too large for native code, so interpreted, which is slower: rule \
                   \"large\"";
    assert!(run.stderr.contains(warning), "{}", run.stderr);
    let note = "note too large for native code, so interpreted: rule \"large\"";
    assert!(run.stdout.contains(note), "{}", run.stdout);
    let run = check_text(&text, &["--no-search"]);
    let note = "interpreted, too large for native code: rule \"large\"";
    assert!(run.stdout.contains(note), "{}", run.stdout);

    let json = ["--deadlock", "off", "--json", "-"];
    let native = check_text(&text, &json).record();
    let interpreted = [&json[..], &["--engine", "interpreter"]].concat();
    let interpreted = check_text(&text, &interpreted).record();
    assert_eq!(native["interpreted"][0], "rule \"large\"");
    assert_eq!(native["engine"], "native");
    assert!(interpreted.get("interpreted").is_none());
    for name in common::RESULTS {
        assert_eq!(native[name], interpreted[name], "{name}");
    }
}

#[test]
fn a_rule_too_large_for_the_budget_is_interpreted_and_named() {
    // Native code takes some 40 MiB.
    let text = with_large_rule(2000);
    let json = ["--deadlock", "off", "--json", "-"];
    let much = check_text(&text, &json).record();
    assert!(much.get("interpreted").is_none());
    let little = check_text(&text, &[&json[..], &["--memory", "40M"]].concat()).record();
    assert_eq!(little["interpreted"][0], "rule \"large\"");
    let peak = little["memory"]["peak_bytes"].as_u64();
    assert!(peak < Some(56 << 20), "{peak:?}");
    for name in common::RESULTS {
        assert_eq!(much[name], little[name], "{name}");
    }
}

#[test]
fn the_time_limit_covers_loading() {
    // Some seconds of parsing.
    let text = with_large_rule(300_000);
    let run = check_text(&text, &["--time-limit", "100ms", "--json", "-"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    let expected = "error: stopped at the time limit, before the model was loaded; nothing is \
                    proved\n";
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("", expected));
    // A model that is loaded soon after it has a record.
    let flags = ["--time-limit", "1ms", "--json", "-", "--const", "N=400"];
    let run = check_text(CUBE, &flags);
    assert_eq!(run.code, 3);
    assert_eq!(run.record()["reason"], "time");
}

#[test]
fn the_time_limit_covers_waiting_for_the_text() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_hadal"))
        .args(["check", "-", "--time-limit", "100ms"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    // Nothing is written, and it stays open.
    let (stdin, started) = (child.stdin.take(), Instant::now());
    let run: Run = child.wait_with_output().expect("it ends").into();
    // A tenth of a second, and a second more.
    assert!(
        started.elapsed() < Duration::from_secs(2),
        "{:?}",
        started.elapsed()
    );
    drop(stdin);
    assert_eq!(run.code, 3);
    assert!(
        run.stderr.contains("stopped at the time limit"),
        "{}",
        run.stderr
    );
}

/// A rule of 10^10 instances, of which one fires: native code finds it at once, the reference tries
/// them one by one.
const LAST_INSTANCE: &str = "var x: 0..1;
     startstate x := 0; end;
     ruleset a: 0..99999; b: 0..99999 do
       rule \"r\" x = 0 & a = b & a = 99998 ==> x := 1; end;
     end;";

#[test]
fn the_time_limit_covers_replaying_a_counterexample() {
    let started = Instant::now();
    let run = check_text(LAST_INSTANCE, &["--time-limit", "1s", "--progress", "none"]);
    assert!(started.elapsed() < Duration::from_secs(20));
    assert_eq!(run.code, 1, "{}{}", run.stdout, run.stderr);
    let found = "violated: deadlock: no rule leads to another state, after 1 step";
    assert!(run.stdout.contains(found), "{}", run.stdout);
    let expected = "The run that leads to it is not shown: the check was to end, at its time limit \
                    or by a signal, before the run was replayed.";
    assert!(run.stdout.contains(expected), "{}", run.stdout);
    let run = check_text(LAST_INSTANCE, &["--time-limit", "1s", "--json", "-"]);
    let record = run.record();
    assert_eq!(record["violations"][0]["kind"], "deadlock");
    assert_eq!(record["violations"][0]["depth"], 1);
    assert_eq!(record["violations"][0]["trace"], serde_json::json!([]));
}

#[test]
fn a_signal_stops_replaying_a_counterexample() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let model = folder.path().join("last.m");
    std::fs::write(&model, LAST_INSTANCE).expect("there is room");
    let run_folder = folder.path().join("run");
    let child = Command::new(env!("CARGO_BIN_EXE_hadal"))
        .arg("check")
        .arg(&model)
        .arg("--disk")
        .arg(&run_folder)
        .args(["--force", "--progress", "none"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    std::thread::sleep(Duration::from_secs(1));
    let signalled = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(signalled.is_ok_and(|status| status.success()));
    let run: Run = child.wait_with_output().expect("it ends").into();
    assert_eq!(run.code, 1, "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.contains("is not shown"), "{}", run.stdout);
    assert!(run.stdout.contains("run finds it again"), "{}", run.stdout);
    // The run can be resumed, to find it again.
    let run = hadal(&[
        "resume",
        &run_folder.display().to_string(),
        "--time-limit",
        "1s",
    ]);
    assert_eq!(run.code, 1, "{}{}", run.stdout, run.stderr);
}

#[test]
fn a_long_startstate_is_part_of_the_search() {
    let text = "var x: 0..3;
        startstate for i: 0..2000000000 do x := i % 4; end; end;
        rule true ==> x := (x + 1) % 4; end;";
    let run = check_text(text, &["--time-limit", "500ms", "--json", "-"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert_eq!(run.record()["reason"], "time");
}

#[test]
fn a_small_stack_is_no_obstacle() {
    // With 16 KiB the system itself fails to start programs now and then.
    for kibibytes in [32, 64] {
        let limits = format!("ulimit -s {kibibytes}");
        let run = under(
            &limits,
            &["check", "models/peterson.m", "--progress", "none"],
        );
        assert_eq!(run.code, 0, "{}", run.stderr);
    }
}

#[test]
fn the_soft_limit_of_open_files_is_raised() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let model = cube(folder.path());
    let args = [&["check", &model][..], &ON_DISK].concat();
    let run = under("ulimit -Sn 12", &args);
    assert_eq!(run.code, 0, "{}", run.stderr);
}

#[test]
fn too_few_open_files_stop_a_search() {
    if !scratch_is_on_disk() {
        eprintln!("TMPDIR lies in memory: no search goes to disk");
        return;
    }
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let model = cube(folder.path());
    for limit in [12, 14, 16] {
        let args = [&["check", &model][..], &ON_DISK].concat();
        let run = under(&format!("ulimit -n {limit}"), &args);
        assert_eq!(run.code, 3, "{}{}", run.stdout, run.stderr);
        let expected = format!("the system allows {limit} (ulimit -n)");
        assert!(run.stderr.contains(&expected), "{}", run.stderr);
    }
}

#[test]
fn a_limit_on_the_size_of_files_stops_a_search_as_a_full_disk_does() {
    if !scratch_is_on_disk() {
        eprintln!("TMPDIR lies in memory: no search goes to disk");
        return;
    }
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let model = cube(folder.path());
    for (kibibytes, shown) in [(0, "0 B"), (16, "16.0 KiB")] {
        let limits = format!("ulimit -f {kibibytes}");
        let args = [&["check", &model][..], &ON_DISK].concat();
        let run = under(&limits, &args);
        assert_eq!(run.code, 3, "{}{}", run.stdout, run.stderr);
        let expected = format!("a file has reached the system's limit of {shown} (ulimit -f)");
        assert!(run.stdout.contains(&expected), "{}", run.stdout);
        let json = [&args[..], &["--json", "-"]].concat();
        assert_eq!(under(&limits, &json).record()["reason"], "disk");
    }
}

#[test]
fn few_open_files_neither_hide_the_memory_nor_leave_a_folder() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let model = cube(folder.path());
    let run_folder = folder.path().join("run");
    let record_file = folder.path().join("record.json").display().to_string();
    let args = [
        "check",
        &model,
        "--memory",
        "32M",
        "--deadlock",
        "off",
        "--json",
        &record_file,
    ];
    let in_memory = ["--strategy", "ram", "--const", "N=100"];
    let in_folder = ["--disk", &run_folder.display().to_string()];
    let mut n_stopped = 0;
    for n_files in 5..13 {
        let limits = format!("ulimit -n {n_files}");
        for means in [&in_memory[..], &in_folder, &[]] {
            let run = under(&limits, &[&args[..], means].concat());
            assert!(
                [0, 3].contains(&run.code),
                "{limits} {means:?}: {}",
                run.stderr
            );
            let is_resumable = run_folder.join("MANIFEST").is_file();
            assert!(
                !run_folder.exists() || is_resumable,
                "{limits}: the folder is left"
            );
            let _ = std::fs::remove_dir_all(&run_folder);
            let Ok(text) = std::fs::read_to_string(&record_file) else {
                assert!(run.stderr.contains("Too many open files"), "{}", run.stderr);
                continue;
            };
            let record: serde_json::Value = serde_json::from_str(&text).expect("a record");
            let peak = record["memory"]["peak_bytes"].as_u64().expect("a number");
            assert!(
                (1 << 20..48 << 20).contains(&peak),
                "{limits} {means:?}: {peak}"
            );
            n_stopped += usize::from(record["reason"] == "memory");
            std::fs::remove_file(&record_file).expect("it is there");
        }
    }
    assert!(n_stopped > 3, "{n_stopped}");
}

#[test]
fn a_limit_on_the_size_of_files_leaves_no_folder_and_no_half_record() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let model = cube(folder.path());
    let run_folder = folder.path().join("run").display().to_string();
    let record_file = folder.path().join("record.json").display().to_string();
    for kibibytes in [0, 1] {
        let limits = format!("ulimit -f {kibibytes}");
        let json = ["--json", &record_file, "--deadlock", "off"];
        let run = under(&limits, &[&["check", &model][..], &json].concat());
        assert_eq!(run.code, 3, "{}{}", run.stdout, run.stderr);
        let expected = "error: cannot write the run record: File too large";
        assert!(run.stderr.contains(expected), "{}", run.stderr);
        assert!(!Path::new(&record_file).exists(), "half a record is left");
        // What was found is not forgotten.
        let bound = ["--json", &record_file, "--const", "N=3"];
        let run = under(&limits, &[&["check", &model][..], &bound].concat());
        assert_eq!(run.code, 1, "{}{}", run.stdout, run.stderr);
        let disk = ["--disk", &run_folder, "--deadlock", "off"];
        let run = under(&limits, &[&["check", &model][..], &disk].concat());
        assert_eq!(run.code, 3, "{}{}", run.stdout, run.stderr);
        assert!(!Path::new(&run_folder).exists(), "the folder is left");
    }
}

#[test]
fn little_address_space_is_refused_or_suffices() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let model = cube(folder.path());
    let (mut n_refused, mut n_verified) = (0, 0);
    for mebibytes in [60, 90, 120, 160, 220, 300, 400, 600, 900, 1400] {
        let limits = format!("ulimit -v {}", mebibytes << 10);
        let flags = ["--threads", "2", "--deadlock", "off", "--memory", "1G"];
        let run = under(&limits, &[&["check", &model][..], &flags].concat());
        match run.code {
            0 => n_verified += 1,
            3 => {
                assert!(run.stderr.starts_with("error: "), "{}", run.stderr);
                assert!(run.stderr.contains("ulimit"), "{}", run.stderr);
                n_refused += 1;
            }
            code => panic!("{mebibytes} MiB: exit {code}\n{}", run.stderr),
        }
    }
    assert!(n_refused > 0 && n_verified > 0);
}

/// Wide states need more than the least, and it is the address space that they lack.
#[test]
fn address_space_too_small_for_wide_states_is_named() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let path = folder.path().join("wide.m");
    let text = "var x: 0..3; w: array [0..99999] of 0..255;
        startstate x := 0; for i: 0..99999 do w[i] := 0; end; end;
        rule x < 3 ==> x := x + 1; end;";
    std::fs::write(&path, text).expect("it can be written");
    let path = path.to_str().expect("it is text");
    let (mut n_refused, mut n_verified) = (0, 0);
    for mebibytes in [300, 340, 400, 1400] {
        let limits = format!("ulimit -v {}", mebibytes << 10);
        let flags = ["--threads", "1", "--deadlock", "off", "--memory", "1G"];
        let run = under(&limits, &[&["check", path][..], &flags].concat());
        match run.code {
            0 => n_verified += 1,
            3 => {
                assert!(run.stderr.contains("ulimit -v"), "{}", run.stderr);
                n_refused += 1;
            }
            code => panic!("{mebibytes} MiB: exit {code}\n{}", run.stderr),
        }
    }
    assert!(n_refused > 0 && n_verified > 0, "{n_refused}, {n_verified}");
}

#[test]
fn a_search_stops_at_the_end_of_its_address_space() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let model = cube(folder.path());
    // All states in memory would take more.
    let flags = ["--strategy", "ram", "--memory", "4G", "--deadlock", "off"];
    let large = ["--const", "N=400", "--json", "-", "--progress", "none"];
    let args = [&["check", &model][..], &flags, &large].concat();
    let run = under("ulimit -v 700000", &args);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert_eq!(run.record()["reason"], "memory");
}

#[test]
fn the_address_space_that_is_said_to_suffice_does() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let model = cube(folder.path());
    let args = ["check", &model, "--threads", "2", "--deadlock", "off"];
    let mut n_checked = 0;
    for mebibytes in [200, 260, 320, 360] {
        let run = under(&format!("ulimit -v {}", mebibytes << 10), &args);
        assert_eq!(run.code, 3, "{}", run.stderr);
        assert!(!run.stderr.contains("--threads"), "{}", run.stderr);
        let words: Vec<&str> = run.stderr.split_whitespace().collect();
        let at = words.iter().position(|word| word.starts_with("suffice"));
        let Some(at) = at else {
            // It was not even loaded.
            assert!(run.stderr.contains("ulimit"), "{}", run.stderr);
            continue;
        };
        n_checked += 1;
        assert_eq!(words[at - 1], "MiB");
        let least: f64 = words[at - 2].parse().expect("a number");
        let enough = format!("ulimit -v {}", (least * 1024.0) as u64 + 1024);
        let run = under(&enough, &args);
        assert_eq!(run.code, 0, "{enough}: {}", run.stderr);
        let warning = "warning: 1 of 2 threads are used: each takes ";
        assert!(
            run.stderr.is_empty() || run.stderr.contains(warning),
            "{}",
            run.stderr
        );
    }
    assert!(n_checked > 0);
}

#[test]
fn more_threads_than_the_address_space_has_room_for_are_not_used() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let model = cube(folder.path());
    // Each thread takes some 68 MiB of address space.
    let args = [
        "check",
        &model,
        "--threads",
        "40",
        "--memory",
        "1G",
        "--deadlock",
        "off",
    ];
    let run = under("ulimit -v 2000000", &args);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    assert!(
        run.stderr.contains(" of 40 threads are used: each takes "),
        "{}",
        run.stderr
    );
    assert!(
        run.stderr
            .contains("and the system allows 1.9 GiB (ulimit -v)"),
        "{}",
        run.stderr
    );
    // The budget is reduced, so it is no danger.
    assert!(!run.stderr.contains("may kill"), "{}", run.stderr);
}

/// The limit on processes does not apply to root, so the program runs as nobody, who needs a copy
/// that it can read.
#[test]
fn a_thread_that_cannot_be_started_is_an_error() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let program = folder.path().join("hadal");
    std::fs::copy(env!("CARGO_BIN_EXE_hadal"), &program).expect("there is room");
    let model = cube(folder.path());
    for path in [folder.path(), &program, Path::new(&model)] {
        let all = Permissions::from_mode(0o777);
        std::fs::set_permissions(path, all).expect("it is ours");
    }
    let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups"];
    let run_folder = folder.path().join("run").display().to_string();
    let (mut n_refused, mut n_verified) = (0, 0);
    for n_threads in [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 64] {
        let script = format!("ulimit -u {n_threads} && exec \"$0\" \"$@\"");
        let output = Command::new("setpriv")
            .args(nobody)
            .args(["bash", "-c", &script])
            .arg(&program)
            .args(["check", &model, "--threads", "4", "--disk", &run_folder])
            .args(ON_DISK)
            .current_dir(folder.path())
            .output();
        let run: Run = match output {
            Ok(output) if output.status.code() != Some(127) => output.into(),
            _ => return eprintln!("the program cannot run as nobody here"),
        };
        if run.stderr.contains("setpriv") {
            return eprintln!("the program cannot run as nobody here: {}", run.stderr);
        }
        match run.code {
            0 => {
                n_verified += 1;
                let _ = std::fs::remove_dir_all(&run_folder);
            }
            3 => {
                n_refused += 1;
                let expected = "Resource temporarily unavailable";
                assert!(run.stderr.contains(expected), "{}", run.stderr);
                assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
                assert!(
                    !Path::new(&run_folder).exists(),
                    "{n_threads}: a folder is left"
                );
            }
            code => panic!("{n_threads}: exit {code}\n{}", run.stderr),
        }
    }
    assert!(n_refused > 5 && n_verified > 0, "{n_refused}, {n_verified}");
}

#[test]
fn a_small_disk_reports_what_it_keeps() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let model = cube(folder.path());
    let disk = folder.path().join("disk").display().to_string();
    std::fs::create_dir(&disk).expect("there is room");
    // A disk of its own, which the mount namespace takes along when it ends.
    let script = "mount -t tmpfs -o size=30m none \"$DISK\" || exit 77
                  exec \"$HADAL\" \"$@\"";
    let path = format!("{disk}/run");
    let args = ["check", &model, "--disk", &path, "--force"];
    let output = Command::new("unshare")
        .args(["-r", "-m", "bash", "-c", script, "sh"])
        .args([&args[..], &ON_DISK].concat())
        .env("HADAL", env!("CARGO_BIN_EXE_hadal"))
        .env("DISK", &disk)
        .output();
    let run: Run = match output {
        Ok(output) if output.status.code() != Some(77) => output.into(),
        _ => {
            eprintln!("no file system can be mounted here");
            return;
        }
    };
    if run.stderr.contains("unshare") {
        eprintln!("no namespace can be made here: {}", run.stderr);
        return;
    }
    assert_eq!(run.code, 3, "{}{}", run.stdout, run.stderr);
    let expected = "disk is full (30.0 MiB are free, and the last 64.0 MiB are kept for others)";
    assert!(
        run.stdout.contains(expected),
        "{}{}",
        run.stdout,
        run.stderr
    );
}
