//! Refinement until nothing is split, and the proof that nothing has to be.

use super::collapse::System;
use super::rounds::Round;
use super::settled::Settled;
use super::table::Table;
use super::{Tuning, external, quotient};
use crate::numbers::Numbers;
use crate::progress::Stage;
use crate::resources::Resources;
use crate::word::Word;
use crate::{Error, Hlts};

/// A stable partition.
pub(super) struct Refined<W> {
    pub(super) blocks: Blocks<W>,
    /// The graph of the blocks, which are numbered in the order of their first states.
    pub(super) quotient: Hlts,
    pub(super) n_rounds: u64,
}

/// By state, something that the states of its block have in common and no others.
pub(super) enum Blocks<W> {
    Memory(Vec<W>),
    Disk(Numbers),
}

impl<W: Word> Blocks<W> {
    /// What a state has.
    pub(super) fn of(&self, state: u64) -> Result<u64, Error> {
        match self {
            Blocks::Memory(blocks) => Ok(blocks[state as usize].get()),
            Blocks::Disk(blocks) => Ok(blocks.reader().at(state)?),
        }
    }
}

/// The coarsest stable partition, with the numbers of blocks in memory where they fit.
pub(super) fn refine<W: Word>(
    system: &System<'_, W>,
    resources: &Resources<'_>,
    tuning: Tuning,
) -> Result<Refined<W>, Error> {
    let graph = system.graph();
    if let (Some(levels), false) = (&system.levels, tuning.is_external) {
        match in_memory(system, levels, resources, tuning) {
            Err(Error::Memory { .. })
                if external::has_room(graph, system.tau.is_some(), resources) => {}
            found => return found,
        }
    }
    external::refine(graph, system.tau, resources, tuning)
}

fn in_memory<W: Word>(
    system: &System<'_, W>,
    levels: &[u64],
    resources: &Resources<'_>,
    tuning: Tuning,
) -> Result<Refined<W>, Error> {
    let n_states = system.graph().counts().n_states;
    let arrays = 2 * n_states.saturating_mul(size_of::<W>() as u64);
    resources.require("the numbers of blocks", arrays)?;
    let table_bytes = resources.memory_bytes - arrays;
    let n = n_states as usize;
    let (mut old, mut new) = (vec![W::new(0); n], vec![W::new(0); n]);
    // A subset is tested against the signature itself, so that a collision could split too much.
    let is_exact = system.tau.is_some();
    let (mut n_blocks, mut n_rounds) = (1, 0);
    let mut settled = Settled::default();
    loop {
        n_rounds += 1;
        let stage = Stage::Refining {
            round: n_rounds,
            n_blocks,
        };
        resources.begin(stage, system.graph().counts().n_edges);
        let table = Table::new(is_exact, tuning.hash_bits, table_bytes);
        let round = Round {
            system,
            levels,
            old: &old,
            settled,
            table: &table,
            seed: n_rounds,
        };
        round.refine(&mut new, resources, tuning)?;
        let n_found = table.len() + settled.len();
        let lens = table.shard_lens();
        drop(table);
        std::mem::swap(&mut old, &mut new);
        if n_found == n_blocks {
            let n_blocks = number_by_first_state(&mut old, &lens, settled);
            // The numbers are others now.
            settled = Settled::default();
            if let Some(quotient) =
                quotient::verified(system, &old, n_blocks, table_bytes, resources, tuning)?
            {
                return Ok(Refined {
                    blocks: Blocks::Memory(old),
                    quotient,
                    n_rounds,
                });
            }
        } else {
            settled.add(&mut old, &lens);
        }
        n_blocks = n_found;
    }
}

/// Numbers blocks in the order of their first states. Those that are not settled have the numbers of
/// a table with shards of these lengths. Returns how many there are.
fn number_by_first_state<W: Word>(blocks: &mut [W], lens: &[usize], settled: Settled) -> u64 {
    let mut numbers: Vec<Vec<W>> = lens.iter().map(|&len| vec![W::MAX; len]).collect();
    let mut n_blocks = 0;
    for block in blocks {
        if settled.contains(*block) {
            // It has no other state.
            *block = W::new(n_blocks);
            n_blocks += 1;
            continue;
        }
        let (shard, position) = Table::split(*block);
        let number = &mut numbers[shard][position];
        if *number == W::MAX {
            *number = W::new(n_blocks);
            n_blocks += 1;
        }
        *block = *number;
    }
    n_blocks
}
