//! Following edges back: what a state reaches is carried to the sources of the edges into it, until
//! nothing changes.
//!
//! A state whose sources have not heard of all its goals is *fresh*. Fresh states are taken in one
//! direction of ordinals until none is left there, and then in the other, as an elevator goes. So a
//! chain of edges is followed to its end at once if its ordinals ascend or descend, blocks are read in
//! their order where many states are fresh, and where few are only their blocks are read: no pass over
//! all edges is needed for a single step, and every edge is followed once for each time its target
//! learns something.
//!
//! Where not all states are in memory, one stretch after the other is; what is to be carried to a state
//! of another stretch is a *message*, which waits on disk until its stretch is in memory.

use std::collections::{HashMap, VecDeque};

use hadal_model::Stop;
use hadal_store::disk::Folder;
use hadal_store::in_edges::{InEdge, InEdgeBlock, InEdges};
use hadal_store::partition::ByRange;
use hadal_store::{Error as StoreError, damaged_log};

use super::labels::Labels;
use super::reached::{NumberSet, Reached};
use super::stretches::Stretches;
use crate::Error;
use crate::progress::Gauge;

/// Carries goals from the targets of edges to their sources.
pub(super) struct Carrier<'a> {
    pub(super) labels: &'a Labels,
    pub(super) folder: &'a Folder,
    pub(super) stop: &'a Stop,
    pub(super) gauge: &'a Gauge,
}

impl Carrier<'_> {
    /// Carries the goals in `row` to the source of an edge; returns whether it learns something.
    pub(super) fn carry(
        &self,
        reached: &Reached,
        row: &[u64],
        source: usize,
        label: u64,
    ) -> Result<bool, StoreError> {
        let mut learns = false;
        for (part, &goals) in row.iter().enumerate() {
            if label == 0 {
                learns |= reached.add(source, part, goals);
                continue;
            }
            let known = self.labels.each_origin(label, part, goals, |goal| {
                learns |= reached.add(source, goal / 64, 1 << (goal % 64));
            });
            known.ok_or_else(|| damaged_log("edges"))?;
        }
        Ok(learns)
    }

    /// Carries the goals of the target of an edge to its source, both counted from the first state.
    /// Returns whether the edge may still be needed: not where the source reaches everything, nor where
    /// the target did, and so had everything to tell. `row` is scratch.
    pub(super) fn carry_early(
        &self,
        reached: &Reached,
        target: usize,
        edge: InEdge,
        row: &mut Vec<u64>,
    ) -> Result<bool, StoreError> {
        let source = edge.source as usize;
        if reached.is_full(source) {
            return Ok(false);
        }
        // Goals that the target learns between the two are told later.
        let is_last = reached.is_full(target);
        if !reached.row(target, row) {
            return Ok(true);
        }
        self.carry(reached, row, source, edge.label)?;
        Ok(!is_last && !reached.is_full(source))
    }
}

/// Memory of following, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct FollowLimits {
    /// Blocks of edges.
    pub(super) cache: u64,
    /// Messages, where there are several stretches.
    pub(super) messages: u64,
}

/// Messages that are collected before they are partitioned.
const MESSAGES_AT_ONCE: usize = 1 << 10;
/// Fresh states that are taken between two looks at the stop flag: each may need a block from the disk.
const STATES_AT_ONCE: u32 = 1 << 6;

/// Follows edges back until nothing changes. Returns whether it was not stopped before.
pub(super) fn follow(
    edges: &[InEdges],
    stretches: &mut Stretches<'_>,
    carrier: &Carrier<'_>,
    limits: FollowLimits,
) -> Result<bool, Error> {
    let n_stretches = stretches.len();
    let n_states = stretches.states().end - stretches.states().start;
    let stretch_len = stretches.stretch_len();
    let mut cache = BlockCache::new(edges, limits.cache);
    let no_messages = || {
        let folder = Some(carrier.folder.clone());
        ByRange::with_ranges_of(stretch_len, n_states, 1, limits.messages, folder)
    };
    let mut waiting: Option<ByRange> = None;
    loop {
        let mut sent = Messages {
            by_range: (n_stretches > 1).then(no_messages),
            pending: Vec::new(),
            n_sent: 0,
        };
        // What is sent to lower stretches is mostly about forward edges, and read in the next round.
        for stretch in (0..n_stretches).rev() {
            let has_messages = waiting.as_ref().is_some_and(|it| it.n_in(stretch) > 0);
            if !has_messages && !stretches.has_fresh(stretch) {
                continue;
            }
            stretches.load(stretch)?;
            if let Some(waiting) = waiting.as_ref().filter(|_| has_messages) {
                deliver(waiting, stretch, stretches)?;
            }
            if !follow_stretch(&mut cache, stretches, carrier, &mut sent)? {
                return Ok(false);
            }
        }
        waiting = sent.settle()?;
        if waiting.is_none() {
            return Ok(true);
        }
    }
}

