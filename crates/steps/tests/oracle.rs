//! Random programs with registers: the wrapper against an oracle that follows every path on its
//! own, over the interpreter and over native code, through buffers of any size.

use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::ControlFlow;
use std::sync::Arc;

use hadal_ir::Program;
use hadal_ir::goals::count_instances;
use hadal_ir::interp::{Interpreter, Limits};
use hadal_jit::Native;
use hadal_model::{
    Allowance, Cursor, Expander, FaultKind, Flow, Model, PAD_BYTES, Source, States, Stop,
    Successors, for_each_batch,
};
use hadal_steps::Steps;
use hadal_testkit::random::{Config, program_from_seed};

/// A successor: state at rest, rule of the first path, paths, cost of the cheapest one.
type Found = (Vec<u8>, u32, u64, u32);

/// The steps of a source.
#[derive(Debug, Default)]
struct Expected {
    found: Vec<Found>,
    source: Source,
    /// Whether some micro step of the source leads to a transient state.
    has_transient: bool,
    /// Class, name and message of the faults.
    faults: Vec<(FaultKind, String, String)>,
    has_cycle: bool,
}

/// More paths than this are not followed one by one.
const MAX_PATHS: usize = 400;

/// Micro successors with their rules, and what happened at their source.
type Micro = (Vec<(Vec<u8>, u32)>, Source);

struct Oracle<'a> {
    expander: Box<dyn Expander + 'a>,
    model: &'a Interpreter,
    known: HashMap<Option<Vec<u8>>, Micro>,
}

impl Oracle<'_> {
    /// The micro successors of a state, with their rules.
    fn micro(&mut self, state: Option<&[u8]>) -> Micro {
        if let Some(known) = self.known.get(&state.map(<[u8]>::to_vec)) {
            return known.clone();
        }
        let len = self.model.shape().state_len;
        let mut bytes = state.unwrap_or_default().to_vec();
        bytes.resize(len + PAD_BYTES, 0);
        let block = state.map(|_| States::new(&bytes, len, 1));
        let mut successors = Vec::new();
        let mut out = Successors::new(self.model.shape(), 1 << 10);
        let all = for_each_batch(&mut *self.expander, block, &mut out, |_, out| {
            successors.extend((0..out.len()).map(|at| (out.state(at).to_vec(), out.rule(at))));
            ControlFlow::<()>::Continue(())
        });
        assert_eq!(all, Ok(ControlFlow::Continue(())));
        let result = (successors, out.sources()[0].clone());
        self.known.insert(state.map(<[u8]>::to_vec), result.clone());
        result
    }

    /// The steps of a source, or of the startstates; `None` where there are too many paths.
    fn steps(&mut self, state: Option<&[u8]>) -> Option<Expected> {
        let shape = self.model.shape();
        let rest_len = (shape.state_bits - shape.register_bits) / 8;
        let costs: Vec<u32> = shape.rules.iter().map(|rule| rule.cost).collect();
        let extended = state.map(|state| {
            let mut state = state.to_vec();
            state.resize(shape.state_len, 0);
            state
        });
        let mut expected = Expected::default();
        // All paths of some length that end in transient states; in a cyclic graph later only
        // those to states not seen on shorter ones.
        let mut paths: Vec<(Option<Vec<u8>>, u32, u32)> = vec![(extended.clone(), u32::MAX, 0)];
        let mut transient: HashSet<Vec<u8>> = HashSet::new();
        let mut n_levels = 0;
        while !paths.is_empty() {
            let mut next = Vec::new();
            let mut lost = Vec::new();
            for (at, first_rule, cost) in std::mem::take(&mut paths) {
                let (successors, source) = self.micro(at.as_deref());
                for fault in &source.faults {
                    let fault = (fault.kind, fault.name.clone(), fault.message.clone());
                    let is_same =
                        |it: &(FaultKind, String, String)| (it.0, &it.1) == (fault.0, &fault.1);
                    if !expected.faults.iter().any(is_same) {
                        expected.faults.push(fault);
                    }
                }
                let is_source = n_levels == 0;
                if is_source {
                    expected.source = source.clone();
                } else if source.enabled == 0 {
                    let state = at.as_ref().expect("transient")[..rest_len].to_vec();
                    lost.push((state, first_rule, cost));
                }
                for (successor, rule) in successors {
                    let first_rule = if is_source { rule } else { first_rule };
                    let cost = cost
                        + match &at {
                            None => 1,
                            Some(_) => costs[rule as usize],
                        };
                    if successor[rest_len..].iter().all(|byte| *byte == 0) {
                        add(
                            &mut expected.found,
                            (successor[..rest_len].to_vec(), first_rule, cost),
                        );
                    } else {
                        expected.has_transient = true;
                        transient.insert(successor.clone());
                        next.push((Some(successor), first_rule, cost));
                    }
                }
            }
            lost.into_iter().for_each(|it| add(&mut expected.found, it));
            n_levels += 1;
            paths = next;
            if n_levels > transient.len() + 1 {
                expected.has_cycle = true;
                return Some(expected);
            }
            if paths.len() > MAX_PATHS {
                return None;
            }
        }
        Some(expected)
    }
}

