//! Results of the analysis of order for single loops.

use hadal_ir::interp::{Interpreter, Item, Limits};
use hadal_ir::{BinaryOp, Expr, FunctionId, Quantifier, UnaryOp};
use hadal_murphi::{Options, compile};
use hadal_symmetry::order::Order;
use hadal_syntax::{Renderer, Source};

const DECLARATIONS: &str = "
type
  Proc: scalarset(3); Other: scalarset(2); Home: enum { Memory }; Node: union { Home, Proc };
  Message: record dest: Node; src: Proc; n: 0..9; end;
var
  flag, done: array [Proc] of boolean; age: array [Proc] of 0..3; next: array [Proc] of Proc;
  matrix: array [Proc] of array [Other] of boolean; owner: Proc; node: Node; at: array [Node] of boolean;
  n: 0..20; m: -9..9; any: boolean; list: array [0..3] of Proc; i: 0..3;
  net: multiset [4] of Message; nets: array [Proc] of multiset [4] of Message; plain: multiset [4] of 0..3;
startstate
  for p: Proc do flag[p] := false; done[p] := false; age[p] := 0;
    for o: Other do matrix[p][o] := false; end; end;
  for k: Node do at[k] := false; end;
  node := Memory; n := 0; m := 0; any := false; i := 0;
end;
";

fn interpreter(text: &str) -> Interpreter {
    let source = Source::new("test.m", text).expect("it is short");
    let compiled = compile(&source, &Options::default());
    let messages = Renderer::plain().render_all(&source, &compiled.diagnostics);
    let program = compiled.program.unwrap_or_else(|| panic!("{messages}"));
    Interpreter::new(program, Limits::default())
}

fn order(model: &str) -> Order {
    Order::of(&interpreter(&format!("{DECLARATIONS}{model}")))
}

/// All loops of the model are proved, as many as expected.
#[track_caller]
fn proves(n: usize, model: &str) {
    let order = order(model);
    assert!(order.rejections.is_empty(), "{:?}", order.rejections);
    assert!(order.checks.loops.is_empty(), "{:?}", order.doubts);
    assert_eq!(order.proved.len(), n);
}

/// The model is not refused, and some loop is to be checked for a reason with these words.
#[track_caller]
fn doubts(words: &str, model: &str) {
    let order = order(model);
    assert!(order.rejections.is_empty(), "{:?}", order.rejections);
    let mut notes = order.doubts.iter().flatten();
    assert!(
        notes.any(|note| note.text.contains(words)),
        "{:?}",
        order.doubts
    );
}

/// The model is refused with these words.
#[track_caller]
fn refuses(words: &str, model: &str) {
    let order = order(model);
    let mut rejections = order.rejections.iter();
    assert!(
        rejections.any(|rejection| rejection.message.contains(words)),
        "{:?} {:?}",
        order.rejections,
        order.doubts
    );
}

#[test]
fn writes_to_places_of_the_own_element_are_independent() {
    proves(
        1,
        "rule for p: Proc do flag[p] := !flag[p]; age[p] := 0; end; end;",
    );
    proves(
        2,
        "rule for p: Proc do for o: Other do matrix[p][o] := flag[p]; end; end; end;",
    );
    proves(
        1,
        "rule for p: Proc do alias f: flag[p] do f := true; end; end; end;",
    );
    proves(
        1,
        "rule var q: Proc; begin for p: Proc do q := p; flag[q] := true; end; end;",
    );
    proves(1, "rule for k: Node do at[k] := false; end; end;");
    proves(1, "rule for p: Proc do at[p] := flag[p]; end; end;");
}

#[test]
fn writes_to_places_of_other_elements_are_not() {
    doubts(
        "`flag[..]`",
        "rule for p: Proc do flag[next[p]] := any; end; end;",
    );
    doubts(
        "reads `flag[..]`",
        "rule for p: Proc do flag[p] := exists q: Proc do flag[q] end; end; end;",
    );
    doubts("the last one", "rule for p: Proc do owner := p; end; end;");
    doubts(
        "the last one",
        "rule for p: Proc do if flag[p] then node := p; end; end; end;",
    );
    doubts("`list[..]`", "rule for p: Proc do list[i] := p; end; end;");
}

