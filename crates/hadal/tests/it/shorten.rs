//! `hadal replay --shorten`: finds runs as cheap as Dijkstra's algorithm, says what is proved, and
//! refuses what has no run that could be shorter.

use std::time::{Duration, Instant};

use hadal::model::Stop;
use hadal::search::{AStar, BestFirst, Deadlock, Dijkstra, Progress, Weight};
use hadal::{
    Check, Directed, ModelSource, NotShortened, Observer, RecordedRun, RunLength, Shortened,
    Shortening, ShorteningObserver, Strategy, TextLimit,
};
use serde_json::Value;

use crate::common::{Run, hadal, root};

/// A folder with the record of a check, and its path.
struct Recorded {
    _folder: tempfile::TempDir,
    run: String,
    short: String,
}

impl Recorded {
    /// Checks a model with these flags, which finds a violation.
    #[track_caller]
    fn new(model: &str, flags: &[&str]) -> Self {
        Self::in_folder(temporary(), model, flags)
    }

    /// Checks a text of Murphi. Returns the path of its file as well.
    #[track_caller]
    fn of_text(text: &str, flags: &[&str]) -> (Self, String) {
        let folder = temporary();
        let model = folder.path().join("model.m").display().to_string();
        std::fs::write(&model, text).expect("it can be written");
        (Self::in_folder(folder, &model, flags), model)
    }

    #[track_caller]
    fn in_folder(folder: tempfile::TempDir, model: &str, flags: &[&str]) -> Self {
        let path = |name: &str| folder.path().join(name).display().to_string();
        let (run, short) = (path("run.json"), path("short.json"));
        let checked = hadal(&[&["check", model, "--json", &run, "-q"], flags].concat());
        let said = checked.stdout + &checked.stderr;
        assert_eq!(checked.code, 1, "{model}: {said}");
        Recorded {
            _folder: folder,
            run,
            short,
        }
    }

    fn shorten(&self, flags: &[&str]) -> Run {
        let args = ["replay", &self.run, "--shorten", "--json", &self.short];
        hadal(&[&args[..], &["--progress", "none"], flags].concat())
    }

    fn record(&self) -> Value {
        let text = std::fs::read_to_string(&self.short).expect("there is a record");
        serde_json::from_str(&text).expect("it is a record")
    }
}

fn temporary() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder can be made")
}

fn cost(violation: &Value) -> u64 {
    violation["cost"].as_u64().expect("there is a cost")
}

/// Long runs of searches in depth become as cheap as the cheapest, in all languages, of claims and
/// deadlocks, and under symmetry.
#[test]
fn a_shortened_run_costs_as_much_as_dijkstra_finds() {
    let symmetric = "models/msi_stale_writeback.m";
    let cases: [(&str, &[&str]); 9] = [
        ("models/lockfree_stack.m", &[]),
        ("models/hanoi.m", &[]),
        (symmetric, &[]),
        (symmetric, &["--symmetry", "off"]),
        ("models/philosophers_deadlock.m", &["--deadlock", "stuck"]),
        ("models/free_list.m", &[]),
        ("models/packet_router.pml", &[]),
        ("models/bank_transfer.pml", &[]),
        ("models/drink_machine.pml", &[]),
    ];
    let mut n_shorter = 0;
    for (model, flags) in cases {
        let recorded = Recorded::new(model, &[&["--strategy", "dfs-cache"], flags].concat());
        let run = recorded.shorten(&[]);
        assert_eq!(run.code, 0, "{model}: {}", run.stderr);
        let record = recorded.record();
        let shortened = &record["violations"][0];
        assert_eq!(shortened["shortened"]["least"], true, "{model}");
        let before = shortened["shortened"]["from_cost"].as_u64();
        n_shorter += usize::from(before > Some(cost(shortened)));
        let kind = &shortened["kind"];
        let name = &shortened["name"];
        let cheapest = Recorded::new(model, &[&["--strategy", "dijkstra"], flags].concat());
        let text = std::fs::read_to_string(&cheapest.run).expect("there is a record");
        let cheapest: Value = serde_json::from_str(&text).expect("it is a record");
        let mut violations = cheapest["violations"].as_array().into_iter().flatten();
        let same =
            violations.find(|it| &it["kind"] == kind && (kind == "claim" || &it["name"] == name));
        let same = same.unwrap_or_else(|| panic!("{model}: no violation of {name}"));
        assert_eq!(cost(same), cost(shortened), "{model}");
        let again = hadal(&["replay", &recorded.short]);
        assert_eq!(again.code, 0, "{model}: {}", again.stderr);
        // What was shortened once is least.
        let text = std::fs::read(&recorded.short).expect("there is a record");
        std::fs::write(&recorded.run, text).expect("it can be written");
        let twice = recorded.shorten(&[]);
        let proved = "no run to this violation ";
        assert!(twice.stdout.contains(proved), "{model}: {}", twice.stdout);
    }
    assert!(n_shorter >= 4, "only {n_shorter}");
}

