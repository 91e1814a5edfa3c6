//! Files of records of one length: what strategies keep outside their tables.
//!
//! A [`Shelf`] makes them, in a folder of the disk layer or, without one, in memory, which is how
//! small models are measured. Records are packed into blocks and read back by block, in any order;
//! what does not fill a block yet is kept aside. Memory and time of a shelf are its own: a
//! strategy's budget is for its table and its queue.

use std::cell::Cell;
use std::ops::Range;
use std::rc::Rc;
use std::time::{Duration, Instant};

use hadal_store::disk::{BlockFile, BlockWriter, Folder, Kind};
use hadal_store::{BLOCK_BYTES, BlockSink, BlockSource, Error};

use super::StrategyOptions;

/// Bytes that are worth a block of their own.
const LEAST_BYTES: usize = BLOCK_BYTES / 8;
/// What is in these files.
const KIND: Kind = Kind(*b"recs");

/// Where records go.
#[derive(Clone, Default)]
pub(super) struct Shelf {
    usage: Rc<Usage>,
    folder: Option<Folder>,
}

/// What went through a shelf, in bytes, and how long that took.
#[derive(Debug, Default)]
struct Usage {
    now: Cell<u64>,
    peak: Cell<u64>,
    written: Cell<u64>,
    read: Cell<u64>,
    io: Cell<Duration>,
}

impl Shelf {
    /// A shelf in memory.
    pub(super) fn in_memory() -> Self {
        Self::default()
    }

    /// Where these options want records to go.
    pub(super) fn new(own: &StrategyOptions) -> Self {
        Shelf {
            usage: Rc::default(),
            folder: own.folder.clone(),
        }
    }

    /// Another shelf at the same place, whose use is counted apart.
    pub(super) fn beside(&self) -> Self {
        Shelf {
            usage: Rc::default(),
            folder: self.folder.clone(),
        }
    }

    /// Whether there is a folder.
    pub(super) fn is_on_disk(&self) -> bool {
        self.folder.is_some()
    }

    /// Whether their use is counted together.
    pub(super) fn is_same(&self, other: &Shelf) -> bool {
        Rc::ptr_eq(&self.usage, &other.usage)
    }

    /// An empty file of records of `record_len` bytes.
    pub(super) fn records(&self, record_len: usize) -> Result<Records, Error> {
        // A model without variables has states of no bytes.
        let stride = record_len.max(1);
        Ok(Records {
            record_len,
            stride,
            per_block: BLOCK_BYTES / stride,
            blocks: Blocks::Memory(Vec::new()),
            is_finished: false,
            partial: Vec::new(),
            n_records: 0,
            shelf: self.clone(),
        })
    }

    /// Time spent on reading and writing.
    pub(super) fn io(&self) -> Duration {
        self.usage.io.get()
    }

    pub(super) fn now_bytes(&self) -> u64 {
        self.usage.now.get()
    }

    pub(super) fn peak_bytes(&self) -> u64 {
        self.usage.peak.get()
    }

    pub(super) fn written_bytes(&self) -> u64 {
        self.usage.written.get()
    }

    pub(super) fn read_bytes(&self) -> u64 {
        self.usage.read.get()
    }

    fn count_io(&self, since: Instant) {
        self.usage.io.set(self.usage.io.get() + since.elapsed());
    }

    fn count_read(&self, bytes: usize) {
        self.usage.read.set(self.usage.read.get() + bytes as u64);
    }

    fn count_written(&self, bytes: usize) {
        let usage = &*self.usage;
        usage.written.set(usage.written.get() + bytes as u64);
        usage.now.set(usage.now.get() + bytes as u64);
        usage.peak.set(usage.peak.get().max(usage.now.get()));
    }
}

/// A file of records of one length, to which more can be appended. It goes when it is dropped.
pub(super) struct Records {
    record_len: usize,
    stride: usize,
    per_block: usize,
    /// Full blocks; the last one may be shorter if the file is finished.
    blocks: Blocks,
    is_finished: bool,
    /// What does not fill a block yet.
    partial: Vec<u8>,
    n_records: u64,
    shelf: Shelf,
}

