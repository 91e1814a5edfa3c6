//! `--strategy a-star` and `best-first`: everything is visited as ever, estimates lead to what is
//! looked for, and what is said of a run's cost is true.

use std::path::{Path, PathBuf};

use hadal_testkit::corpus::{Directives, Verdict, directives, model_files};
use serde_json::Value;

use crate::common::{RESULTS, Run, check_text, hadal, root};

/// Models with more states take too long for every test run.
const MOST_STATES: u64 = 3_000;

fn check(path: &Path, flags: &[&str]) -> Value {
    let path = path.display().to_string();
    let run = hadal(
        &[
            &["check", "--json", "-", "--progress", "none", &path],
            flags,
        ]
        .concat(),
    );
    assert!(
        run.stdout.starts_with('{'),
        "{path} {flags:?}: {}",
        run.stderr
    );
    run.record()
}

/// Our models that are small enough, with what is said of them and their flags.
fn models() -> Vec<(PathBuf, Directives)> {
    let paths = model_files(&root().join("models")).expect("there are models");
    let with_directives = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).expect("a model can be read");
        let directives = directives(&text).unwrap_or_else(|error| panic!("{error}"));
        (path, directives)
    };
    let is_small =
        |directives: &Directives| directives.states.is_none_or(|states| states <= MOST_STATES);
    let models = paths.into_iter().map(with_directives);
    models.filter(|(_, it)| is_small(it)).collect()
}

/// With any heuristic, in memory and on disk, a search visits what `auto` visits and comes to the same
/// verdict; where it says that its run costs least, `dijkstra` finds none that costs less.
#[test]
fn every_model_is_searched_in_the_order_of_estimates() {
    let ways: [&[&str]; 4] = [
        &["--strategy", "a-star", "--memory", "1G"],
        &["--strategy", "a-star", "--data-memory", "400K"],
        &["--strategy", "best-first", "--data-memory", "300K"],
        &[
            "--strategy",
            "a-star",
            "--weight",
            "2.5",
            "--engine",
            "interpreter",
        ],
    ];
    let (mut n_violated, mut n_least) = (0, 0);
    for (path, expected) in models() {
        let name = path.display();
        let own: Vec<&str> = expected.flags.iter().map(String::as_str).collect();
        let auto = check(&path, &own);
        for way in ways {
            let found = check(&path, &[&own[..], way, &["--threads", "2"]].concat());
            assert_eq!(found["verdict"], auto["verdict"], "{name} {way:?}");
            if expected.expect != Verdict::Violated {
                assert_eq!(found["states"], auto["states"], "{name} {way:?}");
                // Firings from a state that is opened again count again.
                if found["search"]["reopened"] == 0 {
                    assert_eq!(found["transitions"], auto["transitions"], "{name} {way:?}");
                }
                continue;
            }
            n_violated += 1;
            if found["search"]["optimal"] == true {
                n_least += 1;
                let dijkstra = check(&path, &[&own[..], &["--strategy", "dijkstra"]].concat());
                let cost = &found["search"]["cost"];
                // Another kind of violation may cost less; an invariant does not.
                let is_same = dijkstra["violations"][0]["kind"] == found["violations"][0]["kind"];
                assert!(
                    !is_same || *cost == dijkstra["search"]["cost"],
                    "{name} {way:?}"
                );
            }
        }
    }
    assert!(n_violated > 50 && n_least == 0, "{n_violated} {n_least}");
}

