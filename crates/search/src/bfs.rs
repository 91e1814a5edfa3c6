//! Breadth-first search by layers, all in memory.
//!
//! The calling thread only watches: it carries a raised stop flag or a passed deadline to those
//! who work, and progress to whoever looks on.
//! The work is done by threads whose stack the options fix, one of which coordinates.

use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

use hadal_model::{Model, Shape, Stop};

use crate::crew::Crew;
use crate::findings::Findings;
use crate::progress::Gauge;
use crate::round::{Halt, Rounds};
use crate::shared::{Job, Shared};
use crate::sizes::Sizes;
use crate::snapshot::Content;
use crate::supply::Supply;
use crate::task::{Block, Task};
use crate::totals::{Totals, add_to};
use crate::visited::Visited;
use crate::worker::Worker;
use crate::{Error, Observer, OnDisk, Options, Outcome, Progress, Reason};
use commits::Commits;
use postponing::WayBack;

mod commits;
mod postponing;
mod report;

/// Visits every reachable state of `model` and decides its properties.
///
/// `stop` interrupts it; the flag itself is only read.
pub fn check(
    model: &dyn Model,
    options: &Options,
    stop: &Stop,
    observer: &mut dyn Observer,
) -> Result<Outcome, Error> {
    search(model, options, None, stop, observer)
}

/// A folder, and what its manifest says.
pub(crate) type Taken = (OnDisk, Content);

/// Searches, with a folder if there is one.
pub(crate) fn search(
    model: &dyn Model,
    options: &Options,
    taken: Option<Taken>,
    stop: &Stop,
    observer: &mut dyn Observer,
) -> Result<Outcome, Error> {
    match search_by(true, model, options, taken.clone(), stop, observer) {
        Err(Error::Unfit(_)) => search_by(false, model, options, taken, stop, observer),
        result => result,
    }
}

/// Searches, with states known by keys or by numbers.
fn search_by(
    by_keys: bool,
    model: &dyn Model,
    options: &Options,
    taken: Option<Taken>,
    stop: &Stop,
    observer: &mut dyn Observer,
) -> Result<Outcome, Error> {
    let (gauge, limits) = (Gauge::new(), Limits::default());
    std::thread::scope(|scope| {
        let (layers, ended_layers) = sync_channel(LAYERS_AHEAD);
        let coordinator = Builder::new()
            .name("coordinator".to_owned())
            .stack_size(options.stack_bytes)
            .spawn_scoped(scope, || {
                let visited = Visited::new(model.shape(), options, by_keys);
                coordinate(model, options, taken, visited, &limits, &gauge, layers)
            })?;
        watch(options, stop, &limits, &gauge, &ended_layers, observer);
        coordinator
            .join()
            .unwrap_or_else(|panic| resume_unwind(panic))
    })
}

/// How the watching thread stops the others.
#[derive(Debug, Default)]
pub(crate) struct Limits {
    pub(crate) stop: Stop,
    time_is_up: AtomicBool,
}

impl Limits {
    pub(crate) fn reason(&self) -> Reason {
        if self.time_is_up.load(Ordering::Relaxed) {
            Reason::Time
        } else {
            Reason::Interrupted
        }
    }
}

/// How long a raised flag may go unnoticed.
const WATCH_EVERY: Duration = Duration::from_millis(10);
const PROGRESS_EVERY: Duration = Duration::from_millis(200);

/// Ends of layers that wait to be shown; there may be millions of layers, and some are left out.
const LAYERS_AHEAD: usize = 1024;

