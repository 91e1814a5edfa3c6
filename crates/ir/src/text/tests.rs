use expect_test::{Expect, expect};

use super::{parse, print};

fn check_error(text: &str, expect: Expect) {
    let error = parse(text).expect_err("the text is no program");
    expect.assert_eq(&error.to_string());
}

#[test]
fn errors_have_a_position() {
    check_error("", expect!["1:1: there is no program"]);
    check_error(
        "(program (file #0 \"a\")",
        expect!["1:1: this list is not closed"],
    );
    check_error(
        "(program (file #0 \"a\")))",
        expect!["1:24: there is more text after the program"],
    );
    check_error(")", expect!["1:1: nothing to close here"]);
    check_error(
        "(program (file #0 \"a))",
        expect!["1:19: this string is not closed"],
    );
    check_error(
        "(program (file #0 \"\\q\"))",
        expect!["1:19: an unknown escape in this string"],
    );
    check_error(
        "(programme \"a\")",
        expect!["1:2: `program` is expected here"],
    );
    check_error(
        "(program (file #0 \"a\")\n  (site @1 #0 0 0))",
        expect!["2:9: @0 comes next here"],
    );
    check_error(
        "(program (file #0 \"a\") ; comment )\n  (type t0 (array t0 t0)))",
        expect!["2:19: a type is made of earlier types"],
    );
    check_error(
        "(program (file #0 \"é\") (expr e0 @0 (int 99999999999999999999)))",
        expect!["1:41: a number is expected here, or it is too large"],
    );
    check_error(
        "(program (file #0 \"a\") (expr e0 @0 (defined)))",
        expect!["1:36: something is missing in this list"],
    );
    check_error(
        "(program (file #0 \"a\") (expr e0 @0 (read (at v0 x))))",
        expect!["1:49: a step such as `.0` or `[e0]` is expected here"],
    );
}

#[test]
fn deep_text_is_an_error_not_a_crash() {
    let deep = "(".repeat(1_000_000);
    check_error(&deep, expect!["1:1001: lists are nested too deeply"]);
}

#[test]
fn a_small_program_as_text() {
    let text = r#"(program
  (file #0 "counter.m")
  (arithmetic -9223372036854775807 9223372036854775807 checked)
  (site @0 #0 0 0)
  (site @1 #0 3 5)
  (type t0 (range 0 2))
  (var v0 "n" t0)
  (expr e0 @1 (read v0))
  (expr e1 @1 (defined e0))
  (expr e2 @1 (int 1))
  (expr e3 @1 (add e1 e2))
  (expr e4 @1 (int 2))
  (expr e5 @1 (lt e1 e4))
  (start "zero" @1
    (params)
    (locals)
    (body
      (clear @1 v0) ; clear n
    ))
  (rule "step" @1
    (priority 0)
    (params)
    (locals)
    (prologue)
    (condition e5) ; n < 2
    (body
      (assign @1 v0 e3) ; n := n + 1
    ))
)
"#;
    let program = parse(text).expect("well formed");
    assert_eq!(crate::verify::verify(&program), Ok(()));
    assert_eq!(print(&program), text);
}
