//! Native code against the interpreter, on all states that can be reached.

use std::collections::HashSet;

use hadal_ir::Program;
use hadal_ir::interp::{Interpreter, Limits};
use hadal_jit::Native;
use hadal_model::{Cursor, Expander, Flow, Model, PAD_BYTES, Source, States, Stop, Successors};

/// Everything that one expansion of a block told.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Told {
    /// State, source, index and rule.
    pub(crate) successors: Vec<(Vec<u8>, u32, u32, u32)>,
    pub(crate) sources: Vec<Source>,
    pub(crate) fired_by_rule: Vec<u64>,
    pub(crate) goal_hits: Vec<u64>,
}

/// Expands a block, or the startstates, with a buffer of some capacity.
pub(crate) fn expand(
    expander: &mut dyn Expander,
    model: &dyn Model,
    block: Option<States<'_>>,
    capacity: usize,
) -> Told {
    let mut out = Successors::new(model.shape(), capacity);
    out.reset(block.map_or(1, |block| block.len()));
    let mut told = Told::default();
    let mut cursor = Cursor::default();
    loop {
        let flow = match block {
            Some(block) => expander.expand(block, cursor, &mut out),
            None => expander.starts(cursor, &mut out),
        };
        for position in 0..out.len() {
            told.successors.push((
                out.state(position).to_vec(),
                out.source_of(position),
                out.index(position),
                out.rule(position),
            ));
        }
        match flow {
            Flow::Done => break,
            Flow::Full(next) => {
                out.drain();
                cursor = next;
            }
            Flow::Stopped => panic!("nobody asked to stop"),
        }
    }
    told.sources = out.sources().to_vec();
    told.fired_by_rule = out.fired_by_rule().to_vec();
    told.goal_hits = out.goal_hits().to_vec();
    told
}

/// What comparing a program came to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Compared {
    pub(crate) n_states: usize,
    pub(crate) n_successors: usize,
    pub(crate) n_faults: usize,
    pub(crate) n_failures: usize,
}

/// Compares native code and interpreter on up to `max_states` states, with blocks of `block_len`
/// states and a native buffer of `capacity`.
pub(crate) fn compare(
    program: &Program,
    limits: Limits,
    max_states: usize,
    block_len: usize,
    capacity: usize,
) -> Result<Compared, String> {
    let interpreter = Interpreter::new(program.clone(), limits);
    let native = Native::new(program.clone(), limits).map_err(|error| error.to_string())?;
    let (stop_a, stop_b) = (Stop::new(), Stop::new());
    let mut by_interpreter = interpreter.expander(&stop_a);
    let mut by_native = native.expander(&stop_b);
    let mut compared = Compared::default();

    let expected = expand(&mut *by_interpreter, &interpreter, None, 1 << 12);
    let found = expand(&mut *by_native, &native, None, capacity);
    differ("startstates", &expected, &found)?;
    let len = interpreter.shape().state_len;
    let mut seen: HashSet<Vec<u8>> = HashSet::new();
    let mut queue: Vec<Vec<u8>> = Vec::new();
    let mut visit = |told: &Told, queue: &mut Vec<Vec<u8>>| {
        for (state, ..) in &told.successors {
            if seen.len() < max_states && seen.insert(state.clone()) {
                queue.push(state.clone());
            }
        }
    };
    visit(&expected, &mut queue);
    let mut next = 0;
    while next < queue.len() {
        let n = block_len.min(queue.len() - next);
        let mut bytes: Vec<u8> = queue[next..next + n].concat();
        // Whatever lies behind the states must not matter.
        bytes.resize(n * len + PAD_BYTES, 0xa5);
        next += n;
        let block = States::new(&bytes, len, n);
        let expected = expand(&mut *by_interpreter, &interpreter, Some(block), 1 << 12);
        let found = expand(&mut *by_native, &native, Some(block), capacity);
        differ("successors", &expected, &found)?;
        compared.n_states += n;
        compared.n_successors += expected.successors.len();
        compared.n_faults += expected
            .sources
            .iter()
            .filter(|source| source.fault.is_some())
            .count();

        let (mut expected_failures, mut found_failures) = (Vec::new(), Vec::new());
        by_interpreter.check(block, &mut expected_failures);
        by_native.check(block, &mut found_failures);
        if expected_failures != found_failures {
            return Err(format!(
                "failures differ: {expected_failures:?} but {found_failures:?}"
            ));
        }
        compared.n_failures += expected_failures.len();
        let words = interpreter.shape().goal_words();
        if words > 0 {
            let (mut expected_goals, mut found_goals) =
                (vec![0u64; n * words], vec![0u64; n * words]);
            by_interpreter.reach_goals(block, &mut expected_goals, &mut expected_failures);
            by_native.reach_goals(block, &mut found_goals, &mut found_failures);
            if expected_goals != found_goals || expected_failures != found_failures {
                return Err(format!(
                    "goals differ: {expected_goals:?} {expected_failures:?} but {found_goals:?} \
                     {found_failures:?}"
                ));
            }
        }
        visit(&expected, &mut queue);
    }
    Ok(compared)
}

fn differ(what: &str, expected: &Told, found: &Told) -> Result<(), String> {
    if expected == found {
        return Ok(());
    }
    let n = expected
        .successors
        .iter()
        .zip(&found.successors)
        .take_while(|(a, b)| a == b)
        .count();
    Err(format!(
        "{what} differ: {} against {}, first at {n}: {:?} but {:?}; sources {:?} but {:?}; fired {:?} but {:?}; goals {:?} but {:?}",
        expected.successors.len(),
        found.successors.len(),
        expected.successors.get(n),
        found.successors.get(n),
        expected.sources,
        found.sources,
        expected.fired_by_rule,
        found.fired_by_rule,
        expected.goal_hits,
        found.goal_hits,
    ))
}
