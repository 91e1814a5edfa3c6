//! What each dialect accepts: the tools' differences, construct by construct.

use hadal_murphi::Dialect;

use crate::{compile_in, rendered};

/// Some declarations, with room for more of them and for statements.
fn model(decls: &str, stmts: &str) -> String {
    format!(
        "type pid: scalarset(3); other: scalarset(3); colour: enum {{ red, green }};
         rec: record a: 0..3; b: boolean; end; twin: record a: 0..3; b: boolean; end;
         t: 0..3; tt: t;
         var x: t; y: 0..7; b: boolean; p: pid; o: other; c: colour; r: rec; s: twin;
         v, w: array [0..3] of 0..3; q: array [0..3] of 0..3; m: multiset [2] of rec;
         {decls}
         startstate x := 0; end;
         rule true ==> var l: 0..3; begin {stmts} end;"
    )
}

/// Checks in which dialects a model is good: our own, cmurphi, rumur.
#[track_caller]
fn check(text: &str, expected: [bool; 3]) {
    let found = Dialect::ALL.map(|dialect| compile_in(text, dialect).1.program.is_some());
    let shown = Dialect::ALL
        .map(|dialect| rendered(text, dialect))
        .join("\n");
    assert_eq!(found, expected, "{text}\n{shown}");
}

#[track_caller]
fn accepted(decls: &str, stmts: &str) {
    check(&model(decls, stmts), [true; 3]);
}

#[track_caller]
fn rejected(decls: &str, stmts: &str) {
    check(&model(decls, stmts), [false; 3]);
}

#[test]
fn what_only_cmurphi_has_is_accepted_everywhere() {
    accepted(
        "",
        "multisetadd(r, m); multisetremovepred(i: m, m[i].a = 1);",
    );
    accepted("", "x := multisetcount(i: m, true);");
    accepted(
        "choose i: m do rule m[i].b ==> multisetremove(i, m); end; end;",
        "",
    );
    accepted(
        "type u: union { pid, colour }; var n: u;",
        "n := p; n := red; b := ismember(n, pid);",
    );
    accepted(
        "type u: union { pid, enum { home } }; var n: u; k: array [u] of t;",
        "k[home] := 1;",
    );
    accepted("rule 10 \"late\" true ==> x := 0; end;", "");
    accepted("", "x := undefined; r := undefined;");
    accepted("", "for i: t: x := i; end;");
    accepted(
        "",
        "b := forall i: t; j: pid do i = 0 end; for i: t; j: t do x := i; end;",
    );
    accepted(
        "var assume, cover, liveness: t;",
        "assume := 1; cover := 2; liveness := 3;",
    );
}

#[test]
fn what_only_rumur_has_is_accepted_everywhere() {
    accepted(
        "assume x < 3; cover x = 1; liveness x = 2;",
        "assume x = 0; cover \"c\" x = 0;",
    );
    accepted(
        "",
        "b := x == 1 && x >= 0 || (x & 1) = ((x | 1) ^ ~x << 1 >> 1); x := 0x2;",
    );
    accepted("", "b := x ≥ 0 ∧ ¬(x ≠ 1); x ≔ 1;");
    accepted("", "b := v = w; b := r != r;");
    accepted(
        "assert \"m\" x < 3;",
        "assert \"m\" x < 3; assert x < 3 \"m\";",
    );
    accepted(
        "",
        "for i := 0 to 3 by x + 1 do end; switch x case x + 1, y: x := 0; end;",
    );
    accepted(
        "rule true ==> x := 0; end; var late: t; rule late = 0 ==> x := 0; end;",
        "",
    );
    accepted(
        "type e: enum {}; z: record end; k: enum { k1, k2, }; var n: e; d: z;",
        "",
    );
    accepted("", "clear p;");
    accepted("const d: true ? 3 : 4; f: 6 & 3;", "");
    check("var x: 0..3; startstate return; end;", [true; 3]);
}

