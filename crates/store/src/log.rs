//! Records of states in the order of their ordinals: what is still to be expanded and, with a
//! folder, what a later run needs to resume.
//!
//! Records come and go in *pieces*, whole results of one block of work, so that many threads can
//! make them and nothing is copied. The caller defines the records of a piece (for states see
//! [`write_records`](crate::write_records)). A piece has the version of its keys' layout.
//!
//! Without a folder all pieces are in memory. With one, pieces are written where memory would pass
//! its limit, or all of them where a later run may need them; and they are read back in the order
//! in which they were appended, many at a time. Pieces that were read for the last time are
//! dropped, and so are files that hold nothing else.

mod segments;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use segments::{Content, LogFiles, Place, Segment, StoredPiece, damaged_block};

use crate::disk::{BlockWriter, Folder, Kind};
use crate::{BLOCK_BYTES, BlockSource, Error};

pub use segments::SegmentEntry;

/// An append-only sequence of records whose front can be dropped.
#[derive(Default)]
pub struct Log {
    pieces: VecDeque<Piece>,
    end: u64,
    /// All pieces before this record were evicted.
    evicted_end: u64,
    memory_bytes: u64,
    disk: Option<LogFiles>,
}

/// Consecutive records of one layout.
struct Piece {
    first: u64,
    len: u32,
    version: u32,
    /// The records, while they are in memory.
    bytes: Option<Arc<[u8]>>,
    place: Option<Place>,
    /// Whether it stands for several small pieces of a block on disk, which are told apart when they are
    /// read.
    is_merged: bool,
}

impl Piece {
    /// Adds `next`, the piece behind it, if both are small, evicted and in one block.
    fn merge(&mut self, next: &Piece) -> bool {
        let is_small = |piece: &Piece| piece.is_merged || piece.len <= SMALL_LEN;
        let is_evicted = |piece: &Piece| piece.bytes.is_none() && piece.place.is_some();
        let merges = (is_evicted(self) && is_evicted(next))
            && (self.place == next.place && is_small(self) && is_small(next));
        if merges {
            self.len += next.len;
            self.is_merged = true;
        }
        merges
    }

    /// Bytes of its records in memory.
    fn memory_bytes(&self) -> usize {
        self.bytes.as_ref().map_or(0, |bytes| bytes.len())
    }
}

/// Some records of a piece.
#[derive(Clone, Debug)]
pub struct Slice {
    /// Version of the layout.
    pub version: u32,
    /// Which records of the piece.
    pub records: Range<usize>,
    /// All of the piece.
    pub bytes: Arc<[u8]>,
}

impl Slice {
    /// Number of records.
    pub fn n_records(&self) -> usize {
        self.records.len()
    }
}

/// What a log with a folder keeps in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retention {
    /// Everything; all of it is written as well.
    AllAndWrite,
    /// This many bytes; what does not fit is written.
    Bytes(u64),
    /// This many bytes; everything is written.
    BytesAndWrite(u64),
}

impl Retention {
    fn limit(self) -> u64 {
        match self {
            Retention::AllAndWrite => u64::MAX,
            Retention::Bytes(bytes) | Retention::BytesAndWrite(bytes) => bytes,
        }
    }

    fn writes_all(self) -> bool {
        !matches!(self, Retention::Bytes(_))
    }
}

/// Pieces of so few records are merged once they are evicted: otherwise a log of thin layers would take
/// more memory for pieces than it has records.
const SMALL_LEN: u32 = 64;
/// Room for fewer pieces is not worth freeing.
const MANY_PIECES: usize = 1 << 10;
/// Memory for a piece besides its records: itself, the counters in front of these, and what the
/// system's allocator adds.
const PIECE_BYTES: u64 = (size_of::<Piece>() + 32) as u64;
/// In a block, before the bytes of each piece: ordinal of the first record, number of records,
/// version of the layout, number of bytes.
const HEAD_BYTES: usize = 8 + 4 + 4 + 4;
/// A larger piece does not fit a block.
pub const MAX_PIECE_BYTES: usize = BLOCK_BYTES - HEAD_BYTES;
/// Two pieces that are no larger fit a block.
pub const HALF_PIECE_BYTES: usize = BLOCK_BYTES / 2 - HEAD_BYTES;

impl Log {
    /// An empty log.
    pub fn new() -> Self {
        Self::default()
    }

