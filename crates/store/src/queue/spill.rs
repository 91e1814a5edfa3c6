//! Spills of a queue: files of pieces in which ranks ascend.
//!
//! A file is a sequence of bytes split into full blocks wherever a block ends. Each piece begins with
//! its rank (8 bytes), the version of its layout (4) and its number of bytes (4).

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{PIECE_BYTES, QueueDisk};
use crate::disk::{BlockFile, BlockWriter, Kind};
use crate::{BLOCK_BYTES, BlockReader, BlockSink, Error};

/// A file of pieces, read from front to end.
pub(super) struct Spill {
    disk: QueueDisk,
    file: BlockFile,
    /// What is left, from the head of the next piece on: bytes of the content of all blocks.
    left: Range<u64>,
    /// Head of the next piece.
    head: Option<Head>,
    /// The block that was read last, and its number.
    block: Vec<u8>,
    number: Option<u32>,
    /// Reads ahead, where everything is wanted.
    ahead: Option<Box<dyn BlockReader>>,
}

/// A file of a queue, as a manifest lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpillEntry {
    /// Name of the file.
    pub name: String,
    /// Blocks in it.
    pub n_blocks: u32,
    /// The part that is still in the queue, in bytes of the content of all blocks.
    pub left: Range<u64>,
}

/// What is in front of a piece.
#[derive(Clone, Copy)]
struct Head {
    rank: u64,
    version: u32,
    n_bytes: u32,
}

const HEAD_BYTES: usize = 8 + 4 + 4;

impl Spill {
    /// A file of the pieces that `put` passes to the writer, in ascending order of ranks.
    pub(super) fn write(
        disk: &QueueDisk,
        put: impl FnOnce(&mut SpillWriter) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        let mut writer = SpillWriter {
            sink: BlockWriter::create(&disk.folder, Kind::Queue)?,
            block: Vec::with_capacity(BLOCK_BYTES),
            n_bytes: 0,
            first: None,
            key: None,
            piece: Vec::new(),
        };
        put(&mut writer)?;
        writer.finish(disk)
    }

    /// A file of what is left of `spills`, which are neighbours.
    pub(super) fn merge(disk: &QueueDisk, spills: &[Spill]) -> Result<Self, Error> {
        let mut inputs: Vec<Spill> = spills.iter().map(Spill::reader).collect();
        Self::write(disk, |writer| {
            let mut bytes = Vec::new();
            while let Some(rank) = inputs.iter().filter_map(Spill::first).min() {
                for input in &mut inputs {
                    while input.first() == Some(rank) {
                        let version = input.read_piece(&mut bytes)?;
                        writer.put(rank, version, &bytes)?;
                    }
                }
            }
            Ok(())
        })
    }

    /// Another reader of what is left, which reads ahead.
    fn reader(&self) -> Self {
        let from = match self.head {
            Some(_) => block_at(self.left.start + HEAD_BYTES as u64),
            None => self.file.n_blocks(),
        };
        let wanted = Some(from..self.file.n_blocks()).filter(|wanted| !wanted.is_empty());
        Spill {
            ahead: Some(self.file.stream(wanted.into_iter().collect())),
            ..Self::of(
                self.disk.clone(),
                self.file.clone(),
                self.left.clone(),
                self.head,
            )
        }
    }

    fn of(disk: QueueDisk, file: BlockFile, left: Range<u64>, head: Option<Head>) -> Self {
        Spill {
            disk,
            file,
            left,
            head,
            block: Vec::new(),
            number: None,
            ahead: None,
        }
    }

    /// The file that a manifest lists.
    pub(super) fn reopen(disk: &QueueDisk, entry: &SpillEntry) -> Result<Self, Error> {
        let SpillEntry {
            name,
            n_blocks,
            left,
        } = entry;
        // What a crash left behind the last block is truncated.
        let file = BlockWriter::reopen(&disk.folder, name, Kind::Queue, *n_blocks)?.finish()?;
        let mut spill = Self::of(disk.clone(), file, left.clone(), None);
        if left.start > left.end || left.end > u64::from(*n_blocks) * BLOCK_BYTES as u64 {
            return Err(spill.damaged());
        }
        spill.read_head()?;
        Ok(spill)
    }

    pub(super) fn entry(&self) -> SpillEntry {
        SpillEntry {
            name: self.file.name().to_owned(),
            n_blocks: self.file.n_blocks(),
            left: self.left.clone(),
        }
    }

    /// Rank of the next piece; `None` at the end.
    pub(super) fn first(&self) -> Option<u64> {
        self.head.map(|head| head.rank)
    }

    /// What is left, in bytes.
    pub(super) fn n_bytes(&self) -> u64 {
        self.left.end - self.left.start
    }

    /// Memory held, in bytes.
    pub(super) fn memory_bytes(&self) -> u64 {
        (size_of::<Self>() + self.block.capacity()) as u64
    }

    /// Replaces the content of `bytes` by the next piece; returns its version.
    pub(super) fn read_piece(&mut self, bytes: &mut Vec<u8>) -> Result<u32, Error> {
        let Some(head) = self.head else {
            return Err(self.damaged());
        };
        let from = self.left.start + HEAD_BYTES as u64;
        self.read(from..from + u64::from(head.n_bytes), bytes)?;
        self.left.start = from + u64::from(head.n_bytes);
        self.read_head()?;
        Ok(head.version)
    }

