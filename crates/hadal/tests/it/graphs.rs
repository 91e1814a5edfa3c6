//! Graphs as models: `.aut` and `.hlts` files under `hadal check`, `resume`, `replay` and `lab`.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use expect_test::{Expect, expect};
use hadal_lts::{Edge, HltsWriter, Info, Labels, Resources, open};
use hadal_model::Stop;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde_json::Value;
use tempfile::TempDir;

use crate::common::{PAPERS, RESULTS, Run, check_text, hadal};

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Folder(tempfile::tempdir().expect("there is room for a folder"))
    }

    fn name(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    fn with(&self, name: &str, bytes: &[u8]) -> String {
        fs::write(self.0.path().join(name), bytes).expect("it can be written");
        self.name(name)
    }
}

fn check(model: &str, flags: &[&str]) -> Run {
    hadal(&[&["check", model, "--progress", "none"], flags].concat())
}

/// The record of a run, and its exit code.
#[track_caller]
fn record(model: &str, flags: &[&str]) -> (i32, Value) {
    let run = check(model, &[flags, &["--json", "-"]].concat());
    (run.code, run.record())
}

/// A graph in our own format.
fn hlts(initial: u64, n_states: u64, edges: &[Edge], texts: &[&str]) -> Vec<u8> {
    let mut labels = Labels::new();
    for text in texts {
        labels.push(text.as_bytes()).expect("there are few");
    }
    let mut writer = HltsWriter::new(Vec::new(), initial, 0).expect("memory can be written");
    for &edge in edges {
        writer.push(edge).expect("edges are in order");
    }
    writer.finish(n_states, &labels).expect("all is named")
}

/// Numbers of `digits` digits to the base 8; a step increments one of them.
fn lattice(digits: u32) -> Vec<u8> {
    let n = 8u64.pow(digits);
    let steps = |state: u64| {
        (0..digits)
            .filter(move |digit| state >> (3 * digit) & 7 != 7)
            .map(move |digit| Edge::new(state, digit % 2, state + (1 << (3 * digit))))
    };
    let edges: Vec<Edge> = (0..n).flat_map(steps).collect();
    hlts(0, n, &edges, &["even", "odd"])
}

/// The graphs by others, with states and edges; none where `HADAL_AUT_MODELS` is not set.
fn by_others() -> Vec<(String, u64, u64)> {
    let Some(folder) = std::env::var_os("HADAL_AUT_MODELS") else {
        return Vec::new();
    };
    let folder = PathBuf::from(folder);
    let table = fs::read_to_string(folder.join("expected.tsv")).expect("a table");
    let lines = table
        .lines()
        .filter(|it| !it.starts_with('#') && !it.is_empty());
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('\t').collect();
        let number = |at: usize| cells[at].parse().expect("a number");
        (
            folder.join(cells[0]).display().to_string(),
            number(1),
            number(2),
        )
    };
    lines.map(row).collect()
}

/// Whether a graph has a state without edges, all of whose states can be reached.
fn has_deadlock(path: &str) -> bool {
    static STOP: Stop = Stop::new();
    let resources = Resources::new(&STOP);
    let graph = open(Path::new(path), &resources).expect("it can be read");
    let info = Info::of(&graph, &[], &resources).expect("there is memory");
    assert_eq!(info.n_reachable, info.counts.n_states);
    info.n_deadlocks > 0
}

#[test]
fn graphs_by_others_have_the_known_sizes_whatever_the_means() {
    for (path, states, edges) in by_others() {
        let budgets: [&[&str]; 4] = [
            &[],
            &["--memory", "32M"],
            &["--data-memory", "300K"],
            &["--data-memory", "64K"],
        ];
        let mut first: Option<Value> = None;
        for budget in budgets {
            for threads in ["1", "2", "4"] {
                let flags = [budget, &["--threads", threads, "--deadlock", "off"]].concat();
                let (code, found) = record(&path, &flags);
                assert_eq!(code, 0, "{path} {flags:?}");
                assert_eq!(found["states"], states, "{path} {flags:?}");
                assert_eq!(found["transitions"], edges, "{path} {flags:?}");
                let by_label = found["rules"].as_array().expect("a list");
                let fired = by_label
                    .iter()
                    .map(|it| it["fired"].as_u64().expect("a count"));
                assert_eq!(fired.sum::<u64>(), edges);
                let first = first.get_or_insert(found.clone());
                for name in RESULTS {
                    assert_eq!(first[name], found[name], "{path} {name} {flags:?}");
                }
            }
        }
        let (code, found) = record(&path, &[]);
        let is_stuck = has_deadlock(&path);
        assert_eq!(code, i32::from(is_stuck), "{path}");
        if is_stuck {
            assert_eq!(found["violations"][0]["kind"], "deadlock");
        }
        for strategy in PAPERS {
            let flags = ["--strategy", strategy, "--deadlock", "off"];
            let (code, found) = record(&path, &flags);
            assert_eq!(
                (code, &found["states"]),
                (0, &states.into()),
                "{path} {strategy}"
            );
            let (code, _) = record(&path, &["--strategy", strategy]);
            assert_eq!(code, i32::from(is_stuck), "{path} {strategy}");
        }
    }
}

