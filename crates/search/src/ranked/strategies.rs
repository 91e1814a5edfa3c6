//! The strategies that are a search by ranks in some order.

use std::sync::{Mutex, PoisonError};

use hadal_model::Shape;

use super::search;
use crate::budget::Budget;
use crate::rank::{ByCost, ByDepth, ByEstimate, ByTotal, RankOrder, Weight};
use crate::sink::Sink;
use crate::strategy::{Run, Strategy};
use crate::{Error, Outcome};

/// A strategy that is an order of ranks.
trait InRanks: Sync {
    fn order(&self) -> &dyn RankOrder;

    /// Its name on the command line.
    fn called(&self) -> &'static str {
        self.order().name()
    }

    fn chosen(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    fn run(&self, run: &Run<'_>) -> Result<Outcome, Error> {
        search(run, self.order(), None)
    }
}

impl<T: InRanks> Strategy for T {
    fn name(&self) -> &'static str {
        self.called()
    }

    fn parameters(&self) -> Vec<(&'static str, String)> {
        self.chosen()
    }

    fn is_by_depth(&self) -> bool {
        self.order().is_depth()
    }

    fn needs_estimates(&self) -> bool {
        self.order().needs_estimates()
    }

    fn needs_costs(&self) -> bool {
        self.order().needs_costs()
    }

    fn is_parallel(&self) -> bool {
        true
    }

    fn least_bytes(&self, shape: &Shape, threads: usize) -> u64 {
        Budget::least_bytes(shape, threads)
    }

    fn is_resumable(&self) -> bool {
        true
    }

    fn search(&self, run: &Run<'_>) -> Result<Outcome, Error> {
        self.run(run)
    }
}

/// Exhaustive search by depth: in memory while it suffices, then on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Auto;

impl InRanks for Auto {
    fn order(&self) -> &dyn RankOrder {
        &ByDepth
    }

    fn called(&self) -> &'static str {
        "auto"
    }
}

/// Exhaustive search in the order of costs, Dijkstra's algorithm: a counterexample is one of least
/// cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dijkstra;

impl InRanks for Dijkstra {
    fn order(&self) -> &dyn RankOrder {
        &ByCost
    }

    fn called(&self) -> &'static str {
        "dijkstra"
    }
}

/// Exhaustive search in the order of costs and estimates of what is left to a violation: A*. A
/// counterexample is one of least cost if no estimate is too high.
#[derive(Clone, Copy, Debug, Default)]
pub struct AStar {
    order: ByTotal,
}

impl AStar {
    /// With this weight of estimates.
    pub fn weighted(weight: Weight) -> Self {
        AStar {
            order: ByTotal { weight },
        }
    }
}

impl InRanks for AStar {
    fn order(&self) -> &dyn RankOrder {
        &self.order
    }

    fn chosen(&self) -> Vec<(&'static str, String)> {
        vec![("weight", self.order.weight.to_string())]
    }
}

/// Exhaustive search in the order of estimates alone: greedy best-first search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BestFirst;

impl InRanks for BestFirst {
    fn order(&self) -> &dyn RankOrder {
        &ByEstimate
    }
}

/// Exhaustive search in any order of ranks, whose states and edges a sink may receive.
pub struct Ranked<'s> {
    order: Box<dyn RankOrder>,
    sink: Option<Mutex<&'s mut dyn Sink>>,
}

impl<'s> Ranked<'s> {
    /// In the order of ranks that `order` assigns.
    pub fn new(order: impl RankOrder + 'static) -> Self {
        Ranked {
            order: Box::new(order),
            sink: None,
        }
    }

    /// In the order of depth.
    pub fn by_depth() -> Self {
        Self::new(ByDepth)
    }

    /// In the order of costs: Dijkstra's algorithm.
    pub fn by_cost() -> Self {
        Self::new(ByCost)
    }

    /// Passes states and edges to `sink`. A state that is opened again comes again, with another
    /// ordinal.
    pub fn with_sink(mut self, sink: &'s mut dyn Sink) -> Self {
        self.sink = Some(Mutex::new(sink));
        self
    }
}

impl InRanks for Ranked<'_> {
    fn order(&self) -> &dyn RankOrder {
        &*self.order
    }

    fn called(&self) -> &'static str {
        match self.order.is_depth() {
            true => Auto.called(),
            false => self.order.name(),
        }
    }

    fn run(&self, run: &Run<'_>) -> Result<Outcome, Error> {
        let mut sink =
            (self.sink.as_ref()).map(|sink| sink.lock().unwrap_or_else(PoisonError::into_inner));
        let sink = sink.as_mut().map(|sink| &mut ***sink as &mut dyn Sink);
        search(run, &*self.order, sink)
    }
}
