//! Sorted runs with a value: ascending distinct keys, each with a number of 64 bits.
//!
//! A run of keys alone answers whether a key is known. Whoever needs more of a known key (the ordinal
//! of a state, the least cost of a path to it, the host that owns it) keeps a number beside it: a
//! [`ValuedWriter`] writes such a run, [`ValuedRun::entries`] reads the entries of a range, and a
//! [`LeastMerge`] of several runs has each key once, with the least of its values. A [`ValuedFile`] is
//! a run in a folder, which a manifest may list. [`join`](crate::join) looks up many keys in runs at
//! once, [`LeastValues`] is an index that grows and finds the least value of a key.
//!
//! Keys of several layouts: entries are read in the newest layout, whatever layout their run has. So
//! layouts must agree about the order of keys, as those of a search on disk do; the reader finds out
//! if they do not.
//!
//! ```
//! use std::sync::Arc;
//! use hadal_store::run::{Batch, KeyRange, MemoryBlocks, Sorted};
//! use hadal_store::valued::{LeastMerge, ValuedRun, ValuedWriter};
//!
//! let run = |entries: &[(u64, u64)]| {
//!     let mut writer = ValuedWriter::new(MemoryBlocks::default(), 1);
//!     for &(key, value) in entries {
//!         writer.push(&[key], &[value])?;
//!     }
//!     let (blocks, written) = writer.finish()?;
//!     Ok::<_, hadal_store::Error>(ValuedRun::new(Arc::new(blocks), written, "example"))
//! };
//! let runs = [run(&[(3, 30), (5, 50)])?, run(&[(3, 7), (9, 90)])?];
//! let inputs = runs.iter().map(|run| Box::new(run.entries(KeyRange::ALL)) as _);
//! let (mut merge, mut batch) = (LeastMerge::new(1, inputs.collect()), Batch::default());
//! assert!(merge.next_batch(&mut batch)?);
//! assert_eq!((batch.keys, batch.ordinals), (vec![3, 5, 9], vec![7, 50, 90]));
//! # Ok::<(), hadal_store::Error>(())
//! ```

mod block;
mod either;
mod entries;
mod file;
mod find;
mod least;
mod merge;
mod run;
#[cfg(test)]
mod tests;
mod writer;

pub(crate) use either::Output;
pub use either::ValueRun;
pub use entries::Entries;
pub use file::{VALUED, ValuedFile};
pub use least::LeastValues;
pub use merge::LeastMerge;
pub use run::ValuedRun;
pub use writer::{ValuedWriter, WrittenValues};
