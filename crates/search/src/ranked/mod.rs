//! The search by ranks: expands one rank after the other until no state is left, enough violations
//! are found, or something stops it.
//!
//! Counts and findings are in the [`Tally`], states in the [`Engine`]. Ranks may be provisional until
//! they are [committed](commits). This loop knows one thing about it: the tally may be rolled back to
//! an earlier rank, from which the search continues.

mod checkpoints;
mod commits;
mod explored;
mod strategies;

use std::ops::Range;

use hadal_model::GoalKind;
use hadal_store::key_space::KeySpace;
use hadal_store::{Error as StoreError, check_state_len};

use crate::budget::Budget;
use crate::checkpoint::{Content, Schedule};
use crate::ending::End;
use crate::engine::{Context, Engine, Expansion, Interrupt};
use crate::external::RunMonitor;
use crate::findings::Findings;
use crate::pool::Pool;
use crate::rank::{MeasureColumns, Rank, RankOrder};
use crate::sink::Sink;
use crate::strategy::Run;
use crate::tally::{Tally, n_states};
use crate::totals::add_to;
use crate::watch::Watched;
use crate::window::{Block, BlockSource, Task};
use crate::worker::Worker;
use crate::{Error, Outcome, Reason, StoreKind};

pub use strategies::{AStar, Auto, BestFirst, Dijkstra, Ranked};

/// Searches in the order of ranks that `order` assigns.
fn search(
    run: &Run<'_>,
    order: &dyn RankOrder,
    sink: Option<&mut dyn Sink>,
) -> Result<Outcome, Error> {
    let Run { shape, options, .. } = *run;
    if !order.is_depth() {
        run.refuse_bound(order.name())?;
    }
    if order.needs_estimates() && MeasureColumns::new(shape).estimate.is_none() {
        return Err(Error::NoEstimate {
            strategy: order.name(),
        });
    }
    let Watched { limits, gauge, .. } = run.watched;
    let has_liveness = shape.goals.iter().any(|g| g.kind == GoalKind::Liveness);
    // Liveness needs the states themselves.
    let store = match has_liveness {
        true => StoreKind::Exact,
        false => options.store,
    };
    let dictionary_bytes = Budget::dictionary_bytes(options.memory_bytes);
    let keys = KeySpace::new(shape.state_len, dictionary_bytes, store, options.seed);
    let budget = Budget::new(options, shape, &keys);
    if run.search_folder.is_some() {
        check_state_len(shape.state_len)?;
    }
    let (folder, content) = run.search_folder.clone().unzip();
    let monitor = RunMonitor {
        stop: &limits.stop,
        gauge,
    };
    let context = Context {
        shape,
        stop: &limits.stop,
        allowance: &run.allowance,
        gauge,
        monitor: &monitor,
        keys: &keys,
        budget: &budget,
        folder: folder.as_ref(),
        order,
    };
    let worker = |number| Worker::new(number, run.expander(), &keys.codec);
    let pool = Pool::new(budget.n_threads, options.stack_bytes, worker)?;
    let search = Search {
        run,
        engine: Engine::new(context, &pool, sink.map(|sink| sink as _), has_liveness),
        tally: Tally::new(shape, options).with_ranks(!order.is_depth()),
        schedule: (folder.clone()).map(|folder| Schedule::new(folder, options)),
    };
    pool.run(|| search.run(content.unwrap_or(Content::Begun)))
}

/// A search under way.
struct Search<'a, 'm> {
    run: &'a Run<'a>,
    engine: Engine<'a, 'm>,
    tally: Tally<'a>,
    /// When checkpoints are taken, if there is a folder.
    schedule: Option<Schedule>,
}

/// How the expansion of a rank ended.
enum Expanded {
    /// All of it is expanded, or as much as is needed.
    Done,
    /// The search was rolled back: the tally has the rank to continue with.
    RolledBack,
    Interrupted(Interrupt),
}

impl Search<'_, '_> {
    fn run(mut self, content: Content) -> Result<Outcome, Error> {
        let end = match self.search_from(content) {
            // The folder is as the last checkpoint left it, so a later run can resume.
            Err(Error::Store(StoreError::Full { needed })) => {
                self.engine.refused_bytes = needed;
                End::Stopped(Reason::Disk)
            }
            end => end?,
        };
        self.engine.end();
        if matches!(end, End::Stopped(_)) && !self.forget_provisional() {
            // The states found of the next rank count too.
            let n_in_ranks = self.tally.layers.iter().sum();
            let n_found = self.engine.states.len().saturating_sub(n_in_ranks);
            if n_found > 0 {
                self.tally.totals.reopened += n_states(self.engine.reopened());
            }
            if n_found > 0 || self.tally.layers.is_empty() {
                self.tally.layers.push(n_found);
            }
        }
        self.conclude(end)
    }

