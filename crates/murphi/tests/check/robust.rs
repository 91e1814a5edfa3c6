//! Whatever the file holds, the front-end returns, soon and within its stack; and what it makes
//! passes the verifier.

use std::time::{Duration, Instant};

use hadal_model::Stop;
use hadal_murphi::{Dialect, Options, compile_until, fuzz_compile};
use hadal_syntax::Source;
use hadal_testkit::fuzz::with_seeds;
use rand::RngExt;

use crate::compile_in;

/// Small models to be changed, which together hold most of the language.
const MODELS: &[&str] = &[
    r#"const N: 3; K: N + 1; big: N > 2;
type pid: scalarset(N); st: enum { idle, busy, done }; t: 0..K; u: 0..N;
  node: union { pid, st }; rec: record s: st; n: t; w: node; end;
var p: array [pid] of rec; q: array [node] of boolean; x, y: t; z: u; b: boolean; w: node;
  r, o: rec; net: multiset [N] of rec; h: pid; g: array [t] of array [boolean] of u;
function f(a: t; c: boolean): t; var d: t; begin
  d := a; if c then return d; elsif a = 0 then return 1; else return f(a - 1, c); end; end;
function mk(s: st): rec; var m: rec; begin m.s := s; m.n := 0; m.w := s; return m; end;
procedure go(var v: rec; i: pid; k: t); begin
  v.s := busy; v.w := i; v.n := k; y := k; multisetadd(v, net); end;
procedure wr(var v: t; k: rec); var l: t; begin l := k.n; v := l; clear v; undefine l; end;
startstate "s" x := 0; y := 1; z := 0; b := false; w := idle; undefine net;
  for i: pid do p[i].s := idle; undefine p[i].n; q[i] := true; end;
  for i: t; j: boolean do g[i][j] := 0; end; clear r; r.w := busy; o := r; end;
ruleset i: pid; k: t do alias a: p[i]; n: k + 0; l: p[i].n do
  rule 2 "one" a.s = idle & !isundefined(l) -> (b ? n < 2 : x = y) ==>
    var v: t; e: rec; begin go(a, i, n); v := f(x, b); e := mk(done); wr(v, mk(idle)); wr(x, e);
    switch a.s case idle, busy: a.n := v; case done: return; else error "no"; end;
    while x > 0 do x := x - 1; end; assert x = 0 "zero"; put a; put x + 1; put "t"; end;
  choose m: net do alias c: net[m] do
    rule c.s = busy ==> begin r := c; multisetremove(m, net); w := c.w; end; end; end;
  invariant "i" forall c: pid; d := 0 to n by 2 do c = i | p[c].n != d end;
end; end;
rule ismember(w, pid) & multisetcount(c: net, net[c].n = x) < N ==>
  begin h := w; multisetremovepred(c: net, net[c].s = done); w := h; w := undefined; end;
rule r = o & r != mk(idle) ==> for i := x to y do z := i % 2; x := x / 1 * 1; end; end;
cover x = 1; assume y >= 0; liveness "l" exists i: node do q[i] end;"#,
    "var x: 0..9; y: -3..3; startstate x := 0; y := 0; end;
procedure p(var a: 0..9; b: -3..3); begin a := b & 3; x := 2; assume x > 1; cover b = 2; end;
rule x || y = 1 ==> p(x, y ^ 1); x := x << 1 >> 1 | ~y & 1; end;
rule for i: 0..3 do for j := i to x do y := i - j; end; end; end;",
];

/// Words, numbers, strings and marks, with the blanks after each.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let mut token = c.to_string();
        let is_word = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
        if is_word(&c) {
            while let Some(c) = chars.next_if(is_word) {
                token.push(c);
            }
        } else if c == '"' {
            for c in chars.by_ref() {
                token.push(c);
                if c == '"' {
                    break;
                }
            }
        }
        while let Some(c) = chars.next_if(|c| c.is_whitespace()) {
            token.push(c);
        }
        tokens.push(token);
    }
    tokens
}

