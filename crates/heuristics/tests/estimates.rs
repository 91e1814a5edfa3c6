//! Estimates of random programs: both engines agree on them, they are 0 where a property is violated,
//! and what is claimed to be admissible is never more than the least cost of a run to a violation, by
//! brute force.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;

use hadal_heuristics::{Chosen, Deadlocks, EstimateError, Parsed, Question, add_estimate};
use hadal_ir::Program;
use hadal_ir::interp::{Interpreter, Limits};
use hadal_ir::verify::verify;
use hadal_jit::Native;
use hadal_model::{
    Expander, Flow, MeasureKind, Model, PAD_BYTES, States, Stop, Successors, for_each_batch,
};
use hadal_murphi::{Options, compile};
use hadal_syntax::{Renderer, Source};
use hadal_testkit::agreement::{Bounds, compare};
use hadal_testkit::fuzz::with_seeds;
use hadal_testkit::random::{Config, program_from_seed};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;

const REQUESTS: [&str; 9] = [
    "auto",
    "active",
    "formula",
    "control",
    "blocked",
    "sum(formula)",
    "sum(control)",
    "sum(active,formula),control",
    "blocked,formula",
];

/// Adds an estimate; the program must be well-formed with it.
fn add(program: &mut Program, request: &str, deadlocks: bool) -> Result<Chosen, EstimateError> {
    let parsed = Parsed::new(request).expect("it is a request");
    let chosen = add_estimate(
        program,
        &Question {
            parsed: &parsed,
            expressions: &[],
            target: None,
            deadlocks: match deadlocks {
                true => Deadlocks::Stuttering,
                false => Deadlocks::None,
            },
            has_processes: false,
            own_costs: true,
        },
    )?;
    if let Err(errors) = verify(program) {
        panic!(
            "{request}: {}\n{}",
            errors[0],
            hadal_ir::text::print(program)
        );
    }
    Ok(chosen)
}

#[test]
fn both_engines_agree_on_estimates_of_random_programs() {
    let (mut n_estimates, mut n_measured) = (0, 0);
    for seed in 0..400 {
        let config = Config {
            violations: 0.5,
            symmetric: seed % 3 == 0,
            totals: [0.0, 0.5][seed as usize % 2],
            ..Config::default()
        };
        let original = program_from_seed(7000 + seed, &config);
        let request = REQUESTS[seed as usize % REQUESTS.len()];
        let mut program = original.clone();
        if add(&mut program, request, true).is_err() {
            continue;
        }
        n_estimates += 1;
        let interpreter = Interpreter::new(program.clone(), Limits::default());
        let native = Native::new(program, Limits::default()).expect("it can be compiled");
        let bounds = Bounds {
            max_states: 300,
            until: None,
            block_len: 7,
            capacity: 64,
        };
        let compared = compare(&interpreter, &native, None, &bounds);
        let compared = compared.unwrap_or_else(|error| panic!("seed {seed}, {request}: {error}"));
        assert_eq!(compared.n_unmeasured, 0, "seed {seed}, {request}");
        n_measured += compared.n_measured;
    }
    assert!(
        n_estimates > 250 && n_measured > 10_000,
        "{n_estimates} {n_measured}"
    );
}

/// A state graph, with the estimate of each state and whether an invariant is false there.
#[derive(Default)]
struct Explored {
    estimates: Vec<u32>,
    is_violated: Vec<bool>,
    /// By source: targets and costs.
    edges: Vec<Vec<(usize, u32)>>,
}

/// More states take too long.
const MOST_STATES: usize = 3000;

