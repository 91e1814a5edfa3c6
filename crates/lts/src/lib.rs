//! Labelled transition systems: state graphs with named edges, larger than memory.
//!
//! A graph is an initial state, states by number, and edges in the order of their sources. It is
//! held as an [`.hlts` file](Hlts), of which only labels and an index are in memory; [`open`] reads
//! it, or an `.aut` file of CADP or mCRL2, by its name, and [`save`] writes one. On top of that:
//!
//! - a [`GraphModel`] lets every search run on a graph, as on any other model;
//! - [`minimise`] computes the smallest graph that is strongly or branching bisimilar;
//! - [`compare`] decides whether two graphs are equivalent, and finds a formula that tells them
//!   apart;
//! - [`Info`] is what there is to know about a graph in numbers.
//!
//! States and counts are 64 bits wide everywhere. Nothing here prints, and nothing knows a search.

mod aut;
mod breadth_first;
mod compare;
mod dot;
mod edge;
mod error;
mod files;
mod goal;
mod hlts;
mod info;
mod labels;
mod minimise;
mod model;
mod numbers;
mod parallel;
mod progress;
mod resources;
mod scc;
mod scratch;
mod sort;
mod sweeps;
mod unfinished;
mod varint;
mod word;

pub use aut::{AutReader, write_aut};
pub use compare::{Comparison, Difference, Formula, Traces, compare};
pub use dot::{MOST_IN_DOT, write_dot};
pub use edge::{Counts, Edge};
pub use error::{AutReason, Error};
pub use files::{FileKind, Format, open, open_any, read, read_aut, save, write};
pub use goal::{Goal, Relation};
pub use hlts::{BlockCache, Hlts, HltsWriter, VERSION, Walker};
pub use info::{Cycles, Info};
pub use labels::{Interner, Invisible, Labels};
pub use minimise::{Equivalence, Minimised, minimise};
pub use model::GraphModel;
pub use progress::{Gauge, Reading, Stage};
pub use resources::Resources;
pub use unfinished::UnfinishedFile;
