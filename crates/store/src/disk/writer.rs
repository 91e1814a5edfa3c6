//! Writing blocks, while the disk is still busy with those before.
//!
//! Blocks are framed into a chunk where they will lie side by side on disk; a full chunk goes to
//! the writing thread, and another is filled. An error of that thread is reported when its chunk is
//! reused, some blocks later, or at the next flush. The header is written with the first chunk, so
//! that creating a file does not wait. A file whose writer is dropped before anyone could read it
//! is deleted.

use std::collections::VecDeque;
use std::io;

use super::Kind;
use super::buffers::{Aligned, Chunk, Stream};
use super::folder::{Folder, OpenFile, random_id};
use super::frame::{self, FRAME_BYTES, HEADER_BYTES, Identity};
use super::reader::BlockFile;
use super::threads::{Done, Job, Pending, Work};
use crate::{BLOCK_BYTES, BlockSink, Error};

/// Appends blocks to a file.
pub struct BlockWriter {
    file: OpenFile,
    identity: Identity,
    stream: Stream,
    n_blocks: u32,
    /// Whether the header was written or submitted.
    has_header: bool,
    /// The chunk being filled.
    filling: Option<Filling>,
    in_flight: VecDeque<(Pending, Piece)>,
    failed: Option<Failure>,
    /// Whether the file stays when the writer is dropped.
    is_of_use: bool,
}

/// What is being written from a chunk.
#[derive(Clone, Copy)]
struct Piece {
    offset: u64,
    len: usize,
    /// Whether the header is written first.
    with_header: bool,
    /// Number of deletions done when it was submitted.
    n_gone: u64,
}

struct Filling {
    chunk: Chunk,
    first: u32,
    n_frames: usize,
    /// Bytes to write: whole frames, and what is needed of the last.
    len: usize,
}

/// An earlier error. The file has a gap since then, so nothing more is written to it.
#[derive(Clone, Copy)]
enum Failure {
    Full,
    Other,
}

impl BlockWriter {
    /// A new file in `folder`.
    pub fn create(folder: &Folder, kind: Kind) -> Result<Self, Error> {
        Self::create_in(folder, kind, true)
    }

    /// A new file in `folder` that no manifest will list, and that can be deleted at any time.
    pub fn create_scratch(folder: &Folder, kind: Kind) -> Result<Self, Error> {
        Self::create_in(folder, kind, false)
    }

    fn create_in(folder: &Folder, kind: Kind, may_be_listed: bool) -> Result<Self, Error> {
        let file = folder.create(kind, may_be_listed)?;
        let identity = Identity {
            name: file.name.clone(),
            kind,
            search_id: folder.search_id(),
            file_id: random_id(),
        };
        Ok(Self::at_end(file, identity, 0, false))
    }

    /// Continues an existing file behind its first `n_blocks` blocks; truncates the rest.
    pub fn reopen(folder: &Folder, name: &str, kind: Kind, n_blocks: u32) -> Result<Self, Error> {
        let file = BlockFile::open(folder, name, kind, n_blocks)?;
        let end = file.end()?;
        let (file, identity) = file.into_parts();
        file.cut_to(end)?;
        Ok(Self::at_end(file, identity, n_blocks, true))
    }

    fn at_end(file: OpenFile, identity: Identity, n_blocks: u32, is_old: bool) -> Self {
        Self {
            stream: Stream::new(file.folder.pool()),
            file,
            identity,
            n_blocks,
            filling: None,
            in_flight: VecDeque::new(),
            failed: None,
            has_header: is_old,
            is_of_use: is_old,
        }
    }

    /// Name of the file in its folder.
    pub fn name(&self) -> &str {
        &self.file.name
    }

    /// Blocks appended so far.
    pub fn n_blocks(&self) -> u32 {
        self.n_blocks
    }