#[test]
fn updates_that_commute_are_independent() {
    proves(1, "rule for p: Proc do any := flag[p] | any; end; end;");
    proves(
        1,
        "rule for p: Proc do if flag[p] then n := n + 1; end; end; end;",
    );
    proves(1, "rule for p: Proc do n := n + age[p]; end; end;");
    proves(
        1,
        "rule for p: Proc do n := 1 + (n + age[p]) + age[p]; end; end;",
    );
    proves(1, "rule for p: Proc do n := n - 1 - age[p]; end; end;");
    doubts(
        "reads `n`",
        "rule for p: Proc do n := n + age[p] - 1; end; end;",
    );
    doubts("reads `n`", "rule for p: Proc do n := n + n + 1; end; end;");
    doubts(
        "reads `n`",
        "rule for p: Proc do n := 9 - (n + 1); end; end;",
    );
    proves(1, "rule for p: Proc do n := n - age[p]; end; end;");
    proves(
        1,
        "rule for p: Proc do if flag[p] then any := true; end; end; end;",
    );
    proves(1, "rule for p: Proc do any := any | flag[p]; end; end;");
    proves(
        1,
        "rule for p: Proc do any := any | flag[p] | done[p]; end; end;",
    );
    proves(1, "rule for p: Proc do any := any & flag[p]; end; end;");
    proves(
        1,
        "rule for p: Proc do if age[p] > n then n := age[p]; end; end; end;",
    );
    proves(
        1,
        "rule for p: Proc do if n > age[p] then n := age[p]; end; end; end;",
    );
    proves(
        1,
        "ruleset q: Proc do rule for p: Proc do if flag[p] then owner := q; end; end; end; end;",
    );
    proves(1, "rule for p: Proc do undefine owner; end; end;");
    proves(1, "rule for p: Proc do node := Memory; end; end;");
}

#[test]
fn updates_that_do_not_commute_are_not() {
    // Whether an undefined flag is read depends on the passes before.
    doubts(
        "`any`",
        "rule for p: Proc do any := flag[p] | any; end; end; rule undefine any; end;",
    );
    doubts(
        "`m`",
        "rule for p: Proc do if flag[p] then m := m + 1; else m := m - 1; end; end; end;",
    );
    doubts(
        "`n`",
        "rule for p: Proc do n := n + 1; if flag[p] then n := 0; end; end; end;",
    );
    doubts("`n`", "rule for p: Proc do n := n + n; end; end;");
    doubts(
        "`any`",
        "rule for p: Proc do any := any | age[next[p]] = 0; end; end;",
    );
    doubts("`any`", "rule for p: Proc do any := !any; end; end;");
    doubts(
        "`n`",
        "rule for p: Proc do if age[p] > n then n := age[p]; owner := p; end; end; end;",
    );
    doubts(
        "`any`",
        "rule for p: Proc do if flag[p] then any := true; else any := false; end; end; end;",
    );
}

#[test]
fn extremes_may_be_filtered_and_written_as_values() {
    proves(
        1,
        "rule for p: Proc do if flag[p] & age[p] > n then n := age[p]; end; end; end;",
    );
    proves(
        1,
        "rule for p: Proc do n := (age[p] > n ? age[p] : n); end; end;",
    );
    proves(
        1,
        "rule for p: Proc do n := (age[p] > n ? n : age[p]); end; end;",
    );
    // The filter must not depend on what passes before have left.
    doubts(
        "`n`",
        "rule for p: Proc do if n < 2 & age[p] > n then n := age[p]; end; end; end;",
    );
    doubts(
        "`n`",
        "rule for p: Proc do n := (age[p] > n ? 0 : n); end; end;",
    );
}

