//! The end of a strategy's search: what is decided only now, and how everything is told.

use std::time::Instant;

use hadal_model::{GoalKind, PropertyKind, Remark, Stop};

use super::explorer::{Judge, Kin, Run};
use super::records::Shelf;
use crate::bfs::report::{Replay, decide_covers, of_goal};
use crate::totals::Totals;
use crate::{
    DiskUse, Error, Omission, Outcome, Path, PathStep, Reason, Seconds, Stats, Value, Verdict,
    naming,
};

/// How a search came to its end.
pub(super) enum End {
    /// No state is left.
    Exhausted,
    /// As many violations as asked for. What was found by then, in whole layers where there are
    /// any.
    Violated(Totals),
    /// Something else came first.
    Stopped(Reason),
}

/// A search that has ended.
pub(super) struct Ended {
    pub(super) end: End,
    pub(super) found: Totals,
    pub(super) states: u64,
    pub(super) states_exact: bool,
    pub(super) depth: u32,
    pub(super) layers: Vec<u64>,
    pub(super) data_bytes: u64,
    pub(super) disk: DiskUse,
    pub(super) io_wait: f64,
    pub(super) omission: Option<Omission>,
    pub(super) stats: Stats,
    /// All of the search.
    pub(super) seconds: f64,
    pub(super) expanding: f64,
    pub(super) inserting: f64,
    pub(super) remarks: Vec<Remark>,
}

/// Decides goals, finds the paths of violations and puts the outcome together.
pub(super) fn report(
    run: &Run<'_>,
    ended: Ended,
    judge: Judge<'_>,
    mut kin: Kin,
) -> Result<Outcome, Error> {
    let shape = run.shape;
    let (found, mut reason, is_exhausted) = match ended.end {
        End::Exhausted => (ended.found, None, true),
        End::Violated(before) => (before, None, false),
        End::Stopped(reason) => (ended.found, Some(reason), false),
    };
    let check_seconds = judge.seconds;
    let faulted = judge.findings.faulted();
    let mut violations = judge.findings.finish();
    let max_errors = run.options.max_errors.max(1);
    let is_clean = is_exhausted && violations.is_empty();

    let mut holds = vec![None; shape.properties.len()];
    for (property, holds) in shape.properties.iter().zip(&mut holds) {
        // A fault hides the states behind it, where an invariant may fail.
        if property.kind == PropertyKind::Invariant && is_exhausted && !faulted {
            *holds = Some(true);
        }
    }
    let is_exact = ended.omission.is_none();
    let is_proof = is_clean && is_exact;
    let all_covered = decide_covers(shape, &found.goals, is_proof, &mut holds, |goal| {
        if violations.len() < max_errors {
            violations.push(of_goal(shape, goal, ended.depth, None));
        }
    });
    // Nobody keeps edges here.
    let has_liveness = shape.goals.iter().any(|g| g.kind == GoalKind::Liveness);
    if is_clean && has_liveness && violations.len() < max_errors {
        reason = Some(Reason::Liveness);
    }

    let since = Instant::now();
    let mut is_traced = false;
    for violation in &mut violations {
        if let (Some(ordinal), None) = (violation.ordinal, &violation.path) {
            let path = path_to(ordinal, run, &mut kin)?;
            violation.depth = path.steps.len().saturating_sub(1) as u32;
            violation.path = Some(path);
            naming::rename(run.model, violation, None);
            is_traced = true;
        }
        if let Some(property) = violation.property {
            holds[property as usize] = Some(false);
        }
    }
    let mut stats = ended.stats;
    if is_traced {
        let seconds = since.elapsed().as_secs_f64();
        stats.push("seconds_trace", Value::Seconds(seconds));
    }
    // A fault cuts off what would have come after it, so something may be left unvisited.
    let is_decided = all_covered || is_exact || !is_clean;
    let complete = is_exhausted && reason.is_none() && !faulted && is_decided;
    Ok(Outcome {
        verdict: Verdict::new(&violations, complete),
        complete,
        reason,
        states: ended.states,
        states_exact: ended.states_exact,
        visited: found.visited,
        transitions: found.transitions,
        depth: ended.depth,
        layers: ended.layers,
        violations,
        fired_by_rule: found.fired_by_rule,
        holds,
        goals: found.goals,
        duplicates: found.duplicates,
        omission: ended.omission,
        data_bytes: ended.data_bytes,
        disk: ended.disk,
        seconds: Seconds {
            search: ended.seconds,
            expand: ended.expanding,
            insert: ended.inserting,
            check: check_seconds,
            io_wait: ended.io_wait,
            ..Seconds::default()
        },
        remarks: ended.remarks,
        strategy_stats: stats,
    })
}

/// The stored states from a startstate to the one numbered `ordinal`.
fn path_to(ordinal: u64, run: &Run<'_>, kin: &mut Kin) -> Result<Path, Error> {
    let never = Stop::new();
    let mut replay = Replay::new(run.model, &never);
    let mut steps: Vec<PathStep> = Vec::new();
    for index in kin.indices_to(ordinal)? {
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

/// Time spent on I/O by two shelves, which may be the same.
pub(super) fn io_seconds(shelf: &Shelf, other: &Shelf) -> f64 {
    let other = match shelf.is_same(other) {
        true => 0.0,
        false => other.io().as_secs_f64(),
    };
    shelf.io().as_secs_f64() + other
}

/// What went to the disk and back.
pub(super) fn disk_use(shelf: &Shelf) -> DiskUse {
    if !shelf.is_on_disk() {
        return DiskUse::default();
    }
    DiskUse {
        peak_bytes: shelf.peak_bytes(),
        read_bytes: shelf.read_bytes(),
        written_bytes: shelf.written_bytes(),
        ..DiskUse::default()
    }
}

/// The same as figures of the strategy, which has them without a folder too.
pub(super) fn tell_io(shelf: &Shelf, io_wait: f64, stats: &mut Stats) {
    stats.push("seconds_io", Value::Seconds(io_wait));
    stats.push("disk_peak_bytes", Value::Count(shelf.peak_bytes()));
    stats.push("disk_read_bytes", Value::Count(shelf.read_bytes()));
    stats.push("disk_written_bytes", Value::Count(shelf.written_bytes()));
}
