//! Whatever the file holds, the parser returns, soon, and within its stack.

use std::time::Instant;

use expect_test::expect;
use hadal_murphi::{Dialect, fuzz_parse};
use hadal_syntax::Renderer;
use hadal_testkit::fuzz;

use crate::{parse_in, print};

/// Small models to be broken, which together hold most of the grammar.
const MODELS: &[&str] = &[
    r#"const N: 3; type pid: scalarset(N); st: enum { idle, busy };
       var p: array [pid] of record s: st; n: 0..N end; net: multiset [N] of pid;
       procedure go(var x: st; y: pid); var z: pid; begin x := busy; z := y; multisetadd(z, net) end;
       ruleset i: pid; j := 0 to 3 do alias q: p[i] do
         rule 10 "go" q.s = idle & !isundefined(q.n) -> (true ? q.n < j : false) ==>
         begin go(q.s, i); if q.n = 1 then return elsif q.n = 2 then clear q.n else put "x" end; end;
       end endruleset;
       choose m: net do rule true ==> multisetremove(m, net) end end;
       startstate for i: pid do p[i].s := idle; undefine p[i].n endfor; end;
       invariant "one" forall a: pid; b: pid do a != b -> !(p[a].s = busy & p[b].s = busy) end;"#,
    "var x: -1..0x10; function f(a: 0..3): boolean; begin while a > 0 do a := a - 1; end;
       switch a case 1, 2: return true; case 3: error \"no\" else assert a = 0 \"z\"; end; return false
     end; rule f(x) || x << 2 ^ ~x & 1 == 0 && true ==> x := x % 2 / 1 * 3; end;
     cover \"c\" x = 1; assume x < 9 liveness exists i := 0 to 3 by 2 do x = i end",
];

const PIECES: &[&str] = &[
    "alias",
    "array",
    "assert",
    "begin",
    "boolean",
    "by",
    "case",
    "clear",
    "const",
    "do",
    "else",
    "elsif",
    "end",
    "endif",
    "enum",
    "error",
    "exists",
    "for",
    "forall",
    "function",
    "if",
    "invariant",
    "ismember",
    "isundefined",
    "of",
    "procedure",
    "put",
    "record",
    "return",
    "rule",
    "ruleset",
    "scalarset",
    "startstate",
    "switch",
    "then",
    "to",
    "type",
    "undefine",
    "union",
    "var",
    "while",
    "choose",
    "endchoose",
    "multiset",
    "multisetcount",
    "cover",
    "undefined",
    "pctl",
    "externfun",
    "real",
    "x",
    "y",
    "i",
    "1",
    "0",
    "010",
    "2.5",
    "\"s\"",
    "+",
    "-",
    "*",
    "/",
    "%",
    "!",
    "~",
    "&",
    "|",
    "^",
    "->",
    "==>",
    "=",
    "==",
    "!=",
    "<",
    "<=",
    ">>",
    "?",
    ":",
    ":=",
    ".",
    "..",
    ",",
    ";",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "#",
    "\"",
    "/*",
    "*/",
    "--",
    "\n",
    "é",
    "∀",
    "“",
    "_",
];

#[test]
fn random_bytes() {
    fuzz::with_seeds(500, |rng| fuzz_parse(&fuzz::random_bytes(rng)));
}

#[test]
fn random_pieces() {
    fuzz::with_seeds(2000, |rng| {
        let text = fuzz::random_pieces(rng, PIECES);
        fuzz_parse(text.as_bytes());
        check_consistency(&text);
    });
}

#[test]
fn mutated_models() {
    fuzz::with_seeds(2000, |rng| {
        let bytes = fuzz::mutated(rng, MODELS, PIECES);
        fuzz_parse(&bytes);
        check_consistency(&String::from_utf8_lossy(&bytes));
    });
}