enum Blocks {
    Memory(Vec<Box<[u8]>>),
    Disk {
        writer: Box<BlockWriter>,
        /// The file with the blocks that were there when it was last read.
        file: Option<BlockFile>,
    },
    /// Nothing more comes, so there is no writer, which would hold memory.
    Sealed(BlockFile),
}

impl Blocks {
    fn len(&self) -> usize {
        match self {
            Blocks::Memory(blocks) => blocks.len(),
            Blocks::Disk { writer, .. } => writer.n_blocks() as usize,
            Blocks::Sealed(file) => file.n_blocks() as usize,
        }
    }

    /// The file with all blocks written so far; `None` in memory.
    fn file(&mut self) -> Result<Option<&BlockFile>, Error> {
        let (writer, file) = match self {
            Blocks::Memory(_) => return Ok(None),
            Blocks::Sealed(file) => return Ok(Some(file)),
            Blocks::Disk { writer, file } => (writer, file),
        };
        let is_all = |file: &&mut BlockFile| file.n_blocks() == writer.n_blocks();
        if file.as_mut().filter(is_all).is_none() {
            *file = Some(writer.written()?);
        }
        Ok(file.as_ref())
    }
}

impl Records {
    /// Number of records.
    pub(super) fn len(&self) -> u64 {
        self.n_records
    }

    /// Bytes of a record.
    pub(super) fn record_len(&self) -> usize {
        self.record_len
    }

    /// Where it is.
    pub(super) fn shelf(&self) -> &Shelf {
        &self.shelf
    }

    /// Appends a record.
    pub(super) fn push(&mut self, record: &[u8]) -> Result<(), Error> {
        debug_assert!(record.len() == self.record_len && !self.is_finished);
        self.partial.extend_from_slice(record);
        self.partial
            .resize(self.partial.len() + self.stride - self.record_len, 0);
        self.n_records += 1;
        match self.partial.len() == self.per_block * self.stride {
            true => self.put_partial(),
            false => Ok(()),
        }
    }

    /// Nothing more is appended, so nothing has to stay aside, unless it is too little for a file
    /// or a block.
    pub(super) fn finish(&mut self) -> Result<(), Error> {
        self.is_finished = true;
        if self.partial.len() >= LEAST_BYTES {
            self.put_partial()?;
        }
        self.partial.shrink_to_fit();
        let since = Instant::now();
        self.blocks = match std::mem::replace(&mut self.blocks, Blocks::Memory(Vec::new())) {
            Blocks::Disk { writer, .. } => Blocks::Sealed(writer.finish()?),
            blocks => blocks,
        };
        self.shelf.count_io(since);
        Ok(())
    }

    fn put_partial(&mut self) -> Result<(), Error> {
        let since = Instant::now();
        if let (0, Some(folder)) = (self.blocks.len(), &self.shelf.folder) {
            self.blocks = Blocks::Disk {
                writer: Box::new(BlockWriter::create(folder, KIND)?),
                file: None,
            };
        }
        match &mut self.blocks {
            Blocks::Memory(blocks) => blocks.push(self.partial.as_slice().into()),
            Blocks::Disk { writer, .. } => writer.put(&self.partial)?,
            Blocks::Sealed(_) => unreachable!("nothing is appended to a finished file"),
        }
        self.shelf.count_io(since);
        self.shelf.count_written(self.partial.len());
        self.partial.clear();
        Ok(())
    }

    /// Replaces `bytes` by the records from `from` on to the end of their block, and says how many
    /// these are.
    pub(super) fn read_from(&mut self, from: u64, bytes: &mut Vec<u8>) -> Result<usize, Error> {
        let (block, skip) = self.place(from);
        if block < self.blocks.len() {
            let since = Instant::now();
            match self.blocks.file()? {
                Some(file) => file.get(block as u32, bytes)?,
                None => self.copy_block(block, bytes),
            }
            self.shelf.count_io(since);
            self.shelf.count_read(bytes.len());
        } else {
            bytes.clear();
            bytes.extend_from_slice(&self.partial);
        }
        bytes.drain(..skip * self.stride);
        Ok(bytes.len() / self.stride)
    }

