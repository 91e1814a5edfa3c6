//! Numbers as rumur has them: how wide, whether signed, and what is checked. Verdicts and counts
//! were observed with rumur 2022.08.20, but for calls in constants, which that version rejects.

use super::behaviour::verdict;
use hadal_murphi::Dialect;

/// Checks the verdict on a model whose `x`, in 0..10, begins at 3.
#[track_caller]
fn check(declarations: &str, body: &str, expected: &str) {
    let text = format!(
        "{declarations} var x: 0..10; startstate x := 3; end;
rule begin {body} end;"
    );
    assert_eq!(verdict(&text, Dialect::Rumur), expected, "{text}");
}

const STAYS: &str = "1 states, 1 firings";
const MOVES: &str = "2 states, 2 firings";
/// Overflows in a model without negative numbers.
const SUBTRACTS: &str = "if x - 5 < 0 then x := 1; end;";

#[test]
fn subtraction_below_zero_overflows_without_negative_numbers() {
    check("", SUBTRACTS, "overflow at 2:17");
    check("", "x := (x - 5) + 6;", "overflow at 2:20");
    check("var y: 0..300;", SUBTRACTS, "overflow at 2:17");
    check("var y: -1..3;", SUBTRACTS, MOVES);
    check("var y: (2 - 4)..3;", SUBTRACTS, MOVES);
}

#[test]
fn a_negative_literal_makes_numbers_signed() {
    check("const n: -3;", SUBTRACTS, MOVES);
    check("const n: 3 + -1;", SUBTRACTS, MOVES);
    let body = format!("if x = -1 then x := 2; end; {SUBTRACTS}");
    check("", &body, MOVES);
    // What is computed is none.
    for constant in ["2 - 4", "-n", "-(1 + 2)", "~1", "200 * 2"] {
        let text = format!("const n: 3; m: {constant};");
        check(&text, SUBTRACTS, "overflow at 2:17");
    }
}

#[test]
fn unary_minus_wraps_round_in_unsigned_numbers() {
    check("", "x := -(-x);", STAYS);
    check("", "x := -x + 5;", "overflow at 2:20");
    check("", "x := 5 + -x;", "overflow at 2:19");
    check("", "if -x < 0 then x := 1; else x := 2; end;", MOVES);
    check("", "if -x < 0 then error \"less\"; end;", STAYS);
    // 253 % 10
    check("", "x := (-x) % 10;", STAYS);
    check(
        "var y: 0..300;",
        "if -x < 0 then error \"less\"; end;",
        STAYS,
    );
    check("var y: 0..300;", "x := -x + 3;", "overflow at 2:20");
    check("var y: 0..300;", "x := -x + 2 - -x;", "overflow at 2:20");
    check("const n: 3;", "if -n < 0 then error \"less\"; end;", STAYS);
    check("", "x := -(2 + 3) + 10;", "overflow at 2:26");
    check(
        "var y: -1..3;",
        "if -x < 0 then x := 1; else x := 2; end;",
        MOVES,
    );
    check("var y: -1..3;", "x := -x + 6;", STAYS);
}

#[test]
fn constants_in_rules_are_computed_when_they_run() {
    check("", "x := 5 + (2 - 4);", "overflow at 2:24");
    check("", "if x = 2 - 4 then x := 2; end;", "overflow at 2:21");
    check("", "if x < 250 + 10 then x := 2; end;", "overflow at 2:23");
    check("", "if 2 - 4 < 0 then x := 1; end;", "overflow at 2:17");
    check("", "switch x case 2 - 4: x := 1; end;", "overflow at 2:28");
    check("", "if false then x := 2 - 4; end;", STAYS);
    check("const n: 4;", "x := 3 + (2 - n) + n;", "overflow at 2:24");
    check("const n: 1 - 1 * 2 + 2;", "x := n;", MOVES);
    check(
        "const n: 250 + 10;",
        "if x * 100 < 400 then x := 2; end;",
        MOVES,
    );
    let signed = "if 100 + 100 < 0 then x := 1; end; if x = -1 then x := 0; end;";
    check("", signed, "overflow at 2:19");
    // A negative constant is a large number.
    check("const n: 0 - 4;", "x := 3 + n;", "range at 2:12");
    check("const n: 2 - 4;", "x := 10 + n;", "overflow at 2:20");
    let body = "if n < 0 then x := 1; end; if x > n then x := 2; end;";
    check("const n: 2 - 4;", body, STAYS);
}

