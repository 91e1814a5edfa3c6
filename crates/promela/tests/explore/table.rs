//! Small models whose counts were taken from SPIN 6.5.2: states and edges. The explorer and lowered
//! programs, interpreted and native, must have them.

use crate::explorer::Error;
use crate::{explore, lowered};

fn check(text: &str, states: u64, edges: u64, errors: &[Error]) {
    let counts = explore(text);
    let found = (counts.states, counts.edges);
    assert_eq!(found, (states, edges), "{text}");
    let errors = errors.iter().copied().collect();
    assert_eq!(counts.errors, errors, "{text}");
    assert_eq!(lowered::difference(text), None, "{text}");
}

/// One active process with this body, and a global variable `x`.
fn check_body(body: &str, states: u64, edges: u64) {
    let text = format!("byte x; active proctype P() {{ {body} }}");
    check(&text, states, edges, &[]);
}

#[test]
fn statements_are_steps() {
    check_body("x=1;x=2;x=3;x=4", 6, 5);
    check_body("atomic{x=1;x=2;x=3} x=4", 4, 3);
    check_body("d_step{x=1;x=2;x=3} x=4", 4, 3);
    check_body("byte i; do::i<3->i++::else->break od", 9, 8);
    check_body("do::x<2->x++::break od; x=9", 10, 11);
    check_body(
        "if::goto L1::goto L2 fi; L1:x=1;goto L3; L2:x=2; L3:x=3",
        7,
        7,
    );
}

#[test]
fn a_d_step_in_a_loop_may_start_several_processes() {
    // SPIN rejects `run` in a `d_step`; the counts are its own for `atomic`.
    for block in ["d_step", "atomic"] {
        let text = format!(
            "byte x; proctype Q() {{ skip }}
             active proctype P() {{ do :: {block} {{ x < 3 -> x++; run Q() }} :: else -> break od }}"
        );
        check(&text, 42, 85, &[]);
    }
}

#[test]
fn a_number_with_a_leading_zero_is_decimal() {
    check_body("assert(010 == 10); assert(09 == 9)", 4, 3);
}

/// SPIN does not search other processes at such an error, so its counts differ.
fn check_bad_channel(text: &str) {
    let errors = explore(text).errors;
    assert!(errors.contains(&Error::BadChannel), "{text}");
    assert_eq!(lowered::difference(text), None, "{text}");
}

#[test]
fn a_channel_that_was_never_assigned_is_an_error() {
    for use_of_it in [
        "x = len(c)",
        "nempty(c)",
        "empty(c)",
        "full(c)",
        "nfull(c)",
        "c?[1]",
    ] {
        let text = format!(
            "chan d=[1] of {{byte}}; chan c; byte x; active proctype A() {{
                if :: x==1 -> c=d :: x==0 -> x=2 fi; {use_of_it}; x=3 }}"
        );
        check_bad_channel(&text);
    }
}

#[test]
fn a_channel_whose_process_is_gone() {
    let text = |capacity: u32, use_of_it: &str| {
        format!(
            "chan g = [1] of {{chan}}; byte x;
             proctype P() {{ chan l = [{capacity}] of {{byte}}; g!l }}
             init {{ chan k; run P(); g?k; _nr_pr == 1; {use_of_it}; x=4 }}"
        )
    };
    for capacity in [0, 1] {
        for use_of_it in ["x = len(k)", "len(k) == 0", "empty(k)"] {
            check(&text(capacity, use_of_it), 10, 10, &[]);
        }
        check(
            &text(capacity, "nempty(k)"),
            7,
            7,
            &[Error::InvalidEndState],
        );
        for use_of_it in ["full(k)", "nfull(k)", "k!1", "k!!1", "k??[1]"] {
            check_bad_channel(&text(capacity, use_of_it));
        }
    }
    for use_of_it in ["k?[1]", "k?x", "k?1", "k??1", "k?<x>"] {
        check_bad_channel(&text(0, use_of_it));
        check(&text(1, use_of_it), 7, 7, &[Error::InvalidEndState]);
    }
}

#[test]
fn paths_through_an_atomic_count() {
    check_body("atomic{if::x=1::x=2 fi; if::x=x+1::x=x+2 fi}", 7, 7);
    check_body("atomic{do::x<10->x++::break od}", 23, 22);
}

#[test]
fn a_rendezvous_is_one_step() {
    let text = "chan c = [0] of {byte}; active proctype S() { c!1; c!2 }
        active proctype R() { byte y; c?y; c?y }";
    check(text, 5, 4, &[]);
}

