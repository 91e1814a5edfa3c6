//! Random loops against all permutations of their passes.
//!
//! A model has one rule with the loop and one for each sequence of its passes, written out one
//! after the other. Wherever two permutations of all passes end differently, the check must report
//! a dependence; and where it reports one, two permutations of some of the passes must differ.

use hadal_ir::FunctionId;
use std::collections::BTreeMap;

use hadal_ir::interp::{Interpreter, Item, OrderChecks};
use hadal_model::{Cursor, Expander, Flow, Model, States, Stop, Successors};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use super::{all_loops, interpreter, padded};

/// What a rule leads to.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Fault,
    /// No fault and no successor.
    Abandoned,
    /// The successor, and how often the cover points of a name were hit.
    Done(Vec<u8>, BTreeMap<String, u64>),
}

#[test]
fn the_check_agrees_with_all_permutations() {
    let (mut n_dependent, mut n_independent) = (0, 0);
    for seed in 0..1500 {
        let case = Case::new(seed);
        let interpreter = interpreter(&case.text);
        let outcomes = outcomes(&interpreter);
        // The loop itself, in its own order, which is the first permutation of all passes.
        let all: Vec<i64> = (0..case.n_passes).collect();
        let differ = |set: &[i64]| {
            let mut of_set = case.sequences.iter().zip(&outcomes[1..]);
            let mut of_set = of_set.by_ref().filter(|(sequence, _)| is_of(sequence, set));
            let first = of_set.next().map(|(_, outcome)| outcome);
            of_set.any(|(_, outcome)| Some(outcome) != first)
        };
        let of_all = case.sequences.iter().position(|sequence| *sequence == all);
        assert_eq!(
            Some(&outcomes[0]),
            of_all.map(|position| &outcomes[position + 1])
        );

        let found = checked(&interpreter, &case);
        let text = &case.text;
        if differ(&all) {
            assert!(
                found.is_some(),
                "a dependence was missed, seed {seed}\n{text}"
            );
        }
        if let Some(message) = &found {
            let any = case.sequences.iter().any(|set| differ(set));
            assert!(any, "no orders differ, seed {seed}: {message}\n{text}");
        }
        match found {
            Some(_) => n_dependent += 1,
            None => n_independent += 1,
        }
    }
    let enough = n_dependent > 200 && n_independent > 200;
    assert!(
        enough,
        "{n_dependent} dependent, {n_independent} independent"
    );
}

/// Whether a sequence runs the passes of a set.
fn is_of(sequence: &[i64], set: &[i64]) -> bool {
    sequence.len() == set.len() && set.iter().all(|pass| sequence.contains(pass))
}

/// What the check of the loop finds in the first startstate.
fn checked(interpreter: &Interpreter, case: &Case) -> Option<String> {
    let mut checks: OrderChecks = all_loops(interpreter.program(), &["t"]);
    checks.loops.retain(|checked| {
        let program = interpreter.program();
        let frame = match checked.item {
            Item::Rule(0) => &program.rules[0].frame,
            Item::Function(function) if function == FunctionId::new(3) => {
                &program.function(function).frame
            }
            _ => return false,
        };
        frame.local(checked.var).name == "p"
    });
    assert_eq!(checks.loops.len(), 1, "{}", case.text);
    let stop = Stop::new();
    let start = &starts(interpreter)[0];
    let mut checker = interpreter.order_checker(&checks, &stop);
    let found = checker.check_rules(start).unwrap();
    let is_first = found.as_ref().is_none_or(|fault| fault.name == "rule 0");
    assert!(is_first, "only the first rule is enabled");
    assert!(checker.take_evaluations()[0] > 0);
    found.map(|fault| fault.message)
}

fn starts(interpreter: &Interpreter) -> Vec<Vec<u8>> {
    let stop = Stop::new();
    let mut out = Successors::new(interpreter.shape(), 1 << 10);
    out.reset(1);
    let flow = interpreter
        .expander(&stop)
        .starts(Cursor::default(), &mut out);
    assert_eq!(flow, Flow::Done);
    out.states().iter().map(<[u8]>::to_vec).collect()
}

/// What each rule leads to, from its own startstate.
fn outcomes(interpreter: &Interpreter) -> Vec<Outcome> {
    let stop = Stop::new();
    let mut expander = interpreter.expander(&stop);
    let mut out = Successors::new(interpreter.shape(), 4);
    let starts = starts(interpreter).into_iter();
    starts
        .map(|start| outcome(interpreter.shape(), &mut *expander, &start, &mut out))
        .collect()
}