fn add(found: &mut Vec<Found>, (state, rule, cost): (Vec<u8>, u32, u32)) {
    match found.iter_mut().find(|it| it.0 == state) {
        Some(known) => {
            known.2 += 1;
            known.3 = known.3.min(cost);
        }
        None => found.push((state, rule, 1, cost)),
    }
}

/// All steps of a block, through a buffer of some capacity, and the facts about its sources.
fn expand(
    model: &dyn Model,
    expander: &mut dyn Expander,
    block: Option<States<'_>>,
    capacity: usize,
) -> (Vec<(u32, u32, Found)>, Successors) {
    let mut out = Successors::with_costs(model.shape(), capacity).with_multiplicities();
    out.reset(block.map_or(1, |block| block.len()));
    let mut found = Vec::new();
    let mut from = Cursor::default();
    loop {
        let flow = match block {
            None => expander.starts(from, &mut out),
            Some(block) => expander.expand(block, from, &mut out),
        };
        for at in 0..out.len() {
            let fact = (
                out.state(at).to_vec(),
                out.rule(at),
                out.multiplicity(at),
                out.cost(at),
            );
            found.push((out.source_of(at), out.index(at), fact));
        }
        match flow {
            Flow::Done => return (found, out),
            Flow::Full(cursor) => from = cursor,
            Flow::Stopped => panic!("nobody asked it to stop"),
        }
        out.drain();
    }
}

#[derive(Debug, Default)]
struct Seen {
    n_sources: usize,
    n_several: usize,
    n_multiple: usize,
    n_cycles: usize,
    n_faults: usize,
    n_ends: usize,
    n_inner: usize,
    /// Sources whose micro steps all come to rest at once, in different states or not.
    n_direct: usize,
    n_direct_equal: usize,
    /// Blocks with such sources and others.
    n_mixed: usize,
    /// Values of measures.
    n_measured: usize,
}

/// Compares the steps of one source with those that are expected.
fn compare(expected: &Expected, found: &[(u32, u32, Found)], source: &Source, is_start: bool) {
    let faults = source.faults.iter();
    let faults: Vec<_> = faults
        .filter(|fault| fault.kind != FaultKind::AtomicCycle)
        .map(|fault| (fault.kind, fault.name.clone(), fault.message.clone()))
        .collect();
    let has_cycle = source.faults.len() > faults.len();
    assert_eq!(has_cycle, expected.has_cycle);
    for (number, (_, index, _)) in found.iter().enumerate() {
        assert_eq!(*index as usize, number);
    }
    let facts: Vec<Found> = found.iter().map(|it| it.2.clone()).collect();
    if has_cycle {
        // The states and their order are the same; of paths there is no end.
        let states =
            |facts: &[Found]| -> Vec<Vec<u8>> { facts.iter().map(|fact| fact.0.clone()).collect() };
        assert_eq!(states(&facts), states(&expected.found));
        return;
    }
    assert_eq!(facts, expected.found);
    assert_eq!(faults, expected.faults);
    assert_eq!(source.written as usize, facts.len());
    if !is_start {
        let n_paths = facts.iter().map(|fact| fact.2).sum::<u64>();
        assert_eq!(source.fired, n_paths);
        assert_eq!(source.enabled, expected.source.enabled);
        assert_eq!(source.may_end, expected.source.may_end);
    }
}

