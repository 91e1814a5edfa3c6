//! Reading blocks, ahead of their use, and checking every byte.
//!
//! A reader knows from the start which blocks are wanted. It requests them in chunks, as many
//! blocks to a chunk as fit, neighbours in one read, and checks each block just before it is used.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;

use super::Kind;
use super::buffers::{Aligned, Chunk, Stream};
use super::folder::{Folder, OpenFile};
use super::frame::{self, FRAME_BYTES, FRAME_HEADER_BYTES, HEADER_BYTES, Identity};
use super::medium::SECTOR_BYTES;
use super::threads::{Job, Pending, Work, do_now};
use crate::{BlockReader, BlockSource, Error};

/// A file of blocks; clones are the same file.
#[derive(Clone)]
pub struct BlockFile {
    file: OpenFile,
    identity: Identity,
    n_blocks: u32,
}

impl BlockFile {
    /// The file called `name`, which must be of this kind and have at least `n_blocks` blocks.
    pub fn open(folder: &Folder, name: &str, kind: Kind, n_blocks: u32) -> Result<Self, Error> {
        let file = folder.open_file(name)?;
        let least = match n_blocks.checked_sub(1) {
            Some(last) => frame::offset_of(last) + SECTOR_BYTES as u64,
            None => HEADER_BYTES as u64,
        };
        if file.len() < least {
            return Err(Error::damaged(
                name,
                file.len(),
                format!("the file ends before its {n_blocks} blocks do"),
            ));
        }
        let mut sector = Aligned::new(HEADER_BYTES);
        folder
            .usage()
            .waiting(|| file.file.read_at(sector.bytes_mut(), 0))
            .map_err(|e| read_error(name, 0, e))?;
        folder.usage().count_read(HEADER_BYTES);
        let identity = frame::read_header(sector.bytes(), name, kind, folder.search_id())?;
        Ok(Self::new(file, identity, n_blocks))
    }

    pub(crate) fn into_parts(self) -> (OpenFile, Identity) {
        (self.file, self.identity)
    }

    pub(crate) fn new(file: OpenFile, identity: Identity, n_blocks: u32) -> Self {
        Self {
            file,
            identity,
            n_blocks,
        }
    }

    /// Name of the file in its folder.
    pub fn name(&self) -> &str {
        &self.file.name
    }

    pub(crate) fn folder(&self) -> &Folder {
        &self.file.folder
    }

    /// Number of blocks.
    pub fn n_blocks(&self) -> u32 {
        self.n_blocks
    }

    /// Length of the file in bytes.
    pub fn disk_bytes(&self) -> u64 {
        self.file.len()
    }

    /// Deletes the file, unless a manifest may list it.
    pub fn abandon(&self) {
        self.file.folder.abandon(&self.file.name);
    }

    /// Replaces the content of `payload` by a block.
    pub fn get(&self, number: u32, payload: &mut Vec<u8>) -> Result<(), Error> {
        let (offset, len) = self.place(number)?;
        let mut bytes = Aligned::new(len);
        self.fetch(bytes.bytes_mut(), offset)?;
        payload.clear();
        payload.extend_from_slice(frame::read_frame(bytes.bytes(), &self.identity, number)?);
        Ok(())
    }

    /// Offset and length of a block.
    fn place(&self, number: u32) -> Result<(u64, usize), Error> {
        let offset = frame::offset_of(number);
        // A write that a crash interrupted may end anywhere.
        let rest = self.file.len().saturating_sub(offset) / SECTOR_BYTES as u64;
        if number >= self.n_blocks || rest == 0 {
            return Err(Error::damaged(
                &self.file.name,
                offset,
                format!("there is no block {number}"),
            ));
        }
        let len = rest.saturating_mul(SECTOR_BYTES as u64);
        Ok((offset, len.min(FRAME_BYTES as u64) as usize))
    }

    /// Where the last block ends; what follows it in the file is ignored.
    pub(crate) fn end(&self) -> Result<u64, Error> {
        let Some(last) = self.n_blocks.checked_sub(1) else {
            return Ok(HEADER_BYTES as u64);
        };
        let (offset, len) = self.place(last)?;
        let mut bytes = Aligned::new(len);
        self.fetch(bytes.bytes_mut(), offset)?;
        let len = frame::frame_len(bytes.bytes());
        frame::read_frame(&bytes.bytes()[..len], &self.identity, last)?;
        Ok(offset + len as u64)
    }

    /// As [`BlockSource::read`], by a reader that keeps the file open.
    pub fn stream(&self, wanted: Vec<Range<u32>>) -> Box<dyn BlockReader> {
        let mut reader = Reader {
            file: self.clone(),
            stream: Stream::new(self.file.folder.pool()),
            wanted: wanted.into(),
            pending: VecDeque::new(),
            current: None,
            last: None,
        };
        reader.read_ahead();
        Box::new(reader)
    }

    fn fetch(&self, bytes: &mut [u8], offset: u64) -> Result<(), Error> {
        let usage = self.file.folder.usage();
        usage.count_read(bytes.len());
        usage
            .waiting(|| self.file.file.read_at(bytes, offset))
            .map_err(|e| read_error(&self.file.name, offset, e))
    }
}