    fn search_from(&mut self, content: Content) -> Result<End, Error> {
        match content {
            Content::Underway(checkpoint) => self.restore(*checkpoint)?,
            Content::Begun | Content::Finished => {
                if let Some(schedule) = &self.schedule {
                    schedule.begin()?;
                }
                self.engine.begin_checkpoints()?;
                match self.find_starts()? {
                    Ok(rank) => {
                        let frontier = 0..self.engine.states.len();
                        self.tally
                            .begin_rank(rank, frontier, self.engine.reopened());
                    }
                    Err(interrupt) => return Ok(End::Stopped(self.reason(interrupt))),
                }
            }
        }
        let end = self.search_ranks()?;
        match end {
            End::Exhausted if self.engine.graph.is_some() => self.give_graph(),
            End::Exhausted if self.engine.keeps_states => {
                self.checkpoint_at_end()?;
                Ok(End::Exhausted)
            }
            end => Ok(end),
        }
    }

    /// All states are found: takes a checkpoint before the work on their graph, so that a later run
    /// need not search again.
    fn checkpoint_at_end(&mut self) -> Result<(), Error> {
        let n_states = self.engine.states.len();
        self.tally.frontier = n_states..n_states;
        match self.schedule.as_ref().is_some_and(Schedule::is_worthwhile) {
            true => self.checkpoint(),
            false => Ok(()),
        }
    }

    /// Passes the graph of all states on to the sink.
    fn give_graph(&mut self) -> Result<End, Error> {
        self.checkpoint_at_end()?;
        let n_starts = self.tally.layers.first().copied().unwrap_or(0);
        match self.engine.give_graph(n_starts)? {
            None => Ok(End::Exhausted),
            Some(interrupt) => Ok(End::Stopped(self.reason(interrupt))),
        }
    }

    /// Expands the frontier of the tally, and then rank after rank.
    fn search_ranks(&mut self) -> Result<End, Error> {
        loop {
            let frontier = self.tally.frontier.clone();
            let depth = self.tally.depth();
            self.run.begin_rank(depth, frontier.end - frontier.start);
            let is_cut = self.run.options.bound == Some(depth) && !frontier.is_empty();
            let n_before = frontier.end;
            if !is_cut {
                let expanded = match self.tally.findings.limit() {
                    Some(limit) => self.probe(limit)?,
                    None => self.expand()?,
                };
                match expanded {
                    Expanded::Done => {}
                    Expanded::RolledBack => continue,
                    Expanded::Interrupted(by) => return Ok(End::Stopped(self.reason(by))),
                }
            }
            self.tally.findings.end_rank();
            let is_full = self.tally.findings.is_full();
            let next = match is_full || is_cut {
                true => None,
                false => match self.advance()? {
                    Ok(rank) => Some(rank).filter(|_| self.engine.states.len() > n_before),
                    Err(interrupt) => return Ok(End::Stopped(self.reason(interrupt))),
                },
            };
            if !self.end_rank(next.is_none())? {
                continue;
            }
            if is_full {
                return Ok(End::Violated(self.tally.before.clone()));
            }
            if is_cut {
                return Ok(End::Stopped(Reason::Bound));
            }
            self.run.end_rank();
            match next {
                Some(rank) => {
                    let frontier = n_before..self.engine.states.len();
                    let reopened = self.engine.reopened();
                    self.tally.begin_rank(rank, frontier, reopened);
                }
                None => return Ok(End::Exhausted),
            }
        }
    }
}

impl Search<'_, '_> {
    /// Finds the startstates; returns their rank.
    fn find_starts(&mut self) -> Result<Result<Rank, Interrupt>, Error> {
        let Tally {
            totals, findings, ..
        } = &mut self.tally;
        let mut fault = None;
        let mut each = |task: &Task| {
            add_to(&mut totals.goals, &task.verdicts.goals);
            add_failures(findings, task, 0);
            if !task.is_full() {
                totals.add_goal_hits(task);
                fault = task.kernel.successors.sources()[0].faults.first().cloned();
            }
            true
        };
        let mut source = BlockSource::Starts;
        let end = self
            .engine
            .expand(&mut source, None, &|| false, &mut each)?;
        let rank = match end {
            Expansion::Interrupted(interrupt) => Err(interrupt),
            Expansion::Finished | Expansion::Enough | Expansion::Paused => self.advance()?,
        };
        let n_states = self.engine.states.len();
        match fault {
            Some(fault) => self.tally.findings.add_start_fault(n_states, &fault),
            None if n_states == 0 && rank.is_ok() => return Err(Error::NoStartstate),
            None => {}
        }
        Ok(rank)
    }

