//! One round of refinement: from a partition to a finer one.
//!
//! A state gets the block of its signature. For branching bisimulation the signature is inductive,
//! as Blom and van de Pol define it for graphs without cycles of invisible steps. An invisible step
//! within a block is *inert*. States are taken after the targets of their invisible steps:
//!
//! - the elements of a state are (label, old block of the target) for steps that are not inert, and
//!   (inert, new block of the target) for those that are;
//! - if there is an inert step whose target's signature contains all other elements, the state joins
//!   the target's new block: whatever it can do, it can still do there;
//! - otherwise its elements are its signature.

use std::ops::Range;

use super::Tuning;
use super::collapse::System;
use super::settled::Settled;
use super::signature::{INERT, Item, hash};
use super::table::Table;
use crate::hlts::Edges;
use crate::resources::Resources;
use crate::word::Word;
use crate::{Error, parallel};

/// Fewest states of a chunk: a chunk decodes one block that its neighbour decodes as well.
const LEAST_CHUNK: u64 = 1 << 14;

/// The states of a range in chunks, each with its part of `slots`.
pub(super) fn chunks<'a, T>(
    range: Range<u64>,
    mut slots: &'a mut [T],
    resources: &Resources<'_>,
    tuning: Tuning,
) -> Vec<(Range<u64>, &'a mut [T])> {
    let n = range.end - range.start;
    let step = match tuning.chunk_states {
        0 => (n / (8 * resources.threads as u64)).max(LEAST_CHUNK),
        states => states,
    };
    let mut chunks = Vec::new();
    let mut begin = range.start;
    while begin < range.end {
        let end = (begin + step).min(range.end);
        let (own, rest) = slots.split_at_mut((end - begin) as usize);
        chunks.push((begin..end, own));
        (begin, slots) = (end, rest);
    }
    chunks
}

/// States that one thread takes in order, whatever their levels.
fn stage_len(tuning: Tuning) -> u64 {
    match tuning.chunk_states {
        0 => LEAST_CHUNK,
        states => states,
    }
}

/// Where the stages of a round end, from the ends of the levels: a large level is a stage of its own,
/// small ones that follow each other are one. A path of a million invisible steps has as many
/// levels, and each stage decodes blocks of its own.
fn stages(levels: &[u64], tuning: Tuning) -> Vec<u64> {
    let most = stage_len(tuning);
    let (mut ends, mut begin, mut last) = (Vec::new(), 0, 0);
    for &end in levels {
        if end - begin > most && last > begin {
            ends.push(last);
            begin = last;
        }
        if end - begin > most {
            ends.push(end);
            begin = end;
        }
        last = end;
    }
    if last > begin {
        ends.push(last);
    }
    ends
}

/// A round: what it refines, and where it finds the new blocks.
pub(super) struct Round<'a, W> {
    pub(super) system: &'a System<'a, W>,
    pub(super) levels: &'a [u64],
    pub(super) old: &'a [W],
    pub(super) settled: Settled,
    pub(super) table: &'a Table<W>,
    /// Of the hash.
    pub(super) seed: u64,
}

impl<W: Word> Round<'_, W> {
    /// Fills `new` with the block that each state gets by its block in `old`.
    pub(super) fn refine(
        &self,
        new: &mut [W],
        resources: &Resources<'_>,
        tuning: Tuning,
    ) -> Result<(), Error> {
        let mut begin = 0;
        for end in stages(self.levels, tuning) {
            let (done, rest) = new.split_at_mut(begin as usize);
            let slots = &mut rest[..(end - begin) as usize];
            let chunks = match end - begin <= stage_len(tuning) {
                // Its levels depend on one another, so one thread takes them in order.
                true => vec![(begin..end, slots)],
                false => chunks(begin..end, slots, resources, tuning),
            };
            parallel::for_each(
                resources.threads,
                chunks,
                Vec::new,
                |items, (range, slots)| self.refine_chunk(range, slots, (done, items), resources),
            )?;
            begin = end;
        }
        Ok(())
    }

    fn refine_chunk(
        &self,
        range: Range<u64>,
        slots: &mut [W],
        (done, items): (&[W], &mut Vec<Item<W>>),
        resources: &Resources<'_>,
    ) -> Result<(), Error> {
        let old = &self.old[range.start as usize..range.end as usize];
        if old.iter().all(|&block| self.settled.contains(block)) {
            slots.copy_from_slice(old);
            return Ok(());
        }
        let first = range.start;
        let mut next = first;
        let graph = self.system.graph();
        graph.scan(range.clone(), resources, |source, edges| {
            for state in next..source {
                slots[(state - first) as usize] = self.block(state, &[])?;
            }
            next = source + 1;
            let own = self.old[source as usize];
            if self.settled.contains(own) {
                slots[(source - first) as usize] = own;
                return Ok(());
            }
            let block = |target: u64| match target.checked_sub(first) {
                Some(position) => slots[position as usize],
                None => done[target as usize],
            };
            self.collect(source, edges, block, items);
            slots[(source - first) as usize] = match self.joined(items) {
                Some(block) => block,
                None => self.block(source, items)?,
            };
            Ok(())
        })?;
        for state in next..range.end {
            slots[(state - first) as usize] = self.block(state, &[])?;
        }
        Ok(())
    }

    /// The elements of a state, sorted, each once. The new blocks of the targets of inert steps are
    /// known: they are on lower levels.
    fn collect(
        &self,
        source: u64,
        edges: Edges<'_>,
        new_block: impl Fn(u64) -> W,
        items: &mut Vec<Item<W>>,
    ) {
        let own = self.old[source as usize];
        items.clear();
        let pairs = edges.labels.iter().zip(edges.targets);
        items.extend(pairs.map(|(&label, &target)| {
            let block = self.old[target as usize];
            match self.system.tau == Some(label) && block == own {
                true => (INERT, new_block(target)),
                false => (label, block),
            }
        }));
        items.sort_unstable();
        items.dedup();
    }

    /// The block of an inert step's target, if that can do all that the state can.
    fn joined(&self, items: &[Item<W>]) -> Option<W> {
        let inert = items.iter().rev().take_while(|item| item.0 == INERT);
        let mut blocks = inert.filter(|&&item| self.table.contains(item.1, items, item));
        blocks.next().map(|item| item.1)
    }

    fn block(&self, state: u64, items: &[Item<W>]) -> Result<W, Error> {
        let parent = self.old[state as usize];
        if self.settled.contains(parent) {
            return Ok(parent);
        }
        self.table
            .block_of(parent, hash(self.seed, parent, items), items)
    }
}
