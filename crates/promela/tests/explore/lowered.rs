//! Lowered programs, interpreted and compiled, against the naive explorer.
//!
//! `HADAL_LOWER_SEED` is the first seed, `HADAL_LOWER_RUNS` the number of random programs.

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::ops::ControlFlow;

use hadal_ir::Program as Ir;
use hadal_ir::interp::{Interpreter, Limits};
use hadal_jit::Native;
use hadal_model::{FaultKind, Model, PAD_BYTES, States, Stop, Successors, for_each_batch};
use hadal_promela::lower::{LowerOptions, lower, lower_product};
use hadal_promela::{Options, asked, compile};
use hadal_steps::Steps;
use hadal_syntax::Source;
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

use crate::explorer::{Counts, Error, Explorer};
use crate::generate;
use crate::product::Product;
use crate::spin::from_environment;

const MAX_STATES: u64 = 30_000;

/// Explores the states at rest of a lowered program.
fn explore(model: &dyn Model) -> Counts {
    let stop = Stop::new();
    let mut expander = model.expander(&stop);
    let shape = model.shape();
    let mut out = Successors::new(shape, 7);
    let mut counts = Counts {
        states: 0,
        edges: 0,
        errors: BTreeSet::new(),
        complete: true,
    };
    let (mut seen, mut queue) = (HashSet::new(), VecDeque::new());
    let mut source: Option<Vec<u8>> = None;
    loop {
        let bytes = source.as_deref();
        let block = bytes.map(|bytes| States::new(bytes, shape.state_len, 1));
        let drained = for_each_batch(&mut *expander, block, &mut out, |_, out| {
            for state in out.states().iter() {
                if seen.insert(state.to_vec()) {
                    queue.push_back(state.to_vec());
                }
            }
            ControlFlow::<()>::Continue(())
        });
        assert!(drained.is_ok(), "no one stops it");
        let facts = &out.sources()[0];
        for fault in &facts.faults {
            counts.errors.insert(kind(fault.kind));
        }
        if source.is_some() {
            counts.edges += facts.fired;
            let is_stuck = facts.enabled == 0 && !facts.may_end;
            if is_stuck && facts.faults.is_empty() {
                counts.errors.insert(Error::InvalidEndState);
            }
        }
        if seen.len() as u64 > MAX_STATES {
            counts.complete = false;
            return counts;
        }
        let Some(mut next) = queue.pop_front() else {
            counts.states = seen.len() as u64;
            return counts;
        };
        next.resize(shape.state_len + PAD_BYTES, 0);
        source = Some(next);
    }
}

fn kind(kind: FaultKind) -> Error {
    match kind {
        FaultKind::Assertion => Error::Assertion,
        FaultKind::Index => Error::Index,
        FaultKind::Division => Error::DivisionByZero,
        FaultKind::BadChannel => Error::BadChannel,
        FaultKind::Range => Error::BadPriority,
        FaultKind::BlockedDStep => Error::DStepBlocks,
        FaultKind::ProcessLimit => Error::TooManyProcesses,
        FaultKind::AtomicCycle | FaultKind::LoopLimit => Error::EndlessAtomic,
        FaultKind::ChannelLimit => Error::TooManyChannels,
        FaultKind::Claim => Error::Claim,
        kind => panic!("no program has {kind}"),
    }
}

/// Whether counts are equal. Behind an error other than an assertion there is no step, so whether
/// the state is an invalid end, too, is a matter of taste.
fn are_equal(found: &Counts, expected: &Counts) -> bool {
    // SPIN ends at a `d_step` that blocks, so that there is nothing to agree with.
    let blocks = |counts: &Counts| {
        let kinds = [Error::DStepBlocks, Error::DStepRendezvous];
        kinds.iter().any(|kind| counts.errors.contains(kind))
    };
    if blocks(found) && blocks(expected) {
        return true;
    }
    let mut errors = expected.errors.clone();
    let ends = |error: &Error| !matches!(error, Error::Assertion | Error::InvalidEndState);
    if errors.iter().any(ends) && !found.errors.contains(&Error::InvalidEndState) {
        errors.remove(&Error::InvalidEndState);
    }
    (found.states, found.edges, &found.errors) == (expected.states, expected.edges, &errors)
}