/// All states of a program; `None` if they are too many.
fn explore(program: &Program) -> Option<Explored> {
    let model = Interpreter::new(program.clone(), Limits::default());
    let stop = Stop::new();
    let mut expander = model.expander(&stop);
    let len = model.shape().state_len;
    let mut numbers: HashMap<Vec<u8>, usize> = HashMap::new();
    let mut states: Vec<Vec<u8>> = Vec::new();
    let mut explored = Explored::default();
    let mut out = Successors::with_costs(model.shape(), 1 << 10);
    let mut steps = |expander: &mut dyn Expander, block: Option<States<'_>>| {
        let mut steps = Vec::new();
        let all = for_each_batch(expander, block, &mut out, |_, out| {
            steps.extend((0..out.len()).map(|at| (out.state(at).to_vec(), out.cost(at))));
            ControlFlow::<()>::Continue(())
        });
        assert!(all.is_ok());
        steps
    };
    let mut number_of = |state: Vec<u8>, states: &mut Vec<Vec<u8>>| {
        let next = numbers.len();
        let number = *numbers.entry(state.clone()).or_insert(next);
        if number == next {
            states.push(state);
        }
        number
    };
    for (state, _) in steps(&mut *expander, None) {
        number_of(state, &mut states);
    }
    let mut next = 0;
    while let Some(state) = states.get(next).cloned() {
        if states.len() > MOST_STATES {
            return None;
        }
        next += 1;
        let mut padded = state;
        padded.resize(len + PAD_BYTES, 0);
        let block = States::new(&padded, len, 1);
        let (mut failures, mut values) = (Vec::new(), Vec::new());
        assert_eq!(expander.check(block, &mut failures), Flow::Done);
        assert_eq!(expander.measure(block, &mut values), Ok(Flow::Done));
        explored.estimates.push(values[0]);
        let is_false = failures.iter().any(|failure| failure.fault.is_none());
        explored.is_violated.push(is_false);
        let edges = steps(&mut *expander, Some(block)).into_iter();
        let edges = edges.map(|(state, cost)| (number_of(state, &mut states), cost));
        explored.edges.push(edges.collect());
    }
    Some(explored)
}

/// By state, the least cost of a run to a violation.
fn distances(explored: &Explored) -> Vec<Option<u64>> {
    let mut distances: Vec<Option<u64>> = explored
        .is_violated
        .iter()
        .map(|&is_violated| is_violated.then_some(0))
        .collect();
    loop {
        let before = distances.clone();
        for (source, edges) in explored.edges.iter().enumerate() {
            for &(target, cost) in edges {
                if let Some(rest) = distances[target] {
                    let through = rest + u64::from(cost);
                    let least = distances[source].unwrap_or(through);
                    distances[source] = Some(least.min(through));
                }
            }
        }
        if distances == before {
            return distances;
        }
    }
}

fn is_admissible(program: &Program) -> bool {
    let measure = program.measures.last().expect("it was added");
    matches!(
        measure.kind,
        MeasureKind::Estimate {
            is_admissible: true
        }
    )
}

/// Processes that move through points by random rules, and a random invariant about them.
fn random_control(rng: &mut Pcg64Mcg) -> String {
    let n_processes = rng.random_range(1..=3);
    let n_points = rng.random_range(3..=6);
    let points: Vec<String> = (0..n_points).map(|n| format!("p{n}")).collect();
    let point = |rng: &mut Pcg64Mcg| points[rng.random_range(0..n_points)].clone();
    let index_type = match rng.random_range(0..2) {
        0 => format!("0..{}", n_processes - 1),
        _ => format!("scalarset({n_processes})"),
    };
    let mut text = format!(
        "type Proc: {index_type}; Point: enum {{ {} }};\n\
         var at: array [Proc] of Point; other: Point; done: record a: Point; n: 0..3; end;\n\
         procedure move(var x: Point; to_point: Point); begin x := to_point; end;\n\
         startstate for p: Proc do at[p] := p0; end; other := p0; done.a := p1; done.n := 0; end;\n\
         ruleset p: Proc do\n",
        points.join(", ")
    );
    for rule in 0..rng.random_range(3..9) {
        let (number, more) = (rng.random_range(0..n_points), point(rng));
        let from = points[number].clone();
        // Mostly the next point, so that some are far.
        let to = match rng.random_range(0..4) {
            0 => point(rng),
            _ => points[(number + 1) % n_points].clone(),
        };
        let guard = match rng.random_range(0..10) {
            0 => format!("(at[p] = {from} | at[p] = {more})"),
            1 => format!("at[p] = {from} & other != {more}"),
            2 => format!("other = {from} & done.n < 2"),
            _ => format!("at[p] = {from}"),
        };
        let body = match rng.random_range(0..30) {
            0 => format!("other := {to};"),
            1 => format!("at[p] := {more}; at[p] := {to};"),
            2 => format!("if other = {more} then at[p] := {to}; else done.a := {to}; end;"),
            3 => format!("move(at[p], {to});"),
            4 => "clear done;".to_owned(),
            5 => "other := at[p];".to_owned(),
            6 => format!("done.n := (done.n + 1) % 4; at[p] := {to};"),
            7 => format!("alias x: at[p] do x := {to}; end; done.a := {more};"),
            _ => format!("at[p] := {to};"),
        };
        text += &format!("rule \"r{rule}\" {guard} ==> begin {body} end;\n");
    }
    text += "end;\n";
    let (one, two) = (point(rng), point(rng));
    let holds = match rng.random_range(0..7) {
        0 => format!("forall p: Proc do at[p] != {one} end"),
        1 => format!(
            "forall p: Proc do forall q: Proc do p != q -> !(at[p] = {one} & at[q] = {two}) end end"
        ),
        2 => format!("exists p: Proc do at[p] != {one} end"),
        3 => format!("other != {one} | done.a != {two}"),
        4 => format!("other = {one} -> exists p: Proc do at[p] = {two} end"),
        5 => format!("!(done.n = 3 & other = {one})"),
        _ => format!("other != {one} & done.a != {two}"),
    };
    text + &format!("invariant \"random\" {holds};\n")
}

