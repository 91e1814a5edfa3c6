//! One small model per construct, and the limits: stop flags, loops, calls.

use std::time::{Duration, Instant};

use hadal_ir::Program;
use hadal_ir::interp::Limits;
use hadal_jit::Native;
use hadal_model::{Cursor, Flow, Model, Stop, Successors};
use hadal_murphi::Options;
use hadal_syntax::{Renderer, Source};

fn program(text: &str) -> Program {
    let source = Source::new("test.m", text).expect("a short text");
    let compiled = hadal_murphi::compile(&source, &Options::default());
    let diagnostics = Renderer::plain().render_all(&source, &compiled.diagnostics);
    compiled.program.unwrap_or_else(|| panic!("{diagnostics}"))
}

/// Compares on all states and checks how many there are and how many of them fault.
#[track_caller]
fn check(text: &str, n_states: usize, n_faults: usize) {
    check_with(text, Limits::default(), n_states, n_faults);
}

#[track_caller]
fn check_with(text: &str, limits: Limits, n_states: usize, n_faults: usize) {
    let program = program(text);
    for (block_len, capacity) in [(64, 1000), (3, 1), (1, 2)] {
        let compared = crate::common::compare(&program, limits, 10_000, block_len, capacity);
        let compared = compared.unwrap_or_else(|message| panic!("{message}"));
        assert_eq!((compared.n_states, compared.n_faults), (n_states, n_faults));
    }
}

#[test]
fn guards_and_assignments() {
    check(
        "var x: 0..9; b: boolean;
         startstate x := 3; b := true; end;
         rule x < 9 & b ==> x := x + 1; b := !b; end;
         rule !b | x = 0 ==> b := x > 4 -> x != 7; end;
         rule x > 0 ==> x := x - 1; end;",
        15,
        0,
    );
}

#[test]
fn values_that_do_not_fit_and_undefined_values_fault() {
    check(
        "var x: 0..9; y: 0..9;
         startstate x := 0; undefine y; end;
         rule x := x + 1; end;
         rule x > 5 ==> y := x; end;
         rule y > 7 ==> x := 0; end;",
        37,
        14,
    );
}

#[test]
fn arrays_records_and_their_copies() {
    check(
        "type pair: record a: 0..2; b: array [0..2] of 0..3; end;
         var p: pair; q: array [1..2] of pair; i: 1..2;
         startstate clear p; for j: 1..2 do clear q[j]; end; i := 1; end;
         rule p.b[p.a] < 3 ==> p.b[p.a] := p.b[p.a] + 1; end;
         rule p.b[p.a] = 3 & p.a < 2 ==> p.a := p.a + 1; end;
         rule q[i] != p ==> q[i] := p; i := 3 - i; end;
         rule q[i].b[0] = 3 ==> undefine q[i].b; q[i].b[1] := 2; end;",
        821,
        182,
    );
}

#[test]
fn rulesets_and_parts_of_guards_at_their_own_levels() {
    check(
        "const N: 4;
         var a: array [1..N] of 0..2; b: array [1..N] of boolean; c: boolean;
         startstate for i: 1..N do a[i] := 0; undefine b[i]; end; c := false; end;
         ruleset i: 1..N do ruleset j: 1..N do
           rule i != j & a[i] = a[j] & a[j] < 2 & !c ==> a[i] := a[i] + 1; end;
           rule a[i] = 2 & isundefined(b[j]) ==> b[j] := i < j; end;
           rule !isundefined(b[i]) & b[i] & c & a[j] > 0 ==> a[j] := 0; undefine b[i]; end;
         end; end;
         rule a[1] = 2 & !c ==> c := true; end;",
        1897,
        0,
    );
}

#[test]
fn a_fault_to_the_left_is_not_hidden_by_a_false_conjunct_further_out() {
    // `b[j]` is undefined for some j; `a[i] = 1` alone is false for all of them.
    check(
        "var a: array [1..2] of 0..1; b: array [1..3] of boolean;
         startstate for i: 1..2 do a[i] := 0; end; b[1] := false; b[2] := true; end;
         ruleset i: 1..2 do ruleset j: 1..3 do
           rule b[j] & a[i] = 1 ==> a[i] := 0; end;
         end; end;",
        1,
        1,
    );
}

