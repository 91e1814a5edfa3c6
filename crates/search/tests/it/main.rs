//! The search against explicit graphs, whose answers are known.

mod agreement;
mod behaviours;
mod compaction;
mod deferral;
mod dependent_graphs;
mod directed;
mod external;
mod goal_symmetry;
mod graphs;
mod liveness;
mod oracle;
mod order_dependence;
mod orders;
mod own_strategy;
mod ranks;
mod rebuilding;
mod resume;
mod sinks;
mod summary;
mod wide_states;