#[test]
fn processes_are_removed_from_the_top() {
    let text = "proctype A() { skip } init { atomic { run A(); run A() } }";
    check(text, 9, 10, &[]);
    let text = "active proctype A() { skip } active proctype B() { byte b; b=1; b=2; b=3 }";
    check(text, 11, 14, &[]);
}

#[test]
fn channels_beyond_255_are_an_error() {
    let text = "chan q[253] = [1] of { byte };
        proctype R() { chan a[2] = [1] of { byte }; a[1]!7; assert(len(q[252]) == 0) }
        init { run R(); run R() }";
    check(text, 10, 9, &[Error::TooManyChannels]);
    let text = text.replace("253", "251");
    check(&text.replace("252", "250"), 19, 27, &[]);
}

#[test]
fn loops_over_ranges() {
    check_body("byte i; select(i:1..3)", 5, 6);
    check_body("byte i, n = 3; select(i:1..n)", 10, 11);
    check_body("byte i; byte n; for(i:1..3){n++}", 13, 12);
}

#[test]
fn a_select_with_numbers_is_one_step_outside_an_inline() {
    check_body("select(x:1..2)", 5, 4);
    check_body("select(x:1..(2))", 8, 7);
    check_body("select(x:false..true)", 8, 7);
    let text = "byte x; inline choose(n) { select(x:1..n) } active proctype P() { choose(2) }";
    check(text, 8, 7, &[]);
}

#[test]
fn a_jump_to_a_loop_skips_its_first_assignment() {
    check_body(
        "byte y; if :: goto L fi; L: for (x : 1 .. y) { skip }",
        7,
        6,
    );
    check_body(
        "byte i; L: for (i : 1 .. 2) { skip } if :: x==0 -> x=1; goto L :: else fi",
        14,
        13,
    );
    check_body(
        "byte i; L: { for (i : 1 .. 2) { skip } } if :: x==0 -> x=1; goto L :: else fi",
        21,
        20,
    );
}

#[test]
fn escapes_do_not_apply_in_a_d_step() {
    check_body("{ d_step { x=1; x=2; x=3 } } unless { x>0 -> x=9 }", 3, 2);
}

#[test]
fn repeated_skips_in_an_option_are_one_step() {
    check_body("skip; skip; x=1", 5, 4);
    check_body("if :: skip; skip; x=1 fi", 4, 3);
    check_body("if :: printf(\"x\"); skip; x=1 fi", 4, 3);
    check_body("if :: skip; skip fi; x=1", 5, 4);
    check_body("if :: skip; 1 == 1; x=1 fi", 5, 4);
    check_body("if :: x==0; skip; x=1 fi", 5, 4);
    check_body("if :: L: skip; skip; x=1 fi", 5, 4);
    check_body("if :: skip; L: skip; x=1 fi", 5, 4);
    check_body("if :: { skip; skip; x=1 } fi", 5, 4);
    check_body("do :: skip; skip; skip; break od; x=1", 4, 3);
}

#[test]
fn escapes_come_first() {
    check_body("{x=1;x=2;x=3} unless {x==2->x=7}", 6, 5);
}

#[test]
fn the_escape_of_the_last_option_comes_first() {
    check_body(
        "if :: { { x=1 } unless { x==0; x=5 } } :: { { x=2 } unless { x==0 } } fi",
        3,
        2,
    );
    check_body(
        "if :: { { x=1 } unless { x==0 } } :: { { x=2 } unless { x==0; x=5 } } fi",
        4,
        3,
    );
}

#[test]
fn timeouts_come_last() {
    let text = "byte x; active proctype A() { x=1; (x==5) }
        active proctype B() { timeout -> x=5 }";
    check(text, 8, 8, &[]);
}

#[test]
fn a_timeout_inside_any_expression_makes_a_statement_executable() {
    let fails = |text: &str, states, edges| check(text, states, edges, &[Error::Assertion]);
    let text = "byte a[2] = {0, 1}; active proctype P() { end: a[timeout] -> assert(false) }";
    fails(text, 4, 3);
    let text = "byte a[2] = {0, 1}; active proctype P() provided (a[timeout]) { assert(false) }";
    fails(text, 3, 2);
    let one = "chan q = [1] of { byte }; byte x; active proctype P() { q!1; BODY }";
    let body = |body: &str| one.replace("BODY", body);
    fails(&body("end: q?eval(timeout); assert(false)"), 5, 4);
    fails(&body("end: q?[eval(timeout)] -> assert(false)"), 5, 4);
    let text = body("end: d_step { q?eval(timeout); x = 1 } assert(x == 0)");
    fails(&text, 5, 4);
    let text = body("{ x == 9 } unless { q?eval(timeout) -> x = 1 } assert(false)");
    fails(&text, 6, 5);
    let two = "chan q[2] = [1] of { byte }; active proctype P() { BODY; assert(false) }";
    let text = two.replace("BODY", "q[1]!1; end: nempty(q[timeout])");
    fails(&text, 5, 4);
    let text = two.replace("BODY", "q[0]!1; end: q[timeout]!1");
    fails(&text, 5, 4);
    let text = "chan r = [0] of { byte }; active proctype P() { r!timeout; assert(false) }
        active proctype Q() { end: r?1; assert(false) }";
    fails(text, 8, 9);
}

