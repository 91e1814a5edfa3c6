//! `ram`: the search of standard Murphi, which every other is measured against.
//!
//! The table of visited states and the queue of those not yet expanded share the memory: the queue
//! gets the share that `active_share` (Murphi's
//! `gPercentActive`) gives, of the number of states in the table, and the search stops when either
//! is full. The papers' M(p) is the least memory for which that happens to no part of it; with the
//! largest queue of a run, g is its share of all states, and `memory_needed` is M(p).

use hadal_model::Shape;
use hadal_report::units::{bytes, counted};
use hadal_search::strategy::{Halt, Run};
use hadal_search::{Error, Outcome, Reason, Stats, Strategy, Value};
use hadal_store::Parent;

use crate::breadth_first::{self, Forgets, Intake, Memory, Plan};
use crate::configurable::{Configurable, Line, ParameterError, parse_number};
use crate::explorer;
use crate::figures::{Figures, Visits};
use crate::record_dir::RecordDir;
use crate::signature::Signatures;
use crate::tables::{Inserted, KeyTable, OpenTable, slot_bytes};

/// Table and queue in memory, as in standard Murphi.
#[derive(Clone, Debug, PartialEq)]
pub struct Ram {
    /// States in the queue for each one in the table, the papers' g.
    pub active_share: f64,
}

impl Default for Ram {
    fn default() -> Self {
        Ram { active_share: 0.1 }
    }
}

impl Strategy for Ram {
    fn name(&self) -> &'static str {
        "ram"
    }

    fn least_bytes(&self, shape: &Shape, _threads: usize) -> u64 {
        explorer::least_bytes(shape)
    }

    fn search(&self, run: &Run<'_>) -> Result<Outcome, Error> {
        let key_len = Signatures::new(run).key_len();
        let state_len = run.shape.state_len.max(1) as f64;
        let share = state_len * self.active_share / slot_bytes(key_len) as f64;
        let budget_bytes = run.options.memory_bytes;
        let table_bytes = (budget_bytes as f64 / (1.0 + share)) as u64;
        let memory = TableAndQueue {
            table: OpenTable::new(key_len, table_bytes),
            queue_bytes: budget_bytes - table_bytes,
            key_len,
        };
        let plan = Plan {
            queue_dir: RecordDir::in_memory(),
            dir: RecordDir::in_memory(),
            uncounted: RecordDir::in_memory(),
            segment_bytes: 1 << 16,
            forgets: Forgets::Never,
            count_distinct: false,
        };
        breadth_first::search(run, plan, memory)
    }
}

impl Configurable for Ram {
    fn about(&self) -> &'static str {
        "Standard Murphi: table and queue in memory; stops when either is full"
    }

    fn set(&mut self, parameter: &str, value: &str) -> Result<(), ParameterError> {
        match parameter {
            "active-share" => self.active_share = parse_number(value)?,
            _ => return Err(ParameterError::unknown(self.name(), parameter)),
        }
        Ok(())
    }

    fn uses_disk(&self) -> bool {
        false
    }

    fn summary(&self, outcome: &Outcome) -> Vec<Line> {
        let figures = Figures::new(self, outcome);
        let queue = counted(figures.count("queue_max"), "state");
        let g = figures.real("g");
        let needed = bytes(figures.count("memory_needed"));
        figures.lines(vec![
            ("queue", format!("at most {queue}  (g = {g:.3} of all)")),
            ("needed", format!("{needed} for table and queue alone")),
        ])
    }

    fn boxed_clone(&self) -> Box<dyn Configurable> {
        Box::new(self.clone())
    }
}

struct TableAndQueue {
    table: OpenTable,
    /// What the queue may take.
    queue_bytes: u64,
    key_len: usize,
}

impl Memory for TableAndQueue {
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

    fn report(&mut self, visits: &Visits, stats: &mut Stats) {
        let n = self.table.len() as u64;
        let needed = n * slot_bytes(self.key_len) + visits.max_queue * visits.state_len as u64;
        let g = visits.max_queue as f64 / n.max(1) as f64;
        stats.push("memory_needed", Value::Count(needed));
        stats.push("g", Value::Ratio(g));
    }
}
