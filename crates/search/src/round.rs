//! Rounds: how the states of a layer are expanded and their successors inserted, by any number of
//! threads with one result.
//!
//! A window of blocks is expanded in parallel; then each partition of the table takes its
//! candidates in the order (ordinal of the parent, index); then the properties of those that are
//! new are evaluated; then these get their ordinals, in the same order.
//! A block whose buffer ran full holds up the blocks behind it, which keep their buffers until it
//! is their turn. So the order of insertion never depends on threads, window or buffers.

use std::ops::Range;
use std::time::Instant;

use hadal_model::{Expander, Flow, Remark, Shape};
use hadal_store::{Arena, N_PARTITIONS, Parents};

use crate::crew::Crew;
use crate::shared::{Job, Shared, read, write};
use crate::task::{Block, Task};
use crate::visited::Visited;
use crate::{Error, Options, Seconds};

/// The coordinator's side of rounds.
pub(crate) struct Rounds<'a> {
    pub(crate) shared: &'a Shared<'a>,
    crew: &'a Crew<Job>,
    expander: Box<dyn Expander + 'a>,
    sizes: Sizes,
    pub(crate) parents: Parents,
    /// Tasks without a block.
    free: Vec<usize>,
    n_buffers: usize,
    /// Blocks are cut to this length, so that their successors mostly fit their buffers.
    block_len: usize,
    /// Memory held beside what is counted here.
    pub(crate) other_bytes: u64,
    pub(crate) peak_bytes: u64,
    pub(crate) seconds: Seconds,
    /// Of the most expensive canonical form.
    most_candidates: Option<u64>,
}

impl<'a> Rounds<'a> {
    pub(crate) fn new(
        shared: &'a Shared<'a>,
        crew: &'a Crew<Job>,
        expander: Box<dyn Expander + 'a>,
        sizes: Sizes,
    ) -> Self {
        Rounds {
            shared,
            crew,
            expander,
            sizes,
            parents: Parents::new(),
            free: (0..sizes.window_blocks).rev().collect(),
            n_buffers: 0,
            block_len: sizes.block_len,
            other_bytes: 0,
            peak_bytes: 0,
            seconds: Seconds::default(),
            most_candidates: None,
        }
    }

    /// Number of states found.
    pub(crate) fn n_states(&self) -> u64 {
        read(&self.shared.arena).len()
    }

    /// Memory held now, in bytes.
    pub(crate) fn data_bytes(&self) -> u64 {
        read(&self.shared.arena).data_bytes()
            + self.parents.data_bytes()
            + self.shared.visited.data_bytes()
            + self.n_buffers as u64 * self.sizes.buffer_bytes
            + self.other_bytes
    }

    /// Whether `bytes` more fit the budget; the largest need so far is remembered.
    pub(crate) fn fits(&mut self, bytes: u64) -> bool {
        let needed = self.data_bytes().saturating_add(bytes);
        let fits = needed <= self.sizes.memory_bytes;
        if fits {
            self.peak_bytes = self.peak_bytes.max(needed);
        }
        fits
    }

    /// Memory that the budget leaves beside everything held, all buffers of the window included.
    pub(crate) fn spare_bytes(&self) -> u64 {
        let unmade = (self.sizes.window_blocks - self.n_buffers) as u64;
        self.sizes
            .memory_bytes
            .saturating_sub(self.data_bytes())
            .saturating_sub(unmade * self.sizes.buffer_bytes)
    }

    /// Runs rounds over everything in `supply`. `job` is [`Job::Expand`] to insert the successors,
    /// or another job that takes blocks and inserts nothing.
    ///
    /// `each` is given every task that was worked on, in order, with its place in the window; it
    /// says whether to go on. With [`Job::Expand`] a task comes again if its buffer was full; what
    /// it tells about its sources is final when [`Task::is_full`] is false.
    pub(crate) fn run(
        &mut self,
        job: Job,
        mut supply: Supply,
        each: &mut dyn FnMut(usize, &Task) -> bool,
    ) -> Result<Option<Halt>, Error> {
        loop {
            if !self.fill(&mut supply) {
                return Ok(Some(Halt::Memory));
            }
            let (n_active, n_expanding) = {
                let round = read(&self.shared.round);
                (round.active.len(), round.expanding.len())
            };
            if n_active == 0 {
                return Ok(None);
            }
            let since = Instant::now();
            self.phase(job, n_expanding, false);
            self.seconds.expand += since.elapsed().as_secs_f64();
            if self.is_stopped() {
                return Ok(Some(Halt::Stopped));
            }
            self.collect_remarks()?;
            if matches!(job, Job::Expand) {
                let halt = self.insert_candidates()?;
                if halt.is_some() {
                    return Ok(halt);
                }
            } else {
                write(&self.shared.round).n_inserting = n_active;
            }
            let go_on = self.hand_over(each);
            if matches!(job, Job::Expand) {
                self.forget_expanded(&supply);
            }
            self.shared
                .gauge
                .note_round(self.n_states(), self.data_bytes());
            if !go_on {
                return Ok(Some(Halt::Enough));
            }
        }
    }