impl BlockSource for BlockFile {
    fn read(&self, wanted: Vec<Range<u32>>) -> Box<dyn BlockReader + '_> {
        self.stream(wanted)
    }
}

fn read_error(name: &str, offset: u64, error: io::Error) -> Error {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        return Error::damaged(name, offset, "the file has become shorter");
    }
    Error::from_io(name, 0, error)
}

struct Reader {
    file: BlockFile,
    stream: Stream,
    /// Not requested yet.
    wanted: VecDeque<Range<u32>>,
    pending: VecDeque<(Pending, Vec<Slot>)>,
    current: Option<(Chunk, std::vec::IntoIter<Slot>)>,
    /// The last block, and where its payload is in the current chunk.
    last: Option<(u32, Range<usize>)>,
}

/// Where a block lies in a chunk.
struct Slot {
    number: u32,
    range: Range<usize>,
}

impl Reader {
    /// Requests blocks while there is memory for them.
    fn read_ahead(&mut self) {
        let in_use = usize::from(self.current.is_some());
        while !self.wanted.is_empty() && self.pending.len() + in_use < self.stream.share() {
            let Some(chunk) = self.stream.take() else {
                return;
            };
            // An impossible block is reported when its turn comes.
            if self.ask(chunk, false).is_err() {
                return;
            }
        }
    }

    /// Requests as many blocks as fit into `chunk`; reads them on this thread if they are wanted
    /// `now`.
    fn ask(&mut self, chunk: Chunk, now: bool) -> Result<(), Error> {
        let mut pieces: Vec<(u64, Range<usize>)> = Vec::new();
        let mut slots = Vec::with_capacity(chunk.n_frames());
        let mut filled = 0;
        while slots.len() < chunk.n_frames() {
            let Some(range) = self.wanted.front_mut() else {
                break;
            };
            let Some(number) = range.next() else {
                self.wanted.pop_front();
                continue;
            };
            let (offset, len) = match self.file.place(number) {
                Ok(place) => place,
                // What comes before it is returned first.
                Err(error) => {
                    range.start = number;
                    if slots.is_empty() {
                        self.stream.give_back(chunk);
                        return Err(error);
                    }
                    break;
                }
            };
            let place = filled..filled + len;
            filled += len;
            match pieces.last_mut() {
                Some((start, piece)) if *start + piece.len() as u64 == offset => {
                    piece.end = place.end;
                }
                _ => pieces.push((offset, place.clone())),
            }
            slots.push(Slot {
                number,
                range: place,
            });
        }
        if slots.is_empty() {
            self.stream.give_back(chunk);
            return Ok(());
        }
        let folder = &self.file.file.folder;
        folder.usage().count_read(filled);
        let job = Job {
            file: self.file.file.file.clone(),
            chunk,
            work: Work::Read(pieces),
        };
        let pending = if now {
            folder.usage().waiting(|| do_now(job))
        } else {
            folder.threads().submit(job)
        };
        self.pending.push_back((pending, slots));
        Ok(())
    }

    /// Makes the next chunk the current one; false when there is none.
    fn advance(&mut self) -> Result<bool, Error> {
        self.last = None;
        if let Some((chunk, _)) = self.current.take() {
            self.stream.give_back(chunk);
        }
        if self.pending.is_empty() {
            if self.wanted.is_empty() {
                return Ok(false);
            }
            let chunk = self.stream.take_any();
            // With a single block a stream would only wait for the thread.
            let is_own = chunk.is_own();
            self.ask(chunk, is_own)?;
            self.read_ahead();
        }
        let Some((pending, slots)) = self.pending.pop_front() else {
            return Ok(false);
        };
        let name = &self.file.file.name;
        let offset = slots
            .first()
            .map_or(0, |slot| frame::offset_of(slot.number));
        let done = self.file.file.folder.usage().waiting(|| pending.wait());
        let (chunk, outcome) = done.map_err(|e| read_error(name, offset, e))?;
        outcome.map_err(|e| read_error(name, offset, e))?;
        self.current = Some((chunk, slots.into_iter()));
        // Only now, so that it can use the chunk returned above.
        self.read_ahead();
        Ok(true)
    }
}

impl BlockReader for Reader {
    fn next(&mut self) -> Result<Option<(u32, &[u8])>, Error> {
        loop {
            if let Some((_, slots)) = &mut self.current
                && let Some(slot) = slots.next()
            {
                let chunk = self
                    .current
                    .as_ref()
                    .map_or(&[][..], |(chunk, _)| chunk.bytes());
                let bytes = &chunk[slot.range.clone()];
                let payload = frame::read_frame(bytes, &self.file.identity, slot.number)?;
                let from = slot.range.start + FRAME_HEADER_BYTES;
                self.last = Some((slot.number, from..from + payload.len()));
                return Ok(Some((slot.number, payload)));
            }
            if !self.advance()? {
                return Ok(None);
            }
        }
    }

    fn last(&self) -> Option<(u32, &[u8])> {
        let (number, payload) = self.last.as_ref()?;
        let (chunk, _) = self.current.as_ref()?;
        Some((*number, &chunk.bytes()[payload.clone()]))
    }
}