#[test]
fn graphs_by_others_survive_interruption() {
    for (path, states, edges) in by_others() {
        let mut n_interrupted = 0;
        let whole = record(&path, &["--deadlock", "off"]).1;
        for limit in ["4K", "8K", "16K", "32K", "64K"] {
            let folder = Folder::new();
            let disk = folder.name("run");
            let flags = ["--disk", &disk, "--data-memory", "64K", "--deadlock", "off"];
            let run = check(&path, &[&flags[..], &["--disk-limit", limit]].concat());
            if run.code == 0 {
                continue;
            }
            assert_eq!(run.code, 3, "{path} {limit} {}", run.stderr);
            n_interrupted += 1;
            let run = hadal(&["resume", &disk, "--json", "-", "--progress", "none"]);
            let found = run.record();
            assert_eq!(run.code, 0, "{path} {limit}");
            assert_eq!(found["states"], states, "{path} {limit}");
            assert_eq!(found["transitions"], edges, "{path} {limit}");
            for name in RESULTS {
                assert_eq!(whole[name], found[name], "{path} {name} {limit}");
            }
        }
        assert!(n_interrupted > 0, "{path}");
    }
}

/// A graph that is searched from `initial`: the distance of each state that can be reached.
fn distances(n: u64, edges: &[Edge], initial: u64) -> BTreeMap<u64, u64> {
    let mut out: Vec<Vec<u64>> = vec![Vec::new(); n as usize];
    for edge in edges {
        out[edge.source as usize].push(edge.target);
    }
    let mut found = BTreeMap::from([(initial, 0)]);
    let mut queue = VecDeque::from([initial]);
    while let Some(state) = queue.pop_front() {
        let depth = found[&state] + 1;
        for &target in &out[state as usize] {
            found.entry(target).or_insert_with(|| {
                queue.push_back(target);
                depth
            });
        }
    }
    found
}

/// A goal on a graph: its text, and how it is decided.
enum Asked {
    State(&'static str, u64),
    Enabled(u32),
    Not(Box<Asked>),
    Both(char, Box<[Asked; 2]>),
}

impl Asked {
    fn random(random: &mut Pcg64Mcg, n: u64, n_labels: u32, size: u32) -> Self {
        let part = |random: &mut Pcg64Mcg| Self::random(random, n, n_labels, size / 2);
        match random.random_range(0..if size > 1 { 6 } else { 3 }) {
            0 => {
                let all = ["=", "!=", "<", "<=", ">", ">=", "=="];
                let relation = all[random.random_range(0..all.len())];
                Asked::State(relation, random.random_range(0..n))
            }
            1 | 2 => Asked::Enabled(random.random_range(0..n_labels)),
            3 => Asked::Not(Box::new(part(random))),
            4 => Asked::Both('&', Box::new([part(random), part(random)])),
            _ => Asked::Both('|', Box::new([part(random), part(random)])),
        }
    }

    fn text(&self, labels: &[&str]) -> String {
        match self {
            Asked::State(relation, number) => format!("state {relation} {number}"),
            Asked::Enabled(label) if label % 2 == 0 => {
                format!("enabled(\"{}\")", labels[*label as usize])
            }
            Asked::Enabled(label) => format!("enabled( {} )", labels[*label as usize]),
            Asked::Not(part) => format!("!({})", part.text(labels)),
            Asked::Both(op, parts) => {
                format!(
                    "({}) {op} ({})",
                    parts[0].text(labels),
                    parts[1].text(labels)
                )
            }
        }
    }

