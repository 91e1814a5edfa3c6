//! The ending of a search, one for all strategies: which properties hold, a trace for each
//! violation, the outcome.

use std::collections::HashSet;
use std::time::Instant;

use hadal_model::{GoalKind, MeasureKind, PropertyKind, Remark, Shape};

use crate::findings::Findings;
use crate::rank::RankOrder;
use crate::strategy::Run;
use crate::totals::Totals;
use crate::trace::names::{self, NotConfirmed};
use crate::trace::{TraceError, cost_of, follow};
use crate::{
    DirectedFigures, DiskUse, Error, Omission, Outcome, Reason, Seconds, Stats, Value, Verdict,
    Violation, ViolationKind,
};

/// How a search ended.
#[derive(Debug)]
pub enum End {
    /// No state is left to expand.
    Exhausted,
    /// As many violations as asked for were found. The totals are those to report: of a search by
    /// depth, those before the expansion of the layer in which the last violation lies.
    Violated(Totals),
    /// Something else came first.
    Stopped(Reason),
}

/// Why a strategy stops in the middle of its work.
#[derive(Debug)]
pub enum Halt {
    /// As many violations as asked for were found.
    Enough,
    /// A limit was reached.
    Stop(Reason),
    /// The search failed.
    Failed(Error),
}

impl From<Error> for Halt {
    fn from(error: Error) -> Self {
        Halt::Failed(error)
    }
}

impl From<hadal_store::Error> for Halt {
    fn from(error: hadal_store::Error) -> Self {
        match error {
            hadal_store::Error::Full { .. } => Halt::Stop(Reason::Disk),
            error => Halt::Failed(error.into()),
        }
    }
}

/// A search that has ended, as its strategy counted it.
pub struct Ended<'a> {
    /// How it ended.
    pub end: End,
    /// All counts.
    pub totals: Totals,
    /// What was found.
    pub findings: Findings<'a>,
    /// Distinct states.
    pub states: u64,
    /// Whether the search itself knew all states that it had found.
    pub states_exact: bool,
    /// Layers after the startstates.
    pub depth: u32,
    /// States at each depth; empty where the search was not by depth.
    pub layers: Vec<u64>,
    /// The probability of a missed state, where states were remembered by signatures.
    pub omission: Option<Omission>,
    /// What a person should know.
    pub remarks: Vec<Remark>,
    /// What only this strategy counts.
    pub stats: Stats,
}

/// The states that a search has explored, as far as the ending asks about them.
pub trait Explored {
    /// The index of each step on the path by which the state `ordinal` was found: the first one's
    /// among the startstates, each next one's among the successors of the state before.
    fn indices_to(&mut self, ordinal: u64) -> Result<Vec<u32>, Error>;

    /// The order of the search, where it depends on the costs of steps or on estimates.
    fn directed_order(&self) -> Option<&dyn RankOrder> {
        None
    }

    /// The cost of that path, where the search knows it.
    fn cost_of(&self, ordinal: u64) -> Option<u64> {
        let _ = ordinal;
        None
    }

    /// Decides every liveness goal over all states; `None` where that is not possible. Called at
    /// most once, after a search that visited all states and found no violation.
    fn decide_liveness(&mut self) -> Result<Option<Decided>, Error> {
        Ok(None)
    }

    /// What the search has used. Called last.
    fn usage(&mut self) -> Usage;
}

/// For each liveness goal, in order: its number and the least state from which it cannot be
/// reached, if there is one.
pub type Decided = Vec<(usize, Option<u64>)>;

/// What a search has used.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    /// Its data at their largest, in bytes.
    pub data_bytes: u64,
    /// Disk traffic.
    pub disk: DiskUse,
    /// Where the time went.
    pub seconds: Seconds,
}