/// Found by an adversary, each of them verified wrongly before.
#[test]
fn what_an_adversary_found_is_not_proved() {
    // A local of the caller leaves the function with the pass that returns.
    doubts(
        "",
        "procedure set(var o: Proc; q: Proc); begin o := q; end;
         function find(var out: Proc): boolean; begin
           for p: Proc do if flag[p] then set(out, p); return true; end; end;
           undefine out; return false; end;
         rule var l: Proc; begin if find(l) then owner := l; end; end;",
    );
    // One field of a record is private, another is not.
    let order = order(
        "type R: record a: Proc; b: Proc; end;
         rule var r: R; begin
           for p: Proc do r.a := p; if isundefined(r.b) & flag[r.a] then r.b := p; end; end;
           owner := r.b; end;",
    );
    assert_eq!(order.checks.loops.len(), 1);
    assert!(order.checks.loops[0].private.is_empty());
    // A call in a condition undoes what the condition has shown before.
    doubts(
        "may fail",
        "function kill(var l: 0..1): boolean; begin undefine l; return true; end;
         function f(): boolean; var l: 0..1; begin
           for p: Proc do
             l := 1;
             if done[p] & !isundefined(l) & kill(l) then if l = 1 then return true; end; end;
             if flag[p] then return true; end;
           end; return false; end;
         rule if f() then n := 1; else n := 2; end; end;",
    );
}

#[test]
fn constants_keep_their_value_in_a_union() {
    let enums =
        "type E: enum { ea, eb }; U: union { E, Proc }; var u: U; count: array [U] of 0..3;";
    doubts(
        "`u`",
        &format!(
            "{enums} procedure set(e: E); begin u := e; end;
             rule for p: Proc do if flag[p] then set(ea); else set(eb); end; end; end;"
        ),
    );
    proves(
        1,
        &format!(
            "{enums} procedure set(e: E); begin u := e; end;
             rule for p: Proc do if flag[p] then set(eb); end; end; end;"
        ),
    );
    doubts(
        "`count",
        &format!(
            "{enums} rule var e: E; v: U; begin e := eb; v := eb;
             for p: Proc do flag[p] := count[e] = 1; count[v] := count[v] + 1; end; end;"
        ),
    );
}

/// A call that is not inlined may read and write whatever it is handed.
#[test]
fn nothing_is_private_where_a_call_is_not_inlined() {
    let order = order(
        "procedure rec(var u: Proc; var w: Proc; k: 0..1); begin
           if k = 1 then rec(w, u, 0); else if !isundefined(u) then owner := u; end; end; end;
         rule var v: Proc; d: Proc; begin undefine v; undefine d;
           for p: Proc do rec(d, v, 1); v := p; end; end;",
    );
    assert!(!order.checks.loops.is_empty());
    assert!(order.checks.loops.iter().all(|it| it.private.is_empty()));
    // Also in the functions that are only reached through such calls.
    let mut model = "procedure h(var w: Proc); begin if !isundefined(w) then owner := w; end; end;
         procedure c0(); var v: Proc; begin undefine v; for p: Proc do h(v); v := p; end; end;"
        .to_owned();
    for depth in 1..30 {
        model += &format!("procedure c{depth}(); begin c{}(); end;", depth - 1);
    }
    let deep = Order::of(&interpreter(&format!(
        "{DECLARATIONS}{model} rule c29(); end;"
    )));
    assert_eq!(deep.checks.loops.len(), 1);
    assert!(deep.checks.loops[0].private.is_empty());
    // A local that is passed to a function in a `return` is used there.
    doubts(
        "read after the loop",
        "type R: record f: boolean; end;
         function rec(var u: Proc; var w: Proc; k: 0..1): R; var z: R; begin
           if k = 1 then return rec(w, u, 0); end;
           if !isundefined(u) then owner := u; end; z.f := true; return z; end;
         function wrap(): R; var v: Proc; d: Proc; begin
           undefine v; undefine d; for p: Proc do v := p; end; return rec(d, v, 1); end;
         var r: R; rule r := wrap(); end;",
    );
}

