//! What models do when they run, by the reference interpreter and a brute-force search: each test
//! is a small model and its expected result.

use hadal_ir::interp::{Interpreter, Limits};
use hadal_murphi::{Dialect, Options, compile};
use hadal_syntax::{Renderer, Source};
use hadal_testkit::oracle::{self, Deadlock, Report, ViolationKind};

fn run(text: &str, dialect: Dialect) -> Report {
    let source = Source::new("test.m", text).unwrap();
    let options = Options {
        dialect,
        ..Options::default()
    };
    let compiled = compile(&source, &options);
    let shown = Renderer::plain().render_all(&source, &compiled.diagnostics);
    let program = compiled.program.unwrap_or_else(|| panic!("{shown}"));
    if let Err(errors) = hadal_ir::verify::verify(&program) {
        panic!("{text}\n{errors:#?}\n{}", hadal_ir::text::print(&program));
    }
    let limits = Limits {
        loop_rounds: dialect.while_limit().unwrap_or(u64::MAX),
        ..Limits::default()
    };
    let model = Interpreter::new(program, limits);
    let options = oracle::Options {
        deadlock: Deadlock::Off,
        ..oracle::Options::default()
    };
    oracle::search(&model, &options)
}

/// The verdict in a word or two: the number of states, or what went wrong and where.
pub(super) fn verdict(text: &str, dialect: Dialect) -> String {
    let report = run(text, dialect);
    match report.violation {
        None => format!(
            "{} states, {} firings",
            report.states.len(),
            report.transitions
        ),
        Some(violation) => match violation.kind {
            ViolationKind::Property(_, None) => "invariant".to_owned(),
            ViolationKind::Property(_, Some(fault)) | ViolationKind::Fault(fault) => {
                let at = fault.at.trim_start_matches("test.m:");
                format!("{} at {at}", fault.kind)
            }
            other => format!("{other:?}"),
        },
    }
}

/// Checks the verdict in our own dialect, in cmurphi and in rumur.
#[track_caller]
pub(super) fn check(text: &str, expected: [&str; 3]) {
    let found = Dialect::ALL.map(|dialect| verdict(text, dialect));
    assert_eq!(found.each_ref().map(String::as_str), expected, "{text}");
}

/// Checks that all dialects give the same verdict.
#[track_caller]
pub(super) fn check_all(text: &str, expected: &str) {
    check(text, [expected; 3]);
}

#[test]
fn a_counter() {
    check_all(
        "var x: 0..3; startstate x := 0; end; rule x < 3 ==> x := x + 1; end; rule x := 0; end;",
        "4 states, 7 firings",
    );
}

/// A rule of one body that runs on some variables, once.
fn once(body: &str) -> String {
    format!(
        "type pid: scalarset(2); who: union {{ pid, enum {{ home }} }};
         rec: record a: 0..3; b: boolean; end;
         var x, y: 0..3; z: -9..9; b: boolean; r, s: rec; a: array [0..3] of 0..3;
         p: pid; w: who; m: multiset [2] of rec; byte: 0..255;
         startstate x := 0; z := 0; b := false; end;
         rule \"once\" z = 0 ==> begin {body} end;"
    )
}

const DONE: &str = "2 states, 1 firings";

#[test]
fn undefined_is_copied_or_not() {
    let tail = "z := 1;";
    check(
        &once(&format!("x := y; {tail}")),
        [DONE, DONE, "undefined at 6:43"],
    );
    check_all(&once(&format!("x := y + 0; {tail}")), "undefined at 6:43");
    check_all(&once(&format!("r := s; {tail}")), DONE);
    check_all(
        &once(&format!("x := undefined; assert isundefined(x); {tail}")),
        DONE,
    );
    check_all(
        &once(&format!("r := undefined; assert isundefined(r.a); {tail}")),
        DONE,
    );
    check_all(&once(&format!("b := r = s; assert b; {tail}")), DONE);
    check_all(
        &once(&format!(
            "switch y case 1: x := 1; else x := 2; end; {tail}"
        )),
        "undefined at 6:45",
    );
    check_all(
        &once(&format!(
            "b := (isundefined(y) | y = 1) & !(!isundefined(y) & y = 1); assert b; {tail}"
        )),
        DONE,
    );
}

#[test]
fn loops_run_as_often_as_the_dialect_says() {
    let text = once("x := 3; y := 1; for i := x to y do z := z + 1; end; z := z + 1;");
    // Not at all, not at all, and three times.
    for (dialect, z) in [
        (Dialect::Hadal, 1),
        (Dialect::Cmurphi, 1),
        (Dialect::Rumur, 4),
    ] {
        let text = format!("{text} invariant z = 0 | z = {z};");
        assert_eq!(verdict(&text, dialect), DONE, "{dialect}");
    }
    check_all(
        &once("x := 3; y := 1; for i := x to y by -1 do z := z + 1; end; assert z = 3;"),
        DONE,
    );
    check(
        &once("x := 0; y := 3; for i := x to y by x do z := z + 1; end;"),
        ["step at 6:58"; 3],
    );
    check_all(
        &once("for i: 0..3; j: boolean do if j then z := z + i; end; end; assert z = 6;"),
        DONE,
    );
    check_all(
        &once("for i := 1 to 6 by 3 do z := z + i; end; assert z = 5;"),
        DONE,
    );
}

