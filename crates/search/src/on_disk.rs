//! Searches that have a folder: they go on where memory ends, and a later run can go on with them.

use hadal_model::{Model, Stop};
use hadal_store::disk::{BlockWriter, Folder, Kind, ParentLog};
use hadal_store::{BlockSource, Error as StoreError};

use crate::bfs;
use crate::snapshot::{Content, from_manifest, to_manifest};
use crate::{Error, Observer, Options, Outcome};

/// Where a search puts what memory cannot hold.
#[derive(Clone)]
pub struct OnDisk {
    /// The folder, which nothing else uses.
    pub folder: Folder,
    /// Whether everything is written from the first state on, so that [`resume`] can go on after
    /// a crash.
    pub resumable: bool,
    /// What the one who resumes must know (the model, say); given back by
    /// [`look_into`](crate::look_into).
    pub label: Vec<u8>,
}

/// Does what [`check`](crate::check) does, and goes on on a disk where memory ends.
pub fn check_on_disk(
    model: &dyn Model,
    options: &Options,
    on_disk: OnDisk,
    stop: &Stop,
    observer: &mut dyn Observer,
) -> Result<Outcome, Error> {
    bfs::search(
        model,
        options,
        Some((on_disk, Content::Begun)),
        stop,
        observer,
    )
}

/// Notes that a search with a folder came to its end and that its result is delivered: there is
/// nothing to go on with, and what it left on disk goes.
///
/// This is not for the search itself to say. Should the process die before anyone has seen the
/// result, another run must be able to find it again.
pub fn finish(on_disk: &OnDisk) -> Result<(), Error> {
    on_disk.folder.clear()?;
    let manifest = to_manifest(&on_disk.label, &Content::Finished);
    Ok(on_disk.folder.commit(&manifest)?)
}

/// Goes on with the search that `manifest`, the manifest of `folder`, is about. Model and those
/// options that change what is reported must be the same as before.
pub fn resume(
    model: &dyn Model,
    options: &Options,
    folder: Folder,
    manifest: &[u8],
    stop: &Stop,
    observer: &mut dyn Observer,
) -> Result<Outcome, Error> {
    let manifest = from_manifest(manifest)?;
    let on_disk = OnDisk {
        folder,
        resumable: true,
        label: manifest.label,
    };
    bfs::search(
        model,
        options,
        Some((on_disk, manifest.content)),
        stop,
        observer,
    )
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
pub fn verify(folder: &Folder, manifest: &[u8]) -> Result<Verified, Error> {
    let mut verified = Verified::default();
    let Content::Underway(snapshot) = from_manifest(manifest)?.content else {
        return Ok(verified);
    };
    let mut read = |name: &str, kind: Kind, n_blocks: u32| -> Result<(), StoreError> {
        // What a crash left behind the last block is cut off, as it is when the search goes on.
        let file = BlockWriter::reopen(folder, name, kind, n_blocks)?.finish()?;
        let mut blocks = file.read(std::iter::once(0..n_blocks).collect());
        while let Some((_, payload)) = blocks.next()? {
            verified.blocks += 1;
            verified.bytes += payload.len() as u64;
        }
        verified.files += 1;
        Ok(())
    };
    let external = snapshot.external.as_ref();
    let candidates = external.map_or(&[][..], |external| &external.candidates);
    for entry in snapshot.log.iter().chain(candidates) {
        read(&entry.name, hadal_store::LOG, entry.n_blocks)?;
    }
    if let Some(external) = external {
        for entry in external.tiers.iter().flatten() {
            read(&entry.name, crate::external::RUN, entry.n_blocks)?;
        }
    }
    if let Some((name, n_blocks)) = ParentLog::file_of(&snapshot.parents.0) {
        read(&name, Kind::PARENTS, n_blocks)?;
    }
    Ok(verified)
}