    /// Attaches a folder. Of what was appended before, the first records stay in memory as far as
    /// `keep` allows; the others are written.
    pub fn attach(&mut self, folder: Folder, keep: Retention) -> Result<(), Error> {
        self.disk = Some(LogFiles {
            folder,
            keep,
            segments: VecDeque::new(),
            next_segment: 0,
            payload: Vec::new(),
            ahead: None,
        });
        let mut n_bytes = 0;
        for at in 0..self.pieces.len() {
            n_bytes += Self::bytes_for(self.pieces[at].memory_bytes());
            if keep.writes_all() || n_bytes > keep.limit() {
                self.write_piece(at)?;
            }
        }
        Ok(())
    }

    /// Changes what is kept in memory, of later records and of those that are on disk.
    pub fn set_retention(&mut self, keep: Retention) {
        let Some(disk) = &mut self.disk else {
            return;
        };
        disk.keep = keep;
        let underway = disk.payload_place();
        let mut n_bytes = 0;
        for piece in &mut self.pieces {
            n_bytes += Self::bytes_for(piece.memory_bytes());
            if n_bytes > keep.limit() && piece.place.is_some() && piece.place != underway {
                self.memory_bytes -= piece.memory_bytes() as u64;
                piece.bytes = None;
            }
        }
    }

    /// Whether there is a folder.
    pub fn is_attached(&self) -> bool {
        self.disk.is_some()
    }

    /// Reopens a log from its files.
    pub fn reopen(
        folder: Folder,
        keep: Retention,
        entries: &[SegmentEntry],
    ) -> Result<Self, Error> {
        let mut log = Log::new();
        let mut disk = LogFiles {
            folder,
            keep,
            segments: VecDeque::new(),
            next_segment: 0,
            payload: Vec::new(),
            ahead: None,
        };
        for entry in entries {
            // What a crash left behind the last block is truncated.
            let n_blocks = entry.n_blocks;
            let file =
                BlockWriter::reopen(&disk.folder, &entry.name, Kind::Log, n_blocks)?.finish()?;
            let number = disk.next_segment;
            disk.next_segment += 1;
            let mut reader = file.read(std::iter::once(0..entry.n_blocks).collect());
            while let Some((block, payload)) = reader.next()? {
                let place = Place {
                    segment: number,
                    block,
                };
                for found in StoredPiece::all(payload) {
                    let found = found.ok_or_else(|| Error::Damaged {
                        file: entry.name.clone(),
                        offset: u64::from(block),
                        what: "a block of the log does not hold whole pieces".to_owned(),
                    })?;
                    if log.pieces.is_empty() {
                        log.end = found.first;
                    }
                    if found.first != log.end {
                        return Err(Error::Damaged {
                            file: entry.name.clone(),
                            offset: u64::from(block),
                            what: format!("record {} is missing", log.end),
                        });
                    }
                    let piece = Piece {
                        first: found.first,
                        len: found.len,
                        version: found.version,
                        bytes: None,
                        place: Some(place),
                        is_merged: false,
                    };
                    log.end += u64::from(found.len);
                    if !(log.pieces.back_mut()).is_some_and(|last| last.merge(&piece)) {
                        log.pieces.push_back(piece);
                        log.memory_bytes += PIECE_BYTES;
                    }
                }
            }
            drop(reader);
            disk.segments.push_back(Segment {
                number,
                end: log.end,
                is_full: true,
                content: Content::Ended(file),
            });
        }
        log.disk = Some(disk);
        Ok(log)
    }

    /// Number of records ever appended.
    pub fn len(&self) -> u64 {
        self.end
    }

    /// Number of the first record that was not dropped.
    pub fn first(&self) -> u64 {
        self.pieces.front().map_or(self.end, |piece| piece.first)
    }

    /// Whether nothing was ever appended.
    pub fn is_empty(&self) -> bool {
        self.end == 0
    }

    /// Begins at `ordinal`; nothing must have been appended.
    pub fn begin_at(&mut self, ordinal: u64) {
        assert!(self.pieces.is_empty(), "a log begins once");
        self.end = ordinal;
    }

