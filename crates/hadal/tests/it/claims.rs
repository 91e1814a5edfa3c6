//! Never claims and formulas of Promela models, from the command line: verdicts, exit codes, what
//! is said about claims that are not decided, replays, folders.

use hadal::model::Stop;
use hadal::search::{Progress, Reason};
use hadal::{Check, ModelSource, Observer, SavedRun, Verdict};
use serde_json::Value;

use crate::common::{Run, check_text, hadal, root};

const COUNTER: &str = "byte x; active proctype P() { do :: x = (x + 1) % 4 od }\n";

fn check(text: &str, flags: &[&str]) -> Run {
    let mut all = vec!["--language", "promela"];
    all.extend(flags);
    check_text(text, &all)
}

/// Exit code, verdict, reason, and whether each claim holds.
fn verdict(text: &str, flags: &[&str]) -> (i32, String, Value, Vec<Value>) {
    let mut all = vec!["--json", "-"];
    all.extend(flags);
    let run = check(text, &all);
    let record = run.record();
    let properties = record["properties"].as_array().expect("properties");
    let claims = properties.iter().filter(|it| it["kind"] == "claim");
    (
        run.code,
        record["verdict"].as_str().unwrap_or_default().to_owned(),
        record["reason"].clone(),
        claims.map(|it| it["holds"].clone()).collect(),
    )
}

fn of(
    code: i32,
    verdict: &str,
    reason: Value,
    holds: &[Value],
) -> (i32, String, Value, Vec<Value>) {
    (code, verdict.to_owned(), reason, holds.to_vec())
}

#[test]
fn a_claim_that_reaches_its_end_is_violated() {
    let violated = of(1, "violated", Value::Null, &[false.into()]);
    let verified = of(0, "verified", Value::Null, &[true.into()]);
    let open = of(3, "incomplete", "unchecked".into(), &[Value::Null]);
    let rows = [
        ("never { do :: true :: x == 3 -> break od }", &violated),
        ("never { do :: true :: x == 4 -> break od }", &verified),
        (
            "never { do :: true :: x == 3 -> goto end1 od; end1: false }",
            &violated,
        ),
        (
            "never { T0: do :: x > 3 -> goto accept_all :: true od; accept_all: skip }",
            &verified,
        ),
        ("never { accept: do :: x < 3 od }", &open),
        (
            "never { accept: do :: true :: x == 3 -> break od }",
            &violated,
        ),
        ("never { do :: timeout -> break :: else od }", &open),
        ("ltl { [] (x < 4) }", &verified),
        ("ltl { [] (x < 3) }", &violated),
        ("ltl { [] (x == 0 -> X (x == 1)) }", &verified),
        ("ltl { [] <> (x == 3) }", &open),
    ];
    for (claim, expected) in rows {
        for engine in ["native", "interpreter"] {
            let text = format!("{COUNTER}{claim}");
            assert_eq!(&verdict(&text, &["--engine", engine]), expected, "{claim}");
        }
    }
}

#[test]
fn the_first_claim_is_checked_unless_another_is_named() {
    let text =
        format!("{COUNTER} never n {{ x == 9 }} ltl good {{ [] (x < 4) }} ltl {{ [] (x < 3) }}");
    let verified = of(0, "verified", Value::Null, &[true.into()]);
    assert_eq!(verdict(&text, &[]), verified);
    assert_eq!(verdict(&text, &["--claim", "good"]), verified);
    let violated = of(1, "violated", Value::Null, &[false.into()]);
    assert_eq!(verdict(&text, &["--claim", "ltl_0"]), violated);
    let nothing = of(0, "verified", Value::Null, &[]);
    assert_eq!(verdict(&text, &["--claim", "none"]), nothing);
    let run = check(&text, &[]);
    let note = "--claim NAME chooses among others: formula `good`, formula `ltl_0`";
    assert!(run.stdout.contains(note), "{}", run.stdout);
    let run = check(&text, &["--claim", "worse"]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("there is no claim or formula `worse`"),
        "{}",
        run.stderr
    );
}