/// `formula` is admissible, so A* with it finds a run of least cost, and `sum(formula)` a run.
#[test]
fn an_admissible_heuristic_finds_a_run_of_least_cost() {
    let mut n_least = 0;
    for (path, expected) in models() {
        let name = path.display();
        let own: Vec<&str> = expected.flags.iter().map(String::as_str).collect();
        if expected.expect != Verdict::Violated {
            continue;
        }
        let with = |more: &[&str]| check(&path, &[&own[..], more].concat());
        let dijkstra = with(&["--strategy", "dijkstra"]);
        let is_invariant = dijkstra["violations"][0]["kind"] == "invariant";
        if !is_invariant {
            continue;
        }
        for heuristic in ["formula", "control", "formula,control"] {
            let found = with(&["--strategy", "a-star", "--heuristic", heuristic]);
            let search = &found["search"];
            assert_eq!(search["heuristic"], heuristic, "{name}");
            if search["optimal"] == true {
                n_least += 1;
                assert_eq!(
                    search["cost"], dijkstra["search"]["cost"],
                    "{name} {heuristic}"
                );
            }
            let weighted = with(&[
                "--strategy",
                "a-star",
                "--heuristic",
                heuristic,
                "--weight",
                "3",
            ]);
            assert_eq!(weighted["search"]["optimal"], false, "{name}");
            assert_eq!(weighted["verdict"], "violated", "{name}");
        }
    }
    assert!(n_least > 8, "{n_least}");
}

/// The dining philosophers of the literature, for whom everything is known exactly.
#[test]
fn philosophers_are_led_into_their_deadlock() {
    for n in [4u64, 7, 12, 20] {
        for more in [&["--threads", "1"][..], &["--data-memory", "200K"]] {
            let philosophers = format!("N={n}");
            let flags = [
                "--const",
                &philosophers,
                "--strategy",
                "a-star",
                "--heuristic",
                "active",
                "--cost",
                "laid() ? 3 * N + 2 : 1",
            ];
            let path = root().join("models/philosophers_laid.m");
            let found = check(&path, &[&flags[..], more].concat());
            let search = &found["search"];
            assert_eq!(search["cost"], 4 * n + 2, "{n}");
            assert_eq!(search["expanded"], 2 * n * n - 3 * n + 2, "{n}");
            assert_eq!(search["generated"], n * n * n - n + 1, "{n}");
            assert_eq!(search["inconsistent"], n, "{n}");
            assert_eq!(search["reopened"], 0, "{n}");
            assert_eq!(search["optimal"], false, "{n}");
        }
    }
}

/// A counter that goes up and down, with a heuristic that misleads: states are opened again.
const COUNTER: &str = "
const N: 40;
var x: 0..N; y: 0..N;
startstate x := 0; y := 0; end;
rule \"up\" x < N ==> x := x + 1; end;
rule \"far\" x + 3 <= N ==> x := x + 3; end;
rule \"right\" y < N ==> y := y + 1; end;
rule \"mend\" x > 1 & y < N ==> x := x - 2; y := y + 1; end;
invariant \"not both\" !(x = N & y = N);
";

const MISLEADING: [&str; 6] = [
    "--strategy",
    "a-star",
    "--heuristic",
    "expr:(x * 7 + y * 13) % 11 * 3",
    "--cost",
    "x > 20 ? 5 : 1",
];

#[test]
fn a_directed_search_is_the_same_whatever_the_means() {
    let first = check_text(COUNTER, &[&MISLEADING[..], &["--json", "-"]].concat()).record();
    assert_eq!(first["verdict"], "violated");
    assert!(
        first["search"]["reopened"].as_u64() > Some(20),
        "{}",
        first["search"]
    );
    assert!(first["search"]["inconsistent"].as_u64() > Some(100));
    for more in [
        &["--threads", "1"][..],
        &["--threads", "4", "--data-memory", "100K"],
        &[
            "--threads",
            "3",
            "--data-memory",
            "20K",
            "--engine",
            "interpreter",
        ],
    ] {
        let other = check_text(COUNTER, &[&MISLEADING[..], &["--json", "-"], more].concat());
        let other = other.record();
        assert_eq!(other["search"], first["search"], "{more:?}");
        for name in RESULTS {
            assert_eq!(other[name], first[name], "{more:?}: {name}");
        }
    }
}

