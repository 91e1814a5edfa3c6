//! The published schema of the run record accepts what the program writes, covers all of it, and
//! rejects what the program must never write.
//!
//! Every other test holds its records to the schema as well (`common::schema`); this one makes
//! sure that each strategy, store, verdict, reason and kind of violation is among them.

use std::collections::BTreeSet;

use crate::common::schema::{SCHEMA, schema, validate};
use crate::common::{check_text, hadal, root};
use hadal_model::FaultKind;
use serde_json::{Value, json};

/// Two counters up to 9 each: a hundred states.
const COUNTERS: &str = "
var x, y: 0..9;
startstate x := 0; y := 0; end;
rule \"x\" x < 9 ==> x := x + 1; end;
rule \"y\" y < 9 ==> y := y + 1; end;
rule \"again\" x = 9 & y = 9 ==> x := 0; y := 0; end;
invariant \"small\" x + y < 19;
";

/// A grid in which most states are reached twice: a cache that is far too small visits it again and
/// again.
const GRID: &str = "
var x, y: 0..30;
startstate x := 0; y := 0; end;
rule \"x\" x := (x + 1) % 31; end;
rule \"y\" y := (y + 1) % 31; end;
";

/// The record of a run on a text.
#[track_caller]
fn record(text: &str, flags: &[&str]) -> Value {
    check_text(text, &[flags, &["--json", "-"]].concat()).record()
}

/// The values a schema allows for a field at the top.
fn allowed(field: &str) -> BTreeSet<String> {
    let schema = schema();
    let values = schema["properties"][field]["enum"].as_array();
    let values = values.unwrap_or_else(|| panic!("{field} is an enumeration"));
    let names = values.iter().filter_map(Value::as_str);
    names.map(str::to_owned).collect()
}

#[test]
fn every_strategy_writes_a_record() {
    for strategy in allowed("strategy") {
        for budget in ["16M", "64K"] {
            let flags = ["--strategy", &strategy, "--data-memory", budget];
            assert_eq!(record(COUNTERS, &flags)["strategy"], strategy.as_str());
        }
        if strategy != "auto" {
            let flags = ["--strategy", &strategy, "--store", "hash40"];
            assert_eq!(record(COUNTERS, &flags)["store"], "hash40", "{strategy}");
        }
    }
}

#[test]
fn every_store_dialect_engine_and_symmetry_writes_a_record() {
    for field in ["store", "dialect", "engine", "symmetry"] {
        // A Rust type has the empty dialect.
        for value in allowed(field).into_iter().filter(|it| !it.is_empty()) {
            let found = record(COUNTERS, &[&format!("--{field}"), &value]);
            assert_eq!(found[field], value.as_str());
            assert_eq!(found["verdict"], "verified", "{field} {value}");
        }
    }
}

#[test]
fn every_reason_writes_a_record() {
    let large = |flags: &[&str]| {
        let model = ["check", "models/sliding_unsolvable.m", "--const", "ROWS=3"];
        let rest = ["--const", "COLS=4", "--json", "-", "--progress", "none"];
        hadal(&[&model[..], &rest, flags].concat()).record()
    };
    let liveness = "var x: 0..9; startstate x := 0; end;
        rule x := (x + 1) % 10; end; liveness x = 0;";
    let little = ["--data-memory", "1M"];
    let runs = [
        ("bound", record(COUNTERS, &["--bound", "3"])),
        ("liveness", record(liveness, &["--strategy", "mono"])),
        (
            "unchecked",
            record(
                "byte x; ltl low { <> (x == 1) } init { skip }",
                &["--language", "promela"],
            ),
        ),
        ("time", large(&["--time-limit", "200ms"])),
        (
            "disk",
            large(&[&little[..], &["--disk-limit", "500K"]].concat()),
        ),
        (
            "memory",
            large(&[&little[..], &["--strategy", "ram"]].concat()),
        ),
        (
            "collisions",
            large(&[&little[..], &["--strategy", "cache"]].concat()),
        ),
        (
            "revisits",
            record(GRID, &["--strategy", "dfs-cache", "--data-memory", "1K"]),
        ),
    ];
    let mut seen = BTreeSet::new();
    for (reason, record) in runs {
        assert_eq!(record["reason"], reason);
        seen.insert(reason.to_owned());
    }
    // An interrupt has a test in `cli.rs`, whose record is held to the schema too.
    seen.insert("interrupted".to_owned());
    assert_eq!(seen, allowed("reason"));
}

