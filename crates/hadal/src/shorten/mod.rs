//! Looks for a cheaper run to a violation that is known.
//!
//! Any run to a state with the same violation will do: the state in which the known run ends, or
//! another one. Several searches share the time, each better than the others for some models: a short
//! search in the order of costs, which is the end of it where the model is small; one [around the
//! run](neighbourhood), for runs that are long because they wander; A* led by what is violated, and
//! toward the state in which the run ends; and with the time that is left, the search in the order of
//! costs again. What that finds first is a cheapest run.

mod neighbourhood;
mod sought;

use std::fmt;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use hadal_model::{Model, PAD_BYTES, States, Stop, Successors, for_each_batch};
use hadal_search::strategy::Findings;
use hadal_search::{
    AStar, Auto, Deadlock, Dijkstra, Observer, Outcome, Reason, Strategy, Trace, cost_of,
};
use serde_json::Value;

use crate::record::{ViolationRecord, violation_value};
use crate::recorded_run::{Confirmed, ImpossibleStep, confirm, follow};
use crate::{
    Check, Directed, Disk, Error, LoadLimits, ModelSource, Resources, SearchOptions, TargetText,
};
use neighbourhood::Neighbourhood;
use sought::{Aim, SoughtModel, deadlock_mode};

/// How long a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunLength {
    /// What its steps cost together.
    pub cost: u64,
    /// Its steps, the startstate not counted.
    pub steps: u64,
}

/// A cheaper run to the same violation.
#[derive(Clone, Debug)]
pub struct ShorterRun {
    /// How long it is.
    pub length: RunLength,
    /// The violation with this run, as a record has it.
    pub record: Value,
    /// Whether it ends in the state in which the known run ends, up to a renaming of interchangeable
    /// elements where states are reduced.
    pub is_same_state: bool,
}

/// What was found out about a run.
#[derive(Clone, Debug)]
pub struct Shortened {
    /// How long it is.
    pub known: RunLength,
    /// The cheapest run that was found, where one is cheaper, or as cheap with fewer steps.
    pub shorter: Option<ShorterRun>,
    /// Whether it is proved that no run to the violation costs less than the cheapest one known.
    pub is_least: bool,
    /// Why nothing is proved, where that is so; `None` also where steps were left out that the model
    /// might have with other limits.
    pub reason: Option<Reason>,
}

impl Shortened {
    /// The length of the cheapest run known.
    pub fn best(&self) -> RunLength {
        let shorter = self.shorter.as_ref();
        shorter.map_or(self.known, |shorter| shorter.length)
    }
}

/// Why a run cannot be shortened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotShortened {
    /// The violation was recorded without a run, or there is none that shows it.
    #[error("the record holds no run to `{0}`, so there is nothing to shorten")]
    NoRun(String),
    /// It is no violation of one state.
    #[error(
        "a run that shows {0} cannot be shortened: it is not the last state alone that shows it"
    )]
    Kind(&'static str),
    /// It happens before the first state.
    #[error("`{0}` fails in a startstate, so there is no step to save")]
    FaultyStart(String),
    /// The run is not one of the model.
    #[error(transparent)]
    Impossible(#[from] ImpossibleStep),
    /// The end of the run shows no violation.
    #[error(
        "the last state of the record does not show `{0}`: the model is not the one that was checked, \
         or it was checked with other limits"
    )]
    NotViolated(String),
    /// A model cannot be loaded, or a search failed.
    #[error(transparent)]
    Failed(#[from] Error),
}

/// Is told how a run is shortened, beside the progress of each search.
pub trait ShorteningObserver: Observer {
    /// A search begins.
    fn begin(&mut self, search: &str) {
        let _ = search;
    }

    /// A cheaper run was found.
    fn improved(&mut self, length: RunLength) {
        let _ = length;
    }
}

/// Looks for a cheaper run to a violation of a record.
pub struct Shortening<'a> {
    /// The model as it was searched.
    source: ModelSource,
    violation: &'a ViolationRecord,
    resources: Resources,
    time_limit: Duration,
    stop: &'a Stop,
    observer: &'a mut dyn ShorteningObserver,
    load_limits: LoadLimits<'a>,
}

impl<'a> Shortening<'a> {
    /// How long a run is shortened by default.
    pub const TIME_LIMIT: Duration = Duration::from_secs(60);

    /// Of the run to `violation`, one of the model from `source`. `stop` ends the search, and what
    /// was found by then counts.
    pub fn new(
        source: ModelSource,
        violation: &'a ViolationRecord,
        stop: &'a Stop,
        observer: &'a mut dyn ShorteningObserver,
    ) -> Self {
        Shortening {
            source,
            violation,
            resources: Resources::default(),
            time_limit: Self::TIME_LIMIT,
            stop,
            observer,
            load_limits: LoadLimits::default(),
        }
    }

