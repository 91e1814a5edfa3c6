//! Small graphs of micro steps, written down edge by edge.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use hadal_ir::interp::{Interpreter, Limits};
use hadal_ir::text::parse;
use hadal_ir::verify::verify;
use hadal_model::{
    Cursor, Expander, FaultKind, Flow, Model, PAD_BYTES, Remark, Shape, Source, States, Step, Stop,
    Stopped, Successors, for_each_batch,
};
use hadal_steps::Steps;

/// A micro step from one (place, register) to another, with its name and cost.
type Edge<'a> = (&'a str, (u8, u8), (u8, u8), u32);

/// A program with a variable `at`, a register `busy` and a rule for each edge. `extra` are
/// statements of every body, `items` further items.
fn program(start: (u8, u8), edges: &[Edge<'_>], extra: &str, items: &str) -> Interpreter {
    let mut text = String::from(
        "(program (file #0 \"edges\")
         (arithmetic -2147483648 2147483647 wraps)
         (site @0 #0 0 0)
         (type t0 (total (range 0 255)))
         (var v0 \"at\" t0) (var v1 \"busy\" t0)
         (registers 1)
         (expr e0 @0 (read v0)) (expr e1 @0 (read v1)) (expr e2 @0 (false))",
    );
    for n in 0..256 {
        text += &format!("(expr e{} @0 (int {n}))", 3 + n);
    }
    let int = |n: u8| format!("e{}", 3 + u32::from(n));
    let mut next = 3 + 256;
    let mut rules = String::new();
    for (name, from, to, cost) in edges {
        text += &format!("(expr e{next} @0 (eq e0 {}))", int(from.0));
        text += &format!("(expr e{} @0 (eq e1 {}))", next + 1, int(from.1));
        text += &format!("(expr e{} @0 (and e{next} e{}))", next + 2, next + 1);
        rules += &format!(
            "(rule \"{name}\" @0 (priority 0) (cost {cost}) (params) (locals) (prologue)
               (condition e{})
               (body (put @0 (text \"{name}\")) {extra}
                 (assign @0 v0 {}) (assign @0 v1 {})))",
            next + 2,
            int(to.0),
            int(to.1)
        );
        next += 3;
    }
    text += &format!(
        "(start \"begin\" @0 (params) (locals) (body (assign @0 v0 {}) (assign @0 v1 {}))) {rules}
         {items})",
        int(start.0),
        int(start.1)
    );
    let program = parse(&text).expect("well formed");
    assert_eq!(verify(&program), Ok(()));
    Interpreter::new(program, Limits::default())
}

/// The successors of a place, each with multiplicity and cost, and what happened there.
fn expand(model: &dyn Model, at: Option<u8>) -> (Vec<(u8, u64, u32)>, Source) {
    let stop = Stop::new();
    let mut out = Successors::with_costs(model.shape(), 100).with_multiplicities();
    out.reset(1);
    let mut expander = model.expander(&stop);
    let flow = match at {
        None => expander.starts(Cursor::default(), &mut out),
        Some(at) => {
            let mut bytes = vec![at];
            bytes.resize(1 + PAD_BYTES, 0xff);
            expander.expand(States::new(&bytes, 1, 1), Cursor::default(), &mut out)
        }
    };
    assert_eq!(flow, Flow::Done);
    let found = (0..out.len()).map(|n| (out.state(n)[0], out.multiplicity(n), out.cost(n)));
    (found.collect(), out.sources()[0].clone())
}

fn names(step: &Step) -> Vec<&str> {
    step.inner.iter().map(|inner| inner.rule.as_str()).collect()
}

#[test]
fn a_state_at_rest_has_no_registers() {
    let steps = Steps::new(Box::new(program((3, 0), &[], "", "")));
    assert_eq!((steps.shape().state_bits, steps.shape().state_len), (8, 1));
    assert_eq!(steps.shape().components.len(), 1);
    let leaves = steps.describe_state(&[3]);
    assert_eq!(leaves, [("at".to_owned(), "3".to_owned())]);
}

#[test]
fn a_step_passes_through_transient_states() {
    let edges = [
        ("a", (0, 0), (1, 1), 1),
        ("b", (1, 1), (2, 1), 3),
        ("c", (2, 1), (3, 0), 1),
        ("d", (0, 0), (4, 0), 1),
    ];
    let steps = Steps::new(Box::new(program((0, 0), &edges, "", "")));
    let (found, source) = expand(&steps, Some(0));
    assert_eq!(found, [(4, 1, 1), (3, 1, 5)]);
    assert_eq!((source.fired, source.enabled, source.written), (2, 2, 2));
    let step = steps.describe_step(Some(&[0]), 1).expect("it is there");
    assert_eq!(
        (step.rule.as_str(), names(&step)),
        ("a", vec!["a", "b", "c"])
    );
    assert_eq!(step.output, ["a", "b", "c"]);
    let plain = steps.describe_step(Some(&[0]), 0).expect("it is there");
    assert_eq!((plain.rule.as_str(), plain.inner.len()), ("d", 0));
    assert_eq!(steps.describe_step(Some(&[0]), 2), None);
}

/// A model that notes which flags it is to poll.
struct Watched {
    inner: Interpreter,
    flags: Mutex<Vec<usize>>,
}

impl Watched {
    fn note(&self, stop: &Stop) {
        self.flags
            .lock()
            .unwrap()
            .push(std::ptr::from_ref(stop).addr());
    }
}

impl Model for Watched {
    fn shape(&self) -> &Shape {
        self.inner.shape()
    }

    fn expander<'a>(&'a self, stop: &'a Stop) -> Box<dyn Expander + 'a> {
        self.note(stop);
        self.inner.expander(stop)
    }

    fn describe_state(&self, state: &[u8]) -> Vec<(String, String)> {
        self.inner.describe_state(state)
    }

    fn describe_step(&self, _: Option<&[u8]>, _: u32) -> Option<Step> {
        panic!("nothing can stop this");
    }

    fn reference_step(
        &self,
        parent: Option<&[u8]>,
        index: u32,
        stop: &Stop,
    ) -> Result<Option<(Step, Vec<u8>)>, Stopped> {
        self.note(stop);
        self.inner.reference_step(parent, index, stop)
    }
}

#[test]
fn a_step_is_described_until_the_search_is_stopped() {
    let edges = [("a", (0, 0), (1, 1), 1), ("b", (1, 1), (2, 0), 1)];
    let watched = Watched {
        inner: program((0, 0), &edges, "", ""),
        flags: Mutex::new(Vec::new()),
    };
    let steps = Steps::new(&watched);
    let stop = Stop::new();
    let found = steps.reference_step(Some(&[0]), 0, &stop);
    let (step, state) = found.expect("nobody stops it").expect("it is there");
    assert_eq!((names(&step), state), (vec!["a", "b"], vec![2]));
    // One for the walk, and one for each micro step.
    let own = std::ptr::from_ref(&stop).addr();
    assert_eq!(*watched.flags.lock().unwrap(), [own; 3]);
    stop.raise();
    assert_eq!(steps.reference_step(Some(&[0]), 0, &stop), Err(Stopped));
}

#[test]
fn paths_of_any_length_are_counted_and_the_cheapest_one_is_shown() {
    // To (3, 1) directly, and by way of (1, 1) and (2, 1); from there to 4 in two ways.
    let edges = [
        ("direct", (0, 0), (3, 1), 9),
        ("a", (0, 0), (1, 1), 1),
        ("b", (1, 1), (2, 1), 1),
        ("c", (2, 1), (3, 1), 1),
        ("end", (3, 1), (4, 0), 2),
        ("other end", (3, 1), (4, 0), 1),
    ];
    let steps = Steps::new(Box::new(program((0, 0), &edges, "", "")));
    let (found, source) = expand(&steps, Some(0));
    assert_eq!(found, [(4, 4, 4)]);
    assert_eq!((source.fired, source.progress), (4, true));
    let step = steps.describe_step(Some(&[0]), 0).expect("it is there");
    assert_eq!(names(&step), ["a", "b", "c", "other end"]);
}

#[test]
fn control_is_lost_where_nothing_is_enabled() {
    let edges = [("a", (0, 0), (1, 1), 1), ("b", (1, 0), (0, 0), 1)];
    let steps = Steps::new(Box::new(program((0, 0), &edges, "", "")));
    let (found, source) = expand(&steps, Some(0));
    assert_eq!(found, [(1, 1, 1)]);
    assert!(source.faults.is_empty());
    let step = steps.describe_step(Some(&[0]), 0).expect("it is there");
    assert_eq!((step.rule.as_str(), step.inner.len()), ("a", 0));
    assert_eq!(expand(&steps, Some(1)).0, [(0, 1, 1)]);
}

#[test]
fn a_cycle_is_a_fault_and_what_comes_to_rest_is_delivered() {
    let edges = [
        ("in", (0, 0), (1, 1), 1),
        ("on", (1, 1), (2, 1), 1),
        ("back", (2, 1), (1, 1), 1),
        ("out", (2, 1), (3, 0), 1),
        ("spin", (5, 0), (5, 1), 1),
        ("spun", (5, 1), (5, 1), 1),
    ];
    let steps = Steps::new(Box::new(program((0, 0), &edges, "", "")));
    let (found, source) = expand(&steps, Some(0));
    assert_eq!(found, [(3, 1, 3)]);
    let faults: Vec<_> = source
        .faults
        .iter()
        .map(|it| (it.kind, it.message.as_str()))
        .collect();
    let message = "the step never ends: on, back, ...";
    assert_eq!(faults, [(FaultKind::AtomicCycle, message)]);
    let step = steps.describe_step(Some(&[0]), 0).expect("it is there");
    assert_eq!(names(&step), ["in", "on", "out"]);

    let (found, source) = expand(&steps, Some(5));
    assert_eq!((found, source.fired, source.enabled), (vec![], 0, 1));
    assert_eq!(source.faults[0].message, "the step never ends: spun, ...");
}

#[test]
fn the_search_stops_at_a_step_that_is_too_long() {
    let names: Vec<String> = (0..20).map(|n| format!("s{n}")).collect();
    let edge = |n: u8| {
        (
            names[n as usize].as_str(),
            (n, u8::from(n > 0)),
            (n + 1, 1),
            1,
        )
    };
    let mut edges: Vec<Edge<'_>> = (0..10).map(edge).collect();
    edges.push(("end", (10, 1), (99, 0), 1));
    let model = program((0, 0), &edges, "", "");
    let (found, source) = expand(&Steps::with_limit(&model, 10), Some(0));
    assert_eq!((found, source.faults.len()), (vec![(99, 1, 11)], 0));
    let steps = Steps::with_limit(&model, 9);
    let stop = Stop::new();
    let mut expander = steps.expander(&stop);
    let mut out = Successors::new(steps.shape(), 4);
    out.reset(1);
    let source = vec![0; steps.shape().state_len + PAD_BYTES];
    let block = States::new(&source, steps.shape().state_len, 1);
    let flow = expander.expand(block, Cursor::default(), &mut out);
    assert_eq!(flow, Flow::Stopped);
    let remarks = expander.take_remarks();
    assert!(matches!(
        remarks[..],
        [Remark::LargeStep {
            n_states: 10,
            bytes: 0,
            ..
        }]
    ));
}

/// A path is found in one pass over the micro steps: with a pass for each of its states, this one
/// would take minutes.
#[test]
fn the_path_of_a_long_step_is_found_at_once() {
    let n = 100_000;
    let text = format!(
        "(program (file #0 \"long\")
         (arithmetic -2147483648 2147483647 wraps)
         (site @0 #0 0 0)
         (type t0 (total (range 0 1))) (type t1 (total (range 0 {n})))
         (var v0 \"at\" t0) (var v1 \"busy\" t1)
         (registers 1)
         (expr e0 @0 (read v0)) (expr e1 @0 (read v1)) (expr e2 @0 (int 0)) (expr e3 @0 (int 1))
         (expr e4 @0 (int {n})) (expr e5 @0 (eq e0 e2)) (expr e6 @0 (lt e1 e4))
         (expr e7 @0 (and e5 e6)) (expr e8 @0 (add e1 e3)) (expr e9 @0 (eq e1 e4))
         (start \"begin\" @0 (params) (locals) (body (assign @0 v0 e2) (assign @0 v1 e2)))
         (rule \"more\" @0 (priority 0) (cost 1) (params) (locals) (prologue) (condition e7)
           (body (assign @0 v1 e8)))
         (rule \"out\" @0 (priority 0) (cost 1) (params) (locals) (prologue) (condition e9)
           (body (assign @0 v0 e3) (assign @0 v1 e2))))"
    );
    let program = parse(&text).expect("well formed");
    assert_eq!(verify(&program), Ok(()));
    let steps = Steps::new(Box::new(Interpreter::new(program, Limits::default())));
    let started = Instant::now();
    let step = steps.describe_step(Some(&[0]), 0).expect("it is there");
    assert_eq!(step.inner.len(), n + 1);
    assert!(started.elapsed() < Duration::from_secs(60));
}

#[test]
fn the_number_of_paths_saturates() {
    let mut edges: Vec<Edge<'_>> = vec![("in", (0, 0), (1, 1), 0)];
    for n in 1..80 {
        edges.push(("left", (n, 1), (n + 1, 1), 1));
        edges.push(("right", (n, 1), (n + 1, 1), 1));
    }
    edges.push(("out", (80, 1), (81, 0), 0));
    let steps = Steps::new(Box::new(program((0, 0), &edges, "", "")));
    let (found, source) = expand(&steps, Some(0));
    assert_eq!(found, [(81, u64::MAX, 79)]);
    assert_eq!(source.fired, u64::MAX);
}

#[test]
fn startstates_may_be_transient() {
    let edges = [("a", (7, 2), (8, 0), 1), ("b", (7, 2), (9, 0), 1)];
    let steps = Steps::new(Box::new(program((7, 2), &edges, "", "")));
    assert_eq!(expand(&steps, None).0, [(8, 1, 2), (9, 1, 2)]);
    let step = steps.describe_step(None, 1).expect("it is there");
    assert_eq!(
        (step.rule.as_str(), names(&step)),
        ("begin", vec!["begin", "b"])
    );
}

#[test]
fn an_assertion_inside_a_step_lets_it_go_on() {
    let edges = [("a", (0, 0), (1, 1), 1), ("b", (1, 1), (2, 0), 1)];
    let extra = "(assert @0 e2 \"wrong\" goes-on)";
    let steps = Steps::new(Box::new(program((0, 0), &edges, extra, "")));
    let (found, source) = expand(&steps, Some(0));
    assert_eq!(found, [(2, 1, 2)]);
    let faults: Vec<_> = source
        .faults
        .iter()
        .map(|it| (it.kind, it.name.as_str()))
        .collect();
    assert_eq!(
        faults,
        [(FaultKind::Assertion, "a"), (FaultKind::Assertion, "b")]
    );
}

#[test]
fn an_error_inside_a_step_ends_its_path() {
    let edges = [("a", (0, 0), (1, 1), 1), ("b", (1, 1), (2, 0), 1)];
    let extra = "(if @0 (e260 (error @0 blocked-d_step \"blocked\")) (else))";
    // The second edge's test of `busy`: true in its body only.
    let steps = Steps::new(Box::new(program((0, 0), &edges, extra, "")));
    let (found, source) = expand(&steps, Some(0));
    assert_eq!((found, source.fired), (vec![], 0));
    assert_eq!(source.faults[0].kind, FaultKind::BlockedDStep);
}

#[test]
fn sources_that_need_too_much_together_are_walked_apart() {
    let mut edges: Vec<Edge<'_>> = Vec::new();
    for n in 0..8 {
        edges.push(("a", (n, 0), (n + 100, 1), 1));
        edges.push(("b", (n + 100, 1), (n + 50, 0), 1));
        edges.push(("c", (n + 100, 1), (n + 60, 0), 1));
    }
    let model = program((0, 0), &edges, "", "");
    let all = |steps: &dyn Model, capacity: usize| {
        let stop = Stop::new();
        let mut bytes: Vec<u8> = (0..8).collect();
        bytes.resize(8 + PAD_BYTES, 0);
        let mut found = Vec::new();
        let mut out = Successors::new(steps.shape(), capacity);
        let block = Some(States::new(&bytes, 1, 8));
        let all = for_each_batch(&mut *steps.expander(&stop), block, &mut out, |_, out| {
            found.extend((0..out.len()).map(|at| (out.source_of(at), out.state(at)[0])));
            ControlFlow::<()>::Continue(())
        });
        assert!(all.is_ok());
        (found, out.sources().to_vec(), out.fired_by_rule().to_vec())
    };
    let expected = all(&Steps::new(&model), 100);
    assert_eq!(expected.0.len(), 16);
    for (limit, capacity) in [(1, 100), (1, 3), (5, 1), (20, 3)] {
        assert_eq!(all(&Steps::with_limit(&model, limit), capacity), expected);
    }
}

#[test]
fn the_model_says_where_it_may_end() {
    let edges = [("a", (0, 0), (1, 0), 1)];
    let end = |condition: &str| {
        let end = format!("(property end \"end\" @0 (params) (locals) (prologue) {condition})");
        program((0, 0), &edges, "", &end)
    };
    // e259 is the first test of the first edge: the model is at 0, where it can continue.
    for (condition, may_end) in [("(condition)", true), ("(condition e259)", false)] {
        let model = end(condition);
        assert!(model.shape().has_ends && model.shape().properties.is_empty());
        let steps = Steps::new(&model);
        let [first, last] = [0, 1].map(|at| expand(&steps, Some(at)).1);
        assert_eq!((first.enabled, first.may_end), (1, false));
        assert_eq!((last.enabled, last.may_end), (0, may_end));
    }
}

#[test]
fn sources_of_all_kinds_are_taken_together() {
    // By the last digit: steps to different places; some of them twice; some on the way through a
    // transient state; more than the fast path takes; none. All sources together have more micro
    // steps than a buffer has room for, and so does the last one on its own.
    const VIA: u8 = 250;
    const MANY: u8 = 199;
    let mut edges: Vec<Edge<'_>> = Vec::new();
    let mut expected: Vec<Vec<(u8, u64, u32)>> = Vec::new();
    let places = |source: u8| (source..source + 50).map(|to| (to, 1, 1));
    for source in 0..40 {
        edges.extend(places(source).map(|(to, ..)| ("a", (source, 0), (to, 0), 1)));
        let mut found: Vec<(u8, u64, u32)> = places(source).collect();
        match source % 5 {
            0 => {}
            1 => {
                edges.push(("b", (source, 0), (source + 7, 0), 0));
                found[7] = (source + 7, 2, 0);
            }
            2 => {
                edges.push(("c", (source, 0), (VIA, 1), 3));
                found.push((VIA + 1, 1, 5));
            }
            3 => {
                edges.extend((100..140).map(|to| ("d", (source, 0), (to, 0), 2)));
                found.extend((100..140).map(|to| (to, 1, 2)));
            }
            _ => {
                edges.retain(|edge| edge.1 != (source, 0));
                found.clear();
            }
        }
        expected.push(found);
    }
    edges.push(("c", (VIA, 1), (VIA + 1, 0), 2));
    for cost in (1..7).rev() {
        edges.extend((0..200).map(|to| ("e", (MANY, 0), (to, 0), cost)));
    }
    expected.push((0..200).map(|to| (to, 6, 1)).collect());
    let steps = Steps::new(Box::new(program((0, 0), &edges, "", "")));

    let mut bytes: Vec<u8> = (0..40).chain([MANY]).collect();
    let n_sources = bytes.len();
    bytes.resize(n_sources + PAD_BYTES, 0xff);
    let block = States::new(&bytes, 1, n_sources);
    let stop = Stop::new();
    let mut fired_by_rule: Option<Vec<u64>> = None;
    for capacity in [11, 49, 50, 51, 1000, 10_000] {
        // A buffer that is full is continued by the same expander, or by another one.
        for n_expanders in [1, 2] {
            let mut expanders = [steps.expander(&stop), steps.expander(&stop)];
            let mut out = Successors::with_costs(steps.shape(), capacity).with_multiplicities();
            out.reset(n_sources);
            let mut found = vec![Vec::new(); n_sources];
            let mut from = Cursor::default();
            for round in 0.. {
                let flow = expanders[round % n_expanders].expand(block, from, &mut out);
                for at in 0..out.len() {
                    let own = &mut found[out.source_of(at) as usize];
                    assert_eq!(out.index(at) as usize, own.len());
                    own.push((out.state(at)[0], out.multiplicity(at), out.cost(at)));
                }
                match flow {
                    Flow::Full(cursor) => from = cursor,
                    flow => {
                        assert_eq!(flow, Flow::Done);
                        break;
                    }
                }
                out.drain();
            }
            assert_eq!(found, expected);
            for (source, own) in out.sources().iter().zip(&expected) {
                let n_paths: u64 = own.iter().map(|it| it.1).sum();
                assert_eq!(
                    (source.fired, u64::from(source.enabled)),
                    (n_paths, n_paths)
                );
                assert_eq!(source.written as usize, own.len());
                assert_eq!(source.progress, !own.is_empty());
            }
            let counts = fired_by_rule.get_or_insert(out.fired_by_rule().to_vec());
            assert_eq!(out.fired_by_rule(), counts);
        }
    }
    // Each rule is enabled at one source, the second half of the way at the eight that go it.
    let counts = fired_by_rule.expect("it was counted");
    let halves = (counts.iter().zip(&edges)).filter(|(_, edge)| edge.1 == (VIA, 1));
    assert_eq!(halves.map(|(n, _)| *n).collect::<Vec<_>>(), [8]);
    assert_eq!(counts.iter().filter(|n| **n != 1).count(), 1);
}

#[test]
fn a_source_without_progress_stays_where_it_is() {
    let edges = [
        ("a", (0, 0), (0, 0), 1),
        ("b", (1, 0), (1, 0), 1),
        ("c", (1, 0), (1, 0), 2),
        ("d", (2, 0), (2, 0), 1),
        ("e", (2, 0), (3, 0), 1),
    ];
    let steps = Steps::new(Box::new(program((0, 0), &edges, "", "")));
    for (at, n_paths, progress) in [(0, 1, false), (1, 2, false), (2, 2, true), (3, 0, false)] {
        let (_, source) = expand(&steps, Some(at));
        assert_eq!((source.fired, source.progress), (n_paths, progress));
    }
}
