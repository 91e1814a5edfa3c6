//! The `.aut` format of CADP and mCRL2: a header `des (initial, transitions, states)`, then a line
//! `(from, label, to)` for each edge, in any order.
//!
//! A label in quotes may contain anything but a line break, quotes and commas among it: `from` ends
//! at the first comma of the line and `to` begins behind the last. A label means the same with and
//! without its quotes.

mod line;
mod reader;
mod writer;

pub use reader::AutReader;
pub use writer::write_aut;
