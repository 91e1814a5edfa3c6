//! Goals: an expression that is looked for in place of the model's properties.
//!
//! The expected answer never comes from a search: a brute-force oracle lists all states with their
//! depths, and the goal is decided on the values that people see.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use expect_test::{Expect, expect};
use hadal::{Check, Deadlock, Engine, ModelSource, Symmetry, Verdict};
use hadal_testkit::oracle;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde_json::Value;

use crate::common::{PAPERS, Run, check_text, hadal, root};

type Leaves = BTreeMap<String, String>;

/// All states of a model with their depths, without reduction.
fn states_of(source: &ModelSource) -> Vec<(usize, Leaves)> {
    let source = source.clone().symmetry(Symmetry::Off);
    let loaded = source.engine(Engine::Interpreter).load();
    let loaded = loaded.expect("the model is right");
    let options = oracle::Options {
        deadlock: oracle::Deadlock::Off,
        max_states: 60_000,
    };
    let report = oracle::search(&*loaded.model, &options);
    assert!(!report.gave_up, "{} is too large", loaded.source.name());
    let mut depths = Vec::new();
    for (depth, &n) in report.layers.iter().enumerate() {
        depths.extend(std::iter::repeat_n(depth, n));
    }
    let leaves = |state: &Vec<u8>| loaded.model.describe_state(state).into_iter().collect();
    depths
        .into_iter()
        .zip(report.states.iter().map(leaves))
        .collect()
}

/// The least depth of a state that has a property.
fn least_depth(states: &[(usize, Leaves)], holds: impl Fn(&Leaves) -> bool) -> Option<usize> {
    let found = states.iter().filter(|(_, state)| holds(state));
    found.map(|(depth, _)| *depth).min()
}

/// What a search says about a goal: the depth at which it holds, or that it is not reachable.
#[track_caller]
fn searched(source: &ModelSource, goal: &str, symmetry: Symmetry, engine: Engine) -> Option<usize> {
    let source = source.clone().goal(goal).symmetry(symmetry).engine(engine);
    let loaded = match source.load() {
        Ok(loaded) => loaded,
        Err(error) => panic!("{goal}: {error}"),
    };
    let checked = Check::new(&loaded).memory(256 << 20).run();
    let checked = checked.expect("it can be searched");
    assert_eq!(checked.search_options().deadlock, Deadlock::Off);
    let outcome = &checked.outcome;
    match outcome.verdict {
        Verdict::Verified => {
            assert_eq!(outcome.holds, [Some(true)], "{goal}");
            None
        }
        Verdict::Violated => {
            let found = checked.violations()[0];
            let trace = found.trace.expect("there is a run to it");
            assert_eq!(trace.n_steps(), found.violation.depth as usize + 1);
            assert!(found.message().starts_with("the goal \""), "{goal}");
            assert_eq!(outcome.holds, [Some(false)], "{goal}");
            Some(found.violation.depth as usize)
        }
        verdict => panic!("{goal}: {verdict:?} {:?}", outcome.violations),
    }
}

const BOTH: [Engine; 2] = [Engine::Native, Engine::Interpreter];