    /// Appends `len` records that lie in `bytes`, at most [`MAX_PIECE_BYTES`] where there is a
    /// folder.
    pub fn append(&mut self, bytes: Arc<[u8]>, len: usize, version: u32) -> Result<(), Error> {
        if len == 0 {
            return Ok(());
        }
        self.memory_bytes += Self::bytes_for(bytes.len());
        self.pieces.push_back(Piece {
            first: self.end,
            len: len as u32,
            version,
            bytes: Some(bytes),
            place: None,
            is_merged: false,
        });
        self.end += len as u64;
        match &self.disk {
            Some(disk) if disk.keep.writes_all() || self.memory_bytes > disk.keep.limit() => {
                self.write_piece(self.pieces.len() - 1)
            }
            _ => Ok(()),
        }
    }

    /// The `len` records from `first` on, in order. They must not have been dropped.
    pub fn read(&mut self, first: u64, len: usize) -> Result<Vec<Slice>, Error> {
        let mut slices = Vec::new();
        let (mut first, mut len) = (first, len);
        while len > 0 {
            let at = self.single_piece_with(first)?;
            let (piece_first, piece_len, version) = {
                let piece = &self.pieces[at];
                (piece.first, piece.len as usize, piece.version)
            };
            let bytes = self.bytes_of(at)?;
            let skipped = (first - piece_first) as usize;
            let now = len.min(piece_len - skipped);
            slices.push(Slice {
                version,
                records: skipped..skipped + now,
                bytes,
            });
            (first, len) = (first + now as u64, len - now);
        }
        Ok(slices)
    }

    /// The whole piece that has the record `first`, which must be its first one.
    pub fn read_piece(&mut self, first: u64) -> Result<Slice, Error> {
        let at = self.single_piece_with(first)?;
        let bytes = self.bytes_of(at)?;
        let piece = &self.pieces[at];
        assert_eq!(piece.first, first, "pieces are read as a whole");
        Ok(Slice {
            version: piece.version,
            records: 0..piece.len as usize,
            bytes,
        })
    }

    /// Frees the memory of the piece that has the record `first`, if it is on disk, from where it
    /// can be read again.
    pub fn evict_piece(&mut self, first: u64) {
        let at = self.piece_with(first);
        let underway = self.disk.as_ref().and_then(LogFiles::payload_place);
        if let Some(piece) = self.pieces.get_mut(at)
            && piece.place.is_some()
            && piece.place != underway
            && let Some(bytes) = piece.bytes.take()
        {
            self.memory_bytes -= bytes.len() as u64;
            self.merge_evicted(at..at + 1);
        }
    }

    /// Frees the memory of all pieces before `ordinal` that are on disk, from where they can be
    /// read again.
    pub fn evict_before(&mut self, ordinal: u64) {
        let underway = self.disk.as_ref().and_then(LogFiles::payload_place);
        let from = self.piece_with(self.evicted_end);
        let mut to = from;
        let mut is_first_row = true;
        for piece in self.pieces.range_mut(from..) {
            let end = piece.first + u64::from(piece.len);
            if end > ordinal {
                break;
            }
            to += 1;
            let is_on_disk = piece.place.is_some() && piece.place != underway;
            if is_on_disk && let Some(bytes) = piece.bytes.take() {
                self.memory_bytes -= bytes.len() as u64;
            }
            // A long log is not looked through again from its start.
            is_first_row &= is_on_disk;
            if is_first_row {
                self.evicted_end = end;
            }
        }
        self.merge_evicted(from..to);
    }

    /// Merges the pieces in `range` with those before them, as far as they are small and evicted.
    fn merge_evicted(&mut self, range: Range<usize>) {
        let underway = self.disk.as_ref().and_then(LogFiles::payload_place);
        // From the last one on, so that places before it stay. Mostly there are few pieces behind them
        // or few before them, and little is moved.
        for at in range.rev() {
            let [Some(before), Some(piece)] =
                [at.checked_sub(1), Some(at)].map(|at| at.and_then(|at| self.pieces.get(at)))
            else {
                continue;
            };
            if piece.place == underway {
                continue;
            }
            let mut merged = Piece {
                bytes: before.bytes.clone(),
                ..*before
            };
            if merged.merge(piece) {
                self.pieces[at - 1] = merged;
                self.pieces.remove(at);
                self.memory_bytes -= PIECE_BYTES;
            }
        }
        let len = self.pieces.len().max(MANY_PIECES);
        if self.pieces.capacity() > 4 * len {
            self.pieces.shrink_to(2 * len);
        }
    }

