//! The papers' strategies on the command line: on every model of the corpus they visit what is there
//! and say what is so, at full and at small budgets; and what they cannot do they refuse.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::{PAPERS, Run, check_text, hadal, root};
use expect_test::{Expect, expect};
use hadal_testkit::corpus::{
    Directives, Size, Verdict, directives, expected_rows, model_files, models_folder,
};
use serde_json::Value;

/// Every strategy, and what some of them can do otherwise.
const STRATEGIES: &[&[&str]] = &[
    &["ram"],
    &["cache"],
    &["mono"],
    &["mono", "--table", "open"],
    &["local"],
    &["local", "--table", "chained"],
    &["part"],
    &["layered"],
    &["layered", "--layers", "2"],
    &["layered", "--layers", "auto", "--no-cache"],
    &["snapshots"],
    &["snapshots", "--caches", "pebble", "--no-backtracking"],
    &["snapshots", "--caches", "(c2,llnr,5)(o2,lfu,10)"],
    &["dfs-cache"],
    &["dfs-cache", "--caches", "(lru,100)"],
];

/// Whether it goes by layers, so that its traces are the shortest.
fn is_by_layers(name: &str) -> bool {
    !["part", "dfs-cache"].contains(&name)
}

/// Whether it ends with a verdict however little memory it has.
fn always_ends(name: &str) -> bool {
    ["mono", "part"].contains(&name)
}

/// A model, and what is known about it.
struct Case {
    /// File, constants, and what else the model needs.
    args: Vec<String>,
    states: Option<u64>,
    /// Kind and depth of what is violated, if anything is.
    violation: Option<(String, Option<u64>)>,
    is_violated: bool,
    has_liveness: bool,
}

impl Case {
    fn of_directives(path: &Path, expected: &Directives) -> Self {
        let mut args = vec![path.display().to_string()];
        args.extend(expected.flags.iter().cloned());
        let violation = expected.violation.as_ref();
        Case {
            has_liveness: has_liveness(&args),
            args,
            states: expected.states,
            violation: violation.map(|violation| (violation.kind.clone(), violation.depth)),
            is_violated: expected.expect == Verdict::Violated,
        }
    }

    /// What is wrong about a run of a strategy, if anything is. `is_small` where memory may end.
    fn problem(&self, strategy: &[&str], more: &[&str], is_small: bool) -> Option<String> {
        let args: Vec<&str> = ["check", "--json", "-", "--progress", "none", "--strategy"]
            .into_iter()
            .chain(strategy.iter().copied())
            .chain(more.iter().copied())
            .chain(self.args.iter().map(String::as_str))
            .collect();
        let run = hadal(&args);
        let said = |what: &str| Some(format!("{}: {what}\n{}", args.join(" "), run.stderr));
        if !run.stdout.starts_with('{') {
            return said(&format!("exit {} and no record", run.code));
        }
        match self.judge(strategy[0], &run.record(), run.code, is_small) {
            Ok(()) => None,
            Err(what) => said(&what),
        }
    }

    fn judge(&self, name: &str, record: &Value, code: i32, is_small: bool) -> Result<(), String> {
        let verdict = record["verdict"].as_str().unwrap_or_default();
        let exits = [("verified", 0), ("violated", 1), ("incomplete", 3)];
        if !exits.contains(&(verdict, code)) {
            return Err(format!("{verdict} with exit {code}"));
        }
        if record["strategy"] != name || record["threads"] != 1 {
            let (strategy, threads) = (&record["strategy"], &record["threads"]);
            return Err(format!("strategy {strategy} on {threads} threads"));
        }
        if record["layers"].is_array() != is_by_layers(name) {
            return Err(format!("layers {}", record["layers"]));
        }
        let states = record["states"].as_u64().unwrap_or(u64::MAX);
        let visited = record["visited"].as_u64().unwrap_or(0);
        let is_exact = record["states_exact"] == true;
        if is_exact && visited > states {
            return Err(format!("{visited} visits to {states} states"));
        }
        let is_counted = is_exact || record["strategy_stats"]["distinct"] == states;
        if let Some(all) = self.states
            && is_counted
            && states > all
        {
            return Err(format!("{states} states of {all}"));
        }
        match verdict {
            "violated" if !self.is_violated => Err("violated".to_owned()),
            "violated" => self.judge_violation(name, &record["violations"][0]),
            "verified" if self.is_violated || self.has_liveness => Err("verified".to_owned()),
            "verified" => {
                let all = self.states.unwrap_or(states);
                let wanted = [
                    (record["complete"] == true, "not complete"),
                    (record["reason"].is_null(), "with a reason to stop"),
                    (!is_counted || states == all, "with other states"),
                    (visited >= all, "with states not visited"),
                ];
                match wanted.iter().find(|(is_so, _)| !is_so) {
                    Some((_, what)) => Err(format!("verified, {what}: {states} of {all}")),
                    None => Ok(()),
                }
            }
            _ => {
                let reason = record["reason"].as_str().unwrap_or("none");
                let may_be = match reason {
                    "liveness" => self.has_liveness,
                    // Only a run that was given a limit has this one.
                    "time" => is_small,
                    "memory" => is_small && ["ram", "snapshots"].contains(&name),
                    "collisions" => is_small && name == "cache",
                    "revisits" => {
                        ["layered", "local"].contains(&name) || is_small && name == "dfs-cache"
                    }
                    _ => false,
                };
                match may_be && record["complete"] == false {
                    true => Ok(()),
                    false => Err(format!("incomplete for the reason {reason}")),
                }
            }
        }
    }