/// What differs between the lowered program and the explorer.
pub(crate) fn difference(text: &str) -> Option<String> {
    let source = Source::new("test.pml", text).unwrap();
    let compiled = compile(source, &Options::default(), &mut |_| None);
    let program = compiled.program.as_ref()?;
    // SPIN does not combine priorities with rendezvous channels: there is nothing to agree with.
    let has_rendezvous = program.channels.iter().any(|it| it.capacity == 0);
    if program.uses_priorities && has_rendezvous {
        return None;
    }
    let expected = Explorer::new(program).explore(MAX_STATES);
    if !expected.complete {
        return None;
    }
    let lowered = match lower(program, &compiled.text, &options()) {
        Ok(lowered) => lowered.ir,
        Err(diagnostics) => return Some(format!("not lowered: {diagnostics:?}")),
    };
    difference_of(lowered, &expected, are_equal)
}

fn options() -> LowerOptions {
    LowerOptions {
        instances: 12,
        ..LowerOptions::default()
    }
}

/// What differs between the products with the first claim or formula; none where these cannot be
/// compared.
fn compare_products(text: &str) -> Option<Result<(), String>> {
    let source = Source::new("test.pml", text).unwrap();
    let compiled = compile(source, &Options::default(), &mut |_| None);
    let program = compiled.program.as_ref()?;
    let has_rendezvous = program.channels.iter().any(|it| it.capacity == 0);
    if program.uses_priorities && has_rendezvous {
        return None;
    }
    let asked = asked(program);
    let claim = asked.first()?.claim.as_ref().ok()?;
    let expected = Explorer::new(program).explore_product(claim, Product::Plain, MAX_STATES);
    // Assertions are no part of a product; behind other errors there are no steps.
    let is_plain = |error: &Error| matches!(error, Error::Claim | Error::Assertion);
    if !expected.complete || !expected.errors.iter().all(is_plain) {
        return None;
    }
    let lowered = lower_product(program, claim, "claim", &compiled.text, &options());
    let lowered = match lowered {
        Ok(lowered) => lowered.ir,
        Err(diagnostics) => return Some(Err(format!("not lowered: {diagnostics:?}"))),
    };
    let violates = |counts: &Counts| counts.errors.contains(&Error::Claim);
    let difference = difference_of(lowered, &expected, |found, expected| {
        (found.states, found.edges, violates(found))
            == (expected.states, expected.edges, violates(expected))
    });
    Some(difference.map_or(Ok(()), Err))
}

/// What differs between a lowered program and what is expected of it.
fn difference_of(
    lowered: Ir,
    expected: &Counts,
    are_equal: impl Fn(&Counts, &Counts) -> bool,
) -> Option<String> {
    if let Err(errors) = hadal_ir::verify::verify(&lowered) {
        return Some(format!("malformed: {errors:?}"));
    }
    let interpreter = Interpreter::new(lowered.clone(), Limits::default());
    let native = Native::new(lowered, Limits::default()).unwrap();
    let models: [&dyn Model; 2] = [&interpreter, &native];
    for (model, name) in models.into_iter().zip(["interpreted", "native"]) {
        let found = match model.shape().register_bits {
            0 => explore(model),
            _ => explore(&Steps::new(model)),
        };
        if !are_equal(&found, expected) {
            return Some(format!("{name}: {found:?}, expected {expected:?}"));
        }
    }
    None
}

#[test]
fn random_programs_have_the_counts_of_the_explorer() {
    let seed = from_environment("HADAL_LOWER_SEED", 0);
    let n_runs = from_environment("HADAL_LOWER_RUNS", 60);
    let mut failures = Vec::new();
    for seed in seed..seed + n_runs {
        let text = generate::program(&mut Pcg64Mcg::seed_from_u64(seed)).text;
        if let Some(difference) = difference(&text) {
            eprintln!("seed {seed}:\n{text}\n{difference}");
            failures.push(seed);
        }
    }
    let n = failures.len();
    assert!(failures.is_empty(), "{n} seeds differ: {failures:?}");
}