#[test]
fn quantifiers_stop_at_the_first_witness() {
    check(
        "const N: 5;
         var a: array [1..N] of 0..3; last: 0..N;
         startstate for i: 1..N do a[i] := 0; end; undefine a[N]; last := 0; end;
         ruleset i: 1..N-1 do rule a[i] < 2 ==> a[i] := a[i] + 1; end; end;
         rule forall i: 1..N do a[i] < 2 end ==> last := 2; end;
         rule exists i: 1..N do a[i] = 1 end ==> last := 1; end;",
        161,
        61,
    );
}

#[test]
fn statements() {
    check(
        "var x: 0..20; y: 0..20;
         startstate x := 0; y := 0; end;
         rule x < 20 ==>
           var n: 0..30; k: 0..20;
           begin
             n := 0;
             for i := 1 to x by 3 do n := n + 1; end;
             while n > 3 do n := n - 2; end;
             switch n case 0: k := 1; case 1, 2: k := 2; else k := 3; end;
             x := x + k;
             if k = 1 then y := 5; elsif k = 2 then y := 7; return; else y := 9; end;
             assert x < 17 \"too far\";
           end;",
        8,
        1,
    );
}

#[test]
fn functions_procedures_and_references() {
    check(
        "type r: record v: 0..7; w: array [0..1] of 0..7; end;
         var s: r; t: r;
         function inc(x: 0..7): 0..7; begin return (x + 1) % 8; end;
         procedure bump(var x: 0..7; times: 0..7); begin
           for i := 1 to times do x := inc(x); end; end;
         function swapped(y: r): r; var z: r; begin
           z := y; z.w[0] := y.w[1]; z.w[1] := y.w[0]; return z; end;
         function sum(n: 0..7): 0..63; begin
           if n = 0 then return 0; end; return n + sum(n - 1); end;
         startstate clear s; clear t; end;
         rule s.v < 3 ==> bump(s.v, 1); bump(s.w[s.v % 2], s.v); end;
         rule sum(s.v) = 6 ==> t := swapped(s); s.v := 0; end;
         rule t = swapped(s) ==> bump(t.v, 2); end;",
        24,
        0,
    );
}

#[test]
fn recursion_beyond_any_limit_is_a_fault() {
    let text = "var x: 0..3000;
         function down(n: 0..3000): 0..3000; begin
           if n = 0 then return 0; end; return down(n - 1); end;
         startstate x := 0; end;
         rule x < 600 ==> x := x + 100; end;
         rule down(x) = 0 ==> x := x; end;";
    let limits = Limits {
        call_depth: 400,
        ..Limits::default()
    };
    check_with(text, limits, 7, 3);
}

#[test]
fn deep_recursion_within_the_limit_is_native() {
    let text = "type w: array [0..9] of 0..3000;
         var x: 0..900;
         function down(n: 0..3000): 0..3000; var own: w; begin
           own[n % 10] := n;
           if n = 0 then return own[0]; end; return down(n - 1); end;
         startstate x := 0; end;
         rule x < 900 ==> x := x + 300; end;
         rule down(x) = 0 ==> x := x; end;";
    check(text, 4, 0);
}

/// A function that calls itself with some 80 KiB of locals a call, more than a level of the stack
/// has, and the beginning of a model with it.
const HUGE_LOCALS: &str = "type w: array [0..50000] of 0..3000;
     var x: 0..900;
     function down(n: 0..3000): 0..3000; var own: w; begin
       own[n * 7] := n;
       if n = 0 then return own[0]; end;
       return down(n - 1) + own[n * 7] - n; end;";

#[test]
fn deep_recursion_over_huge_locals_is_native_in_guards_and_bodies() {
    let text = "startstate x := 0; end;
         ruleset i: 0..2 do
           rule x < 300 & down(x + i) = 0 ==> x := x + 100 + down(x); end; end;";
    check(&format!("{HUGE_LOCALS} {text}"), 4, 0);
}

#[test]
fn deep_recursion_over_huge_locals_is_native_in_startstates() {
    let text = "ruleset i: 0..2 do startstate x := i + down(100 * i); end; end;
         rule x < 3 ==> x := x + 1; end;";
    check(&format!("{HUGE_LOCALS} {text}"), 4, 0);
}