    fn judge_violation(&self, name: &str, found: &Value) -> Result<(), String> {
        let (kind, depth) = (&found["kind"], found["depth"].as_u64());
        let n_steps = found["trace"].as_array().map_or(0, Vec::len) as u64;
        if kind != "cover" && Some(n_steps) != depth.map(|depth| depth + 1) {
            return Err(format!("a trace of {n_steps} entries at depth {depth:?}"));
        }
        let Some((wanted, Some(wanted_depth))) = &self.violation else {
            return Ok(());
        };
        // Another order may meet another violation first.
        let is_same = match is_by_layers(name) {
            true => kind == wanted.as_str() && depth == Some(*wanted_depth),
            false => depth >= Some(*wanted_depth),
        };
        match is_same {
            true => Ok(()),
            false => Err(format!(
                "{kind} at depth {depth:?}, not {wanted} at {wanted_depth}"
            )),
        }
    }

    /// What `ram` reports about it.
    fn ram(&self) -> Value {
        let mut args = vec![
            "check",
            "--json",
            "-",
            "--progress",
            "none",
            "--strategy",
            "ram",
        ];
        args.extend(self.args.iter().map(String::as_str));
        hadal(&args).record()
    }
}

/// Whether the model has a property that these strategies do not decide.
fn has_liveness(args: &[String]) -> bool {
    let text = std::fs::read_to_string(&args[0]).expect("a model can be read");
    let code = text
        .lines()
        .map(|line| line.split("--").next().unwrap_or(""));
    code.into_iter().any(|line| line.contains("liveness "))
}

/// How long a run with little memory may take.
struct Patience {
    time: &'static str,
    /// Whether that may be too short for strategies other than depth-first search.
    is_for_all: bool,
}

/// Runs every strategy on every case of at most this many states, with all memory and with a tenth of
/// what is needed. Says how many cases these were.
fn check_all(cases: &[Case], most_states: u64, patience: &Patience) -> usize {
    let (next, n_cases) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let problems = Mutex::new(Vec::new());
    let work = || {
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            let ram = case.ram();
            let needed = ram["strategy_stats"]["memory_needed"].as_u64();
            let needed = needed.expect("`ram` reports what it needs");
            let is_large = ram["states"].as_u64() > Some(most_states);
            if is_large {
                continue;
            }
            n_cases.fetch_add(1, Ordering::Relaxed);
            let small = (needed / 10).max(64).to_string();
            for strategy in STRATEGIES {
                let mut small = vec!["--data-memory", &small];
                if patience.is_for_all || strategy[0] == "dfs-cache" {
                    small.extend(["--time-limit", patience.time]);
                }
                let found = [
                    case.problem(strategy, &[], false),
                    case.problem(strategy, &small, true),
                ];
                let mut problems = problems.lock().expect("nobody panics with it");
                problems.extend(found.into_iter().flatten());
            }
        }
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(2, usize::from);
        (0..threads).for_each(|_| drop(scope.spawn(work)));
    });
    let problems = problems.into_inner().expect("nobody panicked");
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
    n_cases.into_inner()
}

