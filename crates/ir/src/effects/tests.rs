use expect_test::{Expect, expect};

use super::{Effects, StateEffects};
use crate::text::parse;
use crate::verify::verify;

/// Three-bit elements: v0 at 0..2, v1 (array of 4) at 2..14, v2 (record of range and array) at
/// 14..29, v3 (array of 2 multisets) at 29..45, v4 (range) at 45..48.
const HEAD: &str = r#"
(program (file #0 "test")
  (site @0 #0 0 0)
  (type t0 (boolean 0 1))
  (type t1 (range 0 3))
  (type t2 (array t1 t1))
  (type t3 (record ("n" t1) ("a" t2)))
  (type t4 (multiset 2 t1))
  (type t5 (array t0 t4))
  (var v0 "b" t0)
  (var v1 "a" t2)
  (var v2 "r" t3)
  (var v3 "m" t5)
  (var v4 "n" t1)
  (expr e0 @0 (int 0))
  (expr e1 @0 (int 2))
  (expr e2 @0 (true))
  (expr e3 @0 (read v4))
  (expr e4 @0 (defined e3))
  (expr e5 @0 (read (at v1 [e1])))
  (expr e6 @0 (read (at v1 [e4])))
  (expr e7 @0 (read (at v2 .1 [e1])))
  (expr e8 @0 (false))
  (expr e9 @0 (read l0))
  (expr e10 @0 (gt e4 e0))
  (function f0 "set" @0
    (params ref)
    (result)
    (locals (l0 "p" ref t3))
    (body (assign @0 (at l0 .1 [e1]) e0)))
  (function f1 "again" @0
    (params ref const)
    (result)
    (locals (l0 "p" ref t3) (l1 "q" const t1) (l2 "alias" ref t2))
    (body
      (call @0 f0 (ref l0))
      (bind @0 l2 (at l0 .1))
      (assign @0 (at l2 [e0]) e0)
      (assign @0 v4 e0)
      (if @0 (e10 (call @0 f1 (ref v2) (ref l1))) (else))))
"#;

fn check(body: &str, expect: Expect) {
    let text = format!(
        "{HEAD} (start \"s\" @0 (params) (locals) (body))
        (rule \"r\" @0 (priority 0) (params)
          (locals (l0 \"x\" value t1) (l1 \"y\" ref t1) (l2 \"z\" ref t2) (l3 \"w\" value t3))
          (prologue) (condition) (body {body})))"
    );
    let program = parse(&text).expect("well formed");
    assert_eq!(verify(&program), Ok(()));
    let StateEffects { reads, writes } = &Effects::of(&program).rules[0];
    let show = |ranges: &hadal_model::BitRanges| {
        let ranges: Vec<String> = ranges.iter().map(|(a, b)| format!("{a}..{b}")).collect();
        ranges.join(" ")
    };
    expect.assert_eq(&format!("reads {}; writes {}", show(reads), show(writes)));
}

#[test]
fn constant_paths_are_exact() {
    check("(assign @0 v0 e2)", expect!["reads ; writes 0..2"]);
    check(
        "(assign @0 (at v1 [e1]) e7)",
        expect!["reads 23..26; writes 8..11"],
    );
    check(
        "(copy @0 (at v2 .1) v1)",
        expect!["reads 2..14; writes 17..29"],
    );
    check("(undefine @0 v2)", expect!["reads ; writes 14..29"]);
}

#[test]
fn computed_indices_cover_the_array() {
    check(
        "(assign @0 (at v2 .1 [e4]) e6)",
        expect!["reads 2..14 45..48; writes 17..29"],
    );
}

#[test]
fn locals_are_not_the_state() {
    check(
        "(assign @0 l0 e5) (clear @0 l3)",
        expect!["reads 8..11; writes "],
    );
    check("(call @0 f0 (ref l3))", expect!["reads ; writes "]);
}

#[test]
fn parts_of_multisets_stand_for_the_whole() {
    check(
        "(assign @0 (at v3 [e8] [e0]) e0)",
        expect!["reads 29..37; writes 29..37"],
    );
    check(
        "(multiset-add @0 (at v3 [e2]) (value e0))",
        expect!["reads 37..45; writes 37..45"],
    );
    check("(clear @0 (at v3 [e2]))", expect!["reads ; writes 37..45"]);
}

#[test]
fn references_stand_for_all_they_are_bound_to() {
    check(
        "(bind @0 l1 v4) (assign @0 l1 e0) (bind @0 l1 (at v1 [e0]))",
        expect!["reads ; writes 2..5 45..48"],
    );
    check(
        "(bind @0 l2 (at v2 .1)) (bind @0 l1 (at l2 [e1])) (assign @0 l0 e0) (assign @0 l1 e9)",
        expect!["reads ; writes 23..26"],
    );
    check(
        "(bind @0 l1 (at v3 [e8] [e0])) (assign @0 l1 e0)",
        expect!["reads 29..37; writes 29..37"],
    );
}

#[test]
fn calls_are_placed_at_their_arguments() {
    check("(call @0 f0 (ref v2))", expect!["reads ; writes 23..26"]);
    // Through itself, f1 also reaches the variable it names.
    check(
        "(call @0 f1 (ref l3) (ref v4))",
        expect!["reads 45..48; writes 17..20 23..26 45..48"],
    );
    check(
        "(call @0 f1 (ref v2) (ref (at v1 [e4])))",
        expect!["reads 45..48; writes 17..20 23..26 45..48"],
    );
}