/// Stopped after a while, again and again, and resumed with other threads and memory.
#[test]
fn an_interrupted_directed_search_comes_to_the_same_run() {
    let model = [
        "models/sliding_puzzle.m",
        "--strategy",
        "a-star",
        "--heuristic",
        "sum(formula)",
        "--max-errors",
        "1",
    ];
    let whole = hadal(&[&["check"], &model[..], &["--json", "-"]].concat()).record();
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let disk = folder.path().join("run").display().to_string();
    let json = folder.path().join("record.json").display().to_string();
    let common = ["--progress", "none", "--json", &json];
    let begin = [
        "--disk",
        &disk,
        "--data-memory",
        "60K",
        "--time-limit",
        "5ms",
    ];
    let mut run = hadal(&[&["check"], &model[..], &begin, &common[..]].concat());
    let mut n_stops = 0;
    while run.code == 3 {
        n_stops += 1;
        assert!(n_stops < 500, "it does not end");
        let threads = (1 + n_stops % 3).to_string();
        let memory = ["600K", "900K", "2M"][n_stops % 3];
        // Each time a little longer, whatever the machine is doing.
        let limit = format!("{}ms", 40 + 20 * n_stops * n_stops);
        let more = [
            "--threads",
            &threads,
            "--data-memory",
            memory,
            "--time-limit",
            &limit,
        ];
        run = hadal(&[&["resume", &disk], &more[..], &common[..]].concat());
    }
    assert_eq!(run.code, 1, "{}", run.stderr);
    let text = std::fs::read_to_string(&json).expect("a record was written");
    let record: Value = serde_json::from_str(&text).expect("it is a record");
    assert_eq!(record["violations"], whole["violations"]);
    let figures = ["expanded", "reopened", "inconsistent", "cost", "optimal"];
    for name in figures {
        assert_eq!(record["search"][name], whole["search"][name], "{name}");
    }
    assert!(n_stops > 0, "it was never stopped: {}", run.stdout);
}

#[track_caller]
fn assert_refused(run: &Run, because: &str) {
    assert_eq!(run.code, 2, "{}{}", run.stdout, run.stderr);
    assert!(run.stderr.contains(because), "{}", run.stderr);
}