/// Compares a model that compiles.
#[track_caller]
fn check(text: &str) {
    crate::explore(text);
    assert_eq!(difference(text), None);
}

#[test]
fn timeouts_in_provided() {
    let text = "byte x; active proctype A() { x = 1; (x == 2) }
        active proctype B() provided (timeout) { x = 2 }";
    assert_eq!(difference(text), None);
}

#[test]
fn hidden_variables_that_are_never_read_are_no_part_of_the_state() {
    let text = "hidden byte h; byte x; active proctype A() { L: x = 1 - x; h = h2; goto L }";
    assert_eq!(difference(&text.replace("h2", "x + 1")), None);
    assert_eq!(difference(&text.replace("h2", "h + 1")), None);
}

#[test]
fn statements_of_one_rule_read_last() {
    let text = "byte x; active proctype A() { x = 1 }
        active proctype B() { atomic { skip; x = _last; (x == 1); x = 3 } }";
    assert_eq!(difference(text), None);
}

#[test]
fn there_are_at_most_255_channels_in_the_initial_state() {
    let refused = |text: &str| {
        let source = Source::new("test.pml", text).unwrap();
        let compiled = compile(source, &Options::default(), &mut |_| None);
        let lowered = lower(&compiled.program.unwrap(), &compiled.text, &options());
        lowered.err().map(|it| it[0].message.clone())
    };
    let message = "more than 255 channels in the initial state".to_owned();
    let global = |n: usize| {
        format!(
            "chan q[{n}] = [1] of {{ byte }}; init {{ run R(q[{last}]) }}
             proctype R(chan c) {{ c!7; assert(len(q[{last}]) == 0) }}",
            last = n - 1
        )
    };
    assert_eq!(refused(&global(300)), Some(message.clone()));
    assert_eq!(refused(&global(256)), Some(message.clone()));
    assert_eq!(refused(&global(255)), None);
    check(&global(255));
    let local = "active [128] proctype R() { chan a[2] = [1] of { byte }; a[1]!7 }";
    assert_eq!(refused(local), Some(message));
}

#[test]
fn long_d_steps_are_not_nested() {
    let text = |body: &str| format!("byte x; active proctype P() {{ d_step {{ x = 1; {body} }} }}");
    let waits = "x == 1; ".repeat(500);
    check(&text(&waits));
    let selections = "if :: x == 2 -> goto L :: else fi; ".repeat(500);
    check(&text(&format!("{selections} L: x = 3")));
    let blocks = "x == 1; ".repeat(20) + "x == 2";
    check(&text(&blocks));
}

#[test]
fn processes_are_looked_up_among_many() {
    let text = "byte x, n; active [200] proctype Q() { byte v = _pid + 1; L: (n == 1); v = 0 }
        active proctype P() { x = Q[7]:v; assert(x == 8 && Q[199]@L && !Q[200]@L);
            x = pc_value(12); assert(x == pc_value(150)) }";
    check(text);
    // Room for 1,200 processes.
    let text = "byte x, n; proctype A() { skip } proctype B() { skip } proctype C() { skip }
        proctype D() { skip } proctype E() { skip }
        active [200] proctype Q() { (n == 1); run A(); run B(); run C(); run D(); run E() }
        active proctype P() { x = pc_value(12); assert(x == pc_value(150)) }";
    check(text);
}

#[test]
fn whether_others_can_move_is_asked_in_one_place() {
    let text = "byte x; active [40] proctype P() priority 2 { BODY }";
    let text = text.replace("BODY", &"x = 1; ".repeat(40));
    let source = Source::new("test.pml", &text).unwrap();
    let compiled = compile(source, &Options::default(), &mut |_| None);
    let lowered = lower(&compiled.program.unwrap(), &compiled.text, &options());
    let n_exprs = lowered.unwrap().ir.exprs.len();
    assert!(n_exprs < 2_000, "{n_exprs} expressions for 40 statements");
}