    /// What it may use; a time limit there is that of all searches together.
    pub fn resources(mut self, resources: Resources) -> Self {
        self.time_limit = resources.time_limit.unwrap_or(Self::TIME_LIMIT);
        self.resources = resources;
        self
    }

    /// Limits on loading the model, which is loaded several times.
    pub fn load_limits(mut self, limits: LoadLimits<'a>) -> Self {
        self.load_limits = limits;
        self
    }

    /// Searches.
    pub fn run(mut self) -> Result<Shortened, NotShortened> {
        let started = Instant::now();
        let violation = self.violation;
        self.refuse()?;
        let replayed = self.source.clone().for_replay().load()?;
        let unreduced = replayed.model_of(&violation.name);
        let trace = follow(unreduced, violation)?;
        let states: Vec<Vec<u8>> = trace
            .steps
            .iter()
            .filter_map(|step| step.state.clone())
            .collect();
        let Some(last) = states.last() else {
            return Err(NotShortened::FaultyStart(violation.name.clone()));
        };
        let not_violated = || NotShortened::NotViolated(violation.name.clone());
        if confirm(unreduced, violation, Some(last)) == Confirmed::No {
            return Err(not_violated());
        }
        let known = self.length(unreduced, &trace)?;
        let last = last.clone();
        drop((trace, replayed));
        let aim = Aim::of(violation);
        let deadline = started.checked_add(self.time_limit);
        let limits = LoadLimits {
            deadline,
            ..self.load_limits
        };
        let loaded = SoughtModel::new(self.source.load_within(&limits)?, &aim, &violation.name);
        let sought = Target {
            deadlock: self.deadlock(&aim),
            end: representative(&*loaded.loaded.model, &last),
            aim,
        };
        if !sought.is_at_end(&loaded) {
            return Err(not_violated());
        }
        let mut improvement = Improvement {
            shortened: Shortened {
                known,
                shorter: None,
                is_least: known == NOTHING,
                reason: None,
            },
            is_settled: known == NOTHING,
            states,
            sought,
            deadline,
        };
        self.search(&loaded, &mut improvement)?;
        let mut shortened = improvement.shortened;
        if !shortened.is_least && shortened.reason.is_none() && !loaded.is_cut() {
            shortened.reason = Some(match self.stop.is_raised() {
                true => Reason::Interrupted,
                false => Reason::Time,
            });
        }
        Ok(shortened)
    }

    /// Refuses what is no run to a state that is wrong by itself.
    fn refuse(&self) -> Result<(), NotShortened> {
        let violation = self.violation;
        let what = match violation.kind.as_str() {
            "liveness" => "that something cannot happen any more",
            "order-dependence" => "that the result of a loop depends on an order",
            "cover" => return Err(NotShortened::NoRun(violation.name.clone())),
            _ if violation.trace.is_empty() && violation.depth == 0 => {
                return Err(NotShortened::FaultyStart(violation.name.clone()));
            }
            _ if violation.trace.is_empty() => {
                return Err(NotShortened::NoRun(violation.name.clone()));
            }
            _ => return Ok(()),
        };
        Err(NotShortened::Kind(what))
    }

    fn deadlock(&self, aim: &Aim) -> Deadlock {
        match aim.is_deadlock() {
            true => deadlock_mode(&self.violation.message),
            false => Deadlock::Off,
        }
    }

    fn length(&self, model: &dyn Model, trace: &Trace) -> Result<RunLength, NotShortened> {
        // A run that is shown all the same is not stopped with the search.
        let cost = cost_of(model, trace, &Stop::new());
        Ok(RunLength {
            cost: cost.map_err(|error| Error::Internal(error.to_string()))?,
            steps: u64::from(trace.depth()),
        })
    }

    /// One search after the other, until a run is known to be a cheapest one or the time is up.
    fn search(&mut self, loaded: &SoughtModel, improvement: &mut Improvement) -> Result<(), Error> {
        // Where the model is small, this is all.
        let first = improvement.slice(0.1).min(LONGEST_ATTEMPT);
        self.visit_all(loaded, first, improvement)?;
        self.search_around(loaded, 0.35, improvement)?;
        let before = improvement.shortened.best();
        let heuristics = self.heuristics(&improvement.sought);
        for (number, heuristic) in heuristics.iter().enumerate() {
            if self.is_done(improvement) {
                return Ok(());
            }
            // One part is for what follows.
            let n_parts = heuristics.len() - number + 1;
            let started = Instant::now();
            let limit = improvement.slice(1.0 / n_parts as f64);
            let Some(directed) = self.directed(heuristic, loaded, improvement)? else {
                continue;
            };
            let limit = limit.saturating_sub(started.elapsed());
            let name = format!("led by {heuristic}");
            self.attempt(&directed, &AStar::default(), &name, limit, improvement)?;
        }
        if improvement.shortened.best() < before {
            self.search_around(loaded, 0.5, improvement)?;
        }
        let last = improvement.slice(1.0);
        // In the time that it had before it would find nothing more.
        match last > first {
            true => self.visit_all(loaded, last, improvement),
            false => Ok(()),
        }
    }

