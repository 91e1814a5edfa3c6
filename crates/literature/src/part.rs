//! `part`: states divided by a hash, one part at a time in memory (PART, the magnetic-disk paper).
//!
//! Each part has a file of the states visited and a queue of states to look at. The part with the
//! longest queue is loaded into a chained table, and its queue is worked off: a state that is not
//! in the table is put there and expanded, and each successor goes into the queue of its part,
//! visited or not, unless it belongs to the part in memory and is known there. States are visited
//! in no order of depth, so a trace need not be the shortest. Nothing is visited twice, and the
//! search ends when all queues are empty.
//!
//! Figure 2 of the paper loads the file again for every state, and its inner loops are garbled:
//! meant is to drain the queue in memory, fill it from its part on disk, and continue until both are
//! empty. A successor of the part in memory that is in the table falls into the `else` of line 23
//! and would be queued again and again; it is dropped. Sizes of queues count what is on disk, and
//! the search is over when all of them are zero, not one.
//!
//! How many parts are needed is not known beforehand. The paper takes a number that suffices; here
//! a part that outgrows the table is split in two by another bit of the hash, and what is in its
//! queue finds its new part when its turn comes.

use std::time::Instant;

use hadal_model::{PAD_BYTES, Shape, States};
use hadal_report::units::{bytes, counted};
use hadal_search::strategy::{End, Ended, Halt, Run, Totals, Usage};
use hadal_search::{Duplicates, Error, Outcome, Reason, Seconds, Stats, Strategy, Value};
use hadal_store::{Parent, hash_state};

use crate::configurable::{Configurable, Line, ParameterError, parse_number};
use crate::evaluator::Evaluator;
use crate::explorer::{self, Explorer, block_len};
use crate::figures::Figures;
use crate::io_figures;
use crate::parent_index::{
    ExploredStates, NO_PARENT, PARENT_BYTES, ParentIndex, decode_parent, encode_parent,
};
use crate::queue::Queue;
use crate::record_dir::RecordDir;
use crate::records::Records;
use crate::signature::{Signatures, second_hash};
use crate::tables::{ChainedTable, Inserted, KeyTable};

/// States divided by a hash, one part at a time in memory (PART).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Parts to begin with; a part that outgrows the memory is split.
    pub partitions: u32,
}

impl Default for Part {
    fn default() -> Self {
        Part { partitions: 1 }
    }
}

impl Strategy for Part {
    fn name(&self) -> &'static str {
        "part"
    }

    fn remark(&self) -> Option<&'static str> {
        Some("does not find the shortest trace")
    }

    fn is_by_depth(&self) -> bool {
        false
    }

    fn least_bytes(&self, shape: &Shape, _threads: usize) -> u64 {
        explorer::least_bytes(shape)
    }

    fn search(&self, run: &Run<'_>) -> Result<Outcome, Error> {
        run.refuse_bound(self.name())?;
        let signatures = Signatures::new(run);
        let key_len = signatures.key_len();
        let budget_bytes = run.options.memory_bytes;
        let dir = RecordDir::new(run)?;
        let mut search = Search {
            explorer: Explorer::new(run),
            evaluator: Evaluator::new(run),
            parents: ParentIndex::new(&dir.beside())?,
            table: ChainedTable::new(key_len, budget_bytes - budget_bytes / QUEUE_SHARE),
            signatures,
            parts: Vec::new(),
            tree: Vec::new(),
            dir,
            n_states: 0,
            depth: 0,
            n_loads: 0,
            n_queued: 0,
            n_known: 0,
            max_queue_bytes: 0,
            peak_bytes: 0,
            seconds: Times::default(),
            run,
        };
        search.plant(self.partitions.clamp(1, 1 << 16))?;
        let end = match search.search() {
            Ok(()) => End::Exhausted,
            Err(Halt::Enough) => End::Violated(search.found()),
            Err(Halt::Stop(reason)) => {
                search.evaluator.evaluate_pending(0).or_else(only_errors)?;
                End::Stopped(reason)
            }
            Err(Halt::Failed(error)) => return Err(error),
        };
        search.report(end)
    }
}

impl Configurable for Part {
    fn about(&self) -> &'static str {
        "PART: states divided by a hash, one part at a time in memory"
    }

    fn set(&mut self, parameter: &str, value: &str) -> Result<(), ParameterError> {
        match parameter {
            "partitions" => self.partitions = parse_number(value)?,
            _ => return Err(ParameterError::unknown(self.name(), parameter)),
        }
        Ok(())
    }

    fn summary(&self, outcome: &Outcome) -> Vec<Line> {
        let figures = Figures::new(self, outcome);
        let split = figures.time_split(&[
            ("successors", "seconds_generation"),
            ("insertion", "seconds_insertion"),
            ("queues", "seconds_queue"),
            ("partitioning", "seconds_partitioning"),
            ("I/O", "seconds_io"),
        ]);
        let parts = counted(figures.count("partitions"), "part");
        let loads = counted(figures.count("loads"), "time");
        let queues = bytes(figures.count("queue_bytes"));
        let text = format!("{parts}, brought into memory {loads}; queues of {queues} at most");
        figures.lines(vec![split, ("parts", text)])
    }

    fn boxed_clone(&self) -> Box<dyn Configurable> {
        Box::new(self.clone())
    }
}

