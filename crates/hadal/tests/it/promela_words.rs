//! What a user of SPIN reads: processes with their pids, files and lines, statements.

use expect_test::{Expect, expect};

use crate::common::{Run, check_text};

fn check(text: &str, flags: &[&str]) -> Run {
    let mut all = vec!["--language", "promela"];
    all.extend(flags);
    check_text(text, &all)
}

/// What follows the counts of a run without violations.
#[track_caller]
fn remarks(text: &str, flags: &[&str], code: i32, expected: Expect) {
    let run = check(text, flags);
    assert_eq!(run.code, code, "{}{}", run.stdout, run.stderr);
    let lines = run.stdout.lines();
    let rest = lines.skip_while(|line| !line.starts_with("  memory "));
    // Without the indentation that all of them have.
    let flush = |line: &str| format!("{}\n", line.strip_prefix("  ").unwrap_or(line));
    let rest: Vec<String> = rest.skip(1).map(flush).collect();
    expected.assert_eq(&rest.concat());
}

/// The verdict of a run that ends at a violation, and the step that meets it.
#[track_caller]
fn violated(text: &str, expected: Expect) {
    let run = check(text, &["--threads", "1"]);
    assert_eq!(run.code, 1, "{}{}", run.stdout, run.stderr);
    let lines: Vec<&str> = run.stdout.lines().collect();
    let step = lines
        .iter()
        .position(|line| line.trim_start().starts_with("!  "));
    let step = step.map_or(&[][..], |at| &lines[at..at + 2]);
    let shown = lines[..1].iter().chain(step);
    let shown: Vec<String> = shown.map(|line| format!("{line}\n")).collect();
    expected.assert_eq(&shown.concat());
}

