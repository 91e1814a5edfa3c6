//! `ram`: the search of standard Murphi, which every other is measured against.
//!
//! The table of visited states and the queue of those not yet expanded share the memory: the queue
//! gets the share that [`active_share`](super::StrategyOptions::active_share) (Murphi's
//! `gPercentActive`) says of the number of states in the table, and the search stops when either
//! is full. The papers' M(p) is the least memory for which that happens to no part of it; with the
//! largest queue of a run, g is its share of all states, and `memory_needed` is M(p).

use hadal_store::Parent;

use super::breadth::{self, Forgets, Intake, Memory, Plan, Told};
use super::explorer::{Halt, Run};
use super::records::Shelf;
use super::signature::Signatures;
use super::tables::{Inserted, KeyTable, OpenTable, slot_bytes};
use crate::{Error, Outcome, Reason, Stats, Value};

pub(super) fn search(run: &Run<'_>) -> Result<Outcome, Error> {
    let key_len = Signatures::new(run.shape, run.own.store, run.own.seed).key_len();
    let state_len = run.shape.state_len.max(1) as f64;
    let share = state_len * run.own.active_share / slot_bytes(key_len) as f64;
    let table_bytes = (run.own.budget_bytes as f64 / (1.0 + share)) as u64;
    let memory = Ram {
        table: OpenTable::new(key_len, table_bytes),
        queue_bytes: run.own.budget_bytes - table_bytes,
        key_len,
    };
    let plan = Plan {
        queue_shelf: Shelf::in_memory(),
        shelf: Shelf::in_memory(),
        aside: Shelf::in_memory(),
        segment_bytes: 1 << 16,
        forgets: Forgets::Never,
    };
    breadth::search(run, plan, memory)
}

struct Ram {
    table: OpenTable,
    /// What the queue may take.
    queue_bytes: u64,
    key_len: usize,
}

impl Memory for Ram {
    fn offer(&mut self, state: &[u8], parent: Parent, intake: &mut Intake<'_>) -> Result<(), Halt> {
        match self.table.insert(intake.signatures.key(state)) {
            Inserted::Known(_) => Ok(()),
            Inserted::New(_) => {
                intake.admit(state, parent)?;
                match intake.queue.total_bytes() <= self.queue_bytes {
                    true => Ok(()),
                    false => Err(Halt::Stop(Reason::Memory)),
                }
            }
            Inserted::Full => Err(Halt::Stop(Reason::Memory)),
        }
    }

    fn end_layer(&mut self, _: u32, _: &mut Intake<'_>) -> Result<(), Halt> {
        Ok(())
    }

    fn data_bytes(&self) -> u64 {
        self.table.data_bytes()
    }

    fn forgot(&self) -> bool {
        false
    }

    fn tell(&mut self, told: &Told, stats: &mut Stats) {
        let n = self.table.len() as u64;
        let needed = n * slot_bytes(self.key_len) + told.max_queue * told.state_len as u64;
        let g = told.max_queue as f64 / n.max(1) as f64;
        stats.push("memory_needed", Value::Count(needed));
        stats.push("g", Value::Ratio(g));
    }
}