#[test]
fn the_model_is_judged_without_the_claim() {
    // The claim ends every run at once, and so hides the assertion and the end from its product.
    let text = "byte x; active proctype P() { x = 1; assert(x == 0); x == 5 } never { x == 7 }";
    let run = check(text, &["--json", "-", "--max-errors", "9"]);
    let record = run.record();
    let violations = record["violations"].as_array().expect("violations");
    let kinds: Vec<&str> = violations
        .iter()
        .filter_map(|it| it["kind"].as_str())
        .collect();
    assert_eq!(kinds, ["assertion", "deadlock"]);
    assert_eq!(
        (record["states"].as_u64(), record["transitions"].as_u64()),
        (Some(3), Some(2))
    );
    assert_eq!(record["products"][0]["states"], 1);
    let properties = record["properties"].as_array().expect("properties");
    assert_eq!(properties.last().expect("a claim")["holds"], true);
    // Both are violated: the first violation ends the check, unless more are asked for.
    let text = text.replace("x == 7", "do :: true :: x == 1 -> break od");
    let kinds = |flags: &[&str]| {
        let record = check(&text, flags).record();
        let violations = record["violations"].as_array().expect("violations").clone();
        let kinds = violations
            .iter()
            .map(|it| it["kind"].as_str().unwrap_or_default().to_owned());
        kinds.collect::<Vec<String>>()
    };
    assert_eq!(kinds(&["--json", "-"]), ["assertion"]);
    assert_eq!(
        kinds(&["--json", "-", "--max-errors", "9"]),
        ["assertion", "deadlock", "claim"]
    );
    assert_eq!(
        kinds(&["--json", "-", "--max-errors", "2"]),
        ["assertion", "deadlock"]
    );
}

#[test]
fn a_run_that_violates_a_claim_is_shown_and_replayed() {
    let folder = tempfile::tempdir().expect("a folder");
    let model = folder.path().join("m.pml");
    let text = format!("{COUNTER} ltl ok {{ true }} ltl low {{ [] (x < 2) }}");
    std::fs::write(&model, text).expect("a model");
    let record = folder.path().join("run.json");
    let (model, record) = (model.display().to_string(), record.display().to_string());
    let run = hadal(&["check", &model, "--claim", "low", "--json", &record]);
    assert_eq!(run.code, 1);
    let headline = "violated: formula `low` is violated, after 2 steps";
    assert!(run.stdout.contains(headline), "{}", run.stdout);
    assert!(
        run.stdout.contains("  2  P(0) line 1: x = (x + 1) % 4\n"),
        "{}",
        run.stdout
    );
    let run = hadal(&["replay", &record]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let found = "and the violation was found again at its end";
    assert!(run.stdout.contains(found), "{}", run.stdout);
}

#[test]
fn limits_hold_for_products_too() {
    let bounded = of(3, "incomplete", "bound".into(), &[Value::Null]);
    let text = format!("{COUNTER} ltl {{ [] (x < 3) }}");
    assert_eq!(verdict(&text, &["--bound", "2"]), bounded);
    let text = format!("{COUNTER} ltl {{ [] (x < 2) }}");
    let violated = verdict(&text, &["--bound", "3"]);
    assert_eq!((violated.0, violated.1.as_str()), (1, "violated"));
}

/// Stops a check as soon as its second search starts.
struct StopAtProduct<'a> {
    stop: &'a Stop,
    layer: u32,
}

impl Observer for StopAtProduct<'_> {
    fn progress(&mut self, progress: &Progress) {
        if progress.layer < self.layer {
            self.stop.raise();
        }
        self.layer = progress.layer;
    }
}

