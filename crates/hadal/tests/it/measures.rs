//! Numbers of states that a user asks for: what a step costs, and estimates of what is left to go.
//!
//! Their values are compared with goals: an expression has a value in some state if and only if the
//! goal that it is equal to that value is reached, and at the same depth.

use expect_test::{Expect, expect};
use hadal::language::{Language, LanguageOption, LanguageOptions, Problems, Translation, language};
use hadal::model::{MeasureKind, Stop};
use hadal::syntax::Sources;
use hadal::{Check, Deadlock, ModelSource, Verdict};
use hadal_ir::{BinaryOp, Expr, Guard, Measure, Property, PropertyKind, UnaryOp};

use crate::common::{check_text, hadal};

const LOCK: &str = "
const N: 3;
type Proc: scalarset(N); State: enum { idle, waiting, critical };
var state: array [Proc] of State; turn: Proc; n: 0..9; held: boolean;
function taken(): 0..9; begin n := 0; return n; end;
startstate for p: Proc do state[p] := idle; end; n := 0; undefine turn; held := false; end;
ruleset p: Proc do
  rule \"try\" state[p] = idle ==> state[p] := waiting; end;
  rule \"enter\" state[p] = waiting & !held ==>
    state[p] := critical; turn := p; held := true; n := (n + 1) % 4;
  end;
  rule \"leave\" state[p] = critical ==> state[p] := idle; undefine turn; held := false; end;
end;
";

const PROMELA: &str = "
mtype = { red, green };
#define BOTH (a && b)
chan q = [2] of { byte };
mtype light = red;
byte a, b;
active [2] proctype Worker() {
  byte own = 1;
wait: do
  :: a < 3 -> q!own; own = 3
  :: q?own -> atomic { light = green; a++; b = a };
     if :: a > 2 -> goto done :: else fi
  od;
done: light = red
}
";

/// A language whose models assert of one number from outside that it never has a value.
#[derive(Debug)]
struct Never {
    inner: &'static dyn Language,
    is_cost: bool,
    value: i64,
}

impl Language for Never {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn title(&self) -> &'static str {
        self.inner.title()
    }

    fn extensions(&self) -> &'static [&'static str] {
        self.inner.extensions()
    }

    fn options(&self) -> &'static [LanguageOption] {
        self.inner.options()
    }

    fn translate(
        &self,
        sources: &mut Sources,
        options: &LanguageOptions,
        stop: &Stop,
    ) -> Result<Translation, Problems> {
        let mut translation = self.inner.translate(sources, options, stop)?;
        let program = &mut translation.program;
        let (measure, kind) = match self.is_cost {
            true => (program.measures.pop(), MeasureKind::Cost),
            false => {
                let is_admissible = false;
                let kind = MeasureKind::Estimate { is_admissible };
                (translation.estimates.pop(), kind)
            }
        };
        let measure: Measure = measure.expect("one was asked for");
        assert_eq!(measure.kind, kind);
        assert!(!measure.is_zero_at_faults);
        let constant = program.add_expr(Expr::Int(self.value), measure.site);
        let equal = Expr::Binary(BinaryOp::Eq, measure.value, constant);
        let equal = program.add_expr(equal, measure.site);
        let differs = program.add_expr(Expr::Unary(UnaryOp::Not, equal), measure.site);
        program.properties = vec![Property {
            kind: PropertyKind::Invariant,
            name: measure.name,
            params: Vec::new(),
            frame: measure.frame,
            condition: Guard {
                prologue: measure.body,
                condition: Some(differs),
            },
            site: measure.site,
        }];
        translation.claims.clear();
        Ok(translation)
    }
}

/// At what depth something is found.
fn depth(source: &ModelSource) -> Option<u32> {
    let loaded = source.load().expect("the model is right");
    let checked = Check::new(&loaded).memory(256 << 20);
    let checked = checked.deadlock(Deadlock::Off).run();
    let checked = checked.expect("it can be searched");
    match checked.outcome.verdict {
        Verdict::Verified => None,
        Verdict::Violated => Some(checked.outcome.violations[0].depth),
        verdict => panic!("{verdict:?}"),
    }
}