/// A model for each kind of violation, with the flags it needs.
const VIOLATED: [(&str, &[&str], &str); 16] = [
    ("invariant", &[], "rule x := 1; end; invariant x = 0;"),
    ("deadlock", &[], "rule x < 3 ==> x := x + 1; end;"),
    ("assertion", &[], "rule assert x = 1 \"one\"; end;"),
    ("error", &[], "rule error \"wrong\"; end;"),
    (
        "undefined",
        &[],
        "rule undefine x; end; rule x := x + 1; end;",
    ),
    ("range", &[], "rule x := x + 1; end;"),
    ("index", &[], "rule x := a[x + 2]; end;"),
    ("division", &[], "rule x := 1 / x; end;"),
    (
        "overflow",
        &[],
        "rule x := (9223372036854775807 + x + 1) % 2; end;",
    ),
    (
        "loop-limit",
        &["--loop-limit", "9"],
        "rule while x = 0 do end; end;",
    ),
    (
        "call-limit",
        &["--call-limit", "9"],
        "function f(n: 0..3): 0..3; begin return f(n); end; rule x := f(x); end;",
    ),
    (
        "no-return",
        &[],
        "function f(): 0..3; begin if x = 1 then return 1; end; end; rule x := f(); end;",
    ),
    ("multiset-full", &[], "rule multisetadd(x, bag); end;"),
    ("step", &[], "rule for i := 0 to 3 by x do end; end;"),
    ("cover", &[], "rule x := 1 - x; end; cover x = 3;"),
    (
        "liveness",
        &[],
        "rule x := 1; end; rule x := 1 - x; end; liveness x = 2;",
    ),
];

#[test]
fn every_kind_of_violation_writes_a_record() {
    let head = "var x: 0..3; a: array [0..1] of 0..3; bag: multiset [1] of 0..3;
        startstate x := 0; clear a; end;\n";
    let mut seen = BTreeSet::new();
    for (kind, flags, text) in VIOLATED {
        let text = format!("{head}{text}");
        for strategy in ["auto", "mono"] {
            let flags = [flags, &["--strategy", strategy]].concat();
            let found = record(&text, &flags);
            if kind == "liveness" && strategy != "auto" {
                assert_eq!(found["verdict"], "incomplete");
                continue;
            }
            assert_eq!(found["verdict"], "violated", "{kind} {strategy}: {found}");
            assert_eq!(found["violations"][0]["kind"], kind, "{strategy}: {found}");
        }
        seen.insert(kind.to_owned());
    }
    seen.insert("order-dependence".to_owned());

    let schema = schema();
    let kinds = schema.pointer("/$defs/violation/properties/kind/enum");
    let kinds = kinds.and_then(Value::as_array).expect("kinds are listed");
    let kinds: BTreeSet<String> = kinds
        .iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect();
    // Models of Murphi have no others (`steps.rs` has them).
    let others = [
        "claim",
        "bad-channel",
        "blocked-d_step",
        "process-limit",
        "atomic-cycle",
        "channel-limit",
    ];
    let of_murphi = |kind: &&String| !others.contains(&kind.as_str());
    assert_eq!(seen, kinds.iter().filter(of_murphi).cloned().collect());
    for fault in FaultKind::ALL {
        assert!(kinds.contains(fault.name()), "{}", fault.name());
    }
}