/// Compares the measures of states at rest with those of the states that they stand for; returns
/// the number of values.
fn compare_measures(
    tested: &mut dyn Expander,
    oracle: &mut dyn Expander,
    block: States<'_>,
    model: &Interpreter,
) -> usize {
    let len = model.shape().state_len;
    let mut extended = Vec::new();
    for state in block.iter() {
        extended.extend_from_slice(state);
        extended.resize(extended.len() + len - state.len(), 0);
    }
    extended.extend([0x5a; PAD_BYTES]);
    let (mut found, mut expected) = (Vec::new(), Vec::new());
    let result = tested.measure(block, &mut found);
    let other = oracle.measure(States::new(&extended, len, block.len()), &mut expected);
    assert_eq!(result, other);
    match result {
        Ok(_) => assert_eq!(found, expected),
        Err(_) => return 0,
    }
    found.len()
}

fn check(program: &Program, native: bool, capacity: usize, block_len: usize, seen: &mut Seen) {
    let limits = Limits {
        loop_rounds: 20,
        call_depth: 12,
        ..Limits::default()
    };
    let interpreter = Interpreter::new(program.clone(), limits);
    let model: Box<dyn Model> = match native {
        true => Box::new(Native::new(program.clone(), limits).expect("it compiles")),
        false => Box::new(Interpreter::new(program.clone(), limits)),
    };
    let steps = Steps::new(model);
    let len = steps.shape().state_len;
    let stop = Stop::new();
    let mut oracle = Oracle {
        expander: interpreter.expander(&stop),
        model: &interpreter,
        known: HashMap::new(),
    };
    let mut expander = steps.expander(&stop);
    // Another one, which continues where the first one was interrupted.
    let mut other = steps.expander(&stop);
    // With the least memory batches are smaller, and nothing else changes.
    other.limit_memory(Arc::new(Allowance::new(0)));
    let Some(expected) = oracle.steps(None) else {
        return;
    };
    let (found, out) = expand(&steps, &mut *expander, None, capacity);
    compare(&expected, &found, &out.sources()[0], true);

    let mut queue: VecDeque<Vec<u8>> = VecDeque::new();
    let mut known: HashSet<Vec<u8>> = HashSet::new();
    let mut visit = |found: &[(u32, u32, Found)], queue: &mut VecDeque<Vec<u8>>| {
        for (_, _, (state, ..)) in found {
            if known.len() < 80 && known.insert(state.clone()) {
                queue.push_back(state.clone());
            }
        }
    };
    visit(&found, &mut queue);
    while !queue.is_empty() {
        let n = block_len.min(queue.len());
        let sources: Vec<Vec<u8>> = queue.drain(..n).collect();
        let mut bytes = sources.concat();
        bytes.resize(bytes.len() + PAD_BYTES, 0xa5);
        let block = States::new(&bytes, len, n);
        let (found, out) = expand(&steps, &mut *expander, Some(block), capacity);
        let (again, all) = expand(&steps, &mut *other, Some(block), 4096);
        assert_eq!(found, again);
        assert_eq!(out.sources(), all.sources());
        assert_eq!(out.fired_by_rule(), all.fired_by_rule());
        assert_eq!(out.goal_hits(), all.goal_hits());
        seen.n_measured +=
            compare_measures(&mut *expander, &mut *oracle.expander, block, &interpreter);
        let mut kinds = HashSet::new();
        for (number, source) in sources.iter().enumerate() {
            let Some(expected) = oracle.steps(Some(source)) else {
                continue;
            };
            let own: Vec<_> = found
                .iter()
                .filter(|it| it.0 == number as u32)
                .cloned()
                .collect();
            compare(&expected, &own, &out.sources()[number], false);
            let progress = own.iter().any(|it| it.2.0 != *source);
            assert_eq!(out.sources()[number].progress, progress);
            seen.n_sources += 1;
            seen.n_cycles += usize::from(expected.has_cycle);
            seen.n_multiple += usize::from(own.iter().any(|it| it.2.2 > 1));
            seen.n_several += usize::from(own.iter().any(|it| it.2.3 > 5));
            seen.n_faults += usize::from(!expected.faults.is_empty());
            if !expected.has_transient && !own.is_empty() {
                let are_equal = own.iter().any(|it| it.2.2 > 1);
                seen.n_direct += usize::from(!are_equal);
                seen.n_direct_equal += usize::from(are_equal);
            }
            kinds.insert(expected.has_transient);
            seen.n_ends += usize::from(expected.source.may_end);
            // Each is a walk of its own.
            for (_, index, _) in own.iter().take(6) {
                let step = steps
                    .describe_step(Some(source), *index)
                    .expect("it is there");
                seen.n_inner += usize::from(step.inner.len() > 1);
            }
        }
        seen.n_mixed += usize::from(kinds.len() > 1);
        visit(&found, &mut queue);
    }
}