#[test]
fn a_run_that_is_shortest_is_reported_as_such() {
    let recorded = Recorded::new("models/lost_update.m", &[]);
    let run = recorded.shorten(&["--trace", "none"]);
    let said = "The run of 12 steps is a shortest one: no run to this violation is shorter.";
    assert!(run.stdout.contains(said), "{}", run.stdout);
    let (recorded, _) =
        Recorded::of_text("var n: 0..1; startstate n := 0; end; invariant n > 0;", &[]);
    let run = recorded.shorten(&[]);
    assert!(
        run.stdout.contains("The run of 0 steps is a shortest one"),
        "{}",
        run.stdout
    );
}

#[test]
fn the_time_limit_is_kept() {
    let flags = ["--const", "N=20", "--strategy", "dfs-cache"];
    let recorded = Recorded::new("models/philosophers_deadlock.m", &flags);
    let started = Instant::now();
    let run = recorded.shorten(&["--time-limit", "1s", "--trace", "none", "--memory", "300M"]);
    // Other tests run at the same time.
    assert!(started.elapsed() < Duration::from_secs(30));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let said = "No run that is shorter than 40 steps was found within 1.0";
    let said_early = "No run that is shorter than 40 steps was found within 0.9";
    assert!(
        run.stdout.contains(said) || run.stdout.contains(said_early),
        "{}",
        run.stdout
    );
    assert_eq!(
        recorded.record()["violations"][0]["shortened"]["least"],
        false
    );
}