    /// Expands the rank.
    fn expand(&mut self) -> Result<Expanded, Error> {
        if !self.begin_rank()? {
            return Ok(Expanded::RolledBack);
        }
        let end = self.tally.frontier.end;
        let mut source = BlockSource::States(self.tally.frontier.clone());
        loop {
            match self.expand_until_due(&mut source)? {
                Expansion::Finished | Expansion::Enough => return Ok(Expanded::Done),
                Expansion::Paused => {
                    if !self.checkpoint_within(&source)? {
                        return Ok(Expanded::RolledBack);
                    }
                }
                Expansion::Interrupted(interrupt) => {
                    if interrupt == Interrupt::Stop {
                        self.checkpoint_at_stop(&source, end)?;
                    }
                    return Ok(Expanded::Interrupted(interrupt));
                }
            }
        }
    }

    /// Expands what is left in `source`, until a checkpoint is due.
    fn expand_until_due(&mut self, source: &mut BlockSource) -> Result<Expansion, Error> {
        let (depth, rank) = (self.tally.depth(), self.tally.rank);
        let (run, schedule) = (self.run, self.schedule.as_ref());
        let is_provisional = self.engine.is_provisional();
        let folder = self.engine.context.folder;
        let is_due = || commits::is_pause_due(is_provisional, schedule, folder);
        let is_by_depth = self.engine.context.order.is_depth();
        let Tally {
            totals,
            findings,
            reopened,
            ..
        } = &mut self.tally;
        let mut each = |task: &Task| {
            if is_by_depth {
                add_to(&mut totals.goals, &task.verdicts.goals);
                totals.duplicates.memory += (task.n_candidates() - task.n_survivors()) as u64;
                add_failures(findings, task, depth + 1);
            }
            if !task.is_full() {
                totals.add_sources(task);
                totals.add_goal_hits(task);
                add_sources(findings, reopened, task, depth);
                let n_sources = task.kernel.successors.sources().len();
                run.note_expanded(n_sources, totals.transitions);
            }
            schedule.iter().for_each(|schedule| schedule.note_work());
            !findings.is_full()
        };
        self.engine.expand(source, Some(rank), &is_due, &mut each)
    }

    /// Finds the states of the next rank that are not known yet.
    fn advance(&mut self) -> Result<Result<Rank, Interrupt>, Error> {
        let is_start = self.tally.layers.is_empty();
        let (rank, depth) = match is_start {
            true => (None, 0),
            false => (Some(self.tally.rank), self.tally.depth() + 1),
        };
        let Tally {
            totals, findings, ..
        } = &mut self.tally;
        let mut duplicates = totals.duplicates;
        let rank = self
            .engine
            .advance(rank, &mut duplicates, &mut |first, batch| {
                add_to(&mut totals.goals, &batch.verdicts.goals);
                for failure in &batch.verdicts.failures {
                    findings.add_failure(first + u64::from(failure.state), depth, failure);
                }
            })?;
        // Startstates are not successors.
        if !is_start {
            totals.duplicates = duplicates;
        }
        Ok(rank)
    }

    /// Expands the states before the ordinal `limit`, that of a known failure: only what happens at
    /// them can precede it.
    fn probe(&mut self, limit: u64) -> Result<Expanded, Error> {
        let depth = self.tally.depth();
        let start = self.tally.frontier.start;
        let mut source = BlockSource::States(start..limit.max(start));
        let (run, Context { keys, stop, .. }) = (self.run, self.engine.context);
        let Tally {
            totals,
            findings,
            reopened,
            ..
        } = &mut self.tally;
        let expand = |task: &mut Task, worker: &mut Worker<'_>| {
            while task.is_full() && !stop.is_raised() {
                task.expand(worker, keys);
            }
        };
        let end = self.engine.revisit(&mut source, expand, &mut |task, ()| {
            add_sources(findings, reopened, task, depth);
            let n_sources = task.kernel.successors.sources().len();
            run.note_expanded(n_sources, totals.transitions);
            !findings.is_full()
        })?;
        Ok(match end {
            Expansion::Interrupted(interrupt) => Expanded::Interrupted(interrupt),
            Expansion::Finished | Expansion::Enough | Expansion::Paused => Expanded::Done,
        })
    }

    fn reason(&self, interrupt: Interrupt) -> Reason {
        match interrupt {
            Interrupt::Memory => Reason::Memory,
            Interrupt::Stop => self.run.stop_reason(),
        }
    }
}

fn add_failures(findings: &mut Findings<'_>, task: &Task, depth: u32) {
    for failure in &task.verdicts.failures {
        let ordinal = task.first_survivor + u64::from(failure.state);
        findings.add_failure(ordinal, depth, failure);
    }
}

/// Adds what happened at the sources of `task`, but for those in `reopened`: of these it is known.
fn add_sources(findings: &mut Findings<'_>, reopened: &[Range<u64>], task: &Task, depth: u32) {
    if let Block::States { first, .. } = task.block
        && findings.may_add(&task.summary)
    {
        for (ordinal, source) in (first..).zip(task.kernel.successors.sources()) {
            if !Tally::is_reopened(reopened, ordinal) {
                findings.add_source(ordinal, depth, source);
            }
        }
    }
}