/// What kind of token it is: things of a kind can often stand for one another.
fn kind(token: &str) -> u8 {
    let word = token.trim();
    let is_keyword = keywords().contains(&word.to_ascii_lowercase().as_str());
    match word.chars().next() {
        Some('0'..='9') => 0,
        Some('a'..='z' | 'A'..='Z') if is_keyword => 1,
        Some('a'..='z' | 'A'..='Z') => 2,
        Some('+' | '-' | '*' | '/' | '%' | '&' | '|' | '^') => 3,
        Some('=' | '<' | '>' | '!') => 4,
        _ => 5,
    }
}

fn keywords() -> &'static [&'static str] {
    &[
        "const",
        "type",
        "var",
        "scalarset",
        "enum",
        "union",
        "record",
        "end",
        "array",
        "of",
        "boolean",
        "multiset",
        "function",
        "procedure",
        "begin",
        "if",
        "then",
        "elsif",
        "else",
        "return",
        "startstate",
        "for",
        "do",
        "to",
        "by",
        "ruleset",
        "alias",
        "rule",
        "switch",
        "case",
        "error",
        "while",
        "assert",
        "put",
        "choose",
        "invariant",
        "forall",
        "exists",
        "ismember",
        "multisetcount",
        "multisetadd",
        "multisetremove",
        "multisetremovepred",
        "isundefined",
        "clear",
        "undefine",
        "cover",
        "assume",
        "liveness",
    ]
}

#[test]
fn the_models_to_be_changed_are_good() {
    for text in MODELS.iter().take(1) {
        for dialect in Dialect::ALL {
            let (_, compiled) = compile_in(text, dialect);
            let errors = compiled.diagnostics;
            assert!(compiled.program.is_some(), "{dialect}: {errors:#?}");
        }
    }
}

#[test]
fn tokens_replaced_by_tokens_of_their_kind() {
    with_seeds(3000, |rng| {
        let mut tokens = tokens(MODELS[rng.random_range(0..MODELS.len())]);
        for _ in 0..rng.random_range(1..4) {
            let at = rng.random_range(0..tokens.len());
            let alike: Vec<usize> = (0..tokens.len())
                .filter(|&other| kind(&tokens[other]) == kind(&tokens[at]))
                .collect();
            let from = alike[rng.random_range(0..alike.len())];
            tokens[at] = tokens[from].clone();
        }
        fuzz_compile(tokens.concat().as_bytes());
    });
}

#[test]
fn tokens_dropped_doubled_and_swapped() {
    with_seeds(1500, |rng| {
        let mut tokens = tokens(MODELS[rng.random_range(0..MODELS.len())]);
        for _ in 0..rng.random_range(1..5) {
            let at = rng.random_range(0..tokens.len());
            let other = rng.random_range(0..tokens.len());
            match rng.random_range(0..3) {
                0 => drop(tokens.remove(at)),
                1 => tokens.insert(at, tokens[other].clone()),
                _ => tokens.swap(at, other),
            }
        }
        fuzz_compile(tokens.concat().as_bytes());
    });
}

#[test]
fn values_at_the_edge() {
    let numbers = [
        "0",
        "1",
        "2",
        "255",
        "256",
        "1000000000",
        "2147483647",
        "2147483648",
        "4294967296",
        "4611686018427387904",
        "9223372036854775806",
        "9223372036854775807",
    ];
    with_seeds(1500, |rng| {
        let mut tokens = tokens(MODELS[rng.random_range(0..MODELS.len())]);
        for token in &mut tokens {
            if kind(token) == 0 && rng.random_range(0..8) == 0 {
                *token = format!("{} ", numbers[rng.random_range(0..numbers.len())]);
            }
        }
        fuzz_compile(tokens.concat().as_bytes());
    });
}