/// Adds the goals of all messages to a stretch, which is in memory.
fn deliver(waiting: &ByRange, stretch: usize, stretches: &mut Stretches<'_>) -> Result<(), Error> {
    let (base, n_goals) = (stretches.states().start, stretches.n_goals());
    let mut failed = Ok(());
    waiting.read(stretch, &mut |messages| {
        for &[state, goal] in messages {
            if goal >= n_goals as u64 {
                return Err(damaged_log("messages"));
            }
            if failed.is_ok() {
                failed = stretches.add(base + state, goal as usize);
            }
        }
        Ok(())
    })?;
    failed
}

/// Goals on their way to states of other stretches.
struct Messages {
    /// Where there is more than one stretch.
    by_range: Option<ByRange>,
    pending: Vec<[u64; 2]>,
    n_sent: u64,
}

impl Messages {
    /// Sends the goals in `row` to the source of an edge, counted from the first state.
    fn send(
        &mut self,
        labels: &Labels,
        row: &[u64],
        source: u64,
        label: u64,
    ) -> Result<(), StoreError> {
        for (part, &goals) in row.iter().enumerate() {
            let pending = &mut self.pending;
            let known = labels.each_origin(label, part, goals, |goal| {
                pending.push([source, goal as u64]);
            });
            known.ok_or_else(|| damaged_log("edges"))?;
        }
        match self.pending.len() >= MESSAGES_AT_ONCE {
            true => self.flush(),
            false => Ok(()),
        }
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        self.n_sent += self.pending.len() as u64;
        if let Some(by_range) = &self.by_range {
            by_range.put(0, &self.pending)?;
        }
        self.pending.clear();
        Ok(())
    }

    /// The messages, to be read, if there are any.
    fn settle(mut self) -> Result<Option<ByRange>, StoreError> {
        self.flush()?;
        if let Some(by_range) = &mut self.by_range {
            by_range.settle()?;
        }
        Ok(self.by_range.filter(|_| self.n_sent > 0))
    }
}

/// Follows edges into states of the stretch in memory until none of these is fresh. Returns whether it
/// was not stopped before.
fn follow_stretch(
    cache: &mut BlockCache<'_>,
    stretches: &mut Stretches<'_>,
    carrier: &Carrier<'_>,
    sent: &mut Messages,
) -> Result<bool, Error> {
    let range = stretches.range();
    let states = stretches.states();
    // Edges of states that are all in memory were followed in descending order already.
    let mut is_ascending = stretches.len() == 1;
    let mut cursor = match is_ascending {
        true => 0,
        false => (range.end - range.start) as usize - 1,
    };
    let mut row = Vec::new();
    let (mut n_states, mut n_edges) = (0u32, 0);
    loop {
        let fresh = stretches.fresh();
        let next = match is_ascending {
            true => fresh.at_or_after(cursor),
            false => fresh.at_or_before(cursor),
        };
        let Some(at) = next else {
            if fresh.is_empty() {
                break;
            }
            // None is left on this side.
            is_ascending = !is_ascending;
            continue;
        };
        cursor = at;
        stretches.fresh_mut().remove(at);
        n_states += 1;
        if n_states.is_multiple_of(STATES_AT_ONCE) {
            carrier.gauge.note_worked(std::mem::take(&mut n_edges));
            if carrier.stop.is_raised() {
                return Ok(false);
            }
        }
        let target = range.start + at as u64;
        let (fresh, reached) = (stretches.fresh(), stretches.reached());
        let way = Way {
            fresh,
            first: range.start,
            is_ascending,
        };
        reached.row(at, &mut row);
        cache.each_edge_into(target, &way, |InEdge { source, label }| {
            n_edges += 1;
            if range.contains(&source) {
                let source = (source - range.start) as usize;
                if carrier.carry(reached, &row, source, label)? {
                    fresh.insert(source);
                }
                Ok(())
            } else if states.contains(&source) {
                sent.send(carrier.labels, &row, source - states.start, label)
            } else {
                Err(damaged_log("edges"))
            }
        })?;
    }
    carrier.gauge.note_worked(n_edges);
    Ok(true)
}

/// Where following goes next.
struct Way<'a> {
    /// States whose edges will be asked for, counted from the first one of the stretch.
    fresh: &'a NumberSet,
    first: u64,
    is_ascending: bool,
}

impl Way<'_> {
    /// Whether edges into some of these targets will be asked for.
    fn needs(&self, (least, most): (u64, u64)) -> bool {
        let Some(most) = most.checked_sub(self.first) else {
            return false;
        };
        let least = least.saturating_sub(self.first) as usize;
        let next = self.fresh.at_or_after(least);
        next.is_some_and(|next| next as u64 <= most)
    }
}

/// A block: file, sequence, place.
type BlockKey = (usize, usize, usize);

/// Blocks of edges in memory.
struct BlockCache<'a> {
    files: &'a [InEdges],
    /// All sequences by their first target: its file and number, that target and the last one.
    sequences: Vec<(usize, usize, u64, u64)>,
    /// By sequence, the greatest last target of it and those before.
    most: Vec<u64>,
    blocks: HashMap<BlockKey, Cached>,
    /// In the order in which they are considered for eviction.
    queue: VecDeque<BlockKey>,
    bytes: u64,
    most_bytes: u64,
}