#[test]
fn each_violation_of_a_record_is_shortened() {
    let text = "var x, y: 0..30;
startstate x := 0; y := 0; end;
rule \"x\" x < 30 ==> x := x + 1; end;
rule \"both\" x < 29 & y < 30 ==> x := x + 2; y := y + 1; end;
rule \"down\" x > 0 ==> x := x - 1; end;
invariant \"small\" x < 20;
invariant \"low\" y < 5;";
    let flags = ["--strategy", "dfs-cache", "--max-errors", "2"];
    let (recorded, _) = Recorded::of_text(text, &flags);
    let run = recorded.shorten(&[]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let record = recorded.record();
    let depth = |name: &str| {
        let mut violations = record["violations"].as_array().into_iter().flatten();
        let found = violations.find(|it| it["name"] == name);
        found.and_then(|it| it["depth"].as_u64())
    };
    assert_eq!((depth("small"), depth("low")), (Some(10), Some(5)));
}

#[test]
fn what_has_no_shorter_run_is_refused() {
    let refused = |text: &str, flags: &[&str], message: &str| {
        let (recorded, _) = Recorded::of_text(text, flags);
        let run = recorded.shorten(&[]);
        assert_eq!(run.code, 2, "{}{}", run.stdout, run.stderr);
        assert!(run.stderr.contains(message), "{}", run.stderr);
        assert!(!std::path::Path::new(&recorded.short).exists());
    };
    let start = "var n: 0..3; startstate n := 0; end; rule n < 3 ==> n := n + 1; end;";
    refused(
        &format!("{start} liveness \"back\" n = 0;"),
        &["--deadlock", "off"],
        "a run that shows that something cannot happen any more cannot be shortened",
    );
    refused(
        &format!("{start} cover \"never\" n > 5;"),
        &["--deadlock", "off"],
        "the record holds no counterexample, so there is nothing to shorten",
    );
    refused(
        "var n: 0..3; startstate \"bad\" n := 0; assert n > 0; end;",
        &[],
        "fails in a startstate, so there is no step to save",
    );
}

#[test]
fn records_that_do_not_fit_are_refused() {
    let text = "var n: 0..3; startstate n := 0; end; rule n < 3 ==> n := n + 1; end;
invariant \"low\" n < 2;";
    let (recorded, model) = Recorded::of_text(text, &[]);
    let record = std::fs::read_to_string(&recorded.run).expect("there is a record");
    let refused = |model_text: &str, record: &str, message: &str| {
        std::fs::write(&model, model_text).expect("it can be written");
        std::fs::write(&recorded.run, record).expect("it can be written");
        let run = recorded.shorten(&[]);
        assert_eq!(run.code, 2, "{}{}", run.stdout, run.stderr);
        assert!(run.stderr.contains(message), "{}", run.stderr);
    };
    let not_shown = "the last state of the record does not show `low`";
    refused(&text.replace("n < 2", "n < 4"), &record, not_shown);
    let cannot = "step 1 (rule 1) of the record cannot be taken";
    refused(&text.replace("n + 1", "n + 2"), &record, cannot);
    let (half, _) = record.split_at(record.len() / 2);
    refused(text, half, "is not a run record of hadal");
    refused(
        text,
        "{\"hadal\": \"0.1.0\"}",
        "is not a run record of hadal",
    );
    refused(
        text,
        &record.replace("\"n\": \"1\"", "\"n\": 7"),
        "cannot be taken",
    );
    let not_for_replay = hadal(&["replay", &recorded.run, "--time-limit", "1s"]);
    assert_eq!(not_for_replay.code, 2);
}

/// An observer that counts what it is told.
#[derive(Default)]
struct Counted {
    improved: Vec<RunLength>,
}

impl Observer for Counted {
    fn progress(&mut self, _: &Progress) {}
}

impl ShorteningObserver for Counted {
    fn improved(&mut self, length: RunLength) {
        self.improved.push(length);
    }
}

/// Checks a model by `strategy` and shortens what that finds.
fn shortened(model: &str, source: ModelSource, strategy: &dyn Strategy) -> (Shortened, Counted) {
    let loaded = source.load().expect("it is a model");
    let checked = Check::new(&loaded).strategy(strategy).run();
    let checked = checked.expect("it can be searched");
    let text = serde_json::to_vec(&checked.record()).expect("it can be written");
    let record = RecordedRun::parse(&text).expect("it is a record");
    let again = record.source(&root().join(model), TextLimit::default());
    let again = again.expect("the model is there");
    let (stop, mut observer) = (Stop::new(), Counted::default());
    let shortening = Shortening::new(again, &record.violations()[0], &stop, &mut observer);
    let shortened = shortening.run().expect("it can be shortened");
    (shortened, observer)
}

/// Costs of the user count, and what directed searches find is shortened as well.
#[test]
fn runs_of_directed_searches_are_shortened_by_their_costs() {
    let model = "models/hanoi.m";
    let read = || ModelSource::file(root().join(model)).expect("it can be read");
    let directed = |source: ModelSource| {
        source.directed_by(
            Directed::new("sum(formula)", Deadlock::default()).expect("it is a heuristic"),
        )
    };
    let weighted = AStar::weighted(Weight::parse("5").expect("it is a weight"));
    let strategies: [&dyn Strategy; 2] = [&BestFirst, &weighted];
    let expressions = [None, Some("1"), Some("3")];
    for (strategy, expression) in strategies
        .iter()
        .flat_map(|it| expressions.map(|e| (*it, e)))
    {
        let source = || match expression {
            Some(expression) => read().cost(expression),
            None => read(),
        };
        let (shortened, observer) = shortened(model, directed(source()), strategy);
        let loaded = source().load().expect("it is a model");
        let cheapest = Check::new(&loaded).strategy(&Dijkstra).run();
        let cheapest = cheapest.expect("it can be searched");
        let least = cheapest.outcome.violations[0].cost;
        assert!(shortened.is_least);
        assert_eq!(Some(shortened.best().cost), least, "{expression:?}");
        let last = observer.improved.last().copied();
        assert_eq!(last.unwrap_or(shortened.known), shortened.best());
    }
}

#[test]
fn a_stopped_search_keeps_what_it_has() {
    let source = ModelSource::file(root().join("models/hanoi.m")).expect("it can be read");
    let loaded = source.load().expect("it is a model");
    let checked = Check::new(&loaded).run().expect("it can be searched");
    let text = serde_json::to_vec(&checked.record()).expect("it can be written");
    let record = RecordedRun::parse(&text).expect("it is a record");
    let (stop, mut observer) = (Stop::new(), Counted::default());
    stop.raise();
    let shortening = Shortening::new(source, &record.violations()[0], &stop, &mut observer);
    match shortening.run() {
        Ok(shortened) => assert!(shortened.shorter.is_none() && !shortened.is_least),
        Err(NotShortened::Failed(error)) => assert!(error.to_string().contains("stop"), "{error}"),
        Err(error) => panic!("{error}"),
    }
}
