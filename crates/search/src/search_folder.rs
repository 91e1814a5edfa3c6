//! The folder of a search: where it continues when memory ends, and what a later run resumes.

use hadal_store::disk::{BlockWriter, Folder, Kind, ParentLog, Payload};
use hadal_store::{BlockSource, Error as StoreError};

use crate::Error;
use crate::checkpoint::{Content, PAYLOAD_VERSION, from_manifest, to_manifest};

/// The folder of a search, for what memory cannot hold.
#[derive(Clone)]
pub struct SearchFolder {
    /// The folder, which nothing else uses.
    pub folder: Folder,
    /// Whether everything is written from the first state on, so that [`resume`](crate::resume) works
    /// after a crash.
    pub resumable: bool,
    /// What whoever resumes must know (the model, say); returned by [`read_status`](crate::read_status).
    pub label: Vec<u8>,
}

/// Records that a search with a folder is finished and its result delivered: there is nothing to
/// resume, and its files are deleted.
///
/// The search itself does not do this: if the process dies before anyone has seen the result, another
/// run must be able to find it again.
pub fn finish(search_folder: &SearchFolder) -> Result<(), Error> {
    search_folder.folder.clear()?;
    let manifest = to_manifest(&search_folder.label, &Content::Finished);
    Ok(search_folder.folder.commit(PAYLOAD_VERSION, &manifest)?)
}

/// What [`verify`] has read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Files.
    pub files: u64,
    /// Blocks in them.
    pub blocks: u64,
    /// Bytes that the blocks hold.
    pub bytes: u64,
}

/// Reads and checks every block of every file that `manifest`, the manifest of `folder`, lists.
pub fn verify(folder: &Folder, manifest: &Payload) -> Result<Verified, Error> {
    let mut verified = Verified::default();
    let Content::Underway(checkpoint) = from_manifest(manifest)?.content else {
        return Ok(verified);
    };
    let stored = &checkpoint.stored;
    let mut read = |name: &str, kind: Kind, n_blocks: u32| -> Result<(), StoreError> {
        // What a crash left behind the last block is truncated, as it is when the search resumes.
        let file = BlockWriter::reopen(folder, name, kind, n_blocks)?.finish()?;
        let mut blocks = file.read(std::iter::once(0..n_blocks).collect());
        while let Some((_, payload)) = blocks.next()? {
            verified.blocks += 1;
            verified.bytes += payload.len() as u64;
        }
        verified.files += 1;
        Ok(())
    };
    for entry in stored.logs() {
        read(&entry.name, Kind::Log, entry.n_blocks)?;
    }
    for entry in &stored.open {
        read(&entry.name, Kind::Queue, entry.n_blocks)?;
    }
    for entry in stored.runs() {
        read(&entry.name, hadal_store::tiers::RUN, entry.n_blocks)?;
    }
    if let Some((name, n_blocks)) = ParentLog::file_of(&stored.parents.0) {
        read(&name, Kind::Parents, n_blocks)?;
    }
    Ok(verified)
}