/// Watches until the coordinator hangs up.
pub(crate) fn watch(
    options: &Options,
    stop: &Stop,
    limits: &Limits,
    gauge: &Gauge,
    ended_layers: &Receiver<Progress>,
    observer: &mut dyn Observer,
) {
    // The others must not be left running if an observer panics.
    struct RaiseAtEnd<'a>(&'a Stop);
    impl Drop for RaiseAtEnd<'_> {
        fn drop(&mut self) {
            self.0.raise();
        }
    }
    let _raise = RaiseAtEnd(&limits.stop);

    let deadline = options
        .time_limit
        .and_then(|limit| Instant::now().checked_add(limit));
    let mut shown = Instant::now();
    loop {
        match ended_layers.recv_timeout(WATCH_EVERY) {
            Ok(progress) => {
                observer.progress(&progress);
                shown = Instant::now();
            }
            Err(RecvTimeoutError::Timeout) if shown.elapsed() >= PROGRESS_EVERY => {
                observer.progress(&gauge.read());
                shown = Instant::now();
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        if stop.is_raised() {
            limits.stop.raise();
        } else if deadline.is_some_and(|deadline| Instant::now() >= deadline)
            && !limits.stop.is_raised()
        {
            limits.time_is_up.store(true, Ordering::Relaxed);
            limits.stop.raise();
        }
    }
}

/// Gathers the crew and searches.
fn coordinate(
    model: &dyn Model,
    options: &Options,
    taken: Option<Taken>,
    visited: Visited,
    limits: &Limits,
    gauge: &Gauge,
    layers: SyncSender<Progress>,
) -> Result<Outcome, Error> {
    let sizes = Sizes::new(options, model.shape(), &visited);
    let shared = Shared::new(model.shape(), &limits.stop, gauge, visited, &sizes);
    let crew = Crew::new(sizes.n_threads - 1);
    let (on_disk, content) = taken.unzip();
    std::thread::scope(|scope| {
        let _dismiss = crew.dismiss_at_end();
        for number in 1..sizes.n_threads {
            let (shared, crew) = (&shared, &crew);
            Builder::new()
                .name(format!("worker {number}"))
                .stack_size(options.stack_bytes)
                .spawn_scoped(scope, move || {
                    let expander = model.expander(shared.stop);
                    let mut worker = Worker::new(number, expander, &shared.visited);
                    crew.help(|job, item| shared.work(job, item, &mut worker));
                })?;
        }
        let worker = Worker::new(0, model.expander(shared.stop), &shared.visited);
        Search {
            model,
            shape: model.shape(),
            options,
            limits,
            gauge,
            ended_layers: layers,
            rounds: Rounds::new(&shared, &crew, worker, sizes, on_disk.clone()),
            findings: Findings::new(model.shape(), options.deadlock, options.max_errors),
            totals: Totals::new(model.shape()),
            before: Totals::new(model.shape()),
            layers: Vec::new(),
            way_back: None,
            commits: on_disk.map(Commits::new),
        }
        .run(content.unwrap_or(Content::Begun))
    })
}

/// A search under way.
struct Search<'a> {
    model: &'a dyn Model,
    shape: &'a Shape,
    options: &'a Options,
    limits: &'a Limits,
    gauge: &'a Gauge,
    ended_layers: SyncSender<Progress>,
    rounds: Rounds<'a>,
    findings: Findings<'a>,
    totals: Totals,
    /// The totals at the beginning of the layer.
    before: Totals,
    /// Sizes of the layers, without the one that is being found.
    layers: Vec<u64>,
    /// The last layer that is certain, while those after it are not.
    way_back: Option<WayBack>,
    /// When the search is written down, if it has a folder.
    commits: Option<Commits>,
}

/// How the layers came to an end.
enum End {
    /// No state is left.
    Exhausted,
    /// As many violations as asked for. The totals are those before the expansion of the layer in
    /// which the last one lies.
    Violated(Totals),
    /// Something else came first.
    Stopped(Reason),
}