    fn copy_block(&self, block: usize, bytes: &mut Vec<u8>) {
        bytes.clear();
        if let Blocks::Memory(blocks) = &self.blocks {
            bytes.extend_from_slice(&blocks[block]);
        }
    }

    /// Copies the record at `at`.
    pub(super) fn get(&mut self, at: u64) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        self.read_from(at, &mut bytes)?;
        bytes.truncate(self.record_len);
        Ok(bytes)
    }

    /// Calls `each` with the records of `range` in order, reading ahead, until it says that this is
    /// enough.
    pub(super) fn for_each<E: From<Error>>(
        &mut self,
        range: Range<u64>,
        each: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let (stride, record_len) = (self.stride, self.record_len);
        let mut at = range.start;
        let mut take = |at: &mut u64, bytes: &[u8]| {
            let wanted = (range.end - *at) as usize;
            let mut records = bytes.chunks_exact(stride).take(wanted);
            *at += records.len() as u64;
            records.try_for_each(|record| each(&record[..record_len]))
        };
        let n_blocks = self.blocks.len();
        let (first, skip) = self.place(at);
        let end = self.place(range.end.max(1) - 1).0 + 1;
        let (shelf, mut skip) = (self.shelf.clone(), skip * stride);
        if at < range.end
            && first < n_blocks
            && let Some(file) = self.blocks.file()?
        {
            let wanted = first as u32..end.min(n_blocks) as u32;
            let mut reader = file.read(Vec::from_iter([wanted]));
            loop {
                let since = Instant::now();
                let block = reader.next()?;
                shelf.count_io(since);
                let Some((_, bytes)) = block else { break };
                shelf.count_read(bytes.len());
                take(&mut at, &bytes[skip..])?;
                skip = 0;
            }
        }
        let mut bytes = Vec::new();
        while at < range.end {
            self.read_from(at, &mut bytes)?;
            take(&mut at, &bytes)?;
        }
        Ok(())
    }

    /// Block, and position in it, of a record.
    fn place(&self, at: u64) -> (usize, usize) {
        let per_block = self.per_block as u64;
        ((at / per_block) as usize, (at % per_block) as usize)
    }
}

impl Drop for Records {
    fn drop(&mut self) {
        let usage = &*self.shelf.usage;
        let bytes = self.n_records * self.stride as u64 - self.partial.len() as u64;
        usage.now.set(usage.now.get() - bytes);
        let Some(folder) = &self.shelf.folder else {
            return;
        };
        // What cannot be deleted is swept away when the folder is next used.
        let name = match std::mem::replace(&mut self.blocks, Blocks::Memory(Vec::new())) {
            Blocks::Memory(_) => return,
            Blocks::Disk { mut writer, .. } => {
                let _ = writer.flush();
                writer.name().to_owned()
            }
            Blocks::Sealed(file) => file.name().to_owned(),
        };
        let _ = folder.retire(&name);
    }
}

/// Goes through the records of a file in order.
#[derive(Debug)]
pub(super) struct Cursor {
    at: u64,
    end: u64,
    /// Records from `first` on.
    bytes: Vec<u8>,
    first: u64,
    n: usize,
}

impl Cursor {
    /// Before the first record.
    pub(super) fn new() -> Self {
        Self::within(0..u64::MAX)
    }

    /// Before the first record of `range`, behind which it does not go.
    pub(super) fn within(range: Range<u64>) -> Self {
        Cursor {
            at: range.start,
            end: range.end,
            bytes: Vec::new(),
            first: 0,
            n: 0,
        }
    }

    /// The record to come; `None` at the end.
    pub(super) fn peek(&mut self, records: &mut Records) -> Result<Option<&[u8]>, Error> {
        if self.at >= self.end.min(records.len()) {
            return Ok(None);
        }
        if self.at >= self.first + self.n as u64 {
            self.first = self.at;
            self.n = records.read_from(self.at, &mut self.bytes)?;
        }
        let skip = (self.at - self.first) as usize * records.stride;
        Ok(Some(&self.bytes[skip..][..records.record_len]))
    }