#[test]
fn deep_recursion_over_huge_locals_is_native_in_properties() {
    for property in ["invariant", "cover", "assume", "liveness"] {
        let text = format!(
            "startstate x := 0; end;
             rule x < 300 ==> x := x + 100; end;
             {property} down(x) = 0;"
        );
        check(&format!("{HUGE_LOCALS} {text}"), 4, 0);
    }
}

#[test]
fn recursion_over_huge_locals_beyond_the_limit_is_a_fault() {
    let text = "startstate x := 0; end;
         rule x < 300 ==> x := x + 100; end;
         rule down(x) = 0 ==> x := 0; end;";
    let limits = Limits {
        call_depth: 200,
        ..Limits::default()
    };
    check_with(&format!("{HUGE_LOCALS} {text}"), limits, 4, 2);
}

#[test]
fn quantifiers_over_scalarsets_look_past_the_first_witness_where_elements_may_fault() {
    let text = "type p: scalarset(3);
         var a: array [p] of 0..2; x: 0..2;
         startstate undefine a; x := 0; end;
         ruleset i: p do rule isundefined(a[i]) ==> a[i] := x; end; end;
         rule x < 2 ==> x := x + 1; end;
         rule exists i: p do !isundefined(a[i]) & a[i] = x end ==> x := 0; end;
         rule exists i: p do a[i] = x end ==> x := 0; end;";
    // Of 3 * 4^3 assignments all are reached; all but 3 * 3^3 of them have an undefined element.
    check(text, 192, 111);
}

#[test]
fn quantifiers_over_scalarsets_in_bodies_and_startstates() {
    check(
        "type p: scalarset(3);
         var a: array [p] of 0..2; n: 0..3; b: boolean;
         startstate
           for i: p do a[i] := 0; end; n := 0;
           b := forall i: p do a[i] = 0 end; end;
         ruleset i: p do rule a[i] < 2 ==>
           a[i] := a[i] + 1;
           b := (exists j: p do a[j] = 2 end) != (forall j: p do a[j] > 0 end); end; end;
         invariant forall i: p do exists j: p do a[i] >= a[j] end end;",
        27,
        0,
    );
}

#[test]
fn loops_beyond_the_limit_are_a_fault() {
    let text = "var x: 0..9;
         startstate x := 0; end;
         rule x < 9 ==> var n: 0..100; begin
           n := 0; while n < x * 10 do n := n + 1; end; x := x + 1; end;";
    let limits = Limits {
        loop_rounds: 45,
        ..Limits::default()
    };
    check_with(text, limits, 6, 1);
}

#[test]
fn aliases_and_unions() {
    check(
        "type p: scalarset(3); e: enum { nil, full }; u: union { p, e };
         var a: array [p] of u; held: u;
         startstate for i: p do a[i] := nil; end; held := nil; end;
         ruleset i: p do
           alias mine: a[i] do
             rule mine = nil ==> mine := i; end;
             rule ismember(mine, p) & held = nil ==> held := mine; mine := full; end;
             rule mine = held ==> held := nil; end;
           end;
         end;",
        20,
        0,
    );
}

#[test]
fn rules_that_a_field_rules_out_leave_order_and_counts_as_they_are() {
    let text = "type p: 0..2; at: enum { idle, wanting, inside, leaving };
         var pc: array [p] of at; turn: p; door: boolean; rest: record n: 0..3; end;
         startstate for i: p do pc[i] := idle; end; turn := 0; door := true; rest.n := 0; end;
         ruleset i: p do
           rule idle = pc[i] ==> pc[i] := wanting; end;
           rule pc[i] = wanting & turn = i ==> pc[i] := inside; end;
           rule pc[i] != idle & pc[i] != wanting & door ==> pc[i] := leaving; end;
           rule !door & pc[i] != idle ==> door := true; end;
           rule pc[i] = leaving ==> pc[i] := idle; turn := (i + 1) % 3; door := false; end;
         end;
         ruleset i: p; j: p do
           alias one: pc[i]; other: pc[j] do
             rule one = inside | one = leaving ==> rest.n := (rest.n + 1) % 4; end;
             rule i < j & one = idle & other = idle ==> door := door; end;
             rule one = inside & other = wanting ==> turn := j; end;
           end; end;
         rule rest.n > 1 ==> clear rest; end;
         rule pc[turn] = inside ==> pc[turn] := leaving; end;";
    check(text, 1225, 0);
}