impl Search<'_> {
    fn run(mut self, content: Content) -> Result<Outcome, Error> {
        let end = match self.search_from(content) {
            // What is on disk is as the last manifest says, so another run can go on.
            Err(Error::Store(hadal_store::Error::Full { needed })) => {
                self.rounds.refused_bytes = needed;
                End::Stopped(Reason::Disk)
            }
            end => end?,
        };
        self.rounds.end();
        if matches!(end, End::Stopped(_)) && self.forget_uncertain().is_none() {
            // What was found of the layer after the last one counts too.
            let n_found = self.rounds.n_states() - self.layers.iter().sum::<u64>();
            if n_found > 0 || self.layers.is_empty() {
                self.layers.push(n_found);
            }
        }
        report::report(self, end)
    }

    fn search_from(&mut self, content: Content) -> Result<End, Error> {
        match content {
            Content::Underway(snapshot) => {
                self.restore(&snapshot)?;
                self.search_layers(snapshot.depth, snapshot.frontier, true)
            }
            Content::Begun | Content::Finished => {
                self.begin_commits()?;
                if let Some(halt) = self.find_starts()? {
                    return Ok(End::Stopped(self.reason(halt)));
                }
                self.search_layers(0, 0..self.rounds.n_states(), false)
            }
        }
    }

    /// Goes on from a layer of which `frontier` is left; `is_begun` if that is not all of it, or
    /// might not be.
    fn search_layers(
        &mut self,
        mut depth: u32,
        mut frontier: Range<u64>,
        mut is_begun: bool,
    ) -> Result<End, Error> {
        loop {
            if !is_begun {
                self.before = self.totals.clone();
                self.layers.push(frontier.end - frontier.start);
                self.findings.begin_layer();
            }
            is_begun = false;
            self.gauge.begin_layer(depth, frontier.end - frontier.start);
            let is_cut = self.options.bound == Some(depth) && !frontier.is_empty();
            let mut is_certain = true;
            if !is_cut {
                let halt = match self.findings.limit() {
                    Some(limit) => self.probe(depth, frontier.start..limit.max(frontier.start))?,
                    None => self.expand(depth, frontier.clone())?,
                };
                match halt {
                    Some(halt @ (Halt::Stopped | Halt::Memory)) => {
                        return Ok(End::Stopped(self.reason(halt)));
                    }
                    halt => is_certain = halt != Some(Halt::Mistaken),
                }
            }
            self.findings.end_layer();
            let is_last = is_cut || self.rounds.n_states() == frontier.end;
            if is_last || self.findings.is_full() || self.rounds.is_certainty_due() {
                is_certain = is_certain && self.make_certain()?;
            }
            if !is_certain {
                ((depth, frontier), is_begun) = (self.go_back()?, true);
                continue;
            }
            if self.findings.is_full() {
                return Ok(End::Violated(self.before.clone()));
            }
            if is_cut {
                return Ok(End::Stopped(Reason::Bound));
            }
            // No one may be listening, or they may be slow, and that is their affair.
            let _ = self.ended_layers.try_send(self.gauge.read());
            frontier = frontier.end..self.rounds.n_states();
            if frontier.is_empty() {
                return Ok(End::Exhausted);
            }
            depth += 1;
        }
    }

    fn find_starts(&mut self) -> Result<Option<Halt>, Error> {
        let (findings, totals) = (&mut self.findings, &mut self.totals);
        let mut fault = None;
        let halt = self.rounds.run(
            Job::Expand,
            &mut Supply::Starts,
            &|| false,
            &mut |_, task| {
                totals.add_new_states(task);
                add_failures(findings, task, 0);
                if !task.is_full() {
                    totals.add_goal_hits(task);
                    fault = task.kernel.successors.sources()[0].faults.first().cloned();
                }
                true
            },
        )?;
        let halt = match halt {
            None => self.settle(0)?,
            halt => halt,
        };
        let n_states = self.rounds.n_states();
        match fault {
            Some(fault) => self.findings.add_start_fault(n_states, &fault),
            None if n_states == 0 && halt.is_none() => return Err(Error::NoStartstate),
            None => {}
        }
        Ok(halt)
    }

    /// Expands a layer and finds the next one.
    fn expand(&mut self, depth: u32, frontier: Range<u64>) -> Result<Option<Halt>, Error> {
        let end = frontier.end;
        // What is not certain is written down between two layers.
        if self.way_back.is_some()
            && self.commits.as_ref().is_some_and(Commits::is_due)
            && !self.keep_certain(depth, frontier.clone())?
        {
            return Ok(Some(Halt::Mistaken));
        }
        self.postpone(depth, &frontier)?;
        let mut supply = Supply::States(frontier);
        loop {
            let (findings, totals) = (&mut self.findings, &mut self.totals);
            let (gauge, commits) = (self.gauge, &self.commits);
            let is_certain = self.way_back.is_none();
            let room = self.rounds.room();
            let is_due = || match is_certain {
                true => commits.as_ref().is_some_and(Commits::is_due),
                // Or within one that takes long, or to make room on the disk.
                false => commits.as_ref().is_some_and(Commits::is_overdue) || room.is_short(),
            };
            let mut each = |_: usize, task: &Task| {
                totals.add_new_states(task);
                totals.duplicates.memory += (task.n_candidates() - task.n_survivors()) as u64;
                add_failures(findings, task, depth + 1);
                if !task.is_full() {
                    totals.add_sources(task);
                    totals.add_goal_hits(task);
                    add_sources(findings, task, depth);
                    let n_sources = task.kernel.successors.sources().len();
                    gauge.note_expanded(n_sources, totals.transitions);
                }
                commits.iter().for_each(Commits::note_work);
                !findings.is_full()
            };
            let halt = self
                .rounds
                .run(Job::Expand, &mut supply, &is_due, &mut each)?;
            match (halt, &supply) {
                (Some(Halt::Paused), Supply::States(left)) => {
                    if !self.keep_certain(depth, left.clone())? {
                        return Ok(Some(Halt::Mistaken));
                    }
                }
                (None, _) => return self.settle(depth + 1),
                (Some(Halt::Stopped), _) => {
                    // So that nothing is lost. What the stop cut short was not taken.
                    let left = match self.way_back {
                        None => (self.rounds.first_left(&supply)).map(|first| (depth, first..end)),
                        // To make certain would take a while.
                        Some(_) => Some(self.go_back()?),
                    };
                    if let Some((depth, left)) = left
                        && self.commits.as_ref().is_some_and(Commits::is_worth_it)
                    {
                        self.commit(depth, left)?;
                    }
                    return Ok(halt);
                }
                (halt, _) => return Ok(halt),
            }
        }
    }

    /// Where it is not known yet which states of the layer at `depth` are new, finds it out.
    fn settle(&mut self, depth: u32) -> Result<Option<Halt>, Error> {
        if !self.rounds.has_candidates() {
            return Ok(None);
        }
        let (findings, totals) = (&mut self.findings, &mut self.totals);
        let mut duplicates = totals.duplicates;
        let halt = self
            .rounds
            .settle_candidates(&mut duplicates, &mut |first, settling| {
                add_to(&mut totals.goals, &settling.verdicts.goals);
                for failure in &settling.verdicts.failures {
                    findings.add_failure(first + u64::from(failure.state), depth, failure);
                }
            })?;
        // Startstates are no successors.
        if depth > 0 {
            totals.duplicates = duplicates;
        }
        Ok(halt)
    }

    /// Expands states before a known failure, which can only be preceded by what happens at them.
    fn probe(&mut self, depth: u32, states: Range<u64>) -> Result<Option<Halt>, Error> {
        let (findings, totals) = (&mut self.findings, &self.totals);
        let gauge = self.gauge;
        let mut supply = Supply::States(states);
        let mut each = |_: usize, task: &Task| {
            add_sources(findings, task, depth);
            let n_sources = task.kernel.successors.sources().len();
            gauge.note_expanded(n_sources, totals.transitions);
            !findings.is_full()
        };
        self.rounds
            .run(Job::Probe, &mut supply, &|| false, &mut each)
    }

    fn reason(&self, halt: Halt) -> Reason {
        match halt {
            Halt::Memory => Reason::Memory,
            Halt::Stopped | Halt::Enough | Halt::Paused | Halt::Mistaken => self.limits.reason(),
        }
    }
}

fn add_failures(findings: &mut Findings<'_>, task: &Task, depth: u32) {
    for failure in &task.verdicts.failures {
        let ordinal = task.first_survivor + u64::from(failure.state);
        findings.add_failure(ordinal, depth, failure);
    }
}

fn add_sources(findings: &mut Findings<'_>, task: &Task, depth: u32) {
    if let Block::States { first, .. } = task.block
        && findings.may_add(&task.happened)
    {
        for (ordinal, source) in (first..).zip(task.kernel.successors.sources()) {
            findings.add_source(ordinal, depth, source);
        }
    }
}
