//! Whatever the file holds, the front-end returns, soon, and within its stack.

use std::time::Instant;

use hadal_promela::{Options, compile, fuzz_compile, print};
use hadal_syntax::Source;
use hadal_testkit::fuzz;

use crate::{parse_text, rendered};

/// Small models to be broken, which together hold most of the grammar.
const MODELS: &[&str] = &[
    r#"#define N 3
#define MAX(a, b) ((a) > (b) -> (a) : (b))
#define ALL(f, ...) printf(f, ## __VA_ARGS__)
#ifdef X
byte never_seen
#else
mtype = { msg, ack }
#endif
typedef T { byte f; bit g[2] }
chan q = [2] of { mtype, byte }; chan r[N] = [0] of { byte };
byte x, a[N] = 1; bit b; unsigned u : 3; T t; hidden int h;
inline inc(v) { byte old = v; v = MAX(v + 1, old) }
active [2] proctype P() provided (x < N) { byte l = 2; xr q;
  end: do :: q?msg,l -> inc(l); q!!ack(l) :: atomic { x < 2 -> x++; r[0]!x } :: else -> break od;
  { a[l % N] = x; t.g[1] = !b } unless { timeout -> goto L };
  if :: { x = 1 } unless { b -> ALL("%d", __LINE__) } :: N == 0 -> x = 1 / 0 fi;
  L: printf("%d\n", x) }
proctype Q(chan c; byte n) priority 2 { byte m; d_step { m = n; if :: m > 1 -> m-- :: else fi };
  c?eval(m); q??<ack,_>; (q?[msg,1] && nempty(q)) || P[0]@L; assert(len(q) <= 2) }
init { pid p; byte i; p = run Q(r[0], 1); for (i : 1 .. N) { run P() } select (i : 0 .. 2);
  set_priority(p, 3); if :: i == 0 -> skip :: i > 0 && ~u != -1 fi }
never { do :: !(P[0]@L) :: x > 2 -> break od }
ltl live { [] (x < 3 -> <> (b U t.f == 1)) }
ltl safe { [] (x < 3 -> X (b W t.f == 1)) && !(<> (u == 1)) || (b V x != 2) }"#,
    "byte s; int n = -7 / 2; short w[2] = { 1, 2 };
     inline get(k) { return k << 1 | 1 }
     active proctype A() { s = get(3); do :: s >= 2 -> s = s - 1 :: s < 2; goto done od; done: skip;
       { byte z; z = s; if :: z :: !z fi } }
     trace { do :: q!1 od }",
];

const PIECES: &[&str] = &[
    "active",
    "assert",
    "atomic",
    "bit",
    "break",
    "byte",
    "c_code",
    "chan",
    "do",
    "else",
    "empty",
    "eval",
    "fi",
    "for",
    "goto",
    "if",
    "in",
    "init",
    "inline",
    "int",
    "len",
    "ltl",
    "mtype",
    "never",
    "od",
    "of",
    "pid",
    "printf",
    "proctype",
    "provided",
    "priority",
    "return",
    "run",
    "d_step",
    "select",
    "skip",
    "timeout",
    "typedef",
    "unless",
    "unsigned",
    "xr",
    "x",
    "y",
    "q",
    "P",
    "T",
    "N",
    "L",
    "_",
    "_pid",
    "1",
    "0",
    "0x",
    "99999999999",
    "'a'",
    "\"s\"",
    "+",
    "++",
    "-",
    "--",
    "*",
    "/",
    "%",
    "!",
    "!!",
    "~",
    "&",
    "&&",
    "|",
    "||",
    "^",
    "->",
    "=",
    "==",
    "!=",
    "<",
    "<=",
    "<<",
    ">",
    ">>",
    "?",
    "??",
    ":",
    "::",
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
    "@",
    "#",
    "##",
    "\n#define N x\n",
    "\n#define F(a) a a\n",
    "\n#define G(a, ...) a, ## __VA_ARGS__ #a\n",
    "F",
    "G(",
    "__VA_ARGS__",
    "__LINE__",
    "__FILE__",
    "...",
    "\n#if 1\n",
    "\n#else\n",
    "\n#endif\n",
    "\n#include \"m.pml\"\n",
    "\"",
    "'",
    "/*",
    "*/",
    "//",
    "\n",
    "\\\n",
    "\\",
    "é",
    "\u{1}",
];

#[test]
fn the_models_are_right() {
    for model in MODELS {
        let source = Source::new("m.pml", *model).unwrap();
        let compiled = compile(source, &Options::default(), &mut |_| None);
        let errors: Vec<_> = compiled
            .diagnostics
            .iter()
            .filter(|it| it.is_error())
            .collect();
        assert!(errors.is_empty(), "{errors:#?}");
    }
}

