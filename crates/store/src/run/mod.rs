//! Sorted runs of keys: how visited states lie on disk.
//!
//! A key is a fixed number of words (1 to 16), most significant first. A *run* is ascending
//! distinct keys in blocks, each of which can be read by itself (see `block`), with the first key
//! of every block in memory, its *fences*. A [`RunWriter`] makes one and [`Run`] reads it: all keys
//! of a range in order ([`Run::keys`]), or only those blocks that a sorted list of candidates falls
//! into ([`Run::probe`]), which are then decoded only where these are dense.
//!
//! A layer of a search goes through here: its candidates, dealt out to parts of the key space
//! ([`Splitters::classify`]), are put in order ([`sort_keys`], [`sort_part`]), what older
//! runs have is taken away ([`subtract`]), and what is left becomes a run. Few large runs are
//! cheaper than many small ones, so now and then some are made one ([`compact`]).
//! All of this is done by several threads at once, each with its own [`KeyRange`]; good places to
//! cut come from the fences ([`fence_splitters`]) or from a sample ([`Splitters::sample`]).
//!
//! ```
//! use std::sync::Arc;
//! use hadal_store::run::{KeyRange, MemoryBlocks, Run, RunWriter};
//!
//! let mut writer = RunWriter::new(MemoryBlocks::default(), 2);
//! writer.push(&[0, 5, 0, 7, 1, 0])?; // three keys of two words
//! let (blocks, written) = writer.finish()?;
//! let run = Run::open(Arc::new(blocks), written.n_blocks, "example")?;
//!
//! let mut present = [false; 2];
//! run.probe(&[0, 6, 0, 7], &mut present)?;
//! assert_eq!(present, [false, true]);
//! # Ok::<(), hadal_store::Error>(())
//! ```

mod batch;
mod block;
mod classify;
mod compact;
mod cursor;
mod damage;
mod decode;
mod dense;
mod encode;
mod file;
mod finder;
mod memory;
mod merge;
mod probe;
mod range;
mod recode;
mod reduced;
mod row;
mod sort;
mod splitters;
mod subtract;
#[cfg(test)]
mod tests;
mod union;
mod writer;

pub use batch::{Batch, Sorted};
pub use compact::compact;
pub use cursor::RunKeys;
pub use file::Run;
pub use memory::MemoryBlocks;
pub use range::KeyRange;
pub use recode::{Older, Recode, Versioned};
pub use sort::{Parts, SortScratch, Split, sort_keys, sort_part};
pub use splitters::{Splitters, fence_splitters};
pub use subtract::{intersect, subtract};
pub use union::Union;
pub use writer::{RunWriter, Written};

/// Most words of a key.
pub const MAX_WORDS: usize = 16;