#[test]
fn passes_are_singled_out_by_values_not_by_words() {
    doubts(
        "`owner`",
        "ruleset a: Proc; b: Proc do rule var x: Proc; begin
           for p: Proc do x := a; if p = x then owner := p; end;
                          x := b; if p = x then owner := p; end; end; end; end;",
    );
    doubts(
        "`owner`",
        "procedure set(q: Proc; c: Proc); begin if q = c then owner := q; end; end;
         ruleset a: Proc; b: Proc do rule for p: Proc do set(p, a); set(p, b); end; end; end;",
    );
    proves(
        1,
        "procedure set(q: Proc; c: Proc); begin if q = c then owner := q; end; end;
         ruleset a: Proc do rule for p: Proc do set(p, a); set(p, a); end; end; end;",
    );
}

#[test]
fn functions_are_looked_at_however_deep_they_are_called() {
    let mut model =
        "function f0(var a: multiset [4] of Message; var b: multiset [4] of Message): 0..4;
         begin return multisetcount(k: a, b[k].n = 1); end;"
            .replace("multiset [4] of Message", "Bag");
    for depth in 1..30 {
        model += &format!(
            "function f{depth}(var a: Bag; var b: Bag): 0..4; begin return f{}(a, b); end;",
            depth - 1
        );
    }
    let bag = "type Bag: multiset [4] of Message; var left, right: Bag;";
    refuses(
        "on another multiset",
        &format!("{bag} {model} rule n := f29(left, right); end;"),
    );
}

#[test]
fn deeply_nested_loops_take_no_time() {
    let open: String = (0..20).map(|n| format!("exists p{n}: Proc do ")).collect();
    let close = "end ".repeat(20);
    let begun = std::time::Instant::now();
    proves(
        20,
        &format!("rule {open} flag[p0] & flag[p19] {close} ==> any := true; end;"),
    );
    let open: String = (0..7).map(|n| format!("for p{n}: Proc do ")).collect();
    let close = "end; ".repeat(7);
    proves(
        7,
        &format!("rule {open} alias f: flag[p0] do f := true; end; {close} end;"),
    );
    assert!(begun.elapsed().as_secs() < 5, "{:?}", begun.elapsed());
}

#[test]
fn one_pass_at_most_can_act_where_its_element_is_a_given_one() {
    proves(
        1,
        "rule for p: Proc do if !isundefined(owner) & p = owner then n := age[p]; end; end; end;",
    );
    proves(
        1,
        "ruleset q: Proc do rule for p: Proc do if p = q then node := p; end; end; end; end;",
    );
    proves(
        1,
        "function proc(): Proc; begin
           for p: Proc do if ismember(node, Proc) & p = node then return p; end; end; return owner; end;
         rule node != Memory ==> owner := proc(); end;
         rule undefine owner; end;
         ruleset p: Proc do rule node := p; end; end;",
    );
    // Two given elements are two passes.
    doubts(
        "`n`",
        "ruleset q: Proc; r: Proc do rule for p: Proc do
           if p = q then n := 1; end; if p = r then n := 2; end; end; end; end;",
    );
    // The given one differs between passes, or is changed by one.
    doubts(
        "`n`",
        "rule for p: Proc do if p = next[p] then n := age[p]; end; end; end;",
    );
    doubts(
        "`owner`",
        "rule for p: Proc do if p = owner then owner := next[p]; end; end; end;",
    );
    doubts(
        "`n`",
        "rule for p: Proc do for q: Proc do if p = q then n := age[p]; end; end; end; end;",
    );
    // What others do unconditionally still meets what the one pass does.
    doubts(
        "`n`",
        "rule for p: Proc do n := 0; if p = owner then n := 1; end; end; end;",
    );
}

