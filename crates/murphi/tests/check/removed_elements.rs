//! Elements of multisets after their removal in the same body: removing or writing one again is a
//! fault, in all dialects, however the element is named.

use super::behaviour::check_all;

/// A model with a bag of two elements that a rule takes one from.
#[track_caller]
fn check(body: &str, expected: &str) {
    check_all(
        &format!(
            "type msg: record a: 0..3; b: array [0..1] of boolean; end; bag: multiset [2] of msg;
             var net: bag; other: bag; nets: array [0..1] of bag; n: 0..2;
             procedure set(var m: msg); begin m.a := 1; end;
             procedure drop(var m: msg); begin multisetremovepred(i: net, true); m.a := 1; end;
             startstate var m: msg; begin m.a := 0; n := 0;
               multisetadd(m, net); m.a := 2; multisetadd(m, net); end;
             choose i: net do rule n = 0 & net[i].a = 2 ==>
               var m: msg; begin n := 1;
{body}
             end; end;"
        ),
        expected,
    );
}

const DONE: &str = "2 states, 1 firings";

#[test]
fn an_element_is_removed_once() {
    check("multisetremove(i, net);", DONE);
    check(
        "multisetremove(i, net);\nmultisetremove(i, net);",
        "index at 10:1",
    );
    check(
        "multisetremovepred(j: net, net[j].a = 2);\nmultisetremove(i, net);",
        "index at 10:1",
    );
    check("undefine net;\nmultisetremove(i, net);", "index at 10:1");
    check("net := other;\nmultisetremove(i, net);", "index at 10:1");
    check(
        "multisetremove(i, net);\nmultisetremovepred(j: net, true);",
        DONE,
    );
}

#[test]
fn a_removed_element_is_not_written() {
    for write in [
        "net[i].a := 1;",
        "net[i].b[n] := true;",
        "clear net[i];",
        "undefine net[i].a;",
        "net[i] := m;",
    ] {
        check(&format!("{write}\nmultisetremove(i, net);"), DONE);
        check(
            &format!("multisetremove(i, net);\n{write}"),
            "index at 10:1",
        );
    }
}

#[test]
fn references_to_a_removed_element_are_not_written() {
    check(
        "alias e: net[i] do e.a := 1; multisetremove(i, net);\ne.a := 1; end;",
        "index at 10:1",
    );
    check(
        "alias e: net[i].b[n] do multisetremove(i, net);\ne := true; end;",
        "index at 10:1",
    );
    check("set(net[i]); multisetremove(i, net);", DONE);
    check("multisetremove(i, net); set(net[i]);", "index at 3:47");
    check("drop(net[i]);", "index at 4:82");
    // Other variables of the same type are no elements.
    check("multisetremove(i, net); set(m); n := 2;", DONE);
}

#[test]
fn elements_of_bags_in_arrays() {
    let text = |body: &str| {
        format!(
            "type bag: multiset [2] of 0..3; var nets: array [0..1] of bag; n: 0..1;
             startstate n := 0; for k: 0..1 do multisetadd(k, nets[k]); end; end;
             ruleset k: 0..1 do choose i: nets[k] do rule n = 0 ==> n := 1;
{body}
             end; end; end;"
        )
    };
    check_all(
        &text("nets[k][i] := 2; multisetremove(i, nets[k]);"),
        "3 states, 2 firings",
    );
    check_all(
        &text("multisetremove(i, nets[k]);\nnets[k][i] := 2;"),
        "index at 5:1",
    );
}

/// Reading tells nothing new: the element's parts are undefined.
#[test]
fn a_removed_element_reads_as_undefined() {
    check(
        "multisetremove(i, net); assert isundefined(net[i].a);",
        DONE,
    );
    check(
        "multisetremove(i, net);\nn := net[i].a + 1;",
        "undefined at 10:6",
    );
}
