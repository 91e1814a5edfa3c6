//! Measures of a reduced search: what is accepted has one value at all states of an orbit.

use hadal_ir::interp::{Interpreter, Item, Limits};
use hadal_ir::{Measure, Program, StmtKind, text};
use hadal_model::{Expander, Flow, MeasureKind, Model, PAD_BYTES, States, Stop};
use hadal_murphi::{Options, compile};
use hadal_symmetry::order::Order;
use hadal_syntax::{Renderer, Source};
use hadal_testkit::oracle::{self, Deadlock, search};
use hadal_testkit::random::{Config, program_from_seed};
use hadal_testkit::renaming::{rename, renamings};

const DECLARATIONS: &str = "
type
  Proc: scalarset(3); Node: union { enum { Memory }, Proc };
var
  flag: array [Proc] of boolean; age: array [Proc] of 0..3; next: array [Proc] of Proc;
  dist: array [Proc] of array [Proc] of 0..3; owner: Proc; n: 0..20;
  net: multiset [3] of record src: Proc; n: 0..3; end;
startstate
  for p: Proc do
    flag[p] := false; age[p] := 0; for q: Proc do dist[p][q] := 0; end;
  end;
  n := 0;
end;
";

/// A program whose only rule has become a measure: of the value that its last statement assigns.
fn with_measure(rule: &str) -> Program {
    let text = format!("{DECLARATIONS}{rule}");
    let source = Source::new("test.m", text).expect("it is short");
    let compiled = compile(&source, &Options::default());
    let messages = Renderer::plain().render_all(&source, &compiled.diagnostics);
    let mut program = compiled.program.unwrap_or_else(|| panic!("{messages}"));
    let mut rule = program.rules.pop().expect("there is a rule");
    let last = rule.body.pop().map(|stmt| stmt.kind);
    let Some(StmtKind::Assign { value, .. }) = last else {
        panic!("it assigns the value");
    };
    let hadal_ir::Expr::Defined(_) = program.expr(value) else {
        // A read of what may be undefined is no value of a measure.
        let site = program.expr_site(value);
        let value = program.add_expr(hadal_ir::Expr::Defined(value), site);
        return finish(program, rule, value);
    };
    finish(program, rule, value)
}

fn finish(mut program: Program, rule: hadal_ir::Rule, value: hadal_ir::ExprId) -> Program {
    program.measures.push(Measure {
        kind: MeasureKind::Estimate {
            is_admissible: false,
        },
        name: "measure".to_owned(),
        frame: rule.frame,
        body: rule.body,
        value,
        is_zero_at_faults: false,
        site: rule.site,
    });
    hadal_ir::verify::verify(&program).expect("the measure is sound");
    program
}

fn analyse(rule: &str) -> Result<(), String> {
    let interpreter = Interpreter::new(with_measure(rule), Limits::default());
    // The measure is none of the program's rules and properties.
    let order = Order::of(&interpreter);
    assert!(order.rejections.is_empty() && order.checks.loops.is_empty());
    assert!(order.proved.is_empty());
    Order::of_expression(&interpreter, Item::Measure(0)).map_err(|rejections| {
        let messages = rejections.iter().map(|it| {
            let notes: Vec<&str> = it.notes.iter().map(|note| note.text.as_str()).collect();
            format!("{} {}", it.message, notes.join(" "))
        });
        messages.collect::<Vec<_>>().join("; ")
    })
}

#[track_caller]
fn accepts(rule: &str) {
    assert_eq!(analyse(rule), Ok(()));
}

#[track_caller]
fn refuses(words: &str, rule: &str) {
    let message = analyse(rule).expect_err("it depends on names");
    assert!(message.contains(words), "{message}");
}

#[test]
fn sums_and_extremes_over_elements_are_accepted() {
    accepts("rule var s: 0..99; begin s := 0; for p: Proc do s := s + age[p]; end; n := s; end;");
    accepts(
        "rule var s: 0..99; begin s := 0;
         for p: Proc do if flag[p] then s := s + age[p] + 1; end; end; n := s; end;",
    );
    accepts(
        "rule var s: 0..99; begin s := 9;
         for p: Proc do if flag[p] & age[p] < s then s := age[p]; end; end; n := s; end;",
    );
    // The sum of the largest ones.
    accepts(
        "rule var s: 0..99; m: 0..3; begin s := 0;
         for p: Proc do
           m := 0;
           for q: Proc do if dist[p][q] > m then m := dist[p][q]; end; end;
           s := s + m;
         end; n := s; end;",
    );
    accepts(
        "rule var s: 0..99; begin s := 0;
         for p: Proc do alias a: age[p] do if a > s then s := a; end; end; end;
         n := s + (isundefined(owner) ? 0 : age[owner]); end;",
    );
    accepts("rule var s: 0..99; begin n := multisetcount(m: net, net[m].n > 0); end;");
}