#[test]
fn a_check_that_is_stopped_in_a_product_is_resumed() {
    let folder = tempfile::tempdir_in(root().join("target")).expect("a folder");
    let path = folder.path().join("run");
    // Deep enough to be observed on the way.
    let text = "int x; active proctype P() { do :: x = (x + 1) % 50000 od }
        ltl { [] (x < 50000) }";
    let source = ModelSource::text("m.pml", text, "promela").expect("a source");
    let model = source.load().expect("a model");
    let stop = Stop::new();
    let mut observer = StopAtProduct {
        stop: &stop,
        layer: 0,
    };
    let check = Check::new(&model).disk(&path).stop(&stop);
    let checked = check.observer(&mut observer).run().expect("a result");
    assert_eq!(checked.outcome.reason, Some(Reason::Interrupted));
    assert_eq!(checked.outcome.verdict, Verdict::Incomplete);
    assert_eq!(checked.outcome.states, 50_000);
    // It is not finished, so this deletes nothing.
    checked.finish().expect("a folder");
    drop(checked);

    let run = SavedRun::open(&path).expect("a run");
    let model = run.source().expect("a source").load().expect("a model");
    let check = Check::new(&model).resume(run).expect("the same question");
    let checked = check.run().expect("a result");
    assert_eq!(checked.outcome.verdict, Verdict::Verified);
    assert_eq!(checked.outcome.holds.last(), Some(&Some(true)));
    assert_eq!(
        (checked.outcome.states, checked.products[0].states),
        (50_000, 50_000)
    );
}

#[test]
fn a_folder_is_that_of_the_model() {
    let folder = tempfile::tempdir_in(root().join("target")).expect("a folder");
    let run = folder.path().join("run");
    let run = run.display().to_string();
    let text = format!("{COUNTER} ltl {{ [] (x < 3) }}");
    let flags = ["--disk", &run, "--data-memory", "128K"];
    assert_eq!(verdict(&text, &flags).0, 1);
    assert_eq!(hadal(&["resume", &run]).code, 2);
}

/// Kinds and places of what is found.
fn findings(text: &str, flags: &[&str]) -> Vec<(String, String)> {
    let mut all = vec!["--json", "-", "--max-errors", "5"];
    all.extend(flags);
    let record = check(text, &all).record();
    let violations = record["violations"].as_array().expect("violations");
    let text_of = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let violations = violations.iter();
    let violations = violations.map(|it| (text_of(&it["kind"]), text_of(&it["at"])));
    violations.collect()
}

#[test]
fn a_formula_is_violated_once() {
    let text = "byte x; active proctype A() { do :: x<5 -> x++ :: x>0 -> x-- od }
        ltl q { [] !x || [] (x==0) }";
    assert_eq!(findings(text, &["--claim", "q"]).len(), 1);
}

#[test]
fn assertions_at_different_places_are_different_findings() {
    for block in ["atomic", "d_step"] {
        let text = format!(
            "byte x; active proctype A() {{ {block} {{ assert(x == 1); assert(x == 2) }} }}"
        );
        let found = findings(&text, &[]);
        assert_eq!(found.len(), 2, "{block}: {found:?}");
        assert_ne!(found[0], found[1]);
    }
}

#[test]
fn a_guard_that_faults_in_several_rules_is_one_error() {
    // The index is evaluated for its own option and for `else`.
    let text = "byte x, a[2]; active proctype P() { do :: x < 5 -> x++ :: else -> break od }
never { do
	:: a[x] == 1 -> break
	:: 1 / (4 - x) == 7 -> break
	:: x < 9
	:: else -> break
	od }";
    for (max_errors, expected) in [("1", 1), ("2", 2), ("3", 2), ("9", 2)] {
        let record = check(text, &["--json", "-", "--max-errors", max_errors]).record();
        let violations = record["violations"].as_array().expect("an array");
        let kinds: Vec<&Value> = violations.iter().map(|it| &it["kind"]).collect();
        assert_eq!(kinds, ["index", "division"][..expected], "{max_errors}");
    }
}
