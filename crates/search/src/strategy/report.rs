//! The end of a strategy's search: what is decided only now, and how everything is told.

use std::time::Instant;

use hadal_model::Remark;

use super::explorer::{Judge, Kin, Run};
use super::records::Shelf;
use crate::conclusion::{Conclusion, Ending};
use crate::totals::Totals;
use crate::way::way_to;
use crate::{DiskUse, Error, Omission, Outcome, Reason, Seconds, Stats, Value, Verdict};

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
    let ending = Ending {
        is_exhausted,
        is_exact: ended.omission.is_none(),
        goals: &found.goals,
        depth: ended.depth,
    };
    let mut conclusion = Conclusion::new(shape, run.options, judge.findings, &ending);
    // Nobody keeps edges here.
    if conclusion.asks_for_liveness() {
        reason = Some(Reason::Liveness);
    }
    let since = Instant::now();
    let is_traced = conclusion.find_paths(run.model, |ordinal| {
        let indices = kin.indices_to(ordinal)?;
        way_to(ordinal, indices, run.model)
    })?;
    let mut stats = ended.stats;
    if is_traced {
        let seconds = since.elapsed().as_secs_f64();
        stats.push("seconds_trace", Value::Seconds(seconds));
    }
    let complete = conclusion.is_complete(reason);
    let Conclusion {
        violations, holds, ..
    } = conclusion;
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