#[test]
fn a_fault_is_seen_where_a_field_further_right_rules_the_rule_out() {
    // Each of the last four rules faults at x = 3 or where y is undefined, and at no other state.
    for guard in [
        "10 / (3 - x) > 20 & pc = 1",
        "y = 0 & pc = 1",
        "pc = 2 & y = 0",
        "y = 1 | pc = 1",
    ] {
        let text = format!(
            "var x: 0..3; y: 0..1; pc: 0..2;
             startstate x := 0; undefine y; pc := 0; end;
             startstate x := 0; y := 0; pc := 2; end;
             rule pc != 1 & x < 3 ==> x := x + 1; end;
             rule pc = 0 & x = 2 ==> pc := 2; end;
             rule pc = 1 ==> pc := 1; end;
             rule {guard} ==> pc := 2; end;"
        );
        let n_faults = match guard {
            "10 / (3 - x) > 20 & pc = 1" => 3,
            "pc = 2 & y = 0" => 2,
            _ => 6,
        };
        check(&text, 10, n_faults);
    }
}

#[test]
fn rules_of_later_priority_do_not_fire_because_others_were_left_out() {
    let text = "var pc: 0..5; n: 0..7;
         startstate pc := 0; n := 0; end;
         rule 1 \"step\" pc = 0 ==> pc := 1; end;
         rule 1 \"again\" pc = 1 & n < 4 ==> n := n + 1; pc := 0; end;
         rule 1 \"late\" pc = 4 ==> pc := 5; end;
         rule 2 \"never\" pc = 2 ==> pc := 3; end;
         rule 2 \"many\" n > 2 ==> pc := 4; end;
         rule 3 \"last\" n >= 0 ==> pc := 0; end;";
    check(text, 12, 0);
}

#[test]
fn multisets_and_choose() {
    check(
        "type v: 0..2;
         var bag: multiset [3] of record a: v; b: boolean; end; n: 0..3;
         startstate undefine bag; n := 0; end;
         ruleset x: v do
           rule multisetcount(i: bag, true) < 3 ==>
             var e: record a: v; b: boolean; end;
             begin e.a := x; e.b := x > 0; multisetadd(e, bag); end;
         end;
         choose i: bag do
           rule bag[i].a = 2 ==> bag[i].b := !bag[i].b; end;
           rule bag[i].b ==> multisetremove(i, bag); n := (n + 1) % 4; end;
         end;
         rule multisetcount(i: bag, bag[i].a = 1) = 2 ==>
           multisetremovepred(i: bag, bag[i].a = 1); end;",
        140,
        0,
    );
}

#[test]
fn a_guard_that_faults_needs_an_element() {
    check(
        "var bag: multiset [2] of 0..1; x, y: 0..1;
         startstate x := 0; undefine y; end;
         choose i: bag do rule y = 0 ==> x := 0; end; end;
         rule x := 1 - x; end;",
        2,
        0,
    );
}

#[test]
fn removed_elements_are_not_written_or_removed_again() {
    let model = |body: &str| {
        format!(
            "type msg: record a: 0..1; b: 0..1; end; bag: multiset [2] of msg;
             var bags: array [0..1] of bag; m: msg; n: 0..2;
             procedure set(var it: msg); begin it.a := 1; end;
             procedure drop(var it: msg);
             begin multisetremovepred(i: bags[0], true); it.a := 1; end;
             startstate clear m; n := 0; for k: 0..1 do multisetadd(m, bags[k]); end; end;
             ruleset k: 0..1 do choose i: bags[k] do
               rule n = 0 ==> n := 1; {body} end;
             end; end;"
        )
    };
    for (body, n_states, n_faults) in [
        ("bags[k][i].a := 1; multisetremove(i, bags[k]);", 3, 0),
        ("multisetremove(i, bags[k]); bags[k][i].a := 1;", 1, 1),
        (
            "multisetremove(i, bags[k]); multisetremove(i, bags[k]);",
            1,
            1,
        ),
        ("multisetremove(i, bags[k]); set(bags[k][i]);", 1, 1),
        ("multisetremove(i, bags[k]); set(m);", 3, 0),
        ("drop(bags[k][i]);", 2, 1),
        (
            "alias e: bags[k][i] do multisetremove(i, bags[k]); undefine e.b; end;",
            1,
            1,
        ),
        (
            "alias e: bags[1 - k] do multisetremove(i, bags[k]); clear e; end;",
            2,
            0,
        ),
    ] {
        println!("{body}");
        check(&model(body), n_states, n_faults);
    }
}

