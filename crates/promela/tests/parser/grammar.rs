//! What parses, and as what.

use expect_test::{Expect, expect};

use crate::{outcome, parse_text};

fn check(text: &str, expected: Expect) {
    expected.assert_eq(&outcome(&parse_text(text)));
}

#[test]
fn declarations() {
    check(
        "hidden byte a, b[3] = 7; unsigned u : 4 = 3; mtype = { x, y }; mtype:fruit = { apple }
         mtype:fruit f = apple; chan q[2] = [3] of { byte, mtype:fruit, T }; typedef T { bit g; byte h[2] };
         T t; int c[2] = { 1, -2 }; local pid p; show bool ok = true",
        expect![[r#"
            hidden byte a, b[3] = 7;
            unsigned u : 4 = 3;
            mtype = { x, y };
            mtype:fruit = { apple };
            mtype:fruit f = apple;
            chan q[2] = [3] of { byte, mtype:fruit, T };
            typedef T { bit g; byte h[2] };
            T t;
            int c[2] = { 1, -2 };
            local pid p;
            show bit ok = 1;
        "#]],
    );
}

#[test]
fn processes() {
    check(
        "active [2] proctype P(byte a, b; chan c) priority 3 provided (a > b) { skip }
         D_proctype Q(byte a, bit b) { run P(1, 2, q) priority 4 }
         init priority 2 { x = run Q(1, 0); _priority = 3 }
         never claim { accept: do :: !(P[0]@here) :: init@end || P[1]:x == 2 od }
         notrace { q!1; q?1 }",
        expect![[r#"
            active [2] proctype P(byte a, b; chan c) priority 3 provided (a > b) {
              1;
            }
            D_proctype Q(byte a; bit b) {
              run P(1, 2, q) priority 4;
            }
            init priority 2 {
              x = run Q(1, 0);
              _priority = 3;
            }
            never claim {
              accept: do :: !P[0]@here ::  od;
            }
            init {
            }
            notrace {
              q!1;
              q?1;
            }
            error test.pml:4:51: this option has no statement
            error test.pml:4:54: expected `od`, found the reserved word `init`
            error test.pml:4:58: expected `{`, found `@`
        "#]],
    );
}

#[test]
fn statements() {
    check(
        r#"init { L: M: x++; y--; a[i].b[2] = (x -> 1 : 2)
           q!1(2,3); q!!x,y; q?a(b,_) -> q??eval(x + 1),-3; q?<a,b>; q??<a>; q?[a] && q??[1,b]
           if :: x -> y = 1 :: else fi
           do :: timeout; break :: goto L od; { x = 1 } unless { x == 2; y = 3 }
           atomic { x = 1 } d_step { x = 1; x = 2 }
           for (i : 1 .. N) { skip } for (i in a) { skip }
           select (i : 0 .. 3); assert(x == 1); assert x; printf("a\n%d", x); printm(y)
           set_priority(0, 2); xr q; len(q) > 1 && empty(q) || nfull(q); end: }"#,
        expect![[r#"
            init {
              L: M: x++;
              y--;
              a[i].b[2] = (x -> 1 : 2);
              q!1, 2, 3;
              q!!x, y;
              q?a, b, _;
              q??eval(x + 1), -3;
              q?<a, b>;
              q??<a>;
              q?[a] && q??[1, b];
              if :: x; y = 1 :: else fi;
              do :: timeout; break :: goto L od;
              { x = 1 } unless { x == 2; y = 3 };
              atomic { x = 1 };
              d_step { x = 1; x = 2 };
              for (i : 1 .. N) { 1 };
              for (i in a) { 1 };
              select (i : 0 .. 3);
              assert(x == 1);
              assert(x);
              printf("a\n%d", x);
              printm(y);
              set_priority(0, 2);
              xr q;
              len(q) > 1 && empty(q) || nfull(q);
              end: 1;
            }
        "#]],
    );
}

#[test]
fn precedence() {
    check(
        "init { a || b && c | d ^ e & f == g < h << i + j * -k; (a + b) * c - (d - e); !a == b; ~-a % 'A'; 017 + 09 }",
        expect![[r#"
            init {
              a || b && c | d ^ e & f == g < h << i + j * -k;
              (a + b) * c - (d - e);
              !a == b;
              ~(-a) % 65;
              17 + 9;
            }
        "#]],
    );
}

#[test]
fn formulas() {
    check(
        "ltl a { [] p -> <> q U r && !s }  ltl { always (x > 1 implies eventually y == 2) }
         ltl b { X<>p W (a V b) <-> X == 1 /\\ (P@here) } ltl c { ! ! <> p }",
        expect![[r#"
            ltl a { ([] (p) -> (<> ((q) U (r)) && (!s))) }
            ltl { [] ((x > 1) -> <> (y == 2)) }
            ltl b { (X <> ((p) W ((a) V (b))) <-> ((X == 1) && (P@here))) }
            ltl c { ! !<> (p) }
        "#]],
    );
}

#[test]
fn inlines_are_expanded() {
    check(
        "inline add(v, n) { byte old = v; v = v + n }
         inline twice(v) { add(v, 1); add(v, (2, 3)) }
         inline get() { return x + 1 }
         init { twice(a[i]); y = get(); L: add(y, q?[1]) }",
        expect![[r#"
            init {
              { { byte old = a[i]; a[i] = a[i] + 1 }; { byte old = a[i]; a[i] = a[i] + 2 } };
              { y = x + 1 };
              L: { byte old = y; y = y + q?[1] };
            }
            error test.pml:4:17: expected `)`, found `,`
        "#]],
    );
}

#[test]
fn separators() {
    check(
        "init { x = 1;; y = 2 -> ; if :: x fi if :: y -> fi; { z } w\n v\n (u) }",
        expect![[r#"
            init {
              x = 1;
              y = 2;
              if :: x fi;
              if :: y fi;
              { z };
              w;
              <error>;
            }
            error test.pml:2:2: there is no inline `v`
        "#]],
    );
}
