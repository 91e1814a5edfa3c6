//! Where states are kept: fixed-length byte strings, their order, and numbers.
//!
//! States live once, in an [`Arena`], in the order of their discovery; the position there is the
//! state's *ordinal*.
//! A [`Table`] finds the ordinal of a byte string. A [`Set`] only tells whether a short one is new,
//! and does so sooner, for it has the states themselves.
//! [`Parents`] remember for each ordinal two numbers, by which a search tells how it came there.
//! This crate knows nothing of models: what the bytes mean, what a layer is and which state comes
//! next is the search's affair.

mod arena;
mod blocks;
pub mod codec;
pub mod disk;
mod error;
mod hash;
mod key;
mod parents;
#[expect(unsafe_code, reason = "an instruction without a safe name")]
mod prefetch;
pub mod run;
mod set;
mod table;

pub use arena::Arena;
pub use blocks::{BLOCK_BYTES, BlockReader, BlockSink, BlockSource};
pub use error::Error;
pub use hash::hash_state;
pub use key::Encoding;
pub use parents::{Parent, Parents};
pub use set::{Keys, Set, SetPartition};
pub use table::{Cell, N_PARTITIONS, Partition, Table, partition_of};