#[test]
fn parameters_are_copies_or_references() {
    let text = |body: &str| {
        format!(
            "type t: 0..9; var g: t; startstate g := 0; end;
             function f(p: t): boolean; begin g := 5; return p = 5; end;
             rule g = 0 ==> begin {body} end;"
        )
    };
    let copies = text("assert !f(g);");
    let by_reference = "assertion at 3:35";
    check(
        &copies,
        ["2 states, 1 firings", by_reference, "2 states, 1 firings"],
    );
    // The argument is of another type, or no variable: a copy everywhere.
    check_all(&text("assert !f(g + 0);"), "2 states, 1 firings");
    check(
        &text("assert !f(12);").replace("f(12)", "f(g + 12)"),
        ["range at 3:43", "range at 3:45", "range at 3:43"],
    );
}

#[test]
fn arithmetic_is_as_wide_as_the_dialect_says() {
    check(
        &once("byte := 200; byte := (byte + byte) / 2; z := 1;").replace("-9..9", "0..9"),
        [DONE, DONE, "overflow at 6:65"],
    );
    check(
        &once("z := 2; while z > 0 do z := z * 1000000 / 1000000; z := z - 1; end; z := 1;"),
        [DONE; 3],
    );
    let big = "var x: 0..1; startstate x := 0; end; rule x = 0 ==> var i: 1..2147483647; begin
               i := 2147483647; if i + 1 < 0 then x := 1; end; end;";
    check(big, ["1 states, 1 firings", DONE, "1 states, 1 firings"]);
    check_all(
        &once("z := -7 / 2; assert z = -3; z := -7 % 2; assert z = -1;"),
        DONE,
    );
    check_all(
        &once("x := 3; z := -x + 4; assert z = 1; z := 2 - 1 - 3; assert z = -2;"),
        DONE,
    );
}

#[test]
fn bits() {
    check_all(
        &once("x := 2; y := 3; z := (x & y) + (x | 1) + (x ^ y) + (1 << x); assert z = 10 - 0; ")
            .replace("-9..9", "-9..10"),
        DONE,
    );
    check_all(&once("x := 2; y := ~x & 3; assert y = 1; z := 1;"), DONE);
    check_all(&once("x := 1; z := ~x;"), DONE);
    // Without a negative number in sight, rumur's integers are not signed.
    let unsigned = "var x, y: 0..3; startstate x := 2; y := 0; end; rule y := ~x & 3; end;";
    check_all(unsigned, DONE.replace("1 f", "2 f").as_str());
}

#[test]
fn unions() {
    check_all(
        &once(
            "w := home; assert w = home; assert home = w; assert !ismember(w, pid);
             for i: pid do w := i; p := w; assert w = i & p = i & ismember(w, pid); end;
             for i: who do w := i; end; assert w = home; undefine p; undefine w; z := 1;",
        ),
        DONE,
    );
    check_all(&once("w := home; p := w; z := 1;"), "range at 6:54");
    check_all(
        &once("switch b case true, false: w := home; end; switch w case home: z := 1; end;"),
        DONE,
    );
}

#[test]
fn multisets() {
    check_all(
        &once(
            "for i: 0..1 do r.a := i; r.b := false; multisetadd(r, m); end;
             assert multisetcount(i: m, m[i].a = 1) = 1; assert multisetcount(i: m, true) = 2;
             multisetremovepred(i: m, m[i].a = 0); assert multisetcount(i: m, true) = 1;
             undefine m; assert multisetcount(i: m, true) = 0; z := 1;",
        ),
        "2 states, 1 firings",
    );
    let chosen = "
        type rec: record a: 0..2; end;
        var net: array [0..1] of multiset [2] of rec; last: 0..2;
        startstate clear net; last := 0; end;
        ruleset n: 0..1 do
          alias q: net[n]; k: n + 0 do
            ruleset v: 1..2 do
              rule multisetcount(i: q, true) < 2 ==> var e: rec; begin e.a := v; multisetadd(e, q); end;
            end;
            choose i: q do
              rule q[i].a = 2 ==> begin last := net[k][i].a; multisetremove(i, q); end;
            end;
            choose j: net[k] do
              alias e: net[n][j] do rule last = e.a ==> begin multisetremove(j, net[n]); end; end;
            end;
          end;
        end;";
    check_all(chosen, "72 states, 288 firings");
}

#[test]
fn aliases_are_bound_on_entry() {
    check_all(
        &once(
            "x := 1; clear a; alias e: a[x]; n: x + 1 do x := 2; e := 3; assert a[1] = 3; assert n = 2; end; z := 1;",
        ),
        DONE,
    );
    check_all(
        &once("alias n: 2 do for i: 0..n do x := i; end; end; z := 1;"),
        DONE,
    );
    check_all(
        "type t: 0..2; var a: array [t] of boolean; n: t;
         startstate clear a; n := 0; end;
         alias here: a[n]; next: (n + 1) % 3 do
           rule \"set\" !here ==> here := true; end;
           rule \"move\" here ==> n := next; end;
           invariant here -> a[n];
         end;",
        "8 states, 8 firings",
    );
}