    /// Returns when all blocks are in the file, though they may not survive a crash.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.check()?;
        let outcome = self.submit().and_then(|()| {
            self.write_header()?;
            while !self.in_flight.is_empty() {
                self.wait_for_one()?;
            }
            Ok(())
        });
        self.note(outcome)
    }

    /// Frees memory whose blocks are in the file, without waiting. Not while more blocks will come,
    /// which would reuse it.
    pub fn reap(&mut self) -> Result<(), Error> {
        while let Some((pending, piece)) = self.in_flight.front()
            && let Some(done) = pending.poll()
        {
            let piece = *piece;
            self.in_flight.pop_front();
            let written = self.written_from(done, piece);
            let chunk = self.note(written)?;
            self.stream.give_back(chunk);
        }
        Ok(())
    }

    /// Submits what is left to the writing thread.
    pub fn submit_rest(&mut self) -> Result<(), Error> {
        self.check()?;
        let outcome = self.submit();
        self.note(outcome)
    }

    /// Deletes the file as soon as no manifest needs it. Unwritten blocks are dropped.
    pub fn discard(mut self) -> Result<(), Error> {
        self.filling = None;
        self.is_of_use = true;
        self.end_writes();
        self.file.folder.retire(&self.file.name)
    }

    /// Returns when all blocks are durable.
    pub fn sync(&mut self) -> Result<(), Error> {
        self.flush()?;
        let synced = self
            .file
            .folder
            .usage()
            .waiting(|| self.file.file.sync())
            .map_err(|e| Error::from_io(&self.file.name, 0, e));
        // What a failed sync has lost is unknown, and a second one may not report it.
        self.note(synced)?;
        self.is_of_use = true;
        Ok(())
    }

    /// The blocks so far, for reading, while the file grows.
    pub fn written(&mut self) -> Result<BlockFile, Error> {
        self.flush()?;
        self.is_of_use = true;
        Ok(BlockFile::new(
            self.file.clone(),
            self.identity.clone(),
            self.n_blocks,
        ))
    }

    /// Rolls back to the first `n_blocks` blocks: later blocks overwrite the others, which no
    /// manifest may list. Blocks must not become shorter, for leftovers behind one count as damage.
    pub fn roll_back(&mut self, n_blocks: u32) -> Result<(), Error> {
        assert!(n_blocks <= self.n_blocks, "one goes back to what is there");
        // Blocks that were not submitted are dropped.
        if let Some(filling) = self.filling.take_if(|filling| filling.first >= n_blocks) {
            self.stream.give_back(filling.chunk);
        }
        self.flush()?;
        self.n_blocks = n_blocks;
        Ok(())
    }

    /// Finishes the file. To list it in a manifest, [`sync`](Self::sync) first.
    pub fn finish(mut self) -> Result<BlockFile, Error> {
        self.written()
    }

    fn append(&mut self, payload: &[u8]) -> Result<(), Error> {
        let number = self.n_blocks;
        let n_blocks = number.checked_add(1).ok_or(Error::Full {
            needed: payload.len() as u64,
        })?;
        let mut filling = match self.filling.take() {
            Some(filling) => filling,
            None => Filling {
                chunk: self.next_chunk()?,
                first: number,
                n_frames: 0,
                len: 0,
            },
        };
        let at = filling.n_frames * FRAME_BYTES;
        let place = &mut filling.chunk.bytes_mut()[at..][..FRAME_BYTES];
        filling.len = at + frame::write_frame(place, &self.identity, number, payload);
        filling.n_frames += 1;
        self.n_blocks = n_blocks;
        let is_full = filling.n_frames == filling.chunk.n_frames();
        self.filling = Some(filling);
        if is_full { self.submit() } else { Ok(()) }
    }

    /// Memory for the next blocks: the chunk just written, for it is warm; else a free chunk within
    /// this writer's share; else the next chunk to be written.
    fn next_chunk(&mut self) -> Result<Chunk, Error> {
        let Some((pending, piece)) = self.in_flight.front() else {
            return Ok(self.stream.take_any());
        };
        if let Some(done) = pending.poll() {
            let piece = *piece;
            self.in_flight.pop_front();
            return self.written_from(done, piece);
        }
        if self.in_flight.len() < self.stream.share()
            && let Some(chunk) = self.stream.take()
        {
            return Ok(chunk);
        }
        self.take_done()
    }

    fn header(&self) -> Aligned {
        let mut sector = Aligned::new(HEADER_BYTES);
        frame::write_header(sector.bytes_mut(), &self.identity);
        sector
    }

    /// Writes the header, if no block did.
    fn write_header(&mut self) -> Result<(), Error> {
        if self.has_header {
            return Ok(());
        }
        self.has_header = true;
        let file = &self.file;
        file.grow_to(HEADER_BYTES as u64)?;
        file.folder.usage().count_written(HEADER_BYTES);
        let header = self.header();
        file.folder.with_room(|| {
            let usage = file.folder.usage();
            let written = usage.waiting(|| file.file.write_at(header.bytes(), 0));
            written.map_err(|e| Error::from_io(&file.name, HEADER_BYTES as u64, e))
        })
    }

    /// Submits the filled chunk to the writing thread.
    fn submit(&mut self) -> Result<(), Error> {
        let Some(filling) = self.filling.take() else {
            return Ok(());
        };
        let offset = frame::offset_of(filling.first);
        let len = filling.len;
        let folder = &self.file.folder;
        let n_gone = folder.n_gone();
        self.file.grow_to(offset + len as u64)?;
        let header = (!self.has_header).then(|| self.header());
        let with_header = header.is_some();
        let header_len = if with_header { HEADER_BYTES } else { 0 };
        self.has_header = true;
        folder.usage().count_written(header_len + len);
        let pending = folder.threads().submit(Job {
            file: self.file.file.clone(),
            chunk: filling.chunk,
            work: Work::Write(offset, len, header),
        });
        let piece = Piece {
            offset,
            len,
            with_header,
            n_gone,
        };
        self.in_flight.push_back((pending, piece));
        Ok(())
    }

    /// The chunk of the oldest write, when that is done.
    fn take_done(&mut self) -> Result<Chunk, Error> {
        let Some((pending, piece)) = self.in_flight.pop_front() else {
            return Ok(self.stream.take_any());
        };
        let done = self.file.folder.usage().waiting(|| pending.wait());
        self.written_from(done, piece)
    }

    /// The chunk of a write that is done.
    fn written_from(&self, done: Result<Done, io::Error>, piece: Piece) -> Result<Chunk, Error> {
        let failed = |e| Error::from_io(&self.file.name, piece.len as u64, e);
        let (chunk, outcome) = done.map_err(failed)?;
        match outcome.map_err(failed) {
            // The disk may be full only until pending deletions are done.
            Err(Error::Full { .. }) if self.file.folder.has_made_room(piece.n_gone) => {
                let file = &self.file.file;
                // It may be the header that found no room.
                if piece.with_header {
                    let header = self.header();
                    file.write_at(header.bytes(), 0).map_err(failed)?;
                }
                let bytes = &chunk.bytes()[..piece.len];
                file.write_at(bytes, piece.offset).map_err(failed)?;
            }
            outcome => outcome?,
        }
        Ok(chunk)
    }

    fn wait_for_one(&mut self) -> Result<(), Error> {
        let chunk = self.take_done()?;
        self.stream.give_back(chunk);
        Ok(())
    }

    /// Waits for abandoned writes: they would take room after the file is gone.
    fn end_writes(&mut self) {
        for (pending, _) in self.in_flight.drain(..) {
            let _ = pending.wait();
        }
    }

    fn check(&self) -> Result<(), Error> {
        match self.failed {
            None => Ok(()),
            Some(Failure::Full) => Err(Error::Full {
                needed: FRAME_BYTES as u64,
            }),
            Some(Failure::Other) => Err(Error::Io {
                file: self.file.name.clone(),
                source: io::Error::other("an earlier write to this file has failed"),
            }),
        }
    }

    fn note<T>(&mut self, outcome: Result<T, Error>) -> Result<T, Error> {
        match &outcome {
            Ok(_) => {}
            Err(Error::Full { .. }) => self.failed = Some(Failure::Full),
            Err(_) => self.failed = Some(Failure::Other),
        }
        outcome
    }
}

impl BlockSink for BlockWriter {
    fn put(&mut self, payload: &[u8]) -> Result<(), Error> {
        assert!(
            payload.len() <= BLOCK_BYTES,
            "a block holds at most {BLOCK_BYTES} bytes"
        );
        self.check()?;
        let outcome = self.append(payload);
        self.note(outcome)
    }
}

impl Drop for BlockWriter {
    fn drop(&mut self) {
        if self.is_of_use && self.failed.is_none() {
            return;
        }
        self.end_writes();
        self.file.folder.abandon(&self.file.name);
    }
}
