//! What a run reports about a model whose results depend on the order of iterations. The model here
//! says so itself: an `error` whose text begins with `order` stands for such a result.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use clap::Parser;
use expect_test::{Expect, expect};
use hadal::language::Murphi;
use hadal::order::{CheckedLoopReport, Extent, OrderReport};
use hadal::syntax::{Label, Source, Sources};
use hadal::{Check, Disk, ModelSource};
use hadal_model::{
    Cursor, Expander, Failure, Fault, FaultKind, Flow, Model, Remark, Shape, States, Step, Stop,
    Successors,
};
use serde_json::{Value, json};

use super::*;
use crate::exit::{self, Exit};
use crate::flags::{Cli, Command};

/// A model some of whose faults are dependences on the order.
struct Dependent(Box<dyn Model>);

struct DependentExpander<'a>(Box<dyn Expander + 'a>);

fn convert(fault: &mut Fault) {
    if fault.kind == FaultKind::Error && fault.message.starts_with("order") {
        fault.kind = FaultKind::OrderDependence;
    }
}

fn convert_sources(out: &mut Successors) {
    let sources = out.columns().sources.iter_mut();
    sources.for_each(|source| source.faults.iter_mut().for_each(convert));
}

fn convert_failures(failures: &mut [Failure]) {
    let faults = failures.iter_mut().filter_map(|it| it.fault.as_deref_mut());
    faults.for_each(convert);
}

impl Model for Dependent {
    fn shape(&self) -> &Shape {
        self.0.shape()
    }

    fn expander<'a>(&'a self, stop: &'a Stop) -> Box<dyn Expander + 'a> {
        Box::new(DependentExpander(self.0.expander(stop)))
    }

    fn reference_expander<'a>(&'a self, stop: &'a Stop) -> Box<dyn Expander + 'a> {
        Box::new(DependentExpander(self.0.reference_expander(stop)))
    }

    fn describe_state(&self, state: &[u8]) -> Vec<(String, String)> {
        self.0.describe_state(state)
    }

    fn describe_step(&self, parent: Option<&[u8]>, index: u32) -> Option<Step> {
        self.0.describe_step(parent, index)
    }
}

impl Expander for DependentExpander<'_> {
    fn starts(&mut self, from: Cursor, out: &mut Successors) -> Flow {
        self.0.starts(from, out)
    }

    fn expand(&mut self, block: States<'_>, from: Cursor, out: &mut Successors) -> Flow {
        let flow = self.0.expand(block, from, out);
        convert_sources(out);
        flow
    }

    fn canonicalise(&mut self, states: &mut [u8]) {
        self.0.canonicalise(states);
    }

    fn canonicalise_successors(&mut self, block: States<'_>, out: &mut Successors) {
        self.0.canonicalise_successors(block, out);
    }

    fn check(&mut self, block: States<'_>, failures: &mut Vec<Failure>) -> Flow {
        let flow = self.0.check(block, failures);
        convert_failures(failures);
        flow
    }

    fn reach_goals(
        &mut self,
        block: States<'_>,
        reached: &mut [u64],
        failures: &mut Vec<Failure>,
    ) -> Flow {
        let flow = self.0.reach_goals(block, reached, failures);
        convert_failures(failures);
        flow
    }

    fn take_remarks(&mut self) -> Vec<Remark> {
        self.0.take_remarks()
    }
}

/// What a run reports.
struct Reported {
    exit: Exit,
    text: String,
    record: Value,
}

