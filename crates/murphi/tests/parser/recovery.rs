//! Errors: one message each, in the right place, and the rest is parsed.

use expect_test::{Expect, expect};
use hadal_murphi::Dialect;

use crate::{messages, outcome};

fn check(text: &str, expected: Expect) {
    expected.assert_eq(&outcome(text, Dialect::Hadal));
}

fn check_rendered(text: &str, expected: Expect) {
    expected.assert_eq(&messages(text, Dialect::Hadal));
}

#[test]
fn several_mistakes_in_one_run() {
    check(
        "const N: ;
         var x: 0.3; y boolean; z: array [0..3 of boolean; ok: 0..1;
         rule x = ==> y := 1; end;
         rule \"b\" true ==> x := (1 + ; z := ] 2; ok := 1; end;
         invariant (x = 1;
         invariant \"fine\" x = 1;",
        expect![[r#"
            const N: <error>;
            var x: <error>;
            var y: boolean;
            var z: array [0 .. 3] of boolean;
            var ok: 0 .. 1;
            rule (x = <error>) ==>
            begin
              y := 1;
            end;
            rule "b" true ==>
            begin
              x := (1 + <error>);
              z := <error>;
              ok := 1;
            end;
            invariant (x = 1);
            invariant "fine" (x = 1);
            error 1:10: expected an expression, found `;`
            error 2:17: numbers of type `real` are not supported
            error 2:24: expected `:`, found the reserved word `boolean`
            error 2:48: expected `]`, found the reserved word `of`
            error 3:19: expected an expression, found `==>`
            error 4:38: expected an expression, found `;`
            error 4:45: expected an expression, found `]`
            error 5:26: expected `)`, found `;`
        "#]],
    );
}

#[test]
fn a_missing_separator_is_put_in() {
    check(
        "rule x := 1 y := 2 if a then b := 1 end c := 2 end",
        expect![[r#"
            rule
            begin
              x := 1;
              y := 2;
              if a then
                b := 1;
              end;
              c := 2;
            end;
            error 1:12: expected `;` between two statements
            error 1:19: expected `;` between two statements
            error 1:40: expected `;` between two statements
        "#]],
    );
}

#[test]
fn an_equals_sign_is_taken_for_an_assignment() {
    check(
        "rule x = 1; y := 2; end",
        expect![[r#"
        rule
        begin
          x := 1;
          y := 2;
        end;
        error 1:8: expected `:=`, found `=`
    "#]],
    );
}

#[test]
fn a_missing_end_points_at_what_was_opened() {
    check_rendered(
        "rule \"a\" true ==>\nbegin\n  if x then\n    y := 1;\nend;\n\nrule \"b\" begin end;\n",
        expect![[r#"
            error: expected `end` of this `rule`, found the reserved word `rule`
             --> test.m:7:1
              |
            1 | rule "a" true ==>
              | ---- this `rule` is not closed
            ...
            7 | rule "b" begin end;
              | ^^^^ expected `end`

        "#]],
    );
    check_rendered(
        "ruleset i: t do\n  rule \"a\" begin\n    for j: t do x := 1;\n  endrule;\n",
        expect![[r#"
            error: expected `end` of this `rule`, found the end of the file
             --> test.m:4:11
              |
            2 |   rule "a" begin
              |   ---- this `rule` is not closed
            3 |     for j: t do x := 1;
              |     --- but this `for`...
            4 |   endrule;
              |   ------- ^ expected `end`
              |   |
              |   ...is closed by `endrule`

        "#]],
    );
    check_rendered(
        "rule\n  if a then x := 1;\n  else if b then x := 2;\n  end;\nend;\nrule end;",
        expect![[r#"
            error: expected `end` of this `rule`, found the reserved word `rule`
             --> test.m:6:1
              |
            1 | rule
              | ---- this `rule` is not closed
            2 |   if a then x := 1;
            3 |   else if b then x := 2;
              |   ------- this opens a second `if`, with an `end` of its own
            ...
            6 | rule end;
              | ^^^^ expected `end`
              |
              = help: write `elsif` for one `if` with several conditions

        "#]],
    );
}

#[test]
fn an_end_too_many() {
    check(
        "rule if x then y := 1; end; end; end; var z: 0..1;",
        expect![[r#"
            rule
            begin
              if x then
                y := 1;
              end;
            end;
            var z: 0 .. 1;
            error 1:34: this `end` closes nothing
        "#]],
    );
    check(
        "rule x := ; end; end; end; var z: 0..1;",
        expect![[r#"
        rule
        begin
          x := <error>;
        end;
        var z: 0 .. 1;
        error 1:11: expected an expression, found `;`
    "#]],
    );
}

#[test]
fn a_guard_without_arrow() {
    check_rendered(
        "rule \"a\" x = 1\nbegin y := 1; end;",
        expect![[r#"
            error: expected `==>` between the guard and the body
             --> test.m:1:15
              |
            1 | rule "a" x = 1
              |               ^ write `==>` here

        "#]],
    );
    check(
        "rule \"a\" x = 1 y ==> z := 1; end;",
        expect![[r#"
        rule "a" (x = 1) ==>
        begin
          z := 1;
        end;
        error 1:16: expected `==>`, found `y`
    "#]],
    );
    check(
        "rule forall i: t do x y end ==> z := 1; end;",
        expect![[r#"
            rule forall i: t do x end ==>
            begin
              z := 1;
            end;
            error 1:23: expected `end` of this `forall`, found `y`
        "#]],
    );
}

#[test]
fn misspelled_words() {
    check_rendered(
        "var x: 0..1;\ninvarient \"a\" x = 1;\nrule end;",
        expect![[r#"
            error: expected a declaration or a rule, found `invarient`
             --> test.m:2:1
              |
            2 | invarient "a" x = 1;
              | ^^^^^^^^^ expected a declaration or a rule
              |
              = help: did you mean `invariant`?

        "#]],
    );
    check_rendered(
        "rule\n  swich x case 1: y := 1; end;\nend;",
        expect![[r#"
            error: expected a statement, found `swich`
             --> test.m:2:3
              |
            2 |   swich x case 1: y := 1; end;
              |   ^^^^^ expected a statement
              |
              = help: did you mean `switch`?

        "#]],
    );
}

#[test]
fn stray_parts_of_statements() {
    check(
        "rule else x := 1; elsif case end; rule end",
        expect![[r#"
            rule
            begin
              <error>
              x := 1;
            end;
            rule
            begin
            end;
            error 1:6: expected a statement, found the reserved word `else`
        "#]],
    );
    check(
        "rule if a then b := 1; else else c := 1; end; d := 1; end",
        expect![[r#"
            rule
            begin
              if a then
                b := 1;
              else
              end;
              d := 1;
            end;
            error 1:29: `else` after `else`
        "#]],
    );
    check(
        "rule switch x x := 1; case 1: y := 2; end; end",
        expect![[r#"
            rule
            begin
              switch x
              case 1:
                y := 2;
              end;
            end;
            error 1:15: expected `case`, found `x`
        "#]],
    );
    check(
        "rule for i t do x := 1; end; while do y := 1; end; if then z := 1; end end",
        expect![[r#"
            rule
            begin
              for i: t do
                x := 1;
              end;
              while <error> do
                y := 1;
              end;
              if <error> then
                z := 1;
              end;
            end;
            error 1:12: expected `:` or `:=`, found `t`
            error 1:36: expected an expression, found the reserved word `do`
            error 1:55: expected an expression, found the reserved word `then`
        "#]],
    );
}

#[test]
fn mistakes_in_headers() {
    check(
        "function f(a: t, b: u): t; begin x := 1; end; rule end",
        expect![[r#"
            function f(a: t; b: u): t;
            begin
              x := 1;
            end;
            rule
            begin
            end;
            error 1:16: parameters of different types are separated by `;`
        "#]],
    );
    check(
        "function f(a t; b: u): t; begin x := 1; end; rule end",
        expect![[r#"
            function f(a: t): t;
            begin
              x := 1;
            end;
            rule
            begin
            end;
            error 1:14: expected `:`, found `t`
        "#]],
    );
    check(
        "function f: t; begin x := 1; end; rule end",
        expect![[r#"
        procedure f();
        begin
          x := 1;
        end;
        rule
        begin
        end;
        error 1:11: expected `(`, found `:`
    "#]],
    );
    check(
        "ruleset i t do rule end; end; rule end",
        expect![[r#"
        ruleset i: t do
          rule
          begin
          end;
        end;
        rule
        begin
        end;
        error 1:11: expected `:` or `:=`, found `t`
    "#]],
    );
    check(
        "alias a: b, c: d do rule end; end",
        expect![[r#"
        alias a: b; c: d do
          rule
          begin
          end;
        end;
        error 1:11: aliases are separated by `;`
    "#]],
    );
}

#[test]
fn foreign_characters() {
    check_rendered(
        "rule x := 1 # 2; y := 3; end;",
        expect![[r#"
            error: unexpected character `#`
             --> test.m:1:13
              |
            1 | rule x := 1 # 2; y := 3; end;
              |             ^

        "#]],
    );
    check(
        "rule x := 'a'; é := 1; _y := 2;\u{7} end",
        expect![[r#"
        rule
        begin
          x := <error>;
          <error>
          _y := 2;
          <error>
        end;
        error 1:11: unexpected character `'`
        error 1:13: unexpected character `'`
        error 1:16: unexpected character `é`
        error 1:24: a name must begin with a letter
        error 1:32: unexpected character U+0007
    "#]],
    );
}

#[test]
fn unterminated_strings_and_comments() {
    check_rendered(
        "rule \"a x ==>\n y := 1; end;",
        expect![[r#"
            error: this string is never closed
             --> test.m:1:6
              |
            1 | rule "a x ==>
              |      ^ it is opened here

        "#]],
    );
    check_rendered(
        "rule x := 1; /* note\n end;",
        expect![[r#"
            error: this comment is never closed
             --> test.m:1:14
              |
            1 | rule x := 1; /* note
              |              ^^ it is opened here
              |
              = help: end it with `*/`

        "#]],
    );
}

#[test]
fn liveness_is_no_statement() {
    check(
        "rule liveness x = 1; y := 2 end",
        expect![[r#"
        rule
        begin
          liveness (x = 1);
          y := 2;
        end;
        error 1:6: `liveness` is not a statement
    "#]],
    );
}

#[test]
fn nesting_has_an_end() {
    let deep = format!(
        "const a: {}1{}; rule end;",
        "(".repeat(5000),
        ")".repeat(5000)
    );
    check(
        &deep,
        expect![[r#"
        const a: <error>;
        error 1:410: this is nested too deeply
    "#]],
    );
}

#[test]
fn too_many_errors_end_the_parse() {
    let many = "rule x := ; end;\n".repeat(1000);
    let text = messages(&many, Dialect::Hadal);
    let last = text.lines().last().unwrap_or_default();
    expect!["... and 80 more errors"].assert_eq(last);
}