    /// Assigns blocks to free tasks. Says whether memory allows at least one task.
    fn fill(&mut self, supply: &mut Supply) -> bool {
        let shared = self.shared;
        let mut round = write(&shared.round);
        while let Some(&slot) = self.free.last() {
            // Tasks with a buffer are used again before others get one.
            let is_new = slot >= self.n_buffers;
            if is_new && !supply.is_empty() && !self.fits(self.sizes.buffer_bytes) {
                return !round.active.is_empty();
            }
            let Some(block) = supply.next(&read(&self.shared.arena), self.block_len, &self.sizes)
            else {
                break;
            };
            self.n_buffers += usize::from(is_new);
            self.free.pop();
            let capacity = self.sizes.buffer_len;
            write(&self.shared.tasks[slot]).assign(self.shared.shape, block, capacity);
            round.active.push(slot);
            round.expanding.push(slot);
        }
        true
    }

    /// Inserts the candidates of the tasks up to the first whose buffer was full.
    fn insert_candidates(&mut self) -> Result<Option<Halt>, Error> {
        let since = Instant::now();
        let mut n_candidates = [0; N_PARTITIONS];
        let (n_inserting, n_partitions) = {
            let round = &mut *write(&self.shared.round);
            let mut n = 0;
            for &slot in &round.active {
                let task = read(&self.shared.tasks[slot]);
                task.count_by_partition(&self.shared.visited, &mut n_candidates);
                n += 1;
                if task.is_full() {
                    break;
                }
            }
            round.n_inserting = n;
            round.partitions.clear();
            round
                .partitions
                .extend((0..N_PARTITIONS).filter(|&partition| n_candidates[partition] > 0));
            (n, round.partitions.len())
        };
        let growth_bytes = self
            .shared
            .visited
            .growth_bytes(&n_candidates, self.sizes.n_threads);
        if !self.fits(growth_bytes) {
            return Ok(Some(Halt::Memory));
        }
        // Waking workers takes longer than one block's candidates.
        let alone = n_inserting == 1;
        self.phase(Job::Insert, n_partitions, alone);
        self.seconds.insert += since.elapsed().as_secs_f64();

        let since = Instant::now();
        self.phase(Job::Check, n_inserting, alone);
        self.seconds.check += since.elapsed().as_secs_f64();
        if self.is_stopped() {
            return Ok(Some(Halt::Stopped));
        }
        self.collect_remarks()?;

        let since = Instant::now();
        let n_survivors = self.number_survivors();
        let growth_bytes = read(&self.shared.arena).growth_bytes(n_survivors)
            + self.parents.growth_bytes(n_survivors);
        if !self.fits(growth_bytes) {
            return Ok(Some(Halt::Memory));
        }
        let Rounds {
            shared,
            crew,
            expander,
            parents,
            ..
        } = self;
        let n_unsettled = match shared.visited {
            Visited::Numbers(_) => n_partitions,
            Visited::States(_) => 0,
        };
        crew.run(
            Job::Settle,
            n_unsettled,
            alone,
            || {
                let tasks = shared.inserting(&read(&shared.round));
                let mut arena = write(&shared.arena);
                for task in tasks {
                    let (states, n) = task.survivors();
                    arena.append(states, n);
                    task.survivor_parents()
                        .for_each(|parent| parents.push(parent));
                }
            },
            |job, item| shared.work(job, item, &mut **expander),
        );
        self.seconds.insert += since.elapsed().as_secs_f64();
        Ok(None)
    }

    /// Gives the survivors of each task consecutive ordinals; returns how many there are.
    fn number_survivors(&mut self) -> u64 {
        let round = read(&self.shared.round);
        let n_states = self.n_states();
        let mut next = n_states;
        for &slot in &round.active[..round.n_inserting] {
            let mut task = write(&self.shared.tasks[slot]);
            task.first_survivor = next;
            next += task.survivors().1 as u64;
        }
        next - n_states
    }

    /// Shows the tasks just done and takes those that have no more to give out of the window.
    fn hand_over(&mut self, each: &mut dyn FnMut(usize, &Task) -> bool) -> bool {
        let shared = self.shared;
        let mut round = write(&shared.round);
        let n_inserting = round.n_inserting;
        let (mut go_on, mut any_full, mut most) = (true, false, 0);
        round.expanding.clear();
        let done: Vec<usize> = round.active.drain(..n_inserting).collect();
        for slot in done {
            let task = read(&shared.tasks[slot]);
            go_on = go_on && each(slot, &task);
            most = most.max(task.n_candidates());
            if task.is_full() {
                any_full = true;
                round.active.insert(0, slot);
                round.expanding.push(slot);
            } else {
                self.free.push(slot);
            }
        }
        if any_full {
            self.block_len = (self.block_len / 2).max(1);
        } else if most * 2 < self.sizes.buffer_len {
            self.block_len = (self.block_len * 2).min(self.sizes.block_len);
        }
        go_on
    }