/// Decides goals, finds the traces of violations and makes the outcome.
pub(crate) fn conclude(
    run: &Run<'_>,
    ended: Ended<'_>,
    explored: &mut dyn Explored,
) -> Result<Outcome, Error> {
    let Ended {
        end,
        totals,
        findings,
        mut stats,
        ..
    } = ended;
    let (totals, mut reason, is_exhausted) = match end {
        End::Exhausted => (totals, None, true),
        End::Violated(before) => (before, None, false),
        End::Stopped(reason) => (totals, Some(reason), false),
    };
    let is_exact = ended.omission.is_none();
    let mut conclusion = Conclusion::new(run, findings, is_exhausted, is_exact);
    conclusion.decide_covers(&totals.goals, ended.depth);
    if conclusion.asks_for_liveness() {
        match explored.decide_liveness()? {
            Some(decided) => conclusion.add_liveness(decided),
            None => reason = Some(Reason::Liveness),
        }
    }
    if reason.is_none() && conclusion.leaves_claims_open() {
        reason = Some(Reason::Unchecked);
    }
    let since = Instant::now();
    let is_traced = conclusion.find_traces(explored)?;
    let trace_seconds = since.elapsed().as_secs_f64();
    if is_traced && !stats.is_empty() {
        stats.push("seconds_trace", Value::Seconds(trace_seconds));
    }
    let complete = conclusion.is_complete(reason);
    let Conclusion {
        violations, holds, ..
    } = conclusion;
    let violations: Vec<Violation> = violations
        .into_iter()
        .map(|found| found.violation)
        .collect();
    let directed = explored.directed_order().map(|order| {
        let estimate = Estimate::of(run.shape).filter(|_| order.needs_estimates());
        let is_admissible = estimate.is_some_and(|estimate| estimate.is_admissible);
        let first = violations.first();
        let is_invariant = first.is_none_or(|first| first.kind == ViolationKind::Invariant);
        DirectedFigures {
            expanded: totals.visited,
            generated: totals.generated,
            reopened: totals.reopened,
            inconsistent: totals.inconsistent,
            cost: violations.first().and_then(|first| first.cost),
            // An estimate is one of what is left to a state where an invariant is false.
            is_least: is_exact
                && order.is_first_least(is_admissible)
                && (!order.needs_estimates() || is_invariant),
            heuristic: estimate.map(|estimate| estimate.name.to_owned()),
        }
    });
    let usage = explored.usage();
    Ok(Outcome {
        verdict: Verdict::new(&violations, run.shape, complete),
        complete,
        reason,
        states: ended.states,
        states_exact: ended.states_exact,
        visited: totals.visited,
        transitions: totals.transitions,
        depth: ended.depth,
        layers: ended.layers,
        violations,
        fired_by_rule: totals.fired_by_rule,
        holds,
        goals: totals.goals,
        duplicates: totals.duplicates,
        omission: ended.omission,
        data_bytes: usage.data_bytes,
        disk: usage.disk,
        seconds: Seconds {
            trace: trace_seconds,
            ..usage.seconds
        },
        remarks: ended.remarks,
        strategy_stats: stats,
        directed,
    })
}

/// The estimate that a model has.
#[derive(Clone, Copy)]
struct Estimate<'a> {
    name: &'a str,
    is_admissible: bool,
}

impl<'a> Estimate<'a> {
    fn of(shape: &'a Shape) -> Option<Self> {
        shape
            .measures
            .iter()
            .find_map(|measure| match measure.kind {
                MeasureKind::Estimate { is_admissible } => Some(Estimate {
                    name: &measure.name,
                    is_admissible,
                }),
                MeasureKind::Cost => None,
            })
    }
}

/// Verdicts while they are decided.
struct Conclusion<'a> {
    run: &'a Run<'a>,
    violations: Vec<Found>,
    /// Whether each property holds, as far as that was decided.
    holds: Vec<Option<bool>>,
    is_exhausted: bool,
    /// No state can have been taken for another.
    is_exact: bool,
    /// Everything was visited, and no violation found.
    is_clean: bool,
    faulted: bool,
    all_covered: bool,
}

struct Found {
    violation: Violation,
    /// The goal that cannot be reached, for liveness.
    goal: Option<usize>,
}

impl<'a> Conclusion<'a> {
    /// Decides invariants.
    fn new(run: &'a Run<'a>, findings: Findings<'_>, is_exhausted: bool, is_exact: bool) -> Self {
        let faulted = findings.faulted();
        let violations: Vec<Found> = findings.finish().into_iter().map(Found::from).collect();
        // A fault hides the states behind it, where an invariant may fail.
        let is_open = !is_exhausted || faulted;
        let holds = run.shape.properties.iter().map(|property| {
            let is_of_states =
                matches!(property.kind, PropertyKind::Invariant | PropertyKind::Goal);
            (is_of_states && !is_open).then_some(true)
        });
        Conclusion {
            holds: holds.collect(),
            is_exhausted,
            is_exact,
            is_clean: is_exhausted && violations.is_empty(),
            faulted,
            all_covered: true,
            violations,
            run,
        }
    }