#[test]
fn random_bytes() {
    fuzz::with_seeds(500, |rng| fuzz_compile(&fuzz::random_bytes(rng)));
}

#[test]
fn random_pieces() {
    fuzz::with_seeds(2000, |rng| {
        let text = fuzz::random_pieces(rng, PIECES);
        fuzz_compile(text.as_bytes());
        check_consistency(&text);
    });
}

#[test]
fn mutated_models() {
    fuzz::with_seeds(2000, |rng| {
        let bytes = fuzz::mutated(rng, MODELS, PIECES);
        fuzz_compile(&bytes);
        check_consistency(&String::from_utf8_lossy(&bytes));
    });
}

/// What could not be parsed was reported, and what was parsed is the same when it is printed and
/// parsed again.
fn check_consistency(text: &str) {
    let parsed = parse_text(text);
    if parsed.has_errors() {
        return;
    }
    let printed = print::model(&parsed.model);
    assert!(!printed.contains("<error>"), "{text}");
    let again = parse_text(&printed);
    assert!(
        !again.has_errors(),
        "{text}\n{printed}\n{}",
        rendered(&again)
    );
    assert_eq!(print::model(&again.model), printed, "{text}");
}

#[test]
fn deep_nesting_of_everything() {
    let n = 100_000;
    let nested = [
        ("init { x = ", "(", "1", ") }"),
        ("init { x = ", "!", "x", " }"),
        ("init { x = ", "- ", "x", " }"),
        ("init { x = ", "a[", "1", "] }"),
        ("init { x = ", "(1 -> ", "1", " : 2) }"),
        ("init { x = ", "1 + (", "1", ") }"),
        ("init { x = 1", " + 1", "", " }"),
        ("init { ", "if :: ", "x", " fi"),
        ("init { ", "do :: ", "x", " od"),
        ("init { ", "{ ", "x", " }"),
        ("init { ", "atomic { ", "x", " }"),
        ("init { ", "for (i : 1 .. 2) { ", "x", " }"),
        ("init { x", " unless { x }", "", " }"),
        ("ltl { ", "(", "x", ") }"),
        ("ltl { ", "[] ", "x", " }"),
        ("ltl { ", "! ", "x", " }"),
        ("ltl { x", " U x", "", " }"),
        ("#if ", "(", "1", ")"),
        ("#if ", "!", "1", ""),
        ("#define F(a) a\ninit { x = ", "F(", "1", ")"),
    ];
    for (head, open, core, close) in nested {
        for closed in [close.repeat(n), String::new()] {
            let text = format!("{head}{}{core}{closed}", open.repeat(n));
            let parsed = parse_text(&text);
            assert!(parsed.has_errors(), "{head}{open}");
            assert!(parsed.diagnostics.len() <= 4, "{head}{open}");
            drop(parsed.model.clone());
        }
    }
}

/// The stack that the deepest tree takes is a small part of what a thread has.
#[test]
fn the_deepest_tree_fits_a_small_stack() {
    let run = || {
        for (open, close) in [
            ("init { ", ""),
            ("if :: x -> ", " fi"),
            ("do :: { x; ", " } od"),
            ("{ x } unless { ", " }"),
        ] {
            for n in [60, 95, 190, 5000] {
                let text = format!(
                    "byte x; init {{ {}x = {}x{} {} }}",
                    open.repeat(n),
                    "(1 + ".repeat(n),
                    ")".repeat(n),
                    close.repeat(n)
                );
                fuzz_compile(text.as_bytes());
            }
        }
    };
    let thread = std::thread::Builder::new().stack_size(1 << 20);
    thread.spawn(run).unwrap().join().unwrap();
}

/// Time grows with the size of the file and no faster, whatever the file is made of.
#[test]
fn no_piece_takes_more_than_linear_time() {
    let n = 50_000;
    let more = [
        "x = 1;",
        "goto L; L:",
        "byte x;",
        "if :: x -> y fi;",
        "L: skip;",
        "x = y[",
        "F(",
        "f(x);",
    ];
    for piece in PIECES.iter().copied().chain(more) {
        for head in [
            "",
            "init { ",
            "#define F(a) a a\ninline f(a) { a }\nbyte x; init { ",
        ] {
            let text = format!("{head}{}", format!("{piece} ").repeat(n));
            let started = Instant::now();
            fuzz_compile(text.as_bytes());
            let seconds = started.elapsed().as_secs_f64();
            assert!(seconds < 10.0, "{head}{piece}: {seconds} s");
        }
    }
}
