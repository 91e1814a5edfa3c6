//! The search against explicit graphs, whose answers are known.

mod behaviours;
mod cube;
mod graph;
mod herd;
mod oracle;
mod random;
