//! The graph of a partition's blocks, which is at the same time the exact test that the partition
//! is stable.
//!
//! A block's edges are the signature of any of its states that has no inert step. The partition is
//! stable if all such states of the block have the same signature, and if the signatures of the
//! others, inert steps left out, are contained in it: those reach such a state by inert steps, for
//! inert steps have no cycle.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Tuning;
use super::collapse::System;
use super::rounds::chunks;
use super::signature::{INERT, Item, is_subset};
use crate::hlts::Edges;
use crate::progress::Stage;
use crate::resources::Resources;
use crate::word::Word;
use crate::{Edge, Error, Hlts, parallel};

/// The edges of a block, once they are known.
type Set<W> = OnceLock<Box<[Item<W>]>>;

/// The graph of the blocks, or `None` where they are not stable. Signatures of as many blocks as
/// have room in `memory_bytes` are compared at once.
pub(super) fn verified<W: Word>(
    system: &System<'_, W>,
    blocks: &[W],
    n_blocks: u64,
    memory_bytes: u64,
    resources: &Resources<'_>,
    tuning: Tuning,
) -> Result<Option<Hlts>, Error> {
    let counts = system.graph().counts();
    resources.begin(Stage::Verifying, counts.n_edges);
    let mean_degree = counts.n_edges / counts.n_states.max(1) + 1;
    let set_bytes = size_of::<Set<W>>() as u64 + 32 + mean_degree * size_of::<Item<W>>() as u64;
    let at_once = (memory_bytes / 2 / set_bytes).max(1 << 10);
    let mut is_stable = true;
    let initial = blocks[counts.initial as usize].get();
    let quotient = Hlts::build(initial, resources, |writer| {
        let mut first = 0;
        while first < n_blocks && is_stable {
            let end = n_blocks.min(first + at_once);
            let sets = (first..end).map(|_| Set::new()).collect();
            let test = Test {
                system,
                blocks,
                first,
                sets,
                is_stable: AtomicBool::new(true),
            };
            test.run(Pass::WithoutInert, resources, tuning)?;
            if system.tau.is_some() {
                test.run(Pass::WithInert, resources, tuning)?;
            }
            is_stable = test.is_stable.into_inner();
            for (source, set) in (first..end).zip(&test.sets) {
                for &(label, target) in set.get().into_iter().flatten() {
                    writer.push(Edge::new(source, label, target.get()))?;
                }
            }
            first = end;
        }
        Ok((n_blocks, system.graph().labels().clone()))
    })?;
    Ok(is_stable.then_some(quotient))
}

/// Which states are tested.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// Those that have the signature of their block.
    WithoutInert,
    /// Those that have part of it.
    WithInert,
}

struct Test<'a, W> {
    system: &'a System<'a, W>,
    blocks: &'a [W],
    /// The first block that is tested.
    first: u64,
    sets: Vec<Set<W>>,
    is_stable: AtomicBool,
}

impl<W: Word> Test<'_, W> {
    fn run(&self, pass: Pass, resources: &Resources<'_>, tuning: Tuning) -> Result<(), Error> {
        let n_states = self.system.graph().counts().n_states;
        // There is nothing to fill in.
        let mut nothing = vec![(); n_states as usize];
        let chunks = chunks(0..n_states, &mut nothing, resources, tuning);
        parallel::for_each(resources.threads, chunks, Vec::new, |items, (range, _)| {
            let mut next = range.start;
            let graph = self.system.graph();
            graph.scan(range.clone(), resources, |source, edges| {
                (next..source).for_each(|state| self.test(pass, state, &[]));
                if self.set_of(source).is_some() {
                    self.collect(source, edges, items);
                    self.test(pass, source, items);
                }
                next = source + 1;
                Ok(())
            })?;
            (next..range.end).for_each(|state| self.test(pass, state, &[]));
            Ok(())
        })
    }

    /// The set of a state's block, if that is tested.
    fn set_of(&self, state: u64) -> Option<&Set<W>> {
        let block = self.blocks[state as usize].get();
        self.sets.get(block.checked_sub(self.first)? as usize)
    }

    fn collect(&self, source: u64, edges: Edges<'_>, items: &mut Vec<Item<W>>) {
        let own = self.blocks[source as usize];
        items.clear();
        let pairs = edges.labels.iter().zip(edges.targets);
        items.extend(pairs.map(|(&label, &target)| {
            let block = self.blocks[target as usize];
            match self.system.tau == Some(label) && block == own {
                true => (INERT, own),
                false => (label, block),
            }
        }));
        items.sort_unstable();
        items.dedup();
    }

    fn test(&self, pass: Pass, state: u64, items: &[Item<W>]) {
        let Some(set) = self.set_of(state) else {
            return;
        };
        let inert = items.last().filter(|item| item.0 == INERT);
        let is_right = match (pass, inert) {
            (Pass::WithoutInert, None) => **set.get_or_init(|| items.into()) == *items,
            (Pass::WithInert, Some(&inert)) => {
                set.get().is_some_and(|set| is_subset(items, inert, set))
            }
            _ => true,
        };
        if !is_right {
            self.is_stable.store(false, Ordering::Relaxed);
        }
    }
}