    /// The piece that has the record `ordinal`, told apart from others of its block.
    fn single_piece_with(&mut self, ordinal: u64) -> Result<usize, Error> {
        let at = self.piece_with(ordinal);
        if !self.pieces[at].is_merged {
            return Ok(at);
        }
        self.bytes_of(at)?;
        Ok(self.piece_with(ordinal))
    }

    /// Drops the records before `ordinal`, as far as they are whole pieces, but not their files.
    pub fn drop_before(&mut self, ordinal: u64) {
        while let Some(piece) = self.pieces.front() {
            if piece.first + u64::from(piece.len) > ordinal {
                break;
            }
            let n_bytes = piece.bytes.as_ref().map_or(0, |bytes| bytes.len());
            self.memory_bytes -= Self::bytes_for(n_bytes);
            self.pieces.pop_front();
        }
    }

    /// Drops the records before `ordinal`, as far as they are whole pieces. Files are deleted after
    /// the next manifest.
    pub fn retire_before(&mut self, ordinal: u64) -> Result<(), Error> {
        self.drop_before(ordinal);
        let Some(disk) = &mut self.disk else {
            return Ok(());
        };
        let is_done = |segment: &mut Segment| segment.is_full && segment.end <= ordinal;
        while let Some(segment) = disk.segments.pop_front_if(is_done) {
            // No reader may have it open.
            disk.ahead
                .take_if(|ahead| ahead.next.segment == segment.number);
            segment.discard(&disk.folder)?;
        }
        Ok(())
    }

    /// Appends all records of `later`, a log that begins where this one ends, which is then discarded.
    ///
    /// They are copied: there may be very many such logs, each with few records, and each would leave a
    /// file of its own.
    pub fn extend(&mut self, mut later: Log) -> Result<(), Error> {
        let mut next = later.first();
        assert_eq!(next, self.end, "a log is continued where it ends");
        while next < later.len() {
            let piece = later.read_piece(next)?;
            later.evict_piece(next);
            next += piece.n_records() as u64;
            self.append(Arc::clone(&piece.bytes), piece.n_records(), piece.version)?;
        }
        later.discard()
    }

    /// Writes and syncs all records, and lists the files for a manifest. Only for a log that writes
    /// everything.
    pub fn commit(&mut self) -> Result<Vec<SegmentEntry>, Error> {
        self.end_block()?;
        let Some(disk) = &mut self.disk else {
            return Ok(Vec::new());
        };
        let mut entries = Vec::new();
        for segment in &mut disk.segments {
            entries.push(match &mut segment.content {
                Content::Written(writer) => {
                    writer.sync()?;
                    SegmentEntry {
                        name: writer.name().to_owned(),
                        n_blocks: writer.n_blocks(),
                    }
                }
                Content::Ended(file) => SegmentEntry {
                    name: file.name().to_owned(),
                    n_blocks: file.n_blocks(),
                },
            });
        }
        Ok(entries)
    }

    /// Drops everything, files included.
    pub fn discard(mut self) -> Result<(), Error> {
        if let Some(disk) = &mut self.disk {
            disk.ahead = None;
            let mut segments = disk.segments.drain(..);
            segments.try_for_each(|segment| segment.discard(&disk.folder))?;
        }
        Ok(())
    }

    /// Memory held, in bytes.
    pub fn data_bytes(&self) -> u64 {
        let payload = self.disk.as_ref().map_or(0, |disk| disk.payload.capacity());
        let spare = (self.pieces.capacity() - self.pieces.len()) * size_of::<Piece>();
        self.memory_bytes + payload as u64 + spare as u64
    }

    /// Memory that a piece of `n_bytes` takes.
    pub fn bytes_for(n_bytes: usize) -> u64 {
        PIECE_BYTES + n_bytes as u64
    }

    fn piece_with(&self, ordinal: u64) -> usize {
        self.pieces
            .partition_point(|piece| piece.first + u64::from(piece.len) <= ordinal)
    }

