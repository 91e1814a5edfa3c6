//! One sound program, and one way after the other to spoil it.

mod measures;

use super::{VerifyErrorKind, verify};
use crate::text::{self, parse};

const SOUND: &str = r#"
(program (file #0 "test")
  (arithmetic -128 127 wraps)
  (site @0 #0 0 0)
  (scalarset s0 "Pid" 2)
  (type t0 (boolean 0 1))
  (type t1 (range 0 3))
  (type t2 (scalarset 0 1 s0))
  (type t3 (array t2 t1))
  (type t4 (record ("flag" t0) ("a" t3)))
  (type t5 (multiset 2 t1))
  (type t6 (range -128 127))
  (type t7 (union 0 2 (enum "nil") s0))
  (type t8 (array t0 t1))
  (map m0 t2 (0 1 1))
  (cover c0 "point" @0)
  (var v0 "b" t0)
  (var v1 "n" t1)
  (var v2 "r" t4)
  (var v3 "m" t5)
  (var v4 "x" t8)
  (expr e0 @0 (int 1))
  (expr e1 @0 (true))
  (expr e2 @0 (undefined))
  (expr e3 @0 (read v1))
  (expr e4 @0 (defined e3))
  (expr e5 @0 (add e4 e0))
  (expr e6 @0 (lt e4 e0))
  (expr e7 @0 (read l0))
  (expr e8 @0 (defined e7))
  (expr e9 @0 (read (at v2 .1 [e8])))
  (expr e10 @0 (defined e9))
  (expr e11 @0 (eq e10 e4))
  (expr e12 @0 (and e1 e6))
  (expr e13 @0 (forall l1 (type t2) e12))
  (expr e14 @0 (count l2 (span e0 e4 (by 1)) e1))
  (expr e15 @0 (read v0))
  (expr e16 @0 (defined e15))
  (expr e17 @0 (read (at v4 [e16])))
  (expr e18 @0 (call f0 (value e3) (ref v1)))
  (expr e19 @0 (defined e18))
  (expr e20 @0 (eq e19 e0))
  (expr e21 @0 (remap m0 e7))
  (expr e22 @0 (present v3 e0))
  (expr e23 @0 (same-bits (at (result @0 f1 l3) .1) (at v2 .1)))
  (expr e24 @0 (cond e1 e4 e0))
  (expr e25 @0 (in-range e4 0 2))
  (expr e26 @0 (read l1))
  (function f0 "get" @0
    (params value const)
    (result t1)
    (locals (l0 "p" value t1) (l1 "q" const t1))
    (body (return @0 (value e7))))
  (function f1 "whole" @0
    (params)
    (result t4)
    (locals (l0 "y" value t4))
    (body (return @0 (copy l0))))
  (function f2 "set" @0
    (params ref)
    (result)
    (locals (l0 "p" ref t1) (l1 "i" value t2) (l2 "j" value t6) (l3 "k" value t4))
    (body (assign @0 l0 e5) (assume @0 e1) (return @0)))
  (start "s" @0
    (params)
    (locals)
    (body (clear @0 v0)))
  (rule "r" @0
    (priority 0)
    (params (l0 (type t2)) (l4 (slots v3 2)) (l5 (span 0 6 2)))
    (locals (l0 "i" value t2) (l1 "j" value t2) (l2 "k" value t6) (l3 "keep" value t4)
      (l4 "slot" value t6) (l5 "n" value t6) (l6 "alias" ref t1) (l7 "view" const t4)
      (l8 "z" value t1))
    (prologue (bind @0 l7 v2) (assign @0 l8 e0))
    (condition e20)
    (body
      (assign @0 v1 e5)
      (assign @0 v0 e13)
      (assign @0 (at v2 .1 [e8]) e2)
      (bind @0 l6 (at v2 .1 [e8]))
      (assign @0 l6 e9)
      (copy @0 v2 (result @0 f1 l3))
      (for @0 l1 (type t2) (do (assign @0 l6 e26)))
      (if @0 (e11 (call @0 f2 (ref l6))) (e23) (else (assert @0 e22 "full")))
      (while @0 e25 (do (assign @0 l2 e14)))
      (multiset-add @0 v3 (value e24))
      (multiset-remove @0 v3 e0)
      (assign @0 (at v4 [e16]) e17)
      (assign @0 l8 e21)
      (put @0 (value e6 t0))
      (cover @0 c0 e6)))
  (property invariant "p" @0
    (params (l0 (type t2)))
    (locals (l0 "i" value t2))
    (prologue)
    (condition e11)))
"#;

#[test]
fn the_sound_program_is_sound() {
    let program = parse(SOUND).expect("the text is well formed");
    assert_eq!(verify(&program), Ok(()));
    assert_eq!(parse(&text::print(&program)), Ok(program));
}

/// Replaces `from` by `to` in the sound program and expects an error of this kind.
#[track_caller]
fn spoil(from: &str, to: &str, kind: VerifyErrorKind) {
    assert!(SOUND.contains(from), "`{from}` is not in the program");
    let program = parse(&SOUND.replacen(from, to, 1)).expect("the text is well formed");
    match verify(&program) {
        Ok(()) => panic!("`{to}` goes unnoticed"),
        Err(errors) => assert!(
            errors.iter().any(|error| error.kind == kind),
            "`{to}` gives {errors:?}"
        ),
    }
}

#[test]
fn ids_must_exist_and_come_earlier() {
    use VerifyErrorKind::Reference;
    spoil("(add e4 e0)", "(add e4 e5)", Reference);
    spoil("(add e4 e0)", "(add e4 e99)", Reference);
    spoil("(read v1)", "(read v9)", Reference);
    spoil(
        "(read (at v2 .1 [e8]))",
        "(read (at v2 .1 [e20]))",
        Reference,
    );
    spoil("(call f0 (value e3)", "(call f9 (value e3)", Reference);
    spoil("(remap m0 e7)", "(remap m1 e7)", Reference);
    spoil("(var v0 \"b\" t0)", "(var v0 \"b\" t9)", Reference);
    spoil("(scalarset 0 1 s0)", "(scalarset 0 1 s1)", Reference);
    spoil("(read l1))", "(read l9))", Reference);
    spoil("(cover @0 c0 e6)", "(cover @0 c1 e6)", Reference);
    spoil("(clear @0 v0)", "(clear @7 v0)", Reference);
    spoil("(condition e11)", "(condition e99)", Reference);
    spoil(
        "(body (return @0 (value e7)))",
        "(body (call @0 f1) (return @0 (value e7)))",
        Reference,
    );
}

#[test]
fn types_maps_and_domains_must_make_sense() {
    use VerifyErrorKind::{Limit, Type};
    spoil("(boolean 0 1)", "(boolean 0 2)", Type);
    spoil("(range 0 3)", "(range 3 0)", Type);
    spoil("(array t0 t1)", "(array t4 t1)", Type);
    spoil(
        "(union 0 2 (enum \"nil\") s0)",
        "(union 0 3 (enum \"nil\") s0)",
        Type,
    );
    spoil("(map m0 t2 (0 1 1))", "(map m0 t2 (0 1 1) (1 1 0))", Type);
    spoil("(map m0 t2 (0 1 1))", "(map m0 t2 (1 0 1))", Type);
    spoil("-128 127 wraps", "-128 126 wraps", Type);
    spoil("(span 0 6 2)", "(span 0 6 0)", Type);
    spoil("(span 0 6 2)", "(span 0 200 2)", Type);
    spoil("(slots v3 2)", "(slots v3 3)", Type);
    spoil("(span e0 e4 (by 1))", "(span e0 e4 (by 0))", Type);
    spoil("(l0 (type t2)) (l4", "(l0 (type t7)) (l4", Type);
    spoil(
        "(span 0 6 2)",
        "(span 0 6 2)) (l9 (span -9223372036854775807 9223372036854775807 1)",
        VerifyErrorKind::Reference,
    );
    spoil("(multiset 2 t1)", "(multiset 4000000 t1)", Limit);
}

#[test]
fn instances_must_be_countable() {
    let wide = "(params (l2 (span -128 127 1))".to_owned()
        + &(9..17)
            .map(|n| format!(" (l{n} (span -128 127 1))"))
            .collect::<String>();
    let locals: String = (9..17).map(|n| format!(" (l{n} \"w\" value t6)")).collect();
    let text = SOUND
        .replacen(
            "(params (l0 (type t2)) (l4",
            &format!("{wide} (l0 (type t2)) (l4"),
            1,
        )
        .replacen(
            "(l8 \"z\" value t1))",
            &format!("(l8 \"z\" value t1){locals})"),
            1,
        )
        .replacen("(assign @0 l2 e14)", "", 1);
    let errors = verify(&parse(&text).expect("well formed")).expect_err("too many instances");
    assert!(
        errors
            .iter()
            .any(|error| error.kind == VerifyErrorKind::Limit)
    );
}

#[test]
fn sites_must_have_a_file_and_an_earlier_use() {
    use VerifyErrorKind::Reference;
    spoil("(site @0 #0 0 0)", "(site @0 #1 0 0)", Reference);
    spoil("(site @0 #0 0 0)", "(site @0 #0 0 0 @0)", Reference);
    let used = SOUND.replace("(site @0 #0 0 0)", "(site @0 #0 0 0) (site @1 #0 1 1 @0)");
    assert_eq!(verify(&parse(&used).unwrap()), Ok(()));
}

#[test]
fn sorts_must_match() {
    use VerifyErrorKind::Sort;
    spoil("(add e4 e0)", "(add e4 e1)", Sort);
    spoil("(and e1 e6)", "(and e1 e0)", Sort);
    spoil("(eq e10 e4)", "(eq e10 e1)", Sort);
    spoil("(lt e4 e0)", "(lt e4 e1)", Sort);
    spoil("(cond e1 e4 e0)", "(cond e0 e4 e0)", Sort);
    spoil("(cond e1 e4 e0)", "(cond e1 e4 e1)", Sort);
    spoil("(eq e19 e0)", "(same e18 e1)", Sort);
    spoil("(assign @0 v1 e5)", "(assign @0 v1 e6)", Sort);
    spoil("(assign @0 v0 e13)", "(assign @0 v0 e14)", Sort);
    spoil("(read (at v4 [e16]))", "(read (at v4 [e0]))", Sort);
    spoil("(while @0 e25", "(while @0 e0", Sort);
    spoil("(put @0 (value e6 t0))", "(put @0 (value e6 t1))", Sort);
    spoil("(type t2) e12)", "(type t2) e5)", Sort);
    spoil("(return @0 (value e7))", "(return @0 (value e1))", Sort);
    spoil("(l4 \"slot\" value t6)", "(l4 \"slot\" value t0)", Sort);
}

#[test]
fn undefined_must_not_go_where_it_cannot() {
    use VerifyErrorKind::Undefined;
    spoil("(add e4 e0)", "(add e3 e0)", Undefined);
    spoil(
        "(forall l1 (type t2) e12)",
        "(count l1 (span e0 e3 (by 1)) e1)",
        Undefined,
    );
    spoil("(in-range e4 0 2)", "(in-range e3 0 2)", Undefined);
    spoil(
        "(read (at v2 .1 [e8]))",
        "(read (at v2 .1 [e7]))",
        Undefined,
    );
    spoil(
        "(multiset-remove @0 v3 e0)",
        "(multiset-remove @0 v3 e2)",
        Undefined,
    );
    spoil("(cond e1 e4 e0)", "(cond e2 e4 e0)", Undefined);
    spoil(
        "(cond e1 e4 e0))\n  (expr e25 @0 (in-range e4 0 2))",
        "(cond e1 e2 e0))\n  (expr e25 @0 (in-range e24 0 2))",
        Undefined,
    );
    spoil("(eq e19 e0)", "(eq e18 e0)", Undefined);
    spoil(
        "(multiset-remove @0 v3 e0)",
        "(multiset-remove @0 v3 e21)",
        Undefined,
    );
}

#[test]
fn places_must_fit() {
    use VerifyErrorKind::{Call, Place};
    spoil("(read (at v2 .1 [e8]))", "(read (at v2 .2 [e8]))", Place);
    spoil("(read (at v2 .1 [e8]))", "(read (at v2 .1))", Place);
    spoil("(read (at v2 .1 [e8]))", "(read (at v2 .0 [e8]))", Place);
    spoil("(present v3 e0)", "(present v2 e0)", Place);
    spoil(
        "(at (result @0 f1 l3) .1) (at v2 .1)",
        "(at (result @0 f1 l3) .1) v2",
        Place,
    );
    spoil(
        "(at (result @0 f1 l3) .1) (at v2 .1)",
        "(at (result @0 f1 l2) .1) (at v2 .1)",
        Place,
    );
    spoil(
        "(at (result @0 f1 l3) .1) (at v2 .1)",
        "(result @0 f1 l3) (result @0 f1 l3)",
        Place,
    );
    spoil("(copy @0 v2 (result @0 f1 l3))", "(copy @0 v1 l8)", Place);
    spoil(
        "(copy @0 v2 (result @0 f1 l3))",
        "(copy @0 v3 (result @0 f1 l3))",
        Place,
    );
    spoil("(bind @0 l6 (at v2 .1 [e8]))", "(bind @0 l6 v0)", Place);
    spoil("(assign @0 v1 e5)", "(assign @0 v2 e5)", Place);
    spoil("(slots v3 2)", "(slots l3 2)", Place);
    spoil("(call @0 f2 (ref l6))", "(call @0 f2 (ref v0))", Place);
    spoil("(call @0 f2 (ref l6))", "(call @0 f2 (value e0))", Call);
    spoil("(call @0 f2 (ref l6))", "(call @0 f2)", Call);
    spoil("(params value const)", "(params value ref)", Call);
    spoil("(defined e18)", "(call f2 (ref v1))", Call);
}

#[test]
fn what_must_stay_is_not_written() {
    use VerifyErrorKind::Write;
    spoil("(assign @0 v1 e5)", "(assign @0 l0 e26)", Write);
    spoil("(do (assign @0 l6 e26))", "(do (assign @0 l1 e26))", Write);
    spoil(
        "(do (assign @0 l6 e26))",
        "(do (for @0 l1 (type t2) (do)))",
        Write,
    );
    spoil("(do (assign @0 l6 e26))", "(do (assign @0 v0 e13))", Write);
    spoil("(assign @0 v1 e5)", "(bind @0 l7 v2) (clear @0 l7)", Write);
    spoil("(assign @0 v1 e5)", "(clear @0 (result @0 f1 l3))", Write);
    spoil(
        "(assign @0 v1 e5)",
        "(for @0 l5 (span e0 e0 toward) (do))",
        Write,
    );
    spoil(
        "(body (return @0 (value e7)))",
        "(body (assign @0 l1 e0) (return @0 (value e7)))",
        Write,
    );
}

#[test]
fn returns_must_match() {
    use VerifyErrorKind::Return;
    spoil("(return @0 (value e7))", "(return @0)", Return);
    spoil("(return @0))", "(return @0 (value e5)))", Return);
    spoil("(assign @0 v1 e5)", "(return @0 (value e5))", Return);
    spoil(
        "(return @0 (copy l0))",
        "(return @0 (value e0))",
        VerifyErrorKind::Place,
    );
}

#[test]
fn references_must_be_bound_first() {
    use VerifyErrorKind::Unbound;
    spoil("(bind @0 l6 (at v2 .1 [e8]))", "", Unbound);
    spoil(
        "(bind @0 l6 (at v2 .1 [e8]))",
        "(if @0 (e1 (bind @0 l6 v1)) (else))",
        Unbound,
    );
    spoil(
        "(bind @0 l6 (at v2 .1 [e8]))",
        "(while @0 e1 (do (bind @0 l6 v1)))",
        Unbound,
    );
    // What the guard bound is gone in the body.
    spoil("(copy @0 v2 (result @0 f1 l3))", "(copy @0 v2 l7)", Unbound);
    spoil("(body (assign @0 l0 e5)", "(body (bind @0 l0 v1)", Unbound);
    spoil("(bind @0 l6 (at v2 .1 [e8]))", "(bind @0 l8 v1)", Unbound);
    spoil(
        "(slots v3 2)",
        "(slots (at v2 .1 [e26]) 2)",
        VerifyErrorKind::Place,
    );
}

#[test]
fn a_binding_on_every_way_is_enough() {
    for bind in [
        "(if @0 (e1 (bind @0 l6 v1)) (else (bind @0 l6 v1)))",
        "(if @0 (e1 (return @0)) (else (bind @0 l6 v1)))",
        "(if @0 (e1 (error @0 \"no\")) (e1 (bind @0 l6 v1)) (else (bind @0 l6 v1)))",
    ] {
        let text = SOUND.replacen("(bind @0 l6 (at v2 .1 [e8]))", bind, 1);
        assert_eq!(
            verify(&parse(&text).expect("well formed")),
            Ok(()),
            "{bind}"
        );
    }
}

#[test]
fn guards_and_properties_leave_the_state_alone() {
    use VerifyErrorKind::{Assume, Impure};
    spoil(
        "(prologue (bind @0 l7 v2)",
        "(prologue (assign @0 v1 e0)",
        Impure,
    );
    spoil(
        "(prologue (bind @0 l7 v2)",
        "(prologue (clear @0 l3)",
        Impure,
    );
    // A function that the guard calls writes a variable.
    spoil(
        "(body (return @0 (value e7)))",
        "(body (clear @0 v0) (return @0 (value e7)))",
        Impure,
    );
    spoil(
        "(body (return @0 (value e7)))",
        "(body (assume @0 e1) (return @0 (value e7)))",
        Assume,
    );
    spoil(
        "(body (return @0 (value e7)))",
        "(body (cover @0 c0 e1) (return @0 (value e7)))",
        Assume,
    );
    // It writes through its parameter, which is a variable here.
    let text = SOUND
        .replacen("(params value const)", "(params value ref)", 1)
        .replacen("(l1 \"q\" const t1)", "(l1 \"q\" ref t1)", 1);
    assert_eq!(verify(&parse(&text).expect("well formed")), Ok(()));
    let text = text.replacen("(body (return @0 (value e7)))", "(body (clear @0 l1))", 1);
    let errors = verify(&parse(&text).expect("well formed")).expect_err("the guard writes");
    assert_eq!(errors[0].kind, Impure);
    assert_eq!(errors[0].at, "rule r0 guard");
}

#[test]
fn all_errors_of_a_stage_are_returned() {
    let text = SOUND
        .replacen("(assign @0 v1 e5)", "(assign @0 v1 e6)", 1)
        .replacen("(condition e11)", "(condition e0)", 1);
    let errors = verify(&parse(&text).expect("well formed")).expect_err("two defects");
    let places: Vec<&str> = errors.iter().map(|error| error.at.as_str()).collect();
    assert_eq!(places, ["rule r0 body", "property p0 condition"]);
}

#[test]
fn depth_is_limited() {
    let mut program = parse(SOUND).expect("well formed");
    let site = crate::ids::SiteId(0);
    let mut last = crate::ids::ExprId(1);
    for _ in 0..100_000 {
        last = program.add_expr(crate::expr::Expr::Unary(crate::UnaryOp::Not, last), site);
    }
    let errors = verify(&program).expect_err("too deep");
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].kind, VerifyErrorKind::Limit);

    let mut program = parse(SOUND).expect("well formed");
    let mut ty = crate::ids::TypeId(0);
    for _ in 0..100_000 {
        let name = String::new();
        let fields = vec![crate::Field { name, ty }];
        ty = program.types.add(crate::Type::Record { fields });
    }
    assert!(verify(&program).is_err());
}