fn report_of(model: &str, flags: &[&str]) -> Reported {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/peterson.m");
    let typed = ["hadal", "check", file].into_iter();
    let args = match Cli::parse_from(typed.chain(flags.iter().copied())).command {
        Command::Check(args) => args,
        other => panic!("{other:?}"),
    };
    let source = Source::new("lock.m", model).expect("it is short");
    let source = ModelSource::new(Sources::new(source), &Murphi);
    let source = args.model.configure(source, &args.symmetry, &args.states);
    let mut loaded = source.load().expect("the model is right");
    loaded.model = Box::new(Dependent(loaded.model));
    let order = loaded.order.insert(report(3, &[("lock.m:9:5", 2)]));
    order.checked[0].doubts.push(Label {
        span: loaded.source.sources.root().word_at(2, 37),
        text: "why it is not proved".to_owned(),
        primary: false,
    });
    let check = Check::new(&loaded)
        .search(args.search_options(&source))
        .resources(args.run.resources())
        .disk_use(Disk::None);
    let checked = check.run().expect("the search has an outcome");
    let summary = Summary {
        checked: &checked,
        loaded: &loaded,
        strategy: &Auto,
        args: &args.run,
        shortage: None,
    };
    let text = summary.render(args.run.color.style(&std::io::stdout()));
    let record = serde_json::to_string(&checked.record()).expect("it becomes text");
    Reported {
        exit: exit::of_verdict(checked.outcome.verdict),
        text,
        record: serde_json::from_str(&record).expect("it is JSON"),
    }
}

/// The text without what changes from run to run.
#[track_caller]
fn check(reported: &Reported, expected: Expect) {
    let lines = reported.text.lines().filter(|line| {
        let line = line.trim_start();
        !line.starts_with("time ") && !line.starts_with("memory ")
    });
    let text: String = lines.map(|line| format!("{line}\n")).collect();
    expected.assert_eq(&text);
}

fn report(proved: usize, checked: &[(&str, u64)]) -> OrderReport {
    let checked = checked.iter().map(|&(at, n)| CheckedLoopReport {
        at: at.to_owned(),
        doubts: Vec::new(),
        states: Arc::new(AtomicU64::new(n)),
    });
    OrderReport {
        proved,
        checked: checked.collect(),
    }
}

/// The first of three that ask is granted something, where `grant` says who that is.
fn lock(grant: &str, properties: &str) -> String {
    format!(
        "type Proc: scalarset(3);
var asked: array [Proc] of boolean; owner: Proc;
startstate \"idle\" for p: Proc do asked[p] := false end; undefine owner end;
function both(p: Proc): boolean;
begin return exists q: Proc do q != p & asked[p] & asked[q] end end;
ruleset p: Proc do
  rule \"ask\" !asked[p] ==> asked[p] := true end;
  rule \"grant\" both(p) ==>
    {grant}
  end;
end;
ruleset p: Proc do cover \"everyone asks\" asked[p] end;
{properties}"
    )
}

const DEPENDS: &str = "error \"order of Proc_1 and Proc_2 matters to `owner`\"";