fn translated(text: &str) -> Program {
    let source = Source::new("random.m", text).expect("it is short");
    let compiled = compile(&source, &Options::default());
    let shown = Renderer::plain().render_all(&source, &compiled.diagnostics);
    compiled
        .program
        .unwrap_or_else(|| panic!("{text}\n{shown}"))
}

#[test]
fn what_is_claimed_to_be_admissible_is() {
    let seeds = std::env::var("HADAL_SEEDS").ok();
    let n_seeds = seeds.and_then(|n| n.parse().ok()).unwrap_or(400);
    let informed = std::sync::atomic::AtomicU64::new(0);
    let claimed = std::sync::atomic::AtomicU64::new(0);
    with_seeds(n_seeds, |rng| {
        let text = random_control(rng);
        let original = translated(&text);
        for request in [
            "formula",
            "control",
            "formula,control",
            "formula:random",
            "sum(formula)",
        ] {
            let mut program = original.clone();
            add(&mut program, request, false).expect("there is an invariant");
            let Some(explored) = explore(&program) else {
                return;
            };
            let is_admissible = is_admissible(&program);
            let distances = distances(&explored);
            for (state, &distance) in distances.iter().enumerate() {
                let estimate = explored.estimates[state];
                if distance == Some(0) {
                    assert_eq!(estimate, 0, "{request} where it is violated\n{text}");
                }
                if let Some(distance) = distance.filter(|_| is_admissible) {
                    assert!(
                        u64::from(estimate) <= distance,
                        "{request} is {estimate} at state {state}, {distance} from a violation\n{text}"
                    );
                    claimed.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    let is_informed = u64::from(estimate > 1);
                    informed.fetch_add(is_informed, std::sync::atomic::Ordering::Relaxed);
                }
            }
            assert!(!is_admissible || !request.contains("sum"), "{request}");
        }
        // A heuristic for one invariant says nothing about another.
        let more = format!("{text} invariant \"more\" other != p1;\n");
        let mut program = translated(&more);
        add(&mut program, "formula:random", false).expect("there is an invariant");
        assert!(!is_admissible(&program), "{more}");
    });
    let (claimed, informed) = (claimed.into_inner(), informed.into_inner());
    assert!(
        claimed > 20 * n_seeds && informed > n_seeds,
        "{claimed} claims, {informed} of more than a step"
    );
}

#[test]
fn a_formula_is_a_number_by_its_parts() {
    let model = |invariant: &str| {
        translated(&format!(
            "type Proc: 0..2; Point: enum {{ a, b, c, d }};\n\
             var x: 0..9; at: array [Proc] of Point; u: 0..9;\n\
             startstate x := 3; for p: Proc do at[p] := a; end; undefine u; end;\n\
             ruleset p: Proc do\n\
               rule \"b\" at[p] = a ==> at[p] := b; end;\n\
               rule \"c\" at[p] = b ==> at[p] := c; end;\n\
               rule \"d\" at[p] = c ==> at[p] := d; end;\n\
             end;\n\
             invariant \"i\" {invariant};\n"
        ))
    };
    let table = [
        // At the startstate all are at a, three steps from d, and x is 3.
        ("x != 7", "formula", 4),
        ("x < 7", "formula", 4),
        ("x <= 7", "formula", 5),
        ("x > 1", "formula", 2),
        ("x = 3", "formula", 1),
        ("exists p: Proc do at[p] != d end", "formula", 3),
        ("exists p: Proc do at[p] != d end", "sum(formula)", 9),
        ("forall p: Proc do at[p] != d end", "formula", 3),
        ("!(at[0] = b & at[1] = d)", "formula", 3),
        ("!(at[0] = b & at[1] = d)", "sum(formula)", 4),
        ("!(at[0] = b & at[1] = d & x = 9)", "sum(control)", 4),
        // No two are ever one.
        (
            "forall p: Proc do forall q: Proc do p = q | at[p] != c | at[q] != b end end",
            "sum(formula)",
            3,
        ),
        // What is undefined is one step away.
        ("isundefined(u) | u != 8", "formula", 1),
        ("isundefined(u) | u != 8", "sum(formula)", 2),
    ];
    for (invariant, request, expected) in table {
        let mut program = model(invariant);
        add(&mut program, request, false).expect("there is an invariant");
        let explored = explore(&program).expect("it is small");
        assert_eq!(explored.estimates[0], expected, "{request} of {invariant}");
    }
}