#[test]
fn locals_are_private_to_a_pass_that_assigns_them_first() {
    proves(
        1,
        "rule var x: 0..3; begin for p: Proc do x := age[p]; if x > 1 then age[p] := x - 1; end; end; end;",
    );
    proves(
        1,
        "rule var x: Message; begin for p: Proc do x.dest := p; x.src := p; x.n := 1; multisetadd(x, net); end; end;",
    );
    doubts(
        "read after the loop",
        "rule var q: Proc; begin for p: Proc do if flag[p] then q := p; end; end; owner := q; end;",
    );
    doubts(
        "reads `x`",
        "rule var x: 0..3; begin x := 0; for p: Proc do age[p] := x; x := age[next[p]]; end; end;",
    );
    // What is left over is overwritten before it is read.
    proves(
        1,
        "rule var q: Proc; begin for p: Proc do q := p; flag[q] := false; end; undefine q; owner := q; end;",
    );
    // An outer loop reaches the read after the loop again.
    doubts(
        "read after the loop",
        "rule var q: Proc; begin for k: 0..1 do if !isundefined(q) then owner := q; end;
           for p: Proc do q := p; end; end; end;",
    );
}

#[test]
fn calls_are_followed() {
    proves(
        1,
        "procedure set(p: Proc; v: boolean); begin flag[p] := v; end;
         rule for p: Proc do set(p, any); end; end;",
    );
    proves(
        1,
        "procedure set(var f: boolean); begin f := true; end;
         rule for p: Proc do set(flag[p]); end; end;",
    );
    doubts(
        "the last one",
        "procedure set(var o: Proc; p: Proc); begin o := p; end;
         rule for p: Proc do set(owner, p); end; end;",
    );
    doubts(
        "calls itself",
        "procedure down(p: Proc; k: 0..3); begin flag[p] := true; if k > 0 then down(p, k - 1); end; end;
         rule for p: Proc do down(p, 2); end; end;",
    );
}

#[test]
fn passes_must_not_keep_others_from_running() {
    proves(
        1,
        "function some(): boolean; begin for p: Proc do if flag[p] then return true; end; end; return false; end;
         rule some() ==> any := true; end;",
    );
    doubts(
        "returns a value",
        "function first(): Proc; begin for p: Proc do if flag[p] then return p; end; end; return owner; end;
         rule owner := first(); end;",
    );
    doubts(
        "may fail",
        "function some(): boolean; begin for p: Proc do if flag[next[p]] then return true; end; end; return false; end;
         rule some() ==> any := true; end;",
    );
    doubts(
        "effects",
        "rule for p: Proc do if flag[p] then return; end; done[p] := true; end; end;",
    );
    doubts(
        "abandoned",
        "rule for p: Proc do assume flag[p]; assert done[p]; end; end;",
    );
    proves(
        1,
        "rule for p: Proc do assume flag[p]; done[p] := true; end; end;",
    );
    proves(
        1,
        "rule for p: Proc do assert flag[p]; done[p] := true; end; end;",
    );
}

/// Murphi's quantifiers over elements evaluate every operand; these stop as soon as they are
/// decided, as those of another language may.
fn stopping_early(interpreter: &Interpreter) -> Interpreter {
    let mut program = interpreter.program().clone();
    for id in 0..program.exprs.len() {
        let Expr::Binary(op @ (BinaryOp::Eq | BinaryOp::Ne), count, _) = program.exprs[id].0 else {
            continue;
        };
        let Expr::Quantified {
            quantifier: Quantifier::Count,
            var,
            ref domain,
            body,
        } = program.exprs[count.index()].0
        else {
            continue;
        };
        let (quantifier, body) = match (op, program.expr(body)) {
            (BinaryOp::Eq, Expr::Unary(UnaryOp::Not, body)) => (Quantifier::Forall, *body),
            _ => (Quantifier::Exists, body),
        };
        let domain = domain.clone();
        program.exprs[id].0 = Expr::Quantified {
            quantifier,
            var,
            domain,
            body,
        };
    }
    Interpreter::new(program, Limits::default())
}

