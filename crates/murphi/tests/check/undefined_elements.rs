//! Undefined elements of scalarsets, compared: a value in the dialect cmurphi, equal to itself and
//! to no element; a fault elsewhere. One test per place where values can be compared.

use super::behaviour::{check, verdict};
use hadal_murphi::Dialect;

/// A model whose scalarset variables `p`, `q`, those in `a` and the union `w` are undefined, and
/// `some` is not; `n` is 0.
fn model(rest: &str) -> String {
    format!(
        "type pid: scalarset(2); who: union {{ enum {{ home }}, pid }};
         msg: record from: pid; tag: 0..1; end;
         var p, q, some: pid; w, v: who; a: array [pid] of pid; n: 0..9; b: boolean;
         net: multiset [2] of msg;
         startstate for i: pid do some := i; end; n := 0; b := false; end;
         {rest}"
    )
}

/// A rule whose body runs once.
fn body(text: &str) -> String {
    model(&format!(
        "rule n = 0 ==> var m: msg; t: pid; begin {text} n := 1; end;"
    ))
}

const DONE: &str = "2 states, 1 firings";

/// Checks that a body runs to its end in cmurphi and is a fault elsewhere.
#[track_caller]
fn runs(text: &str) {
    let text = body(text);
    assert_eq!(verdict(&text, Dialect::Cmurphi), DONE, "{text}");
    for dialect in [Dialect::Hadal, Dialect::Rumur] {
        let found = verdict(&text, dialect);
        assert!(found.starts_with("undefined at"), "{found}: {text}");
    }
}

#[test]
fn equality_of_two_undefined() {
    runs("assert p = q;");
}

#[test]
fn inequality_of_two_undefined() {
    runs("assert !(p != q);");
}

#[test]
fn equality_with_an_element() {
    runs("assert !(p = some);");
    runs("assert !(some = p);");
}

#[test]
fn inequality_with_an_element() {
    runs("assert p != some;");
    runs("assert some != p;");
}

#[test]
fn a_variable_with_itself() {
    runs("assert p = p;");
}

#[test]
fn a_guard() {
    let text = model("rule n = 0 & p = q ==> n := 1; end; rule p != q ==> n := 2; end;");
    check(&text, ["undefined at 6:23", DONE, "undefined at 6:23"]);
}

#[test]
fn a_parameter_of_a_ruleset() {
    let text = model("ruleset i: pid do rule n = 0 & p = i ==> n := 1; end; end;");
    let faulty = "undefined at 6:41";
    check(&text, [faulty, "1 states, 0 firings", faulty]);
    let text = model("ruleset i: pid do rule n = 0 & i != p ==> n := 1; end; end;");
    let faulty = "undefined at 6:46";
    check(&text, [faulty, "2 states, 2 firings", faulty]);
}

#[test]
fn an_invariant() {
    let text = model("rule n = 0 ==> n := 1; end; invariant p = q & p != some;");
    check(&text, ["undefined at 6:48", DONE, "undefined at 6:48"]);
    let text = model("rule n = 0 ==> n := 1; end; invariant n = 0 | p = some;");
    let faulty = "undefined at 6:56";
    check(&text, [faulty, "invariant", faulty]);
}

#[test]
fn the_condition_of_if_and_while() {
    runs("if p != q then error \"differ\"; elsif p = some then error \"equal\"; end;");
    runs("while p = q do p := some; end; assert p = some;");
}

#[test]
fn the_subject_of_a_switch() {
    runs("switch p case some: error \"some\"; case q: n := 2; else error \"none\"; end;");
    runs("switch p case some: error \"some\"; else n := 2; end; assert n = 2;");
}

#[test]
fn the_label_of_a_switch() {
    runs("switch some case p, q: error \"undefined\"; case some: n := 2; end; assert n = 2;");
}

#[test]
fn the_condition_of_a_choice() {
    runs("n := p = q ? 2 : 3; assert n = 2;");
}

#[test]
fn the_values_of_a_choice() {
    runs("assert (b ? some : p) = q;");
    runs("assert (b ? p : some) != q; assert (n = 0 ? p : some) = q;");
    runs("t := n = 0 ? p : some; assert isundefined(t);");
    // A value is still needed where one is used.
    check(
        &body("a[b ? some : p] := some;"),
        [
            "undefined at 6:64",
            "undefined at 6:53",
            "undefined at 6:64",
        ],
    );
}

#[test]
fn an_alias() {
    runs("alias x: p; y: a[some] do assert x = y; y := some; assert x != y; end;");
}

#[test]
fn an_element_of_an_array() {
    runs("assert forall i: pid do a[i] = p & a[i] != i end;");
}

#[test]
fn a_quantifier() {
    runs("assert !exists i: pid do p = i end; assert forall i: pid do p != i end;");
}

#[test]
fn a_parameter_of_a_function() {
    let text = model(
        "function same(x: pid; var y: pid): boolean; begin return x = y; end;
         rule n = 0 ==> begin assert same(p, q) & !same(some, q); n := 1; end;",
    );
    check(&text, ["undefined at 6:67", DONE, "undefined at 6:67"]);
}

#[test]
fn the_result_of_a_function() {
    let text = model(
        "function own(): pid; begin return p; end;
         rule n = 0 ==> begin assert own() = q & some != own();
           switch own() case some: error \"some\"; case q: n := 1; end;
           alias x: own() do assert x = q; end; end;",
    );
    assert_eq!(verdict(&text, Dialect::Cmurphi), DONE);
    assert_eq!(verdict(&text, Dialect::Hadal), "undefined at 7:38");
    assert_eq!(verdict(&text, Dialect::Rumur), "undefined at 6:44");
}

#[test]
fn unions_with_themselves_and_with_elements() {
    runs("assert w = v; assert w != some; assert w = p & p = w;");
}

#[test]
fn unions_with_members_of_an_enumeration() {
    runs("assert w != home & !(home = w);");
    runs("switch w case home: error \"home\"; case some: error \"some\"; case p: n := 2; end;");
}

#[test]
fn predicates_of_multisets() {
    runs(
        "m.tag := 0; multisetadd(m, net); assert multisetcount(i: net, net[i].from = p) = 1;
         multisetremovepred(i: net, net[i].from = some); assert multisetcount(i: net, true) = 1;
         multisetremovepred(i: net, net[i].from = q); assert multisetcount(i: net, true) = 0;",
    );
}

#[test]
fn a_rule_of_choose() {
    let text = model(
        "rule n = 0 ==> var m: msg; begin m.tag := 0; multisetadd(m, net); n := 1; end;
         choose i: net do rule net[i].from = p ==> multisetremove(i, net); end; end;",
    );
    let faulty = "undefined at 7:32";
    check(&text, [faulty, "3 states, 2 firings", faulty]);
}

/// What is compared elsewhere is a fault everywhere, and so is every other use of an element.
#[test]
fn other_undefined_values() {
    for text in [
        "assert n != 1 | m.tag = 0; assert m.tag = 0;",
        "a[p] := some;",
        "b := ismember(w, pid);",
        "undefine b; assert b = true;",
        "undefine b; if b then n := 2; end;",
    ] {
        let found = verdict(&body(text), Dialect::Cmurphi);
        assert!(found.starts_with("undefined at"), "{found}: {text}");
    }
}
