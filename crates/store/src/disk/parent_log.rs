//! The parent log, in memory or on disk: how each state was found, in the order of their ordinals.
//!
//! Entries fill one block after the other. Blocks stay in memory until there is a folder for them;
//! from then on only the last, unfinished block does, and one number for each of the others. An
//! entry is found by decoding its block, which is soon done for the few that a trace needs.
//!
//! Blocks that a manifest knows of are never changed. The unfinished one is small enough to go into
//! the manifest, so a log that is taken up again has no half-filled blocks in its middle.

mod finder;

use std::sync::{Mutex, PoisonError};

use super::folder::Folder;
use super::frame::{Kind, u64_at};
use super::parent_code::{MOST_PARENT_BYTES, decode_parent, encode_parent};
use super::writer::BlockWriter;
use crate::varint::{read_varint, write_varint};
use crate::{BLOCK_BYTES, BlockSink, Error, Parent};

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

/// Consecutive entries on their way to a log, which any thread can put together.
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
    /// Forgets all entries.
    pub fn clear(&mut self) {
        self.first = None;
        self.others.clear();
        self.n_others = 0;
        self.last = 0;
    }

    /// Appends the parent of the next state; its ordinal is at least that of the entry before.
    #[inline]
    pub fn push(&mut self, parent: Parent) {
        assert!(parent.ordinal >= self.last, "{UNORDERED}");
        if self.first.is_none() {
            self.first = Some(parent);
        } else {
            encode_parent(&mut self.others, self.last, parent);
            self.n_others += 1;
        }
        self.last = parent.ordinal;
    }
}

/// A place in a log, to go back to.
pub struct Waymark {
    n_blocks: usize,
    tail: Vec<u8>,
    tail_first: u64,
    n_entries: u64,
    last: u64,
}

impl Waymark {
    /// Memory held, in bytes.
    pub fn data_bytes(&self) -> u64 {
        self.tail.capacity() as u64
    }
}

const UNORDERED: &str = "parents must come in the order of their ordinals";

/// Where finished blocks are.
enum Blocks {
    Memory(Vec<Vec<u8>>),
    /// Locked to get at blocks that are still on their way to the disk.
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

    /// Takes up a log where [`commit`](Self::commit) gave `mark`; what its file has besides is cut
    /// off.
    pub fn reopen(folder: &Folder, mark: &[u8]) -> Result<Self, Error> {
        let Some(mark) = Mark::decode(mark) else {
            return Err(Error::damaged(
                super::manifest::NAME,
                0,
                "what it says of the parent log makes no sense",
            ));
        };
        let n_blocks = mark.firsts.len() as u32;
        let writer = BlockWriter::reopen(folder, mark.name, Kind::PARENTS, n_blocks)?;
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

    /// Name and number of blocks of the file that a mark is about; `None` if it is no mark.
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

    /// Appends the parent of the next state; its ordinal is at least that of the entry before.
    pub fn push(&mut self, parent: Parent) -> Result<(), Error> {
        assert!(parent.ordinal >= self.last, "{UNORDERED}");
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

    /// Looks up many entries, of which those that follow each other are near each other.
    pub fn finder(&self) -> ParentFinder<'_> {
        ParentFinder::new(self)
    }

    /// Moves finished blocks to a file of `folder`, now and from now on.
    pub fn attach(&mut self, folder: &Folder) -> Result<(), Error> {
        let Blocks::Memory(blocks) = &self.blocks else {
            return Ok(());
        };
        let mut writer = BlockWriter::create(folder, Kind::PARENTS)?;
        // Should this fail, the blocks are still in memory, and the file goes with its writer.
        blocks.iter().try_for_each(|block| writer.put(block))?;
        self.blocks = Blocks::Disk(Box::new(Mutex::new(writer)));
        Ok(())
    }

    /// Makes all entries durable, in `folder` and in what is returned, which is to go into the
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

    /// Where the log is now.
    pub fn waymark(&self) -> Waymark {
        Waymark {
            n_blocks: self.firsts.len(),
            tail: self.tail.clone(),
            tail_first: self.tail_first,
            n_entries: self.n_entries,
            last: self.last,
        }
    }

    /// Gives up all entries since `waymark`. No manifest must know of them.
    pub fn go_back(&mut self, waymark: Waymark) -> Result<(), Error> {
        match &mut self.blocks {
            Blocks::Memory(blocks) => blocks.truncate(waymark.n_blocks),
            Blocks::Disk(writer) => writer
                .get_mut()
                .unwrap_or_else(PoisonError::into_inner)
                .go_back(waymark.n_blocks as u32)?,
        }
        self.firsts.truncate(waymark.n_blocks);
        self.tail.clear();
        self.tail.extend_from_slice(&waymark.tail);
        self.tail_first = waymark.tail_first;
        self.n_entries = waymark.n_entries;
        self.last = waymark.last;
        Ok(())
    }

    /// Memory held, in bytes, but for the buffers of the folder.
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

/// All that is known of a log but the content of its finished blocks.
struct Mark<'a> {
    name: &'a str,
    firsts: Vec<u64>,
    tail: &'a [u8],
    tail_first: u64,
    n_entries: u64,
    last: u64,
}

impl<'a> Mark<'a> {
    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        write_varint(&mut bytes, self.name.len() as u64);
        bytes.extend_from_slice(self.name.as_bytes());
        write_varint(&mut bytes, self.firsts.len() as u64);
        let ends = self.firsts.iter().skip(1).chain([&self.tail_first]);
        for (first, end) in self.firsts.iter().zip(ends) {
            write_varint(&mut bytes, end - first);
        }
        write_varint(&mut bytes, self.n_entries - self.tail_first);
        write_varint(&mut bytes, self.last);
        bytes.extend_from_slice(self.tail);
        bytes
    }