/// What could not be parsed was reported, and what was parsed is the same when it is printed and
/// parsed again.
fn check_consistency(text: &str) {
    let (_, parsed) = parse_in(text, Dialect::Hadal);
    let printed = print::model(&parsed.model);
    if parsed.has_errors() {
        return;
    }
    assert!(!printed.contains("<error>"), "{text}");
    let (_, again) = parse_in(&printed, Dialect::Hadal);
    assert!(!again.has_errors(), "{text}\n{printed}");
    assert_eq!(print::model(&again.model), printed, "{text}");
}

/// The words, strings and symbols of a text.
fn split(text: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut pieces = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let len = match first {
            '"' => rest[1..].find('"').map_or(rest.len(), |at| at + 2),
            c if is_word(c) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            '(' | ')' | '[' | ']' | '{' | '}' | ';' | ',' => 1,
            _ => {
                let belongs = |c: char| ":=.<>-&|".contains(c);
                rest[1..]
                    .find(|c| !belongs(c))
                    .map_or(rest.len(), |at| at + 1)
            }
        };
        let (piece, after) = rest.split_at(len);
        pieces.push(piece);
        rest = after.trim_start();
    }
    pieces
}

/// Removing one token is one error, and must not cause an avalanche.
#[test]
fn one_missing_token_gives_few_messages() {
    let mut bad = String::new();
    for model in MODELS {
        let words = split(model);
        for missing in 0..words.len() {
            let mut words = words.clone();
            let gone = words.remove(missing);
            let from = missing.saturating_sub(5);
            let (_, parsed) = parse_in(&words.join(" "), Dialect::Hadal);
            if parsed.diagnostics.len() > 2 {
                let before = words[from..missing].join(" ");
                bad += &format!("without `{gone}` after `{before}`:\n");
                for diagnostic in &parsed.diagnostics {
                    bad += &format!("    {}\n", diagnostic.message);
                }
            }
        }
    }
    expect![[r#"
        without `end` after `/ 1 * 3 ;`:
            expected `;` between two statements
            `liveness` is not a statement
            expected `end` of this `rule`, found the end of the file
    "#]]
    .assert_eq(&bad);
}

#[test]
fn whole_models_say_the_same_when_printed() {
    for model in MODELS {
        let (_, parsed) = parse_in(model, Dialect::Hadal);
        assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
        let printed = print::model(&parsed.model);
        let (_, again) = parse_in(&printed, Dialect::Hadal);
        assert_eq!(print::model(&again.model), printed);
    }
}

#[test]
fn deep_nesting_of_everything() {
    let n = 200_000;
    let nested = [
        ("const a: ", "(", "1", ")"),
        ("const a: ", "!", "x", ""),
        ("const a: ", "- ", "x", ""),
        ("const a: ", "x[", "1", "]"),
        ("const a: ", "f(", "1", ")"),
        ("const a: ", "a ? ", "1", " : 2"),
        ("const a: ", "1 ? 2 : ", "1", ""),
        ("const a: ", "a -> (", "1", ")"),
        ("const a: ", "(1 + 2 * 3 << 4 & 5 | (", "1", "))"),
        ("const a: ", "forall i: 0..1 do ", "x", " end"),
        ("const a: ", "exists i: (", "x", ") .. 2 do y end"),
        ("type t: ", "record a: ", "0..1", "; end"),
        ("type t: ", "array [0..1] of ", "0..1", ""),
        ("type t: ", "array [", "0..1", "] of 0..1"),
        ("type t: ", "union { ", "a", ", b }"),
        ("rule ", "if x then ", "y := 1", " end"),
        ("rule ", "for i: t do ", "y := 1", " end"),
        ("rule ", "switch x case 1: ", "y := 1", " end"),
        ("", "ruleset i: t do ", "rule end", " end"),
        ("", "alias a: b do ", "rule end", " end"),
    ];
    for (head, open, core, close) in nested {
        for closed in [close.repeat(n), String::new()] {
            let text = format!("{head}{}{core}{closed}", open.repeat(n));
            let (_, parsed) = parse_in(&text, Dialect::Hadal);
            let n_errors = parsed.diagnostics.len();
            assert!(parsed.has_errors(), "{head}{open}");
            assert!(n_errors <= 2, "{head}{open}: {n_errors} errors");
        }
    }
}

#[test]
fn long_chains_are_not_deep() {
    let n = 20_000;
    let chain = |op: &str| format!("invariant {}", vec!["x"; n].join(op));
    let texts = [
        chain(" | "),
        chain(" & "),
        chain(" + x - "),
        chain(" * x / "),
        format!(
            "rule if a then {} end end",
            "elsif b then c := 1; ".repeat(n)
        ),
        format!("rule switch a {} end end", "case 1: b := 1; ".repeat(n)),
        format!("rule {} end", "x := 1; ".repeat(n)),
        format!("rule x{} := 1 end", ".y[1]".repeat(n)),
        format!("type t: enum {{ {} }}", "a, ".repeat(n)),
        format!("rule f({}) end", "a, ".repeat(n)),
        "rule end; ".repeat(n),
        "var x: 0..1; ".repeat(n),
        format!("ruleset {} i: t do rule end end", "i: t; ".repeat(n)),
    ];
    for text in texts {
        let (_, parsed) = parse_in(&text, Dialect::Hadal);
        assert!(!parsed.has_errors(), "{:?}", parsed.diagnostics.first());
        drop(parsed.model.clone());
    }
}

/// The stack that the deepest tree takes is a small part of what a thread has.
#[test]
fn the_deepest_tree_fits_a_small_stack() {
    let run = || {
        for (open, close) in [
            ("f(a[!-", "])"),
            ("(1 + 2 * 3 << 4 & ", ")"),
            ("forall i: t do ", " end"),
        ] {
            let text = format!("invariant {}x{}", open.repeat(5000), close.repeat(5000));
            let (_, parsed) = parse_in(&text, Dialect::Hadal);
            assert!(parsed.has_errors());
            assert_eq!(parsed.model.clone(), parsed.model);
        }
    };
    let thread = std::thread::Builder::new().stack_size(1 << 20);
    thread.spawn(run).unwrap().join().unwrap();
}

/// Takes some gigabytes of memory, and is run by hand.
#[test]
#[ignore = "takes gigabytes of memory"]
fn a_hundred_megabytes() {
    let n = 100_000_000;
    let texts = [
        ("one comment", format!("/*{}*/", " ".repeat(n))),
        ("parentheses", "(".repeat(n)),
        ("control characters", "\u{1}".repeat(n)),
        ("scattered control characters", "\u{1} ".repeat(n / 2)),
        ("one name", "x".repeat(n)),
        ("one number", format!("const a: {}", "9".repeat(n))),
        ("one string", format!("rule \"{}", "9".repeat(n))),
        (
            "one chain",
            format!("invariant {}", vec!["x"; n / 10].join("|")),
        ),
        (
            "assignments on one line",
            format!("rule {} # end", "x := 1; ".repeat(n / 80)),
        ),
        ("mistakes", "rule x := ; end;\n".repeat(n / 17)),
    ];
    for (what, text) in texts {
        let started = Instant::now();
        let (source, parsed) = parse_in(&text, Dialect::Hadal);
        let shown = Renderer::plain().render_all(&source, &parsed.diagnostics);
        assert!(shown.len() < 100_000, "{what}");
        let seconds = started.elapsed().as_secs_f64();
        eprintln!("{what}: {seconds:.2} s, {} bytes shown", shown.len());
        assert!(seconds < 30.0, "{what}");
    }
}

/// Time grows with the size of the file and no faster, whatever the file is made of.
#[test]
fn no_piece_takes_more_than_linear_time() {
    let n = 200_000;
    for piece in PIECES
        .iter()
        .copied()
        .chain(["rule x ", "x := ", "if x then ", "\u{1}", "\\"])
    {
        let text = format!("{piece} ").repeat(n);
        let started = Instant::now();
        fuzz_parse(text.as_bytes());
        let seconds = started.elapsed().as_secs_f64();
        assert!(seconds < 20.0, "{piece}: {seconds} s");
    }
}
