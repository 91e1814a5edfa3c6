//! Measures: they compute locals and a number, and nothing else.

use super::{SOUND, VerifyErrorKind, parse, text, verify};

/// Of the sum over an array of the numbers that are there, and the largest of them.
const MEASURE: &str = r#"
  (expr e27 @0 (is-undefined (at v2 .1 [e8])))
  (expr e28 @0 (not e27))
  (expr e29 @0 (read l2))
  (expr e30 @0 (defined e29))
  (expr e31 @0 (add e30 e10))
  (expr e32 @0 (read l3))
  (expr e33 @0 (defined e32))
  (expr e34 @0 (lt e33 e10))
  (expr e35 @0 (int 0))
  (expr e36 @0 (add e30 e33))
  (expr e37 @0 (call f0 (value e32) (ref v1)))
  (expr e38 @0 (defined e37))
  (measure estimate admissible "h \"x\"" @0 zero-at-faults
    (locals (l0 "i" value t2) (l1 "j" value t2) (l2 "sum" value t6) (l3 "most" value t6)
      (l4 "alias" ref t1) (l5 "a" value t3) (l6 "keep" value t4))
    (body
      (assign @0 l2 e35)
      (assign @0 l3 e35)
      (copy @0 l5 (at (result @0 f1 l6) .1))
      (undefine @0 l5)
      (for @0 l0 (type t2) (do
        (bind @0 l4 (at v2 .1 [e8]))
        (if @0 (e28 (assign @0 l2 e31) (if @0 (e34 (assign @0 l3 e10)) (else))) (else))))
      (while @0 e25 (do (assign @0 (at l5 [e8]) e33))))
    (value e36))
  (measure cost "c" @0
    (locals (l0 "i" value t2) (l1 "j" value t2) (l2 "k" value t6) (l3 "n" value t1))
    (body)
    (value e38))
"#;

fn with_measure() -> String {
    let end = SOUND.trim_end().strip_suffix(')').expect("it is a list");
    format!("{end}{MEASURE})")
}

/// Replaces `from` by `to` and expects an error of this kind.
#[track_caller]
fn spoil(from: &str, to: &str, kind: VerifyErrorKind) {
    let whole = with_measure();
    let (program, measure) = whole.split_at(whole.len() - MEASURE.len() - 1);
    assert!(measure.contains(from), "`{from}` is not in the measures");
    let text = format!("{program}{}", measure.replacen(from, to, 1));
    let program = parse(&text).expect("the text is well formed");
    match verify(&program) {
        Ok(()) => panic!("`{to}` goes unnoticed"),
        Err(errors) => assert!(
            errors.iter().any(|error| error.kind == kind),
            "`{to}` gives {errors:?}"
        ),
    }
}

#[test]
fn sound_measures_are_sound() {
    let program = parse(&with_measure()).expect("the text is well formed");
    assert_eq!(verify(&program), Ok(()));
    assert_eq!(program.measures.len(), 2);
    assert!(program.measures[0].is_zero_at_faults);
    assert!(!program.measures[1].is_zero_at_faults);
    let printed = text::print(&program);
    assert_eq!(parse(&printed), Ok(program));
    assert!(printed.contains("(value e36)) ; sum + most"), "{printed}");
}

#[test]
fn a_measure_writes_nothing_but_its_locals() {
    use VerifyErrorKind::{Assume, Impure};
    let first = "(assign @0 l2 e35)";
    for stmt in [
        "(assign @0 v1 e0)",
        "(assign @0 l4 e0)",
        "(clear @0 v0)",
        "(call @0 f1)",
        "(return @0)",
        "(assert @0 e1 \"\")",
        "(error @0 \"\")",
        "(assume @0 e1)",
        "(cover @0 c0 e1)",
        "(put @0 (text \"\"))",
        "(multiset-add @0 v3 (value e0))",
        "(multiset-remove @0 v3 e0)",
    ] {
        spoil(first, &format!("{first} {stmt}"), Impure);
        // Also below other statements.
        let inner = format!("(if @0 (e1 (for @0 l1 (type t2) (do {stmt}))) (else)) {first}");
        spoil(first, &inner, Impure);
    }
    // What it calls does not either.
    let text = with_measure().replacen(
        "(body (return @0 (value e7)))",
        "(body (clear @0 v0) (return @0 (value e7)))",
        1,
    );
    let text = text.replacen("(condition e20)", "(condition e1)", 1);
    let errors = verify(&parse(&text).expect("well formed")).expect_err("f0 writes");
    assert!(errors.iter().all(|it| it.kind == Impure), "{errors:?}");
    assert!(errors.iter().any(|it| it.at == "measure 1"), "{errors:?}");
    let text = with_measure().replacen(
        "(body (return @0 (value e7)))",
        "(body (assume @0 e1) (return @0 (value e7)))",
        1,
    );
    let errors = verify(&parse(&text).expect("well formed")).expect_err("f0 assumes");
    let mut of_measure = errors.iter().filter(|it| it.at == "measure 1");
    assert!(of_measure.any(|it| it.kind == Assume), "{errors:?}");
}

#[test]
fn the_value_of_a_measure_is_an_integer() {
    spoil("(value e36)", "(value e28)", VerifyErrorKind::Sort);
    spoil("(value e36)", "(value e29)", VerifyErrorKind::Undefined);
    spoil("(value e36)", "(value e99)", VerifyErrorKind::Reference);
    spoil(
        "(l2 \"sum\" value t6)",
        "(l2 \"sum\" value t0)",
        VerifyErrorKind::Sort,
    );
}

#[test]
fn the_body_of_a_measure_has_a_frame_of_its_own() {
    spoil(
        "(assign @0 l2 e35)",
        "(assign @0 l9 e35)",
        VerifyErrorKind::Reference,
    );
    spoil(
        "(assign @0 l2 e35)",
        "(assign @0 l2 e1)",
        VerifyErrorKind::Sort,
    );
    spoil(
        "(bind @0 l4",
        "(assign @0 l0 e8) (bind @0 l4",
        VerifyErrorKind::Write,
    );
    spoil("(copy @0 l5", "(copy @0 l6", VerifyErrorKind::Place);
    spoil(
        "(assign @0 l2 e35)",
        "(assign @9 l2 e35)",
        VerifyErrorKind::Reference,
    );
}

#[test]
fn there_is_one_measure_of_a_kind_and_its_name_can_be_read() {
    use VerifyErrorKind::Measure;
    spoil("(measure cost", "(measure estimate inadmissible", Measure);
    spoil("\"c\"", "\"\"", Measure);
    spoil("\"c\"", "\"a\\nb\"", Measure);
}
