//! Records of states in the order of their ordinals: what is still to be expanded, and with a
//! folder what a later run needs to go on.
//!
//! Records come and go in *pieces*, whole results of one block of work, so that many threads can
//! make them and nothing is copied. How records lie in a piece is known to those who append them
//! (for states see [`write_records`](crate::write_records)). A piece remembers in which layout its
//! keys are.
//!
//! Without a folder all pieces are in memory. With one, pieces are written where memory would pass
//! its limit, or all of them where a later run may need them; and they are read back in the order
//! in which they were appended, many at a time. Pieces that were read for the last time are
//! forgotten, and so are the files that hold nothing else.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::disk::{BlockFile, BlockWriter, Folder, Kind};
use crate::{BLOCK_BYTES, BlockReader, BlockSink, BlockSource, Error};

/// An append-only sequence of records of which the front can be forgotten.
#[derive(Default)]
pub struct Log {
    pieces: VecDeque<Piece>,
    end: u64,
    memory_bytes: u64,
    disk: Option<OnDisk>,
}

/// Consecutive records of one layout.
struct Piece {
    first: u64,
    len: u32,
    version: u32,
    /// The records, while they are in memory.
    bytes: Option<Arc<[u8]>>,
    place: Option<Place>,
}

/// Where a piece lies on disk.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Place {
    segment: u64,
    block: u32,
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

/// What goes on between a log and its folder.
struct OnDisk {
    folder: Folder,
    keep: Keep,
    segments: VecDeque<Segment>,
    next_segment: u64,
    /// The block that is being put together.
    payload: Vec<u8>,
    ahead: Option<Box<Ahead>>,
}

/// Blocks of a file that are being read.
struct Ahead {
    file: BlockFile,
    reader: Box<dyn BlockReader>,
    /// The block that comes next.
    next: Place,
}

/// What a log with a folder keeps in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Everything; all of it is written besides.
    AllAndWrite,
    /// So many bytes; what does not fit is written.
    Bytes(u64),
    /// So many bytes; everything is written.
    BytesAndWrite(u64),
}

impl Keep {
    fn limit(self) -> u64 {
        match self {
            Keep::AllAndWrite => u64::MAX,
            Keep::Bytes(bytes) | Keep::BytesAndWrite(bytes) => bytes,
        }
    }

    fn writes_all(self) -> bool {
        !matches!(self, Keep::Bytes(_))
    }
}

/// A file of a log.
struct Segment {
    number: u64,
    end: u64,
    /// Whether no more is appended to it.
    is_full: bool,
    content: Content,
}

enum Content {
    /// Blocks may be on their way.
    Written(Box<BlockWriter>),
    Ended(BlockFile),
}

impl Segment {
    fn n_blocks(&self) -> u32 {
        match &self.content {
            Content::Written(writer) => writer.n_blocks(),
            Content::Ended(file) => file.n_blocks(),
        }
    }