/// Our models, those that are refused left out.
fn our_cases() -> Vec<Case> {
    let files = model_files(&root().join("models")).expect("the folder of models is there");
    let mut cases = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path).expect("a model can be read");
        let expected = directives(&text).expect("directives are well-formed");
        if expected.expect != Verdict::Rejected {
            cases.push(Case::of_directives(&path, &expected));
        }
    }
    cases
}

#[test]
fn every_strategy_is_right_about_every_small_model() {
    let patience = Patience {
        time: "200ms",
        is_for_all: false,
    };
    let n_cases = check_all(&our_cases(), 5000, &patience);
    assert!(n_cases >= 30, "the corpus has many small models: {n_cases}");
}

/// Takes minutes; see docs/internals/testing.md.
#[test]
#[ignore = "takes minutes"]
fn every_strategy_is_right_about_every_model() {
    let mut cases = our_cases();
    if let Some(folder) = models_folder() {
        let table = folder.join("expected.tsv");
        let table = std::fs::read_to_string(table).expect("the table is there");
        for row in expected_rows(&table).expect("the table is well-formed") {
            if row.size != Size::Small || row.verdict == Verdict::Rejected {
                continue;
            }
            let mut args = vec![folder.join(&row.model).display().to_string()];
            args.extend(["--deadlock".to_owned(), "off".to_owned()]);
            let constant = |(name, value): &(String, String)| format!("--const={name}={value}");
            args.extend(row.overrides.iter().map(constant));
            cases.push(Case {
                has_liveness: has_liveness(&args),
                args,
                // That of a run which ends at a violation depends on the order.
                states: row.states.filter(|_| row.verdict == Verdict::Verified),
                violation: None,
                is_violated: row.verdict == Verdict::Violated,
            });
        }
    }
    let patience = Patience {
        time: "3s",
        is_for_all: true,
    };
    check_all(&cases, u64::MAX, &patience);
}

/// Counts of states round a ring of this many, in steps of one or of seven.
fn ring(n: u32, rest: &str) -> String {
    format!(
        "const N: {n}; type Count: 0..N-1; var a, b: Count;
startstate a := 0; b := 0; end;
rule \"one\" a := (a + 1) % N; end;
rule \"seven\" b := (b + 7) % N; end;
{rest}"
    )
}

/// What people see, without the lines that change from run to run.
fn stable(run: &Run) -> String {
    let text = format!("{}{}", run.stdout, run.stderr);
    let lines = text.lines().filter(|line| {
        let line = line.trim_start();
        let changing = ["time ", "memory ", "split ", "trace ", "disk "];
        !changing.iter().any(|word| line.starts_with(word))
    });
    lines.map(|line| format!("{}\n", line.trim_end())).collect()
}

#[track_caller]
fn check(text: &str, flags: &[&str], code: i32, expected: Expect) {
    let run = check_text(text, flags);
    expected.assert_eq(&stable(&run));
    assert_eq!(run.code, code);
}

#[track_caller]
fn refused(flags: &[&str], what: &str) {
    let run = check_text(ring(5, ""), flags);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{}", run.stderr);
    let said = run.stderr.trim_end().trim_start_matches("error: ");
    assert_eq!(said, what);
}

#[test]
fn verdicts_and_exit_codes_are_those_of_any_search() {
    let broken = "invariant \"never\" a + b < 9;";
    let ends = "rule \"end\" a = 3 & b = 3 ==> undefine a; end;";
    for name in PAPERS {
        // The smallest budget that is allowed, and one that suffices for any of these.
        for memory in ["32M", "1G"] {
            let flags = ["--strategy", name, "--memory", memory, "-q"];
            let verified = check_text(ring(40, ""), &flags);
            assert_eq!(verified.code, 0, "{name}: {}", verified.stdout);
            let violated = check_text(ring(40, broken), &flags);
            assert_eq!(violated.code, 1, "{name}: {}", violated.stdout);
            assert!(violated.stdout.contains("invariant \"never\" is false"));
            let flags = [&flags[..], &["--deadlock", "stuck"]].concat();
            let text = ring(5, ends).replace("rule \"one\"", "rule \"one\" !isundefined(a) ==>");
            let text = text.replace("rule \"seven\"", "rule \"seven\" !isundefined(a) ==>");
            let text = text.replace("a = 3 & b", "!isundefined(a) & a = 3 & b");
            let stuck = check_text(text, &flags);
            assert_eq!(stuck.code, 1, "{name}: {}{}", stuck.stdout, stuck.stderr);
            assert!(stuck.stdout.contains("deadlock: no rule is enabled"));
        }
        let run = check_text(ring(40, ""), &["--strategy", name, "--memory", "1M"]);
        assert_eq!(run.code, 2);
        assert!(
            run.stderr.contains("it needs at least 32.0 MiB"),
            "{}",
            run.stderr
        );
    }
}

