//! Mistakes that parse, and what is reported.

use expect_test::{Expect, expect};

use crate::compile_text;

/// The short form of the messages.
fn check(text: &str, expected: Expect) {
    let compiled = compile_text(text);
    let mut out = String::new();
    for diagnostic in &compiled.diagnostics {
        let severity = match diagnostic.is_error() {
            true => "error",
            false => "warning",
        };
        let place = compiled.text.describe(diagnostic.span().start);
        out += &format!("{severity} {place}: {}\n", diagnostic.message);
        if let Some(help) = &diagnostic.help {
            out += &format!("  {help}\n");
        }
    }
    assert_eq!(compiled.program.is_none(), out.contains("error"));
    expected.assert_eq(&out);
}

#[test]
fn what_is_wrong_in_each_use_of_an_argument_is_said_once() {
    check(
        "byte x[3]; inline f(i) { x[i] = x[i] + 1 } init { f(3) }",
        expect![[r#"
            error test.pml:1:53: the index 3 is outside of 0 to 2
        "#]],
    );
}

#[test]
fn a_number_in_the_place_of_a_channel() {
    check(
        "byte x; init { x!3; len(x) > 0 }",
        expect![[r#"
        warning test.pml:1:16: `x` is not declared as a `chan`
        warning test.pml:1:25: `x` is not declared as a `chan`
    "#]],
    );
}

#[test]
fn names() {
    check(
        "byte count; mtype = { ack }; init { cout = 1; count = akc; goto there; run P(); nobody@L; x.y = 1 }",
        expect![[r#"
            error test.pml:1:37: `cout` is not declared
              did you mean `count`?
            error test.pml:1:55: `akc` is not declared
              did you mean `ack`?
            error test.pml:1:65: there is no label `there`
            error test.pml:1:76: there is no process type `P`
            error test.pml:1:81: there is no process type `nobody`
            error test.pml:1:91: `x` is not declared
        "#]],
    );
    check(
        "typedef T { byte f; bit g[2] } T t, s[2]; byte a[2];
         init { t.ff = 1; t = 1; t.g = 1; s.f = 1; a = 1; a[2] = 1; a.b = 1; t.f[0] = t.g[1] }",
        expect![[r#"
            error test.pml:2:19: there is no field `ff`
              did you mean `f`?
            error test.pml:2:27: a structure or array cannot be assigned as a whole
              assign its elements one by one
            error test.pml:2:34: a structure or array cannot be assigned as a whole
              assign its elements one by one
            error test.pml:2:43: `s` needs an index
            error test.pml:2:52: a structure or array cannot be assigned as a whole
              assign its elements one by one
            error test.pml:2:61: the index 2 is outside of 0 to 1
            error test.pml:2:69: `a` needs an index
        "#]],
    );
    check(
        "byte x, x; init { L: skip; L: skip; byte y; byte y; { byte y } }
         proctype P() { skip } proctype P() { skip }",
        expect![[r#"
            error test.pml:1:9: `x` is declared twice
            error test.pml:1:28: the label `L` is declared twice
            error test.pml:1:50: `y` is declared twice
            error test.pml:2:41: the process type `P` is declared twice
        "#]],
    );
}

#[test]
fn values() {
    check(
        "bit b = 2; byte x = -1; short s; unsigned u : 3; unsigned w; unsigned v : 40; byte a[0]; byte c[x];
         init { s = 40000; u = 8; u = 7; x = 256; x = 1 / 0; for (x : 0 .. 255) { skip } }",
        expect![[r#"
            warning test.pml:1:9: 2 does not fit and is stored as 0
            warning test.pml:1:21: -1 does not fit and is stored as 255
            error test.pml:1:59: an `unsigned` variable needs a width of 1 to 32
              write `unsigned w : 4` for 4 bits
            error test.pml:1:71: an `unsigned` variable needs a width of 1 to 32
              write `unsigned v : 4` for 4 bits
            error test.pml:1:86: the size of an array must be 1 to 65536, not 0
            error test.pml:1:97: the size of an array must be constant
            warning test.pml:2:21: 40000 does not fit and is stored as -25536
            warning test.pml:2:32: 8 does not fit and is stored as 0
            warning test.pml:2:46: 256 does not fit and is stored as 0
            warning test.pml:2:55: this divides by zero
            warning test.pml:2:76: this loop does not end: its variable cannot exceed the last value
        "#]],
    );
    check(
        "chan q = [300] of { byte }; byte x = y; active [0] proctype P() priority 0 { skip }",
        expect![[r#"
            error test.pml:1:11: the capacity of a channel must be 0 to 255
            error test.pml:1:38: `y` is not declared
            error test.pml:1:49: the number of processes must be 1 to 255
            error test.pml:1:74: a priority must be 1 to 255
        "#]],
    );
    check(
        "proctype P() priority 256 { skip } init { run P() priority 0; run P() priority 256 }",
        expect![[r#"
            error test.pml:1:23: a priority must be 1 to 255
            error test.pml:1:80: a priority must be 1 to 255
        "#]],
    );
    check(
        "#define N 0
         byte a[4 / N], x = 1 % N; byte b[2] = { 1, 1 / N };
         init { if :: N > 0 -> x = 1 / N :: else fi }",
        expect![[r#"
            warning test.pml:2:17: this divides by zero
            error test.pml:2:17: the size of an array divides by zero
            warning test.pml:2:29: this divides by zero
            error test.pml:2:29: the value of a global variable divides by zero
            warning test.pml:2:53: this divides by zero
            error test.pml:2:53: the value of a global variable divides by zero
            warning test.pml:3:36: this divides by zero
        "#]],
    );
}

#[test]
fn a_message_has_all_its_fields() {
    check(
        "typedef T { byte a; byte b } chan q[2] = [1] of { byte, byte }; byte x; T t;
         init { q[x]!1; q[x]?x; q[x]??x; q[x]!!1; q[0]!t; q[0]?t; q[0]?<x>; q[0]?[1] }",
        expect![[r#"
            error test.pml:2:17: 1 argument for a message of 2 fields
            error test.pml:2:25: 1 argument for a message of 2 fields
            error test.pml:2:33: 1 argument for a message of 2 fields
            error test.pml:2:42: 1 argument for a message of 2 fields
        "#]],
    );
}

#[test]
fn constants_that_do_not_fit() {
    check(
        "chan q = [1] of { byte, bit }; byte x; proctype P(byte a; int b) { skip }
         init { run P(300, 300); q!256,1; q!x,2; q?300,_; q?x,eval(2); q?[-1]; q?x,1 }",
        expect![[r#"
            warning test.pml:2:23: 300 does not fit and is stored as 44
            warning test.pml:2:36: 256 does not fit and is stored as 0
            warning test.pml:2:47: 2 does not fit and is stored as 0
            warning test.pml:2:52: 300 is no value of this field, which is 0 to 255, so no message matches
            warning test.pml:2:68: 2 is no value of this field, which is 0 to 1, so no message matches
            warning test.pml:2:75: -1 is no value of this field, which is 0 to 255, so no message matches
        "#]],
    );
}

#[test]
fn what_only_a_claim_may_ask() {
    check(
        "byte x; active proctype P() { x == 0 && enabled(0); np_ }
         never { do :: enabled(0) :: np_ od }",
        expect![[r#"
            error test.pml:1:41: `enabled` can be used in a claim only
            error test.pml:1:53: `np_` can be used in a claim only
        "#]],
    );
}

#[test]
fn formats() {
    check(
        r#"byte x; init { printf("%d %d\n", x); printf("100%% %d", x, x); printf("%s", x); printf("%3d %ld", x, x) }"#,
        expect![[r#"
            warning test.pml:1:16: the format asks for 2 values, not 1
            warning test.pml:1:38: the format asks for 1 value, not 2
            warning test.pml:1:64: `%s` prints no value of Promela
              use %d, %u, %x, %o, %c, or %e for the name of an `mtype`
        "#]],
    );
}

#[test]
fn channels() {
    check(
        "chan q = [1] of { byte, byte }; chan lost; byte x;
         init { q!1,2,3; q?x,_,_; lost!1; x!1; b!1; skip; chan late = [1] of { byte } } bit b;",
        expect![[r#"
            error test.pml:2:17: 3 arguments for a message of 2 fields
            error test.pml:2:26: 3 arguments for a message of 2 fields
            warning test.pml:2:35: the channel `lost` is never initialised
              declare it with `= [capacity] of { types }`
            warning test.pml:2:43: `x` is not declared as a `chan`
            error test.pml:2:48: `b` is not a channel
            error test.pml:2:71: a channel cannot be created after the first statement
              declare it at the start of the process, or globally
        "#]],
    );
}

#[test]
fn an_unless_of_many_statements_and_many_options() {
    let text = format!(
        "byte x; init {{ {{ {} }} unless {{ if {} fi }} }}",
        "x = 1; ".repeat(600),
        ":: x == 1 -> x = 2 ".repeat(400)
    );
    check(
        &text,
        expect![[r#"
            error test.pml:1:3497: a process with more than 200000 steps
              let the escape begin with one condition, and its selection follow
        "#]],
    );
}

#[test]
fn control() {
    check(
        "init { break; else; do :: skip -> else :: else :: else od; d_step { goto L }; L: skip; skip unless { skip } }",
        expect![[r#"
            error test.pml:1:8: `break` outside a loop
            error test.pml:1:15: `else` must be the first statement of an option
            error test.pml:1:35: `else` must be the first statement of an option
            error test.pml:1:51: a second `else` in one selection
        "#]],
    );
    check(
        "chan q = [1] of { byte }; byte x;
         init { if :: q!1 :: else fi; goto L; x = 1; L: if :: { x = 1 } unless { x == 2 } :: L2: do :: break od fi }",
        expect![[r#"
            warning test.pml:2:30: `else` beside a send or receive
            warning test.pml:2:63: an option that begins with `unless`
              put `unless` after the whole `fi` or `od`, or `skip ->` before it
            error test.pml:2:94: an option cannot begin with a labelled selection
              put the label in front of the outer `if` or `do`
        "#]],
    );
    check(
        "byte x; proctype P(byte a) { skip } init { run P(); x = 1 + run P(1); run P(1) }
         never { x = 1; run P(1) }",
        expect![[r#"
            error test.pml:1:48: `P` takes 1 argument, not 0
            error test.pml:1:65: `run` cannot be a part of an expression
              write `run P(...)` as a statement, or `x = run P(...)`
            error test.pml:2:18: a claim cannot change a variable
            error test.pml:2:18: a claim consists of conditions and assertions
            error test.pml:2:25: a claim consists of conditions and assertions
            error test.pml:2:29: a claim cannot start a process
        "#]],
    );
    check(
        "byte x;",
        expect![[r#"
        error test.pml:1:1: the model has no process
          declare `init { ... }` or an `active proctype`
    "#]],
    );
}

#[test]
fn names_of_other_things() {
    check(
        "mtype = { a }; typedef T { byte f }; byte P; byte T; proctype P(byte a) { skip } init { byte a; skip }",
        expect![[r#"
            error test.pml:1:43: `P` is the name of a process type
            error test.pml:1:51: `T` is the name of a type
            error test.pml:1:70: `a` is the name of a constant of an `mtype`
            error test.pml:1:94: `a` is the name of a constant of an `mtype`
        "#]],
    );
}

#[test]
fn processes_without_bound() {
    check(
        "byte n; chan q = [1] of { byte };
         proctype A() { n = 1; run A() }
         proctype B() { do :: true -> run C() :: n > 1 -> break od }
         proctype C() { n == 1; run C(); do :: q?n -> run D() :: _nr_pr < 9 -> run D() od }
         proctype D() { skip }
         init { run A(); run B(); run D(); run D() }",
        expect![[r#"
            warning test.pml:2:32: this starts processes without bound
              put a condition in front of it, such as `_nr_pr < 10`
            warning test.pml:3:39: this starts processes without bound
              put a condition in front of it, such as `_nr_pr < 10`
        "#]],
    );
}

#[test]
fn two_elses_at_one_point() {
    check(
        "byte x; init { if :: x == 1 :: if :: x == 2 :: else fi :: else fi }",
        expect![[r#"
            error test.pml:1:59: a second `else` at one control point
              put `skip ->` in front of the inner selection
        "#]],
    );
}

#[test]
fn ranges_of_select_and_labels_of_loops() {
    check(
        "byte x; init { select (x : 3 .. 2); if :: x > 1 -> goto again :: else fi; \
         again: for (x : 1 .. 2) { skip } }",
        expect![[r#"
            error test.pml:1:16: the range of this `select` is empty
            warning test.pml:1:57: this jump skips the first assignment of a loop
              put the loop in braces, behind the label
        "#]],
    );
}

#[test]
fn an_error_in_a_macro_is_shown_at_its_use_and_definition() {
    let compiled =
        compile_text("#define SET(v) v = vallue\nbyte value;\ninit {\n  SET(value)\n}\n");
    let text =
        hadal_syntax::Renderer::plain().render_all(&compiled.text.sources, &compiled.diagnostics);
    expect![[r#"
        error: `vallue` is not declared
         --> test.pml:4:3
          |
        1 | #define SET(v) v = vallue
          |                    ------ in this macro, `SET`
        ...
        4 |   SET(value)
          |   ^^^^^^^^^^
          |
          = help: did you mean `value`?

    "#]]
    .assert_eq(&text);
}