#[test]
fn a_timeout_lasts_for_a_whole_d_step() {
    let text = "byte x; active proctype P() { end: d_step { if :: timeout -> x = timeout fi }
        assert(x == 0) }";
    check(text, 4, 3, &[Error::Assertion]);
}

#[test]
fn a_timeout_in_an_inline() {
    let text = "byte x; inline w() { timeout; x++ } active proctype P() { w(); w() }
        active proctype Q() { x == 1 -> x = 5 }";
    check(text, 9, 8, &[]);
}

#[test]
fn a_statement_in_an_atomic_sees_the_end_of_the_one_before() {
    check_body("atomic { timeout -> x = timeout } assert(x == 0)", 4, 3);
    check_body(
        "byte y; atomic { x = pc_value(_pid); y = pc_value(_pid) } assert(x != y)",
        4,
        3,
    );
    let text = "byte x; active proctype P() { atomic { x = 0; L: x = P[0]@L } assert(x == 0) }";
    check(text, 4, 3, &[Error::Assertion]);
}

#[test]
fn an_atomic_that_blocks_loses_control() {
    let text = "byte x, y; active proctype A() { atomic{x=1;(y==1);x=2;x=3} }
        active proctype B() { y=1;y=2 }";
    check(text, 12, 14, &[Error::InvalidEndState]);
}

#[test]
fn control_passes_with_a_rendezvous() {
    let text = "chan c = [0] of {byte}; byte t;
        active proctype S() { atomic{c!1;t=3;t=4} }
        active proctype R() { atomic{c?_;t=10;t=11} }
        active proctype W() { t==11->assert(false) }";
    check(text, 12, 14, &[Error::Assertion, Error::InvalidEndState]);
    let text = "chan c = [0] of {byte}; byte t;
        active proctype S() { atomic{c!1;assert(t==0);t=1;assert(t==1);t=2} }
        active proctype R() { byte z;c?z;t=10;t=11 }";
    check(text, 14, 15, &[Error::Assertion]);
}

#[test]
fn late_declarations_are_steps() {
    check_body("x=1; byte y, z; y=z", 6, 5);
    check_body("x=1; byte y[3]; y[2]=1", 5, 4);
}

#[test]
fn a_jump_in_an_atomic_shows_after_a_rendezvous() {
    let text = "chan c = [0] of {byte}; byte x;
        active proctype S() { atomic { c!1; goto L }; x = 1; L: x = 2 }
        active proctype R() { c?1; x = 3 }";
    check(text, 14, 16, &[]);
}

#[test]
fn d_steps_take_the_first_option() {
    let text = "byte k, x = 3; active proctype P() { d_step { select (k : 1 .. x); x = 3 }; assert(k == 1) }";
    check(text, 4, 3, &[]);
    let text = "byte x, y; active proctype P() { d_step { x = 1; (y == 1) }; x = 2 }";
    check(text, 1, 0, &[Error::DStepBlocks, Error::InvalidEndState]);
}

#[test]
fn an_unless_is_no_point_without_a_label() {
    check_body(
        "{ { x = 1 } unless { x == 2 }; x = 3 } unless { x == 4 }",
        4,
        3,
    );
    check_body("L: x = 1; { x == 5 } unless { goto L }", 2, 2);
}

#[test]
fn labels_that_are_observed_make_jumps_steps() {
    check_body(
        "do :: x < 2 -> x++; L: goto M :: else -> break od; M: skip",
        5,
        4,
    );
    check_body(
        "do :: x < 2 -> x++; progress: goto M :: else -> break od; M: skip",
        6,
        5,
    );
}

#[test]
fn a_constant_division_by_zero_is_an_error_where_it_is_executed() {
    let text = |guard: &str| {
        format!(
            "byte x; active proctype P() {{ if :: {guard} -> x = 1 / 0 :: else -> x = 7 % 4 fi }}"
        )
    };
    check(&text("x > 0"), 4, 3, &[]);
    check(&text("0 && (1 / 0)"), 4, 3, &[]);
    let errors = [Error::DivisionByZero, Error::InvalidEndState];
    check(&text("x == 0"), 2, 1, &errors);
    check(&text("1 / 0"), 1, 0, &errors);
}

