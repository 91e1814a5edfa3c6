//! Breadth-first search by layers, all in memory.
//!
//! The calling thread only watches: it carries a raised stop flag or a passed deadline to those
//! who work, and progress to whoever looks on.
//! The work is done by threads whose stack the options fix, one of which coordinates.

use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

use hadal_model::{Model, Shape, Stop};

use crate::crew::Crew;
use crate::findings::Findings;
use crate::progress::Gauge;
use crate::round::{Halt, Rounds, Sizes, Supply};
use crate::shared::{Job, Shared};
use crate::task::{Block, Task};
use crate::{Duplicates, Error, Observer, Options, Outcome, Progress, Reason};

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
    let (gauge, limits) = (Gauge::new(), Limits::default());
    std::thread::scope(|scope| {
        let (layers, ended_layers) = channel();
        let coordinator = Builder::new()
            .name("coordinator".to_owned())
            .stack_size(options.stack_bytes)
            .spawn_scoped(scope, || {
                coordinate(model, options, &limits, &gauge, layers)
            })?;
        watch(options, stop, &limits, &gauge, &ended_layers, observer);
        coordinator
            .join()
            .unwrap_or_else(|panic| resume_unwind(panic))
    })
}

/// How the watching thread stops the others.
#[derive(Debug, Default)]
struct Limits {
    stop: Stop,
    time_is_up: AtomicBool,
}

