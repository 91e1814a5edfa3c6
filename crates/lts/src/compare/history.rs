//! A small graph in memory, and its partitions depth by depth.
//!
//! States are together at depth 0, and at depth k + 1 if they are together at depth k and have equal
//! signatures over the blocks of depth k. The signature closes over inert steps explicitly: the
//! faster one of minimisation may part states earlier than formulas of that depth do.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::resources::Resources;
use crate::{Error, Hlts};

/// A graph in memory.
pub(super) struct Explicit {
    edges: Vec<Vec<(u32, u32)>>,
    /// The invisible label.
    pub(super) tau: Option<u32>,
}

/// Bytes that a state takes here beside its edges, and an edge.
const STATE_BYTES: u64 = 64;
const EDGE_BYTES: u64 = 48;
/// Bytes of a signature beside its items, and of an item.
const SIGNATURE_BYTES: u64 = 64;
const ITEM_BYTES: u64 = 8;
/// Divisors: the parts of the memory for blocks by depth and for the signatures of a depth.
const BLOCKS_SHARE: u64 = 4;
const SIGNATURES_SHARE: u64 = 4;
/// States between two looks at the stop flag: closing over inert steps may take long.
const STATES_AT_ONCE: u32 = 1 << 6;

/// Most rounds of refinement: deeper formulas are of no use to anybody.
pub(super) const MOST_DEPTH: usize = 1000;

impl Explicit {
    /// The graph in memory; `None` where it does not fit.
    pub(super) fn new(
        graph: &Hlts,
        tau: Option<u32>,
        resources: &Resources<'_>,
    ) -> Result<Option<Self>, Error> {
        let counts = graph.counts();
        let states = counts.n_states.saturating_mul(STATE_BYTES);
        let needed = states.saturating_add(counts.n_edges.saturating_mul(EDGE_BYTES));
        if needed > resources.memory_bytes || counts.n_states >= u64::from(u32::MAX) {
            return Ok(None);
        }
        let mut edges = vec![Vec::new(); counts.n_states as usize];
        graph.for_each_edge(resources, |edge| {
            edges[edge.source as usize].push((edge.label, edge.target as u32));
            Ok(())
        })?;
        Ok(Some(Explicit { edges, tau }))
    }

    pub(super) fn n_states(&self) -> usize {
        self.edges.len()
    }

    /// Label and target of each edge of a state.
    pub(super) fn edges(&self, state: u32) -> &[(u32, u32)] {
        &self.edges[state as usize]
    }

    /// The states that a state reaches by inert steps, itself first.
    pub(super) fn inert_closure(&self, state: u32, blocks: &[u32]) -> Vec<u32> {
        let mut found = vec![state];
        let Some(tau) = self.tau else { return found };
        let own = blocks[state as usize];
        let mut seen = FxHashSet::from_iter([state]);
        let mut next = 0;
        while let Some(&from) = found.get(next) {
            next += 1;
            for &(label, target) in self.edges(from) {
                if label == tau && blocks[target as usize] == own && seen.insert(target) {
                    found.push(target);
                }
            }
        }
        found
    }

    /// The signature of a state: sorted, without inert steps.
    pub(super) fn signature(&self, state: u32, blocks: &[u32]) -> Vec<(u32, u32)> {
        let own = blocks[state as usize];
        let closure = self.inert_closure(state, blocks);
        let edges = closure.iter().flat_map(|&from| self.edges(from));
        let items = edges.map(|&(label, target)| (label, blocks[target as usize]));
        let mut items: Vec<(u32, u32)> = items
            .filter(|&(label, block)| self.tau != Some(label) || block != own)
            .collect();
        items.sort_unstable();
        items.dedup();
        items
    }
}

/// By depth and state, its block.
pub(super) struct History {
    pub(super) rounds: Vec<Vec<u32>>,
}

impl History {
    /// Refines until two states are in different blocks; `None` where that takes too much memory or
    /// too many rounds. They must not be equivalent.
    pub(super) fn until_split(
        graph: &Explicit,
        (a, b): (u32, u32),
        resources: &Resources<'_>,
    ) -> Result<Option<Self>, Error> {
        let n = graph.n_states();
        let mut rounds = Vec::new();
        let mut blocks = vec![0u32; n];
        while blocks[a as usize] == blocks[b as usize] {
            let bytes = (rounds.len() + 2) as u64 * 4 * n as u64;
            if bytes > resources.memory_bytes / BLOCKS_SHARE || rounds.len() == MOST_DEPTH {
                return Ok(None);
            }
            let mut numbers = FxHashMap::default();
            let mut next = Vec::with_capacity(n);
            let mut room = resources.memory_bytes / SIGNATURES_SHARE;
            for state in 0..n as u32 {
                if state.is_multiple_of(STATES_AT_ONCE) {
                    resources.poll()?;
                }
                let signature = graph.signature(state, &blocks);
                let needed = SIGNATURE_BYTES + ITEM_BYTES * signature.len() as u64;
                let n_found = numbers.len() as u32;
                let number = *numbers
                    .entry((blocks[state as usize], signature))
                    .or_insert(n_found);
                if number == n_found {
                    // Signatures along a chain of inert steps may be as long as the chain.
                    let Some(left) = room.checked_sub(needed) else {
                        return Ok(None);
                    };
                    room = left;
                }
                next.push(number);
            }
            rounds.push(std::mem::replace(&mut blocks, next));
        }
        rounds.push(blocks);
        Ok(Some(History { rounds }))
    }

    /// The least depth at which two states are in different blocks, if there is one.
    pub(super) fn depth(&self, a: u32, b: u32) -> Option<usize> {
        let differ = |blocks: &Vec<u32>| blocks[a as usize] != blocks[b as usize];
        self.rounds.iter().position(differ)
    }
}
