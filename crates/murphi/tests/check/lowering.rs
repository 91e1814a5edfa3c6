//! The programs that constructs become, in the text form.

use expect_test::{Expect, expect};
use hadal_murphi::Dialect;

use crate::{compile_in, rendered};

#[track_caller]
fn check(text: &str, dialect: Dialect, expected: Expect) {
    let (_, compiled) = compile_in(text, dialect);
    let Some(program) = compiled.program else {
        panic!("{}", rendered(text, dialect));
    };
    expected.assert_eq(&hadal_ir::text::print(&program));
}

#[test]
fn a_small_model() {
    check(
        r#"
const N: 2;
type pid: scalarset(N); state: enum { idle, busy };
var s: array [pid] of state; count: 0..N;
startstate "init" for i: pid do s[i] := idle; end; count := 0; end;
ruleset i: pid do
  rule "start" s[i] = idle & count < N ==> s[i] := busy; count := count + 1; end;
end;
invariant "enough" count <= N & forall i: pid; j: pid do i = j | s[i] != s[j] end;
"#,
        Dialect::Hadal,
        expect![[r#"
            (program
              (file #0 "test.m")
              (arithmetic -9223372036854775807 9223372036854775807 checked)
              (site @0 #0 0 0)
              (site @1 #0 5 35)
              (site @2 #0 5 41)
              (site @3 #0 5 33)
              (site @4 #0 5 23)
              (site @5 #0 5 61)
              (site @6 #0 5 52)
              (site @7 #0 5 1)
              (site @8 #0 7 18)
              (site @9 #0 7 16)
              (site @10 #0 7 23)
              (site @11 #0 7 21)
              (site @12 #0 7 30)
              (site @13 #0 7 38)
              (site @14 #0 7 36)
              (site @15 #0 7 46)
              (site @16 #0 7 52)
              (site @17 #0 7 44)
              (site @18 #0 7 67)
              (site @19 #0 7 75)
              (site @20 #0 7 73)
              (site @21 #0 7 58)
              (site @22 #0 7 3)
              (site @23 #0 9 20)
              (site @24 #0 9 29)
              (site @25 #0 9 26)
              (site @26 #0 9 58)
              (site @27 #0 9 62)
              (site @28 #0 9 60)
              (site @29 #0 9 68)
              (site @30 #0 9 76)
              (site @31 #0 9 66)
              (site @32 #0 9 74)
              (site @33 #0 9 71)
              (site @34 #0 9 48)
              (site @35 #0 9 40)
              (site @36 #0 9 1)
              (scalarset s0 "pid" 2)
              (type t0 (boolean 0 1))
              (type t1 (range -9223372036854775807 9223372036854775807))
              (type t2 (scalarset 0 1 s0))
              (type t3 (enum 0 1 "idle" "busy"))
              (type t4 (array t2 t3))
              (type t5 (range 0 2))
              (var v0 "s" t4)
              (var v1 "count" t5)
              (expr e0 @1 (read l0))
              (expr e1 @1 (defined e0))
              (expr e2 @2 (int 0))
              (expr e3 @5 (int 0))
              (expr e4 @8 (read l0))
              (expr e5 @8 (defined e4))
              (expr e6 @9 (read (at v0 [e5])))
              (expr e7 @9 (defined e6))
              (expr e8 @10 (int 0))
              (expr e9 @11 (eq e7 e8))
              (expr e10 @12 (read v1))
              (expr e11 @12 (defined e10))
              (expr e12 @13 (int 2))
              (expr e13 @14 (lt e11 e12))
              (expr e14 @9 (and e9 e13))
              (expr e15 @15 (read l0))
              (expr e16 @15 (defined e15))
              (expr e17 @16 (int 1))
              (expr e18 @18 (read v1))
              (expr e19 @18 (defined e18))
              (expr e20 @19 (int 1))
              (expr e21 @20 (add e19 e20))
              (expr e22 @23 (read v1))
              (expr e23 @23 (defined e22))
              (expr e24 @24 (int 2))
              (expr e25 @25 (le e23 e24))
              (expr e26 @26 (read l0))
              (expr e27 @26 (defined e26))
              (expr e28 @27 (read l1))
              (expr e29 @27 (defined e28))
              (expr e30 @28 (eq e27 e29))
              (expr e31 @29 (read l0))
              (expr e32 @29 (defined e31))
              (expr e33 @30 (read l1))
              (expr e34 @30 (defined e33))
              (expr e35 @31 (read (at v0 [e32])))
              (expr e36 @31 (defined e35))
              (expr e37 @32 (read (at v0 [e34])))
              (expr e38 @32 (defined e37))
              (expr e39 @33 (ne e36 e38))
              (expr e40 @26 (or e30 e39))
              (expr e41 @34 (not e40))
              (expr e42 @34 (count l1 (type t2) e41))
              (expr e43 @34 (int 0))
              (expr e44 @34 (eq e42 e43))
              (expr e45 @35 (not e44))
              (expr e46 @35 (count l0 (type t2) e45))
              (expr e47 @35 (int 0))
              (expr e48 @35 (eq e46 e47))
              (expr e49 @23 (and e25 e48))
              (start "init" @7
                (params)
                (locals (l0 "i" value t2))
                (body
                  (for @4 l0 (type t2) ; for i: t2
                    (do
                      (assign @3 (at v0 [e1]) e2) ; s[i] := 0
                    ))
                  (assign @6 v1 e3) ; count := 0
                ))
              (rule "start" @22
                (priority 0)
                (params (l0 (type t2)))
                (locals (l0 "i" value t2))
                (prologue)
                (condition e14) ; (s[i] = 0) & (count < 2)
                (body
                  (assign @17 (at v0 [e16]) e17) ; s[i] := 1
                  (assign @21 v1 e21) ; count := count + 1
                ))
              (property invariant "enough" @36
                (params)
                (locals (l0 "i" value t2) (l1 "j" value t2))
                (prologue)
                (condition e49)) ; (count <= 2) & (count i: t2 do !(count j: t2 do ... end = 0) end = 0)
            )
        "#]],
    );
}

#[test]
fn switch_alias_and_calls() {
    check(
        r#"
type t: 0..3; rec: record a, b: t; end;
var v: array [t] of rec; x: t;
function get(r: rec; i: t): t; begin if i = 0 then return r.a; end; return r.b; end;
procedure set(var e: t; n: t); begin e := n; end;
startstate x := 0; clear v; end;
ruleset i: t do alias e: v[i]; n: get(v[i], x) do
  rule n > 0 ==> begin
    switch x case 1, 2: set(e.a, n); case i: x := n; else x := undefined; end;
  end;
end; end;
"#,
        Dialect::Hadal,
        expect![[r#"
            (program
              (file #0 "test.m")
              (arithmetic -9223372036854775807 9223372036854775807 checked)
              (site @0 #0 0 0)
              (site @1 #0 4 10)
              (site @2 #0 4 41)
              (site @3 #0 4 45)
              (site @4 #0 4 43)
              (site @5 #0 4 59)
              (site @6 #0 4 52)
              (site @7 #0 4 38)
              (site @8 #0 4 76)
              (site @9 #0 4 69)
              (site @10 #0 5 11)
              (site @11 #0 5 43)
              (site @12 #0 5 38)
              (site @13 #0 6 17)
              (site @14 #0 6 12)
              (site @15 #0 6 20)
              (site @16 #0 6 1)
              (site @17 #0 7 28)
              (site @18 #0 7 26)
              (site @19 #0 7 41)
              (site @20 #0 7 45)
              (site @21 #0 7 35)
              (site @22 #0 8 8)
              (site @23 #0 8 12)
              (site @24 #0 8 10)
              (site @25 #0 9 12)
              (site @26 #0 9 19)
              (site @27 #0 9 22)
              (site @28 #0 9 34)
              (site @29 #0 9 25)
              (site @30 #0 9 14)
              (site @31 #0 9 43)
              (site @32 #0 9 51)
              (site @33 #0 9 46)
              (site @34 #0 9 64)
              (site @35 #0 9 59)
              (site @36 #0 9 5)
              (site @37 #0 8 3)
              (type t0 (boolean 0 1))
              (type t1 (range -9223372036854775807 9223372036854775807))
              (type t2 (range 0 3))
              (type t3 (record ("a" t2) ("b" t2)))
              (type t4 (array t2 t3))
              (var v0 "v" t4)
              (var v1 "x" t2)
              (expr e0 @2 (read l1))
              (expr e1 @2 (defined e0))
              (expr e2 @3 (int 0))
              (expr e3 @4 (eq e1 e2))
              (expr e4 @5 (read (at l0 .0)))
              (expr e5 @8 (read (at l0 .1)))
              (expr e6 @11 (read l1))
              (expr e7 @13 (int 0))
              (expr e8 @17 (read l0))
              (expr e9 @17 (defined e8))
              (expr e10 @19 (read l0))
              (expr e11 @19 (defined e10))
              (expr e12 @20 (read v1))
              (expr e13 @21 (call f0 (copy (at v0 [e11])) (value e12)))
              (expr e14 @21 (defined e13))
              (expr e15 @22 (read l2))
              (expr e16 @22 (defined e15))
              (expr e17 @23 (int 0))
              (expr e18 @24 (gt e16 e17))
              (expr e19 @25 (read v1))
              (expr e20 @25 (defined e19))
              (expr e21 @25 (read l3))
              (expr e22 @25 (defined e21))
              (expr e23 @26 (int 1))
              (expr e24 @26 (eq e22 e23))
              (expr e25 @25 (read l3))
              (expr e26 @25 (defined e25))
              (expr e27 @27 (int 2))
              (expr e28 @27 (eq e26 e27))
              (expr e29 @28 (read l2))
              (expr e30 @30 (or e24 e28))
              (expr e31 @25 (read l3))
              (expr e32 @25 (defined e31))
              (expr e33 @31 (read l0))
              (expr e34 @31 (defined e33))
              (expr e35 @31 (eq e32 e34))
              (expr e36 @32 (read l2))
              (expr e37 @34 (undefined))
              (function f0 "get" @1
                (params value value)
                (result t2)
                (locals (l0 "r" value t3) (l1 "i" value t2))
                (body
                  (if @7
                    (e3 ; i = 0
                      (return @6 (value e4)) ; return r.a
                    )
                    (else))
                  (return @9 (value e5)) ; return r.b
                ))
              (function f1 "set" @10
                (params ref value)
                (result)
                (locals (l0 "e" ref t2) (l1 "n" value t2))
                (body
                  (assign @12 l0 e6) ; e := n
                ))
              (start "startstate 1" @16
                (params)
                (locals)
                (body
                  (assign @14 v1 e7) ; x := 0
                  (clear @15 v0) ; clear v
                ))
              (rule "rule 1" @37
                (priority 0)
                (params (l0 (type t2)))
                (locals (l0 "i" value t2) (l1 "e" ref t3) (l2 "n" value t2) (l3 "subject" value t2))
                (prologue
                  (bind @18 l1 (at v0 [e9])) ; alias e: v[i]
                  (assign @21 l2 e14) ; n := get(v[i], x)
                )
                (condition e18) ; n > 0
                (body
                  (bind @18 l1 (at v0 [e9])) ; alias e: v[i]
                  (assign @21 l2 e14) ; n := get(v[i], x)
                  (assign @25 l3 e20) ; subject := x
                  (if @36
                    (e30 ; (subject = 1) | (subject = 2)
                      (call @29 f1 (ref (at l1 .0)) (value e29)) ; set(&e.a, n)
                    )
                    (e35 ; subject = i
                      (assign @33 v1 e36) ; x := n
                    )
                    (else
                      (assign @35 v1 e37) ; x := undefined
                    ))
                ))
            )
        "#]],
    );
}

#[test]
fn unions_and_multisets() {
    check(
        r#"
type p: scalarset(2); u: union { p, enum { home } };
var w: u; q: p; m: multiset [2] of u;
startstate w := home; end;
rule w != q & ismember(w, p) ==> w := q; q := w; multisetadd(q, m); end;
choose i: m do rule m[i] = home ==> multisetremove(i, m); end; end;
"#,
        Dialect::Hadal,
        expect![[r#"
            (program
              (file #0 "test.m")
              (arithmetic -9223372036854775807 9223372036854775807 checked)
              (site @0 #0 0 0)
              (site @1 #0 4 17)
              (site @2 #0 4 12)
              (site @3 #0 4 1)
              (site @4 #0 5 6)
              (site @5 #0 5 11)
              (site @6 #0 5 8)
              (site @7 #0 5 24)
              (site @8 #0 5 15)
              (site @9 #0 5 39)
              (site @10 #0 5 34)
              (site @11 #0 5 47)
              (site @12 #0 5 42)
              (site @13 #0 5 62)
              (site @14 #0 5 50)
              (site @15 #0 5 1)
              (site @16 #0 6 23)
              (site @17 #0 6 21)
              (site @18 #0 6 28)
              (site @19 #0 6 26)
              (site @20 #0 6 52)
              (site @21 #0 6 37)
              (site @22 #0 6 16)
              (scalarset s0 "p" 2)
              (type t0 (boolean 0 1))
              (type t1 (range -9223372036854775807 9223372036854775807))
              (type t2 (scalarset 0 1 s0))
              (type t3 (enum 0 0 "home"))
              (type t4 (union 0 2 s0 (enum "home")))
              (type t5 (multiset 2 t4))
              (type t6 (range 0 1))
              (map m0 t3 (0 0 2))
              (map m1 t2 (0 1 0))
              (map m2 t4 (0 1 0))
              (var v0 "w" t4)
              (var v1 "q" t2)
              (var v2 "m" t5)
              (expr e0 @1 (int 2))
              (expr e1 @4 (read v0))
              (expr e2 @4 (defined e1))
              (expr e3 @5 (read v1))
              (expr e4 @5 (defined e3))
              (expr e5 @5 (remap m1 e4))
              (expr e6 @6 (ne e2 e5))
              (expr e7 @7 (read v0))
              (expr e8 @7 (defined e7))
              (expr e9 @8 (in-range e8 0 1))
              (expr e10 @4 (and e6 e9))
              (expr e11 @9 (read v1))
              (expr e12 @9 (remap m1 e11))
              (expr e13 @11 (read v0))
              (expr e14 @11 (remap m2 e13))
              (expr e15 @13 (read v1))
              (expr e16 @13 (remap m1 e15))
              (expr e17 @16 (read l0))
              (expr e18 @16 (defined e17))
              (expr e19 @17 (read (at v2 [e18])))
              (expr e20 @17 (defined e19))
              (expr e21 @18 (int 2))
              (expr e22 @19 (eq e20 e21))
              (expr e23 @20 (read l0))
              (expr e24 @20 (defined e23))
              (start "startstate 1" @3
                (params)
                (locals)
                (body
                  (assign @2 v0 e0) ; w := 2
                ))
              (rule "rule 1" @15
                (priority 0)
                (params)
                (locals)
                (prologue)
                (condition e10) ; (w != m1(q)) & w in 0..1
                (body
                  (assign @10 v0 e12) ; w := m1(q)
                  (assign @12 v1 e14) ; q := m2(w)
                  (multiset-add @14 v2 (value e16)) ; multisetadd to m
                ))
              (rule "rule 2" @22
                (priority 0)
                (params (l0 (slots v2 2)))
                (locals (l0 "i" value t6))
                (prologue)
                (condition e22) ; m[i] = 2
                (body
                  (multiset-remove @21 v2 e24) ; multisetremove i from m
                ))
            )
        "#]],
    );
}

#[test]
fn references_of_cmurphi() {
    check(
        r#"
type t: 0..3; var x: t;
procedure f(a: t); begin x := 1; assert a = 1; end;
startstate x := 0; end;
rule f(x); f(x + 1); end;
"#,
        Dialect::Cmurphi,
        expect![[r#"
            (program
              (file #0 "test.m")
              (arithmetic -2147483648 2147483647 wraps)
              (site @0 #0 0 0)
              (site @1 #0 1 1)
              (site @2 #0 3 11)
              (site @3 #0 3 31)
              (site @4 #0 3 26)
              (site @5 #0 3 41)
              (site @6 #0 3 45)
              (site @7 #0 3 43)
              (site @8 #0 3 34)
              (site @9 #0 4 17)
              (site @10 #0 4 12)
              (site @11 #0 4 1)
              (site @12 #0 5 6)
              (site @13 #0 5 14)
              (site @14 #0 5 18)
              (site @15 #0 5 16)
              (site @16 #0 5 12)
              (site @17 #0 5 1)
              (type t0 (boolean 0 1))
              (type t1 (range -9223372036854775807 9223372036854775807))
              (type t2 (range 0 3))
              (type t3 (record ("value" t2)))
              (map m0 t1 (0 3 0))
              (var v0 "x" t2)
              (expr e0 @1 (read l0))
              (expr e1 @3 (int 1))
              (expr e2 @5 (read l0))
              (expr e3 @5 (defined e2))
              (expr e4 @6 (int 1))
              (expr e5 @7 (eq e3 e4))
              (expr e6 @9 (int 0))
              (expr e7 @13 (read v0))
              (expr e8 @13 (defined e7))
              (expr e9 @14 (int 1))
              (expr e10 @15 (add e8 e9))
              (expr e11 @13 (remap m0 e10))
              (function f0 "value of t" @1
                (params value)
                (result t3)
                (locals (l0 "value" value t2) (l1 "result" value t3))
                (body
                  (assign @1 (at l1 .0) e0) ; result.value := value
                  (return @1 (copy l1)) ; return result
                ))
              (function f1 "f" @2
                (params const)
                (result)
                (locals (l0 "a" const t2))
                (body
                  (assign @4 v0 e1) ; x := 1
                  (assert @8 e5 "a = 1") ; assert a = 1
                ))
              (start "startstate 1" @11
                (params)
                (locals)
                (body
                  (assign @10 v0 e6) ; x := 0
                ))
              (rule "rule 1" @17
                (priority 0)
                (params)
                (locals (l0 "argument" value t3))
                (prologue)
                (condition)
                (body
                  (call @12 f1 (ref v0)) ; f(&x)
                  (call @16 f1 (ref (at (result @13 f0 l0 (value e11)) .0))) ; f(&value of t(m0((x + 1))).value)
                ))
            )
        "#]],
    );
}

#[test]
fn steps_and_copies_of_rumur() {
    check(
        r#"
var x: 0..3;
startstate x := 0; end;
rule for i := 0 to x do i := 1; x := x; end; end;
"#,
        Dialect::Rumur,
        expect![[r#"
            (program
              (file #0 "test.m")
              (arithmetic -9223372036854775807 9223372036854775807 checked)
              (site @0 #0 0 0)
              (site @1 #0 3 17)
              (site @2 #0 3 12)
              (site @3 #0 3 1)
              (site @4 #0 4 15)
              (site @5 #0 4 20)
              (site @6 #0 4 10)
              (site @7 #0 4 30)
              (site @8 #0 4 25)
              (site @9 #0 4 38)
              (site @10 #0 4 33)
              (site @11 #0 4 1)
              (type t0 (boolean 0 1))
              (type t1 (range -9223372036854775807 9223372036854775807))
              (type t2 (range 0 3))
              (var v0 "x" t2)
              (expr e0 @1 (int 0))
              (expr e1 @4 (int 0))
              (expr e2 @5 (read v0))
              (expr e3 @5 (defined e2))
              (expr e4 @6 (read l0))
              (expr e5 @6 (defined e4))
              (expr e6 @7 (int 1))
              (expr e7 @9 (read v0))
              (expr e8 @9 (defined e7))
              (start "startstate 1" @3
                (params)
                (locals)
                (body
                  (assign @2 v0 e0) ; x := 0
                ))
              (rule "rule 1" @11
                (priority 0)
                (params)
                (locals (l0 "i" value t1) (l1 "i" value t1))
                (prologue)
                (condition)
                (body
                  (for @6 l0 (span e1 e3 toward) ; for i := 0 to x toward
                    (do
                      (assign @6 l1 e5) ; i := i
                      (assign @8 l1 e6) ; i := 1
                      (assign @10 v0 e8) ; x := x
                    ))
                ))
            )
        "#]],
    );
}
