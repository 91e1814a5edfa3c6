//! `hadal replay`: a counterexample is shown again only if the model still has it.

use crate::common::hadal;

const MODEL: &str = "var n: 0..3; startstate n := 0; end;
rule n < 3 ==> n := n + 1; end;
rule \"bad\" n = 3 ==> assert n < 3; end;
invariant \"low\" n < 2;";

/// Checks MODEL with these flags, replaces its text, and replays the record.
fn replay(flags: &[&str], text: &str) -> crate::common::Run {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (model, record) = (path("model.m"), path("run.json"));
    std::fs::write(&model, MODEL).expect("it can be written");
    let args = [&["check", &model, "--json", &record, "-q"], flags].concat();
    assert_eq!(hadal(&args).code, 1);
    std::fs::write(&model, text).expect("it can be written");
    hadal(&["replay", &record])
}

#[test]
fn the_violation_is_evaluated_again_at_the_last_state() {
    let run = replay(&["--max-errors", "2"], MODEL);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let again = "run again on the model, and the violation was found again at its end";
    assert_eq!(run.stdout.matches(again).count(), 2, "{}", run.stdout);
}

#[test]
fn the_step_that_failed_is_shown_again() {
    let run = replay(&["--max-errors", "2"], MODEL);
    let shown = "  !  rule \"bad\"\n       assertion";
    assert!(run.stdout.contains(shown), "{}", run.stdout);
}

#[test]
fn a_violation_that_the_model_no_longer_has_is_refused() {
    for (flags, from, to, name) in [
        (&[][..], "n < 2;", "n < 4;", "low"),
        (
            &["--max-errors", "2"],
            "assert n < 3",
            "assert n < 4",
            "bad",
        ),
    ] {
        let run = replay(flags, &MODEL.replace(from, to));
        assert_eq!(run.code, 2, "{}", run.stdout);
        let message = format!("the last state of the record does not show `{name}`");
        assert!(run.stderr.contains(&message), "{}", run.stderr);
    }
}

/// What the command line defined is part of the model.
#[test]
fn a_model_with_definitions_is_replayed_with_them() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (model, record) = (path("model.pml"), path("run.json"));
    let text =
        "byte n; active proctype P() { do :: n < N -> n++ :: else -> break od; assert(n < LIMIT) }";
    std::fs::write(&model, text).expect("it can be written");
    let flags = ["-D", "N=3", "-D", "LIMIT=2", "--json", &record, "-q"];
    let checked = hadal(&[&["check", &model][..], &flags].concat());
    assert_eq!(checked.code, 1, "{}", checked.stderr);
    let run = hadal(&["replay", &record]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(
        run.stdout.contains("assertion violated: n < 2, in P(0)"),
        "{}",
        run.stdout
    );
    assert!(
        run.stdout.contains("  !  P(0) line 1: assert(n < 2)"),
        "{}",
        run.stdout
    );
}
