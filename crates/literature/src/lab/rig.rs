//! The rig that models are measured in: runs strategies on them one after the other, and never lets
//! a failed run stop the others.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hadal_model::{Model, Shape, Stop};
use hadal_report::table::{self, Cell, Mark};
use hadal_search::{
    Deadlock, Observer, Options, Outcome, Progress, Reason, SearchFolder, Stats, Value, Verdict,
    Violation, check,
};
use hadal_store::disk::{Folder, FolderOptions, NativeDisk};

use crate::{Budget, Configurable, Locality, ParameterError, Ram, locality, parse};

/// A model to be measured.
pub struct Subject {
    /// Its name in tables.
    pub name: String,
    /// The model.
    pub model: Box<dyn Model>,
    /// What counts as a deadlock of it.
    pub deadlock: Deadlock,
}

/// Under which conditions models are measured.
#[derive(Clone, Debug)]
pub struct Conditions {
    /// The options of all runs. `memory_bytes` is for those that may use all memory; `deadlock` is
    /// that of the model.
    pub options: Options,
    /// A run that has found more states is cut off.
    pub most_states: Option<u64>,
    /// How often each run is repeated; the fastest counts.
    pub repeat: u32,
    /// Where runs have their folders.
    pub folder: PathBuf,
}

/// Whoever watches the runs.
pub trait Monitor {
    /// A run begins: its number, its model, what is run, and within which budget, if it has one.
    fn begin(&mut self, number: u32, model: &str, what: &str, budget_bytes: Option<u64>);

    /// The observer of the run.
    fn observer(&mut self) -> &mut dyn Observer;

    /// The run has ended.
    fn end(&mut self);

    /// A violation because of which a model is rejected, as a sentence.
    fn describe(&self, violation: &Violation, shape: &Shape) -> String;
}

/// A strategy, and how it was written.
#[derive(Clone, Debug)]
pub struct Choice {
    /// How it was written.
    pub label: String,
    /// The strategy.
    pub strategy: Box<dyn Configurable>,
}

impl Choice {
    pub(crate) fn new(label: impl Into<String>, strategy: impl Configurable + 'static) -> Self {
        Choice {
            label: label.into(),
            strategy: Box::new(strategy),
        }
    }

    /// The search that all others are compared with.
    pub(crate) fn ram() -> Self {
        Choice::new("ram", Ram::default())
    }

    /// Reads a strategy as [`parse`] does.
    pub fn parse(text: &str) -> Result<Self, ParameterError> {
        Ok(Choice {
            label: text.trim().to_owned(),
            strategy: parse(text)?,
        })
    }
}

/// Runs what is to be measured.
pub struct Rig<'a> {
    conditions: Conditions,
    stop: &'a Stop,
    monitor: &'a mut dyn Monitor,
    n_runs: u32,
    /// What went wrong, for the reader.
    pub notes: Vec<String>,
}

/// A run to be made.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) choice: Choice,
    /// What its table and queue may take, as part of what the search in memory needs; `None` is
    /// all memory there is.
    pub(crate) fraction: Option<f64>,
}

impl Job {
    pub(crate) fn within(choice: Choice, fraction: f64) -> Self {
        Job {
            choice,
            fraction: Some(fraction),
        }
    }

    pub(crate) fn unbounded(choice: Choice) -> Self {
        Job {
            choice,
            fraction: None,
        }
    }

    /// The same under another name.
    pub(crate) fn called(mut self, label: String) -> Self {
        self.choice.label = label;
        self
    }
}

/// A run, and how it ended.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(crate) outcome: Option<Outcome>,
    /// Without what was only done to count.
    pub(crate) seconds: f64,
    end: End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Complete,
    Violated,
    Stopped(Reason),
    /// It had found more states than it was to.
    AtMostStates,
    Failed,
    NotRun,
}

impl Measured {
    /// A run that was not made.
    pub(crate) fn not_run() -> Self {
        Measured {
            outcome: None,
            seconds: 0.0,
            end: End::NotRun,
        }
    }

    /// A run that failed, which was noted.
    pub(crate) fn failed() -> Self {
        Measured {
            end: End::Failed,
            ..Measured::not_run()
        }
    }

