//! Sorted runs of keys: how visited states lie on disk.
//!
//! A key is a fixed number of words (1 to [`MAX_KEY_WORDS`](crate::MAX_KEY_WORDS)), most
//! significant first. A *run* is ascending distinct keys in blocks, each of which can be read alone
//! (see `block`), with the first keys of blocks in memory, its *fences*. A [`RunWriter`] writes one
//! and [`Run`] reads it: all keys of a range in order ([`Run::keys`]), or only those blocks that
//! may have a candidate ([`Run::probe`]), which are decoded only where candidates are dense.
//!
//! A layer of a search: its candidates are partitioned by key range ([`Splitters::classify`]) and
//! sorted ([`sort_keys`], [`sort_part`]), keys of older runs are subtracted ([`subtract`]), and the
//! survivors become a run. Few large runs are cheaper than many small ones, so now and then some
//! are merged ([`compact`]). Several threads do this at once, each with its own [`KeyRange`]; good
//! splitters come from the fences ([`fence_splitters`]) or from a sample ([`Splitters::sample`]).
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
mod wide;
mod writer;

pub(crate) use batch::key;
pub use batch::{Batch, Sorted};
pub use compact::compact;
pub(crate) use cursor::Inexpressible;
pub use cursor::RunKeys;
pub(crate) use damage::Damage;
pub use file::Run;
pub(crate) use file::{Footer, read_index, write_index};
pub use memory::MemoryBlocks;
pub use range::KeyRange;
pub use recode::{Older, Recode, Versioned};
pub use sort::{Parts, SortScratch, Split, sort_keys, sort_part};
pub use splitters::{Splitters, fence_splitters};
pub use subtract::{intersect, lookup_readers, subtract};
pub use union::Union;
pub(crate) use wide::fence_stride;
pub use writer::{RunWriter, Written};

/// Most words of a key that lies in a packed block; longer ones lie in [`wide`] blocks.
pub(crate) const PACKED_WORDS: usize = 16;

/// Words of keys that are decoded or merged at once, where keys are wide: as many as 1024 of the
/// longest packed keys have.
const BATCH_WORDS: usize = 1024 * PACKED_WORDS;

/// How many keys of `n_words` words are decoded or merged at once: enough to make calls cheap, few
/// enough to stay in the cache.
fn batch_keys(n_words: usize) -> usize {
    match n_words {
        0..=PACKED_WORDS => 1024,
        _ => (BATCH_WORDS / n_words).max(1),
    }
}

/// Words that a merge of wide keys holds.
const MERGE_WORDS: usize = 4 * BATCH_WORDS;

/// As [`batch_keys`], for each of the `n_rows` that are merged: each has keys at hand, and so has each
/// pair of them.
fn merge_keys(n_words: usize, n_rows: usize) -> usize {
    let share = MERGE_WORDS / (2 * n_rows.max(1)) / n_words;
    match n_words {
        0..=PACKED_WORDS => batch_keys(n_words),
        _ => share.clamp(1, batch_keys(n_words)),
    }
}