#[test]
fn counts_are_like_quantifiers() {
    // The same property with interchangeable elements and with numbers.
    let model = |proc: &str, invariant: &str| {
        translated(&format!(
            "type Proc: {proc}; Point: enum {{ a, b, c, d }};\n\
             var at: array [Proc] of Point;\n\
             startstate for p: Proc do at[p] := a; end; end;\n\
             ruleset p: Proc do\n\
               rule \"b\" at[p] = a ==> at[p] := b; end;\n\
               rule \"c\" at[p] = b ==> at[p] := c; end;\n\
               rule \"d\" at[p] = c ==> at[p] := d; end;\n\
             end;\n\
             invariant \"i\" {invariant};\n"
        ))
    };
    for invariant in [
        "forall p: Proc do at[p] != d end",
        "exists p: Proc do at[p] != c end",
        "forall p: Proc do forall q: Proc do p != q -> !(at[p] = d & at[q] = c) end end",
        "(exists p: Proc do at[p] = d end) -> exists q: Proc do at[q] = a end",
    ] {
        for request in ["formula", "sum(formula)", "control"] {
            let mut values: Vec<BTreeMap<u32, usize>> = Vec::new();
            for proc in ["0..3", "scalarset(4)"] {
                let mut program = model(proc, invariant);
                add(&mut program, request, false).expect("there is an invariant");
                let explored = explore(&program).expect("it is small");
                let mut counts = BTreeMap::new();
                for estimate in explored.estimates {
                    *counts.entry(estimate).or_default() += 1;
                }
                values.push(counts);
            }
            assert_eq!(values[0], values[1], "{request} of {invariant}");
            assert!(values[0].len() > 2, "{request} of {invariant}");
        }
    }
}

#[test]
fn who_spins_is_not_active() {
    // Each waits for the other's turn in a rule that is always enabled.
    let text = "type Proc: 0..2; var turn: 0..3; startstate turn := 3; end;\n\
                ruleset p: Proc do\n\
                  rule \"spin\" true ==> if turn = p then turn := (p + 1) % 3; end; end;\n\
                end;\n\
                rule \"start\" turn = 3 ==> turn := 0; end;\n";
    let mut program = translated(text);
    let before = program.rules.clone();
    add(&mut program, "active", true).expect("it looks for deadlocks");
    assert_eq!(program.rules, before, "guards are as they were");
    let explored = explore(&program).expect("it is small");
    assert_eq!(explored.estimates, [1, 1, 1, 1]);
}

#[test]
fn an_assertion_may_call_what_writes_the_state() {
    let text = "var x: 0..3; startstate x := 0; end;\n\
                function next(): 0..3; begin x := (x + 1) % 4; return x; end;\n\
                rule \"step\" x < 3 ==> assert \"small\" next() < 3; end;\n";
    let mut program = translated(text);
    add(&mut program, "formula", false).expect("there is an assertion");
    assert!(explore(&program).is_some());
}

#[test]
fn a_heuristic_needs_something_to_lead_to() {
    let text = "var x: 0..3; startstate x := 0; end; rule x < 3 ==> x := x + 1; end;";
    let try_it = |request: &str, deadlocks: bool| add(&mut translated(text), request, deadlocks);
    for request in ["formula", "sum(control)", "active,formula"] {
        let error = try_it(request, true).expect_err(request);
        assert!(matches!(error, EstimateError::NoAim(_)), "{error}");
    }
    for request in ["active", "blocked"] {
        let error = try_it(request, false).expect_err(request);
        assert!(matches!(error, EstimateError::NoDeadlocks(_)), "{error}");
        assert!(try_it(request, true).is_ok());
    }
    assert_eq!(try_it("hamming", true), Err(EstimateError::NoTarget));
    let nothing = try_it("auto", false).expect("auto is content with nothing");
    assert_eq!(nothing.name, "none");
    let aimed = format!("{text} invariant \"small\" x < 9;");
    let error = add(&mut translated(&aimed), "formula:large", true).expect_err("no such");
    assert_eq!(
        error.to_string(),
        "the heuristic `formula:large` needs an invariant or assertion of that name; there are `small`"
    );
    assert!(add(&mut translated(&aimed), "formula:small", true).is_ok());
}
