//! What is run to reach loops, and what is not.

use expect_test::{Expect, expect};
use hadal_ir::interp::{Interpreter, Limits, OrderChecker};
use hadal_model::{Cursor, Model, States, Stop, Stopped, Successors};

use super::{all_loops, interpreter, padded, program, reachable, rendered, verdict};

fn check(text: &str, expected: Expect) {
    expected.assert_eq(&verdict(text, &[]));
}

/// A loop that depends on its order wherever it is run.
const LAST: &str = "
type Proc: scalarset(2); var last: Proc; n: 0..3;
procedure take_last(); begin for p: Proc do last := p; end; end;
startstate n := 0; end;
";

#[test]
fn rules_that_a_better_priority_hides_are_not_run() {
    let text = |better: &str| {
        format!(
            "{LAST}
             rule 1 \"better\" {better} ==> n := n + 1; end;
             rule 2 \"worse\" n < 3 ==> take_last(); end;"
        )
    };
    check(&text("n < 3"), expect!["independent, evaluated [0]"]);
    check(
        &text("n < 1"),
        expect![[r#"
            test.m:3:34: order-dependence in Body of "worse"
            the result depends on the order of the iterations: `last` ends as Proc_2 if Proc_1 comes before Proc_2, and as Proc_1 the other way round
        "#]],
    );
}

#[test]
fn an_abandoned_firing_hides_worse_priorities_too() {
    check(
        &format!(
            "{LAST}
             rule 1 \"better\" n = 0 ==> assume false; end;
             rule 2 \"worse\" n = 0 ==> take_last(); end;"
        ),
        expect!["independent, evaluated [0]"],
    );
}

#[test]
fn bodies_are_run_where_guards_hold() {
    check(
        &format!("{LAST} rule \"never\" n > 2 ==> take_last(); end;"),
        expect!["independent, evaluated [0]"],
    );
    check(
        &format!(
            "{LAST} rule \"next\" n < 3 ==> n := n + 1; end; rule \"last\" n > 2 ==> take_last(); end;"
        ),
        expect![[r#"
            test.m:3:34: order-dependence in Body of "last"
            the result depends on the order of the iterations: `last` ends as Proc_2 if Proc_1 comes before Proc_2, and as Proc_1 the other way round
        "#]],
    );
}

#[test]
fn instances_that_fail_are_skipped() {
    check(
        &format!(
            "{LAST}
             ruleset i: 0..2 do
               rule \"body\" 1 / (i - 1) < 2 ==> n := 1 / i; if i = 2 then take_last(); end; end;
             end;"
        ),
        expect![[r#"
            test.m:3:34: order-dependence in Body of "body" i=2
            the result depends on the order of the iterations: `last` ends as Proc_2 if Proc_1 comes before Proc_2, and as Proc_1 the other way round
        "#]],
    );
}

#[test]
fn assumptions_are_checked_after_every_rule() {
    // No rule reaches a loop; the assumption does where `n` is 2.
    check(
        "type Index: 1..2;
         var x: array [Index] of boolean; n: 0..3;
         startstate x[1] := true; n := 0; end;
         rule \"step\" n < 3 ==> n := n + 1; end;
         assume \"first\" n < 3;
         assume \"some\" n != 2 | exists i: Index do x[i] end;",
        expect![[r#"
            test.m:6:40: order-dependence in Property of "some"
            the result depends on the order of the iterations: it is true if 1 comes first and fails (`x[2]` is undefined) if 2 comes first
        "#]],
    );
    // A state that an assumption leaves out is not looked at any further.
    check(
        "type Index: 1..2;
         var x: array [Index] of boolean; n: 0..3;
         startstate x[1] := true; n := 0; end;
         rule \"step\" n < 3 ==> n := n + 1; end;
         assume \"first\" n < 2;
         assume \"some\" n != 2 | exists i: Index do x[i] end;",
        expect!["independent, evaluated [0]"],
    );
    // Nor is one that an assumption cannot be evaluated on, and the next rule is run.
    check(
        "type Index: 1..2;
         var x: array [Index] of boolean; n: 0..3;
         startstate x[1] := true; n := 0; end;
         rule \"fail\" n := 1; end;
         rule \"step\" n := 2; end;
         assume \"first\" 1 / (n - 1) < 3;
         assume \"some\" n != 2 | exists i: Index do x[i] end;",
        expect![[r#"
            test.m:7:40: order-dependence in Property of "some"
            the result depends on the order of the iterations: it is true if 1 comes first and fails (`x[2]` is undefined) if 2 comes first
        "#]],
    );
}

#[test]
fn properties_have_the_numbers_of_the_shape() {
    let interpreter = interpreter(
        "type Index: 1..2;
         var x: array [Index] of boolean;
         startstate x[1] := true; end;
         rule \"nothing\" end;
         invariant \"none\" true;
         assume \"assumed\" true;
         invariant \"first\" exists i: Index do x[i] end;
         ruleset i: Index do cover \"each\" exists j: Index do i = j | x[j] end; end;
         liveness \"none either\" exists i: Index do i = 1 end;
         liveness \"last\" !forall i: Index do !x[i] end;",
    );
    let checks = all_loops(interpreter.program(), &[]);
    let stop = Stop::new();
    let mut checker = interpreter.order_checker(&checks, &stop);
    let state = &reachable(&interpreter)[0];
    assert_eq!(checker.check_rules(state), Ok(None));
    let found = checker.check_properties(state, |_| true).unwrap();
    let found = found.iter().map(|(number, fault)| {
        assert_eq!(
            interpreter.shape().properties[*number as usize].name,
            fault.name
        );
        format!("{number} {}", rendered(fault))
    });
    expect![[r#"
        1 test.m:7:35: order-dependence in Property of "first"
        the result depends on the order of the iterations: it is true if 1 comes first and fails (`x[2]` is undefined) if 2 comes first
        2 test.m:8:50: order-dependence in Property of "each" i=1
        the result depends on the order of the iterations: it is true if 1 comes first and fails (`x[2]` is undefined) if 2 comes first
        4 test.m:10:34: order-dependence in Property of "last"
        the result depends on the order of the iterations: it is false if 1 comes first and fails (`x[2]` is undefined) if 2 comes first
    "#]].assert_eq(&found.collect::<String>());
}

#[test]
fn a_checker_can_be_used_again_and_again() {
    fn assert_send<T: Send>(_: &T) {}
    let interpreter = interpreter(&format!(
        "{LAST}
         rule \"count\" n := 0; for p: Proc do n := n + 1; end; end;
         rule \"last\" take_last(); end;"
    ));
    let checks = all_loops(interpreter.program(), &[]);
    let stop = Stop::new();
    let mut checker: OrderChecker<'_> = interpreter.order_checker(&checks, &stop);
    assert_send(&checker);
    let states = reachable(&interpreter);
    let first = checker.check_rules(&states[0]).unwrap();
    assert!(first.is_some());
    for state in &states {
        checker.check_rules(state).unwrap();
    }
    assert_eq!(checker.check_rules(&states[0]).unwrap(), first);
    let n = states.len() as u64 + 2;
    assert_eq!(checker.take_evaluations(), [n, n]);
    assert_eq!(checker.take_evaluations(), [0, 0]);
}

/// A checker that was asked to stop notices it where something takes long, and nowhere else.
#[test]
fn what_reaches_no_loop_is_not_evaluated() {
    let endless = |at: &str, priority: u32| {
        let text = format!(
            "{LAST}
             function forever(): boolean; var i: 0..1; begin i := 0; while i = 0 do end; return true; end;
             rule {priority} \"idle\" {at} end;
             rule 1 \"checked\" n = 0 ==> n := 0; for p: Proc do n := n + 1; end; end;"
        );
        let limits = Limits {
            loop_rounds: u64::MAX,
            ..Limits::default()
        };
        let interpreter = Interpreter::new(program(&text), limits);
        let checks = all_loops(interpreter.program(), &[]);
        let stop = Stop::new();
        stop.raise();
        let mut out = Successors::new(interpreter.shape(), 1);
        out.reset(1);
        interpreter
            .expander(&stop)
            .starts(Cursor::default(), &mut out);
        let mut checker = interpreter.order_checker(&checks, &stop);
        checker.check_rules(out.state(0))
    };
    assert_eq!(endless("forever() ==>", 1), Ok(None));
    assert_eq!(endless("forever() ==>", 2), Ok(None));
    // Whether the checked rule fires depends on this one.
    assert_eq!(endless("forever() ==>", 0), Err(Stopped));
    // A rule that is enabled is enough, and bodies do not matter.
    assert_eq!(
        endless("n = 0 ==> n := 1; if forever() then n := 0; end;", 0),
        Ok(None)
    );
    assert_eq!(
        endless(
            "n = 0 ==> for p: Proc do if forever() then n := 1; end; end;",
            1
        ),
        Err(Stopped)
    );
}

/// Checks need more of the stack than the passes themselves. That may make a check give up, but
/// not pass.
#[test]
fn a_stack_that_ends_in_a_check_does_not_hide_a_dependence() {
    let text = "
        type Proc: scalarset(2); var last: Proc;
        function deep(d: 0..40): boolean;
        begin
          if d = 0 then return true; end;
          return deep(d - 1);
        end;
        startstate undefine last; end;
        rule \"last\" for p: Proc do if deep(40) then last := p; end; end; end;";
    let (mut n_deep_enough, mut n_too_deep) = (0, 0);
    for stack_bytes in (4 << 10..128 << 10).step_by(64) {
        let limits = Limits {
            stack_bytes,
            ..Limits::default()
        };
        let interpreter = Interpreter::new(program(text), limits);
        let checks = all_loops(interpreter.program(), &[]);
        let stop = Stop::new();
        let mut expander = interpreter.expander(&stop);
        let mut out = Successors::new(interpreter.shape(), 1);
        out.reset(1);
        expander.starts(Cursor::default(), &mut out);
        let start = out.state(0).to_vec();
        let bytes = padded(&start);
        out.reset(1);
        expander.expand(
            States::new(&bytes, start.len(), 1),
            Cursor::default(),
            &mut out,
        );
        if !out.sources()[0].faults.is_empty() {
            n_too_deep += 1;
            continue;
        }
        n_deep_enough += 1;
        let mut checker = interpreter.order_checker(&checks, &stop);
        let found = checker.check_rules(&start).unwrap();
        assert!(found.is_some(), "nothing found with {stack_bytes} bytes");
    }
    assert!(
        n_deep_enough > 0 && n_too_deep > 0,
        "{n_deep_enough} {n_too_deep}"
    );
}

#[test]
fn a_loop_that_is_named_twice_keeps_what_both_keep_private() {
    let interpreter = interpreter(
        "type Proc: scalarset(2); var x: array [Proc] of 0..1; n: 0..1;
         startstate for p: Proc do x[p] := 0; end; n := 0; end;
         ruleset p: Proc do rule \"set\" x[p] := 1; end; end;
         rule \"loop\"
           var a: 0..1; b: 0..1;
         begin
           for p: Proc do a := x[p]; b := x[p]; end;
         end;",
    );
    let stop = Stop::new();
    let verdict = |names: &[&[&str]]| {
        let mut checks = hadal_ir::interp::OrderChecks::default();
        for private in names {
            let all = all_loops(interpreter.program(), private);
            checks.loops.extend(all.loops);
        }
        let mut checker = interpreter.order_checker(&checks, &stop);
        let states = reachable(&interpreter);
        let found = states
            .iter()
            .find_map(|state| checker.check_rules(state).unwrap());
        found.is_some()
    };
    assert!(!verdict(&[&["a", "b"]]));
    assert!(!verdict(&[&["a", "b"], &["b", "a"]]));
    assert!(verdict(&[&["a"], &["a", "b"]]));
    assert!(verdict(&[&["a", "b"], &["b"]]));
}
