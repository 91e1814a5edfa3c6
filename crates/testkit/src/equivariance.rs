//! Whether rules and properties treat the elements of scalarsets alike, by brute force.
//!
//! Reduction by symmetry is sound for a program if a renaming turns the behaviour of each state
//! into the behaviour of the renamed state. This is checked on every reachable state and on every
//! image of one, with renamings that generate all others. Startstates need not be
//! symmetric.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};

use hadal_ir::Program;
use hadal_ir::interp::{Interpreter, Limits};
use hadal_model::{
    Cursor, Expander, Flow, GoalKind, Model, PAD_BYTES, Shape, States, Stop, Successors,
};

use crate::renaming::{Renaming, rename};

/// The result for a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Equivariance {
    /// No state behaves unlike one of its images.
    Holds {
        /// Number of states visited, images included.
        n_states: usize,
    },
    /// A state behaves unlike one of its images.
    Broken(String),
    /// There are too many states.
    GaveUp,
}

/// Compares the behaviour of up to `max_states` states with that of their images.
///
/// Two firings that fault are alike, whatever the faults. States beyond a fault are not visited;
/// those beyond a false invariant are.
pub fn equivariance(program: &Program, max_states: usize) -> Equivariance {
    let model = Interpreter::new(program.clone(), Limits::default());
    let stop = Stop::new();
    let mut expander = model.expander(&stop);
    let mut out = Successors::new(model.shape(), 64);
    let starts = steps(&mut *expander, None, &mut out);
    let generators = exchanges(program);
    let mut known: HashSet<Vec<u8>> = HashSet::new();
    let mut queue = VecDeque::new();
    let mut discover = |state: &[u8], queue: &mut VecDeque<Vec<u8>>| {
        if known.insert(state.to_vec()) {
            queue.push_back(state.to_vec());
        }
        known.len()
    };
    for (_, state) in starts {
        discover(&state, &mut queue);
    }
    let mut n_states = queue.len();
    while let Some(state) = queue.pop_front() {
        if n_states > max_states {
            return Equivariance::GaveUp;
        }
        let here = Behaviour::new(model.shape(), &mut *expander, &state, &mut out);
        for renaming in &generators {
            let image = rename(program, renaming, &state);
            let there = Behaviour::new(model.shape(), &mut *expander, &image, &mut out);
            if let Some(difference) = here.difference(&there, program, renaming) {
                let leaves: Vec<String> = (model.describe_state(&state).into_iter())
                    .map(|(name, value)| format!("{name} = {value}"))
                    .collect();
                return Equivariance::Broken(format!("{difference} in {}", leaves.join(", ")));
            }
            n_states = discover(&image, &mut queue);
        }
        if !here.faults {
            for (_, state) in &here.steps {
                n_states = discover(state, &mut queue);
            }
        }
    }
    Equivariance::Holds { n_states }
}

/// Everything that a search observes at a state.
#[derive(Debug)]
struct Behaviour {
    /// Rules with the states they lead to, sorted; one for each instance.
    steps: Vec<(u32, Vec<u8>)>,
    fired_by_rule: Vec<u64>,
    enabled: u32,
    progress: bool,
    faults: bool,
    /// Properties that are false or cannot be evaluated.
    failing: BTreeSet<u32>,
    /// By property, the number of its goals that the state or its steps reach.
    goals: BTreeMap<u32, u64>,
}