/// A loop whose result depends on the order of elements, which only a run can show.
const ORDER_DEPENDENT: &str = "
type Proc: scalarset(2);
var last: Proc;
startstate undefine last; end;
rule for p: Proc do last := p; end; end;
";

#[test]
fn every_way_to_reject_a_model_writes_a_record() {
    // By the front-end, by the analysis of order (too many orders to try), for lack of a startstate.
    let many = ORDER_DEPENDENT.replace("(2)", "(12)");
    let nothing = "var x: 0..1; startstate x := 0; end; rule x := 1; end; assume x = 1;";
    for text in ["var x: 0..1", &many, nothing] {
        let found = record(text, &[]);
        assert_eq!(found["verdict"], "rejected", "{found}");
        assert!(found.get("states").is_none());
        assert_eq!(found["violations"], json!([]));
    }
    let found = record(ORDER_DEPENDENT, &[]);
    assert_eq!(found["verdict"], "rejected", "{found}");
    assert_eq!(found["violations"][0]["kind"], "order-dependence");
    assert!(found.get("states").is_none());
    assert!(found.get("rules").is_some(), "the search had begun");
}

#[test]
fn a_resumed_run_writes_a_record() {
    let parent = tempfile::tempdir_in(root().join("target")).expect("a folder can be made");
    let folder = parent.path().join("run").display().to_string();
    let model = ["check", "models/sliding_unsolvable.m", "--const", "ROWS=2"];
    let flags = [
        "--const",
        "COLS=4",
        "--disk",
        &folder,
        "--disk-limit",
        "100K",
    ];
    let json = ["--data-memory", "300K", "--json", "-", "--progress", "none"];
    let stopped = hadal(&[&model[..], &flags, &json].concat());
    assert_eq!(stopped.record()["reason"], "disk", "{}", stopped.stderr);
    let resumed = hadal(&[&["resume", &folder], &json[..]].concat());
    assert_eq!(
        resumed.record()["verdict"],
        "verified",
        "{}",
        resumed.stderr
    );
    assert_ne!(resumed.record()["disk"]["peak_bytes"], 0);
}