/// The depths at which an expression is found to have the values from 0 to 3.
#[track_caller]
fn depths(text: &str, name: &str, expr: &str, is_cost: bool) -> Vec<Option<u32>> {
    let inner = language(name).expect("it is one");
    let of_value = |value: i64| {
        let never: &'static Never = Box::leak(Box::new(Never {
            inner,
            is_cost,
            value,
        }));
        let mut source = ModelSource::text("model", text, name).expect("it is short");
        let equals = if name == "murphi" { "=" } else { "==" };
        let by_goal = depth(&source.clone().goal(format!("({expr}) {equals} {value}")));
        source.language = never;
        let source = match is_cost {
            true => source.cost(expr),
            false => source.estimate_expressions(vec!["0".to_owned(), expr.to_owned()]),
        };
        let found = depth(&source);
        assert_eq!(found, by_goal, "{expr} = {value}");
        found
    };
    (0..4).map(of_value).collect()
}

#[test]
fn numbers_of_states_have_the_values_that_goals_see() {
    let murphi = [
        "n",
        "3 - n",
        "held ? n : 0",
        "exists p: Proc do state[p] = waiting end ? 1 : 2",
        "isundefined(turn) ? 3 : n % 2",
    ];
    let promela = [
        "a",
        "len(q)",
        "BOTH",
        "full(q) + empty(q)",
        "Worker[1]:own",
        "Worker[0]@done + Worker[1]@done",
        "_nr_pr",
        "(light == green -> 3 - a : 3)",
    ];
    let mut n_found = 0;
    let murphi = murphi.map(|expr| (LOCK, "murphi", expr));
    let promela = promela.map(|expr| (PROMELA, "promela", expr));
    for (text, language, expr) in murphi.into_iter().chain(promela) {
        for is_cost in [false, true] {
            let found = depths(text, language, expr, is_cost);
            n_found += found.iter().flatten().count();
        }
    }
    assert!(n_found > 40, "{n_found}");
}

#[test]
fn estimates_come_in_the_order_in_which_they_were_asked_for() {
    for (text, name) in [(LOCK, "murphi"), (PROMELA, "promela")] {
        let asked = |exprs: &[&str]| {
            let source = ModelSource::text("model", text, name).expect("it is short");
            let source = source.cost("7").estimate_expressions(vec!["9".to_owned()]);
            let source = source.estimate_expressions(exprs.iter().map(|&it| it.into()).collect());
            assert!(source.estimate_texts().eq(exprs.iter().copied()));
            let mut sources = source.sources.clone();
            let translation = source
                .language
                .translate(&mut sources, &source.options, &Stop::new())
                .expect("the model is right");
            let names = |measures: &[Measure]| -> Vec<String> {
                measures.iter().map(|it| it.name.clone()).collect()
            };
            assert_eq!(names(&translation.program.measures), ["7"]);
            hadal_ir::verify::verify(&translation.program).expect("it is well formed");
            // What is translated again, as after a resume, has the same files.
            let n_files = sources.iter().count();
            let again = source
                .language
                .translate(&mut sources, &source.options, &Stop::new());
            assert_eq!(sources.iter().count(), n_files);
            assert_eq!(
                again.expect("the model is right").program,
                translation.program
            );
            names(&translation.estimates)
        };
        assert_eq!(
            asked(&["2", "1 + 1", "2", "3"]),
            ["2", "1 + 1", "2", "3"],
            "{name}"
        );
        assert_eq!(asked(&[]), [""; 0], "{name}");
    }
}

#[track_caller]
fn check(text: &str, language: &str, costs: &[&str], expected: Expect) {
    let mut all = String::new();
    for cost in costs {
        let cost_flag = format!("--cost={cost}");
        let strategy = ["--strategy", "dijkstra"];
        let flags = ["--language", language, &cost_flag, "--no-search", "-q"];
        let run = check_text(text, &[&flags[..], &strategy].concat());
        all += &format!("{cost}\n{}{}exit {}\n\n", run.stdout, run.stderr, run.code);
    }
    expected.assert_eq(&all);
}