impl Behaviour {
    fn new(shape: &Shape, expander: &mut dyn Expander, state: &[u8], out: &mut Successors) -> Self {
        let steps = steps(expander, Some((shape, state)), out);
        let bytes = padded(state);
        let block = States::new(&bytes, shape.state_len, 1);
        let mut failures = Vec::new();
        assert_eq!(expander.check(block, &mut failures), Flow::Done);
        let mut reached = vec![0; shape.goal_words()];
        if !shape.goals.is_empty() {
            let flow = expander.reach_goals(block, &mut reached, &mut failures);
            assert_eq!(flow, Flow::Done);
        }
        let mut goals = BTreeMap::new();
        for (number, goal) in shape.goals.iter().enumerate() {
            *goals.entry(goal.property).or_default() += match goal.kind {
                GoalKind::CoverStep => out.goal_hits()[number],
                _ => reached[number / 64] >> (number % 64) & 1,
            };
        }
        let source = &out.sources()[0];
        Behaviour {
            steps,
            fired_by_rule: out.fired_by_rule().to_vec(),
            enabled: source.enabled,
            progress: source.progress,
            faults: !source.faults.is_empty(),
            failing: failures.iter().map(|failure| failure.property).collect(),
            goals,
        }
    }

    /// How the behaviour of the image differs from the image of this behaviour.
    fn difference(
        &self,
        image: &Behaviour,
        program: &Program,
        renaming: &Renaming,
    ) -> Option<String> {
        if self.failing != image.failing {
            return Some(format!(
                "properties {:?} fail before and {:?} after a renaming",
                self.failing, image.failing
            ));
        }
        if self.faults != image.faults {
            return Some("a fault before or after a renaming only".to_owned());
        }
        if self.faults {
            return None;
        }
        // A property that fails may have been given up before all its instances were evaluated.
        let undecided = |property: &u32| self.failing.contains(property);
        let goals = self.goals.iter().zip(&image.goals);
        for ((property, n), (_, n_image)) in goals {
            if n != n_image && !undecided(property) {
                return Some(format!(
                    "property {property} is reached {n} times, and {n_image} times after a renaming"
                ));
            }
        }
        let here = (&self.fired_by_rule, self.enabled, self.progress);
        let there = (&image.fired_by_rule, image.enabled, image.progress);
        if here != there {
            return Some(format!(
                "firings {here:?} before and {there:?} after a renaming"
            ));
        }
        let mut renamed: Vec<(u32, Vec<u8>)> = (self.steps.iter())
            .map(|(rule, state)| (*rule, rename(program, renaming, state)))
            .collect();
        renamed.sort();
        let mut pairs = renamed.iter().zip(&image.steps);
        let ((rule, _), _) = pairs.find(|(step, of_image)| step != of_image)?;
        Some(format!(
            "rule {rule} leads elsewhere after the renaming {renaming:?}"
        ))
    }
}

/// All steps from a state, or the startstates, sorted; `out` keeps the facts about the source.
fn steps(
    expander: &mut dyn Expander,
    from_state: Option<(&Shape, &[u8])>,
    out: &mut Successors,
) -> Vec<(u32, Vec<u8>)> {
    let mut steps = Vec::new();
    let mut from = Cursor::default();
    out.reset(1);
    loop {
        let flow = match from_state {
            Some((shape, state)) => {
                let bytes = padded(state);
                expander.expand(States::new(&bytes, shape.state_len, 1), from, out)
            }
            None => expander.starts(from, out),
        };
        let found = (0..out.len()).map(|at| (out.rule(at), out.state(at).to_vec()));
        steps.extend(found);
        out.drain();
        match flow {
            Flow::Done => {
                steps.sort();
                return steps;
            }
            Flow::Full(cursor) => from = cursor,
            Flow::Stopped => unreachable!("the flag is never raised"),
        }
    }
}

/// Exchanges of neighbours, which generate all renamings.
fn exchanges(program: &Program) -> Vec<Renaming> {
    let sets = &program.types.scalarsets;
    let identity: Renaming = (sets.iter())
        .map(|set| (0..set.size as usize).collect())
        .collect();
    let mut exchanges = Vec::new();
    for (number, set) in sets.iter().enumerate() {
        for b in 1..set.size as usize {
            let mut renaming = identity.clone();
            renaming[number].swap(b - 1, b);
            exchanges.push(renaming);
        }
    }
    exchanges
}

fn padded(state: &[u8]) -> Vec<u8> {
    let mut bytes = state.to_vec();
    bytes.extend([0; PAD_BYTES]);
    bytes
}