    /// Adds a piece to the block in progress; writes that first if it is full.
    fn write_piece(&mut self, at: usize) -> Result<(), Error> {
        let piece = &self.pieces[at];
        let Some(bytes) = piece.bytes.clone() else {
            return Ok(());
        };
        assert!(bytes.len() <= MAX_PIECE_BYTES, "a piece must fit a block");
        let (first, len, version) = (piece.first, piece.len, piece.version);
        let Some(disk) = &self.disk else {
            return Ok(());
        };
        if disk.payload.len() + HEAD_BYTES + bytes.len() > BLOCK_BYTES {
            self.end_block()?;
        }
        let Some(disk) = &mut self.disk else {
            return Ok(());
        };
        let place = disk.place_of_payload(first)?;
        disk.payload.extend(first.to_le_bytes());
        disk.payload.extend(len.to_le_bytes());
        disk.payload.extend(version.to_le_bytes());
        disk.payload.extend((bytes.len() as u32).to_le_bytes());
        disk.payload.extend_from_slice(&bytes);
        disk.note_end(first + u64::from(len));
        self.pieces[at].place = Some(place);
        Ok(())
    }

    /// Writes the block in progress, and drops its pieces' bytes where memory is over its limit.
    fn end_block(&mut self) -> Result<(), Error> {
        let Some(disk) = &mut self.disk else {
            return Ok(());
        };
        if disk.payload.is_empty() {
            return Ok(());
        }
        let place = disk.put_payload()?;
        let limit = disk.keep.limit();
        for piece in self.pieces.iter_mut().rev() {
            match piece.place {
                Some(its) if its.segment == place.segment && its.block == place.block => {}
                // The piece that did not fit this block.
                None => continue,
                Some(_) => break,
            }
            if self.memory_bytes > limit
                && let Some(bytes) = piece.bytes.take()
            {
                self.memory_bytes -= bytes.len() as u64;
            }
        }
        Ok(())
    }

    /// The records of a piece, read together with all of its block if they are not in memory.
    fn bytes_of(&mut self, at: usize) -> Result<Arc<[u8]>, Error> {
        if let Some(bytes) = &self.pieces[at].bytes {
            return Ok(Arc::clone(bytes));
        }
        let place = self.pieces[at]
            .place
            .expect("what is not in memory is on disk");
        self.evicted_end = self.evicted_end.min(self.pieces[at].first);
        let disk = self.disk.as_mut().expect("what is on disk has a folder");
        let ahead = disk.ahead_at(place)?;
        let mut at_piece = at;
        let Some((block, payload)) = ahead.reader.next()? else {
            return Err(damaged_block(&ahead.file, place.block));
        };
        ahead.next.block = block + 1;
        for found in StoredPiece::all(payload) {
            let Some(found) = found else {
                return Err(damaged_block(&ahead.file, block));
            };
            // The block may begin with pieces that were dropped, or before `at`.
            if found.first < self.pieces[at].first {
                continue;
            }
            // Those between two that were written may be in memory only.
            while (self.pieces.get(at_piece)).is_some_and(|piece| piece.first < found.first) {
                at_piece += 1;
            }
            // Of a merged piece this is the first one.
            if let Some(piece) = self.pieces.get_mut(at_piece)
                && piece.is_merged
                && piece.first == found.first
            {
                if found.len < piece.len {
                    let single = Piece {
                        len: found.len,
                        version: found.version,
                        is_merged: false,
                        bytes: None,
                        ..*piece
                    };
                    piece.first += u64::from(found.len);
                    piece.len -= found.len;
                    self.pieces.insert(at_piece, single);
                    self.memory_bytes += PIECE_BYTES;
                } else {
                    piece.is_merged = false;
                    piece.version = found.version;
                }
            }
            let same = |piece: &&mut Piece| (piece.first, piece.len) == (found.first, found.len);
            let Some(piece) = self.pieces.get_mut(at_piece).filter(same) else {
                return Err(damaged_block(&ahead.file, block));
            };
            if piece.bytes.is_none() {
                piece.bytes = Some(found.bytes.into());
                self.memory_bytes += found.bytes.len() as u64;
            }
        }
        match &self.pieces[at].bytes {
            Some(bytes) => Ok(Arc::clone(bytes)),
            None => Err(damaged_block(&ahead.file, place.block)),
        }
    }
}

/// The error for a piece of a log that is not what was written.
pub fn damaged_log(of: &str) -> Error {
    Error::Damaged {
        file: format!("the log of {of}"),
        offset: 0,
        what: "a piece is not what was written".to_owned(),
    }
}