    /// Gives up the file.
    fn discard(self, folder: &Folder) -> Result<(), Error> {
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

/// Files of logs.
pub const LOG: Kind = Kind(*b"logs");

/// What a piece takes in memory besides its records.
const PIECE_BYTES: u64 = (size_of::<Piece>() + 16) as u64;
/// In a block, before the bytes of each piece: ordinal of the first record, number of records,
/// version of the layout, number of bytes.
const HEAD_BYTES: usize = 8 + 4 + 4 + 4;
/// A log has about so many files, whose lengths grow with it. A file stays until the last of its
/// records is given up, so few of them take room without need; all are open, so many must not be.
const N_SEGMENTS: u32 = 16;
/// Blocks of the shortest full file, and of the longest.
const MIN_SEGMENT_BLOCKS: u32 = 32;
const MAX_SEGMENT_BLOCKS: u32 = 1 << 14;
/// A larger piece does not fit a block.
pub const MAX_PIECE_BYTES: usize = BLOCK_BYTES - HEAD_BYTES;
/// Two pieces that are no larger fit a block.
pub const HALF_PIECE_BYTES: usize = BLOCK_BYTES / 2 - HEAD_BYTES;

impl Log {
    /// An empty log.
    pub fn new() -> Self {
        Self::default()
    }

    /// Goes on with a folder. What was appended before stays in memory, and is written if
    /// everything shall be.
    pub fn attach(&mut self, folder: Folder, keep: Keep) -> Result<(), Error> {
        self.disk = Some(OnDisk {
            folder,
            keep,
            segments: VecDeque::new(),
            next_segment: 0,
            payload: Vec::new(),
            ahead: None,
        });
        if keep.writes_all() {
            for at in 0..self.pieces.len() {
                self.write_piece(at)?;
            }
        }
        Ok(())
    }

    /// Changes what is kept in memory of what comes from now on.
    pub fn set_keep(&mut self, keep: Keep) {
        if let Some(disk) = &mut self.disk {
            disk.keep = keep;
        }
    }

    /// Whether there is a folder.
    pub fn is_attached(&self) -> bool {
        self.disk.is_some()
    }

    /// Opens a log again that has what is in these files.
    pub fn reopen(folder: Folder, keep: Keep, entries: &[SegmentEntry]) -> Result<Self, Error> {
        let mut log = Log::new();
        let mut disk = OnDisk {
            folder,
            keep,
            segments: VecDeque::new(),
            next_segment: 0,
            payload: Vec::new(),
            ahead: None,
        };
        for entry in entries {
            // What a crash left behind the last block is cut off.
            let n_blocks = entry.n_blocks;
            let file = BlockWriter::reopen(&disk.folder, &entry.name, LOG, n_blocks)?.finish()?;
            let number = disk.next_segment;
            disk.next_segment += 1;
            let mut reader = file.read(std::iter::once(0..entry.n_blocks).collect());
            while let Some((block, payload)) = reader.next()? {
                let place = Place {
                    segment: number,
                    block,
                };
                for found in Found::all(payload) {
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
                    log.pieces.push_back(Piece {
                        first: found.first,
                        len: found.len,
                        version: found.version,
                        bytes: None,
                        place: Some(place),
                    });
                    log.memory_bytes += PIECE_BYTES;
                    log.end += u64::from(found.len);
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
        });
        self.end += len as u64;
        match &self.disk {
            Some(disk) if disk.keep.writes_all() || self.memory_bytes > disk.keep.limit() => {
                self.write_piece(self.pieces.len() - 1)
            }
            _ => Ok(()),
        }
    }

    /// The `len` records from `first` on, in order. They must not be forgotten.
    pub fn read(&mut self, first: u64, len: usize) -> Result<Vec<Slice>, Error> {
        let mut slices = Vec::new();
        let (mut first, mut len) = (first, len);
        let mut at = self.piece_with(first);
        while len > 0 {
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
            (first, len, at) = (first + now as u64, len - now, at + 1);
        }
        Ok(slices)
    }

    /// The whole piece that has the record `first`, which must be its first one.
    pub fn read_piece(&mut self, first: u64) -> Result<Slice, Error> {
        let at = self.piece_with(first);
        let bytes = self.bytes_of(at)?;
        let piece = &self.pieces[at];
        assert_eq!(piece.first, first, "pieces are read as a whole");
        Ok(Slice {
            version: piece.version,
            records: 0..piece.len as usize,
            bytes,
        })
    }

    /// Lets go of the memory of the piece that has the record `first`, if it is on disk: it can be
    /// read again.
    pub fn put_back(&mut self, first: u64) {
        let at = self.piece_with(first);
        if let Some(piece) = self.pieces.get_mut(at)
            && piece.place.is_some()
            && let Some(bytes) = piece.bytes.take()
        {
            self.memory_bytes -= bytes.len() as u64;
        }
    }

    /// Lets go of the memory of all pieces before `ordinal` that are on disk, from which they can be
    /// read again.
    pub fn put_back_before(&mut self, ordinal: u64) {
        let underway = self.disk.as_ref().and_then(OnDisk::payload_place);
        for piece in &mut self.pieces {
            if piece.first + u64::from(piece.len) > ordinal {
                break;
            }
            if piece.place.is_some()
                && piece.place != underway
                && let Some(bytes) = piece.bytes.take()
            {
                self.memory_bytes -= bytes.len() as u64;
            }
        }
    }

    /// Gives up the records before `ordinal`, as far as they are whole pieces, but not their files.
    pub fn release_before(&mut self, ordinal: u64) {
        while let Some(piece) = self.pieces.front() {
            if piece.first + u64::from(piece.len) > ordinal {
                break;
            }
            let n_bytes = piece.bytes.as_ref().map_or(0, |bytes| bytes.len());
            self.memory_bytes -= Self::bytes_for(n_bytes);
            self.pieces.pop_front();
        }
    }

    /// Gives up the records before `ordinal`, as far as they are whole pieces. Files go when the
    /// next manifest is in its place.
    pub fn forget_before(&mut self, ordinal: u64) -> Result<(), Error> {
        self.release_before(ordinal);
        let Some(disk) = &mut self.disk else {
            return Ok(());
        };
        let is_done = |segment: &mut Segment| segment.is_full && segment.end <= ordinal;
        while let Some(segment) = disk.segments.pop_front_if(is_done) {
            // Nobody may be reading it.
            disk.ahead
                .take_if(|ahead| ahead.next.segment == segment.number);
            segment.discard(&disk.folder)?;
        }
        Ok(())
    }

    /// Writes what is not yet written, makes it last, and lists the files; for a manifest. Only
    /// of use where everything is written.
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

    /// Gives up everything, files included.
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
        self.memory_bytes + payload as u64
    }

    /// Memory that a piece of `n_bytes` takes.
    pub fn bytes_for(n_bytes: usize) -> u64 {
        PIECE_BYTES + n_bytes as u64
    }

    fn piece_with(&self, ordinal: u64) -> usize {
        self.pieces
            .partition_point(|piece| piece.first + u64::from(piece.len) <= ordinal)
    }

    /// Puts a piece into the block that is being put together, before which a full one is written.
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

    /// Writes the block that is being put together, and forgets its pieces' bytes where memory is
    /// wanted back.
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
                // The piece for which this block had to end.
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
        let disk = self.disk.as_mut().expect("what is on disk has a folder");
        let ahead = disk.ahead_at(place)?;
        let mut at_piece = at;
        let Some((block, payload)) = ahead.reader.next()? else {
            return Err(damaged_log(&ahead.file, place.block));
        };
        ahead.next.block = block + 1;
        for found in Found::all(payload) {
            let Some(found) = found else {
                return Err(damaged_log(&ahead.file, block));
            };
            // The block may begin with pieces that are forgotten, or before `at`.
            if found.first < self.pieces[at].first {
                continue;
            }
            // Those between two that were written may be in memory only.
            while (self.pieces.get(at_piece)).is_some_and(|piece| piece.first < found.first) {
                at_piece += 1;
            }
            let same = |piece: &&mut Piece| (piece.first, piece.len) == (found.first, found.len);
            let Some(piece) = self.pieces.get_mut(at_piece).filter(same) else {
                return Err(damaged_log(&ahead.file, block));
            };
            if piece.bytes.is_none() {
                piece.bytes = Some(found.bytes.into());
                self.memory_bytes += found.bytes.len() as u64;
            }
        }
        match &self.pieces[at].bytes {
            Some(bytes) => Ok(Arc::clone(bytes)),
            None => Err(damaged_log(&ahead.file, place.block)),
        }
    }
}

fn damaged_log(file: &BlockFile, block: u32) -> Error {
    Error::Damaged {
        file: file.name().to_owned(),
        offset: u64::from(block),
        what: "a block of the log does not hold the pieces it was given".to_owned(),
    }
}

impl OnDisk {
    /// Where the block being put together will lie, if anything is in it.
    fn payload_place(&self) -> Option<Place> {
        let segment = self.segments.back().filter(|_| !self.payload.is_empty())?;
        Some(Place {
            segment: segment.number,
            block: segment.n_blocks(),
        })
    }

