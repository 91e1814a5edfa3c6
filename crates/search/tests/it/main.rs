//! The search against explicit graphs, whose answers are known.

mod behaviours;
mod cube;
mod external;
mod graph;
mod herd;
mod locality;
mod merging;
mod oracle;
mod order;
mod postponed;
mod random;
mod resume;
mod strategies;
