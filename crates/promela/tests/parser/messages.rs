//! Mistakes, and what is reported.

use expect_test::{Expect, expect};

use crate::{parse_text, rendered};

fn check(text: &str, expected: Expect) {
    expected.assert_eq(&rendered(&parse_text(text)));
}

#[test]
fn numbers_are_decimal() {
    check(
        "init { x = 0x10 }",
        expect![[r#"
        error: `0x10` is not a number
         --> test.pml:1:12
          |
        1 | init { x = 0x10 }
          |            ^^^^
          |
          = note: numbers are decimal and have at most 32 bits; write `16`

    "#]],
    );
}

#[test]
fn a_selection_that_is_not_closed() {
    check(
        "init {\n  if\n  :: x -> y = 1\n  od;\n  z = 2\n}\n",
        expect![[r#"
        error: expected `fi`, found the reserved word `od`
         --> test.pml:4:3
          |
        2 |   if
          |   -- this `if` is not closed
        3 |   :: x -> y = 1
        4 |   od;
          |   ^^ expected `fi`

    "#]],
    );
    check(
        "init {\n  do\n  :: x -> y = 1\n}\ninit { skip }",
        expect![[r#"
        error: expected `od`, found `}`
         --> test.pml:4:1
          |
        2 |   do
          |   -- this `do` is not closed
        3 |   :: x -> y = 1
        4 | }
          | ^ expected `od`

    "#]],
    );
    check(
        "init {\n  x = 1\n  fi\n}\n",
        expect![[r#"
        error: `fi` without an `if` that is open
         --> test.pml:3:3
          |
        3 |   fi
          |   ^^

    "#]],
    );
}

#[test]
fn misspelt_words() {
    check(
        "actve proctype P() { skip }",
        expect![[r#"
        error: expected a declaration or a process, found `actve`
         --> test.pml:1:1
          |
        1 | actve proctype P() { skip }
          | ^^^^^ expected a declaration or a process
          |
          = help: did you mean `active`?

    "#]],
    );
    check(
        "init { atomc { x = 1 } }",
        expect![[r#"
        error: expected a statement, found `atomc`
         --> test.pml:1:8
          |
        1 | init { atomc { x = 1 } }
          |        ^^^^^ expected a statement
          |
          = help: did you mean `atomic`?

    "#]],
    );
    check(
        "inline go(x) { skip } init { g0(1); asert(x) }",
        expect![[r#"
        error: there is no inline `g0`
         --> test.pml:1:30
          |
        1 | inline go(x) { skip } init { g0(1); asert(x) }
          |                              ^^
          |
          = help: did you mean `go`?

        error: there is no inline `asert`
         --> test.pml:1:37
          |
        1 | inline go(x) { skip } init { g0(1); asert(x) }
          |                                     ^^^^^
          |
          = help: did you mean `assert`?

    "#]],
    );
}

#[test]
fn what_is_not_supported() {
    check(
        "c_decl { int x; } init { c_code { x++; } x = c_expr { y }; STDIN?x }",
        expect![[r#"
        error: embedded C is not supported: `c_decl`
         --> test.pml:1:1
          |
        1 | c_decl { int x; } init { c_code { x++; } x = c_expr { y }; STDIN?x }
          | ^^^^^^
          |
          = note: C code could change anything, so a state would not be known by its variables
          = help: write the computation in Promela, in a `d_step` if it is one step

        error: embedded C is not supported: `c_code`
         --> test.pml:1:26
          |
        1 | c_decl { int x; } init { c_code { x++; } x = c_expr { y }; STDIN?x }
          |                          ^^^^^^
          |
          = note: C code could change anything, so a state would not be known by its variables
          = help: write the computation in Promela, in a `d_step` if it is one step

        error: embedded C is not supported: `c_expr`
         --> test.pml:1:46
          |
        1 | c_decl { int x; } init { c_code { x++; } x = c_expr { y }; STDIN?x }
          |                                              ^^^^^^
          |
          = note: C code could change anything, so a state would not be known by its variables
          = help: write the computation in Promela, in a `d_step` if it is one step

        error: `STDIN` is not supported
         --> test.pml:1:60
          |
        1 | c_decl { int x; } init { c_code { x++; } x = c_expr { y }; STDIN?x }
          |                                                            ^^^^^
          |
          = note: a verification explores all runs, and input from a terminal has no place in one
          = help: model the input as a channel that a process fills with every possible value

    "#]],
    );
    check(
        "init { !full(q) }",
        expect![[r#"
        error: `full` cannot be negated
         --> test.pml:1:8
          |
        1 | init { !full(q) }
          |        ^^^^^^^^
          |
          = help: write `nfull(...)`, which is true where `full` is false

    "#]],
    );
    // A negation of a negation is one as well.
    check(
        "init { !!nempty(q) }",
        expect![[r#"
        error: `nempty` cannot be negated
         --> test.pml:1:8
          |
        1 | init { !!nempty(q) }
          |        ^^^^^^^^^^^
          |
          = help: write `empty(...)`, which is true where `nempty` is false

    "#]],
    );
}

#[test]
fn errors_in_an_inline() {
    check(
        "inline f(a) {\n  a = ;\n}\ninit {\n  f(x);\n  f()\n}\n",
        expect![[r#"
            error: expected an expression, found `;`
             --> test.pml:5:3
              |
            2 |   a = ;
              |       - in this inline, `f`
            ...
            5 |   f(x);
              |   ^^^^ expected an expression

            error: the inline `f` takes 1 argument, not 0
             --> test.pml:6:3
              |
            1 | inline f(a) {
              |        - it is defined here
            ...
            6 |   f()
              |   ^^^

        "#]],
    );
    check(
        "inline f() { g() }\ninline g() { f() }\ninit { f() }",
        expect![[r#"
        error: the inline `f` calls itself
         --> test.pml:3:8
          |
        1 | inline f() { g() }
          |              --- in this inline, `f`
        2 | inline g() { f() }
          |              --- in this inline, `g`
        3 | init { f() }
          |        ^^^

    "#]],
    );
    check(
        "inline f() { f() }\ninit { f() }",
        expect![[r#"
        error: the inline `f` calls itself
         --> test.pml:2:8
          |
        1 | inline f() { f() }
          |              --- in this inline, `f`
        2 | init { f() }
          |        ^^^

    "#]],
    );
}

#[test]
fn habits_from_other_languages() {
    check(
        "init { x += 1; if :: x => 2 -> ++x fi; (x = 1) }",
        expect![[r#"
            error: expected an expression, found `=`
             --> test.pml:1:11
              |
            1 | init { x += 1; if :: x => 2 -> ++x fi; (x = 1) }
              |           ^ expected an expression
              |
              = help: there is no `+=`: write `x = x + ...`

            error: expected an expression, found `>`
             --> test.pml:1:25
              |
            1 | init { x += 1; if :: x => 2 -> ++x fi; (x = 1) }
              |                         ^ expected an expression
              |
              = help: `=>` is no operator: `>=` compares, `->` separates statements

            error: expected an expression, found `++`
             --> test.pml:1:32
              |
            1 | init { x += 1; if :: x => 2 -> ++x fi; (x = 1) }
              |                                ^^ expected an expression
              |
              = help: `x++` is a statement of its own, with the variable in front

            error: expected `)`, found `=`
             --> test.pml:1:43
              |
            1 | init { x += 1; if :: x => 2 -> ++x fi; (x = 1) }
              |                                        -  ^ expected `)`
              |                                        |
              |                                        this `(` is not closed
              |
              = help: `=` assigns; write `==` to compare

        "#]],
    );
    check(
        "init() { x = 1 }",
        expect![[r#"
        error: expected `{`, found `(`
         --> test.pml:1:5
          |
        1 | init() { x = 1 }
          |     ^ expected `{`
          |
          = help: `init` has no parameters

    "#]],
    );
    check(
        "init { for (i = 0; i < 10; i++) { x = x + i }; q?v+1 }",
        expect![[r#"
            error: expected `:`, found `=`
             --> test.pml:1:15
              |
            1 | init { for (i = 0; i < 10; i++) { x = x + i }; q?v+1 }
              |               ^ expected `:`
              |
              = help: write `for (i : 0 .. 9) { ... }`

            error: expected `;`, found `+`
             --> test.pml:1:51
              |
            1 | init { for (i = 0; i < 10; i++) { x = x + i }; q?v+1 }
              |                                                   ^ expected `;`
              |
              = help: a receive takes variables and constants; to match a value write `eval(...)`

        "#]],
    );
    check(
        "init { if (x == 0) { x = 1 } else { x = 2 }; while (x < 3) { x++ } }",
        expect![[r#"
            error: expected `::`, found `(`
             --> test.pml:1:11
              |
            1 | init { if (x == 0) { x = 1 } else { x = 2 }; while (x < 3) { x++ } }
              |           ^ expected `::`
              |
              = help: every option begins with `::`: `if :: x == 0 -> ... :: else -> ... fi`

            error: there is no inline `while`
             --> test.pml:1:46
              |
            1 | init { if (x == 0) { x = 1 } else { x = 2 }; while (x < 3) { x++ } }
              |                                              ^^^^^
              |
              = help: write `do :: condition -> ... :: else -> break od`

        "#]],
    );
}

#[test]
fn a_brace_that_is_not_closed_in_an_option() {
    check(
        "init {\n  if\n  :: x -> { y = 1\n  :: else\n  fi;\n  z = 1\n}",
        expect![[r#"
            error: expected `}`, found `::`
             --> test.pml:4:3
              |
            3 |   :: x -> { y = 1
              |           - this `{` is not closed
            4 |   :: else
              |   ^^ expected `}`

        "#]],
    );
}