    /// Whether its figures are those of a complete run.
    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.end, End::Complete | End::Violated)
    }

    /// Whether it ended at a violation.
    pub(crate) fn is_violated(&self) -> bool {
        self.end == End::Violated
    }

    /// Whether it was cut off, so that its counts are lower bounds.
    pub(crate) fn was_cut_off(&self) -> bool {
        matches!(self.end, End::Stopped(_) | End::AtMostStates)
    }

    /// The word for how it ended.
    pub(crate) fn end(&self) -> &'static str {
        match self.end {
            End::Complete => "complete",
            End::Violated => "violation",
            End::Stopped(reason) => reason.name(),
            End::AtMostStates => "states",
            End::Failed => "failed",
            End::NotRun => "not-run",
        }
    }

    /// The mark of its figures. The model has `n_states`.
    pub(crate) fn mark(&self, n_states: Option<u64>) -> Option<Mark> {
        match self.end {
            End::Complete | End::Violated => None,
            End::AtMostStates => Some(Mark::AtLeast),
            End::Stopped(Reason::Time) => Some(Mark::Time),
            End::Stopped(Reason::Interrupted) => Some(Mark::Interrupted),
            End::Stopped(Reason::Collisions | Reason::Revisits) => {
                let distinct = self.count("distinct");
                Some(match distinct.is_some() && distinct == n_states {
                    true => Mark::AllVisited,
                    false => Mark::StatesMissing,
                })
            }
            End::Stopped(_) => Some(Mark::Memory),
            End::Failed => Some(Mark::Failed),
            End::NotRun => Some(Mark::NotRun),
        }
    }

    /// A cell with a figure of this run, marked if need be; empty where there was no run.
    pub(crate) fn cell(
        &self,
        n_states: Option<u64>,
        figure: impl FnOnce(&Outcome) -> table::Value,
    ) -> Cell {
        let value = self.outcome.as_ref().map(figure);
        let value = value.unwrap_or(table::Value::None);
        Cell::from(value).marked(self.mark(n_states))
    }

    /// A figure that only this strategy has.
    pub(crate) fn stat(&self, name: &str) -> Option<f64> {
        let stats = &self.outcome.as_ref()?.strategy_stats;
        stat(stats, name)
    }

    /// The same as a count.
    pub(crate) fn count(&self, name: &str) -> Option<u64> {
        self.outcome.as_ref()?.strategy_stats.count(name)
    }
}

fn stat(stats: &Stats, name: &str) -> Option<f64> {
    match stats.get(name)? {
        Value::Count(count) => Some(*count as f64),
        Value::Ratio(figure) | Value::Seconds(figure) => Some(*figure),
        Value::Text(_) | Value::Series(_) => None,
    }
}

/// The search with everything in memory, which the others are compared with.
pub(crate) struct Baseline {
    pub(crate) states: u64,
    pub(crate) transitions: u64,
    pub(crate) seconds: f64,
    pub(crate) layers: Vec<u64>,
    pub(crate) largest_queue: u64,
    /// The papers' M(p).
    pub(crate) memory_bytes: u64,
    /// The papers' g.
    pub(crate) queue_share: f64,
}

/// A model, with what it was compared with and how the runs on it ended.
pub(crate) struct Comparison {
    pub(crate) ram: Measured,
    /// `None` where that search did not end; then there are no other runs.
    pub(crate) baseline: Option<Baseline>,
    pub(crate) runs: Vec<Measured>,
}

impl<'a> Rig<'a> {
    /// A rig whose runs `stop` interrupts.
    pub fn new(conditions: Conditions, stop: &'a Stop, monitor: &'a mut dyn Monitor) -> Self {
        Rig {
            conditions,
            stop,
            monitor,
            n_runs: 0,
            notes: Vec::new(),
        }
    }

    /// Whether the measurement was interrupted.
    pub fn is_interrupted(&self) -> bool {
        self.stop.is_raised()
    }

