//! `--strategy dijkstra`: everything is visited as ever, and runs cost least.

use std::path::Path;

use hadal_testkit::corpus::{Verdict, directives, model_files};
use serde_json::Value;

use crate::common::{check_text, hadal, root};

/// A run is shorter in steps by an `atomic` of many statements, and cheaper by single ones.
const TWO_WAYS: &str = "byte x;
active proctype P() {
  if
  :: atomic { x = 1; x = 2; x = 3; x = 4; x = 5; x = 6; x = 7 }
  :: x = 10; x = 11; x = 7
  fi;
  assert(x != 7)
}";

/// Models with more states take too long for every test run.
const MOST_STATES: u64 = 5_000;

#[test]
fn the_cheapest_run_need_not_be_the_shortest() {
    for engine in ["native", "interpreter"] {
        for threads in ["1", "3"] {
            let flags = [
                "--language",
                "promela",
                "--engine",
                engine,
                "--threads",
                threads,
            ];
            let shortest = check_text(TWO_WAYS, &[&flags[..], &["--json", "-"]].concat());
            let shortest = shortest.record();
            assert_eq!(shortest["violations"][0]["depth"], 1);
            assert_eq!(shortest["violations"][0].get("cost"), None);
            assert_eq!(shortest.get("search"), None);

            let by_cost = ["--strategy", "dijkstra", "--json", "-"];
            let cheapest = check_text(TWO_WAYS, &[&flags[..], &by_cost].concat()).record();
            assert_eq!(cheapest["violations"][0]["depth"], 3);
            assert_eq!(cheapest["violations"][0]["cost"], 3);
            assert_eq!(cheapest["search"]["cost"], 3);
            assert_eq!(cheapest["search"]["optimal"], true);
            assert!(cheapest["depth"].is_null() && cheapest["layers"].is_null());
        }
    }
}

#[test]
fn the_summary_says_what_a_run_costs() {
    let flags = [
        "--language",
        "promela",
        "--strategy",
        "dijkstra",
        "--threads",
        "1",
    ];
    let run = check_text(TWO_WAYS, &flags);
    assert_eq!(run.code, 1, "{}", run.stderr);
    let wanted = [
        "after 3 steps of cost 3",
        "A cheapest run that shows it, 3 steps of cost 3 from the initial state",
        "  expanded     ",
    ];
    for text in wanted {
        assert!(run.stdout.contains(text), "{text}:\n{}", run.stdout);
    }
}

#[test]
fn a_bound_on_the_depth_is_refused() {
    let flags = [
        "--language",
        "promela",
        "--strategy",
        "dijkstra",
        "--bound",
        "2",
    ];
    let run = check_text(TWO_WAYS, &flags);
    assert_eq!(run.code, 2, "{}", run.stdout);
    assert!(run.stderr.contains("`dijkstra`"), "{}", run.stderr);
}

/// On every model of ours it visits what `auto` visits, in memory and on disk; in Murphi, where a rule
/// costs 1, its runs are as long.
#[test]
fn every_model_is_visited_in_the_order_of_costs() {
    let mut n_violated = 0;
    for path in model_files(&root().join("models")).expect("there are models") {
        let text = std::fs::read_to_string(&path).expect("a model can be read");
        let expected = directives(&text).unwrap_or_else(|error| panic!("{error}"));
        if expected.states.is_some_and(|states| states > MOST_STATES) {
            continue;
        }
        let is_murphi = path.extension().is_some_and(|it| it == "m");
        let of_auto = record(&path, &expected.flags, &["--strategy", "auto"]);
        for budget in [&["--memory", "1G"][..], &["--data-memory", "400K"]] {
            let flags = [&["--strategy", "dijkstra", "--threads", "2"], budget].concat();
            let found = record(&path, &expected.flags, &flags);
            let name = path.display();
            assert_eq!(found["verdict"], of_auto["verdict"], "{name} {budget:?}");
            if expected.expect != Verdict::Violated {
                for figure in ["states", "transitions"] {
                    assert_eq!(
                        found[figure], of_auto[figure],
                        "{name} {budget:?}: {figure}"
                    );
                }
                continue;
            }
            n_violated += 1;
            let (ours, of_auto) = (&found["violations"][0], &of_auto["violations"][0]);
            let is_of_state = of_auto["kind"] != "cover" && of_auto["kind"] != "liveness";
            if is_murphi && is_of_state {
                assert_eq!(ours["depth"], of_auto["depth"], "{name} {budget:?}");
                assert_eq!(ours["cost"], of_auto["depth"], "{name} {budget:?}");
            }
        }
    }
    assert!(n_violated > 10, "{n_violated}");
}

fn record(path: &Path, flags: &[String], more: &[&str]) -> Value {
    let path = path.display().to_string();
    let args = ["check", "--json", "-", "--progress", "none", &path];
    let flags = flags.iter().map(String::as_str);
    let args: Vec<&str> = args
        .into_iter()
        .chain(flags)
        .chain(more.iter().copied())
        .collect();
    let run = hadal(&args);
    assert!(
        run.stdout.starts_with('{'),
        "{}: {}",
        args.join(" "),
        run.stderr
    );
    run.record()
}
