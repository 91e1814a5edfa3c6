//! What the threads of a search share, and the items of work each of them can do on it.
//!
//! Phases keep the threads apart: while one thread writes to a task or a partition, no other
//! looks at it, so the locks are there for the compiler and are never waited for.

use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};

use hadal_model::{Shape, Stop};
use hadal_store::{Cell, hash_state};

use crate::external::{Bitmap, Hands, Settling};
use crate::liveness::Edges;
use crate::progress::Gauge;
use crate::sizes::Sizes;
use crate::task::Task;
use crate::visited::{Keyed, Numbers, Visited};
use crate::worker::Worker;

/// What all threads of a search share.
pub(crate) struct Shared<'a> {
    pub(crate) shape: &'a Shape,
    pub(crate) stop: &'a Stop,
    pub(crate) gauge: &'a Gauge,
    pub(crate) visited: Visited,
    pub(crate) tasks: Vec<RwLock<Task>>,
    /// What the liveness pass collects, a place per task.
    pub(crate) edges: Vec<RwLock<Edges>>,
    pub(crate) round: RwLock<Round>,
    /// Pieces of candidates that are looked at again, and which of these are new.
    pub(crate) settling: Vec<RwLock<Settling>>,
    pub(crate) is_new: RwLock<Bitmap>,
    /// Keys of candidates that were dealt out.
    pub(crate) hands: RwLock<Hands>,
    /// Partitions of the set before this one are swept: keys that come into them are gathered.
    pub(crate) first_unswept: AtomicUsize,
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
    /// How many of these are one item of [`Job::Insert`].
    pub(crate) n_together: usize,
}

/// The phases of rounds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Job {
    /// Successors, canonical forms, names. An item is a task.
    Expand,
    /// Names again, after layouts of keys have changed. An item is a task.
    Name,
    /// Only what happens at the sources. An item is a task.
    Probe,
    /// Successors' ordinals and goals reached, for liveness. An item is a task.
    Edges,
    /// Candidates into the table. An item is some partitions.
    Insert,
    /// Properties of new states. An item is a task.
    Check,
    /// Ordinals into the table. An item is a partition.
    Settle,
    /// What may be new, with its parents, for a later look. An item is a task.
    Collect,
    /// Keys of these, dealt out. An item is a task.
    Deal,
    /// New states among candidates, and their properties. An item is a piece of candidates, the
    /// first of them at this place.
    Judge(usize),
}

/// Candidates whose cells and states are read ahead: a large table is not in any cache, and loads
/// that do not depend on each other can be waited for together.
const LOOKAHEAD: usize = 16;

const UNPOISONED: &str = "a panic under this lock ends the search";

pub(crate) fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().expect(UNPOISONED)
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect(UNPOISONED)
}

pub(crate) fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().expect(UNPOISONED)
}

impl<'a> Shared<'a> {
    pub(crate) fn new(
        shape: &'a Shape,
        stop: &'a Stop,
        gauge: &'a Gauge,
        visited: Visited,
        sizes: &Sizes,
    ) -> Self {
        let Sizes {
            window_blocks,
            window_pieces,
            ..
        } = *sizes;
        Shared {
            shape,
            stop,
            gauge,
            visited,
            tasks: (0..window_blocks)
                .map(|_| RwLock::new(Task::new(shape)))
                .collect(),
            edges: (0..window_blocks).map(|_| RwLock::default()).collect(),
            round: RwLock::default(),
            settling: (0..window_pieces)
                .map(|_| RwLock::new(Settling::new(shape)))
                .collect(),
            is_new: RwLock::default(),
            hands: RwLock::default(),
            first_unswept: AtomicUsize::new(0),
        }
    }

    /// Does one item of a phase, on any thread.
    pub(crate) fn work(&self, job: Job, item: usize, worker: &mut Worker<'_>) {
        let round = read(&self.round);
        match job {
            Job::Expand => {
                let mut task = write(&self.tasks[round.expanding[item]]);
                task.make_candidates(worker, &self.visited);
            }
            Job::Name => {
                let mut task = write(&self.tasks[round.active[item]]);
                task.name_candidates(worker, &self.visited);
            }
            Job::Probe => {
                let mut task = write(&self.tasks[round.expanding[item]]);
                while task.is_full() && !self.stop.is_raised() {
                    task.expand(worker, &self.visited);
                }
            }
            Job::Edges => {
                let mut task = write(&self.tasks[round.expanding[item]]);
                let mut edges = write(&self.edges[round.expanding[item]]);
                edges.collect(&mut task, worker, self);
            }
            Job::Check => {
                let mut task = write(&self.tasks[round.active[item]]);
                task.collect_survivors(&self.visited);
                if let Visited::Keys(keyed) = &self.visited {
                    task.gather_keys(keyed, self.first_unswept.load(Ordering::Relaxed));
                }
                task.check_survivors(&mut *worker.expander, self.shape);
            }
            Job::Insert => {
                let tasks = self.inserting(&round);
                let partitions = round.partitions.chunks(round.n_together).nth(item);
                for &partition in partitions.unwrap_or_default() {
                    match &self.visited {
                        Visited::Numbers(numbers) => insert_numbers(numbers, &tasks, partition),
                        Visited::Keys(keyed) => insert_keys(keyed, &tasks, partition),
                    }
                }
            }
            Job::Collect => {
                if let Visited::Keys(keyed) = &self.visited {
                    write(&self.tasks[round.active[item]]).collect_candidates(keyed);
                }
            }
            Job::Deal => {
                let task = read(&self.tasks[round.active[item]]);
                read(&self.hands).deal(worker.number, task.survivor_keys(), task.first_survivor);
            }
            Job::Judge(first) => {
                if let Visited::Keys(keyed) = &self.visited {
                    let is_new = read(&self.is_new);
                    write(&self.settling[first + item]).settle(&is_new, keyed, self.shape, worker);
                }
            }
            Job::Settle => {
                let Visited::Numbers(numbers) = &self.visited else {
                    return;
                };
                let tasks = self.inserting(&round);
                write(numbers.table.partition(round.partitions[item])).settle(|name| {
                    let (task, position) = split(name);
                    tasks[task].ordinal_of(position)
                });
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

fn insert_keys(keyed: &Keyed, tasks: &[RwLockReadGuard<'_, Task>], partition: usize) {
    let batches = tasks.iter().map(|task| task.names.keys.cells(partition));
    let set = read(&keyed.set);
    write(set.partition(partition)).add_all(batches, |task, at| {
        let task = &tasks[task];
        task.mark_new(task.names.keys.positions(partition)[at]);
    });
}

fn insert_numbers(numbers: &Numbers, tasks: &[RwLockReadGuard<'_, Task>], partition: usize) {
    let positions = |task: usize| tasks[task].names.in_partition(partition);
    let n = (0..tasks.len()).map(|task| positions(task).len()).sum();
    let arena = read(&numbers.arena);
    let mut table = write(numbers.table.partition(partition));
    table.reserve(n, |ordinal| hash_state(arena.get(ordinal)));
    for (number, task) in tasks.iter().enumerate() {
        for positions in positions(number).chunks(LOOKAHEAD) {
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

/// A candidate's name in the table: the number of its task in the round, and its position there.
fn join(task: usize, position: u32) -> u64 {
    ((task as u64) << 32) | u64::from(position)
}

fn split(name: u64) -> (usize, u32) {
    ((name >> 32) as usize, name as u32)
}