/// Compiles a text, which must not take long, and returns whether it is good.
#[track_caller]
fn is_quick(text: &str) -> bool {
    let start = Instant::now();
    let (_, compiled) = compile_in(text, Dialect::Hadal);
    let took = start.elapsed();
    assert!(took < Duration::from_secs(10), "{took:?}: {}", &text[..60]);
    compiled.program.is_some()
}

const START: &str = " startstate end; rule x := 0; end;";

#[test]
fn huge_types() {
    let model = |decls: &str| format!("{decls} var x: 0..1;{START}");
    assert!(is_quick(&model("type t: scalarset(1000000000); var v: t;")));
    assert!(is_quick(&model(
        "type t: array [0..1000000000] of boolean;"
    )));
    assert!(!is_quick(&model(
        "var v: array [0..1000000000] of boolean;"
    )));
    assert!(!is_quick(&model(
        "var v: array [0..1000000000] of record end;"
    )));
    assert!(is_quick(&model(
        "var v: -4611686018427387904..4611686018427387902;"
    )));
    assert!(!is_quick(&model(
        "var v: -4611686018427387904..4611686018427387903;"
    )));
    assert!(is_quick(&model(
        "ruleset i: 0..1000000000000000000 do rule i = 0 ==> end; end;"
    )));
    assert!(!is_quick(&model("ruleset i, j: 0..1; end;")));
    assert!(!is_quick(&model(
        "ruleset i: 0..1000000000000000000; j: 0..1000000000000000000 do rule i = j ==> end; end;"
    )));
    assert!(!is_quick(&model(
        "ruleset i: 0..65536 do liveness i = 0; end;"
    )));
    assert!(is_quick(&model("ruleset i: 0..65535 do cover i = 0; end;")));
}

#[test]
fn many_things_on_one_line() {
    let n = 50_000;
    let join = |f: &dyn Fn(usize) -> String| (0..n).map(f).collect::<String>();
    let members = join(&|i| format!("m{i},"));
    assert!(is_quick(&format!(
        "type e: enum {{{members}}}; var x: 0..1; v: e;{START}"
    )));
    let fields = join(&|i| format!("f{i}: boolean; "));
    let uses = join(&|i| format!("v.f{i} := true; "));
    assert!(is_quick(&format!(
        "var x: 0..1; v: record {fields} end; startstate {uses} end;"
    )));
    let sums = join(&|_| "x := x + 1 - 1; ".to_owned());
    assert!(is_quick(&format!(
        "var x: 0..1; startstate x := 0; {sums} end;"
    )));
    let unknown = join(&|i| format!("x := m{i}x; "));
    assert!(!is_quick(&format!(
        "type e: enum {{{members}}}; var x: 0..1; startstate {unknown} end;"
    )));
    let terms = join(&|_| " & x = 0".to_owned());
    assert!(is_quick(&format!(
        "var x: 0..1;{START} invariant x = 0{terms};"
    )));
    let rules = join(&|_| "rule i = j ==> end; ".to_owned());
    assert!(is_quick(&format!(
        "var x: 0..1;{START} ruleset i: 0..1; j: 0..1 do alias a: x + i do {rules} end; end;"
    )));
}

#[test]
fn unions_of_many_members() {
    let n = 10_000;
    let members: String = (0..n).map(|i| format!("enum {{ m{i} }}, ")).collect();
    let uses: String = (0..n).map(|i| format!("a := m{i}; b := a; ")).collect();
    let text = format!(
        "type u: union {{ {members} enum {{ last }} }}; w: union {{ u1, u2 }};
         var a, b: u; startstate {uses} end;"
    );
    assert!(!is_quick(&text));
    assert!(is_quick(&text.replace(" w: union { u1, u2 };", "")));
    let unions: String = (0..n)
        .map(|i| format!("u{i}: union {{ e, enum {{ k{i} }} }}; "))
        .collect();
    let names: String = (0..1000).map(|i| format!("n{i}, ")).collect();
    assert!(!is_quick(&format!(
        "type e: enum {{ {names} }}; {unions} var x: u1; startstate end;"
    )));
}