    /// Gives up the states that were expanded, where nothing else reads them: a set has its own
    /// copy of all states, and paths are replayed.
    fn forget_expanded(&self, supply: &Supply) {
        if matches!(self.shared.visited, Visited::Numbers(_)) {
            return;
        }
        let first_active = read(&self.shared.round).active.first().copied();
        let block = first_active.map(|slot| read(&self.shared.tasks[slot]).block);
        let first = match (block, supply) {
            (Some(Block::States { first, .. }), _) => first,
            (None, Supply::States(range)) => range.start,
            _ => return,
        };
        write(&self.shared.arena).forget_before(first);
    }

    fn phase(&mut self, job: Job, n_items: usize, alone: bool) {
        let Rounds {
            shared,
            crew,
            expander,
            ..
        } = self;
        crew.run(
            job,
            n_items,
            alone,
            || (),
            |job, item| shared.work(job, item, &mut **expander),
        );
    }

    fn is_stopped(&self) -> bool {
        self.shared.stop.is_raised()
            || read(&self.shared.round)
                .active
                .iter()
                .any(|&slot| read(&self.shared.tasks[slot]).flow == Flow::Stopped)
    }

    /// Keeps what a person should know; a broken symmetry ends the search.
    fn collect_remarks(&mut self) -> Result<(), Error> {
        let shared = self.shared;
        for &slot in &read(&shared.round).active {
            let remarks = std::mem::take(&mut write(&shared.tasks[slot]).remarks);
            for remark in remarks {
                match remark {
                    Remark::BrokenSymmetry { rule, message } => {
                        return Err(Error::BrokenSymmetry { rule, message });
                    }
                    Remark::ExpensiveCanonicalForm { candidates } => {
                        self.most_candidates = self.most_candidates.max(Some(candidates));
                    }
                }
            }
        }
        Ok(())
    }

    /// What a person should know.
    pub(crate) fn remarks(&self) -> Vec<Remark> {
        let expensive = |candidates| Remark::ExpensiveCanonicalForm { candidates };
        self.most_candidates.map(expensive).into_iter().collect()
    }
}

/// Why rounds ended before their range of states did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Halt {
    /// The receiver of results asked for it.
    Enough,
    /// The stop flag was raised.
    Stopped,
    /// The memory budget does not allow another round.
    Memory,
}

/// What rounds go over.
pub(crate) enum Supply {
    /// The startstates.
    Starts,
    /// Stored states.
    States(Range<u64>),
}

impl Supply {
    fn is_empty(&self) -> bool {
        matches!(self, Supply::States(range) if range.is_empty())
    }

    fn next(&mut self, arena: &Arena, block_len: usize, sizes: &Sizes) -> Option<Block> {
        if self.is_empty() {
            return None;
        }
        match self {
            Supply::Starts => {
                *self = Supply::States(0..0);
                Some(Block::Starts)
            }
            Supply::States(range) => {
                let left = range.end - range.start;
                // Small layers are shared out too, but not in crumbs.
                let share = (left / (4 * sizes.n_threads as u64)).max(MIN_SHARED_BLOCK);
                let len = left.min(share).min(block_len as u64) as usize;
                let len = arena.contiguous(range.start, len);
                let first = range.start;
                range.start += len as u64;
                Some(Block::States { first, len })
            }
        }
    }
}

/// Sizes of blocks, window and buffers. They never change results.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub(crate) n_threads: usize,
    pub(crate) memory_bytes: u64,
    pub(crate) block_len: usize,
    pub(crate) window_blocks: usize,
    buffer_len: usize,
    buffer_bytes: u64,
}

/// A task's buffers take about this much where memory is plentiful.
const TASK_BYTES: u64 = 256 << 10;
/// Share of the budget that all buffers may take.
const BUFFER_SHARE: u64 = 8;
/// Blocks are not made smaller than this to give every thread some.
const MIN_SHARED_BLOCK: u64 = 64;

impl Sizes {
    pub(crate) fn new(options: &Options, shape: &Shape) -> Self {
        let window_blocks = options.window_blocks.max(1);
        let task_bytes = TASK_BYTES.min(options.memory_bytes / BUFFER_SHARE / window_blocks as u64);
        let buffer_len = options.buffer_len.unwrap_or_else(|| {
            let per_candidate = Task::bytes_for(shape, 1) - Task::bytes_for(shape, 0);
            ((task_bytes / per_candidate) as usize).max(16)
        });
        Sizes {
            n_threads: options.threads.max(1),
            memory_bytes: options.memory_bytes,
            block_len: options.block_len.clamp(1, 1 << 16),
            window_blocks,
            buffer_len,
            buffer_bytes: Task::bytes_for(shape, buffer_len),
        }
    }
}
