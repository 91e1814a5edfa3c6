//! Files in a folder: checksummed, written behind and read ahead, listed in one manifest.
//!
//! A [`Disk`] is what an operating system offers, and a test may fake: a flat folder of files.
//! A [`Folder`] is what a search uses. It adds memory for buffers, I/O threads, statistics, a
//! limit, fresh names, and a manifest that is replaced as a whole.
//! Files are made of blocks, by a [`BlockWriter`] that writes behind, and read by a [`BlockFile`]
//! that reads ahead; they never change once they are listed in a manifest, except for logs, which
//! grow and are truncated to the length that the manifest has for them.
//! Every byte is checked when it is read. The bytes are specified in `docs/reference/format.md`.

mod block_cache;
mod buffers;
mod folder;
mod frame;
mod kind;
mod lent_memory;
mod manifest;
mod medium;
mod native;
mod parent_code;
mod parent_log;
mod reader;
mod removal;
mod threads;
mod usage;
mod writer;

#[cfg(test)]
mod tests;

pub use block_cache::BlockCache;
pub use buffers::STREAM_BYTES;
pub use folder::{Folder, FolderOptions};
pub use frame::VERSION as FORMAT_VERSION;
pub use kind::Kind;
pub use lent_memory::{LentMemory, PIECE_BYTES};
pub use manifest::Payload;
pub use medium::{Disk, DiskFile, Entry, Medium, SECTOR_BYTES};
pub use native::NativeDisk;
pub use parent_code::{decode_parent, encode_parent};
pub use parent_log::{LogPosition, ParentFinder, ParentLog, Parents};
pub use reader::BlockFile;
pub use usage::{Refusal, Statistics};
pub use writer::BlockWriter;
