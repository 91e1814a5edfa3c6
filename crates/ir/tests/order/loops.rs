//! One kind of loop each: what is independent, what is not, and how that is reported.

use expect_test::{Expect, expect};

use super::verdict;

fn check(text: &str, expected: Expect) {
    check_with(text, &[], expected);
}

/// The locals of these names are read neither by a later pass nor after the loop.
fn check_with(text: &str, private: &[&str], expected: Expect) {
    expected.assert_eq(&verdict(text, private));
}

/// Three processes that ask, in any combination.
const ASKING: &str = "
type Proc: scalarset(3);
var asked: array [Proc] of boolean; owner: Proc; n: 0..3;
startstate for p: Proc do asked[p] := false; end; n := 0; end;
ruleset p: Proc do rule \"ask\" !asked[p] ==> asked[p] := true; end; end;
";

fn asking(rules: &str) -> String {
    format!("{ASKING}{rules}")
}

#[test]
fn the_last_one_wins() {
    check(
        &asking("rule \"grant\" for p: Proc do if asked[p] then owner := p; end; end; end;"),
        expect![[r#"
            test.m:6:18: order-dependence in Body of "grant"
            the result depends on the order of the iterations: `owner` ends as Proc_2 if Proc_1 comes before Proc_2, and as Proc_1 the other way round
        "#]],
    );
}

#[test]
fn the_first_one_stays() {
    check(
        &asking(
            "rule \"grant\"
               for p: Proc do if asked[p] & isundefined(owner) then owner := p; end; end;
             end;",
        ),
        expect![[r#"
            test.m:7:20: order-dependence in Body of "grant"
            the result depends on the order of the iterations: `owner` ends as Proc_1 if Proc_1 comes before Proc_2, and as Proc_2 the other way round
        "#]],
    );
}

#[test]
fn the_first_match_is_returned() {
    check(
        &asking(
            "function first(): Proc;
             begin
               for p: Proc do if asked[p] then return p; end; end;
               return undefined;
             end;
             rule \"grant\" owner := first(); end;",
        ),
        expect![[r#"
            test.m:8:20: order-dependence in Body of "grant"
            the result depends on the order of the iterations: it returns Proc_1 if Proc_1 comes first and returns Proc_2 if Proc_2 comes first
        "#]],
    );
}

#[test]
fn a_record_that_depends_on_the_first_match_is_returned() {
    check(
        &asking(
            "type Grant: record done: boolean; who: Proc; end;
             function first(): Grant;
               var g: Grant;
             begin
               g.done := true;
               for p: Proc do if asked[p] then g.who := p; return g; end; end;
               g.done := false;
               return g;
             end;
             rule \"grant\" var g: Grant; begin g := first(); owner := g.who; end;",
        ),
        expect![[r#"
            test.m:11:20: order-dependence in Body of "grant"
            the result depends on the order of the iterations: `first(...).who` is Proc_1 if Proc_1 comes first and Proc_2 if Proc_2 comes first
        "#]],
    );
}

#[test]
fn an_early_return_of_a_constant_is_independent() {
    check(
        &asking(
            "function any(): boolean;
             begin
               for p: Proc do if asked[p] then return true; end; end;
               return false;
             end;
             rule \"note\" if any() then n := 1; end; end;",
        ),
        expect!["independent, evaluated [15]"],
    );
}

#[test]
fn an_early_return_past_an_operand_that_fails() {
    check(
        "type Proc: scalarset(3);
         var age: array [Proc] of 0..3; n: 0..1;
         function old(): boolean;
         begin
           for p: Proc do if age[p] > 1 then return true; end; end;
           return false;
         end;
         startstate n := 0; end;
         ruleset p: Proc do rule \"set\" isundefined(age[p]) ==> age[p] := 2; end; end;
         rule \"note\" !forall p: Proc do isundefined(age[p]) end ==> n := 1; if old() then n := 0; end; end;",
        expect![[r#"
            test.m:5:16: order-dependence in Body of "note"
            the result depends on the order of the iterations: it returns true if Proc_1 comes first and fails (`age[Proc_2]` is undefined) if Proc_2 comes first
        "#]],
    );
}

#[test]
fn a_return_value_of_a_procedure_is_none() {
    // What the function returned last is no result of the procedure.
    check(
        &asking(
            "function same(p: Proc): Proc; begin return p; end;
             procedure stop_if_asked();
             begin
               for p: Proc do if asked[same(p)] then return; end; end;
             end;
             rule \"stop\" stop_if_asked(); end;",
        ),
        expect!["independent, evaluated [8]"],
    );
}

#[test]
fn counting_is_independent() {
    check(
        &asking(
            "rule \"count\" n := 0; for p: Proc do if asked[p] then n := n + 1; end; end; end;",
        ),
        expect!["independent, evaluated [20]"],
    );
}

#[test]
fn counting_beyond_the_range_fails_in_all_orders() {
    check(
        &asking("rule \"count\" for p: Proc do if asked[p] then n := n + 2; end; end; end;"),
        expect!["independent, evaluated [15]"],
    );
}

#[test]
fn a_bound_that_is_looked_at_on_the_way() {
    check(
        &asking(
            "rule \"two only\" n := 0;
               for p: Proc do if asked[p] & n < 2 then n := n + 1; asked[p] := false; end; end;
             end;",
        ),
        expect![[r#"
            test.m:7:20: order-dependence in Body of "two only"
            the result depends on the order of the iterations: after Proc_1, `asked[Proc_2]` ends as false if Proc_2 comes before Proc_3, and as true the other way round
        "#]],
    );
}

#[test]
fn the_maximum_is_independent() {
    check(
        "type Proc: scalarset(3);
         var age: array [Proc] of 0..2; oldest: 0..2;
         startstate for p: Proc do age[p] := 0; end; oldest := 0; end;
         ruleset p: Proc do rule \"age\" age[p] < 2 ==> age[p] := age[p] + 1; end; end;
         rule \"compare\"
           var m: 0..2;
         begin
           m := 0;
           for p: Proc do if age[p] > m then m := age[p]; end; end;
           oldest := m;
         end;",
        expect!["independent, evaluated [72]"],
    );
}

#[test]
fn the_one_with_the_maximum_is_not() {
    check(
        "type Proc: scalarset(3);
         var age: array [Proc] of 0..1; oldest: Proc;
         startstate for p: Proc do age[p] := 0; end; end;
         ruleset p: Proc do rule \"age\" age[p] < 1 ==> age[p] := age[p] + 1; end; end;
         rule \"compare\"
           var m: 0..1; who: Proc;
         begin
           m := 0;
           for p: Proc do if age[p] > m then m := age[p]; who := p; end; end;
           oldest := who;
         end;",
        expect![[r#"
            test.m:9:16: order-dependence in Body of "compare"
            the result depends on the order of the iterations: `who` ends as Proc_1 if Proc_1 comes before Proc_2, and as Proc_2 the other way round
        "#]],
    );
}

const SENDING: &str = "
type Proc: scalarset(3);
var net: multiset [3] of Proc; n: 0..3;
startstate n := 0; end;
";

#[test]
fn insertion_into_a_bag_is_independent() {
    check(
        &format!(
            "{SENDING}
             rule \"send\" multisetcount(i: net, true) = 0 ==> for p: Proc do multisetadd(p, net); end; end;"
        ),
        expect!["independent, evaluated [2, 1]"],
    );
}

#[test]
fn insertion_into_a_bag_of_locals_is_independent() {
    check(
        &format!(
            "{SENDING}
             rule \"send\" multisetcount(i: net, true) = 0 ==>
               var all: multiset [3] of Proc;
             begin
               for p: Proc do multisetadd(p, all); end;
               n := multisetcount(i: all, true);
             end;"
        ),
        expect!["independent, evaluated [2, 2, 2]"],
    );
}

#[test]
fn insertion_into_a_bag_with_a_bound_is_not() {
    check(
        &format!(
            "{SENDING}
             rule \"send\"
               for p: Proc do if multisetcount(i: net, true) < 2 then multisetadd(p, net); end; end;
             end;"
        ),
        expect![[r#"
            test.m:7:20: order-dependence in Body of "send"
            the result depends on the order of the iterations: after Proc_1, `net{1}` ends as Proc_2 if Proc_2 comes before Proc_3, and as Proc_3 the other way round
        "#]],
    );
}

#[test]
fn insertion_into_a_bag_that_gets_full_fails_in_all_orders() {
    check(
        &format!(
            "{SENDING}
             rule \"send\" for p: Proc do multisetadd(p, net); end; end;"
        ),
        expect!["independent, evaluated [2]"],
    );
}

#[test]
fn removal_from_a_bag_is_independent() {
    check(
        &format!(
            "{SENDING}
             ruleset p: Proc do rule \"send\" multisetcount(i: net, true) < 3 ==> multisetadd(p, net); end; end;
             rule \"answer\" for p: Proc do multisetremovepred(i: net, net[i] = p); end; end;"
        ),
        expect!["independent, evaluated [60, 20, 231]"],
    );
}

#[test]
fn a_chosen_slot_that_the_loop_keeps() {
    check(
        &format!(
            "{SENDING}
             ruleset p: Proc do rule \"send\" multisetcount(i: net, true) < 1 ==> multisetadd(p, net); end; end;
             choose i: net do
               rule \"receive\" multisetcount(j: net, true) = 1 ==>
                 for p: Proc do if p != net[i] then multisetadd(p, net); end; end;
                 multisetremove(i, net);
                 undefine net;
               end;
             end;"
        ),
        expect!["independent, evaluated [12, 3, 3]"],
    );
}

#[test]
fn slots_that_a_loop_over_slots_fills() {
    // Whether a slot ahead is visited with the element in it depends on the order of the slots.
    check(
        &format!(
            "{SENDING}
             function echo(p: Proc): boolean;
             begin
               if multisetcount(i: net, true) < 3 then multisetadd(p, net); n := n + 1; end;
               return false;
             end;
             ruleset p: Proc do
               rule \"send\" multisetcount(i: net, true) < 2 & n = 0 ==> multisetadd(p, net); end;
             end;
             rule \"echo\" n = 0 ==> multisetremovepred(i: net, echo(net[i])); end;"
        ),
        expect![[r#"
            test.m:14:36: order-dependence in Body of "echo"
            the result depends on the order of the iterations: `net{2}` ends as Proc_1 if slot 0 comes before slot 1, and as undefined the other way round
        "#]],
    );
}

#[test]
fn elements_that_change_places_while_a_loop_runs_over_their_slots() {
    // Each visit moves the element to the first free slot. The bag stays the same, but whether the
    // first slot holds the marked element when it is visited last depends on who moved there.
    check(
        &format!(
            "{SENDING}
             var seen: array [Proc] of boolean; first, marked: Proc; again: boolean;
             function visit(p: Proc): boolean;
             begin
               if p = marked & forall q: Proc do q = first | seen[q] end then again := true; end;
               seen[p] := true;
               multisetremovepred(j: net, net[j] = p);
               multisetadd(p, net);
               return false;
             end;
             ruleset f: Proc; m: Proc do
               rule \"visit\" n = 0 ==>
                 for p: Proc do seen[p] := false; multisetadd(p, net); end;
                 first := f; marked := m; again := false; n := 1;
                 multisetremovepred(j: net, net[j] = f);
                 multisetremovepred(k: net, visit(net[k]));
               end;
             end;"
        ),
        expect![[r#"
            test.m:20:18: order-dependence in Body of "visit" f=Proc_1 m=Proc_1
            the result depends on the order of the iterations: `net{0}` ends as Proc_2 if slot 1 comes before slot 2, and as Proc_3 the other way round
        "#]],
    );
}

#[test]
fn insertion_while_a_loop_runs_over_the_slots() {
    // Of the two elements, one goes to a slot that the loop has left behind.
    check(
        "type Proc: scalarset(2);
         var net: multiset [3] of Proc; last: Proc; n: 0..1;
         function fill(p: Proc): boolean;
         begin
           if n = 0 then
             n := 1;
             for q: Proc do multisetadd(q, net); end;
           end;
           last := p;
           return false;
         end;
         startstate n := 0; end;
         ruleset f: Proc do
           rule \"fill\" n = 0 ==>
             for p: Proc do multisetadd(p, net); end;
             multisetremovepred(j: net, net[j] = f);
             multisetremovepred(k: net, fill(net[k]));
           end;
         end;",
        expect![[r#"
            test.m:7:18: order-dependence in Body of "fill" f=Proc_1
            the result depends on the order of the iterations: `net{0}` ends as Proc_1 if Proc_1 comes before Proc_2, and as Proc_2 the other way round
        "#]],
    );
}

#[test]
fn copying_a_bag_slot_by_slot_is_independent() {
    // Where the loop is over, it no longer matters which slots the copies lie in.
    check(
        "type Proc: scalarset(3);
         var net: multiset [2] of Proc; copies: multiset [2] of Proc;
         function copy(p: Proc): boolean; begin multisetadd(p, copies); return true; end;
         startstate end;
         ruleset p: Proc do
           rule \"send\" multisetcount(i: net, true) < 2 ==> multisetadd(p, net); end;
         end;
         rule \"copy\" undefine copies; multisetremovepred(i: net, copy(net[i])); end;",
        expect!["independent, evaluated [300, 100]"],
    );
}

#[test]
fn slots_are_named_as_slots() {
    check(
        &format!(
            "{SENDING}
             var last: Proc;
             function note(p: Proc): boolean; begin last := p; return true; end;
             ruleset p: Proc do
               rule \"send\" multisetcount(i: net, true) < 2 & n = 0 ==> multisetadd(p, net); end;
             end;
             rule \"note\" n = 0 ==> multisetremovepred(i: net, note(net[i])); end;"
        ),
        expect![[r#"
            test.m:11:36: order-dependence in Body of "note"
            the result depends on the order of the iterations: `last` ends as Proc_2 if slot 0 comes before slot 1, and as Proc_1 the other way round
        "#]],
    );
}

/// One process has a value, the others have none. It is not a scalarset: over those, quantifiers
/// look at all elements, and do not stop.
const HALF_DEFINED: &str = "
type Proc: 1..3; var x: array [Proc] of boolean; some: Proc;
startstate undefine x; end;
ruleset p: Proc do rule \"set\" isundefined(some) ==> some := p; x[p] := true; end; end;
";

#[test]
fn a_quantifier_with_an_operand_that_fails() {
    check(
        &format!("{HALF_DEFINED} rule \"use\" exists p: Proc do x[p] end ==> end;"),
        expect![[r#"
            test.m:5:20: order-dependence in Guard of "use"
            the result depends on the order of the iterations: it is true if 1 comes first and fails (`x[2]` is undefined) if 2 comes first
        "#]],
    );
}

#[test]
fn a_quantifier_that_fails_in_all_orders() {
    check(
        &format!("{HALF_DEFINED} rule \"use\" forall p: Proc do x[p] end ==> end;"),
        expect!["independent, evaluated [4]"],
    );
}

#[test]
fn a_quantifier_in_an_invariant() {
    check(
        &format!(
            "{HALF_DEFINED}
             ruleset q: Proc do
               invariant \"one\" !isundefined(some) -> q = some | exists p: Proc do p != q & x[p] end;
             end;"
        ),
        expect![[r#"
            test.m:7:72: order-dependence in Property of "one" q=2
            the result depends on the order of the iterations: it is true if 1 comes first and fails (`x[3]` is undefined) if 3 comes first
        "#]],
    );
}

#[test]
fn quantifiers_in_covers_and_liveness() {
    check(
        &format!("{HALF_DEFINED} cover \"some\" exists p: Proc do x[p] end;"),
        expect![[r#"
            test.m:5:22: order-dependence in Property of "some"
            the result depends on the order of the iterations: it is true if 1 comes first and fails (`x[2]` is undefined) if 2 comes first
        "#]],
    );
    check(
        &format!("{HALF_DEFINED} liveness \"some\" exists p: Proc do x[p] end;"),
        expect![[r#"
            test.m:5:25: order-dependence in Property of "some"
            the result depends on the order of the iterations: it is true if 1 comes first and fails (`x[2]` is undefined) if 2 comes first
        "#]],
    );
}

#[test]
fn an_assumption_about_the_next_state() {
    check(
        &format!("{HALF_DEFINED} assume \"some\" isundefined(some) | exists p: Proc do x[p] end;"),
        expect![[r#"
            test.m:5:43: order-dependence in Property of "some"
            the result depends on the order of the iterations: it is true if 1 comes first and fails (`x[2]` is undefined) if 2 comes first
        "#]],
    );
}

#[test]
fn assumptions_and_errors_in_different_passes() {
    let rule = |otherwise: &str| {
        asking(&format!(
            "rule \"all\"
               for p: Proc do if asked[p] then error \"asked\"; else {otherwise} end; end;
             end;"
        ))
    };
    check(
        &rule("assume false;"),
        expect![[r#"
            test.m:7:20: order-dependence in Body of "all"
            the result depends on the order of the iterations: it fails (asked) if Proc_1 comes first and is abandoned by an assumption if Proc_2 comes first
        "#]],
    );
    check(&rule("n := 0;"), expect!["independent, evaluated [8]"]);
    check(
        &rule("return;"),
        expect![[r#"
            test.m:7:20: order-dependence in Body of "all"
            the result depends on the order of the iterations: it fails (asked) if Proc_1 comes first and returns if Proc_2 comes first
        "#]],
    );
}

#[test]
fn all_passes_abandon() {
    check(
        &asking("rule \"all\" for p: Proc do assume n > 0; owner := p; end; end;"),
        expect!["independent, evaluated [8]"],
    );
}

#[test]
fn nested_loops() {
    // Every pair is looked at, whatever the order.
    check(
        "type Proc: scalarset(3); Key: scalarset(2);
         var has: array [Proc] of array [Key] of boolean; n: 0..6;
         startstate for p: Proc do for k: Key do has[p][k] := false; end; end; n := 0; end;
         ruleset p: Proc; k: Key do rule \"take\" !has[p][k] ==> has[p][k] := true; end; end;
         rule \"count\" n := 0;
           for p: Proc do for k: Key do if has[p][k] then n := n + 1; end; end; end;
         end;",
        expect!["independent, evaluated [256, 3063]"],
    );
}

#[test]
fn an_inner_loop_that_depends_only_after_some_passes_of_the_outer_one() {
    // From the start the inner loop is independent: only the second pass of the outer one sees
    // `n` = 1.
    check(
        "type Proc: scalarset(2); Key: scalarset(2);
         var last: Key; n: 0..2;
         startstate n := 0; end;
         rule \"act\" n = 0 ==>
           for p: Proc do
             for k: Key do if n = 1 then last := k; end; end;
             n := n + 1;
           end;
         end;",
        expect![[r#"
            test.m:6:18: order-dependence in Body of "act"
            the result depends on the order of the iterations: `last` ends as Key_2 if Key_1 comes before Key_2, and as Key_1 the other way round
        "#]],
    );
}

#[test]
fn a_loop_in_a_function_that_a_loop_calls() {
    check(
        "type Proc: scalarset(2); Key: scalarset(2);
         var last: Key; n: 0..2;
         procedure note();
         begin
           for k: Key do if n = 1 then last := k; end; end;
         end;
         startstate n := 0; end;
         rule \"act\" n = 0 ==> for p: Proc do note(); n := n + 1; end; end;",
        expect![[r#"
            test.m:5:16: order-dependence in Body of "act"
            the result depends on the order of the iterations: `last` ends as Key_2 if Key_1 comes before Key_2, and as Key_1 the other way round
        "#]],
    );
}

#[test]
fn writes_through_aliases() {
    check(
        &asking(
            "rule \"clear\" for p: Proc do alias a: asked[p] do a := false; end; end; end;
             rule \"grant\" alias o: owner do for p: Proc do if asked[p] then o := p; end; end; end; end;",
        ),
        expect![[r#"
            test.m:7:49: order-dependence in Body of "grant"
            the result depends on the order of the iterations: `owner` ends as Proc_2 if Proc_1 comes before Proc_2, and as Proc_1 the other way round
        "#]],
    );
}

#[test]
fn writes_through_reference_parameters() {
    check(
        &asking(
            "procedure reset(var a: boolean); begin a := false; end;
             rule \"clear\" for p: Proc do reset(asked[p]); end; end;",
        ),
        expect!["independent, evaluated [8]"],
    );
    // To the state.
    check(
        &asking(
            "procedure last(var o: Proc); begin for p: Proc do if asked[p] then o := p; end; end; end;
             rule \"grant\" last(owner); end;",
        ),
        expect![[r#"
            test.m:6:40: order-dependence in Body of "grant"
            the result depends on the order of the iterations: `owner` ends as Proc_2 if Proc_1 comes before Proc_2, and as Proc_1 the other way round
        "#]],
    );
    // To a local of the caller.
    check(
        &asking(
            "procedure last(var o: Proc); begin for p: Proc do if asked[p] then o := p; end; end; end;
             rule \"grant\" var w: Proc; begin last(w); if !isundefined(w) then n := 1; end; end;",
        ),
        expect![[r#"
            test.m:6:40: order-dependence in Body of "grant"
            the result depends on the order of the iterations: `o` ends as Proc_2 if Proc_1 comes before Proc_2, and as Proc_1 the other way round
        "#]],
    );
}

#[test]
fn a_returned_aggregate() {
    check(
        &asking(
            "type Pair: record a, b: Proc; end;
             function pair(): Pair;
               var r: Pair;
             begin
               for p: Proc do
                 if isundefined(r.a) then r.a := p;
                 else r.b := p; return r; end;
               end;
               return r;
             end;
             rule \"grant\" var r: Pair; begin r := pair(); owner := r.b; end;",
        ),
        expect![[r#"
            test.m:10:20: order-dependence in Body of "grant"
            the result depends on the order of the iterations: after Proc_1, `pair(...).b` is Proc_2 if Proc_2 comes next and Proc_3 if Proc_3 comes next
        "#]],
    );
}

const SWAPPING: &str = "
type Proc: scalarset(3);
var x: array [Proc] of 0..2; y: array [Proc] of 0..2;
startstate for p: Proc do x[p] := 0; y[p] := 1; end; end;
ruleset p: Proc do rule \"step\" x[p] < 2 ==> x[p] := x[p] + 1; end; end;
rule \"swap\"
  var t: 0..2;
begin
  for p: Proc do t := x[p]; x[p] := y[p]; y[p] := t; end;
end;
";

#[test]
fn private_locals_are_ignored() {
    check_with(SWAPPING, &["t"], expect!["independent, evaluated [368]"]);
    check_with(
        SWAPPING,
        &[],
        expect![[r#"
            test.m:9:7: order-dependence in Body of "swap"
            the result depends on the order of the iterations: `t` ends as 0 if Proc_1 comes before Proc_2, and as 1 the other way round
        "#]],
    );
}

#[test]
fn cover_points_before_an_early_return() {
    check(
        &asking(
            "rule \"look\"
               for p: Proc do
                 if asked[p] then return; end;
                 cover \"idle\" true;
               end;
             end;",
        ),
        expect![[r#"
            test.m:7:20: order-dependence in Body of "look"
            the result depends on the order of the iterations: "idle" is covered once after Proc_2 then Proc_1 and never if Proc_1 comes first
        "#]],
    );
    check(
        &asking(
            "rule \"look\"
               for p: Proc do
                 cover \"idle\" !asked[p];
                 if !asked[p] then n := 0; end;
               end;
             end;",
        ),
        expect!["independent, evaluated [8]"],
    );
}

#[test]
fn cover_points_that_depend_on_earlier_passes() {
    check(
        &asking(
            "rule \"look\" n = 0 ==>
               for p: Proc do
                 cover \"first\" n = 0 & asked[p];
                 n := n + 1;
               end;
               n := 0;
             end;",
        ),
        expect![[r#"
            test.m:7:20: order-dependence in Body of "look"
            the result depends on the order of the iterations: "first" is covered once if Proc_1 comes before Proc_2, and never the other way round
        "#]],
    );
}

#[test]
fn a_quantifier_with_effects() {
    check(
        &asking(
            "function take(p: Proc): boolean; begin owner := p; return asked[p]; end;
             rule \"take\" n := 0; if exists p: Proc do take(p) end then n := 1; end; end;",
        ),
        expect![[r#"
            test.m:7:44: order-dependence in Body of "take"
            the result depends on the order of the iterations: `owner` ends as Proc_2 if Proc_1 comes before Proc_2, and as Proc_1 the other way round
        "#]],
    );
    // The value itself, of a condition that passes change.
    check(
        &asking(
            "function second(p: Proc): boolean; begin n := n + 1; return n = 2 & asked[p]; end;
             rule \"count\" n = 0 ==> if exists p: Proc do second(p) end then n := 0; end; end;",
        ),
        expect![[r#"
            test.m:7:47: order-dependence in Body of "count"
            the result depends on the order of the iterations: the condition holds never if Proc_1 comes before Proc_2, and once the other way round
        "#]],
    );
    check(
        &asking(
            "function second(p: Proc): boolean; begin n := n + 1; return n = 2; end;
             rule \"count\" n = 0 ==> if exists p: Proc do second(p) end then n := 0; end; end;",
        ),
        expect!["independent, evaluated [8]"],
    );
}

#[test]
fn counting_in_a_quantifier_with_effects_is_independent() {
    check(
        &asking(
            "function note(p: Proc): boolean; begin n := n + 1; return asked[p]; end;
             rule \"count\" n = 0 ==> if exists p: Proc do note(p) end then n := 0; end; end;",
        ),
        expect!["independent, evaluated [8]"],
    );
}

#[test]
fn a_failure_after_some_passes_only() {
    check(
        &asking(
            "rule \"look\" n = 0 ==>
               for p: Proc do
                 assert n = 0 | !asked[p] \"asked late\";
                 n := 1;
               end;
             end;",
        ),
        expect![[r#"
            test.m:7:20: order-dependence in Body of "look"
            the result depends on the order of the iterations: it fails (asked late) after Proc_2 then Proc_1 and runs to its end after Proc_1 then Proc_2 then Proc_3
        "#]],
    );
}

#[test]
fn ten_passes_with_effects_and_no_more() {
    let text = |n: u32| {
        format!(
            "type Proc: scalarset({n}); var n: 0..20;
             startstate n := 0; end;
             rule \"count\" n = 0 ==> for p: Proc do n := n + 1; end; end;"
        )
    };
    check(&text(10), expect!["independent, evaluated [1]"]);
    check(
        &text(11),
        expect![[r#"
            test.m:3:41: order-dependence in Body of "count"
            the loop has 11 passes and changes something; the orders of at most 10 such passes are compared
        "#]],
    );
}

#[test]
fn a_dependence_of_the_last_of_ten_passes() {
    check(
        "type Proc: scalarset(10); var n: 0..20; last: Proc;
         startstate n := 0; end;
         rule \"count\" n = 0 ==>
           for p: Proc do n := n + 1; if n = 10 then last := p; end; end;
         end;",
        expect![[r#"
            test.m:4:16: order-dependence in Body of "count"
            the result depends on the order of the iterations: after 8 others, `last` ends as Proc_10 if Proc_9 comes before Proc_10, and as Proc_9 the other way round
        "#]],
    );
}

#[test]
fn many_passes_without_effects() {
    check(
        "type Proc: scalarset(40); var x: array [Proc] of boolean; some: Proc;
         startstate for p: Proc do x[p] := false; end; end;
         ruleset p: Proc do rule \"set\" forall q: Proc do !x[q] end ==> x[p] := true; end; end;
         rule \"find\" for p: Proc do if x[p] then return; end; end; end;
         invariant \"one\" forall p: Proc do x[p] -> forall q: Proc do x[q] -> p = q end end;",
        expect!["independent, evaluated [1640, 41, 41, 40]"],
    );
}