    /// Goes behind that record.
    pub(super) fn advance(&mut self) {
        self.at += 1;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use hadal_store::disk::{Folder, FolderOptions, NativeDisk};

    use super::super::StrategyOptions;
    use super::{Cursor, Error, LEAST_BYTES, Records, Shelf};

    /// A shelf in memory, and one in a fresh folder.
    fn shelves(path: &std::path::Path) -> Vec<Shelf> {
        let disk = NativeDisk::open(path).unwrap();
        let (folder, _) = Folder::open(Arc::new(disk), FolderOptions::default()).unwrap();
        let own = StrategyOptions {
            folder: Some(folder),
            ..StrategyOptions::default()
        };
        vec![Shelf::in_memory(), Shelf::new(&own)]
    }

    /// Nobody is told of more records once somebody has had enough.
    fn check_enough(records: &mut Records, n: u64) {
        let mut n_told = 0;
        let each = &mut |_: &[u8]| {
            n_told += 1;
            match n_told == n / 2 {
                true => Err(Error::Full { needed: 0 }),
                false => Ok(()),
            }
        };
        assert!(records.for_each(0..n, each).is_err());
        assert_eq!(n_told, n / 2);
    }

    fn check_records(shelf: &Shelf, len: usize, n: u64) {
        let mut records = shelf.records(len).unwrap();
        let record = |at: u64| -> Vec<u8> {
            let bytes = at.to_le_bytes();
            (0..len).map(|byte| bytes[byte % 8]).collect()
        };
        for at in 0..n {
            records.push(&record(at)).unwrap();
            if at % 10_007 == 0 {
                assert_eq!(records.get(at / 2).unwrap(), record(at / 2));
            }
        }
        for is_finished in [false, true] {
            if is_finished {
                records.finish().unwrap();
            }
            assert_eq!(records.len(), n);
            for at in [n - 1, 0, n / 2, n / 3] {
                assert_eq!(records.get(at).unwrap(), record(at));
            }
            let mut at = n / 4;
            let each = &mut |found: &[u8]| {
                assert_eq!(found, record(at));
                at += 1;
                Ok::<(), Error>(())
            };
            records.for_each(n / 4..n - 2, each).unwrap();
            assert_eq!(at, n - 2);
            let nothing = &mut |_: &[u8]| panic!("nothing");
            records.for_each::<Error>(5..5, nothing).unwrap();
            check_enough(&mut records, n);
            let mut cursor = Cursor::new();
            let mut seen = 0;
            while let Some(found) = cursor.peek(&mut records).unwrap() {
                assert_eq!(found, record(seen));
                cursor.advance();
                seen += 1;
            }
            assert_eq!(seen, n);
            let mut cursor = Cursor::within(n / 3..n / 2);
            for at in n / 3..n / 2 {
                let found = cursor.peek(&mut records).unwrap();
                assert_eq!(found, Some(&record(at)[..]));
                cursor.advance();
            }
            assert_eq!(cursor.peek(&mut records).unwrap(), None);
        }
        assert!(shelf.usage.now.get() + LEAST_BYTES as u64 > n * len as u64);
    }

    #[test]
    fn records_come_back_in_any_order() {
        let path = std::env::temp_dir().join(format!("hadal-records-{}", std::process::id()));
        for shelf in shelves(&path) {
            for (len, n) in [(0, 100), (3, 70_000), (100, 2000), (40_000, 9)] {
                check_records(&shelf, len, n);
                assert_eq!(shelf.usage.now.get(), 0);
            }
            assert!(shelf.written_bytes() > 0 && shelf.read_bytes() > 0);
            if let Some(folder) = &shelf.folder {
                // Every file is gone.
                folder.settle().unwrap();
                assert_eq!(folder.statistics().disk_bytes, 0);
            }
        }
        std::fs::remove_dir_all(&path).unwrap();
    }
}