    fn decode(mut bytes: &'a [u8]) -> Option<Self> {
        let bytes = &mut bytes;
        let name_len = usize::try_from(read_varint(bytes)?).ok()?;
        let (name, rest) = bytes.split_at_checked(name_len)?;
        *bytes = rest;
        let n_blocks = u32::try_from(read_varint(bytes)?).ok()?;
        // Every block has a number of at least a byte here, so a wrong count is found out before
        // memory is.
        let mut firsts = Vec::new();
        let mut first = 0u64;
        for _ in 0..n_blocks {
            firsts.push(first);
            let n_entries = read_varint(bytes)?;
            if n_entries == 0 {
                return None;
            }
            first = first.checked_add(n_entries)?;
        }
        let n_in_tail = read_varint(bytes)?;
        let mark = Self {
            name: str::from_utf8(name).ok()?,
            firsts,
            tail_first: first,
            n_entries: first.checked_add(n_in_tail)?,
            last: read_varint(bytes)?,
            tail: bytes,
        };
        // The entries of the tail are not looked at again, so they must be as they should now.
        let (header, mut entries) = mark.tail.split_at_checked(HEADER_BYTES)?;
        let mut last = u64_at(header, 8);
        for _ in 0..n_in_tail {
            last = decode_parent(&mut entries, last)?.ordinal;
        }
        let is_whole = entries.is_empty() && last == mark.last && mark.tail.len() <= BLOCK_BYTES;
        (is_whole && u64_at(header, 0) == mark.tail_first).then_some(mark)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rand::{Rng, RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::{Mark, ParentLog};
    use crate::disk::{BlockWriter, Folder, FolderOptions, Kind, NativeDisk};
    use crate::{BLOCK_BYTES, BlockSink, Error};

    /// Checksums cannot see what was wrong before it was written.
    #[test]
    fn blocks_of_garbage_with_good_checksums_are_damage() {
        let path = tempfile::tempdir().unwrap();
        let disk = Arc::new(NativeDisk::open(path.path()).unwrap());
        let (folder, _) = Folder::open(disk, FolderOptions::default()).unwrap();
        let mut rng = Pcg64Mcg::seed_from_u64(4);
        let mut writer = BlockWriter::create(&folder, Kind::PARENTS).unwrap();
        let name = writer.name().to_owned();
        let n_blocks = 40;
        for block in 0..n_blocks {
            let mut bytes = vec![0; rng.random_range(0..BLOCK_BYTES)];
            rng.fill_bytes(&mut bytes);
            // In some, the header is as it should be.
            if block % 2 == 0 && bytes.len() >= 20 {
                bytes[..8].copy_from_slice(&(block * 50_000u64).to_le_bytes());
                bytes[16..20].copy_from_slice(&50_000u32.to_le_bytes());
            }
            writer.put(&bytes).unwrap();
        }
        drop(writer.finish().unwrap());
        let n_entries = n_blocks * 50_000;
        let mut tail = n_entries.to_le_bytes().to_vec();
        tail.extend_from_slice(&[0; 12]);
        let mark = Mark {
            name: &name,
            firsts: (0..n_blocks).map(|block| block * 50_000).collect(),
            tail: &tail,
            tail_first: n_entries,
            n_entries,
            last: 0,
        };
        let log = ParentLog::reopen(&folder, &mark.encode()).unwrap();
        for block in 0..n_blocks {
            let last = log.get(block * 50_000 + 49_999);
            assert!(matches!(last, Err(Error::Damaged { .. })), "block {block}");
        }
    }

    #[test]
    fn marks_of_garbage_are_refused() {
        let mut rng = Pcg64Mcg::seed_from_u64(5);
        for _ in 0..10_000 {
            let mut bytes = vec![0; rng.random_range(0..200)];
            rng.fill_bytes(&mut bytes);
            // Small numbers get further.
            for byte in &mut bytes {
                *byte >>= rng.random_range(0..8);
            }
            if let Some(mark) = Mark::decode(&bytes) {
                assert!(mark.tail.len() <= bytes.len() && mark.tail_first <= mark.n_entries);
            }
        }
    }
}
