//! Everything that is accepted, in its canonical form.

use expect_test::{Expect, expect};
use hadal_murphi::Dialect;

use crate::outcome;

fn check(text: &str, expected: Expect) {
    expected.assert_eq(&outcome(text, Dialect::Hadal));
}

#[test]
fn declarations() {
    check(
        "const N: 3; M, K: N + 1;
         type a: 0..N; b: array [a] of boolean; type c: enum { x, y, }; d: scalarset(N);
           e: union { c, d, enum { z } }; f: record p, q: a; r: b end; g: multiset [N] of f;
           h: record end; i: enum { }; j: -1 .. N * 2
         var v, w: f; u: g",
        expect![[r#"
            const N: 3;
            const M, K: (N + 1);
            type a: 0 .. N;
            type b: array [a] of boolean;
            type c: enum { x, y };
            type d: scalarset(N);
            type e: union { c, d, enum { z } };
            type f: record p, q: a; r: b; end;
            type g: multiset [N] of f;
            type h: record end;
            type i: enum {  };
            type j: (-1) .. (N * 2);
            var v, w: f;
            var u: g;
        "#]],
    );
}

#[test]
fn functions() {
    check(
        "function f(var a, b: t; c: 0..3;): boolean; var x: t; begin return true; end;
         procedure p(); begin end;
         Procedure q() x := 1; Endprocedure
         function r(): t var y: t; y := 2; return y endprocedure;",
        expect![[r#"
            function f(var a, b: t; c: 0 .. 3): boolean;
              var x: t;
            begin
              return true;
            end;
            procedure p();
            begin
            end;
            procedure q();
            begin
              x := 1;
            end;
            function r(): t;
              var y: t;
            begin
              y := 2;
              return y;
            end;
        "#]],
    );
}

#[test]
fn statements() {
    check(
        r#"startstate
            a.b[1] := undefined;
            if x then y := 1 elsif z then else y := 2; end;
            switch s case a, b: c := 1; case d: else e() endswitch;
            switch s end;
            for i: t do end; for i := 0 to n by -1; j: u : k := i; endfor;
            while x do endwhile; while x : clear a; end;
            alias p: q; r: s[1]; do undefine p.t end;
            alias p: q : clear p end;
            return; return a + b;
            error "no"; put "yes"; put x + 1;
            assert a; assert a "why"; assert "why" a; invariant a; assume a; cover "c" a;
            f(); g(a, UNDEFINED);
            MultiSetAdd(m, net); multisetremove(i, net); multisetremovepred(i: net, net[i] = 1);;
          end"#,
        expect![[r#"
            startstate
            begin
              a.b[1] := UNDEFINED;
              if x then
                y := 1;
              elsif z then
              else
                y := 2;
              end;
              switch s
              case a, b:
                c := 1;
              case d:
              else
                e();
              end;
              switch s
              end;
              for i: t do
              end;
              for i := 0 to n by (-1); j: u do
                k := i;
              end;
              while x do
              end;
              while x do
                clear a;
              end;
              alias p: q; r: s[1] do
                undefine p.t;
              end;
              alias p: q do
                clear p;
              end;
              return;
              return (a + b);
              error "no";
              put "yes";
              put (x + 1);
              invariant a;
              invariant "why" a;
              invariant "why" a;
              invariant a;
              assume a;
              cover "c" a;
              f();
              g(a, UNDEFINED);
              multisetadd(m, net);
              multisetremove(i, net);
              multisetremovepred(i: net, (net[i] = 1));
            end;
        "#]],
    );
}

#[test]
fn rules() {
    check(
        r#"rule "a" x = 1 ==> y := 1; end;
           rule 10 "b" x ==> var t: u; begin t := 1 end
           rule 10 (x) ==> end rule 10 = x ==> begin endrule;
           rule x := 1; y := 2; end
           rule "c" f(x); end; rule begin x := 1; end; rule end;
           rule forall i: t; j := 0 to 3 do a[i] end ==> end;
           rule exists i: t do a[i] end & b ==> x := 1 end
           startstate "s" begin end;
           invariant "i" x; invariant x "i"; assert x; assume x; cover x "c"; Liveness "l" x;
           ruleset i: t; j := 0 to 3 do
             alias a: b[i] do
               choose m: net do rule x ==> end; endchoose;
             end
             startstate x := i end;
             invariant x
           endruleset"#,
        expect![[r#"
            rule "a" (x = 1) ==>
            begin
              y := 1;
            end;
            rule 10 "b" x ==>
              var t: u;
            begin
              t := 1;
            end;
            rule 10 x ==>
            begin
            end;
            rule (10 = x) ==>
            begin
            end;
            rule
            begin
              x := 1;
              y := 2;
            end;
            rule "c"
            begin
              f(x);
            end;
            rule
            begin
              x := 1;
            end;
            rule
            begin
            end;
            rule forall i: t; j := 0 to 3 do a[i] end ==>
            begin
            end;
            rule (exists i: t do a[i] end & b) ==>
            begin
              x := 1;
            end;
            startstate "s"
            begin
            end;
            invariant "i" x;
            invariant "i" x;
            invariant x;
            assume x;
            cover "c" x;
            liveness "l" x;
            ruleset i: t; j := 0 to 3 do
              alias a: b[i] do
                choose m: net do
                  rule x ==>
                  begin
                  end;
                end;
              end;
              startstate
              begin
                x := i;
              end;
              invariant x;
            end;
        "#]],
    );
}

#[test]
fn sections_stand_in_any_order() {
    check(
        "rule end; var x: t; function f(): t; begin end; type t: 0..3; invariant x; const c: 1;",
        expect![[r#"
            rule
            begin
            end;
            var x: t;
            function f(): t;
            begin
            end;
            type t: 0 .. 3;
            invariant x;
            const c: 1;
        "#]],
    );
}

#[test]
fn what_is_parsed_to_be_refused() {
    check(
        r#"type r: real(4, 99);
           externfun log2(x: r): r "math.h";
           externproc tick();
           rule end;
           pctl [ x until <= 3 y ] >= 0.5;"#,
        expect![[r#"
            type r: real(4, 99);
            externfun log2(x: r): r "math.h";
            externproc tick() ;
            rule
            begin
            end;
            pctl
        "#]],
    );
}

#[test]
fn strings_follow_the_dialect() {
    let text = r#"rule "a\n\t\"" end rule “b"c” end"#;
    expect![[r#"
        rule "a\n\\t\""
        begin
        end;
        rule "b\"c"
        begin
        end;
    "#]]
    .assert_eq(&outcome(text, Dialect::Hadal));
    expect![[r#"
        rule "a\n	\""
        begin
        end;
        rule "b\"c"
        begin
        end;
    "#]]
    .assert_eq(&outcome(text, Dialect::Rumur));
    let text = "rule \"a\\\" x ==> end; rule \"b\nc\" end";
    expect![[r#"
        rule "a\\" x ==>
        begin
        end;
        rule "b"
        begin
          <error>
        end;
        error 1:27: this string is never closed
        error 2:2: this string is never closed
        error 2:2: expected `:=` or `(`, found a string
    "#]]
    .assert_eq(&outcome(text, Dialect::Cmurphi));
    let text = "rule \"b\nc\" end /* open";
    expect![[r#"
        rule "b\nc"
        begin
        end;
    "#]]
    .assert_eq(&outcome(text, Dialect::Rumur));
}

#[test]
fn numbers_follow_the_dialect() {
    let text = "const a: 010; b: 09; c: 007;";
    expect![[r#"
        const a: 10;
        const b: 9;
        const c: 7;
        warning 1:10: this number is decimal in spite of its leading zero
        warning 1:18: this number is decimal in spite of its leading zero
    "#]]
    .assert_eq(&outcome(text, Dialect::Hadal));
    expect![[r#"
        const a: 10;
        const b: 9;
        const c: 7;
    "#]]
    .assert_eq(&outcome(text, Dialect::Cmurphi));
    expect![[r#"
        const a: 8;
        const b: 0;
        const c: 7;
        error 1:18: this octal number has a digit 8 or 9
    "#]]
    .assert_eq(&outcome(text, Dialect::Rumur));
}

#[test]
fn line_endings_and_spaces_do_not_matter() {
    check(
        "\u{feff}var\tx:\x0c0..3;\r\n-- note\r\nrule end;",
        expect![[r#"
            var x: 0 .. 3;
            rule
            begin
            end;
        "#]],
    );
    check("", expect![[""]]);
    check("-- only a comment", expect![[""]]);
    check("/* é \u{fffd} */ ;;;", expect![[""]]);
}
