//! The strategies of the literature against explicit graphs, whose answers are known. The oracle is
//! that of the engine's own tests.

#[path = "../../../search/tests/it/dependent_graphs.rs"]
mod dependent_graphs;
mod graphs;
mod locality;
#[path = "../../../search/tests/it/oracle.rs"]
mod oracle;
mod order_dependence;
mod strategies;
#[path = "../../../search/tests/it/summary.rs"]
mod summary;
