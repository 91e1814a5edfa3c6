//! A search by ranks after its last state: its parents, liveness, and what it used.

use std::time::Instant;

use hadal_store::hashing::Hashing;
use hadal_store::{Error as StoreError, Parent, damaged_log};

use super::{End, Search};
use crate::engine::Engine;
use crate::liveness;
use crate::rank::{Rank, RankOrder};
use crate::sink::EdgesWanted;
use crate::strategy::{Decided, Ended, Explored, Run, Usage};
use crate::{DiskUse, Error, Omission, Outcome, Stats};

impl Search<'_, '_> {
    /// Ends the search.
    pub(super) fn conclude(self, end: End) -> Result<Outcome, Error> {
        let Search {
            run,
            engine,
            tally,
            schedule,
        } = self;
        let is_by_depth = engine.context.order.is_depth();
        let hashing = engine.context.keys.hashing.as_deref();
        let omission = hashing.map(|it| Omission::of_layers(Hashing::bits(it), &tally.layers));
        let n_found: u64 = tally.layers.iter().sum();
        let (depth, states) = (tally.depth(), n_found - tally.totals.reopened);
        let mut explored = ExploredRanks {
            run,
            depth,
            transitions: tally.totals.transitions,
            ranks: tally.ranked_states(),
            saved_states: schedule.map_or(0, |schedule| schedule.saved_states),
            engine,
        };
        let ended = Ended {
            end,
            totals: tally.totals,
            findings: tally.findings,
            states,
            states_exact: true,
            depth,
            omission,
            layers: match is_by_depth {
                true => tally.layers,
                false => Vec::new(),
            },
            remarks: explored.engine.remarks.to_vec(),
            stats: Stats::default(),
        };
        run.conclude(ended, &mut explored)
    }
}

struct ExploredRanks<'a, 'm> {
    run: &'a Run<'a>,
    engine: Engine<'a, 'm>,
    depth: u32,
    transitions: u64,
    /// Where the states of each rank end, and the rank, where ranks are no depths.
    ranks: Vec<(u64, Rank)>,
    saved_states: u64,
}

impl Explored for ExploredRanks<'_, '_> {
    fn indices_to(&mut self, ordinal: u64) -> Result<Vec<u32>, Error> {
        let mut indices = Vec::new();
        let mut next = ordinal;
        let mut parents = self.engine.states.parents.finder();
        loop {
            let parent = parents.get(next)?.ok_or_else(|| damaged_log("parents"))?;
            indices.push(parent.index);
            if parent.ordinal == Parent::START {
                break;
            }
            next = parent.ordinal;
        }
        indices.reverse();
        Ok(indices)
    }

    fn directed_order(&self) -> Option<&dyn RankOrder> {
        let order = self.engine.context.order;
        (order.needs_costs() || order.needs_estimates()).then_some(order)
    }

    fn cost_of(&self, ordinal: u64) -> Option<u64> {
        let at = self.ranks.partition_point(|(end, _)| *end <= ordinal);
        let (_, rank) = self.ranks.get(at)?;
        self.engine.context.order.cost_of(*rank)
    }

    fn decide_liveness(&mut self) -> Result<Option<Decided>, Error> {
        if self.engine.sink.wants_edges() == EdgesWanted::Graph {
            return Ok(None);
        }
        let since = Instant::now();
        let engine = &mut self.engine;
        let expand_seconds = engine.seconds.expand;
        self.run.begin_rank(self.depth, engine.states.len());
        let decided = match liveness::decide(engine, self.transitions) {
            // The folder is as the last checkpoint left it, so a later run can decide it.
            Err(Error::Store(StoreError::Full { needed })) => {
                engine.refused_bytes = needed;
                None
            }
            decided => decided?,
        };
        engine.seconds.expand = expand_seconds;
        engine.seconds.liveness = since.elapsed().as_secs_f64();
        Ok(decided)
    }

    fn usage(&mut self) -> Usage {
        let engine = &mut self.engine;
        engine.seconds.search = self.run.seconds();
        engine.seconds.io_wait = engine.io_wait();
        Usage {
            data_bytes: engine.peak_bytes.max(engine.held().total()),
            disk: DiskUse {
                saved_states: self.saved_states,
                ..engine.disk_use()
            },
            seconds: engine.seconds,
        }
    }
}