    /// Searches in the order of costs.
    fn visit_all(
        &mut self,
        loaded: &SoughtModel,
        limit: Duration,
        improvement: &mut Improvement,
    ) -> Result<(), Error> {
        // Where every step costs 1, the order of depth is the same and takes less time.
        let (strategy, name): (&dyn Strategy, _) = match loaded.has_costs() {
            true => (&Dijkstra, "in the order of costs"),
            false => (&Auto, "in the order of depth"),
        };
        self.attempt(loaded, strategy, name, limit, improvement)?;
        Ok(())
    }

    /// Searches around the best run for a part of the time that is left.
    fn search_around(
        &mut self,
        loaded: &SoughtModel,
        part: f64,
        improvement: &mut Improvement,
    ) -> Result<(), Error> {
        let around = Neighbourhood::new(improvement.states.clone());
        let limit = improvement.slice(part);
        let found = self.attempt(loaded, &around, "around the run", limit, improvement)?;
        if around.is_exhausted() && found.is_some() {
            improvement.is_settled = true;
            improvement.shortened.is_least = !loaded.is_cut();
        }
        Ok(())
    }

    fn is_done(&self, improvement: &Improvement) -> bool {
        let is_over = improvement.slice(1.0).is_zero() || self.stop.is_raised();
        improvement.is_settled || is_over
    }

