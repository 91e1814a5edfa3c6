//! How operators bind.

use expect_test::{Expect, expect};
use hadal_murphi::Dialect;
use hadal_murphi::ast::{Decl, Item};

use crate::{parse_in, print};

/// Checks the parenthesised form of an expression, and the messages about it.
fn check(text: &str, expected: Expect) {
    let (_, parsed) = parse_in(&format!("const c: {text};"), Dialect::Hadal);
    let mut out = match &parsed.model.items[..] {
        [Item::Decl(Decl::Const(decl))] => print::expr(&decl.value),
        items => format!("{items:?}"),
    };
    for diagnostic in &parsed.diagnostics {
        out += &format!("\n{}", diagnostic.message);
        if let Some(help) = &diagnostic.help {
            out += &format!("; {help}");
        }
    }
    expected.assert_eq(&out);
}

#[test]
fn not_is_looser_than_comparison() {
    check("!x = y", expect!["(!(x = y))"]);
    check("!x = y & z", expect!["((!(x = y)) & z)"]);
    check("a = !b = c", expect!["(a = (!(b = c)))"]);
    check("a = !b & c", expect!["((a = (!b)) & c)"]);
    check("!!a", expect!["(!(!a))"]);
    check("!a + b < c | d", expect!["((!((a + b) < c)) | d)"]);
}

#[test]
fn minus_binds_like_times() {
    check("-a % b", expect!["((-a) % b)"]);
    check("-a + b", expect!["((-a) + b)"]);
    check("a - -b", expect!["(a - (-b))"]);
    check("a * -b * c", expect!["(a * (-b) * c)"]);
    check("- ~a << 2", expect!["((-(~a)) << 2)"]);
    check("+a - b", expect!["((+a) - b)"]);
}

#[test]
fn levels_from_loose_to_tight() {
    check(
        "a -> b || c && d | e ^ f & g = h << i + j * k",
        expect!["(a -> (b || (c && (d | (e ^ (f & (g = (h << (i + (j * k))))))))))"],
    );
    check(
        "a * b + c << d = e & f ^ g | h && i || j -> k",
        expect!["((((((((((a * b) + c) << d) = e) & f) ^ g) | h) && i) || j) -> k)"],
    );
    check("a | b & c | d", expect!["(a | (b & c) | d)"]);
    check("x & y = 3", expect!["(x & (y = 3))"]);
    check("a || b & c", expect!["(a || (b & c))"]);
}

#[test]
fn left_associative_operators_make_one_chain() {
    check("a - b - c + d", expect!["(a - b - c + d)"]);
    check("a / b * c % d", expect!["(a / b * c % d)"]);
    check("a & b & c", expect!["(a & b & c)"]);
    check("(a & b) & (c & d)", expect!["((a & b) & (c & d))"]);
    check("a << b >> c", expect!["(a << b >> c)"]);
}

#[test]
fn comparisons_do_not_chain() {
    check(
        "a = b = c",
        expect![[r#"
            <error>
            comparison operators cannot be chained; compare two at a time and join them with `&`, or use parentheses"#]],
    );
    check(
        "a < b <= c & d",
        expect![[r#"
            (<error> & d)
            comparison operators cannot be chained; compare two at a time and join them with `&`, or use parentheses"#]],
    );
    check("(a = b) = c", expect!["((a = b) = c)"]);
}

#[test]
fn implications_do_not_chain() {
    check(
        "a -> b -> c",
        expect![[r#"
            <error>
            `->` cannot be chained; use parentheses to say which implication comes first"#]],
    );
    check("a -> (b -> c)", expect!["(a -> (b -> c))"]);
}

#[test]
fn conditionals_do_not_chain() {
    check("a ? b : c", expect!["(a ? b : c)"]);
    check(
        "a -> b ? c -> d : e -> f",
        expect!["((a -> b) ? (c -> d) : (e -> f))"],
    );
    check(
        "a ? b : c ? d : e",
        expect![[r#"
            <error>
            `? :` cannot be chained; put the inner one in parentheses"#]],
    );
    check("a ? b : (c ? d : e)", expect!["(a ? b : (c ? d : e))"]);
    check("a ? b ? c : d : e", expect!["(a ? (b ? c : d) : e)"]);
}

#[test]
fn other_spellings_mean_the_same() {
    check("¬a ∧ b ∨ c → d", expect!["((((!a) && b) || c) -> d)"]);
    check(
        "a ≤ b && c ≥ d && e ≠ f && g == h",
        expect!["((a <= b) && (c >= d) && (e != f) && (g = h))"],
    );
    check("a × b ÷ c − d ∕ e", expect!["((a * b / c) - (d / e))"]);
    check(
        "∀ i: t do ∃ j := 0 to 3 by 2 do p(i, j) end end",
        expect!["forall i: t do exists j := 0 to 3 by 2 do p(i, j) end end"],
    );
}

#[test]
fn primaries() {
    check("a.b[i + 1].c[j][k]", expect!["a.b[(i + 1)].c[j][k]"]);
    check("f(a, b,)", expect!["f(a, b)"]);
    check(
        "isundefined(a.b) & ismember(p, enum { x })",
        expect!["(isundefined(a.b) & ismember(p, enum { x }))"],
    );
    check(
        "MultisetCount(i: net, net[i].dst = n) > 0",
        expect!["(multisetcount(i: net, (net[i].dst = n)) > 0)"],
    );
    check(
        "FORALL i: 0..3; j: t : TRUE Endforall",
        expect!["forall i: 0 .. 3; j: t do true end"],
    );
    check(
        "f(x).y",
        expect![[r#"
        f(x)
        a part of a function's result cannot be taken; store the result in a local variable first"#]],
    );
}

#[test]
fn numbers() {
    check(
        "0x1f + 9223372036854775807",
        expect!["(31 + 9223372036854775807)"],
    );
    check(
        "-9223372036854775808",
        expect![[r#"
        (-0)
        this number is too large"#]],
    );
    check(
        "9223372036854775808",
        expect![[r#"
        0
        this number is too large"#]],
    );
    check(
        "0xffffffffffffffff",
        expect![[r#"
        0
        this number is too large"#]],
    );
    check(
        "010",
        expect![[r#"
        10
        this number is decimal in spite of its leading zero; drop the leading zero"#]],
    );
    check(
        "1.5 + 2",
        expect![[r#"
        (1.5 + 2)
        numbers of type `real` are not supported; scale the quantity and use an integer subrange"#]],
    );
}