#[test]
fn what_depends_on_names_is_refused() {
    refuses(
        "changes `s`",
        "rule var s: 0..99; begin s := 0;
         for p: Proc do s := (2 * s + age[p]) % 100; end; n := s; end;",
    );
    refuses(
        "last",
        "rule var s: 0..99; begin s := 0; for p: Proc do s := age[p]; end; n := s; end;",
    );
    // A sum that goes both ways may leave its range on the way.
    refuses(
        "changes `s`",
        "rule var s: 0..9; begin s := 0;
         for p: Proc do s := s + age[p] - 1; end; n := s; end;",
    );
}

#[test]
fn an_element_is_no_value() {
    let mut program = with_measure("rule begin n := age[owner]; end;");
    let owner = program.vars.iter().position(|var| var.name == "owner");
    let owner = hadal_ir::VarId::new(owner.expect("it is declared"));
    let site = program.measures[0].site;
    let read = hadal_ir::Expr::Read(hadal_ir::Place::var(owner));
    let read = program.add_expr(read, site);
    program.measures[0].value = program.add_expr(hadal_ir::Expr::Defined(read), site);
    assert_eq!(hadal_ir::verify::verify(&program), Ok(()));
    let interpreter = Interpreter::new(program, Limits::default());
    let rejections = Order::of_expression(&interpreter, Item::Measure(0));
    let rejections = rejections.expect_err("it is a name");
    assert!(rejections[0].message.contains("element of a scalarset"));
}

/// The value of each measure of a state; `None` where there is none.
fn values(expander: &mut dyn Expander, state: &[u8], n_measures: usize) -> Vec<Option<u32>> {
    let mut bytes = state.to_vec();
    bytes.extend([0; PAD_BYTES]);
    let mut values = Vec::new();
    let flow = expander.measure(States::new(&bytes, state.len(), 1), &mut values);
    match flow {
        Ok(flow) => assert_eq!(flow, Flow::Done),
        // Those before it have values; for those behind it, it decides.
        Err(unmeasured) => values.truncate(unmeasured.measure as usize),
    }
    let mut values: Vec<Option<u32>> = values.into_iter().map(Some).collect();
    values.resize(n_measures, None);
    values
}

/// All renamings of all reachable states are the oracle.
#[test]
fn accepted_measures_of_random_programs_have_one_value_at_all_states_of_an_orbit() {
    let (mut n_accepted, mut n_with_loops, mut n_dependent, mut n_images) = (0, 0, 0, 0u64);
    for seed in 0..4000 {
        let config = Config {
            symmetric: true,
            measures: true,
            faults: if seed % 4 == 0 { 0.1 } else { 0.0 },
            max_state_bits: 20,
            max_properties: 0,
            ..Config::default()
        };
        let mut program = program_from_seed(seed, &config);
        // One at a time, so that no other one hides it.
        program.measures.truncate(1);
        let model = Interpreter::new(program.clone(), Limits::default());
        let accepted = Order::of_expression(&model, Item::Measure(0)).is_ok();
        let options = oracle::Options {
            deadlock: Deadlock::Off,
            max_states: 1000,
        };
        let renamings = renamings(&program);
        let stop = Stop::new();
        let mut expander = model.expander(&stop);
        let mut is_dependent = false;
        for state in search(&model, &options).states.iter().rev().take(100) {
            let here = values(&mut *expander, state, 1);
            for renaming in &renamings {
                let image = rename(&program, renaming, state);
                let there = values(&mut *expander, &image, 1);
                is_dependent |= here != there;
                n_images += 1;
                assert!(
                    here == there || !accepted,
                    "seed {seed}: {here:?} but {there:?} by {renaming:?} of {:?}\n{}",
                    model.describe_state(state),
                    text::print(&program)
                );
            }
        }
        n_dependent += usize::from(is_dependent);
        if accepted {
            n_accepted += 1;
            let is_proved = Order::of(&of_rule(&program)).proved.len();
            n_with_loops += usize::from(is_proved > 0);
        }
    }
    println!(
        "{n_accepted} accepted, {n_with_loops} with loops, {n_dependent} dependent, {n_images}"
    );
    assert!(n_accepted > 1000, "{n_accepted}");
    assert!(n_with_loops > 200, "{n_with_loops}");
    assert!(n_dependent > 10, "{n_dependent}");
}

/// The program with its measure as the body of its only rule.
fn of_rule(program: &Program) -> Interpreter {
    let mut program = program.clone();
    let measure = program.measures.pop().expect("there is one");
    program.rules = vec![hadal_ir::Rule {
        name: "measure".to_owned(),
        params: Vec::new(),
        frame: measure.frame,
        priority: 0,
        cost: 1,
        guard: hadal_ir::Guard::always(),
        body: measure.body,
        site: measure.site,
    }];
    Interpreter::new(program, Limits::default())
}