#[test]
fn many_functions() {
    let functions: String = (0..20_000)
        .map(|i| format!("function f{i}(a: 0..1): 0..1; begin return a; end; "))
        .collect();
    let text = format!("{functions} var x: 0..1; startstate x := f7(0); end;");
    assert!(is_quick(&text));
    let (_, compiled) = compile_in(&text, Dialect::Cmurphi);
    assert!(compiled.program.is_some());
}

#[test]
fn deep_things() {
    let sums = " + 1".repeat(50_000);
    assert!(!is_quick(&format!(
        "var x: 0..1;{START} invariant x{sums} = 0;"
    )));
    let sums = " + x".repeat(900);
    assert!(is_quick(&format!(
        "var x: 0..1;{START} invariant x{sums} = 0;"
    )));
    let types: String = (1..20_000)
        .map(|i| format!("type t{i}: record a, b: t{}; end; ", i - 1))
        .collect();
    assert!(!is_quick(&format!(
        "type t0: 0..1; {types} var x: 0..1; y: t19999;{START}"
    )));
    let ifs = "if x = 0 then ".repeat(300) + &"end; ".repeat(300);
    assert!(!is_quick(&format!("var x: 0..1; startstate {ifs} end;")));
    let fors: String = (0..300).map(|i| format!("i{i}: boolean; ")).collect();
    assert!(!is_quick(&format!(
        "var x: 0..1; startstate for {fors} do x := 0; end; end;"
    )));
    let params: String = (0..20_000).map(|i| format!("i{i}: 0..0; ")).collect();
    let rules = "rule x := 0; end;".repeat(20_000);
    assert!(!is_quick(&format!(
        "var x: 0..1; startstate end; ruleset {params} do {rules} end;"
    )));
    let parens = "(".repeat(390) + "x" + &")".repeat(390);
    assert!(is_quick(&format!(
        "var x: 0..1;{START} invariant {parens} = 0;"
    )));
    let nots = "!(".repeat(195) + "x = 0" + &")".repeat(195);
    assert!(is_quick(&format!("var x: 0..1;{START} invariant {nots};")));
}

#[test]
fn types_that_share_their_parts() {
    // Twice as many parts with every step, under two names each.
    let mut text = String::from("type a0: 0..1; b0: 0..1; ");
    for i in 1..=12 {
        let before = i - 1;
        text += &format!("a{i}: record f, g: a{before}; end; b{i}: record f, g: b{before}; end; ");
    }
    text += "var x: a12; y: b12; startstate undefine y; x := y; end;";
    let (_, compiled) = compile_in(&text, Dialect::Rumur);
    assert!(compiled.program.is_some());
    assert!(!is_quick(&text));
}

/// Text that takes some seconds to compile.
fn long_text() -> String {
    let assignments = "x := (x + 1) % 2; if x = 0 then x := 1; end; ".repeat(100_000);
    format!("var x: 0..1; startstate x := 0; end; rule {assignments} end;")
}

#[test]
fn a_raised_flag_ends_every_stage_soon() {
    let source = Source::new("long.m", long_text()).expect("it is short enough");
    let stop = Stop::new();
    stop.raise();
    let started = Instant::now();
    assert!(compile_until(&source, &Options::default(), &stop).is_none());
    assert!(started.elapsed() < Duration::from_millis(500));
    // Raised at other moments, so that each stage meets it.
    for milliseconds in [1, 20, 60, 120, 200, 300, 500] {
        let stop = Stop::new();
        let returned = std::thread::scope(|scope| {
            let compiling = scope.spawn(|| compile_until(&source, &Options::default(), &stop));
            std::thread::sleep(Duration::from_millis(milliseconds));
            stop.raise();
            let raised = Instant::now();
            let _ = compiling.join().expect("it does not panic");
            raised.elapsed()
        });
        assert!(
            returned < Duration::from_secs(1),
            "{milliseconds} ms: {returned:?}"
        );
    }
}