    /// Runs the search with everything in memory, then the jobs; all of them as often as asked for,
    /// in turn, except those that do not come to their end.
    pub(crate) fn compare(&mut self, subject: &Subject, jobs: &[Job]) -> Comparison {
        let ram_job = Job::unbounded(Choice::ram());
        let mut ram = self.run(subject, &ram_job, None);
        let Some(mut baseline) = baseline(&ram) else {
            if ram.mark(None) != Some(Mark::Interrupted) {
                let note = "the search with everything in memory did not end, so there is nothing \
                            to compare with";
                self.note(subject, note);
            }
            return Comparison {
                ram,
                baseline: None,
                runs: vec![Measured::not_run(); jobs.len()],
            };
        };
        let mut runs: Vec<Measured> = Vec::new();
        for round in 0..self.conditions.repeat {
            if round > 0 {
                let again = self.run(subject, &ram_job, None);
                keep_faster(&mut ram, again);
            }
            for (at, job) in jobs.iter().enumerate() {
                // One that did not end would hardly end another time.
                if runs
                    .get(at)
                    .is_some_and(|best| round > 0 && !best.has_ended())
                {
                    continue;
                }
                let run = self.run(subject, job, Some(&baseline));
                match runs.get_mut(at) {
                    None => runs.push(run),
                    Some(best) => keep_faster(best, run),
                }
            }
        }
        baseline.seconds = ram.seconds;
        Comparison {
            ram,
            baseline: Some(baseline),
            runs,
        }
    }

    /// One run. What goes wrong is noted.
    pub(crate) fn run(
        &mut self,
        subject: &Subject,
        job: &Job,
        baseline: Option<&Baseline>,
    ) -> Measured {
        if self.is_interrupted() {
            return Measured {
                end: End::Stopped(Reason::Interrupted),
                ..Measured::not_run()
            };
        }
        let part = job.fraction.zip(baseline);
        let memory_bytes = match part {
            Some((fraction, baseline)) => (baseline.memory_bytes as f64 * fraction) as u64,
            None => self.conditions.options.memory_bytes,
        };
        self.begin(subject, &job.choice.label, part.map(|_| memory_bytes));
        let path = (self.conditions.folder).join(format!("run-{}", self.n_runs));
        let mut strategy = job.choice.strategy.clone();
        // A search that may use all memory need not know the share of its queue.
        let share = part.map_or(1.0, |(_, baseline)| baseline.queue_share);
        match strategy.set("active-share", &share.to_string()) {
            Ok(()) | Err(ParameterError::Unknown { .. }) => {}
            Err(error) => self.note(subject, &error.to_string()),
        }
        let options = Options {
            memory_bytes,
            ..self.options_for(subject)
        };
        let (limit, result) = self.search(subject, &*strategy, &options, &path);
        self.monitor.end();
        // What cannot be deleted goes with the folder around it.
        let _ = fs::remove_dir_all(&path);
        match result {
            Ok(outcome) => {
                if let Some(last) = outcome.violations.last()
                    && last.kind.is_order_dependence()
                {
                    let why = self.monitor.describe(last, subject.model.shape());
                    let note = format!("{}: rejected: {why}", job.choice.label);
                    self.note(subject, &note);
                }
                let counting = stat(&outcome.strategy_stats, "seconds_counting").unwrap_or(0.0);
                let end = match end_of(&outcome) {
                    End::Stopped(Reason::Interrupted) if limit => End::AtMostStates,
                    end => end,
                };
                Measured {
                    seconds: (outcome.seconds.search - counting).max(0.0),
                    end,
                    outcome: Some(outcome),
                }
            }
            Err(error) => {
                self.note(subject, &format!("{}: {error}", job.choice.label));
                Measured::failed()
            }
        }
    }

    /// A run without bounds on its memory, repeated as often as asked for, unless it does not come to
    /// its end.
    pub(crate) fn fastest(&mut self, subject: &Subject, job: &Job) -> Measured {
        let mut best = self.run(subject, job, None);
        for _ in 1..self.conditions.repeat {
            if !best.has_ended() {
                break;
            }
            let again = self.run(subject, job, None);
            keep_faster(&mut best, again);
        }
        best
    }

    /// The options of a run on a model.
    fn options_for(&self, subject: &Subject) -> Options {
        Options {
            deadlock: subject.deadlock,
            ..self.conditions.options.clone()
        }
    }

    /// A search, and whether it was cut off because it had found too many states.
    fn search(
        &mut self,
        subject: &Subject,
        strategy: &dyn Configurable,
        options: &Options,
        path: &Path,
    ) -> (bool, Result<Outcome, RunError>) {
        let observer = self.monitor.observer();
        let Some(most) = self.conditions.most_states else {
            let result = search(subject, strategy, options, path, self.stop, observer);
            return (false, result);
        };
        let stop = Stop::new();
        let mut limit = StateLimit {
            most,
            is_exceeded: false,
            stop: &stop,
            interrupt: self.stop,
            observer,
        };
        let result = search(subject, strategy, options, path, &stop, &mut limit);
        (limit.is_exceeded, result)
    }

