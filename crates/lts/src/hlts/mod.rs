//! The `.hlts` format: a graph in a few bytes an edge, with checksums, readable at any source.
//!
//! The bytes are specified in docs/reference/hlts.md. A [`HltsWriter`] takes edges in the order of
//! their sources and never seeks, so that its output can be compressed on the way; [`Hlts`] reads
//! through an index at the end of the file, blocks at a time, from any number of threads.

mod block;
mod cache;
mod digest;
mod format;
mod index;
mod reader;
mod values;
mod writer;

pub(crate) use block::Edges;
pub(crate) use cache::Place;
pub use cache::{BlockCache, Walker};
pub(crate) use format::MAGIC;
pub use format::VERSION;
pub use reader::Hlts;
pub use writer::HltsWriter;