/// A search that is stopped twice is stopped.
fn only_errors(halt: Halt) -> Result<(), Error> {
    match halt {
        Halt::Failed(error) => Err(error),
        Halt::Stop(_) | Halt::Enough => Ok(()),
    }
}

/// Part of the budget that all queues' ends in memory get.
const QUEUE_SHARE: u64 = 8;
/// Parts that share it without becoming smaller.
const USUAL_PARTS: u64 = 64;
/// Bytes of a depth in a queue.
const DEPTH_BYTES: usize = 4;
const MOST_BITS: u32 = 63;

struct Search<'a> {
    run: &'a Run<'a>,
    explorer: Explorer<'a>,
    evaluator: Evaluator<'a>,
    parents: ParentIndex,
    signatures: Signatures,
    /// States of the part in memory.
    table: ChainedTable,
    parts: Vec<Partition>,
    /// Which part a hash belongs to, by its bits.
    tree: Vec<Node>,
    dir: RecordDir,
    n_states: u64,
    depth: u32,
    n_loads: u64,
    n_queued: u64,
    n_known: u64,
    max_queue_bytes: u64,
    peak_bytes: u64,
    seconds: Times,
}

struct Partition {
    visited: Records,
    /// State, parent, depth.
    queue: Queue,
    /// Place in the tree, and bits that lead there.
    node: usize,
    n_bits: u32,
}

#[derive(Clone, Copy, Debug)]
enum Node {
    Part(usize),
    Split(usize, usize),
}

#[derive(Debug, Default)]
struct Times {
    queueing: f64,
    partitioning: f64,
    inserting: f64,
}