fn outcome(
    model: &hadal_model::Shape,
    expander: &mut dyn Expander,
    start: &[u8],
    out: &mut Successors,
) -> Outcome {
    let bytes = padded(start);
    out.reset(1);
    let block = States::new(&bytes, start.len(), 1);
    assert_eq!(expander.expand(block, Cursor::default(), out), Flow::Done);
    if !out.sources()[0].faults.is_empty() {
        return Outcome::Fault;
    }
    if out.is_empty() {
        return Outcome::Abandoned;
    }
    // Each rule has its own copy of a cover statement.
    let mut hits = BTreeMap::new();
    for (goal, n_hits) in model.goals.iter().zip(out.goal_hits()) {
        let name = &model.properties[goal.property as usize].name;
        *hits.entry(name.clone()).or_default() += n_hits;
    }
    Outcome::Done(out.state(0).to_vec(), hits)
}

/// A model with a random loop.
struct Case {
    text: String,
    n_passes: i64,
    sequences: Vec<Vec<i64>>,
}

#[derive(Clone, Copy, PartialEq)]
enum Shape {
    /// A loop in the body of a rule.
    Rule,
    /// A loop in a function, which returns a value and writes to a local of the rule.
    Function,
    /// Quantifiers in the body of a rule.
    Exists,
    Forall,
}

impl Case {
    fn new(seed: u64) -> Self {
        let mut rng = Pcg64::seed_from_u64(seed);
        let n_passes = [2, 3, 3, 3, 3, 3, 3, 4][rng.random_range(0..8)];
        let shape = match rng.random_range(0..8) {
            0..4 => Shape::Rule,
            4..6 => Shape::Function,
            6 => Shape::Exists,
            _ => Shape::Forall,
        };
        let mut sequences = Vec::new();
        permute(n_passes, &mut Vec::new(), &mut sequences);

        let mut writer = Writer { rng, shape };
        let body = match shape {
            Shape::Rule | Shape::Function => {
                let n_stmts = writer.rng.random_range(1..4);
                writer.stmts(n_stmts, 2)
            }
            Shape::Exists | Shape::Forall => writer.condition(2),
        };
        let start = writer.start(n_passes);
        let n_rules = sequences.len() + 1;
        let mut text = format!(
            "type Index: 0..{}; Value: 0..2;
             var sel: 0..{n_rules};
               x: array [Index] of Value; b: array [Index] of boolean;
               owner: Index; seen: Index; result: Index; truth: boolean; n: 0..4;
               bag: multiset [3] of Index; left: multiset [4] of Index;
             procedure assign(var to_x: Value; v: Value); begin to_x := v; end;
             function bump(p: Index): boolean; begin n := n + 1; return b[p]; end;
             function mark(p: Index): boolean; begin b[p] := true; return x[p] = 1; end;
             ruleset s: 0..{} do startstate sel := s; {start} end; end;\n",
            n_passes - 1,
            n_rules - 1,
        );
        let all = [String::from("Index")];
        let domains = sequences.iter().map(|sequence| {
            let single = sequence.iter().map(|pass| format!("{pass}..{pass}"));
            single.collect::<Vec<_>>()
        });
        let domains = std::iter::once(all.to_vec()).chain(domains);
        for (rule, domains) in domains.enumerate() {
            text += &loop_text(rule, shape, &domains, &body);
        }
        Case {
            text,
            n_passes,
            sequences,
        }
    }
}

/// The loop over some domains, one after the other, as the rule of this number.
fn loop_text(rule: usize, shape: Shape, domains: &[String], body: &str) -> String {
    let each = |run: &dyn Fn(&String) -> String, join: &str| {
        let parts: Vec<String> = domains.iter().map(run).collect();
        parts.join(join)
    };
    let loops = || {
        each(
            &|domain| format!("for p: {domain} do t := x[p]; {body} end;"),
            "\n",
        )
    };
    let quantified = |quantifier: &str, join: &str| {
        each(
            &|domain| format!("{quantifier} p: {domain} do {body} end"),
            join,
        )
    };
    let (before, work) = match shape {
        Shape::Rule => (String::new(), loops()),
        Shape::Function => (
            format!(
                "function loop{rule}(var best: Index): Index; var t: Value; m: multiset [4] of Index;
                 begin {} left := m; return owner; end;\n",
                loops()
            ),
            format!("result := loop{rule}(best);"),
        ),
        Shape::Exists => (String::new(), format!("truth := {};", quantified("exists", " | "))),
        Shape::Forall => (String::new(), format!("truth := {};", quantified("forall", " & "))),
    };
    format!(
        "{before} rule \"rule {rule}\" sel = {rule} ==>
           var best: Index; t: Value; m: multiset [4] of Index;
         begin sel := 0; {work} seen := best; {} end;\n",
        if shape == Shape::Rule {
            "left := m;"
        } else {
            ""
        }
    )
}

