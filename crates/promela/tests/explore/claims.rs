//! Small products, with what SPIN 6.5.2 reports about them, and formulas as claims.

use hadal_promela::{Asked, Options, asked, compile};
use hadal_syntax::Source;

use crate::explorer::{Error, Explorer};
use crate::product::Product;

/// Compiles a model and returns its first claim, with the counts of the product: states, edges and
/// whether the claim is violated.
fn product(text: &str, product: Product) -> (u64, u64, bool) {
    let source = Source::new("test.pml", text).unwrap();
    let compiled = compile(source, &Options::default(), &mut |_| None);
    let program = compiled.program.as_ref().expect("a correct model");
    let asked = asked(program);
    let claim = asked[0].claim.as_ref().expect("a claim to search with");
    let counts = Explorer::new(program).explore_product(claim, product, 1 << 16);
    let is_violated = counts.errors.contains(&Error::Claim);
    (counts.states, counts.edges, is_violated)
}

fn first(text: &str) -> Asked {
    let source = Source::new("test.pml", text).unwrap();
    let compiled = compile(source, &Options::default(), &mut |_| None);
    let program = compiled.program.as_ref().expect("a correct model");
    asked(program).remove(0)
}

const COUNT: &str = "byte x; active proctype P() { x=1; x=2; x=3; x=4 }";

#[test]
fn products_have_the_counts_of_spin() {
    let rendezvous = "chan c = [0] of { byte };
        active proctype P() { c!1; c!2 } active proctype Q() { byte y; c?y; c?y }";
    let atomic = "byte x; active proctype P() { atomic { x=1; x=2; x=3 } x=4 }";
    let deadlock = "byte x; active proctype P() { x=1; (x==5) }";
    let rows = [
        (COUNT, "do :: x != 3 :: x == 3 -> break od", (5, 4, true)),
        (COUNT, "do :: true od", (6, 6, false)),
        (COUNT, "do :: true :: true -> (x > 9) od", (11, 12, false)),
        (COUNT, "do :: true :: x == 2 -> break od", (7, 7, true)),
        (
            COUNT,
            "do :: (x == 2) -> true; true :: else od",
            (6, 6, false),
        ),
        (COUNT, "x == 7", (1, 0, false)),
        (COUNT, "skip", (2, 1, true)),
        (COUNT, "1;1;1;1;1;1;1; do :: 1 od", (7, 7, false)),
        (COUNT, "1;1;1;1;1;1;1;1", (9, 8, true)),
        (atomic, "do :: x != 2 :: x == 2 -> break od", (4, 4, false)),
        (deadlock, "do :: true od", (2, 2, false)),
        (rendezvous, "1;1;1;1;1;1;1;1; do :: 1 od", (8, 8, false)),
    ];
    for (program, claim, expected) in rows {
        let text = format!("{program} never {{ {claim} }}");
        assert_eq!(product(&text, Product::AsPan), expected, "{text}");
        let (.., is_violated) = product(&text, Product::Plain);
        assert_eq!(is_violated, expected.2, "{text}");
    }
}

#[test]
fn a_formula_is_violated_by_a_finite_run_or_not_at_all() {
    let rows = [
        ("[] (x < 4)", true),
        ("[] (x < 5)", false),
        ("x == 0", false),
        ("x == 1", true),
        ("X (x == 1)", false),
        ("X X (x == 1)", true),
        // The last state lasts for ever.
        ("X X X X X X X (x == 4)", false),
        ("[] (x == 3 -> X (x == 4))", false),
        ("[] (x == 3 -> X (x == 3))", true),
        ("(x < 3) W (x == 3)", false),
        ("(x < 2) W (x == 3)", true),
        ("(x < 9) W false", false),
        ("(x == 3) V (x < 4)", false),
        ("(x == 4) V (x < 4)", true),
        ("!(<> (x == 2))", true),
        ("!(<> (x == 9))", false),
        ("!((x < 3) U (x == 3))", true),
        ("!(true U (x == 9))", false),
        ("([] (x < 3)) || ([] (x < 9))", false),
        ("([] (x < 3)) || (x == 1)", true),
        ("[] ((x < 9) <-> true)", false),
        ("false", true),
        ("true", false),
    ];
    for (formula, expected) in rows {
        let text = format!("{COUNT} ltl {{ {formula} }}");
        let (.., is_violated) = product(&text, Product::Plain);
        assert_eq!(is_violated, expected, "{formula}");
    }
}

#[test]
fn what_is_not_decided_is_said() {
    let why = |text: &str| {
        let asked = first(&format!("{COUNT} {text}"));
        let problem = asked.claim.err();
        problem.or(asked.left_open).unwrap_or_default()
    };
    assert_eq!(why("ltl { [] (x < 5) }"), "");
    assert_eq!(
        why("ltl { <> (x == 4) }"),
        "it is not a safety property: it says that something happens at some time"
    );
    assert_eq!(
        why("never { accept: do :: true od }"),
        "what its acceptance labels ask for is not checked"
    );
    // No run passes the label twice.
    assert_eq!(
        why("never { T0: do :: x == 9 -> goto accept_all :: true od; accept_all: skip }"),
        ""
    );
    assert_eq!(why("never { do :: timeout od }"), "it mentions `timeout`");
    assert_eq!(why("never { end: do :: true od }"), "it begins at its end");
    // Choices in a tree that is wide but not high.
    let mut level: Vec<String> = (0..3000)
        .map(|n| format!("(X (x != {n}) || X X (x != {n}))"))
        .collect();
    while level.len() > 1 {
        let pairs = level.chunks(2);
        level = pairs.map(|it| format!("({})", it.join(" || "))).collect();
    }
    assert_eq!(
        why(&format!("ltl {{ !{} }}", level[0])),
        "its automaton would be too large"
    );
    let wide: Vec<String> = (0..12).map(|n| format!("([] (x != {n}))")).collect();
    assert_eq!(
        why(&format!("ltl {{ {} }}", wide.join(" || "))),
        "its automaton would be too large"
    );
}

#[test]
fn the_first_claim_is_that_of_spin() {
    let source = Source::new(
        "test.pml",
        "ltl b { true } never { skip } ltl { true } never a { skip } ltl { false } init { skip }",
    );
    let compiled = compile(source.unwrap(), &Options::default(), &mut |_| None);
    let asked = asked(compiled.program.as_ref().expect("a correct model"));
    let names: Vec<&str> = asked.iter().map(|it| &*it.name).collect();
    assert_eq!(names, ["never_0", "a", "b", "ltl_0", "ltl_1"]);
}