/// Two chains of empty records that share parts: comparing them naively takes forever.
#[test]
fn layouts_are_compared_in_reasonable_time() {
    let mut text = String::new();
    for (first, n) in [(9, 60), (69, 60)] {
        text += &format!("(type t{first} (record))\n");
        for ty in first + 1..first + n {
            text += &format!("(type t{ty} (record (\"a\" t{0}) (\"b\" t{0})))\n", ty - 1);
        }
    }
    let text = SOUND
        .replacen("(map m0", &format!("{text}(map m0"), 1)
        .replacen(
            "(l8 \"z\" value t1)",
            "(l8 \"z\" value t1) (l9 \"\" const t68)",
            1,
        );
    let errors = verify(&parse(&text).expect("well formed")).expect_err("too many parts");
    assert_eq!(errors[0].kind, VerifyErrorKind::Limit);
}

#[test]
fn total_types_are_never_undefined() {
    use VerifyErrorKind::{Place, Type, Undefined};
    spoil("(range 0 3)", "(total (range 1 3))", Type);
    spoil("(scalarset 0 1 s0)", "(total (scalarset 0 1 s0))", Type);
    // All that is of type t1 is total now; what may be undefined is not stored there.
    let mut total = SOUND.replacen("(range 0 3)", "(total (range 0 3))", 1);
    for undefined in ["[e8]) e2)", "l6 e26)", "l8 e21)", "l6 e9)"] {
        let (place, _) = undefined.split_once(' ').expect("a place and a value");
        total = total.replacen(undefined, &format!("{place} e0)"), 1);
    }
    // Reading it needs no `defined`.
    let total = total.replacen("(add e4 e0)", "(add e3 e0)", 1);
    let program = parse(&total).expect("well formed");
    assert_eq!(verify(&program), Ok(()));
    let spoil = |from: &str, to: &str, kind: VerifyErrorKind| {
        let text = total.replacen(from, to, 1);
        assert_ne!(text, total, "`{from}` is not in the program");
        let errors = verify(&parse(&text).expect("well formed")).expect_err(to);
        assert!(errors.iter().any(|it| it.kind == kind), "{errors:?}");
    };
    spoil("(assign @0 l8 e0)", "(assign @0 l8 e2)", Undefined);
    spoil("(call f0 (value e3)", "(call f0 (value e2)", Undefined);
    spoil(
        "(return @0 (value e7))",
        "(return @0 (value e2))",
        Undefined,
    );
    spoil("(clear @0 v0)", "(undefine @0 v1)", Undefined);
    // Layouts differ where one type is total and the other is not.
    let other = "(type t9 (range 0 3)) (map m0";
    let text = total
        .replacen("(map m0", other, 1)
        .replacen("ref t1)", "ref t9)", 1);
    let errors = verify(&parse(&text).expect("well formed")).expect_err("layouts differ");
    assert!(errors.iter().any(|it| it.kind == Place), "{errors:?}");
}

