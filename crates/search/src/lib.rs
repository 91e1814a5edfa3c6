//! Searches over the seam of `hadal-model`, in memory and on disk.
//!
//! [`check`] visits every reachable state of a [`Model`](hadal_model::Model) and reports in an
//! [`Outcome`] whether its properties hold; each [`Violation`] comes with the run that shows it.
//! [`Auto`] searches by depth and is the strategy to use; [`Dijkstra`] finds runs of least cost;
//! [`Ranked`] searches in any order of ranks and passes states and edges to a [`Sink`]; [`strategy`] is the interface for others. With a
//! folder ([`SearchFolder`]) the search continues on disk when memory ends, and [`resume`] continues it
//! after a crash.
//! This crate knows neither the language of a model nor whether successors come from an
//! interpreter, from native code or from a Rust type, and it prints nothing.
//!
//! Everything in an outcome (counts, layers, violations, paths) is the same for any number of
//! threads and any sizes in [`Options`]; only a search that was stopped from outside (memory,
//! time, interrupt) reports how far it got.
//!
//! ```no_run
//! # fn example(model: &dyn hadal_model::Model) -> Result<(), Box<dyn std::error::Error>> {
//! use hadal_model::Stop;
//! use hadal_search::{Auto, Options, Silent, check};
//!
//! let (options, stop) = (Options::default(), Stop::new());
//! let outcome = check(model, &Auto, &options, None, &stop, &mut Silent)?;
//! println!("{} states, {}", outcome.states, outcome.verdict.name());
//! for violation in &outcome.violations {
//!     for step in violation.trace.iter().flat_map(|trace| &trace.steps) {
//!         println!("{}", step.step.rule);
//!     }
//! }
//! # Ok(()) }
//! ```

mod budget;
mod checkpoint;
mod ending;
mod engine;
mod error;
mod external;
mod findings;
#[cfg(test)]
#[path = "../tests/parts/fixture.rs"]
mod fixture;
mod graph;
mod kernel;
mod liveness;
mod omission;
mod options;
mod outcome;
mod pool;
mod progress;
mod rank;
mod ranked;
mod search_folder;
mod sink;
mod storage;
pub mod strategy;
mod tally;
mod totals;
mod trace;
mod watch;
mod window;
mod worker;

pub use checkpoint::{PAYLOAD_VERSION, RunStatus, read_status};
pub use error::Error;
pub use hadal_store::hashing::StoreKind;
pub use omission::Omission;
pub use options::{Deadlock, Options};
pub use outcome::{
    DirectedFigures, DiskUse, Duplicates, Outcome, Reason, Seconds, Stats, Value, Verdict,
    Violation, ViolationKind,
};
pub use progress::{Observer, Progress, Silent, Work};
pub use rank::{ByCost, ByDepth, ByEstimate, ByTotal, Rank, RankOrder, Steps, TooCostly, Weight};
pub use ranked::{AStar, Auto, BestFirst, Dijkstra, Ranked};
pub use search_folder::{SearchFolder, Verified, finish, verify};
pub use sink::{
    Edge, EdgesWanted, GraphEdge, GraphFacts, GraphPart, NewEdges, NewStates, Sink, Target,
};
pub use strategy::{Strategy, check, resume};
pub use trace::{Trace, TraceError, TraceStep, cost_of, replay};
pub use watch::ProcessLimit;