#[test]
fn a_full_multiset_is_a_fault() {
    check(
        "var bag: multiset [2] of 0..3;
         startstate undefine bag; end;
         ruleset x: 0..3 do rule multisetadd(x, bag); end; end;",
        15,
        10,
    );
}

#[test]
fn priorities_assumptions_covers_and_liveness() {
    check(
        "var x: 0..9; y: 0..9;
         startstate x := 0; y := 0; end;
         rule 5 \"low\" x < 9 ==> x := x + 1; cover x = 4 \"four\"; end;
         rule 1 \"high\" x % 3 = 1 & y < x ==> y := y + 1; assume y != 3; end;
         assume \"bound\" x + y < 14;
         ruleset i: 0..3 do cover \"c\" x = i; liveness \"l\" y = i; end;
         invariant \"small\" x < 8;",
        7,
        0,
    );
}

#[test]
fn an_endless_loop_stops_when_asked() {
    let text = "var x: 0..1;
         startstate x := 0; end;
         rule while x = 0 do for i: 0..1000000 do x := 0; end; end; end;";
    let limits = Limits {
        loop_rounds: u64::MAX,
        ..Limits::default()
    };
    stops(text, limits);
}

#[test]
fn a_huge_ruleset_stops_when_asked() {
    let text = "var x: 0..1;
         startstate x := 0; end;
         ruleset i: 0..1000000000; j: 0..1000000 do rule i + j + x < 0 ==> x := 1; end; end;";
    stops(text, Limits::default());
}

fn stops(text: &str, limits: Limits) {
    let native = Native::new(program(text), limits).expect("it compiles");
    let stop = Stop::new();
    let mut expander = native.expander(&stop);
    let mut out = Successors::new(native.shape(), 16);
    out.reset(1);
    assert_eq!(expander.starts(Cursor::default(), &mut out), Flow::Done);
    let bytes = out.states().bytes().to_vec();
    let block = hadal_model::States::new(&bytes, native.shape().state_len, 1);
    out.reset(1);
    let begun = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(30));
            stop.raise();
        });
        let flow = expander.expand(block, Cursor::default(), &mut out);
        assert_eq!(flow, Flow::Stopped);
    });
    assert!(begun.elapsed() < Duration::from_secs(20));
}

/// Native code counts in the buffer by rule and cover point, so that it must have all of them.
fn starts_into_a_buffer_of(other: &str) {
    let text = "var x: 0..9; startstate x := 0; end;
         rule x < 9 ==> x := x + 1; cover x = 4 \"four\"; end;
         rule x > 0 ==> x := x - 1; end;";
    let native = Native::new(program(text), Limits::default()).unwrap();
    let other = Native::new(program(other), Limits::default()).unwrap();
    let stop = Stop::new();
    let mut out = Successors::new(other.shape(), 16);
    let mut expander = native.expander(&stop);
    expander.starts(Cursor::default(), &mut out);
}

#[test]
#[should_panic(expected = "the buffer has the rules of the model")]
fn a_buffer_with_fewer_rules_is_refused() {
    starts_into_a_buffer_of(
        "var x: 0..9; startstate x := 0; end;
         rule x < 9 ==> x := x + 1; cover x = 4 \"four\"; end;",
    );
}

#[test]
#[should_panic(expected = "the buffer has the cover points of the model")]
fn a_buffer_with_fewer_cover_points_is_refused() {
    starts_into_a_buffer_of(
        "var x: 0..9; startstate x := 0; end;
         rule x < 9 ==> x := x + 1; end;
         rule x > 0 ==> x := x - 1; end;",
    );
}