impl Limits {
    fn reason(&self) -> Reason {
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

/// Watches until the coordinator hangs up.
fn watch(
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
    limits: &Limits,
    gauge: &Gauge,
    layers: Sender<Progress>,
) -> Result<Outcome, Error> {
    let sizes = Sizes::new(options, model.shape());
    let shared = Shared::new(
        model.shape(),
        &limits.stop,
        gauge,
        sizes.block_len,
        sizes.window_blocks,
    );
    let crew = Crew::new(sizes.n_threads - 1);
    std::thread::scope(|scope| {
        let _dismiss = crew.dismiss_at_end();
        for number in 1..sizes.n_threads {
            let (shared, crew) = (&shared, &crew);
            Builder::new()
                .name(format!("worker {number}"))
                .stack_size(options.stack_bytes)
                .spawn_scoped(scope, move || {
                    let mut expander = model.expander(shared.stop);
                    crew.help(|job, item| shared.work(job, item, &mut *expander));
                })?;
        }
        let expander = model.expander(shared.stop);
        Search {
            model,
            shape: model.shape(),
            options,
            limits,
            gauge,
            ended_layers: layers,
            rounds: Rounds::new(&shared, &crew, expander, sizes),
            findings: Findings::new(model.shape(), options.deadlock, options.max_errors),
            totals: Totals::new(model.shape()),
            layers: Vec::new(),
        }
        .run()
    })
}

/// A search under way.
struct Search<'a> {
    model: &'a dyn Model,
    shape: &'a Shape,
    options: &'a Options,
    limits: &'a Limits,
    gauge: &'a Gauge,
    ended_layers: Sender<Progress>,
    rounds: Rounds<'a>,
    findings: Findings<'a>,
    totals: Totals,
    /// Sizes of the layers, without the one that is being found.
    layers: Vec<u64>,
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
    fn run(mut self) -> Result<Outcome, Error> {
        let end = self.search_layers()?;
        if matches!(end, End::Stopped(_)) {
            // What was found of the layer after the last one counts too.
            let n_found = self.rounds.n_states() - self.layers.iter().sum::<u64>();
            if n_found > 0 || self.layers.is_empty() {
                self.layers.push(n_found);
            }
        }
        report::report(self, end)
    }

    fn search_layers(&mut self) -> Result<End, Error> {
        if let Some(halt) = self.find_starts()? {
            return Ok(End::Stopped(self.reason(halt)));
        }
        let mut frontier = 0..self.rounds.n_states();
        let mut depth = 0;
        loop {
            let before = self.totals.clone();
            let n_frontier = frontier.end - frontier.start;
            self.layers.push(n_frontier);
            self.findings.begin_layer();
            self.gauge.begin_layer(depth, n_frontier);
            let is_cut = self.options.bound == Some(depth) && n_frontier > 0;
            if !is_cut {
                let halt = match self.findings.limit() {
                    Some(limit) => self.probe(depth, frontier.start..limit)?,
                    None => self.expand(depth, frontier.clone())?,
                };
                if let Some(halt @ (Halt::Stopped | Halt::Memory)) = halt {
                    return Ok(End::Stopped(self.reason(halt)));
                }
            }
            self.findings.end_layer();
            if self.findings.is_full() {
                return Ok(End::Violated(before));
            }
            if is_cut {
                return Ok(End::Stopped(Reason::Bound));
            }
            // No one may be listening, and that is their affair.
            let _ = self.ended_layers.send(self.gauge.read());
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
        let halt = self
            .rounds
            .run(Job::Expand, Supply::Starts, &mut |_, task| {
                totals.add_new_states(task);
                add_failures(findings, task, 0);
                if !task.is_full() {
                    totals.add_goal_hits(task);
                    fault = task.successors.sources()[0].fault.clone();
                }
                true
            })?;
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
        let (findings, totals) = (&mut self.findings, &mut self.totals);
        let gauge = self.gauge;
        let supply = Supply::States(frontier);
        self.rounds.run(Job::Expand, supply, &mut |_, task| {
            totals.add_new_states(task);
            totals.duplicates.memory += (task.n_candidates() - task.survivors().1) as u64;
            add_failures(findings, task, depth + 1);
            if !task.is_full() {
                totals.add_sources(task);
                totals.add_goal_hits(task);
                add_sources(findings, task, depth);
                gauge.note_expanded(task.successors.sources().len(), totals.transitions);
            }
            !findings.is_full()
        })
    }

    /// Expands states before a known failure, which can only be preceded by what happens at them.
    fn probe(&mut self, depth: u32, states: Range<u64>) -> Result<Option<Halt>, Error> {
        let (findings, totals) = (&mut self.findings, &self.totals);
        let gauge = self.gauge;
        let supply = Supply::States(states);
        self.rounds.run(Job::Probe, supply, &mut |_, task| {
            add_sources(findings, task, depth);
            gauge.note_expanded(task.successors.sources().len(), totals.transitions);
            !findings.is_full()
        })
    }

    fn reason(&self, halt: Halt) -> Reason {
        match halt {
            Halt::Memory => Reason::Memory,
            Halt::Stopped | Halt::Enough => self.limits.reason(),
        }
    }
}

fn add_failures(findings: &mut Findings<'_>, task: &Task, depth: u32) {
    for failure in &task.failures {
        let ordinal = task.first_survivor + u64::from(failure.state);
        findings.add_failure(ordinal, depth, failure);
    }
}

fn add_sources(findings: &mut Findings<'_>, task: &Task, depth: u32) {
    if let Block::States { first, .. } = task.block {
        for (ordinal, source) in (first..).zip(task.successors.sources()) {
            findings.add_source(ordinal, depth, source);
        }
    }
}

/// What adds up over expansions and new states.
#[derive(Clone, Debug)]
struct Totals {
    visited: u64,
    transitions: u64,
    fired_by_rule: Vec<u64>,
    goals: Vec<u64>,
    duplicates: Duplicates,
}

impl Totals {
    fn new(shape: &Shape) -> Self {
        Totals {
            visited: 0,
            transitions: 0,
            fired_by_rule: vec![0; shape.rules.len()],
            goals: vec![0; shape.goals.len()],
            duplicates: Duplicates::default(),
        }
    }

    fn add_new_states(&mut self, task: &Task) {
        add_to(&mut self.goals, &task.goals);
    }

    fn add_sources(&mut self, task: &Task) {
        let sources = task.successors.sources();
        self.visited += sources.len() as u64;
        self.transitions += sources.iter().map(|s| u64::from(s.fired)).sum::<u64>();
        add_to(&mut self.fired_by_rule, task.successors.fired_by_rule());
    }

    fn add_goal_hits(&mut self, task: &Task) {
        add_to(&mut self.goals, task.successors.goal_hits());
    }
}

fn add_to(sums: &mut [u64], counts: &[u64]) {
    for (sum, count) in sums.iter_mut().zip(counts) {
        *sum += count;
    }
}