#[test]
fn priorities_are_1_to_255() {
    let text = |set: &str| {
        format!(
            "byte x; int n = 300; active proctype P() {{ {set}; x = get_priority(0); skip }}
             active proctype Q() {{ x == 1; skip }}"
        )
    };
    let errors = [Error::BadPriority, Error::InvalidEndState];
    for set in [
        "set_priority(0, n)",
        "set_priority(0, n - 301)",
        "set_priority(1, n - 300)",
    ] {
        check(&text(set), 1, 0, &errors);
    }
    // There is no such process; an assignment is truncated.
    check(&text("set_priority(9, n)"), 11, 13, &[]);
    check(
        &text("_priority = n; assert(_priority == 44)"),
        5,
        4,
        &[Error::InvalidEndState],
    );
    // 0 is none, as is that of a process type.
    let text = "proctype P() priority 5 { assert(_priority == 1) }
        init { run P() priority 0; run P(); _nr_pr == 1; run P() priority 255 }";
    check(text, 16, 19, &[Error::Assertion]);
}

#[test]
fn an_option_may_begin_with_unless() {
    let escape = "{ y = 1; y = 2 } unless { x == 1 -> y = 3 }";
    let check = |body: &str, states, edges| {
        let text = format!(
            "byte x, y; active proctype P() {{ {body} }} active proctype Q() {{ x = 1; x = 2 }}"
        );
        check(&text, states, edges, &[]);
    };
    check(
        &format!("if :: {escape} :: x == 1 -> y = 5 fi; y = 9"),
        26,
        40,
    );
    check(
        &format!(
            "if :: {escape} :: {{ x == 0; y = 6 }} unless {{ x == 2 -> y = 4 }} \
             :: else -> y = 8 fi; y = 9"
        ),
        38,
        61,
    );
    check(
        "do :: { x == 0 -> y = 1; y = 2 } unless { x == 1 -> y = 3; break } :: x == 2 -> break od; \
         y = 9",
        40,
        64,
    );
    check(
        &format!("{{ if :: {escape} :: x == 1 -> y = 5 fi; y = 9 }} unless {{ x == 2 -> y = 20 }}"),
        37,
        54,
    );
    check(
        &format!("atomic {{ if :: {escape} :: x == 1 -> y = 5 fi; y = 9 }}"),
        9,
        11,
    );
    check(
        &format!("if :: {{ {escape} }} unless {{ x == 2 -> y = 13 }} :: x == 1 -> y = 5 fi; y = 4"),
        32,
        49,
    );
}

#[test]
fn an_escape_of_the_first_option_is_one_with_those_outside() {
    let check = |body: &str, states, edges| {
        let text = format!("byte y, z; active proctype P() {{ {body}; z = 1 }}");
        check(&text, states, edges, &[]);
    };
    let inner = |guard: &str| format!("{{ y = 1; y = 2 }} unless {{ {guard} -> y = 3 }}");
    let (yes, no) = (inner("y == 0"), inner("y == 7"));
    let outer = "unless { y == 0 -> y = 20 }";
    check(
        &format!("{{ if :: {yes} :: y == 9 fi; y = 9 }} {outer}"),
        6,
        6,
    );
    check(
        &format!("{{ if :: y == 9 :: {yes} fi; y = 9 }} {outer}"),
        6,
        5,
    );
    check(
        &format!("{{ if :: else -> y = 4 :: {yes} fi; y = 9 }} {outer}"),
        6,
        6,
    );
    check(
        &format!("{{ if :: {no} :: {yes} fi; y = 9 }} {outer}"),
        6,
        5,
    );
    check(
        &format!("{{ if :: {yes} :: {no} fi; y = 9 }} {outer}"),
        6,
        6,
    );
    check(
        &format!("{{ if :: y == 9 :: {{ {{ {yes}; y = 4 }} }} fi; y = 9 }} {outer}"),
        6,
        5,
    );
    check(
        &format!("{{ if :: if :: y == 8 :: {yes} fi :: y == 9 fi; y = 9 }} {outer}"),
        6,
        5,
    );
    let both = format!("{{ if :: y == 9 :: {yes} fi unless {{ y == 0 -> y = 31 }} }}");
    check(&format!("{{ {both}; y = 9 }} {outer}"), 6, 5);
}
