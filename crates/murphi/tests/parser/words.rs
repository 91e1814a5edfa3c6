//! Words that only one of the existing tools reserves are names where they are used as names.

use expect_test::{Expect, expect};
use hadal_murphi::Dialect;

use crate::outcome;

fn check(text: &str, expected: Expect) {
    expected.assert_eq(&outcome(text, Dialect::Hadal));
}

#[test]
fn rumur_words_as_names() {
    check(
        "var cover: 0..3; assume, liveness: boolean;
         rule cover = 1 ==> cover := 2; assume := false; liveness.x := 1; cover[1] := 2; end;",
        expect![[r#"
            var cover: 0 .. 3;
            var assume, liveness: boolean;
            rule (cover = 1) ==>
            begin
              cover := 2;
              assume := false;
              liveness.x := 1;
              cover[1] := 2;
            end;
        "#]],
    );
}

#[test]
fn cmurphi_words_as_names() {
    check(
        "type log: enum { in, until, program }; real: 0..3; multiset: 0..3;
         var choose: array [log] of real; pctl: multiset; undefined: boolean;
         function exp(sin: real): real; begin return sin end;
         rule undefined ==> choose[in] := exp(pctl); undefined := !undefined; end",
        expect![[r#"
            type log: enum { in, until, program };
            type real: 0 .. 3;
            type multiset: 0 .. 3;
            var choose: array [log] of real;
            var pctl: multiset;
            var undefined: boolean;
            function exp(sin: real): real;
            begin
              return sin;
            end;
            rule undefined ==>
            begin
              choose[in] := exp(pctl);
              undefined := (!undefined);
            end;
        "#]],
    );
}

#[test]
fn procedures_may_have_such_names() {
    check(
        "procedure cover(x: t); begin end;
         procedure multisetadd(a: t; b: t); begin end;
         rule cover(x); multisetadd(1, 2); assume (x) & y end",
        expect![[r#"
            procedure cover(x: t);
            begin
            end;
            procedure multisetadd(a: t; b: t);
            begin
            end;
            rule
            begin
              cover(x);
              multisetadd(1, 2);
              assume (x & y);
            end;
        "#]],
    );
    check(
        "rule cover (x); multisetadd(1, m); end",
        expect![[r#"
        rule
        begin
          cover x;
          multisetadd(1, m);
        end;
    "#]],
    );
}

#[test]
fn they_are_words_where_they_make_sense() {
    check(
        r#"var x: boolean;
           COVER "c" x; Assume x; liveness x;
           ChooSe i: net do rule end EndChoose
           rule x := Undefined; COVER x; end"#,
        expect![[r#"
            var x: boolean;
            cover "c" x;
            assume x;
            liveness x;
            choose i: net do
              rule
              begin
              end;
            end;
            rule
            begin
              x := UNDEFINED;
              cover x;
            end;
        "#]],
    );
}

#[test]
fn case_of_names_matters_and_of_words_does_not() {
    check(
        "VAR x, X: BOOLEAN; Rule X = TRUE ==> x := False; End",
        expect![[r#"
            var x, X: boolean;
            rule (X = true) ==>
            begin
              x := false;
            end;
        "#]],
    );
}

#[test]
fn a_reserved_word_is_no_name() {
    check(
        "var to: 0..3; x: record end: 0..1; of, a: t; end; type t: enum { a, by, c };",
        expect![[r#"
            var to: 0 .. 3;
            var x: record end;
            type t: enum { a, by, c };
            error 1:5: `to` is a reserved word
            error 1:69: `by` is a reserved word
        "#]],
    );
}
