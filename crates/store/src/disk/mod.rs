//! Files in a folder: checksummed, written behind and read ahead, listed in one manifest.
//!
//! A [`Disk`] is what an operating system offers, and a test may fake: a flat folder of files.
//! A [`Folder`] is what a search works with. It adds what every file needs: memory for buffers, I/O
//! threads, statistics, a limit, fresh names, and a manifest that is replaced as a whole.
//! Files are made of blocks, by a [`BlockWriter`] that writes behind, and read by a [`BlockFile`]
//! that reads ahead; they never change once they are listed in a manifest, but for a log, which
//! grows and is cut back to the length that the manifest has for it.
//! Every byte is checked when it is read. The bytes are specified in `docs/reference/format.md`.

mod buffers;
mod folder;
mod frame;
mod kept;
mod manifest;
mod medium;
mod native;
mod parent_code;
mod parent_log;
mod reader;
mod removal;
mod spare;
mod threads;
mod usage;
mod writer;

#[cfg(test)]
mod tests;

pub use folder::{Folder, FolderOptions};
pub use frame::Kind;
pub use kept::KeptBlocks;
pub use medium::{Disk, DiskFile, Entry, Medium, SECTOR_BYTES};
pub use native::NativeDisk;
pub use parent_code::{decode_parent, encode_parent};
pub use parent_log::{ParentFinder, ParentLog, Parents, Waymark};
pub use reader::BlockFile;
pub use spare::{PIECE_BYTES, Spare};
pub use usage::Statistics;
pub use writer::BlockWriter;