#[test]
fn random_goals_agree_with_all_states() {
    let mut random = Pcg64Mcg::seed_from_u64(41);
    let (mut n_reached, mut n_unreachable) = (0, 0);
    let models = [
        "dekker.m",
        "interrupts.m",
        "lease.m",
        "peterson.pml",
        "print_queue.pml",
        "priorities.pml",
        "readers_writers.m",
        "readers_writers.pml",
        "szymanski.m",
        "ticket_lock.m",
        "traffic_lights.m",
    ];
    for name in models {
        let path = root().join("models").join(name);
        let source = ModelSource::file(&path).expect("the model is there");
        let states = states_of(&source);
        let all: BTreeSet<(&str, &str)> = (states.iter())
            .flat_map(|(_, state)| state.iter())
            .filter(|(leaf, value)| is_plain(leaf) && is_plain(value))
            // A word of the language, by which a channel is called here.
            .filter(|(_, value)| *value != "empty")
            .map(|(leaf, value)| (leaf.as_str(), value.as_str()))
            .collect();
        let all: Vec<(&str, &str)> = all.into_iter().collect();
        assert!(all.len() > 3, "{name} has leaves to ask about");
        let (and, equals) = match name.ends_with(".m") {
            true => ("&", "="),
            false => ("&&", "=="),
        };
        for _ in 0..8 {
            let n = random.random_range(1..4);
            let asked: Vec<_> = (0..n)
                .map(|_| *all.choose(&mut random).expect("it is not empty"))
                .collect();
            let negated = random.random_bool(0.3);
            let part = |(leaf, value): &(&str, &str)| match name.ends_with(".m") {
                true if *value == "undefined" => format!("isundefined({leaf})"),
                // A comparison of what is undefined would be a fault.
                true => format!("(isundefined({leaf}) ? false : {leaf} {equals} {value})"),
                false => format!("{leaf} {equals} {value}"),
            };
            let mut parts: Vec<String> = asked.iter().map(part).collect();
            if negated {
                parts[0] = format!("!({})", parts[0]);
            }
            let goal = parts.join(&format!(" {and} "));
            let expected = least_depth(&states, |state| {
                asked.iter().enumerate().all(|(number, (leaf, value))| {
                    let is_so = state.get(*leaf).is_some_and(|it| it == value);
                    is_so != (negated && number == 0)
                })
            });
            for engine in BOTH {
                let found = searched(&source, &goal, Symmetry::Off, engine);
                assert_eq!(found, expected, "{name}: {goal}");
            }
            match expected {
                Some(_) => n_reached += 1,
                None => n_unreachable += 1,
            }
        }
    }
    assert!(
        n_reached > 20 && n_unreachable > 10,
        "{n_reached} {n_unreachable}"
    );
}

/// A variable or element of an array, or a value that can be written in a text.
fn is_plain(text: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || "_[].".contains(c);
    !text.is_empty() && text.chars().all(is_part) && !text.starts_with('_')
}

const LOCK: &str = "
const N: 3;
type Proc: scalarset(N); State: enum { idle, waiting, critical };
var state: array [Proc] of State; turn: Proc; n: 0..9;
startstate for p: Proc do state[p] := idle; end; n := 0; undefine turn; end;
ruleset p: Proc do
  rule \"try\" state[p] = idle ==> state[p] := waiting; end;
  rule \"enter\" state[p] = waiting & forall q: Proc do state[q] != critical end ==>
    state[p] := critical; turn := p; n := (n + 1) % 6; assert n != 5 \"less than five\";
  end;
  rule \"leave\" state[p] = critical ==> state[p] := idle; undefine turn; end;
end;
invariant \"never two\" n != 2;
";