#[test]
fn what_only_rumur_means() {
    // It gives a loop a copy of its variable.
    check(&model("", "for i: t do i := 1; end;"), [false, false, true]);
    check(
        &model("ruleset i: t do rule x = i ==> i := 1; end; end;", ""),
        [false, false, true],
    );
    // Detected when the model runs.
    check(&model("", "x := 9;"), [false, false, true]);
    check(&model("", "x := v[4];"), [false, false, true]);
    check(&model("", "x := 1 / 0;"), [false, false, true]);
    // A range that runs backwards is an error there, and empty elsewhere.
    check(&model("", "for i := 3 to 1 do end;"), [true, true, false]);
    check(
        &model("", "for i := 3 to 1 by 1 do end;"),
        [true, true, false],
    );
    accepted("", "for i := 3 to 1 by -1 do end;");
    // Its zeros make octal numbers.
    check(&model("", "y := 07;"), [true, true, true]);
    check(&model("", "y := 09 - 2;"), [true, true, false]);
}

#[test]
fn types_are_compared_as_the_dialect_says() {
    accepted("", "x := y; y := x; l := x; v := w; r := r;");
    // Without a name: by shape, or not at all.
    check(&model("", "v := q;"), [true, false, true]);
    check(
        &model(
            "function f(k: array [0..3] of 0..3): t; begin return k[0]; end;",
            "x := f(v);",
        ),
        [true, false, true],
    );
    // With a name: by that name, or by shape.
    check(&model("", "r := s;"), [false, false, true]);
    check(&model("", "b := r = s;"), [false, false, true]);
    // Another name for the same type.
    accepted("type rr: rec; var z: rr;", "z := r; r := z;");
    // Exactly the same range.
    check(
        &model("procedure f(var k: 0..3); begin k := 0; end;", "f(x);"),
        [true, false, true],
    );
    accepted("procedure f(var k: tt); begin k := 0; end;", "f(x);");
    rejected("procedure f(var k: t); begin k := 0; end;", "f(y);");
    rejected("var z: array [0..3] of 0..7;", "v := z;");
    rejected("var z: array [0..4] of 0..3;", "v := z;");
}

#[test]
fn what_nobody_accepts() {
    rejected("", "b := red < green;");
    rejected("", "b := b < true;");
    rejected("", "b := x < y < 3;");
    rejected("", "b := b -> b -> b;");
    rejected("type e: enum { red };", "");
    rejected("", "x := p + 1;");
    rejected("", "p := 0;");
    rejected("", "p := o;");
    rejected("", "b := p = o;");
    rejected("", "b := p < p;");
    rejected("var z: p .. 3;", "");
    rejected("", "b := isundefined(r);");
    rejected("", "b := isundefined(x + 1);");
    rejected("var z: 3..2;", "");
    rejected(
        "function f(): t; begin return g(); end; function g(): t; begin return f(); end;",
        "",
    );
    rejected("", "b := x; ");
    rejected("", "x := true;");
    rejected("", "if x then end;");
    rejected("", "b := x & b;");
    rejected("procedure f(k: t); begin k := 1; end;", "");
    rejected("procedure f(); begin end;", "x := f();");
    rejected("", "for i := 0 to 3 by 0 do end;");
    rejected(
        "function f(): t; begin x := 1; return 1; end; invariant f() = 1;",
        "",
    );
    rejected("", "x := zz;");
    rejected("", "liveness x = 1;");
    check("var x: 0..3; rule x := 0; end;", [false; 3]);
}

#[test]
fn what_we_refuse_by_name() {
    rejected("type z: real(3, 10);", "");
    rejected("", "x := 1.5;");
    rejected("externfun f(k: t): boolean \"f.h\";", "");
    rejected("externproc f(k: t);", "");
    check(
        &(model("", "") + " pctl P>=0.5 [ true until x = 1 ];"),
        [false; 3],
    );
}