fn run(native: bool, seeds: std::ops::Range<u64>) -> Seen {
    let mut seen = Seen::default();
    for seed in seeds {
        let config = Config {
            totals: 0.2,
            faults: if seed % 4 == 0 { 0.2 } else { 0.02 },
            steps: true,
            measures: true,
            ..Config::default()
        };
        let program = program_from_seed(seed, &config);
        // The oracle is slow on purpose.
        let rules = program.rules.iter().map(|rule| &rule.params);
        let starts = program.starts.iter().map(|start| &start.params);
        if { rules.chain(starts) }.any(|params| count_instances(&program.types, params) > 20) {
            continue;
        }
        let capacity = [1, 2, 5, 64, 4096][seed as usize % 5];
        let block_len = [1, 3, 17, 64][seed as usize % 4];
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            check(&program, native, capacity, block_len, &mut seen);
        }));
        if let Err(panic) = result {
            println!(
                "seed {seed}, native {native}:\n{}",
                hadal_ir::text::print(&program)
            );
            std::panic::resume_unwind(panic);
        }
    }
    println!("{seen:?}");
    seen
}

/// A program of some processes, each at a point of its own, with rules that test a point, set
/// another one and do some more. Native code tells their successors apart by points.
fn processes(seed: u64) -> Program {
    let mut state = seed;
    let mut below = |n: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let n = 1 + below(3);
    let last = n - 1;
    let mut text = format!(
        "(program (file #0 \"processes\") (arithmetic -2147483648 2147483647 wraps) (site @0 #0 0 0)
         (type t0 (total (range 0 {last}))) (type t1 (total (range 0 4))) (type t2 (total (range 0 3)))
         (type t3 (record (\"own\" t2) (\"at\" t1))) (type t4 (array t0 t3))
         (type t5 (total (range 0 {n}))) (type t6 (total (range 0 70000)))
         (var v0 \"p\" t4) (var v1 \"x\" t2) (var v2 \"control\" t5) (var v3 \"hand\" t6)
         (registers 2)"
    );
    for n in 0..5 {
        text += &format!("(expr e{n} @0 (int {n}))");
    }
    text += &format!(
        "(expr e5 @0 (read l0)) (expr e6 @0 (add e5 e1)) (expr e7 @0 (read v2))
         (expr e8 @0 (eq e7 e0)) (expr e9 @0 (eq e7 e6)) (expr e10 @0 (read v1))
         (expr e11 @0 (int {n})) (expr e12 @0 (rem e6 e11)) (expr e13 @0 (int 70000))
         (expr e14 @0 (read (at v0 [e5] .1))) (expr e15 @0 (read (at v0 [e0] .1)))
         (expr e16 @0 (add e10 e1)) (expr e17 @0 (rem e16 e4)) (expr e18 @0 (read v3))
         (expr e19 @0 (eq e18 e0)) (expr e20 @0 (ne e10 e3)) (expr e21 @0 (true))"
    );
    let (mut rules, mut next) = (String::new(), 22);
    for number in 0..3 + below(8) {
        let has_param = below(5) > 0;
        let (own, index) = if has_param {
            ("e14", "e5")
        } else {
            ("e15", "e0")
        };
        let control = match below(6) {
            0 if has_param => "e9",
            1 => "e21",
            _ => "e8",
        };
        let point = match below(12) {
            0 => "e21".to_owned(),
            _ => format!("e{}", next),
        };
        let more = ["e21", "e19", "e20"][below(3) as usize];
        text += &format!("(expr e{next} @0 (eq {own} e{}))", below(3));
        text += &format!("(expr e{} @0 (and {point} {control} {more}))", next + 1);
        let mut body = String::new();
        for _ in 0..below(4) {
            body += &match below(12) {
                0 => format!("(assign @0 (at v0 [{index}] .0) e10)"),
                1 => "(assign @0 v1 e17)".to_owned(),
                2 => "(assign @0 v1 e2)".to_owned(),
                3 if has_param => "(assign @0 v2 e6)".to_owned(),
                4 | 5 => "(assign @0 v2 e0)".to_owned(),
                6 => "(assign @0 v3 e13)".to_owned(),
                7 => "(assign @0 v3 e0)".to_owned(),
                8 | 9 if has_param => format!("(assign @0 (at v0 [e12] .1) e{})", below(3)),
                10 => "(assert @0 e20 \"x\")".to_owned(),
                _ => format!("(assign @0 (at v0 [{index}] .0) e{})", below(3)),
            };
        }
        body += &format!("(assign @0 (at v0 [{index}] .1) e{})", below(3));
        let (params, locals) = match has_param {
            true => ("(l0 (type t0))", "(l0 \"i\" value t0)"),
            false => ("", ""),
        };
        rules += &format!(
            "(rule \"{number}\" @0 (priority 0) (cost {}) (params {params}) (locals {locals})
               (prologue) (condition e{}) (body {body}))",
            below(3),
            next + 1
        );
        next += 2;
    }
    text += &format!("(start \"begin\" @0 (params) (locals) (body)) {rules})");
    let program = hadal_ir::text::parse(&text).unwrap_or_else(|error| panic!("{error:?}: {text}"));
    assert_eq!(hadal_ir::verify::verify(&program), Ok(()), "{text}");
    program
}

#[test]
fn steps_of_processes_are_those_of_all_paths() {
    let mut seen = Seen::default();
    for seed in 0..200 {
        let program = processes(seed);
        let capacity = [1, 2, 5, 64, 4096][seed as usize % 5];
        let block_len = [3, 17, 64][seed as usize % 3];
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            check(&program, true, capacity, block_len, &mut seen);
        }));
        if let Err(panic) = result {
            println!("seed {seed}:\n{}", hadal_ir::text::print(&program));
            std::panic::resume_unwind(panic);
        }
    }
    assert!(seen.n_direct > 200 && seen.n_direct_equal > 50, "{seen:?}");
    assert!(seen.n_multiple > 100 && seen.n_inner > 100, "{seen:?}");
    assert!(seen.n_faults > 20 && seen.n_mixed > 20, "{seen:?}");
}

#[test]
fn steps_over_the_interpreter_are_those_of_all_paths() {
    let seen = run(false, 0..150);
    assert!(seen.n_cycles > 20 && seen.n_multiple > 100, "{seen:?}");
    assert!(seen.n_faults > 20 && seen.n_inner > 100, "{seen:?}");
    assert!(seen.n_direct > 50 && seen.n_direct_equal > 100, "{seen:?}");
    assert!(seen.n_mixed > 5, "{seen:?}");
    assert!(seen.n_measured > 100, "{seen:?}");
}

#[test]
fn steps_over_native_code_are_those_of_all_paths() {
    let seen = run(true, 1000..1040);
    assert!(seen.n_sources > 100, "{seen:?}");
}
