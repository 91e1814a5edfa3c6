//! The end of a search: what is decided only now, and how everything is told.

use std::collections::HashSet;
use std::time::Instant;

use hadal_model::{
    Cursor, Expander, Flow, GoalKind, Model, PAD_BYTES, PropertyKind, Shape, States, Stop,
    Successors,
};
use hadal_store::Parent;

use super::{End, Search};
use crate::hashing::Hashing;
use crate::round::Rounds;
use crate::visited::Visited;
use crate::{
    Error, Omission, Outcome, Path, PathStep, Reason, Stats, Verdict, Violation, ViolationKind,
    liveness, naming,
};

/// Decides goals, finds the paths of violations and puts the outcome together.
pub(super) fn report(search: Search<'_>, end: End) -> Result<Outcome, Error> {
    let Search {
        model,
        shape,
        options,
        gauge,
        mut rounds,
        findings,
        totals,
        layers,
        ..
    } = search;
    let (totals, mut reason, is_exhausted) = match end {
        End::Exhausted => (totals, None, true),
        End::Violated(before) => (before, None, false),
        End::Stopped(reason) => (totals, Some(reason), false),
    };
    let faulted = findings.faulted();
    let mut violations = findings.finish();
    let max_errors = options.max_errors.max(1);
    let is_clean = is_exhausted && violations.is_empty();

    let mut holds = vec![None; shape.properties.len()];
    for (property, holds) in shape.properties.iter().zip(&mut holds) {
        // A fault hides the states behind it, where an invariant may fail.
        if property.kind == PropertyKind::Invariant && is_exhausted && !faulted {
            *holds = Some(true);
        }
    }
    let bits = match &rounds.shared.visited {
        Visited::Keys(keyed) => keyed.hashing.as_deref().map(Hashing::bits),
        Visited::Numbers(_) => None,
    };
    let depth = (layers.len() - 1) as u32;
    let is_proof = is_clean && bits.is_none();
    let all_covered = decide_covers(shape, &totals.goals, is_proof, &mut holds, |goal| {
        if violations.len() < max_errors {
            violations.push(of_goal(shape, goal, depth, None));
        }
    });

    let has_liveness = shape.goals.iter().any(|g| g.kind == GoalKind::Liveness);
    if is_clean && has_liveness && violations.len() < max_errors {
        let since = Instant::now();
        let expand_seconds = rounds.seconds.expand;
        gauge.begin_layer(depth, rounds.n_states());
        match liveness::decide(&mut rounds, totals.transitions)? {
            Some(mut decided) => {
                for &(goal, least) in &decided {
                    let holds = &mut holds[shape.goals[goal].property as usize];
                    *holds = Some(least.is_none() && *holds != Some(false));
                }
                decided.sort_by_key(|&(goal, least)| (least, goal));
                let mut told = HashSet::new();
                for (goal, least) in decided {
                    let Some(least) = least else { continue };
                    // Which instances fail at which representatives is an accident of names.
                    if violations.len() < max_errors && told.insert(shape.goals[goal].property) {
                        let depth = depth_of(least, &layers);
                        let mut violation = of_goal(shape, goal, depth, Some(least));
                        violation.path = Some(path_to(least, &rounds, &layers, model)?);
                        naming::rename(model, &mut violation, Some(goal));
                        violations.push(violation);
                    }
                }
            }
            None => reason = Some(Reason::Liveness),
        }
        rounds.seconds.expand = expand_seconds;
        rounds.seconds.liveness = since.elapsed().as_secs_f64();
    }

    for violation in &mut violations {
        if let (Some(ordinal), None) = (violation.ordinal, &violation.path) {
            violation.path = Some(path_to(ordinal, &rounds, &layers, model)?);
            naming::rename(model, violation, None);
        }
        if let Some(property) = violation.property {
            holds[property as usize] = Some(false);
        }
    }
    // A fault cuts off what would have come after it, so something may be left unvisited.
    let is_decided = all_covered || bits.is_none() || !is_clean;
    let complete = is_exhausted && reason.is_none() && !faulted && is_decided;
    rounds.seconds.search = gauge.seconds();
    rounds.seconds.io_wait = rounds.io_wait();
    Ok(Outcome {
        verdict: Verdict::new(&violations, complete),
        complete,
        reason,
        states: layers.iter().sum(),
        states_exact: true,
        visited: totals.visited,
        transitions: totals.transitions,
        depth,
        omission: bits.map(|bits| Omission::of_layers(bits, &layers)),
        layers,
        violations,
        fired_by_rule: totals.fired_by_rule,
        holds,
        goals: totals.goals,
        duplicates: totals.duplicates,
        disk: rounds.disk_use(),
        data_bytes: rounds.peak_bytes.max(rounds.data_bytes()),
        seconds: rounds.seconds,
        remarks: rounds.remarks(),
        strategy_stats: Stats::default(),
    })
}

