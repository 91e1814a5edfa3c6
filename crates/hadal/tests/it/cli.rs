//! The command line as scripts and people meet it: exit codes, messages, records.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Run, check_text, hadal, root};
use expect_test::{Expect, expect};
use serde_json::Value;

/// Two processes race for a flag; `broken` leaves the guard out.
fn lock(broken: bool) -> String {
    let guard = if broken { "true" } else { "!busy" };
    format!(
        "type Proc: scalarset(2);
var busy: boolean; inside: array [Proc] of boolean;
startstate \"free\" busy := false; for p: Proc do inside[p] := false end end;
ruleset p: Proc do
  rule \"enter\" !inside[p] & {guard} ==> busy := true; inside[p] := true end;
  rule \"leave\" inside[p] ==> inside[p] := false; busy := false end;
end;
invariant \"mutual exclusion\"
  forall p: Proc; q: Proc do p != q & inside[p] -> !inside[q] end;
"
    )
}

/// What people see, without the lines that change from run to run.
fn stable(run: &Run) -> String {
    let text = format!("{}{}", run.stdout, run.stderr);
    let lines = text.lines().filter(|line| {
        let line = line.trim_start();
        !line.starts_with("time ") && !line.starts_with("memory ")
    });
    lines.map(|line| format!("{line}\n")).collect()
}

#[track_caller]
fn check(text: &str, flags: &[&str], code: i32, expected: Expect) {
    let run = check_text(text, flags);
    expected.assert_eq(&stable(&run));
    assert_eq!(run.code, code);
}

