//! Where states are kept: fixed-length byte strings, their order, and numbers.
//!
//! States live once, in an [`Arena`], in the order of their discovery; the position there is the
//! state's *ordinal*.
//! A [`Table`] finds the ordinal of a byte string. A [`Codec`](codec::Codec) turns byte strings into
//! keys of a few words; a [`Set`] only tells whether a key is new, and does so sooner, for it has
//! the keys themselves.
//! A [`Log`] has what is still to be expanded, and a [`ParentLog`](disk::ParentLog) remembers for
//! each ordinal two numbers, by which a search tells how it came there.
//! What memory cannot hold lies in a folder on a [`disk`], keys in sorted [`run`]s.
//! This crate knows nothing of models: what the bytes mean, what a layer is and which state comes
//! next is the search's affair.

mod arena;
#[expect(unsafe_code, reason = "instructions without a safe name")]
pub mod bits;
mod blocks;
pub mod codec;
mod difference;
pub mod disk;
mod error;
mod hash;
mod key;
mod log;
mod parent;
#[expect(unsafe_code, reason = "an instruction without a safe name")]
mod prefetch;
mod record;
pub mod run;
mod set;
mod table;
mod varint;

pub use arena::Arena;
pub use blocks::{BLOCK_BYTES, BlockReader, BlockSink, BlockSource};
pub use difference::{
    difference_bytes, read_difference, read_differences, write_difference, write_differences,
};
pub use disk::{decode_parent, encode_parent};
pub use error::Error;
pub use hash::{SeededHash, hash_state};
pub use key::Placing;
pub use log::{HALF_PIECE_BYTES, Keep, LOG, Log, MAX_PIECE_BYTES, SegmentEntry, Slice};
pub use parent::Parent;
pub use record::{read_records, record_overhead, write_records};
pub use set::{Growth, Keys, Set, SetPartition};
pub use table::{Cell, N_PARTITIONS, Partition, Table, partition_of};
