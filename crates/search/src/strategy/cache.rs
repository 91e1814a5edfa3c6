//! `cache`: CMurphi's cache-based search (the locality paper, section 4).
//!
//! The table is a cache of fixed size: a state that finds no free slot within the longest chain
//! overwrites a random one of that chain, and what was overwritten is visited again if it turns up
//! again. The queue lies on disk. The search may never end; it is stopped when more than a given
//! share of all insertions were collisions, since then nearly every state that is stored makes
//! another forgotten. Sooner or later that happens to every search that does not end.
//!
//! What the paper leaves open is as in its authors' code: a chain has 20 slots, with hashed states
//! 13. A cache never says of a state that it was visited when it was not, so a search that empties
//! its queue has visited everything.

use hadal_store::Parent;

use super::breadth::{self, Forgets, Intake, Memory, Plan, Told};
use super::explorer::{Halt, Run};
use super::queue_segment;
use super::records::Shelf;
use super::signature::Signatures;
use super::tables::CacheTable;
use crate::StoreKind;
use crate::{Error, Outcome, Reason, Stats, Value};

const CHAIN_LEN: usize = 20;
const HASHED_CHAIN_LEN: usize = 13;

pub(super) fn search(run: &Run<'_>, collision_stop: f64) -> Result<Outcome, Error> {
    let own = run.own;
    let key_len = Signatures::new(run.shape, own.store, own.seed).key_len();
    let chain_len = match own.store {
        StoreKind::Exact => CHAIN_LEN,
        _ => HASHED_CHAIN_LEN,
    };
    let segment_bytes = queue_segment(own.budget_bytes);
    let table_bytes = own.budget_bytes - 2 * segment_bytes;
    let shelf = Shelf::new(own);
    let memory = Cache {
        table: CacheTable::new(key_len, table_bytes, chain_len, own.seed),
        collision_stop,
    };
    let plan = Plan {
        queue_shelf: shelf.clone(),
        aside: shelf.beside(),
        shelf,
        segment_bytes,
        forgets: Forgets::AndEnds,
    };
    breadth::search(run, plan, memory)
}

struct Cache {
    table: CacheTable,
    collision_stop: f64,
}

impl Memory for Cache {
    fn offer(&mut self, state: &[u8], parent: Parent, intake: &mut Intake<'_>) -> Result<(), Halt> {
        if !self.table.insert(intake.signatures.key(state)) {
            return Ok(());
        }
        intake.admit(state, parent)?;
        match self.table.collision_rate() <= self.collision_stop {
            true => Ok(()),
            false => Err(Halt::Stop(Reason::Collisions)),
        }
    }

    fn end_layer(&mut self, _: u32, _: &mut Intake<'_>) -> Result<(), Halt> {
        Ok(())
    }

    fn data_bytes(&self) -> u64 {
        self.table.data_bytes()
    }

    fn forgot(&self) -> bool {
        self.table.n_collisions > 0
    }

    fn tell(&mut self, told: &Told, stats: &mut Stats) {
        let table = &self.table;
        stats.push("collision_rate", Value::Ratio(table.collision_rate()));
        stats.push("collisions", Value::Count(table.n_collisions));
        stats.push("cache_slots", Value::Count(table.max_slots() as u64));
        stats.push("all_visited", Value::Count(u64::from(told.all_visited)));
        super::tell_revisits(told, stats);
    }
}