#[test]
fn ram_reports_what_it_would_have_needed() {
    check(
        &ring(40, ""),
        &["--strategy", "ram"],
        0,
        expect![[r#"
        <stdin>: verified: every reachable state was visited, and all is well

          checked      deadlock, run-time errors
          states       1,600
          transitions  3,200
          depth        78
          strategy     ram
          queue        at most 40 states  (g = 0.025 of all)
          needed       4.8 KiB for table and queue alone
    "#]],
    );
}

#[test]
fn a_trace_that_may_not_be_the_shortest_says_so() {
    let text = "var n: 0..3; startstate n := 0; end; rule n < 3 ==> n := n + 1; end;
rule \"jump\" n = 0 ==> n := 3; end; invariant \"low\" n < 3;";
    check(
        text,
        &["--strategy", "dfs-cache", "--data-memory", "10000"],
        1,
        expect![[r#"
            <stdin>: violated: invariant "low" is false, after 3 steps

            violation: invariant "low" is false, after 3 steps
             --> <stdin>:2:36
              |
            2 | rule "jump" n = 0 ==> n := 3; end; invariant "low" n < 3;
              |                                    ^^^^^^^^^^^^^^^^^^^^^^

            A run that shows it, 3 steps from a startstate, which may not be the shortest; what each step changes:

              0  startstate 1
                   n = 0
              1  rule 1
                   n: 0 → 1
              2  rule 1
                   n: 1 → 2
              3  rule 1
                   n: 2 → 3

            The state it ends in:

              n = 3

              checked      1 invariant, deadlock, run-time errors
              states       4
              transitions  4
              strategy     dfs-cache, caches used (mfu,25)(lru,75)  (may visit states again, has to stop when it finds next to nothing else, and does not find the shortest trace)
              visited      4 expansions, no state twice
              caches       room for 243 states, 0 forgotten
              stack        at most 4 states
              the search ended at the violation; counts are of what was visited by then
        "#]],
    );
}

#[test]
fn a_cache_that_is_too_small_proves_nothing() {
    let flags = ["--strategy", "cache", "--data-memory", "2000"];
    check(
        &ring(40, ""),
        &flags,
        3,
        expect![[r#"
        <stdin>: incomplete: stopped because nearly every insertion into the cache evicted another state; nothing is proved

          checked      deadlock, run-time errors
          states       1,600
          transitions  12,314
          depth        195
          strategy     cache, collision stop 0.9  (may visit states again, and may have to stop before it has visited all)
          visited      6,157 expansions; 4,591 states again, 3.87 times all in all
          collisions   90.0 % of the insertions, in a cache for 619 states
          everything   visited not for certain

          hint: give it more with --memory, or leave out --strategy cache to visit every state
    "#]],
    );
}

#[test]
fn layers_that_are_too_few_only_repeat_themselves() {
    let flags = ["--strategy", "layered", "--layers", "1", "--no-cache"];
    check(
        &ring(40, ""),
        &flags,
        3,
        expect![[r#"
        <stdin>: incomplete: stopped because the search only revisited states that it had forgotten, with no end in sight; nothing is proved

          checked      deadlock, run-time errors
          states       1,600
          transitions  16,520
          depth        226
          strategy     layered, layers 1, cache no  (may visit states again, and may have to stop before it has visited all)
          visited      8,260 expansions; 6,700 states again, 5.19 times all in all
          duplicates   0 in memory, 8,221 on disk, 6,700 missed
          looked at    1 layer on disk at the end of the last layer

          hint: look at more layers with --layers, or at as many as it takes with --layers auto, or leave out --strategy layered
    "#]],
    );
}

#[test]
fn caches_that_are_too_small_only_repeat_themselves() {
    let text = "type Count: 0..60; var at: Count; side: boolean;
startstate at := 0; side := false; end;
ruleset next: boolean do rule \"on\" at < 60 ==> at := at + 1; side := next; end; end;";
    let flags = [
        "--strategy",
        "dfs-cache",
        "--data-memory",
        "200",
        "--deadlock",
        "off",
    ];
    check(
        text,
        &flags,
        3,
        expect![[r#"
        <stdin>: incomplete: stopped because the search only revisited states that it had forgotten, with no end in sight; nothing is proved

          checked      run-time errors
          states       73
          transitions  5,496
          strategy     dfs-cache, caches used (mfu,25)(lru,75)  (may visit states again, has to stop when it finds next to nothing else, and does not find the shortest trace)
          visited      4,096 expansions; 4,023 states again, 56.11 times all in all
          caches       room for 4 states, 4,092 forgotten
          stack        at most 62 states

          hint: leave out --strategy dfs-cache
    "#]],
    );
}

#[test]
fn a_bounded_number_of_snapshots_is_warned_of() {
    let flags = ["--strategy", "snapshots", "--bounded"];
    check(
        &ring(10, ""),
        &flags,
        0,
        expect![[r#"
        <stdin>: verified: every reachable state was visited, and all is well

          checked      deadlock, run-time errors
          states       100
          transitions  220
          depth        19
          strategy     snapshots, setup frontier-safety-net, backtracking yes, bounded yes  (with a bounded number of snapshots the search need not end, whatever their distances; it is stopped when it only repeats itself)
          visited      110 expansions; 10 states again, 1.10 times all in all
          held         at most 59 states
          hits         19 in snapshots, of which 7 snapshots are left
        warning: with a bounded number of snapshots the search need not end, whatever their distances; it is stopped when it only repeats itself
    "#]],
    );
}

#[test]
fn liveness_is_left_undecided() {
    let text = ring(10, "liveness \"back\" a = 0;");
    check(
        &text,
        &["--strategy", "mono"],
        3,
        expect![[r#"
        <stdin>: incomplete: all states were visited and are safe, but liveness was not decided: the strategy mono keeps no transitions

          checked      1 liveness property, deadlock, run-time errors
          states       100
          transitions  200
          depth        18
          strategy     mono, table chained

          hint: leave out --strategy mono
    "#]],
    );
}

#[test]
fn flags_of_another_strategy_are_refused() {
    for (flags, what) in [
        (
            &["--layers", "3"][..],
            "--layers is for --strategy layered; it means nothing to `auto`",
        ),
        (
            &["--strategy", "mono", "--no-cache"],
            "--no-cache is for --strategy layered; it means nothing to `mono`",
        ),
        (
            &["--strategy", "layered", "--caches", "pebble"],
            "--caches is for --strategy snapshots or dfs-cache; it means nothing to `layered`",
        ),
        (
            &["--strategy", "part", "--bounded"],
            "--bounded is for --strategy snapshots; it means nothing to `part`",
        ),
        (
            &["--strategy", "ram", "--no-backtracking"],
            "--no-backtracking is for --strategy snapshots; it means nothing to `ram`",
        ),
        (
            &["--strategy", "cache", "--table", "open"],
            "--table is for --strategy mono or local; it means nothing to `cache`",
        ),
        (
            &["--strategy", "dfs-cache", "--caches", "(lru,99)"],
            "--caches: in `(lru,99)` at character 9: the shares add up to 99, not to 100",
        ),
    ] {
        refused(flags, what);
    }
}

#[test]
fn what_a_strategy_cannot_do_is_refused() {
    for (flags, what) in [
        (
            &["--strategy", "mono", "--threads", "2"][..],
            "--strategy mono works on one thread; leave it out, or --threads",
        ),
        (
            &["--strategy", "ram", "--disk", "x"],
            "--strategy ram keeps everything in memory; leave it out, or --disk",
        ),
        (
            &["--strategy", "part", "--bound", "3"],
            "<stdin>: the strategy `part` cannot have a bound on the depth: it does not visit \
             states in the order of their depth",
        ),
        (
            &["--strategy", "dfs-cache", "--bound", "3"],
            "<stdin>: the strategy `dfs-cache` cannot have a bound on the depth: it does not visit \
             states in the order of their depth",
        ),
    ] {
        refused(flags, what);
    }
    let run = check_text(ring(5, ""), &["--strategy", "murphi"]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr
            .contains("possible values: auto, dijkstra, a-star, best-first, ram, cache")
    );
}

#[test]
fn a_bound_is_kept_by_those_that_go_by_layers() {
    for name in PAPERS.into_iter().filter(|name| is_by_layers(name)) {
        let flags = ["--strategy", name, "--bound", "4", "--json", "-"];
        let run = check_text(ring(40, ""), &flags);
        let record = run.record();
        assert_eq!((run.code, record["reason"].as_str()), (3, Some("bound")));
        assert_eq!(record["depth"], 4, "{name}");
        assert_eq!(record["states"], 1 + 2 + 3 + 4 + 5, "{name}");
    }
}

/// Nothing is left in a folder, and what was done there cannot be gone on with.
#[test]
fn a_folder_is_used_and_left_empty() {
    let folder = tempfile::tempdir_in(root().join("target")).or_else(|_| tempfile::tempdir());
    let folder = folder.expect("a folder can be made");
    let disk = folder.path().join("run").display().to_string();
    std::fs::create_dir(&disk).expect("a folder can be made");
    for name in PAPERS.into_iter().filter(|name| *name != "ram") {
        let small = ["--data-memory", "20K", "--force", "--json", "-"];
        let flags = [&["--strategy", name, "--disk", &disk][..], &small].concat();
        let run = check_text(ring(60, ""), &flags);
        assert!([0, 3].contains(&run.code), "{name}: {}", run.stderr);
        if always_ends(name) {
            let record = run.record();
            assert_eq!((run.code, &record["states"]), (0, &Value::from(3600)));
        }
        let left = std::fs::read_dir(&disk).expect("it was made");
        let left: Vec<_> = left
            .map(|entry| entry.expect("it can be read").file_name())
            .collect();
        assert_eq!(left, ["LOCK"], "{name}");
    }
    let run = hadal(&["resume", &disk]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("there is no run in"), "{}", run.stderr);

    // One that the run itself made is of no use to anybody afterwards.
    let made = folder.path().join("made");
    let disk = made.display().to_string();
    let run = check_text(ring(60, ""), &["--strategy", "mono", "--disk", &disk]);
    assert_eq!((run.code, made.exists()), (0, false), "{}", run.stderr);
}

/// Switches that go on and off; most states lie in few layers.
const SWITCHES: &str = "var on: array [0..19] of boolean;
startstate for i: 0..19 do on[i] := false end; end;
ruleset i: 0..19 do rule on[i] := !on[i]; end; end;";

/// The budget is for the process, whatever a paper counts.
#[test]
fn the_budget_holds_for_the_process() {
    const MIB: u64 = 1 << 20;
    let memory = ["--memory", "36M"];
    for name in PAPERS {
        // The others may take long with so little; this one must come to its limit.
        let time = match name {
            "snapshots" => ["--time-limit", "2m"],
            _ => ["--time-limit", "3s"],
        };
        let flags = [&["--strategy", name, "--json", "-"][..], &memory, &time].concat();
        let record = check_text(SWITCHES, &flags).record();
        let peak = record["memory"]["peak_bytes"].as_u64();
        let peak = peak.expect("a number");
        assert!(peak <= 52 * MIB, "{name}: {} MiB", peak / MIB);
        if name == "snapshots" {
            let why = [&record["verdict"], &record["reason"]];
            assert_eq!(why, ["incomplete", "memory"], "{name}: {record}");
        }
    }
    let flags = [&["--strategy", "ram", "--json", "-"][..], &memory].concat();
    let record = check_text(ring(3000, ""), &flags).record();
    let why = [&record["verdict"], &record["reason"]];
    assert_eq!(why, ["incomplete", "memory"], "{record}");
    assert!(record["memory"]["peak_bytes"].as_u64() <= Some(52 * MIB));
}

/// A counterexample is shown again from its record, whoever found it.
#[test]
fn counterexamples_replay() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let model = folder.path().join("ring.m");
    std::fs::write(&model, ring(40, "invariant \"never\" a + b < 9;")).expect("it can be written");
    let model = model.display().to_string();
    let path = folder.path().join("run.json").display().to_string();
    for name in PAPERS {
        let run = hadal(&["check", &model, "--strategy", name, "--json", &path]);
        assert_eq!(run.code, 1, "{name}");
        let again = hadal(&["replay", &path]);
        let has_state = |run: &Run| run.stdout.contains("startstate");
        assert!(
            has_state(&run) && has_state(&again),
            "{name}: {}",
            again.stderr
        );
    }
}