    /// How far transitions lead. `None` where that failed, which is noted.
    pub(crate) fn locality(&mut self, subject: &Subject) -> Option<Locality> {
        self.begin(subject, "locality", None);
        let options = self.options_for(subject);
        let observer = self.monitor.observer();
        let result = locality(&*subject.model, &options, self.stop, observer);
        self.monitor.end();
        match result {
            Ok(locality) => Some(locality),
            Err(error) => {
                self.note(subject, &error.to_string());
                None
            }
        }
    }

    fn begin(&mut self, subject: &Subject, what: &str, budget_bytes: Option<u64>) {
        self.n_runs += 1;
        self.monitor
            .begin(self.n_runs, &subject.name, what, budget_bytes);
    }

    fn note(&mut self, subject: &Subject, text: &str) {
        let note = format!("{}: {text}", subject.name);
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

/// Cuts a run off that has found too many states: the only limit that a search does not have itself.
struct StateLimit<'a> {
    most: u64,
    is_exceeded: bool,
    /// The flag of this run.
    stop: &'a Stop,
    /// The flag of all runs.
    interrupt: &'a Stop,
    observer: &'a mut dyn Observer,
}

impl Observer for StateLimit<'_> {
    fn progress(&mut self, progress: &Progress) {
        if self.interrupt.is_raised() {
            self.stop.raise();
        } else if progress.states > self.most {
            self.is_exceeded = true;
            self.stop.raise();
        }
        self.observer.progress(progress);
    }
}

fn search(
    subject: &Subject,
    strategy: &dyn Configurable,
    options: &Options,
    path: &Path,
    stop: &Stop,
    observer: &mut dyn Observer,
) -> Result<Outcome, RunError> {
    fs::create_dir_all(path).map_err(|_| RunError::Folder(path.to_owned()))?;
    let disk = Arc::new(NativeDisk::open(path)?);
    let usage = match strategy.budget() {
        Budget::AllData => FolderOptions::for_memory(options.memory_bytes),
        Budget::TableAndQueue { .. } => FolderOptions::default(),
    };
    let folder = SearchFolder {
        folder: Folder::open(disk, usage)?.0,
        resumable: false,
        label: Vec::new(),
    };
    let model = &*subject.model;
    Ok(check(
        model,
        strategy,
        options,
        Some(folder),
        stop,
        observer,
    )?)
}

/// Why a run failed.
#[derive(Debug, thiserror::Error)]
enum RunError {
    #[error("cannot make the folder `{}`", .0.display())]
    Folder(PathBuf),
    #[error(transparent)]
    Store(#[from] hadal_store::Error),
    #[error(transparent)]
    Search(#[from] hadal_search::Error),
}

fn end_of(outcome: &Outcome) -> End {
    let last = outcome.violations.last();
    match outcome.reason {
        // The figures are not about the model's states.
        _ if last.is_some_and(|last| last.kind.is_order_dependence()) => End::Failed,
        // All states were visited; the strategy only cannot decide that.
        Some(Reason::Liveness | Reason::Unchecked) => End::Complete,
        Some(reason) => End::Stopped(reason),
        None if outcome.complete => End::Complete,
        None => match outcome.verdict {
            Verdict::Violated => End::Violated,
            Verdict::Verified | Verdict::Incomplete | Verdict::Rejected => End::Complete,
        },
    }
}

fn baseline(ram: &Measured) -> Option<Baseline> {
    let outcome = ram.outcome.as_ref().filter(|_| ram.has_ended())?;
    Some(Baseline {
        states: outcome.states,
        transitions: outcome.transitions,
        seconds: ram.seconds,
        layers: outcome.layers.clone(),
        largest_queue: ram.count("queue_max")?,
        memory_bytes: ram.count("memory_needed")?,
        queue_share: ram.stat("g")?,
    })
}

/// Keeps the faster of two runs of the same; a complete one is better than one that was cut off.
fn keep_faster(best: &mut Measured, other: Measured) {
    let rank = |run: &Measured| (!run.has_ended(), run.outcome.is_none());
    let is_better =
        rank(&other) < rank(best) || (rank(&other) == rank(best) && other.seconds < best.seconds);
    if is_better {
        *best = other;
    }
}
