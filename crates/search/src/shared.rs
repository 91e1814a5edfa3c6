//! What the threads of a search share, and the items of work each of them can do on it.
//!
//! Phases keep the threads apart: while one thread writes to a task or a partition, no other
//! looks at it, so the locks are there for the compiler and are never waited for.

use std::hint::black_box;
use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use hadal_model::{Expander, PAD_BYTES, Shape, Stop};
use hadal_store::{Arena, Cell, Set, Table, hash_state};

use crate::liveness::Edges;
use crate::progress::Gauge;
use crate::task::Task;
use crate::visited::Visited;

/// What all threads of a search share.
pub(crate) struct Shared<'a> {
    pub(crate) shape: &'a Shape,
    pub(crate) stop: &'a Stop,
    pub(crate) gauge: &'a Gauge,
    pub(crate) arena: RwLock<Arena>,
    pub(crate) visited: Visited,
    pub(crate) tasks: Vec<RwLock<Task>>,
    /// What the liveness pass collects, a place per task.
    pub(crate) edges: Vec<RwLock<Edges>>,
    pub(crate) round: RwLock<Round>,
}

/// The tasks of a round, as positions in `Shared::tasks`.
#[derive(Default)]
pub(crate) struct Round {
    /// All tasks with a block, in the order of their blocks.
    pub(crate) active: Vec<usize>,
    /// Those that are to be expanded now.
    pub(crate) expanding: Vec<usize>,
    /// How many of `active`, from the first on, are inserted now.
    pub(crate) n_inserting: usize,
    /// The partitions that have candidates among them.
    pub(crate) partitions: Vec<usize>,
}

/// The phases of rounds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Job {
    /// Successors, canonical forms, hashes. An item is a task.
    Expand,
    /// Only what happens at the sources. An item is a task.
    Probe,
    /// Successors' ordinals and goals reached, for liveness. An item is a task.
    Edges,
    /// Candidates into the table. An item is a partition.
    Insert,
    /// Properties of new states. An item is a task.
    Check,
    /// Ordinals into the table. An item is a partition.
    Settle,
}

/// Candidates whose cells and states are read ahead: a large table is not in any cache, and loads
/// that do not depend on each other can be waited for together.
const LOOKAHEAD: usize = 16;

const UNPOISONED: &str = "a panic under this lock ends the search";

pub(crate) fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().expect(UNPOISONED)
}

pub(crate) fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().expect(UNPOISONED)
}

impl<'a> Shared<'a> {
    pub(crate) fn new(
        shape: &'a Shape,
        stop: &'a Stop,
        gauge: &'a Gauge,
        block_len: usize,
        window_blocks: usize,
    ) -> Self {
        Shared {
            shape,
            stop,
            gauge,
            arena: RwLock::new(Arena::new(shape.state_len, block_len, PAD_BYTES)),
            visited: Visited::new(shape),
            tasks: (0..window_blocks)
                .map(|_| RwLock::new(Task::new(shape)))
                .collect(),
            edges: (0..window_blocks).map(|_| RwLock::default()).collect(),
            round: RwLock::default(),
        }
    }

    /// Does one item of a phase, on any thread.
    pub(crate) fn work(&self, job: Job, item: usize, expander: &mut dyn Expander) {
        let round = read(&self.round);
        match job {
            Job::Expand => {
                let mut task = write(&self.tasks[round.expanding[item]]);
                task.make_candidates(expander, &read(&self.arena), &self.visited);
            }
            Job::Probe => {
                let mut task = write(&self.tasks[round.expanding[item]]);
                let arena = read(&self.arena);
                while task.is_full() && !self.stop.is_raised() {
                    task.expand(expander, &arena);
                }
            }
            Job::Edges => {
                let mut task = write(&self.tasks[round.expanding[item]]);
                let mut edges = write(&self.edges[round.expanding[item]]);
                edges.collect(&mut task, expander, self);
            }
            Job::Check => {
                let mut task = write(&self.tasks[round.active[item]]);
                task.check_survivors(expander, self.shape, &self.visited);
            }
            Job::Insert => {
                let partition = round.partitions[item];
                match &self.visited {
                    Visited::Numbers(table) => self.insert_numbers(table, &round, partition),
                    Visited::States(set) => self.insert_states(set, &round, partition),
                }
            }
            Job::Settle => {
                let Visited::Numbers(table) = &self.visited else {
                    return;
                };
                let tasks = self.inserting(&round);
                write(table.partition(round.partitions[item])).settle(|name| {
                    let (task, position) = split(name);
                    tasks[task].ordinal_of(position)
                });
            }
        }
    }

    fn insert_states(&self, set: &Set, round: &Round, partition: usize) {
        let tasks = self.inserting(round);
        let batches = tasks.iter().map(|task| task.keys.words(partition));
        write(set.partition(partition)).add_all(batches, |task, at| {
            let task = &tasks[task];
            task.mark_new(task.keys.positions(partition)[at]);
        });
    }

    fn insert_numbers(&self, table: &Table, round: &Round, partition: usize) {
        let tasks = self.inserting(round);
        let n = tasks
            .iter()
            .map(|task| task.in_partition(partition).len())
            .sum();
        let arena = read(&self.arena);
        let mut table = write(table.partition(partition));
        table.reserve(n, |ordinal| hash_state(arena.get(ordinal)));
        for (number, task) in tasks.iter().enumerate() {
            for positions in task.in_partition(partition).chunks(LOOKAHEAD) {
                let mut likely = [None; LOOKAHEAD];
                for (likely, &position) in likely.iter_mut().zip(positions) {
                    *likely = table.peek(task.candidate(position).1);
                }
                for ordinal in likely.into_iter().flatten() {
                    black_box(arena.get(ordinal).first());
                }
                for &position in positions {
                    let (state, hash) = task.candidate(position);
                    let name = join(number, position);
                    let known = table.find_or_add(hash, name, |cell| match cell {
                        Cell::Stored(ordinal) => arena.get(ordinal) == state,
                        Cell::Candidate(name) => {
                            let (task, position) = split(name);
                            tasks[task].candidate(position).0 == state
                        }
                    });
                    if known.is_none() {
                        task.mark_new(position);
                    }
                }
            }
        }
    }

    /// The tasks whose candidates are inserted now, in order.
    pub(crate) fn inserting(&self, round: &Round) -> Vec<RwLockReadGuard<'_, Task>> {
        round.active[..round.n_inserting]
            .iter()
            .map(|&task| read(&self.tasks[task]))
            .collect()
    }
}

/// A candidate's name in the table: the number of its task in the round, and its position there.
fn join(task: usize, position: u32) -> u64 {
    ((task as u64) << 32) | u64::from(position)
}

fn split(name: u64) -> (usize, u32) {
    ((name >> 32) as usize, name as u32)
}