    /// Decides cover properties as far as possible. A goal that was reached is reached whatever
    /// else happened; one that was not is a violation only if that is a proof: if nothing was
    /// skipped, and no state can have been taken for another.
    fn decide_covers(&mut self, goals: &[u64], depth: u32) {
        let (shape, is_proof) = (self.run.shape, self.is_clean && self.is_exact);
        for (number, holds) in self.holds.iter_mut().enumerate() {
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
                self.all_covered = false;
                if is_proof && self.has_room() {
                    let violation = of_goal(shape, number, depth, None);
                    self.violations.push(violation.into());
                }
            }
        }
        let is_order_dependence = |found: &Found| found.violation.kind.is_order_dependence();
        if self.violations.iter().any(is_order_dependence) {
            // A goal counts as reached if a renaming of a visited state reaches it, which proves
            // something for symmetric models only.
            self.holds.fill(None);
        }
    }

    /// Whether another violation is wanted.
    fn has_room(&self) -> bool {
        self.violations.len() < self.run.options.max_errors.max(1)
    }

    /// Whether liveness is left to be decided.
    fn asks_for_liveness(&self) -> bool {
        let mut kinds = self.run.shape.goals.iter().map(|goal| goal.kind);
        self.is_clean && kinds.any(|kind| kind == GoalKind::Liveness) && self.has_room()
    }

    /// Whether nothing is violated, and there are properties that no search decides.
    fn leaves_claims_open(&self) -> bool {
        let mut properties = self.run.shape.properties.iter();
        self.is_clean && properties.any(|property| property.kind == PropertyKind::Claim)
    }

    /// Adds what was decided about liveness; of each property one violation, as which instances
    /// fail at which representatives is an accident of names.
    fn add_liveness(&mut self, mut decided: Decided) {
        let shape = self.run.shape;
        for &(goal, least) in &decided {
            let holds = &mut self.holds[shape.goals[goal].property as usize];
            *holds = Some(least.is_none() && *holds != Some(false));
        }
        decided.sort_by_key(|&(goal, least)| (least, goal));
        let mut reported = HashSet::new();
        for (goal, least) in decided {
            let is_wanted = least.is_some() && self.has_room();
            if is_wanted && reported.insert(shape.goals[goal].property) {
                self.violations.push(Found {
                    violation: of_goal(shape, goal, 0, least),
                    goal: Some(goal),
                });
            }
        }
    }

    /// Finds the traces of violations that have none yet, and notes the properties that fail.
    /// Returns whether there was one to find.
    fn find_traces(&mut self, explored: &mut dyn Explored) -> Result<bool, Error> {
        let (model, stop) = (self.run.model, self.run.late());
        let mut is_traced = false;
        for Found { violation, goal } in &mut self.violations {
            if let (Some(ordinal), None) = (violation.ordinal, &violation.trace) {
                let indices = explored.indices_to(ordinal).map_err(|error| match error {
                    Error::Store(source) => Error::LostPath {
                        violation: Box::new(violation.clone()),
                        source,
                    },
                    error => error,
                })?;
                // Not every search knows depths before.
                violation.depth = indices.len().saturating_sub(1) as u32;
                violation.cost = explored.cost_of(ordinal);
                let confirmed = match follow(model, &indices, stop) {
                    Ok(trace) => {
                        if explored.directed_order().is_some() && violation.cost.is_none() {
                            violation.cost = cost_of(model, &trace, stop).ok();
                        }
                        names::rename(model, violation, &trace, *goal, stop)
                            .map(|()| violation.trace = Some(trace))
                    }
                    Err(TraceError::Stopped) => Err(NotConfirmed::Stopped),
                    Err(_) => Err(NotConfirmed::NotFound),
                };
                match confirmed {
                    Ok(()) => is_traced = true,
                    // It is reported without its run.
                    Err(NotConfirmed::Stopped) => {}
                    Err(NotConfirmed::NotFound) => return Err(Error::Unrepeatable { ordinal }),
                }
            }
            // A property whose result depends on an order is neither true nor false.
            if let Some(property) = violation.property
                && !violation.kind.is_order_dependence()
            {
                let holds = &mut self.holds[property as usize];
                *holds = match violation.is_rejection(self.run.shape) {
                    // A goal that could not be evaluated somewhere may be reached elsewhere.
                    true => holds.filter(|&holds| !holds),
                    false => Some(false),
                };
            }
        }
        Ok(is_traced)
    }

    /// Whether nothing is left open, if the search had this reason to stop.
    fn is_complete(&self, reason: Option<Reason>) -> bool {
        let is_decided = self.all_covered || self.is_exact || !self.is_clean;
        // A fault cuts off what would have come after it, so states may be left unvisited.
        self.is_exhausted && reason.is_none() && !self.faulted && is_decided
    }
}

impl From<Violation> for Found {
    fn from(violation: Violation) -> Self {
        Found {
            violation,
            goal: None,
        }
    }
}

/// A goal that is not reached, as a violation.
fn of_goal(shape: &Shape, goal: usize, depth: u32, ordinal: Option<u64>) -> Violation {
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
        cost: None,
        ordinal,
        property: Some(goal.property),
        parameters: goal.parameters.clone(),
        trace: None,
    }
}