#[test]
fn quantifiers_that_stop_early_must_not_fail_unless_that_decides_them() {
    let order = |model: &str| {
        let text = format!("{DECLARATIONS}{model}");
        Order::of(&stopping_early(&interpreter(&text)))
    };
    let proves = |model: &str| {
        let order = order(model);
        assert!(order.checks.loops.is_empty(), "{model}: {:?}", order.doubts);
        assert!(!order.proved.is_empty() && order.rejections.is_empty());
    };
    let doubts = |model: &str| {
        let order = order(model);
        let mut notes = order.doubts.iter().flatten();
        assert!(notes.any(|note| note.text.contains("may fail")), "{model}");
    };
    doubts("rule exists p: Proc do flag[next[p]] end ==> any := true; end;");
    doubts("rule forall p: Proc do flag[next[p]] end ==> any := true; end;");
    proves(
        "rule exists p: Proc do !isundefined(next[p]) & flag[next[p]] end ==> any := true; end;",
    );
    proves("invariant forall p: Proc do flag[next[p]] end;");
    proves("invariant !exists p: Proc do flag[next[p]] end;");
    proves("invariant any -> forall p: Proc do flag[next[p]] end;");
    doubts("invariant exists p: Proc do flag[next[p]] end;");
    doubts("invariant forall p: Proc do flag[next[p]] end -> any;");
    doubts("assume forall p: Proc do flag[next[p]] end;");
    proves("rule for p: Proc do assert forall q: Proc do flag[next[q]] end; end; end;");
    // The rules never undefine `age`, and all startstates set it.
    proves("rule exists p: Proc do age[p] = 1 end ==> any := true; end;");
    doubts(
        "rule exists p: Proc do age[p] = 1 end ==> any := true; end;
         ruleset p: Proc do rule undefine age[p]; end; end;",
    );
}

#[test]
fn quantifiers_of_murphi_evaluate_every_operand() {
    proves(
        1,
        "rule exists p: Proc do flag[next[p]] end ==> any := true; end;",
    );
    proves(1, "assume forall p: Proc do flag[next[p]] end;");
    doubts(
        "`n`",
        "function next_n(): 0..20; begin n := (n + 1) % 3; return n; end;
         rule any := exists p: Proc do age[p] = next_n() end; end;",
    );
}

#[test]
fn multisets_take_elements_in_any_order() {
    let send = "procedure send(dest: Node; src: Proc); var x: Message;
                begin x.dest := dest; x.src := src; x.n := 0; multisetadd(x, net); end;";
    proves(
        1,
        &format!("{send} rule for p: Proc do send(p, p); end; end;"),
    );
    proves(
        1,
        "rule for p: Proc do multisetadd(age[p], plain); end; end;",
    );
    proves(1, "rule multisetremovepred(k: net, net[k].n = 0); end;");
    proves(
        1,
        "rule multisetcount(k: net, net[k].n = 0) < 2 ==> n := 0; end;",
    );
    doubts(
        "`net",
        &format!(
            "{send} rule for p: Proc do if multisetcount(k: net, true) < 2 then send(p, p); end; end; end;"
        ),
    );
    proves(
        1,
        &format!(
            "{send} choose k: net do rule for p: Proc do send(p, net[k].src); end; multisetremove(k, net); end; end;"
        ),
    );
    // The first removal makes room for an insertion of another pass.
    refuses(
        "was freed",
        &format!(
            "{send} choose k: net do rule for p: Proc do if flag[p] then multisetremove(k, net); else send(p, p); end; end; end; end;"
        ),
    );
}

