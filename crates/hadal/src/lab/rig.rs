//! The rig that models are measured in: loads them, runs strategies on them one after the other,
//! and never lets a run that fails take the others with it.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use hadal_model::Model;
use hadal_search::{
    Deadlock, Locality, Observer, OnDisk, Options, Outcome, Reason, Stats, StrategyOptions, Value,
    Verdict,
};
use hadal_store::disk::{Folder, FolderOptions, NativeDisk};

use super::args::Common;
use super::table::{Cell, Mark};
use crate::flags::{DeadlockName, ProgressName, SymmetryName};
use crate::load::{self, Request};
use crate::progress::Display;
use crate::strategy::Choice;
use crate::style::Style;
use crate::{disk, memory, order, plan, signals, summary};

/// A model to be measured.
pub(crate) struct Subject {
    pub(crate) name: String,
    pub(crate) model: Box<dyn Model>,
}

/// Runs what is to be measured.
pub(crate) struct Rig<'a> {
    common: &'a Common,
    stack_bytes: usize,
    memory_bytes: u64,
    folder: Scratch,
    n_runs: u32,
    /// What went wrong, for the reader.
    pub(crate) notes: Vec<String>,
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
}

/// How a run ended, and what it told by then.
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

    /// Whether it tells all that there is to tell.
    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.end, End::Complete | End::Violated)
    }

    /// The word for how it ended.
    pub(crate) fn end(&self) -> &'static str {
        match self.end {
            End::Complete => "complete",
            End::Violated => "violation",
            End::Stopped(reason) => reason.name(),
            End::Failed => "failed",
            End::NotRun => "not-run",
        }
    }

    /// What is to be said about its figures. `n_states` are all there are.
    pub(crate) fn mark(&self, n_states: Option<u64>) -> Option<Mark> {
        match self.end {
            End::Complete | End::Violated => None,
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
        figure: impl FnOnce(&Outcome) -> super::table::Value,
    ) -> Cell {
        let value = self.outcome.as_ref().map(figure);
        let value = value.unwrap_or(super::table::Value::None);
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
    pub(crate) fn new(common: &'a Common) -> anyhow::Result<Self> {
        signals::listen().context("cannot listen to signals")?;
        Ok(Rig {
            stack_bytes: limits(common).stack_bytes + (4 << 20),
            memory_bytes: common.memory.unwrap_or_else(memory::default_budget),
            folder: Scratch::new(common.disk.as_deref())?,
            n_runs: 0,
            notes: Vec::new(),
            common,
        })
    }

    /// All models, loaded before the first is measured, so that a bad one costs nothing. `None`
    /// where one is wrong; that has been said.
    pub(crate) fn load(&self) -> anyhow::Result<Option<Vec<Subject>>> {
        let mut subjects = Vec::new();
        for path in &self.common.models {
            let (path, mut constants) = with_constants(path)?;
            let name = name_of(&path, &constants);
            constants.extend(self.common.constants.iter().cloned());
            let (source, language) = load::read(&path, None)?;
            let request = Request {
                source,
                language,
                dialect: plan::dialect(self.common.dialect),
                constants,
                symmetry: self.common.symmetry == SymmetryName::Full,
                limits: limits(self.common),
                engine: self.common.engine,
            };
            let style = Style::new(crate::flags::ColorName::Auto, &std::io::stderr());
            match load::load(request, style)? {
                Ok(loaded) => subjects.push(Subject {
                    name,
                    model: loaded.model,
                }),
                Err(_) => return Ok(None),
            }
        }
        Ok(Some(subjects))
    }

    /// Whether someone wants to see what there is.
    pub(crate) fn is_interrupted(&self) -> bool {
        signals::STOP.is_raised()
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
        for round in 0..self.common.repeat {
            if round > 0 {
                let again = self.run(subject, &ram_job, None);
                keep_faster(&mut ram, again);
            }
            for (at, job) in jobs.iter().enumerate() {
                // One that did not come to its end would hardly do so another time.
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
        let budget_bytes = match part {
            Some((fraction, baseline)) => (baseline.memory_bytes as f64 * fraction) as u64,
            None => self.memory_bytes,
        };
        self.announce(subject, &job.choice.label, part.map(|_| budget_bytes));
        let path = self.folder.path.join(format!("run-{}", self.n_runs));
        let mut display = Display::new(self.common.progress, None);
        // A search that may take all there is need not know how much of it is for the queue.
        let own = StrategyOptions {
            budget_bytes,
            store: self.common.store,
            seed: self.common.seed,
            active_share: part.map_or(1.0, |(_, baseline)| baseline.queue_share),
            ..StrategyOptions::default()
        };
        let result = self.search(subject, &job.choice, own, &path, &mut display);
        display.finish();
        // What cannot be deleted goes with the folder around it.
        let _ = fs::remove_dir_all(&path);
        match result {
            Ok(outcome) => {
                if let Some(last) = outcome.violations.last()
                    && last.kind.is_order_dependence()
                {
                    let (label, shape) = (&job.choice.label, subject.model.shape());
                    let why = summary::described(last, shape);
                    let note = format!("{label}: rejected: {}: {why}", order::headline(&last.at));
                    self.note(subject, &note);
                }
                let counting = stat(&outcome.strategy_stats, "seconds_counting").unwrap_or(0.0);
                Measured {
                    seconds: (outcome.seconds.search - counting).max(0.0),
                    end: end_of(&outcome),
                    outcome: Some(outcome),
                }
            }
            Err(error) => {
                self.note(subject, &format!("{}: {error}", job.choice.label));
                Measured {
                    end: End::Failed,
                    ..Measured::not_run()
                }
            }
        }
    }

    fn search(
        &self,
        subject: &Subject,
        choice: &Choice,
        own: StrategyOptions,
        path: &Path,
        observer: &mut dyn Observer,
    ) -> anyhow::Result<Outcome> {
        let options = Options {
            memory_bytes: own.budget_bytes,
            store: own.store,
            seed: own.seed,
            ..self.options()
        };
        let (model, stop) = (&*subject.model, &signals::STOP);
        fs::create_dir_all(path)
            .with_context(|| format!("cannot make the folder `{}`", path.display()))?;
        let disk = Arc::new(NativeDisk::open(path)?);
        let Some(strategy) = &choice.strategy else {
            let limits = disk::folder_options(own.budget_bytes, None);
            let on_disk = OnDisk {
                folder: Folder::open(disk, limits)?.0,
                resumable: false,
                label: Vec::new(),
            };
            return Ok(hadal_search::check_on_disk(
                model, &options, on_disk, stop, observer,
            )?);
        };
        let own = StrategyOptions {
            folder: Some(Folder::open(disk, FolderOptions::default())?.0),
            ..own
        };
        Ok(hadal_search::check_with(
            model, strategy, &own, &options, stop, observer,
        )?)
    }

    /// How far transitions lead. `None` where that failed, which is noted.
    pub(crate) fn locality(&mut self, subject: &Subject) -> Option<Locality> {
        self.announce(subject, "locality", None);
        let options = self.options();
        let mut display = Display::new(self.common.progress, None);
        let result =
            hadal_search::locality(&*subject.model, &options, &signals::STOP, &mut display);
        display.finish();
        match result {
            Ok(locality) => Some(locality),
            Err(error) => {
                self.note(subject, &error.to_string());
                None
            }
        }
    }

    /// All tables compare searches by one thread.
    fn options(&self) -> Options {
        Options {
            deadlock: match self.common.deadlock {
                DeadlockName::Stuttering => Deadlock::Stuttering,
                DeadlockName::Stuck => Deadlock::Stuck,
                DeadlockName::Off => Deadlock::Off,
            },
            max_errors: match self.common.stop_at_error {
                true => 1,
                false => usize::MAX,
            },
            threads: 1,
            stack_bytes: self.stack_bytes,
            memory_bytes: self.memory_bytes,
            time_limit: self.common.time_limit,
            ..Options::default()
        }
    }

    fn announce(&mut self, subject: &Subject, what: &str, budget_bytes: Option<u64>) {
        self.n_runs += 1;
        if self.common.progress == ProgressName::None {
            return;
        }
        let within = match budget_bytes {
            Some(bytes) => format!(" within {}", crate::units::bytes(bytes)),
            None => String::new(),
        };
        let (n, name) = (self.n_runs, &subject.name);
        let _ = writeln!(std::io::stderr(), "run {n}: {name}: {what}{within}");
    }

    fn note(&mut self, subject: &Subject, text: &str) {
        let note = format!("{}: {text}", subject.name);
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

fn limits(common: &Common) -> hadal_ir::interp::Limits {
    const CALL_LIMIT: u32 = 1000;
    plan::limits(plan::dialect(common.dialect), None, CALL_LIMIT)
}

fn end_of(outcome: &Outcome) -> End {
    let last = outcome.violations.last();
    match outcome.reason {
        // The figures are not about the model's states.
        _ if last.is_some_and(|last| last.kind.is_order_dependence()) => End::Failed,
        // All states were visited; the strategy only cannot decide that.
        Some(Reason::Liveness) => End::Complete,
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

/// Keeps the faster of two runs of the same. One that was cut off tells less than one that was not.
fn keep_faster(best: &mut Measured, other: Measured) {
    let rank = |run: &Measured| (!run.has_ended(), run.outcome.is_none());
    let is_better =
        rank(&other) < rank(best) || (rank(&other) == rank(best) && other.seconds < best.seconds);
    if is_better {
        *best = other;
    }
}

/// `model.m:N=4,M=2` is a file and constants.
fn with_constants(argument: &Path) -> anyhow::Result<(PathBuf, Vec<(String, String)>)> {
    let text = argument.to_string_lossy();
    match text.rsplit_once(':') {
        Some((path, constants)) if constants.contains('=') && !argument.exists() => {
            let constants: Result<Vec<_>, String> = constants
                .split(',')
                .map(crate::flags::parse_constant)
                .collect();
            let constants = constants.map_err(|what| anyhow::anyhow!("in `{text}`: {what}"))?;
            Ok((PathBuf::from(path), constants))
        }
        _ => Ok((argument.to_owned(), Vec::new())),
    }
}

/// The name of a model in tables: its file's, and the constants that make it another.
fn name_of(path: &Path, constants: &[(String, String)]) -> String {
    let stem = path.file_stem().unwrap_or(path.as_os_str());
    let mut name = stem.to_string_lossy().into_owned();
    for (constant, value) in constants {
        name += &format!(" {constant}={value}");
    }
    name
}

/// A folder that is there while the rig is.
struct Scratch {
    path: PathBuf,
}

impl Scratch {
    fn new(parent: Option<&Path>) -> anyhow::Result<Self> {
        let usual = match std::env::var_os("TMPDIR") {
            Some(path) if !path.is_empty() => PathBuf::from(path),
            _ => PathBuf::from("/var/tmp"),
        };
        let parent = parent.map_or(usual, Path::to_owned);
        let path = parent.join(format!("hadal-lab-{}", std::process::id()));
        fs::create_dir_all(&path)
            .with_context(|| format!("cannot make the folder `{}`", path.display()))?;
        Ok(Scratch { path })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_may_follow_a_model() {
        let read = |text: &str| with_constants(Path::new(text));
        let (path, constants) = read("sym/lock.m:N=4,M=2").expect("constants");
        assert_eq!(path, Path::new("sym/lock.m"));
        assert_eq!(name_of(&path, &constants), "lock N=4 M=2");
        let (path, constants) = read("c:lock.m").expect("a file");
        assert_eq!(
            (path.as_path(), constants.len()),
            (Path::new("c:lock.m"), 0)
        );
        assert!(read("lock.m:N=").is_err());
    }
}