/// All sequences of two or more different passes.
fn permute(n: i64, prefix: &mut Vec<i64>, out: &mut Vec<Vec<i64>>) {
    if prefix.len() > 1 {
        out.push(prefix.clone());
    }
    for pass in 0..n {
        if !prefix.contains(&pass) {
            prefix.push(pass);
            permute(n, prefix, out);
            prefix.pop();
        }
    }
}

/// Writes statements and expressions about the pass `p`.
struct Writer {
    rng: Pcg64,
    shape: Shape,
}

impl Writer {
    fn one_of(&mut self, texts: &[&str]) -> String {
        texts[self.rng.random_range(0..texts.len())].to_owned()
    }

    fn start(&mut self, n: i64) -> String {
        let mut text = String::from("n := 0;");
        for index in 0..n {
            // One in eight is left undefined.
            if !self.rng.random_ratio(1, 8) {
                text += &format!("x[{index}] := {};", self.rng.random_range(0..3));
            }
            if !self.rng.random_ratio(1, 8) {
                text += &format!("b[{index}] := {};", self.rng.random::<bool>());
            }
        }
        if self.rng.random() {
            text += &format!("owner := {};", self.rng.random_range(0..n));
        }
        if self.rng.random_ratio(1, 4) {
            text += &format!("multisetadd({}, bag);", self.rng.random_range(0..n));
        }
        text
    }

    fn stmts(&mut self, n: usize, depth: u32) -> String {
        (0..n).map(|_| self.stmt(depth)).collect()
    }

    fn stmt(&mut self, depth: u32) -> String {
        let n_kinds = if depth == 0 { 13 } else { 19 };
        match self.rng.random_range(0..n_kinds) {
            0 => "owner := p;".to_owned(),
            1 => "best := p;".to_owned(),
            2 => "n := n + 1;".to_owned(),
            3 => format!("x[p] := {};", self.value()),
            4 => format!("b[p] := {};", self.condition(1)),
            5 => "multisetadd(p, bag);".to_owned(),
            6 => "multisetremovepred(i: bag, bag[i] = p);".to_owned(),
            7 => "multisetadd(p, m);".to_owned(),
            8 => format!("assign(x[p], {});", self.value()),
            9 => format!("alias a: x[p] do a := {}; end;", self.value()),
            10 => "put x[p];".to_owned(),
            11 => format!(
                "cover \"c{}\" {};",
                self.rng.random::<u32>(),
                self.condition(1)
            ),
            12 => format!("n := {} + {};", self.value(), self.value()),
            13..16 => {
                let condition = self.condition(1);
                format!("if {condition} then {} end;", self.stmt(depth - 1))
            }
            16 => {
                let condition = self.condition(1);
                let then = self.stmt(depth - 1);
                format!(
                    "if {condition} then {then} else {} end;",
                    self.stmt(depth - 1)
                )
            }
            17 => {
                let ending = match self.shape {
                    Shape::Function => {
                        self.one_of(&["return p;", "return owner;", "return 0;", "error \"e\";"])
                    }
                    _ => self.one_of(&["return;", "error \"e\";", "assume false;"]),
                };
                format!("if {} then {ending} end;", self.condition(1))
            }
            _ => {
                let then = self.stmt(depth - 1);
                format!("for q: 0..1 do if q != p then {then} end; end;")
            }
        }
    }

    fn condition(&mut self, depth: u32) -> String {
        let n_kinds = if depth == 0 { 8 } else { 11 };
        match self.rng.random_range(0..n_kinds) {
            0 | 1 => "b[p]".to_owned(),
            2 => format!("x[p] = {}", self.value()),
            3 => "owner = p".to_owned(),
            4 => "isundefined(owner)".to_owned(),
            5 => format!("n < {}", self.rng.random_range(1..4)),
            6 => "multisetcount(i: bag, bag[i] != p) > 0".to_owned(),
            7 => match self.shape {
                Shape::Rule | Shape::Function => "isundefined(best)".to_owned(),
                Shape::Exists | Shape::Forall => self.one_of(&["bump(p)", "mark(p)"]),
            },
            8 => format!("!({})", self.condition(depth - 1)),
            9 => {
                let join = self.one_of(&["&", "|"]);
                let left = self.condition(depth - 1);
                format!("({left} {join} {})", self.condition(depth - 1))
            }
            _ => "exists q: Index do q != p & x[q] = x[p] end".to_owned(),
        }
    }

    fn value(&mut self) -> String {
        self.one_of(&["0", "1", "2", "x[p]", "n % 3", "(x[p] + 1) % 3", "x[owner]"])
    }
}