#[test]
fn wrong_costs_of_murphi_have_a_place() {
    check(
        LOCK,
        "murphi",
        &[
            "",
            "n +",
            "n n",
            "m",
            "held",
            "held ? n = 1 : n = 2",
            "turn",
            "state",
            "state[Proc_1] = idle ? 1 : 0",
            "exists q: Proc do state[q] end",
            "p",
            "taken()",
            "undefined",
            "-1",
            "4294967296",
            "n / 0",
        ],
        expect![[r#"

            error: expected an expression, found the end of the file
             --> <cost>:1:1
              |
            1 |
              | ^ expected an expression
            exit 2

            n +
            error: expected an expression, found the end of the file
             --> <cost>:1:4
              |
            1 | n +
              |    ^ expected an expression
            exit 2

            n n
            error: expected the end of the expression, found `n`
             --> <cost>:1:3
              |
            1 | n n
              |   ^ expected the end of the expression
            exit 2

            m
            error: unknown name `m`
             --> <cost>:1:1
              |
            1 | m
              | ^ not declared above this place
            exit 2

            held
            error: mismatched types: a cost must be a number
             --> <cost>:1:1
              |
            1 | held
              | ^^^^ this is a `boolean`
              |
              = help: write `held ? 1 : 0`
            exit 2

            held ? n = 1 : n = 2
            error: mismatched types: a cost must be a number
             --> <cost>:1:1
              |
            1 | held ? n = 1 : n = 2
              | ^^^^^^^^^^^^^^^^^^^^ this is a `boolean`
              |
              = help: write `(held ? n = 1 : n = 2) ? 1 : 0`
            exit 2

            turn
            error: mismatched types: a cost must be a number
             --> <cost>:1:1
              |
            1 | turn
              | ^^^^ this is a `Proc`
              |
              = note: the elements of a scalarset are not numbers
            exit 2

            state
            error: mismatched types: a cost must be a number
             --> <cost>:1:1
              |
            1 | state
              | ^^^^^ this is an `array [Proc] of State`
              |
              = help: name a part of it that is a number
            exit 2

            state[Proc_1] = idle ? 1 : 0
            error: the cost names an element of a scalarset
             --> <cost>:1:7
              |
            1 | state[Proc_1] = idle ? 1 : 0
              |       ^^^^^^ one of the 3 elements of `Proc`
              |
              = note: symmetry reduction visits one state of those that differ by a renaming of elements only, and the cost is not the same in all of them
              = help: say `exists p: Proc do ... end ? 1 : 0`, or run with --symmetry off
            exit 2

            exists q: Proc do state[q] end
            error: mismatched types: the body of `exists` must be a `boolean`
             --> <cost>:1:19
              |
            1 | exists q: Proc do state[q] end
              |                   ^^^^^^^^ this is a `State`
            exit 2

            p
            error: unknown name `p`
             --> <cost>:1:1
              |
            1 | p
              | ^ not declared above this place
            exit 2

            taken()
            error: a cost calls `taken`, which writes `n`
             --> <cost>:1:1
              |
            1 | taken()
              | ^^^^^^^
              |
             ::: <stdin>:5:31
              |
            5 | function taken(): 0..9; begin n := 0; return n; end;
              |                               - `n` is written here
              |
              = note: only the body of a rule or startstate may change the state
            exit 2

            undefined
            error: `undefined` is not a value to compute with
             --> <cost>:1:1
              |
            1 | undefined
              | ^^^^^^^^^
              |
              = help: it can be assigned, or passed to a parameter without `var`
            exit 2

            -1
            error: a cost must be from 0 to 4294967295
             --> <cost>:1:1
              |
            1 | -1
              | ^^ this is -1
            exit 2

            4294967296
            error: a cost must be from 0 to 4294967295
             --> <cost>:1:1
              |
            1 | 4294967296
              | ^^^^^^^^^^ this is 4294967296
            exit 2

            n / 0
            error: division by zero
             --> <cost>:1:3
              |
            1 | n / 0
              |   ^
            exit 2

        "#]],
    );
}

#[test]
fn wrong_costs_of_promela_have_a_place() {
    check(
        PROMELA,
        "promela",
        &[
            "",
            "a +",
            "a b",
            "c",
            "timeout",
            "_pid",
            "np_",
            "own",
            "a = 1",
            "a++",
            "run Worker()",
            "1 - 3",
        ],
        expect![[r#"

            error: expected an expression, found the end of the file
             --> <cost>:1:1
              |
            1 |
              | ^
            exit 2

            a +
            error: expected an expression, found the end of the file
             --> <cost>:1:4
              |
            1 | a +
              |    ^ expected an expression
            exit 2

            a b
            error: expected the end of the expression, found `b`
             --> <cost>:1:3
              |
            1 | a b
              |   ^ expected the end of the expression
            exit 2

            c
            error: `c` is not declared
             --> <cost>:1:1
              |
            1 | c
              | ^
            exit 2

            timeout
            error: this is no number of a state
             --> <cost>:1:1
              |
            1 | timeout
              | ^^^^^^^
              |
              = note: it mentions `timeout`
            exit 2

            _pid
            error: this is no number of a state
             --> <cost>:1:1
              |
            1 | _pid
              | ^^^^
              |
              = note: it mentions `_pid`, and is no process
            exit 2

            np_
            error: this is no number of a state
             --> <cost>:1:1
              |
            1 | np_
              | ^^^
              |
              = note: it mentions `np_`
            exit 2

            own
            error: `own` is not declared
             --> <cost>:1:1
              |
            1 | own
              | ^^^
            exit 2

            a = 1
            error: expected the end of the expression, found `=`
             --> <cost>:1:3
              |
            1 | a = 1
              |   ^ expected the end of the expression
            exit 2

            a++
            error: expected the end of the expression, found `++`
             --> <cost>:1:2
              |
            1 | a++
              |  ^^ expected the end of the expression
            exit 2

            run Worker()
            error: `run` cannot be a part of an expression
             --> <cost>:1:5
              |
            1 | run Worker()
              |     ^^^^^^
              |
              = help: write `run P(...)` as a statement, or `x = run P(...)`
            exit 2

            1 - 3
            error: a cost must not be negative
             --> <cost>:1:1
              |
            1 | 1 - 3
              | ^^^^^ this is -2
            exit 2

        "#]],
    );
}

#[test]
fn wrong_estimates_have_a_place_of_their_own() {
    let message = |text: &str, language: &str, exprs: &[&str]| {
        let source = ModelSource::text("model", text, language).expect("it is short");
        let exprs = exprs.iter().map(|&it| it.into()).collect();
        let error = source.estimate_expressions(exprs).load();
        error.expect_err("it is refused").to_string()
    };
    expect![[r#"
        error: mismatched types: a heuristic must be a number
         --> <heuristic 2>:1:1
          |
        1 | held
          | ^^^^ this is a `boolean`
          |
          = help: write `held ? 1 : 0`"#]]
    .assert_eq(&message(
        LOCK,
        "murphi",
        &["n", "held", "Proc_2 = turn ? 1 : 0"],
    ));
    expect![[r#"
        error: the heuristic names an element of a scalarset
         --> <heuristic 2>:1:1
          |
        1 | Proc_2 = turn ? 1 : 0
          | ^^^^^^ one of the 3 elements of `Proc`
          |
          = note: symmetry reduction visits one state of those that differ by a renaming of elements only, and the heuristic is not the same in all of them
          = help: say `exists p: Proc do ... end ? 1 : 0`, or run with --symmetry off"#]].assert_eq(&message(LOCK, "murphi", &["n", "Proc_2 = turn ? 1 : 0"]));
    expect![[r#"
        error: a heuristic must not be negative
         --> <heuristic 2>:1:1
          |
        1 | -1
          | ^^ this is -1

        error: this is no number of a state
         --> <heuristic 3>:1:1
          |
        1 | timeout
          | ^^^^^^^
          |
          = note: it mentions `timeout`"#]]
    .assert_eq(&message(PROMELA, "promela", &["a", "-1", "timeout"]));
}

/// In this dialect the numbers of a text decide the type of its integers.
#[test]
fn a_cost_does_not_change_the_arithmetic_of_rumur() {
    let text = "var n: 0..9; startstate n := 0; end; rule n < 9 ==> n := n + 1; end;";
    let by_cost = ["--strategy", "dijkstra"];
    let flags = [&["--dialect", "rumur", "--no-search", "-q"][..], &by_cost].concat();
    let run = check_text(text, &[&flags[..], &["--cost", "n + 200"]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    let run = check_text(text, &[&flags[..], &["--cost", "n + 300"]].concat());
    let wanted = "error: the cost would change how the model computes";
    assert!(run.stderr.contains(wanted), "{}", run.stderr);
    assert_eq!(run.code, 2);
}

#[test]
fn no_flag_takes_estimates_and_graphs_have_no_costs() {
    let run = check_text(LOCK, &["--estimate", "n"]);
    assert_eq!(run.code, 2, "{}", run.stdout);
    let graph = "models/graphs/lossy_chain.aut";
    let run = hadal(&["check", graph, "--cost", "1", "--strategy", "dijkstra"]);
    assert!(
        run.stderr.contains("a graph has no option `cost`"),
        "{}",
        run.stderr
    );
    assert_eq!(run.code, 2);
    let run = hadal(&[
        "generate",
        "models/peterson.m",
        "--cost",
        "1",
        "-o",
        "never.aut",
    ]);
    assert!(
        run.stderr.contains("a graph has no costs"),
        "{}",
        run.stderr
    );
    assert_eq!(run.code, 2);
}
