//! The parent log, in memory or on disk: how each state was found, in the order of their ordinals.
//!
//! Entries fill one block after the other. Blocks stay in memory until there is a folder for them;
//! from then on only the last, unfinished block does, and one number for each of the others. An
//! entry is found by decoding its block, which is fast enough for the few that a trace needs.
//!
//! Blocks that a manifest lists are never changed. The unfinished one goes into the manifest, so a
//! reopened log has no half-filled blocks in its middle.

mod finder;
mod mark;

use std::sync::{Mutex, PoisonError};

use super::Kind;
use super::folder::Folder;
use super::parent_code::{MOST_PARENT_BYTES, decode_parent, encode_parent};
use super::writer::BlockWriter;
use crate::{BLOCK_BYTES, BlockSink, Error, Parent};

use mark::Mark;

pub use finder::ParentFinder;

/// The parents of all states.
pub struct ParentLog {
    blocks: Blocks,
    /// Ordinal of the first entry of each finished block.
    firsts: Vec<u64>,
    /// The unfinished block.
    tail: Vec<u8>,
    tail_first: u64,
    n_entries: u64,
    /// Parent of the last entry.
    last: u64,
}

/// Consecutive entries to be appended to a log, which any thread can encode.
///
/// All but the first are as they will be in the log: how the first one is written depends on what
/// comes before it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parents {
    first: Option<Parent>,
    /// The entries behind the first one.
    others: Vec<u8>,
    n_others: u64,
    /// Parent of the last entry.
    last: u64,
}

impl Parents {
    /// Memory held, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.others.capacity()
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.first = None;
        self.others.clear();
        self.n_others = 0;
        self.last = 0;
    }

    /// Appends the parent of the next state. An ordinal below that of the entry before takes more
    /// bytes.
    #[inline]
    pub fn push(&mut self, parent: Parent) {
        if self.first.is_none() {
            self.first = Some(parent);
        } else {
            encode_parent(&mut self.others, self.last, parent);
            self.n_others += 1;
        }
        self.last = parent.ordinal;
    }
}

/// A position in a log, to roll back to.
pub struct LogPosition {
    n_blocks: usize,
    tail: Vec<u8>,
    tail_first: u64,
    n_entries: u64,
    last: u64,
}

impl LogPosition {
    /// Memory held, in bytes.
    pub fn data_bytes(&self) -> u64 {
        self.tail.capacity() as u64
    }
}

/// The finished blocks.
enum Blocks {
    Memory(Vec<Vec<u8>>),
    /// Locked to read blocks that are still being written.
    Disk(Box<Mutex<BlockWriter>>),
}

/// First ordinal, the number that the first distance is counted from, number of entries.
const HEADER_BYTES: usize = 20;
/// Entries that fit in any case.
const LEAST_ENTRIES: u64 = ((BLOCK_BYTES - HEADER_BYTES) / MOST_PARENT_BYTES) as u64;

impl Default for ParentLog {
    fn default() -> Self {
        Self::new()
    }
}

impl ParentLog {
    /// An empty log, in memory.
    pub fn new() -> Self {
        let mut log = Self {
            blocks: Blocks::Memory(Vec::new()),
            firsts: Vec::new(),
            tail: Vec::with_capacity(BLOCK_BYTES),
            tail_first: 0,
            n_entries: 0,
            last: 0,
        };
        log.begin_block();
        log
    }

    /// Reopens a log from the `mark` that [`commit`](Self::commit) returned; truncates its file
    /// behind that.
    pub fn reopen(folder: &Folder, mark: &[u8]) -> Result<Self, Error> {
        let Some(mark) = Mark::decode(mark) else {
            return Err(Error::damaged(
                super::manifest::NAME,
                0,
                "its mark of the parent log is invalid",
            ));
        };
        let n_blocks = mark.firsts.len() as u32;
        let writer = BlockWriter::reopen(folder, mark.name, Kind::Parents, n_blocks)?;
        let mut tail = Vec::with_capacity(BLOCK_BYTES);
        tail.extend_from_slice(mark.tail);
        Ok(Self {
            blocks: Blocks::Disk(Box::new(Mutex::new(writer))),
            firsts: mark.firsts,
            tail,
            tail_first: mark.tail_first,
            n_entries: mark.n_entries,
            last: mark.last,
        })
    }

    /// Name and number of blocks of the file of a mark; `None` if it is no mark.
    pub fn file_of(mark: &[u8]) -> Option<(String, u32)> {
        let mark = Mark::decode(mark)?;
        Some((mark.name.to_owned(), mark.firsts.len() as u32))
    }

    /// Number of entries.
    pub fn len(&self) -> u64 {
        self.n_entries
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.n_entries == 0
    }

    /// Name of the file, if there is one.
    pub fn file_name(&self) -> Option<String> {
        match &self.blocks {
            Blocks::Memory(_) => None,
            Blocks::Disk(writer) => {
                let writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
                Some(writer.name().to_owned())
            }
        }
    }

    /// Appends the parent of the next state. An ordinal below that of the entry before takes more
    /// bytes.
    pub fn push(&mut self, parent: Parent) -> Result<(), Error> {
        if self.tail.len() + MOST_PARENT_BYTES > BLOCK_BYTES {
            self.end_block()?;
            self.begin_block();
        }
        encode_parent(&mut self.tail, self.last, parent);
        self.last = parent.ordinal;
        self.n_entries += 1;
        Ok(())
    }