    /// Searches for as long as `limit`, and takes what that finds. Returns how long the run is that it
    /// has found.
    fn attempt(
        &mut self,
        loaded: &SoughtModel,
        strategy: &dyn Strategy,
        name: &str,
        limit: Duration,
        improvement: &mut Improvement,
    ) -> Result<Option<RunLength>, Error> {
        if self.is_done(improvement) || limit.is_zero() {
            return Ok(None);
        }
        self.observer.begin(name);
        let result = Check::new(&loaded.loaded)
            .search(SearchOptions {
                deadlock: improvement.sought.deadlock,
                ..SearchOptions::default()
            })
            .resources(Resources {
                time_limit: Some(limit),
                ..self.resources.clone()
            })
            .strategy(strategy)
            .disk_use(Disk::Scratch)
            .stop(self.stop)
            .prepare()?
            .run_with(&mut *self.observer);
        let checked = match result {
            Ok(checked) => checked,
            // A state off the known run has no number; other searches may not come to it.
            Err(Error::Search { error, .. }) if is_about_measures(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        let outcome = &checked.outcome;
        let violations = checked.violations();
        let found = violations.iter().find(|found| {
            let violation = found.violation;
            let kind = violation.kind.name();
            (improvement.sought.aim).is(kind, &violation.name, &violation.at)
        });
        let length = found.and_then(|found| {
            let steps = u64::from(found.violation.trace.as_ref()?.depth());
            // Without costs there is no other account of it.
            let cost = found
                .violation
                .cost
                .or((!loaded.has_costs()).then_some(steps))?;
            Some(RunLength { cost, steps })
        });
        let shortened = &mut improvement.shortened;
        if let (Some(found), Some(length)) = (found, length)
            && length < shortened.best()
        {
            let steps = found.violation.trace.iter().flat_map(|it| &it.steps);
            let last = steps.clone().last();
            let end = last.and_then(|step| step.stored.as_deref());
            improvement.states = steps.filter_map(|step| step.state.clone()).collect();
            shortened.shorter = Some(ShorterRun {
                length,
                record: violation_value(found)?,
                is_same_state: end == Some(&improvement.sought.end),
            });
            self.observer.improved(length);
        }
        // A search that was stopped may have found a violation that is not the first one.
        let is_first = length.is_some() && is_least(outcome, strategy);
        improvement.is_settled = is_first;
        shortened.is_least = is_first && !loaded.is_cut();
        shortened.reason = outcome.reason;
        Ok(length)
    }

    /// What may lead to the violation.
    fn heuristics(&self, sought: &Target) -> Vec<String> {
        // A graph has no estimates.
        if self.source.language.is_graph() {
            return Vec::new();
        }
        let name = &self.violation.name;
        let mut heuristics = match self.violation.kind.as_str() {
            "deadlock" => vec!["blocked".to_owned(), "active".to_owned()],
            "invariant" if self.source.goal_text().is_some() => vec!["sum(formula)".to_owned()],
            "invariant" => vec![format!("sum(formula:{name})")],
            "assertion" | "error" => vec!["sum(formula)".to_owned()],
            _ => Vec::new(),
        };
        if !sought.end.is_empty() {
            heuristics.push("hamming".to_owned());
        }
        heuristics
    }

    /// The model with an estimate; `None` where it cannot have this one.
    fn directed(
        &self,
        heuristic: &str,
        loaded: &SoughtModel,
        improvement: &Improvement,
    ) -> Result<Option<SoughtModel>, Error> {
        let Improvement {
            sought, deadline, ..
        } = improvement;
        let deadline = *deadline;
        let name = &self.violation.name;
        let Ok(directed) = Directed::new(heuristic, sought.deadlock) else {
            return Ok(None);
        };
        let mut source = self.source.clone();
        if directed.needs_target() {
            let end = loaded.loaded.model.describe_state(&sought.end);
            let is_of_claim = self.violation.kind == "claim";
            let target = TargetText::of_state(&source, end, is_of_claim);
            source = source.target(&target)?;
        }
        // The program need not end where this is not loaded in time.
        let limits = LoadLimits {
            deadline,
            on_overrun: None,
            ..self.load_limits
        };
        match source.directed_by(directed).load_within(&limits) {
            Ok(loaded) => {
                let directed = SoughtModel::new(loaded, &sought.aim, name);
                Ok(directed.has_estimate().then_some(directed))
            }
            // The estimate is not one of this model.
            Err(
                Error::Invalid(_) | Error::Target(_) | Error::Rejected(_) | Error::LoadStopped(_),
            ) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl fmt::Debug for Shortening<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shortening")
            .field("violation", &self.violation.name)
            .field("time_limit", &self.time_limit)
            .finish_non_exhaustive()
    }
}

/// No run is shorter.
const NOTHING: RunLength = RunLength { cost: 0, steps: 0 };

/// A search that is repeated at the end takes no longer than this at the beginning.
const LONGEST_ATTEMPT: Duration = Duration::from_secs(10);

/// Whether a search failed because a state has no cost or estimate, or one that is too large.
fn is_about_measures(error: &hadal_search::Error) -> bool {
    use hadal_search::Error::{NoEstimate, TooCostly, Unmeasured};
    matches!(error, NoEstimate { .. } | TooCostly | Unmeasured { .. })
}

/// Whether the first violation of a search is one of least cost.
fn is_least(outcome: &Outcome, strategy: &dyn Strategy) -> bool {
    let directed = outcome.directed.as_ref();
    let is_first_least = directed.is_some_and(|figures| figures.is_least);
    outcome.reason.is_none() && (strategy.is_by_depth() || is_first_least)
}

/// What was found so far, and until when more is looked for.
struct Improvement {
    shortened: Shortened,
    /// Whether no search would find more, even where that proves nothing.
    is_settled: bool,
    /// Those of the best run, as the model makes them.
    states: Vec<Vec<u8>>,
    sought: Target,
    deadline: Option<Instant>,
}

impl Improvement {
    /// A part of the time that is left.
    fn slice(&self, part: f64) -> Duration {
        match self.deadline {
            Some(deadline) => deadline
                .saturating_duration_since(Instant::now())
                .mul_f64(part),
            None => Duration::MAX.mul_f64(part / 2.0),
        }
    }
}

/// What is looked for.
struct Target {
    aim: Aim,
    deadlock: Deadlock,
    /// The state in which the known run ends, as searches have it.
    end: Vec<u8>,
}

impl Target {
    /// Whether the violation is found at the end of the known run.
    fn is_at_end(&self, loaded: &SoughtModel) -> bool {
        let model = &*loaded.loaded.model;
        let (shape, stop) = (model.shape(), Stop::new());
        let mut state = self.end.clone();
        state.resize(state.len() + PAD_BYTES, 0);
        let block = States::new(&state, self.end.len(), 1);
        let mut expander = model.expander(&stop);
        let mut failures = Vec::new();
        expander.check(block, &mut failures);
        let mut out = Successors::new(shape, 1024);
        let expanded = for_each_batch(&mut *expander, Some(block), &mut out, |_, _| {
            ControlFlow::<()>::Continue(())
        });
        let source = &out.sources()[0];
        let mut findings = Findings::new(shape, self.deadlock, 1);
        findings.add_source(0, 0, source);
        !failures.is_empty() || (expanded.is_ok() && findings.is_full())
    }
}

/// The representative of the states that differ from this one by a renaming of interchangeable
/// elements; the state itself where nothing is reduced.
fn representative(model: &dyn Model, state: &[u8]) -> Vec<u8> {
    let stop = Stop::new();
    let mut representative = state.to_vec();
    model.expander(&stop).canonicalise(&mut representative);
    representative
}
