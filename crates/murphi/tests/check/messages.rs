//! Every kind of message, as a person sees it.

use expect_test::{Expect, expect};
use hadal_murphi::{Dialect, Options, compile};
use hadal_syntax::{Renderer, Source, Sources};

use crate::rendered;

/// Checks the messages about a text in our own dialect.
#[track_caller]
fn check(text: &str, expected: Expect) {
    expected.assert_eq(&rendered(text.trim_start(), Dialect::Hadal));
}

#[test]
fn unknown_names() {
    check(
        r#"
type state: enum { idle, waiting, busy };
var mode: state; procs: array [0..3] of record status: state; end;
startstate
  mode := wating;
  mode := wating;
  procs[0].statsu := idle;
  procs[1].left := idle;
  moed := idle;
  reset(mode);
end;
ruleset i: stat do rule true ==> mode := idle; end; end;
"#,
        expect![[r#"
            error: unknown name `wating`
             --> test.m:4:11
              |
            4 |   mode := wating;
              |           ^^^^^^ not declared above this place
              |
              = help: did you mean `waiting`?

            error: `record {status}` has no field `statsu`
             --> test.m:6:12
              |
            6 |   procs[0].statsu := idle;
              |            ^^^^^^
              |
              = help: did you mean `status`?

            error: `record {status}` has no field `left`
             --> test.m:7:12
              |
            7 |   procs[1].left := idle;
              |            ^^^^
              |
              = note: its fields are status

            error: unknown name `moed`
             --> test.m:8:3
              |
            8 |   moed := idle;
              |   ^^^^ not declared above this place
              |
              = help: did you mean `mode`?

            error: unknown function `reset`
             --> test.m:9:3
              |
            9 |   reset(mode);
              |   ^^^^^ not declared above this place

            error: unknown type `stat`
              --> test.m:11:12
               |
            11 | ruleset i: stat do rule true ==> mode := idle; end; end;
               |            ^^^^ not declared above this place
               |
               = help: did you mean `state`?

        "#]],
    );
}

#[test]
fn names_declared_twice() {
    check(
        r#"
const n: 3;
type a: enum { x, y }; b: enum { y, z };
var n: 0..3;
function f(a: boolean; a: boolean): boolean; begin return a; end;
procedure f(); begin end;
startstate var v: a; v: b; begin end;
"#,
        expect![[r#"
            error: `y` is declared twice
             --> test.m:2:34
              |
            2 | type a: enum { x, y }; b: enum { y, z };
              |                   -              ^ declared again here
              |                   |
              |                   first declared here

            error: `n` is declared twice
             --> test.m:3:5
              |
            1 | const n: 3;
              |       - first declared here
            2 | type a: enum { x, y }; b: enum { y, z };
            3 | var n: 0..3;
              |     ^ declared again here

            error: `a` is declared twice
             --> test.m:4:24
              |
            4 | function f(a: boolean; a: boolean): boolean; begin return a; end;
              |            -           ^ declared again here
              |            |
              |            first declared here

            error: `f` is declared twice
             --> test.m:5:11
              |
            4 | function f(a: boolean; a: boolean): boolean; begin return a; end;
              |          - first declared here
            5 | procedure f(); begin end;
              |           ^ declared again here

            error: `v` is declared twice
             --> test.m:6:22
              |
            6 | startstate var v: a; v: b; begin end;
              |                -     ^ declared again here
              |                |
              |                first declared here

            warning: the model has no rules
             --> test.m:7:1
              |
            7 |
              | ^

        "#]],
    );
}

#[test]
fn mismatched_types() {
    check(
        r#"
type p: scalarset(2); q: scalarset(2); c: enum { red, green };
  r1: record a: 0..3; end; r2: record a: 0..3; end;
var x: 0..3; b: boolean; i: p; j: q; d: c; s: r1; t: r2; v: array [c] of 0..3;
function f(a: 0..3; var e: boolean): c; begin e := true; return 3; end;
startstate
  x := true; b := x; b := d = red & x; i := j; i := 0; s := t; x := v; v[0] := 1; v[red] := green;
  if x then end; while d do end; d := f(b, b); d := f(1, x); f(1, true); f(1); x := f(1, b);
  switch d case 1: end; b := i < i; b := d < red; x := d + 1; x := b ? 1 : red; b := s = t;
  x := -b; b := !x; for k := red to green do end; for k: r1 do end;
end;
"#,
        expect![[r#"
            warning: unused parameter `a`
             --> test.m:4:12
              |
            4 | function f(a: 0..3; var e: boolean): c; begin e := true; return 3; end;
              |            ^

            error: mismatched types: the function returns a `c`
             --> test.m:4:65
              |
            4 | function f(a: 0..3; var e: boolean): c; begin e := true; return 3; end;
              |                                      - it returns a `c`         ^ this is a number

            error: mismatched types: the value must be a `0..3`
             --> test.m:6:8
              |
            6 |   x := true; b := x; b := d = red & x; i := j; i := 0; s := t; x := v; v[0] := 1; v[red] := green;
              |   -    ^^^^ this is a `boolean`
              |   |
              |   this is a `0..3`

            error: mismatched types: the value must be a `boolean`
             --> test.m:6:19
              |
            6 |   x := true; b := x; b := d = red & x; i := j; i := 0; s := t; x := v; v[0] := 1; v[red] := green;
              |              -    ^ this is a `0..3`
              |              |
              |              this is a `boolean`
              |
              = help: compare it with a number, as in `x != 0`

            error: mismatched types: an operand of `&` must be a `boolean`
             --> test.m:6:37
              |
            6 |   x := true; b := x; b := d = red & x; i := j; i := 0; s := t; x := v; v[0] := 1; v[red] := green;
              |                                     ^ this is a `0..3`
              |
              = help: compare it with a number, as in `x != 0`

            error: mismatched types: the value must be a `p`
             --> test.m:6:45
              |
            6 |   x := true; b := x; b := d = red & x; i := j; i := 0; s := t; x := v; v[0] := 1; v[red] := green;
              |                                        -    ^ this is a `q`
              |                                        |
              |                                        this is a `p`
              |
              = note: values of two scalarsets never mix

            error: mismatched types: the value must be a `p`
             --> test.m:6:53
              |
            6 |   x := true; b := x; b := d = red & x; i := j; i := 0; s := t; x := v; v[0] := 1; v[red] := green;
              |                                                -    ^ this is a number
              |                                                |
              |                                                this is a `p`

            error: mismatched types: the value must be a `r1`
             --> test.m:6:61
              |
            2 |   r1: record a: 0..3; end; r2: record a: 0..3; end;
              |   -- `r1` is declared here -- `r2` is declared here
            ...
            6 |   x := true; b := x; b := d = red & x; i := j; i := 0; s := t; x := v; v[0] := 1; v[red] := green;
              |                                                        -    ^ this is a `r2`
              |                                                        |
              |                                                        this is a `r1`
              |
              = note: a type with a name is the same only as itself

            error: mismatched types: the value must be a `0..3`
             --> test.m:6:69
              |
            6 |   x := true; b := x; b := d = red & x; i := j; i := 0; s := t; x := v; v[0] := 1; v[red] := green;
              |                                                                -    ^ this is an `array [c] of 0..3`
              |                                                                |
              |                                                                this is a `0..3`

            error: mismatched types: the index must be a `c`
             --> test.m:6:74
              |
            6 |   x := true; b := x; b := d = red & x; i := j; i := 0; s := t; x := v; v[0] := 1; v[red] := green;
              |                                                                        - ^ this is a number
              |                                                                        |
              |                                                                        of this array

            error: mismatched types: the value must be a `0..3`
             --> test.m:6:93
              |
            6 |   x := true; b := x; b := d = red & x; i := j; i := 0; s := t; x := v; v[0] := 1; v[red] := green;
              |                                                                                   ------    ^^^^^ this is a `c`
              |                                                                                   |
              |                                                                                   this is a `0..3`

            error: mismatched types: the condition of `if` must be a `boolean`
             --> test.m:7:6
              |
            7 |   if x then end; while d do end; d := f(b, b); d := f(1, x); f(1, true); f(1); x := f(1, b);
              |      ^ this is a `0..3`
              |
              = help: compare it with a number, as in `x != 0`

            error: mismatched types: the condition of `while` must be a `boolean`
             --> test.m:7:24
              |
            7 |   if x then end; while d do end; d := f(b, b); d := f(1, x); f(1, true); f(1); x := f(1, b);
              |                        ^ this is a `c`

            error: mismatched types: the argument must be a `0..3`
             --> test.m:7:41
              |
            4 | function f(a: 0..3; var e: boolean): c; begin e := true; return 3; end;
              |            - the parameter is a `0..3`
            ...
            7 |   if x then end; while d do end; d := f(b, b); d := f(1, x); f(1, true); f(1); x := f(1, b);
              |                                         ^ this is a `boolean`

            error: mismatched types: the argument must be a `boolean`
             --> test.m:7:58
              |
            4 | function f(a: 0..3; var e: boolean): c; begin e := true; return 3; end;
              |                         - the parameter is a `boolean`
            ...
            7 |   if x then end; while d do end; d := f(b, b); d := f(1, x); f(1, true); f(1); x := f(1, b);
              |                                                          ^ this is a `0..3`
              |
              = note: a `var` parameter needs a variable of exactly its type
              = help: compare it with a number, as in `x != 0`

            error: a `var` parameter needs a variable
             --> test.m:7:67
              |
            4 | function f(a: 0..3; var e: boolean): c; begin e := true; return 3; end;
              |                         - the parameter
            ...
            7 |   if x then end; while d do end; d := f(b, b); d := f(1, x); f(1, true); f(1); x := f(1, b);
              |                                                                   ^^^^ this is a value

            error: `f` takes 2 arguments, not 1
             --> test.m:7:74
              |
            4 | function f(a: 0..3; var e: boolean): c; begin e := true; return 3; end;
              |          - declared here
            ...
            7 |   if x then end; while d do end; d := f(b, b); d := f(1, x); f(1, true); f(1); x := f(1, b);
              |                                                                          ^^^^

            error: mismatched types: the value must be a `0..3`
             --> test.m:7:85
              |
            7 |   if x then end; while d do end; d := f(b, b); d := f(1, x); f(1, true); f(1); x := f(1, b);
              |                                                                                -    ^^^^^^^ this is a `c`
              |                                                                                |
              |                                                                                this is a `0..3`

            error: these cannot be compared
             --> test.m:8:17
              |
            8 |   switch d case 1: end; b := i < i; b := d < red; x := d + 1; x := b ? 1 : red; b := s = t;
              |          -      ^
              |          |      |
              |          |      this is a number
              |          this is a `c`

            error: the values of `p` have no order
             --> test.m:8:32
              |
            8 |   switch d case 1: end; b := i < i; b := d < red; x := d + 1; x := b ? 1 : red; b := s = t;
              |                              - ^
              |                              |
              |                              this is a `p`
              |
              = note: only `=` and `!=` compare them

            error: the values of `c` have no order
             --> test.m:8:44
              |
            8 |   switch d case 1: end; b := i < i; b := d < red; x := d + 1; x := b ? 1 : red; b := s = t;
              |                                          - ^
              |                                          |
              |                                          this is a `c`
              |
              = note: only `=` and `!=` compare them

            warning: the model has no rules
              --> test.m:11:1
               |
            11 |
               | ^

            ... and 8 more errors
        "#]],
    );
}

#[test]
fn places() {
    check(
        r#"
const n: 3; type t: 0..3;
var x: t; r: record a: t; end; v: array [t] of t;
procedure p(k: t; var l: t); begin k := 1; l := 2; end;
startstate
  n := 2; t := 1; p := 1; x.a := 1; r.a.b := 1; r[1] := 1; v.a := 1; x[1] := 1; n.a := 1;
  for i: t do i := 1; p(1, i); end;
  alias a: x + 1 do a := 2; end; alias a: x do a := 1; end;
  p(1, x + 1); p(1, 3); clear n; undefine p;
  if isundefined(r) | isundefined(x + 1) | isundefined(n) then end;
end;
ruleset i: t do rule i = 0 ==> i := 1; end; end;
"#,
        expect![[r#"
            error: cannot assign to `k`
             --> test.m:3:36
              |
            3 | procedure p(k: t; var l: t); begin k := 1; l := 2; end;
              |             - declared here        ^ this is a parameter without `var`

            error: cannot assign to `n`
             --> test.m:5:3
              |
            5 |   n := 2; t := 1; p := 1; x.a := 1; r.a.b := 1; r[1] := 1; v.a := 1; x[1] := 1; n.a := 1;
              |   ^ this is a constant

            error: `t` is a type, not a value
             --> test.m:5:11
              |
            1 | const n: 3; type t: 0..3;
              |                  - declared here
            ...
            5 |   n := 2; t := 1; p := 1; x.a := 1; r.a.b := 1; r[1] := 1; v.a := 1; x[1] := 1; n.a := 1;
              |           ^

            error: `p` is a function, not a value
             --> test.m:5:19
              |
            3 | procedure p(k: t; var l: t); begin k := 1; l := 2; end;
              |           - declared here
            4 | startstate
            5 |   n := 2; t := 1; p := 1; x.a := 1; r.a.b := 1; r[1] := 1; v.a := 1; x[1] := 1; n.a := 1;
              |                   ^
              |
              = help: call it: `p(...)`

            error: `x` has no fields
             --> test.m:5:29
              |
            5 |   n := 2; t := 1; p := 1; x.a := 1; r.a.b := 1; r[1] := 1; v.a := 1; x[1] := 1; n.a := 1;
              |                           - ^
              |                           |
              |                           this is a `t`, not a record

            error: `r.a` has no fields
             --> test.m:5:41
              |
            5 |   n := 2; t := 1; p := 1; x.a := 1; r.a.b := 1; r[1] := 1; v.a := 1; x[1] := 1; n.a := 1;
              |                                     --- ^
              |                                     |
              |                                     this is a `t`, not a record

            error: `r` cannot be indexed
             --> test.m:5:51
              |
            5 |   n := 2; t := 1; p := 1; x.a := 1; r.a.b := 1; r[1] := 1; v.a := 1; x[1] := 1; n.a := 1;
              |                                                 - ^
              |                                                 |
              |                                                 this is a `record {a}`, not an array

            error: `v` has no fields
             --> test.m:5:62
              |
            5 |   n := 2; t := 1; p := 1; x.a := 1; r.a.b := 1; r[1] := 1; v.a := 1; x[1] := 1; n.a := 1;
              |                                                            - ^
              |                                                            |
              |                                                            this is an `array [t] of t`, not a record

            error: `x` cannot be indexed
             --> test.m:5:72
              |
            5 |   n := 2; t := 1; p := 1; x.a := 1; r.a.b := 1; r[1] := 1; v.a := 1; x[1] := 1; n.a := 1;
              |                                                                      - ^
              |                                                                      |
              |                                                                      this is a `t`, not an array

            error: `n` has no parts
             --> test.m:5:81
              |
            5 |   n := 2; t := 1; p := 1; x.a := 1; r.a.b := 1; r[1] := 1; v.a := 1; x[1] := 1; n.a := 1;
              |                                                                                 ^ this is a number

            error: cannot assign to `i`
             --> test.m:6:15
              |
            6 |   for i: t do i := 1; p(1, i); end;
              |       -       ^ this is a loop variable
              |       |
              |       declared here

            error: cannot pass `i` to a `var` parameter
             --> test.m:6:28
              |
            6 |   for i: t do i := 1; p(1, i); end;
              |       - declared here      ^ this is a loop variable

            error: cannot assign to `a`
             --> test.m:7:21
              |
            7 |   alias a: x + 1 do a := 2; end; alias a: x do a := 1; end;
              |         -           ^ this is an alias of a value
              |         |
              |         declared here

            error: a `var` parameter needs a variable
             --> test.m:8:8
              |
            3 | procedure p(k: t; var l: t); begin k := 1; l := 2; end;
              |                       - the parameter
            ...
            8 |   p(1, x + 1); p(1, 3); clear n; undefine p;
              |        ^^^^^ this is a value

            error: a `var` parameter needs a variable
             --> test.m:8:21
              |
            3 | procedure p(k: t; var l: t); begin k := 1; l := 2; end;
              |                       - the parameter
            ...
            8 |   p(1, x + 1); p(1, 3); clear n; undefine p;
              |                     ^ this is a value

            error: cannot clear `n`
             --> test.m:8:31
              |
            8 |   p(1, x + 1); p(1, 3); clear n; undefine p;
              |                               ^ this is a constant

            error: `p` is a function, not a value
             --> test.m:8:43
              |
            3 | procedure p(k: t; var l: t); begin k := 1; l := 2; end;
              |           - declared here
            ...
            8 |   p(1, x + 1); p(1, 3); clear n; undefine p;
              |                                           ^
              |
              = help: call it: `p(...)`

            error: `isundefined` asks about a variable of simple type
             --> test.m:9:18
              |
            9 |   if isundefined(r) | isundefined(x + 1) | isundefined(n) then end;
              |                  ^ this is a `record {a}`

            error: `isundefined` asks about a variable of simple type
             --> test.m:9:35
              |
            9 |   if isundefined(r) | isundefined(x + 1) | isundefined(n) then end;
              |                                   ^^^^^ this is a value

            error: `isundefined` asks about a variable of simple type
             --> test.m:9:56
              |
            9 |   if isundefined(r) | isundefined(x + 1) | isundefined(n) then end;
              |                                                        ^ this is a value

            ... and 1 more error
        "#]],
    );
}

#[test]
fn constants() {
    check(
        r#"
const a: 1 / 0; b: 9223372036854775807 + 1; c: x; d: 3 .. 4;
var x: 0..3; y: 5..2; z: 0..x; s: scalarset(0); m: multiset [-1] of boolean; v: array [0..1] of 0..3;
startstate
  x := 4; x := v[2]; x := 3 / 0; x := x % 0; for i := 0 to 3 by 0 do end;
end;
ruleset i := 0 to x do rule i = 0 ==> end; end;
"#,
        expect![[r#"
            error: division by zero
             --> test.m:1:12
              |
            1 | const a: 1 / 0; b: 9223372036854775807 + 1; c: x; d: 3 .. 4;
              |            ^

            error: this does not fit in 64 bits
             --> test.m:1:40
              |
            1 | const a: 1 / 0; b: 9223372036854775807 + 1; c: x; d: 3 .. 4;
              |                                        ^

            error: unknown name `x`
             --> test.m:1:48
              |
            1 | const a: 1 / 0; b: 9223372036854775807 + 1; c: x; d: 3 .. 4;
              |                                                ^ not declared above this place

            error: expected a declaration or a rule, found `..`
             --> test.m:1:56
              |
            1 | const a: 1 / 0; b: 9223372036854775807 + 1; c: x; d: 3 .. 4;
              |                                                        ^^ expected a declaration or a rule

            error: the range 5..2 is empty
             --> test.m:2:17
              |
            2 | var x: 0..3; y: 5..2; z: 0..x; s: scalarset(0); m: multiset [-1] of boolean; v: array [0..1] of 0..3;
              |                 ^^^^ the upper bound is less than the lower one

            error: the bound of a range must be a constant
             --> test.m:2:29
              |
            2 | var x: 0..3; y: 5..2; z: 0..x; s: scalarset(0); m: multiset [-1] of boolean; v: array [0..1] of 0..3;
              |                             ^ known only when the model runs

            error: a scalarset cannot have 0 elements
             --> test.m:2:45
              |
            2 | var x: 0..3; y: 5..2; z: 0..x; s: scalarset(0); m: multiset [-1] of boolean; v: array [0..1] of 0..3;
              |                                             ^

            error: a multiset cannot have room for -1 elements
             --> test.m:2:62
              |
            2 | var x: 0..3; y: 5..2; z: 0..x; s: scalarset(0); m: multiset [-1] of boolean; v: array [0..1] of 0..3;
              |                                                              ^^

            error: 4 is not in `0..3`
             --> test.m:4:8
              |
            4 |   x := 4; x := v[2]; x := 3 / 0; x := x % 0; for i := 0 to 3 by 0 do end;
              |        ^

            error: 2 is not in `0..1`
             --> test.m:4:18
              |
            4 |   x := 4; x := v[2]; x := 3 / 0; x := x % 0; for i := 0 to 3 by 0 do end;
              |                  ^

            error: division by zero
             --> test.m:4:29
              |
            4 |   x := 4; x := v[2]; x := 3 / 0; x := x % 0; for i := 0 to 3 by 0 do end;
              |                             ^

            error: division by zero
             --> test.m:4:41
              |
            4 |   x := 4; x := v[2]; x := 3 / 0; x := x % 0; for i := 0 to 3 by 0 do end;
              |                                         ^

            error: a step of 0 leads nowhere
             --> test.m:4:50
              |
            4 |   x := 4; x := v[2]; x := 3 / 0; x := x % 0; for i := 0 to 3 by 0 do end;
              |                                                  ^^^^^^^^^^^^^^^^

            error: the bound of a ruleset must be a constant
             --> test.m:6:19
              |
            6 | ruleset i := 0 to x do rule i = 0 ==> end; end;
              |                   ^ known only when the model runs

        "#]],
    );
}

#[test]
fn writes_in_guards() {
    check(
        r#"
type t: 0..3;
var x: t; y: t;
function bump(): boolean; begin x := 1; return true; end;
function twice(): boolean; begin return bump(); end;
procedure note(); begin cover x = 1; end;
function seen(): boolean; begin note(); return true; end;
function put_in(var v: t): boolean; begin v := 1; return true; end;
function look(var v: t): boolean; begin return v = 1; end;
startstate x := 0; end;
rule bump() ==> end;
rule look(x) & put_in(y) ==> end;
invariant twice();
cover seen();
alias a: bump() do rule a ==> end; end;
"#,
        expect![[r#"
            error: the guard calls `bump`, which writes `x`
              --> test.m:10:6
               |
             3 | function bump(): boolean; begin x := 1; return true; end;
               |                                 - `x` is written here
            ...
            10 | rule bump() ==> end;
               |      ^^^^^^
               |
               = note: only the body of a rule or startstate may change the state

            error: the guard calls `put_in`, which writes `y`
              --> test.m:11:23
               |
             7 | function put_in(var v: t): boolean; begin v := 1; return true; end;
               |                                           - written here
            ...
            11 | rule look(x) & put_in(y) ==> end;
               |                       ^
               |
               = note: only the body of a rule or startstate may change the state

            error: an invariant calls `twice`, which writes `x`
              --> test.m:12:11
               |
             3 | function bump(): boolean; begin x := 1; return true; end;
               |                                 - `x` is written here
            ...
            12 | invariant twice();
               |           ^^^^^^^
               |
               = note: only the body of a rule or startstate may change the state

            error: a cover property calls `seen`, which has a statement `cover`
              --> test.m:13:7
               |
             5 | procedure note(); begin cover x = 1; end;
               |                         ----------- here
            ...
            13 | cover seen();
               |       ^^^^^^
               |
               = note: `cover` is a statement for bodies of rules

            error: an alias around rules calls `bump`, which writes `x`
              --> test.m:14:10
               |
             3 | function bump(): boolean; begin x := 1; return true; end;
               |                                 - `x` is written here
            ...
            14 | alias a: bump() do rule a ==> end; end;
               |          ^^^^^^
               |
               = note: only the body of a rule or startstate may change the state

        "#]],
    );
}

#[test]
fn functions_and_returns() {
    check(
        r#"
var x: 0..3;
function f(): 0..3; begin return; end;
function g(): 0..3; begin x := 1; end;
procedure p(); begin return 1; end;
startstate x := p(); x := g; x := h(); return 1; end;
rule x(1) = 1 ==> end;
"#,
        expect![[r#"
            error: the value to return is missing
             --> test.m:2:27
              |
            2 | function f(): 0..3; begin return; end;
              |               ----        ^^^^^^
              |               |
              |               the function returns a `0..3`

            warning: function `g` never returns a value
             --> test.m:3:10
              |
            3 | function g(): 0..3; begin x := 1; end;
              |          ^
              |
              = note: to reach the end of a function is a fault

            error: only a function can return a value
             --> test.m:4:29
              |
            4 | procedure p(); begin return 1; end;
              |                             ^

            error: `p` returns no value
             --> test.m:5:17
              |
            4 | procedure p(); begin return 1; end;
              |           - declared as a procedure here
            5 | startstate x := p(); x := g; x := h(); return 1; end;
              |                 ^^^

            error: `g` is a function, not a value
             --> test.m:5:27
              |
            3 | function g(): 0..3; begin x := 1; end;
              |          - declared here
            4 | procedure p(); begin return 1; end;
            5 | startstate x := p(); x := g; x := h(); return 1; end;
              |                           ^
              |
              = help: call it: `g(...)`

            error: unknown function `h`
             --> test.m:5:35
              |
            5 | startstate x := p(); x := g; x := h(); return 1; end;
              |                                   ^ not declared above this place

            error: only a function can return a value
             --> test.m:5:47
              |
            5 | startstate x := p(); x := g; x := h(); return 1; end;
              |                                               ^

            error: `x` is not a function
             --> test.m:6:6
              |
            1 | var x: 0..3;
              |     - declared here
            ...
            6 | rule x(1) = 1 ==> end;
              |      ^

        "#]],
    );
}

#[test]
fn unused_and_useless() {
    check(
        r#"
type t: 0..3;
var x: t;
procedure p(a: t; b: t); begin x := a; end;
startstate x := 0; end;
ruleset i: t; j: t do rule x = i ==> p(1, 2); end; end;
rule false ==> x := 9; end;
rule x = 7 | x != 4 ==> x := 0; end;
"#,
        expect![[r#"
            warning: unused parameter `b`
             --> test.m:3:19
              |
            3 | procedure p(a: t; b: t); begin x := a; end;
              |                   ^

            warning: unused ruleset parameter `j`
             --> test.m:5:15
              |
            5 | ruleset i: t; j: t do rule x = i ==> p(1, 2); end; end;
              |               ^
              |
              = note: every rule inside fires once for each of its values

            warning: this rule never fires: its guard is always false
             --> test.m:6:6
              |
            6 | rule false ==> x := 9; end;
              |      ^^^^^

            warning: this comparison is always false
             --> test.m:7:8
              |
            7 | rule x = 7 | x != 4 ==> x := 0; end;
              |        ^
              |
              = note: 7 is not in 0..3

            warning: this comparison is always true
             --> test.m:7:16
              |
            7 | rule x = 7 | x != 4 ==> x := 0; end;
              |                ^^
              |
              = note: 4 is not in 0..3

        "#]],
    );
}

#[test]
fn unsupported() {
    check(
        r#"
type r: real(3, 10);
var x: 0..3; y: r;
externfun f(a: 0..3): boolean "f.h";
startstate x := 0; end;
rule f(1) ==> x := 1; end;
"#,
        expect![[r#"
            error: real types are not supported
             --> test.m:1:9
              |
            1 | type r: real(3, 10);
              |         ^^^^^^^^^^^

            error: external function `f` is not supported
             --> test.m:3:11
              |
            3 | externfun f(a: 0..3): boolean "f.h";
              |           ^
              |
              = help: write it in the language of the model

        "#]],
    );
}

#[test]
fn unions_and_multisets() {
    check(
        r#"
type p: scalarset(2); e: enum { a }; u: union { p, e }; w: union { p }; z: union { p, 0..1 }; k: union { e, e };
var x: u; y: p; m, n: multiset [2] of e; l: multiset [3] of e; b: boolean; i: 0..1;
startstate
  b := ismember(y, p); b := ismember(x, boolean); b := x = b; multisetadd(b, m); multisetadd(a, y);
  multisetremove(i, m); b := m[i] = a; b := m = n; i := multisetcount(j: m, j = 1);
  i := multisetcount(j: m, l[j] = a);
end;
choose c: x do rule m[c] = a ==> end; end;
choose c: m do rule l[c] = a ==> multisetremove(c, m); b := c; end; end;
"#,
        expect![[r#"
            error: a union needs two members or more
             --> test.m:1:60
              |
            1 | type p: scalarset(2); e: enum { a }; u: union { p, e }; w: union { p }; z: union { p, 0..1 }; k: union { e, e };
              |                                                            ^^^^^^^^^^^

            error: the members of a union are enumerations and scalarsets
             --> test.m:1:87
              |
            1 | type p: scalarset(2); e: enum { a }; u: union { p, e }; w: union { p }; z: union { p, 0..1 }; k: union { e, e };
              |                                                                                       ^^^^ this is a `0..1`

            error: this type is a member of the union already
             --> test.m:1:109
              |
            1 | type p: scalarset(2); e: enum { a }; u: union { p, e }; w: union { p }; z: union { p, 0..1 }; k: union { e, e };
              |                                                                                                             ^

            error: `ismember` asks about a union
             --> test.m:4:17
              |
            4 |   b := ismember(y, p); b := ismember(x, boolean); b := x = b; multisetadd(b, m); multisetadd(a, y);
              |                 ^ this is a `p`

            error: `boolean` is not a member of `u`
             --> test.m:4:41
              |
            4 |   b := ismember(y, p); b := ismember(x, boolean); b := x = b; multisetadd(b, m); multisetadd(a, y);
              |                                         ^^^^^^^

            error: these cannot be compared
             --> test.m:4:58
              |
            4 |   b := ismember(y, p); b := ismember(x, boolean); b := x = b; multisetadd(b, m); multisetadd(a, y);
              |                                                        - ^ - this is a `boolean`
              |                                                        |
              |                                                        this is a `u`

            error: mismatched types: the elements are `e`
             --> test.m:4:75
              |
            4 |   b := ismember(y, p); b := ismember(x, boolean); b := x = b; multisetadd(b, m); multisetadd(a, y);
              |                                                                           ^  - of this multiset
              |                                                                           |
              |                                                                           this is a `boolean`

            error: a multiset is needed here
             --> test.m:4:97
              |
            4 |   b := ismember(y, p); b := ismember(x, boolean); b := x = b; multisetadd(b, m); multisetadd(a, y);
              |                                                                                                 ^ this is a `p`

            error: this is not an index of this multiset
             --> test.m:5:18
              |
            5 |   multisetremove(i, m); b := m[i] = a; b := m = n; i := multisetcount(j: m, j = 1);
              |                  ^
              |
              = help: an index is bound by `choose`, `multisetcount` or `multisetremovepred`

            error: this is not an index of this multiset
             --> test.m:5:32
              |
            5 |   multisetremove(i, m); b := m[i] = a; b := m = n; i := multisetcount(j: m, j = 1);
              |                                ^
              |
              = help: an index is bound by `choose`, `multisetcount` or `multisetremovepred`

            error: multisets cannot be compared
             --> test.m:5:47
              |
            5 |   multisetremove(i, m); b := m[i] = a; b := m = n; i := multisetcount(j: m, j = 1);
              |                                               ^

            error: the index of an element of a multiset is not a value
             --> test.m:5:77
              |
            5 |   multisetremove(i, m); b := m[i] = a; b := m = n; i := multisetcount(j: m, j = 1);
              |                                                                             ^
              |
              = help: it can only be the index of its multiset, or be given to `multisetremove`

            error: this is not an index of this multiset
             --> test.m:6:30
              |
            6 |   i := multisetcount(j: m, l[j] = a);
              |                              ^
              |
              = help: an index is bound by `choose`, `multisetcount` or `multisetremovepred`

            error: a multiset is needed here
             --> test.m:8:11
              |
            8 | choose c: x do rule m[c] = a ==> end; end;
              |           ^ this is a `u`

            error: this is not an index of this multiset
             --> test.m:9:23
              |
            9 | choose c: m do rule l[c] = a ==> multisetremove(c, m); b := c; end; end;
              |                       ^
              |
              = help: an index is bound by `choose`, `multisetcount` or `multisetremovepred`

            error: the index of an element of a multiset is not a value
             --> test.m:9:61
              |
            9 | choose c: m do rule l[c] = a ==> multisetremove(c, m); b := c; end; end;
              |                                                             ^
              |
              = help: it can only be the index of its multiset, or be given to `multisetremove`

        "#]],
    );
}

#[test]
fn symmetry_breaks() {
    check(
        r#"
type p: scalarset(2); r: record who: p; n: 0..3; end;
var x: r; y: array [p] of 0..3; z: p;
startstate clear x; clear y; clear z; clear x.n; end;
"#,
        expect![[r#"
            warning: the model has no rules
             --> test.m:4:1
              |
            4 |
              | ^

            error: `clear` gives elements of a scalarset a value, and so distinguishes them
             --> test.m:3:18
              |
            3 | startstate clear x; clear y; clear z; clear x.n; end;
              |                  ^ this is a `r`
              |
              = help: use `undefine` for the parts that hold elements of a scalarset

            error: `clear` gives elements of a scalarset a value, and so distinguishes them
             --> test.m:3:36
              |
            3 | startstate clear x; clear y; clear z; clear x.n; end;
              |                                    ^ this is a `p`
              |
              = help: use `undefine` for the parts that hold elements of a scalarset

        "#]],
    );
}

#[test]
fn no_startstate() {
    check(
        r#"var x: 0..3; rule x := 0; end;
"#,
        expect![[r#"
            error: the model has no startstate
             --> test.m:2:1
              |
            2 |
              | ^
              |
              = help: without one no state is reached and nothing can be verified

        "#]],
    );
}

#[test]
fn too_large() {
    check(
        r#"
var a: array [0..1000] of array [0..1000] of boolean;
  b: array [0..1000] of array [0..4000] of boolean; c: 0..3;
startstate var d: array [0..3000] of array [0..3000] of boolean; begin c := 0; end;
"#,
        expect![[r#"
            error: the state is too large
             --> test.m:2:3
              |
            2 |   b: array [0..1000] of array [0..4000] of boolean; c: 0..3;
              |   ^ with `b` it has 10014004 bits
              |
              = note: a state can have 8388608 bits

            error: the local variables are too large
             --> test.m:3:16
              |
            3 | startstate var d: array [0..3000] of array [0..3000] of boolean; begin c := 0; end;
              |                ^ with this one they have 18012002 bits
              |
              = note: they can have 8388608 bits

            warning: the model has no rules
             --> test.m:4:1
              |
            4 |
              | ^

        "#]],
    );
}

/// Compiles with an override of a constant, and returns the messages and the constants.
fn overridden(text: &str, name: &str, value: &str) -> String {
    let source = Source::new("test.m", text).unwrap();
    let options = Options {
        constants: vec![(name.to_owned(), value.to_owned())],
        ..Options::default()
    };
    let compiled = compile(&source, &options);
    let mut out = Renderer::plain().render_all(&source, &compiled.diagnostics);
    for message in &compiled.unused_overrides {
        out += &format!("{message}\n");
    }
    let is_good = compiled.program.is_some();
    out + &format!("{is_good} {:?}", compiled.constants)
}

#[test]
fn overrides() {
    let text = "const Size: 2; Last: Size - 1; fast: false; type e: enum { a, b }; const mode: a;
        var x: 0..Last; startstate x := 0; end; rule x := 0; end;";
    let check = |name: &str, value: &str, expected: Expect| {
        expected.assert_eq(&overridden(text, name, value));
    };
    check(
        "Size",
        "4",
        expect![[r#"true [("Size", "4"), ("Last", "3"), ("fast", "false"), ("mode", "a")]"#]],
    );
    check(
        "fast",
        "TRUE",
        expect![[r#"true [("Size", "2"), ("Last", "1"), ("fast", "true"), ("mode", "a")]"#]],
    );
    check(
        "mode",
        "b",
        expect![[r#"true [("Size", "2"), ("Last", "1"), ("fast", "false"), ("mode", "b")]"#]],
    );
    check(
        "size",
        "4",
        expect![[r#"
        the model has no constant `size`; did you mean `Size`? (it has Size, Last, fast, mode)
        false [("Size", "2"), ("Last", "1"), ("fast", "false"), ("mode", "a")]"#]],
    );
    check(
        "other",
        "4",
        expect![[r#"
        the model has no constant `other` (it has Size, Last, fast, mode)
        false [("Size", "2"), ("Last", "1"), ("fast", "false"), ("mode", "a")]"#]],
    );
    check(
        "Size",
        "x",
        expect![[r#"
        error: constant `Size` cannot be overridden by `x`
         --> test.m:1:7
          |
        1 | const Size: 2; Last: Size - 1; fast: false; type e: enum { a, b }; const mode: a;
          |       ^^^^ needs an integer

        false [("Size", "2"), ("Last", "1"), ("fast", "false"), ("mode", "a")]"#]],
    );
    check(
        "Size",
        "0",
        expect![[r#"
        error: the range 0..-1 is empty
         --> test.m:2:16
          |
        2 |         var x: 0..Last; startstate x := 0; end; rule x := 0; end;
          |                ^^^^^^^ the upper bound is less than the lower one

        false [("Size", "0"), ("Last", "-1"), ("fast", "false"), ("mode", "a")]"#]],
    );
    check(
        "fast",
        "1",
        expect![[r#"
        error: constant `fast` cannot be overridden by `1`
         --> test.m:1:32
          |
        1 | const Size: 2; Last: Size - 1; fast: false; type e: enum { a, b }; const mode: a;
          |                                ^^^^ needs `true` or `false`

        false [("Size", "2"), ("Last", "1"), ("fast", "false"), ("mode", "a")]"#]],
    );
    check(
        "mode",
        "c",
        expect![[r#"
        error: constant `mode` cannot be overridden by `c`
         --> test.m:1:74
          |
        1 | const Size: 2; Last: Size - 1; fast: false; type e: enum { a, b }; const mode: a;
          |                                                                          ^^^^ needs a member of `e`

        false [("Size", "2"), ("Last", "1"), ("fast", "false"), ("mode", "a")]"#]],
    );
}

#[test]
fn goals_do_not_follow_elements_of_multisets() {
    check(
        r#"
var m: multiset[2] of boolean;
startstate undefine m; end;
rule multisetadd(true, m); end;
choose c: m do
  invariant m[c];
  liveness "left" !m[c];
  cover "there" m[c];
end;"#,
        expect![[r#"
            error: a liveness property cannot stand in `choose`
             --> test.m:6:3
              |
            6 |   liveness "left" !m[c];
              |   ^^^^^^^^^^^^^^^^^^^^^
              |
              = note: elements of a multiset have no identity from one state to the next
              = help: use `multisetcount` to refer to the multiset as a whole

            error: a cover property cannot stand in `choose`
             --> test.m:7:3
              |
            7 |   cover "there" m[c];
              |   ^^^^^^^^^^^^^^^^^^
              |
              = note: elements of a multiset have no identity from one state to the next
              = help: use `multisetcount` to refer to the multiset as a whole

        "#]],
    );
}

#[test]
fn a_file_among_others_has_the_same_messages() {
    let text = "var x: 0..2; -- é
        startstate x := 0; end;
        rule \"up\" y := (x; end;
        rule z := 1; end;";
    let alone = Source::new("test.m", text).unwrap();
    let mut sources = Sources::new(Source::new("first.m", "-- other text").unwrap());
    let file = sources.add(alone.clone()).unwrap();
    let options = Options::default();
    let expected = compile(&alone, &options).diagnostics;
    let found = compile(sources.file(file), &options).diagnostics;
    assert!(expected.len() > 1);
    let renderer = Renderer::plain();
    assert_eq!(
        renderer.render_all(&sources, &found),
        renderer.render_all(&alone, &expected)
    );
    let sound = "var x: 0..2; startstate x := 0; end; rule x = 0 ==> x := 1; end;";
    let alone = Source::new("test.m", sound).unwrap();
    let file = sources.add(alone.clone()).unwrap();
    let program = compile(sources.file(file), &options).program;
    assert!(program.is_some());
    assert_eq!(program, compile(&alone, &options).program);
}