#[test]
fn registers_are_total_and_there_are_enough_variables() {
    use VerifyErrorKind::{Reference, Type};
    spoil(
        "(var v4 \"x\" t8)",
        "(var v4 \"x\" t8) (registers 6)",
        Reference,
    );
    spoil("(var v4 \"x\" t8)", "(var v4 \"x\" t8) (registers 1)", Type);
    let registers = "(type t9 (total (range 0 3))) (var v5 \"r\" t9) (registers 1) (expr e0";
    let text = SOUND.replacen("(expr e0", registers, 1);
    let program = parse(&text).expect("well formed");
    assert_eq!(verify(&program), Ok(()));
    assert_eq!(parse(&text::print(&program)), Ok(program.clone()));
    // They begin at a byte.
    let layout = crate::layout::Layout::new(&program);
    let first = layout.var(crate::ids::VarId(5));
    assert_eq!((first % 8, layout.register_bits), (0, 2));
    assert_eq!(layout.state_bits, first + 2);
}

#[test]
fn only_bodies_have_assertions_that_go_on() {
    let text = SOUND.replacen("\"full\")", "\"full\" goes-on)", 1);
    let program = parse(&text).expect("well formed");
    assert_eq!(verify(&program), Ok(()));
    assert_eq!(parse(&text::print(&program)), Ok(program));
    // The guard calls f0.
    spoil(
        "(body (return @0 (value e7)))",
        "(body (assert @0 e1 \"\" goes-on) (return @0 (value e7)))",
        VerifyErrorKind::Assume,
    );
}

#[test]
fn errors_have_a_class() {
    let error = "(error @0 bad-channel \"gone\")";
    let text = SOUND.replacen("(cover @0 c0 e6)", error, 1);
    let program = parse(&text).expect("well formed");
    assert_eq!(verify(&program), Ok(()));
    let printed = text::print(&program);
    assert!(printed.contains(error));
    assert_eq!(parse(&printed), Ok(program));
    spoil(
        "(cover @0 c0 e6)",
        "(error @0 atomic-cycle \"\")",
        VerifyErrorKind::Type,
    );
}
