//! What the measuring commands share: models and how they are loaded, the peer tool, expected
//! counts, tables and pictures.
//!
//! The commands are `hadal-bench` (time and memory), `memory` (cost of small budgets), `agree`
//! (native code against the interpreter on every state), `picture` (draws recorded runs), the bench
//! `kernels` (instruction counts) and the example `race` (encodings of sorted states).

pub mod expected;
pub mod header;
pub mod kernels;
pub mod picture;
pub mod rumur;
pub mod table;
pub mod workload;