    fn holds(&self, state: u64, edges: &[Edge]) -> bool {
        match self {
            Asked::State(relation, number) => match *relation {
                "=" | "==" => state == *number,
                "!=" => state != *number,
                "<" => state < *number,
                "<=" => state <= *number,
                ">" => state > *number,
                _ => state >= *number,
            },
            Asked::Enabled(label) => {
                let own = |edge: &&Edge| edge.source == state;
                edges.iter().filter(own).any(|edge| edge.label == *label)
            }
            Asked::Not(part) => !part.holds(state, edges),
            Asked::Both('&', parts) => parts.iter().all(|part| part.holds(state, edges)),
            Asked::Both(_, parts) => parts.iter().any(|part| part.holds(state, edges)),
        }
    }
}

#[test]
fn random_goals_agree_with_a_plain_search() {
    let labels = ["a", "send(1, \"x\")", "get", "i", "last one"];
    let folder = Folder::new();
    let mut random = Pcg64Mcg::seed_from_u64(77);
    let (mut n_reached, mut n_unreachable) = (0, 0);
    for round in 0..30 {
        let n = random.random_range(2..60u64);
        let n_edges = random.random_range(0..2 * n as usize);
        let mut edges: Vec<Edge> = (0..n_edges)
            .map(|_| {
                let (source, target) = (random.random_range(0..n), random.random_range(0..n));
                Edge::new(source, random.random_range(0..5), target)
            })
            .collect();
        edges.sort_by_key(|edge| edge.source);
        let initial = random.random_range(0..n);
        let path = folder.with("g.hlts", &hlts(initial, n, &edges, &labels));
        let kinds = ["g.aut", "g.aut.zst", "g.hlts.zst"];
        let converted = folder.name(kinds[round % 3]);
        let run = hadal(&["lts", "convert", &path, "-o", &converted]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let distances = distances(n, &edges, initial);
        for _ in 0..4 {
            let asked = Asked::random(&mut random, n, 5, 8);
            let goal = asked.text(&labels);
            let holds = |state: &u64| asked.holds(*state, &edges);
            let expected = distances.iter().filter(|(state, _)| holds(state));
            let expected = expected.map(|(_, &depth)| depth).min();
            // A text has no labels without edges.
            let has_all = edges
                .iter()
                .map(|edge| edge.label)
                .collect::<std::collections::BTreeSet<_>>();
            let is_known = (0..5).all(|label| has_all.contains(&label));
            for model in [&path, &converted] {
                if *model != path && !is_known {
                    continue;
                }
                let (code, found) = record(model, &["--goal", &goal]);
                match expected {
                    Some(depth) => {
                        assert_eq!(code, 1, "{goal}");
                        assert_eq!(found["violations"][0]["depth"], depth, "{goal}");
                        let last = found["violations"][0]["state"]["state"].as_str();
                        let last = last.and_then(|it| it.parse().ok()).expect("a number");
                        assert!(holds(&last), "{goal}");
                        n_reached += 1;
                    }
                    None => {
                        assert_eq!(code, 0, "{goal}");
                        assert_eq!(found["states"], distances.len(), "{goal}");
                        n_unreachable += 1;
                    }
                }
            }
        }
    }
    assert!(
        n_reached > 40 && n_unreachable > 20,
        "{n_reached} {n_unreachable}"
    );
}

/// Both streams and the exit code; a scratch folder is `DIR`.
fn shown(run: &Run, folder: &Folder) -> String {
    let text = format!("{}{}exit {}\n", run.stdout, run.stderr, run.code);
    text.replace(&folder.0.path().display().to_string(), "DIR")
}

#[test]
fn a_text_that_is_wrong_is_refused_with_its_line() {
    let folder = Folder::new();
    let cases = [
        ("", "empty.aut"),
        ("digraph {}\n", "header.aut"),
        ("des (0, 1, many)\n", "number.aut"),
        ("des (5, 0, 2)\n", "initial.aut"),
        ("des (0, 2, 2)\n(0, a, 1)\n", "few.aut"),
        ("des (0, 1, 2)\n(0, a, 1)\n(1, a, 0)\n", "many.aut"),
        ("des (0, 1, 2)\n(0, a, 2)\n", "range.aut"),
        ("des (0, 1, 2)\n(0, a 1)\n", "broken.aut"),
        ("des (0, 1, 2)\n(0, \"a, 1)\n", "quotes.aut"),
        ("des (0, 1, 2)\n(0, \"rate 2.5\", 1)\n", "rate.aut"),
        ("des (0, 1, 3)\n(0, a, 1/2 1 1/2 2)\n", "distribution.aut"),
        ("not a graph at all", "text.hlts"),
    ];
    let mut all = String::new();
    for (text, name) in cases {
        let path = folder.with(name, text.as_bytes());
        let run = check(&path, &["--json", &folder.name("r.json")]);
        all += &shown(&run, &folder);
        let record = fs::read(folder.name("r.json")).expect("there is a record");
        let record: Value = serde_json::from_slice(&record).expect("JSON");
        assert_eq!(record["verdict"], "rejected", "{name}");
        assert_eq!(record["language"], "graph");
    }
    expect![[r#"
        error: DIR/empty.aut: line 1: the file is empty; it must begin with `des (initial, transitions, states)`
        exit 2
        error: DIR/header.aut: line 1: expected `des (initial, transitions, states)`
        exit 2
        error: DIR/number.aut: line 1: the number of states is not a number from 0 to 2^64-1: `many`
        exit 2
        error: DIR/initial.aut: line 1: the initial state 5 is not one of 2 states, which are numbered from 0
        exit 2
        error: DIR/few.aut: line 2: the file ends after 1 of the 2 edges that the header declares
        exit 2
        error: DIR/many.aut: line 3: there are more edges than the 1 that the header declares
        exit 2
        error: DIR/range.aut: line 2: the target state 2 is out of range: the header declares 2 states, which are numbered from 0
        exit 2
        error: DIR/broken.aut: line 2: expected `(from, label, to)`
        exit 2
        error: DIR/quotes.aut: line 2: the label's quotes do not match: `"a`
        exit 2
        error: DIR/rate.aut: line 2: probabilities and rates are not supported: `rate 2.5`
        exit 2
        error: DIR/distribution.aut: line 2: probabilities and rates are not supported: `1/2 1 1/2 2`
        exit 2
        error: DIR/text.hlts: this is no .hlts file
        exit 2
    "#]].assert_eq(&all);
}

#[track_caller]
fn goals(path: &str, folder: &Folder, goals: &[&str], expected: Expect) {
    let mut all = String::new();
    for goal in goals {
        let run = check(path, &["--goal", goal, "-q"]);
        all += &format!("{goal}\n{}\n", shown(&run, folder));
    }
    expected.assert_eq(&all);
}

#[test]
fn a_goal_that_is_wrong_has_a_place() {
    let folder = Folder::new();
    let edges = [Edge::new(0, 0, 1), Edge::new(1, 1, 2)];
    let path = folder.with("g.hlts", &hlts(0, 3, &edges, &["send(1)", "receive"]));
    let deep = format!("{}state = 1", "!".repeat(300));
    goals(
        &path,
        &folder,
        &[
            "",
            "state",
            "state = x",
            "state = 3",
            "state = 99999999999999999999",
            "enabled",
            "enabled(send(1)",
            "enabled(\"send(1)",
            "enabled(recieve)",
            "enabled(receive) and state = 1",
            "(state = 1",
            "state = 1 &",
            "zustand = 1",
        ],
        expect![[r#"

            error: expected `state`, `enabled`, `!` or `(`, found the end of the goal
             --> <goal>:1:1
              |
            1 |
              | ^ expected `state`, `enabled`, `!` or `(`
            exit 2

            state
            error: expected `=` or another comparison, found the end of the goal
             --> <goal>:1:6
              |
            1 | state
              |      ^ expected `=` or another comparison
            exit 2

            state = x
            error: expected the number of a state, found `x`
             --> <goal>:1:9
              |
            1 | state = x
              |         ^ expected the number of a state
            exit 2

            state = 3
            error: there is no state 3
             --> <goal>:1:9
              |
            1 | state = 3
              |         ^
              |
              = note: the graph has 3 states, numbered from 0
            exit 2

            state = 99999999999999999999
            error: there is no state 99999999999999999999
             --> <goal>:1:9
              |
            1 | state = 99999999999999999999
              |         ^^^^^^^^^^^^^^^^^^^^
              |
              = note: the graph has 3 states, numbered from 0
            exit 2

            enabled
            error: expected `(` and a label, found the end of the goal
             --> <goal>:1:8
              |
            1 | enabled
              |        ^ expected `(` and a label
            exit 2

            enabled(send(1)
            error: the label is not closed
             --> <goal>:1:9
              |
            1 | enabled(send(1)
              |         ^^^^^^^
              |
              = help: write `enabled(label)`
            exit 2

            enabled("send(1)
            error: the label is not closed
             --> <goal>:1:9
              |
            1 | enabled("send(1)
              |         ^^^^^^^^
              |
              = help: write `enabled(label)`
            exit 2

            enabled(recieve)
            error: no edge has the label `recieve`
             --> <goal>:1:9
              |
            1 | enabled(recieve)
              |         ^^^^^^^
              |
              = help: did you mean `receive`?
            exit 2

            enabled(receive) and state = 1
            error: expected the end of the goal, found `and`
             --> <goal>:1:18
              |
            1 | enabled(receive) and state = 1
              |                  ^^^ expected the end of the goal
            exit 2

            (state = 1
            error: expected `)`, found the end of the goal
             --> <goal>:1:11
              |
            1 | (state = 1
              |           ^ expected `)`
            exit 2

            state = 1 &
            error: expected `state`, `enabled`, `!` or `(`, found the end of the goal
             --> <goal>:1:12
              |
            1 | state = 1 &
              |            ^ expected `state`, `enabled`, `!` or `(`
            exit 2

            zustand = 1
            error: expected `state`, `enabled`, `!` or `(`, found `zustand`
             --> <goal>:1:1
              |
            1 | zustand = 1
              | ^^^^^^^ expected `state`, `enabled`, `!` or `(`
            exit 2

        "#]],
    );
    let run = check(&path, &["--goal", &deep]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("nested too deeply"), "{}", run.stderr);
}

#[test]
fn a_summary_speaks_of_edges_and_labels() {
    let folder = Folder::new();
    let edges = [Edge::new(0, 0, 1), Edge::new(1, 1, 2), Edge::new(3, 2, 0)];
    let path = folder.with("g.hlts", &hlts(0, 4, &edges, &["put", "get", "never"]));
    let plain = |run: Run| {
        let text = shown(&run, &folder);
        let lines = text.lines().filter(|line| {
            let volatile = ["time ", "memory "];
            !volatile.iter().any(|it| line.trim_start().starts_with(it))
        });
        lines.map(|line| format!("{line}\n")).collect::<String>()
    };
    expect![[r#"
        DIR/g.hlts: violated: deadlock: no edge leaves the state, after 2 steps

        violation: deadlock: no edge leaves the state, after 2 steps

        The shortest run that shows it, 2 steps from the initial state; what each step changes:

          0  initial state
               state = 0
          1  put
               state: 0 → 1
          2  get
               state: 1 → 2

        The state it ends in:

          state = 2

          checked      deadlock (no edge)
          states       3
          transitions  2
          depth        2
          the search ended at the violation; counts are of whole layers up to it
        exit 1
    "#]]
    .assert_eq(&plain(check(&path, &[])));
    expect![[r#"
        DIR/g.hlts: verified: every reachable state was visited, and all is well

          checked      nothing
          states       3
          transitions  2
          depth        2

          never taken  labels that no reachable state has an edge with:
            "never"

          nothing was checked: all states were visited
        exit 0
    "#]]
    .assert_eq(&plain(check(&path, &["--deadlock", "off"])));
    expect![[r#"
        DIR/g.hlts: the model is well-formed; it was not searched

          8 bits of state, 3 rules, 0 properties
        exit 0
    "#]]
    .assert_eq(&plain(check(&path, &["--no-search"])));
    for (flags, because) in [
        (&["--const", "N=1"][..], "a graph has no option `const`"),
        (&["--trace", "chart"], "a graph has none"),
        (&["--deadlock", "end-states"], "a graph has no such states"),
    ] {
        let run = check(&path, flags);
        assert_eq!(run.code, 2, "{flags:?}");
        assert!(run.stderr.contains(because), "{}", run.stderr);
    }
}

#[test]
fn a_counterexample_is_replayed_on_the_graph() {
    let folder = Folder::new();
    let path = folder.with("g.hlts", &lattice(3));
    for (goal, kind) in [(Some("state = 63"), "invariant"), (None, "deadlock")] {
        let json = folder.name("r.json");
        let goal: Vec<&str> = goal.iter().flat_map(|goal| ["--goal", goal]).collect();
        let run = check(&path, &[&goal[..], &["--json", &json]].concat());
        assert_eq!(run.code, 1);
        let found: Value =
            serde_json::from_slice(&fs::read(&json).expect("a record")).expect("JSON");
        assert_eq!(found["violations"][0]["kind"], kind);
        let replayed = hadal(&["replay", &json]);
        assert_eq!(replayed.code, 0, "{}", replayed.stderr);
        assert!(
            replayed.stdout.contains("found again"),
            "{}",
            replayed.stdout
        );
        // On another graph it is refused.
        let steps: Vec<Edge> = (0..70).map(|at| Edge::new(at, 0, at + 1)).collect();
        let other = folder.with("other.hlts", &hlts(0, 71, &steps, &["even"]));
        let refused = hadal(&["replay", &json, "--model", &other]);
        assert_eq!(refused.code, 2, "{}", refused.stdout);
    }
}

#[test]
fn a_run_is_resumed_with_the_same_graph_only() {
    let folder = Folder::new();
    let bytes = lattice(5);
    let path = folder.with("g.hlts", &bytes);
    let whole = record(&path, &["--deadlock", "off"]).1;
    let begun = |disk: &str| {
        let flags = ["--disk", disk, "--data-memory", "300K", "--deadlock", "off"];
        let run = check(&path, &[&flags[..], &["--disk-limit", "200K"]].concat());
        assert_eq!(run.code, 3, "{}", run.stderr);
    };
    let disk = folder.name("run");
    begun(&disk);
    // Another graph of the same size is noticed.
    let mut edges = Vec::new();
    static STOP: Stop = Stop::new();
    let graph = open(Path::new(&path), &Resources::new(&STOP)).expect("it can be read");
    let read = graph.for_each_edge(&Resources::new(&STOP), |edge| {
        edges.push(edge);
        Ok(())
    });
    read.expect("it can be read");
    let middle = edges.len() / 2;
    edges[middle].target = 0;
    let other = folder.with(
        "other.hlts",
        &hlts(0, 8u64.pow(5), &edges, &["even", "odd"]),
    );
    let run = hadal(&["resume", &disk, "--model", &other]);
    assert_eq!(run.code, 2, "{}", run.stdout);
    assert!(run.stderr.contains("is of another model"), "{}", run.stderr);
    // One that was moved is asked for.
    let moved = folder.name("moved.hlts");
    fs::rename(&path, &moved).expect("it can be moved");
    let run = hadal(&["resume", &disk]);
    assert_eq!(run.code, 2, "{}", run.stdout);
    assert!(run.stderr.contains("--model"), "{}", run.stderr);
    let run = hadal(&[
        "resume",
        &disk,
        "--model",
        &moved,
        "--json",
        "-",
        "--progress",
        "none",
    ]);
    let found = run.record();
    assert_eq!(run.code, 0);
    for name in RESULTS.iter().filter(|&&name| name != "model") {
        assert_eq!(whole[name], found[*name], "{name}");
    }
    // The same graph as a text is the same graph.
    fs::rename(&moved, &path).expect("it can be moved");
    let again = folder.name("again");
    begun(&again);
    let text = folder.name("g.aut");
    assert_eq!(hadal(&["lts", "convert", &path, "-o", &text]).code, 0);
    let run = hadal(&["resume", &again, "--model", &text, "--progress", "none"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
}

#[test]
fn a_run_that_was_killed_is_resumed() {
    let folder = Folder::new();
    let path = folder.with("g.hlts", &lattice(6));
    let whole = record(&path, &["--deadlock", "off"]).1;
    let mut n_resumed = 0;
    for milliseconds in [40, 80, 120, 200, 400] {
        let disk = folder.name(&format!("run-{milliseconds}"));
        let mut child = Command::new(env!("CARGO_BIN_EXE_hadal"))
            .args(["check", &path, "--disk", &disk, "--data-memory", "700K"])
            .args([
                "--deadlock",
                "off",
                "--commit-every",
                "0s",
                "--progress",
                "none",
            ])
            .stdout(Stdio::null())
            .spawn()
            .expect("the binary runs");
        std::thread::sleep(Duration::from_millis(milliseconds));
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
        if !Path::new(&disk).join("MANIFEST").exists() {
            continue;
        }
        let run = hadal(&["resume", &disk, "--json", "-", "--progress", "none"]);
        if run.code == 2 {
            assert!(run.stderr.contains("is finished"), "{}", run.stderr);
            continue;
        }
        let found = run.record();
        n_resumed += 1;
        for name in RESULTS {
            assert_eq!(whole[name], found[name], "{milliseconds} {name}");
        }
    }
    assert!(n_resumed > 0, "no run was killed in time");
}

#[test]
fn a_file_that_is_damaged_ends_every_search() {
    let folder = Folder::new();
    let mut bytes = lattice(4);
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    let path = folder.with("bad.hlts", &bytes);
    for strategy in PAPERS.iter().chain(&["auto"]) {
        let run = check(&path, &["--strategy", strategy, "--deadlock", "off"]);
        assert_eq!(run.code, 2, "{strategy} {}", run.stdout);
        assert!(
            run.stderr.contains("the file is damaged at byte"),
            "{}",
            run.stderr
        );
        assert_eq!(run.stdout, "", "{strategy}");
    }
    let run = hadal(&["lab", "locality", &path, "--progress", "none"]);
    assert_eq!(run.code, 2, "{}", run.stdout);
    assert!(
        run.stderr.contains("the file is damaged at byte"),
        "{}",
        run.stderr
    );
}

#[test]
fn standard_input_is_a_graph_if_it_is_called_one() {
    let folder = Folder::new();
    let bytes = lattice(2);
    let path = folder.with("g.hlts", &bytes);
    let compressed = folder.name("g.aut.zst");
    assert_eq!(hadal(&["lts", "convert", &path, "-o", &compressed]).code, 0);
    let text = b"des (0, 1, 2)\n(0, a, 1)\n".to_vec();
    for (bytes, states) in [
        (bytes, 64),
        (fs::read(&compressed).expect("it is there"), 64),
        (text, 2),
    ] {
        let flags = ["--language", "graph", "--deadlock", "off", "--json", "-"];
        let run = check_text(&bytes, &flags);
        assert_eq!(run.record()["states"], states);
    }
    let run = check_text("", &["--language", "graph", "--disk", &folder.name("run")]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("cannot be read again"),
        "{}",
        run.stderr
    );
    // A name need not say what a file is.
    let unnamed = folder.with("graph", b"des (0, 1, 2)\n(0, a, 1)\n");
    assert_eq!(
        check(&unnamed, &["--language", "graph", "--deadlock", "off"]).code,
        0
    );
    let run = check(&unnamed, &[]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("--language"), "{}", run.stderr);
}

#[test]
fn states_may_have_numbers_beyond_32_bits() {
    let folder = Folder::new();
    let base = 1u64 << 40;
    let edges: Vec<Edge> = (0..100)
        .map(|at| Edge::new(base + at, 0, base + at + 1))
        .collect();
    let path = folder.with("far.hlts", &hlts(base, base + 200, &edges, &["on"]));
    let (code, found) = record(&path, &[]);
    assert_eq!((code, &found["states"]), (1, &101.into()));
    let last = &found["violations"][0]["state"]["state"];
    assert_eq!(*last, (base + 100).to_string());
    let goal = format!("state = {}", base + 50);
    assert_eq!(
        record(&path, &["--goal", &goal]).1["violations"][0]["depth"],
        50
    );
    let goal = format!("state = {}", base + 150);
    assert_eq!(record(&path, &["--goal", &goal]).0, 0);
}

#[test]
fn a_state_with_many_edges_needs_no_more_memory_than_others() {
    let folder = Folder::new();
    let n = 3_000_000;
    let edges: Vec<Edge> = (0..n).map(|at| Edge::new(0, 0, at % 1000)).collect();
    let path = folder.with("star.hlts", &hlts(0, 1000, &edges, &["to"]));
    let flags = ["--memory", "32M", "--deadlock", "off"];
    let (code, found) = record(&path, &flags);
    assert_eq!((code, &found["transitions"]), (0, &n.into()));
    let peak = found["memory"]["peak_bytes"].as_u64().expect("a figure");
    assert!(peak < 48 << 20, "{peak}");
}

#[test]
fn the_laboratory_measures_graphs() {
    let folder = Folder::new();
    let path = folder.with("g.hlts", &lattice(3));
    let run = hadal(&[
        "lab",
        "locality",
        &path,
        "--progress",
        "none",
        "--format",
        "json",
    ]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("512"), "{}", run.stdout);
    let caches = ["lab", "caches", &path, "--progress", "none", "--no-dfs"];
    let run = hadal(&caches);
    assert_eq!(run.code, 0, "{}", run.stderr);
}