#[test]
fn statements_that_no_run_executes_are_listed() {
    remarks(
        "byte x;
chan q = [1] of { byte };
chan r = [0] of { byte };

proctype Forgotten(byte a) { x = a }

active proctype P()
{
	if
	:: x == 5 -> x = 7
	:: x == 0 -> x = 1
	:: else -> x = 9
	fi;
	atomic { x = 2; x = 3; if :: x == 9 -> x = 4 :: x == 3 -> skip fi; x = 5 };
	d_step { x = 6; x = 7 };
	if
	:: x == 7 -> goto done
	:: x == 8 -> break_out: goto done
	:: goto done
	fi;
	x = 12;
done:	r!1
}

active proctype Q()
{
	byte v;
	r?v;
end:	do
	:: q?v -> d_step { x = 1; v = 2 }
	:: r?v
	od
}
",
        &[],
        0,
        expect![[r#"

              never executed  statements that no run executes:
                Forgotten is never started  <stdin>:5:1
                P line 10: x == 5  <stdin>:10:5
                P line 10: x = 7  <stdin>:10:15
                P line 12: else  <stdin>:12:5
                P line 12: x = 9  <stdin>:12:13
                P line 14: x == 9  <stdin>:14:31
                P line 14: x = 4  <stdin>:14:41
                P line 18: x == 8  <stdin>:18:5
                P line 21: x = 12  <stdin>:21:2
                Q line 30: q?v  <stdin>:30:5
                Q line 30: x = 1  <stdin>:30:21
                Q line 30: v = 2  <stdin>:30:28
                Q line 31: r?v  <stdin>:31:5
                Q line 33: -end-  <stdin>:33:1
        "#]],
    );
}

#[test]
fn nothing_is_listed_where_all_is_executed() {
    let text = "byte x; active [2] proctype P() { atomic { x++; x++; x++ }; assert(x <= 6) }";
    remarks(text, &[], 0, expect![[""]]);
}

#[test]
fn each_statement_that_is_done_with_another_one_counts_for_itself() {
    // The second assignment is done with the first, and reached by a jump too.
    let text = "byte x; active proctype P() {
	if :: x == 1 -> goto inside :: else fi;
	atomic { x = 1; inside: x = 2; x = 3 }
}";
    remarks(
        text,
        &[],
        0,
        expect![[r#"

              never executed  statements that no run executes:
                P line 2: x == 1  <stdin>:2:8
        "#]],
    );
}

#[test]
fn statements_are_listed_where_only_a_claim_is_left_open() {
    let text = "byte x; active proctype P() { do :: x = 1 - x :: x > 1 -> x = 0 od }
ltl p { []<> (x == 1) }";
    remarks(
        text,
        &[],
        3,
        expect![[r#"

              never executed  statements that no run executes:
                P line 1: x > 1  <stdin>:1:50
                P line 1: x = 0  <stdin>:1:59
                P line 1: -end-  <stdin>:1:68
        "#]],
    );
}

#[test]
fn an_assertion_names_its_process() {
    violated(
        "byte x;
proctype P(byte n) { x++; x == 2;
	assert(x != n) }
init { atomic { run P(7); run P(2) } }",
        expect![[r#"
            <stdin>: violated: assertion violated: x != n, in P(2) at <stdin>:3, after 4 steps
              !  P(2) line 3: assert(x != n)
                   assertion violated: x != n
        "#]],
    );
}

#[test]
fn an_index_names_its_process() {
    violated(
        "byte a[3]; active [2] proctype P() { byte i = 1 + 2 * _pid;
	a[i] = 1 }",
        expect![[r#"
            <stdin>: violated: index 3 of `a` is outside 0..2, in P(1) at <stdin>:2, the first step
              !  P(1) line 2: a[i] = 1
                   index 3 of `a` is outside 0..2
        "#]],
    );
}

#[test]
fn an_index_of_an_array_of_channels_is_like_any_other() {
    violated(
        "chan q[2] = [1] of { byte }; active proctype P() { byte i = 2;
	q[i]!i }",
        expect![[r#"
            <stdin>: violated: index 2 of `q` is outside 0..1, in P(0) at <stdin>:2, the first step
              !  P(0) line 2: q[i]!i
                   index 2 of `q` is outside 0..1
        "#]],
    );
    violated(
        "chan q[2] = [0] of { byte }; active proctype P() { byte i = 2, x;
	q[i - 3]?x }",
        expect![[r#"
            <stdin>: violated: index -1 of `q` is outside 0..1, in P(0) at <stdin>:2, the first step
              !  P(0) line 2: q[i - 3]?x
                   index -1 of `q` is outside 0..1
        "#]],
    );
}

#[test]
fn an_index_names_the_array_that_it_is_of() {
    let declared = "typedef T { byte a[2]; chan c[2] = [1] of { byte } } T t[3]; byte i = 3, x;";
    violated(
        &format!("{declared} active proctype P() {{ t[i].a[0] = 1 }}"),
        expect![[r#"
            <stdin>: violated: index 3 of `t` is outside 0..2, in P(0) at <stdin>:1, the first step
              !  P(0) line 1: t[i].a[0] = 1
                   index 3 of `t` is outside 0..2
        "#]],
    );
    violated(
        &format!("{declared} active proctype P() {{ t[1].a[i] = 1 }}"),
        expect![[r#"
            <stdin>: violated: index 3 of `t.a` is outside 0..1, in P(0) at <stdin>:1, the first step
              !  P(0) line 1: t[1].a[i] = 1
                   index 3 of `t.a` is outside 0..1
        "#]],
    );
    violated(
        &format!("{declared} active proctype P() {{ t[2].c[i]?x }}"),
        expect![[r#"
            <stdin>: violated: index 3 of `t.c` is outside 0..1, in P(0) at <stdin>:1, the first step
              !  P(0) line 1: t[2].c[i]?x
                   index 3 of `t.c` is outside 0..1
        "#]],
    );
    violated(
        "active proctype P() { byte a[2], i = 2; a[i] = 1 }",
        expect![[r#"
            <stdin>: violated: index 2 of `a` is outside 0..1, in P(0) at <stdin>:1, the first step
              !  P(0) line 1: a[i] = 1
                   index 2 of `a` is outside 0..1
        "#]],
    );
}

#[test]
fn a_fault_after_a_rendezvous_names_the_receiver() {
    violated(
        "chan c = [0] of { byte };
active proctype S() { c!0 }
active proctype R() { byte v, w;
	atomic { c?v; w = 1 / v } }",
        expect![[r#"
            <stdin>: violated: 1 / 0: division by zero, in R(1) at <stdin>:4, the first step
              !  R(1) line 4: c?v; w = 1 / v
                   1 / 0: division by zero
        "#]],
    );
}

#[test]
fn a_fault_of_a_process_that_the_same_step_creates_names_its_type() {
    violated(
        "chan c = [0] of { byte };
active proctype S() { atomic { run R(); c!0 } }
proctype R() { byte v;
	atomic { c?v; v = 1 / v } }",
        expect![[r#"
            <stdin>: violated: 1 / 0: division by zero, in R at <stdin>:4, the first step
              !  R line 4: c?v; v = 1 / v
                   1 / 0: division by zero
        "#]],
    );
}

#[test]
fn other_errors_name_their_process_too() {
    violated(
        "chan q; active proctype P() { q!1 }",
        expect![[r#"
        <stdin>: violated: there is no such channel: it was never created, or its process is gone, in P(0) at <stdin>:1, the first step
          !  P(0) line 1: q!1
               there is no such channel: it was never created, or its process is gone
    "#]],
    );
    violated(
        "byte x; active proctype P() { d_step { x = 1; x == 2 } }",
        expect![[r#"
            <stdin>: violated: this statement blocks inside the `d_step`, in P(0) at <stdin>:1, the first step
              !  P(0) line 1: d_step
                   this statement blocks inside the `d_step`
        "#]],
    );
    violated(
        "byte x; active proctype P() { atomic { do :: x = 1 - x od } }",
        expect![[r#"
            <stdin>: violated: the step never ends: P line 1: x = 1 - x; x = 1 - x, ..., in P(0) at <stdin>:1, the first step
              !  P(0) line 1: x = 1 - x; x = 1 - x
                   the step never ends: P line 1: x = 1 - x; x = 1 - x, ...
        "#]],
    );
}

#[test]
fn missing_fields_of_a_channel_that_is_known_at_run_time_only_are_reported() {
    // SPIN's verifier reports the send and the receive and goes on, with the same counts.
    let declared = "chan c = [1] of { byte, byte }; chan d; byte x;";
    let run = check(
        &format!("{declared} init {{ d = c; d!1; d?x; assert(x == 1) }}"),
        &["--max-errors", "3", "--json", "-"],
    );
    let record: serde_json::Value = serde_json::from_str(&run.stdout).expect("a record");
    let violations = record["violations"].as_array().expect("an array");
    let messages: Vec<&str> = violations
        .iter()
        .map(|it| it["message"].as_str().expect("text"))
        .collect();
    let expected = "1 argument for a message of 2 fields, in init(0) at <stdin>:1";
    assert_eq!(messages, [expected; 2]);
    assert_eq!(record["states"], 6);
    violated(
        "chan c = [0] of { byte, byte }; chan d;
active proctype P() { d = c; c!1,2 }
active proctype Q() { byte x; d == c; d?x }",
        expect![[r#"
            <stdin>: violated: 1 argument for a message of 2 fields, in Q(1) at <stdin>:3, after 2 steps
              !  Q(1) line 3: d?x
                   1 argument for a message of 2 fields
        "#]],
    );
}

#[test]
fn output_is_printed_as_its_format_asks() {
    let run = check(
        r#"mtype = { red, green }; mtype:fruit = { apple, pear };
mtype x = green; mtype:fruit f = apple; int n = -10; byte b = 65;
active proctype P() {
	printf("%e %e %e %e\n", x, f, red, pear); printm(f);
	printf("%d %u %o %x %c %%\n", n, n, b, n, b); assert(false)
}"#,
        &["--threads", "1"],
    );
    let printed = run.stdout.lines().filter(|line| line.contains("printf: "));
    let printed: Vec<&str> = printed.map(str::trim).collect();
    let expected = [
        "printf: green apple red pear",
        "printf: apple",
        "printf: -10 4294967286 101 fffffff6 A %",
    ];
    assert_eq!(printed, expected, "{}", run.stdout);
}

#[test]
fn a_search_that_goes_on_behind_assertions_is_complete() {
    let text = "byte x; active proctype A() { do :: x++ od }
active proctype M() { assert(x < 200); if :: x == 300 -> x = 7 :: skip fi }";
    let run = check(text, &["--max-errors", "10"]);
    assert_eq!(run.code, 1, "{}", run.stdout);
    assert!(!run.stdout.contains("the search ended"), "{}", run.stdout);
    assert!(run.stdout.contains("M line 2: x = 7"), "{}", run.stdout);
    let text = "byte x; active proctype A() { do :: x++ od }
active proctype M() { assert(x < 200) }";
    let run = check(text, &["--max-errors", "10", "--json", "-"]);
    let record: serde_json::Value = serde_json::from_str(&run.stdout).expect("a record");
    assert_eq!(record["verdict"], "violated");
    assert_eq!(record["complete"], true);
    assert_eq!(record["states"], 768);
    assert_eq!(record["transitions"], 1280);
    let run = check(text, &["--json", "-"]);
    let record: serde_json::Value = serde_json::from_str(&run.stdout).expect("a record");
    assert_eq!(record["complete"], false);
    // Nothing is known about what lies behind a run-time error.
    let text = "byte a[2], i; active proctype P() { do :: i < 3 -> i++ od }
active proctype Q() { a[i] = 1 }";
    let run = check(text, &["--max-errors", "10"]);
    let sentence = "the search came to its end, but what lies behind a run-time error";
    assert!(run.stdout.contains(sentence), "{}", run.stdout);
}

#[test]
fn violations_leave_a_claim_open() {
    let text = "byte x; active proctype P() { assert(x == 1); x = 1; x = 2 }
ltl p { <> (x == 2) }";
    let run = check(text, &["--max-errors", "10"]);
    assert_eq!(run.code, 1, "{}", run.stdout);
    let sentence = "the search came to its end, but not every claim is decided";
    assert!(run.stdout.contains(sentence), "{}", run.stdout);
}

#[test]
fn an_invalid_end_state_names_who_is_blocked() {
    let text = "chan a = [0] of { byte }; byte x;
active proctype P() { skip;
	a!1 }
active proctype Q() { x == 0; end: x == 1 }
active proctype R() { if :: x == 2 :: x == 3 -> skip fi }";
    let run = check(text, &["--trace", "none"]);
    let blocked = run.stdout.lines().filter(|line| line.contains("blocked: "));
    let blocked: Vec<&str> = blocked.map(str::trim).collect();
    let expected = [
        "blocked: P(0) line 3: a!1",
        "blocked: R(2) line 5: x == 2 or x == 3",
    ];
    assert_eq!(blocked, expected, "{}", run.stdout);
    let run = check(text, &["--json", "-"]);
    let record: serde_json::Value = serde_json::from_str(&run.stdout).expect("a record");
    let expected = ["P(0) line 3: a!1", "R(2) line 5: x == 2 or x == 3"];
    assert_eq!(
        record["violations"][0]["blocked"],
        serde_json::json!(expected)
    );
}

#[test]
fn an_assertion_is_shown_as_it_is_written() {
    let run = check(
        "byte x, y; active proctype P() { if :: assert(x + (y) == 1) :: assert(false) fi }",
        &["--max-errors", "2", "--trace", "none"],
    );
    let carets = run.stdout.lines().filter(|line| line.contains('^'));
    let carets: Vec<usize> = carets.map(|line| line.matches('^').count()).collect();
    assert_eq!(
        carets,
        ["assert(x + (y) == 1)".len(), "assert(false)".len()],
        "{}",
        run.stdout
    );
    assert!(
        run.stdout.contains("assertion violated: false, in P(0)"),
        "{}",
        run.stdout
    );
}

#[test]
fn an_invalid_end_state_is_called_so() {
    violated(
        "chan a = [0] of { byte }; active proctype P() { skip; a!1 }",
        expect![[r#"
            <stdin>: violated: invalid end state: nothing can happen any more, after 1 step
        "#]],
    );
    violated(
        "chan a = [0] of { byte }; active proctype P() { a!1 }",
        expect![[r#"
            <stdin>: violated: invalid end state: nothing can happen any more, in the initial state
        "#]],
    );
}

#[test]
fn a_statement_of_an_included_file_is_shown_with_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (main, part) = (path("main.pml"), path("part.pml"));
    let text = "byte x;\nproctype R()\n{\n\tx = 1;\n\tif :: x == 2 -> x = 3 fi\n}\n";
    std::fs::write(&part, text).expect("it can be written");
    let text = "#include \"part.pml\"\ninit { run R();\n x == 1; x == 3 }\n";
    std::fs::write(&main, text).expect("it can be written");
    let run = crate::common::hadal(&["check", &main, "--threads", "1"]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    for line in [
        "1  init(0) line 2: run R()".to_owned(),
        format!("2  R(1) line 4 of {part}: x = 1"),
        format!("R(1): line 4 of {part} → line 5 of {part}"),
        format!("blocked: R(1) line 5 of {part}: x == 2"),
    ] {
        assert!(run.stdout.contains(&line), "{line}\n{}", run.stdout);
    }
    let run = crate::common::hadal(&["check", &main, "--trace", "chart"]);
    let columns = run
        .stdout
        .lines()
        .find(|line| line.trim_start().starts_with("init(0)"));
    let columns = columns.map(|line| line.split_whitespace().collect::<Vec<_>>());
    assert_eq!(columns, Some(vec!["init(0)", "R(1)"]), "{}", run.stdout);
}

/// The steps of the run to the only violation, as `--trace diff` prints them, without what changes.
#[track_caller]
fn steps(text: &str, flags: &[&str], expected: Expect) {
    let mut all = vec!["--threads", "1"];
    all.extend(flags);
    let run = check(text, &all);
    assert_eq!(run.code, 1, "{}{}", run.stdout, run.stderr);
    let is_step = |line: &&str| {
        let line = line.trim_start();
        let is_numbered = line.split_once("  ").is_some_and(|(number, _)| {
            !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        });
        is_numbered || line.starts_with("- ") || line.starts_with("printf: ")
    };
    let lines = run.stdout.lines().filter(is_step).skip(1);
    let flush = |line: &str| format!("{}\n", line.strip_prefix("  ").unwrap_or(line));
    let lines: Vec<String> = lines.map(flush).collect();
    expected.assert_eq(&lines.concat());
}

#[test]
fn a_rendezvous_shows_the_values_of_its_message() {
    let text = "mtype = { req, ack };
chan c = [0] of { mtype, byte, bit, chan };
chan reply = [1] of { byte };
active proctype S() { byte n = 4; c!req,n + 1,3,reply }
active proctype R() { mtype m; byte v; bit b; chan r; c?m,v,b,r; assert(v == 4) }";
    steps(
        text,
        &[],
        expect![[r#"
              1  S(0) line 4: c!req, n + 1, 3, reply
                   - S(0) line 4: c!req, n + 1, 3, reply  message = [req,5,1,reply]
                   - R(1) line 5: c?m, v, b, r
        "#]],
    );
    let run = check(text, &["--trace", "chart"]);
    let arrow = "S(0) line 4";
    assert!(!run.stdout.contains(arrow), "{}", run.stdout);
    let row = run.stdout.lines().find(|line| line.contains("c!req"));
    let row = row.unwrap_or_default().trim();
    let expected = "1  c!req, n + 1, 3, reply [req,5,1,reply] ──> c?m, v, b, r";
    assert_eq!(row, expected, "{}", run.stdout);
    let record = check(text, &["--json", "-"]).record();
    let step = &record["violations"][0]["trace"][1];
    assert_eq!(step["parameters"], serde_json::json!({}));
    let message = &step["steps"][0]["parameters"]["message"];
    assert_eq!(message, "[req,5,1,reply]");
}

#[test]
fn a_process_that_moves_in_the_step_that_creates_it_has_its_pid() {
    steps(
        "chan c = [0] of { byte };
active proctype S() { atomic { run R(); c!7 } }
proctype R() { byte v; atomic { c?v; printf(\"got %d\\n\", v) }; assert(v == 1) }",
        &[],
        expect![[r#"
              1  S(0) line 2: run R()
                   - S(0) line 2: run R()
                   - S(0) line 2: c!7  message = [7]
                   - R(1) line 3: c?v; printf("got %d\n", v)
                     printf: got 7
        "#]],
    );
}

#[test]
fn a_d_step_shows_the_statements_that_it_executes() {
    let text = "byte x; chan c = [0] of { byte };
active proctype P() {
	d_step {
		x = 1;
		do :: x < 3 -> x++; printf(\"x is %d\\n\", x) :: else -> break od;
		if :: x == 9 -> x = 10 :: x == 3 -> x = 2 fi
	}
	atomic { x++; d_step { x++; x++ } c!x };
}
active proctype Q() { byte v; d_step { c?v; v++ }; assert(false) }
";
    steps(
        text,
        &[],
        expect![[r#"
              1  P(0) line 3: d_step
                   - P(0) line 4: x = 1
                   - P(0) line 5: x < 3
                   - P(0) line 5: x++
                   - P(0) line 5: printf("x is %d\n", x)
                     printf: x is 2
                   - P(0) line 5: x < 3
                   - P(0) line 5: x++
                   - P(0) line 5: printf("x is %d\n", x)
                     printf: x is 3
                   - P(0) line 5: else
                   - P(0) line 6: x == 3
                   - P(0) line 6: x = 2
              2  P(0) line 8: x++
                   - P(0) line 8: x++
                   - P(0) line 8: x++
                   - P(0) line 8: x++
                   - P(0) line 8: c!x  message = [5]
                   - Q(1) line 10: c?v
                   - Q(1) line 10: v++
        "#]],
    );
    let long =
        "int i; active proctype P() { d_step { for (i : 1 .. 100) { skip } }; assert(false) }";
    let run = check(long, &["--threads", "1"]);
    let n_shown = run
        .stdout
        .lines()
        .filter(|line| line.trim_start().starts_with("- "));
    assert_eq!(n_shown.count(), 201, "{}", run.stdout);
    assert!(
        run.stdout.contains("d_step, 102 more statements"),
        "{}",
        run.stdout
    );
}

#[test]
fn a_claim_does_not_hide_what_a_step_does() {
    steps(
        "byte x; active proctype P() { d_step { x = 1; x = 2 } }
never { do :: x == 2 -> break :: else od }",
        &[],
        expect![[r#"
              1  P(0) line 1: d_step
                   - P(0) line 1: x = 1
                   - P(0) line 1: x = 2
        "#]],
    );
}