#[test]
fn computed_bounds_make_numbers_wide() {
    for loops in [
        "for i := 0 to x do x := 3; end;",
        "for i := x to 4 do x := 3; end;",
        "for i := x to 0 do x := 3; end;",
        "for i := 1 to 2 do for j := 0 to i do x := 3; end; end;",
        "if forall i := 0 to x do i < 11 end then x := 3; end;",
        "for i := 2 - 4 to 3 do x := 3; end;",
    ] {
        check("", &format!("{loops} {SUBTRACTS}"), MOVES);
    }
    let wide = "for i := x to 200 do x := 3; end; if x * 100 * 100 < 30 then x := 1; end;";
    check("", wide, STAYS);
    check("", "for i := x - 5 to 3 do x := 3; end;", STAYS);
    check("", "for i := 0 to x * 100 do x := 3; end;", STAYS);
    for loops in [
        "for i := 0 to 4 by x do x := 3; end;",
        "for i := 0 to 1 + 1 do x := 3; end;",
        "for i := 0 to n do x := 3; end;",
    ] {
        let body = format!("{loops} {SUBTRACTS}");
        let at = 12 + loops.len() + 1 + "if x ".len();
        check("const n: 2;", &body, &format!("overflow at 2:{at}"));
    }
}

#[test]
fn results_of_functions_are_not_checked() {
    let f = "function f(a: 0..10): 0..3; begin return a + 6; end;
             function nine(): 0..3; begin return 9; end;
             function g(a: 0..3): 0..10; begin return a; end;";
    let check = |body: &str, expected: &str| {
        let text = format!(
            "var x: 0..10; y: 0..3; startstate x := 3; y := 0; end; {f}
rule x = 3 ==> begin {body} end;"
        );
        assert_eq!(verdict(&text, Dialect::Rumur), expected, "{text}");
    };
    check("x := f(x);", "2 states, 1 firings");
    check("x := nine();", "2 states, 1 firings");
    check("alias a: f(x) do x := a; end;", "2 states, 1 firings");
    check("y := f(x);", "range at 4:22");
    check("x := g(f(x));", "range at 4:27");
}

#[test]
fn calls_can_be_multiplied_away_in_constants() {
    let text = |constant: &str| {
        format!(
            "function f(): 0..3; begin return 2; end; const n: {constant};
             var x: 0..(f() * 0 + 10); startstate x := 3 + n; end; rule x := 3 + n; end;"
        )
    };
    for constant in ["0 * f()", "f() * 0", "(f() + 1) * (1 - 1)", "2 * f() * 0"] {
        assert_eq!(
            verdict(&text(constant), Dialect::Rumur),
            STAYS,
            "{constant}"
        );
    }
}

/// Records of equal shape are one type, whatever their names.
#[test]
fn records_of_equal_shape_can_be_assigned() {
    let text =
        "type index: 0..1; place: 0..1; pair: record a: 0..3; b: array [index] of boolean; end;
         span: record a: 0..3; b: array [place] of boolean; end;
         var ends: pair; q: array [index] of span; startstate clear ends; clear q; end;
         function first(s: span): pair; begin return s; end;
         procedure set(var s: span); begin s.a := 1; end;
         ruleset i: place do rule ends := q[i]; end; end;
         rule ends.a = 0 ==> ends := first(ends); set(ends); end;
         invariant ends = q[0] | ends.a = 1;";
    assert_eq!(verdict(text, Dialect::Rumur), "2 states, 5 firings");
}