#[test]
fn a_rejected_model_is_shown_with_the_place_the_run_and_what_to_do() {
    let reported = report_of(&lock(DEPENDS, ""), &[]);
    assert_eq!((reported.exit, reported.exit.code()), (Exit::Usage, 2));
    check(
        &reported,
        expect![[r#"
            lock.m: rejected: the result of the loop at lock.m:9:5 depends on the order of its iterations, after 2 steps

            error: order of Proc_1 and Proc_2 matters to `owner`, in rule "grant" (p = Proc_1), after 2 steps
             --> lock.m:9:5
              |
            2 | var asked: array [Proc] of boolean; owner: Proc;
              |                                     ----- why it is not proved
            ...
            9 |     error "order of Proc_1 and Proc_2 matters to `owner`"
              |     ^^^^^
              |
              = help: the elements of a scalarset have no order, so the model must not depend on one: let a ruleset choose the element, with the loop's condition in its guard, so that every choice is explored; or keep a set (an array of boolean) in place of one element. Without symmetry reduction the loop runs in one fixed order, and nothing else is checked

            The shortest run that reaches it, 2 steps from a startstate; what each step changes:

              0  startstate "idle"
                   asked[Proc_1] = false
                   asked[Proc_2] = false
                   asked[Proc_3] = false
                   owner is undefined
              1  rule "ask"  p = Proc_1
                   asked[Proc_1]: false → true
              2  rule "ask"  p = Proc_2
                   asked[Proc_2]: false → true
              !  rule "grant"  p = Proc_1
                   the result depends on the order of the iterations

            The state it ends in:

              asked[Proc_1] = true
              asked[Proc_2] = true
              asked[Proc_3] = false
              owner is undefined

              states       3  (up to symmetry: Proc(3): 6 permutations)
              order        dependent, as shown above: 3 loops proved, 1 checked in all orders (in 2 states, at lock.m:9:5)
              transitions  5
              depth        2
              the search ended at the order dependence; nothing else is decided, and counts are of whole layers up to it
        "#]],
    );
}

#[test]
fn its_record_has_diagnostics_and_the_run_but_no_counts() {
    let model = lock(DEPENDS, "invariant \"few\" true;");
    for flags in [&[][..], &["--max-errors", "10"], &["--trace", "none"]] {
        let record = report_of(&model, flags).record;
        assert_eq!(record["verdict"], "rejected");
        assert_eq!(
            (&record["complete"], &record["reason"]),
            (&json!(false), &Value::Null)
        );
        let message =
            "order of Proc_1 and Proc_2 matters to `owner`, in rule \"grant\" (p = Proc_1)";
        let diagnostic = json!({"severity": "error", "message": message, "at": "lock.m:9:5"});
        assert_eq!(record["diagnostics"], json!([diagnostic]));
        let violations = record["violations"].as_array().expect("a list");
        assert_eq!(violations.len(), 1);
        assert_eq!(violations[0]["kind"], "order-dependence");
        assert_eq!(violations[0]["depth"], 2);
        assert_eq!(violations[0]["trace"].as_array().map(Vec::len), Some(3));
        assert_eq!(violations[0]["state"]["asked[Proc_3]"], "false");
        for count in ["states", "visited", "transitions", "depth", "layers"] {
            assert_eq!(record.get(count), None, "{count}");
        }
        for property in record["properties"].as_array().expect("a list") {
            assert_eq!(property["holds"], Value::Null);
        }
        let checked = json!([{"at": "lock.m:9:5", "states": 2}]);
        assert_eq!(record["order"], json!({"proved": 3, "checked": checked}));
    }
}

#[test]
fn violations_before_it_are_violations() {
    let properties = "ruleset p: Proc do invariant \"nobody asks twice\" !both(p) end;";
    let model = lock(DEPENDS, properties);
    let reported = report_of(&model, &["--max-errors", "10"]);
    assert_eq!(reported.exit, Exit::Violated);
    check(
        &reported,
        expect![[r#"
            lock.m: violated: invariant "nobody asks twice" (p = Proc_1) is false, after 2 steps

            violation: invariant "nobody asks twice" (p = Proc_1) is false, after 2 steps
              --> lock.m:13:20
               |
            13 | ruleset p: Proc do invariant "nobody asks twice" !both(p) end;
               |                    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

            The shortest run that shows it, 2 steps from a startstate; what each step changes:

              0  startstate "idle"
                   asked[Proc_1] = false
                   asked[Proc_2] = false
                   asked[Proc_3] = false
                   owner is undefined
              1  rule "ask"  p = Proc_1
                   asked[Proc_1]: false → true
              2  rule "ask"  p = Proc_2
                   asked[Proc_2]: false → true

            The state it ends in:

              asked[Proc_1] = true
              asked[Proc_2] = true
              asked[Proc_3] = false
              owner is undefined

            error: order of Proc_1 and Proc_2 matters to `owner`, in rule "grant" (p = Proc_1), after 2 steps
             --> lock.m:9:5
              |
            2 | var asked: array [Proc] of boolean; owner: Proc;
              |                                     ----- why it is not proved
            ...
            9 |     error "order of Proc_1 and Proc_2 matters to `owner`"
              |     ^^^^^
              |
              = help: the elements of a scalarset have no order, so the model must not depend on one: let a ruleset choose the element, with the loop's condition in its guard, so that every choice is explored; or keep a set (an array of boolean) in place of one element. Without symmetry reduction the loop runs in one fixed order, and nothing else is checked

            The shortest run that reaches it, 2 steps from a startstate; what each step changes:

              0  startstate "idle"
                   asked[Proc_1] = false
                   asked[Proc_2] = false
                   asked[Proc_3] = false
                   owner is undefined
              1  rule "ask"  p = Proc_1
                   asked[Proc_1]: false → true
              2  rule "ask"  p = Proc_2
                   asked[Proc_2]: false → true
              !  rule "grant"  p = Proc_1
                   the result depends on the order of the iterations

            The state it ends in:

              asked[Proc_1] = true
              asked[Proc_2] = true
              asked[Proc_3] = false
              owner is undefined

              checked      1 invariant, 1 cover property, deadlock, run-time errors
              states       3  (up to symmetry: Proc(3): 6 permutations)
              order        dependent, as shown above: 3 loops proved, 1 checked in all orders (in 2 states, at lock.m:9:5)
              transitions  5
              depth        2
              the search ended at the order dependence; nothing else is decided, and counts are of whole layers up to it
        "#]],
    );
    assert_eq!(reported.record["verdict"], "violated");
    assert_eq!(reported.record["complete"], false);
    assert_eq!(reported.record.get("diagnostics"), None);
    assert_eq!(reported.record["states"], 3);
    let kinds = reported.record["violations"]
        .as_array()
        .expect("a list")
        .iter();
    let kinds: Vec<&Value> = kinds.map(|violation| &violation["kind"]).collect();
    assert_eq!(kinds, ["invariant", "order-dependence"]);
    // The first violation is enough, where no more are asked for.
    let reported = report_of(&model, &[]);
    assert_eq!(
        reported.record["violations"].as_array().map(Vec::len),
        Some(1)
    );
    assert!(!reported.text.contains("order of"), "{}", reported.text);
}

#[test]
fn a_property_may_depend_on_the_order_in_a_startstate() {
    let properties = "function bad(): boolean;
begin error \"order of operands matters\"; return true end;
invariant \"odd\" bad();";
    let text = "var x: boolean; startstate x := false end; rule x := !x end;";
    let reported = report_of(&format!("{text}\n{properties}"), &["-q"]);
    assert_eq!(reported.exit, Exit::Usage);
    check(
        &reported,
        expect![[r#"
            lock.m: rejected: the result of the loop at lock.m:3:7 depends on the order of its iterations, in a startstate
        "#]],
    );
}

#[test]
fn flags_do_to_it_what_they_do_to_violations() {
    let model = lock(DEPENDS, "");
    let quiet = report_of(&model, &["-q"]).text;
    assert_eq!(quiet.lines().count(), 1);
    let without = report_of(&model, &["--trace", "none"]).text;
    assert!(without.contains("= help: the elements"), "{without}");
    assert!(!without.contains("The shortest run"), "{without}");
    let full = report_of(&model, &["--trace", "full"]).text;
    assert!(full.contains("the whole state after each step"), "{full}");
    let coloured = report_of(&model, &["--color", "always"]).text;
    assert!(!coloured.contains("lock.m: rejected: the"), "{coloured}");
    assert!(
        coloured.contains("\x1b[1m\x1b[31mrejected\x1b[0m"),
        "{coloured}"
    );
    let verbose = report_of(&model, &["-v"]).text;
    let checks =
        "States in which the order of iterations was checked:\n                2  lock.m:9:5\n";
    assert!(verbose.contains(checks), "{verbose}");
    assert!(verbose.contains("not decided  cover"), "{verbose}");
}

#[test]
fn what_was_proved_and_checked_is_one_line() {
    let check = |proved, checked: &[(&str, u64)], now: Option<&str>, ahead: Option<&str>| {
        let report = report(proved, checked);
        assert_eq!(report.describe(Extent::Everything).as_deref(), now);
        assert_eq!(report.describe_ahead(false).as_deref(), ahead);
    };
    check(0, &[], None, None);
    check(
        1,
        &[],
        Some("independent: 1 loop proved"),
        Some("1 loop proved independent"),
    );
    check(
        11,
        &[("a.m:3:4", 5210)],
        Some("independent: 11 loops proved, 1 checked in all orders (in 5,210 states, at a.m:3:4)"),
        Some(
            "11 loops proved independent, 1 to be checked in all orders during the search (at \
             a.m:3:4)",
        ),
    );
    check(
        0,
        &[("a.m:3:4", 1)],
        Some("independent: 1 loop checked in all orders (in 1 state, at a.m:3:4)"),
        Some("1 loop to be checked in all orders during the search (at a.m:3:4)"),
    );
    check(
        0,
        &[("a.m:3:4", 1000), ("a.m:9:4", 0)],
        Some(
            "independent: 2 loops checked in all orders (in 1,000 states, at a.m:3:4 and a.m:9:4)",
        ),
        Some("2 loops to be checked in all orders during the search (at a.m:3:4 and a.m:9:4)"),
    );
    let many = [("a.m:3:4", 2), ("a.m:5:4", 3), ("a.m:9:4", 4)];
    check(
        1,
        &many,
        Some("independent: 1 loop proved, 3 checked in all orders (in 9 states)"),
        Some("1 loop proved independent, 3 to be checked in all orders during the search"),
    );
    assert_eq!(
        report(1, &many).describe_ahead(true).as_deref(),
        Some(
            "1 loop proved independent, 3 to be checked in all orders during the search (at \
             a.m:3:4, a.m:5:4 and a.m:9:4)"
        ),
    );
}

#[test]
fn nothing_is_claimed_of_states_that_were_not_visited() {
    let check = |checked: &[(&str, u64)], extent: Extent, expected: &str| {
        let line = report(3, checked).describe(extent);
        assert_eq!(line.as_deref(), Some(expected));
    };
    let checked = [("a.m:3:4", 8)];
    check(
        &checked,
        Extent::Part,
        "no dependence found so far: 3 loops proved, 1 checked in all orders (in 8 states, at a.m:3:4)",
    );
    check(
        &checked,
        Extent::Signatures,
        "no dependence found: 3 loops proved, 1 checked in all orders (in 8 states, at a.m:3:4)",
    );
    // A proof holds in all states, visited or not.
    check(&[], Extent::Part, "independent: 3 loops proved");
}

/// The line of the summary about order.
fn order_line(reported: &Reported) -> &str {
    let mut lines = reported.text.lines().map(str::trim_start);
    let line = lines.find_map(|line| line.strip_prefix("order "));
    line.expect("there is a line about order").trim_start()
}

#[test]
fn only_a_whole_search_makes_loops_independent() {
    let model = lock("asked[p] := false", "invariant \"few\" true;");
    let cases: &[(&[&str], &str)] = &[
        (&[], "independent: "),
        (&["--bound", "1"], "no dependence found so far: "),
        (&["--store", "hash64"], "no dependence found: "),
    ];
    for (flags, begins) in cases {
        let reported = report_of(&model, flags);
        assert!(
            order_line(&reported).starts_with(begins),
            "{}",
            reported.text
        );
    }
    // A violation ends the search, but not one that only the whole state space shows.
    let violated = lock(
        "asked[p] := false",
        "ruleset p: Proc do invariant \"i\" !both(p) end;",
    );
    let uncovered = lock("asked[p] := false", "cover \"never\" false;");
    for (model, begins) in [(violated, cases[1].1), (uncovered, cases[0].1)] {
        let reported = report_of(&model, &[]);
        assert_eq!(reported.exit, Exit::Violated);
        assert!(
            order_line(&reported).starts_with(begins),
            "{}",
            reported.text
        );
    }
}

#[test]
fn a_fault_in_a_property_names_its_kind() {
    let text = "var x: 0..1; startstate x := 0 end; rule x := 1 - x end;
function bad(): boolean; begin assert x = 0 \"low\"; return true end;";
    for kind in ["invariant", "cover", "liveness"] {
        let reported = report_of(&format!("{text}\n{kind} \"odd\" bad();"), &["-q"]);
        let expected =
            format!("lock.m: violated: assertion \"low\" fails in {kind} \"odd\", after 1 step\n");
        assert_eq!(reported.text, expected);
    }
}