struct Cached {
    block: InEdgeBlock,
    /// Whether it was used since it was last considered.
    is_used: bool,
    /// The group that was asked for last.
    near: usize,
}

/// Memory of a block in the cache besides itself, in bytes.
const ENTRY_BYTES: u64 = 160;
/// Blocks that are read together, most.
const BLOCKS_AHEAD: usize = 32;
/// Divisor: the part of the cache for blocks that are read together.
const AHEAD_SHARE: u64 = 4;
/// About the memory of a block.
const USUAL_BYTES: u64 = 128 << 10;

impl<'a> BlockCache<'a> {
    fn new(files: &'a [InEdges], most_bytes: u64) -> Self {
        let mut sequences: Vec<(usize, usize, u64, u64)> = Vec::new();
        for (number, file) in files.iter().enumerate() {
            for sequence in 0..file.n_sequences() {
                let (first, last) = file.targets(sequence);
                sequences.push((number, sequence, first, last));
            }
        }
        sequences.sort_unstable_by_key(|&(_, _, first, _)| first);
        let mut most = 0;
        let most = sequences.iter().map(|&(_, _, _, last)| {
            most = last.max(most);
            most
        });
        BlockCache {
            files,
            most: most.collect(),
            sequences,
            blocks: HashMap::new(),
            queue: VecDeque::new(),
            bytes: 0,
            most_bytes,
        }
    }

    /// Calls `each` with every edge into a target.
    fn each_edge_into(
        &mut self,
        target: u64,
        way: &Way<'_>,
        mut each: impl FnMut(InEdge) -> Result<(), StoreError>,
    ) -> Result<(), Error> {
        let mut at = (self.sequences).partition_point(|&(_, _, first, _)| first <= target);
        while at > 0 && self.most[at - 1] >= target {
            at -= 1;
            let (file, sequence, _, last) = self.sequences[at];
            if last < target {
                continue;
            }
            for block in self.files[file].blocks_of(sequence, target) {
                let key = (file, sequence, block);
                if !self.blocks.contains_key(&key) {
                    self.read(key, way)?;
                }
                let Some(cached) = self.blocks.get_mut(&key) else {
                    return Err(damaged_log("edges").into());
                };
                cached.is_used = true;
                for group in cached.block.groups_of(target, cached.near) {
                    let mut taken = Ok(());
                    cached.block.each_edge(group, |edge| {
                        if taken.is_ok() {
                            taken = each(edge);
                        }
                    });
                    taken?;
                    cached.near = group;
                }
            }
        }
        Ok(())
    }

    /// Reads a block, and with it others that will soon be needed.
    fn read(&mut self, key: BlockKey, way: &Way<'_>) -> Result<(), Error> {
        let (file, sequence, block) = key;
        let edges = &self.files[file];
        let most = (self.most_bytes / AHEAD_SHARE / USUAL_BYTES).clamp(1, BLOCKS_AHEAD as u64);
        let mut wanted = vec![block];
        for distance in 1..most as usize {
            let next = match way.is_ascending {
                true => block.checked_add(distance),
                false => block.checked_sub(distance),
            };
            let is_needed = |&block: &usize| {
                let targets = edges.targets_of_block((sequence, block));
                targets.is_some_and(|targets| way.needs(targets))
                    && !self.blocks.contains_key(&(file, sequence, block))
            };
            wanted.extend(next.filter(is_needed));
        }
        wanted.sort_unstable();
        let (blocks, queue, bytes) = (&mut self.blocks, &mut self.queue, &mut self.bytes);
        edges.read(sequence, &wanted, &mut |place, block| {
            let key = (file, sequence, place);
            *bytes += block.memory_bytes() + ENTRY_BYTES;
            queue.push_back(key);
            let cached = Cached {
                block,
                is_used: true,
                near: 0,
            };
            blocks.insert(key, cached);
        })?;
        self.evict(wanted.len());
        Ok(())
    }

    /// Evicts blocks that were not used lately while there are too many, but for the `n_new` newest.
    fn evict(&mut self, n_new: usize) {
        while self.bytes > self.most_bytes && self.queue.len() > n_new {
            let Some(key) = self.queue.pop_front() else {
                return;
            };
            let is_used = (self.blocks.get_mut(&key))
                .is_some_and(|cached| std::mem::take(&mut cached.is_used));
            if is_used {
                // The newest ones stay at the back.
                let at = self.queue.len() - n_new.min(self.queue.len());
                self.queue.insert(at, key);
            } else if let Some(cached) = self.blocks.remove(&key) {
                self.bytes -= cached.block.memory_bytes() + ENTRY_BYTES;
            }
        }
    }
}

#[cfg(test)]
#[path = "../../tests/parts/liveness_follow.rs"]
mod tests;