#[test]
fn slots_are_used_on_their_own_multiset_while_they_hold_their_element() {
    proves(
        0,
        "ruleset p: Proc do choose k: nets[p] do rule n := nets[p][k].n; multisetremove(k, nets[p]); end; end; end;",
    );
    refuses(
        "on another multiset",
        "ruleset p: Proc; q: Proc do choose k: nets[p] do rule n := nets[q][k].n; end; end; end;",
    );
    // A parameter is a reference: nobody changes what it refers to here, and someone does there.
    proves(
        1,
        "procedure count(dst: Proc); begin n := multisetcount(k: nets[dst], nets[dst][k].n = 1); end;
         rule count(owner); end;",
    );
    refuses(
        "on another multiset",
        "function move(var dst: Proc; p: Proc): boolean; begin dst := p; return true; end;
         procedure drop(var dst: Proc; p: Proc);
         begin multisetremovepred(k: nets[dst], move(dst, p) & nets[dst][k].n = 1); end;
         ruleset p: Proc do rule drop(owner, p); end; end;",
    );
    refuses(
        "was freed",
        "choose k: net do choose l: net do rule
           var x: Message;
         begin x := net[k]; multisetremove(k, net); multisetremove(l, net); multisetadd(x, net); n := net[l].n; end; end; end;",
    );
    proves(
        0,
        "choose k: net do rule
           var x: Message;
         begin x := net[k]; multisetadd(x, net); n := net[k].n; multisetremove(k, net); end; end;",
    );
    refuses(
        "runs over",
        "function add(): boolean; var x: Message; begin x.n := 0; multisetadd(x, net); return true; end;
         rule multisetremovepred(k: net, net[k].n = 1 & add()); end;",
    );
}

#[test]
fn many_passes_with_effects_are_refused() {
    let declarations = "type P: scalarset(11); var last: P; a: array [P] of boolean;
                        startstate for p: P do a[p] := false; end; end;";
    let order = |model: &str| Order::of(&interpreter(&format!("{declarations}{model}")));
    let refused = order("rule for p: P do last := p; end; end;");
    assert!(refused.rejections[0].message.contains("at most 10"));
    assert_eq!(refused.rejections[0].notes.len(), 1);
    // Without effects passes are checked one by one.
    let checked = order(
        "function some(): boolean; begin for p: P do if a[last] & a[p] then return true; end; end; return false; end;
         rule some() ==> a[last] := true; end;",
    );
    assert!(checked.rejections.is_empty());
    assert_eq!(checked.checks.loops.len(), 1);
}

#[test]
fn startstates_may_do_what_they_like() {
    let text = "type P: scalarset(3); var last: P; a: array [P] of boolean;
                startstate for p: P do a[p] := false; last := p; end; end;
                rule last := last; end;";
    let order = Order::of(&interpreter(text));
    assert!(order.checks.loops.is_empty() && order.rejections.is_empty());
}

#[test]
fn expressions_are_the_same_in_all_states_of_an_orbit_or_not() {
    let model = "
        function count(): 0..3; var k: 0..3; begin k := 0;
          for p: Proc do if flag[p] then k := k + 1; end; end; return k; end;
        function first(): 0..3; begin for p: Proc do if flag[p] then return age[p]; end; end; return 0; end;
        function who(): Proc; begin return owner; end;
        type Flags: array [Proc] of boolean;
        function all(f: Flags): boolean; begin return forall p: Proc do f[p] end; end;
        rule any := true; end;
        invariant forall p: Proc do !flag[p] end;
        ruleset p: Proc do cover flag[p]; end;";
    let interpreter = interpreter(&format!("{DECLARATIONS}{model}"));
    let of = |item| Order::of_expression(&interpreter, item);
    let function = |number| of(Item::Function(FunctionId::new(number)));
    assert!(function(0).is_ok());
    assert!(function(1).is_err());
    assert!(function(2).is_err());
    // It is about the elements of its parameter.
    assert!(function(3).is_err());
    assert!(of(Item::Property(0)).is_ok());
    assert!(of(Item::Property(1)).is_err());
}
