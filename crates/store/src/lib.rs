//! Where states are kept: fixed-length byte strings, their order, and numbers.
//!
//! A [`Codec`](codec::Codec) encodes a state as a *key* of a few words and decodes it again; a
//! [`KeySpace`](key_space::KeySpace) puts signatures in place of keys on request. A [`Set`] holds keys in memory and answers whether one is new. A [`Log`] holds the states that are still to be
//! expanded, and a [`ParentLog`](disk::ParentLog) the parent and index of every state, by *ordinal*,
//! the state's number in the order of discovery. What does not fit in memory goes to a folder on a
//! [`disk`]: keys to sorted [`run`]s, logs to files of blocks. [`check_state_len`] reports how wide a
//! state may be for that.
//! Where every state must stay in memory and be found by number, an [`Arena`] holds the states and a
//! [`Table`] finds their ordinals.
//!
//! This crate knows nothing of models: what the bytes mean, what a layer is and which state comes next
//! is up to the search.

mod arena;
#[expect(unsafe_code, reason = "instructions without a safe name")]
pub mod bits;
mod blocks;
pub mod candidate_log;
pub mod candidates;
pub mod codec;
mod delta;
pub mod disk;
pub mod edge_log;
mod error;
mod hash;
pub mod hashing;
pub mod in_edges;
pub mod join;
mod key;
pub mod key_space;
mod limit;
pub mod lock;
mod log;
mod parallel;
mod parent;
/// Keys partitioned into buckets, for sorting.
pub mod partition;
#[expect(unsafe_code, reason = "an instruction without a safe name")]
mod prefetch;
mod queue;
mod record;
pub mod run;
mod set;
mod table;
/// Sorted runs by tier, merged as they grow.
pub mod tiers;
/// Sorted runs with a value beside each key.
pub mod valued;
mod varint;

pub use arena::Arena;
pub use blocks::{BLOCK_BYTES, BlockReader, BlockSink, BlockSource};
pub use delta::{delta_bytes, read_delta, read_deltas, write_delta, write_deltas};
pub use disk::{decode_parent, encode_parent};
pub use error::{Error, Versions};
pub use hash::{SeededHash, hash_state};
pub use key::Placing;
pub use limit::{MAX_KEY_WORDS, MAX_STATE_LEN, check_state_len};
pub use log::{
    HALF_PIECE_BYTES, Log, MAX_PIECE_BYTES, Retention, SegmentEntry, Slice, damaged_log,
};
pub use parallel::in_parallel;
pub use parent::Parent;
pub use queue::{PieceQueue, QueueDisk, SpillEntry};
pub use record::{read_records, record_overhead, write_records};
pub use set::{Growth, Keys, Set, SetPartition};
pub use table::{Cell, N_PARTITIONS, Partition, Table, partition_of};