impl Search<'_> {
    /// Makes the first parts: at least `n`, fewer than twice as many.
    fn plant(&mut self, n: u32) -> Result<(), Error> {
        self.tree.push(Node::Part(0));
        let first = self.new_part(0, 0)?;
        self.parts.push(first);
        while (self.parts.len() as u32) < n {
            for part in 0..self.parts.len() {
                self.divide(part)?;
            }
        }
        Ok(())
    }

    fn new_part(&self, node: usize, n_bits: u32) -> Result<Partition, Error> {
        let n_ends = 2 * USUAL_PARTS.max(self.parts.len() as u64);
        let segment_bytes = self.run.options.memory_bytes / QUEUE_SHARE / n_ends;
        let record_len = self.run.shape.state_len + PARENT_BYTES + DEPTH_BYTES;
        Ok(Partition {
            visited: self.dir.records(self.signatures.key_len())?,
            queue: Queue::new(&self.dir, record_len, segment_bytes),
            node,
            n_bits,
        })
    }

    /// Gives half of the hashes of `part` to a new one.
    fn divide(&mut self, part: usize) -> Result<(), Error> {
        let (node, n_bits) = (self.parts[part].node, self.parts[part].n_bits);
        let (left, right) = (self.tree.len(), self.tree.len() + 1);
        self.tree[node] = Node::Split(left, right);
        self.tree.push(Node::Part(part));
        self.tree.push(Node::Part(self.parts.len()));
        let new = self.new_part(right, n_bits + 1)?;
        self.parts.push(new);
        self.parts[part].node = left;
        self.parts[part].n_bits = n_bits + 1;
        Ok(())
    }

    /// Divides the part in memory, and what is known of it.
    fn split(&mut self, part: usize) -> Result<(), Halt> {
        if self.parts[part].n_bits == MOST_BITS {
            return Err(Halt::Stop(Reason::Memory));
        }
        self.divide(part)?;
        let mut keys = Vec::new();
        self.table.for_each(&mut |key| keys.extend_from_slice(key));
        let n = self.table.len();
        self.table.clear();
        self.parts[part].visited = self.dir.records(self.signatures.key_len())?;
        let key_len = self.signatures.key_len();
        for at in 0..n {
            let key = &keys[at * key_len..][..key_len];
            let owner = part_of(&self.tree, key);
            self.parts[owner].visited.push(key)?;
            if owner == part {
                self.table.insert(key);
            }
        }
        Ok(())
    }

    fn search(&mut self) -> Result<(), Halt> {
        self.explorer.begin(1);
        while self.explorer.fill(None)? {
            self.distribute(None, &[])?;
        }
        self.evaluator.add_starts(&self.explorer, 0)?;
        self.evaluator.accept()?;
        loop {
            let longest = (0..self.parts.len()).max_by_key(|&part| self.parts[part].queue.len());
            let longest = longest.filter(|&part| !self.parts[part].queue.is_empty());
            let Some(part) = longest else {
                return Ok(());
            };
            let n_queued = self.parts[part].queue.len();
            self.run.begin_rank(self.depth, n_queued);
            self.load(part)?;
            self.work_off(part)?;
            self.run.end_rank();
        }
    }

    /// Brings a part into memory.
    fn load(&mut self, part: usize) -> Result<(), Halt> {
        let (since, io) = (Instant::now(), self.dir.io());
        self.n_loads += 1;
        self.table.clear();
        let (run, table) = (self.run, &mut self.table);
        let visited = &mut self.parts[part].visited;
        let n = visited.len();
        visited.for_each(0..n, &mut |key| {
            // It was as large as this when it was last in memory.
            table.insert(key);
            run.check_stop()
        })?;
        let io = (self.dir.io() - io).as_secs_f64();
        self.seconds.inserting += since.elapsed().as_secs_f64() - io;
        Ok(())
    }

    /// Empties the queue of the part in memory.
    fn work_off(&mut self, part: usize) -> Result<(), Halt> {
        let mut block = Vec::new();
        let mut depths = Vec::new();
        loop {
            block.clear();
            depths.clear();
            let first = self.n_states;
            let stopped = self.take_new(part, &mut block, &mut depths);
            self.evaluator.evaluate_pending(0)?;
            self.evaluator.findings.begin_rank();
            if depths.is_empty() || stopped.is_err() {
                self.evaluator.findings.end_rank();
                return stopped;
            }
            block.resize(block.len() + PAD_BYTES, 0);
            let states = States::new(&block, self.run.shape.state_len, depths.len());
            self.explorer.begin(depths.len());
            let mut filled = Ok(true);
            while let Ok(true) = filled {
                filled = self.explorer.fill(Some(states));
                if let Ok(true) = filled {
                    self.distribute(Some((part, first)), &depths)?;
                }
            }
            if self.explorer.is_done() {
                for (ordinal, source) in (first..).zip(self.explorer.successors().sources()) {
                    self.evaluator.findings.add_source(ordinal, 0, source);
                }
            }
            filled?;
            self.evaluator.accept()?;
            let queue_bytes = |part: &Partition| part.queue.total_bytes();
            let queued = self.parts.iter().map(queue_bytes).sum();
            self.max_queue_bytes = self.max_queue_bytes.max(queued);
            let ends = self.parts.iter().map(|part| part.queue.data_bytes());
            let bytes = self.table.data_bytes() + ends.sum::<u64>();
            self.peak_bytes = self.peak_bytes.max(bytes);
            let disk_bytes = self.dir.now_bytes();
            self.run.note_states(self.n_states, bytes, disk_bytes);
        }
    }

    /// Takes a batch of states from the queue of the part in memory, and visits those that are new.
    fn take_new(
        &mut self,
        part: usize,
        block: &mut Vec<u8>,
        depths: &mut Vec<u32>,
    ) -> Result<(), Halt> {
        let record_len = self.run.shape.state_len + PARENT_BYTES + DEPTH_BYTES;
        let most = block_len(self.run);
        let mut batch = Vec::new();
        while depths.is_empty() {
            // There may be nothing but known states in a long queue.
            self.run.check_stop()?;
            batch.clear();
            let (since, io) = (Instant::now(), self.dir.io());
            let mut n = 0;
            while n < most && self.parts[part].queue.pop_onto(&mut batch)? {
                n += 1;
            }
            let io = (self.dir.io() - io).as_secs_f64();
            self.seconds.queueing += since.elapsed().as_secs_f64() - io;
            if n == 0 {
                return Ok(());
            }
            let since = Instant::now();
            for at in 0..n {
                let record = &batch[at * record_len..][..record_len];
                self.take(part, record, block, depths)?;
            }
            self.seconds.inserting += since.elapsed().as_secs_f64();
        }
        Ok(())
    }

    fn take(
        &mut self,
        part: usize,
        record: &[u8],
        block: &mut Vec<u8>,
        depths: &mut Vec<u32>,
    ) -> Result<(), Halt> {
        let (state, rest) = record.split_at(self.run.shape.state_len);
        loop {
            let key = self.signatures.key(state);
            let owner = part_of(&self.tree, key);
            if owner != part {
                // Its part was divided since.
                self.parts[owner].queue.push(record)?;
                return Ok(());
            }
            match self.table.insert(key) {
                Inserted::Known(_) => {
                    self.n_known += 1;
                    return Ok(());
                }
                Inserted::New(_) => self.parts[part].visited.push(key)?,
                Inserted::Full => {
                    self.split(part)?;
                    continue;
                }
            }
            let mut depth = [0; DEPTH_BYTES];
            depth.copy_from_slice(&rest[PARENT_BYTES..]);
            let depth = u32::from_le_bytes(depth);
            self.depth = self.depth.max(depth);
            self.parents.push(decode_parent(rest))?;
            self.n_states += 1;
            self.evaluator.add(state, 0)?;
            block.extend_from_slice(state);
            depths.push(depth);
            return Ok(());
        }
    }

    /// Puts the successors that were made last into the queues of their parts. `from` is the part
    /// in memory and the ordinal of its first state; without it they are startstates.
    fn distribute(&mut self, from: Option<(usize, u64)>, depths: &[u32]) -> Result<(), Halt> {
        let successors = self.explorer.successors();
        let since = Instant::now();
        let owners: Vec<usize> = (0..successors.len())
            .map(|at| part_of(&self.tree, self.signatures.key(successors.state(at))))
            .collect();
        let partitioned = Instant::now();
        let is_known: Vec<bool> = owners
            .iter()
            .enumerate()
            .map(|(at, &owner)| {
                from.is_some_and(|(part, _)| part == owner)
                    && self
                        .table
                        .find(self.signatures.key(successors.state(at)))
                        .is_some()
            })
            .collect();
        let (looked_up, io) = (Instant::now(), self.dir.io());
        let mut record = Vec::new();
        for (at, (&owner, is_known)) in owners.iter().zip(is_known).enumerate() {
            if is_known {
                self.n_known += 1;
                continue;
            }
            let source = successors.source_of(at);
            let (ordinal, depth) = match from {
                None => (NO_PARENT, 0),
                Some((_, first)) => (first + u64::from(source), depths[source as usize] + 1),
            };
            let index = successors.index(at);
            record.clear();
            record.extend_from_slice(successors.state(at));
            record.extend_from_slice(&encode_parent(Parent { ordinal, index }));
            record.extend_from_slice(&depth.to_le_bytes());
            self.parts[owner].queue.push(&record)?;
            self.n_queued += 1;
        }
        let io = (self.dir.io() - io).as_secs_f64();
        self.seconds.partitioning += (partitioned - since).as_secs_f64();
        self.seconds.inserting += (looked_up - partitioned).as_secs_f64();
        self.seconds.queueing += looked_up.elapsed().as_secs_f64() - io;
        Ok(())
    }

    fn found(&self) -> Totals {
        let duplicates = Duplicates {
            memory: self.n_known,
            ..Duplicates::default()
        };
        explorer::totals(&self.explorer, &self.evaluator, duplicates)
    }

    fn report(self, end: End) -> Result<Outcome, Error> {
        let mut stats = Stats::default();
        let totals = self.found();
        stats.push("partitions", Value::Count(self.parts.len() as u64));
        stats.push("loads", Value::Count(self.n_loads));
        stats.push("queued", Value::Count(self.n_queued));
        stats.push("queue_bytes", Value::Count(self.max_queue_bytes));
        let omission = self
            .signatures
            .push_omission(self.n_states, self.depth, &mut stats);
        stats.push("shortest_trace", Value::Count(0));
        stats.push("seconds_generation", Value::Seconds(self.explorer.seconds));
        stats.push("seconds_insertion", Value::Seconds(self.seconds.inserting));
        stats.push("seconds_queue", Value::Seconds(self.seconds.queueing));
        let partitioning = self.seconds.partitioning;
        stats.push("seconds_partitioning", Value::Seconds(partitioning));
        stats.push("seconds_judging", Value::Seconds(self.evaluator.seconds));
        let io_wait = self.dir.io().as_secs_f64();
        io_figures::push_io(&self.dir, io_wait, &mut stats);
        let ended = Ended {
            end,
            totals,
            findings: self.evaluator.findings,
            states: self.n_states,
            states_exact: true,
            depth: self.depth,
            layers: Vec::new(),
            omission,
            remarks: self.explorer.remarks(),
            stats,
        };
        let usage = Usage {
            data_bytes: self.peak_bytes,
            disk: io_figures::disk_use(&self.dir),
            seconds: Seconds {
                search: self.run.seconds(),
                expand: self.explorer.seconds,
                insert: self.seconds.inserting,
                check: self.evaluator.seconds,
                io_wait,
                ..Seconds::default()
            },
        };
        let parents = self.parents;
        (self.run).conclude(ended, &mut ExploredStates { parents, usage })
    }
}

/// The part that a key belongs to.
fn part_of(tree: &[Node], key: &[u8]) -> usize {
    let mut bits = second_hash(hash_state(key));
    let mut node = 0;
    loop {
        match tree[node] {
            Node::Part(part) => return part,
            Node::Split(left, right) => {
                node = if bits & 1 == 0 { left } else { right };
                bits >>= 1;
            }
        }
    }
}