type Asked = (&'static str, fn(&Leaves) -> bool);

/// How many elements are in a state.
fn n_in(state: &Leaves, wanted: &str) -> usize {
    let of_elements = state.iter().filter(|(leaf, _)| leaf.starts_with("state["));
    of_elements.filter(|(_, value)| *value == wanted).count()
}

/// Questions that treat all elements alike.
const OF_ALL: [Asked; 7] = [
    ("n = 4", |it| it["n"] == "4"),
    ("n = 5", |it| it["n"] == "5"),
    ("exists p: Proc do state[p] = critical & n = 3 end", |it| {
        n_in(it, "critical") > 0 && it["n"] == "3"
    }),
    ("forall p: Proc do state[p] = waiting end & n = 2", |it| {
        n_in(it, "waiting") == 3 && it["n"] == "2"
    }),
    (
        "exists p: Proc do exists q: Proc do p != q & state[p] = critical & state[q] = critical \
         end end",
        |it| n_in(it, "critical") > 1,
    ),
    (
        "!isundefined(turn) & exists p: Proc do state[p] = waiting end & n > 2",
        |it| {
            it["turn"] != "undefined"
                && n_in(it, "waiting") > 0
                && it["n"].parse::<u32>().is_ok_and(|n| n > 2)
        },
    ),
    ("isundefined(turn) & n = 1", |it| {
        it["turn"] == "undefined" && it["n"] == "1"
    }),
];

/// Questions about one of them.
const OF_ONE: [Asked; 3] = [
    ("state[Proc_2] = critical & n = 3", |it| {
        it["state[Proc_2]"] == "critical" && it["n"] == "3"
    }),
    (
        "(isundefined(turn) ? false : turn = Proc_3) & state[Proc_1] = waiting",
        |it| it["turn"] == "Proc_3" && it["state[Proc_1]"] == "waiting",
    ),
    (
        "state[Proc_1] = critical & state[Proc_3] = critical",
        |it| it["state[Proc_1]"] == "critical" && it["state[Proc_3]"] == "critical",
    ),
];

/// All states of [`LOCK`], which the goals do not change: a step that fails its assertion leads
/// nowhere, and the invariant does not end the search.
fn lock() -> (ModelSource, Vec<(usize, Leaves)>) {
    let text = LOCK.replace("invariant \"never two\" n != 2;", "");
    let text = text.replace(
        "assert n != 5 \"less than five\";",
        "if n = 5 then assume false; end;",
    );
    // `assume` as a statement abandons the firing.
    let plain = ModelSource::text("lock.m", text, "murphi").expect("it is short");
    let asked = ModelSource::text("lock.m", LOCK, "murphi").expect("it is short");
    (asked, states_of(&plain))
}

#[test]
fn goals_hold_at_the_same_depth_with_symmetry_and_without() {
    let (source, states) = lock();
    for (goal, holds) in OF_ALL {
        let expected = least_depth(&states, holds);
        for symmetry in [Symmetry::Full, Symmetry::Off] {
            for engine in BOTH {
                let found = searched(&source, goal, symmetry, engine);
                assert_eq!(found, expected, "{goal} {symmetry:?} {engine:?}");
            }
        }
    }
    for (goal, holds) in OF_ONE {
        let expected = least_depth(&states, holds);
        for engine in BOTH {
            let found = searched(&source, goal, Symmetry::Off, engine);
            assert_eq!(found, expected, "{goal} {engine:?}");
        }
        let error = source.clone().goal(goal).load().expect_err("it is refused");
        assert!(error.to_string().contains("--symmetry off"), "{error}");
    }
}

#[test]
fn assertions_of_promela_do_not_end_the_search() {
    let text = "byte x; active proctype P() { do :: x < 5 -> assert(x != 2); x++ :: x == 5 -> \
                break od } ltl low { [] (x < 3) }";
    let source = ModelSource::text("p.pml", text, "promela").expect("it is short");
    for engine in BOTH {
        assert!(searched(&source, "x == 4", Symmetry::Full, engine).is_some());
        assert_eq!(searched(&source, "x == 6", Symmetry::Full, engine), None);
    }
}

const PROMELA: &str = "
mtype = { red, green };
#define BOTH (a && b)
chan q = [2] of { byte };
mtype light = red;
byte a, b;
active [2] proctype Worker() {
  byte own = 1;
wait: do
  :: q!own -> own = 3
  :: q?own -> atomic { light = green; a++; b = a; } ;
     if :: a > 2 -> goto done :: else fi
  od;
done: light = red
}
";

#[test]
fn goals_of_promela_see_channels_labels_locals_and_macros() {
    let source = ModelSource::text("q.pml", PROMELA, "promela").expect("it is short");
    for (goal, is_reached) in [
        ("len(q) == 2", true),
        ("full(q) && BOTH", true),
        ("len(q) == 3", false),
        ("Worker[0]@done && Worker[1]@wait", true),
        ("Worker[1]:own == 3 && light == green", true),
        ("Worker[1]:own == 2", false),
        // Inside the `atomic`, where there is no state at rest.
        ("a != b", false),
        ("_nr_pr == 1", true),
    ] {
        let all = BOTH.map(|engine| searched(&source, goal, Symmetry::Full, engine));
        assert_eq!(all[0], all[1], "{goal}");
        assert_eq!(all[0].is_some(), is_reached, "{goal}");
    }
}

/// Both streams and the exit code.
fn shown(run: &Run) -> String {
    format!("{}{}exit {}\n", run.stdout, run.stderr, run.code)
}

#[track_caller]
fn check(text: &str, language: &str, goals: &[&str], expected: Expect) {
    let mut all = String::new();
    for goal in goals {
        let flags = [
            "--language",
            language,
            "--goal",
            goal,
            "--progress",
            "none",
            "-q",
        ];
        all += &format!("{goal}\n{}\n", shown(&check_text(text, &flags)));
    }
    expected.assert_eq(&all);
}

#[test]
fn wrong_goals_of_murphi_have_a_place() {
    check(
        LOCK,
        "murphi",
        &[
            "",
            "n =",
            "n = 3 n",
            "m = 3",
            "n",
            "state[Proc_4] = idle",
            "state[Proc_1] = idle",
            "n = 3; end; rule true ==> n := 1",
            "exists p: Proc do",
            "n / 0 = 1",
        ],
        expect![[r#"

            error: expected an expression, found the end of the file
             --> <goal>:1:1
              |
            1 |
              | ^ expected an expression
            exit 2

            n =
            error: expected an expression, found the end of the file
             --> <goal>:1:4
              |
            1 | n =
              |    ^ expected an expression
            exit 2

            n = 3 n
            error: expected the end of the expression, found `n`
             --> <goal>:1:7
              |
            1 | n = 3 n
              |       ^ expected the end of the expression
            exit 2

            m = 3
            error: unknown name `m`
             --> <goal>:1:1
              |
            1 | m = 3
              | ^ not declared above this place
            exit 2

            n
            error: mismatched types: a goal must be a `boolean`
             --> <goal>:1:1
              |
            1 | n
              | ^ this is a `0..9`
              |
              = help: compare it with a number, as in `x != 0`
            exit 2

            state[Proc_4] = idle
            error: unknown name `Proc_4`
             --> <goal>:1:7
              |
            1 | state[Proc_4] = idle
              |       ^^^^^^ not declared above this place
            exit 2

            state[Proc_1] = idle
            error: the goal names an element of a scalarset
             --> <goal>:1:7
              |
            1 | state[Proc_1] = idle
              |       ^^^^^^ one of the 3 elements of `Proc`
              |
              = note: symmetry reduction visits one state of those that differ by a renaming of elements only, and the goal does not hold in all of them
              = help: say `exists p: Proc do ... end`, or run with --symmetry off
            exit 2

            n = 3; end; rule true ==> n := 1
            error: expected the end of the expression, found `;`
             --> <goal>:1:6
              |
            1 | n = 3; end; rule true ==> n := 1
              |      ^ expected the end of the expression
            exit 2

            exists p: Proc do
            error: expected an expression, found the end of the file
             --> <goal>:1:18
              |
            1 | exists p: Proc do
              |                  ^ expected an expression
            exit 2

            n / 0 = 1
            error: division by zero
             --> <goal>:1:3
              |
            1 | n / 0 = 1
              |   ^
            exit 2

        "#]],
    );
}

#[test]
fn wrong_goals_of_promela_have_a_place() {
    check(
        PROMELA,
        "promela",
        &[
            "",
            "a ==",
            "a b",
            "c == 1",
            "timeout",
            "_pid == 1",
            "np_",
            "own == 1",
            "a = 1",
            "Worker[0]@here",
            "a == 1 }",
            "#include \"x\"",
        ],
        expect![[r#"

            error: expected an expression, found the end of the file
             --> <goal>:1:1
              |
            1 |
              | ^
            exit 2

            a ==
            error: expected an expression, found the end of the file
             --> <goal>:1:5
              |
            1 | a ==
              |     ^ expected an expression
            exit 2

            a b
            error: expected the end of the expression, found `b`
             --> <goal>:1:3
              |
            1 | a b
              |   ^ expected the end of the expression
            exit 2

            c == 1
            error: `c` is not declared
             --> <goal>:1:1
              |
            1 | c == 1
              | ^
            exit 2

            timeout
            error: this is no question about a state
             --> <goal>:1:1
              |
            1 | timeout
              | ^^^^^^^
              |
              = note: it mentions `timeout`
            exit 2

            _pid == 1
            error: this is no question about a state
             --> <goal>:1:1
              |
            1 | _pid == 1
              | ^^^^^^^^^
              |
              = note: it mentions `_pid`, and is no process
            exit 2

            np_
            error: this is no question about a state
             --> <goal>:1:1
              |
            1 | np_
              | ^^^
              |
              = note: it mentions `np_`
            exit 2

            own == 1
            error: `own` is not declared
             --> <goal>:1:1
              |
            1 | own == 1
              | ^^^
            exit 2

            a = 1
            error: expected the end of the expression, found `=`
             --> <goal>:1:3
              |
            1 | a = 1
              |   ^ expected the end of the expression
            exit 2

            Worker[0]@here
            error: `Worker` has no label `here`
             --> <goal>:1:11
              |
            1 | Worker[0]@here
              |           ^^^^
            exit 2

            a == 1 }
            error: expected the end of the expression, found `}`
             --> <goal>:1:8
              |
            1 | a == 1 }
              |        ^ expected the end of the expression
            exit 2

            #include "x"
            error: cannot find the file `x`
             --> <goal>:1:1
              |
            1 | #include "x"
              | ^^^^^^^^^^^^
              |
              = note: looked for: x
              = help: folders to search are given with `-I`

            error: expected an expression, found the end of the file
             --> <goal>:1:13
              |
            1 | #include "x"
              |             ^
            exit 2

        "#]],
    );
}

#[test]
fn a_goal_that_cannot_be_evaluated_is_rejected_where_that_is_so() {
    let flags = [
        "--goal",
        "turn = Proc_2",
        "--symmetry",
        "off",
        "--json",
        "-",
    ];
    let run = check_text(LOCK, &flags);
    assert_eq!(run.code, 2, "{}", run.stderr);
    let record = run.record();
    assert_eq!(record["verdict"], "rejected");
    assert_eq!(record["violations"][0]["kind"], "undefined");
    assert_eq!(record["properties"][0]["holds"], Value::Null);
    let run = check_text(LOCK, &["--goal", "9 / n = 1", "--progress", "none"]);
    assert!(
        run.stdout
            .contains("\nerror: 9 / 0: division by zero in goal"),
        "{}",
        run.stdout
    );
    check(
        LOCK,
        "murphi",
        &["!isundefined(turn) & n = 3", "9 / n = 1"],
        expect![[r#"
            !isundefined(turn) & n = 3
            <stdin>: reached: the goal "!isundefined(turn) & n = 3" holds, after 8 steps
            exit 1

            9 / n = 1
            <stdin>: rejected: the goal cannot be evaluated: 9 / 0: division by zero in goal "9 / n = 1", in a startstate
            exit 2

        "#]],
    );
}

#[test]
fn verdicts_name_the_goal() {
    let plain = |run: Run| -> String {
        let lines = run.stdout.lines().filter(|line| {
            let volatile = ["time ", "memory "];
            !volatile.iter().any(|it| line.trim_start().starts_with(it))
        });
        let lines: Vec<&str> = lines.collect();
        format!("{}\nexit {}\n", lines.join("\n"), run.code)
    };
    let flags = |goal| ["--goal", goal, "--progress", "none", "--threads", "1"];
    expect![[r#"
        <stdin>: reached: the goal "n = 1" holds, after 2 steps

        The shortest run that reaches it, 2 steps from a startstate; what each step changes:

          0  startstate 1
               state[Proc_1] = idle
               state[Proc_2] = idle
               state[Proc_3] = idle
               n = 0
               turn is undefined
          1  rule "try"  p = Proc_1
               state[Proc_1]: idle → waiting
          2  rule "enter"  p = Proc_1
               state[Proc_1]: waiting → critical
               turn: undefined → Proc_1
               n: 0 → 1

        The state it ends in:

          state[Proc_1] = critical
          state[Proc_2] = idle
          state[Proc_3] = idle
          turn = Proc_1
          n = 1

          checked      1 goal, run-time errors
          states       4  (up to symmetry: Proc(3): 6 permutations)
          order        independent: 1 loop proved
          transitions  6
          depth        2
          the search ended at the goal; counts are of whole layers up to it
        exit 1
    "#]]
    .assert_eq(&plain(check_text(LOCK, &flags("n = 1"))));
    expect![[r#"
        <stdin>: not reachable: every reachable state was visited, and the goal "n = 5" holds in none

          checked      1 goal, run-time errors
          states       32  (up to symmetry: Proc(3): 6 permutations)
          order        independent: 1 loop proved
          transitions  78
          depth        15
        exit 0
    "#]].assert_eq(&plain(check_text(LOCK, &flags("n = 5"))));
    let hashed = [&flags("n = 5")[..], &["--store", "hash64", "-q"]].concat();
    let run = check_text(LOCK, &hashed);
    assert!(run.stdout.contains("no violation found"), "{}", run.stdout);
    assert_eq!(run.code, 0);
}

/// The record of a run on a model of ours.
fn record(model: &str, flags: &[&str]) -> (i32, Value) {
    let run = hadal(
        &[
            &["check", model, "--json", "-", "--progress", "none"],
            flags,
        ]
        .concat(),
    );
    (run.code, run.record())
}

#[test]
fn every_strategy_and_store_finds_a_goal_and_misses_none() {
    let model = "models/dekker.m";
    let states = states_of(&ModelSource::file(root().join(model)).expect("it is there"));
    let (leaf, value) = states[states.len() - 1].1.iter().next().expect("a leaf");
    let reached = format!("{leaf} = {value} & !isundefined({leaf})");
    for name in PAPERS.iter().chain(&["auto"]) {
        for store in ["exact", "hash64"] {
            let flags = ["--strategy", name, "--store", store, "--goal", &reached];
            let (code, found) = record(model, &flags);
            assert_eq!((code, &found["verdict"]), (1, &"violated".into()), "{name}");
            assert_eq!(found["violations"][0]["kind"], "invariant");
            assert_eq!(found["properties"][0]["kind"], "goal");
            assert_eq!(found["options"]["goal"][0], reached.as_str());
            let flags = ["--strategy", name, "--store", store, "--goal", "1 = 2"];
            let (code, found) = record(model, &flags);
            assert_eq!((code, &found["verdict"]), (0, &"verified".into()), "{name}");
        }
    }
}

#[test]
fn a_goal_is_part_of_the_question_and_replayed() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let (disk, json) = (folder.path().join("run"), folder.path().join("r.json"));
    let text = |path: &Path| path.to_str().expect("the path is text").to_owned();
    let model = [
        "models/sliding_unsolvable.m",
        "--const",
        "ROWS=3",
        "--const",
        "COLS=3",
    ];
    // The last of all states that a breadth-first search finds.
    let goal = "board[0] = 0 & board[1] = 8 & board[2] = 7 & board[3] = 6";
    let whole = hadal(&[&["check"], &model[..], &["--goal", goal, "--json", "-"]].concat());
    let begun = [
        &["check"],
        &model[..],
        &[
            "--goal",
            goal,
            "--disk",
            &text(&disk),
            "--data-memory",
            "600K",
        ],
        &["--time-limit", "20ms", "--progress", "none"],
    ];
    let run = hadal(&begun.concat());
    assert_eq!(run.code, 3, "{}{}", run.stdout, run.stderr);
    let run = hadal(&[
        "resume",
        &text(&disk),
        "--json",
        &text(&json),
        "--progress",
        "none",
    ]);
    let resumed: Value =
        serde_json::from_slice(&std::fs::read(&json).expect("a record")).expect("JSON");
    let whole_record = whole.record();
    for field in [
        "verdict",
        "states",
        "transitions",
        "violations",
        "properties",
    ] {
        assert_eq!(resumed[field], whole_record[field], "{field}");
    }
    assert_eq!(run.code, whole.code);
    if run.code == 1 {
        let replayed = hadal(&["replay", &text(&json), "--trace", "none"]);
        assert_eq!(replayed.code, 0, "{}", replayed.stderr);
        assert!(
            replayed.stdout.contains("reached: the goal"),
            "{}",
            replayed.stdout
        );
        assert!(
            replayed.stdout.contains("found again"),
            "{}",
            replayed.stdout
        );
    }
}