#[test]
fn what_cannot_direct_a_search_is_refused() {
    let no_property = "var x: 0..3; startstate x := 0; end; rule x < 3 ==> x := x + 1; end;";
    let with_property = format!("{no_property} invariant \"small\" x < 9;");
    let refuse = |text: &str, flags: &[&str], because: &str| {
        assert_refused(&check_text(text, flags), because);
    };
    let star = |more: &[&'static str]| [&["--strategy", "a-star", "--heuristic"], more].concat();
    for (heuristic, because) in [
        ("formula", "needs an invariant, an assertion or a goal"),
        ("control", "needs an invariant, an assertion or a goal"),
        (
            "hamming",
            "needs a state to aim at: give it with --target FILE",
        ),
        ("activ", "there is no heuristic `activ`"),
        ("active,", "a heuristic is missing"),
        ("sum(active", "parentheses"),
        ("auto,active", "stands alone"),
        ("expr:y", "y"),
        ("expr:x <", "-->"),
        ("expr:x = 2", "boolean"),
    ] {
        refuse(no_property, &star(&[heuristic]), because);
    }
    refuse(
        no_property,
        &star(&["active", "--deadlock", "off"]),
        "leads to deadlocks",
    );
    refuse(&with_property, &star(&["formula:large"]), "`small`");
    refuse(
        &with_property,
        &star(&["formula", "--target", "models/README.md"]),
        "--target",
    );
    refuse(
        &with_property,
        &star(&["hamming", "--target", "/nowhere"]),
        "/nowhere",
    );
    refuse(
        &with_property,
        &["--heuristic", "active"],
        "--strategy a-star or best-first",
    );
    refuse(
        &with_property,
        &["--weight", "2"],
        "--weight is for --strategy a-star",
    );
    for weight in ["0.5", "-1", "1001", "fast", "1.2345"] {
        let flag = format!("--weight={weight}");
        let run = check_text(&with_property, &["--strategy", "a-star", &flag]);
        assert_refused(&run, "is no weight");
    }
}

/// Expressions that have no value somewhere end the search there, with an error and no verdict.
#[test]
fn a_state_without_an_estimate_is_an_error() {
    let text = "var x: 0..3; u: 0..9;\n\
                startstate x := 0; undefine u; end;\n\
                rule x < 3 ==> x := x + 1; end;\n\
                invariant \"small\" x < 9;";
    for (expression, because) in [
        ("expr:1 - x", "negative"),
        ("expr:u", "undefined"),
        ("expr:6 / (2 - x)", "zero"),
        ("expr:5000000000 * x", "4294967295"),
    ] {
        for engine in ["native", "interpreter"] {
            let flags = [
                "--strategy",
                "a-star",
                "--heuristic",
                expression,
                "--engine",
                engine,
            ];
            let run = check_text(text, &flags);
            assert_refused(&run, because);
        }
    }
    let flags = [
        "--strategy",
        "a-star",
        "--heuristic",
        "active",
        "--cost",
        "1 - x",
    ];
    assert_refused(&check_text(text, &flags), "negative");
}

/// What tells the elements of an orbit apart would make the result depend on their names.
#[test]
fn what_names_elements_needs_symmetry_off() {
    let text = "type P: scalarset(3); var x: array [P] of 0..2;\n\
                startstate for p: P do x[p] := 0; end; end;\n\
                ruleset p: P do rule x[p] < 2 ==> x[p] := x[p] + 1; end; end;\n\
                invariant \"i\" exists p: P do x[p] < 2 end;";
    let named = ["--strategy", "a-star", "--heuristic", "expr:x[P_1]"];
    assert_refused(&check_text(text, &named), "--symmetry off");
    let run = check_text(text, &[&named[..], &["--symmetry", "off"]].concat());
    assert_eq!(run.code, 1, "{}", run.stderr);
    let cost = [
        "--strategy",
        "a-star",
        "--heuristic",
        "formula",
        "--cost",
        "x[P_1] + 1",
    ];
    assert_refused(&check_text(text, &cost), "--symmetry off");
    for heuristic in ["formula", "sum(formula)", "active", "blocked"] {
        let flags = ["--strategy", "a-star", "--heuristic", heuristic];
        let run = check_text(text, &flags);
        assert_eq!(run.code, 1, "{heuristic}: {}", run.stderr);
    }
}

#[test]
fn a_summary_says_what_directed_the_search() {
    let run = check_text(COUNTER, &["--strategy", "a-star", "--threads", "1"]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    for text in [
        "  heuristic    sum(formula); ",
        "  chosen       it leads to ",
        "  expanded  ",
    ] {
        assert!(run.stdout.contains(text), "{text}:\n{}", run.stdout);
    }
}

/// A graph has no estimates of its own, but any strategy can search it.
#[test]
fn graphs_are_searched_in_any_order() {
    let graph = root().join("models/graphs/buffer.aut");
    let auto = check(&graph, &[]);
    for strategy in ["a-star", "best-first", "dijkstra"] {
        let found = check(&graph, &["--strategy", strategy]);
        assert_eq!(found["states"], auto["states"], "{strategy}");
        assert_eq!(found["verdict"], auto["verdict"], "{strategy}");
    }
    let goal = ["--goal", "enabled(get) & !enabled(put)"];
    let graph = root().join("models/graphs/lossy_chain.aut");
    let auto = check(&graph, &goal);
    let star = ["--strategy", "a-star", "--heuristic", "formula"];
    let found = check(&graph, &[&goal[..], &star].concat());
    assert_eq!(found["search"]["cost"], auto["violations"][0]["depth"]);
    assert_eq!(found["search"]["optimal"], true);
    let path = graph.display().to_string();
    let active = ["--strategy", "a-star", "--heuristic", "active"];
    let run = hadal(&[&["check", &path], &active[..]].concat());
    assert_refused(&run, "`formula` with a --goal");
}
