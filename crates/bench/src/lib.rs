//! What the measuring commands share: models and how they are loaded, the peer they are compared
//! with, what they must give, and the tables.
//!
//! The commands are `hadal-bench` (times and memory), `agree` (native code against the interpreter
//! on every state) and the bench `kernels` (instruction counts).

pub mod expected;
pub mod header;
pub mod kernels;
pub mod rumur;
pub mod table;
pub mod workload;
