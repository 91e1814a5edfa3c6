//! The end of a search: what is decided only now, and how everything is told.

use std::collections::HashSet;
use std::time::Instant;

use hadal_model::Model;

use super::{End, Search};
use crate::conclusion::{Conclusion, Ending, of_goal};
use crate::hashing::Hashing;
use crate::round::Rounds;
use crate::visited::Visited;
use crate::way::way_to;
use crate::{DiskUse, Error, Omission, Outcome, Path, Reason, Stats, Verdict, liveness, naming};

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
        commits,
        ..
    } = search;
    let (totals, mut reason, is_exhausted) = match end {
        End::Exhausted => (totals, None, true),
        End::Violated(before) => (before, None, false),
        End::Stopped(reason) => (totals, Some(reason), false),
    };
    let bits = match &rounds.shared.visited {
        Visited::Keys(keyed) => keyed.hashing.as_deref().map(Hashing::bits),
        Visited::Numbers(_) => None,
    };
    let depth = (layers.len() - 1) as u32;
    let ending = Ending {
        is_exhausted,
        is_exact: bits.is_none(),
        goals: &totals.goals,
        depth,
    };
    let mut conclusion = Conclusion::new(shape, options, findings, &ending);

    if conclusion.asks_for_liveness() {
        let since = Instant::now();
        let expand_seconds = rounds.seconds.expand;
        gauge.begin_layer(depth, rounds.n_states());
        match liveness::decide(&mut rounds, totals.transitions)? {
            Some(mut decided) => {
                for &(goal, least) in &decided {
                    let property = shape.goals[goal].property as usize;
                    let holds = &mut conclusion.holds[property];
                    *holds = Some(least.is_none() && *holds != Some(false));
                }
                decided.sort_by_key(|&(goal, least)| (least, goal));
                let mut told = HashSet::new();
                for (goal, least) in decided {
                    let Some(least) = least else { continue };
                    // Which instances fail at which representatives is an accident of names.
                    if conclusion.has_room() && told.insert(shape.goals[goal].property) {
                        let depth = depth_of(least, &layers);
                        let mut violation = of_goal(shape, goal, depth, Some(least));
                        violation.path = Some(path_to(least, &rounds, &layers, model)?);
                        naming::rename(model, &mut violation, Some(goal));
                        conclusion.violations.push(violation);
                    }
                }
            }
            None => reason = Some(Reason::Liveness),
        }
        rounds.seconds.expand = expand_seconds;
        rounds.seconds.liveness = since.elapsed().as_secs_f64();
    }

    conclusion.find_paths(model, |ordinal| path_to(ordinal, &rounds, &layers, model))?;
    let complete = conclusion.is_complete(reason);
    let Conclusion {
        violations, holds, ..
    } = conclusion;
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
        disk: DiskUse {
            saved_states: commits.map_or(0, |commits| commits.saved_states),
            ..rounds.disk_use()
        },
        data_bytes: rounds.peak_bytes.max(rounds.data_bytes()),
        seconds: rounds.seconds,
        remarks: rounds.remarks(),
        strategy_stats: Stats::default(),
    })
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
    let mut parents = rounds.parents.finder();
    loop {
        let parent = parents
            .get(next)?
            .expect("every stored state has an entry in the parent log");
        ancestors.push(parent);
        if next < n_starts {
            break;
        }
        next = parent.ordinal;
    }
    let indices = ancestors.into_iter().rev().map(|parent| parent.index);
    way_to(ordinal, indices, model)
}
