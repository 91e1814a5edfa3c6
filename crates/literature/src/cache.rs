//! `cache`: CMurphi's cache-based search (the locality paper, section 4).
//!
//! The table is a cache of fixed size: a state that finds no free slot within the longest chain
//! overwrites a random one of that chain, and what was overwritten is visited again if it turns up
//! again. The queue lies on disk. The search may never end; it is stopped when more than a given
//! share of all insertions were collisions, since then nearly every state that is stored makes
//! another forgotten. Sooner or later that happens to every search that does not end.
//!
//! What the paper leaves open is as in its authors' code: a chain has 20 slots, with hashed states
//! 13. A cache never reports an unvisited state as visited, so a search that empties
//! its queue has visited everything.

use hadal_model::Shape;
use hadal_report::units::counted;
use hadal_search::StoreKind;
use hadal_search::strategy::{Halt, Run};
use hadal_search::{Error, Outcome, Reason, Stats, Strategy, Value};
use hadal_store::Parent;

use crate::breadth_first::{self, Forgets, Intake, Memory, Plan};
use crate::configurable::{Configurable, Line, ParameterError, parse_bool, parse_number};
use crate::explorer;
use crate::figures::{Figures, MAY_STOP, Visits, percent, push_revisits};
use crate::queue;
use crate::record_dir::RecordDir;
use crate::signature::Signatures;
use crate::tables::CacheTable;

const CHAIN_LEN: usize = 20;
const HASHED_CHAIN_LEN: usize = 13;

/// A cache of fixed size in place of the table (CMurphi).
#[derive(Clone, Debug, PartialEq)]
pub struct Cache {
    /// The search stops when more than this share of insertions were collisions.
    pub collision_stop: f64,
    /// Whether the distinct states are counted at the end.
    pub count_distinct: bool,
}

impl Default for Cache {
    fn default() -> Self {
        Cache {
            collision_stop: 0.9,
            count_distinct: true,
        }
    }
}

impl Strategy for Cache {
    fn name(&self) -> &'static str {
        "cache"
    }

    fn parameters(&self) -> Vec<(&'static str, String)> {
        vec![("collision_stop", self.collision_stop.to_string())]
    }

    fn remark(&self) -> Option<&'static str> {
        Some(MAY_STOP)
    }

    fn least_bytes(&self, shape: &Shape, _threads: usize) -> u64 {
        explorer::least_bytes(shape)
    }

    fn search(&self, run: &Run<'_>) -> Result<Outcome, Error> {
        let key_len = Signatures::new(run).key_len();
        let chain_len = match run.options.store {
            StoreKind::Exact => CHAIN_LEN,
            _ => HASHED_CHAIN_LEN,
        };
        let segment_bytes = queue::segment_bytes(run);
        let table_bytes = run.options.memory_bytes - 2 * segment_bytes;
        let dir = RecordDir::new(run)?;
        let memory = Forgetting {
            table: CacheTable::new(key_len, table_bytes, chain_len, run.options.seed),
            collision_stop: self.collision_stop,
        };
        let plan = Plan {
            queue_dir: dir.clone(),
            uncounted: dir.beside(),
            dir,
            segment_bytes,
            forgets: Forgets::AndEnds,
            count_distinct: self.count_distinct,
        };
        breadth_first::search(run, plan, memory)
    }
}

impl Configurable for Cache {
    fn about(&self) -> &'static str {
        "CMurphi: a table that forgets, queue on disk; stops when it forgets too much"
    }

    fn set(&mut self, parameter: &str, value: &str) -> Result<(), ParameterError> {
        match parameter {
            "collision-stop" => self.collision_stop = parse_number(value)?,
            "count-distinct" => self.count_distinct = parse_bool(value)?,
            _ => return Err(ParameterError::unknown(self.name(), parameter)),
        }
        Ok(())
    }

    fn summary(&self, outcome: &Outcome) -> Vec<Line> {
        let figures = Figures::new(self, outcome);
        let rate = percent(figures.real("collision_rate"));
        let slots = counted(figures.count("cache_slots"), "state");
        let text = format!("{rate} of the insertions, in a cache for {slots}");
        figures.lines(vec![("collisions", text), figures.all_visited()])
    }

    fn boxed_clone(&self) -> Box<dyn Configurable> {
        Box::new(self.clone())
    }
}

struct Forgetting {
    table: CacheTable,
    collision_stop: f64,
}

impl Memory for Forgetting {
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

    fn report(&mut self, visits: &Visits, stats: &mut Stats) {
        let table = &self.table;
        stats.push("collision_rate", Value::Ratio(table.collision_rate()));
        stats.push("collisions", Value::Count(table.n_collisions));
        stats.push("cache_slots", Value::Count(table.max_slots() as u64));
        stats.push("all_visited", Value::Count(u64::from(visits.all_visited)));
        push_revisits(visits, stats);
    }
}