/// A change to a record, by JSON pointer; `None` removes the field.
type Change = (&'static str, Option<Value>);

/// A record with a change, or nothing where the field is not there to be removed.
fn changed(record: &Value, (pointer, value): &Change) -> Value {
    let (parent, field) = pointer.rsplit_once('/').expect("a pointer has a slash");
    let mut record = record.clone();
    let parent = record.pointer_mut(parent).expect("the parent is there");
    let parent = parent.as_object_mut().expect("the parent is an object");
    match value {
        Some(value) => {
            parent.insert(field.to_owned(), value.clone());
        }
        None => {
            parent.shift_remove(field).expect("the field is there");
        }
    }
    record
}

#[track_caller]
fn assert_broken_by(record: &Value, changes: &[Change]) {
    assert_eq!(validate(record), Ok(()));
    for change in changes {
        let broken = changed(record, change);
        assert!(validate(&broken).is_err(), "{change:?} is accepted");
    }
}

#[test]
fn a_broken_record_is_rejected() {
    let verified = record(COUNTERS, &[]);
    assert_broken_by(
        &verified,
        &[
            ("/verdict", Some(json!("proved"))),
            ("/verdict", Some(json!("violated"))),
            ("/verdict", Some(json!("incomplete"))),
            ("/verdict", Some(json!("rejected"))),
            ("/complete", Some(json!(false))),
            ("/complete", Some(json!("yes"))),
            ("/reason", Some(json!("time"))),
            ("/reason", Some(json!("tired"))),
            ("/states", Some(json!(-1))),
            ("/states", Some(json!(1.5))),
            ("/states", Some(json!("100"))),
            ("/states_exact", Some(json!(false))),
            ("/depth", Some(json!(null))),
            ("/layers", Some(json!([1, "2"]))),
            ("/diagnostics", Some(json!([]))),
            ("/violations", Some(json!(null))),
            ("/strategy", Some(json!("dfs-cache"))),
            ("/strategy_stats/colisions", Some(json!(1))),
            ("/store", Some(json!("hash64"))),
            ("/threads", Some(json!(0))),
            ("/constants/N", Some(json!(4))),
            ("/omission", Some(json!({"any": 0.1, "given_error": 0.1}))),
            ("/disk/bytes_per_state", Some(json!("many"))),
            ("/seconds/first_state", Some(json!(-1.0))),
            ("/seconds/lunch", Some(json!(3600.0))),
            ("/comment", Some(json!("unknown"))),
        ],
    );
    // Nothing of a record may be missing, at the top or below it.
    let sections = ["duplicates", "memory", "disk", "seconds"];
    for section in [""].into_iter().chain(sections) {
        let (pointer, fields) = match section {
            "" => (String::new(), &verified),
            _ => (format!("/{section}"), &verified[section]),
        };
        for field in fields.as_object().expect("a section is an object").keys() {
            let mut broken = verified.clone();
            let section = broken.pointer_mut(&pointer).and_then(Value::as_object_mut);
            section.expect("it is there").shift_remove(field);
            assert!(
                validate(&broken).is_err(),
                "{pointer}/{field} may be missing"
            );
        }
    }
}

#[test]
fn a_broken_violation_is_rejected() {
    let text = "var x: 0..1; startstate x := 0; end; rule x := 1; end; invariant x = 0;";
    let violated = record(text, &[]);
    assert_broken_by(
        &violated,
        &[
            ("/verdict", Some(json!("verified"))),
            ("/violations", Some(json!([]))),
            ("/violations/0/kind", Some(json!("order-dependence"))),
            ("/violations/0/kind", Some(json!("bug"))),
            ("/violations/0/at", Some(json!("somewhere"))),
            ("/violations/0/message", Some(json!(""))),
            ("/violations/0/depth", None),
            ("/violations/0/trace", None),
            ("/violations/0/trace/0/rule", None),
            ("/violations/0/trace/0/changes/x", Some(json!(0))),
            ("/violations/0/state/x", Some(json!(null))),
        ],
    );
}

#[test]
fn a_broken_rejection_is_rejected() {
    assert_broken_by(
        &record("var x: 0..1", &[]),
        &[
            ("/verdict", Some(json!("incomplete"))),
            ("/diagnostics", None),
            ("/diagnostics", Some(json!([]))),
            ("/diagnostics/0/severity", Some(json!("fatal"))),
            ("/complete", Some(json!(true))),
            ("/states", Some(json!(0))),
            ("/rules", Some(json!([]))),
        ],
    );
    assert_broken_by(
        &record(ORDER_DEPENDENT, &[]),
        &[
            ("/states", Some(json!(4))),
            ("/rules", None),
            ("/violations", Some(json!([]))),
            ("/violations/0/kind", Some(json!("invariant"))),
        ],
    );
}

#[test]
fn the_reference_page_explains_every_field() {
    let page = "docs/reference/run-record.md";
    let text = std::fs::read_to_string(root().join(page)).expect("the page is in the tree");
    let mut fields = Vec::new();
    names(&schema(), &mut fields);
    assert!(fields.len() > 100, "{SCHEMA} has {} fields", fields.len());
    for field in fields {
        assert!(
            text.contains(&format!("`{field}`")),
            "{page} lacks `{field}`"
        );
    }
}

/// Names of all properties that a schema declares, at any depth.
fn names(schema: &Value, found: &mut Vec<String>) {
    match schema {
        Value::Object(fields) => {
            for (key, value) in fields {
                match (key.as_str(), value) {
                    // Conditions repeat what is declared elsewhere.
                    ("if" | "then" | "else" | "allOf", _) => {}
                    ("properties", Value::Object(properties)) => {
                        found.extend(properties.keys().cloned());
                        properties.values().for_each(|value| names(value, found));
                    }
                    (_, value) => names(value, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| names(item, found)),
        _ => {}
    }
}