    /// Deletes the file as soon as no manifest needs it.
    pub(super) fn retire(self) -> Result<(), Error> {
        self.disk.folder.retire(self.file.name())
    }

    fn read_head(&mut self) -> Result<(), Error> {
        let last = self.head.take();
        if self.left.is_empty() {
            return Ok(());
        }
        let from = self.left.start;
        let mut bytes = Vec::with_capacity(HEAD_BYTES);
        self.read(from..from + HEAD_BYTES as u64, &mut bytes)?;
        let head = Head::of(&bytes).ok_or_else(|| self.damaged())?;
        let end = from + HEAD_BYTES as u64 + u64::from(head.n_bytes);
        if end > self.left.end || last.is_some_and(|last| last.rank > head.rank) {
            return Err(self.damaged());
        }
        self.head = Some(head);
        Ok(())
    }

    /// Replaces the content of `bytes` by a range of the file's, which is not before the last one.
    fn read(&mut self, mut range: Range<u64>, bytes: &mut Vec<u8>) -> Result<(), Error> {
        bytes.clear();
        if range.end > self.left.end {
            return Err(self.damaged());
        }
        while !range.is_empty() {
            self.load(block_at(range.start))?;
            let from = (range.start % BLOCK_BYTES as u64) as usize;
            let n = (range.end - range.start).min((BLOCK_BYTES - from) as u64);
            let found = self.block.get(from..from + n as usize);
            bytes.extend_from_slice(found.ok_or_else(|| self.damaged())?);
            range.start += n;
        }
        Ok(())
    }

    fn load(&mut self, number: u32) -> Result<(), Error> {
        if self.number == Some(number) {
            return Ok(());
        }
        self.number = None;
        match &mut self.ahead {
            None => self.file.get(number, &mut self.block)?,
            Some(ahead) => match ahead.next()? {
                Some((found, payload)) if found == number => {
                    self.block.clear();
                    self.block.extend_from_slice(payload);
                }
                _ => return Err(self.damaged()),
            },
        }
        self.number = Some(number);
        Ok(())
    }

    fn damaged(&self) -> Error {
        let what = "the file does not hold the expected pieces";
        Error::damaged(self.file.name(), self.left.start, what)
    }
}

/// Number of the block with this byte of the content.
fn block_at(at: u64) -> u32 {
    u32::try_from(at / BLOCK_BYTES as u64).unwrap_or(u32::MAX)
}

impl Head {
    fn of(bytes: &[u8]) -> Option<Self> {
        let (rank, rest) = bytes.split_first_chunk()?;
        let (version, rest) = rest.split_first_chunk()?;
        let n_bytes = rest.first_chunk()?;
        Some(Head {
            rank: u64::from_le_bytes(*rank),
            version: u32::from_le_bytes(*version),
            n_bytes: u32::from_le_bytes(*n_bytes),
        })
    }
}

/// Writes a spill.
pub(super) struct SpillWriter {
    sink: BlockWriter,
    block: Vec<u8>,
    n_bytes: u64,
    first: Option<Head>,
    /// Rank and version of the piece in progress, to which the next may be joined.
    key: Option<(u64, u32)>,
    piece: Vec<u8>,
}

impl SpillWriter {
    /// Appends a piece, whose rank is no less than that of the last.
    pub(super) fn put(&mut self, rank: u64, version: u32, bytes: &[u8]) -> Result<(), Error> {
        let is_full = self.piece.len() + bytes.len() > PIECE_BYTES;
        if is_full || self.key != Some((rank, version)) {
            self.end_piece()?;
            self.key = Some((rank, version));
        }
        self.piece.extend_from_slice(bytes);
        Ok(())
    }

    fn end_piece(&mut self) -> Result<(), Error> {
        let Some((rank, version)) = self.key.filter(|_| !self.piece.is_empty()) else {
            return Ok(());
        };
        let piece = std::mem::take(&mut self.piece);
        let n_bytes = piece.len() as u32;
        let head = Head {
            rank,
            version,
            n_bytes,
        };
        self.first.get_or_insert(head);
        self.put_bytes(&rank.to_le_bytes())?;
        self.put_bytes(&version.to_le_bytes())?;
        self.put_bytes(&n_bytes.to_le_bytes())?;
        self.put_bytes(&piece)?;
        self.piece = piece;
        self.piece.clear();
        Ok(())
    }

    fn put_bytes(&mut self, mut bytes: &[u8]) -> Result<(), Error> {
        self.n_bytes += bytes.len() as u64;
        while !bytes.is_empty() {
            let (now, rest) = bytes.split_at(bytes.len().min(BLOCK_BYTES - self.block.len()));
            self.block.extend_from_slice(now);
            bytes = rest;
            if self.block.len() == BLOCK_BYTES {
                self.end_block()?;
            }
        }
        Ok(())
    }

    fn end_block(&mut self) -> Result<(), Error> {
        if !self.block.is_empty() {
            self.sink.put(&self.block)?;
            self.block.clear();
        }
        Ok(())
    }

    fn finish(mut self, disk: &QueueDisk) -> Result<Spill, Error> {
        self.end_piece()?;
        self.end_block()?;
        if disk.is_durable {
            self.sink.sync()?;
        }
        let file = self.sink.finish()?;
        Ok(Spill::of(disk.clone(), file, 0..self.n_bytes, self.first))
    }
}