    /// Appends all entries of `parents`.
    pub fn append(&mut self, parents: &Parents) -> Result<(), Error> {
        let Some(first) = parents.first else {
            return Ok(());
        };
        self.push(first)?;
        if self.tail.len() + parents.others.len() <= BLOCK_BYTES {
            self.tail.extend_from_slice(&parents.others);
            self.last = parents.last;
            self.n_entries += parents.n_others;
            return Ok(());
        }
        let mut others = parents.others.as_slice();
        while !others.is_empty() {
            let parent = decode_parent(&mut others, self.last);
            self.push(parent.expect("an entry comes back as it was written"))?;
        }
        Ok(())
    }

    /// The parent of the state numbered `ordinal`; `None` past the end.
    pub fn get(&self, ordinal: u64) -> Result<Option<Parent>, Error> {
        self.finder().get(ordinal)
    }

    /// Looks up many entries, best in an order in which successive ones are near each other.
    pub fn finder(&self) -> ParentFinder<'_> {
        ParentFinder::new(self)
    }

    /// Moves finished blocks to a file of `folder`, these and all later ones.
    pub fn attach(&mut self, folder: &Folder) -> Result<(), Error> {
        let Blocks::Memory(blocks) = &self.blocks else {
            return Ok(());
        };
        let mut writer = BlockWriter::create(folder, Kind::Parents)?;
        // If this fails, the blocks are still in memory, and the file is deleted with its writer.
        blocks.iter().try_for_each(|block| writer.put(block))?;
        self.blocks = Blocks::Disk(Box::new(Mutex::new(writer)));
        Ok(())
    }

    /// Makes all entries durable, in `folder` and in the mark that is returned, which goes into the
    /// manifest.
    pub fn commit(&mut self, folder: &Folder) -> Result<Vec<u8>, Error> {
        self.attach(folder)?;
        let Blocks::Disk(writer) = &mut self.blocks else {
            unreachable!("the log has just been attached to a folder");
        };
        let writer = writer.get_mut().unwrap_or_else(PoisonError::into_inner);
        writer.sync()?;
        let mark = Mark {
            name: writer.name(),
            firsts: self.firsts.clone(),
            tail: &self.tail,
            tail_first: self.tail_first,
            n_entries: self.n_entries,
            last: self.last,
        };
        Ok(mark.encode())
    }

    /// The present position.
    pub fn position(&self) -> LogPosition {
        LogPosition {
            n_blocks: self.firsts.len(),
            tail: self.tail.clone(),
            tail_first: self.tail_first,
            n_entries: self.n_entries,
            last: self.last,
        }
    }

    /// Rolls back to `waymark`. No manifest may list later entries.
    pub fn roll_back(&mut self, waymark: LogPosition) -> Result<(), Error> {
        match &mut self.blocks {
            Blocks::Memory(blocks) => blocks.truncate(waymark.n_blocks),
            Blocks::Disk(writer) => writer
                .get_mut()
                .unwrap_or_else(PoisonError::into_inner)
                .roll_back(waymark.n_blocks as u32)?,
        }
        self.firsts.truncate(waymark.n_blocks);
        self.tail.clear();
        self.tail.extend_from_slice(&waymark.tail);
        self.tail_first = waymark.tail_first;
        self.n_entries = waymark.n_entries;
        self.last = waymark.last;
        Ok(())
    }

    /// Memory held, in bytes, without the buffers of the folder.
    pub fn data_bytes(&self) -> u64 {
        let n_blocks = match &self.blocks {
            Blocks::Memory(blocks) => blocks.len() + 1,
            Blocks::Disk(_) => 1,
        };
        let table = match &self.blocks {
            Blocks::Memory(blocks) => blocks.capacity() * size_of::<Vec<u8>>(),
            Blocks::Disk(_) => 0,
        };
        (n_blocks * BLOCK_BYTES + table + self.firsts.capacity() * size_of::<u64>()) as u64
    }

    /// Memory that `n` more entries add at most, in bytes.
    pub fn growth_bytes(&self, n: u64) -> u64 {
        let n_blocks = n / LEAST_ENTRIES + 1;
        let grown = |len: usize, capacity: usize, bytes: usize| {
            if len as u64 + n_blocks > capacity as u64 {
                (capacity as u64 + n_blocks.max(4)) * bytes as u64
            } else {
                0
            }
        };
        let firsts = grown(self.firsts.len(), self.firsts.capacity(), size_of::<u64>());
        match &self.blocks {
            Blocks::Memory(blocks) => {
                let table = grown(blocks.len(), blocks.capacity(), size_of::<Vec<u8>>());
                n_blocks * BLOCK_BYTES as u64 + table + firsts
            }
            Blocks::Disk(_) => firsts,
        }
    }

    fn begin_block(&mut self) {
        self.tail.clear();
        self.tail.extend_from_slice(&self.n_entries.to_le_bytes());
        self.tail.extend_from_slice(&self.last.to_le_bytes());
        self.tail.extend_from_slice(&0u32.to_le_bytes());
        self.tail_first = self.n_entries;
    }

    fn end_block(&mut self) -> Result<(), Error> {
        // A block has fewer entries than bytes.
        let n_entries = (self.n_entries - self.tail_first) as u32;
        self.tail[16..HEADER_BYTES].copy_from_slice(&n_entries.to_le_bytes());
        match &mut self.blocks {
            Blocks::Memory(blocks) => {
                let next = Vec::with_capacity(BLOCK_BYTES);
                blocks.push(std::mem::replace(&mut self.tail, next));
            }
            Blocks::Disk(writer) => writer
                .get_mut()
                .unwrap_or_else(PoisonError::into_inner)
                .put(&self.tail)?,
        }
        self.firsts.push(self.tail_first);
        Ok(())
    }
}