#[test]
fn functions() {
    check_all(
        "type t: 0..9; var x: t; startstate x := 0; end;
         function fact(n: 0..3): 1..6; begin if n = 0 then return 1; end; return n * fact(n - 1); end;
         procedure set(var v: t; to_: t); begin v := to_; end;
         rule x = 0 ==> begin set(x, fact(3)); assert x = 6; fact(0); end;",
        DONE,
    );
    check_all(
        "type rec: record a: 0..3; b: boolean; end; var r: rec; x: 0..3; startstate x := 0; end;
         function make(a: 0..3): rec; var q: rec; begin q.a := a; return q; end;
         function first(q: rec): 0..3; begin return q.a; end;
         rule x = 0 ==> begin r := make(2); alias m: make(1) do x := m.a; end;
           assert first(make(3)) = 3 & make(1) = make(1); end;",
        DONE,
    );
    check(
        "var x: 0..3; y: 0..3; startstate x := 0; end;
         function f(): 0..3; begin return y; end;
         rule x = 0 ==> begin x := f(); x := 1; end;",
        [DONE, DONE, "undefined at 2:43"],
    );
    check_all(
        "var x: 0..3; startstate x := 0; end;
         function f(a: 0..3): 0..3; begin if a > 0 then return a; end; end;
         rule x = 0 ==> begin x := f(x); end;",
        "no-return at 2:19",
    );
}

#[test]
fn switch_looks_once_and_takes_the_first() {
    check_all(
        "var x: 0..9; startstate x := 0; end;
         function tick(): 0..9; begin x := x + 1; return x; end;
         rule x = 0 ==> begin
           switch tick() case 5, 1: x := x + 2; case 1: error \"second\"; else error \"else\"; end;
           assert x = 3;
         end;",
        DONE,
    );
}

#[test]
fn switch_with_labels_known_and_unknown() {
    let model = |body: &str| {
        format!(
            "var x: 0..3; y, z: boolean; startstate x := 0; y := false; end;
         rule x = 0 ==> begin x := 1; {body} assert x = 2; end;"
        )
    };
    for body in [
        "switch true case y, true: x := 2; else x := 3; end;",
        "switch true case true, y: x := 2; else x := 3; end;",
        "switch true case true, z: x := 2; case z: x := 3; end;",
        "switch false case true: x := 3; case true, y: x := 2; end;",
        "switch y case true: x := 3; case false, z: x := 2; else x := 3; end;",
    ] {
        check_all(&model(body), DONE);
    }
    let body = "switch true case z, true: x := 2; end;";
    check_all(&model(body), "undefined at 2:56");
}

#[test]
fn rumur_gives_loops_a_copy_of_their_variable() {
    let text = "var x: 0..9; startstate x := 0; end;
         procedure bump(var v: 0..3); begin v := 3; end;
         ruleset n: 1..2 do rule x = 0 ==> begin
           for i: 0..3 do bump(i); x := x + i - 1; end; n := 2; x := n; end; end;";
    assert_eq!(verdict(text, Dialect::Rumur), "2 states, 2 firings");
}

#[test]
fn names_can_be_hidden() {
    check_all(
        "const n: 1; type t: 0..3; var x, undefined: t; startstate x := 0; undefined := 2; end;
         rule x = 0 ==> const n: 2; type t: enum { q }; var y: t; begin
           y := q; for x: 0..n do for n: boolean do y := q; end; end; x := undefined; end;",
        DONE,
    );
}

#[test]
fn properties_and_statements() {
    check_all(
        "var x: 0..3; startstate x := 0; end;
         rule x := (x + 1) % 4; assume x != 3; cover x = 2; end;
         assume x < 3; cover \"two\" x = 2; liveness x = 0 | x = 2; invariant x < 3;
         ruleset i: 0..1 do liveness x >= i; end;",
        "3 states, 2 firings",
    );
    check_all(
        "var x: 0..3; startstate x := 0; end; rule x := 1; return; x := 2; end;",
        "2 states, 2 firings",
    );
    check_all(
        "var x: 0..3; startstate x := 0; end;
         rule 5 \"late\" true ==> x := 3; end; rule 1 x = 0 ==> x := 1; end;",
        "3 states, 3 firings",
    );
}

#[test]
fn constants_that_switch_code_off() {
    check_all(
        "const n: 0; a: n > 0 ? 10 / n : 1; var x: 0..a; v: array [0..0] of 0..1;
         startstate x := 0; v[0] := 0; if n > 3 then v[3] := 7; end; end;
         rule n > 1 & v[1] = 0 ==> v[1] := 9; end;
         rule x := x = 0 ? 1 : 0; end;
         invariant n > 2 -> v[2] = 1;",
        "2 states, 2 firings",
    );
}
