//! The files of a log.
//!
//! Pieces are collected in a block, and blocks written to one file after the other. A file is deleted
//! when its last record is dropped. Reading is sequential and ahead of its use.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::Retention;
use crate::disk::{BlockFile, BlockWriter, Folder, Kind};
use crate::{BlockReader, BlockSink, Error};

/// The part of a log that is on disk.
pub(super) struct LogFiles {
    pub(super) folder: Folder,
    pub(super) keep: Retention,
    pub(super) segments: VecDeque<Segment>,
    pub(super) next_segment: u64,
    /// The block in progress.
    pub(super) payload: Vec<u8>,
    pub(super) ahead: Option<Box<Ahead>>,
}

/// Where a piece lies on disk.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) segment: u64,
    pub(super) block: u32,
}

/// Blocks of a file that are being read.
pub(super) struct Ahead {
    pub(super) file: BlockFile,
    pub(super) reader: Box<dyn BlockReader>,
    /// The block that comes next.
    pub(super) next: Place,
}

/// A file of a log.
pub(super) struct Segment {
    pub(super) number: u64,
    pub(super) end: u64,
    /// Whether it is complete.
    pub(super) is_full: bool,
    pub(super) content: Content,
}

pub(super) enum Content {
    /// Blocks may still be in flight.
    Written(Box<BlockWriter>),
    Ended(BlockFile),
}

impl Segment {
    pub(super) fn n_blocks(&self) -> u32 {
        match &self.content {
            Content::Written(writer) => writer.n_blocks(),
            Content::Ended(file) => file.n_blocks(),
        }
    }

    /// Deletes the file.
    pub(super) fn discard(self, folder: &Folder) -> Result<(), Error> {
        match self.content {
            Content::Written(writer) => writer.discard(),
            Content::Ended(file) => folder.retire(file.name()),
        }
    }
}

/// A file of a log, as a manifest lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentEntry {
    /// Name of the file.
    pub name: String,
    /// Blocks in it.
    pub n_blocks: u32,
}

/// About how many files a log has; their lengths grow with it. A file stays until its last record
/// is dropped, so few large files would waste room; all are open, so there must not be many.
const N_SEGMENTS: u32 = 16;
/// Blocks of the shortest full file, and of the longest.
const MIN_SEGMENT_BLOCKS: u32 = 32;
const MAX_SEGMENT_BLOCKS: u32 = 1 << 14;

impl LogFiles {
    /// Place of the block in progress, unless it is empty.
    pub(super) fn payload_place(&self) -> Option<Place> {
        let segment = self.segments.back().filter(|_| !self.payload.is_empty())?;
        Some(Place {
            segment: segment.number,
            block: segment.n_blocks(),
        })
    }

    /// Place of the block in progress.
    pub(super) fn place_of_payload(&mut self, first: u64) -> Result<Place, Error> {
        if self.segments.back().is_none_or(|segment| segment.is_full) {
            let writer = BlockWriter::create(&self.folder, Kind::Log)?;
            self.segments.push_back(Segment {
                number: self.next_segment,
                end: first,
                is_full: false,
                content: Content::Written(Box::new(writer)),
            });
            self.next_segment += 1;
        }
        let segment = self.segments.back().expect("one is there");
        Ok(Place {
            segment: segment.number,
            block: segment.n_blocks(),
        })
    }

    pub(super) fn note_end(&mut self, end: u64) {
        if let Some(segment) = self.segments.back_mut() {
            segment.end = segment.end.max(end);
        }
    }

    pub(super) fn put_payload(&mut self) -> Result<Place, Error> {
        let n_blocks: u32 = self.segments.iter().map(Segment::n_blocks).sum();
        let segment = self.segments.back_mut().expect("a block has its file");
        let place = Place {
            segment: segment.number,
            block: segment.n_blocks(),
        };
        let Content::Written(writer) = &mut segment.content else {
            unreachable!("the last file is being written");
        };
        writer.put(&self.payload)?;
        self.payload.clear();
        let most = (n_blocks / N_SEGMENTS).clamp(MIN_SEGMENT_BLOCKS, MAX_SEGMENT_BLOCKS);
        if writer.n_blocks() >= most {
            writer.submit_rest()?;
            segment.is_full = true;
            self.end_before_last()?;
        }
        Ok(place)
    }

    /// Finishes the file before the last one, whose blocks had time to be written.
    pub(super) fn end_before_last(&mut self) -> Result<(), Error> {
        let writes_all = self.keep.writes_all();
        if let Some(segment) = self.segments.iter_mut().nth_back(1)
            && let Content::Written(writer) = &mut segment.content
        {
            if writes_all {
                writer.sync()?;
            }
            segment.content = Content::Ended(writer.written()?);
        }
        Ok(())
    }

    /// The reader, positioned so that the block at `place` comes next.
    pub(super) fn ahead_at(&mut self, place: Place) -> Result<&mut Ahead, Error> {
        let ahead = match self.ahead.take() {
            Some(ahead) if ahead.next == place && place.block < ahead.file.n_blocks() => ahead,
            _ => {
                let file = self.file(place.segment)?;
                let wanted = place.block..file.n_blocks();
                Box::new(Ahead {
                    reader: file.stream(std::iter::once(wanted).collect()),
                    file,
                    next: place,
                })
            }
        };
        Ok(self.ahead.insert(ahead))
    }

    pub(super) fn file(&mut self, number: u64) -> Result<BlockFile, Error> {
        let at = self
            .segments
            .partition_point(|segment| segment.number < number);
        Ok(match &mut self.segments[at].content {
            Content::Written(writer) => writer.written()?,
            Content::Ended(file) => file.clone(),
        })
    }
}

/// A piece as it is found in a block.
pub(super) struct StoredPiece<'a> {
    pub(super) first: u64,
    pub(super) len: u32,
    pub(super) version: u32,
    pub(super) bytes: &'a [u8],
}

impl<'a> StoredPiece<'a> {
    /// The pieces of a block; `None` where they end in the middle of one.
    pub(super) fn all(mut payload: &'a [u8]) -> impl Iterator<Item = Option<StoredPiece<'a>>> {
        std::iter::from_fn(move || {
            if payload.is_empty() {
                return None;
            }
            let found = StoredPiece::split_off(&mut payload);
            if found.is_none() {
                payload = &[];
            }
            Some(found)
        })
    }

    pub(super) fn split_off(payload: &mut &'a [u8]) -> Option<StoredPiece<'a>> {
        let (first, rest) = payload.split_first_chunk::<8>()?;
        let (len, rest) = rest.split_first_chunk::<4>()?;
        let (version, rest) = rest.split_first_chunk::<4>()?;
        let (n_bytes, rest) = rest.split_first_chunk::<4>()?;
        let (bytes, rest) = rest.split_at_checked(u32::from_le_bytes(*n_bytes) as usize)?;
        *payload = rest;
        Some(StoredPiece {
            first: u64::from_le_bytes(*first),
            len: u32::from_le_bytes(*len),
            version: u32::from_le_bytes(*version),
            bytes,
        })
    }
}

pub(super) fn damaged_block(file: &BlockFile, block: u32) -> Error {
    Error::Damaged {
        file: file.name().to_owned(),
        offset: u64::from(block),
        what: "a block of the log does not hold the expected pieces".to_owned(),
    }
}
