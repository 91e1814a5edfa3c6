//! `hadal lts`: graphs examined, converted, minimised and compared from the command line.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::{Run, hadal, root};
use expect_test::{Expect, expect};
use tempfile::TempDir;

const CHAIN: &str = "models/graphs/chain.aut";
const BUFFER: &str = "models/graphs/buffer.aut";
const LOSSY: &str = "models/graphs/lossy_chain.aut";

fn lts(args: &[&str]) -> Run {
    hadal(&[&["lts"], args].concat())
}

/// Both streams and the exit code; a scratch folder is `DIR`.
fn shown(run: &Run, folder: Option<&TempDir>) -> String {
    let text = format!("{}{}exit {}\n", run.stdout, run.stderr, run.code);
    match folder {
        Some(folder) => text.replace(&folder.path().display().to_string(), "DIR"),
        None => text,
    }
}

#[track_caller]
fn check(args: &[&str], expected: Expect) {
    expected.assert_eq(&shown(&lts(args), None));
}

/// Before a long computation, not after it.
#[test]
fn a_place_where_nothing_can_be_written_is_found_first() {
    let folder = Folder::new();
    let broken = folder.with("broken.aut", b"des (0, 1, 1)\n");
    for command in ["convert", "minimise"] {
        let out = folder.name("none/out.aut");
        let run = lts(&[command, &broken, "-o", &out]);
        assert_eq!(
            shown(&run, Some(&folder.0)),
            "error: cannot write `DIR/none/out.aut`: No such file or directory (os error 2)\nexit 2\n"
        );
        let run = lts(&[command, &broken, "-o", &folder.name("out.aut")]);
        assert!(run.stderr.contains("line 1"), "{}", run.stderr);
    }
    let entries = std::fs::read_dir(folder.0.path()).expect("it can be listed");
    assert_eq!(entries.count(), 1);
}

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Folder(tempfile::tempdir().expect("there is a folder for scratch files"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn name(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    fn with(&self, name: &str, text: &[u8]) -> String {
        std::fs::write(self.path(name), text).expect("it can be written");
        self.name(name)
    }
}

fn bytes(path: impl AsRef<Path>) -> Vec<u8> {
    std::fs::read(path).expect("the file is there")
}

#[test]
fn a_graph_is_described_in_numbers() {
    check(
        &["info", LOSSY],
        expect![[r#"
        models/graphs/lossy_chain.aut: 4 states, 6 edges

          initial      state 0
          reachable    all states, depth 3
          deadlocks    0
          degree       mean 1.50, at most 2 out of a state, 2 into one
          loops        0 edges from a state to itself
          components   1, the largest with 4 states; 1 with a cycle, 4 states in all
          livelocks    none
          as .hlts     206 B (34.3 bytes an edge)
          labels       3
            2  "put"
            2  "i"
            2  "get"
        exit 0
    "#]],
    );
    check(
        &["info", LOSSY, "--tau", "i,put"],
        expect![[r#"
            models/graphs/lossy_chain.aut: 4 states, 6 edges

              initial      state 0
              reachable    all states, depth 3
              deadlocks    0
              degree       mean 1.50, at most 2 out of a state, 2 into one
              loops        0 edges from a state to itself
              components   1, the largest with 4 states; 1 with a cycle, 4 states in all
              livelocks    1 component of invisible steps, 2 states in all
              as .hlts     206 B (34.3 bytes an edge)
              labels       3
                2  "put"
                2  "i"
                2  "get"
            exit 0
        "#]],
    );
}

#[test]
fn a_chain_of_cells_is_a_buffer_to_an_observer() {
    check(
        &["compare", CHAIN, BUFFER, "--equivalence", "branching"],
        expect![[r#"
            equivalent: models/graphs/chain.aut and models/graphs/buffer.aut; branching bisimulation, 3 states when minimised
            exit 0
        "#]],
    );
    check(
        &["compare", CHAIN, BUFFER],
        expect![[r#"
        not equivalent: models/graphs/chain.aut and models/graphs/buffer.aut; strong bisimulation, 4 states and 3 states when minimised

        A formula of depth 2 that holds in models/graphs/chain.aut and not in models/graphs/buffer.aut:

          <"put"><"i">true

        A shortest run that only models/graphs/buffer.aut has:

          1  "put"
          2  "put"
        exit 1
    "#]],
    );
}

#[test]
fn a_chain_that_loses_is_not() {
    check(
        &["compare", BUFFER, LOSSY, "--equivalence", "branching"],
        expect![[r#"
            not equivalent: models/graphs/buffer.aut and models/graphs/lossy_chain.aut; branching bisimulation, 3 states and 4 states when minimised

            A formula of depth 3 that holds in models/graphs/buffer.aut and not in models/graphs/lossy_chain.aut:

              (<<"put">> !(<<"i">> !(<<"get">> true)))

            A shortest run that only models/graphs/lossy_chain.aut has:

              1  "put"
              2  "put"
              3  "put"
            exit 1
        "#]],
    );
    // Where every step is visible, a cell that loses is told from one that does not by a step.
    check(
        &[
            "compare",
            CHAIN,
            LOSSY,
            "--equivalence",
            "branching",
            "--tau",
            "",
        ],
        expect![[r#"
            not equivalent: models/graphs/chain.aut and models/graphs/lossy_chain.aut; branching bisimulation, 4 states and 4 states when minimised

            A formula of depth 3 that holds in models/graphs/chain.aut and not in models/graphs/lossy_chain.aut:

              (<<"put">> !(<<"i">> !(<<"get">> true)))

            A shortest run that only models/graphs/lossy_chain.aut has:

              1  "put"
              2  "i"
              3  "put"
              4  "i"
            exit 1
        "#]],
    );
}

#[test]
fn a_minimised_graph_is_written_and_equivalent() {
    let folder = Folder::new();
    let output = folder.name("small.aut");
    let run = lts(&[
        "minimise",
        CHAIN,
        "-o",
        &output,
        "--equivalence",
        "branching",
    ]);
    expect![[r#"
        DIR/small.aut: 3 states, 4 edges
        models/graphs/chain.aut: 4 states, 5 edges; branching bisimulation, 2 rounds
        exit 0
    "#]]
    .assert_eq(&shown(&run, Some(&folder.0)));
    let text = String::from_utf8(bytes(&output)).expect("labels are Unicode");
    assert_eq!(
        text,
        "des (0, 4, 3)\n(0, put, 1)\n(1, put, 2)\n(1, get, 0)\n(2, get, 1)\n"
    );
    let run = lts(&["compare", &output, BUFFER]);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
}

/// A ring of counters: larger than a chunk of states, so that threads share the work.
fn large_graph() -> String {
    let (n, mut lines) = (60_000u64, String::new());
    for state in 0..n {
        lines += &format!("({state}, step, {})\n", (state + 1) % n);
        lines += &format!("({state}, i, {})\n", (state / 3) * 3);
    }
    format!("des (0, {}, {n})\n{lines}", 2 * n)
}

#[test]
fn the_result_is_the_same_for_any_threads_memory_and_format() {
    let folder = Folder::new();
    let text = folder.with("large.aut", large_graph().as_bytes());
    let compact = folder.name("large.hlts.zst");
    assert_eq!(lts(&["convert", &text, "-o", &compact]).code, 0);
    for equivalence in ["strong", "branching"] {
        let mut results = Vec::new();
        for (input, flags) in [
            (&text, &["--threads", "1"][..]),
            (&text, &["--threads", "4"]),
            (&compact, &["--threads", "2", "--memory", "64M"]),
        ] {
            let output = folder.name("result.aut");
            let args = [
                "minimise",
                input,
                "-o",
                &output,
                "--equivalence",
                equivalence,
            ];
            let run = lts(&[&args, flags].concat());
            assert_eq!(run.code, 0, "{}", run.stderr);
            results.push(bytes(&output));
        }
        assert!(
            results.windows(2).all(|pair| pair[0] == pair[1]),
            "{equivalence}"
        );
        assert!(results[0].len() < 1000, "{}", results[0].len());
    }
}

#[test]
fn conversion_there_and_back_changes_no_byte() {
    let folder = Folder::new();
    let names = ["a.hlts", "b.aut.zst", "c.hlts.zst", "d.aut"].map(|name| folder.name(name));
    let mut from = CHAIN;
    for to in &names {
        let run = lts(&["convert", from, "-o", to]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        from = to;
    }
    assert_eq!(bytes(&names[3]), bytes(root().join(CHAIN)));
    let picture = folder.name("e.dot");
    assert_eq!(lts(&["convert", from, "-o", &picture]).code, 0);
    assert!(bytes(&picture).starts_with(b"digraph"));
}

#[test]
fn bad_input_is_named_with_its_line_and_exits_with_2() {
    let folder = Folder::new();
    let bad = |name: &str, text: &[u8], expected: Expect| {
        let path = folder.with(name, text);
        expected.assert_eq(&shown(&lts(&["info", &path]), Some(&folder.0)));
    };
    bad(
        "a.aut",
        b"des (0, 2, 2)\n(0, a, 1)\n",
        expect![[r#"
        error: DIR/a.aut: line 2: the file ends after 1 of the 2 edges that the header declares
        exit 2
    "#]],
    );
    bad(
        "a.aut",
        b"des (0, 1, 2)\n(0, a, 7)\n",
        expect![[r#"
            error: DIR/a.aut: line 2: the target state 7 is out of range: the header declares 2 states, which are numbered from 0
            exit 2
        "#]],
    );
    bad(
        "a.aut",
        b"des (0, 1, 2)\n(0, a, 0 1/2 1)\n",
        expect![[r#"
            error: DIR/a.aut: line 2: probabilities and rates are not supported: `0 1/2 1`
            exit 2
        "#]],
    );
    bad(
        "a.hlts",
        b"des (0, 0, 1)\n",
        expect![[r#"
        error: DIR/a.hlts: this is no .hlts file
        exit 2
    "#]],
    );
    let whole = folder.name("whole.hlts");
    lts(&["convert", CHAIN, "-o", &whole]);
    let mut damaged = bytes(&whole);
    damaged[40] ^= 4;
    bad(
        "b.hlts",
        &damaged,
        expect![[r#"
        error: DIR/b.hlts: the file is damaged at byte 32: the checksum of a block is wrong
        exit 2
    "#]],
    );
    damaged.truncate(100);
    bad(
        "c.hlts",
        &damaged,
        expect![[r#"
        error: DIR/c.hlts: the file is damaged at byte 28: the file does not end as it should; it may be truncated
        exit 2
    "#]],
    );
    bad(
        "d.aut.zst",
        b"not compressed",
        expect![[r#"
        error: cannot read `DIR/d.aut.zst`: Unknown frame descriptor
        exit 2
    "#]],
    );
    bad(
        "e.txt",
        b"",
        expect![[r#"
        error: DIR/e.txt: the name must end in .aut, .hlts or .dot, and .zst may follow
        exit 2
    "#]],
    );
    bad(
        "f.dot",
        b"",
        expect![[r#"
        error: DIR/f.dot: .dot files are written, not read
        exit 2
    "#]],
    );
    expect![[r#"
        error: cannot read `no/such.aut`: No such file or directory (os error 2)
        exit 2
    "#]]
    .assert_eq(&shown(&lts(&["info", "no/such.aut"]), None));
}

#[test]
fn bad_output_is_refused_before_the_work() {
    let folder = Folder::new();
    for output in [folder.name("graph.txt"), folder.name("no/such/folder.aut")] {
        let run = lts(&["minimise", CHAIN, "-o", &output]);
        assert_eq!(run.code, 2, "{}{}", run.stdout, run.stderr);
        assert!(run.stderr.contains(&output), "{}", run.stderr);
    }
    assert_eq!(lts(&["minimise", CHAIN]).code, 2);
    assert_eq!(lts(&["compare", CHAIN]).code, 2);
    let args = ["compare", CHAIN, BUFFER, "--equivalence", "weak"];
    assert_eq!(lts(&args).code, 2);
}

#[test]
fn a_budget_that_does_not_suffice_exits_with_3() {
    let folder = Folder::new();
    let path = folder.with(
        "huge.aut",
        b"des (0, 1, 30000000000000)\n(0, a, 29999999999999)\n",
    );
    let output = folder.name("small.aut");
    for args in [
        &["info", &path][..],
        &["minimise", &path, "-o", &output],
        &[
            "minimise",
            &path,
            "-o",
            &output,
            "--equivalence",
            "branching",
            "--tau",
            "a",
        ],
    ] {
        let run = lts(&[args, &["--memory", "64M"]].concat());
        assert_eq!(run.code, 3, "{}{}", run.stdout, run.stderr);
        assert!(
            run.stderr.ends_with("; give it more with --memory\n"),
            "{}",
            run.stderr
        );
    }
    assert!(!folder.path("small.aut").exists());
}

#[test]
fn help_manual_and_completions_know_the_command() {
    let help = lts(&["minimise", "--help"]).stdout;
    let completions = hadal(&["completions", "bash"]).stdout;
    for flag in [
        "--equivalence",
        "--tau",
        "--output",
        "--memory",
        "--threads",
    ] {
        assert!(help.contains(flag), "{flag}");
        assert!(completions.contains(flag), "{flag}");
    }
    let manual = hadal(&["man", "lts"]).stdout;
    for command in ["info", "convert", "minimise", "compare"] {
        assert!(manual.contains(command), "{command}");
    }
}

/// A chain of so many states that minimising it takes a round for each of them, in which nothing
/// else is done.
fn long_chain(folder: &Folder) -> String {
    let n = 300_000;
    let lines = (0..n - 1).map(|state| format!("({state}, a, {})\n", state + 1));
    let text = format!("des (0, {}, {n})\n{}", n - 1, lines.collect::<String>());
    folder.with("chain.aut", text.as_bytes())
}

fn signal(name: &str, child: &std::process::Child) {
    let sent = Command::new("kill")
        .args([name, &child.id().to_string()])
        .status();
    assert!(sent.expect("there is a kill").success());
}

#[test]
fn a_terminal_shows_a_live_line_and_an_interrupt_removes_it() {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use std::io::Read;

    let folder = Folder::new();
    let path = long_chain(&folder);
    let output = folder.name("small.hlts");
    let scratch = tempfile::tempdir().expect("there is a folder for scratch files");
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("there are terminals");
    grantpt(&ours).expect("it can be granted");
    unlockpt(&ours).expect("it can be unlocked");
    let name = ptsname(&ours, Vec::new()).expect("it has a name");
    let name = name.into_string().expect("its name is a text");
    let theirs = std::fs::File::options().read(true).write(true).open(name);
    let child = Command::new(env!("CARGO_BIN_EXE_hadal"))
        .args(["lts", "minimise", &path, "-o", &output])
        .env("TMPDIR", scratch.path())
        .env("TERM", "xterm")
        .stdout(Stdio::piped())
        .stderr(theirs.expect("it can be opened"))
        .spawn()
        .expect("the binary runs");
    // The end of the child is an error of the terminal.
    let reader = std::thread::spawn(move || {
        let mut terminal = std::fs::File::from(ours);
        let (mut all, mut buffer) = (Vec::new(), [0; 4096]);
        while let Ok(n @ 1..) = terminal.read(&mut buffer) {
            all.extend_from_slice(&buffer[..n]);
        }
        String::from_utf8_lossy(&all).into_owned()
    });
    std::thread::sleep(Duration::from_millis(2500));
    signal("-INT", &child);
    let run = Run::from(child.wait_with_output().expect("the binary ends"));
    let text = reader.join().expect("the terminal can be read");
    assert_eq!((run.code, run.stdout.as_str()), (3, ""), "{text}");
    // A round of the stage, what is done of it, and the memory that is held.
    for part in ["round ", " blocks: ", " of 299,999 edges (", " %)", "MiB"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let last = text.rsplit('\u{1b}').next().expect("there is some text");
    let (_, message) = last.split_once("error: ").expect("there is an error");
    assert!(message.contains("stopped before the end"), "{message}");
    assert!(!folder.path("small.hlts").exists());
    let left = std::fs::read_dir(scratch.path()).expect("it is there");
    assert_eq!(left.count(), 0, "scratch files are gone");
}

#[test]
fn progress_is_lines_elsewhere_and_a_status_on_request() {
    let folder = Folder::new();
    let path = long_chain(&folder);
    let output = folder.name("small.aut");
    for (flags, asks) in [
        (&["--progress", "plain"][..], false),
        (&["--progress", "none"], true),
        (&[], true),
    ] {
        let child = Command::new(env!("CARGO_BIN_EXE_hadal"))
            .args(["lts", "minimise", &path, "-o", &output])
            .args(flags)
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        std::thread::sleep(Duration::from_millis(1500));
        if asks {
            signal("-USR1", &child);
            std::thread::sleep(Duration::from_millis(500));
        }
        signal("-INT", &child);
        let run = Run::from(child.wait_with_output().expect("the binary ends"));
        let lines: Vec<&str> = run.stderr.lines().collect();
        assert_eq!(lines.len(), 2, "{flags:?} {}", run.stderr);
        assert!(lines[0].starts_with("round "), "{}", run.stderr);
        assert!(lines[0].contains(" of 299,999 edges ("), "{}", run.stderr);
        assert_eq!(run.code, 3);
    }
    let run = lts(&["info", CHAIN, "--progress", "none"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
}

#[test]
fn an_interrupt_stops_cleanly() {
    let folder = Folder::new();
    // A round for each state: far more than there is time for.
    let n = 300_000;
    let lines = (0..n - 1).map(|state| format!("({state}, a, {})\n", state + 1));
    let text = format!("des (0, {}, {n})\n{}", n - 1, lines.collect::<String>());
    let path = folder.with("chain.aut", text.as_bytes());
    let output = folder.name("small.aut");
    let child = Command::new(env!("CARGO_BIN_EXE_hadal"))
        .args(["lts", "minimise", &path, "-o", &output])
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    std::thread::sleep(Duration::from_millis(1500));
    let killed = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(killed.expect("there is a kill").success());
    let run = Run::from(child.wait_with_output().expect("the binary ends"));
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(
        run.stderr.contains("stopped before the end"),
        "{}",
        run.stderr
    );
    assert!(!folder.path("small.aut").exists());
}

/// A graph whose states do not fit into the least memory, and that takes far more rounds than there is
/// time for.
fn wide_chain(folder: &Folder) -> String {
    let n = 2_200_000;
    let lines = (0..n - 1).map(|state| {
        let label = ["a", "i"][usize::from(state % 3 == 0)];
        format!("({state}, {label}, {})\n", state + 1)
    });
    let text = format!("des (0, {}, {n})\n{}", n - 1, lines.collect::<String>());
    let text = folder.with("wide.aut", text.as_bytes());
    let path = folder.name("wide.hlts");
    assert_eq!(lts(&["convert", &text, "-o", &path]).code, 0);
    std::fs::remove_file(text).expect("it is ours");
    path
}

#[test]
fn an_interrupt_or_a_full_disk_leaves_nothing_behind() {
    let folder = Folder::new();
    let path = wide_chain(&folder);
    let output = folder.name("small.aut");
    let scratch = tempfile::tempdir().expect("there is a folder for scratch files");
    for equivalence in ["strong", "branching"] {
        for (limit, milliseconds) in [
            ("unlimited", 1000),
            ("unlimited", 3000),
            ("16384", 60_000),
            ("50000", 60_000),
        ] {
            let script = format!(
                "ulimit -f {limit}; exec \"$0\" lts minimise {path} -o {output} \
                 --equivalence {equivalence} --memory 32M --progress none"
            );
            let mut child = Command::new("sh")
                .args(["-c", &script, env!("CARGO_BIN_EXE_hadal")])
                .env("TMPDIR", scratch.path())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .expect("the binary runs");
            // A disk that is full ends it earlier.
            let mut has_ended = false;
            for _ in 0..milliseconds / 100 {
                std::thread::sleep(Duration::from_millis(100));
                has_ended = child.try_wait().expect("it is our child").is_some();
                if has_ended {
                    break;
                }
            }
            if !has_ended {
                signal("-INT", &child);
            }
            let run = Run::from(child.wait_with_output().expect("the binary ends"));
            assert_eq!(run.code, 3, "{limit} {}", run.stderr);
            let reason = match limit {
                "unlimited" => "stopped before the end",
                _ => "File too large",
            };
            assert!(run.stderr.contains(reason), "{limit} {}", run.stderr);
            let left = std::fs::read_dir(scratch.path()).expect("it is there");
            assert_eq!(left.count(), 0, "scratch files are gone");
            assert_eq!(
                std::fs::read_dir(folder.0.path())
                    .expect("it is there")
                    .count(),
                1
            );
        }
    }
}