/// Decides cover properties as far as possible. A goal that was reached is reached whatever else
/// happened; one that was not is a violation only if that is a proof: if nothing was left out, and
/// no state can have been taken for another. Says whether all goals were reached.
pub(crate) fn decide_covers(
    shape: &Shape,
    goals: &[u64],
    is_proof: bool,
    holds: &mut [Option<bool>],
    mut unreached: impl FnMut(usize),
) -> bool {
    let mut all_covered = true;
    for (number, holds) in holds.iter_mut().enumerate() {
        if shape.properties[number].kind != PropertyKind::Cover {
            continue;
        }
        let mut instances = (shape.goals.iter().zip(goals))
            .filter(|(goal, _)| goal.property as usize == number)
            .map(|(_, &count)| count);
        if instances.all(|count| count > 0) {
            *holds = Some(true);
        } else if is_proof {
            *holds = Some(false);
        }
    }
    for (number, goal) in shape.goals.iter().enumerate() {
        if goal.kind != GoalKind::Liveness && goals[number] == 0 {
            all_covered = false;
            if is_proof {
                unreached(number);
            }
        }
    }
    all_covered
}

pub(crate) fn of_goal(shape: &Shape, goal: usize, depth: u32, ordinal: Option<u64>) -> Violation {
    let goal = &shape.goals[goal];
    let property = &shape.properties[goal.property as usize];
    let (kind, message) = match goal.kind {
        GoalKind::CoverState => (ViolationKind::Cover, "true in no reachable state"),
        GoalKind::CoverStep => (ViolationKind::Cover, "true during no step"),
        GoalKind::Liveness => (
            ViolationKind::Liveness,
            "cannot come true from this state on",
        ),
    };
    Violation {
        kind,
        phase: None,
        name: property.name.clone(),
        message: message.to_owned(),
        at: property.at.clone(),
        depth,
        ordinal,
        property: Some(goal.property),
        parameters: goal.parameters.clone(),
        path: None,
    }
}

/// The layer a state lies in.
fn depth_of(ordinal: u64, layers: &[u64]) -> u32 {
    let mut end = 0;
    let is_before = |&&len: &&u64| {
        end += len;
        end <= ordinal
    };
    layers.iter().take_while(is_before).count() as u32
}

/// The stored states from a startstate to the one numbered `ordinal`. They are found again by
/// their indices, for those that were expanded may be forgotten.
fn path_to(
    ordinal: u64,
    rounds: &Rounds<'_>,
    layers: &[u64],
    model: &dyn Model,
) -> Result<Path, Error> {
    let n_starts = layers.first().copied().unwrap_or(0);
    let mut ancestors = Vec::new();
    let mut next = ordinal;
    loop {
        let parent = rounds
            .parents
            .get(next)?
            .expect("every stored state has an entry in the parent log");
        ancestors.push(parent);
        if next < n_starts {
            break;
        }
        next = parent.ordinal;
    }
    let never = Stop::new();
    let mut replay = Replay::new(model, &never);
    let mut steps: Vec<PathStep> = Vec::with_capacity(ancestors.len());
    for Parent { ordinal, index } in ancestors.into_iter().rev() {
        let current = steps.last().map(|step| &step.state[..]);
        let state = replay
            .stored_successor(current, index)
            .ok_or(Error::Unrepeatable { ordinal })?;
        steps.push(PathStep { index, state });
    }
    Ok(Path {
        steps,
        faulty_start: None,
    })
}

/// Finds states again by their indices.
pub(crate) struct Replay<'a> {
    shape: &'a Shape,
    expander: Box<dyn Expander + 'a>,
    out: Successors,
}

impl<'a> Replay<'a> {
    /// `never` is a flag that nobody raises: what was found before a search was stopped is told all
    /// the same.
    pub(crate) fn new(model: &'a dyn Model, never: &'a Stop) -> Self {
        Replay {
            shape: model.shape(),
            expander: model.expander(never),
            out: Successors::new(model.shape(), BUFFER_LEN),
        }
    }

    /// The canonical form of the successor of `current` (of the startstate, if there is none) that
    /// has this index.
    pub(crate) fn stored_successor(
        &mut self,
        current: Option<&[u8]>,
        index: u32,
    ) -> Option<Vec<u8>> {
        let Replay {
            shape,
            expander,
            out,
        } = self;
        let mut block = current.unwrap_or_default().to_vec();
        block.resize(block.len() + PAD_BYTES, 0);
        out.reset(1);
        let mut from = Cursor::default();
        loop {
            let flow = match current {
                None => expander.starts(from, out),
                Some(_) => expander.expand(States::new(&block, shape.state_len, 1), from, out),
            };
            if let Some(at) = (0..out.len()).find(|&at| out.index(at) == index) {
                expander.canonicalise(out.states_mut());
                return Some(out.state(at).to_vec());
            }
            let Flow::Full(cursor) = flow else {
                return None;
            };
            out.drain();
            from = cursor;
        }
    }
}

/// One step may have more successors than this; they come in several buffers.
const BUFFER_LEN: usize = 256;