#[test]
fn a_verified_model_says_so_at_a_glance() {
    check(
        &lock(false),
        &[],
        0,
        expect![[r#"
            <stdin>: verified: every reachable state was visited, and all is well

              checked      1 invariant, deadlock, run-time errors
              states       2  (up to symmetry: Proc(2): 2 permutations)
              order        independent: 2 loops proved
              transitions  3
              depth        1
        "#]],
    );
}

#[test]
fn a_violated_model_shows_a_run_that_can_be_followed() {
    check(
        &lock(true),
        &[],
        1,
        expect![[r#"
            <stdin>: violated: invariant "mutual exclusion" is false, after 2 steps

            violation: invariant "mutual exclusion" is false, after 2 steps
             --> <stdin>:8:1
              |
            8 | invariant "mutual exclusion"
              | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^

            The shortest run that shows it, 2 steps from a startstate; what each step changes:

              0  startstate "free"
                   busy = false
                   inside[Proc_1] = false
                   inside[Proc_2] = false
              1  rule "enter"  p = Proc_1
                   busy: false → true
                   inside[Proc_1]: false → true
              2  rule "enter"  p = Proc_2
                   inside[Proc_2]: false → true

            The state it ends in:

              busy = true
              inside[Proc_1] = true
              inside[Proc_2] = true

              checked      1 invariant, deadlock, run-time errors
              states       3  (up to symmetry: Proc(2): 2 permutations)
              order        independent: 2 loops proved
              transitions  4
              depth        2
              the search ended at the violation; counts are of whole layers up to it
        "#]],
    );
}

#[test]
fn a_hash_store_claims_no_more_than_it_knows() {
    check(
        &lock(false),
        &["--store", "hash40", "--seed", "3"],
        0,
        expect![[r#"
            <stdin>: no violation found; probability of missing a given error at most 2.7e-12

              checked      1 invariant, deadlock, run-time errors
              states       2  (up to symmetry: Proc(2): 2 permutations)
              order        independent: 2 loops proved
              store        hash40, seed 3  (probability of missing a state 9.1e-13, a given error at most 2.7e-12)
              transitions  3
              depth        1
        "#]],
    );
    for (store, bits) in [
        ("hash40", 40),
        ("hash64", 64),
        ("hash96", 96),
        ("hash128", 128),
    ] {
        let run = check_text(
            lock(false),
            &["--store", store, "--seed", "3", "--json", "-"],
        );
        let record = run.record();
        assert_eq!(
            (run.code, &record["verdict"]),
            (0, &Value::from("verified"))
        );
        assert_eq!(record["store"], store);
        assert_eq!(record["seed"], 3);
        let space = f64::from(bits).exp2();
        // One startstate and one state behind it: a pair, and 1 + 2 states to be up against.
        for (name, expected) in [("any", 1.0 / space), ("given_error", 3.0 / space)] {
            let told = record["omission"][name].as_f64().expect("a number");
            assert!(
                (told / expected - 1.0).abs() < 1e-6,
                "{store}: {name} is {told}"
            );
        }
    }
    let exact = check_text(lock(false), &["--json", "-"]).record();
    assert_eq!(
        (&exact["store"], &exact["omission"]),
        (&Value::from("exact"), &Value::Null)
    );
}

#[test]
fn a_hash_store_finds_and_replays_violations() {
    let record = |flags: &[&str]| {
        let run = check_text(lock(true), flags);
        assert_eq!(run.code, 1, "{}", run.stderr);
        run.record()["violations"].clone()
    };
    let exact = record(&["--json", "-"]);
    assert_eq!(record(&["--json", "-", "--store", "hash64"]), exact);
    let ram = ["--json", "-", "--store", "hash40", "--strategy", "ram"];
    assert_eq!(record(&ram), exact);
}

/// A state that was taken for another may have been the one that reaches it.
#[test]
fn a_hash_store_cannot_prove_that_a_cover_is_never_reached() {
    let text = lock(false)
        + "cover \"somebody is inside\" exists p: Proc do inside[p] end;
cover \"both are inside\" forall p: Proc do inside[p] end;";
    let expected = "<stdin>: incomplete: no violation found, but cover \"both are inside\" was not \
                    reached, which a hash store cannot prove\n";
    for strategy in ["auto", "ram", "part"] {
        let exact = check_text(&text, &["--strategy", strategy, "-q"]);
        assert_eq!(exact.code, 1, "{}", exact.stdout);
        let flags = ["--strategy", strategy, "--store", "hash64"];
        let hashed = check_text(&text, &[&flags[..], &["-q"]].concat());
        assert_eq!((hashed.code, hashed.stdout.as_str()), (3, expected));
        let record = check_text(&text, &[&flags[..], &["--json", "-"]].concat()).record();
        assert_eq!(record["complete"], false);
        assert_eq!(record["violations"], Value::Array(Vec::new()));
        let holds: Vec<&Value> = (record["properties"].as_array().expect("a list").iter())
            .map(|property| &property["holds"])
            .collect();
        assert_eq!(
            holds,
            [&Value::from(true), &Value::from(true), &Value::Null]
        );
    }
}

#[test]
fn full_states_on_request() {
    check(
        &lock(true),
        &["--trace", "full"],
        1,
        expect![[r#"
            <stdin>: violated: invariant "mutual exclusion" is false, after 2 steps

            violation: invariant "mutual exclusion" is false, after 2 steps
             --> <stdin>:8:1
              |
            8 | invariant "mutual exclusion"
              | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^

            The shortest run that shows it, 2 steps from a startstate; the whole state after each step:

              0  startstate "free"
                   busy = false
                   inside[Proc_1] = false
                   inside[Proc_2] = false
              1  rule "enter"  p = Proc_1
                   busy = true
                   inside[Proc_1] = true
                   inside[Proc_2] = false
              2  rule "enter"  p = Proc_2
                   busy = true
                   inside[Proc_1] = true
                   inside[Proc_2] = true

              checked      1 invariant, deadlock, run-time errors
              states       3  (up to symmetry: Proc(2): 2 permutations)
              order        independent: 2 loops proved
              transitions  4
              depth        2
              the search ended at the violation; counts are of whole layers up to it
        "#]],
    );
}

#[test]
fn quiet_prints_the_verdict_only() {
    check(
        &lock(false),
        &["-q"],
        0,
        expect![[r#"
        <stdin>: verified: every reachable state was visited, and all is well
    "#]],
    );
}

#[test]
fn an_undefined_read_names_the_variable_the_rule_and_the_place() {
    check(
        "var x, y: 0..3;\nstartstate x := 0 end;\nrule \"copy\" x < 2 ==> x := y + 1 end;\n",
        &[],
        1,
        expect![[r#"
            <stdin>: violated: `y` is undefined in rule "copy", the first step

            violation: `y` is undefined in rule "copy", the first step
             --> <stdin>:3:28
              |
            3 | rule "copy" x < 2 ==> x := y + 1 end;
              |                            ^

            The startstate that shows it:

              0  startstate 1
                   x = 0
                   y is undefined
              !  rule "copy"
                   `y` is undefined

              checked      deadlock, run-time errors
              states       1
              transitions  0
              depth        0
              the search ended at the violation; counts are of whole layers up to it
        "#]],
    );
}

#[test]
fn a_deadlock_shows_the_state_nothing_leaves() {
    check(
        "var x: 0..3;\nstartstate x := 0 end;\nrule \"up\" x < 2 ==> x := x + 1 end;\n",
        &[],
        1,
        expect![[r#"
            <stdin>: violated: deadlock: no rule leads to another state, after 2 steps

            violation: deadlock: no rule leads to another state, after 2 steps

            The shortest run that shows it, 2 steps from a startstate; what each step changes:

              0  startstate 1
                   x = 0
              1  rule "up"
                   x: 0 → 1
              2  rule "up"
                   x: 1 → 2

            The state it ends in:

              x = 2

              checked      deadlock, run-time errors
              states       3
              transitions  2
              depth        2
              the search ended at the violation; counts are of whole layers up to it
        "#]],
    );
}

#[test]
fn a_typo_is_pointed_at() {
    check(
        "var counter: 0..3;\nstartstate counter := 0 end;\nrule \"up\" countr < 2 ==> counter := counter + 1 end;\n",
        &[],
        2,
        expect![[r#"
            error: unknown name `countr`
             --> <stdin>:3:11
              |
            3 | rule "up" countr < 2 ==> counter := counter + 1 end;
              |           ^^^^^^ not declared above this place
              |
              = help: did you mean `counter`?
        "#]],
    );
}

#[test]
fn a_rule_that_never_fires_is_shown() {
    check(
        "var x: boolean;\nstartstate x := false end;\nrule \"flip\" true ==> x := !x end;\nrule \"dead\" x & !x ==> x := x end;\n",
        &[],
        0,
        expect![[r#"
            <stdin>: verified: every reachable state was visited, and all is well

              checked      deadlock, run-time errors
              states       2
              transitions  2
              depth        1

              never fired  rules that no reachable state enables:
                "dead"  <stdin>:4:1
        "#]],
    );
}

#[test]
fn a_model_without_startstates_is_an_error() {
    let run = check_text("var x: boolean; rule x := true end;", &[]);
    assert_eq!(run.code, 2, "{}", run.stderr);
    let run = check_text("", &[]);
    assert_eq!(run.code, 2, "{}", run.stderr);
}

#[test]
fn startstates_that_are_all_assumed_away_are_an_error() {
    let text = "var x: boolean; startstate x := true end; rule x := !x end; assume !x;";
    let run = check_text(text, &[]);
    assert_eq!(run.code, 2, "{}", run.stdout);
    assert!(run.stderr.contains("no startstate"), "{}", run.stderr);
}

#[test]
fn a_bound_that_cuts_nothing_off_verifies() {
    let text = "var x: 0..3; startstate x := 0 end; rule x := (x + 1) % 4 end;";
    let run = check_text(text, &["--bound", "4"]);
    assert_eq!(run.code, 0, "{}", run.stdout);
    let run = check_text(text, &["--bound", "2"]);
    assert_eq!(run.code, 3);
    assert!(
        run.stdout.contains("no violation up to depth 2"),
        "{}",
        run.stdout
    );
}

#[test]
fn memory_ends_with_a_verdict_of_nothing() {
    // Each layer has one state, so there are as many layers as memory holds states; nothing that
    // is done for a layer may take longer the more there are.
    let text = "var x: 0..1000000000; startstate x := 0 end; rule x := x + 1 end;";
    let flags = [
        "--data-memory",
        "1M",
        "--strategy",
        "ram",
        "--progress",
        "none",
    ];
    let run = check_text(text, &flags);
    assert_eq!(run.code, 3, "{}", run.stdout);
    assert!(
        run.stdout.contains("memory budget of 1.0 MiB"),
        "{}",
        run.stdout
    );
}

#[test]
fn a_time_limit_stops_even_an_endless_loop_of_the_model() {
    let text = "var x: boolean; startstate x := true end; rule while x do x := x end end;";
    let begun = Instant::now();
    let flags = [
        "--time-limit",
        "300ms",
        "--loop-limit",
        "18446744073709551615",
    ];
    let run = check_text(text, &flags);
    assert_eq!(run.code, 3, "{}{}", run.stdout, run.stderr);
    assert!(begun.elapsed() < Duration::from_secs(20));
}

#[test]
fn an_interrupt_stops_cleanly() {
    let child = Command::new(env!("CARGO_BIN_EXE_hadal"))
        .args(["check", "models/sliding_unsolvable.m", "--const", "ROWS=3"])
        .args(["--const", "COLS=4", "--json", "-"])
        .current_dir(root())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    std::thread::sleep(Duration::from_millis(700));
    let pid = child.id().to_string();
    let killed = Command::new("kill").args(["-INT", &pid]).status();
    assert!(killed.is_ok_and(|status| status.success()));
    let run: Run = child.wait_with_output().expect("it ends").into();
    assert_eq!(run.code, 3, "{}", run.stderr);
    let record = run.record();
    assert_eq!(record["verdict"], "incomplete");
    assert_eq!(record["reason"], "interrupted");
    assert_eq!(record["complete"], false);
}

#[test]
fn bad_command_lines_exit_with_2() {
    for args in [
        &["check"][..],
        &["check", "no/such/file.m"],
        &["check", "models"],
        &["check", "README.md"],
        &["check", "models/peterson.m", "--memory", "lots"],
        &["check", "models/peterson.m", "--threads", "0"],
        &["check", "models/peterson.m", "--const", "N"],
        &["check", "models/peterson.m", "--const", "NO_SUCH=3"],
        &[
            "check",
            "models/peterson.m",
            "--json",
            "/no/such/folder/r.json",
        ],
        &["check", "models/peterson.m", "--store", "hash8"],
        &["replay", "Cargo.toml"],
        &["frobnicate"],
    ] {
        let run = hadal(args);
        assert_eq!(run.code, 2, "{args:?}: {}", run.stderr);
        assert!(run.stderr.contains("error"), "{args:?}: {}", run.stderr);
        assert!(!run.stderr.contains("panicked"), "{args:?}: {}", run.stderr);
    }
}

#[test]
fn an_unknown_constant_lists_what_there_is() {
    let run = check_text(
        "const COUNT: 3; var x: 0..COUNT; startstate x := 0 end; rule x := 0 end;",
        &["--const", "CUONT=4"],
    );
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("COUNT"), "{}", run.stderr);
}

#[test]
fn nothing_a_file_contains_makes_it_panic() {
    let deep_parentheses = format!(
        "var x: boolean; startstate x := {}true{} end;",
        "(".repeat(100_000),
        ")".repeat(100_000)
    );
    let deep_ifs = format!(
        "var x: boolean; startstate {} end;",
        "if true then ".repeat(50_000)
    );
    let long_chain = format!(
        "var x: boolean; startstate x := {} end; rule x := !x end;",
        vec!["true"; 20_000].join(" & ")
    );
    let crlf = "var x: boolean;\r\nstartstate x := true end;\r\nrule x := !x end;\r\n";
    let wide = "var a: array [0..1000000000] of 0..255; startstate clear a end; rule clear a end;";
    let scalars =
        "type s: scalarset(1000000000); var x: s; startstate undefine x end; rule undefine x end;";
    for (text, codes) in [
        (Vec::new(), &[2][..]),
        (b"\x00\xff\xfe\x80 binary \x1b[2J junk".to_vec(), &[2]),
        (deep_parentheses.into_bytes(), &[2]),
        (deep_ifs.into_bytes(), &[2]),
        (long_chain.into_bytes(), &[0, 1]),
        (crlf.as_bytes().to_vec(), &[0]),
        (wide.as_bytes().to_vec(), &[2]),
        (scalars.as_bytes().to_vec(), &[0, 1]),
    ] {
        let run = check_text(&text, &[]);
        let shown = String::from_utf8_lossy(&text[..text.len().min(60)]).into_owned();
        assert!(
            codes.contains(&run.code),
            "{shown}: exit {}\n{}",
            run.code,
            run.stderr
        );
        assert!(!run.stderr.contains("panicked"), "{shown}: {}", run.stderr);
    }
}

#[test]
fn the_record_has_every_field_of_the_contract() {
    let run = check_text(lock(true), &["--json", "-", "--max-errors", "3"]);
    let record = run.record();
    let names: Vec<&str> = record
        .as_object()
        .expect("a record is an object")
        .keys()
        .map(String::as_str)
        .collect();
    let expected = [
        "hadal",
        "model",
        "language",
        "dialect",
        "verdict",
        "complete",
        "reason",
        "states",
        "states_exact",
        "visited",
        "transitions",
        "depth",
        "layers",
        "violations",
        "rules",
        "properties",
        "strategy",
        "store",
        "engine",
        "symmetry",
        "order",
        "threads",
        "seed",
        "state_bits",
        "constants",
        "duplicates",
        "strategy_stats",
        "memory",
        "disk",
        "omission",
        "seconds",
    ];
    assert_eq!(names, expected);
    let violation = &record["violations"][0];
    assert_eq!(violation["kind"], "invariant");
    assert_eq!(violation["depth"], 2);
    assert_eq!(violation["trace"].as_array().map(Vec::len), Some(3));
    assert_eq!(violation["trace"][0]["rule"], "free");
    assert_eq!(violation["trace"][1]["rule"], "enter");
    assert_eq!(
        violation["trace"][1]["parameters"],
        serde_json::json!({"p": "Proc_1"})
    );
    assert_eq!(violation["trace"][1]["changes"]["inside[Proc_1]"], "true");
    assert_eq!(violation["state"]["busy"], "true");
    for (name, keys) in [
        ("memory", &["budget_bytes", "peak_bytes", "data_bytes"][..]),
        (
            "disk",
            &[
                "peak_bytes",
                "read_bytes",
                "written_bytes",
                "bytes_per_state",
            ],
        ),
        ("duplicates", &["memory", "layer", "disk", "missed"]),
        (
            "seconds",
            &[
                "total",
                "load",
                "compile",
                "search",
                "expand",
                "merge",
                "io_wait",
                "trace",
                "first_state",
                "insert",
            ],
        ),
    ] {
        let fields = record[name].as_object().expect("an object");
        assert!(fields.keys().eq(keys.iter()), "{name}: {fields:?}");
    }
}

#[test]
fn a_model_that_cannot_be_searched_has_a_record_that_says_why() {
    let loop_in_start = "type Proc: scalarset(3); var turn: Proc;
startstate for p: Proc do turn := p end end; rule turn := turn end;
ruleset p: Proc do cover \"a turn for each\" turn = p end;";
    let clear = "type Proc: scalarset(3); var p: Proc;
startstate clear p end; rule undefine p end;";
    let good = "var x: boolean; startstate x := true end; rule x := !x end;";
    for (text, flags, message, at) in [
        (
            "var x: boolean; rule x := y end;",
            &[][..],
            "unknown name `y`",
            "<stdin>:1:27",
        ),
        (clear, &[], "clear", "<stdin>:2:18"),
        (good, &["--const", "N=3"], "N", ""),
        (
            &good.replace("x := true", "assume false"),
            &[],
            "no startstate",
            "",
        ),
        (loop_in_start, &[], "exchanging Proc_2 and Proc_3", ""),
    ] {
        let run = check_text(text, &[flags, &["--json", "-", "--seed", "5"]].concat());
        assert_eq!(run.code, 2, "{text}: {}", run.stderr);
        let record = run.record();
        assert_eq!(record["model"], "<stdin>");
        assert_eq!(
            (&record["verdict"], &record["complete"]),
            (&"rejected".into(), &false.into())
        );
        assert_eq!(
            (&record["reason"], &record["seed"]),
            (&Value::Null, &5.into())
        );
        assert_eq!(record["violations"], Value::Array(Vec::new()));
        for count in ["states", "visited", "transitions", "depth", "layers"] {
            assert_eq!(record.get(count), None, "{count}");
        }
        let diagnostics = record["diagnostics"].as_array().expect("a list");
        let told = diagnostics.iter().find(|told| told["severity"] == "error");
        let told = told.expect("an error");
        let said = told["message"].as_str().expect("a text");
        assert!(said.contains(message), "{text}: {said}");
        assert_eq!(told["at"], at, "{text}");
        // The message is printed too, and there is nothing to replay.
        assert!(run.stderr.contains(message), "{}", run.stderr);
    }
    let folder = tempfile::tempdir().expect("a folder can be made");
    let record = folder.path().join("run.json").display().to_string();
    assert_eq!(check_text(clear, &["--json", &record]).code, 2);
    let replayed = hadal(&["replay", &record]);
    assert_eq!(replayed.code, 0, "{}", replayed.stderr);
    assert!(
        replayed.stdout.contains("the run was rejected"),
        "{}",
        replayed.stdout
    );
    // Without room for the record it is rejected all the same.
    assert_eq!(check_text(clear, &["--json", "/dev/full"]).code, 2);
}

#[test]
fn a_counterexample_can_be_replayed_from_its_record() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let model = folder.path().join("lock.m");
    std::fs::write(&model, lock(true)).expect("the model can be written");
    let record = folder.path().join("run.json");
    let (model, record) = (model.display().to_string(), record.display().to_string());
    let run = hadal(&["check", &model, "--json", &record]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    let replayed = hadal(&["replay", &record]);
    assert_eq!(replayed.code, 0, "{}", replayed.stderr);
    assert!(
        replayed.stdout.contains("rule \"enter\"  p = Proc_2"),
        "{}",
        replayed.stdout
    );
    // Another model is noticed.
    std::fs::write(&model, lock(false)).expect("the model can be written");
    let replayed = hadal(&["replay", &record]);
    assert_eq!(replayed.code, 2, "{}", replayed.stdout);
}

#[test]
fn every_violated_model_of_ours_replays() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let record = folder.path().join("run.json").display().to_string();
    let models = std::fs::read_dir(root().join("models")).expect("the models are there");
    let mut n_replayed = 0;
    for model in models {
        let path = model.expect("a folder can be listed").path();
        if path.extension().is_none_or(|extension| extension != "m") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a model can be read");
        if !text.contains("-- expect: violated") || text.contains("depth 31") {
            continue;
        }
        let flags = text
            .lines()
            .find_map(|line| line.strip_prefix("-- flags: "));
        let name = path.display().to_string();
        let mut args = vec!["check", &name, "--json", &record, "-q"];
        args.extend(flags.into_iter().flat_map(str::split_whitespace));
        assert_eq!(hadal(&args).code, 1, "{name}");
        let replayed = hadal(&["replay", &record]);
        assert_eq!(replayed.code, 0, "{name}: {}", replayed.stderr);
        n_replayed += 1;
    }
    assert!(n_replayed >= 10);
}

#[test]
fn put_is_silent_in_the_search_and_shown_in_the_trace() {
    let text = "var x: 0..3; startstate x := 0 end;
rule \"step\" x < 3 ==> put \"x is \"; put x; x := x + 1 end;
invariant \"small\" x < 2;";
    let run = check_text(text, &["--json", "-"]);
    assert_eq!(run.record()["verdict"], Value::from("violated"));
    let run = check_text(text, &[]);
    assert!(run.stdout.contains("put: x is x:0"), "{}", run.stdout);
}

#[test]
fn a_model_that_breaks_symmetry_is_refused() {
    // The order of a loop over a scalarset decides who wins.
    let text = "type Proc: scalarset(3);
var winner: Proc; done: boolean;
startstate undefine winner; done := false end;
rule \"elect\" !done ==>
  for p: Proc do winner := p end;
  done := true;
end;
rule \"again\" done ==> undefine winner; done := false end;
var seen: array [Proc] of boolean;
startstate for p: Proc do seen[p] := false end; done := false end;
ruleset p: Proc do rule \"mark\" !isundefined(winner) & winner = p ==> seen[p] := true end end;
";
    let run = check_text(text, &[]);
    let told = format!("{}{}", run.stdout, run.stderr);
    assert_eq!(run.code, 2, "{told}");
    assert!(told.contains("elect"), "{told}");
    let run = check_text(text, &["--symmetry", "off", "--deadlock", "off"]);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    // `clear` of a scalarset has a place in the text.
    let text = "type Proc: scalarset(3); var p: Proc; startstate clear p end; rule undefine p end;";
    let run = check_text(text, &[]);
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(run.stderr.contains("clear"), "{}", run.stderr);
}

/// Which successors a state has must not depend on which instance fails first: a path through such
/// a state would not replay under other names.
#[test]
fn violations_behind_a_fault_replay_under_symmetry() {
    let text = "type Proc: scalarset(3);
var at: array [Proc] of 0..2; bad: Proc; n: 0..5;
startstate for p: Proc do at[p] := 0 end; undefine bad; n := 0 end;
ruleset p: Proc do
  rule \"mark\" isundefined(bad) ==> bad := p end;
  rule \"step\" !isundefined(bad) ==>
    if p = bad then error \"bad steps\" end;
    at[p] := 1; n := n + 1; undefine bad end;
end;
invariant \"n\" n < 2;";
    for symmetry in ["full", "off"] {
        let run = check_text(text, &["--max-errors", "5", "--symmetry", symmetry]);
        let told = format!("{}{}", run.stdout, run.stderr);
        assert_eq!(run.code, 1, "{told}");
        assert!(told.contains("violated: 3 violations"), "{told}");
        for depth in ["after 1 step", "after 4 steps", "after 11 steps"] {
            assert!(told.contains(depth), "{told}");
        }
    }
}

/// Instances of one invariant do not hide each other: neither a fault a false one after it, nor a
/// false one a fault, nor a fault one of another kind.
#[test]
fn an_invariant_that_faults_hides_no_false_instance() {
    let model = |index: &str| {
        format!(
            "type Index: {index};
var v: array [Index] of 0..3; ready: boolean;
startstate for i: Index do v[i] := 0 end; ready := false end;
ruleset i: Index; j: Index; k: Index do
  rule \"spoil\" !ready & i != j & j != k & i != k ==>
    undefine v[i]; v[j] := 3; v[k] := 2; ready := true end
end;
ruleset i: Index do invariant \"small\" 3 / (2 - v[i]) > 0 end;"
        )
    };
    for index in ["scalarset(3)", "0..2"] {
        for symmetry in ["full", "off"] {
            for engine in ["native", "interpreter"] {
                let flags = [
                    "--symmetry",
                    symmetry,
                    "--engine",
                    engine,
                    "--deadlock",
                    "off",
                ];
                let run = check_text(model(index), &[&flags[..], &["--max-errors", "9"]].concat());
                let told = format!("{}{}", run.stdout, run.stderr);
                assert_eq!(run.code, 1, "{told}");
                assert!(told.contains("violated: 3 violations"), "{told}");
                for kind in ["` is undefined in", "division by zero", ") is false"] {
                    assert!(told.contains(kind), "{kind}: {told}");
                }
                let first = check_text(model(index), &flags);
                assert!(first.stdout.contains("violated"), "{}", first.stdout);
                assert!(!first.stdout.contains("3 violations"), "{}", first.stdout);
            }
        }
    }
}

/// What depends on the order of interchangeable elements must not hide in the state that is kept.
#[test]
fn symmetry_hides_no_undefined_read_behind_a_quantifier() {
    let model = |property: &str| {
        format!(
            "const LAST: 2000;
type Proc: scalarset(2);
var flag: array [Proc] of 0..1; time: 0..LAST;
startstate time := 0; for p: Proc do flag[p] := 0 end end;
rule \"tick\" time < LAST - 1 ==> time := time + 1 end;
ruleset p: Proc do
  rule \"forget\" time = LAST - 1 ==> undefine flag; flag[p] := 1; time := LAST end;
end;
rule \"again\" time = LAST ==> time := 0; for p: Proc do flag[p] := 0 end end;
{property}"
        )
    };
    for property in [
        "invariant \"someone\" time = LAST -> exists p: Proc do flag[p] = 1 end;",
        "invariant \"not all\" time = LAST -> !forall p: Proc do flag[p] = 0 end;",
        "rule \"guarded\" time = LAST & exists p: Proc do flag[p] = 1 end ==> time := 0 end;",
        "ruleset p: Proc do assume time = LAST -> flag[p] = 0 end;",
    ] {
        for symmetry in ["full", "off"] {
            for engine in ["native", "interpreter"] {
                let flags = ["--symmetry", symmetry, "--engine", engine, "--json", "-"];
                let record = check_text(model(property), &flags).record();
                let kind = &record["violations"][0]["kind"];
                assert_eq!(*kind, "undefined", "{property} {symmetry} {engine}");
            }
        }
    }
}

#[test]
fn goals_of_elements_need_symmetric_startstates() {
    let text = "type Proc: scalarset(3);
var turn: Proc; on: boolean;
startstate for p: Proc do turn := p end; on := false end;
rule on := !on end;
ruleset p: Proc do cover \"a turn for each\" turn = p end;";
    let run = check_text(text, &[]);
    assert_eq!(run.code, 2, "{}", run.stdout);
    assert!(run.stderr.contains("startstate"), "{}", run.stderr);
    assert_eq!(check_text(text, &["--symmetry", "off"]).code, 1);

    // However many elements there are, all of them are renamed.
    let text = text.replace("scalarset(3)", "scalarset(300)");
    let run = check_text(&text, &[]);
    assert_eq!(run.code, 2, "{}", run.stdout);
    let expected = "exchanging Proc_299 and Proc_300 turns a startstate into a state that is none";
    assert!(run.stderr.contains(expected), "{}", run.stderr);
    let choice = "ruleset q: Proc do startstate turn := q; on := false end end;";
    let loops = "startstate for p: Proc do turn := p end; on := false end;";
    let run = check_text(text.replace(loops, choice), &[]);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
}

#[test]
fn startstates_may_single_out_elements_that_no_goal_asks_about() {
    let model = |goal: &str| {
        format!(
            "type Proc: scalarset(3); Key: scalarset(3);
var turn: Proc; key: Key;
startstate undefine turn; for k: Key do key := k end end;
ruleset p: Proc do rule turn := p end end;
{goal}"
        )
    };
    let of_processes = "ruleset p: Proc do cover \"a turn\" !isundefined(turn) & turn = p end;";
    let run = check_text(model(of_processes), &[]);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    let of_keys = "ruleset k: Key do cover \"a key\" key = k end;";
    let run = check_text(model(of_keys), &[]);
    assert_eq!(run.code, 2, "{}{}", run.stdout, run.stderr);
}

#[test]
fn a_run_after_a_fault_is_not_complete() {
    let text = "var x: 0..2; startstate \"a\" x := 0 end; startstate \"b\" error \"no\" end;
startstate \"c\" x := 2 end; rule x := x end; invariant \"small\" x < 2;";
    let run = check_text(
        text,
        &["--max-errors", "9", "--deadlock", "off", "--json", "-"],
    );
    assert_eq!(run.record()["complete"], false);
}

#[test]
fn a_budget_that_is_too_small_is_refused_with_the_figure() {
    let run = check_text(lock(false), &["--memory", "1M"]);
    assert_eq!(run.code, 2, "{}", run.stdout);
    assert!(run.stderr.contains("32.0 MiB"), "{}", run.stderr);
}

#[test]
fn a_verdict_that_cannot_be_delivered_is_still_printed() {
    let run = check_text(lock(true), &["--json", "/dev/full"]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(run.stdout.contains("violated"), "{}", run.stdout);
    assert!(run.stderr.contains("the run record"), "{}", run.stderr);
    let run = check_text(lock(false), &["--json", "/dev/full"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stdout.contains("verified"), "{}", run.stdout);
}

#[test]
fn records_of_other_languages_limits_and_hidden_parameters_replay() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let model = folder.path().join("model.txt").display().to_string();
    let record = folder.path().join("run.json").display().to_string();
    let text = "var x: 0..9; startstate x := 0 end;
function deep(n: 0..3000): 0..3000; begin if n = 0 then return 0 end; return deep(n - 1) end;
ruleset i: 1..2 do ruleset i: 3..4 do
  rule \"r\" x < 9 ==> x := deep(2000); x := 9 end
end end;
invariant \"x stays\" x = 0;";
    std::fs::write(&model, text).expect("the model can be written");
    let flags = ["--language", "murphi", "--call-limit", "3000", "--json"];
    let args: Vec<&str> = ["check", &model]
        .into_iter()
        .chain(flags)
        .chain([record.as_str()])
        .collect();
    assert_eq!(hadal(&args).code, 1);
    let replayed = hadal(&["replay", &record]);
    assert_eq!(replayed.code, 0, "{}", replayed.stderr);
}

#[test]
fn completions_and_manual_come_from_the_same_definitions() {
    let completions = hadal(&["completions", "bash"]);
    assert_eq!(completions.code, 0);
    let manual = hadal(&["man", "check"]);
    assert_eq!(manual.code, 0);
    for flag in ["memory", "symmetry", "deadlock", "json", "dialect"] {
        assert!(completions.stdout.contains(&format!("--{flag}")), "{flag}");
        assert!(manual.stdout.contains(flag), "{flag}");
    }
}

#[test]
fn the_time_to_the_first_state_is_reported() {
    let run = hadal(&["check", "models/msi.m", "-v", "--progress", "none"]);
    assert!(
        run.stdout
            .contains("from the start to the first state expanded"),
        "{}",
        run.stdout
    );
    let run = hadal(&["check", "models/msi.m", "--json", "-", "--progress", "none"]);
    let record = run.record();
    let first = record["seconds"]["first_state"].as_f64();
    let load = record["seconds"]["load"].as_f64();
    assert!(first > load && load > Some(0.0), "{}", record["seconds"]);
}

#[test]
fn a_model_is_never_overwritten_by_a_result() {
    let folder = tempfile::tempdir().expect("a folder");
    let model = folder.path().join("lock.m");
    std::fs::write(&model, lock(false)).expect("it is written");
    let path = model.to_str().expect("a name");
    for args in [
        &["check", path, "--json", path][..],
        &["check", "models/msi.m", "--json", path],
        &["lab", "locality", path, "--svg", path],
    ] {
        let run = hadal(args);
        assert_eq!(run.code, 2, "{args:?}: {}", run.stderr);
        assert!(run.stderr.contains("is not overwritten"), "{}", run.stderr);
        let text = std::fs::read_to_string(&model).expect("it is there");
        assert_eq!(text, lock(false), "{args:?}");
    }
    // A record may be replaced by the next one.
    let record = folder.path().join("lock.json");
    for _ in 0..2 {
        let run = hadal(&["check", path, "--json", record.to_str().expect("a name")]);
        assert_eq!(run.code, 0, "{}", run.stderr);
    }
}

#[test]
fn liveness_stores_states_whole_and_says_so() {
    let text = "var x: 0..9; startstate x := 0; end; rule x := (x + 1) % 10; end; \
                liveness \"back\" x = 0;";
    let run = check_text(text, &["--store", "hash40", "--json", "-"]);
    assert_eq!(run.record()["store"], "exact");
    let expected = "warning: states are stored whole, not as hash40: liveness needs them";
    assert!(run.stderr.contains(expected), "{}", run.stderr);
}

#[test]
fn threads_that_do_not_fit_the_budget_are_not_started() {
    let flags = ["--memory", "32M", "--threads", "64", "--json", "-"];
    let run = check_text(lock(false), &flags);
    let threads = run.record()["threads"].as_u64().expect("a number");
    assert!((1..12).contains(&threads), "{threads}");
    let expected = format!("warning: {threads} of 64 threads are used: 64 need ");
    assert!(run.stderr.contains(&expected), "{}", run.stderr);
    let expected = "MiB of memory, and the budget is 32.0 MiB";
    assert!(run.stderr.contains(expected), "{}", run.stderr);
}