#[test]
fn an_escape_of_many_options_is_asked_for_in_one_place() {
    let escape = "if :: x == 9 -> l = 3 :: x == 1 && l == 1 -> l = 4 :: q?l -> l = 8
        :: x == 2 && _pid == 1 -> l = 5 :: q??[7] :: timeout -> l = 7 fi";
    let body = "l = 1; x++; l = 2; q!l; if :: x > 1 -> x-- :: x <= 1 -> l = 9 fi; l == 3";
    for n in [1, 2, 3] {
        let declared = format!("byte x; chan q = [1] of {{ byte }}; active [{n}] proctype P()");
        let text = |body: &str| format!("{declared} {{ byte l; {body}; x = 0 }}");
        check(&text(&format!("{{ {body} }} unless {{ {escape} }}")));
        // One inside another, and one that has `else`.
        let inner = format!("{{ {body} }} unless {{ x == 3 -> l = 6 }}");
        check(&text(&format!(
            "{{ skip; {inner}; skip }} unless {{ {escape} }}"
        )));
        let escape = escape.replace("fi", ":: else -> l = 2 fi");
        check(&text(&format!("{{ {body} }} unless {{ {escape} }}")));
    }
    let n_exprs = |n: usize| {
        let options = ":: x == 1 && x < 7 -> x = 2 ".repeat(40);
        let body = "x = 1; ".repeat(n);
        let escape = format!("unless {{ if {options} fi }}");
        let text = format!("byte x; init {{ {{ {{ {body} }} {escape} }} {escape} }}");
        let source = Source::new("test.pml", &text).unwrap();
        let compiled = compile(source, &Options::default(), &mut |_| None);
        let lowered = lower(&compiled.program.unwrap(), &compiled.text, &self::options());
        lowered.unwrap().ir.exprs.len()
    };
    // At each statement each edge of the inner escape asks for the outer one, by one call.
    let more = n_exprs(60) - n_exprs(20);
    assert!(more < 40 * 2_500, "{more} expressions for 40 statements");
}

/// An escape of many options is asked for by a function, and options of the same text may be of
/// different variables.
#[test]
fn escapes_are_those_of_the_process_and_of_the_block() {
    let escape = "unless { if :: (v == 0) :: (v == 3) :: (v == 4) :: (v == 5) :: (v == 6) fi }";
    check(&format!(
        "byte x; active [2] proctype P() {{ byte v = _pid; {{ do :: x = 1 - x od }} {escape} }}"
    ));
    check(&format!(
        "byte x; inline I() {{ {{ do :: x = 1 - x od }} {escape} }}
         active proctype P() {{ {{ byte v = 0; I() }}; {{ byte v = 9; I() }} }}"
    ));
}

#[test]
fn random_products_have_the_counts_of_the_explorer() {
    let seed = from_environment("HADAL_LOWER_SEED", 0);
    let n_runs = from_environment("HADAL_LOWER_RUNS", 40);
    let (mut n_equal, mut failures) = ([0, 0], Vec::new());
    for seed in seed..seed + n_runs {
        for (kind, generate) in [generate::claimed, generate::with_formula]
            .iter()
            .enumerate()
        {
            let text = generate(&mut Pcg64Mcg::seed_from_u64(seed)).text;
            match compare_products(&text) {
                None => {}
                Some(Ok(())) => n_equal[kind] += 1,
                Some(Err(difference)) => {
                    eprintln!("seed {seed}:\n{text}\n{difference}");
                    failures.push(seed);
                }
            }
        }
    }
    eprintln!(
        "equal: {} with never claims, {} with formulas",
        n_equal[0], n_equal[1]
    );
    assert!(n_equal.iter().all(|&n| n > 0), "nothing was compared");
    let n = failures.len();
    assert!(failures.is_empty(), "{n} seeds differ: {failures:?}");
}

/// Prints the program of the first seed.
#[test]
#[ignore = "prints only"]
fn print_program() {
    let seed = from_environment("HADAL_LOWER_SEED", 0);
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    eprintln!("{}", generate::program(&mut rng).text);
}