    /// Where the block being put together will lie.
    fn place_of_payload(&mut self, first: u64) -> Result<Place, Error> {
        if self.segments.back().is_none_or(|segment| segment.is_full) {
            let writer = BlockWriter::create(&self.folder, LOG)?;
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

    fn note_end(&mut self, end: u64) {
        if let Some(segment) = self.segments.back_mut() {
            segment.end = segment.end.max(end);
        }
    }

    fn put_payload(&mut self) -> Result<Place, Error> {
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
            writer.hand_over()?;
            segment.is_full = true;
            self.end_before_last()?;
        }
        Ok(place)
    }

    /// Ends the file before the last one, whose blocks had time to be written.
    fn end_before_last(&mut self) -> Result<(), Error> {
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

    /// What is read ahead, so that the block at `place` comes next.
    fn ahead_at(&mut self, place: Place) -> Result<&mut Ahead, Error> {
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

    fn file(&mut self, number: u64) -> Result<BlockFile, Error> {
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
struct Found<'a> {
    first: u64,
    len: u32,
    version: u32,
    bytes: &'a [u8],
}

impl<'a> Found<'a> {
    /// The pieces of a block; `None` where they end in the middle of one.
    fn all(mut payload: &'a [u8]) -> impl Iterator<Item = Option<Found<'a>>> {
        std::iter::from_fn(move || {
            if payload.is_empty() {
                return None;
            }
            let found = Found::split_off(&mut payload);
            if found.is_none() {
                payload = &[];
            }
            Some(found)
        })
    }

    fn split_off(payload: &mut &'a [u8]) -> Option<Found<'a>> {
        let (first, rest) = payload.split_first_chunk::<8>()?;
        let (len, rest) = rest.split_first_chunk::<4>()?;
        let (version, rest) = rest.split_first_chunk::<4>()?;
        let (n_bytes, rest) = rest.split_first_chunk::<4>()?;
        let (bytes, rest) = rest.split_at_checked(u32::from_le_bytes(*n_bytes) as usize)?;
        *payload = rest;
        Some(Found {
            first: u64::from_le_bytes(*first),
            len: u32::from_le_bytes(*len),
            version: u32::from_le_bytes(*version),
            bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::{Keep, Log, SegmentEntry, Slice};
    use crate::disk::{Folder, FolderOptions, NativeDisk};

    fn folder(path: &std::path::Path) -> Folder {
        let disk = NativeDisk::open(path).expect("a folder can be used");
        let options = FolderOptions {
            reserve_bytes: 0,
            buffer_bytes: 1 << 18,
            ..FolderOptions::default()
        };
        let opened = Folder::open(Arc::new(disk), options);
        opened.expect("a folder can be used").0
    }

    /// Records of nine bytes that tell their ordinals.
    fn piece(first: u64, len: usize) -> Arc<[u8]> {
        let record = |ordinal: u64| [&ordinal.to_be_bytes()[..], &[7]].concat();
        (first..first + len as u64).flat_map(record).collect()
    }

    #[track_caller]
    fn assert_there(log: &mut Log, first: u64, len: u64) -> Vec<Slice> {
        let slices = log.read(first, len as usize).expect("it is there");
        let records = |slice: &Slice| {
            slice
                .bytes
                .chunks(9)
                .map(<[u8]>::to_vec)
                .collect::<Vec<_>>()
        };
        let wanted = |slice: &Slice| records(slice)[slice.records.clone()].concat();
        let bytes: Vec<u8> = slices.iter().flat_map(wanted).collect();
        assert_eq!(bytes, *piece(first, len as usize));
        slices
    }

    #[test]
    fn records_come_back_in_order_and_memory_stays_within_its_limit() {
        let mut rng = Pcg64Mcg::seed_from_u64(3);
        for keep in [
            Keep::AllAndWrite,
            Keep::Bytes(40_000),
            Keep::BytesAndWrite(0),
        ] {
            let scratch = tempfile::tempdir().expect("a scratch folder");
            let mut log = Log::new();
            log.append(piece(0, 10), 10, 0).expect("memory has room");
            log.attach(folder(scratch.path()), keep).expect("it works");
            while log.len() < 200_000 {
                let len = rng.random_range(0..3000);
                log.append(piece(log.len(), len), len, 1).expect("it works");
                if keep != Keep::AllAndWrite {
                    assert!(log.data_bytes() < 300_000, "{}", log.data_bytes());
                }
            }
            let mut at = 0;
            while at < log.len() {
                let len = rng.random_range(1..2000).min(log.len() - at);
                assert_there(&mut log, at, len);
                at += len;
                log.forget_before(at).expect("it works");
            }
            log.discard().expect("it works");
        }
    }

    /// As a search does it: states of a layer are read and given up while those of the next are
    /// appended, so that now and then there is room in memory again.
    #[test]
    fn what_is_put_back_can_be_read_again() {
        let path = tempfile::tempdir().expect("a temporary folder");
        for keep in [Keep::Bytes(20_000), Keep::BytesAndWrite(20_000)] {
            let mut log = Log::new();
            log.attach(folder(path.path()), keep).expect("a folder");
            for i in 0..500 {
                log.append(piece(i * 100, 100), 100, 0).expect("room");
            }
            let held = log.data_bytes();
            for upto in [0, 250, 20_050, 50_000] {
                assert_there(&mut log, 0, 50_000);
                assert!(log.data_bytes() > 400_000, "all of it was read");
                log.put_back_before(upto);
            }
            assert!(log.data_bytes() <= held, "{} {held}", log.data_bytes());
            assert_there(&mut log, 0, 50_000);
        }
    }

    #[test]
    fn records_are_read_while_others_are_appended() {
        let mut rng = Pcg64Mcg::seed_from_u64(4);
        for limit in [0, 5_000, 100_000, 400_000] {
            let scratch = tempfile::tempdir().expect("a scratch folder");
            let mut log = Log::new();
            let keep = Keep::Bytes(limit);
            log.attach(folder(scratch.path()), keep).expect("it works");
            let mut at = 0;
            for round in 0..3000 {
                let len = rng.random_range(0..400);
                log.append(piece(log.len(), len), len, 1).expect("it works");
                // Now more is read than appended, now less.
                let most = if round / 300 % 2 == 0 { 100 } else { 600 };
                let len = rng.random_range(0..most).min(log.len() - at);
                assert_there(&mut log, at, len);
                at += len;
                log.forget_before(at).expect("it works");
            }
            log.discard().expect("it works");
        }
    }

    /// However long it gets, a log keeps few files open; those whose records are given up go.
    #[test]
    fn files_grow_with_the_log_and_go_one_by_one() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let folder = folder(scratch.path());
        let mut log = Log::new();
        let keep = Keep::BytesAndWrite(0);
        log.attach(folder.clone(), keep).expect("it works");
        while log.len() < 14_000_000 {
            let len = 7000;
            log.append(piece(log.len(), len), len, 1).expect("it works");
        }
        let n_blocks = |entries: &[SegmentEntry]| entries.iter().map(|e| e.n_blocks).sum::<u32>();
        let entries = log.commit().expect("it works");
        assert!(n_blocks(&entries) > 1900, "{}", n_blocks(&entries));
        assert!((16..60).contains(&entries.len()), "{}", entries.len());
        // A search in which states are read goes on writing where it stood.
        let half = log.len() / 2;
        assert_there(&mut log, half, 10_000);
        log.forget_before(half).expect("it works");
        let entries = log.commit().expect("it works");
        assert!((900..1300).contains(&n_blocks(&entries)));
        folder.commit(b"a manifest").expect("it works");
        drop(log);
        let mut log = Log::reopen(folder, keep, &entries).expect("it is there");
        assert_eq!(log.len(), 14_000_000);
        let mut at = half;
        while at < log.len() {
            assert_there(&mut log, at, 70_000);
            at += 70_000;
            log.forget_before(at).expect("it works");
        }
        assert!(log.commit().expect("it works").is_empty());
    }

    #[test]
    fn a_log_that_was_written_down_is_the_same_when_it_is_opened_again() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let entries = {
            let folder = folder(scratch.path());
            let mut log = Log::new();
            log.attach(folder.clone(), Keep::AllAndWrite)
                .expect("it works");
            while log.len() < 50_000 {
                log.append(piece(log.len(), 777), 777, 2).expect("it works");
            }
            let entries = log.commit().expect("it works");
            folder.commit(b"a manifest").expect("it works");
            // What comes later is lost.
            log.append(piece(log.len(), 5), 5, 2).expect("it works");
            log.commit().expect("it works");
            entries
        };
        let folder = folder(scratch.path());
        let mut log = Log::reopen(folder, Keep::AllAndWrite, &entries).expect("it is there");
        assert_eq!(log.len(), 50_505);
        log.append(piece(log.len(), 5), 5, 3).expect("it works");
        let slices = assert_there(&mut log, 50_000, 510);
        assert_eq!(slices.last().map(|slice| slice.version), Some(3));
    }
}
